"""The archive pantry's recipe cards: enough of them, of one form, unlike each other, and askable.

The questions come with the card that answers them, so that a retriever can be marked. Each sort
of question keeps its promise: the recipe's own words, other words, or two cards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from kitchenlib import data

CARDS = data.rows("recipes.csv")
QUESTIONS = data.rows("recipe_questions.csv")
COURSES = {"soup", "starter", "salad", "main", "side", "sauce", "bread", "dessert", "drink"}
TEXTS = {card["name"]: card["text"] for card in CARDS}
# Words that any two sentences may share, whatever they are about.
EMPTY = set(
    "a after all an and any are as at be before by do does each for from have how if in into is it "
    "its may must of on or out so than that the their them then there they to too until was what "
    "when where which while who whom with".split()
)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]*[a-z0-9]", text.lower())


def content(text: str) -> set[str]:
    """The words of `text` that carry meaning; a plural s does not make another word."""
    return {word.removesuffix("s") for word in words(text) if word not in EMPTY}


def runs(text: str, length: int) -> set[str]:
    said = words(text)
    return {" ".join(said[at : at + length]) for at in range(len(said) - length + 1)}


def said_twice(texts: Iterable[str], length: int) -> set[str]:
    """The runs of `length` words that stand in more than one of `texts`."""
    counted = Counter(run for text in texts for run in runs(text, length))
    return {run for run, times in counted.items() if times > 1}


def asked(sort: str) -> list[dict[str, str]]:
    return [question for question in QUESTIONS if question["words"] == sort]


def cards_of(question: dict[str, str]) -> list[str]:
    return question["card"].split(" + ")


def answers_of(question: dict[str, str]) -> list[str]:
    return question["answer"].split("; ")


# --- the cards --------------------------------------------------------------------------------


def test_the_archive_has_two_hundred_cards_and_more() -> None:
    assert len(CARDS) >= 216
    assert all(list(card) == ["name", "course", "text"] for card in CARDS)


def test_every_course_is_as_well_stocked_as_the_others() -> None:
    stock = Counter(card["course"] for card in CARDS)
    assert set(stock) == COURSES
    assert min(stock.values()) >= 0.9 * max(stock.values())


def test_no_two_cards_have_one_name() -> None:
    assert len({card["name"].lower() for card in CARDS}) == len(CARDS)


def test_a_name_has_two_to_four_words_and_none_that_joins_two_names() -> None:
    assert [name for name in TEXTS if not 2 <= len(name.split()) <= 4 or "+" in name] == []


def test_a_card_is_short_enough_to_fit_and_long_enough_to_tell_something() -> None:
    lengths = {card["name"]: len(card["text"].split()) for card in CARDS}
    assert {name: length for name, length in lengths.items() if not 35 <= length <= 55} == {}


@pytest.mark.parametrize("name", ["recipes.csv", "recipe_questions.csv"])
def test_cards_and_questions_are_plain_ascii_without_stray_blanks(name: str) -> None:
    values = [value for row in data.rows(name) for value in row.values()]
    assert [value for value in values if not value.isascii()] == []
    assert [value for value in values if value != " ".join(value.split()) or not value] == []


def test_every_card_ends_its_last_sentence() -> None:
    assert [card["name"] for card in CARDS if card["text"][-1] != "."] == []


def test_no_two_cards_share_more_than_seven_words_in_a_row() -> None:
    assert said_twice(TEXTS.values(), 8) == set()


def test_less_than_one_run_of_four_words_in_a_hundred_is_said_twice() -> None:
    every = set().union(*(runs(text, 4) for text in TEXTS.values()))
    assert len(said_twice(TEXTS.values(), 4)) < 0.01 * len(every)


def test_every_card_holds_a_number_that_can_be_asked_for() -> None:
    number = re.compile(
        r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen"
        r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|ninety|hundred|half|third)\b",
        re.IGNORECASE,
    )
    assert [name for name, text in TEXTS.items() if not number.search(text)] == []


# --- the questions ----------------------------------------------------------------------------


def test_there_are_sixty_questions_and_more_of_three_sorts() -> None:
    assert all(list(row) == ["question", "card", "words", "answer"] for row in QUESTIONS)
    sorts = Counter(question["words"] for question in QUESTIONS)
    assert set(sorts) == {"same", "other", "two"}
    assert sorts["same"] >= 30
    assert sorts["other"] >= 20
    assert sorts["two"] >= 10


def test_no_question_is_asked_twice_and_each_ends_with_its_mark() -> None:
    texts = [question["question"] for question in QUESTIONS]
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if not text.endswith("?")] == []


def test_every_question_names_cards_of_the_archive() -> None:
    assert [question for question in QUESTIONS if not set(cards_of(question)) <= set(TEXTS)] == []


def test_a_question_needs_two_cards_where_it_says_so_and_else_one() -> None:
    for question in QUESTIONS:
        needed = 2 if question["words"] == "two" else 1
        assert len(set(cards_of(question))) == needed, question
        assert len(answers_of(question)) == needed, question


def test_no_card_is_the_answer_to_two_questions_of_one_sort() -> None:
    for sort in ("same", "other"):
        named = [question["card"] for question in asked(sort)]
        assert len(set(named)) == len(named)


def test_the_card_states_the_answer_in_these_words() -> None:
    for question in QUESTIONS:
        for card, answer in zip(cards_of(question), answers_of(question), strict=True):
            assert re.search(rf"\b{re.escape(answer)}\b", TEXTS[card], re.IGNORECASE), question


def test_no_question_of_one_card_gives_its_answer_away() -> None:
    given = [
        q for q in asked("same") + asked("other") if content(q["answer"]) <= content(q["question"])
    ]
    assert given == []


def test_a_question_in_the_same_words_shares_two_with_its_card() -> None:
    for question in asked("same"):
        card = question["card"]
        shared = content(question["question"]) & content(f"{card} {TEXTS[card]}")
        assert len(shared) >= 2, question


def test_a_question_in_other_words_avoids_the_name_of_its_card() -> None:
    for question in asked("other"):
        assert not content(question["question"]) & content(question["card"]), question


def test_a_question_in_other_words_shares_little_with_its_card() -> None:
    """Now and then a few words, on average less than half of what a question in its words does."""

    def shared(question: dict[str, str]) -> int:
        card = question["card"]
        return len(content(question["question"]) & content(f"{card} {TEXTS[card]}"))

    other = [shared(question) for question in asked("other")]
    same = [shared(question) for question in asked("same")]
    assert max(other) <= 4
    assert sum(other) / len(other) < 0.5 * sum(same) / len(same)


def test_a_question_of_two_cards_names_something_of_each() -> None:
    for question in asked("two"):
        for card in cards_of(question):
            known = content(f"{card} {TEXTS[card]}")
            assert content(question["question"]) & known, question
