"""Pictures and sound in tokens: how many rows each family makes of them, and what those cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from PIL import Image

from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.llm.reading import market_day, readings
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.plots.sight import Pixels, page_pixels
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    NOTES,
    ORDER,
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
    label_ends,
    log_axis,
    origin,
    panel,
    source,
    write,
)
from kitchenlib.prices import SheetPrice, sheet_price
from kitchenlib.senses import SIGHTS, audio_tokens, encoder_flops, image_tokens
from kitchenlib.serving import ttft
from kitchenlib.units import dollars, human, significant

PAGE_WORDS = 500  #: of a page of text
PICTURE = (1024, 768)  #: pixels, of the picture in the table
_CLIP = 30  # seconds of sound
_HEARD, _BEFORE = "Voxtral", "Whisper"  # who reads it, and whose rows are joined for that
_SMALLEST, _LARGEST = 224, 4096  # pixels along the longer side
_THOUSAND = 1000  # pictures, pages or clips, for the price
_MILLION = 1_000_000
_ROWS = 8  # of the table at most
#: Families that are shown a page, and whether they squeeze it into a square.
_READERS = (("LLaVA-1.5", False), ("Gemma-3", True), ("Qwen2-VL", False))
_CROP = (0.116, 0.0838, 0.21, 0.0255)  # of the page: left, top, width, height of what is shown
_LOOKS: tuple[tuple[Role, Any], ...] = (
    (WAITER, "solid"),
    (SACK, (0, (5, 1.5))),
    (NOTES, (0, (1, 1.2))),
    (CHEF, (0, (4, 1.2, 1, 1.2))),
    (ORDER, (0, (2.5, 1.2))),
)


def page_tokens(words: int = PAGE_WORDS) -> int:
    """Tokens of a page of `words` words, as SmolLM2's tokenizer cuts the story of a market day.

    From the tokens that were counted there (``data/perplexity.csv``): 1.27 for a word. Other
    tokenizers and other texts differ.
    """
    dimension("words", words, "words")
    return round(words * readings()[0].tokens / len(market_day().split()))


class _Dish(NamedTuple):
    """A picture, a page or a clip: what it becomes on one chef's board.

    Attributes:
        name, tokens: whose, and how many rows.
        notes: bytes they leave in the notepad.
        seconds: TTFT of a prompt of these rows alone, by the law.
        eyes: seconds of the encoder before it, at the chip's peak; None where it is not counted.
        price: dollars for a thousand.
    """

    name: str
    tokens: int
    notes: float
    seconds: float
    eyes: float | None
    price: float

    def __str__(self) -> str:
        eyes = f", its encoder before that {human(self.eyes, 's')}" if self.eyes else ""
        return (
            f"{self.name}: {self.tokens:,} tokens, {human(self.notes, 'B')} of notes, first token "
            f"after {human(self.seconds, 's')} at least{eyes}, {dollars(self.price)} a thousand"
        )


@in_style
def senses_in_tokens(
    model: Model | None = None,
    chip: Chip | None = None,
    sheet: SheetPrice | None = None,
    picture: tuple[int, int] = PICTURE,
    words: int = PAGE_WORDS,
    families: Sequence[str] = tuple(SIGHTS),
) -> Picture:
    """Tokens of a picture by its size and family, beside a page and 30 s of sound; and their cost.

    Every family's rows are served to the same language model, so that only their number tells.

    Args:
        model, chip: who reads the rows, in 16 bit; Llama-3.1-8B on an H100 SXM.
        sheet: what tokens of a prompt cost; OpenAI's price for gpt-5-mini.
        picture: width and height in pixels, for the table.
        words: of a page of text.
        families: of `kitchenlib.senses.SIGHTS`, one to five.
    """
    model = model or model_called("Llama-3.1-8B")
    chip = chip or chip_called("H100 SXM")
    sheet = sheet or sheet_price(provider="openai", model="gpt-5-mini")
    _check(model, chip, sheet, picture, families)
    page = page_tokens(words)
    seen = [_seen(family, picture, model, chip, sheet) for family in families]
    text = _dish(f"{words} words of text", page, model, chip, sheet)
    sound = int(audio_tokens(_HEARD, _CLIP))
    heard = _dish(f"{_CLIP} s of sound, {_HEARD}", sound, model, chip, sheet)
    before = f"rows of {_BEFORE}, not joined", int(audio_tokens(_BEFORE, _CLIP))
    dishes = sorted([*seen, text, heard], key=lambda dish: -dish.tokens)
    title = _title(seen, page)
    sides = f"{picture[0]:,} × {picture[1]:,}"
    read = f"every family's rows read by {model.name} on one {chip.short_label}"
    lead = f"A picture of {sides} pixels; {read}"
    told = "; ".join(map(str, dishes))
    readers = ", ".join(f"{name} {_pixels_high(name)} pixels" for name, _ in _READERS)
    said = (
        f"{told}. {_CLIP} s of sound, {before[0]}: {before[1]:,}. Of a page of small print, "
        f"photographed, this much height is left: {readers}"
    )
    drawn = Picture(WIDTH, 7.5, alt=f"{' '.join(title.split())}. {lead}. {said}.")
    claim(drawn, title, lead)
    _lines(drawn, families, picture, [(text.name, page), (heard.name, sound), before])
    _page(drawn)
    _table(canvas(drawn), dishes, text)
    source(
        drawn,
        f"Price, as for text: {sheet.provider}, {sheet.model}, {sheet.when}; "
        f"{origin(sheet.source)}. Providers charge\npictures by their own rules. TTFT and encoder: "
        f"bounds by the law; no encoder of sound is counted.\n"
        f"A word of text: {significant(page / words)} tokens. {_BEFORE}: its encoder's rows for "
        f"the same {_CLIP} s; {_HEARD} joins {before[1] // sound} to a token."
        f"{footnote(chip)}",
    )
    return drawn


def _check(
    model: Model,
    chip: Chip,
    sheet: SheetPrice,
    picture: tuple[int, int],
    families: Sequence[str],
) -> None:
    instance("model", model, Model, 'kl.model("Llama-3.1-8B")')
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    instance("sheet", sheet, SheetPrice, 'kl.sheet_price(provider="mistral", ...)')
    if not isinstance(picture, tuple) or len(picture) != 2:
        raise wrong("picture", picture, "give width and height in pixels, for example (1024, 768)")
    if isinstance(families, str) or not 0 < len(families) <= len(_LOOKS):
        raise wrong("families", families, f"give one to {len(_LOOKS)} names of families that see")


def _dish(
    name: str, tokens: int, model: Model, chip: Chip, sheet: SheetPrice, eyes: float | None = None
) -> _Dish:
    price = float(np.asarray(sheet.price.input)) * tokens * _THOUSAND / _MILLION
    seconds = float(ttft(model, chip, tokens))
    return _Dish(name, tokens, float(model.kv_bytes(tokens)), seconds, eyes, price)


def _seen(
    family: str, picture: tuple[int, int], model: Model, chip: Chip, sheet: SheetPrice
) -> _Dish:
    eyes = float(encoder_flops(family, *picture)) / chip.peak()
    return _dish(family, int(image_tokens(family, *picture)), model, chip, sheet, eyes)


def _title(seen: Sequence[_Dish], page: int) -> str:
    few, many = (pick(dish.tokens for dish in seen) for pick in (min, max))
    rows = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    pages = significant(few / page, 2)
    if few != many:
        pages += f" to {significant(many / page, 2)}"
    return (
        f"A picture costs {rows} tokens, not one: as much as\n"
        f"{pages} pages of text, and all of it stays in the notes"
    )


# --- tokens by size ----------------------------------------------------------------------------


def _lines(
    drawn: Picture,
    families: Sequence[str],
    picture: tuple[int, int],
    others: Sequence[tuple[str, int]],
) -> None:
    """Tokens of each family, and what else is as many rows whatever the picture: name, tokens."""
    wide, high = picture
    write(drawn, MARGIN, 6.1, "Tokens, by the longer side in pixels", weight="bold")
    ax = panel(drawn, 0.85, 3.52, 2.5, 2.42)
    sides = (256, 512, 1024, 2048, 4096)
    log_axis(ax.xaxis, sides, counts(sides), f"pixels, the shape {wide:,} : {high:,}")
    ticks = (100, 300, 1000, 3000, 10_000)
    log_axis(ax.yaxis, ticks, counts(ticks), "")
    ax.set(xlim=(_SMALLEST, _LARGEST), ylim=(40, 20_000))
    grid(ax)
    across, down = _same_shape(wide, high)
    every = np.maximum(across, down)
    ends = []
    for family, (role, dash) in zip(families, _LOOKS, strict=False):
        line = np.asarray(image_tokens(family, across, down))
        ax.plot(every, line, color=role.fill, linestyle=dash, zorder=3)
        ends.append((float(line[-1]), f"{family}: {line[-1]:,.0f}", role))
    for name, tokens in others:
        ax.axhline(tokens, color=PLAIN.fill, linewidth=1, zorder=2)
        ends.append((float(tokens), f"{name}: {tokens:,}", PLAIN))
    label_ends(ax, _LARGEST, ends)


def _same_shape(wide: int, high: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sizes of pictures of exactly this shape, up to the end of the axis: widths and heights."""
    common = math.gcd(wide, high)
    unit = np.array([[wide], [high]]) / common
    every = np.geomspace(_SMALLEST, _LARGEST, 241)
    times = np.unique(np.maximum(np.floor(every / unit.max()), 1))
    across, down = unit * times
    return across, down


# --- a page, as each family sees it ------------------------------------------------------------


@cache
def _sheet() -> Pixels:
    return page_pixels()


def _pixels_high(family: str) -> int:
    """Pixels of the page's longer side that the encoder sees: all, if pictures keep their size."""
    return SIGHTS[family].side or _sheet().shape[0]


def _page(drawn: Picture) -> None:
    """Two lines of a page of small print, at the pixels that families leave of it."""
    left, top = 6.02, 6.1
    write(drawn, left, top, "Small print, photographed", weight="bold")
    page = _sheet()
    high, wide, _ = page.shape
    y = top - 0.72
    for family, square in _READERS:
        longer = _pixels_high(family)
        size = (longer if square else round(wide * longer / high), longer)
        small = Image.fromarray(page).resize(size, Image.Resampling.BICUBIC)
        ax = panel(drawn, left, y, 2.66, 0.46)
        ax.imshow(_crop(np.asarray(small)), interpolation="none", aspect="auto")
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set(visible=True, color=RULE)
        tokens = image_tokens(family, wide, high)
        words = f"{family}: {tokens:,} tokens, {longer:,} pixels high"
        write(drawn, left, y - 0.17, words, size=SMALL, color=MUTED)
        y -= 0.87


def _crop(page: Pixels) -> Pixels:
    high, wide, _ = page.shape
    left, top, across, down = _CROP
    rows = slice(round(top * high), round((top + down) * high))
    few = page[rows, round(left * wide) : round((left + across) * wide)]
    return (few // 16 * 17).astype(np.uint8)  # sixteen tones: a smaller file


# --- what it costs -----------------------------------------------------------------------------

_HEADS = (
    (3.34, "tokens"),
    (4.28, "pages of\ntext"),
    (5.3, "notes that\nstay"),
    (6.34, "TTFT\nat least"),
    (7.5, "encoder before\nit, at least"),
    (8.68, "dollars for a\nthousand"),
)


def _table(paper: Axes, dishes: Sequence[_Dish], text: _Dish) -> None:
    top = 2.78
    write(paper, MARGIN, top + 0.02, "In numbers", weight="bold")
    style: dict[str, Any] = {"size": SMALL, "color": MUTED, "ha": "right", "linespacing": 1.1}
    for x, head in _HEADS:
        write(paper, x, top, head, **style)
    paper.plot([MARGIN, WIDTH - MARGIN], [top - 0.08] * 2, color=RULE, linewidth=0.8)
    for row, dish in enumerate(dishes[:_ROWS], start=1):
        y = top - 0.08 - 0.235 * row
        weight = "bold" if dish is text else "normal"
        write(paper, MARGIN, y, dish.name, weight=weight)
        cells = (
            f"{dish.tokens:,}",
            significant(dish.tokens / text.tokens, 2),
            human(dish.notes, "B"),
            human(dish.seconds, "s"),
            human(dish.eyes, "s") if dish.eyes else "–",
            dollars(dish.price).removeprefix("$"),
        )
        for (x, _), cell in zip(_HEADS, cells, strict=True):
            write(paper, x, y, cell, ha="right", weight=weight, color=INK)
