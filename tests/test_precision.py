"""Number formats: the bits they really take, and the peak they multiply at."""

from __future__ import annotations

import pytest

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.precision import RATES, TENSORS, rate

#: bits per weight, scales and zero points included
BITS = {
    "fp32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "int4": 4,
    "int4-g128": 4 + (16 + 4) / 128,
    "mxfp4": 4 + 8 / 32,
    "mxfp4-moe": 4 + 8 / 32,
    "nvfp4": 4 + 8 / 16,
    "Q8_0": 34 * 8 / 32,
    "Q4_0": 18 * 8 / 32,
    "Q4_K_M": 4.8944,
}


@pytest.mark.parametrize(("name", "bits"), BITS.items())
def test_bits_per_weight(name: str, bits: float) -> None:
    form = kl.number_format(name)
    assert form.name == name
    assert form.bits == bits
    assert form.bytes == bits / 8


def test_the_formats_are_those() -> None:
    assert [form.name for form in kl.formats()] == list(BITS)


def test_every_format_says_where_its_bits_come_from() -> None:
    assert all(form.source for form in kl.formats())


def test_what_a_format_keeps_is_a_tensor_and_takes_16_bit() -> None:
    for form in kl.formats():
        assert form.keeps <= set(TENSORS)
        for tensor in TENSORS:
            assert form.bytes_of(tensor) == (2 if tensor in form.keeps else form.bytes)


def test_grouped_formats_leave_embedding_and_head_in_16_bit() -> None:
    llama = kl.model("Llama-2-70B")
    ends = 2 * 32_000 * 8192
    norms = 161 * 8192
    linear = llama.params - ends - norms
    expected = linear * 4.15625 / 8 + 2 * (ends + norms)
    assert llama.weight_bytes("int4-g128") == expected


def test_ideal_int4_is_a_quarter_of_every_tensor() -> None:
    for model in kl.models():
        assert model.weight_bytes("int4") == model.weight_bytes("bf16") / 4


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [("int4", 34.5), ("int4-g128", 36.6), ("mxfp4", 37.4), ("Q4_K_M", 42.2)],
)
def test_the_70b_sack_in_four_bits(name: str, gigabytes: float) -> None:
    assert kl.model("Llama-2-70B").weight_bytes(name) / 1e9 == pytest.approx(gigabytes, abs=0.06)


def test_the_size_of_a_gguf_file() -> None:
    """llama.cpp's quantize README: Llama-3.1-70B in Q4_K_M is 43.1 GB, in Q8_0 75.0."""
    llama = kl.model("Llama-3.1-70B")
    assert llama.weight_bytes("Q4_K_M") / 1e9 == pytest.approx(43.1, abs=0.2)
    assert llama.weight_bytes("Q8_0") / 1e9 == pytest.approx(75.0, abs=0.1)


def test_only_fp8_multiplies_faster_than_16_bit_by_itself() -> None:
    first = {form.name: form.rates[0] for form in kl.formats()}
    assert first.pop("fp32") == "fp32"
    assert first.pop("fp8") == "fp8"
    assert set(first.values()) == {"bf16"}


def test_rates_are_known_by_name() -> None:
    assert [rate(name) for name in RATES] == list(RATES)
    assert rate("fp16") == "bf16"


@pytest.mark.parametrize("name", ["", "int5", "BF17", None, 16, b"bf16", ["bf16"]])
def test_an_unknown_format_is_refused_by_name(name: object) -> None:
    with pytest.raises(UnknownName, match=r"number format"):
        kl.number_format(name)  # type: ignore[arg-type]


def test_a_misspelt_format_finds_its_neighbours() -> None:
    with pytest.raises(UnknownName, match=r"'int4-g64'.*Did you mean: int4, int4-g128"):
        kl.number_format("int4-g64")


@pytest.mark.parametrize("name", ["sparse", "bf16 sparse", "fp8-sparsity", "2:4 Sparse"])
def test_a_sparse_rate_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UnknownName, match=r"skipped products"):
        rate(name)


@pytest.mark.parametrize("name", ["tf32", "", None, 8, ["bf16"], b"bf16"])
def test_an_unknown_rate_is_refused_by_name(name: object) -> None:
    with pytest.raises(UnknownName, match=r"rate of a chip"):
        rate(name)  # type: ignore[arg-type]


def test_gpt_oss_weighs_what_its_files_weigh_only_experts_are_in_mxfp4() -> None:
    model = kl.model("gpt-oss-20b")
    matrices = 24 * 32 * 3 * 2880 * 2880
    assert model.weight_bytes("mxfp4-moe") == matrices * 4.25 / 8 + (model.params - matrices) * 2
