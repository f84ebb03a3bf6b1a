"""TTFT and TPOT, measured: on a published machine, and on the reader's own against the law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kitchenlib.chips import Chip, chip
from kitchenlib.inputs import dimension, quantity
from kitchenlib.measured import measurements
from kitchenlib.models import Model, model
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    PAPER,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    claim,
    counts,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.serving import tpot, ttft
from kitchenlib.units import MS, human, significant


class Timing(NamedTuple):
    """One time, predicted by the law and measured.

    Attributes:
        what: "TTFT" or "TPOT".
        tokens: of the prompt (TTFT), or in the notepad (TPOT).
        predicted, measured: seconds.
    """

    what: str
    tokens: int
    predicted: float
    measured: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted


_LOOK = {"TTFT": (CHEF, "s", "a prompt of"), "TPOT": (WAITER, "o", "a notepad of")}


def _span(timings: Sequence[Timing]) -> str:
    """The range of the ratios as it is read: 1.3–1.6."""
    ratios = [timing.ratio for timing in timings]
    low, high = significant(min(ratios), 2), significant(max(ratios), 2)
    return low if low == high else f"{low}–{high}"


# --- published ---------------------------------------------------------------------------------

_SERIES: dict[str, Any] = {
    "source": "llama.cpp DGX Spark bench",
    "model": "Qwen2.5-7B",
    "weights": "Q8_0",
    "batch": 1,
}
#: Heading, name of the axis, and the lower tick in seconds.
_PANELS = {
    "TTFT": ("the wait for the first token", "tokens of the prompt", 0.1),
    "TPOT": ("the time of each next one", "tokens in the notepad", 0.01),
}
_SIZES = (512, 2048, 8192, 32_768)  # ticks, tokens


@in_style
def ttft_and_tpot_measured() -> Picture:
    """TTFT by prompt and TPOT by context: one model on one machine, measured, above the law."""
    first = measurements(**_SERIES)[0]
    eater, on = model(first.model), chip(first.chip or "")
    read, written = _published_ttft(eater, on), _published_tpot(eater, on)
    short, long, longest = read[0].tokens, read[-1].tokens, written[-1].tokens
    wait, pace, slow = (
        significant(_grown(timings, short, size))
        for timings, size in ((read, long), (written, long), (written, longest))
    )
    title = f"Measured: a prompt {long / short:.0f} times as long, TTFT × {wait}, TPOT × {pace}"
    lead = f"{first.published_model} in {first.published_weights} on one {on.label}, one guest"
    alt = (
        f"{title}. {lead}. TTFT by tokens of the prompt: {_in_words(read)}; {_span(read)} times "
        f"the law. TPOT by tokens in the notepad: {_in_words(written)}; {_span(written)} times "
        "the law."
    )
    picture = Picture(WIDTH, 5.4, alt=alt)
    claim(picture, title, lead)
    _published_panel(picture, 0.98, read, f"{long / short:.0f} × the prompt,\n{wait} × the wait")
    _published_panel(
        picture, 5.44, written, f"{longest / short:.0f} × the notes,\n{slow} × the time"
    )
    table = first.locator.split(",")[0].removeprefix("github:")
    note = "* Its 16-bit FLOP/s are derived from the published sparse FP4 rate."
    source(picture, f"Measured: {table}.\n{note}")
    return picture


def _published_ttft(model: Model, on: Chip) -> list[Timing]:
    """Whole prompts, with nothing in the cache before."""
    rows = measurements(metric="prefill_tok_s", **_SERIES)
    whole = [(row.prompt, row) for row in rows if row.prompt and row.context in (0, row.prompt)]
    return sorted(
        Timing("TTFT", n, float(ttft(model, on, n, weights=row.weights or "")), row.seconds)
        for n, row in whole
    )


def _published_tpot(model: Model, on: Chip) -> list[Timing]:
    """Replies to a filled notepad; a logarithmic axis has no place for an empty one."""
    rows = measurements(metric="decode_tok_s_per_seq", **_SERIES)
    noted = [(row.context, (row.output or 0) + 1, row) for row in rows if row.context]
    return sorted(
        Timing("TPOT", n, float(tpot(model, on, n, reply, weights=row.weights or "")), row.seconds)
        for n, reply, row in noted
    )


def _at(timings: Sequence[Timing], tokens: int) -> float:
    """Seconds measured at a size: the mean where it was measured twice."""
    return float(np.mean([timing.measured for timing in timings if timing.tokens == tokens]))


def _grown(timings: Sequence[Timing], short: int, long: int) -> float:
    """How many times as long the long one takes."""
    return _at(timings, long) / _at(timings, short)


def _in_words(timings: Sequence[Timing]) -> str:
    sizes = sorted({timing.tokens for timing in timings})
    return ", ".join(f"{human(_at(timings, size), 's')} at {size:,}" for size in sizes)


def _published_panel(picture: Picture, left: float, timings: Sequence[Timing], growth: str) -> None:
    """The same number of decades in both panels, so that their slopes compare."""
    what = timings[0].what
    role, shape, _ = _LOOK[what]
    heading, xlabel, unit = _PANELS[what]
    write(picture, left, 4.32, what, weight="bold", size=LEAD)
    write(picture, left + 0.62, 4.32, heading)
    ax = panel(picture, left, 1.22, 3.2, 2.96)
    log_axis(ax.xaxis, _SIZES, counts(_SIZES), xlabel)
    log_axis(ax.yaxis, (unit, 10 * unit), [human(t, "s", 1) for t in (unit, 10 * unit)], "")
    ax.set(xlim=(400, 44_000), ylim=(0.2 * unit, 90 * unit))
    grid(ax)
    sizes, law = [t.tokens for t in timings], [t.predicted for t in timings]
    ax.plot(sizes, law, color=role.fill)
    ax.plot(sizes, [t.measured for t in timings], shape, color=INK, markersize=6)
    end_label(ax, sizes[0], law[0], "the law", role, dx=0, dy=-11)
    end_label(ax, sizes[0], timings[0].measured, "measured", dx=0, dy=12, color=INK)
    text = f"{_span(timings)} × the law"
    end_label(ax, sizes[-1], timings[-1].measured, text, dx=8, dy=14, ha="right", color=INK)
    write(ax, 2300, 0.34 * unit, growth, weight="bold", size=LEAD, linespacing=1.3)


# --- the reader's machine ----------------------------------------------------------------------


@in_style
def predicted_and_measured(rows: Sequence[Timing]) -> Picture:
    """TTFT and TPOT of a machine: predicted from its bandwidth and FLOP/s, and measured.

    Args:
        rows: one `Timing` for each line of the picture, from the top.

    Raises ``ValueError`` for no rows, and for times that are no positive numbers.
    """
    timings = [_checked(row) for row in rows]
    if not timings:
        raise ValueError("rows is empty: give at least one Timing")
    kinds = [[t for t in timings if t.what == what] for what in _LOOK]
    said = ", ".join(f"{kind[0].what} {_span(kind)} ×" for kind in kinds if kind)
    title = f"Measured: {said} what the law predicts"
    lead = "Hollow: predicted from bandwidth and FLOP/s. Filled: measured"
    picture = Picture(
        WIDTH, 1.9 + 0.4 * len(timings), alt=f"{title}. {lead}. {_all_in_words(timings)}."
    )
    claim(picture, title, lead)
    ax = panel(picture, 2.5, 0.72, 5.2, 0.4 * len(timings))
    seconds = [time for t in timings for time in (t.predicted, t.measured)]
    low, high = min(seconds) / 1.5, max(seconds) * 1.5
    ticks = _round_times(low, high)
    log_axis(ax.xaxis, ticks, [human(tick, "s", 1) for tick in ticks], "time")
    ax.set(xlim=(low, high), ylim=(len(timings) - 0.5, -0.5))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    grid(ax, "x")
    for y, timing in enumerate(timings):
        role, shape, of = _LOOK[timing.what]
        name = f"{timing.what}, {of} {timing.tokens:,}"
        ax.plot([timing.predicted, timing.measured], [y, y], color=role.fill, linewidth=1.6)
        hollow: dict[str, Any] = {"markerfacecolor": PAPER, "markeredgecolor": role.fill}
        ax.plot(timing.predicted, y, shape, markersize=8, markeredgewidth=1.8, **hollow)
        ax.plot(timing.measured, y, shape, markersize=8, color=role.fill)
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center"}
        offset: dict[str, Any] = {"textcoords": "offset points", "size": SMALL + 1}
        ax.annotate(name, (0, y), (-8, 0), ha="right", color=role.ink, **place, **offset)
        ratio = f"{significant(timing.ratio, 2)} ×"
        ax.annotate(ratio, (1, y), (12, 0), weight="bold", color=INK, **place, **offset)
    return picture


def _checked(row: Timing) -> Timing:
    timing = Timing(*row)
    if timing.what not in _LOOK:
        raise ValueError(f"what = {timing.what!r} will not do: give 'TTFT' or 'TPOT'")
    dimension("tokens", timing.tokens, "tokens")
    quantity("predicted", timing.predicted, "seconds")
    quantity("measured", timing.measured, "seconds")
    return timing


def _all_in_words(timings: Sequence[Timing]) -> str:
    """Always in milliseconds: on another machine the numbers differ, not the words."""
    return "; ".join(
        f"{t.what}, {_LOOK[t.what][2]} {t.tokens:,} tokens: predicted "
        f"{significant(t.predicted / MS)} ms, measured {significant(t.measured / MS)} ms, "
        f"{significant(t.ratio, 2)} times"
        for t in timings
    )


def _round_times(low: float, high: float) -> list[float]:
    """Ticks between two times: powers of ten, and 2 and 5 times those where they are few."""
    steps = (1, 2, 5) if high / low < 60 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return [tick for tick in ticks if low <= tick <= high]
