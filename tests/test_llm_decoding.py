"""Ways of reading and writing that must come to the same: with and without notes, alone or not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kitchenlib import llm
from kitchenlib.llm.meter import Meter
from kitchenlib.llm.notepad import Cache
from kitchenlib.llm.smol import picker
from kitchenlib.llm.weights import Array
from tests.llm_models import any_smol, real_smol, tiny

TOLERANCE = 0.002  # the same sums, added in another order
STORY = "Once upon a time there was a kitchen with one chef, one waiter and far too many sacks."


def close(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool(np.abs(a - b).max() < TOLERANCE)


def test_reading_token_by_token_equals_reading_all_at_once() -> None:
    smol = any_smol()
    ids = smol.tokenize(STORY)
    at_once = smol.logits_everywhere(ids)
    logits, cache = smol.prefill(ids[:3])
    assert close(logits, at_once[2])
    for place in range(3, len(ids)):
        assert close(smol.decode_step(ids[place], cache), at_once[place])
    assert cache.lengths == [len(ids)]


def test_reading_in_two_parts_equals_reading_all_at_once() -> None:
    smol = any_smol()
    ids = smol.tokenize(STORY * 10)  # several tiles of queries, the last one not full
    whole, _ = smol.prefill(ids)
    _, cache = smol.prefill(ids[:150], room=len(ids))
    assert close(smol.prefill(ids[150:], cache=cache)[0], whole)


def test_a_batch_of_different_lengths_equals_one_by_one() -> None:
    smol = any_smol()
    prompts = [smol.tokenize(STORY)[:n] for n in (1, 17, 6)]
    logits, cache = smol.prefill(prompts)
    alone = [smol.prefill(ids) for ids in prompts]
    for _ in range(4):
        for row, (own, _) in zip(logits, alone, strict=True):
            assert close(row, own)
        tokens = logits.argmax(axis=1).tolist()
        logits = smol.decode_step(tokens, cache)
        alone = [
            (smol.decode_step(token, own), own)
            for token, (_, own) in zip(tokens, alone, strict=True)
        ]
    assert cache.lengths == [len(ids) + 4 for ids in prompts]


def test_writing_without_a_notepad_writes_the_same() -> None:
    smol = any_smol()
    ids = smol.tokenize(STORY)
    assert list(smol.write_without_notepad(ids, 5)) == list(smol.write(ids, 5))


def test_the_model_ends_its_turn() -> None:
    smol = real_smol()
    reply = list(smol.write(smol.chat("What is the capital of France? One word."), 60))
    assert 0 < len(reply) < 60
    assert smol.tokenizer.end not in reply


def test_a_stream_is_the_text_of_what_is_written() -> None:
    smol = any_smol()
    pieces = list(smol.stream("Hello!", tokens=12))
    assert len(pieces) > 1
    assert "".join(pieces) == smol.text(list(smol.write(smol.chat("Hello!"), 12)))


def test_the_same_seed_writes_the_same_and_another_seed_something_else() -> None:
    smol = any_smol()
    ids = smol.tokenize(STORY)
    once, again, other = (list(smol.write(ids, 8, temperature=1, seed=s)) for s in (1, 1, 2))
    assert once == again
    assert once != other


def test_tokens_are_drawn_as_often_as_their_logits_say() -> None:
    logits = np.log(np.array([0.1, 0.6, 0.3], np.float32))
    draw = picker(temperature=1, seed=0)
    drawn = Counter(draw(logits) for _ in range(4000))
    assert [drawn[token] / 4000 for token in range(3)] == pytest.approx([0.1, 0.6, 0.3], abs=0.03)
    cold = picker(temperature=0.25, seed=0)  # the chances to the fourth power
    assert sum(cold(logits) == 1 for _ in range(1000)) / 1000 == pytest.approx(0.94, abs=0.03)


def test_what_is_timed_is_what_is_written() -> None:
    smol = any_smol()
    run = smol.timed(smol.tokenize(STORY), tokens=5)
    assert run.prompt == len(smol.tokenize(STORY))
    assert len(run.steps) == 4
    assert run.tpot == pytest.approx(sum(run.steps) / 4)
    assert run.ttft > 0
    assert run.text == smol.text(list(smol.write(smol.tokenize(STORY), 5)))
    assert smol.timed(smol.tokenize(STORY), tokens=5, notepad=False).text == run.text


class Watchful(Meter):
    """A meter that refuses anything but float32."""

    def product(self, group: str, left: Array, right: Array, *rest: object) -> Array:
        assert (left.dtype, right.dtype) == (np.float32, np.float32), group
        made = super().product(group, left, right, *rest)  # type: ignore[arg-type]
        assert made.dtype == np.float32
        return made


def test_no_float64_takes_part() -> None:
    smol = tiny()
    smol.meter = Watchful()
    logits, cache = smol.prefill([[1, 2, 3], [4, 5]])
    step = smol.decode_step([6, 7], cache)
    for array in (logits, step, cache.keys, cache.values):
        assert array.dtype == np.float32


def test_notes_grow_by_two_rows_per_layer_and_kv_head() -> None:
    smol = any_smol()
    _, cache = smol.prefill([[1, 2, 3], [4]], room=5)
    assert cache.room == 8
    assert cache.bytes == 4 * 2 * 30 * 3 * 64 * 4
    paper = cache.keys
    smol.decode_step([5, 6], cache)
    assert cache.bytes == 6 * 2 * 30 * 3 * 64 * 4
    assert cache.keys is paper  # laid out once


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "at least one token"),
        ([[1], []], "at least one token"),
        ([1.5], "whole"),
        ([-1], "from 0 to 49"),
        ([50], "from 0 to 49"),
        ([True], "whole"),
        ([1] * 65, "65 tokens will not fit: this notepad has room for 64"),
    ],
)
def test_a_wrong_prompt_is_refused_in_words(prompt: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny(context=64).prefill(prompt)


def test_a_full_notepad_is_refused_in_words() -> None:
    model = tiny()
    _, cache = model.prefill([1, 2], room=1)
    model.decode_step(3, cache)
    with pytest.raises(ValueError, match=r"4 tokens will not fit.*room for 3"):
        model.decode_step(4, cache)
    assert cache.lengths == [3]


def test_a_notepad_of_another_batch_is_refused_in_words() -> None:
    model = tiny()
    with pytest.raises(ValueError, match="tokens for 2 sequences, and this notepad is for 1"):
        model.decode_step([1, 2], Cache(model.shape, batch=1, room=4))


@pytest.mark.parametrize("temperature", [-1, float("nan"), "hot"])
def test_a_wrong_temperature_is_refused_in_words(temperature: float) -> None:
    with pytest.raises(ValueError, match=r"temperature = .* will not do"):
        picker(temperature, seed=0)


def test_a_turn_without_a_role_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match='"role": "user"'):
        llm.LLM.chat(any_smol(), [{"content": "Hi"}])
