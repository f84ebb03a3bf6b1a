"""A `Drawing` as SVG: still, looping by itself, or with handles for a player.

The text is the same to the byte on every machine: coordinates are rounded, letters are outlines.
"""

from __future__ import annotations

import functools
import html
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.path import Path

from kitchenlib.plots.letters import EM, glyph, text_width, unfolded
from kitchenlib.plots.vector import (
    Channels,
    Counter,
    Drawing,
    Group,
    Mark,
    Motion,
    Node,
    Point,
    Reel,
    Window,
    Words,
    box,
)

_LINE = 1.5  # rows of a reel of digits, in units of the letters' size

# --- numbers and outlines ----------------------------------------------------------------------


def number(value: float, decimals: int = 2) -> str:
    """A coordinate, as short as it can be."""
    text = f"{value:.{decimals}f}"
    if decimals:
        text = text.rstrip("0").rstrip(".")
    if text in ("-0", ""):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def path_data(path: Path, decimals: int = 1) -> str:
    """An outline as the ``d`` of an SVG path: steps from point to point, which are short."""
    unit = 10**decimals
    points = [(round(x * unit), round(y * unit)) for x, y in np.asarray(path.vertices).tolist()]
    codes = [Path.MOVETO, *[Path.LINETO] * (len(points) - 1)]  # what a path without codes means
    if path.codes is not None:
        codes = np.asarray(path.codes).tolist()
    parts: list[str] = []
    here = begin = (0, 0)  # whole multiples of 1/unit, so that rounding does not add up
    i = 0
    while i < len(codes):
        code = codes[i]
        many = _POINTS[code]
        to = points[i : i + many]
        i += many
        if code == Path.CLOSEPOLY:
            parts.append("z")
            here = begin
            continue
        if code == Path.MOVETO:
            parts.append(f"M{_step(to[0][0], unit)} {_step(to[0][1], unit)}")
            begin = to[0]
        else:
            parts.append(_steps(_LETTERS[code], here, to, unit))
        here = to[-1]
    return "".join(parts)


_POINTS = {Path.CLOSEPOLY: 1, Path.MOVETO: 1, Path.LINETO: 1, Path.CURVE3: 2, Path.CURVE4: 3}
_LETTERS = {Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}


def _steps(letter: str, here: tuple[int, int], to: list[tuple[int, int]], unit: int) -> str:
    """From `here` to the points: along an axis where that is shorter, nothing where it is none."""
    x, y = here
    moves = [p - q for point in to for p, q in zip(point, (x, y), strict=True)]
    if letter == "l" and 0 in moves:
        if not any(moves):
            return ""
        return f"h{_step(moves[0], unit)}" if moves[0] else f"v{_step(moves[1], unit)}"
    return letter + _joined(_step(move, unit) for move in moves)


@functools.cache
def _step(value: int, unit: int) -> str:
    return number(value / unit, len(str(unit)) - 1)


def _joined(numbers: Iterable[str]) -> str:
    """Numbers in a row; a minus sign separates as well as a space."""
    return " ".join(numbers).replace(" -", "-")


_known: WeakKeyDictionary[Path, str] = WeakKeyDictionary()  # many outlines are drawn again
Animate = Callable[[Motion | Reel, float], str]  # the elements that let a thing follow, or none


class _Writer:
    """Writes nodes as SVG; what follows the state gets an id, in the order of the drawing."""

    def __init__(
        self, channels: Channels, animate: Animate | None = None, *, final: bool = False
    ) -> None:
        """`final`: nobody will move it later, so it needs no ids, and nothing invisible."""
        self.channels, self.animate, self.final = channels, animate, final
        self.glyphs: dict[tuple[str, bool], str] = {}
        self.reels: dict[tuple[float, bool], str] = {}
        self.followers: list[tuple[str, Motion | Reel, float]] = []

    def nodes(self, nodes: Iterable[Any]) -> str:
        return "".join(self.node(node) for node in nodes)

    def node(self, node: Any) -> str:
        if isinstance(node, Mark):
            return self._mark(node)
        if isinstance(node, Words):
            return self._words(node)
        if isinstance(node, Counter):
            return self.node(unfolded(node))
        if isinstance(node, Window):
            return self._window(node)
        return self._group(node)

    def _mark(self, mark: Mark) -> str:
        look = f' fill="{mark.fill or "none"}"'
        if mark.stroke:
            look += f' stroke="{mark.stroke}" stroke-width="{number(mark.width)}"'
        if mark.opacity != 1:
            look += f' opacity="{number(mark.opacity)}"'
        data = _known.get(mark.path)
        if data is None:
            data = _known[mark.path] = path_data(mark.path)
        return f'<path d="{data}"{look}/>'

    def _words(self, words: Words) -> str:
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor]
        back = shift * text_width(words.text, words.size, words.bold)
        x, y = (words.x, words.y + back) if words.turned else (words.x - back, words.y)
        uses = (
            f'<use href="#{self._letter(letter, words.bold)}"{place}/>'
            for letter, place in _spelled(words.text, words.bold)
        )
        where = _transform((x, y), words.size / EM, words.turned)
        return f'<g fill="{words.fill}" transform="{where}">{"".join(uses)}</g>'

    def _letter(self, letter: str, bold: bool) -> str:
        return self.glyphs.setdefault((letter, bold), f"g{len(self.glyphs)}")

    def _window(self, window: Window) -> str:
        strip = self.reels.setdefault((window.size, window.bold), f"r{len(self.reels)}")
        for digit in "0123456789":
            self._letter(digit, window.bold)
        line = _LINE * window.size
        row = window.reel.at(self.channels[window.reel.of])
        name = self._follow(window.reel, line)
        return (
            f'<g transform="{_transform((window.x, 0))}" clip-path="url(#{strip}c)">'
            f'<g{name} transform="{_transform((0, -row * line))}" fill="{window.fill}">'
            f'{self._moves(window.reel, line)}<use href="#{strip}"/></g></g>'
        )

    def _group(self, group: Group) -> str:
        if self._never_seen(group.motion):
            return ""
        inner = self.nodes(group.children)
        look = ""
        if group.opacity != 1:
            look += f' opacity="{number(group.opacity)}"'
        if group.motion:
            name = self._follow(group.motion, 0.0)
            value = attribute(group.motion, group.motion.at(self.channels[group.motion.of]))
            inner = f"<g{name} {value}>{self._moves(group.motion, 0.0)}{inner}</g>"
        if group.at != (0, 0):
            look += f' transform="{_transform(group.at)}"'
        return f"<g{look}>{inner}</g>" if look else inner

    def _never_seen(self, motion: Motion | None) -> bool:
        """Whether a group is invisible now, and nothing will move it."""
        if not self.final or motion is None or motion.how != "fade":
            return False
        return motion.at(self.channels[motion.of])[0] == 0 and not self._moves(motion, 0.0)

    def _follow(self, follower: Motion | Reel, line: float) -> str:
        name = f"m{len(self.followers)}"
        self.followers.append((name, follower, line))
        return "" if self.final else f' id="{name}"'

    def _moves(self, follower: Motion | Reel, line: float) -> str:
        return self.animate(follower, line) if self.animate else ""

    def definitions(self) -> str:
        reels = []
        for (size, bold), name in self.reels.items():
            line, wide = _LINE * size, text_width("0", size, bold)
            rows = "".join(
                f'<use href="#{self.glyphs[digit, bold]}" y="{number(i * line * EM / size, 0)}"/>'
                for i, digit in enumerate("0123456789")
            )
            window = path_data(box(0, -0.85 * size, wide, 1.05 * size))
            reels.append(
                f'<clipPath id="{name}c"><path d="{window}"/></clipPath>'
                f'<g id="{name}" transform="scale({number(size / EM, 4)})">{rows}</g>'
            )
        letters = (
            f'<path id="{name}" d="{_glyph_data(*letter)}"/>'
            for letter, name in self.glyphs.items()
        )
        return f"<defs>{''.join(letters)}{''.join(reels)}</defs>"


@functools.cache
def _glyph_data(letter: str, bold: bool) -> str:
    return path_data(glyph(letter, bold), 0)


@functools.cache
def _spelled(text: str, bold: bool) -> tuple[tuple[str, str], ...]:
    """The letters of a text, and the attribute that puts each in its place."""
    return tuple(
        (letter, f' x="{number(text_width(text[:i], EM, bold), 0)}"' if i else "")
        for i, letter in enumerate(text)
        if letter != " "
    )


def attribute(motion: Motion, value: Point) -> str:
    """The attribute that puts a group where `motion` wants it."""
    if motion.how == "fade":
        return f'opacity="{number(value[0], 3)}"'
    how = "translate" if motion.how == "move" else "scale"
    return f'transform="{how}({number(value[0], 3)} {number(value[1], 3)})"'


def _transform(at: Point, size: float = 1.0, turned: bool = False) -> str:
    where = f"translate({number(at[0])} {number(at[1])})" + "rotate(-90)" * turned
    return where if size == 1 else f"{where}scale({number(size, 4)})"


def _document(drawing: Drawing, alt: str, inner: str, css: str = "") -> str:
    wide, high = number(drawing.width), number(drawing.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" role="img">'
        f"<title>{html.escape(alt)}</title>{css}{inner}</svg>\n"
    )


def svg(drawing: Drawing, channels: Channels, alt: str) -> str:
    """The drawing at one state."""
    writer = _Writer(channels)
    inner = writer.nodes(drawing.nodes)
    return _document(drawing, alt, writer.definitions() + inner)


def with_script(drawing: Drawing, channels: Channels, alt: str) -> tuple[str, list[dict[str, Any]]]:
    """The same SVG, and what moves in it as data for a player: element ids and their motions."""
    writer = _Writer(channels)
    inner = writer.nodes(drawing.nodes)
    moving = [
        {"id": name, **({"how": "reel", "line": line} if line else {}), **follower._asdict()}
        for name, follower, line in writer.followers
    ]
    return _document(drawing, alt, writer.definitions() + inner), moving


def followers(nodes: Iterable[Node]) -> Iterator[Motion | Reel]:
    """All that follows the state, in the order of `with_script`."""
    for node in nodes:
        if isinstance(node, Window):
            yield node.reel
        elif isinstance(node, Counter):
            yield from followers((unfolded(node),))
        elif isinstance(node, Group):
            yield from followers(node.children)
            if node.motion:
                yield node.motion


# --- the looping picture -----------------------------------------------------------------------


class Stretch(NamedTuple):
    """A stretch of the loop in which every channel runs straight: seconds, and both ends."""

    start: float
    stop: float
    before: Channels
    after: Channels


def looping(
    drawing: Drawing, stretches: Sequence[Stretch], still: Channels, alt: str, rate: float = 10
) -> str:
    """The drawing as an SVG that plays by itself, over and over, wherever images are shown.

    Args:
        stretches: one after the other, from second 0 to the end of the loop.
        still: what is shown to readers who ask their system for less motion.
        rate: how often a second the digits change.
    """
    total = stretches[-1].stop

    def animate(follower: Motion | Reel, line: float) -> str:
        if isinstance(follower, Reel):
            rows = _reel_keys(follower, stretches, rate)
            places = [(t, (0.0, -row * line)) for t, row in rows]
            return _animation("move", places, total, stepped=True)
        bends = list(keys(follower, stretches))
        return _animation(follower.how, bends, total, follower.stepped)

    film = _Writer(stretches[0].before, animate, final=True)
    paused = _Writer(still, final=True)
    paused.glyphs, paused.reels = film.glyphs, film.reels
    inner = "".join(_both(drawing.nodes, film, paused))
    css = (
        "<style>.still{display:none}@media(prefers-reduced-motion:reduce)"
        "{.still{display:inline}.film{display:none}}</style>"
    )
    return _document(drawing, alt, film.definitions() + inner, css)


def _both(nodes: Iterable[Node], film: _Writer, paused: _Writer) -> Iterator[str]:
    """Nodes for a loop: what moves is there twice, moving and still; the rest once."""
    for moves, run in itertools.groupby(nodes, _moves):
        if not moves:
            yield film.nodes(run)
            continue
        for whole, those in itertools.groupby(run, lambda node: not _only_holds(node)):
            if whole:
                moving = list(those)
                yield f'<g class="film">{film.nodes(moving)}</g>'
                yield f'<g class="still">{paused.nodes(moving)}</g>'
                continue
            for group in those:
                assert isinstance(group, Group)
                inside = "".join(_both(group.children, film, paused))
                yield f'<g transform="{_transform(group.at)}">{inside}</g>'


def _only_holds(node: Node) -> bool:
    """Whether a group does not move itself, though something in it does."""
    return isinstance(node, Group) and node.motion is None and node.opacity == 1


def _moves(node: Node) -> bool:
    if isinstance(node, Group):
        return node.motion is not None or any(map(_moves, node.children))
    return isinstance(node, Counter)


def keys(motion: Motion, stretches: Sequence[Stretch]) -> Iterator[tuple[float, Point]]:
    """Where the motion bends: seconds and values. A jump is two values at one second."""
    for stretch in stretches:
        a, b = stretch.before[motion.of], stretch.after[motion.of]
        yield stretch.start, motion.at(a)
        for knot in motion.knots:
            if a < knot < b:
                t = stretch.start + (knot - a) / (b - a) * (stretch.stop - stretch.start)
                yield t, motion.at(knot)
        if not motion.stepped:
            yield stretch.stop, motion.at(b)


def _reel_keys(
    reel: Reel, stretches: Sequence[Stretch], rate: float
) -> Iterator[tuple[float, int]]:
    for stretch in stretches:
        a, b = stretch.before[reel.of], stretch.after[reel.of]
        long = stretch.stop - stretch.start
        steps = max(1, round(long * rate)) if a != b else 1
        for step in range(steps):
            yield stretch.start + step / steps * long, reel.at(a + step / steps * (b - a))


def _animation(how: str, bends: Iterable[tuple[float, Point]], total: float, stepped: bool) -> str:
    """The SMIL element for these seconds and values; nothing for what never changes."""
    decimals = 1 if how == "move" else 3
    shown = [(t / total, tuple(number(v, decimals) for v in value)) for t, value in bends]
    kept: list[tuple[float, tuple[str, ...]]] = []
    for i, (t, value) in enumerate(shown):
        same_before = bool(kept) and kept[-1][1] == value
        same_after = i + 1 < len(shown) and shown[i + 1][1] == value
        if not (same_before and (stepped or same_after)):
            kept.append((t, value))
    if len({value for _, value in kept}) == 1:
        return ""
    if not stepped and kept[-1][0] < 1:
        kept.append((1.0, kept[-1][1]))
    times = ";".join(number(t, 4) for t, _ in kept)
    one = how == "fade" or all(value[1] == "0" for _, value in kept)
    if how == "scale":
        one = False
    values = ";".join(value[0] if one else f"{value[0]} {value[1]}" for _, value in kept)
    rest = f'dur="{number(total)}s" repeatCount="indefinite" keyTimes="{times}" values="{values}"'
    if stepped:
        rest += ' calcMode="discrete"'
    if how == "fade":
        return f'<animate attributeName="opacity" {rest}/>'
    kind = "translate" if how == "move" else "scale"
    return f'<animateTransform attributeName="transform" type="{kind}" {rest}/>'
