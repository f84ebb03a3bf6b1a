"""The notepad (KV cache): what each layer noted about each token, so that none is read twice."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchenlib.inputs import dimension, wrong
from kitchenlib.llm.weights import Array, Shape

Tokens = NDArray[np.integer]


class Entry(NamedTuple):
    """The new tokens of one sequence, and where they belong.

    Attributes:
        tokens: their numbers, (new,), or their rows, (new, hidden).
        rows: where they lie among the rows of the pass.
        sequence: the sequence's number in the batch.
        before: tokens noted before them.
    """

    tokens: Tokens | Array
    rows: slice
    sequence: int
    before: int

    @property
    def end(self) -> int:
        """Tokens noted once these are."""
        return self.before + len(self.tokens)


class Cache:
    """The notepads of a batch of sequences, on paper that is laid out once.

    Attributes:
        keys, values: (layers, batch, kv_heads, room, head_dim), float32. What lies beyond the
            length of a sequence is blank.
        lengths: tokens noted, one number for each sequence.
    """

    def __init__(self, shape: Shape, batch: int, room: int) -> None:
        if room > shape.context:
            raise wrong("room", room, f"this model can read {shape.context:,} tokens at most")
        size = (shape.layers, batch, shape.kv_heads, room, shape.head_dim)
        self.keys, self.values = np.empty(size, np.float32), np.empty(size, np.float32)
        self.lengths = [0] * batch

    @property
    def room(self) -> int:
        """Tokens that each sequence has paper for."""
        return self.keys.shape[3]

    @property
    def bytes(self) -> int:
        """Bytes noted so far, in all sequences."""
        layers, _, kv_heads, _, head_dim = self.keys.shape
        return 2 * layers * kv_heads * head_dim * self.keys.itemsize * sum(self.lengths)

    def copies(self, number: int) -> Cache:
        """A notepad for `number` sequences that all begin with what the one here has noted.

        Each gets the notes written out on paper of its own: `number` times the bytes.

        Raises ``ValueError`` where this is not the notepad of one sequence.
        """
        if len(self.lengths) != 1:
            raise wrong("cache", f"{len(self.lengths)} sequences", "give one sequence's notepad")
        other = copy(self)
        batch = dimension("number", number, "sequences")
        other.keys, other.values = (np.repeat(page, batch, 1) for page in (self.keys, self.values))
        other.lengths = self.lengths * batch
        return other

    def entries(self, new: Sequence[Tokens | Array]) -> list[Entry]:
        """Where the `new` tokens of each sequence belong.

        Raises ``ValueError`` where there is no room for them.
        """
        batch = len(self.lengths)
        if len(new) != batch:
            raise ValueError(f"tokens for {len(new)} sequences, and this notepad is for {batch}")
        entries, row = [], 0
        for sequence, (tokens, before) in enumerate(zip(new, self.lengths, strict=True)):
            entry = Entry(tokens, slice(row, row + len(tokens)), sequence, before)
            if entry.end > self.room:
                raise ValueError(
                    f"{entry.end:,} tokens will not fit: this notepad has room for {self.room:,}. "
                    "Ask prefill for more room, up to what the model can read"
                )
            entries.append(entry)
            row += len(tokens)
        return entries

    def cut_back(self, lengths: list[int]) -> None:
        """Forget what was noted after so many tokens of each sequence.

        Raises ``ValueError`` for more tokens than are noted, and for another batch.
        """
        noted = self.lengths
        if len(lengths) != len(noted) or any(
            not 0 <= kept <= length for kept, length in zip(lengths, noted, strict=True)
        ):
            raise wrong("lengths", lengths, f"give at most {noted} tokens, one number for each")
        self.lengths = list(lengths)

    def note(self, entries: list[Entry]) -> None:
        """Keep what was written at `entries`."""
        self.lengths = [entry.end for entry in entries]
