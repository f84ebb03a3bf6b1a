"""The pictures of ``02_prefill_vs_decode``."""

from __future__ import annotations

from collections.abc import Callable

from kitchenlib.chips import chip
from kitchenlib.models import model
from kitchenlib.plots import flood
from kitchenlib.plots.duel import Pair, chip_duel
from kitchenlib.plots.latency import Timing, predicted_and_measured, ttft_and_tpot_measured
from kitchenlib.plots.lengths import flood_by_length, notes_grow
from kitchenlib.plots.notepad import notepad_measured, without_notepad
from kitchenlib.plots.style import Picture
from kitchenlib.plots.workloads import Workload, workload_plane

__all__ = [
    "FIGURES",
    "Pair",
    "Timing",
    "Workload",
    "chip_duel",
    "flood_by_length",
    "notepad_measured",
    "notes_grow",
    "predicted_and_measured",
    "ttft_and_tpot_measured",
    "without_notepad",
    "workload_plane",
]

#: Llama-3.1-70B, since its predecessor cannot take long prompts. What is measured on the reader's
#: machine (`notepad_measured`, `predicted_and_measured`) differs on each, and is no file.
FIGURES: dict[str, Callable[[], Picture]] = {
    **flood.FIGURES,
    "flood-by-length": lambda: flood_by_length(model("Llama-3.1-70B"), chip("H100 SXM")),
    "without-notepad": without_notepad,
    "notes-grow": lambda: notes_grow(model("Llama-3.1-70B"), chip("H100 SXM")),
    "ttft-and-tpot": ttft_and_tpot_measured,
    "chip-duel": chip_duel,
    "workload-plane": workload_plane,
}
