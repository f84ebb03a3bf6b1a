"""The four fixes side by side: what each does to a kitchen, and what two of them do together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from kitchenlib.chips import chip
from kitchenlib.efficiency import efficiency
from kitchenlib.inputs import Number, dimension, instance
from kitchenlib.measured import measurement
from kitchenlib.models import model
from kitchenlib.plots.fixing import FIXES, WORKED, Fixes, factor_of
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
    Role,
    canvas,
    claim,
    footnote,
    in_style,
    log_axis,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.serving import ttft
from kitchenlib.speculation import speculate
from kitchenlib.units import GB, MS, many, significant

_SAME = 0.02  # changes up to it are none
_BETTER, _WORSE, _NEITHER = NOTES, CHEF, Role(MUTED, MUTED)


def _check(kitchen: Fixes) -> None:
    """All four fixes must be in a kitchen that is taken apart."""
    instance("kitchen", kitchen, Fixes, "Fixes(batch=64)")
    plain = kitchen.plain
    missing = [n for n, field in FIXES.items() if getattr(kitchen, field) == getattr(plain, field)]
    if missing:
        raise ValueError(
            f"this kitchen lacks {' and '.join(missing)}: give one with all four fixes, for "
            "example Fixes(weights='int4-g128', batch=32, clipboards='as is', drafted=5)"
        )
    if plain.heads == kitchen.heads:
        raise ValueError(
            f"{kitchen.model} has a clipboard for each head: give a model that shares them, for "
            "example Llama-2-70B"
        )


def _where(kitchen: Fixes) -> str:
    """Which kitchen it is."""
    mark = f"{kitchen.chips} {kitchen.on.short_label}"
    return f"{kitchen.model} on {mark}, {kitchen.tokens:,} tokens of notes"


# --- what each does ----------------------------------------------------------------------------


class _Cell(NamedTuple):
    """One number of a kitchen before a fix and after it; less is better."""

    before: float
    after: float
    shown: str

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def kind(self) -> str:
        if abs(self.ratio - 1) <= _SAME:
            return "same"
        return "less" if self.ratio < 1 else "more"

    @property
    def text(self) -> str:
        return "same" if self.kind == "same" else factor_of(self.ratio)


class _Row(NamedTuple):
    """One fix: its name, what it is here, a cell for each column, and what it does to the text."""

    name: str
    what: str
    cells: list[_Cell]
    quality: str
    worse: bool


#: Columns: name, what is counted, and its unit in words.
_HEADS = (
    ("sack", "GB in\nmemory", " GB"),
    ("notepad", "GB in\nmemory", " GB"),
    ("waiter", "GB carried\nfor a token", " GB"),
    ("chef", "cuts a token\n(is busy)", " busy"),
    ("TTFT", "s to read\nthe prompts", " s"),
    ("TPOT", "ms from one\nto the next", " ms"),
)
_NUMBERS = {2: "Two", 3: "Three"}
_SHAPES = {"less": ("v", _BETTER), "more": ("^", _WORSE), "same": ("_", _NEITHER)}
_LEFTS = (1.78, 2.74, 3.72, 4.68, 5.66, 6.74)  # inches: columns of numbers
_LAST = 7.7  # the column of words
_PITCH, _TOP = 0.63, 3.74  # inches: of the rows, top of the first


@in_style
def fixes_matrix(kitchen: Fixes = WORKED, prompt: int = 2000) -> Picture:
    """What each of the four fixes alone does to sack, notepad, waiter, chef, TTFT, TPOT, quality.

    Args:
        kitchen: with all four fixes; its notes are taken in 16 bit. Each fix is added alone to the
            plain kitchen with the model's own clipboards; GQA to one with a clipboard for each
            query head.
        prompt: tokens that each guest's prompt has; all guests of a batch order at once.

    Raises ``ValueError`` for a kitchen that lacks one of the fixes.
    """
    _check(kitchen)
    dimension("prompt", prompt, "tokens")
    rows = [_row(kitchen, name, prompt) for name in FIXES]
    title = _title(rows)
    lead = f"Each fix alone: {_where(kitchen)}, prompts of {prompt:,}"
    key = f"less: better; more: worse; same: within {_SAME:.0%}"
    read = measurement(id="X0004").value / measurement(id="X0003").value
    base = (
        f"Before: 16 bit, one guest, no guesses; GQA against a clipboard for each of "
        f"{kitchen.plain.heads} query heads, whose matrices weigh more, too."
    )
    law = (
        f"{kitchen.times()}. A batch's prompts are read together. Measured, 4-bit weights read no "
        f"faster: × {significant(read, 2)} (llama.cpp)."
    )
    said = " ".join(map(_in_words, rows))
    picture = Picture(WIDTH, 5.5, alt=f"{title}. {lead} ({key}). {said} {base} {law}")
    claim(picture, title, lead)
    ax = canvas(picture)
    _head(ax)
    for i, row in enumerate(rows):
        _draw_row(ax, _TOP - _PITCH * i, row)
    _key(ax)
    source(picture, f"{base}\n{law}{footnote(kitchen.on)}")
    return picture


def _row(kitchen: Fixes, name: str, prompt: int) -> _Row:
    before = kitchen.plain if name == "GQA" else kitchen.only("GQA")
    after = kitchen.only(name) if name == "GQA" else kitchen.only("GQA", name)
    what, quality, worse = {
        "INT4": (kitchen.weights, "loses some:\ndepends on\nmodel, method", True),
        "batching": (many(kitchen.batch, "guest"), "same text", False),
        "GQA": (f"{kitchen.heads} clipboards,\nnot {kitchen.plain.heads}", "trained in", False),
        "speculation": (
            f"{many(kitchen.drafted, 'draft')} looked up,\n{kitchen.acceptance:g} accepted",
            "same text",
            False,
        ),
    }[name]
    return _Row(_called(kitchen, name), what, _cells(before, after, prompt), quality, worse)


def _called(kitchen: Fixes, name: str) -> str:
    return kitchen.powder if name == "INT4" else name


def _cells(before: Fixes, after: Fixes, prompt: int) -> list[_Cell]:
    busy = " → ".join(dict.fromkeys(percent(kitchen.chef) for kitchen in (before, after)))

    def cell(count: Callable[[Fixes], Number], unit: float, digits: int = 3) -> _Cell:
        one, other = (float(count(kitchen)) for kitchen in (before, after))
        return _Cell(one, other, _from_to(one / unit, other / unit, digits))

    return [
        cell(lambda k: k.of.weight_bytes(k.weights), GB),
        cell(lambda k: k.batch * k.of.kv_bytes(k.tokens, k.kv), GB),
        cell(lambda k: k.chips * k.work.bytes / k.yields, GB),
        cell(lambda k: k.chips * k.work.flops / k.yields, 1)._replace(shown=busy),
        cell(lambda k: _first_token(k, prompt), 1, digits=2),
        cell(lambda k: 1 / k.each, MS),
    ]


def _first_token(kitchen: Fixes, prompt: int) -> Number:
    """Seconds to it, if all guests order at once."""
    sizes = prompt, kitchen.batch, 0
    formats = kitchen.weights, kitchen.kv
    speed, on = efficiency(kitchen.efficiency), chip(kitchen.chip)
    return ttft(kitchen.of, on, *sizes, *formats, chips=kitchen.chips, efficiency=speed)


def _from_to(before: float, after: float, digits: int) -> str:
    """ "138 → 36.6"; once where both are the same."""
    one, other = (significant(value, digits) for value in (before, after))
    return other if abs(after / before - 1) <= _SAME else f"{one} → {other}"


def _title(rows: Sequence[_Row]) -> str:
    waiter, notes, first = ([row.cells[i] for row in rows] for i in (2, 1, 4))
    best = min(cell.ratio for cell in first)
    gain = f"more than {factor_of(best)}" if best < 1 - _SAME else "anything"
    spread = sorted((cell.ratio for cell in waiter), reverse=True)
    by = f"{factor_of(spread[0])} to {factor_of(spread[-1])}"
    who, verb = _helping(rows, waiter)
    others, _ = _helping(rows, notes)
    return (
        f"{who} {verb} the waiter ({by}), {others[0].lower()}{others[1:]} the notepad;\n"
        f"for the first token none brings {gain}"
    )


def _helping(rows: Sequence[_Row], cells: Sequence[_Cell]) -> tuple[str, str]:
    """Which fixes make a number less, and the verb."""
    names = [row.name for row, cell in zip(rows, cells, strict=True) if cell.kind == "less"]
    if len(names) == len(rows):
        return "Every fix", "relieves"
    if len(names) > 1:
        return f"{_NUMBERS[len(names)]} fixes", "relieve"
    return (f"Only {names[0]}" if names else "None"), "relieves"


def _in_words(row: _Row) -> str:
    cells = "; ".join(
        f"{head} {cell.text} ({cell.shown}{unit})"
        for (head, _, unit), cell in zip(_HEADS, row.cells, strict=True)
    )
    quality, what = (" ".join(text.split()) for text in (row.quality, row.what))
    return f"{row.name} ({what}): {cells}; quality: {quality}."


def _head(ax: Axes) -> None:
    y = _TOP + 0.34
    for x, (name, what, _) in zip(_LEFTS, _HEADS, strict=True):
        write(ax, x, y, name, weight="bold")
        write(ax, x, y - 0.08, what, size=SMALL, color=MUTED, va="top", linespacing=1.1)
    write(ax, _LAST, y, "quality", weight="bold")
    write(ax, _LAST, y - 0.08, "of the text", size=SMALL, color=MUTED, va="top")


def _draw_row(ax: Axes, top: float, row: _Row) -> None:
    ax.plot([MARGIN, WIDTH - MARGIN], [top - 0.08] * 2, color=RULE, linewidth=0.8)
    y = top - 0.32
    quiet: dict[str, Any] = {"size": SMALL, "color": MUTED, "va": "top", "linespacing": 1.15}
    write(ax, MARGIN, y, row.name, weight="bold", size=LEAD)
    write(ax, MARGIN, y - 0.05, row.what, **quiet)
    for x, cell in zip(_LEFTS, row.cells, strict=True):
        _mark(ax, x + 0.05, y + 0.05, cell.kind)
        write(ax, x + 0.17, y, cell.text, weight="bold", color=_SHAPES[cell.kind][1].ink)
        write(ax, x, y - 0.05, cell.shown, **quiet)
    if row.worse:
        _mark(ax, _LAST + 0.05, y + 0.05, "more")
    lines = row.quality.split("\n")
    write(ax, _LAST + 0.17 * row.worse, y, lines[0], size=SMALL)
    write(ax, _LAST, y - 0.05, "\n".join(lines[1:]), **quiet)


def _mark(ax: Axes, x: float, y: float, kind: str) -> None:
    shape, role = _SHAPES[kind]
    fill = PAPER if kind == "more" else role.fill
    look: dict[str, Any] = {"markerfacecolor": fill, "markeredgecolor": role.ink}
    ax.plot(x, y, shape, markersize=7, markeredgewidth=1.3, **look)


def _key(ax: Axes) -> None:
    y = _TOP - 4 * _PITCH - 0.16
    ax.plot([MARGIN, WIDTH - MARGIN], [y + 0.08] * 2, color=RULE, linewidth=0.8)
    words = {"less": "less: better", "more": "more: worse", "same": f"same within {_SAME:.0%}"}
    for x, (kind, text) in zip((1.78, 3.18, 4.58), words.items(), strict=True):
        _mark(ax, x + 0.05, y - 0.11, kind)
        write(ax, x + 0.17, y - 0.15, text, size=SMALL, color=MUTED)


# --- what two of them do together --------------------------------------------------------------


class _Pair(NamedTuple):
    """Some fixes together: what each gains alone, what they gain together."""

    names: tuple[str, ...]
    alone: tuple[float, ...]
    together: float
    missing: bool  # one of the kitchens has no room

    @property
    def product(self) -> float:
        whole = 1.0
        for gain in self.alone:
            whole *= gain
        return whole

    @property
    def kept(self) -> float:
        return self.together / self.product

    @property
    def kind(self) -> str:
        if abs(self.kept - 1) <= 2 * _SAME:
            return "same"
        return "more" if self.kept > 1 else "less"

    @property
    def name(self) -> str:
        return "all four" if len(self.names) == len(FIXES) else " + ".join(self.names)


_ALONE = (("INT4", "speculation"), ("INT4", "GQA"), ("GQA", "speculation"))
_CROWDED = (("INT4", "batching"), ("batching", "speculation"), ("batching", "GQA"), tuple(FIXES))
_COLUMNS = (MARGIN + 0.1, 2.22, 7.2, 7.92, 8.66)  # inches: name, gains alone; right edges of three
_AXIS = (3.5, 2.9)  # inches: left edge and width of the chart
_LINE, _GROUP, _FIRST = 0.265, 0.36, 4.5  # inches: pitch of rows, of groups, height of the first
_BASE = 0.98  # inches: where the chart ends
_ARROWS: dict[str, tuple[str, Role, Any]] = {
    "more": (">", NOTES, "solid"),
    "less": ("<", CHEF, (0, (2, 1.2))),
    "same": ("o", _NEITHER, "solid"),
}


@in_style
def fixes_together(kitchen: Fixes = WORKED) -> Picture:
    """Which pairs of fixes help each other and which cancel: together against the product.

    Gains are in tokens a second of the kitchen, by the law. A pair is added to the plain kitchen
    with the model's own clipboards; where GQA is one of the two, to one with a clipboard for each
    query head.

    Args:
        kitchen: with all four fixes. Its notes are taken in 16 bit.

    Raises ``ValueError`` for a kitchen that lacks one of them.
    """
    _check(kitchen)
    crowd = many(kitchen.batch, "guest")
    groups = {
        "One guest": [_pair(kitchen, names, 1) for names in _ALONE],
        f"{crowd} already on the trip": [_pair(kitchen, n, kitchen.batch) for n in _ALONE],
        f"From one guest to {crowd}": [_pair(kitchen, names, 1) for names in _CROWDED],
    }
    title = _verdict(groups[f"{crowd} already on the trip"][0], crowd)
    lead = (
        f"Tokens a second of the kitchen: {_where(kitchen)}.\n"
        "From the product of the gains (circle) to what the law gives together (arrow)"
    )
    said = " ".join(
        f"{name}: {'; '.join(map(_pair_in_words, pairs))}." for name, pairs in groups.items()
    )
    drafts = _drafting(kitchen, crowd)
    room = _no_room(kitchen, groups)
    law = f"{kitchen.times()}, notes in 16 bit, drafts looked up."
    picture = Picture(WIDTH, 6.2, alt=f"{title}. {lead}. {said} {drafts} {law}{room}")
    claim(picture, title, lead)
    _chart(picture, groups)
    source(picture, f"{drafts}{law}{footnote(kitchen.on)}{room}")
    return picture


def _pair(kitchen: Fixes, names: tuple[str, ...], guests: int) -> _Pair:
    """What `names` gain alone and together over a kitchen without them."""
    own = () if "GQA" in names else ("GQA",)

    def made(*fixes: str) -> Fixes:
        other = kitchen.only(*own, *fixes)
        return other if "batching" in names else other._replace(batch=guests)

    plain, together = made(), made(*names)
    singles = [made(name) for name in names]
    missing = any(k.room < k.batch for k in (plain, *singles, together))
    gains = tuple(k.total / plain.total for k in singles)
    called = tuple(_called(kitchen, name) for name in names)
    return _Pair(called, gains, together.total / plain.total, missing)


def _gain(factor: float) -> str:
    return f"× {significant(factor)}"


def _verdict(pair: _Pair, crowd: str) -> str:
    """The title: what INT4 and speculation do to each other with many guests."""
    one, other = (_gain(gain) for gain in pair.alone)
    made = f"{one} and {other} make {_gain(pair.together)}"
    name = " and ".join(pair.names)
    if pair.kind == "less":
        return f"With {crowd}, {name} cancel in part:\n{made}, not {_gain(pair.product)}"
    verb = "help each other" if pair.kind == "more" else "multiply"
    return f"With {crowd}, {name} {verb}:\n{made}"


def _pair_in_words(pair: _Pair) -> str:
    alone = " and ".join(_gain(gain) for gain in pair.alone)
    mark = ", which would not all fit" if pair.missing else ""
    return (
        f"{pair.name} alone {alone}, multiplied {_gain(pair.product)}, together "
        f"{_gain(pair.together)}, {pair.kept:.0%} of it{mark}"
    )


def _drafting(kitchen: Fixes, crowd: str) -> str:
    """What a draft model makes of it, where there is one of the same vocabulary."""
    of, draft = kitchen.of, model("Llama-2-7B")
    if of.vocab != draft.vocab or efficiency(kitchen.efficiency).fixed:
        return ""
    sizes = kitchen.tokens, kitchen.drafted, kitchen.batch
    plain, powder = (
        speculate(of, draft, *sizes, form, form, chips=kitchen.chips)
        for form in ("bf16", kitchen.weights)
    )
    gains = [_gain(float(t.speedup(kitchen.on, kitchen.acceptance))) for t in (plain, powder)]
    return (
        f"Drafted by {draft.name}, speculation brings {gains[0]} with {crowd}; "
        f"with both models in {kitchen.weights}, {gains[1]}.\n"
    )


def _no_room(kitchen: Fixes, groups: dict[str, list[_Pair]]) -> str:
    if not any(pair.missing for pairs in groups.values() for pair in pairs):
        return ""
    return f" † As if all fitted: the plain kitchen has room for {kitchen.plain.room:,}."


def _chart(picture: Picture, groups: dict[str, list[_Pair]]) -> None:
    left, width = _AXIS
    high = _FIRST + 0.02 - _BASE
    ax, paper = panel(picture, left, _BASE, width, high), canvas(picture)
    pairs = [pair for group in groups.values() for pair in group]
    gains = [gain for pair in pairs for gain in (pair.product, pair.together)]
    ticks = [t for t in (1, 3, 10, 30, 100, 300, 1000) if t <= 1.3 * max(gains)]
    log_axis(ax.xaxis, ticks, [f"× {t:,}" for t in ticks], "")
    ax.set(xlim=(min(1.0, min(gains) / 1.3), 1.3 * max(gains)), ylim=(_BASE, _BASE + high))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(True, axis="x", color=RULE, linewidth=0.7)
    ax.set_axisbelow(True)
    heads = ("", "each alone", "multiplied", "together", "of product")
    for x, head in zip(_COLUMNS, heads, strict=True):
        ha = "right" if x in _COLUMNS[2:] else "left"
        write(paper, x, _FIRST + 0.2, head, size=SMALL, color=MUTED, ha=ha)
    y = _FIRST
    for name, group in groups.items():
        write(paper, MARGIN, y, name, weight="bold", va="center_baseline")
        for pair in group:
            y -= _LINE
            _draw_pair(ax, paper, y, pair)
        y -= _GROUP


def _draw_pair(ax: Axes, paper: Axes, y: float, pair: _Pair) -> None:
    shape, role, dash = _ARROWS[pair.kind]
    ax.plot([pair.product, pair.together], [y, y], color=role.fill, linestyle=dash, zorder=3)
    hollow: dict[str, Any] = {"markerfacecolor": PAPER, "markeredgecolor": INK}
    ax.plot(pair.product, y, "o", markersize=8, markeredgewidth=1.4, zorder=4, **hollow)
    ax.plot(pair.together, y, shape, color=role.ink, markersize=7, zorder=5)
    dagger = " †" if pair.missing else ""
    alone = ", ".join(_gain(gain) for gain in pair.alone) if len(pair.alone) < 3 else ""
    cells = (f"{pair.name}{dagger}", alone, _gain(pair.product), _gain(pair.together))
    for x, cell in zip(_COLUMNS, (*cells, f"{pair.kept:.0%}"), strict=True):
        right = x in _COLUMNS[2:]
        strong = {"weight": "bold", "color": role.ink} if x == _COLUMNS[-1] else {}
        write(paper, x, y, cell, ha="right" if right else "left", va="center_baseline", **strong)
