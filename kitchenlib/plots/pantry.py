"""The archive pantry: what a search finds for its bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

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
    ours,
    questions,
    recall,
)
from kitchenlib.plots.fetching import DIM
from kitchenlib.plots.style import (
    INK,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    PLAIN,
    RULE,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    canvas,
    claim,
    end_label,
    footnote,
    grid,
    in_style,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.retrieval import (
    flat_bytes,
    flat_search,
    graph_bytes,
    graph_search,
    inverted_bytes,
    inverted_search,
)
from kitchenlib.units import KB, human, significant

_ENOUGH = 0.9  # of the best: worth a title
_DEEP = (1, 10)  # cards in the prompt, beside those that were asked for
_MOST_ROWS = 8  # of the table
_HIGH = 0.19  # inches: of a bar

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
    pantry = ours() if pantry is None else pantry
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
    pantry = ours() if pantry is None else pantry
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
        f"a walk also waits at each step.{footnote(chip)}"
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
