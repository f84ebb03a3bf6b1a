"""Hidden tokens against decode steps added up by hand, and samples against copies of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib import thinking
from kitchenlib.inputs import UnknownName
from tests.law_models import MODELS

H100, LLAMA, SMALL = kl.chip("H100 SXM"), kl.model("Llama-3.1-70B"), kl.model("Llama-3.1-8B")
WINDOWED = kl.model("Mistral-7B-v0.1")  # its notes stop growing at 4,096 tokens
STATE = kl.model("Mamba2-2.7B")
WORKED: dict[str, Any] = {"prompt": 1000, "hidden": 2000, "reply": 300, "chips": 4}
HOUR = kl.chip_hour(provider="Nebius", chip="H100 SXM").usd or 0.0


def steps(model: kl.Model, contexts: range, batch: int = 1, chips: int = 1) -> float:
    """Seconds of one decode step after the other."""
    return sum(
        float(kl.decode_step(model, tokens, batch, chips=chips).time(H100)) for tokens in contexts
    )


# --- one chain ---------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 32])
def test_a_request_that_thinks_is_a_request_with_a_longer_reply(batch: int) -> None:
    thought = thinking.chain(LLAMA, H100, **WORKED, batch=batch)
    longer = kl.request_time(LLAMA, H100, 1000, 2300, batch, chips=4)
    assert thought.total == pytest.approx(longer, rel=1e-12)


def test_the_first_visible_token_waits_for_every_hidden_one() -> None:
    thought = thinking.chain(SMALL, H100, prompt=100, hidden=20, reply=5)
    read = kl.ttft(SMALL, H100, 100)
    assert thought.hidden == pytest.approx(steps(SMALL, range(100, 120)))
    assert thought.first_visible == pytest.approx(read + thought.hidden)
    assert thought.total == pytest.approx(read + steps(SMALL, range(100, 124)))


def test_without_a_thought_it_is_the_plain_request() -> None:
    thought = thinking.chain(SMALL, H100, prompt=100, hidden=0, reply=50)
    assert thought.hidden == 0
    assert thought.first_visible == kl.ttft(SMALL, H100, 100)
    assert thought.total == pytest.approx(kl.request_time(SMALL, H100, 100, 50))
    one = thinking.chain(SMALL, H100, prompt=100, hidden=0, reply=1)
    assert one.total == one.first_visible


def test_notes_of_a_thought_stay_until_the_request_ends() -> None:
    thought, bare = (
        thinking.chain(LLAMA, H100, **{**WORKED, "hidden": hidden}) for hidden in (2000, 0)
    )
    assert thought.notes == LLAMA.kv_bytes(1000 + 2000 + 300 - 1)
    assert thought.notes - bare.notes == 2000 * LLAMA.kv_bytes_per_token() == 655_360_000


def test_a_window_keeps_no_more_than_it_holds_and_a_state_does_not_grow() -> None:
    long = thinking.chain(WINDOWED, H100, prompt=4096, hidden=20_000, reply=10)
    assert long.notes == WINDOWED.kv_bytes(4096)
    short, other = (thinking.chain(STATE, H100, 100, hidden, 10) for hidden in (10, 10_000))
    assert short.notes == other.notes == STATE.state_bytes()


@pytest.mark.parametrize("batch", [1, 32])
def test_dollars_agree_with_the_price_of_a_million_tokens(batch: int) -> None:
    """Steps grow evenly with the notes, so the price half way is the mean price."""
    seconds = thinking.chain(LLAMA, H100, **WORKED, batch=batch).total
    share = float(seconds) * 4 * HOUR / 3600 / batch
    half_way = 1000 + 2300 // 2
    price = kl.price_per_million(LLAMA, H100, HOUR, half_way, 1000, batch, chips=4)
    assert price.request(1000, 300, reasoning=2000) == pytest.approx(share, rel=1e-3)


def test_cached_prompts_and_slower_chips_count() -> None:
    plain = thinking.chain(LLAMA, H100, **WORKED)
    cached = thinking.chain(LLAMA, H100, **WORKED, cached=900)
    saved = kl.ttft(LLAMA, H100, 1000, chips=4) - kl.ttft(LLAMA, H100, 1000, cached=900, chips=4)
    assert plain.total - cached.total == pytest.approx(saved)
    planned = kl.efficiency("planned")
    slow = thinking.chain(LLAMA, H100, **WORKED, efficiency=planned)
    expected = kl.request_time(LLAMA, H100, 1000, 2300, chips=4, efficiency=planned)
    assert slow.total == pytest.approx(expected)


# --- samples side by side ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [LLAMA, WINDOWED, STATE], ids=str)
def test_one_sample_is_the_chain(model: kl.Model) -> None:
    sizes = (5000, 200, 30)
    many = thinking.samples(model, H100, *sizes, number=np.array([1, 4]))
    one = thinking.chain(model, H100, *sizes)
    for kind in many:
        for found, expected in zip(kind, one, strict=True):
            first = np.broadcast_to(found, 2)[0]
            assert first == pytest.approx(expected, rel=1e-12)


def test_samples_take_the_steps_of_a_batch_and_the_reply_those_of_one() -> None:
    """Five tokens of thought: four steps side by side, the fifth is read by the one kept."""
    many = thinking.samples(SMALL, H100, prompt=100, hidden=5, reply=3, number=8)
    read = kl.ttft(SMALL, H100, 100)
    apart = steps(SMALL, range(100, 104), batch=8)
    assert many.copied.first_visible == pytest.approx(read + apart + steps(SMALL, range(104, 105)))
    assert many.copied.total == pytest.approx(read + apart + steps(SMALL, range(104, 107)))
    once = sum(
        float(thinking.shared_prefix_step(SMALL, 100, own, 8).time(H100)) for own in range(4)
    )
    assert many.copied.total - many.shared.total == pytest.approx(apart - once)


def test_a_shared_prefix_is_read_once_and_multiplied_by_all() -> None:
    step = thinking.shared_prefix_step(LLAMA, prefix=4000, own=100, number=10, batch=3)
    apart = kl.decode_step(LLAMA, 4100, 30)
    row = LLAMA.kv_bytes_per_token()
    assert step.flops == apart.flops
    assert step.weight_bytes == apart.weight_bytes
    assert step.kv_bytes == pytest.approx(3 * (4000 + 10 * 101) * row)
    assert apart.kv_bytes == pytest.approx(30 * 4101 * row)


def test_a_window_shares_what_it_still_sees_of_the_prefix() -> None:
    row = WINDOWED.kv_bytes_per_token()
    for own, seen in ((0, 4095), (96, 3999), (4000, 95), (5000, 0)):
        step = thinking.shared_prefix_step(WINDOWED, 10_000, own, 10)
        apart = kl.decode_step(WINDOWED, 10_000 + own, 10)
        assert apart.kv_bytes - step.kv_bytes == pytest.approx(9 * seen * row)


def test_a_state_is_never_shared() -> None:
    step = thinking.shared_prefix_step(STATE, 1000, 10, 8)
    assert step == kl.decode_step(STATE, 1010, 8)
    sizes = (1000, 500, 10)
    assert thinking.samples(STATE, H100, *sizes, number=8).shared.notes == 8 * STATE.state_bytes()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_sharing_never_takes_longer_or_keeps_more(model: kl.Model) -> None:
    many = thinking.samples(model, H100, 5000, np.array([0, 1, 2, 300, 6000]), 30, 8)
    assert np.all(many.shared.total <= np.multiply(many.copied.total, 1 + 1e-12))
    assert np.all(np.less_equal(many.shared.notes, many.copied.notes))


def test_copies_keep_the_prompt_for_each_sample() -> None:
    many = thinking.samples(LLAMA, H100, 4000, 2001, 300, 10)
    assert many.shared.notes == LLAMA.kv_bytes(4000) + 10 * LLAMA.kv_bytes(2000)
    assert many.copied.notes == 10 * LLAMA.kv_bytes(6000)


def test_ten_samples_cost_little_time_and_much_room() -> None:
    """The trap: ten times the tokens, hardly more seconds, and six times the notes."""
    one, ten = (thinking.samples(LLAMA, H100, **WORKED, number=n).shared for n in (1, 10))
    long = thinking.chain(LLAMA, H100, **{**WORKED, "hidden": 20_000})
    assert float(ten.total) / float(one.total) == pytest.approx(1.025, abs=0.005)
    assert float(long.total) / float(one.total) == pytest.approx(9.0, abs=0.1)
    assert float(ten.notes) / float(one.notes) == pytest.approx(6.4, abs=0.05)
    rooms = [thinking.most_requests(LLAMA, H100, **WORKED, number=n) for n in (1, 10)]
    assert rooms == [154, 24]


# --- room --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "chips"), [(LLAMA, 4), (SMALL, 1), (WINDOWED, 2), (STATE, 1)])
def test_room_for_one_chain_is_room_for_its_last_note(model: kl.Model, chips: int) -> None:
    room = thinking.most_requests(model, H100, 6000, 2000, 300, chips=chips)
    assert room == kl.max_batch(model, H100, 8299, chips=chips)


@pytest.mark.parametrize("number", [1, 4, 10, 64])
def test_as_many_requests_fit_as_the_memory_holds(number: int) -> None:
    room = int(thinking.most_requests(LLAMA, H100, **WORKED, number=number))
    notes = float(thinking.samples(LLAMA, H100, **WORKED, number=number).shared.notes)
    sack = float(kl.memory_needed(LLAMA, 0, 1, chips=4))
    free = 0.9 * (H100.memory_bytes or 0.0) - sack
    assert room * notes / 4 <= free < (room + 1) * notes / 4


def test_where_the_sack_does_not_fit_there_is_no_room() -> None:
    assert thinking.most_requests(LLAMA, H100, 1000, 2000, 300) == 0


# --- arrays and bad input ----------------------------------------------------------------------

SIZES: dict[str, list[int]] = {
    "prompt": [1, 4095, 9000],
    "hidden": [0, 1, 2, 300],
    "reply": [1, 2, 50],
    "number": [1, 2, 10],
    "batch": [1, 8],
    "chips": [1, 2, 4],
    "cached": [0, 1, 900],
}
PLAIN: dict[str, Any] = {"prompt": 1000, "hidden": 20, "reply": 5, "number": 3}


@pytest.mark.parametrize("swept", SIZES)
def test_an_array_equals_a_loop(swept: str) -> None:
    prompt = {"prompt": [1000, 4095, 9000]} if swept == "cached" else {}
    values = {**SIZES, **prompt}[swept]
    whole = thinking.samples(LLAMA, H100, **{**PLAIN, swept: np.array(values)})
    for place, value in enumerate(values):
        alone = thinking.samples(LLAMA, H100, **{**PLAIN, swept: value})
        for swept_kind, kind in zip(whole, alone, strict=True):
            for found, expected in zip(swept_kind, kind, strict=True):
                assert isinstance(expected, float)
                there = np.broadcast_to(found, len(values))[place]
                assert there == pytest.approx(expected, rel=1e-12)


def test_two_arrays_span_a_grid() -> None:
    hidden, batch = np.array([0, 7, 30]), np.array([1, 32])
    grid = thinking.chain(LLAMA, H100, 100, hidden[:, None], 5, batch, chips=4).total
    assert np.shape(grid) == (3, 2)
    one = thinking.chain(LLAMA, H100, 100, 30, 5, 32, chips=4).total
    assert grid[2, 1] == pytest.approx(one)  # type: ignore[index]
    room = thinking.most_requests(LLAMA, H100, 100, hidden[:, None], 5, batch, chips=4)
    assert np.shape(room) == (3, 2)


CALLS: dict[Any, dict[str, Any]] = {
    thinking.chain: {"model": SMALL, "chip": H100, "prompt": 10, "hidden": 5, "reply": 3},
    thinking.samples: {"model": SMALL, "chip": H100, **PLAIN},
    thinking.most_requests: {"model": SMALL, "chip": H100, **PLAIN},
    thinking.shared_prefix_step: {"model": SMALL, "prefix": 10, "own": 5, "number": 2},
}
NO_COUNT: list[Any] = [0.5, -1, None, "8", float("nan"), []]
UNITS = {
    "prompt": "tokens",
    "prefix": "tokens",
    "hidden": "tokens of thought",
    "own": "tokens",
    "reply": "tokens of the reply",
    "number": "samples",
    "batch": "sequences",
    "chips": "chips",
    "cached": "tokens",
}
NO_SIZE = {"hidden", "own", "cached"}  # 0 is allowed


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_every_bad_size_is_named_with_its_unit(function: Any) -> None:
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    for name in set(arguments) & set(UNITS):
        bad = NO_COUNT if name in NO_SIZE else [*NO_COUNT, 0]
        for value in bad:
            with pytest.raises(ValueError, match=rf"(?s){name}.*{UNITS[name]}"):
                function(**{**CALLS[function], name: value})


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_what_is_no_model_chip_or_format_is_refused(function: Any) -> None:
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    with pytest.raises(ValueError, match=r"give a Model, for example kl\.model"):
        function(**{**CALLS[function], "model": "Llama-3.1-8B"})
    for name in {"weights", "kv"} & set(arguments):
        with pytest.raises(UnknownName, match="no number format is called 'int5'"):
            function(**{**CALLS[function], name: "int5"})
    if "chip" in arguments:
        with pytest.raises(ValueError, match=r"give a Chip, for example kl\.chip"):
            function(**{**CALLS[function], "chip": "H100 SXM"})
    if "efficiency" in arguments:
        with pytest.raises(ValueError, match="give an Efficiency"):
            function(**{**CALLS[function], "efficiency": 0.7})


def test_arrays_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"hidden \(2,\), batch \(3,\)"):
        thinking.chain(SMALL, H100, 10, [1, 2], 3, [1, 2, 3])
    with pytest.raises(ValueError, match=r"prefix \(2,\), own \(3,\)"):
        thinking.shared_prefix_step(SMALL, [1, 2], [1, 2, 3], 2)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 1,000,000 tokens of thought and reply together"):
        thinking.chain(SMALL, H100, 10, 1_000_000, 1)
    with pytest.raises(ValueError, match=r"usable = 1.5 will not do"):
        thinking.most_requests(SMALL, H100, 10, 5, 1, usable=1.5)
    with pytest.raises(ValueError, match=r"has no memory_bytes"):
        thinking.most_requests(SMALL, replace(H100, memory_bytes=None), 10, 5, 1)
    with pytest.raises(ValueError, match=r"cached"):
        thinking.chain(SMALL, H100, 10, 5, 1, cached=10)
