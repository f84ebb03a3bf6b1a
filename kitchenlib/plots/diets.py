"""Notepad diets: what long contexts weigh with shared heads, windows, latents and states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.layers import Attention, Block, LatentAttention, Mamba1, Mamba2
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots.clipboards import unshared
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    PLAIN,
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

MODELS = ("Llama-3.1-70B", "Gemma-3-27B (text)", "gpt-oss-120b", "DeepSeek-V3", "Jamba-v0.1")
CONTEXT = 131_072  #: tokens, the end of the axis
GUESTS = 32  #: who share a step, beside one guest alone
_SHORTEST = 256
_MOST_MODELS = 6
_LOOKS: tuple[tuple[Role, Any, str], ...] = (
    (PLAIN, (0, (1, 1.2)), "s"),
    (NOTES, "solid", "o"),
    (WAITER, (0, (5, 1.5)), "D"),
    (SACK, (0, (4, 1.2, 1, 1.2)), "v"),
    (CHEF, (0, (2.5, 1.2)), "^"),
    (ORDER, (0, (7, 1.2)), "P"),
    (Role(INK, INK), (0, (3, 1, 1, 1, 1, 1)), "X"),
)


def diet(model: Model) -> str:
    """How a model keeps its notes thin, in a few words: "GQA", "window 1,024", "MLA", "hybrid"."""
    instance("model", model, Model, 'kl.model("Llama-3.1-70B")')
    kinds = [block.attention for block in model.blocks]
    noting = [kind for kind in kinds if kind.kv_values]
    if not noting:
        return "state"
    if any(isinstance(kind, (Mamba1, Mamba2)) for kind in kinds):
        return "hybrid"
    if any(isinstance(kind, LatentAttention) for kind in noting):
        return "MLA"
    windows = {kind.window for kind in noting} - {None}
    if windows:
        return f"window {min(filter(None, windows)):,}"
    shared = any(isinstance(kind, Attention) and kind.kv_heads < kind.heads for kind in noting)
    return "GQA" if shared else "MHA"


def notes_per_guest(model: Model, tokens: NDArray[np.float64] | int) -> NDArray[np.float64]:
    """Bytes that a guest of so many tokens leaves in 16 bit: notes, and a state where there is one.

    The state is as the layers keep it (see `kitchenlib.Model.state_bytes`).
    """
    return np.asarray(model.kv_bytes(tokens) + model.state_bytes())


class _Diet(NamedTuple):
    """One model at the longest context.

    Attributes:
        name: how it keeps its notes thin.
        model, context: whose notes, and how many tokens.
        shares: of a step's time that goes to notes, with one guest and with several.
        look: colours, dash and mark.
    """

    name: str
    model: Model
    context: int
    shares: tuple[float, float]
    look: tuple[Role, Any, str]

    @property
    def total(self) -> float:
        return float(notes_per_guest(self.model, self.context))

    @property
    def adds(self) -> float:
        """Bytes that one more token adds at this context."""
        return float(notes_per_guest(self.model, self.context + 1)) - self.total

    @property
    def each(self) -> float:
        """Bytes of a token in a layer, on average over both."""
        return self.total / self.context / self.model.layers

    @property
    def noting(self) -> str:
        """Layers whose notes grow to the end, of all."""
        full = sum(b.layers for b in self.model.blocks if _grows(b, self.context))
        return f"{full} of {self.model.layers}"

    @property
    def title(self) -> str:
        """The model, with a mark where it was not made for so many tokens."""
        name = self.model.name.split(" (")[0]
        return f"{name} *" if _beyond(self) else name

    def __str__(self) -> str:
        alone, together = map(percent, self.shares)
        return (
            f"{self.name} ({self.title}): {human(self.total, 'B')} a guest, one token more adds "
            f"{human(self.adds, 'B')}, in {self.noting} layers; {human(self.each, 'B')} a token "
            f"and layer; notes take {alone} of a step alone, {together} in company"
        )


def _beyond(held: _Diet) -> bool:
    """Whether the model was made for fewer tokens."""
    return held.model.max_context is not None and held.model.max_context < held.context


def _grows(block: Block, context: int) -> bool:
    attention = block.attention
    windowed = attention.window is not None and attention.window <= context
    return bool(attention.kv_values) and not windowed


@in_style
def notepad_diets(
    models: Sequence[str] = MODELS,
    context: int = CONTEXT,
    chip: Chip | None = None,
    guests: int = GUESTS,
) -> Picture:
    """Notes of a guest by the length of the context, for each way to keep them thin.

    The first model also stands at the top without its own way, every query head with notes of its
    own: a model that nobody built, with as many layers.

    Args:
        models: catalogue names, two to six; the first one with shared heads (GQA), against whose
            notes the others are held, layer by layer.
        context: tokens at the end of the axis, at least 1,024.
        chip: on which a step is timed, with memory enough for all; H100 SXM.
        guests: who share a step, at least 2, each with as many notes.

    Raises ``ValueError`` for another number of models, or a first one that shares nothing.
    """
    chip = chip or chip_called("H100 SXM")
    dimension("context", context, "tokens", least=1024)
    dimension("guests", guests, "guests", least=2)
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    if isinstance(models, str) or not 1 < len(models) <= _MOST_MODELS:
        raise wrong("models", models, f"give the catalogue names of 2 to {_MOST_MODELS} models")
    diets = _diets(models, context, chip, guests)
    own, shared, *others = diets
    least, most = (pick(shared.each / d.each for d in others) for pick in (min, max))
    kept, whole = human(shared.total, "B"), human(own.total, "B")
    title = (
        f"Shared heads leave a guest {kept} at {context:,} tokens, not {whole};\n"
        f"other diets leave {_between(1 / most, 1 / least)} of that in each layer"
    )
    lead = "Notes of one guest in 16 bit, states included"
    said = "; ".join(map(str, diets))
    picture = Picture(
        WIDTH,
        6.6,
        alt=f"{' '.join(title.split())}. {lead}. {said}. Company: {guests} guests, on one "
        f"{chip.short_label}.",
    )
    claim(picture, title, lead)
    _draw_totals(picture, diets, context)
    _draw_shares(picture, diets, guests, chip)
    _draw_table(canvas(picture), diets, context)
    made = " * Not made for so long a context." if any(map(_beyond, diets)) else ""
    source(
        picture,
        f"Bounds by the law, on one {chip.short_label} with memory enough. "
        f"Nobody built {own.model.name}.\nPer token and layer: on average over all of both.{made}",
    )
    return picture


def _between(low: float, high: float) -> str:
    few, many = (significant(100 * share, 2) for share in (low, high))
    return f"{few}%" if few == many else f"{few} to {many}%"


def _diets(models: Sequence[str], context: int, chip: Chip, guests: int) -> list[_Diet]:
    known = [model_called(name) for name in models]
    if diet(known[0]) != "GQA":
        wanted = "the first one shares heads and has no window (GQA), for example Llama-3.1-70B"
        raise wrong("models", models, wanted)
    alone = unshared(known[0])
    heads = alone.blocks[0].attention.heads
    alone = replace(alone, name=f"{known[0].name}, {heads} KV heads")
    found = []
    for model, look in zip([alone, *known], _LOOKS, strict=False):
        shares = tuple(_share(model, context, number, chip) for number in (1, guests))
        found.append(_Diet(diet(model), model, context, (shares[0], shares[1]), look))
    return found


def _share(model: Model, context: int, guests: int, chip: Chip) -> float:
    """The share of a decode step's time that goes to notes and states."""
    times = decode_step(model, context, guests).times(chip)
    noted = sum(float(times[part]) for part in ("attention", "state") if part in times)
    return noted / sum(float(time) for time in times.values())


# --- drawing -----------------------------------------------------------------------------------


def _draw_totals(picture: Picture, diets: Sequence[_Diet], context: int) -> None:
    write(picture, MARGIN, 5.2, "A guest's notes, by tokens of context", weight="bold")
    ax = panel(picture, 0.85, 2.98, 2.3, 2.06)
    step = 8 if context <= CONTEXT else 16
    ticks = [tick for tick in _SHORTEST * float(step) ** np.arange(4) if tick <= context]
    log_axis(ax.xaxis, ticks, counts(ticks), "tokens")
    every = np.unique(np.geomspace(_SHORTEST, context, 121).round())
    lines = [notes_per_guest(d.model, every) for d in diets]
    low, high = min(line.min() for line in lines), max(line.max() for line in lines)
    low, high = low / 1.6, high * 1.6
    sizes = [10.0**n for n in range(5, 16) if 1.3 * low < 10.0**n < high]
    log_axis(ax.yaxis, sizes, [human(size, "B", 1) for size in sizes], "")
    ax.set(xlim=(_SHORTEST, context), ylim=(low, high))
    grid(ax)
    for d, line in zip(diets, lines, strict=True):
        ax.plot(every, line, color=d.look[0].fill, linestyle=d.look[1], zorder=3)
    ends = [(d.total, f"{d.name}: {human(d.total, 'B')}", d.look[0]) for d in diets]
    label_ends(ax, context, ends)


def _draw_shares(picture: Picture, diets: Sequence[_Diet], guests: int, chip: Chip) -> None:
    """How much of a step goes to notes: hollow for one guest, full for several."""
    left, wide = 6.5, 2.0
    write(picture, 5.24, 5.2, f"Share of a step's time, one {chip.short_label}", weight="bold")
    ax = panel(picture, left, 2.98, wide, 2.06)
    ax.set(xlim=(0, 1.0), ylim=(len(diets) - 0.4, -0.6), yticks=[])
    ax.set_xticks([0, 0.5, 1.0], ["0", "50%", "100%"])
    ax.set_xlabel(f"hollow: 1 guest, full: {guests:,}")
    grid(ax, "x")
    for row, d in enumerate(diets):
        role, _, shape = d.look
        alone, together = d.shares
        ax.plot(d.shares, [row, row], color=role.fill, linewidth=1.2, zorder=2)
        mark: dict[str, Any] = {"markersize": 7, "color": role.ink, "zorder": 4, "clip_on": False}
        ax.plot(alone, row, shape, **mark, markerfacecolor=PAPER)
        ax.plot(together, row, shape, **mark)
        y = 2.98 + 2.06 * (len(diets) - 0.4 - row) / (len(diets) + 0.2)
        write(picture, left - 0.12, y, d.name, ha="right", va="center", color=role.ink)


_HEADS = (
    (4.62, "layers that\ngrow"),
    (5.62, "one token\nmore adds"),
    (6.6, "in all, a\nguest"),
    (7.7, "per token\nand layer"),
    (8.68, "of GQA's, by\nlayer"),
)


def _draw_table(paper: Axes, diets: Sequence[_Diet], context: int) -> None:
    top = 2.12
    write(paper, MARGIN, top + 0.02, f"At {context:,} tokens", weight="bold")
    style: dict[str, Any] = {"size": SMALL, "color": MUTED, "ha": "right", "linespacing": 1.1}
    for x, head in _HEADS:
        write(paper, x, top, head, **style)
    paper.plot([MARGIN, WIDTH - MARGIN], [top - 0.07] * 2, color=RULE, linewidth=0.8)
    shared = diets[1]
    pitch = min(0.235, 1.45 / len(diets))
    for row, d in enumerate(diets, start=1):
        y = top - 0.06 - pitch * row
        write(paper, MARGIN, y, d.name, color=d.look[0].ink)
        write(paper, MARGIN + 1.16, y, d.title, size=SMALL, color=MUTED)
        cells = (
            d.noting,
            human(d.adds, "B") if d.adds else "nothing",
            human(d.total, "B"),
            human(d.each, "B"),
            f"{significant(100 * d.each / shared.each, 2)}%",
        )
        for (x, _), cell in zip(_HEADS, cells, strict=True):
            write(paper, x, y, cell, ha="right")
