"""A workload, a kitchen of your own and a price sheet: what both cost, from when one pays.

The numbers of the explorer of `kitchenlib.plots.bill`, and what there is to choose in it.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kitchenlib.chips import Chip, chip
from kitchenlib.efficiency import efficiency
from kitchenlib.inputs import find, wrong
from kitchenlib.models import model
from kitchenlib.plots.style import footnote, percent
from kitchenlib.prices import ChipHour, Price, SheetPrice, chip_hours, sheet_price
from kitchenlib.serving import (
    USABLE,
    break_even,
    energy_per_token,
    fits,
    kitchen_bill,
    kitchens_needed,
    max_batch,
    memory_needed,
    monthly,
    price_per_million,
    request_time,
)
from kitchenlib.units import dollars, human, many, significant

# --- what there is to choose ---------------------------------------------------------------------

#: Models that read 131,072 tokens: whatever the other controls say is short enough for them.
MODELS = ("Llama-3.1-8B", "Llama-3.1-70B", "gpt-oss-120b", "DeepSeek-V3")
WEIGHTS = ("bf16", "fp8", "int4-g128")
CACHED = (0.0, 0.25, 0.5, 0.75, 0.9)  #: shares of the prompt
REASONING = (0, 500, 2_000, 8_000, 20_000)  #: tokens
OCCUPANCY = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)  #: shares of the time
_BLOG = "RunPod (per blog)"  # its prices are doubtful: taken where nobody else rents that chip


class Listed(NamedTuple):
    """A row of a price sheet to choose, and which dish it is.

    Attributes:
        row: as it stands on the sheet.
        model: the catalogue's name of what is sold, "" if the catalogue has no such model.
        weights: the format it is sold in, as far as its name or its maker says.
        sister: sold is another training of that model: the same work for every token.
    """

    row: SheetPrice
    model: str = ""
    weights: str = ""
    sister: bool = False

    def dish(self, ours: str, weights: str) -> str:
        """How what is sold compares with a model of `ours` in a format of `weights`."""
        if self.model != ours:
            return "another model: not the same dish"
        same = "a sister model of the same shape" if self.sister else "the same model"
        return same if self.weights == weights else f"{same}, sold in {self.weights}"

    @property
    def name(self) -> str:
        """Who sells what, without the sheet's own prefix."""
        return f"{self.row.provider} {self.row.model.removeprefix('@cf/')}"


@cache
def rented() -> dict[str, ChipHour]:
    """Chip-hours to choose: name -> row. Left out: spans, and rows that fit no catalogue chip."""
    priced = [row for row in chip_hours() if row.chip and row.usd is not None]
    others = {row.chip for row in priced if row.provider != _BLOG}
    kept = [row for row in priced if row.provider != _BLOG or row.chip not in others]
    names = [f"{row.provider} {row.published_chip}" for row in kept]
    told = [
        f"{name} ({row.unit})" if names.count(name) > 1 else name
        for name, row in zip(names, kept, strict=True)
    ]
    return dict(zip(told, kept, strict=True))


def doubt(row: ChipHour) -> str:
    """Words to add to a price that its source leaves in doubt (see the row's note)."""
    return " (doubtful)" if row.provider == _BLOG else ""


def rent_of(chip: Chip) -> ChipHour | None:
    """What an hour of a chip costs; None where nobody's price for it can be relied on."""
    rows = [row for row in rented().values() if row.chip == chip.name]
    return next((row for row in rows if not doubt(row)), None)


def paid(row: ChipHour | None) -> str:
    """Where the price of a chip-hour comes from, and when it held."""
    if row is None or row.usd is None:
        return "No price of this chip to rely on."
    return f"{row.provider}, {dollars(row.usd)} a chip-hour, {row.date}; {row.source}."


@cache
def sheets() -> dict[str, Listed]:
    """Rows of price sheets to choose, open models on hosts first: name -> row and dish."""
    eight, seventy, large = "Llama-3.1-8B", "Llama-3.1-70B", "DeepSeek-V3"
    chosen = [
        Listed(_row("cloudflare", "@cf/llama-3.1-8b-instruct"), eight, "bf16"),
        Listed(_row("cloudflare", "@cf/llama-3.1-8b-instruct-fp8"), eight, "fp8"),
        Listed(_row("cloudflare", "@cf/llama-3.1-8b-instruct-fp8-fast"), eight, "fp8"),
        Listed(_row("cloudflare", "@cf/llama-3.1-8b-instruct-awq"), eight, "int4-g128"),
        Listed(_row("cloudflare", "@cf/llama-3.3-70b-instruct-fp8-fast"), seventy, "fp8", True),
        Listed(_row("cloudflare", "@cf/deepseek-r1-distill-qwen-32b")),
        Listed(_row("deepseek", "deepseek-chat (V3)"), large, "fp8"),
        Listed(_row("deepseek", "deepseek-reasoner (R1)"), large, "fp8", True),
        Listed(_row("deepseek", "deepseek-flash (V4.1-Flash-1017)", condition="off-peak")),
        Listed(_row("mistral", "mistral-large-latest")),
        Listed(_row("google", "gemini-2.5-flash")),
        Listed(_row("openai", "gpt-5-mini")),
        Listed(_row("openai", "gpt-5.4")),
        Listed(_row("anthropic", "Claude Haiku 4.5")),
        Listed(_row("anthropic", "Claude Opus 5")),
    ]
    return {each.name: each for each in chosen}


def _row(provider: str, name: str, **conditions: str) -> SheetPrice:
    return sheet_price(provider=provider, model=name, **conditions)


# --- the bill ------------------------------------------------------------------------------------


class Part(NamedTuple):
    """What one kind of token costs in a request."""

    name: str
    dollars: float


class Bill(NamedTuple):
    """A workload, a kitchen of your own and a price sheet: what the explorer can be set to.

    A guest in the kitchen has, on average, the prompt and half of what is written in its notes.
    The bill is for chips alone: engineers, nights emptier than the occupancy says, failed requests
    and the network are left out.

    Attributes:
        requests: a day.
        prompt, reply: tokens of each request, read and written for the guest to see.
        cached: the share of the prompt that is in the cache already, from 0 to below 1.
        reasoning: tokens written before the reply; they cost what the reply's tokens cost.
        model, weights: catalogue name and number format.
        chip: one of `rented`: whose chip, at which price.
        chips: that share the model, rented together: one kitchen.
        batch: guests served at once.
        occupancy: the share of the rented time with guests.
        efficiency: how far the chips stay from the law, by name (`kitchenlib.efficiency`).
        sheet: one of `sheets`: whose price.

    Whatever is wrong with a value raises `UnknownName` or ``ValueError`` when it is used.
    """

    requests: int = 20_000
    prompt: int = 2_000
    reply: int = 500
    cached: float = 0.5
    reasoning: int = 0
    model: str = "Llama-3.1-8B"
    weights: str = "bf16"
    chip: str = "Nebius H100 SXM"
    chips: int = 1
    batch: int = 32
    occupancy: float = 0.5
    efficiency: str = "planned"
    sheet: str = "cloudflare llama-3.1-8b-instruct"

    # what the names stand for

    @property
    def chip_hour(self) -> ChipHour:
        """The row that the price of the chip comes from."""
        return find("chip-hour", self.chip, rented())

    @property
    def paid(self) -> float:
        """Dollars for one chip for an hour."""
        return self.chip_hour.usd or math.nan  # every row to choose has a price

    @property
    def on(self) -> Chip:
        """The chip of the catalogue."""
        return chip(str(self.chip_hour.chip))

    @property
    def listed(self) -> Listed:
        """The row of the price sheet, and which dish it is."""
        return find("price sheet", self.sheet, sheets())

    @property
    def dish(self) -> str:
        """Whether the price sheet sells what your own kitchen cooks."""
        return self.listed.dish(model(self.model).name, self.weights)

    @property
    def cached_tokens(self) -> int:
        """Whole tokens of the prompt that are in the cache already."""
        if not 0 <= self.cached < 1:
            raise wrong("cached", self.cached, "give a share of the prompt, from 0 to below 1")
        return int(self.cached * self.prompt)

    @property
    def written(self) -> int:
        """Tokens written for a request: reasoning and reply."""
        return self.reasoning + self.reply

    @property
    def context(self) -> int:
        """Tokens in a guest's notes on average: its prompt and half of what is written."""
        return self.prompt + self.written // 2

    @property
    def law(self) -> dict[str, Any]:
        """What every pass of this kitchen has in common, as the law's keywords."""
        return {
            "batch": self.batch,
            "cached": self.cached_tokens,
            "weights": self.weights,
            "chips": self.chips,
            "efficiency": efficiency(self.efficiency),
        }

    # prices, and one request

    def own_price(self) -> Price:
        """Dollars per million tokens in your own kitchen, whether or not the guests fit."""
        return _own_price(self)

    def sheet_price(self) -> Price:
        """Dollars per million tokens on the price sheet."""
        return self.listed.row.price

    def request(self, price: Price) -> float:
        """What one request costs at a `price`, in its currency."""
        return float(price.request(self.prompt, self.reply, self.cached_tokens, self.reasoning))

    def parts(self, price: Price) -> tuple[Part, ...]:
        """What one request costs at a `price`, by kind of token."""
        kept = price.input if price.cached is None else price.cached
        fresh = self.prompt - self.cached_tokens
        costs = {
            "fresh input": fresh * price.input,
            "cached input": self.cached_tokens * kept,
            "reasoning": self.reasoning * price.output,
            "reply": self.reply * price.output,
        }
        return tuple(Part(name, float(cost) / price.per) for name, cost in costs.items())

    def joules(self) -> float | None:
        """Joules for one request, each chip at its rated power; None where that is not known."""
        if self.on.power is None:
            return None
        price = energy_per_token(
            model(self.model), self.on, self.context, prompt=self.prompt, **self.law
        )
        return self.request(price)

    def waits(self) -> tuple[float, float]:
        """Seconds until the guest sees the first token of the reply, and the last.

        All guests of the batch are read together, and what is reasoned is not seen.
        """
        of, on = model(self.model), self.on
        first, last = (
            request_time(of, on, self.prompt, tokens, **self.law)
            for tokens in (self.reasoning + 1, self.written)
        )
        return float(first), float(last)

    # the month

    @property
    def rent(self) -> float:
        """Dollars an hour for one kitchen."""
        return self.paid * self.chips

    def sheet_bill(self) -> float:
        """Dollars a month by the price sheet."""
        return float(monthly(self.request(self.sheet_price()), self.requests))

    def own_bill(self) -> float:
        """Dollars a month for your own kitchens."""
        return float(kitchen_bill(self.request(self.own_price()), self.requests, self.rent))

    def kitchens(self) -> int:
        """Kitchens that the workload keeps as busy as the occupancy says; at least 1."""
        return int(kitchens_needed(self.request(self.own_price()), self.requests, self.rent))

    def busy(self) -> float:
        """The share of the month in which your kitchens have guests: at most the occupancy."""
        return self.occupancy * self.requests / (self.full() * self.kitchens())

    def month(self) -> float:
        """Dollars a month for one kitchen, whether or not anybody comes."""
        return float(kitchen_bill(0, 0, self.rent))

    def full(self) -> float:
        """Requests a day that one kitchen serves at its occupancy."""
        own = self.request(self.own_price())
        return float(break_even(own, own, self.rent))  # where its rent is what they cost

    def even(self) -> float:
        """Requests a day from which one kitchen costs no more than the sheet; or infinite."""
        sheet, own = self.request(self.sheet_price()), self.request(self.own_price())
        return float(break_even(sheet, own, self.rent))

    # whether there can be such a kitchen

    def largest_batch(self) -> int:
        """The most guests whose notes fit beside the weights; 0 where not even those fit."""
        most = max_batch(model(self.model), self.on, self.context, self.weights, chips=self.chips)
        return int(most)

    def fits(self) -> bool:
        """Whether the weights and the notes of all guests fit."""
        of = model(self.model)
        return bool(fits(of, self.on, self.context, self.batch, self.weights, chips=self.chips))

    def obstacle(self) -> str:
        """Why there can be no such kitchen, in a few words; "" where it can be."""
        if self.chips > 1 and self.on.interconnect is None:
            return f"{self.on.short_label} is not known to share a sack: take 1 chip"
        if self.fits():
            return ""
        most = self.largest_batch()
        if not most:
            return "the sack and one guest's notes do not fit"
        return f"{many(self.batch, 'guest')} do not fit, {most:,} would"

    def room(self) -> str:
        """Bytes needed on each chip and those there are, and what to do about it."""
        of, on = model(self.model), self.on
        needed = memory_needed(of, self.context, self.batch, self.weights, chips=self.chips)
        usable = USABLE * (on.memory_bytes or math.nan)
        return (
            f"{human(float(needed), 'B')} needed on each chip, {human(usable, 'B')} usable: take "
            "more chips, a lighter format or fewer guests"
        )

    # in words

    def facts(self) -> dict[str, str]:
        """The numbers in words: name -> value with its unit."""
        own = {"your own kitchen": f"not possible: {self.obstacle()} ({self.room()})"}
        if not self.obstacle():
            own = self._own_facts()
        unpriced = self.cached_tokens and self.sheet_price().cached is None
        fresh = "no price of their own on this sheet: charged as fresh"
        return {
            "price sheet": self._costs(self.sheet_price(), self.sheet_bill()),
            **own,
            "dish": self.dish,
            **({"cached tokens": fresh} if unpriced else {}),
        }

    def _costs(self, price: Price, bill: float) -> str:
        return f"{dollars(self.request(price))} a request, {in_dollars(bill)} a month"

    def _own_facts(self) -> dict[str, str]:
        first, last = self.waits()
        joules = self.joules()
        power = "no rated power in the catalogue"
        return {
            "your own": f"{dollars(self.own_bill() / float(monthly(1, self.requests)))} a request, "
            f"{in_dollars(self.own_bill())} a month ({many(self.kitchens(), 'kitchen')})",
            "with these guests": f"busy {percent(self.busy())} of the time; as busy as you allow, "
            f"{dollars(self.request(self.own_price()))} a request",
            "break-even": self.break_even(),
            "a guest waits": f"{_duration(first)} for the first word, {_duration(last)} for the "
            "last",
            "energy": power if joules is None else f"{human(joules, 'J')} a request",
            "in memory": f"{many(self.batch, 'guest')} of at most {self.largest_batch():,}",
        }

    def break_even(self) -> str:
        """From how many requests a day your own kitchen costs less."""
        even, full = self.even(), self.full()
        if math.isinf(even):
            return "never: a request costs more in your own kitchen"
        words = f"from {whole(even)} requests a day"
        if 2 * even <= full:
            return words
        return (
            f"{words}; from {whole(full)} you need a second kitchen, which pays only from "
            f"{whole(2 * even)} (later ones: see the tint)"
        )

    def claim(self) -> str:
        """The bill in a sentence."""
        if self.obstacle():
            return f"No such kitchen: {self.obstacle()}"
        sheet, own = self.sheet_bill(), self.own_bill()
        times = significant(max(sheet, own) / min(sheet, own), 2)
        kitchen = "your own kitchens" if self.kitchens() > 1 else "your own kitchen"
        if times == "1.0":
            return f"The price sheet costs about as much as {kitchen}"
        if sheet > own:
            return f"The price sheet costs {times} times as much as {kitchen}"
        verb = "cost" if self.kitchens() > 1 else "costs"
        return f"{kitchen.capitalize()} {verb} {times} times as much as the price sheet"

    def lead(self) -> tuple[str, str, str]:
        """Workload, kitchen and price sheet."""
        kept = f" ({percent(self.cached)} cached)" if self.cached_tokens else ""
        thought = f", {self.reasoning:,} reasoned" if self.reasoning else ""
        return (
            f"{many(self.requests, 'request')} a day, each "
            f"{many(self.prompt, 'token')} read{kept}{thought}, {self.reply:,} written",
            f"Your own: {self.model} ({self.weights}) on {self.chips} {self.on.short_label}, "
            f"{many(self.batch, 'guest')}, busy at most {self.occupancy:.0%}",
            f"Price sheet: {self.listed.name}; {self.dish}",
        )

    def sources(self) -> tuple[str, str]:
        """Where both prices come from, and when they held."""
        hour, row, share = self.chip_hour, self.listed.row, efficiency(self.efficiency)
        when = f"{row.when}, {row.condition}" if row.condition else row.when
        return (
            f"Your own: {hour.provider}, {dollars(self.paid)} a chip-hour{doubt(hour)} "
            f"({hour.unit}), {hour.date}; {hour.source}. Efficiency: {share.name}."
            f"{footnote(self.on)}",
            f"Price sheet: {when}; {row.source}.",
        )


#: What no price of your own kitchen counts.
LEFT_OUT = "engineers, nights emptier than the occupancy says, failed requests, the network"


@lru_cache(64)
def _own_price(bill: Bill) -> Price:
    shared = {"prompt": bill.prompt, "occupancy": bill.occupancy, **bill.law}
    return price_per_million(model(bill.model), bill.on, bill.paid, bill.context, **shared)


def in_dollars(month: float) -> str:
    """A month's bill as it is shown."""
    return dollars(month) if month < 1e9 else f"${significant(month / 1e9)} billion"


def whole(requests: float) -> str:
    """Requests that are at least so many, as they are shown."""
    return f"{math.ceil(requests):,}"


def _duration(seconds: float) -> str:
    return human(seconds, "s", 2) if seconds < 100 else f"{seconds:,.0f} s"


WORKED = Bill()  #: the worked example: an assistant's busy day, on one chip
