"""Company on the reader's machine: a step of several guests at once, measured beside the law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.inputs import positive, wrong
from kitchenlib.llm.speed import BatchStep
from kitchenlib.plots.letters import text_width
from kitchenlib.plots.style import (
    INK,
    TEXT,
    WAITER,
    WIDTH,
    Picture,
    Role,
    claim,
    end_label,
    enumerated,
    grid,
    in_style,
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.units import human, many, significant

_POINTS = 72  # to an inch
_MEASURED = Role(INK, INK)
_WIDE, _HIGH = 2.36, 2.66  # inches: a panel
_NOISE = 1.02
_BUSY = 1.15  # times what the law promises: one of the two was disturbed
_MANY = 1e5  # from here on numbers are cut short
_FEW = 7  # numbers of guests that are listed


class _Company(NamedTuple):
    """Tokens per second of the kitchen, by guests, measured and by the law."""

    guests: np.ndarray
    measured: np.ndarray
    law: np.ndarray

    @property
    def gain(self) -> float:
        """Times as many tokens with the most guests as with the fewest."""
        return float(self.measured[-1] / self.measured[0])

    @property
    def promised(self) -> float:
        return float(self.law[-1] / self.law[0])

    @property
    def ahead(self) -> list[str]:
        """With how many guests it was faster than the law, by more than a clock's noise."""
        return [f"{n:,}" for n in self.guests[self.measured > _NOISE * self.law]]

    def words(self) -> str:
        return "; ".join(
            f"{_who(int(n))} {significant(m)} (law {significant(law)}), each {significant(m / n)}"
            for n, m, law in zip(self.guests, self.measured, self.law, strict=True)
        )


@in_style
def batch_measured(steps: Sequence[BatchStep], law: ArrayLike) -> Picture:
    """Tokens per second of all guests and of each, measured on a machine, beside the law.

    Args:
        steps: what `kitchenlib.llm.batch_steps` returns, of two batches or more.
        law: seconds of each of these steps by the law.

    Raises ``ValueError`` for steps that do not compare, and for times that are no positive numbers.
    """
    company = _company(steps, law)
    few, many = int(company.guests[0]), int(company.guests[-1])
    title = (
        f"{_who(many)} get {_times(company.gain)} times the tokens of {_alone(few)} here; "
        f"the law says {_times(company.promised)}"
    )
    if company.gain > _BUSY * company.promised:
        title = "More than the law allows: this machine was busy, run the cell again"
    notes = f"{steps[0].context:,} tokens of notes each"
    lead = f"Measured here: tokens per second of the real model while it writes, {notes}"
    ahead = _ahead(company)
    alt = f"{title}. {lead}. All together: {company.words()}. {ahead}"
    picture = Picture(WIDTH, 5.1, alt=alt)
    claim(picture, title, lead)
    alone = np.ones(len(company.guests))
    _panel(picture, 0.98, "All guests together: tokens per second", company, alone)
    _panel(picture, 5.3, "Each guest: tokens per second", company, company.guests)
    rest = "The law: from the bandwidth and the FLOP/s of this machine, each step an ideal one."
    source(picture, f"{rest}\n{ahead}".strip())
    return picture


def _company(steps: Sequence[BatchStep], law: ArrayLike) -> _Company:
    """The steps by guests, with the law's."""
    wanted = "give what llm.batch_steps returns, for two batches or more"
    if not isinstance(steps, Sequence) or not all(isinstance(step, BatchStep) for step in steps):
        raise wrong("steps", steps, wanted)
    batches, notes = {step.batch for step in steps}, {step.context for step in steps}
    if len(steps) < 2 or len(batches) < len(steps) or len(notes) > 1:
        raise wrong("steps", steps, f"{wanted}, each batch once, all with as many notes")
    seconds = np.atleast_1d(positive("law", law, "seconds"))
    if seconds.shape != (len(steps),):
        raise wrong("law", law, f"give the seconds of each of the {len(steps)} steps")
    guests = np.array([step.batch for step in steps])
    taken = np.atleast_1d(positive("seconds", [step.seconds for step in steps], "seconds"))
    order = np.argsort(guests)
    guests = guests[order]
    return _Company(guests, guests / taken[order], guests / seconds[order])


def _who(guests: int) -> str:
    return many(guests, "guest")


def _alone(guests: int) -> str:
    return "one" if guests == 1 else f"{guests:,}"


def _times(gain: float) -> str:
    return significant(gain, 2) if gain < _MANY else human(gain, "", 2)


def _ahead(company: _Company) -> str:
    """What to say where a clock beats the law."""
    if not company.ahead:
        return ""
    ahead = company.ahead
    which = (
        enumerated(ahead) if len(ahead) <= _FEW else f"{len(ahead)} of {len(company.guests)} sizes"
    )
    return (
        f"Faster than the law with {which}: this machine had more to give than when its two "
        "numbers were taken."
    )


def _panel(
    picture: Picture, left: float, heading: str, company: _Company, shared: np.ndarray
) -> None:
    """Tokens per second, divided by `shared`, against guests."""
    write(picture, left - 0.3, 3.98, heading, weight="bold")
    ax = panel(picture, left, 1.16, _WIDE, _HIGH)
    guests = company.guests
    measured, law = company.measured / shared, company.law / shared
    low, high = (f(f(measured), f(law)) for f in (min, max))
    room = max(1.35, (high / low) ** 0.06)
    ticks = _round_numbers(low / room, high * room)
    log_axis(ax.xaxis, guests.tolist(), _apart(guests), "guests on one trip")
    log_axis(ax.yaxis, ticks, [_tick(tick) for tick in ticks], "")
    rim = (guests[-1] / guests[0]) ** 0.03
    ax.set(xlim=(guests[0] / rim, guests[-1] * rim), ylim=(low / room, high * room))
    grid(ax)
    ax.plot(guests, law, color=WAITER.fill, linestyle=(0, (5, 2)), linewidth=1.8, zorder=3)
    ax.plot(guests, measured, "o-", color=INK, markersize=5, linewidth=1.8, zorder=4)
    ends = [(measured, f"measured\n{_by(measured)}", _MEASURED)]
    ends.append((law, f"the law\n{_by(law)}", WAITER))
    ends.sort(key=lambda end: float(end[0][-1]), reverse=True)
    below = ax.bbox.y1 * _POINTS / picture.dpi + 20
    for values, text, role in ends:
        at = ax.transData.transform((1, values[-1]))[1] * _POINTS / picture.dpi
        below = min(at, below - 30)
        end_label(ax, guests[-1], values[-1], text, role, dx=11, dy=below - at)


def _by(values: np.ndarray) -> str:
    """What became of the first value."""
    gain = float(values[-1] / values[0])
    return f"× {_times(gain)}" if gain >= 1 else f"÷ {_times(1 / gain)}"


def _apart(guests: np.ndarray) -> list[str]:
    """Labels of the guests, left out where they would touch the one before."""
    inch = _WIDE / math.log(guests[-1] / guests[0])
    labels: list[str] = []
    free = -math.inf
    for n in guests:
        half = text_width(f"{n:,}", TEXT) / _POINTS / 2
        at = inch * math.log(n)
        labels.append(f"{n:,}" if at - half > free else "")
        free = at + half + 0.06 if labels[-1] else free
    return labels


def _tick(number: float) -> str:
    """A round number as short as can be."""
    return human(number, "", 1) if number >= _MANY else f"{number:,.9f}".rstrip("0").rstrip(".")


def _round_numbers(low: float, high: float) -> list[float]:
    """Ticks between two numbers: powers of ten, and 2 and 5 times those where there is room."""
    decades = math.log10(high / low)
    some = (1, 2, 5) if decades < 2.6 else (1,)
    steps = (1, 1.5, 2, 3, 4, 5, 7) if decades < 0.8 else some
    tens = range(
        math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1, math.ceil(decades / 6)
    )
    ticks = [step * 10.0**ten for ten in tens for step in steps]
    return [tick for tick in ticks if low <= tick <= high]
