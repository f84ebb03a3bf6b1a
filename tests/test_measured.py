"""Published measurements are joined to the catalogue, name their sources, and obey the law."""

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib import data, measured
from kitchenlib.measured import Measurement, measurement, measurements

#: Tables of plain passes: one prefill, or one token at a time, without speculation.
PLAIN = ("XiongjieDai GPU-Benchmarks", "llama.cpp DGX Spark bench", "LMDeploy A100 benchmark")


def timed() -> list[Measurement]:
    """Rows of plain passes whose model, chip and format the library knows."""
    kinds = ("prefill_tok_s", "decode_tok_s_per_seq", "decode_tok_s_total", "ttft_s")
    return [
        row
        for source in PLAIN
        for row in measurements(source=source, chips=1)
        if row.metric in kinds and row.chip and row.weights and row.context is not None
    ]


def floor(row: Measurement) -> float:
    """The law's lower bound for the pass of a row: for decoding, the mean over its steps."""
    assert row.chip
    assert row.weights
    model, chip = kl.model(row.model), kl.chip(row.chip)
    if row.metric.startswith("decode"):
        steps = (row.context or 0) + np.arange(row.output or 1)
        return float(np.mean(kl.decode_step(model, steps, row.batch, row.weights).floor(chip)))
    assert row.prompt
    before = 0 if row.context == row.prompt else row.context or 0
    whole = before + row.prompt
    return float(kl.prefill(model, whole, row.batch, before, row.weights).floor(chip))


def test_every_row_is_read_and_has_its_source() -> None:
    rows = measurements()
    assert len(rows) == len({row.id for row in rows}) == len(data.rows("measured.csv")) == 465
    assert all(row.source and row.locator and row.engine and row.value > 0 for row in rows)


def test_every_row_is_joined_to_the_catalogue() -> None:
    for row in measurements():
        assert kl.model(row.model).name == row.model
        if row.chip is None:
            assert row.published_chip == "not stated in the table"
        else:
            assert kl.chip(row.chip).name == row.chip
        for form in (row.weights, row.kv):
            assert form is None or kl.number_format(form).name == form


def test_a_format_without_equal_in_the_library_is_left_open() -> None:
    published = {row.published_weights for row in measurements(weights=None)}
    assert published == {"MXFP4", "int4", "nvfp4 MoE + bf16 attention"}


def test_mxfp4_of_llama_cpp_is_lighter_than_the_format_that_the_model_ships_in() -> None:
    """The file has 59.02 GiB: experts in mxfp4, other matrices in Q8_0, the small rest in fp32."""
    model = kl.model("gpt-oss-120b")
    matrices = ("projections", "lm_head", "embedding")
    width = {name: kl.number_format("Q8_0").bytes for name in matrices}
    width["experts"] = kl.number_format("mxfp4").bytes
    nbytes = sum(size * width.get(name, 4) for name, size in model.tensors.items())
    assert round(nbytes / kl.units.GiB, 2) == 59.02
    assert round(model.weight_bytes("mxfp4-moe") / kl.units.GiB, 1) == 60.8


def test_a_rate_becomes_the_seconds_of_one_pass() -> None:
    read = measurement(chip="RTX 4090", weights="fp16", metric="prefill_tok_s", prompt=1024)
    assert read.seconds == 1024 / 9056.26
    write = measurement(chip="RTX 4090", weights="fp16", metric="decode_tok_s_per_seq", output=1024)
    assert write.seconds == 1 / 54.34
    together = measurement(id="M2432")  # 32 sequences, 310.46 tokens per second in all
    assert together.seconds == 32 / 310.46
    reading_together = measurement(id="M2431")  # 32 prompts of 512 tokens
    assert reading_together.seconds == 32 * 512 / 1945.36
    assert measurement(id="M1923").seconds == 0.139


def test_a_rate_that_mixes_reading_and_writing_has_no_seconds() -> None:
    with pytest.raises(ValueError, match="neither of a prefill nor of a token"):
        _ = measurement(id="M1916").seconds


@pytest.mark.parametrize("row", timed(), ids=lambda row: row.id)
def test_no_measurement_beats_the_floor(row: Measurement) -> None:
    assert row.seconds >= floor(row)


def test_conditions_are_met_together() -> None:
    rows = measurements(chip="L40S", metric="prefill_tok_s", prompt=1024)
    assert {row.model for row in rows} == {"Llama-3.1-8B", "Llama-3.1-70B"}
    assert measurements(chip="RTX 4090", model="Llama-2-70B") == ()


def test_what_nobody_measured_is_refused_by_name() -> None:
    with pytest.raises(kl.UnknownName, match=r"no measured chip is called 'RTX 4070'.*RTX 4070 Ti"):
        measurements(chip="RTX 4070")
    with pytest.raises(kl.UnknownName, match="no condition of a measurement is called 'gpu'"):
        measurements(gpu="RTX 4090")


def test_one_measurement_is_asked_for_and_one_is_given() -> None:
    with pytest.raises(ValueError, match=r"10 measurements have chip='RTX 4080': give conditions"):
        measurement(chip="RTX 4080")
    with pytest.raises(ValueError, match="0 measurements"):
        measurement(chip="RTX 4090", model="Llama-2-70B")


@pytest.mark.parametrize(
    ("chips", "weights", "model", "prefill", "decode"),
    [
        (("RTX 4070 Ti", "RTX 3080 10GB"), "Q4_K_M", "Llama-3.1-8B", 1.03, 0.77),
        (("L40S", "A100 PCIe 80GB"), "Q4_K_M", "Llama-3.1-8B", 1.02, 0.82),
        (("L40S", "A100 PCIe 80GB"), "Q4_K_M", "Llama-3.1-70B", 0.89, 0.69),
        (("RTX 4090", "RTX 3090"), "fp16", "Llama-3.1-8B", 2.14, 1.17),
        (("H100 PCIe", "A100 SXM 80GB"), "Q4_K_M", "Llama-3.1-70B", 1.24, 1.03),
        (("RTX 4080", "Apple M2 Ultra"), "fp16", "Llama-3.1-8B", 5.6, 1.11),
    ],
)
def test_the_pairs_of_one_table_compare_as_published(
    chips: tuple[str, str], weights: str, model: str, prefill: float, decode: float
) -> None:
    same: dict[str, str | float] = {"weights": weights, "model": model, "source": PLAIN[0]}
    same["chips"] = 1
    reads = {"metric": "prefill_tok_s", "prompt": 1024, **same}
    writes = {"metric": "decode_tok_s_per_seq", "output": 1024, **same}
    read = [measurement(chip=c, **reads).value for c in chips]
    write = [measurement(chip=c, **writes).value for c in chips]
    assert read[0] / read[1] == pytest.approx(prefill, abs=0.03 if prefill > 2 else 0.006)
    assert write[0] / write[1] == pytest.approx(decode, abs=0.006)


def test_the_outliers_of_that_table_are_not_in_the_file() -> None:
    rows = measurements(source=PLAIN[0], weights="fp16", metric="prefill_tok_s", chips=1)
    assert len(rows) > 10
    assert not {"A100 SXM 80GB", "L40S"} & {row.chip for row in rows}


def test_a_layer_that_was_not_measured_is_refused_by_name() -> None:
    with pytest.raises(kl.UnknownName, match=r"no measured layer is called 'Llama-3.1-8B'"):
        measured.layer_times("Llama-3.1-8B")


# --- what the fixes gained ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "gain"),
    [
        pytest.param("M0797", "M0799", 1.88, id="Llama-2-7B, one A100"),
        pytest.param("M0810", "M0819", 1.45, id="Llama-2-70B, eight A100"),
        pytest.param("X0001", "X0002", 2.47, id="Llama-3.1-8B, llama.cpp"),
        pytest.param("X0003", "X0004", 0.89, id="Llama-3.1-8B, llama.cpp, prefill"),
    ],
)
def test_four_bits_gain_less_than_the_weights_they_save(
    before: str, after: str, gain: float
) -> None:
    plain, light = measurement(id=before), measurement(id=after)
    assert (plain.model, plain.chips, plain.metric) == (light.model, light.chips, light.metric)
    assert light.value / plain.value == pytest.approx(gain, abs=0.005)
    assert light.weights
    model = kl.model(light.model)
    lighter = model.streamed_weight_bytes() / model.streamed_weight_bytes(light.weights)
    assert gain < 2.5 < 3.1 < lighter < 3.3


def test_gpt_fast_beats_the_floor_of_a_pass_only_where_a_pass_gives_more_than_one_token() -> None:
    """With drafts: 48.4 tokens per second, where the weights can be read 47.4 times (one chip)."""
    for row in measurements(source="gpt-fast"):
        assert row.chip
        assert row.weights
        assert row.context is not None
        model, chip = kl.model(row.model), kl.chip(row.chip)
        step = kl.decode_step(model, row.context, weights=row.weights, chips=row.chips)
        assert (row.seconds < step.floor(chip)) == ("speculative" in row.engine)


@pytest.mark.parametrize(("context", "measured_gain"), [(512, 20.2), (4096, 13.1), (8192, 9.6)])
def test_32_guests_gain_less_the_longer_their_notes_are(context: int, measured_gain: float) -> None:
    same: dict[str, str | float] = {"source": PLAIN[1], "model": "Qwen2.5-7B", "prompt": context}
    one = measurement(metric="decode_tok_s_per_seq", batch=1, **same)
    many = measurement(metric="decode_tok_s_total", batch=32, **same)
    gain = many.value / one.value
    assert gain == pytest.approx(measured_gain, abs=0.05)
    assert 0.65 < gain / (32 * floor(one) / floor(many)) < 0.9


def test_a_second_guest_of_a_mixture_brings_experts_of_its_own() -> None:
    same: dict[str, str | float] = {"source": PLAIN[1], "model": "gpt-oss-120b", "prompt": 4096}
    one = measurement(metric="decode_tok_s_per_seq", batch=1, **same)
    two = measurement(metric="decode_tok_s_total", batch=2, **same)
    assert two.value / one.value == pytest.approx(1.0, abs=0.01)
