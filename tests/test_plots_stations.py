"""Specialised stations: the pictures and the explorer say what the law says."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.layers import Experts
from kitchenlib.miniatures import specialists
from kitchenlib.miniatures.stations import CARD, Split, skewed
from kitchenlib.plots import station_guests
from kitchenlib.plots.specialists import stations_by_token
from kitchenlib.plots.station_guests import (
    ALONE,
    KITCHENS,
    MODELS,
    THE_CARD,
    WORKED,
    StationsSetting,
    StationsStage,
    stations_guests,
)
from kitchenlib.plots.stations import Spark, spark_step, stations_union
from kitchenlib.plots.style import Picture
from kitchenlib.widgets.stations import StationsExplorer
from tests import test_plots as every_picture
from tests.test_plots import frame_is_whole, stands_free
from tests.test_widgets import shown

OSS = kl.model("gpt-oss-120b")
FIGURES: dict[str, Callable[[], Picture]] = {
    "stations-union": stations_union,
    "stations-by-token": stations_by_token,
    "stations-guests": stations_guests,
    "stations-guests-one": lambda: stations_guests(ALONE),
}
#: Every function at other settings.
OTHERS: dict[str, Callable[[], Picture]] = {
    "two guests": lambda: stations_union(guests=2),
    "Mixtral and DBRX": lambda: stations_union(
        Split.of(kl.model("Mixtral-8x7B-v0.1")), kl.model("DBRX"), 8, "Mixtral"
    ),
    "DeepSeek": lambda: stations_union(
        Split.of(kl.model("DeepSeek-V3")), kl.model("Qwen3-235B-A22B"), 16, "DeepSeek-V3"
    ),
    "after the last layer": lambda: stations_by_token(specialists.studied(30)),
}
DRAWN = {**FIGURES, **OTHERS}
SETTINGS: dict[str, StationsSetting] = {
    "worked": WORKED,
    "alone": ALONE,
    "no room": StationsSetting("DeepSeek-V3", 1024, "Zipf", "A100 SXM 80GB", 1, 131_072),
    "many experts": StationsSetting("Qwen3-235B-A22B", 64),
    "few experts": StationsSetting("Mixtral-8x22B-v0.1", 8, "Zipf", "MI300X", 2, 128),
    "hybrid": StationsSetting("Jamba-v0.1", 256, "uniform", "B200 SXM (HGX/DGX)", 1, 32_768),
    "beyond its making": StationsSetting("DBRX", 1, tokens=131_072),
    "many words": StationsSetting(
        "Mixtral-8x22B-v0.1", 1024, "uniform", station_guests.CHIPS[0], 8, 131_072
    ),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", OTHERS)
def test_a_picture_is_legible_at_another_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("stations-union", "32 guests make the waiter carry 438 of 500 GB a step: 12.5 times less"),
        ("stations-union", "less than a dense sack becomes 1.14 times less."),
        ("stations-union", "the card: 16 experts of 30.7 GB, 9.33 GB shared, 1 a token"),
        ("stations-union", "8 guests: 6.45 experts, 207 GB a step, 25.9 GB a guest"),
        ("stations-union", "32 guests: 13.97 experts, 438 GB a step, 13.7 GB a guest, a dense"),
        ("stations-union", "Llama-4-Scout, 16 experts of 12.1 GB, 22.3 GB shared, 1 a token"),
        ("stations-union", "gpt-oss-120b 2: × 1.04, 4: × 1.63, 8: × 2.53, 16: × 3.76, 32: × 5.27"),
        ("stations-union", "Qwen2.5-Coder-7B, dense, 2: × 1.87, 4: × 3.59, 8: × 6.73"),
        ("stations-union", "time to read 54 of 128 experts at most; uniform routing needs 82."),
        ("two guests", "2 guests make the waiter carry 68.8 of 500 GB a step: 12.5 times less"),
        ("Mixtral and DBRX", "Mixtral: 8 experts of 11.3 GB, 3.21 GB shared, 2 a token"),
        ("stations-by-token", "These 16 groups know tokens, not topics: they tell 63% of a"),
        ("stations-by-token", "who knows a token's group has lost 63% of the doubt about its kind"),
        ("stations-by-token", "some find experts for a domain, such as code (arXiv 2409.02060)"),
        ("stations-by-token", "One dessert card visits 15.9 of the 16 groups on average."),
        ("stations-guests", "32 guests touch 14.0 of 16 experts: 88% of the weights of a dense"),
        ("stations-guests", "dense sack to fetch, 8.0% of its cuts."),
        ("stations-guests", "gain over one guest × 2.92, × 32.0, × 32.0"),
        ("stations-guests", "500 GB of weights; each chip is filled to 73%"),
        ("stations-guests-one", "One guest touches 1.00 of 16 experts: 8.0% of the weights of a"),
    ],
)
def test_a_figure_says(name, claim, pictures):
    assert claim in pictures[name].alt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guests": 1}, "guests = 1 will not do: give 2 to 63 guests"),
        ({"guests": 64}, "guests = 64 will not do"),
        ({"model": kl.model("Llama-2-70B")}, "Llama-2-70B has no experts"),
        ({"split": 500}, "give a Split"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        stations_union(**change)


# --- the law against the clock -----------------------------------------------------------------


def test_the_shapes_give_the_published_size_of_the_file():
    """59.02 GiB: experts in MXFP4, what is no matrix in fp32, all else in Q8_0."""
    bits = {"experts": 4.25, "norms": 32, "router": 32, "expert_biases": 32}
    size = sum(n * bits.get(name, 8.5) / 8 for name, n in OSS.tensors.items())
    assert size / 2**30 == pytest.approx(59.02, abs=0.01)


def test_only_the_experts_are_in_the_lighter_format():
    work = spark_step(OSS, 528, 1)
    q8, mx = (kl.decode_step(OSS, 528, 1, form) for form in ("Q8_0", "mxfp4-moe"))
    assert work.parts["experts"].bytes == mx.parts["experts"].bytes < q8.parts["experts"].bytes
    assert work.parts["projections"].bytes == q8.parts["projections"].bytes


def test_for_a_dense_model_the_law_is_a_bound_with_any_number_of_guests():
    dense = Spark.of("Qwen2.5-7B")
    ratio = dense.seconds / dense.law
    assert ratio.min() > 1
    assert ratio[[0, 1, 3, 5]].round(2).tolist() == [1.19, 1.27, 1.38, 1.68]


@pytest.mark.parametrize("prompt", [512, 4096, 8192])
def test_alone_the_law_is_a_bound_for_experts(prompt):
    mixed = Spark.of("gpt-oss-120b", prompt)
    assert 1.25 < mixed.seconds[0] / mixed.law[0] < 1.4


def test_in_company_uniform_routing_is_no_bound_for_experts():
    """The step is over before so many experts could have been read: the router is uneven."""
    mixed = Spark.of("gpt-oss-120b")
    ratio = mixed.seconds / mixed.law
    assert ratio[[0, 1, 3, 5]].round(2).tolist() == [1.29, 1.63, 0.94, 0.68]
    uniform = kl.experts_touched(128, 4, mixed.guests)
    assert ((mixed.could < uniform) == (ratio < 1)).all()
    assert mixed.could[-1] == pytest.approx(54, abs=0.5)


@pytest.mark.parametrize("prompt", [512, 4096, 8192])
def test_with_zipf_routing_no_measured_step_beats_the_law(prompt):
    mixed = Spark.of("gpt-oss-120b", prompt)
    ratio = mixed.seconds / mixed.uneven
    assert ratio.min() > 1
    assert ratio.max() < 2


def test_experts_gain_less_from_company_than_a_dense_model_measured_and_by_the_law():
    mixed, dense = Spark.of("gpt-oss-120b"), Spark.of("Qwen2.5-7B")
    got, others = (run.gains(run.seconds) for run in (mixed, dense))
    assert got[[1, 3, 5]].round(2).tolist() == [1.04, 2.53, 5.27]
    assert (got[1:] < others[1:]).all()
    assert (mixed.gains(mixed.uneven)[1:] < dense.gains(dense.law)[1:]).all()


# --- who visits which expert -------------------------------------------------------------------


def test_the_title_claims_no_more_than_was_counted():
    tally = specialists.studied()
    few = dict(zip(tally.courses, np.diag([9] * 16)[:9], strict=True))
    swapped = replace(tally, courses=few, kinds={k: np.ones(16, int) for k in tally.kinds})
    assert "not topics" in stations_by_token(tally).alt
    picture = stations_by_token(swapped)
    assert "not topics" not in picture.alt
    assert "groups tell 0.0% of a token's kind and 100% of its card's course" in picture.alt


def test_more_experts_than_there_are_rows_are_refused():
    tally = specialists.studied()
    with pytest.raises(ValueError, match="give one of at most 16 experts"):
        stations_by_token(replace(tally, favourites=tally.favourites * 2))


# --- a kitchen and its guests ------------------------------------------------------------------


def test_every_mixture_of_the_catalogue_can_be_chosen():
    mixed = {m.name for m in kl.models() if any(isinstance(b.mlp, Experts) for b in m.blocks)}
    assert set(MODELS) == {THE_CARD, *mixed}


@pytest.mark.parametrize("name", MODELS[1:])
def test_a_kitchen_is_the_laws_decode_step(name):
    each = StationsSetting(name, 16, "Zipf", tokens=512)
    work = kl.decode_step(skewed(kl.model(name), 1.0), 512, 16, chips=8)
    assert each.works(16)["this kitchen"] == work
    assert float(each.touched(16)) == pytest.approx(each.visited().sum())


@pytest.mark.parametrize("name", MODELS)
def test_dense_kitchens_have_the_weights_of_all_and_of_the_active_experts(name):
    works = StationsSetting(name, 4, chips=1, tokens=128).works(4)
    made = Split.of(kl.model(name)) if name != THE_CARD else CARD
    mixed, whole, active = (works[kitchen] for kitchen in KITCHENS)
    idle = made.experts - made.per_token
    assert whole.weight_bytes - active.weight_bytes == pytest.approx(idle * made.expert)
    assert mixed.flops == active.flops < whole.flops
    assert active.weight_bytes < mixed.weight_bytes < whole.weight_bytes


def test_the_cards_kitchen_is_the_card():
    works = WORKED._replace(chips=1).works([1, 32])
    assert works["this kitchen"].bytes == pytest.approx(CARD.carried([1, 32]))
    assert works["dense, all"].bytes == pytest.approx([500e9, 500e9])
    assert works["dense, active"].bytes == pytest.approx([40e9, 40e9])
    assert works["this kitchen"].flops == pytest.approx([40e9, 32 * 40e9])


def test_alone_experts_are_as_fast_as_a_dense_model_of_the_active_size_and_in_company_not():
    alone, many = ALONE.seconds(1), WORKED.seconds(32)
    assert alone["this kitchen"] == pytest.approx(alone["dense, active"])
    assert many["this kitchen"] > 10 * many["dense, active"]


def test_forty_of_500_gb_in_use_is_no_reason_for_a_small_warehouse():
    two = ALONE._replace(chips=2)
    assert CARD.active < 0.9 * CARD.total / two.taken < CARD.total  # bytes that are usable
    assert not two.fits
    assert "which does not fit" in two.facts()["in the warehouse"]
    assert "it does not fit" in two.lead()
    assert ALONE.fits


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_the_claim_is_what_the_law_says(each):
    touched, experts, read, cuts = re.findall(r"[\d.]+(?=%| of| experts)", each.claim())
    works = each.works(each.batch)
    mixed, whole = works["this kitchen"], works["dense, all"]
    assert float(touched) == pytest.approx(float(each.touched(each.batch)), rel=0.006)
    assert int(experts) == each.split.experts
    assert float(read) / 100 == pytest.approx(mixed.weight_bytes / whole.weight_bytes, abs=0.006)
    assert float(cuts) / 100 == pytest.approx(mixed.flops / whole.flops, abs=0.006)


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"model": "DBRXX"}, UnknownName, "no model is called 'DBRXX'. Did you mean: DBRX"),
        ({"model": "Llama-2-70B"}, ValueError, "Llama-2-70B has no experts"),
        ({"batch": 0}, ValueError, "guests = 0 will not do"),
        ({"skew": "even"}, UnknownName, "no routing is called 'even'"),
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'"),
        ({"chips": 0}, ValueError, "chips = 0 will not do"),
        ({"model": "DBRX", "tokens": -1}, ValueError, "= -1 will not do"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_when_it_is_used(setting, error, message):
    with pytest.raises(error, match=message):
        stations_guests(StationsSetting(**setting))


@pytest.fixture(scope="module")
def stage() -> StationsStage:
    return StationsStage()


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_no_word_touches_another_or_leaves_the_card(each, stage):
    stage.show(each)
    stands_free(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_a_frame_is_the_whole_picture_whatever_was_shown_before(each, stage):
    stage.show(each)
    frame_is_whole(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_sacks_are_filled_as_likely_as_they_are_visited(each, stage):
    stage.show(each)
    boxes, fills = (
        np.array([path.get_extents().height for path in some.get_paths()])
        for some in (stage._sacks._edges, stage._sacks._fills)
    )
    assert len(boxes) == each.split.experts
    assert fills / boxes == pytest.approx(each.visited())


# --- the explorer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "Mixtral-8x7B-v0.1"),
        ("batch", 64),
        ("skew", "Zipf"),
        ("chip", "MI300X"),
        ("chips", 4),
    ],
)
def test_every_control_changes_the_picture(name, value):
    explorer = StationsExplorer(**WORKED._asdict())
    assert set(explorer.controls) == set(StationsSetting._fields)
    explorer.set(**{name: value})
    assert shown(explorer) == stations_guests(StationsSetting(**{name: value})).alt
    assert shown(explorer) != stations_guests().alt


def test_notes_change_the_picture_of_a_model_and_not_of_the_card():
    explorer = StationsExplorer(model="DBRX")
    before = shown(explorer)
    explorer.set(tokens=8192)
    assert shown(explorer) != before
    explorer.set(model=THE_CARD)
    before = shown(explorer)
    explorer.set(tokens=128)
    assert shown(explorer) == before


def test_every_choice_of_the_explorer_has_words():
    """No model, chip or number of chips that is offered ends in an error."""
    for of, on, chips in product(MODELS, station_guests.CHIPS, station_guests.TOGETHER):
        each = StationsSetting(of, 8, "uniform", on, chips)
        assert all(each.facts().values())


def test_a_start_may_be_named_in_another_way():
    explorer = StationsExplorer(model="dbrx", chip="h200", batch=64, skew="zipf".title())
    assert explorer.values["model"] == "DBRX"
    assert explorer.values["chip"] == "H200 SXM"
    explorer.set(skew="UNIFORM")
    assert explorer.values["skew"] == "uniform"


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"model": "Llama-2-70B"}, ValueError, "model = 'Llama-2-70B' will not do: choose one of"),
        ({"model": "DBRXX"}, UnknownName, "no model is called 'DBRXX'"),
        ({"batch": 3}, ValueError, r"guests \(batch\) = 3 will not do: choose one of 1, 2, 4"),
        ({"skew": "some"}, ValueError, "routing = 'some' will not do: choose one of uniform, Zipf"),
        ({"chips": 16}, ValueError, "chips together = 16 will not do: choose one of 1, 2, 4, 8"),
    ],
)
def test_a_start_that_is_not_offered_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        StationsExplorer(**setting)
