"""The question bank of notebook 02, Prefill vs decode."""

from __future__ import annotations

import random

import kitchenlib as kl
from kitchenlib import serving
from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.checking import Mistake, Option, Question
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.units import GB

H100 = kl.chip("H100 SXM")
LLAMA = kl.model("Llama-2-70B")
LONG = kl.model("Llama-3.1-70B")

# --- Predictions ------------------------------------------------------------------------------


def _reading() -> float:
    return float(serving.ttft(LLAMA, H100, prompt=2000, chips=2))


def _pace() -> float:
    return float(serving.tpot(LLAMA, H100, prompt=2000, reply=20, chips=2))


def _writing() -> float:
    return (20 - 1) * _pace()  # the first one comes with the reading


def _longer() -> str:
    return "reading" if _reading() > _writing() else "writing"


def _one_written_for_one_read() -> int:
    return round(_pace() / (_reading() / 2000))


PREDICTIONS = [
    Prediction(
        "read-or-write",
        prompt="Two H100s serve one guest with Llama-2-70B. Which takes longer: **reading** a "
        "prompt of 2,000 tokens, or **writing** a reply of 20?",
        options=[
            Option(
                "reading",
                "reading 2,000 tokens",
                "A hundred times as many tokens, and still the shorter job: all of them go through "
                "the model in one pass.",
            ),
            Option("writing", "writing 20 tokens"),
            Option(
                "same",
                "about the same",
                "They differ by more than a factor of two, and not in the direction that the "
                "number of tokens suggests.",
            ),
        ],
        right=_longer,
        why=lambda: (
            f"Reading takes {kl.human(_reading(), 's')}: one trip with the sack, and a busy chef. "
            f"It yields the first token too. The other 19 take {kl.human(_writing(), 's')}: "
            "nineteen trips, and a chef who waits."
        ),
    ),
    Prediction(
        "one-for-one",
        prompt="On the same two chips: how many tokens of the prompt are read in the time it takes "
        "to write **one** token?",
        unit="tokens",
        right=_one_written_for_one_read,
        low="It is hard to believe how unequal the two are: same model, same chips.",
        high="There is a ceiling: the chef's own speed. Think of the ridge of notebook 1.",
        why=lambda: (
            f"Nearly the ridge, {H100.ridge():.0f}. In the time of one trip with the sack, a chef "
            "who never waits could serve about that many tokens."
        ),
    ),
]

# --- Exercises --------------------------------------------------------------------------------

_PROMPT, _CACHED = 20_000, 16_000
_TIMED = {"ttft": 0.5, "tpot": 0.02, "tokens": 100}
_TIMED_TOTAL = _TIMED["ttft"] + (_TIMED["tokens"] - 1) * _TIMED["tpot"]


_TOTAL = (8000 + 50) / 10_000  # seconds of the test in "judge"


def _attention(prompt: int, cached: int = 0) -> float:
    return float(kl.prefill(LONG, prompt, cached=cached).parts["attention"].flops)


def _random_request(rng: random.Random) -> tuple[float, float, int]:
    return rng.choice([0.1, 0.2, 0.5, 2.0]), rng.choice([0.01, 0.02, 0.05]), rng.randint(1, 500)


QUESTIONS = [
    Question(
        "read",
        prompt="How long do **two** ideal H100s take to read a prompt of 4,096 tokens with "
        "Llama-2-70B in bf16? Use `kl.prefill(...)` and its `time`. Answer in **ms**.",
        right=lambda: kl.prefill(LLAMA, 4096, chips=2).time(H100) * 1e3,
        unit="ms",
        mistakes=[
            Mistake(
                "one chip",
                lambda: kl.prefill(LLAMA, 4096).time(H100) * 1e3,
                "That is one chip alone. Say `chips=2`: each takes half of the work.",
            ),
            Mistake(
                "one trip",
                lambda: kl.decode_step(LLAMA, 4096, chips=2).time(H100) * 1e3,
                "That is the time to write one token. Reading is `kl.prefill`.",
            ),
            Mistake(
                "one by one",
                lambda: 4096 * kl.decode_step(LLAMA, 2048, chips=2).time(H100) * 1e3,
                "You sent the tokens through one after the other. They share one pass.",
            ),
        ],
        nudge="`kl.prefill(llama, prompt=..., chips=...)` is the work, `.time(h100)` the seconds.",
        why="{right}, and the chef cuts for nearly all of it.",
        worked="`kl.prefill(llama, prompt=4096, chips=2).time(h100) * 1e3` = {right}. Two chips "
        "take a little more than half the time of one, since they must also talk to each other.",
    ),
    Question(
        "tpot",
        prompt="A request took 2.48 s in all. Its first token came after 0.5 s, and the reply has "
        "100 tokens. What is its TPOT, in **ms**?",
        right=lambda: serving.measured_tpot(_TIMED_TOTAL, _TIMED["ttft"], 100) * 1e3,
        unit="ms",
        tolerance=0.003,
        mistakes=[
            Mistake(
                "everything over everything",
                lambda: _TIMED_TOTAL / 100 * 1e3,
                "You divided the whole request by all its tokens. The wait for the first token is "
                "the flood's time: leave it out.",
            ),
            Mistake(
                "the wait left in",
                lambda: _TIMED_TOTAL / 99 * 1e3,
                "You left out the first token, but not its time.",
            ),
            Mistake(
                "one token too many",
                lambda: (_TIMED_TOTAL - _TIMED["ttft"]) / 100 * 1e3,
                "The time is right. But the first token is there already: how many come after it?",
            ),
        ],
        nudge="TPOT is the time per output token *after the first*.",
        why="{right}. Whoever divides the whole request by its tokens mixes flood and drip.",
        worked="(2.48 s - 0.5 s) ÷ (100 - 1) = {right}.",
    ),
    Question(
        "notepad",
        prompt="How heavy is the notepad of one guest with 16,384 tokens, for Llama-3.1-70B in "
        "bf16? It has 80 layers, 8 KV heads and 128 numbers per head. Answer in **GB**.",
        right=lambda: LONG.kv_bytes(16_384) / GB,
        unit="GB",
        mistakes=[
            Mistake(
                "query heads",
                lambda: 8 * LONG.kv_bytes(16_384) / GB,
                "You took the 64 query heads. They share 8 KV heads, and only those are stored.",
            ),
            Mistake(
                "keys without values",
                lambda: LONG.kv_bytes(16_384) / 2 / GB,
                "Half of it: each token leaves a key *and* a value.",
            ),
            Mistake(
                "one layer",
                lambda: LONG.kv_bytes(16_384) / 80 / GB,
                "That is one layer. Each of the 80 keeps a notepad of its own.",
            ),
        ],
        nudge="Keys and values, for each layer, each KV head, each number of a head, two bytes "
        "each: so much for one token.",
        why="{right} for a single guest. Sixteen such guests weigh more than an H100 can hold.",
        worked="2 × 80 layers × 8 KV heads × 128 numbers × 2 bytes = 327,680 bytes for each token. "
        "Times 16,384 tokens: {right}.\n\n`long.kv_bytes(16_384) / 1e9`",
    ),
    Question(
        "cached",
        prompt="Of a prompt of 20,000 tokens the first 16,000 are in the notepad, kept from an "
        "earlier order. Which share of the **attention** work is left to do? Answer in **%**.",
        right=lambda: 100 * _attention(_PROMPT, _CACHED) / _attention(_PROMPT),
        unit="%",
        mistakes=[
            Mistake(
                "tokens for pairs",
                lambda: 100 * (1 - _CACHED / _PROMPT),
                "That is the share of the tokens. But each new token looks back at *all* earlier "
                "ones, the cached ones too.",
            ),
            Mistake(
                "new among themselves",
                lambda: 100 * ((_PROMPT - _CACHED) / _PROMPT) ** 2,
                "You counted the new tokens looking at each other. They look at the 16,000 cached "
                "ones as well.",
            ),
            Mistake(
                "the cached part",
                lambda: 100 * _attention(_CACHED) / _attention(_PROMPT),
                "That is the share that is saved. What is left?",
            ),
        ],
        nudge="Attention work goes with the pairs: each token with every token up to itself. The "
        "whole prompt has about half the square of its length.",
        why="{right}: the last fifth of a prompt looks back the furthest.",
        worked="The whole prompt has about 20,000² ÷ 2 pairs, the cached part 16,000² ÷ 2. What is "
        "left is (20,000² - 16,000²) ÷ 20,000² = {right}.",
    ),
    Question(
        "request",
        prompt="Write a function `request_seconds(ttft, tpot, reply)`: the **seconds** from the "
        "order to the last token of a reply of `reply` tokens.",
        right=lambda ttft, tpot, reply: ttft + (reply - 1) * tpot,
        unit="s",
        given=_random_request,
        mistakes=[
            Mistake(
                "one token too many",
                lambda ttft, tpot, reply: ttft + reply * tpot,
                "The first token comes with the TTFT. How many are left?",
            ),
            Mistake(
                "waiting every time",
                lambda ttft, tpot, reply: reply * (ttft + tpot),
                "The prompt is read once, not before every token.",
            ),
            Mistake(
                "the wait left out",
                lambda ttft, tpot, reply: reply * tpot,
                "The guest also waits for the first token.",
            ),
        ],
        nudge="Try it with a reply of one token: how long does that take?",
        why="Two numbers, because there are two jobs: one flood, then one drip for each token but "
        "the first.",
        worked="The first token is there after `ttft`. Each of the other `reply - 1` takes `tpot`:"
        "\n\n`return ttft + (reply - 1) * tpot`",
    ),
    Question(
        "judge",
        prompt="A test sends a prompt of 8,000 tokens, gets back 50, and reports *10,000 tokens "
        "per second*: all tokens, divided by all seconds. How fast did the reply come?",
        options=[
            Option(
                "all",
                "10,000 tokens a second",
                "Of the tokens in that number, how many belong to the reply?",
            ),
            Option(
                "half",
                "5,000 tokens a second",
                "Reading and writing share the seconds, but nothing says they share them equally.",
            ),
            Option("unknown", "the number does not say"),
            Option(
                "wrong",
                "it must be wrong",
                "It can be right. Divide: how many seconds did the whole test take?",
            ),
        ],
        right="unknown",
        nudge="Two unknown times add up to the seconds. How many equations do you have?",
        why="One number, two unknowns. The seconds may have gone into the flood or into the drip.",
        worked=lambda: (
            f"8,050 tokens ÷ 10,000 tokens/s = {_TOTAL:.3f} s in all. If reading took 0.3 s, the "
            f"49 tokens after the first came every {(_TOTAL - 0.3) / 49 * 1e3:.0f} ms. If it took "
            f"0.7 s, every {(_TOTAL - 0.7) / 49 * 1e3:.0f} ms. Both fit. "
            "The right answer: {right}."
        ),
    ),
]

BANK = Bank("02_prefill_vs_decode", [*PREDICTIONS, *QUESTIONS])
check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
solution, progress = BANK.solution, BANK.progress
