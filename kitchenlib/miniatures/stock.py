"""The perpetual stock: a state-space layer that keeps one pot, and attention that keeps notes.

Two layers of one width read the same rows, one by one. `Stock` is a selective state-space layer in
the form of Mamba-2 (Dao and Gu, arXiv 2405.21060): each row computes what is written, under which
address, and how far the gate opens, and a state of fixed size takes it in. `Notes` is an attention
layer: it keeps the key and the value of every row, and looks through all of them. `race` times
them side by side.

Both have one head. What they have in common in a real model is left out: the projection out, the
norm, the feed-forward layer; and what is small in Mamba-2: the short convolution, the skip.

`recall` asks both for what they read before. Their weights are set by hand there, so it shows what
the two could do at best with such a memory, not what training finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log2
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchenlib.inputs import dice, dimension, find, quantity, wrong
from kitchenlib.units import human

Array = NDArray[np.float32]

SELECTIVE, OPEN, ATTENTION = "selective stock", "open stock", "attention"
LENGTHS = (16, 64, 256, 1024, 4096, 16_384)  #: tokens read before a layer is timed

_ROOM = 256  # rows of paper that the notes begin with
_STEP = 0.01  # how far the gate opens on average: mamba2.py of state-spaces/mamba, 0.001 to 0.1
_BITS = 32  # of a float32
_SHARP = 512.0  # attention that sees one note: the best by this much in the exponent
_SHUT = -30.0  # what a gate adds for a row that is not to be kept
_RUN = 3  # steps of one layer before it is the other's turn: the first finds the caches cold

# --- the layers --------------------------------------------------------------------------------


class Stock:
    """A selective state-space layer: ``H <- exp(-dt a) H + dt B (x) x``, then ``y = C H``.

    B (where to), x (what), C (where to look) and dt (how far the gate opens) are computed from the
    row: that is what "selective" means. The state H stays as large as it is.

    Args:
        width: values of a row.
        state: values of B and C, so rows of the state.
        content: values of x and y; None is as many as a row has.
        seed: of the random weights.

    Attributes:
        into: the weights, (width, content + 2 state + 1): to x, B, C and dt.
        bias: added before the gate's softplus.
        fade: a, how fast the state fades while the gate is open.
        state: H, (state, content), float32.
        tokens: rows taken in.

    >>> stock = Stock(width=256, state=128)
    >>> stock.bytes, stock.step(np.ones(256, np.float32)).shape, stock.bytes
    (131072, (256,), 131072)
    """

    def __init__(
        self, width: int = 256, state: int = 128, content: int | None = None, seed: int = 0
    ) -> None:
        wide, values = _sizes(width, content)
        rows = dimension("state", state, "values of B and C")
        self.into = _random(wide, values + 2 * rows + 1, seed)
        self.bias = np.float32(np.log(np.expm1(_STEP)))  # softplus backwards
        self.fade = 1.0
        self.state = np.zeros((rows, values), np.float32)
        self.tokens = 0

    @property
    def bytes(self) -> int:
        """Bytes kept: those of the state, whatever was read."""
        return self.state.nbytes

    @property
    def moved(self) -> int:
        """Bytes that one step moves: the weights once, the state to and fro."""
        return self.into.nbytes + 2 * self.bytes

    def step(self, row: Array) -> Array:
        """Take in one row, (width,), and give what the state has for it, (content,)."""
        content, write, read, dt = self._selected(_rows(row, 1, self.into))
        self.state *= np.exp(-self.fade * dt)
        self.state += np.multiply.outer(dt * write, content)
        self.tokens += 1
        return read @ self.state

    def prefill(self, rows: Array) -> None:
        """Take in many rows, (tokens, width), at once: the same state as after as many steps.

        The explicit sum: each row arrives in the state, faded by the gates of all after it.
        """
        content, write, _, dt = self._selected(_rows(rows, 2, self.into))
        after = np.cumsum(dt[::-1])[::-1] - dt
        self.state *= np.exp(-self.fade * dt.sum())
        self.state += (write * (dt * np.exp(-self.fade * after))[:, None]).T @ content
        self.tokens += len(rows)

    def _selected(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """x, B, C and dt of one row or of many."""
        size, content = self.state.shape
        parts = rows @ self.into
        x, write = parts[..., :content], parts[..., content : content + size]
        read, gate = parts[..., content + size : -1], parts[..., -1]
        return x, write, read, np.logaddexp(np.float32(0), gate + self.bias)


class Notes:
    """An attention layer: ``softmax(q K / sqrt(d)) V``, with K and V of every row that was read.

    Args:
        width: values of a row.
        key: values of q and of a key; None is as many as a row has.
        content: values of v and of what comes out; None is as many as a row has.
        seed: of the random weights.

    Attributes:
        into: the weights, (width, key + content + key): to k, v and q.
        tokens: rows noted.
    """

    def __init__(
        self, width: int = 256, key: int | None = None, content: int | None = None, seed: int = 0
    ) -> None:
        wide, values = _sizes(width, content)
        self._key = wide if key is None else dimension("key", key, "values of a key")
        self.into = _random(wide, 2 * self._key + values, seed)
        self._paper = np.empty((_ROOM, self._key + values), np.float32)
        self.tokens = 0

    @property
    def keys(self) -> Array:
        """K, (tokens, key)."""
        return self._paper[: self.tokens, : self._key]

    @property
    def values(self) -> Array:
        """V, (tokens, content)."""
        return self._paper[: self.tokens, self._key :]

    @property
    def bytes(self) -> int:
        """Bytes noted so far."""
        return self.tokens * self._paper[0].nbytes

    @property
    def moved(self) -> int:
        """Bytes that one step moves: the weights, and the notes, those of its own row as well."""
        return self.into.nbytes + self.bytes + self._paper[0].nbytes

    def step(self, row: Array) -> Array:
        """Note one row, (width,), and give what it finds in all notes, (content,)."""
        parts = _rows(row, 1, self.into) @ self.into
        noted = self._paper.shape[1]
        self._note(parts[None, :noted])
        scores = self.keys @ (parts[noted:] / self._key**0.5)
        shares = np.exp(scores - scores.max())
        return shares @ self.values / shares.sum()

    def prefill(self, rows: Array) -> None:
        """Note many rows, (tokens, width), at once; nobody looks back."""
        self._note(_rows(rows, 2, self.into) @ self.into[:, : self._paper.shape[1]])

    def _note(self, rows: Array) -> None:
        """Write below what is there; where the paper ends, take twice as much."""
        before, after = self.tokens, self.tokens + len(rows)
        if after > len(self._paper):
            paper = np.empty((max(2 * len(self._paper), after), self._paper.shape[1]), np.float32)
            paper[:before] = self._paper[:before]
            self._paper = paper
        self._paper[before:after] = rows
        self.tokens = after


def _sizes(width: int, content: int | None) -> tuple[int, int]:
    """The checked sizes of rows and of contents."""
    wide = dimension("width", width, "values of a row")
    return wide, wide if content is None else dimension("content", content, "values")


def _random(width: int, outputs: int, seed: int) -> Array:
    """Weights that keep the size of a row."""
    rng = dice(seed)
    return rng.standard_normal((width, outputs), np.float32) / np.float32(width**0.5)


def _rows(rows: Array, axes: int, into: Array) -> Array:
    """Rows as they can be read; ``ValueError`` for another shape."""
    array = np.asarray(rows, np.float32)
    if array.ndim != axes or array.shape[-1] != len(into):
        shape = f"({len(into)},)" if axes == 1 else f"(tokens, {len(into)})"
        raise ValueError(f"an array of the shape {array.shape} will not do: give one of {shape}")
    return array


# --- the race ----------------------------------------------------------------------------------


class Lap(NamedTuple):
    """Both layers at one length of the conversation.

    Attributes:
        tokens: rows read before the steps that are timed.
        stock_bytes, notes_bytes: kept then.
        stock_moved, notes_moved: bytes that one step moves.
        stock_seconds, notes_seconds: of one step, the best of several.
    """

    tokens: int
    stock_bytes: int
    notes_bytes: int
    stock_moved: int
    notes_moved: int
    stock_seconds: float
    notes_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.tokens:6,} tokens: stock {human(self.stock_bytes, 'B')}, "
            f"{human(self.stock_seconds, 's', 2)} a token; notes {human(self.notes_bytes, 'B')}, "
            f"{human(self.notes_seconds, 's', 2)}"
        )


def race(
    lengths: Sequence[int] = LENGTHS,
    width: int = 256,
    state: int = 128,
    tries: int = 4,
    seed: int = 0,
) -> list[Lap]:
    """Both layers on one stream of random rows: bytes kept and seconds a token, as it grows.

    What comes before a timed step is read many rows at once (`prefill`), so it takes well under a
    second. The two take turns, and the best step counts.

    Args:
        lengths: rows read before the timed steps; each at least 3 `tries` above the one before.
        width, state, seed: of both layers and of the stream.
        tries: turns of each layer at each length, of 3 steps each.

    Raises ``ValueError`` for sizes that are no whole numbers, and for lengths that do not grow.
    """
    timed = _RUN * dimension("tries", tries, "turns")
    stops = [dimension("lengths", length, "tokens") for length in lengths]
    if not stops or any(b - a < timed for a, b in pairwise(stops)):
        raise wrong("lengths", lengths, f"give lengths that grow by {timed} tokens or more")
    stock, notes = Stock(width, state, seed=seed), Notes(width, seed=seed)
    rng = dice(seed)
    stream = rng.standard_normal((stops[-1] + timed, len(stock.into)), np.float32)
    return [_lap(stock, notes, stream, stop, timed) for stop in stops]


def _lap(stock: Stock, notes: Notes, stream: Array, stop: int, timed: int) -> Lap:
    layers: tuple[Stock | Notes, ...] = (stock, notes)
    for layer in layers:
        if layer.tokens < stop:
            layer.prefill(stream[layer.tokens : stop])
    sizes = stock.bytes, notes.bytes, stock.moved, notes.moved
    best = [float("inf")] * 2
    for start in range(stop, stop + timed, _RUN):
        for number, layer in enumerate(layers):
            for row in stream[start : start + _RUN]:
                clock = perf_counter()
                layer.step(row)
                best[number] = min(best[number], perf_counter() - clock)
    return Lap(stop, *sizes, *best)


# --- recall ------------------------------------------------------------------------------------


class Recall(NamedTuple):
    """A recall task: rows to read, then one row for each question.

    A row is an address (`size` values), the content as signs (a letter in bits), and a flag: 1 for
    an item, which will be asked for, 0 for a filler and for a question.

    Attributes:
        stream: (items * (fillers + 1), width): items in order, each with its fillers behind it.
        questions: (items, width): the addresses of the items in order.
        answers: signs of the items, (items, bits).
    """

    stream: Array
    questions: Array
    answers: Array

    @property
    def size(self) -> int:
        """Values of an address."""
        return self.stream.shape[1] - self.bits - 1

    @property
    def bits(self) -> int:
        """Of a letter."""
        return self.answers.shape[1]


def recall_task(
    items: int, size: int = 64, fillers: int = 4, letters: int = 16, seed: int = 0
) -> Recall:
    """A list of items to remember, among fillers to ignore.

    Up to `size` items have addresses at right angles to each other. More than that is impossible
    in so many dimensions: then the addresses are spread, and each resembles others a little.
    Fillers have random addresses.

    Args:
        items: each an address and one of `letters` letters.
        size: values of an address.
        fillers: behind each item; 0 or more.
        letters: a power of two, at least 2.
        seed: of the addresses and of the letters.
    """
    number, values = dimension("items", items, "items"), dimension("size", size, "values")
    behind = dimension("fillers", fillers, "fillers behind each item", least=0)
    bits = _bits(letters)
    if not bits.is_integer():
        raise wrong("letters", letters, "give a power of two, for example 16")
    width = values + int(bits) + 1
    rng = dice(seed)
    rows = rng.standard_normal((number, behind + 1, width), np.float32)
    rows[..., values:-1] = np.sign(rows[..., values:-1])
    rows[..., :values] /= np.linalg.norm(rows[..., :values], axis=-1, keepdims=True)
    rows[:, 0, :values] = _addresses(rows[:, 0, :values])
    rows[..., -1] = np.arange(behind + 1) == 0
    asked = np.zeros_like(rows[:, 0])
    asked[:, :values] = rows[:, 0, :values]
    return Recall(rows.reshape(-1, width), asked, rows[:, 0, values:-1])


def _addresses(random: Array) -> Array:
    """As far apart as directions can be: at right angles while there are as many, then spread."""
    items, size = random.shape
    square = np.linalg.qr(random if items > size else random.T)[0]
    rows = square if items > size else square.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_hand(layer: str, asked: Recall) -> Stock | Notes:
    """A layer whose weights are set by hand for a recall task.

    ``"selective stock"``: B and C are the address, x the content, and the gate opens (dt = 1) for
    items and stays shut for the rest; nothing fades. ``"open stock"``: the same, but its gate is
    always open. ``"attention"``: the key is the address with the flag, and so is the query, as if
    an item had asked; its softmax is so sharp that only the best match counts.

    Raises `UnknownName` for another layer.
    """
    kind = find("layer", layer, {name: name for name in (SELECTIVE, OPEN, ATTENTION)})
    size, bits, width = asked.size, asked.bits, asked.stream.shape[1]
    address, signs = np.eye(width, size, dtype=np.float32), np.eye(width, bits, -size, np.float32)
    flag = np.eye(width, 1, 1 - width, np.float32)
    if kind == ATTENTION:
        notes = Notes(width, size + 1, bits)
        query = np.hstack([address, np.zeros_like(flag)])
        notes.into = np.hstack([address, flag, signs, query * np.float32(_SHARP)])
        return notes
    stock = Stock(width, size, bits)
    shut = 0.0 if kind == OPEN else _SHUT
    opened = float(np.log(np.expm1(1.0)))  # where softplus is 1
    stock.into = np.hstack([signs, address, address, -np.float32(shut) * flag])
    stock.bias = np.float32(opened + shut)
    stock.fade = 0.0
    return stock


def recall(
    items: int,
    layer: str = SELECTIVE,
    size: int = 64,
    fillers: int = 4,
    letters: int = 16,
    seed: int = 0,
) -> float:
    """The share of `items` that a layer gives back right, asked for all of them in order.

    See `recall_task` for the items, and `by_hand` for the layers: "selective stock", "open stock"
    and "attention". Guessing gets ``1 / letters`` right.

    Args:
        items, fillers, letters, seed: as for `recall_task`.
        layer: a name.
        size: values of an address: the size of the state, and of a key.

    >>> recall(64), recall(64, "attention"), recall(256) < 0.5, recall(256, "attention")
    (1.0, 1.0, True, 1.0)
    """
    asked = recall_task(items, size, fillers, letters, seed)
    made = by_hand(layer, asked)
    made.prefill(asked.stream)
    found = np.array([made.step(question) for question in asked.questions])
    return float(np.mean(np.all(np.sign(found) == asked.answers, axis=1)))


def recalled(
    items: Iterable[int], layer: str = SELECTIVE, size: int = 64, tries: int = 4, fillers: int = 4
) -> list[float]:
    """`recall` for several numbers of items, the mean over so many lists of each."""
    seeds = range(dimension("tries", tries, "lists"))
    return [
        float(np.mean([recall(n, layer, size, fillers, seed=seed) for seed in seeds]))
        for n in items
    ]


def bits_needed(items: int, letters: float = 16) -> float:
    """Bits that tell apart all lists of `items` letters out of `letters`: ``N log2(A)``.

    >>> bits_needed(1000)
    4000.0
    """
    return dimension("items", items, "items") * _bits(letters)


def most_items(values: int, letters: float = 16, bits: float = _BITS) -> int:
    """The most items that a state of so many values can hold without a mistake, whatever it learnt.

    The pigeonhole bound: a list takes `bits_needed`, and `values` values of `bits` bits have no
    more than ``values * bits``. It says what is impossible, not what can be reached.

    >>> most_items(64 * 4)
    2048
    """
    held = dimension("values", values, "values") * quantity("bits", bits, "bits per value")
    return int(held / _bits(letters))


def _bits(letters: float) -> float:
    """Bits that tell one of so many letters from the others."""
    if quantity("letters", letters, "letters") < 2:
        raise wrong("letters", letters, "give at least 2 letters")
    return log2(letters)
