"""Questions, and the ladder that an answer climbs.

A question reads like a page of a workbook::

    Question(
        key="ridge",
        prompt="How many FLOP per byte must a job ask of an H100 to keep its chef busy? "
        "Answer in FLOP/byte.",
        right=lambda: kl.chip("H100 SXM").ridge("bf16"),
        unit="FLOP/byte",
        mistakes=[
            Mistake("upside down", lambda: 1 / kl.chip("H100 SXM").ridge("bf16"),
                    "You divided the waiter by the chef. ..."),
            ...
        ],
        nudge="How many bytes arrive in a second, and how many operations could be done in it?",
        why="Below {right} the waiter sets the pace, above it the chef.",
        worked="Divide the peak by the bandwidth: ...",
    )

The kind of answer follows from the page. With ``options`` it is a choice; with ``given`` a
function, compared with the specification ``right`` on inputs drawn from a fixed seed, so that a
constant or a list of special cases fails; with a ``right`` that is text, a word; with one that is
a list, as many numbers; else one number. Nothing is typed twice: ``right``, the values of the
mistakes and, as zero-argument functions, all texts are computed when they are needed.

`judge` is the ladder, after the exercises of mitmath/18S191: not yet, not an answer (wrong type),
a known mistake by name, right but in another unit, close, a nudge, right and why. The first rung
that fits is the feedback, and none of them tells the answer.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from kitchenlib.exercises.cards import HINT, QUIET, RIGHT, Card, Text, spoken, written
from kitchenlib.exercises.reading import (
    Call,
    Option,
    Unfinished,
    Unreadable,
    as_number,
    as_outputs,
    as_series,
    as_word,
    is_empty,
    length,
    lettered,
    pick,
)
from kitchenlib.exercises.slips import find_slip

Kind = Literal["right", "not yet", "wrong type", "mistake", "wrong unit", "close", "unrecognised"]
Reading = str | list[float]
"""An answer as it is compared: the name of an option, a word, or the numbers it holds."""

DRAWS = 12  # random inputs on which a function is compared with its specification
CLOSE = 0.1  # relative: what counts as close


@dataclass(frozen=True)
class Mistake:
    """A mistake that people make, by name, with the answer it leads to and a hint of its own.

    Attributes:
        name: the slip in a few words ("upside down").
        value: the wrong answer: a value, or a zero-argument function that computes it. For a
            function question, the wrong function; for a word, the wrong word.
        hint: what to look at next, in Markdown. It does not tell the right answer.
        when: for a mistake with many faces ("less than 1"), a test of the answer (a number, a
            list or a word). `value` is then an example of it.
    """

    name: str
    value: Any
    hint: Text
    when: Callable[[Any], bool] | None = None


@dataclass(frozen=True)
class Question:
    """One exercise. See the module's text for how it reads and which kinds there are.

    Attributes:
        key: its name in the notebook.
        prompt: the question, in Markdown. It names the unit.
        right: the right answer: a value or a zero-argument function that computes it; the
            specification itself where `given` is set.
        why: said to a right answer.
        worked: the worked solution.
        nudge: a first push, for a wrong answer that nobody foresaw.
        mistakes: the known ones, at least three. A choice takes them from its options' remarks.
        unit: the unit of the number(s) asked for: "GB", "FLOP/byte", "ms", "%", "tokens", "".
        tolerance: relative; 0 for a count.
        within: absolute, in the question's unit; the wider of the two holds.
        options: makes it a choice.
        accept: other words that are as good as `right`.
        given: makes it a function question: takes a ``random.Random``, returns the arguments.
            Draw round numbers, for they are shown, and from all the cases that differ.
        also: cases that a function is tried with besides those drawn: the arguments of each.
        more: it stands under "More": `Bank.progress` counts it only where it was answered.

    In `why` and `worked`, ``{right}`` stands for the right answer with its unit.
    """

    key: str
    prompt: Text
    right: Any
    why: Text
    worked: Text
    nudge: Text
    mistakes: Sequence[Mistake] = ()
    unit: str = ""
    tolerance: float = 0.01
    within: float = 0.0
    options: Sequence[Option] = ()
    accept: Sequence[str] = ()
    given: Callable[[random.Random], Any] | None = None
    also: Sequence[tuple[Any, ...]] = ()
    more: bool = False

    @cached_property
    def kind(self) -> Literal["choice", "function", "word", "number", "numbers"]:
        """What is asked for."""
        if self.options:
            return "choice"
        if self.given:
            return "function"
        right = _computed(self.right)
        if isinstance(right, str):
            return "word"
        return "numbers" if length(right) is not None else "number"

    @cached_property
    def target(self) -> Reading:
        """The right answer, read as an answer is."""
        return self.read(self.right if self.given else _computed(self.right))

    @cached_property
    def calls(self) -> list[Call]:
        """What a function is tried with: the same for everyone, and listed nowhere."""
        if self.given is None:
            return []
        names = tuple(inspect.signature(self.right).parameters)
        rng = random.Random(self.key)
        tried = [*(self.given(rng) for _ in range(DRAWS)), *self.also]
        return [Call(names, args if isinstance(args, tuple) else (args,)) for args in tried]

    @cached_property
    def known_mistakes(self) -> tuple[Mistake, ...]:
        """The mistakes of the page, those behind wrong options among them."""
        wrong = [o for o in self.options if o.name != self.target]
        return (*self.mistakes, *(Mistake(o.label, o.name, o.remark) for o in wrong))

    def read(self, answer: Any) -> Reading:
        """`answer` as it is compared; raises `Unreadable` or `Unfinished`."""
        if self.kind == "choice":
            return pick(self.options, answer)
        if self.kind == "word":
            word = as_word(answer)
            accepted = word in map(as_word, self.accept)
            return as_word(_computed(self.right)) if accepted else word
        if self.kind == "number":
            return [as_number(answer, self.unit)]
        if self.kind == "numbers":
            return as_series(answer, len(_computed(self.right)), self.unit)
        return as_outputs(answer, self.calls, self.unit)

    def agrees(self, given: Reading, other: Reading) -> bool:
        """Whether two readings are the same answer, within the tolerance of the question."""
        if isinstance(given, str) or isinstance(other, str):
            return given == other
        return all(self.near(g, o) for g, o in paired(given, other))

    def near(self, given: float, right: float) -> bool:
        """Whether one number is as good as another."""
        slack = max(self.tolerance, 1e-9) * abs(right)  # 1e-9: 0.1 + 0.2 is 0.3
        return abs(given - right) <= max(slack, self.within)

    def says(self, reading: Reading) -> str:
        """A reading as words: the numbers with their unit, the option's text."""
        if isinstance(reading, list):
            return ", ".join(spoken(value, self.unit) for value in reading)
        return next((o.label for o in self.options if o.name == reading), reading)

    def filled(self, text: Text) -> str:
        """`text` with the right answer in place of ``{right}``."""
        told = written(text)
        return told.replace("{right}", self.says(self.target)) if "{right}" in told else told


@dataclass(frozen=True, repr=False)
class Feedback(Card):
    """What `judge` says. ``kind`` is the rung, ``name`` the mistake or the unit it recognised."""

    kind: Kind = "unrecognised"
    name: str = ""

    @property
    def ok(self) -> bool:
        """Whether the answer was right."""
        return self.kind == "right"


def judge(question: Question, answer: Any) -> Feedback:
    """Let `answer` climb the ladder of `question`. Never raises, whatever the answer is."""
    try:
        if is_empty(answer):
            return not_yet(question)
        given = question.read(answer)
    except Unfinished:
        return not_yet(question)
    except Unreadable as trouble:
        return Feedback(_PLEASE[question.kind], str(trouble), HINT, kind="wrong type")
    except Exception as error:  # an object of the reader's own may raise anything
        words = f"Reading that stops with {type(error).__name__}."
        return Feedback(_PLEASE[question.kind], words, HINT, kind="wrong type")
    if question.agrees(given, question.target):
        return _feedback(question, given, "Right", question.filled(question.why), "right")
    return (
        _known_mistake(question, given)
        or _another_unit(question, given)
        or _suspected_mistake(question, given)
        or _close(question, given)
        or _feedback(question, given, "Not right yet", written(question.nudge), "unrecognised")
    )


_PLEASE = {
    "number": "A number, please",
    "numbers": "A list of numbers, please",
    "choice": "One of the options, please",
    "word": "A word, please",
    "function": "A function that runs, please",
}


def not_yet(question: Question) -> Feedback:
    """The first rung: the question itself, and where its answer goes."""
    place = {
        "number": "Put your number in place of the `...` and run the cell again.",
        "numbers": "Put your list of numbers in place of the `...` and run the cell again.",
        "choice": "Put the letter, in quotes, in place of the `...` and run the cell again.",
        "word": "Put your word, in quotes, in place of the `...` and run the cell again.",
        "function": "Finish the function, and run the cell again.",
    }[question.kind]
    body = asked(question.prompt, question.options)
    return Feedback("Not answered yet", f"{body}\n\n{place}", QUIET, kind="not yet")


def repeated(question: Question, kept: Any) -> str:
    """Markdown that repeats an earlier answer, as `store.plain` has kept it."""
    if question.kind == "function" and isinstance(kept, str):
        return f"Your last answer was\n\n```\n{kept.rstrip()}\n```\n\n"
    try:
        words = f"**{question.says(question.read(kept))}**"
    except (Unreadable, Unfinished):  # never more than what was typed
        words = f"`{kept!r:.80}`"
    return f"Your last answer was {words}. "


def asked(prompt: Text, options: Sequence[Option]) -> str:
    """A prompt with its lettered options, in Markdown."""
    lines = [f"{letter}) {o.label}" for letter, o in lettered(options)]
    return "\n\n".join([written(prompt), *(["\n".join(lines)] if lines else [])])


def _known_mistake(question: Question, given: Reading) -> Feedback | None:
    for mistake in question.known_mistakes:
        if question.agrees(given, reading_of(question, mistake)):
            return _mistaken(question, given, mistake)
    return None


def _suspected_mistake(question: Question, given: Reading) -> Feedback | None:
    """A mistake with many faces comes after the units, which are the better guess."""
    answer = given[0] if question.kind == "number" else given
    for mistake in question.known_mistakes:
        if mistake.when is not None and mistake.when(answer):
            return _mistaken(question, given, mistake)
    return None


def _another_unit(question: Question, given: Reading) -> Feedback | None:
    slip = find_slip(question.unit, paired(given, question.target), question.tolerance)
    if slip is None:
        return None
    return _feedback(question, given, "Another unit", slip.words, "wrong unit", slip.name)


def _close(question: Question, given: Reading) -> Feedback | None:
    pairs = paired(given, question.target)
    if not pairs or not all(math.isclose(g, r, rel_tol=CLOSE) for g, r in pairs):
        return None
    left = "Something small is left out, counted twice or rounded too early."
    if question.tolerance == 0:
        left = "The count must be exact: something small is left out or counted twice."
    return _feedback(question, given, "Close", f"{left} {written(question.nudge)}", "close")


def _mistaken(question: Question, given: Reading, mistake: Mistake) -> Feedback:
    hint = written(mistake.hint)
    # The name of a wrong option is the answer itself, which `_feedback` repeats anyway.
    title = "Not this one" if question.options else f"A known slip: {mistake.name}"
    return _feedback(question, given, title, hint, "mistake", mistake.name)


def _feedback(
    question: Question, given: Reading, title: str, words: str, kind: Kind, name: str = ""
) -> Feedback:
    """A card that first repeats the answer: the cell shows how it was computed, not what it is."""
    body = f"{_repeated(question, given, kind)}\n\n{words}"
    return Feedback(title, body, RIGHT if kind == "right" else HINT, kind=kind, name=name)


def _repeated(question: Question, given: Reading, kind: Kind) -> str:
    if isinstance(given, str) or question.kind == "number":
        return f"Your answer: {question.says(given)}"
    if kind == "right":
        if question.kind == "function":
            tried = len(question.calls)
            return f"Your function agrees with the law on all {tried} inputs that were tried."
        return f"Your answer: {question.says(given)}"
    pairs = paired(given, question.target)
    off = [i for i, (g, r) in enumerate(pairs) if not question.near(g, r)]
    if question.kind == "numbers":
        return f"Not right yet: number {_listed(i + 1 for i in off)} of {len(given)}."
    return f"For {question.calls[off[0]]} your function gives {spoken(given[off[0]])}."


def paired(given: Reading, other: Reading) -> list[tuple[float, float]]:
    """The numbers of two readings side by side; none where they are words."""
    if isinstance(given, str) or isinstance(other, str):
        return []
    return list(zip(given, other, strict=True))


def reading_of(question: Question, mistake: Mistake) -> Reading:
    """The wrong answer that `mistake` leads to, read as an answer is."""
    if question.options:
        return str(mistake.value)
    return question.read(mistake.value if question.given else _computed(mistake.value))


def _computed(value: Any) -> Any:
    return value() if callable(value) else value


def _listed(items: Any) -> str:
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last
