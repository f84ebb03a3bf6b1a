"""Why there is a notepad: what is computed without one, drawn and measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from numpy.typing import ArrayLike

from kitchenlib.inputs import positive
from kitchenlib.plots.scenery import Pen
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    RULE,
    SMALL,
    WIDTH,
    Picture,
    canvas,
    claim,
    end_label,
    grid,
    in_style,
    panel,
    source,
    write,
)
from kitchenlib.units import MS, many, significant

# --- drawn -------------------------------------------------------------------------------------

_CELL, _NOTE = 0.168, 0.13  # inches: one pair of tokens, one key or value
_WRITTEN = "#A5D8C8"
_STEPS, _ROWS = 4, 7  # at most, for the words to be read
_PROMPT, _REPLY = ("The", "soup", "today", "is"), ("pea", "with", "fresh", "mint")
_LONG = (1000, 200)  # tokens read and written, for the sentence at the foot


@in_style
def without_notepad(prompt: Sequence[str] = _PROMPT, reply: Sequence[str] = _REPLY) -> Picture:
    """Decoding drawn twice: every step computes all rows again, or one row and reads the rest.

    Args:
        prompt, reply: tokens as words. Up to 4 in the reply, up to 7 rows in its last step.

    Raises ``ValueError`` for more, or for none.
    """
    p, r = len(prompt), len(reply)
    if not (p and 0 < r <= _STEPS and p + r - 1 <= _ROWS):
        raise ValueError(
            f"{p} tokens of prompt and {r} of reply do not fit the picture: give at least one of "
            f"each, at most {_STEPS} of reply, and at most {_ROWS + 1} together"
        )
    again, once = [p + i for i in range(r)], [p] + [1] * (r - 1)
    title = f"Without a notepad every token starts over: {sum(again)} rows instead of {sum(once)}"
    lead = f"{p} tokens read, {r} written. A row is one token on its way through all layers"
    alt = (
        f"{title}. {lead}. Rows computed, step by step. Without a notepad: {_summed(again)}, each "
        f"step a larger triangle of every token looking at those before it. With K and V kept: "
        f"{_summed(once)}, the whole triangle once and then one row a step, which reads the notes "
        f"of all rows before. {_long_reply()}"
    )
    picture = Picture(WIDTH, 5.85, alt=alt)
    claim(picture, title, lead)
    ax = canvas(picture)
    _half(ax, 4.72, "Without a notepad", again, prompt, reply, kept=False)
    _half(ax, 2.62, "With K and V in the notepad", once, prompt, reply, kept=True)
    Pen(ax, 0, 0, 1.0).line([(MARGIN, 2.9), (WIDTH - MARGIN, 2.9)], RULE, 1.2)
    _legend(ax, 0.52)
    source(picture, _long_reply())
    return picture


def _summed(rows: Sequence[int]) -> str:
    return f"{' + '.join(map(str, rows))} = {sum(rows)} rows"


def _long_reply() -> str:
    """The same count for a prompt and a reply of ordinary length."""
    read, written = _LONG
    again = sum(range(read, read + written))
    once = read + written - 1
    return (
        f"{read:,} tokens read and {written:,} written: {again:,} rows without a notepad, {once:,} "
        f"with one. That is {again / once:.0f} times as many."
    )


def _half(
    ax: Axes,
    top: float,
    heading: str,
    rows: Sequence[int],
    prompt: Sequence[str],
    reply: Sequence[str],
    kept: bool,
) -> None:
    """The steps side by side; `rows` are those computed in each."""
    write(ax, MARGIN, top, heading, weight="bold", size=LEAD)
    write(ax, WIDTH - MARGIN, top, f"{_summed(rows)} computed", ha="right", weight="bold")
    pitch = (WIDTH - 2 * MARGIN) / _STEPS
    for step, computed in enumerate(rows):
        words = [*prompt, *reply[:step]]
        left = MARGIN + pitch * step + 0.46 + (2 * _NOTE + 0.07 if kept else 0)
        _triangle(ax, left, top - 0.3, words, computed, kept)
        _caption(ax, left, top - 0.3, len(words), computed, reply[step])


def _triangle(
    ax: Axes, left: float, top: float, words: Sequence[str], computed: int, kept: bool
) -> None:
    """Row by row, each token looks at itself and at those before it."""
    pen = Pen(ax, left, top, 1.0)
    start = -2 * _NOTE - 0.07 if kept else 0.0
    for i, word in enumerate(words):
        y = -(i + 1) * _CELL
        new = i >= len(words) - computed
        ink = INK if new else MUTED
        write(ax, left + start - 0.06, top + y + 0.035, word, ha="right", size=SMALL, color=ink)
        for j in range(i + 1):
            fill, edge = (CHEF.fill, INK) if new else (PAPER, RULE)
            pen.box((j * _CELL, y), (_CELL, _CELL), fill, edge=edge, width=0.7)
        for k in range(2 if kept else 0):
            at = (start + k * _NOTE, y)
            pen.box(at, (_NOTE, _CELL), _WRITTEN if new else NOTES.fill, width=0.7)
    for k, name in enumerate("KV" if kept else ""):
        x = left + start + (k + 0.5) * _NOTE
        write(ax, x, top + 0.05, name, ha="center", size=SMALL, color=NOTES.ink)


def _caption(ax: Axes, left: float, top: float, rows: int, computed: int, word: str) -> None:
    """In the empty corner above the diagonal: rows computed, and the token written."""
    x = left + 3 * _CELL
    write(ax, x, top - 0.12, many(computed, "row"), weight="bold", color=CHEF.ink)
    write(ax, x, top - 0.3, f"→ “{word}”", size=SMALL + 0.5)


def _legend(ax: Axes, y: float) -> None:
    items = (
        (CHEF.fill, "computed in this step", INK),
        (_WRITTEN, "K and V written", INK),
        (NOTES.fill, "K and V read", INK),
        (PAPER, "not computed again", RULE),
    )
    pen = Pen(ax, 0, 0, 1.0)
    for i, (fill, text, edge) in enumerate(items):
        x = MARGIN + 2.1 * i
        pen.box((x, y), (0.15, 0.15), fill, edge=edge, width=0.8)
        write(ax, x + 0.23, y + 0.02, text, size=SMALL + 0.5, color=MUTED)


# --- measured ----------------------------------------------------------------------------------


@in_style
def notepad_measured(with_times: ArrayLike, without_times: ArrayLike) -> Picture:
    """Seconds of each token of a reply after the first, measured with and without a notepad.

    Clocks are noisy: what is said in words are medians of a quarter of the tokens.

    Args:
        with_times: seconds of each token with the notepad.
        without_times: the same reply with everything computed again. Lengths may differ.
    """
    kept, again = _times("with_times", with_times), _times("without_times", without_times)
    both = min(len(kept), len(again))
    slower = significant(_late(again[:both]) / _late(kept[:both]), 2)
    title = f"Without a notepad, the last tokens take {slower} times as long"
    lead = "Measured here: time of each token of a reply after the first"
    alt = (
        f"{title}. {lead}. Medians of the first and the last quarter of the tokens: without a "
        f"notepad {_ends(again)}, with a notepad {_ends(kept)}."
    )
    picture = Picture(WIDTH, 4.9, alt=alt)
    claim(picture, title, lead)
    ax = panel(picture, 0.98, 0.82, 6.2, 3.1)
    most, top = max(len(kept), len(again)), 1.12 * max(kept.max(), again.max())
    ax.set(xlabel="token after the first", ylabel="milliseconds")
    ax.set(xlim=(0.4, most + 0.6), ylim=(0, top))
    ax.set_xticks(_ticks(1, most, 8))
    ax.set_yticks(_ticks(0, top, 6))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    grid(ax)
    apart = max(0.0, 17 - abs(again[-1] - kept[-1]) / top * 3.1 * 36)  # points, so labels clear
    up = apart if again[-1] >= kept[-1] else -apart
    lines = (
        (again, "without a notepad", CHEF, "s", "-", up),
        (kept, "with a notepad", NOTES, "o", (0, (4, 1.5)), -up),
    )
    for times, name, role, shape, dash, shift in lines:
        tokens = np.arange(1, len(times) + 1)
        ax.plot(tokens, times, color=role.fill, linestyle=dash, linewidth=1.8)
        ax.plot(tokens, times, shape, color=role.fill, markersize=4)
        text = f"{name}\n{significant(_late(times))} ms"
        end_label(ax, len(times), times[-1], text, role, dx=9, dy=shift)
    return picture


def _times(name: str, seconds: ArrayLike) -> np.ndarray:
    """Milliseconds, as a row of at least one."""
    return np.atleast_1d(positive(name, seconds, "seconds")).ravel() / MS


def _ticks(least: float, most: float, about: int) -> list[float]:
    """Round numbers from `least` to `most`, whole for a count."""
    locator = MaxNLocator(about, steps=(1, 2, 5, 10), integer=least == 1, min_n_ticks=1)
    return [tick for tick in locator.tick_values(least, most) if least <= tick <= most]


def _late(times: np.ndarray) -> float:
    """The median of the last quarter."""
    return float(np.median(times[-math.ceil(len(times) / 4) :]))


def _ends(times: np.ndarray) -> str:
    return f"{significant(_late(times[::-1]))} ms and {significant(_late(times))} ms"
