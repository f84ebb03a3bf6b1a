"""State or notes: what a guest's memory weighs and what a token takes, for two real models.

The numbers by the law (`StockSetting`), the picture that follows them, and its still.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import ArrayLike

from kitchenlib.chips import Chip, chip
from kitchenlib.inputs import Number, instance
from kitchenlib.layers import StateSpace
from kitchenlib.models import Model, model
from kitchenlib.phases import decode_step
from kitchenlib.plots.kept import Kept
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    SACK,
    SMALL,
    TITLE,
    WIDTH,
    Picture,
    Role,
    Stage,
    canvas,
    counts,
    end_label,
    footnote,
    grid,
    in_style,
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.roofline import Work
from kitchenlib.serving import max_batch
from kitchenlib.units import GB, human, kg, many

#: Models with a state, in some layers or in all of them, and models that keep every token's notes.
STOCKS = ("Mamba-2.8B", "Mamba2-2.7B", "Jamba-v0.1", "Nemotron-H-8B")
NOTED = ("Llama-2-7B", "Llama-3.1-8B", "Qwen2.5-7B", "Llama-2-70B", "Llama-3.1-70B")
MOST_GUESTS = 128
FEWEST, FARTHEST = 16, 131_072  #: tokens of conversation
CARD = 5 * GB  #: bytes of the stock on the story card, which says 5 kg

STOCK = Role("#56B4E9", "#1B6592")  #: a state's colours


class StockSetting(NamedTuple):
    """Two models, one conversation: what the explorer can be set to. Everything in 16 bit.

    Attributes:
        stock: a model with a state, by its catalogue name; see `STOCKS`.
        notes: a model that keeps notes of every token; see `NOTED`.
        tokens: of conversation, of each guest.
        batch: guests served at once.
        chip: catalogue name.

    Whatever is wrong with a value raises `UnknownName` or ``ValueError`` when it is used.
    """

    stock: str = "Nemotron-H-8B"
    notes: str = "Llama-3.1-8B"
    tokens: int = 4096
    batch: int = 32
    chip: str = "H100 SXM"

    @property
    def both(self) -> tuple[Model, Model]:
        """The model with the state, and the one with the notes."""
        return model(self.stock), model(self.notes)

    @property
    def kept(self) -> tuple[float, float]:
        """Bytes that each model keeps for one guest: state and notes together."""
        stock, notes = (float(kept_bytes(each, self.tokens)) for each in self.both)
        return stock, notes

    @property
    def steps(self) -> tuple[Work, Work]:
        """The decode step of each."""
        stock, notes = (decode_step(each, self.tokens, self.batch) for each in self.both)
        return stock, notes

    @property
    def seconds(self) -> tuple[float, float]:
        """Of each one's decode step: ideal, a bound."""
        stock, notes = (float(step.time(chip(self.chip))) for step in self.steps)
        return stock, notes

    @property
    def room(self) -> tuple[int, int]:
        """Guests that fit with each model; 0 where not even the weights do."""
        on = chip(self.chip)
        stock, notes = (int(max_batch(each, on, self.tokens)) for each in self.both)
        return stock, notes

    @property
    def keeps_less_from(self) -> int | None:
        """Tokens from which the stock keeps less for a guest; None: not up to `FARTHEST`."""
        stock, notes = self.both
        return _first(lambda n: bool(kept_bytes(stock, n) < kept_bytes(notes, n)))

    @property
    def faster_from(self) -> int | None:
        """Tokens from which a step takes less with the stock; None: not up to `FARTHEST`."""
        return _faster_from(*self.both, self.batch, chip(self.chip))

    # in words

    def claim(self) -> str:
        """From where on the stock pays: in bytes, and in time."""
        keeps, faster = self.keeps_less_from, self.faster_from
        kept = f"keeps less {_from(keeps)}" if keeps else f"keeps no less up to {FARTHEST:,} tokens"
        return f"{self.stock} {kept},\nand {self._pace(keeps, faster)}"

    def _pace(self, keeps: int | None, faster: int | None) -> str:
        company = f"with {many(self.batch, 'guest')}"
        if faster is None:
            return f"is not faster up to {FARTHEST:,}, {company}"
        if faster == 1:
            stock, notes = self.steps
            lighter = stock.weight_bytes < notes.weight_bytes
            return f"is faster {_from(faster)}" + ": its weights are lighter" * bool(lighter)
        only = "only " if keeps and faster > keeps else ""
        return f"is faster {only}from {faster:,} on, {company}"

    def lead(self) -> str:
        """Which two are compared, and where."""
        return (
            f"Beside {self.notes}, in 16 bit, on one {chip(self.chip).short_label}: "
            f"{many(self.batch, 'guest')}, {many(self.tokens, 'token')} of conversation"
            f"{' each' * (self.batch > 1)}"
        )

    def sources(self) -> str:
        """What kind of times these are, and which model was not made for so long a conversation."""
        short = [m for m in self.both if m.max_context and self.tokens > m.max_context]
        made = "; ".join(f"{m.name} was made for {m.max_context:,} tokens" for m in short)
        large = [m.name for m, room in zip(self.both, self.room, strict=True) if not room]
        full = f"No room for {' and '.join(large)}: drawn as if there were. " if large else ""
        kept = f" {self.stock} keeps its state in {_state_format(self.stock)}."
        return (
            "Ideal times: a bound. A state is read and written at every step, notes are read."
            f"{kept}{footnote(chip(self.chip))}\n{full}{made}{'.' * bool(made)}"
        )

    def facts(self) -> dict[str, str]:
        """The numbers in words: name -> value with its unit."""
        stock, notes = self.steps
        times, room = [human(t, "s") for t in self.seconds], [f"{n:,}" for n in self.room]
        kept = [human(each, "B") for each in self.kept]
        return {
            "a guest keeps": f"{self._parts()}; {self.notes}: {kept[1]} of notes",
            "a token takes": f"{self.stock} {times[0]}, {self.notes} {times[1]}",
            "states move": self._state_against(stock),
            "guests that fit": f"{room[0]} and {room[1]}",
            "the stock keeps less": _from(self.keeps_less_from),
            "the stock is faster": _from(self.faster_from),
            "a step carries": f"{human(float(stock.bytes), 'B')} and "
            f"{human(float(notes.bytes), 'B')}",
        }

    def _parts(self) -> str:
        """What a guest of the first model keeps."""
        of = model(self.stock)
        state = human(of.state_bytes(), "B")
        if not of.kv_bytes_per_token():
            return f"{self.stock}: {state} of state"
        notes = human(float(of.kv_bytes(self.tokens)), "B")
        return f"{self.stock}: {human(self.kept[0], 'B')} ({state} of state, {notes} of notes)"

    def _state_against(self, step: Work) -> str:
        """The traffic of the states beside that of the weights."""
        state, weights = float(step.state_bytes), float(step.weight_bytes)
        than = "more" if state > weights else "less"
        return f"{human(state, 'B')} a step, {than} than the weights ({human(weights, 'B')})"


WORKED = StockSetting()  #: the worked example: two models whose weights weigh about the same


def kept_bytes(of: Model, tokens: ArrayLike) -> Number:
    """Bytes that a model keeps for one guest after so many tokens: its state, and its notes."""
    return of.state_bytes() + of.kv_bytes(tokens)


def _state_format(name: str) -> str:
    """The number format in which the layers of a model keep their state."""
    mixers = (block.attention for block in model(name).blocks)
    return next(mixer.state_format for mixer in mixers if isinstance(mixer, StateSpace))


def _first(better: Callable[[int], bool]) -> int | None:
    """The first number of tokens that is `better`, if all after it are, too; None if none is."""
    if not better(FARTHEST):
        return None
    low, high = 0, FARTHEST  # not yet better, and better
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if better(middle) else (middle, high)
    return high


@lru_cache(128)
def _faster_from(stock: Model, notes: Model, batch: int, on: Chip) -> int | None:
    def faster(tokens: int) -> bool:
        one, other = (decode_step(each, tokens, batch).time(on) for each in (stock, notes))
        return bool(one < other)

    return _first(faster)


def _from(tokens: int | None) -> str:
    if tokens is None:
        return f"not up to {FARTHEST:,} tokens"
    return "from the first token on" if tokens == 1 else f"from {tokens:,} tokens on"


# --- the picture -------------------------------------------------------------------------------

_FOOT, _HIGH, _WIDE = 2.72, 2.06, 2.36  # inches: the two panels
_LEFT, _RIGHT = 0.98, 5.32
_BYTES, _SECONDS = (1e5, 3e11), (5e-4, 20.0)
_TOKENS = np.unique(np.geomspace(1, FARTHEST, 60).astype(int))
_LOOKS = ((STOCK, "solid", "s"), (NOTES, (0, (6, 2)), "o"))
_BARS, _BAR, _LONGEST, _THICK = (1.37, 0.91), 1.66, 2.9, 0.26  # inches
_COLUMNS = (7.42, WIDTH - MARGIN)
_PARTS: dict[str, tuple[str, str | None]] = {
    "weights": (SACK.fill, None),
    "state, read": (STOCK.fill, None),
    "state, written": (STOCK.fill, "////"),
    "notes": (NOTES.fill, None),
}


class StockStage(Stage):
    """What two models keep, what a token takes with each, and what a step carries: `show` it."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 6.2, alt="A model with a state beside one with notes.")
        top = picture.size[1] - MARGIN
        bold: dict[str, Any] = {"size": TITLE, "weight": "bold", "linespacing": 1.15}
        self._title = write(picture, MARGIN, top, "", va="top", **bold)
        self._lead = write(picture, MARGIN, top - 0.56, "", size=LEAD, color=MUTED, va="top")
        self._source = source(picture, "")
        ax = canvas(picture)
        self._kept = _Lines(ax, _kept_panel(picture), _LEFT, _BYTES)
        self._time = _Lines(ax, _time_panel(picture), _RIGHT, _SECONDS)
        _legend(ax)
        self._bars = [_Bar(ax, y, look[0]) for y, look in zip(_BARS, _LOOKS, strict=True)]
        words = map(Kept, (self._title, self._lead, self._source))
        lines = [*self._kept.actors, *self._time.actors]
        super().__init__(picture, [*words, *lines, *(a for bar in self._bars for a in bar.actors)])

    @in_style
    def show(self, setting: StockSetting) -> None:
        """Move everything to `setting`. Raises `UnknownName` for a name in no catalogue."""
        instance("setting", setting, StockSetting, "StockSetting(batch=64)")
        on, names = chip(setting.chip), (setting.stock, setting.notes)
        curves = [np.broadcast_to(kept_bytes(m, _TOKENS), _TOKENS.shape) for m in setting.both]
        self._kept.show(names, curves, setting.kept, setting.tokens, setting.keeps_less_from)
        works = [decode_step(each, _TOKENS, setting.batch) for each in setting.both]
        times = [np.broadcast_to(work.time(on), _TOKENS.shape) for work in works]
        self._time.show(names, times, setting.seconds, setting.tokens, setting.faster_from)
        most = max(float(step.bytes) for step in setting.steps)
        for i, bar in enumerate(self._bars):
            numbers = setting.seconds[i], setting.kept[i], setting.room[i]
            bar.show(names[i], setting.steps[i], *numbers, _LONGEST / most)
        self._title.set_text(setting.claim())
        self._lead.set_text(setting.lead())
        self._source.set_text(setting.sources())
        facts = "; ".join(f"{name}: {value}" for name, value in setting.facts().items())
        said = (setting.claim(), setting.lead(), facts, _context(), setting.sources().strip("\n. "))
        self.picture.alt = " ".join(f"{'. '.join(said)}.".split())


def _context() -> str:
    """What stands in the picture whatever is chosen."""
    return f"States of {_states()}. The story card says {kg(CARD):.0f} kg: {human(CARD, 'B')}"


def _states() -> str:
    found = sorted((model(name).state_bytes(), name) for name in STOCKS)
    return ", ".join(f"{name} {human(size, 'B')}" for size, name in found)


def _kept_panel(picture: Picture) -> Axes:
    ax = _panel(picture, _LEFT, "Kept for one guest")
    ticks = [10.0**k for k in range(5, 12)]
    log_axis(ax.yaxis, ticks, [human(tick, "B", 1) for tick in ticks], "")
    ax.set_ylim(*_BYTES)
    low, high = (f(model(name).state_bytes() for name in STOCKS) for f in (min, max))
    ax.axhspan(low, high, color=STOCK.fill, alpha=0.22, linewidth=0)
    band = f"states of {len(STOCKS)} models:\n{human(low, 'B')} to {human(high, 'B')}"
    beside: dict[str, Any] = {"size": SMALL, "ha": "right", "va": "top", "dx": -3, "dy": -3}
    end_label(ax, FARTHEST, low, band, STOCK, **beside)
    ax.axhline(CARD, color=MUTED, linewidth=1.1, linestyle=(0, (2, 2)))
    end_label(ax, FEWEST, CARD, f"the card's stock: {kg(CARD):.0f} kg", size=SMALL, dx=3, dy=7)
    return ax


def _time_panel(picture: Picture) -> Axes:
    ax = _panel(picture, _RIGHT, "A token takes (one step)")
    ticks = [10.0**k for k in range(-3, 2)]
    log_axis(ax.yaxis, ticks, [human(tick, "s", 1) for tick in ticks], "")
    ax.set_ylim(*_SECONDS)
    return ax


def _panel(picture: Picture, left: float, heading: str) -> Axes:
    write(picture, left - 0.62, _FOOT + _HIGH + 0.14, heading, weight="bold")
    ax = panel(picture, left, _FOOT, _WIDE, _HIGH)
    ticks = (16, 256, 4096, 65_536)
    log_axis(ax.xaxis, ticks, counts(ticks), "tokens of conversation")
    ax.set_xlim(FEWEST, FARTHEST)
    grid(ax)
    return ax


class _Lines:
    """The lines of both models in one panel, where they stand and cross, and their names."""

    def __init__(self, paper: Axes, ax: Axes, left: float, limits: tuple[float, float]) -> None:
        self._ax, self._limits = ax, limits
        # over the axes' own lines and each other, as in a frame of the stage
        thin: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (1, 2)), "zorder": 4}
        (self._between,) = ax.plot([], [], color=INK, **thin)
        self._curves: list[Line2D] = []
        self._points: list[Line2D] = []
        self._names: list[Text] = []
        for role, dash, mark in _LOOKS:
            (curve,) = ax.plot([], [], color=role.fill, linestyle=dash, zorder=5)
            edge: dict[str, Any] = {"markeredgecolor": PAPER, "linestyle": "none", "zorder": 7}
            (point,) = ax.plot([], [], mark, color=role.ink, markersize=8, clip_on=False, **edge)
            self._curves.append(curve)
            self._points.append(point)
            style: dict[str, Any] = {"color": role.ink, "size": SMALL, "va": "center"}
            self._names.append(write(paper, left + _WIDE + 0.12, _FOOT, "", **style))
        ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK, "markersize": 11}
        (self._crossing,) = ax.plot([], [], "o", markeredgewidth=1.4, zorder=6, **ring)
        moving = [self._between, *self._curves, self._crossing, *self._points]
        self.actors: list[Artist] = [*moving, *map(Kept, self._names)]

    def show(
        self,
        names: tuple[str, str],
        curves: list[np.ndarray],
        points: tuple[float, float],
        tokens: int,
        crossing: int | None,
    ) -> None:
        self._between.set_data([tokens, tokens], np.clip(points, *self._limits))
        heights = [self._height(curve[-1]) for curve in curves]
        apart = 0.17  # inches
        if abs(heights[0] - heights[1]) < apart:
            middle, up = sum(heights) / 2, heights[0] >= heights[1]
            heights = [middle + apart / 2 * sign for sign in ((1, -1) if up else (-1, 1))]
        for i, name in enumerate(names):
            self._curves[i].set_data(_TOKENS, curves[i])
            self._points[i].set_data([tokens], np.clip([points[i]], *self._limits))
            self._names[i].set_text(name)
            self._names[i].set_y(heights[i])
        self._crossing.set_visible(crossing is not None and crossing >= FEWEST)
        if crossing:
            at = np.interp(np.log(crossing), np.log(_TOKENS), np.log(curves[0]))
            self._crossing.set_data([crossing], [np.exp(at)])

    def _height(self, value: float) -> float:
        """Inches from the lower edge of the card; beyond the frame at its edge."""
        low, high = np.log(self._limits)
        return float(_FOOT + _HIGH * np.clip((np.log(value) - low) / (high - low), 0, 1))


def _legend(ax: Axes) -> None:
    y = _BARS[0] + 0.42
    write(ax, MARGIN, y, "One step carries", weight="bold")
    x = 1.9
    for (name, (fill, hatch)), wide in zip(_PARTS.items(), (0.86, 1.02, 1.2, 0.6), strict=True):
        ax.add_patch(Rectangle((x, y - 0.01), 0.17, 0.12, facecolor=fill, **_edge(hatch)))
        write(ax, x + 0.23, y, name, size=SMALL, color=MUTED)
        x += wide
    for right, head in zip(_COLUMNS, ("a guest keeps", "guests that fit"), strict=True):
        write(ax, right, y, head, size=SMALL, color=MUTED, ha="right")


def _edge(hatch: str | None) -> dict[str, Any]:
    return {"edgecolor": INK, "linewidth": 0.7, "hatch": hatch, "hatch_linewidth": 0.6}


class _Bar:
    """The bytes of one model's step, and what comes of them in the columns behind."""

    def __init__(self, ax: Axes, y: float, role: Role) -> None:
        middle: dict[str, Any] = {"va": "center_baseline"}
        self._name = write(ax, MARGIN, y, "", color=role.ink, weight="bold", **middle)
        self._sum = write(ax, _BAR, y, "", **middle)
        self._cells = [write(ax, x, y, "", ha="right", **middle) for x in _COLUMNS]
        self._pieces = []
        for fill, hatch in _PARTS.values():
            piece = Rectangle((_BAR, y - _THICK / 2), 0, _THICK, facecolor=fill, **_edge(hatch))
            self._pieces.append(piece)
            ax.add_patch(piece)
        self.actors = [Kept(*self._pieces), *map(Kept, (self._name, self._sum, *self._cells))]

    def show(
        self, name: str, step: Work, seconds: float, kept: float, room: int, scale: float
    ) -> None:
        state = float(step.state_bytes) / 2  # as much is written as is read
        x = _BAR
        for piece, nbytes in zip(
            self._pieces,
            (float(step.weight_bytes), state, state, float(step.kv_bytes)),
            strict=True,
        ):
            wide = scale * nbytes
            piece.set(x=x, width=wide, linewidth=0.7 if wide else 0)
            x += wide
        self._name.set_text(name)
        self._sum.set_x(x + 0.1)
        self._sum.set_text(f"{human(float(step.bytes), 'B')}, {human(seconds, 's')}")
        self._cells[0].set_text(human(kept, "B"))
        self._cells[1].set_text(f"{room:,}" if room else "none")


@in_style
def stock_or_notes(setting: StockSetting = WORKED) -> Picture:
    """A model with a state beside one with notes: the still of the explorer."""
    stage = StockStage()
    stage.show(setting)
    return stage.picture
