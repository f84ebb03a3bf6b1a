"""Speculative decoding: a small model drafts some tokens, the large one checks them in one pass.

The text stays the same; what changes is how many passes it takes. The idle chef pays: checking
k + 1 tokens reads the weights as often as writing one. Three costs stand against the gain: drafts
that are rejected, the drafts' own passes, and a checking pass that grows once the chef is busy
(large batches) or once more experts are fetched (mixtures).

`acceptance` is the probability that a draft is accepted, given that those before it were. It is
taken to be the same for each, which flatters long drafts: measured, it falls along the draft.
Every round ends with one token that the large model gives itself: where a draft is rejected, the
right one instead of it; where all are accepted, a bonus.

Source: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding",
ICML 2023 (arXiv 2211.17192), equation 1 and theorem 3.8; confirmed by simulation in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip
from kitchenlib.inputs import (
    Number,
    amount,
    broadcastable,
    chance,
    count,
    dimension,
    instance,
    positive,
    scalar,
    whole,
    wrong,
)
from kitchenlib.models import Model
from kitchenlib.phases import decode_step, verify_step
from kitchenlib.precision import AnyFormat
from kitchenlib.roofline import Work

LONGEST_DRAFT = 1000  # tokens: every length up to it is looked at
_HALVINGS = 60  # of the range from 0 to 1: more than a float64 can tell apart
_DIGITS = 15


def expected_tokens(acceptance: ArrayLike, drafted: ArrayLike) -> Number:
    """Mean tokens that one checking pass adds to a sequence, the bonus token included.

    ``1 + a + a^2 + ... + a^k = (1 - a^(k+1)) / (1 - a)``. Drafts accepted alone are one less.

    Args:
        acceptance: probability that a draft is accepted, from 0 to 1.
        drafted: tokens drafted for each pass, k.

    Returns:
        Tokens, from 1 to drafted + 1, as a number or an array.

    >>> round(expected_tokens(acceptance=0.8, drafted=5), 2)
    3.69
    """
    a, k = _acceptance(acceptance), _drafted(drafted)
    broadcastable(acceptance=a, drafted=k)
    return scalar(_expected(a, k))


def all_accepted(acceptance: ArrayLike, drafted: ArrayLike) -> Number:
    """Probability that every one of the `drafted` tokens is accepted: ``a^k``.

    Arguments as for `expected_tokens`.

    >>> round(all_accepted(acceptance=0.8, drafted=5), 2)
    0.33
    """
    a, k = _acceptance(acceptance), _drafted(drafted)
    broadcastable(acceptance=a, drafted=k)
    return scalar(np.power(a, k))


def accepted_lengths(acceptance: ArrayLike, drafted: int) -> NDArray[np.float64]:
    """Probabilities that 0, 1, ... k drafts are accepted: ``a^n (1 - a)``, and ``a^k`` for all.

    Args:
        acceptance: as for `expected_tokens`.
        drafted: k, one whole number.

    Returns:
        Array of the shape of `acceptance` with one axis more, of k + 1 places that add up to 1.
        The pass adds one token more than are accepted.
    """
    a = np.asarray(_acceptance(acceptance))[..., None]
    k = _length("drafted", drafted)
    accepted = np.arange(k + 1.0)
    return a**accepted * np.where(accepted < k, 1 - a, 1)


def acceptance_rate(tokens: ArrayLike, drafted: ArrayLike) -> Number:
    """The acceptance that explains measured `tokens` per pass: `expected_tokens` turned round.

    Args:
        tokens: mean tokens that one pass adds, from 1 to drafted + 1. What is published as
            "acceptance length" (or even "rate") may or may not count the token that the large
            model gives itself: if it is 1 where nothing is drafted it does, else add 1.
        drafted: tokens drafted for each pass, at least 1.

    Returns:
        A probability, as a number or an array.
    """
    t = positive("tokens", tokens, "tokens per pass")
    k = count("drafted", drafted, "tokens")
    broadcastable(tokens=t, drafted=k)
    if np.any(np.less(t, 1) | np.greater(t, k + 1)):
        wanted = "a pass adds from 1 to drafted + 1 tokens, since the last one is never drafted"
        raise wrong("tokens", tokens, wanted)
    low, high = np.zeros(np.broadcast(t, k).shape), np.ones(np.broadcast(t, k).shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        few = _expected(middle, k) < t
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return scalar(np.round(high, _DIGITS))


def speculative_speedup(
    acceptance: ArrayLike,
    drafted: ArrayLike,
    draft_cost: ArrayLike,
    verify_cost: ArrayLike = 1.0,
) -> Number:
    """How much faster speculation writes than plain decoding: ``E / (v + k c)``.

    Args:
        acceptance, drafted: as for `expected_tokens`, which is E.
        draft_cost: time of one step of the draft model over one step of the large one, c;
            0 where drafts are looked up in the text.
        verify_cost: time of one checking pass over one step of the large model, v. It is 1 while
            the chef has time to spare; `speculate` tells for how long.

    Returns:
        A factor as a number or an array; below 1 speculation loses.

    >>> round(speculative_speedup(acceptance=0.8, drafted=5, draft_cost=0.1), 2)
    2.46
    """
    a, k = _acceptance(acceptance), _drafted(drafted)
    c = amount("draft_cost", draft_cost, "steps of the large model")
    v = positive("verify_cost", verify_cost, "steps of the large model")
    broadcastable(acceptance=a, drafted=k, draft_cost=c, verify_cost=v)
    return scalar(_expected(a, k) / (v + k * c))


def ideal_draft_length(acceptance: ArrayLike, draft_cost: ArrayLike, most: int = 16) -> Number:
    """The draft length with the greatest `speculative_speedup` while the chef has time to spare.

    Args:
        acceptance, draft_cost: as for `speculative_speedup`.
        most: the longest draft to look at.

    Returns:
        Tokens as a whole number or an array, from 0 (do not speculate) to `most`.
    """
    a = _acceptance(acceptance)
    c = amount("draft_cost", draft_cost, "steps of the large model")
    broadcastable(acceptance=a, draft_cost=c)
    lengths = np.arange(_length("most", most) + 1)
    return _best(speculative_speedup(_column(a), lengths, _column(c)))


@dataclass(frozen=True)
class Round:
    """One round of speculation: `drafted` passes of the draft model, one that checks.

    Attributes:
        drafted: tokens drafted for each sequence.
        plain: one decode step of the large model, which the round is held against.
        draft: one decode step of the draft model (no work at all where drafts are looked up).
        verify: the pass that checks.
    """

    drafted: Number
    plain: Work
    draft: Work
    verify: Work

    def draft_cost(self, chip: Chip) -> Number:
        """Time of one step of the draft model over one step of the large model."""
        return self.draft.time(chip) / self.plain.time(chip)

    def verify_cost(self, chip: Chip) -> Number:
        """Time of the checking pass over one step of the large model."""
        return self.verify.time(chip) / self.plain.time(chip)

    def time(self, chip: Chip) -> Number:
        """Ideal seconds of the round."""
        return self.drafted * self.draft.time(chip) + self.verify.time(chip)

    def tpot(self, chip: Chip, acceptance: ArrayLike) -> Number:
        """Seconds per token of each sequence: the round over the `expected_tokens` it gives."""
        seconds, a = self.time(chip), _acceptance(acceptance)
        broadcastable(acceptance=a, round=seconds)
        return scalar(seconds / _expected(a, self.drafted))

    def speedup(self, chip: Chip, acceptance: ArrayLike) -> Number:
        """`speculative_speedup` with the costs that these models have on `chip`."""
        return speculative_speedup(
            acceptance, self.drafted, self.draft_cost(chip), self.verify_cost(chip)
        )


def speculate(
    target: Model,
    draft: Model | None,
    context: ArrayLike,
    drafted: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    draft_weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Round:
    """The work of one round of speculation; put on a chip, it tells what speculation gains.

    The draft model's few newest notes are left out: each of its steps finds `context` tokens.

    Args:
        target: the large model, whose text it is.
        draft: the model that drafts, with the same vocabulary; None where drafts are looked up in
            the text (prompt lookup) and cost nothing. A draft head (MTP, EAGLE) is about one layer
            of the large model: ``replace(block, layers=1)``.
        context: tokens in the cache of each sequence.
        drafted: tokens drafted for each sequence.
        batch: sequences at once. All of them are checked in the same pass.
        weights, draft_weights: number formats of the two models.
        kv, compute, chips: as for `kitchenlib.prefill`, for both models.

    Returns:
        `Round`. Sizes broadcast: arrays give arrays.
    """
    instance("target", target, Model, 'kl.model("Llama-2-70B")')
    shared = kv, compute, chips
    drafting = Work({})
    if draft is not None:
        instance("draft", draft, Model, 'kl.model("Llama-2-7B"), or None')
        drafting = decode_step(draft, context, batch, draft_weights, *shared)
    return Round(
        _drafted(drafted),
        decode_step(target, context, batch, weights, *shared),
        drafting,
        verify_step(target, context, drafted, batch, weights, *shared),
    )


def draft_length(
    target: Model,
    draft: Model | None,
    chip: Chip,
    acceptance: ArrayLike,
    context: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    draft_weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    most: int = 16,
) -> Number:
    """The draft length with the greatest speed-up for these models on `chip`.

    Args:
        acceptance: as for `expected_tokens`.
        most: the longest draft to look at.
        others: as for `speculate`.

    Returns:
        Tokens as a whole number or an array, from 0 (do not speculate) to `most`.
    """
    a, before = _acceptance(acceptance), count("context", context, "tokens", least=0)
    sequences, n = count("batch", batch, "sequences"), count("chips", chips, "chips")
    broadcastable(acceptance=a, context=before, batch=sequences, chips=n)
    lengths = np.arange(_length("most", most) + 1)
    sizes = _column(before), lengths, _column(sequences)
    turn = speculate(target, draft, *sizes, weights, draft_weights, kv, compute, _column(n))
    return _best(turn.speedup(chip, _column(a)))


def _acceptance(value: ArrayLike) -> Number:
    return chance("acceptance", value, "accepting a draft")


def _drafted(value: ArrayLike) -> Number:
    return count("drafted", value, "tokens", least=0)


def _length(name: str, value: int) -> int:
    length = dimension(name, value, "tokens", least=0)
    if length > LONGEST_DRAFT:
        raise wrong(name, value, f"give at most {LONGEST_DRAFT:,} tokens")
    return length


def _expected(a: Number, k: Number) -> NDArray[np.float64]:
    """(1 - a^(k+1)) / (1 - a), which is k + 1 where a is 1.

    As written it loses half of its digits near 1; in terms of the misses, 1 - a, it keeps them.
    """
    miss = 1 - np.asarray(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        tokens = -np.expm1((k + 1) * np.log1p(-miss)) / miss
    return np.where(miss > 0, tokens, k + 1)


def _best(speedups: Number) -> Number:
    """The place of the greatest along the last axis, which is the length of the draft."""
    return whole(np.argmax(speedups, axis=-1))


def _column(value: Number) -> Number:
    return value[..., None] if isinstance(value, np.ndarray) else value
