"""The question bank of notebook 01, The ratio."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import kitchenlib as kl
from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.checking import Mistake, Option, Question
from kitchenlib.exercises.predicting import Prediction

H100 = kl.chip("H100 SXM")
A100 = kl.chip("A100 SXM 80GB")
LLAMA = kl.model("Llama-2-70B")

# --- Predictions ------------------------------------------------------------------------------

_CUTS = {"one": 1, "ten": 10, "hundreds": 300, "thousands": 100_000}


def _cuts_per_crumb() -> str:
    """The option that is nearest to the ridge, as a factor."""
    return min(_CUTS, key=lambda name: abs(math.log(_CUTS[name] / H100.ridge())))


def _free_tokens() -> int:
    """The most tokens that were measured to take at most a tenth longer than one token."""
    rows = kl.layer_times("Llama-2-70B")
    return max(row.tokens for row in rows if row.seconds <= 1.1 * rows[0].seconds)


PREDICTIONS = [
    Prediction(
        "cuts-per-crumb",
        prompt="While the waiter of an H100 brings **one crumb** (a byte), how many cuts "
        "(calculations) could the chef make?",
        options=[
            Option(
                "one",
                "about 1",
                "That would be a kitchen in which nobody waits. Chips have not been built like "
                "that for a long time.",
            ),
            Option("ten", "about 10", "More. Your own laptop is nearer to this one."),
            Option("hundreds", "about 300"),
            Option("thousands", "about 100,000", "The chef is quick, but so is the waiter."),
        ],
        right=_cuts_per_crumb,
        why=lambda: (
            f"{H100.peak() / 1e12:.1f} trillion cuts a second, divided by "
            f"{H100.bandwidth / 1e12:.2f} trillion crumbs a second, are {H100.ridge():.0f}."
        ),
    ),
    Prediction(
        "free-tokens",
        prompt="A model is many equal steps, called layers. On a real H100 one of them was timed "
        "with 1, 2, 4, 8 ... up to 4,096 **tokens** going through together. What is the largest of "
        "these numbers that took at most a tenth longer than a single token?",
        unit="tokens",
        judge="The measurement says",
        right=_free_tokens,
        low="It is natural to think that more tokens take more time. They do not while the waiter "
        "sets the pace: one walk serves them all.",
        high="Past the ridge the chef is the slower one. And a real chip has a rounded corner: its "
        "time begins to rise before the ridge.",
        why="They took nearly the same time as one: the waiter carries the weights once, and the "
        "chef had time to spare.",
    ),
]

# --- Exercises --------------------------------------------------------------------------------


def _random_pass(rng: random.Random) -> tuple[int, float]:
    return rng.randint(1, 5000), rng.choice([3, 4, 4.5, 6, 8, 16, 32])


GROUPED = kl.number_format("int4-g128").bytes  #: bytes of a weight, scales included


def _tokens_to_ridge(bytes_per_weight: float) -> int:
    return math.ceil(H100.ridge("bf16") * bytes_per_weight / 2)


def _best_purchase() -> str:
    """Which upgrade shortens one decode step most: found by trying them."""
    upgrades = {
        "peak": replace(H100, peaks={"bf16": 2 * H100.peak("bf16")}),
        "bandwidth": replace(H100, bandwidth=2 * H100.bandwidth),
        "memory": replace(H100, memory_bytes=2 * (H100.memory_bytes or 0)),
    }
    step = kl.decode_step(LLAMA, context=512)
    return min(upgrades, key=lambda name: float(step.time(upgrades[name])))


QUESTIONS = [
    Question(
        "crumb",
        prompt="If one gram were one byte, what would the sack of Llama-2-70B weigh in bf16? "
        "Answer in **tonnes** (1 tonne = 1,000 kg = 1,000,000 g).",
        right=lambda: LLAMA.weight_bytes("bf16") / 1e6,
        unit="tonnes",
        tolerance=0.02,
        mistakes=[
            Mistake(
                "a kilogram for a gigabyte",
                lambda: LLAMA.weight_bytes("bf16") / 1e9,
                "That is the sack in kilograms, with a kilogram to the gigabyte. Here a *gram* is "
                "a *byte*, and the answer is in tonnes.",
            ),
            Mistake(
                "kilograms",
                lambda: LLAMA.weight_bytes("bf16") / 1e3,
                "You stopped at kilograms. A tonne is a thousand of them.",
            ),
            Mistake(
                "the other kilogram",
                lambda: LLAMA.weight_bytes("bf16") / 1e9 / 1e3,
                "You took a kilogram for a gigabyte, as the rest of the story does. Here one "
                "*gram* is one *byte*.",
            ),
            Mistake(
                "one byte for each weight",
                lambda: LLAMA.params / 1e6,
                "You counted one gram for each weight. In bf16 each weight takes two bytes.",
            ),
            Mistake(
                "bits",
                lambda: LLAMA.weight_bytes("bf16") * 8 / 1e6,
                "You counted bits: 16 for each weight. A gram is one byte here, eight bits.",
            ),
        ],
        nudge="Begin with `llama.weight_bytes('bf16')`, the bytes of the sack. Each byte weighs a "
        "gram. How many grams make a tonne?",
        why="{right}: a container ship full. The two readings of the story differ by a factor of a "
        "million, which is why a unit is part of a number.",
        worked=lambda: (
            f"The sack has {LLAMA.weight_bytes('bf16'):,.0f} bytes, so as many grams. A thousand "
            "grams are a kilogram, a thousand kilograms a tonne:\n\n"
            "`llama.weight_bytes('bf16') / 1_000 / 1_000` = {right}"
        ),
    ),
    Question(
        "ridge",
        prompt="How many FLOP per byte does an A100 SXM with 80 GB ask for, in bf16? Answer in "
        "**FLOP/byte**.",
        right=lambda: A100.ridge("bf16"),
        unit="FLOP/byte",
        mistakes=[
            Mistake(
                "upside down",
                lambda: 1 / A100.ridge("bf16"),
                "You divided the waiter by the chef. The ridge is cuts *for each* crumb: FLOP "
                "above the line, bytes below it.",
            ),
            Mistake(
                "twice the peak",
                lambda: 2 * A100.ridge("bf16"),
                "Twice too much. Either you took the peak with sparsity, which counts products "
                "that are never done, or the peak in 8 bits. Take the dense one, in bf16.",
            ),
            Mistake(
                "the other A100",
                lambda: kl.chip("A100 SXM 40GB").ridge("bf16"),
                "That is the A100 with 40 GB, whose memory is slower. Same chef, another waiter.",
            ),
            Mistake(
                "the wrong chip",
                lambda: H100.ridge("bf16"),
                "That is the H100 again. The question is about the A100.",
            ),
        ],
        nudge="Two numbers of the data sheet: `a100.peak('bf16')` and `a100.bandwidth`. Which one "
        "goes below the line?",
        why=lambda: (
            f"{{right}}, about half of the H100's {H100.ridge():.0f}: its chef is three times "
            "slower, its waiter less than twice. It is content with half as many guests."
        ),
        worked=lambda: (
            f"{kl.human(A100.peak('bf16'), 'FLOP/s')} divided by "
            f"{kl.human(A100.bandwidth, 'B/s', 4)} is {{right}}:\n\n"
            "`a100.peak('bf16') / a100.bandwidth`, or `a100.ridge('bf16')`"
        ),
    ),
    Question(
        "one-token",
        prompt="How long does the waiter take to carry all weights that one token of Llama-2-70B "
        "has to see, in bf16 on an H100? Answer in **ms**.",
        right=lambda: LLAMA.streamed_weight_bytes("bf16") / H100.bandwidth * 1e3,
        unit="ms",
        mistakes=[
            Mistake(
                "the chef's time",
                lambda: LLAMA.streamed_weight_bytes("bf16") / H100.peak("bf16") * 1e3,
                "That is about how long the *chef* cuts: you divided by the peak. The waiter "
                "carries bytes at the bandwidth.",
            ),
            Mistake(
                "one layer",
                lambda: kl.layer_work(LLAMA, 1).bytes / H100.bandwidth * 1e3,
                "That is one layer. The token walks through all of them, and to the exit.",
            ),
            Mistake(
                "one byte for each weight",
                lambda: LLAMA.streamed_weight_bytes("bf16") / 2 / H100.bandwidth * 1e3,
                "You carried one byte for each weight. In bf16 each takes two.",
            ),
            Mistake(
                "tokens per second",
                lambda: H100.bandwidth / LLAMA.streamed_weight_bytes("bf16"),
                "You worked out tokens per second. The question asks how long one takes.",
            ),
        ],
        nudge="Bytes divided by bytes per second gives seconds. And a second has 1,000 ms.",
        why=lambda: (
            "{right} for one token, so never more than "
            f"{H100.bandwidth / LLAMA.streamed_weight_bytes('bf16'):.0f} tokens a second for one "
            "guest, whatever the chef can do."
        ),
        worked=lambda: (
            f"{kl.human(LLAMA.streamed_weight_bytes('bf16'), 'B', 4)} at "
            f"{kl.human(H100.bandwidth, 'B/s')} take {{right}}. It is a little less than the whole "
            "sack: of the embedding table one row is looked up, the rest stays where it is.\n\n"
            "`llama.streamed_weight_bytes('bf16') / h100.bandwidth * 1e3`"
        ),
    ),
    Question(
        "intensity",
        prompt="Write a function `intensity(tokens, bits)`: the FLOP per byte of a matrix product "
        "in which `tokens` tokens share weights of `bits` bits each. Count the bytes of the "
        "weights only.",
        right=lambda tokens, bits: 2 * tokens / (bits / 8),
        unit="FLOP/byte",
        tolerance=1e-6,
        given=_random_pass,
        also=[(1, 3), (7, 5), (100, 6), (64, 8), (1000, 4)],  # 3, 5 and 6 leave a remainder
        mistakes=[
            Mistake(
                "whole numbers only",
                lambda tokens, bits: 16 * tokens // bits,
                "You rounded down on the way: `//` drops what is left over. Divide with `/`.",
            ),
            Mistake(
                "one operation",
                lambda tokens, bits: tokens / (bits / 8),
                "Each weight costs a multiplication *and* an addition: two FLOPs.",
            ),
            Mistake(
                "bits for bytes",
                lambda tokens, bits: 2 * tokens / bits,
                "That is FLOP per *bit*. A byte has eight of them.",
            ),
            Mistake(
                "upside down",
                lambda tokens, bits: (bits / 8) / (2 * tokens),
                "That is bytes per FLOP. Turn it over.",
            ),
            Mistake(
                "16 bit for all",
                lambda tokens, bits: tokens,
                "That holds for weights of 16 bits. What if they have 8?",
            ),
            Mistake(
                "one token",
                lambda tokens, bits: 2 / (bits / 8),
                "That is for one token alone. All the tokens of a pass share each byte.",
            ),
        ],
        nudge="For one weight: how many FLOPs do all the tokens ask for together? And how many "
        "bytes does that weight take?",
        why="Fewer bits or more tokens: both raise the intensity. That is why lighter ingredients "
        "and more guests are the first two repairs of any kitchen.",
        worked="Take one weight. Each of the `tokens` tokens multiplies it and adds: "
        "`2 * tokens` FLOPs. It takes `bits / 8` bytes. So\n\n`return 2 * tokens / (bits / 8)`",
    ),
    Question(
        "powder",
        prompt="Weights stored as `int4-g128` take 4.15625 bits each and are multiplied in 16 bit. "
        "How many tokens must share a pass to reach the ridge of an H100? Round up, in whole "
        "**tokens**.",
        right=lambda: _tokens_to_ridge(GROUPED),
        unit="tokens",
        tolerance=0,
        more=True,
        mistakes=[
            Mistake(
                "not rounded up",
                lambda: H100.ridge("bf16") * GROUPED / 2,
                "Short of the ridge the chef still waits a little. Round up to whole tokens.",
                when=lambda tokens: 0 <= _tokens_to_ridge(GROUPED) - tokens <= 1,
            ),
            Mistake(
                "16-bit weights",
                lambda: _tokens_to_ridge(kl.number_format("bf16").bytes),
                "That is the number for weights of two bytes. These take about half a byte.",
            ),
            Mistake(
                "8-bit weights",
                lambda: _tokens_to_ridge(kl.number_format("int8").bytes),
                "That is the number for weights of one byte. These take about half of that.",
            ),
            Mistake(
                "no scales",
                lambda: _tokens_to_ridge(kl.number_format("int4").bytes),
                "You took 4 bits. The scales that groups of weights share have to be carried too.",
                when=lambda tokens: 0 <= _tokens_to_ridge(0.5) - tokens < 1,
            ),
            Mistake(
                "one operation",
                lambda: math.ceil(H100.ridge("bf16") * GROUPED),
                "Twice too many: each weight costs two FLOPs for each token, not one.",
            ),
            Mistake(
                "bits for bytes",
                lambda: _tokens_to_ridge(kl.number_format("int4-g128").bits),
                "A byte has eight bits: use the *bytes* of a weight.",
            ),
            Mistake(
                "multiplied for divided",
                lambda: math.ceil(H100.ridge("bf16") / GROUPED),
                "Lighter weights bring *more* cuts with each crumb, so fewer tokens are enough.",
            ),
        ],
        nudge="Write the intensity for this many bytes per weight, with the number of tokens "
        "unknown. Set it equal to the ridge.",
        why="{right}. A quarter of the weight, a quarter of the guests: the same chef is kept busy "
        "by a smaller crowd.",
        worked=lambda: (
            "Intensity is 2 × tokens ÷ bytes per weight. Set it equal to the ridge and solve for "
            f"the tokens: {H100.ridge():.1f} × {GROUPED:.4f} ÷ 2 = "
            f"{H100.ridge() * GROUPED / 2:.1f}. Rounded up: {{right}}."
        ),
    ),
    Question(
        "buy",
        prompt="You serve one guest at a time, and the reply should come faster. What do you buy?",
        options=[
            Option(
                "peak",
                "a chip with twice the peak",
                "The chef cuts for less than a hundredth of the time, and does it while the waiter "
                "is walking. A faster chef waits longer, and the reply comes no sooner.",
            ),
            Option("bandwidth", "a chip with twice the bandwidth"),
            Option(
                "same",
                "either, it is the same",
                "Even if chef and waiter took turns, the chef's part would be less than a "
                "hundredth. And they work side by side: the slower one sets the pace.",
            ),
            Option(
                "memory",
                "a chip with twice the memory",
                "A larger pantry holds a larger sack. It does not make the waiter walk faster.",
            ),
        ],
        right=_best_purchase,
        nudge="Who is waiting for whom when there is one guest?",
        why="One guest is memory-bound: the time is bytes divided by bandwidth, and nothing else "
        "in the shop changes it.",
        worked="One token asks for one FLOP per byte, far left of the ridge. Out there the time is "
        "bytes ÷ bandwidth. Twice the bandwidth halves it; twice the peak leaves it as it is.",
    ),
]

BANK = Bank("01_ratio", [*PREDICTIONS, *QUESTIONS])
check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
solution, progress = BANK.solution, BANK.progress
