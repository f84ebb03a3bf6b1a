"""What ends the growth of a batch: the memory fills, the chef is busy, or the guests wait too long.

A batch shares the weights but never the notes (KV cache). Its intensity therefore rises with every
guest and still stays below a ceiling that the notes set: with long notes the ridge is never
reached, however many guests there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip
from kitchenlib.inputs import MOST, Number, broadcastable, count, positive, whole
from kitchenlib.models import Model
from kitchenlib.phases import decode_step
from kitchenlib.precision import AnyFormat
from kitchenlib.roofline import Work
from kitchenlib.serving import USABLE, max_batch

LIMITS = ("memory", "compute", "latency")


class BatchLimits(NamedTuple):
    """Where a decoding batch ends, in sequences. Infinite where there is no such end.

    Attributes:
        memory: the largest batch that fits, 0 where not even the weights do.
        compute: the smallest batch whose step is compute-bound: more guests only wait longer.
        latency: the largest batch whose step takes no longer than was asked for, 0 where a single
            guest's takes longer.
    """

    memory: Number
    compute: Number
    latency: Number

    @property
    def batch(self) -> Number:
        """The least of the three."""
        return whole(np.min(np.broadcast_arrays(*self), axis=0))

    @property
    def first(self) -> str | NDArray[np.str_]:
        """Which one is the least: "memory", "compute" or "latency" (an array for arrays)."""
        names = np.array(LIMITS)[np.argmin(np.broadcast_arrays(*self), axis=0)]
        return names if names.ndim else str(names)


def batch_limits(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    tpot: ArrayLike | None = None,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    usable: float = USABLE,
) -> BatchLimits:
    """Where a batch of sequences of `context` tokens ends, and which end comes first.

    Args:
        context: tokens in the cache of each sequence, at least 1.
        tpot: seconds that one decode step may take (ideal time), or None for no such limit.
        usable: share of the memory that weights and caches may fill.
        others: as for `kitchenlib.decode_step`.

    Returns:
        `BatchLimits`. Sizes broadcast: arrays give arrays.
    """
    before, n = count("context", context, "tokens"), count("chips", chips, "chips")
    seconds = np.inf if tpot is None else positive("tpot", tpot, "seconds per token")
    broadcastable(context=before, tpot=seconds, chips=n)

    def step(batch: Number) -> Work:
        return decode_step(model, before, batch, weights, kv, compute, n)

    def memory_bound(batch: Number) -> NDArray[np.bool_]:
        chef, waiter, _ = step(batch).sides(chip)
        return np.less(chef, waiter)

    def quick_enough(batch: Number) -> NDArray[np.bool_]:
        return np.less_equal(step(batch).time(chip), seconds)

    shape = np.broadcast(before, n, seconds).shape
    slow = np.full(shape, np.inf) if tpot is None else _most(quick_enough, shape)
    return BatchLimits(
        max_batch(model, chip, before, weights, kv, n, usable),
        whole(_most(memory_bound, np.broadcast(before, n).shape) + 1),
        whole(slow),
    )


def intensity_ceiling(
    model: Model,
    context: ArrayLike,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    chips: ArrayLike = 1,
) -> Number:
    """FLOP per byte that decoding comes close to, and never reaches, as the batch grows.

    With ever more guests a guest's share of the weights vanishes. What is left are the guest's own
    FLOPs over the guest's own bytes: notes or state, and one row of the embedding. Against
    `Chip.ridge` it tells whether any batch can be compute-bound.

    Args as for `kitchenlib.decode_step`.

    >>> import kitchenlib as kl
    >>> round(kl.intensity_ceiling(kl.model("Llama-2-70B"), context=4096))
    110
    """
    step = decode_step(model, context, 1, weights, kv, None, chips)
    return step.flops / (step.kv_bytes + step.state_bytes + step.parts["embedding"].bytes)


def _most(holds: Callable[[Number], NDArray[np.bool_]], shape: tuple[int, ...]) -> NDArray:
    """The largest batch for which `holds`, which is true up to some batch and false beyond.

    0 where it is never true, infinite where it always is.
    """
    low, high = np.zeros(shape), np.full(shape, float(MOST))
    while np.any(low < high):
        middle = low + np.ceil((high - low) / 2)
        true = holds(np.maximum(middle, 1))
        low, high = np.where(true, middle, low), np.where(true, high, middle - 1)
    return np.where(low == MOST, np.inf, low)
