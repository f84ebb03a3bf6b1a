"""Specialised stations: only visited experts are multiplied, and experts follow tokens."""

import numpy as np
import pytest

import kitchenlib as kl
from kitchenlib.inputs import UnknownName
from kitchenlib.layers import Experts
from kitchenlib.miniatures import pantry, specialists, stations
from kitchenlib.miniatures.specialists import KINDS, kind_of, study, told, told_by_chance
from kitchenlib.miniatures.stations import CARD, Router, Split, Stations, split
from tests.llm_models import any_smol, real_smol

SCOUT = kl.model("Llama-4-Scout-17B-16E (text)")


def rows(number: int, hidden: int = 64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((number, hidden), dtype=np.float32)


# --- the layer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("per_token", [1, 2, 4, 16])
def test_the_layer_is_the_dense_sum_with_nothing_for_experts_not_visited(per_token):
    layer, x = Stations(per_token=per_token), rows(40)
    logits = x @ layer.router.weights
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    kept = np.where(softmax >= np.sort(softmax, axis=1)[:, [-per_token]], softmax, 0)
    gates = kept / kept.sum(axis=1, keepdims=True)
    every = np.stack([layer.cook(expert, x) for expert in range(16)], axis=1)
    assert np.allclose(layer(x), np.einsum("re,reh->rh", gates, every), atol=1e-4)
    assert layer(x).dtype == np.float32


def test_experts_that_nobody_visits_are_not_read():
    layer, x = Stations(), rows(3)
    idle = np.setdiff1d(np.arange(16), layer.route(x))
    before = layer(x)
    layer._gate_up[idle] = np.nan
    assert np.array_equal(layer(x), before)
    assert np.isfinite(before).all()


def test_a_row_is_cooked_the_same_alone_and_in_company():
    layer, x = Stations(per_token=2), rows(20)
    alone = np.concatenate([layer(row[None]) for row in x])
    assert np.allclose(layer(x), alone, atol=1e-5)


def test_weights_of_a_row_are_the_softmax_over_its_experts_and_add_up_to_one():
    router = Router(np.eye(4, dtype=np.float32), np.zeros(4, np.float32))
    chosen, gates = router.route(np.log(np.array([[1, 4, 3, 2]], np.float32)), per_token=2)
    assert chosen.tolist() == [[1, 2]]
    assert gates == pytest.approx(np.array([[4 / 7, 3 / 7]]))


def test_a_bias_changes_who_is_chosen_and_not_how_much_it_weighs():
    logits = np.log(np.array([[1, 4, 3, 2]], np.float32))
    router = Router(np.eye(4, dtype=np.float32), np.array([9, 0, 0, 0], np.float32))
    chosen, gates = router.route(logits, per_token=2)
    assert chosen.tolist() == [[0, 1]]
    assert gates == pytest.approx(np.array([[1 / 5, 4 / 5]]))


@pytest.mark.parametrize(("per_token", "guests"), [(1, 1), (1, 8), (1, 32), (2, 8), (4, 4)])
def test_as_many_experts_are_touched_as_the_formula_expects(per_token, guests):
    layer, tries = Stations(per_token=per_token, width=1), 500
    found = [layer.touched(rows(guests, seed=seed)) for seed in range(tries)]
    error = np.std(found) / tries**0.5
    expected = float(kl.experts_touched(16, per_token, guests))
    assert np.mean(found) == pytest.approx(expected, abs=4 * error)


def test_bytes_are_those_of_the_matrices_of_the_experts_touched():
    layer, x = Stations(hidden=64, width=128), rows(5)
    assert layer.expert_bytes == 3 * 64 * 128 * 4
    assert layer.bytes == 16 * layer.expert_bytes
    assert layer.bytes_read(x) == layer.touched(x) * layer.expert_bytes < layer.bytes
    assert layer.touched(x[:1]) == 1


def test_the_same_seed_makes_the_same_layer():
    assert np.array_equal(Stations(seed=3)(rows(4)), Stations(seed=3)(rows(4)))
    assert not np.array_equal(Stations(seed=4)(rows(4)), Stations(seed=3)(rows(4)))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"experts": 0}, "experts = 0 will not do"),
        ({"per_token": 17}, "there are 16 experts: give at most those"),
        ({"hidden": 2.5}, "hidden = 2.5 will not do"),
        ({"hidden": 15}, "give a whole number of values, from 16"),
        ({"width": -1}, "width = -1 will not do"),
    ],
)
def test_a_size_that_cannot_be_is_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        Stations(**sizes)


@pytest.mark.parametrize("wrong", [np.ones(64), np.ones((3, 63)), np.ones((0, 64))])
def test_rows_of_another_shape_are_refused(wrong):
    with pytest.raises(ValueError, match=r"give \(rows, 64\), one row a token"):
        Stations()(wrong)


def test_in_company_the_layer_of_experts_reads_what_a_dense_one_of_its_active_size_does_not():
    """Times differ on every machine; the experts that are read, and the order of sizes, do not."""
    one, many = stations.measured(batches=(1, 32), tries=5)
    assert (one.batch, one.touched) == (1, 1)
    assert (many.batch, many.touched) == (32, 15)
    assert many.seconds > many.dense
    assert min(one.seconds, one.dense) > 0


# --- the card ----------------------------------------------------------------------------------


def test_the_card_has_one_solution_with_one_expert_a_token():
    card = split(total=500, active=40, experts=16)
    assert (card.shared, card.expert) == pytest.approx((28 / 3, 92 / 3))
    assert (card.total, card.active) == pytest.approx((500, 40))
    assert CARD.shared == pytest.approx(card.shared * 1e9)


@pytest.mark.parametrize(("per_token", "expert", "shared"), [(2, "32.86", "-25.71"), (4, "", "")])
def test_with_more_experts_a_token_the_card_has_none(per_token, expert, shared):
    with pytest.raises(ValueError, match=rf"no such kitchen: .*{expert}.*{shared}.* at most 1 a"):
        split(total=500, active=40, experts=16, per_token=per_token)


@pytest.mark.parametrize("per_token", [1, 2, 3])
def test_a_split_is_what_it_was_made_from(per_token):
    made = Split(shared=12, expert=3, experts=8, per_token=per_token)
    assert split(made.total, made.active, 8, per_token) == pytest.approx(made)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"total": 0}, "total = 0 will not do"),
        ({"active": 500}, "one token meets a part of all 500: give less"),
        ({"experts": 1}, "experts = 1 will not do"),
        ({"per_token": 16}, "there are 16 experts, and a token leaves some out"),
    ],
)
def test_numbers_of_no_kitchen_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        split(**({"total": 500, "active": 40, "experts": 16} | numbers))


def test_guests_carry_the_union_and_all_sacks_stay_in_the_warehouse():
    carried = np.asarray(CARD.carried([1, 8, 32, 64])) / 1e9
    assert carried.round(1).tolist() == [40.0, 207.2, 437.8, 492.1]
    assert CARD.total == pytest.approx(500e9)


def test_the_lead_over_a_dense_sack_is_lost_in_company_and_that_in_cuts_is_not():
    assert CARD.total / CARD.active == pytest.approx(12.5)
    assert CARD.total / CARD.carried(32) == pytest.approx(1.14, abs=0.005)
    assert CARD.carried(32) / 32e9 == pytest.approx(13.7, abs=0.05)


def test_uneven_routers_carry_less():
    guests = np.array([1, 2, 32, 1000])
    even, uneven = (np.asarray(CARD.carried(guests, skew)) for skew in (0.0, 1.0))
    assert even[0] == pytest.approx(uneven[0])
    assert (uneven[1:] < even[1:]).all()


@pytest.mark.parametrize("name", [SCOUT.name, "DBRX", "DeepSeek-V3", "gpt-oss-20b"])
def test_a_model_of_the_catalogue_is_split_by_its_shapes(name):
    model = kl.model(name)
    made = Split.of(model)
    assert made.total == pytest.approx(model.weight_bytes())
    assert made.active == pytest.approx(2 * model.active_params)
    again = split(made.total, made.active, made.experts, made.per_token)
    assert again.expert == pytest.approx(made.expert)


def test_the_closest_real_kitchens_have_16_experts():
    scout, dbrx = Split.of(SCOUT), Split.of(kl.model("DBRX"))
    assert (scout.experts, scout.per_token, dbrx.experts, dbrx.per_token) == (16, 1, 16, 4)
    assert scout.expert / 1e9 == pytest.approx(12.08, abs=0.01)
    assert scout.shared / 1e9 == pytest.approx(22.3, abs=0.05)
    assert dbrx.active / 1e9 == pytest.approx(72.9, abs=0.05)


def test_a_dense_model_has_no_experts_to_split():
    with pytest.raises(ValueError, match="Llama-2-70B has no experts"):
        Split.of(kl.model("Llama-2-70B"))


def test_a_skewed_model_differs_in_its_router_only():
    uneven = stations.skewed(SCOUT, 1.0)
    assert uneven.params == SCOUT.params
    assert {b.mlp.skew for b in uneven.blocks if isinstance(b.mlp, Experts)} == {1.0}
    one, other = (kl.decode_step(m, 512, 8).bytes for m in (SCOUT, uneven))
    assert other < one


# --- what experts know -------------------------------------------------------------------------


def test_what_is_told_is_all_where_each_expert_has_one_label_and_nothing_where_all_are_alike():
    assert told(np.diag([3, 4, 5])) == pytest.approx(1)
    assert told(np.outer([3, 4, 5], [1, 2])) == pytest.approx(0, abs=1e-12)
    assert told(np.array([[3, 4]])) == 0  # one label: there is nothing to know
    halves = np.array([[2, 0], [1, 1]])
    by_hand = 1 - (3 / 4 * (2 / 3 * np.log(3 / 2) + 1 / 3 * np.log(3))) / np.log(2)
    assert told(halves) == pytest.approx(by_hand)


def test_chance_alone_seems_to_tell_as_much_as_shuffled_labels_do():
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(50):
        table = np.zeros((9, 16), int)
        np.add.at(table, (rng.integers(9, size=1500), rng.integers(16, size=1500)), 1)
        seen.append((told(table), told_by_chance(table)))
    by_luck, by_formula = np.mean(seen, axis=0)
    assert by_luck == pytest.approx(by_formula, rel=0.1)


@pytest.mark.parametrize(
    ("token", "first", "kind"),
    [
        (" the", False, "little word"),
        (" The", False, "little word"),
        (" onion", False, "word"),
        ("Onion", True, "word"),
        ("ion", False, "word part"),
        ("the", False, "word part"),
        ("7", False, "number"),
        (" ", False, "sign"),
        (".", False, "sign"),
    ],
)
def test_a_token_is_of_a_kind(token, first, kind):
    assert kind_of(token, first) == kind
    assert kind in KINDS


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """400 rows around four directions, one of them with half the rows; and which."""
    rng = np.random.default_rng(5)
    whose = rng.choice(4, 400, p=[0.4, 0.2, 0.2, 0.2])
    near = np.eye(4, 12)[whose] + 0.1 * rng.standard_normal((400, 12))
    return specialists.directions(near.astype(np.float32)), whose


def test_rows_that_lie_close_share_an_expert():
    x, whose = blobs()
    chosen = specialists.clustered(x, experts=4).route(x)[0][:, 0]
    table = np.zeros((4, 4), int)
    np.add.at(table, (whose, chosen), 1)
    assert told(table) > 0.7


def test_all_experts_are_kept_busy():
    x = specialists.directions(rows(800, 12))
    visits = np.bincount(specialists.clustered(x, 8).route(x)[0][:, 0], minlength=8)
    assert visits.min() > 0.5 * 100
    assert visits.max() < 2 * 100


def test_a_router_needs_a_row_for_each_expert():
    with pytest.raises(ValueError, match="give at least 16 rows"):
        specialists.clustered(rows(15))


def test_directions_have_length_one_and_no_common_part():
    x = specialists.directions(rows(500) + 3)
    assert np.linalg.norm(x, axis=1) == pytest.approx(1)
    assert np.abs(x.mean(axis=0)).max() < 0.02


def test_rows_after_no_layer_are_the_embedding_and_after_all_of_them_give_the_logits():
    smol = any_smol()
    prompts = [smol.tokenize("Boil the eggs."), smol.tokenize("Salt")]
    assert np.array_equal(smol.rows_after(0, prompts), smol.rows(np.concatenate(prompts)))
    deep = smol.rows_after(smol.shape.layers, prompts)
    together = np.cumsum([len(ids) for ids in prompts]) - 1
    assert np.allclose(smol._logits(deep[together]), smol.prefill(prompts)[0], atol=1e-3)
    for layers in (-1, 31):
        with pytest.raises(ValueError, match="layers = "):
            smol.rows_after(layers, prompts)
    with pytest.raises(ValueError, match="give at least one prompt"):
        smol.rows_after(1, [])


def test_every_token_of_the_cards_is_counted_once():
    smol, cards = any_smol(), specialists.few(1)
    found = study(smol, cards, layer=0)
    counted = found.tally()
    lengths = [len(smol.tokenize(str(card))) for card in cards]
    assert [len(visits) for visits in found.visits] == lengths
    assert counted.tokens == sum(kind.sum() for kind in counted.kinds.values()) == sum(lengths)
    assert counted.visited(cards[0].course) == found.visited(0)
    assert "".join(found.tokens[0]) == str(cards[0])


def test_experts_tell_the_kind_of_a_token_and_not_the_course_of_the_card():
    """On a few cards, half way through the real model."""
    found = study(real_smol(), specialists.few(1)).tally()
    assert found.of_kind > 0.5
    assert found.of_course < 1.5 * found.by_chance
    assert found.visited("dessert") > 12


def test_what_is_stored_is_what_is_counted():
    """Before the first layer it takes half a second. Where cards changed: `count_again`."""
    stored = specialists.studied(0)
    again = study(real_smol(), pantry.cards(), layer=0).tally()
    assert again.tokens == stored.tokens
    assert again.of_kind == pytest.approx(stored.of_kind, abs=0.02)
    assert again.of_course == pytest.approx(stored.of_course, abs=0.001)
    assert again.favourites[0].keys() & stored.favourites[0].keys()


@pytest.mark.parametrize("layer", specialists.DEPTHS)
def test_the_stored_counts_belong_to_the_cards_that_are_shipped(layer):
    stored = specialists.studied(layer)
    assert set(stored.courses) == {card.course for card in pantry.cards()}
    assert set(stored.kinds) == set(KINDS)
    assert sum(stored.cards.values()) == len(pantry.cards())
    assert sum(kind.sum() for kind in stored.kinds.values()) == stored.tokens
    assert all(stored.guests[c].max() <= stored.cards[c] for c in stored.courses)
    assert stored.date
    assert len(stored.rows()) == stored.experts * (9 + 5) + sum(map(len, stored.favourites))


def test_at_every_depth_experts_follow_the_token():
    told_kind = [specialists.studied(layer).of_kind for layer in specialists.DEPTHS]
    told_course = [specialists.studied(layer).of_course for layer in specialists.DEPTHS]
    assert told_kind == sorted(told_kind, reverse=True)
    assert min(told_kind) > 0.4
    assert max(told_course) < 0.01


def test_one_dessert_card_visits_nearly_all_experts():
    assert specialists.studied().visited("dessert") > 15


def test_what_was_not_studied_is_refused():
    with pytest.raises(ValueError, match="layer = 7 will not do: studied were 0, 15, 30"):
        specialists.studied(7)
    with pytest.raises(UnknownName, match="no course is called 'brunch'"):
        specialists.studied().visited("brunch")
    with pytest.raises(ValueError, match="give at least one Recipe"):
        study(any_smol(), [])


def test_a_kitchen_with_nothing_shared_is_one_whatever_the_rounding():
    assert split(0.9, 0.3, 3).shared == pytest.approx(0, abs=1e-15)
    assert split(0.9, 0.3, 3).shared >= 0
    with pytest.raises(ValueError, match="no such kitchen"):
        split(0.9, 0.29, 3)


def test_sizes_may_be_whole_numbers_of_any_kind():
    layer = Stations(4.0, 2.0, 8.0, 5.0)  # type: ignore[arg-type]
    assert layer(np.ones((1, 8))).shape == (1, 8)
    with pytest.raises(ValueError, match="seed = -1 will not do"):
        Stations(seed=-1)
    with pytest.raises(ValueError, match="give at least one number of rows"):
        stations.measured(())
