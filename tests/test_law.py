"""The Kitchen Law itself: what must hold for every model, every format and every size."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib import Chip, Model, Part, Work
from kitchenlib.roofline import BOUNDS
from tests.law_models import H100, MODELS, any_format, any_model, doubled, fixture

contexts = st.integers(0, 100_000)
batches = st.integers(1, 2_000)
prompts = st.integers(1, 100_000)


@st.composite
def any_work(draw: st.DrawFn) -> Work:
    """A pass of any kind, of any model in any format, on one to four chips."""
    model, weights, kv = draw(any_model()), draw(any_format()), draw(any_format())
    chips = draw(st.sampled_from([1, 2, 4]))
    for block in model.blocks:  # as many chips as the query heads divide over
        chips = 1 if block.attention.heads % chips else chips
    formats: dict[str, Any] = {"weights": weights, "kv": kv, "chips": chips}
    prompt = draw(prompts)
    cached = draw(st.integers(0, prompt - 1))
    match draw(st.integers(0, 3)):
        case 0:
            return kl.prefill(model, prompt, draw(batches), cached, **formats)
        case 1:
            return kl.decode_step(model, draw(contexts), draw(batches), **formats)
        case 2:
            drafted = draw(st.integers(0, 20))
            return kl.verify_step(model, draw(contexts), drafted, draw(batches), **formats)
        case _:
            return kl.mixed_step(model, prompt, draw(contexts), draw(batches), cached, **formats)


@given(any_work())
def test_time_lies_between_the_floor_and_three_times_the_floor(work: Work) -> None:
    floor, time = work.floor(H100), work.time(H100)
    sides = 3 if work.link_bytes else 2
    assert floor * (1 - 1e-12) <= time <= sides * floor * (1 + 1e-12)


@given(any_work())
def test_utilization_is_a_share(work: Work) -> None:
    assert 0 < work.utilization(H100) <= 1 + 1e-12


@given(any_work())
def test_the_bound_is_the_longest_side(work: Work) -> None:
    sides = dict(zip(BOUNDS, work.sides(H100), strict=True))
    assert work.floor(H100) == max(sides.values()) == sides[str(work.bound(H100))]


@given(any_work())
def test_the_parts_add_up_to_the_whole(work: Work) -> None:
    parts = work.parts.values()
    assert work.flops == pytest.approx(sum(part.flops for part in parts))
    assert work.bytes == pytest.approx(sum(part.bytes for part in parts))
    kinds = (work.weight_bytes, work.kv_bytes, work.state_bytes)
    assert work.bytes == pytest.approx(sum(kinds))
    assert work.time(H100) == pytest.approx(sum(work.times(H100).values()))


@given(any_work())
def test_work_at_the_law_is_never_above_the_roofline(work: Work) -> None:
    """The FLOP/s of a pass on its floor are attainable at its intensity, and no more."""
    if work.link_bytes or any(part.rates != ("bf16",) for part in work.parts.values()):
        return
    reached = work.flops / work.floor(H100)
    assert reached == pytest.approx(kl.attainable(H100, work.intensity))


@given(any_model(), contexts, batches)
def test_intensity_rises_with_batch(model: Model, context: int, batch: int) -> None:
    small, large = (kl.decode_step(model, context, b).intensity for b in (batch, batch + 1))
    assert large >= small * (1 - 1e-12)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_intensity_rises_with_batch_strictly_while_the_sack_is_heavy(model: Model) -> None:
    steps = [kl.decode_step(model, 1000, batch).intensity for batch in range(1, 130)]
    assert all(more > less for less, more in pairwise(steps))


@given(any_model(), prompts, batches)
def test_time_rises_with_prompt_and_batch(model: Model, prompt: int, batch: int) -> None:
    one = kl.prefill(model, prompt, batch)
    assert kl.prefill(model, prompt + 1, batch).time(H100) >= one.time(H100)
    assert kl.prefill(model, prompt, batch + 1).time(H100) >= one.time(H100)


@given(any_model(), contexts, batches)
def test_time_rises_with_context(model: Model, context: int, batch: int) -> None:
    one, more = (kl.decode_step(model, c, batch).time(H100) for c in (context, context + 1))
    assert more >= one


@given(any_model(), prompts, batches)
def test_twice_the_layers_are_twice_the_layers_work(model: Model, prompt: int, batch: int) -> None:
    once, twice = (kl.prefill(m, prompt, batch) for m in (model, doubled(model)))
    assert once.parts.keys() == twice.parts.keys()
    for name, part in once.parts.items():
        grows = 1 if name in ("lm_head", "embedding") else 2
        final_norm = 2 * model.final_norm if name == "norms" else 0
        assert twice.parts[name].flops == pytest.approx(grows * part.flops)
        assert twice.parts[name].bytes == pytest.approx(grows * part.bytes - final_norm)


@given(any_model(), contexts, batches)
def test_no_format_of_16_bit_or_less_streams_more_than_bf16(
    model: Model, context: int, batch: int
) -> None:
    plain = kl.decode_step(model, context, batch)
    for form in kl.formats():
        other = kl.decode_step(model, context, batch, weights=form.name, kv=form.name)
        if form.bits == 16:
            assert (other.weight_bytes, other.kv_bytes) == (plain.weight_bytes, plain.kv_bytes)
        elif form.bits < 16:
            lighter = any(n for group, n in model.tensors.items() if group not in form.keeps)
            assert (other.weight_bytes < plain.weight_bytes) == lighter
            assert other.weight_bytes <= plain.weight_bytes
            assert (other.kv_bytes < plain.kv_bytes) == (plain.kv_bytes > 0)
        assert other.flops == plain.flops


def test_a_faster_peak_is_used_only_by_formats_that_multiply_at_it() -> None:
    fill = {
        form.name: kl.prefill(kl.model("Llama-2-70B"), 4096, weights=form.name).sides(H100)[0]
        for form in kl.formats()
    }
    assert [name for name, seconds in fill.items() if seconds < fill["bf16"]] == ["fp8"]


def test_compute_overrules_the_peak_of_the_format() -> None:
    """W8A16: eight-bit weights that are multiplied in 16 bit."""
    llama = kl.model("Llama-2-70B")
    w8a8, w8a16 = (
        kl.prefill(llama, 4096, weights="fp8", compute=rate).sides(H100)[0]
        for rate in (None, "bf16")
    )
    assert w8a16 == pytest.approx(kl.prefill(llama, 4096).sides(H100)[0])
    assert w8a8 < 0.6 * w8a16


def test_attention_multiplies_in_16_bit_whatever_the_weights() -> None:
    llama = kl.model("Llama-2-70B")
    parts = [kl.prefill(llama, 20_000, weights=w).parts["attention"] for w in ("bf16", "fp8")]
    assert parts[0].sides(H100)[0] == parts[1].sides(H100)[0]


def test_tensors_kept_in_16_bit_multiply_in_16_bit() -> None:
    """FP8 weights leave the LM head alone; whoever names a rate gets it for the rest."""
    llama = kl.model("Llama-3.1-8B")
    plain, fp8, named = (
        kl.prefill(llama, 4096, batch=8, weights=weights, compute=compute).parts
        for weights, compute in (("bf16", None), ("fp8", None), ("fp8", "int8"))
    )
    assert plain["lm_head"] == fp8["lm_head"] == named["lm_head"]
    assert fp8["feed_forward"].sides(H100)[0] < plain["feed_forward"].sides(H100)[0]
    assert named["feed_forward"].rates == ("int8",)


def test_a_chip_without_an_eight_bit_peak_multiplies_fp8_weights_in_16_bit() -> None:
    a100, llama = kl.chip("A100 SXM 80GB"), kl.model("Llama-2-7B")
    fp8, int8 = (kl.prefill(llama, 4096, weights=w).time(a100) for w in ("fp8", "int8"))
    assert fp8 == int8


def test_a_chip_with_one_peak_needs_no_other() -> None:
    """Nothing is multiplied in 16 bit when weights and attention are in 32."""
    desk = Chip("a desk", bandwidth=50e9, peaks={"fp32": 1e12})
    step = kl.decode_step(kl.model("SmolLM2-135M"), context=100, weights="fp32", kv="fp32")
    assert step.bound(desk) == "memory"
    assert step.floor(desk) == step.bytes / desk.bandwidth


@pytest.mark.parametrize(
    "row", fixture("decode_speeds.csv"), ids=lambda row: " ".join(row.values())[:40]
)
def test_no_published_decode_speed_beats_the_law(row: dict[str, str]) -> None:
    step = kl.decode_step(kl.model(row["model"]), context=0, weights=row["weights"])
    floor = step.floor(kl.chip(row["chip"]))
    measured = float(row["tokens_per_second"])
    assert 0.3 / floor < measured < 1 / floor


def test_the_roofline_is_a_slope_and_a_roof() -> None:
    ridge = H100.ridge()
    assert kl.attainable(H100, 1) == H100.bandwidth
    assert kl.attainable(H100, ridge / 2) == pytest.approx(H100.peak() / 2)
    assert kl.attainable(H100, ridge) == pytest.approx(H100.peak())
    assert kl.attainable(H100, 10 * ridge) == H100.peak()
    assert kl.attainable(H100, 10 * ridge, rate="fp8") == H100.peak("fp8")
    np.testing.assert_allclose(
        kl.attainable(H100, np.array([1.0, 1e9])), [H100.bandwidth, H100.peak()]
    )


def test_a_matrix_product_streams_its_weights_once() -> None:
    for tokens in (1, 100, 4096):
        work = kl.matmul(tokens, inputs=8192, outputs=28672)
        assert work.flops == 2 * tokens * 8192 * 28672
        assert work.bytes == 2 * 8192 * 28672
        assert work.intensity == tokens
    assert kl.matmul(1, 8192, 28672, weights="int4").intensity == 4


def test_matrix_times_matrix_turns_compute_bound_at_the_ridge() -> None:
    bounds = kl.matmul(np.arange(1, 400), 8192, 8192).bound(H100)
    assert list(bounds).index("compute") + 1 == 296  # the ridge is 295.2 FLOP per byte


def test_sums_overlap_in_the_floor_but_not_in_the_time() -> None:
    chip = Chip("round", bandwidth=1.0, peaks={"bf16": 1.0}, interconnect=1.0)
    work = Work({"a": Part(flops=3.0, weight_bytes=1.0), "b": Part(kv_bytes=2.0, link_bytes=5.0)})
    assert work.sides(chip) == (3.0, 3.0, 5.0)
    assert work.times(chip) == {"a": 3.0, "b": 5.0}
    assert work.time(chip) == 8.0
    assert work.floor(chip) == 5.0
    assert work.bound(chip) == "interconnect"
    assert work.utilization(chip) == 3 / 8


def test_work_shows_its_parts_as_a_table() -> None:
    step = kl.decode_step(kl.model("Llama-2-70B"), context=4096, chips=2)
    table = repr(step)
    assert "lm head" in table
    assert "sends" in table
    assert table.splitlines()[-1].startswith("total")
    assert repr(kl.decode_step(MODELS[0], np.arange(6).reshape(2, 3))) == "<Work of shape (2, 3)>"


def test_a_slow_chip_changes_the_time_and_not_the_work() -> None:
    step = kl.decode_step(kl.model("Llama-2-70B"), context=4096)
    slow = replace(H100, bandwidth=H100.bandwidth / 2)
    assert step.floor(slow) == pytest.approx(2 * step.floor(H100))
