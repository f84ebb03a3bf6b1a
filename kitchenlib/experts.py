"""Mixture of experts: how many different experts a batch of tokens touches in one layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.inputs import Number, broadcastable, chance, count, dimension, scalar, wrong
from kitchenlib.layers import check_skew


def experts_touched(experts: ArrayLike, per_token: ArrayLike, tokens: ArrayLike) -> Number:
    """Expected number of distinct experts that `tokens` tokens touch in one layer.

    Each token goes to `per_token` of `experts` experts, independently and uniformly:
    ``E (1 - (1 - K/E)^B)``. Real routers are not uniform, so the truth is a little lower: see
    `experts_touched_by`.

    Args:
        experts, per_token, tokens: whole numbers or arrays, at least 1; per_token <= experts.

    Returns:
        Experts, as a number or an array; between `per_token` and `experts`.

    >>> round(experts_touched(experts=16, per_token=1, tokens=32), 2)
    13.97
    """
    return expected_distinct(*_routed(experts, per_token, tokens))


def most_experts_touched(experts: ArrayLike, per_token: ArrayLike, tokens: ArrayLike) -> Number:
    """The most distinct experts that `tokens` tokens can touch in one layer: ``min(E, K B)``.

    A bound, whatever the router does; args as for `experts_touched`, the expected number.

    >>> most_experts_touched(experts=128, per_token=8, tokens=10)
    80
    """
    e, k, b = _routed(experts, per_token, tokens)
    most = np.minimum(e, k * b)
    return most if most.ndim else most.item()


def routing_chances(experts: int, per_token: int, skew: float = 0.0) -> NDArray[np.float64]:
    """The chance that a token visits each expert, the most popular first, if some are popular.

    The expert of rank r is as popular as ``r ** -skew`` (Zipf's law; an assumption, not a
    measurement). Together a token visits `per_token` of them, and none twice, so no chance is
    above 1.

    Args:
        experts, per_token: one whole number each; per_token <= experts.
        skew: 0 is uniform; 1 makes the first expert twice as popular as the second.

    Returns:
        `experts` chances, shape (experts,), that add up to `per_token`.
    """
    number = dimension("experts", experts, "experts")
    visited = dimension("per_token", per_token, "experts per token")
    _routed(number, visited, 1)
    chances = np.arange(1.0, number + 1) ** -check_skew(skew)
    for sure in range(visited + 1):  # the most popular ones, which every token visits
        rest = chances[sure:]
        if sure == visited or rest[0] * (visited - sure) <= rest.sum():
            break
    share = (visited - sure) / rest.sum() if rest.size else 0.0
    return np.concatenate([np.ones(sure), rest * share])


def experts_touched_by(chances: ArrayLike, tokens: ArrayLike) -> Number:
    """Expected number of distinct experts that `tokens` tokens touch under uneven routing.

    Expert e is visited by a token with chance p_e, whatever other tokens do:
    ``sum over e of 1 - (1 - p_e)^B``. Among routers with equal ``sum p_e``, the uniform one
    touches the most, so `experts_touched` bounds it from above.

    Args:
        chances: one for each expert, 0 to 1, shape (experts,); see `routing_chances`.
        tokens: a whole number or an array.

    Returns:
        Experts, as a number, or an array of the shape of `tokens`.

    >>> round(experts_touched_by([1 / 16] * 16, tokens=32), 2)
    13.97
    """
    p = np.asarray(chance("chances", chances, "a visit, one for each expert"))
    if p.ndim != 1:
        raise wrong("chances", chances, "give a list of chances, one for each expert, from 0 to 1")
    b = np.asarray(count("tokens", tokens, "tokens"), dtype=float)
    return scalar(np.sum(1 - (1 - p) ** b[..., None], axis=-1))


def _routed(
    experts: ArrayLike, per_token: ArrayLike, tokens: ArrayLike
) -> tuple[Number, Number, Number]:
    e = count("experts", experts, "experts")
    k = count("per_token", per_token, "experts per token")
    b = count("tokens", tokens, "tokens")
    broadcastable(experts=e, per_token=k, tokens=b)
    if np.any(np.greater(k, e)):
        wanted = "a token cannot visit more experts than there are: give at most `experts`"
        raise wrong("per_token", per_token, wanted)
    return e, k, b


def expected_distinct(experts: Number, per_token: Number, tokens: Number) -> Number:
    """`experts_touched` without its checks, for callers whose numbers are checked already."""
    return experts * (1 - (1 - per_token / experts) ** tokens)
