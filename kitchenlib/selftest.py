"""A reader's first cell: is everything in place that the collection needs?"""

from __future__ import annotations

import sys
from importlib import metadata

import kitchenlib as kl

_PYTHONS = ((3, 11), (3, 13))
_PACKAGES = {
    "numpy": "2.1",
    "matplotlib": "3.11",
    "ipywidgets": "8.1",
    "anywidget": "0.11",
    "jupyterlab": "4",
}
_CURE = "In a terminal, in the collection's folder: pip install -r requirements.txt"


def selftest() -> None:
    """Print one line per thing that the notebooks need, and what to do about what is missing.

    Checks Python, the packages, the catalogues and one known number. What it prints does not
    depend on the machine where everything is in place.
    """
    troubles = [_python(), *map(_package, _PACKAGES), _catalogue(), _law()]
    troubles = [trouble for trouble in troubles if trouble]
    for trouble in troubles:
        print("PROBLEM ", trouble)
    if not troubles:
        print("Python and all packages are in place.")
        print(f"The catalogue holds {len(kl.chips())} chips and {len(kl.models())} models.")
        print("The law gives the numbers it should. You are ready to cook.")


def _python() -> str:
    least, most = _PYTHONS
    if least <= sys.version_info[:2] <= most:
        return ""
    return f"this is Python {sys.version_info[0]}.{sys.version_info[1]}: use 3.11, 3.12 or 3.13"


def _package(name: str) -> str:
    try:  # the version alone: importing JupyterLab into a kernel takes seconds
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing. {_CURE}"
    if _numbers(found) < _numbers(_PACKAGES[name]):
        return f"{name} {found} is too old: {_PACKAGES[name]} or newer is needed. {_CURE}"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _catalogue() -> str:
    unmatched = [m.name for m in kl.models() if not m.exact and not m.mismatch]
    return f"models without an explanation: {', '.join(unmatched)}" if unmatched else ""


def _law() -> str:
    ridge = kl.chip("H100 SXM").ridge("bf16")
    right = 989.4e12 / 3.35e12
    if abs(ridge / right - 1) < 1e-9:
        return ""
    return f"the ridge of the H100 comes out as {ridge:g} FLOP/byte, not {right:g}. {_CURE}"
