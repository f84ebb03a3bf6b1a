"""Claims of speed held against the law: below the roof they may be true, above it they are not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from kitchenlib import serving
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, quantity, wrong
from kitchenlib.measured import Measurement, measurement
from kitchenlib.models import model as model_called
from kitchenlib.phases import decode_step
from kitchenlib.plots.style import (
    CHEF,
    INK,
    MARGIN,
    MUTED,
    NOTES,
    PAPER,
    SMALL,
    WAITER,
    WIDTH,
    Picture,
    canvas,
    claim,
    counts,
    grid,
    in_style,
    log_axis,
    origin,
    panel,
    percent,
    source,
    write,
)
from kitchenlib.units import significant


class Claim(NamedTuple):
    """A number of tokens per second with all that must be known to judge it.

    Attributes:
        speed: tokens per second that are claimed, written one token a pass.
        model, chip: catalogue names.
        weights: number format.
        chips: how many share the model.
        guests: served at once.
        together: whether `speed` counts the tokens of all guests, or else those of each.
        context: tokens of notes of each guest when the writing starts.
        origin: who says so; rows of one origin stand under it.
        said: model and format as they were published, if under other names.
        source: where.
    """

    speed: float
    model: str
    chip: str
    weights: str = "bf16"
    chips: int = 1
    guests: int = 1
    together: bool = False
    context: int = 0
    origin: str = "Yours"
    said: str = ""
    source: str = ""

    @property
    def roof(self) -> float:
        """Tokens per second that the law's floor allows: nothing that writes them can be faster.

        Raises as `kitchenlib.decode_step`, and `UnknownName` for a name in no catalogue.
        """
        step = decode_step(
            model_called(self.model), self.context, self.guests, self.weights, chips=self.chips
        )
        counted = self.guests if self.together else 1
        return counted / float(step.floor(chip_called(self.chip)))

    @property
    def share(self) -> float:
        """`speed` as a share of the roof: above 1 it is impossible."""
        return self.speed / self.roof

    @property
    def fits(self) -> bool:
        """Whether weights and notes fit into nine tenths of the memory."""
        on, of = chip_called(self.chip), model_called(self.model)
        found = serving.fits(of, on, self.context, self.guests, self.weights, chips=self.chips)
        return bool(found)


def published(row: Measurement) -> Claim:
    """The claim that a measured row makes.

    Args:
        row: of "decode_tok_s_per_seq" or "decode_tok_s_total", with a chip and a format.

    Raises ``ValueError`` for a row of another kind, or in a format that the library lacks.
    """
    instance("row", row, Measurement, 'measurement(id="M0797")')
    if not row.metric.startswith("decode_tok_s") or row.chip is None:
        raise ValueError(
            f"{row.id} is a {row.metric} on {row.published_chip}: give a row of tokens per second "
            "written, on a chip that is named"
        )
    if row.weights is None:
        raise ValueError(
            f"the library has no format {row.published_weights!r}, so {row.id} has no roof: give a "
            "row whose weights are in one of kl.formats()"
        )
    return Claim(
        speed=row.value,
        model=row.model,
        chip=row.chip,
        weights=row.weights,
        chips=row.chips,
        guests=row.batch,
        together=row.metric.endswith("total"),
        context=row.context or 0,
        origin=_MEASURED,
        said=f"{row.published_model}, {row.published_weights}",
        source=origin(row.locator),
    )


_MADE_UP = "A claim, made up for you"
_CHANGED = "With something changed"
_MEASURED = "Measured and published"
_INVENTED = Claim(110, "Llama-3.1-70B", "H100 SXM", origin=_MADE_UP)
_CHANGES: tuple[dict[str, Any], ...] = (
    {"weights": "int4-g128"},
    {"weights": "int4-g128", "chips": 2},
    {"chips": 8},
    {"chips": 2, "guests": 32, "together": True},
)
CLAIMS = (
    _INVENTED,
    *(_INVENTED._replace(origin=_CHANGED, **change) for change in _CHANGES),
    published(measurement(id="M0797")),  # gpt-fast
    published(measurement(id="M0819")),
    published(measurement(id="M0072")),  # llama.cpp, two chips of one table
    published(measurement(id="M0750")),
)
_MOST = 12
_LEFT, _WIDE, _FOOT, _TOP = 2.8, 3.06, 1.16, 1.5  # inches
_ROW, _HEADING = 0.43, 0.34
_CLAIMED, _ROOF, _VERDICT = 6.5, 7.1, 7.24  # two right edges and a left one
_BAR = "#CFE1EE"


@in_style
def claims_and_floors(claims: Sequence[Claim] = CLAIMS) -> Picture:
    """Claimed tokens per second against the roof that the law's floor sets, a row for each claim.

    Args:
        claims: 1 to 12; the first one is in the title.

    Raises ``ValueError`` for another number of them and for a claim that holds no speed, as
    `kitchenlib.decode_step` for its sizes, `UnknownName` for its names.
    """
    _check(claims)
    title = _title(claims[0])
    lead = "Tokens per second. Each bar ends at the roof, 1 / (the law's floor of one step)"
    groups = [(name, list(group)) for name, group in groupby(claims, lambda c: c.origin)]
    said = ". ".join(f"{name}: {'; '.join(map(_in_words, group))}" for name, group in groups)
    high = _ROW * len(claims) + _HEADING * len(groups)
    alt = f"{' '.join(title.split())}. {lead}. {said}."
    picture = Picture(WIDTH, _FOOT + high + _TOP, alt=alt)
    claim(picture, title, lead)
    paper = canvas(picture)
    ax = _axes(picture, claims, high)
    y = high
    for name, group in groups:
        y -= _HEADING
        write(paper, MARGIN, _FOOT + y + 0.08, name, weight="bold")
        for each in group:
            y -= _ROW
            _bar(ax, y + _ROW / 2, each)
            _words(paper, _FOOT + y + _ROW / 2, each)
    _heads(paper, _FOOT + high)
    source(picture, _sources(claims))
    return picture


def _check(claims: Sequence[Claim]) -> None:
    if not 0 < len(claims) <= _MOST:
        raise ValueError(f"{len(claims)} claims will not do: give 1 to {_MOST}")
    for each in claims:
        instance("claims", each, Claim, 'Claim(110, "Llama-3.1-70B", "H100 SXM")')
        quantity("speed", each.speed, "tokens per second")
        dimension("guests", each.guests, "guests")
        dimension("chips", each.chips, "chips")
        dimension("context", each.context, "tokens", least=0)
        if not isinstance(each.together, bool):
            raise wrong("together", each.together, "give True (all guests) or False (each)")


# --- in words ----------------------------------------------------------------------------------


def _title(first: Claim) -> str:
    over = first.share > 1
    times = f"{significant(first.share, 2)} times" if over else f"{percent(first.share)} of"
    return (
        f"Divide bandwidth by bytes: {_speed(first)} tokens a second\n"
        f"for {_guests(first)} is {times} what {_chips(first)} can carry"
    )


def _chips(each: Claim) -> str:
    return f"{'one' if each.chips == 1 else each.chips} {chip_called(each.chip).short_label}"


def _guests(each: Claim) -> str:
    if each.guests == 1:
        return "one guest"
    return f"{each.guests} guests together" if each.together else f"each of {each.guests} guests"


def _what(each: Claim) -> str:
    return each.said or f"{model_called(each.model).name}, {each.weights}"


def _speed(each: Claim) -> str:
    """As published, however many digits that has."""
    if each.speed < 0.1:
        return significant(each.speed)
    return f"{each.speed:,.2f}".rstrip("0").rstrip(".")


def _verdict(each: Claim) -> str:
    share = f"{significant(each.share, 2)} ×" if each.share > 1 else f"{percent(each.share)} of"
    return f"{share} the roof"


def _objections(each: Claim) -> str:
    both = ("impossible" if each.share > 1 else "", "" if each.fits else "does not fit")
    return ", ".join(filter(None, both))


def _in_words(each: Claim) -> str:
    said = (_what(each), _chips(each), _guests(each), f"{_speed(each)} claimed")
    judged = (f"roof {significant(each.roof)}", _verdict(each), _objections(each))
    return ", ".join(filter(None, (*said, *judged)))


def _sources(claims: Sequence[Claim]) -> str:
    tables = "; ".join(dict.fromkeys(each.source for each in claims if each.source))
    notes = ["One token a pass: speculation writes several, and may pass the roof"]
    if not all(chip_called(each.chip).verified for each in claims):
        notes.append("* Not fully verified")
    return ". ".join(notes) + (f".\nMeasured: {tables}." if tables else ".")


# --- the rows ----------------------------------------------------------------------------------


def _axes(picture: Picture, claims: Sequence[Claim], high: float) -> Axes:
    ax = panel(picture, _LEFT, _FOOT, _WIDE, high)
    all_of_them = [value for each in claims for value in (each.speed, each.roof)]
    low, far = min(all_of_them) / 1.8, 1.25 * max(all_of_them)
    ticks = _round_numbers(low, far)
    log_axis(ax.xaxis, ticks, counts(ticks), "tokens per second, log scale")
    ax.set(xlim=(low, far), ylim=(0, high))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    grid(ax, "x")
    return ax


def _round_numbers(low: float, far: float) -> list[float]:
    """Ticks between two numbers: 1, 2, 5 and so on, or some powers of ten where they are many."""
    near = far / low < 150
    steps = (1, 2, 5) if near else (1,)
    ticks = [step * 10.0**power for power in range(-3, 9) for step in steps]
    ticks = [tick for tick in ticks if low < tick < far]
    return ticks if near else ticks[:: 1 + len(ticks) // 6]


def _bar(ax: Axes, y: float, each: Claim) -> None:
    """A bar up to the roof, and the claim: a dot on it, or a cross beyond."""
    low, roof = ax.get_xlim()[0], each.roof
    ax.barh(y, roof - low, 0.24, left=low, color=_BAR, zorder=2)
    ax.plot([roof, roof], [y - 0.15, y + 0.15], color=WAITER.fill, linewidth=2.4, zorder=3)
    if each.share <= 1:
        ax.plot(each.speed, y, "o", color=NOTES.fill, markersize=9, zorder=5)
        return
    ax.plot([roof, each.speed], [y, y], color=CHEF.fill, linewidth=1.4, dashes=(3, 2), zorder=3)
    edge: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 0.8}
    ax.plot(each.speed, y, "X", color=CHEF.fill, markersize=12, zorder=5, **edge)


def _words(paper: Axes, y: float, each: Claim) -> None:
    right: dict[str, Any] = {"ha": "right", "va": "center"}
    write(paper, _LEFT - 0.14, y + 0.085, _what(each), **right)
    where = f"{_chips(each)}, {_guests(each)}"
    write(paper, _LEFT - 0.14, y - 0.085, where, size=SMALL, color=MUTED, **right)
    write(paper, _CLAIMED, y, _speed(each), **right)
    write(paper, _ROOF, y, significant(each.roof), color=WAITER.ink, **right)
    ink, against = (CHEF.ink if each.share > 1 else NOTES.ink), _objections(each)
    up = 0.085 if against else 0.0
    write(paper, _VERDICT, y + up, _verdict(each), color=ink, weight="bold", va="center")
    if against:
        write(paper, _VERDICT, y - up, against, size=SMALL, color=MUTED, va="center")


def _heads(paper: Axes, top: float) -> None:
    write(paper, _CLAIMED, top, "claimed", ha="right", color=INK)
    write(paper, _ROOF, top, "roof", ha="right", color=WAITER.ink)
