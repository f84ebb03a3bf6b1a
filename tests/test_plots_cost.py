"""The pictures of money say true things, and stay legible for other kitchens and other orders."""

import re
import statistics
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

import kitchenlib as kl
from kitchenlib.plots import style
from kitchenlib.plots.cost import cost_alone, cost_by_batch
from kitchenlib.plots.per_dollar import ORDERS, Order, per_dollar
from kitchenlib.plots.ratio_by_batch import ratio_by_batch
from kitchenlib.plots.style import Picture
from tests import test_plots as every_picture

H100, LLAMA, LONG = kl.chip("H100 SXM"), kl.model("Llama-2-70B"), kl.model("Llama-3.1-70B")
SMALL = kl.model("Llama-3.1-8B")
RENT = kl.chip_hour(provider="Nebius", chip="H100 SXM")
L40S = kl.chip_hour(provider="Nebius", chip="L40S")
GOOGLE = kl.chip_hour(provider="Google Cloud", chip="TPU v5p")
USD = 2.95  # dollars an hour, of RENT

FIGURES: dict[str, Callable[[], Picture]] = {
    "cost-alone": cost_alone,
    "cost-by-batch": cost_by_batch,
    "ratio-by-batch": ratio_by_batch,
    "per-dollar": per_dollar,
}
#: Every function at other settings.
OTHERS: dict[str, Callable[[], Picture]] = {
    "a model of short notes": lambda: cost_alone(LLAMA),
    "one cheap chip": lambda: cost_alone(SMALL, L40S, chips=1),
    "experts": lambda: cost_alone(kl.model("gpt-oss-120b"), GOOGLE),
    "batches of a small model": lambda: cost_by_batch(SMALL, L40S, 1, (512, 2048, 8192)),
    "one length of notes": lambda: cost_by_batch(notes=(8192,)),
    "batches of experts": lambda: cost_by_batch(kl.model("gpt-oss-120b"), RENT, 4, (4096, 65_536)),
    "ratio of a small model": lambda: ratio_by_batch(SMALL, kl.chip("L40S"), 512, (4, 128)),
    "ratio of light notes": lambda: ratio_by_batch(LONG, kl.chip("A100 SXM 80GB"), 32, (128,)),
    "ratio of heavy notes": lambda: ratio_by_batch(LONG, kl.chip("TPU v6e (Trillium)"), 100_000),
    "dollars for one order": lambda: per_dollar(orders=ORDERS[:1]),
    "dollars for two chips": lambda: per_dollar(hours=[L40S, GOOGLE], pair=("L40S", "TPU v5p")),
    "dollars for long orders": lambda: per_dollar(
        orders=[*ORDERS[:2], Order("a book", 120_000, 2000)], pair=("H200 SXM", "H100 SXM")
    ),
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
        ("cost-alone", "A short order saves notes, not the sack: a million tokens cost $34.04 at"),
        ("cost-alone", "at 100 tokens of notes, $34.36 at 4,096."),
        ("cost-alone", "a long document, 100,000 tokens of notes: $42.05, of it $34.03 for the"),
        ("cost-alone", "4 × H100 SXM at $2.95 an hour each: Nebius, v8 catalogue 2025-26"),
        ("a model of short notes", "a million tokens cost $33.66 at 100 tokens of notes, $33.98"),
        ("cost-by-batch", "$34.07 alone, $0.18 with 296 guests. More save nothing and long notes"),
        ("cost-by-batch", "long notes end it sooner: $4.92 with 15 guests."),
        (
            "cost-by-batch",
            "2,048: $34.20 and 95.8 tokens/s alone, $0.33 and 40.1 tokens/s each with 248",
        ),
        ("cost-by-batch", "until the chef is busy (296 guests)"),
        ("cost-by-batch", "70% of the bandwidth) 1.4 to 2.0 times as dear"),
        ("ratio-by-batch", "4.2 times is consistent with 106, 33 or 50 guests"),
        ("ratio-by-batch", "292 with 1 guest, 19.6 with 16 guests, 10.5 with 32 guests, 6.0 with"),
        ("ratio-by-batch", "117 with 1 guest, 7.8 with 16 guests, 4.2 with 32 guests, 2.4 with"),
        ("ratio-by-batch", "167 with 1 guest, 11.2 with 16 guests, 6.0 with 32 guests, 3.4 with"),
        ("ratio-by-batch", "median 4.2, 5th to 95th percentile 1.7 to 8.0"),
        ("per-dollar", "H100 SXM or A100 PCIe 80GB*? Per dollar, it depends on the order: the"),
        ("per-dollar", "the first serves 1.27 times the summarising, 0.84 times the reasoning"),
        ("per-dollar", "B200 SXM is first in every column"),
        ("per-dollar", "H100 SXM, $2.95 an hour at Nebius, v8 catalogue 2025-26"),
        (
            "per-dollar",
            "chat 21,500 with 64 at once, summarising 1,930 with 45 at once, agent 1,020",
        ),
        ("per-dollar", "Too small for the sack: TPU v5e."),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


# --- one guest alone ---------------------------------------------------------------------------


def test_the_rent_is_the_one_that_is_calculated_with():
    assert RENT.usd == USD


def test_the_sack_costs_its_bytes_over_the_bandwidth():
    """Four chips share the sack and its time: their number cancels, but for exchanges."""
    seconds = LONG.streamed_weight_bytes() / H100.bandwidth
    by_hand = seconds * USD / 3600 * 1e6
    said = np.asarray(cost_alone(chips=4).axes[0].lines[0].get_ydata())
    assert said == pytest.approx(np.full(said.size, by_hand), rel=2e-3)


def test_the_line_of_one_guest_is_what_the_law_charges(pictures):
    line = pictures["cost-alone"].axes[0].lines[1]
    price = kl.price_per_million(LONG, H100, USD, line.get_xdata(), chips=4)
    assert line.get_ydata() == pytest.approx(price.output)
    assert line.get_xdata()[[0, -1]].tolist() == [1, 131_072]


# --- many guests -------------------------------------------------------------------------------


def test_a_line_ends_where_one_guest_more_does_not_fit(pictures):
    marks = [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in pictures["cost-by-batch"].axes[0].lines
        if line.get_marker() == "s"
    ]
    for notes, (guests, price) in zip((512, 2048, 8192, 32_768), marks, strict=True):
        assert kl.fits(LONG, H100, notes, guests, chips=4)
        assert not kl.fits(LONG, H100, notes, guests + 1, chips=4)
        law = kl.price_per_million(LONG, H100, USD, notes, batch=guests, chips=4)
        assert price == pytest.approx(law.output)


def test_experts_are_not_said_to_halve_the_price(pictures):
    assert "half the price" in pictures["cost-by-batch"].alt
    assert "half the price" not in pictures["batches of experts"].alt


def test_no_line_goes_on_beyond_its_mark(pictures):
    lines = pictures["cost-by-batch"].axes[0].lines
    green = [line for line in lines if line.get_color() == style.NOTES.fill]
    assert [max(line.get_xdata()) for line in green] == [993, 248, 62, 15]


def test_without_notes_twice_the_guests_pay_half_until_the_chef_is_busy(pictures):
    free = pictures["cost-by-batch"].axes[0].lines[0].get_ydata()
    for guests, rel in ((1, 0.002), (16, 0.02), (64, 0.07)):  # the rest are exchanges
        assert free[2 * guests - 1] == pytest.approx(free[guests - 1] / 2, rel=rel)
    assert free[1023] == pytest.approx(free[295], rel=2e-3)
    assert int(H100.ridge()) + 1 == 296


# --- output against input ----------------------------------------------------------------------

RATIOS = [float(row.price.ratio) for row in kl.sheet_prices(picked=False)]


@pytest.mark.parametrize(("name", "guests"), [("ideal", 106), ("prefill 40%", 33), ("planned", 50)])
def test_the_ratio_meets_the_median_of_the_sheets_where_the_title_says(name, guests):
    median = statistics.median(RATIOS)
    for number, low in ((guests - 1, False), (guests, True)):
        named = kl.efficiency(name)
        price = kl.price_per_million(LLAMA, H100, 1, 2048, batch=number, efficiency=named)
        assert (price.ratio <= median) == low


def test_the_ratio_is_the_same_at_any_rent_and_occupancy(pictures):
    """So the picture need not say whose price it is."""
    line = pictures["ratio-by-batch"].axes[0].lines[1]
    for rent, full in ((2.95, 1.0), (10.8, 0.25)):
        price = kl.price_per_million(
            LLAMA, H100, rent, 2048, batch=np.arange(1, 129), occupancy=full
        )
        assert line.get_ydata() == pytest.approx(price.ratio)


def test_the_band_leaves_out_rows_that_were_picked_for_their_ratio(pictures):
    band = next(p for p in pictures["ratio-by-batch"].axes[0].patches if p.get_height() > 1)
    assert isinstance(band, Rectangle)
    edges = band.get_y(), band.get_y() + band.get_height()
    assert edges == pytest.approx(np.percentile(RATIOS, (5, 95)))
    assert f"{len(RATIOS)} rows of price sheets" in pictures["ratio-by-batch"].alt


def test_a_ratio_that_no_batch_reaches_is_said_to_be_beyond_the_picture(pictures):
    alt = pictures["ratio of heavy notes"].alt
    assert "4.2 times is consistent with none of 1 to 128 guests" in alt


# --- per dollar --------------------------------------------------------------------------------


def by_hand(order: Order, hour: kl.ChipHour, guests: int) -> float:
    """Requests per dollar, from seconds: nothing cached."""
    assert hour.chip
    assert hour.usd
    chip, plan = kl.chip(hour.chip), kl.efficiency("planned")
    written = order.reply + order.reasoning
    read = kl.estimate(kl.prefill(SMALL, order.prompt, guests), chip, plan)
    step = kl.estimate(kl.decode_step(SMALL, order.prompt + written // 2, guests), chip, plan)
    return float(guests / (read + written * step) * 3600 / hour.usd)


def test_the_two_chips_of_the_title_trade_places():
    a100 = kl.chip_hour(chip="A100 PCIe 80GB", provider="RunPod")
    chat, summarising, _, reasoning = ORDERS
    for order, guests, ratio in ((summarising, 45, 1.27), (reasoning, 64, 0.84), (chat, 64, 1.25)):
        found = by_hand(order, RENT, guests) / by_hand(order, a100, guests)
        assert found == pytest.approx(ratio, abs=0.005)


def test_requests_per_dollar_are_those_of_seconds_and_rent(pictures):
    chat, _, _, reasoning = ORDERS
    h100 = pictures["per-dollar"].alt.split("H100 SXM, $2.95")[1]
    said = re.search(r"chat ([\d,]+) with 64 .* reasoning ([\d,]+) with 64", h100.split("*,")[0])
    assert said
    found = [by_hand(order, RENT, 64) for order in (chat, reasoning)]
    assert list(said.groups()) == [kl.units.significant(number) for number in found]


def test_cached_tokens_of_the_agent_cost_less_than_fresh_ones(pictures):
    fresh = per_dollar(orders=[Order("agent", 50_000, 200)]).alt
    assert "agent 1,380 with 23 at once" in pictures["per-dollar"].alt
    assert "agent 372 with 23 at once" in fresh


def bars(picture: Picture, colour: str) -> list[Rectangle]:
    return [
        patch
        for patch in picture.axes[0].patches
        if isinstance(patch, Rectangle) and patch.get_facecolor() == to_rgba(colour)
    ]


def test_reading_takes_most_of_a_chat_and_little_of_reasoning(pictures):
    """Of the first row's bars; the first of each colour is in the key."""
    reading = [bar.get_width() for bar in bars(pictures["per-dollar"], style.CHEF.fill)[1:5]]
    assert reading[0] / 0.94 > 0.5
    assert reading[3] / 0.94 < 0.05


def test_chips_without_a_sound_price_are_left_out(pictures):
    for name in ("RTX 4090", "L4,", "per blog", "market range"):
        assert name not in pictures["per-dollar"].alt


def test_an_order_that_does_not_fit_a_chip_says_so(pictures):
    large = Order("two in one", 70_000, 60_000)
    hours = [kl.chip_hour(provider="RunPod (per blog)", chip="RTX 4090"), RENT]
    said = per_dollar(hours=hours, orders=[ORDERS[0], large], pair=("RTX 4090", "H100 SXM")).alt
    assert "two in one does not fit" in said


# --- what will not do --------------------------------------------------------------------------


def test_a_kitchen_that_cannot_hold_the_sack_has_no_price():
    for draw in (cost_alone, cost_by_batch):
        with pytest.raises(ValueError, match=r"1 × H100 SXM cannot hold the 141 GB of Llama"):
            draw(chips=1)


def test_a_rent_that_is_none_is_refused():
    span = kl.chip_hour(provider="market range", chip="H100 SXM")
    for draw in (cost_alone, cost_by_batch, lambda hour: per_dollar(hours=[hour])):
        with pytest.raises(ValueError, match="the row market range, H100 SXM has no price"):
            draw(hour=span)
        with pytest.raises(ValueError, match=r"give a ChipHour, for example kl\.chip_hour"):
            draw(hour=2.95)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no chip of the catalogue"):
        cost_alone(hour=replace(RENT, chip=None))


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ((), "0 lines will not do: give notes for 1 to 4"),
        ((512, 600), "give the least first, each at least 3 times the one before"),
        ((0,), "whole number of tokens"),
        ((64,), r"7,\d\d\d guests would fit, and 1 to 1,024 are shown: give more tokens"),
        ((262_144,), "takes at most 131,072 tokens"),
    ],
)
def test_notes_that_cannot_be_drawn_are_refused(notes, message):
    with pytest.raises(ValueError, match=message):
        cost_by_batch(notes=notes)


def test_ratios_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="give at most 128 guests"):
        ratio_by_batch(guests=(1, 129))
    with pytest.raises(ValueError, match="5 columns will not do: give one to 4 numbers of guests"):
        ratio_by_batch(guests=(1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match="Llama-2-70B takes at most 4,096 tokens"):
        ratio_by_batch(notes=8192)
    with pytest.raises(ValueError, match="give a Model"):
        ratio_by_batch(model="Llama-2-70B")  # type: ignore[arg-type]


def test_orders_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="0 orders will not do: give one to 4"):
        per_dollar(orders=[])
    for order in (Order("all cached", 100, 10, cached=100), Order("no reply", 100, 0)):
        with pytest.raises(ValueError, match="not all are cached, and a reply of at least one"):
            per_dollar(orders=[order])
    with pytest.raises(ValueError, match=r"too long: Llama-3\.1-8B takes at most 131,072 t"):
        per_dollar(orders=[Order("a library", 400_000, 10)])
    with pytest.raises(kl.UnknownName, match="no chip of these rows is called 'H200'"):
        per_dollar(pair=("H100 SXM", "H200"))
    with pytest.raises(ValueError, match=r"0 of 1 chips hold Llama-3\.1-70B in 16 bit"):
        per_dollar(LONG, [RENT])


def test_what_is_no_order_no_row_and_no_pair_is_refused():
    with pytest.raises(ValueError, match=r"order = 'chat' .*give an Order"):
        per_dollar(orders=["chat"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="give a ChipHour"):
        per_dollar(hours=[2.95])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"pair = .*two chips"):
        per_dollar(pair=("H100 SXM",))  # type: ignore[arg-type]
