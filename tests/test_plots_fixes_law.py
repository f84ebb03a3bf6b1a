"""Four bits, company and shared clipboards: the pictures say what the law says, legibly."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import kitchenlib as kl
from kitchenlib.measured import measurement, measurements
from kitchenlib.plots.clipboards import saved, shared_clipboards, unshared
from kitchenlib.plots.company import batch_gain
from kitchenlib.plots.lighter import FORMATS, int4_ladder
from kitchenlib.plots.style import Picture
from tests import test_plots as every_picture

H100, LLAMA, SMALL = kl.chip("H100 SXM"), kl.model("Llama-2-70B"), kl.model("Llama-3.1-8B")
ULTRA, CONSUMER, H200 = kl.chip("Apple M2 Ultra"), kl.chip("RTX 4090"), kl.chip("H200 SXM")
MIXTURE, SMOL, FALCON = map(kl.model, ("DeepSeek-V3", "SmolLM2-135M", "Falcon-7B"))
EVERY_MODEL = tuple(model.name for model in kl.models())
EIGHT = (*FORMATS, kl.grouped(4, 64, zero_bits=16), "mxfp4-moe")

#: The three, and each at other settings.
DRAWN: dict[str, Callable[[], Picture]] = {
    "ladder": int4_ladder,
    "ladder of 8B": lambda: int4_ladder(SMALL, ULTRA, 100_000, ["int4"]),
    "eight rungs": lambda: int4_ladder(MIXTURE, kl.chip("H20"), 0, EIGHT),
    "company": batch_gain,
    "much company": lambda: batch_gain(SMALL, CONSUMER, (0, 2048, 16_384, 131_072), chips=1),
    "a low ridge": lambda: batch_gain(SMALL, ULTRA, (512, 8192), guests=64, chips=1),
    "experts": lambda: batch_gain(MIXTURE, H200, (1024, 32_768, 131_072), guests=8, chips=8),
    "beyond both": lambda: batch_gain(notes=(8192, 16_384), guests=2),
    "hardly any notes": lambda: batch_gain(FALCON, H100, (0, 1, 2, 3), guests=64, chips=1),
    "clipboards": shared_clipboards,
    "405B": lambda: shared_clipboards(kl.model("Llama-3.1-405B"), H200, 8192, 8),
    "9 on 3": lambda: shared_clipboards(SMOL, CONSUMER, 2048, 1, ["Llama-4-Scout-17B-16E (text)"]),
    "71 on 1": lambda: shared_clipboards(FALCON, CONSUMER, 2048, 1, EVERY_MODEL[:12]),
    "no room": lambda: shared_clipboards(chip=kl.chip("A100 SXM 80GB"), chips=2),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_legible_at_any_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        (
            "ladder",
            "Four bits: 3.1 to 3.8 times lighter, 1.9 to 2.8 times faster on one chip, and "
            "reading gets no faster.",
        ),
        ("ladder", "int4 (4.00 bits, no scales) lighter 4.00, faster by the law 3.89;"),
        ("ladder", "int4-g128 (4.16 bits) lighter 3.77, faster by the law 3.71;"),
        ("ladder", "mxfp4 (4.25 bits) lighter 3.69, faster by the law 3.63;"),
        ("ladder", "Q4_0 (4.50 bits) lighter 3.56, faster by the law 3.47;"),
        ("ladder", "Q4_K_M (4.89 bits) lighter 3.27, faster by the law 3.20;"),
        ("ladder", "int4-g32 (5.00 bits) lighter 3.17, faster by the law 3.13."),
        ("ladder", "(15 chips) lighter 3.27, faster by the law 3.24, measured 1.87–2.81;"),
        ("ladder", "(chip not named) lighter 3.27, faster by the law 3.26, measured 2.47;"),
        ("ladder", "Llama-2-7B, int4-g32 (A100 SXM 80GB) lighter 3.07, faster by the law 3.20"),
        ("ladder", "(8 A100 SXM 80GB) lighter 3.17, faster by the law 3.19, measured 1.45."),
        ("ladder", "512 tokens) lighter 3.27, faster by the law 1.03, measured 0.89;"),
        ("ladder", "(13 chips, 1,024 tokens) lighter 3.27, faster by the law 1.00–1.02"),
        ("ladder of 8B", "Four bits: 4.0 times lighter"),
        ("eight rungs", "one token of DeepSeek-V3 on one H20*, no notes."),
        (
            "company",
            "32 guests bring 24.6 times the tokens, with 4,096 tokens of notes each, and the "
            "ridge is never reached.",
        ),
        ("company", "no notes (Llama-2-70B): 32.0 times the tokens, the ridge is reached with 296"),
        ("company", "27.8 times the tokens, at most 213 FLOP per byte, 253 guests fit into 4 H100"),
        ("company", "24.6 times the tokens, at most 110 FLOP per byte, 126 guests fit into 4 H100"),
        ("company", "each (Llama-3.1-70B): 9.93 times the tokens, at most 20.9 FLOP per byte, 15"),
        ("company", "Qwen2.5-Coder-7B, Q8_0, on one DGX Spark*: 512: 20.2 of 28.5, 4,096: 13.1 of"),
        ("much company", "131,072 tokens of notes each (Llama-3.1-8B): 1.82 times the tokens"),
        ("a low ridge", "512 tokens of notes each (Llama-3.1-8B): 29.6 times the tokens"),
        ("experts", "with 131,072 tokens of notes each, and the ridge is reached with 688."),
        ("beyond both", "with 16,384 tokens of notes each, and the ridge is never reached."),
        (
            "clipboards",
            "64 to 8 clipboards save 87.5% of the notes: 9 times the guests on 4 H100 SXM.",
        ),
        ("clipboards", "MHA, 64 query heads, 64 clipboards: 2.62 MB; GQA, 64 query heads, 8"),
        ("clipboards", "8 clipboards: 328 kB; MQA, 64 query heads, 1 clipboard: 41.0 kB; MLA, 128"),
        ("clipboards", "Llama-2-7B 32 → 32 0%; Gemma-3-27B (text) 32 → 16 50%; SmolLM2-135M 9 → 3"),
        ("clipboards", "Llama-3.1-8B 32 → 8 75%; Qwen2.5-7B 28 → 4 85.7%; Llama-2-70B 64 → 8 87.5"),
        ("clipboards", "128 → 8 93.8%; DeepSeek-V3 128 → sheet 98.6%; Falcon-7B 71 → 1 98.6%."),
        ("clipboards", "126 guests against 14, with int4-g128 202 against 24."),
        ("405B", "128 to 8 clipboards save 93.8% of the notes: 32 times the guests"),
        ("9 on 3", "9 to 3 clipboards save 66.7% of the notes: 3 times the guests on 1 RTX 4090."),
        ("71 on 1", "Falcon-7B: 71 query heads share 1 clipboard (KV heads)."),
        ("no room", "12 guests on 2 A100 SXM 80GB instead of none."),
    ],
)
def test_a_picture_says(name, claim, pictures):
    assert claim in pictures[name].alt


def shown(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if isinstance(text, Text)]


# --- four bits ---------------------------------------------------------------------------------


def test_reading_is_slower_in_every_row_that_was_measured():
    rows = measurements(
        source="XiongjieDai GPU-Benchmarks", published_model="Llama-3-8B", metric="prefill_tok_s"
    )
    speeds = {(row.published_chip, row.chips, row.prompt, row.weights): row.value for row in rows}
    pairs = [(speed, speeds.get((*key[:3], "fp16"))) for key, speed in speeds.items()]
    ratios = [four / sixteen for four, sixteen in pairs if sixteen and four != sixteen]
    assert len(ratios) > 20
    assert max(ratios) < 1
    assert measurement(id="X0004").value < measurement(id="X0003").value


def test_no_chip_of_the_table_is_left_out(pictures):
    """Every chip with both formats, so that nobody can pick the fastest."""
    rows = measurements(
        source="XiongjieDai GPU-Benchmarks",
        published_model="Llama-3-8B",
        metric="decode_tok_s_per_seq",
        output=1024,
        chips=1,
    )
    speeds = {(row.published_chip, row.weights): row.value for row in rows}
    gains = [
        speed / speeds[chip, "fp16"]
        for (chip, form), speed in speeds.items()
        if form == "Q4_K_M" and (chip, "fp16") in speeds
    ]
    drawn = [
        sorted(line.get_xdata())
        for line in pictures["ladder"].axes[0].lines
        if line.get_marker() == "o" and len(line.get_xdata()) == len(gains)
    ]
    assert drawn == [pytest.approx(sorted(gains))]


def test_a_bar_ends_at_the_law_or_at_what_was_measured(pictures):
    bars = [patch for patch in pictures["ladder"].axes[0].patches if isinstance(patch, Rectangle)]
    ends = [bar.get_x() + bar.get_width() for bar in bars]

    def seconds(weights: str) -> float:
        return float(kl.decode_step(LLAMA, 4096, weights=weights).time(H100))

    assert ends[: len(FORMATS)] == pytest.approx([seconds("bf16") / seconds(f) for f in FORMATS])
    assert ends[-2] == pytest.approx(measurement(id="X0004").value / measurement(id="X0003").value)


def test_the_ladder_goes_down(pictures):
    rungs = pictures["ladder"].alt.split("By the law: ")[2].split(". Measured")[0]
    for name in ("lighter", "by the law"):
        values = [float(value) for value in re.findall(rf"{name} (\d\.\d+)", rungs)]
        assert len(values) == len(FORMATS)
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formats": ["int4", "fp8"]}, "formats = 'fp8, 8 bits' .*4 to 6 bits, scales included"),
        ({"formats": []}, "give one to eight number formats"),
        ({"formats": "int4"}, "formats = 'int4' .*one to eight number formats"),
        ({"formats": ["int4"] * 9}, "one to eight number formats"),
        ({"notes": -1}, "notes = -1 .*tokens"),
        ({"notes": [1, 2]}, "notes = .*not an array"),
        ({"model": "Llama-2-70B"}, "model = 'Llama-2-70B' .*give a Model"),
        ({"chip": "H100 SXM"}, "chip = 'H100 SXM' .*give a Chip"),
    ],
)
def test_a_ladder_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        int4_ladder(**arguments)


def test_a_format_that_is_not_known_is_refused_by_name():
    with pytest.raises(kl.UnknownName, match="no number format is called 'int5'"):
        int4_ladder(formats=["int5"])


# --- company -----------------------------------------------------------------------------------


def test_a_line_is_thick_as_far_as_the_guests_fit(pictures):
    """On the left only the longest notes fill four chips; on the right all three do."""
    gains, intensities = pictures["company"].axes[:2]
    full = [kl.max_batch(LLAMA, H100, 2048, chips=4), kl.max_batch(LLAMA, H100, 4096, chips=4)]
    full.append(kl.max_batch(kl.model("Llama-3.1-70B"), H100, 32_768, chips=4))
    for ax, expected in ((gains, full[2:]), (intensities, full)):
        at = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|"]
        if ax is intensities:
            at = at[:-1]  # the last one is in the key
        assert len(at) == len(expected)
        for drawn, most in zip(at, expected, strict=True):
            assert 0.95 * most < drawn <= most  # the sweep has about seventy points a decade


def test_the_lines_are_the_law(pictures):
    lines = [line for line in pictures["company"].axes[0].lines if len(line.get_xdata()) == 64]
    guests, gains = lines[2].get_data()
    assert list(guests) == list(range(1, 65))

    def tokens(batch: int) -> float:
        return batch / float(kl.decode_step(LLAMA, 4096, batch).time(H100))

    assert gains[31] == pytest.approx(tokens(32) / tokens(1))


def test_the_points_are_the_published_rows(pictures):
    points = [line for line in pictures["company"].axes[2].lines if line.get_marker() != "None"]
    rows = measurements(source="llama.cpp DGX Spark bench", model="Qwen2.5-7B", prompt=4096)
    rows = tuple(row for row in rows if row.metric.startswith("decode"))
    assert list(points[1].get_xdata()) == [row.batch for row in rows]
    assert list(points[1].get_ydata()) == pytest.approx([r.value / rows[0].value for r in rows])


def test_no_measured_gain_is_above_its_law(pictures):
    ax = pictures["company"].axes[2]
    laws = [line.get_ydata() for line in ax.lines if line.get_marker() == "None"]
    points = [line.get_ydata() for line in ax.lines if line.get_marker() != "None"]
    assert len(laws) == len(points) == 3
    for law, point in zip(laws, points, strict=True):
        assert all(point <= law)


def test_the_ridge_is_between_no_notes_and_some(pictures):
    """At 296 guests without notes it is crossed, and 4,096 tokens end far below it."""
    below, above = (kl.decode_step(LLAMA, 0, n).intensity for n in (295, 296))
    assert below < H100.ridge() <= above
    assert kl.intensity_ceiling(LLAMA, 4096) < H100.ridge() / 2
    assert {"ridge 295", "296 guests", "110", "full: 4 H100 SXM"} <= set(shown(pictures["company"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"notes": (4096,)}, "notes = .*two to 4 different numbers of tokens, the fewest first"),
        ({"notes": (4096, 2048)}, "the fewest first"),
        ({"notes": (0, 0)}, "different numbers"),
        ({"notes": (0, 200_000)}, "notes = 200000 .*Llama-3.1-70B takes at most 131,072 tokens"),
        ({"notes": (0, 1.5)}, "notes = 1.5 .*whole"),
        ({"guests": 1}, "guests = 1 .*give 2 to 64 guests"),
        ({"guests": 65}, "give 2 to 64 guests"),
        ({"chips": 3}, "chips = 3.*must divide"),
        ({"chips": [1, 2]}, "chips = .*not an array"),
        ({"longer": "Llama-3.1-70B"}, "longer = 'Llama-3.1-70B' .*give a Model"),
        ({"model": 7}, "model = 7 .*give a Model"),
        ({"chip": "H100 SXM"}, "give a Chip"),
    ],
)
def test_company_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        batch_gain(**arguments)


# --- clipboards --------------------------------------------------------------------------------


def test_a_clipboard_for_every_head_gives_back_what_sharing_saves():
    for model in kl.models():
        if model.name == MIXTURE.name or not model.kv_bytes_per_token():
            continue
        kept = model.kv_bytes_per_token() / unshared(model).kv_bytes_per_token()
        assert saved(model) == pytest.approx(1 - kept)
    assert saved(LLAMA) == 0.875
    assert saved(SMOL) == pytest.approx(2 / 3)


def test_layers_without_notes_have_nothing_to_share():
    stateful = kl.Block(3, kl.Mamba2(8, 16, 32), kl.Nothing(), norms=64)
    (block,) = LLAMA.blocks
    hybrid = replace(LLAMA, blocks=(stateful, block))
    assert saved(hybrid) == saved(LLAMA)
    assert unshared(hybrid).blocks == (stateful, *unshared(LLAMA).blocks)
    pure = replace(LLAMA, name="pure", blocks=(stateful,))
    with pytest.raises(ValueError, match="pure keeps no notes: give a model with attention"):
        saved(pure)


def test_a_latent_row_saves_against_the_keys_and_values_it_expands_to():
    """128 heads of 128 + 64 for the key and 128 for the value; 512 + 64 are cached."""
    assert saved(MIXTURE) == pytest.approx(1 - 576 / (128 * (128 + 64 + 128)))
    with pytest.raises(ValueError, match="DeepSeek-V3 caches one latent row for all heads"):
        unshared(MIXTURE)


def test_the_matrices_of_all_heads_are_counted_in_the_guests(pictures):
    assert unshared(LLAMA).params > LLAMA.params
    fit = [kl.max_batch(m, H100, 4096, chips=4) for m in (LLAMA, unshared(LLAMA))]
    assert {f"{guests}" for guests in fit} <= set(shown(pictures["clipboards"]))


def test_there_is_a_mark_for_every_head_clipboard_and_guest(pictures):
    marks = [
        len(line.get_xdata())
        for line in pictures["clipboards"].axes[0].lines
        if line.get_marker() not in ("None", None, "")
    ]
    assert marks == [64, 64, 64, 64, 128, 126, 126, 14, 14]  # heads, boards; bodies and heads


def test_a_crowd_is_drawn_in_groups(pictures):
    assert any("each figure: 3" in text for text in shown(pictures["9 on 3"]))
    crowds = [
        len(line.get_xdata())
        for line in pictures["9 on 3"].axes[0].lines
        if line.get_marker() == "o"
    ][-2:]
    guests = kl.max_batch(SMOL, CONSUMER, 2048), kl.max_batch(unshared(SMOL), CONSUMER, 2048)
    assert crowds == [-(-number // 3) for number in guests]


def test_a_bar_is_what_is_left(pictures):
    bars = [bar for each in pictures["clipboards"].axes[0].containers for bar in each]
    whole, kept = ([bar.get_width() for bar in bars[start::2]] for start in (0, 1))
    shares = [part / all_ for part, all_ in zip(kept, whole, strict=True)]
    assert shares[0] == 1
    assert shares[5] == pytest.approx(1 / 8)
    assert shares[-1] == pytest.approx(1 / 71)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": kl.model("Llama-2-7B")}, "every query head has a clipboard of its own"),
        ({"model": MIXTURE}, "caches one latent row for all heads .*MLA.*Llama-2-70B"),
        ({"model": "Llama-2-70B"}, "give a Model"),
        ({"chip": "H100 SXM"}, "give a Chip"),
        ({"chips": 1}, "not one guest with 4,096 tokens fits on 1 H100 SXM: give more chips"),
        ({"chips": 3}, "chips = 3.*must divide"),
        ({"notes": 0}, "notes = 0 .*tokens"),
        ({"models": []}, "give the catalogue names of 1 to 12 models"),
        ({"models": "Llama-2-7B"}, "give the catalogue names"),
    ],
)
def test_clipboards_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        shared_clipboards(**arguments)


def test_a_model_that_is_not_known_is_refused_by_name():
    with pytest.raises(kl.UnknownName, match="no model is called 'Lama'"):
        shared_clipboards(models=["Lama"])
