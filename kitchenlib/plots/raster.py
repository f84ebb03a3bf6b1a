"""A `Drawing` as matplotlib artists: what its PNG is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from matplotlib.artist import Artist
from matplotlib.patches import PathPatch
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Transform

from kitchenlib.plots.letters import font, shown
from kitchenlib.plots.vector import DPI, Channels, Counter, Drawing, Group, Mark, Node, Words


def artists(drawing: Drawing, channels: Channels) -> Iterator[Artist]:
    """The drawing at one state as matplotlib artists, in inches from the lower left corner."""
    upright = Affine2D().scale(1 / DPI, -1 / DPI).translate(0, drawing.height / DPI)
    for z, artist in enumerate(_artists(drawing.nodes, channels, upright, 1.0)):
        artist.set_zorder(z)
        yield artist


def _artists(
    nodes: Iterable[Node], channels: Channels, place: Transform, opacity: float
) -> Iterator[Artist]:
    for node in nodes:
        if isinstance(node, Mark):
            yield PathPatch(
                node.path.transformed(place),
                facecolor=node.fill or "none",
                edgecolor=node.stroke or "none",
                linewidth=node.width * 72 / DPI if node.stroke else 0,
                alpha=node.opacity * opacity,
            )
        elif isinstance(node, Words):
            yield _text(node, place, opacity)
        elif isinstance(node, Counter):
            yield _text(_flat(node, channels), place, opacity)
        elif isinstance(node, Group):
            inner, seen = _placed(node, channels)
            if seen:
                yield from _artists(node.children, channels, inner + place, opacity * seen)


def _placed(group: Group, channels: Channels) -> tuple[Affine2D, float]:
    """Where a group stands and how opaque it is."""
    where, seen = Affine2D(), group.opacity
    if group.motion:
        a, b = group.motion.at(channels[group.motion.of])
        if group.motion.how == "fade":
            seen *= a
        elif group.motion.how == "move":
            where = where.translate(a, b)
        else:
            where = where.scale(a, b)
    return where.translate(*group.at), seen


def _flat(counter: Counter, channels: Channels) -> Words:
    text = shown(counter, channels[counter.of])
    look = counter.size, counter.fill, counter.bold, counter.anchor
    return Words(counter.x, counter.y, text, *look)


def _text(words: Words, place: Transform, opacity: float) -> Text:
    x, y = place.transform((words.x, words.y))
    return Text(
        x,
        y,
        words.text,
        color=words.fill,
        alpha=opacity,
        fontproperties=font(words.bold).copy(),
        size=words.size * 72 / DPI,
        ha={"start": "left", "middle": "center", "end": "right"}[words.anchor],
        va="baseline",
        rotation=90 if words.turned else 0,
        rotation_mode="anchor",
        parse_math=False,
    )
