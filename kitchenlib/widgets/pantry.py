"""The whole archive in the prompt, or a few cards of it, set by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitchenlib.models import model
from kitchenlib.plots import fetching, fixing
from kitchenlib.plots.archive import PantryStage
from kitchenlib.plots.fetching import PantrySetting
from kitchenlib.widgets.base import Explorer, Sizes, chip_menu, menu, powers_of_two, started


class PantryExplorer(Explorer):
    """The whole archive before each question, or the documents that were fetched for it.

    Args:
        setting: keywords of `kitchenlib.plots.fetching.PantrySetting`: documents, tokens, k,
            cached; batch, model, chip, chips.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: PantryStage
    groups: Mapping[str, str] = {
        "the archive": "documents tokens k cached",
        "the kitchen": "batch model chip chips",
    }

    def __init__(self, **setting: Any) -> None:
        start = started(fetching.WORKED, setting)
        of = model(start.model)  # by any of its names
        controls = {
            "documents": Sizes("documents", fetching.DOCUMENTS, start.documents),
            "tokens": menu("tokens of each", fetching.LENGTHS, start.tokens),
            "k": menu("fetched (k best)", fetching.FETCHED, start.k),
            "cached": menu("archive cached", fetching.CACHED, start.cached),
            "batch": Sizes("guests (batch)", powers_of_two(1, 1024), start.batch),
            "model": menu("model", fetching.MODELS, of.name),
            "chip": chip_menu(fixing.CHIPS, start.chip),
            "chips": menu("chips together", (1, 2, 4, 8), start.chips),
        }
        super().__init__(PantryStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        setting = PantrySetting(**values)
        self.stage.show(setting)
        return setting.facts()
