"""The scratchpad's pictures and its explorer say what the miniature and the law say."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from matplotlib.text import Text

import kitchenlib as kl
from kitchenlib import thinking
from kitchenlib.inputs import UnknownName
from kitchenlib.miniatures import appliances
from kitchenlib.miniatures.scratchpad import Cook, polled, scattered, vote
from kitchenlib.plots import billing, fixing
from kitchenlib.plots.appliances import tool_turns
from kitchenlib.plots.archive import archive_or_three
from kitchenlib.plots.scratch import scratch_hops, votes
from kitchenlib.plots.scratch_budget import WORKED, ScratchSetting, ScratchStage, scratch_budget
from kitchenlib.plots.scratch_cost import scratch_bill, scratch_samples
from kitchenlib.plots.style import Picture
from kitchenlib.widgets.scratch import ScratchExplorer
from tests import test_plots as every_picture
from tests.test_plots import frame_is_whole, stands_free
from tests.test_widgets import shown

H100, LLAMA, SMALL = kl.chip("H100 SXM"), kl.model("Llama-3.1-70B"), kl.model("Llama-3.1-8B")
L40S, DEEP = kl.chip("L40S"), kl.model("DeepSeek-V3")

FIGURES: dict[str, Callable[[], Picture]] = {
    "scratch-hops": scratch_hops,
    "scratch-bill": scratch_bill,
    "scratch-samples": scratch_samples,
    "scratch-votes": votes,
    "scratch-budget": scratch_budget,
}
#: Every function at other settings.
OTHERS: dict[str, Callable[[], Picture]] = {
    "two layers": lambda: scratch_hops(2),
    "four layers": lambda: scratch_hops(4),
    "bill of a small model": lambda: scratch_bill(SMALL, L40S, 1, guests=8),
    "bill of many guests": lambda: scratch_bill(SMALL, chips=8, guests=256, prompt=100, reply=50),
    "bill of experts": lambda: scratch_bill(DEEP, kl.chip("MI300X"), 8, guests=16, reply=1),
    "bill of a long prompt": lambda: scratch_bill(prompt=30_000, reply=2_000, guests=2),
    "samples of a small model": lambda: scratch_samples(SMALL, L40S, 1, hidden=500, prompt=100),
    "samples of a long prompt": lambda: scratch_samples(prompt=100_000, hidden=200, reply=1),
    "samples of experts": lambda: scratch_samples(DEEP, kl.chip("MI300X"), 8, hidden=10_000),
    "samples of a window": lambda: scratch_samples(kl.model("Gemma-3-27B (text)"), chips=2),
    "a poor cook": lambda: votes(0.15, 20, 0.2),
    "a near race": lambda: votes(0.45, 2, 0.55),
}
DRAWN = {**FIGURES, **OTHERS}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", OTHERS)
def test_a_picture_is_legible_at_another_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("scratch-hops", "In one pass, 3 layers follow 3 links; with a scratchpad, the same cook"),
        ("scratch-hops", "right up to 3 links, and up to 7 if the facts look each other up"),
        ("scratch-hops", "100% are right at any number, with 6 tokens for 16 links"),
        ("scratch-hops", "7 links from lasagne: it writes bones, whetstone, water"),
        ("four layers", "right up to 4 links, and up to 15 if the facts"),
        ("scratch-bill", "In company, 2,000 hidden tokens are 24 s of silence, 655 MB more notes"),
        ("scratch-bill", "and 6.1 times the bill."),
        ("scratch-bill", "2,000 hidden: first word, alone 20.9 s, first word, 32 guests 25.8 s"),
        ("scratch-bill", "guests who fit 154, a request, alone 7.88 ¢, a request, 32 guests 0.305"),
        ("scratch-bill", "on a price sheet 0.485 ¢; 8,000 hidden"),
        ("scratch-bill", "on a price sheet 1.685 ¢."),
        ("scratch-samples", "10 samples take 1.02 times as long as one, and 3.8 times the notes;"),
        ("scratch-samples", "one chain of as many tokens takes 9.0 times as long."),
        ("scratch-samples", "prompt copied: 26.7 s and 19.7 GB of notes; samples, prompt shared:"),
        ("scratch-votes", "A vote of 15 turns 40% into 86% where mistakes scatter, and into 34%"),
        (
            "scratch-budget",
            "21 s before the first visible word, and 11 times the time and the bill",
        ),
        ("scratch-budget", "tokens charged as output: 2,200"),
        ("a near race", "A vote of 15 turns 45% into 68% where mistakes scatter, and into 35%"),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


# --- hops --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "layers"), [("scratch-hops", 3), ("two layers", 2)])
def test_the_lines_are_the_shares_of_the_miniature(name, layers, pictures):
    pad, _, one = (line.get_ydata() for line in pictures[name].axes[0].lines[:3])
    asked = range(1, 17)
    assert np.array_equal(one, Cook(layers).shares_right(asked))
    assert np.array_equal(pad, Cook(layers).shares_right(asked, scratch=True))
    tokens = pictures[name].axes[1].lines[0].get_ydata()
    assert list(tokens) == [Cook(layers).tokens(n, scratch=True) for n in asked]


# --- the bill ----------------------------------------------------------------------------------


def test_the_notebook_has_one_price_sheet(pictures):
    row = appliances.sheet()
    assert f"{row.provider} {row.model}, {row.when}" == "openai gpt-5-mini, as of 2026-08-05"
    for picture in (pictures["scratch-bill"], archive_or_three(), tool_turns()):
        words = " ".join(text.get_text() for text in picture.findobj(Text))
        assert f"{row.provider} {row.model}, {row.when}" in words


@pytest.mark.parametrize("prompt", [1, 1000, 99_999])
def test_what_a_sheet_asks_has_all_its_digits(prompt):
    told = scratch_bill(prompt=prompt, reply=1, guests=2).alt.split("on a price sheet ")[1]
    assert float(told.split(" ¢")[0]) == pytest.approx(100 * (prompt * 0.25 + 2) / 1e6, rel=1e-9)


def test_the_table_holds_what_the_law_says():
    """By `request_time` and the price of a million tokens, not by the figure's own functions."""
    longer = float(kl.request_time(LLAMA, H100, 1000, 2300, 32, chips=4))
    rent = kl.chip_hour(provider="Nebius", chip="H100 SXM").usd or 0.0
    paid = rent * 4 / 3600 / 32 * longer
    words = scratch_bill().alt.split("; 2,000 hidden: ")[1].split("; ")[0]
    assert f"a request, 32 guests {kl.units.significant(100 * paid)} ¢" in words
    assert f"notes of a guest {kl.human(float(LLAMA.kv_bytes(3299)), 'B')}" in words
    assert f"guests who fit {kl.max_batch(LLAMA, H100, 3299, chips=4)}," in words
    assert f"on a price sheet {100 * (1000 * 0.25 + 2300 * 2) / 1e6:g} ¢" in words


def test_the_curves_are_the_chains(pictures):
    waits = [line for line in pictures["scratch-bill"].axes[0].lines if len(line.get_xdata()) > 2]
    for line, guests in zip(waits, (1, 32), strict=True):
        hidden = np.asarray(line.get_xdata())
        chain = thinking.chain(LLAMA, H100, 1000, hidden, 300, guests, chips=4)
        assert np.allclose(line.get_ydata(), chain.first_visible)


def test_the_samples_are_those_of_the_law(pictures):
    lines = pictures["scratch-samples"].axes[0].lines
    number = np.asarray(lines[0].get_xdata())
    sizes = (LLAMA, H100, 4000, 2000, 300)
    many = thinking.samples(*sizes, number, chips=4)
    long = thinking.chain(*sizes[:3], 2000 * number, 300, chips=4)
    expected = (long.total, many.copied.total, many.shared.total)
    for line, values in zip(lines, expected, strict=True):
        assert np.allclose(line.get_ydata(), values)


def test_votes_are_exact_lines_and_polled_marks(pictures):
    drawn = pictures["scratch-votes"].axes[0].lines
    for place, others in enumerate((scattered(0.4, 6), (0.5, 0.1))):
        line, marks = drawn[2 * place], drawn[2 * place + 1]
        asked = [int(n) for n in line.get_xdata()]
        assert np.allclose(line.get_ydata(), [vote(0.4, others, n) for n in asked])
        assert np.allclose(marks.get_ydata(), [polled(0.4, others, n) for n in asked])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: scratch_hops(1), "give 2 to 4 layers"),
        (lambda: scratch_hops(5), "give 2 to 4 layers"),
        (lambda: scratch_bill(guests=100), "with 8,000 hidden tokens 54 guests fit"),
        (lambda: scratch_bill(guests=1), "guests = 1 will not do"),
        (lambda: scratch_bill(prompt=0), "prompt = 0 will not do"),
        (lambda: scratch_bill(model="Llama-3.1-70B"), "give a Model"),  # type: ignore[arg-type]
        (lambda: scratch_bill(chip="H100 SXM"), "give a Chip"),  # type: ignore[arg-type]
        (lambda: scratch_bill(rent=2.95), "give a ChipHour"),  # type: ignore[arg-type]
        (
            lambda: scratch_bill(rent=kl.chip_hour(provider="market range", chip="H100 SXM")),
            "give a row that has a price",
        ),
        (lambda: scratch_samples(hidden=1), "give 2 to 10,000 tokens of thought"),
        (lambda: votes(0.4, 6, 0.3), "give more than `right`"),
        (lambda: votes(0.4, 6, 0.7), "give more than `right`"),
        (lambda: scratch_budget("8,000"), "give a ScratchSetting"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


# --- the budget --------------------------------------------------------------------------------

LARGE = ScratchSetting("DeepSeek-V3", "fp8", "B200 SXM (HGX/DGX)", 8, 256, 50_000, 32_000, 5_000, 1)
SETTINGS = {
    "worked": WORKED,
    "at once": WORKED.at_once,
    "in company": WORKED._replace(batch=32),
    "samples": WORKED._replace(samples=64, batch=1, prompt=20_000),
    "crowded": WORKED._replace(batch=256),
    "no sack": WORKED._replace(chips=1),
    "no notes": WORKED._replace(samples=64, hidden=32_000),
    "no price": WORKED._replace(chip="A100 SXM 80GB", chips=8),
    "a small one": ScratchSetting("Llama-3.1-8B", "int4-g128", "RTX 4090", 1, 1, 10, 500, 1),
    "experts": ScratchSetting("gpt-oss-120b", "bf16", "MI300X", 4, 16, 5_000, 8_000, 500, 4),
    "large": LARGE,
}
POSSIBLE = {name: each for name, each in SETTINGS.items() if not each.obstacle()}


def test_the_worked_example_is_what_the_library_calculates():
    longer = kl.request_time(LLAMA, H100, 1000, 2200, chips=4)
    assert float(WORKED.thought.total) == pytest.approx(longer)
    assert WORKED.price == pytest.approx(2.95 * 4 / 3600 * longer)
    assert WORKED.room == kl.max_batch(LLAMA, H100, 3199, chips=4)
    needed = kl.memory_needed(LLAMA, 3199, 1, chips=4)
    assert WORKED.taken == pytest.approx(float(needed) / (H100.memory_bytes or 0), rel=1e-3)
    full = kl.request_time(LLAMA, H100, 1000, 2200, WORKED.room, chips=4)
    assert WORKED.full.price == pytest.approx(2.95 * 4 / 3600 * full / WORKED.room)


def test_eight_times_the_samples_cost_little_alone_and_much_in_a_full_house():
    """Alone they share the sack; in a full house each takes a seat."""
    many = WORKED._replace(samples=8)
    alone = (many.price or 0) / (WORKED.price or 1)
    assert alone == pytest.approx(1.02, abs=0.01)
    assert (many.full.price or 0) / (WORKED.full.price or 1) > 4


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_the_claim_is_true(each):
    claim = each.claim()
    assert claim.startswith("No such kitchen") == bool(each.obstacle()) == (each.room < each.batch)
    if not each.obstacle():
        silence = kl.human(float(each.thought.first_visible), "s", 2)
        assert silence in claim
        assert claim.startswith("Answered at once") == (each.hidden == 0)


def test_obstacles_say_what_does_not_fit():
    room = SETTINGS["crowded"].room
    assert SETTINGS["crowded"].obstacle() == f"256 guests do not fit, {room} would"
    assert SETTINGS["no sack"].obstacle() == "the sack does not fit 1 H100 SXM"
    assert SETTINGS["no notes"].obstacle() == "the sack and one guest's notes do not fit"


def test_a_chip_without_a_price_to_rely_on_has_none():
    assert SETTINGS["no price"].price is None
    assert SETTINGS["no price"].facts()["a request"] == "no price to rely on"


def test_a_kitchen_that_cannot_be_has_no_price(stage):
    stage.show(SETTINGS["no notes"])
    cells = {row: [text.get_text() for text in c] for row, c in stage._table._cells.items()}
    assert cells["price"][1:] == cells["full"][1:] == ["none", ""]
    assert cells["price"][0] == SETTINGS["no notes"].at_once.paid()
    assert SETTINGS["no notes"].facts()["a request"] == "not possible"


@pytest.fixture(scope="module")
def stage() -> ScratchStage:
    return ScratchStage()


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_no_word_touches_another_and_a_frame_is_the_whole_picture(each, stage):
    stage.show(each)
    stands_free(stage)
    frame_is_whole(stage)


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_both_bars_are_drawn_to_one_scale(each, stage):
    stage.show(each)
    drawn, seconds = [], []
    for name, setting in (("at once", each.at_once), ("thinks", each)):
        drawn += [piece.get_width() for piece in stage._bars[name]._pieces.values()]
        t = setting.thought
        seconds += [t.first_visible - t.hidden, t.hidden, t.total - t.first_visible]
    assert np.allclose(np.divide(drawn, sum(drawn)), np.divide(seconds, np.sum(seconds)))


def test_a_moved_stage_looks_as_if_it_had_started_there(stage):
    for each in (LARGE, WORKED):
        stage.show(each)
        stage.frame()
    fresh = ScratchStage()
    fresh.show(WORKED)
    assert stage.frame() == fresh.frame()


# --- the explorer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 8_000),
        ("samples", 16),
        ("prompt", 5_000),
        ("reply", 500),
        ("model", "Llama-3.1-8B"),
        ("weights", "fp8"),
        ("chip", "MI300X"),
        ("chips", 8),
        ("batch", 32),
    ],
)
def test_every_control_changes_the_picture(name, value):
    explorer = ScratchExplorer()
    assert set(explorer.controls) == set(ScratchSetting._fields)
    explorer.set(**{name: value})
    assert shown(explorer) == scratch_budget(WORKED._replace(**{name: value})).alt
    assert shown(explorer) != scratch_budget().alt


def test_every_choice_of_the_explorer_has_words():
    """No chip, model, format or number of chips that is offered ends in an error."""
    for of, on, chips, form in product(billing.MODELS, fixing.CHIPS, (1, 8), billing.WEIGHTS):
        each = ScratchSetting(of, form, on, chips, hidden=500)
        assert all(each.facts().values())
        assert each.claim()


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'. Did you mean: H100 SXM"),
        ({"chip": "Apple M1"}, ValueError, "chip = 'Apple M1' will not do: choose one of A100 SXM"),
        ({"weights": "int5"}, UnknownName, "no number format is called 'int5'"),
        ({"hidden": 3}, ValueError, r"hidden \(tokens\) = 3 will not do: choose one of 0, 500"),
        ({"samples": 3}, ValueError, "samples side by side = 3 will not do: choose one of 1, 2"),
    ],
)
def test_a_start_that_is_not_offered_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        ScratchExplorer(**setting)
