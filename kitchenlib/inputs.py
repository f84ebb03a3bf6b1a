"""What callers hand in: a number or an array, checked once, with a message that helps.

Every public function of the library takes a plain number or a NumPy array for each size. The
readers below turn both into something safe to calculate with: a plain number stays a plain number
(fast), anything else becomes a float64 array. Whatever is wrong raises ``ValueError`` that says
what was wrong, what would be right, and the unit; an unknown name raises `UnknownName`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number = float | NDArray[np.float64]
"""A plain number or a float64 array: what the law calculates with."""

MOST = 2**53  # above it a float64 no longer tells one whole number from the next
LARGEST, SMALLEST = 1e30, 1e-30  # measurable sizes; a product of several stays finite

_T = TypeVar("_T")
_NONE: Mapping[str, str] = {}
_LISTED = 15  # names in an error message
_SHOWN = 60  # characters of a wrong value quoted back; an array's repr can fill the screen


class UnknownName(KeyError):
    """A name that is not in a catalogue. Its message lists the nearest names that are."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotes, escapes and all


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """The error for a `name` that is not among the `known` names of a `kind` ("chip", ...)."""
    plain = {_plain(candidate): candidate for candidate in known}
    wanted = _plain(str(name))
    held = [c for text, c in plain.items() if wanted and wanted in text]
    near = difflib.get_close_matches(wanted, plain, n=5, cutoff=0.5)
    matches = list(dict.fromkeys([*held[:8], *(plain[text] for text in near)]))
    if matches:
        hint = f"Did you mean: {', '.join(matches[:8])}?"
    elif len(plain) <= _LISTED:
        hint = f"Known names are: {', '.join(plain.values())}"
    else:
        some = ", ".join(list(plain.values())[:_LISTED])
        hint = f"There are {len(plain)} names, among them: {some}"
    return UnknownName(f"no {kind} is called {name!r}. {hint}")


def find(
    kind: str, name: object, known: Mapping[str, _T], aliases: Mapping[str, str] = _NONE
) -> _T:
    """What is called `name` among the `known` ones, by its own name or by one of its `aliases`.

    Where no name fits to the letter, the only one that is the same but for case, blanks, hyphens,
    underscores and a part in brackets is taken: "h100 sxm", "TPU v6e".

    Raises `UnknownName` that lists near matches.
    """
    if isinstance(name, str):
        for own in (name, aliases.get(name, name)):
            if own in known:
                return known[own]
        alike = {
            aliases.get(each, each)
            for each in (*known, *aliases)
            if _plain(name) in (_plain(each), _plain(each.partition(" (")[0]))
        }
        if len(alike) == 1:
            return known[alike.pop()]
    raise unknown_name(kind, name, known)


def _plain(name: str) -> str:
    return re.sub(r"[\s_()-]", "", name).casefold()


def wrong(name: str, value: object, wanted: str) -> ValueError:
    """The error for a `value` of argument `name`: says what is `wanted` instead."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return ValueError(f"{name} = {shown} will not do: {wanted}")


def _to_array(name: str, value: object, wanted: str) -> NDArray[np.float64]:
    if isinstance(value, (bool, np.bool_, str, bytes)) or value is None:
        raise wrong(name, value, wanted)
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        raise wrong(name, value, wanted) from None
    if array.dtype.kind not in "iuf":
        raise wrong(name, value, wanted)
    if array.size == 0:
        raise ValueError(f"{name} is an empty array: {wanted}")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite: caught below
        return array.astype(np.float64)


def _read(name: str, value: ArrayLike, wanted: str, least: float, most: float) -> Number:
    array = _to_array(name, value, wanted)
    bad = ~((array >= least) & (array <= most))  # true for NaN
    if bad.any():
        raise wrong(name, array[bad].flat[0] if array.ndim else value, wanted)
    return array if array.ndim else float(array)


def count(name: str, value: ArrayLike, unit: str, least: int = 1) -> Number:
    """A whole number of `unit`, at least `least` (tokens, guests, chips): number or array."""
    if type(value) is int and least <= value <= MOST:  # the common case, without NumPy's overhead
        return value
    wanted = f"give a whole number of {unit}, from {least} to 2**53, or an array"
    number = _read(name, value, wanted, least, MOST)
    fractional = np.not_equal(number, np.floor(number))
    if fractional.any():
        raise wrong(name, np.asarray(number)[fractional].flat[0], wanted)
    return number


def positive(name: str, value: ArrayLike, unit: str) -> Number:
    """A finite number of `unit` above zero (bytes per second, FLOP per byte): number or array."""
    if type(value) is float and SMALLEST <= value <= LARGEST:
        return value
    wanted = f"give a number of {unit}, above 0 and finite, or an array"
    return _read(name, value, wanted, SMALLEST, LARGEST)


def amount(name: str, value: ArrayLike, unit: str) -> Number:
    """A finite number of `unit`, 0 or more (dollars, seconds of waiting): number or array."""
    return _read(
        name, value, f"give a number of {unit}, 0 or more and finite, or an array", 0, LARGEST
    )


def share(name: str, value: ArrayLike, of: str) -> Number:
    """A share of `of`, above 0 and at most 1 (the whole): number or array."""
    return _read(name, value, f"give a share of {of}, above 0 and at most 1", SMALLEST, 1.0)


def real(name: str, value: ArrayLike, unit: str) -> Number:
    """A finite number of `unit` of either sign: number or array."""
    return _read(name, value, f"give a finite number of {unit}, or an array", -LARGEST, LARGEST)


def chance(name: str, value: ArrayLike, of: str) -> Number:
    """The probability of something, from 0 (never) to 1 (always): number or array."""
    return _read(name, value, f"give the probability of {of}, from 0 to 1, or an array", 0, 1)


def scalar(value: ArrayLike) -> Number:
    """A result as it is handed out: an array, or a plain ``float`` where no size was an array."""
    array = np.asarray(value, dtype=np.float64)
    return array if array.ndim else float(array)


def whole(value: ArrayLike) -> Number:
    """The same for a count: a plain ``int``, unless it is infinite."""
    number = scalar(value)
    return number if isinstance(number, np.ndarray) or np.isinf(number) else int(number)


def dimension(name: str, value: object, unit: str, least: int = 1) -> int:
    """One whole number of `unit`, as an ``int``: the shape of a model or a chip, never an array."""
    number = count(name, value, unit, least)  # type: ignore[arg-type]
    if isinstance(number, np.ndarray):
        raise wrong(name, value, f"give one whole number of {unit}, not an array")
    return int(number)


def dice(seed: int) -> np.random.Generator:
    """Random numbers, the same ones for the same `seed`: a whole number, 0 or more."""
    return np.random.default_rng(dimension("seed", seed, "seeds", least=0))


def quantity(name: str, value: object, unit: str) -> float:
    """One finite number of `unit` above zero, as a ``float``; never an array."""
    number = positive(name, value, unit)  # type: ignore[arg-type]
    if isinstance(number, np.ndarray):
        raise wrong(name, value, f"give one number of {unit}, not an array")
    return float(number)


def instance(name: str, value: object, kind: type, example: str) -> None:
    """Raise a ``ValueError`` unless `value` is a `kind`: a name given where the thing is meant."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" or kind.__name__ == "LLM" else "a"
        raise wrong(name, value, f"give {article} {kind.__name__}, for example {example}")


def broadcastable(**sizes: Number) -> None:
    """Raise a ``ValueError`` that names the arguments whose shapes do not fit each other."""
    shapes = {k: v.shape for k, v in sizes.items() if isinstance(v, np.ndarray)}
    if len(shapes) < 2:
        return
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{k} {shape}" for k, shape in shapes.items())
        raise ValueError(
            f"these arrays do not fit each other: {listed}. Give shapes that broadcast, "
            "for example context[:, None] with batch"
        ) from None
