"""How far real systems stay from the law: named shares, and what `estimate` makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kitchenlib as kl
from kitchenlib.measured import measurements

LLAMA, H100 = kl.model("Llama-2-70B"), kl.chip("H100 SXM")
STEP, FLOOD = kl.decode_step(LLAMA, 4096, batch=32, chips=2), kl.prefill(LLAMA, 2000, chips=2)
shares = st.floats(0.01, 1.0)


def test_the_ideal_efficiency_is_the_law_itself() -> None:
    for work in (STEP, FLOOD):
        assert kl.estimate(work, H100) == work.time(H100)
        assert kl.estimate(work, H100, kl.efficiency("ideal")) == work.time(H100)


@given(shares, st.floats(0, 0.1))
def test_one_share_for_all_divides_the_ideal_time(share: float, fixed: float) -> None:
    slow = kl.Efficiency(share, share, share, fixed)
    expected = STEP.time(H100) / share + fixed
    assert kl.estimate(STEP, H100, slow) == pytest.approx(expected)


@given(shares, shares, shares)
def test_no_estimate_beats_the_law(compute: float, bandwidth: float, link: float) -> None:
    slow = kl.Efficiency(compute, bandwidth, link)
    for work in (STEP, FLOOD):
        assert kl.estimate(work, H100, slow) >= work.time(H100) * (1 - 1e-12)


def test_each_share_slows_its_own_side() -> None:
    chef, waiter = kl.Efficiency(compute=0.4), kl.Efficiency(bandwidth=0.4)
    alone = kl.decode_step(LLAMA, 4096)
    assert kl.estimate(alone, H100, chef) == alone.time(H100)
    assert kl.estimate(alone, H100, waiter) == pytest.approx(alone.time(H100) / 0.4)
    read = kl.prefill(LLAMA, 4000)
    assert kl.estimate(read, H100, waiter) < 1.01 * read.time(H100)
    assert kl.estimate(read, H100, chef) == pytest.approx(read.time(H100) / 0.4, rel=0.01)
    sent = kl.Efficiency(link=0.5)
    shared = kl.prefill(LLAMA, 4000, chips=2)
    extra = kl.estimate(shared, H100, sent) - shared.time(H100)
    assert extra == pytest.approx(shared.times(H100)["all_reduce"])


def test_sizes_may_be_arrays() -> None:
    batch = np.array([1, 8, 64])
    planned = kl.efficiency("planned")
    swept = kl.estimate(kl.decode_step(LLAMA, 2048, batch), H100, planned)
    one_by_one = [kl.estimate(kl.decode_step(LLAMA, 2048, int(b)), H100, planned) for b in batch]
    assert swept == pytest.approx(one_by_one)


def test_a_chip_without_an_interconnect_stays_without_one() -> None:
    laptop = kl.Chip("laptop", bandwidth=1e11, peaks={"bf16": 1e13})
    assert kl.efficiency("planned").on(laptop).interconnect is None


def test_every_named_efficiency_says_where_it_comes_from() -> None:
    names = [each.name for each in kl.efficiencies()]
    assert len(set(names)) == len(names)
    for each in kl.efficiencies():
        assert each.source, each
        assert each.name == "ideal" or (each.date and each.note), each


@pytest.mark.parametrize("size", ["70B", "7B"])
def test_the_gpt_fast_rows_lie_on_the_line_that_bears_their_name(size: str) -> None:
    """Shares and fixed time are a least-squares line through the published rows, rounded."""
    model, named = kl.model(f"Llama-2-{size}"), kl.efficiency(f"gpt-fast {size}")
    rows = measurements(source="gpt-fast", model=model.name, weights="bf16")
    works = [kl.decode_step(model, row.context or 0, chips=row.chips) for row in rows]
    chips = [kl.chip(row.chip or "") for row in rows]
    ideal = [float(work.time(chip)) for work, chip in zip(works, chips, strict=True)]
    measured = [1 / row.value for row in rows]
    slope, fixed = np.polyfit(ideal, measured, 1)
    assert 1 / slope == pytest.approx(named.bandwidth, abs=0.005)
    assert fixed == pytest.approx(named.fixed, abs=0.00005)
    for work, chip, seconds in zip(works, chips, measured, strict=True):
        assert kl.estimate(work, chip, named) == pytest.approx(seconds, rel=0.02)


def test_the_fixed_time_goes_with_the_layers() -> None:
    """Waiting for other chips happens after each half layer: about 70 microseconds a layer."""
    for size, layers in (("70B", 80), ("7B", 32)):
        each = kl.efficiency(f"gpt-fast {size}").fixed / layers
        assert 60e-6 < each < 75e-6


def test_planned_decode_is_the_measured_share_rounded_down() -> None:
    row = measurements(source="gpt-fast", model="Llama-2-70B", weights="bf16")[0]
    work = kl.decode_step(LLAMA, row.context or 0, chips=row.chips)
    share = work.time(kl.chip(row.chip or "")) * row.value
    assert row.id == "M0808"
    assert kl.efficiency("planned").bandwidth == int(share * 10) / 10


def test_published_decodes_of_an_8b_model_span_39_to_87_percent_of_the_law() -> None:
    """The range that the note of "planned" names."""
    model, share = kl.model("Llama-3.1-8B"), {}
    for row in measurements(
        source="XiongjieDai GPU-Benchmarks",
        model=model.name,
        weights="fp16",
        metric="decode_tok_s_per_seq",
        chips=1,
        output=1024,
    ):
        middle = kl.decode_step(model, 512, weights="fp16", kv="fp16")
        share[row.chip] = float(middle.time(kl.chip(row.chip or "")) * row.value)
    low, high = min(share, key=lambda c: share[c]), max(share, key=lambda c: share[c])
    said = f"between {share[low]:.0%} ({(low or '')[:8]}) and {share[high]:.0%} ({high})"
    assert said == "between 39% (A100 SXM) and 87% (RTX 4000 Ada)"
    assert said in kl.efficiency("planned").note


def test_it_shows_what_it_is() -> None:
    assert repr(kl.efficiency("gpt-fast 70B")) == (
        "<gpt-fast 70B: 100% of the peak, 82% of the bandwidth, 100% of the interconnect, "
        "5.70 ms a pass>"
    )
    with pytest.raises(kl.UnknownName, match=r"no efficiency is called 'plan'.*planned"):
        kl.efficiency("plan")
