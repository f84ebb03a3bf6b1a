"""Tokens that are thought before the reply: what they cost in seconds, notes and guests.

Hidden tokens are decode tokens. Each takes a step, leaves notes that stay until the request ends,
and is charged as output, whether or not anybody reads it. No public calculator does this
arithmetic, so here is all that is assumed:

- A request reads its prompt, thinks `hidden` tokens, and writes a `reply`. The first token of all
  comes with the prefill; each further one takes a decode step whose context is a token longer. So
  the first visible token comes `hidden` steps after the prefill.
- All `batch` requests go in step: equal prompts, equal thoughts, equal replies.
- Parallel `samples` think side by side, each its own `hidden` tokens after the one prompt. Then
  they vote, one of them is kept, and it alone writes the reply. The vote takes no time.
- *Shared*: the notes of the prompt are kept once for all samples of a request and read once a
  step; it takes a kernel that can. *Copied*: each sample keeps and reads them for itself. Scores
  are calculated for each sample either way. A state (of a state-space layer) is never shared.

Notes are bytes of one request on all chips together, copied KV heads counted once. The last token
of a reply leaves none: nothing comes after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchenlib.chips import Chip
from kitchenlib.efficiency import IDEAL, Efficiency, estimate
from kitchenlib.inputs import Number, broadcastable, count, scalar, whole, wrong
from kitchenlib.models import Model
from kitchenlib.phases import decode_step
from kitchenlib.precision import AnyFormat
from kitchenlib.roofline import Work
from kitchenlib.serving import USABLE, max_batch, memory_needed, ttft
from kitchenlib.serving.latency import LONGEST_REPLY, along_steps


class Thought(NamedTuple):
    """A request that thinks before it replies.

    Attributes:
        first_visible: seconds from the order to the first token that the guest sees.
        total: seconds from the order to the last token.
        hidden: seconds between the prefill and the first visible token.
        notes: the most bytes that the request keeps at once.
    """

    first_visible: Number
    total: Number
    hidden: Number
    notes: Number


class Samples(NamedTuple):
    """Parallel samples, in a system whose samples share the prompt's notes, and in one without."""

    shared: Thought
    copied: Thought


def chain(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    hidden: ArrayLike,
    reply: ArrayLike,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
) -> Thought:
    """One chain of thought: `hidden` tokens, one after the other, before the reply.

    Args:
        hidden: tokens that are thought, 0 or more.
        reply: tokens that the guest sees, at least 1.
        others: as for `kitchenlib.request_time`, which `total` is for ``hidden + reply`` tokens.

    Returns:
        `Thought`. All sizes broadcast, these two as well. Thought and reply together have at most
        a million tokens, since every step is calculated.
    """
    alone = samples(
        model,
        chip,
        prompt,
        hidden,
        reply,
        1,
        batch=batch,
        cached=cached,
        weights=weights,
        kv=kv,
        compute=compute,
        chips=chips,
        efficiency=efficiency,
    )
    return alone.shared


def samples(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    hidden: ArrayLike,
    reply: ArrayLike,
    number: ArrayLike,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
) -> Samples:
    """`number` chains of `hidden` tokens side by side, a vote, and one reply.

    To be held against one `chain` of ``number * hidden`` tokens: as many tokens in all.

    Args:
        number: samples of each request, at least 1.
        others: as for `chain`.
    """
    p, h, r, k, b, n = _sizes(prompt, hidden, reply, number, batch, chips)
    formats = weights, kv, compute
    steps = np.arange(max(int(np.max(h + r)) - 1, 1))
    thoughts = steps[: max(int(np.max(h)) - 1, 1)]
    read, guests, many, over = (along_steps(size) for size in (p, b, k, n))

    def clock(work: Work, number: int) -> NDArray[np.float64]:
        return _clock(estimate(work, chip, efficiency), number)

    start = ttft(model, chip, prompt, batch, cached, *formats, chips, efficiency)
    alone = clock(decode_step(model, read + steps, guests, *formats, over), len(steps))
    if np.all(np.equal(k, 1)):
        together = apart = alone
    else:
        once = shared_prefix_step(model, read, thoughts, many, guests, *formats, over)
        each = decode_step(model, read + thoughts, guests * many, *formats, over)
        together, apart = clock(once, len(thoughts)), clock(each, len(thoughts))
    side_by_side = np.maximum(h - 1, 0)  # the last of them is fed to the model by the one kept
    before, first, last = (_at(alone, at) for at in (side_by_side, h, h + r - 1))

    def rows(tokens: Number) -> Number:
        return model.kv_bytes(tokens, kv)

    def thought(clock: NDArray[np.float64], shared: bool) -> Thought:
        fork = _at(clock, side_by_side)
        thinking = fork + first - before
        notes = _most_notes(rows, model.state_bytes(), (p, h, r, k), shared)
        return Thought(
            scalar(start + thinking), scalar(start + fork + last - before), scalar(thinking), notes
        )

    return Samples(thought(together, True), thought(apart, False))


def shared_prefix_step(
    model: Model,
    prefix: ArrayLike,
    own: ArrayLike,
    number: ArrayLike,
    batch: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
) -> Work:
    """The work of one decode step of samples that share a prefix, its notes read once for all.

    As many FLOPs as a `kitchenlib.decode_step` of ``batch * number`` sequences, which reads the
    prefix `number` times.

    Args:
        prefix: tokens that the samples of a request have in common.
        own: tokens that each has of its own, 0 or more.
        number: samples of each of `batch` requests.
        weights, kv, compute, chips: as for `kitchenlib.decode_step`.

    Returns:
        `Work` of one chip. Sizes broadcast: arrays give arrays.
    """
    p, o = count("prefix", prefix, "tokens"), count("own", own, "tokens", least=0)
    k, b = count("number", number, "samples"), count("batch", batch, "sequences")
    broadcastable(prefix=p, own=o, number=k, batch=b, chips=count("chips", chips, "chips"))
    formats = weights, kv, compute, chips
    apart = decode_step(model, p + o, b * k, *formats)
    if "attention" not in apart.parts:
        return apart
    one = decode_step(model, p + o, 1, *formats).kv_bytes
    again = one - decode_step(model, o, 1, *formats).kv_bytes  # a window may hold less than all
    attention = apart.parts["attention"]
    once = attention._replace(kv_bytes=attention.kv_bytes - b * (k - 1) * again)
    return Work({**apart.parts, "attention": once})


def most_requests(
    model: Model,
    chip: Chip,
    prompt: ArrayLike,
    hidden: ArrayLike,
    reply: ArrayLike,
    number: ArrayLike = 1,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    chips: ArrayLike = 1,
    usable: float = USABLE,
) -> Number:
    """The most requests that fit at once, with room for all that each will have noted.

    Samples share the notes of the prompt. 0 where not even the weights fit.

    Args:
        others: as for `samples` and `kitchenlib.max_batch`, which it is for one sample.
    """
    p, h, r, k, _, n = _sizes(prompt, hidden, reply, number, 1, chips)
    max_batch(model, chip, p, weights, kv, n, usable)  # raises for whatever is wrong
    bare = memory_needed(model, 0, 1, weights, kv, n)
    state = memory_needed(model, 0, 2, weights, kv, n) - bare

    def rows(tokens: Number) -> Number:
        return memory_needed(model, tokens, 1, weights, kv, n) - bare

    left = usable * (chip.memory_bytes or 0.0) - (bare - state)
    most = _most_notes(rows, state, (p, h, r, k), shared=True)
    return whole(np.maximum(np.floor(left / most), 0))


def _sizes(
    prompt: ArrayLike,
    hidden: ArrayLike,
    reply: ArrayLike,
    number: ArrayLike,
    batch: ArrayLike,
    chips: ArrayLike,
) -> tuple[Number, Number, Number, Number, Number, Number]:
    """The sizes, checked. Samples part with their second token: before it there is one of them."""
    p, n = count("prompt", prompt, "tokens"), count("chips", chips, "chips")
    h = count("hidden", hidden, "tokens of thought", least=0)
    r = count("reply", reply, "tokens of the reply")
    k, b = count("number", number, "samples"), count("batch", batch, "sequences")
    broadcastable(prompt=p, hidden=h, reply=r, number=k, batch=b, chips=n)
    if np.max(h + r) > LONGEST_REPLY:
        most = f"give at most {LONGEST_REPLY:,} tokens of thought and reply together"
        raise wrong("hidden", hidden, most)
    return p, h, r, scalar(np.where(np.greater(h, 1), k, 1)), b, n


def _clock(seconds: Number, steps: int) -> NDArray[np.float64]:
    """Seconds after 0, 1, ... of the steps that lie along the last axis."""
    each = np.broadcast_to(seconds, (*np.shape(seconds)[:-1], steps))
    return np.concatenate([np.zeros((*each.shape[:-1], 1)), each.cumsum(axis=-1)], axis=-1)


def _at(clock: NDArray[np.float64], steps: Number) -> NDArray[np.float64]:
    """What a clock shows after so many steps."""
    wanted = np.asarray(steps, dtype=np.int64)[..., None]
    shape = np.broadcast_shapes(clock.shape[:-1], wanted.shape[:-1])
    clocks = np.broadcast_to(clock, (*shape, clock.shape[-1]))
    return np.take_along_axis(clocks, np.broadcast_to(wanted, (*shape, 1)), axis=-1)[..., 0]


def _most_notes(
    rows: Callable[[Number], Number],
    state: Number,
    sizes: tuple[Number, Number, Number, Number],
    shared: bool,
) -> Number:
    """The most bytes of one request: when its samples have thought, or when the reply is written.

    Args:
        rows: bytes of the notes of so many tokens.
        state: bytes of a sequence's state.
        sizes: tokens of prompt, thought and reply, and the number of samples.
    """
    prompt, hidden, reply, number = sizes
    own = np.maximum(hidden - 1, 0)  # noted by each sample when the last token of it is drawn
    before = rows(prompt + own) - rows(own)  # a window may keep less than the prompt
    thought = (1 if shared else number) * before + number * (rows(own) + state)
    return scalar(np.maximum(thought, rows(prompt + hidden + reply - 1) + state))
