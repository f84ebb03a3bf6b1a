"""The explorers: controls around a picture that moves.

An explorer is a class around ipywidgets controls: two of them, or two copies of one, never disturb
each other. A changed control is drawn a moment later; of many changes that arrive at once only the
last is drawn. The picture is a `Stage`, so only what moves is drawn again.

What a cell shows is the controls with the picture; where no kernel runs, the picture as it was
last set, with its words (`Explorer._repr_mimebundle_`).
"""

from __future__ import annotations

import asyncio
import base64
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anywidget
import ipywidgets as w  # type: ignore[import-untyped]

from kitchenlib.chips import chip
from kitchenlib.inputs import find, wrong
from kitchenlib.plots.style import Stage

_WAIT = 0.005  # seconds: long enough to skip what a dragged slider has overtaken, too short to see
_LABEL = {"description_width": "12em"}
_Setting = TypeVar("_Setting", bound=NamedTuple)

# --- controls ----------------------------------------------------------------------------------


def menu(label: str, options: Iterable[Any], value: Any) -> w.Dropdown:
    """A menu, named by its `label`; give options as values or as (shown, value) pairs.

    Raises ``ValueError`` that lists the options if `value` is not one of them.
    """
    offered = [option if isinstance(option, tuple) else (str(option), option) for option in options]
    values = [value for _, value in offered]
    if value not in values:
        raise wrong(label, value, f"choose one of {', '.join(map(str, values))}")
    return w.Dropdown(
        description=label, options=offered, value=value, style=_LABEL, layout={"width": "28em"}
    )


def chip_menu(names: Iterable[str], name: str) -> w.Dropdown:
    """The menu of chips, each as it is shown (marked where it is not fully verified); any name."""
    return menu("chip", [(chip(each).label, each) for each in names], chip(name).name)


def choose(control: w.Dropdown, name: str, value: Any) -> None:
    """Set a `control` called `name`; ``ValueError`` that lists the choices if it has no `value`."""
    control.value = offered(control, name, value)


def offered(control: w.Dropdown, name: str, value: Any) -> Any:
    """The choice of a `control` called `name` that `value` stands for, in any case of its letters.

    Raises ``ValueError`` that lists the choices if there is none.
    """
    choices = [option for _, option in control.options]
    for option in choices:
        same = type(option) is type(value) or isinstance(value, int | float)
        if same and not isinstance(value, bool) and option == value:
            return option
    if isinstance(value, str):
        alike = [o for o in choices if isinstance(o, str) and o.casefold() == value.casefold()]
        if alike:
            return alike[0]
    raise wrong(name, value, f"choose one of {', '.join(map(str, choices))}")


class Sizes(w.HBox):
    """A size on a logarithmic scale: a slider for the hand, a menu that says and names it.

    ipywidgets gives a slider no accessible name, so the menu beside it carries the label; both
    show the same value and both work by keyboard.
    """

    def __init__(self, label: str, sizes: Sequence[int], value: int) -> None:
        self.menu = menu(label, [(f"{size:,}", size) for size in sizes], value)
        self.menu.layout.width = "19em"
        self.slider = w.SelectionSlider(
            options=self.menu.options, value=value, readout=False, layout={"width": "18em"}
        )
        w.jslink((self.menu, "index"), (self.slider, "index"))
        super().__init__(
            [self.menu, self.slider], layout={"flex_flow": "row wrap", "width": "100%"}
        )


def started(worked: _Setting, changes: Mapping[str, Any]) -> _Setting:
    """The `worked` setting with other values; `UnknownName` for a name that it does not have."""
    for name in changes:
        find("setting of the explorer", name, dict.fromkeys(worked._fields))
    return worked._replace(**changes)


def powers_of_two(least: int, most: int) -> tuple[int, ...]:
    """1, 2, 4, ...: the powers of two from `least` to `most`."""
    return tuple(2**k for k in range(least.bit_length() - 1, most.bit_length()))


def one_two_five(most: int) -> tuple[int, ...]:
    """1, 2, 5, 10, 20, 50, ...: round numbers up to `most`."""
    sizes = (digit * 10**k for k in range(len(str(most))) for digit in (1, 2, 5))
    return tuple(size for size in sizes if size <= most)


class Later:
    """Calls `draw` a moment after a change; of many changes that arrive at once, after the last."""

    def __init__(self, draw: Callable[[], object], wait: float) -> None:
        self._draw, self._wait = draw, wait
        self._due: asyncio.TimerHandle | None = None

    def changed(self, _: Any) -> None:
        """To be given to a control's `observe`."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # plain Python, no kernel: nothing else will arrive
            self._draw()
            return
        self.forget()
        self._due = loop.call_later(self._wait, self._draw)

    def forget(self) -> None:
        """What was due is drawn by someone else."""
        if self._due:
            self._due.cancel()
            self._due = None


class _Keys(anywidget.AnyWidget):
    """Shows nothing. Leaves the keys of the menus beside it to them, not to JupyterLab."""

    _esm = Path(__file__).parents[1] / "assets" / "keys.js"


def explorer_box(*children: w.Widget) -> w.VBox:
    """The children, one below the other, their menus driven by the keyboard."""
    box = w.VBox([*children, _Keys()])
    box.add_class("kitchen-explorer")
    return box


# --- explorers ---------------------------------------------------------------------------------


class Explorer:
    """Controls, the picture that follows them, and its numbers in words.

    A subclass hands its stage and its controls to ``__init__`` and says in `move` what the
    controls' values do to the stage.

    Args:
        stage: the picture that moves.
        controls: name -> control (`menu` or `Sizes`); the names are the keywords of `move`.

    Attributes:
        groups: headings, and the names of the controls below each; {} for one row of them all.
    """

    groups: Mapping[str, str] = {}

    def __init__(self, stage: Stage, controls: Mapping[str, w.Dropdown | Sizes]) -> None:
        self.stage = stage
        self.controls = {
            name: control.menu if isinstance(control, Sizes) else control
            for name, control in controls.items()
        }
        self._image, self._words = w.HTML(), w.HTML()
        self._later = Later(self.draw, _WAIT)
        self.view = explorer_box(*self._arranged(controls), self._image, self._words)
        for control in self.controls.values():
            control.observe(self._later.changed, "value")
        self.draw()

    def move(self, **values: Any) -> Mapping[str, str]:
        """Move the stage to `values`; the numbers to be told below the picture."""
        raise NotImplementedError

    def _arranged(self, controls: Mapping[str, w.Dropdown | Sizes]) -> list[w.Widget]:
        """The `controls` as they stand above the picture."""
        if not self.groups:
            return [_row(controls.values())]
        rows = ((head, [controls[n] for n in names.split()]) for head, names in self.groups.items())
        return [part for head, row in rows for part in (w.HTML(f"<b>{head}</b>"), _row(row))]

    @property
    def values(self) -> dict[str, Any]:
        """What the controls are set to."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **values: Any) -> None:
        """Set controls from code and draw at once: ``explorer.set(batch=32)``.

        Raises `UnknownName` for a control that is not there, ``ValueError`` that lists the choices
        for a value that a control does not offer; then nothing is set.
        """
        found = {name: self._control(name) for name in values}
        chosen = {name: offered(found[name], name, value) for name, value in values.items()}
        for name, value in chosen.items():
            found[name].value = value
        self.draw()

    def _control(self, name: str) -> w.Dropdown:
        """The control of a name, which may be the word on its label: "guests" for the batch."""
        labels = {c.description.split(" (")[0]: n for n, c in reversed(self.controls.items())}
        return find("control", name, self.controls, labels)

    def draw(self) -> None:
        """Show what the controls say, now."""
        self._later.forget()
        facts = self.move(**self.values)
        self._image.value = _image(self.stage)
        self._words.value = _facts(facts)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        self.draw()
        return self.view._repr_mimebundle_() | self.stage.picture._repr_mimebundle_()

    def __repr__(self) -> str:
        return self.stage.picture.alt


def _row(controls: Iterable[w.Widget]) -> w.Box:
    """Controls side by side, in as many lines as it takes."""
    return w.Box(list(controls), layout={"display": "flex", "flex_flow": "row wrap"})


def _image(stage: Stage) -> str:
    """The stage's frame; its shape is given, so the page does not jump when it is exchanged."""
    picture = stage.picture
    wide, high = picture.size
    style = f"width:{picture.pixels}px;max-width:100%;height:auto;aspect-ratio:{wide}/{high}"
    data = base64.b64encode(stage.frame()).decode("ascii")
    alt = html.escape(picture.alt, quote=True)
    return f'<img alt="{alt}" src="data:image/png;base64,{data}" style="{style}">'


def _facts(facts: Mapping[str, str]) -> str:
    """Names and values in a line that wraps; a screen reader says it when it changes."""
    each = "".join(
        f'<span style="display:inline-block;margin-right:1.5em"><span style="opacity:0.75">'
        f"{html.escape(name)}:</span> <b>{html.escape(value)}</b></span>"
        for name, value in facts.items()
    )
    return f'<div role="status" aria-live="polite" style="line-height:1.6">{each}</div>'
