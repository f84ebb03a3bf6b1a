"""The ridge of every chip, and how it moves when the maths has fewer bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from kitchenlib.chips import Chip, chips
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    NOTES,
    ORDER,
    PAPER,
    PLAIN,
    RULE,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    claim,
    counts,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.units import significant

#: Kind of memory -> heading. The kind of memory is what sets most ridges apart.
_MEMORIES = (
    (("HBM", "on-chip"), "HBM or on-chip memory"),
    (("GDDR",), "GDDR cards"),
    (("LPDDR", "DDR"), "DDR: desktops, laptops, CPUs"),
)


def _list_axis(ax: Axes, names: Sequence[str]) -> None:
    """A name for every row, and no line beside them."""
    ax.set_yticks(range(len(names)), names, size=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


# --- every chip --------------------------------------------------------------------------------


@in_style
def ridges(rate: str = "bf16") -> Picture:
    """The ridge of every chip that has this rate, by kind of memory."""
    known = sorted((c for c in chips() if rate in c.peaks), key=lambda c: -c.ridge(rate))
    groups = {
        heading: [chip for chip in known if chip.memory_kind.startswith(kinds)]
        for kinds, heading in _MEMORIES
    }
    high, low = known[0].ridge(rate), known[-1].ridge(rate)
    title = f"At one cut per crumb every chef waits: ridges run from {low:.0f} to {high:.0f}"
    said = " ".join(
        f"{heading}: {', '.join(f'{c.short} {c.ridge(rate):.0f}' for c in group)}."
        for heading, group in groups.items()
    )
    at = "16 bit, Apple and the laptop in 32" if rate == "bf16" else rate
    lead = f"Ridge of {len(known)} chips ({at}), dense, FLOP per byte, log scale"
    picture = Picture(WIDTH, 6.35, alt=f"{title}. {lead}: {said}")
    claim(picture, title, lead)
    for (heading, group), left in zip(groups.items(), (1.42, 4.12, 7.28), strict=True):
        write(picture, left - 1.0, 5.24, heading, weight="bold")
        _column(panel(picture, left, 1.02, 1.32, 4.14), group, rate)
    _verified_key(picture, "dashed line: one guest's next token, 1 FLOP per byte")
    return picture


def _column(ax: Axes, group: Sequence[Chip], rate: str) -> None:
    for row, chip in enumerate(group):
        ridge = chip.ridge(rate)
        ax.plot([1, ridge], [row, row], color=RULE, linewidth=1.2, zorder=1)
        ax.plot(ridge, row, **_verified_mark(chip.status, WAITER))
        end_label(ax, ridge, row, f"{ridge:.0f}", size=SMALL)
    log_axis(ax.xaxis, (1, 10, 100, 1000), ("1", "10", "100", "1,000"), "")
    ax.set(xlim=(0.8, 1800), ylim=(20.6, -0.7))  # the same height of a row in every column
    _list_axis(ax, [chip.short for chip in group])
    ax.axvline(1, color=INK, linewidth=1.0, linestyle=(0, (4, 2)))


def _verified_mark(status: str, role: Role) -> dict[str, Any]:
    """Full, half or hollow: how well a row is verified."""
    full = {"verified": "full", "yours": "full"}
    return {
        "marker": "o",
        "markersize": 7,
        "fillstyle": full.get(status, "left" if status.startswith("partly") else "none"),
        "markerfacecoloralt": PAPER,
        "markeredgewidth": 1.3,
        "color": role.fill,
        "linestyle": "none",
    }


def _verified_key(picture: Picture, last: str) -> None:
    """What full, half and hollow marks mean, at the foot of the card, and one thing more."""
    ax = _key_axes(picture, MARGIN, 0.36)
    x = 0.06
    for status in ("verified", "partly verified", "not verified"):
        ax.plot(x, 0, **_verified_mark(status, PLAIN))
        end_label(ax, x, 0, status, size=SMALL)
        x += 0.5 + 0.075 * len(status)
    end_label(ax, x, 0, last, size=SMALL)


def _key_axes(picture: Picture, left: float, bottom: float) -> Axes:
    width = WIDTH - MARGIN - left
    ax = panel(picture, left, bottom, width, 0.3)
    ax.set(xlim=(0, width), ylim=(-1, 1))
    ax.set_axis_off()
    return ax


# --- fewer bits --------------------------------------------------------------------------------


class _Mark(NamedTuple):
    shape: str
    size: float
    role: Role
    name: str


_FORMATS = {
    "bf16": _Mark("o", 9.5, WAITER, "16 bit"),
    "fp8": _Mark("D", 6.0, CHEF, "FP8 (and INT8, if there is no square)"),
    "int8": _Mark("s", 6.5, ORDER, "INT8"),
    "fp4": _Mark("^", 8.5, NOTES, "FP4"),
}
_AXIS_FROM = 50  # FLOP per byte; a chip that lies left of it is told in words


@in_style
def ridges_by_format() -> Picture:
    """How the ridge moves from 16-bit maths to 8 and 4 bits, on the chips that have them."""
    known = sorted((c for c in chips() if {"fp8", "int8", "fp4"} & set(c.peaks)), key=Chip.ridge)
    doubled = sum(any(abs(_gain(c, rate) - 2) < 0.05 for rate in ("fp8", "int8")) for c in known)
    title = f"Halve the bits of the maths and the ridge doubles, on {doubled} of {len(known)} chips"
    said = "; ".join(f"{c.short} {_in_words(c)}" for c in reversed(known))
    picture = Picture(WIDTH, 6.5, alt=f"{title}. Ridges in FLOP per byte. {said}.")
    claim(picture, title, "Ridge in FLOP per byte by number format of the maths, log scale")
    shown = [c for c in known if c.ridge() >= _AXIS_FROM]
    ax = panel(picture, 1.62, 0.86, 6.8, 4.34)
    ticks = (50, 100, 200, 500, 1000, 2000)
    log_axis(ax.xaxis, ticks, counts(ticks), "")
    ax.set(xlim=(_AXIS_FROM, 2600), ylim=(-0.8, len(shown) - 0.3))
    _list_axis(ax, [c.short_label for c in shown])
    grid(ax, "x")
    for row, chip in enumerate(shown):
        _dumbbell(ax, row, chip)
    _format_key(picture)
    far = "; ".join(f"{c.short_label}: {_in_words(c)}" for c in known if c not in shown)
    notes = ["× is the farthest mark over 16 bit", "* not fully verified"]
    source(picture, " · ".join([*notes, f"left of the axis: {far}"] if far else notes))
    return picture


def _gain(chip: Chip, rate: str) -> float:
    """The ridge at `rate` over the ridge in 16 bit; 0 where the chip lacks the rate."""
    return chip.peaks.get(rate, 0.0) / chip.peak()


def _in_words(chip: Chip) -> str:
    return ", ".join(f"{rate} {chip.ridge(rate):.0f}" for rate in chip.peaks)


def _dumbbell(ax: Axes, row: int, chip: Chip) -> None:
    """One chip's ridges on a line, a mark for each format."""
    at = {rate: chip.ridge(rate) for rate in _FORMATS if rate in chip.peaks}
    if abs(_gain(chip, "int8") - _gain(chip, "fp8")) < 0.05:
        del at["int8"]  # as fast as FP8: one mark for both
    last = max(at.values())
    ax.plot([min(at.values()), last], [row, row], color=RULE, linewidth=4, zorder=2)
    for rate, ridge in at.items():
        _format_mark(ax, ridge, row, rate)
    farthest = last if last > at["bf16"] else min(at.values())
    text = f"× {significant(farthest / at['bf16'], 2)}"
    end_label(ax, last, row, text, dx=9, size=SMALL)


def _format_mark(ax: Axes, x: float, y: float, rate: str) -> None:
    mark = _FORMATS[rate]
    edge = {"markeredgecolor": PAPER, "markeredgewidth": 0.9, "zorder": 4}
    ax.plot(x, y, mark.shape, markersize=mark.size, color=mark.role.fill, **edge)  # type: ignore[arg-type]


def _format_key(picture: Picture) -> None:
    ax = _key_axes(picture, 1.62, 5.36)
    x = 0.1
    for rate, mark in _FORMATS.items():
        _format_mark(ax, x, 0, rate)
        end_label(ax, x, 0, mark.name, dx=8)
        x += 0.55 + 0.068 * len(mark.name)
