"""A workload, a kitchen of your own and a price sheet: which is cheaper?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kitchenlib.efficiency import efficiencies
from kitchenlib.inputs import find
from kitchenlib.models import model
from kitchenlib.plots import billing
from kitchenlib.plots.bill import BillStage
from kitchenlib.plots.billing import Bill
from kitchenlib.units import dollars
from kitchenlib.widgets.base import Explorer, Sizes, menu, one_two_five, powers_of_two, started


class BillExplorer(Explorer):
    """Your workload, a kitchen of your own, a price sheet: both bills, and from when it pays.

    Args:
        setting: keywords of `kitchenlib.plots.billing.Bill`: requests, prompt, cached, reasoning,
            reply; model, weights, chip, chips, batch, occupancy, efficiency; sheet.

    Raises `UnknownName` that lists near matches for a name that is not offered, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: BillStage
    groups: Mapping[str, str] = {
        "your guests": "requests prompt cached reasoning reply",
        "your kitchen": "model weights chip chips batch occupancy efficiency",
        "the price sheet": "sheet",
    }

    def __init__(self, **setting: Any) -> None:
        start = started(billing.WORKED, setting)
        chip_hour = _offered("chip-hour", start.chip, billing.rented())
        sheet = _offered("price sheet", start.sheet, billing.sheets())
        named = [each.name for each in efficiencies()]
        controls = {
            "requests": Sizes("requests a day", one_two_five(10_000_000), start.requests),
            "prompt": Sizes("prompt (tokens)", one_two_five(100_000), start.prompt),
            "cached": menu("cached (of the prompt)", _shares(*billing.CACHED), start.cached),
            "reasoning": menu("reasoning (tokens)", _sizes(*billing.REASONING), start.reasoning),
            "reply": Sizes("reply (tokens)", one_two_five(10_000), start.reply),
            "model": menu("model", billing.MODELS, model(start.model).name),
            "weights": menu("weights (format)", billing.WEIGHTS, start.weights),
            "chip": menu("chip, dollars an hour", _chip_hours(), chip_hour),
            "chips": menu("chips together", (1, 2, 4, 8), start.chips),
            "batch": Sizes("guests (batch)", powers_of_two(1, 1024), start.batch),
            "occupancy": menu(
                "occupied (of the time)", _shares(*billing.OCCUPANCY), start.occupancy
            ),
            "efficiency": menu("efficiency", named, start.efficiency),
            "sheet": menu("price sheet, its date", _sheets(), sheet),
        }
        for name in ("chip", "sheet"):
            controls[name].layout = {"width": "46em", "max_width": "100%"}
        super().__init__(BillStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        bill = Bill(**values)
        self.stage.show(bill)
        return bill.facts()


def _offered(kind: str, name: object, offered: Iterable[str]) -> str:
    """The one of the `offered` names that `name` stands for; `UnknownName` lists near ones."""
    return find(kind, name, {each: each for each in offered})


def _shares(*shares: float) -> list[tuple[str, float]]:
    return [(f"{share:.0%}", share) for share in shares]


def _sizes(*sizes: int) -> list[tuple[str, int]]:
    return [(f"{size:,}", size) for size in sizes]


def _chip_hours() -> list[tuple[str, str]]:
    """Every chip-hour to choose: whose chip, its price and its date."""
    return [
        (f"{name}: {dollars(row.usd or 0)}{billing.doubt(row)}, {row.date}", name)
        for name, row in billing.rented().items()
    ]


def _sheets() -> list[tuple[str, str]]:
    """Every price sheet to choose, with its date."""
    return [(f"{name}: {each.row.when}", name) for name, each in billing.sheets().items()]
