"""Your workload and its bill: your own kitchens against a price sheet, and one still of it."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from kitchenlib.inputs import count, instance
from kitchenlib.plots.billing import LEFT_OUT, WORKED, Bill, in_dollars, whole
from kitchenlib.plots.kept import Kept
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    SMALL,
    TITLE,
    WIDTH,
    Picture,
    Stage,
    canvas,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    write,
)
from kitchenlib.prices import Price
from kitchenlib.serving import monthly
from kitchenlib.units import dollars, many

__all__ = ["Bill", "BillStage", "bill"]

OWN, SHEET = NOTES, ORDER
_LEAST, _MOST = 1.0, 1e7  # requests a day
_FLOOR, _CEILING = 10.0, 1e9  # dollars a month
_REQUESTS = {1: "1", 10: "10", 100: "100", 1e3: "1,000", 1e4: "10,000", 1e5: "100,000"}
_REQUESTS |= {1e6: "1 million", 1e7: "10 million"}
_DOLLARS = {10: "10", 1e3: "1,000", 1e5: "100,000", 1e7: "10 million", 1e9: "1 billion"}
#: Numbers of kitchens that are drawn: each one at first, later in steps finer than a line.
_KITCHENS = np.unique(np.ceil(1.03 ** np.arange(700)))
_FILLS = {"fresh input": "#EBA97C", "cached input": "#F8E3D3"}
_FILLS |= {"reasoning": "#D3E5F1", "reply": "#7FB6D8"}
_WORDS = (800, 2e7)  # requests and dollars up to which the words between the lines reach
_TINT = "#D5EBDF"
_HIGH, _FOOT, _LINE = 2.06, 1.02, 0.165  # inches: the axes, the top of the foot, its lines
_APART = 14  # points between the names of two lines


class BillStage(Stage):
    """Dollars a month against requests a day, and where one request's go: `show` a bill."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 6.3, alt="Your own kitchens against a price sheet.")
        top = picture.size[1] - MARGIN
        self._title = write(picture, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        lead: dict[str, Any] = {"size": LEAD, "color": MUTED, "va": "top"}
        self._lead = [write(picture, MARGIN, top - y, "", **lead) for y in (0.31, 0.51, 0.71)]
        small: dict[str, Any] = {"size": SMALL, "color": MUTED, "va": "top", "linespacing": 1.2}
        write(picture, MARGIN, _FOOT, f"Left out of your own: {LEFT_OUT}.", **small)
        self._sources = [write(picture, MARGIN, 0, "", **small) for _ in range(2)]
        month = self._set_month(panel(picture, 1.28, 2.74, 6.36, _HIGH))
        self._rows = _Rows(canvas(picture))
        words = [self._title, *self._lead, *self._sources, self._words]
        kept = [*map(Kept, words), *self._rows.actors]
        super().__init__(picture, [*kept, *month])

    def _set_month(self, ax: Axes) -> list[Artist]:
        """The axes, and the actors on them, the tint below the rest."""
        log_axis(ax.xaxis, list(_REQUESTS), _REQUESTS.values(), "requests a day")
        log_axis(ax.yaxis, list(_DOLLARS), _DOLLARS.values(), "dollars a month")
        ax.set(xlim=(_LEAST, _MOST), ylim=(_FLOOR, _CEILING))
        grid(ax)
        ax.tick_params(axis="x", pad=5)  # a mark may stand in the corner
        for spine in ax.spines.values():
            spine.set_zorder(0.8)  # scenery, below the tint
        mark: dict[str, Any] = {"linestyle": "none", "clip_on": False, "zorder": 6}
        mark |= {"markersize": 9, "markeredgecolor": PAPER, "markeredgewidth": 1.4}
        thin: dict[str, Any] = {"color": MUTED, "linewidth": 1.1, "linestyle": (0, (2, 2))}
        self._tint = PolyCollection([], facecolor=_TINT, linewidth=0, antialiased=False, zorder=0.9)
        ax.add_collection(self._tint, autolim=False)
        (self._now,) = ax.plot([], [], **thin)
        (self._drop,) = ax.plot([], [], **thin)
        (self._sheet,) = ax.plot([], [], color=SHEET.fill, linestyle=(0, (6, 2)), zorder=4)
        (self._own,) = ax.plot([], [], color=OWN.fill, drawstyle="steps-pre", zorder=5)
        (self._even,) = ax.plot([], [], marker="D", color=INK, **mark)
        (self._sheet_mark,) = ax.plot(
            [], [], marker="o", color=SHEET.ink, **mark | {"markersize": 10.5}
        )
        (self._own_mark,) = ax.plot([], [], marker="s", color=OWN.ink, **mark | {"markersize": 7.5})
        self._sheet_name = end_label(ax, _MOST, 1, "price sheet", SHEET, dx=10)
        self._own_name = end_label(ax, _MOST, 1, "your own", OWN, dx=10)
        self._when = end_label(ax, 1, _CEILING, "", dx=0, dy=12)
        place: dict[str, Any] = {"dx": 8, "dy": -4, "va": "top", "linespacing": 1.3}
        self._words = end_label(ax, _LEAST, _CEILING, "", color=INK, **place)
        lines = [self._now, self._drop, self._sheet, self._own]
        marks = [self._even, self._sheet_mark, self._own_mark]
        names = [self._sheet_name, self._own_name, self._when]
        return [self._tint, *lines, *marks, *names]

    @in_style
    def show(self, bill: Bill) -> None:
        """Move everything to `bill`. Raises `UnknownName` for a name that is in no catalogue."""
        possible = not bill.obstacle()
        for actor in (self._own, self._own_mark, self._own_name, self._tint):
            actor.set_visible(possible)
        for actor in (self._even, self._drop):
            actor.set_visible(possible and _LEAST <= bill.even() <= _MOST)
        self._draw_sheet(bill)
        self._draw_day(bill)
        if possible:
            self._draw_own(bill)
            self._draw_even(bill)
        self._rows.show(bill, possible)
        self._say(bill)

    def _say(self, bill: Bill) -> None:
        lead, sources = bill.lead(), bill.sources()
        self._title.set_text(bill.claim())
        self._words.set_text(_words(bill))
        for text, said in zip(self._lead, lead, strict=True):
            text.set_text(said)
        foot = _FOOT - _LINE
        for text, said in zip(self._sources, sources, strict=True):
            lines = textwrap.wrap(said, 120, break_on_hyphens=False, break_long_words=False)
            text.set_text("\n".join(lines))
            text.set_y(foot)
            foot -= _LINE * len(lines)
        facts = (f"{name}: {value}" for name, value in bill.facts().items() if name != "dish")
        left = f"Left out of your own: {LEFT_OUT}"
        said = ". ".join([bill.claim(), *lead, "; ".join(facts), left, *sources])
        self.picture.alt = " ".join(said.split())

    def _draw_sheet(self, bill: Bill) -> None:
        ends = np.array([_LEAST, _MOST])
        bills = np.asarray(monthly(bill.request(bill.sheet_price()), ends))
        self._sheet.set_data(ends, bills)
        self._sheet_mark.set_data([bill.requests], [_inside(bill.sheet_bill())])
        self._sheet_name.xy = (_MOST, _inside(bills[1]))
        self._sheet_name.xyann = (10, 0)

    def _draw_day(self, bill: Bill) -> None:
        top = _CEILING if bill.requests > _WORDS[0] else _WORDS[1]
        self._now.set_data([bill.requests, bill.requests], [_FLOOR, top])
        self._when.set_text(f"{bill.requests:,} a day")
        self._when.xy = (bill.requests, _CEILING)
        left, right = bill.requests < 10, bill.requests > _MOST / 10
        self._when.set_horizontalalignment("left" if left else "right" if right else "center")

    def _draw_own(self, bill: Bill) -> None:
        """The staircase of whole kitchens, and the tint above it, up to the sheet's line."""
        ends, bills = _KITCHENS * bill.full(), _KITCHENS * bill.month()
        self._own.set_data([ends[0] / 1e9, *ends], [bills[0], *bills])
        self._own_mark.set_data([bill.requests], [_inside(bill.own_bill())])
        each = float(monthly(bill.request(bill.sheet_price()), 1))
        starts = np.maximum([0, *ends[:-1]], bills / each)  # where the sheet's line has come up
        on = (starts < ends) & (starts < _MOST)
        left, right, low = starts[on], ends[on], bills[on]
        corners = ((left, low), (right, low), (right, right * each), (left, left * each))
        pieces = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
        self._tint.set_verts(list(pieces))
        self._name_own(_inside(float(bills[np.searchsorted(ends, _MOST)])))

    def _name_own(self, height: float) -> None:
        """The name of the staircase where it ends, out of the way of the other line's."""
        self._own_name.xy = (_MOST, height)
        points = 72 * _HIGH / math.log(_CEILING / _FLOOR)
        gap = math.log(height / self._sheet_name.xy[1]) * points
        missing = max(0.0, _APART - abs(gap)) / 2
        up = 1 if gap > 0 else -1
        self._own_name.xyann = (10, up * missing)
        self._sheet_name.xyann = (10, -up * missing)

    def _draw_even(self, bill: Bill) -> None:
        even, month = bill.even(), bill.month()
        self._even.set_data([even], [month])
        self._drop.set_data([even, even], [_FLOOR, month])


def _inside(bill: float) -> float:
    """A bill beyond the frame is held at its edge."""
    return min(max(bill, _FLOOR), _CEILING)


def _words(bill: Bill) -> str:
    """What to see between the lines."""
    if bill.obstacle():
        return "your own kitchen: not possible"
    even = bill.even()
    if math.isinf(even):
        return "no break-even: a request costs\nmore in your own kitchen"
    if even > _MOST:
        return f"break-even beyond the frame:\n{whole(even)} a day"
    return f"◆ break-even: {whole(even)} a day\ntinted: your own costs less"


class _Rows:
    """A table of two rows: what a request costs, what for, and a month's bill."""

    left, width, high = 2.7, 4.64, 0.26  # of the bars, inches
    levels = (1.62, 1.22)  # of the rows: price sheet, your own

    def __init__(self, ax: Axes) -> None:
        for y, mark, role in zip(self.levels, "os", (SHEET, OWN), strict=True):
            edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 1.4}
            ax.plot(MARGIN + 0.06, y + 0.12, mark, color=role.ink, markersize=9, **edge)
        self._head(ax, max(self.levels) + self.high + 0.12)
        self._lines = tuple(_Row(ax, y, self) for y in self.levels)
        self.actors = [actor for line in self._lines for actor in line.actors]

    def _head(self, ax: Axes, y: float) -> None:
        style: dict[str, Any] = {"size": SMALL, "color": MUTED}
        write(ax, self.left - 0.12, y, "a request", ha="right", **style)
        write(ax, WIDTH - MARGIN, y, "a month", ha="right", **style)
        x = self.left
        for name, wide in zip(_FILLS, (1.16, 1.28, 1.1, 0.8), strict=True):
            look: dict[str, Any] = {"facecolor": _FILLS[name], **_edge(name)}
            ax.add_patch(Rectangle((x, y), 0.17, 0.11, **look))
            write(ax, x + 0.24, y, name, **style)
            x += wide

    def show(self, bill: Bill, possible: bool) -> None:
        sheet, own = self._lines
        sheet.show("price sheet", bill, bill.sheet_price(), bill.sheet_bill())
        if possible:
            name = f"your own\n{many(bill.kitchens(), 'kitchen')}"
            own.show(name, bill, bill.own_price(), bill.own_bill())
        else:
            own.clear(bill.obstacle())


class _Row:
    """One row of the table, at a height: its words, and a bar of four pieces."""

    def __init__(self, ax: Axes, y: float, table: _Rows) -> None:
        self.left, self.width, middle = table.left, table.width, y + table.high / 2
        line: dict[str, Any] = {"va": "center_baseline"}
        self._name = write(ax, MARGIN + 0.2, middle, "", **line)
        self._each = write(ax, self.left - 0.12, middle, "", ha="right", weight="bold", **line)
        self._month = write(ax, WIDTH - MARGIN, middle, "", ha="right", weight="bold", **line)
        self._bar, self._shares = [], []
        for name, fill in _FILLS.items():
            piece = Rectangle((self.left, y), 0, table.high, facecolor=fill, **_edge(name))
            ax.add_patch(piece)
            self._bar.append(piece)
            box: dict[str, Any] = {"facecolor": fill, "edgecolor": "none", "pad": 1}
            centred: dict[str, Any] = {"ha": "center", "size": SMALL, "bbox": box}
            self._shares.append(write(ax, self.left, middle, "", **centred, **line))
        self._why = write(ax, self.left, middle, "", **line)
        words = (self._name, self._each, self._month)
        self.actors = [*map(Kept, words), Kept(*self._bar, *self._shares, self._why, rim=4)]

    def show(self, name: str, bill: Bill, price: Price, month: float) -> None:
        self._name.set_text(name)
        self._each.set_text(dollars(month / float(monthly(1, bill.requests))))
        self._month.set_text(in_dollars(month))
        self._why.set_text("")
        parts = bill.parts(price)
        whole, x = sum(part.dollars for part in parts), self.left
        for part, piece, text in zip(parts, self._bar, self._shares, strict=True):
            share = part.dollars / whole
            piece.set(x=x, width=share * self.width, linewidth=_EDGE if share else 0)
            text.set_text(f"{share:.0%}" if share > _NARROW else "")
            text.set_x(x + share * self.width / 2)
            x += share * self.width

    def clear(self, why: str) -> None:
        """No prices, but why there are none."""
        self._name.set_text("your own")
        for text in (self._each, self._month, *self._shares):
            text.set_text("")
        for piece in self._bar:
            piece.set(width=0, linewidth=0)
        self._why.set_text(why)


_EDGE = 0.8  # points: of a piece of a bar
_NARROW = 0.07  # of a bar: narrower pieces have no room for their share in words


def _edge(name: str) -> dict[str, Any]:
    """The edge of a piece: what is written unseen is hatched."""
    hatch = {"reasoning": "////", "cached input": "----"}.get(name)
    return {"edgecolor": MUTED, "linewidth": _EDGE, "hatch": hatch, "hatch_linewidth": 0.5}


@in_style
def bill(bill: Bill = WORKED) -> Picture:
    """A workload's bill, by a price sheet and in your own kitchens: the still of the explorer."""
    instance("bill", bill, Bill, "Bill(requests=1000)")
    count("requests", bill.requests, "requests a day")
    stage = BillStage()
    stage.show(bill)
    return stage.picture
