"""Mamba, Jamba, Nemotron-H: their published sizes, their states, and broken config files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib import Attention, Experts, FeedForward, Mamba1, Mamba2, Model, Nothing, data
from kitchenlib.units import MB

MAMBA, MAMBA2 = kl.model("Mamba-2.8B"), kl.model("Mamba2-2.7B")
JAMBA, NEMOTRON = kl.model("Jamba-v0.1"), kl.model("Nemotron-H-8B")
HYBRIDS = [MAMBA, MAMBA2, JAMBA, NEMOTRON]


def shipped(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((data.FOLDER / "configs" / f"{name}.json").read_text())
    return content


def kinds(model: Model) -> dict[str, int]:
    """Layers of each kind of mixer."""
    found: dict[str, int] = {}
    for block in model.blocks:
        name = type(block.attention).__name__
        found[name] = found.get(name, 0) + block.layers
    return found


# --- states and notes of the catalogue's models ------------------------------------------------


def test_the_shared_stock_of_a_mamba_guest_weighs_13_mb_and_not_5_gb() -> None:
    """5.5 GB are the weights of all guests together."""
    assert MAMBA.state_bytes("bf16") == 64 * (5120 * 16 + 5120 * 4) * 2
    assert MAMBA.state_bytes("bf16") / MB == pytest.approx(13.1, abs=0.05)
    assert MAMBA.state_bytes("fp32") / MB == pytest.approx(26.2, abs=0.05)
    assert MAMBA.weight_bytes() / 1e9 == pytest.approx(5.54, abs=0.005)


def test_mamba_2_keeps_a_state_six_times_as_large() -> None:
    assert MAMBA2.state_bytes("bf16") / MB == pytest.approx(86.6, abs=0.05)
    assert MAMBA2.state_bytes() / MAMBA.state_bytes() == pytest.approx(6.6, abs=0.05)


def test_nemotron_keeps_its_recurrent_state_in_32_bit() -> None:
    mixers = [b.attention for b in NEMOTRON.blocks if isinstance(b.attention, Mamba2)]
    recurrent = 24 * mixers[0].state_values * 4
    assert recurrent / MB == pytest.approx(100.7, abs=0.05)
    convolved = 24 * (8192 + 2 * 8 * 128) * 4 * 2
    assert NEMOTRON.state_bytes() == recurrent + convolved


@pytest.mark.parametrize("model", [JAMBA, NEMOTRON], ids=lambda model: model.name)
def test_a_hybrid_takes_notes_in_four_layers_only(model: Model) -> None:
    assert model.kv_bytes_per_token() == 16_384
    assert kinds(model)["Attention"] == 4
    assert kl.model("Llama-2-70B").kv_bytes_per_token() == 20 * 16_384
    assert kl.model("Llama-3.1-8B").kv_bytes_per_token() == 8 * 16_384


def test_layers_of_each_kind() -> None:
    assert kinds(MAMBA) == {"Mamba1": 64}
    assert kinds(MAMBA2) == {"Mamba2": 64}
    assert kinds(JAMBA) == {"Mamba1": 28, "Attention": 4}
    assert kinds(NEMOTRON) == {"Mamba2": 24, "Nothing": 24, "Attention": 4}
    assert [model.layers for model in HYBRIDS] == [64, 64, 32, 52]
    mixtures = sum(b.layers for b in JAMBA.blocks if isinstance(b.mlp, Experts))
    assert mixtures == 16


@pytest.mark.parametrize("model", HYBRIDS, ids=lambda model: model.name)
def test_a_token_of_a_hybrid_multiplies_every_active_matrix_once(model: Model) -> None:
    step = kl.decode_step(model, context=0)
    past = sum(step.parts[p].flops for p in ("attention", "state") if p in step.parts)
    matrices = model.active_params - model.tensors["embedding"] - model.tensors["norms"]
    assert step.flops - past == 2 * matrices


def test_long_after_short_a_mamba_step_moves_the_same_bytes() -> None:
    steps = kl.decode_step(MAMBA, np.array([1, 1000, 10**6]))
    assert steps.bytes == pytest.approx(MAMBA.streamed_weight_bytes() + 2 * 13.1072e6 + 5120)
    llama = kl.decode_step(kl.model("Llama-2-7B"), np.array([1000, 10**6])).bytes
    assert np.diff(llama) > 0


# --- config files ------------------------------------------------------------------------------


def test_missing_keys_take_the_defaults_of_transformers() -> None:
    for name, model, keys in (
        ("Mamba-2.8B", MAMBA, "state_size expand conv_kernel time_step_rank use_conv_bias"),
        ("Mamba2-2.7B", MAMBA2, "head_dim state_size expand conv_kernel use_bias"),
        ("Jamba-v0.1", JAMBA, "attn_layer_offset attn_layer_period mamba_dt_rank num_experts"),
        ("Nemotron-H-8B", NEMOTRON, "mamba_num_heads n_groups head_dim mamba_ssm_cache_dtype"),
    ):
        left = {k: v for k, v in shipped(name).items() if k not in keys.split()}
        assert Model.from_config(left).blocks == model.blocks


def test_a_rank_of_auto_is_a_sixteenth_rounded_up() -> None:
    config = shipped("Mamba-2.8B") | {"time_step_rank": "auto", "hidden_size": 2561}
    mixer = Model.from_config(config).blocks[0].attention
    assert isinstance(mixer, Mamba1)
    assert mixer.rank == 161


def test_biases_of_a_state_space_are_counted_where_the_file_says_so() -> None:
    biased = Model.from_config(shipped("Mamba-2.8B") | {"use_bias": True})
    assert biased.params - MAMBA.params == 64 * (2 * 5120 + 2560)
    plain = Model.from_config(shipped("Mamba-2.8B") | {"use_conv_bias": False})
    assert MAMBA.params - plain.params == 64 * 5120
    headed = Model.from_config(shipped("Mamba2-2.7B") | {"use_bias": True})
    assert headed.params - MAMBA2.params == 64 * ((5120 + 5376 + 80) + 2560)
    jamba = Model.from_config(shipped("Jamba-v0.1") | {"mamba_proj_bias": True})
    assert jamba.params - JAMBA.params == 28 * (2 * 8192 + 4096)


def test_a_pattern_may_be_a_list_of_layers() -> None:
    config = shipped("Nemotron-H-8B")
    letters = config.pop("hybrid_override_pattern")
    for key, names in (
        ("layers_block_type", {"M": "mamba", "*": "attention", "-": "mlp"}),
        ("layer_types", {"M": "linear_attention", "*": "full_attention", "-": "mlp"}),
    ):
        listed = config | {key: [names[letter] for letter in letters]}
        assert Model.from_config(listed).blocks == NEMOTRON.blocks


def test_a_pattern_may_hold_experts() -> None:
    more = {
        "hybrid_override_pattern": "ME*E",
        "n_routed_experts": 128,
        "num_experts_per_tok": 6,
        "moe_intermediate_size": 1856,
        "moe_shared_expert_intermediate_size": 3712,
    }
    model = Model.from_config(shipped("Nemotron-H-8B") | more)
    mixture = model.blocks[1]
    assert (mixture.layers, mixture.attention) == (2, Nothing())
    each, shared = FeedForward(1856, 2), FeedForward(3712, 2)
    assert mixture.mlp == Experts(128, 6, each, shared, vectors=128)
    alone = Model.from_config(shipped("Nemotron-H-8B") | more | {"n_shared_experts": 0})
    assert model.params - alone.params == 2 * shared.weights(4096)
    with pytest.raises(ValueError, match=r'"moe_latent_size" = 1024 .*not guessed at'):
        Model.from_config(shipped("Nemotron-H-8B") | more | {"moe_latent_size": 1024})


def test_a_jamba_of_one_expert_is_dense() -> None:
    model = Model.from_config(shipped("Jamba-v0.1") | {"num_experts": 1})
    assert {type(block.mlp) for block in model.blocks} == {FeedForward}
    assert model.active_params == model.params


def test_the_heads_of_an_older_file_go_by_another_name() -> None:
    config = shipped("Nemotron-H-8B")
    config["attention_head_dim"] = config.pop("head_dim")
    assert Model.from_config(config).blocks == NEMOTRON.blocks
    mixers = [b.attention for b in NEMOTRON.blocks if isinstance(b.attention, Attention)]
    assert mixers == [Attention(32, 8, 128)]


def test_a_state_may_be_kept_in_16_bit() -> None:
    config = shipped("Nemotron-H-8B") | {"mamba_ssm_cache_dtype": "bfloat16"}
    assert Model.from_config(config).state_bytes() == NEMOTRON.state_bytes("bf16")
    with pytest.raises(ValueError, match=r'"mamba_ssm_cache_dtype" = .*float32, bfloat16'):
        Model.from_config(config | {"mamba_ssm_cache_dtype": "int4"})


@pytest.mark.parametrize("pattern", [None, "", "MX", ["M"], 3])
def test_a_pattern_has_a_known_letter_for_each_layer(pattern: object) -> None:
    config = shipped("Nemotron-H-8B") | {"hybrid_override_pattern": pattern}
    with pytest.raises(ValueError, match=r'"hybrid_override_pattern" = .*letter for each layer'):
        Model.from_config(config)
    with pytest.raises(ValueError, match=r'"layers_block_type" = .*knows mamba'):
        Model.from_config(config | {"layers_block_type": ["mamba", "rnn"]})


def test_heads_and_channels_of_mamba_2_agree() -> None:
    with pytest.raises(ValueError, match=r"81 heads of 64 channels, and 5120 channels"):
        Model.from_config(shipped("Mamba2-2.7B") | {"num_heads": 81})


def test_a_layer_that_comes_once_in_a_period_has_its_place_in_it() -> None:
    for what in ("attn", "expert"):
        config = shipped("Jamba-v0.1") | {f"{what}_layer_offset": 8}
        with pytest.raises(ValueError, match=f'"{what}_layer_offset" = 8 .*below the period'):
            Model.from_config(config)


NEEDED = {
    "Mamba-2.8B": ["hidden_size", "num_hidden_layers", "vocab_size"],
    "Mamba2-2.7B": ["hidden_size", "num_hidden_layers"],
    "Jamba-v0.1": ["intermediate_size", "num_attention_heads"],
    "Nemotron-H-8B": ["intermediate_size", "num_attention_heads"],
}


@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in NEEDED.items() for key in keys])
def test_a_missing_or_impossible_key_is_named_with_its_unit(name: str, key: str) -> None:
    config = shipped(name)
    with pytest.raises(ValueError, match=f'lacks "{key}": give a whole number of '):
        Model.from_config(config | {key: None})
    for value in (0, -1, 0.5, "4096", True, [1]):
        with pytest.raises(ValueError, match=f'"{key}" = .*whole number of'):
            Model.from_config(config | {key: value})
