"""Chips: how fast the chef cuts, how fast the waiter walks, how large the warehouse is.

The catalogue is ``data/chips.csv``, one row a chip with its source and how well it is verified.
Peaks are dense peaks, never 2:4-sparse ones. Bandwidth is decimal (GB/s = 1e9 bytes a second);
memory capacity is binary in practice (an "80 GB" H100 reports 85.5e9 bytes), so it is read as GiB
unless the number of bytes that the driver reports is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from kitchenlib import data, precision
from kitchenlib.inputs import UnknownName, find, quantity, unknown_name, wrong
from kitchenlib.units import GB, TFLOP, GiB, human

_PEAK_COLUMNS = {
    "bf16": "bf16_dense_TFLOPs",
    "fp8": "fp8_dense_TFLOPs",
    "int8": "int8_dense_TOPs",
    "fp4": "fp4_dense_TFLOPs",
}


@dataclass(frozen=True)
class Chip:
    """One accelerator (or CPU): its dense peaks, its bandwidth and its memory.

    Attributes:
        name: as in the catalogue.
        bandwidth: bytes per second between memory and cores, decimal.
        peaks: dense FLOP/s by rate: "bf16", "fp8", "int8", "fp4", "fp32"; those it has.
        memory_bytes: capacity in bytes, or None if unknown.
        interconnect: bytes per second to other chips, per direction, or None.
        power: watts, or None.
        vendor, year, memory_kind, interconnect_kind: as published; year may be None.
        status: "verified", "partly verified", or what is not.
        source, note: where the numbers come from and what to know about them.

    Raises ``ValueError`` for a size that is not a positive number, `UnknownName` for a rate.
    """

    name: str
    bandwidth: float
    peaks: Mapping[str, float] = field(hash=False)
    memory_bytes: float | None = None
    interconnect: float | None = None
    power: float | None = None
    vendor: str = ""
    year: int | None = None
    memory_kind: str = ""
    interconnect_kind: str = ""
    status: str = "yours"
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        quantity("bandwidth", self.bandwidth, "bytes per second")
        if not isinstance(self.peaks, Mapping) or not self.peaks:
            raise wrong("peaks", self.peaks, "give at least one dense peak, {'bf16': FLOP/s}")
        for rate, peak in self.peaks.items():
            if rate not in precision.RATES:
                raise unknown_name("rate", rate, precision.RATES)
            quantity(f"peaks[{rate!r}]", peak, "FLOP/s")
        for name, unit in (
            ("memory_bytes", "bytes"),
            ("interconnect", "bytes per second"),
            ("power", "watts"),
        ):
            if getattr(self, name) is not None:
                quantity(name, getattr(self, name), unit)

    def peak(self, rate: str = "bf16") -> float:
        """Dense FLOP/s at `rate`.

        Raises `UnknownName` that lists the rates this chip has, if `rate` is not among them.
        """
        try:
            return self.peaks[rate]
        except (KeyError, TypeError):
            pass
        known = precision.rate(rate)  # an unknown rate is refused here
        if known in self.peaks:
            return self.peaks[known]
        raise UnknownName(
            f"{self.name} has no {rate} peak (FLOP/s). It has: {', '.join(self.peaks)}. "
            "Weights in another format are multiplied at one of these: say compute=..."
        )

    def first_peak(self, rates: tuple[str, ...]) -> float:
        """The peak of the first of `rates` that this chip has: FLOP/s."""
        for rate in rates:
            if rate in self.peaks:
                return self.peaks[rate]
        return self.peak(rates[-1])  # raises, naming what there is

    def ridge(self, rate: str = "bf16") -> float:
        """FLOP per byte at which chef and waiter are equally busy: peak / bandwidth."""
        return self.peak(rate) / self.bandwidth

    @property
    def verified(self) -> bool:
        """Whether every number of the row was found in a source."""
        return self.status in ("verified", "yours")

    @property
    def label(self) -> str:
        """The name as it is shown: with a mark where the row is not fully verified."""
        return self.name if self.verified else f"{self.name}*"

    @property
    def short(self) -> str:
        """The name without what stands in brackets or repeats its maker."""
        name = self.name.split(" (")[0]
        kept = self.vendor in ("Apple", "Groq")  # there the maker is how one knows the chip
        return name if kept else name.removeprefix(f"{self.vendor} ")

    @property
    def short_label(self) -> str:
        """`short`, with a mark where the row is not fully verified."""
        return self.short if self.verified else f"{self.short}*"

    def __repr__(self) -> str:
        peaks = ", ".join(f"{rate} {human(peak, 'FLOP/s', 4)}" for rate, peak in self.peaks.items())
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / GB:.1f} GB memory"
        return (
            f"<{self.label}: {peaks} (dense), {human(self.bandwidth, 'B/s')}{memory}, "
            f"{self.status}>"
        )


def _number(row: Mapping[str, str], column: str, unit: float) -> float | None:
    return float(row[column]) * unit if row[column] else None


def _chip(row: Mapping[str, str]) -> Chip:
    peaks = {
        rate: peak
        for rate, column in _PEAK_COLUMNS.items()
        if (peak := _number(row, column, TFLOP)) is not None
    }
    reported = _number(row, "memory_bytes_reported", 1)
    return Chip(
        name=row["name"],
        bandwidth=float(row["bandwidth_GBps"]) * GB,
        peaks=peaks,
        memory_bytes=reported or _number(row, "memory_GiB", GiB),
        interconnect=_number(row, "interconnect_GBps", GB),
        power=_number(row, "TDP_W", 1),
        vendor=row["vendor"],
        year=int(row["year"]) if row["year"] else None,
        memory_kind=row["memory_kind"],
        interconnect_kind=row["interconnect_kind"],
        status=row["status"],
        source=row["source"],
        note=row["note"],
    )


@cache
def _catalogue() -> dict[str, Chip]:
    return {row["name"]: _chip(row) for row in data.rows("chips.csv")}


def chips() -> tuple[Chip, ...]:
    """All chips of the catalogue, in its order."""
    return tuple(_catalogue().values())


def chip(name: str) -> Chip:
    """The chip called `name` in the catalogue, or known there under another name ("H200").

    See `kitchenlib.inputs.find` for what counts as its name.
    """
    return find("chip", name, _catalogue(), data.aliases("chip"))
