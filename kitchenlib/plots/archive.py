"""The whole archive in the prompt, or the few cards that were fetched for the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kitchenlib.inputs import instance, wrong
from kitchenlib.plots.billing import paid
from kitchenlib.plots.fetching import (
    ASKED,
    DIM,
    FRESH,
    KEPT,
    QUESTION,
    REPLY,
    WORKED,
    WORTH,
    PantrySetting,
    Way,
    factor,
)
from kitchenlib.plots.kept import Kept
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    SMALL,
    TITLE,
    WIDTH,
    Picture,
    Stage,
    canvas,
    claim,
    footnote,
    in_style,
    source,
    write,
)
from kitchenlib.prices import SheetPrice, sheet_price
from kitchenlib.units import dollars, human, many

_BAR, _LONGEST, _HIGH = 3.3, 3.55, 0.19  # inches: where bars begin, the longest, their height
_STEP = 0.25  # inches from a bar to the next
_NO_BAR = "does not fit"
_READ_ONCE = "cached, read once"


class _Look(NamedTuple):
    """How the bars of one way are drawn."""

    fill: str
    hatch: str | None


_WHOLE, _HELD, _BEST = _Look(ORDER.fill, None), _Look(PAPER, "////"), _Look(NOTES.fill, None)
_SHARED = _Look(PAPER, "xxxx")
_COPY = "KV cache; cached:\none copy for all"  # one for all guests, however many


class _Block:
    """One quantity: a bar for each way, all to one scale, with names before and numbers behind."""

    def __init__(self, ax: Axes, y: float, name: str, note: str, looks: Sequence[_Look]) -> None:
        self._title = write(ax, MARGIN, y, name, weight="bold", va="center")
        small: dict[str, Any] = {"size": SMALL, "color": MUTED, "linespacing": 1.15}
        self._note = write(ax, MARGIN, y - 0.14, note, va="top", **small)
        self._names, self._values = [], []
        self._bars: list[Rectangle] = []
        for i, look in enumerate(looks):
            middle = y - _STEP * i
            self._names.append(write(ax, _BAR - 0.1, middle, "", ha="right", va="center"))
            bar = Rectangle((_BAR, middle - _HIGH / 2), 0, _HIGH, **_drawn(look))
            ax.add_patch(bar)
            self._bars.append(bar)
            self._values.append(write(ax, _BAR, middle, "", va="center"))
        texts = (self._note, *self._names, *self._values)
        self.actors: list[Artist] = [
            *(Kept(bar, rim=2) for bar in self._bars),  # an edge is drawn half outside
            *map(Kept, texts),
        ]

    def show(
        self, names: Sequence[str], values: Sequence[float | None], said: Sequence[str]
    ) -> None:
        """Bars for the `values` that there are, and what is `said` behind each."""
        longest = max((value for value in values if value), default=1.0)
        for i, value in enumerate(values):
            wide = _LONGEST * value / longest if value else 0.0
            self._names[i].set_text(names[i])
            self._bars[i].set(width=wide, linewidth=0.7 if wide else 0)
            self._values[i].set(text=said[i], x=_BAR + wide + (0.1 if wide else 0))

    def explain(self, note: str) -> None:
        self._note.set_text(note)


def _drawn(look: _Look) -> dict[str, Any]:
    hatched = {"hatch": look.hatch, "hatch_linewidth": 0.6}
    return {"facecolor": look.fill, "edgecolor": INK, "linewidth": 0.7, **hatched}


def _compared(values: Sequence[float | None], unit: str) -> list[str]:
    """The values in words, each but the last with its ratio to the last."""
    told = []
    for value in values:
        if value is None:
            told.append("no price to rely on")
            continue
        said = dollars(value) if unit == "$" else human(value, unit)
        base = values[-1]
        told.append(said if value is base or not base else f"{said} ({factor(value / base)})")
    return told


@in_style
def archive_or_three(setting: PantrySetting = WORKED, sheet: SheetPrice | None = None) -> Picture:
    """The whole archive in the prompt, the same with its notes kept, and the best cards alone.

    Kept notes are read again for each guest; one bar shows a kernel that reads them once for all.

    Args:
        setting: archive and kitchen; `cached` is left aside.
        sheet: a row of a price sheet with a price for cached tokens.

    Raises ``ValueError`` where a prompt does not fit, or the sheet has no such price.
    """
    instance("setting", setting, PantrySetting, "PantrySetting(documents=500)")
    sheet = _sheet() if sheet is None else sheet
    instance("sheet", sheet, SheetPrice, 'kl.sheet_price(provider="openai", model="gpt-5-mini")')
    if sheet.price.cached is None:
        raise wrong("sheet", sheet.model, "give a row with a price for cached tokens")
    if setting.batch < 2:
        raise wrong("batch", setting.batch, "give at least 2 guests: one alone is there already")
    setting = setting._replace(cached=FRESH)
    ways = (setting.full, setting._replace(cached=KEPT).full, setting.fetched)
    stuck = next(filter(None, (way.obstacle() for way in ways)), "")
    if stuck:
        raise wrong("setting", setting, f"give a kitchen where all prompts fit ({stuck})")
    blocks = _quantities(ways, setting, sheet)
    names = [way.name for way in ways]
    full, kept, best = ways
    fewer = names[2].replace(" best", f" of {many(setting.documents, 'card')}")
    title = (
        f"{fewer}: first word {factor(best.first / full.first)}, {_tokens(full, best)};\n"
        f"{_kept(full, kept)}"
    )
    lead = f"{setting.lead()}, question {QUESTION} tokens, reply {REPLY}"
    told = "; ".join(
        f"{name}: "
        + ", ".join(f"{n} {s}" for n, s in zip(_named(names, values), said, strict=True))
        for name, _, values, said in blocks
    )
    foot = _foot(setting, sheet)
    picture = Picture(WIDTH, 7.7, alt=f"{' '.join(title.split())}. {lead}. {told}. {foot}")
    claim(picture, title, lead)
    ax, y = canvas(picture), 6.33
    for name, note, values, said in blocks:
        looks = (_WHOLE, _HELD, *([_SHARED] * (len(values) - 3)), _BEST)
        _Block(ax, y, name, note, looks).show(_named(names, values), values, said)
        y -= 0.12 + _STEP * len(values)
    source(picture, foot)
    return picture


def _named(names: Sequence[str], values: Sequence[float | None]) -> list[str]:
    """A name for each value: where there is one more, that of notes that are read once."""
    shared = [_READ_ONCE] * (len(values) - len(names))
    return [*names[:-1], *shared, names[-1]]


def _tokens(full: Way, best: Way) -> str:
    """How much sooner tokens come with the best cards, alone and in company."""
    guests = full.setting.batch
    alone, company = (way_ratio(full, best, number) for number in (1, guests))
    if alone == company:
        return f"tokens {alone}"
    return f"tokens {alone} alone and {company} with {guests}"


def _kept(full: Way, kept: Way) -> str:
    """What keeping the notes spares, and whether reading them once for all spares more."""
    read, carried = kept.first / full.first, kept.token_shared() / full.token()
    spared = f"kept notes spare reading ({factor(read)})"
    if 1 - carried < WORTH - 1:
        return f"{spared}, not carrying"
    return f"{spared} and, if read once, carrying ({factor(carried)})"


def way_ratio(full: Way, best: Way, guests: int) -> str:
    """How much shorter a token takes with the best cards alone."""
    return factor(best.token(guests) / full.token(guests))


def _sheet() -> SheetPrice:
    return sheet_price(provider="openai", model="gpt-5-mini")


_Quantity = tuple[str, str, list[float | None], list[str]]


def _quantities(ways: Sequence[Way], setting: PantrySetting, sheet: SheetPrice) -> list[_Quantity]:
    def quantity(name: str, note: str, unit: str, values: list[float | None]) -> _Quantity:
        return name, note, values, _compared(values, unit)

    listed = [ASKED * float(sheet.price.request(w.prompt, REPLY, w.cached)) for w in ways]
    guests = many(setting.batch, "guest")
    *whole, best = [way.token() for way in ways]
    company = [*whole, ways[1].token_shared(), best]
    thousand = f"{ASKED:,} questions"
    return [
        quantity("first word", "TTFT, read alone", "s", [way.first for way in ways]),
        quantity("notes of a guest", _COPY, "B", [way.notes for way in ways]),
        quantity("a token alone", "TPOT, one guest", "s", [way.token(1) for way in ways]),
        quantity("a token in company", f"TPOT, {guests}", "s", [*company]),
        quantity(thousand, f"own kitchen, {guests}", "$", [way.price for way in ways]),
        quantity(thousand, f"sheet of {sheet.model}", "$", [*listed]),
    ]


def _foot(setting: PantrySetting, sheet: SheetPrice) -> str:
    cached = dollars(float(sheet.price.cached or 0))
    read, written = dollars(float(sheet.price.input)), dollars(float(sheet.price.output))
    price = "" if setting.full.price is None else " The own kitchen's price: read again."
    return (
        "Ideal times: a bound; 16 bit. A prompt is read alone. Most kernels read kept notes again "
        "for each guest;\none that shares them reads them once, if all ask about the same archive."
        f"{price}{footnote(setting.on)}\n{paid(setting.rent)}\n{sheet.provider} "
        f"{sheet.model}, {sheet.when}: {read} a million tokens, cached {cached}, written {written}."
    )


# --- the explorer ------------------------------------------------------------------------------


class PantryStage(Stage):
    """The whole archive in the prompt beside the best cards: `show` a setting."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 5.3, alt="The whole archive in the prompt beside the best cards.")
        top = picture.size[1] - MARGIN
        self._title = write(picture, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        self._lead = write(picture, MARGIN, top - 0.31, "", size=LEAD, color=MUTED, va="top")
        self._source = source(picture, "")
        ax = canvas(picture)
        named = {
            "first word": "TTFT, read alone",
            "notes of a guest": "KV cache",
            "a token": "",
            f"{ASKED:,} questions": "own kitchen",
        }
        self._blocks = {
            name: _Block(ax, 4.15 - 0.72 * i, name, note, (_WHOLE, _BEST))
            for i, (name, note) in enumerate(named.items())
        }
        write(ax, MARGIN, 1.27, "guests at most", weight="bold", va="center")
        self._room = write(ax, _BAR, 1.27, "", va="center")
        self._search = write(ax, MARGIN, 0.97, "", va="center", size=SMALL, color=MUTED)
        words = (self._title, self._lead, self._source, self._room, self._search)
        bars = [actor for block in self._blocks.values() for actor in block.actors]
        super().__init__(picture, [*map(Kept, words), *bars])

    @in_style
    def show(self, setting: PantrySetting) -> None:
        """Move everything to `setting`. Raises `UnknownName` for a name in no catalogue."""
        instance("setting", setting, PantrySetting, "PantrySetting(documents=500)")
        ways = setting.full, setting.fetched
        self._title.set_text(setting.claim())
        self._lead.set_text(setting.lead())
        self._source.set_text(setting.sources())
        stuck = [bool(way.obstacle()) for way in ways]
        self._blocks["a token"].explain(f"TPOT, {many(setting.batch, 'guest')}")
        self._blocks["notes of a guest"].explain(_COPY if ways[0].cached else "KV cache")
        told = []
        for (name, block), unit, measure in zip(
            self._blocks.items(), ("s", "B", "s", "$"), _MEASURES, strict=True
        ):
            values = [None if no else measure(way) for way, no in zip(ways, stuck, strict=True)]
            said = _compared(values, unit)
            said = [_NO_BAR if no else words for words, no in zip(said, stuck, strict=True)]
            block.show([way.name for way in ways], values, said)
            told.append(f"{name}: {ways[0].name} {said[0]}, {ways[1].name} {said[1]}")
        held = ", held once for all" if ways[0].cached else ""
        self._room.set_text(f"{ways[0].room:,} with the archive{held}; {ways[1].room:,} without")
        self._search.set_text(_searched(setting))
        facts = "; ".join(f"{name}: {value}" for name, value in setting.facts().items())
        words = (setting.claim(), setting.lead(), "; ".join(told), facts, setting.sources())
        self.picture.alt = " ".join(". ".join(words).split())


_MEASURES: tuple[Callable[[Way], float | None], ...] = (
    lambda way: way.first,
    lambda way: way.notes,
    lambda way: way.token(),
    lambda way: way.price,
)


def _searched(setting: PantrySetting) -> str:
    return (
        f"The search: {human(setting.vectors, 'B')} of vectors ({DIM:,} values each) compared in "
        f"{human(setting.search, 's')} on one such chip; making the question's vector not counted."
    )


@in_style
def full_or_fetched(setting: PantrySetting = WORKED) -> Picture:
    """The whole archive in the prompt beside the best cards: the still of the explorer."""
    stage = PantryStage()
    stage.show(setting)
    return stage.picture
