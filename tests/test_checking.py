"""The ladder: every rung with an answer that a reader would really give."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kitchenlib.exercises import Bank, Feedback, Mistake, Question, Store
from kitchenlib.exercises.cards import Card, spoken, to_html, to_text
from kitchenlib.exercises.checking import judge
from kitchenlib.exercises.slips import slips
from kitchenlib.inputs import UnknownName
from tests.example_bank import BANDWIDTH, BANK, PEAK, floor_ms, notes, ridge


def check(key: str, answer: Any = ...) -> Feedback:
    return judge(BANK.questions[key], answer)


def plain_question(**changes: Any) -> Question:
    """A question about a GPU's memory that says as little as possible."""
    page: dict[str, Any] = {"key": "memory", "prompt": "How much, in GB?", "right": 80.0}
    page |= {"unit": "GB", "why": "Yes.", "worked": "{right}", "nudge": "Look again."}
    return Question(**(page | changes))


# Not yet


@pytest.mark.parametrize("nothing", [..., None, "", "  ", [], ()])
def test_nothing_answered_yet_repeats_the_question_quietly(nothing: Any) -> None:
    feedback = check("ridge", nothing)
    assert (feedback.kind, feedback.ok) == ("not yet", False)
    assert "Answer in FLOP/byte" in str(feedback)


def test_a_list_with_a_hole_is_not_answered_yet() -> None:
    assert check("sacks", [138, ..., 34]).kind == "not yet"


def only_a_docstring(flops: float, nbytes: float) -> None:
    """To be written."""


def only_dots(flops: float, nbytes: float) -> None: ...


@pytest.mark.parametrize("stub", [lambda flops, nbytes: ..., only_dots, only_a_docstring])
def test_an_unfinished_function_is_not_answered_yet(stub: Callable[..., Any]) -> None:
    assert check("floor", stub).kind == "not yet"


def test_a_choice_shows_its_lettered_options() -> None:
    assert "c) the chef" in str(check("bound"))


# Wrong type


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("295 FLOP/byte", "without the unit"),
        ("295.3", "without quotes"),
        ("a lot", "That is text"),
        ([295.3], "a collection of 1"),
        (np.array([295.3, 153.0]), "a collection of 2"),
        ({"ridge": 295.3}, "a collection of 1"),
        (True, "not an amount"),
        (np.bool_(False), "not an amount"),
        (295 + 0j, "complex"),
        (math.nan, "NaN"),
        (np.float32("nan"), "NaN"),
        (math.inf, "infinite"),
        (-math.inf, "infinite"),
        (10**400, "infinite"),
        (ridge, "not been called"),
        (object(), "`object`"),
    ],
)
def test_what_is_not_a_number_is_called_by_its_name(answer: Any, word: str) -> None:
    feedback = check("ridge", answer)
    assert feedback.kind == "wrong type"
    assert word in feedback.body


def test_the_wrong_type_is_told_the_unit() -> None:
    assert "in FLOP/byte" in check("ridge", "295 FLOP/byte").body


@pytest.mark.parametrize(
    "number",
    [
        295.3,
        295,
        np.float32(295.3),
        np.int64(295),
        np.array(295.3),
        Fraction(2953, 10),
        Decimal("295.3"),
    ],
)
def test_every_kind_of_number_is_a_number(number: Any) -> None:
    assert check("ridge", number).ok


@pytest.mark.parametrize("answer", [3, "e", "the cook", "a) the chef", ["c"], 0.5, True])
def test_a_choice_wants_a_letter_it_has(answer: Any) -> None:
    feedback = check("bound", answer)
    assert feedback.kind == "wrong type"
    assert '"a"` to `"d"' in feedback.body


@pytest.mark.parametrize(
    "answer",
    [
        "c",
        "C",
        "c)",
        "compute",
        "the chef",
        " The chef. ",
        "c) the chef",
        "C) THE CHEF",
        "c the chef",
    ],
)
def test_a_choice_takes_letter_name_and_text(answer: str) -> None:
    assert check("bound", answer).ok


@pytest.mark.parametrize("answer", [138, "138", {138, 69, 34}, [138, 69], [138, 69, 34, 17]])
def test_several_numbers_must_be_as_many_as_asked(answer: Any) -> None:
    feedback = check("sacks", answer)
    assert feedback.kind == "wrong type"
    assert "3 numbers" in feedback.body


def test_the_wrong_one_among_several_is_pointed_at() -> None:
    assert "Number 2 of 3: That is text" in check("sacks", [138, "69 GB", 34]).body
    assert "number 3 of 3" in check("sacks", [137.95, 68.98, 1e6]).body


def test_several_numbers_may_be_a_tuple_or_an_array() -> None:
    right = [137.95, 68.98, 34.49]
    assert check("sacks", tuple(right)).ok
    assert check("sacks", np.array(right)).ok


@pytest.mark.parametrize("answer", [3.2, "floor_ms", floor_ms(1e12, 1e12)])
def test_a_function_is_wanted_and_not_its_result(answer: Any) -> None:
    feedback = check("floor", answer)
    assert feedback.kind == "wrong type"
    assert "without calling it" in feedback.body


def test_a_function_that_stops_is_told_where_and_why() -> None:
    first = BANK.questions["floor"].calls[0].args[0]
    for function, word in (
        (lambda flops: flops, "TypeError"),
        (lambda flops, nbytes: flops / 0, "ZeroDivisionError: division by zero"),
        (lambda flops, nbytes: "3 ms", "That is text"),
        (lambda flops, nbytes: 3 if flops == first else None, "it returns nothing"),
    ):
        feedback = check("floor", function)
        assert feedback.kind == "wrong type"
        assert "For `flops=" in feedback.body
        assert word in feedback.body


def test_a_function_that_prints_and_returns_nothing_is_told_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feedback = check("floor", lambda flops, nbytes: print(flops / PEAK))
    assert feedback.kind == "wrong type"
    assert "returns nothing. Did you `print` where you should `return`?" in feedback.body


class Trap:
    """An object that lets nobody look."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("no")


class NoWayIn:
    """Three things, none of which can be had."""

    def __len__(self) -> int:
        return 3


def leaves(flops: float, nbytes: float) -> float:
    raise SystemExit


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize("key", list(BANK.questions))
@pytest.mark.parametrize(
    "answer",
    [
        Decimal("sNaN"),
        Decimal("NaN"),
        np.ma.masked,
        np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False]),
        Trap(),
        NoWayIn(),
        HOLDS_ITSELF,
        10**5000,
        leaves,
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_nothing_makes_the_ladder_fall_over(key: str, answer: Any, tmp_path: Path) -> None:
    mine = bank(Store(tmp_path / "answers.json"))
    assert mine.check(key, answer).kind == "wrong type"
    assert "Your last answer was" in mine.check(key).body


def test_a_masked_value_is_missing_and_not_0() -> None:
    missing: list[Any] = [np.ma.masked, np.ma.array(5.0, mask=True)]
    for masked in missing:
        assert "missing" in judge(plain_question(right=0.0, within=9), masked).body
    values = np.ma.array([138.0, 69.0, 34.0], mask=[False, True, False])
    assert "Number 2 of 3: That is a masked value" in check("sacks", values).body


def test_a_word_is_compared_without_case_article_and_punctuation() -> None:
    for word in ("bandwidth", " Bandwidth. ", "the memory bandwidth", "Memory-Bus"):
        assert check("waiter", word).ok
    assert check("waiter", 3.35e12).kind == "wrong type"


# Another unit


@pytest.mark.parametrize(
    ("key", "answer", "unit"),
    [
        ("notepad", notes() * 1e9, "B"),
        ("notepad", notes() * 1e3, "MB"),
        ("notepad", notes() / 1e3, "TB"),
        ("notepad", notes() * 1e9 / 2**30, "GiB"),
        ("notepad", notes() * 1e9 / 2**20, "MiB"),
        ("sacks", [137.953 * 8, 68.977 * 8, 34.488 * 8], "Gbit"),
        ("notepad", notes() * 2**30 / 1e9, "GiB, converted the wrong way"),
        ("notepad", notes() / 1e9, "1,000,000,000 times too small"),
        ("idle", 1 / ridge(), "a fraction"),
        ("ridge", PEAK / 1e12 / BANDWIDTH, "TFLOP/byte"),
        ("ridge", PEAK / (BANDWIDTH / 1e12), "FLOP/TB"),
        ("ridge", PEAK / (8 * BANDWIDTH), "FLOP/bit"),
        ("floor", lambda flops, nbytes: floor_ms(flops, nbytes) / 1e3, "s"),
        ("floor", lambda flops, nbytes: floor_ms(flops, nbytes) * 1e3, "µs"),
        ("sacks", [137953, 68977, 34488], "MB"),
    ],
)
def test_a_wrong_unit_is_named(key: str, answer: Any, unit: str) -> None:
    feedback = check(key, answer)
    assert (feedback.kind, feedback.name) == ("wrong unit", unit)
    assert f"**{unit.split(',')[0]}**" in feedback.body or unit in feedback.body


def test_the_words_for_a_unit_say_how_to_convert() -> None:
    assert "1 GB = 1,000 MB" in check("notepad", notes() * 1e3).body
    assert "1 TB = 1,000 GB" in check("notepad", notes() / 1e3).body
    assert "1 GiB = 1.074 GB" in check("notepad", notes() * 1e9 / 2**30).body
    assert "1,024" in check("notepad", notes() * 1e9 / 2**30).body
    assert "1 GB = 8 Gbit" in check("sacks", [137.953 * 8, 68.977 * 8, 34.488 * 8]).body


def test_thousands_of_counted_things_are_named() -> None:
    words = plain_question(right=41_000, unit="tokens")
    assert judge(words, 41).name == "thousand tokens"
    speed = plain_question(right=24.4, unit="tokens/s")
    assert judge(speed, 24.4 * 60).name == "tokens/min"
    share = plain_question(right=0.0034, unit="")
    assert judge(share, 0.34).name == "percent"


@pytest.mark.parametrize("unit", ["GB", "GiB", "FLOP/byte", "bytes/token", "ms", "%", "", "kg/s"])
def test_no_two_units_are_told_by_the_same_answer(unit: str) -> None:
    factors = sorted([1.0, *(slip.factor for slip in slips(unit))])
    assert len(factors) > 5
    assert all(b / a > 1.015 for a, b in pairwise(factors))


def test_a_known_mistake_is_more_specific_than_the_unit_it_looks_like() -> None:
    # 64 heads instead of 8 are a factor of 8, and so are bits instead of bytes
    assert check("notepad", notes() * 8).name == "all the heads"


def test_a_mistake_with_many_faces_comes_after_the_units() -> None:
    share = Mistake("too much", 99_999.0, "That is much.", when=lambda value: value > 1000)
    question = plain_question(mistakes=[share])
    assert judge(question, 80_000).name == "MB"
    assert judge(question, 12_345).name == "too much"


# Known mistakes, close, unforeseen, right


def test_a_known_mistake_is_named_and_has_a_hint_of_its_own() -> None:
    feedback = check("ridge", 2 * ridge())
    assert (feedback.kind, feedback.name) == ("mistake", "a sparse peak")
    assert feedback.title == "A known slip: a sparse peak"
    assert "dense" in feedback.body


def test_a_wrong_option_has_a_remark_of_its_own() -> None:
    assert "Each sack he brings" in check("bound", "a").body
    assert "whether it fits" in check("bound", "b").body


def test_a_wrong_function_is_recognised_by_all_its_values() -> None:
    def sum_of_both(flops: float, nbytes: float) -> float:
        return (flops / PEAK + nbytes / BANDWIDTH) * 1e3

    assert check("floor", sum_of_both).name == "one after the other"


@pytest.mark.parametrize("answer", [ridge() * 1.05, ridge() * 0.93])
def test_close_is_called_close(answer: float) -> None:
    feedback = check("ridge", answer)
    assert feedback.kind == "close"
    assert "rounded too early" in feedback.body


def test_a_count_must_be_exact() -> None:
    assert check("layers", 80).ok
    assert check("layers", 80.0).ok
    assert check("layers", 81).kind == "close"
    assert "exact" in check("layers", 79).body


def test_an_unforeseen_answer_gets_the_first_push() -> None:
    feedback = check("ridge", 17)
    assert (feedback.kind, feedback.title) == ("unrecognised", "Not right yet")
    assert "How many bytes arrive" in feedback.body


def test_feedback_repeats_the_number_that_a_cell_does_not_show() -> None:
    assert "Your answer: 0.003386 FLOP/byte" in check("ridge", BANDWIDTH / PEAK).body
    assert "`flops=" in check("floor", lambda flops, nbytes: 7).body
    assert "your function gives 7" in check("floor", lambda flops, nbytes: 7).body


def test_a_right_answer_is_told_why() -> None:
    feedback = check("ridge", PEAK / BANDWIDTH)
    assert (feedback.kind, feedback.ok, feedback.title) == ("right", True, "Right")
    assert "Below 295.3 FLOP/byte the waiter sets the pace" in feedback.body


@pytest.mark.parametrize(
    ("tolerance", "within", "passes", "fails"),
    [
        (0.01, 0.0, [79.3, 80.7], [79.1, 80.9]),
        (0.0, 0.5, [79.5, 80.5], [79.4, 80.6]),
        (0.0, 0.0, [80, 80 + 1e-9], [80.001]),
    ],
)
def test_the_tolerance_is_relative_absolute_or_none(
    tolerance: float, within: float, passes: list[float], fails: list[float]
) -> None:
    question = plain_question(tolerance=tolerance, within=within)
    assert all(judge(question, answer).ok for answer in passes)
    assert not any(judge(question, answer).ok for answer in fails)


# Functions cannot be guessed


def test_a_function_that_knows_a_few_cases_fails() -> None:
    calls = BANK.questions["floor"].calls
    table = {call.args: floor_ms(*call.args) for call in calls[:-1]}
    assert not check("floor", lambda *args: table.get(args, 0.0)).ok
    assert not check("floor", lambda flops, nbytes: flops / PEAK * 1e3).ok
    assert check("floor", lambda a, b: max(a / PEAK, b / BANDWIDTH) * 1000).ok


def test_a_function_is_tried_with_the_same_inputs_everywhere() -> None:
    program = "from tests.example_bank import BANK; print(*BANK.questions['floor'].calls)"
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout.strip() == " ".join(map(str, BANK.questions["floor"].calls))
    assert len(set(BANK.questions["floor"].calls)) > 8


# The bank around the ladder


def bank(store: Store | None = None) -> Bank:
    return Bank(BANK.notebook, BANK.pages, store or Store())


def test_an_unknown_key_lists_near_matches() -> None:
    with pytest.raises(UnknownName, match=r"no question is called 'rigde'.*ridge"):
        bank().check("rigde", 295)
    with pytest.raises(UnknownName, match=r"no question is called \['x'\]"):
        bank().check(["x"], 3)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="no prediction is called 295"):
        bank().predict(295, "ridge")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="use predict"):
        bank().check("who-waits", "a")
    with pytest.raises(KeyError, match="use check"):
        bank().predict("ridge", 295)


def test_two_pages_cannot_share_a_key() -> None:
    with pytest.raises(ValueError, match="share a key"):
        Bank("twice", [BANK.questions["ridge"], BANK.questions["ridge"]])


def test_every_answer_is_remembered_in_its_order() -> None:
    store = Store()
    for answer in (..., 17, "295 FLOP/byte", BANDWIDTH / PEAK, PEAK / BANDWIDTH):
        bank(store).check("ridge", answer)
    history = store.history("example", "answer", "ridge")
    assert [entry["value"] for entry in history] == [
        17,
        "295 FLOP/byte",
        BANDWIDTH / PEAK,
        PEAK / BANDWIDTH,
    ]
    assert [entry["verdict"] for entry in history] == [
        "unrecognised",
        "wrong type",
        "mistake",
        "right",
    ]


def test_progress_tells_solved_from_tried_and_untouched() -> None:
    mine = bank()
    mine.check("ridge", 295.3)
    mine.check("ridge", 1)  # a later slip does not take it away
    mine.check("notepad", 1)
    mine.check("notepad", 2)
    mine.check("idle", 1)
    text = str(mine.progress())
    assert text.startswith("1 of 8 exercises solved, 0 of 2 predictions made")
    for line in ("ridge: solved", "notepad: tried 2 times", "idle: tried once", "layers: not ans"):
        assert line in text


def test_progress_counts_what_stands_under_more_only_where_it_was_answered() -> None:
    mine = Bank("n", [plain_question(), plain_question(key="extra", more=True)], Store())
    assert mine.progress().title == "0 of 1 exercises solved"
    assert "extra: under More, not answered yet" in str(mine.progress())
    mine.check("memory", 80)
    assert mine.progress().title == "1 of 1 exercises solved"
    mine.check("extra", 3)
    assert mine.progress().title == "1 of 2 exercises solved"
    mine.check("extra", 80)
    assert mine.progress().title == "2 of 2 exercises solved"


@pytest.mark.parametrize(
    ("key", "answers", "words"),
    [
        ("ridge", [17, 295.3], "solved this one before. Your last answer was 295.3 FLOP/byte. It"),
        ("ridge", [295.3, 17], "solved this one before. Your last answer was 17 FLOP/byte. It"),
        ("ridge", ["295 FLOP"], "Your last answer was '295 FLOP'. It was not right."),
        ("bound", ["A"], "Your last answer was the waiter. It was not right."),
        ("waiter", ["The latency"], "Your last answer was latency. It was not right."),
        ("sacks", [[1, 2, 3]], "Your last answer was 1 GB, 2 GB, 3 GB. It was not right."),
        ("sacks", [[1, 2]], "Your last answer was [1, 2]. It was not right."),
        ("floor", [floor_ms], "Your last answer was\n\n    def floor_ms(flops: float"),
    ],
)
def test_an_answer_comes_back_after_a_restart(
    key: str, answers: list[Any], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "answers.json"
    for answer in answers:
        last = bank(Store(path)).check(key, answer)
    again = bank(Store(path)).check(key)
    assert again.kind == "not yet"
    assert words in str(again)
    assert ("It was right." in str(again)) == last.ok
    assert ("It was not right." in str(again)) == (not last.ok)
    assert "last answer" not in str(bank(Store(path)).check("idle"))


def test_a_solution_stays_folded_until_it_is_asked_for() -> None:
    solution = bank().solution("ridge")
    assert "295.3" not in repr(solution)
    assert 'print(solution("ridge"))' in repr(solution)
    assert "That is 295.3 FLOP/byte: the ridge of the chip." in str(solution)
    page = solution._repr_html_()
    assert page.startswith("<details ")
    assert page.index("</summary>") < page.index("295.3")


# Cards


def test_the_small_part_of_markdown_becomes_html() -> None:
    page = to_html("A **bold** and *soft* `2*a*b`, 2*3*4.\n\n- one\n- two\n\n```\nx < 1\n\ny\n```")
    for piece in (
        "<strong>bold</strong>",
        "<em>soft</em>",
        "<code>2*a*b</code>, 2*3*4.</p>",
        "<li>one</li><li>two</li></ul>",
        "<code>x &lt; 1\n\ny</code></pre>",
    ):
        assert piece in page


def test_text_says_what_html_says_without_the_marks() -> None:
    markdown = "A **bold** and *soft* `2*a*b`, [here](glossary.ipynb#Ridge).\n\n```\ncode\n```"
    assert to_text(markdown) == "A bold and soft 2*a*b, here (glossary.ipynb#Ridge).\n\n    code"


def test_what_a_reader_typed_cannot_become_markup() -> None:
    assert "<script" not in Card("a<script>", "b <script>alert(1)</script>")._repr_html_()
    feedback = check("waiter", "<img src=x onerror=alert(1)>")
    assert "<img" not in feedback._repr_html_()


def test_two_prices_in_a_sentence_are_not_typeset_as_mathematics() -> None:
    assert "<span>$</span>2" in to_html("between $2 and $4")


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (295.343, "FLOP/byte", "295.3 FLOP/byte"),
        (137_953_296_384, "B", "137,953,296,384 B"),
        (0.33859, "%", "0.3386%"),
        (34.5, "GB", "34.5 GB"),
        (1200.5, "", "1,200"),
        (1e-9, "", "1e-09"),
        (0.0, "ms", "0 ms"),
        (1, "tokens", "1 token"),
        (1.0, "tonnes", "1 tonne"),
        (1.00001, "tokens/s", "1 token/s"),
        (1, "bytes/token", "1 byte/token"),
        (1, "batches", "1 batch"),
        (1, "ms", "1 ms"),
        (1, "thousand tokens", "1 thousand tokens"),
        (1.5, "tokens", "1.5 tokens"),
        (11, "tokens", "11 tokens"),
    ],
)
def test_numbers_are_spoken_with_four_digits(value: float, unit: str, words: str) -> None:
    assert spoken(value, unit) == words


def test_every_rung_says_in_words_what_it_is() -> None:
    answers = (..., "295", 2 * ridge(), ridge() / 1e12, ridge() * 1.05, 17, ridge())
    titles = [check("ridge", answer).title for answer in answers]
    assert len(set(titles)) == len(titles)
    for answer in answers:
        feedback = check("ridge", answer)
        assert f"<strong>{feedback.title}</strong>" in feedback._repr_html_()
        assert str(feedback).startswith(feedback.title)
