"""A picture as a language model reads it: pixels, patches, rows. And pictures to try it on.

The pictures are the collection's own: the chef at his board, and a page of a story. They are drawn
here and belong to nobody else; any photograph will do as well, as pixels from 0 to 255.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from kitchenlib.inputs import dimension, wrong
from kitchenlib.llm.reading import market_day
from kitchenlib.miniatures.patches import (
    SIDE,
    cut,
    join,
    lost,
    projection,
    word_rows,
)
from kitchenlib.plots import scenery
from kitchenlib.plots.letters import text_width
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    PAPER,
    SMALL,
    WIDTH,
    Picture,
    canvas,
    claim,
    in_style,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.units import many

Pixels = NDArray[np.uint8]  # (height, width, 3)

RANKS = (1, 4, 16)  #: directions that are kept, for what is left of the picture with fewer
_INCHES = 2.0  # side of the chef's picture, as it is drawn
_PAGE, _PAGE_LETTERS = (8.27, 11.69), 7.0  # inches (A4), points: small print
_PAGE_MARGIN, _LEADING = 1.0, 1.45  # inches; of the letters' size
_SHOWN = 8  # rows of the picture that are drawn
_MOST_WORDS, _MOST_ACROSS, _RANKS = 8, 16, 3
_EVERY = 6  # of the numbers in a row, one is drawn
_TONES = 32  # of a colour, in what is drawn: fewer are a smaller file
_STRIP, _PITCH = (6.1, 2.58), 0.158  # inches: where strips begin, how long; from strip to strip
_SHADES = LinearSegmentedColormap.from_list("rows", [INK, "#7C93A6", PAPER, "#F0C98A", "#C77700"])


def pixels(picture: Picture, width: int) -> Pixels:
    """A picture of the collection as pixels, `width` of them in a row: (height, width, 3)."""
    across = dimension("width", width, "pixels")
    before = picture.dpi
    canvas = picture.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    picture.set_dpi((across + 0.01) / picture.size[0])  # it rounds down
    canvas.draw()
    seen = np.asarray(canvas.buffer_rgba())[..., :3].copy()
    picture.set_dpi(before)
    return seen


@in_style
def chef_pixels(side: int = 8 * SIDE) -> Pixels:
    """The chef at his board with a sack before it, `side` pixels square."""
    drawn = Picture(_INCHES, _INCHES, alt="A chef at a board, knife raised, and a sack.")
    ax = canvas(drawn)
    pen = scenery.Pen(ax, 0, 0, 1.0, 1.0)
    pen.box((0, 0), (_INCHES, _INCHES), scenery.WALL, edge=None)
    pen.box((0, 0), (_INCHES, 0.42), scenery.FLOOR, edge=None)
    pen.line([(0, 0.42), (_INCHES, 0.42)], "#A98B5B", 1.4)
    scenery.sack(ax, 0.42, 0.16, 0.66, layer=3.5)
    scenery.shadow(ax, 1.2, 0.14, 1.2)
    scenery.chef(ax, 1.16, 0.16, 1.06)
    scenery.counter(ax, 1.16, 0.12, 1.12)
    return pixels(drawn, side)


@in_style
def page_pixels(width: int = 1240) -> Pixels:
    """The first page of `kitchenlib.llm.market_day` on A4, letters of 7 points.

    Args:
        width: pixels in a row; 1,240 are 150 to the inch, as of an ordinary scan.
    """
    wide, high = _PAGE
    drawn = Picture(wide, high, alt="A page of text.")
    drawn.add_artist(Rectangle((0, 0), 1, 1, facecolor="white", transform=drawn.transFigure))
    room = (wide - 2 * _PAGE_MARGIN) * 72
    y = high - _PAGE_MARGIN
    for line in _lines(market_day(), room):
        write(drawn, _PAGE_MARGIN, y, line, size=_PAGE_LETTERS, va="top", color="black")
        y -= _LEADING * _PAGE_LETTERS / 72
    return pixels(drawn, width)


def _lines(text: str, room: float) -> list[str]:
    """The text in lines of at most `room` points, its paragraphs kept apart."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if text_width(longer, _PAGE_LETTERS) > room:
                lines.append(line)
                longer = word
            line = longer
        lines += [line, ""]
    return lines[:-1]


@in_style
def picture_as_rows(
    picture: Pixels | None = None,
    words: Mapping[str, ArrayLike] | None = None,
    side: int = SIDE,
    ranks: Sequence[int] = RANKS,
) -> Picture:
    """A picture, its patches, and their rows beside those of words; and what fewer numbers keep.

    Args:
        picture: pixels from 0 to 255, a square of at most 16 by 16 patches; `chef_pixels`.
        words: word -> its row, all of one length, one to eight; those of
            `kitchenlib.miniatures.patches.word_rows`.
        side: pixels along a patch.
        ranks: directions that are kept of the picture, three numbers, fewest first.

    Raises ``ValueError`` for another picture, or words without rows.
    """
    picture = chef_pixels() if picture is None else np.asarray(picture)
    rows = _checked_words(word_rows() if words is None else words)
    patches, across = _checked(picture, side)
    width = len(next(iter(rows.values())))
    size = float(np.mean(np.square(list(rows.values())))) ** 0.5
    _check_ranks(ranks, min(len(patches) - 1, patches.shape[1], width))
    whole = projection(patches, width, size=size)
    seen = whole.rows(patches)
    gone = lost(patches, [*ranks, width])
    exact = bool(np.array_equal(whole.patches(seen), patches))
    title = (
        f"{len(patches)} patches of a picture are {len(patches)} rows of {width} numbers:\n"
        f"for the language model they are laid out as words are"
    )
    lead = f"A patch of {side} × {side} pixels becomes a row by one matrix product, untrained"
    back = "to the last pixel" if exact else f"but for {percent(gone[-1])} of the differences"
    left = "; ".join(
        f"{_directions(rank)}, {percent(share)} lost"
        for rank, share in zip(ranks, gone, strict=False)
    )
    said = (
        f"{picture.shape[1]} by {picture.shape[0]} pixels, cut into {len(patches)} patches of "
        f"{patches.shape[1]} numbers; rows of the picture beside those of the words "
        f"{', '.join(rows)}. All {width} numbers give the picture back "
        f"{back}. From fewer directions, of the differences between patches: {left}"
    )
    drawn = Picture(WIDTH, 6.5, alt=f"{' '.join(title.split())}. {lead}. {said}.")
    claim(drawn, title, lead)
    busiest = _busiest(patches, across)
    _draw_picture(drawn, picture, patches, across, busiest)
    _draw_rows(drawn, patches, seen, rows, busiest * across)
    _draw_left(drawn, patches, across, ranks, gone, back)
    whose = "Rows of words: SmolLM2's embedding. " if words is None else ""
    source(
        drawn,
        f"{whose}The matrix is made for this picture: it keeps the directions in\n"
        f"which patches differ most, turned at random. {_fixed(width, patches.shape[1])}"
        "A model reads such rows like any others; it has not learned to see.",
    )
    return drawn


def _fixed(width: int, numbers: int) -> str:
    """What a matrix that is the same for every picture cannot do, where rows are the shorter."""
    if width >= numbers:
        return "\n"
    return (
        "A fixed one, as real models have, loses some of others:\n"
        f"{width} numbers are fewer than {numbers}. "
    )


def _checked_words(words: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float32]]:
    rows = {word: np.asarray(row, np.float32) for word, row in words.items()}
    alike = len({row.shape for row in rows.values()}) == 1
    if not alike or len(rows) > _MOST_WORDS or not any(row.any() for row in rows.values()):
        wanted = f"give one to {_MOST_WORDS} words with a row each, all of one length, not of zeros"
        raise wrong("words", list(words), wanted)
    return rows


def _checked(picture: Pixels, side: int) -> tuple[NDArray[Any], int]:
    """Patches, and how many lie side by side."""
    patches = cut(picture, side)
    high, wide, _ = picture.shape
    if high != wide or wide // side > _MOST_ACROSS or picture.dtype != np.uint8:
        wanted = f"give a square of 2 to {_MOST_ACROSS} patches a side, pixels from 0 to 255"
        raise wrong("picture", picture, wanted)
    return patches, wide // side


def _check_ranks(ranks: Sequence[int], most: int) -> None:
    given = [dimension("ranks", rank, "directions") for rank in ranks]
    if len(given) != _RANKS or given != sorted(set(given)) or given[-1] > most:
        wanted = f"give {_RANKS} different numbers of directions, fewest first, at most {most}"
        raise wrong("ranks", ranks, wanted)


def _directions(number: int) -> str:
    return many(number, "direction")


def _busiest(patches: NDArray[Any], across: int) -> int:
    """The row of the picture whose patches differ most."""
    spread = patches.reshape(across, -1).astype(float).std(axis=1)
    return int(spread.argmax())


def _image(drawn: Picture, left: float, bottom: float, size: float, shown: Pixels) -> Axes:
    """Pixels as a square of `size` inches, in few tones."""
    ax = panel(drawn, left, bottom, size, size)
    step = 256 // _TONES
    few = (shown // step * (255 / (_TONES - 1))).round().astype(np.uint8)
    ax.imshow(few, interpolation="none", aspect="auto")
    ax.set_axis_off()
    return ax


def _draw_picture(
    drawn: Picture, picture: Pixels, patches: NDArray[Any], across: int, busiest: int
) -> None:
    write(drawn, MARGIN, 5.13, "The picture", weight="bold")
    write(drawn, MARGIN, 2.78, f"{picture.shape[1]} × {picture.shape[0]} pixels", color=MUTED)
    _image(drawn, MARGIN, 3.0, 2.02, picture)
    write(drawn, 2.62, 5.13, "cut into patches", weight="bold")
    note = f"{len(patches)} of {patches.shape[1]} numbers"
    write(drawn, 2.62, 2.78, note, color=MUTED)
    side = picture.shape[0] // across
    gap = max(side // 5, 1)
    apart = np.full((across * (side + gap),) * 2 + (3,), 0, np.uint8)
    apart[:] = [int(PAPER[i : i + 2], 16) for i in (1, 3, 5)]
    for number, patch in enumerate(patches):
        row, column = np.divmod(number, across) * np.array(side + gap)
        apart[row : row + side, column : column + side] = patch.reshape(side, side, 3)
    ax = _image(drawn, 2.62, 3.0, 2.02, apart)
    top = busiest * (side + gap) - gap / 2 - 0.5
    frame: dict[str, Any] = {"facecolor": "none", "edgecolor": CHEF.ink, "linewidth": 2}
    ax.add_patch(Rectangle((-1, top), across * (side + gap), side + gap, clip_on=False, **frame))


def _draw_rows(
    drawn: Picture,
    patches: NDArray[Any],
    seen: NDArray[np.float32],
    words: Mapping[str, NDArray[np.float32]],
    first: int,
) -> None:
    """One number in six of each row: those of the framed patches, then of the words."""
    left, long = _STRIP
    small: dict[str, Any] = {"size": SMALL, "color": MUTED}
    write(drawn, 5.0, 5.13, "in rows, as words are", weight="bold")
    write(drawn, left + long, 5.13, "one number in six", ha="right", **small)
    write(drawn, left - 0.34, 4.85, "patches", size=SMALL, ha="right", color=CHEF.ink)
    most = 2.5 * float(np.std(seen))
    side = round((patches.shape[1] / 3) ** 0.5)
    shown, y = seen[first : first + _SHOWN], 4.84
    for patch, row in zip(patches[first:], shown, strict=False):
        _image(drawn, left - 0.24, y - 0.005, 0.125, patch.reshape(side, side, 3))
        _strip(drawn, y, row / most)
        y -= _PITCH
    if len(shown) < len(seen):
        more = f"… and {len(seen) - len(shown)} more of the picture"
        write(drawn, left, y - 0.02, more, **small)
        y -= _PITCH + 0.06
    for word, row in words.items():
        write(drawn, left - 0.12, y + 0.012, word, size=SMALL, ha="right")
        _strip(drawn, y, row / most)
        y -= _PITCH


def _strip(drawn: Picture, y: float, row: NDArray[np.float32]) -> None:
    """A row as a strip: dark where a number is -1 or less, in its warmest tone from 1 on."""
    left, long = _STRIP
    tones = np.floor((row[::_EVERY] + 1) / 2 * (_TONES + 1)).clip(0, _TONES)
    ax = panel(drawn, left, y, long, 0.115)
    limits: dict[str, Any] = {"vmin": 0, "vmax": _TONES}
    ax.imshow(tones[None], cmap=_SHADES, interpolation="none", aspect="auto", **limits)
    ax.set_axis_off()


def _draw_left(
    drawn: Picture,
    patches: NDArray[Any],
    across: int,
    ranks: Sequence[int],
    gone: NDArray[np.float64],
    back: str,
) -> None:
    """The picture again, from its rows, with all directions kept and with fewer."""
    write(drawn, MARGIN, 2.36, "Back from the rows, with", weight="bold")
    most = min(len(patches) - 1, patches.shape[1])
    note = (
        f"A direction is one way in which\npatches differ. These {len(patches)} differ\n"
        f"in {most} ways at most. Each way\nthat is left out takes something\nfrom every patch."
    )
    style: dict[str, Any] = {"size": SMALL, "color": MUTED, "linespacing": 1.25}
    write(drawn, MARGIN, 2.18, note, va="top", **style)
    x = 2.62
    for rank, share in zip([*ranks, None], gone, strict=True):
        made = projection(patches, rank=rank)
        again = join(made.patches(made.rows(patches)), across)
        _image(drawn, x, 0.98, 1.2, again)
        head = "all numbers" if rank is None else _directions(rank)
        write(drawn, x, 2.36, head, weight="bold")
        said = back if rank is None else f"{percent(share)} lost"
        write(drawn, x, 0.76, said, size=SMALL, color=MUTED)
        x += 1.6
