"""figures/ holds every figure as the plot functions draw it today."""

import re
from pathlib import Path

import pytest
from matplotlib.testing.compare import compare_images

from kitchenlib import plots
from tools import figures

FOLDER = figures.FOLDER
REDRAW = "run `make figures` and commit what it changes"
FIGURES = plots.figures()
_ID = re.compile(r"(?<=[\"#])\w+[0-9a-f]{10}(?=[\")])")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every figure, drawn now."""
    folder = tmp_path_factory.mktemp("figures")
    figures.build(folder)
    return folder


def test_every_figure_is_drawn_and_every_file_has_a_figure():
    wanted = {f"{name}{suffix}" for name in FIGURES for suffix in figures.SUFFIXES}
    found = {file.name for file in FOLDER.iterdir() if file.suffix in figures.SUFFIXES}
    assert found == wanted, f"missing or orphaned; {REDRAW}"


@pytest.mark.parametrize("name", FIGURES)
def test_the_alt_text_of_a_figure_is_todays(name, drawn):
    assert (FOLDER / f"{name}.txt").read_bytes() == (drawn / f"{name}.txt").read_bytes(), REDRAW


@pytest.mark.parametrize("name", FIGURES)
def test_the_svg_of_a_figure_is_todays(name, drawn):
    """But for the last digits of coordinates, which another processor rounds another way."""
    committed, today = (svg(folder / f"{name}.svg") for folder in (FOLDER, drawn))
    assert _NUMBER.sub("#", committed) == _NUMBER.sub("#", today), REDRAW
    assert numbers(committed) == pytest.approx(numbers(today), abs=0.01, rel=1e-6), REDRAW


def svg(path: Path) -> str:
    """An SVG file without its ids: they are digests of the coordinates."""
    return _ID.sub("id", path.read_text(encoding="utf-8"))


def numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


@pytest.mark.parametrize("name", FIGURES)
def test_the_png_of_a_figure_is_todays(name, drawn):
    committed, today = (str(folder / f"{name}.png") for folder in (FOLDER, drawn))
    assert compare_images(committed, today, tol=1) is None, REDRAW


def test_a_figure_is_drawn_the_same_twice(drawn, tmp_path):
    name, draw = next(iter(FIGURES.items()))
    draw().save(tmp_path, name)
    for suffix in figures.SUFFIXES:
        file = f"{name}{suffix}"
        assert (tmp_path / file).read_bytes() == (drawn / file).read_bytes()


def test_a_build_removes_the_files_of_figures_that_are_no_more(tmp_path, monkeypatch):
    (tmp_path / "old.svg").write_text("<svg/>")
    monkeypatch.setattr(plots, "figures", dict)
    figures.build(tmp_path)
    assert list(tmp_path.iterdir()) == []
