"""What a layer is: its matrices to scale, and the difference between one guest and many."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from kitchenlib.models import Model, layer_matrices
from kitchenlib.plots import scenery
from kitchenlib.plots.style import (
    CHEF,
    INK,
    LEAD,
    MARGIN,
    MUTED,
    ORDER,
    PAPER,
    RULE,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Picture,
    canvas,
    claim,
    in_style,
    write,
)
from kitchenlib.roofline import Work, matmul
from kitchenlib.units import human, kg

_ATTENTION, _FEED_FORWARD, _RESULT = "#F8E3B8", "#E9B44C", "#BFDDF0"
_BYTES = 2  # of a weight in 16 bit

Matrices = Sequence[tuple[str, int, int]]


@in_style
def one_layer(model: Model) -> Picture:
    """One layer as its matrices, drawn to scale: area is weights.

    Raises ``ValueError`` for a model whose layers are not made of plain matrices.
    """
    matrices = layer_matrices(model)
    size = {name: rows * columns * _BYTES for name, rows, columns in matrices}
    layer, sack = sum(size.values()), model.weight_bytes()
    number = {6: "six", 7: "seven"}[len(matrices)]
    title = f"One layer is {number} matrices: {kg(layer):.2f} kg of the {kg(sack):.0f} kg sack"
    shapes = "; ".join(
        f"{name} {rows:,} by {columns:,}, {human(size[name], 'B')}"
        for name, rows, columns in matrices
    )
    alt = (
        f"{title}. {model.name} at 16 bit, areas to scale: {shapes}. {model.layers} such layers "
        f"weigh {human(model.layers * layer, 'B')}. {_narrow(model, size)}"
    )
    picture = Picture(WIDTH, 5.75, alt=alt)
    claim(picture, title, f"{model.name} at 16 bit, to scale: area is bytes, rows × columns")
    ax = canvas(picture)
    sums = 6.42  # inches: where the column of sums begins
    _draw_matrices(ax, matrices, size, top=4.78, height=4.3, right=sums - 0.34)
    below = _sum_up(ax, model, size, left=sums, top=4.64)
    write(ax, sums, below, _narrow(model, size), va="top", color=MUTED, linespacing=1.35)
    _stack(ax, model.layers, sums, 0.48)
    return picture


def _draw_matrices(
    ax: Axes, matrices: Matrices, size: dict[str, int], top: float, height: float, right: float
) -> None:
    """Attention in the first row, one row each for gate and up, down standing at the right."""
    hidden, width = matrices[0][1], matrices[-1][1]
    gap, rows = hidden / 4, len(matrices) - 4
    across = max(width, sum(columns for *_, columns in matrices[:4]) + 1.5 * gap)
    unit = height / max(width, rows * hidden + (rows - 1) * gap)  # inches a row or column
    unit = min(unit, (right - MARGIN) / (across + gap + hidden))
    x, y = MARGIN, top
    for name, inputs, outputs in matrices[:4]:
        _draw_matrix(ax, name, x, y, inputs, outputs, unit, size[name], _ATTENTION)
        x += (outputs + gap / 2) * unit
    for name, inputs, outputs in matrices[4:-1]:
        y -= (hidden + gap) * unit
        _draw_matrix(ax, name, MARGIN, y, inputs, outputs, unit, size[name], _FEED_FORWARD)
    x = MARGIN + (across + gap) * unit
    _draw_matrix(ax, "down", x, top, width, hidden, unit, size["down"], _FEED_FORWARD)


def _draw_matrix(
    ax: Axes,
    name: str,
    x: float,
    top: float,
    rows: int,
    columns: int,
    unit: float,
    nbytes: int,
    fill: str,
) -> None:
    wide, high = columns * unit, rows * unit
    scenery.Pen(ax, x, top - high, 1.0).box((0, 0), (wide, high), fill, width=1.1)
    x, y = x + wide / 2, top - high / 2
    if wide < 0.5:  # too narrow for more than its letter
        write(ax, x, y, name, ha="center", va="center", weight="bold")
        return
    write(ax, x, y + 0.18, name, ha="center", weight="bold", size=LEAD)
    shape = f"{rows:,}\n× {columns:,}" if wide < 1.1 else f"{rows:,} × {columns:,}"
    text = f"{shape}\n{human(nbytes, 'B')}"
    write(ax, x, y + 0.09, text, ha="center", va="top", size=SMALL + 0.5, linespacing=1.3)


def _sum_up(ax: Axes, model: Model, size: dict[str, int], left: float, top: float) -> float:
    """From the matrices to the whole sack, as a column of sums; its lower edge."""
    attention, layer = sum(size[name] for name in "QKVO"), sum(size.values())
    rest = model.weight_bytes() - model.layers * layer
    rows = (
        (attention, "attention", _ATTENTION),
        (layer - attention, "feed-forward", _FEED_FORWARD),
        (layer, "one layer", None),
        (model.layers * layer, f"{model.layers} layers", None),
        (rest, "embedding, head", None),
        (model.weight_bytes(), "the whole sack", None),
    )
    pen = scenery.Pen(ax, 0, 0, 1.0)
    for i, (nbytes, what, fill) in enumerate(rows):
        y = top - 0.36 * i
        is_sum = i in (2, 5)
        if is_sum:
            pen.line([(left, y + 0.22), (left + 2.1, y + 0.22)], INK, 1.0)
        weight = "bold" if is_sum else "normal"
        write(ax, left + 0.82, y, human(nbytes, "B"), ha="right", weight=weight, size=LEAD)
        write(ax, left + 0.95, y, what, weight=weight)
        if fill:
            pen.box((left - 0.02, y - 0.02), (0.13, 0.13), fill, width=0.9)
    return top - 0.36 * len(rows) - 0.02


def _narrow(model: Model, size: dict[str, int]) -> str:
    """Why K and V are narrower than Q, where they are."""
    attention = model.blocks[0].attention
    shared = getattr(attention, "kv_heads", attention.heads)
    if shared == attention.heads:
        return f"K and V are as wide as Q: each\nof the {attention.heads} heads has its own."
    return (
        f"K and V, {human(size['K'], 'B')} each, are\n"
        "narrow on purpose: a later\nnotebook tells why."
    )


def _stack(ax: Axes, layers: int, x: float, y: float) -> None:
    """All layers, one on the other: the first one is the one drawn large."""
    pen, high = scenery.Pen(ax, x, y, 1.0), 1.2
    thick = high / layers
    pen.box((0.0, 0.0), (0.82, high), PAPER, width=1.0)
    for i in range(1, layers):
        pen.line([(0.02, i * thick), (0.80, i * thick)], RULE, 0.6)
    pen.box((0.0, 0.0), (0.82, max(thick, 0.03)), _FEED_FORWARD, width=1.0)
    write(ax, x + 0.95, y - 0.03, "this layer")
    text = f"{layers} layers,\none after another"
    write(ax, x + 0.95, y + high - 0.02, text, va="top", linespacing=1.35)


@in_style
def vector_or_matrix(model: Model, guests: int = 32) -> Picture:
    """The same matrix for one guest and for many: equal bytes, `guests` times the cuts."""
    name, inputs, outputs = layer_matrices(model)[0]
    one, many = matmul(1, inputs, outputs), matmul(guests, inputs, outputs)
    title = f"{guests} guests share one sack: the same bytes, {guests} times the cuts"
    lead = f"One matrix ({name}) of {model.name}: {inputs:,} × {outputs:,} weights at 16 bit"
    alt = (
        f"{title}. {lead}. One guest, vector times matrix: {_in_words(one)}. {guests} guests, "
        f"matrix times matrix: {_in_words(many)}."
    )
    picture = Picture(WIDTH, 5.0, alt=alt)
    claim(picture, title, lead)
    ax = canvas(picture)
    halves = (
        (MARGIN, 1, one, "1 guest", "vector × matrix"),
        (4.72, guests, many, f"{guests} guests", "matrix × matrix"),
    )
    for left, rows, work, heading, shape in halves:
        write(ax, left, 3.86, heading, weight="bold", size=12.5)
        write(ax, left + 1.15, 3.86, shape, color=MUTED)
        _product(ax, left, 2.28, rows)
        _bars(ax, left, work, many)
    scenery.Pen(ax, 4.51, 0.36, 1.0).line([(0, 0), (0, 3.7)], RULE, 1.2)
    return picture


def _in_words(work: Work) -> str:
    flops, nbytes = float(work.flops), float(work.bytes)
    return (
        f"{human(nbytes, 'B')} carried, {human(flops, 'FLOP')} cut, {work.intensity:.0f} FLOP/byte"
    )


def _product(ax: Axes, left: float, base: float, rows: int) -> None:
    """Guests' rows x the sack = results' rows."""
    pen, side = scenery.Pen(ax, left, base, 1.0), 1.14
    high = min(side, 0.1 + 0.034 * rows)
    bottom = (side - high) / 2
    for x, fill in ((0.0, ORDER.fill), (2.84, _RESULT)):
        pen.box((x, bottom), (side, high), fill, width=1.1)
        for i in range(1, min(rows, 64)):
            y = bottom + i * high / min(rows, 64)
            pen.line([(x + 0.02, y), (x + side - 0.02, y)], PAPER, 0.6)
    pen.box((1.42, 0.0), (side, side), _ATTENTION, width=1.1)
    scenery.sack(ax, left + 1.99, base + 0.2, 0.78, layer=4)
    for x, sign in ((1.28, "×"), (2.70, "=")):
        write(ax, left + x, base + side / 2, sign, ha="center", va="center", size=13)
    for x, name in ((0.0, "row per token"), (1.42, "one matrix"), (2.84, "results")):
        write(ax, left + x + side / 2, base - 0.06, name, ha="center", va="top", color=MUTED)


def _bars(ax: Axes, left: float, work: Work, most: Work) -> None:
    """Bytes and cuts as bars, each row to its own scale, and their ratio."""
    pen = scenery.Pen(ax, left, 0, 1.0)
    carried, cut = float(work.bytes), float(work.flops)
    rows = (
        ("crumbs carried", carried / float(most.bytes), human(carried, "B"), WAITER),
        ("cuts", cut / float(most.flops), human(cut, "FLOP"), CHEF),
    )
    for i, (what, share, number, role) in enumerate(rows):
        y = 1.42 - 0.36 * i
        write(ax, left, y, what, color=MUTED)
        pen.box((1.28, y - 0.04), (1.45 * share, 0.2), role.fill, edge=None)
        write(ax, left + 1.36 + 1.45 * share, y, number, weight="bold", size=LEAD, color=role.ink)
    write(ax, left, 0.62, "cuts per crumb", color=MUTED)
    write(ax, left + 1.28, 0.62, f"{work.intensity:.0f} FLOP/byte", weight="bold", size=TITLE)
