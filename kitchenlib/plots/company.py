"""What guests on one trip bring: more tokens a second, until their notes outweigh the sack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kitchenlib.batching import batch_limits, intensity_ceiling
from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.measured import Measurement, measurements
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    RULE,
    SACK,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    counts,
    end_label,
    grid,
    in_style,
    label_ends,
    log_axis,
    origin,
    panel,
    source,
    write,
)
from kitchenlib.precision import AnyFormat
from kitchenlib.serving import max_batch
from kitchenlib.units import significant

NOTES_HELD = (0, 2048, 4096, 32_768)  #: tokens of notes of each guest
GUESTS = 32  #: of the card
_MOST, _FARTHEST = 64, 4096  # guests on the left, and on the right
_ENDLESS = "no end"
_STEEPEST = 2000  # FLOP per byte: the end of the axis
_MEASURED = {"source": "llama.cpp DGX Spark bench", "model": "Qwen2.5-7B"}
_PROMPTS = (512, 4096, 8192)


class _Look(NamedTuple):
    """How the line of one length of notes is drawn."""

    role: Role
    dash: Any
    mark: str


_LOOKS = (
    _Look(Role(INK, INK), "solid", "o"),
    _Look(NOTES, (0, (7, 2)), "s"),
    _Look(WAITER, (0, (3.5, 1.6)), "D"),
    _Look(ORDER, (0, (1.2, 1.2)), "^"),
)


class _Curve(NamedTuple):
    """One length of notes.

    Attributes:
        notes, model: tokens of each guest, and whose.
        look: how it is drawn.
        busy: the fewest guests with whom the chef sets the pace; infinite where none do.
        full: guests that the chips hold; infinite without notes.
    """

    notes: int
    model: Model
    look: _Look
    busy: float
    full: float

    def gain(self, chip: Chip, guests: ArrayLike) -> np.ndarray:
        return _gain(self.model, chip, self.notes, guests)

    def intensity(self, guests: ArrayLike) -> np.ndarray:
        return np.asarray(decode_step(self.model, self.notes, guests).intensity)

    def brings(self, chip: Chip, guests: int) -> str:
        return significant(float(self.gain(chip, guests)))

    @property
    def name(self) -> str:
        return f"{self.notes:,}" if self.notes else "no notes"

    @property
    def held(self) -> str:
        return f"{self.notes:,} tokens of notes each" if self.notes else "no notes"

    @property
    def ceiling(self) -> str:
        """FLOP per byte that no number of guests exceeds; there is none without notes."""
        if not self.notes:
            return _ENDLESS
        return significant(float(intensity_ceiling(self.model, self.notes)))

    @property
    def room(self) -> str:
        """Guests that the chips hold."""
        return f"{self.full:,.0f}" if self.notes else _ENDLESS


class _Run(NamedTuple):
    """Published tokens per second of one prompt length, over those of one guest."""

    rows: tuple[Measurement, ...]

    @classmethod
    def of(cls, prompt: int) -> _Run:
        rows = measurements(**_MEASURED, prompt=prompt)
        return cls(tuple(row for row in rows if row.metric.startswith("decode")))

    @property
    def guests(self) -> list[int]:
        return [row.batch for row in self.rows]

    @property
    def gains(self) -> list[float]:
        return [row.value / self.rows[0].value for row in self.rows]

    @property
    def law(self) -> np.ndarray:
        """The law's gain with the notes that there are half way, and the row's own format."""
        row = self.rows[0]
        notes = (row.context or 0) + (row.output or 0) // 2
        on, weights = chip_called(row.chip or ""), row.weights or ""
        return _gain(model_called(row.model), on, notes, np.array(self.guests), weights)

    @property
    def words(self) -> str:
        """The gain of the largest batch: measured, and by the law."""
        got, law = significant(self.gains[-1]), significant(self.law[-1])
        return f"{self.rows[0].prompt:,}: {got} of {law}"

    @property
    def setting(self) -> str:
        row = self.rows[0]
        on = chip_called(row.chip or "").short_label
        return f"{row.published_model}, {row.published_weights}, on one {on}"


@in_style
def batch_gain(
    model: Model | None = None,
    chip: Chip | None = None,
    notes: Sequence[int] = NOTES_HELD,
    longer: Model | None = None,
    guests: int = GUESTS,
    chips: int = 4,
) -> Picture:
    """Tokens per second of all guests over one guest's, and FLOP per byte, by guests and notes.

    Gain and intensity are those of one chip with memory enough for all: exchanges between chips
    are left out. Beyond the guests that `chips` hold, lines are pale.

    Args:
        model, chip: Llama-2-70B on an H100 SXM, in 16 bit.
        notes: tokens of each guest: two to four different lengths, shortest first.
        longer: whose the lengths are that `model` was not made for; Llama-3.1-70B.
        guests: 2 to 64, whose gain is written out.
        chips: how many hold sack and notes.

    Raises ``ValueError`` for other lengths or guests, and chips over which heads do not divide.
    """
    model, chip = model or model_called("Llama-2-70B"), chip or chip_called("H100 SXM")
    longer = longer or model_called("Llama-3.1-70B")
    _check(model, longer, chip, notes, guests, chips)
    curves = [
        _curve(model if _made_for(model, n) else longer, chip, n, chips, look)
        for n, look in zip(notes, _LOOKS, strict=False)
    ]
    told = next((c for c in reversed(curves) if c.model == model), curves[-1])
    title = (
        f"{guests} guests bring {told.brings(chip, guests)} times the tokens,\n"
        f"with {told.held}, and the ridge is {_reached(told)}"
    )
    lead = f"{model.name} on one {chip.short_label}, 16 bit, by the number of guests on one trip"
    found = [_Run.of(prompt) for prompt in _PROMPTS]
    many = f"{chips} {chip.short_label}"
    said = "; ".join(_in_words(curve, chip, guests, many) for curve in curves)
    gains = ", ".join(run.words for run in found)
    theirs = f"Measured with {found[0].guests[-1]} guests, by tokens of the prompt, of what the "
    theirs += f"law says of {found[0].setting}: {gains}"
    picture = Picture(
        WIDTH,
        7.3,
        alt=f"{' '.join(title.split())}. {lead}. Ridge {chip.ridge():.0f} FLOP per byte. {said}. "
        f"{theirs}.",
    )
    claim(picture, title, lead)
    _gains(picture, curves, chip, guests)
    _intensities(picture, curves, chip, f"full: {many}")
    _elsewhere(picture, found)
    _table(canvas(picture), curves, chip, guests, many)
    source(picture, _foot([*{curve.model.name: None for curve in curves}], curves, found[0]))
    return picture


def _check(
    model: Model, longer: Model, chip: Chip, notes: Sequence[int], guests: int, chips: int
) -> None:
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    instance("longer", longer, Model, 'kl.model("Llama-3.1-70B")')
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    lengths = [dimension("notes", number, "tokens", least=0) for number in notes]
    if not 1 < len(lengths) <= len(_LOOKS) or lengths != sorted(set(lengths)):
        wanted = f"give two to {len(_LOOKS)} different numbers of tokens, the fewest first"
        raise wrong("notes", notes, wanted)
    if not _made_for(longer, lengths[-1]):
        wanted = f"{longer.name} takes at most {longer.max_context:,} tokens"
        raise wrong("notes", lengths[-1], wanted)
    if not 1 < dimension("guests", guests, "guests") <= _MOST:
        raise wrong("guests", guests, f"give 2 to {_MOST} guests")
    dimension("chips", chips, "chips")


def _made_for(model: Model, tokens: int) -> bool:
    return model.max_context is None or tokens <= model.max_context


def _curve(model: Model, chip: Chip, notes: int, chips: int, look: _Look) -> _Curve:
    busy = float(batch_limits(model, chip, max(notes, 1)).compute)
    full = float(max_batch(model, chip, notes, chips=chips)) if notes else np.inf
    return _Curve(notes, model, look, busy, full)


def _gain(
    model: Model, chip: Chip, notes: int, guests: ArrayLike, weights: AnyFormat = "bf16"
) -> np.ndarray:
    """Tokens per second of all guests over those of one guest alone."""
    one = decode_step(model, notes, 1, weights).time(chip)
    return np.asarray(guests) * one / decode_step(model, notes, guests, weights).time(chip)


def _reached(curve: _Curve) -> str:
    return "never reached" if np.isinf(curve.busy) else f"reached with {curve.busy:,.0f}"


def _in_words(curve: _Curve, chip: Chip, guests: int, many: str) -> str:
    words = f"{curve.held} ({curve.model.name}): {curve.brings(chip, guests)} times the tokens"
    if curve.notes:
        words += f", at most {curve.ceiling} FLOP per byte, {curve.room} guests fit into {many}"
    return f"{words}, the ridge is {_reached(curve)}"


def _foot(names: Sequence[str], curves: Sequence[_Curve], run: _Run) -> str:
    others = [c for c in curves if c.model.name != names[0]]
    whose = f"{' and '.join(c.name for c in others)} tokens: {names[-1]}. " if others else ""
    where = origin(run.rows[0].locator)
    return (
        f"{whose}Gain and FLOP per byte: one chip with a warehouse for all. Thin: more than fit.\n"
        f"Measured: {where}. * Not fully verified."
    )


# --- the law -----------------------------------------------------------------------------------


def _gains(picture: Picture, curves: Sequence[_Curve], chip: Chip, guests: int) -> None:
    write(picture, MARGIN, 5.94, "Times the tokens per second of one guest", weight="bold")
    every = np.arange(1, _MOST + 1)
    lines = [curve.gain(chip, every) for curve in curves]
    ax = _guest_axes(picture, 3.76, 2.04, _MOST, max(gains[-1] for gains in lines))
    ax.axvline(guests, color=MUTED, linewidth=1.1, linestyle=":")
    for curve, gains in zip(curves, lines, strict=True):
        _line(ax, curve, every, gains)
        ax.plot(guests, gains[guests - 1], curve.look.mark, **_mark(curve.look.role))
    ends = [
        (float(gains[-1]), f"{curve.name}: {significant(gains[-1])}", curve.look.role)
        for curve, gains in zip(curves, lines, strict=True)
    ]
    label_ends(ax, _MOST, ends)


def _guest_axes(picture: Picture, bottom: float, height: float, most: int, gain: float) -> Axes:
    """Gain against guests: from 0 to `most` guests, and to `gain` or a little more."""
    ax = panel(picture, 0.72, bottom, 2.72, height)
    step = max(2, 4 * math.ceil(gain / 16))
    ax.set_xticks(range(0, most + 1, most // 4))
    ax.set_yticks(range(0, 4 * step + 1, step))
    ax.set(xlim=(0, 1.03 * most), ylim=(0, 4.2 * step), xlabel="guests")
    grid(ax)
    return ax


def _line(ax: Axes, curve: _Curve, guests: np.ndarray, values: np.ndarray) -> None:
    """A curve, thin beyond the guests that the chips hold, and a stroke where they are full."""
    role, dash, _ = curve.look
    fit = int(np.sum(guests <= curve.full))
    ax.plot(guests[:fit], values[:fit], color=role.fill, linestyle=dash, zorder=3)
    ax.plot(guests[max(fit - 1, 0) :], values[max(fit - 1, 0) :], color=role.fill, linewidth=1)
    if 0 < fit < len(guests):
        ax.plot(guests[fit - 1], values[fit - 1], "|", **_STROKE, color=role.ink)


_STROKE: dict[str, Any] = {"markersize": 13, "markeredgewidth": 2.4, "zorder": 6}


def _mark(role: Role) -> dict[str, Any]:
    edge = {"markeredgecolor": PAPER, "markeredgewidth": 0.9, "zorder": 5}
    return {"markersize": 7, "color": role.fill, "linestyle": "none", **edge}


def _intensities(picture: Picture, curves: Sequence[_Curve], chip: Chip, full: str) -> None:
    write(picture, 4.88, 5.94, "FLOP per byte of one step", weight="bold")
    ax = panel(picture, 5.28, 3.76, 2.42, 2.04)
    ticks = (1, 10, 100, 1000)
    log_axis(ax.xaxis, ticks, counts(ticks), "guests")
    log_axis(ax.yaxis, ticks, counts(ticks), "")
    ax.set(xlim=(0.9, 1.1 * _FARTHEST), ylim=(0.8, _STEEPEST))
    grid(ax)
    ridge = chip.ridge()
    ax.axhline(ridge, color=CHEF.fill, linewidth=1.2)
    end_label(ax, 1, ridge, f"ridge {ridge:.0f}", CHEF, dx=3, dy=-8)
    every = np.unique(np.geomspace(1, _FARTHEST, 241).astype(int))
    for curve in curves:
        _line(ax, curve, every, curve.intensity(every))
        if np.isfinite(curve.busy):
            ax.plot(curve.busy, ridge, curve.look.mark, **_mark(curve.look.role))
    first = min(curves, key=lambda curve: curve.busy)
    if np.isfinite(first.busy):
        beside: dict[str, Any] = {"dx": -8, "dy": 9, "ha": "right"}
        end_label(ax, first.busy, ridge, f"{first.busy:,.0f} guests", first.look.role, **beside)
    ends = [(float(curve.intensity(_FARTHEST)), curve.name, curve.look.role) for curve in curves]
    label_ends(ax, _FARTHEST, [end for end in ends if end[0] < _STEEPEST])
    ax.plot(2.2, 1.5, "|", **_STROKE, color=INK)
    write(ax, 3, 1.5, full, size=SMALL, va="center")


# --- what was measured, and the numbers --------------------------------------------------------


_RUNS = (("o", SACK), ("D", WAITER), ("v", CHEF))


def _elsewhere(picture: Picture, found: Sequence[_Run]) -> None:
    """Another chip and another model: points, each line its own law."""
    write(picture, MARGIN, 2.98, "Measured elsewhere", weight="bold")
    whose = (
        f"{found[0].setting}. By tokens of\nthe prompt, measured of what its own law says (dashed)"
    )
    write(picture, MARGIN, 2.9, whose, va="top", size=SMALL, color=MUTED, linespacing=1.2)
    most = found[0].guests[-1]
    ax = _guest_axes(picture, 1.06, 1.4, most, max(run.law[-1] for run in found))
    for run, (shape, role) in zip(found, _RUNS, strict=True):
        ax.plot(run.guests, run.law, color=role.fill, linewidth=1.2, linestyle=(0, (4, 2)))
        ax.plot(run.guests, run.gains, shape, **_mark(role))
    ends = [(run.gains[-1], run.words, role) for run, (_, role) in zip(found, _RUNS, strict=True)]
    label_ends(ax, most, ends)


def _table(paper: Axes, curves: Sequence[_Curve], chip: Chip, guests: int, many: str) -> None:
    write(paper, 4.88, 2.98, f"In numbers, and who fits into {many}", weight="bold")
    top, columns = 2.46, (6.0, 6.8, 7.76, 8.68)
    heads = ("tokens\nof notes", f"{guests} guests\nbring", "FLOP/byte\nat most", "guests\nwho fit")
    for x, head in zip(columns, heads, strict=True):
        write(paper, x, top, head, size=SMALL, color=MUTED, ha="right", linespacing=1.15)
    paper.plot([5.28, 8.68], [top - 0.07] * 2, color=RULE, linewidth=0.8)
    for row, curve in enumerate(curves, start=1):
        y = top - 0.06 - 0.29 * row
        gain = f"× {curve.brings(chip, guests)}"
        cells = (curve.name, gain, curve.ceiling, curve.room)
        for x, cell in zip(columns, cells, strict=True):
            write(paper, x, y, cell, ha="right", color=curve.look.role.ink)
