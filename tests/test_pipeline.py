"""From a source to its two notebooks, on a small collection of its own."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import notebooks, rules, sources
from tools.markdown import first_sentences, glossary_references, headings, one_folder_down, prose

GLOSSARY = """\
# %% [markdown]
# # Glossary
# ## KV cache
# The notes of a [token].
# ## Token
# A piece of a word.
# ## TTFT (time to first token)
"""
ROOM = """\
# %% [markdown]
# # A room
# The [KV cache] holds [tokens][token]. Then read [the next](02_next.ipynb).

# %%
guests = 3  # solution
print(guests)

# %% tags=["solution"]
print("only in the twin")

# %% tags=["nbval-ignore-output"]
import time

print(f"{time.perf_counter_ns()} ns")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of one room and a glossary, to change at will."""
    return collection(tmp_path)


def collection(folder: Path) -> Path:
    (folder / "source").mkdir()
    write(folder, "glossary", GLOSSARY)
    write(folder, "01_room", ROOM)
    return folder


def write(folder: Path, name: str, text: str) -> None:
    (folder / "source" / f"{name}.py").write_text(text, encoding="utf-8")


def texts(folder: Path, name: str) -> list[str]:
    return [cell.source for cell in sources.products(folder)[folder / f"{name}.ipynb"].cells]


def test_a_numbered_source_has_a_twin_and_the_glossary_has_none(folder):
    made = [str(path.relative_to(folder)) for path in sources.products(folder)]
    assert made == ["01_room.ipynb", "solutions/01_room.ipynb", "glossary.ipynb"]


def test_the_learner_gets_dots_and_the_twin_the_answer(folder):
    learner, twin = texts(folder, "01_room"), texts(folder, "solutions/01_room")
    assert learner[1] == "guests = ...\nprint(guests)"
    assert twin[1] == "guests = 3\nprint(guests)"


def test_learner_and_twin_differ_in_solutions_and_link_targets_only(folder):
    learner, twin = texts(folder, "01_room"), texts(folder, "solutions/01_room")
    assert twin.pop(2) == 'print("only in the twin")'
    assert twin[0].replace("](../", "](").replace(": ../", ": ") == learner[0]
    assert twin[2:] == learner[2:]


def test_links_of_the_twin_start_one_folder_further_down(folder):
    assert "](02_next.ipynb)" in texts(folder, "01_room")[0]
    assert "](../02_next.ipynb)" in texts(folder, "solutions/01_room")[0]


def test_a_term_links_to_its_heading_in_the_glossary(folder):
    learner, twin = texts(folder, "01_room"), texts(folder, "solutions/01_room")
    assert learner[0].endswith(
        '\n\n[kv cache]: glossary.ipynb#KV-cache "The notes of a token."'
        '\n[token]: glossary.ipynb#Token "A piece of a word."'
    )
    assert "[token]: ../glossary.ipynb#Token" in twin[0]
    assert "[token]: #Token" in texts(folder, "glossary")[0]


def test_a_term_without_a_sentence_links_without_a_title(folder):
    write(folder, "01_room", ROOM.replace("[KV cache]", "[TTFT]"))
    assert "\n[ttft]: glossary.ipynb#TTFT-(time-to-first-token)\n" in texts(folder, "01_room")[0]


def test_a_term_with_an_acronym_has_both_names(folder):
    terms = sources.glossary_terms(folder)
    anchor = "TTFT-(time-to-first-token)"
    assert terms["TTFT"] == terms["time to first token"] == anchor


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[KV cache]", "[KV cach]", r"01_room.py, cell 1 .*\[KV cach\] is not a term"),
        ("[tokens][token]", "[tokens][toke]", r"\[toke\] is not a term of the glossary"),
        ('"nbval-ignore-output"', '"nbval-ignore"', "cell 4 .*unknown tag nbval-ignore;"),
        ("guests = 3  # solution", "print(3)  # solution", "cell 2 .*belongs behind an assignment"),
        ("# %% [markdown]", "# %% [raw]", r"a cell is code or \[markdown\], not \[raw\]"),
    ],
)
def test_a_mistake_in_a_source_is_named_with_its_cell(folder, old, new, message):
    write(folder, "01_room", ROOM.replace(old, new))
    with pytest.raises(ValueError, match=message):
        sources.products(folder)


@pytest.mark.parametrize(
    ("heading", "message"), [("Token", "is there twice"), ("µs", "must be ASCII")]
)
def test_a_glossary_that_cannot_be_linked_to_is_refused(folder, heading, message):
    write(folder, "glossary", GLOSSARY + f"# ## {heading}\n")
    with pytest.raises(ValueError, match=message):
        sources.products(folder)


@pytest.mark.parametrize(
    ("source", "learner", "twin"),
    [
        ("x = a * b  # solution", "x = ...", "x = a * b"),
        ("x = f(y=1)  # solution\nz = 2", "x = ...\nz = 2", "x = f(y=1)\nz = 2"),
        ("x: float = 'é' + b  # solution", "x: float = ...", "x: float = 'é' + b"),
        ("x = (\n    a\n    + b\n)  # solution", "x = ...", "x = (\n    a\n    + b\n)"),
        (
            "def f(a=1):\n    return a  # solution",
            "def f(a=1):\n    return ...",
            "def f(a=1):\n    return a",
        ),
        ("x = 1  # a solution?", "x = 1  # a solution?", "x = 1  # a solution?"),
        ("x = '# solution'", "x = '# solution'", "x = '# solution'"),
    ],
)
def test_a_marked_expression_is_cut_whole(source, learner, twin):
    assert sources.without_solution(source) == learner
    assert sources.without_markers(source) == twin


@pytest.mark.parametrize("source", ["x == 3  # solution", "f(x=3)  # solution", "# solution"])
def test_a_marker_without_an_expression_to_cut_is_refused(source):
    with pytest.raises(ValueError, match="belongs behind an assignment"):
        sources.without_solution(source)


def test_a_new_cell_leaves_the_ids_of_the_others(folder):
    def ids() -> list[str]:
        return [cell.id for cell in sources.products(folder)[folder / "01_room.ipynb"].cells]

    before = ids()
    write(folder, "01_room", ROOM.replace("# %%\n", "# %%\nnew = 1\n\n# %%\n", 1))
    after = ids()
    assert after[:1] + after[2:] == before


def test_two_cells_with_one_text_have_two_ids(folder):
    write(folder, "01_room", ROOM + "\n# %%\nx = 1\n\n# %%\nx = 1\n")
    ids = [cell.id for cell in sources.products(folder)[folder / "01_room.ipynb"].cells]
    assert len(set(ids)) == len(ids)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small collection, built. Read it, or build it again; do not change it."""
    folder = collection(tmp_path_factory.mktemp("built"))
    notebooks.build(folder)
    return folder


def test_two_builds_are_the_same_to_the_byte(built):
    first = {path: path.read_bytes() for path in sources.products(built)}
    second = {path: path.read_bytes() for path in notebooks.build(built)}
    assert first == second


def test_a_built_notebook_has_its_outputs_and_nothing_of_the_moment(built):
    twin = nbformat.read(built / "solutions" / "01_room.ipynb", as_version=4)
    assert [cell.outputs[0].text for cell in twin.cells[1:3]] == ["3\n", "only in the twin\n"]
    assert [cell.execution_count for cell in twin.cells[1:]] == [1, 2, 3]
    assert twin.metadata == sources.METADATA
    assert [cell.metadata for cell in twin.cells[1:]] == [
        {},
        {"tags": ["solution"]},
        {"tags": ["nbval-ignore-output"]},
    ]


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """A copy of the small collection, built: somebody's own."""
    return shutil.copytree(built, tmp_path / "copy")


def edit(path: Path, change: Callable[[NotebookNode], None]) -> bytes:
    """Change a notebook in place; the file's bytes after that."""
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("cell", "typed"),
    [
        (1, lambda notebook: notebook.cells[0].update(source="# My room")),
        (2, lambda notebook: notebook.cells[1].update(source="guests = 3\nprint(guests)")),
        (4, lambda notebook: notebook.cells.append(new_code_cell("guests * 2"))),
        (4, lambda notebook: notebook.cells.append(new_markdown_cell("My note."))),
    ],
)
def test_what_a_reader_typed_is_not_overwritten(copy, cell, typed):
    theirs = edit(copy / "01_room.ipynb", typed)
    write(copy, "glossary", GLOSSARY.replace("a word", "a long word"))
    before = (copy / "glossary.ipynb").read_bytes()
    with pytest.raises(ValueError, match=rf"01_room.ipynb: you .* cells {cell}\.\n.*git stash"):
        notebooks.build(copy)
    assert (copy / "01_room.ipynb").read_bytes() == theirs
    assert (copy / "glossary.ipynb").read_bytes() == before


def test_what_a_reader_typed_is_overwritten_if_so_asked(copy, built):
    path = copy / "01_room.ipynb"
    edit(path, lambda notebook: notebook.cells[1].update(source="guests = 3"))
    notebooks.build(copy, overwrite=True)
    assert path.read_bytes() == (built / "01_room.ipynb").read_bytes()


def test_a_notebook_that_was_only_run_is_built_anew(copy, built):
    def run(notebook: NotebookNode) -> None:
        notebook.cells[1].outputs = [new_output("stream", text="4\n")]
        notebook.cells.append(new_code_cell(""))  # JupyterLab adds one after the last
        notebook.metadata["widgets"] = {}

    edit(copy / "01_room.ipynb", run)
    notebooks.build(copy)
    assert (copy / "01_room.ipynb").read_bytes() == (built / "01_room.ipynb").read_bytes()


def test_an_old_build_of_a_source_that_changed_is_built_anew(copy):
    write(copy, "01_room", ROOM.replace("# A room", "# A large room"))
    notebooks.build(copy)
    assert "# A large room" in nbformat.read(copy / "01_room.ipynb", as_version=4).cells[0].source


@pytest.mark.parametrize(("now", "kept"), [("12.5 ms", "9 ms"), ("12.5 seconds", "12.5 seconds")])
def test_a_stored_timing_is_kept_until_its_words_change(tmp_path, now, kept):
    def timing(text: str) -> NotebookNode:
        cell = new_code_cell("time_it()", id="a", metadata={"tags": ["nbval-ignore-output"]})
        cell.outputs = [new_output("stream", text=text)]
        return new_notebook(cells=[cell])

    path = tmp_path / "timing.ipynb"
    notebooks.write(timing("9 ms"), path)
    again = timing(now)
    notebooks.keep_timings(again, path)
    assert again.cells[0].outputs[0].text == kept


def test_a_cell_that_fails_is_named_and_nothing_is_written(folder):
    write(folder, "01_room", ROOM.replace("print(guests)", "print(guest)"))
    with pytest.raises(ValueError, match=r"(?s)01_room.ipynb: a cell failed.*name 'guest' is not"):
        notebooks.build(folder)
    assert not (folder / "01_room.ipynb").exists()


def test_widget_views_timestamps_and_counts_are_normalised():
    output = new_output(
        "execute_result",
        {notebooks.WIDGET_VIEW: {"model_id": "a1"}, "text/plain": "an explorer"},
        execution_count=7,
    )
    cell = new_code_cell("1", execution_count=7, outputs=[output], metadata={"execution": {}})
    notebook = new_notebook(cells=[cell], metadata={"widgets": {"state": {}}})
    notebooks.normalise(notebook)
    assert notebook.metadata == sources.METADATA
    assert (cell.execution_count, output.execution_count, cell.metadata) == (1, 1, {})
    assert output.data == {"text/plain": "an explorer"}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (new_output("error", ename="KeyError", evalue="'x'"), "ends in an error: KeyError: 'x'"),
        (new_output("display_data", {}), "a widget without a text"),
        (new_output("stream", text="<object at 0x7fd853c1f3d0>"), "address .0x7fd853c1f3d0"),
    ],
)
def test_an_output_that_no_reader_can_use_is_a_fault(output, message):
    notebook = new_notebook(cells=[new_code_cell("1", outputs=[output])])
    (fault,) = notebooks.faults(notebook)
    assert re.search(message, fault)


# --- what the Markdown says ----------------------------------------------------------------------


def test_prose_is_what_a_reader_sees():
    text = r"""# *One*
A **bold** `code` [link](to.md), [term][label] \[x\] &lt;5&nbsp;ms<br>$7\,\text{GB}$"""
    assert prose(text) == "One\nA bold link, term x <5 ms 7 GB"


def test_headings_have_a_level_and_words():
    assert headings("# A `b`\ntext\n### *C*") == [(1, "A"), (3, "C")]


@pytest.mark.parametrize(
    ("paragraph", "sentence"),
    [
        ("One. Two.", "One."),
        ("A [long\nlink][x], a [y](z.md)\nand *more*. Two.", "A long link, a y and more."),
        ("It is `x` at 3.35 TB/s, i.e. $2\\,\\text{GB}$? Yes.", "It is x at 3.35 TB/s, i.e. 2 GB?"),
        ('Not "so". Two', "Not 'so'."),
        ("No full stop", "No full stop"),
    ],
)
def test_the_first_sentence_of_a_term_is_plain_text_for_a_title(paragraph, sentence):
    assert first_sentences(f"## A\n## B\n{paragraph}\n\nNext.") == {"B": sentence}
    note = f'[b]\n\n[b]: c.ipynb#B "{sentence}"'
    assert prose(note) == "b"


def test_links_in_code_stay_as_they_are():
    text = "[a](b.ipynb) `[a](c.ipynb)` [d](#d) [e](http://e) ![f](f.svg) <img src='g.svg'>"
    assert one_folder_down(text) == (
        "[a](../b.ipynb) `[a](c.ipynb)` [d](#d) [e](http://e) ![f](../f.svg) <img src='../g.svg'>"
    )


def test_escaped_brackets_code_and_ordinary_links_are_no_terms():
    text = r"\[KV] `[KV]` [KV](x.md) [1, 2] $a[i]$"
    assert glossary_references(text, {}) == {}


# --- the house rules -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (["no heading"], "there is no title"),
        (["## Two"], "the first heading has to be the title"),
        (["# One", "# Two"], "a second title: 'Two'"),
        (["# One", "### Three"], "'Three' skips a level"),
        (["# One", "It is of\ncourse easy."], "leave out 'of\\ncourse'"),
        (["# One\nSimply add."], "leave out 'Simply'"),
    ],
)
def test_a_broken_rule_is_named(cells, fault):
    numbered = [sources.Cell(n, "markdown", text) for n, text in enumerate(cells, start=1)]
    assert fault in " ".join(rules.faults(numbered))


def test_a_cell_has_at_most_twenty_lines_of_code():
    title = sources.Cell(1, "markdown", "# Title")
    assert rules.faults([title, sources.Cell(2, "code", "x = 1\n\n" * 20)]) == []
    (fault,) = rules.faults([title, sources.Cell(2, "code", "x = 1\n" * 21)])
    assert "21 lines of code; 20 at most" in fault
