"""What experts specialise in: the topic of a text, or the kind of a token?

Rows of the real language model, half way through its layers, are sent to 16 experts by a router
that `clustered` finds: balanced k-means, so that rows that lie close to each other share an expert,
and all experts are about equally busy. It is found by clustering, not by training with the model,
so it shows what a router *can* see in the rows. Studies of routers that were trained report mostly
the same: experts follow the token and its part of speech, hardly the topic (DOI
10.5281/zenodo.19457411, arXiv 2412.16971). Some find experts for a domain, such as code (arXiv
2409.02060).

`study` does it for some recipe cards on your machine; `studied` is what came out for all of them.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kitchenlib import data
from kitchenlib.inputs import dice, dimension, find, instance, wrong
from kitchenlib.llm import LLM
from kitchenlib.miniatures.pantry import Recipe
from kitchenlib.miniatures.pantry import cards as all_cards
from kitchenlib.miniatures.stations import Array, Router

EXPERTS = 16  #: of the card
HALF_WAY = 15  #: of SmolLM2's 30 layers
DEPTHS = (0, 15, 30)  #: layers before the router, of what `studied` has

#: Kinds of token, and what each means.
KINDS = {
    "little word": "the, of, with, until ...",
    "word": "how any other word begins",
    "word part": "how it goes on",
    "number": "a digit",
    "sign": "a full stop, a comma, a blank",
}
_LITTLE = frozenset(
    "a about after all an and any are as at be been before between both but by can could do does "
    "down each every few for from had has have he her his how if in into is it its just more most "
    "much no nor not of off on once one only onto or our out over own she should so some such than "
    "that the their them then there these they this those through to too two under until up very "
    "was we were what when where which while who whose will with without you your".split()
)
_ROUNDS, _PUSH = 40, 0.02  # of k-means, and how hard the bias pushes for balance in each
_PAGE = 16  # cards in one pass
_FAVOURITES = 6


# --- a router that a training might have found -------------------------------------------------


def clustered(rows: Array, experts: int = EXPERTS, seed: int = 0) -> Router:
    """A router that sends rows that lie close to each other to the same expert.

    Balanced k-means by the cosine: an expert's logit is the cosine between a row and the expert's
    middle, and a bias is raised for experts with few visitors, lowered for those with many. That
    is how DeepSeek-V3 balances its load while it is trained (arXiv 2412.19437).

    Args:
        rows: (rows, hidden), float32, as `directions` makes them; at least one for each expert.
        experts: how many there are to be.
        seed: of the rows that the search begins with.
    """
    number = dimension("experts", experts, "experts")
    if np.ndim(rows) != 2 or len(rows) < number:
        raise ValueError(f"give at least {number} rows, (rows, hidden): one for each expert")
    rng = dice(seed)
    start = rng.choice(len(rows), number, replace=False)
    middles, bias = rows[start].T.copy(), np.zeros(number, np.float32)  # (hidden, experts)
    for _ in range(_ROUNDS):
        chosen = Router(middles, bias).route(rows)[0][:, 0]
        visits = np.bincount(chosen, minlength=number).astype(np.float32)
        bias = bias - _PUSH * (visits * (number / len(rows)) - 1)
        for expert in np.flatnonzero(visits):
            middle = rows[chosen == expert].mean(axis=0)
            middles[:, expert] = middle / np.linalg.norm(middle)
    return Router(middles, bias)


def directions(rows: Array) -> Array:
    """Where rows point, their common direction taken out: of length 1, (rows, hidden)."""
    pointing = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pointing -= pointing.mean(axis=0)
    return pointing / np.linalg.norm(pointing, axis=1, keepdims=True)


# --- who was sent where ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each expert was visited, by the course of the card and by the kind of token.

    Attributes:
        layer: layers that the rows had been through.
        courses, kinds: tokens sent to each expert, (experts,), by course and by kind.
        guests: cards of which it got any token, (experts,), by course.
        cards: how many there are, by course.
        favourites: of each expert, the tokens that it got most often, with how often.
        source, date: who counted, and when; empty where it was done here.
    """

    layer: int
    courses: dict[str, NDArray[np.int_]]
    kinds: dict[str, NDArray[np.int_]]
    guests: dict[str, NDArray[np.int_]]
    cards: dict[str, int]
    favourites: tuple[dict[str, int], ...]
    source: str = ""
    date: str = ""

    @property
    def experts(self) -> int:
        return len(self.favourites)

    @property
    def tokens(self) -> int:
        """All that were sent anywhere."""
        return int(sum(visits.sum() for visits in self.courses.values()))

    @property
    def of_course(self) -> float:
        """The share of what there is to know about a token's course that its expert tells."""
        return told(np.stack([*self.courses.values()]))

    @property
    def of_kind(self) -> float:
        """The share of what there is to know about a token's kind that its expert tells."""
        return told(np.stack([*self.kinds.values()]))

    @property
    def by_chance(self) -> float:
        """What an expert would seem to tell about the course if tokens went anywhere."""
        return told_by_chance(np.stack([*self.courses.values()]))

    def visited(self, course: str) -> float:
        """Experts that one card of a course visits, on average."""
        known = find("course", course, {name: name for name in self.courses})
        return float(self.guests[known].sum() / self.cards[known])

    def rows(self) -> list[dict[str, str | int]]:
        """The rows of ``data/specialists.csv``: expert by expert."""
        return [row for expert in range(self.experts) for row in self._rows(expert)]

    def _rows(self, expert: int) -> Iterator[dict[str, str | int]]:
        for name, visits in self.courses.items():
            yield self._row(expert, "course", name, visits[expert], self.guests[name][expert])
        for name, visits in self.kinds.items():
            yield self._row(expert, "kind", name, visits[expert])
        for name, times in self.favourites[expert].items():
            yield self._row(expert, "token", name, times)

    def _row(
        self, expert: int, by: str, name: str, tokens: int, cards: int | str = ""
    ) -> dict[str, str | int]:
        row: dict[str, str | int] = {"layer": self.layer, "expert": expert, "by": by, "name": name}
        return row | {"tokens": tokens, "cards": cards, "source": self.source, "date": self.date}


@dataclass(frozen=True, eq=False)
class Study:
    """Every token of some cards, and the expert that it was sent to.

    Attributes:
        cards: what was read.
        layer: layers that the rows had been through.
        tokens: of each card, as pieces of text.
        visits: of each card, the expert of each token, (tokens,).
        experts: how many there are.
    """

    cards: tuple[Recipe, ...]
    layer: int
    tokens: tuple[tuple[str, ...], ...]
    visits: tuple[NDArray[np.intp], ...]
    experts: int

    def visited(self, card: int = 0) -> int:
        """Distinct experts that the tokens of one of the cards visit."""
        return len(np.unique(self.visits[card]))

    def tally(self) -> Tally:
        """The same, counted."""
        courses = {card.course: self._none() for card in self.cards}
        guests = {course: self._none() for course in courses}
        kinds = {kind: self._none() for kind in KINDS}
        liked: list[Counter[str]] = [Counter() for _ in range(self.experts)]
        for card, tokens, visits in zip(self.cards, self.tokens, self.visits, strict=True):
            courses[card.course] += np.bincount(visits, minlength=self.experts)
            guests[card.course][np.unique(visits)] += 1
            for place, (token, expert) in enumerate(zip(tokens, visits, strict=True)):
                kinds[kind_of(token, first=place == 0)][expert] += 1
                liked[expert][token] += 1
        favourites = (sorted(each.items(), key=lambda t: (-t[1], t[0])) for each in liked)
        return Tally(
            self.layer,
            courses,
            kinds,
            guests,
            dict(Counter(card.course for card in self.cards)),
            tuple(dict(islice(each, _FAVOURITES)) for each in favourites),
        )

    def _none(self) -> NDArray[np.int_]:
        return np.zeros(self.experts, int)


def study(
    smol: LLM,
    cards: Sequence[Recipe] | None = None,
    layer: int = HALF_WAY,
    experts: int = EXPERTS,
) -> Study:
    """Read cards with the model, send the row of each token to an expert, and note which.

    Args:
        smol: the model.
        cards: three of each course where none are given, which takes a second or two.
        layer: layers that the rows go through before.
        experts: how many the router is to find.

    Raises ``ValueError`` for no cards, and more layers or experts than there can be.
    """
    instance("smol", smol, LLM, "llm.load()")
    number = dimension("experts", experts, "experts")
    read = tuple(few() if cards is None else cards)
    if not read or not all(isinstance(card, Recipe) for card in read):
        raise wrong("cards", cards, "give at least one Recipe, for example pantry.cards()")
    ids = [smol.tokenize(str(card)) for card in read]
    pages = [smol.rows_after(layer, ids[i : i + _PAGE]) for i in range(0, len(ids), _PAGE)]
    rows = directions(np.concatenate(pages))
    chosen = clustered(rows, number).route(rows)[0][:, 0]
    ends = np.cumsum([len(tokens) for tokens in ids])[:-1]
    pieces = tuple(tuple(smol.text([token]) for token in tokens) for tokens in ids)
    return Study(read, layer, pieces, tuple(np.split(chosen, ends)), number)


def few(each: int = 3) -> tuple[Recipe, ...]:
    """The first few cards of each course."""
    number = dimension("each", each, "cards of each course")
    seen: Counter[str] = Counter()
    found = []
    for card in all_cards():
        seen[card.course] += 1
        if seen[card.course] <= number:
            found.append(card)
    return tuple(found)


def kind_of(token: str, first: bool = False) -> str:
    """The kind of a token, one of `KINDS`.

    Args:
        token: its text, with the blank before it.
        first: whether it begins a text: then no blank stands before a word.
    """
    bare = token.strip()
    if bare.isdigit():
        return "number"
    if not any(letter.isalnum() for letter in bare):
        return "sign"
    if not (first or token.startswith(" ")):
        return "word part"
    return "little word" if bare.lower() in _LITTLE else "word"


# --- how much one tells about the other --------------------------------------------------------


def told(counts: NDArray[np.int_]) -> float:
    """The share of what there is to know about a label that the expert tells.

    Mutual information of label and expert over the entropy of the label (the uncertainty
    coefficient of Theil): 0 where the experts' visitors are all alike, 1 where each has one label.

    Args:
        counts: (labels, experts): how often they met.
    """
    shares = counts / counts.sum()
    labels, experts = shares.sum(axis=1), shares.sum(axis=0)
    known = _entropy(labels)
    return (known + _entropy(experts) - _entropy(shares.ravel())) / known if known else 0.0


def told_by_chance(counts: NDArray[np.int_]) -> float:
    """What `told` gives on average where labels and experts have nothing to do with each other.

    More than nothing, since the count is finite: ``(labels - 1) (experts - 1) / 2N`` nats over the
    entropy of the label (Miller, "Note on the bias of information estimates", 1955). Tokens of a
    card go together, so a little more would be chance as well.
    """
    free = (np.array(counts.shape) - 1).prod()
    known = _entropy(counts.sum(axis=1) / counts.sum())
    return float(free / (2 * counts.sum()) / known) if known else 0.0


def _entropy(shares: NDArray[np.float64]) -> float:
    """In nats."""
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum())


# --- what came out -----------------------------------------------------------------------------


@cache
def studied(layer: int = HALF_WAY) -> Tally:
    """What `study` counted for all cards, once: ``data/specialists.csv``.

    Args:
        layer: one of `DEPTHS`.
    """
    rows = [row for row in data.rows("specialists.csv") if int(row["layer"]) == layer]
    if not rows:
        raise wrong("layer", layer, f"studied were {', '.join(map(str, DEPTHS))}")
    number = 1 + max(int(row["expert"]) for row in rows)
    tables: dict[str, dict[str, NDArray[np.int_]]] = {"course": {}, "guests": {}, "kind": {}}
    liked: list[dict[str, int]] = [{} for _ in range(number)]
    for row in rows:
        expert, times = int(row["expert"]), int(row["tokens"])
        if row["by"] == "token":
            liked[expert][row["name"]] = times
            continue
        table = tables[row["by"]].setdefault(row["name"], np.zeros(number, int))
        table[expert] = times
        if row["by"] == "course":
            cards = tables["guests"].setdefault(row["name"], np.zeros(number, int))
            cards[expert] = int(row["cards"])
    counted = Counter(card.course for card in all_cards())
    return Tally(
        layer,
        tables["course"],
        tables["kind"],
        tables["guests"],
        {course: counted[course] for course in tables["course"]},
        tuple(liked),
        rows[0]["source"],
        rows[0]["date"],
    )


def count_again(smol: LLM, date: str) -> None:
    """Write ``data/specialists.csv`` anew: where cards have changed. It takes a minute.

    Args:
        smol: the real model.
        date: of today, as 2026-11-30.
    """
    source = "kitchenlib.miniatures.specialists"
    counted = (study(smol, all_cards(), layer).tally() for layer in DEPTHS)
    rows = [row for each in counted for row in replace(each, source=source, date=date).rows()]
    with (data.FOLDER / "specialists.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
