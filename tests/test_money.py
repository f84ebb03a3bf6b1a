"""What a token costs, and what a month does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl

LLAMA, H100 = kl.model("Llama-2-70B"), kl.chip("H100 SXM")
LONG = kl.model("Llama-3.1-70B")
HOUR = 2.95  # dollars
FEW = np.array([1, 16, 32, 64])


def price(**more: object) -> kl.Price:
    return kl.price_per_million(**{"model": LLAMA, "chip": H100, "chip_hour": HOUR, **more})  # type: ignore[arg-type]


# --- the price of a token ----------------------------------------------------------------------


def test_a_written_token_costs_its_share_of_the_step() -> None:
    step = kl.decode_step(LLAMA, 2048, batch=32, chips=4).time(H100)
    paid = 4 * HOUR / 3600 * step / 32
    assert price(context=2048, batch=32, chips=4).output == pytest.approx(paid * 1e6)


def test_a_read_token_costs_its_share_of_the_prefill() -> None:
    fill = kl.prefill(LLAMA, 1000, batch=32, chips=4).time(H100)
    paid = 4 * HOUR / 3600 * fill / (32 * 1000)
    assert price(context=2048, prompt=1000, batch=32, chips=4).input == pytest.approx(paid * 1e6)
    assert price(context=1000).input == price(context=2048, prompt=1000).input


@pytest.mark.parametrize(
    ("name", "ratios"),
    [
        ("ideal", (297, 20, 11, 6)),
        ("prefill 40%", (119, 8, 4.3, 2.4)),
        ("planned", (170, 11, 6, 3.5)),
    ],
)
def test_output_over_input_by_guests_on_one_ideal_chip(
    name: str, ratios: tuple[float, ...]
) -> None:
    """The rule-of-thumb ratios leave out attention; the law counts it, a few percent."""
    found = price(context=2048, batch=FEW, efficiency=kl.efficiency(name)).ratio
    assert found == pytest.approx(ratios, rel=0.05)


def test_one_guest_pays_a_hundred_times_what_a_full_kitchen_takes() -> None:
    """Two chips for one guest: 33.9 dollars a million; 128 guests: 0.43 (their exchanges add)."""
    alone, full = np.asarray(price(context=2048, batch=np.array([1, 128]), chips=2).output)
    assert alone == pytest.approx(33.9, rel=0.005)
    assert full == pytest.approx(0.43, rel=0.03)


def test_the_ratio_depends_neither_on_the_price_nor_on_the_hours() -> None:
    one = price(context=2048, batch=8)
    for other in (
        price(context=2048, batch=8, chip_hour=10.8),
        price(context=2048, batch=8, occupancy=0.1),
    ):
        assert other.ratio == pytest.approx(one.ratio)


def test_empty_hours_are_paid_by_those_who_come() -> None:
    full, tenth = price(context=2048), price(context=2048, occupancy=0.1)
    assert tenth.output == pytest.approx(10 * full.output)
    assert tenth.input == pytest.approx(10 * full.input)


def test_fresh_and_cached_tokens_add_up_to_the_prefill() -> None:
    whole, cached = 20_000, 16_000
    each = kl.price_per_million(LONG, H100, HOUR, context=whole, cached=cached, chips=4)
    assert each.cached is not None
    fill = kl.prefill(LONG, whole, cached=cached, chips=4).time(H100)
    assert each.request(whole, 0, cached) == pytest.approx(fill * 4 * HOUR / 3600)
    assert 0 < each.cached < each.input / 10


def test_without_cached_tokens_there_is_no_cached_price() -> None:
    assert price(context=2048).cached is None


def test_sizes_may_be_arrays_and_equal_one_call_each() -> None:
    batch, cached = np.array([[1], [64]]), np.array([0, 500, 999])
    swept = price(context=1000, batch=batch, cached=cached)
    for i, b in enumerate(batch[:, 0]):
        for j, c in enumerate(cached):
            one = price(context=1000, batch=int(b), cached=int(c))
            assert np.broadcast_to(swept.output, (2, 3))[i, j] == pytest.approx(one.output)
            assert np.asarray(swept.input)[i, j] == pytest.approx(one.input)
            assert np.asarray(swept.cached)[i, j] == pytest.approx(one.cached or 0)


def test_a_batch_that_does_not_fit_raises_only_if_asked() -> None:
    assert price(context=4096, batch=64).output > 0
    with pytest.raises(ValueError, match=r"does not fit: .*GB are needed on each chip"):
        price(context=4096, batch=64, check_fit=True)


def test_arrays_that_do_not_fit_each_other_are_named() -> None:
    with pytest.raises(ValueError, match=r"batch \(3,\), chip_hour \(2,\)"):
        price(context=10, batch=np.array([1, 2, 3]), chip_hour=np.array([1.0, 2.0]))


# --- energy ------------------------------------------------------------------------------------


def test_joules_are_watts_for_the_seconds_of_a_token() -> None:
    step = kl.decode_step(LLAMA, 2048, batch=32, chips=4).time(H100)
    each = kl.energy_per_token(LLAMA, H100, 2048, batch=32, chips=4)
    assert each.output == pytest.approx(4 * 700 * step / 32)
    assert (each.currency, each.per) == ("J", 1)
    assert each.ratio == pytest.approx(price(context=2048, batch=32, chips=4).ratio)


def test_a_chip_without_a_power_asks_for_it() -> None:
    quiet = kl.Chip("quiet", bandwidth=1e11, peaks={"bf16": 1e13})
    with pytest.raises(ValueError, match=r"quiet has no power.*power=... in watts"):
        kl.energy_per_token(LLAMA, quiet, 10)
    assert kl.energy_per_token(LLAMA, quiet, 10, power=30).output > 0


# --- a month -----------------------------------------------------------------------------------


def test_a_sheet_bills_by_the_request() -> None:
    assert kl.monthly(0.01, 1000) == pytest.approx(10 * 365 / 12)


def test_a_kitchen_is_rented_whole_and_stays_rented_at_night() -> None:
    rent = 4 * HOUR
    a_month = rent * 24 * 365 / 12
    assert kl.kitchen_bill(0.01, 0, rent) == pytest.approx(a_month)
    assert kl.kitchen_bill(0.01, 1000, rent) == pytest.approx(a_month)
    full = rent * 24 / 0.01  # requests a day that fill it
    assert kl.kitchens_needed(0.01, full, rent) == 1
    assert kl.kitchens_needed(0.01, full * 1.001, rent) == 2
    assert kl.kitchen_bill(0.01, full * 1.001, rent) == pytest.approx(2 * a_month)


@given(st.floats(1e-5, 1), st.floats(1e-5, 1), st.floats(0.1, 100))
def test_from_the_break_even_on_one_kitchen_costs_no_more_than_the_sheet(
    sheet: float, own: float, rent: float
) -> None:
    even = kl.break_even(sheet, own, rent)
    if own > sheet:
        assert even == np.inf
        many = np.array([1, 1e3, 1e6, 1e9])  # however many come, the sheet is cheaper
        assert np.all(kl.kitchen_bill(own, many, rent) > kl.monthly(sheet, many))
        return
    assert kl.kitchens_needed(own, even, rent) == 1
    assert kl.kitchen_bill(own, even, rent) == pytest.approx(kl.monthly(sheet, even))
    assert kl.kitchen_bill(own, 0.99 * even, rent) > kl.monthly(sheet, 0.99 * even)


def test_months_take_arrays() -> None:
    requests = np.array([0, 10, 10_000_000])
    bills = kl.kitchen_bill(0.001, requests, 3.0)
    assert bills == pytest.approx([kl.kitchen_bill(0.001, float(r), 3.0) for r in requests])
    assert kl.break_even(np.array([0.01, 0.0001]), 0.001, 3.0) == pytest.approx([7200, np.inf])


# --- conversations -----------------------------------------------------------------------------


@given(st.integers(1, 10_000), st.integers(0, 5000), st.integers(1, 50))
def test_every_call_sends_all_that_was_before(first: int, added: int, calls: int) -> None:
    assert kl.resent_tokens(first, added, calls) == sum(first + added * i for i in range(calls))
