"""How well a model reads: how surprised it is by each token of a text that it has not seen.

The text is ``data/market_day.txt``: a few hundred words written for this collection and dedicated
to the public domain (CC0 1.0). A classic would be free as well, but models know classics by heart.
It is short. Differences of one per cent between two models say little about other texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kitchenlib import data
from kitchenlib.inputs import instance, wrong
from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.smol import LLM

_PAGE = 128  # tokens read in one pass: logits of a long text would fill the memory


def market_day() -> str:
    """The text that `surprise` and `perplexity` read where none is given."""
    return data.text("market_day.txt")


def surprise(smol: LLM, text: str | Sequence[int] | None = None) -> NDArray[np.float64]:
    """How little the model expected each token of a text, the first one left out.

    Args:
        smol: the model.
        text: a text, or its token numbers, at least two tokens; None takes `market_day`.

    Returns:
        (tokens - 1,), in nats: minus the logarithm of the probability that the model gave to the
        token that came. 0 for what was certain, 0.69 for one chance in two.
    """
    instance("smol", smol, LLM, "llm.load()")
    text = market_day() if text is None else text
    ids = smol.checked(smol.tokenize(text) if isinstance(text, str) else text)
    if not 1 < len(ids) <= smol.shape.context + 1:
        wanted = f"give a text of 2 to {smol.shape.context + 1:,} tokens, this one has {len(ids):,}"
        raise wrong("text", text, wanted)
    cache = Cache(smol.shape, 1, len(ids) - 1)
    pages = []
    for start in range(0, len(ids) - 1, _PAGE):
        page, came = ids[:-1][start : start + _PAGE], ids[start + 1 : start + _PAGE + 1]
        logits = smol.logits_everywhere(page.tolist(), cache)
        logits -= logits.max(axis=1, keepdims=True)
        given = logits[np.arange(len(came)), came]
        pages.append(np.log(np.exp(logits).sum(axis=1)) - given)
    return np.concatenate(pages).astype(np.float64)


def perplexity(smol: LLM, text: str | Sequence[int] | None = None) -> float:
    """Among how many equally likely tokens the model seems to choose, reading a text.

    The exponential of the mean `surprise`; arguments as there. 1 for a model that knows the text
    by heart, and as many as there are tokens for one that knows nothing.
    """
    return float(np.exp(surprise(smol, text).mean()))


@dataclass(frozen=True)
class Reading:
    """How well the real model read `market_day` once, as it is or with rounded weights; and wrote.

    Attributes:
        bits, group: what `LLM.rounded` was given; None for the weights as they are in the file.
        bits_per_weight: with what each group keeps; None for the weights as they are.
        perplexity: of the text.
        model, text, tokens: what was read by whom, and how long it is.
        source, date: the program, and when.
        prompt, reply: what it was asked, and the first of the likeliest tokens that it answered.
    """

    bits: int | None
    group: int | None
    bits_per_weight: float | None
    perplexity: float
    model: str
    text: str
    tokens: int
    source: str
    date: str
    prompt: str
    reply: str


@cache
def readings() -> tuple[Reading, ...]:
    """What was measured for the pictures: the model as it is, then by groups and bits."""
    return tuple(_reading(row) for row in data.rows("perplexity.csv"))


def _reading(row: dict[str, str]) -> Reading:
    return Reading(
        bits=int(row["bits"]) if row["bits"] else None,
        group=int(row["group"]) if row["group"] else None,
        bits_per_weight=float(row["bits_per_weight"]) if row["bits_per_weight"] else None,
        perplexity=float(row["perplexity"]),
        model=row["model"],
        text=row["text"],
        tokens=int(row["tokens"]),
        source=row["source"],
        date=row["date"],
        prompt=row["prompt"],
        reply=row["reply"],
    )
