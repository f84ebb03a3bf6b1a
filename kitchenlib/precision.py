"""Number formats: how many bits a weight really takes, and which peak it multiplies at.

A four-bit weight is never four bits: groups of weights share a scale (and sometimes a zero
point), and those cost bits too. `Format.bits` counts them. Which tensors a format leaves in
16 bit is part of the format as people use it: see `Format.keeps`. Where the library asks for a
format it takes a name or a `Format`, so that one made with `grouped` serves as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kitchenlib.inputs import UnknownName, dimension, find, unknown_name, wrong
from kitchenlib.units import BITS_PER_BYTE

#: The groups of tensors a model consists of. A format may leave some of them in 16 bit.
TENSORS = (
    "embedding",
    "lm_head",
    "norms",
    "router",
    "projections",
    "feed_forward",
    "experts",
    "expert_biases",
)

_NORMS = frozenset({"norms", "router", "expert_biases"})
_ENDS = _NORMS | {"embedding", "lm_head"}
_ALL_BUT_EXPERTS = _ENDS | {"projections", "feed_forward"}


@dataclass(frozen=True)
class Format:
    """A number format for weights or for the KV cache.

    Attributes:
        name: as callers write it, for example "int4-g128".
        bits: bits per value **with** scales and zero points.
        rates: the peaks it multiplies at, best first; the first one that a chip has is used.
            Weight-only formats are unpacked and multiplied in 16 bit.
        keeps: groups of tensors (see `TENSORS`) that stay in 16 bit.
        source: where the bits come from.
    """

    name: str
    bits: float
    rates: tuple[str, ...]
    keeps: frozenset[str]
    source: str

    @property
    def bytes(self) -> float:
        """Bytes per value, scales included."""
        return self.bits / BITS_PER_BYTE

    def bytes_of(self, tensor: str) -> float:
        """Bytes per weight of one group of tensors: 2 where the format leaves it in 16 bit."""
        return 2.0 if tensor in self.keeps else self.bytes


AnyFormat = str | Format
"""The name of a number format of the library, or a format of one's own."""


def _grouped(value_bits: float, group: int, scale_bits: float, zero_bits: float = 0) -> float:
    """Bits per weight when each `group` of weights shares one scale and one zero point."""
    return value_bits + (scale_bits + zero_bits) / group


_16BIT = ("bf16",)
_ALL = frozenset[str]()

_FORMATS = {
    f.name: f
    for f in (
        # FP32 at the 16-bit peak where a chip lists no FP32 peak: still a floor on the time.
        Format("fp32", 32, ("fp32", "bf16"), _ALL, "IEEE 754"),
        Format("bf16", 16, _16BIT, _ALL, "bfloat16"),
        Format("fp16", 16, _16BIT, _ALL, "IEEE 754; same peak as bf16 on every chip listed"),
        Format("fp8", 8, ("fp8", "bf16"), _ENDS, "E4M3/E5M2, one scale per tensor"),
        Format("int8", 8, _16BIT, _ENDS, "weight-only, one scale per channel (not counted)"),
        Format("int4", 4, _16BIT, _ALL, "ideal: four bits, no scales, every tensor"),
        Format("int4-g128", _grouped(4, 128, 16, 4), _16BIT, _ENDS, "GPTQ/AWQ, group 128"),
        Format(
            "int4-g32",
            _grouped(4, 32, 16, 16),
            _16BIT,
            _NORMS | {"embedding"},
            "gpt-fast quantize.py @0055c42: every linear layer, the LM head too; 16-bit zero point",
        ),
        Format("mxfp4", _grouped(4, 32, 8), _16BIT, _ENDS, "OCP MX: 32 values, 8-bit scale"),
        Format("mxfp4-moe", _grouped(4, 32, 8), _16BIT, _ALL_BUT_EXPERTS, "mxfp4 as in gpt-oss"),
        Format("nvfp4", _grouped(4, 16, 8), _16BIT, _ENDS, "16 values, FP8 scale"),
        Format("Q8_0", _grouped(8, 32, 16), _16BIT, _NORMS, "GGUF: 34 bytes per 32 weights"),
        Format("Q4_0", _grouped(4, 32, 16), _16BIT, _NORMS, "GGUF: 18 bytes per 32 weights"),
        Format(
            "Q4_K_M",
            4.8944,  # a mix of block types: the average over a whole file, not a block's size
            _16BIT,
            _ALL,
            "llama.cpp tools/quantize README @311c2c9: Llama-3.1-8B, all tensors",
        ),
    )
}

#: Peaks that a chip can have, slowest first. Dense rates, never 2:4 sparse ones.
RATES = ("fp32", "bf16", "fp8", "int8", "fp4")


def formats() -> tuple[Format, ...]:
    """All number formats the library knows."""
    return tuple(_FORMATS.values())


def number_format(name: AnyFormat) -> Format:
    """The `Format` called `name`, for example "bf16", "fp8", "int4-g128", "Q4_K_M".

    A `Format` is given back as it is. Raises `UnknownName` (a ``KeyError``) that lists near
    matches.
    """
    if isinstance(name, Format):
        return name
    known = _FORMATS.get(name) if isinstance(name, str) else None
    return known or find("number format", name, _FORMATS)


def grouped(
    bits: int,
    group: int,
    scale_bits: int = 16,
    zero_bits: int = 0,
    keeps: Iterable[str] = ("embedding", "lm_head"),
) -> Format:
    """A weight-only format of one's own: groups of values share a scale, and perhaps a zero point.

    Its bits per value are ``bits + (scale_bits + zero_bits) / group``. It serves for the KV cache
    too, with the row of one head as a group, for example.

    Args:
        bits: of one value, 1 to 16.
        group: values that share a scale.
        scale_bits, zero_bits: of the scale and of the zero point of a group. Where scales have
            scales of their own, count those of a whole super-block, and make it the group.
        keeps: groups of tensors (see `TENSORS`) that stay in 16 bit; norms, routers and biases
            always do.

    >>> grouped(4, 128, scale_bits=16, zero_bits=4).bits
    4.15625
    """
    width = dimension("bits", bits, "bits per value")
    if width > 16:
        raise wrong("bits", bits, "give a whole number of bits per value, from 1 to 16")
    many = dimension("group", group, "values that share a scale")
    scale = dimension("scale_bits", scale_bits, "bits per scale", least=0)
    zero = dimension("zero_bits", zero_bits, "bits per zero point", least=0)
    name = f"int{width}-g{many}-s{scale}" + (f"-z{zero}" if zero else "")
    effective = _grouped(width, many, scale, zero)
    return Format(name, effective, _16BIT, _NORMS | _kept(keeps), "made with kl.grouped")


def _kept(keeps: Iterable[str]) -> frozenset[str]:
    if isinstance(keeps, str) or not isinstance(keeps, Iterable):
        wanted = "give names of groups of tensors, for example ('embedding', 'lm_head')"
        raise wrong("keeps", keeps, wanted)
    known = {name: name for name in TENSORS}
    return frozenset(find("group of tensors", name, known) for name in keeps)


def rate(name: str) -> str:
    """The peak called `name`: "bf16" (also "fp16"), "fp8", "int8", "fp4" or "fp32".

    Raises `UnknownName`; a sparse rate is refused, since it counts products that are not done.
    """
    if not isinstance(name, str):
        raise unknown_name("rate of a chip", name, RATES)
    if name in RATES:
        return name
    if name == "fp16":
        return "bf16"  # every chip listed multiplies both at the same peak
    if name in _FORMATS:
        at = " or ".join(r for r in _FORMATS[name].rates if r != "fp32")
        raise UnknownName(
            f"{name} is a format of weights, which are multiplied in {at}: ask for {at}"
        )
    if "spars" in name.casefold():
        raise unknown_name("dense rate (a sparse peak counts skipped products)", name, RATES)
    raise unknown_name("rate of a chip", name, RATES)
