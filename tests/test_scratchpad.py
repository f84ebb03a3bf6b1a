"""The miniature scratchpad: what layers can follow, what a token adds, and what a vote is worth."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from kitchenlib.inputs import UnknownName
from kitchenlib.miniatures import scratchpad
from kitchenlib.miniatures.scratchpad import (
    Cook,
    Measured,
    PairingCook,
    polled,
    recipes,
    scattered,
    vote,
)
from tests.llm_models import any_smol

HOPS = np.arange(1, 17)
COOKS = [Cook(1), Cook(2), Cook(4), PairingCook(2), PairingCook(3)]


def followed(facts: dict[str, str], start: str, hops: int) -> str:
    for _ in range(hops):
        start = facts[start]
    return start


# --- links -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cook", COOKS, ids=repr)
def test_one_pass_follows_as_many_links_as_it_reaches_and_no_more(cook: Cook) -> None:
    assert np.array_equal(cook.shares_right(HOPS), cook.reach >= HOPS)


@pytest.mark.parametrize("cook", COOKS, ids=repr)
def test_with_a_scratchpad_the_same_cook_follows_any_number(cook: Cook) -> None:
    assert np.all(cook.shares_right(HOPS, scratch=True) == 1)


@pytest.mark.parametrize("seed", range(5))
def test_it_holds_for_other_vectors(seed: int) -> None:
    for cook in (Cook(3, seed), PairingCook(3, seed)):
        asked = range(1, 23)
        assert np.array_equal(cook.shares_right(asked), np.array(asked) <= cook.reach)
        assert np.all(cook.shares_right(asked, scratch=True) == 1)


def test_layers_reach_one_link_each_and_twice_as_far_where_facts_look_each_other_up() -> None:
    assert [Cook(n).reach for n in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert [PairingCook(n).reach for n in (1, 2, 3, 4)] == [1, 3, 7, 15]


@pytest.mark.parametrize("cook", COOKS, ids=repr)
def test_an_answer_is_where_the_links_lead(cook: Cook) -> None:
    facts = recipes()
    for hops in range(1, 11):
        told = cook.answer(facts, "lasagne", hops, scratch=True)
        assert told.name == followed(facts, "lasagne", hops)
        assert told.right
        passes = -(-hops // cook.reach)
        assert told.tokens == len(told.written) == cook.tokens(hops, scratch=True) == passes
        marks = [min(cook.reach * (n + 1), hops) for n in range(passes)]
        assert list(told.written) == [followed(facts, "lasagne", mark) for mark in marks]


def test_without_a_scratchpad_a_cook_stops_where_its_layers_end() -> None:
    told = Cook(2).answer(recipes(), "lasagne", 7)
    assert told.name == followed(recipes(), "lasagne", 2) == "stock"
    assert not told.right
    assert str(told) == "stock (1 token, wrong)"
    wrote = str(Cook(2).answer(recipes(), "lasagne", 7, scratch=True))
    assert wrote == "stock → butcher → whetstone → water (4 tokens, right)"


def test_attention_is_a_softmax_over_the_facts() -> None:
    """Each lookup is what the textbook's formula gives, one query at a time."""
    dice = np.random.default_rng(1)
    keys, queries = (dice.standard_normal((6, 8), np.float32) for _ in range(2))
    values = dice.standard_normal((1, 6, 8)).astype(np.float32)
    found = scratchpad._look_up(queries[None], keys, values)
    for query, got in zip(queries, found[0], strict=True):
        weights = np.exp(scratchpad._SHARP * (keys @ query).astype(float))
        expected = (weights[:, None] * values[0]).sum(axis=0) / weights.sum()
        assert np.allclose(got, expected, rtol=1e-3, atol=1e-4)
    assert found.dtype == np.float32


def test_facts_come_in_any_order_and_lead_to_the_end() -> None:
    one, other = recipes(0), recipes(1)
    assert one == other  # the same facts
    assert list(one) != list(other)
    assert followed(one, "lasagne", 50) == "field" == one["field"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Cook(0), ValueError, "layers = 0 will not do"),
        (lambda: Cook(2, seed=-1), ValueError, "seed = -1 will not do"),
        (lambda: Cook().answer({}, "a", 1), ValueError, "give a dictionary in which every name"),
        (lambda: Cook().answer({"a": "b"}, "a", 1), ValueError, "every name needs a known name"),
        (lambda: Cook().answer(recipes(), "lasagna", 1), UnknownName, "Did you mean: lasagne"),
        (lambda: Cook().answer(recipes(), "stock", 0), ValueError, "hops = 0 will not do"),
        (lambda: Cook().shares_right([24]), ValueError, "give fewer links than names"),
        (lambda: Cook().shares_right([0]), ValueError, "hops = 0 will not do"),
        (lambda: Cook().shares_right([1], sets=0), ValueError, "sets = 0 will not do"),
        (lambda: Cook().shares_right([1], names=1), ValueError, "names = 1 will not do"),
        (lambda: Cook().tokens(0), ValueError, "hops = 0 will not do"),
        (lambda: recipes(0.5), ValueError, "seed = 0.5 will not do"),  # type: ignore[arg-type]
    ],
)
def test_questions_that_are_none_are_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- votes -------------------------------------------------------------------------------------

CASES = [(0.4, scattered(0.4, 6)), (0.4, (0.5, 0.1)), (0.6, (0.4,)), (0.2, (0.3, 0.3, 0.2))]


def by_hand(chances: list[float], samples: int) -> float:
    """Every way the votes can fall, one after the other."""
    won = 0.0
    for ballot in product(range(len(chances)), repeat=samples):
        votes = [ballot.count(answer) for answer in range(len(chances))]
        if votes[0] == max(votes):
            won += math.prod(chances[answer] for answer in ballot) / votes.count(votes[0])
    return won


@pytest.mark.parametrize(("right", "others"), CASES)
@pytest.mark.parametrize("samples", [1, 2, 3, 5])
def test_the_exact_share_is_that_of_all_ballots(
    right: float, others: tuple[float, ...], samples: int
) -> None:
    assert vote(right, others, samples) == pytest.approx(by_hand([right, *others], samples))


@pytest.mark.parametrize(("right", "others"), CASES)
@pytest.mark.parametrize("samples", [9, 31, 150])
def test_the_exact_share_is_what_polls_come_to(
    right: float, others: tuple[float, ...], samples: int
) -> None:
    found = polled(right, others, samples, polls=10_000)
    assert vote(right, others, samples) == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize(("right", "others"), CASES)
def test_one_sample_or_two_change_nothing(right: float, others: tuple[float, ...]) -> None:
    """Two that differ draw lots."""
    for samples in (1, 2):
        assert vote(right, others, samples) == pytest.approx(right)


def test_a_vote_helps_where_the_right_answer_leads_and_hurts_where_a_mistake_does() -> None:
    sizes = (1, 5, 15, 63)
    scatter, agree = (
        [vote(0.4, others, n) for n in sizes] for others in (scattered(0.4, 6), (0.5, 0.1))
    )
    assert scatter == sorted(scatter)
    assert scatter[-1] > 0.99
    assert agree == sorted(agree, reverse=True)
    assert agree[-1] == pytest.approx(0.2, abs=0.01)


def test_where_all_answers_are_as_likely_no_vote_helps() -> None:
    for samples in (3, 15, 63):
        assert vote(0.25, scattered(0.25, 3), samples) == pytest.approx(0.25)


def test_a_sure_cook_wins_and_a_hopeless_one_loses() -> None:
    assert vote(1.0, (0.0,), 9) == 1
    assert vote(0.0, (1.0,), 9) == polled(0.0, (1.0,), 9) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vote(1.2, (0.1,), 3), "give the probability of a right answer"),
        (lambda: vote([0.5, 0.5], (0.5,), 3), "give one probability"),  # type: ignore[arg-type]
        (lambda: vote(0.5, (0.2,), 3), "the chances must add up to 1"),
        (lambda: vote(0.5, (-0.5, 1.0), 3), "give the probability of each wrong answer"),
        (lambda: vote(0.5, (0.5,), 0), "samples = 0 will not do"),
        (lambda: vote(0.5, (0.5,), 151), "give at most 150 samples"),
        (lambda: polled(0.5, (0.5,), 3, polls=0), "polls = 0 will not do"),
        (lambda: polled(0.5, (0.5,), 3, seed=-1), "seed = -1 will not do"),
        (lambda: scattered(0.5, 0), "answers = 0 will not do"),
        (lambda: scattered(1.5, 2), "give the probability of a right answer"),
    ],
)
def test_votes_that_are_none_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- the real model ----------------------------------------------------------------------------


def test_samples_side_by_side_are_timed_against_a_chain_of_as_many_tokens() -> None:
    run = scratchpad.measured(any_smol(), samples=4, own=3)
    assert (run.samples, run.own) == (4, 3)
    assert run.prompt == len(
        any_smol().chat("Three boxes hold four eggs each, and two break. How many are left?")
    )
    assert run.reading > 0
    assert run.faster == run.chain / run.together > 1  # 11 passes against 2


def test_what_was_measured_reads_as_a_sentence() -> None:
    run = Measured(prompt=46, samples=8, own=8, reading=0.13, together=0.44, chain=1.3)
    assert str(run) == (
        "46 tokens read in 130 ms; then 64 tokens: 440 ms as 8 samples side by side, "
        "1.3 s as one chain, × 3.0"
    )


def test_copies_of_a_notepad_are_as_many_notepads() -> None:
    smol = any_smol()
    _, cache = smol.prefill(smol.chat("Hi"), room=2)
    copies, tokens, noted = cache.copies(3), [1, 2, 3], cache.lengths[0]
    assert copies.bytes == 3 * cache.bytes
    together = smol.decode_step(tokens, copies)
    assert copies.lengths == [noted + 1] * 3
    for token, logits in zip(tokens, together, strict=True):
        assert np.allclose(smol.decode_step(token, cache), logits, atol=1e-3)
        cache.cut_back([noted])
    with pytest.raises(ValueError, match="give one sequence's notepad"):
        copies.copies(2)
    with pytest.raises(ValueError, match="number = 0 will not do"):
        cache.copies(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scratchpad.measured("smol"), "give an LLM"),  # type: ignore[arg-type]
        (lambda: scratchpad.measured(any_smol(), samples=1), "samples = 1 will not do"),
        (lambda: scratchpad.measured(any_smol(), own=1), "own = 1 will not do"),
    ],
)
def test_a_measurement_that_is_none_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_name_is_known_in_any_case_of_its_letters() -> None:
    assert Cook().answer(recipes(), "Stock", 2) == Cook().answer(recipes(), "stock", 2)
