"""Speculation: whatever is guessed, the text is that of plain decoding; only the passes differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import sleep

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kitchenlib import llm
from kitchenlib.llm.drafts import Draft, Drafter, Speculation, Sweep, lookup, sweeps
from tests.llm_models import alone, any_smol, real_smol, tiny

ROUNDING = 0.001  # ten times what another order of adding up changes in a logit
NEVER = -1  # no token ends the turn
MODEL = tiny()


def right(whole: Sequence[int]) -> Drafter:
    """A drafter that knows the text beforehand."""
    return lambda ids, most: whole[len(ids) : len(ids) + most]


def wrong(whole: Sequence[int]) -> Drafter:
    """A drafter that knows the text, and always says something else."""
    return lambda ids, most: [(token + 1) % 50 for token in right(whole)(ids, most)]


def half_right(whole: Sequence[int]) -> Drafter:
    """A drafter whose every second token is wrong."""

    def draft(ids: Sequence[int], most: int) -> list[int]:
        tokens = right(whole)(ids, most)
        return [(token + place % 2) % 50 for place, token in enumerate(tokens)]

    return draft


def written(passes: Sequence[Sweep]) -> list[int]:
    return [token for sweep in passes for token in sweep.written]


PROMPTS = st.lists(st.integers(0, 49), min_size=1, max_size=12)
DRAFTERS: dict[str, Callable[[Sequence[int]], Drafter]] = {
    "right": right,
    "wrong": wrong,
    "half right": half_right,
    "lookup": lambda _: lookup,
    "careful lookup": lambda _: partial(lookup, shortest=2),
    "silent": lambda _: lambda ids, most: [],
    "a lighter model": lambda _: Draft(tiny(layers=1)),
    "the model itself": lambda _: Draft(tiny()),
}


@pytest.mark.parametrize("name", DRAFTERS)
@given(prompt=PROMPTS, tokens=st.integers(2, 30), drafted=st.integers(0, 9))
def test_the_text_is_that_of_plain_decoding(
    name: str, prompt: list[int], tokens: int, drafted: int
) -> None:
    plain, lead = alone(MODEL, prompt, tokens)
    assume(lead > 0.0001)
    drafter = DRAFTERS[name]([*prompt, *plain])
    passes = list(sweeps(MODEL, prompt, tokens, drafter, drafted, NEVER))
    assert written(passes) == plain
    assert all(len(sweep.drafted) <= drafted for sweep in passes)


@pytest.mark.parametrize(
    ("text", "drafted"),
    [
        ("Why is the sky blue?", 5),
        ("Write a short poem about rain.", 1),
        ("Summarise in one sentence: The kitchen has one chef and one waiter.", 3),
        ("Repeat: wash the rice, boil the water, add the rice.", 9),
    ],
)
def test_the_real_model_writes_what_it_writes_alone(text: str, drafted: int) -> None:
    smol = any_smol()
    ids = smol.chat(text)
    plain, lead = alone(smol, ids, 16)
    assert lead > ROUNDING
    reply = smol.speculate(text, tokens=16, drafted=drafted)
    end = smol.tokenizer.end
    assert list(reply.tokens) == (plain[: plain.index(end)] if end in plain else plain)
    assert reply.text == smol.text(reply.tokens)
    assert reply.prompt == len(ids)


def test_it_ends_where_the_model_ends_its_turn() -> None:
    smol = real_smol()
    ids = smol.chat("What is the capital of France? One word.")
    reply = smol.speculate(ids, tokens=60, drafter=Draft(smol), drafted=4)
    assert list(reply.tokens) == list(smol.write(ids, 60))
    assert reply.sweeps[-1].written[-1] == smol.tokenizer.end
    assert smol.tokenizer.end not in reply.tokens


def test_a_repetition_takes_fewer_passes_and_a_new_text_none_fewer() -> None:
    smol = real_smol()
    said = llm.market_day()[:300]
    old = smol.speculate(smol.tokenize(f"{said}\n{said[:60]}"), tokens=24, drafted=5)
    assert said[60:120] in said[:60] + old.text  # it repeats what was said
    assert old.per_pass > 3
    new = smol.speculate("Why is the sky blue?", tokens=24, drafted=5)
    assert new.per_pass == 1
    assert new.acceptance == 0


def test_who_is_always_right_gets_one_token_more_than_was_drafted() -> None:
    plain, _ = alone(MODEL, [7], 25)
    passes = list(sweeps(MODEL, [7], 25, right([7, *plain]), 5, NEVER))
    assert [len(sweep.written) for sweep in passes] == [1, 6, 6, 6, 6]
    assert [sweep.accepted for sweep in passes] == [0, 5, 5, 5, 5]


def test_who_is_always_wrong_gets_one_token_a_pass() -> None:
    plain, _ = alone(MODEL, [7], 12)
    passes = list(sweeps(MODEL, [7], 12, wrong([7, *plain]), 5, NEVER))
    assert len(passes) == 12
    assert all(sweep.accepted == 0 for sweep in passes)


def test_nothing_is_drafted_for_the_last_token() -> None:
    plain, _ = alone(MODEL, [7], 3)
    passes = list(sweeps(MODEL, [7], 3, right([7, *plain]), 5, NEVER))
    assert [len(sweep.drafted) for sweep in passes] == [0, 1]


def test_nothing_follows_the_end() -> None:
    plain, _ = alone(MODEL, [7], 25)
    end = plain[8]
    passes = list(sweeps(MODEL, [7], 25, right([7, *plain]), 5, end))
    assert written(passes) == plain[: plain.index(end) + 1]


def test_a_pass_reads_the_weights_once_for_all_guesses() -> None:
    smol = any_smol()
    with smol.counted() as plain:
        smol.speculate([1, 2, 3], tokens=3, drafted=0)
    drafter = right([1, 2, 3, *alone(smol, [1, 2, 3], 3)[0]])
    with smol.counted() as guessing:
        smol.speculate([1, 2, 3], tokens=3, drafted=1, drafter=drafter)
    head = "lm_head"
    assert plain.computed.parts[head].bytes == 3 * smol.shape.vocab * smol.shape.hidden * 4
    assert guessing.computed.parts[head].bytes == 2 * smol.shape.vocab * smol.shape.hidden * 4
    assert plain.computed.parts[head].flops == guessing.computed.parts[head].flops


# --- drafters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "most", "drafted"),
    [
        ([1, 2, 3, 9, 1, 2], 2, [3, 9]),
        ([5, 2, 7, 1, 2, 8, 6, 1, 2], 1, [8]),  # two tokens that fit go before one
        ([1, 2, 3, 4, 8, 1, 2, 9, 1, 2], 1, [9]),  # the latest place
        ([1, 2, 3, 4, 5, 2, 3, 6, 1, 2, 3], 1, [4]),  # three that fit go before two later ones
        ([1, 2, 3], 4, []),
        ([1], 4, []),
        ([4, 4], 3, [4, 4, 4]),  # runs on in what it drafted
        ([1, 2, 1, 2], 5, [1, 2, 1, 2, 1]),
        ([1, 2, 1], 0, []),
    ],
)
def test_lookup_says_what_followed_last_time(ids: list[int], most: int, drafted: list[int]) -> None:
    kept = list(ids)
    assert lookup(ids, most) == drafted
    assert ids == kept


def test_a_careful_lookup_does_not_guess_from_one_token() -> None:
    assert lookup([1, 2, 1], 1) == [2]
    assert lookup([1, 2, 1], 1, shortest=2) == []
    assert lookup([1, 2, 3, 1, 2], 1, shortest=2) == [3]


@given(prompts=st.lists(PROMPTS, min_size=1, max_size=4), most=st.integers(1, 6))
def test_a_draft_is_what_the_lighter_model_would_write(prompts: list[list[int]], most: int) -> None:
    """Whatever it was asked before: its notepad is cut back to what the texts have in common."""
    draft = Draft(MODEL)
    for ids in prompts:
        plain, lead = alone(MODEL, ids, most)
        assume(lead > 0.0001)
        assert draft(ids, most) == plain


# --- what is reported ----------------------------------------------------------------------------

REPLY = Speculation(
    prompt=3,
    ttft=0.5,
    sweeps=(
        Sweep((5, 6, 7), (5, 6, 9), 0.02),  # two right, one wrong
        Sweep((1, 2), (1, 2, 3), 0.02),  # two right, and the bonus
        Sweep((), (4,), 0.01),
        Sweep((8, 9), (7,), 0.03),  # one wrong; the second is not judged
    ),
    tokens=(0, 5, 6, 9, 1, 2, 3, 4, 7),
    text="so it goes",
)


def test_a_reply_reports_its_passes() -> None:
    assert REPLY.accepted == [2, 2, 0, 0]
    assert REPLY.per_pass == 8 / 4
    assert REPLY.tpot == pytest.approx(0.08 / 8)
    assert REPLY.acceptance == 4 / 6
    assert str(REPLY) == "8 tokens in 4 passes, 2.00 in each, 10.0 ms for each token"


def test_acceptance_is_not_a_number_where_nothing_was_guessed() -> None:
    assert np.isnan(any_smol().speculate([1, 2, 3], tokens=2, drafted=0).acceptance)


def test_a_right_guess_at_the_end_of_the_turn_is_not_held_against_those_behind_it() -> None:
    assert REPLY._replace(sweeps=(Sweep((5, 6, 7), (5, 6), 0.02),)).acceptance == 1


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tokens": 1}, "tokens = 1"),
        ({"tokens": 2.5}, "tokens = 2.5"),
        ({"drafted": -1}, "drafted = -1"),
        ({"drafted": 1.5}, "drafted = 1.5"),
        ({"tries": 0}, "tries = 0"),
        ({"drafter": None}, r"drafter = None .*llm\.lookup"),
        ({"drafter": lambda ids, most: [1] * (most + 1)}, "may guess 2 tokens at most"),
        ({"drafter": lambda ids, most: [49152]}, "from 0 to 49,151"),
        ({"drafter": lambda ids, most: [0.5]}, "whole"),
    ],
)
def test_what_cannot_be_drafted_is_refused_in_words(asked: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        any_smol().speculate([1, 2, 3], **{"tokens": 4, **asked})  # type: ignore[arg-type]


def test_of_several_tries_each_pass_counts_the_fastest() -> None:
    """A drafter that dawdles once: the text is the same, and the pause is not counted."""
    calls = []

    def dawdling(ids: Sequence[int], most: int) -> list[int]:
        calls.append(len(ids))
        if len(calls) == 1:
            sleep(1.0)
        return lookup(ids, most)

    model = any_smol()
    once = model.speculate([5, 6, 7] * 5, tokens=6, drafted=2)
    twice = model.speculate([5, 6, 7] * 5, tokens=6, drafted=2, drafter=dawdling, tries=2)
    assert twice.tokens == once.tokens
    assert twice.accepted == once.accepted
    assert len(calls) % 2 == 0
    assert sum(sweep.seconds for sweep in twice.sweeps) < 1.0


def test_what_is_no_model_drafts_nothing() -> None:
    with pytest.raises(ValueError, match=r"model = 'x' .*give a Transformer"):
        Draft("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"most = -1 .*tokens"):
        lookup([1, 2, 1], -1)
