"""Your workload's bill: its numbers are the library's, its picture says them, at every setting."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.plots import billing
from kitchenlib.plots.bill import BillStage, bill
from kitchenlib.plots.billing import Bill, rented, sheets
from kitchenlib.widgets import BillExplorer
from kitchenlib.widgets.base import one_two_five
from tests.test_plots import frame_is_whole, stands_free
from tests.test_widgets import shown

FULL = Bill(batch=256)  #: more guests than fit
ON_TPU = Bill(chip="Google Cloud TPU v5p", reasoning=2000)  #: a chip without a rated power
NARROW = Bill(  #: a request costs a little less in this kitchen than on the sheet
    requests=60_000,
    cached=0.9,
    reasoning=2000,
    model="Llama-3.1-70B",
    weights="fp8",
    chips=4,
    sheet="cloudflare llama-3.3-70b-instruct-fp8-fast",
)
DEAR = Bill(
    requests=10_000_000,
    prompt=100_000,
    reply=10_000,
    reasoning=20_000,
    model="DeepSeek-V3",
    weights="int4-g128",
    chip="Google Cloud H100",
    chips=8,
    batch=1,
    occupancy=0.05,
    sheet="anthropic Claude Opus 5",
)
LEAST = Bill(requests=1, prompt=1, reply=1, cached=0.9)
APART = Bill(sheet="openai gpt-5.4", chip="RunPod (per blog) RTX 4090", weights="int4-g128")
LONELY = Bill(chip="Lambda RTX A6000", chips=2)  #: a chip that cannot share a model
SETTINGS = {
    "worked": billing.WORKED,
    "full": FULL,
    "no power": ON_TPU,
    "narrow": NARROW,
    "dear": DEAR,
    "least": LEAST,
    "apart": APART,
    "lonely": LONELY,
    "no room": Bill(model="DeepSeek-V3"),
    "crowded": Bill(requests=500_000, batch=128, chip="Nebius H200 SXM", occupancy=1.0),
    "first party": Bill(model="gpt-oss-120b", chips=8, sheet="google gemini-2.5-flash"),
}
POSSIBLE = {name: each for name, each in SETTINGS.items() if not each.obstacle()}


# --- the numbers -------------------------------------------------------------------------------


def test_the_worked_example_is_what_the_library_calculates():
    each, price = Bill(), kl.sheet_price(provider="cloudflare", model="@cf/llama-3.1-8b-instruct")
    own = kl.price_per_million(
        kl.model("Llama-3.1-8B"),
        kl.chip("H100 SXM"),
        chip_hour=2.95,
        context=2000 + 500 // 2,
        prompt=2000,
        batch=32,
        cached=1000,
        efficiency=kl.efficiency("planned"),
        occupancy=0.5,
    )
    listed, paid = (p.request(2000, 500, cached=1000) for p in (price.price, own))
    assert each.own_price() == own
    assert each.request(each.sheet_price()) == listed
    assert each.sheet_bill() == pytest.approx(listed * 20_000 * 365 / 12)
    assert each.own_bill() == pytest.approx(2.95 * 24 * 365 / 12)
    assert each.even() == pytest.approx(2.95 * 24 / listed)
    assert each.full() == pytest.approx(2.95 * 24 / paid)
    assert each.joules() == pytest.approx(paid * 0.5 / 2.95 * 3600 * 700)  # as long, at 700 W


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_the_parts_of_a_request_add_up(each):
    for price in (each.sheet_price(), each.own_price()):
        whole = sum(part.dollars for part in each.parts(price))
        assert whole == pytest.approx(each.request(price))


def test_reasoning_is_waited_for_and_not_seen():
    plain, thinking = Bill(reply=200), Bill(reply=200, reasoning=500)
    of, on, law = kl.model("Llama-3.1-8B"), kl.chip("H100 SXM"), plain.law
    reading = kl.ttft(of, on, 2000, **law)
    del law["cached"]
    pace = kl.tpot(of, on, 2000, 501, **law)
    assert plain.waits()[0] == reading
    assert thinking.waits()[0] == pytest.approx(reading + 500 * pace)
    assert thinking.waits()[1] > thinking.waits()[0] + 199 * pace


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_at_the_break_even_both_bills_are_the_same(each):
    even = each.even()
    if math.isinf(even):
        assert each.request(each.own_price()) > each.request(each.sheet_price())
        return
    sheet, own = each.request(each.sheet_price()), each.request(each.own_price())
    assert kl.monthly(sheet, even) == pytest.approx(kl.kitchen_bill(own, even, each.rent))


def test_a_second_kitchen_that_does_not_pay_at_once_is_said():
    full, later = NARROW.full(), 2 * NARROW.even()
    assert NARROW.even() < full < NARROW.requests < later
    assert NARROW.own_bill() > NARROW.sheet_bill()
    said = f"from {math.ceil(full):,} you need a second kitchen, which pays only from "
    assert said + f"{math.ceil(later):,}" in NARROW.break_even()
    assert "second" not in Bill().break_even()


def test_what_fits_is_what_the_library_says():
    most = int(kl.max_batch(kl.model("Llama-3.1-8B"), kl.chip("H100 SXM"), 2250))
    assert FULL.largest_batch() == most
    assert FULL.obstacle() == f"256 guests do not fit, {most} would"
    assert not Bill(batch=most).obstacle()
    assert Bill(batch=most + 1).obstacle()


def test_what_is_wrong_with_a_setting_is_said_when_it_is_used():
    with pytest.raises(ValueError, match="give a share of the prompt, from 0 to below 1"):
        Bill(cached=1.0).own_price()
    with pytest.raises(UnknownName, match=r"no chip-hour is called 'H100'. Did you mean: Nebius"):
        bill(Bill(chip="H100"))
    with pytest.raises(UnknownName, match="no price sheet is called 'openai'"):
        bill(Bill(sheet="openai"))
    with pytest.raises(ValueError, match="occupancy = 2 will not do"):
        bill(Bill(occupancy=2))


# --- what there is to choose -------------------------------------------------------------------


def test_every_chip_hour_to_choose_has_a_price_and_is_a_chip_of_the_catalogue():
    for name, row in rented().items():
        assert Bill(chip=name).on.name == row.chip
        assert Bill(chip=name).paid == row.usd


def test_a_doubtful_price_is_taken_only_where_nobody_else_rents_the_chip():
    doubtful = {row.chip for row in rented().values() if billing.doubt(row)}
    others = {row.chip for row in kl.chip_hours() if not billing.doubt(row) and row.usd}
    assert doubtful
    assert not doubtful & others
    assert "(doubtful)" in APART.sources()[0]


def test_the_longest_request_is_short_enough_for_every_model():
    controls = BillExplorer().controls
    longest = sum(max(v for _, v in controls[k].options) for k in ("prompt", "reasoning", "reply"))
    assert all(longest <= (kl.model(name).max_context or 0) for name in billing.MODELS)


@pytest.mark.parametrize(
    ("sheet", "weights", "dish"),
    [
        ("cloudflare llama-3.1-8b-instruct", "bf16", "the same model"),
        ("cloudflare llama-3.1-8b-instruct", "fp8", "the same model, sold in bf16"),
        ("cloudflare llama-3.1-8b-instruct-awq", "int4-g128", "the same model"),
        ("openai gpt-5-mini", "bf16", "another model: not the same dish"),
        ("deepseek deepseek-chat (V3)", "fp8", "another model: not the same dish"),
    ],
)
def test_another_dish_is_called_another_dish(sheet, weights, dish):
    each = Bill(sheet=sheet, weights=weights)
    assert each.dish == each.facts()["dish"] == dish
    assert dish in bill(each).alt


def test_a_sister_is_the_same_work_and_another_training():
    sister = {each.model for each in sheets().values() if each.sister}
    assert sister == {"Llama-3.1-70B", "DeepSeek-V3"}
    assert NARROW.dish == "a sister model of the same shape"


# --- in words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "claim"),
    [
        (Bill(), "Your own kitchen costs 3.6 times as much as the price sheet"),
        (Bill(requests=10_000_000), "The price sheet costs 2.9 times as much as your own kitchens"),
        (APART, "The price sheet costs 14 times as much as your own kitchen"),
        (DEAR, "Your own kitchens cost 71 times as much as the price sheet"),
        (FULL, "No such kitchen: 256 guests do not fit, 206 would"),
        (Bill(model="DeepSeek-V3"), "No such kitchen: the sack and one guest's notes do not fit"),
        (LONELY, "No such kitchen: RTX A6000* is not known to share a sack: take 1 chip"),
    ],
)
def test_the_title_says_which_bill_is_larger_or_that_there_is_no_such_kitchen(each, claim):
    assert each.claim() == claim
    assert bill(each).alt.startswith(f"{claim}. ")


def test_both_prices_are_dated_and_sourced_on_the_card():
    alt = bill().alt
    for row in (Bill().chip_hour, Bill().listed.row):
        assert row.date in alt
        assert row.source in alt
    assert "Left out of your own: engineers, nights emptier than the occupancy says" in alt


def test_what_is_not_known_is_said():
    assert ON_TPU.joules() is None
    assert ON_TPU.facts()["energy"] == "no rated power in the catalogue"
    assert "charged as fresh" in Bill().facts()["cached tokens"]
    assert "cached tokens" not in Bill(cached=0).facts()
    assert "cached tokens" not in Bill(sheet="openai gpt-5-mini").facts()


def test_a_kitchen_that_cannot_be_has_neither_price_nor_wait():
    for each in (FULL, LONELY):
        assert each.facts()["your own kitchen"].startswith(f"not possible: {each.obstacle()} (")
        assert not {"your own", "break-even", "a guest waits", "energy"} & set(each.facts())


def test_every_chip_with_every_model_has_words():
    for name, of, chips, form in product(rented(), billing.MODELS, (1, 8), billing.WEIGHTS):
        each = Bill(chip=name, model=of, chips=chips, weights=form)
        said = each.claim() + " ".join(each.facts().values())
        assert ("No such kitchen" in said) == ("not possible" in said) == bool(each.obstacle())


# --- the picture -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stage() -> BillStage:
    return BillStage()


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_no_word_touches_another_or_leaves_the_card(each, stage):
    stage.show(each)
    stands_free(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_a_frame_is_the_whole_picture_whatever_was_shown_before(each, stage):
    stage.show(each)
    frame_is_whole(stage)


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_the_staircase_is_the_bill_of_whole_kitchens(each, stage):
    stage.show(each)
    ends, bills = stage._own.get_data()
    own = each.request(each.own_price())
    inside = each.full() * np.array([0.5, 0.99, 1.01, 1.5, 2.01, 20.5])
    drawn = np.asarray(bills)[np.searchsorted(ends, inside)]
    assert np.allclose(drawn, kl.kitchen_bill(own, inside, each.rent))
    assert ends[-1] > 1e7


@pytest.mark.parametrize("each", POSSIBLE.values(), ids=POSSIBLE)
def test_tinted_is_where_your_own_costs_less(each, stage):
    stage.show(each)
    own, sheet = each.request(each.own_price()), each.request(each.sheet_price())
    pieces = [path.get_extents() for path in stage._tint.get_paths()]
    for requests in each.full() * np.array([0.2, 0.7, 0.98, 1.02, 1.5, 1.9, 2.1, 5.5, 20.3]):
        tinted = any(piece.x0 < requests < piece.x1 for piece in pieces)
        cheaper = kl.kitchen_bill(own, requests, each.rent) < kl.monthly(sheet, requests)
        assert tinted == (cheaper and requests < 1e7) or requests > 1e7


def test_where_there_is_no_kitchen_only_the_sheet_is_drawn(stage):
    stage.show(Bill())
    assert stage._own.get_visible()
    stage.show(FULL)
    assert not stage._own.get_visible()
    assert not stage._even.get_visible()
    assert stage._sheet.get_visible()


# --- the explorer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("requests", 1_000_000),
        ("prompt", 100_000),
        ("cached", 0.9),
        ("reasoning", 8000),
        ("reply", 10_000),
        ("model", "gpt-oss-120b"),
        ("weights", "fp8"),
        ("chip", "Lambda H100 PCIe"),
        ("chips", 8),
        ("batch", 1024),
        ("occupancy", 1.0),
        ("efficiency", "ideal"),
        ("sheet", "anthropic Claude Haiku 4.5"),
    ],
)
def test_every_control_changes_the_picture(name, value):
    explorer = BillExplorer()
    assert set(explorer.controls) == set(Bill._fields)
    explorer.set(**{name: value})
    assert shown(explorer) == bill(Bill(**{name: value})).alt != bill().alt


def test_a_start_may_be_named_in_another_way():
    explorer = BillExplorer(chip="nebius h100 sxm", sheet="OpenAI GPT-5-mini", batch=64)
    assert explorer.values["chip"] == "Nebius H100 SXM"
    assert explorer.values["sheet"] == "openai gpt-5-mini"


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"chip": "H100"}, UnknownName, "no chip-hour is called 'H100'. Did you mean: Nebius H100"),
        ({"sheet": "gpt"}, UnknownName, "no price sheet is called 'gpt'. Did you mean: openai gpt"),
        ({"model": "llama-9"}, UnknownName, "no model is called 'llama-9'"),
        ({"model": "DBRX"}, ValueError, "model = 'DBRX' will not do: choose one of Llama-3.1-8B"),
        ({"occupancy": 0.3}, ValueError, r"occupied \(of the time\) = 0.3 will not do"),
        ({"batch": 3}, ValueError, r"guests \(batch\) = 3 will not do: choose one of 1, 2, 4"),
    ],
)
def test_a_start_that_is_not_offered_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        BillExplorer(**setting)


def test_what_is_not_offered_is_refused_later_too():
    with pytest.raises(ValueError, match="chip = 'H100' will not do: choose one of Nebius H100"):
        BillExplorer().set(chip="H100")


def test_round_numbers_go_up_to_the_most():
    assert one_two_five(100) == (1, 2, 5, 10, 20, 50, 100)
    assert one_two_five(10_000_000)[-1] == 10_000_000


def test_a_kitchen_is_as_busy_as_its_guests_keep_it_and_never_busier_than_allowed() -> None:
    for requests in (1_000, 20_000, 1_000_000):
        bill = Bill(requests=requests)
        paid = bill.kitchens() * bill.rent * 24
        asked = requests * bill.request(bill.own_price())  # dollars of a day, at the occupancy
        assert bill.busy() == pytest.approx(bill.occupancy * asked / paid)
        assert bill.busy() <= bill.occupancy
    facts = Bill().facts()["with these guests"]
    assert facts == "busy 4.6% of the time; as busy as you allow, $0.00033 a request"


def test_what_is_no_bill_is_refused() -> None:
    no_bills: list[Any] = [None, {}, "bill"]
    for wrong in no_bills:
        with pytest.raises(ValueError, match=r"bill = .* give a Bill"):
            bill(wrong)
    with pytest.raises(ValueError, match=r"requests = 0 .*requests a day"):
        bill(Bill(requests=0))
