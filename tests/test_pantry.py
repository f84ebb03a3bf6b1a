"""The archive pantry: what a search finds, what it reads, and what a model is then asked."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from kitchenlib.miniatures.pantry import (
    KINDS,
    Found,
    Index,
    Miss,
    Pantry,
    Question,
    Recipe,
    cards,
    hits,
    measured,
    misses,
    prompt,
    questions,
    recall,
)
from kitchenlib.plots.fetching import TOKENS
from kitchenlib.retrieval import flat_search, inverted_bytes, inverted_search
from tests.llm_models import any_smol, real_smol

OURS = Pantry()
SIXTEEN = OURS.index()
NAMED = {card.name: card for card in cards()}

#: Two words for one thing, never on one card; and cards about other things.
SYNONYMS = [
    Recipe("One", "bake", "aubergine slices salted oil oven roast"),
    Recipe("Two", "bake", "eggplant slices salted oil oven roast"),
    Recipe("Three", "cake", "sugar butter flour vanilla cream"),
    Recipe("Four", "cake", "sugar butter flour chocolate cream"),
]


def nearest(pantry: Pantry, question: str, k: int) -> list[str]:
    return [each.card.name for each in pantry.search(question, k)]


# --- the archive -------------------------------------------------------------------------------


def test_the_archive_has_at_least_216_cards_of_nine_courses_each_with_its_own_name() -> None:
    assert len(cards()) >= 216
    assert len({card.name for card in cards()}) == len(cards())
    assert len({card.course for card in cards()}) == 9


def test_the_answer_to_each_question_stands_on_its_cards() -> None:
    assert len(questions()) >= 60
    for question in questions():
        assert len(question.cards) == (2 if question.kind == "two" else 1)
        assert question.answered_by(" ".join(NAMED[name].text for name in question.cards))
    assert {question.kind for question in questions()} == set(KINDS)


def test_an_answer_holds_every_fact_in_any_case_of_its_letters() -> None:
    both = Question("How long, and how hot?", ("Rye", "Bun"), "two", "two hours; 200 degrees")
    assert both.answered_by("Bake at 200 degrees for Two Hours.")
    assert not both.answered_by("Bake for two hours.")


@pytest.mark.parametrize(
    ("answer", "said", "right"),
    [
        ("apple", "An apple.", True),
        ("apple", "Two apples.", True),
        ("apple", "A pineapple.", False),
        ("eight", "Eight guests.", True),
        ("eight", "Eighteen guests.", False),
        ("seven", "Seventy guests, the seventh.", False),
        ("40 g", "40 grams", True),
        ("40 g", "140 g", False),
        ("26", "Peg 26.", True),
        ("26", "Peg 265.", False),
    ],
)
def test_another_number_or_fruit_that_holds_the_word_is_no_answer(
    answer: str, said: str, right: bool
) -> None:
    assert Question("?", ("Rye",), "same", answer).answered_by(said) == right


def test_a_card_of_ours_has_as_many_tokens_as_the_law_is_given() -> None:
    smol = real_smol()
    whole = len(smol.tokenize(prompt("?", cards()))) - len(smol.tokenize(prompt("?", [])))
    assert whole / len(cards()) == pytest.approx(TOKENS, abs=0.7)


def test_the_whole_archive_is_longer_than_what_smol_can_read() -> None:
    smol = real_smol()
    asked = questions()[0].text
    assert len(smol.chat(prompt(asked, cards()))) > 1.5 * smol.shape.context
    with pytest.raises(ValueError, match=r"cards make a prompt of 1.,... tokens, and this model"):
        measured(smol, sizes=(len(cards()),))


# --- vectors -----------------------------------------------------------------------------------


def test_a_vector_has_length_one_and_four_bytes_a_value() -> None:
    assert OURS.vectors.shape == OURS.size == (len(cards()), 64)
    assert OURS.vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(OURS.vectors, axis=1), 1, atol=1e-6)
    assert OURS.bytes == OURS.vectors.nbytes == flat_search(*OURS.size).bytes


def test_a_card_folded_in_as_a_question_is_its_own_vector() -> None:
    card = cards()[17]
    folded = OURS.vector(f"{card.name}. {card.text}")
    assert np.allclose(folded, OURS.vectors[17], atol=1e-5)


def test_the_order_of_the_cards_changes_no_similarity() -> None:
    turned = Pantry(cards()[::-1])
    assert np.allclose(turned.vectors @ turned.vectors.T, _cosines(OURS)[::-1, ::-1], atol=1e-5)


def test_with_every_direction_kept_a_cosine_is_that_of_the_counted_words() -> None:
    """Latent semantic analysis that leaves nothing out is tf-idf."""
    archive = [
        Recipe("Rye", "bread", "rye rye water"),
        Recipe("Oat", "bread", "oat water"),
        Recipe("Ham", "meat", "ham salt"),
    ]
    whole = Pantry(archive, dim=3)
    once, twice = 1 + np.log(3), 1 + np.log(1.5)  # rarity of a word on one card, and on two
    rye, oat = (1 + np.log(3)) * once, (1 + np.log(2)) * once  # the name counts as well
    expected = twice**2 / np.hypot(rye, twice) / np.hypot(oat, twice)
    assert _cosines(whole)[0, 1] == pytest.approx(expected, rel=1e-5)
    assert _cosines(whole)[0, 2] == pytest.approx(0, abs=1e-6)


def test_two_words_in_the_same_company_become_near() -> None:
    """The point of leaving directions out: it learns a synonym that the archive holds."""
    few, all_of_them = Pantry(SYNONYMS, dim=2), Pantry(SYNONYMS, dim=4)
    assert set(nearest(few, "eggplant", 2)) == {"One", "Two"}
    similar = [
        {each.card.name: each.similarity for each in pantry.search("eggplant", 4)}["One"]
        for pantry in (few, all_of_them)
    ]
    assert similar[0] > 0.95
    assert similar[1] < 0.4


def test_a_word_on_no_card_counts_for_nothing() -> None:
    assert np.array_equal(OURS.vector("gazpacho"), OURS.vector("Gazpacho zzyzx!"))


def _cosines(pantry: Pantry) -> np.ndarray:
    return np.asarray(pantry.vectors @ pantry.vectors.T)


# --- search ------------------------------------------------------------------------------------


def test_a_search_finds_the_largest_cosines_largest_first() -> None:
    for question in questions()[:5]:
        cosines = OURS.vectors @ OURS.vector(question.text)
        found = OURS.search(question.text, k=7)
        assert np.allclose([f.similarity for f in found], np.sort(cosines)[::-1][:7])
        assert [f.card for f in found] == [cards()[i] for i in np.argsort(-cosines)[:7]]


def test_two_pantries_find_the_same() -> None:
    again = Pantry()
    assert np.array_equal(again.vectors, OURS.vectors)
    index = again.index()
    assert np.array_equal(index.centroids, SIXTEEN.centroids)
    assert index.sizes == SIXTEEN.sizes


@pytest.mark.parametrize("lists", [1, 5, 16, len(cards())])
def test_every_card_stands_in_the_list_of_its_nearest_centroid(lists: int) -> None:
    index = OURS.index(lists)
    assert np.array_equal(np.sort(np.concatenate(index.members)), np.arange(len(cards())))
    assert min(index.sizes) >= 1
    cosines = OURS.vectors @ index.centroids.T
    for number, members in enumerate(index.members):
        assert np.allclose(cosines[members, number], cosines[members].max(axis=1), atol=1e-6)


def test_cards_that_are_all_alike_leave_no_list_empty() -> None:
    alike = [Recipe(f"rye {letter}", "bread", "rye flour water") for letter in "bcdef"]
    twins = Pantry([*alike, Recipe("Ham", "meat", "ham salt smoke")], dim=2)
    assert min(twins.index(lists=5).sizes) == 1


def test_a_card_without_a_word_has_a_list_and_is_never_near() -> None:
    blank = Recipe("", "", "")
    small = Pantry([*cards()[:5], blank], dim=4)
    index = small.index(6)
    assert index.sizes == [1] * 6
    assert np.isfinite(index.centroids).all()
    assert index.search(cards()[0].name, 6, 6).found[0].card == cards()[0]


def test_sizes_may_be_whole_numbers_of_any_kind() -> None:
    found = SIXTEEN.search("rye bread", 3.0, 2.0)  # type: ignore[arg-type]
    assert found == SIXTEEN.search("rye bread", 3, 2)
    assert Pantry(dim=8.0).index(4.0).bytes == Pantry(dim=8).index(4).bytes  # type: ignore[arg-type]


def test_an_inverted_file_counts_what_it_reads() -> None:
    scan = SIXTEEN.search("How long is the rye bread baked?", k=3, probes=2)
    vector = OURS.vector("How long is the rye bread baked?")
    chosen = np.argsort(-(SIXTEEN.centroids @ vector))[:2]
    held = sum(SIXTEEN.sizes[i] for i in chosen)
    assert scan.compared == held
    assert scan.bytes == 16 * 64 * 4 + held * (64 * 4 + 8)
    rows = np.concatenate([SIXTEEN.members[i] for i in chosen])
    best = max(rows, key=lambda row: float(OURS.vectors[row] @ vector))
    assert scan.found[0].card is cards()[best]


def test_an_index_weighs_what_the_law_says() -> None:
    held = OURS.vectors.nbytes + 8 * len(cards()) + SIXTEEN.centroids.nbytes
    assert SIXTEEN.bytes == held == inverted_bytes(*OURS.size, lists=16)


def test_all_lists_find_what_the_exact_search_finds_and_read_more() -> None:
    every = SIXTEEN.search(questions()[0].text, 5, probes=16)
    assert every.found == OURS.search(questions()[0].text, 5)
    assert every.bytes > OURS.bytes


def test_more_lists_find_more_for_more_bytes() -> None:
    found = [recall(SIXTEEN, 3, probes) for probes in range(1, 17)]
    assert found[0].share < 0.7 < found[7].share
    assert all(a.share <= b.share and a.bytes < b.bytes for a, b in pairwise(found))
    assert found[-1].share == 1
    assert found[-1].bytes == found[-1].law == inverted_search(*OURS.size, 16, 16).bytes


def test_recall_is_the_share_of_the_exact_best() -> None:
    asked = questions()[:4]
    same = sum(
        each in OURS.search(question.text, 3)
        for question in asked
        for each in SIXTEEN.search(question.text, 3, 2).found
    )
    assert recall(SIXTEEN, 3, 2, asked).share == same / 12


def test_a_question_falls_into_a_long_list_more_often_so_more_is_read_than_the_law_says() -> None:
    one = recall(SIXTEEN, 3, 1)
    likely = sum(size**2 for size in SIXTEEN.sizes) / len(cards())  # of a card drawn at random
    compared = (one.bytes - SIXTEEN.centroids.nbytes) / (64 * 4 + 8)
    equal = len(cards()) / 16
    assert one.law < one.bytes
    assert equal < compared < 1.1 * likely


# --- hits and misses ---------------------------------------------------------------------------


def test_words_of_the_card_find_it_and_other_words_often_do_not() -> None:
    came = hits(OURS)
    assert came["same"].share > 0.9 > 0.7 > came["other"].share


def test_what_is_missed_was_not_fetched() -> None:
    missed = misses(OURS, 3)
    assert missed
    for miss in missed:
        assert miss.lacking
        assert not set(miss.lacking) & set(nearest(OURS, miss.question.text, 3))
    counted = hits(OURS, 3)
    asked = Counter(question.kind for question in questions())
    assert {kind: came.asked for kind, came in counted.items()} == asked
    assert sum(came.asked - came.found for came in counted.values()) == len(missed)


def test_a_deeper_search_misses_less_and_the_whole_archive_nothing() -> None:
    found = [sum(came.found for came in hits(OURS, k).values()) for k in (1, 3, 10, len(cards()))]
    assert found == sorted(found)
    assert found[0] < found[-1] == len(questions())
    assert misses(OURS, len(cards())) == []


def test_of_two_cards_both_must_come() -> None:
    found = [Found(NAMED[questions()[0].cards[0]], 0.9)]
    both = Question("?", (found[0].card.name, "Another"), "two", "this; that")
    assert Miss(both, found).lacking == ["Another"]


def test_kinds_that_nobody_asked_have_no_share() -> None:
    own = [question for question in questions() if question.kind == "same"]
    assert set(hits(OURS, 3, own)) == {"same"}


# --- the prompt --------------------------------------------------------------------------------


def test_a_prompt_holds_the_cards_in_order_and_then_the_question() -> None:
    found = OURS.search("How is naan flipped?", 3)
    text = prompt("How is naan flipped?", found)
    assert text.startswith("\n\n".join(f"{f.card.name}: {f.card.text}" for f in found))
    assert text.index("How is naan flipped?") > text.index(found[-1].card.text)
    assert text == prompt("How is naan flipped?", [f.card for f in found])


def test_two_questions_to_the_same_cards_share_all_that_comes_before_the_question() -> None:
    one, other = (prompt(question, cards()[:3]) for question in ("How hot?", "Who eats it?"))
    shared = "\n\n".join(map(str, cards()[:3]))
    assert one.startswith(shared)
    assert other.startswith(shared)


def test_each_prompt_is_read_against_the_clock_the_empty_one_too() -> None:
    few, more = measured(any_smol(), sizes=(0, 2), tokens=3)
    assert (few.cards, more.cards) == (0, 2)
    assert more.prompt > few.prompt
    assert min(few.ttft, more.ttft, few.tpot, more.tpot) > 0


def test_smol_answers_from_a_card_what_it_does_not_know_by_heart() -> None:
    by_heart, fetched = measured(real_smol(), sizes=(0, 3), tokens=8)
    assert not by_heart.right
    assert fetched.right


# --- what will not do --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pantry([]), "give recipe cards, for example pantry.cards()"),
        (lambda: Pantry(["soup"]), "give recipe cards"),  # type: ignore[list-item]
        (lambda: Pantry(cards()[:9]), "dim = 64 will not do: give at most 9, as many as there are"),
        (lambda: Pantry(dim=0), "dim = 0 will not do: give a whole number of values of a vector"),
        (lambda: OURS.search("rye", 0), "k = 0 will not do: give a whole number of cards"),
        (lambda: OURS.search("rye", 1000), "k = 1000 will not do: give at most"),
        (lambda: OURS.search("zzyzx"), "'zzyzx' will not do: none of its words stands on any card"),
        (lambda: OURS.search(7), "give a text, for example"),  # type: ignore[arg-type]
        (lambda: OURS.index(0), "lists = 0 will not do: give a whole number of lists"),
        (lambda: OURS.index(1000), "lists = 1000 will not do: give at most"),
        (lambda: SIXTEEN.search("rye", 3, 17), "probes = 17 will not do: give at most 16"),
        (lambda: SIXTEEN.search("rye", 3, 0), "probes = 0 will not do: give a whole number of"),
        (lambda: Index("rye"), "give a Pantry, for example"),  # type: ignore[arg-type]
        (lambda: OURS.index(seed=0.5), "seed = 0.5 will not do"),  # type: ignore[arg-type]
        (lambda: Pantry([Recipe("", "", "")], 1), "none of its cards has a word"),
        (lambda: recall(SIXTEEN, asked=[]), "give at least one question"),
        (lambda: recall(OURS), "give an Index, for example"),  # type: ignore[arg-type]
        (lambda: misses(SIXTEEN), "give a Pantry, for example"),  # type: ignore[arg-type]
        (lambda: measured("smol"), r"give an LLM, for example llm.load\(\)"),  # type: ignore[arg-type]
        (lambda: measured(any_smol(), "rye"), "give a Question"),  # type: ignore[arg-type]
        (lambda: measured(any_smol(), tokens=1), "tokens = 1 will not do"),
    ],
)
def test_what_will_not_do_is_said(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
