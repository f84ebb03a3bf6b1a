"""A real language model in NumPy: SmolLM2-135M-Instruct, 135 million weights, on your machine.

    >>> from kitchenlib import llm
    >>> smol = llm.load()
    >>> for piece in smol.stream("Why is the sky blue?", tokens=40):
    ...     print(piece, end="", flush=True)

From the ground up: `weights` (the sack), `rounding` (a lighter one) | `tokenizer` (words and
numbers), `notepad` (the KV cache), `meter` (counts the work) | `transformer` (prefill and decode
step) | `drafts` (speculation) | `smol` (all of it together) | `reading` (how well it reads),
`speed` (how near it comes to what this machine can do).
"""

from __future__ import annotations

from kitchenlib.llm.drafts import Draft, Drafter, Speculation, Sweep, lookup
from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.reading import Reading, market_day, perplexity, readings, surprise
from kitchenlib.llm.smol import LLM, Timing, load, stand_in
from kitchenlib.llm.speed import BatchStep, Speed, batch_steps, measure, readiness
from kitchenlib.llm.transformer import Transformer

__all__ = [
    "LLM",
    "BatchStep",
    "Cache",
    "Draft",
    "Drafter",
    "Reading",
    "Speculation",
    "Speed",
    "Sweep",
    "Timing",
    "Transformer",
    "batch_steps",
    "load",
    "lookup",
    "market_day",
    "measure",
    "perplexity",
    "readiness",
    "readings",
    "stand_in",
    "surprise",
]
