"""The freight train with empty seats: whom one trip of the sack could serve, and whom it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.layers import Experts
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots import scenery
from kitchenlib.plots.reading import Reading, read
from kitchenlib.plots.style import (
    INK,
    LEAD,
    MARGIN,
    MUTED,
    ORDER,
    PAPER,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    canvas,
    claim,
    footnote,
    in_style,
    source,
    write,
)
from kitchenlib.units import human

GUESTS = (1, 8, 32, 128)
_MOST_TRAINS, _MOST_SEATS = 4, 600
_BAND, _HEAD, _FOOT = 1.32, 1.34, 0.62  # inches: one train, what stands above all, and below
_LABEL, _COLUMNS = 5.62, (6.5, 7.42, 8.66)  # right edges of the words and of the numbers
_HEADS = ("the chef\nis busy", "a trip\ntakes", "of each dollar,\nwaiting costs")
_ENGINE, _SACK, _GAP, _RIM = 0.96, 0.66, 0.08, 0.05  # inches: lengths of what a train is made of
_PER_WAGON, _HIGH, _PITCH = 10, 0.48, 0.1  # columns of seats, their height, the widest pitch
_FULL_TRAIN, _ROWS = 295, 5  # a train of so many seats has so many rows of them
_SEAT, _SMOKE, _LAMP, _RAIL = "#D0C5B0", "#E3DACA", "#F0CF6B", "#A98B5B"


class _Trip(NamedTuple):
    """One decode step for `guests` guests, without their notes and with them."""

    guests: int
    bare: Reading
    noted: Reading


@in_style
def empty_seats(
    model: Model | None = None,
    chip: Chip | None = None,
    guests: Sequence[int] = GUESTS,
    notes: int = 2048,
) -> Picture:
    """Trains with a seat for every guest that one trip of the sack could serve in the same time.

    At 16 bit a decode step does one FLOP per byte of weights for each guest, so the seats are the
    chip's ridge, until notes are counted.

    Args:
        model, chip: whose, at 16 bit; a model without experts. Llama-3.1-70B on one H100 SXM.
        guests: on board of each train: one to four numbers, none larger than the seats.
        notes: tokens of context of every guest, in the second row of numbers.

    Raises ``ValueError`` for other guests, for a model of experts (each guest touches experts of
    their own) and for a ridge below 1 or above 600.
    """
    model, chip = model or model_called("Llama-3.1-70B"), chip or chip_called("H100 SXM")
    instance("model", model, Model, 'kl.model("Llama-3.1-70B")')
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    seats = _seats(model, chip)
    _check(guests, seats)
    dimension("notes", notes, "tokens")
    trips = [_trip(model, chip, number, notes) for number in guests]
    full = _trip(model, chip, seats, notes).bare
    title = f"{_who(guests[0])} pay{'s' * (guests[0] == 1)} for a train of {seats} seats"
    who = f"{model.name}, one {chip.short_label}, 16 bit"
    lead = f"{who}. One trip of the sack could serve {_who(seats)} in the same time"
    longer = f"A full train takes {human(full.time, 's')}, notes not counted"
    said = " ".join(_in_words(trip, seats, notes) for trip in trips)
    paid = "The chef is paid all the time: waiting costs the share of it in which nothing is cut"
    picture = Picture(
        WIDTH,
        _HEAD + _BAND * len(trips) + _FOOT,
        alt=f"{title}. {lead}. {longer}. {paid}. {said}",
    )
    claim(picture, title, lead)
    ax = canvas(picture)
    top = picture.size[1] - _HEAD
    for x, text in zip(_COLUMNS, _HEADS, strict=True):
        write(ax, x, top - 0.02, text, ha="right", color=MUTED, size=SMALL, linespacing=1.15)
    for i, trip in enumerate(trips):
        _words(ax, top - _BAND * i, trip, seats, notes)
        _train(ax, top - _BAND * i - 1.19, trip.guests, seats)
    fit = "Times whether or not sack and notes fit into one chip."
    source(picture, f"{paid}.{footnote(chip)}\n{longer}. {fit}")
    return picture


def _seats(model: Model, chip: Chip) -> int:
    """Guests whose cuts take as long as the trip of the sack: the ridge, at 16 bit."""
    if any(isinstance(block.mlp, Experts) for block in model.blocks):
        raise ValueError(
            f"{model.name} has experts, and each guest touches others: the sack is not the same "
            "for every guest. Give a model without experts, for example Llama-3.1-70B"
        )
    if not 1 <= chip.ridge() <= _MOST_SEATS:
        raise ValueError(
            f"the ridge of {chip.name} is {chip.ridge():.3g} FLOP per byte: give a chip with a "
            f"ridge from 1 to {_MOST_SEATS}, for which a train can be drawn"
        )
    return int(chip.ridge())


def _check(guests: Sequence[int], seats: int) -> None:
    if not 0 < len(guests) <= _MOST_TRAINS:
        raise ValueError(f"{len(guests)} trains will not do: give guests for 1 to {_MOST_TRAINS}")
    for number in guests:
        if dimension("guests", number, "guests") > seats:
            raise wrong("guests", number, f"the train has {seats} seats, give no more guests")


def _trip(model: Model, chip: Chip, guests: int, notes: int) -> _Trip:
    bare, noted = (read(decode_step(model, n, guests), chip) for n in (0, notes))
    return _Trip(guests, bare, noted)


def _who(guests: int) -> str:
    return "One guest" if guests == 1 else f"{guests:,} guests"


def _empty(trip: _Trip, seats: int) -> str:
    empty = seats - trip.guests
    if not empty:
        return "every seat taken"
    return f"{empty:,} seat{'s' * (empty != 1)} empty"


def _numbers(step: Reading) -> tuple[str, str, str]:
    """Chef busy, time of the trip, and cents of a dollar."""
    return _busy(step), human(step.time, "s"), f"{100 * (1 - step.chef):.1f} cents"


def _busy(step: Reading) -> str:
    return f"{step.chef:.2%}" if step.chef < 0.0095 else f"{step.chef:.1%}"


def _noted(notes: int) -> str:
    return f"with {notes:,} tokens of notes each"


def _in_words(trip: _Trip, seats: int, notes: int) -> str:
    busy, time, cents = _numbers(trip.bare)
    return (
        f"{_who(trip.guests)}, {_empty(trip, seats)}: chef busy {busy}, a trip takes {time}, of "
        f"each dollar {cents} pay for waiting ({_noted(notes)}: {', '.join(_numbers(trip.noted))})."
    )


def _words(ax: Axes, top: float, trip: _Trip, seats: int, notes: int) -> None:
    """Who is on board, and the two rows of numbers."""
    write(ax, MARGIN, top - 0.2, _who(trip.guests), weight="bold", size=LEAD + 1)
    write(ax, MARGIN + 1.14, top - 0.2, _empty(trip, seats), color=MUTED)
    rows = (
        (0.2, "notes not counted", trip.bare, "bold"),
        (0.38, _noted(notes), trip.noted, "normal"),
    )
    for down, name, step, weight in rows:
        write(ax, _LABEL, top - down, name, ha="right", color=MUTED, size=SMALL)
        for x, text in zip(_COLUMNS, _numbers(step), strict=True):
            write(ax, x, top - down, text, ha="right", weight=weight)


# --- the train ---------------------------------------------------------------------------------


def _train(ax: Axes, rail: float, guests: int, seats: int) -> None:
    """Engine, the sack, and wagons with `seats` seats, the first `guests` of them taken."""
    rows = max(_ROWS, round(_ROWS * (seats / _FULL_TRAIN) ** 0.5))
    columns = -(-seats // rows)
    wagons = -(-columns // _PER_WAGON)
    start = MARGIN + _ENGINE + _SACK + 2 * _GAP
    room = WIDTH - MARGIN - start - wagons * (2 * _RIM + _GAP) + _GAP
    pitch = min(_PITCH, room / columns)
    ax.plot([MARGIN, WIDTH - MARGIN], [rail, rail], color=_RAIL, linewidth=1.2, zorder=1)
    _engine(ax, MARGIN, rail)
    _sack_wagon(ax, MARGIN + _ENGINE + _GAP, rail)
    places: list[tuple[float, float]] = []
    left, rise, wheels = start, _HIGH / rows, []
    for first in range(0, columns, _PER_WAGON):
        here = min(_PER_WAGON, columns - first)
        wide = here * pitch + 2 * _RIM
        _wagon(ax, left, rail, wide)
        wheels += [left + min(0.16, wide / 4), left + wide - min(0.16, wide / 4)]
        for column in range(here):
            x = left + _RIM + (column + 0.5) * pitch
            places += [(x, rail + 0.16 + (row + 0.5) * rise) for row in reversed(range(rows))]
        left += wide + _GAP
    _wheels(ax, wheels, rail, 0.06)
    at = np.array(places[:seats])
    _empty_seats(ax, at[guests:], 0.5 * min(pitch, rise))
    _passengers(ax, at[:guests], 0.94 * min(pitch, rise))


def _empty_seats(ax: Axes, at: np.ndarray, size: float) -> None:
    """Squares of `size` inches: strokes as wide as they are long, which keeps the file small."""
    half = np.array([size / 2, 0])
    ends = np.stack([at - half, at + half], axis=1).reshape(-1, 2)
    strokes = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(at)))
    look: dict[str, Any] = {"edgecolor": _SEAT, "linewidth": 72 * size, "capstyle": "butt"}
    ax.add_patch(PathPatch(strokes, facecolor="none", zorder=4, **look))


def _passengers(ax: Axes, at: np.ndarray, size: float) -> None:
    look: dict[str, Any] = {"facecolor": ORDER.fill, "edgecolor": INK, "linewidth": 0.5}
    ax.scatter(at[:, 0], at[:, 1], s=(72 * size) ** 2, marker=_PASSENGER, zorder=5, **look)


def _passenger() -> Path:
    """Head and shoulders, about one unit high, around the origin."""
    curve = [(-0.5, -0.5), (-0.5, 0.1), (0.5, 0.1), (0.5, -0.5), (-0.5, -0.5)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.CLOSEPOLY]
    return Path.make_compound_path(Path(curve, codes), Path.circle((0, 0.23), 0.29))


_PASSENGER = _passenger()


def _engine(ax: Axes, x: float, rail: float) -> None:
    """A small steam engine that heads left: the waiter, who pulls all of it for anyone."""
    pen = scenery.Pen(ax, x, rail, 1.0)
    for centre, radius in (((0.36, 0.72), 0.05), ((0.50, 0.76), 0.07)):
        pen.disc(centre, radius, _SMOKE, edge=None)
    pen.box((0.2, 0.46), (0.11, 0.18), INK, width=0.9)
    pen.box((0.17, 0.6), (0.17, 0.05), INK, width=0.9)
    pen.disc((0.44, 0.47), 0.06, WAITER.fill, width=0.9)
    pen.box((0.1, 0.19), (0.56, 0.29), WAITER.fill, radius=0.06, width=0.9)
    pen.box((0.62, 0.19), (0.3, 0.45), WAITER.fill, width=0.9)
    pen.box((0.69, 0.4), (0.16, 0.16), PAPER, width=0.9)
    pen.box((0.57, 0.62), (0.4, 0.06), INK, radius=0.02, width=0.9)
    pen.disc((0.1, 0.37), 0.04, _LAMP, width=0.9)
    pen.polygon([(0.12, 0.2), (0.0, 0.03), (0.14, 0.03)], INK, width=0.9)
    pen.box((0.1, 0.13), (0.84, 0.07), INK, width=0.9)
    _wheels(ax, [x + 0.24, x + 0.43], rail, 0.08)
    _wheels(ax, [x + 0.72], rail, 0.12)
    _coupling(pen, _ENGINE - 0.02)


def _sack_wagon(ax: Axes, x: float, rail: float) -> None:
    pen = scenery.Pen(ax, x, rail, 1.0)
    pen.box((0.0, 0.12), (_SACK, 0.07), scenery.WOOD_DARK, width=0.9)
    _wheels(ax, [x + 0.15, x + _SACK - 0.15], rail, 0.07)
    _coupling(pen, _SACK)
    scenery.sack(ax, x + _SACK / 2, rail + 0.18, 0.58, layer=3)


def _wagon(ax: Axes, x: float, rail: float, wide: float) -> None:
    pen = scenery.Pen(ax, x, rail, 1.0)
    pen.box((0.0, 0.11), (wide, _HIGH + 0.1), scenery.WALL, radius=0.03, width=0.9)
    pen.box((-0.02, _HIGH + 0.2), (wide + 0.04, 0.05), scenery.STEEL, radius=0.02, width=0.9)


def _wheels(ax: Axes, at: Sequence[float], rail: float, radius: float) -> None:
    """Marks, not circles: one shape for all of them in the file."""
    rim = 72 * radius * 0.62  # points
    look: dict[str, Any] = {"markeredgecolor": INK, "markerfacecolor": scenery.STEEL}
    look |= {"markersize": 2 * 72 * radius - rim, "markeredgewidth": rim, "zorder": 3.5}
    ax.plot(at, [rail + radius] * len(at), "o", linestyle="none", **look)


def _coupling(pen: scenery.Pen, x: float) -> None:
    pen.line([(x, 0.16), (x + _GAP, 0.16)], INK, 2.0)
