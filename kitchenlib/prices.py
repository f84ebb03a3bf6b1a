"""What a price sheet says: dollars per million tokens, and dollars per hour of a chip.

Rows come from ``data/prices.csv`` and ``data/gpu_prices.csv``, as found: each carries its date and
its source as text, and some dates are a year only. The sheets are a picked sample, never a census:
lists of the firms that make the models, a few hosts of open models, and 26 rows that were added
because their output costs no more than their input. A statistic over all rows counts those
exceptions too often, so leave them out of it: ``sheet_prices(picked=False)``. Some prices stand in
more than one list and are there twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib import data
from kitchenlib.inputs import Number, amount, broadcastable, count, quantity, scalar, wrong

#: Lists from which only rows with output at or below input were taken.
_EXCEPTIONS = ("genai-prices", "litellm")


@dataclass(frozen=True)
class Price:
    """What `per` tokens cost: those that are read, and those that are written.

    Attributes:
        input: `currency` for `per` tokens of the prompt: 0 or more, number or array.
        output: the same for tokens that are written; tokens of reasoning are written too.
        cached: the same for tokens of the prompt that are in the cache already; None where the
            sheet has no price for them, and they cost as much as `input`.
        currency: "USD", "J" (joules) ...
        per: tokens that a price is for, a million on price sheets.

    Raises ``ValueError`` for a price that is negative or no number, or arrays that do not fit.
    """

    input: Number
    output: Number
    cached: Number | None = None
    currency: str = "USD"
    per: float = 1_000_000

    def __post_init__(self) -> None:
        if not isinstance(self.currency, str) or not self.currency:
            raise wrong("currency", self.currency, "give its name, for example 'USD'")
        quantity("per", self.per, "tokens")
        unit = f"{self.currency} per {self.per:,.0f} tokens"
        for name in ("input", "output", "cached"):
            if name != "cached" or self.cached is not None:
                object.__setattr__(self, name, amount(name, getattr(self, name), unit))
        broadcastable(**self._given)

    @property
    def _given(self) -> dict[str, Number]:
        """The prices there are, by the names they have in messages."""
        cached = {} if self.cached is None else {"cached price": self.cached}
        return {"input price": self.input, "output price": self.output, **cached}

    @property
    def ratio(self) -> Number:
        """Output over input: infinite where reading is free, NaN where writing is free too."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return scalar(np.divide(self.output, self.input))

    def request(
        self,
        prompt: ArrayLike,
        reply: ArrayLike,
        cached: ArrayLike = 0,
        reasoning: ArrayLike = 0,
    ) -> Number:
        """What one request costs, in `currency`.

        Args:
            prompt: tokens of the prompt, the cached ones included.
            reply: tokens of the reply that the guest sees, 0 or more.
            cached: tokens of the prompt that are charged as cached.
            reasoning: tokens that are thought before the reply; they are charged as output
                (openrouter.ai/docs/use-cases/reasoning-tokens).

        Each may be an array; then the costs have the common shape of sizes and prices.

        Raises ``ValueError`` for a size that is no count, more cached tokens than the prompt has,
        or arrays that do not fit each other.
        """
        prompt = count("prompt", prompt, "tokens")
        reply = count("reply", reply, "tokens of the reply", least=0)
        cached = count("cached", cached, "tokens", least=0)
        reasoning = count("reasoning", reasoning, "tokens of reasoning", least=0)
        broadcastable(prompt=prompt, reply=reply, cached=cached, reasoning=reasoning, **self._given)
        if np.any(np.greater(cached, prompt)):
            raise ValueError(
                f"cached = {cached} of prompt = {prompt} will not do: at most all tokens of the "
                "prompt can be cached"
            )
        kept = self.input if self.cached is None else self.cached
        read = (prompt - cached) * self.input + cached * kept
        return (read + (reply + reasoning) * self.output) / self.per


@dataclass(frozen=True)
class SheetPrice:
    """One row of a price sheet, as it was on its date.

    Attributes:
        provider, model: as the sheet calls them; a model may have several rows (tiers, dates).
        date: as found. "as of" is the day a list was read, "..2026-07-30" a price until that day.
        price: US dollars per million tokens.
        condition: when the row holds ("peak", "GPT-5.4 >272k"); "" where it always does.
        kind: "first-party" (its maker sells it), "hosted-open" or "hosted/reseller".
        dataset: who read it: "hand-read", or the public list it was taken from.
        source: where it stood.
        picked: added because its output costs no more than its input; no part of a statistic.
    """

    provider: str
    model: str
    date: str
    price: Price
    condition: str
    kind: str
    dataset: str
    source: str
    picked: bool

    @property
    def when(self) -> str:
        """The date in words: "until 2026-07-30", "2025 (year only)"."""
        if self.date.startswith(".."):
            return f"until {self.date[2:]}"
        return f"{self.date} (year only)" if len(self.date) == 4 else self.date


@dataclass(frozen=True)
class ChipHour:
    """What one chip costs for an hour, as it was on its date.

    Attributes:
        provider: who rents it out; "market range" for the span over many.
        chip: its name in the catalogue of chips; None where that has no such chip. (A sheet that
            says "H100" leaves open which one: ``aliases.csv`` takes the SXM.)
        published_chip: as the source calls it.
        usd: US dollars per chip-hour; None where the source has a span and no price.
        span: the lowest and the highest price of such a source, else None.
        spot: the price for a chip that can be taken away at any time, or None.
        unit: how it is rented ("8x 44.00": eight together).
        date: as found.
        source, note: where it stood, and what to know about it.
    """

    provider: str
    chip: str | None
    published_chip: str
    usd: float | None
    span: tuple[float, float] | None
    spot: float | None
    unit: str
    date: str
    source: str
    note: str


@cache
def _sheet_prices() -> tuple[SheetPrice, ...]:
    return tuple(
        SheetPrice(
            provider=row["provider"],
            model=row["model"],
            date=row["date"],
            price=Price(
                float(row["input_usd_per_mtok"]),
                float(row["output_usd_per_mtok"]),
                _dollars(row["cached_input_usd_per_mtok"]),
            ),
            condition=row["condition"],
            kind=row["kind"],
            dataset=row["dataset"],
            source=row["source"],
            picked=row["dataset"] in _EXCEPTIONS,
        )
        for row in data.rows("prices.csv")
    )


@cache
def _chip_hours() -> tuple[ChipHour, ...]:
    return tuple(_chip_hour(row) for row in data.rows("gpu_prices.csv"))


def _chip_hour(row: dict[str, str]) -> ChipHour:
    low, dash, high = row["usd_per_gpu_hour"].partition("-")
    return ChipHour(
        provider=row["provider"],
        chip=_catalogue_name(row["gpu"]),
        published_chip=row["gpu"],
        usd=None if dash else float(low),
        span=(float(low), float(high)) if dash else None,
        spot=_dollars(row["spot_usd_per_gpu_hour"]),
        unit=row["unit_listed"],
        date=row["date"],
        source=row["source"],
        note=row["note"],
    )


def _catalogue_name(published: str) -> str | None:
    own = data.aliases("chip").get(published, published)
    return own if own in {row["name"] for row in data.rows("chips.csv")} else None


def _dollars(text: str) -> float | None:
    return float(text) if text else None


def sheet_prices(**conditions: str | bool | Price) -> tuple[SheetPrice, ...]:
    """Rows of price sheets that meet every one of `conditions`, in the order of the file.

        sheet_prices(provider="deepseek", date="2026-11")

    A condition is a field of `SheetPrice` and its value. Conditions that each hold somewhere but
    never together give an empty tuple.

    Raises `UnknownName` for a field that there is not, or a value that no row has.
    """
    return data.select(_sheet_prices(), conditions, "sheet price", "priced")


def sheet_price(**conditions: str | bool | Price) -> SheetPrice:
    """The one row of the price sheets that meets `conditions` (see `sheet_prices`).

    Raises ``ValueError`` that tells rows apart where there is none or more than one, `UnknownName`
    as `sheet_prices`.
    """
    return data.only(_sheet_prices(), conditions, "sheet price", "priced")


def chip_hours(**conditions: str | float | tuple[float, float] | None) -> tuple[ChipHour, ...]:
    """Prices of chip-hours that meet every one of `conditions`, in the order of the file.

        chip_hours(chip="H100 SXM", provider="Nebius")

    A condition is a field of `ChipHour` and its value. Conditions that each hold somewhere but
    never together give an empty tuple.

    Raises `UnknownName` for a field that there is not, or a value that no row has.
    """
    return data.select(_chip_hours(), conditions, "chip-hour", "rented")


def chip_hour(**conditions: str | float | tuple[float, float] | None) -> ChipHour:
    """The one price of a chip-hour that meets `conditions` (see `chip_hours`).

    Raises ``ValueError`` that tells rows apart where there is none or more than one, `UnknownName`
    as `chip_hours`.
    """
    return data.only(_chip_hours(), conditions, "chip-hour", "rented")
