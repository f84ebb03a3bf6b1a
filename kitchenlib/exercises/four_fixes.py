"""The question bank of notebook 04, Four fixes."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any, NamedTuple

import kitchenlib as kl
from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.cards import HINT, RIGHT, Card
from kitchenlib.exercises.checking import Mistake, Option, Question
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.inputs import find
from kitchenlib.measured import measurement
from kitchenlib.serving import USABLE
from kitchenlib.units import GB, MS, dollars

H100 = kl.chip("H100 SXM")
LLAMA = kl.model("Llama-2-70B")
LONG = kl.model("Llama-3.1-70B")
RENT = kl.chip_hour(provider="Nebius", chip="H100 SXM")

# --- Predictions ------------------------------------------------------------------------------

_CARD = "RTX 4090"


def _measured(weights: str) -> float:
    """Tokens a second that one guest was measured to get on the card."""
    return measurement(
        source="XiongjieDai GPU-Benchmarks",
        metric="decode_tok_s_per_seq",
        model="Llama-3.1-8B",
        weights=weights,
        chip=_CARD,
        chips=1,
        output=1024,
    ).value


def _lighter() -> float:
    small = kl.model("Llama-3.1-8B")
    return small.weight_bytes() / small.weight_bytes("Q4_K_M")


def _powder() -> float:
    return _measured("Q4_K_M") / _measured("fp16")


PREDICTIONS = [
    Prediction(
        "powder",
        prompt="Stored in 4 bits instead of 16, a sack is **four times** lighter. Somebody "
        f"measured an 8B model on an {_CARD}, one guest, in both formats. How many **times** as "
        "fast did the reply come?",
        unit="times",
        judge="The measurement says",
        right=_powder,
        low="The waiter sets the pace, so a lighter sack does make words come faster.",
        high="Four would be the bound. Scales weigh something as well, some matrices stay heavier, "
        "the notes are as heavy as ever, and each step takes a moment that no sack explains.",
        why=lambda: (
            f"{_measured('fp16'):.1f} tokens a second became {_measured('Q4_K_M'):.1f}. The sack "
            f"got {_lighter():.1f} times lighter, not 4, and something else takes time on "
            f"every trip."
        ),
    ),
    Prediction(
        "guess-five",
        prompt="An apprentice guesses the next **five** tokens, and each guess is right with a "
        "chance of 80%, if those before it were. The chef checks all five in one trip of the sack. "
        "How many **tokens per trip** is that on average?",
        unit="tokens per trip",
        right=lambda: round(float(kl.expected_tokens(0.8, 5)), 2),
        low="Even one wrong guess leaves those before it, and the chef adds a token in any case.",
        high="The first wrong guess spoils all that come after it, however good they are.",
        why=lambda: (
            f"All five are right only in {kl.all_accepted(0.8, 5):.0%} of the trips. But the chef "
            "always adds one token: the right one instead of a wrong guess, or a sixth."
        ),
    ),
]

# --- Exercises --------------------------------------------------------------------------------

_GUESTS, _NOTES = 16, 8192


def _step(model: kl.Model, notes: int, guests: int) -> float:
    """Seconds of one step on one ideal chip."""
    return float(kl.decode_step(model, notes, guests).time(H100))


def _gain(model: kl.Model, guests: int, notes: int) -> float:
    """Tokens a second of a whole kitchen over those of one guest."""
    return guests * _step(model, notes, 1) / _step(model, notes, guests)


def _notes_share() -> float:
    step = kl.decode_step(LONG, _NOTES, _GUESTS)
    return float(step.kv_bytes / step.bytes)


def _random_draft(rng: random.Random) -> tuple[float, int]:
    return rng.choice([0.5, 0.6, 0.7, 0.8, 0.9]), rng.randint(1, 8)


def _expected(acceptance: float, drafted: int) -> float:
    return float(kl.expected_tokens(acceptance, drafted))


class _Plan(NamedTuple):
    """What can be changed in the kitchen of the puzzle."""

    weights: str = "bf16"
    kv: str = "bf16"
    chips: int = 4
    drafted: int = 0


#: What each change costs, in days of work or of rent: an assumption, to have something to choose.
_DAYS: dict[str, dict[str | int, int]] = {
    "weights": {"bf16": 0, "fp8": 2, "int4-g128": 4},
    "kv": {"bf16": 0, "fp8": 2},
    "chips": {4: 0, 8: 6},
    "drafted": {0: 0, 3: 3},
}
_PATIENCE, _PRICE = 15 * MS, 0.75  # seconds for a token of each guest; dollars for a million
_SERVED, _CONTEXT, _ACCEPTANCE = 64, 16_384, 0.6


def _days(plan: _Plan) -> int:
    return sum(_DAYS[name][value] for name, value in plan._asdict().items())


class _Result(NamedTuple):
    needed: float  # bytes, on all chips
    room: float
    tpot: float  # seconds
    price: float  # dollars per million

    @property
    def fits(self) -> bool:
        return self.needed <= self.room

    @property
    def done(self) -> bool:
        return self.fits and self.tpot <= _PATIENCE and self.price <= _PRICE


def _try(plan: _Plan) -> _Result:
    weights, kv, chips, drafted = plan
    needed = chips * float(kl.memory_needed(LONG, _CONTEXT, _SERVED, weights, kv, chips))
    assert H100.memory_bytes is not None
    trip = kl.verify_step(LONG, _CONTEXT, drafted, _SERVED, weights, kv, chips=chips)
    tpot = float(trip.time(H100)) / float(kl.expected_tokens(_ACCEPTANCE, drafted))
    assert RENT.usd is not None
    price = tpot / _SERVED * plan.chips * RENT.usd / 3600 * 1e6
    return _Result(needed, chips * USABLE * H100.memory_bytes, tpot, price)


def _plans() -> list[_Plan]:
    choices: list[list[Any]] = [list(_DAYS[name]) for name in _Plan._fields]
    return [_Plan(*values) for values in itertools.product(*choices)]


def _dear() -> set[int]:
    """Days of the plans with eight chips that repair it."""
    return {_days(plan) for plan in _plans() if plan.chips > _Plan().chips and _try(plan).done}


_FAMOUS = _Plan(weights="int4-g128", kv="fp8")


def _cheapest(good: str = "done") -> int:
    """The fewest days of work with which the kitchen is `good`."""
    return min(_days(plan) for plan in _plans() if getattr(_try(plan), good))


def repair(weights: str = "bf16", kv: str = "bf16", chips: int = 4, drafted: int = 0) -> Card:
    """Try a repair of the puzzle's kitchen: what it costs, and whether it is enough.

    Args:
        weights: "bf16", "fp8" or "int4-g128".
        kv: format of the notes, "bf16" or "fp8".
        chips: 4 or 8.
        drafted: tokens guessed for each trip, 0 or 3.

    Raises `UnknownName` that lists the choices for any other value.
    """
    given = {"weights": weights, "kv": kv, "chips": chips, "drafted": drafted}
    for name, value in given.items():
        offered = {str(choice): choice for choice in _DAYS[name]}
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        given[name] = find(f"choice of {name}", str(plain), offered)
    plan = _Plan(**given)  # type: ignore[arg-type]
    result = _try(plan)

    def said(good: bool, words: str) -> str:
        return f"- {'yes' if good else '**no**'}: {words}"

    body = "\n".join(
        [
            said(
                result.fits,
                f"{_SERVED} guests with {_CONTEXT:,} tokens of notes: "
                f"{result.needed / GB:.0f} GB, and there is room for {result.room / GB:.0f}",
            ),
            said(
                result.tpot <= _PATIENCE,
                f"a token every {result.tpot / MS:.1f} ms (at most {_PATIENCE / MS:.0f})",
            ),
            said(
                result.price <= _PRICE,
                f"{dollars(result.price)} a million (at most {dollars(_PRICE)})",
            ),
        ]
    )
    title = f"{_days(plan)} days: {'repaired' if result.done else 'not repaired yet'}"
    return Card(title, body, RIGHT if result.done else HINT)


def _notes_saved(heads: int, kv_heads: int) -> float:
    attention = LLAMA.blocks[0].attention
    assert isinstance(attention, kl.Attention)
    one, many = (replace(attention, heads=heads, kv_heads=kv) for kv in (kv_heads, heads))
    return 100 * (1 - one.kv_values / many.kv_values)


def _guests(weights: str, usable: float = 0.9) -> int:
    return int(kl.max_batch(LLAMA, H100, 4096, weights, chips=2, usable=usable))


QUESTIONS = [
    Question(
        "bits",
        prompt="A format stores weights in 4 bits, in groups of 64. Each group shares one "
        "scale and "
        "one zero point of 16 bits each. How many **bits** does a weight take?",
        right=lambda: kl.grouped(4, 64, scale_bits=16, zero_bits=16).bits,
        unit="bits",
        tolerance=0.001,
        mistakes=[
            Mistake(
                "bits alone",
                4,
                "Those are the bits of the weight itself. The group's scale and zero point have to "
                "be stored, too.",
            ),
            Mistake(
                "one of the two",
                lambda: kl.grouped(4, 64, scale_bits=16).bits,
                "You counted one number for each group. There are two: a scale and a zero point.",
            ),
            Mistake(
                "a scale for each weight",
                36,
                "You gave each weight a scale and a zero point of its own. 64 weights share them.",
            ),
        ],
        nudge="64 weights of 4 bits, and 32 bits more: how many for each weight?",
        why="{right}. Smaller groups follow the weights more closely, and weigh more.",
        worked="64 × 4 bits + 2 × 16 bits are 288 bits for 64 weights: {right}.\n\n"
        "`kl.grouped(4, 64, scale_bits=16, zero_bits=16).bits`",
    ),
    Question(
        "company",
        prompt=f"**{_GUESTS}** guests with {_NOTES:,} tokens of notes each share the trips of the "
        "sack (Llama-3.1-70B in bf16, one ideal H100 with a bigger warehouse). How many **times** "
        "as many tokens per second does the kitchen write as with one such guest?",
        right=lambda: _gain(LONG, _GUESTS, _NOTES),
        unit="times",
        tolerance=0.001,
        mistakes=[
            Mistake(
                "no notes",
                _GUESTS,
                "That would be so if nobody had notes. Each notepad is carried for its guest "
                "alone.",
            ),
            Mistake(
                "the pace of a guest",
                lambda: _gain(LONG, _GUESTS, _NOTES) / _GUESTS,
                "That is how much of a single guest's pace each of them keeps. How many tokens do "
                "all of them get together?",
            ),
            Mistake(
                "a longer step",
                lambda: _step(LONG, _NOTES, _GUESTS) / _step(LONG, _NOTES, 1),
                "That is how much longer the step takes. Sixteen tokens come out of it.",
            ),
            Mistake(
                "short notes",
                lambda: _gain(LONG, _GUESTS, 2048),
                f"That is for 2,048 tokens of notes. Here each guest has {_NOTES:,}.",
            ),
        ],
        nudge="Two decode steps, with `batch=1` and with `batch=16`. One yields a token, the other "
        "sixteen.",
        why=lambda: (
            f"{{right}}. Sixteen guests, and {_notes_share():.0%} of the weight on the cart is "
            f"notes."
        ),
        worked=lambda: (
            f"One guest: a step of {kl.human(_step(LONG, _NOTES, 1), 's')}. Sixteen: "
            f"{kl.human(_step(LONG, _NOTES, _GUESTS), 's')}, for sixteen "
            "tokens. 16 × the first ÷ the second = {right}."
        ),
    ),
    Question(
        "clipboards",
        prompt="A model has 40 query heads, and 8 clipboards (KV heads) that they share. Which "
        "share of the notes does it save, against one clipboard for each query head? Answer in "
        "**%**.",
        right=lambda: _notes_saved(40, 8),
        unit="%",
        mistakes=[
            Mistake(
                "what is left",
                lambda: 100 - _notes_saved(40, 8),
                "That is the share that is *left*. How much is saved?",
            ),
            Mistake(
                "the card",
                lambda: _notes_saved(64, 8),
                "That is Llama-2-70B, with 64 query heads. This model has 40.",
            ),
            Mistake(
                "heads for a share",
                40 - 8,
                "So many clipboards are saved. Which share of the 40 is that?",
            ),
        ],
        nudge="Notes go with the clipboards: 8 instead of 40.",
        why='{right}, as in Llama-4-Scout. "Up to 87.5%" is one model, not a limit.',
        worked="1 - 8 ÷ 40 = {right}.",
    ),
    Question(
        "yield",
        prompt="Write a function `tokens_per_trip(acceptance, drafted)`: the mean number of "
        "**tokens** that one trip brings if `drafted` tokens are guessed and each is right with "
        "the chance `acceptance`, as long as those before it were. The chef adds one token.",
        right=_expected,
        unit="tokens",
        given=_random_draft,
        mistakes=[
            Mistake(
                "no token by the chef",
                lambda a, k: _expected(a, k) - 1,
                "You counted right guesses. The chef adds one token to each trip.",
            ),
            Mistake(
                "every guess by itself",
                lambda a, k: 1 + a * k,
                "That is right if guesses were judged one by one. But after the first wrong one "
                "the rest is thrown away.",
            ),
            Mistake(
                "all or nothing",
                lambda a, k: 1 + k * a**k,
                "You counted only the trips on which all guesses are right. Three right ones out "
                "of five bring something, too.",
            ),
            Mistake(
                "one power too few",
                lambda a, k: (1 - a**k) / (1 - a),
                "Nearly: the series ends one power too early. The last guess may be right as well.",
            ),
        ],
        nudge="The first guess arrives with the chance `a`, the second with `a * a`, and so "
        "on. Add "
        "them up, and one token by the chef.",
        why="Each further guess is worth less than the one before it: `a`, `a²`, `a³`, ...",
        worked="1 + a + a² + ... + a^k, with k = `drafted`:\n\n"
        "`return sum(acceptance**n for n in range(drafted + 1))`",
    ),
    Question(
        "repair",
        prompt=lambda: (
            f"Repair the kitchen: {_SERVED} guests with {_CONTEXT:,} tokens of notes each, a token "
            f"for each of them every {_PATIENCE / MS:.0f} ms, at most {dollars(_PRICE)} for a "
            "million. What is the fewest **days** of work that does it?"
        ),
        right=_cheapest,
        unit="days",
        tolerance=0,
        mistakes=[
            Mistake(
                "it only fits",
                lambda: _days(_Plan(weights="fp8", kv="fp8")),
                "With so few days all guests fit, and that is all. Look at the other two lines.",
            ),
            Mistake(
                "too heavy",
                lambda: _days(_Plan(kv="fp8", drafted=3)),
                "Quick and cheap enough, but it does not fit: the sack is still in 16 bit.",
            ),
            Mistake(
                "one thing further",
                lambda: _days(_FAMOUS),
                "With so many days everybody fits, with INT4 or with eight chips. But a token "
                "still "
                "takes too long, and costs too much. Combine instead of going on in one direction.",
            ),
            Mistake(
                "the lightest of all",
                lambda: _days(_FAMOUS._replace(drafted=3)),
                "That repairs it, but a cheaper plan does, too, and is even faster. In company the "
                "chef has work to do: which format lets him multiply faster?",
            ),
            Mistake(
                "nothing",
                0,
                "Without any work the guests do not even fit. Try `repair()`.",
            ),
            Mistake(
                "more than enough",
                lambda: max(_days(plan) for plan in _plans()),
                "That repairs it, and cheaper plans do, too. Four chips are enough.",
                when=lambda days: days in _dear(),
            ),
        ],
        nudge="Which of the three lines says **no**? What is too heavy there, the sack or the "
        "notes?",
        why="{right}. No single fix would have done it. The notes weighed more than the sack, so "
        "they came first; and guessing had to be paid by a chef who was still idle.",
        worked=lambda: (
            "The notes alone weigh "
            f"{kl.human(_SERVED * float(LONG.kv_bytes(_CONTEXT)), 'B')}, more than the sack. "
            f"In fp8, "
            "sack and notes fit, and fp8 multiplies at twice the rate, so the chef has time to "
            'check guesses: `repair(weights="fp8", kv="fp8", drafted=3)`. {right}.'
        ),
    ),
    Question(
        "first-bite",
        prompt="A guest complains that the *first* token of the reply takes too long: the "
        "prompt has "
        "8,000 tokens. Which of the four fixes makes reading it **twice** as fast?",
        options=[
            Option("int4", "INT4 weights", "The sack is lighter, but the chef sets the pace."),
            Option("batch", "more guests", "They share the sack. Reading is work for the chef."),
            Option(
                "gqa",
                "fewer clipboards",
                "Thinner notes, and smaller matrices for them. But how much of the time is that?",
            ),
            Option("guess", "guessing ahead", "There is nothing to guess: the prompt is known."),
            Option("none", "none of them"),
        ],
        right="none",
        more=True,
        nudge="Flood or drip? Who sets the pace while a long prompt is read?",
        why="All four are fixes for the waiter. While a long prompt is read, the chef is the "
        "bottleneck.",
        worked="Reading 8,000 tokens is compute-bound. A lighter sack, company, thinner notes and "
        "guesses save the waiter's time, and he is not the one who is late. What helps is more "
        "FLOP/s (more chips, or fp8 where the chip multiplies in it), a shorter prompt, or a "
        "cached "
        "one. The right answer: {right}.",
    ),
    Question(
        "more-guests",
        prompt="Two H100s share Llama-2-70B. How many **guests** with 4,096 tokens of notes fit "
        "beside the sack in the format `int4-g128`, if a tenth of the memory stays free?",
        right=lambda: _guests("int4-g128"),
        unit="guests",
        tolerance=0,
        more=True,
        mistakes=[
            Mistake(
                "the full sack",
                lambda: _guests("bf16"),
                'So many fit beside the sack in 16 bit. Say `weights="int4-g128"`.',
            ),
            Mistake(
                "all of the memory",
                lambda: _guests("int4-g128", usable=1.0),
                "You filled the memory to the last byte. A tenth of it stays free.",
            ),
            Mistake(
                "one chip",
                lambda: kl.max_batch(LLAMA, H100, 4096, "int4-g128"),
                "So many fit into one chip. Two of them share sack and notes: `chips=2`.",
            ),
        ],
        nudge="`kl.max_batch(model, chip, context, weights, chips=...)`",
        why=lambda: (
            f"{{right}} instead of {_guests('bf16')}: what the sack loses in weight, the notes may "
            "have. A lighter sack is a fix for batching, too."
        ),
        worked='`kl.max_batch(llama, h100, 4096, "int4-g128", chips=2)` = {right}',
    ),
]

BANK = Bank("04_four_fixes", [*PREDICTIONS, *QUESTIONS])
check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
solution, progress = BANK.solution, BANK.progress
