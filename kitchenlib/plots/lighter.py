"""Four bits on a ladder: what the card claims, what the sack weighs, what is faster, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.measured import Measurement, measurement, measurements
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step, prefill
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    PAPER,
    SACK,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    grid,
    in_style,
    panel,
    source,
    write,
)
from kitchenlib.precision import AnyFormat, number_format
from kitchenlib.units import significant

FORMATS = ("int4", "int4-g128", "mxfp4", "Q4_0", "Q4_K_M", "int4-g32")
CLAIMED = 4  #: times lighter and times faster, on the card
_IDEAL_BITS, _MOST_BITS = 4, 6
_PLAIN, _SMALL_FORMAT = "fp16", "Q4_K_M"  # of the table by chip
_BY_CHIP: dict[str, Any] = {
    "source": "XiongjieDai GPU-Benchmarks",
    "published_model": "Llama-3-8B",
    "chips": 1,
}
_TOKENS = 1024  # written, or of the prompt, in that table
_ROW, _HEAD, _FOOT = 0.285, 1.54, 1.48  # inches: a rung, what stands above all, and below
_GAP = 0.38  # inches: from one flight's last rung to the next one's name
_DETAIL, _LEFT, _RIGHT = 2.02, 3.72, 6.52  # inches: second column of words, the axes
_COLUMNS = (7.09, 7.86, 8.68)  # right edges of the numbers


_SOURCES = (
    "Lighter: all that is stored, embedding and head included. A bar ends at the outcome, of many "
    "at the\nmedian. Measured: XiongjieDai/GPU-Benchmarks-on-LLM-Inference (chips with both "
    "formats; reading without\nA100 SXM and L40S, whose 16-bit rows contradict their neighbours), "
    "READMEs of llama.cpp's quantize tool\nand of gpt-fast, each with its own law. An untied "
    "embedding is stored, but not carried."
)


class _Mark(NamedTuple):
    name: str
    shape: str
    size: float
    role: Role
    tint: str


_MARKS = (
    _Mark("lighter", "s", 7.5, SACK, "#F3DDB0"),
    _Mark("faster by\nthe law", "D", 6.2, WAITER, "#BAD3E6"),
    _Mark("faster,\nmeasured", "o", 6.8, Role(INK, INK), "#C3C3BD"),
)


class _Rung(NamedTuple):
    """One row: times as light and times as fast as in 16 bit, so many values of each."""

    name: str
    detail: str
    lighter: tuple[float, ...]
    law: tuple[float, ...]
    measured: tuple[float, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(_times(values) for values in self.values)

    @property
    def outcome(self) -> int:
        """The place of what counts in the end: what was measured, else what the law says."""
        return 2 if self.measured else 1

    @property
    def values(self) -> tuple[tuple[float, ...], ...]:
        return self.lighter, self.law, self.measured

    def __str__(self) -> str:
        names = ("lighter", "faster by the law", "measured")
        said = [f"{n} {cell}" for n, cell in zip(names, self.cells, strict=True) if cell]
        return f"{self.name} ({self.detail}) {', '.join(said)}"


class _Flight(NamedTuple):
    """Rungs that belong together, from the top."""

    name: str
    rungs: list[_Rung]

    @property
    def measured(self) -> list[float]:
        return [value for rung in self.rungs for value in rung.measured]


class _Pair(NamedTuple):
    """The same thing measured in 16 bit and in four."""

    plain: Measurement
    small: Measurement

    @property
    def gain(self) -> float:
        return self.small.value / self.plain.value


@in_style
def int4_ladder(
    model: Model | None = None,
    chip: Chip | None = None,
    notes: int = 4096,
    formats: Sequence[AnyFormat] = FORMATS,
) -> Picture:
    """How much lighter formats of four bits are, and how much faster: by the law, and measured.

    Weights are all that is stored, embedding and head included. A step of the law has one guest.
    The measured rows are fixed: each has its own law, on its own chip, or on `chip` where the
    source does not say which.

    Args:
        model, chip: Llama-2-70B on one H100 SXM, whether or not it fits.
        notes: tokens in the cache of the step, kept in 16 bit.
        formats: one to eight of four bits a value, with scales of at most two bits more.

    Raises ``ValueError`` for other formats or notes, `UnknownName` for a format that is not known.
    """
    model, chip = model or model_called("Llama-2-70B"), chip or chip_called("H100 SXM")
    _check(model, chip, notes, formats)
    law = _Flight("By the law", [_rung(model, chip, notes, form) for form in formats])
    flights = [law, *_measured(chip)]
    lighter, faster = _most(_real(law, formats, flights[1])), _most(flights[1].measured)
    title = (
        f"Four bits: {lighter} times lighter, {faster} times faster\n"
        "on one chip, and reading gets no faster"
    )
    lead = "How many times as light, and as fast, as in 16 bit: down the ladder from the card"
    held = f"{notes:,} tokens of notes" if notes else "no notes"
    setting = f"By the law: one token of {model.name} on one {chip.short_label}, {held}"
    height = _HEAD + sum(_GAP + _ROW * len(flight.rungs) for flight in flights) + _FOOT
    said = " ".join(f"{f.name}: {'; '.join(map(str, f.rungs))}." for f in flights)
    alt = f"{' '.join(title.split())}. {lead}: {CLAIMED} and {CLAIMED}. {setting}. {said}"
    picture = Picture(WIDTH, height, alt=alt)
    claim(picture, title, lead)
    top = height - _HEAD
    ax, paper = _axes(picture, top), canvas(picture)
    _heads(paper, top)
    for flight in flights:
        top -= _GAP
        write(paper, MARGIN, top + 0.08, flight.name, weight="bold", va="center", size=LEAD)
        for rung in flight.rungs:
            top -= _ROW
            _words(paper, top + 0.08, rung)
            _marks(ax, top + 0.08, rung)
    source(picture, f"{setting}. Notes stay in 16 bit.\n{_SOURCES}")
    return picture


def _check(model: Model, chip: Chip, notes: int, formats: Sequence[AnyFormat]) -> None:
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    dimension("notes", notes, "tokens", least=0)
    if isinstance(formats, str) or not 0 < len(formats) <= 8:
        raise wrong("formats", formats, "give one to eight number formats of four bits")
    for form in map(number_format, formats):
        if not _IDEAL_BITS <= form.bits <= _MOST_BITS:
            wanted = f"give formats of {_IDEAL_BITS} to {_MOST_BITS} bits, scales included"
            raise wrong("formats", f"{form.name}, {form.bits:g} bits", wanted)


def _rung(model: Model, chip: Chip, notes: int, weights: AnyFormat) -> _Rung:
    form = number_format(weights)
    lighter = model.weight_bytes() / model.weight_bytes(form)
    before, after = (decode_step(model, notes, weights=w).time(chip) for w in ("bf16", form))
    bits = f"{form.bits:.2f} bits{', no scales' * (form.bits == _IDEAL_BITS)}"
    return _Rung(form.name, bits, (lighter,), (float(before / after),))


def _real(law: _Flight, formats: Sequence[AnyFormat], measured: _Flight) -> list[float]:
    """How much lighter what people use is: without the ideal, unless there is nothing else."""
    rungs = list(zip(law.rungs, map(number_format, formats), strict=True))
    scaled = [rung.lighter[0] for rung, form in rungs if form.bits > _IDEAL_BITS]
    if not scaled:
        return [rung.lighter[0] for rung, _ in rungs]
    return scaled + [value for rung in measured.rungs for value in rung.lighter]


# --- what was measured -------------------------------------------------------------------------


def _measured(chip: Chip) -> list[_Flight]:
    """Writing on one chip, on several chips, and reading."""
    writing = _by_chip(metric="decode_tok_s_per_seq", output=_TOKENS)
    reading = _by_chip(metric="prefill_tok_s", prompt=_TOKENS)
    one = writing, [_pair("X0001", "X0002")], [_pair("M0797", "M0799")]
    more, read = _pair("M0810", "M0819"), ([_pair("X0003", "X0004")], reading)
    return [
        _Flight("Measured: writing, on one chip", [_found(pairs, chip) for pairs in one]),
        _Flight(f"Measured: writing, on {more.small.chips} chips", [_found([more], chip)]),
        _Flight("Measured: reading a prompt", [_found(pairs, chip) for pairs in read]),
    ]


def _pair(plain: str, small: str) -> _Pair:
    return _Pair(measurement(id=plain), measurement(id=small))


def _by_chip(**conditions: Any) -> list[_Pair]:
    """Every chip on which both were measured: none is picked."""
    plain, small = (
        {row.published_chip: row for row in measurements(**_BY_CHIP, **conditions, weights=w)}
        for w in (_PLAIN, _SMALL_FORMAT)
    )
    return [_Pair(plain[name], small[name]) for name in plain if name in small]


def _found(pairs: Sequence[_Pair], chip: Chip) -> _Rung:
    """The rung of `pairs` of one model and two formats; `chip` is for rows that name none."""
    plain, small = pairs[0]
    model = model_called(small.model)
    lighter = model.weight_bytes(plain.weights or "") / model.weight_bytes(small.weights or "")
    return _Rung(
        f"{small.published_model}, {small.published_weights}",
        _where(pairs),
        (lighter,),
        tuple(_seconds(pair.plain, chip) / _seconds(pair.small, chip) for pair in pairs),
        tuple(pair.gain for pair in pairs),
    )


def _where(pairs: Sequence[_Pair]) -> str:
    row = pairs[0].small
    where = f"{len(pairs)} chips"
    if len(pairs) == 1:
        where = chip_called(row.chip).short_label if row.chip else "chip not named"
    many = f"{row.chips} " if row.chips > 1 else ""
    tokens = f", {row.prompt:,} tokens" if row.metric == "prefill_tok_s" else ""
    return f"{many}{where}{tokens}"


def _seconds(row: Measurement, chip: Chip) -> float:
    """What the law says about a measured row, with the notes that there are half way."""
    model, weights = model_called(row.model), row.weights or ""
    on = chip_called(row.chip) if row.chip else chip
    if row.metric == "prefill_tok_s":
        return float(prefill(model, row.prompt or 0, weights=weights, chips=row.chips).time(on))
    notes = (row.context or 0) + (row.output or 0) // 2
    return float(decode_step(model, notes, weights=weights, chips=row.chips).time(on))


# --- the drawing -------------------------------------------------------------------------------


def _times(values: Sequence[float]) -> str:
    """Values as a cell of the table: one number, or the least and the greatest."""
    return "–".join(dict.fromkeys(f"{f(values):.2f}" for f in (min, max))) if values else ""


def _most(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(significant(f(values), 2) for f in (min, max)))


def _axes(picture: Picture, top: float) -> Axes:
    """Axes whose heights are inches on the card, with the card's claim and "as in 16 bit"."""
    ax = panel(picture, _LEFT, _FOOT - 0.12, _RIGHT - _LEFT, top - _FOOT + 0.02)
    ax.set(xlim=(0.55, CLAIMED + 0.2), ylim=(_FOOT - 0.12, top - 0.1))
    ax.set_xticks(range(1, CLAIMED + 1), [f"{n} ×" for n in range(1, CLAIMED + 1)])
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    grid(ax, "x")
    dash: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (4, 2)), "zorder": 1}
    for x, text in ((1, "as in 16 bit"), (CLAIMED, "the card")):
        ax.axvline(x, color=MUTED, **dash)
        write(ax, x, top - 0.06, text, ha="center", color=MUTED, size=SMALL)
    return ax


def _heads(paper: Axes, top: float) -> None:
    """Names of the columns, each under its mark."""
    for mark, x in zip(_MARKS, _COLUMNS, strict=True):
        _draw(paper, [x - 0.08], top + 0.24, mark)
        text: dict[str, Any] = {"size": SMALL, "ha": "right", "va": "top", "linespacing": 1.1}
        write(paper, x, top + 0.14, mark.name, color=mark.role.ink, **text)


def _words(paper: Axes, y: float, rung: _Rung) -> None:
    write(paper, MARGIN, y, rung.name, va="center")
    write(paper, _DETAIL, y, rung.detail, va="center", size=SMALL, color=MUTED)
    for i, (x, cell, mark) in enumerate(zip(_COLUMNS, rung.cells, _MARKS, strict=True)):
        weight = "bold" if i == rung.outcome else "normal"
        write(paper, x, y, cell, ha="right", va="center", color=mark.role.ink, weight=weight)


def _marks(ax: Axes, y: float, rung: _Rung) -> None:
    """A bar from "as in 16 bit" to what came of it, and dots from there to what it might be."""
    got, most = float(np.median(rung.values[rung.outcome])), max(rung.lighter + rung.law)
    tint = _MARKS[rung.outcome].tint
    ax.barh(y, got - 1, 0.15, left=1, color=tint, linewidth=0, zorder=2)
    ax.plot([max(got, 1), most], [y, y], color=MUTED, linewidth=1.1, linestyle=":", zorder=2)
    for values, mark in zip(rung.values, _MARKS, strict=True):
        _draw(ax, values, y, mark)


def _draw(ax: Axes, values: Sequence[float], y: float, mark: _Mark) -> None:
    edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 0.9, "zorder": 4}
    look = {"markersize": mark.size, "color": mark.role.fill, "linestyle": "none", **edge}
    ax.plot(values, [y] * len(values), mark.shape, **look)
