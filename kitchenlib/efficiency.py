"""How far real systems stay from the law: shares of the peaks, and a fixed time for each pass.

An `Efficiency` says which share of a chip's peak, of its bandwidth and of its interconnect a
system reaches, and how long each pass takes beyond that, whatever it does. `estimate` puts some
work on a chip that reaches so much:

    time = sum over operators of max(compute / share, memory / share, link / share) + fixed

With equal shares that is the ideal time over the share, plus the fixed time. The named ones are
rows of ``data/efficiencies.csv``. Each tells where it comes from; none holds for every system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from kitchenlib import data
from kitchenlib.chips import Chip
from kitchenlib.inputs import Number, amount, find, instance, share, wrong
from kitchenlib.roofline import Work
from kitchenlib.units import MS, human

_SHARES = {"compute": "the peak", "bandwidth": "the bandwidth", "link": "the interconnect"}


@dataclass(frozen=True)
class Efficiency:
    """Which shares of a chip's speeds a system reaches, and what each pass costs beyond them.

    Attributes:
        compute, bandwidth, link: shares of the dense peak, of the bandwidth and of the
            interconnect, each above 0 and at most 1.
        fixed: seconds that every pass takes on top: starting kernels, waiting for other chips.
        name: what it is called.
        source, date, note: where it comes from, and where it holds.

    Raises ``ValueError`` for a share that is none, or a negative time.
    """

    compute: float = 1.0
    bandwidth: float = 1.0
    link: float = 1.0
    fixed: float = 0.0
    name: str = "yours"
    source: str = ""
    date: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for name, of in _SHARES.items():
            _one(name, share(name, getattr(self, name), of), of)
        _one("fixed", amount("fixed", self.fixed, "seconds"), "time in seconds")

    def on(self, chip: Chip) -> Chip:
        """`chip` as a slower one, with the speeds that are reached."""
        instance("chip", chip, Chip, 'kl.chip("H100 SXM")')
        if self.compute == self.bandwidth == self.link == 1:
            return chip
        return replace(
            chip,
            bandwidth=chip.bandwidth * self.bandwidth,
            peaks={rate: peak * self.compute for rate, peak in chip.peaks.items()},
            interconnect=chip.interconnect and chip.interconnect * self.link,
        )

    def __repr__(self) -> str:
        fixed = f", {human(self.fixed, 's')} a pass" if self.fixed else ""
        return (
            f"<{self.name}: {self.compute:.0%} of the peak, {self.bandwidth:.0%} of the "
            f"bandwidth, {self.link:.0%} of the interconnect{fixed}>"
        )


def _one(name: str, value: Number, of: str) -> None:
    if isinstance(value, np.ndarray):
        raise wrong(name, value, f"give one number for {of}, not an array")


IDEAL = Efficiency(name="ideal")  #: the law itself: every share 1, no fixed time


def estimate(work: Work, chip: Chip, efficiency: Efficiency = IDEAL) -> Number:
    """Seconds that one pass is expected to take on `chip` at an `efficiency`.

    Args:
        work: what `kitchenlib.prefill`, `kitchenlib.decode_step` and their kin return.
        chip: a chip of the catalogue, or your own.
        efficiency: `IDEAL` gives `Work.time` itself.
    """
    instance("work", work, Work, "kl.decode_step(model, context=4096)")
    instance("efficiency", efficiency, Efficiency, 'kl.efficiency("planned")')
    return work.time(efficiency.on(chip)) + efficiency.fixed


@cache
def _catalogue() -> dict[str, Efficiency]:
    return {row["name"]: _efficiency(row) for row in data.rows("efficiencies.csv")}


def _efficiency(row: dict[str, str]) -> Efficiency:
    return Efficiency(
        compute=float(row["compute"]),
        bandwidth=float(row["bandwidth"]),
        link=float(row["link"]),
        fixed=float(row["fixed_ms"]) * MS,
        name=row["name"],
        source=row["source"],
        date=row["date"],
        note=row["note"],
    )


def efficiencies() -> tuple[Efficiency, ...]:
    """All named efficiencies, in the order of the file."""
    return tuple(_catalogue().values())


def efficiency(name: str) -> Efficiency:
    """The efficiency called `name`.

    Raises `UnknownName` that lists near matches.
    """
    return find("efficiency", name, _catalogue())
