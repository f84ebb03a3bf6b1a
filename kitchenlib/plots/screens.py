"""The two screens of flood and drip: the cube of weights, and the wall of tokens across, layers up.

A screen's things are placed in pixels from its upper left corner. `flood_screen` and `drip_screen`
show the same things; what differs is how they move.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.path import Path

from kitchenlib.film import Film, tokens
from kitchenlib.plots import vector
from kitchenlib.plots.vector import (
    Counter,
    Group,
    Mark,
    Motion,
    Node,
    Point,
    Words,
    fade,
    move,
    scale,
)
from kitchenlib.units import human

WIDE, HIGH = 394.0, 262.0  #: of a screen
_WALL = (160.0, 46.0, 208.0, 168.0)  # left, top, width, height
_SLOTS = 228.0  # where the tokens stand, below the wall
_CUBE, _HALF, _TILT, _SLAB, _SLABS = (70.0, 192.0), 52.0, 22.0, 12.2, 10
_MOST_ROWS, _MOST_COLUMNS = 64, 44
_FALL = 0.42  # share of the next step in which a drop falls

# light on dark
_SCREEN, _UNLIT, _PALE, _DIM = "#121A22", "#22303C", "#F3EBDB", "#A9B4BD"
_EMBER = ("#7E2B00", "#C24F00", "#EE7A1E", "#FFB765", "#FFF0D2")  # rows, from the lowest up
_FACES = (("#F6CF7C", "#B97C10", "#E69F00"), ("#FFF3D0", "#F0B63C", "#FFD166"))  # idle, read
_TOKEN, _OUTLINE, _BEAM = "#F0A6CC", "#4A5A68", "#7CC4F0"
_BACKGROUND = Mark(vector.box(0, 0, WIDE, HIGH, 10), _SCREEN)

# --- the wall: tokens across, layers up --------------------------------------------------------


def _rows(film: Film) -> int:
    """Rows of the wall: the layers, or as many bundles of them as can be told apart."""
    layers = film.model.layers
    return math.ceil(layers / math.ceil(layers / _MOST_ROWS))


@functools.cache
def _lit_wall(rows: int, columns: int, width: float) -> tuple[Node, ...]:
    """The wall with every cell alight."""
    left, top, _, high = _WALL
    columns = min(columns, _MOST_COLUMNS)
    wide, thick = width / columns, high / rows
    light: list[Node] = []
    for row in range(rows):
        bar = vector.box(left, top + high - (row + 1) * thick, width, thick + 0.3)
        light.append(Mark(bar, _ramp((row + 0.5) / rows)))
    for seed, fill, opacity in ((1, "#FFC77F", 0.24), (2, "#5A1E00", 0.15)):
        cells = [
            vector.box(left + column * wide, top + row * thick, wide, thick)
            for row in range(rows)
            for column in range(columns)
            if _chance(row, column, seed) < 0.1
        ]
        if cells:
            light.append(Mark(vector.together(cells), fill, opacity=opacity))
    return tuple(light)


def _chance(row: int, column: int, seed: int) -> float:
    """A number from 0 to 1 that looks like chance, and is the same on every machine."""
    x = (row * 0x9E3779B1 ^ column * 0x85EBCA77 ^ seed * 0xC2B2AE3D) % 2**32
    for shift in (15, 13, 16):
        x = (x ^ x >> shift) * 0x2C1B3C6D % 2**32
    return x / 2**32


@functools.cache
def _bloom(width: float) -> Node:
    """The light that the wall throws on the screen around it."""
    left, top, _, high = _WALL
    rings = []
    for r in (3.0, 6.0, 9.5, 13.0, 17.0):
        ring = vector.box(left - r, top - r, width + 2 * r, high + 2 * r, r + 2)
        rings.append(Mark(ring, "#E8741C", opacity=0.05))
    return Group(tuple(rings), motion=fade("flood.progress", (0.1, 0), (1, 1)))


@functools.cache
def _joints(rows: int, columns: int, width: float) -> Mark:
    """The dark lines between the cells, as far as there is room for them."""
    left, top, _, high = _WALL
    across = [[(left, y), (left + width, y)] for y in _between(top, high, rows)]
    up = [[(x, top), (x, top + high)] for x in _between(left, width, columns)]
    return Mark(vector.lines(*across, *up), stroke=_SCREEN, width=1.1)


def _between(start: float, length: float, parts: int) -> list[float]:
    if length / parts < 2.5:
        return []
    return [start + length * i / parts for i in range(1, parts)]


def _ramp(share: float) -> str:
    """The colour of the light at a height, from embers to white heat."""
    at = share * (len(_EMBER) - 1)
    low = min(int(at), len(_EMBER) - 2)
    return _mix(_EMBER[low], _EMBER[low + 1], at - low)


def _mix(one: str, other: str, share: float) -> str:
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02X}" for a, b in pairs)


# --- the cube of weights -----------------------------------------------------------------------


def _slab(
    middle: tuple[float, float], faces: tuple[str, str, str], size: float = 1.0
) -> list[Mark]:
    """One slab of the cube, its lower face around `middle`: top, left and right side."""
    x, y = middle
    w, h, thick = _HALF * size, _TILT * size, (_SLAB - 2.2) * size
    up = y - thick
    top = [(x - w, up), (x, up - h), (x + w, up), (x, up + h)]
    left = [(x - w, up), (x, up + h), (x, y + h), (x - w, y)]
    right = [(x + w, up), (x, up + h), (x, y + h), (x + w, y)]
    shapes = zip((top, left, right), faces, strict=True)
    return [Mark(vector.outline(points), fill) for points, fill in shapes]


@functools.cache
def _cube(side: str) -> tuple[Node, ...]:
    """The stack of slabs; the one that is being read is bright."""
    x, base = _CUBE
    stack: list[Node] = []
    for i in range(_SLABS):
        middle = (x, base - i * _SLAB)
        leave = _flight(i).leave
        stack += _slab(middle, _FACES[0])
        glow = fade(
            f"{side}.progress", (leave - 0.04, 0), (leave, 1), (leave + 0.06, 1), (leave + 0.14, 0)
        )
        bright = Group(tuple(_slab(middle, _FACES[1])), motion=glow)
        stack.append(_unless_quick(side, Group((bright,), motion=_while_running(side))))
    return tuple(stack)


class _Flight(NamedTuple):
    """A slab's way from the cube to the wall, to be there when its layers are due.

    Attributes:
        leave, done: shares of the pass.
        here, there: the places.
    """

    leave: float
    done: float
    here: Point
    there: Point

    def at(self, share: float) -> Point:
        (x0, y0), (x1, y1) = self.here, self.there
        return x0 + share * (x1 - x0), y0 + share * (y1 - y0)


def _flight(slab: int) -> _Flight:
    x, base = _CUBE
    left, top, _, high = _WALL
    done = (slab + 1) / _SLABS
    here = (x, base - (slab + 0.5) * _SLAB)
    there = (left - 4, top + high * (1 - (slab + 0.5) / _SLABS))
    return _Flight(max(0.0, done - 0.36), done, here, there)


@functools.cache
def _stream(side: str) -> tuple[Node, ...]:
    """Copies of the slabs on their way to the wall."""
    flights: list[Node] = []
    for i in range(_SLABS):
        way = _flight(i)
        leave, done, progress = way.leave, way.done, f"{side}.progress"
        size = scale(progress, (leave, (1, 1)), (done, (0.3, 0.42)))
        slab = Group(tuple(_slab((0, _SLAB / 2), _FACES[1])), motion=size)
        flying = Group((slab,), motion=move(progress, (leave, way.here), (done, way.there)))
        last = done - 0.2 * (done - leave)
        seen = fade(progress, (leave, 0), (leave + 0.03, 1), (last, 0.9), (done, 0))
        flights.append(Group((Group((flying,), motion=seen),), motion=_while_running(side)))
    return tuple(flights)


@functools.cache
def _haze(side: str) -> Node:
    """The stream when it is too quick to see: a blur that stands still."""
    marks: list[Node] = []
    for i in range(_SLABS):
        for share in (0.3, 0.55, 0.78):
            x, y = _flight(i).at(share)
            slab = _slab((x, y + _SLAB / 2), _FACES[1], 1 - 0.65 * share)
            marks += [face._replace(opacity=0.16) for face in slab]
    return _if_quick(side, Group(tuple(marks), motion=_while_running(side)))


def _unless_quick(side: str, *nodes: Node) -> Group:
    return Group(nodes, motion=fade(f"{side}.quick", (0, 1), (1, 0), stepped=True))


def _if_quick(side: str, *nodes: Node) -> Group:
    return Group(nodes, motion=fade(f"{side}.quick", (0, 0), (1, 1), stepped=True))


def _while_running(side: str) -> Motion:
    return fade(f"{side}.running", (0, 0), (1, 1), stepped=True)


# --- the two screens ---------------------------------------------------------------------------


def flood_screen(film: Film) -> Group:
    """Prefill: every token at once, the sack once."""
    left, top, wide, high = _WALL
    columns, rows = min(film.prompt, _MOST_COLUMNS), _rows(film)
    dark = Mark(vector.box(-0.5, -0.4, wide + 1, high + 1), _UNLIT)
    levels = ((row / rows, (1.0, 1 - row / rows)) for row in range(rows + 1))
    rising = Group((dark,), motion=scale("flood.progress", *levels, stepped=True))
    nodes = (
        *_heading("Prefill: the flood", "flood", 1),
        _bloom(wide),
        *_lit_wall(rows, columns, wide),
        Group((rising,), (left, top)),
        _unless_quick("flood", _front(rows)),
        _joints(rows, columns, wide),
        *_cube("flood"),
        _unless_quick("flood", *_stream("flood")),
        Mark(_tokens_read(columns), _TOKEN),
        *_captions(film, film.sacks[0], tokens(film.prompt) + " at once" * (film.prompt > 1)),
    )
    return Group((_BACKGROUND, *nodes))


def _tokens_read(columns: int) -> Path:
    left, _, wide, _ = _WALL
    pitch = wide / columns
    return vector.together(
        vector.box(left + (c + 0.5) * pitch - 0.4 * pitch, _SLOTS - 4, 0.8 * pitch, 8)
        for c in range(columns)
    )


@functools.cache
def _front(rows: int) -> Node:
    """Where the flood stands: a white-hot row, what has just caught fire, and a glow ahead."""
    left, top, wide, high = _WALL
    rows_up = move("flood.progress", (0, (left, top + high)), (1, (left, top)))
    heat = tuple(
        Mark(vector.box(0, 0, wide, 7.0 * (i + 1)), "#FFF6E0", opacity=0.17) for i in range(5)
    )
    halo = tuple(
        Mark(vector.box(0, -4.0 * (i + 1), wide, 4.0 * (i + 1)), "#FF9D45", opacity=0.1)
        for i in range(5)
    )
    glow = (
        Group(heat, motion=scale("flood.progress", (0, (1, 0)), (0.2, (1, 1)))),
        Group(halo, motion=scale("flood.progress", (0.88, (1, 1)), (1, (1, 0)))),
        Mark(vector.box(0, -high / rows, wide, high / rows + 0.6), "#FFFDF6"),
    )
    return Group((Group(glow, motion=rows_up),), motion=_while_running("flood"))


def drip_screen(film: Film) -> Group:
    """Decode: token after token, the sack again for each."""
    left, top, wide, high = _WALL
    rows, steps, pitch = _rows(film), film.reply - 1, wide / film.reply
    width = steps * pitch
    to_come = Mark(vector.box(-width, -0.4, width + 0.6, high + 1), _UNLIT)
    shares = ((n, ((steps - 1 - n) / steps, 1.0)) for n in sorted({0, steps - 1}))
    veil = Group((to_come,), motion=scale("drip.passes", *shares))
    nodes = (
        *_heading("Decode: the drip", "drip", steps),
        *_lit_wall(rows, steps, width),
        Group((veil,), (left + width, top)),
        _column(pitch, steps),
        _unless_quick("drip", _tip(pitch, steps)),
        _joints(rows, steps, width),
        *_cube("drip"),
        _unless_quick("drip", *_stream("drip")),
        _haze("drip"),
        *_slots(film, pitch),
        *_captions(film, film.sacks[1], f"{tokens(film.reply)}, one by one"),
    )
    return Group((_BACKGROUND, *nodes))


def _column(pitch: float, steps: int) -> Node:
    """The dark part of the column that is climbed now; all of it, if that is too quick to see."""
    left, top, _, high = _WALL
    dark = Mark(vector.box(-0.5, -0.4, pitch + 0.5, high + 1), _UNLIT)
    above = Group((dark,), motion=scale("drip.progress", (0, (1, 1)), (1, (1, 0))))
    unwritten = Group((dark,), motion=fade("drip.passes", (0, 1), (steps, 0), stepped=True))
    across = move("drip.passes", (0, (left, top)), (steps, (left + steps * pitch, top)))
    return Group((_unless_quick("drip", above), _if_quick("drip", unwritten)), motion=across)


def _tip(pitch: float, steps: int) -> Node:
    """The one token that climbs now, and the beam that feeds it."""
    left, top, _, high = _WALL
    wide = max(pitch, 3.0)
    glow = tuple(
        Mark(vector.box(-r, -r - 2, wide + 2 * r, 2 * r + 5, r + 2), "#FFB765", opacity=0.13)
        for r in (3.0, 6.0, 9.0, 13.0)
    )
    spark = Mark(vector.box(0, -3, wide, 6, 1.5), "#FFFDF6")
    up = move("drip.progress", (0, (left, top + high)), (1, (left, top)))
    across = move("drip.passes", (0, (0, 0)), (steps, (steps * pitch, 0)))
    beam = Mark(vector.box(0, -1, steps * pitch, 2), _BEAM, opacity=0.8)
    reach = scale("drip.passes", (0, (1e-3, 1)), (steps, (1, 1)))
    climber = (Group((beam,), motion=reach), Group((*glow, spark), motion=across))
    return Group((Group(climber, motion=up),), motion=_while_running("drip"))


def _slots(film: Film, pitch: float) -> Iterator[Node]:
    """The tokens of the reply: a row of places, and the drop that falls into the newest."""
    left, _, wide, _ = _WALL
    size = max(2.4, min(8.4, 0.76 * pitch))
    apart = pitch >= 3
    places = vector.box(left, _SLOTS - 3, wide, 6, 3)
    if apart:
        places = vector.together(_dot(left + (n + 0.5) * pitch, size) for n in range(film.reply))
    yield Mark(places, _UNLIT)
    yield Mark(places, _TOKEN)
    hidden = Mark(vector.box(-wide - 1, -7, wide + 2, 14), _SCREEN)
    veil = scale("drip.tokens", (0, (1, 1)), (film.reply, (0, 1)))
    yield Group((Group((hidden,), motion=veil),), (left + wide, _SLOTS))
    if apart:  # the places to come keep their outline
        yield Mark(places, stroke=_OUTLINE)
    yield _unless_quick("drip", _newest(film, pitch, size))


def _newest(film: Film, pitch: float, size: float) -> Node:
    """The token written last, as long as it falls: its place is still empty."""
    left, top, wide, _ = _WALL
    cover = Mark(vector.box(-size / 2 - 1, _SLOTS - size / 2 - 1, size + 2, size + 2), _SCREEN)
    empty = Mark(_dot(0, size), stroke=_OUTLINE)
    start, fall = top - 8, _SLOTS - top + 8
    acts = (i / 5 for i in range(6))  # it falls faster and faster
    path = ((_FALL * act, (-pitch * (1 - act), start + fall * act * act)) for act in acts)
    shape = Mark(vector.drop(0, 0, max(size, 6.0)), _TOKEN, "#FFFFFF", 1.2)
    falling = Group((shape,), motion=move("drip.progress", *path))
    until = fade("drip.progress", (0, 1), (_FALL, 0), stepped=True)
    first, last = (left + pitch / 2, 0.0), (left + wide - pitch / 2, 0.0)
    place = move("drip.tokens", (1, first), (film.reply, last))
    token = Group((Group((cover, empty, falling), motion=until),), motion=place)
    return Group((token,), motion=_while_running("drip"))


def _dot(x: float, size: float) -> Path:
    """The place of a token: round."""
    return vector.box(x - size / 2, _SLOTS - size / 2, size, size, size / 2 - 0.01)


def _heading(title: str, side: str, passes: int) -> Iterator[Node]:
    yield Words(18, 29, title, 16, _PALE, bold=True)
    trips = Counter(WIDE - 18, 29, f"{side}.trips", passes, "", 14, _FACES[0][0])
    yield trips._replace(head="sack trip ", tail=f" of {passes:,}", anchor="end")


def _captions(film: Film, sack: float, across: str) -> Iterator[Node]:
    left, top, wide, high = _WALL
    gold = _FACES[0][0]
    yield Words(_CUBE[0], 249, f"{human(sack, 'B')} sack", 13.5, gold, anchor="middle")
    yield Words(left + wide / 2, 249, across, 13.5, _DIM, anchor="middle")
    layers = f"{film.model.layers} layers →"
    yield Words(left + wide + 18, top + high, layers, 12.5, _DIM, turned=True)
