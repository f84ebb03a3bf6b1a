"""Pictures and sound as tokens: how many rows a picture or a clip adds to a prompt.

A picture is cut into patches; some families join neighbouring patches to one token. A clip becomes
rows at a fixed rate. For the language model they are rows as words are: `kl.prefill` with that
many more tokens is their cost. What the encoder in front of it calculates comes on top:
`encoder_flops` is a bound for it. Marks between the parts of a picture that are words are not
counted; a row of LLaVA-1.6 that ends a line of patches is no word, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.inputs import Number, broadcastable, count, find, positive, whole, wrong
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD


@dataclass(frozen=True)
class Encoder:
    """The layers in which patches look at each other, before the language model sees them.

    Attributes:
        layers: how many.
        hidden: size of a patch's row.
        width: of the feed-forward layers, which have two matrices.
        patch: side of a patch in pixels.
    """

    layers: int
    hidden: int
    width: int
    patch: int


@dataclass(frozen=True)
class Sight:
    """How a family of models cuts a picture.

    Attributes:
        encoder: what looks at the patches.
        cell: side in pixels of what becomes one token: a patch, or the patches that are joined.
        side: side in pixels of the squares that the encoder sees; 0 where it sees the picture as
            large as it is.
        rule: this sight, width and height -> tokens, and how many squares the encoder sees.
        source: where the numbers come from.
    """

    encoder: Encoder
    cell: int
    side: int
    rule: Rule
    source: str

    @property
    def across(self) -> int:
        """Tokens along a square."""
        return self.side // self.cell


Rule = Callable[[Sight, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Hearing:
    """How a family of models hears: `rate` rows a second, in windows of `window` seconds."""

    rate: float
    window: float
    source: str


_NARROWEST = 200  # times the shorter side: Qwen2-VL's ``smart_resize`` takes nothing longer


# --- rules of cutting --------------------------------------------------------------------------


def _one_square(
    sight: Sight, width: np.ndarray, height: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Every picture is brought to one square."""
    squares = np.ones(np.broadcast(width, height).shape)
    return squares * sight.across**2, squares


def _squares_and_overview(
    sight: Sight, width: np.ndarray, height: np.ndarray, longer: int
) -> tuple[np.ndarray, np.ndarray]:
    """As many as `longer` squares along the longer side, as many as it takes along the other.

    A last square that is not full is stretched: it has as many tokens as the others.
    """
    ratio = np.minimum(width, height) / np.maximum(width, height)
    shorter = np.maximum(np.ceil(np.floor(longer * sight.side * ratio) / sight.side), 1)
    squares = longer * shorter + 1
    return squares * sight.across**2, squares


def _own_size(
    sight: Sight, width: np.ndarray, height: np.ndarray, least: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Whole cells, scaled to between `least` and `most` of them (Qwen2-VL's ``smart_resize``)."""
    cell = sight.cell
    cells = np.round(width / cell) * np.round(height / cell)
    shrink = np.sqrt(width * height / (most * cell**2))
    grow = np.sqrt(least * cell**2 / (width * height))
    shrunk = [np.maximum(np.floor(side / shrink / cell), 1) for side in (width, height)]
    grown = [np.ceil(side * grow / cell) for side in (width, height)]
    kept = np.where(cells < least, grown[0] * grown[1], cells)
    tokens = np.where(cells > most, shrunk[0] * shrunk[1], kept)
    return tokens, np.ones_like(tokens)


def _grid_and_overview(
    sight: Sight, width: np.ndarray, height: np.ndarray, grids: tuple[tuple[int, int], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """One of the `grids` of squares (down, across), its padding taken off again.

    Each row of patches that is left ends with a token that says so (``LlavaNextProcessor``).
    """
    down, across = _best_grid(sight.side, width, height, grids)
    rows, columns = sight.across * down, sight.across * across
    wide = width / height > columns / rows
    left_rows = np.where(wide, _unpadded(rows, height * (columns / width)), rows)
    left_columns = np.where(wide, columns, _unpadded(columns, width * (rows / height)))
    return sight.across**2 + left_rows * (left_columns + 1), down * across + 1


def _best_grid(
    side: int, width: np.ndarray, height: np.ndarray, grids: tuple[tuple[int, int], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Squares down and across: the grid that keeps most pixels, among equals the smallest."""
    each = (-1, *[1] * np.broadcast(width, height).ndim)
    down, across = (np.reshape(squares, each) for squares in zip(*grids, strict=True))
    scale = np.minimum(across * side / width, down * side / height)
    kept = np.minimum(np.floor(width * scale) * np.floor(height * scale), width * height)
    size = np.broadcast_to(down * across, kept.shape)
    best = np.lexsort((size, -kept), axis=0)[0]  # the first of those that are equal in both
    return np.take(down, best), np.take(across, best)


def _unpadded(cells: np.ndarray, filled: np.ndarray) -> np.ndarray:
    """Cells that are left where `filled` of them are picture: as many go at either end."""
    return cells - 2 * ((cells - np.floor(np.round(filled, 7))) // 2)


# --- families ----------------------------------------------------------------------------------

_CLIP_L = Encoder(24, 1024, 4096, 14)  # config of openai/clip-vit-large-patch14-336
_SIGLIP_L = Encoder(27, 1152, 4304, 14)  # SigLIP So400m/14: vision_config of Gemma 3
_SIGLIP_B = Encoder(12, 768, 3072, 16)  # google/siglip-base-patch16-512
_QWEN = Encoder(32, 1280, 5120, 14)  # defaults of transformers 5.24 qwen2_vl

#: Families of models that see.
SIGHTS = {
    "LLaVA-1.5": Sight(
        _CLIP_L,
        cell=14,
        side=336,
        rule=_one_square,
        source="CLIP ViT-L/14 at 336 pixels; haotian-liu/LLaVA#1143",
    ),
    "LLaVA-1.6": Sight(
        _CLIP_L,
        cell=14,
        side=336,
        rule=partial(_grid_and_overview, grids=((1, 2), (2, 1), (2, 2), (3, 1), (1, 3))),
        source="image_grid_pinpoints of llava-hf/llava-v1.6-mistral-7b-hf, in squares of 336; "
        "transformers 5.24 llava_next",
    ),
    "Gemma-3": Sight(
        _SIGLIP_L,
        cell=56,
        side=896,
        rule=_one_square,
        source="SigLIP 896/14, pooled 4 x 4; transformers 5.24 gemma3",
    ),
    "Qwen2-VL": Sight(
        _QWEN,
        cell=28,
        side=0,
        rule=partial(_own_size, least=4, most=16_384),
        source="2 x 2 patches of 14, 3,136 to 12,845,056 pixels: preprocessor_config.json of "
        "Qwen/Qwen2-VL-7B-Instruct; transformers 5.24 qwen2_vl (its own default is 1,280 tokens)",
    ),
    "SmolVLM-256M": Sight(
        _SIGLIP_B,
        cell=64,
        side=512,
        rule=partial(_squares_and_overview, longer=4),
        source="longer side 2,048, tiles of 512, 4 x 4 patches of 16 joined, an overview; "
        "HuggingFaceTB/SmolVLM-256M-Instruct, transformers 5.24 idefics3",
    ),
}
#: Families of models that hear. A window that is not full is filled up with silence.
#: Whisper's rows are those of its encoder: a language model is given them joined, as Voxtral does.
HEARINGS = {
    "Whisper": Hearing(50, 30, "1,500 rows per 30 s; transformers 5.24 whisper"),
    "Voxtral": Hearing(12.5, 30, "four rows of Whisper joined; transformers 5.24 voxtral"),
}


def image_tokens(family: str, width: ArrayLike, height: ArrayLike) -> Number:
    """Tokens of one picture of `width` times `height` pixels, as the `family` cuts it.

    Qwen2-VL keeps a picture's size: sides are rounded to whole cells, and a picture beyond the
    limits of the released checkpoint is scaled into them. LLaVA-1.6 takes the grid of squares that
    keeps most of the picture's pixels, and an overview. For the others its size does not count: at
    most the ratio of its sides does, where that decides on the squares.

    Returns:
        Whole tokens, a number or an array.

    Raises:
        UnknownName: a family that is not in `SIGHTS`.
        ValueError: a size that is not a whole number of pixels; where pictures keep their size,
            also one side more than 200 times the other.

    >>> image_tokens("LLaVA-1.5", 1024, 768)
    576
    """
    _, tokens, _ = _cut(family, width, height)
    return whole(tokens)


def encoder_flops(family: str, width: ArrayLike, height: ArrayLike) -> Number:
    """FLOPs that the `family`'s encoder needs at least for one picture: its matrix products.

    Each patch goes through all layers, and looks at all patches of its square, the padding
    included. Cutting the patches, the projection to the language model and rows that are no
    patches come on top.

    Arguments and errors as for `image_tokens`.
    """
    sight, tokens, squares = _cut(family, width, height)
    eyes = sight.encoder
    if sight.side:
        seen = np.asarray((sight.side // eyes.patch) ** 2)
    else:
        seen = tokens * (sight.cell // eyes.patch) ** 2
    weights = 4 * eyes.hidden**2 + 2 * eyes.hidden * eyes.width
    each = FLOP_PER_MULTIPLY_ADD * eyes.layers * (weights + 2 * eyes.hidden * seen)
    return whole(squares * seen * each)


def _cut(family: str, width: ArrayLike, height: ArrayLike) -> tuple[Sight, np.ndarray, np.ndarray]:
    """The family's sight, tokens, and squares that its encoder sees."""
    sight = find("family of models that see", family, SIGHTS)
    wide, high = count("width", width, "pixels"), count("height", height, "pixels")
    broadcastable(width=wide, height=high)
    longer, shorter = np.maximum(wide, high), np.minimum(wide, high)
    if not sight.side and np.any(longer > _NARROWEST * shorter):
        wanted = f"{family} takes no side that is more than {_NARROWEST} times the other"
        raise wrong("the longer side in pixels", longer, wanted)
    return (sight, *sight.rule(sight, np.asarray(wide, float), np.asarray(high, float)))


def audio_tokens(family: str, seconds: ArrayLike) -> Number:
    """Rows of a clip of `seconds` seconds, as the `family` hears it: whole windows.

    Voxtral's are tokens of a language model; Whisper's are the rows of the encoder before it.

    Raises:
        UnknownName: a family that is not in `HEARINGS`.

    >>> audio_tokens("Voxtral", 30)
    375
    """
    hearing = find("family of models that hear", family, HEARINGS)
    windows = np.ceil(np.asarray(positive("seconds", seconds, "seconds")) / hearing.window)
    tokens = windows * round(hearing.rate * hearing.window)
    return whole(tokens)
