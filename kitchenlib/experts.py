"""Mixture of experts: how many different experts a batch of tokens touches in one layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.inputs import Number, broadcastable, count, wrong


def experts_touched(experts: ArrayLike, per_token: ArrayLike, tokens: ArrayLike) -> Number:
    """Expected number of distinct experts that `tokens` tokens touch in one layer.

    Each token goes to `per_token` of `experts` experts, independently and uniformly:
    ``E (1 - (1 - K/E)^B)``. Real routers are not uniform, so the truth is a little lower.

    Args:
        experts, per_token, tokens: whole numbers or arrays, at least 1; per_token <= experts.

    Returns:
        Experts, as a number or an array; between `per_token` and `experts`.

    >>> round(experts_touched(experts=16, per_token=1, tokens=32), 2)
    13.97
    """
    e = count("experts", experts, "experts")
    k = count("per_token", per_token, "experts per token")
    b = count("tokens", tokens, "tokens")
    broadcastable(experts=e, per_token=k, tokens=b)
    if np.any(np.greater(k, e)):
        wanted = "a token cannot visit more experts than there are: give at most `experts`"
        raise wrong("per_token", per_token, wanted)
    return expected_distinct(e, k, b)


def expected_distinct(experts: Number, per_token: Number, tokens: Number) -> Number:
    """`experts_touched` without its checks, for callers whose numbers are checked already."""
    return experts * (1 - (1 - per_token / experts) ** tokens)
