"""The question bank of notebook 03, The price paradox."""

from __future__ import annotations

import math
import random

import numpy as np

import kitchenlib as kl
from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.checking import Mistake, Option, Question
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.units import dollars

H100 = kl.chip("H100 SXM")
LLAMA = kl.model("Llama-2-70B")
SMALL = kl.model("Llama-3.1-8B")
RENT = kl.chip_hour(provider="Nebius", chip="H100 SXM")
L40S = kl.chip_hour(provider="Nebius", chip="L40S")
CHIPS = 4


def _paid(row: kl.ChipHour) -> float:
    assert row.usd is not None
    return row.usd


# --- Predictions ------------------------------------------------------------------------------


def _read(tokens: int) -> float:
    return float(kl.ttft(LLAMA, H100, tokens, chips=CHIPS))


def _hundredfold() -> str:
    """What a prompt of a hundred tokens costs, in prompts of one."""
    ratio = _read(100) / _read(1)
    near = {"hundred": 100, "ten": 10, "same": 1}
    return min(near, key=lambda name: abs(math.log(near[name] / ratio)))


def _token_of_half() -> str:
    """What a written token costs once replies are half as long: a kitchen is rented."""
    rent, replies = CHIPS * _paid(RENT), 100
    price = kl.price_per_million(LLAMA, H100, _paid(RENT), context=2048, chips=CHIPS)
    each = {
        reply: kl.kitchen_bill(price.request(2000, reply), replies, rent) / (replies * reply)
        for reply in (400, 200)
    }
    ratio = float(each[200] / each[400])
    near = {"half": 0.5, "same": 1, "twice": 2}
    return min(near, key=lambda name: abs(near[name] - ratio))


PREDICTIONS = [
    Prediction(
        "half-the-reply",
        prompt=lambda: (
            "A hundred guests a day come to a kitchen of four rented H100s "
            f"({dollars(CHIPS * _paid(RENT))} an hour, one guest after the other). You ask the "
            "model to be brief, and every reply is half as long. What does one **written token** "
            "cost you now?"
        ),
        options=[
            Option(
                "half",
                "half as much",
                "Half of the tokens are gone, and with them half of the work. But the rent knows "
                "nothing of work.",
            ),
            Option(
                "same",
                "as much as before",
                "Each token takes as long as before, that is true. But who pays for the time in "
                "which there are no guests?",
            ),
            Option("twice", "twice as much"),
        ],
        right=_token_of_half,
        why="The kitchen is idle for longer, and you pay for idle hours, too. The same rent now "
        "buys half the tokens.",
    ),
    Prediction(
        "one-word",
        prompt="One guest orders with a single word (one token), another with a hundred. How many "
        "times as much time does the kitchen spend on **reading** the longer order?",
        options=[
            Option(
                "hundred",
                "about a hundred times",
                "A hundred times the cuts. But who sets the pace here, the chef or the waiter?",
            ),
            Option(
                "ten",
                "about ten times",
                "Less. All hundred tokens share one trip of the sack.",
            ),
            Option("same", "about the same"),
        ],
        right=_hundredfold,
        why=lambda: (
            f"One token takes {kl.human(_read(1), 's')}, a hundred take "
            f"{kl.human(_read(100), 's')}: either way the waiter wheels in the whole sack once, "
            "and the chef is done before it has gone by."
        ),
    ),
]

# --- Exercises --------------------------------------------------------------------------------


def _seconds_per_token() -> float:
    """The sack of the small model past the chef of an L40S, notes left out."""
    return SMALL.streamed_weight_bytes() / kl.chip("L40S").bandwidth


def _busy(context: int, batch: int) -> float:
    return 100 * float(kl.decode_step(LLAMA, context, batch).utilization(H100))


def _guests_for(ratio: float, efficiency: str) -> int:
    """The fewest guests at which a written token costs at most `ratio` times a read one."""
    guests = np.arange(1, 300)
    price = kl.price_per_million(
        LLAMA, H100, 1.0, context=2048, batch=guests, efficiency=kl.efficiency(efficiency)
    )
    return int(guests[np.argmax(np.asarray(price.ratio) <= ratio)])


def _median() -> float:
    """The middle of output over input on the price sheets."""
    return float(np.median([row.price.ratio for row in kl.sheet_prices(picked=False)]))


SHEET = kl.sheet_price(provider="openai", model="gpt-5.1")
_PROMPT, _CACHED, _REPLY, _REASONING = 8000, 6000, 500, 1500


def _cents(prompt: int, reply: int, cached: int, reasoning: int) -> float:
    return 100 * float(SHEET.price.request(prompt, reply, cached, reasoning))


_PER_REQUEST = 0.004  # dollars, on the price sheet of "break-even"
_DAYS = 365 / 12


def _even() -> float:
    return float(kl.break_even(sheet=_PER_REQUEST, own=0.001, rent=CHIPS * _paid(RENT)))


def _random_step(rng: random.Random) -> tuple[float, int, int, float]:
    seconds = rng.choice([0.01, 0.02, 0.05])
    return seconds, rng.choice([1, 4, 32, 100]), rng.choice([1, 2, 8]), rng.choice([1.5, 2.95, 6])


_CLAIM_CHIPS = 2


def _fastest() -> float:
    """Tokens a second for one guest that two H100s cannot exceed, with an empty notepad."""
    return 1 / float(kl.decode_step(LLAMA, context=0, chips=_CLAIM_CHIPS).floor(H100))


QUESTIONS = [
    Question(
        "waiting",
        prompt="64 guests with 4,096 tokens of notes each share the trips of the sack "
        "(Llama-2-70B, bf16, one ideal H100 with a bigger warehouse). Which share of each dollar "
        "pays for a chef who waits? Answer in **%**.",
        right=lambda: 100 - _busy(4096, 64),
        unit="%",
        tolerance=0.004,
        mistakes=[
            Mistake(
                "the busy share",
                lambda: _busy(4096, 64),
                "That is the share in which the chef cuts. What is left pays for waiting.",
            ),
            Mistake(
                "no notes",
                lambda: 100 - _busy(0, 64),
                "You left out the notes. Each guest's notepad is carried, too, and nobody shares "
                "it: the trip takes longer, and the chef waits longer.",
            ),
            Mistake(
                "one guest",
                lambda: 100 - _busy(4096, 1),
                "That is a single guest. Here 64 share the trip.",
            ),
            Mistake(
                "the picture",
                lambda: 100 - _busy(2048, 32),
                "That is the train of the picture: 32 guests with 2,048 tokens each. Here there "
                "are twice as many guests, with twice the luggage.",
            ),
        ],
        nudge="A decode step tells the share of its time in which the chef cuts: its "
        "`utilization`.",
        why="{right}. Twice the guests of the picture, with twice the luggage each: the chef is "
        "hardly busier than there.",
        worked="`100 * (1 - kl.decode_step(llama, context=4096, batch=64).utilization(h100))` = "
        "{right}",
    ),
    Question(
        "price",
        prompt="Write a function `dollars_per_million(seconds, guests, chips, chip_hour)`: the "
        "**dollars** for a million written tokens, if one step takes so many `seconds`, serves so "
        "many `guests`, and runs on so many `chips`, each at `chip_hour` dollars an hour.",
        right=lambda seconds, guests, chips, chip_hour: (
            seconds / guests * chips * chip_hour / 3600 * 1e6
        ),
        unit="dollars",
        given=_random_step,
        mistakes=[
            Mistake(
                "guests multiplied",
                lambda seconds, guests, chips, chip_hour: (
                    seconds * guests * chips * chip_hour / 3600 * 1e6
                ),
                "More guests make a token cheaper: they share the step.",
            ),
            Mistake(
                "guests forgotten",
                lambda seconds, guests, chips, chip_hour: seconds * chips * chip_hour / 3600 * 1e6,
                "How many tokens come out of one step? One for each guest.",
            ),
            Mistake(
                "an hour for a second",
                lambda seconds, guests, chips, chip_hour: (
                    seconds / guests * chips * chip_hour * 1e6
                ),
                "`chip_hour` is the price of an hour, and `seconds` are seconds. An hour has "
                "3,600.",
            ),
            Mistake(
                "minutes",
                lambda seconds, guests, chips, chip_hour: (
                    seconds / guests * chips * chip_hour / 60 * 1e6
                ),
                "You divided by 60. An hour has 60 × 60 seconds.",
            ),
            Mistake(
                "one token",
                lambda seconds, guests, chips, chip_hour: (
                    seconds / guests * chips * chip_hour / 3600
                ),
                "That is the price of one token. Price sheets count in millions.",
            ),
            Mistake(
                "cents",
                lambda seconds, guests, chips, chip_hour: (
                    seconds / guests * chips * chip_hour / 36 * 1e6
                ),
                "A hundred times too much: are those cents?",
            ),
            Mistake(
                "one chip paid",
                lambda seconds, guests, chips, chip_hour: seconds / guests * chip_hour / 3600 * 1e6,
                "All chips that share the sack are paid for the whole step.",
            ),
            Mistake(
                "chips shared",
                lambda seconds, guests, chips, chip_hour: (
                    seconds / guests / chips * chip_hour / 3600 * 1e6
                ),
                "You divided by the chips. The step's `seconds` are those of all of them together; "
                "each has to be paid.",
            ),
        ],
        nudge="Seconds for one token, dollars for one second of all chips, a million tokens.",
        why="The whole law of the price. Everything else decides how long a step takes, and how "
        "many guests share it.",
        worked="A step costs `seconds * chips * chip_hour / 3600` dollars, and gives `guests` "
        "tokens:\n\n`return seconds * chips * chip_hour / 3600 / guests * 1e6`",
    ),
    Question(
        "four-times",
        prompt="From how many guests on does a written token cost at most **four** times a read "
        "one, if reading reaches 40% of the peak and writing 70% of the bandwidth (the efficiency "
        '"planned"; Llama-2-70B in bf16, 2,048 tokens, one H100 with a bigger warehouse)? Answer '
        "in **guests**.",
        right=lambda: _guests_for(4, "planned"),
        unit="guests",
        tolerance=0,
        mistakes=[
            Mistake(
                "the ideal law",
                lambda: _guests_for(4, "ideal"),
                'That is the ideal law on both sides. Say `efficiency=kl.efficiency("planned")`.',
            ),
            Mistake(
                "reading alone",
                lambda: _guests_for(4, "prefill 40%"),
                "There you slowed the reading only. Writing reaches 70% of the bandwidth.",
            ),
            Mistake(
                "the median",
                lambda: _guests_for(_median(), "planned"),
                "That is where the picture's curve meets the middle of the price sheets, a little "
                "above four. The question is about four.",
            ),
            Mistake(
                "the median of another curve",
                lambda: _guests_for(_median(), "prefill 40%"),
                "Two things: you read the curve with the ideal waiter, and at the middle of the "
                "price sheets, a little above four.",
            ),
            Mistake(
                "the median of the ideal law",
                lambda: _guests_for(_median(), "ideal"),
                "Two things: you read the ideal curve, and at the middle of the price sheets, a "
                "little above four.",
            ),
            Mistake(
                "one guest too few",
                lambda: _guests_for(4, "planned") - 1,
                "Nearly: there it is still a little more than four.",
            ),
            Mistake(
                "no notes",
                lambda: math.ceil(
                    kl.price_per_million(
                        LLAMA, H100, 1.0, 1, prompt=2048, efficiency=kl.efficiency("planned")
                    ).ratio
                    / 4
                ),
                "You divided one guest's ratio by four. But each guest brings notes that are "
                "carried, too, so the ratio falls more slowly than that.",
            ),
        ],
        nudge="`batch=` takes an array of guests, such as `np.arange(1, 200)`, and `efficiency=` a "
        "named one.",
        why="{right}. A price sheet with a ratio of four is consistent with that, and with other "
        "numbers of guests under other assumptions.",
        worked="`guests = np.arange(1, 200)`, then `kl.price_per_million(llama, h100, 1, "
        'context=2048, batch=guests, efficiency=kl.efficiency("planned")).ratio`, and the first '
        "one that is not above 4: {right}. (The price of the chip drops out.)",
    ),
    Question(
        "bill",
        prompt=lambda: (
            f"A request to {SHEET.model} ({SHEET.provider}, {SHEET.when}) has a prompt of "
            f"{_PROMPT:,} tokens, {_CACHED:,} of them cached, and {_REASONING:,} hidden tokens of "
            f"reasoning before a reply of {_REPLY:,}. The sheet says, in dollars per million: "
            f"input {SHEET.price.input}, cached input {SHEET.price.cached}, output "
            f"{SHEET.price.output}. What does the request cost, in **cents**?"
        ),
        right=lambda: _cents(_PROMPT, _REPLY, _CACHED, _REASONING),
        unit="cents",
        tolerance=0.005,
        mistakes=[
            Mistake(
                "nothing cached",
                lambda: _cents(_PROMPT, _REPLY, 0, _REASONING),
                "You paid the full price for all of the prompt. The cached tokens have a price of "
                "their own.",
            ),
            Mistake(
                "cached tokens twice",
                lambda: _cents(_PROMPT + _CACHED, _REPLY, _CACHED, _REASONING),
                "You paid for the cached tokens twice: they are part of the prompt.",
            ),
            Mistake(
                "reasoning forgotten",
                lambda: _cents(_PROMPT, _REPLY, _CACHED, 0),
                "Hidden tokens are written, too, and each of them takes a step. They are charged "
                "as output.",
            ),
            Mistake(
                "reply forgotten",
                lambda: _cents(_PROMPT, 0, _CACHED, _REASONING),
                "The reply is output, too, beside the reasoning.",
            ),
            Mistake(
                "cached for nothing",
                lambda: _cents(_PROMPT - _CACHED, _REPLY, 0, _REASONING),
                "Cached input is cheap, not free: it has a price of its own.",
            ),
            Mistake(
                "reasoning as input",
                lambda: _cents(_PROMPT + _REASONING, _REPLY, _CACHED, 0),
                "Reasoning is written, not read: it has the price of output.",
            ),
            Mistake(
                "dollars",
                lambda: _cents(_PROMPT, _REPLY, _CACHED, _REASONING) / 100,
                "That is in dollars. The question asks for cents.",
            ),
        ],
        nudge="Three kinds of tokens: fresh input, cached input, output. How many of each?",
        why="{right}. Three quarters of the output were never seen by the guest.",
        worked=lambda: (
            f"Fresh: {_PROMPT - _CACHED:,} × {SHEET.price.input}. Cached: {_CACHED:,} × "
            f"{SHEET.price.cached}. Output: {_REPLY + _REASONING:,} × {SHEET.price.output}. "
            "Together, divided by a million, in cents: {right}.\n\n"
            f"`100 * price.request({_PROMPT}, {_REPLY}, cached={_CACHED}, "
            f"reasoning={_REASONING})`"
        ),
    ),
    Question(
        "break-even",
        prompt=lambda: (
            f"Four H100s cost {_paid(RENT)} dollars an hour each ({RENT.provider}). On a price "
            f"sheet a request costs {100 * _PER_REQUEST:g} cents. From how many **requests a "
            f"day** on is "
            "the rent no dearer than the sheet, if the kitchen can serve them all?"
        ),
        right=_even,
        unit="requests",
        tolerance=0.002,
        mistakes=[
            Mistake(
                "one chip",
                lambda: _even() / CHIPS,
                "That is the rent of one chip. All four are rented.",
            ),
            Mistake(
                "cents for dollars",
                lambda: _even() / 100,
                "You took 0.4 *dollars* for a request. It costs 0.4 *cents*.",
            ),
            Mistake(
                "a hundred times too many",
                lambda: _even() * 100,
                "A factor of a hundred too many: dollars here, cents there.",
            ),
            Mistake(
                "an hour",
                lambda: _even() / 24,
                "That many requests an *hour*. The question asks for a day.",
            ),
            Mistake(
                "a month",
                lambda: _even() * _DAYS,
                "That many requests a *month*. The question asks for a day.",
            ),
            Mistake(
                "a working day",
                lambda: _even() / 3,
                "You rented it for eight hours. The chips are paid at night, too.",
            ),
        ],
        nudge="What does the kitchen cost in a day? How many requests does that buy on the sheet?",
        why="{right}. Fewer guests, and the price sheet is cheaper: there you pay for what you "
        "use.",
        worked=lambda: (
            f"4 × {_paid(RENT)} × 24 = {CHIPS * _paid(RENT) * 24:.2f} dollars a day, divided by "
            f"{_PER_REQUEST} dollars for a request: "
            f"{{right}}.\n\n`kl.break_even(sheet={_PER_REQUEST}, own=0.001, "
            f"rent=4 * {_paid(RENT)})`"
        ),
    ),
    Question(
        "impossible",
        prompt="*Llama-2-70B in 16 bit writes 60 tokens per second for every guest, on two "
        "H100s.* What is the most that the law allows for **one** guest with an empty notepad, in "
        "**tokens per second**? (Take the `floor` of a decode step.)",
        right=_fastest,
        unit="tokens/s",
        mistakes=[
            Mistake(
                "one chip",
                lambda: 1 / float(kl.decode_step(LLAMA, 0).floor(H100)),
                "That is one chip alone. Two share the sack: each carries half, say `chips=2`.",
            ),
            Mistake(
                "one byte for each weight",
                lambda: 2 * _fastest(),
                "You counted one byte for each weight. 16 bits are two.",
            ),
            Mistake(
                "milliseconds",
                lambda: 1e3 / _fastest(),
                "Those are the milliseconds of one token. How many tokens fit into a second?",
            ),
            Mistake(
                "seconds",
                lambda: 1 / _fastest(),
                "Those are the seconds of one token. How many tokens fit into a second?",
            ),
            Mistake(
                "the claim",
                60,
                "That is what is claimed. Can two waiters carry the sack so often?",
            ),
        ],
        nudge="Half the sack for each waiter, by bytes per second, are the seconds of a token.",
        why="{right}. The claim is impossible as it stands: something is missing from it, eight "
        "bits, four chips, or all guests counted together.",
        worked=lambda: (
            "Each waiter carries half the sack for each token: "
            f"{kl.human(LLAMA.streamed_weight_bytes(), 'B')} ÷ {_CLAIM_CHIPS} ÷ "
            f"{kl.human(H100.bandwidth, 'B/s')} = {kl.human(1 / _fastest(), 's')}. A second holds "
            "{right}."
        ),
    ),
    Question(
        "small-kitchen",
        prompt=lambda: (
            f"Llama-3.1-8B in bf16 serves **one** guest on an L40S that costs {_paid(L40S)} "
            f"dollars an hour ({L40S.provider}, {L40S.date}). Its waiter carries "
            f"{kl.chip('L40S').bandwidth / 1e9:.0f} GB/s, its sack has "
            f"{SMALL.streamed_weight_bytes() / 1e9:.2f} GB to carry; leave out the notes. What do "
            "a million written tokens cost, in **dollars**?"
        ),
        right=lambda: _seconds_per_token() / 3600 * _paid(L40S) * 1e6,
        unit="dollars",
        more=True,
        mistakes=[
            Mistake(
                "minutes",
                lambda: _seconds_per_token() / 60 * _paid(L40S) * 1e6,
                "You divided by 60. The price is for an hour, and an hour has 60 × 60 seconds.",
            ),
            Mistake(
                "a thousand tokens",
                lambda: _seconds_per_token() / 3600 * _paid(L40S) * 1e3,
                "That is a thousand tokens. Price sheets count in millions.",
            ),
            Mistake(
                "tokens a second for seconds",
                lambda: 1 / _seconds_per_token() / 3600 * _paid(L40S) * 1e6,
                "You took the tokens of a second for the seconds of a token. Turn it over.",
            ),
            Mistake(
                "seconds without dollars",
                lambda: _seconds_per_token() / 3600 * 1e6,
                "Those are the hours that a million tokens take. What does an hour cost?",
            ),
            Mistake(
                "an hour for a second",
                lambda: _seconds_per_token() * _paid(L40S) * 1e6,
                "You paid the price of an hour for each second. An hour has 3,600 of them.",
            ),
            Mistake(
                "the time of a token",
                lambda: _seconds_per_token() * 1e3,
                "Those are the milliseconds of one token. What does that time cost?",
            ),
            Mistake(
                "one byte for each weight",
                lambda: _seconds_per_token() / 2 / 3600 * _paid(L40S) * 1e6,
                "Half of it. In bf16 each weight is two bytes, and all of them are carried.",
            ),
        ],
        nudge="Bytes divided by bytes per second: the seconds of one token. An hour has 3,600.",
        why="{right}, for a model of 8 billion weights on a cheap chip. A single guest is dear in "
        "every kitchen.",
        worked=lambda: (
            f"One token: {SMALL.streamed_weight_bytes() / 1e9:.2f} GB ÷ "
            f"{kl.chip('L40S').bandwidth / 1e9:.0f} GB/s = "
            f"{kl.human(_seconds_per_token(), 's')}. A million of them take "
            f"{_seconds_per_token() * 1e6 / 3600:.2f} hours, at {_paid(L40S)} dollars an hour: "
            "{right}."
        ),
    ),
]

BANK = Bank("03_price_paradox", [*PREDICTIONS, *QUESTIONS])
check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
solution, progress = BANK.solution, BANK.progress
