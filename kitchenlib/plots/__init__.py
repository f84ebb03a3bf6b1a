"""The pictures: one pure function per figure, one module per notebook, one for the style.

Every module of `ROOMS` has ``FIGURES``: file name -> function without arguments. They are the
files in ``figures/`` and the pictures in the notebooks.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kitchenlib.plots.style import Picture

#: Modules of this package, in the order of the notebooks.
ROOMS = (
    "welcome",
    "ratio",
    "prefill_vs_decode",
    "price_paradox",
    "four_fixes",
    "modern_systems",
)


def figures() -> dict[str, Callable[[], Picture]]:
    """Every figure of the collection: file name -> function that draws it."""
    named: dict[str, Callable[[], Picture]] = {}
    for room in ROOMS:
        named |= import_module(f"{__name__}.{room}").FIGURES
    return named
