"""The pictures of the price sheets say what the rows say, and stay legible for any row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import kitchenlib as kl
from kitchenlib.plots import sheet_reader, sheets, style
from kitchenlib.plots.sheet_reader import price_sheet_reader
from kitchenlib.plots.sheets import price_ratios, price_switches, tiers
from kitchenlib.plots.style import Picture
from kitchenlib.prices import Price, SheetPrice, sheet_price, sheet_prices
from tests import test_plots as every_picture

FIGURES: dict[str, Callable[[], Picture]] = {
    "price-ratios": price_ratios,
    "price-switches": price_switches,
    "price-sheet-reader": price_sheet_reader,
}
YOURS = SheetPrice("you", "yours", "2026", Price(1.0, 1.0), "", "", "", "your own sheet", False)

#: The page with rows that are long, old, inverted, or without a price for cached input.
OTHERS: dict[str, Callable[[], Picture]] = {
    "a long condition": lambda: price_sheet_reader(
        sheet_price(condition="Grok 4.20 0309 Non-Reasoning >200k"), 2_000_000, 0, 0, 100_000
    ),
    "the row at peak": lambda: price_sheet_reader(
        sheet_price(condition="peak 01-04 and 06-10 UTC Mon-Fri"), 128_000, 127_000, 64_000, 8_000
    ),
    "a year only": lambda: price_sheet_reader(
        sheet_price(model="@cf/llama-3.2-11b-vision-instruct"), 2_000, 0, 0, 200
    ),
    "an inverted row": lambda: price_sheet_reader(sheet_price(model="@cf/meta/llama-guard-3-8b")),
    "yours": lambda: price_sheet_reader(YOURS),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in {**FIGURES, **OTHERS}.items()}


@pytest.mark.parametrize("name", ["a long condition", "a year only", "yours"])
def test_the_page_is_legible_for_any_row(name, pictures):
    every_picture.test_no_word_touches_another_or_the_data(name, pictures)
    every_picture.test_every_word_stands_on_the_card(name, pictures)
    every_picture.test_no_word_is_smaller_than_nine_points(name, pictures)
    every_picture.test_the_words_of_a_picture_begin_with_its_claim(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("price-ratios", "Output costs more on 168 of 176 price rows: the median is 4.2 times"),
        ("price-ratios", "Without these: median 4.2, middle 90% from 1.7 to 8.0, 8 equal, 0 below"),
        ("price-ratios", "26 exceptions 168 of 202 rows: median 4.0, middle 90% from 1.0 to 8.0"),
        ("price-ratios", "32 equal, 2 below 1; one vote for each of 12 firms: median 4.1"),
        ("price-ratios", "llama-guard-3-8b $0.484 in, $0.03 out, as of 2026-11"),
        ("price-ratios", "text-davinci-003 $20.00 in, $20.00 out"),
        ("price-ratios", "vision-instruct $0.049 in, $0.676 out, 2025 (year only)"),
        ("price-switches", "cached × 0.1, long × 2, at peak × 2"),
        ("price-switches", "97 rows: median 0.10, 42 rows exactly that, from 0.02 to 0.50"),
        ("price-switches", "input × 2 in 26 of 27 pairs, output × 1.5 in 14 and × 2 in 13"),
        ("price-switches", "output / input falls in 15"),
        ("price-switches", "$0.60 off-peak, $1.20 at peak 01-04 and 06-10 UTC Mon-Fri"),
        ("price-sheet-reader", "writing is 13% of these tokens, and 74% of their bill"),
        ("price-sheet-reader", "input $0.15, cached input $0.003, output $0.60"),
        ("price-sheet-reader", "reasoning 1,000 tokens $0.60, reply 500 tokens $0.30"),
        ("price-sheet-reader", "together $1.22"),
        ("price-sheet-reader", "busy hours: at peak × 2"),
        ("price-sheet-reader", "reading at 40% 117, 15, 4.2, 2.4, 1.6"),
        ("price-sheet-reader", "Consistent with × 4: 34 to 113 guests a trip."),
        ("the row at peak", "busy hours: off-peak × 0.5"),
        ("a year only", "cached input no price of its own"),
        ("a year only", "This one: 2025 (year only)."),
        ("an inverted row", "writing is 13% of these tokens, and 0.9% of their bill"),
        ("an inverted row", "No number of guests up to 1,024 gives × 0.062."),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


@pytest.mark.parametrize("name", FIGURES)
def test_prices_are_shown_with_their_date_and_source(name, pictures):
    said = " ".join(text.get_text() for text in every_picture.words(pictures[name]))
    assert "2026-11" in said
    assert re.search(r"llm-prices@723ef0b \(2026-08-05\)", said)


# --- output against input ----------------------------------------------------------------------


def bricks(picture: Picture, panel: int = 0) -> list[Rectangle]:
    return [patch for patch in picture.axes[panel].patches if isinstance(patch, Rectangle)]


def test_every_row_is_one_brick_where_its_ratio_is(pictures):
    drawn = sorted(b.get_x() + b.get_width() / 2 for b in bricks(pictures["price-ratios"]))
    ratios = sorted(float(row.price.ratio) for row in sheet_prices())
    assert len(drawn) == 202
    assert np.abs(np.subtract(drawn, ratios)).max() <= 0.125 + 1e-9


def test_rows_that_were_picked_are_hollow(pictures):
    faces = [to_hex(b.get_facecolor()) for b in bricks(pictures["price-ratios"])]
    assert faces.count(style.PAPER.lower()) == len(sheet_prices(picked=True)) == 26


def test_the_median_is_marked_with_and_without_the_exceptions(pictures):
    lines = pictures["price-ratios"].axes[0].lines
    marked = [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "D"]
    chosen: list[dict[str, Any]] = [{"picked": False}, {}]
    medians = [np.median([r.price.ratio for r in sheet_prices(**rows)]) for rows in chosen]
    assert marked == pytest.approx(medians)


# --- what else changes a price -----------------------------------------------------------------


def test_two_tiers_differ_in_the_length_of_the_prompt_alone():
    pairs = tiers()
    assert len(pairs) == sum(">" in row.condition for row in sheet_prices()) == 27
    for short, long in pairs:
        assert (short.provider, short.date) == (long.provider, long.date)
        assert long.condition == short.condition.replace("≤", ">")
        assert long.model.removesuffix(re.findall(r"-\d+k$", long.model)[0]) == short.model


def test_a_long_prompt_never_raises_the_ratio():
    for short, long in tiers():
        assert long.price.ratio <= short.price.ratio + 1e-9
        assert long.price.input >= 2 * short.price.input


def test_peak_hours_are_those_of_the_sheet(pictures):
    steps = [patch.get_data() for patch in pictures["price-switches"].axes[2].patches]
    assert {tuple(step.edges) for step in steps} == {(0, 1, 4, 6, 10, 24)}
    assert sorted(max(step.values) / min(step.values) for step in steps) == [2, 2]


def test_a_listed_price_keeps_its_digits():
    assert list(map(sheets.listed, (0.3, 0.003, 20.0, 0.484))) == [
        "$0.30",
        "$0.003",
        "$20.00",
        "$0.484",
    ]


# --- the page ----------------------------------------------------------------------------------


def test_the_page_is_a4_upright(pictures):
    assert pictures["price-sheet-reader"].size == pytest.approx((210 / 25.4, 297 / 25.4), abs=0.005)


def shown(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if isinstance(text, Text)]


def test_the_bill_is_that_of_the_row(pictures):
    """2,000 fresh, 8,000 cached, 1,500 written: 300 + 24 + 900 millionths of a dollar."""
    price = sheet_price(model=sheet_reader._ROW["model"], condition="off-peak").price
    bill = price.request(10_000, 500, cached=8_000, reasoning=1_000)
    assert bill == pytest.approx(1224e-6)
    words = shown(pictures["price-sheet-reader"])
    assert {"$0.30", "$0.024", "$0.60", "$1.22"} <= set(words)
    uncached = price.request(10_000, 500, reasoning=1_000)
    for name, amount in (
        ("if nothing were cached", uncached),
        ("if it did not reason", price.request(10_000, 500, cached=8_000)),
        ("if the reply were half", price.request(10_000, 250, cached=8_000, reasoning=1_000)),
        ("at peak", 2 * bill),
    ):
        assert words[words.index(name) + 1] == f"${1000 * amount:.2f}"


@pytest.mark.parametrize(("efficiency", "guests"), [("prefill 40%", 34), ("ideal", 113)])
def test_the_guests_of_a_ratio_are_those_of_the_law(efficiency, guests):
    """Seconds of a decode step for each guest, over seconds of a prefill for each token."""
    model, chip, shares = kl.model("Llama-2-70B"), kl.chip("H100 SXM"), kl.efficiency(efficiency)

    def ratio(batch):
        read = kl.estimate(kl.prefill(model, 2048, batch), chip, shares) / (batch * 2048)
        return kl.estimate(kl.decode_step(model, 2048, batch), chip, shares) / batch / read

    assert ratio(guests) <= 4 < ratio(guests - 1)


def test_nothing_is_asked_that_changes_nothing(pictures):
    assert not {"if nothing were cached", "if it did not reason"} & set(
        shown(pictures["a year only"])
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"row": "deepseek"}, "row = 'deepseek' will not do: give a SheetPrice"),
        ({"prompt": 0}, "prompt = 0 .*tokens"),
        ({"prompt": [1, 2]}, "prompt = .*not an array"),
        ({"cached": 10_001}, "at most all tokens of the prompt"),
        ({"reasoning": -1}, "reasoning = -1 .*tokens of reasoning"),
        ({"reply": 0.5}, "reply = 0.5 .*tokens of the reply"),
    ],
)
def test_a_request_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        price_sheet_reader(**arguments)


def test_a_bill_of_nothing_has_no_shares():
    free = SheetPrice("you", "free", "2026", Price(0, 0), "", "", "", "your own sheet", False)
    with pytest.raises(ValueError, match="costs nothing: give a row with prices above 0"):
        price_sheet_reader(free)
