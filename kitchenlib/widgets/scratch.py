"""The reasoning budget, spent by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitchenlib import precision
from kitchenlib.models import model
from kitchenlib.plots import billing, fixing
from kitchenlib.plots import scratch_budget as budget
from kitchenlib.plots.scratch_budget import WORKED, ScratchSetting, ScratchStage
from kitchenlib.widgets.base import (
    Explorer,
    Sizes,
    chip_menu,
    menu,
    one_two_five,
    powers_of_two,
    started,
)


class ScratchExplorer(Explorer):
    """Tokens thought before the reply: silence, notes, guests who fit, and the bill.

    Args:
        setting: keywords of `kitchenlib.plots.scratch_budget.ScratchSetting`: hidden, samples;
            prompt, reply; model, weights, chip, chips, batch.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: ScratchStage
    groups: Mapping[str, str] = {
        "the scratchpad": "hidden samples",
        "what the guest sees": "prompt reply",
        "the kitchen": "model weights chip chips batch",
    }

    def __init__(self, **setting: Any) -> None:
        start = started(WORKED, setting)
        of = model(start.model)  # by any of its names
        form = precision.number_format(start.weights)
        guests = powers_of_two(1, budget.MOST_GUESTS)
        controls = {
            "hidden": menu("hidden (tokens)", [(f"{n:,}", n) for n in budget.HIDDEN], start.hidden),
            "samples": menu("samples side by side", budget.SAMPLES, start.samples),
            "prompt": Sizes("prompt (tokens)", one_two_five(50_000), start.prompt),
            "reply": Sizes("reply (tokens)", one_two_five(5_000), start.reply),
            "model": menu("model", billing.MODELS, of.name),
            "weights": menu("weights (format)", billing.WEIGHTS, form.name),
            "chip": chip_menu(fixing.CHIPS, start.chip),
            "chips": menu("chips together", (1, 2, 4, 8), start.chips),
            "batch": Sizes("guests (batch)", guests, start.batch),
        }
        super().__init__(ScratchStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        setting = ScratchSetting(**values)
        self.stage.show(setting)
        return setting.facts()
