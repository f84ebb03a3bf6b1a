"""What experts specialise in: groups of rows in their place, by the card's course and the token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from kitchenlib.inputs import instance, wrong
from kitchenlib.miniatures.specialists import DEPTHS, Tally, studied
from kitchenlib.plots.style import (
    INK,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PLAIN,
    RULE,
    SMALL,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    in_style,
    percent,
    source,
    write,
)

_TOP, _PITCH, _SQUARE = 4.92, 0.235, 0.2  # inches: the first row, the next, and a full square
_COURSES, _KINDS, _WORDS = 0.86, 4.02, 6.16  # inches: where the three columns begin
_STEP = {"course": 0.33, "kind": 0.4}  # inches from column to column
_MOST_ROWS, _MOST_COURSES, _SHOWN = 16, 9, 4


@in_style
def stations_by_token(tally: Tally | None = None) -> Picture:
    """Who visits each expert: squares by the course of the card, and by the kind of token.

    Args:
        tally: what was counted; for all recipe cards, half way through SmolLM2's layers.

    Raises ``ValueError`` for more than 16 experts or 9 courses.
    """
    tally = tally or studied()
    instance("tally", tally, Tally, "specialists.studied()")
    if tally.experts > _MOST_ROWS or len(tally.courses) > _MOST_COURSES:
        wanted = f"give one of at most {_MOST_ROWS} experts and {_MOST_COURSES} courses"
        raise wrong("tally", f"{tally.experts} experts, {len(tally.courses)} courses", wanted)
    title = _title(tally)
    cards = sum(tally.cards.values())
    lead = (
        f"{tally.tokens:,} tokens of {cards} recipe cards, in {tally.experts} groups of like rows: "
        "share of a group's tokens"
    )
    order = _by_kind(tally)
    visited = _visits(tally)
    told = "; ".join(_in_words(tally, row, expert) for row, expert in enumerate(order, start=1))
    picture = Picture(
        WIDTH,
        7.15,
        alt=f"{' '.join(title.split())}. {lead}. {visited} {_deeper(tally)} {told}. {_foot(tally)}",
    )
    claim(picture, title, lead)
    paper = canvas(picture)
    _matrix(paper, _COURSES, "course", tally.courses, order, PLAIN)
    _matrix(paper, _KINDS, "kind", tally.kinds, order, NOTES)
    _names(paper, tally, order)
    write(paper, MARGIN, 0.9, f"{visited} {_deeper(tally)}", size=SMALL + 0.5)
    source(picture, _foot(tally))
    return picture


def _title(tally: Tally) -> str:
    beyond = max(tally.of_course - tally.by_chance, 0.0)
    tokens = tally.of_kind > 10 * beyond and tally.of_kind > 0.1
    groups = f"These {tally.experts} groups"
    found = f"{groups} know tokens, not topics: they" if tokens else f"{groups}"
    return (
        f"{found} tell {percent(tally.of_kind)}\n"
        f"of a token's kind and {percent(tally.of_course)} of its card's course (by chance: "
        f"{percent(tally.by_chance)})"
    )


def _by_kind(tally: Tally) -> list[int]:
    """Experts by the kind that most of their visitors have, those with most of it first."""
    shares = _shares(tally.kinds)
    main = shares.argmax(axis=0)
    return sorted(range(tally.experts), key=lambda e: (main[e], -shares[main[e], e], e))


def _shares(counts: dict[str, NDArray[np.int_]]) -> NDArray[np.float64]:
    """The share of each label among each expert's visitors, (labels, experts)."""
    table = np.stack([*counts.values()])
    return table / np.maximum(table.sum(axis=0), 1)


def _visits(tally: Tally) -> str:
    course = "dessert" if "dessert" in tally.courses else next(iter(tally.courses))
    number = f"{tally.visited(course):.1f}"
    return f"One {course} card visits {number} of the {tally.experts} groups on average."


def _deeper(tally: Tally) -> str:
    """What comes out before the first layer and after the last, where that was studied."""
    if not tally.source:
        return ""
    ends = [studied(DEPTHS[0]), studied(DEPTHS[-1])]
    kind, course = ([percent(getattr(t, of)) for t in ends] for of in ("of_kind", "of_course"))
    return (
        f"Before the first layer {kind[0]} and {course[0]}, after the last {kind[1]} and "
        f"{course[1]}."
    )


def _in_words(tally: Tally, row: int, expert: int) -> str:
    shares = _shares(tally.kinds)[:, expert]
    kinds = [f"{name} {percent(s)}" for name, s in zip(tally.kinds, shares, strict=True) if s > 0.2]
    return f"Group {row}: {', '.join(kinds)} ({', '.join(_liked(tally, expert))})"


def _liked(tally: Tally, expert: int) -> list[str]:
    """The tokens that an expert gets most often, as they are shown."""
    shown = dict.fromkeys(map(_readable, tally.favourites[expert]))
    return list(shown)[:_SHOWN]


def _readable(token: str) -> str:
    bare = token.strip()
    if not bare:
        return "blank"
    part = bare.isalpha() and not token.startswith(" ")
    return f"-{bare}" if part else bare


# --- the two matrices ----------------------------------------------------------------------------


def _matrix(
    paper: Axes,
    left: float,
    by: str,
    counts: dict[str, NDArray[np.int_]],
    order: Sequence[int],
    role: Role,
) -> None:
    """A square for each label and expert: its area is the label's share of the visitors."""
    step, shares = _STEP[by], _shares(counts)
    heading = "course of the card" if by == "course" else "kind of token"
    write(paper, left - 0.1, _TOP + 0.82, heading, weight="bold")
    squares = []
    for column, name in enumerate(counts):
        x = left + step * column
        slanted: dict[str, Any] = {"rotation": 40, "rotation_mode": "anchor", "size": SMALL}
        write(paper, x - 0.02, _TOP + 0.2, name, color=MUTED, **slanted)
        for row, expert in enumerate(order):
            side = _SQUARE * shares[column, expert] ** 0.5
            y = _TOP - _PITCH * row
            squares.append(Rectangle((x - side / 2, y - side / 2), side, side))
    look: dict[str, Any] = {"facecolor": role.fill, "edgecolor": INK, "linewidth": 0.5}
    paper.add_collection(PatchCollection(squares, zorder=3, **look))


def _names(paper: Axes, tally: Tally, order: Sequence[int]) -> None:
    write(paper, _WORDS, _TOP + 0.82, "its most frequent tokens", weight="bold")
    write(paper, MARGIN, _TOP + 0.2, "group", size=SMALL, color=MUTED)
    for row, expert in enumerate(order):
        y = _TOP - _PITCH * row
        middle: dict[str, Any] = {"va": "center_baseline"}
        write(paper, MARGIN + 0.3, y, f"{row + 1}", ha="right", color=MUTED, size=SMALL, **middle)
        write(paper, _WORDS, y, "  ".join(_liked(tally, expert)), color=ORDER.ink, **middle)
        paper.plot(
            [_COURSES - 0.16, WIDTH - MARGIN],
            [y - _PITCH / 2] * 2,
            color=RULE,
            linewidth=0.5,
            zorder=0,
        )


def _foot(tally: Tally) -> str:
    when = f", {tally.date}" if tally.date else ""
    told = percent(tally.of_kind)
    return (
        f"{told} told: who knows a token's group has lost {told} of the doubt about its kind "
        "(mutual information over entropy). Rows of\n"
        f"SmolLM2-135M after {tally.layer} of its 30 layers{when}; balanced clusters, no trained "
        "router. Studies of trained ones report mostly\nthe same (DOI 10.5281/zenodo.19457411, "
        "arXiv 2412.16971); some find experts for a domain, such as code (arXiv 2409.02060)."
    )
