"""A bank with one page of every kind, as a notebook would have it. The tests of the framework use
it, and `test_banks` holds it to the same rules as the real ones."""

from __future__ import annotations

from kitchenlib.exercises import Bank, Mistake, Option, Prediction, Question

PEAK = 989.4e12  # FLOP/s, H100 SXM, dense BF16
BANDWIDTH = 3.35e12  # byte/s
WEIGHTS = 68_976_648_192 * 2  # bytes, Llama-2-70B in 16 bit
LAYERS, HEADS, KV_HEADS, HEAD_DIM = 80, 64, 8, 128


def ridge(peak: float = PEAK, bandwidth: float = BANDWIDTH) -> float:
    """FLOP/byte at which chef and waiter take equally long."""
    return peak / bandwidth


def notes(tokens: int = 4096, heads: int = KV_HEADS, sides: int = 2, layers: int = LAYERS) -> float:
    """Gigabytes of KV cache."""
    return sides * layers * heads * HEAD_DIM * 2 * tokens / 1e9


def floor_ms(flops: float, nbytes: float) -> float:
    """Milliseconds that a job takes at least."""
    return max(flops / PEAK, nbytes / BANDWIDTH) * 1e3


BANK = Bank(
    "example",
    [
        Prediction(
            key="who-waits",
            prompt="One guest, one word at a time: who waits for whom?",
            options=[
                Option("chef", "the chef waits for the waiter"),
                Option("waiter", "the waiter waits for the chef", "Count the cuts per crumb."),
                Option("nobody", "they finish together", "That happens at one ratio only."),
            ],
            right=lambda: "chef" if ridge() > 1 else "waiter",
            why=lambda: (
                "One word asks for about 1 FLOP per byte, and the chef could do "
                f"{ridge():.0f} in that time."
            ),
        ),
        Prediction(
            key="guess-ridge",
            prompt="How many FLOP can the chef do while the waiter brings one byte? In FLOP/byte.",
            unit="FLOP/byte",
            right=ridge,
            why="Peak divided by bandwidth.",
            low="The chef is faster than that.",
            high="The waiter is not that slow.",
        ),
        Question(
            key="ridge",
            prompt="How many FLOP per byte must a job ask for to keep the chef of an H100 busy? "
            "Answer in FLOP/byte.",
            right=ridge,
            unit="FLOP/byte",
            mistakes=[
                Mistake(
                    "upside down",
                    lambda: 1 / ridge(),
                    "You divided the waiter by the chef: that is bytes per FLOP.",
                ),
                Mistake(
                    "a sparse peak",
                    lambda: ridge(2 * PEAK),
                    "The data sheet's larger figure skips half of the operands. Take the "
                    "**dense** peak.",
                ),
                Mistake(
                    "multiply-adds counted once",
                    lambda: ridge(PEAK / 2),
                    "One multiply-add is two operations.",
                ),
            ],
            nudge="How many bytes arrive in a second, and how many operations fit in it?",
            why="Below {right} the waiter sets the pace, above it the chef.",
            worked=lambda: (
                f"""
                Divide the chef's speed by the waiter's:

                ```
                {PEAK:.4g} FLOP/s / {BANDWIDTH:.3g} byte/s
                ```

                That is {{right}}: the *ridge* of the chip.
                """
            ),
        ),
        Question(
            key="notepad",
            prompt="How heavy is the notepad of Llama-2-70B after 4,096 tokens, in GB?",
            right=notes,
            unit="GB",
            mistakes=[
                Mistake("all the heads", lambda: notes(heads=HEADS), "Only the KV heads are kept."),
                Mistake(
                    "keys alone", lambda: notes(sides=1), "Each token leaves a key *and* a value."
                ),
                Mistake(
                    "one layer", lambda: notes(layers=1), "Every layer keeps notes of its own."
                ),
            ],
            nudge="Multiply: 2 sides, layers, KV heads, head size, bytes per value, tokens.",
            why="{right} for one guest, beside a sack of a hundred times that.",
            worked="`2 * 80 * 8 * 128 * 2 * 4096` bytes are {right}.",
        ),
        Question(
            key="idle",
            prompt="Which share of an H100 does a job of 1 FLOP/byte use, in percent?",
            right=lambda: 100 / ridge(),
            unit="%",
            mistakes=[
                Mistake("the idle share", lambda: 100 - 100 / ridge(), "That share is *idle*."),
                Mistake("the ridge itself", ridge, "That is the ridge, and no share of anything."),
                Mistake(
                    "more than everything",
                    250,
                    "No chip is used by more than 100%.",
                    when=lambda share: share > 100,
                ),
            ],
            nudge="At the ridge it would be 100%.",
            why="{right}: the chef stands and waits.",
            worked="One divided by the ridge, in percent: {right}.",
        ),
        Question(
            key="layers",
            prompt="How many layers does Llama-2-70B have?",
            right=LAYERS,
            tolerance=0,
            mistakes=[
                Mistake("heads", HEADS, "These are its attention heads."),
                Mistake("KV heads", KV_HEADS, "These are its KV heads."),
                Mistake("head size", HEAD_DIM, "That is the size of a head."),
            ],
            nudge="Look at `kl.model(...)`.",
            why="Each is one station of the kitchen.",
            worked='`kl.model("Llama-2-70B").layers` is {right}.',
        ),
        Question(
            key="bound",
            prompt="A prompt of 20,000 tokens arrives. What sets the pace?",
            options=[
                Option("memory", "the waiter", "Each sack he brings is now used 20,000 times."),
                Option("capacity", "the size of the warehouse", "It decides whether it fits."),
                Option("compute", "the chef"),
                Option("network", "the road to the next kitchen", "There is one kitchen here."),
            ],
            right=lambda: "compute" if ridge() < 20_000 else "memory",
            nudge="Compare with the ridge.",
            why="20,000 cuts per crumb are more than the ridge.",
            worked="20,000 FLOP/byte against {right}.",
        ),
        Question(
            key="waiter",
            prompt="Which property of a chip does the waiter stand for? One word.",
            right="bandwidth",
            accept=["memory bandwidth", "memory bus"],
            mistakes=[
                Mistake(
                    "the warehouse", "capacity", "That is how much fits, not how fast it comes."
                ),
                Mistake("the chef", "compute", "That is the other one."),
                Mistake("waiting", "latency", "It is about how much arrives in a second."),
            ],
            nudge="He carries bytes, so many in a second.",
            why="Bytes per second.",
            worked="The waiter is the memory {right}.",
        ),
        Question(
            key="floor",
            prompt="Write `floor_ms(flops, nbytes)`: the least time of a job on an H100, in ms.",
            given=lambda rng: (
                rng.randint(1, 99) * 10 ** rng.randint(11, 14),
                rng.randint(1, 99) * 10 ** rng.randint(9, 11),
            ),
            right=floor_ms,
            unit="ms",
            mistakes=[
                Mistake(
                    "one after the other",
                    lambda flops, nbytes: (flops / PEAK + nbytes / BANDWIDTH) * 1e3,
                    "Chef and waiter work at the same time.",
                ),
                Mistake(
                    "the faster one",
                    lambda flops, nbytes: min(flops / PEAK, nbytes / BANDWIDTH) * 1e3,
                    "The job is done when the *slower* of the two is.",
                ),
                Mistake(
                    "the waiter alone",
                    lambda flops, nbytes: nbytes / BANDWIDTH * 1e3,
                    "And a job with many operations?",
                ),
            ],
            nudge="Two times, and one of them decides.",
            why="The slower of the two sets the pace.",
            worked="```\nmax(flops / PEAK, nbytes / BANDWIDTH) * 1000\n```",
        ),
        Question(
            key="sacks",
            prompt="How heavy is the sack at 16, 8 and 4 bits, in GB? A list of three.",
            right=lambda: [WEIGHTS * bits / 16 / 1e9 for bits in (16, 8, 4)],
            unit="GB",
            mistakes=[
                Mistake(
                    "bits as bytes",
                    lambda: [WEIGHTS * bits / 2 / 1e9 for bits in (16, 8, 4)][::-1],
                    "Fewer bits make a lighter sack.",
                ),
                Mistake(
                    "never lighter",
                    lambda: [WEIGHTS / 1e9] * 3,
                    "The bits per parameter change from sack to sack.",
                ),
                Mistake(
                    "in the wrong order",
                    lambda: [WEIGHTS * bits / 16 / 1e9 for bits in (4, 8, 16)],
                    "Start with 16 bits.",
                ),
            ],
            nudge="Parameters times bits, and 8 bits to a byte.",
            why="Half the bits, half the sack.",
            worked="{right}.",
        ),
    ],
)
