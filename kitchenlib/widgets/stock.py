"""State against notes: a model with a state beside one with a KV cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitchenlib.models import model
from kitchenlib.plots import fixing
from kitchenlib.plots import stock_or_notes as stocked
from kitchenlib.plots.stock_or_notes import StockSetting, StockStage
from kitchenlib.widgets.base import Explorer, Sizes, chip_menu, menu, powers_of_two, started


class StockExplorer(Explorer):
    """State or notes: what a guest's memory weighs, what a token takes, and from where it pays.

    Args:
        setting: keywords of `kitchenlib.plots.stock_or_notes.StockSetting`: stock, notes, tokens,
            batch, chip.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: StockStage

    def __init__(self, **setting: Any) -> None:
        start = started(stocked.WORKED, setting)
        pot, pad = model(start.stock).name, model(start.notes).name  # by any of their names
        lengths = powers_of_two(stocked.FEWEST, stocked.FARTHEST)
        guests = powers_of_two(1, stocked.MOST_GUESTS)
        controls = {
            "stock": menu("stock (model with a state)", stocked.STOCKS, pot),
            "notes": menu("notes (model with a KV cache)", stocked.NOTED, pad),
            "tokens": Sizes("conversation (tokens)", lengths, start.tokens),
            "batch": Sizes("guests (batch)", guests, start.batch),
            "chip": chip_menu(fixing.CHIPS, start.chip),
        }
        for name in ("stock", "notes"):
            controls[name].style = {"description_width": "16em"}
            controls[name].layout.width = "32em"
        super().__init__(StockStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        setting = StockSetting(**values)
        self.stage.show(setting)
        return setting.facts()
