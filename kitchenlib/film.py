"""Flood and drip as a film: what one request does at every moment, by the law.

A request is one prefill pass (the flood), whose logits give the first token of the reply, and then
one decode step for each token more (the drip). `Film` asks the law once for all of these passes;
`state_at` reads off any moment. Between two ends of a pass the counters run evenly: the law speaks
of whole passes, and the layers of a model are alike.

Times are ideal times, so the film is faster than any machine. Bytes and FLOPs are those of all the
tensor-parallel chips together.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kitchenlib.chips import Chip
from kitchenlib.inputs import Number, dimension, quantity, real, wrong
from kitchenlib.models import Model
from kitchenlib.phases import decode_step, prefill
from kitchenlib.roofline import Work
from kitchenlib.serving import fits
from kitchenlib.units import human

LONGEST = 4096  #: tokens of a reply; nobody watches more
QUICK = 0.12  #: seconds of film: what is over sooner cannot be seen happening
PACES = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The time scales on offer: seconds of the machine that one second of film shows."""


class Track(NamedTuple):
    """Passes that follow one another: knots at their ends, one more than there are passes.

    Attributes:
        times: seconds since the request arrived.
        bytes, flops: moved and done so far on this track, all chips together.
        chef, waiter: seconds so far in which cores calculate, and in which memory is read.
        bound: of each pass, "compute", "memory" or "interconnect".
    """

    times: tuple[float, ...]
    bytes: tuple[float, ...]
    flops: tuple[float, ...]
    chef: tuple[float, ...]
    waiter: tuple[float, ...]
    bound: tuple[str, ...]


class Side(NamedTuple):
    """One half of the screen at a moment.

    Attributes:
        running: 1 while a pass of this side runs, else 0.
        trips: passes that have begun: the waiter has set out with the whole sack so often.
        passes: passes that have ended.
        progress: share of the running pass that is done; 1 after the last.
        clock: seconds since this side began.
        tokens: tokens of each guest that are read, or written, by now.
        bytes, flops: moved and done on this side so far, all chips together.
        chef, waiter: shares of the clock in which cores calculate, and in which memory is read.
    """

    running: int
    trips: int
    passes: int
    progress: float
    clock: float
    tokens: int
    bytes: float
    flops: float
    chef: float
    waiter: float


class State(NamedTuple):
    """The film at a moment.

    Attributes:
        t: seconds since the request arrived.
        flood, drip: the two halves.
        ttft: time to first token, as far as it has come (seconds).
        tpot: mean time of the decode steps that have ended (seconds); 0 before the first has.
    """

    t: float
    flood: Side
    drip: Side
    ttft: float
    tpot: float


class Event(NamedTuple):
    """Something that happens: when (seconds), and in words."""

    t: float
    text: str


@dataclass(frozen=True)
class Film:
    """One request of each of `batch` guests, from its arrival to the last token of the reply.

    Args:
        model, chip: who cooks, and where.
        chips: tensor-parallel chips that share the model.
        prompt, reply: tokens; the reply has at least 2 (the first one belongs to the prefill).
        batch: guests served at once, all with the same prompt and reply.
        weights, kv, compute: formats and rate, as for `kitchenlib.prefill`.

    Raises what the law raises for sizes, formats and chips that will not do.
    """

    model: Model
    chip: Chip
    chips: int = 1
    prompt: int = 2_000
    reply: int = 20
    batch: int = 1
    weights: str = "bf16"
    kv: str = "bf16"
    compute: str | None = None

    def __post_init__(self) -> None:
        for name, unit, least in (
            ("chips", "chips", 1),
            ("prompt", "tokens", 1),
            ("reply", "tokens", 2),
            ("batch", "guests", 1),
        ):
            object.__setattr__(self, name, dimension(name, getattr(self, name), unit, least))
        if self.reply > LONGEST:
            raise wrong("reply", self.reply, f"a film shows at most {LONGEST:,} tokens of reply")
        _ = self.flood, self.drip  # the law speaks up now, not when the film is shown

    @cached_property
    def _flood(self) -> Work:
        setting = self.weights, self.kv, self.compute, self.chips
        return prefill(self.model, self.prompt, self.batch, 0, *setting)

    @cached_property
    def _drip(self) -> Work:
        """The first step finds the prompt in the cache, each later one a token more."""
        setting = self.weights, self.kv, self.compute, self.chips
        return decode_step(
            self.model, self.prompt + np.arange(self.reply - 1), self.batch, *setting
        )

    @cached_property
    def flood(self) -> Track:
        """The prefill pass."""
        return self._track(self._flood, 1, start=0.0)

    @cached_property
    def drip(self) -> Track:
        """The decode steps, one after the other."""
        return self._track(self._drip, self.reply - 1, start=self.flood.times[-1])

    def _track(self, work: Work, passes: int, start: float) -> Track:
        sides = work.sides(self.chip)
        return Track(
            times=_knots(work.time(self.chip), passes, start),
            bytes=_knots(work.bytes * self.chips, passes),
            flops=_knots(work.flops * self.chips, passes),
            chef=_knots(sides[0], passes),
            waiter=_knots(sides[1], passes),
            bound=tuple(str(b) for b in np.broadcast_to(work.bound(self.chip), passes)),
        )

    @property
    def ttft(self) -> float:
        """Time to first token: the prefill pass (seconds)."""
        return self.flood.times[-1]

    @property
    def end(self) -> float:
        """When the last token is written (seconds since the request arrived)."""
        return self.drip.times[-1]

    @property
    def tpot(self) -> float:
        """Time per output token after the first: the mean over the decode steps (seconds)."""
        return (self.end - self.ttft) / (self.reply - 1)

    @property
    def fits(self) -> bool:
        """Whether weights and notes fit into the chips' memory (yes where it is unknown)."""
        if self.chip.memory_bytes is None:
            return True
        kept = self.prompt + self.reply
        return bool(
            fits(self.model, self.chip, kept, self.batch, self.weights, self.kv, self.chips)
        )

    @cached_property
    def sacks(self) -> tuple[float, float]:
        """Bytes of weights that flood and drip carry in a pass, all chips together.

        The same sack for both, but for a mixture of experts: more tokens want more experts. Looked
        up embeddings are not in it: they are rows, not the matrix.
        """
        return self._sack(self._flood), self._sack(self._drip)

    def _sack(self, work: Work) -> float:
        rows = work.parts["embedding"].weight_bytes
        return float(np.max(work.weight_bytes - rows)) * self.chips

    @property
    def caveats(self) -> tuple[str, ...]:
        """What else to know to read the numbers of this request, in words."""
        most = self.model.max_context
        told = []
        if self.chips > 1:
            all_chips = "both chips" if self.chips == 2 else f"all {self.chips} chips"
            told.append(f"Bytes and FLOPs are those of {all_chips}.")
        if not self.fits:
            told.append("Imagine a bigger pantry: this does not fit.")
        for name, track in (("Reading", self.flood), ("Writing", self.drip)):
            if "interconnect" in track.bound:
                told.append(f"{name}, the chips wait for each other most of the time.")
        if most and self.prompt + self.reply > most:
            told.append(f"{self.model.name} was made for {most:,} tokens at most.")
        return tuple(told)

    @property
    def kitchen(self) -> str:
        """Model, format and chips in a few words."""
        many = f"{self.chips} × " if self.chips > 1 else ""
        return f"{self.model.name} ({self.weights}) on {many}{self.chip.label}"

    @property
    def guests(self) -> str:
        """For whom, in a few words."""
        return "one guest" if self.batch == 1 else f"{self.batch:,} guests at once"

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What happens, in order: the prompt arrives, is read, and token after token is written."""
        each = "" if self.batch == 1 else f" for each of {self.batch:,} guests"
        prompt = tokens(self.prompt) + (" at once" if self.prompt > 1 else "")
        written = "token {} of " + f"{self.reply:,} written{each}"
        carried = np.diff(self.drip.bytes)
        first = (
            f"the prompt is read, {human(self.flood.bytes[-1], 'B')} carried once; "
            f"{written.format(1)}; TTFT {human(self.ttft, 's')}"
        )
        told = [Event(0.0, f"the prompt goes in, {prompt}{each}")]
        told.append(Event(self.ttft, first))
        for n, (t, nbytes) in enumerate(zip(self.drip.times[1:], carried, strict=True), start=2):
            told.append(
                Event(t, f"{written.format(f'{n:,}')}, {human(nbytes, 'B')} carried for it")
            )
        told[-1] = Event(self.end, f"{told[-1].text}; TPOT {human(self.tpot, 's')}")
        return tuple(Event(t, f"{human(t, 's')}: {text}") for t, text in told)

    @property
    def pace(self) -> float:
        """The first of `PACES` at which the film is over in a quarter of a minute."""
        return next((pace for pace in PACES if self.end / pace <= 15), PACES[-1])

    def quick(self, pace: float) -> tuple[bool, bool]:
        """Whether the flood, and whether each drip, is too quick to see at `pace`."""
        scale = quantity("pace", pace, "seconds of the machine for each second of film")
        return self.ttft / scale < QUICK, self.tpot / scale < QUICK


def tokens(number: int) -> str:
    """So many tokens, in words."""
    return f"{number:,} token{'s' * (number != 1)}"


def pace_label(pace: float) -> str:
    """A time scale in words."""
    real_time = ", real time" if pace == 1 else ""
    return f"1 s of film = {brief(pace)}{real_time}"


def brief(seconds: float) -> str:
    """A round time without its zeros: 50 ms, 2 s."""
    number, unit = human(seconds, "s").split(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def notes(film: Film, pace: float) -> tuple[str, ...]:
    """What cannot be seen at `pace`, in words."""
    flood, drip = film.quick(pace)
    told = []
    if flood:
        told.append(f"The flood, {human(film.ttft, 's')}: too quick to see at this scale.")
    if drip:
        told.append(f"A drip, {human(film.tpot, 's')}: too quick to see one by one at this scale.")
    return tuple(told)


def state_at(film: Film, t: float) -> State:
    """The film `t` seconds after the request arrived; after the end, its last moment.

    Raises ``ValueError`` for a time that is not a number, or before the film.
    """
    now = real("t", t, "seconds")
    if isinstance(now, np.ndarray) or now < 0:
        raise wrong("t", t, f"give seconds from 0 to {film.end:g}")
    now = min(now, film.end)
    flood, drip = _side(film.flood, now), _side(film.drip, now)
    flood = flood._replace(tokens=film.prompt * flood.passes)
    drip = drip._replace(tokens=(1 + drip.passes) * flood.passes)  # the flood gives the first
    past = film.drip.times[drip.passes] - film.ttft
    return State(
        t=now,
        flood=flood,
        drip=drip,
        ttft=min(now, film.ttft),
        tpot=past / drip.passes if drip.passes else 0.0,
    )


def _side(track: Track, t: float) -> Side:
    """`track` at `t`; its tokens are not its business."""
    last = len(track.times) - 1
    passes = min(max(bisect_right(track.times, t) - 1, 0), last)
    clock = min(max(t - track.times[0], 0.0), track.times[last] - track.times[0])
    running = track.times[0] <= t < track.times[last]
    progress = 1.0 if passes == last else 0.0
    if running:
        start, stop = track.times[passes : passes + 2]
        progress = (t - start) / (stop - start)

    def so_far(knots: tuple[float, ...]) -> float:
        if not running:
            return knots[passes]
        return knots[passes] + progress * (knots[passes + 1] - knots[passes])

    def share(knots: tuple[float, ...]) -> float:
        if clock:
            return so_far(knots) / clock
        return knots[1] / (track.times[1] - track.times[0]) if running else 0.0  # just begun

    return Side(
        running=int(running),
        trips=passes + running,
        passes=passes,
        progress=progress,
        clock=clock,
        tokens=0,
        bytes=so_far(track.bytes),
        flops=so_far(track.flops),
        chef=share(track.chef),
        waiter=share(track.waiter),
    )


def _knots(each: Number, passes: int, start: float = 0.0) -> tuple[float, ...]:
    """Running totals from `start`: one knot more than there are passes."""
    amounts = np.broadcast_to(np.asarray(each, dtype=float), passes)
    return tuple(np.concatenate([[start], start + np.cumsum(amounts)]).tolist())
