"""State-space and hybrid layers: a state of fixed size, read and written at every step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib import Attention, Block, Chip, FeedForward, Mamba1, Mamba2, Model, Nothing
from kitchenlib.serving.memory import USABLE
from tests.law_models import made_up

FIRST = Mamba1(inner=128, state=16, rank=4)
SECOND = Mamba2(heads=8, head_dim=16, state=32, groups=2)
PURE = made_up(Block(3, FIRST, Nothing(), norms=64))
HEADED = made_up(Block(3, SECOND, Nothing(), norms=64))
HYBRID = made_up(
    Block(6, replace(SECOND, state_format="fp32"), Nothing(), norms=64),
    Block(2, Attention(4, 2, 16), Nothing(), norms=64),
    Block(5, Nothing(), FeedForward(256, matrices=2), norms=64),
)
MIXED = [PURE, HEADED, HYBRID]

models = pytest.mark.parametrize("model", MIXED, ids=["Mamba-1", "Mamba-2", "hybrid"])


# --- the state ---------------------------------------------------------------------------------


def test_a_state_is_counted_value_by_value() -> None:
    assert FIRST.state_values + FIRST.conv_values() == 128 * 16 + 128 * 4
    channels = 8 * 16 + 2 * 2 * 32  # the convolution sees what is written and read, too
    assert SECOND.state_values + SECOND.conv_values() == 8 * 16 * 32 + channels * 4


def test_a_state_is_kept_in_its_own_format_and_the_convolution_in_16_bit() -> None:
    kept = replace(SECOND, state_format="fp32").state_bytes()
    assert kept == 4 * 8 * 16 * 32 + 2 * SECOND.conv_values()
    assert SECOND.state_bytes("fp32") == 2 * SECOND.state_bytes() == 2 * SECOND.state_bytes("bf16")


@models
def test_a_state_does_not_grow(model: Model) -> None:
    """What grows is the notes of the attention layers that are left."""
    kept = kl.memory_needed(model, np.array([0, 1, 1000, 10**6])) - model.weight_bytes()
    assert kept == pytest.approx(model.state_bytes() + model.kv_bytes([0, 1, 1000, 10**6]))
    if model is not HYBRID:
        assert model.kv_bytes_per_token() == model.kv_bytes(10**6) == 0


def test_only_the_attention_layers_of_a_hybrid_take_notes() -> None:
    assert HYBRID.kv_bytes_per_token() == 2 * (2 * 2 * 16) * 2
    assert kl.decode_step(HYBRID, 99).kv_bytes == 100 * HYBRID.kv_bytes_per_token()


def test_a_model_of_attention_layers_has_no_state() -> None:
    llama = kl.model("Llama-2-7B")
    assert llama.state_bytes() == 0
    assert kl.decode_step(llama, 10).state_bytes == 0
    assert "state" not in kl.decode_step(llama, 10).parts


# --- its traffic -------------------------------------------------------------------------------


@models
@given(context=st.integers(1, 10**6), batch=st.integers(1, 300))
def test_a_step_reads_and_writes_every_state(model: Model, context: int, batch: int) -> None:
    step = kl.decode_step(model, context, batch)
    assert step.state_bytes == pytest.approx(2 * batch * model.state_bytes())
    assert step.bytes == pytest.approx(step.weight_bytes + step.kv_bytes + step.state_bytes)


@models
@given(prompt=st.integers(1, 10**6), batch=st.integers(1, 300))
def test_a_prompt_writes_the_state_once(model: Model, prompt: int, batch: int) -> None:
    fill = kl.prefill(model, prompt, batch)
    assert fill.state_bytes == pytest.approx(batch * model.state_bytes())


@models
def test_the_next_chunk_of_a_prompt_reads_the_state_first(model: Model) -> None:
    fill = kl.prefill(model, 4096, cached=np.array([0, 1, 2048]))
    assert fill.state_bytes == pytest.approx(model.state_bytes() * np.array([1, 2, 2]))


@models
def test_checking_drafts_moves_the_state_once_for_all_of_them(model: Model) -> None:
    one, six = (kl.verify_step(model, 900, drafted, batch=7) for drafted in (0, 5))
    assert one.state_bytes == six.state_bytes
    assert six.parts["state"].flops == 6 * one.parts["state"].flops


@models
def test_a_mixed_step_moves_the_states_of_both(model: Model) -> None:
    mixed = kl.mixed_step(model, prompt=2000, cached=1488, context=4096, batch=32)
    chunk, step = kl.prefill(model, 2000, cached=1488), kl.decode_step(model, 4096, batch=32)
    for kind in ("flops", "kv_bytes", "state_bytes"):
        assert getattr(mixed, kind) == pytest.approx(getattr(chunk, kind) + getattr(step, kind))


@models
def test_sizes_of_a_state_space_may_be_arrays(model: Model) -> None:
    contexts, batches = np.array([0, 5, 1000])[:, None], np.array([1, 64])
    swept = kl.decode_step(model, contexts, batches)
    for i, context in enumerate((0, 5, 1000)):
        for j, batch in enumerate((1, 64)):
            one = kl.decode_step(model, context, batch)
            assert np.broadcast_to(swept.flops, (3, 2))[i, j] == pytest.approx(one.flops)
            assert np.broadcast_to(swept.bytes, (3, 2))[i, j] == pytest.approx(one.bytes)


# --- weights and FLOPs -------------------------------------------------------------------------


def test_a_mamba_1_layer_matrix_by_matrix() -> None:
    matrices = [
        (64, 2 * 128),  # in: the input and its gate
        (128, 4 + 2 * 16),  # to the step size, to what is written and to what is read
        (4, 128),  # from the step size's rank to the channels
        (128, 64),  # out
    ]
    weights = sum(rows * columns for rows, columns in matrices)
    step = kl.decode_step(PURE, 10, batch=7).parts
    assert step["projections"].weight_bytes == 3 * 2 * weights
    assert step["projections"].flops == 3 * 7 * 2 * weights
    assert PURE.tensors["norms"] == 64 + 3 * (64 + 128 * 16 + 128 * 4 + 128 + 128)


def test_a_mamba_2_layer_matrix_by_matrix() -> None:
    inner, shared = 8 * 16, 2 * 2 * 32
    weights = 64 * (inner + (inner + shared) + 8) + inner * 64  # gate, convolved, step size; out
    step = kl.decode_step(HEADED, 10, batch=7).parts
    assert step["projections"].weight_bytes == 3 * 2 * weights
    assert step["projections"].flops == 3 * 7 * 2 * weights
    assert HEADED.tensors["norms"] == 64 + 3 * (64 + 3 * 8 + inner + (inner + shared) * 4)


def test_a_token_goes_into_the_state_and_out_of_it() -> None:
    """As NumPy does it: an outer product, a weighted sum over the state, a short convolution."""
    heads, dim, size = 8, 16, 32
    into, out = heads * dim * size, heads * size * dim  # multiply-adds
    taps = (heads * dim + 2 * 2 * size) * 4
    part = kl.decode_step(HEADED, 10, batch=7).parts["state"]
    assert part.flops == 3 * 7 * 2 * (into + out + taps)
    assert kl.prefill(HEADED, 100).parts["state"].flops == pytest.approx(100 / 7 * part.flops)


@models
def test_flops_grow_with_the_prompt_and_not_with_its_square(model: Model) -> None:
    short, long = (kl.prefill(model, prompt).parts for prompt in (1000, 10_000))
    assert long["state"].flops == 10 * short["state"].flops
    if model is HYBRID:
        assert long["attention"].flops > 90 * short["attention"].flops


@models
def test_a_pass_reads_every_weight_of_a_hybrid_once(model: Model) -> None:
    fill = kl.prefill(model, 500)
    rows = fill.parts["embedding"].weight_bytes
    assert fill.weight_bytes - rows == model.streamed_weight_bytes()


def test_layers_of_one_half_count_as_layers() -> None:
    assert HYBRID.layers == 13
    assert HYBRID.tensors["feed_forward"] == 5 * 2 * 64 * 256
    assert "no attention" not in repr(HYBRID)
    assert "Mamba-2, GQA" in repr(HYBRID)


def test_a_hybrid_is_not_made_of_seven_matrices() -> None:
    for model in MIXED:
        with pytest.raises(ValueError, match=r"MLA, a state space or experts\): choose a dense"):
            kl.layer_matrices(model)


# --- many chips --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [PURE, HEADED], ids=["Mamba-1", "Mamba-2"])
def test_chips_share_the_state(model: Model) -> None:
    alone, two = (kl.decode_step(model, 10, 32, chips=n) for n in (1, 2))
    for part in ("projections", "state", "lm_head"):
        assert 2 * two.parts[part].flops == pytest.approx(alone.parts[part].flops)
        assert 2 * two.parts[part].bytes == pytest.approx(alone.parts[part].bytes)
    kept = [float(kl.memory_needed(model, 10, b, chips=2)) for b in (1, 2)]
    assert kept[1] - kept[0] == pytest.approx(model.state_bytes() / 2)


def test_groups_are_copied_where_there_are_more_chips() -> None:
    """What a group writes and reads is convolved on every chip that has one of its heads."""
    bytes_at = {n: float(kl.decode_step(HEADED, 10, chips=n).state_bytes) for n in (1, 2, 8)}
    own = 3 * 2 * 2 * (8 * 16 * 32 + 8 * 16 * 4)  # layers, bytes, read and written; channels
    shared = 3 * 2 * 2 * 2 * 2 * 32 * 4
    assert bytes_at[1] == own + shared
    assert bytes_at[2] == (own + shared) / 2
    assert bytes_at[8] == own / 8 + shared / 2


def test_a_layer_of_one_half_reduces_once() -> None:
    """A Mamba-1 layer also adds up, over the chips, what all its channels share."""
    ring = 2 * 3 / 4 * 7 * 2  # sends, tokens, bytes
    for mixer, inner in ((FIRST, 4 + 2 * 16), (replace(SECOND, groups=4), 0)):
        for mlp, halves in ((Nothing(), 1), (FeedForward(64), 2)):
            model = made_up(Block(5, mixer, mlp, norms=0))
            step = kl.decode_step(model, 1, batch=7, chips=4)
            assert step.link_bytes == pytest.approx(5 * ring * (halves * 64 + inner))


# --- what fits, and how fast -------------------------------------------------------------------


@models
def test_as_many_guests_fit_as_states_and_notes_leave_room_for(model: Model) -> None:
    room = 1000.5 * (model.state_bytes() + model.kv_bytes(50))
    memory = float(model.weight_bytes() + room) / USABLE
    chip = Chip("small", bandwidth=1e12, peaks={"bf16": 1e14}, memory_bytes=memory)
    assert kl.max_batch(model, chip, context=50) == 1000
    assert kl.fits(model, chip, context=50, batch=1000)
    assert not kl.fits(model, chip, context=50, batch=1001)


def test_the_batch_gains_nothing_once_the_states_are_heavier_than_the_weights() -> None:
    """The intensity of a pure state-space model tops out, at any length of context."""
    ceiling = kl.intensity_ceiling(PURE, np.array([1, 1000, 10**6]))
    crowd = kl.decode_step(PURE, 1000, batch=10**9).intensity
    assert ceiling == pytest.approx(np.full(3, crowd), rel=1e-4)


@pytest.mark.parametrize("mixer", [FIRST, SECOND], ids=["Mamba-1", "Mamba-2"])
def test_a_format_of_the_notes_leaves_the_state_alone(mixer: Any) -> None:
    model = made_up(Block(3, mixer, FeedForward(8), norms=0))
    steps = [kl.decode_step(model, 10, kv=kv).state_bytes for kv in ("bf16", "fp8")]
    assert steps[0] == steps[1] > 0
