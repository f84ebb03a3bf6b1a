"""Layers of every kind: what they share, where they differ, and their FLOPs counted by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib import Attention, Block, Experts, FeedForward, LatentAttention, Model, Work
from tests.law_models import H100, MODELS, PLAIN_ATTENTION, any_format, any_model, made_up

contexts = st.integers(0, 20_000)
batches = st.integers(1, 500)


def assert_same_work(one: Work, other: Work) -> None:
    for name in one.parts.keys() | other.parts.keys():
        for kind in ("flops", "weight_bytes", "kv_bytes", "state_bytes", "link_bytes"):
            found, expected = (getattr(w.parts[name], kind) for w in (one, other))
            assert found == pytest.approx(expected, rel=1e-12), (name, kind)


def latent(model: Model) -> bool:
    return any(isinstance(block.attention, LatentAttention) for block in model.blocks)


# --- attention ---------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 1, 5, 12, 100])
@given(before=st.integers(0, 30), new=st.integers(1, 30))
def test_attention_counts_the_pairs_that_a_causal_mask_lets_through(
    window: int | None, before: int, new: int
) -> None:
    model = made_up(Block(1, Attention(2, 1, 8, window), FeedForward(4), norms=0))
    positions = np.arange(before + new)
    query, key = positions[before:, None], positions
    seen = (key <= query) & ((query - key < window) if window else True)
    part = kl.prefill(model, prompt=before + new, cached=before).parts["attention"]
    assert part.flops == 4 * 2 * 8 * seen.sum()


@given(contexts, batches, st.sampled_from([1, 2, 4]))
def test_gqa_with_a_kv_head_for_each_head_is_mha(context: int, batch: int, chips: int) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 512,
        "intermediate_size": 1024,
        "num_attention_heads": 8,
        "num_hidden_layers": 3,
        "vocab_size": 1000,
    }
    mha = Model.from_config(config)
    gqa = Model.from_config(config | {"num_key_value_heads": 8})
    assert mha == gqa
    assert mha.blocks[0].attention.kind == "MHA"
    assert_same_work(
        kl.decode_step(mha, context, batch, chips=chips),
        kl.decode_step(gqa, context, batch, chips=chips),
    )


def test_fewer_kv_heads_make_lighter_notes_and_the_same_cuts() -> None:
    llama = kl.model("Llama-2-70B")
    (block,) = llama.blocks
    mha = replace(llama, blocks=(replace(block, attention=Attention(64, 64, 128)),))
    gqa_step, mha_step = (
        kl.decode_step(m, 4096, batch=32).parts["attention"] for m in (llama, mha)
    )
    assert mha_step.kv_bytes == 8 * gqa_step.kv_bytes
    assert mha_step.flops == gqa_step.flops


@given(any_model(), contexts, batches, any_format())
def test_a_prompt_with_all_but_one_token_cached_is_a_decode_step(
    model: Model, context: int, batch: int, weights: str
) -> None:
    """Except for MLA, which decodes in the latent space and prefills outside of it."""
    assume(not latent(model))
    assert_same_work(
        kl.prefill(model, prompt=context + 1, cached=context, batch=batch, weights=weights),
        kl.decode_step(model, context=context, batch=batch, weights=weights),
    )


@pytest.mark.parametrize("model", PLAIN_ATTENTION, ids=str)
def test_a_prompt_read_in_chunks_does_the_same_attention_work(model: Model) -> None:
    whole = kl.prefill(model, 8192).parts["attention"].flops
    edges = [0, 512, 1024, 3000, 3001, 8192]
    chunks = [
        kl.prefill(model, prompt=end, cached=start).parts["attention"].flops
        for start, end in pairwise(edges)
    ]
    assert sum(chunks) == pytest.approx(whole, rel=1e-12)


def test_mla_expands_the_latent_again_for_every_chunk() -> None:
    deepseek = kl.model("DeepSeek-V3")
    whole = kl.prefill(deepseek, 8192)
    halves = [kl.prefill(deepseek, 4096), kl.prefill(deepseek, 8192, cached=4096)]
    attention = deepseek.blocks[0].attention
    assert isinstance(attention, LatentAttention)
    again = deepseek.layers * 4096 * 2 * 512 * 128 * (128 + 128)
    assert attention.flops_per_cached_row == 2 * 512 * 128 * (128 + 128)
    assert sum(half.parts["attention"].flops for half in halves) == pytest.approx(
        whole.parts["attention"].flops + again
    )


def test_mla_prefill_matrix_by_matrix() -> None:
    """DeepSeek-V3, four tokens: what each matrix of one layer multiplies."""
    attention = kl.model("DeepSeek-V3").blocks[0].attention
    model = made_up(Block(1, attention, FeedForward(1), norms=0), hidden=7168)
    parts = kl.prefill(model, prompt=4).parts
    matrices = [
        (7168, 1536),  # query down
        (1536, 128 * (128 + 64)),  # query up
        (7168, 512 + 64),  # key/value down, and the shared rope key
        (512, 128 * 128),  # key up
        (512, 128 * 128),  # value up
        (128 * 128, 7168),  # output
    ]
    assert parts["projections"].flops == 2 * 4 * sum(rows * cols for rows, cols in matrices)
    assert parts["projections"].weight_bytes == 2 * sum(rows * cols for rows, cols in matrices)
    pairs = 1 + 2 + 3 + 4
    assert parts["attention"].flops == pairs * 2 * 128 * ((128 + 64) + 128)
    assert parts["attention"].kv_bytes == 4 * (512 + 64) * 2


def test_mla_decode_step_matrix_by_matrix() -> None:
    """Absorbed: the query is brought into the latent space, and the result brought out of it."""
    attention = kl.model("DeepSeek-V3").blocks[0].attention
    model = made_up(Block(1, attention, FeedForward(1), norms=0), hidden=7168)
    parts = kl.decode_step(model, context=99).parts
    token = (
        7168 * 1536  # query down
        + 1536 * 128 * (128 + 64)  # query up
        + 7168 * (512 + 64)  # the new latent row
        + 128 * 128 * 512  # each head's query into the latent space
        + 128 * 512 * 128  # each head's result out of it
        + 128 * 128 * 7168  # output
    )
    assert parts["projections"].flops == 2 * token
    assert parts["attention"].flops == 100 * 2 * 128 * ((512 + 64) + 512)
    assert parts["attention"].kv_bytes == 100 * (512 + 64) * 2


def test_a_window_wider_than_the_context_changes_nothing() -> None:
    full = made_up(Block(2, Attention(4, 2, 16), FeedForward(64), norms=9))
    wide = made_up(Block(2, Attention(4, 2, 16, window=101), FeedForward(64), norms=9))
    for context in (0, 50, 100):
        assert_same_work(kl.decode_step(full, context), kl.decode_step(wide, context))
    assert kl.decode_step(full, 101).kv_bytes > kl.decode_step(wide, 101).kv_bytes


def test_a_full_window_stops_growing() -> None:
    mistral = kl.model("Mistral-7B-v0.1")
    steps = [kl.decode_step(mistral, context) for context in (4095, 4096, 1_000_000)]
    assert len({step.kv_bytes for step in steps}) == 1
    assert len({step.flops for step in steps}) == 1
    assert kl.decode_step(mistral, 4094).kv_bytes < steps[0].kv_bytes


# --- the KV cache ------------------------------------------------------------------------------


@given(any_model(), contexts, batches, any_format())
def test_a_step_reads_and_writes_the_whole_cache(
    model: Model, context: int, batch: int, kv: str
) -> None:
    step = kl.decode_step(model, context, batch, kv=kv)
    assert step.kv_bytes == pytest.approx(batch * model.kv_bytes(context + 1, kv))


@given(any_model(), st.integers(1, 20_000), batches, any_format())
def test_prefill_writes_the_cache_once(model: Model, prompt: int, batch: int, kv: str) -> None:
    fill = kl.prefill(model, prompt, batch, kv=kv)
    assert fill.kv_bytes == pytest.approx(batch * model.kv_bytes(prompt, kv))


@given(any_model(), st.integers(0, 20_000), any_format())
def test_the_cache_grows_by_the_bytes_of_a_token_until_a_window_is_full(
    model: Model, tokens: int, kv: str
) -> None:
    per_token, size = model.kv_bytes_per_token(kv), model.kv_bytes(tokens, kv)
    windows = [b.attention.window for b in model.blocks if b.attention.window is not None]
    assert size <= per_token * tokens * (1 + 1e-12)
    if tokens <= min(windows, default=tokens):
        assert size == pytest.approx(per_token * tokens)
    assert model.kv_bytes(tokens + 1, kv) >= size


def test_the_cache_format_is_a_choice_of_its_own() -> None:
    llama = kl.model("Llama-2-70B")
    int4 = kl.decode_step(llama, 4096, weights="int4")
    assert int4.kv_bytes == kl.decode_step(llama, 4096).kv_bytes
    fp8 = kl.decode_step(llama, 4096, kv="fp8")
    assert fp8.kv_bytes == int4.kv_bytes / 2
    assert fp8.weight_bytes == kl.decode_step(llama, 4096).weight_bytes


# --- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [form.name for form in kl.formats()])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_pass_that_touches_every_expert_streams_the_model_once(model: Model, form: str) -> None:
    """All of it but the input embedding, of which it looks up one row a token."""
    tokens = 100_000
    fill = kl.prefill(model, tokens, weights=form)
    rows = fill.parts["embedding"].weight_bytes
    width = kl.number_format(form).bytes_of("embedding")
    assert rows == pytest.approx(tokens * model.hidden * width)
    assert fill.weight_bytes - rows == pytest.approx(model.streamed_weight_bytes(form))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_token_multiplies_every_active_matrix_once(model: Model) -> None:
    step = kl.decode_step(model, context=0)
    vectors = sum(
        block.layers * block.mlp.per_token * block.mlp.each.vectors
        for block in model.blocks
        if isinstance(block.mlp, Experts)
    )
    looked_up, read = model.tensors["embedding"], model.tensors["norms"]
    matrices = model.active_params - looked_up - read - vectors
    assert step.flops - step.parts["attention"].flops == 2 * matrices


def test_a_tied_embedding_is_streamed_as_the_lm_head() -> None:
    block = Block(2, Attention(4, 2, 16), FeedForward(64), norms=9)
    tied, untied = (made_up(block, tied=t) for t in (True, False))
    assert untied.params - tied.params == 100 * 64
    assert untied.streamed_weight_bytes() == tied.streamed_weight_bytes() == tied.weight_bytes()
    assert_same_work(kl.decode_step(tied, 7), kl.decode_step(untied, 7))


def test_logits_are_for_the_last_token_only() -> None:
    llama = kl.model("Llama-3.1-8B")
    heads = {kl.prefill(llama, prompt).parts["lm_head"] for prompt in (1, 100, 8192)}
    assert heads == {kl.decode_step(llama, 0).parts["lm_head"]}
    batch = kl.prefill(llama, 100, batch=7).parts["lm_head"]
    assert batch.flops == 7 * 2 * 4096 * 128_256


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_with_nothing_drafted_a_checking_pass_is_a_decode_step(model: Model) -> None:
    assert kl.verify_step(model, 3000, 0, batch=7) == kl.decode_step(model, 3000, batch=7)


@pytest.mark.parametrize("model", PLAIN_ATTENTION, ids=str)
@given(context=contexts, drafted=st.integers(0, 20), batch=batches)
def test_a_checking_pass_reads_its_tokens_like_a_prompt_but_needs_the_logits_of_each(
    model: Model, context: int, drafted: int, batch: int
) -> None:
    new = drafted + 1
    verify = kl.verify_step(model, context, drafted, batch)
    prompt = kl.prefill(model, context + new, batch, cached=context)
    head = prompt.parts["lm_head"]
    prompt.parts["lm_head"] = head._replace(flops=new * head.flops)
    assert_same_work(verify, prompt)


@pytest.mark.parametrize("model", PLAIN_ATTENTION, ids=str)
def test_a_checking_pass_reads_the_notes_once_for_all_its_tokens(model: Model) -> None:
    one, six = (kl.verify_step(model, 900, drafted, batch=7) for drafted in (0, 5))
    assert six.kv_bytes - one.kv_bytes == pytest.approx(7 * 5 * model.kv_bytes_per_token())


def test_mla_checks_in_the_latent_space() -> None:
    model = kl.model("DeepSeek-V3")
    part = kl.verify_step(model, context=1000, drafted=3).parts["attention"]
    pairs = 1001 + 1002 + 1003 + 1004
    assert part.flops == 61 * pairs * 2 * 128 * (2 * 512 + 64)
    assert part.kv_bytes == 61 * 1004 * 576 * 2


@pytest.mark.parametrize("model", PLAIN_ATTENTION, ids=str)
def test_a_mixed_step_is_both_with_the_weights_read_once(model: Model) -> None:
    mixed = kl.mixed_step(model, prompt=2000, cached=1488, context=4096, batch=32)
    chunk = kl.prefill(model, prompt=2000, cached=1488)
    step = kl.decode_step(model, context=4096, batch=32)
    assert mixed.flops == pytest.approx(chunk.flops + step.flops)
    assert mixed.kv_bytes == pytest.approx(chunk.kv_bytes + step.kv_bytes)
    streamed = model.streamed_weight_bytes()
    assert mixed.weight_bytes <= streamed + (512 + 32) * model.hidden * 2
    assert mixed.weight_bytes >= max(chunk.weight_bytes, step.weight_bytes)


# --- mixture of experts ------------------------------------------------------------------------


@given(contexts, batches, any_format(), st.sampled_from([1, 2, 4]))
def test_a_mixture_of_one_expert_is_dense_but_for_its_router(
    context: int, batch: int, weights: str, chips: int
) -> None:
    assume(weights != "mxfp4-moe")  # the one format that treats experts differently
    attention, each = Attention(4, 2, 16), FeedForward(96)
    dense = made_up(Block(3, attention, each, norms=5))
    mixture = made_up(Block(3, attention, Experts(1, 1, each), norms=5))
    assert mixture.params - dense.params == 3 * 64
    one, other = (
        kl.decode_step(m, context, batch, weights=weights, chips=chips) for m in (dense, mixture)
    )
    router = other.parts.pop("router")
    assert router.flops == 2 * 3 * 64 * batch
    other.parts["feed_forward"] = other.parts.pop("experts")
    assert_same_work(one, other)


@given(st.integers(1, 300), st.data())
def test_a_batch_touches_at_least_one_tokens_experts_and_at_most_all(
    experts: int, data: st.DataObject
) -> None:
    per_token = data.draw(st.integers(1, experts))
    touched = kl.experts_touched(experts, per_token, np.arange(1, 200))
    assert touched[0] == pytest.approx(per_token)  # type: ignore[index]
    assert np.all(np.diff(touched) >= 0)
    assert np.all(touched <= experts)


def test_experts_touched_agrees_with_dice() -> None:
    """16 experts, two a token, eight tokens, thrown 20,000 times with a fixed seed."""
    dice = np.random.default_rng(1)
    thrown = dice.random((20_000, 8, 16)).argsort(axis=-1)[..., :2].reshape(20_000, -1)
    distinct = np.mean([len(set(row)) for row in thrown.tolist()])
    assert kl.experts_touched(16, 2, 8) == pytest.approx(distinct, rel=5e-3)


def test_experts_cost_flops_by_visit_and_bytes_by_distinct_expert() -> None:
    mixtral = kl.model("Mixtral-8x7B-v0.1")
    one, many = (kl.decode_step(mixtral, 0, batch).parts["experts"] for batch in (1, 64))
    assert many.flops == 64 * one.flops
    assert one.weight_bytes == pytest.approx(mixtral.tensors["experts"] * 2 * 2 / 8)
    assert many.weight_bytes == pytest.approx(mixtral.tensors["experts"] * 2, rel=1e-6)


# --- many chips --------------------------------------------------------------------------------

REPLICATED = ("router", "norms", "embedding", "all_reduce")


@pytest.mark.parametrize("chips", [2, 4, 8])
def test_chips_share_the_work(chips: int) -> None:
    """Up to the KV heads every matrix divides; the router, norms and lookups are on each chip."""
    for name in ("Llama-2-70B", "Mixtral-8x7B-v0.1", "Qwen3-8B"):
        model = kl.model(name)
        alone, shared = (kl.decode_step(model, 4096, 32, chips=n) for n in (1, chips))
        for part, work in alone.parts.items():
            if part not in REPLICATED:
                assert chips * shared.parts[part].flops == pytest.approx(work.flops), part
                assert chips * shared.parts[part].bytes == pytest.approx(work.bytes), part
            else:
                assert shared.parts[part] == work


def test_kv_heads_are_copied_where_there_are_more_chips() -> None:
    llama = kl.model("Llama-2-70B")  # 64 query heads, 8 KV heads
    at = {n: kl.decode_step(llama, 4096, 32, chips=n) for n in (1, 8, 16, 64)}
    assert at[8].kv_bytes == at[1].kv_bytes / 8
    assert at[16].kv_bytes == at[64].kv_bytes == at[8].kv_bytes
    attention = {n: step.parts["attention"].flops for n, step in at.items()}
    assert attention[64] == attention[1] / 64
    key_value = 80 * 2 * 8192 * 8 * 128
    copied = 16 * at[16].parts["projections"].flops - at[1].parts["projections"].flops
    assert copied == 2 * 32 * key_value


def test_every_chip_keeps_the_whole_latent() -> None:
    deepseek = kl.model("DeepSeek-V3")
    alone, eight = (kl.decode_step(deepseek, 4096, 32, chips=n) for n in (1, 8))
    assert eight.kv_bytes == alone.kv_bytes
    assert eight.parts["attention"].flops == alone.parts["attention"].flops / 8
    down = 61 * 7168 * (1536 + 512 + 64)  # the down-projections are whole on every chip too
    whole = alone.parts["projections"].weight_bytes / 2
    assert eight.parts["projections"].weight_bytes / 2 == (whole - down) / 8 + down


def test_a_layer_reduces_twice_or_once_where_its_halves_run_side_by_side() -> None:
    """Around a ring each chip sends 2 (n-1)/n of the 16-bit rows."""
    rows = 7 * 64 * 2
    for parallel, reduces in ((False, 2), (True, 1)):
        block = Block(5, Attention(4, 4, 16), FeedForward(64), norms=0, parallel=parallel)
        step = kl.decode_step(made_up(block), 0, batch=7, chips=4)
        assert step.link_bytes == pytest.approx(5 * reduces * 2 * 3 / 4 * rows)
    assert kl.decode_step(made_up(block), 0).link_bytes == 0


def test_more_chips_are_faster_until_the_interconnect_is_the_bound() -> None:
    llama = kl.model("Llama-2-70B")
    times = [kl.decode_step(llama, 4096, chips=n).time(H100) for n in (1, 2, 4, 8)]
    assert times == sorted(times, reverse=True)
    assert all(n * t >= times[0] for n, t in zip((1, 2, 4, 8), times, strict=True))
    slow = replace(H100, interconnect=1e9)
    assert kl.prefill(llama, 4096, chips=8).bound(slow) == "interconnect"
