"""The ledger: a line for each system, in the order of the story, however it was written."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import permutations
from typing import Any

import pytest

import kitchenlib as kl
from kitchenlib.miniatures.ledger import OTHER, SYSTEMS, THESIS, Ledger, spoken

NOTES: dict[str, tuple[Any, ...]] = {
    "stock": ("memory of one guest", 10e9, 40e6, "B", "it forgets"),
    "stations": ("read for one token", 400e9, 400e9, "B"),
    "scratchpad": ("written for one reply", 400, 2000, "tokens", "five times the dollars"),
}


@pytest.fixture
def ledger() -> Ledger:
    noted = Ledger()
    for system, line in NOTES.items():
        noted.note(system, *line)
    return noted


class Table(HTMLParser):
    """The cells of the tables in some HTML, row by row, and the tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.words += data
        if self.rows and self.rows[-1] and "p" not in self.tags[self.tags.index("table") :]:
            self.rows[-1][-1] += data


def test_the_factor_is_after_over_before(ledger):
    stock, stations, scratchpad = ledger.lines
    assert (stock.factor, stations.factor, scratchpad.factor) == ("÷ 250", "as before", "× 5")
    assert scratchpad.ratio == 5


def test_a_table_has_all_that_was_noted(ledger):
    heads, *rows = Table(ledger._repr_html_()).rows
    assert heads[0] == "system"
    assert heads[-1] == "what it costs"
    assert rows[0] == [
        "The perpetual stock",
        "compact reductions",
        "bytes: memory of one guest",
        "10.0 GB",
        "40.0 MB",
        "÷ 250",
        "it forgets",
    ]
    assert rows[2][3:6] == ["400", "2,000", "× 5"]


def test_the_sentences_say_the_same_as_the_table(ledger):
    for row in Table(ledger._repr_html_()).rows[1:]:
        assert all(cell in repr(ledger) for cell in row)
    assert repr(ledger).startswith("1 of 3 systems does with less, 1 with more.")
    assert "<strong>1 of 3 systems does with less, 1 with more</strong>" in ledger._repr_html_()


def test_the_html_needs_no_style_sheet_and_reads_as_a_table(ledger):
    html = ledger._repr_html_()
    assert not {"script", "style"} & set(Table(html).tags)
    assert html.count('scope="row"') == 3
    assert html.count('scope="col"') == 7


def test_what_was_not_run_is_named(ledger):
    assert [system.title for system in ledger.missing] == [
        "The archive pantry",
        "Cooking with all senses",
        "Appliances",
    ]
    wanted = "Not noted yet: run the sections “The archive pantry”, “Cooking with all senses”"
    assert ledger.to_run.startswith(wanted)
    assert ledger.to_run in repr(ledger)
    assert ledger.to_run in Table(ledger._repr_html_()).words


def test_an_empty_ledger_says_what_to_run():
    empty = Ledger()
    assert repr(empty).startswith("Nothing is noted yet.\nNot noted yet: run the sections “The per")
    assert "<table" not in empty._repr_html_()


def test_a_full_ledger_misses_nothing():
    full = Ledger()
    for system in SYSTEMS:
        full.note(system, "bytes moved", 2e9, 1e9, "B")
    assert full.to_run == ""
    assert "Not noted" not in repr(full) + full._repr_html_()
    assert full.claim == f"{len(SYSTEMS)} of {len(SYSTEMS)} systems do with less"


def test_one_missing_section_is_one_section():
    nearly = Ledger()
    for system in list(SYSTEMS)[:-1]:
        nearly.note(system, "bytes moved", 2e9, 1e9, "B")
    assert nearly.to_run == "Not noted yet: run the section “Appliances”, then this cell again."


def test_the_order_of_the_cells_does_not_matter(ledger):
    for order in permutations(NOTES):
        other = Ledger()
        for system in order:
            other.note(system, *NOTES[system])
        assert repr(other) == repr(ledger)


def test_a_section_that_runs_twice_replaces_its_line(ledger):
    before = repr(ledger)
    ledger.note("stock", "something else", 1, 2, "tokens")
    assert len(ledger.lines) == 3
    ledger.note("stock", *NOTES["stock"])
    assert repr(ledger) == before


def test_two_ledgers_know_nothing_of_each_other(ledger):
    assert Ledger().lines == ()


def test_a_line_shows_as_a_sentence(ledger):
    line = ledger.note("appliances", "written for a\n  calculation", 200, 35, "tokens", "$0.01")
    assert repr(line) == (
        "Appliances (smart tools), tokens: written for a calculation: "
        "200 before, 35 after, ÷ 5.71. What it costs: $0.01."
    )
    assert "<span>$</span>0.01" in ledger._repr_html_()


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (13.1e6, "B", "13.1 MB"),
        (2.8e13, "FLOP", "28.0 TFLOP"),
        (1748, "tokens", "1,748"),
        (12.345, "tokens", "12.3"),
        (3_456_000, "tokens", "3.46 million"),
    ],
)
def test_numbers_are_shown_in_their_unit(value, unit, shown):
    assert Ledger().note("stock", "of one guest", 1, value, unit).cells[4] == shown


@pytest.mark.parametrize(
    ("unit", "meant"),
    [("bytes", "B"), ("FLOPs", "FLOP"), ("token", "tokens"), ("Tokens", "tokens")],
)
def test_units_have_other_names(unit, meant):
    assert Ledger().note("stock", "of one guest", 2, 1, unit).unit == meant


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((1, 1), "2 of 2 systems do with less"),
        ((1, 3), "1 of 2 systems does with less, 1 with more"),
        ((2, 3), "1 of 2 systems does with more"),
        ((3, 4), "2 of 2 systems do with more"),
        ((2, 2), "0 of 2 systems changed anything"),
    ],
)
def test_what_the_lines_say_together(after, said):
    book = Ledger()
    for system, number in zip(SYSTEMS, after, strict=False):
        book.note(system, "of one guest", 2, number, "B")
    assert book.claim == said


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (3, "3"),
        (5.714, "5.71"),
        (120, "120"),
        (999.99, "1,000"),
        (999_999.9, "1 million"),
        (9.333e12, "9.33 trillion"),
        (1 / 1e-15, "1 quadrillion"),
    ],
)
def test_a_factor_is_said_in_three_digits(factor, words):
    assert spoken(factor) == words


def test_hardly_a_change_is_none():
    same = Ledger().note("stock", "of one guest", 1000, 1000.4, "tokens")
    assert same.same
    assert same.factor == "as before"
    assert Ledger().note("stock", "of one guest", 1000, 1010, "tokens").factor == "× 1.01"


def test_each_of_the_four_has_a_system():
    assert {system.thesis for system in SYSTEMS.values()} == {*THESIS, OTHER}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"system": "oven"}, kl.UnknownName, "no system is called 'oven'. Known names are: stock"),
        ({"unit": "seconds"}, kl.UnknownName, "no unit is called 'seconds'"),
        ({"what": " "}, ValueError, "give a few words, at most 60 characters"),
        ({"what": "x" * 61}, ValueError, "what = 'xxx"),
        ({"price": None}, ValueError, "price = None will not do"),
        ({"before": 0}, ValueError, "before = 0 will not do"),
        ({"after": -1}, ValueError, "after = -1 will not do"),
        ({"after": float("nan")}, ValueError, "after = nan will not do"),
        ({"after": [1, 2]}, ValueError, "give one number of bytes, FLOPs or tokens"),
        ({"before": "5 kg"}, ValueError, "before = '5 kg' will not do"),
    ],
)
def test_what_cannot_be_noted_is_refused_and_changes_nothing(change, error, message, ledger):
    line = {"system": "stock", "what": "of one guest", "before": 2, "after": 1, "unit": "B"}
    before = repr(ledger)
    with pytest.raises(error, match=message):
        ledger.note(**line | change)
    assert repr(ledger) == before


@pytest.mark.parametrize(("before", "after"), [(1000, 999), (999, 1000), (1000, 996)])
def test_no_factor_is_one(before, after):
    line = Ledger().note("stock", "of one guest", before, after, "tokens")
    assert line.factor not in ("÷ 1", "× 1")
