"""Pictures as rows, senses in tokens, notepad diets: the pictures say what the law says."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib.llm.reading import market_day
from kitchenlib.miniatures.patches import cut, lost, word_rows
from kitchenlib.plots import style
from kitchenlib.plots.diets import CONTEXT, diet, notepad_diets, notes_per_guest
from kitchenlib.plots.kitchen import kitchen
from kitchenlib.plots.senses import page_tokens, senses_in_tokens
from kitchenlib.plots.sight import chef_pixels, page_pixels, picture_as_rows, pixels
from kitchenlib.plots.style import Picture
from tests import test_plots as every_picture
from tests.llm_models import real_smol

LLAMA, GEMMA = kl.model("Llama-3.1-70B"), kl.model("Gemma-3-27B (text)")
NOISE = np.random.default_rng(0).integers(0, 256, (128, 128, 3)).astype(np.uint8)

FIGURES: dict[str, Callable[[], Picture]] = {
    "picture-as-rows": picture_as_rows,
    "senses-in-tokens": senses_in_tokens,
    "notepad-diets": notepad_diets,
}
OTHERS: dict[str, Callable[[], Picture]] = {
    "a larger chef": lambda: picture_as_rows(chef_pixels(224)),
    "noise in small patches": lambda: picture_as_rows(NOISE, side=8, ranks=(2, 32, 128)),
    "two patches a side": lambda: picture_as_rows(chef_pixels(28), ranks=(1, 2, 3)),
    "one long word": lambda: picture_as_rows(words={"incomprehensibility": np.ones(96)}),
    "a served 70B": lambda: senses_in_tokens(
        LLAMA,
        kl.chip("B200 SXM (HGX/DGX)"),
        kl.sheet_price(provider="mistral", model="pixtral-large-latest"),
        picture=(4000, 3000),
        words=250,
    ),
    "an upright thumbnail": lambda: senses_in_tokens(picture=(90, 160)),
    "one family": lambda: senses_in_tokens(families=("LLaVA-1.5",)),
    "diets of a million": lambda: notepad_diets(
        ("Llama-3.1-8B", "Llama-4-Scout-17B-16E (text)", "Jamba-v0.1"), context=1_048_576
    ),
    "diets of 8k": lambda: notepad_diets(
        ("Llama-3.1-70B", "Gemma-2-9B", "Mistral-7B-v0.1", "DeepSeek-V3", "Nemotron-H-8B"),
        context=8192,
        chip=kl.chip("L40S"),
        guests=1024,
    ),
    "a state": lambda: notepad_diets(("Llama-3.1-8B", "Mamba2-2.7B"), context=1024, guests=2),
}
DRAWN = {**FIGURES, **OTHERS}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", OTHERS)
def test_a_picture_is_legible_at_another_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("picture-as-rows", "64 patches of a picture are 64 rows of 576 numbers: for the language"),
        ("picture-as-rows", "112 by 112 pixels, cut into 64 patches of 588 numbers"),
        ("picture-as-rows", "the words What, is, in, this, picture, ?."),
        ("picture-as-rows", "All 576 numbers give the picture back to the last pixel"),
        ("picture-as-rows", "1 direction, 73% lost; 4 directions, 45% lost; 16 directions, 15%"),
        ("noise in small patches", "256 patches of a picture are 256 rows of 576 numbers"),
        ("one long word", "64 rows of 96 numbers"),
        (
            "senses-in-tokens",
            "A picture costs 256 to 2,340 tokens, not one: as much as 0.40 to 3.7",
        ),
        ("senses-in-tokens", "LLaVA-1.5: 576 tokens, 75.5 MB of notes, first token after 8.53 ms"),
        ("senses-in-tokens", "its encoder before that 385 µs"),
        ("senses-in-tokens", "Gemma-3: 256 tokens, 33.6 MB of notes, first token after 4.50 ms at"),
        ("senses-in-tokens", "its encoder before that 5.51 ms, $0.064 a thousand"),
        ("senses-in-tokens", "30 s of sound, rows of Whisper, not joined: 1,500."),
        ("senses-in-tokens", "LLaVA-1.6: 2,340 tokens, 307 MB of notes, first token after 34.8 ms"),
        ("senses-in-tokens", "Qwen2-VL: 999 tokens, 131 MB of notes, first token after 14.7 ms at"),
        ("a served 70B", "A picture costs 256 to 15,301 tokens"),
        ("senses-in-tokens", "30 s of sound, Voxtral: 375 tokens"),
        ("senses-in-tokens", "500 words of text: 633 tokens, 83.0 MB of notes"),
        ("senses-in-tokens", "LLaVA-1.5 336 pixels, Gemma-3 896 pixels, Qwen2-VL 1752 pixels"),
        ("one family", "A picture costs 576 tokens, not one: as much as 0.91 pages of text"),
        (
            "notepad-diets",
            "Shared heads leave a guest 42.9 GB at 131,072 tokens, not 344 GB; other",
        ),
        ("notepad-diets", "other diets leave 13 to 34% of that in each layer"),
        ("notepad-diets", "window 1,024 (Gemma-3-27B): 11.2 GB a guest, one token more adds 81.9"),
        ("notepad-diets", "adds 81.9 kB, in 10 of 62 layers; 1.37 kB a token and layer"),
        ("notepad-diets", "MLA (DeepSeek-V3): 9.21 GB a guest, one token more adds 70.3 kB"),
        ("notepad-diets", "notes take 24% of a step alone, 91% in company"),
        ("diets of 8k", "window 4,096 (Mistral-7B-v0.1): 537 MB a guest, one token more adds 0 B"),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


# --- pixels ------------------------------------------------------------------------------------


def test_a_picture_becomes_pixels_and_keeps_its_own_resolution():
    drawn = kitchen(kl.chip("H100 SXM"), kl.model("Llama-2-70B"))
    before = drawn.png()
    small = pixels(drawn, 300)
    assert small.shape == (191, 300, 3)
    assert small.dtype == np.uint8
    assert drawn.png() == before


def test_the_chef_has_as_many_pixels_as_asked_and_no_two_builds_differ():
    assert chef_pixels(56).shape == (56, 56, 3)
    assert np.array_equal(chef_pixels(), chef_pixels())
    assert chef_pixels().shape == (112, 112, 3)


def test_a_page_has_black_letters_on_white_and_ends_before_its_margin():
    page = page_pixels(620)
    assert page.shape == (876, 620, 3)
    dark = np.asarray(page.max(axis=2) < 100)
    assert 0.002 < dark.mean() < 0.2
    assert not dark[:, :70].any()
    assert not dark[:, -70:].any()


# --- rows --------------------------------------------------------------------------------------


def test_the_strips_are_the_words_own_rows_lightest_where_they_are_highest(pictures):
    strips = [
        np.asarray(ax.images[0].get_array())[0]
        for ax in pictures["picture-as-rows"].axes
        if ax.images and ax.images[0].get_array().ndim == 2
    ]
    assert len(strips) == 8 + len(word_rows())
    for strip, row in zip(strips[8:], word_rows().values(), strict=True):
        order = np.argsort(row[::6], kind="stable")
        assert (np.diff(strip[order]) >= 0).all()


def test_what_is_lost_is_that_of_the_picture_that_is_drawn(pictures):
    shown = re.findall(r"(\d+) directions?, ([\d.]+)% lost", pictures["picture-as-rows"].alt)
    gone = lost(cut(chef_pixels()), [int(rank) for rank, _ in shown])
    assert [float(share) for _, share in shown] == pytest.approx(100 * gone, abs=0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"picture": chef_pixels(30)}, "must be multiples of side = 14"),
        ({"picture": chef_pixels(14 * 17)}, "2 to 16 patches a side"),
        ({"picture": chef_pixels()[:56]}, "a square"),
        ({"picture": chef_pixels() / 255}, "pixels from 0 to 255"),
        ({"words": {}}, "one to 8 words"),
        ({"words": {"a": [1.0], "b": [1.0, 2.0]}}, "all of one length"),
        ({"ranks": (1, 2)}, "3 different numbers"),
        ({"ranks": (1, 2, 64)}, "at most 63"),
    ],
)
def test_another_picture_or_other_words_are_refused_in_words(change, message):
    with pytest.raises(ValueError, match=rf"(?s){message}"):
        picture_as_rows(**change)


@pytest.mark.parametrize(
    ("name", "fewer"),
    [
        ("picture-as-rows", "576 numbers are fewer than 588"),
        ("one long word", "96 numbers are fewer than 588"),
        ("noise in small patches", ""),
    ],
)
def test_the_foot_owns_that_another_picture_would_lose_where_rows_are_shorter(
    name, fewer, pictures
):
    foot = " ".join(pictures[name].texts[-1].get_text().split())
    assert "The matrix is made for this picture" in foot
    assert fewer in foot
    assert ("A fixed one" in foot) == bool(fewer)


# --- tokens ------------------------------------------------------------------------------------


def test_a_page_has_the_tokens_that_the_real_tokenizer_counts():
    smol, story = real_smol(), market_day()
    each = len(smol.tokenize(story)) / len(story.split())
    assert page_tokens(500) == round(500 * each) == 633


def test_the_lines_are_the_tokens_of_the_law_at_one_shape(pictures):
    lines = pictures["senses-in-tokens"].axes[0].lines
    for family, line in zip(kl.senses.SIGHTS, lines, strict=False):
        for side, tokens in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert tokens == kl.senses.image_tokens(family, round(side), round(side * 3 / 4))


def test_a_seconds_and_a_price_are_those_of_so_many_tokens_of_text(pictures):
    row = re.search(r"Qwen2-VL: (\d+) tokens.*?after ([\d.]+) ms.*?\$([\d.]+) a", said(pictures))
    assert row
    tokens, ms, price = map(float, row.groups())
    seconds = kl.ttft(kl.model("Llama-3.1-8B"), kl.chip("H100 SXM"), int(tokens))
    sheet = kl.sheet_price(provider="openai", model="gpt-5-mini")
    assert ms == pytest.approx(1e3 * seconds, rel=0.005)
    assert price == pytest.approx(1000 * float(sheet.price.request(int(tokens), 0)), rel=0.02)


def test_rows_of_whisper_have_no_price_for_no_language_model_reads_them_so(pictures):
    drawn = pictures["senses-in-tokens"]
    chart, table = drawn.axes[0], drawn.axes[-1]
    assert "rows of Whisper, not joined: 1,500" in [text.get_text() for text in chart.texts]
    assert not [text for text in table.texts if "Whisper" in text.get_text()]
    assert "Voxtral joins 4 to a token" in drawn.texts[-1].get_text()
    assert "Providers charge pictures by their own rules" in " ".join(
        drawn.texts[-1].get_text().split()
    )


def test_a_family_that_keeps_the_size_sees_all_of_the_page(pictures):
    high, wide, _ = page_pixels().shape
    assert kl.senses.image_tokens("Qwen2-VL", wide, high) == round(wide / 28) * round(high / 28)
    assert f"Qwen2-VL {high} pixels" in said(pictures)


def said(pictures):
    return pictures["senses-in-tokens"].alt


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"families": ()}, ValueError, "one to 5 names"),
        ({"families": "Qwen2-VL"}, ValueError, "one to 5 names"),
        ({"families": ("GPT-2",)}, kl.UnknownName, "family of models that see"),
        ({"picture": 336}, ValueError, "width and height"),
        ({"picture": (336, 0)}, ValueError, "height .* pixels"),
        ({"words": 0}, ValueError, "words"),
        ({"model": "Llama-3.1-8B"}, ValueError, "give a Model"),
        ({"sheet": 0.28}, ValueError, "give a SheetPrice"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(change: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        senses_in_tokens(**change)


# --- diets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("Llama-2-7B", "MHA"),
        ("Llama-3.1-70B", "GQA"),
        ("Falcon-7B", "GQA"),
        ("Gemma-3-27B (text)", "window 1,024"),
        ("gpt-oss-120b", "window 128"),
        ("Mistral-7B-v0.1", "window 4,096"),
        ("DeepSeek-V3", "MLA"),
        ("Jamba-v0.1", "hybrid"),
        ("Nemotron-H-8B", "hybrid"),
        ("Mamba-2.8B", "state"),
    ],
)
def test_a_diet_has_a_name(model, kind):
    assert diet(kl.model(model)) == kind


def test_gemmas_window_is_a_diet_for_long_contexts_only():
    """52 of 62 layers stop at 1,024 tokens; before that its notes are thicker than a 70B's."""
    assert notes_per_guest(GEMMA, 1024) == 1024 * 507_904
    assert notes_per_guest(GEMMA, 1024) > notes_per_guest(LLAMA, 1024)
    assert notes_per_guest(GEMMA, CONTEXT) == (52 * 1024 + 10 * CONTEXT) * 8192
    assert notes_per_guest(GEMMA, CONTEXT) < 0.3 * notes_per_guest(LLAMA, CONTEXT)


def test_a_state_counts_as_notes_do():
    mamba = kl.model("Mamba2-2.7B")
    assert notes_per_guest(mamba, 1) == notes_per_guest(mamba, CONTEXT) == mamba.state_bytes()


def test_the_lines_are_notes_by_the_law(pictures):
    lines = pictures["notepad-diets"].axes[0].lines
    for line, name in zip(lines[1:], ("Llama-3.1-70B", "Gemma-3-27B (text)"), strict=False):
        tokens = np.asarray(line.get_xdata())
        assert np.allclose(line.get_ydata(), kl.model(name).kv_bytes(tokens))
    assert np.allclose(lines[0].get_ydata(), 8 * np.asarray(lines[1].get_ydata()))


def test_the_share_of_a_step_is_its_time_with_notes_less_its_time_without(pictures):
    h100 = kl.chip("H100 SXM")
    step = kl.decode_step(LLAMA, CONTEXT, 32).times(h100)
    share = step["attention"] / sum(step.values())
    assert f"alone, {style.percent(float(share))} in company" in pictures["notepad-diets"].alt


def test_a_model_that_was_not_made_for_the_context_is_marked(pictures):
    assert "Llama-3.1-8B * " not in pictures["notepad-diets"].alt
    assert "GQA (Llama-3.1-8B *)" in pictures["diets of a million"].alt
    assert "Llama-4-Scout-17B-16E)" in pictures["diets of a million"].alt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ("Llama-3.1-8B",)}, "2 to 6 models"),
        ({"models": "Llama-3.1-8B"}, "2 to 6 models"),
        ({"models": ("Gemma-3-27B (text)", "DeepSeek-V3")}, r"has no window \(GQA\)"),
        ({"models": ("Llama-2-7B", "DeepSeek-V3")}, "the first one shares heads"),
        ({"context": 512}, "from 1024"),
        ({"guests": 1}, "from 2"),
        ({"chip": "H100"}, "give a Chip"),
    ],
)
def test_other_diets_are_refused_in_words(change, message):
    with pytest.raises(ValueError, match=message):
        notepad_diets(**change)
