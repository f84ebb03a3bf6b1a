"""The archive pantry: what a search finds for its bytes, and what fetching saves in the prompt."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.miniatures.pantry import (
    BEST,
    LISTS,
    Hits,
    Pantry,
    Recall,
    hits,
    questions,
    recall,
)
from kitchenlib.plots.billing import many
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
    PLAIN,
    RULE,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Picture,
    Stage,
    canvas,
    claim,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.prices import SheetPrice, sheet_price
from kitchenlib.retrieval import (
    flat_bytes,
    flat_search,
    graph_bytes,
    graph_search,
    inverted_bytes,
    inverted_search,
)
from kitchenlib.units import KB, dollars, human, significant

__all__ = [
    "WORKED",
    "PantrySetting",
    "PantryStage",
    "archive_or_three",
    "full_or_fetched",
    "pantry_hits",
    "recall_by_bytes",
    "three_indexes",
]

_ENOUGH = 0.9  # of the best: worth a title
_DEEP = (1, 10)  # cards in the prompt, beside those that were asked for
_MOST_ROWS = 8  # of the table

# --- how often the right cards come --------------------------------------------------------------

_ASKED_IN = {
    "same": "in the recipe's own words",
    "other": "in other words",
    "two": "about two cards at once",
}


@in_style
def pantry_hits(pantry: Pantry | None = None, k: int = BEST) -> Picture:
    """For how many questions the search brings all the right cards, by the kind of question.

    Everything is counted on the archive and its questions.

    Args:
        pantry: the archive; None takes our own.
        k: cards in the prompt, of the title; beside it stand 1 and 10.
    """
    pantry = Pantry() if pantry is None else pantry
    instance("pantry", pantry, Pantry, "pantry.Pantry()")
    k = dimension("k", k, "cards")
    if k > len(pantry.cards):
        raise wrong("k", k, f"give at most {len(pantry.cards)}, as many as there are cards")
    depths = sorted(n for n in {k, *_DEEP} if n <= len(pantry.cards))
    shares = {n: hits(pantry, n) for n in depths}
    own, other = shares[k]["same"], shares[k]["other"]
    always = "always comes" if own.share == 1 else f"comes {_times(own)}"
    title = f"Asked in the recipe's own words the card {always},\nin other words {_times(other)}"
    lead = (
        f"{len(questions())} questions to {len(pantry.cards)} recipe cards: "
        f"are all the right cards {_among(k)}?"
    )
    picture = Picture(
        WIDTH, 4.95, alt=f"{' '.join(title.split())}. {lead} {_hits_in_words(shares)}"
    )
    claim(picture, title, lead)
    _hit_bars(picture, shares, k)
    source(
        picture,
        "Nearest: the largest cosine of vectors from latent semantic analysis, learnt on these "
        "cards alone. A trained embedding model knows\nmore words than they hold. Questions in "
        "other words avoid the name of the dish. Counted, not timed.",
    )
    return picture


def _times(came: Hits) -> str:
    return f"{came.found} times of {came.asked}"


def _among(k: int) -> str:
    return "the nearest" if k == 1 else f"among the {k} nearest"


def _hits_in_words(shares: dict[int, dict[str, Hits]]) -> str:
    said = "; ".join(
        f"{_ASKED_IN[kind]}: {', '.join(f'{each[kind]} by {n}' for n, each in shares.items())}"
        for kind in next(iter(shares.values()))
    )
    return f"Questions with all their cards among the nearest: {said}."


def _hit_bars(picture: Picture, shares: dict[int, dict[str, Hits]], k: int) -> None:
    """Three bars for each kind of question, to a frame that is all of them."""
    ax = canvas(picture)
    left, wide = 3.5, 4.3
    write(ax, MARGIN, 3.66, "asked", size=SMALL, color=MUTED)
    write(ax, left - 0.1, 3.66, "cards in the prompt", size=SMALL, color=MUTED, ha="right")
    for i, kind in enumerate(shares[k]):
        top = 3.4 - 0.97 * i
        write(ax, MARGIN, top - 0.27, _ASKED_IN[kind], weight="bold", va="center")
        for j, (number, each) in enumerate(shares.items()):
            y = top - 0.27 * j
            frame: dict[str, Any] = {"facecolor": PAPER, "edgecolor": RULE, "linewidth": 0.8}
            ax.add_patch(Rectangle((left, y - _HIGH / 2), wide, _HIGH, **frame))
            told = number == k
            fill = NOTES.fill if told else PLAIN.fill
            share = each[kind].share
            ax.add_patch(Rectangle((left, y - _HIGH / 2), wide * share, _HIGH, facecolor=fill))
            bold: dict[str, Any] = {"weight": "bold" if told else "normal", "va": "center"}
            write(ax, left - 0.1, y, f"{number}", ha="right", **bold)
            write(ax, left + wide + 0.1, y, str(each[kind]), **bold)


# --- what a search reads -------------------------------------------------------------------------


@in_style
def recall_by_bytes(pantry: Pantry | None = None, lists: int = LISTS, k: int = BEST) -> Picture:
    """Recall of an inverted file by the bytes it reads, counted, with the bytes of the law beside.

    Recall is the share of the exact search's best, right or wrong, that the inverted file finds.

    Args:
        pantry: the archive; None takes our own.
        lists: of the inverted file, at least 4.
        k: nearest cards that count.
    """
    pantry = Pantry() if pantry is None else pantry
    instance("pantry", pantry, Pantry, "pantry.Pantry()")
    index = pantry.index(lists)
    if lists < 4:
        raise wrong("lists", lists, "give at least 4 lists")
    found = [recall(index, k, probes) for probes in range(1, lists + 1)]
    enough = next(each for each in found if each.share >= _ENOUGH)
    title = (
        f"{enough.probes} of {lists} lists hold {percent(enough.share)} of what a full search "
        f"finds,\nfor {percent(enough.bytes / pantry.bytes)} of its bytes"
    )
    best = "nearest card" if k == 1 else f"{k} nearest cards"
    lead = f"Recall: share of the {best} of the full (exact) search, by the kB read for a question"
    foot = (
        f"{len(pantry.cards)} recipe cards as vectors of {pantry.size[1]} values, "
        f"{len(questions())} questions; counted, not timed. Nearest: the largest cosine.\n"
        f"Law: all lists equally long and likely; these hold {min(index.sizes)} to "
        f"{max(index.sizes)} cards. All {lists} lists are more bytes than the full search:\n"
        "their centres and the numbers of the cards are read, too."
    )
    told = _scans_in_words(found, pantry)
    picture = Picture(WIDTH, 4.9, alt=f"{' '.join(title.split())}. {lead}. {told} {foot}")
    claim(picture, title, lead)
    _recalls(picture, found, pantry, enough)
    _recall_table(canvas(picture), found, pantry, enough)
    source(picture, foot)
    return picture


def _scans_in_words(found: Sequence[Recall], pantry: Pantry) -> str:
    some = "; ".join(
        f"{each.probes}: {percent(each.share)} for {human(each.bytes, 'B')} (law "
        f"{human(each.law, 'B')})"
        for each in found
    )
    return f"Recall by lists looked into: {some}. Exact search: {human(pantry.bytes, 'B')}."


def _recalls(picture: Picture, found: Sequence[Recall], pantry: Pantry, enough: Recall) -> None:
    ax = panel(picture, 0.9, 1.28, 3.9, 2.4)
    share = [100 * each.share for each in found]
    read, law = ([getattr(each, of) / KB for each in found] for of in ("bytes", "law"))
    exact = pantry.bytes / KB
    ax.plot(read, share, color=WAITER.fill, marker="o", markersize=5, zorder=3)
    ax.plot(law, share, color=INK, linestyle=(0, (1.4, 1.4)), linewidth=1.1, zorder=4)
    ax.plot(exact, 100, "D", color=INK, markersize=8, zorder=5)
    ax.set(xlim=(0, 1.1 * read[-1]), ylim=(0, 112), xlabel="kB read for a question")
    ax.set_yticks(range(0, 101, 25), [f"{tick}%" for tick in range(0, 101, 25)])
    grid(ax)
    end_label(ax, exact, 100, "full search", PLAIN, dx=0, dy=-13, ha="center", color=INK)
    end_label(ax, read[0], share[0], "1 list", WAITER, dx=8, dy=-5)
    at = read[enough.probes - 1], share[enough.probes - 1]
    if exact - at[0] > 0.3 * read[-1]:  # else it would touch the name of the full search
        end_label(ax, *at, f"{enough.probes} lists", WAITER, dx=8, dy=-7)
    write(ax, 1.06 * read[-1], 8, "dotted: the law", ha="right", size=SMALL, color=MUTED)


def _recall_table(ax: Axes, found: Sequence[Recall], pantry: Pantry, enough: Recall) -> None:
    """Lists looked into, what they find and read: doubled from row to row, and the full search."""
    left, columns = 5.2, (6.5, 7.5, WIDTH - MARGIN)
    quiet: dict[str, Any] = {"size": SMALL, "color": MUTED}
    heads = ("recall", "kB read", "by the law")
    write(ax, left, 3.5, "lists", **quiet)
    for x, head in zip(columns, heads, strict=True):
        write(ax, x, 3.5, head, ha="right", **quiet)
    ax.plot([left, WIDTH - MARGIN], [3.42] * 2, color=RULE, linewidth=0.8)
    shown = {2**i for i in range(len(found)) if 2**i <= len(found)} | {enough.probes, len(found)}
    told = [found[probes - 1] for probes in sorted(shown)[-_MOST_ROWS:]]
    rows = [(f"{each.probes}", each.share, each.bytes, each.law) for each in told]
    rows.append(("full search", 1.0, float(pantry.bytes), float(pantry.bytes)))
    for i, (name, share, read, law) in enumerate(rows):
        y = 3.2 - 0.25 * i
        bold: dict[str, Any] = {"weight": "bold" if name == f"{enough.probes}" else "normal"}
        write(ax, left, y, name, **bold)
        cells = percent(share), significant(read / KB), significant(law / KB)
        for x, cell in zip(columns, cells, strict=True):
            write(ax, x, y, cell, ha="right", **bold)


# --- the whole archive, or what was fetched ------------------------------------------------------

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
        f"{price}{setting.mark()}\n{setting.paid()}\n{sheet.provider} "
        f"{sheet.model}, {sheet.when}: {read} a million tokens, cached {cached}, written {written}."
    )


class PantryStage(Stage):
    """The whole archive in the prompt beside the best cards: `show` a setting."""

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 5.3, alt="The whole archive in the prompt beside the best cards.")
        top = picture.size[1] - MARGIN
        self._title = write(picture, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        self._lead = write(picture, MARGIN, top - 0.31, "", size=LEAD, color=MUTED, va="top")
        small: dict[str, Any] = {"size": SMALL, "color": MUTED, "linespacing": 1.2}
        self._source = write(picture, MARGIN, 0.17, "", va="bottom", **small)
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


# --- large archives ------------------------------------------------------------------------------

_SIZES = {1_000_000: "a million", 1_000_000_000: "a billion"}  # vectors
_PROBES, _LINKS, _EXPANDED = 16, 32, 64
_LISTS_PER_ROOT = 4  # lists for the square root of the vectors, rounded to a power of two


class _Kind(NamedTuple):
    """One kind of index of some vectors: what it weighs, and what a question reads of it."""

    name: str
    held: float
    read: float
    seconds: float


def _kinds(vectors: int, on: Chip) -> list[_Kind]:
    lists = 2 ** round(math.log2(_LISTS_PER_ROOT * math.sqrt(vectors)))
    indexes = {
        "flat": (flat_bytes(vectors, DIM), flat_search(vectors, DIM)),
        "inverted file": (
            inverted_bytes(vectors, DIM, lists),
            inverted_search(vectors, DIM, lists, _PROBES),
        ),
        "graph": (graph_bytes(vectors, DIM, _LINKS), graph_search(DIM, _LINKS, _EXPANDED)),
    }
    return [
        _Kind(name, float(held), float(work.bytes), float(work.time(on)))
        for name, (held, work) in indexes.items()
    ]


@in_style
def three_indexes(chip: Chip | None = None) -> Picture:
    """What three kinds of index weigh and read, for a million and a billion vectors, by the law.

    Args:
        chip: whose bandwidth the seconds are for; H100 SXM.
    """
    chip = chip_called("H100 SXM") if chip is None else chip
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    every = {size: _kinds(size, chip) for size in _SIZES}
    flat, _, graph = every[max(_SIZES)]
    title = (
        "An index spares the reading, not the room: a billion vectors weigh\n"
        f"{human(flat.held, 'B')} flat, {human(graph.held, 'B')} as a graph, which reads "
        f"{human(graph.read, 'B')} of them"
    )
    lead = (
        f"Vectors of {DIM:,} values in 32 bit: bytes held (squares), read for one question (dots)"
    )
    told = "; ".join(
        f"{_SIZES[size]}, {kind.name}: {_held(kind)}, {_read(kind)}"
        for size, kinds in every.items()
        for kind in kinds
    )
    foot = (
        f"Inverted file: {_PROBES} lists read of {_LISTS_PER_ROOT} times the root of the vectors. "
        f"Graph: {_LINKS} links, {_EXPANDED} vectors expanded, a bound. How much they find is not\n"
        f"in the law. Seconds: bytes at the bandwidth of one {chip.short_label}, if it held them; "
        f"a walk also waits at each step.{'' if chip.verified else ' * Not fully verified.'}"
    )
    picture = Picture(WIDTH, 4.7, alt=f"{' '.join(title.split())}. {lead}. {told}. {foot}")
    claim(picture, title, lead)
    _dots(picture, every)
    source(picture, foot)
    return picture


def _held(kind: _Kind) -> str:
    return f"holds {human(kind.held, 'B')}"


def _read(kind: _Kind) -> str:
    return f"reads {human(kind.read, 'B')}, {human(kind.seconds, 's')}"


def _dots(picture: Picture, every: dict[int, list[_Kind]]) -> None:
    """A line for each index, from what a question reads of it to what it holds."""
    ax = panel(picture, 1.62, 1.12, 4.95, 2.42)
    ticks = (1e6, 1e9, 1e12)
    log_axis(ax.xaxis, ticks, [human(tick, "B", 1) for tick in ticks], "bytes")
    ax.set(xlim=(4e5, 2e13), ylim=(-6.9, 0.7))
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    grid(ax, "x")
    y = 0.0
    for size, kinds in every.items():
        end_label(ax, 4e5, y, f"{_SIZES[size]} vectors", PLAIN, dx=-90, color=INK, weight="bold")
        y -= 0.9
        for kind in kinds:
            ax.plot([kind.read, kind.held], [y, y], color=RULE, linewidth=1.2, zorder=2)
            ax.plot(kind.held, y, "s", color=NOTES.fill, markersize=8, zorder=3)
            ax.plot(kind.read, y, "o", color=WAITER.fill, markersize=7, zorder=4)
            end_label(ax, 4e5, y, kind.name, PLAIN, dx=-90, color=INK)
            said = f"{human(kind.held, 'B')}, {_read(kind).removeprefix('reads ')}"
            end_label(ax, 2e13, y, said, PLAIN, dx=8, color=INK)
            y -= 0.85
        y -= 0.2
    end_label(ax, 2e13, 0.05, "held, read, in", PLAIN, dx=8)
