"""Flood and drip, the split screen: how a prompt is read, and how a reply is written.

On both screens stands the same cube, the weights, and the same wall: tokens across, layers up. At
the left all tokens of the prompt climb the layers at once, and the cube streams past once. At the
right one token climbs at a time, and for each of them the whole cube streams past again.

`scene` is the one drawing. `still` shows it at a moment, `loop` lets it play by itself, the player
(`kitchenlib.player`) moves it in the browser. What moves follows `kitchenlib.film.state_at`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise

from matplotlib.path import Path

from kitchenlib.chips import chip
from kitchenlib.film import Film, Side, State, Track, brief, notes, pace_label, state_at, tokens
from kitchenlib.inputs import quantity
from kitchenlib.models import model
from kitchenlib.plots import scenery, svg, vector
from kitchenlib.plots.letters import shown, text_width
from kitchenlib.plots.raster import artists
from kitchenlib.plots.screens import drip_screen, flood_screen
from kitchenlib.plots.style import (
    CARD_EDGE,
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
)
from kitchenlib.plots.svg import Stretch, looping
from kitchenlib.plots.vector import (
    Counter,
    Drawing,
    Group,
    Mark,
    Node,
    Words,
    fade,
    move,
    scale,
)
from kitchenlib.units import human

# places in pixels
WIDE = 864.0
TIMELINE = (31.0, 540.0, 802.0, 20.0)  #: left, top, width, height
_LEFT, _RIGHT = 31.0, 439.0
_TOP, _PANEL, _NUMBERS, _FOOT = 84.0, 346.0, 470.0, 604.0
_BIG, _SMALL, _BAR = 16.0, 14.0, 168.0

_LEAD, _REST, _SHORT = 0.8, 2.6, 0.1  # seconds of the loop
_IDEAL = "Ideal times: no machine is faster."


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
    foot = _foot(film, pace)
    high = _FOOT + foot[-1].y + 20
    nodes = (
        Mark(vector.box(1, 1, WIDE - 2, high - 2, 15), PAPER, CARD_EDGE),
        *_head(film, pace),
        flood_screen(film)._replace(at=(_LEFT, _TOP)),
        drip_screen(film)._replace(at=(_RIGHT, _TOP)),
        *_panels(film),
        *_numbers(film),
        *_timeline(film),
        Group(foot, (_LEFT, _FOOT)),
    )
    return Drawing(WIDE, high, nodes)


def _head(film: Film, pace: float | None) -> Iterator[Node]:
    yield Words(_LEFT, 46, claim(film), 20, bold=True)
    yield Words(_LEFT, 69, f"{film.kitchen}, {film.guests}", 14.5, MUTED)
    if pace:
        yield Words(WIDE - _LEFT, 69, pace_label(pace), 14.5, MUTED, anchor="end")


def _foot(film: Film, pace: float | None) -> tuple[Words, ...]:
    caveats = (*film.caveats, *(notes(film, pace) if pace else ()))
    lines = _wrapped(" ".join((_IDEAL, *caveats)), 13.5)
    return tuple(Words(0, 17.0 * i, line, 13.5, MUTED) for i, line in enumerate(lines))


def _wrapped(text: str, size: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) > WIDE - 2 * _LEFT:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def claim(film: Film) -> str:
    """What the film shows, in one line."""
    flood, drip = human(film.ttft, "s"), human(film.tpot, "s")
    return f"{tokens(film.prompt)} in one flood of {flood}, then a drip every {drip}"


# --- below the screens -------------------------------------------------------------------------


def _panels(film: Film) -> Iterator[Node]:
    read = Words(0, 0, f"{film.prompt:,}", _BIG, bold=True)
    yield from _panel(_LEFT, "flood", film.flood, read)
    tail = f" of {film.reply}" if film.reply < 100 else ""
    written = Counter(0, 0, "drip.tokens", film.reply, "", _BIG, tail=tail)
    yield from _panel(_RIGHT, "drip", film.drip, written)


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
    yield from _chef(x + 22, _PANEL + 120, side)
    busy = (("chef", CHEF, track.chef), ("waiter", WAITER, track.waiter))
    for i, (who, role, seconds) in enumerate(busy):
        gauge = _gauge(role, f"{who} busy", f"{side}.{who}", seconds[-1] / clock)
        yield Group(tuple(gauge), (x + 61, _PANEL + 67 + 25 * i))


def _chef(x: float, y: float, side: str) -> Iterator[Node]:
    """The chef as far as the counter shows; over the flood he has his hands full."""
    figure = _chef_drawn()
    if side == "drip":
        yield Group(figure, (x, y))
        return
    chops = 24
    bob = move("flood.progress", *((i / chops, (0, 2.4 * (i % 2))) for i in range(chops + 1)))
    strokes = [[(29, -53), (33, -56)], [(30, -46), (35, -46)], [(29, -39), (33, -36)]]
    swish = Mark(vector.lines(*strokes), stroke=CHEF.fill, width=2)
    busy = Group((swish,), motion=fade("flood.running", (0, 0), (1, 1), stepped=True))
    yield Group((Group((*figure, busy), motion=bob),), (x, y))


@functools.cache
def _chef_drawn(size: float = 0.44) -> tuple[Mark, ...]:
    return tuple(vector.traced(lambda ax: scenery.chef(ax, 0, -0.29 * size, size)))


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
    line = vector.lines([(_LEFT, _NUMBERS), (WIDE - _LEFT, _NUMBERS)])
    yield Mark(line, stroke=RULE)
    each = (
        (_LEFT, "ttft", film.ttft, CHEF, "TTFT", "time to first token"),
        (_RIGHT, "tpot", film.tpot, WAITER, "TPOT", "time per output token"),
    )
    for x, channel, last, role, name, words in each:
        counter = Counter(x, _NUMBERS + 43, channel, last, "s", 32, role.ink)
        wide = text_width(shown(counter, last), 32, True) + 14
        begun = {"ttft": "flood.trips", "tpot": "drip.passes"}[channel]
        yield Group((counter,), motion=fade(begun, (0, 0), (1, 1), stepped=True))
        dash = Words(x, _NUMBERS + 43, "–", 32, MUTED, bold=True)
        yield Group((dash,), motion=fade(begun, (0, 1), (1, 0), stepped=True))
        yield Words(x + wide, _NUMBERS + 26, name, 15, bold=True)
        yield Words(x + wide, _NUMBERS + 43, words, _SMALL, MUTED)


def _timeline(film: Film) -> Iterator[Node]:
    """The whole request to scale: one block for the flood, one for each drip."""
    left, top, wide, high = TIMELINE
    role = {"compute": CHEF, "memory": WAITER, "interconnect": ORDER}
    for track in (film.flood, film.drip):
        for bound, blocks in _blocks(track, wide / film.end).items():
            yield Mark(vector.together(blocks), role[bound].fill)
    veil = Mark(vector.box(-wide, -1, wide, high + 2), PAPER, opacity=0.74)
    to_come = scale("t", (0, (1, 1)), (film.end, (0, 1)))
    yield Group((Group((veil,), motion=to_come),), (left + wide, top))
    needle = (
        Mark(vector.lines([(0, -3), (0, high + 3)]), stroke=INK, width=2),
        Mark(vector.outline([(-6, -9), (6, -9), (0, -1)]), INK),
    )
    yield Group(needle, motion=move("t", (0, (left, top)), (film.end, (left + wide, top))))
    for t in _ticks(film.end):
        x, anchor = left + t / film.end * wide, "middle" if t else "start"
        yield Words(x, top + 36, brief(t) if t else "0", 13.5, MUTED, anchor=anchor)


def _blocks(track: Track, pixels: float) -> dict[str, list[Path]]:
    """The passes of a track by what bounds them: blocks, joined where there is no room for gaps."""
    left, top, _, high = TIMELINE
    found: dict[str, list[Path]] = {}
    passes = zip(pairwise(track.times), track.bound, strict=True)
    joined = (track.times[-1] - track.times[0]) / len(track.bound) * pixels < 4
    for bound, run in groupby(passes, lambda each: each[1]):
        spans = [span for span, _ in run]
        for start, stop in [(spans[0][0], spans[-1][1])] if joined else spans:
            wide = (stop - start) * pixels - (0 if joined else 1.6)
            block = vector.box(left + start * pixels, top, wide, high, 2)
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
    return svg.svg(scene(film, pace), channels(state), words(film, state))


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
    chef, waiter = (shown(Counter(0, 0, "", x, "%", 1), x) for x in (side.chef, side.waiter))
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
        for artist in artists(drawing, channels(state)):
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
        poster = channels(state_at(self.film, self.t))
        played = list(stretches(self.film, self.pace))
        return looping(scene(self.film, self.pace), played, poster, self.alt)


def stretches(film: Film, pace: float) -> Iterator[Stretch]:
    """The loop, pass by pass: a moment before the request arrives, and a rest at the end.

    Passes too short to be seen are taken together: nobody misses them, and the image stays small.
    """
    quick = film.quick(pace)
    first, last = (channels(state_at(film, t), quick) for t in (0.0, film.end))
    yield Stretch(0.0, _LEAD, first, first)
    knots = [0.0]
    for t in (film.ttft, *film.drip.times[1:]):
        if (t - knots[-1]) / pace >= _SHORT or t in (film.ttft, film.end):
            knots.append(t)
    for start, stop in pairwise(knots):
        before = channels(state_at(film, start), quick)
        after = channels(state_at(film, math.nextafter(stop, 0.0)), quick)
        yield Stretch(_LEAD + start / pace, _LEAD + stop / pace, before, after)
    end = _LEAD + film.end / pace
    yield Stretch(end, end + _REST, last, last)


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
