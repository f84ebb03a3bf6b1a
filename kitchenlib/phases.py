"""What a model has to do in each phase: the flood (prefill) and the drip (decode).

Both phases are one forward pass over some new tokens that look back at tokens in the KV cache.
The pass is kept apart by groups of operators:

==============  ===============================================================================
projections     the Q, K, V and O matrices (for MLA: its down- and up-projections; for a state
                space: its projections in and out)
attention       scores and weighted values against the KV cache, and the traffic of the cache
state           state-space layers: a token into and out of the state, and the state's traffic
feed_forward    dense feed-forward matrices, and the shared expert of a mixture
router          the router of a mixture of experts
experts         routed experts: FLOPs of those visited, bytes of the expected distinct ones
lm_head         the last matrix, for the last token of each sequence (for all that are verified)
embedding       one row looked up per new token
norms           norms, biases and other parameters that are read but are no matrix
all_reduce      what tensor parallelism sends over the interconnect
==============  ===============================================================================

Matrix products are counted, elementwise work is not. Causal attention counts the pairs that are
needed, S(S+1)/2 for a prompt of S tokens. Weights are read once a pass, however many tokens share
them; notes (the KV cache) are never shared.

The state of a state-space layer is read and written once a pass, however many tokens the pass has;
where nothing is cached yet it is written only. Its FLOPs are those of the recurrence, token by
token, which is the least: kernels that read a prompt in chunks calculate more, and a scan runs
below the peak of the matrix cores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.experts import expected_distinct, experts_touched_by, routing_chances
from kitchenlib.inputs import Number, broadcastable, count, instance, wrong
from kitchenlib.layers import (
    Attention,
    Block,
    Experts,
    FeedForward,
    LatentAttention,
    Mamba1,
    Mamba2,
    Mixer,
    Nothing,
    StateSpace,
    kv_share,
)
from kitchenlib.models import Model
from kitchenlib.precision import AnyFormat, Format, number_format
from kitchenlib.roofline import Part, Work, rates_of
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD

_ACTIVATION_BYTES = 2  # what travels between chips is in 16 bit
_ALL_REDUCE_SENDS = 2  # a ring sends twice (n-1)/n of the data: reduce-scatter, then all-gather


def prefill(
    model: Model,
    prompt: ArrayLike,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Work:
    """The work of reading prompts: all new tokens in one pass, logits for the last one only.

    Args:
        model: the model.
        prompt: prompt tokens of each sequence, cached ones included.
        batch: sequences read together, each with a cache of its own.
        cached: prompt tokens already in the cache (a prefix); at most prompt - 1, since the
            last token must be run to get logits.
        weights, kv: number formats of the weights and of the KV cache.
        compute: the rate of the matrix products; None takes what the weight format implies.
            Attention, and tensors that the format keeps in 16 bit, multiply in 16 bit.
        chips: tensor-parallel chips. The result is the work of **one** of them.

    Returns:
        `Work`. Sizes broadcast: arrays give arrays.

    Raises:
        ValueError: a size that is not a whole number in range; heads that do not divide.
        UnknownName: an unknown format or rate.
    """
    length = count("prompt", prompt, "tokens")
    before = count("cached", cached, "tokens", least=0)
    sequences = count("batch", batch, "sequences")
    n = count("chips", chips, "chips")
    broadcastable(prompt=length, cached=before, batch=sequences, chips=n)
    if np.any(np.greater_equal(before, length)):
        wanted = (
            "at most prompt - 1 tokens can be cached, since the last must be run for its logits"
        )
        raise wrong("cached", cached, wanted)
    group = _Group(sequences, length - before, before, decoding=False)
    return _forward(model, [group], weights, kv, compute, n)


def decode_step(
    model: Model,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Work:
    """The work of one decode step: one new token for each sequence of the batch.

    Args:
        model: the model.
        context: tokens already in the cache of each sequence. The step reads them all, writes
            one more, and its token looks at context + 1 tokens, itself included.
        batch: sequences that share the step.
        weights, kv, compute, chips: as for `prefill`.

    Returns:
        `Work`. Sizes broadcast: arrays give arrays.

    Raises:
        ValueError: a size that is not a whole number in range; heads that do not divide.
        UnknownName: an unknown format or rate.
    """
    before = count("context", context, "tokens", least=0)
    sequences = count("batch", batch, "sequences")
    n = count("chips", chips, "chips")
    broadcastable(context=before, batch=sequences, chips=n)
    group = _Group(sequences, 1, before, decoding=True)
    return _forward(model, [group], weights, kv, compute, n)


def verify_step(
    model: Model,
    context: ArrayLike,
    drafted: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Work:
    """The work of checking drafts (speculative decoding): drafted + 1 tokens for each sequence.

    The newest token of the reply and the drafts behind it run in one pass. Each looks at the cache
    and at those before it, and the logits of all are needed. Weights and notes are read once for
    all of them. With nothing drafted it is the `decode_step`.

    Args:
        model: the model that checks.
        context: tokens already in the cache of each sequence.
        drafted: tokens that were drafted for each sequence.
        batch: sequences that share the pass.
        weights, kv, compute, chips: as for `prefill`.

    Returns:
        `Work`. Sizes broadcast: arrays give arrays.

    Raises:
        ValueError: a size that is not a whole number in range; heads that do not divide.
        UnknownName: an unknown format or rate.
    """
    before = count("context", context, "tokens", least=0)
    new = count("drafted", drafted, "tokens", least=0) + 1
    sequences = count("batch", batch, "sequences")
    n = count("chips", chips, "chips")
    broadcastable(context=before, drafted=new, batch=sequences, chips=n)
    group = _Group(sequences, new, before, decoding=True, scored=new)
    return _forward(model, [group], weights, kv, compute, n)


def mixed_step(
    model: Model,
    prompt: ArrayLike,
    context: ArrayLike,
    batch: ArrayLike,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Work:
    """One pass that reads a chunk of one prompt while a batch of sequences decodes.

    Servers do this (chunked prefill): the weights are read once for both.

    Args:
        model: the model.
        prompt, cached: tokens of the prompt up to the end of this chunk, and before it.
        context, batch: as for `decode_step`.
        weights, kv, compute, chips: as for `prefill`.
    """
    length = count("prompt", prompt, "tokens")
    start = count("cached", cached, "tokens", least=0)
    before = count("context", context, "tokens", least=0)
    sequences = count("batch", batch, "sequences")
    n = count("chips", chips, "chips")
    broadcastable(prompt=length, cached=start, context=before, batch=sequences, chips=n)
    if np.any(np.greater_equal(start, length)):
        raise wrong("cached", cached, "give fewer tokens than the prompt has")
    groups = [
        _Group(1, length - start, start, decoding=False),
        _Group(sequences, 1, before, decoding=True),
    ]
    return _forward(model, groups, weights, kv, compute, n)


class _Group(NamedTuple):
    """`sequences` equal sequences: `new` tokens each, `before` tokens in each one's cache.

    Logits are needed for the last `scored` tokens of each.
    """

    sequences: Number
    new: Number
    before: Number
    decoding: bool
    scored: Number = 1


class _Pass(NamedTuple):
    """One forward pass over `groups`, which share the weights, on one of `chips` chips."""

    groups: list[_Group]
    tokens: Number
    weights: Format
    kv: Format
    rates: tuple[str, ...]
    chips: Number

    def product(self, tensor: str, matrix: Number, rows: Number) -> Part:
        """`rows` rows through a `matrix` of so many weights.

        What the format leaves in 16 bit is multiplied in 16 bit.
        """
        width = self.weights.bytes_of(tensor)
        rates = ("bf16",) if tensor in self.weights.keeps else self.rates
        return Part(FLOP_PER_MULTIPLY_ADD * matrix * rows, matrix * width, rates=rates)


def _forward(
    model: Model,
    groups: list[_Group],
    weights: AnyFormat,
    kv: AnyFormat,
    compute: str | None,
    chips: Number,
) -> Work:
    """The parts of one pass: embedding, layers, LM head."""
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    tokens = sum(g.sequences * g.new for g in groups)
    scored = sum(g.sequences * g.scored for g in groups)
    form = number_format(weights)
    run = _Pass(groups, tokens, form, number_format(kv), rates_of(weights, compute), chips)
    hidden = model.hidden
    parts = {
        "lm_head": run.product("lm_head", hidden * model.vocab / chips, scored),
        "embedding": Part(weight_bytes=tokens * hidden * form.bytes_of("embedding")),
        "norms": Part(weight_bytes=model.tensors["norms"] * form.bytes_of("norms")),
    }
    for block in model.blocks:
        for name, part in _layer(block, hidden, run).items():
            parts[name] = _plus(parts.get(name, Part()), part, block.layers)
    return Work(parts)


def _layer(block: Block, hidden: int, run: _Pass) -> dict[str, Part]:
    """The parts of one layer of `block`."""
    mlp, n = block.mlp, run.chips
    parts = _mixer(block, hidden, run)
    dense = mlp.shared if isinstance(mlp, Experts) else mlp
    if isinstance(dense, FeedForward):
        parts["feed_forward"] = run.product("feed_forward", dense.weights(hidden) / n, run.tokens)
    if isinstance(mlp, Experts):
        parts["router"] = run.product("router", hidden * mlp.number, run.tokens)
        parts["experts"] = _experts(mlp, hidden, run)
    if isinstance(n, np.ndarray) or n > 1:
        data = _reduced_values(block, hidden) * run.tokens * _ACTIVATION_BYTES
        parts["all_reduce"] = Part(link_bytes=_ALL_REDUCE_SENDS * (n - 1) / n * data)
    return parts


def _mixer(block: Block, hidden: int, run: _Pass) -> dict[str, Part]:
    """The half of a layer that looks back: attention or a state space."""
    mixer, n = block.attention, run.chips
    check_division(mixer, n)
    if isinstance(mixer, Nothing):
        return {}
    share = kv_share(mixer.kv_heads, n)
    projections = (
        mixer.head_weights(hidden) / n
        + mixer.kv_weights(hidden) * share
        + mixer.shared_weights(hidden)
    )
    look_back = (
        {"state": _state(mixer, run)}
        if isinstance(mixer, StateSpace)
        else {"attention": _attention(mixer, run, share)}
    )
    return {"projections": run.product("projections", projections, run.tokens)} | look_back


def _reduced_values(block: Block, hidden: int) -> int:
    """Values per token that all chips add up: a row after each half of the layer."""
    mixer, mlp = block.attention, block.mlp
    halves = [half for half in (mixer, mlp) if not isinstance(half, Nothing)]
    rows = 1 if block.parallel else len(halves)
    return rows * hidden + (mixer.inner_reduce if isinstance(mixer, StateSpace) else 0)


def _experts(mlp: Experts, hidden: int, run: _Pass) -> Part:
    """FLOPs of the experts each token visits; bytes of the distinct ones all tokens touch."""
    matrix = mlp.each.weights(hidden) / run.chips
    one = run.product("experts", matrix, mlp.per_token * run.tokens)
    biases = mlp.each.vectors * run.weights.bytes_of("expert_biases")
    if mlp.skew:
        chances = routing_chances(mlp.number, mlp.per_token, mlp.skew)
        touched = experts_touched_by(chances, run.tokens)
    else:
        touched = expected_distinct(mlp.number, mlp.per_token, run.tokens)
    return one._replace(weight_bytes=touched * (one.weight_bytes + biases))


def _state(mixer: StateSpace, run: _Pass) -> Part:
    """Each token goes into the state and out of it; each sequence's state is read and written."""
    flops = mixer.state_flops(run.chips) * run.tokens
    written = sum(g.sequences for g in run.groups)
    read = sum(g.sequences * _smaller(g.before, 1) for g in run.groups)  # not where it is empty
    moved = mixer.state_bytes(chips=run.chips) * (written + read)
    return Part(flops, rates=_cache_rates(run), state_bytes=moved)


def _attention(attention: Attention | LatentAttention, run: _Pass, share: Number) -> Part:
    """Query-key pairs are calculated; cached rows are read, new rows written."""
    window = attention.window
    row = attention.kv_values * run.kv.bytes * share
    flops: Number = 0.0
    moved: Number = 0.0
    for group in run.groups:
        each = _pairs(group, window) * attention.flops_per_pair(group.decoding)
        if not group.decoding:
            each = each + group.before * attention.flops_per_cached_row
        flops = flops + group.sequences * each / run.chips
        moved = moved + group.sequences * _rows_moved(group, window) * row
    return Part(flops, kv_bytes=moved, rates=_cache_rates(run))


def _cache_rates(run: _Pass) -> tuple[str, ...]:
    """Caches and states are multiplied in 16 bit, whatever the weights are multiplied in."""
    return ("fp32", "bf16") if run.rates[0] == "fp32" else ("bf16",)


def _pairs(group: _Group, window: int | None) -> Number:
    """Pairs of a query and a key it may see: one key more for each token, until a window is full.

    A difference of two triangles would be shorter, and wrong once their squares pass 2**53.
    """
    new, before = group.new, group.before
    if window is None:
        return new * before + new * (new + 1) / 2
    growing = _smaller(_larger(window - before, 0), new)
    return growing * before + growing * (growing + 1) / 2 + (new - growing) * window


def _rows_moved(group: _Group, window: int | None) -> Number:
    """Rows of cache read and written: a window keeps its last tokens only."""
    if window is None:
        return group.before + group.new
    return _smaller(group.before, window - 1) + _smaller(group.new, window)


def _smaller(a: Number, b: Number) -> Number:
    arrays = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    return np.minimum(a, b) if arrays else min(a, b)


def _larger(a: Number, b: int) -> Number:
    return np.maximum(a, b) if isinstance(a, np.ndarray) else max(a, b)


def check_division(mixer: Mixer, n: Number) -> None:
    """Raise a ``ValueError`` unless heads, and KV heads or groups, divide over `n` chips."""
    if isinstance(mixer, Nothing):
        return
    heads, kv_heads = mixer.heads, mixer.kv_heads
    uneven = np.not_equal(np.mod(heads, n), 0)
    uneven |= np.not_equal(np.mod(kv_heads, n), 0) & np.not_equal(np.mod(n, kv_heads), 0)
    if np.any(uneven):
        raise ValueError(f"chips = {n} will not do: {_dividing(mixer)}")


def _dividing(mixer: Mixer) -> str:
    if isinstance(mixer, Mamba1):
        return f"{mixer.heads} channels of a state space must divide over the chips"
    if isinstance(mixer, Mamba2):
        return (
            f"{mixer.heads} heads and {mixer.kv_heads} groups of a state space must divide over "
            "the chips (groups are copied where there are more chips)"
        )
    return (
        f"{mixer.heads} query heads and {mixer.kv_heads} key/value heads must divide over the "
        "chips (KV heads are copied where there are more chips)"
    )


def _plus(total: Part, part: Part, layers: int) -> Part:
    """`total` and `layers` times `part`."""
    return Part(
        total.flops + layers * part.flops,
        total.weight_bytes + layers * part.weight_bytes,
        total.kv_bytes + layers * part.kv_bytes,
        total.link_bytes + layers * part.link_bytes,
        part.rates,
        total.state_bytes + layers * part.state_bytes,
    )
