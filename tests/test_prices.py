"""Prices: a bill is added up right, and every row of the sheets is read with date and source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitchenlib import data
from kitchenlib.chips import chips
from kitchenlib.inputs import UnknownName
from kitchenlib.prices import Price, chip_hour, chip_hours, sheet_price, sheet_prices

PRICE = Price(2.5, 15.0, cached=0.25)
DOLLARS = st.floats(0, 1e4)
TOKENS = st.integers(0, 10**7)

# --- a price ---------------------------------------------------------------------------------


def test_a_bill_worked_by_hand() -> None:
    """100 tokens fresh, 900 cached, 100 thought and 500 said, at 2.50, 0.25 and 15 per million."""
    millionths = 100 * 2.5 + 900 * 0.25 + (100 + 500) * 15
    assert millionths == 9_475
    bill = PRICE.request(prompt=1_000, reply=500, cached=900, reasoning=100)
    assert bill == pytest.approx(millionths * 1e-6, rel=1e-15)


def test_a_price_may_be_for_one_token() -> None:
    assert Price(0.5, 2.0, currency="J", per=1).request(10, 3) == 11.0


def test_without_a_cached_price_a_cached_token_costs_as_a_fresh_one() -> None:
    plain = Price(3.0, 15.0)
    assert plain.request(1_000, 10, cached=900) == plain.request(1_000, 10)


def test_cached_input_may_be_free() -> None:
    assert Price(3.0, 15.0, cached=0.0).request(1_000, 0, cached=1_000) == 0


@given(DOLLARS, DOLLARS, DOLLARS, TOKENS, TOKENS, TOKENS)
def test_thinking_costs_as_much_as_speaking(
    read: float, write: float, kept: float, prompt: int, reply: int, reasoning: int
) -> None:
    price = Price(read, write, kept)
    thought = price.request(prompt + 1, reply, reasoning=reasoning)
    assert thought == pytest.approx(price.request(prompt + 1, reply + reasoning), rel=1e-12)


@given(DOLLARS, DOLLARS, TOKENS, TOKENS)
def test_two_requests_cost_what_each_costs(
    read: float, write: float, prompt: int, reply: int
) -> None:
    price = Price(read, write)
    both = price.request(2 * (prompt + 1), 2 * reply)
    assert both == pytest.approx(2 * price.request(prompt + 1, reply), rel=1e-12)


def test_sizes_and_prices_broadcast() -> None:
    price = Price(np.array([1.0, 2.0]), 4.0, cached=np.array([0.5, 0.0]))
    bills = price.request(np.array([[10], [20], [30]]), reply=5, cached=[10, 0])
    assert np.shape(bills) == (3, 2)
    for row, prompt in enumerate((10, 20, 30)):
        for column, (read, kept, cached) in enumerate(((1.0, 0.5, 10), (2.0, 0.0, 0))):
            one = Price(read, 4.0, kept).request(prompt, 5, cached)
            assert np.asarray(bills)[row, column] == one


def test_plain_numbers_give_plain_numbers() -> None:
    assert type(PRICE.ratio) is float
    assert type(PRICE.request(10, 2, 5, 1)) is float


def test_the_ratio_is_output_over_input() -> None:
    assert PRICE.ratio == 6.0
    assert np.array_equal(Price(np.array([1.0, 2.0]), 4.0).ratio, [4.0, 2.0])


def test_where_reading_is_free_the_ratio_is_infinite_and_nothing_warns() -> None:
    assert Price(0, 1).ratio == math.inf
    assert math.isnan(Price(0, 0).ratio)
    assert np.array_equal(Price(np.array([0.0, 2.0]), 4).ratio, [math.inf, 2.0])
    assert Price(1e-320, 1e30).ratio == math.inf


NOT_AN_AMOUNT: list[Any] = ["2.5", True, [], math.nan, math.inf, -0.01, [1.0, -1.0], {}, 1j, b"1"]
NOT_A_COUNT: list[Any] = [None, "8", True, [], math.nan, math.inf, -1, 0.5, [1, 1.5], 1e300]


@pytest.mark.parametrize("name", ["input", "output", "cached"])
@pytest.mark.parametrize("value", NOT_AN_AMOUNT, ids=str)
def test_a_price_is_an_amount(name: str, value: Any) -> None:
    good: dict[str, Any] = {"input": 1.0, "output": 2.0, name: value}
    with pytest.raises(ValueError, match=rf"{name}.* number of USD per 1,000,000 tokens"):
        Price(**good)


@pytest.mark.parametrize("name", ["input", "output"])
def test_a_sheet_has_both_prices(name: str) -> None:
    good: dict[str, Any] = {"input": 1.0, "output": 2.0, name: None}
    with pytest.raises(ValueError, match=rf"^{name} = None will not do"):
        Price(**good)


@pytest.mark.parametrize("value", [None, "", 3, b"USD", ["USD"]], ids=str)
def test_a_currency_has_a_name(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^currency = .*for example 'USD'"):
        Price(1.0, 2.0, currency=value)


@pytest.mark.parametrize("value", [None, 0, -1, "1", math.nan, math.inf, [1.0]], ids=str)
def test_a_price_is_for_a_number_of_tokens(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^per = .*tokens"):
        Price(1.0, 2.0, per=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [(n, v) for n in ("prompt", "reply", "cached", "reasoning") for v in NOT_A_COUNT]
    + [("prompt", 0)],
    ids=str,
)
def test_a_request_has_counts_of_tokens(name: str, value: Any) -> None:
    good: dict[str, Any] = {"prompt": 10, "reply": 2, name: value}
    with pytest.raises(ValueError, match=rf"(?s)^{name} .*tokens"):
        PRICE.request(**good)


@pytest.mark.parametrize("cached", [11, [0, 11]], ids=str)
def test_no_more_is_cached_than_the_prompt_has(cached: Any) -> None:
    with pytest.raises(ValueError, match=r"at most all tokens of the prompt can be cached"):
        PRICE.request(10, 2, cached=cached)
    assert PRICE.request(10, 0, cached=10) == 10 * 0.25 / 1e6


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"input price \(2,\), cached price \(3,\)"):
        Price([1.0, 2.0], 1.0, [1.0, 2.0, 3.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"prompt \(3,\), input price \(2,\)"):
        Price(np.array([1.0, 2.0]), 1.0).request([1, 2, 3], 1)


# --- the sheets ------------------------------------------------------------------------------


def test_every_row_of_the_sheets_is_read_with_date_and_source() -> None:
    rows = sheet_prices()
    assert len(rows) == len(data.rows("prices.csv")) == 202
    assert len({(r.provider, r.model, r.date, r.condition, r.dataset) for r in rows}) == len(rows)
    for row in rows:
        assert row.provider
        assert row.model
        assert row.source
        assert any(char.isdigit() for char in row.date)
        assert row.price.currency == "USD"
        assert row.price.per == 1_000_000


@pytest.mark.parametrize("column", ["output_input_ratio", "cached_input_ratio"])
def test_the_ratios_in_the_file_are_what_its_prices_give(column: str) -> None:
    for row, text in zip(sheet_prices(), data.rows("prices.csv"), strict=True):
        price = row.price
        cached = None if price.cached is None else price.cached / price.input
        value = price.ratio if column == "output_input_ratio" else cached
        if value is None:
            assert text[column] == ""
        else:
            assert float(text[column]) == pytest.approx(value, abs=5.1e-5)


def test_the_exceptions_were_picked_and_are_left_out_of_statistics() -> None:
    picked = sheet_prices(picked=True)
    assert len(picked) == 26
    assert all(row.price.ratio <= 1 for row in picked)
    assert {row.dataset for row in picked} == {"genai-prices", "litellm"}
    honest = sheet_prices(picked=False)
    assert len(honest) == 202 - 26
    above = [row for row in honest if row.price.ratio > 1]
    assert (len(above), len(honest)) == (168, 176)


def test_a_date_is_told_in_words_that_say_how_sure_it_is() -> None:
    assert {row.when for row in sheet_prices(date="2025")} == {"2025 (year only)"}
    terra = sheet_prices(model="gpt-5.6-terra")
    assert [row.when for row in terra] == ["until 2026-07-30", "2026-07-30"]
    assert {row.when for row in sheet_prices(provider="amazon")} == {"as of 2026-08-05"}


def test_conditions_are_met_together() -> None:
    rows = sheet_prices(provider="deepseek", date="2026-11")
    assert [row.condition for row in rows][::2] == ["off-peak", "off-peak"]
    assert len(rows) == 4
    assert sheet_prices(provider="deepseek", picked=True) == ()


def test_one_row_is_asked_for_and_one_is_given() -> None:
    row = sheet_price(model="gpt-5.4", provider="openai")
    assert (row.price.input, row.price.cached, row.price.output) == (2.5, 0.25, 15.0)


def test_several_rows_are_told_apart() -> None:
    with pytest.raises(ValueError, match=r"2 sheet prices have model='gpt-5.6-luna'.*date \('"):
        sheet_price(model="gpt-5.6-luna")
    with pytest.raises(ValueError, match=r"there are 202 sheet prices.*date \(13 values\)"):
        sheet_price()
    with pytest.raises(ValueError, match=r"6 chip-hours have chip='H100 SXM'.*usd \(2.95,"):
        chip_hour(chip="H100 SXM")
    with pytest.raises(ValueError, match=r"0 sheet prices have .*never all together"):
        sheet_price(provider="deepseek", picked=True)


@pytest.mark.parametrize("value", ["gpt-5.6", None, 3, ["gpt-5"], np.array(["gpt-5"])], ids=str)
def test_a_value_that_no_row_has_is_refused_by_name(value: Any) -> None:
    with pytest.raises(UnknownName, match="no priced model is called"):
        sheet_prices(model=value)
    with pytest.raises(UnknownName, match="no rented chip is called"):
        chip_hours(chip=value if value is not None else "none")


def test_a_field_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match=r"no condition of a sheet price is called 'day'.*date"):
        sheet_prices(day="2025")
    with pytest.raises(UnknownName, match="no condition of a chip-hour is called 'gpu'"):
        chip_hours(gpu="H100")


# --- chip-hours ------------------------------------------------------------------------------


def test_every_chip_hour_is_read_with_date_and_source() -> None:
    rows = chip_hours()
    assert len(rows) == len(data.rows("gpu_prices.csv")) == 25
    assert all(row.provider and row.published_chip and row.date and row.source for row in rows)


def test_every_rented_chip_is_one_of_the_catalogue() -> None:
    rows = {row.published_chip: row.chip for row in chip_hours()}
    assert set(rows.values()) - {None} <= {chip.name for chip in chips()}
    # the catalogue's V100 has 32 GB: half of them are not there to be rented
    assert [name for name, chip in rows.items() if chip is None] == ["V100 16GB"]
    google = chip_hour(provider="Google Cloud", chip="H100 SXM")
    assert (google.published_chip, google.usd, google.date) == ("H100", 10.8, "2025-02")


def test_a_span_is_no_price() -> None:
    spans = chip_hours(provider="market range")
    assert {row.chip: row.span for row in spans}["A100 SXM 80GB"] == (0.8, 3.0)
    assert all(row.usd is None for row in spans)
    rest = [row for row in chip_hours() if row not in spans]
    assert len(rest) == 22
    assert all(row.span is None and row.usd for row in rest)


def test_a_spot_chip_costs_no_more_than_one_that_stays() -> None:
    spots = [(row.spot, row.usd) for row in chip_hours() if row.spot is not None]
    assert len(spots) == 12
    assert all(spot <= usd for spot, usd in spots if usd is not None)
