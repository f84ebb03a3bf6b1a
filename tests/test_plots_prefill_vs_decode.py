"""The pictures of notebook 02 say true things, and stay legible whatever was measured.

`tests.test_plots` looks at every picture in ``figures/``. Here is what those claim, and what others
look like: at other settings, and drawn from what a machine may measure.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

import kitchenlib as kl
from kitchenlib import serving
from kitchenlib.plots import prefill_vs_decode as plots
from kitchenlib.plots import style, workloads
from kitchenlib.plots.prefill_vs_decode import Timing, Workload
from kitchenlib.plots.style import Picture
from tests import test_plots as every_picture
from tools.notebooks import _NUMBER

H100, LLAMA, LONG = kl.chip("H100 SXM"), kl.model("Llama-2-70B"), kl.model("Llama-3.1-70B")
NOISE = np.random.default_rng(2).uniform(0.9, 1.3, (2, 64))

KEPT, AGAIN = 0.021 * NOISE[0], np.linspace(0.18, 0.42, 64) * NOISE[1]  # seconds of each token
TIMINGS = [
    *(Timing("TTFT", n, 0.0013 * n, 0.0021 * n) for n in (32, 128, 512)),
    *(Timing("TPOT", n, 0.021, 0.026) for n in (32, 128, 512)),
]

#: Every function at another setting, and what machines may measure: slow, fast, little, much.
OTHERS: dict[str, Callable[[], Picture]] = {
    "a short prompt": lambda: plots.flood_by_length(LONG, H100, tokens=2000),
    "a model of experts": lambda: plots.flood_by_length(kl.model("gpt-oss-120b"), H100),
    "another chip's flood": lambda: plots.flood_by_length(LONG, kl.chip("MI300X"), 60_000),
    "notes of a small model": lambda: plots.notes_grow(kl.model("Llama-3.1-8B"), kl.chip("L40S")),
    "notes of a laptop": lambda: plots.notes_grow(
        kl.model("SmolLM2-135M"), kl.chip("Apple M1"), (0, 512, 2048)
    ),
    "a long reply": lambda: plots.without_notepad(["Good"], ["soup", "needs", "time", "!"]),
    "a reply of one": lambda: plots.without_notepad("What is on the menu ?".split(), ["Soup"]),
    "notepad": lambda: plots.notepad_measured(KEPT, AGAIN),
    "a fast machine": lambda: plots.notepad_measured(KEPT / 200, AGAIN / 200),
    "a slow machine": lambda: plots.notepad_measured(20 * KEPT, 20 * AGAIN),
    "fewer without": lambda: plots.notepad_measured(KEPT, AGAIN[:9]),
    "no difference": lambda: plots.notepad_measured(KEPT, KEPT * 1.01),
    "one token": lambda: plots.notepad_measured([0.2], [0.21]),
    "timings": lambda: plots.predicted_and_measured(TIMINGS),
    "one timing": lambda: plots.predicted_and_measured([Timing("TPOT", 64, 0.021, 0.0208)]),
    "far off": lambda: plots.predicted_and_measured(
        [Timing("TTFT", 8, 1e-4, 2.0), Timing("TPOT", 100_000, 0.3, 12.0)]
    ),
    "one pair": lambda: plots.chip_duel(
        [plots.Pair("L40S", "A100 PCIe 80GB", "Llama-3.1-70B", "Q4_K_M")]
    ),
    "plane of four chips": lambda: plots.workload_plane(LONG, H100, chips=4),
    "plane with one order": lambda: plots.workload_plane(
        workloads=[Workload("translating", 3000, 3000)]
    ),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in {**plots.FIGURES, **OTHERS}.items()}


@pytest.mark.parametrize("name", OTHERS)
def test_a_picture_is_legible_at_any_setting(name, pictures):
    every_picture.legible(name, pictures)


# --- what they claim ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("flood-by-length", "The flood: 20,000 tokens in 3.3 s, 16% of it for attention."),
        ("flood-by-length", "512 tokens 71.8 ms, attention 0.5%"),
        ("flood-by-length", "131,072 tokens 40.9 s, attention 56%"),
        ("flood-by-length", "reaches 80.3% of the peak, and 20,000 tokens then take 4.1 s"),
        ("notes-grow", "With 131,072 tokens of notes, every new token takes 31% longer"),
        ("notes-grow", "no notes: sack 139 GB, 41.5 ms a token, chef 0.34% busy"),
        ("notes-grow", "4,096 tokens: sack 139 GB, notes 1.34 GB, 41.9 ms a token"),
        ("notes-grow", "notes 43.0 GB, 54.3 ms a token, chef 0.90% busy"),
        ("without-notepad", "every token starts over: 22 rows instead of 7"),
        ("without-notepad", "4 + 5 + 6 + 7 = 22 rows"),
        ("without-notepad", "4 + 1 + 1 + 1 = 7 rows"),
        ("without-notepad", "219,900 rows without a notepad, 1,199 with one. That is 183 times"),
        ("ttft-and-tpot", "a prompt 16 times as long, TTFT × 17.5, TPOT × 1.06"),
        ("ttft-and-tpot", "Qwen2.5-Coder-7B in Q8_0 on one NVIDIA DGX Spark (GB10)*"),
        ("ttft-and-tpot", "3.70 s at 8,192; 3.8–4.0 times the law"),
        ("ttft-and-tpot", "42.1 ms at 32,768; 1.2 times the law"),
        ("chip-duel", "RTX 4070 Ti reads × 1.03, writes × 0.77"),
        (
            "chip-duel",
            "RTX 4080 against Apple M2 Ultra, Llama-3-8B F16: reads × 5.62, ",
        ),
        ("workload-plane", "four of five orders alone, two with 32 guests at once"),
        ("workload-plane", "chat (1,000 read, 130 written) 2.8% alone, 45% with 32"),
        ("notepad", "Without a notepad, the last tokens take 20 times as long."),
        ("timings", "Measured: TTFT 1.6 ×, TPOT 1.2 × what the law predicts"),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


def test_the_flood_is_marked_where_the_law_has_it(pictures):
    """3.3 s on one ideal chip, a quarter more where the best matrix product stops."""
    ideal = kl.prefill(LONG, 20_000).time(H100)
    assert np.round(ideal, 1) == 3.3
    lines = pictures["flood-by-length"].axes[0].lines
    marks = {line.get_marker(): line.get_ydata() for line in lines if len(line.get_xdata()) == 1}
    assert marks["o"] == pytest.approx(ideal)
    slower = replace(H100, peaks={"bf16": H100.peak() * kl.matmul_ceiling("H100 SXM")})
    assert marks["D"] == pytest.approx(kl.prefill(LONG, 20_000).time(slower))
    assert np.round(marks["D"] / ideal, 3) == 1.245


def test_attention_takes_most_where_the_figure_says(pictures):
    assert "From 104,000 tokens on attention takes most." in pictures["flood-by-length"].alt
    for tokens, most in ((103_500, False), (104_500, True)):
        flood = kl.prefill(LONG, tokens)
        assert (flood.times(H100)["attention"] > flood.time(H100) / 2) == most


def test_attention_that_never_takes_most_is_not_said_to(pictures):
    assert "takes most" not in plots.flood_by_length(LLAMA, H100, 4096).alt


def boxes(picture: Picture) -> list[Rectangle]:
    return [patch for patch in picture.axes[0].get_children() if isinstance(patch, Rectangle)]


def test_notes_are_drawn_to_the_scale_of_the_sack(pictures):
    high = [box for box in boxes(pictures["notes-grow"]) if box.get_height() == pytest.approx(0.3)]
    step = kl.decode_step(LONG, 131_072)
    assert len(high) == 4 + 3  # four sacks, three notepads
    assert high[-1].get_width() / high[-2].get_width() == pytest.approx(
        step.kv_bytes / step.weight_bytes, rel=1e-3
    )


def test_rows_computed_are_the_rows_drawn(pictures):
    """Filled cells: every row of each triangle without a notepad, one row a step with it."""
    colour = to_rgba(style.CHEF.fill)
    cells = [box for box in boxes(pictures["without-notepad"]) if box.get_facecolor() == colour]
    again = sum(n * (n + 1) // 2 for n in (4, 5, 6, 7))
    once = 4 * 5 // 2 + 5 + 6 + 7
    assert len(cells) == again + once + 1  # and one in the legend


def test_too_many_words_do_not_fit_the_notepad():
    for prompt, reply in ((["a"] * 5, ["b"] * 4), (["a"], ["b"] * 5), ([], ["b"]), (["a"], [])):
        with pytest.raises(ValueError, match="do not fit the picture: give at least one of each"):
            plots.without_notepad(prompt, reply)


def test_a_prompt_that_the_model_cannot_take_is_not_drawn():
    with pytest.raises(ValueError, match="Llama-2-70B is shown from 512 to 4,096 tokens"):
        plots.flood_by_length(LLAMA, H100, tokens=20_000)


# --- measured here -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["notepad", "timings"])
def test_words_about_this_machine_stay_when_its_numbers_change(name, pictures):
    """So a rebuilt notebook differs in numbers only, and keeps what was stored."""
    slower = [t._replace(predicted=4 * t.predicted, measured=4 * t.measured) for t in TIMINGS]
    other = {
        "notepad": lambda: plots.notepad_measured(4 * KEPT, 4 * AGAIN),
        "timings": lambda: plots.predicted_and_measured(slower),
    }[name]()
    assert other.alt != pictures[name].alt
    assert _NUMBER.sub("#", other.alt) == _NUMBER.sub("#", pictures[name].alt)


def test_one_slow_token_changes_no_word():
    kept, again = np.full(24, 0.02), np.linspace(0.1, 0.4, 24)
    quiet = plots.notepad_measured(kept, again).alt
    kept[-1], again[5] = 0.9, 3.0
    assert plots.notepad_measured(kept, again).alt == quiet
    said = re.findall(r"[\d.,]+ ms", quiet)
    assert said == ["133 ms", "367 ms", "20.0 ms", "20.0 ms"]


def test_tokens_are_compared_with_the_same_tokens():
    alt = plots.notepad_measured([1, 1, 1, 1, 9, 9, 9, 9], [2, 2, 2, 3]).alt
    assert alt.startswith("Without a notepad, the last tokens take 3.0 times as long.")


def test_times_that_are_no_times_are_refused():
    with pytest.raises(ValueError, match="with_times"):
        plots.notepad_measured([0.1, -0.1], [0.1])
    with pytest.raises(ValueError, match="without_times"):
        plots.notepad_measured([0.1], [])
    with pytest.raises(ValueError, match="measured"):
        plots.predicted_and_measured([Timing("TTFT", 8, 1.0, 0.0)])
    with pytest.raises(ValueError, match="give 'TTFT' or 'TPOT'"):
        plots.predicted_and_measured([Timing("speed", 8, 1.0, 1.0)])
    with pytest.raises(ValueError, match="at least one Timing"):
        plots.predicted_and_measured([])


# --- the plane ---------------------------------------------------------------------------------


@pytest.mark.parametrize("guests", [1, 32])
def test_reading_and_writing_take_as_long_on_the_border(guests):
    prompts = np.array([200, 1000, 10_000, 100_000])
    replies = np.asarray(workloads._border(LONG, H100, 2, guests, prompts))
    for prompt, reply in zip(prompts, replies, strict=True):
        read = serving.ttft(LONG, H100, prompt, guests, chips=2)
        near = round(reply)
        each = serving.tpot(LONG, H100, prompt, max(near, 2), guests, chips=2)
        assert (reply - 1) * each == pytest.approx(read, rel=0.005)


def test_what_does_not_fit_the_plane_is_refused():
    with pytest.raises(ValueError, match="outside the picture: give a prompt of 100 to 131,072"):
        plots.workload_plane(workloads=[Workload("a word", 1, 20)])
    with pytest.raises(ValueError, match="0 workloads will not do"):
        plots.workload_plane(workloads=[])
