"""The parts of a layer: attention of every kind, state spaces, feed-forward layers, experts.

A `Block` is a group of equal layers; a model is a list of blocks. Everything here is a shape:
counts of weights, of cached values and of FLOPs follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kitchenlib.inputs import Number, amount, dimension, instance, wrong
from kitchenlib.precision import AnyFormat, number_format


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


class _StateSpace:
    """What `Mamba1` and `Mamba2` share: a state of fixed size for each sequence, and no KV cache.

    The state is what the layer remembers of all tokens before. One token more changes it and adds
    nothing to it, so each step reads it whole and writes it whole. The last inputs of the
    convolution belong to it.
    """

    heads: int
    kv_heads: int
    state_format: str

    window = None
    kv_values = 0
    flops_per_cached_row = 0

    def flops_per_pair(self, decoding: bool) -> int:
        """No token looks at another one's key."""
        return 0

    def shared_weights(self, hidden: int) -> int:
        return 0

    @property
    def state_values(self) -> int:
        """Values of the recurrent state of one sequence."""
        raise NotImplementedError

    def conv_values(self, chips: Number = 1) -> Number:
        """Inputs that the convolution remembers of one sequence, on one of `chips` chips."""
        raise NotImplementedError

    def state_bytes(self, state: AnyFormat | None = None, chips: Number = 1) -> Number:
        """Bytes of one sequence's state on one of `chips` chips, all of it in the format `state`.

        None is as the layer keeps it: the recurrent state in its own format, the inputs of the
        convolution in 16 bit.
        """
        recurrent = number_format(self.state_format if state is None else state).bytes
        conv = number_format("bf16" if state is None else state).bytes
        return self.state_values / chips * recurrent + self.conv_values(chips) * conv

    def state_flops(self, chips: Number = 1) -> Number:
        """FLOPs for one token: it is written into the state, the state is read, and convolved.

        One multiply-add per value for each of the three. Letting the state fade is elementwise
        work, which is not counted.
        """
        return 4 * self.state_values / chips + 2 * self.conv_values(chips)


@dataclass(frozen=True)
class Mamba1(_StateSpace):
    """A selective state-space layer (Mamba; Gu and Dao, arXiv 2312.00752).

    Attributes:
        inner: channels, each with a state of its own.
        state: values in the state of one channel.
        rank: rank of the projection that gives each channel its step size.
        conv: tokens that the convolution sees.
        biases: parameters of biases and of norms inside the layer.
        state_format: number format of the recurrent state.
    """

    inner: int
    state: int
    rank: int
    conv: int = 4
    biases: int = 0
    state_format: str = "bf16"

    def __post_init__(self) -> None:
        for name, unit in (("inner", "channels"), ("state", "values per channel")):
            dimension(name, getattr(self, name), unit)
        dimension("rank", self.rank, "values")
        dimension("conv", self.conv, "tokens")
        dimension("biases", self.biases, "parameters", least=0)
        number_format(self.state_format)

    kind = "Mamba-1"
    kv_heads = 1  # what is written and how it is read is the same for all channels

    @property
    def heads(self) -> int:  # type: ignore[override]
        """Channels: they divide over chips."""
        return self.inner

    @property
    def vectors(self) -> int:
        """How fast each state fades, the skip, the convolution, the bias of the step size."""
        return self.inner * (self.state + 1 + self.conv + 1) + self.biases

    @property
    def state_values(self) -> int:
        return self.inner * self.state

    def conv_values(self, chips: Number = 1) -> Number:
        return self.inner * self.conv / chips

    def head_weights(self, hidden: int) -> int:
        """Weights of the projections in, to state and step size, and out."""
        into_state = self.inner * (self.rank + 2 * self.state) + self.rank * self.inner
        return 3 * hidden * self.inner + into_state

    def kv_weights(self, hidden: int) -> int:
        return 0

    @property
    def inner_reduce(self) -> int:
        """Values per token that chips add up inside the layer: what all channels share."""
        return self.rank + 2 * self.state


@dataclass(frozen=True)
class Mamba2(_StateSpace):
    """A state-space layer with heads (Mamba-2; Dao and Gu, arXiv 2405.21060).

    Attributes:
        heads: heads, each with one state of `head_dim` times `state` values.
        head_dim: channels of one head.
        state: values in the state of one channel.
        groups: groups of heads that write and read alike, as query heads share a key/value head;
            must divide `heads`.
        conv: tokens that the convolution sees.
        biases: parameters of biases.
        state_format: number format of the recurrent state.
    """

    heads: int
    head_dim: int
    state: int
    groups: int = 1
    conv: int = 4
    biases: int = 0
    state_format: str = "bf16"

    def __post_init__(self) -> None:
        dimension("heads", self.heads, "heads")
        dimension("head_dim", self.head_dim, "channels per head")
        dimension("state", self.state, "values per channel")
        dimension("groups", self.groups, "groups of heads")
        dimension("conv", self.conv, "tokens")
        dimension("biases", self.biases, "parameters", least=0)
        number_format(self.state_format)
        if self.heads % self.groups:
            raise ValueError(
                f"{self.heads} heads do not divide over {self.groups} groups: heads must be a "
                "multiple of groups"
            )

    kind = "Mamba-2"
    inner_reduce = 0

    @property
    def kv_heads(self) -> int:  # type: ignore[override]
        """Groups: they divide over chips, and are copied where there are more chips."""
        return self.groups

    @property
    def inner(self) -> int:
        """Channels of all heads."""
        return self.heads * self.head_dim

    @property
    def vectors(self) -> int:
        """Per head fading, skip and bias of the step size; the norm inside; the convolution."""
        return 3 * self.heads + self.inner + int(self.conv_values()) + self.biases

    @property
    def state_values(self) -> int:
        return self.inner * self.state

    def conv_values(self, chips: Number = 1) -> Number:
        shared = 2 * self.groups * self.state * kv_share(self.groups, chips)
        return (self.inner / chips + shared) * self.conv

    def head_weights(self, hidden: int) -> int:
        """Weights of the projections to gate, input and step size, and out."""
        return hidden * (3 * self.inner + self.heads)

    def kv_weights(self, hidden: int) -> int:
        """Weights of what a group shares: how its heads write the state and how they read it."""
        return 2 * hidden * self.groups * self.state


StateSpace = Mamba1 | Mamba2


@dataclass(frozen=True)
class Nothing:
    """The half of a layer that is not there: some hybrids have layers of one half only."""

    kind = "no attention"
    window = None
    heads = kv_heads = 1
    vectors = kv_values = flops_per_cached_row = 0

    def head_weights(self, hidden: int) -> int:
        return 0

    kv_weights = shared_weights = head_weights

    def flops_per_pair(self, decoding: bool) -> int:
        return 0


Mixer = Attention | LatentAttention | StateSpace | Nothing


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
        skew: how uneven the router is, in powers of an expert's rank; 0 is uniform. It changes
            which experts a batch touches: see `kitchenlib.routing_chances`.
    """

    number: int
    per_token: int
    each: FeedForward
    shared: FeedForward | None = None
    vectors: int = 0
    skew: float = 0.0

    def __post_init__(self) -> None:
        dimension("number", self.number, "experts")
        check_skew(self.skew)
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
        attention: or a state space in its place. `Nothing()` where the layer has neither.
        mlp: `Nothing()` where the layer has none.
        norms: parameters of the layer's norms.
        parallel: whether attention and feed-forward run side by side (one all-reduce, not two).
    """

    layers: int
    attention: Mixer
    mlp: FeedForward | Experts | Nothing
    norms: int
    parallel: bool = False

    def __post_init__(self) -> None:
        dimension("layers", self.layers, "layers")
        dimension("norms", self.norms, "parameters", least=0)
        if not isinstance(self.attention, Mixer):
            wanted = "give an Attention, LatentAttention, Mamba1, Mamba2 or Nothing()"
            raise wrong("attention", self.attention, wanted)
        if not isinstance(self.mlp, (FeedForward, Experts, Nothing)):
            raise wrong("mlp", self.mlp, "give a FeedForward or Experts, or Nothing()")
        if isinstance(self.attention, Nothing) and isinstance(self.mlp, Nothing):
            raise ValueError("a layer has one half at least: give attention, mlp or both")
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
    if not isinstance(mlp, Experts):
        return groups
    groups["router"] = hidden * mlp.number
    groups["experts"] = mlp.number * mlp.each.weights(hidden)
    groups["expert_biases"] = mlp.number * mlp.each.vectors
    if mlp.shared is not None:
        groups["feed_forward"] = mlp.shared.weights(hidden)
        groups["norms"] += mlp.shared.vectors
    return groups


_STEEPEST = 20  # powers of the rank: beyond it a token's experts are always the same


def check_skew(skew: float) -> float:
    """The skew of a router as a number, or a ``ValueError``."""
    number = amount("skew", skew, "powers of the rank")
    if isinstance(number, np.ndarray) or number > _STEEPEST:
        raise wrong("skew", skew, f"give one number of powers of the rank, from 0 to {_STEEPEST}")
    return number


def kv_share(kv_heads: int, n: Number) -> Number:
    """The share of the KV heads on one chip: 1/n, but never less than one head."""
    if isinstance(n, np.ndarray):
        return np.maximum(1 / n, 1 / kv_heads)
    return max(1 / n, 1 / kv_heads)
