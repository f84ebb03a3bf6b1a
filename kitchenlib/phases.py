"""What a model has to do in each phase: the flood (prefill) and the drip (decode).

Both phases are one forward pass over some new tokens that look back at tokens in the KV cache.
The pass is kept apart by groups of operators:

==============  ===============================================================================
projections     the Q, K, V and O matrices (for MLA: its down- and up-projections)
attention       scores and weighted values against the KV cache, and the traffic of the cache
feed_forward    dense feed-forward matrices, and the shared expert of a mixture
router          the router of a mixture of experts
experts         routed experts: FLOPs of those visited, bytes of the expected distinct ones
lm_head         the last matrix, for the last token of each sequence
embedding       one row looked up per new token
norms           norms, biases and other parameters that are read but are no matrix
all_reduce      what tensor parallelism sends over the interconnect
==============  ===============================================================================

Matrix products are counted, elementwise work is not. Causal attention counts the pairs that are
needed, S(S+1)/2 for a prompt of S tokens. Weights are read once a pass, however many tokens share
them; notes (the KV cache) are never shared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.experts import expected_distinct
from kitchenlib.inputs import Number, broadcastable, count, wrong
from kitchenlib.layers import Block, Experts, FeedForward
from kitchenlib.models import Model
from kitchenlib.precision import Format, number_format
from kitchenlib.roofline import Part, Work, rates_of
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD

_ACTIVATION_BYTES = 2  # what travels between chips is in 16 bit
_ALL_REDUCE_SENDS = 2  # a ring sends twice (n-1)/n of the data: reduce-scatter, then all-gather


def prefill(
    model: Model,
    prompt: ArrayLike,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: str = "bf16",
    kv: str = "bf16",
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
            Attention multiplies in 16 bit.
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
    broadcastable(prompt=length, cached=before, batch=sequences)
    if np.any(np.greater_equal(before, length)):
        wanted = (
            "at most prompt - 1 tokens can be cached, since the last must be run for its logits"
        )
        raise wrong("cached", cached, wanted)
    group = _Group(sequences, length - before, before, decoding=False)
    return _forward(model, [group], weights, kv, compute, chips)


def decode_step(
    model: Model,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: str = "bf16",
    kv: str = "bf16",
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
    broadcastable(context=before, batch=sequences)
    group = _Group(sequences, 1, before, decoding=True)
    return _forward(model, [group], weights, kv, compute, chips)


def mixed_step(
    model: Model,
    prompt: ArrayLike,
    context: ArrayLike,
    batch: ArrayLike,
    cached: ArrayLike = 0,
    weights: str = "bf16",
    kv: str = "bf16",
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
    broadcastable(prompt=length, cached=start, context=before, batch=sequences)
    if np.any(np.greater_equal(start, length)):
        raise wrong("cached", cached, "give fewer tokens than the prompt has")
    groups = [
        _Group(1, length - start, start, decoding=False),
        _Group(sequences, 1, before, decoding=True),
    ]
    return _forward(model, groups, weights, kv, compute, chips)


class _Group(NamedTuple):
    """`sequences` equal sequences: `new` tokens each, `before` tokens in each one's cache."""

    sequences: Number
    new: Number
    before: Number
    decoding: bool


def _forward(
    model: Model,
    groups: list[_Group],
    weights: str,
    kv: str,
    compute: str | None,
    chips: ArrayLike,
) -> Work:
    """One pass over all `groups`, which share the weights."""
    form, cache = number_format(weights), number_format(kv)
    rates = rates_of(weights, compute)
    n = count("chips", chips, "chips")
    broadcastable(chips=n, tokens=groups[0].new, batch=groups[-1].sequences)
    tokens = sum(g.sequences * g.new for g in groups)
    last = sum(g.sequences for g in groups)
    hidden = model.hidden

    table = hidden * model.vocab / n
    parts = {
        "lm_head": _product(table, last, form.bytes_of("lm_head"), rates),
        "embedding": Part(weight_bytes=tokens * hidden * form.bytes_of("embedding")),
        "norms": Part(
            weight_bytes=(model.tensors["norms"] - model.positions) * form.bytes_of("norms")
        ),
    }
    for block in model.blocks:
        for name, part in _block(block, hidden, groups, tokens, form, cache, rates, n).items():
            parts[name] = _plus(parts.get(name, Part()), part, block.layers)
    return Work(parts)


def _block(
    block: Block,
    hidden: int,
    groups: list[_Group],
    tokens: Number,
    form: Format,
    cache: Format,
    rates: tuple[str, ...],
    n: Number,
) -> dict[str, Part]:
    """The parts of one layer."""
    attention, mlp = block.attention, block.mlp
    _check_division(attention.heads, attention.kv_heads, n)
    kv_share = _kv_share(attention.kv_heads, n)
    projections = (
        attention.head_weights(hidden) / n
        + attention.kv_weights(hidden) * kv_share
        + attention.shared_weights(hidden)
    )
    parts = {
        "projections": _product(projections, tokens, form.bytes_of("projections"), rates),
        "attention": _attention(block, groups, cache, rates, kv_share, n),
    }
    dense = mlp if isinstance(mlp, FeedForward) else mlp.shared
    if dense is not None:
        matrix = dense.weights(hidden) / n
        parts["feed_forward"] = _product(matrix, tokens, form.bytes_of("feed_forward"), rates)
    if isinstance(mlp, Experts):
        router = hidden * mlp.number
        parts["router"] = _product(router, tokens, form.bytes_of("router"), rates)
        parts["experts"] = _experts(mlp, hidden, tokens, form.bytes_of("experts"), rates, n)
    if isinstance(n, np.ndarray) or n > 1:
        reduces = 1 if block.parallel else 2
        data = reduces * tokens * hidden * _ACTIVATION_BYTES
        parts["all_reduce"] = Part(link_bytes=_ALL_REDUCE_SENDS * (n - 1) / n * data)
    return parts


def _product(matrix: Number, rows: Number, width: float, rates: tuple[str, ...]) -> Part:
    """`rows` rows through `matrix` weights of `width` bytes each."""
    return Part(FLOP_PER_MULTIPLY_ADD * matrix * rows, matrix * width, rates=rates)


def _experts(
    mlp: Experts, hidden: int, tokens: Number, width: float, rates: tuple[str, ...], n: Number
) -> Part:
    """FLOPs of the experts each token visits; bytes of the distinct ones all tokens touch."""
    matrix = mlp.each.weights(hidden) / n
    touched = expected_distinct(mlp.number, mlp.per_token, tokens)
    flops = FLOP_PER_MULTIPLY_ADD * matrix * mlp.per_token * tokens
    return Part(flops, touched * (matrix + mlp.each.vectors) * width, rates=rates)


def _attention(
    block: Block,
    groups: list[_Group],
    cache: Format,
    rates: tuple[str, ...],
    kv_share: Number,
    n: Number,
) -> Part:
    """Query-key pairs are calculated; cached rows are read, new rows written."""
    attention = block.attention
    window = attention.window
    row = attention.kv_values * cache.bytes * kv_share
    flops: Number = 0.0
    moved: Number = 0.0
    for group in groups:
        pairs = _pairs(group.before + group.new, window) - _pairs(group.before, window)
        each = pairs * attention.flops_per_pair(group.decoding)
        if not group.decoding:
            each = each + group.before * attention.flops_per_cached_row
        flops = flops + group.sequences * each / n
        moved = moved + group.sequences * _rows_moved(group, window) * row
    return Part(flops, kv_bytes=moved, rates=("fp32", "bf16") if rates[0] == "fp32" else ("bf16",))


def _pairs(tokens: Number, window: int | None) -> Number:
    """Pairs of a query and a key it may see, in a causal sequence of `tokens` tokens."""
    if window is None:
        return tokens * (tokens + 1) / 2
    full = _smaller(tokens, window)
    return full * (full + 1) / 2 + (tokens - full) * window


def _rows_moved(group: _Group, window: int | None) -> Number:
    """Rows of cache read and written: a window keeps its last tokens only."""
    if window is None:
        return group.before + group.new
    return _smaller(group.before, window - 1) + _smaller(group.new, window)


def _smaller(a: Number, b: int) -> Number:
    return np.minimum(a, b) if isinstance(a, np.ndarray) else min(a, b)


def _kv_share(kv_heads: int, n: Number) -> Number:
    """The share of the KV heads on one chip: 1/n, but never less than one head."""
    if isinstance(n, np.ndarray):
        return np.maximum(1 / n, 1 / kv_heads)
    return max(1 / n, 1 / kv_heads)


def _check_division(heads: int, kv_heads: int, n: Number) -> None:
    uneven = np.not_equal(np.mod(heads, n), 0)
    uneven |= np.not_equal(np.mod(kv_heads, n), 0) & np.not_equal(np.mod(n, kv_heads), 0)
    if np.any(uneven):
        raise ValueError(
            f"chips = {n} will not do: {heads} query heads and {kv_heads} key/value heads must "
            "divide over the chips (KV heads are copied where there are more chips)"
        )


def _plus(total: Part, part: Part, layers: int) -> Part:
    """`total` and `layers` times `part`."""
    return Part(
        total.flops + layers * part.flops,
        total.weight_bytes + layers * part.weight_bytes,
        total.kv_bytes + layers * part.kv_bytes,
        total.link_bytes + layers * part.link_bytes,
        part.rates,
    )
