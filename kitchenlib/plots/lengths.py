"""What length costs: a longer prompt to the flood, a longer notepad to the drip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.inputs import Number, dimension, wrong
from kitchenlib.measured import matmul_ceiling
from kitchenlib.models import Model
from kitchenlib.phases import decode_step, prefill
from kitchenlib.plots import scenery
from kitchenlib.plots.reading import Reading, read
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MUTED,
    NOTES,
    PAPER,
    PLAIN,
    SACK,
    WIDTH,
    Picture,
    canvas,
    claim,
    counts,
    end_label,
    grid,
    in_style,
    label_ends,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.units import human, significant

# --- the flood ---------------------------------------------------------------------------------

_SHORTEST, _LONGEST = 512, 131_072
_LENGTHS = (512, 2048, 8192, 32_768, 131_072)  # ticks
_FEED_FORWARD = ("feed_forward", "experts", "router")
_AREA_NAMES = ("feed-forward", "Q, K, V, O\nand the rest", "attention")
_AREAS = ("#E9B44C", "#F8E3B8", "#A5D8C8")
_DASHED: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.4}
_DOTTED: dict[str, Any] = {"linestyle": (0, (2, 2)), "linewidth": 1.0, "color": MUTED}


@in_style
def flood_by_length(model: Model, chip: Chip, tokens: int = 20_000) -> Picture:
    """Ideal time of a prefill by prompt length, and the share of it that attention takes.

    Args:
        model, chip: whose, at 16 bit; a chip whose matmul ceiling was measured.
        tokens: the prompt that is marked.

    Raises ``ValueError`` for a prompt that the model cannot take or the axis does not show.
    """
    longest = min(_LONGEST, model.max_context or _LONGEST)
    if not _SHORTEST <= dimension("tokens", tokens, "tokens") <= longest:
        wanted = f"{model.name} is shown from {_SHORTEST} to {longest:,} tokens"
        raise wrong("tokens", tokens, wanted)
    ceiling = matmul_ceiling(chip.name)
    real = replace(chip, peaks={rate: peak * ceiling for rate, peak in chip.peaks.items()})
    marked, best = (float(prefill(model, tokens).time(on)) for on in (chip, real))
    share = percent(_attention_share(model, chip, tokens))
    seconds, slower = human(marked, "s", 2), human(best, "s", 2)
    title = f"The flood: {tokens:,} tokens in {seconds}, {share} of it for attention"
    lead = f"{model.name} on one ideal {chip.name}, 16 bit{_overtaking(model, chip, longest)}"
    limit = (
        f"Never at 100%: the best matrix product measured reaches {ceiling:.1%} of the peak, and "
        f"{tokens:,} tokens then take {slower}"
    )
    said = "; ".join(_length_in_words(model, chip, n) for n in (_SHORTEST, tokens, longest))
    picture = Picture(WIDTH, 5.5, alt=f"{title}. {lead}. By prompt length: {said}. {limit}.")
    claim(picture, title, lead)
    lengths = np.unique(np.geomspace(_SHORTEST, longest, 121).astype(int))
    _flood_times(picture, model, (chip, real), lengths, tokens)
    _flood_shares(picture, model, chip, lengths, tokens)
    whose = "stas00/ml-engineering, MAMF table"
    source(picture, f"{limit}.\nCeiling: {whose}. Times whether or not the sack fits one chip.")
    return picture


def _overtaking(model: Model, chip: Chip, longest: int) -> str:
    """From which length on attention takes more than everything else, if it ever does."""
    lengths = np.arange(_SHORTEST, longest + 1, 8)
    work = prefill(model, lengths)
    most = np.asarray(work.times(chip)["attention"]) > np.asarray(work.time(chip)) / 2
    if not most.any():
        return ""
    return f". From {significant(lengths[most][0])} tokens on attention takes most"


def _attention_share(model: Model, chip: Chip, tokens: int) -> float:
    work = prefill(model, tokens)
    return float(work.times(chip)["attention"] / work.time(chip))


def _length_in_words(model: Model, chip: Chip, tokens: int) -> str:
    time = human(float(prefill(model, tokens).time(chip)), "s")
    return f"{tokens:,} tokens {time}, attention {percent(_attention_share(model, chip, tokens))}"


def _flood_times(
    picture: Picture, model: Model, chips: tuple[Chip, Chip], lengths: np.ndarray, tokens: int
) -> None:
    """Seconds of the whole, and of attention and the matrices alone."""
    chip, real = chips
    write(picture, 0.98, 4.42, "time", weight="bold", size=LEAD)
    ax = panel(picture, 0.98, 1.22, 3.46, 3.06)
    work, slower = prefill(model, lengths), np.asarray(prefill(model, lengths).time(real))
    whole, attention = np.asarray(work.time(chip)), np.asarray(work.times(chip)["attention"])
    low, high = 0.45 * whole[0], 2.2 * whole[-1]
    ticks = [t for t in (0.001, 0.01, 0.1, 1, 10, 100, 1000) if low < t < high]
    log_axis(ax.xaxis, _LENGTHS, counts(_LENGTHS), "tokens of the prompt")
    log_axis(ax.yaxis, ticks, counts(ticks), "seconds")
    ax.set(xlim=(430, 1.22 * lengths[-1]), ylim=(low, high))
    grid(ax)
    ax.plot(lengths, slower, color=CHEF.fill, **_DASHED)
    ax.plot(lengths, whole - attention, color=SACK.fill, linestyle=(0, (6, 2)), linewidth=1.8)
    ax.plot(lengths, attention, color=NOTES.fill, linestyle=(0, (1, 1.2)))
    ax.plot(lengths, whole, color=INK)
    at, over = (float(prefill(model, tokens).time(on)) for on in chips)
    ax.plot([tokens, tokens], [low, over], **_DOTTED)
    ax.plot(tokens, at, "o", color=INK, markersize=7, zorder=6)
    ax.plot(tokens, over, "D", color=CHEF.fill, markersize=6, zorder=6)
    share = percent(real.peak() / chip.peak())
    lines = (
        (f"{tokens:,} tokens:", MUTED),
        (f"● {human(at, 's', 2)} at 100%", INK),
        (f"◆ {human(over, 's', 2)} at {share} of the peak", CHEF.ink),
    )
    for i, (text, ink) in enumerate(lines):
        write(ax, 0.03, 0.92 - 0.068 * i, text, color=ink, transform=ax.transAxes)
    ends = [
        (whole[-1], f"{significant(whole[-1], 2)} s in all", PLAIN),
        (attention[-1], "attention", NOTES),
        ((whole - attention)[-1], "matrices", SACK),
    ]
    label_ends(ax, lengths[-1], ends)


def _flood_shares(
    picture: Picture, model: Model, chip: Chip, lengths: np.ndarray, tokens: int
) -> None:
    """The same time as a stack of shares, by groups of operators."""
    write(picture, 5.5, 4.42, "what it goes into", weight="bold", size=LEAD)
    ax = panel(picture, 5.5, 1.22, 2.1, 3.06)
    ticks = _LENGTHS[::2]
    log_axis(ax.xaxis, ticks, counts(ticks), "tokens of the prompt")
    ax.set(xlim=(_SHORTEST, lengths[-1]), ylim=(0, 1))
    ax.set_yticks((0, 0.5, 1), ("0%", "50%", "100%"))
    work = prefill(model, lengths)
    times, whole = work.times(chip), np.asarray(work.time(chip))
    forward = _together(times, _FEED_FORWARD) / whole
    attention = np.asarray(times["attention"]) / whole
    stack = (forward, 1 - forward - attention, attention)
    ax.stackplot(lengths, *stack, colors=_AREAS, edgecolor=PAPER, linewidth=1.2)
    share = _attention_share(model, chip, tokens)
    ax.axvline(tokens, **_DOTTED)
    if share > 0.1:  # in a thinner band it has no room
        left: dict[str, Any] = {"dx": -5, "ha": "right"} if tokens > lengths[-1] / 4 else {"dx": 5}
        end_label(ax, tokens, 1 - share / 2, percent(share), color=INK, weight="bold", **left)
    base = 0.0
    for area, name in zip(stack, _AREA_NAMES, strict=True):
        text, base = f"{name}\n{percent(area[-1])}", base + area[-1]
        end_label(ax, lengths[-1], base - area[-1] / 2, text, dx=7, color=INK)


def _together(times: dict[str, Number], names: Sequence[str]) -> np.ndarray:
    return np.sum([np.asarray(times[name]) for name in names if name in times], axis=0)


# --- the drip ----------------------------------------------------------------------------------

_CONTEXTS = (0, 4096, 32_768, 131_072)
_BAR_LEFT, _BAR_RIGHT, _BAR_HIGH, _ROW = 1.72, 5.5, 0.3, 0.52  # inches
_COLUMNS = (_BAR_LEFT - 0.12, 7.16, 7.86, 8.64)  # their right edges


@in_style
def notes_grow(model: Model, chip: Chip, contexts: Sequence[int] = _CONTEXTS) -> Picture:
    """One decode step with ever longer notes: bytes of sack and notes, and the time they take.

    Args:
        model, chip: whose, at 16 bit, one guest.
        contexts: tokens in the notepad, shortest first.
    """
    works = [decode_step(model, context) for context in contexts]
    steps = [read(work, chip) for work in works]
    notes = [float(work.kv_bytes) for work in works]
    more = percent(steps[-1].time / steps[0].time - 1)
    title = f"With {contexts[-1]:,} tokens of notes, every new token takes {more} longer"
    lead = f"What the waiter brings for one token: {model.name} on one {chip.name}, 16 bit"
    said = "; ".join(map(_step_in_words, contexts, steps, notes))
    picture = Picture(WIDTH, 2.4 + _ROW * len(contexts), alt=f"{title}. {lead}. {said}.")
    claim(picture, title, lead)
    ax = canvas(picture)
    top = picture.size[1] - 1.52
    _notes_heads(ax, model, top, steps[0].bytes - notes[0])
    unit = (_BAR_RIGHT - _BAR_LEFT) / max(step.bytes for step in steps)
    for i, (context, step, kv) in enumerate(zip(contexts, steps, notes, strict=True)):
        y = top - 0.24 - _ROW * i - _BAR_HIGH
        _notes_bar(ax, y, (step.bytes - kv) * unit, kv * unit, human(kv, "B") if context else "")
        longer = percent(step.time / steps[0].time - 1) if i else ""
        row = _notes_name(context), human(step.time, "s"), longer, f"{step.chef:.2%}"
        for x, text in zip(_COLUMNS, row, strict=True):
            write(ax, x, y + 0.1, text, ha="right", weight="bold" if "ms" in text else "normal")
    source(picture, "One guest. Times whether or not the sack fits into one chip.")
    return picture


def _notes_name(context: int) -> str:
    return f"{context:,} tokens" if context else "no notes"


def _step_in_words(context: int, step: Reading, notes: float) -> str:
    held = f"{_notes_name(context)}: sack {human(step.bytes - notes, 'B')}"
    held += f", notes {human(notes, 'B')}" if context else ""
    return f"{held}, {human(step.time, 's')} a token, chef {step.chef:.2%} busy"


def _notes_heads(ax: Axes, model: Model, top: float, sack: float) -> None:
    """What the two parts of a bar are, and the names of the columns."""
    scenery.sack(ax, _BAR_LEFT + 0.2, top - 0.06, 0.42)
    write(ax, _BAR_LEFT + 0.5, top + 0.1, f"the sack: {human(sack, 'B')}, always", color=SACK.ink)
    x = _BAR_LEFT + 2.55
    scenery.clipboard(ax, x, top - 0.06, 0.38)
    row = human(model.kv_bytes_per_token(), "B")
    write(ax, x + 0.24, top + 0.1, f"the notes: {row} a token", color=NOTES.ink)
    head: dict[str, Any] = {"color": MUTED, "ha": "right", "linespacing": 1.2}
    names = ("a token\ntakes", "longer\nby", "the chef\nis busy")
    for x, text in zip(_COLUMNS[1:], names, strict=True):
        write(ax, x, top + 0.04, text, **head)


def _notes_bar(ax: Axes, y: float, sack: float, notes: float, weight: str) -> None:
    """Sack and notes as one bar, so many inches each; `weight` of the notes, if there are any."""
    pen = scenery.Pen(ax, _BAR_LEFT, y, 1.0)
    pen.box((0, 0), (sack, _BAR_HIGH), SACK.fill, width=0.9)
    if weight:
        pen.box((sack, 0), (notes, _BAR_HIGH), NOTES.fill, width=0.9)
        write(ax, _BAR_LEFT + sack + notes + 0.09, y + 0.1, f"+ {weight}", color=NOTES.ink)
