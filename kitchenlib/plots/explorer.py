"""The roofline to play with: any chip, any model, either phase, and one still of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kitchenlib.chips import Chip, chip
from kitchenlib.inputs import unknown_name
from kitchenlib.models import model
from kitchenlib.phases import decode_step, prefill
from kitchenlib.plots.reading import read
from kitchenlib.plots.roofline import INTENSITIES
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MARGIN,
    MUTED,
    PAPER,
    PLAIN,
    SACK,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Gauge,
    Picture,
    Stage,
    counts,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    percent,
    write,
)
from kitchenlib.roofline import Work, rates_of
from kitchenlib.units import TFLOP, human, many, significant

PHASES = ("decode", "prefill")


class Setting(NamedTuple):
    """What the explorer of the roofline can be set to.

    Attributes:
        chip, model: catalogue names.
        phase: "decode" (one step) or "prefill" (one pass over the prompts).
        batch: guests served at once.
        tokens: of notes before the step (decode), or of each prompt (prefill).
        weights, kv: number formats.
    """

    chip: str = "H100 SXM"
    model: str = "Llama-2-70B"
    phase: str = "decode"
    batch: int = 1
    tokens: int = 512
    weights: str = "bf16"
    kv: str = "bf16"

    def work(self, batch: ArrayLike | None = None) -> Work:
        """The pass's work; for another batch, or an array of them, if one is given.

        Raises `UnknownName` for a name that is in no catalogue, ``ValueError`` for a size that is
        not a whole number above zero.
        """
        if self.phase not in PHASES:
            raise unknown_name("phase", self.phase, PHASES)
        guests = self.batch if batch is None else batch
        of, formats = model(self.model), {"weights": self.weights, "kv": self.kv}
        if self.phase == "prefill":
            return prefill(of, self.tokens, guests, **formats)
        return decode_step(of, self.tokens, guests, **formats)

    @property
    def rate(self) -> str:
        """The rate at which the chip multiplies weights of this format."""
        on = chip(self.chip)
        return next((r for r in rates_of(self.weights, None) if r in on.peaks), "bf16")

    @property
    def memory(self) -> tuple[float, float]:
        """Bytes of weights and of notes (the states of a hybrid among them) that must fit."""
        of, kept = model(self.model), self.tokens + (self.phase == "decode")
        notes = float(of.kv_bytes(kept, self.kv)) + float(of.state_bytes())
        return of.weight_bytes(self.weights), self.batch * notes

    def facts(self) -> dict[str, str]:
        """The numbers of the pass, in words: name -> value with its unit."""
        on = chip(self.chip)
        now = read(self.work(), on)
        waits = {"memory": "the chef waits", "compute": "the waiter waits"}[now.bound]
        caveat = model(self.model).caveat
        return {
            "time": _duration(now.time),
            "bound": f"{now.bound} ({waits})",
            "cuts": human(now.flops, "FLOP"),
            "carried": human(now.bytes, "B"),
            "cuts per crumb": f"{significant(now.intensity)} FLOP/byte",
            "ridge": f"{significant(on.ridge(self.rate))} FLOP/byte ({self.rate})",
            "chef busy": percent(now.chef),
            "in memory": self._fit(on.memory_bytes),
            **({"weights": caveat} if caveat else {}),
        }

    def _fit(self, capacity: float | None) -> str:
        weights, notes = self.memory
        needed = f"sack {human(weights, 'B')} and notes {human(notes, 'B')}"
        if capacity is None:
            return needed
        fits = "fit into" if weights + notes <= capacity else "do not fit into"
        return f"{needed} {fits} {human(capacity, 'B')}"

    def who(self) -> str:
        """The pass in a few words."""
        guests = many(self.batch, "guest")
        if self.phase == "prefill":
            return f"reading {self.tokens:,} tokens for {guests}"
        each = " each" if self.batch > 1 else ""
        return f"a token for {guests}, {self.tokens:,} tokens of notes{each}"


def _duration(seconds: float) -> str:
    return human(seconds, "s") if seconds < 3600 else f"{significant(seconds / 3600)} hours"


WORKED = Setting()  #: the worked example: one guest's next token


class RooflineStage(Stage):
    """The roofline of any chip with one pass of any model under it: `show` a setting."""

    low, high = 0.25, 20_000.0  # FLOP per byte
    least, most = 1.5e10, 2.5e16  # FLOP/s

    @in_style
    def __init__(self) -> None:
        picture = Picture(WIDTH, 4.9, alt="The roofline of a chip and one pass under it.")
        top = picture.size[1] - MARGIN
        self._title = write(picture, MARGIN, top, "", size=TITLE, weight="bold", va="top")
        self._lead = write(picture, MARGIN, top - 0.31, "", size=LEAD, color=MUTED, va="top")
        words = [self._title, self._lead]
        roof = self._set_roof(panel(picture, 1.02, 0.72, 5.28, 3.1))
        gauges = self._set_gauges(panel(picture, 6.62, 0.72, 2.06, 3.1))
        super().__init__(picture, [*words, *roof, *gauges])

    def _set_roof(self, ax: Axes) -> list[Artist]:
        """The axes, and the actors on them."""
        ticks = [10.0**k for k in range(11, 17)]
        log_axis(ax.xaxis, INTENSITIES, counts(INTENSITIES), "cuts per crumb (FLOP per byte)")
        log_axis(ax.yaxis, ticks, counts(t / TFLOP for t in ticks), "cuts per second (TFLOP/s)")
        ax.set(xlim=(self.low, self.high), ylim=(self.least, self.most))
        grid(ax)
        end_label(ax, self.low, self.most, "small dots: 1 to 1,024 guests", dx=8, dy=-9)
        mark: dict[str, Any] = {"marker": "o", "linestyle": "none", "clip_on": False}
        large = {"color": INK, "markersize": 12, "markeredgecolor": PAPER, "markeredgewidth": 1.6}
        (self._slope,) = ax.plot([], [], color=WAITER.fill)
        (self._roof,) = ax.plot([], [], color=CHEF.fill, linestyle=(0, (6, 2)))
        (self._drop,) = ax.plot([], [], color=MUTED, linewidth=1.1, linestyle=(0, (2, 2)))
        (self._trail,) = ax.plot([], [], color=PLAIN.fill, markersize=3.5, **mark)
        (self._point,) = ax.plot([], [], **mark | large)
        self._ceiling = end_label(ax, self.high, self.most, "", CHEF, dx=-2, dy=15, ha="right")
        self._ridge = end_label(ax, 1, self.least, "", dx=5, dy=9)
        lines = [self._slope, self._roof, self._drop, self._trail, self._point]
        return [*lines, self._ceiling, self._ridge]

    def _set_gauges(self, ax: Axes) -> list[Artist]:
        """The column at the right, and the actors in it."""
        ax.set(xlim=(0, 2.06), ylim=(0, 3.1))
        ax.set_axis_off()
        self._chef = Gauge(ax, 0, 2.42, 1.36, "chef busy", CHEF)
        self._waiter = Gauge(ax, 0, 1.62, 1.36, "waiter busy", WAITER)
        self._memory = Gauge(ax, 0, 0.82, 1.36, "memory taken", SACK)
        write(ax, 0, 0.32, "time of the pass", color=MUTED)
        self._time = write(ax, 0, 0.02, "", weight="bold", size=TITLE)
        self._mark = write(ax, 2.06, -0.5, "", size=SMALL, color=MUTED, ha="right")
        gauges = (self._chef, self._waiter, self._memory)
        return [self._time, self._mark, *(actor for gauge in gauges for actor in gauge.actors)]

    @in_style
    def show(self, setting: Setting) -> None:
        """Move everything to `setting`. Raises `UnknownName` for a name that is in no catalogue."""
        on = chip(setting.chip)
        now, around = read(setting.work(), on), setting.work(2 ** np.arange(11))
        self._draw_roof(on, setting.rate)
        self._trail.set_data(*self._inside(around.intensity, around.flops / around.time(on)))
        self._point.set_data(*self._inside([now.intensity], [now.reached]))
        self._chef.show(now.chef)
        self._waiter.show(now.waiter)
        self._memory.show(sum(setting.memory) / (on.memory_bytes or np.inf))
        self._time.set_text(_duration(now.time))
        cuts, busy = significant(now.intensity), percent(now.chef)
        self._title.set_text(f"{cuts} cuts per crumb keep the chef {busy} busy")
        name = on.name.split(" (")[0] + ("" if on.verified else "*")
        self._mark.set_text("" if on.verified else "* not fully verified")
        self._lead.set_text(f"{setting.model} ({setting.weights}), {name}: {setting.who()}")
        facts = "; ".join(f"{name}: {value}" for name, value in setting.facts().items())
        said = (self._title, self._lead, self._mark)
        self.picture.alt = ". ".join(text.get_text() for text in said if text.get_text())
        self.picture.alt += f". {facts}."

    def _draw_roof(self, on: Chip, rate: str) -> None:
        peak, ridge = on.peak(rate), on.ridge(rate)
        self._slope.set_data([self.low, ridge], [self.low * on.bandwidth, peak])
        self._roof.set_data([ridge, self.high], [peak, peak])
        self._drop.set_data([ridge, ridge], [self.least, peak])
        self._ceiling.set_text(f"{human(peak, 'FLOP/s')} ({rate})")
        self._ceiling.xy = (self.high, peak)
        right = ridge > 1500
        self._ridge.set_text(f"ridge {significant(ridge)}")
        self._ridge.xy = (ridge, self.least)
        self._ridge.set_horizontalalignment("right" if right else "left")
        self._ridge.xyann = (-5 if right else 5, 9)

    def _inside(self, x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Points beyond the frame are held at its edge."""
        return np.clip(x, self.low, self.high), np.clip(y, self.least, self.most)


@in_style
def roofline_explorer(setting: Setting = WORKED) -> Picture:
    """The roofline of a chip and one pass of a model under it: the still of the explorer."""
    stage = RooflineStage()
    stage.show(setting)
    return stage.picture
