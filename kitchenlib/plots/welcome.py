"""The pictures of ``00_welcome``: a first taste of the law, and the map of the collection."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip, chip
from kitchenlib.models import Model, model
from kitchenlib.phases import decode_step
from kitchenlib.plots import scenery
from kitchenlib.plots.reading import Reading, read
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MARGIN,
    MUTED,
    ORDER,
    PAPER,
    RULE,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Gauge,
    Picture,
    Stage,
    canvas,
    claim,
    in_style,
    percent,
    write,
)
from kitchenlib.units import human, many, significant

# --- a first taste -----------------------------------------------------------------------------

GUESTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  #: what the slider offers


class Taste(Stage):
    """The kitchen with a number of guests that can be changed: `serve` them, then `frame`."""

    @in_style
    def __init__(self, chip: Chip, model: Model) -> None:
        self.chip, self.model = chip, model
        picture = Picture(WIDTH, 4.5, alt="One sack for all guests.")
        ax = canvas(picture)
        top = picture.size[1] - MARGIN
        self._title = write(ax, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        self._lead = f"{model.name} on one {chip.name}, 16 bit; the guests' notepads left out"
        write(ax, MARGIN, top - 0.31, self._lead, size=LEAD, color=MUTED, va="top")
        _taste_scene(ax, "the whole sack, for every token")
        self._seats = _Seats(ax, 5.55, 1.55)
        self._waiter = Gauge(ax, MARGIN, 0.56, 1.7, "waiter busy", WAITER)
        self._chef = Gauge(ax, MARGIN + 2.6, 0.56, 1.7, "chef busy", CHEF)
        write(ax, 5.55, 0.98, "each guest", color=MUTED)
        write(ax, 5.55, 0.58, "all together", color=MUTED)
        strong = {"size": LEAD + 1.5, "weight": "bold"}
        self._each = write(ax, 6.7, 0.98, "", **strong)
        self._all = write(ax, 6.7, 0.58, "", **strong)
        words = [self._title, self._each, self._all]
        gauges = [*self._waiter.actors, *self._chef.actors]
        super().__init__(picture, [*words, self._seats.taken, *gauges])

    @in_style
    def serve(self, guests: int) -> None:
        """Show the step that writes the next token of `guests` guests at once."""
        now, facts = self._read(guests), self.facts(guests)
        who = many(guests, "guest")
        title = f"{who}, one trip: the chef is busy {percent(now.chef)} of the time"
        self._title.set_text(title)
        self._seats.take(guests)
        self._waiter.show(now.waiter)
        self._chef.show(now.chef)
        self._each.set_text(facts["each guest"])
        self._all.set_text(facts["all together"])
        said = "; ".join(f"{name}: {value}" for name, value in facts.items())
        self.picture.alt = f"{title}. {self._lead}. {said}."

    def facts(self, guests: int) -> dict[str, str]:
        """The numbers of that step, in words."""
        now = self._read(guests)
        return {
            "each guest": f"a token every {human(now.time, 's', 2)}",
            "all together": f"{significant(guests / now.time)} tokens a second",
            "carried": human(now.bytes, "B"),
            "waiter busy": percent(now.waiter),
            "chef busy": percent(now.chef),
        }

    def _read(self, guests: int) -> Reading:
        return read(decode_step(self.model, context=0, batch=guests), self.chip)


class _Seats:
    """Chairs for all guests; the taken ones are an actor."""

    columns, rows, pitch = 32, 16, 0.098

    def __init__(self, ax: Axes, left: float, bottom: float) -> None:
        column, row = np.meshgrid(np.arange(self.columns), np.arange(self.rows)[::-1])
        x, y = left + 0.05 + column * self.pitch, bottom + 0.05 + row * self.pitch
        self.seats = np.column_stack([x.ravel(), y.ravel()])
        ax.scatter(
            self.seats[:, 0], self.seats[:, 1], s=17, facecolor=PAPER, edgecolor=RULE, linewidth=0.8
        )
        self.taken = ax.scatter([], [], s=24, facecolor=ORDER.fill, edgecolor=INK, linewidth=0.7)
        write(ax, left, bottom + self.rows * self.pitch + 0.09, "guests", color=MUTED)

    def take(self, guests: int) -> None:
        self.taken.set_offsets(self.seats[:guests])


def _taste_scene(ax: Axes, carried: str) -> None:
    floor = 1.62
    pen = scenery.Pen(ax, 0, 0, 1.0, 1.0)
    pen.box((MARGIN, floor - 0.14), (4.9, 1.98), scenery.WALL, edge=None)
    pen.box((MARGIN, floor - 0.14), (4.9, 0.2), scenery.FLOOR, edge=None)
    scenery.waiter(ax, 1.28, floor - 0.06, 1.05)
    scenery.cart(ax, 2.44, floor - 0.06, 0.76)
    scenery.sack(ax, 2.44, floor + 0.16, 0.8, layer=3.5)
    scenery.chef(ax, 4.2, floor - 0.04, 1.02)
    scenery.counter(ax, 4.2, floor - 0.06, 1.3)
    write(ax, 2.6, 3.2, carried, ha="center", color=WAITER.ink, weight="bold", size=SMALL + 0.5)


@in_style
def taste(chip: Chip, model: Model, guests: int = 1) -> Picture:
    """One decode step for `guests` guests: who is busy, and how fast the tokens come."""
    stage = Taste(chip, model)
    stage.serve(guests)
    return stage.picture


# --- the map -----------------------------------------------------------------------------------


class Stop(NamedTuple):
    """A notebook on the map: its file name, its title, the question it answers."""

    notebook: str
    title: str
    question: str


#: The notebooks that exist.
READY = (
    "00_welcome",
    "01_ratio",
    "02_prefill_vs_decode",
    "03_price_paradox",
    "04_four_fixes",
    "05_modern_systems",
)
ROOM, PITCH = (2.64, 1.56), (2.86, 2.02)  # inches: a room on the map, and from one to the next

STOPS = (
    Stop("00_welcome", "Welcome", "How do I find my\nway around here?"),
    Stop("01_ratio", "The ratio", "Why does the chef\nstand and wait?"),
    Stop("02_prefill_vs_decode", "Prefill vs decode", "Why first a pause,\nand then a drip?"),
    Stop("03_price_paradox", "The price paradox", "Why does a reply cost\nmore than a question?"),
    Stop("04_four_fixes", "Four fixes", "What makes the\nreply come faster?"),
    Stop("05_modern_systems", "Modern systems", "What do the newer\nkitchens change?"),
)


@in_style
def collection_map(ready: Collection[str] = READY) -> Picture:
    """The rooms in the order of the walk, each with its question.

    Args:
        ready: the notebooks that exist (names without ``.ipynb``); the others are drawn dashed
            and marked "in preparation".

    Raises ``ValueError`` for a notebook that is not on the map.
    """
    if unknown := set(ready) - {stop.notebook for stop in STOPS}:
        raise ValueError(f"not on the map: {', '.join(sorted(unknown))}")
    title = "Every room answers one question and opens the next"
    rooms = "; ".join(
        f"{stop.notebook[:2]} {stop.title}: {' '.join(stop.question.split())}"
        + ("" if stop.notebook in ready else " (in preparation)")
        for stop in STOPS
    )
    lead = "The walk through the kitchen, from the door to the modern kitchens"
    picture = Picture(WIDTH, 4.9, alt=f"{title}. {lead}. {rooms}")
    claim(picture, title, lead)
    ax = canvas(picture)
    places = ((0, 1), (1, 1), (2, 1), (2, 0), (1, 0), (0, 0))  # there and back
    corners = [(MARGIN + x * PITCH[0], 0.4 + y * PITCH[1]) for x, y in places]
    _walk(ax, corners)
    for stop, (x, y) in zip(STOPS, corners, strict=True):
        _room(ax, x, y, stop, stop.notebook in ready)
    return picture


def _walk(ax: Axes, corners: Sequence[tuple[float, float]]) -> None:
    """A piece of path with an arrow head in the gap between each room and the next."""
    across, down = PITCH[0] - ROOM[0], PITCH[1] - ROOM[1]
    for (x0, y0), (x1, y1) in pairwise(corners):
        middle = (x0 + x1 + ROOM[0]) / 2, (y0 + y1 + ROOM[1]) / 2
        way = np.sign(x1 - x0), np.sign(y1 - y0)
        half = way[0] * across / 2, way[1] * down / 2
        ends = np.array([np.subtract(middle, half), np.add(middle, half)])
        ax.plot(*ends.T, color="#D9C49A", linewidth=11, solid_capstyle="butt")
        shape = {(1, 0): ">", (-1, 0): "<", (0, -1): "v"}[way]
        ax.plot(*middle, marker=shape, markersize=8, color=INK)


def _room(ax: Axes, x: float, y: float, stop: Stop, ready: bool) -> None:
    pen = scenery.Pen(ax, x, y, 1.0)
    fill, edge = ("#FFFFFF", INK) if ready else (PAPER, MUTED)
    pen.box((0, 0), ROOM, fill, edge=edge, radius=0.12, dashed=not ready)
    ink = INK if ready else MUTED
    number = stop.notebook[:2]
    write(ax, x + 0.14, y + 1.2, number, size=TITLE, weight="bold", color=CHEF.ink, zorder=5)
    write(ax, x + 0.52, y + 1.2, stop.title, size=12, weight="bold", color=ink, zorder=5)
    style = {"va": "top", "linespacing": 1.3, "color": ink, "zorder": 5}
    write(ax, x + 0.14, y + 1.03, stop.question, size=LEAD, **style)
    if not ready:
        write(ax, x + 0.14, y + 0.16, "in preparation", color=MUTED, style="italic", zorder=5)
    _emblem(ax, x + 2.2, y + 0.16, number)


def _emblem(ax: Axes, x: float, y: float, number: str) -> None:
    """What the room is about, drawn small."""
    if number == "00":
        scenery.guest(ax, x, y, 0.72, layer=4)
    elif number == "01":
        scenery.cart(ax, x + 0.02, y, 0.5, layer=4)
        scenery.sack(ax, x + 0.02, y + 0.14, 0.55, layer=5)
    elif number == "02":
        scenery.ticket(ax, x, y, 0.74, layer=4)
    elif number == "03":
        pen = scenery.Pen(ax, x, y, 0.7, 4)
        for i in range(3):
            pen.disc((0.03 * (-1) ** i, 0.16 + 0.14 * i), 0.32, "#F0CF6B", squash=0.5)
    elif number == "04":
        scenery.clipboard(ax, x, y, 0.68, layer=4)
    else:
        scenery.pot(ax, x, y, 0.74, layer=4)


FIGURES: dict[str, Callable[[], Picture]] = {
    "taste-1-guest": lambda: taste(chip("H100 SXM"), model("Llama-2-70B"), 1),
    "taste-32-guests": lambda: taste(chip("H100 SXM"), model("Llama-2-70B"), 32),
    "map": collection_map,
}
