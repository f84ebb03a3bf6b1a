"""Units: decimal bytes, the kitchen's kilograms and crumbs, and how a number is shown.

Decimal units everywhere: 1 GB = 1e9 bytes. Binary units (GiB) appear only where a driver or a
data sheet reports memory *capacity*. In the kitchen one crumb is one byte, so one kilogram of
sack is one gigabyte, and the waiter's 3.35 TB/s are 3,350 kg/s. One multiply-add is 2 FLOP.
"""

from __future__ import annotations

import math
from typing import overload

from numpy.typing import ArrayLike

from kitchenlib.inputs import Number, dimension, real, wrong

KB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
KiB, MiB, GiB, TiB = 2**10, 2**20, 2**30, 2**40
MFLOP, GFLOP, TFLOP, PFLOP = 1e6, 1e9, 1e12, 1e15
MS, US = 1e-3, 1e-6

BYTES_PER_KG = GB  #: one kilogram of sack is one gigabyte
BYTES_PER_CRUMB = 1.0  #: one crumb is one byte
FLOP_PER_MULTIPLY_ADD = 2
BITS_PER_BYTE = 8

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SECONDS = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


@overload
def kg(nbytes: float) -> float: ...
@overload
def kg(nbytes: ArrayLike) -> Number: ...
def kg(nbytes):
    """Bytes as kilograms of sack (1 kg = 1 GB): number or array."""
    return real("nbytes", nbytes, "bytes") / BYTES_PER_KG


def human(value: float, unit: str = "", digits: int = 3) -> str:
    """`value` with a decimal prefix and `digits` significant digits.

    >>> human(137_953_296_384, "B"), human(3.35e12, "B/s"), human(0.0414, "s")
    ('138 GB', '3.35 TB/s', '41.4 ms')

    Seconds take the prefixes below one, everything else those above: nobody speaks of millibytes
    or kiloseconds.
    """
    value = _scalar(value)
    if not math.isfinite(value):
        return f"{value} {unit}".strip()
    if value == 0:
        return f"0 {unit}".strip()
    table = _SECONDS if unit == "s" else _PREFIXES
    rounded = _rounded(value, digits)
    scale, prefix = next((p for p in table if abs(rounded) >= p[0]), table[-1])
    return f"{significant(rounded / scale, digits)} {prefix}{unit}".strip()


def dollars(value: float) -> str:
    """US dollars as they are shown: cents where there are any, and what is below a cent.

    >>> dollars(8614.2), dollars(34.21), dollars(1.5), dollars(0.00123)
    ('$8,614', '$34.21', '$1.50', '$0.0012')
    """
    value = _scalar(value)
    sign, size = "-" * (value < 0), abs(value)
    if not math.isfinite(value):
        return f"{value} dollars"
    if size >= 999.995 or size == 0:
        return f"{sign}${size:,.0f}"
    return f"{sign}${size:.2f}" if size >= 0.0995 else f"{sign}${significant(size, 2)}"


def significant(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits, thousands separated, never in e-notation."""
    value = _rounded(_scalar(value), digits)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def many(number: int, what: str) -> str:
    """A number of things.

    >>> many(1, "guest"), many(1024, "guest")
    ('1 guest', '1,024 guests')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def _rounded(value: float, digits: int) -> float:
    """Rounded before its size is judged, so that 999,999 reads 1 M and not 1,000 k."""
    return float(f"{value:.{dimension('digits', digits, 'digits')}g}")


def _scalar(value: float) -> float:
    """One number, infinite or not: what can be shown."""
    if isinstance(value, (str, bytes, bool)):
        raise wrong("value", value, "give one number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong("value", value, "give one number") from None
