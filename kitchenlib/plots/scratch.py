"""The scratchpad: what one pass can follow, with and without it, and what a vote is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from kitchenlib.inputs import dimension, wrong
from kitchenlib.miniatures.scratchpad import Cook, PairingCook, polled, recipes, scattered, vote
from kitchenlib.plots.scratch_cost import LINES, MARK
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    PLAIN,
    SMALL,
    WIDTH,
    Picture,
    canvas,
    claim,
    counts,
    end_label,
    grid,
    in_style,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.units import many

_ASKED, _EXAMPLE = 16, 7  # links: the most that are asked for, and those of the example


# --- what one pass can follow --------------------------------------------------------------------


@in_style
def scratch_hops(layers: int = 3) -> Picture:
    """Share of right answers and tokens written, by the links to follow, with and without a pad.

    Args:
        layers: of the miniature cook, 2 to 4.
    """
    if not 2 <= dimension("layers", layers, "layers") <= 4:
        raise wrong("layers", layers, "give 2 to 4 layers")
    cook, clever, asked = Cook(layers), PairingCook(layers), range(1, _ASKED + 1)
    one, more, pad = (
        each.shares_right(asked, scratch)
        for each, scratch in ((cook, False), (clever, False), (cook, True))
    )
    told = cook.answer(recipes(), "lasagne", _EXAMPLE, scratch=True)
    title = (
        f"In one pass, {layers} layers follow {layers} links;\n"
        "with a scratchpad, the same cook follows as many as you ask"
    )
    lead = f"A miniature attention machine, weights set by hand: questions of 1 to {_ASKED} links"
    said = (
        f"One pass is right up to {_last(one)} links, and up to {_last(more)} if the facts look "
        f"each other up as well; with a scratchpad {percent(float(pad.min()))} are right at any "
        f"number, with {cook.tokens(_ASKED, True)} tokens for {_ASKED} links. Example, "
        f"{_EXAMPLE} links from lasagne: it writes {', '.join(told.written)}"
    )
    picture = Picture(WIDTH, 5.9, alt=f"{title}. {lead}. {said}.")
    claim(picture, title, lead)
    _shares(picture, np.array(asked), one, more, pad)
    _tokens(picture, np.array(asked), cook)
    _passes(canvas(picture), cook, told.written)
    source(picture, "Computed: 100 random sets of facts for each number of links.")
    return picture


def _last(shares: np.ndarray) -> int:
    """The most links up to which every answer is right."""
    return int(np.argmin(shares == 1)) if np.any(shares < 1) else len(shares)


def _shares(
    picture: Picture, asked: np.ndarray, one: np.ndarray, more: np.ndarray, pad: np.ndarray
) -> None:
    write(picture, MARGIN, 4.5, "Right answers", weight="bold")
    ax = panel(picture, 0.82, 2.36, 3.7, 1.96)
    ax.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    _links_axis(ax)
    ax.set(ylim=(-0.08, 1.1))
    lines = ((pad, NOTES, "D", "solid"), (more, ORDER, "s", (0, (5, 2))), (one, CHEF, "o", "solid"))
    for shares, role, mark, dash in lines:
        ax.plot(asked, shares, mark, linestyle=dash, color=role.fill, **MARK)
    end_label(ax, _ASKED, 1, "with a\nscratchpad", NOTES, dx=10)
    end_label(ax, _ASKED, 0, "one pass", CHEF, dx=10)
    reach = _last(more)
    left: dict[str, Any] = {"dx": -4, "ha": "right"} if reach > _ASKED / 2 else {"dx": 8}
    x = reach if reach > _ASKED / 2 else reach + 1
    end_label(ax, x, 0.5, "one pass, the facts\nlook each other up", ORDER, **left)


def _links_axis(ax: Axes) -> None:
    ax.set_xticks([1, 4, 8, 12, 16])
    ax.set(xlim=(0.4, _ASKED + 0.6), xlabel="links to follow")
    grid(ax)


def _tokens(picture: Picture, asked: np.ndarray, cook: Cook) -> None:
    write(picture, 6.06, 4.5, "Tokens written", weight="bold")
    ax = panel(picture, 6.46, 2.36, 2.16, 1.96)
    each = np.array([cook.tokens(int(n), True) for n in asked])
    most = int(each[-1])
    ax.set_yticks(range(0, most + 1, 2))
    _links_axis(ax)
    ax.set(ylim=(0, 1.28 * most))
    ax.plot(asked, each, "D", linestyle="solid", color=NOTES.fill, **MARK)
    ax.plot(asked, np.ones(_ASKED), "o", linestyle="solid", color=CHEF.fill, **MARK)
    end_label(ax, _ASKED, most, "with a scratchpad", NOTES, dx=3, dy=11, ha="right")
    end_label(ax, _ASKED, 1, "one pass", CHEF, dx=3, dy=-10, ha="right")


def _passes(ax: Axes, cook: Cook, written: Sequence[str]) -> None:
    """The example: the names along the way, those that are written, and the passes between."""
    facts, name = recipes(), "lasagne"
    names = [name := facts[name] if i else name for i in range(_EXAMPLE + 1)]
    write(ax, MARGIN, 1.6, f"{_EXAMPLE} links, asked of a cook with a scratchpad", weight="bold")
    pitch, wide, y = (WIDTH - 2 * MARGIN - 0.9) / _EXAMPLE, 0.86, 0.9
    for i, name in enumerate(names):
        x = MARGIN + pitch * i
        _named_box(ax, x, y, wide, name, written=name in written)
        if i:
            ax.annotate(
                "",
                (x, y + 0.15),
                (x - pitch + wide, y + 0.15),
                arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.1},
            )
    for number, first in enumerate(range(0, _EXAMPLE, cook.layers), start=1):
        last = min(first + cook.layers, _EXAMPLE)
        left, right = MARGIN + pitch * first + 0.08, MARGIN + pitch * last + wide - 0.08
        if number > 1:
            left += wide / 2
        if last < _EXAMPLE:
            right -= wide / 2
        ax.plot([left, right], [y + 0.4] * 2, color=MUTED, linewidth=1.2)
        looks = many(last - first, "lookup")
        short = f"pass {number}" if last - first < 2 else f"pass {number}: {looks}"
        write(ax, (left + right) / 2, y + 0.45, short, size=SMALL, color=MUTED, ha="center")
    write(
        ax, MARGIN, 0.6, "green: written; the next pass starts from it", size=SMALL, color=NOTES.ink
    )


def _named_box(ax: Axes, x: float, y: float, wide: float, name: str, written: bool) -> None:
    box = FancyBboxPatch(
        (x, y),
        wide,
        0.3,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor="#D5EBE2" if written else PAPER,
        edgecolor=(NOTES if written else PLAIN).fill,
        linewidth=1.8 if written else 0.9,
    )
    ax.add_patch(box)
    middle: dict[str, Any] = {"ha": "center", "va": "center_baseline", "size": SMALL}
    weight = "bold" if written else "normal"
    write(ax, x + wide / 2, y + 0.15, name, weight=weight, **middle)


# --- the vote ------------------------------------------------------------------------------------

_VOTERS = (1, 3, 5, 9, 15, 25, 45, 63)


@in_style
def votes(right: float = 0.4, answers: int = 6, rival: float = 0.5) -> Picture:
    """Share of votes that the right answer wins, by the number of samples: exact, and by lot.

    Args:
        right: the chance that a sample is right.
        answers: wrong answers over which the mistakes scatter, in the better case.
        rival: the chance of one wrong answer that most mistakes agree on, in the worse one.

    Raises ``ValueError`` for a rival that leaves the right answer ahead.
    """
    spread = scattered(right, answers)
    if not max(right, 0.0) < rival <= 1 - right or spread[0] >= right:
        wanted = (
            "give more than `right`, together at most 1; scattered mistakes are rarer than that"
        )
        raise wrong("rival", rival, wanted)
    agreed = (rival, 1 - right - rival) if right + rival < 1 else (rival,)
    cases = {"mistakes scatter": spread, "mistakes agree": agreed}
    exact = {name: [vote(right, c, n) for n in _VOTERS] for name, c in cases.items()}
    drawn = {name: [polled(right, c, n) for n in _VOTERS] for name, c in cases.items()}
    told = _VOTERS.index(15)
    up, down = (percent(exact[name][told]) for name in cases)
    title = (
        f"A vote of 15 turns {percent(right)} into {up} where mistakes scatter,\n"
        f"and into {down} where they agree"
    )
    lead = f"Each sample is right with {percent(right)}. Share of votes that the right answer wins"
    said = "; ".join(
        f"{name}: "
        + ", ".join(f"{n} {percent(share)}" for n, share in zip(_VOTERS, exact[name], strict=True))
        for name in cases
    )
    picture = Picture(WIDTH, 4.2, alt=f"{' '.join(title.split())}. {lead}. {said}.")
    claim(picture, title, lead)
    ax = panel(picture, 0.86, 1.12, 5.7, 1.86)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    log_axis(ax.xaxis, _VOTERS, counts(_VOTERS), "samples that vote")
    ax.set(xlim=(0.93, 68), ylim=(-0.03, 1.06))
    grid(ax)
    ends = {
        "mistakes scatter": f"mistakes scatter over\n{answers} answers, {percent(spread[0])} each",
        "mistakes agree": f"one mistake has {percent(rival)}:\nno vote mends that",
    }
    for (name, shares), (role, dash, mark) in zip(exact.items(), (LINES[2], LINES[0]), strict=True):
        ax.plot(_VOTERS, shares, color=role.fill, linestyle=dash)
        ax.plot(_VOTERS, drawn[name], mark, color=role.fill, **MARK)
        end_label(ax, _VOTERS[-1], shares[-1], ends[name], role, dx=11)
    source(
        picture,
        "Lines: exact. Marks: 4,000 votes drawn for each. Samples are taken as independent; equals "
        "draw lots.",
    )
    return picture
