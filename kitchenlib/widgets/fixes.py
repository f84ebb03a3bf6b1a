"""Four fixes, stacked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitchenlib import precision
from kitchenlib.efficiency import efficiencies
from kitchenlib.models import model
from kitchenlib.plots import fixing
from kitchenlib.plots.fixing import Fixes
from kitchenlib.plots.stacking import FixesStage
from kitchenlib.widgets.base import Explorer, Sizes, chip_menu, menu, powers_of_two, started


class FixesExplorer(Explorer):
    """Fixes on top of each other: one pass, what comes of it, and which fix would help next.

    Args:
        setting: keywords of `kitchenlib.plots.fixing.Fixes`: weights, batch, clipboards, drafted,
            acceptance; kv, tokens; model, chip, chips, efficiency.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: FixesStage
    groups: Mapping[str, str] = {
        "the four fixes": "weights batch clipboards drafted acceptance",
        "the notes": "kv tokens",
        "the kitchen": "model chip chips efficiency",
    }

    def __init__(self, **setting: Any) -> None:
        start = started(fixing.UNFIXED, setting)
        of = model(start.model)  # by any of its names
        form = precision.number_format(start.weights)
        named = [each.name for each in efficiencies()]
        guests = powers_of_two(1, fixing.MOST_GUESTS)
        controls = {
            "weights": menu("weights (format)", fixing.WEIGHTS, form.name),
            "batch": Sizes("guests (batch)", guests, start.batch),
            "clipboards": menu("clipboards (KV heads)", fixing.CLIPBOARDS, start.clipboards),
            "drafted": menu("guesses (tokens)", fixing.DRAFTED, start.drafted),
            "acceptance": menu("acceptance (chance)", fixing.ACCEPTANCE, start.acceptance),
            "kv": menu("notes (format)", fixing.NOTES, start.kv),
            "tokens": Sizes("notes (tokens)", powers_of_two(128, 131072), start.tokens),
            "model": menu("model", fixing.MODELS, of.name),
            "chip": chip_menu(fixing.CHIPS, start.chip),
            "chips": menu("chips together", (1, 2, 4, 8), start.chips),
            "efficiency": menu("efficiency", named, start.efficiency),
        }
        super().__init__(FixesStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        kitchen = Fixes(**values)
        self.stage.show(kitchen)
        return kitchen.facts()
