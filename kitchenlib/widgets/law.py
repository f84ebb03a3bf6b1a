"""The law to play with: any chip under any model, and one slider for a first taste."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitchenlib import precision
from kitchenlib.chips import chip, chips
from kitchenlib.models import model, models
from kitchenlib.plots.explorer import PHASES, WORKED, RooflineStage, Setting
from kitchenlib.plots.welcome import GUESTS, Taste
from kitchenlib.widgets.base import Explorer, Sizes, chip_menu, menu, powers_of_two, started


class RooflineExplorer(Explorer):
    """Any chip, any model, either phase: where does the pass sit under the roof?

    Args:
        setting: keywords of `kitchenlib.plots.explorer.Setting`: chip, model, phase ("decode" or
            "prefill"), batch, tokens, weights, kv.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: RooflineStage

    def __init__(self, **setting: Any) -> None:
        start = started(WORKED, setting)
        of = model(start.model)  # by any of its names
        form = precision.number_format(start.weights)
        formats = [each.name for each in precision.formats()]
        controls = {
            "chip": chip_menu((each.name for each in chips()), start.chip),
            "model": menu("model", [each.name for each in models()], of.name),
            "weights": menu("weights (format)", formats, form.name),
            "kv": menu("notes (format)", ("bf16", "fp8", "int4"), start.kv),
            "phase": menu("phase", PHASES, start.phase),
            "batch": Sizes("guests (batch)", powers_of_two(1, 1024), start.batch),
            "tokens": Sizes("notes/prompt (tokens)", powers_of_two(1, 131072), start.tokens),
        }
        super().__init__(RooflineStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        setting = Setting(**values)
        self.stage.show(setting)
        return setting.facts()


class TasteExplorer(Explorer):
    """One slider: how many guests are served at once, Llama-2-70B on an H100 SXM."""

    stage: Taste

    def __init__(self, guests: int = 1) -> None:
        stage = Taste(chip("H100 SXM"), model("Llama-2-70B"))
        super().__init__(stage, {"guests": Sizes("guests served at once", GUESTS, guests)})

    def move(self, **values: Any) -> Mapping[str, str]:
        self.stage.serve(**values)
        return self.stage.facts(**values)
