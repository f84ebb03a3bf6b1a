"""The data files that the library ships, and how they are read. Every row carries its source."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from kitchenlib.inputs import UnknownName, find, unknown_name

FOLDER = Path(__file__).parent

_Row = TypeVar("_Row")
_SHORT = 80  # characters of values in an error message


def rows(name: str) -> list[dict[str, str]]:
    """The rows of the CSV file `name` in this folder, as text."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text(name: str) -> str:
    """The text file `name` in this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


@cache
def aliases(kind: str) -> dict[str, str]:
    """Names that measurements and price sheets use -> catalogue names, for "chip" or "model"."""
    return {row["alias"]: row["name"] for row in rows("aliases.csv") if row["kind"] == kind}


def select(
    rows: Sequence[_Row], conditions: Mapping[str, object], noun: str, kind: str
) -> tuple[_Row, ...]:
    """Those of `rows` (dataclasses of one sort) that meet every one of `conditions`, in order.

    A condition is a field and its value. Conditions that each hold somewhere but never together
    give an empty tuple. `noun` and `kind` are words for the message: "measurement", "measured".

    Raises `UnknownName` for a field that there is not, or a value that no row has.
    """
    known = [field.name for field in fields(rows[0])]  # type: ignore[arg-type]
    found = tuple(rows)
    for name, value in conditions.items():
        if name not in known:
            raise unknown_name(f"condition of a {noun}", name, sorted(known))
        values = {getattr(row, name) for row in rows}
        if isinstance(value, str):
            value = _as_written(value, values)
        if not _among(value, values):
            raise unknown_name(f"{kind} {name}", value, sorted(map(str, values)))
        found = tuple(row for row in found if getattr(row, name) == value)
    return found


def only(rows: Sequence[_Row], conditions: Mapping[str, object], noun: str, kind: str) -> _Row:
    """The one of `rows` that meets `conditions` (see `select`).

    Raises ``ValueError`` where there is none or more than one: it says how many, and in what they
    differ. `UnknownName` as `select`.
    """
    found = select(rows, conditions, noun, kind)
    if len(found) == 1:
        return found[0]
    said = ", ".join(f"{name}={value!r}" for name, value in conditions.items())
    many = f"{len(found)} {noun}s have {said}" if said else f"there are {len(found)} {noun}s"
    if not found:
        raise ValueError(f"{many}: each of these holds somewhere, but never all together")
    raise ValueError(
        f"{many}: give conditions that one of them meets. They differ in {_differences(found)}"
    )


def _as_written(value: str, known: set[Any]) -> str:
    """The one of `known` that is `value` but for case, blanks and brackets; else `value`."""
    try:
        return find("value", value, {each: each for each in known if isinstance(each, str)})
    except UnknownName:
        return value


def _among(value: object, known: set[Any]) -> bool:
    try:
        return value in known
    except TypeError:  # a list, an array: no value of a row
        return False


def _differences(rows: Sequence[Any]) -> str:
    """The fields in which `rows` differ, with their values where those are short."""
    listed = []
    for field in fields(rows[0]):
        values = list(dict.fromkeys(getattr(row, field.name) for row in rows))
        if len(values) > 1 and all(isinstance(v, str | int | float | None) for v in values):
            shown = ", ".join(map(repr, values))
            short = shown if len(shown) <= _SHORT else f"{len(values)} values"
            listed.append(f"{field.name} ({short})")
    return ", ".join(listed)
