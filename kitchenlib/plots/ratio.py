"""The pictures of ``01_ratio``."""

from __future__ import annotations

from collections.abc import Callable

from kitchenlib.chips import chip
from kitchenlib.models import model
from kitchenlib.plots.explorer import Setting, roofline_explorer
from kitchenlib.plots.kitchen import kitchen
from kitchenlib.plots.layer import one_layer, vector_or_matrix
from kitchenlib.plots.ridges import ridges, ridges_by_format
from kitchenlib.plots.roofline import roofline
from kitchenlib.plots.style import Picture
from kitchenlib.plots.times import guests, law_against_layer

__all__ = [
    "FIGURES",
    "Setting",
    "guests",
    "kitchen",
    "law_against_layer",
    "one_layer",
    "ridges",
    "ridges_by_format",
    "roofline",
    "roofline_explorer",
    "vector_or_matrix",
]

#: The worked example: Llama-2-70B on an H100 SXM.
FIGURES: dict[str, Callable[[], Picture]] = {
    "kitchen": lambda: kitchen(chip("H100 SXM"), model("Llama-2-70B")),
    "one-layer": lambda: one_layer(model("Llama-2-70B")),
    "vector-or-matrix": lambda: vector_or_matrix(model("Llama-2-70B")),
    "roofline-1-waiter": lambda: roofline(chip("H100 SXM"), 1),
    "roofline-2-chef": lambda: roofline(chip("H100 SXM"), 2),
    "roofline-3-ridge": lambda: roofline(chip("H100 SXM"), 3),
    "roofline-4-work": lambda: roofline(chip("H100 SXM"), 4, model("Llama-2-70B")),
    "ridges": ridges,
    "ridges-by-format": ridges_by_format,
    "law-against-layer": law_against_layer,
    "guests": lambda: guests(chip("H100 SXM"), model("Llama-2-70B")),
    "roofline-explorer": roofline_explorer,
}
