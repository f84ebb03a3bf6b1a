"""Every bank of questions keeps the promises that the notebooks make about it."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kitchenlib import exercises
from kitchenlib.exercises import Bank, Prediction, Question, Store
from kitchenlib.exercises.cards import Card, written
from kitchenlib.exercises.checking import judge, paired, reading_of
from kitchenlib.exercises.reading import lettered
from kitchenlib.exercises.slips import slips
from tests.example_bank import BANK as EXAMPLE

FRAMEWORK = {"asking", "bank", "cards", "checking", "predicting", "reading", "slips", "store"}
MODULES = [
    importlib.import_module(f"kitchenlib.exercises.{module.name}")
    for module in pkgutil.iter_modules(exercises.__path__)
    if module.name not in FRAMEWORK
]
BANKS: list[Bank] = [EXAMPLE, *(module.BANK for module in MODULES)]
CONSTANTS = (0, 1, 2, 10, 42, 100, 1000, -1, 0.5, 1e9)


KERNEL = """
from ipykernel.zmqshell import ZMQInteractiveShell
for words in ZMQInteractiveShell().magics_manager.magics.values():
    print(*words)
"""


@pytest.fixture(scope="module")
def magic_words(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a kernel takes for a command of its own where a line begins with it."""
    home = os.environ | {"IPYTHONDIR": str(tmp_path_factory.mktemp("ipython"))}
    command = [sys.executable, "-c", KERNEL]
    said = subprocess.run(command, env=home, capture_output=True, text=True, check=True)
    return set(said.stdout.split())


def pages(kind: type) -> list[Any]:
    """Every page of a kind in every bank, as parameters with readable names."""
    return [
        pytest.param(page, id=f"{bank.notebook}:{page.key}")
        for bank in BANKS
        for page in bank.pages
        if isinstance(page, kind)
    ]


each_bank = pytest.mark.parametrize("bank", BANKS, ids=lambda bank: bank.notebook)
each_question = pytest.mark.parametrize("question", pages(Question))
each_prediction = pytest.mark.parametrize("prediction", pages(Prediction))


def right_answer(question: Question) -> Any:
    """The right answer as a reader would give it."""
    if question.given or not callable(question.right):
        return question.right
    return question.right()


def wrong_answer(question: Question, value: Any) -> Any:
    """What a mistake leads to, as a reader would give it."""
    return value() if callable(value) and not question.given else value


def shaped(question: Question, value: Any) -> Any:
    """One value in the shape that the question asks for: a list of it, a constant function."""
    if question.kind == "function":
        return lambda *_: value
    return [value] * len(question.target) if question.kind == "numbers" else value


def names_unit(prompt: str, unit: str) -> bool:
    """Whether a prompt says what to answer in: "FLOP/byte" or "FLOP per byte"."""
    spelled = re.sub("/s$", " per second", unit).replace("/", " per ")
    names = (unit, spelled, "percent") if unit == "%" else (unit, spelled)
    return any(name in prompt for name in names)


def as_html(output: Any) -> str:
    """What a page without a kernel shows."""
    if isinstance(output, Card):
        return output._repr_html_()
    return str(output._repr_mimebundle_()["text/html"])


def guesses(question: Question) -> list[Any]:
    """Answers given without reading the question: constants, other answers, chance."""
    others = [
        value
        for bank in BANKS
        for other in bank.questions.values()
        if other is not question and other.kind != "function"
        for value in (other.target if isinstance(other.target, list) else [other.target])
    ]
    rng = Random(question.key)
    drawn = [float(f"{10 ** rng.uniform(-6, 15):.3g}") for _ in range(100)]
    return [*CONSTANTS, *others, *drawn]


# Whole banks


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_bank_module_exports_its_five_words_and_is_named_as_its_notebook(module: Any) -> None:
    for word in ("check", "predict", "look_back", "solution", "progress"):
        assert getattr(module, word) == getattr(module.BANK, word)
    assert module.BANK.notebook.split("_", 1)[1] == module.__name__.rsplit(".", 1)[1]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_word_of_a_bank_is_a_magic_of_ipython(module: Any, magic_words: set[str]) -> None:
    """``recall(...)`` was one: in a kernel without the word it put cells into the notebook."""
    words = {w for w, v in vars(module).items() if getattr(v, "__self__", None) is module.BANK}
    assert len(words) == 5
    assert {"recall", "timeit", "clear"} <= magic_words
    assert not words & magic_words


@each_bank
def test_an_untouched_notebook_writes_nothing_and_repeats_itself(
    bank: Bank, tmp_path: Path
) -> None:
    def run() -> list[Any]:
        fresh = Bank(bank.notebook, bank.pages, Store(tmp_path / "answers.json"))
        outputs: list[Any] = [fresh.progress()]
        for key in fresh.questions:
            outputs += [fresh.check(key, ...), fresh.solution(key)]
        for key in fresh.predictions:
            outputs += [fresh.predict(key), fresh.look_back(key)]
        return [(repr(output), as_html(output)) for output in outputs]

    assert run() == run()
    assert not list(tmp_path.iterdir())


@each_bank
def test_answering_everything_solves_everything(bank: Bank) -> None:
    fresh = Bank(bank.notebook, bank.pages, Store())
    for key, question in fresh.questions.items():
        assert fresh.check(key, right_answer(question)).ok
    for key, prediction in fresh.predictions.items():
        fresh.predict(key, prediction.target)
        assert fresh.look_back(key).title == "You saw it coming"
    questions, predictions = len(fresh.questions), len(fresh.predictions)
    title = f"{questions} of {questions} exercises solved"
    if predictions:
        title += f", {predictions} of {predictions} predictions made"
    assert fresh.progress().title == title


# Questions


@each_question
def test_the_page_is_complete(question: Question) -> None:
    for text in (question.prompt, question.why, question.worked):
        assert written(text)
    for text in (question.nudge, *(m.hint for m in question.known_mistakes)):
        assert written(text)
        assert "{right}" not in written(text), "only why and worked may tell the answer"
    assert len(question.known_mistakes) >= 3
    assert len({m.name for m in question.known_mistakes}) == len(question.known_mistakes)


@each_question
def test_the_prompt_names_the_unit(question: Question) -> None:
    assert names_unit(written(question.prompt), question.unit)


@each_question
def test_the_worked_solution_arrives_at_the_right_answer(question: Question) -> None:
    worked = question.filled(question.worked)
    if question.kind == "number":
        assert question.says(question.target) in worked
    elif question.kind in ("choice", "word"):
        names = {str(question.target), question.says(question.target)}
        assert any(name.casefold() in worked.casefold() for name in names)


@each_question
def test_the_right_answer_passes_and_says_why(question: Question) -> None:
    feedback = judge(question, right_answer(question))
    assert feedback.ok
    assert question.filled(question.why) in feedback.body


@each_question
def test_every_known_mistake_gets_its_own_hint_and_no_other(question: Question) -> None:
    for mistake in question.known_mistakes:
        feedback = judge(question, wrong_answer(question, mistake.value))
        assert (feedback.kind, feedback.name) == ("mistake", mistake.name)
        assert written(mistake.hint) in feedback.body


@each_question
def test_mistakes_differ_from_the_right_answer_and_from_each_other(question: Question) -> None:
    """No answer may lie within the tolerance of two of them."""
    readings = [question.target, *(reading_of(question, m) for m in question.known_mistakes)]
    for i, one in enumerate(readings):
        for other in readings[:i]:
            assert one != other
            assert not paired(one, other) or any(
                abs(a - b) > question.tolerance * (abs(a) + abs(b)) + 2 * question.within
                for a, b in paired(one, other)
            )


@each_question
def test_answers_given_without_reading_the_question_fail(question: Question) -> None:
    passed = [g for g in guesses(question) if judge(question, shaped(question, g)).ok]
    if question.kind in ("function", "numbers"):
        assert not passed  # no constant may pass
    elif question.kind == "number":
        (right,) = paired(question.target, question.target)[0][:1]
        allowed = max(question.tolerance * abs(right), question.within, 1e-9 * abs(right))
        assert all(abs(g - right) <= allowed * 1.0001 for g in passed)
        assert len(set(passed)) <= 3, "so wide a tolerance that chance passes"
    else:
        assert set(passed) <= {question.target}


@each_question
def test_no_wrong_answer_is_told_the_right_one(question: Question) -> None:
    right = question.says(question.target).removesuffix(question.unit).strip()
    if question.kind == "function" or (right.isdigit() and len(right) < 3):
        return  # "2" or "80" stands in many an innocent sentence
    told = re.compile(rf"(?<![\w,.]){re.escape(right)}(?!\w|[,.]\d)")
    wrong = [wrong_answer(question, m.value) for m in question.known_mistakes]
    for answer in [*wrong, *(shaped(question, g) for g in guesses(question))]:
        feedback = judge(question, answer)
        assert feedback.kind in ("right", "wrong type") or not told.search(feedback.body)


@each_question
def test_a_wrong_unit_is_named(question: Question) -> None:
    right = paired(question.target, question.target)
    if not right or not any(r for r, _ in right):
        return
    for slip in slips(question.unit):
        answer: Any = [r * slip.factor for r, _ in right]
        if question.kind == "number":
            (answer,) = answer
        if question.kind == "function":
            answer = lambda *args, f=slip.factor: question.right(*args) * f  # noqa: E731
        feedback = judge(question, answer)
        if feedback.kind != "mistake":  # a known mistake is the more specific hint
            assert (feedback.kind, feedback.name) == ("wrong unit", slip.name)


@pytest.mark.parametrize("page", [*pages(Question), *pages(Prediction)])
def test_every_option_can_be_chosen_by_letter_name_and_text(page: Question | Prediction) -> None:
    for letter, option in lettered(page.options):
        shown = f"{letter}) {option.label}"
        for answer in (letter, f"{letter})", option.name, option.label, shown, shown.upper()):
            assert page.read(answer) == option.name


# Predictions


@each_prediction
def test_a_prediction_is_complete(prediction: Prediction) -> None:
    assert written(prediction.prompt)
    assert written(prediction.why)
    assert prediction.meets(prediction.target)
    if not prediction.options:
        assert names_unit(written(prediction.prompt), prediction.unit)
        assert written(prediction.low)
        assert written(prediction.high)


@each_prediction
def test_a_prediction_has_one_right_option_and_a_remark_for_every_other(
    prediction: Prediction,
) -> None:
    names = [option.name for option in prediction.options]
    assert len(set(names)) == len(names)
    assert len(names) != 1
    for option in prediction.options:
        assert len(option.label) <= 70, "a button shows one line"
        if option.name != prediction.target:
            assert written(option.remark)
            assert written(option.remark) in prediction.look_back([option.name]).body
    assert not names or names.count(str(prediction.target)) == 1


@each_prediction
def test_asking_does_not_tell_and_looking_back_does(prediction: Prediction) -> None:
    assert prediction.says(prediction.target) in prediction.look_back([]).body
    if not prediction.options:
        assert prediction.says(prediction.target) not in str(prediction.ask())


# The banks one by one


@pytest.mark.parametrize(
    "whole",
    [
        lambda tokens, bits: 16 * tokens // bits,
        lambda tokens, bits: 2 * tokens // (bits / 8),
        lambda tokens, bits: float(int(2 * tokens / (bits / 8))),
    ],
)
def test_an_intensity_in_whole_numbers_is_not_right(whole: Any) -> None:
    question = next(bank for bank in BANKS if bank.notebook == "01_ratio").questions["intensity"]
    assert {3, 5, 6} <= {bits for _, bits in (call.args for call in question.calls)}
    assert judge(question, whole).name == "whole numbers only"


def test_what_stands_under_more_is_not_missed() -> None:
    ratio = next(bank for bank in BANKS if bank.notebook == "01_ratio")
    assert [key for key, question in ratio.questions.items() if question.more] == ["powder"]
