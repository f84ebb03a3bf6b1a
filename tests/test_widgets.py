"""The explorers: every control is named, moves the picture, and disturbs no other explorer."""

import asyncio
import html
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kitchenlib.inputs import UnknownName
from kitchenlib.plots import figures, ratio
from kitchenlib.plots.explorer import Setting
from kitchenlib.plots.welcome import GUESTS
from kitchenlib.widgets import (
    BillExplorer,
    FixesExplorer,
    PantryExplorer,
    RooflineExplorer,
    ScratchExplorer,
    StationsExplorer,
    StockExplorer,
    TasteExplorer,
)
from kitchenlib.widgets.base import Explorer, Sizes, menu, powers_of_two

#: Each with the figure that it shows where no kernel runs.
EXPLORERS: dict[str, Callable[..., Explorer]] = {
    "roofline-explorer": RooflineExplorer,
    "taste-1-guest": TasteExplorer,
    "bill": BillExplorer,
    "fixes-none": FixesExplorer,
    "stock-or-notes": StockExplorer,
    "full-or-fetched": PantryExplorer,
    "stations-guests-one": StationsExplorer,
    "scratch-budget": ScratchExplorer,
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def shown(explorer: Explorer) -> str:
    """The alt text of the picture that stands under the controls."""
    found = re.search(r'alt="([^"]*)"', explorer._image.value)
    assert found
    return html.unescape(found[1])


class Counting(TasteExplorer):
    """Remembers what it was asked to show."""

    def __init__(self) -> None:
        self.moves: list[int] = []
        super().__init__()

    def move(self, **values):
        self.moves.append(values["guests"])
        return super().move(**values)


@pytest.mark.parametrize("make", EXPLORERS.values())
def test_every_control_has_a_name(make):
    for control in make().controls.values():
        assert control.description
        assert control._view_name == "DropdownView"  # has an accessible name, a slider has none


@pytest.mark.parametrize("make", EXPLORERS.values())
def test_every_control_stands_above_the_picture_once_below_its_heading(make):
    explorer = make()
    *above, image, words, _ = explorer.view.children
    assert (image, words) == (explorer._image, explorer._words)
    headings = [box.value for box in above if not hasattr(box, "children")]
    assert headings == [f"<b>{heading}</b>" for heading in explorer.groups]
    held = [c for box in above for c in getattr(box, "children", ())]
    menus = [child.menu if isinstance(child, Sizes) else child for child in held]
    assert sorted(map(id, menus)) == sorted(map(id, explorer.controls.values()))


@pytest.mark.parametrize("name", [name for name in EXPLORERS if name != "taste-1-guest"])
def test_a_setting_that_there_is_not_is_refused(name):
    with pytest.raises(UnknownName, match="no setting of the explorer is called 'chef'"):
        EXPLORERS[name](chef=3)


def test_a_size_is_the_same_on_slider_and_menu():
    size = Sizes("guests (batch)", powers_of_two(1, 8), 4)
    assert size.slider.options == size.menu.options
    assert size.slider.value == size.menu.value == 4


def test_powers_of_two_include_both_ends():
    assert powers_of_two(1, 8) == (1, 2, 4, 8)
    assert powers_of_two(128, 512) == (128, 256, 512)


def test_a_changed_control_moves_the_picture_and_its_words():
    explorer = RooflineExplorer()
    before = explorer._image.value
    explorer.controls["batch"].value = 32
    assert explorer._image.value != before
    assert shown(explorer) == ratio.roofline_explorer(Setting(batch=32)).alt
    assert "31.1 FLOP/byte" in explorer._words.value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("chip", "Apple M2 Ultra"),
        ("model", "Mixtral-8x7B-v0.1"),
        ("phase", "prefill"),
        ("batch", 1024),
        ("tokens", 131072),
        ("weights", "int4-g128"),
        ("kv", "fp8"),
    ],
)
def test_every_control_of_the_roofline_changes_the_picture(name, value):
    explorer = RooflineExplorer()
    before = shown(explorer)
    explorer.set(**{name: value})
    assert shown(explorer) != before


@pytest.mark.parametrize("guests", GUESTS)
def test_the_taste_serves_what_the_slider_says(guests):
    explorer = TasteExplorer(guests)
    assert shown(explorer).startswith(f"{guests:,} guest")


def test_of_many_changes_at_once_only_the_last_is_drawn():
    async def drag() -> list[int]:
        explorer = Counting()
        for guests in GUESTS:
            explorer.controls["guests"].value = guests
        await asyncio.sleep(0.1)
        return explorer.moves

    assert asyncio.run(drag()) == [1, 512]


def test_changes_one_after_another_are_all_drawn():
    async def step() -> list[int]:
        explorer = Counting()
        for guests in (2, 4):
            explorer.controls["guests"].value = guests
            await asyncio.sleep(0.1)
        return explorer.moves

    assert asyncio.run(step()) == [1, 2, 4]


def test_what_is_set_from_code_is_drawn_at_once_in_a_kernel_too():
    async def set_and_look() -> str:
        explorer = TasteExplorer()
        explorer.set(guests=64)
        return shown(explorer)

    assert asyncio.run(set_and_look()).startswith("64 guests")


@pytest.mark.parametrize("make", EXPLORERS.values())
def test_two_copies_do_not_disturb_each_other(make):
    one, other = make(), make()
    before = shown(one)
    name, control = next(iter(other.controls.items()))
    other.set(**{name: next(value for _, value in control.options if value != control.value)})
    assert shown(one) == before
    assert shown(other) != before


@pytest.mark.parametrize("name", EXPLORERS)
def test_without_a_kernel_an_explorer_shows_the_figure_of_its_start(name):
    bundle = EXPLORERS[name]()._repr_mimebundle_()
    figure = figures()[name]()
    assert WIDGET_VIEW in bundle
    assert bundle["text/html"] == figure.html()
    assert bundle["text/plain"] == figure.alt
    assert bundle["image/png"] == figure._repr_mimebundle_()["image/png"]


def test_an_explorer_shown_again_shows_what_it_was_set_to():
    explorer = TasteExplorer()
    explorer.set(guests=512)
    assert explorer._repr_mimebundle_()["text/plain"].startswith("512 guests")


def test_the_numbers_are_announced_when_they_change():
    assert 'aria-live="polite"' in TasteExplorer()._words.value


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"batch": 3}, r"guests \(batch\) = 3 will not do: choose one of 1, 2, 4, 8, "),
        ({"phase": "dessert"}, r"phase = 'dessert' will not do: choose one of decode, prefill"),
    ],
)
def test_a_start_that_a_control_does_not_offer_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        RooflineExplorer(**setting)


def test_an_unknown_chip_is_refused_with_near_matches():
    with pytest.raises(UnknownName, match=r"no chip is called 'H1000'. Did you mean: H100"):
        RooflineExplorer(chip="H1000")


def test_a_chip_may_go_by_another_name():
    assert RooflineExplorer(chip="H200").values["chip"] == "H200 SXM"


def test_a_menu_shows_labels_and_gives_values():
    chips = menu("chip", [("one*", 1), ("two", 2)], 2)
    assert (chips.label, chips.value) == ("two", 2)


def test_an_explorer_that_does_not_say_how_to_move_is_refused():
    stage = TasteExplorer().stage
    with pytest.raises(NotImplementedError):
        Explorer(stage, {})


def test_setting_what_is_not_there_is_refused_with_what_there_is():
    explorer = RooflineExplorer()
    with pytest.raises(UnknownName, match="no control is called 'chef'"):
        explorer.set(chef=3)
    with pytest.raises(ValueError, match=r"batch = 3 will not do: choose one of 1, 2, 4"):
        explorer.set(batch=3)


def test_a_control_answers_to_the_word_on_its_label_and_to_any_case_of_its_choices() -> None:
    explorer = RooflineExplorer()
    explorer.set(guests=64, model="llama-3.1-8b")
    assert explorer.values["batch"] == 64
    assert explorer.values["model"] == "Llama-3.1-8B"


def test_what_cannot_be_set_leaves_everything_as_it_was() -> None:
    explorer = RooflineExplorer()
    before = explorer.values
    with pytest.raises(UnknownName, match="no control is called 'bogus'"):
        explorer.set(batch=64, bogus=1)
    with pytest.raises(ValueError, match=r"batch = 63 will not do: choose one of 1, 2, 4"):
        explorer.set(model="Llama-3.1-8B", batch=63)
    odd: list[Any] = [True, None, [64], np.array([1, 2]), "64"]
    for value in odd:
        with pytest.raises(ValueError, match=r"batch = .*choose one of"):
            explorer.set(batch=value)
    assert explorer.values == before
