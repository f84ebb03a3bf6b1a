"""The scratchpad: why writing steps down helps, and what a vote of several samples is worth.

A `Cook` is a small attention machine. Its prompt holds facts ("the sauce needs the stock"), its
question a name to start from and how many links to follow. Each layer looks one link up: softmax
attention of what the cook has in mind over the keys of all facts. So one pass follows as many
links as there are layers. With a scratchpad each pass writes the name it has reached, and the next
pass starts from that token: the same machine, any number of links, a token for each pass.

Nothing here is trained. Names are random vectors; the weights that matter (a key is the first name
of a fact, its value the second, and a counter of links) are set by hand. A trained model does
cleverer things with its layers: a `PairingCook` lets the facts look each other up as well, and
doubles with each layer the links that one pass can follow. Some bound remains for every depth, and
it is the scratchpad that lifts it: arXiv 2402.09268 (what depth is enough), 2402.12875 (what a
chain of thought adds).

The second half is the vote over parallel samples (self-consistency, arXiv 2203.11171).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchenlib.inputs import chance, dice, dimension, find, instance, wrong
from kitchenlib.llm import LLM
from kitchenlib.units import human, many

_DIM = 64  # values of a name's vector
_SHARP = 30.0  # what scores are multiplied with: the name that fits gets nearly all the attention
_NEEDS = "lasagne ragù stock bones butcher knife whetstone water bucket rope hemp field".split()
_MOST_VOTERS = 150  # samples: the factorials of more are too large for a float64

Vectors = NDArray[np.float32]
Links = NDArray[np.intp]

# --- links to follow -----------------------------------------------------------------------------


class Answer(NamedTuple):
    """What a cook answers.

    Attributes:
        name: where the links lead, as far as the cook can tell.
        right: whether they lead there.
        written: the names it wrote, the answer last.
    """

    name: str
    right: bool
    written: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """How many tokens were written."""
        return len(self.written)

    def __str__(self) -> str:
        verdict = "right" if self.right else "wrong"
        return f"{' → '.join(self.written)} ({many(self.tokens, 'token')}, {verdict})"


def recipes(seed: int = 0) -> dict[str, str]:
    """Facts to ask about, in any order: the lasagne needs ragù, ragù needs stock, and so on.

    The last one needs only itself.
    """
    facts = list(zip(_NEEDS, [*_NEEDS[1:], _NEEDS[-1]], strict=True))
    lots = dice(seed)
    return dict(facts[number] for number in lots.permutation(len(facts)))


class Cook:
    """An attention machine that follows one link in each of its layers.

    Args:
        layers: how many lookups, one after the other, a pass has.
        seed: of the vectors that stand for names.

    Raises ``ValueError`` for layers or seeds that are no whole number.
    """

    def __init__(self, layers: int = 2, seed: int = 0) -> None:
        self.layers = dimension("layers", layers, "layers")
        self._seed = dimension("seed", seed, "seeds", least=0)

    @property
    def reach(self) -> int:
        """The most links that one pass can follow."""
        return self.layers

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.layers} layers, {self.reach} links a pass>"

    def answer(
        self, facts: Mapping[str, str], start: str, hops: int, scratch: bool = False
    ) -> Answer:
        """Follow `hops` links from `start`.

        Args:
            facts: name -> the name it needs; every name needs one, which may be itself.
            start: the name to start from.
            hops: links to follow, at least 1.
            scratch: whether the cook has a scratchpad: as many passes as it takes, each with a
                token. Without, it has one.

        Raises ``ValueError`` for facts that lead nowhere, `UnknownName` for a name without one.
        """
        names = {name: number for number, name in enumerate(facts)}
        if not names or not set(facts.values()) <= set(names):
            raise wrong("facts", facts, "give a dictionary in which every name needs a known name")
        begin = find("name", start, names)
        links = np.array([[names[needed] for needed in facts.values()]])
        first, most = np.array([begin]), dimension("hops", hops, "links")
        told = list(facts)
        written = [told[token[0]] for token in self._write(links, first, most, scratch)]
        return Answer(written[-1], written[-1] == told[_truth(links, first, most)[0]], (*written,))

    def shares_right(
        self, hops: Iterable[int], scratch: bool = False, sets: int = 100, names: int = 24
    ) -> NDArray[np.float64]:
        """The share of questions that are answered rightly, by the number of links.

        Args:
            hops: links to follow, each number fewer than there are names.
            scratch: as for `answer`.
            sets: random rings of facts, a question about each.
            names: how many there are.

        Returns:
            shares from 0 to 1, (len(hops),).
        """
        lots = dice(self._seed)
        sized = dimension("sets", sets, "sets of facts"), dimension("names", names, "names", 2)
        links, start = _rings(*sized, lots), np.zeros(sized[0], np.intp)
        lengths = [dimension("hops", number, "links") for number in hops]
        if max(lengths, default=0) >= names:
            raise wrong("hops", max(lengths), "give fewer links than names: the ring would close")
        return np.array(
            [
                np.mean(self._write(links, start, n, scratch)[-1] == _truth(links, start, n))
                for n in lengths
            ]
        )

    def tokens(self, hops: int, scratch: bool = False) -> int:
        """How many tokens an answer takes: one, or with a scratchpad one for each pass."""
        passes = math.ceil(dimension("hops", hops, "links") / self.reach)
        return passes if scratch else 1

    def _write(self, links: Links, start: Links, hops: int, scratch: bool) -> list[Links]:
        """The tokens that are written, each (sets,): what the last pass writes is the answer."""
        vectors = _vectors(links.shape[1], self._seed)
        written, left = [start], hops
        for _ in range(self.tokens(hops, scratch)):
            found = self._pass(vectors, vectors[links], vectors[written[-1]], left)
            written.append((found @ vectors.T).argmax(axis=-1))
            left -= self.reach
        return written[1:]

    def _pass(self, keys: Vectors, values: Vectors, mind: Vectors, hops: int) -> Vectors:
        """One pass: what the cook has in mind after it, (sets, dim).

        A layer whose turn comes after the last link passes on what it gets.
        """
        for _ in range(min(hops, self.layers)):
            mind = _look_up(mind[:, None], keys, values)[:, 0]
        return mind


class PairingCook(Cook):
    """A cook whose facts look each other up as well: each layer doubles how far a fact leads.

    A layer either takes what the cook has in mind along the facts as they now are, or leaves it;
    then every fact takes the way of the one it points to. As the number of links in binary digits.
    """

    @property
    def reach(self) -> int:
        return 2**self.layers - 1

    def _pass(self, keys: Vectors, values: Vectors, mind: Vectors, hops: int) -> Vectors:
        links = min(hops, self.reach)
        for layer in range(self.layers):
            if links >> layer & 1:
                mind = _look_up(mind[:, None], keys, values)[:, 0]
            values = _look_up(values, keys, values)
        return mind


def _look_up(queries: Vectors, keys: Vectors, values: Vectors) -> Vectors:
    """Softmax attention.

    Args:
        queries: (sets, queries, dim).
        keys: (names, dim), the same in all sets.
        values: (sets, names, dim).

    Returns:
        (sets, queries, dim).
    """
    scores = queries @ keys.T * np.float32(_SHARP)
    scores -= scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores, out=scores)
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares @ values


def _vectors(names: int, seed: int) -> Vectors:
    """A random direction for each name: (names, dim), each of length 1."""
    drawn = np.random.default_rng(seed).standard_normal((names, _DIM), np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _rings(sets: int, names: int, lots: np.random.Generator) -> Links:
    """Where each name leads, (sets, names): one ring through all names in each set."""
    order = lots.permuted(np.tile(np.arange(names), (sets, 1)), axis=1)
    links = np.empty_like(order)
    np.put_along_axis(links, order, np.roll(order, -1, axis=1), axis=1)
    return links


def _truth(links: Links, start: Links, hops: int) -> Links:
    for _ in range(hops):
        start = np.take_along_axis(links, start[:, None], axis=1)[:, 0]
    return start


# --- several samples and a vote ------------------------------------------------------------------


def scattered(right: float, answers: int) -> tuple[float, ...]:
    """The chances of `answers` wrong answers, if all of them are equally likely."""
    number = dimension("answers", answers, "wrong answers")
    return ((1 - _one_chance(right)) / number,) * number


def vote(right: float, wrong_answers: Sequence[float], samples: int) -> float:
    """The chance that most of `samples` independent samples agree on the right answer: exact.

    Whoever has the most votes wins; equals draw lots. Summed over the votes for the right answer,
    the votes for the others below that number, and those that draw level.

    Args:
        right: the chance that one sample is right.
        wrong_answers: the chance of each wrong answer; with `right` they add up to 1.
        samples: how many vote, at most 150.

    >>> round(vote(0.4, scattered(0.4, 6), samples=15), 2)
    0.86
    """
    chances, n = _chances(right, wrong_answers), _voters(samples)
    return float(sum(_won_with(votes, chances, n) for votes in range(1, n + 1)))


def polled(
    right: float, wrong_answers: Sequence[float], samples: int, polls: int = 4000, seed: int = 0
) -> float:
    """The same by experiment: the share of `polls` that the right answer wins.

    Args:
        polls: how many votes are held.
        seed: of the draws.
        others: as for `vote`.
    """
    chances, n = _chances(right, wrong_answers), _voters(samples)
    lots = dice(seed)
    votes = lots.multinomial(n, chances, dimension("polls", polls, "polls"))
    best = votes == votes.max(axis=1, keepdims=True)
    return float(np.mean(best[:, 0] / best.sum(axis=1)))


def _won_with(votes: int, chances: NDArray[np.float64], samples: int) -> float:
    """The chance that the right answer wins with so many votes.

    Multinomial chances are coefficients of a product of power series, p^k / k! for each answer;
    `series` has a row for each number of rivals that draw level, and a column for each power.
    """
    left = samples - votes
    series = np.zeros((left // votes + 1, left + 1))
    series[0, 0] = 1
    for rival in chances[1:]:
        grown = np.zeros_like(series)
        for power in range(min(votes, left) + 1):
            level = power == votes
            term = rival**power / math.factorial(power)
            grown[level:, power:] += term * series[: len(series) - level, : series.shape[1] - power]
        series = grown
    lots = series[:, left] / np.arange(1, len(series) + 1)
    mine = chances[0] ** votes / math.factorial(votes)
    return math.factorial(samples) * mine * float(lots.sum())


def _chances(right: float, wrong_answers: Sequence[float]) -> NDArray[np.float64]:
    rest = np.atleast_1d(chance("wrong_answers", wrong_answers, "each wrong answer"))
    chances = np.array([_one_chance(right), *rest.ravel()])
    if not math.isclose(chances.sum(), 1, rel_tol=1e-9):
        raise wrong("wrong_answers", wrong_answers, "with `right` the chances must add up to 1")
    return chances / chances.sum()


def _one_chance(right: float) -> float:
    p = chance("right", right, "a right answer")
    if isinstance(p, np.ndarray):
        raise wrong("right", right, "give one probability, from 0 to 1")
    return float(p)


def _voters(samples: int) -> int:
    if (number := dimension("samples", samples, "samples")) > _MOST_VOTERS:
        raise wrong("samples", samples, f"give at most {_MOST_VOTERS} samples")
    return number


# --- on a real model -----------------------------------------------------------------------------


class Measured(NamedTuple):
    """Samples side by side against one chain of as many tokens, timed on this machine.

    Attributes:
        prompt: tokens read, once.
        samples, own: how many samples, and tokens of each.
        reading: seconds until the prompt is read.
        together: seconds from there until every sample has its tokens.
        chain: seconds from there until one chain has as many tokens as all samples together.
    """

    prompt: int
    samples: int
    own: int
    reading: float
    together: float
    chain: float

    @property
    def faster(self) -> float:
        """How many times as long the chain takes."""
        return self.chain / self.together

    def __str__(self) -> str:
        tokens = self.samples * self.own
        return (
            f"{self.prompt} tokens read in {human(self.reading, 's', 2)}; then {tokens} tokens: "
            f"{human(self.together, 's', 2)} as {self.samples} samples side by side, "
            f"{human(self.chain, 's', 2)} as one chain, × {self.faster:.1f}"
        )


def measured(
    smol: LLM,
    prompt: str = "Three boxes hold four eggs each, and two break. How many are left?",
    samples: int = 8,
    own: int = 8,
) -> Measured:
    """Time both ways of spending the same tokens; about two seconds.

    The prompt is read once and its notes are copied for each sample. The likeliest tokens are
    written, and the end of a turn stops nobody: what is written does not change the time.

    Args:
        smol: the model; its stand-in is as fast.
        prompt: what a user says.
        samples: written side by side, at least 2.
        own: tokens of each, at least 2.
    """
    instance("smol", smol, LLM, "llm.load()")
    many = dimension("samples", samples, "samples", least=2)
    each = dimension("own", own, "tokens of each sample", least=2)
    ids = smol.chat(prompt)
    start = perf_counter()
    logits, cache = smol.prefill(ids, room=many * each)
    token = int(logits.argmax())
    read = perf_counter()
    tokens, notepads = [token] * many, cache.copies(many)
    for _ in range(each - 1):
        tokens = smol.decode_step(tokens, notepads).argmax(axis=1).tolist()
    forked = perf_counter()
    for _ in range(many * each - 1):
        token = int(smol.decode_step(token, cache).argmax())
    done = perf_counter()
    return Measured(len(ids), many, each, read - start, forked - read, done - forked)
