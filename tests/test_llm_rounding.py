"""Rounded weights: what rounding does to values, what scales weigh, how well the model reads."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitchenlib import llm, number_format
from kitchenlib.llm.rounding import rounding
from kitchenlib.llm.weights import Array
from tests.llm_models import alone, any_smol, real_smol, tiny

HALF_16, SMALLEST_16 = 2.0**-11, 2.0**-24  # relative and absolute errors of fp16


def some_matrix(outputs: int = 7, inputs: int = 100, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((outputs, inputs), np.float32)


def groups_of(matrix: Array, group: int) -> list[Array]:
    return [
        row[start : start + group] for row in matrix for start in range(0, matrix.shape[1], group)
    ]


@given(
    bits=st.integers(1, 10),
    group=st.integers(2, 120),
    scale=st.floats(0.1, 100),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_value_moves_by_half_a_step_at_most_and_a_group_keeps_so_many_values(
    bits: int, group: int, scale: float, seed: int
) -> None:
    matrix = np.float32(scale) * some_matrix(3, 130, seed)  # the last group of a row is shorter
    rounded = rounding(bits, group).matrix(matrix)
    assert rounded.dtype == np.float32
    for before, after in zip(groups_of(matrix, group), groups_of(rounded, group), strict=True):
        step = np.ptp(before) / (2**bits - 1)
        slack = HALF_16 * (np.ptp(before) + np.abs(before).max()) + 2**bits * SMALLEST_16
        assert np.abs(after - before).max() <= step / 2 + slack
        assert len(np.unique(after)) <= 2**bits


@given(bits=st.integers(1, 8), group=st.sampled_from([32, 64]), seed=st.integers(0, 2**32 - 1))
def test_what_is_rounded_already_does_not_change_again(bits: int, group: int, seed: int) -> None:
    once = rounding(bits, group).matrix(some_matrix(3, 120, seed))
    assert (rounding(bits, group).matrix(once) == once).all()


def test_equal_values_stay_as_they_are() -> None:
    assert (rounding(2, 32).matrix(np.full((2, 40), 0.75, np.float32)) == 0.75).all()
    assert (rounding(2, 32).matrix(np.zeros((2, 40), np.float32)) == 0).all()


def test_step_and_lowest_value_are_kept_in_16_bit() -> None:
    (rounded,) = rounding(1, 2).matrix(np.array([[0.1, 0.3]], np.float32))
    lowest, step = np.float32(np.float16(0.1)), np.float32(np.float16(0.2))
    assert rounded.tolist() == [lowest, lowest + step]


def test_a_group_lies_along_the_inputs() -> None:
    matrix = np.array([[0, 1, 0, 100], [5, 6, 5, 7]], np.float32)
    rounded = rounding(1, 2).matrix(matrix)  # each pair has two values, and keeps them
    assert (rounded == matrix).all()
    assert not (rounding(1, 4).matrix(matrix) == matrix).all()


def test_more_bits_and_smaller_groups_lose_less() -> None:
    matrix = some_matrix(50, 576)

    def loss(bits: int, group: int) -> float:
        return float(np.square(rounding(bits, group).matrix(matrix) - matrix).mean())

    by_bits = [loss(bits, 64) for bits in (2, 3, 4, 6, 8)]
    by_group = [loss(4, group) for group in (128, 64, 32)]
    assert by_bits == sorted(by_bits, reverse=True)
    assert by_group == sorted(by_group, reverse=True)


@pytest.mark.parametrize(
    ("bits", "group", "embedding", "wanted"),
    [
        (4, 32, False, 5.0),  # as gpt-fast and GGUF's Q4_1 have it
        (4, 64, False, 4.5),
        (2, 32, True, 3.0),
        (8, 576, True, None),
        (4, 128, False, None),
    ],
)
def test_scales_and_lowest_values_are_counted(
    bits: int, group: int, embedding: bool, wanted: float | None
) -> None:
    smol = any_smol()
    found = smol.bits_per_weight(bits, group, embedding)
    if wanted is None:  # rows of 576 and of 1,536 inputs end in shorter groups
        s = smol.shape
        wide = (s.heads + 2 * s.kv_heads) * s.head_dim + s.heads * s.head_dim + 2 * s.width
        rows = [(s.layers * wide, s.hidden), (s.layers * s.hidden, s.width)]
        rows += [(s.vocab, s.hidden)] * embedding
        groups = sum(n * -(-inputs // group) for n, inputs in rows)
        wanted = bits + 32 * groups / sum(n * inputs for n, inputs in rows)
    assert found == pytest.approx(wanted, rel=1e-12)
    assert found > bits


def test_scales_weigh_what_the_law_says_they_do() -> None:
    one_scale = number_format("Q4_0").bits - 4  # fp16, for 32 weights
    assert any_smol().bits_per_weight(4, 32) == 4 + 2 * one_scale


def test_norms_and_embedding_stay_and_the_weights_that_were_rounded_too() -> None:
    own, kept = tiny()._weights, tiny()._weights
    light = rounding(2, 8).applied(own)
    for old, new, same in zip(own.layers, light.layers, kept.layers, strict=True):
        assert all((a == b).all() for a, b in zip(old, same, strict=True))
        assert all((a != b).any() == (a.ndim == 2) for a, b in zip(old, new, strict=True))
    assert (light.final_norm == own.final_norm).all()
    assert (light.embedding == own.embedding).all()
    assert (rounding(2, 8, embedding=True).applied(own).embedding != own.embedding).any()


def test_rounded_weights_lie_in_one_piece() -> None:
    light = rounding(2, 8).applied(tiny()._weights)
    one = light.embedding.base
    assert one is not None
    assert one.size == sum(part.size for layer in light.layers for part in layer) + 51 * 24
    assert all(window.base is one for layer in light.layers for window in layer)


@pytest.mark.parametrize(
    ("bits", "group", "embedding", "message"),
    [
        (0, 32, False, "bits = 0"),
        (17, 32, False, "1 to 16 bits"),
        (4.5, 32, False, "bits = 4.5"),
        ("4", 32, False, "bits = '4'"),
        (4, 1, False, "group = 1"),
        (4, 32.5, False, "group = 32.5"),
        (4, 32, "yes", "give True or False"),
    ],
)
def test_what_cannot_be_rounded_is_refused_in_words(
    bits: int, group: int, embedding: bool, message: str
) -> None:
    for asked in (any_smol().rounded, any_smol().bits_per_weight):
        with pytest.raises(ValueError, match=message):
            asked(bits, group, embedding)


# --- reading -------------------------------------------------------------------------------------


@cache
def opening() -> tuple[int, ...]:
    return tuple(real_smol().tokenize(llm.market_day())[:128])


@cache
def exact() -> float:
    return llm.perplexity(real_smol(), opening())


def read_by(bits: int, group: int) -> float:
    return llm.perplexity(real_smol().rounded(bits, group), opening())


def test_the_shipped_weights_are_rounded_already_so_their_own_width_changes_nothing() -> None:
    smol = real_smol()
    same = smol.rounded(4, 32)
    for before, after in zip(smol._weights.layers, same._weights.layers, strict=True):
        assert all((a == b).all() for a, b in zip(before, after, strict=True))


def test_five_bits_lose_more_than_four_because_their_steps_are_others() -> None:
    """The trap: "four bits are free" is true of these weights, and of no others."""
    assert 1.05 < read_by(5, 32) / exact() < 1.2


def test_at_three_bits_it_reads_badly() -> None:
    assert 2 < read_by(3, 32) / exact() < 10


def test_at_two_bits_it_neither_reads_nor_writes() -> None:
    smol = real_smol()
    light = smol.rounded(2, 128)
    assert llm.perplexity(light, opening()) > smol.shape.vocab  # worse than knowing nothing
    ids = smol.chat("Why is the sky blue?")
    assert alone(light, ids, 6)[0] != alone(smol, ids, 6)[0]
    assert repr(light).endswith("float32, rounded to 2 bits in groups of 128>")
    assert str(rounding(8, 32, embedding=True)).endswith("groups of 32, the embedding too")


def test_the_text_reads_as_well_as_it_did_when_it_was_measured() -> None:
    assert llm.perplexity(real_smol()) == pytest.approx(29.947, abs=0.01)


def test_surprise_is_minus_the_logarithm_of_the_probability() -> None:
    smol = any_smol()
    ids = smol.tokenize(llm.market_day())[:140]  # more than a page
    logits = smol.logits_everywhere(ids).astype(np.float64)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    wanted = -np.log(chances[np.arange(139), ids[1:]])
    found = llm.surprise(smol, ids)
    assert found.dtype == np.float64
    assert found == pytest.approx(wanted, abs=0.002)
    assert llm.perplexity(smol, ids) == pytest.approx(np.exp(wanted.mean()), rel=0.001)


def test_a_text_and_its_tokens_read_the_same() -> None:
    smol = any_smol()
    text = "One lemon was left on the table."
    assert (llm.surprise(smol, text) == llm.surprise(smol, smol.tokenize(text))).all()


def test_who_knows_nothing_chooses_among_all_tokens() -> None:
    smol = any_smol()
    blank = smol._weights._replace(final_norm=np.zeros_like(smol._weights.final_norm))
    nothing = smol._changed(blank, "everything forgotten")
    assert llm.perplexity(nothing, [1, 2, 3]) == pytest.approx(smol.shape.vocab, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([5], "2 to 8,193 tokens, this one has 1"),
        ("", "at least one token"),
        ([1] * 8194, "this one has 8,194"),
        ([1, 2.5], "whole"),
        ([1, 49152, 1], "from 0 to 49,151"),
        ([1, 49152], "from 0 to 49,151"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(text: str | list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        llm.surprise(any_smol(), text)


def test_the_text_is_a_few_hundred_words_in_plain_letters() -> None:
    text = llm.market_day()
    assert 250 < len(text.split()) < 400
    assert text.isascii()


def test_what_is_no_model_reads_nothing() -> None:
    for read in (llm.perplexity, llm.surprise):
        with pytest.raises(
            ValueError, match=r"smol = 'a text' .*give an LLM, for example llm\.load"
        ):
            read("a text")  # type: ignore[arg-type]
