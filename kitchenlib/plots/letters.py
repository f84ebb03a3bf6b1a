"""Letters as outlines, the same on every machine, and counters made of them.

A `Counter` of a drawing becomes a row of reels, one for each digit: strips of the digits 0 to 9
that move behind a window. A picture, a loop and a player all turn them in the same way.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path
from matplotlib.transforms import Affine2D

from kitchenlib.plots.style import style
from kitchenlib.plots.vector import Counter, Group, Node, Point, Reel, Window, Words, fade, move
from kitchenlib.units import human

EM = 200  #: units to a letter's size in which `glyph` draws: whole numbers stay sharp


@functools.cache
def font(bold: bool) -> FontProperties:
    """The house's letters."""
    return FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=100)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that `text` takes, letter after letter (without kerning)."""
    return sum(_advance(letter, bold) for letter in text) * size / 100


@functools.cache
def _advance(letter: str, bold: bool) -> float:
    with style():
        return text_to_path.get_text_width_height_descent(letter, font(bold), False)[0]


@functools.cache
def glyph(letter: str, bold: bool) -> Path:
    """The outline of a letter, `EM` units to its size, its baseline at 0 and y downwards."""
    with style():
        path = TextPath((0, 0), letter, prop=font(bold), size=EM)
    return path.transformed(Affine2D().scale(1, -1))


# --- counters ----------------------------------------------------------------------------------

_PREFIXES = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}
_PREFIXES |= {"": 1.0, "m": 1e-3, "µ": 1e-6, "n": 1e-9}


def _layout(counter: Counter) -> tuple[float, int, int, str]:
    """Quantum, decimals, digits and unit of a counter."""
    if counter.unit == "":
        return 1.0, 0, len(f"{counter.most:.0f}"), ""
    if counter.unit == "%":
        decimals = next((d for d, least in ((0, 0.1), (1, 0.01)) if counter.most >= least), 2)
        return 0.01 * 10.0**-decimals, decimals, 2 + decimals + (not decimals), "%"
    number, unit = human(counter.most, counter.unit).split(" ")
    decimals = len(number.partition(".")[2])
    digits = sum(sign.isdigit() for sign in number)
    prefix = unit[: len(unit) - len(counter.unit)]
    return _PREFIXES[prefix] * 10.0**-decimals, decimals, digits, f" {unit}"


def shown(counter: Counter, value: float) -> str:
    """What the counter shows at `value` of its channel."""
    quantum, decimals, _, unit = _layout(counter)
    number = f"{math.floor(value / quantum + 0.5):0{decimals + 1}d}"
    whole, part = (number[:-decimals], "." + number[-decimals:]) if decimals else (number, "")
    return f"{counter.head}{int(whole):,}{part}{unit}{counter.tail}"


def unfolded(counter: Counter) -> Group:
    """A counter as groups: reels behind windows, and signs that come with the digits.

    Where it is anchored at its start, smaller numbers close up to the left; at its end, the head
    closes up to the number.
    """
    quantum, decimals, digits, unit = _layout(counter)
    size, fill, bold = counter.size, counter.fill, counter.bold

    def wide(text: str) -> float:
        return text_width(text, size, bold)

    def from_digits(digits: int) -> float:
        return (10.0 ** (digits - 1) - 0.5) * quantum  # the channel from which so many show

    signs: list[Node] = []
    x, starts = 0.0, [0.0]
    for place in reversed(range(digits)):
        reel = Reel(counter.of, quantum, place, decimals + 1)
        signs.append(Window(x, reel, size, fill, bold))
        x += wide("0")
        whole = place - decimals
        if whole > 0 and whole % 3 == 0:
            coming = fade(counter.of, (0.0, 0.0), (from_digits(place + 1), 1.0), stepped=True)
            signs.append(Group((Words(x, 0, ",", size, fill, bold),), motion=coming))
            x += wide(",")
        if decimals and whole == 0:
            signs.append(Words(x, 0, ".", size, fill, bold))
            x += wide(".")
        if whole > 0:
            starts.append(x)
    if unit or counter.tail:
        signs.append(Words(x, 0, unit + counter.tail, size, fill, bold))
        x += wide(unit + counter.tail)
    knots = [0.0, *(from_digits(n) for n in range(decimals + 2, digits + 1))]
    closing = None
    if counter.anchor == "end":
        head = Words(-wide(counter.head), 0, counter.head, size, fill, bold)
        if len(knots) > 1:
            closing = move(counter.of, *_pairs(knots, reversed(starts)), stepped=True)
        signs.append(Group((head,), motion=closing))
        return Group(tuple(signs), (counter.x - x, counter.y))
    if len(knots) > 1:
        left = (-start for start in reversed(starts))
        closing = move(counter.of, *_pairs(knots, left), stepped=True)
    return Group((Group(tuple(signs), motion=closing),), (counter.x, counter.y))


def _pairs(knots: Iterable[float], shifts: Iterable[float]) -> list[tuple[float, Point]]:
    return [(knot, (shift, 0.0)) for knot, shift in zip(knots, shifts, strict=True)]
