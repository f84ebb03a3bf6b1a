"""The perpetual stock: what two layers keep and take on this machine, and what one forgets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.inputs import dimension, positive, wrong
from kitchenlib.miniatures import stock
from kitchenlib.miniatures.stock import ATTENTION, OPEN, SELECTIVE, Lap
from kitchenlib.plots.stock_or_notes import STOCK
from kitchenlib.plots.style import (
    CHEF,
    MARGIN,
    MUTED,
    NOTES,
    RULE,
    SMALL,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    counts,
    end_label,
    enumerated,
    grid,
    in_style,
    label_ends,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.units import human, significant

# --- measured here -----------------------------------------------------------------------------


class _Side(NamedTuple):
    """One layer in one panel: its values at every lap, and what the bytes it moves would take."""

    name: str
    role: Role
    mark: str
    dash: Any
    values: np.ndarray
    law: np.ndarray | None = None

    @property
    def grown(self) -> str:
        """Times as much at the end as at the beginning."""
        return f"{significant(float(self.values[-1] / self.values[0]), 2)} times"

    def words(self, tokens: Sequence[int], unit: str) -> str:
        each = (
            f"{human(float(value), unit, _digits(unit))} at {n:,}"
            for n, value in zip(tokens, self.values, strict=True)
        )
        return f"{self.name} {', '.join(each)}"


@in_style
def stock_measured(race: Sequence[Lap]) -> Picture:
    """Bytes kept and seconds per token of both layers, measured as the conversation grows.

    Thin lines: the bytes that a step moves, at the pace of the longest notes.

    Args:
        race: what `kitchenlib.miniatures.stock.race` returns, of two lengths or more.

    Raises ``ValueError`` for anything else.
    """
    tokens, kept, time = _sides(race)
    title = (
        f"The notes grow to {_end(kept[1], 'B')}, a token takes {time[1].grown} as long;\n"
        f"the stock stays at {_end(kept[0], 'B')}, {time[0].grown} as long"
    )
    lead = "Measured here, float32: two layers that read the same rows, by the tokens read before"
    less, faster = _from(tokens, kept), _from(tokens, time)
    said = [side.words(tokens, "B") for side in kept] + [side.words(tokens, "s") for side in time]
    alt = f"{' '.join(title.split())}. {lead}. Kept: {'; '.join(said[:2])}: the stock less {less}. "
    alt += f"A token: {'; '.join(said[2:])}: the stock faster {faster}."
    picture = Picture(WIDTH, 5.3, alt=alt)
    claim(picture, title, lead)
    _panel(picture, 1.04, "Kept", f"the stock keeps less {less}", tokens, kept, "B")
    _panel(picture, 5.42, "A token takes", f"the stock is faster {faster}", tokens, time, "s")
    source(
        picture,
        "The best of several steps. Thin: the bytes that a step moves (weights, and the state to "
        "and fro, or all notes)\nat the pace of the longest notes. A step takes longer than its "
        "bytes where calls cost more, and less where caches help.",
    )
    return picture


def _sides(race: Sequence[Lap]) -> tuple[list[int], list[_Side], list[_Side]]:
    """The tokens of the laps; both layers' bytes; both layers' seconds. The stock comes first."""
    wanted = "give what stock.race returns, of two lengths or more"
    if not isinstance(race, Sequence) or not all(isinstance(lap, Lap) for lap in race):
        raise wrong("race", race, wanted)
    laps = sorted(race)
    tokens = [lap.tokens for lap in laps]
    if len(set(tokens)) < max(2, len(tokens)):
        raise wrong("race", race, f"{wanted}, each length once")
    columns = {name: np.array([getattr(lap, name) for lap in laps]) for name in Lap._fields}
    positive("stock_seconds", columns["stock_seconds"], "seconds")
    positive("notes_seconds", columns["notes_seconds"], "seconds")
    pace = columns["notes_seconds"][-1] / columns["notes_moved"][-1]
    looks = {"stock": (STOCK, "s", "solid"), "notes": (NOTES, "o", (0, (6, 2)))}
    kept = [_Side(name, *look, columns[f"{name}_bytes"]) for name, look in looks.items()]
    time = [
        _Side(name, *look, columns[f"{name}_seconds"], columns[f"{name}_moved"] * pace)
        for name, look in looks.items()
    ]
    return tokens, kept, time


def _from(tokens: Sequence[int], sides: Sequence[_Side]) -> str:
    """At which of the lengths the stock has less, from there to the end."""
    worse = np.flatnonzero(sides[0].values >= sides[1].values)
    if not len(worse):
        return "at every length"
    if worse[-1] + 1 == len(tokens):
        return f"at no length up to {tokens[-1]:,}" if len(worse) == len(tokens) else "not always"
    return f"from {tokens[worse[-1] + 1]:,} tokens on"


def _digits(unit: str) -> int:
    return 3 if unit == "B" else 2  # a clock is not as exact as a count


def _end(side: _Side, unit: str) -> str:
    return human(float(side.values[-1]), unit, _digits(unit))


def _panel(
    picture: Picture,
    left: float,
    heading: str,
    said: str,
    tokens: Sequence[int],
    sides: Sequence[_Side],
    unit: str,
) -> None:
    write(picture, left - 0.72, 3.84, heading, weight="bold")
    write(picture, left - 0.72, 3.63, said, size=SMALL, color=MUTED)
    ax = panel(picture, left, 1.22, 2.44, 2.26)
    log_axis(ax.xaxis, tokens, _apart(tokens, 2.44), "tokens read before")
    everything = np.concatenate([side.values for side in sides])
    low, high = floor(log10(everything.min() * 0.98)), ceil(log10(everything.max() * 1.02))
    ticks = [10.0**k for k in range(low, high + 1, ceil((high - low) / 6))]
    log_axis(ax.yaxis, ticks, [human(tick, unit, 1) for tick in ticks], "")
    rim = (tokens[-1] / tokens[0]) ** 0.03
    ax.set(xlim=(tokens[0] / rim, tokens[-1] * rim), ylim=(10.0**low, 10.0**high))
    grid(ax)
    for side in sides:
        look: dict[str, Any] = {"color": side.role.fill, "linestyle": side.dash}
        if side.law is not None:
            ax.plot(tokens, side.law, color=side.role.ink, linewidth=0.9)
        ax.plot(tokens, side.values, marker=side.mark, markersize=6, **look)
    ends = [(side.values[-1], f"{side.name} {_end(side, unit)}", side.role) for side in sides]
    label_ends(ax, tokens[-1], ends)


def _apart(tokens: Sequence[int], wide: float) -> list[str]:
    """Labels of the lengths, left out where they would touch the one before."""
    inch, free, labels = wide / np.log(tokens[-1] / tokens[0]), -np.inf, []
    for n in tokens:
        at, half = inch * np.log(n), 0.045 * len(f"{n:,}")
        labels.append(f"{n:,}" if at - half > free else "")
        free = at + half + 0.05 if labels[-1] else free
    return labels


# --- what is forgotten -------------------------------------------------------------------------

_ITEMS = tuple(sorted({2**k for k in range(11)} | {3 * 2**k for k in range(7)}))
_TOLD = tuple(4**k for k in range(6))  # items that are told in words
_LETTERS = 16
_TRIES = 2  # lists of each length
_MOST_SIZES = 3
_DASHES: tuple[Any, ...] = ((0, (2, 1.2)), "solid", (0, (7, 2, 1.5, 2)))
_MARKS = ("v", "s", "D")


class _Memory(NamedTuple):
    """One layer's share of items recalled, by the number of items."""

    layer: str
    size: int
    shares: tuple[float, ...]

    @property
    def exact(self) -> int:
        """The most items that it recalls without a mistake, and all fewer ones, too."""
        right = [n for n, share in zip(_ITEMS, self.shares, strict=True) if share == 1]
        return right[-1] if right and right == list(_ITEMS[: len(right)]) else 0

    def words(self) -> str:
        """How far it is exact, and what is left of longer lists."""
        told = [n for n in _TOLD if n > self.exact]
        rest = "".join(f", {percent(self.shares[_ITEMS.index(n)])} of {n:,}" for n in told)
        return f"{self.layer}, {self.size} rows: all up to {self.exact:,}{rest}"


@cache
def _memory(layer: str, size: int, fillers: int) -> _Memory:
    shares = stock.recalled(_ITEMS, layer, size, _TRIES, fillers)
    return _Memory(layer, size, tuple(shares))


@in_style
def stock_forgets(sizes: Sequence[int] = (16, 64, 256), fillers: int = 4) -> Picture:
    """The share of items that a layer gives back right, by their number: stock and attention.

    Args:
        sizes: rows of the state: three different numbers, growing; of the middle one there is a
            stock whose gate is always open, too. Attention has addresses of the smallest size.
        fillers: behind each item.

    Raises ``ValueError`` for other sizes.
    """
    rows = [dimension("sizes", size, "rows of the state", least=2) for size in sizes]
    if len(rows) != _MOST_SIZES or rows != sorted(set(rows)):
        raise wrong("sizes", sizes, "give three different sizes, the smallest first")
    behind = dimension("fillers", fillers, "fillers behind each item", least=0)
    stocks = [_memory(SELECTIVE, size, behind) for size in rows]
    opened, notes = _memory(OPEN, rows[1], behind), _memory(ATTENTION, rows[0], behind)
    title = _forgets(stocks[1], notes, behind)
    lead = f"Share of the items given back right, in order; {behind or 'no'} fillers behind each"
    said = "; ".join(each.words() for each in (*stocks, opened, notes))
    alt = f"{' '.join(title.split())}. {lead}. {said}. {_bounds(stocks)}."
    picture = Picture(WIDTH, 5.3, alt=alt)
    claim(picture, title, lead)
    _shares(picture, stocks, opened, notes)
    _table(canvas(picture), stocks, notes, behind)
    source(
        picture,
        "Weights set by hand: what such a memory can do, not what training finds. An item is one "
        f"of {_LETTERS} letters, so guessing\ngets {percent(1 / _LETTERS)}. At most: no state of "
        "so many bits can hold more without a mistake (the pigeonhole bound).",
    )
    return picture


def _forgets(middle: _Memory, notes: _Memory, fillers: int) -> str:
    first = f"A stock of {middle.size} rows recalls {middle.exact:,} items, and then forgets;"
    return f"{first}\nattention recalls {notes.exact:,}, and keeps {_noted(notes, fillers)} for it"


def _noted(notes: _Memory, fillers: int) -> str:
    """Bytes of the notes of all the items that it recalls, with their fillers."""
    asked = stock.recall_task(1, notes.size, letters=_LETTERS)
    layer = stock.by_hand(ATTENTION, asked)
    layer.prefill(asked.stream[:1])
    return human(notes.exact * (fillers + 1) * layer.bytes, "B")


def _values(memory: _Memory) -> int:
    """Values of a state: rows by the bits of a letter."""
    return memory.size * int(stock.bits_needed(1, _LETTERS))


def _bounds(stocks: Sequence[_Memory]) -> str:
    each = [f"{m.size} rows {stock.most_items(_values(m)):,}" for m in stocks]
    return f"Items at most, a bound: {enumerated(each)}"


def _shares(picture: Picture, stocks: Sequence[_Memory], opened: _Memory, notes: _Memory) -> None:
    ax = panel(picture, 0.92, 1.14, 4.1, 2.76)
    ticks = [4**k for k in range(6)]
    log_axis(ax.xaxis, ticks, counts(ticks), "items to remember")
    shares = np.arange(0, 1.01, 0.25)
    ax.set_yticks(shares, [percent(share) if share else "0%" for share in shares])
    ax.set(xlim=(0.93, 1.08 * _ITEMS[-1]), ylim=(0, 1.06))
    grid(ax)
    ax.plot(_ITEMS, opened.shares, "x", color=CHEF.ink, linestyle=(0, (1, 1.3)), markersize=5)
    for memory, dash, mark in zip(stocks, _DASHES, _MARKS, strict=True):
        ax.plot(_ITEMS, memory.shares, mark, color=STOCK.fill, linestyle=dash, markersize=5)
        at, share = _flank(memory, 0.62)
        end_label(ax, at, share, f"{memory.size} rows", STOCK)
    ax.plot(_ITEMS, notes.shares, "o", color=NOTES.fill, linestyle="solid", markersize=5)
    end_label(ax, _ITEMS[-1], notes.shares[-1], "attention", NOTES, dx=8)
    at, share = _flank(opened, 0.5)
    ax.plot([2.4, at], [0.17, share], color=CHEF.ink, linewidth=0.8)
    text = f"{opened.size} rows, gate\nalways open"
    write(ax, 1.1, 0.02, text, color=CHEF.ink, va="bottom", linespacing=1.15)


def _flank(memory: _Memory, share: float) -> tuple[float, float]:
    """Where a line has fallen to a share, or its last point."""
    after = next((i for i, s in enumerate(memory.shares) if s < share), len(_ITEMS) - 1)
    pair = slice(max(after - 1, 0), after + 1)
    falling = np.array(memory.shares[pair])[::-1]
    at = np.interp(share, falling, np.log(_ITEMS[pair])[::-1])
    return float(np.exp(at)), float(np.clip(share, falling.min(), falling.max()))


_COLUMNS = (6.72, 7.42, 8.06, WIDTH - MARGIN)  # inches: right edges


def _table(ax: Axes, stocks: Sequence[_Memory], notes: _Memory, fillers: int) -> None:
    top = 3.3
    write(ax, 6.16, top + 0.5, "Items, and what they take", weight="bold")
    heads = ("rows of\nstate", "bytes\nkept", "exact\nup to", "at most\n(bound)")
    for x, head in zip(_COLUMNS, heads, strict=True):
        write(ax, x, top, head, size=SMALL, color=MUTED, ha="right", va="bottom", linespacing=1.15)
    ax.plot([6.16, _COLUMNS[-1]], [top - 0.08] * 2, color=RULE, linewidth=0.8)
    for row, memory in enumerate(stocks, start=1):
        values = _values(memory)
        held = (human(4 * values, "B"), f"{memory.exact:,}", f"{stock.most_items(values):,}")
        for x, cell in zip(_COLUMNS, (f"{memory.size}", *held), strict=True):
            write(ax, x, top - 0.08 - 0.28 * row, cell, ha="right", color=STOCK.ink)
    y = top - 0.22 - 0.28 * (len(stocks) + 1)
    cells = ("notes", _noted(notes, fillers), f"{notes.exact:,}", "no end")
    for x, cell in zip(_COLUMNS, cells, strict=True):
        write(ax, x, y, cell, ha="right", color=NOTES.ink)
    note = f"{notes.exact:,} is as far as was tried. Notes\ntake a line for every row, fillers too."
    write(ax, 6.16, y - 0.3, note, va="top", size=SMALL, color=MUTED, linespacing=1.2)
