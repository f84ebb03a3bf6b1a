"""Pictures and sound as tokens: how many rows a picture or a clip adds to a prompt.

A picture is cut into patches; some families join neighbouring patches to one token. A clip becomes
rows at a fixed rate. For the language model they are rows as words are: `kl.prefill` with that
many more tokens is their cost. What the encoder in front of it calculates is not counted here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.inputs import Number, broadcastable, count, find, positive, whole


@dataclass(frozen=True)
class Sight:
    """How a family of models cuts a picture.

    Attributes:
        cell: side in pixels of what becomes one token: a patch, or the patches that are joined.
        side: side in pixels to which every picture is brought; None keeps its own size.
        tiles: pictures of that side that are made of one.
        least, most: tokens of a picture that keeps its own size.
        source: where the numbers come from.
    """

    cell: int
    side: int | None
    tiles: int = 1
    least: int = 1
    most: int = 1
    source: str = ""


@dataclass(frozen=True)
class Hearing:
    """How a family of models hears: `rate` tokens a second, in windows of `window` seconds."""

    rate: float
    window: float
    source: str


#: Families of models that see.
SIGHTS = {
    "LLaVA-1.5": Sight(14, 336, source="CLIP ViT-L/14 at 336 pixels; haotian-liu/LLaVA#1143"),
    "LLaVA-1.6": Sight(
        14, 336, tiles=5, source="four tiles and an overview, the most; same thread"
    ),
    "Gemma-3": Sight(56, 896, source="SigLIP 896/14, pooled 4 x 4; transformers 5.24 gemma3"),
    "Qwen2-VL": Sight(28, None, 1, 4, 1280, "2 x 2 patches of 14; transformers 5.24 qwen2_vl"),
}
#: Families of models that hear. A window that is not full is filled up with silence.
HEARINGS = {
    "Whisper": Hearing(50, 30, "1,500 rows per 30 s; transformers 5.24 whisper"),
    "Voxtral": Hearing(12.5, 30, "four rows of Whisper joined; transformers 5.24 voxtral"),
}


def image_tokens(family: str, width: ArrayLike, height: ArrayLike) -> Number:
    """Tokens of one picture of `width` times `height` pixels, as the `family` cuts it.

    Where pictures keep their size, sides are rounded to whole cells, and a picture beyond the
    limits is scaled into them (the rule of Qwen2-VL's ``smart_resize``).

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
    if sight.side is None:
        tokens = _own_size(sight, wide, high)
    else:
        each = sight.tiles * (sight.side // sight.cell) ** 2
        tokens = np.full(np.broadcast(wide, high).shape, float(each))
    return whole(tokens)


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
