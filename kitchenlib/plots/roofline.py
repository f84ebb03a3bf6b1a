"""The roofline built up step by step: the waiter, the chef, the ridge, real work."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.models import Model
from kitchenlib.phases import decode_step, prefill
from kitchenlib.plots.reading import Reading, read
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MUTED,
    PAPER,
    WAITER,
    WIDTH,
    Picture,
    claim,
    counts,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    percent,
)
from kitchenlib.units import TB, TFLOP, human, significant

INTENSITIES = (1, 10, 100, 1000, 10_000)  #: ticks, FLOP per byte
_RATES = (1e12, 1e13, 1e14, 1e15)  # ticks, FLOP/s
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.5, 1e4, 8e11, 3e15


@in_style
def roofline(chip: Chip, step: int = 4, model: Model | None = None, context: int = 512) -> Picture:
    """The roofline built up: 1 the waiter, 2 the chef, 3 the ridge, 4 real work under the roof.

    Args:
        chip: whose roof, at 16 bit.
        step: how far to build, 1 to 4.
        model, context: whose work step 4 shows, each guest with `context` tokens of notes.

    Raises ``ValueError`` for another step, or for step 4 without a model.
    """
    if step not in (1, 2, 3, 4):
        raise ValueError(f"step = {step!r} will not do: give 1, 2, 3 or 4")
    if step == 4 and model is None:
        raise ValueError("step 4 shows real work: say whose, for example kl.model('Llama-2-70B')")
    works = _worked(chip, model, context) if model and step == 4 else {}
    title, lead = _title(chip, step, works), f"{chip.name}, 16 bit, dense peak"
    if model and works:
        lead = f"{model.name} on one {chip.name}, 16 bit; {context} tokens of notes for each guest"
    picture = Picture(WIDTH, 5.3, alt=_alt(title, lead, chip, step, works))
    claim(picture, title, lead)
    ax = _axes(picture)
    _waiter(ax, chip, to=chip.ridge() if step > 1 else _TOP / chip.bandwidth)
    if step > 1:
        _chef(ax, chip)
    if step > 2:
        _ridge(ax, chip, quiet=step == 4)
    for name, work in works.items():
        _point(ax, chip, name, work)
    return picture


def _title(chip: Chip, step: int, works: dict[str, Reading]) -> str:
    if step == 1:
        return "The more cuts per crumb, the more the chef gets done"
    if step == 2:
        return f"Until the knife is at its limit: {chip.peak() / 1e12:.0f} trillion cuts a second"
    if step == 3:
        return f"Waiter and chef are equally busy at {chip.ridge():.0f} cuts per crumb: the ridge"
    low, high = (percent(works[name].chef) for name in ("1 guest", "prompt of 512"))
    return f"The law: one guest keeps the chef {low} busy, 512 tokens {high}"


def _alt(title: str, lead: str, chip: Chip, step: int, works: dict[str, Reading]) -> str:
    said = [f"memory bandwidth {human(chip.bandwidth, 'B/s')}"]
    said += [f"peak {human(chip.peak(), 'FLOP/s')}"] if step > 1 else []
    said += [f"ridge {chip.ridge():.0f} FLOP per byte"] if step > 2 else []
    said += [
        f"{name}: {significant(work.intensity)} FLOP per byte, chef {percent(work.chef)} busy"
        for name, work in works.items()
    ]
    return f"{title}. {lead}. Roofline, step {step} of 4: {'; '.join(said)}."


def _worked(chip: Chip, model: Model, context: int) -> dict[str, Reading]:
    """Decode for 1, 8, 32 and 128 guests, and two prompts."""
    steps = {
        f"{b} guest{'s' * (b > 1)}": decode_step(model, context, batch=b) for b in (1, 8, 32, 128)
    }
    prompts = {f"prompt of {n:,}": prefill(model, prompt=n) for n in (512, 4096)}
    return {name: read(work, chip) for name, work in (steps | prompts).items()}


def _axes(picture: Picture) -> Axes:
    ax = panel(picture, 0.98, 0.72, 7.62, 3.62)
    log_axis(ax.xaxis, INTENSITIES, counts(INTENSITIES), "cuts per crumb (FLOP per byte)")
    log_axis(ax.yaxis, _RATES, counts(r / TFLOP for r in _RATES), "cuts per second (TFLOP/s)")
    ax.set(xlim=(_LEFT, _RIGHT), ylim=(_BOTTOM, _TOP))
    grid(ax)
    return ax


def _waiter(ax: Axes, chip: Chip, to: float) -> None:
    """What the waiter allows, up to `to` FLOP per byte, with its name along the slope."""
    ends = np.array([_LEFT, to])
    ax.plot(ends, ends * chip.bandwidth, color=WAITER.fill, zorder=4)
    run, rise = np.diff(ax.transData.transform([(1, 1e12), (10, 1e13)]), axis=0)[0]
    text = f"what the waiter brings: {human(chip.bandwidth, 'B/s')}"
    tilt: dict[str, Any] = {
        "rotation": np.degrees(np.arctan2(rise, run)),
        "rotation_mode": "anchor",
    }
    place: dict[str, Any] = {"dx": -7, "dy": 7, "va": "baseline"}
    end_label(ax, 1.55, 1.55 * chip.bandwidth, text, WAITER, **place, **tilt)


def _chef(ax: Axes, chip: Chip) -> None:
    """The chef's ceiling, dashed, with its name above."""
    peak = chip.peak()
    ax.plot([chip.ridge(), _RIGHT], [peak, peak], color=CHEF.fill, linestyle=(0, (6, 2)), zorder=4)
    text = f"what the chef can cut: {human(peak, 'FLOP/s')}"
    end_label(ax, _RIGHT, peak, text, CHEF, dx=-2, dy=11, ha="right")


def _ridge(ax: Axes, chip: Chip, quiet: bool) -> None:
    """The ridge; what it parts is said only before real work takes the place."""
    ridge, peak, foot = chip.ridge(), chip.peak(), 1.1e12
    ax.plot([ridge, ridge], [_BOTTOM, peak], color=MUTED, linewidth=1.1, linestyle=(0, (2, 2)))
    ax.plot(ridge, peak, marker="D", markersize=8, color=INK, zorder=6)
    if quiet:
        end_label(ax, ridge, foot, f"ridge {ridge:.0f}", dx=6, dy=4)
        return
    sum_ = f"{peak / TFLOP:,.0f} ÷ {chip.bandwidth / TB:.2f} = {ridge:.0f}"
    strong: dict[str, Any] = {"weight": "bold", "color": INK, "ha": "right"}
    end_label(ax, ridge, foot, f"ridge: {sum_} FLOP/byte", dx=-8, dy=4, **strong)
    end_label(ax, ridge, 1e13, "the chef waits\n(memory-bound)", WAITER, dx=-14, ha="right")
    end_label(ax, ridge, 1e13, "the waiter waits\n(compute-bound)", CHEF, dx=14)


def _point(ax: Axes, chip: Chip, name: str, work: Reading) -> None:
    """A mark under the roof: round for a decode step, square for a prompt."""
    x, y = work.intensity, work.reached
    prompt = name.startswith("prompt")
    shape, role = ("s", CHEF) if prompt else ("o", WAITER)
    edge = {"markeredgecolor": PAPER, "markeredgewidth": 1.4}
    ax.plot(x, y, shape, markersize=9, color=role.fill, zorder=7, **edge)  # type: ignore[arg-type]
    busy = percent(work.chef)
    if prompt:  # one too near the ridge to be centred stands to its right
        place: dict[str, Any] = {"dx": -8} if x < 4 * chip.ridge() else {"dx": 0, "ha": "center"}
        end_label(ax, x, y, f"{name}\n{busy}", role, dy=-21, **place)
        return
    busy = f"chef {busy} busy" if name == "1 guest" else busy
    near = x > chip.ridge() / 4
    place = {"dx": -11, "dy": 6, "ha": "right"} if near else {"dx": 11, "dy": -6}
    end_label(ax, x, y, f"{name}: {busy}", role, **place)
