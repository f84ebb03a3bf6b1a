"""A bank: the questions and predictions of one notebook, and the five words to use them.

A bank module lists its pages and re-exports the words::

    BANK = Bank("01_ratio", [Question(...), Prediction(...), ...])
    check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
    solution, progress = BANK.solution, BANK.progress
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from kitchenlib.exercises.cards import ASK, HINT, QUIET, RIGHT, Card, Folded
from kitchenlib.exercises.checking import Feedback, Question, judge, repeated
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.exercises.reading import Unfinished, Unreadable, is_empty
from kitchenlib.exercises.store import Entry, Store, answers_path
from kitchenlib.inputs import UnknownName, unknown_name

if TYPE_CHECKING:
    from kitchenlib.exercises.asking import PredictionForm

Page = TypeVar("Page", Question, Prediction)


class Bank:
    """The exercises of one notebook.

    Args:
        notebook: the name under which answers are stored, as of the file: "01_ratio".
        pages: its questions and predictions, in the order of the notebook; keys differ.
        store: where answers are kept; by default the one of the working directory.
    """

    def __init__(
        self, notebook: str, pages: Iterable[Question | Prediction], store: Store | None = None
    ) -> None:
        self.notebook = notebook
        self.pages = list(pages)
        self.questions = {p.key: p for p in self.pages if isinstance(p, Question)}
        self.predictions = {p.key: p for p in self.pages if isinstance(p, Prediction)}
        if len({page.key for page in self.pages}) < len(self.pages):
            raise ValueError(f"two pages of the bank {notebook!r} share a key: give each its own")
        self._store = store

    @cached_property
    def store(self) -> Store:
        """Where answers and predictions are kept."""
        return self._store or Store(answers_path())

    def check(self, key: str, answer: Any = ...) -> Feedback:
        """Say how far `answer` is, and give a hint where it is not there yet.

        It never tells the answer and never raises for a wrong one; a `key` that no question has
        raises `UnknownName` (a ``KeyError``).
        """
        question = self._page("question", key, self.questions)
        feedback = judge(question, answer)
        if feedback.kind != "not yet":
            self.store.record(self.notebook, "answer", key, answer, feedback.kind)
        elif tried := self._answers(key):
            body = f"{feedback.body}\n\n{self._came_back(question, tried[-1])}"
            feedback = replace(feedback, body=body)
        return replace(feedback, note=self.store.notice())

    def predict(self, key: str, guess: Any = None) -> PredictionForm | Card:
        """Ask for a prediction with a form, or take it from the code: ``predict("key", "b")``."""
        prediction = self._page("prediction", key, self.predictions)
        if is_empty(guess):
            return self._form(prediction)
        return self._remember(prediction, guess)

    def look_back(self, key: str) -> Card:
        """What you predicted and what the law says about it."""
        prediction = self._page("prediction", key, self.predictions)
        return replace(prediction.look_back(self._guesses(prediction)), note=self.store.notice())

    def solution(self, key: str) -> Folded:
        """The worked solution, folded: click to open it, or ``print(solution("key"))``.

        It is folded and not left out of the notebook's outputs, so that someone who reads the
        page without a kernel can still open it, and strict nbval holds the numbers in it; and it
        is not shown openly, so that running all cells gives nothing away.
        """
        question = self._page("question", key, self.questions)
        return Folded(
            f"Worked solution of {key} (open it when you have tried)",
            question.filled(question.worked),
            QUIET,
            f'It is folded. To read it as text: `print(solution("{key}"))`',
        )

    def progress(self) -> Card:
        """Which exercises are solved and which predictions are made.

        Those under "More" count only where they were answered: you may well leave them out.
        """
        states = {page.key: self._state(page) for page in self.pages}
        asked = [key for key, q in self.questions.items() if not q.more or self._answers(key)]
        solved = [key for key in asked if states[key] == "solved"]
        made = [key for key in self.predictions if states[key] == "predicted"]
        title = f"{len(solved)} of {len(asked)} exercises solved"
        if self.predictions:
            title += f", {len(made)} of {len(self.predictions)} predictions made"
        lines = [f"- {key}: {state}" for key, state in states.items()]
        complete = len(solved) == len(asked)
        return Card(title, "\n".join(lines), RIGHT if complete else ASK, self.store.notice())

    def _page(self, kind: str, key: str, pages: dict[str, Page]) -> Page:
        if not isinstance(key, str):  # the two were given in the wrong order, perhaps
            raise unknown_name(kind, key, pages)
        if key in pages:
            return pages[key]
        page = next((page for page in self.pages if page.key == key), None)
        if isinstance(page, Prediction):
            raise UnknownName(f'"{key}" is a prediction: use predict("{key}"), look_back("{key}")')
        if isinstance(page, Question):
            raise UnknownName(f'"{key}" is a question: use check("{key}", your_answer)')
        raise unknown_name(kind, key, pages)

    def _state(self, page: Question | Prediction) -> str:
        if isinstance(page, Prediction):
            return "predicted" if self._guesses(page) else "not predicted yet"
        if self._solved(page.key):
            return "solved"
        tried = len(self._answers(page.key))
        untouched = "under More, not answered yet" if page.more else "not answered yet"
        return {0: untouched, 1: "tried once"}.get(tried, f"tried {tried} times")

    def _answers(self, key: str) -> list[Entry]:
        return self.store.history(self.notebook, "answer", key)

    def _solved(self, key: str) -> bool:
        return any(entry.get("verdict") == "right" for entry in self._answers(key))

    def _came_back(self, question: Question, last: Entry) -> str:
        """What was answered in an earlier session, and how far it was."""
        greeting = "You have solved this one before. " if self._solved(question.key) else ""
        right = "It was right." if last.get("verdict") == "right" else "It was not right."
        return f"{greeting}{repeated(question, last['value'])}{right}"

    def _guesses(self, prediction: Prediction) -> list[str | float]:
        """The stored guesses that still make sense: a bank may have changed since."""
        guesses = []
        for entry in self.store.history(self.notebook, "prediction", prediction.key):
            try:
                guesses.append(prediction.read(entry["value"]))
            except (Unreadable, Unfinished):
                continue
        return guesses

    def _remember(self, prediction: Prediction, guess: Any) -> Card:
        try:
            read = prediction.read(guess)
        except Unreadable as trouble:
            return Card("Not a prediction yet", str(trouble), HINT)
        self.store.record(self.notebook, "prediction", prediction.key, read)
        said = prediction.remembered(read, self._guesses(prediction)[0])
        return replace(said, note=self.store.notice())

    def _form(self, prediction: Prediction) -> PredictionForm | Card:
        guesses = self._guesses(prediction)
        try:
            from kitchenlib.exercises.asking import PredictionForm  # loads ipywidgets
        except ImportError:
            return prediction.ask()
        earlier = guesses[-1] if guesses else None
        return PredictionForm(prediction, earlier, lambda guess: self._remember(prediction, guess))
