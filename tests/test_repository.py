"""The two commands, and the papers of the project."""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path

import pytest
import yaml

from tools import environment, markdown, sources

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tools" / "environment.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# --- make lab, make test -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project, in a folder with a space in its name, that needs nothing from outside."""
    folder = tmp_path_factory.mktemp("a project") / "with spaces"
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "environment.py").write_bytes(SCRIPT.read_bytes())
    (folder / "requirements.txt").write_text("# nothing\n")
    (folder / "requirements-model.txt").write_text("# nothing\n")
    (folder / "pyproject.toml").write_text("")
    return folder


def set_up(project: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(project / "tools" / "environment.py")],
        env={**os.environ, "PIP_NO_INDEX": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_the_venv_module_the_message_says_what_to_install(project, tmp_path):
    (tmp_path / "ensurepip.py").write_text("raise ImportError")
    ended = set_up(project, PYTHONPATH=str(tmp_path))
    assert ended.returncode == 1
    assert "sudo apt install python3-venv" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_environment_is_made_once_and_again_only_for_new_requirements(project):
    first, second = set_up(project), set_up(project)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "Making .venv" in first.stdout
    assert second.stdout == second.stderr == ""
    (project / "requirements.txt").write_text("# nothing else\n")
    third = set_up(project)
    assert "Making" not in third.stdout
    assert "Installing" in third.stdout


def test_without_a_network_the_message_says_so(project):
    (project / "requirements.txt").write_text("numpy\n")
    ended = set_up(project, PIP_FIND_LINKS="")
    assert ended.returncode == 1
    assert "Most often there is no network" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_a_network_the_message_says_how_to_start_anew(project):
    (project / "requirements.txt").write_text("numpy\n")
    assert "`make clean`" in set_up(project, PIP_FIND_LINKS="").stderr


def test_the_settings_of_jupyterlab_come_with_the_environment(project):
    (project / "requirements.txt").write_text("# nothing once more\n")
    ended = set_up(project)
    assert ended.returncode == 0, ended.stderr
    settings = project / ".venv/share/jupyter/lab/settings/overrides.json"
    assert json.loads(settings.read_text()) == environment.OVERRIDES


def test_an_environment_made_by_hand_is_used_as_it_is(project):
    (project / ".venv" / "installed.json").unlink()
    ended = set_up(project)
    assert ended.returncode == 0, ended.stderr
    assert "Making .venv" not in ended.stdout
    assert "Installing" in ended.stdout


def test_an_environment_without_pip_is_made_anew(project):
    venv.create(project / ".venv", clear=True, with_pip=False)
    ended = set_up(project)
    assert ended.returncode == 0, ended.stderr
    assert "Making .venv" in ended.stdout


def test_a_set_up_that_was_interrupted_says_so_and_the_next_one_succeeds(project):
    shutil.rmtree(project / ".venv")
    with subprocess.Popen(
        [sys.executable, str(project / "tools" / "environment.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the signal reaches its children too, as Ctrl-C does
    ) as process:
        while not list(project.glob(".venv/*/python*")):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert said == "\nStopped. The same command goes on from here.\n"
    assert process.returncode == 1
    ended = set_up(project)
    assert ended.returncode == 0, ended.stderr
    assert "Making .venv" in ended.stdout


@pytest.mark.parametrize("goal", ["lab", "test"])
def test_a_wrong_python_is_told_which_are_right_and_the_command_to_give(goal):
    message = environment.wrong_python("3.9", goal)
    assert "This is Python 3.9. The LLM Kitchen runs on Python 3.11 to 3.13." in message
    assert re.search(rf"  make PYTHON=\S+ {goal}$", message)


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make here")
@pytest.mark.parametrize("python", ["ls", "true", "./not-there"])
def test_what_is_no_python_is_told_so_in_one_line(python):
    command = ["make", f"PYTHON={python}", "lint"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    first, last = ended.stderr.splitlines()
    assert first.startswith(f"{python} is no Python 3 that runs here.")
    assert first.endswith("make PYTHON=/path/to/python lint")
    assert re.match(r"make(\[\d+\])?: \*\*\*", last)  # numbered where make itself runs the tests


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make here")
def test_make_tells_the_set_up_what_it_was_asked_for():
    command = ["make", "--dry-run", f"PYTHON={sys.executable}", "bench"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert 'tools/environment.py study "bench"' in ended.stdout


def test_the_set_up_script_can_be_read_by_an_old_python():
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_the_set_up_script_and_the_package_ask_for_the_same_pythons():
    least, most = environment.OLDEST[1], environment.NEWEST[1]
    assert PROJECT["requires-python"] == f">=3.{least},<3.{most + 1}"


def test_the_requirements_end_with_the_package_itself():
    assert (ROOT / "requirements.txt").read_text().splitlines()[-1] == "-e ."


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make here")
def test_make_help_lists_every_command():
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    ended = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = re.findall(r"^  make (\w+)", ended.stdout, re.MULTILINE)
    assert set(listed) == set(phony.split()) - {"study", "dev"}


def test_ci_runs_what_everyone_runs():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"


# --- papers --------------------------------------------------------------------------------------


def test_the_citation_names_this_version_and_its_licences():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    assert " AND ".join(citation["license"]) == PROJECT["license"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_links_of_a_page_lead_somewhere(page):
    for link in markdown.relative_links((ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / link.partition("#")[0]).exists(), f"{page}: {link}"


@pytest.mark.parametrize("path", sources.products(ROOT / "notebooks"), ids=lambda path: path.stem)
def test_the_links_of_a_notebook_lead_somewhere(path):
    notebook = sources.products(ROOT / "notebooks")[path]
    for cell in notebook.cells:
        for link in markdown.relative_links(cell.source) if cell.cell_type == "markdown" else ():
            assert (path.parent / link.partition("#")[0]).exists(), f"{path.name}: {link}"
