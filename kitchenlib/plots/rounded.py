"""How well the real model reads with its weights rounded to few bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from kitchenlib.inputs import dimension, quantity, wrong
from kitchenlib.llm.reading import Reading, readings
from kitchenlib.models import model
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MUTED,
    NOTES,
    RULE,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
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
from kitchenlib.units import significant

_Place = tuple[float, float]


class _Look(NamedTuple):
    role: Role
    mark: str
    dash: Any


_LOOKS = {
    32: _Look(WAITER, "o", "solid"),
    64: _Look(NOTES, "s", (0, (6, 2))),
    128: _Look(CHEF, "D", (0, (2, 1.5))),
}
_STRIPE, _RIM = "#F1EBDE", 0.1  # bits that a stripe is wider than its points, on each side
_LOW = 3  # bits of which the title tells
_NEAR = 4  # bits from which on the second panel looks closer
_LEAST, _MOST = 9.0, 1e6  # perplexities
_RING = 1.5  # a ring on the edge is so many times inside it
_DEEP, _HIGH = -0.32, 0.78  # shares above exact in the second panel
_CHANCE = 0.01  # less than this says nothing, for a text so short
_WIDEST = 9.3  # bits per weight at the right edge


class _Point(NamedTuple):
    """A perplexity at a width, and in words."""

    bits: int
    group: int
    width: float
    perplexity: float

    def words(self) -> str:
        return f"{self.bits} bits {_number(self.perplexity)}"


@in_style
def perplexity_by_bits(read: Sequence[tuple[int, int, float]] = ()) -> Picture:
    """How well SmolLM2 reads with weights rounded to few bits, from ``data/perplexity.csv``.

    Args:
        read: (bits, group, perplexity) of models that the reader rounded, drawn on top as rings:
            groups as in the file, 2 to 8 bits.

    Raises ``ValueError`` for what is no such triple.
    """
    exact, points = _stored()
    mine = [_checked(each, points) for each in read]
    vocabulary = model("SmolLM2-135M").vocab
    same = next(p for p in points if p.perplexity == exact.perplexity)
    bad = [p.perplexity for p in points if p.bits == _LOW]
    title = (
        f"At {_LOW} bits SmolLM2 chooses among {min(bad):.0f} to {max(bad):.0f} tokens instead of "
        f"{exact.perplexity:.0f};\n{same.bits} bits in groups of {same.group} lose nothing: "
        "the file has no more"
    )
    lead = (
        f"{exact.model} reads {exact.tokens} tokens. Perplexity: among how many tokens it seems "
        "to\nchoose, the fewer the better. Weights rounded to nearest; their scales count as bits"
    )
    alt = f"{title}. {' '.join(lead.split())}. {_in_words(exact, points, mine, vocabulary)}"
    picture = Picture(WIDTH, 6.0, alt=alt)
    claim(picture, title, lead)
    _whole(picture, exact.perplexity, points, mine, vocabulary)
    _close(picture, exact.perplexity, points, mine, same)
    source(
        picture,
        f"Measured with {exact.source}, {exact.date}; text: data/{exact.text}. The stored weights "
        "are rounded once more,\nthe embedding is not. Methods that look at data while they round "
        "lose less.",
    )
    return picture


def _stored() -> tuple[Reading, list[_Point]]:
    """The model as it is, and the points, by groups and bits."""
    rows = readings()
    exact = next(row for row in rows if row.bits is None)
    points = [
        _Point(row.bits, row.group, row.bits_per_weight, row.perplexity)
        for row in rows
        if row.bits is not None and row.group is not None and row.bits_per_weight is not None
    ]
    return exact, points


def _checked(each: object, points: Sequence[_Point]) -> _Point:
    """What the reader measured, at its bits per weight."""
    wanted = "give triples (bits, group, perplexity), for example (3, 32, 99.6)"
    if not isinstance(each, Sequence) or isinstance(each, str) or len(each) != 3:
        raise wrong("read", each, wanted)
    bits, group = dimension("bits", each[0], "bits"), dimension("group", each[1], "weights")
    scales = {p.group: p.width - p.bits for p in points}
    widths = [p.bits for p in points]
    if group not in scales:
        known = ", ".join(map(str, scales))
        raise wrong("group", group, f"the picture has groups of {known} weights")
    if not min(widths) <= bits <= max(widths):
        raise wrong("bits", bits, f"the picture shows {min(widths)} to {max(widths)} bits")
    return _Point(bits, group, bits + scales[group], quantity("perplexity", each[2], "tokens"))


def _number(perplexity: float) -> str:
    return significant(perplexity, 3)


def _in_words(
    exact: Reading, points: Sequence[_Point], mine: Sequence[_Point], vocabulary: int
) -> str:
    said = [f"As it is: {_number(exact.perplexity)}"]
    for group in _LOOKS:
        words = ", ".join(p.words() for p in points if p.group == group)
        said.append(f"groups of {group}: {words}")
    worse = [p.bits for p in points if p.perplexity > vocabulary]
    if worse:
        said.append(f"with {max(worse)} bits it is worse than a guess among all {vocabulary:,}")
    if mine:
        found = ", ".join(f"{p.words()} in groups of {p.group}" for p in mine)
        said.append(f"measured here: {found}")
    return "; ".join(said) + "."


def _stripes(ax: Axes, points: Sequence[_Point]) -> None:
    """A stripe for each number of bits, and its name above."""
    place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    for bits in sorted({p.bits for p in points}):
        widths = [p.width for p in points if p.bits == bits]
        low, high = min(widths), max(widths)
        ax.axvspan(low - _RIM, high + _RIM, color=_STRIPE, linewidth=0, zorder=0)
        name = f"{bits} bits" if bits == points[-1].bits else f"{bits}"
        ax.annotate(name, ((low + high) / 2, 1), (0, 4), ha="center", color=MUTED, **place)


def _draw(ax: Axes, points: Iterable[_Point], mine: Iterable[_Point], exact: float | None) -> None:
    """Lines, marks and rings; heights as shares above `exact` where it is given."""

    def height(point: _Point) -> float:
        return point.perplexity if exact is None else point.perplexity / exact - 1

    for group, look in _LOOKS.items():
        line = sorted((p for p in points if p.group == group), key=lambda p: p.width)
        at = [p.width for p in line], [height(p) for p in line]
        ax.plot(*at, color=look.role.fill, linestyle=look.dash, linewidth=1.5, zorder=3)
        ax.plot(*at, look.mark, color=look.role.fill, markersize=6, zorder=4)
    hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK, "clip_on": False}
    for point in mine:
        ax.plot(point.width, height(point), "o", markersize=12, zorder=5, **hollow)


def _whole(
    picture: Picture,
    exact: float,
    points: Sequence[_Point],
    mine: Sequence[_Point],
    vocabulary: int,
) -> None:
    """All widths, from exact to worse than a guess. What lies beyond stands on the edge."""
    write(picture, 0.98, 4.3, "All widths", weight="bold")
    ax = panel(picture, 0.98, 1.15, 3.94, 2.86)
    ticks = (10, 100, 1000, 10_000, 100_000)
    log_axis(ax.yaxis, ticks, counts(ticks), "perplexity (tokens)")
    ax.set(xlim=(1.9, _WIDEST), ylim=(_LEAST, _MOST), xlabel="bits per weight")
    ax.set_xticks(range(2, int(_WIDEST) + 1))
    grid(ax, "y")
    _stripes(ax, points)
    low, high = _LEAST * _RING, _MOST / _RING
    shown = [p._replace(perplexity=min(max(p.perplexity, low), high)) for p in mine]
    _draw(ax, points, shown, None)
    for level in (exact, vocabulary):
        ax.axhline(level, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), zorder=2)
    write(ax, 2.0, 0.84 * exact, f"as it is {_number(exact)}", size=SMALL, va="top")
    guess = f"above: worse than a blind guess\namong all {vocabulary:,} tokens"
    look: dict[str, Any] = {"size": SMALL, "ha": "right", "va": "top", "linespacing": 1.2}
    write(ax, _WIDEST, 0.78 * vocabulary, guess, **look)
    places = {128: ("right", -7, 0), 64: ("right", -7, -3), 32: ("left", 9, 8)}
    for point in (p for p in points if p.bits == _LOW):
        side, dx, dy = places[point.group]
        look = {"ha": side, "size": SMALL, "dx": dx, "dy": dy}
        at = point.width, point.perplexity
        end_label(ax, *at, f"{point.perplexity:.0f}", _LOOKS[point.group].role, **look)
    _key(ax, points, mine, shown)


def _key(
    ax: Axes, points: Sequence[_Point], mine: Sequence[_Point], shown: Sequence[_Point]
) -> None:
    """Marks and what they mean, in the empty corner."""
    place: dict[str, Any] = {"transform": ax.transAxes}
    for i, (group, look) in enumerate(reversed(_LOOKS.items())):
        y = 0.57 - 0.085 * i
        scales = next(p.width - p.bits for p in points if p.group == group)
        style: dict[str, Any] = {"zorder": 4, "color": look.role.fill, **place}
        ax.plot([0.33, 0.46], [y, y], linestyle=look.dash, linewidth=1.5, **style)
        ax.plot(0.395, y, look.mark, markersize=6, **style)
        text = f"groups of {group}: + {round(scales, 2):g} bit"
        write(ax, 0.485, y, text, va="center", color=look.role.ink, **place)
    if mine:
        y = 0.55 - 0.085 * len(_LOOKS)
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK, **place}
        ax.plot(0.395, y, "o", markersize=12, **hollow)
        text = "measured here" if list(shown) == list(mine) else "here (on the edge: beyond)"
        write(ax, 0.485, y, text, va="center", **place)


def _close(
    picture: Picture, exact: float, points: Sequence[_Point], mine: Sequence[_Point], same: _Point
) -> None:
    """The wider ones close by, as shares above exact."""
    write(picture, 5.72, 4.3, f"{_NEAR} bits and more, close by", weight="bold")
    ax = panel(picture, 5.72, 1.15, 2.92, 2.86)
    ax.set(xlim=(4.0, _WIDEST), ylim=(_DEEP, _HIGH), xlabel="bits per weight")
    ax.set_xticks(range(_NEAR, int(_WIDEST) + 1))
    ticks = (0.0, 0.2, 0.4, 0.6)
    ax.set_yticks(ticks, ["as it is", *(f"+{tick:.0%}" for tick in ticks[1:])])
    grid(ax, "y")
    wide = [p for p in points if p.bits >= _NEAR]
    _stripes(ax, wide)
    ax.axhspan(-_CHANCE, _CHANCE, color=RULE, linewidth=0, zorder=1)
    inside = [p for p in mine if p.bits >= _NEAR and _DEEP < p.perplexity / exact - 1 < _HIGH]
    _draw(ax, wide, inside, exact)
    trap = "these are the stored\nweights: nothing left\nto round"
    _remark(ax, (same.width, 0.0), (4.12, -0.11), trap, bool(inside))
    after = [p for p in points if p.bits == same.bits + 1]
    loss = [p.perplexity / exact - 1 for p in after]
    worst = next(p for p in after if p.group == same.group)
    finer = f"{worst.bits} bits lose {min(loss):.0%} to {max(loss):.0%}:\ntheir steps are others"
    _remark(ax, (worst.width, worst.perplexity / exact - 1), (6.15, 0.42), finer, bool(inside))
    chance = f"within {_CHANCE:.0%}: chance,\nfor a short text"
    write(ax, _WIDEST, -0.11, chance, size=SMALL, ha="right", va="top", linespacing=1.2)


def _remark(ax: Axes, at: _Place, place: _Place, text: str, ringed: bool) -> None:
    """Words with a thin line to a point, ending clear of it and of its ring."""
    clear = 10.0 if ringed else 7.0
    arrow = {"arrowstyle": "-", "color": INK, "linewidth": 0.9, "shrinkB": clear, "shrinkA": 2.0}
    look: dict[str, Any] = {"size": SMALL, "linespacing": 1.2, "color": INK, "va": "top"}
    ax.annotate(text, at, place, textcoords="data", arrowprops=arrow, **look)
