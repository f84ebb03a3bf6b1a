"""From text to a vector: latent semantic analysis.

Words are counted and weighted (tf-idf), and a truncated singular value decomposition keeps the
strongest directions (Deerwester et al., "Indexing by Latent Semantic Analysis", 1990). It learns
from the texts alone which words keep company.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kitchenlib.inputs import wrong

Vectors = NDArray[np.float32]

_WORD = re.compile(r"[a-z]+")
_EMPTY = frozenset(  # they say nothing of a dish, and those of questions are too rare on cards
    "a an and are as at be but by can do does for from goes has have how i if in into is it its "
    "long many much must my no not of on one or our should so than that the their them then there "
    "they this to was we what when where which who whose why will with without you your".split()
)


class Meaning:
    """From text to a vector, learnt from `texts`: tf-idf, then the `dim` strongest directions.

    Attributes:
        vectors: of the texts, (texts, dim), float32, of length 1.
    """

    def __init__(self, texts: Sequence[str], dim: int) -> None:
        counted = [_words(text) for text in texts]
        held = Counter(word for words in counted for word in words)  # texts with each word
        if not held:
            raise wrong("archive", texts, "none of its cards has a word that says something")
        self._column = {word: i for i, word in enumerate(sorted(held))}
        self._rarity = np.array([1 + np.log(len(texts) / held[word]) for word in self._column])
        table = np.stack([self._weighted(words) for words in counted])
        _, _, directions = np.linalg.svd(table, full_matrices=False)
        self._axes = _signed(directions[:dim]).T  # (words, dim)
        self.vectors: Vectors = _units(table @ self._axes)

    def __call__(self, text: str) -> Vectors:
        """The vector of any text, (dim,), folded in: its words, along the directions learnt."""
        row = self._weighted(_words(text))
        if not row.any():
            raise wrong("question", text, "none of its words stands on any card")
        return _units((row @ self._axes)[None])[0]

    def _weighted(self, words: Counter[str]) -> NDArray[np.float64]:
        """How often each known word is there, (words,): rarer words weigh more (tf-idf)."""
        row = np.zeros(len(self._column))
        for word, times in words.items():
            if word in self._column:
                row[self._column[word]] = 1 + np.log(times)
        row *= self._rarity
        return row / max(float(np.linalg.norm(row)), 1e-12)


def _words(text: str) -> Counter[str]:
    """The words of a text that say something, and how often each stands there."""
    return Counter(word for word in _WORD.findall(text.lower()) if word not in _EMPTY)


def _signed(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """A direction is as good as its opposite: the largest value of each is made positive."""
    largest = np.abs(directions).argmax(axis=1)
    return directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]


def _units(rows: NDArray[np.float64]) -> Vectors:
    """Rows of length 1, float32: then a dot product is a cosine."""
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return (rows / lengths).astype(np.float32)
