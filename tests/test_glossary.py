"""One glossary: every term that a notebook uses is linked where it first appears."""

import re
from pathlib import Path

import pytest

from tools import sources

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
TERMS = sources.glossary_terms(NOTEBOOKS)
# Everyday words and the headings of sections: linked where it helps, not wherever they stand.
EVERYDAY = {
    "the kitchen", "words and numbers that go in", "work and speed", "serving a model", "chips",
    "modern systems",
    "batch", "byte", "context", "layer", "prompt", "weight", "cut", "peak",
}  # fmt: skip
_CODE = re.compile(r"`[^`]*`|(?<!\\)\$[^$]*(?<!\\)\$")  # `\$2.95` is a price, no mathematics
_LINK = re.compile(r"\[([^\[\]]+)\](?:\[([^\[\]]+)\]|\([^)]*\))?")
PAGES = [p for p in sources.sources(NOTEBOOKS) if p.stem != sources.GLOSSARY]


def prose_of(page: Path) -> str:
    """All Markdown of a source in one text, without code and headings."""
    cells = [cell.text for cell in sources.read(page) if cell.type == "markdown"]
    lines = [line for text in cells for line in text.splitlines() if not line.startswith("#")]
    return _CODE.sub("", "\n".join(lines))


def linked_terms(text: str) -> dict[str, int]:
    """Term -> where it is first linked."""
    found: dict[str, int] = {}
    for link in _LINK.finditer(text):
        found.setdefault((link[2] or link[1]).lower(), link.start())
    return found


def unlinked(text: str) -> list[str]:
    """Terms of the glossary that stand in `text` before they are linked, or without a link."""
    links = linked_terms(text)
    late = []
    for term in TERMS:
        used = re.search(rf"(?<![\w-]){re.escape(term)}s?(?![\w-])", text, re.IGNORECASE)
        if used and term.lower() not in EVERYDAY and used.start() < links.get(term.lower(), 10**9):
            late.append(term)
    return late


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_term_is_linked_where_it_first_appears(page: Path) -> None:
    assert unlinked(prose_of(page)) == []


@pytest.mark.parametrize("page", sources.sources(NOTEBOOKS), ids=lambda page: page.stem)
def test_no_two_prices_in_one_run_of_text_become_mathematics(page: Path) -> None:
    """JupyterLab typesets what stands between two dollar signs, escaped or not."""
    cells = [cell.text for cell in sources.read(page) if cell.type == "markdown"]
    runs = [
        run for text in cells for run in re.split(r"\n\s*\n|\n(?=[-*|]|\d+\. )|[*`\[\]()]", text)
    ]
    assert [run for run in runs if run.count("$") > 1 and "\\$" in run] == []


def test_a_term_without_a_link_is_found() -> None:
    assert unlinked("The roofline is a picture.") == ["Roofline"]
    assert unlinked("The [roofline] is a picture, the roofline of a chip.") == []
    assert unlinked("The roofline comes first, the [roofline] later.") == ["Roofline"]
    assert unlinked(_CODE.sub("", r"Between \$2 the [roofline] and \$3: a roofline.")) == []
