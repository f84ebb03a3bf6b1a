"""The pictures of ``04_four_fixes``."""

from __future__ import annotations

from collections.abc import Callable

from kitchenlib.plots.clipboards import shared_clipboards
from kitchenlib.plots.company import batch_gain
from kitchenlib.plots.fixing import UNFIXED
from kitchenlib.plots.guessing import guess_ahead
from kitchenlib.plots.lighter import int4_ladder
from kitchenlib.plots.replies import replies_by_bits
from kitchenlib.plots.rounded import perplexity_by_bits
from kitchenlib.plots.stacking import fixes, fixes_matrix, fixes_together
from kitchenlib.plots.style import Picture
from kitchenlib.plots.sweeps import guesses_measured
from kitchenlib.plots.together import batch_measured

__all__ = [
    "FIGURES",
    "batch_gain",
    "batch_measured",
    "fixes",
    "fixes_matrix",
    "fixes_together",
    "guess_ahead",
    "guesses_measured",
    "int4_ladder",
    "perplexity_by_bits",
    "replies_by_bits",
    "shared_clipboards",
]

#: What is measured on the reader's machine (`batch_measured`, `guesses_measured`) differs on each,
#: and is no file.
FIGURES: dict[str, Callable[[], Picture]] = {
    "int4-ladder": int4_ladder,
    "perplexity-by-bits": perplexity_by_bits,
    "replies-by-bits": replies_by_bits,
    "batch-gain": batch_gain,
    "shared-clipboards": shared_clipboards,
    "guess-ahead": guess_ahead,
    "fixes-matrix": fixes_matrix,
    "fixes-together": fixes_together,
    "fixes": fixes,
    "fixes-none": lambda: fixes(UNFIXED),
}
