"""The meter: one matrix product that counts what it does, from the arrays that pass through it.

It knows nothing of the law in `kitchenlib.phases`: what it counts is held against the law.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from kitchenlib.llm.weights import Array
from kitchenlib.precision import number_format
from kitchenlib.roofline import Part, Work
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD

_ATTENTION = "attention"  # the group whose right-hand side is the notepad, not the sack
_FEW = 6  # rows; with more of them BLAS is faster
_PIECE = 2**17  # values, 512 KiB
_NARROW = 64  # columns: narrower pieces would be read in scraps
_FLOAT32 = number_format("fp32").rates


class Meter:
    """FLOPs and bytes, group by group; the groups are those of `kitchenlib.phases`."""

    def __init__(self) -> None:
        self._computed: dict[str, int] = defaultdict(int)  # FLOPs
        self._causal: dict[str, int] = defaultdict(int)  # FLOPs without what the mask throws away
        self._bytes: dict[str, int] = defaultdict(int)

    def product(
        self,
        group: str,
        left: Array,
        right: Array,
        seen: NDArray[np.bool_] | None = None,
        again: bool = False,
    ) -> Array:
        """``left @ right``, counted.

        Args:
            group: the group of operators that it belongs to.
            left: (..., rows, inner), made on the spot and not counted as traffic.
            right: (..., inner, columns), weights or notes, streamed from memory.
            seen: which pairs of a query and a key count; the others are computed in vain.
            again: `right` was streamed and counted already in this pass.
        """
        flops = FLOP_PER_MULTIPLY_ADD * left.size * right.shape[-1]
        pairs, useful = (1, 1) if seen is None else (seen.size, int(np.count_nonzero(seen)))
        self._computed[group] += flops
        self._causal[group] += flops // pairs * useful
        if not again:
            self._bytes[group] += right.nbytes
        return _product(left, right)

    def read(self, group: str, array: Array) -> Array:
        """`array`, its bytes counted: rows looked up, and weights that are no matrix."""
        self._bytes[group] += array.nbytes
        return array

    @property
    def computed(self) -> Work:
        """What was done, pairs that no token may look at included."""
        return self._work(self._computed)

    @property
    def causal(self) -> Work:
        """What was needed: as `computed`, without the pairs that the mask throws away."""
        return self._work(self._causal)

    def _work(self, flops: dict[str, int]) -> Work:
        return Work(
            {group: _part(group, flops[group], self._bytes[group]) for group in self._bytes}
        )


def _product(left: Array, right: Array) -> Array:
    """``left @ right``, for a few rows twice as fast: BLAS would first repack all of `right`.

    A piece of `right` that fits into a core's own cache is multiplied with one row after another.
    """
    inner, columns = right.shape[-2:]
    if not 1 < left.shape[-2] <= _FEW:
        return left @ right
    made = np.empty((*left.shape[:-1], columns), left.dtype)
    width = max(_NARROW, _PIECE // inner)
    for start in range(0, columns, width):
        piece = slice(start, start + width)
        np.matmul(left[..., None, :], right[..., None, :, piece], out=made[..., None, piece])
    return made


def _part(group: str, flops: int, moved: int) -> Part:
    rates = _FLOAT32 if flops else Part().rates
    if group == _ATTENTION:
        return Part(flops, kv_bytes=moved, rates=rates)
    return Part(flops, weight_bytes=moved, rates=rates)
