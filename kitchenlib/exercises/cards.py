"""Cards: what an exercise says to you, as text and as HTML that reads on light and dark pages.

Prompts, hints and solutions are written in a small part of Markdown: paragraphs, lists ("- ",
"1. " or "a) "), fenced code, **strong**, *emphasis*, `code` and [links](address). Rendering it
takes a few lines and gives the same bytes under every version of everything, which notebooks
compared byte for byte need. Colours are never alone: each card says in words what it is.
"""

from __future__ import annotations

import html
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from kitchenlib.units import significant

Text = str | Callable[[], str]
"""Markdown, or a zero-argument function that writes it with computed numbers."""

RIGHT, HINT, ASK, QUIET = "#009E73", "#E69F00", "#0072B2", "#8C8577"  # after Okabe and Ito

_PLURAL = re.compile(r"^([A-Za-z]+(?:ch|sh|ss|x)(?=es)|[A-Za-z]{3,})e?(?<!s)s(?=/|$)")
_FENCE = re.compile(r"^```\w*\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
_BULLET = re.compile(r"^([-*]|\d+\.|[a-z]\)) +", re.MULTILINE)
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def written(text: Text) -> str:
    """`text` with its computed numbers filled in and its indentation removed."""
    return inspect.cleandoc(text() if callable(text) else text)


def spoken(value: float, unit: str = "") -> str:
    """`value` with its unit as one would say it: 4 significant digits, whole numbers in full.

    >>> spoken(295.343, "FLOP/byte"), spoken(137_953_296_384), spoken(0.33859, "%")
    ('295.3 FLOP/byte', '137,953,296,384', '0.3386%')
    >>> spoken(1, "tokens/s")
    '1 token/s'
    """
    size = abs(value)
    if not math.isfinite(value) or (size and not 1e-4 <= size < 1e15):
        number = f"{value:.4g}"
    elif value == int(value):
        number = f"{int(value):,}"
    else:
        number = significant(value, 4)
        number = number.rstrip("0").rstrip(".") if "." in number else number
    if number == "1":
        unit = _one(unit)
    return f"{number}%" if unit == "%" else f"{number} {unit}".strip()


def _one(unit: str) -> str:
    """The unit after a 1: "token", "token/s". Symbols such as "ms" stay as they are."""
    return _PLURAL.sub(r"\1", unit)


def to_html(markdown: str) -> str:
    """The small part of Markdown as HTML without a trace of style sheet or script."""
    pieces = _FENCE.split(markdown)
    return "".join(_code(p) if i % 2 else _blocks(p) for i, p in enumerate(pieces))


def to_text(markdown: str) -> str:
    """The same for places that show plain text: marks removed, code indented."""
    pieces = _FENCE.split(markdown)
    pieces[1::2] = [re.sub("^(?=.)", "    ", code, flags=re.MULTILINE) for code in pieces[1::2]]
    pieces[::2] = [_bare(prose) for prose in pieces[::2]]
    return re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip()


def _bare(prose: str) -> str:
    pieces = prose.split("`")
    pieces[::2] = [_LINK.sub(r"\1 (\2)", _marked(p, r"\1", r"\1")) for p in pieces[::2]]
    return "".join(pieces)


def _marked(prose: str, strong: str, emphasis: str) -> str:
    return _EMPHASIS.sub(emphasis, _STRONG.sub(strong, prose))


def _code(code: str) -> str:
    return f'<pre style="margin:0 0 0.6em"><code>{_escaped(code.rstrip())}</code></pre>'


def _blocks(prose: str) -> str:
    return "".join(_block(b) for b in re.split(r"\n\s*\n", prose.strip()) if b.strip())


def _block(block: str) -> str:
    """A paragraph or a list; a lead-in line may stand right above its list."""
    lead, *items = _BULLET.split(block)
    above = f'<p style="margin:0 0 0.6em">{_inline(lead.strip())}</p>' if lead.strip() else ""
    if not items:
        return above
    marks, texts = items[::2], [_inline(text.strip()) for text in items[1::2]]
    style = "margin:0 0 0.6em;padding-left:1.6em"
    if marks[0].endswith(")"):  # letters stay part of the text: themes restyle <ol type="a">
        style += ";list-style:none"
        texts = [f"<strong>{m}</strong> {text}" for m, text in zip(marks, texts, strict=True)]
    tag = "ol" if marks[0].endswith(".") else "ul"
    listed = "".join(f"<li>{text}</li>" for text in texts)
    return f'{above}<{tag} style="{style}">{listed}</{tag}>'


def _inline(prose: str) -> str:
    pieces = _escaped(prose).split("`")
    for i in range(0, len(pieces), 2):
        prose = _marked(pieces[i], r"<strong>\1</strong>", r"<em>\1</em>")
        pieces[i] = _LINK.sub(r'<a href="\2">\1</a>', prose)
    pieces[1::2] = [f"<code>{code}</code>" for code in pieces[1::2]]
    return "".join(pieces)


def _escaped(text: str) -> str:
    # Jupyter pages typeset what stands between two dollar signs as mathematics, even in a
    # sentence about two prices. A sign in an element of its own is left alone.
    return html.escape(text).replace("$", "<span>$</span>")


@dataclass(frozen=True, repr=False)
class Card:
    """Something said to the reader: a `title`, a `body` in Markdown, and perhaps a `note` below.

    It shows as an HTML card where HTML is shown and as text elsewhere; both are the same words.
    """

    title: str
    body: str
    colour: str = QUIET
    note: str = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.title, to_text(self.body), to_text(self.note))))

    __repr__ = __str__

    def _inner_html(self) -> str:
        return to_html(self.body)

    def _repr_html_(self) -> str:
        note = f"<small>{to_html(self.note)}</small>" if self.note else ""
        return (
            f'<div style="border:1px solid {QUIET};border-left:6px solid {self.colour};'
            'border-radius:4px;padding:0.6em 1em 0.1em;margin:0.4em 0;max-width:48em">'
            f'<p style="margin:0 0 0.4em"><strong>{_escaped(self.title)}</strong></p>'
            f"{self._inner_html()}{note}</div>"
        )


class Folded(Card):
    """A card that keeps its body folded: in HTML behind a click, in text behind a ``print``.

    Its title is the summary to click on, its note says how to read it where nothing unfolds.
    """

    def __repr__(self) -> str:
        return f"{self.title}\n{to_text(self.note)}"

    def __str__(self) -> str:
        return f"{self.title}\n{to_text(self.body)}"

    def _repr_html_(self) -> str:
        return (
            f'<details style="border:1px solid {QUIET};border-left:6px solid {self.colour};'
            'border-radius:4px;padding:0.6em 1em;margin:0.4em 0;max-width:48em">'
            f'<summary style="cursor:pointer"><strong>{_escaped(self.title)}</strong></summary>'
            f'<div style="margin:0.6em 0 0">{self._inner_html()}</div></details>'
        )
