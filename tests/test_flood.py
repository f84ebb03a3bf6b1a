"""Flood and drip: the film is the law's, the drawing is the film's, whoever shows it."""

import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from bisect import bisect_right
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib.film import LONGEST, PACES, Film, notes, pace_label, state_at
from kitchenlib.plots import flood, style, svg
from kitchenlib.plots.letters import shown
from kitchenlib.plots.style import Picture
from kitchenlib.plots.vector import Counter, Group, Motion, Reel
from tests.test_plots import collisions, contrast, words

LLAMA, H100 = kl.model("Llama-2-70B"), kl.chip("H100 SXM")
FILMS = {
    "worked": flood.worked(),
    "crowd": Film(kl.model("Llama-3.1-8B"), H100, batch=64, prompt=37, reply=300),
    "experts": Film(kl.model("Mixtral-8x7B-v0.1"), kl.chip("B200"), reply=7, weights="fp8"),
    "shortest": Film(kl.model("SmolLM2-135M"), kl.chip("Apple M2"), prompt=1, reply=2),
    "latent": Film(kl.model("DeepSeek-V3"), kl.chip("H200"), chips=8, batch=16, weights="fp8"),
}
films = pytest.mark.parametrize("film", FILMS.values(), ids=FILMS.keys())
moments = st.floats(0, 1, allow_nan=False)


def setting(film: Film) -> dict[str, Any]:
    names = ("batch", "weights", "kv", "chips")
    return {name: getattr(film, name) for name in names}


# --- the film is the law's ---------------------------------------------------------------------


@films
def test_its_times_are_those_of_serving(film: Film):
    asked = setting(film)
    first = kl.prefill(film.model, film.prompt, **asked).time(film.chip)
    steps = kl.decode_step(film.model, film.prompt + np.arange(film.reply - 1), **asked)
    assert film.ttft == pytest.approx(first, rel=1e-12)
    assert film.tpot == pytest.approx(np.mean(steps.time(film.chip)), rel=1e-12)
    assert film.end == pytest.approx(first + np.sum(steps.time(film.chip)), rel=1e-12)


@films
def test_its_totals_are_the_sums_of_all_passes_on_all_chips(film: Film):
    asked = setting(film)
    read = kl.prefill(film.model, film.prompt, **asked)
    context = range(film.prompt, film.prompt + film.reply - 1)
    written = [kl.decode_step(film.model, c, **asked) for c in context]
    last = state_at(film, film.end)
    for side, passes in ((last.flood, [read]), (last.drip, written)):
        seconds = sum(each.time(film.chip) for each in passes)
        calculating = sum(each.sides(film.chip)[0] for each in passes)
        assert side.bytes == pytest.approx(film.chips * sum(w.bytes for w in passes))
        assert side.flops == pytest.approx(film.chips * sum(w.flops for w in passes))
        assert side.clock == pytest.approx(seconds)
        assert side.chef == pytest.approx(calculating / seconds)
        assert side.passes == side.trips == len(passes)
    assert (last.flood.tokens, last.drip.tokens) == (film.prompt, film.reply)
    assert (last.ttft, last.tpot) == (film.ttft, pytest.approx(film.tpot))


def test_the_worked_example_shows_the_contrast():
    last = state_at(flood.worked(), flood.worked().end)
    assert last.flood.chef > 0.9
    assert last.drip.chef < 0.004
    assert last.drip.waiter > 0.999
    assert last.drip.bytes > 18 * last.flood.bytes  # 19 trips for 20 tokens, one for 2,000
    assert last.flood.flops > 100 * last.drip.flops


@pytest.mark.parametrize("name", FILMS)
@given(one=moments, other=moments)
def test_clocks_and_counters_never_run_backwards(name: str, one: float, other: float):
    film = FILMS[name]
    earlier, later = (state_at(film, share * film.end) for share in sorted((one, other)))
    for side in ("flood", "drip"):
        before, after = getattr(earlier, side), getattr(later, side)
        for counter in ("trips", "passes", "clock", "tokens", "bytes", "flops"):
            assert getattr(before, counter) <= getattr(after, counter) * (1 + 1e-15)
    assert earlier.ttft <= later.ttft


@pytest.mark.parametrize("name", FILMS)
@given(share=moments)
def test_at_any_moment_one_side_runs_and_the_clocks_add_up(name: str, share: float):
    film = FILMS[name]
    state = state_at(film, share * film.end)
    assert state.flood.running + state.drip.running == (share < 1)
    assert state.flood.clock + state.drip.clock == pytest.approx(state.t)
    assert 0 <= state.flood.progress <= 1
    assert 0 <= state.drip.progress <= 1
    for side in (state.flood, state.drip):
        assert 0 <= side.chef <= 1 + 1e-12
        assert 0 <= side.waiter <= 1 + 1e-12


def test_the_first_token_comes_from_the_flood():
    film = flood.worked()
    assert state_at(film, math.nextafter(film.ttft, 0)).drip.tokens == 0
    state = state_at(film, film.ttft)
    assert (state.flood.passes, state.drip.passes, state.drip.tokens) == (1, 0, 1)
    assert state.drip.bytes == 0


def test_after_the_end_the_last_moment_stays():
    film = flood.worked()
    assert state_at(film, film.end + 1) == state_at(film, film.end)


@films
def test_every_token_is_an_event_at_its_time(film: Film):
    times = [event.t for event in film.events]
    assert times == sorted(times)
    assert (times[0], times[1], times[-1]) == (0, film.ttft, film.end)
    assert len(times) == film.reply + 1
    for n, event in enumerate(film.events[1:], start=1):
        assert state_at(film, event.t).drip.tokens == n
        assert f"token {n} of {film.reply} written" in event.text


def test_events_name_the_two_numbers():
    events = flood.worked().events
    assert "TTFT 153 ms" in events[1].text
    assert "TPOT 20.6 ms" in events[-1].text


def test_a_mixture_carries_more_experts_for_more_tokens():
    reading, writing = FILMS["experts"].sacks
    assert reading > 3 * writing
    reading, writing = FILMS["crowd"].sacks
    assert reading == writing


def test_it_says_what_the_law_leaves_out():
    assert flood.worked().caveats == ("Bytes and FLOPs are those of both chips.",)
    assert FILMS["crowd"].caveats == ()
    (small,) = Film(LLAMA, H100).caveats
    assert "does not fit" in small
    assert "4,096 tokens at most" in Film(LLAMA, H100, chips=2, prompt=5_000).caveats[-1]
    assert "wait for each other" in FILMS["latent"].caveats[1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"reply": 1}, "reply = 1 will not do: give a whole number of tokens, from 2"),
        ({"reply": LONGEST + 1}, "at most 4,096 tokens"),
        ({"prompt": 0}, "prompt = 0"),
        ({"prompt": 2.5}, "prompt = 2.5"),
        ({"prompt": [1, 2]}, "not an array"),
        ({"batch": True}, "batch = True"),
        ({"chips": 3}, "must divide over the chips"),
        ({"chip": kl.chip("Apple M1"), "chips": 2}, "no interconnect"),
        ({"model": "Llama-2-70B"}, "give a Model"),
        ({"chip": "H100 SXM"}, "give a Chip"),
    ],
)
def test_what_will_not_do_is_refused_at_once(wrong: dict[str, Any], said: str):
    asked: dict[str, Any] = {"model": LLAMA, "chip": H100, **wrong}
    with pytest.raises(ValueError, match=said):
        Film(**asked)


def test_an_unknown_format_is_refused_with_near_ones():
    with pytest.raises(kl.UnknownName, match="int4-g128"):
        Film(LLAMA, H100, weights="int4-g12")


@pytest.mark.parametrize("t", [-1e-9, math.nan, math.inf, "1", [0.1]])
def test_a_time_that_is_none_is_refused(t: Any):
    with pytest.raises(ValueError, match=r"t = .* will not do"):
        state_at(flood.worked(), t)


# --- the time scale ----------------------------------------------------------------------------


@films
def test_its_own_pace_takes_a_quarter_of_a_minute_or_less(film: Film):
    assert film.pace in PACES
    assert 5 < film.end / film.pace <= 15


def test_paces_are_said_in_words():
    assert pace_label(0.05) == "1 s of film = 50 ms"
    assert pace_label(1.0) == "1 s of film = 1 s, real time"
    assert pace_label(5e-4) == "1 s of film = 500 µs"


def test_what_is_too_quick_to_see_is_said():
    film = flood.worked()
    assert notes(film, 0.05) == ()
    (drip,) = notes(film, 1.0)
    assert drip.startswith("A drip, 20.6 ms: too quick to see")
    assert len(notes(film, 2.0)) == 2
    with pytest.raises(ValueError, match="seconds of the machine"):
        film.quick(0)


# --- the drawing is the film's -----------------------------------------------------------------


def counters(nodes: Any) -> list[Counter]:
    found = []
    for node in nodes:
        if isinstance(node, Counter):
            found.append(node)
        elif isinstance(node, Group):
            found += counters(node.children)
    return found


@films
def test_every_counter_ends_as_the_library_writes_its_number(film: Film):
    last = flood.channels(state_at(film, film.end))
    drawn = counters(flood.scene(film).nodes)
    assert len(drawn) == 15
    for counter in drawn:
        if counter.unit in ("s", "B", "FLOP"):
            assert shown(counter, last[counter.of]) == kl.human(counter.most, counter.unit)
            assert counter.most == pytest.approx(last[counter.of])


@pytest.mark.parametrize(
    ("most", "unit", "value", "text"),
    [
        (0.1528, "s", 0.0076, "8 ms"),
        (2.62e12, "B", 0.138e12, "0.14 TB"),
        (0.923, "%", 0.923, "92%"),
        (0.0035, "%", 0.0035, "0.35%"),
        (1.0, "%", 1.0, "100%"),
        (4_096, "", 1_234, "1,234"),
        (4_096, "", 0, "0"),
    ],
)
def test_counters_count_in_the_unit_of_their_end(most: float, unit: str, value: float, text: str):
    assert shown(Counter(0, 0, "", most, unit, 10), value) == text


@given(st.integers(0, 9_999))
def test_reels_show_the_digits_of_the_number(number: int):
    reels = [Reel("", 1.0, place, 1) for place in range(4)]
    rows = [reel.at(number) for reel in reversed(reels)]
    assert "".join("" if row == 10 else str(row) for row in rows) == str(number)


def test_a_motion_goes_straight_or_in_steps_and_stays_at_its_ends():
    straight = Motion("move", "", (1.0, 2.0), ((0.0, 10.0), (4.0, 20.0)))
    stepped = straight._replace(stepped=True)
    xs = (0.0, 1.0, 1.5, 2.0, 3.0)
    assert [straight.at(x) for x in xs] == [(0, 10), (0, 10), (2, 15), (4, 20), (4, 20)]
    assert [stepped.at(x) for x in xs] == [(0, 10), (0, 10), (0, 10), (4, 20), (4, 20)]


@films
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_a_drawing_is_one_well_formed_image_that_needs_nothing_else(film: Film, share: float):
    text = flood.draw(film, share * film.end)
    root = ET.fromstring(text)
    ids = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    links = re.findall(r'href="#(\w+)"|url\(#(\w+)\)', text)
    assert {one or other for one, other in links} <= set(ids)
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<script" not in text


@films
def test_all_that_moves_has_a_handle_for_the_player(film: Film):
    now = flood.channels(state_at(film, 0))
    image, parts = svg.with_script(flood.scene(film), now, "")
    ids = {each.attrib.get("id") for each in ET.fromstring(image).iter()}
    assert {part["id"] for part in parts} <= ids
    assert {part["of"] for part in parts} <= set(now)
    assert len(parts) == len(list(svg.followers(flood.scene(film).nodes)))


def test_the_svg_is_the_same_to_the_byte_in_another_process():
    code = "from kitchenlib.plots import flood as f; print(f.loop(f.worked()).svg(), end='')"
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
    )
    assert other.stdout.decode() == flood.loop(flood.worked()).svg()


# --- the loop ----------------------------------------------------------------------------------


@films
def test_the_loop_is_small_and_respects_a_wish_for_less_motion(film: Film):
    text = flood.loop(film).svg()
    assert len(text.encode()) < (200_000 if film == flood.worked() else 220_000)
    assert "prefers-reduced-motion:reduce" in text
    root = ET.fromstring(text)
    animations = [each for each in root.iter() if "animate" in each.tag]
    assert len(animations) > 30
    for each in animations:
        times = [float(t) for t in each.attrib["keyTimes"].split(";")]
        assert times == sorted(times)
        assert times[0] == 0
        assert times[-1] == 1 or each.attrib.get("calcMode") == "discrete"
        assert len(times) == len(each.attrib["values"].split(";"))
    classes = [each.attrib.get("class") for each in root.iter()]
    assert classes.count("film") == classes.count("still") > 0


def test_the_loop_keeps_the_time_of_the_law():
    film = flood.worked()
    played = list(flood.stretches(film, 0.05))
    assert len(played) == 1 + 1 + 19 + 1  # a lead, the flood, the drips, a rest
    assert all(a.stop == b.start for a, b in pairwise(played))
    assert played[1].stop - played[1].start == pytest.approx(film.ttft / 0.05)
    assert played[2].stop - played[2].start == pytest.approx(film.tpot / 0.05, rel=1e-4)


@pytest.mark.parametrize("name", ["worked", "experts", "shortest"])
def test_the_loop_puts_every_part_where_the_film_has_it(name: str):
    film = FILMS[name]
    pace = film.pace
    played = list(flood.stretches(film, pace))
    begin = played[1].start
    for follower in svg.followers(flood.scene(film).nodes):
        if isinstance(follower, Reel):
            continue
        bends = list(svg.keys(follower, played))
        for share in (0.013, 0.17, 0.31, 0.52, 0.77, 0.98):
            t = share * film.end
            named = flood.channels(state_at(film, t), film.quick(pace))
            expected = follower.at(named[follower.of])
            found = interpolated(bends, begin + t / pace, follower.stepped)
            assert found == pytest.approx(expected, abs=1e-2), follower


def interpolated(bends: list[Any], t: float, stepped: bool) -> tuple[float, ...]:
    after = bisect_right([time for time, _ in bends], t)
    time, value = bends[after - 1]
    if stepped or after == len(bends):
        return tuple(value)
    later, to = bends[after]
    return tuple(a + (t - time) / (later - time) * (b - a) for a, b in zip(value, to, strict=True))


# --- pictures ----------------------------------------------------------------------------------


def test_the_figures_are_pictures_with_words():
    for draw in flood.FIGURES.values():
        picture = draw()
        assert isinstance(picture, Picture)
        shows = picture._repr_mimebundle_()
        assert set(shows) == {"text/plain", "text/html", "image/png"}
        assert shows["text/plain"].startswith("2,000 tokens in one flood of 153 ms")
        assert '<img alt="2,000 tokens' in shows["text/html"]
        assert "<style" not in shows["text/html"]


def test_the_words_follow_the_film():
    film = flood.worked()
    begin, middle, end = (
        flood.words(film, state_at(film, t)) for t in (0, flood.poster(film), film.end)
    )
    assert "alight up to layer 0" in begin
    assert "TPOT not yet known" in begin
    assert "all alight" in middle
    assert "one token climbs, at layer 19" in middle
    assert "20 of 20 tokens written" in end
    assert "137 GB sack set out 19 times" in end
    assert "TTFT 153 ms, TPOT 20.6 ms" in end


def test_a_picture_that_is_not_asked_for_at_a_time_shows_both_sides():
    film = flood.worked()
    state = state_at(film, flood.poster(film))
    assert state.flood.passes == 1
    assert 0 < state.drip.passes < 19
    assert flood.still(film).alt == flood.words(film, state)


@films
@pytest.mark.parametrize("share", [0, 0.6, 1])
def test_no_word_touches_another_or_leaves_the_card(film: Film, share: float):
    picture = flood.still(film, share * film.end)
    assert collisions(picture) == []
    card = picture.bbox.padded(-0.1 * picture.dpi)
    for text in words(picture):
        assert all(card.contains(*corner) for corner in text.get_window_extent().corners())


def test_every_word_stands_out_from_what_is_behind_it():
    film = flood.worked()
    picture = flood.still(film)
    picture.canvas.draw()
    for text in words(picture):
        x, y = text.get_window_extent().get_points().mean(axis=0) / picture.dpi * 96
        in_screen = 84 < picture.size[1] * 96 - y < 346 and (31 < x < 425 or 439 < x < 833)
        behind = "#121A22" if in_screen else style.PAPER
        assert contrast(str(text.get_color()), behind) >= 4.5, text.get_text()


# --- what the browser gets ---------------------------------------------------------------------


def test_a_film_for_the_browser_is_plain_finite_data():
    from kitchenlib.player import packed

    for film in FILMS.values():
        json.dumps(packed(film), allow_nan=False)
