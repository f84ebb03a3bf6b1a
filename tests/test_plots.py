"""The pictures say true things, legibly, and are drawn the same on every machine."""

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image

import kitchenlib as kl
from kitchenlib.plots import explorer, figures, layer, ratio, style, welcome
from kitchenlib.plots.explorer import RooflineStage, Setting
from kitchenlib.plots.style import Picture

FIGURES = figures()
H100, LLAMA = kl.chip("H100 SXM"), kl.model("Llama-2-70B")

#: The same functions at other settings: what a reader or an explorer may ask for.
OTHERS: dict[str, Callable[[], Picture]] = {
    "one layer of 7B": lambda: ratio.one_layer(kl.model("Llama-2-7B")),
    "one layer of 8B": lambda: ratio.one_layer(kl.model("Llama-3.1-8B")),
    "8 guests": lambda: ratio.vector_or_matrix(LLAMA, guests=8),
    "int8 ridges": lambda: ratio.ridges("int8"),
    "roofline of an A100": lambda: ratio.roofline(kl.chip("A100 SXM 80GB"), 4, LLAMA),
    "taste of 512": lambda: welcome.taste(H100, LLAMA, 512),
    "whole map": lambda: welcome.collection_map([stop.notebook for stop in welcome.STOPS]),
    "nobody home": lambda: welcome.collection_map([]),
    "guests with 512": lambda: ratio.guests(H100, LLAMA, notes=512),
    **{
        " ".join(map(str, setting)): partial(ratio.roofline_explorer, setting)
        for setting in (
            Setting("Apple M2 Ultra", "Llama-3.1-8B", "prefill", 4, 2048, "Q4_K_M"),
            Setting("B200 SXM (HGX/DGX)", "DeepSeek-V3", "decode", 64, 32768, "fp8", "fp8"),
            Setting("Groq LPU (GroqChip v1)", "Llama-2-70B", "decode", 1024, 4096),
            Setting("TPU v6e (Trillium)", "gpt-oss-20b", "prefill", 1024, 131072, "mxfp4"),
            Setting("Typical laptop (13th-gen i7, 2ch DDR5-5600)", batch=1024, phase="prefill"),
        )
    },
}
DRAWN = {**FIGURES, **OTHERS}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


# --- legible -----------------------------------------------------------------------------------


def words(picture: Picture) -> Iterator[Text]:
    """Every text that is drawn."""
    unseen: set[Artist] = set()
    for ax in picture.axes:
        if not ax.axison:
            unseen |= {text for axis in (ax.xaxis, ax.yaxis) for text in axis_words(axis)}
    for text in picture.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen:
            yield text


def axis_words(axis: Axis) -> list[Artist]:
    return axis.findobj(Text)


def ink(picture: Picture, artist: Artist) -> np.ndarray:
    """Where one artist alone leaves a mark: a boolean array of pixels."""
    canvas = picture.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    renderer.clear()
    artist.draw(renderer)
    return np.asarray(renderer.buffer_rgba())[..., 3] > 40


def wider(mask: np.ndarray, by: int = 2) -> np.ndarray:
    """A mask with a rim of `by` pixels."""
    out = mask.copy()
    for axis in (0, 1):
        grown = out.copy()
        for shift in range(1, by + 1):
            grown |= np.roll(out, shift, axis) | np.roll(out, -shift, axis)
        out = grown
    return out


def collisions(picture: Picture) -> list[tuple[str, str]]:
    """Pairs of texts whose letters touch, and texts that a line or mark of the data crosses."""
    with style.style():
        picture.canvas.draw()
        taken = np.zeros(ink(picture, picture.patch).shape, dtype=int)
        found, seen = [], list(words(picture))
        for number, text in enumerate(seen, start=1):
            mask = wider(ink(picture, text))
            found += [
                (seen[other - 1].get_text(), text.get_text())
                for other in np.unique(taken[mask])
                if other
            ]
            taken[mask] = number
        for ax in picture.axes:
            for line in ax.lines:
                if line.get_linewidth() >= 1.3 or line.get_marker() not in (None, "None", ""):
                    crossed = np.unique(taken[ink(picture, line)])
                    found += [(seen[n - 1].get_text(), "a line of the data") for n in crossed if n]
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_no_word_touches_another_or_the_data(name, pictures):
    assert collisions(pictures[name]) == []


@pytest.mark.parametrize("name", DRAWN)
def test_every_word_stands_on_the_card(name, pictures):
    picture = pictures[name]
    with style.style():
        picture.canvas.draw()
        card = picture.bbox.padded(-0.1 * picture.dpi)
        outside = [
            text.get_text()
            for text in words(picture)
            if not all(card.contains(*corner) for corner in text.get_window_extent().corners())
        ]
    assert outside == []


@pytest.mark.parametrize("name", DRAWN)
def test_no_word_is_smaller_than_nine_points(name, pictures):
    sizes = {text.get_text(): float(text.get_fontsize()) for text in words(pictures[name])}
    assert {text for text, size in sizes.items() if size < style.SMALL} == set()


def test_the_check_sees_words_that_touch():
    picture = Picture(4, 2, alt="Two words on one spot.")
    style.write(picture, 1, 1, "one")
    style.write(picture, 1.1, 1, "two")
    assert collisions(picture) == [("one", "two")]


def test_the_check_sees_a_line_through_a_word():
    picture = Picture(4, 2, alt="A line through a word.")
    ax = style.canvas(picture)
    style.write(ax, 1, 1, "word")
    ax.plot([0, 4], [1.05, 1.05])
    assert collisions(picture) == [("word", "a line of the data")]


def contrast(one: str, other: str) -> float:
    """Ratio of luminances as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        rgb = np.array(mpl.colors.to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722))

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


#: The film has dark screens; its words are held against them in test_flood.
ON_PAPER = [name for name in DRAWN if not name.startswith("flood-and-drip")]


@pytest.mark.parametrize("name", ON_PAPER)
def test_every_word_is_dark_enough_to_read(name, pictures):
    pale = {
        (text.get_text(), text.get_color())
        for text in words(pictures[name])
        if contrast(str(text.get_color()), style.PAPER) < 4.5
    }
    assert pale == set()


def legible(name, pictures):
    """What every picture promises at any setting, for the modules that try others."""
    test_no_word_touches_another_or_the_data(name, pictures)
    test_every_word_stands_on_the_card(name, pictures)
    test_no_word_is_smaller_than_nine_points(name, pictures)
    test_every_word_is_dark_enough_to_read(name, pictures)
    test_the_words_of_a_picture_begin_with_its_claim(name, pictures)


# --- the same everywhere -----------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_two_builds_are_the_same_to_the_byte(name, pictures):
    assert FIGURES[name]().svg() == pictures[name].svg()


@pytest.mark.parametrize("name", FIGURES)
def test_files_stay_small(name):
    """Those of today: see test_pipeline_figures."""
    files = Path(__file__).parents[1] / "figures"
    assert (files / f"{name}.svg").stat().st_size < 250_000
    assert (files / f"{name}.png").stat().st_size < 100_000


def test_a_picture_names_neither_its_program_nor_its_date(pictures):
    svg = pictures["kitchen"].svg()
    assert "atplotlib" not in svg
    assert not re.search(r"dc:(date|creator)", svg)
    assert "Software" not in Image.open(io.BytesIO(pictures["kitchen"].png())).info


def test_the_readers_settings_change_no_picture_and_are_left_alone():
    before = ratio.roofline(H100, 3).svg()
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30, "svg.fonttype": "none"}):
        settings = dict(mpl.rcParams)
        assert ratio.roofline(H100, 3).svg() == before
        assert dict(mpl.rcParams) == settings


def test_the_library_loads_no_matplotlib_and_the_pictures_no_pyplot():
    code = (
        "import sys, kitchenlib as kl\n"
        "assert not {'matplotlib', 'ipywidgets'} & set(sys.modules)\n"
        "kl.plots.figures()['ridges']().svg()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- for every reader --------------------------------------------------------------------------


class _Images(HTMLParser):
    """Collects tags, alt texts and all text of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.alts: list[str | None] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.alts.append(dict(attrs).get("alt"))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", FIGURES)
def test_the_words_of_a_picture_reach_the_reader_three_ways(name, pictures):
    picture = pictures[name]
    bundle = picture._repr_mimebundle_()
    page = _Images(bundle["text/html"])
    assert bundle["text/plain"] == picture.alt
    assert page.alts == [picture.alt]
    assert picture.alt in page.text
    assert not {"script", "style"} & set(page.tags)


@pytest.mark.parametrize("name", DRAWN)
def test_the_words_of_a_picture_begin_with_its_claim(name, pictures):
    pictures[name].canvas.draw()
    title = max(words(pictures[name]), key=lambda text: text.get_window_extent().y1)
    claim = " ".join(title.get_text().split())
    assert title.get_fontsize() == style.TITLE
    assert pictures[name].alt.startswith(claim)


def test_a_picture_without_words_is_refused():
    with pytest.raises(ValueError, match="say what the picture shows"):
        Picture(4, 2, alt=" ")


def test_an_alt_text_cannot_break_out_of_the_page():
    html = style.card('1 < 2 & "quoted"', "image/png", b"", 100)
    assert _Images(html).alts == ['1 < 2 & "quoted"']


def test_a_saved_picture_is_three_files(tmp_path, pictures):
    pictures["map"].save(tmp_path, "map")
    assert tmp_path.joinpath("map.txt").read_text(encoding="utf-8") == pictures["map"].alt + "\n"
    assert tmp_path.joinpath("map.svg").read_text(encoding="utf-8") == pictures["map"].svg()
    assert tmp_path.joinpath("map.png").read_bytes() == pictures["map"].png()


# --- what they claim ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("kitchen", "Whatever the chef cuts, the waiter must first carry"),
        ("kitchen", "138 kg, 138 GB; Notepad (KV cache): 0.33 g, 328 kB a token"),
        ("kitchen", "3,350 kg/s, 3.35 TB/s; Chef (compute cores): 989 trillion"),
        ("one-layer", "One layer is seven matrices: 1.71 kg of the 138 kg sack"),
        ("one-layer", "K 8,192 by 1,024, 16.8 MB"),
        ("one-layer", "80 such layers weigh 137 GB"),
        ("one-layer", "K and V, 16.8 MB each, are narrow on purpose"),
        ("vector-or-matrix", "One guest, vector times matrix: 134 MB carried, 134 MFLOP cut"),
        ("vector-or-matrix", "matrix times matrix: 134 MB carried, 4.29 GFLOP cut, 32 FLOP/byte"),
        ("roofline-3-ridge", "equally busy at 295 cuts per crumb"),
        ("roofline-4-work", "one guest keeps the chef 0.3% busy, 512 tokens 99.8%"),
        ("ridges", "ridges run from 2 to 560"),
        ("ridges", "H100 SXM 295"),
        ("ridges-by-format", "the ridge doubles, on 19 of 25 chips"),
        ("law-against-layer", "Llama-2-70B: 128 tokens take 1.03 times the time of one"),
        (
            "law-against-layer",
            "1.1–1.2× up to 128 tokens, 1.4× at 256, 1.3–1.6× beyond. Llama-2-7B",
        ),
        ("law-against-layer", "Llama-2-7B: 128 tokens take 1.15 times the time of one"),
        ("law-against-layer", "1.2–1.5× up to 128 tokens, 2.2× at 256, 1.3–1.6× beyond."),
        ("law-against-layer", "reaches 80.3% of the peak"),
        ("guests", "295 guests share one sack"),
        ("guests", "cuts per crumb end at 110"),
        ("guests", "The sack alone: 41.0 ms for 1, 41.1 ms for 295, 569 ms for 4,096"),
        ("taste-1-guest", "1 guest, one trip: the chef is busy 0.3% of the time"),
        ("taste-1-guest", "a token every 41 ms"),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


def test_all_chips_have_a_ridge_in_the_picture_once(pictures):
    listed = pictures["ridges"].alt.split("log scale: ")[1]
    ridges_shown = re.findall(r" (\d+)(?=[,.](?: |$))", listed)
    assert sorted(map(int, ridges_shown)) == sorted(round(c.ridge()) for c in kl.chips())


def test_unverified_chips_are_marked_where_their_ridge_is_shown(pictures):
    marks = [
        line.get_fillstyle()
        for ax in pictures["ridges"].axes[:3]
        for line in ax.lines
        if line.get_marker() == "o"
    ]
    verified = [chip.verified for chip in kl.chips()]
    assert marks.count("full") == sum(verified)
    assert marks.count("left") + marks.count("none") == verified.count(False)


def test_areas_of_the_matrices_are_their_weights(pictures):
    boxes = [
        (patch.get_width(), patch.get_height())
        for patch in pictures["one-layer"].axes[0].patches + pictures["one-layer"].axes[0].artists
        if hasattr(patch, "get_width")
    ]
    areas = sorted(w * h for w, h in boxes if w * h > 0.1 and (w, h) != (0.82, 1.2))[-7:]
    weights = sorted(rows * columns for _, rows, columns in kl.layer_matrices(LLAMA))
    assert np.allclose(np.divide(areas, areas[-1]), np.divide(weights, weights[-1]))


def test_the_map_marks_what_is_in_preparation():
    assert welcome.collection_map(["00_welcome"]).alt.count("(in preparation)") == 5
    with pytest.raises(ValueError, match="not on the map: 99_nowhere"):
        welcome.collection_map(["99_nowhere"])


def test_the_map_knows_which_notebooks_there_are(pictures):
    sources = Path(__file__).parents[1] / "notebooks" / "source"
    for stop in welcome.STOPS:
        written = sources.joinpath(f"{stop.notebook}.py").exists()
        asked = f"{stop.title}: {' '.join(stop.question.split())} (in preparation)"
        assert (asked not in pictures["map"].alt) == written


def test_the_roofline_is_built_in_four_steps_only():
    with pytest.raises(ValueError, match="give 1, 2, 3 or 4"):
        ratio.roofline(H100, 5)
    with pytest.raises(ValueError, match="say whose"):
        ratio.roofline(H100, 4)


def test_a_layer_of_experts_is_not_drawn_as_plain_matrices():
    with pytest.raises(ValueError, match="plain matrices"):
        layer.one_layer(kl.model("Mixtral-8x7B-v0.1"))


def test_an_unknown_phase_is_refused():
    with pytest.raises(kl.UnknownName, match="no phase is called 'dessert'"):
        Setting(phase="dessert").work()


def test_percentages_keep_what_matters():
    shares = (0.00338, 0.0271, 0.105, 0.998, 0.99969, 1.0, 1.62, 21.07)
    shown = [style.percent(share) for share in shares]
    assert shown == ["0.3%", "2.7%", "10%", "99.8%", "100%", "100%", "162%", "2,107%"]


# --- moving ------------------------------------------------------------------------------------


def test_a_moved_stage_looks_as_if_it_had_started_there():
    end = Setting("Apple M2 Ultra", phase="prefill", batch=8, tokens=2048, weights="fp8")
    moved, fresh = RooflineStage(), RooflineStage()
    for setting in (Setting(), Setting(batch=1024), end):
        moved.show(setting)
        moved.frame()
    fresh.show(end)
    assert moved.frame() == fresh.frame()
    assert moved.picture.svg() == explorer.roofline_explorer(end).svg()


def frame_is_whole(stage):
    """What moves is drawn again, and nothing else is missing: all of it drawn anew is the same."""
    frame = np.asarray(Image.open(io.BytesIO(stage.frame())))
    canvas = stage.picture.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    with style.style():
        canvas.draw()
    assert np.array_equal(frame, np.asarray(canvas.buffer_rgba()))


def stands_free(stage):
    """No word touches another, and none leaves the card."""
    assert collisions(stage.picture) == []
    with style.style():
        card = stage.picture.bbox.padded(-0.1 * stage.picture.dpi)
        for text in words(stage.picture):
            assert all(card.contains(*corner) for corner in text.get_window_extent().corners())


def test_a_frame_is_the_whole_picture():
    stage = welcome.Taste(H100, LLAMA)
    stage.serve(32)
    frame_is_whole(stage)


def test_a_pass_that_does_not_fit_says_so():
    assert "do not fit into 85.5 GB" in Setting().facts()["in memory"]
    assert "fit into 206 GB" in Setting("Apple M2 Ultra").facts()["in memory"]


@pytest.mark.parametrize("phase", explorer.PHASES)
def test_every_chip_and_every_model_can_be_explored(phase):
    stage = RooflineStage()
    for chip in kl.chips():
        stage.show(Setting(chip=chip.name, phase=phase))
    for model in kl.models():
        stage.show(Setting(model=model.name, phase=phase, batch=1024, tokens=131072))
    for form in kl.formats():
        stage.show(Setting(weights=form.name, phase=phase))
    assert stage.picture.alt


def test_a_state_takes_room_beside_the_notes():
    """Mamba2-2.7B has no notes; each guest has a state, however long the conversation."""
    small, long = (Setting(model="Mamba2-2.7B", batch=32, tokens=n) for n in (512, 131_072))
    assert small.memory == long.memory
    assert small.memory[1] == 32 * kl.model("Mamba2-2.7B").state_bytes()
