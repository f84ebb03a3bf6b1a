"""How many experts a batch touches when some are more popular than others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl

skews = st.floats(0, 8)


@st.composite
def routed(draw: st.DrawFn) -> tuple[int, int]:
    experts = draw(st.integers(1, 200))
    return experts, draw(st.integers(1, experts))


@given(routed(), skews)
def test_a_token_visits_its_experts_and_none_twice(of: tuple[int, int], skew: float) -> None:
    experts, per_token = of
    chances = kl.routing_chances(experts, per_token, skew)
    assert chances.shape == (experts,)
    assert chances.sum() == pytest.approx(per_token)
    assert chances.max() <= 1 + 1e-12
    assert np.all(np.diff(chances) <= 1e-12)


@given(routed(), st.integers(1, 1000))
def test_without_skew_routing_is_uniform(of: tuple[int, int], tokens: int) -> None:
    experts, per_token = of
    uniform = kl.routing_chances(experts, per_token)
    assert uniform == pytest.approx(np.full(experts, per_token / experts))
    touched = kl.experts_touched(experts, per_token, tokens)
    assert kl.experts_touched_by(uniform, tokens) == pytest.approx(touched)


@given(routed(), skews, st.integers(1, 1000))
def test_skew_touches_fewer_and_never_more_than_there_can_be(
    of: tuple[int, int], skew: float, tokens: int
) -> None:
    experts, per_token = of
    skewed = float(kl.experts_touched_by(kl.routing_chances(*of, skew), tokens))
    uniform = float(kl.experts_touched(experts, per_token, tokens))
    slack = 1 + 1e-9
    assert per_token <= skewed * slack
    assert skewed <= uniform * slack
    assert uniform <= kl.most_experts_touched(experts, per_token, tokens) * slack


def test_the_first_expert_is_twice_as_popular_as_the_second() -> None:
    chances = kl.routing_chances(16, 1, skew=1)
    assert chances[0] == 2 * chances[1] == pytest.approx(3 * chances[2])


def test_the_most_popular_experts_may_be_visited_by_every_token() -> None:
    chances = kl.routing_chances(8, 4, skew=3)
    assert chances[0] == 1 > chances[-1] > 0
    assert kl.routing_chances(4, 4, skew=3) == pytest.approx(np.ones(4))


def test_skewed_routing_agrees_with_dice() -> None:
    """16 experts, one a token, 32 tokens, thrown 20,000 times with a fixed seed."""
    chances = kl.routing_chances(16, 1, skew=1)
    thrown = np.random.default_rng(1).choice(16, size=(20_000, 32), p=chances)
    distinct = np.mean([len(set(row)) for row in thrown.tolist()])
    assert kl.experts_touched_by(chances, 32) == pytest.approx(distinct, rel=5e-3)
    assert distinct < kl.experts_touched(16, 1, 32) - 1


def test_an_expert_that_nobody_visits_is_never_touched() -> None:
    assert kl.experts_touched_by([0.5, 0.5, 0.0], 10**6) == pytest.approx(2)


def test_tokens_may_be_an_array_of_any_shape() -> None:
    tokens = np.array([[1, 2], [32, 64]])
    swept = kl.experts_touched_by(kl.routing_chances(16, 1, 1.0), tokens)
    assert swept == pytest.approx(
        np.vectorize(lambda b: kl.experts_touched_by(kl.routing_chances(16, 1, 1.0), int(b)))(
            tokens
        )
    )
    bound = kl.most_experts_touched(16, np.array([1, 4]), np.array([[2], [8]]))
    assert bound == pytest.approx(np.array([[2, 8], [8, 16]]))


def test_an_uneven_router_brings_fewer_experts_to_a_step() -> None:
    mixture = kl.model("gpt-oss-120b")
    skewed = replace(
        mixture,
        blocks=tuple(
            replace(b, mlp=replace(b.mlp, skew=1.0))
            for b in mixture.blocks
            if isinstance(b.mlp, kl.Experts)
        ),
    )
    assert skewed.params == mixture.params
    one, many = (
        [kl.decode_step(m, 512, batch).parts["experts"] for m in (mixture, skewed)]
        for batch in (1, 32)
    )
    assert one[0].weight_bytes == pytest.approx(one[1].weight_bytes)  # a token has its four
    assert many[0].flops == many[1].flops
    touched = [81.7, kl.experts_touched_by(kl.routing_chances(128, 4, 1.0), 32)]
    ratio = many[1].weight_bytes / many[0].weight_bytes
    assert ratio == pytest.approx(touched[1] / touched[0], rel=1e-3)
    assert ratio < 0.8
