"""Flood and drip, the split screen: how a prompt is read, and how a reply is written.

On both screens stands the same cube, the weights, and the same wall: tokens across, layers up. At
the left all tokens of the prompt climb the layers at once, and the cube streams past once. At the
right one token climbs at a time, and for each of them the whole cube streams past again.

`scene` is the one drawing. `still` shows it at a moment, `loop` lets it play by itself, the player
(`kitchenlib.player`) moves it in the browser. What moves follows `kitchenlib.film.state_at`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from matplotlib.path import Path

from kitchenlib.chips import chip
from kitchenlib.film import Film, Side, State, Track, brief, notes, pace_label, state_at, tokens
from kitchenlib.inputs import quantity
from kitchenlib.models import model
from kitchenlib.plots import scenery, vector
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MUTED,
    ORDER,
    PAPER,
    RULE,
    WAITER,
    Picture,
    Role,
    in_style,
    percent,
)
from kitchenlib.plots.vector import (
    Counter,
    Drawing,
    Group,
    Mark,
    Node,
    Point,
    Words,
    fade,
    move,
    scale,
)
from kitchenlib.units import human

# Places in pixels. A screen's things are placed from its own upper left corner.
_LEFT, _RIGHT, _WIDE, _HIGH = 31.0, 439.0, 394.0, 262.0
_TOP, _PANEL, _NUMBERS, _TIMELINE, _FOOT = 84.0, 346.0, 470.0, 540.0, 604.0
_SIZE = (864.0, 622.0)
_WALL = (166.0, 46.0, 210.0, 168.0)  # left, top, width, height
_SLOTS = 228.0  # where the tokens stand, below the wall
_CUBE, _HALF, _TILT, _SLAB, _SLABS = (72.0, 192.0), 52.0, 22.0, 12.2, 10

# Light on dark: the screens.
_SCREEN, _UNLIT, _PALE, _DIM = "#121A22", "#22303C", "#F3EBDB", "#A9B4BD"
_EMBER = ("#7E2B00", "#C24F00", "#EE7A1E", "#FFB765", "#FFF0D2")  # rows, from the lowest up
_FACES = (("#F6CF7C", "#B97C10", "#E69F00"), ("#FFF3D0", "#F0B63C", "#FFD166"))  # idle, read
_TOKEN, _BEAM = "#F0A6CC", "#7CC4F0"
_BIG, _SMALL, _BAR, _THICK = 16.0, 14.0, 174.0, 20.0
_MOST_ROWS, _MOST_COLUMNS = 64, 44
_FALL = 0.42  # share of the next step in which a drop falls


def channels(state: State, quick: tuple[bool, bool] = (False, False)) -> dict[str, float]:
    """The numbers of a state by the names that the drawing knows them by.

    Args:
        quick: whether flood and drip are too quick to see, at the pace they are shown at.
    """
    named: dict[str, float] = {"t": state.t, "ttft": state.ttft, "tpot": state.tpot}
    named |= {"flood.quick": quick[0], "drip.quick": quick[1]}
    for side in ("flood", "drip"):
        for name, value in getattr(state, side)._asdict().items():
            named[f"{side}.{name}"] = value
    return named


# --- the drawing -------------------------------------------------------------------------------


def scene(film: Film, pace: float | None = None) -> Drawing:
    """Everything there is to see of `film`, whatever the moment.

    Args:
        pace: seconds of the machine that a second of film shows, if it is to be said on the card.
    """
    nodes = (
        *_card(film, pace),
        *_flood(film),
        *_drip(film),
        *_numbers(film),
        *_timeline(film),
    )
    return Drawing(*_SIZE, nodes)


def _card(film: Film, pace: float | None) -> Iterator[Node]:
    wide, high = _SIZE
    edge = vector.box(1, 1, wide - 2, high - 2, 15)
    yield Mark(edge, PAPER, "#E4DCCD")
    yield Words(_LEFT, 46, claim(film), 20, bold=True)
    yield Words(_LEFT, 69, f"{film.kitchen}, {film.guests}", 14.5, MUTED)
    if pace:
        yield Words(wide - _LEFT, 69, pace_label(pace), 14.5, MUTED, anchor="end")
    for x in (_LEFT, _RIGHT):
        yield Mark(vector.box(x, _TOP, _WIDE, _HIGH, 10), _SCREEN)
    caveats = notes(film, pace) if pace else ()
    foot = _wrapped(" ".join((_IDEAL, *film.caveats, *caveats)), 13.5)
    for i, line in enumerate(foot):
        yield Words(_LEFT, _FOOT + 16 * (i - (len(foot) - 1) / 2), line, 13.5, MUTED)


def _wrapped(text: str, size: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if vector.text_width(longer, size) > _SIZE[0] - 2 * _LEFT:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def claim(film: Film) -> str:
    """What the film shows, in one line."""
    flood, drip = human(film.ttft, "s"), human(film.tpot, "s")
    return f"{tokens(film.prompt)} in one flood of {flood}, then a drip every {drip}"


def _screen(x: float, *nodes: Node) -> Group:
    return Group(nodes, (x, _TOP))


# --- the wall: tokens across, layers up --------------------------------------------------------


def _rows(film: Film) -> int:
    """Rows of the wall: the layers, or as many bundles of them as can be told apart."""
    layers = film.model.layers
    return math.ceil(layers / math.ceil(layers / _MOST_ROWS))


def _lit_wall(film: Film, columns: int, width: float) -> Iterator[Node]:
    """The wall with every cell alight."""
    left, top, _, high = _WALL
    rows = _rows(film)
    for row in range(rows):
        y = top + high * (rows - 1 - row) / rows
        yield Mark(vector.box(left, y, width, high / rows + 0.3), _ramp((row + 0.5) / rows))
    columns = min(columns, _MOST_COLUMNS)
    wide, thick = width / columns, high / rows
    for seed, fill, opacity in ((1, "#FFC77F", 0.24), (2, "#5A1E00", 0.15)):
        cells = [
            vector.box(left + column * wide, top + row * thick, wide, thick)
            for row in range(rows)
            for column in range(columns)
            if _chance(row, column, seed) < 0.12
        ]
        if cells:
            yield Mark(vector.together(cells), fill, opacity=opacity)


def _chance(row: int, column: int, seed: int) -> float:
    """A number from 0 to 1 that looks like chance, and is the same on every machine."""
    x = (row * 0x9E3779B1 ^ column * 0x85EBCA77 ^ seed * 0xC2B2AE3D) % 2**32
    for shift in (15, 13, 16):
        x = (x ^ x >> shift) * 0x2C1B3C6D % 2**32
    return x / 2**32


def _bloom(width: float) -> Node:
    """The light that the wall throws on the screen around it."""
    left, top, _, high = _WALL
    rings = []
    for r in (3.0, 6.0, 9.5, 13.0, 17.0):
        ring = vector.box(left - r, top - r, width + 2 * r, high + 2 * r, r + 2)
        rings.append(Mark(ring, "#E8741C", opacity=0.05))
    return Group(tuple(rings), motion=fade("flood.progress", (0.1, 0), (1, 1)))


def _joints(film: Film, columns: int, width: float) -> Mark:
    """The dark lines between the cells, as far as there is room for them."""
    left, top, _, high = _WALL
    rows = _rows(film)
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


def _cube(side: str) -> Iterator[Node]:
    """The stack of slabs; the one that is being read is bright."""
    x, base = _CUBE
    for i in range(_SLABS):
        middle = (x, base - i * _SLAB)
        leave = _flight(i).leave
        yield from _slab(middle, _FACES[0])
        glow = fade(
            f"{side}.progress", (leave - 0.04, 0), (leave, 1), (leave + 0.06, 1), (leave + 0.14, 0)
        )
        bright = Group(tuple(_slab(middle, _FACES[1])), motion=glow)
        yield _unless_quick(side, Group((bright,), motion=_while_running(side)))


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


def _stream(side: str) -> Iterator[Node]:
    """Copies of the slabs on their way to the wall."""
    for i in range(_SLABS):
        way = _flight(i)
        leave, done, progress = way.leave, way.done, f"{side}.progress"
        size = scale(progress, (leave, (1, 1)), (done, (0.3, 0.42)))
        slab = Group(tuple(_slab((0, _SLAB / 2), _FACES[1])), motion=size)
        flying = Group((slab,), motion=move(progress, (leave, way.here), (done, way.there)))
        last = done - 0.2 * (done - leave)
        seen = fade(progress, (leave, 0), (leave + 0.03, 1), (last, 0.9), (done, 0))
        yield Group((Group((flying,), motion=seen),), motion=_while_running(side))


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


def _while_running(side: str) -> vector.Motion:
    return fade(f"{side}.running", (0, 0), (1, 1), stepped=True)


# --- the two screens ---------------------------------------------------------------------------


def _flood(film: Film) -> Iterator[Node]:
    left, top, wide, high = _WALL
    columns = min(film.prompt, _MOST_COLUMNS)
    rows = _rows(film)
    dark = Mark(vector.box(-0.4, 0, wide + 0.8, high), _UNLIT)
    rising = scale(
        "flood.progress", *((r / rows, (1, 1 - r / rows)) for r in range(rows + 1)), stepped=True
    )
    yield _screen(
        _LEFT,
        *_heading("Prefill: the flood", "flood", 1),
        _bloom(wide),
        *_lit_wall(film, columns, wide),
        Group((Group((dark,), motion=rising),), (left, top)),
        _unless_quick("flood", *_front(rows)),
        _joints(film, columns, wide),
        *_cube("flood"),
        _unless_quick("flood", *_stream("flood")),
        Mark(_tokens_read(columns), _TOKEN),
        *_captions(film, film.sacks[0], tokens(film.prompt) + " at once" * (film.prompt > 1)),
    )
    read = Words(0, 0, f"{film.prompt:,}", _BIG, bold=True)
    yield from _panel(_LEFT, "flood", film.flood, read)


def _tokens_read(columns: int) -> Any:
    left, _, wide, _ = _WALL
    pitch = wide / columns
    return vector.together(
        vector.box(left + (c + 0.5) * pitch - 0.4 * pitch, _SLOTS - 4, 0.8 * pitch, 8)
        for c in range(columns)
    )


def _front(rows: int) -> Iterator[Node]:
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
    yield Group((Group(glow, motion=rows_up),), motion=_while_running("flood"))


def _drip(film: Film) -> Iterator[Node]:
    left, top, wide, high = _WALL
    steps, pitch = film.reply - 1, wide / film.reply
    width = steps * pitch
    veil = scale("drip.passes", (0, ((steps - 1) / steps, 1)), (max(steps - 1, 1e-9), (0, 1)))
    to_come = Mark(vector.box(-width, 0, width + 0.6, high), _UNLIT)
    above = Mark(vector.box(0, 0, pitch, high), _UNLIT)
    climbing = Group((above,), motion=scale("drip.progress", (0, (1, 1)), (1, (1, 0))))
    unwritten = fade("drip.passes", (0, 1), (steps, 0), stepped=True)
    whole = _if_quick("drip", Group((above,), motion=unwritten))
    across = move("drip.passes", (0, (left, top)), (steps, (left + width, top)))
    yield _screen(
        _RIGHT,
        *_heading("Decode: the drip", "drip", steps),
        *_lit_wall(film, steps, width),
        Group((Group((to_come,), motion=veil),), (left + width, top)),
        Group((_unless_quick("drip", climbing), whole), motion=across),
        _unless_quick("drip", *_tip(pitch, steps)),
        _joints(film, steps, width),
        *_cube("drip"),
        _unless_quick("drip", *_stream("drip")),
        _haze("drip"),
        *_slots(film, pitch),
        *_captions(film, film.sacks[1], f"{tokens(film.reply)}, one by one"),
    )
    tail = f" of {film.reply}" if film.reply < 100 else ""
    written = Counter(0, 0, "drip.tokens", film.reply, "", _BIG, tail=tail)
    yield from _panel(_RIGHT, "drip", film.drip, written)


def _tip(pitch: float, steps: int) -> Iterator[Node]:
    """The one token that climbs now, and the beam that feeds it."""
    left, top, _, high = _WALL
    w = max(pitch, 3.0)
    glow = tuple(
        Mark(vector.box(-r, -r - 2, w + 2 * r, 2 * r + 5, r + 2), "#FFB765", opacity=0.13)
        for r in (3.0, 6.0, 9.0, 13.0)
    )
    spark = Mark(vector.box(0, -3, w, 6, 1.5), "#FFFDF6")
    up = move("drip.progress", (0, (0, top + high)), (1, (0, top)))
    across = move("drip.passes", (0, (left, 0)), (steps, (left + steps * pitch, 0)))
    climber = Group((Group((*glow, spark), motion=up),), motion=across)
    beam = Mark(vector.box(0, -1, steps * pitch, 2), _BEAM, opacity=0.8)
    reach = scale("drip.passes", (0, (1e-3, 1)), (steps, (1, 1)))
    beam_up = move("drip.progress", (0, (left, top + high)), (1, (left, top)))
    feed = Group((Group((beam,), motion=reach),), motion=beam_up)
    yield Group((feed, climber), motion=_while_running("drip"))


def _slots(film: Film, pitch: float) -> Iterator[Node]:
    """The tokens of the reply: a row of places, and the drop that falls into the next one."""
    left, top, wide, _ = _WALL
    size = max(2.4, min(8.4, 0.76 * pitch))
    middles = [left + (n + 0.5) * pitch for n in range(film.reply)]
    if pitch < 3:
        places = vector.box(left, _SLOTS - 3, wide, 6, 3)
    else:
        places = vector.together(_dot(x, size) for x in middles)
    yield Mark(places, _UNLIT)
    yield Mark(places, _TOKEN)
    last = film.reply
    hidden = Mark(vector.box(-wide - 1, -7, wide + 2, 14), _SCREEN)
    veil = scale("drip.tokens", (0, (1, 1)), (last, (0, 1)))
    yield Group((Group((hidden,), motion=veil),), (left + wide, _SLOTS))
    # every place to come keeps its outline, over the veil
    if pitch >= 3:
        yield Mark(places, stroke="#4A5A68", width=1)
    fall_x = move("drip.tokens", (1, (left + pitch / 2, 0)), (last, (left + wide - pitch / 2, 0)))
    cover = Mark(vector.box(-size / 2 - 1, _SLOTS - size / 2 - 1, size + 2, size + 2), _SCREEN)
    empty = Mark(_dot(0, size), stroke="#4A5A68")
    falling = fade("drip.progress", (0, 1), (_FALL, 0), stepped=True)
    drop = vector.drop(0, 0, max(size, 6.0))
    path = move(
        "drip.progress",
        *((_FALL * s, (-pitch * (1 - s), top - 8 + (_SLOTS - top + 8) * s * s)) for s in _ACTS),
    )
    shape = (Mark(drop, _TOKEN, "#FFFFFF", 1.2),)
    fallen = Group((cover, empty, Group(shape, motion=path)), motion=falling)
    newest = Group((Group((fallen,), motion=fall_x),), motion=_while_running("drip"))
    yield _unless_quick("drip", newest)


def _dot(x: float, size: float) -> Path:
    """The place of a token: round."""
    return vector.box(x - size / 2, _SLOTS - size / 2, size, size, size / 2 - 0.01)


_ACTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def _heading(title: str, side: str, passes: int) -> Iterator[Node]:
    yield Words(18, 29, title, 16, _PALE, bold=True)
    trips = Counter(_WIDE - 18, 29, f"{side}.trips", passes, "", 14, _FACES[0][0])
    yield trips._replace(head="sack trip ", tail=f" of {passes:,}", anchor="end")


def _captions(film: Film, sack: float, across: str) -> Iterator[Node]:
    left, _, wide, _ = _WALL
    gold = _FACES[0][0]
    yield Words(_CUBE[0], 249, f"{human(sack, 'B')} sack", 13.5, gold, anchor="middle")
    caption = f"{across}, {film.model.layers} layers"
    yield Words(left + wide / 2, 249, caption, 13.5, _DIM, anchor="middle")


# --- below the screens -------------------------------------------------------------------------


def _panel(x: float, side: str, track: Track, tokens: Node) -> Iterator[Node]:
    """Clock, tokens, bytes, FLOPs, and who is busy."""
    clock = track.times[-1] - track.times[0]
    columns = (0, 92, 190, 284)
    for dx, name in zip(columns, ("clock", "tokens", "bytes", "FLOPs"), strict=True):
        yield Words(x + dx, _PANEL + 25, name, _SMALL, MUTED)
    y = _PANEL + 47
    yield Counter(x, y, f"{side}.clock", clock, "s", _BIG)
    yield Group((tokens,), (x + columns[1], y))
    yield Counter(x + columns[2], y, f"{side}.bytes", track.bytes[-1], "B", _BIG)
    yield Counter(x + columns[3], y, f"{side}.flops", track.flops[-1], "FLOP", _BIG)
    yield from _chef(x + 21, _PANEL + 123, side)
    busy = (("chef", CHEF, track.chef), ("waiter", WAITER, track.waiter))
    for i, (who, role, seconds) in enumerate(busy):
        gauge = _gauge(role, f"{who} busy", f"{side}.{who}", seconds[-1] / clock)
        yield Group(tuple(gauge), (x + 56, _PANEL + 67 + 25 * i))


def _chef(x: float, y: float, side: str) -> Iterator[Node]:
    """The chef as far as the counter shows; over the flood he has his hands full."""
    size = 0.44
    figure = tuple(vector.traced(lambda ax: scenery.chef(ax, 0, -0.29 * size, size)))
    if side == "drip":
        yield Group(figure, (x, y))
        return
    chops = 24
    bob = move("flood.progress", *((i / chops, (0, 2.4 * (i % 2))) for i in range(chops + 1)))
    yield Group((Group(figure, motion=bob),), (x, y))


def _gauge(role: Role, name: str, channel: str, last: float) -> Iterator[Node]:
    yield Words(0, 12.5, name, _SMALL, MUTED)
    frame = vector.box(94, 0, _BAR, 15)
    yield Mark(frame, PAPER)
    bar = Mark(vector.box(0, 0, _BAR, 15), role.fill)
    yield Group((Group((bar,), motion=scale(channel, (0, (0, 1)), (1, (1, 1)))),), (94, 0))
    yield Mark(frame, stroke=INK, width=1.2)
    yield Counter(104 + _BAR, 13, channel, last, "%", 15)


def _numbers(film: Film) -> Iterator[Node]:
    """The two numbers: TTFT and TPOT."""
    line = vector.lines([(_LEFT, _NUMBERS), (_SIZE[0] - _LEFT, _NUMBERS)])
    yield Mark(line, stroke=RULE)
    each = (
        (_LEFT, "ttft", film.ttft, CHEF, "TTFT", "time to first token"),
        (_RIGHT, "tpot", film.tpot, WAITER, "TPOT", "time per output token"),
    )
    for x, channel, last, role, name, words in each:
        counter = Counter(x, _NUMBERS + 43, channel, last, "s", 32, role.ink)
        wide = vector.text_width(vector.shown(counter, last), 32, True) + 14
        begun = {"ttft": "flood.trips", "tpot": "drip.passes"}[channel]
        yield Group((counter,), motion=fade(begun, (0, 0), (1, 1), stepped=True))
        dash = Words(x, _NUMBERS + 43, "–", 32, RULE, bold=True)
        yield Group((dash,), motion=fade(begun, (0, 1), (1, 0), stepped=True))
        yield Words(x + wide, _NUMBERS + 26, name, 15, bold=True)
        yield Words(x + wide, _NUMBERS + 43, words, _SMALL, MUTED)


def _timeline(film: Film) -> Iterator[Node]:
    """The whole request to scale: one block for the flood, one for each drip."""
    wide, high = _SIZE[0] - 2 * _LEFT, _THICK
    role = {"compute": CHEF, "memory": WAITER, "interconnect": ORDER}
    for track in (film.flood, film.drip):
        for bound, blocks in _blocks(track, wide / film.end).items():
            yield Mark(vector.together(blocks), role[bound].fill)
    veil = Mark(vector.box(-wide, -1, wide, high + 2), PAPER, opacity=0.74)
    to_come = scale("t", (0, (1, 1)), (film.end, (0, 1)))
    yield Group((Group((veil,), motion=to_come),), (_LEFT + wide, _TIMELINE))
    needle = (
        Mark(vector.lines([(0, -3), (0, high + 3)]), stroke=INK, width=2),
        Mark(vector.outline([(-6, -9), (6, -9), (0, -1)]), INK),
    )
    along = move("t", (0, (_LEFT, _TIMELINE)), (film.end, (_LEFT + wide, _TIMELINE)))
    yield Group(needle, motion=along)
    for t in _ticks(film.end):
        x = _LEFT + t / film.end * wide
        anchor = "start" if t == 0 else "middle"
        yield Words(x, _TIMELINE + 36, brief(t) if t else "0", 13.5, MUTED, anchor=anchor)


def _blocks(track: Track, pixels: float) -> dict[str, list[Path]]:
    """The passes of a track by what bounds them: blocks, joined where there is no room for gaps."""
    found: dict[str, list[Path]] = {}
    passes = zip(pairwise(track.times), track.bound, strict=True)
    joined = (track.times[-1] - track.times[0]) / len(track.bound) * pixels < 4
    for bound, run in groupby(passes, lambda each: each[1]):
        spans = [span for span, _ in run]
        for start, stop in [(spans[0][0], spans[-1][1])] if joined else spans:
            wide = (stop - start) * pixels - (0 if joined else 1.6)
            block = vector.box(_LEFT + start * pixels, _TIMELINE, wide, _THICK, 2)
            found.setdefault(bound, []).append(block)
    return found


def _ticks(end: float) -> list[float]:
    """Round times along the film, about five."""
    rough = end / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    return [i * step for i in range(int(end / step) + 1) if i * step < 0.97 * end]


# --- pictures ----------------------------------------------------------------------------------


def poster(film: Film) -> float:
    """A moment that shows both: the flood is over, and in the middle of the reply a drop falls."""
    step = (film.reply - 1) // 2
    start, stop = film.drip.times[step : step + 2]
    return start + 0.24 * (stop - start)


def draw(film: Film, t: float, pace: float | None = None) -> str:
    """The film at `t` as SVG."""
    state = state_at(film, t)
    return vector.svg(scene(film, pace), channels(state), words(film, state))


def words(film: Film, state: State) -> str:
    """The picture at `state` for a reader who cannot see it."""
    flood, drip, layers = state.flood, state.drip, film.model.layers
    wall = f"a wall of {tokens(film.prompt)} across and {layers} layers up, "
    if flood.passes:
        wall += "all alight"
    else:
        wall += f"alight up to layer {math.floor(layers * flood.progress)}, all tokens at once"
    column = ""
    if drip.running:
        column = f"; one token climbs, at layer {math.floor(layers * drip.progress)}"
    written = f"{drip.tokens:,} of {tokens(film.reply)} written{column}"
    tpot = human(state.tpot, "s") if drip.passes else "not yet known"
    return (
        f"{claim(film)}. A split screen, {human(state.t, 's')} after the request arrived. "
        f"{film.kitchen}, {film.guests}. "
        f"Left, prefill: {wall}; {_sack(film.sacks[0], flood)}; {_counts(flood)}. "
        f"Right, decode: {written}; {_sack(film.sacks[1], drip)}; {_counts(drip)}. "
        f"TTFT {human(state.ttft, 's')}, TPOT {tpot}. "
        f"{' '.join((_IDEAL, *film.caveats))}"
    )


def _sack(nbytes: float, side: Side) -> str:
    times = {0: "not yet", 1: "once"}.get(side.trips, f"{side.trips:,} times")
    return f"the {human(nbytes, 'B')} sack set out {times}"


def _counts(side: Side) -> str:
    chef, waiter = percent(side.chef), percent(side.waiter)
    return (
        f"clock {human(side.clock, 's')}, {human(side.bytes, 'B')} moved, "
        f"{human(side.flops, 'FLOP')} done, chef busy {chef}, waiter busy {waiter}"
    )


class Still(Picture):
    """The film at a moment."""

    def __init__(self, film: Film, t: float) -> None:
        self.film, self.t = film, t
        state = state_at(film, t)
        drawing = scene(film)
        wide, high = drawing.width / vector.DPI, drawing.height / vector.DPI
        super().__init__(wide, high, alt=words(film, state))
        for artist in vector.artists(drawing, channels(state)):
            artist.set_transform(artist.get_transform() + self.dpi_scale_trans)
            self.add_artist(artist)

    def svg(self) -> str:
        return draw(self.film, self.t)


class Loop(Still):
    """The film, played over and over by the image itself; as PNG, its poster."""

    def __init__(self, film: Film, pace: float) -> None:
        super().__init__(film, poster(film))
        self.pace = quantity("pace", pace, "seconds of the machine for each second of film")

    def svg(self) -> str:
        return loop_svg(self.film, self.pace, self.t, self.alt)


def loop_svg(film: Film, pace: float, poster: float, alt: str) -> str:
    """The film as an SVG that plays by itself."""
    quick = film.quick(pace)
    stretches = list(_stretches(film, pace, quick))
    still = channels(state_at(film, poster))
    return vector.looping(scene(film, pace), stretches, still, alt)


def _stretches(film: Film, pace: float, quick: tuple[bool, bool]) -> Iterator[vector.Stretch]:
    """The loop, pass by pass: a moment before the request arrives, and a rest at the end.

    Passes too short to be seen are taken together: nobody misses them, and the image stays small.
    """
    first, last = (channels(state_at(film, t), quick) for t in (0.0, film.end))
    yield vector.Stretch(0.0, _LEAD, first, first)
    knots = [0.0]
    for t in (film.ttft, *film.drip.times[1:]):
        if (t - knots[-1]) / pace >= _SHORT or t in (film.ttft, film.end):
            knots.append(t)
    for start, stop in pairwise(knots):
        before = channels(state_at(film, start), quick)
        after = channels(state_at(film, math.nextafter(stop, 0.0)), quick)
        yield vector.Stretch(_LEAD + start / pace, _LEAD + stop / pace, before, after)
    end = _LEAD + film.end / pace
    yield vector.Stretch(end, end + _REST, last, last)


_LEAD, _REST, _SHORT = 0.8, 2.6, 0.1  # seconds of the loop
_IDEAL = "Ideal times: no machine is faster."


@in_style
def still(film: Film, t: float | None = None) -> Picture:
    """The film at `t` seconds, or at its `poster`."""
    return Still(film, poster(film) if t is None else t)


@in_style
def loop(film: Film, pace: float | None = None) -> Picture:
    """The film as an image that plays by itself wherever images are shown.

    Args:
        pace: seconds of the machine that a second of film shows; `Film.pace` if none is given.
    """
    return Loop(film, film.pace if pace is None else pace)


def worked() -> Film:
    """The worked example: Llama-2-70B on the two H100 it needs, 2,000 tokens in and 20 out."""
    return Film(model("Llama-2-70B"), chip("H100 SXM"), chips=2)


FIGURES: dict[str, Callable[[], Picture]] = {
    "flood-and-drip": lambda: loop(worked()),
    "flood-and-drip-still": lambda: still(worked()),
}
