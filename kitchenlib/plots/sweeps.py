"""Guesses on the reader's machine: how many were right in each pass, and what that was worth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from kitchenlib.inputs import quantity, wrong
from kitchenlib.llm.drafts import Speculation, Sweep
from kitchenlib.plots.letters import text_width
from kitchenlib.plots.style import (
    INK,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    RULE,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    Picture,
    canvas,
    claim,
    enumerated,
    in_style,
    source,
    write,
)
from kitchenlib.units import MS, human, significant

_NOISE = 1.1  # times the tokens of a pass: more than guesses can gain, whatever the clock says
_POINTS = 72  # to an inch
_PITCH, _BOX = 0.17, 0.105  # inches: from pass to pass and from box to box at most
_STRIP = 4.58  # inches
_COLUMNS = (5.66, 6.16, 6.92, 7.78, 8.68)  # inches: right edges
_PASSES, _DRAFTED = 160, 16  # at most, for which there is room
_GAP = 0.66  # inches that a run takes beside its boxes
_NAME = 4.0  # inches


class _Run(NamedTuple):
    """A prompt that was answered twice, with guesses and without."""

    name: str
    guessed: Speculation
    plain: Speculation

    @property
    def gain(self) -> float:
        """Times as many tokens per second."""
        return self.plain.tpot / self.guessed.tpot

    @property
    def deep(self) -> int:
        """Boxes of the highest pass."""
        return max(1 + len(sweep.drafted) for sweep in self.guessed.sweeps)

    def words(self) -> str:
        right = sum(self.guessed.accepted)
        guesses = sum(len(sweep.drafted) for sweep in self.guessed.sweeps)
        return (
            f"{self.name}: {len(self.guessed.sweeps)} passes instead of {len(self.plain.sweeps)}, "
            f"{self.guessed.per_pass:.2f} tokens in each, {right} of {guesses} guesses right "
            f"(pass by pass: {_in_runs(self.guessed.accepted)}), "
            f"{_ms(self.guessed)} ms a token instead of {_ms(self.plain)}, × {_times(self.gain)}"
        )


@in_style
def guesses_measured(runs: Sequence[tuple[str, Speculation, Speculation]]) -> Picture:
    """Pass by pass how many guesses were right, and what that was worth in seconds.

    Args:
        runs: (name, with guesses, without) of each prompt, from the top: what `LLM.speculate`
            returned, the last one with ``drafted=0``.

    Raises ``ValueError`` for runs of which nothing can be told or that have no room.
    """
    found = [_run(run) for run in runs]
    if not found:
        raise ValueError("runs is empty: give (name, with guesses, without) of one prompt or more")
    title = _verdict(found)
    lead = "Measured here: each column is one pass. Filled boxes are the tokens that it wrote"
    same = _same_text(found)
    alt = f"{title}. {lead}. {'; '.join(run.words() for run in found)}. {same}"
    deep = max(run.deep for run in found)
    box = min(_BOX, 0.75 / deep)
    heights = [_GAP + box * run.deep for run in found]
    lines = title.count("\n")
    picture = Picture(WIDTH, 2.14 + 0.25 * lines + sum(heights), alt=alt)
    claim(picture, title, lead)
    ax = canvas(picture)
    top = picture.size[1] - 1.24 - 0.25 * lines
    _heads(ax, top)
    most = max(len(reply.sweeps) for run in found for reply in run[1:])
    pitch = min(_PITCH, _STRIP / most)
    for i, run in enumerate(found):
        _row(ax, top - 0.1 - sum(heights[:i]), run, pitch, box)
    _legend(ax, 0.46)
    source(picture, same)
    return picture


def _run(run: object) -> _Run:
    wanted = "give (name, with guesses, without), the last two from smol.speculate(...)"
    if not isinstance(run, Sequence) or len(run) != 3 or not isinstance(run[0], str):
        raise wrong("runs", run, wanted)
    found = _Run(*run)
    for reply in found[1:]:
        if not isinstance(reply, Speculation):
            raise wrong("runs", run, wanted)
        if not reply.sweeps:
            raise wrong("runs", found.name, "its reply ended with the first token: nothing to time")
        quantity("seconds of a token", reply.tpot, "seconds")
        if len(reply.sweeps) > _PASSES:
            raise wrong("runs", found.name, f"there is room for {_PASSES} passes, it has more")
    if any(sweep.drafted for sweep in found.plain.sweeps):
        raise wrong("runs", found.name, "the last reply is the one without guesses: drafted=0")
    if found.deep > _DRAFTED + 1:
        raise wrong("runs", found.name, f"there is room for {_DRAFTED} guesses in a pass")
    if text_width(found.name, TEXT, bold=True) / _POINTS > _NAME:
        raise wrong("runs", found.name, "give a name of up to 40 letters or so")
    return found


def _in_runs(numbers: Sequence[int]) -> str:
    """0, 0, 0, 5 as: 3 times 0, 5."""
    runs = [(number, len(list(same))) for number, same in groupby(numbers)]
    return ", ".join(f"{n} times {number}" if n > 1 else f"{number}" for number, n in runs)


def _times(gain: float) -> str:
    return significant(gain, 2) if gain < 1e5 else human(gain, "", 2)


def _ms(reply: Speculation) -> str:
    return significant(reply.tpot / MS)


def _verdict(runs: Sequence[_Run]) -> str:
    """What they say together, whatever it is."""
    beyond = [run for run in runs if run.gain > _NOISE * run.guessed.per_pass]
    if beyond:
        gains = ", ".join(f"× {_times(run.gain)} for {run.name}" for run in beyond)
        return f"This machine was busy: run the cell again\n(no guess brings {gains})"
    if len(runs) == 1:
        return f"With guesses: × {_times(runs[0].gain)} for {runs[0].name}"
    best, worst = (f(runs, key=lambda run: run.gain) for f in (max, min))
    span = f"× {_times(worst.gain)} to × {_times(best.gain)}"
    if worst.gain >= 1:
        return f"Guessing pays each time: {span}"
    if best.gain < 1:
        return f"Guessing costs more than it brings: {span}"
    when = "where guesses are right" if _explained(best, worst) else "for some"
    both = [f"× {_times(run.gain)} for {run.name}" for run in (best, worst)]
    wide = text_width(", ".join(both), TITLE, bold=True) / _POINTS > WIDTH - 2 * MARGIN
    return f"Guessing pays {when}:\n" + (",\n" if wide else ", ").join(both)


def _explained(best: _Run, worst: _Run) -> bool:
    """Whether the run that gained more also had more tokens from a pass."""
    return best.guessed.per_pass > worst.guessed.per_pass


def _same_text(runs: Sequence[_Run]) -> str:
    others = [run.name for run in runs if run.guessed.tokens != run.plain.tokens]
    if not others:
        return "With guesses or without, the text is the same, token for token."
    return f"The texts differ for {enumerated(others)}."


def _heads(ax: Axes, top: float) -> None:
    names = ("", "passes", "tokens\nper pass", "time\nper token", "speed-up")
    for x, name in zip(_COLUMNS, names, strict=True):
        write(ax, x, top, name, ha="right", size=SMALL, color=MUTED, linespacing=1.1)


def _row(ax: Axes, top: float, run: _Run, pitch: float, box: float) -> None:
    """Name, strip and numbers of a run, and below the strip the passes without guesses."""
    ax.plot([MARGIN, _COLUMNS[-1]], [top, top], color=RULE, linewidth=0.8)
    write(ax, MARGIN, top - 0.2, run.name, weight="bold")
    foot = top - 0.28 - box * run.deep
    _columns(ax, foot, run.guessed.sweeps, pitch, box, NOTES.fill)
    below = foot - 0.06 - box
    _columns(ax, below, run.plain.sweeps, pitch, box, RULE)
    for reply, y in ((run.guessed, foot), (run.plain, min(below - 0.035, foot - 0.18))):
        strong: dict[str, Any] = {"weight": "bold"} if reply is run.guessed else {"color": MUTED}
        name = "guessing" if reply is run.guessed else "plain"
        cells = name, f"{len(reply.sweeps)}", f"{reply.per_pass:.2f}", human(reply.tpot, "s")
        for x, cell in zip(_COLUMNS, cells, strict=False):
            size = SMALL if cell == name else TEXT
            write(ax, x, y, cell, ha="right", size=size, **strong)
    write(ax, _COLUMNS[-1], foot, f"× {_times(run.gain)}", ha="right", weight="bold", size=13)


def _columns(
    ax: Axes, foot: float, sweeps: Sequence[Sweep], pitch: float, box: float, right: str
) -> None:
    """A column for each pass: the model's own token, on it the right guesses, then the others."""
    boxes: dict[str, list[Rectangle]] = {INK: [], right: [], PAPER: []}
    size = 0.82 * pitch, 0.82 * box
    for i, sweep in enumerate(sweeps):
        own = len(sweep.written) - sweep.accepted
        fills = [INK if right == NOTES.fill else right] * own + [right] * sweep.accepted
        fills += [PAPER] * (len(sweep.drafted) - sweep.accepted)
        for j, fill in enumerate(fills):
            boxes[fill].append(Rectangle((MARGIN + pitch * i, foot + box * j), *size))
    for fill, some in boxes.items():
        edge = MUTED if fill in (PAPER, RULE) else INK
        look: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "zorder": 2}
        ax.add_collection(PatchCollection(some, linewidth=min(0.8, 5 * pitch), **look))


def _legend(ax: Axes, y: float) -> None:
    items = (
        (INK, "the model's own token"),
        (NOTES.fill, "a guess that was right"),
        (PAPER, "a guess for nothing"),
        (RULE, "without guesses"),
    )
    for i, (fill, text) in enumerate(items):
        x = MARGIN + 2.0 * i
        edge = MUTED if fill in (PAPER, RULE) else INK
        ax.add_patch(Rectangle((x, y), 0.13, 0.09, facecolor=fill, edgecolor=edge, linewidth=0.8))
        write(ax, x + 0.21, y - 0.005, text, size=SMALL, color=MUTED)
