"""Numbers never drift: the prose of every notebook and of the README, computed again."""

import shutil
from pathlib import Path

import pytest

from tools import claims, sources
from tools.claims import Claim, plain, quantities
from tools.sources import Cell

ROOT = Path(__file__).parents[1]
SOURCES = sources.sources(ROOT / "notebooks")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_number_of_the_prose_is_claimed_and_right(source):
    assert not (found := claims.source_faults(source)), "\n" + "\n".join(found)


def test_every_number_of_the_readme_is_claimed_and_right():
    page = Cell(1, "markdown", (ROOT / "README.md").read_text(encoding="utf-8"))
    rows = claims.read_claims(ROOT / "tests" / "README.claims.csv")
    assert not (found := claims.faults([page], rows)), "\n" + "\n".join(found)


# --- the checker sees what is planted ------------------------------------------------------------

SOUND = """\
# %% [markdown]
# # The sack
# It weighs **138 GB**, and the ridge is 295 FLOP/byte.
"""
CLAIMS = """text,expression
weighs **138 GB**,"llama.weight_bytes(""bf16"") / GB"
295 FLOP/byte,h100.ridge()
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source whose numbers are right and claimed."""
    path = tmp_path / "01_sack.py"
    path.write_text(SOUND, encoding="utf-8")
    claims.claims_file(path).write_text(CLAIMS, encoding="utf-8")
    return path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_sound_source_has_no_faults(source):
    assert claims.source_faults(source) == []


def test_a_wrong_number_is_caught(source):
    change(source, "138 GB", "139 GB")
    change(claims.claims_file(source), "138 GB", "139 GB")
    (fault,) = claims.source_faults(source)
    assert fault.startswith("01_sack.claims.csv, line 2: 'weighs **139 GB**' is wrong: ")
    assert fault.endswith("is 137.953, not 139")


def test_an_unclaimed_number_is_caught(source):
    change(source, "FLOP/byte", "FLOP/byte, 3.35 TB/s")
    (fault,) = claims.source_faults(source)
    assert "cell 1 ('# The sack'): no claim for '3.35 TB'" in fault


def test_a_claim_about_text_that_is_gone_is_caught(source):
    change(source, ", and the ridge is 295 FLOP/byte", "")
    (fault,) = claims.source_faults(source)
    assert fault == ("01_sack.claims.csv, line 3: '295 FLOP/byte' is not in the text any more")


def test_faults_planted_in_a_copy_of_a_real_notebook_are_caught(tmp_path):
    original = next(path for path in SOURCES if claims.read_claims(claims.claims_file(path)))
    source = Path(shutil.copy(original, tmp_path))
    shutil.copy(claims.claims_file(original), tmp_path)
    with source.open("a", encoding="utf-8") as file:
        file.write("\n# %% [markdown]\n# It takes 7.77 ms.\n")
    with claims.claims_file(source).open("a", encoding="utf-8") as file:
        file.write("7.77 ms,8\n7.78 ms,7.78\n")
    wrong, stale = claims.source_faults(source)
    assert "'7.77 ms' is wrong: 8 is 8, not 7.77" in wrong
    assert "'7.78 ms' is not in the text any more" in stale


def test_every_kind_of_broken_claim_says_what_is_wrong():
    page = [Cell(1, "markdown", "It takes 5 ms, 1 to 8 tokens, under 1%, and a while.")]

    def fault(text: str, expression: str) -> str:
        return claims.faults(page, [Claim("row", text, expression)])[0]

    assert "there is no number in 'a while'" in fault("a while", "5")
    assert "UnknownName: no chip is called" in fault("5 ms", "kl.chip('H1000 SXM').ridge()")
    assert "has 2 numbers, but 1 computes 1" in fault("1 to 8 tokens", "1")
    assert "is compared with nothing" in fault("under 1%", "0.3 < 1")
    assert "does not hold" in fault("under 1%", "1.2 < printed")
    assert "is nan, not 5" in fault("5 ms", "np.nan")


def test_one_claim_can_hold_a_range_or_a_bound():
    page = [Cell(1, "markdown", "From 1 to 8 tokens, under 1%.")]
    rows = [
        Claim("", "1 to 8 tokens", "1, llama.blocks[0].attention.kv_heads"),
        Claim("", "under 1%", "100 / h100.ridge() < printed"),
    ]
    assert claims.faults(page, rows) == []


def test_a_claim_does_not_reach_into_a_longer_number():
    page = [Cell(1, "markdown", "It weighs 140 GB.")]
    assert len(claims.faults(page, [Claim("", "40 GB", "40")])) == 2


@pytest.mark.parametrize(
    ("printed", "least", "most"),
    [
        ("137.95 GB", 137.945, 137.955),
        ("138 GB", 137.5, 138.5),
        ("140 GB", 135, 145),
        ("20,000 tokens", 19_500, 20_500),
        ("4,096 tokens", 4095.5, 4096.5),
        ("10 ms", 9.5, 10.5),
        ("989 trillion cuts", 988.5e12, 989.5e12),
        ("70-billion-parameter", 69.5e9, 70.5e9),
        ("4k of notes", 3_500, 4_500),
        ("3.35 × 10¹² bytes", 3.345e12, 3.355e12),
        ("−25.7 GB", -25.75, -25.65),
    ],
)
def test_a_printed_number_stands_for_what_rounds_to_it(printed, least, most):
    (quantity,) = quantities(plain(printed))
    assert quantity.value - quantity.tolerance == pytest.approx(least)
    assert quantity.value + quantity.tolerance == pytest.approx(most)


@pytest.mark.parametrize(
    "text",
    """140 GB|128.5 GiB|3 kB|2 FLOP|989 TFLOP/s|295 FLOP/byte|1 byte|16-bit|4 bits|20,000-token
    32 guests|7 words|80 layers|8 KV heads|7 matrices|57 chips|31 models|2 rows|70 billion
    5 s|40.8 ms|30 µs|30 minutes|12 hours|87.5%|0.3 %|4 percent|4x|4×|32-fold|4 times|700 W
    $2.95|5 kg|3 grams|140,000 tonnes|5&nbsp;ms|$7\\,\\text{GB}$|**5** ms|5 [tokens][token]
    8 equal layers|1e9 bytes|10^9 bytes""".replace("\n    ", "|").split("|"),
)
def test_a_number_with_a_unit_is_seen(text):
    assert len(quantities(plain(f"It is {text}, they say."))) == 1


@pytest.mark.parametrize(
    "text",
    """Llama-2-70B|the 70B model|H100 SXM|INT4|FP8|Q4_K_M|v5e|Qwen2.5-7B|GPT-2 tokens|1990s|2026
    notebook 01|64 x 80|8192 × 28672|`5 GB`|[here](5%20GB.ipynb)|989/3.35""".replace(
        "\n    ", "|"
    ).split("|"),
)
def test_names_code_and_bare_numbers_are_no_quantities(text):
    assert quantities(plain(f"It is {text}, they say.")) == []


def test_a_number_in_a_table_is_seen():
    assert len(quantities(plain("| a | b |\n|---|---|\n| 5 GB | `6 GB` |"))) == 1
