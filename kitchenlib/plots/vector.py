"""A drawing that can move: marks, words and counters, in groups that follow a state.

A `Drawing` is plain data. Everything that moves in it is a `Group` with a `Motion`, or a `Counter`:
each follows one *channel*, a number of the state such as ``drip.progress``. So one drawing serves
for the still picture (`kitchenlib.plots.svg.svg`, and `kitchenlib.plots.raster` for PNG), for the
looping one (`kitchenlib.plots.svg.looping`), and for a player, which gets the SVG once and then the
same motions as data (`kitchenlib.plots.svg.with_script`).

Units are CSS pixels from the upper left corner, 96 to the inch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from kitchenlib.plots.style import INK, style

DPI = 96
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
    """A line of text; (x, y) is where its baseline starts, has its middle, or ends.

    `turned`: it runs upwards.
    """

    x: float
    y: float
    text: str
    size: float
    fill: str = INK
    bold: bool = False
    anchor: str = "start"
    turned: bool = False


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
    """Things that stand at a place together, and move together."""

    children: tuple[Node, ...]
    at: Point = (0.0, 0.0)
    motion: Motion | None = None
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
