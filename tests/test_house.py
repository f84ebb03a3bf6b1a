"""The house: each module of kitchenlib imports only from the floors below its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kitchenlib

HOUSE = Path(kitchenlib.__file__).parent
DOOR = "kitchenlib"  # the front door: its public names come from the floors below it

#: From the ground up. A package is one floor.
FLOORS = [
    "inputs",
    "units",
    "precision",
    "data",
    "prices",
    "layers",
    "configs",
    "hybrids",
    "chips",
    "models",
    "experts",
    "roofline",
    "phases",
    "efficiency",
    "measured",
    "speculation",
    "retrieval",
    "senses",
    "serving",
    "batching",
    "thinking",
    DOOR,
    "llm",
    "bench",
    "selftest",
    "miniatures",
    "film",
    "plots",
    "widgets",
    "player",
    "exercises",
]
#: These load when first used, not with the front door.
UPSTAIRS = FLOORS[FLOORS.index(DOOR) + 1 :]


def modules() -> list[Path]:
    return sorted(HOUSE.rglob("*.py"))


def floor_of(path: Path) -> str:
    name = path.relative_to(HOUSE).parts[0].removesuffix(".py")
    return DOOR if name == "__init__" else name


def imported(source: str) -> Iterator[str]:
    """Full names of what a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "an import says from where: no leading dots"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floors_imported(source: str) -> set[str]:
    """Floors of kitchenlib that a module imports from; a name of the front door is the door's."""
    parts = (name.split(".") for name in imported(source))
    inside = [names[1:] for names in parts if names[0] == DOOR]
    return {names[0] if names and names[0] in FLOORS else DOOR for names in inside}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_module_imports_only_from_below(path: Path) -> None:
    own = floor_of(path)
    below = FLOORS[: FLOORS.index(own)]
    found = floors_imported(path.read_text(encoding="utf-8"))
    allowed = {*below, own} if (HOUSE / own).is_dir() else set(below)
    assert found <= allowed


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(HOUSE)))
def test_the_library_needs_neither_tests_nor_tools(path: Path) -> None:
    names = {name.split(".")[0] for name in imported(path.read_text(encoding="utf-8"))}
    assert not names & {"tests", "tools", "notebooks", "pytest", "nbval", "jupytext"}


def test_every_floor_is_there_and_every_module_is_on_one() -> None:
    assert {floor_of(path) for path in modules()} == set(FLOORS)


def test_an_import_from_above_is_seen() -> None:
    assert floors_imported("from kitchenlib.plots.style import Picture") == {"plots"}
    assert floors_imported("from kitchenlib import data, precision") == {"data", "precision"}
    assert floors_imported("import kitchenlib as kl") == {DOOR}
    assert floors_imported("from kitchenlib import Model") == {DOOR}
    assert floors_imported("def late():\n    import kitchenlib.widgets") == {"widgets"}
    assert floors_imported("import numpy as np") == set()


def after(code: str) -> set[str]:
    """The modules that a fresh Python holds after running `code`."""
    code = f"import sys\n{code}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_front_door_loads_neither_pictures_nor_widgets() -> None:
    loaded = after("import kitchenlib as kl; kl.decode_step(kl.models()[0], 1).time(kl.chips()[0])")
    assert "kitchenlib.phases" in loaded
    for heavy in ("matplotlib", "ipywidgets", "IPython", "PIL", "asyncio", "subprocess"):
        assert heavy not in loaded
    assert not {f"kitchenlib.{floor}" for floor in UPSTAIRS} & loaded


def test_upstairs_loads_when_it_is_first_used() -> None:
    assert "kitchenlib.bench" in after("import kitchenlib as kl; kl.bench.Speed")
    with pytest.raises(AttributeError, match=r"module 'kitchenlib' has no attribute 'cellar'"):
        kitchenlib.cellar  # noqa: B018


def test_the_law_needs_numpy_and_nothing_else() -> None:
    for floor in FLOORS[: FLOORS.index(DOOR)]:
        path = HOUSE / floor / "__init__.py" if (HOUSE / floor).is_dir() else HOUSE / f"{floor}.py"
        names = {name.split(".")[0] for name in imported(path.read_text(encoding="utf-8"))}
        assert names - set(sys.stdlib_module_names) <= {"numpy", "kitchenlib"}, floor
