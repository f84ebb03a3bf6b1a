"""Predictions: asked as a form or in code, remembered, and looked back on gently."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]
import pytest

from kitchenlib.exercises import Bank, Prediction, Store
from kitchenlib.exercises.asking import PredictionForm
from kitchenlib.exercises.cards import Card
from kitchenlib.exercises.reading import Unreadable
from tests.example_bank import BANK


def bank(store: Store | None = None) -> Bank:
    return Bank(BANK.notebook, BANK.pages, store or Store())


def form(mine: Bank, key: str) -> PredictionForm:
    asked = mine.predict(key)
    assert isinstance(asked, PredictionForm)
    return asked


def descendants(widget: widgets.Widget) -> list[widgets.Widget]:
    children = getattr(widget, "children", ())
    return [widget, *(d for child in children for d in descendants(child))]


def test_pressing_an_option_is_the_prediction() -> None:
    mine = bank()
    asked = form(mine, "who-waits")
    asked.options["waiter"].click()
    assert "You predicted **b) the waiter waits" in mine.look_back("who-waits").body
    assert "remembered" in asked.status.value
    asked.options["nobody"].click()
    assert "and later **c)" in mine.look_back("who-waits").body
    assert [button.icon for button in asked.options.values()] == ["", "", "check"]


def leave(asked: PredictionForm, typed: str) -> None:
    """What the browser sends when the field is left."""
    asked.field.value = typed


def press_enter(asked: PredictionForm, typed: str) -> None:
    """What the browser sends for the Enter key: first the key, then what is new in the field."""
    asked.field._handle_custom_msg({"event": "submit"}, [])
    asked.field.value = typed


def press_button(asked: PredictionForm, typed: str) -> None:
    """The field is left for the button."""
    leave(asked, typed)
    next(w for w in descendants(asked) if isinstance(w, widgets.Button)).click()


def kept(mine: Bank, key: str = "guess-ridge") -> list[Any]:
    return [entry["value"] for entry in mine.store.history("example", "prediction", key)]


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("300", 300),
        ("1,200", 1200),
        ("1,200,000.5", 1_200_000.5),
        ("2.95e2", 295),
        ("24.4", 24.4),
        ("0.125", 0.125),
        ("1200.000", 1200),
        (" 1_200 ", 1200),
    ],
)
@pytest.mark.parametrize("press", [press_enter, press_button])
def test_a_number_counts_when_it_is_entered(press: Any, typed: str, number: float) -> None:
    mine = bank()
    asked = form(mine, "guess-ridge")
    press(asked, typed)
    press_button(asked, typed)  # once more does no harm
    assert kept(mine) == [number]
    assert "remembered" in asked.status.value


def test_leaving_the_field_with_a_half_typed_number_keeps_nothing() -> None:
    mine = bank()
    asked = form(mine, "guess-ridge")
    leave(asked, "2")
    assert kept(mine) == []
    assert "Not kept yet" in asked.status.value
    press_enter(asked, "295")
    leave(asked, "29")
    assert kept(mine) == [295]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("295 FLOP/byte", "the number alone"),
        ("many", "the number alone"),
        ("", "the number alone"),
        ("nan", "NaN"),
        ("inf", "infinite"),
        ("24,4", "a point for decimals"),
        ("0,125", "a point for decimals"),
        ("1.200,5", "a point for decimals"),
        ("12,00", "a point for decimals"),
        ("1.000", "Write 1000 or 1."),
        ("24.400", "Write 24400 or 24.4."),
        ("24.375", "Write 24375 or 24.3750."),
        ("-5", "guess 0 or more"),
    ],
)
def test_what_cannot_be_the_number_meant_is_answered_kindly_and_stays_in_the_field(
    typed: str, word: str
) -> None:
    mine = bank()
    asked = form(mine, "guess-ridge")
    press_button(asked, typed)
    assert word in asked.status.value
    assert "remembered" not in asked.status.value
    assert asked.status.value
    assert asked.field.value == typed
    assert mine.store.history("example", "prediction", "guess-ridge") == []


def test_the_form_comes_back_filled_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    bank(Store(path)).predict("who-waits", "b")
    bank(Store(path)).predict("guess-ridge", 42)
    again = bank(Store(path))
    assert form(again, "who-waits").options["waiter"].icon == "check"
    assert form(again, "guess-ridge").field.value == "42"
    assert "remembered" in form(again, "who-waits").status.value


def test_a_fresh_form_suggests_nothing() -> None:
    assert not any(button.icon for button in form(bank(), "who-waits").options.values())
    assert form(bank(), "guess-ridge").field.value == ""
    assert form(bank(), "who-waits").status.value == ""


@pytest.mark.parametrize("key", list(BANK.predictions))
def test_the_form_also_reads_where_no_widget_is_shown(key: str) -> None:
    bundle = form(bank(), key)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    question = BANK.predictions[key].prompt
    assert question in bundle["text/plain"]
    assert str(question) in bundle["text/html"]
    assert f'predict("{key}", ' in bundle["text/plain"]
    if key == "who-waits":
        assert "c) they finish together" in bundle["text/plain"]


@pytest.mark.parametrize("key", list(BANK.predictions))
def test_every_control_is_labelled_and_none_breaks_strict_nbval(key: str) -> None:
    for widget in descendants(form(bank(), key)):
        assert not isinstance(widget, widgets.Output)
        # radio buttons, lists and menus lose their arrow keys inside a notebook
        assert isinstance(widget, (widgets.VBox, widgets.HTML, widgets.Button, widgets.Text))
        if isinstance(widget, (widgets.Button, widgets.Text)):
            assert widget.description


def test_widgets_are_loaded_when_the_first_form_is_shown() -> None:
    program = (
        "import sys; from tests.example_bank import BANK; BANK.check('ridge', 1);"
        "BANK.predict('who-waits', 'a'); BANK.look_back('who-waits'); BANK.solution('ridge');"
        "assert not {'ipywidgets', 'matplotlib'} & set(sys.modules)"
    )
    environment = os.environ | {"KITCHEN_ANSWERS": "memory"}
    here = Path(__file__).parent
    subprocess.run([sys.executable, "-c", program], cwd=here, env=environment, check=True)


# In code


@pytest.mark.parametrize("guess", ["b", "B)", "waiter", "the waiter waits for the chef"])
def test_a_choice_can_be_predicted_in_code(guess: str) -> None:
    mine = bank()
    said = mine.predict("who-waits", guess)
    assert isinstance(said, Card)
    assert said.title == "Your prediction is remembered"
    assert mine.store.history("example", "prediction", "who-waits")[0]["value"] == "waiter"


@pytest.mark.parametrize(
    ("key", "guess"),
    [("who-waits", "z"), ("who-waits", 2), ("guess-ridge", "300 FLOP/byte"), ("guess-ridge", -5)],
)
def test_what_cannot_be_a_prediction_is_not_kept_as_one(key: str, guess: Any) -> None:
    mine = bank()
    said = mine.predict(key, guess)
    assert isinstance(said, Card)
    assert said.title == "Not a prediction yet"
    assert mine.store.history("example", "prediction", key) == []


def test_what_is_counted_comes_in_whole_numbers() -> None:
    counted = Prediction("n", "How many tokens?", right=64, why="", unit="tokens")
    assert counted.read(24.0) == 24
    with pytest.raises(Unreadable, match="no parts of tokens"):
        counted.read(24.4)
    assert replace(counted, unit="tokens/s").read(24.4) == 24.4


# Looking back


@pytest.mark.parametrize("guess", [200, 250, 350, 440])
def test_a_guess_of_the_right_size_is_spared_the_remark(guess: float) -> None:
    mine = bank()
    mine.predict("guess-ridge", guess)
    said = mine.look_back("guess-ridge").body
    assert "The right size, a little" in said
    assert "faster than that" not in said
    assert "not that slow" not in said


def test_without_a_prediction_the_law_is_told_and_a_guess_invited() -> None:
    said = bank().look_back("who-waits")
    assert "The law says: **a) the chef waits for the waiter**" in said.body
    assert "Next time, guess before you look" in said.body


def test_a_wrong_choice_gets_its_own_remark() -> None:
    mine = bank()
    mine.predict("who-waits", "b")
    said = mine.look_back("who-waits")
    assert said.title == "The law says something else"
    assert "Count the cuts per crumb." in said.body


def test_the_first_prediction_is_kept_and_the_last_one_is_told_too() -> None:
    mine = bank()
    for guess in ("b", "c", "a"):
        mine.predict("who-waits", guess)
    said = mine.look_back("who-waits")
    assert said.title == "You came to it"
    assert "You predicted **b) the waiter waits for the chef**, and later **a)" in said.body


@pytest.mark.parametrize(
    ("guess", "title", "words"),
    [
        (300, "You saw it coming", "You predicted **300 FLOP/byte**"),
        (250, "The law says something else", "The right size, a little low."),
        (30, "The law says something else", "A factor of 9.8 too low. The chef is faster"),
        (1e6, "The law says something else", "A factor of 3,400 too high. The waiter"),
        (0, "The law says something else", "another kind of number"),
    ],
)
def test_a_number_is_held_against_the_law_by_its_factor(
    guess: float, title: str, words: str
) -> None:
    mine = bank()
    mine.predict("guess-ridge", guess)
    said = mine.look_back("guess-ridge")
    assert said.title == title
    assert words in said.body
    assert "The law says: **295.3 FLOP/byte**" in said.body


def test_a_stored_guess_that_no_longer_makes_sense_is_passed_over() -> None:
    mine = bank()
    mine.store.record("example", "prediction", "who-waits", "an option of an older edition")
    assert "made no prediction" in mine.look_back("who-waits").body
    assert form(mine, "who-waits").status.value == ""
