"""The kitchen itself, with its numbers: the picture that the collection opens with."""

from __future__ import annotations

from matplotlib.axes import Axes

from kitchenlib.chips import Chip
from kitchenlib.models import Model
from kitchenlib.plots import scenery
from kitchenlib.plots.style import (
    CHEF,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
    SACK,
    SMALL,
    TITLE,
    WAITER,
    WIDTH,
    Picture,
    Role,
    canvas,
    claim,
    in_style,
    source,
    write,
)
from kitchenlib.units import MB, human, kg

_Column = tuple[float, str, str, str, str, Role]


@in_style
def kitchen(chip: Chip, model: Model) -> Picture:
    """Who does what when a language model answers: sacks, notepad, waiter, chef, order."""
    title = "Whatever the chef cuts, the waiter must first carry"
    lead = f"{model.name} in 16 bit on one {chip.name}"
    columns = _columns(chip, model)
    said = "; ".join(f"{c[1]} ({c[2]}): {c[3]}, {c[4]}" for c in columns)
    alt = (
        f"{title}. {lead}. A drawn kitchen: a waiter pushes a sack from the warehouse to a chef "
        f"who waits with raised knife. {said}."
    )
    picture = Picture(WIDTH, 5.75, alt=alt)
    claim(picture, title, lead)
    ax = canvas(picture)
    _scene(ax, floor=2.06, ceiling=4.86)
    for x, name, term, number, unit, role in columns:
        write(ax, x, 1.49, name, ha="center", weight="bold", size=12.5)
        write(ax, x, 1.26, term, ha="center", color=MUTED)
        write(ax, x, 0.90, number, ha="center", color=role.ink, weight="bold", size=TITLE)
        write(ax, x, 0.68, unit, ha="center", size=SMALL + 0.5)
    source(picture, "1 kg of sack = 1 GB · one crumb = one byte · one cut = one operation (FLOP)")
    return picture


def _columns(chip: Chip, model: Model) -> tuple[_Column, ...]:
    """Place, kitchen name, hardware term, number, unit and colours of the five."""
    weights, note = model.weight_bytes(), model.kv_bytes_per_token()
    sack = f"{kg(weights):,.0f} kg", human(weights, "B")
    notes = f"{note / MB:.2f} g", f"{human(note, 'B')} a token"  # 1 g = 1 MB
    trips = f"{kg(chip.bandwidth):,.0f} kg/s", human(chip.bandwidth, "B/s")
    cuts = f"{chip.peak() / 1e12:.0f} trillion", f"cuts/s, {human(chip.peak(), 'FLOP/s')}"
    order = (f"{model.max_context:,}", "tokens at most") if model.max_context else ("", "tokens")
    return (
        (1.37, "Sacks", "model weights", *sack, SACK),
        (3.08, "Notepad", "KV cache", *notes, NOTES),
        (4.86, "Waiter", "memory bus", *trips, WAITER),
        (6.76, "Chef", "compute cores", *cuts, CHEF),
        (8.16, "Order", "prompt", *order, ORDER),
    )


def _scene(ax: Axes, floor: float, ceiling: float) -> None:
    """Warehouse at the left, kitchen at the right, and everyone in it."""
    _walls(scenery.Pen(ax, 0, 0, 1.0, 1.0), floor, ceiling)
    stack = [(0.82, 0), (1.37, 0), (1.92, 0), (1.10, 0.48), (1.65, 0.48), (1.37, 0.96)]
    for i, (x, up) in enumerate(stack):
        scenery.sack(ax, x, floor - 0.02 + up, 0.66, layer=2.0 + 0.1 * i)
    scenery.pallet(ax, 0.59, floor - 0.16, 1.56)
    scenery.clipboard(ax, 3.08, floor + 0.98, 1.2)
    scenery.shadow(ax, 4.55, floor - 0.14, 2.5)
    scenery.waiter(ax, 3.93, floor - 0.14, 1.3)
    scenery.cart(ax, 5.36, floor - 0.14, 0.95)
    scenery.sack(ax, 5.36, floor + 0.13, 0.98, layer=3.5)
    scenery.shadow(ax, 6.82, floor - 0.14, 1.7)
    scenery.chef(ax, 6.82, floor - 0.10, 1.32)
    scenery.counter(ax, 6.82, floor - 0.14, 1.45)
    scenery.ticket(ax, 8.24, floor + 1.0, 1.1)


def _walls(pen: scenery.Pen, floor: float, ceiling: float) -> None:
    left, right, wall = MARGIN, WIDTH - MARGIN, 2.42
    pen.box((left, floor), (right - left, ceiling - floor), scenery.WALL, edge=None)
    pen.box((left, floor), (wall - left, ceiling - floor), "#E6D8BD", edge=None)
    for row in range(1, 11):
        y = floor + row * (ceiling - floor) / 11
        pen.line([(left, y), (wall, y)], "#DCCDAE", 0.9)
    pen.box((left, floor - 0.34), (right - left, 0.34), scenery.FLOOR, edge=None)
    pen.box((wall, floor), (0.09, ceiling - floor), "#B79B6C", edge=None)
    pen.line([(left, floor), (right, floor)], "#A98B5B", 1.4)
    pen.box((7.78, floor + 2.05), (right - 7.78, 0.08), scenery.STEEL, width=1.0)  # ticket rail
