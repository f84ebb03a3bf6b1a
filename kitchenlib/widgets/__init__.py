"""The explorers: controls around a picture that moves. `base` has the parts, each other module one.

Nothing is drawn before an explorer is made.
"""

from __future__ import annotations

from kitchenlib.widgets.base import Explorer, Sizes
from kitchenlib.widgets.bill import BillExplorer
from kitchenlib.widgets.fixes import FixesExplorer
from kitchenlib.widgets.law import RooflineExplorer, TasteExplorer
from kitchenlib.widgets.pantry import PantryExplorer
from kitchenlib.widgets.scratch import ScratchExplorer
from kitchenlib.widgets.stations import StationsExplorer
from kitchenlib.widgets.stock import StockExplorer

__all__ = [
    "BillExplorer",
    "Explorer",
    "FixesExplorer",
    "PantryExplorer",
    "RooflineExplorer",
    "ScratchExplorer",
    "Sizes",
    "StationsExplorer",
    "StockExplorer",
    "TasteExplorer",
]
