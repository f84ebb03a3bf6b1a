"""Guesses at what comes next, and one pass that tells which of them are right (speculation).

A drafter proposes tokens. The model reads all of them in one pass, and says after each what it
would have written itself. What agrees stays, from the front; after the first wrong guess, or
after the last right one, stands the model's own token: the bonus. So a pass writes at least one
token, and never one that plain decoding would not have written.

"Never" holds up to rounding: a pass over several tokens adds the same numbers in another order, so
a likeliest and a second likeliest token that are closer than about 0.0001 could change places.

Source of the idea: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative
Decoding", arXiv 2211.17192. Here the choice is always the likeliest token, so nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.transformer import Transformer
from kitchenlib.units import human

Drafter = Callable[[Sequence[int], int], Sequence[int]]
"""From all tokens so far, and how many to draft at most: the guesses. It may return fewer."""

_LONGEST = 3  # tokens that have to be the same: more are rarer, fewer are chance


class Sweep(NamedTuple):
    """One pass of the model, and what it brought.

    Attributes:
        drafted: the tokens that were guessed.
        written: those of them that were right, and the model's own token.
        seconds: of drafting and of the pass.
    """

    drafted: tuple[int, ...]
    written: tuple[int, ...]
    seconds: float

    @property
    def accepted(self) -> int:
        """Guesses that were right, up to the first wrong one."""
        return _agreed(self.drafted, self.written)


class Speculation(NamedTuple):
    """A reply that was written with the help of guesses.

    Attributes:
        prompt: tokens read.
        ttft: seconds from the request to the first token.
        sweeps: the passes after that.
        tokens: the reply, the token that ends the turn left out.
        text: its text.
    """

    prompt: int
    ttft: float
    sweeps: tuple[Sweep, ...]
    tokens: tuple[int, ...]
    text: str

    @property
    def accepted(self) -> list[int]:
        """Right guesses of each pass."""
        return [sweep.accepted for sweep in self.sweeps]

    @property
    def per_pass(self) -> float:
        """Tokens that a pass brought, the bonus and the end of the turn included: the mean."""
        return self._written / len(self.sweeps)

    @property
    def tpot(self) -> float:
        """Seconds of one further token, the first one left out: their mean."""
        return sum(sweep.seconds for sweep in self.sweeps) / self._written

    @property
    def acceptance(self) -> float:
        """Share of right guesses among those judged; what follows a wrong guess is not judged.

        Not a number where nothing was guessed. This is the `acceptance` of the closed formula for
        the expected tokens, estimated as if each guess were right with the same chance.
        """
        right = sum(self.accepted)
        wrong_ones = sum(s.accepted < min(len(s.drafted), len(s.written)) for s in self.sweeps)
        return right / (right + wrong_ones) if right + wrong_ones else float("nan")

    @property
    def _written(self) -> int:
        return sum(len(sweep.written) for sweep in self.sweeps)

    def __str__(self) -> str:
        return (
            f"{self._written} tokens in {len(self.sweeps)} passes, "
            f"{self.per_pass:.2f} in each, {human(self.tpot, 's')} for each token"
        )


def lookup(ids: Sequence[int], most: int, shortest: int = 1) -> list[int]:
    """Guess that what follows is what followed last time (prompt lookup).

    The last three tokens are looked for in what was said before them, else the last two, else the
    last one; the latest place counts. Costs no model and no memory.

    Args:
        ids: all tokens so far, prompt included.
        most: tokens to draft.
        shortest: tokens that have to be the same. With 1 it guesses nearly always, and is wrong
            more often; ``functools.partial(lookup, shortest=2)`` is a more careful drafter.

    Returns:
        `most` tokens, or none where the last tokens are new.
    """
    dimension("most", most, "tokens", least=0)
    text = list(ids)
    for size in range(min(_LONGEST, len(text) - 1), shortest - 1, -1):
        last = text[-size:]
        for start in range(len(text) - size - 1, -1, -1):
            if text[start : start + size] == last:
                for place in range(start + size, start + size + most):
                    text.append(text[place])  # may run into what was drafted: a loop goes on
                return text[len(ids) :]
    return []


class Draft:
    """A drafter that asks a lighter model, and keeps a notepad of its own.

    Args:
        model: any model with the same tokens.
    """

    def __init__(self, model: Transformer) -> None:
        instance("model", model, Transformer, "smol.rounded(4, 64)")
        self._model = model
        self._cache = Cache(model.shape, 1, model.shape.context)
        self._noted: list[int] = []

    def __call__(self, ids: Sequence[int], most: int) -> list[int]:
        """The `most` tokens that the lighter model would write after `ids`."""
        same = _agreed(self._noted, ids[:-1])  # the last one is read again, for its logits
        self._cache.cut_back([same])
        drafted: list[int] = []
        new = list(ids[same:])
        for _ in range(most):
            logits, _ = self._model.prefill(new, cache=self._cache)
            new = [int(logits.argmax())]
            drafted += new
        self._noted = [*ids, *drafted][: self._cache.lengths[0]]
        return drafted


def sweeps(
    model: Transformer, ids: Sequence[int], tokens: int, drafter: Drafter, drafted: int, end: int
) -> Iterator[Sweep]:
    """Continue a prompt, several tokens in a pass where the drafter guesses well.

    Args:
        model: says which guesses are right.
        ids: the prompt.
        tokens: tokens to write at most.
        drafter: guesses.
        drafted: tokens to guess for each pass at most; 0 is plain decoding.
        end: the token after which nothing more is written.

    Yields:
        the pass that reads the prompt, then one pass after the other.
    """
    clock = perf_counter()
    logits, cache = model.prefill(ids, room=tokens)
    new = [int(logits.argmax())]
    guesses: list[int] = []
    read = list(ids)
    while True:
        yield Sweep(tuple(guesses), tuple(new), perf_counter() - clock)
        read += new
        left = len(ids) + tokens - len(read)
        if left == 0 or new[-1] == end:
            return
        clock = perf_counter()
        most = min(drafted, left - 1)
        guesses = _guesses(drafter, read, most) if most else []
        said = model.logits_everywhere([read[-1], *guesses], cache).argmax(axis=1).tolist()
        right = _agreed(guesses, said)
        new = said[: right + 1]
        new = new[: new.index(end) + 1] if end in new else new
        cache.cut_back([len(read) + right])


def _guesses(drafter: Drafter, ids: list[int], most: int) -> list[int]:
    guesses = list(drafter(ids, most))
    if len(guesses) > most:
        raise wrong("drafter", guesses, f"it may guess {most} tokens at most here")
    return guesses


def _agreed(some: Sequence[int], others: Sequence[int]) -> int:
    """How many tokens are the same, from the front."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(some), len(others)))
