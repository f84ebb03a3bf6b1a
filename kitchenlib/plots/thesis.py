"""The thesis of the story in one picture: what each modern system changed, on one scale."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.inputs import instance
from kitchenlib.miniatures.ledger import UNITS, Ledger, Line, spoken
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    ORDER,
    PAPER,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    grid,
    in_style,
    log_axis,
    panel,
    source,
    write,
)

_LOOKS: dict[str, tuple[Role, str]] = {
    "B": (WAITER, ""),
    "FLOP": (CHEF, "//"),
    "tokens": (ORDER, ".."),
}
_ROW, _HEAD = 0.62, 0.34  # inches: a line, and the name of its kind above it
_TOP, _FOOT = 1.3, 1.12  # inches: above the first line, and below the last
_LEFT, _WIDE = 3.32, 3.5  # inches: of the axis
_LETTERS = 44  # of a line of what changed
_LETTER, _NARROW = 0.09, 0.078  # inches of a letter: of a factor, and under the axis


@in_style
def thesis(ledger: Ledger) -> Picture:
    """The factor by which each system in the ledger changed bytes, FLOPs or tokens, log scale.

    Args:
        ledger: with any of its lines, or none.
    """
    instance("ledger", ledger, Ledger, "ledger.Ledger()")
    groups = {unit: [x for x in ledger.lines if x.unit == unit] for unit in UNITS}
    groups = {unit: lines for unit, lines in groups.items() if lines}
    title = _title(ledger)
    lead = "Bytes, FLOPs and tokens with each system, over those without it. Log scale"
    said = " ".join(map(str, ledger.lines))
    alt = f"{' '.join(title.split())}. {lead}. {said} {ledger.to_run}"
    rows = _HEAD * len(groups) + _ROW * max(len(ledger.lines), 1)
    picture = Picture(WIDTH, _TOP + rows + _FOOT, alt=alt)
    claim(picture, title, lead)
    if ledger.lines:
        _bars(picture, rows, groups)
    missing = "\n".join(textwrap.wrap(ledger.to_run, 118))
    source(picture, missing or "All numbers are those of the sections.")
    return picture


def _title(ledger: Ledger) -> str:
    """What the lines say together, and the largest change."""
    if not ledger.lines:
        return f"{ledger.claim}:\nrun the sections first"
    best = min(ledger.lines, key=lambda line: line.ratio)
    worst = max(ledger.lines, key=lambda line: line.ratio)
    told = [line for line in (best,) if line.ratio < 1 and not line.same]
    told += [line for line in (worst,) if line.ratio > 1 and not line.same]
    changes = "; ".join(f"{line.system}: {UNITS[line.unit]} {line.factor}" for line in told)
    return f"{ledger.claim}:\n{changes}" if told else ledger.claim


def _bars(picture: Picture, rows: float, groups: dict[str, list[Line]]) -> None:
    paper = canvas(picture)
    ax = panel(picture, _LEFT, _FOOT, _WIDE, rows)
    lines = [line for group in groups.values() for line in group]
    _axis(ax, lines, rows)
    y = rows
    for unit, group in groups.items():
        y -= _HEAD
        role, hatch = _LOOKS[unit]
        write(paper, MARGIN, _FOOT + y + 0.06, UNITS[unit], weight="bold", color=role.ink)
        write(paper, 8.68, _FOOT + y + 0.06, "before → after", ha="right", size=SMALL, color=MUTED)
        for line in group:
            y -= _ROW
            _bar(ax, y + _ROW / 2, line, role, hatch)
            _words(paper, _FOOT + y + _ROW / 2, line)


def _axis(ax: Axes, lines: Sequence[Line], rows: float) -> None:
    """From the largest saving to the largest surplus, with room for the words at their ends."""
    ends = {
        side: max((len(x.factor) for x in lines if (x.ratio - 1) * side > 0), default=0)
        for side in (-1, 1)
    }
    before, after = (_LETTER * letters / _WIDE + 0.06 for letters in ends.values())
    low, high = (np.log10(end) for end in (min(1.0, *_ratios(lines)), max(1.0, *_ratios(lines))))
    decade = max((high - low) / (1 - before - after), 2.0)  # decades that the axis is long
    powers = np.arange(np.floor(low), np.ceil(high) + 1)  # the bars end between them
    low, high = low - before * decade, high + after * decade
    widest = _NARROW * max(len(_tick(int(p))) for p in powers) + 0.1
    step = int(np.ceil(widest / _WIDE * (high - low)))
    powers = powers[(powers % step == 0) & (low < powers) & (powers < high)]
    log_axis(ax.xaxis, [10.0**p for p in powers], [_tick(int(p)) for p in powers], "")
    ax.set(xlim=(10.0**low, 10.0**high), ylim=(0, rows), yticks=[])
    ax.spines["left"].set_visible(False)
    grid(ax, "x")
    ax.axvline(1, color=INK, linewidth=1.2, zorder=4)


def _ratios(lines: Sequence[Line]) -> list[float]:
    return [line.ratio for line in lines]


def _tick(power: int) -> str:
    if not power:
        return "same"
    return f"{'÷' if power < 0 else '×'} {spoken(10.0 ** abs(power))}"


def _bar(ax: Axes, y: float, line: Line, role: Role, hatch: str) -> None:
    look: dict[str, Any] = {"edgecolor": PAPER, "linewidth": 0.9, "zorder": 3, "hatch": hatch}
    ax.barh(y, line.ratio - 1, left=1, height=0.3, color=role.fill, **look)
    side = -1 if line.ratio < 1 else 1
    place: dict[str, Any] = {"textcoords": "offset points", "va": "center", "weight": "bold"}
    place |= {"ha": "right" if side < 0 else "left", "color": role.ink, "zorder": 6}
    ax.annotate(line.factor, (line.ratio, y), (6 * side, 0), **place)


def _words(paper: Axes, y: float, line: Line) -> None:
    """What the bar is about, and the two numbers."""
    what = textwrap.wrap(line.what, _LETTERS)
    above = 0.08 * (len(what) - 1)
    write(paper, MARGIN, y + 0.04 + above, line.of.title)
    quiet: dict[str, Any] = {"size": SMALL, "color": MUTED, "linespacing": 1.1, "va": "top"}
    write(paper, MARGIN, y - 0.03 + above, "\n".join(what), **quiet)
    shown = f"{line.shown(line.before)} → {line.shown(line.after)}"
    write(paper, 8.68, y + 0.04, shown, ha="right", size=SMALL + 0.5)
    write(paper, 8.68, y - 0.03, line.of.thesis, ha="right", **quiet)
