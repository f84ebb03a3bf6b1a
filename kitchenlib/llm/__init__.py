"""A real language model in NumPy: SmolLM2-135M-Instruct, 135 million weights, on your machine.

    >>> from kitchenlib import llm
    >>> smol = llm.load()
    >>> for piece in smol.stream("Why is the sky blue?", tokens=40):
    ...     print(piece, end="", flush=True)

From the ground up: `weights` (the sack) | `tokenizer` (words and numbers), `notepad` (the KV
cache), `meter` (counts the work) | `transformer` (prefill and decode step) | `smol` (all of it
together) | `speed` (how near it comes to what this machine can do).
"""

from __future__ import annotations

from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.smol import LLM, Timing, load, stand_in
from kitchenlib.llm.speed import Speed, measure, readiness
from kitchenlib.llm.transformer import Transformer

__all__ = [
    "LLM",
    "Cache",
    "Speed",
    "Timing",
    "Transformer",
    "load",
    "measure",
    "readiness",
    "stand_in",
]
