"""Pictures as rows: what is only laid out anew can be had back, and any rows can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitchenlib import data
from kitchenlib.llm.notepad import Cache
from kitchenlib.miniatures import patches
from kitchenlib.miniatures.patches import (
    cut,
    join,
    lost,
    projection,
    read,
    reply,
    shrink,
    word_rows,
)
from kitchenlib.plots.sight import chef_pixels
from tests.llm_models import any_smol, real_smol, tiny


def scene(side: int = 112) -> patches.Picture:
    """A picture of smooth and of sharp things, without two patches alike."""
    rng = np.random.default_rng(0)
    slope = np.linspace(0, 120, side)[:, None, None] + np.linspace(0, 60, side)[None, :, None]
    blocks = rng.integers(0, 60, (side // 7, side // 7, 3)).repeat(7, 0).repeat(7, 1)
    return (slope + blocks).astype(np.uint8)


PICTURE = scene()
PARTS = cut(PICTURE)


# --- patches -----------------------------------------------------------------------------------


def test_a_picture_is_cut_into_patches_row_by_row() -> None:
    assert PARTS.shape == (64, 14 * 14 * 3)
    assert np.array_equal(PARTS[9].reshape(14, 14, 3), PICTURE[14:28, 14:28])
    assert PARTS.dtype == PICTURE.dtype


@pytest.mark.parametrize(("high", "wide", "side"), [(28, 42, 14), (16, 8, 8), (3, 5, 1)])
def test_patches_joined_are_the_picture(high: int, wide: int, side: int) -> None:
    picture = np.random.default_rng(1).random((high, wide, 3))
    assert np.array_equal(join(cut(picture, side), wide // side), picture)


@pytest.mark.parametrize("picture", [np.zeros((14, 14)), np.zeros((14, 14, 4)), "chef", None])
def test_only_pixels_with_three_colours_are_cut(picture: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)picture = .*three colours"):
        cut(picture)


def test_a_picture_that_does_not_divide_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="30 rows and 28 columns must be multiples of side = 14"):
        cut(np.zeros((30, 28, 3)))
    with pytest.raises(ValueError, match="side = 0 will not do"):
        cut(PICTURE, side=0)
    with pytest.raises(ValueError, match="64 patches must fill whole rows"):
        join(PARTS, across=7)
    with pytest.raises(ValueError, match="give the patches that `cut` makes"):
        join(PARTS[:, 1:], across=8)


def test_a_long_picture_is_brought_to_a_square_and_the_rest_filled() -> None:
    wide = np.zeros((60, 120, 3), np.uint8)
    wide[:, 60:] = 200
    small = shrink(wide, 40)
    assert small.shape == (40, 40, 3)
    assert (small[[*range(10), *range(30, 40)]] == 100).all()  # the average
    assert (small[10:30, :15] == 0).all()
    assert (small[10:30, 25:] == 200).all()


def test_fine_stripes_do_not_survive_being_shrunk() -> None:
    stripes = np.zeros((672, 672, 3), np.uint8)
    stripes[::2] = 255
    assert shrink(stripes, 336)[2:-2].std() < 2
    assert shrink(stripes, 672).std() > 100


@pytest.mark.parametrize("picture", [PICTURE / 255, PICTURE[..., 0], PICTURE[:0], PICTURE[:, :0]])
def test_only_whole_pixels_are_shrunk(picture: Any) -> None:
    with pytest.raises(ValueError, match="pixels from 0 to 255"):
        shrink(picture, 14)


# --- rows --------------------------------------------------------------------------------------


def test_rows_are_as_wide_and_as_large_as_asked_and_give_the_picture_back() -> None:
    made = projection(PARTS, 576, size=0.11)
    rows = made.rows(PARTS)
    assert rows.shape == (64, 576)
    assert rows.dtype == np.float32
    assert rows.std() == pytest.approx(0.11, rel=1e-3)
    assert np.array_equal(join(made.patches(rows), 8), PICTURE)


def test_all_directions_are_at_right_angles_and_stretched_alike() -> None:
    made = projection(PARTS, 100, rank=30)
    square = np.linalg.svd(made.matrix, compute_uv=False)
    assert square[:30] == pytest.approx(np.full(30, made.size))
    assert square[30:] == pytest.approx(0, abs=1e-9)


def test_rows_keep_the_distances_between_patches() -> None:
    made = projection(PARTS, 576)
    rows, shades = made.rows(PARTS).astype(float), PARTS / 255
    apart = np.linalg.norm(rows[0] - rows[1:], axis=1)
    assert apart == pytest.approx(
        made.size * np.linalg.norm(shades[0] - shades[1:], axis=1), rel=1e-4
    )


@pytest.mark.parametrize("rank", [1, 4, 16, 40])
def test_what_is_lost_is_what_cannot_be_had_back(rank: int) -> None:
    made = projection(PARTS, 576, rank)
    shades = PARTS / 255
    back = made.rows(PARTS).astype(float) @ made.matrix.T / made.size**2 + made.mean
    missing = np.sum((back - shades) ** 2) / np.sum((shades - shades.mean(axis=0)) ** 2)
    assert lost(PARTS, [rank])[0] == pytest.approx(missing, rel=1e-3)


def test_more_directions_lose_less_and_63_lose_nothing_of_64_patches() -> None:
    gone = lost(PARTS, [0, 1, 2, 4, 8, 16, 32, 63, 576])
    assert gone[0] == 1
    assert (np.diff(gone) <= 0).all()
    assert gone[1] < 1
    assert gone[-2:] == pytest.approx(0, abs=1e-12)


def test_another_picture_loses_what_lies_in_no_direction_of_this_one() -> None:
    other = cut(scene()[::-1].copy())
    made = projection(PARTS)
    assert not np.array_equal(made.patches(made.rows(other)), other)


def test_a_row_narrower_than_the_patches_directions_is_filled() -> None:
    made = projection(PARTS, width=20)
    assert made.rows(PARTS).shape == (64, 20)
    with pytest.raises(ValueError, match=r"rank = 21 .*at most 20 directions"):
        projection(PARTS, width=20, rank=21)


def test_shades_and_pixels_make_the_same_rows() -> None:
    again = projection(PARTS / 255).rows(PARTS / 255)
    assert np.allclose(again, projection(PARTS).rows(PARTS), atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (np.zeros((4, 588), np.uint8), "all alike"),
        (PARTS.astype(int), "colours from 0 to 255"),
        (PARTS[0], "`cut` makes"),
        (np.zeros((0, 588), np.uint8), "`cut` makes"),
    ],
)
def test_wrong_patches_are_refused_in_words(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        projection(parts)


# --- read by a language model ------------------------------------------------------------------


def test_rows_of_words_are_read_as_the_words_are() -> None:
    smol = any_smol()
    ids = smol.tokenize("What is in this picture?") * 3
    logits, cache = smol.prefill(ids)
    again, other = smol.prefill_rows(smol.rows(ids))
    assert np.array_equal(logits, again)
    assert cache.lengths == other.lengths
    noted = slice(None), slice(None), slice(None), slice(0, len(ids))
    assert np.array_equal(cache.keys[noted], other.keys[noted])
    assert np.array_equal(cache.values[noted], other.values[noted])


def test_a_pictures_rows_leave_notes_as_words_do_and_words_go_on_after_them() -> None:
    model = tiny()
    seen = projection(PARTS, 24, size=1).rows(PARTS)
    ids = [1, 2, 3]
    logits, cache = model.prefill_rows(np.concatenate([seen, model.rows(ids)]), room=4)
    assert cache.lengths == [67]
    assert cache.bytes == model.prefill([5] * 67)[1].bytes
    _, before = model.prefill_rows(seen, room=7)
    parts, _ = model.prefill(ids, cache=before)
    assert np.allclose(parts, logits, atol=2e-3)
    assert model.decode_step(4, cache).shape == (50,)
    assert cache.lengths == [68]


def test_the_meter_counts_a_row_of_a_picture_as_it_counts_a_word() -> None:
    model = tiny()
    seen = projection(PARTS, 24).rows(PARTS)
    with model.counted() as pictured:
        model.prefill_rows(seen)
    with model.counted() as worded:
        model.prefill([7] * 64)
    assert pictured.computed == worded.computed


def test_reading_leaves_the_rows_as_they_were() -> None:
    model = tiny()
    rows = model.rows([1, 2, 3])
    kept = rows.copy()
    model.prefill_rows(rows)
    assert np.array_equal(rows, kept)
    assert np.array_equal(model.rows([1, 2, 3]), kept)  # the embedding, too


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((0, 24), np.float32),
        np.zeros((2, 23), np.float32),
        np.zeros(24, np.float32),
        np.zeros((2, 24), int),
        np.full((1, 24), np.nan, np.float32),
        np.full((1, 24), 1e300),
        "rows",
    ],
)
def test_what_are_no_rows_is_refused_in_words(rows: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)rows = .*at least one row of 24 finite numbers"):
        tiny().prefill_rows(rows)


def test_rows_without_room_are_refused_in_words() -> None:
    model = tiny()
    rows = model.rows([1, 2, 3])
    with pytest.raises(ValueError, match="3 tokens will not fit"):
        model.prefill_rows(rows, cache=Cache(model.shape, 1, 2))
    with pytest.raises(ValueError, match="will not fit: this notepad has room for 512"):
        model.prefill_rows(np.zeros((513, 24), np.float32))
    with pytest.raises(ValueError, match="token numbers go from 0 to 49"):
        model.rows([50])


def test_no_float64_enters_through_rows() -> None:
    model = tiny()
    logits, cache = model.prefill_rows(projection(PARTS, 24).rows(PARTS).astype(np.float64))
    assert {logits.dtype, cache.keys.dtype} == {np.dtype(np.float32)}


def test_what_reading_takes_is_told() -> None:
    smol = any_smol()
    rows = smol.rows([5, 6, 7])
    told = read(smol, rows, tries=1)
    assert (told.rows, told.bytes) == (3, 3 * 2 * 30 * 3 * 64 * 4)
    assert told.seconds > 0
    assert str(told).startswith("3 rows read in ")
    with pytest.raises(ValueError, match=r"smol = .*give an LLM"):
        read(tiny(), rows)  # type: ignore[arg-type]


def test_a_reply_to_the_rows_of_words_is_the_reply_to_the_words() -> None:
    smol = any_smol()
    ids = smol.tokenize("Once upon a time there was a kitchen")
    assert reply(smol, smol.rows(ids), 5) == smol.text(list(smol.write(ids, 5)))


def test_a_model_without_eyes_describes_the_same_picture_whether_it_has_one_or_not() -> None:
    smol = real_smol()
    asked = smol.rows(smol.chat("Describe the picture."))
    parts = cut(chef_pixels())
    seen = projection(parts, size=float(asked.std())).rows(parts)
    told = reply(smol, np.concatenate([seen, asked]))
    assert told == reply(smol, asked)
    assert told.startswith("The picture of a woman with a long, dark hair")


def test_the_rows_that_are_shipped_are_the_models_own() -> None:
    smol = real_smol()
    stored = data.rows("word_rows.csv")
    ids = [int(row["id"]) for row in stored]
    assert smol.tokenize("What is in this picture?") == ids
    assert [smol.text([number]).strip() for number in ids] == list(word_rows())
    assert np.abs(np.array(list(word_rows().values())) - smol.rows(ids)).max() <= 0.00051


@pytest.mark.parametrize("shade", [np.nan, -0.1, 1.5, 255.0])
def test_shades_beyond_black_and_white_are_refused(shade: float) -> None:
    few = np.full((4, 12), 0.5)
    few[0, 0] = shade
    with pytest.raises(ValueError, match="or from 0 to 1"):
        patches.lost(few, [1])
    with pytest.raises(ValueError, match="or from 0 to 1"):
        patches.projection(np.array([[0] * 12, [7] * 12], np.uint16))
