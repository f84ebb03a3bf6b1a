"""Pictures as rows: a picture cut into patches, each laid out in a row like a word's.

A language model reads rows of numbers, one for each token, and asks nobody what they stand for. A
word's row is looked up in the embedding. A patch's row is made by one matrix product (plus a
constant) from the patch's pixels: `Projection`. That is how a vision transformer begins
(Dosovitskiy et al., arXiv 2010.11929), and how an encoder's rows are brought to the width of a
language model in LLaVA (Liu et al., arXiv 2304.08485).

Two things are left out. Between the patches and the language model a real system has an *encoder*,
layers of attention in which patches look at each other. And its matrices are trained, until the
rows of a cat lie where the model expects talk of cats. The matrix here is a change of layout and no
more, so that the picture can be had back from its rows. A language model reads such rows and takes
notes of them as of any others; it has not learned to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from kitchenlib import data
from kitchenlib.inputs import dimension, instance, quantity, wrong
from kitchenlib.llm import LLM
from kitchenlib.units import human

SIDE = 14  #: pixels along a patch, as in CLIP ViT-L/14 and in SigLIP So400m/14
WIDTH = 576  #: numbers in a row of SmolLM2-135M
_COLOURS = 3
_BRIGHTEST = 255  # of a pixel that is kept as a whole number

Picture = NDArray[np.uint8]  # (height, width, 3): red, green, blue
Patches = NDArray[Any]  # (patches, side * side * 3), row by row of the picture
Rows = NDArray[np.float32]  # (patches, width of a language model)


def cut(picture: NDArray[Any], side: int = SIDE) -> Patches:
    """A picture as patches, from the upper left corner on, row by row.

    Args:
        picture: (height, width, 3).
        side: pixels along a patch; height and width are multiples of it.

    Returns:
        (patches, side * side * 3), the same numbers in another order.
    """
    side = dimension("side", side, "pixels")
    pixels = np.asarray(picture)
    if pixels.ndim != 3 or pixels.shape[2] != _COLOURS or 0 in pixels.shape:
        raise wrong("picture", picture, "give pixels with three colours, (height, width, 3)")
    high, wide, _ = pixels.shape
    if high % side or wide % side:
        wanted = f"its {high} rows and {wide} columns must be multiples of side = {side} pixels"
        raise wrong("picture", picture, wanted)
    squares = pixels.reshape(high // side, side, wide // side, side, _COLOURS)
    return squares.swapaxes(1, 2).reshape(-1, side * side * _COLOURS)


def join(patches: Patches, across: int) -> NDArray[Any]:
    """Patches as a picture, (height, width, 3): `cut` undone.

    Args:
        patches: (patches, side * side * 3).
        across: how many of them lie side by side.
    """
    across = dimension("across", across, "patches")
    number, side = _shape(patches)
    if number % across:
        raise wrong("across", across, f"{number} patches must fill whole rows of the picture")
    squares = np.asarray(patches).reshape(number // across, across, side, side, _COLOURS)
    return squares.swapaxes(1, 2).reshape(number // across * side, across * side, _COLOURS)


def shrink(picture: Picture, side: int) -> Picture:
    """The picture as a model sees it that brings every picture to a square of `side` pixels.

    The longer side becomes `side` pixels long (bicubic, as for CLIP), and what is missing to a
    square is filled with the average colour, half on each edge, as LLaVA-1.5 does it.
    """
    side = dimension("side", side, "pixels")
    pixels = np.asarray(picture)
    if (
        pixels.ndim != 3
        or pixels.shape[2] != _COLOURS
        or pixels.dtype != np.uint8
        or 0 in pixels.shape
    ):
        raise wrong("picture", picture, "give pixels from 0 to 255 (uint8), (height, width, 3)")
    longest = max(pixels.shape[:2])
    high, wide = (max(round(side * edge / longest), 1) for edge in pixels.shape[:2])
    small = Image.fromarray(pixels).resize((wide, high), Image.Resampling.BICUBIC)
    square = np.empty((side, side, _COLOURS), np.uint8)
    square[:] = pixels.mean(axis=(0, 1)).round()
    top, left = (side - high) // 2, (side - wide) // 2
    square[top : top + high, left : left + wide] = np.asarray(small)
    return square


class Projection(NamedTuple):
    """A change of layout: patches to rows of a language model, and back.

    Attributes:
        mean: the average patch, (values,), colours from 0 to 1.
        matrix: (values, width): some directions among patches, each turned into one among rows.
        size: how much longer rows are than what they stand for.
    """

    mean: NDArray[np.float64]
    matrix: NDArray[np.float64]
    size: float

    def rows(self, patches: Patches) -> Rows:
        """Patches as rows, (patches, width): one matrix product."""
        return ((_shades(patches) - self.mean) @ self.matrix).astype(np.float32)

    def patches(self, rows: ArrayLike) -> Picture:
        """Rows as patches, (patches, values), pixels from 0 to 255: the product undone."""
        shades = np.asarray(rows) @ self.matrix.T / self.size**2 + self.mean
        return (shades * _BRIGHTEST).round().clip(0, _BRIGHTEST).astype(np.uint8)


def projection(
    patches: Patches, width: int = WIDTH, rank: int | None = None, size: float = 1.0
) -> Projection:
    """A projection that loses as little as possible of these patches.

    It keeps the directions in which these patches differ most (their principal components), and
    turns each into one among rows that shows in all numbers. All are at right angles, and stretched
    alike. Other pictures lose what does not lie in these directions.

    Args:
        patches: (patches, values), colours from 0 to 255 (uint8) or shades from 0 to 1.
        width: numbers in a row.
        rank: directions that are kept, at most as many as patches, values of a patch and numbers
            in a row; None keeps them all.
        size: root mean square of the numbers in the rows of these patches where all directions
            are kept (less by what is `lost` where they are not), for example that of a model's own
            rows, ``smol.rows(ids).std()``.

    Raises ``ValueError`` for patches that are all alike, and for more directions than there are.
    """
    width = dimension("width", width, "numbers in a row")
    shades = _shades(patches)
    spreads, directions = _principal(shades)
    most = min(width, len(directions))
    rank = most if rank is None else dimension("rank", rank, "directions")
    if rank > most:
        wanted = f"there are at most {most} directions, of patches, their values and a row's width"
        raise wrong("rank", rank, wanted)
    each = float(np.sum(spreads**2)) / len(shades) / width  # a number's mean square at size 1
    stretch = quantity("size", size, "a row's own unit") / each**0.5
    matrix = stretch * directions[:rank].T @ _turn(rank, width)
    return Projection(shades.mean(axis=0), matrix, stretch)


def lost(patches: Patches, ranks: Sequence[int]) -> NDArray[np.float64]:
    """The share of the patches' variance that is lost where so many directions are kept: (ranks,).

    A sum of squares: what is left of the differences between patches if each projection of
    `projection` is undone again.
    """
    spreads, _ = _principal(_shades(patches))
    squares = np.zeros(len(spreads) + 1)
    squares[:-1] = np.cumsum(spreads[::-1] ** 2)[::-1]  # what is beyond the first 0, 1, 2 ...
    kept = [min(dimension("ranks", rank, "directions", least=0), len(spreads)) for rank in ranks]
    return squares[kept] / squares[0]


@cache
def word_rows() -> dict[str, Rows]:
    """Rows of a few words, (width,) each, as SmolLM2 has them, to a thousandth: for the pictures.

    From ``data/word_rows.csv``. Those of other words: ``smol.rows(smol.tokenize("..."))``.
    """
    return {
        row["token"]: np.array(row["thousandths"].split(), np.float32) / np.float32(1000)
        for row in data.rows("word_rows.csv")
    }


class Notes(NamedTuple):
    """Rows that a language model has read.

    Attributes:
        rows: how many.
        seconds: that it took, the best of some tries.
        bytes: of the notes (KV cache) they leave.
    """

    rows: int
    seconds: float
    bytes: int

    def __str__(self) -> str:
        took, left = human(self.seconds, "s"), human(self.bytes, "B")
        return f"{self.rows} rows read in {took}, {left} of notes"


def read(smol: LLM, rows: Rows, tries: int = 3) -> Notes:
    """Let a language model read rows against the clock.

    Args:
        smol: the model; its stand-in takes as long.
        rows: (rows, width of the model), of words (``smol.rows``) or of anything else.
        tries: of which the fastest counts.
    """
    instance("smol", smol, LLM, "llm.load()")
    taken = []
    for _ in range(dimension("tries", tries, "tries")):
        start = perf_counter()
        _, cache = smol.prefill_rows(rows, room=0)
        taken.append(perf_counter() - start)
    return Notes(len(rows), min(taken), cache.bytes)


def reply(smol: LLM, rows: Rows, tokens: int = 16) -> str:
    """The likeliest text after rows: what the model says of them, whatever they stand for.

    Args:
        smol: the model.
        rows: (rows, width of the model): those of a picture above those of a question, for example
            ``np.concatenate([seen, smol.rows(smol.chat("Describe the picture."))])``.
        tokens: to write at most.
    """
    instance("smol", smol, LLM, "llm.load()")
    logits, cache = smol.prefill_rows(rows, room=dimension("tokens", tokens, "tokens"))
    return smol.text([*smol.go_on(logits, cache, tokens)])


def _shape(patches: Patches) -> tuple[int, int]:
    """How many patches, and pixels along each."""
    given = np.asarray(patches)
    side = round((given.shape[1] / _COLOURS) ** 0.5) if given.ndim == 2 else 0
    if not given.size or not side or given.shape[1] != side * side * _COLOURS:
        raise wrong("patches", patches, "give the patches that `cut` makes, (patches, side*side*3)")
    return len(given), side


def _shades(patches: Patches) -> NDArray[np.float64]:
    """Colours from 0 to 1, whichever way they are given.

    In float64: few patches are worth no hurry, and rows come out the same on every machine.
    """
    _shape(patches)
    given = np.asarray(patches)
    whole = given.dtype == np.uint8
    if not whole and not (given.dtype.kind == "f" and given.min() >= 0 and given.max() <= 1):
        raise wrong("patches", patches, "give colours from 0 to 255 (uint8), or from 0 to 1")
    return given / _BRIGHTEST if whole else given.astype(np.float64)


def _principal(shades: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far patches spread along each direction, widest first, and the directions, one a row."""
    _, spreads, directions = np.linalg.svd(shades - shades.mean(axis=0), full_matrices=False)
    if not spreads[0] > 1e-9:
        raise wrong("patches", shades, "these are all alike: give a picture with something on it")
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return spreads, directions * signs[:, None]  # which way one points is otherwise left open


def _turn(rank: int, width: int) -> NDArray[np.float64]:
    """Directions at right angles in the space of rows, (rank, width), the same at every call."""
    random = np.random.default_rng(0).standard_normal((rank, width))
    turned, lengths = np.linalg.qr(random.T)
    return (turned * np.sign(np.diag(lengths))).T
