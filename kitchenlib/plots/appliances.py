"""Tools: what the turns of one run send and read, and an appliance against doing it in the head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, quantity, wrong
from kitchenlib.miniatures.appliances import (
    REAL_TOOLS,
    TOOLS,
    Bill,
    Call,
    bill,
    equipped,
    sheet,
    worked,
)
from kitchenlib.miniatures.ledger import spoken
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    PAPER,
    PLAIN,
    RULE,
    SACK,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    counts,
    footnote,
    grid,
    in_style,
    log_axis,
    panel,
    source,
    write,
)
from kitchenlib.prices import SheetPrice
from kitchenlib.serving import request_time, tpot
from kitchenlib.units import dollars, human, significant

THINKING = 200  #: tokens of a calculation that is written out
_MOST_CALLS = 16
_CROWD = 6  # calls; with more of them only the first and the last carry numbers
_MANY = 30  # tools
_GAP = 0.085  # of the tallest bar: between two names beside it


class _Piece(NamedTuple):
    """A part of every prompt: its name, and how it is drawn."""

    name: str
    role: Role
    hatch: str


_PIECES = {
    "schemas": _Piece("appliances (schemas)", SACK, "//"),
    "asked": _Piece("rules and question", PLAIN, ""),
    "earlier": _Piece("earlier turns", NOTES, ".."),
    "new": _Piece("new observation", ORDER, ""),
}


def _pieces(call: Call) -> dict[str, int]:
    asked = call.rules + call.question
    return {"schemas": call.schemas, "asked": asked, "earlier": call.earlier, "new": call.new}


@in_style
def tool_turns(
    calls: Sequence[Call] | None = None,
    tools: int = len(TOOLS),
    many: int = _MANY,
    model: Model | None = None,
    chip: Chip | None = None,
    chips: int = 4,
    row: SheetPrice | None = None,
) -> Picture:
    """Prompt tokens of each call of a run, sent and read, and the bill with few and many tools.

    Args:
        calls: of `Run.calls`, 2 to 16; the scripted cook's, as SmolLM2's tokenizer counts them.
        tools: how many appliances the run had.
        many: a set to compare with, at the tokens of a real set.
        model, chip, chips: whose seconds; Llama-3.1-70B on four H100 SXM, in 16 bit.
        row: of a price sheet; that of `kitchenlib.miniatures.appliances.sheet`.

    Raises ``ValueError`` for numbers that cannot be drawn.
    """
    calls = worked() if calls is None else list(calls)
    if not 1 < len(calls) <= _MOST_CALLS or not all(isinstance(call, Call) for call in calls):
        raise wrong("calls", calls, f"give 2 to {_MOST_CALLS} calls, for example run.calls(...)")
    dimension("tools", tools, "tools")
    more = equipped(calls, round(dimension("many", many, "tools") * REAL_TOOLS.each))
    model, chip = model or model_called("Llama-3.1-70B"), chip or chip_called("H100 SXM")
    row = row or sheet()
    instance("row", row, SheetPrice, "kl.sheet_price(model='gpt-5-mini')")
    sets = {
        f"{tools} appliance{'s' * (tools > 1)}": calls,
        f"{many} of a real set": more,
    }
    price = row.price
    bills = {
        f"{name}, {each[0].schemas:,} tokens": [
            bill(each, kept, model, chip, chips, price) for kept in (False, True)
        ]
        for name, each in sets.items()
    }
    plain, kept = next(iter(bills.values()))
    title = (
        f"{plain.calls} calls send {plain.sent:,} tokens to write {plain.written:,}: each sends "
        f"all again,\nand with prefix caching {kept.read:,} of them are read"
    )
    lead = "Prompt tokens of each call of one run. Hollow bars: what is read with prefix caching"
    said = "; ".join(_in_words(n, call) for n, call in enumerate(calls, start=1))
    sums = "; ".join(_bill_in_words(name, pair) for name, pair in bills.items())
    picture = Picture(
        WIDTH, 6.4, alt=f"{' '.join(title.split())}. {lead}. {said}. The whole run: {sums}."
    )
    claim(picture, title, lead)
    _bars(panel(picture, 0.86, 2.62, 5.84, 2.58), calls)
    _table(canvas(picture), bills)
    source(
        picture,
        f"Seconds: ideal law, {model.name}, {chips} {chip.short_label}, 16 bit, one guest."
        f"{footnote(chip)}\n"
        f"Dollars: {row.provider} {row.model}, {row.when}. The first call is read whole.\n"
        f"A real set: {significant(REAL_TOOLS.each)} tokens for each schema ({REAL_TOOLS.source}).",
    )
    return picture


def _in_words(number: int, call: Call) -> str:
    parts = ", ".join(f"{_PIECES[name].name} {n:,}" for name, n in _pieces(call).items())
    read = call.prompt - call.cached
    return f"Call {number}: {call.prompt:,} tokens ({parts}), {read:,} read with caching"


def _bill_in_words(name: str, pair: Sequence[Bill]) -> str:
    plain, kept = pair
    return (
        f"{name} of schemas: {plain.read:,} tokens read, {human(plain.seconds, 's')}, "
        f"{dollars(plain.usd)}, with caching {kept.read:,}, {human(kept.seconds, 's')}, "
        f"{dollars(kept.usd)}"
    )


def _bars(ax: Axes, calls: Sequence[Call]) -> None:
    """Two bars for each call: what is sent, piece by piece, and what is read."""
    numbers = np.arange(1, len(calls) + 1)
    below = np.zeros(len(calls))
    wide: dict[str, Any] = {"width": 0.5, "edgecolor": PAPER, "linewidth": 0.9, "zorder": 3}
    for name, piece in _PIECES.items():
        sizes = np.array([_pieces(call)[name] for call in calls])
        look = {"color": piece.role.fill, "hatch": piece.hatch} | wide
        ax.bar(numbers - 0.15, sizes, bottom=below, **look)
        below += sizes
    read = np.array([call.prompt - call.cached for call in calls])
    thin: dict[str, Any] = {"width": 0.24, "color": PAPER, "edgecolor": WAITER.ink, "zorder": 3}
    ax.bar(numbers + 0.25, read, linewidth=1.4, **thin)
    top = float(below.max())
    for i, (sent, own) in enumerate(zip(below, read, strict=True)):
        if len(calls) <= _CROWD or i in (0, len(calls) - 1):
            over: dict[str, Any] = {"ha": "center", "va": "bottom", "size": SMALL}
            write(ax, numbers[i] - 0.19, sent + 0.015 * top, f"{sent:,.0f}", **over)
            if len(calls) > _CROWD:
                continue
            write(ax, numbers[i] + 0.27, own + 0.015 * top, f"{own:,}", color=WAITER.ink, **over)
    ax.set(xlim=(0.45, len(calls) + 0.55), ylim=(0, 1.13 * top), xlabel="call of the model")
    ax.set_ylabel("tokens")
    ax.set_xticks(numbers)
    ticks = [tick for tick in MaxNLocator(5).tick_values(0, top) if 0 <= tick <= top]
    ax.set_yticks(ticks, counts(ticks))
    grid(ax, "y")
    _names(ax, calls[-1], top)


def _names(ax: Axes, last: Call, top: float) -> None:
    """What the pieces of the last bar are, each beside it, moved where they would touch."""
    sizes = _pieces(last)
    ends = np.cumsum(list(sizes.values()))
    at = [*(ends - np.array(list(sizes.values())) / 2), 1.08 * top]
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + _GAP * top)
    at[-1] = min(at[-1], 1.08 * top)
    for i in reversed(range(len(at) - 1)):
        at[i] = min(at[i], at[i + 1] - _GAP * top)
    x = 1.01 * ax.get_xlim()[1]
    beside: dict[str, Any] = {"va": "center", "size": SMALL + 0.5}
    for y, (name, size) in zip(at, sizes.items(), strict=False):
        piece = _PIECES[name]
        write(ax, x, y, f"{piece.name}: {size:,}", color=piece.role.ink, **beside)
    words = f"read with caching: {last.prompt - last.cached:,}"
    write(ax, x, at[-1], words, color=WAITER.ink, weight="bold", **beside)


_COLUMNS = (4.0, 4.86, 5.72, 6.98, 7.84, 8.68)  # inches: right edges


def _table(paper: Axes, bills: dict[str, list[Bill]]) -> None:
    """The whole run: tokens read, seconds, dollars, without caching and with it."""
    quiet: dict[str, Any] = {"size": SMALL, "color": MUTED}
    for right, head in ((_COLUMNS[2], "everything read"), (_COLUMNS[5], "with prefix caching")):
        write(paper, right, 1.95, head, ha="right", weight="bold", size=SMALL)
    write(paper, MARGIN, 1.74, "the whole run, with appliances and their schemas", **quiet)
    for x, head in zip(_COLUMNS, ("tokens", "seconds", "dollars") * 2, strict=True):
        write(paper, x, 1.74, head, ha="right", **quiet)
    paper.plot([MARGIN, _COLUMNS[-1]], [1.67] * 2, color=RULE, linewidth=0.8)
    for i, (name, pair) in enumerate(bills.items()):
        y = 1.41 - 0.3 * i
        write(paper, MARGIN, y, name)
        cells = [cell for each in pair for cell in _cells(each)]
        for x, cell in zip(_COLUMNS, cells, strict=True):
            write(paper, x, y, cell, ha="right")


def _cells(each: Bill) -> tuple[str, str, str]:
    return f"{each.read:,}", human(each.seconds, "s"), dollars(each.usd)


# --- an appliance or the head --------------------------------------------------------------------


class _Bar(NamedTuple):
    """A time, what it is the time of, how many tokens are written in it, and how it is known."""

    what: str
    tokens: int
    seconds: float
    role: Role
    measured: bool

    @property
    def aside(self) -> str:
        known = "measured" if self.measured else "law"
        return f"{self.tokens:,} tokens, {known}" if self.tokens else known


@in_style
def tool_or_head(
    tool: float,
    token: float | None = None,
    thinking: int = THINKING,
    asking: Call | None = None,
    model: Model | None = None,
    chip: Chip | None = None,
    chips: int = 4,
) -> Picture:
    """Seconds of an appliance, of asking for it, and of working the same out in the head.

    Args:
        tool: seconds of one use, measured (`kitchenlib.miniatures.appliances.timed`).
        token: seconds of one token of a model on the same machine, measured; None leaves it out.
        thinking: tokens of the calculation where it is written out, at least 2.
        asking: the call that asks for the appliance, its notes kept; the scripted cook's.
        model, chip, chips: whose law; Llama-3.1-70B on four H100 SXM, in 16 bit.
    """
    spent = quantity("tool", tool, "seconds")
    asking = asking or worked()[-2]
    instance("asking", asking, Call, "run.calls(smol.tokenize)[-2]")
    dimension("thinking", thinking, "tokens", least=2)
    model, chip = model or model_called("Llama-3.1-70B"), chip or chip_called("H100 SXM")
    each = float(tpot(model, chip, asking.prompt, thinking, chips=chips))
    asked = float(
        request_time(model, chip, asking.prompt, asking.reply, 1, asking.cached, chips=chips)
    )
    head = thinking * each
    bars = [
        _Bar("in the head", thinking, head, CHEF, False),
        _Bar("asking for the appliance", asking.reply, asked, ORDER, False),
        _Bar("the appliance itself", 0, spent, WAITER, True),
    ]
    if token is not None:
        own = thinking * quantity("token", token, "seconds")
        bars.append(_Bar("in a small model's head", thinking, own, CHEF, True))
    title = _title(head, asked, spent)
    lead = (
        f"Seconds, log scale. Law: {model.name}, {chips} {chip.short_label}, 16 bit, one guest.\n"
        "Measured: your machine"
    )
    said = "; ".join(f"{bar.what} ({bar.aside}): {human(bar.seconds, 's')}" for bar in bars)
    alt = f"{' '.join(title.split())}. {' '.join(lead.split())}. {said}."
    picture = Picture(WIDTH, 2.46 + 0.62 * len(bars), alt=alt)
    claim(picture, title, lead)
    _times(picture, bars)
    source(picture, f"Asking: notes of the turns before kept; no waiting in line.{footnote(chip)}")
    return picture


def _title(head: float, asked: float, spent: float) -> str:
    if spent >= head:
        return (
            f"This appliance takes {human(spent, 's', 2)}: no less than the {human(head, 's', 2)} "
            "of\nworking it out in the head"
        )
    ratio = spoken(float(f"{head / spent:.2g}"))
    return (
        f"The appliance takes {human(spent, 's', 2)}, the head {human(head, 's', 2)}, "
        f"{ratio} times as long;\nasking for the appliance takes {human(asked, 's', 2)}"
    )


def _times(picture: Picture, bars: Sequence[_Bar]) -> None:
    ax = panel(picture, 3.3, 0.88, 4.4, 0.62 * len(bars))
    low = np.floor(np.log10(min(bar.seconds for bar in bars))) - 1
    high = np.ceil(np.log10(max(bar.seconds for bar in bars)))
    step = max(1, int(np.ceil((high - low) / 8)))
    ticks = [10.0**power for power in np.arange(low, high + 1, step)]
    log_axis(ax.xaxis, ticks, [human(tick, "s", 1) for tick in ticks], "")
    ax.set(xlim=(10.0**low, 10.0**high), ylim=(-0.5, len(bars) - 0.5), yticks=[])
    grid(ax, "x")
    for i, bar in enumerate(bars):
        y = len(bars) - 1 - i
        hatch = {"hatch": "//"} if bar.measured else {}
        look: dict[str, Any] = {"edgecolor": PAPER, "linewidth": 0.9, "zorder": 3} | hatch
        ax.barh(
            y, bar.seconds - 10.0**low, left=10.0**low, height=0.46, color=bar.role.fill, **look
        )
        aside: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        aside |= {"textcoords": "offset points", "ha": "right"}
        ax.annotate(bar.what, (0, y), (-8, 2), va="bottom", size=SMALL + 0.5, **aside)
        ax.annotate(bar.aside, (0, y), (-8, -2), va="top", size=SMALL, color=MUTED, **aside)
        shown = human(bar.seconds, "s", 2)
        place: dict[str, Any] = {"textcoords": "offset points", "va": "center", "weight": "bold"}
        ax.annotate(shown, (bar.seconds, y), (6, 0), color=INK, zorder=6, **place)
