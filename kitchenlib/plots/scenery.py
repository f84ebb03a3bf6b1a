"""The kitchen's cast, drawn from plain shapes: sacks, waiter, cart, chef, clipboard, ticket.

Each function draws one thing standing at (x, y) on paper in inches (`style.canvas`), about one
inch tall at size 1. Outlines carry the drawing, so it reads without its colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Ellipse, FancyBboxPatch, Patch, PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from kitchenlib.plots.style import CHEF, INK, NOTES, ORDER, WAITER

BURLAP, BURLAP_DARK = "#E8C27E", "#C79A4E"
WOOD, WOOD_DARK = "#C8A06B", "#94703F"
CLOTH, STEEL = "#FFFFFF", "#C9CED2"
SKIN, SKIN_DARK = "#F0C39E", "#B07B52"
HAIR = "#4A3728"
WALL, FLOOR = "#F5EDDC", "#D5C8AE"

Points = Sequence[tuple[float, float]]


class Pen:
    """Draws in a thing's own coordinates: origin at its foot, one unit = `size` inches."""

    def __init__(self, ax: Axes, x: float, y: float, size: float, layer: float = 2.0) -> None:
        self.ax, self.size, self.layer = ax, size, layer
        self.place = Affine2D().scale(size).translate(x, y) + ax.transData

    def _add(self, patch: Patch) -> None:
        patch.set_transform(self.place)
        self.ax.add_artist(patch)

    def _look(self, fill: str, edge: str | None, width: float) -> dict[str, Any]:
        self.layer += 0.001  # what is drawn later lies on top
        return {
            "facecolor": fill,
            "edgecolor": edge or "none",
            "linewidth": width * self.size if edge else 0,
            "zorder": self.layer,
            "joinstyle": "round",
        }

    def box(
        self,
        corner: tuple[float, float],
        size: tuple[float, float],
        fill: str,
        *,
        edge: str | None = INK,
        width: float = 1.3,
        radius: float = 0.0,
        dashed: bool = False,
    ) -> None:
        """A rectangle, its corners rounded by `radius`."""
        look = self._look(fill, edge, width) | {"linestyle": (0, (4, 3)) if dashed else "-"}
        if radius:
            round_ = f"round,pad=0,rounding_size={radius}"
            self._add(FancyBboxPatch(corner, *size, boxstyle=round_, **look))
        else:
            self._add(Rectangle(corner, *size, **look))

    def disc(
        self,
        centre: tuple[float, float],
        radius: float,
        fill: str,
        *,
        edge: str | None = INK,
        width: float = 1.3,
        squash: float = 1.0,
    ) -> None:
        """A circle, or an ellipse `squash` times as high as it is wide."""
        look = self._look(fill, edge, width)
        if squash == 1.0:
            self._add(Circle(centre, radius, **look))
        else:
            self._add(Ellipse(centre, 2 * radius, 2 * radius * squash, **look))

    def blob(
        self, points: Points, fill: str, *, edge: str | None = INK, width: float = 1.3
    ) -> None:
        """A closed smooth outline through `points`."""
        self._add(PathPatch(_smooth(points), **self._look(fill, edge, width)))

    def polygon(
        self, points: Points, fill: str, *, edge: str | None = INK, width: float = 1.3
    ) -> None:
        """A closed outline with corners."""
        path = Path([*points, points[0]], closed=True)
        self._add(PathPatch(path, **self._look(fill, edge, width)))

    def line(self, points: Points, colour: str = INK, width: float = 1.3) -> None:
        """An open line with round ends."""
        self.layer += 0.001
        x, y = zip(*points, strict=True)
        self.ax.add_artist(
            Line2D(
                x,
                y,
                color=colour,
                linewidth=width * self.size,
                zorder=self.layer,
                solid_capstyle="round",
                solid_joinstyle="round",
                transform=self.place,
            )
        )

    def limb(self, points: Points, fill: str, thick: float) -> None:
        """An arm or a leg: a thick line with an outline."""
        inches = 72 * thick
        self.line(points, INK, inches + 2.6)
        self.line(points, fill, inches)


def _smooth(points: Points) -> Path:
    """The closed Catmull-Rom curve through `points`, as Bezier segments."""
    knots = np.asarray(points, dtype=float)
    before, after = np.roll(knots, 1, axis=0), np.roll(knots, -1, axis=0)
    tangents = (after - before) / 6
    ends, end_tangents = np.roll(knots, -1, axis=0), np.roll(tangents, -1, axis=0)
    curve = np.stack([knots + tangents, ends - end_tangents, ends], axis=1).reshape(-1, 2)
    codes = [Path.MOVETO, *[Path.CURVE4] * len(curve)]
    return Path(np.vstack([knots[:1], curve]), codes)


def sack(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 2.0) -> None:
    """A tied sack: the model's weights."""
    pen = Pen(ax, x, y, size, layer)
    ears = [(-0.13, 0.80), (-0.17, 0.96), (0.0, 0.90), (0.17, 0.97), (0.13, 0.80), (0.0, 0.76)]
    pen.blob(ears, BURLAP)
    body = [(-0.36, 0.03), (-0.42, 0.34), (-0.24, 0.66), (-0.07, 0.80), (0.07, 0.80)]
    body += [(0.24, 0.66), (0.42, 0.34), (0.36, 0.03), (0.0, -0.01)]
    pen.blob(body, BURLAP)
    pen.line([(-0.12, 0.785), (0.12, 0.785)], CHEF.ink, 3.6)
    for x0, y0 in ((-0.24, 0.14), (-0.27, 0.40), (0.22, 0.48)):
        pen.line([(x0, y0), (x0 + 0.07, y0 + 0.02)], BURLAP_DARK, 1.4)


def pallet(ax: Axes, x: float, y: float, width: float, *, layer: float = 1.8) -> None:
    """Two boards on three blocks."""
    pen = Pen(ax, x, y, 1.0, layer)
    for i in range(3):
        pen.box((i * (width - 0.16) / 2, 0.0), (0.16, 0.08), WOOD_DARK, width=1.0)
    pen.box((-0.05, 0.07), (width + 0.10, 0.07), WOOD, width=1.0)


def cart(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 3.0) -> None:
    """A flat cart with its handle to the left."""
    pen = Pen(ax, x, y, size, layer)
    handle = [(-0.56, 0.25), (-0.68, 1.06), (-0.82, 1.10)]
    pen.line(handle, INK, 5.4)
    pen.line(handle, STEEL, 2.8)
    pen.box((-0.60, 0.19), (1.2, 0.10), WAITER.fill, radius=0.03)
    for wheel in (-0.38, 0.38):
        pen.disc((wheel, 0.10), 0.10, INK)
        pen.disc((wheel, 0.10), 0.035, STEEL, edge=None)


def _head(pen: Pen, x: float, y: float, skin: str, look: float) -> None:
    """A round head looking to the right by `look`, with eyes and a small mouth."""
    pen.disc((x, y), 0.165, skin)
    for eye in (x + look - 0.035, x + look + 0.055):
        pen.disc((eye, y + 0.025), 0.017, INK, edge=None)


def waiter(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 2.5) -> None:
    """A waiter leaning into a cart at his right: the memory bus, at its limit."""
    pen = Pen(ax, x, y, size, layer)
    trousers = "#3A4752"
    pen.limb([(-0.06, 0.58), (-0.22, 0.33), (-0.42, 0.10)], trousers, 0.13)
    pen.box((-0.54, 0.0), (0.20, 0.09), INK, radius=0.04)
    pen.limb([(0.02, 0.58), (0.16, 0.33), (0.12, 0.06)], trousers, 0.13)
    pen.box((0.06, 0.0), (0.21, 0.09), INK, radius=0.04)
    torso = [(-0.16, 0.52), (-0.17, 0.78), (-0.06, 1.04), (0.10, 1.13), (0.24, 1.06)]
    torso += [(0.25, 0.86), (0.16, 0.66), (0.14, 0.52)]
    pen.blob(torso, CLOTH)
    back = [(-0.16, 0.52), (-0.17, 0.78), (-0.06, 1.04), (0.04, 1.09), (0.10, 0.98), (0.13, 0.80)]
    pen.blob([*back, (0.12, 0.64), (0.13, 0.52)], WAITER.fill)
    pen.limb([(0.06, 0.96), (0.24, 0.78), (0.50, 0.85)], CLOTH, 0.09)
    pen.disc((0.54, 0.865), 0.055, SKIN)
    _head(pen, 0.20, 1.30, SKIN, 0.06)
    hair = [(0.03, 1.30), (0.05, 1.44), (0.20, 1.49), (0.33, 1.42), (0.22, 1.40), (0.11, 1.37)]
    pen.blob(hair, HAIR)
    pen.line([(0.22, 1.225), (0.27, 1.235), (0.31, 1.225)], INK, 1.2)
    pen.polygon([(0.10, 1.10), (0.18, 1.13), (0.10, 1.17)], CHEF.ink, width=0.8)
    pen.polygon([(0.26, 1.10), (0.18, 1.13), (0.26, 1.17)], CHEF.ink, width=0.8)
    for dx, dy in ((-0.02, 1.52), (-0.12, 1.40), (-0.10, 1.26)):  # sweat
        pen.line([(dx, dy), (dx - 0.06, dy + 0.035)], WAITER.fill, 1.8)


def chef(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 2.5) -> None:
    """A chef behind the board, knife raised: the compute cores, ready long ago."""
    pen = Pen(ax, x, y, size, layer)
    body = [(-0.30, 0.30), (-0.29, 0.78), (-0.20, 1.02), (0.0, 1.08), (0.20, 1.02), (0.29, 0.78)]
    body += [(0.30, 0.30)]
    pen.blob(body, CLOTH)
    for button in (0.62, 0.76, 0.90):
        pen.disc((-0.06, button), 0.018, INK, edge=None)
        pen.disc((0.08, button), 0.018, INK, edge=None)
    pen.limb([(0.22, 0.95), (0.46, 0.86), (0.54, 1.14)], CLOTH, 0.10)
    blade = [(0.50, 1.22), (0.50, 1.66), (0.60, 1.60), (0.66, 1.40), (0.64, 1.22)]
    pen.polygon(blade, STEEL)
    pen.box((0.525, 1.06), (0.07, 0.18), WOOD_DARK, radius=0.02)
    pen.disc((0.55, 1.14), 0.06, SKIN_DARK)
    pen.limb([(-0.22, 0.95), (-0.42, 0.74), (-0.26, 0.60)], CLOTH, 0.10)
    pen.disc((-0.23, 0.585), 0.06, SKIN_DARK)
    scarf = [(-0.15, 1.03), (0.0, 0.92), (0.15, 1.03), (0.0, 1.10)]
    pen.blob(scarf, CHEF.fill)
    _head(pen, 0.0, 1.23, SKIN_DARK, -0.05)
    pen.line([(-0.09, 1.15), (-0.04, 1.14), (0.01, 1.15)], INK, 1.2)
    for cx, cy, r in ((-0.13, 1.52, 0.12), (0.13, 1.52, 0.12), (0.0, 1.58, 0.14)):
        pen.disc((cx, cy), r, CLOTH)
    pen.box((-0.165, 1.33), (0.33, 0.17), CLOTH, radius=0.02)
    pen.box((-0.13, 1.46), (0.26, 0.10), CLOTH, edge=None)


def counter(ax: Axes, x: float, y: float, width: float, *, layer: float = 3.0) -> None:
    """A counter with a cutting board, one carrot and very few slices."""
    pen = Pen(ax, x, y, 1.0, layer)
    half = width / 2
    pen.box((-half + 0.06, 0.0), (width - 0.12, 0.52), "#D9D2C4")
    for i in (1, 2):
        seam = -half + 0.06 + i * (width - 0.12) / 3
        pen.line([(seam, 0.05), (seam, 0.47)], "#A89F8E", 1.0)
    pen.box((-half, 0.50), (width, 0.09), STEEL, radius=0.02)
    pen.box((-0.46, 0.59), (0.86, 0.06), WOOD, radius=0.02)
    carrot = [(-0.36, 0.665), (-0.36, 0.745), (-0.20, 0.755), (0.02, 0.705), (-0.20, 0.655)]
    pen.blob(carrot, "#EE8A3A", width=1.0)
    pen.line([(-0.36, 0.71), (-0.46, 0.78)], NOTES.fill, 2.2)
    pen.line([(-0.36, 0.71), (-0.48, 0.71)], NOTES.fill, 2.2)
    pen.disc((0.15, 0.685), 0.04, "#EE8A3A", width=1.0)


def clipboard(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 2.0) -> None:
    """A clipboard with a stack of notes: the KV cache."""
    pen = Pen(ax, x, y, size, layer)
    pen.box((-0.36, 0.0), (0.72, 1.0), WOOD, radius=0.05)
    for shift in (0.05, 0.025, 0.0):
        pen.box((-0.29 + shift, 0.06 - shift), (0.56, 0.82), CLOTH, width=0.9)
    for i in range(6):
        y0 = 0.75 - 0.115 * i
        pen.line([(-0.22, y0), (0.20 if i != 5 else -0.02, y0)], NOTES.fill, 2.2)
    pen.box((-0.15, 0.90), (0.30, 0.12), STEEL, radius=0.03)
    pen.disc((0.0, 1.03), 0.045, STEEL)


def ticket(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 2.0) -> None:
    """An order ticket with a torn lower edge: the prompt."""
    pen = Pen(ax, x, y, size, layer)
    teeth = [(0.30 - 0.075 * i, 0.0 if i % 2 == 0 else 0.06) for i in range(9)]
    pen.polygon([(-0.30, 0.98), (0.30, 0.98), *teeth], CLOTH)
    pen.disc((0.0, 0.86), 0.055, ORDER.fill)
    for i, end in enumerate((0.20, 0.12, 0.20, -0.02)):
        pen.line([(-0.20, 0.68 - 0.14 * i), (end, 0.68 - 0.14 * i)], ORDER.ink, 2.2)


def guest(
    ax: Axes, x: float, y: float, size: float = 1.0, *, fill: str = ORDER.fill, layer: float = 2.0
) -> None:
    """A guest, head and shoulders."""
    pen = Pen(ax, x, y, size, layer)
    shoulders = [(-0.30, 0.0), (-0.28, 0.26), (-0.12, 0.42), (0.12, 0.42), (0.28, 0.26), (0.30, 0)]
    pen.blob(shoulders, fill)
    pen.disc((0.0, 0.56), 0.165, SKIN)


def shadow(ax: Axes, x: float, y: float, width: float) -> None:
    """A soft shadow on the floor."""
    Pen(ax, x, y, 1.0, 1.5).disc((0.0, 0.0), width / 2, "#BDAE90", edge=None, squash=0.13)


def pot(ax: Axes, x: float, y: float, size: float = 1.0, *, layer: float = 2.0) -> None:
    """A pot on the boil: a reduction, and whatever else newer kitchens do."""
    pen = Pen(ax, x, y, size, layer)
    for steam in (-0.16, 0.0, 0.16):
        wave = [(steam + 0.04 * (-1) ** i, 0.66 + 0.07 * i) for i in range(5)]
        pen.line(wave, "#8C8577", 1.8)
    for side in (-1, 1):
        pen.box((side * 0.40 - 0.09, 0.36), (0.18, 0.09), INK, radius=0.04)
    pen.box((-0.38, 0.0), (0.76, 0.52), STEEL, radius=0.08)
    pen.box((-0.42, 0.48), (0.84, 0.09), STEEL, radius=0.03)
