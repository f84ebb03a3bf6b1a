"""What a guest feels: TTFT, TPOT, request time, throughput.

TTFT
    Time to first token: the prefill pass. Its logits give the first token of the reply.
TPOT
    Time per output token **after the first**: the mean over the decode steps of the reply. Dividing
    the whole request by its tokens is another number, and a larger one.
request time
    TTFT + (reply - 1) x TPOT.
throughput
    Tokens that all guests of a batch get per second while they decode.

Nobody waits in line here, and nothing is lost on the network. Without an `efficiency` these are
bounds. Sizes may be arrays; `reply` is one number, since it sets how many steps there are. None of
the times looks at memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.chips import Chip
from kitchenlib.efficiency import IDEAL, Efficiency, estimate
from kitchenlib.inputs import Number, broadcastable, count, dimension, positive, scalar, wrong
from kitchenlib.models import Model
from kitchenlib.phases import decode_step, prefill
from kitchenlib.precision import AnyFormat
from kitchenlib.serving.memory import USABLE, demand_fit

LONGEST_REPLY = 1_000_000  # tokens: every step of a reply is calculated


def ttft(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
) -> Number:
    """Time to first token in seconds: the prefill pass.

    Arguments, errors and shapes as for `kitchenlib.prefill`; `chip` is one of the `chips`, and
    `efficiency` how far they stay from the law (see `kitchenlib.estimate`).
    """
    work = prefill(model, prompt, batch, cached, weights, kv, compute, chips)
    return estimate(work, chip, efficiency)


def tpot(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    reply: int,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
) -> Number:
    """Time per output token after the first, in seconds: the mean over reply - 1 decode steps.

    The first step finds `prompt` tokens in the cache, each later one a token more.

    Args:
        reply: tokens of the reply, one whole number of at least 2 (one token has no TPOT).
        efficiency: how far the chips stay from the law (see `kitchenlib.estimate`).
        others: as for `kitchenlib.decode_step`.
    """
    steps = _reply(reply, least=2) - 1
    context = along_steps(count("prompt", prompt, "tokens")) + np.arange(steps)
    guests = along_steps(count("batch", batch, "sequences"))
    n = along_steps(count("chips", chips, "chips"))
    work = decode_step(model, context, guests, weights, kv, compute, n)
    times = estimate(work, chip, efficiency)
    return scalar(np.mean(times, axis=-1))


def request_time(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    reply: int,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
) -> Number:
    """Seconds from the order to the last token: TTFT + (reply - 1) x TPOT."""
    tokens = _reply(reply, least=1)
    first = ttft(model, chip, prompt, batch, cached, weights, kv, compute, chips, efficiency)
    if tokens == 1:
        return first
    each = tpot(model, chip, prompt, tokens, batch, weights, kv, compute, chips, efficiency)
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
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    check_fit: bool = False,
    usable: float = USABLE,
    efficiency: Efficiency = IDEAL,
) -> Number:
    """Tokens per second that a whole batch gets while decoding at `context` tokens each.

    With `check_fit` a batch that does not fit raises ``ValueError``: bytes needed and available.
    """
    if not isinstance(check_fit, bool):
        raise wrong("check_fit", check_fit, "give True or False")
    if check_fit:
        demand_fit(model, chip, context, batch, weights, kv, chips, usable)
    step = decode_step(model, context, batch, weights, kv, compute, chips)
    return count("batch", batch, "sequences") / estimate(step, chip, efficiency)


def along_steps(size: Number) -> Number:
    """A size with an axis more, along which decode steps lie."""
    return size[..., None] if isinstance(size, np.ndarray) else size


def _reply(reply: int, least: int) -> int:
    tokens = dimension("reply", reply, "tokens of the reply", least)
    if tokens > LONGEST_REPLY:
        most = f"give at most {LONGEST_REPLY:,} tokens of the reply"
        raise wrong("reply", reply, most)
    return tokens
