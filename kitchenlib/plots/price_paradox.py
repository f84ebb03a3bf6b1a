"""The pictures of ``03_price_paradox``."""

from __future__ import annotations

from collections.abc import Callable

from kitchenlib.plots.bill import bill
from kitchenlib.plots.cost import cost_alone, cost_by_batch
from kitchenlib.plots.impossible import Claim, claims_and_floors
from kitchenlib.plots.per_dollar import per_dollar
from kitchenlib.plots.ratio_by_batch import ratio_by_batch
from kitchenlib.plots.seats import empty_seats
from kitchenlib.plots.sheet_reader import price_sheet_reader
from kitchenlib.plots.sheets import price_ratios, price_switches
from kitchenlib.plots.style import Picture
from kitchenlib.plots.two_numbers import two_numbers

__all__ = [
    "FIGURES",
    "Claim",
    "bill",
    "claims_and_floors",
    "cost_alone",
    "cost_by_batch",
    "empty_seats",
    "per_dollar",
    "price_ratios",
    "price_sheet_reader",
    "price_switches",
    "ratio_by_batch",
    "two_numbers",
]

FIGURES: dict[str, Callable[[], Picture]] = {
    "cost-alone": cost_alone,
    "empty-seats": empty_seats,
    "cost-by-batch": cost_by_batch,
    "ratio-by-batch": ratio_by_batch,
    "price-ratios": price_ratios,
    "claims-and-floors": claims_and_floors,
    "bill": bill,
    "price-switches": price_switches,
    "two-numbers": two_numbers,
    "per-dollar": per_dollar,
    "price-sheet-reader": price_sheet_reader,
}
