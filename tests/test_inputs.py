"""The readers of arguments: what passes, what is refused, and what the refusal says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib.inputs import (
    MOST,
    UnknownName,
    amount,
    broadcastable,
    chance,
    count,
    dimension,
    instance,
    positive,
    quantity,
    real,
    share,
    unknown_name,
    wrong,
)

#: What is no number at all, whatever the argument.
NO_NUMBER: list[Any] = [
    None,
    True,
    np.True_,
    "8",
    b"8",
    "",
    1 + 0j,
    [],
    np.array([]),
    [[1, 2], [3]],
    [1, None],
    ["1", "2"],
    [True, False],
    np.array([1, 2], dtype=object),
    np.array([1j]),
    np.datetime64("2024-01-01"),
    {"a": 1},
    {1},
    object(),
    len,
    iter([1]),
    ...,
]
#: Numbers that no size can be.
NO_SIZE: list[Any] = [
    -1,
    -1.0,
    math.nan,
    math.inf,
    -math.inf,
    10**30,
    1e300,
    [1, -1],
    [1.0, math.nan],
    np.array([[1, 2], [3, np.inf]]),
    np.longdouble("1e4000"),
]
NO_COUNT: list[Any] = [0, 0.5, 1.5, [1, 2.5], MOST + 2, np.uint64(2**63)]


def kind(value: Any) -> str:
    """A test's id: an object's repr may hold an address, which differs from run to run."""
    return type(value).__name__


@pytest.mark.parametrize("value", NO_NUMBER + NO_SIZE + NO_COUNT, ids=kind)
def test_a_count_is_a_whole_number_above_zero(value: Any) -> None:
    with pytest.raises(ValueError, match=r"batch.*whole number of sequences, from 1 to 2"):
        count("batch", value, "sequences")


@pytest.mark.parametrize("value", [*NO_NUMBER, *NO_SIZE, 0, 0.0, [1.0, 0.0], 1e31], ids=kind)
def test_a_positive_number_is_finite_and_above_zero(value: Any) -> None:
    with pytest.raises(ValueError, match=r"speed.*number of bytes per second, above 0 and finite"):
        positive("speed", value, "bytes per second")


@pytest.mark.parametrize("value", [*NO_NUMBER, *NO_SIZE, 1e31, -1e-300], ids=kind)
def test_an_amount_is_finite_and_not_below_zero(value: Any) -> None:
    with pytest.raises(ValueError, match=r"price.*number of dollars, 0 or more"):
        amount("price", value, "dollars")


@pytest.mark.parametrize("value", [*NO_NUMBER, *NO_SIZE, 2, 1.0000001, [0.5, 1.5]], ids=kind)
def test_a_chance_lies_between_never_and_always(value: Any) -> None:
    with pytest.raises(ValueError, match=r"luck.*probability of a six, from 0 to 1"):
        chance("luck", value, "a six")


def test_never_and_always_are_chances() -> None:
    assert np.array_equal(chance("luck", [0, 0.5, 1], "a six"), [0, 0.5, 1])


@pytest.mark.parametrize("value", [*NO_NUMBER, *NO_SIZE, 0, 2, [0.5, 0]], ids=kind)
def test_a_share_is_above_nothing_and_at_most_the_whole(value: Any) -> None:
    with pytest.raises(ValueError, match=r"part.*share of the peak, above 0 and at most 1"):
        share("part", value, "the peak")


def test_the_whole_is_a_share() -> None:
    assert np.array_equal(share("part", [0.1, 1], "the peak"), [0.1, 1])


def test_an_amount_may_be_nothing() -> None:
    assert amount("price", 0, "dollars") == 0
    assert np.array_equal(amount("price", [0, 2.5], "dollars"), [0, 2.5])


@pytest.mark.parametrize("value", [*NO_NUMBER, math.nan, math.inf, [0.0, -math.inf]], ids=kind)
def test_a_real_number_is_finite(value: Any) -> None:
    with pytest.raises(ValueError, match=r"mass.*finite number of bytes"):
        real("mass", value, "bytes")


@pytest.mark.parametrize("value", [*NO_NUMBER, *NO_SIZE, *NO_COUNT, [1], [1, 2]], ids=kind)
def test_a_dimension_is_one_whole_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"heads.*whole number of query heads"):
        dimension("heads", value, "query heads")


@pytest.mark.parametrize("value", [*NO_NUMBER, *NO_SIZE, 0, [1.0]], ids=kind)
def test_a_quantity_is_one_number_above_zero(value: Any) -> None:
    with pytest.raises(ValueError, match=r"power.*number of watts"):
        quantity("power", value, "watts")


@given(st.integers(1, MOST))
def test_a_whole_number_comes_back_as_it_is(value: int) -> None:
    assert count("n", value, "things") == value
    assert dimension("n", float(value), "things") == int(float(value))
    assert dimension("n", np.int64(value), "things") == value


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_lists_become_arrays_of_float64(values: list[int]) -> None:
    array = count("n", values, "things", least=0)
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.float64
    assert array.tolist() == values


@given(st.floats(1e-30, 1e30))
def test_a_number_above_zero_comes_back_as_it_is(value: float) -> None:
    assert positive("n", value, "things") == value
    assert quantity("n", np.float64(value), "things") == value
    assert real("n", -value, "things") == -value


def test_a_plain_number_stays_plain() -> None:
    for value in (3, 3.0, np.int32(3), np.array(3)):
        assert type(count("n", value, "things")) in (int, float)
        assert type(dimension("n", value, "things")) is int
        assert type(quantity("n", value, "things")) is float


def test_the_wrong_one_of_many_is_quoted() -> None:
    with pytest.raises(ValueError, match=r"^tokens = -7\.0 will not do"):
        count("tokens", np.array([1, 2, -7]), "tokens")
    with pytest.raises(ValueError, match=r"^tokens = 2\.5 will not do"):
        count("tokens", [1, 2.5, 3], "tokens")


def test_numpy_numbers_are_quoted_as_plain_ones() -> None:
    assert str(wrong("n", np.float64(2.5), "give one")).startswith("n = 2.5 will not do")


def test_a_long_value_is_cut_short_in_the_message() -> None:
    message = str(wrong("tokens", list(range(1000)), "give one"))
    assert len(message) < 100
    assert "..." in message


def test_shapes_that_do_not_fit_are_named() -> None:
    broadcastable(a=np.ones((3, 1)), b=np.ones(4), c=2.0)
    with pytest.raises(ValueError, match=r"prompt \(3,\), batch \(4,\).*broadcast"):
        broadcastable(prompt=np.ones(3), batch=np.ones(4), chips=1)


def test_the_thing_is_asked_for_where_its_name_was_given() -> None:
    instance("chip", "H100 SXM", str, "'H100 SXM'")
    with pytest.raises(ValueError, match=r"^chip = 'H100 SXM' will not do: give a int, for"):
        instance("chip", "H100 SXM", int, "3")


class TestUnknownName:
    KNOWN = ("H100 SXM", "H100 PCIe", "A100 SXM 80GB", "TPU v5e")

    def test_is_a_key_error_whose_message_reads_as_it_is(self) -> None:
        error = unknown_name("chip", "H100", self.KNOWN)
        assert isinstance(error, KeyError)
        assert str(error).startswith("no chip is called 'H100'. Did you mean: H100 SXM")
        assert isinstance(error, UnknownName)

    @pytest.mark.parametrize(
        ("name", "meant"),
        [("h100 sxm", "H100 SXM"), ("H100SXM", "H100 SXM"), ("a100", "A100 SXM 80GB")],
    )
    def test_finds_near_names(self, name: str, meant: str) -> None:
        assert meant in str(unknown_name("chip", name, self.KNOWN)).partition("Did you mean")[2]

    @pytest.mark.parametrize("name", ["zzz", "", None, 3, ["H100"]])
    def test_lists_what_there_is_where_nothing_is_near(self, name: object) -> None:
        message = str(unknown_name("chip", name, self.KNOWN))
        assert "Known names are" in message or "Did you mean" in message
        assert "H100 SXM" in message


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("h100 sxm", "H100 SXM"),
        ("H100SXM", "H100 SXM"),
        ("h100", "H100 SXM"),
        ("rtx_3090", "RTX 3090"),
        ("TPU v6e", "TPU v6e (Trillium)"),
        ("Groq LPU", "Groq LPU (GroqChip v1)"),
        ("Apple M3 Max", "Apple M3 Max (40-core)"),
        ("Typical laptop", "Typical laptop (13th-gen i7, 2ch DDR5-5600)"),
    ],
)
def test_a_chip_is_found_however_its_name_is_written(typed: str, meant: str) -> None:
    assert kl.chip(typed).name == meant


@pytest.mark.parametrize("typed", ["llama-2-70b", "Llama 2 70B", "llama_2_70b"])
def test_a_model_is_found_however_its_name_is_written(typed: str) -> None:
    assert kl.model(typed).name == "Llama-2-70B"


@pytest.mark.parametrize(
    ("typed", "meant"), [("BF16", "bf16"), ("INT4", "int4"), ("q4_k_m", "Q4_K_M")]
)
def test_a_format_is_found_however_its_name_is_written(typed: str, meant: str) -> None:
    assert kl.number_format(typed).name == meant


def test_a_name_that_fits_several_is_not_guessed_at() -> None:
    with pytest.raises(UnknownName, match="Did you mean: A100 SXM 40GB, A100 SXM 80GB"):
        kl.chip("A100")
    with pytest.raises(UnknownName, match="Did you mean: Apple M3 Max"):
        kl.chip("M3 Max")


def test_a_long_catalogue_says_how_many_names_there_are() -> None:
    with pytest.raises(UnknownName, match="There are 57 names, among them: V100 SXM2 32GB"):
        kl.chip("?")


def test_a_format_of_weights_is_no_rate_and_the_message_says_at_which_one_it_multiplies() -> None:
    with pytest.raises(UnknownName, match=r"int4 is a format of weights.*ask for bf16"):
        kl.chip("H100 SXM").ridge("int4")
