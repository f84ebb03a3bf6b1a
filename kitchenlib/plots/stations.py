"""Specialised stations: what company makes of a mixture of experts, and what experts know.

The union that guests need is drawn here; `specialists` draws who visits which expert, and
`station_guests` the explorer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kitchenlib.chips import chip as chip_called
from kitchenlib.experts import experts_touched
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.measured import Measurement, measurements
from kitchenlib.miniatures.stations import CARD, Split, experts_of, skewed
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots.station_guests import ROUTING
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    PAPER,
    PLAIN,
    RULE,
    SACK,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    counts,
    grid,
    in_style,
    label_ends,
    log_axis,
    origin,
    panel,
    source,
    write,
)
from kitchenlib.roofline import Work
from kitchenlib.units import GB, many, significant

_MOST = 64
_LONGEST = 13  # letters of a name beside a line
_SCOUT = "Llama-4-Scout-17B-16E (text)"
_BENCH = "llama.cpp DGX Spark bench"
_PROMPT = 512  # tokens of the measured prompts
_DASHED, _DOTTED = (0, (6, 2)), (0, (1.5, 1.5))


# --- the law and a measurement -------------------------------------------------------------------


def spark_step(model: Model, context: int, batch: ArrayLike) -> Work:
    """One decode step of a mixture in llama.cpp's MXFP4 file: experts in MXFP4, the rest in Q8_0.

    Of gpt-oss-120b such a file has 59.02 GiB, as the shapes say.
    """
    rest = decode_step(model, context, batch, "Q8_0", "fp16")
    experts = decode_step(model, context, batch, "mxfp4-moe", "fp16").parts["experts"]
    return Work({**rest.parts, "experts": experts})


class Spark(NamedTuple):
    """Published decode speeds of one model on one DGX Spark, by guests, and the law's seconds.

    Attributes:
        rows: measurements with one prompt length, by batch.
        law: seconds of each step: the ideal time, with uniform routing where there are experts.
        uneven: the same with Zipf's routing; as `law` without experts.
    """

    rows: tuple[Measurement, ...]
    law: np.ndarray
    uneven: np.ndarray

    @classmethod
    def of(cls, model: str, prompt: int = _PROMPT) -> Spark:
        """The rows of "gpt-oss-120b" or "Qwen2.5-7B"; the law with notes as half way through."""
        found = measurements(source=_BENCH, model=model, prompt=prompt)
        rows = tuple(row for row in found if row.metric.startswith("decode"))
        first, of = rows[0], model_called(model)
        batch = np.array([row.batch for row in rows])
        notes = (first.context or 0) + (first.output or 0) // 2
        on = chip_called(first.chip or "")
        if first.weights:
            law = np.asarray(decode_step(of, notes, batch, first.weights).time(on))
            return cls(rows, law, law)
        law, uneven = (
            np.asarray(spark_step(skewed(of, skew), notes, batch).time(on))
            for skew in ROUTING.values()
        )
        return cls(rows, law, uneven)

    @property
    def guests(self) -> list[int]:
        return [row.batch for row in self.rows]

    @property
    def seconds(self) -> np.ndarray:
        """Of one step, measured."""
        return np.array([row.seconds for row in self.rows])

    def gains(self, seconds: np.ndarray) -> np.ndarray:
        """Tokens a second of all guests, over those of one."""
        return np.array(self.guests) * seconds[0] / seconds

    @property
    def could(self) -> np.ndarray:
        """The most experts of a layer that each step had the time to read; infinite without any.

        What else it had to read takes its share of the bandwidth, and all of it is reached.
        """
        first, of = self.rows[0], model_called(self.rows[0].model)
        if first.weights:
            return np.full(len(self.rows), np.inf)
        notes = (first.context or 0) + (first.output or 0) // 2
        work = spark_step(of, notes, np.array(self.guests))
        mix = experts_of(of)
        touched = experts_touched(mix.number, mix.per_token, self.guests)
        routed = work.parts["experts"].bytes
        moved = self.seconds * chip_called(first.chip or "").bandwidth
        return np.asarray((moved - (work.bytes - routed)) / (routed / touched))


# --- the union -----------------------------------------------------------------------------------


@in_style
def stations_union(
    split: Split = CARD, model: Model | None = None, guests: int = 32, name: str = "the card"
) -> Picture:
    """GB of weights that a step carries, by guests: a mixture of experts and dense sacks.

    Routing is uniform, and notes are left out. Below it, what was measured: tokens a second of all
    guests over those of one, of a mixture and of a dense model on one chip, beside the law.

    Args:
        split: what the kitchen is made of, in bytes; the card's.
        model: a real mixture, in 16 bit; Llama-4-Scout, with 16 experts as well.
        guests: 2 to 63, of the title.
        name: what the kitchen is called.

    Raises ``ValueError`` for other guests, and a model without experts.
    """
    instance("split", split, Split, "split(total=500e9, active=40e9, experts=16)")
    model = model or model_called(_SCOUT)
    real = Split.of(model)
    if not 1 < dimension("guests", guests, "guests") < _MOST:
        raise wrong("guests", guests, f"give 2 to {_MOST - 1} guests")
    columns = sorted({1, guests, 8 if guests > 8 else 32, _MOST})
    title = _title(split, guests)
    lead = f"Weights that one step reads, by guests; {name}: {_made(split)}"
    mixed, dense = Spark.of("gpt-oss-120b"), Spark.of("Qwen2.5-7B")
    told = "; ".join(_in_words(split, number) for number in columns)
    theirs = f"{_plain(model)}, {_made(real)}: {_in_words(real, guests)}"
    picture = Picture(
        WIDTH,
        7.5,
        alt=f"{' '.join(title.split())}. {lead}. {told}. {theirs}. {_measured(mixed, dense)}",
    )
    claim(picture, title, lead)
    _steps(picture, split, real, _plain(model), guests, name)
    _table(canvas(picture), split, columns, guests)
    _gains(picture, mixed, dense)
    _against(canvas(picture), mixed, dense)
    where = origin(mixed.rows[0].locator)
    source(
        picture,
        f"Routing: uniform, unless Zipf is said (the most popular expert twice as popular as the "
        f"next: an assumption).\nMeasured: {where}, {_PROMPT} tokens of notes. "
        "* Not fully verified.",
    )
    return picture


def _title(split: Split, guests: int) -> str:
    one, many = split.total / split.active, split.total / float(split.carried(guests))
    return (
        f"{guests} guests make the waiter carry {_gb(split.carried(guests))} of "
        f"{_gb(split.total)} GB a step:\n{significant(one)} times less than a dense sack "
        f"becomes {significant(many)} times less"
    )


def _gb(nbytes: ArrayLike) -> str:
    return significant(float(np.asarray(nbytes)) / GB)


def _made(split: Split) -> str:
    return (
        f"{split.experts} experts of {_gb(split.expert)} GB, {_gb(split.shared)} GB shared, "
        f"{split.per_token} a token"
    )


def _plain(model: Model) -> str:
    """The name as it fits beside a line."""
    name = model.name
    while len(name) > _LONGEST and "-" in name:
        name = name.rpartition("-")[0]
    return name


def _in_words(split: Split, guests: int) -> str:
    touched = float(experts_touched(split.experts, split.per_token, guests))
    step = float(split.carried(guests))
    return (
        f"{many(guests, 'guest')}: {touched:.2f} experts, {_gb(step)} GB a step, "
        f"{_gb(step / guests)} GB a guest, a dense sack of that size {_gb(split.total / guests)}"
    )


def _measured(mixed: Spark, dense: Spark) -> str:
    got = [_listed(each.gains(each.seconds), each.guests) for each in (mixed, dense)]
    law = _listed(mixed.gains(mixed.law), mixed.guests)
    uneven = _listed(mixed.gains(mixed.uneven), mixed.guests)
    first, other = mixed.rows[0], dense.rows[0]
    return (
        f"Measured tokens a second of all guests over those of one: {first.published_model} "
        f"{got[0]}, by the law with uniform routing {law}, with Zipf's {uneven}; "
        f"{other.published_model}, dense, {got[1]}, by the law "
        f"{_listed(dense.gains(dense.law), dense.guests)}. {' '.join(_even(mixed).split())}"
    )


def _listed(gains: np.ndarray, guests: Sequence[int]) -> str:
    pairs = zip(guests, gains, strict=True)
    return ", ".join(f"{number}: × {significant(gain)}" for number, gain in pairs if number > 1)


def _steps(picture: Picture, split: Split, real: Split, model: str, guests: int, name: str) -> None:
    write(picture, MARGIN, 6.14, "GB of weights in one step", weight="bold")
    ax = panel(picture, 0.78, 3.92, 2.34, 2.08)
    ticks = [2**k for k in range(7)]
    log_axis(ax.xaxis, ticks, counts(ticks), "guests")
    every = np.arange(1, _MOST + 1)
    highest = max(split.total, real.total) / GB
    step = next(s for s in (20, 50, 100, 200, 300, 500, 1000) if 5.5 * s >= highest or s == 1000)
    ax.set_yticks(np.arange(0, 1.1 * highest, step))
    ax.set(xlim=(0.92, 1.06 * _MOST), ylim=(0, 1.1 * highest))
    grid(ax)
    lines: list[tuple[Any, str, Role, Any]] = [
        (split.carried(every), name, SACK, "solid"),
        (real.carried(every), model, WAITER, _DASHED),
        (np.full(_MOST, split.total), "dense", Role(INK, INK), _DOTTED),
        (np.full(_MOST, split.active), "dense", PLAIN, _DOTTED),
    ]
    for values, _, role, dash in lines:
        ax.plot(every, values / GB, color=role.fill, linestyle=dash, zorder=3)
    ax.plot(guests, float(split.carried(guests)) / GB, "o", **_mark(SACK))
    ends = [(float(v[-1]) / GB, f"{n} {_gb(v[-1])}", role) for v, n, role, _ in lines]
    label_ends(ax, _MOST, ends)


def _mark(role: Role, size: float = 7) -> dict[str, Any]:
    edge = {"markeredgecolor": PAPER, "markeredgewidth": 0.9, "zorder": 5}
    return {"markersize": size, "color": role.fill, "linestyle": "none", **edge}


def _table(paper: Axes, split: Split, columns: Sequence[int], guests: int) -> None:
    step = np.asarray(split.carried(columns))
    many = np.array(columns)
    touched = np.asarray(experts_touched(split.experts, split.per_token, columns))
    rows = {
        f"sacks carried, of {split.experts}": [f"{n:.2f}" for n in touched],
        "GB a step": [_gb(n) for n in step],
        "GB a guest": [_gb(n) for n in step / many],
        "dense: GB a guest": [_gb(n) for n in split.total / many],
        "less by": [f"× {significant(n)}" for n in split.total / step],
        "GB in the warehouse": [_gb(split.total)] * len(columns),
    }
    _numbers(paper, 6.14, "In numbers", [f"{n}" for n in columns], rows, columns.index(guests))


def _numbers(
    paper: Axes,
    top: float,
    head: str,
    columns: Sequence[str],
    rows: dict[str, list[str]],
    strong: int,
) -> None:
    """A table: guests in columns, the last of them at the right edge of the card."""
    right = WIDTH - MARGIN
    places = [right - 0.72 * i for i in reversed(range(len(columns)))]
    left = right - 0.72 * len(columns) - 1.12
    write(paper, left, top, head, weight="bold")
    write(paper, left, top - 0.3, "guests", size=SMALL, color=MUTED)
    for x, name in zip(places, columns, strict=True):
        write(paper, x, top - 0.3, name, ha="right", color=MUTED)
    paper.plot([left, right], [top - 0.38] * 2, color=RULE, linewidth=0.8)
    for i, (name, cells) in enumerate(rows.items(), start=1):
        y = top - 0.33 - 0.3 * i
        write(paper, left, y, name, size=SMALL, color=MUTED)
        for number, (x, cell) in enumerate(zip(places, cells, strict=True)):
            weight = "bold" if number == strong else "normal"
            write(paper, x, y, cell, ha="right", weight=weight)


# --- and what was measured -----------------------------------------------------------------------


def _gains(picture: Picture, mixed: Spark, dense: Spark) -> None:
    on = chip_called(mixed.rows[0].chip or "").short_label
    write(
        picture, MARGIN, 3.28, "Measured: times the tokens per second of one guest", weight="bold"
    )
    write(
        picture,
        MARGIN,
        3.09,
        f"on one {on}, and the law of each (dotted: Zipf)",
        size=SMALL,
        color=MUTED,
    )
    ax = panel(picture, 0.78, 1.05, 2.34, 1.88)
    most = mixed.guests[-1]
    ax.set(xlim=(0, 1.04 * most), ylim=(0, 1.02 * most), xlabel="guests")
    ax.set_xticks(range(0, most + 1, most // 4))
    ax.set_yticks(range(0, most + 1, most // 4))
    grid(ax)
    ax.plot(dense.guests, dense.gains(dense.law), color=CHEF.fill, linestyle=_DASHED, linewidth=1.2)
    ax.plot(mixed.guests, mixed.gains(mixed.law), color=SACK.fill, linewidth=1.2)
    ax.plot(
        mixed.guests, mixed.gains(mixed.uneven), color=SACK.fill, linestyle=_DOTTED, linewidth=1.2
    )
    for run, role, mark in ((dense, CHEF, "D"), (mixed, SACK, "o")):
        ax.plot(run.guests, run.gains(run.seconds), mark, **_mark(role))
    ends = [
        (float(dense.gains(dense.seconds)[-1]), "dense 7B", CHEF),
        (float(mixed.gains(mixed.seconds)[-1]), "gpt-oss-120b", SACK),
    ]
    label_ends(ax, most, ends, dx=9)


def _against(paper: Axes, mixed: Spark, dense: Spark) -> None:
    shown = [i for i, guests in enumerate(mixed.guests) if guests in (2, 8, 16, 32)]

    def cells(values: np.ndarray) -> list[str]:
        return [f"× {significant(values[i])}" for i in shown]

    rows = {
        f"{mixed.rows[0].published_model}": cells(mixed.gains(mixed.seconds)),
        "law, uniform": cells(mixed.gains(mixed.law)),
        "law, Zipf": cells(mixed.gains(mixed.uneven)),
        "dense 7B": cells(dense.gains(dense.seconds)),
        "its law": cells(dense.gains(dense.law)),
    }
    _numbers(paper, 3.28, "Gain", [f"{mixed.guests[i]}" for i in shown], rows, len(shown) - 1)
    beside: dict[str, Any] = {"size": SMALL, "va": "top", "linespacing": 1.25}
    write(paper, 4.68, 1.27, _even(mixed), **beside)


def _even(mixed: Spark) -> str:
    """Whether the last measured step was long enough to read as many experts as uniform routing."""
    mix, guests = experts_of(model_called(mixed.rows[0].model)), mixed.guests[-1]
    could = significant(float(mixed.could[-1]), 2)
    needed = significant(float(experts_touched(mix.number, mix.per_token, guests)), 2)
    return (
        f"With {guests} guests there was time to read {could} of {mix.number} experts at most;\n"
        f"uniform routing needs {needed}. Its router is uneven, or its guests\nwere alike."
    )
