"""The perpetual stock: both layers calculate what they say, and forget what they must."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from kitchenlib.inputs import UnknownName
from kitchenlib.miniatures import stock
from kitchenlib.miniatures.stock import ATTENTION, OPEN, SELECTIVE, Notes, Stock, recall

WIDTH = 24


def rows(tokens: int, width: int = WIDTH, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((tokens, width), np.float32)


def softplus(x: ArrayLike) -> np.ndarray:
    return np.log1p(np.exp(x))


# --- the state-space layer ---------------------------------------------------------------------


def by_the_explicit_sum(layer: Stock, stream: np.ndarray) -> np.ndarray:
    """The dual form: every row looks at all before it, as attention does, in float64."""
    size, content = layer.state.shape
    parts = stream.astype(float) @ layer.into.astype(float)
    x, b, c = parts[:, :content], parts[:, content:][:, :size], parts[:, content + size : -1]
    dt = softplus(parts[:, -1] + float(layer.bias))
    since = np.cumsum(dt)[:, None] - np.cumsum(dt)[None]  # how far gates opened in between
    seen = np.tril(np.exp(-layer.fade * np.abs(since)))
    return ((c @ b.T) * seen * dt) @ x


@pytest.mark.parametrize("fade", [0.0, 1.0, 40.0])
def test_the_recurrence_is_the_explicit_sum(fade):
    layer, stream = Stock(WIDTH, state=8, content=10), rows(60)
    layer.fade = fade
    stepped = np.array([layer.step(row) for row in stream])
    assert np.allclose(stepped, by_the_explicit_sum(layer, stream), rtol=1e-4, atol=1e-5)


def test_reading_at_once_leaves_the_same_state_as_reading_row_by_row():
    slow, quick, stream = Stock(WIDTH, state=8), Stock(WIDTH, state=8), rows(400)
    slow.fade = quick.fade = 5.0
    for row in stream:
        slow.step(row)
    quick.prefill(stream[:150])
    quick.prefill(stream[150:])
    assert quick.tokens == slow.tokens == 400
    assert np.allclose(quick.state, slow.state, rtol=1e-4, atol=1e-5)


def test_the_stock_weighs_the_same_however_long_the_conversation():
    layer = Stock(WIDTH, state=8)
    empty = layer.bytes
    layer.prefill(rows(1000))
    assert layer.bytes == empty == 4 * 8 * WIDTH


def test_what_is_kept_of_a_row_depends_on_the_row():
    """That is what "selective" means: a gate that the row itself opens or shuts."""
    layer = Stock(WIDTH, state=8)
    layer.into[:, -1] = 0
    layer.into[0, -1] = 10
    shut, opened = np.ones(WIDTH, np.float32), np.ones(WIDTH, np.float32)
    shut[0], opened[0] = -3, 3
    layer.step(opened)
    before = layer.state.copy()
    layer.step(shut)
    assert np.allclose(layer.state, before, rtol=1e-6)
    opened[1] = -1
    layer.step(opened)
    assert not np.allclose(layer.state, before, rtol=0.1)


def test_an_open_gate_lets_the_stock_fade():
    layer = Stock(WIDTH, state=8)
    layer.step(rows(1)[0])
    before = layer.state.copy()
    nothing = np.zeros(WIDTH, np.float32)  # writes nothing, and opens the gate by its bias
    for _ in range(100):
        layer.step(nothing)
    assert np.allclose(layer.state, before * np.exp(-100 * softplus(layer.bias)), rtol=1e-4)


# --- attention ---------------------------------------------------------------------------------


def by_plain_softmax(layer: Notes, stream: np.ndarray, key: int, content: int) -> np.ndarray:
    parts = stream.astype(float) @ layer.into.astype(float)
    k, v, q = parts[:, :key], parts[:, key : key + content], parts[:, key + content :]
    scores = np.where(np.tri(len(stream), dtype=bool), q @ k.T / np.sqrt(key), -np.inf)
    shares = np.exp(scores)
    return shares / shares.sum(axis=1, keepdims=True) @ v


def test_attention_is_the_plain_softmax_also_where_the_paper_had_to_grow():
    layer, stream = Notes(WIDTH, key=6, content=10), rows(600)
    stepped = np.array([layer.step(row) for row in stream])
    assert np.allclose(stepped, by_plain_softmax(layer, stream, 6, 10), rtol=1e-4, atol=1e-5)


def test_notes_read_at_once_are_those_of_reading_row_by_row():
    slow, quick, stream = Notes(WIDTH), Notes(WIDTH), rows(600)
    for row in stream:
        slow.step(row)
    quick.prefill(stream[:10])
    quick.prefill(stream[10:])
    assert np.allclose(quick.keys, slow.keys, atol=1e-5)
    assert np.allclose(quick.values, slow.values, atol=1e-5)


def test_notes_grow_by_a_key_and_a_value_a_row():
    layer = Notes(WIDTH)
    layer.prefill(rows(1000))
    assert layer.bytes == 1000 * 2 * WIDTH * 4 == layer.keys.nbytes + layer.values.nbytes


# --- both --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [Stock(WIDTH), Notes(WIDTH)], ids=["stock", "notes"])
def test_a_row_goes_in_and_a_row_comes_out_in_float32(layer):
    layer.prefill(rows(5))
    out = layer.step(rows(1)[0])
    assert out.shape == (WIDTH,)
    assert out.dtype == np.float32
    assert layer.tokens == 6


@pytest.mark.parametrize("layer", [Stock(WIDTH), Notes(WIDTH)], ids=["stock", "notes"])
def test_rows_of_another_shape_are_refused(layer):
    with pytest.raises(ValueError, match=r"shape \(25,\) will not do: give one of \(24,\)"):
        layer.step(np.ones(25))
    with pytest.raises(ValueError, match=r"shape \(24,\) will not do: give one of \(tokens, 24\)"):
        layer.prefill(np.ones(24))


def test_a_seed_gives_the_same_layer_again():
    assert np.array_equal(Stock(seed=3).into, Stock(seed=3).into)
    assert not np.array_equal(Notes(seed=3).into, Notes(seed=4).into)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stock(0), "width = 0 will not do: give a whole number of values of a row"),
        (lambda: Stock(8, state=0), "state = 0 will not do"),
        (lambda: Stock(8, content=0), "content = 0 will not do"),
        (lambda: Notes(8, key=-1), "key = -1 will not do"),
        (lambda: Notes(8, seed=-1), "seed = -1 will not do"),
    ],
)
def test_sizes_that_cannot_be_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- the race ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def laps() -> list[stock.Lap]:
    return stock.race()


def test_the_race_tells_what_each_layer_keeps(laps):
    assert [lap.tokens for lap in laps] == list(stock.LENGTHS)
    for lap in laps:
        assert lap.stock_bytes == 4 * 128 * 256
        assert lap.notes_bytes == 4 * 2 * 256 * lap.tokens


def test_stock_and_notes_weigh_the_same_at_half_as_many_tokens_as_the_state_has_rows(laps):
    (lap,) = (lap for lap in laps if lap.tokens == 128 / 2)
    assert lap.stock_bytes == lap.notes_bytes


def test_a_step_moves_the_weights_and_the_state_to_and_fro_or_the_notes(laps):
    for lap in laps:
        assert lap.stock_moved == 4 * 256 * (256 + 2 * 128 + 1) + 2 * lap.stock_bytes
        assert lap.notes_moved == 4 * 256 * 3 * 256 + lap.notes_bytes + 4 * 2 * 256


def test_a_token_takes_longer_the_more_notes_there_are_and_the_stock_does_not_mind(laps):
    first, last = laps[0], laps[-1]
    assert last.notes_seconds > 4 * first.notes_seconds
    grown = last.stock_seconds / first.stock_seconds
    assert grown < 0.5 * last.notes_seconds / first.notes_seconds


def test_a_lap_reads_as_a_line(laps):
    assert str(laps[-1]).startswith("16,384 tokens: stock 131 kB, ")
    assert "; notes 33.6 MB, " in str(laps[-1])


@pytest.mark.parametrize("lengths", [(), (100, 50), (100, 103)])
def test_lengths_that_do_not_grow_are_refused(lengths):
    with pytest.raises(ValueError, match="give lengths that grow by 12 tokens or more"):
        stock.race(lengths)


# --- recall ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [16, 64, 256])
def test_a_stock_recalls_as_many_items_as_its_state_has_rows_and_then_fails(size):
    """At right angles nothing mixes; more right angles than dimensions there are not."""
    assert recall(size, SELECTIVE, size) == 1
    assert recall(size // 2, SELECTIVE, size) == 1
    assert recall(2 * size, SELECTIVE, size) < 0.65
    assert recall(8 * size, SELECTIVE, size) < 0.3


@pytest.mark.parametrize("items", [1, 16, 64, 1000])
def test_attention_recalls_a_list_of_any_length_with_the_smallest_addresses(items):
    assert recall(items, ATTENTION, size=16) == 1


def test_a_gate_that_is_always_open_drowns_in_fillers():
    assert recall(64, OPEN, fillers=0) == 1
    assert recall(64, OPEN) < 0.4
    assert recall(64, SELECTIVE, fillers=40) == 1


def test_what_fails_ends_near_guessing():
    assert recall(2000, SELECTIVE, size=16, letters=16) == pytest.approx(1 / 16, abs=0.04)
    assert recall(2000, OPEN, size=16, letters=4) == pytest.approx(1 / 4, abs=0.06)


def test_the_mean_over_several_lists_is_of_those_lists():
    each = [recall(96, seed=seed) for seed in range(3)]
    assert stock.recalled([96], tries=3) == [pytest.approx(sum(each) / 3)]
    assert stock.recalled([8, 16], ATTENTION, size=16, tries=1) == [1, 1]


def test_both_layers_read_the_same_rows_and_only_the_notes_grow():
    asked = stock.recall_task(items=50, size=16)
    pot, notes = stock.by_hand(SELECTIVE, asked), stock.by_hand(ATTENTION, asked)
    for layer in (pot, notes):
        layer.prefill(asked.stream)
    assert pot.bytes == 4 * 16 * 4  # values of four bytes
    assert notes.bytes == 50 * (1 + 4) * 4 * (16 + 1 + 4)  # fillers are noted, too


def test_addresses_stand_at_right_angles_until_there_are_too_many():
    for items in (5, 16):
        near = stock.recall_task(items, size=16).questions
        assert np.allclose(near @ near.T, np.eye(items), atol=1e-5)
    near = stock.recall_task(40, size=16).questions
    likeness = near @ near.T - np.eye(40)
    assert np.allclose(np.diag(likeness), 0, atol=1e-5)
    assert 0.1 < np.abs(likeness).max() < 0.99  # they resemble each other, and none is another


def test_a_task_is_items_in_order_with_fillers_behind_each():
    asked = stock.recall_task(items=3, size=8, fillers=2, letters=4)
    assert asked.stream.shape == (9, 8 + 2 + 1)
    assert asked.stream[:, -1].tolist() == [1, 0, 0] * 3
    assert (asked.size, asked.bits) == (8, 2)
    assert np.array_equal(asked.questions[:, :8], asked.stream[::3, :8])
    assert not asked.questions[:, 8:].any()
    assert np.array_equal(asked.answers, asked.stream[::3, 8:10])
    assert set(np.unique(asked.stream[:, 8:10])) == {-1, 1}


def test_no_state_holds_more_than_its_bits():
    assert stock.most_items(256) == 256 * 32 // 4
    assert stock.bits_needed(stock.most_items(100, 3), 3) <= 100 * 32
    assert stock.bits_needed(stock.most_items(100, 3) + 1, 3) > 100 * 32
    assert stock.most_items(64 * 4) > 64  # what the weights set by hand reach is far below


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: recall(0), ValueError, "items = 0 will not do"),
        (lambda: recall(4, size=0), ValueError, "size = 0 will not do"),
        (lambda: recall(4, fillers=-1), ValueError, "fillers = -1 will not do"),
        (lambda: recall(4, letters=10), ValueError, "letters = 10 will not do: give a power of"),
        (lambda: recall(4, letters=1), ValueError, "letters = 1 will not do: give at least 2"),
        (lambda: recall(4, "atention"), UnknownName, "Did you mean: attention"),
        (lambda: stock.recalled([4], tries=0), ValueError, "tries = 0 will not do"),
        (lambda: stock.most_items(0), ValueError, "values = 0 will not do"),
        (lambda: stock.most_items(4, bits=0), ValueError, "bits = 0 will not do"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_sizes_may_be_whole_numbers_of_any_kind():
    assert Stock(8.0, 4.0).state.shape == (4, 8)  # type: ignore[arg-type]
    assert Notes(8.0, 4.0).into.shape == (8, 16)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed ="):
        stock.race((16, 64), width=8, state=4, tries=1, seed=0.5)  # type: ignore[arg-type]
