"""One pass on one chip, as the plain numbers a picture shows."""

from __future__ import annotations

from typing import NamedTuple

from kitchenlib.chips import Chip
from kitchenlib.roofline import Work


class Reading(NamedTuple):
    """What a picture says about one pass on one chip.

    Attributes:
        flops, bytes: FLOPs, and bytes between memory and cores.
        intensity: FLOP per byte.
        time: ideal seconds.
        reached: FLOP/s, FLOPs over time.
        chef, waiter: shares of the time in which cores calculate, and in which memory is read.
        bound: "compute", "memory" or "interconnect".
    """

    flops: float
    bytes: float
    intensity: float
    time: float
    reached: float
    chef: float
    waiter: float
    bound: str


def read(work: Work, chip: Chip) -> Reading:
    """`work` on `chip`, for plain sizes. Raises ``TypeError`` for sizes that are arrays."""
    flops, nbytes, time = float(work.flops), float(work.bytes), float(work.time(chip))
    return Reading(
        flops=flops,
        bytes=nbytes,
        intensity=float(work.intensity),
        time=time,
        reached=flops / time,
        chef=float(work.utilization(chip)),
        waiter=nbytes / chip.bandwidth / time,
        bound=str(work.bound(chip)),
    )
