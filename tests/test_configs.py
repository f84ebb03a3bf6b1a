"""Hugging Face config files: those shipped, those of the wild, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kitchenlib as kl
from kitchenlib import Attention, Experts, FeedForward, LatentAttention, Model, data
from kitchenlib.configs import ARCHITECTURES
from kitchenlib.hybrids import HYBRIDS
from kitchenlib.inputs import UnknownName

FILES = sorted((data.FOLDER / "configs").glob("*.json"))


def shipped(name: str) -> dict[str, Any]:
    """A config file of the catalogue, as a dict to change."""
    content: dict[str, Any] = json.loads((data.FOLDER / "configs" / f"{name}.json").read_text())
    return content


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in keys}


def attention_of(model: Model) -> Attention:
    attention = model.blocks[0].attention
    assert isinstance(attention, Attention)
    return attention


def windows(model: Model) -> dict[int | None, int]:
    return {block.attention.window: block.layers for block in model.blocks}


# --- what is read ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_reads_the_same_as_path_text_and_dict(path: Path) -> None:
    model = Model.from_config(path, "mine")
    assert Model.from_config(str(path), "mine") == model
    assert Model.from_config(json.loads(path.read_text()), "mine") == model
    listed = next(m for m in kl.models() if m.name.split(" (")[0] == path.stem)
    assert (model.blocks, model.params) == (listed.blocks, listed.params)


def test_reading_changes_nothing_in_the_dict() -> None:
    config = shipped("Gemma-3-27B")
    before = json.dumps(config)
    Model.from_config(config)
    assert json.dumps(config) == before


def test_every_architecture_has_a_shipped_file() -> None:
    assert {json.loads(path.read_text())["model_type"] for path in FILES} == {
        *ARCHITECTURES,
        *HYBRIDS,
    }


def test_a_model_is_named_after_its_repository_or_its_architecture() -> None:
    config = shipped("Llama-3.1-8B")
    assert Model.from_config(config).name == "llama"
    assert Model.from_config(config | {"_name_or_path": "meta/llama"}).name == "meta/llama"
    assert Model.from_config(config, name="mine").name == "mine"


def test_keys_of_no_concern_are_passed_over() -> None:
    config = shipped("Llama-2-70B")
    more = {
        "quantization_config": {"bits": 4, "quant_method": "awq"},
        "torch_dtype": "bfloat16",
        "transformers_version": "4.31.0",
        "pretraining_tp": 1,
        "anything": [1, {"else": None}],
    }
    assert Model.from_config(config | more) == Model.from_config(config)


# --- files as they are found on the hub --------------------------------------------------------

GEMMA_3_27B_IT: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "image_token_index": 262144,
    "mm_tokens_per_image": 256,
    "model_type": "gemma3",
    "text_config": {
        "head_dim": 128,
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "model_type": "gemma3_text",
        "num_attention_heads": 32,
        "num_hidden_layers": 62,
        "num_key_value_heads": 16,
        "query_pre_attn_scalar": 168,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"},
}
GEMMA_3_4B_IT: dict[str, Any] = {
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
}


def test_the_text_part_of_a_multimodal_file_is_read() -> None:
    """Such a file leaves out of its text part whatever equals the default: the vocabulary here."""
    model = Model.from_config(GEMMA_3_27B_IT)
    assert model.params == kl.model("Gemma-3-27B (text)").params
    assert model.blocks == kl.model("Gemma-3-27B (text)").blocks
    assert model.tied


def test_a_text_part_may_leave_out_its_heads() -> None:
    model = Model.from_config(GEMMA_3_4B_IT)
    attention = attention_of(model)
    assert (attention.heads, attention.kv_heads, attention.head_dim) == (8, 4, 256)
    assert windows(model) == {1024: 29, None: 5}
    published = 4_300_079_472
    vision = 416_866_032 + 1152 * 2560 + 1152  # SigLIP tower, projector and its norm
    assert model.params == published - vision


def test_the_outer_file_may_tie_the_embeddings() -> None:
    text = GEMMA_3_4B_IT["text_config"]
    untied = Model.from_config(GEMMA_3_4B_IT | {"tie_word_embeddings": False})
    assert not untied.tied
    inner = {**GEMMA_3_4B_IT, "tie_word_embeddings": False}
    inner["text_config"] = {**text, "tie_word_embeddings": True}
    assert Model.from_config(inner).tied


def test_sliding_layers_follow_the_pattern_where_the_file_does_not_list_them() -> None:
    for name in ("Gemma-2-9B", "Gemma-3-27B", "gpt-oss-20b"):
        config = shipped(name)
        assert "layer_types" in config
        assert Model.from_config(without(config, "layer_types")) == Model.from_config(config)
    short = without(shipped("Gemma-3-27B"), "layer_types") | {"sliding_window_pattern": 2}
    assert windows(Model.from_config(short)) == {1024: 31, None: 31}


def test_an_older_file_without_head_size_divides_hidden_by_heads() -> None:
    for name in ("Llama-2-70B", "Mistral-7B-v0.1", "Mixtral-8x7B-v0.1"):
        config = shipped(name)
        expected = Model.from_config(config)
        assert Model.from_config(without(config, "head_dim")) == expected
        assert Model.from_config(config | {"head_dim": None}) == expected


def test_an_explicit_head_size_wins() -> None:
    """Mistral-Nemo: 5120 values, 32 heads of 128."""
    config = shipped("Mistral-7B-v0.1") | {"hidden_size": 5120, "head_dim": 128}
    assert attention_of(Model.from_config(config)).head_dim == 128


def test_llama_without_kv_heads_is_mha() -> None:
    config = without(shipped("Llama-3.1-8B"), "num_key_value_heads")
    assert attention_of(Model.from_config(config)).kv_heads == 32
    null = shipped("Llama-3.1-8B") | {"num_key_value_heads": None}
    assert attention_of(Model.from_config(null)).kv_heads == 32


def test_missing_keys_take_the_defaults_of_transformers() -> None:
    mistral = without(shipped("Mistral-7B-v0.1"), "num_key_value_heads", "sliding_window")
    assert attention_of(Model.from_config(mistral)).kv_heads == 8
    assert windows(Model.from_config(mistral)) == {4096: 32}
    deepseek = without(
        shipped("DeepSeek-V3"), "q_lora_rank", "n_shared_experts", "first_k_dense_replace"
    )
    assert Model.from_config(deepseek).params == kl.model("DeepSeek-V3").params


@pytest.mark.parametrize("name", ["Mistral-7B-v0.1", "Phi-3-mini-4k", "Gemma-2-9B"])
def test_a_window_of_null_is_no_window(name: str) -> None:
    config = without(shipped(name), "layer_types") | {"sliding_window": None}
    assert windows(Model.from_config(config)).keys() == {None}


def test_qwen_uses_its_window_only_when_told() -> None:
    """As Qwen2.5 files are: a window that is switched off; and what switching it on does."""
    config = without(shipped("Qwen2.5-7B"), "layer_types") | {
        "sliding_window": 131_072,
        "max_window_layers": 20,
    }
    silent = without(config, "use_sliding_window")
    assert windows(Model.from_config(silent)) == {None: 28}
    assert windows(Model.from_config(config | {"use_sliding_window": False})) == {None: 28}
    on = config | {"use_sliding_window": True}
    assert windows(Model.from_config(on)) == {None: 20, 131_072: 8}


def test_experts_go_by_several_names() -> None:
    config = shipped("Qwen3-30B-A3B")
    hub = without(config, "num_local_experts") | {"num_experts": config["num_local_experts"]}
    assert Model.from_config(hub) == Model.from_config(config)
    oss = shipped("gpt-oss-20b")
    old = without(oss, "num_experts_per_tok") | {"experts_per_token": 4}
    assert Model.from_config(old) == Model.from_config(oss)


def test_some_layers_of_a_mixture_may_be_dense() -> None:
    config = shipped("Qwen3-30B-A3B") | {"decoder_sparse_step": 2, "mlp_only_layers": [1, 3]}
    layers = {type(b.mlp): b.layers for b in Model.from_config(config).blocks}
    assert layers == {Experts: 22, FeedForward: 26}
    deepseek = Model.from_config(shipped("DeepSeek-V3") | {"first_k_dense_replace": 0})
    assert len(deepseek.blocks) == 1


def test_mla_may_come_without_a_query_rank_and_without_a_shared_expert() -> None:
    """Moonlight-16B-A3B has such a file."""
    config = shipped("DeepSeek-V3") | {"q_lora_rank": None, "n_shared_experts": None}
    (_, mixture) = Model.from_config(config).blocks
    assert isinstance(mixture.attention, LatentAttention)
    assert mixture.attention.q_rank is None
    assert isinstance(mixture.mlp, Experts)
    assert mixture.mlp.shared is None


def test_embeddings_are_tied_by_default_where_transformers_ties_them() -> None:
    tied = {
        path.stem: Model.from_config(
            without(json.loads(path.read_text()), "tie_word_embeddings")
        ).tied
        for path in FILES
    }
    assert {name for name, is_tied in tied.items() if is_tied} == {
        "Falcon-7B",
        "Gemma-2-9B",
        "Gemma-3-27B",
        "Mamba-2.8B",
    }


def test_falcons_of_every_kind() -> None:
    """7B: multi-query, side by side. 40B: eight KV heads, two norms. RW-1B: MHA with biases."""
    config = shipped("Falcon-7B")
    hub = without(config, "ffn_hidden_size", "num_kv_heads", "max_position_embeddings")
    assert Model.from_config(hub).params == 6_921_720_704
    assert Model.from_config(hub).max_context is None
    new = {"new_decoder_architecture": True, "num_kv_heads": 8, "vocab_size": 65024}
    shape = {"hidden_size": 8192, "num_attention_heads": 128, "num_hidden_layers": 60}
    assert Model.from_config(hub | new | shape).params == kl.model("Falcon-40B").params
    rw = {
        "alibi": True,
        "bias": True,
        "hidden_size": 2048,
        "model_type": "falcon",
        "multi_query": False,
        "new_decoder_architecture": False,
        "num_attention_heads": 32,
        "num_hidden_layers": 24,
        "parallel_attn": False,
        "vocab_size": 50304,
    }
    assert Model.from_config(rw).params == 1_311_625_216
    assert attention_of(Model.from_config(rw)).kind == "MHA"
    assert not Model.from_config(rw).blocks[0].parallel


def test_biases_are_counted_where_the_file_says_so() -> None:
    plain = shipped("Llama-3.1-8B")
    biased = Model.from_config(plain | {"attention_bias": True, "mlp_bias": True})
    attention = (32 + 2 * 8) * 128 + 4096
    feed_forward = 2 * 14_336 + 4096
    assert biased.params - Model.from_config(plain).params == 32 * (attention + feed_forward)


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model_type", ["rwkv", "zamba2", "deepseek_v2", "llama4", "gpt2", "qwen3_next", "RefinedWeb"]
)
def test_another_architecture_is_refused_by_name(model_type: str) -> None:
    config = shipped("Llama-2-70B") | {"model_type": model_type}
    with pytest.raises(UnknownName, match=f"'{model_type}' is not read here") as caught:
        Model.from_config(config)
    assert all(known in str(caught.value) for known in ARCHITECTURES | HYBRIDS)


@pytest.mark.parametrize("model_type", [["llama"], 3, {}, ""])
def test_a_model_type_is_a_word(model_type: object) -> None:
    with pytest.raises(UnknownName, match=r"is not read here"):
        Model.from_config(shipped("Llama-2-70B") | {"model_type": model_type})


@pytest.mark.parametrize("config", [{}, {"hidden_size": 1}, {"model_type": None}])
def test_a_config_names_its_architecture(config: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'no "model_type"'):
        Model.from_config(config)


NEEDED = {
    "Llama-2-70B": ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"],
    "Mixtral-8x7B-v0.1": ["num_local_experts", "num_experts_per_tok", "intermediate_size"],
    "Qwen3-8B": ["head_dim"],
    "Qwen3-30B-A3B": ["moe_intermediate_size", "head_dim"],
    "DeepSeek-V3": [
        "moe_intermediate_size",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
    ],
    "gpt-oss-20b": ["head_dim", "num_local_experts"],
    "Gemma-2-9B": ["head_dim", "intermediate_size"],
}


@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in NEEDED.items() for key in keys])
def test_a_missing_key_is_named_with_its_unit(name: str, key: str) -> None:
    config = shipped(name)
    wanted = f'the {config["model_type"]} config lacks "{key}": give a whole number of '
    for broken in (without(config, key), config | {key: None}):
        with pytest.raises(ValueError, match=wanted):
            Model.from_config(broken)


SIZES = {
    "Llama-2-70B": [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
    ],
    "Mistral-7B-v0.1": ["sliding_window"],
    "Qwen3-30B-A3B": [
        "num_local_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
        "decoder_sparse_step",
    ],
    "DeepSeek-V3": ["q_lora_rank", "kv_lora_rank", "v_head_dim"],
}
BROKEN: list[Any] = [-1, 0.5, "4096", True, [4096], {}, float("nan"), float("inf"), 10**40]


@pytest.mark.parametrize("value", [0, *BROKEN], ids=str)
@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in SIZES.items() for key in keys])
def test_a_size_is_a_whole_number_above_zero(name: str, key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f'"{key}" = .*whole number of'):
        Model.from_config(shipped(name) | {key: value})


@pytest.mark.parametrize("value", BROKEN, ids=str)
@pytest.mark.parametrize("key", ["n_shared_experts", "first_k_dense_replace"])
def test_some_sizes_may_be_zero(key: str, value: Any) -> None:
    Model.from_config(shipped("DeepSeek-V3") | {key: 0})
    with pytest.raises(ValueError, match=f'"{key}" = .*whole number of'):
        Model.from_config(shipped("DeepSeek-V3") | {key: value})


@pytest.mark.parametrize("value", BROKEN, ids=str)
def test_patterns_of_layers_are_checked_too(value: Any) -> None:
    gemma = without(shipped("Gemma-3-27B"), "layer_types")
    with pytest.raises(ValueError, match=r'"sliding_window_pattern" = '):
        Model.from_config(gemma | {"sliding_window_pattern": value})
    qwen = without(shipped("Qwen2.5-7B"), "layer_types") | {"use_sliding_window": True}
    with pytest.raises(ValueError, match=r'"max_window_layers" = '):
        Model.from_config(qwen | {"sliding_window": 4096, "max_window_layers": value})
    if value != [4096]:
        with pytest.raises(ValueError, match=r'"mlp_only_layers" = '):
            Model.from_config(shipped("Qwen3-30B-A3B") | {"mlp_only_layers": value})


@pytest.mark.parametrize("value", ["yes", 1, 0, [], {}], ids=str)
@pytest.mark.parametrize("key", ["tie_word_embeddings", "attention_bias", "mlp_bias"])
def test_a_flag_is_true_or_false(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f'"{key}" = .*give true or false'):
        Model.from_config(shipped("Llama-2-70B") | {key: value})


def test_heads_must_divide() -> None:
    llama = without(shipped("Llama-2-70B"), "head_dim")
    with pytest.raises(ValueError, match=r"60 query heads do not divide over 8 key/value heads"):
        Model.from_config(llama | {"num_attention_heads": 60, "head_dim": 128})
    with pytest.raises(ValueError, match=r'"hidden_size" 8192 does not divide over 72 heads'):
        Model.from_config(llama | {"num_attention_heads": 72})


def test_no_token_visits_more_experts_than_there_are() -> None:
    with pytest.raises(ValueError, match=r"cannot visit more than the 8 experts"):
        Model.from_config(shipped("Mixtral-8x7B-v0.1") | {"num_experts_per_tok": 9})


def test_layer_types_name_every_layer_with_a_known_kind() -> None:
    gemma = shipped("Gemma-2-9B")
    kinds = gemma["layer_types"]
    with pytest.raises(ValueError, match=r'names 41 layers, "num_hidden_layers" says 42'):
        Model.from_config(gemma | {"layer_types": kinds[1:]})
    for other in ("linear_attention", "", None, 7, ["full_attention"]):
        with pytest.raises(
            ValueError, match=r'"layer_types" = .*full_attention, sliding_attention'
        ):
            Model.from_config(gemma | {"layer_types": [*kinds[1:], other]})
    for no_list in ("full_attention", 42, {"full_attention": 42}):
        with pytest.raises(ValueError, match=r'"layer_types" = .*give a list'):
            Model.from_config(gemma | {"layer_types": no_list})


def test_layers_that_slide_need_a_window() -> None:
    config = shipped("Gemma-2-9B") | {"sliding_window": None}
    with pytest.raises(ValueError, match=r'lacks "sliding_window": give a whole number of tokens'):
        Model.from_config(config)


@pytest.mark.parametrize("config", [None, 3, b"config.json", ["llama"], object()], ids=str)
def test_a_config_is_a_path_or_a_dict(config: Any) -> None:
    with pytest.raises(
        ValueError, match=r"give the path of a config.json, or its content as a dict"
    ):
        Model.from_config(config)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no file .*nowhere.json"):
        Model.from_config(tmp_path / "nowhere.json")
    with pytest.raises(ValueError, match=r"cannot be read as a config.json"):
        Model.from_config(tmp_path)  # a folder


@pytest.mark.parametrize("content", ["", "{", "not json", '{"model_type": }'])
def test_a_file_that_is_not_json_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"config.json cannot be read as a config.json"):
        Model.from_config(path)


@pytest.mark.parametrize("content", ["[]", "3", '"llama"', "null", '[{"model_type": "llama"}]'])
def test_a_file_holds_one_object(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"one object with keys"):
        Model.from_config(path)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF\xff\xfe\x00\x01")
    with pytest.raises(ValueError, match=r"cannot be read as a config.json"):
        Model.from_config(path)
