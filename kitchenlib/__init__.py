"""The LLM Kitchen: the arithmetic behind why language models are fast, slow, cheap or dear.

    >>> import kitchenlib as kl
    >>> h100, llama = kl.chip("H100 SXM"), kl.model("Llama-2-70B")
    >>> step = kl.decode_step(llama, context=4096)
    >>> kl.human(step.time(h100), "s"), step.bound(h100)
    ('41.4 ms', 'memory')

Modules, from the ground up: `inputs`, `units`, `precision`, `data` | `prices`, `layers`, `configs`,
`hybrids`, `chips`, `models`, `experts` | `roofline` | `phases`, `efficiency`, `measured` |
`speculation`, `retrieval`, `senses` | `serving` | `batching`, `thinking` | `llm` | `bench` |
`miniatures` | `film` | `plots` | `widgets`, `player` | `exercises`.
Each imports only from those before it.
"""

from __future__ import annotations

import importlib
from typing import Any

from kitchenlib import retrieval, senses, thinking, units
from kitchenlib.batching import batch_limits, intensity_ceiling
from kitchenlib.chips import Chip, chip, chips
from kitchenlib.efficiency import Efficiency, efficiencies, efficiency, estimate
from kitchenlib.experts import (
    experts_touched,
    experts_touched_by,
    most_experts_touched,
    routing_chances,
)
from kitchenlib.inputs import UnknownName
from kitchenlib.layers import (
    Attention,
    Block,
    Experts,
    FeedForward,
    LatentAttention,
    Mamba1,
    Mamba2,
    Nothing,
)
from kitchenlib.measured import layer_times, layer_work, matmul_ceiling
from kitchenlib.models import Model, layer_matrices, model, models
from kitchenlib.phases import decode_step, mixed_step, prefill, verify_step
from kitchenlib.precision import Format, formats, grouped, number_format
from kitchenlib.prices import (
    ChipHour,
    Price,
    SheetPrice,
    chip_hour,
    chip_hours,
    sheet_price,
    sheet_prices,
)
from kitchenlib.roofline import Part, Work, attainable, matmul
from kitchenlib.serving import (
    break_even,
    energy_per_token,
    fits,
    kitchen_bill,
    kitchens_needed,
    max_batch,
    measured_tpot,
    memory_needed,
    monthly,
    price_per_million,
    request_time,
    resent_tokens,
    throughput,
    tpot,
    ttft,
)
from kitchenlib.speculation import (
    acceptance_rate,
    accepted_lengths,
    all_accepted,
    draft_length,
    expected_tokens,
    ideal_draft_length,
    speculate,
    speculative_speedup,
)
from kitchenlib.units import dollars, human, kg

#: These load matplotlib, ipywidgets or the language model.
_LAZY = ("bench", "exercises", "film", "llm", "miniatures", "player", "plots", "widgets")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Attention",
    "Block",
    "Chip",
    "ChipHour",
    "Efficiency",
    "Experts",
    "FeedForward",
    "Format",
    "LatentAttention",
    "Mamba1",
    "Mamba2",
    "Model",
    "Nothing",
    "Part",
    "Price",
    "SheetPrice",
    "UnknownName",
    "Work",
    "acceptance_rate",
    "accepted_lengths",
    "all_accepted",
    "attainable",
    "batch_limits",
    "break_even",
    "chip",
    "chip_hour",
    "chip_hours",
    "chips",
    "decode_step",
    "dollars",
    "draft_length",
    "efficiencies",
    "efficiency",
    "energy_per_token",
    "estimate",
    "expected_tokens",
    "experts_touched",
    "experts_touched_by",
    "fits",
    "formats",
    "grouped",
    "human",
    "ideal_draft_length",
    "intensity_ceiling",
    "kg",
    "kitchen_bill",
    "kitchens_needed",
    "layer_matrices",
    "layer_times",
    "layer_work",
    "matmul",
    "matmul_ceiling",
    "max_batch",
    "measured_tpot",
    "memory_needed",
    "mixed_step",
    "model",
    "models",
    "monthly",
    "most_experts_touched",
    "number_format",
    "prefill",
    "price_per_million",
    "request_time",
    "resent_tokens",
    "retrieval",
    "routing_chances",
    "senses",
    "sheet_price",
    "sheet_prices",
    "speculate",
    "speculative_speedup",
    "thinking",
    "throughput",
    "tpot",
    "ttft",
    "units",
    "verify_step",
]
