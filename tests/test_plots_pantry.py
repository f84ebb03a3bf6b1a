"""The archive pantry: pictures and explorer say what the searches find and what the law says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

import kitchenlib as kl
from kitchenlib import retrieval
from kitchenlib.inputs import UnknownName
from kitchenlib.miniatures import pantry as archive
from kitchenlib.plots import fetching, fixing
from kitchenlib.plots.archive import PantryStage, archive_or_three, full_or_fetched
from kitchenlib.plots.fetching import (
    ARCHIVE,
    DIM,
    FRESH,
    KEPT,
    QUESTION,
    REPLY,
    TOKENS,
    WORKED,
    PantrySetting,
    factor,
)
from kitchenlib.plots.pantry import pantry_hits, recall_by_bytes, three_indexes
from kitchenlib.plots.style import Picture
from kitchenlib.widgets.pantry import PantryExplorer
from tests import test_plots as every_picture
from tests.test_plots import frame_is_whole, stands_free
from tests.test_widgets import shown

H100, SMALL = kl.chip("H100 SXM"), kl.model("Llama-3.1-8B")
BILLION = 1_000_000_000

FIGURES: dict[str, Callable[[], Picture]] = {
    "pantry-hits": pantry_hits,
    "recall-by-bytes": recall_by_bytes,
    "archive-or-three": archive_or_three,
    "full-or-fetched": full_or_fetched,
    "three-indexes": three_indexes,
}
SEVENTY = WORKED._replace(model="Llama-3.1-70B", chips=4)
LARGE = PantrySetting(10_000, 1_024, 50, FRESH, 16, "Llama-3.1-405B", "MI300X", 8)
SETTINGS = {
    "worked": WORKED,
    "kept": WORKED._replace(cached=KEPT),
    "kept by a large model": SEVENTY._replace(cached=KEPT),
    "kept by a small chip": PantrySetting(10, 512, 1, KEPT, 2, chip="RTX 5090"),
    "all fetched": WORKED._replace(documents=10, k=50),
    "all fetched and kept": WORKED._replace(documents=10, tokens=1_024, k=10, cached=KEPT),
    "alone": WORKED._replace(batch=1),
    "no price": WORKED._replace(chip="RTX 4090", batch=1, documents=10, tokens=512),
    "too long": WORKED._replace(documents=1_000_000, tokens=1_024),
    "too long for a large one": LARGE,
    "too many": WORKED._replace(documents=1_000),
    "too many to be fetched": WORKED._replace(k=50, tokens=1_024, batch=1024, documents=100),
    "no sack": WORKED._replace(model="Llama-3.1-405B"),
    "a long line": PantrySetting(
        1_000_000, 256, 3, KEPT, 1024, "Llama-3.1-405B", "A100 SXM 80GB", 8
    ),
}
#: Every function at other settings.
OTHERS: dict[str, Callable[[], Picture]] = {
    "the nearest card": lambda: pantry_hits(archive.Pantry(dim=8), k=1),
    "twenty cards": lambda: pantry_hits(archive.Pantry(dim=128), k=20),
    "one nearest of few lists": lambda: recall_by_bytes(archive.Pantry(dim=16), lists=4, k=1),
    "ten nearest of many lists": lambda: recall_by_bytes(archive.Pantry(dim=128), lists=48, k=10),
    "archive for a large model": lambda: archive_or_three(SEVENTY),
    "archive of long documents": lambda: archive_or_three(
        PantrySetting(100, 1_024, 1, batch=2),
        kl.sheet_price(provider="anthropic", model="Claude Opus 5"),
    ),
    "short archive": lambda: archive_or_three(PantrySetting(10, k=1, batch=2)),
    "short archive, many guests": lambda: archive_or_three(PantrySetting(10, k=1, batch=64)),
    "archive without a price": lambda: archive_or_three(SETTINGS["no price"]._replace(batch=2)),
    "indexes on an L40S": lambda: three_indexes(kl.chip("L40S")),
    "indexes on an RTX 3090": lambda: three_indexes(kl.chip("RTX 3090")),
}
DRAWN = {**FIGURES, **OTHERS}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    stills = {name: full_or_fetched(each) for name, each in SETTINGS.items()}
    return {name: draw() for name, draw in DRAWN.items()} | stills


@pytest.mark.parametrize("name", OTHERS)
def test_a_picture_is_legible_at_another_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pantry-hits", "Asked in the recipe's own words the card always comes, in other words 8"),
        ("pantry-hits", "are all the right cards among the 3 nearest?"),
        ("pantry-hits", "in other words: 6 of 24 by 1, 8 of 24 by 3, 10 of 24 by 10"),
        ("the nearest card", "are all the right cards the nearest?"),
        ("twenty cards", "about two cards at once: 0 of 10 by 1, 8 of 10 by 10, 10 of 10 by 20"),
        ("recall-by-bytes", "6 of 16 lists hold 90% of what a full search finds, for 47% of its"),
        ("recall-by-bytes", "share of the 3 nearest cards of the full (exact) search"),
        ("one nearest of few lists", "share of the nearest card of the full (exact) search"),
        ("archive-or-three", "kept notes spare reading (÷ 51) and, if read once, carrying (÷ 4.3)"),
        ("archive-or-three", "cached, read once 5.20 ms (× 1.06), 3 best 4.90 ms"),
        ("archive-or-three", "Most kernels read kept notes again for each guest; one that shares"),
        ("archive-or-three", "if all ask about the same archive. The own kitchen's price: read"),
        ("archive without a price", "if all ask about the same archive. No price of this chip"),
        ("short archive", "first word ÷ 2.3, tokens as before; kept notes spare reading (÷ 2.3)"),
        ("short archive, many guests", "tokens as before alone and ÷ 1.3 with 64; kept notes"),
        ("archive-or-three", "Llama-3.1-8B on 1 H100 SXM, 32 guests, one archive of 14,256 tokens"),
        ("archive-or-three", "Nebius, $2.95 a chip-hour, v8 catalogue 2025-26"),
        ("archive-or-three", "openai gpt-5-mini, as of 2026-08-05: $0.25 a million tokens, cached"),
        ("three-indexes", "a billion vectors weigh 4.10 TB flat, 4.35 TB as a graph, which reads"),
        ("three-indexes", "a million, flat: holds 4.10 GB, reads 4.10 GB, 1.22 ms"),
        ("full-or-fetched", "A prompt is read alone; notes are carried for each guest. Nebius"),
        ("kept", "archive of 14,256 tokens, notes kept"),
        ("kept", "one that shares them reads them once: 5.20 ms a token. Nebius"),
        ("kept by a small chip", "on 1 RTX 5090*, 2 guests"),
        ("kept by a small chip", "A prompt is read alone. * Not fully verified. Most kernels read"),
        ("indexes on an RTX 3090", "of one RTX 3090*, if it held them; a walk also waits at"),
        ("all fetched", "time to the first word as before, of each token as before"),
        ("too long", "No whole archive: 1,024,000,032 tokens, Llama-3.1-8B reads 131,072"),
        ("too long", "first word: whole archive does not fit, 3 best "),
        ("too many", "No whole archive: 32 guests do not fit, there is room for 7"),
        ("too many to be fetched", "No such kitchen: 1,024 guests do not fit, there is room for"),
        ("no sack", "No such kitchen: the sack does not fit 1 H100 SXM"),
        ("no price", "1,000 questions: whole archive no price to rely on"),
        ("archive of long documents", "1 of 100 cards: first word"),
    ],
)
def test_a_figure_says(name, said, pictures):
    assert said in pictures[name].alt


# --- what a search finds -----------------------------------------------------------------------


def test_the_curve_is_what_was_counted(pictures):
    index = archive.Pantry().index()
    counted = [archive.recall(index, 3, probes) for probes in range(1, 17)]
    curve, law, exact = pictures["recall-by-bytes"].axes[0].lines
    assert list(curve.get_xdata()) == [each.bytes / 1e3 for each in counted]
    assert list(curve.get_ydata()) == [100 * each.share for each in counted]
    assert list(law.get_xdata()) == [each.law / 1e3 for each in counted]
    assert exact.get_xdata()[0] == retrieval.flat_bytes(ARCHIVE, 64) / 1e3
    enough = next(each for each in counted if each.share >= 0.9)
    assert pictures["recall-by-bytes"].alt.startswith(f"{enough.probes} of 16 lists hold 9")


def test_all_lists_are_more_bytes_than_a_full_search():
    """The picture says so at its foot, of any number of lists."""
    pantry = archive.Pantry()
    for lists in (4, 16, 216):
        assert archive.recall(pantry.index(lists), 3, lists).bytes > pantry.bytes


@pytest.mark.parametrize(("name", "dim", "k"), [("pantry-hits", 64, 3), ("the nearest card", 8, 1)])
def test_the_title_counts_the_questions_whose_card_came(name, dim, k, pictures):
    pantry = archive.Pantry(dim=dim)
    came, ten = archive.hits(pantry, k), archive.hits(pantry, 10)
    own, other = came["same"], came["other"]
    always = "always comes" if own.found == own.asked else f"comes {own.found} times of {own.asked}"
    assert f"the card {always}, in other words {other.found} times of" in pictures[name].alt
    assert f"{ten['two']} by 10" in pictures[name].alt


def test_a_bar_is_the_share_of_questions_whose_cards_came(pictures):
    bars = pictures["pantry-hits"].axes[0].patches
    frames, filled = bars[::2], bars[1::2]
    shares = [f.get_width() / b.get_width() for f, b in zip(filled, frames, strict=True)]
    by_depth = [archive.hits(archive.Pantry(), n) for n in (1, 3, 10)]
    kinds = ("same", "other", "two")
    assert shares == pytest.approx([each[kind].share for kind in kinds for each in by_depth])


# --- the whole archive, or the best ------------------------------------------------------------


def test_the_worked_example_is_what_the_library_calculates():
    full, best = WORKED.full, WORKED.fetched
    assert (full.prompt, best.prompt) == (ARCHIVE * TOKENS + QUESTION, 3 * TOKENS + QUESTION)
    assert full.first == kl.ttft(SMALL, H100, full.prompt)
    assert full.notes == SMALL.kv_bytes_per_token() * full.prompt
    step = kl.decode_step(SMALL, full.prompt + REPLY // 2, 32)
    assert full.token() == step.time(H100)
    price = kl.price_per_million(SMALL, H100, 2.95, best.prompt + REPLY // 2, best.prompt, 32)
    assert best.price == pytest.approx(1000 * price.request(best.prompt, REPLY))
    assert full.room == kl.max_batch(SMALL, H100, full.prompt + REPLY)
    assert WORKED.search == retrieval.flat_search(ARCHIVE, DIM).time(H100)


def test_fetching_spares_the_prompt_and_no_weight_of_a_token():
    """The trap: words come sooner through shorter notes alone."""
    full, best = WORKED.full, WORKED.fetched
    steps = [kl.decode_step(SMALL, way.prompt + REPLY // 2, 32) for way in (full, best)]
    assert steps[0].weight_bytes == steps[1].weight_bytes
    assert steps[0].kv_bytes > 40 * steps[1].kv_bytes
    assert full.token(1) / best.token(1) < 1.15
    assert full.token(32) / best.token(32) > 4


def test_a_kept_archive_is_not_read_again_and_is_carried_as_before():
    kept, full = WORKED._replace(cached=KEPT).full, WORKED.full
    assert kept.first == kl.ttft(SMALL, H100, full.prompt, cached=ARCHIVE * TOKENS)
    assert kept.first < full.first / 40
    assert (kept.notes, kept.token()) == (full.notes, full.token())
    assert (kept.price or 0) < (full.price or 0)


def test_kept_notes_that_are_read_once_cost_hardly_more_than_three_cards():
    """One copy of the archive's rows moves in a step, and each guest's own."""
    kept = WORKED._replace(cached=KEPT).full
    own = kl.decode_step(SMALL, QUESTION + REPLY // 2, 32)
    moved = own.bytes + SMALL.kv_bytes(ARCHIVE * TOKENS)
    assert kept.token_shared() == pytest.approx(moved / H100.bandwidth, rel=1e-3)
    assert kept.token_shared() < 1.1 * WORKED.fetched.token()
    assert kept.token() > 4 * kept.token_shared()


def test_nothing_is_shared_where_nothing_is_kept_and_by_nobody():
    assert WORKED.full.token_shared() == WORKED.full.token()
    alone = WORKED._replace(cached=KEPT, batch=1).full
    assert alone.token_shared() == pytest.approx(alone.token())


def test_a_mark_is_explained_where_one_is_shown_and_only_there(pictures):
    for name, picture in pictures.items():
        marked = "*" in picture.alt.replace("* Not fully verified", "")
        assert ("* Not fully verified" in picture.alt) == marked, name


def test_kept_notes_are_held_once_for_all():
    kept = WORKED._replace(cached=KEPT).full
    one = SMALL.kv_bytes_per_token()
    held = SMALL.weight_bytes() + one * ARCHIVE * TOKENS
    assert kept.room == int((0.9 * (H100.memory_bytes or 0) - held) // (one * (QUESTION + REPLY)))


def test_a_small_archive_is_fetched_whole():
    each = WORKED._replace(documents=10, k=50)
    assert each.full.prompt == each.fetched.prompt


def test_where_a_prompt_is_too_long_there_is_no_room_for_anyone():
    for each in (SETTINGS["too long"], LARGE):
        assert each.full.room == 0
        assert each.full.obstacle().endswith("reads 131,072")
        assert not each.fetched.obstacle()


def test_the_longest_prompt_that_is_fetched_can_be_read():
    longest = max(fetching.FETCHED) * max(fetching.LENGTHS) + QUESTION + REPLY
    assert all(longest <= (kl.model(name).max_context or 0) for name in fetching.MODELS)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(1 / 55.2, "÷ 55"), (1.08, "× 1.08"), (0.5, "÷ 2.0"), (1.01, "as before"), (431.0, "× 431")],
)
def test_a_factor_says_which_way(ratio, words):
    assert factor(ratio) == words


def test_dots_are_the_law(pictures):
    marks = [line for line in pictures["three-indexes"].axes[0].lines if line.get_marker() in "so"]
    values = [float(mark.get_xdata()[0]) for mark in marks]
    lists = 131_072  # the power of two that is next to four times the root
    assert values[6:] == [
        retrieval.flat_bytes(BILLION, DIM),
        retrieval.flat_search(BILLION, DIM).bytes,
        retrieval.inverted_bytes(BILLION, DIM, lists),
        retrieval.inverted_search(BILLION, DIM, lists, 16).bytes,
        retrieval.graph_bytes(BILLION, DIM, 32),
        retrieval.graph_search(DIM, 32, 64).bytes,
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pantry_hits("cards"), "give a Pantry"),  # type: ignore[arg-type]
        (lambda: pantry_hits(k=0), "k = 0 will not do"),
        (lambda: pantry_hits(k=217), "give at most 216, as many as there are cards"),
        (lambda: recall_by_bytes("cards"), "give a Pantry"),  # type: ignore[arg-type]
        (lambda: recall_by_bytes(lists=3), "give at least 4 lists"),
        (lambda: recall_by_bytes(lists=1000), "lists = 1000 will not do"),
        (lambda: archive_or_three("8B"), "give a PantrySetting"),  # type: ignore[arg-type]
        (lambda: archive_or_three(SETTINGS["too many"]), "give a kitchen where all prompts fit"),
        (lambda: archive_or_three(SETTINGS["alone"]), "give at least 2 guests"),
        (
            lambda: archive_or_three(
                sheet=kl.sheet_price(provider="cloudflare", model="@cf/llama-3.1-8b-instruct")
            ),
            "give a row with a price for cached tokens",
        ),
        (lambda: three_indexes("H100"), "give a Chip"),  # type: ignore[arg-type]
        (lambda: full_or_fetched("H100"), "give a PantrySetting"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"documents": 0}, ValueError, "documents = 0 will not do"),
        ({"tokens": 0.5}, ValueError, "tokens = 0.5 will not do"),
        ({"k": 0}, ValueError, "k = 0 will not do"),
        ({"batch": 0}, ValueError, "batch = 0 will not do"),
        ({"cached": "maybe"}, UnknownName, "no choice of cached is called 'maybe'"),
        ({"model": "Llama-9"}, UnknownName, "no model is called 'Llama-9'"),
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'. Did you mean: H100 SXM"),
        ({"chips": 3}, ValueError, "chips = 3 will not do"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_when_it_is_used(setting, error, message):
    with pytest.raises(error, match=message):
        full_or_fetched(PantrySetting(**setting))


# --- the explorer ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stage() -> PantryStage:
    return PantryStage()


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_a_frame_is_the_whole_picture_and_legible_whatever_was_shown_before(each, stage):
    stage.show(each)
    stands_free(stage)
    frame_is_whole(stage)


@pytest.mark.parametrize("each", SETTINGS.values(), ids=SETTINGS)
def test_bars_are_as_long_as_what_they_show(each, stage):
    stage.show(each)
    bars = [bar.get_width() for bar in stage._blocks["first word"]._bars]
    ways = each.full, each.fetched
    values = [0.0 if way.obstacle() else way.first for way in ways]
    longest = max(*values, 1e-9)
    assert [wide / max(*bars, 1e-9) for wide in bars] == pytest.approx(
        [value / longest for value in values]
    )


def test_the_claim_is_true_of_every_choice():
    """None that is offered ends in an error, and what does not fit is said."""
    for documents, tokens, k, cached, name, on in product(
        (10, 1_000, 1_000_000),
        (fetching.LENGTHS[0], fetching.LENGTHS[-1]),
        (1, 50),
        fetching.CACHED,
        fetching.MODELS,
        fixing.CHIPS,
    ):
        each = PantrySetting(documents, tokens, k, cached, 32, name, on, 8)
        stuck = each.fetched.obstacle(), each.full.obstacle()
        assert each.claim().startswith("No such kitchen") == all(stuck)
        assert each.claim().startswith("No room to fetch") == (bool(stuck[0]) and not stuck[1])
        told = each.facts()
        assert ("the whole archive" in told, "what is fetched" in told) == (
            bool(stuck[1]),
            bool(stuck[0]),
        )
        assert each.claim().startswith("No whole archive") == (not stuck[0] and bool(stuck[1]))
        if not any(stuck):
            sooner = each.fetched.first < each.full.first / 1.02
            assert ("to the first word ÷" in each.claim()) == sooner
        assert all(each.facts().values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("documents", 1_000),
        ("tokens", 128),
        ("k", 10),
        ("cached", KEPT),
        ("batch", 1),
        ("model", "Llama-3.1-70B"),
        ("chip", "MI300X"),
        ("chips", 2),
    ],
)
def test_every_control_changes_the_picture(name, value):
    explorer = PantryExplorer()
    assert set(explorer.controls) == set(PantrySetting._fields)
    explorer.set(**{name: value})
    assert shown(explorer) == full_or_fetched(PantrySetting(**{name: value})).alt
    assert shown(explorer) != full_or_fetched().alt


def test_a_start_may_be_named_in_another_way():
    explorer = PantryExplorer(chip="h200", model="llama-3.1-8b", documents=ARCHIVE)
    assert explorer.values["chip"] == "H200 SXM"
    assert explorer.values["model"] == "Llama-3.1-8B"


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"chip": "H1000"}, UnknownName, "no chip is called 'H1000'. Did you mean: H100 SXM"),
        ({"documents": 7}, ValueError, "documents = 7 will not do: choose one of 10, 50, 100"),
        ({"cached": True}, ValueError, "archive cached = True will not do: choose one of no, yes"),
    ],
)
def test_a_start_that_is_not_offered_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        PantryExplorer(**setting)
