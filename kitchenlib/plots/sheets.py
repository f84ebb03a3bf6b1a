"""Price sheets: what output costs against input, and what else changes the price of a token."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    PLAIN,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    claim,
    end_label,
    in_style,
    panel,
    source,
    write,
)
from kitchenlib.prices import SheetPrice, sheet_price, sheet_prices

LIST = "github.com/simonw/llm-prices@723ef0b (2026-08-05)"
_READ = f"Sheets read by hand (2025 to 2026-11) and {LIST}"


def listed(value: float) -> str:
    """A price with all the digits that its sheet has: "$0.30", "$0.003"."""
    return f"${value:.2f}" if round(value, 2) == value else f"${value:g}"


def _bricks(ax: Axes, x: float, width: float, numbers: Sequence[int], role: Role) -> None:
    """A stack of bricks centred at `x`, one a row: `numbers` of full ones, then of hollow ones."""
    full, hollow = numbers
    for level in range(full + hollow):
        look: dict[str, Any] = {"facecolor": role.fill, "edgecolor": PAPER, "linewidth": 0.6}
        if level >= full:
            look = {"facecolor": PAPER, "edgecolor": MUTED, "linewidth": 0.8}
        ax.add_patch(Rectangle((x - width / 2, level + 0.08), width, 0.84, zorder=3, **look))


def _stacks(values: Sequence[float], step: float) -> Counter[float]:
    """How many of `values` are nearest to each multiple of `step`."""
    return Counter(round(value / step) * step for value in values)


# --- output against input ----------------------------------------------------------------------


class _Spread(NamedTuple):
    """Ratios of output over input, summed up."""

    rows: int
    above: int
    equal: int
    below: int
    low: float
    median: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> _Spread:
        low, median, high = np.percentile(ratios, (5, 50, 95))
        above, equal = (sum(r > 1 for r in ratios), sum(r == 1 for r in ratios))
        return cls(len(ratios), above, equal, len(ratios) - above - equal, low, median, high)

    def __str__(self) -> str:
        low, median, high = (f"{value:.1f}" for value in (self.low, self.median, self.high))
        return f"median {median}, middle 90% from {low} to {high}"


def ratios(rows: Sequence[SheetPrice] | None = None) -> list[float]:
    """Output over input of `rows`; of all that were not picked as exceptions, if none are given."""
    rows = sheet_prices(picked=False) if rows is None else rows
    return [float(row.price.ratio) for row in rows]


def _firm_by_firm(rows: Sequence[SheetPrice]) -> tuple[int, float]:
    """Firms, and the median of their medians: a firm with many models counts once."""
    firms = sorted({row.provider for row in rows})
    each = [np.median(ratios([row for row in rows if row.provider == firm])) for firm in firms]
    return len(firms), float(np.median(each))


@in_style
def price_ratios() -> Picture:
    """Output price over input price, one brick a row; picked exceptions are hollow."""
    found, picked = sheet_prices(picked=False), sheet_prices(picked=True)
    honest, everything = (_Spread.of(ratios(rows)) for rows in (found, found + picked))
    firms, middle_firm = _firm_by_firm(found)
    title = (
        f"Output costs more on {honest.above} of {honest.rows} price rows: "
        f"the median is {honest.median:.1f} times"
    )
    lead = (
        "Output price over input price, one brick a row. Hollow: "
        f"{len(picked)} more, picked because they are 1 or less"
    )
    top, bottom = max(found, key=_ratio), min(picked, key=_ratio)
    alike = [
        sheet_price(model="mistral-7b", provider="mistral"),
        sheet_price(model="text-davinci-003", dataset="genai-prices"),
    ]
    with_them = f"With the {len(picked)} exceptions {everything.above} of {everything.rows} rows"
    firm_wise = f"one vote for each of {firms} firms: median {middle_firm:.1f}"
    said = "; ".join(f"{_in_words(row)}, {row.when}" for row in (bottom, *alike, top))
    picture = Picture(
        WIDTH,
        5.75,
        alt=f"{title}. {lead}. Without these: {honest}, {honest.equal} equal, {honest.below} below "
        f"1. {with_them}: {everything}, {everything.equal} equal, {everything.below} below 1; "
        f"{firm_wise}. Examples: {said}.",
    )
    claim(picture, title, lead)
    ax = _ratio_axes(picture, ratios(found), ratios(picked))
    _bracket(ax, 53.5, honest, WAITER, f"{honest.rows} rows: {honest}")
    _bracket(ax, 49, everything, None, f"all {everything.rows}: {everything}")
    end_label(ax, everything.high, 44.5, firm_wise, color=MUTED, dx=9)
    _named(ax, bottom, alike, top)
    source(
        picture,
        f"{_READ};\nexceptions: genai-prices 0.2.3, litellm 1.110.2 (2026-11). "
        "A picked sample: many rows of few firms.",
    )
    return picture


def _ratio(row: SheetPrice) -> float:
    return float(row.price.ratio)


def _in_words(row: SheetPrice) -> str:
    price = row.price
    return f"{row.model} {listed(float(price.input))} in, {listed(float(price.output))} out"


def _ratio_axes(picture: Picture, found: Sequence[float], picked: Sequence[float]) -> Axes:
    """The stacks, a quarter apart."""
    ax = panel(picture, 0.4, 1.06, 8.2, 3.7)
    ax.set(xlim=(-0.45, 14.55), ylim=(0, 56))
    ax.set_xticks(range(15))
    ax.set_xlabel("output price / input price")
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    full, hollow = (_stacks(ratios, 0.25) for ratios in (found, picked))
    for x in sorted(full | hollow):
        _bricks(ax, x, 0.22, (full[x], hollow[x]), WAITER)
    return ax


def _bracket(ax: Axes, y: float, spread: _Spread, role: Role | None, text: str) -> None:
    """The middle 90% as a line, the median as a diamond, and both in words at the right end."""
    colour = role.fill if role else MUTED
    ax.plot([spread.low, spread.high], [y, y], "|-", color=colour, linewidth=2.0, markersize=8)
    face = colour if role else PAPER
    look: dict[str, Any] = {"markeredgecolor": colour, "markeredgewidth": 1.5, "zorder": 5}
    ax.plot(spread.median, y, "D", markersize=8, markerfacecolor=face, **look)
    end_label(ax, spread.high, y, text, color=role.ink if role else MUTED, dx=9)


def _named(ax: Axes, bottom: SheetPrice, alike: Sequence[SheetPrice], top: SheetPrice) -> None:
    """The farthest rows and two equal ones, by name, price and date."""
    _pointer(ax, _ratio(bottom), 1.2, 35.2)
    _example(ax, -0.32, 44, "inverted", [bottom])
    _example(ax, 1.26, 31.5, "equal", alike)
    _pointer(ax, _ratio(top), 1.2, 9.5)
    _example(ax, 14.4, 17.2, "highest", [top], ha="right")


def _pointer(ax: Axes, x: float, low: float, high: float) -> None:
    ax.plot([x, x], [low, high], color=MUTED, linewidth=0.8, zorder=2)


def _example(
    ax: Axes, x: float, y: float, name: str, rows: Sequence[SheetPrice], ha: str = "left"
) -> None:
    lines = [f"{row.model}\n{_in_words(row).removeprefix(row.model).strip()}" for row in rows]
    write(ax, x, y, name, weight="bold", size=SMALL, va="bottom", ha=ha)
    text = "\n".join([*lines, rows[0].when])
    write(ax, x, y - 0.5, text, size=SMALL, va="top", ha=ha, color=INK)


# --- what else changes a price -----------------------------------------------------------------

_PEAK_HOURS = re.compile(r"(\d\d)-(\d\d)")


class Tier(NamedTuple):
    """Two rows of one sheet: prompts up to a limit, and longer ones."""

    short: SheetPrice
    long: SheetPrice


class _Peak(NamedTuple):
    """Two rows of one model: at quiet hours and at busy ones."""

    off: SheetPrice
    on: SheetPrice


def tiers() -> tuple[Tier, ...]:
    """The pairs of rows that differ in the length of the prompt alone, in the order of the file."""
    rows = {(row.provider, row.condition, row.date): row for row in sheet_prices(picked=False)}
    return tuple(
        Tier(row, rows[provider, condition.replace("≤", ">"), date])
        for (provider, condition, date), row in rows.items()
        if "≤" in condition
    )


def _peaks() -> Iterator[_Peak]:
    rows = sheet_prices(provider="deepseek", date="2026-11")
    for off in rows:
        if off.condition == "off-peak":
            yield _Peak(off, next(row for row in rows if row.model == off.model and row != off))


def cached_shares() -> list[float]:
    """Cached input over fresh input, of the rows that were not picked as exceptions."""
    return [
        float(row.price.cached / row.price.input)
        for row in sheet_prices(picked=False)
        if row.price.cached is not None
    ]


def _factor(low: SheetPrice, high: SheetPrice, name: str) -> float:
    return round(float(getattr(high.price, name) / getattr(low.price, name)), 6)


@in_style
def price_switches() -> Picture:
    """The same tokens at other prices: cached, in a long prompt, and at peak hours."""
    shares, pairs, peaks = cached_shares(), tiers(), list(_peaks())
    tenth = float(np.median(shares))
    reading = Counter(_factor(*pair, "input") for pair in pairs)
    writing = Counter(_factor(*pair, "output") for pair in pairs)
    (twice, usual), peak = reading.most_common(1)[0], _factor(*peaks[0], "output")
    title = f"Same tokens, other prices: cached × {tenth:g}, long × {twice:g}, at peak × {peak:g}"
    lead = "Same model, same sheet, one thing changed. A line is thicker where more pairs share it"
    exact = sum(round(share, 6) == tenth for share in shares)
    cached = (
        f"Cached input over fresh input, {len(shares)} rows: median {tenth:.2f}, {exact} rows "
        f"exactly that, from {min(shares):.2f} to {max(shares):.2f}"
    )
    falls = sum(_ratio(pair.long) < _ratio(pair.short) - 1e-9 for pair in pairs)
    outputs = " and ".join(f"× {f:g} in {n}" for f, n in sorted(writing.items()))
    long = f"input × {twice:g} in {usual} of {len(pairs)} pairs"
    hours = "; ".join(
        f"{off.model} output {listed(float(off.price.output))} off-peak, "
        f"{listed(float(on.price.output))} at {_condition(peaks)}"
        for off, on in peaks
    )
    picture = Picture(
        WIDTH,
        5.35,
        alt=f"{title}. {cached}. Prompts beyond the limit of a sheet: {long}, output {outputs}; "
        f"output / input falls in {falls}. By the hour: {hours}.",
    )
    claim(picture, title, lead)
    _cached_panel(picture, shares, exact)
    falling = f"{long};\noutput / input falls in {falls}, as drawn"
    _tier_panel(picture, pairs, f"long prompt: input × {twice:g}", falling)
    _peak_panel(picture, peaks, f"busy hour: × {peak:g}")
    source(
        picture,
        f"{_READ};\n"
        f"peak hours: api-docs.deepseek.com, {peaks[0].on.when}. A picked sample, no census.",
    )
    return picture


def _panel(picture: Picture, left: float, name: str, what: str) -> Axes:
    """One of three: its name, what it shows, and axes under both."""
    write(picture, left, 4.22, name, weight="bold", size=LEAD)
    write(picture, left, 4.09, what, size=SMALL, color=MUTED, va="top", linespacing=1.25)
    return panel(picture, left, 1.22, 2.3, 2.36)


def _cached_panel(picture: Picture, shares: Sequence[float], exact: int) -> None:
    tenth = float(np.median(shares))
    what = f"cached input price / input price,\n{len(shares)} rows"
    ax = _panel(picture, MARGIN, f"read before: × {tenth:g}", what)
    ax.set(xlim=(-0.025, 0.54), ylim=(0, 47))
    ax.set_xticks((0, 0.1, 0.25, 0.5), ("0", "0.1", "0.25", "0.5"))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    for x, number in _stacks(shares, 0.025).items():
        _bricks(ax, x, 0.022, (number, 0), NOTES)
    text = f"median {tenth:g};\n{exact} rows are\nexactly that"
    write(ax, 0.135, 40, text, color=NOTES.ink, va="top", linespacing=1.25)
    write(ax, 0.5, 8.5, f"up to {max(shares):g}", size=SMALL, ha="center")
    write(ax, 0.0, 6.5, f"{min(shares):g}", size=SMALL, ha="center")


def _tier_panel(picture: Picture, pairs: Sequence[Tier], name: str, what: str) -> None:
    """Slopes from the ratio of short prompts to that of long ones, thicker where many share it."""
    ax = _panel(picture, 3.35, name, what)
    ax.set(xlim=(-0.45, 1.5), ylim=(1.3, 8.6))
    ax.set_xticks((0, 1), ("up to the\nlimit", "beyond"))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    slopes = Counter((round(_ratio(a), 6), round(_ratio(b), 6)) for a, b in pairs)
    for (short, long), number in slopes.items():
        falling = long < short
        role, dash = (WAITER, "-") if falling else (PLAIN, (0, (4, 1.5)))
        ax.plot([0, 1], [short, long], linestyle=dash, color=role.fill, linewidth=1 + 0.35 * number)
    for x, ends, side in ((0, 0, "right"), (1, 1, "left")):
        _end_numbers(ax, x, {slope[ends] for slope in slopes}, side)


def _end_numbers(ax: Axes, x: float, values: set[float], side: str) -> None:
    """Values at the ends of slopes, from the top, moved down where they would touch."""
    above = np.inf
    for value in sorted(values, reverse=True):
        moved = min(value, above - 0.42)
        dx = 6 if side == "left" else -6
        end_label(ax, x, moved, f"{value:g}", size=SMALL, ha=side, dx=dx, color=INK)
        above = moved


def _peak_panel(picture: Picture, peaks: Sequence[_Peak], name: str) -> None:
    what = "dollars per million output tokens\nby the hour, Monday to Friday"
    ax = _panel(picture, 6.4, name, what)
    high = max(float(peak.on.price.output) for peak in peaks)
    ax.set(xlim=(0, 24), ylim=(0, 1.15 * high))
    ax.set_xticks((0, 6, 12, 18, 24), ("0", "6", "12", "18", "24"))
    ax.set_xlabel("hour, UTC")
    spans = [(int(a), int(b)) for a, b in _PEAK_HOURS.findall(_condition(peaks))]
    edges = np.array([0, *(hour for span in spans for hour in span), 24])
    for off, on in peaks:
        prices = [float((on if i % 2 else off).price.output) for i in range(len(edges) - 1)]
        ax.stairs(prices, edges, baseline=None, color=WAITER.fill, linewidth=2.2)
        text = f"{off.model.split(' (')[0]}\n{listed(prices[0])} → {listed(prices[1])}"
        look: dict[str, Any] = {"ha": "right", "color": WAITER.ink, "linespacing": 1.25}
        write(ax, 23.8, prices[0] + 0.12, text, size=SMALL, **look)


def _condition(peaks: Sequence[_Peak]) -> str:
    """The condition that names the hours; one row of the sheet says it for all."""
    return max((peak.on.condition for peak in peaks), key=len)
