"""How near the model comes to what this machine can do.

Decoding is held against a large matrix-vector product, prefill against a large matrix product,
both plain NumPy. Model and yardstick take turns, and the best of several is kept of each: whatever
else the machine does can only slow things down.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.smol import LLM
from kitchenlib.roofline import Work
from kitchenlib.units import FLOP_PER_MULTIPLY_ADD, KiB, human

BATCHES = (1, 2, 4, 8, 16, 32, 64)  # sequences
_CONTEXT = 64  # tokens noted before the decode step that is timed
_SMALL = 8  # sequences: with fewer of them a step is short, and easily disturbed
_TALL, _WIDE = 8192, 8192  # the yardsticks: a matrix half as heavy as all the weights together,
_SQUARE = 2048  # and one that takes as long to multiply as a prompt of some sixty tokens


class Speed(NamedTuple):
    """What the model reaches, and what this machine can do.

    Attributes:
        decode, stream: bytes per second of a decode step, and of a large matrix-vector product.
        prefill, multiply: FLOP/s of a prefill, as computed, and of a large matrix product.
    """

    decode: float
    stream: float
    prefill: float
    multiply: float

    def __str__(self) -> str:
        return "\n".join(
            (
                f"a decode step streams   {human(self.decode, 'B/s')}, "
                f"{self.decode / self.stream:.2f} of a large matrix-vector product "
                f"({human(self.stream, 'B/s')})",
                f"a prefill calculates    {human(self.prefill, 'FLOP/s')}, "
                f"{self.prefill / self.multiply:.2f} of a large matrix product "
                f"({human(self.multiply, 'FLOP/s')})",
            )
        )


def measure(smol: LLM, prompt: int = 512, tries: int = 16) -> Speed:
    """Decode bandwidth and prefill FLOP/s, each beside its yardstick; takes a few seconds.

    Args:
        smol: the model; its stand-in is as fast.
        prompt: tokens of the prefill.
        tries: decode steps; of the prefill a quarter as many. More of them where the machine has
            other things to do as well.
    """
    rng = np.random.default_rng(0)
    matrix = np.ones((_TALL, _WIDE), np.float32)  # any numbers take as long
    vector = np.ones(_WIDE, np.float32)
    square = np.ones((_SQUARE, _SQUARE), np.float32)
    ids = rng.integers(0, smol.shape.vocab, prompt).tolist()
    _, cache = smol.prefill(ids[:_CONTEXT], room=1)

    def step() -> None:
        smol.decode_step(ids[0], cache)
        cache.lengths = [_CONTEXT]

    def flood() -> None:
        smol.prefill(ids, room=0)

    step_work, flood_work = _counts(smol, step), _counts(smol, flood)
    step_time, matvec_time = _best(tries, step, lambda: matrix @ vector)
    flood_time, matmul_time = _best(-(-tries // 4), flood, lambda: square @ square)
    return Speed(
        decode=float(step_work.bytes) / step_time,
        stream=matrix.nbytes / matvec_time,
        prefill=float(flood_work.flops) / flood_time,
        multiply=FLOP_PER_MULTIPLY_ADD * _SQUARE**3 / matmul_time,
    )


class BatchStep(NamedTuple):
    """A decode step of several sequences, timed.

    Attributes:
        batch: sequences that share the step.
        context: tokens noted for each of them before it.
        seconds: of the step.
    """

    batch: int
    context: int
    seconds: float

    @property
    def total(self) -> float:
        """Tokens per second, all sequences together."""
        return self.batch / self.seconds

    @property
    def each(self) -> float:
        """Tokens per second of one sequence."""
        return 1 / self.seconds

    def __str__(self) -> str:
        return (
            f"{self.batch} together: {human(self.seconds, 's')} for a step, "
            f"{self.total:.0f} tokens/s in all, {self.each:.0f} for each"
        )


def batch_steps(
    smol: LLM, batches: Sequence[int] = BATCHES, context: int = _CONTEXT, tries: int = 3
) -> list[BatchStep]:
    """Decode steps of 1 to 64 sequences, each the best of several; takes a few seconds.

    Args:
        smol: the model; its stand-in is as fast.
        batches: sequences that share a step.
        context: tokens noted for each before the step.
        tries: steps of each batch; of small ones up to 8 times as many, since they are short, and
            everything is held against the first.
    """
    instance("smol", smol, LLM, "llm.load()")
    dimension("tries", tries, "steps")
    if not isinstance(batches, Sequence) or not batches:
        raise wrong("batches", batches, "give the numbers of sequences, for example (1, 8, 64)")
    return [_batch_step(smol, batch, context, tries) for batch in batches]


def _batch_step(smol: LLM, batch: int, context: int, tries: int) -> BatchStep:
    dimension("context", context, "tokens")
    cache = Cache(smol.shape, dimension("batches", batch, "sequences"), context + 1)
    cache.keys.fill(1)  # any notes are as heavy as real ones
    cache.values.fill(1)

    def step() -> None:
        cache.lengths = [context] * batch
        smol.decode_step([0] * batch, cache)

    (seconds,) = _best(tries * max(_SMALL // batch, 1), step)
    return BatchStep(batch, context, seconds)


def _counts(smol: LLM, task: Callable[[], object]) -> Work:
    with smol.counted() as counts:
        task()
    return counts.computed


def _best(tries: int, *tasks: Callable[[], object]) -> list[float]:
    """Seconds of each task, the best of `tries`, taking turns."""
    best = [float("inf")] * len(tasks)
    for _ in range(tries):
        for number, task in enumerate(tasks):
            start = perf_counter()
            task()
            best[number] = min(best[number], perf_counter() - start)
    return best


_READY = """
from time import perf_counter as now
start = now()
from kitchenlib import llm
smol = llm.load()
ready = now() - start
smol.prefill(list(range({prompt})))
print(ready)
try:
    print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
except OSError:
    print("nan")
"""


def readiness(prompt: int = 512, tries: int = 3) -> tuple[float, float]:
    """How soon a fresh Python has the model, and how much memory that takes.

    Returns:
        seconds until the model is ready, the best of `tries`; and the peak of memory in bytes,
        a prompt of so many tokens included (not a number where the system does not tell).
    """
    found = []
    for _ in range(tries):
        command = [sys.executable, "-c", _READY.format(prompt=prompt)]
        run = subprocess.run(command, capture_output=True, check=True)
        found.append([float(number) for number in run.stdout.split()[-2:]])
    ready, peak = zip(*found, strict=True)
    return min(ready), max(peak) * KiB
