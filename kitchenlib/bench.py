"""How fast the library and its language model are on this machine:  python -m kitchenlib.bench

Each time is the best of several: whatever else the machine does can only add to it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kitchenlib import llm
from kitchenlib.chips import chip
from kitchenlib.models import model
from kitchenlib.phases import decode_step
from kitchenlib.units import human

_MODEL, _CHIP = "Llama-2-70B", "H100 SXM"


class Speed(NamedTuple):
    """Seconds that the library takes.

    Attributes:
        step: one decode step of plain numbers, with its time.
        sweep: a million decode steps with their times, in one call.
        import_kitchenlib, import_numpy: importing each into a fresh Python.
    """

    step: float
    sweep: float
    import_kitchenlib: float
    import_numpy: float

    def __str__(self) -> str:
        ratio = self.import_kitchenlib / self.import_numpy
        return "\n".join(
            (
                f"one decode step with its time    {human(self.step, 's')}",
                f"a sweep of a million of them     {human(self.sweep, 's')}",
                f"import kitchenlib                {human(self.import_kitchenlib, 's')}, "
                f"{ratio:.2f} times import numpy ({human(self.import_numpy, 's')})",
            )
        )


def best_time(task: Callable[[], object], tries: int, calls: int = 1) -> float:
    """Seconds of one call of `task`: the best of `tries`, each averaged over so many `calls`."""
    times = []
    for _ in range(tries):
        start = perf_counter()
        for _ in range(calls):
            task()
        times.append((perf_counter() - start) / calls)
    return min(times)


def step_time(tries: int = 20) -> float:
    """Seconds of one ``decode_step`` of plain numbers, with its ``time``."""
    llama, h100 = model(_MODEL), chip(_CHIP)
    return best_time(lambda: decode_step(llama, 4096, batch=32).time(h100), tries, calls=500)


def sweep_time(tries: int = 5) -> float:
    """Seconds of a million decode steps with their times: a thousand contexts by batches."""
    llama, h100 = model(_MODEL), chip(_CHIP)
    sizes = np.arange(1, 1001)
    return best_time(lambda: decode_step(llama, sizes[:, None], batch=sizes).time(h100), tries)


def import_times(*modules: str, tries: int = 7) -> list[float]:
    """Seconds of importing each module into a fresh Python, the start of Python left out.

    The modules take turns, so that all of them meet the same machine.
    """
    rounds = [[_import_time(module) for module in modules] for _ in range(tries)]
    return [min(times) for times in zip(*rounds, strict=True)]


def _import_time(module: str) -> float:
    code = f"from time import perf_counter as now; t = now(); import {module}; print(now() - t)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return float(run.stdout)


def measure() -> Speed:
    """All the library's speeds; takes a few seconds."""
    return Speed(step_time(), sweep_time(), *import_times("kitchenlib", "numpy"))


if __name__ == "__main__":
    print(measure())
    print(llm.measure(llm.load(), tries=6))
    seconds, memory = llm.readiness(tries=2)
    print(f"the model is ready in   {human(seconds, 's')}, and takes {human(memory, 'B')} at most")
