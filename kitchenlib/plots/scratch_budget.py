"""The reasoning budget: what a request takes that thinks first, beside one that answers at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kitchenlib import thinking
from kitchenlib.chips import chip
from kitchenlib.inputs import instance
from kitchenlib.models import model
from kitchenlib.plots.billing import paid, rent_of
from kitchenlib.plots.kept import Kept
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    RULE,
    SACK,
    SMALL,
    TITLE,
    WIDTH,
    Gauge,
    Picture,
    Stage,
    canvas,
    footnote,
    in_style,
    source,
    write,
)
from kitchenlib.prices import ChipHour
from kitchenlib.serving import max_batch
from kitchenlib.serving.money import HOUR
from kitchenlib.units import human, many, significant

HIDDEN = (0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)  #: tokens
SAMPLES = (1, 2, 4, 8, 16, 32, 64)
MOST_GUESTS = 256

_LONGEST, _HIGH = 6.0, 0.26  # inches: the longer bar, and the height of both
_BARS = {"at once": 3.56, "thinks": 2.9}  # inches: feet of the bars
_PARTS = {
    "reading": ("reading the prompt", ORDER.fill, None),
    "hidden": ("hidden", "#CFC7B8", "////"),
    "reply": ("reply", NOTES.fill, None),
}
_ROWS = {
    "first": "first visible word",
    "total": "last word",
    "notes": "notes of a guest",
    "room": "guests who fit",
    "price": "a request",
    "full": "a request, house full",
}
_TABLE, _PITCH = 2.16, 0.25  # inches: the first row, and the step to the next
_RIGHT = (3.1, 4.4, 5.5)  # right edges of the columns


class ScratchSetting(NamedTuple):
    """A request that thinks before it replies: what the explorer can be set to.

    Attributes:
        model, weights: catalogue name and number format; notes are in 16 bit.
        chip, chips: catalogue name, and how many share the model.
        batch: guests in step.
        prompt, reply: tokens read, and tokens that the guest sees.
        hidden: tokens that are thought before the reply, by each sample.
        samples: that think side by side; their notes of the prompt are shared.

    Whatever is wrong with a value raises `UnknownName` or ``ValueError`` when it is used.
    """

    model: str = "Llama-3.1-70B"
    weights: str = "bf16"
    chip: str = "H100 SXM"
    chips: int = 4
    batch: int = 1
    prompt: int = 1_000
    hidden: int = 2_000
    reply: int = 200
    samples: int = 1

    @property
    def at_once(self) -> ScratchSetting:
        """The same request, answered without a thought."""
        return self._replace(hidden=0, samples=1)

    @property
    def thought(self) -> thinking.Thought:
        """Seconds and notes, on the ideal law."""
        return _thought(self)

    @property
    def room(self) -> int:
        """The most guests that fit."""
        return _room(self._replace(batch=1))

    @property
    def taken(self) -> float:
        """The share of the memory that sack and notes take, evenly over the chips."""
        sack = model(self.model).weight_bytes(self.weights)
        held = sack + self.batch * float(self.thought.notes)
        return held / self.chips / (chip(self.chip).memory_bytes or float("inf"))

    @property
    def rent(self) -> ChipHour | None:
        """What an hour of the chip costs; None where nobody's price for it can be relied on."""
        return rent_of(chip(self.chip))

    @property
    def price(self) -> float | None:
        """Dollars for one request, its share of the chips' time; None without a rent."""
        if self.rent is None or self.rent.usd is None:
            return None
        return self.rent.usd * self.chips / HOUR * float(self.thought.total) / self.batch

    @property
    def full(self) -> ScratchSetting:
        """The same kitchen with as many guests as fit; with one where none do."""
        return self._replace(batch=max(self.room, 1))

    def obstacle(self) -> str:
        """Why there can be no such kitchen, "" if there can."""
        if self.room >= self.batch:
            return ""
        if self.room:
            return f"{many(self.batch, 'guest')} do not fit, {self.room:,} would"
        sizes = model(self.model), chip(self.chip), 1, self.weights, "bf16", self.chips
        if not max_batch(*sizes):
            return f"the sack does not fit {self.chips} {chip(self.chip).short_label}"
        return "the sack and one guest's notes do not fit"

    # in words

    def claim(self) -> str:
        """The request in a sentence."""
        if self.obstacle():
            return f"No such kitchen: {self.obstacle()}"
        silence = human(float(self.thought.first_visible), "s", 2)
        if not self.hidden:
            return f"Answered at once: the first word after {silence}"
        more = significant(float(self.thought.total / self.at_once.thought.total), 2)
        return f"{silence} before the first visible word, and {more} times the time and the bill"

    def lead(self) -> str:
        """Who thinks, and where."""
        on = chip(self.chip)
        pads = f", {self.samples} side by side" if self.samples > 1 and self.hidden else ""
        return (
            f"{self.model} ({self.weights}) on {self.chips} {on.short_label}, "
            f"{many(self.batch, 'guest')}: {self.hidden:,} hidden tokens{pads}"
        )

    def facts(self) -> dict[str, str]:
        """The numbers in words: name -> value with its unit."""
        thought, obstacle = self.thought, self.obstacle()
        written = self.hidden * self.samples + self.reply
        return {
            **({"this kitchen": f"not possible: {obstacle}"} if obstacle else {}),
            "first visible word": human(float(thought.first_visible), "s"),
            "last word": human(float(thought.total), "s"),
            "notes of a guest": human(float(thought.notes), "B"),
            "guests who fit": f"{self.room:,}",
            "a request": self.paid(),
            "a request, house full": self.full.paid(),
            "tokens charged as output": f"{written:,}",
        }

    def paid(self) -> str:
        """What a request costs, in words."""
        if self.obstacle():
            return "not possible"
        return "no price to rely on" if self.price is None else _cents(self.price)

    def sources(self) -> str:
        """Where the price comes from, when it held, and what the times are."""
        return (
            "Ideal times: a bound. Samples share the notes of the prompt; a vote takes no time; "
            f"the chips are never idle.{footnote(chip(self.chip))}\n{paid(self.rent)}"
        )


@lru_cache(64)
def _thought(setting: ScratchSetting) -> thinking.Thought:
    sizes = setting.prompt, setting.hidden, setting.reply, setting.samples
    return thinking.samples(
        model(setting.model),
        chip(setting.chip),
        *sizes,
        batch=setting.batch,
        weights=setting.weights,
        chips=setting.chips,
    ).shared


@lru_cache(64)
def _room(setting: ScratchSetting) -> int:
    sizes = setting.prompt, setting.hidden, setting.reply, setting.samples
    of, on = model(setting.model), chip(setting.chip)
    return int(thinking.most_requests(of, on, *sizes, weights=setting.weights, chips=setting.chips))


WORKED = ScratchSetting()  #: the worked example: one guest, one chain


def _cents(price: float) -> str:
    return f"{significant(100 * price, 2)} cents"


class ScratchStage(Stage):
    """A request answered at once, and one that thinks first, to one scale: `show` a setting."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 5.4, alt="A request that thinks first, beside one that does not.")
        top = picture.size[1] - MARGIN
        self._title = write(picture, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        self._lead = write(picture, MARGIN, top - 0.31, "", size=LEAD, color=MUTED, va="top")
        self._source = source(picture, "")
        ax = canvas(picture)
        _legend(ax, 4.24)
        self._bars = {name: _Bar(ax, name, y) for name, y in _BARS.items()}
        self._table = _Table(ax)
        self._memory = Gauge(ax, 6.2, 1.66, 1.5, "memory taken", SACK)
        write(ax, 6.2, 1.24, "charged as output", color=MUTED)
        self._charged = write(ax, 6.2, 0.98, "", weight="bold", size=LEAD)
        words = [self._title, self._lead, self._source, self._charged]
        bars = [actor for bar in self._bars.values() for actor in bar.actors]
        moving = [*self._memory.actors, *bars, *self._table.actors]
        super().__init__(picture, [*map(Kept, words), *moving])

    @in_style
    def show(self, setting: ScratchSetting) -> None:
        """Move everything to `setting`. Raises `UnknownName` for a name in no catalogue."""
        instance("setting", setting, ScratchSetting, "ScratchSetting(hidden=4000)")
        bare, facts = setting.at_once, setting.facts()
        self._title.set_text(setting.claim())
        self._lead.set_text(setting.lead())
        self._source.set_text(setting.sources())
        self._charged.set_text(f"{facts['tokens charged as output']} tokens")
        scale = _LONGEST / max(float(each.thought.total) for each in (bare, setting))
        self._bars["at once"].show(bare.thought, scale)
        self._bars["thinks"].show(setting.thought, scale)
        self._table.show(bare, setting)
        self._memory.show(setting.taken)
        said = (setting.claim(), setting.lead(), _told(facts), f"At once: {_told(bare.facts())}")
        self.picture.alt = " ".join(". ".join((*said, setting.sources())).split())


def _told(facts: dict[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in facts.items())


def _edge(hatch: str | None) -> dict[str, Any]:
    return {"edgecolor": INK, "linewidth": 0.7, "hatch": hatch, "hatch_linewidth": 0.6}


def _legend(ax: Axes, y: float) -> None:
    write(ax, MARGIN, y, "From the order to the last word", weight="bold")
    x = 3.3
    for (name, fill, hatch), wide in zip(_PARTS.values(), (1.72, 0.86, 0.8), strict=True):
        ax.add_patch(Rectangle((x, y - 0.01), 0.17, 0.12, facecolor=fill, **_edge(hatch)))
        write(ax, x + 0.23, y, name, size=SMALL, color=MUTED)
        x += wide


class _Bar:
    """The seconds of a request as a bar of three pieces, the sum behind it."""

    def __init__(self, ax: Axes, name: str, y: float) -> None:
        write(ax, MARGIN, y + _HIGH + 0.07, name, weight="bold")
        self._sum = write(ax, MARGIN, y + _HIGH / 2, "", weight="bold", va="center_baseline")
        self._pieces = {}
        for part, (_, fill, hatch) in _PARTS.items():
            piece = Rectangle((MARGIN, y), 0, _HIGH, facecolor=fill, **_edge(hatch))
            self._pieces[part] = piece
            ax.add_patch(piece)
        self.actors = [Kept(*self._pieces.values()), Kept(self._sum)]

    def show(self, thought: thinking.Thought, scale: float) -> None:
        first, total = float(thought.first_visible), float(thought.total)
        hidden = float(thought.hidden)
        x = MARGIN
        pieces = (first - hidden, hidden, total - first)
        for piece, seconds in zip(self._pieces.values(), pieces, strict=True):
            wide = scale * seconds
            piece.set(x=x, width=wide, linewidth=0.7 if wide else 0)
            x += wide
        self._sum.set_x(x + 0.1)
        self._sum.set_text(human(total, "s"))


class _Table:
    """What comes of a request at once and of one that thinks, and the factor between them."""

    def __init__(self, ax: Axes) -> None:
        quiet: dict[str, Any] = {"size": SMALL, "color": MUTED}
        for x, head in zip(_RIGHT[:2], _BARS, strict=True):
            write(ax, x, _TABLE + 0.27, head, ha="right", **quiet)
        ax.plot([MARGIN, _RIGHT[-1]], [_TABLE + 0.2] * 2, color=RULE, linewidth=0.8)
        self._cells: dict[str, list[Any]] = {}
        for i, (row, name) in enumerate(_ROWS.items()):
            y = _TABLE - _PITCH * i
            write(ax, MARGIN, y, name, color=MUTED)
            self._cells[row] = [write(ax, x, y, "", ha="right") for x in _RIGHT]
            self._cells[row][1].set_weight("bold")
        self.actors = [Kept(text) for cells in self._cells.values() for text in cells]

    def show(self, bare: ScratchSetting, setting: ScratchSetting) -> None:
        one, other = bare.thought, setting.thought
        self._set("first", one.first_visible, other.first_visible, "s")
        self._set("total", one.total, other.total, "s")
        self._set("notes", one.notes, other.notes, "B")
        self._say("room", f"{bare.room:,}", f"{setting.room:,}", _factor(bare.room, setting.room))
        self._paid("price", bare, setting)
        self._paid("full", bare.full, setting.full)

    def _set(self, row: str, one: Any, other: Any, unit: str) -> None:
        told = [human(float(value), unit) for value in (one, other)]
        self._say(row, *told, _factor(float(one), float(other)))

    def _paid(self, row: str, one: ScratchSetting, other: ScratchSetting) -> None:
        prices = [0.0 if each.obstacle() else each.price for each in (one, other)]
        if None in prices:
            self._say(row, "no price", "", "")
        else:
            told = [_cents(price) if price else "none" for price in prices]
            self._say(row, *told, _factor(prices[0] or 0, prices[1] or 0))

    def _say(self, row: str, *words: str) -> None:
        for text, said in zip(self._cells[row], words, strict=True):
            text.set_text(said)


def _factor(one: float, other: float) -> str:
    """ "× 7.6" or "÷ 2.5"; nothing where one of them is nothing."""
    if not one or not other:
        return ""
    more = other >= one
    return f"{'×' if more else '÷'} {significant(other / one if more else one / other, 2)}"


@in_style
def scratch_budget(setting: ScratchSetting = WORKED) -> Picture:
    """A request that thinks first, beside one that answers at once: the still of the explorer."""
    stage = ScratchStage()
    stage.show(setting)
    return stage.picture
