"""What a guest feels (`latency`), what fits (`memory`), and what it costs (`money`).

On the ideal law, unless an `Efficiency` says how far a system stays from it.
"""

from kitchenlib.serving.latency import measured_tpot, request_time, throughput, tpot, ttft
from kitchenlib.serving.memory import USABLE, fits, max_batch, memory_needed
from kitchenlib.serving.money import (
    break_even,
    energy_per_token,
    kitchen_bill,
    kitchens_needed,
    monthly,
    price_per_million,
    resent_tokens,
)

__all__ = [
    "USABLE",
    "break_even",
    "energy_per_token",
    "fits",
    "kitchen_bill",
    "kitchens_needed",
    "max_batch",
    "measured_tpot",
    "memory_needed",
    "monthly",
    "price_per_million",
    "request_time",
    "resent_tokens",
    "throughput",
    "tpot",
    "ttft",
]
