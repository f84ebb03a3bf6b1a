"""The player of flood and drip in the kernel: what it shows, what its controls do."""

from typing import Any

import pytest

import kitchenlib as kl
from kitchenlib.film import Film
from kitchenlib.player import FilmPlayer, FloodAndDrip
from kitchenlib.plots import flood

VIEW = "application/vnd.jupyter.widget-view+json"


def small() -> Film:
    return Film(kl.model("SmolLM2-135M"), kl.chip("H100 SXM"), prompt=10, reply=3)


@pytest.mark.parametrize("make", [lambda: FilmPlayer(small()), FloodAndDrip])
def test_who_cannot_have_the_widget_gets_its_still_picture(make: Any):
    shows = make()._repr_mimebundle_()
    assert set(shows) == {VIEW, "text/plain", "text/html", "image/png"}
    assert '<img alt="' in shows["text/html"]
    assert "one flood of" in shows["text/plain"]


def test_a_pace_that_is_not_offered_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match=r"pace = 3 will not do.*0\.05"):
        FilmPlayer(small(), pace=3)


def test_another_film_can_be_put_in():
    player = FilmPlayer(small())
    player.show(flood.worked(), pace=0.1)
    assert player.sent["prompt"] == 2_000
    assert player.sent["paces"][player.sent["pace"]]["label"] == "1 s of film = 100 ms"
    assert "2,000 tokens" in repr(player)


def test_the_demo_starts_with_the_worked_example():
    assert FloodAndDrip().player.film == flood.worked()


def test_a_changed_control_makes_the_film_of_the_law():
    demo = FloodAndDrip()
    demo.set(model="Llama-3.1-8B", chips=1, batch=32, prompt=500, reply=100)
    expected = Film(kl.model("Llama-3.1-8B"), kl.chip("H100 SXM"), 1, 500, 100, 32)
    assert demo.player.film == expected
    assert demo.player.sent["flood"]["times"][-1] == expected.ttft


def test_what_the_law_refuses_is_said_and_the_film_stays():
    demo = FloodAndDrip()
    demo.set(chip="Apple M1")
    assert "no interconnect" in demo.words.value
    assert 'role="alert"' in demo.words.value
    assert demo.player.film == flood.worked()
    demo.set(chips=1)
    assert demo.words.value == ""
    assert demo.player.film.chip == kl.chip("Apple M1")


def test_a_size_of_your_own_is_offered_too():
    demo = FloodAndDrip(prompt=1_234, reply=17)
    assert demo.values["prompt"] == 1_234
    assert demo.player.film.reply == 17


def test_a_value_that_a_control_does_not_offer_is_refused_with_those_it_does():
    with pytest.raises(ValueError, match="chips = 5 will not do: choose one of 1, 2, 4, 8"):
        FloodAndDrip().set(chips=5)
    with pytest.raises(kl.UnknownName, match="Llama-2-70B"):
        FloodAndDrip(model="Llama-2-70")


def test_two_demos_do_not_disturb_each_other():
    one, other = FloodAndDrip(), FloodAndDrip()
    one.set(reply=50)
    assert other.player.film == flood.worked()
