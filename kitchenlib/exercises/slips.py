"""In which unit does a wrong number seem to be? The slips that every sheet of numbers invites.

`slips("GB")` lists, for a question asked in GB, by which factor the answer is off when it was
given in MB, TB, GiB, Gbit, ... and the words that say so. Units are read as ``number/per``:
"GB", "FLOP/byte", "tokens/s". Units that are not in a family below ("tokens", "guests") are
counted, and may be off by thousands. An empty unit or "×" is a plain number, which may be in
percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from kitchenlib.exercises.cards import spoken

_DECIMAL = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}

_DATA = {"B": 1.0, "bit": 1 / 8}
_DATA |= {f"{prefix}B": size for prefix, size in (_DECIMAL | _BINARY).items()}
_DATA |= {f"{prefix}bit": size / 8 for prefix, size in _DECIMAL.items()}
_OPERATIONS = {"FLOP": 1.0} | {f"{prefix}FLOP": size for prefix, size in _DECIMAL.items()}
_TIME = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_SACKS = {"kg": 1.0, "g": 1e-3, "tonnes": 1e3, "crumbs": 1e-9}  # 1 kg is a billion crumbs
_FAMILIES = (_DATA, _OPERATIONS, _TIME, _SACKS)

_SPELLINGS = {"KB": "kB", "byte": "B", "bytes": "B", "bits": "bit", "seconds": "s", "us": "µs"}
_PLAIN = ("", "×", "x", "times")
_COUNTED = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
WHOLE = {"tokens", "guests", "requests", "chips", "layers", "heads", "experts", "weights"}
_PREFIX = {1e3: "kilo", 1e6: "mega", 1e9: "giga", 1e12: "tera"}
_STEPS = " Units with an *i* (GiB) count in steps of 1,024, the others in steps of 1,000."


@dataclass(frozen=True)
class Slip:
    """One way to miss a unit: the answer is `factor` times the right one.

    `name` is the unit that the answer seems to be in, `words` the sentence that says so.
    """

    name: str
    factor: float
    words: str


@cache
def slips(unit: str) -> tuple[Slip, ...]:
    """All slips known for a question asked in `unit`, the likeliest first."""
    found: list[Slip] = []
    for slip in (*_fractions(unit), *_other_units(unit), *_wrong_way(unit), *_thousands()):
        if not any(math.isclose(slip.factor, known.factor, rel_tol=1e-3) for known in found):
            found.append(slip)
    return tuple(found)


def find_slip(unit: str, pairs: Sequence[tuple[float, float]], tolerance: float) -> Slip | None:
    """The slip that explains every pair of a given and a right number; None if there is none."""
    near = min(max(tolerance, 0.005), 0.02)  # a wide tolerance must not name units at random
    for slip in slips(unit) if pairs else ():
        if all(math.isclose(given, right * slip.factor, rel_tol=near) for given, right in pairs):
            return slip
    return None


def _family(unit: str) -> dict[str, float]:
    return next((family for family in _FAMILIES if _SPELLINGS.get(unit, unit) in family), {})


def _exchanges(unit: str) -> Iterator[tuple[str, float]]:
    """Other units for the same thing, and how many of them make one `unit`."""
    above, slash, below = unit.partition("/")
    family = _family(above)
    size = family.get(_SPELLINGS.get(above, above), 1.0)
    for other, other_size in family.items():
        if other_size != size:
            yield f"{other}{slash}{below}", size / other_size
    if not family and unit not in (*_PLAIN, "%"):
        for word, many in _COUNTED.items():
            yield f"{word} {unit}", 1 / many
    family = _family(below)
    size = family.get(_SPELLINGS.get(below, below), 1.0)
    for other, other_size in family.items():
        if other_size != size:
            yield f"{above}/{other}", other_size / size


def _other_units(unit: str) -> Iterator[Slip]:
    for other, factor in _exchanges(unit):
        many, single = (factor, unit) if factor >= 1 else (1 / factor, other)
        equal = f"1 {single} = {spoken(many, other if single == unit else unit)}"
        steps = _STEPS if ("iB" in other) != ("iB" in unit) else ""
        yield Slip(
            other,
            factor,
            f"That would be right in **{other}**. The question asks for **{unit}**, "
            f"and {equal}.{steps}",
        )


def _wrong_way(unit: str) -> Iterator[Slip]:
    """A conversion between neighbours (GB and GiB, bytes and bits) done the wrong way round."""
    for other, factor in _exchanges(unit):
        if 0.1 < factor < 10:
            yield Slip(
                f"{other}, converted the wrong way",
                1 / factor,
                f"That fits if you turned **{other}** into **{unit}** the wrong way round: "
                "you multiplied where you should divide, or the other way about.",
            )


def _fractions(unit: str) -> Iterator[Slip]:
    if unit == "%":
        yield Slip(
            "a fraction",
            0.01,
            "That would be right as **a fraction** of one. The question asks for **percent**: "
            "multiply by 100.",
        )
        yield Slip(
            "percent, taken twice",
            100.0,
            "That is 100 times too large: **percent, taken twice**. Multiply by 100 once.",
        )
    elif unit in _PLAIN:
        yield Slip(
            "percent",
            100.0,
            "That would be right in **percent**. The question asks for a plain number: "
            "divide by 100.",
        )


def _thousands() -> Iterator[Slip]:
    """Powers of a thousand that no unit explains: a prefix was lost on the way."""
    for many, prefix in _PREFIX.items():
        for factor, size, happened in (
            (many, "large", "slipped in"),
            (1 / many, "small", "gone missing"),
        ):
            name = f"{many:,.0f} times too {size}"
            yield Slip(
                name,
                factor,
                f"That is **{name}**: a *{prefix}* has {happened} on the way. "
                "Follow the prefixes through your calculation.",
            )
