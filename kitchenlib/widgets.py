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
from typing import Any

import anywidget
import ipywidgets as w  # type: ignore[import-untyped]

from kitchenlib import precision
from kitchenlib.chips import chip, chips
from kitchenlib.efficiency import efficiencies
from kitchenlib.inputs import find, wrong
from kitchenlib.models import model, models
from kitchenlib.plots import billing, fixing
from kitchenlib.plots.bill import BillStage
from kitchenlib.plots.billing import Bill
from kitchenlib.plots.explorer import PHASES, WORKED, RooflineStage, Setting
from kitchenlib.plots.fixing import Fixes
from kitchenlib.plots.stacking import FixesStage
from kitchenlib.plots.style import Stage
from kitchenlib.plots.welcome import GUESTS, Taste
from kitchenlib.units import dollars

_WAIT = 0.005  # seconds: long enough to skip what a dragged slider has overtaken, too short to see
_LABEL = {"description_width": "12em"}

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

    _esm = Path(__file__).parent / "assets" / "keys.js"


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
    """

    def __init__(self, stage: Stage, controls: Mapping[str, w.Dropdown | Sizes]) -> None:
        self.stage = stage
        self.controls = {
            name: control.menu if isinstance(control, Sizes) else control
            for name, control in controls.items()
        }
        self._image, self._words = w.HTML(), w.HTML()
        self._later = Later(self.draw, _WAIT)
        self.view = explorer_box(*self.arranged(controls), self._image, self._words)
        for control in self.controls.values():
            control.observe(self._later.changed, "value")
        self.draw()

    def move(self, **values: Any) -> Mapping[str, str]:
        """Move the stage to `values`; the numbers to be told below the picture."""
        raise NotImplementedError

    def arranged(self, controls: Mapping[str, w.Dropdown | Sizes]) -> list[w.Widget]:
        """The `controls` as they stand above the picture."""
        return [_row(controls.values())]

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
        for name in setting:
            find("setting of the explorer", name, dict.fromkeys(Setting._fields))
        start = WORKED._replace(**setting)
        of, on = model(start.model), chip(start.chip)  # by any of their names
        form = precision.number_format(start.weights)
        formats = [each.name for each in precision.formats()]
        controls = {
            "chip": menu("chip", _labels(), on.name),
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


def _labels() -> list[tuple[str, str]]:
    """Every chip as it is shown (marked where it is not fully verified) and its name."""
    return [(each.label, each.name) for each in chips()]


class TasteExplorer(Explorer):
    """One slider: how many guests are served at once, Llama-2-70B on an H100 SXM."""

    stage: Taste

    def __init__(self, guests: int = 1) -> None:
        stage = Taste(chip("H100 SXM"), model("Llama-2-70B"))
        super().__init__(stage, {"guests": Sizes("guests served at once", GUESTS, guests)})

    def move(self, **values: Any) -> Mapping[str, str]:
        self.stage.serve(**values)
        return self.stage.facts(**values)


class BillExplorer(Explorer):
    """Your workload, a kitchen of your own, a price sheet: both bills, and from when it pays.

    Args:
        setting: keywords of `kitchenlib.plots.billing.Bill`: requests, prompt, cached, reasoning,
            reply; model, weights, chip, chips, batch, occupancy, efficiency; sheet.

    Raises `UnknownName` that lists near matches for a name that is not offered, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: BillStage

    #: Headings, and the controls below each.
    groups: Mapping[str, str] = {
        "your guests": "requests prompt cached reasoning reply",
        "your kitchen": "model weights chip chips batch occupancy efficiency",
        "the price sheet": "sheet",
    }

    def __init__(self, **setting: Any) -> None:
        for name in setting:
            find("setting of the explorer", name, dict.fromkeys(Bill._fields))
        start = billing.WORKED._replace(**setting)
        chip_hour = _offered("chip-hour", start.chip, billing.rented())
        sheet = _offered("price sheet", start.sheet, billing.sheets())
        named = [each.name for each in efficiencies()]
        controls = {
            "requests": Sizes("requests a day", one_two_five(10_000_000), start.requests),
            "prompt": Sizes("prompt (tokens)", one_two_five(100_000), start.prompt),
            "cached": menu("cached (of the prompt)", _shares(*billing.CACHED), start.cached),
            "reasoning": menu("reasoning (tokens)", _sizes(*billing.REASONING), start.reasoning),
            "reply": Sizes("reply (tokens)", one_two_five(10_000), start.reply),
            "model": menu("model", billing.MODELS, model(start.model).name),
            "weights": menu("weights (format)", billing.WEIGHTS, start.weights),
            "chip": menu("chip, dollars an hour", _chip_hours(), chip_hour),
            "chips": menu("chips together", (1, 2, 4, 8), start.chips),
            "batch": Sizes("guests (batch)", powers_of_two(1, 1024), start.batch),
            "occupancy": menu(
                "occupied (of the time)", _shares(*billing.OCCUPANCY), start.occupancy
            ),
            "efficiency": menu("efficiency", named, start.efficiency),
            "sheet": menu("price sheet, its date", _sheets(), sheet),
        }
        for name in ("chip", "sheet"):
            controls[name].layout = {"width": "46em", "max_width": "100%"}
        super().__init__(BillStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        bill = Bill(**values)
        self.stage.show(bill)
        return bill.facts()

    def arranged(self, controls: Mapping[str, w.Dropdown | Sizes]) -> list[w.Widget]:
        return _grouped(self.groups, controls)


def _offered(kind: str, name: object, offered: Iterable[str]) -> str:
    """The one of the `offered` names that `name` stands for; `UnknownName` lists near ones."""
    return find(kind, name, {each: each for each in offered})


def _shares(*shares: float) -> list[tuple[str, float]]:
    return [(f"{share:.0%}", share) for share in shares]


def _sizes(*sizes: int) -> list[tuple[str, int]]:
    return [(f"{size:,}", size) for size in sizes]


def _chip_hours() -> list[tuple[str, str]]:
    """Every chip-hour to choose: whose chip, its price and its date."""
    return [
        (f"{name}: {dollars(row.usd or 0)}{billing.doubt(row)}, {row.date}", name)
        for name, row in billing.rented().items()
    ]


def _sheets() -> list[tuple[str, str]]:
    """Every price sheet to choose, with its date."""
    return [(f"{name}: {each.row.when}", name) for name, each in billing.sheets().items()]


class FixesExplorer(Explorer):
    """Fixes on top of each other: one pass, what comes of it, and which fix would help next.

    Args:
        setting: keywords of `kitchenlib.plots.fixing.Fixes`: weights, batch, clipboards, drafted,
            acceptance; kv, tokens; model, chip, chips, efficiency.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, ``ValueError``
    that lists the choices for a value that the control does not offer.
    """

    stage: FixesStage

    #: Headings, and the controls below each.
    groups: Mapping[str, str] = {
        "the four fixes": "weights batch clipboards drafted acceptance",
        "the notes": "kv tokens",
        "the kitchen": "model chip chips efficiency",
    }

    def __init__(self, **setting: Any) -> None:
        for name in setting:
            find("setting of the explorer", name, dict.fromkeys(Fixes._fields))
        start = fixing.UNFIXED._replace(**setting)
        of, on = model(start.model), chip(start.chip)  # by any of their names
        form = precision.number_format(start.weights)
        named = [each.name for each in efficiencies()]
        guests = powers_of_two(1, fixing.MOST_GUESTS)
        controls = {
            "weights": menu("weights (format)", fixing.WEIGHTS, form.name),
            "batch": Sizes("guests (batch)", guests, start.batch),
            "clipboards": menu("clipboards (KV heads)", fixing.CLIPBOARDS, start.clipboards),
            "drafted": menu("guesses (tokens)", fixing.DRAFTED, start.drafted),
            "acceptance": menu("acceptance (chance)", fixing.ACCEPTANCE, start.acceptance),
            "kv": menu("notes (format)", fixing.NOTES, start.kv),
            "tokens": Sizes("notes (tokens)", powers_of_two(128, 131072), start.tokens),
            "model": menu("model", fixing.MODELS, of.name),
            "chip": menu("chip", [(chip(each).label, each) for each in fixing.CHIPS], on.name),
            "chips": menu("chips together", (1, 2, 4, 8), start.chips),
            "efficiency": menu("efficiency", named, start.efficiency),
        }
        super().__init__(FixesStage(), controls)

    def move(self, **values: Any) -> Mapping[str, str]:
        kitchen = Fixes(**values)
        self.stage.show(kitchen)
        return kitchen.facts()

    def arranged(self, controls: Mapping[str, w.Dropdown | Sizes]) -> list[w.Widget]:
        return _grouped(self.groups, controls)


def _grouped(
    groups: Mapping[str, str], controls: Mapping[str, w.Dropdown | Sizes]
) -> list[w.Widget]:
    """The controls below their headings."""
    return [
        part
        for heading, names in groups.items()
        for part in (w.HTML(f"<b>{heading}</b>"), _row(controls[name] for name in names.split()))
    ]
