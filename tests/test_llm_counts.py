"""What the model counts while it runs is what the law says it should do, group by group."""

from __future__ import annotations

import pytest

import kitchenlib as kl
from tests.llm_models import any_smol

LAW = kl.model("SmolLM2-135M")
FLOAT32 = {"weights": "fp32", "kv": "fp32"}


def some_tokens(n: int) -> list[int]:
    return list(range(100, 100 + n))


@pytest.mark.parametrize(
    ("prompt", "batch", "cached"), [(1, 1, 0), (7, 3, 0), (128, 1, 0), (300, 1, 0), (40, 2, 25)]
)
def test_prefill_counts_what_the_law_says(prompt: int, batch: int, cached: int) -> None:
    smol = any_smol()
    new = [some_tokens(prompt - cached)] * batch
    _, cache = smol.prefill([some_tokens(cached or 1)] * batch, room=prompt)
    if not cached:
        cache.lengths = [0] * batch
    with smol.counted() as counts:
        smol.prefill(new, cache=cache)
    assert counts.causal == kl.prefill(LAW, prompt, batch, cached, **FLOAT32)


@pytest.mark.parametrize(("context", "batch"), [(1, 1), (64, 1), (500, 1), (33, 4)])
def test_a_decode_step_counts_what_the_law_says(context: int, batch: int) -> None:
    smol = any_smol()
    _, cache = smol.prefill([some_tokens(context)] * batch)
    with smol.counted() as counts:
        smol.decode_step([5] * batch, cache)
    assert counts.computed == counts.causal == kl.decode_step(LAW, context, batch, **FLOAT32)


@pytest.mark.parametrize("prompt", [2, 100, 300])
def test_prefill_computes_the_whole_square_of_queries_and_keys(prompt: int) -> None:
    smol = any_smol()
    with smol.counted() as counts:
        smol.prefill(some_tokens(prompt))
    computed, causal = dict(counts.computed.parts), dict(counts.causal.parts)
    square, triangle = computed.pop("attention").flops, causal.pop("attention").flops
    assert computed == causal
    assert square / triangle == 2 * prompt / (prompt + 1)


def test_a_mixed_batch_does_the_work_of_each_and_reads_the_sack_once() -> None:
    smol = any_smol()
    lengths = (3, 50, 11)
    with smol.counted() as counts:
        smol.prefill([some_tokens(n) for n in lengths])
    alone = [kl.prefill(LAW, n, **FLOAT32) for n in lengths]
    together = counts.causal
    assert together.flops == sum(work.flops for work in alone)
    assert together.kv_bytes == sum(work.kv_bytes for work in alone)
    lookups = sum(work.parts["embedding"].bytes for work in alone)
    assert together.parts["embedding"].bytes == lookups
    for group in ("projections", "feed_forward", "lm_head", "norms"):
        assert together.parts[group].bytes == alone[0].parts[group].bytes


def test_counting_ends_with_its_block() -> None:
    smol = any_smol()
    with smol.counted() as counts:
        _, cache = smol.prefill([1, 2])
    counted = counts.computed
    smol.decode_step(3, cache)
    assert counts.computed == counted
