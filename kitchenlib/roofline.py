"""The Kitchen Law: the chef cuts, the waiter carries, and the slower of the two sets the pace.

`Work` is what one forward pass has to do on one chip, operator by operator: FLOPs to calculate
and bytes to move. Put on a `Chip` it gives times. Two of them:

- ``time``: operators run one after the other, each as slow as its slower side: the sum over
  operators of max(compute, memory, interconnect). This is the ideal time.
- ``floor``: max of the sums, as if everything overlapped perfectly. No measurement can beat it.

`floor` is a lower bound whatever overlaps, `time` is one as long as no two operators do: peaks
and bandwidths are data-sheet values, activations between operators are not counted. (A model so
small that it stays in a cache could beat both: caches are ignored.) `time` is at most three times
`floor`, and twice with one chip.

Source of the law: Williams, Waterman, Patterson, "Roofline", CACM 2009.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip
from kitchenlib.inputs import Number, broadcastable, count, instance, positive
from kitchenlib.precision import AnyFormat, number_format, rate
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD, human

BOUNDS = ("compute", "memory", "interconnect")


class Part(NamedTuple):
    """One group of operators of a pass, on one chip.

    Attributes:
        flops: FLOPs (a multiply-add is 2).
        weight_bytes: bytes of weights read.
        kv_bytes: bytes of KV cache read and written.
        link_bytes: bytes sent to other chips.
        rates: the peaks it multiplies at, best first; the first that a chip has is used.
        state_bytes: bytes of the states of state-space layers read and written.
    """

    flops: Number = 0.0
    weight_bytes: Number = 0.0
    kv_bytes: Number = 0.0
    link_bytes: Number = 0.0
    rates: tuple[str, ...] = ("bf16",)
    state_bytes: Number = 0.0

    @property
    def bytes(self) -> Number:
        """Bytes between memory and cores."""
        return self.weight_bytes + self.kv_bytes + self.state_bytes

    @property
    def intensity(self) -> Number:
        """FLOP per byte (infinite where no byte is moved)."""
        return _intensity(self.flops, self.bytes)

    def sides(self, chip: Chip) -> tuple[Number, Number, Number]:
        """Seconds of calculating, of moving bytes, and of sending bytes to other chips."""
        instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
        return (
            self.flops / chip.first_peak(self.rates) if _any(self.flops) else 0.0,
            self.bytes / chip.bandwidth,
            self.link_bytes / _interconnect(chip) if _any(self.link_bytes) else 0.0,
        )


@dataclass(frozen=True)
class Work:
    """What one forward pass has to do on one chip: `parts`, one per group of operators.

    Sizes may be arrays; then what depends on them is an array of their common shape.
    """

    parts: dict[str, Part]

    @property
    def flops(self) -> Number:
        """FLOPs of the pass."""
        return _sum(part.flops for part in self.parts.values())

    @property
    def bytes(self) -> Number:
        """Bytes between memory and cores: weights, KV cache and states."""
        return _sum(part.bytes for part in self.parts.values())

    @property
    def weight_bytes(self) -> Number:
        """Bytes of weights that the pass reads."""
        return _sum(part.weight_bytes for part in self.parts.values())

    @property
    def kv_bytes(self) -> Number:
        """Bytes of KV cache that the pass reads and writes."""
        return _sum(part.kv_bytes for part in self.parts.values())

    @property
    def state_bytes(self) -> Number:
        """Bytes of the states of state-space layers that the pass reads and writes."""
        return _sum(part.state_bytes for part in self.parts.values())

    @property
    def link_bytes(self) -> Number:
        """Bytes that the chip sends to other chips."""
        return _sum(part.link_bytes for part in self.parts.values())

    @property
    def intensity(self) -> Number:
        """FLOP per byte: to be held against `Chip.ridge`."""
        return _intensity(self.flops, self.bytes)

    def times(self, chip: Chip) -> dict[str, Number]:
        """Seconds of each group of operators: max(compute, memory, interconnect)."""
        return {name: reduce(_max, part.sides(chip)) for name, part in self.parts.items()}

    def time(self, chip: Chip) -> Number:
        """Ideal seconds of the pass: the sum over operators of max(compute, memory, link)."""
        return _sum(self.times(chip).values())

    def sides(self, chip: Chip) -> tuple[Number, Number, Number]:
        """Seconds that calculating, moving bytes, and sending bytes would take alone."""
        each = [part.sides(chip) for part in self.parts.values()]
        return _sum(s[0] for s in each), _sum(s[1] for s in each), _sum(s[2] for s in each)

    def floor(self, chip: Chip) -> Number:
        """Seconds that no measurement can beat: max of the sums."""
        return reduce(_max, self.sides(chip))

    def bound(self, chip: Chip) -> str | NDArray[np.str_]:
        """What sets the floor: "compute", "memory" or "interconnect" (an array for arrays)."""
        sides = np.broadcast_arrays(*self.sides(chip))
        names = np.array(BOUNDS)[np.argmax(sides, axis=0)]
        return names if names.ndim else str(names)

    def utilization(self, chip: Chip) -> Number:
        """Share of the ideal time in which the cores calculate, from 0 to 1."""
        return self.sides(chip)[0] / self.time(chip)

    def __repr__(self) -> str:
        if any(np.ndim(value) for part in self.parts.values() for value in part[:4]):
            return f"<Work of shape {np.shape(self.flops + self.bytes + self.link_bytes)}>"
        lines = [f"{'':14}{'FLOP':>12}{'bytes':>12}{'FLOP/byte':>12}"]
        total = Part(self.flops, self.weight_bytes, self.kv_bytes, self.link_bytes)
        for name, part in [*self.parts.items(), ("total", total)]:
            lines.append(
                f"{name.replace('_', ' '):14}{_shown(part.flops):>12}{_shown(part.bytes, 'B'):>12}"
                f"{_ratio(part.intensity):>12}"
            )
            if part.link_bytes:
                lines[-1] += f"   sends {_shown(part.link_bytes, 'B')}"
        return "\n".join(lines)


def attainable(chip: Chip, intensity: ArrayLike, rate: str = "bf16") -> Number:
    """FLOP/s that `chip` can reach at `intensity` FLOP per byte: the roofline itself.

    ``min(peak, intensity x bandwidth)``.
    """
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    cuts = positive("intensity", intensity, "FLOP per byte")
    return _min(chip.peak(rate), cuts * chip.bandwidth)


def matmul(
    tokens: ArrayLike,
    inputs: ArrayLike,
    outputs: ArrayLike,
    weights: AnyFormat = "bf16",
    compute: str | None = None,
) -> Work:
    """One matrix product: `tokens` rows of `inputs` values times an inputs x outputs matrix.

    2 x tokens x inputs x outputs FLOPs; the weights are read once, whatever the number of tokens.
    The rows themselves are not counted: they are small, and stay close to the cores.
    """
    t = count("tokens", tokens, "tokens")
    i = count("inputs", inputs, "values")
    o = count("outputs", outputs, "values")
    broadcastable(tokens=t, inputs=i, outputs=o)
    flops = FLOP_PER_MULTIPLY_ADD * 1.0 * t * i * o
    form = number_format(weights)
    return Work({"matmul": Part(flops, i * o * form.bytes, rates=rates_of(weights, compute))})


def rates_of(weights: AnyFormat, compute: str | None) -> tuple[str, ...]:
    """The peaks at which `weights` are multiplied: as the format implies, or as `compute` says."""
    return number_format(weights).rates if compute is None else (rate(compute),)


def _interconnect(chip: Chip) -> float:
    if chip.interconnect is None:
        raise ValueError(
            f"{chip.name} has no interconnect in the catalogue, so it cannot share a model with "
            "other chips: give chips=1, or a Chip with interconnect=... in bytes per second"
        )
    return chip.interconnect


def _intensity(flops: Number, nbytes: Number) -> Number:
    if isinstance(flops, np.ndarray) or isinstance(nbytes, np.ndarray):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(flops, nbytes)
    if nbytes:
        return flops / nbytes
    return np.inf if flops else np.nan


def _shown(value: Number, unit: str = "") -> str:
    return human(float(value), unit)


def _ratio(intensity: Number) -> str:
    return f"{intensity:,.1f}" if np.isfinite(intensity) and intensity else "-"


def _any(value: Number) -> bool:
    return bool(value.any()) if isinstance(value, np.ndarray) else bool(value)


def _pick(scalar: Callable[..., Any], array: np.ufunc) -> Callable[[Any, Any], Any]:
    """Python's own function for numbers (ten times faster), NumPy's for arrays."""

    def pick(a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return array(a, b)
        return scalar(a, b)

    return pick


_max = _pick(max, np.maximum)
_min = _pick(min, np.minimum)


def _sum(values: Iterable[Number]) -> Number:
    return reduce(operator.add, values, 0.0)
