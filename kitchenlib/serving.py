"""What a guest feels and what fits: TTFT, TPOT, request time, throughput, memory.

The usual definitions, on the ideal law (no queue, no network, no launch overhead):

TTFT
    Time to first token: the prefill pass. Its logits give the first token of the reply.
TPOT
    Time per output token **after the first**: the mean over the decode steps of the reply. Dividing
    the whole request by its tokens is another number, and a larger one.
request time
    TTFT + (reply - 1) x TPOT.
throughput
    Tokens that all guests of a batch get per second while they decode.

These are bounds. Sizes may be arrays; `reply` is one number, since it sets how many steps there
are. Memory is per chip. None of the times looks at memory: `fits` and `max_batch` do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip
from kitchenlib.inputs import (
    Number,
    broadcastable,
    count,
    dimension,
    instance,
    positive,
    wrong,
)
from kitchenlib.layers import Block
from kitchenlib.models import Model
from kitchenlib.phases import check_division, decode_step, kv_share, prefill
from kitchenlib.precision import number_format
from kitchenlib.units import human

LONGEST_REPLY = 1_000_000  # tokens: every step of a reply is calculated
USABLE = 0.9  # of a chip's memory: the rest goes to activations, buffers and fragments


def ttft(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: str = "bf16",
    kv: str = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Number:
    """Time to first token in seconds: the ideal time of the prefill pass.

    Arguments, errors and shapes as for `kitchenlib.prefill`; `chip` is one of the `chips`.
    """
    return prefill(model, prompt, batch, cached, weights, kv, compute, chips).time(chip)


def tpot(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    reply: int,
    batch: ArrayLike = 1,
    weights: str = "bf16",
    kv: str = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Number:
    """Time per output token after the first, in seconds: the mean over reply - 1 decode steps.

    The first step finds `prompt` tokens in the cache, each later one a token more.

    Args:
        reply: tokens of the reply, one whole number of at least 2 (one token has no TPOT).
        others: as for `kitchenlib.decode_step`.
    """
    steps = _reply(reply, least=2) - 1
    context = np.asarray(count("prompt", prompt, "tokens"))[..., None] + np.arange(steps)
    guests = np.asarray(count("batch", batch, "sequences"))[..., None]
    shared = count("chips", chips, "chips")
    n = shared[..., None] if isinstance(shared, np.ndarray) else shared
    times = decode_step(model, context, guests, weights, kv, compute, n).time(chip)
    mean = np.mean(times, axis=-1)
    return mean if mean.ndim else float(mean)


def request_time(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    reply: int,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: str = "bf16",
    kv: str = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Number:
    """Seconds from the order to the last token: TTFT + (reply - 1) x TPOT."""
    tokens = _reply(reply, least=1)
    first = ttft(model, chip, prompt, batch, cached, weights, kv, compute, chips)
    if tokens == 1:
        return first
    each = tpot(model, chip, prompt, tokens, batch, weights, kv, compute, chips)
    return first + (tokens - 1) * each


def measured_tpot(total: ArrayLike, first: ArrayLike, reply: ArrayLike) -> Number:
    """TPOT in seconds of a request that was timed: (total - TTFT) / (reply - 1).

    Args:
        total: seconds of the whole request.
        first: seconds to its first token, less than `total`.
        reply: tokens of the reply, at least 2.
    """
    whole, start = positive("total", total, "seconds"), positive("first", first, "seconds")
    tokens = count("reply", reply, "tokens of the reply", least=2)
    broadcastable(total=whole, first=start, reply=tokens)
    if np.any(np.greater_equal(start, whole)):
        raise wrong("first", first, "the first token comes before the whole request ends (seconds)")
    return (whole - start) / (tokens - 1)


def throughput(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: str = "bf16",
    kv: str = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    check_fit: bool = False,
    usable: float = USABLE,
) -> Number:
    """Tokens per second that a whole batch gets while decoding at `context` tokens each.

    With `check_fit` a batch that does not fit raises ``ValueError``: bytes needed and available.
    """
    if not isinstance(check_fit, bool):
        raise wrong("check_fit", check_fit, "give True or False")
    if check_fit:
        _demand_fit(model, chip, context, batch, weights, kv, chips, usable)
    step = decode_step(model, context, batch, weights, kv, compute, chips)
    return count("batch", batch, "sequences") / step.time(chip)


def memory_needed(
    model: Model,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: str = "bf16",
    kv: str = "bf16",
    chips: ArrayLike = 1,
) -> Number:
    """Bytes that **each** of the chips must hold: its share of the weights and of every cache.

    Args:
        context: tokens in the cache of each of `batch` sequences.
        chips: tensor-parallel chips. Norms and routers are copied to all; so are KV heads (their
            matrices and their caches) when there are more chips than heads.
    """
    guests = count("batch", batch, "sequences")
    n = count("chips", chips, "chips")
    notes = _kv_bytes(model, context, kv, n)
    broadcastable(batch=guests, context=notes, chips=n)
    return _weight_bytes(model, weights, n) + guests * notes


def fits(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: str = "bf16",
    kv: str = "bf16",
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
    weights: str = "bf16",
    kv: str = "bf16",
    chips: ArrayLike = 1,
    usable: float = USABLE,
) -> Number:
    """The most sequences of `context` tokens that fit; 0 where not even the weights do."""
    n = count("chips", chips, "chips")
    notes = _kv_bytes(model, count("context", context, "tokens"), kv, n)
    broadcastable(context=notes, chips=n)
    left = _available(chip, usable) - _weight_bytes(model, weights, n)
    most = np.maximum(np.floor(left / notes), 0)
    return most if most.ndim else int(most)


def _reply(reply: int, least: int) -> int:
    tokens = dimension("reply", reply, "tokens of the reply", least)
    if tokens > LONGEST_REPLY:
        most = f"give at most {LONGEST_REPLY:,} tokens of the reply"
        raise wrong("reply", reply, most)
    return tokens


def _available(chip: Chip, usable: float) -> float:
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    share = positive("usable", usable, "the memory (a share from 0 to 1)")
    if np.ndim(share) or share > 1:
        raise wrong("usable", usable, "give one share of the memory, above 0 and at most 1")
    if chip.memory_bytes is None:
        raise ValueError(f"{chip.name} has no memory_bytes: give its capacity in bytes")
    return float(share) * chip.memory_bytes


def _demand_fit(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    batch: ArrayLike,
    weights: str,
    kv: str,
    chips: ArrayLike,
    usable: float,
) -> None:
    needed = float(np.max(memory_needed(model, context, batch, weights, kv, chips)))
    available = _available(chip, usable)
    if needed > available:
        raise ValueError(
            f"this does not fit: {human(needed, 'B')} are needed on each chip, and "
            f"{human(available, 'B')} of a {chip.name} are usable. Give more chips, a smaller "
            "batch, a shorter context or a lighter format"
        )


def _weight_bytes(model: Model, weights: str, n: Number) -> Number:
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


def _kv_bytes(model: Model, context: ArrayLike, kv: str, n: Number) -> Number:
    """One chip's share of the cache of one sequence."""
    instance("model", model, Model, 'kl.model("Llama-2-70B")')
    tokens = count("context", context, "tokens", least=0)
    total: Number = 0.0
    for block in model.blocks:
        attention = block.attention
        check_division(attention.heads, attention.kv_heads, n)
        kept = tokens if attention.window is None else np.minimum(tokens, attention.window)
        row = block.layers * attention.kv_values * kv_share(attention.kv_heads, n)
        total = total + row * kept
    return total * number_format(kv).bytes
