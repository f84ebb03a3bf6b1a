"""What a token costs: the chips' time, turned into dollars or joules.

A token costs what its share of the time costs, whether the chips work or wait in it:

    price of a token = seconds of the pass x chips x price of a chip-second / tokens of the pass

Dollars and joules are two currencies of the same seconds. `price_per_million` and
`energy_per_token` price reading (input) and writing (output) apart; both return a `Price`, as a
price sheet has it, and `Price.request` adds up a request. A bill is of whole kitchens, paid by the
hour, full or empty.

Counted are the chips alone: no engineers, no failed requests, no network, no margin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kitchenlib.chips import Chip
from kitchenlib.efficiency import IDEAL, Efficiency, estimate
from kitchenlib.inputs import (
    Number,
    amount,
    broadcastable,
    count,
    instance,
    positive,
    scalar,
    share,
    whole,
    wrong,
)
from kitchenlib.models import Model
from kitchenlib.phases import decode_step, prefill
from kitchenlib.precision import AnyFormat
from kitchenlib.prices import Price
from kitchenlib.serving.memory import USABLE, demand_fit

HOUR = 3600.0  # seconds
MILLION = 1_000_000
HOURS_A_DAY = 24
DAYS_A_MONTH = 365 / 12
_ROUNDING = 1e-9  # of a kitchen: a full one is full, whatever its last digit


def price_per_million(
    model: Model,
    chip: Chip,
    chip_hour: ArrayLike,
    context: ArrayLike,
    prompt: ArrayLike | None = None,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
    occupancy: ArrayLike = 1.0,
    check_fit: bool = False,
    usable: float = USABLE,
) -> Price:
    """Dollars per million tokens that your own chips read and write.

    Args:
        chip_hour: dollars for one chip for one hour, above 0.
        context: tokens of notes at which tokens are written: of a request, its prompt and half its
            reply.
        prompt: tokens of each prompt that is read; None takes `context`.
        batch: sequences that share each pass, reading and writing.
        cached: of the prompt's tokens those already in the cache.
        occupancy: the share of the rented time with guests, above 0 and at most 1. Empty hours are
            paid for, too.
        efficiency: how far the chips stay from the law (see `kitchenlib.estimate`).
        check_fit: whether a batch that does not fit raises ``ValueError``.
        others: as for `kitchenlib.decode_step` and `kitchenlib.fits`.

    Returns:
        `Price` in dollars: ``input`` for each fresh token of the prompt, ``output`` for each token
        written, ``cached`` for each cached one (what it adds: fresh tokens look back at it; None
        if nothing is cached).
    """
    paid = positive("chip_hour", chip_hour, "dollars per chip-hour")
    guests = share("occupancy", occupancy, "the rented time")
    n = count("chips", chips, "chips")
    broadcastable(**_sizes(context, prompt, batch, cached, n), chip_hour=paid, occupancy=guests)
    if not isinstance(check_fit, bool):
        raise wrong("check_fit", check_fit, "give True or False")
    if check_fit:
        demand_fit(model, chip, context, batch, weights, kv, chips, usable)
    second = paid / HOUR * n / guests
    formats = (weights, kv, compute)
    seconds = _seconds(model, chip, context, prompt, batch, cached, formats, n, efficiency)
    return _priced(seconds, second * MILLION, "USD", MILLION)


def energy_per_token(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    prompt: ArrayLike | None = None,
    batch: ArrayLike = 1,
    cached: ArrayLike = 0,
    weights: AnyFormat = "bf16",
    kv: AnyFormat = "bf16",
    compute: str | None = None,
    chips: ArrayLike = 1,
    efficiency: Efficiency = IDEAL,
    power: ArrayLike | None = None,
) -> Price:
    """Joules per token that your own chips read and write: power x seconds of each token.

    Args:
        power: watts that each chip draws; None takes the chip's rated power, drawn all the time.
            Hosts, cooling and idle hours are not counted.
        others: as for `price_per_million`.

    Returns:
        `Price` in joules, for one token.

    Raises ``ValueError`` for a chip without a rated power, if you give none.
    """
    instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
    drawn = chip.power if power is None else positive("power", power, "watts")
    if drawn is None:
        raise ValueError(f"{chip.name} has no power in the catalogue: give power=... in watts")
    n = count("chips", chips, "chips")
    broadcastable(**_sizes(context, prompt, batch, cached, n), power=drawn)
    formats = (weights, kv, compute)
    seconds = _seconds(model, chip, context, prompt, batch, cached, formats, n, efficiency)
    return _priced(seconds, drawn * n, "J", 1)


def monthly(request: ArrayLike, requests: ArrayLike) -> Number:
    """Dollars a month for `requests` a day at `request` dollars each, as a price sheet bills."""
    each = amount("request", request, "dollars for one request")
    daily = amount("requests", requests, "requests a day")
    broadcastable(request=each, requests=daily)
    return each * daily * DAYS_A_MONTH


def kitchens_needed(request: ArrayLike, requests: ArrayLike, rent: ArrayLike) -> Number:
    """Whole kitchens that `requests` a day keep busy; at least 1, rented even if nobody comes.

    Args:
        request: dollars that one request costs in your own kitchen (`price_per_million` and
            `Price.request`); its occupancy says how much of the day is left empty.
        requests: a day.
        rent: dollars an hour for one kitchen: its chips x their price.
    """
    each = amount("request", request, "dollars for one request")
    daily = amount("requests", requests, "requests a day")
    hourly = positive("rent", rent, "dollars per hour")
    broadcastable(request=each, requests=daily, rent=hourly)
    full = each * daily / (hourly * HOURS_A_DAY)
    return whole(np.maximum(np.ceil(full - _ROUNDING * full), 1))


def kitchen_bill(request: ArrayLike, requests: ArrayLike, rent: ArrayLike) -> Number:
    """Dollars a month for your own kitchens: whole ones, paid day and night.

    Arguments as for `kitchens_needed`.
    """
    rented = kitchens_needed(request, requests, rent)
    return rented * positive("rent", rent, "dollars per hour") * HOURS_A_DAY * DAYS_A_MONTH


def break_even(sheet: ArrayLike, own: ArrayLike, rent: ArrayLike) -> Number:
    """Requests a day from which one kitchen of your own costs no more than the price sheet.

    Infinite where a request costs more in your own kitchen than on the sheet: then no number of
    guests pays the rent.

    Args:
        sheet, own: dollars for one request, by the price sheet and in your own kitchen.
        rent: dollars an hour for one kitchen.
    """
    listed = positive("sheet", sheet, "dollars for one request")
    each = positive("own", own, "dollars for one request")
    hourly = positive("rent", rent, "dollars per hour")
    broadcastable(sheet=listed, own=each, rent=hourly)
    return scalar(np.where(np.less_equal(each, listed), hourly * HOURS_A_DAY / listed, np.inf))


def resent_tokens(first: ArrayLike, added: ArrayLike, calls: ArrayLike) -> Number:
    """Prompt tokens of a conversation of `calls` calls, each of which sends all that was before.

    Args:
        first: tokens of the first prompt.
        added: tokens by which each prompt is longer than the one before.
        calls: how many prompts are sent.
    """
    start = count("first", first, "tokens")
    more = count("added", added, "tokens", least=0)
    n = count("calls", calls, "calls")
    broadcastable(first=start, added=more, calls=n)
    return n * start + more * (n * (n - 1) / 2)


def _sizes(
    context: ArrayLike, prompt: ArrayLike | None, batch: ArrayLike, cached: ArrayLike, n: Number
) -> dict[str, Number]:
    """The sizes, checked: each alone, before they are held against each other."""
    sizes = {
        "context": count("context", context, "tokens"),
        "batch": count("batch", batch, "sequences"),
        "cached": count("cached", cached, "tokens", least=0),
        "chips": n,
    }
    if prompt is not None:
        sizes["prompt"] = count("prompt", prompt, "tokens")
    return sizes


def _seconds(
    model: Model,
    chip: Chip,
    context: ArrayLike,
    prompt: ArrayLike | None,
    batch: ArrayLike,
    cached: ArrayLike,
    formats: tuple[AnyFormat, AnyFormat, str | None],
    n: Number,
    efficiency: Efficiency,
) -> tuple[Number, Number, Number | None]:
    """Seconds of a kitchen for each fresh token read, each token written, each cached one.

    Reading the fresh tokens as if nothing were before them gives the first; what the cached ones
    add to that, the last.
    """
    read = np.asarray(context if prompt is None else prompt)
    before, guests = np.asarray(cached), np.asarray(batch)
    if np.any(before >= read):
        raise wrong("cached", cached, "give fewer tokens than the prompt has")
    step = decode_step(model, context, batch, *formats, n)
    written = estimate(step, chip, efficiency) / guests
    fresh = estimate(prefill(model, read - before, guests, 0, *formats, n), chip, efficiency)
    each = fresh / (guests * (read - before))
    if not before.any():
        return scalar(each), scalar(written), None
    both = estimate(prefill(model, read, guests, before, *formats, n), chip, efficiency)
    return scalar(each), scalar(written), scalar((both - fresh) / (guests * np.maximum(before, 1)))


def _priced(
    seconds: tuple[Number, Number, Number | None], worth: Number, currency: str, per: float
) -> Price:
    """Seconds as a `Price`: what `per` tokens cost where a second of a kitchen is so much worth."""
    read, written, looked_up = seconds
    kept = None if looked_up is None else looked_up * worth
    return Price(read * worth, written * worth, kept, currency, per)
