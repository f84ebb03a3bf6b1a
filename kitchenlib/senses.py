"""Pictures and sound as tokens: how many rows a picture or a clip adds to a prompt.

A picture is cut into patches; some families join neighbouring patches to one token. A clip becomes
rows at a fixed rate. For the language model they are rows as words are: `kl.prefill` with that
many more tokens is their cost. What the encoder in front of it calculates comes on top:
`encoder_flops` is a bound for it. Marks between the parts of a picture are words, and not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.inputs import Number, broadcastable, count, find, positive, whole
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
        cell: side in pixels of what becomes one token: a patch, or the patches that are joined.
        side: side in pixels to which every picture is brought; None keeps its own size.
        tiles: pictures of that side that are made of one.
        across: tiles along the longer side, where the shorter one has as many as it needs and an
            overview comes on top; None has always as many `tiles`.
        least, most: tokens of a picture that keeps its own size.
        encoder: what looks at the patches.
        source: where the numbers come from.
    """

    cell: int
    side: int | None
    encoder: Encoder
    tiles: int = 1
    across: int | None = None
    least: int = 1
    most: int = 1
    source: str = ""


@dataclass(frozen=True)
class Hearing:
    """How a family of models hears: `rate` tokens a second, in windows of `window` seconds."""

    rate: float
    window: float
    source: str


_CLIP_L = Encoder(24, 1024, 4096, 14)  # config of openai/clip-vit-large-patch14-336
_SIGLIP_L = Encoder(27, 1152, 4304, 14)  # SigLIP So400m/14: vision_config of Gemma 3
_SIGLIP_B = Encoder(12, 768, 3072, 16)  # google/siglip-base-patch16-512
_QWEN = Encoder(32, 1280, 5120, 14)  # defaults of transformers 5.24 qwen2_vl

#: Families of models that see.
SIGHTS = {
    "LLaVA-1.5": Sight(
        14, 336, _CLIP_L, source="CLIP ViT-L/14 at 336 pixels; haotian-liu/LLaVA#1143"
    ),
    "LLaVA-1.6": Sight(
        14, 336, _CLIP_L, tiles=5, source="four tiles and an overview, the most; same thread"
    ),
    "Gemma-3": Sight(
        56, 896, _SIGLIP_L, source="SigLIP 896/14, pooled 4 x 4; transformers 5.24 gemma3"
    ),
    "Qwen2-VL": Sight(
        28,
        None,
        _QWEN,
        least=4,
        most=1280,
        source="2 x 2 patches of 14; transformers 5.24 qwen2_vl",
    ),
    "SmolVLM-256M": Sight(
        64,
        512,
        _SIGLIP_B,
        across=4,
        source="longer side 2,048, tiles of 512, 4 x 4 patches of 16 joined, an overview; "
        "HuggingFaceTB/SmolVLM-256M-Instruct, transformers 5.24 idefics3",
    ),
}
#: Families of models that hear. A window that is not full is filled up with silence.
HEARINGS = {
    "Whisper": Hearing(50, 30, "1,500 rows per 30 s; transformers 5.24 whisper"),
    "Voxtral": Hearing(12.5, 30, "four rows of Whisper joined; transformers 5.24 voxtral"),
}


def image_tokens(family: str, width: ArrayLike, height: ArrayLike) -> Number:
    """Tokens of one picture of `width` times `height` pixels, as the `family` cuts it.

    Where pictures keep their size, sides are rounded to whole cells, and a picture beyond the
    limits is scaled into them (the rule of Qwen2-VL's ``smart_resize``). Elsewhere its size does
    not count: at most the ratio of its sides does, where that decides on the tiles.

    Returns:
        Whole tokens, a number or an array.

    Raises:
        UnknownName: a family that is not in `SIGHTS`.
        ValueError: a size that is not a whole number of pixels.

    >>> image_tokens("LLaVA-1.5", 1024, 768)
    576
    """
    sight = find("family of models that see", family, SIGHTS)
    wide, high = count("width", width, "pixels"), count("height", height, "pixels")
    broadcastable(width=wide, height=high)
    return whole(_tokens(sight, wide, high))


def encoder_flops(family: str, width: ArrayLike, height: ArrayLike) -> Number:
    """FLOPs that the `family`'s encoder needs at least for one picture: its matrix products.

    Each patch goes through all layers, and looks at all patches of its tile. Cutting the patches,
    the projection to the language model and rows that are no patches come on top.

    Arguments and errors as for `image_tokens`.
    """
    sight = find("family of models that see", family, SIGHTS)
    wide, high = count("width", width, "pixels"), count("height", height, "pixels")
    broadcastable(width=wide, height=high)
    eyes = sight.encoder
    patches = _tokens(sight, wide, high) * (sight.cell // eyes.patch) ** 2
    seen = patches if sight.side is None else np.asarray((sight.side // eyes.patch) ** 2)
    weights = 4 * eyes.hidden**2 + 2 * eyes.hidden * eyes.width
    each = FLOP_PER_MULTIPLY_ADD * eyes.layers * (weights + 2 * eyes.hidden * seen)
    return whole(patches * each)


def _tokens(sight: Sight, width: Number, height: Number) -> np.ndarray:
    if sight.side is None:
        return _own_size(sight, width, height)
    each = (sight.side // sight.cell) ** 2
    tiles = np.full(np.broadcast(width, height).shape, float(sight.tiles))
    if sight.across is not None:
        tiles = sight.across * _down(sight.across, sight.side, width, height) + 1
    return each * tiles


def _down(across: int, side: int, width: Number, height: Number) -> np.ndarray:
    """Tiles along the shorter side, where the longer one is made `across` tiles long."""
    shorter = np.minimum(width, height) / np.maximum(width, height)
    return np.maximum(np.ceil(np.floor(across * side * shorter) / side), 1)


def _own_size(sight: Sight, width: Number, height: Number) -> np.ndarray:
    """Cells across times cells down, after scaling to between `least` and `most` of them."""
    across, down = np.asarray(width) / sight.cell, np.asarray(height) / sight.cell
    cells = np.round(across) * np.round(down)
    smaller, larger = (np.sqrt(limit / (across * down)) for limit in (sight.most, sight.least))
    shrunk = np.maximum(np.floor(across * smaller), 1) * np.maximum(np.floor(down * smaller), 1)
    grown = np.ceil(across * larger) * np.ceil(down * larger)
    return np.where(cells > sight.most, shrunk, np.where(cells < sight.least, grown, cells))


def audio_tokens(family: str, seconds: ArrayLike) -> Number:
    """Tokens of a clip of `seconds` seconds, as the `family` hears it: whole windows.

    Raises:
        UnknownName: a family that is not in `HEARINGS`.

    >>> audio_tokens("Voxtral", 30)
    375
    """
    hearing = find("family of models that hear", family, HEARINGS)
    windows = np.ceil(np.asarray(positive("seconds", seconds, "seconds")) / hearing.window)
    tokens = windows * round(hearing.rate * hearing.window)
    return whole(tokens)
