"""The catalogues: every chip and every model loads, adds up, and says where it comes from."""

from __future__ import annotations

import re
from typing import Any

import pytest

import kitchenlib as kl
from kitchenlib import Attention, Chip, Experts, FeedForward, LatentAttention, Model, data
from kitchenlib.units import GB, GiB
from tests.law_models import fixture

CHIPS, MODELS = kl.chips(), kl.models()


# --- chips -------------------------------------------------------------------------------------


def test_57_chips_load_each_under_its_own_name() -> None:
    assert len(CHIPS) == 57
    assert len({chip.name for chip in CHIPS}) == 57
    assert all(kl.chip(chip.name) is chip for chip in CHIPS)


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_a_chip_says_how_well_it_is_known(chip: Chip) -> None:
    assert chip.status in ("verified", "partly verified", "UNVERIFIED parts", "UNVERIFIED")
    assert chip.source
    assert chip.vendor
    assert chip.memory_kind
    assert chip.verified == (chip.status == "verified")
    assert chip.label == chip.name + ("" if chip.verified else "*")
    assert chip.status in repr(chip)


@pytest.mark.parametrize("row", fixture("chip_ridges.csv"), ids=lambda row: row["name"])
def test_ridges_are_peak_over_bandwidth(row: dict[str, str]) -> None:
    chip = kl.chip(row["name"])
    assert chip.ridge() == pytest.approx(float(row["ridge_bf16_FLOP_per_byte"]), abs=0.051)
    assert chip.ridge() == chip.peak("bf16") / chip.bandwidth


@pytest.mark.parametrize(
    ("name", "ridge"),
    [
        ("H100 SXM", 295),
        ("A100 SXM 80GB", 153),
        ("H200 SXM", 206),
        ("B200 SXM (HGX/DGX)", 281),
        ("TPU v5e", 240.5),
        ("TPU v6e (Trillium)", 560),
        ("L40S", 419),
    ],
)
def test_well_known_ridges(name: str, ridge: float) -> None:
    assert kl.chip(name).ridge() == pytest.approx(ridge, abs=1)


def test_eight_bit_ridges_of_the_h100() -> None:
    h100 = kl.chip("H100 SXM")
    assert h100.ridge("fp8") == pytest.approx(590.7, abs=0.1)
    assert h100.ridge("fp8") == pytest.approx(2 * h100.ridge(), rel=1e-3)
    assert h100.ridge("int8") == h100.ridge("fp8")


def test_capacity_is_binary_and_bandwidth_decimal() -> None:
    h100, b200 = kl.chip("H100 SXM"), kl.chip("B200 SXM (HGX/DGX)")
    assert h100.memory_bytes == 85_520_809_984  # as the driver reports it
    assert kl.chip("H200 SXM").memory_bytes == 143_771 * 2**20
    assert b200.memory_bytes == 180 * GiB
    assert b200.bandwidth == 8000 * GB


def test_the_sack_fits_no_80_gb_chip_and_fits_a_b200() -> None:
    sack = kl.model("Llama-2-70B").weight_bytes()
    fits = {chip.name for chip in CHIPS if chip.memory_bytes and sack < chip.memory_bytes}
    assert {"B200 SXM (HGX/DGX)", "MI300X", "MI355X"} <= fits
    assert not {"H100 SXM", "H100 PCIe", "A100 SXM 80GB", "A800 SXM 80GB"} & fits


def test_no_peak_is_a_sparse_one() -> None:
    """The notes tell which peaks were halved; these are the dense ones, from the data sheets."""
    dense = {
        "H100 SXM": 989.4,
        "A100 SXM 80GB": 312,
        "L4": 121,
        "RTX 4090": 165.2,
        "MI300X": 1307.4,
    }
    for name, teraflops in dense.items():
        assert kl.chip(name).peak() == pytest.approx(teraflops * 1e12)


def test_asking_for_a_missing_rate_names_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"A100 SXM 80GB has no fp8 peak.*It has: bf16, int8"):
        kl.chip("A100 SXM 80GB").peak("fp8")
    with pytest.raises(KeyError, match=r"fp4"):
        kl.chip("H100 SXM").ridge("fp4")
    with pytest.raises(KeyError, match=r"sparse peak counts skipped products"):
        kl.chip("H100 SXM").peak("bf16 sparse")


def test_fp16_multiplies_at_the_16_bit_peak() -> None:
    assert kl.chip("V100 SXM2 32GB").peak("fp16") == kl.chip("V100 SXM2 32GB").peak("bf16")


# --- aliases -----------------------------------------------------------------------------------


def test_aliases_lead_to_rows_and_hide_none() -> None:
    aliases = data.rows("aliases.csv")
    assert len(aliases) == len({(row["kind"], row["alias"]) for row in aliases}) == 38
    for row in aliases:
        catalogue: Any = {"chip": kl.chip, "model": kl.model}[row["kind"]]
        assert catalogue(row["alias"]) is catalogue(row["name"])
        hidden = {c.name for c in CHIPS} | {m.name for m in MODELS}
        assert row["alias"] not in hidden - {row["name"]}


@pytest.mark.parametrize(
    ("catalogue", "name", "meant"),
    [
        (kl.chip, "H100 SXN", "H100 SXM"),
        (kl.chip, "mi300", "MI300X"),
        (kl.model, "llama-2-71b", "Llama-2-70B"),
        (kl.model, "DeepSeek", "DeepSeek-V3"),
    ],
)
def test_an_unknown_name_lists_near_ones(catalogue: Any, name: str, meant: str) -> None:
    with pytest.raises(KeyError, match=rf"is called '{name}'. Did you mean: .*{meant}"):
        catalogue(name)


# --- models ------------------------------------------------------------------------------------

#: Models whose shapes give the published total to the digit.
EXACT = """
    GPT-2 (124M), Llama-2-7B, Llama-2-13B, Llama-2-70B, Llama-3.1-8B, Llama-3.1-70B,
    Llama-3.1-405B, Mistral-7B-v0.1, Mixtral-8x7B-v0.1, Mixtral-8x22B-v0.1, DeepSeek-V3,
    Qwen2.5-7B, Qwen2.5-72B, Qwen3-8B, Qwen3-32B, Qwen3-30B-A3B, Qwen3-235B-A22B, Gemma-2-9B,
    gpt-oss-20b, gpt-oss-120b, Phi-3-mini-4k, SmolLM2-135M, Mamba-2.8B
"""
#: The others -> a word of the reason that the row must give.
INEXACT = {
    "Llama-4-Scout-17B-16E (text)": "vision tower",
    "Gemma-3-27B (text)": "vision tower",
    "DBRX": "rounds",
    "Falcon-7B": "rounds",
    "Falcon-40B": "rounds",
    "OPT-175B": "rounds",
    "GPT-3 175B": "rounds",
    "PaLM 540B": "rounds",
    "Chinchilla 70B": "relative-position",
    "Mamba2-2.7B": "rounds",
    "Jamba-v0.1": "rounds",
    "Nemotron-H-8B": "rounds",
}


def names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",")}


def test_35_models_load_each_under_its_own_name() -> None:
    assert len(MODELS) == 35
    assert {model.name for model in MODELS} == names(EXACT) | set(INEXACT)
    assert all(kl.model(model.name) is model for model in MODELS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_parameters_equal_the_published_total_or_the_row_says_why_not(model: Model) -> None:
    assert model.exact == (model.name in names(EXACT)) == (model.params == model.published_total)
    assert INEXACT.get(model.name, "") in model.mismatch
    assert model.exact or model.mismatch
    assert model.source


@pytest.mark.parametrize("row", fixture("model_counts.csv"), ids=lambda row: row["name"])
def test_counts_that_were_made_by_hand(row: dict[str, str]) -> None:
    model = kl.model(row["name"])
    assert model.params == int(row["total_params"])
    assert model.active_params == int(row["active_params"])
    assert model.kv_bytes_per_token() == int(row["kv_bytes_per_token_16bit"])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_active_parameters_agree_with_what_is_published(model: Model) -> None:
    """Within what the mismatch explains: an embedding table that a publisher leaves out."""
    assert model.active_params <= model.params
    assert model.published_active is not None
    table = model.vocab * model.hidden
    close = [model.active_params, model.active_params - table]
    rounded = 0.08 if model.mismatch else 0.01
    assert any(n == pytest.approx(model.published_active, rel=rounded) for n in close)


def test_gpt_oss_counts_its_active_parameters_without_the_input_embedding() -> None:
    gpt = kl.model("gpt-oss-120b")
    assert gpt.active_params - gpt.vocab * gpt.hidden == gpt.published_active == 5_132_849_472


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_tensors_add_up(model: Model) -> None:
    assert sum(model.tensors.values()) == model.params
    assert all(count >= 0 for count in model.tensors.values())
    assert model.weight_bytes("bf16") == 2 * model.params
    assert model.weight_bytes("fp32") == 4 * model.params


LAYERS = {
    "Llama-2-70B": 80,
    "Llama-3.1-405B": 126,
    "DeepSeek-V3": 61,
    "Gemma-3-27B (text)": 62,
    "Gemma-2-9B": 42,
    "gpt-oss-20b": 24,
    "gpt-oss-120b": 36,
    "Llama-4-Scout-17B-16E (text)": 48,
    "SmolLM2-135M": 30,
    "PaLM 540B": 118,
}


@pytest.mark.parametrize(("name", "layers"), LAYERS.items())
def test_every_layer_is_counted(name: str, layers: int) -> None:
    assert kl.model(name).layers == layers == sum(b.layers for b in kl.model(name).blocks)


def windows(name: str) -> dict[int | None, int]:
    """Window in tokens, None for full attention -> how many layers have it."""
    return {block.attention.window: block.layers for block in kl.model(name).blocks}


def test_which_layers_slide() -> None:
    assert windows("Gemma-3-27B (text)") == {1024: 52, None: 10}
    assert windows("Gemma-2-9B") == {4096: 21, None: 21}
    assert windows("gpt-oss-120b") == {128: 18, None: 18}
    assert windows("Mistral-7B-v0.1") == {4096: 32}
    assert windows("Phi-3-mini-4k") == {2047: 32}
    assert windows("Llama-4-Scout-17B-16E (text)") == {8192: 36, None: 12}
    for name in ("Llama-2-70B", "Mixtral-8x7B-v0.1", "Qwen2.5-7B", "Qwen3-8B", "Qwen3-30B-A3B"):
        assert windows(name).keys() == {None}


KINDS = {
    "Llama-2-7B": "MHA",
    "Llama-2-70B": "GQA",
    "Falcon-7B": "MQA",
    "PaLM 540B": "MQA",
    "DeepSeek-V3": "MLA",
    "Mistral-7B-v0.1": "GQA, window 4096",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_the_kind_of_attention(name: str, kind: str) -> None:
    assert {block.attention.kind for block in kl.model(name).blocks} == {kind}
    assert kind in repr(kl.model(name))


def test_falcon_7b_has_one_kv_head_although_its_config_says_71() -> None:
    (block,) = kl.model("Falcon-7B").blocks
    assert isinstance(block.attention, Attention)
    assert (block.attention.heads, block.attention.kv_heads) == (71, 1)
    assert block.parallel


def test_deepseek_v3_has_three_dense_layers_and_a_shared_expert() -> None:
    dense, mixture = kl.model("DeepSeek-V3").blocks
    assert (dense.layers, mixture.layers) == (3, 58)
    assert dense.mlp == FeedForward(18_432)
    assert isinstance(mixture.mlp, Experts)
    assert (mixture.mlp.number, mixture.mlp.per_token) == (256, 8)
    assert mixture.mlp.each == mixture.mlp.shared == FeedForward(2048)
    assert isinstance(mixture.attention, LatentAttention)


HEADS_OF_THEIR_OWN_SIZE = {"Gemma-2-9B": 256, "Qwen3-30B-A3B": 128, "gpt-oss-20b": 64}


@pytest.mark.parametrize(("name", "size"), HEADS_OF_THEIR_OWN_SIZE.items())
def test_head_size_is_not_hidden_over_heads(name: str, size: int) -> None:
    model = kl.model(name)
    attention = model.blocks[0].attention
    assert isinstance(attention, Attention)
    assert attention.head_dim == size != model.hidden / attention.heads


def test_the_seven_matrices_of_a_layer() -> None:
    matrices = kl.layer_matrices(kl.model("Llama-2-70B"))
    assert matrices == [
        ("Q", 8192, 8192),
        ("K", 8192, 1024),
        ("V", 8192, 1024),
        ("O", 8192, 8192),
        ("gate", 8192, 28_672),
        ("up", 8192, 28_672),
        ("down", 28_672, 8192),
    ]
    weights = sum(inputs * outputs for _, inputs, outputs in matrices)
    llama = kl.model("Llama-2-70B")
    assert 80 * weights == llama.tensors["projections"] + llama.tensors["feed_forward"]


def test_a_plain_layer_has_six_matrices() -> None:
    names = [name for name, *_ in kl.layer_matrices(kl.model("GPT-2 (124M)"))]
    assert names == ["Q", "K", "V", "O", "up", "down"]


@pytest.mark.parametrize("name", ["DeepSeek-V3", "Mixtral-8x7B-v0.1"])
def test_other_layers_are_not_forced_into_seven(name: str) -> None:
    with pytest.raises(ValueError, match=f"first layer of {name}.*choose a dense model"):
        kl.layer_matrices(kl.model(name))


# --- measurements ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Llama-2-7B", "Llama-2-70B"])
def test_no_measured_layer_beats_the_law(name: str) -> None:
    rows = kl.layer_times(name)
    assert [row.tokens for row in rows] == sorted(row.tokens for row in rows)
    for row in rows:
        assert row.model == name
        assert row.source
        assert row.layer_seconds > row.seconds
        work = kl.layer_work(kl.model(name), row.tokens)
        assert row.seconds > work.floor(kl.chip(row.chip))


def test_one_to_128_tokens_of_the_measured_layer_take_nearly_the_same_time() -> None:
    few = {row.tokens: row.seconds for row in kl.layer_times() if row.tokens <= 128}
    assert min(few) == 1
    assert max(few) == 128
    assert max(few.values()) < 1.15 * min(few.values())


def test_the_law_of_a_layer_is_matrix_by_matrix() -> None:
    llama = kl.model("Llama-2-70B")
    work = kl.layer_work(llama, 64)
    step = kl.decode_step(llama, 0, batch=64)
    assert list(work.parts) == ["Q", "K", "V", "O", "gate", "up", "down"]
    layer = step.parts["projections"].flops + step.parts["feed_forward"].flops
    assert 80 * work.flops == layer


def test_no_matmul_reaches_the_peak() -> None:
    assert kl.matmul_ceiling("H100 SXM") == 0.803
    measured = data.rows("matmul_ceilings.csv")
    assert all(0.5 < kl.matmul_ceiling(row["chip"]) < 1 for row in measured)
    assert all(kl.chip(row["chip"]).name == row["chip"] for row in measured)
    with pytest.raises(KeyError, match=r"measured matmul ceiling is called 'L4'"):
        kl.matmul_ceiling("L4")


def test_a_short_name_drops_brackets_and_the_makers_name_and_keeps_its_mark() -> None:
    names = ("TPU v6e (Trillium)", "Intel Xeon Platinum 8480+ (56c, AMX)", "Apple M1")
    assert [kl.chip(name).short for name in names] == ["TPU v6e", "Xeon Platinum 8480+", "Apple M1"]
    marked = ("NVIDIA DGX Spark (GB10)", "TPU v6e (Trillium)", "Apple M4 Max (40-core)")
    assert [kl.chip(name).short_label for name in marked] == [
        "DGX Spark*",
        "TPU v6e",
        "Apple M4 Max*",
    ]


# --- the files ---------------------------------------------------------------------------------


def test_every_config_file_belongs_to_a_row() -> None:
    used = {row["config"] for row in data.rows("models.csv")} - {""}
    assert used == {path.name for path in (data.FOLDER / "configs").glob("*.json")}
    assert len(used) == 18


@pytest.mark.parametrize("name", sorted(path.name for path in data.FOLDER.glob("*.csv")))
def test_every_row_of_a_data_file_is_whole(name: str) -> None:
    for row in data.rows(name):
        assert None not in row, "a row with more cells than the header"
        assert None not in row.values(), "a row with fewer cells than the header"
        # a reply and the name of a token are a model's own words, blanks included
        verbatim = {"reply", "name"} if row.get("by") == "token" else {"reply"}
        cells = [cell for column, cell in row.items() if column not in verbatim]
        assert not any(re.search(r"\s$|^\s", cell) for cell in cells)


def test_a_count_unlike_the_published_one_is_explained_where_the_model_is_shown() -> None:
    for model in kl.models():
        assert bool(model.caveat) != model.exact
        assert model.caveat in repr(model)
    assert "published as 7B (name rounds" in repr(kl.model("Falcon-7B"))
