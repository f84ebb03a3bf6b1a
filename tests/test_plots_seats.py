"""Empty seats, two numbers and impossible claims: the pictures say what the law says, legibly."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

import kitchenlib as kl
from kitchenlib import serving
from kitchenlib.measured import measurement, measurements
from kitchenlib.plots import style
from kitchenlib.plots.impossible import CLAIMS, Claim, claims_and_floors, published
from kitchenlib.plots.seats import empty_seats
from kitchenlib.plots.style import Picture
from kitchenlib.plots.two_numbers import CHIPS, PAIRS, two_numbers
from tests import test_plots as every_picture

H100, LLAMA, SMALL = kl.chip("H100 SXM"), kl.model("Llama-3.1-70B"), kl.model("Llama-3.1-8B")
V6E, V5P = kl.chip("TPU v6e (Trillium)"), kl.chip("TPU v5p")
L40S, PCIE = "L40S", "A100 PCIe 80GB"
WILD = [
    Claim(2e5, "DeepSeek-V3", "B200 SXM", "fp8", 8, guests=256, together=True, context=4096),
    Claim(0.4, "Llama-2-70B", "Apple M1", guests=4),
    *[Claim(50, "Llama-3.1-70B", "RTX 6000 Ada", "Q4_K_M", origin="Theirs")] * 10,
]

#: The three, and each at other settings.
DRAWN: dict[str, Callable[[], Picture]] = {
    "seats": empty_seats,
    "a train of 560": lambda: empty_seats(SMALL, V6E, (1, 560)),
    "a full train": lambda: empty_seats(kl.model("Llama-2-70B"), kl.chip("Apple M2 Ultra"), [34]),
    "many notes": lambda: empty_seats(kl.model("Llama-2-7B"), kl.chip(L40S), (2, 64, 418), 4096),
    "two seats": lambda: empty_seats(SMALL, kl.chip("Groq LPU"), [1]),
    "numbers": two_numbers,
    "numbers of 70B": lambda: two_numbers(LLAMA, 20_000),
    "two chips": lambda: two_numbers(prompt=1000, chips=(L40S, PCIE), pairs=[(L40S, PCIE)]),
    "chips far apart": lambda: two_numbers(
        chips=("RTX 6000 Ada", "Groq LPU", "Apple M3 Pro", "Apple M2 Pro"),
        pairs=[("Apple M3 Pro", "Apple M2 Pro")],
    ),
    "claims": claims_and_floors,
    "your claim": lambda: claims_and_floors([Claim(30, "Llama-3.1-8B", "RTX 4090")]),
    "wild claims": lambda: claims_and_floors(WILD),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {name: draw() for name, draw in DRAWN.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_legible_at_any_setting(name, pictures):
    every_picture.legible(name, pictures)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("seats", "One guest pays for a train of 295 seats. Llama-3.1-70B, one H100 SXM, 16 bit."),
        ("seats", "A full train takes 41.5 ms, notes not counted."),
        ("seats", "One guest, 294 seats empty: chef busy 0.34%, a trip takes 41.5 ms"),
        ("seats", "of each dollar 99.7 cents pay for waiting"),
        ("seats", "32 guests, 263 seats empty: chef busy 10.8%, a trip takes 41.5 ms"),
        ("seats", "(with 2,048 tokens of notes each: 9.7%, 47.9 ms, 90.3 cents)"),
        ("a full train", "34 guests pay for a train of 34 seats. Llama-2-70B, one Apple M2 Ultra*"),
        ("a full train", "34 guests, every seat taken: chef busy 100.0%"),
        ("two seats", "One guest, 1 seat empty"),
        (
            "numbers",
            "No single number orders these chips: TPU v6e reads × 2.0, TPU v5p writes × 1.7.",
        ),
        ("numbers", "In 27 of 171 pairs of chips the faster reader writes slower."),
        ("numbers", "H100 SXM 61.0 ms, 216 tokens a second;"),
        ("numbers", "TPU v5e 306 ms, 52.7 tokens a second (if it had the memory)"),
        ("numbers", "TPU v6e against TPU v5p: reads × 2.0, writes × 0.59"),
        ("numbers", "L40S against A100 SXM 80GB: reads × 1.2, writes × 0.42"),
        ("numbers", "H100 PCIe* against A100 SXM 80GB: reads × 2.4, writes × 0.98"),
        ("numbers", "DGX Spark* against Apple M2 Ultra*: reads × 4.6, writes × 0.34"),
        ("two chips", "In 1 of 1 pairs of chips"),
        (
            "claims",
            "Divide bandwidth by bytes: 110 tokens a second for one guest is 4.6 times what one "
            "H100 SXM can carry.",
        ),
        ("claims", "110 claimed, roof 24.1, 4.6 × the roof, impossible, does not fit"),
        ("claims", "int4-g128, one H100 SXM, one guest, 110 claimed, roof 88.9, 1.2 × the roof"),
        ("claims", "int4-g128, 2 H100 SXM, one guest, 110 claimed, roof 178, 62% of the roof;"),
        ("claims", "bf16, 8 H100 SXM, one guest, 110 claimed, roof 193, 57% of the roof;"),
        ("claims", "2 H100 SXM, 32 guests together, 110 claimed, roof 1,540, 7.1% of the roof."),
        ("claims", "Llama-2-7B, bf16, one A100 SXM 80GB, one guest, 104.9 claimed, roof 154, 68%"),
        ("claims", "Llama-3-8B, F16, one Apple M2 Ultra*, one guest, 36.25 claimed, roof 53.3"),
        ("your claim", "30 tokens a second for one guest is 45% of what one RTX 4090 can carry"),
        ("wild claims", "200,000 tokens a second for 256 guests together is 15 times what 8 B200"),
        ("wild claims", "one Apple M1*, each of 4 guests, 0.4 claimed"),
    ],
)
def test_a_picture_says(name, claim, pictures):
    assert claim in pictures[name].alt


# --- the train ---------------------------------------------------------------------------------


def passengers(picture: Picture) -> list[int]:
    """Guests drawn on each train."""
    found = [c for c in picture.axes[0].collections if isinstance(c, PathCollection)]
    return [len(np.asarray(c.get_offsets())) for c in found]


def free_seats(picture: Picture) -> list[int]:
    """Strokes drawn for the empty seats of each train: all of a train's in one path."""
    strokes = [
        patch.get_path()
        for patch in picture.axes[0].patches
        if isinstance(patch, PathPatch) and tuple(patch.get_facecolor()) == (0, 0, 0, 0)
    ]
    return [int(np.sum(np.asarray(path.codes) == Path.MOVETO)) for path in strokes]


@pytest.mark.parametrize(
    ("name", "guests", "seats"),
    [("seats", [1, 8, 32, 128], 295), ("a train of 560", [1, 560], 560), ("two seats", [1], 2)],
)
def test_there_is_a_seat_for_every_cut_per_crumb_of_the_ridge(name, guests, seats, pictures):
    assert passengers(pictures[name]) == guests
    assert free_seats(pictures[name]) == [seats - number for number in guests]


def test_a_full_train_takes_as_long_as_an_empty_one_and_one_twice_as_long_does_not():
    empty, full, twice = (float(kl.decode_step(LLAMA, 0, n).time(H100)) for n in (1, 295, 590))
    assert full == pytest.approx(empty, rel=0.001)
    assert twice == pytest.approx(2 * empty, rel=0.002)


def test_waiting_costs_what_the_chef_does_not_work(pictures):
    for notes in (0, 2048):
        for guests in (1, 8, 32, 128):
            waiting = 1 - float(kl.decode_step(LLAMA, notes, guests).utilization(H100))
            assert f" {100 * waiting:.1f} cents" in pictures["seats"].alt


def test_a_train_that_cannot_be_drawn_is_refused():
    for guests in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match=f"{len(guests)} trains will not do: give guests for"):
            empty_seats(guests=guests)
    with pytest.raises(ValueError, match="the train has 295 seats, give no more guests"):
        empty_seats(guests=[296])
    with pytest.raises(ValueError, match="guests = 0 will not do"):
        empty_seats(guests=[0])
    with pytest.raises(ValueError, match="notes = -1 will not do"):
        empty_seats(notes=-1)
    with pytest.raises(ValueError, match=r"Mixtral-8x7B-v0\.1 has experts, and each guest touches"):
        empty_seats(kl.model("Mixtral-8x7B-v0.1"))
    with pytest.raises(ValueError, match=r"the ridge of fast chef is 2.95e\+03 FLOP per byte"):
        empty_seats(
            chip=replace(H100, name="fast chef", peaks={"bf16": 10 * H100.peak()}), guests=[1]
        )


# --- two numbers -------------------------------------------------------------------------------


def marks(picture: Picture, axes: int) -> list[Line2D]:
    """Single marks on the data, not those of a key."""
    ax = picture.axes[axes]
    return [
        line
        for line in ax.lines
        if line.get_marker() not in ("None", None) and line.get_transform() == ax.transData
    ]


def at(line: Line2D) -> tuple[float, float]:
    x, y = (np.asarray(values).item() for values in (line.get_xdata(), line.get_ydata()))
    return x, y


def test_a_chip_stands_where_the_law_has_it(pictures):
    drawn = [at(line) for line in marks(pictures["numbers"], 0)]
    assert len(drawn) == len(CHIPS)
    for name, (first, speed) in zip(CHIPS, drawn, strict=True):
        assert first == serving.ttft(SMALL, kl.chip(name), 4000)
        assert speed == 1 / kl.decode_step(SMALL, 4000).time(kl.chip(name))


def test_hollow_chips_are_those_the_model_does_not_fit(pictures):
    for name, model, prompt in (("numbers", SMALL, 4000), ("numbers of 70B", LLAMA, 20_000)):
        hollow = [line.get_markerfacecolor() == style.PAPER for line in marks(pictures[name], 0)]
        assert hollow == [not serving.fits(model, kl.chip(chip), prompt) for chip in CHIPS]


def test_chips_of_one_ridge_stand_on_one_line(pictures):
    ax = pictures["numbers"].axes[0]
    lines = [line for line in ax.lines if np.array_equal(line.get_xdata(), ax.get_xlim())]
    for ridge, line in zip((35, 150, 500), lines, strict=True):
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        for bandwidth in (3e11, 4e12):
            on = kl.Chip("of this ridge", bandwidth, {"bf16": ridge * bandwidth})
            product = serving.ttft(SMALL, on, 4000) / kl.decode_step(SMALL, 4000).time(on)
            assert x * y == pytest.approx(product)


def test_so_many_pairs_have_two_winners(pictures):
    chips = [kl.chip(name) for name in CHIPS]
    first = [serving.ttft(SMALL, chip, 4000) for chip in chips]
    each = [kl.decode_step(SMALL, 4000).time(chip) for chip in chips]
    crossed = sum(
        first[i] < first[j] and each[i] > each[j]
        for i in range(len(chips))
        for j in range(len(chips))
    )
    assert f"In {crossed} of {len(chips) * (len(chips) - 1) // 2} pairs" in pictures["numbers"].alt


def test_the_pairs_read_and_write_as_their_data_sheets_say():
    """Nearly: the LM head and the notes of a prompt are carried too."""
    for one, other in ((kl.chip(a), kl.chip(b)) for a, b in PAIRS):
        read = serving.ttft(SMALL, other, 4000) / serving.ttft(SMALL, one, 4000)
        assert read == pytest.approx(one.peak() / other.peak(), rel=0.04)
        each = kl.decode_step(SMALL, 4000)
        assert each.time(other) / each.time(one) == pytest.approx(one.bandwidth / other.bandwidth)


def test_pairs_without_two_winners_are_refused():
    with pytest.raises(ValueError, match="the first chip reads faster and the second writes"):
        two_numbers(pairs=[("TPU v5p", "TPU v6e")])
    with pytest.raises(ValueError, match="the first chip reads faster and the second writes"):
        two_numbers(pairs=[("B200 SXM", "A100 SXM 80GB")])
    with pytest.raises(ValueError, match="give pairs of two chips that are among chips"):
        two_numbers(pairs=[("L4", "A100 SXM 80GB")])
    with pytest.raises(ValueError, match="0 pairs will not do: give 1 to 5"):
        two_numbers(pairs=[])
    with pytest.raises(ValueError, match="give the catalogue names of two chips or more"):
        two_numbers(chips=["L40S"], pairs=[])
    with pytest.raises(kl.UnknownName, match="no chip is called 'H1000'"):
        two_numbers(chips=["H1000", "L40S"])
    with pytest.raises(ValueError, match="prompt = 0 will not do"):
        two_numbers(prompt=0)


# --- claims ------------------------------------------------------------------------------------


def test_the_roof_is_bandwidth_over_bytes():
    alone = Claim(110, "Llama-3.1-70B", "H100 SXM")
    assert alone.roof == pytest.approx(H100.bandwidth / float(kl.decode_step(LLAMA, 0).bytes))
    assert alone.share == 110 / alone.roof
    together = alone._replace(guests=32, together=True)
    each = alone._replace(guests=32)
    assert together.roof == 32 * each.roof


def test_the_invented_claim_is_impossible_and_the_measured_ones_are_not():
    assert [each.share > 1 for each in CLAIMS] == [True, True, *[False] * 7]
    assert [each.fits for each in CLAIMS] == [False, *[True] * 8]
    assert {each.speed for each in CLAIMS[:5]} == {110}


def test_only_what_is_measured_names_a_source(pictures):
    assert [bool(each.source) for each in CLAIMS] == [False] * 5 + [True] * 4
    said = " ".join(text.get_text() for text in every_picture.words(pictures["claims"]))
    assert "pytorch-labs/gpt-fast@32971d3; XiongjieDai/GPU-Benchmarks-on-LLM-Inference@" in said
    assert "made up for you" in said


def test_of_all_measured_rows_only_speculation_passes_the_roof():
    """The picture says so at its foot."""
    rows = [r for r in measurements() if r.metric.startswith("decode_tok_s") and r.chip]
    claims = {r.id: published(r) for r in rows if r.weights}
    over = {measurement(id=name).engine for name, each in claims.items() if each.share > 1}
    assert over == {
        "SGLang + EAGLE-2",
        "SGLang + EAGLE-3",
        "gpt-fast speculative (draft Llama-2-7B int4)",
    }
    assert len(claims) > 150


def test_claims_stand_at_their_speed_and_bars_end_at_the_roof(pictures):
    bars = [bar.patches[0] for bar in pictures["claims"].axes[1].containers]
    for each, mark, bar in zip(CLAIMS, marks(pictures["claims"], 1), bars, strict=True):
        assert np.asarray(mark.get_xdata()).item() == each.speed
        assert bar.get_x() + bar.get_width() == pytest.approx(each.roof)
        assert mark.get_marker() == ("X" if each.share > 1 else "o")


def test_a_row_becomes_a_claim_under_its_published_name():
    row = measurement(id="M0819")
    each = published(row)
    assert (each.speed, each.chips, each.context) == (90.77, 8, 5)
    assert each.said == "Llama-2-70B, int4-g32"
    assert published(measurement(id="M0072")).said == "Llama-3-8B, F16"
    total = published(measurement(id="M0841"))
    assert (total.guests, total.together) == (8, True)


def test_what_is_no_claim_of_tokens_written_is_refused():
    foreign = next(r for r in measurements() if r.metric.startswith("decode") and not r.weights)
    with pytest.raises(ValueError, match=r"the library has no format .*, so \w+ has no roof"):
        published(foreign)
    with pytest.raises(ValueError, match="M0006 is a prefill_tok_s on NVIDIA RTX 3070 8GB: give"):
        published(measurement(id="M0006"))
    with pytest.raises(ValueError, match="row = 'M0797' will not do: give a Measurement"):
        published("M0797")  # type: ignore[arg-type]


def test_claims_that_cannot_be_judged_are_refused():
    fine = Claim(110, "Llama-3.1-70B", "H100 SXM")
    for claims in ([], [fine] * 13):
        with pytest.raises(ValueError, match=f"{len(claims)} claims will not do: give 1 to 12"):
            claims_and_floors(claims)
    wrong: list[tuple[dict, str]] = [
        ({"speed": 0}, "speed = 0 will not do: give a number of tokens per second"),
        ({"speed": float("nan")}, "speed = nan will not do"),
        ({"guests": 0}, "guests = 0 will not do"),
        ({"guests": [1, 2]}, "guests = .* will not do: give one whole number of guests"),
        ({"chips": 2.5}, "chips = 2.5 will not do"),
        ({"chips": 3}, "must divide over the chips"),
        ({"context": -1}, "context = -1 will not do"),
        ({"together": 1}, "give True .all guests. or False .each."),
        ({"chip": "RTX 4090", "chips": 2, "model": "no such"}, "no model is called"),
        ({"chip": "H1000"}, "no chip is called"),
        ({"weights": "int3"}, "no number format is called"),
    ]
    for change, message in wrong:
        with pytest.raises((ValueError, kl.UnknownName), match=message):
            claims_and_floors([fine._replace(**change)])
    with pytest.raises(ValueError, match=r"claims = \(110, 'Llama-3\.1-70B'"):
        claims_and_floors([tuple(fine)])  # type: ignore[list-item]


def test_a_name_is_neither_a_model_nor_a_chip():
    with pytest.raises(ValueError, match="give a Model"):
        empty_seats(model="Llama-2-70B")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give a Chip"):
        empty_seats(chip="H100 SXM")  # type: ignore[arg-type]
