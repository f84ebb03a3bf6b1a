"""Models: the shapes of the matrices, and what follows from them.

A `Model` is a list of `Block` groups (so many equal layers), an embedding and an LM head. Counts
of parameters and of KV-cache values follow from the shapes; none is stored. The catalogue is
``data/models.csv``; where a row names a Hugging Face config file in ``data/configs``, the shapes
come from that file through `Model.from_config`.

What popular calculators get wrong, and this module does not: the head size is its own number, not
hidden / heads; keys and values have their own number of heads; multi-head latent attention (MLA)
caches one latent row, not K and V; sliding-window layers stop growing; a gated feed-forward layer
has three matrices; every expert sits in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib import data
from kitchenlib.configs import ARCHITECTURES, CATALOGUE_ONLY, read_json, shapes_from
from kitchenlib.hybrids import HYBRIDS, hybrid_shapes
from kitchenlib.inputs import (
    Number,
    UnknownName,
    count,
    dimension,
    find,
    instance,
    wrong,
)
from kitchenlib.layers import (
    Attention,
    Block,
    Experts,
    FeedForward,
    Nothing,
    StateSpace,
    tensors_of,
)
from kitchenlib.precision import TENSORS, AnyFormat, number_format


@dataclass(frozen=True)
class Model:
    """A decoder-only language model, by its shapes.

    Attributes:
        name: as in the catalogue.
        hidden: size of one token's row.
        vocab: tokens in the vocabulary.
        tied: whether the LM head is the input embedding (then it is stored and read once).
        blocks: groups of equal layers, first to last.
        final_norm, positions: parameters of the last norm and of learned position rows.
        max_context: tokens the model was made for, or None. The law does not enforce it.
        published_total, published_active: what the model's makers say, or None.
        mismatch: why the shapes give another number than the published one, if they do.
        source: where shapes and published counts come from.
    """

    name: str
    hidden: int
    vocab: int
    tied: bool
    blocks: tuple[Block, ...]
    final_norm: int
    positions: int = 0
    max_context: int | None = None
    published_total: int | None = None
    published_active: int | None = None
    mismatch: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        dimension("hidden", self.hidden, "values")
        dimension("vocab", self.vocab, "tokens")
        dimension("final_norm", self.final_norm, "parameters", least=0)
        dimension("positions", self.positions, "parameters", least=0)
        if self.max_context is not None:
            dimension("max_context", self.max_context, "tokens")
        if not isinstance(self.tied, bool):
            raise wrong("tied", self.tied, "give True or False")
        if not isinstance(self.blocks, tuple) or not self.blocks:
            raise wrong("blocks", self.blocks, "give a tuple of at least one Block of layers")
        for block in self.blocks:
            instance("blocks", block, Block, 'kl.model("Llama-2-70B").blocks[0]')

    def __hash__(self) -> int:
        return hash((self.name, self.hidden, self.vocab))  # enough, and quick

    @property
    def layers(self) -> int:
        return sum(block.layers for block in self.blocks)

    @cached_property
    def tensors(self) -> dict[str, int]:
        """Parameters by group of tensors (see `kitchenlib.precision.TENSORS`).

        A tied embedding is counted under "lm_head", since that is where it is streamed.
        "norms" holds every parameter that is no matrix: norms, biases, sinks.
        """
        groups = dict.fromkeys(TENSORS, 0)
        table = self.vocab * self.hidden
        groups["lm_head"] = table
        groups["embedding"] = self.positions + (0 if self.tied else table)
        groups["norms"] = self.final_norm
        for block in self.blocks:
            for name, parameters in tensors_of(block, self.hidden).items():
                groups[name] += block.layers * parameters
        return groups

    @property
    def params(self) -> int:
        """All parameters that sit in memory, every expert included."""
        return sum(self.tensors.values())

    @cached_property
    def active_params(self) -> int:
        """Parameters that one token meets: all but the experts it does not visit.

        Counts both embedding tables, as most publishers do (gpt-oss leaves out the input one).
        """
        idle = sum(
            block.layers
            * (block.mlp.number - block.mlp.per_token)
            * (block.mlp.each.weights(self.hidden) + block.mlp.each.vectors)
            for block in self.blocks
            if isinstance(block.mlp, Experts)
        )
        return self.params - idle

    @property
    def exact(self) -> bool:
        """Whether the shapes give the published total to the digit."""
        return self.params == self.published_total

    def weight_bytes(self, weights: AnyFormat = "bf16") -> float:
        """Bytes of all weights in memory, in the format `weights`; see `precision.Format`."""
        form = number_format(weights)
        return sum(n * form.bytes_of(group) for group, n in self.tensors.items())

    def streamed_weight_bytes(self, weights: AnyFormat = "bf16") -> float:
        """Bytes that one pass reads if it touches every expert: all but an untied embedding.

        The input embedding is a lookup of one row per token, not a stream.
        """
        lookup = self.tensors["embedding"] * number_format(weights).bytes_of("embedding")
        return self.weight_bytes(weights) - lookup

    def kv_bytes_per_token(self, kv: AnyFormat = "bf16") -> float:
        """Bytes that one more token adds to the KV cache while no window is full yet."""
        values = sum(block.layers * block.attention.kv_values for block in self.blocks)
        return values * number_format(kv).bytes

    def kv_bytes(self, tokens: ArrayLike, kv: AnyFormat = "bf16") -> Number:
        """Bytes of the KV cache of one sequence of `tokens` tokens; windows stop growing."""
        length = count("tokens", tokens, "tokens", least=0)
        values: Number = 0.0
        for block in self.blocks:
            window = block.attention.window
            kept = length if window is None else np.minimum(length, window)
            values = values + block.layers * block.attention.kv_values * kept
        return values * number_format(kv).bytes

    def state_bytes(self, state: AnyFormat | None = None) -> float:
        """Bytes of the fixed-size state of one sequence, whatever its length: 0 without one.

        State-space layers keep it, the last inputs of their convolutions included. `state` is the
        number format of all of it; None is as the layers keep it.
        """
        mixers = [(b.layers, b.attention) for b in self.blocks]
        return float(sum(n * m.state_bytes(state) for n, m in mixers if isinstance(m, StateSpace)))

    @classmethod
    def from_config(cls, config: str | PathLike[str] | Mapping[str, Any], name: str = "") -> Model:
        """Read a Hugging Face ``config.json`` (a path, or its content as a dict).

        Reads the architectures in `ARCHITECTURES` and `HYBRIDS`; keys as transformers writes
        them, with the same defaults where a file leaves a key out. A multimodal file is read for
        its text part.

        Raises:
            UnknownName: another architecture; it is refused by name, not guessed at.
            ValueError: a missing or impossible key, named.
        """
        keys = _keys(config)
        model_type = keys.get("model_type")
        if model_type is None:
            raise ValueError(
                'the config has no "model_type": it names the architecture, for example "llama"'
            )
        if not isinstance(model_type, str) or model_type not in ARCHITECTURES | HYBRIDS:
            raise UnknownName(
                f"the architecture {model_type!r} is not read here, and not guessed at. "
                f"Read are: {', '.join(ARCHITECTURES | HYBRIDS)}"
            )
        if not name:
            name = str(keys.get("_name_or_path") or model_type)
        if model_type in HYBRIDS:
            return cls(name, **hybrid_shapes(model_type, keys))
        return cls(name, **shapes_from(model_type, keys, ARCHITECTURES[model_type]))

    def __repr__(self) -> str:
        kinds = ", ".join(
            dict.fromkeys(b.attention.kind for b in self.blocks if b.attention != Nothing())
        )
        active = ""
        if self.active_params != self.params:
            active = f" ({self.active_params / 1e9:.3g}B active)"
        return (
            f"<{self.name}: {self.params / 1e9:.3g}B parameters{active}, {self.layers} layers, "
            f"{kinds}{f'; {self.caveat}' if self.caveat else ''}>"
        )

    @property
    def caveat(self) -> str:
        """Where the shapes give another count than the published one: which, and why."""
        if self.exact or self.published_total is None:
            return ""
        return f"published as {self.published_total / 1e9:.4g}B ({self.mismatch})"


def _keys(config: str | PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of a config; of a multimodal one, those of its text part."""
    if isinstance(config, Mapping):
        keys = config
    elif isinstance(config, (str, PathLike)):
        keys = read_json(Path(config))
    else:
        raise wrong("config", config, "give the path of a config.json, or its content as a dict")
    text = keys.get("text_config")
    if not isinstance(text, Mapping):
        return keys
    tied = keys.get("tie_word_embeddings")
    return text if tied is None else {"tie_word_embeddings": tied, **text}


def layer_matrices(model: Model) -> list[tuple[str, int, int]]:
    """The matrices of the model's first layer as (name, inputs, outputs).

    Only for layers of seven (or six) plain matrices: no MLA, no experts. Else ``ValueError``.
    """
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    block = model.blocks[0]
    attention, mlp = block.attention, block.mlp
    if not isinstance(attention, Attention) or not isinstance(mlp, FeedForward):
        raise ValueError(
            f"the first layer of {model.name} is not made of plain matrices (MLA, a state space or "
            "experts): choose a dense model with multi-head or grouped-query attention"
        )
    hidden, query = model.hidden, attention.heads * attention.head_dim
    key = attention.kv_heads * attention.head_dim
    names = ("gate", "up", "down") if mlp.matrices == 3 else ("up", "down")
    shapes = [("Q", hidden, query), ("K", hidden, key), ("V", hidden, key), ("O", query, hidden)]
    shapes += [(name, hidden, mlp.width) for name in names[:-1]]
    return [*shapes, ("down", mlp.width, hidden)]


# ---------------------------------------------------------------------------------------------
# The catalogue

#: Plain columns of the catalogue -> the keys of a config.
_COLUMNS = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "ffn": "intermediate_size",
    "vocab": "vocab_size",
    "max_context": "max_position_embeddings",
    "window": "sliding_window",
    "experts": "num_local_experts",
    "experts_per_token": "num_experts_per_tok",
    "shared_experts": "n_shared_experts",
}


def _from_columns(row: Mapping[str, str]) -> Model:
    architecture = row["architecture"]
    keys: dict[str, Any] = {key: int(row[c]) for c, key in _COLUMNS.items() if row[c]}
    keys["tie_word_embeddings"] = row["tied"] == "yes"
    keys["moe_intermediate_size"] = keys["intermediate_size"]  # no row has dense layers as well
    if architecture == "falcon":
        keys |= {
            "new_decoder_architecture": True,
            "num_kv_heads": keys["num_key_value_heads"],
            "ffn_hidden_size": keys["intermediate_size"],
        }
    known = ARCHITECTURES | CATALOGUE_ONLY
    return Model(row["name"], **shapes_from(architecture, keys, known[architecture]))


def _load(row: Mapping[str, str]) -> Model:
    if row["config"]:
        model = Model.from_config(data.FOLDER / "configs" / row["config"], row["name"])
    else:
        model = _from_columns(row)
    facts: dict[str, Any] = {
        "published_total": int(row["published_total"]),
        "published_active": int(row["published_active"]),
        "mismatch": row["mismatch"],
        "source": f"{row['source']}; counts: {row['published_source']}",
    }
    return replace(model, **facts)


@cache
def _catalogue() -> dict[str, Mapping[str, str]]:
    return {row["name"]: row for row in data.rows("models.csv")}


@cache
def _model(name: str) -> Model:
    return _load(_catalogue()[name])


def models() -> tuple[Model, ...]:
    """All models of the catalogue, in its order."""
    return tuple(_model(name) for name in _catalogue())


def model(name: str) -> Model:
    """The model called `name` in the catalogue, or known there under another name.

    See `kitchenlib.inputs.find` for what counts as its name.
    """
    return _model(find("model", name, _catalogue(), data.aliases("model"))["name"])
