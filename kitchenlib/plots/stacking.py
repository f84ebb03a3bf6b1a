"""Fixes on top of each other: the four side by side, in pairs, and the kitchen to stack them in."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from kitchenlib.inputs import instance
from kitchenlib.plots.fixing import WORKED, WORTH, Fixes, Move, Pass, factor_of
from kitchenlib.plots.kept import Kept
from kitchenlib.plots.pairing import fixes_matrix, fixes_together
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    PLAIN,
    RULE,
    SACK,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Gauge,
    Picture,
    Role,
    Stage,
    canvas,
    in_style,
    source,
    write,
)
from kitchenlib.units import dollars, human, significant

__all__ = ["WORKED", "Fixes", "FixesStage", "fixes", "fixes_matrix", "fixes_together"]

_LONGEST, _HIGH = 4.2, 0.25  # inches: the longer of the two bars, and its height
_BARS = {"plain": 4.36, "with fixes": 3.6}  # inches: feet of the bars
_PARTS = {
    "sack": ("sack", SACK.fill, None),
    "notes": ("notes", NOTES.fill, None),
    "cuts": ("cuts beyond", CHEF.fill, "////"),
    "exchanges": ("exchanges", "#CFE3F1", "||||"),
    "fixed": ("every pass", PAPER, None),
}
_ROWS = {
    "each": "tokens/s for a guest",
    "total": "tokens/s for all",
    "price": "dollars a million",
    "room": "guests at most",
    "pace": "the pace is set by",
}
_TABLE, _PITCH = 2.62, 0.265  # inches: the first row below, and the step to the next
_RIGHT = (2.56, 3.5, 4.3)  # right edges of the columns
_MOVES, _AXIS, _HALF, _END = 4.72, 7.1, 0.72, WIDTH - MARGIN  # inches
_REACH = 4.0  # a factor at the end of the lines
_MOST_MOVES = 6
_ARROWS: dict[str, tuple[Role, Any, str]] = {
    "more": (NOTES, "solid", ">"),
    "less": (CHEF, (0, (2, 1.2)), "<"),
    "none": (PLAIN, "solid", "o"),
}
_SHORT = {"memory": "waiter", "compute": "chef", "interconnect": "links"}


class FixesStage(Stage):
    """One pass and what comes of it, plain and fixed, and what would help next: `show` fixes."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 6.1, alt="A kitchen with its fixes beside the plain one.")
        top = picture.size[1] - MARGIN
        self._title = write(picture, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        self._lead = write(picture, MARGIN, top - 0.31, "", size=LEAD, color=MUTED, va="top")
        self._source = source(picture, "")
        ax = canvas(picture)
        _legend(ax, 5.06)
        self._bars = {name: _Bar(ax, y) for name, y in _BARS.items()}
        self._chef = Gauge(ax, 6.86, 4.56, 1.2, "chef busy", CHEF)
        self._waiter = Gauge(ax, 6.86, 4.0, 1.2, "waiter busy", WAITER)
        self._memory = Gauge(ax, 6.86, 3.44, 1.2, "memory taken", SACK)
        self._table = _Table(ax)
        self._moves = _Moves(ax)
        write(ax, MARGIN, 0.86, "Which fix first?", weight="bold", size=LEAD)
        self._advice = write(ax, MARGIN + 1.48, 0.86, "", size=LEAD)
        words = [self._title, self._lead, self._source, self._advice]
        gauges = [*self._chef.actors, *self._waiter.actors, *self._memory.actors]
        bars = [actor for bar in self._bars.values() for actor in bar.actors]
        rows = [*self._table.actors, *self._moves.actors]
        super().__init__(picture, [*map(Kept, words), *gauges, *bars, *rows])

    @in_style
    def show(self, fixes: Fixes) -> None:
        """Move everything to `fixes`. Raises `UnknownName` for a name that is in no catalogue."""
        instance("fixes", fixes, Fixes, "Fixes(batch=64)")
        plain, obstacle = fixes.plain, fixes.obstacle()
        self._title.set_text(fixes.claim())
        self._lead.set_text(fixes.lead())
        self._source.set_text(fixes.sources())
        self._advice.set_text(fixes.advice())
        seconds = plain.seconds if obstacle else max(plain.seconds, fixes.seconds)
        self._bars["plain"].show("plain", plain, _LONGEST / seconds, "")
        self._bars["with fixes"].show("with fixes", fixes, _LONGEST / seconds, obstacle)
        self._chef.show(fixes.chef)
        self._waiter.show(fixes.waiter)
        for actor in (*self._chef.actors, *self._waiter.actors):
            actor.set_visible(not obstacle)
        self._memory.show(fixes.taken)
        self._table.show(plain, fixes, obstacle)
        self._moves.show(fixes.moves(), obstacle)
        facts = "; ".join(f"{name}: {value}" for name, value in fixes.facts().items())
        kitchens = f"Plain: {plain.who()}. With fixes: {fixes.who()}"
        said = (fixes.claim(), fixes.lead(), kitchens, facts, self._moves.words, fixes.sources())
        self.picture.alt = " ".join(". ".join(said).split())


def _legend(ax: Axes, y: float) -> None:
    write(ax, MARGIN, y, "One pass takes", weight="bold")
    x = 1.66
    for (name, fill, hatch), wide in zip(
        _PARTS.values(), (0.72, 0.76, 1.12, 1.02, 0.6), strict=True
    ):
        ax.add_patch(Rectangle((x, y - 0.01), 0.17, 0.12, facecolor=fill, **_edge(hatch)))
        write(ax, x + 0.23, y, name, size=SMALL, color=MUTED)
        x += wide


def _edge(hatch: str | None) -> dict[str, Any]:
    return {"edgecolor": INK, "linewidth": 0.7, "hatch": hatch, "hatch_linewidth": 0.6}


class _Bar:
    """The seconds of one pass as a bar of pieces, with the kitchen above and the sum behind."""

    def __init__(self, ax: Axes, y: float) -> None:
        self._name = write(ax, MARGIN, y + _HIGH + 0.08, "", weight="bold")
        self._who = write(ax, MARGIN + 1.34, y + _HIGH + 0.08, "", size=SMALL, color=MUTED)
        middle: dict[str, Any] = {"va": "center_baseline"}
        self._sum = write(ax, MARGIN, y + _HIGH / 2, "", weight="bold", **middle)
        self._pieces = {}
        for part, (_, fill, hatch) in _PARTS.items():
            piece = Rectangle((MARGIN, y), 0, _HIGH, facecolor=fill, **_edge(hatch))
            self._pieces[part] = piece
            ax.add_patch(piece)
        words = (self._name, self._who, self._sum)
        self.actors = [Kept(*self._pieces.values()), *map(Kept, words)]

    def show(self, name: str, kitchen: Fixes, scale: float, obstacle: str) -> None:
        self._name.set_text(name if obstacle or kitchen.room else f"{name} (no room)")
        self._who.set_text(kitchen.who())
        parts = Pass(0.0, 0.0, 0.0, 0.0, 0.0) if obstacle else kitchen.split()
        x = MARGIN
        for part, piece in self._pieces.items():
            wide = scale * getattr(parts, part)
            piece.set(x=x, width=wide, linewidth=0.7 if wide else 0)
            x += wide
        self._sum.set_x(x + 0.1 if x > MARGIN else MARGIN)
        took = f"{human(kitchen.seconds, 's')} for {kitchen.tokens_a_pass()}"
        self._sum.set_text(obstacle or took)


class _Table:
    """What comes of a pass, plain and fixed, and the factor between them."""

    def __init__(self, ax: Axes) -> None:
        quiet: dict[str, Any] = {"size": SMALL, "color": MUTED}
        for x, head in zip(_RIGHT[:2], ("plain", "with fixes"), strict=True):
            write(ax, x, _TABLE + 0.27, head, ha="right", **quiet)
        self._cells: dict[str, list[Any]] = {}
        for i, (row, name) in enumerate(_ROWS.items()):
            y = _TABLE - _PITCH * i
            write(ax, MARGIN, y, name, color=MUTED)
            self._cells[row] = [write(ax, x, y, "", ha="right") for x in _RIGHT]
            self._cells[row][1].set_weight("bold")
        self.actors = [Kept(text) for cells in self._cells.values() for text in cells]

    def show(self, plain: Fixes, fixed: Fixes, obstacle: str) -> None:
        self._numbers("each", plain.each, fixed.each, obstacle)
        self._numbers("total", plain.total, fixed.total, obstacle)
        prices = (plain.price, fixed.price)
        if None in prices:
            self._set("price", "no price", "", "")
        else:
            told = [dollars(price or 0.0) for price in prices]
            factor = factor_of((fixed.price or 1.0) / (plain.price or 1.0))
            self._set("price", told[0], "" if obstacle else told[1], "" if obstacle else factor)
        self._set("room", f"{plain.room:,}", f"{fixed.room:,}", "")
        self._set("pace", _SHORT[plain.bound], "" if obstacle else _SHORT[fixed.bound], "")

    def _numbers(self, row: str, plain: float, fixed: float, obstacle: str) -> None:
        if obstacle:
            self._set(row, significant(plain), "none", "")
        else:
            self._set(row, significant(plain), significant(fixed), factor_of(fixed / plain))

    def _set(self, row: str, *words: str) -> None:
        for text, said in zip(self._cells[row], words, strict=True):
            text.set_text(said)


class _Moves:
    """Each fix alone, from here: a line from the middle to its factor."""

    def __init__(self, ax: Axes) -> None:
        quiet: dict[str, Any] = {"size": SMALL, "color": MUTED}
        write(ax, _MOVES, _TABLE + 0.27, "one change from here", **quiet)
        write(ax, _END, _TABLE + 0.27, "tokens/s for all", ha="right", **quiet)
        foot = _TABLE - _PITCH * (_MOST_MOVES - 1) - 0.06
        ax.plot([_AXIS, _AXIS], [foot, _TABLE + 0.16], color=RULE, linewidth=1.0)
        self._names, self._values, self._lines, self._marks = [], [], [], []
        for i in range(_MOST_MOVES):
            y = _TABLE - _PITCH * i
            self._names.append(write(ax, _MOVES, y, ""))
            self._values.append(write(ax, _END, y, "", ha="right"))
            self._lines.append(_line(ax, y + 0.05))
            self._marks.append(_mark(ax, y + 0.05))
        self.words = ""
        words = map(Kept, (*self._names, *self._values))
        self.actors: list[Artist] = [*words, *self._lines, *self._marks]

    def show(self, moves: list[Move], obstacle: str) -> None:
        best = max(moves, key=lambda move: move.room if obstacle else move.total * move.fits)
        said = []
        for i, move in enumerate(moves):
            value = _value(move, obstacle)
            said.append(f"{move.name} {value}")
            strong = "bold" if move is best else "normal"
            self._names[i].set(text=move.name, weight=strong)
            self._values[i].set(text=value, weight=strong)
            self._draw(i, move, bool(obstacle) or not move.fits)
        self.words = f"One change from here: {'; '.join(said)}"

    def _draw(self, i: int, move: Move, hidden: bool) -> None:
        end = _AXIS + _HALF * _clipped(move.total)
        role, dash, shape = _ARROWS[_direction(move.total)]
        self._lines[i].set(xdata=[_AXIS, end], color=role.fill, linestyle=dash)
        self._marks[i].set(xdata=[end], color=role.ink, marker=shape)
        for artist in (self._lines[i], self._marks[i]):
            artist.set_visible(not hidden)


def _direction(factor: float) -> str:
    if abs(factor - 1) < WORTH - 1:
        return "none"
    return "more" if factor > 1 else "less"


def _line(ax: Axes, y: float) -> Line2D:
    (line,) = ax.plot([_AXIS, _AXIS], [y, y], linewidth=2.2)
    return line


def _mark(ax: Axes, y: float) -> Line2D:
    (mark,) = ax.plot([_AXIS], [y], marker="o", markersize=7, linestyle="none")
    return mark


def _value(move: Move, obstacle: str) -> str:
    if obstacle:
        return f"room for {move.room:,}" if move.room else "no room"
    return f"× {significant(move.total)}" if move.fits else "no room"


def _clipped(factor: float) -> float:
    """Where a factor stands between the ends, from -1 to 1; those beyond are held there."""
    return min(max(math.log(factor, _REACH), -1.0), 1.0)


@in_style
def fixes(kitchen: Fixes = WORKED) -> Picture:
    """A kitchen with its fixes beside the plain one: the still of the explorer."""
    stage = FixesStage()
    stage.show(kitchen)
    return stage.picture
