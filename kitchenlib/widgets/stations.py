"""Guests at specialised stations, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitchenlib.models import model
from kitchenlib.plots import station_guests
from kitchenlib.plots.station_guests import THE_CARD, StationsSetting, StationsStage
from kitchenlib.widgets.base import Explorer, Sizes, chip_menu, menu, powers_of_two, started


class StationsExplorer(Explorer):
    """A mixture of experts and its guests, beside dense kitchens of both sizes.

    Args:
        setting: keywords of `kitchenlib.plots.station_guests.StationsSetting`: model, batch, skew,
            chip, chips, tokens.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: StationsStage

    def __init__(self, **setting: Any) -> None:
        start = started(station_guests.ALONE, setting)
        of = THE_CARD if start.model == THE_CARD else model(start.model).name
        guests = powers_of_two(1, station_guests.MOST_GUESTS)
        controls = {
            "model": menu("model", station_guests.MODELS, of),
            "batch": Sizes("guests (batch)", guests, start.batch),
            "skew": menu("routing", station_guests.ROUTING, start.skew),
            "tokens": Sizes("notes (tokens)", powers_of_two(128, 131072), start.tokens),
            "chip": chip_menu(station_guests.CHIPS, start.chip),
            "chips": menu("chips together", station_guests.TOGETHER, start.chips),
        }
        super().__init__(StationsStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        setting = StationsSetting(**values)
        self.stage.show(setting)
        return setting.facts()
