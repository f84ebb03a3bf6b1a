"""Tools and the thesis: the pictures say what the calls and the ledger say, legibly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

import kitchenlib as kl
from kitchenlib.miniatures.appliances import Call, equipped, react, worked
from kitchenlib.miniatures.ledger import SYSTEMS, Ledger
from kitchenlib.plots.appliances import tool_or_head, tool_turns
from kitchenlib.plots.style import Picture
from kitchenlib.plots.thesis import thesis
from tests import test_plots as every_picture

SMALL, H200 = kl.model("Llama-3.1-8B"), kl.chip("H200 SXM")
SPARK = kl.chip("NVIDIA DGX Spark (GB10)")
ENDLESS = react("How much?", lambda transcript: "Action: calculator[1 + 1]", turns=16)


def noted(*systems: str, unit: str = "B", before: float = 5e9, after: float = 2e9) -> Ledger:
    book = Ledger()
    for system in systems:
        book.note(system, "held for one guest with 32,768 tokens of notes", before, after, unit)
    return book


def mixed() -> Ledger:
    book = noted("stock", "stations", "senses", "scratchpad")
    book.note("stock", "of one guest", 1e12, 1e-3, "B")
    book.note("pantry", "read for one question", 12_345_678, 1_234, "tokens")
    book.note("scratchpad", "written for one reply", 400, 2_000, "tokens", "dollars")
    book.note("appliances", "calculated for one sum", 2.8e13, 3, "FLOP")
    return book


def extremes() -> Ledger:
    book = noted("appliances", unit="FLOP", before=9.33e12, after=1)
    book.note("scratchpad", "written for one reply", 1, 9.33e6, "tokens")
    return book


DRAWN: dict[str, Callable[[], Picture]] = {
    "turns": tool_turns,
    "two calls": lambda: tool_turns(worked()[:2], tools=1, many=66, model=SMALL, chips=1),
    "sixteen calls": lambda: tool_turns(ENDLESS.calls(lambda text: [*text.encode()])),
    "many schemas": lambda: tool_turns(equipped(worked(), 46_000), 66, 300, SMALL, SPARK, 1),
    "no price for cached": lambda: tool_turns(
        row=kl.sheet_price(model="@cf/llama-3.3-70b-instruct-fp8-fast"), chip=H200, chips=8
    ),
    "the head": lambda: tool_or_head(6e-6),
    "both heads": lambda: tool_or_head(6.3e-6, 0.0175),
    "a slow tool": lambda: tool_or_head(30.0, 0.01),
    "a quick tool": lambda: tool_or_head(
        2e-8, 2.0, thinking=20_000, model=SMALL, chip=SPARK, chips=1
    ),
    "an empty ledger": lambda: thesis(Ledger()),
    "one line": lambda: thesis(noted("stock")),
    "one that is more": lambda: thesis(noted("scratchpad", unit="tokens", before=1, after=1e6)),
    "nothing changed": lambda: thesis(noted("stations", "stock", before=1, after=1, unit="FLOP")),
    "all": lambda: thesis(noted(*SYSTEMS)),
    "a long title": lambda: thesis(extremes()),
    "all kinds": lambda: thesis(mixed()),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_legible_at_any_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize("name", ["sixteen calls", "both heads", "all kinds"])
def test_files_stay_small(name, pictures):
    assert len(pictures[name].svg()) < 250_000
    assert len(pictures[name].png()) < 100_000


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("turns", "5 calls send 1,748 tokens to write 136: each sends all again, and with prefix"),
        ("turns", "caching 367 of them are read."),
        ("turns", "Call 5: 481 tokens (appliances (schemas) 107, rules and question 87, earlier"),
        ("turns", "earlier turns 275, new observation 12), 12 read with caching"),
        ("turns", "2 appliances, 107 tokens of schemas: 1,748 tokens read, 1.44 s, $0.00071, with"),
        ("turns", "30 of a real set, 20,909 tokens of schemas: 105,758 tokens read, 6.75 s, $0.0"),
        ("turns", "6.75 s, $0.027, with caching 21,169, 2.53 s, $0.0077."),
        (
            "the head",
            "The appliance takes 6.0 µs, the head 2.1 s, 350,000 times as long; asking for",
        ),
        (
            "both heads",
            "asking for the appliance (35 tokens, law): 364 ms; the appliance itself (measured)",
        ),
        ("both heads", "in a small model's head (200 tokens, measured): 3.50 s."),
        ("a slow tool", "This appliance takes 30 s: no less than the 2.1 s of working it out in"),
        ("an empty ledger", "Nothing is noted yet: run the sections first."),
        ("one line", "1 of 1 system does with less: stock: bytes ÷ 2.5."),
        (
            "one that is more",
            "1 of 1 system does with more: scratchpad: tokens × 1 million.",
        ),
        ("nothing changed", "0 of 2 systems changed anything. "),
        (
            "all kinds",
            "5 of 6 systems do with less, 1 with more: stock: bytes ÷ 1 quad",
        ),
        (
            "all kinds",
            "The archive pantry (smart tools), tokens: read for one question: 12.3 million",
        ),
        (
            "all kinds",
            "FLOPs: calculated for one sum: 28.0 TFLOP before, 3.00 FLOP after, ÷ 9.33 trillion",
        ),
    ],
)
def test_a_picture_says(name, claim, pictures):
    assert claim in pictures[name].alt


def test_what_is_missing_is_named_in_the_picture(pictures):
    assert "Not noted yet" not in pictures["all"].alt
    assert "Not noted yet: run the sections “The archive pantry”" in pictures["one line"].alt


@pytest.mark.parametrize("number", range(len(SYSTEMS) + 1))
def test_any_lines_make_a_picture(number):
    for some in list(combinations(SYSTEMS, number))[::7]:
        book = noted(*some)
        assert thesis(book).alt.startswith(book.claim)


def bars(picture: Picture, panel: int) -> list[float]:
    """Ends of the bars of one panel, in its units."""
    return [patch.get_x() + patch.get_width() for patch in picture.axes[panel].patches]  # type: ignore[attr-defined]


def test_a_bar_ends_at_its_factor(pictures):
    book = mixed()
    ordered = [line for unit in ("B", "FLOP", "tokens") for line in book.lines if line.unit == unit]
    assert bars(pictures["all kinds"], 1) == pytest.approx([line.ratio for line in ordered])


def test_a_bar_of_time_ends_at_its_seconds(pictures):
    assert bars(pictures["both heads"], 0)[2:] == pytest.approx([6.3e-6, 200 * 0.0175])


def test_the_pieces_of_a_bar_are_the_tokens_of_its_call(pictures):
    heights = [patch.get_height() for patch in pictures["turns"].axes[0].patches]
    pieces = [heights[n : n + 5] for n in range(0, 25, 5)]
    assert [sum(piece) for piece in zip(*pieces[:4], strict=True)] == [c.prompt for c in worked()]
    assert pieces[4] == [call.prompt - call.cached for call in worked()]


@pytest.mark.parametrize(
    ("draw", "given", "message"),
    [
        (tool_turns, {"calls": worked()[:1]}, "give 2 to 16 calls"),
        (tool_turns, {"calls": [Call(1, 1, 1, 0, 0, 1)] * 17}, "give 2 to 16 calls"),
        (tool_turns, {"calls": ["call", "call"]}, "give 2 to 16 calls"),
        (tool_turns, {"many": 0}, "many = 0 will not do"),
        (tool_turns, {"tools": 0}, "tools = 0 will not do"),
        (tool_turns, {"row": "gpt-5"}, "give a SheetPrice"),
        (tool_or_head, {"tool": 0}, "tool = 0 will not do"),
        (tool_or_head, {"tool": 1e-6, "token": -1}, "token = -1 will not do"),
        (tool_or_head, {"tool": 1e-6, "thinking": 1}, "thinking = 1 will not do"),
        (tool_or_head, {"tool": 1e-6, "asking": "call"}, "give a Call"),
        (thesis, {"ledger": "ledger"}, "give a Ledger"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, given, message):
    with pytest.raises(ValueError, match=message):
        draw(**given)
