"""The parts of a layer: attention of every kind, feed-forward layers, experts.

A `Block` is a group of equal layers; a model is a list of blocks. Everything here is a shape:
counts of weights, of cached values and of FLOPs follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kitchenlib.inputs import dimension, instance, wrong


@dataclass(frozen=True)
class Attention:
    """Multi-head, grouped-query or multi-query attention, full or sliding.

    Attributes:
        heads: query heads.
        kv_heads: key/value heads; must divide `heads`. Equal to it: MHA; 1: MQA; else GQA.
        head_dim: values per head, a number of its own (never hidden / heads).
        window: tokens that a sliding-window layer sees, itself included; None sees all.
        vectors: parameters that are read but are no matrix: biases, sinks, per-head norms.
    """

    heads: int
    kv_heads: int
    head_dim: int
    window: int | None = None
    vectors: int = 0

    def __post_init__(self) -> None:
        dimension("heads", self.heads, "query heads")
        dimension("kv_heads", self.kv_heads, "key/value heads")
        dimension("head_dim", self.head_dim, "values per head")
        dimension("vectors", self.vectors, "parameters", least=0)
        if self.window is not None:
            dimension("window", self.window, "tokens")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} query heads do not divide over {self.kv_heads} key/value heads: "
                "heads must be a multiple of kv_heads"
            )

    @property
    def kind(self) -> str:
        name = "MHA" if self.kv_heads == self.heads else "MQA" if self.kv_heads == 1 else "GQA"
        return name if self.window is None else f"{name}, window {self.window}"

    @property
    def kv_values(self) -> int:
        """Values that one token adds to this layer's cache: one K and one V row per KV head."""
        return 2 * self.kv_heads * self.head_dim

    def head_weights(self, hidden: int) -> int:
        """Weights of Q and O: they divide over chips by query heads."""
        return 2 * hidden * self.heads * self.head_dim

    def kv_weights(self, hidden: int) -> int:
        """Weights of K and V: they divide over chips by KV heads."""
        return 2 * hidden * self.kv_heads * self.head_dim

    def shared_weights(self, hidden: int) -> int:
        """Weights that every chip holds whole: none here."""
        return 0

    def flops_per_pair(self, decoding: bool) -> int:
        """FLOPs for one query token looking at one key: scores and weighted values, all heads."""
        return 4 * self.heads * self.head_dim

    flops_per_cached_row = 0  # cached keys and values are used as they are


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (MLA, DeepSeek-V2/V3): one latent row is cached, not K and V.

    Decoding multiplies in the latent space (the up-projection is absorbed into queries and
    outputs); prefill expands all latent rows it looks at, cached ones too, to keys and values.

    Attributes:
        heads: query heads.
        q_rank: rank of the query's down-projection, or None without one.
        kv_rank: size of the cached latent.
        nope_dim, rope_dim: head size without and with position; the latter is cached once.
        value_dim: value size per head.
    """

    heads: int
    q_rank: int | None
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int

    def __post_init__(self) -> None:
        for name in ("heads", "kv_rank", "nope_dim", "rope_dim", "value_dim"):
            dimension(name, getattr(self, name), "heads" if name == "heads" else "values")
        if self.q_rank is not None:
            dimension("q_rank", self.q_rank, "values")

    kind = "MLA"
    window = None
    kv_heads = 1  # one latent serves all heads, so every chip keeps it whole

    @property
    def vectors(self) -> int:
        return (self.q_rank or 0) + self.kv_rank  # the two norms inside

    @property
    def kv_values(self) -> int:
        return self.kv_rank + self.rope_dim

    def head_weights(self, hidden: int) -> int:
        query = (self.q_rank or hidden) * (self.nope_dim + self.rope_dim)
        key_value = self.kv_rank * (self.nope_dim + self.value_dim)
        return self.heads * (query + key_value + self.value_dim * hidden)

    def kv_weights(self, hidden: int) -> int:
        return 0

    def shared_weights(self, hidden: int) -> int:
        return hidden * ((self.q_rank or 0) + self.kv_rank + self.rope_dim)

    def flops_per_pair(self, decoding: bool) -> int:
        if decoding:
            return 2 * self.heads * (2 * self.kv_rank + self.rope_dim)
        return 2 * self.heads * (self.nope_dim + self.rope_dim + self.value_dim)

    @property
    def flops_per_cached_row(self) -> int:
        """FLOPs to expand one cached row, when prefill looks back at it."""
        return 2 * self.kv_rank * self.heads * (self.nope_dim + self.value_dim)


@dataclass(frozen=True)
class FeedForward:
    """A dense feed-forward layer of `width`; gated (GLU) has 3 matrices, plain has 2."""

    width: int
    matrices: int = 3
    vectors: int = 0

    def __post_init__(self) -> None:
        dimension("width", self.width, "values")
        dimension("vectors", self.vectors, "parameters", least=0)
        if self.matrices not in (2, 3):
            raise wrong("matrices", self.matrices, "give 3 for a gated layer, else 2")

    def weights(self, hidden: int) -> int:
        return self.matrices * hidden * self.width


@dataclass(frozen=True)
class Experts:
    """A mixture-of-experts layer: a router, routed experts, and perhaps a shared expert.

    Attributes:
        number: routed experts.
        per_token: of those, how many each token visits (top-k).
        each: the shape of one routed expert.
        shared: the feed-forward layer that every token visits too, or None.
        vectors: router parameters that are no matrix (biases).
    """

    number: int
    per_token: int
    each: FeedForward
    shared: FeedForward | None = None
    vectors: int = 0

    def __post_init__(self) -> None:
        dimension("number", self.number, "experts")
        dimension("vectors", self.vectors, "parameters", least=0)
        instance("each", self.each, FeedForward, "FeedForward(width=14336)")
        if self.shared is not None:
            instance("shared", self.shared, FeedForward, "FeedForward(width=14336)")
        dimension("per_token", self.per_token, "experts per token")
        if self.per_token > self.number:
            raise ValueError(
                f"per_token = {self.per_token} will not do: a token cannot visit more than the "
                f"{self.number} experts there are"
            )


@dataclass(frozen=True)
class Block:
    """`layers` equal layers: attention, a feed-forward layer or experts, and their norms.

    Attributes:
        norms: parameters of the layer's norms.
        parallel: whether attention and feed-forward run side by side (one all-reduce, not two).

    A state-space layer will be one more kind of what stands in `attention`.
    """

    layers: int
    attention: Attention | LatentAttention
    mlp: FeedForward | Experts
    norms: int
    parallel: bool = False

    def __post_init__(self) -> None:
        dimension("layers", self.layers, "layers")
        dimension("norms", self.norms, "parameters", least=0)
        if not isinstance(self.attention, (Attention, LatentAttention)):
            raise wrong("attention", self.attention, "give an Attention or a LatentAttention")
        if not isinstance(self.mlp, (FeedForward, Experts)):
            raise wrong("mlp", self.mlp, "give a FeedForward or Experts")
        if not isinstance(self.parallel, bool):
            raise wrong("parallel", self.parallel, "give True or False")


def tensors_of(block: Block, hidden: int) -> dict[str, int]:
    """Parameters of one layer by group of tensors."""
    attention, mlp = block.attention, block.mlp
    groups = {
        "projections": attention.head_weights(hidden)
        + attention.kv_weights(hidden)
        + attention.shared_weights(hidden),
        "norms": block.norms + attention.vectors + mlp.vectors,
    }
    if isinstance(mlp, FeedForward):
        groups["feed_forward"] = mlp.weights(hidden)
        return groups
    groups["router"] = hidden * mlp.number
    groups["experts"] = mlp.number * mlp.each.weights(hidden)
    groups["expert_biases"] = mlp.number * mlp.each.vectors
    if mlp.shared is not None:
        groups["feed_forward"] = mlp.shared.weights(hidden)
        groups["norms"] += mlp.shared.vectors
    return groups
