"""From a source to the two notebooks it stands for: the learner's and the solved twin.

A source is a Python file in jupytext's percent format, ``notebooks/source/NN_name.py``. It says:

- ``tags=["solution"]``: the cell is in the twin only.
- ``x = a * b  # solution`` and ``return a * b  # solution``: the learner gets ``...`` there.
- ``tags=["nbval-ignore-output"]``: the output depends on the machine (a timing).
- ``[prefill]`` or ``[tokens][token]`` in the prose: a link to that term in the glossary, the terms
  being the headings of ``glossary.py``. A heading ``TTFT (time to first token)`` has both names.

Everything else is the same in both, but for relative links, which start one folder further down
in the twin. A source whose name does not start with a number has no twin.
"""

import hashlib
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import markdown

SOLUTION = "solution"
IGNORE_OUTPUT = "nbval-ignore-output"
ALLOWED_TAGS = {SOLUTION, IGNORE_OUTPUT}
GLOSSARY = "glossary"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_MARKER = re.compile(r"#\s*solution\s*$", re.MULTILINE)
_TWO_NAMES = re.compile(r"(.+?)\s*\((.+)\)")


def products(folder: Path) -> dict[Path, NotebookNode]:
    """Every notebook that belongs in `folder`, not yet run: path -> notebook.

    Args:
        folder: holds ``source/``; the learners' notebooks go here, the twins to ``solutions/``.

    Raises:
        ValueError: names the source, the cell, what is wrong and what would be right.
    """
    glossary = Glossary(glossary_terms(folder), glossary_meanings(folder))
    made = {}
    for path in sources(folder):
        cells = read(path)
        page = "" if path.stem == GLOSSARY else f"{GLOSSARY}.ipynb"
        made[folder / f"{path.stem}.ipynb"] = _notebook(path, _learner(cells), glossary, page)
        if path.stem[0].isdigit():
            twin = _notebook(path, _twin(cells), glossary, f"../{page}")
            made[folder / "solutions" / f"{path.stem}.ipynb"] = twin
    return made


def sources(folder: Path) -> list[Path]:
    """The sources in `folder`, in the order of the collection."""
    return sorted(folder.glob("source/*.py"))


class Cell(NamedTuple):
    """One cell of a source. `number` counts from 1."""

    number: int
    type: str
    text: str
    tags: tuple[str, ...] = ()

    def __str__(self) -> str:
        first_line = self.text.strip().partition("\n")[0]
        return f"cell {self.number} ({first_line[:60]!r})"


def read(path: Path) -> list[Cell]:
    """The cells of a source, checked: nbval would overlook an unknown tag."""
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    cells = [
        Cell(number, cell.cell_type, cell.source, tuple(cell.metadata.get("tags", ())))
        for number, cell in enumerate(notebook.cells, start=1)
    ]
    for cell in cells:
        with _naming(path, cell):
            if unknown := set(cell.tags) - ALLOWED_TAGS:
                raise ValueError(
                    f"unknown tag {', '.join(sorted(unknown))}; "
                    f"the tags are {', '.join(sorted(ALLOWED_TAGS))}"
                )
            if cell.type not in ("code", "markdown"):
                raise ValueError(f"a cell is code or [markdown], not [{cell.type}]")
            if cell.type == "code":
                _marks(cell.text)  # a marker in the wrong place is found here
    return cells


class Glossary(NamedTuple):
    """Where each term leads, and what a reader sees who only points at it.

    Attributes:
        terms: term -> anchor of its heading.
        meanings: anchor -> first sentence of what stands under it.
    """

    terms: Mapping[str, str]
    meanings: Mapping[str, str]


def glossary_terms(folder: Path) -> dict[str, str]:
    """Term -> anchor of its heading, in the form that JupyterLab gives it (spaces become -)."""
    path = folder / "source" / f"{GLOSSARY}.py"
    terms: dict[str, str] = {}
    for cell in read(path) if path.exists() else ():
        for level, heading in markdown.headings(cell.text):
            with _naming(path, cell):
                if level > 1:
                    _add_term(terms, heading)
    return terms


def glossary_meanings(folder: Path) -> dict[str, str]:
    """Anchor of a heading -> the first sentence under it, plain text."""
    path = folder / "source" / f"{GLOSSARY}.py"
    return {
        _anchor(heading): sentence
        for cell in (read(path) if path.exists() else ())
        for heading, sentence in markdown.first_sentences(cell.text).items()
    }


def _anchor(heading: str) -> str:
    return heading.replace(" ", "-")


def _add_term(terms: dict[str, str], heading: str) -> None:
    if not heading.isascii():
        raise ValueError(f"the term {heading!r} must be ASCII: JupyterLab cannot link to others")
    two_names = _TWO_NAMES.fullmatch(heading)
    for term in (heading, *(two_names.groups() if two_names else ())):
        if term.lower() in map(str.lower, terms):
            raise ValueError(f"the term {term!r} is there twice")
        terms[term] = _anchor(heading)


def _learner(cells: list[Cell]) -> list[Cell]:
    kept = (cell for cell in cells if SOLUTION not in cell.tags)
    return [_with_code(cell, without_solution) for cell in kept]


def _twin(cells: list[Cell]) -> list[Cell]:
    return [
        _with_code(cell, without_markers)
        if cell.type == "code"
        else cell._replace(text=markdown.one_folder_down(cell.text))
        for cell in cells
    ]


def _with_code(cell: Cell, change: Callable[[str], str]) -> Cell:
    return cell._replace(text=change(cell.text)) if cell.type == "code" else cell


def _notebook(
    path: Path, cells: list[Cell], glossary: Glossary, glossary_page: str
) -> NotebookNode:
    notebook = new_notebook(metadata=METADATA)
    taken: dict[str, int] = {}
    for cell in cells:
        with _naming(path, cell):
            text = cell.text
            if cell.type == "markdown":
                text += _definitions(text, glossary, glossary_page)
            make = new_code_cell if cell.type == "code" else new_markdown_cell
            metadata = {"tags": list(cell.tags)} if cell.tags else {}
            notebook.cells.append(make(text, id=_identity(text, taken), metadata=metadata))
    return notebook


def _definitions(text: str, glossary: Glossary, page: str) -> str:
    """Where the links of `text` lead. Their titles: JupyterLab shows them to who points at one."""
    lines = []
    for label, anchor in markdown.glossary_references(text, glossary.terms).items():
        meaning = glossary.meanings.get(anchor)
        lines.append(f"[{label}]: {page}#{anchor}" + (f' "{meaning}"' if meaning else ""))
    return "\n\n" + "\n".join(lines) if lines else ""


def _identity(text: str, taken: dict[str, int]) -> str:
    """An id that depends on what the cell says, so that a new cell changes no other's."""
    digest = _digest(text)
    taken[digest] = taken.get(digest, 0) + 1
    return digest if taken[digest] == 1 else f"{digest}-{taken[digest]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def typed_in(notebook: NotebookNode) -> list[int]:
    """Numbers of the cells that a reader typed or changed since the notebook was built.

    A cell keeps its id in every editor, and the id says what was in it when it was built.
    """
    return [
        number
        for number, cell in enumerate(notebook.cells, start=1)
        if cell.source.strip() and cell.id.partition("-")[0] != _digest(cell.source)
    ]


@contextmanager
def _naming(path: Path, cell: Cell) -> Iterator[None]:
    """Errors inside say where they are."""
    try:
        yield
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"{path.name}, {cell}: {error}") from error


# --- the marker `# solution` ---------------------------------------------------------------------


def without_solution(code: str) -> str:
    """`code` for the learner: ``...`` where a marked line has its expression."""
    for mark in reversed(_marks(code)):
        code = f"{code[: mark.value_start]} ...{code[mark.comment_end :]}"
    return code


def without_markers(code: str) -> str:
    """`code` for the twin: all there, the markers gone."""
    for mark in reversed(_marks(code)):
        code = code[: mark.value_end] + code[mark.comment_end :]
    return code


class _Mark(NamedTuple):
    """A marked statement: where its expression and its marker are, in characters."""

    value_start: int
    value_end: int
    comment_end: int


def _marks(code: str) -> list[_Mark]:
    if not _MARKER.search(code):
        return []
    marks, statement = [], []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        statement.append(token)
        if token.type == tokenize.NEWLINE:
            statement = []
        elif token.type == tokenize.COMMENT and _MARKER.match(token.string):
            marks.append(_mark(code, statement))
    return marks


def _mark(code: str, statement: list[tokenize.TokenInfo]) -> _Mark:
    """`statement`: its tokens, the marker last."""
    depth = 0
    for token in statement:
        depth += (token.string in "([{") - (token.string in ")]}") if token.string else 0
        if depth == 0 and token.string in ("=", "return"):
            return _Mark(
                _offset(code, token.end),
                _offset(code, statement[-2].end),
                _offset(code, statement[-1].end),
            )
    raise ValueError("`# solution` belongs behind an assignment (x = ...) or a return")


def _offset(code: str, position: tuple[int, int]) -> int:
    line, column = position
    return sum(map(len, code.splitlines(keepends=True)[: line - 1])) + column
