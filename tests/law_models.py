"""Models and chips that the tests of the law share: every kind of layer, and any made-up shape."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import kitchenlib as kl
from kitchenlib import (
    Attention,
    Block,
    Chip,
    Experts,
    FeedForward,
    LatentAttention,
    Mamba1,
    Mamba2,
    Model,
)

DATA = Path(__file__).parent / "data"

#: The H100 SXM in round figures, with a rate for every format.
H100 = Chip(
    "H100 in round figures",
    bandwidth=3.35e12,
    peaks={"bf16": 989e12, "fp8": 1979e12, "int8": 1979e12},
    interconnect=450e9,
)

#: One catalogue model of each kind of layer.
KINDS = {
    "MHA": "Llama-2-7B",
    "GQA": "Llama-2-70B",
    "MQA, side by side": "Falcon-7B",
    "MLA, shared expert, dense first layers": "DeepSeek-V3",
    "sliding windows": "Gemma-3-27B (text)",
    "experts": "Mixtral-8x7B-v0.1",
    "experts, windows, biases": "gpt-oss-20b",
    "plain feed-forward, positions": "GPT-2 (124M)",
}
MODELS = [kl.model(name) for name in KINDS.values()]
#: Those whose attention is the same in prefill and decode: all but MLA.
PLAIN_ATTENTION = [m for m in MODELS if not isinstance(m.blocks[0].attention, LatentAttention)]


def fixture(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file that the tests keep for themselves."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def made_up(*blocks: Block, hidden: int = 64, vocab: int = 100, tied: bool = False) -> Model:
    return Model("made up", hidden, vocab, tied, blocks, final_norm=hidden)


def doubled(model: Model) -> Model:
    """The same model with twice as many layers of each kind."""
    return replace(model, blocks=tuple(replace(b, layers=2 * b.layers) for b in model.blocks))


@st.composite
def _mixers(draw: DrawFn) -> Attention | LatentAttention | Mamba1 | Mamba2:
    kind = draw(st.integers(0, 5))
    if kind == 1:
        return Mamba1(inner=draw(st.sampled_from([8, 96])), state=16, rank=4)
    if kind == 2:
        return Mamba2(heads=8, head_dim=16, state=32, groups=draw(st.sampled_from([1, 2, 8])))
    if kind == 0:
        return LatentAttention(
            heads=draw(st.sampled_from([4, 8])),
            q_rank=draw(st.sampled_from([None, 24])),
            kv_rank=32,
            nope_dim=8,
            rope_dim=4,
            value_dim=draw(st.sampled_from([8, 16])),
        )
    kv_heads = draw(st.sampled_from([1, 2, 4, 8]))
    return Attention(
        heads=kv_heads * draw(st.sampled_from([1, 2, 8])),
        kv_heads=kv_heads,
        head_dim=draw(st.sampled_from([4, 80, 128])),
        window=draw(st.sampled_from([None, None, 1, 7, 1000])),
        vectors=draw(st.sampled_from([0, 48])),
    )


@st.composite
def _mlps(draw: DrawFn) -> FeedForward | Experts:
    each = FeedForward(
        draw(st.integers(1, 300)), draw(st.sampled_from([2, 3])), draw(st.sampled_from([0, 9]))
    )
    if draw(st.booleans()):
        return each
    number = draw(st.integers(1, 32))
    shared = FeedForward(16) if draw(st.booleans()) else None
    return Experts(number, draw(st.integers(1, number)), each, shared, vectors=0)


def any_model() -> SearchStrategy[Model]:
    """Made-up models: one to three kinds of layers, each of any mixer and feed-forward."""
    block = st.builds(
        Block,
        layers=st.integers(1, 40),
        attention=_mixers(),
        mlp=_mlps(),
        norms=st.sampled_from([0, 128]),
        parallel=st.booleans(),
    )
    return st.builds(
        lambda blocks, tied: made_up(*blocks, tied=tied),
        st.lists(block, min_size=1, max_size=3),
        st.booleans(),
    )


def any_format() -> SearchStrategy[str]:
    return st.sampled_from([form.name for form in kl.formats()])
