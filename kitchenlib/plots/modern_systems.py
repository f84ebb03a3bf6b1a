"""The pictures of ``05_modern_systems``."""

from __future__ import annotations

from collections.abc import Callable

from kitchenlib.plots.appliances import tool_or_head, tool_turns
from kitchenlib.plots.archive import archive_or_three, full_or_fetched
from kitchenlib.plots.diets import notepad_diets
from kitchenlib.plots.fetching import PantrySetting
from kitchenlib.plots.pantry import pantry_hits, recall_by_bytes, three_indexes
from kitchenlib.plots.scratch import scratch_hops, votes
from kitchenlib.plots.scratch_budget import scratch_budget
from kitchenlib.plots.scratch_cost import scratch_bill, scratch_samples
from kitchenlib.plots.senses import page_tokens, senses_in_tokens
from kitchenlib.plots.sight import chef_pixels, picture_as_rows
from kitchenlib.plots.specialists import stations_by_token
from kitchenlib.plots.station_guests import ALONE, stations_guests
from kitchenlib.plots.stations import stations_union
from kitchenlib.plots.stock import stock_forgets, stock_measured
from kitchenlib.plots.stock_or_notes import stock_or_notes
from kitchenlib.plots.style import Picture
from kitchenlib.plots.thesis import thesis

__all__ = [
    "FIGURES",
    "PantrySetting",
    "archive_or_three",
    "chef_pixels",
    "full_or_fetched",
    "notepad_diets",
    "page_tokens",
    "pantry_hits",
    "picture_as_rows",
    "recall_by_bytes",
    "scratch_bill",
    "scratch_budget",
    "scratch_hops",
    "scratch_samples",
    "senses_in_tokens",
    "stations_by_token",
    "stations_guests",
    "stations_union",
    "stock_forgets",
    "stock_measured",
    "stock_or_notes",
    "thesis",
    "three_indexes",
    "tool_or_head",
    "tool_turns",
    "votes",
]

#: What is measured on the reader's machine (`stock_measured`, `tool_or_head`) or noted in the
#: reader's ledger (`thesis`) is no file.
FIGURES: dict[str, Callable[[], Picture]] = {
    "stock-forgets": stock_forgets,
    "stock-or-notes": stock_or_notes,
    "pantry-hits": pantry_hits,
    "recall-by-bytes": recall_by_bytes,
    "archive-or-three": archive_or_three,
    "full-or-fetched": full_or_fetched,
    "three-indexes": three_indexes,
    "stations-union": stations_union,
    "stations-by-token": stations_by_token,
    "stations-guests": stations_guests,
    "stations-guests-one": lambda: stations_guests(ALONE),
    "picture-as-rows": picture_as_rows,
    "senses-in-tokens": senses_in_tokens,
    "scratch-hops": scratch_hops,
    "scratch-bill": scratch_bill,
    "scratch-samples": scratch_samples,
    "scratch-votes": votes,
    "scratch-budget": scratch_budget,
    "tool-turns": tool_turns,
    "notepad-diets": notepad_diets,
}
