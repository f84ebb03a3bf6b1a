"""The kitchen at work: a Llama-architecture model in NumPy, float32 throughout.

One pass reads a few new tokens of each sequence, looks back at the notes (the KV cache), and adds
to them. `prefill` is that pass over a whole prompt; `decode_step` is the same pass over one token.
Nothing else tells the two apart: that one is a flood and the other a drip is the shape of `x`.
Nor does a pass know what a row of `x` stands for: `prefill_rows` reads rows that are no words.

The rows of `x` are the new tokens of all sequences, one below the other, without padding. The
weights are read once for all rows; each sequence looks back at its own notes only.

Beware of float64: one such number in the middle would turn every later array into float64, at
half the speed or less. Python's own numbers are safe, ``np.sqrt(64)`` is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.inputs import dimension, wrong
from kitchenlib.llm.meter import Meter
from kitchenlib.llm.notepad import Cache, Entry, Tokens
from kitchenlib.llm.weights import Array, Layer, Weights

_TILE = 128  # queries that look back together: their scores stay in the cores' caches


class Transformer:
    """A model that reads and writes token numbers."""

    def __init__(self, weights: Weights) -> None:
        self.shape = weights.shape
        self.meter = Meter()
        self._weights = weights
        # Two neighbouring values of a head are one complex number, and a position turns it.
        speeds = self.shape.theta ** -(np.arange(0, self.shape.head_dim, 2) / self.shape.head_dim)
        angles = np.arange(self.shape.context)[:, None] * speeds
        self._turns = np.exp(1j * angles).astype(np.complex64)  # (context, head_dim / 2)

    def prefill(
        self,
        prompt: Sequence[int] | Sequence[Sequence[int]],
        room: int = 256,
        cache: Cache | None = None,
    ) -> tuple[Array, Cache]:
        """Read prompts in one pass: the flood.

        Args:
            prompt: token numbers of one prompt, or several such lists, of any lengths.
            room: tokens to leave room for in the notepad, beyond the longest prompt.
            cache: a notepad to go on in; None takes a new one.

        Returns:
            logits after the last token, (vocab,) or (batch, vocab); and the notepad.

        Raises:
            ValueError: no tokens, unknown tokens, or more of them than there is room for.
        """
        single = len(prompt) == 0 or np.ndim(prompt[0]) == 0
        new = [self.checked(ids) for ids in ([prompt] if single else prompt)]
        if cache is None:
            needed = max(map(len, new)) + dimension("room", room, "tokens", least=0)
            cache = Cache(self.shape, len(new), min(needed, self.shape.context))
        last = np.cumsum([len(ids) for ids in new]) - 1
        logits = self._logits(self._pass(new, cache)[last])
        return (logits[0] if single else logits), cache

    def rows(self, ids: ArrayLike) -> Array:
        """The rows that stand for token numbers, (tokens, hidden): what a pass begins with."""
        return self._weights.embedding[self.checked(ids)]

    def rows_after(self, layers: int, prompts: Sequence[Sequence[int]]) -> Array:
        """What the first so many layers make of prompts, (rows, hidden): a row for each token.

        Args:
            layers: 0 for the rows as a pass begins with them, at most as many as there are.
            prompts: token numbers of each prompt, of any lengths. Their rows lie one below the
                other, and none looks at another prompt's.
        """
        depth = dimension("layers", layers, "layers", least=0)
        if depth > self.shape.layers:
            raise wrong("layers", layers, f"the model has {self.shape.layers} layers")
        new = [self.checked(ids) for ids in prompts]
        if not new:
            raise wrong("prompts", prompts, "give at least one prompt, each a list of tokens")
        cache = Cache(self.shape, len(new), max(map(len, new)))
        return self._layers(self.rows(np.concatenate(new)), cache.entries(new), cache, depth)

    def prefill_rows(
        self, rows: ArrayLike, room: int = 256, cache: Cache | None = None
    ) -> tuple[Array, Cache]:
        """Read the rows of one prompt, whatever they stand for: words, or patches of a picture.

        Args:
            rows: (tokens, hidden), finite numbers. Those of words are `rows`.
            room: tokens to leave room for in the notepad, beyond the prompt.
            cache: a notepad to go on in; None takes a new one.

        Returns:
            logits after the last row, (vocab,); and the notepad.

        Raises:
            ValueError: what are no such rows, or more of them than there is room for.
        """
        x = self._checked_rows(rows)
        if cache is None:
            needed = len(x) + dimension("room", room, "tokens", least=0)
            cache = Cache(self.shape, 1, min(needed, self.shape.context))
        entries = cache.entries([x])
        return self._logits(self._layers(x, entries, cache)[-1:])[0], cache

    def decode_step(self, token: int | Sequence[int], cache: Cache) -> Array:
        """Read one more token of each sequence: the drip.

        Args:
            token: a token number, or one for each sequence of the batch.
            cache: the notepad; it grows by one token for each sequence.

        Returns:
            logits of what follows, (vocab,) or (batch, vocab).
        """
        tokens = self.checked(np.atleast_1d(token))
        logits = self._logits(self._pass(list(tokens[:, None]), cache))
        return logits if np.ndim(token) else logits[0]

    def logits_everywhere(self, prompt: Sequence[int], cache: Cache | None = None) -> Array:
        """Logits after each token of one prompt, (tokens, vocab).

        Args:
            prompt: token numbers.
            cache: a notepad to go on in, as for `prefill`.
        """
        ids = self.checked(prompt)
        if cache is None:
            cache = Cache(self.shape, 1, min(len(ids), self.shape.context))
        return self._logits(self._pass([ids], cache))

    def checked(self, ids: ArrayLike) -> Tokens:
        """Token numbers as an array, (tokens,); ``ValueError`` for what are none."""
        tokens = np.asarray(ids)
        if tokens.ndim != 1 or tokens.size == 0 or tokens.dtype.kind not in "iu":
            raise wrong("tokens", ids, "give at least one token number, all of them whole")
        if tokens.min() < 0 or tokens.max() >= self.shape.vocab:
            raise wrong("tokens", ids, f"token numbers go from 0 to {self.shape.vocab - 1:,}")
        return tokens

    def _checked_rows(self, rows: ArrayLike) -> Array:
        """A copy of rows as float32, (tokens, hidden); ``ValueError`` for what are none."""
        given, hidden = np.asarray(rows), self.shape.hidden
        wanted = f"give at least one row of {hidden} finite numbers, (tokens, {hidden})"
        if given.ndim != 2 or given.dtype.kind != "f" or given.shape[1] != hidden or not len(given):
            raise wrong("rows", rows, wanted)
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite: caught below
            copied = given.astype(np.float32)
        if not np.isfinite(copied).all():
            raise wrong("rows", rows, wanted)
        return copied

    @contextmanager
    def counted(self) -> Iterator[Meter]:
        """Count FLOPs and bytes of what runs inside ``with smol.counted() as counts:``."""
        before, self.meter = self.meter, Meter()
        try:
            yield self.meter
        finally:
            self.meter = before

    def _pass(self, new: list[Tokens], cache: Cache) -> Array:
        """Run the `new` tokens of each sequence through all layers: (rows, hidden)."""
        entries = cache.entries(new)
        return self._layers(self._weights.embedding[np.concatenate(new)], entries, cache)

    def _layers(
        self, x: Array, entries: list[Entry], cache: Cache, layers: int | None = None
    ) -> Array:
        """Run rows through all layers, or the first few, in place: `x`, (rows, hidden)."""
        self.meter.read("embedding", x)
        places = np.concatenate([np.arange(entry.before, entry.end) for entry in entries])
        turns = self._turns[places][:, None]  # (rows, 1, head_dim / 2): the same for every head
        for number, layer in enumerate(self._weights.layers[:layers]):
            notes = cache.keys[number], cache.values[number]
            x += self._attention(self._norm(x, layer.attention_norm), layer, turns, notes, entries)
            x += self._feed_forward(self._norm(x, layer.feed_forward_norm), layer)
        cache.note(entries)
        return x

    def _norm(self, x: Array, gain: Array) -> Array:
        """RMSNorm: every row brought to size one, then weighted."""
        square = np.vecdot(x, x)[:, None] / self.shape.hidden  # (rows, 1)
        return x / np.sqrt(square + self.shape.eps) * self.meter.read("norms", gain)

    def _attention(
        self,
        x: Array,
        layer: Layer,
        turns: NDArray[np.complex64],
        notes: tuple[Array, Array],
        entries: list[Entry],
    ) -> Array:
        """Note keys and values of the new tokens, then let each query look back: (rows, hidden)."""
        heads, kv_heads, dim = self.shape.heads, self.shape.kv_heads, self.shape.head_dim
        qkv = self.meter.product("projections", x, layer.qkv.T)
        qkv = qkv.reshape(len(x), heads + 2 * kv_heads, dim)
        turned = (qkv[:, : heads + kv_heads].view(np.complex64) * turns).view(np.float32)
        queries = turned[:, :heads] / dim**0.5
        found = np.empty((len(x), heads * dim), np.float32)
        for entry in entries:
            keys, values = (page[entry.sequence, :, : entry.end] for page in notes)
            keys[:, entry.before :] = turned[entry.rows, heads:].swapaxes(0, 1)
            values[:, entry.before :] = qkv[entry.rows, heads + kv_heads :].swapaxes(0, 1)
            found[entry.rows] = self._look_back(queries[entry.rows], keys, values)
        return self.meter.product("projections", found, layer.out.T)

    def _look_back(self, queries: Array, keys: Array, values: Array) -> Array:
        """What the queries of one sequence find in its notes.

        Args:
            queries: (new, heads, head_dim): those of the last tokens that `keys` has.
            keys, values: (kv_heads, tokens, head_dim), one head for several query heads.

        Returns:
            (new, heads * head_dim)
        """
        kv_heads, tokens, dim = keys.shape
        new = len(queries)
        group = self.shape.heads // kv_heads
        queries = queries.reshape(new, kv_heads, group, dim).transpose(1, 2, 0, 3)
        found = np.empty((new, kv_heads, group, dim), np.float32)
        for start in range(0, new, _TILE):
            tile = queries[:, :, start : start + _TILE]  # (kv_heads, group, rows, dim)
            rows, again = tile.shape[2], start > 0
            place = tokens - new + start + np.arange(rows)[:, None]
            seen = np.arange(tokens) <= place if new > 1 else None  # (rows, tokens)
            stack = (kv_heads, group * rows, -1)
            scores = self.meter.product("attention", tile.reshape(stack), keys.mT, seen, again)
            if seen is not None:
                np.copyto(scores.reshape(kv_heads, group, rows, -1), -np.inf, where=~seen)
            scores -= scores.max(axis=-1, keepdims=True)
            shares = np.exp(scores, out=scores)
            mixed = self.meter.product("attention", shares, values, seen, again)
            mixed /= shares.sum(axis=-1, keepdims=True)
            mixed = mixed.reshape(kv_heads, group, rows, dim)
            found[start : start + rows] = mixed.transpose(2, 0, 1, 3)
        return found.reshape(new, -1)

    def _feed_forward(self, x: Array, layer: Layer) -> Array:
        """A gate (SiLU) lets through what is useful here: (rows, hidden)."""
        both = self.meter.product("feed_forward", x, layer.gate_up.T)  # (rows, 2 * width)
        gate, up = both[:, : self.shape.width], both[:, self.shape.width :]
        opened = np.tanh(gate / 2)  # the sigmoid, written so that it cannot overflow
        opened += 1
        opened *= gate
        opened *= up
        opened /= 2
        return self.meter.product("feed_forward", opened, layer.down.T)

    def _logits(self, x: Array) -> Array:
        """What may follow each row: (rows, vocab)."""
        x = self._norm(x, self._weights.final_norm)
        return self.meter.product("lm_head", x, self._weights.embedding.T)
