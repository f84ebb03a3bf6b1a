"""Which chip for which order, per dollar: what an hour's rent buys in requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kitchenlib.chips import Chip
from kitchenlib.efficiency import Efficiency, efficiency
from kitchenlib.inputs import instance, unknown_name, wrong
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots.cost import rented, where
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    RULE,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    canvas,
    claim,
    in_style,
    origin,
    percent,
    source,
    write,
)
from kitchenlib.prices import ChipHour, chip_hours
from kitchenlib.serving import max_batch, price_per_million
from kitchenlib.units import TB, TFLOP, dollars, significant


class Order(NamedTuple):
    """A request of typical size, which is an assumption.

    Attributes:
        name: what it is for.
        prompt: tokens of the prompt, `cached` of them in the cache already.
        reply: tokens written that the guest sees.
        cached, reasoning: tokens that are not read again, and tokens thought before the reply.
    """

    name: str
    prompt: int
    reply: int
    cached: int = 0
    reasoning: int = 0

    @property
    def written(self) -> int:
        return self.reply + self.reasoning

    @property
    def middle(self) -> int:
        """Tokens of notes halfway through the writing."""
        return self.prompt + self.written // 2

    @property
    def sizes(self) -> str:
        """Read and written, and what is special about them."""
        special = f"{self.cached:,} cached" * bool(self.cached)
        special = special or f"{self.reasoning:,} hidden" * bool(self.reasoning)
        return f"{self.prompt:,} → {self.written:,}" + (f"\n{special}" if special else "")

    def in_words(self) -> str:
        cached = f" ({self.cached:,} of them cached)" if self.cached else ""
        hidden = f" ({self.reasoning:,} of them hidden)" if self.reasoning else ""
        return f"{self.name}, {self.prompt:,} tokens read{cached}, {self.written:,} written{hidden}"


ORDERS = (
    Order("chat", 1000, 130),
    Order("summarising", 10_000, 300),
    Order("agent", 50_000, 200, cached=45_000),
    Order("reasoning", 1000, 130, reasoning=4000),
)
#: Two chips that the title compares: catalogue names.
PAIR = ("H100 SXM", "A100 PCIe 80GB")
_MOST_ROWS, _MOST_GUESTS = 12, 64
_DOUBTFUL = "doubtful"  # what the note of a row says of a price that other pages contradict
_HEAD, _ROW, _FOOT = 2.24, 0.46, 0.88  # inches: above the rows, each row, below them
_RENT, _SPEEDS = 2.9, (3.55, 4.12)  # right edges
_CELLS, _CELL, _BAR = (4.38, 5.5, 6.62, 7.74), 0.94, 0.12  # left edges, width, height of a bar
_WRITING = "#A9CDE6"


class _Served(NamedTuple):
    """What a dollar buys of one kind of order on one chip."""

    requests: float  # per dollar
    guests: int  # at once
    reading: float  # share of the cost


class _Row(NamedTuple):
    """A rented chip, and what it serves of each kind of order; None where not one guest fits."""

    hour: ChipHour
    chip: Chip
    served: tuple[_Served | None, ...]

    @property
    def name(self) -> str:
        """The chip's name without what stands in brackets, and its mark."""
        return self.chip.name.split(" (")[0] + "*" * (not self.chip.verified)

    @property
    def usd(self) -> float:
        assert self.hour.usd is not None  # `rented` asked
        return self.hour.usd

    @property
    def speeds(self) -> tuple[str, str]:
        """Compute and bandwidth that a dollar an hour rents: TFLOP/s and TB/s."""
        compute, bandwidth = self.chip.peak() / TFLOP, self.chip.bandwidth / TB
        return significant(compute / self.usd), significant(bandwidth / self.usd)


@in_style
def per_dollar(
    model: Model | None = None,
    hours: Sequence[ChipHour] | None = None,
    orders: Sequence[Order] = ORDERS,
    pair: tuple[str, str] = PAIR,
) -> Picture:
    """Requests that a dollar buys: chips by kinds of order, at the efficiency "planned".

    As many guests at once as fit with their notes at their longest, at most 64. Notes are counted
    as they are halfway through the writing.

    Args:
        model: in 16 bit, on one chip; Llama-3.1-8B.
        hours: one to twelve rows of `kitchenlib.chip_hours`. None takes the cheapest one of each
            chip, spans and doubtful prices left out.
        orders: one to four.
        pair: names of two of the chips, for the title.

    Raises ``ValueError`` for other rows or orders, `UnknownName` for a chip that no row has.
    """
    model = model or model_called("Llama-3.1-8B")
    instance("model", model, Model, 'kl.model("Llama-3.1-8B")')
    for order in orders:
        instance("order", order, Order, 'Order("chat", 1000, 130)')
    for hour in hours or ():
        instance("hour", hour, ChipHour, 'kl.chip_hour(provider="Nebius", chip="H100 SXM")')
    if len(pair) != 2:
        raise wrong("pair", pair, "give the names of two chips")
    _check(model, orders)
    plan = efficiency("planned")
    rows, small = _rows(model, _cheapest() if hours is None else hours, orders, plan)
    title, lead = _title(rows, orders, pair), _lead(model, rows)
    foot = _foot(rows, small, plan)
    said = "; ".join(_in_words(row, orders) for row in rows)
    kinds = "; ".join(order.in_words() for order in orders)
    picture = Picture(
        WIDTH,
        _HEAD + _ROW * len(rows) + _FOOT,
        alt=f"{title}. {lead}. Sizes are assumed: {kinds}. {said}. {' '.join(foot)}",
    )
    claim(picture, title, lead)
    ax = canvas(picture)
    top = picture.size[1] - _HEAD
    _heads(ax, top, orders)
    for i, row in enumerate(rows):
        _line(ax, top - _ROW * i, row, _best(rows))
    source(picture, "\n".join(foot))
    return picture


def _check(model: Model, orders: Sequence[Order]) -> None:
    if not 0 < len(orders) <= len(_CELLS):
        raise ValueError(f"{len(orders)} orders will not do: give one to {len(_CELLS)}")
    for order in orders:
        if not (order.prompt > order.cached >= 0 and order.reply > 0 and order.reasoning >= 0):
            raise ValueError(
                f"{order} will not do: give tokens of a prompt of which not all are cached, and a "
                "reply of at least one token"
            )
        longest = model.max_context
        if longest and order.prompt + order.written > longest:
            raise ValueError(f"{order} is too long: {model.name} takes at most {longest:,} tokens")


# --- what a dollar buys ------------------------------------------------------------------------


def _known() -> list[ChipHour]:
    """Prices of chips of the catalogue that are neither spans nor doubtful, the dearest first."""
    known = [h for h in chip_hours() if h.usd and h.chip and _DOUBTFUL not in h.note]
    return sorted(known, key=lambda hour: -(hour.usd or 0))


def _cheapest() -> list[ChipHour]:
    """The cheapest price of each chip."""
    return list({hour.chip: hour for hour in _known()}.values())


def _rows(
    model: Model, hours: Sequence[ChipHour], orders: Sequence[Order], plan: Efficiency
) -> tuple[list[_Row], list[str]]:
    """Rows, the best first, and the names of chips that cannot hold the model."""
    rows = [_row(model, hour, orders, plan) for hour in hours]
    small = [row.hour.published_chip for row in rows if not any(row.served)]
    rows = [row for row in rows if any(row.served)]
    if not 0 < len(rows) <= _MOST_ROWS:
        raise ValueError(
            f"{len(rows)} of {len(hours)} chips hold {model.name} in 16 bit: give rows for one to "
            f"{_MOST_ROWS} that do"
        )
    best = _best(rows)
    return sorted(rows, key=lambda row: -sum(_shares(row, best))), small


def _row(model: Model, hour: ChipHour, orders: Sequence[Order], plan: Efficiency) -> _Row:
    chip = rented(hour)
    return _Row(hour, chip, tuple(_served(model, chip, hour, order, plan) for order in orders))


def _served(
    model: Model, chip: Chip, hour: ChipHour, order: Order, plan: Efficiency
) -> _Served | None:
    guests = min(int(max_batch(model, chip, order.prompt + order.written)), _MOST_GUESTS)
    if not guests:
        return None
    assert hour.usd is not None
    given: dict[str, Any] = {"prompt": order.prompt, "cached": order.cached, "efficiency": plan}
    price = price_per_million(model, chip, hour.usd, order.middle, batch=guests, **given)
    whole = float(price.request(order.prompt, order.reply, order.cached, order.reasoning))
    read = float(price.request(order.prompt, 0, order.cached))
    return _Served(1 / whole, guests, read / whole)


def _requests(row: _Row) -> list[float]:
    """Requests per dollar, 0 where not one guest fits."""
    return [served.requests if served else 0.0 for served in row.served]


def _best(rows: Sequence[_Row]) -> np.ndarray:
    """The most requests per dollar of each kind of order."""
    return np.max([_requests(row) for row in rows], axis=0)


def _shares(row: _Row, best: np.ndarray) -> np.ndarray:
    return np.divide(_requests(row), best, out=np.zeros(len(best)), where=best > 0)


# --- words -------------------------------------------------------------------------------------


def _title(rows: Sequence[_Row], orders: Sequence[Order], pair: tuple[str, str]) -> str:
    """Two chips, and the orders where the first one does best and worst against the other."""
    named = {row.chip.name: row for row in rows}
    for name in pair:
        if name not in named:
            raise unknown_name("chip of these rows", name, named)
    one, other = (named[name] for name in pair)
    both = [
        (mine.requests / theirs.requests, order.name)
        for mine, theirs, order in zip(one.served, other.served, orders, strict=True)
        if mine and theirs
    ]
    ends = sorted({max(both), min(both)}, reverse=True)
    turns = ends[0][0] > 1 > ends[-1][0]
    rule = "it depends on the order" if turns else "one wins every order"
    gains = ", ".join(f"{ratio:.2f} times the {name}" for ratio, name in ends)
    return f"{one.name} or {other.name}? Per dollar, {rule}:\nthe first serves {gains}"


def _lead(model: Model, rows: Sequence[_Row]) -> str:
    firsts = [row.name for row in rows if _requests(row) == list(_best(rows))]
    first = f". {firsts[0]} is first in every column" if firsts and len(rows) > 1 else ""
    return f"Requests for one dollar: {model.name}, 16 bit, one chip{first}"


def _in_words(row: _Row, orders: Sequence[Order]) -> str:
    compute, bandwidth = row.speeds
    served = ", ".join(
        f"{order.name} {significant(cell.requests)} with {cell.guests} at once"
        if cell
        else f"{order.name} does not fit"
        for order, cell in zip(orders, row.served, strict=True)
    )
    rent = f"{dollars(row.usd)} an hour at {where(row.hour)}"
    speeds = f"{compute} TFLOP/s and {bandwidth} TB/s for a dollar an hour"
    return f"{row.name}, {rent}: {speeds}; {served}"


def _foot(rows: Sequence[_Row], small: Sequence[str], plan: Efficiency) -> list[str]:
    lists = ", ".join(dict.fromkeys(origin(row.hour.source) for row in rows))
    shares = f"{percent(plan.compute)} of the peak, {percent(plan.bandwidth)} of the bandwidth"
    left_out = f"Too small for the sack: {', '.join(small)}. " if small else ""
    marks = "" if all(row.chip.verified for row in rows) else "* not fully verified."
    fit = f"always with all who fit, up to {_MOST_GUESTS}"
    return [
        f"Orders are assumed. Every chip at {shares}, {fit}.",
        f"Prices per chip, not spot: {lists}.",
        f"{left_out}{_dearer(rows)}{marks}",
    ]


def _dearer(rows: Sequence[_Row]) -> str:
    """The chip that another provider rents out at the largest multiple of its price here."""
    dearer = [
        (hour.usd / row.usd, f"{hour.provider}, {hour.date}: {row.name} {dollars(hour.usd)}. ")
        for row in rows
        for hour in _known()
        if hour.chip == row.chip.name and hour.usd and hour.usd > row.usd
    ]
    return max(dearer)[1] if dearer else ""


# --- the table ---------------------------------------------------------------------------------


def _heads(ax: Axes, top: float, orders: Sequence[Order]) -> None:
    head: dict[str, Any] = {"size": SMALL, "linespacing": 1.15, "va": "bottom"}
    y = top + 0.1
    write(ax, MARGIN, y, "rented from, as of", color=MUTED, **head)
    _key(ax, top + 0.62)
    write(ax, _RENT, y, "an\nhour", color=MUTED, ha="right", **head)
    names = (("TFLOP/s\nfor $1\nan hour", CHEF), ("TB/s\nfor $1\nan hour", WAITER))
    for x, (name, role) in zip(_SPEEDS, names, strict=True):
        write(ax, x, y, name, color=role.ink, ha="right", **head)
    for x, order in zip(_CELLS, orders, strict=False):
        write(ax, x, top + 0.6, order.name, weight="bold", va="bottom")
        write(ax, x, top + 0.56, order.sizes, **(head | {"va": "top"}))
        write(ax, x, y - 0.02, "for $1", color=MUTED, **head)
        write(ax, x + _CELL, y - 0.02, "at once", color=MUTED, ha="right", **head)


def _key(ax: Axes, y: float) -> None:
    """What a bar is: the best of a column is full, and its parts are where the dollar goes."""
    write(ax, MARGIN, y, "Bars: against the column's best", size=SMALL, color=MUTED)
    for x, name, colour in ((MARGIN, "reading", CHEF.fill), (MARGIN + 0.95, "writing", _WRITING)):
        look: dict[str, Any] = {"facecolor": colour, "edgecolor": INK, "linewidth": 0.8}
        ax.add_patch(Rectangle((x, y - 0.19), 0.24, _BAR, **look))
        write(ax, x + 0.3, y - 0.17, name, size=SMALL, color=MUTED)


def _line(ax: Axes, top: float, row: _Row, best: np.ndarray) -> None:
    ax.plot([MARGIN, _CELLS[-1] + _CELL], [top, top], color=RULE, linewidth=0.8)
    write(ax, MARGIN, top - 0.2, row.name, weight="bold")
    write(ax, MARGIN, top - 0.37, f"{row.hour.provider}, {row.hour.date}", size=SMALL, color=MUTED)
    write(ax, _RENT, top - 0.2, dollars(row.usd), ha="right")
    for x, speed, role in zip(_SPEEDS, row.speeds, (CHEF, WAITER), strict=True):
        write(ax, x, top - 0.2, speed, ha="right", color=role.ink)
    for x, cell, share in zip(_CELLS, row.served, _shares(row, best), strict=False):
        _cell(ax, x, top, cell, float(share))


def _cell(ax: Axes, x: float, top: float, cell: _Served | None, share: float) -> None:
    """Requests for a dollar; their bar against the column's best, split in reading and writing."""
    if cell is None:
        write(ax, x, top - 0.2, "does not fit", size=SMALL, color=MUTED)
        return
    weight = "bold" if share == 1 else "normal"
    write(ax, x, top - 0.2, significant(cell.requests), weight=weight)
    write(ax, x + _CELL, top - 0.2, f"{cell.guests}", size=SMALL, color=MUTED, ha="right")
    wide = _CELL * share
    split = wide * cell.reading
    y = top - 0.38
    for left, width, colour in ((x, split, CHEF.fill), (x + split, wide - split, _WRITING)):
        ax.add_patch(Rectangle((left, y), width, _BAR, facecolor=colour, linewidth=0))
    ax.add_patch(Rectangle((x, y), wide, _BAR, fill=False, edgecolor=INK, linewidth=0.8))
