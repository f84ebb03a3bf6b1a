"""Lighter sacks: weights rounded to a few bits in groups, and what the scales weigh.

Round to nearest: in each group of neighbouring inputs of an output the values from the lowest to
the highest become 2**bits values, a step apart. The lowest value and the step are kept in 16 bit.
Nothing is trained or corrected afterwards, as GPTQ or AWQ would: this is what rounding alone does.

The rounded weights are unpacked again to float32: the model runs as before and no faster. What is
shown is the loss, and what the bytes would be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kitchenlib.inputs import dimension, wrong
from kitchenlib.llm.weights import Array, Layer, Weights, changed
from kitchenlib.precision import number_format
from kitchenlib.units import BITS_PER_BYTE

_MOST_BITS = 16  # as many as the lowest value of a group is kept in
_KEPT = number_format("fp16").bytes * BITS_PER_BYTE  # bits of a step, and of a lowest value


class Rounding(NamedTuple):
    """How to round: see `rounding`, which checks.

    Attributes:
        bits: bits of a rounded weight, without its share of the scales.
        group: neighbouring inputs that share a lowest value and a step; the last group of a row
            may be shorter.
        embedding: whether the embedding is rounded too, which is the LM head as well.
    """

    bits: int
    group: int
    embedding: bool

    def __str__(self) -> str:
        also = ", the embedding too" if self.embedding else ""
        return f"rounded to {self.bits} bits in groups of {self.group}{also}"

    def applied(self, weights: Weights) -> Weights:
        """The same weights, rounded: the matrices of the layers; norms are left as they are."""
        return changed(weights, self._layer, self.matrix if self.embedding else np.asarray)

    def matrix(self, matrix: Array) -> Array:
        """A matrix (outputs, inputs), rounded, float32."""
        rounded = np.empty_like(matrix)
        for start in range(0, matrix.shape[1], self.group):
            group = slice(start, start + self.group)
            rounded[:, group] = self._group(matrix[:, group])
        return rounded

    def _layer(self, layer: Layer) -> Layer:
        return Layer(*(self.matrix(part) if part.ndim == 2 else part for part in layer))

    def _group(self, values: Array) -> Array:
        """The values of one group for each output, (outputs, group)."""
        lowest, highest = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
        most = 2**self.bits - 1
        step = _in_16_bit((highest - lowest) / most)
        lowest = _in_16_bit(lowest)
        steps = np.rint((values - lowest) / np.where(step > 0, step, 1))
        return np.clip(steps, 0, most) * step + lowest

    def bits_per_weight(self, weights: Weights) -> float:
        """Bits of a rounded weight, its share of steps and lowest values included: the mean."""
        matrices = [matrix for layer in weights.layers for matrix in layer if matrix.ndim == 2]
        if self.embedding:
            matrices.append(weights.embedding)
        groups = sum(len(matrix) * -(-matrix.shape[1] // self.group) for matrix in matrices)
        return self.bits + 2 * _KEPT * groups / sum(matrix.size for matrix in matrices)


def rounding(bits: int, group: int = 32, embedding: bool = False) -> Rounding:
    """A `Rounding`; raises ``ValueError`` for what cannot be one.

    Args:
        bits: bits of a weight, from 1 to 16.
        group: weights that share a step, at least 2.
        embedding: whether to round the embedding, which is the LM head too.
    """
    if dimension("bits", bits, "bits") > _MOST_BITS:
        raise wrong("bits", bits, f"give 1 to {_MOST_BITS} bits for a weight")
    if not isinstance(embedding, bool):
        raise wrong("embedding", embedding, "give True or False")
    return Rounding(int(bits), dimension("group", group, "weights", least=2), embedding)


def _in_16_bit(values: Array) -> Array:
    return values.astype(np.float16).astype(np.float32)
