"""The library's own speed. Bests of many tries, so that a busy machine does not fail them."""

from __future__ import annotations

import subprocess
import sys
from time import sleep

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib import Model, bench
from kitchenlib.bench import Speed, best_time
from kitchenlib.units import MS, US
from tests.law_models import H100, MODELS


def test_a_decode_step_with_its_time_takes_at_most_100_microseconds() -> None:
    assert bench.step_time() <= 100 * US


def test_a_million_points_take_at_most_300_milliseconds() -> None:
    assert bench.sweep_time() <= 300 * MS


def test_importing_kitchenlib_takes_at_most_twice_as_long_as_numpy() -> None:
    """In one of three measurements: the first is enough unless the machine is very busy."""
    measured = (bench.import_times("kitchenlib", "numpy") for _ in range(3))
    assert any(kitchenlib <= 2 * numpy for kitchenlib, numpy in measured)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_kind_of_model_is_as_quick(model: Model) -> None:
    step = best_time(lambda: kl.decode_step(model, 4096, batch=8).time(H100), tries=20, calls=20)
    fill = best_time(lambda: kl.prefill(model, 4096, chips=1).time(H100), tries=20, calls=20)
    assert max(step, fill) <= 100 * US


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_kind_of_model_sweeps_a_million_points(model: Model) -> None:
    sizes = np.arange(1, 1001)
    sweep = best_time(lambda: kl.decode_step(model, sizes[:, None], sizes).time(H100), tries=3)
    assert sweep <= 300 * MS


def test_the_best_time_is_that_of_one_call() -> None:
    calls: list[int] = []

    def nap() -> None:
        calls.append(1)
        sleep(0.01)

    assert 0.01 <= best_time(nap, tries=3, calls=4) < 0.04
    assert len(calls) == 12


def test_speeds_are_shown_in_three_plain_lines() -> None:
    speed = Speed(step=20.4e-6, sweep=0.0119, import_kitchenlib=0.09, import_numpy=0.06)
    assert str(speed).splitlines() == [
        "one decode step with its time    20.4 µs",
        "a sweep of a million of them     11.9 ms",
        "import kitchenlib                90.0 ms, 1.50 times import numpy (60.0 ms)",
    ]


def test_anyone_can_run_it() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "kitchenlib.bench"]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert run.stderr == ""
    assert [line[:20] for line in run.stdout.splitlines()] == [
        "one decode step with",
        "a sweep of a million",
        "import kitchenlib   ",
        "a decode step stream",
        "a prefill calculates",
        "the model is ready i",
    ]
