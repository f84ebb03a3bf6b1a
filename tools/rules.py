"""The house rules that a source has to keep: headings, length of cells, words."""

import re
from collections.abc import Iterable, Iterator

from tools.markdown import headings
from tools.sources import Cell

MOST_CODE_LINES = 20
_WORDS = re.compile(r"\b(?:simply|obviously|trivially|of\s+course)\b", re.IGNORECASE)


def faults(cells: Iterable[Cell]) -> list[str]:
    """Every broken rule, with its cell."""
    cells = list(cells)
    return [*heading_faults(cells), *code_faults(cells), *word_faults(cells)]


def heading_faults(cells: Iterable[Cell]) -> Iterator[str]:
    """One title, and no level skipped: a screen reader walks through a page by its headings."""
    before = 0
    for cell in cells:
        for level, words in headings(cell.text) if cell.type == "markdown" else ():
            if before == 0 and level != 1:
                yield f"{cell}: the first heading has to be the title (#)"
            elif before and level == 1:
                yield f"{cell}: a second title: {words!r}"
            elif level > before + 1:
                yield f"{cell}: {words!r} skips a level: {'#' * before} before {'#' * level}"
            before = level
    if not before:
        yield "there is no title (#)"


def code_faults(cells: Iterable[Cell]) -> Iterator[str]:
    """A cell is read in one look."""
    for cell in cells:
        lines = sum(bool(line.strip()) for line in cell.text.splitlines())
        if cell.type == "code" and lines > MOST_CODE_LINES:
            yield f"{cell}: {lines} lines of code; {MOST_CODE_LINES} at most"


def word_faults(cells: Iterable[Cell]) -> Iterator[str]:
    """Words that tell a reader who is stuck that it was easy."""
    for cell in cells:
        for word in _WORDS.findall(cell.text):
            yield f"{cell}: leave out {word!r}"
