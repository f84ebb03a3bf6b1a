"""SmolLM2 in NumPy says what other programs say it should: see tools/golden_logits.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib.llm import weights
from kitchenlib.llm.tokenizer import chat
from tests.llm_models import real_smol

TOLERANCE = 0.001  # of logits up to 35: float32 against float64, 30 layers deep
GOLDEN = json.loads((Path(__file__).parent / "data/golden_logits.json").read_text())
PROMPTS = GOLDEN["prompts"]
TRICKY = GOLDEN["tricky"]


@pytest.mark.parametrize("name", PROMPTS)
def test_logits_equal_those_of_transformers(name: str) -> None:
    golden = PROMPTS[name]
    logits = real_smol().logits_everywhere(golden["tokens"])
    best = logits[np.arange(len(logits)), golden["likeliest"]]
    assert np.abs(best - golden["their_logits"]).max() < TOLERANCE
    assert np.abs(logits[-1, :: GOLDEN["every"]] - golden["last_logits"]).max() < TOLERANCE


@pytest.mark.parametrize("name", PROMPTS)
def test_two_other_programs_agree_on_the_golden_logits(name: str) -> None:
    assert PROMPTS[name]["llama_cpp_differs_by"] < TOLERANCE


@pytest.mark.parametrize("name", PROMPTS)
def test_the_likeliest_reply_is_that_of_transformers_token_for_token(name: str) -> None:
    golden, smol = PROMPTS[name], real_smol()
    assert min(golden["margins"]) > 2 * TOLERANCE  # else rounding could choose the other token
    logits, cache = smol.prefill(golden["tokens"], room=len(golden["reply"]))
    for token in golden["reply"]:
        assert int(logits.argmax()) == token
        logits = smol.decode_step(token, cache)


@pytest.mark.parametrize("golden", [*PROMPTS.values(), *TRICKY], ids=lambda g: repr(g["text"][:20]))
def test_tokens_equal_those_of_llama_cpp(golden: dict[str, Any]) -> None:
    assert real_smol().tokenize(golden["text"]) == golden["tokens"]


@pytest.mark.parametrize("golden", TRICKY, ids=lambda g: repr(g["text"][:20]))
def test_tokens_give_back_their_text_whole_and_in_pieces(golden: dict[str, Any]) -> None:
    tokenizer = real_smol().tokenizer
    written = golden["text"]
    for control in ("<|im_start|>", "<|im_end|>", "<|endoftext|>"):
        written = written.replace(control, "")
    assert tokenizer.decode(golden["tokens"]) == written
    pieces = list(tokenizer.pieces(golden["tokens"]))
    assert "".join(pieces) == written
    assert "�" in written or not any("�" in piece for piece in pieces)


def test_a_piece_waits_for_the_rest_of_its_character() -> None:
    smol = real_smol()
    ids = smol.tokenize("a🍕b")
    assert len(ids) > 3  # the pizza takes several tokens
    assert list(smol.tokenizer.pieces(ids)) == ["a", "🍕", "b"]
    assert list(smol.tokenizer.pieces(ids[:2])) == ["a"]


CONVERSATIONS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": "Why is the sky blue?"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " Hi\n"}],
    [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Bye"},
    ],
]


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=len)
def test_a_chat_is_written_as_the_template_in_the_file_writes_it(
    messages: list[dict[str, str]],
) -> None:
    real_smol()
    template = weights.open_file(weights.find())["tokenizer.chat_template"]
    wanted = jinja2.Template(template).render(messages=messages, add_generation_prompt=True)
    assert chat(messages) == wanted


def test_a_text_alone_is_what_the_user_says() -> None:
    assert chat("Why is the sky blue?") == chat(CONVERSATIONS[0]) == PROMPTS["chat"]["text"]


def test_the_file_has_the_shape_that_the_catalogue_says() -> None:
    smol, known = real_smol(), kl.model("SmolLM2-135M")
    assert smol.shape[:8] == weights.known_shape()[:8]  # all but theta and eps
    assert weights.open_file(weights.find()).size == known.params
