"""The question bank of notebook 00, Welcome."""

from __future__ import annotations

import kitchenlib as kl
from kitchenlib.exercises.bank import Bank
from kitchenlib.exercises.checking import Mistake, Question
from kitchenlib.exercises.predicting import Prediction

H100 = kl.chip("H100 SXM")
LLAMA = kl.model("Llama-2-70B")

PREDICTIONS = [
    Prediction(
        "tokens-a-second",
        prompt="The chef of this kitchen makes 989 trillion cuts a second, and one token takes "
        "138 billion. How many **tokens per second** can one guest get at the very best?",
        unit="tokens/s",
        right=lambda: 1 / float(kl.decode_step(LLAMA, context=0).time(H100)),
        low="The sack is heavy, but the waiter is quick.",
        high="The chef could do thousands. But the sack must come for each token, and the chef "
        "waits for it.",
        judge="The arithmetic says",
        why=lambda: (
            f"The waiter carries {kl.kg(H100.bandwidth):,.0f} kg a second. Of the sack, "
            f"{kl.kg(LLAMA.streamed_weight_bytes('bf16')):.0f} kg must come for every token (one "
            "table, the embedding, is only looked up): so {right} and no more. The chef alone "
            f"could do {H100.peak('bf16') / (2 * LLAMA.params):,.0f}."
        ),
    ),
]

QUESTIONS = [
    Question(
        "sack",
        prompt="Llama-2-70B has `llama.params` weights of two bytes each. How heavy is the sack, "
        "in **GB**?",
        right=lambda: LLAMA.weight_bytes("bf16") / 1e9,
        unit="GB",
        tolerance=0.02,
        mistakes=[
            Mistake(
                "one byte for each weight",
                lambda: LLAMA.weight_bytes("bf16") / 2 / 1e9,
                "You counted one byte for each weight. Each takes two.",
            ),
            Mistake(
                "half a byte for each weight",
                lambda: LLAMA.params / 2 / 1e9,
                "You divided by two. Each weight takes two bytes, so multiply.",
            ),
            Mistake(
                "bits",
                lambda: LLAMA.weight_bytes("bf16") * 8 / 1e9,
                "That is in gigabits: 16 bits for each weight. A byte has eight bits.",
            ),
        ],
        nudge="How many bytes are all weights together? Then remember that a GB is a billion of "
        "them.",
        why="{right}, or as many kilograms of sack. The story that this collection grew from "
        "rounds it to 140.",
        worked=lambda: (
            f"`llama.params` is {LLAMA.params:,}. Times 2 bytes, divided by a billion: {{right}}."
        ),
    ),
]

BANK = Bank("00_welcome", [*PREDICTIONS, *QUESTIONS])
check, predict, look_back = BANK.check, BANK.predict, BANK.look_back
solution, progress = BANK.solution, BANK.progress
