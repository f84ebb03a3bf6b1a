"""Several sequences in one step: each gets what it would have got alone, and the notes add up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib import llm
from kitchenlib.layers import Attention
from kitchenlib.llm.meter import Meter
from kitchenlib.llm.notepad import Cache
from tests.llm_models import alone, any_smol, real_smol, tiny

ROUNDING = 0.001  # ten times what another order of adding up changes in a logit
LAW = kl.model("SmolLM2-135M")
ASKED = [
    "Why is the sky blue?",
    "Tell me how bread is made.",
    "Hi",
    "What is the capital of France? One word.",
    "Write a short poem about rain.",
    "Count from one to ten, then back again, and leave out every number that is even.",
    "Who carries the sacks?",
    "2 + 2 =",
]


@cache
def answer(text: str) -> tuple[list[int], float]:
    return alone(any_smol(), any_smol().chat(text), 8)


@pytest.mark.parametrize("guests", [1, 2, 3, 8])
def test_guests_served_together_get_the_tokens_they_would_get_alone(guests: int) -> None:
    smol = any_smol()
    asked = ASKED[:guests]
    replies = smol.write_together([smol.chat(text) for text in asked], 8)
    for text, reply in zip(asked, replies, strict=True):
        own, lead = answer(text)
        assert lead > ROUNDING
        own = own[: own.index(smol.tokenizer.end)] if smol.tokenizer.end in own else own
        assert reply == own


def test_who_has_ended_does_not_hold_up_the_others() -> None:
    smol = real_smol()
    prompts = [smol.chat(ASKED[3]), smol.chat(ASKED[0])]
    short, long = smol.write_together(prompts, 16)
    assert short == list(smol.write(prompts[0], 16))
    assert len(short) < len(long) == 16


def test_64_sequences_of_many_lengths_share_a_step() -> None:
    model = tiny()
    rng = np.random.default_rng(0)
    prompts = [rng.integers(0, 50, length).tolist() for length in range(1, 65)]
    logits, cache = model.prefill(prompts, room=6)
    written = [logits.argmax(axis=1).tolist()]
    while len(written) < 6:
        written.append(model.decode_step(written[-1], cache).argmax(axis=1).tolist())
    for prompt, reply in zip(prompts, zip(*written, strict=True), strict=True):
        own, lead = alone(model, prompt, 6)
        assert lead > 0.0001
        assert list(reply) == own


@pytest.mark.parametrize("prompts", [[], [1, 2], [[1], 2], [[1], []]])
def test_what_is_no_list_of_prompts_is_refused_in_words(prompts: list[list[int]]) -> None:
    with pytest.raises(ValueError, match=r"list of prompts|at least one token"):
        any_smol().write_together(prompts, 3)


@pytest.mark.parametrize("rows", [2, 3, 6, 7])
@pytest.mark.parametrize("shape", [(1536, 576), (64, 3000), (3, 64, 300), (3, 5000, 64)])
def test_a_product_of_a_few_rows_is_the_product(rows: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(rows)
    right = rng.standard_normal(shape, np.float32)
    left = rng.standard_normal((*shape[:-2], rows, shape[-2]), np.float32)
    made = Meter().product("any", left, right)
    assert made.dtype == np.float32
    assert np.abs(made - left.astype(np.float64) @ right.astype(np.float64)).max() < 0.001


def test_steps_of_a_batch_are_timed_and_say_so() -> None:
    one, three = llm.batch_steps(any_smol(), batches=(1, 3), context=5, tries=1)
    assert (one.batch, three.batch, three.context) == (1, 3, 5)
    assert three.seconds > 0
    assert three.total == pytest.approx(3 / three.seconds)
    assert three.each == pytest.approx(1 / three.seconds)
    shown = llm.BatchStep(batch=8, context=64, seconds=0.05)
    assert str(shown) == "8 together: 50.0 ms for a step, 160 tokens/s in all, 20 for each"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"batches": (1, 0)}, "batches = 0"),
        ({"context": 0}, "context = 0"),
        ({"context": 8192}, "room = 8193 .* 8,192 tokens at most"),
        ({"tries": 0}, "tries = 0"),
    ],
)
def test_a_batch_that_cannot_be_timed_is_refused_in_words(
    asked: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        llm.batch_steps(any_smol(), **asked)  # type: ignore[arg-type]


# --- fewer heads on the notepad ------------------------------------------------------------------


def attention() -> Attention:
    (block,) = LAW.blocks
    assert isinstance(block.attention, Attention)
    return block.attention


def with_a_kv_head_for_each_query_head() -> kl.Model:
    (block,) = LAW.blocks
    own = replace(attention(), kv_heads=attention().heads)
    return replace(LAW, blocks=(replace(block, attention=own),))


@cache
def ungrouped() -> llm.LLM:
    return any_smol().ungrouped()


def test_the_notes_weigh_what_the_law_says_and_three_times_that_without_groups() -> None:
    assert (attention().heads, attention().kv_heads) == (9, 3)
    for model, law in ((any_smol(), LAW), (ungrouped(), with_a_kv_head_for_each_query_head())):
        _, cache = model.prefill([1, 2, 3, 4, 5], room=0)
        assert cache.bytes == law.kv_bytes(5, "fp32") == cache.keys.nbytes + cache.values.nbytes
    assert law.kv_bytes(5) == 3 * LAW.kv_bytes(5)


def test_a_kv_head_for_each_query_head_writes_the_same_words() -> None:
    smol = any_smol()
    ids = smol.chat(ASKED[0])
    own, lead = alone(smol, ids, 8)
    assert lead > ROUNDING
    assert alone(ungrouped(), ids, 8)[0] == own


def test_a_kv_head_for_each_query_head_does_the_work_that_the_law_says() -> None:
    whole = ungrouped()
    _, cache = whole.prefill([1] * 40, room=1)
    with whole.counted() as counts:
        whole.decode_step(2, cache)
    law = with_a_kv_head_for_each_query_head()
    assert counts.computed == kl.decode_step(law, 40, weights="fp32", kv="fp32")


def test_a_changed_model_says_what_was_done_to_it() -> None:
    assert repr(ungrouped()).endswith("float32, a KV head for each query head>")
    assert repr(any_smol()).endswith("float32>")


# --- forgetting ----------------------------------------------------------------------------------


def test_a_notepad_that_was_cut_back_has_forgotten() -> None:
    model = tiny()
    _, cache = model.prefill([[1, 2, 3], [4, 5]], room=4)
    wanted = model.decode_step([6, 7], cache)
    model.decode_step([8, 9], cache)
    cache.cut_back([3, 2])
    assert cache.lengths == [3, 2]
    assert (model.decode_step([6, 7], cache) == wanted).all()


@pytest.mark.parametrize("lengths", [[4, 2], [-1, 2], [3], [3, 2, 0]])
def test_a_notepad_cannot_be_cut_back_to_what_it_never_held(lengths: list[int]) -> None:
    model = tiny()
    _, cache = model.prefill([[1, 2, 3], [4, 5]])
    with pytest.raises(ValueError, match=r"lengths = .* at most \[3, 2\] tokens"):
        cache.cut_back(lengths)
    assert cache.lengths == [3, 2]


def test_logits_go_on_in_a_notepad() -> None:
    model = tiny()
    wanted = model.logits_everywhere([1, 2, 3, 4, 5])
    _, cache = model.prefill([1, 2])
    assert np.abs(model.logits_everywhere([3, 4, 5], cache) - wanted[2:]).max() < 0.001
    assert cache.lengths == [5]


def test_logits_of_more_tokens_than_the_model_can_read_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"65 tokens will not fit.*room for 64"):
        tiny(context=64).logits_everywhere([1] * 65)


def test_a_longer_notepad_than_the_model_can_read_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"room = 65 .* can read 64 tokens at most"):
        Cache(tiny(context=64).shape, batch=1, room=65)


def test_steps_are_timed_of_a_model_and_of_some_batches() -> None:
    with pytest.raises(ValueError, match=r"smol = 'smol' .*give an LLM"):
        llm.batch_steps("smol")  # type: ignore[arg-type]
    for none in (4, ()):
        with pytest.raises(ValueError, match=r"batches = .*for example \(1, 8, 64\)"):
            llm.batch_steps(any_smol(), batches=none)  # type: ignore[arg-type]
