"""Mistakes that public calculators have made, each with its right value, put to the library.

``data/reference_cases.csv`` has one mistake a row: the input that shows it, the wrong and the
right value, a formula. The formula is not evaluated here: the library has to find the value.
Chips are built from the round figures of the rows (989 TFLOP/s, 3.35 TB/s), not the catalogue's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import kitchenlib as kl
from kitchenlib import Attention, Block, Chip, Experts, FeedForward, Part, Work
from kitchenlib.inputs import Number
from kitchenlib.units import GB, MS, GiB
from tests.law_models import H100, fixture, made_up

CASES = {row["id"]: row for row in fixture("reference_cases.csv")}

A100 = Chip("A100 80GB SXM", bandwidth=2.039e12, peaks={"bf16": 312e12})
RTX_4090 = Chip("RTX 4090, FP32 accumulate", bandwidth=1008e9, peaks={"bf16": 165.2e12})
DESKTOP = Chip("40 GB/s", bandwidth=40e9, peaks={"fp32": 1e12})
TWO_TB = Chip("2 TB/s", bandwidth=2e12, peaks={"bf16": 312e12})

LLAMA_2_7B = kl.model("Llama-2-7B")
LLAMA_70B = kl.model("Llama-2-70B")
LLAMA_8B = kl.model("Llama-3.1-8B")
MIXTRAL = kl.model("Mixtral-8x7B-v0.1")
GPT_OSS_120B = kl.model("gpt-oss-120b")
DEEPSEEK = kl.model("DeepSeek-V3")

#: Models of the rows that the catalogue does not have, as their config files describe them.
QWEN3_SMALL, QWEN3_4B = (
    kl.Model.from_config(
        {
            "model_type": "qwen3",
            "num_attention_heads": heads,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "hidden_size": hidden,
            "intermediate_size": width,
            "num_hidden_layers": layers,
            "vocab_size": 151936,
            "tie_word_embeddings": True,
        }
    )
    for heads, hidden, width, layers in ((16, 1024, 3072, 28), (32, 2560, 9728, 36))
)


def without_gqa(model: kl.Model) -> kl.Model:
    """The model with one KV head for every query head."""
    (block,) = model.blocks
    attention = block.attention
    assert isinstance(attention, Attention)
    mha = replace(attention, kv_heads=attention.heads)
    return replace(model, blocks=(replace(block, attention=mha),))


def capacity(name: str) -> float:
    memory = kl.chip(name).memory_bytes
    assert memory is not None
    return memory


def expanded_over_latent() -> float:
    """Keys and values of all of DeepSeek-V3's heads, over the one latent that it caches."""
    attention = DEEPSEEK.blocks[0].attention
    assert isinstance(attention, kl.LatentAttention)
    key = attention.nope_dim + attention.rope_dim
    return attention.heads * (key + attention.value_dim) / attention.kv_values


def sixteen_sacks(per_token: int) -> kl.Model:
    """500 GB in 16 experts and a shared part, 40 GB of which a token meets: 460 GB stay idle.

    One gigabyte is half a billion weights. Whatever the shared part, 16 - K experts weigh 460 GB.
    """
    width = round(460e9 / (16 - per_token) / (2 * 3 * 1000))
    layer = Block(1, Attention(1, 1, 1), Experts(16, per_token, FeedForward(width)), norms=0)
    shared = round(max(500e9 - 16 * (2 * 3 * 1000) * width, 2000) / (2 * 1000))
    return made_up(layer, hidden=1000, vocab=shared, tied=True)


def shared_sack(per_token: int) -> float:
    """The shared part in GB that makes the whole model weigh 500 GB."""
    model = sixteen_sacks(per_token)
    experts = model.tensors["experts"] * 2 / GB
    assert (model.params - model.active_params) * 2 / GB == pytest.approx(460, abs=1e-3)
    return 500 - experts


def sixteen_sacks_read(batch: int) -> Number:
    """GB of weights that one decode step of the 500 GB kitchen reads."""
    return kl.decode_step(sixteen_sacks(1), context=0, batch=batch).weight_bytes / GB


def tokens_per_second(batch: int) -> Number:
    return batch / kl.decode_step(LLAMA_70B, context=4096, batch=batch).floor(H100)


def mixtral_ms(batch: int) -> Number:
    return kl.decode_step(MIXTRAL, context=2048, batch=batch).floor(H100) / MS


def lm_head_share() -> Number:
    """The LM head's share of the FLOPs of the weights."""
    step = kl.decode_step(LLAMA_8B, context=0)
    return step.parts["lm_head"].flops / (step.flops - step.parts["attention"].flops)


def gain_from_int4() -> Number:
    before, after = (
        kl.decode_step(LLAMA_8B, context=2048, weights=weights).floor(A100)
        for weights in ("bf16", "int4-g128")
    )
    return before / after


def expert_bytes_at(touched: int) -> Number:
    """22.564 GB of experts, if `touched` of 256 are read: the law's bytes go with the distinct."""
    step = kl.decode_step(DEEPSEEK, context=0, batch=64)
    each = step.parts["experts"].weight_bytes / kl.experts_touched(256, 8, 64)
    everything = DEEPSEEK.tensors["experts"] * 2
    return 22.564 * touched * each / everything


def attention_left() -> Number:
    whole, rest = (
        kl.prefill(LLAMA_70B, prompt=20_000, cached=cached).parts["attention"].flops
        for cached in (0, 16_000)
    )
    return rest / whole


def flops_per_context_token() -> Number:
    longer, shorter = (kl.decode_step(LLAMA_70B, context=c).flops for c in (4097, 4096))
    return (longer - shorter) / LLAMA_70B.layers


def one_all_reduce_ms() -> Number:
    part = kl.prefill(LLAMA_70B, prompt=4096, chips=8).parts["all_reduce"]
    return part.sides(H100)[2] / (2 * LLAMA_70B.layers) / MS


def busy(nbytes: float) -> Number:
    """The share of a second for which a 2 TB/s bus is busy with so many bytes."""
    return Work({"weights": Part(weight_bytes=nbytes)}).floor(TWO_TB)


def speculation_gain(batch: int) -> Number:
    """Five drafts at 0.7, each for a tenth of a step; these rows count no FLOPs of attention."""

    def seconds(drafted: int) -> Number:
        parts = kl.verify_step(LLAMA_70B, context=1024, drafted=drafted, batch=batch).parts
        attention = parts["attention"]._replace(flops=0.0)
        return Work(parts | {"attention": attention}).floor(H100)

    return kl.speculative_speedup(0.7, 5, draft_cost=0.1, verify_cost=seconds(5) / seconds(0))


def ffn_weights(model: kl.Model) -> int:
    sizes = {name: rows * columns for name, rows, columns in kl.layer_matrices(model)}
    return sizes["gate"] + sizes["up"] + sizes["down"]


#: 10 attention layers of 118, a row of 8,192 values.
NEMOTRON_56B = kl.Model.from_config(
    {
        "model_type": "nemotron_h",
        "hidden_size": 8192,
        "hybrid_override_pattern": 10 * "M-M-M-M-M-*" + 4 * "M-",
        "intermediate_size": 32_768,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "mamba_num_heads": 256,
        "ssm_state_size": 256,
        "vocab_size": 131_072,
    }
)

#: 10 of 40 layers attend. The others (gated delta nets) keep a state of Mamba-2's shape: 32 heads
#: of 128 times 128 values in 32 bit, 16 groups, and three inputs of the convolution.
DELTA = kl.Mamba2(32, 128, 128, groups=16, conv=3, state_format="fp32")
QWEN_35B_HYBRID = made_up(
    Block(30, DELTA, kl.Nothing(), norms=0), Block(10, Attention(16, 2, 256), kl.Nothing(), norms=0)
)


def given_by_its_parameters(total: float, active: float) -> kl.Model:
    """A mixture of 1,000 experts, ten of them visited, which with a shared part weigh `total`."""
    width = round((total - active) / (990 * 3 * 1000))
    layer = Block(1, Attention(1, 1, 1), Experts(1000, 10, FeedForward(width)), norms=0)
    rest = round(total / 1000) - 1000 * 3 * width
    return made_up(layer, hidden=1000, vocab=rest, tied=True)


def gigabytes_at(bytes_per_weight: float) -> float:
    """What all of the parameters weigh, not only the active ones."""
    form = kl.Format("of one's own", 8 * bytes_per_weight, ("bf16",), frozenset(), "")
    return given_by_its_parameters(125.1e9, 10e9).weight_bytes(form) / GB


FREE_REPLY = kl.Price(input=3.0, output=0.0)


def joules_at_1900_tokens_per_second() -> Number:
    """A chip of 400 W whose bandwidth lets it write 1,900 tokens a second."""
    step = kl.decode_step(LLAMA_8B, context=1024)
    bandwidth = float(step.bytes) * 1900
    chip = Chip("400 W", bandwidth=bandwidth, peaks={"bf16": 1e18}, power=400.0)
    return kl.energy_per_token(LLAMA_8B, chip, context=1024).output


#: Every case -> how the library answers it.
ANSWERS: dict[str, Callable[[], Any]] = {
    # the notepad
    "KV01": lambda: LLAMA_2_7B.kv_bytes_per_token(),
    "KV03": lambda: LLAMA_8B.kv_bytes_per_token(),
    "KV04": lambda: QWEN3_4B.kv_bytes_per_token(),
    "KV05": lambda: kl.model("Qwen3-32B").kv_bytes_per_token(),
    "KV06": lambda: QWEN3_SMALL.kv_bytes_per_token(),
    "KV08": lambda: kl.model("gpt-oss-20b").kv_bytes_per_token(),
    "KV10": lambda: DEEPSEEK.kv_bytes_per_token(),
    "KV11": lambda: DEEPSEEK.kv_bytes_per_token(),
    "KV13": expanded_over_latent,
    "KV14": lambda: 1 - LLAMA_70B.kv_bytes(1) / without_gqa(LLAMA_70B).kv_bytes(1),
    "KV16": lambda: LLAMA_8B.kv_bytes_per_token("fp8"),
    "KV17": lambda: LLAMA_70B.kv_bytes(4096) / GiB,
    "KV19": lambda: DEEPSEEK.kv_bytes(163_840) / GiB,
    "SW01": lambda: GPT_OSS_120B.kv_bytes(131_072),
    "SW03": lambda: GPT_OSS_120B.kv_bytes(131_072) - GPT_OSS_120B.kv_bytes(131_071),
    "SW05": lambda: kl.model("Gemma-3-27B (text)").kv_bytes(131_072) / GiB,
    "HY01": lambda: NEMOTRON_56B.kv_bytes_per_token(),
    "HY03": lambda: QWEN_35B_HYBRID.kv_bytes_per_token(),
    # the sack
    "PM01": lambda: LLAMA_70B.params,
    "PM02": lambda: LLAMA_8B.params,
    "PM03": lambda: MIXTRAL.params,
    "PM05": lambda: gigabytes_at(0.58),
    "PM07": lambda: QWEN3_SMALL.params,
    "PM09": lambda: LLAMA_70B.streamed_weight_bytes(),
    "UN01": lambda: LLAMA_70B.weight_bytes() / GB,
    "UN02": lambda: LLAMA_70B.weight_bytes() / GiB,
    "UN03": lambda: capacity("H100 SXM") / GiB,
    "MF01": lambda: LLAMA_70B.weight_bytes() < capacity("H100 SXM"),
    "FL07": lambda: ffn_weights(LLAMA_70B),
    # formats
    "QW01": lambda: kl.number_format("int4-g128").bits,
    "QW02": lambda: kl.number_format("mxfp4").bits,
    "QW04": lambda: kl.number_format("Q4_0").bits,
    # eight scales of 8 bit, which share one of 32 bit
    "QW05": lambda: kl.grouped(4, 256, scale_bits=8 * 8 + 32).bits,
    "QW08": lambda: LLAMA_70B.weight_bytes("int4") / GB,
    "Q4_1": gain_from_int4,
    # the whole request over its tokens, from a TPOT that leaves out the first one (20 ms)
    "MT01": lambda: (0.5 + 99 * kl.measured_tpot(2.48, 0.5, 100)) / 100 / MS,
    # chef and waiter
    "PK01": lambda: H100.ridge(),
    "PK02": lambda: 480e12 / H100.peak(),
    "PK03": lambda: A100.ridge(),
    "PK05": lambda: RTX_4090.ridge(),
    "DT06": lambda: 1 / Work({"weights": Part(weight_bytes=32e9)}).floor(DESKTOP),
    "DT07": lambda: busy(700e9),
    "DT08": lambda: busy(100 * 7e9 * kl.number_format("bf16").bytes),
    # FLOPs
    "FL01": lambda: kl.prefill(LLAMA_2_7B, prompt=8192).parts["attention"].flops,
    "FL03": lambda: kl.prefill(LLAMA_8B, prompt=2048).parts["lm_head"].flops,
    "FL04": lambda: kl.prefill(LLAMA_70B, prompt=4096).parts["embedding"].flops,
    "FL06": lambda: kl.prefill(LLAMA_70B, prompt=4096).flops,
    "FL09": lm_head_share,
    "FL10": flops_per_context_token,
    "MT03": attention_left,
    # times
    "DT01": lambda: kl.decode_step(LLAMA_70B, context=4096).floor(H100) / MS,
    "DT03": lambda: kl.decode_step(LLAMA_8B, context=2048).floor(A100) / MS,
    "BT02": lambda: H100.bandwidth / kl.decode_step(LLAMA_70B, context=4096).kv_bytes,
    "BT03_1": lambda: tokens_per_second(1),
    "BT03_32": lambda: tokens_per_second(32),
    "BT03_256": lambda: tokens_per_second(256),
    "MT05": lambda: kl.mixed_step(LLAMA_70B, prompt=512, context=4096, batch=32).floor(H100) / MS,
    "CM01": one_all_reduce_ms,
    # drafts
    "SP01": lambda: kl.expected_tokens(acceptance=0.8, drafted=8) - 1,
    "SP02": lambda: kl.expected_tokens(acceptance=0.5, drafted=1),
    "SP04": lambda: kl.expected_tokens(acceptance=0.7, drafted=4),
    "SP05": lambda: kl.expected_tokens(acceptance=0.8, drafted=5),
    "SP06_1": lambda: speculation_gain(1),
    "SP06_32": lambda: speculation_gain(32),
    "SP06_128": lambda: speculation_gain(128),
    # experts
    "ME01_1": lambda: kl.experts_touched(experts=8, per_token=2, tokens=1),
    "ME01_2": lambda: kl.experts_touched(experts=8, per_token=2, tokens=2),
    "ME01_8": lambda: kl.experts_touched(experts=8, per_token=2, tokens=8),
    "ME02_128_8_8": lambda: kl.experts_touched(experts=128, per_token=8, tokens=8),
    "ME02_256_8_64": lambda: kl.experts_touched(experts=256, per_token=8, tokens=64),
    "ME03_1": lambda: mixtral_ms(1),
    "ME03_64": lambda: mixtral_ms(64),
    "ME04": lambda: expert_bytes_at(170),
    "SD01": lambda: shared_sack(2),
    "SD02": lambda: shared_sack(1),
    "SD03_1": lambda: sixteen_sacks_read(1),
    "SD03_32": lambda: sixteen_sacks_read(32),
    # senses and archives
    "VT02": lambda: kl.senses.image_tokens("LLaVA-1.5", 336, 336),
    "HN01": lambda: kl.retrieval.graph_bytes(vectors=1, dim=128, links=32),
    # money
    "EN01": joules_at_1900_tokens_per_second,
    "AG01": lambda: kl.resent_tokens(first=11_100, added=1500, calls=7),
    "AG03": lambda: FREE_REPLY.request(8759 + 5176, 0) / FREE_REPLY.request(19_000, 0),
}

#: Wider tolerances than the row's, in the row's unit, with the reason.
WIDER = {
    # the row gives the leading order (S^2 - P^2) / S^2; the law counts S(S+1)/2 pairs
    "MT03": 1e-5,
    # the made-up kitchen has whole numbers of weights: a megabyte of rounding
    "SD01": 1e-3,
}

#: At batch 1 the mistake makes no difference: "wrong" and "right" agree.
WRONG_IS_RIGHT = {"ME01_1", "SD03_1"}


def wrong_value(cell: str) -> float | None:
    """The number that a "wrong" cell begins with, perhaps after the name of who got it wrong."""
    match = re.match(r"(?:[A-Za-z][\w-]* )?(\d[\d,]*\.?\d*(?:e\d+)?)(%?)", cell)
    if match is None:
        return None
    return float(match[1].replace(",", "")) / (100 if match[2] else 1)


@pytest.mark.parametrize("case", ANSWERS)
def test_the_library_finds_the_right_value(case: str) -> None:
    row = CASES[case]
    tolerance = WIDER.get(case)
    if tolerance is None and row["tol"] != "exact":
        tolerance = float(row["tol"])
    relative = 1e-9 if tolerance is None else 0
    found = ANSWERS[case]()
    assert found == pytest.approx(float(row["right"]), rel=relative, abs=tolerance or 0)


@pytest.mark.parametrize(
    "case", [c for c in ANSWERS if wrong_value(CASES[c]["wrong"]) and c not in WRONG_IS_RIGHT]
)
def test_the_library_does_not_find_the_wrong_value(case: str) -> None:
    assert ANSWERS[case]() != pytest.approx(wrong_value(CASES[case]["wrong"]), rel=1e-3)


def test_most_wrong_cells_hold_a_number() -> None:
    readable = [case for case in ANSWERS if wrong_value(CASES[case]["wrong"]) is not None]
    assert len(readable) >= 42
    assert wrong_value("4,194,304 (tool multiplied by d twice: 8x over)") == 4_194_304
    assert wrong_value("GenZ 38.58, gpu_poor 93.12") == 38.58
    assert wrong_value("24.3% MFU") == pytest.approx(0.243)
    assert wrong_value("2.147e12") == 2.147e12
    assert wrong_value("grows for ever") is None


def test_every_case_is_answered() -> None:
    assert len(CASES) == 82
    assert set(ANSWERS) == set(CASES)
    assert set(WIDER) <= set(ANSWERS)
    assert set(WRONG_IS_RIGHT) <= set(ANSWERS)


def test_of_sixteen_sacks_with_40_of_500_gb_active_a_token_visits_one() -> None:
    """For more than one expert a token, the shared part would have to weigh less than nothing."""
    assert [per_token for per_token in range(1, 16) if shared_sack(per_token) >= 0] == [1]


def test_what_the_row_of_llava_says_besides() -> None:
    """2,880 is five full squares: its own rule drops padding, and adds a token a row."""
    assert CASES["VT02"]["derivation"] == "LLaVA-1.6 = 5 tiles = 2880"
    square = kl.senses.image_tokens("LLaVA-1.6", 672, 672)
    assert square - 2 * 24 == 5 * kl.senses.image_tokens("LLaVA-1.5", 672, 672) == 2880
    assert kl.senses.image_tokens("LLaVA-1.6", 1024, 768) == 2340


def test_what_the_rows_of_hybrids_say_besides() -> None:
    assert NEMOTRON_56B.layers == 118
    assert CASES["HY03"]["derivation"] == "plus 61.4 MiB fixed state/seq"
    assert QWEN_35B_HYBRID.state_bytes() / 2**20 == pytest.approx(61.4, abs=0.05)
    active = given_by_its_parameters(125.1e9, 10e9).active_params
    assert active == pytest.approx(10e9, rel=1e-3)


@pytest.mark.parametrize(
    ("guests", "distinct", "read"),
    [
        (1, 1.0, 40),
        (4, 3.64, 121),
        (8, 6.45, 207),
        (16, 10.3, 325),
        (32, 13.97, 438),
        (64, 15.74, 492),
    ],
)
def test_each_guest_more_brings_other_sacks_off_the_shelf(
    guests: int, distinct: float, read: float
) -> None:
    assert kl.experts_touched(16, 1, guests) == pytest.approx(distinct, abs=0.005)
    assert sixteen_sacks_read(guests) == pytest.approx(read, abs=0.5)
