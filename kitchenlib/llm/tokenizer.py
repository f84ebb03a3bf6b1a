"""Words to tokens and back, with the vocabulary that the weights were trained with.

The `tokenizers` library does the work, fed from the GGUF file's own vocabulary and merges. Text is
cut the way SmolLM2 was trained: every digit alone, then GPT-2's words, all of them as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from kitchenlib.inputs import wrong
from kitchenlib.llm.weights import Contents, WeightsProblem

_CONTROL = 3  # GGUF's kind of token that is no text
_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
_START, _END = "<|im_start|>", "<|im_end|>"


class Vocabulary(NamedTuple):
    """Tokens by number; which two make a third, first ones first; and the control tokens."""

    tokens: list[str]
    merges: list[tuple[str, str]]
    control: list[str]

    @classmethod
    def of(cls, contents: Contents) -> Vocabulary:
        """The vocabulary in a GGUF file. Raises `WeightsProblem` for one of another kind."""
        way = contents["tokenizer.ggml.pre"]
        if way != "smollm":
            raise WeightsProblem(f"the file cuts text the way of {way!r}, only 'smollm' is known")
        tokens, kinds = contents["tokenizer.ggml.tokens"], contents["tokenizer.ggml.token_type"]
        merges = [tuple(merge.split(" ")) for merge in contents["tokenizer.ggml.merges"]]
        control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
        return cls(tokens, merges, control)

    @classmethod
    def stand_in(cls, size: int) -> Vocabulary:
        """A token for each byte and a number for each other: reads any text, knows no word."""
        control = ["<|endoftext|>", _START, _END]
        tokens = control + sorted(pre_tokenizers.ByteLevel.alphabet())
        tokens += [f"<{number}>" for number in range(len(tokens), size)]
        return cls(tokens, [], control)


class Tokenizer:
    """Text to token numbers and back."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        numbers = {token: number for number, token in enumerate(vocabulary.tokens)}
        self._backend = Backend(models.BPE(numbers, vocabulary.merges))
        self._backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        self._backend.decoder = decoders.ByteLevel()
        self._backend.add_special_tokens([AddedToken(t, special=True) for t in vocabulary.control])
        self.end = numbers[_END]  #: the token that ends a turn of a chat

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; the names of control tokens become control tokens."""
        return self._backend.encode(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, control tokens left out; what is no whole character shows as �."""
        return self._backend.decode(list(ids))

    def pieces(self, ids: Iterable[int]) -> Iterator[str]:
        """The text of tokens as they come. A piece never ends inside a character."""
        stream = decoders.DecodeStream(skip_special_tokens=True)
        for number in ids:
            piece = stream.step(self._backend, number)
            if piece:
                yield piece


def chat(messages: str | Sequence[dict[str, str]]) -> str:
    """A conversation as SmolLM2 was taught to read it, up to where its answer begins.

    Args:
        messages: what the user says; or a list of ``{"role": "user", "content": "..."}`` with
            roles "system", "user" and "assistant".
    """
    turns = [{"role": "user", "content": messages}] if isinstance(messages, str) else [*messages]
    for turn in turns:
        if not isinstance(turn, dict) or turn.keys() != {"role", "content"}:
            raise wrong("messages", turn, 'give {"role": "user", "content": "..."} for each turn')
    if not turns or turns[0]["role"] != "system":
        turns.insert(0, {"role": "system", "content": _SYSTEM})
    said = [f"{_START}{turn['role']}\n{turn['content']}{_END}\n" for turn in turns]
    return "".join(said) + f"{_START}assistant\n"
