"""Builds the notebooks: from their sources, run, with outputs that are the same in every build.

python -m tools.notebooks               all of them
python -m tools.notebooks 01_ratio      one, and its twin
python -m tools.notebooks --overwrite   also those that a reader typed in
"""

import tools.without_iri_grammar  # noqa: F401, I001  # before anything that imports nbformat

import argparse
import json
import os
import re
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.sources import IGNORE_OUTPUT, METADATA, products, typed_in

# The kernels inherit it: two threads wait for each other on a busy machine, and timings show that.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

FOLDER = Path(__file__).parents[1] / "notebooks"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
HOW_TO_KEEP = (
    "Nothing is overwritten. To keep what you typed, copy the notebook to another folder, or "
    "`git stash`.\nTo have it built anew after that: make notebooks ARGS=--overwrite"
)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
_PICTURE = re.compile(r"data:image[^\"]+")
_NUMBER = re.compile(r"\d[\d.,]*")


def build(
    folder: Path = FOLDER, names: tuple[str, ...] = (), overwrite: bool = False
) -> list[Path]:
    """Build the notebooks of `folder`, or those of the sources called `names`; returns them.

    Args:
        folder: holds ``source/`` and gets the notebooks.
        names: all sources if empty.
        overwrite: build also over notebooks that a reader typed in.

    Raises:
        ValueError: a source is wrong, a reader typed in a notebook (and nothing is written), a
            cell failed, or an output would differ in every build.
    """
    chosen = {p: made for p, made in products(folder).items() if not names or p.stem in names}
    if not overwrite and (found := [line for path in chosen for line in studied(path)]):
        raise ValueError("\n".join([*found, HOW_TO_KEEP]))
    for path, notebook in chosen.items():
        started = time.perf_counter()
        run(notebook, path)
        keep_timings(notebook, path)
        write(notebook, path)
        print(f"{path.relative_to(folder)}  {time.perf_counter() - started:.1f} s", flush=True)
    return list(chosen)


def studied(path: Path) -> list[str]:
    """What a reader typed in the notebook in place, as one line to show, or none."""
    numbers = typed_in(nbformat.read(path, as_version=4)) if path.exists() else []
    cells = ", ".join(map(str, numbers))
    name = os.path.relpath(path)
    return [f"You studied in {name}: you typed or changed its cells {cells}."] if cells else []


def run(notebook: NotebookNode, path: Path) -> None:
    """Run every cell in the folder of `path`, with an empty store of answers."""
    path.parent.mkdir(exist_ok=True)
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
    )
    if any(cell.cell_type == "code" for cell in notebook.cells):
        try:
            client.execute(env={**os.environ, "KITCHEN_ANSWERS": "memory"})
        except CellExecutionError as error:
            raise ValueError(f"{path.name}: a cell failed\n{error}") from error
    normalise(notebook)
    if found := faults(notebook):
        raise ValueError(f"{path.name}: " + "; ".join(found))


def normalise(notebook: NotebookNode) -> None:
    """Take out what differs from run to run and says nothing to a reader."""
    notebook.metadata = nbformat.from_dict(METADATA)
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code_cells, start=1):
        cell.execution_count = number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
            output.get("data", {}).pop(WIDGET_VIEW, None)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})


def faults(notebook: NotebookNode) -> list[str]:
    """What must not be stored: errors, addresses, outputs that only a kernel can show."""
    found = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found.append(f"cell {number} ends in an error: {output.ename}: {output.evalue}")
            elif output.get("data") == {}:
                found.append(f"cell {number} has a widget without a text or a picture beside it")
            elif address := _ADDRESS.search(_words(output)):
                found.append(f"cell {number} shows a memory address ({address[0]})")
    return found


def keep_timings(notebook: NotebookNode, path: Path) -> None:
    """Keep the stored outputs of all timing cells when nothing but numbers and pictures differ.

    All of them or none: numbers of two runs would contradict each other.
    """
    if not path.exists():
        return
    stored = {
        cell.id: cell.outputs
        for cell in nbformat.read(path, as_version=4).cells
        if "outputs" in cell
    }
    timed = [cell for cell in notebook.cells if IGNORE_OUTPUT in cell.metadata.get("tags", ())]
    if all(
        _without_numbers(stored.get(cell.id, [])) == _without_numbers(cell.outputs)
        for cell in timed
    ):
        for cell in timed:
            cell.outputs = stored.get(cell.id, [])
    normalise(notebook)


def _without_numbers(outputs: list[NotebookNode]) -> list[str]:
    return [_NUMBER.sub("#", _words(output)) for output in outputs]


def _words(output: NotebookNode) -> str:
    data = output.get("data", {})
    texts = {kind: text for kind, text in data.items() if not kind.startswith("image/")}
    return _PICTURE.sub("", json.dumps([output.get("text"), texts], ensure_ascii=False))


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook that is valid."""
    nbformat.validate(notebook)
    path.write_text(serialised(notebook), encoding="utf-8", newline="\n")


def serialised(notebook: NotebookNode) -> str:
    """The file's text."""
    return nbformat.writes(notebook, version=4) + "\n"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", help="sources to build, as 01_ratio; all by default")
    parser.add_argument(
        "--overwrite", action="store_true", help="also notebooks that a reader typed in"
    )
    asked = parser.parse_args()
    try:
        if not build(names=tuple(asked.names), overwrite=asked.overwrite):
            raise ValueError(f"there is no such source in {FOLDER / 'source'}")
    except ValueError as error:
        raise SystemExit(f"\n{error}") from error


if __name__ == "__main__":
    main()
