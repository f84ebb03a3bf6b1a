"""The explorers: controls around a picture that moves. `base` has the parts, each other module one.

Nothing is drawn before an explorer is made.
"""

from __future__ import annotations

from kitchenlib.widgets.base import Explorer, Sizes
from kitchenlib.widgets.bill import BillExplorer
from kitchenlib.widgets.fixes import FixesExplorer
from kitchenlib.widgets.law import RooflineExplorer, TasteExplorer

__all__ = [
    "BillExplorer",
    "Explorer",
    "FixesExplorer",
    "RooflineExplorer",
    "Sizes",
    "TasteExplorer",
]
