"""The look of every picture: a card of its own, claims as titles, labels where the lines end.

A figure function is pure: parameters in, `Picture` out. `in_style` gives it the house's settings
for the time of the call, so nothing it does depends on the reader's matplotlib settings or changes
them. Everything is placed in inches from the lower left corner: a picture has one fixed size.

Colours are those of Okabe and Ito (jfly.uni-koeln.de/color), told apart by most kinds of colour
blindness; `Role.ink` is the darker shade that is readable as text. Colour is never alone: a line
also has its dash and its label, a mark its shape.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from PIL import Image

from kitchenlib.chips import Chip
from kitchenlib.units import significant

WIDTH = 9.0  #: inches; an SVG shows 96 pixels an inch, so 864 pixels
MARGIN = 0.32  #: inches between the card's edge and what stands on it
TITLE, LEAD, TEXT, SMALL = 15.0, 11.0, 10.0, 9.0  #: points; nothing is smaller than SMALL

PAPER, INK, MUTED, RULE = "#FBF8F1", "#22303C", "#625A4E", "#DED6C7"
CARD_EDGE = "#E4DCCD"


class Role(NamedTuple):
    """The colours of one part of the kitchen: `fill` for shapes and lines, `ink` for text."""

    fill: str
    ink: str


WAITER = Role("#0072B2", "#00598B")  # memory
CHEF = Role("#D55E00", "#A84A00")  # compute
SACK = Role("#E69F00", "#805800")  # weights
NOTES = Role("#009E73", "#00694D")  # KV cache
ORDER = Role("#CC79A7", "#93416E")  # tokens of the prompt
PLAIN = Role("#8C8577", MUTED)

_SETTINGS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same letters on every machine
    "font.size": TEXT,
    "text.color": INK,
    "text.hinting": "none",
    "text.parse_math": False,  # a dollar sign is a dollar sign
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "lines.linewidth": 2.2,
    "lines.solid_capstyle": "round",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL + 0.5,
    "ytick.labelsize": SMALL + 0.5,
    "xtick.major.size": 3.5,
    "ytick.major.size": 3.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "the kitchen",
    "savefig.dpi": "figure",
}

_ONE_AT_A_TIME = threading.RLock()
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@functools.cache
def _all_settings() -> dict[str, Any]:
    """Matplotlib's own defaults with the house's on top; the choice of a backend stays out."""
    defaults = {str(k): v for k, v in mpl.rcParamsDefault.items() if "backend" not in k}
    return defaults | _SETTINGS


@contextmanager
def style() -> Iterator[None]:
    """The house's settings for the time of a ``with`` block; the reader's come back after.

    One at a time: a kernel may draw an explorer in one thread and a cell's picture in another.
    """
    with _ONE_AT_A_TIME, mpl.rc_context():
        # past the validation of each value: all are valid, and it takes a millisecond
        dict.update(cast(dict[str, Any], mpl.rcParams), _all_settings())
        yield


def in_style(draw: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorator: `draw` runs with the house's settings."""

    @functools.wraps(draw)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with style():
            return draw(*args, **kwargs)

    return drawn


class Picture(Figure):
    """A figure on its own card, with the text that stands for it.

    Args:
        width, height: inches.
        alt: what the picture says, for a reader who cannot see it: the claim, then the data.

    In a notebook it shows as ``<img alt>`` with the same sentences as a caption to unfold; where
    HTML does not serve, as PNG; where no picture serves, as the sentences.
    """

    def __init__(self, width: float, height: float, *, alt: str) -> None:
        if not alt.strip():
            raise ValueError("alt is empty: say what the picture shows, claim first, then the data")
        super().__init__(figsize=(width, height), dpi=120)
        FigureCanvasAgg(self)
        self.alt = " ".join(alt.split())
        self.size = (width, height)
        self._card()

    def _card(self) -> None:
        """Rounded paper under everything: readable on a light page and on a dark one."""
        width, height = self.size
        self.add_artist(
            FancyBboxPatch(
                (0.02, 0.02),
                width - 0.04,
                height - 0.04,
                boxstyle="round,pad=0,rounding_size=0.16",
                transform=self.dpi_scale_trans,
                facecolor=PAPER,
                edgecolor=CARD_EDGE,
                linewidth=1.0,
                zorder=-10,
            )
        )

    @in_style
    def svg(self) -> str:
        """The picture as SVG, letters as paths: the same text on every machine and every build."""
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.savefig(buffer, format="svg", metadata=nothing)
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"

    @in_style
    def png(self) -> bytes:
        """The picture as PNG with a palette of 256 colours: a quarter of the bytes."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", pil_kwargs={"compress_level": 0})  # read at once
        with Image.open(buffer) as full:
            few = full.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        small = io.BytesIO()
        few.save(small, format="png", optimize=True)
        return small.getvalue()

    def html(self) -> str:
        """The picture as HTML that needs no files, no scripts and no style sheets."""
        return card(self.alt, "image/svg+xml", self.svg().encode(), self.pixels)

    @property
    def pixels(self) -> int:
        """The width at which a page shows the picture at full size."""
        return round(self.size[0] * 96)

    def save(self, folder: Path | str, name: str) -> None:
        """Write ``name.svg``, ``name.png`` and the alt text ``name.txt`` to `folder`."""
        to = Path(folder)
        to.joinpath(f"{name}.svg").write_text(self.svg(), encoding="utf-8", newline="\n")
        to.joinpath(f"{name}.png").write_bytes(self.png())
        to.joinpath(f"{name}.txt").write_text(self.alt + "\n", encoding="utf-8", newline="\n")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": self.alt,
            "text/html": self.html(),
            "image/png": base64.b64encode(self.png()).decode("ascii"),
        }


def card(alt: str, media_type: str, image: bytes, pixels: int) -> str:
    """An image and its words as HTML, inline styles only (notebooks drop style sheets).

    A dollar sign stands in an element of its own: between two bare ones pages see mathematics.
    """
    data = base64.b64encode(image).decode("ascii")
    words = html.escape(alt, quote=True)
    return (
        f'<figure style="margin:0.5em 0">'
        f'<img alt="{words}" src="data:{media_type};base64,{data}" '
        f'style="width:{pixels}px;max-width:100%;height:auto;display:block">'
        '<figcaption style="font-size:85%"><details><summary>The picture in words</summary>'
        f"{words.replace('$', '<span>$</span>')}</details></figcaption></figure>"
    )


# --- words on the card -------------------------------------------------------------------------


def claim(picture: Picture, title: str, lead: str = "") -> None:
    """The claim at the top of the card, and under it what is shown and in which unit."""
    top = picture.size[1] - MARGIN
    write(picture, MARGIN, top, title, size=TITLE, weight="bold", va="top", linespacing=1.15)
    below = top - 0.25 * (title.count("\n") + 1) - 0.06
    if lead:
        write(picture, MARGIN, below, lead, size=LEAD, color=MUTED, va="top", linespacing=1.25)


def source(picture: Picture, text: str) -> Text:
    """Where measured numbers come from and what a mark means: small, at the foot of the card."""
    return write(picture, MARGIN, 0.17, text, size=SMALL, color=MUTED, va="bottom", linespacing=1.2)


def origin(source: str) -> str:
    """The repository or list that a row's source begins with."""
    return source.split(" ")[0].removeprefix("github:")


def footnote(chip: Chip) -> str:
    """What the mark of a chip's label means, at the end of a source; nothing without a mark."""
    return "" if chip.verified else " * Not fully verified."


def enumerated(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def write(on: Picture | Axes, x: float, y: float, text: str, **style: Any) -> Text:
    """Text at a place: inches on a picture, data on axes."""
    style = {"size": TEXT, **style}
    if isinstance(on, Picture):
        return on.text(x, y, text, transform=on.dpi_scale_trans, **style)
    return on.text(x, y, text, **style)


def end_label(
    ax: Axes, x: float, y: float, text: str, role: Role = PLAIN, **style: Any
) -> Annotation:
    """Name a line where it ends (or anywhere along it): `text`, a little beside (x, y).

    `dx`, `dy` (points) move it; the remaining keywords are those of matplotlib's text.
    """
    offset = (style.pop("dx", 6), style.pop("dy", 0))
    style = {"color": role.ink, "size": TEXT, "va": "center", "linespacing": 1.15, **style}
    return ax.annotate(text, (x, y), offset, textcoords="offset points", **style)


def label_ends(ax: Axes, x: float, ends: Iterable[tuple[float, str, Role]], dx: float = 7) -> None:
    """Names at the ends (x, y) of lines, from the top, moved down where they would touch."""
    above = np.inf
    for y, text, role in sorted(ends, key=lambda end: end[0], reverse=True):
        at = ax.transData.transform((x, y))[1] * 72 / ax.figure.dpi
        above = min(at, above - 13)
        end_label(ax, x, y, text, role, dx=dx, dy=above - at)


# --- axes --------------------------------------------------------------------------------------


def panel(picture: Picture, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place on the card, all in inches."""
    wide, high = picture.size
    return picture.add_axes((left / wide, bottom / high, width / wide, height / high))


def canvas(picture: Picture) -> Axes:
    """Axes over the whole card whose units are inches: paper to draw on."""
    ax = panel(picture, 0, 0, *picture.size)
    ax.set(xlim=(0, picture.size[0]), ylim=(0, picture.size[1]))
    ax.set_axis_off()
    return ax


def log_axis(
    axis: XAxis | YAxis, ticks: Sequence[float], labels: Iterable[str], label: str
) -> None:
    """A logarithmic axis with these ticks, no minor ones (they are slow, and noise)."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter(list(labels)))
    axis.set_minor_locator(NullLocator())
    axis.set_label_text(label)


def grid(ax: Axes, which: str = "both") -> None:
    """Quiet lines behind the data."""
    ax.grid(True, axis=which, color=RULE, linewidth=0.7, zorder=0)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def counts(values: Iterable[float]) -> list[str]:
    """Tick labels for plain numbers: thousands separated, no needless zeros."""
    return [f"{value:,.0f}" if value >= 1 else f"{value:g}" for value in values]


def percent(share: float) -> str:
    """A share as a percentage, with a decimal where none would hide the point."""
    fine = share < 0.0995 or 0.995 < share < 0.9995
    return f"{100 * share:.1f}%" if fine else f"{100 * share:,.0f}%"


# --- moving pictures ---------------------------------------------------------------------------


class Stage:
    """A picture whose layout stays and whose actors move: only the actors are drawn again.

    Args:
        picture: complete with its axes, limits and everything that never changes.
        actors: the artists that do; they are drawn over the rest, in this order.
    """

    def __init__(self, picture: Picture, actors: Iterable[Artist]) -> None:
        self.picture = picture
        self.picture.set_dpi(100)  # a third fewer pixels than a still: sooner seen
        self.actors = tuple(actors)
        self._scenery: Any = None

    @in_style
    def frame(self) -> bytes:
        """The picture as it is now, as PNG: milliseconds instead of a tenth of a second."""
        agg = self.picture.canvas
        assert isinstance(agg, FigureCanvasAgg)
        if self._scenery is None:
            self._draw_scenery(agg)
        agg.restore_region(self._scenery)
        renderer = agg.get_renderer()
        for actor in self.actors:
            actor.draw(renderer)
        buffer = io.BytesIO()
        pixels = np.asarray(agg.buffer_rgba())
        Image.fromarray(pixels).save(buffer, format="png", compress_level=1)
        return buffer.getvalue()

    def _draw_scenery(self, agg: FigureCanvasAgg) -> None:
        shown = [actor.get_visible() for actor in self.actors]
        for actor in self.actors:
            actor.set_visible(False)
        agg.draw()
        self._scenery = agg.copy_from_bbox(self.picture.bbox)
        for actor, visible in zip(self.actors, shown, strict=True):
            actor.set_visible(visible)


class Gauge:
    """A bar from empty to full with its name above and its number beside: `show` a share.

    Args:
        ax: axes whose units are inches.
        x, y: lower left corner.
        width: of the full bar.
        name, role: what is gauged, and its colours.
    """

    def __init__(self, ax: Axes, x: float, y: float, width: float, name: str, role: Role) -> None:
        self.width = width
        write(ax, x, y + 0.3, name, color=MUTED)
        frame: dict[str, Any] = {"facecolor": PAPER, "edgecolor": INK, "linewidth": 1.1}
        ax.add_patch(Rectangle((x, y), width, 0.22, zorder=2, **frame))
        self._bar = Rectangle((x, y), 0, 0.22, color=role.fill, zorder=3, linewidth=0)
        ax.add_patch(self._bar)
        self._number = write(ax, x + width + 0.1, y + 0.03, "", weight="bold", size=LEAD)
        self.actors: tuple[Artist, ...] = (self._bar, self._number)

    def show(self, share: float) -> None:
        """Fill the bar to `share`; beyond full it stays full, and the number tells."""
        self._bar.set_width(self.width * min(share, 1.0))
        self._number.set_text(percent(share) if share < 10 else f"× {significant(share, 2)}")
