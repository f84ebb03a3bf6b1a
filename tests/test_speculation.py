"""Speculation: what a checking pass gives, what a round costs, and when it does not pay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib.measured import Measurement, measurement, measurements
from tests.law_models import H100, MODELS

LLAMA_70B, LLAMA_7B = kl.model("Llama-2-70B"), kl.model("Llama-2-7B")

chances = st.floats(0, 1)
lengths = st.integers(0, 60)


def one_layer(model: kl.Model) -> kl.Model:
    """What a draft head (MTP, EAGLE) weighs: about one layer, and the LM head."""
    return replace(model, blocks=(replace(model.blocks[-1], layers=1),))


# --- tokens per pass ---------------------------------------------------------------------------


@given(chances, lengths)
def test_a_pass_adds_the_powers_of_the_acceptance(acceptance: float, drafted: int) -> None:
    powers = sum(acceptance**n for n in range(drafted + 1))
    assert kl.expected_tokens(acceptance, drafted) == pytest.approx(powers, rel=1e-12)


@pytest.mark.parametrize("acceptance", [1 - 1e-16, 1 - 1e-13, 1 - 3e-10, 1 - 1e-9, 1 - 1e-5, 1e-9])
def test_close_to_certainty_no_digit_is_lost(acceptance: float) -> None:
    exact = float(sum(Fraction(acceptance) ** n for n in range(101)))
    assert kl.expected_tokens(acceptance, 100) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("acceptance", "tokens"), [(0.6, 2.38), (0.7, 2.94), (0.8, 3.69), (0.9, 4.69), (1, 6), (0, 1)]
)
def test_five_drafts_give_fewer_than_five_words(acceptance: float, tokens: float) -> None:
    assert kl.expected_tokens(acceptance, 5) == pytest.approx(tokens, abs=0.005)


def test_all_five_are_accepted_once_in_three_times_and_then_six_words_come() -> None:
    assert kl.all_accepted(0.8, 5) == pytest.approx(0.33, abs=0.005)
    assert kl.accepted_lengths(0.8, 5)[-1] == pytest.approx(kl.all_accepted(0.8, 5))
    assert kl.expected_tokens(1, 5) == 6


@given(chances, lengths)
def test_accepted_lengths_are_chances_and_their_mean_is_one_token_short(
    acceptance: float, drafted: int
) -> None:
    spread = kl.accepted_lengths(acceptance, drafted)
    assert spread.shape == (drafted + 1,)
    assert spread.sum() == pytest.approx(1)
    assert np.all(spread >= 0)
    mean = spread @ np.arange(drafted + 1)
    assert mean + 1 == pytest.approx(kl.expected_tokens(acceptance, drafted))


def test_dice_agree() -> None:
    """Five drafts, each accepted with 0.8 as long as those before it were."""
    accepted = np.random.default_rng(7).random((40_000, 5)) < 0.8
    kept = np.cumprod(accepted, axis=1).sum(axis=1)
    assert kept.mean() + 1 == pytest.approx(kl.expected_tokens(0.8, 5), abs=0.03)
    shares = np.bincount(kept, minlength=6) / kept.size
    np.testing.assert_allclose(shares, kl.accepted_lengths(0.8, 5), atol=0.01)


def test_tokens_per_pass_take_arrays() -> None:
    chance, drafted = np.array([0, 0.5, 1]), np.array([[0], [3]])
    for law in (kl.expected_tokens, kl.all_accepted):
        grid = np.asarray(law(chance, drafted))
        assert grid.shape == (2, 3)
        for row, k in enumerate(drafted[:, 0]):
            for column, a in enumerate(chance):
                assert grid[row, column] == law(float(a), int(k))
    assert kl.accepted_lengths(chance, 4).shape == (3, 5)
    assert isinstance(kl.expected_tokens(0.5, 3), float)


# --- acceptance from measured runs -------------------------------------------------------------


@given(chances, st.integers(1, 60))
def test_the_acceptance_is_found_again(acceptance: float, drafted: int) -> None:
    tokens = kl.expected_tokens(acceptance, drafted)
    found = kl.acceptance_rate(tokens, drafted)
    assert kl.expected_tokens(found, drafted) == pytest.approx(tokens, rel=1e-12)
    assert found == pytest.approx(acceptance, abs=1e-9)


def test_the_ends_of_the_range_are_never_and_always() -> None:
    found = kl.acceptance_rate([1, 1.5, 4], [3, 1, 3])
    assert np.asarray(found).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("tokens", [0.99, 4.01, [1, 5]])
def test_a_pass_adds_at_least_one_token_and_at_most_one_more_than_drafted(tokens: object) -> None:
    with pytest.raises(ValueError, match=r"tokens = .*from 1 to drafted \+ 1 tokens"):
        kl.acceptance_rate(tokens, 3)  # type: ignore[arg-type]


SOURCE = "TRT-LLM DeepSeek-R1 latency blog"


def mtp(drafted: int, metric: str) -> Measurement:
    """The published row of DeepSeek-R1 on eight B200 with so many tokens drafted."""
    engine = f"TensorRT-LLM MTP{drafted}" if drafted else "TensorRT-LLM no MTP"
    return measurement(source=SOURCE, engine=engine, metric=metric)


def test_published_acceptance_lengths_of_deepseek_count_the_bonus_token() -> None:
    assert mtp(0, "accept_len").value == 1


def test_measured_acceptance_falls_along_the_draft() -> None:
    """One number does not describe it: the law's constant acceptance flatters long drafts."""
    lengths = [mtp(k, "accept_len").value for k in range(1, 6)]
    assert lengths == [1.92, 2.58, 2.82, 2.99, 3.01]
    rates = np.asarray(kl.acceptance_rate(lengths, np.arange(1, 6)))
    np.testing.assert_allclose(rates, [0.92, 0.853, 0.770, 0.740, 0.711], atol=5e-4)
    assert kl.expected_tokens(rates[0], 5) > 4.9 > lengths[-1]


def test_measured_speed_up_rises_falls_and_stays_below_the_tokens_per_pass() -> None:
    gains = [mtp(k, "speedup").value for k in range(6)]
    assert gains == [1, 1.78, 2.25, 2.28, 2.21, 2.15]
    for k in range(1, 6):
        assert gains[k] < mtp(k, "accept_len").value
        speeds = (mtp(n, "decode_tok_s_per_seq").value for n in (k, 0))
        assert gains[k] == pytest.approx(next(speeds) / next(speeds), abs=0.01)


def test_a_measured_round_costs_more_with_every_draft() -> None:
    """Tokens per pass over the speed-up: what a round costs, in steps without speculation."""
    costs = [mtp(k, "accept_len").value / mtp(k, "speedup").value for k in range(6)]
    assert np.all(np.diff(costs) > 0.04)
    assert costs[5] == pytest.approx(1.4, abs=0.005)


def test_checking_touches_more_experts() -> None:
    """At batch 1 a dense model checks for nothing; a mixture fetches experts for each token."""
    dense, mixture = (
        kl.speculate(kl.model(name), None, 2048, 3).verify_cost(H100)
        for name in ("Llama-2-70B", "DeepSeek-V3")
    )
    assert dense == pytest.approx(1, abs=1e-3)
    assert 1.5 < mixture < 4


# --- what it gains -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acceptance", "gain"), [(0.6, 1.59), (0.7, 1.96), (0.8, 2.46), (0.9, 3.12)]
)
def test_five_drafts_at_a_tenth_of_a_step_each(acceptance: float, gain: float) -> None:
    assert kl.speculative_speedup(acceptance, 5, draft_cost=0.1) == pytest.approx(gain, abs=0.005)


@given(chances, lengths, st.floats(0, 2), st.floats(1, 10))
def test_no_speed_up_beats_the_tokens_per_pass(
    acceptance: float, drafted: int, draft: float, verify: float
) -> None:
    tokens = kl.expected_tokens(acceptance, drafted)
    assert kl.speculative_speedup(acceptance, drafted, draft, verify) <= tokens
    assert kl.speculative_speedup(acceptance, drafted, 0, 1) == tokens


def test_a_7b_draft_costs_a_tenth_of_a_70b_step_by_its_weights() -> None:
    turn = kl.speculate(LLAMA_70B, LLAMA_7B, context=0, drafted=5)
    assert turn.draft_cost(H100) == pytest.approx(0.098, abs=0.003)


def test_the_notes_of_a_draft_without_gqa_outweigh_those_of_the_large_model() -> None:
    assert LLAMA_7B.kv_bytes_per_token() > LLAMA_70B.kv_bytes_per_token()
    costs = kl.speculate(LLAMA_70B, LLAMA_7B, 1024, 5, batch=[1, 32, 128]).draft_cost(H100)
    assert np.all(np.diff(costs) > 0.09)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_with_nothing_drafted_nothing_changes(model: kl.Model) -> None:
    turn = kl.speculate(model, one_layer(model), 1000, drafted=0, batch=3)
    assert turn.time(H100) == turn.plain.time(H100)
    assert turn.tpot(H100, 0.8) == pytest.approx(turn.plain.time(H100))
    assert turn.speedup(H100, 0.8) == pytest.approx(1)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("batch", [1, 64])
def test_a_round_is_its_drafts_and_its_check(model: kl.Model, batch: int) -> None:
    turn = kl.speculate(model, one_layer(model), 1000, 4, batch, weights="fp8")
    draft = kl.decode_step(one_layer(model), 1000, batch).time(H100)
    check = kl.verify_step(model, 1000, 4, batch, weights="fp8").time(H100)
    plain = kl.decode_step(model, 1000, batch, weights="fp8").time(H100)
    assert turn.time(H100) == pytest.approx(4 * draft + check)
    tokens = kl.expected_tokens(0.7, 4)
    assert turn.tpot(H100, 0.7) == pytest.approx((4 * draft + check) / tokens)
    assert turn.speedup(H100, 0.7) == pytest.approx(plain / turn.tpot(H100, 0.7))


def test_drafts_that_are_looked_up_cost_nothing() -> None:
    turn = kl.speculate(LLAMA_70B, None, 1024, 5)
    assert turn.draft_cost(H100) == 0
    assert turn.speedup(H100, 0.8) == pytest.approx(kl.expected_tokens(0.8, 5), rel=1e-3)


def test_at_32_guests_a_check_of_five_drafts_takes_two_thirds_of_the_ridge() -> None:
    """192 tokens share the weights, where 295 would keep the chef busy."""
    assert 32 * (5 + 1) / H100.ridge() == pytest.approx(0.65, abs=0.005)
    checks = kl.speculate(LLAMA_70B, None, 1024, 5, batch=[1, 32, 64, 128]).verify_cost(H100)
    np.testing.assert_allclose(checks, [1, 1, 1.26, 2.22], atol=0.01)


def test_batch_eats_the_idle_chef_that_pays_for_speculation() -> None:
    batches = np.array([1, 8, 32, 64, 128, 256])
    for draft in (LLAMA_7B, None):
        gains = kl.speculate(LLAMA_70B, draft, 1024, 5, batches).speedup(H100, 0.7)
        assert np.all(np.diff(gains) < 1e-3)
    assert gains[0] > 2.9  # type: ignore[index]
    assert gains[-1] < 1  # type: ignore[index]


def test_with_long_notes_the_chef_is_never_busy_and_speculation_keeps_paying() -> None:
    gains = kl.speculate(LLAMA_70B, None, [1024, 32_768], 5, batch=256).speedup(H100, 0.7)
    assert gains[0] < 1 < 2 < gains[1]  # type: ignore[index]


def test_published_gains_of_one_model_shrink_with_the_batch_as_the_law_says() -> None:
    same = {"source": "SGLang speculative docs"}
    plain, eagle = (
        measurement(engine=engine, **same).value
        for engine in ("SGLang (no speculation)", "SGLang + EAGLE-3")
    )
    crowd = measurement(source="EAGLE-3 paper")
    assert eagle / plain == pytest.approx(2.36, abs=0.005)
    assert (crowd.batch, crowd.value) == (64, 1.38)
    model = kl.model(crowd.model)
    gains = kl.speculate(model, one_layer(model), 1024, 5, [1, 64]).speedup(
        kl.chip("H100 SXM"), 0.8
    )
    assert gains[1] < gains[0]  # type: ignore[index]


def test_a_lighter_large_model_leaves_less_to_gain() -> None:
    """EAGLE's own table: 2.15x on 16-bit weights, 1.74x on 4-bit ones; the draft stays as it is."""
    rows = measurements(source="EAGLE README", metric="speedup")
    assert [row.value for row in rows] == [2.15, 1.74]
    model = kl.model(rows[0].model)
    heavy, light = (
        kl.speculate(model, one_layer(model), 512, 5, weights=weights).speedup(H100, 0.7)
        for weights in ("fp16", "int4-g32")
    )
    assert light < heavy - 0.4


# --- how long to draft -------------------------------------------------------------------------


@given(chances, st.floats(0, 2), st.integers(0, 40))
def test_no_other_length_does_better_than_the_ideal_one(
    acceptance: float, cost: float, most: int
) -> None:
    best = kl.ideal_draft_length(acceptance, cost, most)
    gains = np.asarray(kl.speculative_speedup(acceptance, np.arange(most + 1), cost))
    assert gains[int(best)] == gains.max()


def test_better_guesses_and_cheaper_drafts_make_longer_drafts() -> None:
    by_chance = kl.ideal_draft_length([0, 0.5, 0.7, 0.8, 0.9, 1], draft_cost=0.1)
    assert np.asarray(by_chance).tolist() == [0, 2, 4, 6, 10, 16]
    by_cost = kl.ideal_draft_length(0.8, draft_cost=[0.5, 0.2, 0.1, 0.05])
    assert np.all(np.diff(by_cost) > 0)
    assert kl.ideal_draft_length(0.8, 0.1) == 6


def test_a_draft_as_dear_as_the_model_itself_is_not_worth_it() -> None:
    assert kl.ideal_draft_length(acceptance=0.9, draft_cost=1) == 0


def test_the_draft_length_for_two_models_is_the_best_of_a_sweep() -> None:
    chances, batches = np.array([0.6, 0.9]), np.array([[1], [32], [256]])
    best = kl.draft_length(LLAMA_70B, LLAMA_7B, H100, chances, 1024, batches, most=12)
    assert np.asarray(best).tolist() == [[3, 10], [2, 6], [0, 0]]
    for row, batch in enumerate(batches[:, 0]):
        for column, chance in enumerate(chances):
            turn = kl.speculate(LLAMA_70B, LLAMA_7B, 1024, np.arange(13), int(batch))
            place = np.argmax(turn.speedup(H100, float(chance)))
            assert np.asarray(best)[row, column] == place
            one = kl.draft_length(LLAMA_70B, LLAMA_7B, H100, chance, 1024, int(batch), most=12)
            assert one == place
            assert isinstance(one, int)


def test_draft_length_takes_arrays_of_contexts_and_chips() -> None:
    """More chips share the notes of both, too: the answers differ, one by one as in a loop."""
    contexts, chips = np.array([100, 30_000]), np.array([[2], [8]])
    swept = kl.draft_length(LLAMA_70B, LLAMA_7B, H100, 0.8, contexts, 32, chips=chips)
    for row, n in enumerate(chips[:, 0]):
        for column, context in enumerate(contexts):
            one = kl.draft_length(LLAMA_70B, LLAMA_7B, H100, 0.8, int(context), 32, chips=int(n))
            assert np.asarray(swept)[row, column] == one


def test_a_round_takes_arrays() -> None:
    drafted, batch = np.array([0, 1, 5]), np.array([[1], [64]])
    turn = kl.speculate(LLAMA_70B, LLAMA_7B, 2048, drafted, batch)
    for row, b in enumerate(batch[:, 0]):
        for column, k in enumerate(drafted):
            one = kl.speculate(LLAMA_70B, LLAMA_7B, 2048, int(k), int(b))
            for name in ("time", "verify_cost"):
                found = np.asarray(getattr(turn, name)(H100))[row, column]
                assert found == pytest.approx(getattr(one, name)(H100))
            for name in ("tpot", "speedup"):
                found = np.asarray(getattr(turn, name)(H100, 0.8))[row, column]
                assert found == pytest.approx(getattr(one, name)(H100, 0.8))


def test_shapes_that_do_not_fit_are_named() -> None:
    three, four = np.array([1, 2, 3]), np.array([1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"acceptance \(3,\), drafted \(4,\)"):
        kl.expected_tokens(three / 4, four)
    with pytest.raises(ValueError, match=r"tokens \(3,\), drafted \(4,\)"):
        kl.acceptance_rate(three / 3 + 0.5, four)
    with pytest.raises(ValueError, match=r"drafted \(3,\), draft_cost \(4,\)"):
        kl.speculative_speedup(0.5, three, four)
    with pytest.raises(ValueError, match=r"acceptance \(3,\), draft_cost \(4,\)"):
        kl.ideal_draft_length(three / 4, four)
    with pytest.raises(ValueError, match=r"context \(3,\), drafted \(4,\)"):
        kl.speculate(LLAMA_70B, None, three, four)
    with pytest.raises(ValueError, match=r"acceptance \(3,\), batch \(4,\)"):
        kl.draft_length(LLAMA_70B, None, H100, three / 4, 10, four)
    with pytest.raises(ValueError, match=r"acceptance \(3,\), round \(4,\)"):
        kl.speculate(LLAMA_70B, None, 10, four).tpot(H100, three / 4)
