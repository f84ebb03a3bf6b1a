"""The built notebooks say what their sources say, and hold nothing that a build would not make."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tools import notebooks, rules, sources

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
PRODUCTS = sources.products(FOLDER)
STORED = sorted([*FOLDER.glob("*.ipynb"), *FOLDER.glob("solutions/*.ipynb")])
REBUILD = "run `make notebooks` and commit what it changes"
STUDIED = "save a copy of it elsewhere, then `make notebooks ARGS=--overwrite`; or `git stash`"
_SVG = re.compile(r'src=\\?"data:image/svg\+xml;base64,([^"\\]+)')

each_product = pytest.mark.parametrize(
    "path", PRODUCTS, ids=lambda path: str(path.relative_to(FOLDER))
)
each_source = pytest.mark.parametrize("source", sources.sources(FOLDER), ids=lambda path: path.stem)


def stored(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def advice(path: Path) -> str:
    """What to do about a notebook that is not what a build would make."""
    return "\n".join([*found, STUDIED]) if (found := notebooks.studied(path)) else REBUILD


def test_every_source_is_built_and_every_notebook_has_a_source():
    missing, orphaned = set(PRODUCTS) - set(STORED), set(STORED) - set(PRODUCTS)
    assert not missing, f"not built: {names(missing)}; {REBUILD}"
    assert not orphaned, f"no source for {names(orphaned)}: delete them, or write their sources"


def names(paths: set[Path]) -> str:
    return ", ".join(sorted(str(path.relative_to(FOLDER)) for path in paths))


@each_product
def test_a_built_notebook_matches_its_source(path):
    built = [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in PRODUCTS[path].cells]
    found = [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in stored(path).cells]
    assert found == built, f"{path.name} is not what its source says; {advice(path)}"


@each_product
def test_stored_outputs_are_normalised(path):
    notebook = stored(path)
    assert notebooks.faults(notebook) == []
    notebooks.normalise(notebook)
    assert notebooks.serialised(notebook) == path.read_text(encoding="utf-8"), advice(path)


def test_a_reader_who_studied_is_told_to_save_a_copy_and_not_to_commit(tmp_path):
    untouched, path = FOLDER / "00_welcome.ipynb", tmp_path / "00_welcome.ipynb"
    notebook = stored(untouched)
    notebook.cells[0].source += " My note."
    notebooks.write(notebook, path)
    assert advice(untouched) == REBUILD
    assert "You studied in" in advice(path)
    assert advice(path).endswith(STUDIED)


#: Drawn from what the notebook noted on its way: nbval draws it again and compares.
NOTED = {"plots.thesis(ledger)"}


@each_product
def test_every_picture_in_a_notebook_is_one_of_the_figures(path):
    """But for those of timing cells: they show what was measured when the notebook was built."""
    drawn = {file.read_bytes() for file in (ROOT / "figures").iterdir()}
    for number, cell in enumerate(stored(path).cells, start=1):
        own = sources.IGNORE_OUTPUT in cell.metadata.get("tags", ()) or cell.source in NOTED
        for picture in () if own else pictures(cell):
            assert picture in drawn, (
                f"{path.name}, cell {number} shows a picture that is not in figures/; "
                "run `make figures notebooks`"
            )


def pictures(cell: NotebookNode) -> list[bytes]:
    """Every picture in the outputs: inside HTML, and beside it."""
    found = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        found += [*_SVG.findall(data.get("text/html", "")), data.get("image/png", "")]
    return [base64.b64decode(picture) for picture in found if picture]


@each_source
def test_a_source_keeps_the_house_rules(source):
    found = rules.faults(sources.read(source))
    assert not found, "\n" + "\n".join(found)


def test_the_collection_opens_with_the_welcome():
    """`make lab` opens it."""
    assert FOLDER / "00_welcome.ipynb" in PRODUCTS
