"""Predictions: a guess before the figure, and what the law says about it afterwards.

A guess costs nothing and is never marked. The first one is what counts; a later one is kept too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kitchenlib.exercises.cards import ASK, RIGHT, Card, Text, spoken, written
from kitchenlib.exercises.checking import asked
from kitchenlib.exercises.reading import Option, Unreadable, as_number, lettered, pick
from kitchenlib.exercises.slips import WHOLE

NEAR = 0.1  # relative: a guess this near is called right
RIGHT_SIZE = 1.5  # a guess within this factor did not miss what the remarks are about


@dataclass(frozen=True)
class Prediction:
    """A question asked before the numbers are shown.

    Attributes:
        key: its name in the notebook.
        prompt: the question, in Markdown. For a number it names the unit.
        right: what the law says, a value or a zero-argument function: the name of the right
            option, or a number.
        why: the reason, said after the figure. ``{right}`` stands for what the law says.
        options: what to choose from; each wrong one carries a remark.
        unit: of the number asked for, where there are no options.
        low, high: remarks to a number that was guessed too low or too high.
        judge: who says what is right: "The law says", or "The measurement says".
    """

    key: str
    prompt: Text
    right: Any
    why: Text
    options: Sequence[Option] = ()
    unit: str = ""
    low: Text = ""
    high: Text = ""
    judge: str = "The law says"

    @cached_property
    def target(self) -> str | float:
        """What the law says: the name of an option, or a number."""
        return self.read(self.right() if callable(self.right) else self.right)

    def read(self, guess: Any) -> str | float:
        """The guess as it is kept; raises `reading.Unreadable` with a helpful word."""
        if self.options:
            return pick(self.options, guess)
        number = as_number(guess, self.unit)
        if number < 0:
            raise Unreadable("It cannot be less than nothing: guess 0 or more.")
        if self.unit in WHOLE and number % 1:
            raise Unreadable(f"There are no parts of {self.unit}: guess a whole number.")
        return number

    def says(self, guess: str | float) -> str:
        """A guess in words: "b) the waiter", "300 FLOP/byte"."""
        if isinstance(guess, str):
            return next(f"{c}) {o.label}" for c, o in lettered(self.options) if o.name == guess)
        return spoken(guess, self.unit)

    def meets(self, guess: str | float) -> bool:
        """Whether the law agrees with the guess, as well as a guess can be expected to."""
        if isinstance(guess, str) or isinstance(self.target, str):
            return guess == self.target
        return abs(guess - self.target) <= NEAR * abs(self.target)

    def remark(self, guess: str | float) -> str:
        """What to say to a guess that missed."""
        if isinstance(guess, str) or isinstance(self.target, str):
            return written(next(o.remark for o in self.options if o.name == guess))
        distance = _distance(guess, self.target)
        if _factor(guess, self.target) < RIGHT_SIZE:
            return distance
        return f"{distance} {written(self.low if guess < self.target else self.high)}".strip()

    def ask(self) -> Card:
        """The question as a card: what a reader without a kernel sees of the form."""
        answer = '"a"' if self.options else "100"
        unit = f" (in {self.unit})" if self.unit else ""
        how = (
            f"Run this cell to give your guess{unit}, or write it into the code, for example "
            f'`predict("{self.key}", {answer})`. A wrong guess costs nothing.'
        )
        return Card("Predict", f"{asked(self.prompt, self.options)}\n\n{how}", ASK)

    def remembered(self, guess: str | float, first: str | float) -> Card:
        """Said when a guess was given."""
        before = "" if guess == first else f" Your first prediction was **{self.says(first)}**."
        words = f"**{self.says(guess)}**.{before} Read on to see what is right."
        return Card("Your prediction is remembered", words, ASK)

    def look_back(self, guesses: Sequence[str | float]) -> Card:
        """Hold the guesses, oldest first, against the law: gently, and saying why."""
        law = f"{self.judge}: **{self.says(self.target)}**. {self._reason()}"
        if not guesses:
            invitation = (
                "You made no prediction here. Next time, guess before you look: a guess, even a "
                "wrong one, makes what follows easier to remember."
            )
            return Card(self.judge.replace("The", "What the", 1), f"{law}\n\n{invitation}", ASK)
        first, last = guesses[0], guesses[-1]
        words = f"You predicted **{self.says(first)}**."
        if last != first:
            words = f"You predicted **{self.says(first)}**, and later **{self.says(last)}**."
        if self.meets(first):
            return Card("You saw it coming", f"{words}\n\n{law}", RIGHT)
        title = "You came to it" if self.meets(last) else f"{self.judge} something else"
        return Card(title, f"{words} {self.remark(first)}\n\n{law}", ASK)

    def _reason(self) -> str:
        return written(self.why).replace("{right}", self.says(self.target))


def _distance(guess: float, right: float) -> str:
    """How far a guessed number is from the law's, as a factor where that makes sense."""
    factor = _factor(guess, right)
    if math.isinf(factor):
        return "That is another kind of number altogether."
    way = "low" if guess < right else "high"
    if factor < RIGHT_SIZE:
        return f"The right size, a little {way}."
    return f"A factor of {spoken(float(f'{factor:.2g}'))} too {way}."


def _factor(guess: float, right: float) -> float:
    """How many times the one is the other, at least 1; infinite where one of them is 0."""
    return max(guess / right, right / guess) if guess and right else math.inf
