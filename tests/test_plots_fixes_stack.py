"""Guesses, and fixes on top of each other: the pictures and the explorer say what the law says."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.measured import measurement
from kitchenlib.plots import fixing
from kitchenlib.plots.fixing import EACH, SHARED, UNFIXED, WORKED
from kitchenlib.plots.guessing import guess_ahead
from kitchenlib.plots.stacking import Fixes, FixesStage, fixes, fixes_matrix, fixes_together
from kitchenlib.plots.style import Picture
from kitchenlib.widgets import FixesExplorer
from tests import test_plots as every_picture
from tests.test_plots import frame_is_whole, stands_free, words
from tests.test_widgets import shown

H100, LLAMA, DRAFT = kl.chip("H100 SXM"), kl.model("Llama-2-70B"), kl.model("Llama-2-7B")
LONG, SMALL, L40S = kl.model("Llama-3.1-70B"), kl.model("Llama-3.1-8B"), kl.chip("L40S")
LARGE = Fixes(
    model="Llama-3.1-405B",
    weights="fp8",
    chip="B200 SXM (HGX/DGX)",
    chips=8,
    batch=256,
    tokens=32_768,
    efficiency="planned",
)
EXPERTS = Fixes(model="Mixtral-8x7B-v0.1", chips=2, drafted=1, acceptance=0.5)
MODEST = Fixes(model="Llama-3.1-8B", chip="L40S", chips=1, batch=8, weights="Q4_K_M")

FIGURES: dict[str, Callable[[], Picture]] = {
    "guess-ahead": guess_ahead,
    "fixes-matrix": fixes_matrix,
    "fixes-together": fixes_together,
    "fixes": fixes,
}
#: Every function at other settings.
OTHERS: dict[str, Callable[[], Picture]] = {
    "guesses over long notes": lambda: guess_ahead(LONG, SMALL, notes=32_768),
    "one guess": lambda: guess_ahead(drafted=1),
    "eight guesses": lambda: guess_ahead(drafted=8, acceptance=0.9, notes=4096),
    "poor guesses": lambda: guess_ahead(drafted=3, acceptance=0.2),
    "sure guesses": lambda: guess_ahead(acceptance=1.0),
    "drafts by itself": lambda: guess_ahead(SMALL, SMALL, L40S, chips=1),
    "matrix of a small model": lambda: fixes_matrix(MODEST),
    "matrix of a large model": lambda: fixes_matrix(LARGE, prompt=32_000),
    "matrix of experts": lambda: fixes_matrix(EXPERTS, prompt=200),
    "pairs of a small model": lambda: fixes_together(MODEST),
    "pairs of a large model": lambda: fixes_together(LARGE),
    "pairs of experts": lambda: fixes_together(EXPERTS),
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
        ("guess-ahead", "Five guesses yield 3.69 tokens a pass, all five 33% of the time; guests"),
        ("guess-ahead", "use up the idle chef: × 3.67 alone, × 0.95 with 256."),
        ("guess-ahead", "Tokens a pass: 1 with 20.0%, 2 with 16.0%, 3 with 12.8%, 4 with 10.2%"),
        ("guess-ahead", "0.6 2.38, 0.7 2.94, 0.8 3.69, 0.9 4.69"),
        ("guess-ahead", "slower than without from 235 guests on; by Llama-2-7B × 2.45 with 1"),
        ("guess-ahead", "slower than without from 89 guests on (no more than 179 fit)"),
        (
            "guess-ahead",
            "SGLang, EAGLE-3, Llama-3.1-8B, bf16 (not stated), H100 80GB, 1 guest × 2.36",
        ),
        ("guess-ahead", "MTP, 3 drafted (5: × 2.15), DeepSeek-R1-671B, nvfp4, 8 × B200 180GB"),
        ("guess-ahead", "H100 80GB, 64 guests × 1.38"),
        ("one guess", "One guess yields 1.80 tokens a pass, it is right 80% of the time"),
        ("guesses over long notes", "× 3.67 alone, × 2.95 with 256"),
        (
            "fixes-matrix",
            "Every fix relieves the waiter (÷ 1.2 to ÷ 28), only GQA the notepad; for",
        ),
        ("fixes-matrix", "for the first token none brings more than ÷ 1.1."),
        ("fixes-matrix", "INT4 (int4-g128): sack ÷ 3.8 (138 → 36.6 GB); notepad same (0.671 GB)"),
        (
            "fixes-matrix",
            "batching (32 guests): sack same (138 GB); notepad × 32 (0.671 → 21.5 GB)",
        ),
        ("fixes-matrix", "notepad ÷ 8.0 (5.37 → 0.671 GB)"),
        ("fixes-matrix", "chef × 1.6 (0.3% → 2.1% busy); TTFT same (0.088 s); TPOT ÷ 3.7"),
        ("fixes-matrix", "4-bit weights read no faster: × 0.89 (llama.cpp)"),
        ("matrix of experts", "Three fixes relieve the waiter (× 1.1 to ÷ 8.1)"),
        (
            "fixes-together",
            "With 32 guests, INT4 and speculation cancel in part: × 2.65 and × 3.31",
        ),
        ("fixes-together", "make × 4.49, not × 8.77."),
        (
            "fixes-together",
            "all four alone × 3.48 and × 15.6 and × 1.17 and × 3.68, multiplied × 233",
        ),
        (
            "fixes-together",
            "speculation brings × 1.42 with 32 guests; with both models in int4-g128,",
        ),
        ("fixes-together", "in int4-g128, × 0.691."),
        ("pairs of a small model", "With 8 guests, INT4 and speculation"),
        ("fixes", "143 times the tokens of a plain kitchen, for each guest 4.5 times."),
        ("fixes", "which fix first: weights in fp8: × 1.18 the tokens"),
        ("fixes", "one pass: 9.97 ms for 118 tokens"),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


# --- guesses -----------------------------------------------------------------------------------


def test_the_bars_are_the_chances_of_each_length(pictures):
    bars = [bar.get_height() for bar in pictures["guess-ahead"].axes[0].containers[0]]
    assert bars == pytest.approx(kl.accepted_lengths(0.8, 5))
    assert sum(n * share for n, share in enumerate(bars, start=1)) == pytest.approx(
        kl.expected_tokens(0.8, 5)
    )


@pytest.mark.parametrize(("line", "draft"), [(1, None), (2, DRAFT)])
def test_the_lines_are_the_speed_up_of_the_law(line, draft, pictures):
    drawn = pictures["guess-ahead"].axes[1].lines[line]
    guests = np.asarray(drawn.get_xdata())
    turn = kl.speculate(LLAMA, draft, 1024, 5, guests, chips=4)
    assert np.allclose(drawn.get_ydata(), turn.speedup(H100, 0.8))


def test_a_line_is_whole_as_far_as_the_guests_fit_beside_both_sacks(pictures):
    whole = pictures["guess-ahead"].axes[1].lines[2]
    most = int(whole.get_xdata()[-1])
    needed = [
        sum(float(kl.memory_needed(m, 1024, guests, chips=4)) for m in (LLAMA, DRAFT))
        for guests in (most, most + 1)
    ]
    assert needed[0] <= 0.9 * (H100.memory_bytes or 0) < needed[1]


@pytest.mark.parametrize(("draft", "first"), [(None, 235), (DRAFT, 89)])
def test_guests_from_whom_on_it_loses(draft, first):
    before, after = (
        kl.speculate(LLAMA, draft, 1024, 5, guests, chips=4).speedup(H100, 0.8)
        for guests in (first - 1, first)
    )
    assert after < 1 <= before


def test_measured_speed_ups_are_those_of_the_rows(pictures):
    eagle = measurement(id="M2383").value / measurement(id="M2381").value
    gpt_fast = measurement(id="M0822").value / measurement(id="M0801").value
    others = [measurement(id=row).value for row in ("M1478", "M2384")]
    marks = [
        float(line.get_ydata()[0])
        for line in pictures["guess-ahead"].axes[1].lines
        if line.get_marker() in ("D", "^", "s")
    ]
    assert sorted(marks) == pytest.approx(sorted([eagle, gpt_fast, *others]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"drafted": 9}, "drafted = 9 will not do: give 1 to 8 tokens, for which there is room"),
        ({"drafted": 0}, "drafted = 0 will not do: give a whole number of tokens, from 1"),
        ({"acceptance": 1.2}, "give the probability of accepting a draft, from 0 to 1"),
        ({"acceptance": [0.5, 0.6]}, "give one probability, from 0 to 1"),
        ({"notes": 8192}, "notes = 8192 will not do: Llama-2-70B takes at most 4,096 tokens"),
        (
            {"draft": SMALL},
            "Llama-3.1-8B knows 128,256 tokens and Llama-2-70B 32,000: give a draft",
        ),
        ({"model": "Llama-2-70B"}, "give a Model, for example kl.model"),
        ({"chip": "H100 SXM"}, "give a Chip, for example kl.chip"),
        ({"chip": kl.chip("Apple M2 Ultra")}, "no interconnect in the catalogue"),
    ],
)
def test_guesses_that_cannot_be_drawn_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        guess_ahead(**wrong)


# --- what each fix does ------------------------------------------------------------------------


def cells(picture: Picture, name: str) -> dict[str, str]:
    """The cells of one row of the matrix, from its words."""
    row = re.search(rf" {name} \([^)]*\): (.*?); quality", picture.alt)
    assert row
    return dict(cell.split(" ", 1) for cell in row[1].split("; "))


def test_the_matrix_holds_what_the_law_says_of_a_batch(pictures):
    """Bytes of one step over the tokens it gives, by the library's own functions."""
    one, many = (kl.decode_step(LLAMA, 2048, guests, chips=4) for guests in (1, 32))
    row = cells(pictures["fixes-matrix"], "batching")
    carried = one.bytes / (many.bytes / 32)
    assert row["waiter"].startswith(f"÷ {carried:.0f} ")
    slower = many.time(H100) / one.time(H100)
    assert row["TPOT"].startswith(f"× {slower:.1f} ")
    first = [kl.ttft(LLAMA, H100, 2000, guests, chips=4) for guests in (1, 32)]
    assert row["TTFT"].startswith(f"× {first[1] / first[0]:.0f} ({first[0]:.3f} → {first[1]:.1f} s")
    busy = [work.utilization(H100) for work in (one, many)]
    assert row["chef"] == f"same ({busy[0]:.1%} → {busy[1]:.1%} busy)"


def test_the_matrix_holds_what_the_law_says_of_speculation(pictures):
    plain = kl.decode_step(LLAMA, 2048, chips=4)
    turn, tokens = kl.verify_step(LLAMA, 2048, 5, chips=4), kl.expected_tokens(0.8, 5)
    row = cells(pictures["fixes-matrix"], "speculation")
    cuts = turn.flops / tokens / plain.flops
    assert row["chef"].startswith(f"× {cuts:.1f} ")
    faster = tokens * plain.time(H100) / turn.time(H100)
    assert row["TPOT"].startswith(f"÷ {faster:.1f} ")
    assert row["sack"] == f"same ({LLAMA.weight_bytes() / 1e9:.0f} GB)"


@pytest.mark.parametrize("fix", ["weights", "batch", "clipboards", "drafted"])
def test_a_kitchen_without_one_of_the_fixes_is_no_matrix(fix):
    lacking = WORKED._replace(**{fix: getattr(WORKED.plain, fix)})
    for draw in (fixes_matrix, fixes_together):
        with pytest.raises(ValueError, match=r"this kitchen lacks .*: give one with all four"):
            draw(lacking)


def test_what_is_no_kitchen_is_refused():
    for draw in (fixes_matrix, fixes_together, fixes):
        with pytest.raises(ValueError, match=r"give a Fixes, for example Fixes\(batch=64\)"):
            draw("Llama-2-70B")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prompt = 0 will not do"):
        fixes_matrix(prompt=0)


# --- pairs -------------------------------------------------------------------------------------


def rate(weights: str, guests: int, drafted: int, of: kl.Model = LLAMA) -> float:
    """Tokens a second of four H100 at 2,048 tokens of notes."""
    turn = kl.verify_step(of, 2048, drafted, guests, weights, chips=4)
    return guests * float(kl.expected_tokens(0.8, drafted)) / float(turn.time(H100))


@pytest.mark.parametrize(
    ("guests", "said"),
    [
        (1, "INT4 + speculation alone × 3.75 and × 3.67, multiplied × 13.8, together × 13.6, 99%"),
        (32, "INT4 + speculation alone × 2.65 and × 3.31, multiplied × 8.77, together × 4.49, 51%"),
    ],
)
def test_int4_and_speculation_cancel_in_company_only(guests, said, pictures):
    plain = rate("bf16", guests, 0)
    powder, guesses = rate("int4-g128", guests, 0) / plain, rate("bf16", guests, 5) / plain
    both = rate("int4-g128", guests, 5) / plain
    gains = (powder, guesses, powder * guesses, both)
    told = [float(number) for number in re.findall(r"× ([\d.]+)", said)]
    assert told == pytest.approx(gains, rel=5e-3)  # as rounded
    assert said.endswith(f"{both / (powder * guesses):.0%}")
    assert said in pictures["fixes-together"].alt


def test_all_four_together_are_the_kitchen_of_the_explorer(pictures):
    shared = LLAMA.blocks[0].attention
    assert isinstance(shared, kl.Attention)
    block = replace(LLAMA.blocks[0], attention=replace(shared, kv_heads=64))
    ungrouped = replace(LLAMA, blocks=(block,))
    gain = rate("int4-g128", 32, 5) / rate("bf16", 1, 0, ungrouped)
    assert f"together × {gain:.0f}" in pictures["fixes-together"].alt
    assert f"{gain:.0f} times the tokens of a plain kitchen" in pictures["fixes"].alt


def test_arrows_lead_from_the_product_to_what_the_law_gives(pictures):
    lines = pictures["fixes-together"].axes[0].lines
    arrows = [line for line in lines if len(line.get_xdata()) == 2]
    assert len(arrows) == 3 + 3 + 4
    told = re.findall(r"multiplied × ([\d.]+), together × ([\d.]+)", pictures["fixes-together"].alt)
    for arrow, (start, end) in zip(arrows, told, strict=True):
        assert arrow.get_xdata() == pytest.approx([float(start), float(end)], rel=5e-3)


def test_kitchens_without_room_are_marked(pictures):
    shown_words = {text.get_text() for text in words(pictures["fixes-together"])}
    assert {"INT4 + GQA †", "GQA + speculation †", "batching + GQA †", "all four †"} <= shown_words
    assert {"INT4 + speculation", "INT4 + batching", "batching + speculation"} <= shown_words
    assert WORKED.plain.room == 28
    assert "the plain kitchen has room for 28" in pictures["fixes-together"].alt


# --- a kitchen and its fixes -------------------------------------------------------------------

CROWDED = WORKED._replace(batch=256, clipboards=EACH)  #: more guests than fit
SETTINGS = {
    "worked": WORKED,
    "plain": WORKED.plain,
    "crowded": CROWDED,
    "no sack": WORKED._replace(chips=1, weights="bf16"),
    "no notes": WORKED._replace(model="Llama-3.1-70B", chips=1, tokens=131_072, batch=1),
    "fixed time": WORKED._replace(efficiency="gpt-fast 70B", chips=8),
    "long notes": WORKED._replace(model="Llama-3.1-70B", tokens=32_768, batch=8, kv="fp8"),
    "beyond its making": WORKED._replace(tokens=16_384, batch=4, kv="int4"),
    "no price": WORKED._replace(chip="A100 SXM 80GB"),
    "experts": EXPERTS,
    "large": LARGE._replace(tokens=2048, acceptance=0.95, drafted=8, efficiency="ideal"),
    "small": MODEST,
    "eight small": WORKED._replace(model="Llama-3.1-8B", chip="B200 SXM (HGX/DGX)", chips=8),
    "one guess": WORKED._replace(drafted=1, batch=1, weights="int4-g32"),
}
POSSIBLE = {name: each for name, each in SETTINGS.items() if not each.obstacle()}


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_the_parts_of_a_pass_add_up(each):
    for kitchen in (each, each.plain):
        assert sum(kitchen.split()) == pytest.approx(kitchen.seconds)
        assert min(kitchen.split()) >= 0


def test_the_worked_example_is_what_the_library_calculates():
    turn = kl.verify_step(LLAMA, 2048, 5, 32, "int4-g128", chips=4)
    tokens = 32 * kl.expected_tokens(0.8, 5)
    assert WORKED.seconds == turn.time(H100)
    assert WORKED.total == pytest.approx(tokens / turn.time(H100))
    assert WORKED.price == pytest.approx(4 * 2.95 / (WORKED.total * 3600) * 1e6)
    assert WORKED.room == kl.max_batch(LLAMA, H100, 2048, "int4-g128", chips=4)
    assert WORKED.chef == pytest.approx(turn.utilization(H100))
    assert WORKED.bound == turn.bound(H100) == "compute"
    parts = WORKED.split()
    assert parts.sack == pytest.approx(turn.weight_bytes / H100.bandwidth)
    assert parts.notes == pytest.approx(turn.kv_bytes / H100.bandwidth)


def test_an_efficiency_slows_every_pass():
    slow = WORKED._replace(efficiency="gpt-fast 70B")
    named = kl.efficiency("gpt-fast 70B")
    work = kl.verify_step(LLAMA, 2048, 5, 32, "int4-g128", chips=4)
    assert slow.seconds == pytest.approx(kl.estimate(work, H100, named))
    assert slow.split().fixed == named.fixed > 0
    lonely = slow._replace(batch=1, drafted=0, chips=8)
    assert lonely.pace == "what every pass takes besides"


def test_the_plain_kitchen_has_no_fix_and_the_same_chips_and_notes():
    plain = Fixes(kv="int4", chips=8, tokens=512, chip="H200 SXM").plain
    assert plain == Fixes(
        weights="bf16",
        clipboards=EACH,
        batch=1,
        drafted=0,
        chips=8,
        tokens=512,
        chip="H200 SXM",
    )


def test_more_guests_are_more_tokens_for_all_and_fewer_for_each():
    one = WORKED._replace(batch=1)
    more = next(move for move in one.moves() if move.name == "twice the guests")
    turn = [kl.verify_step(LLAMA, 2048, 5, n, "int4-g128", chips=4).time(H100) for n in (1, 2)]
    assert more.total == pytest.approx(2 * turn[0] / turn[1])
    assert more.each == pytest.approx(turn[0] / turn[1])
    assert more.each < 1 < more.total


def test_clipboards_for_all_heads_are_the_notes_of_all_heads():
    shared, each = WORKED, WORKED._replace(clipboards=EACH)
    assert (shared.heads, each.heads) == (8, 64)
    assert each.of.kv_bytes_per_token() == 8 * LLAMA.kv_bytes_per_token()


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_the_advice_is_the_best_of_what_can_be_tried(each):
    """Every fix tried by hand, one at a time."""
    tried = [
        *(each._replace(weights=form) for form in ("bf16", "fp8", "int4-g128")),
        *(each._replace(kv=form) for form in ("bf16", "fp8")),
        *(each._replace(clipboards=shared) for shared in (SHARED, EACH)),
        *(each._replace(drafted=guesses) for guesses in range(9)),
        *(each._replace(batch=guests) for guests in (2 * each.batch, max(each.batch // 2, 1))),
    ]
    best = max(other.total for other in tried if other.room >= other.batch) / each.total
    moves = [move.total for move in each.moves() if move.fits]
    assert max(moves) == pytest.approx(best, rel=0.03)  # weights that weigh about the same
    if best > 1.05:
        assert f"× {kl.units.significant(max(moves))}" in each.advice()


@pytest.mark.parametrize(
    ("guests", "weights", "guesses"),
    [
        (1, "bf16", "8 guesses"),
        (16, "int4-g128", "4 guesses"),
        (32, "int4-g128", "2 guesses"),
        (256, "bf16", "1 guess"),
        (256, "int4-g128", "no guesses"),
    ],
)
def test_as_many_guesses_are_advised_as_gain_most(guests, weights, guesses):
    each = WORKED._replace(batch=guests, weights=weights, drafted=5, tokens=128)
    best = int(kl.draft_length(LLAMA, None, H100, 0.8, 128, guests, weights, chips=4, most=8))
    assert each.moves()[-1].name == guesses
    assert str(best) in guesses or not best
    assert each._replace(drafted=best).moves()[-1].name in ("no guesses", "5 guesses")


def test_where_nothing_helps_it_is_said_who_sets_the_pace():
    done = Fixes(
        model="Llama-3.1-8B",
        weights="bf16",
        kv="fp8",
        batch=256,
        tokens=128,
        drafted=0,
        chip="A100 SXM 80GB",
        chips=1,
    )
    assert max(move.total for move in done.moves()) < fixing.WORTH
    assert done.advice() == "none of these: the chef (compute) sets the pace"


def test_guests_who_do_not_fit_are_told_how_to():
    assert CROWDED.obstacle() == f"256 guests do not fit, {CROWDED.room} would"
    roomy = CROWDED._replace(clipboards=SHARED)
    assert CROWDED.advice() == f"shared clipboards: room for {roomy.room}"
    assert roomy.room >= 256
    few = SETTINGS["no sack"]._replace(batch=11, drafted=8, efficiency="planned")
    fp8, int4 = (few._replace(weights=form) for form in ("fp8", "int4-g128"))
    assert fp8.total > int4.total  # faster, and less room
    assert few.advice() == f"weights in int4-g128: room for {int4.room}"
    assert int4.room > fp8.room >= 11
    assert SETTINGS["no sack"].obstacle() == "the sack does not fit 1 H100 SXM"
    assert SETTINGS["no notes"].obstacle() == "the sack and one guest's notes do not fit"
    assert WORKED._replace(model="Llama-3.1-405B", chips=1).advice() == "more or larger chips"


def test_a_chip_without_a_price_to_rely_on_has_none():
    assert SETTINGS["no price"].price is None
    assert SETTINGS["no price"].facts()["a million tokens"] == "no price to rely on"
    assert WORKED.rent == kl.chip_hour(provider="Nebius", chip="H100 SXM")


def test_what_a_model_was_not_made_for_is_said():
    assert "(made for 4,096)" in SETTINGS["beyond its making"].lead()
    assert "made for" not in WORKED.lead()


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"clipboards": "some"}, UnknownName, "no choice of clipboards is called 'some'"),
        ({"model": "DeepSeek-V3", "clipboards": EACH}, ValueError, "give a model with key/value"),
        ({"batch": 0}, ValueError, "batch = 0 will not do"),
        ({"drafted": -1}, ValueError, "drafted = -1 will not do"),
        ({"acceptance": 2}, ValueError, "acceptance = 2 will not do"),
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'. Did you mean: H100 SXM"),
        ({"weights": "int5"}, UnknownName, "no number format is called 'int5'"),
        ({"efficiency": "best"}, UnknownName, "no efficiency is called 'best'"),
        ({"chips": 3}, ValueError, "chips = 3 will not do"),
    ],
)
def test_what_is_wrong_with_a_kitchen_is_said_when_it_is_used(setting, error, message):
    with pytest.raises(error, match=message):
        fixes(Fixes(**setting))


# --- its picture -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stage() -> FixesStage:
    return FixesStage()


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_no_word_touches_another_or_leaves_the_card(each, stage):
    stage.show(each)
    stands_free(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_a_frame_is_the_whole_picture_whatever_was_shown_before(each, stage):
    stage.show(each)
    frame_is_whole(stage)


def pieces(stage: FixesStage, bar: str) -> list[float]:
    return [piece.get_width() for piece in stage._bars[bar]._pieces.values()]


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_both_bars_are_drawn_to_one_scale(each, stage):
    stage.show(each)
    drawn = pieces(stage, "plain") + pieces(stage, "with fixes")
    seconds = [*each.plain.split(), *each.split()]
    assert np.allclose(np.divide(drawn, sum(drawn)), np.divide(seconds, sum(seconds)))


def test_a_kitchen_that_cannot_be_has_no_bar_and_no_speed(stage):
    stage.show(CROWDED)
    assert pieces(stage, "with fixes") == [0] * 5
    assert isinstance(stage._bars["plain"]._pieces["sack"], Rectangle)
    assert stage._bars["with fixes"]._sum.get_text() == CROWDED.obstacle()
    assert stage._table._cells["total"][1].get_text() == "none"
    assert "this kitchen: not possible: 256 guests do not fit" in stage.picture.alt


def test_an_arrow_is_as_long_as_the_logarithm_of_its_factor(stage):
    stage.show(WORKED)
    for line, move in zip(stage._moves._lines, WORKED.moves(), strict=True):
        start, end = line.get_xdata()
        assert (end - start) / 0.72 == pytest.approx(math.log(move.total, 4))


# --- the explorer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights", "bf16"),
        ("batch", 1),
        ("clipboards", EACH),
        ("drafted", 0),
        ("acceptance", 0.5),
        ("kv", "fp8"),
        ("tokens", 131_072),
        ("model", "Mixtral-8x7B-v0.1"),
        ("chip", "MI300X"),
        ("chips", 8),
        ("efficiency", "planned"),
    ],
)
def test_every_control_changes_the_picture(name, value):
    explorer = FixesExplorer(**WORKED._asdict())
    assert set(explorer.controls) == set(Fixes._fields)
    explorer.set(**{name: value})
    assert shown(explorer) == fixes(Fixes(**{name: value})).alt != fixes().alt


def test_every_choice_of_the_explorer_has_words():
    """No chip, model, format or number of chips that is offered ends in an error."""
    for of, on, chips, form, kept in product(
        fixing.MODELS, fixing.CHIPS, (1, 8), ("bf16", "Q4_K_M"), (SHARED, EACH)
    ):
        each = Fixes(model=of, chip=on, chips=chips, weights=form, clipboards=kept)
        assert ("No such kitchen" in each.claim()) == bool(each.obstacle())
        assert all(each.facts().values())


def test_the_explorer_starts_without_a_fix_and_recommends_a_lighter_sack():
    """For one guest, with guesses that are right with 60%."""
    assert UNFIXED.drafted == 0
    assert (UNFIXED.weights, UNFIXED.batch) == ("bf16", 1)
    assert "which fix first: weights in int4-g128: × 3.75" in fixes(UNFIXED).alt


def test_a_start_may_be_named_in_another_way():
    explorer = FixesExplorer(chip="h200", model="llama-3.1-8b", batch=64)
    assert explorer.values["chip"] == "H200 SXM"
    assert explorer.values["model"] == "Llama-3.1-8B"


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'. Did you mean: H100 SXM"),
        ({"chip": "Apple M1"}, ValueError, "chip = 'Apple M1' will not do: choose one of A100 SXM"),
        ({"weights": "int5"}, UnknownName, "no number format is called 'int5'"),
        (
            {"drafted": 9},
            ValueError,
            r"guesses \(tokens\) = 9 will not do: choose one of 0",
        ),
        ({"batch": 3}, ValueError, r"guests \(batch\) = 3 will not do: choose one of 1, 2, 4"),
    ],
)
def test_a_start_that_is_not_offered_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        FixesExplorer(**setting)
