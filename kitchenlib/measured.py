"""Published measurements that the law is held against. Rows carry their source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from numpy.typing import ArrayLike

from kitchenlib import data
from kitchenlib.inputs import unknown_name
from kitchenlib.models import Model, layer_matrices
from kitchenlib.roofline import Part, Work, matmul
from kitchenlib.units import MS

_LAYER_CHIP = {"h100": "H100 SXM"}
_LAYER_MODEL = {"Llama-2-7b-hf": "Llama-2-7B", "Llama-2-70b-hf": "Llama-2-70B"}


@dataclass(frozen=True)
class LayerTime:
    """The measured time of the matrix products of one layer.

    Attributes:
        chip, model: catalogue names.
        tokens: tokens in one pass.
        seconds: the matrix products alone.
        layer_seconds: the whole layer without attention.
        source: where it was published.
    """

    chip: str
    model: str
    tokens: int
    seconds: float
    layer_seconds: float
    source: str


@cache
def _layer_times() -> tuple[LayerTime, ...]:
    return tuple(
        LayerTime(
            chip=_LAYER_CHIP[row["gpu"]],
            model=_LAYER_MODEL[row["model"]],
            tokens=int(row["num_tokens"]),
            seconds=float(row["gemm_ms"]) * MS,
            layer_seconds=float(row["layer_no_attn_ms"]) * MS,
            source=row["source"],
        )
        for row in data.rows("layer_times_h100.csv")
    )


def layer_times(model: str = "Llama-2-70B") -> tuple[LayerTime, ...]:
    """Measured times of one layer of `model` on an H100 SXM, by tokens; some sizes twice.

    Raises `UnknownName` for a model that was not measured.
    """
    rows = [row for row in _layer_times() if row.model == model]
    if not rows:
        raise unknown_name("measured layer", model, sorted({r.model for r in _layer_times()}))
    return tuple(sorted(rows, key=lambda row: row.tokens))


def layer_work(model: Model, tokens: ArrayLike) -> Work:
    """The law's work for the matrix products of one layer of `model`, matrix by matrix."""
    parts: dict[str, Part] = {}
    for name, inputs, outputs in layer_matrices(model):
        parts[name] = matmul(tokens, inputs, outputs).parts["matmul"]
    return Work(parts)


def matmul_ceiling(chip: str) -> float:
    """The best share of the dense 16-bit peak that a matrix product was measured to reach.

    Raises `UnknownName` for a chip without such a measurement.
    """
    shares = {
        row["chip"]: float(row["share_of_dense_bf16_peak"])
        for row in data.rows("matmul_ceilings.csv")
    }
    if not isinstance(chip, str) or chip not in shares:
        raise unknown_name("chip with a measured matmul ceiling", chip, shares)
    return shares[chip]
