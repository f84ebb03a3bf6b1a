"""The data files that the library ships, and how they are read. Every row carries its source."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


def rows(name: str) -> list[dict[str, str]]:
    """The rows of the CSV file `name` in this folder, as text."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def aliases(kind: str) -> dict[str, str]:
    """Names that measurements and price sheets use -> catalogue names, for "chip" or "model"."""
    return {row["alias"]: row["name"] for row in rows("aliases.csv") if row["kind"] == kind}
