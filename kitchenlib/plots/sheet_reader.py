"""One page to print: how to read a price sheet, with a bill worked and lines for your own."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Polygon, Rectangle
from matplotlib.text import Text
from numpy.typing import ArrayLike

from kitchenlib.chips import chip
from kitchenlib.efficiency import efficiency
from kitchenlib.inputs import Number, dimension, instance
from kitchenlib.models import model
from kitchenlib.plots import scenery
from kitchenlib.plots.sheets import LIST, cached_shares, listed, ratios
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MUTED,
    SMALL,
    TITLE,
    Picture,
    canvas,
    in_style,
    percent,
    write,
)
from kitchenlib.prices import SheetPrice, sheet_price, sheet_prices
from kitchenlib.serving import price_per_million
from kitchenlib.units import dollars, significant

_A4 = (8.27, 11.69)  # inches
_LEFT, _RIGHT = 0.5, 7.77
_MIDDLE = 4.55  # where the right column begins
_WHITE, _SHADE = "#FFFFFF", "#EFEFEF"
_MANY = 1_000  # requests on the receipt
_ROW = {
    "provider": "deepseek",
    "model": "deepseek-flash (V4.1-Flash-1017)",
    "condition": "off-peak",
    "date": "2026-11",
}

#: The kitchen of the table; its ratio does not depend on what a chip costs.
_MODEL, _CHIP, _NOTES = "Llama-2-70B", "H100 SXM", 2_048
_GUESTS, _MOST_GUESTS = (1, 8, 32, 64, 128), 1024
_EFFICIENCIES = ("ideal", "prefill 40%", "planned")

_QUESTIONS = (
    "Whose tokens? Do images and tools count?",
    "From which length on is a prompt long?",
    "Which hours are busy, in which time zone?",
    "Is a batch cheaper? When is it done?",
    "What is cached: how much, for how long?",
    "A minimum? Are failed requests billed?",
)

#: What is left blank: labels, and each blank's share of the rest of the line.
_LINES: tuple[tuple[tuple[str, float], ...], ...] = (
    (("model", 4), ("date", 2), ("input $", 1), ("cached $", 1), ("output $", 1)),
    (("prompt", 1), ("of it cached", 1), ("reasoning", 1), ("reply", 1)),
    (("fresh × input", 1), ("+ cached × its price", 1), ("+ written × output", 1)),
    (("÷ 1,000,000 = $", 1), ("a request, ×", 1), ("a month = $", 1)),
)


class _Step(NamedTuple):
    """One step: its name, and a line of text."""

    name: str
    text: str


class _Line(NamedTuple):
    """One line of a bill: so many tokens at a price per million."""

    name: str
    tokens: int
    price: float
    per: float

    @property
    def many(self) -> float:
        """Dollars for as many requests as the receipt has."""
        return _MANY * self.tokens * self.price / self.per


class _Order(NamedTuple):
    """A row of a sheet, and what is asked of it."""

    row: SheetPrice
    prompt: int
    cached: int
    reasoning: int
    reply: int

    @property
    def bill(self) -> float:
        """Dollars for one request."""
        price = self.row.price
        return float(price.request(self.prompt, self.reply, self.cached, self.reasoning))

    @property
    def lines(self) -> list[_Line]:
        price = self.row.price
        kept = price.input if price.cached is None else price.cached
        return [
            _Line("fresh input", self.prompt - self.cached, float(price.input), price.per),
            _Line("cached input", self.cached, float(kept), price.per),
            _Line("reasoning", self.reasoning, float(price.output), price.per),
            _Line("reply", self.reply, float(price.output), price.per),
        ]

    @property
    def written(self) -> tuple[float, float]:
        """What is written: its share of the tokens, and of the bill."""
        tokens = (self.reasoning + self.reply) / (self.prompt + self.reasoning + self.reply)
        unread = float(self.row.price.request(self.prompt, 0, self.cached))
        return tokens, 1 - unread / self.bill


@in_style
def price_sheet_reader(
    row: SheetPrice | None = None,
    prompt: int = 10_000,
    cached: int = 8_000,
    reasoning: int = 1_000,
    reply: int = 500,
) -> Picture:
    """A page of A4 for the printer: seven steps, a bill worked, and lines for your own.

    Args:
        row: whose prices the bill has; deepseek-flash off-peak of 2026-11.
        prompt, cached, reasoning, reply: tokens of the request on the bill.

    Raises ``ValueError`` for sizes that are no counts, more cached tokens than the prompt has, or
    a request that costs nothing.
    """
    order = _order(row or sheet_price(**_ROW), prompt, cached, reasoning, reply)
    tokens, cost = order.written
    title = (
        "How to read a price sheet in seven steps:\n"
        f"writing is {percent(tokens)} of these tokens, and {percent(cost)} of their bill"
    )
    steps, guests = _steps(order), _consistent_with(float(order.row.price.ratio))
    picture = Picture(*_A4, alt=f"{title}. {_in_words(order, steps)} {_table_in_words()} {guests}")
    picture.artists[0].set(facecolor=_WHITE, edgecolor=_WHITE)  # a page for the printer
    paper = canvas(picture)
    write(paper, _LEFT, 11.35, title, size=TITLE, weight="bold", va="top", linespacing=1.2)
    _sheet(paper, 9.82, order.row)
    _step_list(paper, 9.54, steps)
    _receipt(paper, 9.6, order)
    _trips(paper, 5.6)
    _table(paper, 5.6, guests)
    _checklist(paper, 3.44)
    _blanks(paper, 2.16)
    write(paper, _LEFT, 0.18, _sources(order.row), size=SMALL, color=MUTED, linespacing=1.2)
    return picture


def _order(row: SheetPrice, prompt: int, cached: int, reasoning: int, reply: int) -> _Order:
    instance("row", row, SheetPrice, "kl.sheet_price(model='gpt-5')")
    order = _Order(
        row,
        dimension("prompt", prompt, "tokens"),
        dimension("cached", cached, "tokens", least=0),
        dimension("reasoning", reasoning, "tokens of reasoning", least=0),
        dimension("reply", reply, "tokens of the reply"),
    )
    if order.bill == 0:
        raise ValueError(f"{order} costs nothing: give a row with prices above 0")
    return order


def _in_words(order: _Order, steps: Sequence[_Step]) -> str:
    row, price = order.row, order.row.price
    kept = "no price of its own" if price.cached is None else listed(float(price.cached))
    bill = ", ".join(
        f"{line.name} {line.tokens:,} tokens {dollars(line.many)}" for line in order.lines
    )
    said = " ".join(f"({n}) {step.name} – {step.text}" for n, step in enumerate(steps, start=1))
    return (
        f"The row: {row.model}, {row.condition or 'always'}, {row.when}, dollars per million "
        f"tokens: input {listed(float(price.input))}, cached input {kept}, output "
        f"{listed(float(price.output))}. The bill for {_MANY:,} requests: {bill}; together "
        f"{dollars(_MANY * order.bill)}. The steps: {said} A page to print, with "
        "questions to ask and lines for your own row and request."
    )


def _sources(row: SheetPrice) -> str:
    where = re.sub(r"^(https://|github:)", "", row.source).partition("?")[0]
    return (
        f"The row: {where}.\nReasoning as output: openrouter.ai/docs/use-cases/reasoning-tokens.\n"
        f"Middles of {len(cached_shares())} and {len(ratios())} rows: hand-read (2025 to 2026-11); "
        f"{LIST}."
    )


# --- the row and the steps ---------------------------------------------------------------------


def _heading(paper: Axes, x: float, y: float, text: str) -> None:
    write(paper, x, y, text, weight="bold", size=LEAD)


def _box(paper: Axes, x: float, y: float, width: float, height: float, fill: str) -> None:
    paper.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=INK, linewidth=0.9))


def _number(paper: Axes, x: float, y: float, number: int) -> None:
    """A step's number in a disc, on the sheet and in the list."""
    paper.add_patch(Circle((x, y), 0.12, facecolor=_WHITE, edgecolor=INK, linewidth=1.1, zorder=4))
    place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 5}
    write(paper, x, y, str(number), weight="bold", size=SMALL, **place)


def _sheet(paper: Axes, y: float, row: SheetPrice) -> None:
    """The row as it stands on a sheet, the steps' numbers over its columns."""
    price = row.price
    kept = "–" if price.cached is None else listed(float(price.cached))
    cells = (
        (2.85, "model", row.model, 1),
        (1.25, "condition", row.condition or "always", 2),
        (0.95, "input", listed(float(price.input)), 3),
        (1.27, "cached input", kept, 4),
        (0.95, "output", listed(float(price.output)), 5),
    )
    x = _LEFT
    for width, name, value, step in cells:
        _box(paper, x, y + 0.44, width, 0.3, _SHADE)
        _box(paper, x, y, width, 0.44, _WHITE)
        write(paper, x + 0.1, y + 0.53, name, size=SMALL)
        _value(paper, x + 0.1, y + 0.22, value, width - 0.15)
        _number(paper, x + width - 0.18, y + 0.59, step)
        x += width
    where = f"dollars per million tokens, {row.when}"
    write(paper, _RIGHT, y + 0.82, where, size=SMALL, color=MUTED, ha="right")


def _value(paper: Axes, x: float, y: float, value: str, room: float) -> None:
    """A value in its cell: bold on one line, or small on several where it is long."""
    look: dict[str, Any] = {"weight": "bold", "va": "center"}
    text = write(paper, x, y, value, **look)
    if _width(text) > room:
        lines = textwrap.wrap(value, int(room / 0.075), break_on_hyphens=False)
        text.set(text="\n".join(lines), size=SMALL, weight="normal", linespacing=1.05)


def _steps(order: _Order) -> list[_Step]:
    row, price = order.row, order.row.price
    ratio = f"Here {_times(price.ratio)} of input; in the middle {_times(np.median(ratios()))}."
    usual = f"in the middle {_times(np.median(cached_shares()))}."
    share = None if price.cached is None else _times(price.cached / price.input)
    kept = f"Here {share} of input; {usual}" if share else f"Here at no price of its own; {usual}"
    return [
        _Step("Which row?", f"Model, date, source. This one: {row.when}."),
        _Step("When does it hold?", f"Long prompts, busy hours: {_twin_in_words(row)}."),
        _Step("Input: all you send", "Rules, history, files, tools: all of it, every turn."),
        _Step("Cached input: read before, still kept", kept),
        _Step("Output: all that is written", ratio),
        _Step("Reasoning: output, too", "You may never see it. It is billed."),
        _Step("Add up, then ask", "Tokens × price ÷ 1,000,000; questions below."),
    ]


def _twin(row: SheetPrice) -> SheetPrice | None:
    """Another row for the same model of the same day, if the sheet has one."""
    same = sheet_prices(provider=row.provider, model=row.model) if row in sheet_prices() else ()
    return next((r for r in same if r.condition != row.condition and r.date == row.date), None)


def _twin_in_words(row: SheetPrice) -> str:
    twin = _twin(row)
    if twin is None:
        return "rows of their own"
    return f"{_named(twin)} {_times(twin.price.output / row.price.output)}"


def _named(twin: SheetPrice) -> str:
    names = {"peak": "at peak", "off-peak": "off-peak"}
    return names.get(twin.condition.split(" ")[0], "on its other row")


def _times(factor: Number) -> str:
    """A factor with two digits, as short as it can be: "× 0.02", "× 4"."""
    return f"× {float(factor):.2g}" if factor < 99 else f"× {significant(float(factor), 2)}"


def _step_list(paper: Axes, y: float, steps: Sequence[_Step]) -> None:
    for number, step in enumerate(steps, start=1):
        _number(paper, _LEFT + 0.12, y - 0.08, number)
        write(paper, _LEFT + 0.36, y, step.name, weight="bold", va="top")
        write(paper, _LEFT + 0.36, y - 0.19, step.text, va="top")
        y -= 0.5


# --- the bill ----------------------------------------------------------------------------------


def _receipt(paper: Axes, top: float, order: _Order) -> None:
    """The bill as a slip of paper."""
    low = top - 3.58
    _slip(paper, low, top)
    left, middle, right = _MIDDLE + 0.15, 6.9, _RIGHT - 0.15
    y = top - 0.32
    _heading(paper, left, y, f"The bill for {_MANY:,} requests")
    y -= 0.24
    write(paper, middle, y, "tokens × price", size=SMALL, color=MUTED, ha="right")
    for line in order.lines:
        y -= 0.27
        write(paper, left, y, line.name)
        text = f"{line.tokens:,} × {listed(line.price)}"
        write(paper, middle, y, text, ha="right")
        write(paper, right, y, dollars(line.many), ha="right")
    y -= 0.12
    paper.plot([left, right], [y, y], color=INK, linewidth=1.0)
    y -= 0.24
    strong: dict[str, Any] = {"weight": "bold", "size": LEAD}
    write(paper, left, y, "together", **strong)
    total = dollars(_MANY * order.bill)
    write(paper, right, y, total, ha="right", **strong)
    y -= 0.4
    for name, bill in _what_if(order):
        write(paper, left, y, name)
        write(paper, right, y, dollars(_MANY * bill), ha="right")
        y -= 0.25


def _what_if(order: _Order) -> list[tuple[str, float]]:
    """Bills of the same request, one thing changed; those that differ."""
    changed = [
        ("if nothing were cached", order._replace(cached=0)),
        ("if it did not reason", order._replace(reasoning=0)),
        ("if the reply were half", order._replace(reply=(order.reply + 1) // 2)),
    ]
    twin = _twin(order.row)
    if twin is not None:
        changed.append((_named(twin), order._replace(row=twin)))
    return [(name, other.bill) for name, other in changed if other.bill != order.bill]


def _slip(paper: Axes, low: float, top: float) -> None:
    """A slip with a torn lower edge."""
    width, teeth = _RIGHT - _MIDDLE, 24
    x = np.linspace(_RIGHT, _MIDDLE, 2 * teeth + 1)
    y = low + 0.07 * (np.arange(2 * teeth + 1) % 2)
    corners = [(_MIDDLE, top), (_MIDDLE + width, top), *zip(x, y, strict=True)]
    paper.add_patch(Polygon(corners, facecolor=_SHADE, edgecolor=INK, linewidth=0.9))


# --- the kitchen's picture ---------------------------------------------------------------------


def _trips(paper: Axes, top: float) -> None:
    """One trip of the sack reads a whole prompt, and writes one token for each guest."""
    _heading(paper, _LEFT, top, "Why writing takes more trips of the sack")
    for y, columns, name, text in (
        (top - 0.92, 10, "reading", "one trip, and all\nof the prompt is read"),
        (top - 1.74, 1, "writing", "one trip, and each\nguest gets one token"),
    ):
        scenery.sack(paper, _LEFT + 0.3, y, 0.66)
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2}
        paper.annotate("", (1.52, y + 0.28), (1.14, y + 0.28), arrowprops=arrow)
        x, above = np.meshgrid(1.66 + 0.105 * np.arange(columns), y + 0.07 + 0.105 * np.arange(5))
        paper.plot(x.ravel(), above.ravel(), "s", color=INK, markersize=5.4, markeredgewidth=0)
        write(paper, 2.84, y + 0.42, name, weight="bold")
        write(paper, 2.84, y + 0.35, text, size=SMALL, va="top", linespacing=1.2)


def _ratio(batch: ArrayLike, name: str) -> Number:
    """Output over input in the kitchen of the table."""
    kitchen = model(_MODEL), chip(_CHIP)
    price = price_per_million(*kitchen, 1, _NOTES, batch=batch, efficiency=efficiency(name))
    return price.ratio


def _consistent_with(ratio: float) -> str:
    """How many guests a trip fit a `ratio`, over the efficiencies of the table."""
    batch = np.arange(1, _MOST_GUESTS + 1)
    reached = [np.asarray(_ratio(batch, name)) <= ratio for name in _EFFICIENCIES]
    fits = [int(batch[np.argmax(each)]) for each in reached if each.any()]
    if not fits:
        return f"No number of guests up to {_MOST_GUESTS:,} gives {_times(ratio)}."
    to = f"to {max(fits)} guests" if len(fits) == len(reached) else "guests or more"
    return f"Consistent with {_times(ratio)}: {min(fits)} {to} a trip."


def _table(paper: Axes, top: float, guests: str) -> None:
    """Output over input by guests a trip, at three efficiencies."""
    left, right = 4.55, _RIGHT
    _heading(paper, left, top, "Guests a trip, and output / input")
    columns = np.linspace(left + 1.66, right, len(_GUESTS))
    y = top - 0.28
    write(paper, left, y, "guests", size=SMALL, color=MUTED)
    for x, batch in zip(columns, _GUESTS, strict=True):
        write(paper, x, y, f"{batch}", weight="bold", ha="right")
    paper.plot([left, right], [y - 0.08] * 2, color=INK, linewidth=0.9)
    for name in _EFFICIENCIES:
        y -= 0.25
        write(paper, left, y, _label(name), size=SMALL)
        for x, ratio in zip(columns, np.asarray(_ratio(np.array(_GUESTS), name)), strict=True):
            write(paper, x, y, _digits(ratio), ha="right")
    text = (
        f"{guests}\nNot explained by them: markets set prices.\n"
        f"{_MODEL} in 16 bit, {_CHIP}, {_NOTES:,} tokens\n"
        "of notes each; % of peak and of bandwidth."
    )
    look: dict[str, Any] = {"size": SMALL, "va": "top", "linespacing": 1.25}
    write(paper, left, y - 0.12, text, **look)


def _table_in_words() -> str:
    """The table, line by line."""
    lines = (
        f"{_label(name)} {', '.join(map(_digits, np.asarray(_ratio(np.array(_GUESTS), name))))}"
        for name in _EFFICIENCIES
    )
    guests = ", ".join(map(str, _GUESTS))
    return f"Output over input at {guests} guests a trip: {'; '.join(lines)}."


def _digits(ratio: float) -> str:
    return significant(ratio, 2 if ratio < 99 else 3)


def _label(name: str) -> str:
    """What an efficiency of the table loses."""
    lost = efficiency(name)
    if lost.compute == 1:
        return "the law itself"
    if lost.bandwidth == 1:
        return f"reading at {lost.compute:.0%}"
    return f"writing at {lost.bandwidth:.0%}, too"


# --- the reader's turn -------------------------------------------------------------------------


def _checklist(paper: Axes, top: float) -> None:
    _heading(paper, _LEFT, top, "Ask before you order")
    for i, question in enumerate(_QUESTIONS):
        x, y = (_LEFT, _MIDDLE)[i % 2], top - 0.34 - 0.29 * (i // 2)
        _box(paper, x, y - 0.02, 0.14, 0.14, _WHITE)
        write(paper, x + 0.24, y, question)


def _blanks(paper: Axes, top: float) -> None:
    """Lines to write on: a row, a request, and its bill."""
    _heading(paper, _LEFT, top, "Your row, your request, your bill")
    for i, line in enumerate(_LINES):
        y, x = top - 0.36 - 0.34 * i, _LEFT
        drawn = [write(paper, x, y, label, size=SMALL + 0.5) for label, _ in line]
        widths = [_width(label) + 0.06 for label in drawn]
        room = _RIGHT - _LEFT - sum(widths) - 0.1 * (len(line) - 1)
        for label, width, (_, share) in zip(drawn, widths, line, strict=True):
            label.set_x(x)
            blank = room * share / sum(share for _, share in line)
            paper.plot([x + width, x + width + blank], [y - 0.03] * 2, color=INK, linewidth=0.7)
            x += width + blank + 0.1


def _width(text: Text) -> float:
    """Inches that a text takes."""
    figure = text.get_figure()
    assert isinstance(figure, Picture)
    return text.get_window_extent().width / figure.dpi
