"""What a guest feels and what fits, and the classic confusions about both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from tests.law_models import H100, MODELS, fixture

LLAMA = kl.model("Llama-2-70B")
CATALOGUE_H100 = kl.chip("H100 SXM")
CASES = {row["id"]: row for row in fixture("reference_cases.csv")}


def right(case: str) -> float:
    return float(CASES[case]["right"])


# --- the definitions ---------------------------------------------------------------------------


def test_ttft_is_the_prefill_pass() -> None:
    assert kl.ttft(LLAMA, H100, 4096) == kl.prefill(LLAMA, 4096).time(H100)


def test_tpot_is_the_mean_of_the_steps_after_the_first_token() -> None:
    steps = [float(kl.decode_step(LLAMA, 1000 + n).time(H100)) for n in range(19)]
    assert kl.tpot(LLAMA, H100, prompt=1000, reply=20) == pytest.approx(np.mean(steps))


def test_a_request_is_one_flood_and_a_drip_for_each_token_but_the_first() -> None:
    first, each = kl.ttft(LLAMA, H100, 500), kl.tpot(LLAMA, H100, 500, 30)
    assert kl.request_time(LLAMA, H100, 500, 30) == pytest.approx(first + 29 * each)
    assert kl.request_time(LLAMA, H100, 500, 1) == first


def test_tpot_leaves_out_the_first_token_case_mt01() -> None:
    assert kl.measured_tpot(total=0.5 + 99 * 0.02, first=0.5, reply=100) == pytest.approx(0.02)
    inclusive = (0.5 + 99 * kl.measured_tpot(2.48, 0.5, 100)) / 100 * 1e3
    assert inclusive == pytest.approx(right("MT01"))  # the number that TPOT is mistaken for


@given(st.integers(1, 3000), st.integers(2, 40), st.integers(1, 64))
def test_arrays_equal_loops(prompt: int, reply: int, batch: int) -> None:
    prompts, batches = np.array([prompt, 2 * prompt]), np.array([[batch], [3 * batch]])
    swept = kl.request_time(LLAMA, H100, prompts, reply, batches)
    for i, b in enumerate(batches[:, 0]):
        for j, p in enumerate(prompts):
            one = kl.request_time(LLAMA, H100, int(p), reply, int(b))
            assert np.asarray(swept)[i, j] == pytest.approx(one)


@pytest.mark.parametrize("chips", [1, 2, 4, 8, 16])
def test_more_chips_gain_less_than_their_number(chips: int) -> None:
    alone, shared = (kl.tpot(LLAMA, CATALOGUE_H100, 1000, 10, chips=n) for n in (1, chips))
    assert alone / chips <= shared <= alone


def test_the_interconnect_is_counted_in_one_direction_case_cm01() -> None:
    work = kl.prefill(LLAMA, 4096, chips=8).parts["all_reduce"].link_bytes / (2 * LLAMA.layers)
    assert work / 450e9 * 1e3 == pytest.approx(right("CM01"), rel=1e-3)


def test_a_chunk_of_a_prompt_slows_the_drips_that_share_its_pass_case_mt05() -> None:
    step = kl.mixed_step(LLAMA, prompt=512, context=4096, batch=32)
    assert step.floor(H100) * 1e3 == pytest.approx(right("MT05"), abs=0.1)
    assert step.bound(H100) == "compute"


@pytest.mark.parametrize(("case", "batch"), [("BT03_1", 1), ("BT03_32", 32), ("BT03_256", 256)])
def test_throughput_grows_less_than_the_batch_case_bt03(case: str, batch: int) -> None:
    # the rows count memory alone, as the drip is memory-bound at these batches
    assert kl.throughput(LLAMA, H100, 4096, batch) == pytest.approx(right(case), abs=0.5)


# --- what fits ---------------------------------------------------------------------------------


def test_the_sack_does_not_fit_into_one_h100_case_mf01() -> None:
    assert kl.fits(LLAMA, CATALOGUE_H100, context=0) == bool(right("MF01"))
    assert kl.fits(LLAMA, CATALOGUE_H100, context=4096, chips=2)
    assert kl.max_batch(LLAMA, CATALOGUE_H100, context=4096) == 0


def test_the_sack_fills_an_h200_beyond_its_usable_part_and_fits_a_b200() -> None:
    assert not kl.fits(LLAMA, kl.chip("H200 SXM"), context=1)
    assert kl.fits(LLAMA, kl.chip("B200 SXM (HGX/DGX)"), context=1)


@pytest.mark.parametrize("chips", [2, 4, 8])
def test_the_largest_batch_fits_and_one_more_does_not(chips: int) -> None:
    most = kl.max_batch(LLAMA, CATALOGUE_H100, 4096, chips=chips)
    assert kl.fits(LLAMA, CATALOGUE_H100, 4096, most, chips=chips)
    assert not kl.fits(LLAMA, CATALOGUE_H100, 4096, most + 1, chips=chips)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_one_chip_holds_all_weights_and_the_whole_cache(model: kl.Model) -> None:
    needed = kl.memory_needed(model, 5000, batch=3)
    assert needed == pytest.approx(model.weight_bytes() + 3 * model.kv_bytes(5000))


def test_kv_heads_are_copied_when_there_are_more_chips_than_heads() -> None:
    at = {n: kl.memory_needed(LLAMA, 4096, 1, chips=n) for n in (8, 16)}
    bare = {n: kl.memory_needed(LLAMA, 0, 1, chips=n) for n in (8, 16)}
    assert at[16] - bare[16] == pytest.approx(at[8] - bare[8])  # one head each, no less
    assert bare[16] > bare[8] / 2


def test_only_a_throughput_that_is_asked_to_fit_looks_at_the_memory() -> None:
    assert kl.throughput(LLAMA, CATALOGUE_H100, 4096) > 0
    with pytest.raises(ValueError, match=r"139 GB are needed on each chip, and 77\.0 GB"):
        kl.throughput(LLAMA, CATALOGUE_H100, 4096, check_fit=True)


def test_fits_answers_point_by_point() -> None:
    answers = kl.fits(LLAMA, CATALOGUE_H100, np.array([100, 4096]), np.array([[1], [400]]), chips=4)
    assert np.asarray(answers).tolist() == [[True, True], [True, False]]


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kl.tpot(LLAMA, H100, 10, reply=1), "reply = 1 .* at least|from 2"),
        (lambda: kl.ttft(LLAMA, H100, 0), "prompt = 0 .*tokens"),
        (lambda: kl.ttft(LLAMA, H100, 10, cached=10), "cached = 10"),
        (lambda: kl.measured_tpot(1.0, 2.0, 5), "first = 2.0 .*seconds"),
        (lambda: kl.measured_tpot(-1.0, 0.5, 5), "total = -1.0 .*seconds"),
        (lambda: kl.measured_tpot(float("nan"), 0.5, 5), "total = nan .*seconds"),
        (lambda: kl.measured_tpot(2.0, 1.0, 1), "reply = 1 .*tokens"),
        (lambda: kl.fits(LLAMA, CATALOGUE_H100, 10, usable=1.5), "usable = 1.5 .*share"),
        (lambda: kl.fits(LLAMA, CATALOGUE_H100, 10, usable=0), "usable = 0 .*memory"),
        (lambda: kl.fits(LLAMA, H100, 10), "has no memory_bytes.*bytes"),
        (lambda: kl.fits(LLAMA, CATALOGUE_H100, 10, chips=3), "chips = 3 .*divide"),
        (lambda: kl.max_batch(LLAMA, CATALOGUE_H100, 0), "context = 0 .*tokens"),
        (lambda: kl.max_batch(LLAMA, CATALOGUE_H100, 10, chips=0), "chips = 0 .*chips"),
        (lambda: kl.throughput(LLAMA, H100, 10, batch=0), "batch = 0 .*sequences"),
        (lambda: kl.memory_needed(LLAMA, [1, 2], batch=[1, 2, 3]), "do not fit each other"),
    ],
)
def test_bad_input_is_named_with_its_unit(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_name_where_the_thing_is_meant_is_refused() -> None:
    with pytest.raises(ValueError, match="model = 'Llama-2-70B'"):
        kl.fits("Llama-2-70B", CATALOGUE_H100, 10)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chip = 'H100 SXM'"):
        kl.fits(LLAMA, "H100 SXM", 10)  # type: ignore[arg-type]
