"""The pictures of what the real model does on a machine say true things, whatever was measured."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection

import kitchenlib as kl
from kitchenlib import data, llm
from kitchenlib.llm.drafts import Speculation, Sweep
from kitchenlib.llm.reading import readings
from kitchenlib.llm.speed import BatchStep
from kitchenlib.plots.replies import replies_by_bits
from kitchenlib.plots.rounded import perplexity_by_bits
from kitchenlib.plots.style import Picture
from kitchenlib.plots.sweeps import guesses_measured
from kitchenlib.plots.together import batch_measured
from tests import test_plots as every_picture
from tests.llm_models import any_smol, real_smol
from tools.notebooks import _NUMBER

GUESTS = (1, 2, 4, 8, 16, 32, 64)
SECONDS = np.array([18.5, 26.5, 37.1, 62.8, 88.4, 137.2, 232.6]) / 1e3
LAW = np.array([17.7, 17.8, 18.0, 22.7, 45.3, 90.7, 181.3]) / 1e3
NOISE = np.random.default_rng(4).uniform(0.3, 3, len(GUESTS))


def steps(seconds: np.ndarray, guests: tuple[int, ...] = GUESTS) -> list[BatchStep]:
    return [BatchStep(n, 64, float(s)) for n, s in zip(guests, seconds, strict=True)]


def guessed(right: list[int], drafted: int = 5, seconds: float = 0.027) -> Speculation:
    """A reply of which `right` guesses of each pass were right."""
    sweeps, tokens = [], [0]
    for n in right:
        new = range(tokens[-1] + 1, tokens[-1] + n + 2)
        guesses = (*new[:n], *[-1] * (drafted - n))
        sweeps.append(Sweep(guesses, tuple(new), seconds))
        tokens += new
    return Speculation(40, 0.1, tuple(sweeps), tuple(tokens), "")


def plain(tokens: int, seconds: float = 0.019) -> Speculation:
    """The same reply without guesses."""
    return guessed([0] * tokens, drafted=0, seconds=seconds)


COPY = ("a correction", guessed([0, 5, 5, 5, 5, 4]), plain(30))
ANSWER = ("an answer", guessed([0, 0, 1] + [0] * 27, 2), plain(31))
POEM = ("a poem", guessed([0] * 18 + [5, 5, 0], seconds=0.021), plain(31))
SILENCE = ("silence", guessed([0] * 20), plain(20))
LONG = ("a name as long as there is room for", guessed([3] * 40, 16), plain(160))

REPLIES = {
    "exact": "The answer to this question lies in the intricate dance of light and color. The sky "
    "appears blue because of a phenomenon known",
    "8 bits, groups of 32": "The answer to this question lies in the intricate dance of light and "
    "color. The sky appears blue because of a phenomenon known",
    "4 bits, groups of 64": "The answer is that the sky is composed of many different things.",
    "3 bits, groups of 128": "You are a\n\n*\n\n\u6f22\u5b57\x07 \ufffd\n\n\n\n",
    "2 bits, groups of 32": "  with\n \n\n  with\n\n\n",
}

FIGURES: dict[str, Callable[[], Picture]] = {
    "perplexity-by-bits": perplexity_by_bits,
    "batch": lambda: batch_measured(steps(SECONDS), LAW),
    "guesses": lambda: guesses_measured([COPY, ANSWER]),
    "replies-by-bits": replies_by_bits,
    "replies": lambda: replies_by_bits(REPLIES, "Why is the sky blue?"),
}
#: What readers may measure: much and little, slow and fast, better and worse than the law.
OTHERS: dict[str, Callable[[], Picture]] = {
    "rings": lambda: perplexity_by_bits([(3, 32, 99.6), (4, 64, 39.0), (4, 32, 29.9), (8, 64, 30)]),
    "rings on the others": lambda: perplexity_by_bits([(2, 128, 2e5), (5, 32, 33), (5, 128, 33)]),
    "rings of a stand-in": lambda: perplexity_by_bits([(n, 64, 61_000) for n in range(2, 9)]),
    "rings beyond": lambda: perplexity_by_bits([(2, 32, 1e12), (3, 64, 1.0), (6, 128, 1e30)]),
    "a fast machine": lambda: batch_measured(steps(SECONDS / 300), LAW / 290),
    "a slow machine": lambda: batch_measured(steps(50 * SECONDS), 40 * LAW),
    "a noisy machine": lambda: batch_measured(steps(SECONDS * NOISE), LAW),
    "faster than the law": lambda: batch_measured(steps(LAW / 1.5), LAW),
    "as the law says": lambda: batch_measured(steps(LAW), LAW),
    "company that costs": lambda: batch_measured(steps(SECONDS * np.array(GUESTS) ** 1.2), LAW),
    "far from the law": lambda: batch_measured(steps(1e4 * SECONDS), LAW),
    "two sizes": lambda: batch_measured(steps(SECONDS[1:3], (2, 3)), LAW[:2]),
    "uneven sizes": lambda: batch_measured(steps(SECONDS, (1, 2, 3, 4, 5, 6, 500)), LAW),
    "many sizes": lambda: batch_measured(
        steps(np.linspace(0.02, 0.03, 16), tuple(range(1, 17))), np.linspace(0.021, 0.032, 16)
    ),
    "no growth": lambda: batch_measured(steps(np.array(GUESTS) / 3), np.array(GUESTS) / 3.01),
    "three prompts": lambda: guesses_measured([COPY, POEM, ANSWER]),
    "one prompt": lambda: guesses_measured([COPY]),
    "all lose": lambda: guesses_measured([ANSWER, SILENCE]),
    "all gain": lambda: guesses_measured([COPY, LONG]),
    "long names": lambda: guesses_measured(
        [LONG, ("another long name, for an answer", *ANSWER[1:])]
    ),
    "tiny replies": lambda: guesses_measured(
        [("a word", guessed([0], 1), plain(1)), ("silence", guessed([0, 0], 0), plain(2))]
    ),
    "very fast": lambda: guesses_measured([("a blink", guessed([5] * 9, 5, 2e-7), plain(54, 1.9))]),
    "texts that differ": lambda: guesses_measured([("a tie", COPY[1], plain(31)), ANSWER]),
    "two replies": lambda: replies_by_bits({"exact": "w" * 400, "rounded": "\n" * 300}),
    "nothing said": lambda: replies_by_bits({"exact": "", "rounded": ""}),
    "all the same": lambda: replies_by_bits({f"{n} bits": "Soup." for n in range(8)}, "Well?"),
}
DRAWN = {**FIGURES, **OTHERS}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_legible_whatever_was_measured(
    name: str, pictures: dict[str, Picture]
) -> None:
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("perplexity-by-bits", "At 3 bits SmolLM2 chooses among 100 to 518 tokens instead of 30;"),
        ("perplexity-by-bits", "4 bits in groups of 32 lose nothing: the file has no more"),
        ("perplexity-by-bits", "groups of 64: 8 bits 30.0, 6 bits 30.8, 5 bits 34.0, 4 bits 39.0"),
        ("perplexity-by-bits", "with 2 bits it is worse than a guess among all 49,152."),
        ("rings", "measured here: 3 bits 99.6 in groups of 32, 4 bits 39.0 in groups of 64, 4 bi"),
        ("batch", "64 guests get 5.1 times the tokens of one here; the law says 6.2."),
        ("batch", "8 guests 127 (law 352), each 15.9;"),
        ("company that costs", "64 guests get 0.035 times the tokens of one here; the law says"),
        ("two sizes", "3 guests get 1.1 times the tokens of 2 here; the law says 1.5."),
        ("faster than the law", "Faster than the law with 1, 2, 4, 8, 16, 32 and 64: this machine"),
        ("many sizes", "Faster than the law with 16 of 16 sizes"),
        ("guesses", "Guessing pays where guesses are right: × 3.5 for a correction, × 0.73 for an"),
        ("guesses", "a correction: 6 passes instead of 30, 5.00 tokens in each, 24 of 30 guesses"),
        ("guesses", "guesses right (pass by pass: 0, 4 times 5, 4), 5.40 ms a token instead of"),
        ("guesses", "an answer: 30 passes instead of 31, 1.03 tokens in each, 1 of 60 guesses"),
        ("guesses", "With guesses or without, the text is the same, token for token."),
        ("all lose", "Guessing costs more than it brings: × 0.70 to × 0.73"),
        ("all gain", "Guessing pays each time: × 2.8 to × 3.5"),
        ("one prompt", "With guesses: × 3.5 for a correction"),
        ("texts that differ", "The texts differ for a tie."),
        ("replies-by-bits", "2 of 6 rounded models write what the model in the file writes."),
        (
            "replies-by-bits",
            "The likeliest reply to \u201cWhy is the sky blue?\u201d. as it is: ",
        ),
        (
            "replies-by-bits",
            "4 bits: \u201cThe answer is that the sky is composed of a mix",
        ),
        ("replies", "1 of 4 rounded models writes what the model in the file writes."),
        (
            "replies",
            "3 bits, groups of 128: \u201cYou are a\u23ce\u23ce*\u23ce\u23ce\u25a1\u25a1\u25a1 ",
        ),
        ("all the same", "All of 7 rounded models write what the model in the file writes."),
        ("two replies", "The rounded model does not write what the model in the file writes."),
    ],
)
def test_a_figure_says(name: str, claim: str, pictures: dict[str, Picture]) -> None:
    assert claim in pictures[name].alt


# --- perplexity ----------------------------------------------------------------------------------


def test_every_row_says_what_was_measured_how_and_when() -> None:
    rows = readings()
    assert len(rows) == len(data.rows("perplexity.csv")) == 1 + 3 * 6
    assert len({(row.bits, row.group) for row in rows}) == len(rows)
    assert {row.model for row in rows} == {"SmolLM2-135M-Instruct"}
    assert {row.text for row in rows} == {"market_day.txt"}
    assert all(re.fullmatch(r"kitchenlib\.llm at [0-9a-f]{7}", row.source) for row in rows)
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", row.date) for row in rows)


def test_scales_are_counted_in_every_row() -> None:
    """The shape alone tells: the stand-in does as well."""
    for row in readings()[1:]:
        assert row.bits
        assert row.group
        assert row.bits_per_weight == pytest.approx(
            any_smol().bits_per_weight(row.bits, row.group), rel=1e-5
        )


def test_the_rows_are_what_the_model_reads_and_writes() -> None:
    smol = real_smol()
    prompt = readings()[0].prompt
    assert len(smol.tokenize(llm.market_day())) == readings()[0].tokens
    found = {(row.bits, row.group): row.perplexity for row in readings()}
    replies = {(row.bits, row.group): row.reply for row in readings()}
    assert llm.perplexity(smol) == pytest.approx(found[None, None], rel=1e-4)
    for bits, group in ((4, 64), (3, 128)):
        light = smol.rounded(bits, group)
        assert llm.perplexity(light) == pytest.approx(found[bits, group], rel=1e-3)
        assert "".join(light.stream(prompt, 24)) == replies[bits, group]


def test_nothing_is_concluded_from_the_width_of_the_file() -> None:
    """4 bits in groups of 32 are the weights themselves; 5 are worse, and that is the trap."""
    found = {(row.bits, row.group): row.perplexity for row in readings()}
    exact = found[None, None]
    assert found[4, 32] == exact
    assert all(found[5, group] > 1.09 * exact for group in (32, 64, 128))
    assert all(abs(found[8, group] / exact - 1) < 0.01 for group in (32, 64, 128))
    assert found[6, 32] < exact  # chance: a text so short does not tell
    assert all(found[2, group] > kl.model("SmolLM2-135M").vocab for group in (32, 64, 128))


def drawn(ax: Axes, ring: bool = False) -> list[tuple[float, float]]:
    """Where marks, or rings, stand in the units of the axes."""
    return [
        (float(x), float(y))
        for line in ax.lines
        if line.get_marker() in ("o", "s", "D") and line.get_transform() == ax.transData
        if (line.get_markersize() > 9) == ring
        for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    ]


def test_every_point_is_drawn_where_the_row_has_it(pictures: dict[str, Picture]) -> None:
    whole, close = pictures["perplexity-by-bits"].axes
    rows = [(row.bits_per_weight or 0.0, row.perplexity) for row in readings() if row.bits]
    assert sorted(drawn(whole)) == sorted(rows)
    exact = readings()[0].perplexity
    wide = sorted((width, read / exact - 1) for width, read in rows if width > 4)
    for point, row in zip(sorted(drawn(close)), wide, strict=True):
        assert point == pytest.approx(row)


def test_rings_stand_at_what_the_reader_measured(pictures: dict[str, Picture]) -> None:
    whole, close = pictures["rings"].axes
    exact = readings()[0].perplexity
    read = [(4, 99.6), (4.5, 39.0), (5, 29.9), (8.5, 30)]
    assert drawn(whole, ring=True) == read
    near = [(width, read / exact - 1) for width, read in read[1:]]
    assert drawn(close, ring=True) == near


def test_a_ring_beyond_the_picture_stands_on_its_edge_and_says_so(
    pictures: dict[str, Picture],
) -> None:
    texts = [text.get_text() for text in pictures["rings beyond"].axes[0].texts]
    assert "here (on the edge: beyond)" in texts
    assert "measured here" not in texts
    assert "2 bits 1,000,000,000,000 in groups of 32" in pictures["rings beyond"].alt


@pytest.mark.parametrize(
    ("read", "message"),
    [
        ([(3, 32)], "give triples"),
        ([3, 32, 99.6], "give triples"),
        (["abc"], "give triples"),
        ([(3, 48, 99.6)], "group = 48 will not do: the picture has groups of 32, 64, 128"),
        ([(1, 32, 99.6)], "bits = 1 will not do: the picture shows 2 to 8 bits"),
        ([(9, 32, 99.6)], "bits = 9"),
        ([(3.5, 32, 99.6)], "bits = 3.5"),
        ([(3, 32, 0)], "perplexity = 0"),
        ([(3, 32, float("nan"))], "perplexity = nan"),
    ],
)
def test_what_is_no_reading_is_refused_in_words(read: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        perplexity_by_bits(read)


# --- company -------------------------------------------------------------------------------------


def test_both_panels_show_what_was_measured_and_the_law(pictures: dict[str, Picture]) -> None:
    together, each = pictures["batch"].axes
    guests = np.array(GUESTS)
    for ax, shared in ((together, 1), (each, guests)):
        law, measured = (np.asarray(line.get_ydata()) for line in ax.lines)
        assert law == pytest.approx(guests / LAW / shared)
        assert measured == pytest.approx(guests / SECONDS / shared)


def test_steps_in_any_order_give_the_same_picture() -> None:
    backwards = batch_measured(steps(SECONDS)[::-1], LAW[::-1])
    assert backwards.svg() == batch_measured(steps(SECONDS), LAW).svg()


def test_the_law_is_beaten_by_more_than_noise_before_it_is_said() -> None:
    assert "Faster" not in batch_measured(steps(LAW / 1.01), LAW).alt
    assert (
        "Faster than the law with 8: this"
        in batch_measured(steps(np.where(np.array(GUESTS) == 8, LAW / 1.03, LAW)), LAW).alt
    )


def test_it_draws_what_the_model_measures() -> None:
    """From the measurement to the picture, as a notebook does it."""
    smol, mine = any_smol(), kl.Chip("mine", bandwidth=3e10, peaks={"fp32": 1e11})
    found = llm.batch_steps(smol, (1, 2), tries=1)
    shape = kl.model("SmolLM2-135M")
    work = [kl.decode_step(shape, s.context, s.batch, weights="fp32", kv="fp32") for s in found]
    law = [float(each.time(mine)) for each in work]
    assert "2 guests get " in batch_measured(found, law).alt


@pytest.mark.parametrize(
    ("found", "law", "message"),
    [
        ([], [], "two batches or more"),
        (steps(SECONDS[:1], (1,)), LAW[:1], "two batches or more"),
        (steps(SECONDS[:2], (4, 4)), LAW[:2], "each batch once"),
        ([BatchStep(1, 64, 0.1), BatchStep(2, 128, 0.1)], [0.1, 0.1], "as many notes"),
        (steps(SECONDS), LAW[:3], "the seconds of each of the 7 steps"),
        (steps(SECONDS), -LAW, "law"),
        (steps(SECONDS * 0), LAW, "seconds"),
        ([0.1, 0.2], [0.1, 0.2], "llm.batch_steps"),
        (BatchStep(1, 64, 0.1), [0.1], "llm.batch_steps"),
        (7, [0.1], "llm.batch_steps"),
    ],
)
def test_steps_that_do_not_compare_are_refused_in_words(
    found: list, law: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        batch_measured(found, law)


# --- guesses -------------------------------------------------------------------------------------


def test_every_token_and_every_guess_is_a_box(pictures: dict[str, Picture]) -> None:
    """Of each run: own tokens, right guesses, wrong ones; and without guesses as many as passes."""
    found = [
        len(some.get_paths())
        for some in pictures["guesses"].axes[0].collections
        if isinstance(some, PatchCollection)
    ]
    assert [n for n in found if n] == [6, 24, 6, 30, 30, 1, 59, 31]


def test_a_guess_that_was_the_end_leaves_no_token_of_the_model() -> None:
    reply = Speculation(9, 0.1, (Sweep((5, 2, 7), (5, 2), 0.02),), (4, 5), "")
    alt = guesses_measured([("the end", reply, plain(2))]).alt
    assert "1 passes instead of 2, 2.00 tokens in each, 2 of 3 guesses right" in alt


def test_the_real_thing_is_drawn() -> None:
    smol = any_smol()
    runs = [
        ("a pattern", smol.speculate([5, 6, 7] * 5, 6), smol.speculate([5, 6, 7] * 5, 6, drafted=0))
    ]
    alt = guesses_measured(runs).alt  # its title depends on the clock, its words do not
    assert "a pattern: " in alt
    assert "the text is the same, token for token" in alt


def test_a_gain_that_no_guess_can_bring_is_put_down_to_a_busy_machine() -> None:
    """A pass that writes one token is 19 times as fast as a pass that writes one token."""
    lucky = ("luck", guessed([0] * 4, 5, 0.001), plain(4))
    title = "This machine was busy: run the cell again (no guess brings × 19 for luck)"
    assert guesses_measured([lucky, COPY]).alt.startswith(title)


def test_a_company_that_beats_the_law_by_far_is_put_down_to_a_busy_machine() -> None:
    slow, fast = BatchStep(1, 64, 0.08), BatchStep(64, 64, 0.2)
    title = "More than the law allows: this machine was busy, run the cell again"
    assert batch_measured([slow, fast], [0.02, 0.15]).alt.startswith(title)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "runs is empty"),
        ([("a", COPY[1])], "with guesses, without"),
        ([("a", COPY[1], 3)], "with guesses, without"),
        ([(COPY[1], COPY[1], COPY[2])], "with guesses, without"),
        (COPY, "with guesses, without"),
        ([("a", COPY[1], COPY[1])], "drafted=0"),
        ([("a", COPY[1]._replace(sweeps=()), COPY[2])], "ended with the first token"),
        ([("a", COPY[1], plain(161))], "room for 160 passes"),
        ([("a", guessed([2, 2], 17), plain(6))], "room for 16 guesses"),
        ([("w" * 60, *COPY[1:])], "up to 40 letters"),
        ([("a", guessed([1], 2, 0.0), plain(2))], "seconds of a token = 0"),
    ],
)
def test_runs_of_which_nothing_can_be_told_are_refused_in_words(runs: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        guesses_measured(runs)


@pytest.mark.parametrize("name", ["batch", "guesses"])
def test_words_about_a_machine_stay_when_its_numbers_change(
    name: str, pictures: dict[str, Picture]
) -> None:
    slower = [
        (called, guessed(reply.accepted, len(reply.sweeps[0].drafted), 0.1), plain(n, 0.08))
        for (called, reply, _), n in ((COPY, 30), (ANSWER, 31))
    ]
    other = {
        "batch": lambda: batch_measured(steps(4 * SECONDS), 4 * LAW),
        "guesses": lambda: guesses_measured(slower),
    }[name]()
    assert other.alt != pictures[name].alt
    assert _NUMBER.sub("#", other.alt) == _NUMBER.sub("#", pictures[name].alt)


# --- replies -------------------------------------------------------------------------------------


def test_a_reply_says_how_far_it_goes_with_the_exact_one(pictures: dict[str, Picture]) -> None:
    texts = [text.get_text() for text in pictures["replies"].axes[0].texts]
    notes = [text for text in texts if text == "the same" or text.startswith("differs")]
    assert notes == [
        "the same",
        "differs from word 3 on",
        "differs from word 1 on",
        "differs from word 1 on",
    ]


def test_a_long_reply_is_cut_and_says_so(pictures: dict[str, Picture]) -> None:
    texts = [text.get_text() for text in pictures["two replies"].axes[0].texts]
    long = next(text for text in texts if text.startswith("www"))
    assert long.count("\n") == 1
    assert long.endswith("\u2026")
    assert not any(text.endswith("\u2026") for text in REPLIES.values())


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ({}, "2 to 8 replies"),
        ({"exact": "a"}, "2 to 8 replies"),
        ({str(n): "a" for n in range(9)}, "2 to 8 replies"),
        (["a", "b"], "2 to 8 replies"),
        ({"exact": "a", "3 bits": 3}, "as text"),
        ({"exact": "a", 3: "b"}, "as text"),
        ({"exact": "a", "3 bits in rather large groups": "b"}, "up to 20 letters"),
    ],
)
def test_replies_that_cannot_be_compared_are_refused_in_words(replies: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replies_by_bits(replies)
