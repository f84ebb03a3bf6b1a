"""Exercises that answer back: questions with known mistakes, predictions, worked solutions.

One module per notebook holds its bank of questions, under the notebook's name. From the bottom
up: `cards` (how it looks), `reading` (what was typed), `slips` (units), `checking` (questions and
the ladder), `predicting` and `asking` (guesses and their form), `store` (what is remembered),
`bank` (all of it together).
"""

from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.checking import Feedback, Mistake, Question
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.exercises.reading import Option
from kitchenlib.exercises.store import Store

__all__ = ["Bank", "Feedback", "Mistake", "Option", "Prediction", "Question", "Store"]
