"""What a token costs that your own kitchen writes: for one guest alone, and for many on a trip."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.efficiency import IDEAL, Efficiency, efficiency
from kitchenlib.inputs import Number, dimension, instance, wrong
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots import scenery
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MUTED,
    NOTES,
    PAPER,
    SACK,
    SMALL,
    WIDTH,
    Picture,
    canvas,
    claim,
    counts,
    end_label,
    footnote,
    grid,
    in_style,
    log_axis,
    origin,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.prices import ChipHour, chip_hour
from kitchenlib.serving import max_batch, price_per_million
from kitchenlib.units import dollars, human, significant

_PER_MILLION = "dollars per million tokens written"


class _Kitchen(NamedTuple):
    """Chips rented by the hour that cook one model together.

    Attributes:
        model: in 16 bit.
        hour: what one chip costs, and which one it is.
        chips: how many, tensor-parallel.
    """

    model: Model
    hour: ChipHour
    chips: int

    @property
    def chip(self) -> Chip:
        return rented(self.hour)

    def __str__(self) -> str:
        return f"{self.model.name} on {self.chips} × {self.chip.label}, 16 bit"

    @property
    def paid(self) -> str:
        """What an hour costs, with date and source."""
        each = " each" if self.chips > 1 else ""
        paid = f"{self.chips} × {self.chip.label} at {dollars(_usd(self.hour))} an hour{each}"
        return f"{paid}: {where(self.hour)}"

    def written(
        self, notes: ArrayLike, guests: ArrayLike = 1, efficiency: Efficiency = IDEAL
    ) -> Number:
        """Dollars per million tokens written."""
        given: dict[str, Any] = {"batch": guests, "chips": self.chips, "efficiency": efficiency}
        return price_per_million(self.model, self.chip, _usd(self.hour), notes, **given).output


def rented(hour: ChipHour) -> Chip:
    """The chip that is rented. Raises ``ValueError`` for a row without a price or a known chip."""
    instance("hour", hour, ChipHour, 'kl.chip_hour(provider="Nebius", chip="H100 SXM")')
    if hour.usd is None or hour.chip is None:
        raise ValueError(
            f"the row {hour.provider}, {hour.published_chip} has no "
            f"{'price' if hour.usd is None else 'chip of the catalogue'}: give one that has both, "
            'for example kl.chip_hour(provider="Nebius", chip="H100 SXM")'
        )
    return chip_called(hour.chip)


def where(hour: ChipHour) -> str:
    """Provider, date and source of a chip-hour: the prices of other days are others."""
    return f"{hour.provider}, {hour.date} ({origin(hour.source)})"


def _usd(hour: ChipHour) -> float:
    assert hour.usd is not None  # `rented` asked
    return hour.usd


def _kitchen(model: Model | None, hour: ChipHour | None, chips: int) -> _Kitchen:
    model = model or model_called("Llama-3.1-70B")
    instance("model", model, Model, 'kl.model("Llama-3.1-70B")')
    hour = hour or chip_hour(provider="Nebius", chip="H100 SXM")
    kitchen = _Kitchen(model, hour, dimension("chips", chips, "chips"))
    if not max_batch(model, kitchen.chip, 1, chips=chips):
        raise ValueError(
            f"{chips} × {kitchen.chip.name} cannot hold the {human(model.weight_bytes(), 'B')} of "
            f"{model.name} in 16 bit: give more chips or a smaller model"
        )
    return kitchen


def _foot(picture: Picture, kitchen: _Kitchen, last: str) -> None:
    source(picture, f"{kitchen.paid}.\n{last}{footnote(kitchen.chip)}")


# --- one guest alone ---------------------------------------------------------------------------

_LONGEST = 131_072  # tokens
_TICKS = (1, 10, 100, 1000, 10_000, 100_000)
_SHORT, _USUAL = 100, 4096  # tokens of notes that the title compares
#: Orders that are marked: tokens of notes, name, and on which side of the mark the words stand.
_ORDERS = (
    (1, "a one-word order", "left"),
    (1000, "a chat", "center"),
    (100_000, "a long document", "right"),
)


@in_style
def cost_alone(model: Model | None = None, hour: ChipHour | None = None, chips: int = 4) -> Picture:
    """What a written token costs one guest alone, by the length of the notes: sack and notes.

    Args:
        model: in 16 bit; Llama-3.1-70B.
        hour: a row of `kitchenlib.chip_hours`; Nebius' H100 SXM.
        chips: rented together.

    Raises ``ValueError`` for chips that cannot hold the model, or a row without a price.
    """
    kitchen = _kitchen(model, hour, chips)
    longest = min(_LONGEST, kitchen.model.max_context or _LONGEST)
    short, usual = (dollars(_split(kitchen, n).whole) for n in (_SHORT, min(_USUAL, longest)))
    title = (
        f"A short order saves notes, not the sack: a million tokens cost\n{short} at {_SHORT} "
        f"tokens of notes, {usual} at {min(_USUAL, longest):,}"
    )
    lead = f"One guest alone: {kitchen}. Dollars per million tokens written"
    orders = [order for order in _ORDERS if order[0] <= longest]
    said = "; ".join(f"{name}, {_alone_in_words(kitchen, n)}" for n, name, _ in orders)
    ends = f"at {longest:,} tokens of notes, {_alone_in_words(kitchen, longest).split(': ')[1]}"
    picture = Picture(
        WIDTH, 5.7, alt=f"{title}. {lead}. {said}; {ends}. {kitchen.paid}. The law's times."
    )
    claim(picture, title, lead)
    _alone(picture, kitchen, longest, orders)
    between = _split(kitchen, longest).exchanged
    apart = f"; exchanges between the chips, {percent(between)}, are in the sack's part"
    _foot(picture, kitchen, f"The law's times, every hour with a guest{apart * (chips > 1)}.")
    return picture


class _Split(NamedTuple):
    """Dollars per million tokens for one guest, and the share of time of exchanges."""

    whole: Any
    notes: Any
    seconds: Any
    exchanged: float


def _split(kitchen: _Kitchen, notes: Number) -> _Split:
    whole = kitchen.written(notes)
    step = decode_step(kitchen.model, notes, chips=kitchen.chips)
    times, seconds = step.times(kitchen.chip), step.time(kitchen.chip)
    exchanged = float(np.max(times.get("all_reduce", 0.0) / np.asarray(seconds)))
    return _Split(whole, whole * times["attention"] / seconds, seconds, exchanged)


def _alone_in_words(kitchen: _Kitchen, notes: int) -> str:
    split = _split(kitchen, notes)
    sack = dollars(split.whole - split.notes)
    return f"{_tokens(notes)} of notes: {dollars(split.whole)}, of it {sack} for the sack"


def _tokens(number: int) -> str:
    return "1 token" if number == 1 else f"{number:,} tokens"


def _alone(
    picture: Picture, kitchen: _Kitchen, longest: int, orders: Sequence[tuple[int, str, str]]
) -> None:
    lengths = np.unique(np.geomspace(1, longest, 161).astype(int))
    split = _split(kitchen, lengths)
    whole, notes = np.asarray(split.whole), np.asarray(split.notes)
    top = 1.42 * whole[-1]
    ax = panel(picture, 0.98, 1.2, 6.2, 3.26)
    lengths_shown = [tick for tick in _TICKS if tick <= longest]
    log_axis(ax.xaxis, lengths_shown, counts(lengths_shown), "tokens in the notepad")
    ax.set(xlim=(0.85, 1.05 * longest), ylim=(0, top), ylabel=_PER_MILLION)
    ticks = [tick for tick in ax.get_yticks() if tick < whole[-1]]
    ax.set_yticks(ticks, [f"${tick:g}" for tick in ticks])
    grid(ax, "y")
    ax.fill_between(lengths, 0, whole - notes, color="#F3D08A", linewidth=0)
    ax.fill_between(lengths, whole - notes, whole, color="#8CCDB8", linewidth=0)
    ax.plot(lengths, whole - notes, color=SACK.fill, linewidth=1.6, linestyle=(0, (5, 2)))
    ax.plot(lengths, whole, color=INK)
    for tokens, name, side in orders:
        _order(ax, kitchen, tokens, name, side, top)
    step = decode_step(kitchen.model, 1, chips=kitchen.chips)
    weight = human(float(step.weight_bytes) * kitchen.chips, "B")
    sack = whole[0] - notes[0]
    paper = canvas(picture)
    paper.set_zorder(2)
    y = 1.2 + 3.26 * 0.42 * sack / top
    scenery.sack(paper, 2.6, y, 0.75)
    words = f"every token takes {weight} of sack,\nhowever short the order"
    write(paper, 3.15, y + 0.18, words, color=INK, size=LEAD, linespacing=1.25)
    end: dict[str, Any] = {"dx": 12, "size": LEAD}
    named = f"the notes:\nup to {dollars(notes[-1])}"
    end_label(ax, longest, whole[-1] - notes[-1] / 2, named, NOTES, **end)
    end_label(ax, longest, sack * 0.5, f"the sack:\n{dollars(sack)}", SACK, **end)


def _order(ax: Axes, kitchen: _Kitchen, tokens: int, name: str, side: str, top: float) -> None:
    """An order on the line, and its price above it."""
    split = _split(kitchen, tokens)
    edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 1.2, "zorder": 6}
    ax.plot([tokens, tokens], [split.whole, 0.79 * top], color=MUTED, linewidth=1.0)
    ax.plot(tokens, split.whole, "o", color=INK, markersize=8, **edge)
    dx = {"left": -2, "center": 0, "right": 2}[side]
    place: dict[str, Any] = {"ha": side, "dx": dx, "color": INK, "va": "baseline"}
    end_label(ax, tokens, 0.945 * top, name, weight="bold", **place)
    each = f"{_tokens(tokens)}: {dollars(split.whole)}\n{human(split.seconds, 's')} a token"
    end_label(ax, tokens, 0.825 * top, each, size=SMALL, multialignment=side, **place)


# --- many guests on a trip ---------------------------------------------------------------------

NOTES_EACH = (512, 2048, 8192, 32_768)  #: tokens of notes of each guest
_MOST = 1024  # guests
_GUESTS = (1, 4, 16, 64, 256, 1024)  # ticks
_CENTS = (0.01, 0.1, 1, 10, 100)  # ticks, dollars
_FLAT = 1.0005  # times the last price: no dearer
_BARE_AT = 40  # guests, where the line without notes has its words
#: Fewer notes, a thinner line with shorter dashes.
_LINES: tuple[tuple[Any, float], ...] = (
    ((0, (1, 1.2)), 2.0),
    ((0, (3, 1.5)), 2.2),
    ((0, (8, 2)), 2.4),
    ("solid", 2.8),
)


@in_style
def cost_by_batch(
    model: Model | None = None,
    hour: ChipHour | None = None,
    chips: int = 4,
    notes: Sequence[int] = NOTES_EACH,
) -> Picture:
    """What a written token costs by the guests on one trip, until their notes fill the memory.

    Args:
        model, hour, chips: as for `cost_alone`.
        notes: tokens of notes of each guest, a line for each: one to four lengths, the least first
            and each at least 3 times the one before.

    Raises ``ValueError`` for other notes, notes of which not even one guest's fit, or of which more
    guests' fit than the picture shows.
    """
    kitchen = _kitchen(model, hour, chips)
    ends = _ends(kitchen, notes)
    first, last = ends[0], ends[-1]
    title = f"A million tokens cost {dollars(first.alone)} alone, {first}."
    then = [
        *(["more save nothing"] if first.enough < first.guests else []),
        *([f"long notes end it sooner: {last}"] if len(ends) > 1 else []),
    ]
    title += f"\n{' and '.join(then).capitalize()}" if then else ""
    lead = f"{kitchen}. ■ the memory is full. Notes and tokens/s are each guest's"
    said = "; ".join(end.in_words() for end in ends)
    planned = _planned(kitchen, ends)
    bare = np.arange(1, _MOST + 1)
    free = np.asarray(kitchen.written(1, bare))
    without = _without_notes(kitchen, bare, free)
    picture = Picture(
        WIDTH,
        6.0,
        alt=f"{title.rstrip('.')}. {lead}. Price by tokens of notes: {said}. "
        f"{without.replace(chr(10), ' ').capitalize()}. {kitchen.paid}. {planned}",
    )
    claim(picture, title, lead)
    ax = panel(picture, 0.98, 1.22, 5.55, 3.5)
    log_axis(ax.xaxis, _GUESTS, counts(_GUESTS), "guests on one trip")
    low, high = 0.6 * free[-1], 2.2 * last.alone
    prices = [tick for tick in _CENTS if low < tick < high]
    log_axis(ax.yaxis, prices, [dollars(tick) for tick in prices], _PER_MILLION)
    ax.set(xlim=(0.85, 1.15 * _MOST), ylim=(low, high))
    grid(ax)
    ax.plot(bare, free, color=MUTED, linewidth=1.2, linestyle=(0, (4, 2.5)))
    end_label(ax, _BARE_AT, free[_BARE_AT - 1], without, dx=-14, dy=-16, ha="right", size=SMALL)
    for number, (end, (dash, width)) in enumerate(zip(ends, _LINES, strict=False)):
        _line(ax, kitchen, end, dash, width, up=13 if number else 0)
    end_label(ax, 1, last.alone, _first(ends), dx=14, dy=6, color=INK)
    _foot(picture, kitchen, planned)
    return picture


class _End(NamedTuple):
    """Where a line ends: as many guests as fit with so many tokens of `notes` each."""

    notes: int
    guests: int
    alone: float  # dollars per million tokens
    price: float
    pace_alone: float  # tokens per second of each guest
    pace: float
    enough: int  # guests from which on it gets no cheaper: the chef is busy

    def __str__(self) -> str:
        return f"{dollars(self.price)} with {_who(self.enough)}"

    def in_words(self) -> str:
        alone = f"{dollars(self.alone)} and {significant(self.pace_alone)} tokens/s alone"
        full = f"{dollars(self.price)} and {significant(self.pace)} tokens/s each"
        with_all = f"{full} with {_who(self.guests)}, who fill the memory"
        flat = f" (no cheaper than with {self.enough:,})" if self.enough < self.guests else ""
        return f"{self.notes:,}: {alone}, {with_all}{flat}"


def _who(guests: int) -> str:
    return "one guest" if guests == 1 else f"{guests:,} guests"


def _ends(kitchen: _Kitchen, notes: Sequence[int]) -> list[_End]:
    if not 0 < len(notes) <= len(_LINES):
        raise ValueError(f"{len(notes)} lines will not do: give notes for 1 to {len(_LINES)}")
    tokens = [dimension("notes", n, "tokens") for n in notes]
    if any(3 * one > other for one, other in pairwise(tokens)):
        raise wrong("notes", notes, "give the least first, each at least 3 times the one before")
    longest = kitchen.model.max_context
    if longest and tokens[-1] > longest:
        raise wrong("notes", tokens[-1], f"{kitchen.model.name} takes at most {longest:,} tokens")
    return [_end(kitchen, n) for n in tokens]


def _end(kitchen: _Kitchen, notes: int) -> _End:
    most = int(max_batch(kitchen.model, kitchen.chip, notes, chips=kitchen.chips))
    if not 1 <= most <= _MOST:
        less = "fewer tokens or more chips" if most < 1 else "more tokens or fewer chips"
        wanted = f"{_who(most)} would fit, and 1 to {_MOST:,} are shown: give {less}"
        raise wrong("notes", notes, wanted)
    both = np.array([1, most])
    alone, price = np.asarray(kitchen.written(notes, both))
    step = decode_step(kitchen.model, notes, both, chips=kitchen.chips)
    first, last = 1 / np.asarray(step.time(kitchen.chip))
    every = np.arange(1, most + 1)
    enough = int(every[np.argmax(np.asarray(kitchen.written(notes, every)) <= _FLAT * price)])
    return _End(notes, most, float(alone), float(price), float(first), float(last), enough)


def _planned(kitchen: _Kitchen, ends: Sequence[_End]) -> str:
    """How much dearer it all is at a usual efficiency."""
    plan = efficiency("planned")
    dearer = [
        float(kitchen.written(end.notes, n, plan) / kitchen.written(end.notes, n))
        for end in ends
        for n in (1, end.guests)
    ]
    low, high = (significant(most, 2) for most in (min(dearer), max(dearer)))
    times = f"{low} to {high}" if low != high else low
    included = ", exchanges included" if kitchen.chips > 1 else ""
    shares = f"{percent(plan.compute)} of the peak, {percent(plan.bandwidth)} of the bandwidth"
    return f'The law\'s times{included}; at "{plan.name}" ({shares}) {times} times as dear.'


def _without_notes(kitchen: _Kitchen, guests: np.ndarray, free: np.ndarray) -> str:
    """What guests without notes would pay, and from how many on the chef takes the time."""
    step = decode_step(kitchen.model, 0, guests, chips=kitchen.chips)
    busy = guests[np.asarray(step.bound(kitchen.chip)) == "compute"]
    lines = ["notes not counted"]
    if free[15] < 0.55 * free[7]:  # not so where more guests touch more experts
        lines[0] += ":"
        lines.append("twice the guests, about half the price")
    if busy.size:
        lines[-1] += ","
        lines.append(f"until the chef is busy ({busy[0]} guests)")
    return "\n".join(lines)


def _first(ends: Sequence[_End]) -> str:
    """What one guest pays, and how fast they are served, from the shortest to the longest notes."""
    prices = [dollars(end.alone) for end in (ends[0], ends[-1])]
    paces = [significant(end.pace_alone, 2) for end in (ends[0], ends[-1])]
    price, pace = (" to ".join(dict.fromkeys(each)) for each in (prices, paces))
    return f"one guest: {price}, {pace} tokens/s"


def _line(ax: Axes, kitchen: _Kitchen, end: _End, dash: Any, width: float, up: float) -> None:
    """Prices for one length of notes, up to where the memory is full, and words `up` points up."""
    guests = np.unique(np.geomspace(1, end.guests, 81).astype(int))
    prices = kitchen.written(end.notes, guests)
    ax.plot(guests, prices, color=NOTES.fill, linestyle=dash, linewidth=width)
    ax.plot(end.guests, end.price, "s", color=INK, markersize=8, zorder=6)
    label: dict[str, Any] = {"dx": 9, "color": INK}
    full = f"{_who(end.guests)}: {dollars(end.price)}"
    each = f"{_tokens(end.notes)} of notes, {significant(end.pace, 2)} tokens/s"
    end_label(ax, end.guests, end.price, full, dy=up + 3, weight="bold", **label)
    end_label(ax, end.guests, end.price, each, NOTES, dy=up - 10, dx=9, size=SMALL)
