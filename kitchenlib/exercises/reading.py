"""Reading answers: whatever was typed becomes what can be compared, or a helpful word.

A number may come as any of Python's and NumPy's numbers, several as a list, a tuple or an array,
a choice by letter, name or text, a function as itself. Anything else raises `Unreadable`, whose
message says what it is and what is wanted, in the unit of the question.
"""

from __future__ import annotations

import dis
import math
import numbers
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from kitchenlib.exercises.cards import Text


class Unreadable(Exception):
    """An answer of another type than the question asks for; the message says it helpfully."""


class Unfinished(Exception):
    """An answer that still holds the placeholder ``...``."""


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_POINT_OR_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_IDLE = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


@dataclass(frozen=True)
class Option:
    """One of the options of a choice.

    Attributes:
        name: a short word; ``right`` names the right option by it.
        text: what the reader sees; the name where it is empty.
        remark: what to say to someone who chose this option, if it is a wrong one.
    """

    name: str
    text: str = ""
    remark: Text = ""

    @property
    def label(self) -> str:
        """What the reader sees."""
        return self.text or self.name


@dataclass(frozen=True)
class Call:
    """One call of a function: its arguments, shown with the names that the question gives them."""

    names: tuple[str, ...]
    args: tuple[Any, ...]

    def __str__(self) -> str:
        shown = (f"{v:_}" if isinstance(v, int) else repr(v) for v in self.args)
        return "`" + ", ".join(f"{n}={v}" for n, v in zip(self.names, shown, strict=False)) + "`"


def is_empty(answer: Any) -> bool:
    """Whether nothing has been answered yet: ``...``, ``None``, an empty text or list."""
    if answer is None or answer is ...:
        return True
    return isinstance(answer, (str, list, tuple)) and not (
        answer.strip() if isinstance(answer, str) else answer
    )


def as_number(answer: Any, unit: str = "") -> float:
    """One finite number out of whatever was answered; raises `Unreadable`, `Unfinished`.

    Python and NumPy numbers, fractions, decimals and arrays without dimensions are numbers.
    """
    if answer is ... or answer is None:
        raise Unfinished
    if getattr(answer, "shape", None) == () and hasattr(answer, "item"):
        if np.ma.is_masked(answer):
            raise Unreadable("That is a masked value of an array: it is missing, which is not 0.")
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, (numbers.Real, Decimal)):
        raise Unreadable(_not_a_number(answer, f" in {unit}" if unit else ""))
    try:
        number = float(answer)
    except OverflowError:
        number = math.inf
    except ValueError:  # Decimal's signalling NaN
        number = math.nan
    if math.isnan(number):
        raise Unreadable(
            "That is NaN, *not a number*: somewhere a value is missing, or zero was divided by "
            "zero or infinity subtracted from itself."
        )
    if math.isinf(number):
        raise Unreadable("That is infinite. Was something divided by zero?")
    return number


def typed_number(text: str) -> float:
    """The number typed into a field; raises `Unreadable` where it could mean another one.

    A comma is accepted between thousands. Half of the world writes 1,5 for one and a half and
    1.000 for a thousand: what would be read wrongly is asked about.

    >>> typed_number("1,200"), typed_number("24.4"), typed_number("1.2e3")
    (1200.0, 24.4, 1200.0)
    """
    text = text.strip()
    if _POINT_OR_THOUSANDS.fullmatch(text):
        shorter = text.rstrip("0").rstrip(".")
        decimal = shorter if shorter != text else f"{text}0"
        whole = text.replace(".", "")
        raise Unreadable(f"{text} can be read in two ways. Write {whole} or {decimal}.")
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif "," in text:
        raise Unreadable("Use a point for decimals, as in 2.5. A comma goes between thousands.")
    try:
        return float(text)
    except ValueError:
        raise Unreadable("Type the number alone, for example 1200, or 1.2e3.") from None


def _not_a_number(answer: Any, in_unit: str) -> str:
    wanted = f"Give one number{in_unit}."
    if isinstance(answer, str):
        if re.search(r"\d", answer):
            return (
                f"That is text, for it stands in quotes. Give the number alone{in_unit}, "
                "without quotes and without the unit: the question already names it."
            )
        return f"That is text. {wanted}"
    if isinstance(answer, bool):
        return f"`True` and `False` are not an amount of anything. {wanted}"
    if isinstance(answer, complex):
        return f"That is a complex number: was a root taken of something negative? {wanted}"
    if callable(answer):
        return f"That is a function that has not been called yet. {wanted}"
    count = length(answer)
    if count is not None:
        return f"That is a collection of {count}. {wanted}"
    return f"That is an object of type `{type(answer).__name__}`. {wanted}"


def lettered(options: Sequence[Option]) -> list[tuple[str, Option]]:
    """The options with their letters: a, b, c ..."""
    return list(zip(string.ascii_lowercase, options, strict=False))


def pick(options: Sequence[Option], answer: Any) -> str:
    """The name of the option that `answer` means, by letter, name or text; or `Unreadable`."""
    last = lettered(options)[-1][0]
    if isinstance(answer, str):
        wanted = _tidy(answer)
        for option in options:
            if wanted in (_tidy(option.name), _tidy(option.label)):
                return option.name
        for letter, option in lettered(options):
            if wanted in (letter, _tidy(f"{letter} {option.label}")):
                return option.name
    raise Unreadable(f'Answer with the letter of an option, in quotes: `"a"` to `"{last}"`.')


def as_word(answer: Any) -> str:
    """A word without its case, article and punctuation: "The waiter." is "waiter"."""
    if not isinstance(answer, str):
        raise Unreadable("Answer with a word, in quotes.")
    return re.sub(r"^(the|an?) ", "", _tidy(answer))


def as_series(answer: Any, wanted: int, unit: str) -> list[float]:
    """So many numbers: a list, a tuple or an array with one dimension."""
    count = length(answer)
    if count is None or isinstance(answer, (str, dict, set)):
        raise Unreadable(f"Give a list of {wanted} numbers: `[..., ...]`.")
    if count != wanted:
        raise Unreadable(f"That is a collection of {count}. Give {wanted} numbers.")
    read = []
    for position, value in enumerate(answer, 1):
        try:
            read.append(as_number(value, unit))
        except Unreadable as trouble:
            raise Unreadable(f"Number {position} of {count}: {trouble}") from None
    return read


def as_outputs(answer: Any, calls: Sequence[Call], unit: str) -> list[float]:
    """What a function gives for each of the calls that it is tried with."""
    if not callable(answer):
        raise Unreadable("Give the function itself, by its name and without calling it.")
    outputs: list[float] = []
    for call in calls:
        try:
            returned = answer(*call.args)
        except (Exception, SystemExit) as error:  # the reader's code may raise anything
            told = f"it stops with {type(error).__name__}: {error}".rstrip(": ")
            raise Unreadable(f"For {call} {told}.") from None
        if not outputs and (returned is ... or (returned is None and _does_nothing(answer))):
            raise Unfinished
        if returned is None and not outputs:
            raise Unreadable(
                "Your function returns nothing. Did you `print` where you should `return`?"
            )
        try:
            outputs.append(as_number(returned, unit))
        except (Unfinished, Unreadable) as trouble:
            told = str(trouble) or "it returns nothing."
            raise Unreadable(f"For {call}: {told}") from None
    return outputs


def _does_nothing(function: Any) -> bool:
    """Whether the body is still empty: ``...``, ``pass`` or a docstring alone."""
    code = getattr(function, "__code__", None)
    return code is not None and {step.opname for step in dis.get_instructions(code)} <= _IDLE


def _tidy(word: str) -> str:
    """Letters and digits only, one case, single spaces: "The waiter." is "the waiter"."""
    return " ".join(re.findall(r"\w+", word.casefold()))


def length(answer: Any) -> int | None:
    """How many things `answer` holds; None if it is not that kind of thing."""
    try:
        return len(answer)
    except Exception:  # most have no length; a strange one may raise anything
        return None
