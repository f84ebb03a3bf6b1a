"""What fits: weights, notes and states in the memory of each chip, and the largest batch.

Memory is per chip; sizes may be arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip
from kitchenlib.inputs import Number, broadcastable, count, instance, share, whole, wrong
from kitchenlib.layers import Block, StateSpace, kv_share
from kitchenlib.models import Model
from kitchenlib.phases import check_division
from kitchenlib.precision import AnyFormat, number_format
from kitchenlib.units import human

USABLE = 0.9  # of a chip's memory: the rest goes to activations, buffers and fragments


def memory_needed(
    model: Model,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    chips: ArrayLike = 1,
) -> Number:
    """Bytes that **each** of the chips must hold: its share of the weights and of every cache.

    A sequence of a state-space model has a state besides, or instead, whatever its length.

    Args:
        context: tokens in the cache of each of `batch` sequences.
        chips: tensor-parallel chips. Norms and routers are copied to all; so are KV heads (their
            matrices and their caches) when there are more chips than heads.
    """
    guests = count("batch", batch, "sequences")
    n = count("chips", chips, "chips")
    notes = _kept_bytes(model, context, kv, n)
    broadcastable(batch=guests, context=notes, chips=n)
    return _weight_bytes(model, weights, n) + guests * notes


def fits(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    chips: ArrayLike = 1,
    usable: float = USABLE,
) -> bool | NDArray[np.bool_]:
    """Whether weights and caches fit into the `usable` part of each chip's memory, per point."""
    needed = memory_needed(model, context, batch, weights, kv, chips)
    fit = np.less_equal(needed, _available(chip, usable))
    return fit if fit.ndim else bool(fit)


def max_batch(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    chips: ArrayLike = 1,
    usable: float = USABLE,
) -> Number:
    """The most sequences of `context` tokens that fit; 0 where not even the weights do."""
    n = count("chips", chips, "chips")
    notes = _kept_bytes(model, count("context", context, "tokens"), kv, n)
    broadcastable(context=notes, chips=n)
    left = _available(chip, usable) - _weight_bytes(model, weights, n)
    return whole(np.maximum(np.floor(left / notes), 0))


def demand_fit(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    batch: ArrayLike,
    weights: AnyFormat,
    kv: AnyFormat,
    chips: ArrayLike,
    usable: float,
) -> None:
    """Raise a ``ValueError`` that names bytes needed and available, where this does not fit."""
    needed = float(np.max(memory_needed(model, context, batch, weights, kv, chips)))
    available = _available(chip, usable)
    if needed > available:
        raise ValueError(
            f"this does not fit: {human(needed, 'B')} are needed on each chip, and "
            f"{human(available, 'B')} of a {chip.name} are usable. Give more chips, a smaller "
            "batch, a shorter context or a lighter format"
        )


def _available(chip: Chip, usable: float) -> float:
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    part = share("usable", usable, "the memory")
    if np.ndim(part):
        raise wrong("usable", usable, "give one share of the memory, above 0 and at most 1")
    if chip.memory_bytes is None:
        raise ValueError(f"{chip.name} has no memory_bytes: give its capacity in bytes")
    return float(part) * chip.memory_bytes


def _weight_bytes(model: Model, weights: AnyFormat, n: Number) -> Number:
    """One chip's share of the weights."""
    form = number_format(weights)
    whole = ("norms", "router")  # small, and every chip needs all of them
    total: Number = 0.0
    for group, parameters in model.tensors.items():
        share = 1.0 if group in whole else 1 / n
        total = total + parameters * form.bytes_of(group) * share
    copies = sum(_copied_weights(block, model.hidden, n) for block in model.blocks)
    return total + copies * form.bytes_of("projections")


def _copied_weights(block: Block, hidden: int, n: Number) -> Number:
    """Projection weights a chip holds beyond its equal share: copied KV heads, shared matrices."""
    attention = block.attention
    kv_extra = attention.kv_weights(hidden) * (kv_share(attention.kv_heads, n) - 1 / n)
    return block.layers * (kv_extra + attention.shared_weights(hidden) * (1 - 1 / n))


def _kept_bytes(model: Model, context: ArrayLike, kv: AnyFormat, n: Number) -> Number:
    """One chip's share of what one sequence keeps: its cache, and its state where it has one."""
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    tokens = count("context", context, "tokens", least=0)
    total: Number = 0.0
    for block in model.blocks:
        attention = block.attention
        check_division(attention, n)
        kept = tokens if attention.window is None else np.minimum(tokens, attention.window)
        row = attention.kv_values * kv_share(attention.kv_heads, n) * number_format(kv).bytes
        total = total + block.layers * row * kept
        if isinstance(attention, StateSpace):
            total = total + block.layers * attention.state_bytes(chips=n)
    return total
