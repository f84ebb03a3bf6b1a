"""Guests at specialised stations: a mixture of experts, by hand.

`StationsSetting` has the numbers, `StationsStage` draws them, `stations_guests` is the still.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.text import Text
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip, chip
from kitchenlib.experts import experts_touched, experts_touched_by, routing_chances
from kitchenlib.inputs import Number, count, dimension, find, instance
from kitchenlib.layers import Experts
from kitchenlib.miniatures.stations import CARD, Split, experts_of, skewed
from kitchenlib.models import Model, model, models
from kitchenlib.phases import decode_step
from kitchenlib.plots.kept import Kept
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    PAPER,
    RULE,
    SACK,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Gauge,
    Picture,
    Role,
    Stage,
    canvas,
    counts,
    footnote,
    grid,
    in_style,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.roofline import Part, Work
from kitchenlib.serving import memory_needed
from kitchenlib.serving.memory import USABLE
from kitchenlib.units import GB, human, significant

# --- what there is to choose ---------------------------------------------------------------------

THE_CARD = "the card's kitchen"  #: 16 sacks, 500 GB in all, 40 GB for one token; no notes
MODELS = (
    THE_CARD,
    *(m.name for m in models() if any(isinstance(block.mlp, Experts) for block in m.blocks)),
)
ROUTING = {"uniform": 0.0, "Zipf": 1.0}  #: how uneven: see `kitchenlib.routing_chances`
CHIPS = ("A100 SXM 80GB", "H100 SXM", "H200 SXM", "B200 SXM (HGX/DGX)", "MI300X")
TOGETHER = (1, 2, 4, 8)
MOST_GUESTS = 1024

KITCHENS = ("this kitchen", "dense, all", "dense, active")


class StationsSetting(NamedTuple):
    """A mixture of experts and its guests: what the explorer can be set to. All in 16 bit.

    Attributes:
        model: catalogue name of a mixture, or `THE_CARD`, which has no notes and no exchanges.
        batch: guests served at once.
        skew: "uniform", or "Zipf": the most popular expert twice as popular as the second.
        chip, chips: catalogue name, and how many share the model.
        tokens: of notes, of each guest.

    Whatever is wrong with a value raises `UnknownName` or ``ValueError`` when it is used.
    """

    model: str = THE_CARD
    batch: int = 32
    skew: str = "uniform"
    chip: str = "H100 SXM"
    chips: int = 8
    tokens: int = 2048

    # what the names stand for

    @property
    def of(self) -> Model | None:
        """The model, with its router; None for the card's kitchen."""
        return None if self.model == THE_CARD else _routed(self.model, self.uneven)

    @property
    def on(self) -> Chip:
        return chip(self.chip)

    @property
    def uneven(self) -> float:
        """How uneven the router is."""
        return find("routing", self.skew, ROUTING)

    @property
    def split(self) -> Split:
        """What it is made of, in bytes."""
        return CARD if self.of is None else Split.of(self.of)

    # one step

    def touched(self, guests: ArrayLike) -> Number:
        """Distinct experts of a layer that a step reads (expected)."""
        experts, each = self.split.experts, self.split.per_token
        if not self.uneven:
            return experts_touched(experts, each, guests)
        return experts_touched_by(routing_chances(experts, each, self.uneven), guests)

    def visited(self) -> NDArray[np.float64]:
        """The chance that any guest visits each expert, (experts,), the most popular first."""
        chances = routing_chances(self.split.experts, self.split.per_token, self.uneven)
        return 1 - (1 - chances) ** dimension("batch", self.batch, "guests")

    def works(self, guests: ArrayLike) -> dict[str, Work]:
        """The work of one step on one of the chips, of each of `KITCHENS`.

        The dense ones have one large sack in place of the experts, all else being the same: with
        as many weights in all, or with as many as one token meets.
        """
        batch = count("guests", guests, "guests")
        mixed = self._card(batch) if self.of is None else self._model(batch)
        part, split = mixed.parts["experts"], self.split
        one = part.weight_bytes / self.touched(batch)
        whole = part._replace(
            flops=part.flops * (split.experts / split.per_token),
            weight_bytes=one * split.experts,
        )
        active = part._replace(weight_bytes=one * split.per_token)
        dense = (Work({**mixed.parts, "experts": each}) for each in (whole, active))
        return dict(zip(KITCHENS, (mixed, *dense), strict=True))

    def _model(self, batch: Number) -> Work:
        assert self.of is not None
        return decode_step(self.of, self.tokens, batch, chips=self.chips)

    def _card(self, batch: Number) -> Work:
        """Two parts: a weight of two bytes is one multiply-add, two FLOPs, for each guest."""
        n = dimension("chips", self.chips, "chips")
        shared, expert = CARD.shared / n, CARD.expert / n
        return Work(
            {
                "shared": Part(batch * shared, shared),
                "experts": Part(batch * expert, expert * self.touched(batch)),
            }
        )

    def seconds(self, guests: ArrayLike) -> dict[str, Number]:
        """Ideal seconds of one step, of each of `KITCHENS`."""
        return {name: work.time(self.on) for name, work in self.works(guests).items()}

    def gains(self, guests: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Tokens a second of all guests over those of one, of each of `KITCHENS`."""
        one, many = self.seconds(1), self.seconds(guests)
        return {n: np.asarray(np.asarray(guests) * one[n] / many[n]) for n in KITCHENS}

    # what has to lie in the warehouse

    @property
    def needed(self) -> float:
        """Bytes of weights and notes on each chip."""
        if self.of is None:
            return CARD.total / self.chips
        return float(memory_needed(self.of, self.tokens, self.batch, chips=self.chips))

    @property
    def taken(self) -> float:
        """The share of the memory that they take."""
        return self.needed / (self.on.memory_bytes or float("inf"))

    @property
    def fits(self) -> bool:
        """Whether weights and notes fit into what is usable of the memory."""
        return self.taken <= USABLE

    # in words

    def claim(self) -> str:
        """The kitchen in a sentence."""
        works = self.works(self.batch)
        mixed, whole = works["this kitchen"], works["dense, all"]
        read = float(mixed.weight_bytes) / float(whole.weight_bytes)
        cut = float(mixed.flops) / float(whole.flops)
        who = "One guest touches" if self.batch == 1 else f"{self.batch:,} guests touch"
        return (
            f"{who} {self.experts()}:\n{percent(read)} of the weights of a dense sack to fetch, "
            f"{percent(cut)} of its cuts"
        )

    def experts(self) -> str:
        """Of a layer, touched and in all."""
        return f"{significant(float(self.touched(self.batch)))} of {self.split.experts} experts"

    def lead(self) -> str:
        """Where it cooks."""
        notes = "no notes" if self.of is None else f"{self.tokens:,} tokens of notes"
        chips = f"{self.chips} {self.on.short_label}"
        room = "" if self.fits else " (it does not fit)"
        return f"{self.model} on {chips}{room}: {notes}, routing: {self.skew}"

    def facts(self) -> dict[str, str]:
        """The numbers in words: name -> value with its unit."""
        rows, columns = self.table(), range(len(KITCHENS))
        mixed, whole, active = ({n: cells[i] for n, cells in rows.items()} for i in columns)
        weights = f"{human(self.split.total, 'B')} of weights"
        notes = {"notes": "none in the card's kitchen"} if self.of is None else {}
        return notes | {
            "touched in a layer": self.experts(),
            "one step": f"{mixed['GB a step']} GB, {mixed['one step']}",
            "a guest": f"{mixed['GB a guest']} GB, {mixed['tokens/s a guest']} tokens a second",
            "gain over one guest": (
                f"{mixed['gain over one guest']}; a dense sack of that size "
                f"{whole['gain over one guest']}, one of the active size "
                f"{active['gain over one guest']}"
            ),
            "in the warehouse": (
                f"{weights}; each chip is filled to {percent(self.taken)}"
                f"{'' if self.fits else ', which does not fit'}"
            ),
        }

    def table(self) -> dict[str, list[str]]:
        """Rows of numbers, one of each of `KITCHENS`."""
        works, gains = self.works(self.batch), self.gains(self.batch)
        seconds = {name: float(work.time(self.on)) for name, work in works.items()}
        moved = {name: float(work.bytes) * self.chips / GB for name, work in works.items()}
        cuts = [float(work.flops) * self.chips / self.batch for work in works.values()]
        return {
            "GB a step": [significant(n) for n in moved.values()],
            "GB a guest": [significant(n / self.batch) for n in moved.values()],
            "one step": [human(t, "s") for t in seconds.values()],
            "tokens/s a guest": [significant(1 / t) for t in seconds.values()],
            "gain over one guest": [f"× {significant(float(g))}" for g in gains.values()],
            "cuts a token": [human(n, "FLOP") for n in cuts],
        }

    def sources(self) -> str:
        """What kind of numbers these are."""
        mark = footnote(self.on)
        zipf = " Zipf: an assumption." if self.uneven else ""
        most = self.of and self.of.max_context
        made = ""
        if most and self.tokens > most:
            made = f" {self.model} was made for {most:,} tokens."
        return (
            "Ideal times: a bound where routing is as said. Dense: one sack in place of the "
            f"experts, all else the same.{zipf}\n16 bit; GB of all chips together.{made}{mark}"
        )


@lru_cache(64)
def _routed(name: str, skew: float) -> Model:
    of = model(name)
    experts_of(of)
    return skewed(of, skew)


WORKED = StationsSetting()  #: the card's kitchen with 32 guests
ALONE = WORKED._replace(batch=1)  #: where the explorer starts


# --- its picture ---------------------------------------------------------------------------------

_ROLES: dict[str, tuple[Role, Any, str]] = {
    "this kitchen": (SACK, "solid", "o"),
    "dense, all": (Role(INK, INK), (0, (1.5, 1.5)), "s"),
    "dense, active": (WAITER, (0, (6, 2)), "D"),
}
_GRID = (MARGIN, 3.08, 4.05, 1.5)  # inches: where the sacks stand
_TABLE, _PITCH = 2.06, 0.24  # inches: the first row, and the step to the next
_RIGHT = (5.2, 6.95, WIDTH - MARGIN)  # right edges of the columns
_EVERY = np.unique(np.geomspace(1, MOST_GUESTS, 61).astype(int))
_HEADS = ("this kitchen", "dense, as many in all", "dense, as many active")


class StationsStage(Stage):
    """Sacks, what company gains, and three kitchens in numbers: `show` a setting."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 6.4, alt="A mixture of experts and its guests.")
        top = picture.size[1] - MARGIN
        bold: dict[str, Any] = {"size": TITLE, "weight": "bold", "linespacing": 1.15}
        self._title = write(picture, MARGIN, top, "", va="top", **bold)
        self._lead = write(picture, MARGIN, top - 0.56, "", size=LEAD, color=MUTED, va="top")
        self._source = source(picture, "")
        ax = canvas(picture)
        write(ax, MARGIN, 4.84, "Experts of a layer, filled as likely as visited", weight="bold")
        self._sacks = _Sacks(ax)
        self._memory = Gauge(ax, MARGIN, 2.5, 2.4, "memory taken, of each chip", SACK)
        self._curves = _Curves(picture)
        self._cells = _cells(ax)
        words = [self._title, self._lead, self._source]
        cells = [cell for row in self._cells.values() for cell in row]
        super().__init__(
            picture,
            [
                *map(Kept, words),
                *self._sacks.actors,
                *self._memory.actors,
                *self._curves.actors,
                *map(Kept, cells),
            ],
        )

    @in_style
    def show(self, setting: StationsSetting) -> None:
        """Move everything to `setting`. Raises `UnknownName` for a name in no catalogue."""
        instance("setting", setting, StationsSetting, "StationsSetting(batch=8)")
        self._title.set_text(setting.claim())
        self._lead.set_text(setting.lead())
        self._source.set_text(setting.sources())
        self._sacks.show(setting.visited())
        self._memory.show(setting.taken)
        self._curves.show(setting)
        table = setting.table()
        for name, cells in self._cells.items():
            for cell, words in zip(cells, table[name], strict=True):
                cell.set_text(words)
        facts = "; ".join(f"{name}: {value}" for name, value in setting.facts().items())
        rows = "; ".join(f"{name} {', '.join(cells)}" for name, cells in table.items())
        said = (
            " ".join(setting.claim().split()),
            setting.lead(),
            facts,
            f"{', '.join(_HEADS)}: {rows}",
        )
        self.picture.alt = " ".join(". ".join((*said, setting.sources())).split())


def _cells(ax: Axes) -> dict[str, list[Text]]:
    """The empty cells of the table, below its heads."""
    for x, head, name in zip(_RIGHT, _HEADS, KITCHENS, strict=True):
        role = _ROLES[name][0]
        write(ax, x, _TABLE + 0.25, head, ha="right", size=SMALL, color=role.ink)
    ax.plot([MARGIN, _RIGHT[-1]], [_TABLE + 0.18] * 2, color=RULE, linewidth=0.8)
    found = {}
    for i, name in enumerate(ALONE.table()):
        y = _TABLE - _PITCH * i
        write(ax, MARGIN, y, name, color=MUTED)
        found[name] = [write(ax, x, y, "", ha="right") for x in _RIGHT]
        found[name][0].set_fontweight("bold")
    return found


class _Sacks:
    """A sack for each expert, filled as high as the chance that anyone visits it."""

    def __init__(self, ax: Axes) -> None:
        none: list[Any] = []
        self._fills = PolyCollection(none, facecolor=SACK.fill, linewidth=0, zorder=2)
        self._edges = PolyCollection(none, facecolor="none", edgecolor=INK, linewidth=0.8, zorder=3)
        self.actors: list[Artist] = [self._fills, self._edges]
        for each in (self._fills, self._edges):
            ax.add_collection(each, autolim=False)

    def show(self, filled: NDArray[np.float64]) -> None:
        left, foot, wide, high = _GRID
        across = next(n for n in (8, 16, 32) if n == 32 or 2 * n >= len(filled))
        down = -(-len(filled) // across)
        pitch = wide / across, high / max(down, 2)
        places = np.arange(len(filled))
        x = left + places % across * pitch[0]
        y = foot + high - (places // across + 1) * pitch[1]
        size = 0.82 * pitch[0], 0.8 * pitch[1]
        self._edges.set_verts(_boxes(x, y, size[0], np.full(len(filled), size[1])))
        self._fills.set_verts(_boxes(x, y, size[0], size[1] * filled))


def _boxes(x: Any, y: Any, wide: float, high: NDArray[np.float64]) -> Any:
    """Corners of boxes, (boxes, 4, 2)."""
    right, top = x + wide, y + high
    corners = ((x, y), (right, y), (right, top), (x, top))
    return np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)


class _Curves:
    """What company gains in the three kitchens, and where the guests of the setting are."""

    def __init__(self, picture: Picture) -> None:
        write(picture, 4.94, 4.84, "Times the tokens/s of one guest, by guests", weight="bold")
        ax = panel(picture, 5.3, 2.98, 2.2, 1.72)
        ticks = (1, 4, 16, 64, 256, 1024)
        log_axis(ax.xaxis, ticks, counts(ticks), "")
        log_axis(ax.yaxis, ticks, counts(ticks), "")
        ax.set(xlim=(0.9, 1.15 * MOST_GUESTS), ylim=(0.9, 1.15 * MOST_GUESTS))
        grid(ax)
        self._ax, self._lines, self._marks, self._names = ax, {}, {}, {}
        for name, (role, dash, mark) in _ROLES.items():
            (self._lines[name],) = ax.plot([1], [1], color=role.fill, linestyle=dash, zorder=3)
            size = 10 if mark == "s" else 7  # seen where two lie on each other
            (self._marks[name],) = ax.plot(
                [1], [1], mark, color=role.fill, markersize=size, markeredgecolor=PAPER, zorder=4
            )
            self._names[name] = write(picture, 7.6, 3.0, "", color=role.ink, va="center")
        self.actors: list[Artist] = [
            *self._lines.values(),
            *self._marks.values(),
            *map(Kept, self._names.values()),
        ]

    def show(self, setting: StationsSetting) -> None:
        curves, here = setting.gains(_EVERY), setting.gains(setting.batch)
        for name in KITCHENS:
            self._lines[name].set_data(_EVERY, curves[name])
            self._marks[name].set_data([setting.batch], [float(here[name])])
        ends = sorted(KITCHENS, key=lambda name: -curves[name][-1])
        above = np.inf
        for i, name in enumerate(ends):
            share = np.log(curves[name][-1] / 0.9) / np.log(1.15 * MOST_GUESTS / 0.9)
            lowest = 3.04 + 0.19 * (len(ends) - 1 - i)
            above = max(min(2.98 + 1.72 * float(share), above - 0.19), lowest)
            self._names[name].set(y=above, text=name)


@in_style
def stations_guests(setting: StationsSetting = WORKED) -> Picture:
    """A mixture of experts with its guests, beside dense kitchens: the still of the explorer."""
    stage = StationsStage()
    stage.show(setting)
    return stage.picture
