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

#: Published names of number formats -> those of the library; "" where it has no equal.
_FORMAT = {
    "F16": "fp16",
    "int4-g128 (AWQ)": "int4-g128",
    "bf16 (not stated)": "bf16",
    "MXFP4": "",  # llama.cpp: experts as in mxfp4-moe, but all other matrices in Q8_0
    "int4": "",  # EAGLE on gpt-fast: the size of the groups is not said
    "nvfp4 MoE + bf16 attention": "",
}
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


@dataclass(frozen=True)
class Measurement:
    """One published number with the conditions it was measured under.

    Attributes:
        id: of the row.
        metric: "prefill_tok_s" (prompt tokens per second, of all sequences), "ttft_s", "tpot_s",
            "decode_tok_s_per_seq", "decode_tok_s_total" (of all sequences), "speedup",
            "e2e_output_tok_s_per_seq", "e2e_output_tok_s_total" (prefill included), "accept_len".
        value: in the unit that the metric names.
        chip, model: catalogue names (``aliases.csv`` joins them, and tells what is ambiguous); chip
            is None where the source does not say which.
        published_chip, published_model: as the source calls them.
        chips: how many share the model.
        weights, kv: number formats; None where the library has no equal, or nothing is said.
        published_weights: the format as the source calls it.
        batch: sequences at once.
        prompt, context, output: tokens read, in the cache, and written; None where not said. For a
            prefill `context` is what was cached before it, or `prompt` once more.
        engine: the program that ran the model.
        source, locator: who published it, and where; the date is that of the commit named there.
        note: what else is known.
    """

    id: str
    metric: str
    value: float
    chip: str | None
    published_chip: str
    chips: int
    model: str
    published_model: str
    weights: str | None
    published_weights: str
    kv: str | None
    batch: int
    prompt: int | None
    context: int | None
    output: int | None
    engine: str
    source: str
    locator: str
    note: str

    @property
    def seconds(self) -> float:
        """Seconds of one prefill, or of one token written to each sequence.

        Raises ``ValueError`` for a metric that mixes the two or is no speed.
        """
        if self.metric in ("ttft_s", "tpot_s"):
            return self.value
        if self.metric == "prefill_tok_s" and self.prompt:
            return self.batch * self.prompt / self.value
        if self.metric.startswith("decode_tok_s"):
            return (self.batch if self.metric.endswith("total") else 1) / self.value
        raise ValueError(
            f"{self.id} is a {self.metric}: it tells the seconds neither of a prefill nor of a "
            "token. Take a row of prefill_tok_s, decode_tok_s_..., ttft_s or tpot_s"
        )


def _measurement(row: dict[str, str]) -> Measurement:
    chips, models = data.aliases("chip"), data.aliases("model")
    model, weights, kv = row["model"], row["weight_precision"], row["kv_precision"]
    return Measurement(
        id=row["id"],
        metric=row["metric"],
        value=float(row["value"]),
        chip=chips.get(row["hardware"]),
        published_chip=row["hardware"],
        chips=int(row["n_devices"]),
        model=models.get(model, model),
        published_model=model,
        weights=_FORMAT.get(weights, weights) or None,
        published_weights=weights,
        kv=_FORMAT.get(kv, kv) or None,
        batch=int(row["batch"]),
        prompt=_tokens(row["prompt_tokens"]),
        context=_tokens(row["context_tokens"]),
        output=_tokens(row["output_tokens"]),
        engine=row["engine"],
        source=row["source"],
        locator=row["source_locator"],
        note=row["notes"],
    )


def _tokens(text: str) -> int | None:
    return int(text) if text else None


@cache
def _measurements() -> tuple[Measurement, ...]:
    return tuple(_measurement(row) for row in data.rows("measured.csv"))


def measurements(**conditions: str | float | None) -> tuple[Measurement, ...]:
    """Published measurements that meet every one of `conditions`, in the order of the file.

        measurements(model="Llama-3.1-8B", weights="Q4_K_M", metric="prefill_tok_s", batch=1)

    A condition is a field of `Measurement` and its value. Conditions that each hold somewhere but
    never together give an empty tuple.

    Raises `UnknownName` for a field that there is not, or a value that no row has.
    """
    return data.select(_measurements(), conditions, "measurement", "measured")


def measurement(**conditions: str | float | None) -> Measurement:
    """The one published measurement that meets `conditions` (see `measurements`).

    Raises ``ValueError`` where there is none or more than one, `UnknownName` as `measurements`.
    """
    return data.only(_measurements(), conditions, "measurement", "measured")
