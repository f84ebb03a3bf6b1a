"""Bad input of every kind, for every argument of every public function.

Whatever is wrong raises ``ValueError`` or `UnknownName` (a ``KeyError``), never anything else, and
the message names the argument. Warnings are errors throughout the tests, so that none slips by.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

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
    Nothing,
)
from kitchenlib.inputs import UnknownName
from tests.law_models import H100, MODELS, made_up

LLAMA = kl.model("Llama-2-70B")
STEP = kl.decode_step(LLAMA, 4096)

NO_NUMBER: list[Any] = [
    None,
    "8",
    b"8",
    True,
    1j,
    [],
    np.array([]),
    [[1, 2], [3]],
    [1, None],
    [True],
    np.array([1], dtype=object),
    {"a": 1},
    object(),
    math.nan,
    -math.inf,
    math.inf,
    [1, math.nan],
    -1,
    [1, -1],
    10**400,
    1e300,
]
NO_REAL: list[Any] = [None, "8", True, 1j, [], [[1, 2], [3]], {}, math.nan, math.inf, 10**400]
NO_COUNT = [*NO_NUMBER, 0.5, [1, 1.5], 2**53 + 2]
NO_NAME: list[Any] = ["", "no such name", None, 8, b"bf16", ["bf16"], ("bf16",), np.array(["bf16"])]
NO_MODEL: list[Any] = [None, "Llama-2-70B", 70, LLAMA.blocks, H100]
NO_CHIP: list[Any] = [None, "H100 SXM", 295.3, LLAMA, ["H100 SXM"]]


class Argument(NamedTuple):
    """What will not do for one argument, and what the message must hold."""

    bad: list[Any]
    message: str


def size(name: str, unit: str, *more: Any) -> Argument:
    return Argument([*NO_COUNT, *more], rf"(?s){name}.*{unit}")


def number(name: str, unit: str, *more: Any) -> Argument:
    return Argument([*NO_NUMBER, *more], rf"(?s){name}.*{unit}")


WEIGHTS = Argument(NO_NAME, "no number format is called")
RATE = Argument([*[n for n in NO_NAME if n is not None], "bf16 sparse"], "rate")
MODEL = Argument(NO_MODEL, r"(?s)model = .*give a Model, for example kl\.model")
CHIP = Argument(NO_CHIP, r"(?s)chip = .*give a Chip, for example kl\.chip")
CHIPS = size("chips", "chips", 0)
PASS = {
    "model": MODEL,
    "batch": size("batch", "sequences", 0),
    "weights": WEIGHTS,
    "kv": WEIGHTS,
    "compute": RATE,
    "chips": CHIPS,
}
FLAG = Argument([None, 0, 1, "yes", []], "give True or False")
OPTIONAL = [value for value in NO_NUMBER if value is not None]
COUNT_OR_NONE = [value for value in NO_COUNT if value is not None]

ROOMY = replace(H100, memory_bytes=1e12)
USABLE = number("usable", "memory", 0, 1.5, [0.5])
EFFICIENCY = Argument(
    [None, "planned", 0.7, [0.7], H100], r"efficiency = .*give an Efficiency, for example kl\."
)
DOLLARS = Argument([*NO_NUMBER, 0, 0.0, -2.95], r"(?s)(chip_hour|rent).*dollars per")
REQUEST = number("(request|sheet|own)", "dollars for one request")
PRICED = {
    **PASS,
    "chip": CHIP,
    "context": size("context", "tokens", 0),
    "prompt": Argument([value for value in NO_COUNT if value is not None], r"(?s)prompt.*tokens"),
    "cached": size("cached", "tokens", 10, [0, 10]),
    "efficiency": EFFICIENCY,
}
STORED = {
    "model": MODEL,
    "context": size("context", "tokens"),
    "batch": size("batch", "sequences", 0),
    "weights": WEIGHTS,
    "kv": WEIGHTS,
    "chips": CHIPS,
}
REPLY = size("reply", "tokens of the reply", 0, 1, [2], 2_000_000)

ACCEPTANCE = Argument([*NO_NUMBER, 1.01, [0.5, 2]], "(?s)acceptance.*probability.*from 0 to 1")
DRAFTED = size("drafted", "tokens")
DRAFT_COST = number("draft_cost", "steps of the large model")
MOST_DRAFTED = size("most", "tokens", [5], 1001)
SMALL = kl.model("Llama-2-7B")
TURN = kl.speculate(LLAMA, SMALL, 10, 5)
TWO_MODELS = {
    **{name: each for name, each in PASS.items() if name != "model"},
    "target": Argument(NO_MODEL, r"(?s)target = .*give a Model"),
    "draft": Argument([each for each in NO_MODEL if each is not None], "(?s)draft = .*or None"),
    "context": size("context", "tokens"),
    "draft_weights": WEIGHTS,
}

ATTENTION = LLAMA.blocks[0].attention
WIDE = FeedForward(64)

#: Each public function -> arguments that do -> what will not do for each of them.
CALLS: list[tuple[Callable[..., Any], dict[str, Any], dict[str, Argument]]] = [
    (
        kl.prefill,
        {"model": LLAMA, "prompt": 10},
        {
            **PASS,
            "prompt": size("prompt", "tokens", 0),
            "cached": size("cached", "tokens", 10, [0, 10]),
        },
    ),
    (
        kl.decode_step,
        {"model": LLAMA, "context": 10},
        {**PASS, "context": size("context", "tokens")},
    ),
    (
        kl.verify_step,
        {"model": LLAMA, "context": 10, "drafted": 3},
        {**PASS, "context": size("context", "tokens"), "drafted": DRAFTED},
    ),
    (
        kl.mixed_step,
        {"model": LLAMA, "prompt": 10, "context": 10, "batch": 2},
        {
            **PASS,
            "prompt": size("prompt", "tokens", 0),
            "context": size("context", "tokens"),
            "cached": size("cached", "tokens", 10, [0, 10]),
        },
    ),
    (
        kl.matmul,
        {"tokens": 1, "inputs": 2, "outputs": 3},
        {
            "tokens": size("tokens", "tokens", 0),
            "inputs": size("inputs", "values", 0),
            "outputs": size("outputs", "values", 0),
            "weights": WEIGHTS,
            "compute": RATE,
        },
    ),
    (
        kl.experts_touched,
        {"experts": 8, "per_token": 2, "tokens": 3},
        {
            "experts": size("(experts|per_token)", "experts", 0, 1, [8, 1]),
            "per_token": size("per_token", "experts", 0, 9, [1, 9]),
            "tokens": size("tokens", "tokens", 0),
        },
    ),
    (
        kl.attainable,
        {"chip": H100, "intensity": 1.0},
        {
            "chip": CHIP,
            "intensity": number("intensity", "FLOP per byte", 0, 0.0, [1.0, 0.0]),
            "rate": Argument([*NO_NAME, "sparse", "fp4"], "(rate|no fp4 peak)"),
        },
    ),
    (
        kl.ttft,
        {"model": LLAMA, "chip": H100, "prompt": 10},
        {
            **PASS,
            "chip": CHIP,
            "prompt": size("prompt", "tokens", 0),
            "cached": size("cached", "tokens", 10, [0, 10]),
            "efficiency": EFFICIENCY,
        },
    ),
    (
        kl.tpot,
        {"model": LLAMA, "chip": H100, "prompt": 10, "reply": 2},
        {
            **PASS,
            "chip": CHIP,
            "prompt": size("prompt", "tokens", 0),
            "reply": REPLY,
            "efficiency": EFFICIENCY,
        },
    ),
    (
        kl.request_time,
        {"model": LLAMA, "chip": H100, "prompt": 10, "reply": 2},
        {
            **PASS,
            "chip": CHIP,
            "prompt": size("prompt", "tokens", 0),
            "cached": size("cached", "tokens", 10, [0, 10]),
            "reply": size("reply", "tokens of the reply", 0, [2], 2_000_000),
            "efficiency": EFFICIENCY,
        },
    ),
    (
        kl.measured_tpot,
        {"total": 2.0, "first": 1.0, "reply": 3},
        {
            "total": number("(total|first)", "seconds", 0.0, 1.0, [2.0, 1.0]),
            "first": number("first", "seconds", 0.0, 2.0, [1.0, 2.0]),
            "reply": size("reply", "tokens of the reply", 0, 1),
        },
    ),
    (
        kl.throughput,
        {"model": LLAMA, "chip": ROOMY, "context": 10, "check_fit": True},
        {
            **PASS,
            "chip": CHIP,
            "context": size("context", "tokens"),
            "check_fit": FLAG,
            "usable": USABLE,
            "efficiency": EFFICIENCY,
        },
    ),
    (
        kl.price_per_million,
        {"model": LLAMA, "chip": ROOMY, "chip_hour": 2.95, "context": 10, "check_fit": True},
        {
            **PRICED,
            "chip_hour": DOLLARS,
            "occupancy": number("occupancy", "the rented time", 0, 1.5, 100, [0.5, 0]),
            "check_fit": FLAG,
            "usable": USABLE,
        },
    ),
    (
        kl.energy_per_token,
        {"model": LLAMA, "chip": H100, "context": 10, "power": 700.0},
        {**PRICED, "power": Argument([*OPTIONAL, 0, -700], r"(?s)power.*watts")},
    ),
    (
        kl.Price,
        {"input": 1.0, "output": 4.0},
        {
            "input": number("input", "USD per 1,000,000 tokens"),
            "output": number("output", "USD per 1,000,000 tokens"),
            "cached": Argument(OPTIONAL, r"(?s)cached.*USD per 1,000,000 tokens"),
            "currency": Argument([None, "", 3, ["USD"]], "currency = .*'USD'"),
            "per": number("per", "tokens", 0, [1.0]),
        },
    ),
    (
        kl.Price(1.0, 4.0, 0.1).request,
        {"prompt": 10, "reply": 10},
        {
            "prompt": size("prompt", "tokens", 0),
            "reply": size("reply", "tokens of the reply"),
            "cached": size("cached", "tokens", 11, [0, 11]),
            "reasoning": size("reasoning", "tokens of reasoning"),
        },
    ),
    (
        kl.monthly,
        {"request": 0.01, "requests": 1000},
        {"request": REQUEST, "requests": number("requests", "requests a day")},
    ),
    (
        kl.kitchens_needed,
        {"request": 0.01, "requests": 1000, "rent": 11.8},
        {
            "request": REQUEST,
            "requests": number("requests", "requests a day"),
            "rent": DOLLARS,
        },
    ),
    (
        kl.kitchen_bill,
        {"request": 0.01, "requests": 1000, "rent": 11.8},
        {
            "request": REQUEST,
            "requests": number("requests", "requests a day"),
            "rent": DOLLARS,
        },
    ),
    (
        kl.break_even,
        {"sheet": 0.01, "own": 0.005, "rent": 11.8},
        {
            "sheet": number("sheet", "dollars for one request", 0),
            "own": number("own", "dollars for one request", 0),
            "rent": DOLLARS,
        },
    ),
    (
        kl.resent_tokens,
        {"first": 100, "added": 10, "calls": 3},
        {
            "first": size("first", "tokens", 0),
            "added": size("added", "tokens"),
            "calls": size("calls", "calls", 0),
        },
    ),
    (
        kl.estimate,
        {"work": STEP, "chip": H100},
        {
            "work": Argument([None, LLAMA, 1.0, {}], r"work = .*give a Work"),
            "chip": CHIP,
            "efficiency": EFFICIENCY,
        },
    ),
    (
        kl.efficiency,
        {"name": "planned"},
        {"name": Argument(NO_NAME, "no efficiency is called")},
    ),
    (
        kl.Efficiency,
        {},
        {
            "compute": number("compute", "the peak", 0, 1.01, 40, [0.4]),
            "bandwidth": number("bandwidth", "the bandwidth", 0, 1.01, 70, [0.7]),
            "link": number("link", "the interconnect", 0, 1.01, [0.7]),
            "fixed": number("fixed", "seconds", [0.001]),
        },
    ),
    (kl.memory_needed, {"model": LLAMA, "context": 10}, STORED),
    (
        kl.fits,
        {"model": LLAMA, "chip": ROOMY, "context": 10},
        {**STORED, "chip": CHIP, "usable": USABLE},
    ),
    (
        kl.max_batch,
        {"model": LLAMA, "chip": ROOMY, "context": 10},
        {
            **{name: stored for name, stored in STORED.items() if name != "batch"},
            "chip": CHIP,
            "context": size("context", "tokens", 0),
            "usable": USABLE,
        },
    ),
    (
        kl.batch_limits,
        {"model": LLAMA, "chip": ROOMY, "context": 10, "tpot": 0.1},
        {
            **{name: each for name, each in PASS.items() if name != "batch"},
            "chip": CHIP,
            "context": size("context", "tokens", 0),
            "tpot": Argument([*OPTIONAL, 0], "tpot.*seconds per token"),
            "usable": USABLE,
        },
    ),
    (
        kl.intensity_ceiling,
        {"model": LLAMA, "context": 10},
        {
            **{name: each for name, each in STORED.items() if name != "batch"},
            "context": size("context", "tokens"),
        },
    ),
    (
        kl.expected_tokens,
        {"acceptance": 0.8, "drafted": 5},
        {"acceptance": ACCEPTANCE, "drafted": DRAFTED},
    ),
    (
        kl.all_accepted,
        {"acceptance": 0.8, "drafted": 5},
        {"acceptance": ACCEPTANCE, "drafted": DRAFTED},
    ),
    (
        kl.accepted_lengths,
        {"acceptance": 0.8, "drafted": 5},
        {"acceptance": ACCEPTANCE, "drafted": size("drafted", "tokens", [5], 1001)},
    ),
    (
        kl.acceptance_rate,
        {"tokens": 2.0, "drafted": 3},
        {
            "tokens": number("tokens", "pass", 0, 0.99, 4.01, [2.0, 5.0]),
            "drafted": size("(drafted|tokens)", "tokens", 0, [3, 0]),
        },
    ),
    (
        kl.speculative_speedup,
        {"acceptance": 0.8, "drafted": 5, "draft_cost": 0.1},
        {
            "acceptance": ACCEPTANCE,
            "drafted": DRAFTED,
            "draft_cost": DRAFT_COST,
            "verify_cost": number("verify_cost", "steps of the large model", 0),
        },
    ),
    (
        kl.ideal_draft_length,
        {"acceptance": 0.8, "draft_cost": 0.1},
        {"acceptance": ACCEPTANCE, "draft_cost": DRAFT_COST, "most": MOST_DRAFTED},
    ),
    (
        kl.speculate,
        {"target": LLAMA, "draft": SMALL, "context": 10, "drafted": 5},
        {**TWO_MODELS, "drafted": DRAFTED},
    ),
    (
        kl.draft_length,
        {"target": LLAMA, "draft": SMALL, "chip": H100, "acceptance": 0.8, "context": 10},
        {**TWO_MODELS, "chip": CHIP, "acceptance": ACCEPTANCE, "most": MOST_DRAFTED},
    ),
    (TURN.time, {"chip": H100}, {"chip": CHIP}),
    (TURN.draft_cost, {"chip": H100}, {"chip": CHIP}),
    (TURN.verify_cost, {"chip": H100}, {"chip": CHIP}),
    (TURN.tpot, {"chip": H100, "acceptance": 0.8}, {"chip": CHIP, "acceptance": ACCEPTANCE}),
    (TURN.speedup, {"chip": H100, "acceptance": 0.8}, {"chip": CHIP, "acceptance": ACCEPTANCE}),
    (
        kl.grouped,
        {"bits": 4, "group": 128},
        {
            "bits": size("bits", "bits per value", 0, 17, [4]),
            "group": size("group", "values that share a scale", 0, [128]),
            "scale_bits": size("scale_bits", "bits per scale", [16]),
            "zero_bits": size("zero_bits", "bits per zero point", [16]),
            "keeps": Argument([None, 8, "lm_head", ["head"], [None]], "(?s)(keeps|group of).*lm_"),
        },
    ),
    (kl.chip, {"name": "H100 SXM"}, {"name": Argument(NO_NAME, "no chip is called")}),
    (kl.model, {"name": "Llama-2-7B"}, {"name": Argument(NO_NAME, "no model is called")}),
    (
        kl.number_format,
        {"name": "bf16"},
        {"name": Argument(NO_NAME, "no number format is called")},
    ),
    (kl.layer_matrices, {"model": LLAMA}, {"model": MODEL}),
    (kl.layer_times, {}, {"model": Argument(NO_NAME, "no measured layer is called")}),
    (
        kl.layer_work,
        {"model": LLAMA, "tokens": 1},
        {"model": MODEL, "tokens": size("tokens", "tokens", 0)},
    ),
    (kl.matmul_ceiling, {"chip": "H100 SXM"}, {"chip": Argument(NO_NAME, "ceiling is called")}),
    (kl.kg, {"nbytes": 1}, {"nbytes": Argument(NO_REAL, "(?s)nbytes .*bytes")}),
    (
        kl.dollars,
        {"value": 1.0},
        {"value": Argument([None, "8", b"8", True, 1j, [], [1, 2], {}], "value = .*one number")},
    ),
    (
        kl.human,
        {"value": 1.0},
        {
            "value": Argument([None, "8", b"8", True, 1j, [], [1, 2], {}], "value = .*one number"),
            "digits": size("digits", "digits", 0, [3]),
        },
    ),
    (
        LLAMA.kv_bytes,
        {"tokens": 1},
        {"tokens": size("tokens", "tokens"), "kv": WEIGHTS},
    ),
    (LLAMA.kv_bytes_per_token, {}, {"kv": WEIGHTS}),
    (LLAMA.weight_bytes, {}, {"weights": WEIGHTS}),
    (
        made_up(Block(1, Mamba2(4, 16, 8), Nothing(), norms=64)).state_bytes,
        {"state": "fp32"},
        {"state": Argument([n for n in NO_NAME if n is not None], "no number format is called")},
    ),
    (LLAMA.streamed_weight_bytes, {}, {"weights": WEIGHTS}),
    (H100.peak, {}, {"rate": Argument(NO_NAME, "rate")}),
    (H100.ridge, {}, {"rate": Argument(NO_NAME, "rate")}),
    (STEP.time, {"chip": H100}, {"chip": CHIP}),
    (STEP.times, {"chip": H100}, {"chip": CHIP}),
    (STEP.sides, {"chip": H100}, {"chip": CHIP}),
    (STEP.floor, {"chip": H100}, {"chip": CHIP}),
    (STEP.bound, {"chip": H100}, {"chip": CHIP}),
    (STEP.utilization, {"chip": H100}, {"chip": CHIP}),
    (STEP.parts["attention"].sides, {"chip": H100}, {"chip": CHIP}),
    (
        Chip,
        {"name": "mine", "bandwidth": 1e12, "peaks": {"bf16": 1e14}},
        {
            "bandwidth": number("bandwidth", "bytes per second", 0, [1.0]),
            "peaks": Argument(
                [None, {}, [], "bf16", 1e14, [1e14], {"bf16": 0}, {"bf16": math.nan}],
                "peaks",
            ),
            "memory_bytes": Argument(OPTIONAL, "memory_bytes.*bytes"),
            "interconnect": Argument(OPTIONAL, "interconnect.*bytes per second"),
            "power": Argument(OPTIONAL, "power.*watts"),
        },
    ),
    (
        Attention,
        {"heads": 8, "kv_heads": 2, "head_dim": 4},
        {
            "heads": size("(heads|query heads)", "heads", 0, 9, [8]),
            "kv_heads": size("(kv_heads|key/value heads)", "heads", 0, 3, 16),
            "head_dim": size("head_dim", "values per head", 0),
            "window": Argument([*COUNT_OR_NONE, 0], "window.*tokens"),
            "vectors": size("vectors", "parameters"),
        },
    ),
    (
        LatentAttention,
        {"heads": 8, "q_rank": 4, "kv_rank": 4, "nope_dim": 4, "rope_dim": 4, "value_dim": 4},
        {
            "heads": size("heads", "heads", 0),
            "q_rank": Argument([*COUNT_OR_NONE, 0], "q_rank.*values"),
            **{
                name: size(name, "values", 0)
                for name in ("kv_rank", "nope_dim", "rope_dim", "value_dim")
            },
        },
    ),
    (
        Mamba1,
        {"inner": 8, "state": 4, "rank": 2},
        {
            "inner": size("inner", "channels", 0, [8]),
            "state": size("state", "values per channel", 0),
            "rank": size("rank", "values", 0),
            "conv": size("conv", "tokens", 0),
            "biases": size("biases", "parameters"),
            "state_format": WEIGHTS,
        },
    ),
    (
        Mamba2,
        {"heads": 8, "head_dim": 4, "state": 4, "groups": 2},
        {
            "heads": size("heads", "heads", 0, 9, [8]),
            "head_dim": size("head_dim", "channels per head", 0),
            "state": size("state", "values per channel", 0),
            "groups": size("groups", "groups", 0, 3, 16),
            "conv": size("conv", "tokens", 0),
            "biases": size("biases", "parameters"),
            "state_format": WEIGHTS,
        },
    ),
    (Nothing, {}, {}),
    (
        kl.most_experts_touched,
        {"experts": 8, "per_token": 2, "tokens": 4},
        {
            "experts": size("(experts|per_token)", "experts", 0, 1),
            "per_token": size("per_token", "experts", 0, 9),
            "tokens": size("tokens", "tokens", 0),
        },
    ),
    (
        kl.routing_chances,
        {"experts": 8, "per_token": 2},
        {
            "experts": size("(experts|per_token)", "experts", 0, 1, [8]),
            "per_token": size("per_token", "experts", 0, 9, [2]),
            "skew": number("skew", "powers of the rank", 21, [1.0]),
        },
    ),
    (
        kl.experts_touched_by,
        {"chances": [0.5, 0.5], "tokens": 4},
        {
            "chances": Argument(
                [*NO_NUMBER, 0.5, 1.5, [0.5, 2], [[0.5], [0.5]]],
                "(?s)chances.*for each expert, from 0 to 1",
            ),
            "tokens": size("tokens", "tokens", 0),
        },
    ),
    (
        FeedForward,
        {"width": 8},
        {
            "width": size("width", "values", 0),
            "matrices": Argument([0, 1, 4, None, "3", 2.5], "matrices = .*3 for a gated"),
            "vectors": size("vectors", "parameters"),
        },
    ),
    (
        Experts,
        {"number": 8, "per_token": 2, "each": WIDE},
        {
            "number": size("(number|per_token)", "experts", 0, 1),
            "per_token": size("per_token", "experts", 0, 9),
            "each": Argument([None, 64, "64", (64, 3)], "each = .*give a FeedForward"),
            "shared": Argument([64, "64", (64, 3)], "shared = .*give a FeedForward"),
            "vectors": size("vectors", "parameters"),
            "skew": number("skew", "powers of the rank", 21, [1.0]),
        },
    ),
    (
        Block,
        {"layers": 2, "attention": ATTENTION, "mlp": WIDE, "norms": 0},
        {
            "layers": size("layers", "layers", 0),
            "attention": Argument([None, 8, WIDE], "attention = .*give an Attention"),
            "mlp": Argument([None, 8, ATTENTION], "mlp = .*give a FeedForward or Experts"),
            "norms": size("norms", "parameters"),
            "parallel": FLAG,
        },
    ),
    (
        Model,
        {
            "name": "mine",
            "hidden": 8,
            "vocab": 10,
            "tied": True,
            "blocks": LLAMA.blocks,
            "final_norm": 8,
        },
        {
            "tied": FLAG,
            "hidden": size("hidden", "values", 0),
            "vocab": size("vocab", "tokens", 0),
            "blocks": Argument([None, (), [], 3, "x", (1,), (ATTENTION,)], "blocks = .*Block"),
            "final_norm": size("final_norm", "parameters"),
            "positions": size("positions", "parameters"),
            "max_context": Argument([*COUNT_OR_NONE, 0], "max_context.*tokens"),
        },
    ),
]


def bad_calls() -> Iterator[Any]:
    for function, good, arguments in CALLS:
        for name, argument in arguments.items():
            label = f"{getattr(function, '__qualname__', function)}-{name}"
            for place, value in enumerate(argument.bad):
                call = pytest.param(
                    function, good | {name: value}, argument.message, id=f"{label}-{place}"
                )
                yield call


@pytest.mark.parametrize(
    ("function", "good"),
    [pytest.param(function, good, id=function.__qualname__) for function, good, _ in CALLS],
)
def test_the_ordinary_call_is_accepted(function: Callable[..., Any], good: dict[str, Any]) -> None:
    function(**good)


@pytest.mark.parametrize(("function", "arguments", "message"), list(bad_calls()))
def test_bad_input_raises_with_a_word_about_it(
    function: Callable[..., Any], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, UnknownName), match=message):
        function(**arguments)


#: Words about a thing: nothing is calculated from them.
NOT_HERE = {
    Chip: {
        "name",
        "vendor",
        "year",
        "memory_kind",
        "interconnect_kind",
        "status",
        "source",
        "note",
    },
    Model: {"name", "mismatch", "source", "published_total", "published_active"},
    kl.Efficiency: {"name", "source", "date", "note"},
    kl.human: {"unit"},
}


@pytest.mark.parametrize(
    ("function", "tried"),
    [pytest.param(function, tried, id=function.__qualname__) for function, _, tried in CALLS],
)
def test_no_argument_is_forgotten(function: Callable[..., Any], tried: dict[str, Argument]) -> None:
    parameters = set(inspect.signature(function).parameters)
    assert parameters == set(tried) | NOT_HERE.get(function, set())


def test_no_public_name_is_forgotten() -> None:
    tried = {function.__name__ for function, *_ in CALLS}
    no_input = {"Format", "Part", "Work", "UnknownName", "units", "chips", "models", "formats"}
    no_input |= {"retrieval", "senses", "thinking"}  # modules, with tests of their own
    no_input |= {"efficiencies", "ChipHour", "SheetPrice"}  # rows that the library reads
    no_input |= {"sheet_price", "sheet_prices", "chip_hour", "chip_hours"}  # in test_prices.py
    assert set(kl.__all__) == (tried & set(kl.__all__)) | no_input


# --- arguments that do not go together ---------------------------------------------------------


def test_shapes_that_do_not_fit_are_named() -> None:
    three, four = np.array([1, 2, 3]), np.array([1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"context \(3,\), batch \(4,\)"):
        kl.decode_step(LLAMA, three, four)
    with pytest.raises(ValueError, match=r"prompt \(3,\), chips \(4,\)"):
        kl.prefill(LLAMA, three, chips=four)
    with pytest.raises(ValueError, match=r"context \(3,\), chips \(4,\)"):
        kl.decode_step(LLAMA, three, chips=four)
    with pytest.raises(ValueError, match=r"prompt \(3,\), cached \(4,\)"):
        kl.prefill(LLAMA, 10 * three, cached=four)
    with pytest.raises(ValueError, match=r"prompt \(3,\), context \(4,\)"):
        kl.mixed_step(LLAMA, three, four, batch=1)
    with pytest.raises(ValueError, match=r"tokens \(3,\), outputs \(4,\)"):
        kl.matmul(three, 2, four)
    with pytest.raises(ValueError, match=r"experts \(3,\), tokens \(4,\)"):
        kl.experts_touched(three, 1, four)


def test_the_last_token_of_a_prompt_is_never_cached() -> None:
    for cached in (10, 11, np.array([0, 10])):
        with pytest.raises(ValueError, match=r"at most prompt - 1 tokens can be cached"):
            kl.prefill(LLAMA, prompt=10, cached=cached)


@pytest.mark.parametrize("chips", [3, 5, 128, [1, 3]])
def test_heads_divide_over_the_chips(chips: Any) -> None:
    with pytest.raises(ValueError, match=r"chips = .*64 query heads and 8 key/value heads"):
        kl.decode_step(LLAMA, 10, chips=chips)


def test_state_spaces_divide_over_the_chips_too() -> None:
    channels = made_up(Block(1, Mamba1(8, 4, 2), WIDE, norms=0))
    with pytest.raises(ValueError, match=r"chips = 3.*8 channels of a state space must divide"):
        kl.decode_step(channels, 1, chips=3)
    groups = made_up(Block(1, Mamba2(12, 4, 4, groups=3), WIDE, norms=0))
    with pytest.raises(ValueError, match=r"chips = 4.*12 heads and 3 groups of a state space"):
        kl.decode_step(groups, 1, chips=4)
    assert kl.decode_step(groups, 1, chips=6).flops > 0


def test_a_layer_has_one_half_at_least() -> None:
    with pytest.raises(ValueError, match=r"one half at least: give attention, mlp or both"):
        Block(1, Nothing(), Nothing(), norms=0)


def test_kv_heads_divide_over_the_chips_or_are_copied_evenly() -> None:
    model = replace(LLAMA, blocks=(replace(LLAMA.blocks[0], attention=Attention(36, 6, 64)),))
    kl.decode_step(model, 10, chips=12)
    with pytest.raises(ValueError, match=r"36 query heads and 6 key/value heads"):
        kl.decode_step(model, 10, chips=9)


def test_a_chip_alone_takes_no_share() -> None:
    alone = replace(H100, interconnect=None, name="Alone")
    step = kl.decode_step(LLAMA, 10, chips=2)
    for law in (step.time, step.floor, step.bound, step.utilization, step.times, step.sides):
        with pytest.raises(ValueError, match=r"Alone has no interconnect.*bytes per second"):
            law(alone)


def test_a_rate_that_the_chip_lacks_names_those_it_has() -> None:
    step = kl.decode_step(LLAMA, 10, compute="fp4")
    with pytest.raises(UnknownName, match=r"has no fp4 peak \(FLOP/s\). It has: bf16, fp8, int8"):
        step.time(H100)


@pytest.mark.parametrize("rate", ["fp16", "tf32", "bf16 sparse", "", None, 3])
def test_a_chip_has_known_rates(rate: Any) -> None:
    with pytest.raises(UnknownName, match=r"no rate is called"):
        Chip("mine", bandwidth=1e12, peaks={rate: 1e14})


# --- what is extreme and right -----------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_largest_sizes_give_finite_numbers(model: Model) -> None:
    most = 2**53
    works = [
        kl.prefill(model, most, batch=most),
        kl.decode_step(model, most, batch=most),
        kl.verify_step(model, most, most, batch=most),
        kl.mixed_step(model, most, most, most),
        kl.decode_step(model, np.array([0, most]), batch=np.array([1, most])),
    ]
    for work in works:
        for value in (work.flops, work.bytes, work.intensity, work.time(H100), work.floor(H100)):
            assert np.all(np.isfinite(value))
            assert np.all(np.greater(value, 0))
    assert math.isfinite(kl.matmul(most, most, most).time(H100))


def test_the_smallest_step_is_an_empty_cache() -> None:
    step = kl.decode_step(LLAMA, context=0)
    assert step.parts["attention"].flops == 4 * 64 * 128 * 80
    assert LLAMA.kv_bytes(0) == 0


@pytest.mark.parametrize("intensity", [1e-30, 1e30, np.array([1e-30, 1e30])])
def test_the_roofline_has_no_edge(intensity: Any) -> None:
    assert np.all(np.isfinite(kl.attainable(H100, intensity)))


def test_slow_and_fast_chips_give_finite_times() -> None:
    for speed in (1e-30, 1e30):
        chip = Chip("odd", bandwidth=speed, peaks={"bf16": speed})
        assert math.isfinite(STEP.time(chip))
        assert 0 < STEP.utilization(chip) <= 1
