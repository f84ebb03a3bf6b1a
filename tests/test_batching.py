"""Batching: what it gains once notes are counted, and what ends it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib import Model
from kitchenlib.inputs import Number
from tests.law_models import H100, MODELS, any_format, any_model

LLAMA = kl.model("Llama-2-70B")
CATALOGUE_H100 = kl.chip("H100 SXM")
ROOMY = replace(H100, memory_bytes=1e12)


# --- 32 guests ---------------------------------------------------------------------------------


def gain(context: int, batch: int = 32, notes: int = 1) -> Number:
    """Words per second of a batch over those of one guest, with so many times the notes."""
    one, many = (kl.decode_step(LLAMA, context, guests) for guests in (1, batch))
    nbytes = [step.weight_bytes + notes * step.kv_bytes for step in (one, many)]
    return batch * nbytes[0] / nbytes[1]


@pytest.mark.parametrize(
    ("context", "times"), [(0, 32.0), (512, 30.8), (2048, 27.8), (4096, 24.6), (32_768, 9.9)]
)
def test_32_fold_holds_without_notes_only(context: int, times: float) -> None:
    assert gain(context) == pytest.approx(times, abs=0.05)
    steps = [kl.decode_step(LLAMA, context, guests) for guests in (1, 32)]
    assert 32 * steps[0].floor(H100) / steps[1].floor(H100) == pytest.approx(gain(context))


@pytest.mark.parametrize(("context", "times"), [(2048, 14.8), (4096, 9.9)])
def test_with_a_note_for_every_query_head_it_is_half_of_that(context: int, times: float) -> None:
    assert gain(context, notes=8) == pytest.approx(times, abs=0.05)


@pytest.mark.parametrize(
    ("context", "intensity", "busy"),
    [(0, 32.0, 0.108), (512, 31.1, 0.105), (2048, 28.8, 0.097), (4096, 26.3, 0.089)],
)
def test_32_guests_leave_nine_tenths_of_the_chef_idle(
    context: int, intensity: float, busy: float
) -> None:
    step = kl.decode_step(LLAMA, context, batch=32)
    assert step.intensity == pytest.approx(intensity, abs=0.05)
    assert step.intensity / H100.ridge() == pytest.approx(busy, abs=5e-4)


def test_a_guest_among_32_waits_little_longer() -> None:
    alone, crowd = (1 / kl.decode_step(LLAMA, 2048, b, chips=2).floor(H100) for b in (1, 32))
    assert alone == pytest.approx(48.3, abs=0.5)
    assert crowd == pytest.approx(42.0, abs=0.5)


# --- the ceiling that notes set ----------------------------------------------------------------


def test_at_4k_of_notes_the_intensity_tops_out_near_110() -> None:
    assert kl.intensity_ceiling(LLAMA, 4096) == pytest.approx(110, abs=0.5)
    assert kl.intensity_ceiling(LLAMA, 4096) < H100.ridge()


@given(any_model(), st.integers(0, 20_000), any_format(), any_format())
def test_a_batch_comes_close_to_the_ceiling_and_stays_below(
    model: Model, context: int, weights: str, kv: str
) -> None:
    ceiling = kl.intensity_ceiling(model, context, weights, kv)
    for batch, close in ((1, 0), (1000, 0), (2**50, 0.999)):
        intensity = kl.decode_step(model, context, batch, weights, kv).intensity
        assert close * ceiling < intensity < ceiling * (1 + 1e-12)


def test_lighter_notes_raise_the_ceiling_and_lighter_sacks_do_not() -> None:
    plain = kl.intensity_ceiling(LLAMA, 4096)
    assert kl.intensity_ceiling(LLAMA, 4096, kv="fp8") == pytest.approx(2 * plain, rel=1e-3)
    assert kl.intensity_ceiling(LLAMA, 4096, weights="int4") == pytest.approx(plain, rel=1e-3)


def test_checking_drafts_lifts_the_ceiling_as_all_of_them_share_the_notes() -> None:
    crowd = kl.verify_step(LLAMA, 4096, drafted=5, batch=2**40)
    assert crowd.intensity > 5.5 * kl.intensity_ceiling(LLAMA, 4096)


# --- what ends a batch -------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("context", [1, 300, 4096])
@pytest.mark.parametrize("weights", ["bf16", "fp8", "int4-g128"])
def test_each_limit_is_the_last_batch_that_holds(model: Model, context: int, weights: str) -> None:
    limits = kl.batch_limits(model, ROOMY, context, tpot=0.02, weights=weights)
    assert limits.memory == kl.max_batch(model, ROOMY, context, weights)

    def sides(batch: Number) -> tuple[Number, Number, Number]:
        return kl.decode_step(model, context, batch, weights).sides(ROOMY)

    if np.isfinite(limits.compute):
        chef, waiter, _ = sides(limits.compute)
        assert chef >= waiter
        chef, waiter, _ = sides(limits.compute - 1)
        assert chef < waiter
    else:
        chef, waiter, _ = sides(2**50)
        assert chef < waiter
    one_more = kl.decode_step(model, context, limits.latency + 1, weights)
    assert one_more.time(ROOMY) > 0.02
    if limits.latency:
        assert kl.decode_step(model, context, limits.latency, weights).time(ROOMY) <= 0.02


def test_the_ridge_is_out_of_reach_where_the_ceiling_lies_below_it() -> None:
    contexts = np.array([1, 512, 1024, 1500, 2048, 4096])
    never = np.isinf(kl.batch_limits(LLAMA, ROOMY, contexts).compute)
    assert np.array_equal(never, kl.intensity_ceiling(LLAMA, contexts) <= ROOMY.ridge())
    assert never.tolist() == [False, False, False, True, True, True]


def test_without_notes_the_ridge_is_the_batch_of_the_card() -> None:
    """295 guests; half as many with 8-bit weights that multiply in 16 bit, a quarter with 4."""
    for weights, guests in (("bf16", 295), ("int8", 148), ("int4", 74)):
        found = kl.batch_limits(LLAMA, ROOMY, context=1, weights=weights).compute
        assert found == pytest.approx(guests, rel=0.03)


def test_the_warehouse_fills_first() -> None:
    limits = kl.batch_limits(LLAMA, CATALOGUE_H100, context=4096, chips=4)
    assert limits.first == "memory"
    assert limits.batch == limits.memory == 126
    assert limits.compute == limits.latency == np.inf


def test_impatient_guests_come_before_a_full_warehouse() -> None:
    limits = kl.batch_limits(LLAMA, CATALOGUE_H100, context=512, tpot=0.015, chips=4)
    assert limits.first == "latency"
    assert limits.batch == limits.latency < limits.compute < limits.memory


def test_short_notes_in_a_roomy_kitchen_meet_the_ridge_first() -> None:
    assert kl.batch_limits(LLAMA, ROOMY, context=100).first == "compute"


def test_nobody_is_served_where_the_sack_does_not_fit_or_one_step_takes_too_long() -> None:
    assert kl.batch_limits(LLAMA, CATALOGUE_H100, context=4096).memory == 0
    assert kl.batch_limits(LLAMA, ROOMY, context=4096, tpot=0.001).latency == 0


def test_limits_take_arrays() -> None:
    contexts, seconds = np.array([1, 512, 4096]), np.array([[0.001], [0.05]])
    swept = kl.batch_limits(LLAMA, CATALOGUE_H100, contexts, seconds, chips=4)
    assert np.shape(swept.batch) == np.shape(swept.first) == (2, 3)
    for row, tpot in enumerate(seconds[:, 0]):
        for column, context in enumerate(contexts):
            one = kl.batch_limits(LLAMA, CATALOGUE_H100, int(context), float(tpot), chips=4)
            assert np.asarray(swept.memory)[column] == one.memory
            assert np.asarray(swept.compute)[column] == one.compute
            assert np.asarray(swept.latency)[row, column] == one.latency
            assert np.asarray(swept.batch)[row, column] == one.batch
            assert np.asarray(swept.first)[row, column] == one.first


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"context \(2,\), tpot \(3,\)"):
        kl.batch_limits(LLAMA, ROOMY, [1, 2], [1.0, 2.0, 3.0])
