"""What hidden tokens cost: seconds of silence, notes and cents; and samples beside one chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from kitchenlib import thinking
from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots.style import (
    CHEF,
    MARGIN,
    MUTED,
    NOTES,
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
    source,
    write,
)
from kitchenlib.prices import ChipHour, SheetPrice, chip_hour, sheet_price
from kitchenlib.serving.money import HOUR
from kitchenlib.units import GB, dollars, human, significant

#: How marks are drawn, and up to three lines.
MARK: dict[str, Any] = {"markersize": 5, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
LINES: tuple[tuple[Role, Any, str], ...] = (
    (CHEF, "solid", "o"),
    (WAITER, (0, (5, 2)), "s"),
    (NOTES, (0, (1.4, 1.4)), "D"),
)
_ALONE, _COMPANY = CHEF, WAITER

# --- what hidden tokens cost ---------------------------------------------------------------------

_HIDDEN = (0, 500, 2_000, 8_000)  #: tokens: the rows of the table
_SHEET = {"provider": "openai", "model": "gpt-5-mini"}


class _Kitchen(NamedTuple):
    """Where the hidden tokens are thought.

    Attributes:
        model, chip, chips: in 16 bit.
        prompt, reply: tokens read, and tokens that the guest sees.
        guests: in company.
        rent: dollars for an hour of one chip, as of a date.
    """

    model: Model
    chip: Chip
    chips: int
    prompt: int
    reply: int
    guests: int
    rent: ChipHour

    def thought(self, hidden: Any, guests: int) -> thinking.Thought:
        sizes = self.prompt, hidden, self.reply
        return thinking.chain(self.model, self.chip, *sizes, guests, chips=self.chips)

    def paid(self, hidden: Any, guests: int) -> np.ndarray:
        """Dollars for one request: its share of the chips' time."""
        second = (self.rent.usd or 0.0) / HOUR * self.chips
        return np.asarray(self.thought(hidden, guests).total) * second / guests

    def room(self, hidden: Any) -> np.ndarray:
        sizes = self.prompt, hidden, self.reply
        return np.asarray(
            thinking.most_requests(self.model, self.chip, *sizes, chips=self.chips), dtype=float
        )

    @property
    def where(self) -> str:
        return f"{self.model.name} on {self.chips} {self.chip.short_label}, 16 bit"

    @property
    def asked(self) -> str:
        return f"{self.prompt:,} tokens of prompt, {self.reply:,} of reply"


@in_style
def scratch_bill(
    model: Model | None = None,
    chip: Chip | None = None,
    chips: int = 4,
    guests: int = 32,
    prompt: int = 1000,
    reply: int = 300,
    rent: ChipHour | None = None,
) -> Picture:
    """Seconds before the first visible word, notes and dollars, by the tokens thought before it.

    Args:
        model, chip, chips: Llama-3.1-70B on four H100 SXM, in 16 bit.
        guests: in company, 2 or more.
        prompt, reply: tokens.
        rent: a priced row of `kitchenlib.chip_hours`; Nebius' H100 SXM.

    Raises ``ValueError`` for other sizes, a row without a price, or guests who do not fit with the
    longest thought.
    """
    kitchen = _kitchen(model, chip, chips, guests, prompt, reply, rent)
    if kitchen.room(_HIDDEN[-1]) < dimension("guests", guests, "guests", least=2):
        most = f"with {_HIDDEN[-1]:,} hidden tokens {kitchen.room(_HIDDEN[-1]):,.0f} guests fit"
        raise wrong("guests", guests, most)
    sheet = sheet_price(**_SHEET)
    rows = [_row(kitchen, sheet, hidden) for hidden in _HIDDEN]
    told = _HIDDEN[2]
    bare, thought = (kitchen.thought(hidden, guests) for hidden in (0, told))
    more = float(kitchen.paid(told, guests) / kitchen.paid(0, guests))
    silence = human(float(thought.hidden), "s", 2)
    title = (
        f"In company, {told:,} hidden tokens are {silence} of silence,\n"
        f"{human(float(thought.notes) - float(bare.notes), 'B')} more notes and "
        f"{significant(more, 2)} times the bill"
    )
    lead = f"{kitchen.where}: alone, and with {guests} guests in step"
    said = "; ".join(
        f"{hidden:,} hidden: "
        + ", ".join(
            f"{head.replace(chr(10), ' ')} {cell}"
            for head, cell in zip(_heads(guests), row[1:], strict=True)
        )
        for hidden, row in zip(_HIDDEN, rows, strict=True)
    )
    picture = Picture(
        WIDTH, 6.2, alt=f"{' '.join(title.split())}. {lead}. {kitchen.asked.capitalize()}. {said}."
    )
    claim(picture, title, lead)
    _curves(picture, kitchen)
    _bill_table(canvas(picture), kitchen, rows)
    source(
        picture,
        f"Ideal times: a bound. {kitchen.rent.provider}, {dollars(kitchen.rent.usd or 0)} a "
        f"chip-hour, {kitchen.rent.date}, the chips never idle.{footnote(kitchen.chip)}\n"
        f"Sheet: {sheet.provider} {sheet.model}, {sheet.when}: another dish; "
        "hidden tokens are charged as output.",
    )
    return picture


def _kitchen(
    model: Model | None,
    chip: Chip | None,
    chips: int,
    guests: int,
    prompt: int,
    reply: int,
    rent: ChipHour | None,
) -> _Kitchen:
    model, chip = model or model_called("Llama-3.1-70B"), chip or chip_called("H100 SXM")
    instance("model", model, Model, 'kl.model("Llama-3.1-70B")')
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    row = rent or chip_hour(provider="Nebius", chip="H100 SXM")
    instance("rent", row, ChipHour, 'kl.chip_hour(provider="Nebius", chip="H100 SXM")')
    if row.usd is None:
        raise wrong("rent", row.provider, "give a row that has a price in dollars per hour")
    dimension("prompt", prompt, "tokens")
    dimension("reply", reply, "tokens")
    return _Kitchen(model, chip, dimension("chips", chips, "chips"), prompt, reply, guests, row)


def _heads(guests: int) -> tuple[str, ...]:
    return (
        "first word,\nalone",
        f"first word,\n{guests} guests",
        "notes of\na guest",
        "guests\nwho fit",
        "a request,\nalone",
        f"a request,\n{guests} guests",
        "on a price\nsheet",
    )


def _row(kitchen: _Kitchen, sheet: SheetPrice, hidden: int) -> list[str]:
    """The cells of the table for so many hidden tokens."""
    alone, company = (kitchen.thought(hidden, guests) for guests in (1, kitchen.guests))
    listed = sheet.price.request(kitchen.prompt, kitchen.reply, reasoning=hidden)
    return [
        f"{hidden:,}",
        human(float(alone.first_visible), "s"),
        human(float(company.first_visible), "s"),
        human(float(alone.notes), "B"),
        f"{kitchen.room(hidden):,.0f}",
        _cents(float(kitchen.paid(hidden, 1))),
        _cents(float(kitchen.paid(hidden, kitchen.guests))),
        _exactly(float(listed)),
    ]


def _cents(amount: float) -> str:
    """What a request costs, in cents: too small for dollars."""
    return f"{significant(100 * amount)} ¢"


def _exactly(amount: float) -> str:
    """What a sheet asks, in cents with all their digits: nothing of it was calculated."""
    return f"{f'{100 * amount:.6f}'.rstrip('0').removesuffix('.')} ¢"


def _curves(picture: Picture, kitchen: _Kitchen) -> None:
    hidden = np.linspace(0, _HIDDEN[-1], 81).astype(int)
    alone, company = (kitchen.thought(hidden, guests) for guests in (1, kitchen.guests))
    us = f"{kitchen.guests} guests"
    waits = [
        (np.asarray(thought.first_visible), name, role)
        for thought, name, role in ((alone, "alone", _ALONE), (company, us, _COMPANY))
    ]
    bills = [
        (100 * kitchen.paid(hidden, guests), name, role)
        for guests, name, role in ((1, "alone", _ALONE), (kitchen.guests, us, _COMPANY))
    ]
    notes = [(np.asarray(alone.notes) / GB, "each guest", NOTES)]
    _curve(picture, 0.78, "Seconds to the first visible word", hidden, waits)
    _curve(picture, 3.82, "Notes of one guest (GB)", hidden, notes)
    _curve(picture, 6.68, "A request (cents)", hidden, bills, log=True)


def _curve(
    picture: Picture,
    left: float,
    heading: str,
    hidden: np.ndarray,
    lines: Sequence[tuple[np.ndarray, str, Role]],
    log: bool = False,
) -> None:
    write(picture, left - 0.46, 4.78, heading, weight="bold")
    ax = panel(picture, left, 3.0, 1.94, 1.52)
    ends = [float(values[-1]) for values, _, _ in lines]
    starts = [float(values[0]) for values, _, _ in lines]
    if log:
        ticks = [
            step * 10.0**ten
            for ten in range(-6, 6)
            for step in (1, 3)
            if min(starts) / 1.5 < step * 10.0**ten < 3.2 * max(ends)
        ]
        ticks = ticks[:: 1 + len(ticks) // 7]
        log_axis(ax.yaxis, ticks, [f"{tick:g}" for tick in ticks], "")
        ax.set(ylim=(min(starts) / 1.5, 2.2 * max(ends)))
    else:
        ticks = [t for t in MaxNLocator(4).tick_values(0, max(ends)) if t <= 1.1 * max(ends)]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set(ylim=(0, 1.22 * max(ends)))
    told = (0, 2_000, 4_000, 6_000, 8_000)
    ax.set_xticks(told, [f"{n // 1000}k" if n else "0" for n in told])
    ax.set(xlim=(0, 1.02 * hidden[-1]), xlabel="hidden tokens")
    grid(ax)
    ax.axvline(_HIDDEN[2], color=MUTED, linewidth=1.1, linestyle=":")
    order = np.argsort(ends)
    for place, index in enumerate(order):
        values, name, role = lines[index]
        ax.plot(hidden, values, color=role.fill, linestyle=LINES[role is _COMPANY][1])
        if place == len(order) - 1:  # the curves rise: above, to the left of a point
            end_label(ax, hidden[62], float(values[62]), name, role, dx=-4, dy=9, ha="right")
        elif log or 3 * ends[index] > max(ends):  # and below, to the right of another
            end_label(ax, hidden[-1], float(values[52]), name, role, dx=0, dy=-9, ha="right")
        else:  # or above, where there is none below
            end_label(ax, hidden[-1], ends[index], name, role, dx=0, dy=9, ha="right")


def _bill_table(ax: Axes, kitchen: _Kitchen, rows: Sequence[Sequence[str]]) -> None:
    write(ax, MARGIN, 2.34, f"In numbers: {kitchen.asked}", weight="bold")
    top, columns = 1.86, (2.1, 3.16, 4.16, 5.04, 6.1, 7.2, 8.6)
    heads: tuple[str, ...] = _heads(kitchen.guests)
    quiet: dict[str, Any] = {"size": SMALL, "color": MUTED, "linespacing": 1.15}
    write(ax, MARGIN, top, "hidden\ntokens", **quiet)
    for x, head in zip(columns, heads, strict=True):
        write(ax, x, top, head, ha="right", **quiet)
    ax.plot([MARGIN, WIDTH - MARGIN], [top - 0.08] * 2, color=RULE, linewidth=0.8)
    for i, (first, *cells) in enumerate(rows):
        y = top - 0.32 - 0.25 * i
        weight = "bold" if i == 2 else "normal"
        write(ax, MARGIN, y, first, weight=weight)
        for x, cell in zip(columns, cells, strict=True):
            write(ax, x, y, cell, ha="right", weight=weight)


# --- samples side by side ------------------------------------------------------------------------

_NUMBERS = (1, 2, 4, 8, 16, 32, 64)  #: samples
_TOLD = 10  #: samples in the title


@in_style
def scratch_samples(
    model: Model | None = None,
    chip: Chip | None = None,
    chips: int = 4,
    hidden: int = 2000,
    prompt: int = 4000,
    reply: int = 300,
) -> Picture:
    """Seconds and notes of one request, by its samples, beside one chain of as many tokens.

    Args:
        model, chip, chips: Llama-3.1-70B on four H100 SXM, in 16 bit; one guest.
        hidden: tokens that each sample thinks, 2 to 10,000.
        prompt, reply: tokens.
    """
    kitchen = _kitchen(model, chip, chips, 1, prompt, reply, None)
    if not 2 <= dimension("hidden", hidden, "tokens of thought") <= 10_000:
        raise wrong("hidden", hidden, "give 2 to 10,000 tokens of thought for each sample")
    numbers = np.array([*_NUMBERS, _TOLD])
    sizes = kitchen.prompt, hidden, kitchen.reply
    many = thinking.samples(kitchen.model, kitchen.chip, *sizes, numbers, chips=kitchen.chips)
    long = thinking.chain(
        kitchen.model, kitchen.chip, prompt, hidden * numbers, reply, chips=kitchen.chips
    )
    slower, heavier, longer = (
        float(np.asarray(values)[-1] / np.asarray(values)[0])
        for values in (many.shared.total, many.shared.notes, long.total)
    )
    title = (
        f"{_TOLD} samples take {significant(slower, 3)} times as long as one, and "
        f"{significant(heavier, 2)} times the notes;\none chain of as many tokens takes "
        f"{significant(longer, 2)} times as long"
    )
    each = f"{prompt:,} tokens of prompt, each sample thinks {hidden:,}"
    lead = f"{kitchen.where}, one guest: {each}"
    lines = {
        "one chain of as many tokens": long,
        "samples, prompt copied": many.copied,
        "samples, prompt shared": many.shared,
    }
    said = "; ".join(f"{name}: {_last(thought)}" for name, thought in lines.items())
    picture = Picture(
        WIDTH, 4.9, alt=f"{' '.join(title.split())}. {lead}. With {_TOLD} samples, {said}."
    )
    claim(picture, title, lead)
    seconds = [np.asarray(thought.total)[:-1] for thought in lines.values()]
    notes = [np.asarray(thought.notes)[:-1] / GB for thought in lines.values()]
    _by_samples(picture, 0.86, "Seconds to the last word", list(lines), seconds)
    _by_samples(picture, 5.2, "Notes of the request (GB)", list(lines), notes)
    source(
        picture,
        "Ideal times: a bound, whether or not the notes fit. Shared: the prompt's notes are kept "
        f"and read once, with a\nkernel that can. The vote takes no time; one sample writes the "
        f"reply.{footnote(kitchen.chip)}",
    )
    return picture


def _last(thought: thinking.Thought) -> str:
    seconds, notes = (float(np.asarray(all_of)[-1]) for all_of in (thought.total, thought.notes))
    return f"{human(seconds, 's')} and {human(notes, 'B')} of notes"


def _by_samples(
    picture: Picture, left: float, heading: str, names: Sequence[str], lines: Sequence[np.ndarray]
) -> None:
    write(picture, left - 0.54, 3.56, heading, weight="bold")
    ax = panel(picture, left, 1.14, 2.3, 2.24)
    log_axis(ax.xaxis, _NUMBERS, counts(_NUMBERS), "samples")
    low, high = min(float(v.min()) for v in lines), max(float(v.max()) for v in lines)
    ticks = [s * 10.0**t for t in range(-5, 7) for s in (1, 2, 5)]
    ticks = [tick for tick in ticks if low / 1.6 < tick < 1.6 * high]
    ticks = ticks[:: 1 + len(ticks) // 8]
    log_axis(ax.yaxis, ticks, [f"{tick:,g}" for tick in ticks], "")
    ax.set(xlim=(0.9, 71), ylim=(low / 1.6, 1.6 * high))
    grid(ax)
    short = {"one chain of as many tokens": "one chain"}
    ends = []
    for name, values, (role, dash, mark) in zip(names, lines, LINES, strict=True):
        ax.plot(_NUMBERS, values, mark, linestyle=dash, color=role.fill, **MARK)
        ends.append((float(values[-1]), short.get(name, name.removeprefix("samples, ")), role))
    label_ends(ax, _NUMBERS[-1], ends, dx=9)
