"""Speculation: how many tokens one pass yields, and how guests use up the chef who pays for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import chance, dimension, instance, wrong
from kitchenlib.measured import Measurement, measurement
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    ORDER,
    PAPER,
    RULE,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    counts,
    end_label,
    footnote,
    grid,
    in_style,
    label_ends,
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.serving import USABLE, memory_needed
from kitchenlib.speculation import accepted_lengths, expected_tokens, speculate
from kitchenlib.units import many, significant

OTHERS = (0.6, 0.7, 0.8, 0.9)  #: acceptances whose means are listed
GUESTS = np.arange(1, 257)
_TICKS = (1, 4, 16, 64, 256)
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")
_MOST = len(_NUMBERS) - 1  # drafted tokens whose bars have room
_LOSS, _BAR = "#F3E2D5", "#E7BFD3"
_ROW, _FOOT = 0.19, 0.62  # inches: a row of the table, its foot
_COLUMNS = (MARGIN + 0.24, 3.44, 5.62, 7.62, 8.62)  # inches: left edges, the last two right edges


@in_style
def guess_ahead(
    model: Model | None = None,
    draft: Model | None = None,
    chip: Chip | None = None,
    drafted: int = 5,
    acceptance: float = 0.8,
    notes: int = 1024,
    chips: int = 4,
) -> Picture:
    """Tokens that one checking pass yields, and the speed-up by guests, drafts looked up or not.

    Args:
        model, draft: in 16 bit; Llama-2-70B, and Llama-2-7B to draft for it.
        chip, chips: on which both are; four H100 SXM.
        drafted: tokens drafted for each guest, 1 to 8.
        acceptance: probability that a draft is accepted.
        notes: tokens in the cache of each guest.

    Raises ``ValueError`` for a number that cannot be drawn.
    """
    model, chip = model or model_called("Llama-2-70B"), chip or chip_called("H100 SXM")
    draft = draft or model_called("Llama-2-7B")
    _check(model, draft, drafted, acceptance, notes)
    lines = [
        _line(model, None, chip, drafted, acceptance, notes, chips),
        _line(model, draft, chip, drafted, acceptance, notes, chips),
    ]
    shares, mean = accepted_lengths(acceptance, drafted), expected_tokens(acceptance, drafted)
    measured = _measured()
    title = (
        f"{_guesses(drafted)} {significant(float(mean))} tokens a pass, {_all(drafted)} "
        f"{shares[-1]:.0%} of the time;\nguests use up the idle chef: "
        f"{_times(lines[0].gains[0])} alone, {_times(lines[0].gains[-1])} with {GUESTS[-1]}"
    )
    lead = (
        f"{model.name}, {chips} {chip.short_label}, 16 bit, {notes:,} tokens of notes; "
        f"a guess is right with probability {acceptance:g} (acceptance)"
    )
    found = "; ".join(point.words() for point in measured)
    alt = (
        f"{title}. {lead}. Tokens a pass: {_distribution(shares)}. Mean by probability: "
        f"{_means(drafted)}. Speed-up by the law: {'; '.join(each.words() for each in lines)}. "
        f"Measured, other models and chips: {found}."
    )
    picture = Picture(WIDTH, 6.14, alt=alt)
    claim(picture, title, lead)
    _bars(panel(picture, 0.5, 2.36, 3.4, 2.5), shares, drafted)
    _curves(panel(picture, 4.74, 2.36, 2.78, 2.5), lines, measured)
    _table(canvas(picture), measured)
    sources = "; ".join(dict.fromkeys(point.source for point in measured))
    dotted = " Dotted: more guests than fit." if min(x.fit for x in lines) < GUESTS[-1] else ""
    source(
        picture,
        f"Law: ideal times, the same probability for each guess, the same text.{dotted}"
        f"{footnote(chip)}\nMeasured: {sources}.",
    )
    return picture


def _check(model: Model, draft: Model, drafted: int, acceptance: float, notes: int) -> None:
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    instance("draft", draft, Model, 'kl.model("Llama-2-7B")')
    if draft.vocab != model.vocab:
        raise ValueError(
            f"{draft.name} knows {draft.vocab:,} tokens and {model.name} {model.vocab:,}: give a "
            "draft model of the same vocabulary"
        )
    if dimension("drafted", drafted, "tokens") > _MOST:
        raise wrong("drafted", drafted, f"give 1 to {_MOST} tokens, for which there is room")
    if np.ndim(chance("acceptance", acceptance, "accepting a draft")):
        raise wrong("acceptance", acceptance, "give one probability, from 0 to 1")
    tokens = dimension("notes", notes, "tokens")
    if model.max_context and tokens > model.max_context:
        raise wrong("notes", notes, f"{model.name} takes at most {model.max_context:,} tokens")


def _guesses(drafted: int) -> str:
    return "One guess yields" if drafted == 1 else f"{_NUMBERS[drafted].capitalize()} guesses yield"


def _all(drafted: int) -> str:
    return "it is right" if drafted == 1 else f"all {_NUMBERS[drafted]}"


def _times(gain: float) -> str:
    return f"× {significant(gain, 3 if gain >= 1 else 2)}"


def _distribution(shares: np.ndarray) -> str:
    return ", ".join(f"{n} with {share:.1%}" for n, share in enumerate(shares, start=1))


def _means(drafted: int) -> str:
    return ", ".join(f"{a:g} {significant(float(expected_tokens(a, drafted)))}" for a in OTHERS)


# --- tokens of one pass ------------------------------------------------------------------------


def _bars(ax: Axes, shares: np.ndarray, drafted: int) -> None:
    """How often one pass yields 1, 2, ... tokens, and the mean."""
    tokens = np.arange(1, drafted + 2)
    high = float(shares.max())
    ax.bar(tokens, shares, 0.74, color=_BAR, edgecolor=ORDER.ink, linewidth=1.0, zorder=2)
    for n, share in enumerate(shares, start=1):
        strong: dict[str, Any] = {"weight": "bold"} if n > drafted else {}
        write(ax, n, share + 0.02 * high, f"{share:.0%}", ha="center", color=ORDER.ink, **strong)
    ax.set(xlim=(0.4, drafted + 1.6), ylim=(0, 1.72 * high), xticks=tokens)
    ax.set_xlabel("tokens that one pass yields (share of passes)")
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    mean = float(shares @ tokens)
    if 1.2 < mean < drafted + 0.5:  # elsewhere the last or the first bar says it
        _mean(ax, mean, shares)
    right = "right" if drafted == 1 else f"all {_NUMBERS[drafted]}\nright"
    write(ax, drafted + 1.4, 1.16 * high, right, ha="right", size=SMALL)
    write(ax, 0.45, 1.61 * high, "mean tokens a pass, by acceptance", color=MUTED)
    for i, a in enumerate(OTHERS):
        x = 0.45 + i * (drafted + 1.1) / len(OTHERS)
        yields = significant(float(expected_tokens(a, drafted)))
        write(ax, x, 1.46 * high, f"{a:g}:", color=MUTED)
        write(ax, x + 0.095 * (drafted + 1), 1.46 * high, yields, weight="bold")


def _mean(ax: Axes, mean: float, shares: np.ndarray) -> None:
    """Where the mean stands, above the bars around it."""
    high = float(shares.max())
    level = 1.1 * float(shares[:-1].max()) + 0.12 * high
    ax.plot([mean, mean], [0, level], color=INK, linewidth=1.1, linestyle=(0, (2, 2)), zorder=4)
    write(ax, mean, level + 0.02 * high, f"mean {significant(mean)}", ha="center", size=SMALL)


# --- speed-up by guests ------------------------------------------------------------------------


class _Line(NamedTuple):
    """The speed-up by guests, and how many of them fit."""

    name: str
    gains: np.ndarray
    fit: int
    role: Role
    dash: Any

    @property
    def loses(self) -> int | None:
        """The fewest guests with whom it is slower than without."""
        slower = GUESTS[self.gains < 1]
        return int(slower[0]) if slower.size else None

    def words(self) -> str:
        several = ", ".join(f"{_times(self.gains[n - 1])} with {n}" for n in _TICKS)
        loses = f", slower than without from {self.loses} guests on" if self.loses else ""
        fit = f" (no more than {self.fit} fit)" if self.fit < GUESTS[-1] else ""
        return f"{self.name} {several}{loses}{fit}"


def _line(
    model: Model,
    draft: Model | None,
    chip: Chip,
    drafted: int,
    acceptance: float,
    notes: int,
    chips: int,
) -> _Line:
    turn = speculate(model, draft, notes, drafted, GUESTS, chips=chips)
    gains = np.asarray(turn.speedup(chip, acceptance))
    fit = _fit([model] if draft is None else [model, draft], chip, notes, chips)
    if draft is None:
        return _Line("drafts looked up", gains, fit, WAITER, "solid")
    return _Line(f"by {draft.name}", gains, fit, CHEF, (0, (6, 2)))


def _fit(models: list[Model], chip: Chip, notes: int, chips: int) -> int:
    """Guests for whom there is room beside the weights of all `models`."""
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    if chip.memory_bytes is None:
        return int(GUESTS[-1])
    needed = sum(np.asarray(memory_needed(m, notes, GUESTS, chips=chips)) for m in models)
    return int(np.sum(needed <= USABLE * chip.memory_bytes))


def _curves(ax: Axes, lines: list[_Line], measured: list[_Point]) -> None:
    top = 1.18 * max(float(line.gains.max()) for line in lines)
    log_axis(ax.xaxis, _TICKS, counts(_TICKS), "guests on one trip")
    ax.set(xlim=(0.72, GUESTS[-1]), ylim=(0, max(top, 2.9)), ylabel="times as fast as without")
    ax.set_yticks(np.arange(0, ax.get_ylim()[1]))
    grid(ax)
    ax.axhspan(0, 1, color=_LOSS, linewidth=0, zorder=0.5)
    ax.axhline(1, color=INK, linewidth=1.0, zorder=1)
    end_label(ax, 0.72, 0, "slower than without", dx=5, dy=9, size=SMALL, color=INK)
    for line in lines:
        kept = slice(0, max(line.fit, 1))
        ax.plot(GUESTS[kept], line.gains[kept], color=line.role.fill, linestyle=line.dash, zorder=3)
        if line.fit < GUESTS[-1]:
            beyond = slice(max(line.fit - 1, 0), None)
            thin: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (1, 2))}
            ax.plot(GUESTS[beyond], line.gains[beyond], color=line.role.fill, zorder=3, **thin)
    ends = [(float(line.gains[-1]), line.name, line.role) for line in lines]
    label_ends(ax, GUESTS[-1], ends)
    for point in measured:
        _mark(ax, point.guests * point.beside, point.gain, point.mark)


def _mark(ax: Axes, x: float, y: float, mark: str) -> None:
    look: dict[str, Any] = {"markerfacecolor": PAPER, "markeredgecolor": INK, "zorder": 5}
    ax.plot(x, y, mark, markersize=7.5, markeredgewidth=1.5, clip_on=False, **look)


# --- what was measured -------------------------------------------------------------------------


class _Point(NamedTuple):
    """A published speed-up.

    Attributes:
        beside: a factor on guests, so that the marks of one guest stand side by side.
    """

    mark: str
    engine: str
    model: str
    chip: str
    guests: int
    gain: float
    source: str
    beside: float = 1.0

    @property
    def who(self) -> str:
        return many(self.guests, "guest")

    def words(self) -> str:
        return f"{self.engine}, {self.model}, {self.chip}, {self.who} {_times(self.gain)}"


def _measured() -> list[_Point]:
    """Published speed-ups of speculation, one guest first."""
    eagle = measurement(engine="SGLang + EAGLE-3", metric="decode_tok_s_per_seq")
    without = measurement(engine="SGLang (no speculation)", metric="decode_tok_s_per_seq")
    crowd = measurement(engine="SGLang + EAGLE-3", metric="speedup")
    three, five = (measurement(engine=f"TensorRT-LLM MTP{n}", metric="speedup") for n in (3, 5))
    heads = f"TensorRT-LLM, MTP, 3 drafted (5: {_times(five.value)})"
    fast = measurement(engine="gpt-fast speculative (draft Llama-2-7B int4)")
    slow = measurement(id="M0801")
    return [
        _point("D", "SGLang, EAGLE-3", eagle, eagle.value / without.value, 0.84),
        _point("^", heads, three, three.value, 1.0),
        _point("s", "gpt-fast, drafts by Llama-2-7B in int4", fast, fast.value / slow.value, 1.0),
        _point("D", "SGLang, EAGLE-3", crowd, crowd.value, 1.0),
    ]


def _point(mark: str, engine: str, row: Measurement, gain: float, beside: float) -> _Point:
    chips = f"{row.chips} × " if row.chips > 1 else ""
    chip = f"{chips}{row.published_chip.removeprefix('NVIDIA ')}"
    model = f"{row.published_model}, {row.published_weights.split(' MoE')[0]}"
    return _Point(mark, engine, model, chip, row.batch, gain, row.source, beside)


def _table(paper: Axes, measured: list[_Point]) -> None:
    top = _FOOT + _ROW * len(measured) + 0.06
    write(paper, MARGIN, top, "Measured: other models and chips", color=MUTED, size=SMALL)
    paper.plot([MARGIN, _COLUMNS[-1]], [top - 0.05] * 2, color=RULE, linewidth=0.8)
    for i, point in enumerate(measured):
        y = top - _ROW * (i + 1)
        _mark(paper, MARGIN + 0.07, y + 0.045, point.mark)
        cells = (point.engine, point.model, point.chip, point.who, _times(point.gain))
        for x, cell in zip(_COLUMNS, cells, strict=True):
            right = x in _COLUMNS[-2:]
            strong = "bold" if x == _COLUMNS[-1] else "normal"
            write(paper, x, y, cell, size=SMALL, weight=strong, ha="right" if right else "left")
