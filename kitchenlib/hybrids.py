"""Config files of state-space and hybrid models: from a ``config.json`` to the shapes of a model.

A state-space model has no attention, or only in some of its layers. Keys, defaults and shapes are
those of transformers 5.24 (configuration and modeling files of mamba, mamba2, jamba, nemotron_h).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

from kitchenlib.configs import Keys
from kitchenlib.inputs import wrong
from kitchenlib.layers import Attention, Block, Experts, FeedForward, Mamba1, Mamba2, Mixer, Nothing

_STATE_FORMATS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "auto": "bf16"}
#: A letter of Nemotron-H's pattern -> what newer files call such a layer.
_LAYERS = {
    "M": ("mamba", "linear_attention"),
    "*": ("attention", "full_attention"),
    "-": ("mlp",),
    "E": ("moe",),
}


class _Layer(NamedTuple):
    mixer: Mixer
    mlp: FeedForward | Experts | Nothing
    norms: int


def hybrid_shapes(model_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The shapes that the keys describe, as the keyword arguments of a `kitchenlib.models.Model`.

    Raises ``ValueError`` for a missing or impossible key, named.
    """
    keys = Keys(model_type, given)
    hidden = keys.size("hidden_size", unit="values")
    layers = HYBRIDS[model_type](keys, hidden)
    bounded = keys.get("max_position_embeddings") is not None
    return {
        "hidden": hidden,
        "vocab": keys.size("vocab_size", unit="tokens"),
        "tied": keys.flag("tie_word_embeddings", model_type == "mamba"),
        "blocks": tuple(
            Block(layers.count(layer), *layer)
            for layer in dict.fromkeys(layers)  # equal layers together, in order
        ),
        "final_norm": hidden,
        "max_context": keys.size("max_position_embeddings", unit="tokens") if bounded else None,
    }


def _mamba(keys: Keys, hidden: int) -> list[_Layer]:
    inner = hidden * keys.size("expand", unit="channels per value", default=2)
    biases = inner * keys.flag("use_conv_bias", True)
    biases += (2 * inner + hidden) * keys.flag("use_bias", False)
    mixer = Mamba1(
        inner,
        keys.size("state_size", unit="values per channel", default=16),
        _rank(keys, "time_step_rank", hidden),
        keys.size("conv_kernel", unit="tokens", default=4),
        biases,
    )
    return list(repeat(_Layer(mixer, Nothing(), hidden), _count(keys)))


def _mamba2(keys: Keys, hidden: int) -> list[_Layer]:
    mixer = _headed(keys, hidden, "num_heads", "head_dim", "state_size")
    wide = hidden * keys.size("expand", unit="channels per value", default=2)
    if mixer.inner != wide:
        raise ValueError(
            f"the config says {mixer.heads} heads of {mixer.head_dim} channels, and {wide} channels"
            ' by "expand": "num_heads" times "head_dim" must be "expand" times "hidden_size"'
        )
    return list(repeat(_Layer(mixer, Nothing(), hidden), _count(keys)))


def _jamba(keys: Keys, hidden: int) -> list[_Layer]:
    inner = hidden * keys.size("mamba_expand", unit="channels per value", default=2)
    state = keys.size("mamba_d_state", unit="values per channel", default=16)
    rank = _rank(keys, "mamba_dt_rank", hidden)
    biases = inner * keys.flag("mamba_conv_bias", True)
    biases += (2 * inner + hidden) * keys.flag("mamba_proj_bias", False)
    norms = rank + 2 * state  # of the step size, of what is written and of what is read
    taps = keys.size("mamba_d_conv", unit="tokens", default=4)
    mamba, attention = Mamba1(inner, state, rank, taps, biases + norms), _attention(keys, hidden)
    dense = FeedForward(keys.size("intermediate_size", unit="values"))
    number = keys.size("num_experts", unit="experts", default=16)
    visited = keys.size("num_experts_per_tok", unit="experts per token", default=2)
    experts = Experts(number, visited, dense) if number > 1 else dense
    return [
        _Layer(
            attention if _in_turn(keys, "attn", layer, 8, 4) else mamba,
            experts if _in_turn(keys, "expert", layer, 2, 1) else dense,
            2 * hidden,
        )
        for layer in range(_count(keys))
    ]


def _in_turn(keys: Keys, what: str, layer: int, every: int, first: int) -> bool:
    """Whether this is one of the layers that come once in a period."""
    period = keys.size(f"{what}_layer_period", unit="layers", default=every)
    offset = keys.size(f"{what}_layer_offset", unit="layers", default=first, least=0)
    if offset >= period:
        name = f'"{what}_layer_offset"'
        raise wrong(name, offset, f"give a whole number of layers below the period of {period}")
    return layer % period == offset


def _nemotron_h(keys: Keys, hidden: int) -> list[_Layer]:
    """Each layer is one half only: a state space, attention, or a feed-forward layer."""
    halves: dict[str, Callable[[], _Layer]] = {
        "M": lambda: _Layer(
            _headed(keys, hidden, "mamba_num_heads", "mamba_head_dim", "ssm_state_size"),
            Nothing(),
            hidden,
        ),
        "*": lambda: _Layer(_attention(keys, hidden), Nothing(), hidden),
        "-": lambda: _Layer(Nothing(), _plain(keys, hidden, "intermediate_size"), hidden),
        "E": lambda: _Layer(Nothing(), _experts(keys, hidden), hidden),
    }
    letters = _pattern(keys)
    made = {letter: halves[letter]() for letter in dict.fromkeys(letters)}
    return [made[letter] for letter in letters]


def _pattern(keys: Keys) -> list[str]:
    """One letter for each layer, from the pattern or from the list of layers."""
    named = keys.listed("layers_block_type") or keys.listed("layer_types")
    if named is None:
        pattern = keys.get("hybrid_override_pattern")
        if not isinstance(pattern, str) or not pattern or set(pattern) - set(_LAYERS):
            wanted = f"give a letter for each layer, of {' '.join(_LAYERS)}"
            raise wrong('"hybrid_override_pattern"', pattern, wanted)
        return list(pattern)
    letters = {name: letter for letter, names in _LAYERS.items() for name in names}
    for name in named:
        if not isinstance(name, str) or name not in letters:
            raise wrong('"layers_block_type"', name, f"this library knows {', '.join(letters)}")
    return [letters[name] for name in named]


def _headed(keys: Keys, hidden: int, heads: str, head_dim: str, state: str) -> Mamba2:
    kept = keys.get("mamba_ssm_cache_dtype", "float32" if heads != "num_heads" else "auto")
    if kept not in _STATE_FORMATS:
        wanted = f"this library knows {', '.join(_STATE_FORMATS)}"
        raise wrong('"mamba_ssm_cache_dtype"', kept, wanted)
    plain = Mamba2(
        keys.size(heads, unit="heads", default=128),
        keys.size(head_dim, unit="channels per head", default=64),
        keys.size(state, unit="values per channel", default=128),
        keys.size("n_groups", "mamba_n_groups", unit="groups of heads", default=8),
        keys.size("conv_kernel", "mamba_d_conv", unit="tokens", default=4),
        state_format=_STATE_FORMATS[kept],
    )
    channels = plain.inner + 2 * plain.groups * plain.state
    biases = channels * keys.flag("use_conv_bias", True)
    if keys.flag("use_bias", False):
        biases += plain.inner + channels + plain.heads + hidden
    return replace(plain, biases=biases)


def _attention(keys: Keys, hidden: int) -> Attention:
    heads = keys.size("num_attention_heads", unit="query heads")
    groups = keys.size("num_key_value_heads", unit="key/value heads", default=heads)
    size = hidden // heads if hidden % heads == 0 else None
    head_dim = keys.size("head_dim", "attention_head_dim", unit="values per head", default=size)
    return Attention(heads, groups, head_dim)


def _plain(keys: Keys, hidden: int, width: str) -> FeedForward:
    """Squared ReLU: two matrices."""
    wide = keys.size(width, unit="values")
    return FeedForward(wide, 2, (wide + hidden) * keys.flag("mlp_bias", False))


def _experts(keys: Keys, hidden: int) -> Experts:
    if keys.get("moe_latent_size") is not None:
        wanted = "experts of a smaller row are not read here, and not guessed at"
        raise wrong('"moe_latent_size"', keys.get("moe_latent_size"), wanted)
    number = keys.size("n_routed_experts", unit="experts")
    shared = keys.size("n_shared_experts", unit="experts", default=1, least=0)
    return Experts(
        number,
        keys.size("num_experts_per_tok", unit="experts per token"),
        _plain(keys, hidden, "moe_intermediate_size"),
        _plain(keys, hidden, "moe_shared_expert_intermediate_size") if shared else None,
        number,  # its router corrects its scores
    )


def _count(keys: Keys) -> int:
    return keys.size("num_hidden_layers", unit="layers")


def _rank(keys: Keys, name: str, hidden: int) -> int:
    """Rank of the step size's projection; "auto" is a sixteenth of the row, rounded up."""
    if keys.get(name, "auto") == "auto":
        return -(-hidden // 16)
    return keys.size(name, unit="values")


#: The state-space and hybrid architectures that `Model.from_config` reads, by "model_type".
HYBRIDS: dict[str, Callable[[Keys, int], list[_Layer]]] = {
    "mamba": _mamba,
    "mamba2": _mamba2,
    "jamba": _jamba,
    "nemotron_h": _nemotron_h,
}
