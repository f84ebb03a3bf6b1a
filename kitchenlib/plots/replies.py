"""What the real model writes with rounded weights, reply under reply."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from matplotlib.axes import Axes
from matplotlib.font_manager import findfont, get_font

from kitchenlib.inputs import wrong
from kitchenlib.llm.reading import readings
from kitchenlib.plots.letters import font, text_width
from kitchenlib.plots.style import (
    MARGIN,
    MUTED,
    RULE,
    SMALL,
    TEXT,
    WIDTH,
    Picture,
    canvas,
    claim,
    in_style,
    source,
    write,
)

_POINTS = 72  # to an inch
_GROUP = 64  # of the replies that are shown where none are given
_REPLIES, _LINES = 8, 2  # at most: replies, and lines of each
_LEFT = 2.3  # inches: where replies begin, right of their names
_PITCH = 0.6  # inches from reply to reply
_NEW_LINE = "\u23ce"
_MISSING = "\u25a1"  # stands for a sign that the letters of the pictures have not


@in_style
def replies_by_bits(replies: Mapping[str, str] | None = None, prompt: str = "") -> Picture:
    """What the model writes to one prompt with its weights as they are, and rounded.

    Args:
        replies: name -> text, the first one that of the model as it is: {"as it is": ...,
            "3 bits": ...}. Two to eight; long ones are cut after two lines. None takes those of
            ``data/perplexity.csv`` with groups of 64.
        prompt: what was asked, for the line under the title.

    Raises ``ValueError`` for none to compare with, and for more than have room.
    """
    measured = ""
    if replies is None:
        replies, prompt, measured = _stored()
    said = {name: _plain(name, text) for name, text in _several(replies).items()}
    exact, *others = said
    same = [name for name in others if said[name] == said[exact]]
    title = f"{_how_many(len(same), len(others))} what the model in the file writes"
    lead = f"The likeliest reply to \u201c{prompt}\u201d" if prompt else "The likeliest reply"
    told = "; ".join(f"{name}: \u201c{text}\u201d" for name, text in said.items())
    picture = Picture(WIDTH, 1.62 + _PITCH * len(said), alt=f"{title}. {lead}. {told}.")
    claim(picture, title, lead)
    ax = canvas(picture)
    for i, (name, text) in enumerate(said.items()):
        _reply(ax, picture.size[1] - 1.14 - _PITCH * i, name, text, _note(name, exact, said))
    signs = (_NEW_LINE, "a new line"), (_MISSING, "a sign for which there is no letter here")
    met = [f"{sign} {means}." for sign, means in signs if sign in "".join(said.values())]
    source(picture, " ".join(filter(None, (measured, *met))))
    return picture


def _stored() -> tuple[dict[str, str], str, str]:
    """Replies by bits that were measured for the collection, the prompt, and how."""
    exact, *rounded = readings()
    replies = {"as it is": exact.reply}
    replies |= {f"{row.bits} bits": row.reply for row in rounded if row.group == _GROUP}
    how = f"{exact.model}, weights rounded in groups of {_GROUP}: {exact.source}, {exact.date}."
    return replies, exact.prompt, how


def _several(replies: object) -> dict[str, str]:
    wanted = f"give a dict of 2 to {_REPLIES} replies by name, the exact model's first"
    if not isinstance(replies, Mapping) or not 2 <= len(replies) <= _REPLIES:
        raise wrong("replies", replies, wanted)
    return dict(replies)


def _plain(name: object, text: object) -> str:
    """A reply on one line: a new line as a sign of its own, and no sign that cannot be drawn."""
    if not (isinstance(name, str) and isinstance(text, str)):
        raise wrong("replies", {name: text}, "give names and replies as text")
    if text_width(name, TEXT, bold=True) / _POINTS > _LEFT - MARGIN - 0.1:
        raise wrong("replies", name, "give names of up to 20 letters or so")
    return "".join(_shown(sign) for sign in text.strip(" "))


def _shown(sign: str) -> str:
    if sign in "\n\r":
        return _NEW_LINE
    known = sign.isprintable() and ord(sign) in _letters()
    return sign if known else " " if sign.isspace() else _MISSING


@cache
def _letters() -> frozenset[int]:
    """The signs for which there are letters."""
    return frozenset(get_font(findfont(font(bold=False))).get_charmap())


def _how_many(same: int, others: int) -> str:
    if others == 1:
        return "The rounded model writes" if same else "The rounded model does not write"
    few = "None" if not same else "All" if same == others else str(same)
    return f"{few} of {others} rounded models write{'s' * (same == 1)}"


def _note(name: str, exact: str, said: Mapping[str, str]) -> str:
    """How far a reply goes with the exact one."""
    if name == exact:
        return ""
    if said[name] == said[exact]:
        return "the same"
    words, others = said[name].split(), said[exact].split()
    agreed = next(
        (n for n, (a, b) in enumerate(zip(words, others, strict=False)) if a != b),
        min(len(words), len(others)),
    )
    return f"differs from word {agreed + 1} on"


def _reply(ax: Axes, top: float, name: str, text: str, note: str) -> None:
    ax.plot([MARGIN, WIDTH - MARGIN], [top, top], color=RULE, linewidth=0.8)
    write(ax, MARGIN, top - 0.09, name, weight="bold", va="top")
    write(ax, MARGIN, top - 0.3, note, size=SMALL, color=MUTED, va="top")
    lines = "\n".join(_wrapped(text))
    write(ax, _LEFT, top - 0.07, lines, va="top", linespacing=1.3)


def _wrapped(text: str) -> list[str]:
    """At most `_LINES` lines that fit, broken at blanks where there are any."""
    room = (WIDTH - MARGIN - _LEFT) * _POINTS
    lines: list[str] = []
    rest = text
    while rest and len(lines) < _LINES:
        last = len(lines) == _LINES - 1
        end = len(rest)
        while text_width(rest[:end] + "\u2026" * (last and end < len(rest)), TEXT) > room:
            end -= 1
        blank = rest.rfind(" ", 1, end + 1) if end < len(rest) else -1
        end = blank if blank > end // 2 else end
        lines.append(rest[:end])
        rest = rest[end:].lstrip(" ")
    if rest:
        lines[-1] += "\u2026"
    return lines
