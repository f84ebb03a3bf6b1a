"""Which machine a workload lives on: the plane of prompt and reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import Number
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MUTED,
    PAPER,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    claim,
    counts,
    end_label,
    in_style,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.serving import tpot, ttft


class Workload(NamedTuple):
    """An order of typical size, which is an assumption.

    Attributes:
        name: what it is for.
        prompt, reply: tokens read and written.
    """

    name: str
    prompt: int
    reply: int


#: Chat and completion: near the medians of a trace of Azure's services (Patel et al., "Splitwise",
#: ISCA 2024: 1,020 read and 129 written, 1,500 and 13). The others are round guesses.
WORKLOADS = (
    Workload("chat", 1000, 130),
    Workload("code completion", 1500, 13),
    Workload("summarising", 10_000, 300),
    Workload("uncached agent", 50_000, 200),
    Workload("reasoning", 1000, 4000),
)
_COUNT = ("none", "one", "two", "three", "four", "five")
_PROMPTS, _REPLIES = (100, 1000, 10_000, 100_000), (1, 10, 100, 1000, 10_000)  # ticks
_LIMITS = ((100, 131_072), (1, 20_000))  # tokens of the prompt, and of the reply
_BELOW, _BETWEEN, _ABOVE = "#F4D3BC", "#F6EBDD", "#DCE9F2"  # flood, either, drip
#: Where a workload's words stand from its mark: points to the right and up, and the alignment.
_BESIDE: dict[str, tuple[float, float, str]] = {
    "chat": (-10, 22, "right"),
    "summarising": (10, 9, "left"),
    "uncached agent": (14, -40, "center"),
    "reasoning": (11, 0, "left"),
}


@in_style
def workload_plane(
    model: Model | None = None,
    chip: Chip | None = None,
    chips: int = 2,
    guests: int = 32,
    workloads: Sequence[Workload] = WORKLOADS,
) -> Picture:
    """Prompt across, reply up: where reading takes longer, where writing, alone and in company.

    Args:
        model, chip, chips: whose, at 16 bit; Llama-3.1-70B on two H100 SXM.
        guests: served together, on the second line.
        workloads: one to five, with a prompt from 100 and a reply from 2 tokens.

    Raises ``ValueError`` for other workloads.
    """
    _check(workloads)
    model, chip = model or model_called("Llama-3.1-70B"), chip or chip_called("H100 SXM")
    alone = [_reading_share(model, chip, chips, 1, work) for work in workloads]
    together = [_reading_share(model, chip, chips, guests, work) for work in workloads]
    drips = [_COUNT[sum(share < 0.5 for share in shares)] for shares in (alone, together)]
    title = (
        f"Mostly drip: {drips[0]} of {_COUNT[len(workloads)]} orders alone, {drips[1]} with "
        f"{guests} guests at once"
    )
    setting = f"{model.name} on {chips} {chip.name}, 16 bit"
    lead = f"{setting}. Time that goes into reading: alone | with {guests}"
    said = "; ".join(
        f"{work.name} ({work.prompt:,} read, {work.reply:,} written) {percent(one)} alone, "
        f"{percent(many)} with {guests}"
        for work, one, many in zip(workloads, alone, together, strict=True)
    )
    picture = Picture(WIDTH, 6.8, alt=f"{title}. {lead}. Sizes are assumed: {said}.")
    claim(picture, title, lead)
    ax = panel(picture, 0.98, 1.2, 6.62, 4.6)
    log_axis(ax.xaxis, _PROMPTS, counts(_PROMPTS), "tokens of the prompt (read)")
    log_axis(ax.yaxis, _REPLIES, counts(_REPLIES), "tokens of the reply (written)")
    ax.set(xlim=_LIMITS[0], ylim=_LIMITS[1])
    _borders(ax, model, chip, chips, guests)
    for work, one, many in zip(workloads, alone, together, strict=True):
        _workload(ax, work, f"reading {percent(one)} | {percent(many)}")
    trace = "Patel et al., Splitwise, 2024"
    sizes = f"Sizes are assumed; chat and code completion are near the medians of {trace}."
    source(picture, f"{sizes}\nThe law's times, whether or not the notes of all guests fit.")
    return picture


def _check(workloads: Sequence[Workload]) -> None:
    if not 0 < len(workloads) < len(_COUNT):
        raise ValueError(f"{len(workloads)} workloads will not do: give one to {len(_COUNT) - 1}")
    for work in workloads:
        if not (_LIMITS[0][0] <= work.prompt <= _LIMITS[0][1] and 2 <= work.reply <= _LIMITS[1][1]):
            raise ValueError(
                f"{work} is outside the picture: give a prompt of {_LIMITS[0][0]:,} to "
                f"{_LIMITS[0][1]:,} tokens and a reply of 2 to {_LIMITS[1][1]:,}"
            )


def _reading_share(model: Model, chip: Chip, chips: int, guests: int, work: Workload) -> float:
    read = float(ttft(model, chip, work.prompt, guests, chips=chips))
    each = float(tpot(model, chip, work.prompt, work.reply, guests, chips=chips))
    return read / (read + (work.reply - 1) * each)


def _border(model: Model, chip: Chip, chips: int, guests: int, prompts: np.ndarray) -> Number:
    """The reply whose writing takes as long as reading the prompt.

    All steps together take as long as so many of the middle one: notes grow evenly.
    """
    read = ttft(model, chip, prompts, guests, chips=chips)
    reply: Number = np.ones(len(prompts))
    for _ in range(12):
        step = decode_step(model, np.floor(prompts + reply / 2), guests, chips=chips)
        reply = 1 + read / step.time(chip)
    return reply


def _borders(ax: Axes, model: Model, chip: Chip, chips: int, guests: int) -> None:
    """Both borders, and what lies on either side."""
    prompts = np.unique(np.geomspace(*_LIMITS[0], 121).astype(int))
    low, high = (_border(model, chip, chips, n, prompts) for n in (1, guests))
    ax.fill_between(prompts, 1, low, color=_BELOW, linewidth=0)
    ax.fill_between(prompts, low, high, color=_BETWEEN, linewidth=0)
    ax.fill_between(prompts, high, _LIMITS[1][1], color=_ABOVE, linewidth=0)
    ax.plot(prompts, low, color=INK, linewidth=1.6)
    ax.plot(prompts, high, color=INK, linewidth=1.6, linestyle=(0, (5, 2)))
    for border, whose, dy in ((low, "one guest", -14), (high, f"{guests} guests", 14)):
        text, end = f"{whose}:\nboth take\nas long", np.asarray(border)[-1]
        end_label(ax, prompts[-1], end, text, dx=8, dy=dy, color=INK)
    big: dict[str, Any] = {"weight": "bold", "size": 12.5}
    write(ax, 120, 11_000, "the drip", color=WAITER.ink, **big)
    write(ax, 120, 6_200, "writing takes longer", color=WAITER.ink)
    write(ax, 120, 3.2, f"drip for one guest,\nflood for {guests}", color=MUTED, linespacing=1.3)
    write(ax, 115_000, 2.6, "the flood", color=CHEF.ink, ha="right", **big)
    write(ax, 115_000, 1.5, "reading takes longer", color=CHEF.ink, ha="right")


def _workload(ax: Axes, work: Workload, share: str) -> None:
    edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 1.4}
    ax.plot(work.prompt, work.reply, "D", color=INK, markersize=9, zorder=6, **edge)
    dx, dy, ha = _BESIDE.get(work.name, (-11, 0, "right"))
    text = f"{work.prompt:,} → {work.reply:,}\n{share}"
    place: dict[str, Any] = {"ha": ha, "color": INK, "multialignment": ha}
    end_label(ax, work.prompt, work.reply, work.name, dx=dx, dy=dy + 13, weight="bold", **place)
    end_label(ax, work.prompt, work.reply, text, dx=dx, dy=dy - 7, size=SMALL, **place)
