"""Number formats: the bits they really take, and the peak they multiply at."""

from __future__ import annotations

import pytest

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.precision import RATES, TENSORS, rate
from tests.law_models import H100

#: bits per weight, scales and zero points included
BITS = {
    "fp32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "int4": 4,
    "int4-g128": 4 + (16 + 4) / 128,
    "int4-g32": 4 + (16 + 16) / 32,
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
    with pytest.raises(UnknownName, match=r"'int4-g64'.*Did you mean: int4, .*int4-g128"):
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


# --- formats of one's own ----------------------------------------------------------------------

LLAMA = kl.model("Llama-2-70B")

#: Four bits as they are stored: bits per weight, gigabytes of a 70B sack, times lighter than bf16.
FOUR_BITS = [
    pytest.param(kl.number_format("int4"), 4.0, 34.5, 4.00, id="ideal"),
    pytest.param(kl.grouped(4, 128), 4.125, 35.6, 3.88, id="group 128, scale"),
    pytest.param(kl.grouped(4, 128, 16, 4), 4.15625, 35.8, 3.85, id="group 128, 4-bit zero"),
    pytest.param(kl.grouped(4, 128, 16, 16), 4.25, 36.6, 3.76, id="group 128, 16-bit zero"),
    pytest.param(kl.grouped(4, 32, 8), 4.25, 36.6, 3.76, id="MXFP4"),
    pytest.param(kl.grouped(4, 32), 4.5, 38.8, 3.56, id="Q4_0"),
    pytest.param(kl.grouped(4, 256, 12 * 8 + 2 * 16), 4.5, 38.8, 3.56, id="Q4_K, a super-block"),
    pytest.param(kl.grouped(4, 16, 8), 4.5, 38.8, 3.56, id="NVFP4"),
    pytest.param(kl.number_format("Q4_K_M"), 4.8944, 42.2, 3.27, id="Q4_K_M"),
    pytest.param(kl.grouped(4, 32, 16, 16), 5.0, 43.1, 3.20, id="group 32, 16-bit zero"),
]


@pytest.mark.parametrize(("form", "bits", "gigabytes", "lighter"), FOUR_BITS)
def test_four_bits_are_never_four_bits(
    form: kl.Format, bits: float, gigabytes: float, lighter: float
) -> None:
    assert form.bits == bits
    assert LLAMA.params * form.bytes / 1e9 == pytest.approx(gigabytes, abs=0.05)
    assert 16 / form.bits == pytest.approx(lighter, abs=0.005)


def test_catalogue_formats_are_groups_like_any_other() -> None:
    for name, made in {
        "int4-g128": kl.grouped(4, 128, 16, 4),
        "mxfp4": kl.grouped(4, 32, 8),
        "nvfp4": kl.grouped(4, 16, 8),
        "int4-g32": kl.grouped(4, 32, 16, 16, keeps=["embedding"]),
        "Q8_0": kl.grouped(8, 32, keeps=()),
        "Q4_0": kl.grouped(4, 32, keeps=()),
    }.items():
        known = kl.number_format(name)
        assert (made.bits, made.keeps, made.rates) == (known.bits, known.keeps, known.rates)


def test_embedding_and_head_stay_in_16_bit_unless_said_otherwise() -> None:
    ends = 2 * 32_000 * 8192
    plain, none, one = (
        LLAMA.weight_bytes(kl.grouped(3, 64, keeps=keeps))
        for keeps in (("embedding", "lm_head"), (), ("lm_head",))
    )
    assert LLAMA.weight_bytes(kl.grouped(3, 64)) == plain
    assert plain - none == pytest.approx(ends * (2 - 3.25 / 8))
    assert plain - one == pytest.approx(ends / 2 * (2 - 3.25 / 8))


def test_what_is_no_matrix_is_never_grouped() -> None:
    norms = 161 * 8192
    assert LLAMA.tensors["norms"] == norms
    linear = LLAMA.params - norms
    assert LLAMA.weight_bytes(kl.grouped(2, 16, keeps=())) == linear * 3 / 8 + norms * 2


def test_a_format_of_ones_own_serves_wherever_a_name_does() -> None:
    own, name = kl.grouped(4, 128, 16, 4), "int4-g128"
    for law in (
        lambda form: kl.decode_step(LLAMA, 4096, 8, weights=form, kv=form),
        lambda form: kl.prefill(LLAMA, 4096, weights=form, kv=form),
        lambda form: kl.verify_step(LLAMA, 4096, 5, weights=form, kv=form),
        lambda form: kl.mixed_step(LLAMA, 512, 4096, 8, weights=form, kv=form),
        lambda form: kl.matmul(3, 8192, 8192, weights=form),
    ):
        assert law(own) == law(name)
    assert LLAMA.weight_bytes(own) == LLAMA.weight_bytes(name)
    assert LLAMA.streamed_weight_bytes(own) == LLAMA.streamed_weight_bytes(name)
    assert LLAMA.kv_bytes(4096, own) == LLAMA.kv_bytes(4096, name)
    assert LLAMA.kv_bytes_per_token(own) == LLAMA.kv_bytes_per_token(name)


def test_notes_in_four_bits_have_scales_too() -> None:
    """One scale and one zero point of 16 bit for the row of each head: 128 values."""
    notes = kl.grouped(4, 128, 16, 16)
    assert LLAMA.kv_bytes_per_token("int4") == 327_680 / 4
    assert LLAMA.kv_bytes_per_token(notes) == 327_680 * 4.25 / 16
    light = kl.decode_step(LLAMA, 4096, batch=32, kv=notes)
    assert light.weight_bytes == kl.decode_step(LLAMA, 4096, batch=32).weight_bytes


def test_lighter_weights_leave_the_chef_as_slow_as_he_was() -> None:
    plain, light = (
        kl.prefill(LLAMA, 4096, weights=form) for form in ("bf16", kl.grouped(4, 128, 16, 4))
    )
    assert light.sides(H100)[0] == plain.sides(H100)[0]
    assert light.floor(H100) == plain.floor(H100)


def test_the_name_of_a_format_of_ones_own_tells_its_groups() -> None:
    assert kl.grouped(3, 64).name == "int3-g64-s16"
    assert kl.grouped(4, 32, 16, 8).name == "int4-g32-s16-z8"


@pytest.mark.parametrize("keeps", ["embedding", None, 8])
def test_what_stays_in_16_bit_is_a_list_of_names(keeps: object) -> None:
    with pytest.raises(ValueError, match=r"keeps = .*names of groups of tensors"):
        kl.grouped(4, 32, keeps=keeps)  # type: ignore[arg-type]


def test_a_misspelt_tensor_finds_its_neighbour() -> None:
    with pytest.raises(UnknownName, match=r"group of tensors.*'head'.*Did you mean: lm_head"):
        kl.grouped(4, 32, keeps=["head"])


def test_more_than_16_bits_are_no_saving() -> None:
    with pytest.raises(ValueError, match=r"bits = 32 .*from 1 to 16"):
        kl.grouped(32, 128)
