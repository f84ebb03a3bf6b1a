"""What output costs against input, by the guests on one trip, and what price sheets say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.efficiency import Efficiency, efficiency
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    PAPER,
    RULE,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    counts,
    end_label,
    footnote,
    grid,
    in_style,
    label_ends,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.prices import SheetPrice, sheet_prices
from kitchenlib.serving import price_per_million
from kitchenlib.units import significant

GUESTS = (1, 16, 32, 64)  #: whose ratios are written in the table
_MOST = 128
_ALL = np.arange(1, _MOST + 1)
_TICKS, _RATIOS = (1, 2, 4, 8, 16, 32, 64, 128), (1, 3, 10, 30, 100, 300, 1000)
_TABLE, _ROW, _NAME, _LAST = 0.78, 0.27, 1.12, 8.6  # inches: foot of the table, a row, its columns
_SHARES, _COLUMNS = (3.1, 4.0), (5.0, 5.75, 6.5, 7.25)  # right edges
_BAND = "#EAE2D2"


class _Look(NamedTuple):
    """How the line of an efficiency is drawn."""

    role: Role
    dash: Any
    mark: str


_LOOKS = {
    "ideal": _Look(Role(INK, INK), "solid", "o"),
    "prefill 40%": _Look(CHEF, (0, (6, 2)), "s"),
    "planned": _Look(WAITER, (0, (1.5, 1.5)), "D"),
}


class _Curve(NamedTuple):
    """Output price over input price with 1 to `_MOST` guests at one efficiency."""

    named: Efficiency
    ratios: np.ndarray

    @property
    def look(self) -> _Look:
        return _LOOKS[self.named.name]

    @property
    def shares(self) -> tuple[str, str]:
        return percent(self.named.compute), percent(self.named.bandwidth)

    def at(self, guests: int) -> str:
        ratio = self.ratios[guests - 1]
        return significant(ratio, 3 if ratio >= 10 else 2)

    def reaches(self, ratio: float) -> int | None:
        """The fewest guests with whom output costs at most `ratio` times as much."""
        low = _ALL[self.ratios <= ratio]
        return int(low[0]) if low.size else None


class _Sheets(NamedTuple):
    """Ratios of dated rows of price sheets, none of them picked for its ratio."""

    rows: int
    low: float
    median: float
    high: float
    dates: str
    lists: str

    @classmethod
    def of(cls, rows: Sequence[SheetPrice]) -> _Sheets:
        ratios = [float(row.price.ratio) for row in rows]
        low, median, high = (float(value) for value in np.percentile(ratios, (5, 50, 95)))
        days = sorted(day for row in rows for day in re.findall(r"\d{4}(?:-\d\d)*", row.date))
        lists = " and ".join(sorted({row.dataset for row in rows}))
        return cls(len(rows), low, median, high, f"{days[0]} to {days[-1]}", lists)

    @property
    def middle(self) -> str:
        return significant(self.median, 2)

    @property
    def most(self) -> str:
        return f"{significant(self.low, 2)} to {significant(self.high, 2)}"


@in_style
def ratio_by_batch(
    model: Model | None = None,
    chip: Chip | None = None,
    notes: int = 2048,
    guests: Sequence[int] = GUESTS,
) -> Picture:
    """Price of an output token over an input token by guests, at three efficiencies.

    The ratio depends neither on the price of a chip-hour nor on how many hours have guests. One
    chip is taken with memory enough for all: exchanges between chips are left out.

    Args:
        model, chip: in 16 bit; Llama-2-70B on an H100 SXM.
        notes: tokens of each guest's prompt, and of the notes at which they write.
        guests: one to four numbers from 1 to 128 whose ratios are written out.

    Raises ``ValueError`` for other guests, or a prompt that the model cannot take.
    """
    model, chip = model or model_called("Llama-2-70B"), chip or chip_called("H100 SXM")
    _check(model, chip, notes, guests)
    curves = [_curve(model, chip, notes, efficiency(name)) for name in _LOOKS]
    sheets = _Sheets.of(sheet_prices(picked=False))
    met = [curve.reaches(sheets.median) for curve in curves]
    title = f"{_rule(met)}:\n{sheets.middle} times is consistent with {_batches(met)} guests"
    lead = f"Price of an output token over an input token: {model.name}, {notes:,} tokens, 16 bit"
    said = "; ".join(
        f"{_in_words(curve, guests)}, {sheets.middle} with {_batches([number])}"
        for curve, number in zip(curves, met, strict=True)
    )
    found = (
        f"{sheets.rows} rows of price sheets ({sheets.lists}, {sheets.dates}): median "
        f"{sheets.middle}, 5th to 95th percentile {sheets.most}"
    )
    alone = f"One {chip.label} with a warehouse for all: exchanges between chips are left out."
    picture = Picture(WIDTH, 6.9, alt=f"{title}. {lead}. {said}. {found}. {alone}")
    claim(picture, title, lead)
    ax = panel(picture, 0.98, 2.62, 6.42, 2.98)
    log_axis(ax.xaxis, _TICKS, counts(_TICKS), "guests on one trip")
    top = 1.35 * max(curve.ratios[0] for curve in curves)
    low = min(1.0, 0.7 * min(curve.ratios[-1] for curve in curves))
    ratios = [ratio for ratio in _RATIOS if ratio < top]
    log_axis(ax.yaxis, ratios, counts(ratios), "output price over input price")
    ax.set(xlim=(0.94, 1.06 * _MOST), ylim=(low, top))
    grid(ax)
    _band(ax, sheets)
    for curve in curves:
        _line(ax, curve, guests, sheets.median)
    ends = [(float(c.ratios[-1]), c.named.name, c.look.role) for c in curves]
    label_ends(ax, _MOST, ends, dx=10)
    _table(canvas(picture), curves, guests, f"{sheets.middle} times\nwith", met)
    source(picture, f"{found}.\nConsistent with, not explained by. {alone}{footnote(chip)}")
    return picture


def _check(model: Model, chip: Chip, notes: int, guests: Sequence[int]) -> None:
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    tokens = dimension("notes", notes, "tokens")
    if model.max_context and tokens > model.max_context:
        raise wrong("notes", notes, f"{model.name} takes at most {model.max_context:,} tokens")
    if not 0 < len(guests) <= len(_COLUMNS):
        raise ValueError(
            f"{len(guests)} columns will not do: give one to {len(_COLUMNS)} numbers of guests"
        )
    for number in guests:
        if dimension("guests", number, "guests") > _MOST:
            raise wrong("guests", number, f"give at most {_MOST} guests")


def _curve(model: Model, chip: Chip, notes: int, named: Efficiency) -> _Curve:
    any_price = 1.0  # dollars per chip-hour: the same on both sides of the ratio
    price = price_per_million(model, chip, any_price, notes, batch=_ALL, efficiency=named)
    return _Curve(named, np.asarray(price.ratio))


def _rule(met: Sequence[int | None]) -> str:
    if len(set(met)) == 1:
        return "Here all assumptions agree on the batch that a price sheet suggests"
    return "Which batch a price sheet suggests depends on what you assume"


def _batches(met: Sequence[int | None]) -> str:
    """Numbers of guests, each once: "106, 33 or 50"."""
    words = [str(number or f"none of 1 to {_MOST}") for number in dict.fromkeys(met)]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _guests(number: int) -> str:
    return "1 guest" if number == 1 else f"{number} guests"


def _in_words(curve: _Curve, guests: Sequence[int]) -> str:
    peak, bandwidth = curve.shares
    values = ", ".join(f"{curve.at(n)} with {_guests(n)}" for n in guests)
    return f'"{curve.named.name}" ({peak} of the peak, {bandwidth} of the bandwidth): {values}'


# --- the curves --------------------------------------------------------------------------------


def _band(ax: Axes, sheets: _Sheets) -> None:
    """Where most price sheets are, and their median."""
    ax.axhspan(sheets.low, sheets.high, color=_BAND, linewidth=0, zorder=0.5)
    ax.axhline(sheets.median, color=MUTED, linewidth=1.2)
    words = f"price sheets: median {sheets.middle}", f"nine of ten from {sheets.most}"
    for dy, text in zip((9, -10), words, strict=True):
        end_label(ax, 1, sheets.median, text, dx=6, dy=dy, color=INK)


def _line(ax: Axes, curve: _Curve, guests: Sequence[int], median: float) -> None:
    """One curve with its marks, and a plumb line from where it meets the median."""
    role, dash, mark = curve.look
    ax.plot(_ALL, curve.ratios, color=role.fill, linestyle=dash, zorder=3)
    at = [n - 1 for n in guests]
    edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 1.0, "zorder": 5}
    edge |= {"linestyle": "none", "marker": mark, "markersize": 7}
    ax.plot(_ALL[at], curve.ratios[at], color=role.fill, **edge)
    met = curve.reaches(median)
    if met:
        low = ax.get_ylim()[0]
        ax.plot([met, met], [low, median], color=role.ink, linewidth=1.0, linestyle=":")
        end_label(ax, met, low, f"{met}", role, dx=-4, dy=9, ha="right", weight="bold")


# --- the table ---------------------------------------------------------------------------------


def _table(
    paper: Axes,
    curves: Sequence[_Curve],
    guests: Sequence[int],
    last: str,
    met: Sequence[int | None],
) -> None:
    """The ratios written out, and with how many guests each line meets the median."""
    top = _TABLE + _ROW * len(curves)
    heads = ("of the\npeak", "of the\nbandwidth", *map(_guests, guests), last)
    columns = (*_SHARES, *_COLUMNS[: len(guests)], _LAST)
    for x, head in zip(columns, heads, strict=True):
        write(paper, x, top, head, size=SMALL, color=MUTED, ha="right", linespacing=1.15)
    paper.plot([MARGIN, _LAST], [top - 0.06] * 2, color=RULE, linewidth=0.8)
    for row, (curve, number) in enumerate(zip(curves, met, strict=True)):
        y = top - _ROW * (row + 1)
        _sample(paper, y + 0.05, curve.look)
        write(paper, _NAME, y, curve.named.name, color=curve.look.role.ink, weight="bold")
        cells = (*curve.shares, *(curve.at(n) for n in guests), str(number or "none"))
        for x, cell in zip(columns, cells, strict=True):
            write(paper, x, y, cell, ha="right", weight="bold" if x == _LAST else "normal")


def _sample(paper: Axes, y: float, look: _Look) -> None:
    """A piece of a line, so that it is known by its dash and its mark."""
    end = _NAME - 0.12
    paper.plot([MARGIN, end], [y, y], color=look.role.fill, linestyle=look.dash)
    edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 1.0, "markersize": 7}
    paper.plot((MARGIN + end) / 2, y, look.mark, color=look.role.fill, **edge)
