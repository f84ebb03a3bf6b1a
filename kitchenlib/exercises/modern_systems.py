"""The question bank of notebook 05, Modern systems."""

from __future__ import annotations

import math
import random

import kitchenlib as kl
from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.checking import Mistake, Option, Question
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.senses import image_tokens
from kitchenlib.units import GB, MB, MS

H100 = kl.chip("H100 SXM")
MAMBA = kl.model("Mamba-2.8B")
PLAIN = kl.model("Llama-3.1-8B")
LONG = kl.model("Llama-3.1-70B")

# --- Predictions ------------------------------------------------------------------------------

_TALK = 100_000  # tokens
_EXPERTS, _GUESTS = 16, 32

PREDICTIONS = [
    Prediction(
        "stock",
        prompt=lambda: (
            f"A conversation of {_TALK:,} tokens. Llama-3.1-8B notes every token, and its notes "
            f"weigh {float(PLAIN.kv_bytes(_TALK)) / GB:.1f} GB. {MAMBA.name}, which has "
            f"{float(MAMBA.weight_bytes()) / GB:.1f} GB of weights, boils all of it down into a "
            "**stock** of a fixed size (in 16 bit). How many **MB** does that weigh?"
        ),
        unit="MB",
        right=lambda: round(float(MAMBA.state_bytes("bf16")) / MB, 1),
        low="There is a little more in it: each of the 64 layers keeps 16 numbers for each of "
        "5,120 channels, and its last few inputs.",
        high="The card said five kilograms, which is what the *weights* of this model weigh. What "
        "is kept of a guest does not grow with the conversation at all.",
        why=lambda: (
            f"As much as the notes of {_as_notes():,} tokens of Llama-3.1-8B. Whatever you say, it "
            "has to fit in there. What that costs comes next."
        ),
    ),
    Prediction(
        "stations",
        prompt=f"A kitchen has {_EXPERTS} specialised sacks. Each token needs one of them, and a "
        f"router picks it. One guest: one sack a step. {_GUESTS} guests share a step, a token "
        "each. How many **sacks per step** does the waiter fetch, on average?",
        unit="sacks per step",
        right=lambda: round(float(kl.experts_touched(_EXPERTS, 1, _GUESTS)), 2),
        low="Each guest's token chooses by itself, and they seldom agree.",
        high="Sixteen would be all of them, every time. Now and then nobody wants one.",
        why="With company, a kitchen of specialists fetches nearly everything.",
    ),
]


def _as_notes() -> int:
    """Tokens of Llama-3.1-8B whose notes weigh as much as the stock."""
    return int(float(MAMBA.state_bytes("bf16")) / float(PLAIN.kv_bytes_per_token()))


# --- Exercises --------------------------------------------------------------------------------

_STATE = {"layers": 48, "heads": 64, "channels": 64, "state": 128}


def _state_megabytes(value_bytes: float = 2, layers: int = _STATE["layers"]) -> float:
    return layers * _STATE["heads"] * _STATE["channels"] * _STATE["state"] * value_bytes / MB


#: A hybrid and its rival: bytes of the stock, and of the notes for each token.
_STOCK, _SLOWLY, _QUICKLY = 60_000_000, 20_000, 120_000


def _crossing(stock: float = _STOCK, saved: float = _QUICKLY - _SLOWLY) -> int:
    """The first conversation, in tokens, whose notes weigh more than stock and notes together."""
    return math.floor(stock / saved) + 1


_MOE = {"total": 400, "active": 130, "experts": 8, "per_token": 2}


def _expert() -> float:
    return (_MOE["total"] - _MOE["active"]) / (_MOE["experts"] - _MOE["per_token"])


def _random_stations(rng: random.Random) -> tuple[int, int, int]:
    experts = rng.choice([8, 16, 64, 128])
    return experts, rng.choice([1, 2, 4, 8]), rng.choice([1, 4, 16, 50])


def _touched(experts: int, per_token: int, tokens: int) -> float:
    return float(kl.experts_touched(experts, per_token, tokens))


_ARCHIVE = {"cards": 400, "tokens": 150, "question": 50, "fetched": 5}


def _prompt(cards: int, question: int = _ARCHIVE["question"]) -> int:
    return cards * _ARCHIVE["tokens"] + question


def _lighter_prompt() -> float:
    return _prompt(_ARCHIVE["cards"]) / _prompt(_ARCHIVE["fetched"])


_PICTURE = (1120, 840)  # pixels


def _picture(family: str) -> int:
    return int(image_tokens(family, *_PICTURE))


_HIDDEN, _REPLY, _PACE, _PAUSE = 3000, 200, 20 * MS, 0.5  # tokens, tokens, seconds, seconds

_CALLS, _FIXED, _ASKED, _ADDED = 6, 600, 100, 150  # calls; tokens of schemas, question, a turn


def _resent(first: float = _FIXED + _ASKED) -> float:
    return float(kl.resent_tokens(first, _ADDED, _CALLS))


_ALONE = kl.decode_step(PLAIN, context=200)

_LONGEST = 131_072


def _guests(model: kl.Model, chips: int) -> int:
    return int(kl.max_batch(model, H100, _LONGEST, chips=chips))


QUESTIONS = [
    Question(
        "state",
        prompt=lambda: (
            f"A state-space model has {_STATE['layers']} layers. Each keeps, for every one of "
            f"{_STATE['heads']} heads, a table of {_STATE['channels']} × {_STATE['state']} numbers "
            "in 16 bit. How many **MB** does the stock of one guest weigh?"
        ),
        right=_state_megabytes,
        unit="MB",
        mistakes=[
            Mistake(
                "one layer",
                lambda: _state_megabytes(layers=1),
                "That is one layer. Each of them keeps a stock of its own.",
            ),
            Mistake(
                "a byte each",
                lambda: _state_megabytes(value_bytes=1),
                "You gave each number one byte. 16 bit are two.",
            ),
            Mistake(
                "in 32 bit",
                lambda: _state_megabytes(value_bytes=4),
                "You gave each number four bytes. Some kitchens do keep the stock like that; here "
                "it is in 16 bit.",
            ),
            Mistake(
                "one head",
                lambda: _state_megabytes() / _STATE["heads"],
                "That is one head of each layer. There are more.",
            ),
        ],
        nudge="Layers × heads × the numbers of a table × bytes of a number. No tokens anywhere.",
        why="{right}, after one word and after a million.",
        worked=lambda: (
            f"{_STATE['layers']} × {_STATE['heads']} × {_STATE['channels']} × {_STATE['state']} "
            "numbers × 2 bytes = {right}."
        ),
    ),
    Question(
        "crossing",
        prompt=f"A hybrid keeps a stock of {_STOCK / MB:.0f} MB for each guest, and {_SLOWLY:,} "
        f"bytes of notes for each token. Its rival keeps {_QUICKLY:,} bytes for each token, and no "
        "stock. From which length of a conversation on, in **tokens**, does the hybrid keep less?",
        right=_crossing,
        unit="tokens",
        tolerance=0.002,
        mistakes=[
            Mistake(
                "no notes of its own",
                lambda: _crossing(saved=_QUICKLY),
                "The hybrid writes notes as well, in a few of its layers. Per token it saves the "
                "*difference*.",
            ),
            Mistake(
                "its own notes alone",
                lambda: _crossing(saved=_SLOWLY),
                "That is where the hybrid's own notes weigh as much as its stock. Hold it against "
                "the rival.",
            ),
            Mistake(
                "added up",
                lambda: _crossing(saved=_QUICKLY + _SLOWLY),
                "You added the two. What does the hybrid save with each token?",
            ),
            Mistake(
                "to and fro",
                lambda: _crossing(stock=2 * _STOCK),
                "You counted the stock twice, read and written. That is what is *moved*. What is "
                "kept lies there once.",
            ),
        ],
        nudge="The stock is paid once. With each token the hybrid writes fewer bytes than the "
        "other: how many tokens pay for the stock?",
        why="{right}. Below that, a stock is *heavier* than notes.",
        worked=f"Each token saves {_QUICKLY:,} - {_SLOWLY:,} bytes. {_STOCK:,} ÷ "
        f"{_QUICKLY - _SLOWLY:,}, and the next whole token: {{right}}.",
    ),
    Question(
        "touched",
        prompt="Write a function `touched(experts, per_token, tokens)`: how many different "
        "**experts** of a layer a step needs on average, if each of `tokens` tokens visits "
        "`per_token` of `experts`, and every expert is equally likely.",
        right=_touched,
        unit="experts",
        given=_random_stations,
        mistakes=[
            Mistake(
                "everybody alone",
                lambda e, k, n: min(e, k * n),
                "That is the most it can be. Two tokens may want the same expert.",
            ),
            Mistake(
                "the last one's chance",
                lambda e, k, n: e * (1 - k / e) ** n,
                "So many experts are visited by *nobody*.",
            ),
            Mistake(
                "the wrong chance",
                lambda e, k, n: e * (1 - (k / e) ** n),
                "You raised the chance of a *visit* to a power. An expert is left alone only if "
                "every token stays away.",
            ),
            Mistake(
                "one visit each",
                lambda e, k, n: e * (1 - (1 - 1 / e) ** n),
                "You let each token visit one expert. It visits `per_token`.",
            ),
            Mistake(
                "visits that may meet",
                lambda e, k, n: e * (1 - (1 - 1 / e) ** (k * n)),
                "Nearly: you let all visits be independent. One token never visits the same expert "
                "twice, so the chance that it stays away is `1 - per_token / experts`.",
            ),
        ],
        nudge="Take one expert. With which chance does one token stay away from it? And all of "
        "them?",
        why="One minus the chance that everybody stays away, for each expert.",
        worked="`return experts * (1 - (1 - per_token / experts) ** tokens)`",
    ),
    Question(
        "loop",
        prompt=f"A cook with appliances calls the model {_CALLS} times. Every prompt holds "
        f"{_FIXED} tokens of tool descriptions, the question of {_ASKED} tokens, and all that was "
        f"written and found before; each call makes that {_ADDED} tokens longer. How many prompt "
        "**tokens** are sent in all?",
        right=_resent,
        unit="tokens",
        tolerance=0,
        mistakes=[
            Mistake(
                "the last prompt",
                _FIXED + _ASKED + (_CALLS - 1) * _ADDED,
                "That is the last prompt. Every call before it sent one as well.",
            ),
            Mistake(
                "a call too many",
                _FIXED + _ASKED + _CALLS * _ADDED,
                "That is the prompt that a *seventh* call would send. What did all of them send?",
            ),
            Mistake(
                "tools described once",
                lambda: _resent(_ASKED) + _FIXED,
                "The descriptions are in *every* prompt: the model remembers nothing between "
                "calls.",
            ),
            Mistake(
                "never longer",
                _CALLS * (_FIXED + _ASKED),
                "You left out what was written and found before.",
            ),
            Mistake(
                "longer at once",
                lambda: _resent() + _CALLS * _ADDED,
                "The first prompt has nothing before it yet.",
            ),
        ],
        nudge="Write down the six prompts, one below the other, and add them up.",
        why="{right}, for a conversation that is a fraction of that. This is what prefix caching "
        "is for.",
        worked=lambda: (
            f"{_CALLS} × ({_FIXED} + {_ASKED}) + {_ADDED} × (0 + 1 + ... + {_CALLS - 1}) = "
            f"{{right}}.\n\n`kl.resent_tokens({_FIXED + _ASKED}, {_ADDED}, {_CALLS})`"
        ),
    ),
    Question(
        "slow-words",
        prompt="One guest at a time, in short conversations (200 tokens), with Llama-3.1-8B. The "
        "guest complains that the **words** come slowly. Which change helps most?",
        options=[
            Option(
                "hybrid",
                "a hybrid of the same weight",
                "In a short conversation notes are light, lighter than a stock. What is heavy?",
            ),
            Option(
                "fetch",
                "fetching three pages",
                "That makes prompts short. Here they are short already.",
            ),
            Option(
                "moe",
                "a mixture of experts of the same weight, of which a token visits an eighth",
            ),
            Option(
                "think",
                "a scratchpad of 2,000 tokens",
                "Hidden tokens are tokens: the pace stays, and there are more of them.",
            ),
        ],
        right="moe",
        nudge="One guest, hardly any notes: what does the waiter carry for each word?",
        why="The sack is the bottleneck here, and only the stations make a trip of it lighter, as "
        "long as the guest is alone.",
        worked=lambda: (
            f"For each word the waiter carries {float(_ALONE.weight_bytes) / GB:.1f} GB of sack "
            f"and {float(_ALONE.kv_bytes) / GB:.2f} GB of notes. A hybrid and a pantry change the "
            "notes, a scratchpad the number of words. Of a mixture of experts one token needs an "
            "eighth of the sack, or a little more for what is shared: {right}. (With 32 guests it "
            "would be another question.)"
        ),
    ),
    Question(
        "picture",
        prompt=lambda: (
            f"Qwen2-VL keeps a picture at its own size, cuts it into patches of 14 × 14 pixels, "
            f"and joins 2 × 2 of them to one token. How many **tokens** is a picture of "
            f"{_PICTURE[0]:,} × {_PICTURE[1]} pixels?"
        ),
        right=lambda: _picture("Qwen2-VL"),
        unit="tokens",
        tolerance=0,
        more=True,
        mistakes=[
            Mistake(
                "patches",
                lambda: 4 * _picture("Qwen2-VL"),
                "So many patches. Four of them are one token.",
            ),
            Mistake(
                "a fixed size",
                lambda: _picture("LLaVA-1.5"),
                "That is LLaVA-1.5, which squeezes every picture into 336 × 336 pixels.",
            ),
            Mistake(
                "one joined",
                lambda: 2 * _picture("Qwen2-VL"),
                "You joined two patches. It is two across *and* two down.",
            ),
        ],
        nudge="How many cells of 28 × 28 pixels stand side by side, and how many above each other?",
        why="{right}: as many rows to read, and to carry in the notes as long as the talk lasts.",
        worked=lambda: (
            f"{_PICTURE[0]:,} ÷ 28 = {_PICTURE[0] // 28} across, {_PICTURE[1]} ÷ 28 = "
            f"{_PICTURE[1] // 28} down: {{right}}."
        ),
    ),
    Question(
        "first-word",
        prompt=f"A prompt is read in {_PAUSE} s. Then a token comes every {_PACE / MS:.0f} ms: "
        f"first {_HIDDEN:,} that the model writes for itself, then a reply of {_REPLY}. After how "
        "many **seconds** does the reader see the first word?",
        right=_PAUSE + _HIDDEN * _PACE,
        unit="s",
        more=True,
        tolerance=0.001,
        mistakes=[
            Mistake(
                "the prompt alone",
                _PAUSE,
                "That is the first token. Nobody sees it: it is written on the scratchpad.",
            ),
            Mistake(
                "to the end",
                _PAUSE + (_HIDDEN + _REPLY) * _PACE,
                "That is when the reply is *complete*.",
            ),
            Mistake(
                "without reading",
                _HIDDEN * _PACE,
                "You left out the time to read the prompt.",
            ),
            Mistake(
                "to the end, without reading",
                (_HIDDEN + _REPLY) * _PACE,
                "You left out the reading, and went on to the end of the reply.",
            ),
            Mistake(
                "milliseconds",
                _PAUSE + _HIDDEN * _PACE / MS,
                "The prompt is in seconds, the pace in milliseconds. Bring them together.",
            ),
        ],
        nudge="Reading, and then every hidden token at the pace of the reply.",
        why="{right}. A time to first *visible* token is not the TTFT of a data sheet.",
        worked=f"{_PAUSE} s + {_HIDDEN:,} × {_PACE / MS:.0f} ms = {{right}}.",
    ),
    Question(
        "fetched",
        prompt=lambda: (
            f"An archive has {_ARCHIVE['cards']} cards of {_ARCHIVE['tokens']} tokens each. A "
            f"question has {_ARCHIVE['question']} tokens. Instead of all the cards, the prompt "
            f"gets the {_ARCHIVE['fetched']} that fit best. How many **times** shorter is it?"
        ),
        right=_lighter_prompt,
        unit="times",
        more=True,
        mistakes=[
            Mistake(
                "cards alone",
                lambda: _ARCHIVE["cards"] / _ARCHIVE["fetched"],
                "So many times fewer cards. The question is in both prompts.",
            ),
            Mistake(
                "tokens for times",
                lambda: _prompt(_ARCHIVE["cards"]) - _prompt(_ARCHIVE["fetched"]),
                "So many tokens shorter. How many *times* does the short prompt go into the long "
                "one?",
            ),
            Mistake(
                "upside down",
                lambda: 1 / _lighter_prompt(),
                "That is how long the short prompt is beside the long one.",
            ),
        ],
        nudge="The tokens of one prompt divided by those of the other, the question in both.",
        why="{right}: so many times less to read, and as much less in the notes.",
        worked=lambda: (
            f"({_ARCHIVE['cards']} × {_ARCHIVE['tokens']} + {_ARCHIVE['question']}) ÷ "
            f"({_ARCHIVE['fetched']} × {_ARCHIVE['tokens']} + {_ARCHIVE['question']}) = {{right}}."
        ),
    ),
    Question(
        "split",
        prompt=lambda: (
            f"A model weighs {_MOE['total']} GB. In each layer a token visits "
            f"{_MOE['per_token']} of {_MOE['experts']} experts, and with what all tokens share, "
            f"{_MOE['active']} GB are read for it. How many **GB** does one expert weigh, all "
            "layers together?"
        ),
        right=_expert,
        unit="GB",
        more=True,
        mistakes=[
            Mistake(
                "nothing shared",
                lambda: _MOE["total"] / _MOE["experts"],
                "You left nothing for what all tokens share: attention, embedding, norms.",
            ),
            Mistake(
                "a share of the active part",
                lambda: _MOE["active"] / _MOE["per_token"],
                f"The {_MOE['active']} GB hold the shared part as well.",
            ),
            Mistake(
                "what is shared",
                lambda: _MOE["active"] - _MOE["per_token"] * _expert(),
                "That is the shared part. How much is one expert?",
            ),
            Mistake(
                "divided by all",
                lambda: (_MOE["total"] - _MOE["active"]) / _MOE["experts"],
                "The difference between the two numbers is the experts that are *not* visited. How "
                "many are those?",
            ),
        ],
        nudge="What lies between the whole model and what one token needs? Experts that it does "
        "not visit, and nothing else.",
        why="{right}, and the rest is shared.",
        worked=lambda: (
            f"{_MOE['total']} - {_MOE['active']} GB are the {_MOE['experts'] - _MOE['per_token']} "
            "experts that a token does not visit: {right} each. Shared: "
            f"{_MOE['active']} - {_MOE['per_token']} × {_expert():.0f} = "
            f"{_MOE['active'] - _MOE['per_token'] * _expert():.0f} GB."
        ),
    ),
    Question(
        "long-guests",
        prompt=f"How many **guests** with {_LONGEST:,} tokens of notes each fit beside "
        "Llama-3.1-70B on eight H100s (16 bit, a tenth of the memory stays free)?",
        right=lambda: _guests(LONG, 8),
        unit="guests",
        tolerance=0,
        more=True,
        mistakes=[
            Mistake(
                "all of the memory",
                lambda: int(kl.max_batch(LONG, H100, _LONGEST, chips=8, usable=1.0)),
                "You filled the memory to the last byte. A tenth of it stays free.",
            ),
            Mistake(
                "four chips",
                lambda: _guests(LONG, 4),
                "So many fit on four of them. Say `chips=8`.",
            ),
            Mistake(
                "one chip",
                lambda: _guests(LONG, 1),
                "On one chip not even the sack fits. Say `chips=8`.",
            ),
            Mistake(
                "no sack",
                lambda: int(8 * 0.9 * (H100.memory_bytes or 0) // float(LONG.kv_bytes(_LONGEST))),
                "You forgot that the sack lies in the same warehouse.",
            ),
        ],
        nudge="`kl.max_batch(model, chip, context, chips=...)`",
        why="{right}. That is why notepads are put on a diet.",
        worked='`kl.max_batch(kl.model("Llama-3.1-70B"), h100, 131_072, chips=8)` = {right}',
    ),
]

BANK = Bank("05_modern_systems", [*PREDICTIONS, *QUESTIONS])
check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
solution, progress = BANK.solution, BANK.progress
