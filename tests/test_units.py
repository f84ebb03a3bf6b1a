"""Units: what a kilogram, a crumb and a prefix stand for, and how numbers are shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib import units
from kitchenlib.units import significant


def test_prefixes_are_decimal_and_binary_ones_say_so() -> None:
    assert (units.KB, units.MB, units.GB, units.TB) == (1e3, 1e6, 1e9, 1e12)
    assert (units.KiB, units.MiB, units.GiB, units.TiB) == (1024, 1024**2, 1024**3, 1024**4)
    assert units.GFLOP * 1000 == units.TFLOP
    assert units.TFLOP * 1000 == units.PFLOP


def test_the_kitchens_units_hold_together() -> None:
    """1 kg is 1 GB, so 1 g is 1 MB, and a kilogram is a billion crumbs."""
    grams_per_kg, bytes_per_gram = 1000, units.MB
    assert grams_per_kg * bytes_per_gram == units.BYTES_PER_KG == units.GB
    assert units.BYTES_PER_KG / units.BYTES_PER_CRUMB == 1e9
    assert kl.kg(kl.chip("H100 SXM").bandwidth) == 3350


def test_kilograms_of_the_sack() -> None:
    assert kl.kg(137_953_296_384) == 137.953296384
    assert kl.kg(0) == 0


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (137_953_296_384, "B", "138 GB"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (989.4e12, "FLOP/s", "989 TFLOP/s"),
        (0.0414, "s", "41.4 ms"),
        (2.61e-4, "s", "261 µs"),
        (3e-9, "s", "3.00 ns"),
        (1.0, "s", "1.00 s"),
        (5000, "s", "5,000 s"),
        (0, "B", "0 B"),
        (999, "B", "999 B"),
        (999_999, "B", "1.00 MB"),
        (0.9996, "s", "1.00 s"),
        (-2.5e9, "B", "-2.50 GB"),
        (5e17, "FLOP", "500 PFLOP"),
        (3e18, "FLOP", "3,000 PFLOP"),
        (0.5, "FLOP/B", "0.500 FLOP/B"),
        (295.3, "", "295"),
        (math.inf, "s", "inf s"),
        (math.nan, "s", "nan s"),
    ],
)
def test_numbers_are_shown_as_people_say_them(value: float, unit: str, shown: str) -> None:
    assert kl.human(value, unit) == shown


def test_digits_are_a_choice() -> None:
    assert kl.human(137_953_296_384, "B", digits=5) == "137.95 GB"
    assert kl.human(137_953_296_384, "B", digits=1) == "100 GB"


def test_numpy_numbers_are_shown_too() -> None:
    assert kl.human(np.float64(0.0414), "s") == "41.4 ms"
    assert kl.human(np.array(0.0414), "s") == "41.4 ms"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (9.996, 3, "10.0"),
        (999.96, 4, "1,000"),
        (1234.5, 2, "1,200"),
        (0.00123456, 3, "0.00123"),
        (68_976_648_192, 4, "68,980,000,000"),
        (0, 3, "0"),
        (-0.25, 2, "-0.25"),
    ],
)
def test_significant_digits_are_counted_after_rounding(
    value: float, digits: int, shown: str
) -> None:
    assert significant(value, digits) == shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "$0"),
        (8614.2, "$8,614"),
        (999.994, "$999.99"),
        (999.999, "$1,000"),
        (34.214, "$34.21"),
        (1.5, "$1.50"),
        (0.0996, "$0.10"),
        (0.0994, "$0.099"),
        (0.00123, "$0.0012"),
        (0.0000456, "$0.000046"),
        (-2.95, "-$2.95"),
        (float("inf"), "inf dollars"),
    ],
)
def test_dollars_show_cents_and_what_is_below_a_cent(value: float, text: str) -> None:
    assert units.dollars(value) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 guests"), (1, "1 guest"), (2, "2 guests"), (1024, "1,024 guests")]
)
def test_one_thing_is_singular_and_none_or_many_are_plural(number: int, text: str) -> None:
    assert units.many(number, "guest") == text
