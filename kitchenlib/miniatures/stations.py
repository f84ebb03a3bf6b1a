"""Specialised stations: a mixture of experts (MoE) in NumPy, and what it carries and keeps.

A feed-forward layer is cut into experts, and a router sends each token to a few of them. Only those
are multiplied, so only their weights are read: `Stations` does it. `split` solves what such a
kitchen is made of from two numbers on a card, and `Split.carried` tells what company makes of it.

What experts specialise in is the subject of `kitchenlib.miniatures.specialists`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.experts import experts_touched, experts_touched_by, routing_chances
from kitchenlib.inputs import Number, dice, dimension, instance, quantity, wrong
from kitchenlib.layers import Block, Experts, check_skew
from kitchenlib.models import Model
from kitchenlib.precision import AnyFormat, number_format

Array = NDArray[np.float32]
Visits = NDArray[np.intp]

_ROUNDING = 1e-12  # of what is subtracted: as little shared as that is nothing shared

# --- a layer of experts ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Router:
    """Which experts a row is sent to: those with the highest logits.

    Attributes:
        weights: (hidden, experts), float32.
        bias: (experts,), float32: added where experts are chosen, not where they are weighted.
            It keeps all of them busy, as in DeepSeek-V3 (arXiv 2412.19437, section 2.1.2).
    """

    weights: Array
    bias: Array

    def route(self, rows: Array, per_token: int = 1) -> tuple[Visits, Array]:
        """The experts of each row, (rows, per_token), best first, and their weights: a sum of 1.

        The weights are the softmax over all logits, cut to the chosen experts and divided by
        their sum: the softmax over the chosen logits.
        """
        logits = rows @ self.weights
        chosen = np.argsort(-(logits + self.bias), axis=1, kind="stable")[:, :per_token]
        best = np.take_along_axis(logits, chosen, axis=1)
        gates = np.exp(best - best.max(axis=1, keepdims=True))
        return chosen, gates / gates.sum(axis=1, keepdims=True)


class Stations:
    """A mixture-of-experts layer with random weights: a router, and experts of three matrices.

    Args:
        experts: how many there are.
        per_token: how many of them each row visits (top-k).
        hidden: values of a row, at least as many as there are experts.
        width: values inside an expert.
        seed: of the weights.

    The router is untrained and fair: to random rows all experts are equally likely.

    Raises ``ValueError`` for a size that is no whole number, or more visits than experts.
    """

    def __init__(
        self,
        experts: int = 16,
        per_token: int = 1,
        hidden: int = 64,
        width: int = 128,
        seed: int = 0,
    ) -> None:
        self.experts = dimension("experts", experts, "experts")
        self.per_token = dimension("per_token", per_token, "experts per token")
        if per_token > experts:
            raise wrong("per_token", per_token, f"there are {experts} experts: give at most those")
        self.hidden = dimension("hidden", hidden, "values", least=self.experts)
        self.width = dimension("width", width, "values")
        rng = dice(seed)
        # At right angles to each other, so that random rows have no favourites among them.
        drawn = rng.standard_normal((self.hidden, self.experts), dtype=np.float32)
        toward, _ = np.linalg.qr(drawn)
        self.router = Router(toward, np.zeros(self.experts, np.float32))
        self._gate_up = _matrices(rng, self.experts, self.hidden, 2 * self.width)
        self._down = _matrices(rng, self.experts, self.width, self.hidden)

    @property
    def expert_bytes(self) -> int:
        """Bytes of the weights of one expert."""
        return int(self._gate_up[0].nbytes + self._down[0].nbytes)

    @property
    def bytes(self) -> int:
        """Bytes of all experts: what has to lie in memory, however few are visited."""
        return self.experts * self.expert_bytes

    def route(self, rows: ArrayLike) -> Visits:
        """The numbers of the experts that each of the `rows` visits, (rows, per_token)."""
        return self.router.route(self._checked(rows), self.per_token)[0]

    def touched(self, rows: ArrayLike) -> int:
        """Distinct experts that the `rows` visit together."""
        return len(np.unique(self.route(rows)))

    def bytes_read(self, rows: ArrayLike) -> int:
        """Bytes of the experts that are read for the `rows`: of each that any of them visits."""
        return self.touched(rows) * self.expert_bytes

    def __call__(self, rows: ArrayLike) -> Array:
        """The layer: each row through its experts, weighted by the router.

        Rows are grouped by expert, so that the weights of an expert are read once for all of its
        visitors, and those of an expert without any not at all.

        Args:
            rows: (rows, hidden).

        Returns:
            (rows, hidden), float32.

        Raises ``ValueError`` for rows of another shape.
        """
        x = self._checked(rows)
        chosen, gates = self.router.route(x, self.per_token)
        out = np.zeros_like(x)
        for expert in np.unique(chosen):
            visitors, visit = np.nonzero(chosen == expert)
            out[visitors] += gates[visitors, visit, None] * self.cook(expert, x[visitors])
        return out

    def cook(self, expert: int, rows: Array) -> Array:
        """What one expert makes of `rows`, (rows, hidden), whoever sent them: a gated layer."""
        both = rows @ self._gate_up[expert]
        gate, up = both[:, : self.width], both[:, self.width :]
        return (gate / (1 + np.exp(-gate)) * up) @ self._down[expert]

    def _checked(self, rows: ArrayLike) -> Array:
        x = np.asarray(rows, np.float32)
        if x.ndim != 2 or x.shape[1] != self.hidden or not len(x):
            raise ValueError(
                f"rows of shape {x.shape} will not do: give (rows, {self.hidden}), one row a token"
            )
        return x


def _matrices(rng: np.random.Generator, number: int, inputs: int, outputs: int) -> Array:
    """Random matrices that keep the size of a row about as it is."""
    values = rng.random((number, inputs, outputs), dtype=np.float32)
    values -= 0.5
    values *= (12 / inputs) ** 0.5
    return values


# --- what it is made of, and what company carries ----------------------------------------------


class Split(NamedTuple):
    """What a kitchen of experts is made of: bytes, or kilograms, whatever the card counts in.

    Attributes:
        shared: what every token meets: attention, embeddings, shared experts.
        expert: one expert, in all layers together.
        experts, per_token: how many there are, and how many of them a token visits.
    """

    shared: float
    expert: float
    experts: int
    per_token: int = 1

    @property
    def total(self) -> float:
        """All that lies in the warehouse."""
        return self.shared + self.experts * self.expert

    @property
    def active(self) -> float:
        """What one token meets."""
        return self.shared + self.per_token * self.expert

    def carried(self, guests: ArrayLike, skew: float = 0.0) -> Number:
        """What one step for so many guests reads: the shared part, and each expert that anyone
        visits, once (expected).

        Args:
            guests: tokens in the step, a number or an array.
            skew: 0 where all experts are as popular; see `kitchenlib.routing_chances`.
        """
        if check_skew(skew) == 0:
            return self.shared + self.expert * experts_touched(self.experts, self.per_token, guests)
        chances = routing_chances(self.experts, self.per_token, skew)
        return self.shared + self.expert * experts_touched_by(chances, guests)

    @classmethod
    def of(cls, model: Model, weights: AnyFormat = "bf16") -> Split:
        """A model of the catalogue, in bytes of a number format.

        Raises ``ValueError`` for one without experts.
        """
        layer = experts_of(model)
        form = number_format(weights)
        routed = sum(
            model.tensors[name] * form.bytes_of(name) for name in ("experts", "expert_biases")
        )
        shared = model.weight_bytes(weights) - routed
        return cls(shared, routed / layer.number, layer.number, layer.per_token)


def experts_of(model: Model) -> Experts:
    """The mixture of a model's layers; ``ValueError`` for a model without one."""
    instance("model", model, Model, 'kl.model("DBRX")')
    for block in model.blocks:
        if isinstance(block.mlp, Experts):
            return block.mlp
    raise ValueError(
        f"{model.name} has no experts: every token meets all of it. Choose a mixture of experts, "
        'for example kl.model("DBRX")'
    )


def skewed(model: Model, skew: float) -> Model:
    """The same model with a router that is so uneven (see `kitchenlib.routing_chances`)."""
    return replace(model, blocks=tuple(_skewed(block, skew) for block in model.blocks))


def _skewed(block: Block, skew: float) -> Block:
    mlp = block.mlp
    return replace(block, mlp=replace(mlp, skew=skew)) if isinstance(mlp, Experts) else block


def split(total: float, active: float, experts: int, per_token: int = 1) -> Split:
    """The shared part and one expert, from what a card tells: all of it, and what one token meets.

    Solves ``shared + experts * expert = total`` and ``shared + per_token * expert = active``.

    Args:
        total: of all weights, in bytes or kilograms.
        active: of those that one token meets, in the same unit.
        experts: how many there are, at least 2.
        per_token: how many of them a token visits, fewer than there are.

    Raises:
        ValueError: numbers that no kitchen has: where the visited experts alone would be more
            than `active`, the shared part would be negative.

    >>> card = split(total=500, active=40, experts=16)
    >>> round(card.shared, 2), round(card.expert, 2)
    (9.33, 30.67)
    """
    everything = quantity("total", total, "bytes or kilograms")
    met = quantity("active", active, "bytes or kilograms")
    number = dimension("experts", experts, "experts", least=2)
    visited = dimension("per_token", per_token, "experts per token")
    if visited >= number:
        wanted = f"there are {number} experts, and a token leaves some out: give fewer"
        raise wrong("per_token", per_token, wanted)
    if met >= everything:
        wanted = f"one token meets a part of all {everything:g}: give less"
        raise wrong("active", active, wanted)
    expert = (everything - met) / (number - visited)
    shared = met - visited * expert
    if shared < -_ROUNDING * met:
        most = int(met / everything * number)
        fewer = f"at most {most} a token" if most else "more experts"
        raise ValueError(
            f"no such kitchen: {number} experts with {visited} a token would weigh {expert:.2f} "
            f"each, so what is shared would weigh {shared:.2f}. The experts that a token visits "
            f"are part of its {met:g}: give {fewer}, or at least {visited / number * everything:g} "
            "as active"
        )
    return Split(max(shared, 0.0), expert, number, visited)


#: The card: 16 sacks, 500 kg in all, 40 kg carried for one order (1 kg is 1 GB).
CARD = split(total=500e9, active=40e9, experts=16)


# --- on the clock ------------------------------------------------------------------------------


class Pace(NamedTuple):
    """One layer of experts on the clock, against a dense layer of the size that a token meets.

    Attributes:
        batch: rows in the step.
        touched: distinct experts that they visit.
        seconds, dense: of the layer of experts, and of the dense one; the best of several tries.
    """

    batch: int
    touched: int
    seconds: float
    dense: float


def measured(batches: Sequence[int] = (1, 2, 4, 8, 16, 32, 64), tries: int = 9) -> list[Pace]:
    """Time a layer of 16 experts in NumPy, and a dense layer of one expert's size, by batch.

    The experts take 100 MB together, more than most caches hold. The same rows are sent to other
    experts in each try, and the dense layer is another one as well: between two visits to a layer
    a real model reads all its others. Batches take turns, and the best try counts: whatever else
    the machine does can only slow things down.

    Args:
        batches: rows in a step, in any order; at least one size.
        tries: of each. More of them on a busy machine.
    """
    sizes = [dimension("batches", batch, "rows") for batch in batches]
    turns = dimension("tries", tries, "tries")
    if not sizes:
        raise wrong("batches", batches, "give at least one number of rows, for example (1, 16)")
    layer, rng = Stations(hidden=512, width=1024), np.random.default_rng(1)
    rows = [rng.standard_normal((size, layer.hidden), dtype=np.float32) for size in sizes]
    toward, bias = layer.router.weights, layer.router.bias
    layer(rows[0])  # the first step of all is slower
    clock = np.empty((turns, len(sizes), 2))
    for turn in range(turns):
        layer.router = Router(np.roll(toward, 5 * turn, axis=1), bias)
        for i, x in enumerate(rows):
            start = perf_counter()
            layer(x)
            middle = perf_counter()
            layer.cook(turn % layer.experts, x)
            clock[turn, i] = middle - start, perf_counter() - middle
    best = clock.min(axis=0).tolist()
    touched = map(layer.touched, rows)
    return [Pace(*each, *times) for *each, times in zip(sizes, touched, best, strict=True)]
