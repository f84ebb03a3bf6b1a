"""The ledger: what each modern system changed, noted section by section, and the thesis it makes.

The story ends with a claim: what makes a kitchen fast is not a chef who chops more frantically, but
lighter ingredients, compact reductions, smart tools, and planning before serving. Each section
notes one line with numbers of its own. The ledger shows them as a table, in the order of the story,
whatever the order in which they were noted; what was not run is named as missing.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import NamedTuple

from kitchenlib.inputs import find, quantity, wrong
from kitchenlib.units import human, many, significant

LIGHTER, REDUCTIONS = "lighter ingredients", "compact reductions"
SMART, PLANNING = "smart tools", "planning before serving"
THESIS = (LIGHTER, REDUCTIONS, SMART, PLANNING)  #: the four of the story
OTHER = "none of the four"  #: it makes nothing lighter: it lets something new in

#: What is counted: the unit of a line -> its name.
UNITS = {"B": "bytes", "FLOP": "FLOPs", "tokens": "tokens"}
_OTHER_NAMES = {"byte": "B", "bytes": "B", "FLOPs": "FLOP", "token": "tokens"}

_MOST_WORDS = 60  # characters of what changed
_MOST_PRICE = 120  # characters of what it costs
_LARGE = ((1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_EDGE = "#8C8577"  # that of the cards
_CELL = "text-align:left;vertical-align:top;padding:0.2em 0.7em 0.2em 0"
_HEADS = ("system", "thesis", "what changed", "before", "after", "factor", "what it costs")


class System(NamedTuple):
    """A system of the story: the title of its section, its usual name, and which of the four."""

    title: str
    term: str
    thesis: str


#: The systems, in the order of the sections.
SYSTEMS = {
    "stock": System("The perpetual stock", "state-space model", REDUCTIONS),
    "pantry": System("The archive pantry", "retrieval (RAG)", SMART),
    "stations": System("Specialised stations", "mixture of experts", LIGHTER),
    "senses": System("Cooking with all senses", "multimodality", OTHER),
    "scratchpad": System("The scratchpad", "reasoning", PLANNING),
    "appliances": System("Appliances", "tool use", SMART),
}


@dataclass(frozen=True, repr=False)
class Line:
    """What one system changed.

    Attributes:
        system: its short name, one of `SYSTEMS`.
        what: what is counted, in a few words.
        before, after: so many bytes, FLOPs or tokens.
        unit: "B", "FLOP" or "tokens".
        price: what it costs, or what stays the same; "" where nothing was noted.
    """

    system: str
    what: str
    before: float
    after: float
    unit: str
    price: str = ""

    @property
    def of(self) -> System:
        return SYSTEMS[self.system]

    @property
    def ratio(self) -> float:
        """After over before: below 1 where there is less than before."""
        return self.after / self.before

    @property
    def factor(self) -> str:
        """The ratio as one says it: "÷ 25", "× 3"."""
        if self.same:
            return "as before"
        if self.ratio < 1:
            return f"÷ {spoken(1 / self.ratio)}"
        return f"× {spoken(self.ratio)}"

    @property
    def same(self) -> bool:
        """Whether nothing changed in three digits."""
        return "1" in (spoken(self.ratio), spoken(1 / self.ratio))

    def shown(self, value: float) -> str:
        """`value` in the unit of the line."""
        if self.unit != "tokens":
            return human(value, self.unit)
        if value >= 1e6:
            return spoken(value)
        return f"{value:,.0f}" if value == int(value) else significant(value)

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of the table, under the heads."""
        before, after = self.shown(self.before), self.shown(self.after)
        what = f"{UNITS[self.unit]}: {self.what}"
        return self.of.title, self.of.thesis, what, before, after, self.factor, self.price

    def __str__(self) -> str:
        title, thesis, what, before, after, factor, price = self.cells
        costs = f" What it costs: {price}." if price else ""
        return f"{title} ({thesis}), {what}: {before} before, {after} after, {factor}.{costs}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _framed(f'<p style="margin:0">Noted: {_escaped(str(self))}</p>')


class Ledger:
    """The lines noted so far. In a notebook it shows as a table, elsewhere as sentences."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def note(
        self, system: str, what: str, before: float, after: float, unit: str, price: str = ""
    ) -> Line:
        """Note what a system changed. What was noted about it before is replaced.

        Args:
            system: "stock", "pantry", "stations", "senses", "scratchpad" or "appliances".
            what: what is counted, in a few words: "notes of one guest at 32,768 tokens".
            before, after: without the system, and with it: above 0, in `unit`.
            unit: "B" (bytes), "FLOP" or "tokens".
            price: what it costs or what stays the same, in a few words.

        Raises:
            UnknownName: a system or a unit that there is not.
            ValueError: numbers that are none, words that are missing or too many.
        """
        names = {name: name for name in SYSTEMS}
        line = Line(
            find("system", system, names),
            _words("what", what, _MOST_WORDS, least=1),
            quantity("before", before, "bytes, FLOPs or tokens"),
            quantity("after", after, "bytes, FLOPs or tokens"),
            find("unit", unit, {name: name for name in UNITS}, _OTHER_NAMES),
            _words("price", price, _MOST_PRICE, least=0),
        )
        self._lines[line.system] = line
        return line

    @property
    def lines(self) -> tuple[Line, ...]:
        """What was noted, in the order of the sections."""
        return tuple(self._lines[name] for name in SYSTEMS if name in self._lines)

    @property
    def missing(self) -> tuple[System, ...]:
        """The systems about which nothing was noted."""
        return tuple(system for name, system in SYSTEMS.items() if name not in self._lines)

    @property
    def to_run(self) -> str:
        """What is missing, and what to do about it; "" if nothing is."""
        if not self.missing:
            return ""
        titles = ", ".join(f"“{system.title}”" for system in self.missing)
        section = "section" if len(self.missing) == 1 else "sections"
        return f"Not noted yet: run the {section} {titles}, then this cell again."

    @property
    def claim(self) -> str:
        """What the lines say together."""
        if not self.lines:
            return "Nothing is noted yet"
        less = sum(line.ratio < 1 and not line.same for line in self.lines)
        more = sum(line.ratio > 1 and not line.same for line in self.lines)
        number = len(self.lines)
        of = f"of {many(number, 'system')}"
        if not less + more:
            return f"0 {of} changed anything"
        if not less:
            return f"{more} {of} {_do(more)} with more"
        rest = f", {more} with more" if more else ""
        return f"{less} {of} {_do(less)} with less{rest}"

    def __repr__(self) -> str:
        return "\n".join(filter(None, (f"{self.claim}.", *map(str, self.lines), self.to_run)))

    def _repr_html_(self) -> str:
        table = _table(self.lines) if self.lines else ""
        note = f'<p style="margin:0.4em 0">{_escaped(self.to_run)}</p>' if self.to_run else ""
        return _framed(
            f'<p style="margin:0 0 0.4em"><strong>{self.claim}</strong></p>{table}{note}'
        )


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def spoken(factor: float) -> str:
    """A factor in three digits, without zeros that say nothing: "12.5", "3", "9.33 trillion"."""
    factor = float(f"{factor:.3g}")  # before its size is judged
    size, word = next((each for each in _LARGE if factor >= each[0]), (1, ""))
    text = significant(factor / size)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text} {word}".strip()


def _words(name: str, text: str, most: int, least: int) -> str:
    if not isinstance(text, str) or not least <= len(" ".join(text.split())) <= most:
        raise wrong(name, text, f"give a few words, at most {most} characters")
    return " ".join(text.split())


def _framed(inside: str) -> str:
    return (
        f'<div style="border:1px solid {_EDGE};border-left:6px solid {_EDGE};'
        f'border-radius:4px;padding:0.6em 1em;margin:0.4em 0;overflow-x:auto">{inside}</div>'
    )


def _table(lines: tuple[Line, ...]) -> str:
    heads = "".join(f'<th scope="col" style="{_CELL}">{head}</th>' for head in _HEADS)
    rows = "".join(f"<tr>{_row(line.cells)}</tr>" for line in lines)
    return (
        f'<table style="border-collapse:collapse;margin:0"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(cells: tuple[str, ...]) -> str:
    first, *others = map(_escaped, cells)
    factor = _HEADS.index("factor") - 1  # it never wraps
    return f'<th scope="row" style="{_CELL}">{first}</th>' + "".join(
        f'<td style="{_CELL}{";white-space:nowrap" * (at == factor)}">{cell}</td>'
        for at, cell in enumerate(others)
    )


def _escaped(text: str) -> str:
    # between two bare dollar signs pages see mathematics
    return html.escape(text).replace("$", "<span>$</span>")
