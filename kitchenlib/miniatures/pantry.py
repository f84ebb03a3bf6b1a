"""The archive pantry: recipe cards as vectors, and the few that are nearest to a question.

Retrieval-augmented generation (RAG) in small. A card becomes a vector, a question becomes a vector
in the same space, and the cards with the largest cosine are put into the prompt. What was not
fetched, the model does not get to read.

The vectors are those of `kitchenlib.miniatures.meaning`, learnt from these cards alone. Systems in
production take a trained embedding model in its place. Everything after the vector is the same:
cosine, the k best, an index that skips most of the archive, the prompt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchenlib import data
from kitchenlib.inputs import dice, dimension, instance, wrong
from kitchenlib.llm import LLM
from kitchenlib.miniatures.meaning import Meaning, Vectors
from kitchenlib.retrieval import flat_bytes, inverted_bytes, inverted_search

DIM = 64  #: values of a vector
BEST = 3  #: cards that go into a prompt: a setting, no law
LISTS = 16  #: of an inverted file
KINDS = {
    "same": "the recipe's own words",
    "other": "other words",
    "two": "two cards needed",
}  #: kinds of question, and what each means

_ID_BYTES = 8  # of a card in a list, as in `kitchenlib.retrieval`
_ROUNDS = 100  # of k-means at most; it settles much earlier
_SHORT = "Answer with a short phrase"
_BOTH, _THIS_AND_THAT = " + ", "; "  # between the names of two cards, and between two facts
_NO_MORE = r"(?!\d|t?(?:een|h|y))"  # what would make eighteen, eighth or eighty of eight

# --- what is in it -------------------------------------------------------------------------------


class Recipe(NamedTuple):
    """A recipe card: its name, its course ("soup", "bread" ...) and its text."""

    name: str
    course: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class Question(NamedTuple):
    """A question to the archive, and what a good answer needs.

    Attributes:
        text: the question.
        cards: names of the cards that answer it: one, or two that are needed both.
        kind: one of `KINDS`.
        answer: what an answer has to contain, as it stands on a card; of two cards "this; that".
    """

    text: str
    cards: tuple[str, ...]
    kind: str
    answer: str

    def answered_by(self, text: str) -> bool:
        """Whether a text contains what an answer has to contain.

        Words count from their beginning: a pineapple is no apple, and eighteen is not eight.
        """
        facts = self.answer.split(_THIS_AND_THAT)
        return all(re.search(rf"\b{re.escape(fact)}{_NO_MORE}", text, re.I) for fact in facts)


class Found(NamedTuple):
    """A card, and the cosine between its vector and the question's: 1 for the same direction."""

    card: Recipe
    similarity: float


@cache
def cards() -> tuple[Recipe, ...]:
    """The archive: recipe cards written for this collection, in the order of the file."""
    rows = data.rows("recipes.csv")
    return tuple(Recipe(row["name"], row["course"], row["text"]) for row in rows)


@cache
def questions() -> tuple[Question, ...]:
    """Questions to the archive whose right cards are known, in the order of the file."""
    return tuple(
        Question(row["question"], tuple(row["card"].split(_BOTH)), row["words"], row["answer"])
        for row in data.rows("recipe_questions.csv")
    )


# --- search --------------------------------------------------------------------------------------


class Pantry:
    """An archive that can be searched.

    Args:
        archive: the cards; None takes `cards`.
        dim: values of a vector, at most as many as there are cards.

    Attributes:
        cards: the cards.
        vectors: one for each card, (cards, dim), float32, of length 1.
    """

    def __init__(self, archive: Sequence[Recipe] | None = None, dim: int = DIM) -> None:
        self.cards = cards() if archive is None else tuple(archive)
        if not self.cards or not all(isinstance(card, Recipe) for card in self.cards):
            raise wrong("archive", archive, "give recipe cards, for example pantry.cards()")
        values = dimension("dim", dim, "values of a vector")
        if values > len(self.cards):
            raise wrong("dim", dim, f"give at most {len(self.cards)}, as many as there are cards")
        self._meaning = Meaning([f"{card.name}. {card.text}" for card in self.cards], values)
        self.vectors = self._meaning.vectors

    def vector(self, text: str) -> Vectors:
        """The vector of a question, or of any text, (dim,), float32, of length 1.

        Raises ``ValueError`` where no word of it stands on any card.
        """
        if not isinstance(text, str):
            raise wrong("question", text, "give a text, for example 'How long does rice cook?'")
        return self._meaning(text)

    def search(self, question: str, k: int = BEST) -> list[Found]:
        """The `k` cards nearest to a question, the nearest first: all cards are compared."""
        return self._best(np.arange(len(self.cards)), self.vector(question), self._most(k))

    def index(self, lists: int = LISTS, seed: int = 0) -> Index:
        """An inverted file over the cards: `lists` groups of neighbours (k-means)."""
        return Index(self, lists, seed)

    @property
    def size(self) -> tuple[int, int]:
        """Cards, and values of a vector."""
        cards, dim = self.vectors.shape
        return cards, dim

    @property
    def bytes(self) -> int:
        """Bytes of the vectors: what an exact search reads."""
        return int(flat_bytes(*self.size))

    def _most(self, k: int) -> int:
        most = dimension("k", k, "cards")
        if most > len(self.cards):
            raise wrong("k", k, f"give at most {len(self.cards)}, as many as there are cards")
        return most

    def _best(self, among: NDArray[np.intp], vector: Vectors, k: int) -> list[Found]:
        """The `k` nearest of the cards with these numbers."""
        cosines = self.vectors[among] @ vector
        order = np.argsort(-cosines, kind="stable")[:k]
        return [Found(self.cards[among[i]], float(cosines[i])) for i in order]


@cache
def ours() -> Pantry:
    """The archive of all `cards`, made ready once: to be searched and not to be changed."""
    return Pantry()


class Scan(NamedTuple):
    """What a search in an inverted file found, and what it read.

    Attributes:
        found: the nearest cards of the lists it looked into; fewer than asked for where those hold
            no more.
        compared: cards it compared the question with.
        bytes: centroids, vectors and numbers of cards read.
    """

    found: list[Found]
    compared: int
    bytes: int


class Index:
    """An inverted file: each card stands in the list of its nearest centroid.

    Args:
        pantry: whose cards.
        lists: how many, at most as many as there are cards.
        seed: which cards the centroids start from.

    Attributes:
        centroids: (lists, dim), float32, of length 1.
        members: the numbers of the cards in each list.
    """

    def __init__(self, pantry: Pantry, lists: int = LISTS, seed: int = 0) -> None:
        instance("pantry", pantry, Pantry, "pantry.Pantry()")
        number = dimension("lists", lists, "lists")
        if number > len(pantry.cards):
            wanted = f"give at most {len(pantry.cards)}, as many as there are cards"
            raise wrong("lists", lists, wanted)
        self.pantry = pantry
        self.centroids, nearest = _grouped(pantry.vectors, number, dice(seed))
        self.members = [np.flatnonzero(nearest == i) for i in range(number)]

    @property
    def sizes(self) -> list[int]:
        """Cards in each list."""
        return [len(numbers) for numbers in self.members]

    @property
    def bytes(self) -> int:
        """Bytes of the index: vectors, numbers of cards and centroids."""
        return int(inverted_bytes(*self.pantry.size, len(self.members)))

    def search(self, question: str, k: int = BEST, probes: int = 1) -> Scan:
        """The `k` nearest cards of the `probes` lists whose centroids are nearest."""
        looked = self._checked(probes)
        k, vector = self.pantry._most(k), self.pantry.vector(question)
        nearest = np.argsort(-(self.centroids @ vector), kind="stable")[:looked]
        among = np.sort(np.concatenate([self.members[i] for i in nearest]))
        row = self.pantry.vectors[0].nbytes + _ID_BYTES
        read = self.centroids.nbytes + len(among) * row
        return Scan(self.pantry._best(among, vector, k), len(among), read)

    def _checked(self, probes: int) -> int:
        number = dimension("probes", probes, "lists")
        if number > len(self.members):
            raise wrong("probes", probes, f"give at most {len(self.members)}, as many as there are")
        return number


def _grouped(
    vectors: Vectors, lists: int, rng: np.random.Generator
) -> tuple[Vectors, NDArray[np.intp]]:
    """Centroids, and the nearest one of each vector: k-means on the sphere, in float64.

    Twice the digits of the vectors, so that which list is nearest is the same on every machine.
    """
    points = vectors.astype(np.float64)
    start = rng.choice(len(points), lists, replace=False)
    centres, nearest = points[np.sort(start)], np.full(len(points), -1)
    for _ in range(_ROUNDS):
        cosines = points @ centres.T
        before, nearest = nearest, cosines.argmax(axis=1)
        for empty in sorted(set(range(lists)) - set(nearest)):
            # It takes the loneliest vector of a longer list.
            shared = np.bincount(nearest, minlength=lists)[nearest] > 1
            lonely = np.where(shared, cosines[np.arange(len(points)), nearest], np.inf).argmin()
            nearest[lonely] = empty
        if np.array_equal(before, nearest):
            break
        sums = np.stack([points[nearest == i].sum(axis=0) for i in range(lists)])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = sums / np.maximum(lengths, 1e-12)  # a card without a word points nowhere
    return centres.astype(np.float32), nearest


# --- how well it finds ---------------------------------------------------------------------------


class Recall(NamedTuple):
    """How much of what the exact search finds an inverted file finds, over all questions.

    Attributes:
        probes: lists that each question looked into.
        share: of the exact search's k best, from 0 to 1.
        bytes: read for a question, the mean.
        law: what `kitchenlib.retrieval.inverted_search` says: all lists equally long and likely.
    """

    probes: int
    share: float
    bytes: float
    law: float

    def __str__(self) -> str:
        return f"{self.probes:2} lists: {self.share:.0%} of the best, {self.bytes / 1e3:.1f} kB"


def recall(
    index: Index, k: int = BEST, probes: int = 1, asked: Sequence[Question] | None = None
) -> Recall:
    """The recall@k of an inverted file against the exact search, and the bytes it read.

    Args:
        index: of the archive.
        k: nearest cards that count.
        probes: lists that each question looks into.
        asked: questions, at least one; None takes `questions`.
    """
    instance("index", index, Index, "pantry.Pantry().index()")
    asked = questions() if asked is None else asked
    if not asked:
        raise wrong("asked", asked, "give at least one question, for example pantry.questions()")
    scans = [index.search(question.text, k, probes) for question in asked]
    exact = [index.pantry.search(question.text, k) for question in asked]
    same = [
        len({f.card.name for f in scan.found} & {f.card.name for f in best})
        for scan, best in zip(scans, exact, strict=True)
    ]
    law = inverted_search(*index.pantry.size, len(index.members), probes)
    read = float(np.mean([scan.bytes for scan in scans]))
    return Recall(probes, sum(same) / (k * len(asked)), read, float(law.bytes))


class Miss(NamedTuple):
    """A question without all its cards among the k best, and what came instead."""

    question: Question
    found: list[Found]

    @property
    def lacking(self) -> list[str]:
        """Names of the cards that did not come."""
        came = {each.card.name for each in self.found}
        return [name for name in self.question.cards if name not in came]


def misses(pantry: Pantry, k: int = BEST, asked: Sequence[Question] | None = None) -> list[Miss]:
    """The questions for which a card is lacking among the `k` best: no model can answer them."""
    instance("pantry", pantry, Pantry, "pantry.Pantry()")
    asked = questions() if asked is None else asked
    searched = [Miss(question, pantry.search(question.text, k)) for question in asked]
    return [each for each in searched if each.lacking]


class Hits(NamedTuple):
    """How many of the questions that were asked had all their cards among the k best."""

    found: int
    asked: int

    @property
    def share(self) -> float:
        """From 0 to 1: the ceiling of whatever a model makes of the cards."""
        return self.found / self.asked

    def __str__(self) -> str:
        return f"{self.found} of {self.asked}"


def hits(pantry: Pantry, k: int = BEST, asked: Sequence[Question] | None = None) -> dict[str, Hits]:
    """For how many questions all their cards are among the `k` best, by kind (see `KINDS`)."""
    asked = questions() if asked is None else asked
    every = Counter(question.kind for question in asked)
    missed = Counter(miss.question.kind for miss in misses(pantry, k, asked))
    return {kind: Hits(n - missed[kind], n) for kind in KINDS if (n := every[kind])}


# --- the prompt ----------------------------------------------------------------------------------


def prompt(question: str, archive: Sequence[Recipe | Found] = ()) -> str:
    """What a language model is asked: the cards, each with its name, and then the question.

    In this order, so that the notes on cards that come first in every prompt could be kept.
    """
    if not archive:
        return f"{question} {_SHORT}."
    given = [str(each.card if isinstance(each, Found) else each) for each in archive]
    return "\n\n".join([*given, f"According to the cards above: {question} {_SHORT} from them."])


class Answered(NamedTuple):
    """What a model made of a prompt with so many cards, against the clock.

    Attributes:
        cards: in the prompt.
        prompt: its tokens.
        ttft: seconds from the question to the first token of the answer, without the search.
        tpot: seconds of one further token, the mean; not a number where none was written.
        text: the answer.
        right: whether it contains the fact that the question asks for.
    """

    cards: int
    prompt: int
    ttft: float
    tpot: float
    text: str
    right: bool


def measured(
    smol: LLM,
    question: Question | None = None,
    sizes: Sequence[int] = (0, BEST, 12),
    tokens: int = 16,
    pantry: Pantry | None = None,
) -> list[Answered]:
    """Ask a real model without a card, with the few best, and with more: a few seconds.

    Args:
        smol: the model; its stand-in is as fast and writes nonsense.
        question: one of `questions`; None takes the first.
        sizes: cards in the prompt, the nearest first.
        tokens: of the answer at most.
        pantry: where to search; None takes all `cards`.

    Raises ``ValueError`` for a prompt that is longer than the model can read.
    """
    instance("smol", smol, LLM, "llm.load()")
    question = questions()[0] if question is None else question
    instance("question", question, Question, "pantry.questions()[0]")
    pantry = ours() if pantry is None else pantry
    dimension("tokens", tokens, "tokens of the answer", least=2)
    return [
        _answered(smol, question, pantry.search(question.text, k) if k else [], tokens)
        for k in sizes
    ]


def _answered(smol: LLM, question: Question, found: list[Found], tokens: int) -> Answered:
    ids = smol.chat(prompt(question.text, found))
    if len(ids) + tokens > smol.shape.context:
        raise ValueError(
            f"{len(found)} cards make a prompt of {len(ids):,} tokens, and this model can read "
            f"{smol.shape.context:,}, its answer of {tokens} included: give fewer cards"
        )
    clock = [perf_counter()]
    logits, cache = smol.prefill(ids, room=tokens)
    clock.append(perf_counter())
    written = []
    for token in smol.go_on(logits, cache, tokens):
        written.append(token)
        clock.append(perf_counter())
    first, *each_token = (later - earlier for earlier, later in pairwise(clock))
    steps = each_token[1:]  # the first token came with the prefill
    text = smol.text(written).strip()
    each = sum(steps) / len(steps) if steps else float("nan")
    return Answered(len(found), len(ids), first, each, text, question.answered_by(text))
