"""The form in which a prediction is asked: a button for each option, or a field for a number.

Buttons, because they are the one way to choose that works by keyboard inside a JupyterLab cell:
radio buttons and lists lose their arrow keys (and letters) to the shortcuts of the notebook.
Pressing one is the prediction. A number counts with the button or the Enter key. Leaving the field
keeps nothing, for the number may be half typed.

The form holds the same question as text and HTML in its output, so that a page without a kernel
shows it too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from kitchenlib.exercises.cards import ASK, HINT, QUIET, Card, to_html, to_text, written
from kitchenlib.exercises.predicting import Prediction
from kitchenlib.exercises.reading import Unreadable, lettered, typed_number

KEEP = "Keep this prediction"
AT_ONCE = 0.5  # seconds: the browser sends the Enter key and, right behind it, what was typed

_CARD = {
    "border": f"1px solid {QUIET}",
    "border_left": f"6px solid {ASK}",
    "padding": "8px 16px",
    "margin": "6px 0",
    "max_width": "54em",
}
_AS_WIDE_AS_ITS_WORDS = {"width": "auto", "max_width": "100%", "align_self": "flex-start"}


class PredictionForm(widgets.VBox):
    """A form for `prediction`, showing the `earlier` guess if there is one.

    `remember` is called with what was chosen or typed and returns what to say about it.
    """

    def __init__(
        self,
        prediction: Prediction,
        earlier: str | float | None,
        remember: Callable[[Any], Card],
    ) -> None:
        self._remember = remember
        self._card = prediction.ask()
        self.status = widgets.HTML()
        self.options = {
            option.name: _button(f"{letter}) {option.label}", partial(self._choose, option.name))
            for letter, option in lettered(prediction.options)
        }
        controls = list(self.options.values())
        if not controls:
            self.field = _field(prediction.unit, earlier)
            self.field.on_msg(self._key)
            self.field.observe(self._typed, "value")
            self._entered = -math.inf
            controls = [self.field, _button(KEEP, self._keep)]
        if earlier is not None:
            self._show(earlier, prediction.remembered(earlier, earlier))
        prompt = widgets.HTML(f"<strong>Predict</strong>{to_html(written(prediction.prompt))}")
        super().__init__([prompt, *controls, self.status], layout=_CARD)

    def _choose(self, name: str, _: Any = None) -> None:
        self._show(name, self._remember(name))

    def _key(self, _: Any, message: dict[str, Any], __: Any = None) -> None:
        """The field reports the Enter key before what was typed, if that is new."""
        if message.get("event") == "submit":
            self._entered = time.monotonic()

    def _typed(self, _: Any = None) -> None:
        """What was typed arrives: with the Enter key, or because the field was left."""
        if time.monotonic() - self._entered < AT_ONCE:
            self._entered = -math.inf
            self._keep()
        elif self.field.value.strip():
            self._show(None, Card("Not kept yet", f"Press *{KEEP}* when it is complete.", HINT))

    def _keep(self, _: Any = None) -> None:
        try:
            said = self._remember(typed_number(self.field.value))
        except Unreadable as trouble:
            said = Card("Not a prediction yet", str(trouble), HINT)
        self._show(None, said)

    def _show(self, chosen: str | float | None, said: Card) -> None:
        """Mark the chosen option and say what there is to say."""
        for name, button in self.options.items():
            button.icon = "check" if name == chosen else ""
        words = to_html(f"{said.title}. {said.body}\n\n{said.note}")
        self.status.value = f'<div role="status">{words}</div>'

    def __repr__(self) -> str:
        return repr(self._card)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = dict(super()._repr_mimebundle_(**kwargs) or {})
        return bundle | {"text/plain": repr(self), "text/html": self._card._repr_html_()}


def _button(words: str, pressed: Callable[[Any], None]) -> widgets.Button:
    button = widgets.Button(description=to_text(words), layout=_AS_WIDE_AS_ITS_WORDS)
    button.on_click(pressed)
    return button


def _field(unit: str, earlier: str | float | None) -> widgets.Text:
    return widgets.Text(
        value="" if earlier is None else str(earlier).removesuffix(".0"),
        description=f"Your prediction in {unit}" if unit else "Your prediction",
        placeholder="a number",
        continuous_update=False,
        style={"description_width": "initial"},
        layout={"width": "24em"},
    )
