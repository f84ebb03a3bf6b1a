"""The perpetual stock in pictures: they say what was measured and computed, at any setting."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.miniatures import stock as layers
from kitchenlib.miniatures.stock import Lap
from kitchenlib.plots import fixing
from kitchenlib.plots import stock_or_notes as stocked
from kitchenlib.plots.stock import stock_forgets, stock_measured
from kitchenlib.plots.stock_or_notes import (
    FARTHEST,
    WORKED,
    StockSetting,
    StockStage,
    stock_or_notes,
)
from kitchenlib.plots.style import Picture
from kitchenlib.widgets.stock import StockExplorer
from tests import test_plots as every_picture
from tests.test_plots import frame_is_whole, stands_free
from tests.test_widgets import shown

#: What a race may bring on some machine: bytes are what they are, times are any.
LAPS = [
    Lap(tokens, 131_072, 2048 * tokens, 787_456, 788_480 + 2048 * tokens, pot, pad)
    for tokens, pot, pad in (
        (16, 27e-6, 18e-6),
        (64, 26e-6, 19e-6),
        (256, 26e-6, 25e-6),
        (1024, 26e-6, 48e-6),
        (4096, 27e-6, 140e-6),
        (16_384, 31e-6, 1.1e-3),
    )
]
BUSY = [lap._replace(notes_seconds=4e-6, stock_seconds=3e-4 / n) for n, lap in enumerate(LAPS, 1)]
SLOW = [lap._replace(notes_seconds=90 * lap.notes_seconds, stock_seconds=0.2) for lap in LAPS]

SETTINGS = {
    "worked": WORKED,
    "one guest": WORKED._replace(batch=1, tokens=16),
    "heavy states": StockSetting("Mamba2-2.7B", "Llama-2-70B", 32_768, 32),
    "crowd": StockSetting("Jamba-v0.1", "Llama-2-7B", FARTHEST, 128, "L40S"),
    "never": StockSetting("Jamba-v0.1", "Qwen2.5-7B", 1024, 1, "B200 SXM (HGX/DGX)"),
    "card's stock": StockSetting("Mamba-2.8B", "Llama-2-70B", 16_384, 1, "MI300X"),
    "small chip": StockSetting("Mamba-2.8B", "Llama-3.1-70B", 64, 128, "RTX 4090"),
}
FIGURES: dict[str, Callable[[], Picture]] = {
    "stock-forgets": stock_forgets,
    "stock-or-notes": stock_or_notes,
}
OTHERS: dict[str, Callable[[], Picture]] = {
    "stock-measured": lambda: stock_measured(LAPS),
    "measured on a busy machine": lambda: stock_measured(BUSY),
    "measured on a slow machine": lambda: stock_measured(SLOW),
    "measured at two lengths": lambda: stock_measured(LAPS[2:4]),
    "measured here": lambda: stock_measured(layers.race((64, 128), tries=1)),
    "small stocks without fillers": lambda: stock_forgets((8, 32, 128), fillers=0),
    "stocks among many fillers": lambda: stock_forgets((4, 24, 100), fillers=9),
}
DRAWN = {**FIGURES, **OTHERS}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", OTHERS)
def test_a_picture_is_legible_at_another_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("stock-measured", "The notes grow to 33.6 MB, a token takes 61 times as long;"),
        ("stock-measured", "the stock stays at 131 kB, 1.1 times as long."),
        ("stock-measured", "the stock less from 256 tokens on"),
        ("stock-measured", "notes 18 µs at 16, 19 µs at 64, 25 µs at 256, 48 µs at 1,024"),
        ("stock-measured", "the stock faster from 1,024 tokens on"),
        ("measured on a busy machine", "a token takes 1.0 times as long; the stock stays at"),
        ("measured on a busy machine", "131 kB, 0.17 times as long"),
        ("measured on a busy machine", "the stock faster at no length up to 16,384"),
        ("measured at two lengths", "the stock less at every length"),
        ("stock-forgets", "A stock of 64 rows recalls 64 items, and then forgets; attention"),
        ("stock-forgets", "attention recalls 1,024, and keeps 430 kB for it."),
        ("stock-forgets", "selective stock, 256 rows: all up to 256, 27% of 1,024"),
        ("stock-forgets", "open stock, 64 rows: all up to 4, 47% of 16"),
        ("stock-forgets", "attention, 16 rows: all up to 1,024"),
        ("stock-forgets", "a bound: 16 rows 512, 64 rows 2,048 and 256 rows 8,192"),
        ("small stocks without fillers", "open stock, 32 rows: all up to 32"),
        ("stock-or-notes", "Nemotron-H-8B keeps less from 895 tokens on, and is faster only from"),
        ("stock-or-notes", "from 1,821 on, with 32 guests."),
        ("stock-or-notes", "States of Jamba-v0.1 9.18 MB, Mamba-2.8B 13.1 MB, Mamba2-2.7B 86.6"),
        ("stock-or-notes", "The story card says 5 kg: 5.00 GB"),
    ],
)
def test_a_picture_says_what_the_numbers_say(name, said, pictures):
    assert said in pictures[name].alt


def test_the_notes_of_attention_are_those_that_it_takes(pictures):
    asked = layers.recall_task(1024, size=16)
    notes = layers.by_hand(layers.ATTENTION, asked)
    notes.prefill(asked.stream)
    assert f"keeps {kl.human(notes.bytes, 'B')} for it" in pictures["stock-forgets"].alt


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: stock_measured(LAPS[:1]), "give what stock.race returns, of two lengths or more"),
        (lambda: stock_measured([LAPS[0], LAPS[0]]), "each length once"),
        (lambda: stock_measured(LAPS[0]), "give what stock.race returns"),  # type: ignore[arg-type]
        (lambda: stock_measured([lap._replace(stock_seconds=0.0) for lap in LAPS]), "of seconds"),
        (lambda: stock_forgets((16, 64)), "give three different sizes, the smallest first"),
        (lambda: stock_forgets((64, 16, 256)), "give three different sizes"),
        (lambda: stock_forgets(fillers=-1), "fillers = -1 will not do"),
        (lambda: stock_or_notes("Mamba-2.8B"), "give a StockSetting"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_drawn_is_refused(draw: Callable[[], Picture], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()


# --- the law -----------------------------------------------------------------------------------


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_the_stock_pays_from_the_crossing_on_and_not_before(each):
    for better, first in (
        (lambda s: s.kept[0] < s.kept[1], each.keeps_less_from),
        (lambda s: s.seconds[0] < s.seconds[1], each.faster_from),
    ):
        after = range(FARTHEST + 1) if first is None else range(first)
        tried = {1, 100, 5000, FARTHEST, (first or 2) - 1, first or 1} - {0}
        for tokens in tried:
            assert better(each._replace(tokens=tokens)) == (tokens not in after)


def test_without_growing_notes_a_model_is_slower_at_first():
    """Weights are streamed all the same, and a state is moved to and fro."""
    for batch in (1, 32, 128):
        short = WORKED._replace(batch=batch, tokens=256)
        assert short.seconds[0] > short.seconds[1]
        assert (short.faster_from or 0) > 2 * (short.keeps_less_from or FARTHEST)


def test_what_is_read_and_written_pays_at_twice_as_many_tokens_as_what_is_kept():
    """In the largest company the weights no longer count: two trips against one."""
    crowd = WORKED._replace(batch=100_000)
    assert crowd.faster_from == pytest.approx(2 * (crowd.keeps_less_from or 0), rel=0.005)


def test_states_of_32_guests_are_heavier_traffic_than_the_weights():
    told = SETTINGS["heavy states"].facts()
    assert told["states move"] == "5.54 GB a step, more than the weights (5.41 GB)"
    assert told["a guest keeps"] == "Mamba2-2.7B: 86.6 MB of state; Llama-2-70B: 10.7 GB of notes"


def test_the_cards_stock_is_what_a_models_weights_weigh():
    """A guest's state is 13 MB to 103 MB; 5 GB is 15,259 tokens of Llama-2-70B's notes."""
    mamba, llama = kl.model("Mamba-2.8B"), kl.model("Llama-2-70B")
    assert mamba.weight_bytes() == pytest.approx(stocked.CARD, rel=0.11)
    assert round(stocked.CARD / llama.kv_bytes_per_token()) == 15_259
    for name in stocked.STOCKS:
        assert kl.model(name).state_bytes() < stocked.CARD / 48


def test_a_model_that_is_faster_because_it_is_lighter_says_so():
    claim = SETTINGS["heavy states"].claim()
    assert claim.endswith("is faster from the first token on: its weights are lighter")
    assert "not faster up to 131,072, with 1 guest" in SETTINGS["never"].claim()
    assert SETTINGS["never"].facts()["the stock is faster"] == "not up to 131,072 tokens"


def test_guests_that_fit_and_models_that_were_not_made_for_it():
    assert WORKED.room == tuple(kl.max_batch(m, kl.chip("H100 SXM"), 4096) for m in WORKED.both)
    assert SETTINGS["heavy states"].room[1] == 0
    assert "Llama-2-70B was made for 4,096 tokens." in SETTINGS["heavy states"].sources()
    assert "made for" not in WORKED.sources()


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"stock": "Mamba-3B"}, UnknownName, "no model is called 'Mamba-3B'. Did you mean"),
        ({"chip": "H1000"}, UnknownName, "Did you mean: H100 SXM"),
        ({"batch": 0}, ValueError, "batch = 0 will not do"),
        ({"tokens": -5}, ValueError, "-5 will not do"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_when_it_is_used(setting, error, message):
    with pytest.raises(error, match=message):
        stock_or_notes(StockSetting(**setting))


# --- its picture -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stage() -> StockStage:
    return StockStage()


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_no_word_touches_another_or_leaves_the_card(each, stage):
    stage.show(each)
    stands_free(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_a_frame_is_the_whole_picture_whatever_was_shown_before(each, stage):
    stage.show(each)
    frame_is_whole(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_both_bars_are_drawn_to_one_scale_and_the_state_twice(each, stage):
    stage.show(each)
    drawn = [[piece.get_width() for piece in bar._pieces] for bar in stage._bars]
    carried = [float(step.bytes) for step in each.steps]
    assert sum(drawn[0]) / sum(drawn[1]) == pytest.approx(carried[0] / carried[1])
    assert drawn[0][1] == drawn[0][2] > 0
    assert drawn[1][1] == drawn[1][2] == 0


def test_the_crossing_is_ringed_where_there_is_one(stage):
    stage.show(WORKED)
    assert stage._kept._crossing.get_xdata()[0] == WORKED.keeps_less_from
    assert stage._time._crossing.get_xdata()[0] == WORKED.faster_from
    for name in ("never", "heavy states"):
        stage.show(SETTINGS[name])
        assert not stage._time._crossing.get_visible()


# --- the explorer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stock", "Mamba-2.8B"),
        ("notes", "Llama-2-70B"),
        ("tokens", FARTHEST),
        ("batch", 1),
        ("chip", "MI300X"),
    ],
)
def test_every_control_changes_the_picture(name, value):
    explorer = StockExplorer()
    assert set(explorer.controls) == set(StockSetting._fields)
    explorer.set(**{name: value})
    changed = stock_or_notes(WORKED._replace(**{name: value})).alt
    assert shown(explorer) == changed != stock_or_notes().alt


def test_every_choice_of_the_explorer_has_words():
    for pot, pad, chip in product(stocked.STOCKS, stocked.NOTED, fixing.CHIPS):
        for batch, tokens in ((1, 16), (stocked.MOST_GUESTS, FARTHEST)):
            each = StockSetting(pot, pad, tokens, batch, chip)
            assert all(each.facts().values())
            assert max(map(len, each.claim().split("\n"))) <= 68


def test_a_start_may_be_named_in_another_way():
    explorer = StockExplorer(chip="h200", stock="mamba-2.8b", batch=64)
    assert explorer.values["chip"] == "H200 SXM"
    assert explorer.values["stock"] == "Mamba-2.8B"
    explorer.set(guests=8)
    assert explorer.values["batch"] == 8


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'. Did you mean: H100 SXM"),
        ({"chip": "Apple M1"}, ValueError, "chip = 'Apple M1' will not do: choose one of A100 SXM"),
        ({"notes": "Mamba-2.8B"}, ValueError, "choose one of Llama-2-7B, Llama-3.1-8B"),
        ({"tokens": 100}, ValueError, r"conversation \(tokens\) = 100 will not do: choose one of"),
    ],
)
def test_a_start_that_is_not_offered_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        StockExplorer(**setting)
