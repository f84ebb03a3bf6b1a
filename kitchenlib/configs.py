"""Hugging Face config files: from the keys of a ``config.json`` to the shapes of a model.

One table, `ARCHITECTURES`, says what each architecture fixes; the functions read the rest from
the keys, with the defaults that transformers has where a file leaves a key out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kitchenlib.inputs import dimension, wrong
from kitchenlib.layers import Attention, Block, Experts, FeedForward, LatentAttention

#: What "layer_types" may name; all but the first see a window of tokens.
LAYER_TYPES = ("full_attention", "sliding_attention", "chunked_attention")


class Keys:
    """The keys of one config, read with a word about what is missing or wrong."""

    def __init__(self, model_type: str, keys: Mapping[str, Any]) -> None:
        self.model_type = model_type
        self._keys = keys

    def get(self, name: str, default: Any = None) -> Any:
        """The value of `name`, or the default where it is missing or null."""
        value = self._keys.get(name)
        return default if value is None else value

    def size(self, *names: str, unit: str, default: int | None = None, least: int = 1) -> int:
        """A whole number, under the first of `names` that is there; without a default it must."""
        name = next((n for n in names if self.get(n) is not None), names[0])
        value = self.get(name, default)
        if value is None:
            raise ValueError(
                f'the {self.model_type} config lacks "{name}": give a whole number of {unit}'
            )
        return dimension(f'"{name}"', value, unit, least)

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise wrong(f'"{name}"', value, "give true or false")
        return value

    def listed(self, name: str) -> Sequence[Any] | None:
        value = self.get(name)
        if value is not None and not isinstance(value, (list, tuple)):
            raise wrong(f'"{name}"', value, "give a list")
        return value


@dataclass(frozen=True)
class Architecture:
    """What an architecture fixes and its config does not say.

    Attributes:
        matrices: of a feed-forward layer: 3 gated, 2 plain.
        norms: norm vectors per layer; norm_bias doubles each (LayerNorm with a bias).
        qkv_bias, out_bias, mlp_bias: whether biases are there; a key of the config may say more.
        qk_norm: a norm over each head of Q and K.
        sinks: one attention sink per query head.
        tied: default of "tie_word_embeddings".
        own_head_dim: the config must name "head_dim"; else hidden / heads is the definition.
        window_every: sliding layers when the config does not list them: a function of the layer.
        experts: reads the mixture of experts, if the architecture has one.
        expert_width: the key for the width of one expert.
        parallel: attention and feed-forward side by side.
        positions: rows of learned positions beyond "max_position_embeddings", or None.
        defaults: keys that a file may leave out, with the values transformers gives them then.
    """

    matrices: int = 3
    norms: int = 2
    norm_bias: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    sinks: bool = False
    tied: bool = False
    own_head_dim: bool = False
    window_every: Callable[[int, Keys], bool] | None = None
    experts: Callable[[Keys, Architecture], Experts] | None = None
    expert_width: str = "intermediate_size"
    parallel: bool = False
    positions: int | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)


def _mlp(keys: Keys, arch: Architecture, width: int) -> FeedForward:
    biased = arch.mlp_bias or keys.flag("mlp_bias", keys.flag("bias", False))
    hidden = keys.size("hidden_size", unit="values")
    vectors = (arch.matrices - 1) * width + hidden if biased else 0
    return FeedForward(width, arch.matrices, vectors)


def _routed(keys: Keys, arch: Architecture) -> Experts:
    """Mixtral, Qwen3-MoE, gpt-oss, DBRX, Llama 4, DeepSeek-V3: one shape, several spellings."""
    width = keys.size(arch.expert_width, unit="values per expert")
    each = _mlp(keys, arch, width)
    shared = keys.size("n_shared_experts", unit="experts", default=0, least=0)
    number = keys.size("num_local_experts", "num_experts", "n_routed_experts", unit="experts")
    per_token = keys.size("num_experts_per_tok", "experts_per_token", unit="experts per token")
    biased = arch.mlp_bias or keys.model_type == "deepseek_v3"  # its router corrects its scores
    return Experts(
        number,
        per_token,
        each,
        _mlp(keys, arch, width * shared) if shared else None,
        number if biased else 0,
    )


def _attention(keys: Keys, arch: Architecture, window: int | None) -> Attention | LatentAttention:
    heads = keys.size("num_attention_heads", unit="query heads")
    if keys.model_type == "deepseek_v3":
        ranked = keys.get("q_lora_rank") is not None
        return LatentAttention(
            heads,
            keys.size("q_lora_rank", unit="values") if ranked else None,
            keys.size("kv_lora_rank", unit="values"),
            keys.size("qk_nope_head_dim", unit="values per head"),
            keys.size("qk_rope_head_dim", unit="values per head"),
            keys.size("v_head_dim", unit="values per head"),
        )
    kv_heads = _kv_heads(keys, heads)
    head_dim = _head_dim(keys, arch, heads)
    hidden = keys.size("hidden_size", unit="values")
    biased = keys.flag("attention_bias", keys.flag("bias", False))
    vectors = (arch.qkv_bias or biased) * (heads + 2 * kv_heads) * head_dim
    vectors += (arch.out_bias or biased) * hidden
    vectors += arch.qk_norm * 2 * head_dim + arch.sinks * heads
    return Attention(heads, kv_heads, head_dim, window, vectors)


def _kv_heads(keys: Keys, heads: int) -> int:
    if keys.model_type != "falcon":
        return keys.size("num_key_value_heads", unit="key/value heads", default=heads)
    if keys.flag("new_decoder_architecture", False):
        return keys.size("num_kv_heads", unit="key/value heads", default=heads)
    # Falcon-7B's file says 71 KV heads, but "multi_query" overrules them: there is one
    return 1 if keys.flag("multi_query", True) else heads


def _head_dim(keys: Keys, arch: Architecture, heads: int) -> int:
    if arch.own_head_dim or keys.get("head_dim") is not None:
        return keys.size("head_dim", unit="values per head")
    hidden = keys.size("hidden_size", unit="values")
    if hidden % heads:
        raise ValueError(
            f'"hidden_size" {hidden} does not divide over {heads} heads, and the '
            f'{keys.model_type} config has no "head_dim": give one, in values per head'
        )
    return hidden // heads


def _windows(keys: Keys, arch: Architecture, layers: int) -> list[int | None]:
    """The window of each layer in tokens, None where a layer sees everything."""
    if not keys.flag("use_sliding_window", True):
        return [None] * layers
    kinds = keys.listed("layer_types")
    if kinds is not None:
        if len(kinds) != layers:
            raise ValueError(
                f'"layer_types" names {len(kinds)} layers, "num_hidden_layers" says {layers}: '
                "give one kind for each layer"
            )
        for kind in kinds:
            if kind not in LAYER_TYPES:
                raise wrong('"layer_types"', kind, f"this library knows {', '.join(LAYER_TYPES)}")
        sliding = [kind != "full_attention" for kind in kinds]
    elif keys.get("sliding_window") is None or arch.window_every is None:
        sliding = [False] * layers
    else:
        sliding = [arch.window_every(layer, keys) for layer in range(layers)]
    if not any(sliding):
        return [None] * layers
    window = keys.size("sliding_window", unit="tokens")
    return [window if slides else None for slides in sliding]


def _dense_layers(keys: Keys, layers: int) -> set[int]:
    """Layers of a mixture of experts that have a dense feed-forward layer instead."""
    first = keys.size("first_k_dense_replace", unit="layers", default=0, least=0)
    step = keys.size("decoder_sparse_step", unit="layers", default=1)
    listed = {
        dimension('"mlp_only_layers"', layer, "a layer's place, from 0", least=0)
        for layer in keys.listed("mlp_only_layers") or ()
    }
    return {x for x in range(layers) if x < first or x in listed or (x + 1) % step}


def shapes_from(model_type: str, given: Mapping[str, Any], arch: Architecture) -> dict[str, Any]:
    """The shapes that the keys describe, as the keyword arguments of a `kitchenlib.models.Model`.

    A key that is missing takes its default; one that is null says "none" (of a window, a rank).
    """
    keys = Keys(model_type, {**arch.defaults, **given})
    hidden = keys.size("hidden_size", unit="values")
    layers = keys.size("num_hidden_layers", unit="layers")
    norm = hidden * (2 if arch.norm_bias else 1)
    dense = _dense_layers(keys, layers) if arch.experts else set(range(layers))
    shapes = [
        (_attention(keys, arch, window), _mlp_of_layer(keys, arch, layer in dense))
        for layer, window in enumerate(_windows(keys, arch, layers))
    ]
    norms = _norms_per_layer(keys, arch) * norm
    positions = 0
    if arch.positions is not None:
        rows = keys.size("max_position_embeddings", unit="tokens") + arch.positions
        positions = rows * hidden
    bounded = keys.get("max_position_embeddings") is not None
    return {
        "hidden": hidden,
        "vocab": keys.size("vocab_size", unit="tokens"),
        "tied": keys.flag("tie_word_embeddings", arch.tied),
        "blocks": tuple(
            Block(shapes.count(shape), *shape, norms, _parallel(keys, arch))
            for shape in dict.fromkeys(shapes)  # equal layers together, in order
        ),
        "final_norm": norm,
        "positions": positions,
        "max_context": keys.size("max_position_embeddings", unit="tokens") if bounded else None,
    }


def _mlp_of_layer(keys: Keys, arch: Architecture, dense: bool) -> FeedForward | Experts:
    if arch.experts is not None and not dense:
        return arch.experts(keys, arch)
    default = None
    if keys.model_type == "falcon":
        default = 4 * keys.size("hidden_size", unit="values")
    names = ("ffn_hidden_size",) if keys.model_type == "falcon" else ("intermediate_size",)
    return _mlp(keys, arch, keys.size(*names, unit="values", default=default))


def _parallel(keys: Keys, arch: Architecture) -> bool:
    return arch.parallel and keys.flag("parallel_attn", True)


def _norms_per_layer(keys: Keys, arch: Architecture) -> int:
    if keys.model_type == "falcon" and _parallel(keys, arch):
        two = keys.flag("new_decoder_architecture", False)
        return keys.size("num_ln_in_parallel_attn", unit="norms", default=2 if two else 1)
    return arch.norms


def _every_layer(layer: int, keys: Keys) -> bool:
    return True


def _every_other(layer: int, keys: Keys) -> bool:
    return layer % 2 == 0


def _all_but_every_sixth(layer: int, keys: Keys) -> bool:
    return (layer + 1) % keys.size("sliding_window_pattern", unit="layers", default=6) != 0


def _three_of_four(layer: int, keys: Keys) -> bool:
    return layer % 4 != 3


def _upper_layers(layer: int, keys: Keys) -> bool:
    return layer >= keys.size("max_window_layers", unit="layers", least=0)


_GEMMA = Architecture(
    norms=4,
    tied=True,
    own_head_dim=True,
    window_every=_every_other,
    defaults={"num_key_value_heads": 4, "sliding_window": 4096},
)
# A multimodal file leaves out of its "text_config" whatever equals the default
_GEMMA_3 = replace(
    _GEMMA,
    qk_norm=True,
    window_every=_all_but_every_sixth,
    defaults={
        **_GEMMA.defaults,
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "head_dim": 256,
        "max_position_embeddings": 131_072,
    },
)
_QWEN_WINDOW = {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28}

#: The architectures that `Model.from_config` reads, by "model_type".
ARCHITECTURES: dict[str, Architecture] = {
    "llama": Architecture(),
    "mistral": Architecture(
        window_every=_every_layer, defaults={"num_key_value_heads": 8, "sliding_window": 4096}
    ),
    "mixtral": Architecture(
        window_every=_every_layer, experts=_routed, defaults={"num_key_value_heads": 8}
    ),
    "qwen2": Architecture(
        qkv_bias=True,
        window_every=_upper_layers,
        defaults={"num_key_value_heads": 32, **_QWEN_WINDOW},
    ),
    "qwen3": Architecture(
        qk_norm=True,
        own_head_dim=True,
        window_every=_upper_layers,
        defaults={"num_key_value_heads": 32, **_QWEN_WINDOW},
    ),
    "qwen3_moe": Architecture(
        qk_norm=True,
        own_head_dim=True,
        window_every=_every_layer,
        experts=_routed,
        expert_width="moe_intermediate_size",
        defaults={"num_key_value_heads": 4, **_QWEN_WINDOW},
    ),
    "gemma2": _GEMMA,
    "gemma3_text": _GEMMA_3,
    "gpt_oss": Architecture(
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        sinks=True,
        own_head_dim=True,
        window_every=_every_other,
        experts=_routed,
        defaults={"num_key_value_heads": 8, "sliding_window": 128},
    ),
    "deepseek_v3": Architecture(
        experts=_routed,
        expert_width="moe_intermediate_size",
        defaults={"q_lora_rank": 1536, "n_shared_experts": 1, "first_k_dense_replace": 3},
    ),
    "phi3": Architecture(window_every=_every_layer),
    "falcon": Architecture(matrices=2, norm_bias=True, tied=True, parallel=True),
}

#: Architectures of catalogue rows for which no Hugging Face reader is promised.
CATALOGUE_ONLY = {
    "gpt2": Architecture(
        matrices=2, norm_bias=True, qkv_bias=True, out_bias=True, mlp_bias=True, positions=0
    ),
    "opt": Architecture(
        matrices=2, norm_bias=True, qkv_bias=True, out_bias=True, mlp_bias=True, positions=2
    ),
    "dbrx": Architecture(experts=_routed),
    # Llama 4 attends in chunks of 8,192 tokens: counted as a window, which is its upper bound
    "llama4": Architecture(experts=_routed, window_every=_three_of_four),
    "chinchilla": Architecture(matrices=2),
    "palm": Architecture(norms=1, parallel=True),
}


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}: give the path of a config.json") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a config.json: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no config: a config.json is one object with keys")
    return content
