"""Query heads that share a clipboard: how much lighter the notes get, and whom that lets in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.path import Path

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.layers import Attention, LatentAttention, Mixer
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots import scenery
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    RULE,
    SMALL,
    TEXT,
    WIDTH,
    Picture,
    canvas,
    claim,
    in_style,
    source,
    write,
)
from kitchenlib.precision import AnyFormat
from kitchenlib.serving import max_batch
from kitchenlib.serving.memory import USABLE
from kitchenlib.units import human, many, significant

MODELS = (
    "Llama-2-7B",
    "Gemma-3-27B (text)",
    "SmolLM2-135M",
    "Llama-3.1-8B",
    "Qwen2.5-7B",
    "Llama-2-70B",
    "Llama-3.1-405B",
    "DeepSeek-V3",
    "Falcon-7B",
)
CLAIMED = 0.875  #: of the notes, on the card: what is saved at most
LATENT = "DeepSeek-V3"  #: whose thin sheet is drawn
_LIGHTER = "int4-g128"  # the other format in which the guests are counted
_MOST_MODELS, _MOST_DRAWN = 12, 200
_FINE = 16  # more clipboards than this are drawn as plain boards
_HIGH, _TOP, _BOTTOM = 7.2, 5.56, 2.2  # inches: the card, and the two columns on it
_HEADS, _WIDE, _SHEETS = 1.5, 2.3, 4.62  # inches: where heads begin, and end; edge of the bytes
_NAMES, _COUNTS, _BAR, _BAR_WIDE, _EDGE = 4.98, 7.04, 7.16, 0.88, 8.68  # inches: the list of models
_SEATS, _SEATS_WIDE = 1.5, 5.3  # inches: where guests begin, and end


def unshared(model: Model) -> Model:
    """The same model with a clipboard (a KV head) for every query head.

    Raises ``ValueError`` for latent attention, whose rows belong to no head.
    """
    return _with_boards(model, None)


def _with_boards(model: Model, boards: int | None) -> Model:
    """The same model with so many KV heads in every layer; None is one for every query head."""
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    blocks = []
    for block in model.blocks:
        attention = block.attention
        if isinstance(attention, LatentAttention):
            raise ValueError(
                f"{model.name} caches one latent row for all heads (MLA): give a model with "
                "key/value heads, for example Llama-2-70B"
            )
        if isinstance(attention, Attention):  # else a layer without notes: nothing to share
            attention = replace(attention, kv_heads=boards or attention.heads)
        blocks.append(replace(block, attention=attention))
    return replace(model, blocks=tuple(blocks))


def saved(model: Model) -> float:
    """The share of note weight that sharing saves: against a key and a value for every query head.

    For latent attention the whole are the keys and values that its heads would expand to.
    """
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    kept = sum(block.layers * block.attention.kv_values for block in model.blocks)
    whole = sum(block.layers * _own_values(block.attention) for block in model.blocks)
    if not whole:
        raise ValueError(f"{model.name} keeps no notes: give a model with attention layers")
    return 1 - kept / whole


def _own_values(attention: Mixer) -> int:
    """Values a token would add to a layer's notes if every query head kept its own."""
    if isinstance(attention, LatentAttention):
        each = attention.nope_dim + attention.rope_dim + attention.value_dim
        return attention.heads * each
    return 2 * attention.heads * attention.head_dim if isinstance(attention, Attention) else 0


class _Desk(NamedTuple):
    """One way to share: so many query heads, so many clipboards (none: a sheet for all)."""

    name: str
    detail: str
    heads: int
    boards: int
    notes: float

    def __str__(self) -> str:
        return f"{self.name}, {self.heads} query heads, {self.detail}: {human(self.notes, 'B')}"


@in_style
def shared_clipboards(
    model: Model | None = None,
    chip: Chip | None = None,
    notes: int = 4096,
    chips: int = 4,
    models: Sequence[str] = MODELS,
) -> Picture:
    """MHA, GQA, MQA and MLA: clipboards, what models save with them, and the guests that fit.

    Args:
        model: of grouped-query attention; Llama-2-70B. Without sharing it would also have larger
            matrices for keys and values, which is counted.
        chip, chips: where the guests are counted; four H100 SXM.
        notes: tokens of each guest, in 16 bit.
        models: catalogue names, one to twelve.

    Raises ``ValueError`` for a model whose heads share nothing, or where nobody fits.
    """
    model, chip = model or model_called("Llama-2-70B"), chip or chip_called("H100 SXM")
    alone = _check(model, chip, notes, chips, models)
    shared = tuple(_guests(model, chip, notes, chips, w) for w in ("bf16", _LIGHTER))
    single = tuple(_guests(alone, chip, notes, chips, w) for w in ("bf16", _LIGHTER))
    desks, listed = _desks(model), [model_called(name) for name in models]
    (own, kept), many = desks[:2], f"{chips} {chip.short_label}"
    title = (
        f"{own.boards} to {kept.boards} clipboards save {_share(saved(model))} of the "
        f"notes:\n{_crowd(shared[0], single[0], many, notes)}"
    )
    lead = f"{model.name}: {own.heads} query heads share {kept.detail} (KV heads)"
    rows = "; ".join(map(str, desks))
    others = "; ".join(f"{m.name} {_from_to(m)} {_share(saved(m))}" for m in listed)
    fit = f"{shared[0]} guests against {single[0]}, with {_LIGHTER} {shared[1]} against {single[1]}"
    said = (
        f"One token's notes in 16 bit: {rows}. Saved, against a clipboard for each head: {others}. "
        f"Guests of {notes:,} tokens who fit on {many}: {fit}."
    )
    picture = Picture(WIDTH, _HIGH, alt=f"{' '.join(title.split())}. {lead}. {said}")
    claim(picture, title, lead)
    paper = canvas(picture)
    _draw_desks(paper, desks)
    _draw_models(paper, listed, model)
    _draw_guests(paper, desks, (shared, single), f"{notes:,} tokens each, {many}")
    sacks = ", not ".join(human(m.weight_bytes(), "B") for m in (alone, model))
    source(
        picture,
        f"MLA: {LATENT}, against the keys and values that its heads expand to. With a clipboard "
        f"for each head, the matrices\nare larger, too: the sack of {model.name} would weigh "
        f"{sacks}. Guests fill {USABLE:.0%} of the memory.",
    )
    return picture


def _check(model: Model, chip: Chip, notes: int, chips: int, models: Sequence[str]) -> Model:
    """`model` with a clipboard for every head."""
    alone = unshared(model)
    if alone == model:
        raise ValueError(
            f"in {model.name} every query head has a clipboard of its own: give a model that "
            "shares, for example Llama-2-70B"
        )
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    dimension("notes", notes, "tokens")
    dimension("chips", chips, "chips")
    if isinstance(models, str) or not 0 < len(models) <= _MOST_MODELS:
        raise wrong("models", models, f"give the catalogue names of 1 to {_MOST_MODELS} models")
    return alone


def _guests(model: Model, chip: Chip, notes: int, chips: int, weights: AnyFormat) -> int:
    return int(max_batch(model, chip, notes, weights, chips=chips))


def _desks(model: Model) -> list[_Desk]:
    attention, sheet = model.blocks[0].attention, model_called(LATENT)
    assert isinstance(attention, Attention)
    heads, desks = attention.heads, []
    for boards in dict.fromkeys((heads, attention.kv_heads, 1)):
        kind = replace(attention, kv_heads=boards, window=None).kind
        held = _with_boards(model, boards).kv_bytes_per_token()
        detail = many(boards, "clipboard")
        desks.append(_Desk(kind, detail, heads, boards, held))
    latent = sheet.blocks[0].attention.heads
    return [*desks, _Desk("MLA", "one thin sheet", latent, 0, sheet.kv_bytes_per_token())]


def _share(share: float) -> str:
    return f"{100 * share:.1f}%".replace(".0%", "%")


def _crowd(shared: int, single: int, many: str, notes: int) -> str:
    """What the saved notes buy."""
    if not shared:
        raise ValueError(
            f"not one guest with {notes:,} tokens fits on {many}: give more chips, or fewer notes"
        )
    if not single:
        return f"{shared} guests on {many} instead of none"
    times = significant(shared / single, 2).removesuffix(".0")
    return f"{times} times the guests on {many}"


def _from_to(model: Model) -> str:
    attention = model.blocks[0].attention
    latent = isinstance(attention, LatentAttention)
    return f"{attention.heads} → {'sheet' if latent else attention.kv_heads}"


# --- heads and clipboards ----------------------------------------------------------------------


def _draw_desks(paper: Axes, desks: Sequence[_Desk]) -> None:
    write(paper, MARGIN, _TOP + 0.2, "Query heads and their clipboards", weight="bold")
    write(paper, _SHEETS, _TOP + 0.2, "a token's notes", ha="right", size=SMALL, color=MUTED)
    step = (_TOP - _BOTTOM) / len(desks)
    for row, desk in enumerate(desks):
        top = _TOP - step * row
        weight = "bold" if row == 1 else "normal"
        write(paper, MARGIN, top - 0.26, desk.name, weight=weight, size=LEAD)
        write(paper, MARGIN, top - 0.44, desk.detail, size=SMALL, color=MUTED)
        held = human(desk.notes, "B")
        write(paper, _SHEETS, top - 0.36, held, ha="right", color=NOTES.ink, weight=weight)
        _draw_desk(paper, desk, top - 0.02)


def _draw_desk(paper: Axes, desk: _Desk, top: float) -> None:
    """Two rows of heads; under each group a brace and its clipboard."""
    _pairs(paper, desk.heads, top - 0.08, marker="o", color=CHEF.fill, markeredgewidth=0)
    groups = max(desk.boards, 1)
    if groups > _FINE:
        board: dict[str, Any] = {"markeredgecolor": INK, "markeredgewidth": 0.4}
        _pairs(paper, groups, top - 0.32, marker=_BOARD, color=scenery.WOOD, **board)
        return
    wide = _WIDE / groups
    for group in range(groups):
        left, right = _HEADS + group * wide + 0.025, _HEADS + (group + 1) * wide - 0.025
        brace = top - 0.235
        line: dict[str, Any] = {"color": INK, "linewidth": 0.9, "zorder": 2}
        paper.plot([left, left, right, right], [brace + 0.03, brace, brace, brace + 0.03], **line)
        middle = (left + right) / 2
        paper.plot([middle, middle], [brace, brace - 0.06], **line)
        if desk.boards:
            high = min(0.36, 1.2 * wide)
            scenery.clipboard(paper, middle, brace - 0.05 - 1.07 * high, high)
        else:
            _sheet(paper, middle, brace - 0.06)


def _pairs(paper: Axes, number: int, top: float, **look: Any) -> None:
    """So many marks in two rows, as large as the width allows."""
    pitch = _WIDE / -(-number // 2)
    place = np.arange(number)
    x, y = _HEADS + (place // 2 + 0.5) * pitch, top - 0.085 * (place % 2)
    size = min(72 * pitch * 0.78, 4.6)
    paper.plot(x, y, linestyle="none", markersize=size, zorder=3, **look)


_BOARD = [(-0.45, -0.6), (0.45, -0.6), (0.45, 0.6), (-0.45, 0.6), (-0.45, -0.6)]


def _sheet(paper: Axes, x: float, top: float) -> None:
    """One sheet for all heads, a latent row on it."""
    pen = scenery.Pen(paper, x - 0.3, top - 0.2, 1.0)
    pen.box((0.0, 0.0), (0.6, 0.2), scenery.CLOTH, width=0.9)
    for y in (0.06, 0.1, 0.14):
        pen.line([(0.06, y), (0.54, y)], NOTES.fill, 1.1)


# --- models ------------------------------------------------------------------------------------


def _draw_models(paper: Axes, models: Sequence[Model], own: Model) -> None:
    """What is left of the notes, model by model, with the card's claim."""
    write(paper, _NAMES, _TOP + 0.2, "What is left of the notes", weight="bold")
    write(paper, _EDGE, _TOP + 0.2, "saved", ha="right", size=SMALL, color=MUTED)
    step = min(0.36, (_TOP - 0.2 - _BOTTOM) / len(models))
    card = _BAR + _BAR_WIDE * (1 - CLAIMED)
    bottom = _TOP - 0.18 - step * len(models)
    dash: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (4, 2)), "zorder": 4}
    paper.plot([card, card], [bottom, _TOP - 0.2], color=INK, **dash)
    text = f"the card: {_share(1 - CLAIMED)} left"
    write(paper, card, bottom - 0.15, text, size=SMALL, color=MUTED, ha="left")
    for row, model in enumerate(models):
        y = _TOP - 0.18 - step * (row + 0.5)
        weight = "bold" if model == own else "normal"
        share = saved(model)
        look: dict[str, Any] = {"va": "center", "weight": weight}
        name = model.name.split(" (")[0]
        write(paper, _NAMES, y, name, size=SMALL if len(name) > 17 else TEXT, **look)
        write(paper, _COUNTS, y, _from_to(model), ha="right", size=SMALL, color=MUTED, va="center")
        write(paper, _EDGE, y, _share(share), ha="right", color=NOTES.ink, **look)
        paper.barh(y, _BAR_WIDE, 0.17, left=_BAR, color=PAPER, edgecolor=RULE, linewidth=1)
        paper.barh(y, _BAR_WIDE * (1 - share), 0.17, left=_BAR, color=NOTES.fill, linewidth=0)


# --- guests ------------------------------------------------------------------------------------


def _draw_guests(
    paper: Axes,
    desks: Sequence[_Desk],
    fit: tuple[tuple[int, ...], tuple[int, ...]],
    setting: str,
) -> None:
    """A figure for every guest (or for several), with sharing and without."""
    most = max(fit[0][0], fit[1][0])
    each = -(-most // _MOST_DRAWN)
    words = f" (each figure: {each})" if each > 1 else ""
    write(paper, MARGIN, 1.68, f"Guests who fit: {setting}{words}", weight="bold")
    for x, text in ((7.5, "16 bit"), (_EDGE, _LIGHTER)):
        write(paper, x, 1.68, text, ha="right", size=SMALL, color=MUTED)
    pitch = _SEATS_WIDE / max(-(-most // each) / 2, 40)
    for row, (desk, guests) in enumerate(zip((desks[1], desks[0]), fit, strict=True)):
        y = 1.34 - 0.42 * row
        write(paper, MARGIN, y - 0.04, desk.detail)
        _crowd_of(paper, -(-guests[0] // each), y, pitch)
        write(paper, 7.5, y - 0.04, f"{guests[0]:,}", ha="right", weight="bold", size=LEAD + 2)
        write(paper, _EDGE, y - 0.04, f"{guests[1]:,}", ha="right", color=MUTED)


def _crowd_of(paper: Axes, guests: int, y: float, pitch: float) -> None:
    """Guests in two rows: marks, not shapes, which keeps the file small."""
    place = np.arange(guests)
    x, foot = _SEATS + (place // 2 + 0.5) * pitch, y + 0.05 - 0.17 * (place % 2)
    size = 72 * pitch
    look: dict[str, Any] = {"linestyle": "none", "markeredgecolor": INK, "markeredgewidth": 0.4}
    body = look | {"marker": Path.wedge(0, 180), "markersize": 0.9 * size, "zorder": 3}
    head = look | {"marker": "o", "markersize": 0.5 * size, "zorder": 4}
    paper.plot(x, foot, markerfacecolor=ORDER.fill, **body)
    paper.plot(x, foot + 0.55 * pitch, markerfacecolor=scenery.SKIN, **head)
