"""A sweep is one call: an array gives, point by point, what a loop of plain numbers gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib import Model, Work
from tests.law_models import H100, MODELS, any_model

Law = Callable[..., Any]

#: The sizes that each law takes: ordinary ones, and values to sweep each through.
SIZES: dict[Law, dict[str, tuple[int, list[int]]]] = {
    kl.prefill: {
        "prompt": (3000, [2001, 4096, 100_000]),
        "batch": (3, [1, 8, 300]),
        "cached": (1000, [0, 1, 2000]),
        "chips": (1, [1, 1, 1]),
    },
    kl.decode_step: {
        "context": (3000, [0, 1, 1023, 1024, 1025, 100_000]),
        "batch": (3, [1, 8, 300]),
        "chips": (1, [1, 1, 1]),
    },
    kl.verify_step: {
        "context": (3000, [0, 1, 1023, 1024, 1025, 100_000]),
        "drafted": (5, [0, 1, 4, 200]),
        "batch": (3, [1, 8, 300]),
        "chips": (1, [1, 1, 1]),
    },
    kl.mixed_step: {
        "prompt": (3000, [2001, 4096, 100_000]),
        "context": (3000, [0, 1, 1023, 1024, 1025, 100_000]),
        "batch": (3, [1, 8, 300]),
        "cached": (1000, [0, 1, 2000]),
        "chips": (1, [1, 1, 1]),
    },
}


def seen(work: Work, chip: kl.Chip = H100) -> Iterator[tuple[str, Any]]:
    """Everything that a `Work` can be asked for, by name."""
    for name in ("flops", "bytes", "weight_bytes", "kv_bytes", "link_bytes", "intensity"):
        yield name, getattr(work, name)
    for name in ("time", "floor", "bound", "utilization"):
        yield name, getattr(work, name)(chip)
    for number, side in enumerate(work.sides(chip)):
        yield f"sides[{number}]", side
    for name, seconds in work.times(chip).items():
        yield f"times[{name}]", seconds
    for name, part in work.parts.items():
        yield f"{name}.flops", part.flops
        yield f"{name}.bytes", part.bytes
        yield f"{name}.intensity", part.intensity


def assert_equals_loop(swept: Work, point: Callable[[int], Work], values: list[int]) -> None:
    """`swept` holds, at each place, what `point` gives for the value of that place."""
    arrays = dict(seen(swept))
    for place, value in enumerate(values):
        for name, expected in seen(point(value)):
            found = np.broadcast_to(arrays[name], len(values))[place]
            if isinstance(expected, str):
                assert found == expected, (name, value)
            else:
                assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), (name, value)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(
    ("law", "swept"), [(law, name) for law, sizes in SIZES.items() for name in sizes]
)
def test_an_array_equals_a_loop(model: Model, law: Law, swept: str) -> None:
    sizes = {name: usual for name, (usual, _) in SIZES[law].items()}
    values = SIZES[law][swept][1]
    assert_equals_loop(
        law(model, **sizes | {swept: np.array(values)}),
        lambda value: law(model, **sizes | {swept: value}),
        values,
    )


@pytest.mark.parametrize("law", SIZES)
def test_an_array_of_chips_equals_a_loop(law: Law) -> None:
    """Eight KV heads: halved down to one a chip, then copied."""
    llama, chips = kl.model("Llama-2-70B"), [2, 4, 8, 16, 64]
    sizes = {name: usual for name, (usual, _) in SIZES[law].items()}
    assert_equals_loop(
        law(llama, **sizes | {"chips": np.array(chips)}),
        lambda n: law(llama, **sizes | {"chips": n}),
        chips,
    )


def test_one_chip_in_an_array_sends_nothing_and_needs_no_interconnect() -> None:
    llama, mac = kl.model("Llama-3.1-8B"), kl.chip("Apple M1")
    step = kl.decode_step(llama, 100, chips=np.array([1]))
    assert step.time(mac) == kl.decode_step(llama, 100).time(mac)


@given(
    any_model(),
    st.lists(st.integers(0, 5000), min_size=1, max_size=4),
    st.lists(st.integers(1, 500), min_size=1, max_size=4),
)
def test_two_arrays_span_a_grid(model: Model, contexts: list[int], batches: list[int]) -> None:
    grid = kl.decode_step(model, np.array(contexts)[:, None], np.array(batches)).time(H100)
    assert np.shape(grid) == (len(contexts), len(batches))
    for row, context in enumerate(contexts):
        for column, batch in enumerate(batches):
            point = kl.decode_step(model, context, batch).time(H100)
            assert grid[row, column] == pytest.approx(point, rel=1e-12)  # type: ignore[index]


def test_lists_numpy_numbers_and_whole_floats_are_sizes_too() -> None:
    llama = kl.model("Llama-2-7B")
    plain = kl.decode_step(llama, context=4096, batch=8).time(H100)
    for batch in (np.int64(8), np.float32(8), 8.0, np.array(8), np.uint8(8)):
        found = kl.decode_step(llama, context=4096, batch=batch).time(H100)
        assert found == plain
        assert isinstance(found, float)
    assert list(kl.decode_step(llama, 4096, [8, 8]).time(H100)) == [plain, plain]  # type: ignore[arg-type]


def test_arguments_are_not_changed() -> None:
    contexts = np.array([1, 2000, 100_000])
    kl.decode_step(kl.model("Gemma-3-27B (text)"), contexts, batch=3).time(H100)
    assert contexts.tolist() == [1, 2000, 100_000]


def test_sizes_beyond_every_context_stay_exact() -> None:
    """Squares of these pass 2**53: nothing may be a difference of two of them."""
    llama, context = kl.model("Llama-2-70B"), 2**40
    step = kl.decode_step(llama, context)
    assert step.parts["attention"].flops == 4 * 64 * 128 * 80 * (context + 1)
    window = kl.decode_step(kl.model("Mistral-7B-v0.1"), context)
    assert window.parts["attention"].flops == 4 * 32 * 128 * 32 * 4096


@pytest.mark.parametrize("swept", ["tokens", "inputs", "outputs"])
def test_a_matrix_product_takes_arrays(swept: str) -> None:
    sizes: dict[str, Any] = {"tokens": 5, "inputs": 64, "outputs": 128}
    values = [1, 7, 4096, 28_672]
    assert_equals_loop(
        kl.matmul(**sizes | {swept: np.array(values)}),
        lambda value: kl.matmul(**sizes | {swept: value}),
        values,
    )


def assert_close(found: Any, expected: list[Any]) -> None:
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-13)


def test_experts_touched_takes_arrays() -> None:
    experts, per_token, tokens = np.array([8, 16, 256]), np.array([2, 1, 8]), np.array([1, 32, 64])
    found = kl.experts_touched(experts, per_token, tokens)
    expected = [
        kl.experts_touched(int(e), int(k), int(b))
        for e, k, b in zip(experts, per_token, tokens, strict=True)
    ]
    assert_close(found, expected)
    swept = kl.experts_touched(16, 1, np.array([1, 32]))
    assert_close(swept, [kl.experts_touched(16, 1, 1), kl.experts_touched(16, 1, 32)])


def test_attainable_takes_arrays() -> None:
    intensities = np.geomspace(0.1, 1e5, 50)
    expected = [kl.attainable(H100, float(x)) for x in intensities]
    assert_close(kl.attainable(H100, intensities), expected)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_kv_bytes_takes_arrays(model: Model) -> None:
    tokens = np.array([0, 1, 127, 128, 129, 1024, 4095, 4096, 4097, 131_072])
    expected = [model.kv_bytes(int(t)) for t in tokens]
    assert_close(model.kv_bytes(tokens), expected)


def test_kilograms_take_arrays() -> None:
    assert_close(kl.kg(np.array([1e9, 140e9])), [1, 140])
