"""Two numbers for every chip: how soon the first token comes, and how fast the others follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip, chip
from kitchenlib.inputs import dimension, wrong
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MUTED,
    NOTES,
    PAPER,
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
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.serving import fits, ttft
from kitchenlib.units import human, significant

#: Of every kind that a reader may have heard of; the others are in the catalogue.
CHIPS = (
    "A100 SXM 80GB",
    "H100 PCIe",
    "H100 SXM",
    "H200 SXM",
    "H20",
    "B200 SXM (HGX/DGX)",
    "L40S",
    "MI300X",
    "Gaudi 3",
    "TPU v5e",
    "TPU v5p",
    "TPU v6e (Trillium)",
    "RTX 3090",
    "RTX 4090",
    "RTX 5090",
    "Apple M4 Pro",
    "Apple M4 Max (40-core)",
    "Apple M2 Ultra",
    "NVIDIA DGX Spark (GB10)",
)
#: Pairs of which the first reads faster and the second writes faster.
PAIRS = (
    ("TPU v6e (Trillium)", "TPU v5p"),
    ("L40S", "A100 SXM 80GB"),
    ("H100 PCIe", "A100 SXM 80GB"),
    ("NVIDIA DGX Spark (GB10)", "Apple M2 Ultra"),
)


class _Numbers(NamedTuple):
    """Of one chip: seconds to the first token, tokens per second after it, whether it fits."""

    chip: Chip
    first: float
    speed: float
    fits: bool


class _Kind(NamedTuple):
    memories: tuple[str, ...]  # how `Chip.memory_kind` begins
    name: str
    shape: str
    size: float
    role: Role


_KINDS = (
    _Kind(("HBM", "on-chip"), "HBM", "o", 8.5, WAITER),
    _Kind(("GDDR",), "GDDR (graphics cards)", "^", 9, CHEF),
    _Kind(("LPDDR", "DDR"), "DDR (laptops, desktops)", "s", 7.5, NOTES),
)
_RIDGES = (35, 150, 500)  # FLOP per byte: lines on which they are the same
_SLOPE = "#C4B9A5"  # pale: names lie on these lines
_LEFT, _BOTTOM, _WIDE, _HIGH = 0.98, 1.02, 5.2, 4.4  # inches
_FIRSTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)  # ticks: seconds
_SPEEDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # ticks: tokens per second
_READING = (
    "Dotted: these pairs.\nDashed: the same ridge, in FLOP\nper byte. Up along such a line,\n"
    "a chip is faster at both. Across\nthe lines, it trades one for the\nother."
)
_MOST_PAIRS = 5
_COLUMNS = ((8.02, "reads", CHEF), (8.66, "writes", WAITER))  # right edge, name, colours
#: Where a name stands from its mark: points to the right and up, and the alignment.
_RIGHT = (8.0, 0.0, "left")
_BESIDE: dict[str, tuple[float, float, str]] = {
    "A100 SXM 80GB": (5, 10, "left"),
    "H100 PCIe": (-8, 0, "right"),
    "L40S": (-8, 0, "right"),
    "MI300X": (-8, 0, "right"),
    "Gaudi 3": (0, -13, "center"),
    "TPU v5e": (5, -10, "left"),
    "TPU v6e (Trillium)": (-8, 0, "right"),
    "RTX 3090": (8, 1, "left"),
    "RTX 4090": (3, 11, "left"),
    "RTX 5090": (8, -2, "left"),
}


@in_style
def two_numbers(
    model: Model | None = None,
    prompt: int = 4000,
    chips: Sequence[str] = CHIPS,
    pairs: Sequence[tuple[str, str]] = PAIRS,
) -> Picture:
    """Time to first token against tokens per second of one guest, chip by chip, on the ideal law.

    Args:
        model: at 16 bit; Llama-3.1-8B, which fits into most chips.
        prompt: tokens read, and in the cache when the writing begins.
        chips: catalogue names.
        pairs: one to five. The first chip of each reads faster, the second one writes faster;
            the first pair is in the title.

    Raises ``ValueError`` for fewer than two chips, for another number of pairs and for a pair that
    is not such a pair or not among the chips, `UnknownName` for a name in no catalogue.
    """
    model = model or model_called("Llama-3.1-8B")
    dimension("prompt", prompt, "tokens")
    points = {point.chip.name: point for point in (_numbers(model, c, prompt) for c in chips)}
    if len(points) < 2:
        raise wrong("chips", tuple(chips), "give the catalogue names of two chips or more")
    duels = [_duel(points, pair) for pair in pairs]
    if not 0 < len(duels) <= _MOST_PAIRS:
        raise ValueError(f"{len(duels)} pairs will not do: give 1 to {_MOST_PAIRS}")
    (one, other), crossed = duels[0], _crossed(list(points.values()))
    reads, writes = _ratio(other.first / one.first), _ratio(other.speed / one.speed)
    winners = f"{_short(one)} reads × {reads}, {_short(other)} writes × {writes}"
    title = f"No single number orders these chips:\n{winners}"
    of = len(points) * (len(points) - 1) // 2
    setting = f"{model.name}, 16 bit, one guest"
    lead = f"{setting}. In {crossed} of {of} pairs of chips the faster reader writes slower"
    law = f"Ideal times for a prompt of {prompt:,} tokens"
    said = "; ".join(map(_in_words, points.values()))
    alt = f"{' '.join(title.split())}. {lead}. {law}: {said}. {_duels_in_words(duels)}."
    picture = Picture(WIDTH, 6.84, alt=alt)
    claim(picture, title, lead)
    ax = _axes(picture, list(points.values()), prompt)
    _ridge_lines(ax, model, prompt)
    for one, other in duels:
        ends = (one.first, other.first), (one.speed, other.speed)
        ax.plot(*ends, color=INK, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=2)
    for point in points.values():
        _mark(ax, point)
    all_fit = all(point.fits for point in points.values())
    _key(ax, all_fit)
    _beside(canvas(picture), duels)
    hollow = "" if all_fit else " Hollow: more is needed than nine tenths of the memory."
    source(picture, f"{law}, one chip.{hollow} * Not fully verified.")
    return picture


def _numbers(model: Model, name: str, prompt: int) -> _Numbers:
    on = chip(name)
    first = float(ttft(model, on, prompt))
    speed = 1 / float(decode_step(model, prompt).time(on))
    return _Numbers(on, first, speed, bool(fits(model, on, prompt)))


def _duel(points: dict[str, _Numbers], pair: tuple[str, str]) -> tuple[_Numbers, _Numbers]:
    """The numbers of a pair, which must be shown and must have two winners."""
    names = [chip(name).name for name in pair]
    if len(names) != 2 or not set(names) <= set(points):
        raise wrong("pairs", tuple(pair), "give pairs of two chips that are among chips")
    one, other = (points[name] for name in names)
    if not (one.first < other.first and one.speed < other.speed):
        wanted = "give pairs of which the first chip reads faster and the second writes faster"
        raise wrong("pairs", tuple(pair), wanted)
    return one, other


def _crossed(points: Sequence[_Numbers]) -> int:
    """Pairs whose faster reader is the slower writer."""
    first, speed = np.array([[p.first, p.speed] for p in points]).T
    return int(np.sum((first[:, None] < first) & (speed[:, None] < speed)))


def _short(point: _Numbers) -> str:
    return point.chip.short_label


def _ratio(ratio: float) -> str:
    return significant(ratio, 2)


def _in_words(point: _Numbers) -> str:
    fit = "" if point.fits else " (if it had the memory)"
    return (
        f"{_short(point)} {human(point.first, 's')}, {significant(point.speed)} tokens a "
        f"second{fit}"
    )


# --- the plane ---------------------------------------------------------------------------------


def _axes(picture: Picture, points: Sequence[_Numbers], prompt: int) -> Axes:
    ax = panel(picture, _LEFT, _BOTTOM, _WIDE, _HIGH)
    firsts, speeds = [p.first for p in points], [p.speed for p in points]
    limits = (min(firsts) / 1.8, max(firsts) * 4.5), (min(speeds) / 1.8, max(speeds) * 1.7)
    ticks = [
        [tick for tick in some if low < tick < high]
        for some, (low, high) in zip((_FIRSTS, _SPEEDS), limits, strict=True)
    ]
    across = f"TTFT: seconds to the first token (prompt of {prompt:,})"
    log_axis(ax.xaxis, ticks[0], counts(ticks[0]), across)
    log_axis(ax.yaxis, ticks[1], counts(ticks[1]), "tokens per second after it, for one guest")
    ax.set(xlim=limits[0], ylim=limits[1])
    grid(ax)
    return ax


def _ridge_lines(ax: Axes, model: Model, prompt: int) -> None:
    """Lines of one ridge: a chip twice as fast at both stands further up to the left on it."""
    low, high = ax.get_xlim()
    for ridge in _RIDGES:
        unit = Chip("unit", bandwidth=1e12, peaks={"bf16": ridge * 1e12})
        first = float(ttft(model, unit, prompt))
        speed = 1 / float(decode_step(model, prompt).time(unit))
        ends = np.array([low, high])
        ax.plot(ends, speed * first / ends, color=_SLOPE, linewidth=1.0, dashes=(6, 3))
        floor = 1.13 * ax.get_ylim()[0]
        at = speed * first / floor
        if low < at < high / 2:  # with room for the words
            end_label(ax, at, floor, f"ridge {ridge}", size=SMALL)


def _mark(ax: Axes, point: _Numbers) -> None:
    kind = next(k for k in _KINDS if point.chip.memory_kind.startswith(k.memories))
    _shape(ax, point.first, point.speed, kind, point.fits)
    dx, dy, ha = _BESIDE.get(point.chip.name, _RIGHT)
    place: dict[str, Any] = {"dx": dx, "dy": dy, "ha": ha, "zorder": 6}
    end_label(ax, point.first, point.speed, _short(point), color=INK, **place)


def _shape(ax: Axes, x: float, y: float, kind: _Kind, filled: bool = True, **more: Any) -> None:
    fill, edge = (kind.role.fill, PAPER) if filled else (PAPER, kind.role.fill)
    look: dict[str, Any] = {"markerfacecolor": fill, "markeredgecolor": edge}
    look |= {"markersize": kind.size, "markeredgewidth": 1.0 if filled else 1.6, "zorder": 5}
    ax.plot(x, y, kind.shape, **look | more)


def _key(ax: Axes, all_fit: bool) -> None:
    """What the shapes are, and what lies where."""
    inside: dict[str, Any] = {"transform": ax.transAxes}
    rows = [(kind, True, kind.name) for kind in _KINDS]
    if not all_fit:
        rows.append((_KINDS[0], False, "hollow: too little memory"))
    for i, (kind, filled, text) in enumerate(rows):
        y = 0.965 - 0.046 * i
        _shape(ax, 0.58, y, kind, filled, **inside)
        write(ax, 0.605, y, text, size=SMALL, va="center", **inside)
    quiet: dict[str, Any] = {"color": MUTED, "linespacing": 1.25, "style": "italic", **inside}
    write(ax, 0.98, 0.62, "reads slowly,\nwrites fast", ha="right", **quiet)
    write(ax, 0.02, 0.16, "reads fast,\nwrites slowly", **quiet)


def _beside(paper: Axes, duels: Sequence[tuple[_Numbers, _Numbers]]) -> None:
    """The pairs, each with what the first chip is times the second."""
    left, top = 6.44, _BOTTOM + _HIGH
    write(paper, left, top - 0.12, "times as fast", color=MUTED, size=SMALL)
    for x, name, role in _COLUMNS:
        write(paper, x, top - 0.12, name, ha="right", color=role.ink)
    for i, (one, other) in enumerate(duels):
        y = top - 0.56 - 0.62 * i
        write(paper, left, y, _short(one))
        write(paper, left, y - 0.2, f"against {_short(other)}", color=MUTED, size=SMALL)
        for (x, _, role), ratio in zip(_COLUMNS, _ratios(one, other), strict=True):
            write(paper, x, y, f"× {ratio}", ha="right", color=role.ink, weight="bold")
    quiet: dict[str, Any] = {"size": SMALL, "color": MUTED, "linespacing": 1.35, "va": "top"}
    write(paper, left, top - 0.62 * len(duels) - 0.52, _READING, **quiet)


def _ratios(one: _Numbers, other: _Numbers) -> tuple[str, str]:
    return _ratio(other.first / one.first), _ratio(one.speed / other.speed)


def _duels_in_words(duels: Sequence[tuple[_Numbers, _Numbers]]) -> str:
    return "; ".join(
        f"{_short(one)} against {_short(other)}: reads × {read}, writes × {written}"
        for one, other in duels
        for read, written in [_ratios(one, other)]
    )
