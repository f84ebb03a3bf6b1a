"""Pictures and sound as tokens, against the published counts of each family."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kitchenlib.inputs import UnknownName
from kitchenlib.senses import SIGHTS, audio_tokens, encoder_flops, image_tokens


@pytest.mark.parametrize(("family", "tokens"), [("LLaVA-1.5", 576), ("Gemma-3", 256)])
def test_some_families_bring_every_picture_to_one_size(family: str, tokens: int) -> None:
    assert image_tokens(family, 336, 336) == image_tokens(family, 4000, 100) == tokens


def resized(height: int, width: int) -> int:
    """Qwen2-VL's rule, step by step in pixels, with the limits of the released checkpoint."""
    least, most = 3136, 12_845_056
    tall, wide = round(height / 28) * 28, round(width / 28) * 28
    if tall * wide > most:
        beta = math.sqrt(height * width / most)
        tall, wide = (max(28, math.floor(side / beta / 28) * 28) for side in (height, width))
    elif tall * wide < least:
        beta = math.sqrt(least / (height * width))
        tall, wide = (math.ceil(side * beta / 28) * 28 for side in (height, width))
    return tall * wide // 28**2


@given(st.integers(40, 8000), st.integers(40, 8000))
@example(3621, 3621)  # in floats its cells are a little less than 128
@example(30, 20)
def test_others_give_a_larger_picture_more_tokens_up_to_a_limit(width: int, height: int) -> None:
    tokens = image_tokens("Qwen2-VL", width, height)
    assert tokens == resized(height, width)
    assert 4 <= tokens <= 16_384


def test_a_page_and_a_large_photograph_keep_nearly_all_their_pixels() -> None:
    assert image_tokens("Qwen2-VL", 1240, 1754) == 44 * 63
    assert image_tokens("Qwen2-VL", 4096, 3072) == 146 * 110


def test_a_family_that_keeps_the_size_takes_no_strip() -> None:
    assert image_tokens("Qwen2-VL", 4000, 20) == 143
    with pytest.raises(ValueError, match=r"4001.*no side that is more than 200 times the other"):
        image_tokens("Qwen2-VL", [100, 4001], 20)
    with pytest.raises(ValueError, match=r"4001.*no side that is more than 200 times the other"):
        encoder_flops("Qwen2-VL", 20, 4001)
    assert image_tokens("LLaVA-1.5", 4001, 20) == 576


def test_a_picture_of_640_by_480_is_23_by_17_tokens() -> None:
    assert image_tokens("Qwen2-VL", 640, 480) == 23 * 17


def test_half_a_minute_of_sound() -> None:
    assert audio_tokens("Whisper", 30) == 1500
    assert audio_tokens("Voxtral", 30) == 375
    assert audio_tokens("Voxtral", 1) == 375  # the window is filled up with silence
    assert audio_tokens("Voxtral", 31) == 750


def test_sizes_may_be_arrays() -> None:
    widths, heights = np.array([224, 640])[:, None], np.array([224, 480])
    found = image_tokens("Qwen2-VL", widths, heights)
    expected = [[image_tokens("Qwen2-VL", w, h) for h in (224, 480)] for w in (224, 640)]
    assert found == pytest.approx(np.array(expected))
    assert image_tokens("Gemma-3", widths, heights) == pytest.approx(np.full((2, 2), 256))
    found = image_tokens("LLaVA-1.6", widths, heights)
    expected = [[image_tokens("LLaVA-1.6", w, h) for h in (224, 480)] for w in (224, 640)]
    assert found == pytest.approx(np.array(expected))
    squares = encoder_flops("LLaVA-1.6", [[256], [1024]], [192, 768])
    assert np.shape(squares) == (2, 2)
    assert audio_tokens("Whisper", [1, 60]) == pytest.approx(np.array([1500, 3000]))


@pytest.mark.parametrize("bad", [0, -1, 0.5, None, "8", float("nan")])
def test_a_picture_is_whole_pixels_and_a_clip_seconds(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"width .*whole number of pixels"):
        image_tokens("Gemma-3", bad, 100)
    with pytest.raises(ValueError, match=r"height .*whole number of pixels"):
        image_tokens("Gemma-3", 100, bad)
    if bad != 0.5:
        with pytest.raises(ValueError, match=r"seconds .*number of seconds"):
            audio_tokens("Whisper", bad)


def test_an_unknown_family_lists_those_known() -> None:
    with pytest.raises(UnknownName, match=r"family of models that see .*LLaVA-1.5"):
        image_tokens("GPT-2", 10, 10)
    with pytest.raises(UnknownName, match=r"family of models that hear .*Whisper"):
        audio_tokens("GPT-2", 10)


# --- tiles and encoders ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sides", "tiles"), [((64, 64), 16), ((640, 480), 12), ((480, 640), 12), ((4000, 500), 4)]
)
def test_smolvlm_cuts_a_small_picture_into_as_many_tiles_as_a_large_one(
    sides: tuple[int, int], tiles: int
) -> None:
    """Tiles of 64 tokens, and an overview: the rule of its image processor, counted in pixels."""
    assert image_tokens("SmolVLM-256M", *sides) == 64 * (tiles + 1)
    assert image_tokens("SmolVLM-256M", *(8 * side for side in sides)) == 64 * (tiles + 1)


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_smolvlm_follows_the_steps_of_its_image_processor(width: int, height: int) -> None:
    longer, shorter = max(width, height), min(width, height)
    scaled = int(2048 * shorter / longer)
    scaled += scaled % 2
    down = max(math.ceil(scaled / 512), 1)
    assert image_tokens("SmolVLM-256M", width, height) == 64 * (4 * down + 1)


def best_resolution(height: int, width: int) -> tuple[int, int]:
    """LLaVA-1.6's grid in pixels (height, width), one after the other as its processor does it."""
    best, most, least = (0, 0), 0, math.inf
    for down, across in ((336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)):
        scale = min(across / width, down / height)
        kept = min(int(width * scale) * int(height * scale), width * height)
        wasted = down * across - kept
        if kept > most or (kept == most and wasted < least):
            best, most, least = (down, across), kept, wasted
    return best


def unpadded(height: int, width: int) -> int:
    """Its tokens of the grid without the padding, and a newline for each row."""
    down, across = best_resolution(height, width)
    rows, columns = down // 336 * 24, across // 336 * 24
    if width / height > columns / rows:
        new = int(round(height * (columns / width), 7))
        rows -= (rows - new) // 2 * 2
    else:
        new = int(round(width * (rows / height), 7))
        columns -= (columns - new) // 2 * 2
    return rows * columns + rows


@given(st.integers(1, 3000), st.integers(1, 3000))
@example(1024, 768)
@example(5, 3000)
def test_llava_1_6_follows_the_steps_of_its_processor(width: int, height: int) -> None:
    tokens = image_tokens("LLaVA-1.6", width, height)
    assert tokens == 576 + unpadded(height, width)
    assert 576 <= tokens <= 2928


@pytest.mark.parametrize(
    ("sides", "tokens"),
    [
        ((1024, 768), 2340),  # 36 rows of 48, a newline each
        ((256, 192), 1368),  # 24 rows of 32
        ((1240, 1754), 2256),  # 48 rows of 34
        ((672, 672), 5 * 576 + 48),  # five full squares: the 2,880 of its authors, and newlines
        ((2000, 500), 18 * (72 + 1) + 576),
        ((500, 2000), 72 * (18 + 1) + 576),  # upright: more rows, so more newlines
    ],
)
def test_llava_1_6_leaves_the_padding_out_and_ends_each_row(
    sides: tuple[int, int], tokens: int
) -> None:
    assert image_tokens("LLaVA-1.6", *sides) == tokens


def test_clip_at_336_pixels_calculates_0_38_tflop() -> None:
    """191 GMAC is its published size; its patch embedding and class token are left out here."""
    assert encoder_flops("LLaVA-1.5", 336, 336) == pytest.approx(2 * 191e9, rel=0.01)


@pytest.mark.parametrize(
    ("sides", "squares"), [((1024, 768), 5), ((256, 192), 3), ((2000, 500), 4), ((9, 9), 3)]
)
def test_llava_1_6_encodes_whole_squares_the_padding_too(
    sides: tuple[int, int], squares: int
) -> None:
    one = encoder_flops("LLaVA-1.5", 336, 336)
    assert encoder_flops("LLaVA-1.6", *sides) == squares * one


def test_siglip_at_896_pixels_is_worth_4096_patches_that_all_look_at_each_other() -> None:
    weights = 27 * (4 * 1152**2 + 2 * 1152 * 4304)
    looking = 27 * 4 * 4096**2 * 1152
    assert encoder_flops("Gemma-3", 100, 100) == 2 * 4096 * weights + looking


def test_an_encoder_that_keeps_the_size_calculates_more_for_a_larger_picture() -> None:
    small, large = (encoder_flops("Qwen2-VL", side, side) for side in (448, 896))
    assert large > 4 * small  # four times the patches, and each looks at four times as many
    assert isinstance(encoder_flops("Qwen2-VL", 448, 448), int)
    patches = 4 * 146 * 110
    weights = 32 * (4 * 1280**2 + 2 * 1280 * 5120)
    looking = 32 * 4 * patches**2 * 1280
    assert encoder_flops("Qwen2-VL", 4096, 3072) == 2 * patches * weights + looking


@pytest.mark.parametrize("family", SIGHTS)
def test_every_family_names_its_source_and_its_cells_are_whole_patches(family: str) -> None:
    sight = SIGHTS[family]
    assert sight.source
    assert sight.cell % sight.encoder.patch == 0
    assert sight.side % sight.cell == 0


def test_an_encoder_takes_what_the_tokens_take() -> None:
    with pytest.raises(ValueError, match=r"width .*whole number of pixels"):
        encoder_flops("Gemma-3", 0.5, 100)
    with pytest.raises(UnknownName, match="family of models that see"):
        encoder_flops("GPT-2", 10, 10)
