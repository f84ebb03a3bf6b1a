"""Times by the number of tokens: the law against a measured layer, and what guests share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kitchenlib import measured
from kitchenlib.chips import Chip, chip
from kitchenlib.models import Model, model
from kitchenlib.phases import decode_step
from kitchenlib.plots.reading import read
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MUTED,
    NOTES,
    SACK,
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
from kitchenlib.units import MS, human, significant

_SIZES = (1, 8, 64, 512, 4096)  # ticks: tokens in a pass, guests in a step
_SIZE_LIMITS = (0.8, 5200)

# --- the law against the measured layer --------------------------------------------------------


@in_style
def law_against_layer(models: tuple[str, str] = ("Llama-2-70B", "Llama-2-7B")) -> Picture:
    """Measured times of one layer's matrix products against the law, two models side by side.

    The dashed line is the law with the best measured share of the peak instead of all of it.
    """
    h100 = chip("H100 SXM")
    ceiling = measured.matmul_ceiling(h100.name)
    slower = replace(h100, peaks={rate: peak * ceiling for rate, peak in h100.peaks.items()})
    title = "Measured on the 70B layer: 128 tokens for the price of one"
    lead = f"One layer's seven matrix products on one {h100.name}, 16 bit, by tokens in one pass"
    said = " ".join(_in_words(name, h100) for name in models)
    best = f"The best matrix product measured reaches {ceiling:.1%} of the peak."
    picture = Picture(WIDTH, 6.8, alt=f"{title}. {lead}. {said} {best}")
    claim(picture, title, lead)
    for left, name in zip((0.94, 5.30), models, strict=True):
        price = f"128 tokens cost {_price(name):.2f} × one"
        write(picture, left, 5.72, name, weight="bold", size=LEAD)
        write(picture, left + 3.32, 5.72, price, ha="right", color=MUTED)
        _time_panel(panel(picture, left, 3.02, 3.32, 2.56), name, h100, slower, ceiling)
        _ratio_panel(panel(picture, left, 0.96, 3.32, 1.82), name, h100, slower)
    where = measured.layer_times(models[0])[0].source.split(",")[0]
    source(picture, f"Measured: {where}. Best matrix product: stas00/ml-engineering, MAMF table.")
    return picture


def _tokens() -> np.ndarray:
    return np.unique(np.geomspace(1, _SIZES[-1], 80).astype(int))


def _law(name: str, tokens: Iterable[int], on: Chip) -> np.ndarray:
    """The law's seconds for one layer's matrix products, for each number of tokens."""
    return np.array([measured.layer_work(model(name), int(t)).time(on) for t in tokens])


def _time_panel(ax: Axes, name: str, on: Chip, slower: Chip, ceiling: float) -> None:
    rows, tokens = measured.layer_times(name), _tokens()
    log_axis(ax.xaxis, _SIZES, [""] * len(_SIZES), "")
    log_axis(ax.yaxis, (0.1, 1, 10), ("0.1", "1", "10"), "time (ms)")
    ax.set(xlim=_SIZE_LIMITS, ylim=(0.062, 16))
    grid(ax)
    law, best = _law(name, tokens, on) / MS, _law(name, tokens, slower) / MS
    ax.plot(tokens, law, color=CHEF.fill)
    ax.plot(tokens, best, color=CHEF.fill, linestyle=(0, (4, 2)), linewidth=1.3)
    at = [row.seconds / MS for row in rows]
    ax.plot([row.tokens for row in rows], at, "o", color=INK, markersize=5)
    end_label(ax, 1, law[0], "the law", CHEF, dx=0, dy=-10)
    end_label(ax, 1, at[0], "measured", dx=0, dy=11, color=INK)
    text, over = f"the law at {ceiling:.0%}\nof the peak", float(np.interp(700, tokens, best))
    end_label(ax, 700, over, text, CHEF, dx=-20, dy=22, ha="right")


def _ratio_panel(ax: Axes, name: str, on: Chip, slower: Chip) -> None:
    tokens = _tokens()
    log_axis(ax.xaxis, _SIZES, counts(_SIZES), "tokens in one pass")
    ax.set(xlim=_SIZE_LIMITS, ylim=(0.9, 2.4), ylabel="measured / law")
    ax.set_yticks((1, 1.5, 2), ("1", "1.5", "2"))
    grid(ax)
    ax.plot(tokens, np.ones(len(tokens)), color=CHEF.fill)
    dashed: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.3}
    ax.plot(tokens, _law(name, tokens, slower) / _law(name, tokens, on), color=CHEF.fill, **dashed)
    over = _over_law(name, on)
    ax.plot(*zip(*over, strict=True), "o", color=INK, markersize=5)
    for x, stretch in zip((11, 256, 1700), _stretches(over), strict=True):
        near = max(ratio for size, ratio in over if x / 2 < size < x * 2)
        end_label(ax, x, near, _span(stretch), dx=0, dy=12, ha="center", weight="bold", color=INK)


def _over_law(name: str, on: Chip) -> list[tuple[int, float]]:
    """Tokens and measured time over the law's time, for every measurement of a model's layer."""
    return [
        (row.tokens, row.seconds / float(_law(name, [row.tokens], on)[0]))
        for row in measured.layer_times(name)
    ]


def _stretches(over: Sequence[tuple[int, float]]) -> tuple[list[float], list[float], list[float]]:
    """The ratios up to 128 tokens, at the corner (256), and beyond."""
    flat = [ratio for tokens, ratio in over if tokens <= 128]
    corner = [ratio for tokens, ratio in over if tokens == 256]
    return flat, corner, [ratio for tokens, ratio in over if tokens > 256]


def _span(ratios: Sequence[float]) -> str:
    """A range of ratios as it is read: 1.1–1.2×."""
    low, high = f"{min(ratios):.1f}", f"{max(ratios):.1f}"
    return f"{low}×" if low == high else f"{low}–{high}×"


def _price(name: str) -> float:
    """Measured time of 128 tokens over that of one."""
    seconds = {row.tokens: row.seconds for row in measured.layer_times(name)}
    return seconds[128] / seconds[1]


def _in_words(name: str, on: Chip) -> str:
    flat, corner, beyond = (_span(stretch) for stretch in _stretches(_over_law(name, on)))
    return (
        f"{name}: 128 tokens take {_price(name):.2f} times the time of one; measured over law is "
        f"{flat} up to 128 tokens, {corner} at 256, {beyond} beyond."
    )


# --- how many guests ---------------------------------------------------------------------------


@in_style
def guests(chip: Chip, model: Model, notes: int = 4096) -> Picture:
    """Time of a decode step, and of one guest's share, by guests served at once.

    Args:
        chip, model: whose, at 16 bit.
        notes: tokens of context of every guest, on the second line.
    """
    batch = np.unique(np.geomspace(1, _SIZES[-1], 241).astype(int))
    bare, noted = (decode_step(model, context, batch) for context in (0, notes))
    most = decode_step(model, notes, batch=10**9).intensity
    title = f"{chip.ridge():.0f} guests share one sack; each brings notes of their own"
    setting = f"{model.name}, {chip.name}, 16 bit"
    limit = f"With {notes:,} tokens of notes each, cuts per crumb end at {most:.0f}"
    alt = (
        f"{title}. {setting}. The sack alone: {_at_sizes(chip, model, 0)}. With {notes:,} "
        f"tokens of notes each: {_at_sizes(chip, model, notes)}. {limit}."
    )
    picture = Picture(WIDTH, 5.4, alt=alt)
    claim(picture, title, f"{setting}. {limit}")
    ticks = (30, 100, 300, 1000, 3000)
    whole = _guest_axes(picture, 0.98, "one pass, for all guests", ticks, (22, 4000))
    share = _guest_axes(picture, 5.44, "one guest's share of it", (0.1, 1, 10), (0.06, 80))
    lines: tuple[tuple[Any, ...], ...] = ((bare, SACK, "-", -9), (noted, NOTES, (0, (5, 2)), 9))
    for work, role, dash, beside in lines:
        time = np.asarray(work.time(chip)) / MS
        whole.plot(batch, time, color=role.fill, linestyle=dash)
        share.plot(batch, time / batch, color=role.fill, linestyle=dash)
        least = time[-1] / batch[-1]
        text = f"{significant(least, 2)} ms"
        end_label(share, batch[-1], least, text, role, dx=0, dy=beside, ha="right")
    start = float(decode_step(model, context=0).time(chip)) / MS
    end_label(whole, 1, start, f"the sack alone: {start:.0f} ms", SACK, dx=0, dy=-11)
    text, at = f"{notes:,} tokens\nof notes each", float(np.interp(60, batch, noted.time(chip)))
    end_label(whole, 60, at / MS, text, NOTES, dx=-10, dy=16, ha="right")
    for ax in (whole, share):
        ax.axvline(chip.ridge(), color=MUTED, linewidth=1.0, linestyle=(0, (2, 2)))
        top = ax.get_ylim()[1]
        end_label(ax, chip.ridge(), top, f"ridge {chip.ridge():.0f}", dx=-5, dy=-6, ha="right")
    source(picture, "The law's times, whether or not the notes fit into the memory.")
    return picture


def _guest_axes(
    picture: Picture,
    left: float,
    heading: str,
    ticks: Sequence[float],
    limits: tuple[float, float],
) -> Axes:
    write(picture, left, 4.3, heading, weight="bold", size=LEAD)
    ax = panel(picture, left, 1.0, 3.2, 3.14)
    log_axis(ax.xaxis, _SIZES, counts(_SIZES), "guests served at once (batch)")
    log_axis(ax.yaxis, ticks, counts(ticks), "milliseconds")
    ax.set(xlim=_SIZE_LIMITS, ylim=limits)
    grid(ax)
    return ax


def _at_sizes(chip: Chip, model: Model, context: int) -> str:
    """Times of one step for one guest, at the ridge, and for the largest batch, in words."""
    sizes = (1, int(chip.ridge()), _SIZES[-1])
    steps = [read(decode_step(model, context, batch=size), chip) for size in sizes]
    return ", ".join(
        f"{human(step.time, 's')} for {size:,}" for size, step in zip(sizes, steps, strict=True)
    )
