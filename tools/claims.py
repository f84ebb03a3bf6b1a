"""Numbers never drift: every number with a unit in the prose is computed again.

Beside ``01_ratio.py`` lies ``01_ratio.claims.csv``, with two columns:

text
    A phrase as the Markdown has it, with a number and its unit: ``weighs 138 GB``.
expression
    Python that computes the number in the printed unit: ``llama.weight_bytes("bf16") / GB``.

    - A scale word is part of the number: ``989 trillion cuts/s`` is ``h100.peak("bf16")``.
    - A phrase with two numbers (``1.1-1.2x``, ``1 to 128 tokens``) has two expressions, with a
      comma between them.
    - A bound (``under 1%``) is a comparison with `printed`: ``100 / h100.ridge() < printed``.

An expression may use `kl` (kitchenlib), `units` and its constants (GB, TB, MS ...), `np`, the
worked example's `h100` and `llama`, `module("kitchenlib.miniatures.pantry")` for what is not behind
the front door, and `printed`, the number in the phrase.

A computed number has to round to the printed one at the printed precision. Zeros at the end of an
integer may stand for rounding, but two digits always count: 140 stands for 135 to 145, 20,000 for
19,500 to 20,500. Code, link targets and names (Llama-2-70B, H100, INT4) hold no such numbers.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kitchenlib as kl
from kitchenlib import units
from tools.markdown import prose
from tools.sources import Cell, read

# What makes a number a number with a unit: regular expressions for whole words, an s may follow.
# A unit that is missing here is added here. LETTERS count only behind a space: 70B names a model.
LETTERS = "B s g h d W J".split()
WORDS = r"""
    [kKMGTPE]i?B [kMGTPEZ]?FLOP [kMGTPEZ]?OP byte bit [kmMGT]bit
    kg mg gram kilogram tonne ton crumb sack notepad
    ms us µs μs ns sec second min minute hour day week month year
    Hz kHz MHz GHz kW MW watt kJ Wh kWh
    % percent
    cut operation op multiply-add multiplication addition
    token word character letter page request order guest customer user people person
    prompt reply answer parameter weight layer head block matrix matrices product
    row column value number element chip GPU model format step trip expert
    question exercise notebook fold time dollar cent euro
""".split()
# Words that may stand between a number and what it counts: 8 KV heads.
BETWEEN = r"""
    KV query attention prompt context reply input output new more different distinct equal dense
    transformer model matrix real such whole extra other
""".split()
SCALES = {"k": 3, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15}

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
_BARE = re.compile(rf"(?<![\w.,])(?P<number>{_NUMBER})(?![\w%])")
_QUANTITY = re.compile(
    rf"""
    (?<!\w) (?<!\d[.,])                                          # from its first digit on
    (?: (?P<low>{_NUMBER}) (?:\s?[-–]\s?|\ to\ )(?:about\ |~)? )?
    (?P<minus>(?<![^\s(])[-−])?
    (?P<currency>[$€£])?
    (?P<number>{_NUMBER})
    (?: [ -]? (?P<scale>{"|".join(SCALES)}) (?!\w) )?
    (?P<unit>
        [x×](?!\w)
      | [ ](?:{"|".join(LETTERS)})(?!\w)
      | [ -]?(?:(?:{"|".join(BETWEEN)})[ -]){{0,2}}(?:{"|".join(WORDS)})s?(?!\w)
    )?
    """,
    re.VERBOSE,
)
_NAME_BEFORE = re.compile(r"[A-Za-z][^\s(]*[-_]$")  # as in Llama-2-, before 70B
_POWER_OF_TEN = re.compile(r"(?:(?<=\d)\s?[×x·]\s?|\b)10(?:\^\{?([-+−]?\d+)\}?|([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))")
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


class Claim(NamedTuple):
    """One row of a claims file; `where` says which."""

    where: str
    text: str
    expression: str


class Quantity(NamedTuple):
    """A printed number: its value, the half of its last digit that counts, its place."""

    value: float
    tolerance: float
    start: int
    end: int


def faults(cells: Iterable[Cell], claims: Sequence[Claim]) -> list[str]:
    """Numbers that no claim covers, claims that are wrong, claims about text that is gone."""
    phrases = [plain(claim.text) for claim in claims]
    texts = {cell: plain(cell.text) for cell in cells if cell.type == "markdown"}
    found: list[str | None] = [_wrong(claim, list(texts.values())) for claim in claims]
    for cell, text in texts.items():
        claimed = [place for phrase in phrases for place in _places(phrase, text)]
        found += [
            f"{cell}: no claim for {_shown(text, quantity)}"
            for quantity in quantities(text)
            if not any(a <= quantity.start and quantity.end <= b for a, b in claimed)
        ]
    return list(dict.fromkeys(fault for fault in found if fault))


def claims_file(source: Path) -> Path:
    """Where the claims of a source are."""
    return source.with_suffix(".claims.csv")


def read_claims(path: Path) -> list[Claim]:
    """The rows of a claims file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, strict=True)
        if rows.fieldnames != ["text", "expression"]:
            raise ValueError(f"{path.name}: the first line must be text,expression")
        return [
            Claim(f"{path.name}, line {rows.line_num}", row["text"] or "", row["expression"] or "")
            for row in rows
        ]


def source_faults(source: Path) -> list[str]:
    """The faults of one source of a notebook."""
    return faults(read(source), read_claims(claims_file(source)))


def plain(text: str) -> str:
    """The prose of some Markdown, powers of ten as e-notation."""
    return _POWER_OF_TEN.sub(_e_notation, prose(text))


def _e_notation(power: re.Match[str]) -> str:
    exponent = (power[1] or power[2]).translate(_RAISED)
    return ("1" if power[0].startswith("10") else "") + f"e{exponent}"


def quantities(text: str) -> list[Quantity]:
    """Every number with a unit, a currency or a scale word in plain prose."""
    found: list[Quantity] = []
    for match in _QUANTITY.finditer(text):
        unit = match["unit"] or match["currency"] or match["scale"]
        if unit and not _NAME_BEFORE.search(text[: match.start()]):
            found += _numbers(match)
    return found


def _numbers(match: re.Match[str]) -> Iterator[Quantity]:
    power = SCALES.get(match["scale"] or "", 0)
    if match["low"]:
        yield _quantity(match, "low", power)
    yield _quantity(match, "number", power, sign=-1 if match["minus"] else 1)


def _quantity(match: re.Match[str], group: str, power: int = 0, sign: int = 1) -> Quantity:
    number = Decimal(match[group].replace(",", ""))
    scale = 10.0**power
    half = 0.5 * 10.0 ** _last_digit(number)
    return Quantity(sign * float(number) * scale, half * scale, match.start(), match.end())


def _last_digit(number: Decimal) -> int:
    """The power of ten of the last digit that counts."""
    digits, exponent = number.as_tuple().digits, int(number.as_tuple().exponent)
    if exponent < 0:
        return exponent
    zeros = exponent + len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return max(0, min(zeros, exponent + len(digits) - 2))


def _wrong(claim: Claim, texts: list[str]) -> str | None:
    phrase = plain(claim.text)
    printed = quantities(phrase) or [_quantity(m, "number") for m in _BARE.finditer(phrase)]
    if not printed:
        return f"{claim.where}: there is no number in {claim.text!r}"
    if not any(_places(phrase, text) for text in texts):
        return f"{claim.where}: {claim.text!r} is not in the text any more"
    try:
        problem = _compared(claim.expression, printed)
    except Exception as error:  # an expression may raise whatever it likes
        problem = f"{type(error).__name__}: {error}"
    return problem and f"{claim.where}: {claim.text!r} {problem}"


def _compared(expression: str, printed: list[Quantity]) -> str | None:
    """What is wrong with the printed numbers, if anything."""
    values = [quantity.value for quantity in printed]
    names = {**_names(), "printed": values[0] if len(values) == 1 else values}
    computed = eval(expression, names)  # the expressions are code of this project
    if isinstance(computed, bool | np.bool_):
        if "printed" not in expression:
            return f"is compared with nothing: {expression} has to use `printed`"
        return None if computed else f"does not hold: {expression}"
    results = computed if isinstance(computed, tuple) else (computed,)
    if len(results) != len(printed):
        return f"has {len(printed)} numbers, but {expression} computes {len(results)}"
    for result, quantity in zip(results, printed, strict=True):
        if not abs(float(result) - quantity.value) <= quantity.tolerance * (1 + 1e-9):
            return f"is wrong: {expression} is {float(result):,.6g}, not {quantity.value:,.6g}"
    return None


def _names() -> dict[str, Any]:
    constants = {name: value for name, value in vars(units).items() if name[0].isupper()}
    example = {"h100": kl.chip("H100 SXM"), "llama": kl.model("Llama-2-70B")}
    return {**constants, **example, "kl": kl, "units": units, "np": np, "module": import_module}


def _places(phrase: str, text: str) -> list[tuple[int, int]]:
    """Where `phrase` stands in `text`, whole words and whole numbers only."""
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(phrase)}(?![\w%])(?![.,]\d)"
    return [match.span() for match in re.finditer(pattern, text)]


def _shown(text: str, quantity: Quantity) -> str:
    around = text[max(0, quantity.start - 30) : quantity.end + 20].replace("\n", " ")
    return f"{text[quantity.start : quantity.end]!r} (... {around} ...)"
