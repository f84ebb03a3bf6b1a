"""Two chips, two winners: who reads faster, and who writes faster, measured in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from kitchenlib.chips import chip
from kitchenlib.measured import Measurement, measurement
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MUTED,
    PAPER,
    PLAIN,
    SMALL,
    TEXT,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    grid,
    in_style,
    log_axis,
    origin,
    panel,
    source,
    write,
)
from kitchenlib.units import significant


class Pair(NamedTuple):
    """Two chips that were measured under the same conditions: catalogue names."""

    one: str
    other: str
    model: str
    weights: str


class _Ratios(NamedTuple):
    """The first chip over the second: measured, and on the data sheets."""

    read: float
    write: float
    compute: float
    bandwidth: float


PAIRS = (
    Pair("RTX 4070 Ti", "RTX 3080 10GB", "Llama-3.1-8B", "Q4_K_M"),
    Pair("L40S", "A100 PCIe 80GB", "Llama-3.1-8B", "Q4_K_M"),
    Pair("H100 PCIe", "A100 SXM 80GB", "Llama-3.1-70B", "Q4_K_M"),
    Pair("RTX 4090", "RTX 3090", "Llama-3.1-8B", "fp16"),
    Pair("RTX 4080", "Apple M2 Ultra", "Llama-3.1-8B", "fp16"),
)
_TABLE, _TOKENS = "XiongjieDai GPU-Benchmarks", 1024  # read, and written
_LEFT, _WIDE, _BOTTOM, _ROW = 3.2, 4.1, 1.1, 0.62  # inches
#: The two sides: the centre of a column in inches, its name, colours and mark.
_SIDES: tuple[tuple[float, str, Role, str], ...] = (
    (7.72, "reads", CHEF, "s"),
    (8.38, "writes", WAITER, "o"),
)


@in_style
def chip_duel(pairs: Sequence[Pair] = PAIRS) -> Picture:
    """Pairs of chips: how many times as fast the first one reads and writes, measured.

    Args:
        pairs: the first one is in the title.
    """
    ratios = [_ratios(pair) for pair in pairs]
    read, written = _short(ratios[0].read), _short(ratios[0].write)
    title = f"Two chips, two winners: {pairs[0].one} reads × {read}, writes × {written}"
    lead = "Large marks: measured in one table. Small: what the data sheets let you expect"
    said = "; ".join(map(_in_words, pairs, ratios))
    high = _ROW * len(pairs)
    picture = Picture(WIDTH, high + 2.62, alt=f"{title}. {lead}. {said}.")
    claim(picture, title, lead)
    paper = canvas(picture)
    _heads(paper, _BOTTOM + high)
    ax = panel(picture, _LEFT, _BOTTOM, _WIDE, high)
    ticks = (0.5, 1, 2, 5)
    log_axis(ax.xaxis, ticks, [f"× {tick:g}" for tick in ticks], "")
    ax.set(xlim=(0.4, 6.6), ylim=(0, high))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    grid(ax, "x")
    ax.axvline(1, color=INK, linewidth=1.2)
    for i, (pair, ratio) in enumerate(zip(pairs, ratios, strict=True)):
        y = high - _ROW * (i + 0.5)
        _marks(ax, y, ratio)
        _words(paper, _BOTTOM + y, pair, ratio)
    source(picture, _source(pairs[0]))
    return picture


def _rows(pair: Pair, metric: str, **size: int) -> list[Measurement]:
    """The same measurement of both chips."""
    same: dict[str, Any] = {"source": _TABLE, "chips": 1, **size}
    same |= {"model": pair.model, "weights": pair.weights}
    return [measurement(metric=metric, chip=name, **same) for name in (pair.one, pair.other)]


def _ratios(pair: Pair) -> _Ratios:
    read = [row.value for row in _rows(pair, "prefill_tok_s", prompt=_TOKENS)]
    written = [row.value for row in _rows(pair, "decode_tok_s_per_seq", output=_TOKENS)]
    one, other = chip(pair.one), chip(pair.other)
    return _Ratios(
        read=read[0] / read[1],
        write=written[0] / written[1],
        compute=one.peak() / other.peak(),
        bandwidth=one.bandwidth / other.bandwidth,
    )


def _short(ratio: float) -> str:
    return significant(ratio, 3 if ratio >= 1 else 2)


def _in_words(pair: Pair, ratio: _Ratios) -> str:
    read, written, compute, bandwidth = map(_short, ratio)
    return (
        f"{pair.one} against {pair.other}, {_conditions(pair)}: reads × {read}, writes × {written} "
        f"(data sheets: FLOP/s × {compute}, bandwidth × {bandwidth})"
    )


def _conditions(pair: Pair) -> str:
    """Model and format as the table calls them."""
    row = _rows(pair, "prefill_tok_s", prompt=_TOKENS)[0]
    return f"{row.published_model} {row.published_weights}"


def _heads(paper: Axes, top: float) -> None:
    """Names of the columns with their marks, and what the two directions mean."""
    for x, name, role, shape in _SIDES:
        write(paper, x, top + 0.12, name, ha="center", color=role.ink)
        paper.plot(x, top + 0.42, shape, color=role.fill, markersize=8)
    write(paper, _LEFT, top + 0.12, "← the second is faster", color=MUTED)
    right = _LEFT + _WIDE
    write(paper, right, top + 0.12, "the first is faster →", color=MUTED, ha="right")


def _marks(ax: Axes, y: float, ratio: _Ratios) -> None:
    """Measured above, data sheets below; compute square, memory round."""
    for up, size, values in ((0.09, 8, ratio[:2]), (-0.12, 6, ratio[2:])):
        ax.plot(values, [y + up] * 2, color=PLAIN.fill, linewidth=1.2, zorder=3)
        for value, (_, _, role, shape) in zip(values, _SIDES, strict=True):
            look: dict[str, Any] = {"markeredgecolor": role.fill, "markeredgewidth": 1.5}
            look["markerfacecolor"] = role.fill if size == 8 else PAPER
            ax.plot(value, y + up, shape, markersize=size, zorder=5, **look)


def _words(paper: Axes, y: float, pair: Pair, ratio: _Ratios) -> None:
    names, centre = f"{chip(pair.one).label} against {chip(pair.other).label}", {"va": "center"}
    write(paper, _LEFT - 0.14, y + 0.1, names, ha="right", size=TEXT, **centre)
    what = _conditions(pair)
    write(paper, _LEFT - 0.14, y - 0.1, what, ha="right", size=SMALL, color=MUTED, **centre)
    for value, (x, _, role, _) in zip(ratio[:2], _SIDES, strict=True):
        strong: dict[str, Any] = {"ha": "center", "weight": "bold", "size": LEAD, **centre}
        write(paper, x, y, f"× {_short(value)}", color=role.ink, **strong)


def _source(pair: Pair) -> str:
    row = _rows(pair, "prefill_tok_s", prompt=_TOKENS)[0]
    table = origin(row.locator)
    note = "* Not fully verified. RTX 30 and 40 cards can multiply F16 at twice the rate listed."
    return f"{table}, {row.engine}: {_TOKENS:,} tokens read, {_TOKENS:,} written.\n{note}"
