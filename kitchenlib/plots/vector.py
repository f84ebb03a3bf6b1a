"""A drawing that can move: marks, words and counters, in groups that follow a state.

A `Drawing` is plain data. Everything that moves in it is a `Group` with a `Motion`, or a `Counter`:
each follows one *channel*, a number of the state such as ``drip.progress``. So one drawing serves
for the still picture (`svg`, `artists`), the looping one (`looping`) and the player, which gets the
same SVG once and then the same motions as data (`script`).

Units are CSS pixels from the upper left corner, 96 to the inch. Words are drawn as outlines: the
same letters on every machine.
"""

from __future__ import annotations

import functools
import html
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import TextPath, text_to_path
from matplotlib.transforms import Affine2D, Transform

from kitchenlib.plots.style import INK, style
from kitchenlib.units import human

DPI = 96
_EM = 200  # glyph units in the SVG: whole numbers stay sharp at the sizes used
_LINE = 1.5  # rows of a reel of digits, in units of the letters' size
_BLANK = 10  # the row of a reel that shows nothing

Point = tuple[float, float]
Channels = Mapping[str, float]

# --- what follows the state --------------------------------------------------------------------


class Motion(NamedTuple):
    """How a group follows a channel: straight from knot to knot, or in steps.

    Attributes:
        how: "move" (pixels), "scale" (factors) or "fade" (opacity, the first of the two values).
        of: the channel.
        knots: its values, increasing.
        values: what the group gets there; before and beyond the knots the nearest.
        stepped: the value of a knot holds until the next one.
    """

    how: str
    of: str
    knots: tuple[float, ...]
    values: tuple[Point, ...]
    stepped: bool = False

    def at(self, x: float) -> Point:
        """The two values at `x` of the channel."""
        after = sum(knot <= x for knot in self.knots)
        if after == 0:
            return self.values[0]
        if after == len(self.knots) or self.stepped:
            return self.values[after - 1]
        low, high = self.knots[after - 1 : after + 1]
        share = (x - low) / (high - low)
        (x0, y0), (x1, y1) = self.values[after - 1 : after + 1]
        return x0 + share * (x1 - x0), y0 + share * (y1 - y0)


def move(of: str, *path: tuple[float, Point], stepped: bool = False) -> Motion:
    """Through places: (value of the channel, (x, y)) pairs."""
    return Motion("move", of, tuple(k for k, _ in path), tuple(v for _, v in path), stepped)


def scale(of: str, *path: tuple[float, Point], stepped: bool = False) -> Motion:
    """Through sizes, from the group's own origin: (value of the channel, factors) pairs."""
    return Motion("scale", of, tuple(k for k, _ in path), tuple(v for _, v in path), stepped)


def fade(of: str, *path: tuple[float, float], stepped: bool = False) -> Motion:
    """Through opacities: (value of the channel, opacity) pairs."""
    return Motion("fade", of, tuple(k for k, _ in path), tuple((v, 0.0) for _, v in path), stepped)


class Reel(NamedTuple):
    """One digit of a counter: the rows 0 to 9, and a blank one for a leading zero.

    Attributes:
        of: the channel.
        quantum: what one in the last digit stands for.
        place: of this digit, 0 for the last.
        least: digits from the right that are shown even if they are leading zeros.
    """

    of: str
    quantum: float
    place: int
    least: int

    def at(self, x: float) -> int:
        """The row that shows at `x` of the channel."""
        number = math.floor(x / self.quantum + 0.5)
        rest = number // 10**self.place
        return rest % 10 if rest or self.place < self.least else _BLANK


# --- what there is to see ----------------------------------------------------------------------


class Mark(NamedTuple):
    """An outline, filled or stroked."""

    path: Path
    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    opacity: float = 1.0


class Words(NamedTuple):
    """A line of text; (x, y) is where its baseline starts, has its middle, or ends."""

    x: float
    y: float
    text: str
    size: float
    fill: str = INK
    bold: bool = False
    anchor: str = "start"


class Counter(NamedTuple):
    """A number that counts, with its unit; it ends as `human` would write its last value.

    Attributes:
        x, y: where its baseline starts.
        of: the channel.
        most: the last value, which sets the unit and the decimals.
        unit: "s", "B", "FLOP", "%" (of a share) or "" (whole numbers).
        head, tail: words before and after it; a head needs the anchor "end".
    """

    x: float
    y: float
    of: str
    most: float
    unit: str
    size: float
    fill: str = INK
    bold: bool = True
    head: str = ""
    tail: str = ""
    anchor: str = "start"


class Window(NamedTuple):
    """A reel behind its window: one digit of a counter."""

    x: float
    reel: Reel
    size: float
    fill: str
    bold: bool


class Group(NamedTuple):
    """Things that stand at a place together, and move together.

    Attributes:
        kind: a class name for the player ("" for none).
    """

    children: tuple[Node, ...]
    at: Point = (0.0, 0.0)
    motion: Motion | None = None
    kind: str = ""
    opacity: float = 1.0


Node = Mark | Words | Counter | Window | Group


class Drawing(NamedTuple):
    """A picture: its size in pixels, and what is on it, from back to front."""

    width: float
    height: float
    nodes: tuple[Node, ...]


# --- outlines ----------------------------------------------------------------------------------


def box(x: float, y: float, width: float, height: float, radius: float = 0.0) -> Path:
    """A rectangle, its corners rounded by `radius`."""
    right, low = x + width, y + height
    if not radius:
        return outline([(x, y), (right, y), (right, low), (x, low)])
    r, k = radius, 0.4477 * radius  # control points of a quarter of a circle
    points = [(x + r, y), (right - r, y)]
    codes: list[Any] = [Path.MOVETO, Path.LINETO]
    corners = (
        [(right - k, y), (right, y + k), (right, y + r), (right, low - r)],
        [(right, low - k), (right - k, low), (right - r, low), (x + r, low)],
        [(x + k, low), (x, low - k), (x, low - r), (x, y + r)],
        [(x, y + k), (x + k, y), (x + r, y), (x + r, y)],
    )
    for corner in corners:
        points += corner
        codes += [Path.CURVE4] * 3 + [Path.LINETO]
    codes[-1] = Path.CLOSEPOLY
    return Path(points, codes)


def outline(points: Sequence[Point]) -> Path:
    """A closed outline with corners."""
    codes = [Path.MOVETO, *[Path.LINETO] * (len(points) - 1), Path.CLOSEPOLY]
    return Path([*points, points[0]], codes)


def lines(*each: Sequence[Point]) -> Path:
    """Open lines, each through its points."""
    codes = [Path.MOVETO if i == 0 else Path.LINETO for line in each for i in range(len(line))]
    return Path([point for line in each for point in line], codes)


def together(paths: Iterable[Path]) -> Path:
    """Many outlines as one, which is one mark."""
    return Path.make_compound_path(*paths)


def drop(x: float, y: float, size: float) -> Path:
    """A drop whose round part, `size` across, has its middle at (x, y)."""
    r, k = size / 2, 0.276 * size
    points = [(x, y - 1.9 * r), (x + 0.35 * r, y - 1.1 * r), (x + r, y - 0.65 * r), (x + r, y)]
    points += [(x + r, y + k), (x + k, y + r), (x, y + r), (x - k, y + r), (x - r, y + k)]
    points += [(x - r, y), (x - r, y - 0.65 * r), (x - 0.35 * r, y - 1.1 * r), (x, y - 1.9 * r)]
    return Path([*points, points[0]], [Path.MOVETO, *[Path.CURVE4] * 12, Path.CLOSEPOLY])


def traced(draw: Callable[[Axes], object]) -> list[Mark]:
    """What a function of `scenery` draws on axes in inches, as marks: its origin at (0, 0)."""
    figure = Figure(figsize=(1, 1), dpi=DPI)
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, 1), ylim=(0, 1))
    before = set(ax.get_children())
    with style():
        draw(ax)
    flip = Affine2D().translate(0, -DPI).scale(1, -1).translate(0, -DPI)
    drawn = [a for a in ax.get_children() if a not in before and isinstance(a, Patch | Line2D)]
    return [_trace(artist, flip) for artist in sorted(drawn, key=Artist.get_zorder)]


def _trace(artist: Patch | Line2D, flip: Affine2D) -> Mark:
    path = (artist.get_transform() + flip).transform_path(artist.get_path())
    pixels = artist.get_linewidth() * DPI / 72
    if isinstance(artist, Line2D):
        return Mark(path, stroke=to_hex(artist.get_color()), width=pixels)
    edge = to_hex(artist.get_edgecolor()) if pixels else None
    return Mark(path, to_hex(artist.get_facecolor()), edge, pixels)


# --- letters -----------------------------------------------------------------------------------


@functools.cache
def _font(bold: bool) -> FontProperties:
    return FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=100)


@functools.cache
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that `text` takes."""
    with style():
        wide, _, _ = text_to_path.get_text_width_height_descent(text, _font(bold), False)
    return wide * size / 100


@functools.cache
def _glyph(letter: str, bold: bool) -> str:
    """The outline of a letter as path data, `_EM` units to its size."""
    with style():
        path = TextPath((0, 0), letter, prop=_font(bold), size=_EM)
    return path_data(path.transformed(Affine2D().scale(1, -1)), 0)


# --- counters ----------------------------------------------------------------------------------

_PREFIXES = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}
_PREFIXES |= {"": 1.0, "m": 1e-3, "µ": 1e-6, "n": 1e-9}


def _layout(counter: Counter) -> tuple[float, int, int, str]:
    """Quantum, decimals, digits and unit of a counter."""
    if counter.unit == "":
        return 1.0, 0, len(f"{counter.most:.0f}"), ""
    if counter.unit == "%":
        decimals = next((d for d, least in ((0, 0.1), (1, 0.01)) if counter.most >= least), 2)
        return 0.01 * 10.0**-decimals, decimals, 2 + decimals + (not decimals), "%"
    number, unit = human(counter.most, counter.unit).split(" ")
    decimals = len(number.partition(".")[2])
    digits = sum(sign.isdigit() for sign in number)
    prefix = unit[: len(unit) - len(counter.unit)]
    return _PREFIXES[prefix] * 10.0**-decimals, decimals, digits, f" {unit}"


def shown(counter: Counter, value: float) -> str:
    """What the counter shows at `value` of its channel."""
    quantum, decimals, _, unit = _layout(counter)
    number = f"{math.floor(value / quantum + 0.5):0{decimals + 1}d}"
    whole, part = (number[:-decimals], "." + number[-decimals:]) if decimals else (number, "")
    return f"{counter.head}{int(whole):,}{part}{unit}{counter.tail}"


def _unfolded(counter: Counter) -> Group:
    """A counter as groups: reels behind windows, and signs that come with the digits.

    Where it is anchored at its start, smaller numbers close up to the left; at its end, the head
    closes up to the number.
    """
    quantum, decimals, digits, unit = _layout(counter)
    size, fill, bold = counter.size, counter.fill, counter.bold

    def wide(text: str) -> float:
        return text_width(text, size, bold)

    def from_digits(digits: int) -> float:
        return (10.0 ** (digits - 1) - 0.5) * quantum  # the channel from which so many show

    signs: list[Node] = []
    x, starts = 0.0, [0.0]
    for place in reversed(range(digits)):
        reel = Reel(counter.of, quantum, place, decimals + 1)
        signs.append(Window(x, reel, size, fill, bold))
        x += wide("0")
        whole = place - decimals
        if whole > 0 and whole % 3 == 0:
            coming = fade(counter.of, (0.0, 0.0), (from_digits(place + 1), 1.0), stepped=True)
            signs.append(Group((Words(x, 0, ",", size, fill, bold),), motion=coming))
            x += wide(",")
        if decimals and whole == 0:
            signs.append(Words(x, 0, ".", size, fill, bold))
            x += wide(".")
        if whole > 0:
            starts.append(x)
    if unit or counter.tail:
        signs.append(Words(x, 0, unit + counter.tail, size, fill, bold))
        x += wide(unit + counter.tail)
    knots = [0.0, *(from_digits(n) for n in range(decimals + 2, digits + 1))]
    closing = None
    if counter.anchor == "end":
        head = Words(-wide(counter.head), 0, counter.head, size, fill, bold)
        if len(knots) > 1:
            closing = move(counter.of, *_pairs(knots, reversed(starts)), stepped=True)
        signs.append(Group((head,), motion=closing))
        return Group(tuple(signs), (counter.x - x, counter.y))
    if len(knots) > 1:
        left = (-start for start in reversed(starts))
        closing = move(counter.of, *_pairs(knots, left), stepped=True)
    return Group((Group(tuple(signs), motion=closing),), (counter.x, counter.y))


def _pairs(knots: Iterable[float], shifts: Iterable[float]) -> list[tuple[float, Point]]:
    return [(knot, (shift, 0.0)) for knot, shift in zip(knots, shifts, strict=True)]


# --- SVG ---------------------------------------------------------------------------------------


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
    letters = {Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}
    unit = 10**decimals
    parts: list[str] = []
    x = y = begin_x = begin_y = 0  # whole multiples of 1/unit, so that rounding does not add up

    def step(value: int) -> str:
        return number(value / unit, decimals)

    for points, code in path.iter_segments(simplify=False):
        if code == Path.CLOSEPOLY:
            parts.append("z")
            x, y = begin_x, begin_y
            continue
        steps = [round(float(p) * unit) for p in points]
        moves = [p - (y if i % 2 else x) for i, p in enumerate(steps)]
        if code == Path.MOVETO:
            parts.append(f"M{step(steps[0])} {step(steps[1])}")
            begin_x, begin_y = steps
        elif code == Path.LINETO and 0 in moves:
            if any(moves):
                parts.append(f"h{step(moves[0])}" if moves[0] else f"v{step(moves[1])}")
        else:
            parts.append(letters[code] + _joined(step(move) for move in moves))
        x, y = steps[-2:]
    return "".join(parts)


def _joined(numbers: Iterable[str]) -> str:
    """Numbers in a row; a minus sign separates as well as a space."""
    return " ".join(numbers).replace(" -", "-")


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
            return self.node(_unfolded(node))
        if isinstance(node, Window):
            return self._window(node)
        return self._group(node)

    def _mark(self, mark: Mark) -> str:
        look = f' fill="{mark.fill or "none"}"'
        if mark.stroke:
            look += f' stroke="{mark.stroke}" stroke-width="{number(mark.width)}"'
        if mark.opacity != 1:
            look += f' opacity="{number(mark.opacity)}"'
        return f'<path d="{path_data(mark.path)}"{look}/>'

    def _words(self, words: Words) -> str:
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor]
        x = words.x - shift * text_width(words.text, words.size, words.bold)
        uses = []
        for i, letter in enumerate(words.text):
            if letter != " ":
                before = text_width(words.text[:i], _EM, words.bold) if i else 0.0
                place = f' x="{number(before, 0)}"' if i else ""
                uses.append(f'<use href="#{self._letter(letter, words.bold)}"{place}/>')
        where = _transform((x, words.y), words.size / _EM)
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
        look = f' class="{group.kind}"' if group.kind else ""
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
                f'<use href="#{self.glyphs[digit, bold]}" y="{number(i * line * _EM / size, 0)}"/>'
                for i, digit in enumerate("0123456789")
            )
            window = path_data(box(0, -0.85 * size, wide, 1.05 * size))
            reels.append(
                f'<clipPath id="{name}c"><path d="{window}"/></clipPath>'
                f'<g id="{name}" transform="scale({number(size / _EM, 4)})">{rows}</g>'
            )
        letters = (
            f'<path id="{name}" d="{_glyph(*glyph)}"/>' for glyph, name in self.glyphs.items()
        )
        return f"<defs>{''.join(letters)}{''.join(reels)}</defs>"


def attribute(motion: Motion, value: Point) -> str:
    """The attribute that puts a group where `motion` wants it."""
    if motion.how == "fade":
        return f'opacity="{number(value[0], 3)}"'
    how = "translate" if motion.how == "move" else "scale"
    return f'transform="{how}({number(value[0], 3)} {number(value[1], 3)})"'


def _transform(at: Point, size: float = 1.0) -> str:
    where = f"translate({number(at[0])} {number(at[1])})"
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


def script(drawing: Drawing, channels: Channels) -> list[dict[str, Any]]:
    """What moves in the SVG of the same drawing, for a player: element ids and their motions."""
    writer = _Writer(channels)
    writer.nodes(drawing.nodes)
    return [
        {"id": name, **({"how": "reel", "line": line} if line else {}), **follower._asdict()}
        for name, follower, line in writer.followers
    ]


def followers(nodes: Iterable[Node]) -> Iterator[Motion | Reel]:
    """All that follows the state, in the order of `script`."""
    for node in nodes:
        if isinstance(node, Window):
            yield node.reel
        elif isinstance(node, Counter):
            yield from followers((_unfolded(node),))
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
    drawing: Drawing, stretches: Sequence[Stretch], still: Channels, alt: str, rate: float = 12
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
        keys = list(_keys(follower, stretches))
        return _animation(follower.how, keys, total, follower.stepped)

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


def _keys(motion: Motion, stretches: Sequence[Stretch]) -> Iterator[tuple[float, Point]]:
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


def _animation(how: str, keys: Iterable[tuple[float, Point]], total: float, stepped: bool) -> str:
    """The SMIL element for these keys; nothing for what never changes."""
    decimals = 1 if how == "move" else 3
    shown = [(t / total, tuple(number(v, decimals) for v in value)) for t, value in keys]
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


# --- matplotlib --------------------------------------------------------------------------------


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
        fontproperties=_font(words.bold).copy(),
        size=words.size * 72 / DPI,
        ha={"start": "left", "middle": "center", "end": "right"}[words.anchor],
        va="baseline",
        parse_math=False,
    )
