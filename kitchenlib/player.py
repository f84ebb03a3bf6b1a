"""Flood and drip to play with: the film of a request, drawn in the browser.

`FilmPlayer` plays one `Film`. `FloodAndDrip` adds the choice of model, chip, sizes and formats; a
changed choice asks the law for a new film. Where no widget can be shown, both show a still picture.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w  # type: ignore[import-untyped]
import traitlets

from kitchenlib import precision
from kitchenlib.chips import chip, chips
from kitchenlib.film import PACES, Film, notes, pace_label, state_at
from kitchenlib.inputs import UnknownName, find, wrong
from kitchenlib.models import model, models
from kitchenlib.plots import flood, svg
from kitchenlib.plots.style import Picture
from kitchenlib.widgets.base import Later, Sizes, choose, explorer_box, menu, powers_of_two

_ASSETS = Path(__file__).parent / "assets"


class FilmPlayer(anywidget.AnyWidget):
    """A film with its controls: play, pause, step, scrub, time scale, and its events in words.

    Args:
        film: the request.
        pace: seconds of the machine that a second of film shows, one of `kitchenlib.film.PACES`;
            the reader can choose another. The film's own if none is given.

    Raises ``ValueError`` that lists the paces for another one.
    """

    _esm = _ASSETS / "player.js"
    sheet = traitlets.Unicode((_ASSETS / "player.css").read_text("utf-8")).tag(sync=True)
    sent = traitlets.Dict().tag(sync=True)  #: what the browser gets: the film, `packed`

    def __init__(self, film: Film, pace: float | None = None) -> None:
        super().__init__(sent=packed(film, pace))
        self.film = film

    def show(self, film: Film, pace: float | None = None) -> None:
        """Put in another film. Raises as the constructor does."""
        self.sent = packed(film, pace)
        self.film = film

    @property
    def still(self) -> Picture:
        """The picture that stands for the player where it cannot be shown."""
        return flood.still(self.film)

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        return _with_still(super()._repr_mimebundle_(*args, **kwargs), self.still)

    def __repr__(self) -> str:
        return self.still.alt


def _with_still(view: Any, still: Picture) -> dict[str, Any]:
    """The bundle of a widget, and the picture for everyone who cannot have the widget."""
    shown = view[0] if isinstance(view, tuple) else view
    return dict(shown or {}) | still._repr_mimebundle_()


def packed(film: Film, pace: float | None = None) -> dict[str, Any]:
    """All that the player in the browser needs to know of a film, as plain data."""
    chosen = film.pace if pace is None else pace
    if chosen not in PACES:
        listed = ", ".join(f"{each:g}" for each in PACES)
        raise wrong("pace", pace, f"give seconds of the machine for a second of film: {listed}")
    poster = flood.poster(film)
    state = state_at(film, poster)
    drawing, alt = flood.scene(film), flood.words(film, state)
    image, motions = svg.with_script(drawing, flood.channels(state), alt)
    return {
        "svg": image,
        "motions": motions,
        "size": drawing[:2],
        "timeline": flood.TIMELINE,
        "title": f"{flood.claim(film)}. {film.kitchen}, {film.guests}",
        "flood": film.flood._asdict(),
        "drip": film.drip._asdict(),
        "prompt": film.prompt,
        "events": [tuple(event) for event in film.events],
        "poster": poster,
        "pace": PACES.index(chosen),
        "paces": [
            {
                "pace": each,
                "label": pace_label(each),
                "notes": notes(film, each),
                "quick": film.quick(each),
            }
            for each in PACES
        ],
    }


# --- with the choice of everything -------------------------------------------------------------

_PROMPTS = (10, 100, 500, 1_000, 2_000, 4_000, 8_000, 20_000, 100_000)
_REPLIES = (2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_CHIPS = (1, 2, 4, 8)
_WAIT = 0.01  # seconds: of many changes that arrive at once, only the last makes a film


class FloodAndDrip:
    """The player with the choice of model, chip, number of chips, sizes and formats.

    Args:
        pace: as for `FilmPlayer`.
        model, chip: names in the catalogues.
        setting: the other keywords of `kitchenlib.film.Film`.

    Raises `UnknownName` that lists near matches for a name that is in no catalogue, and what
    `Film` raises.
    """

    def __init__(
        self,
        model: str = "Llama-2-70B",
        chip: str = "H100 SXM",
        pace: float | None = None,
        **setting: Any,
    ) -> None:
        if (model, chip) == ("Llama-2-70B", "H100 SXM"):
            setting = {"chips": 2} | setting  # the sack does not fit into one
        film = _film(model, chip, **setting)
        self.player = FilmPlayer(film, pace)
        self.controls = _controls(film)
        self.words = w.HTML()
        self._later = Later(self.draw, _WAIT)
        rows = w.Box(list(self.controls.values()), layout={"flex_flow": "row wrap"})
        self.view = explorer_box(rows, self.words, self.player)
        for control in self.controls.values():
            _menu(control).observe(self._later.changed, "value")

    @property
    def values(self) -> dict[str, Any]:
        """What the controls are set to."""
        return {name: _menu(control).value for name, control in self.controls.items()}

    def set(self, **values: Any) -> None:
        """Set controls from code: ``demo.set(batch=32)``.

        Raises ``ValueError`` that lists the choices for a value that a control does not offer.
        """
        for name, value in values.items():
            choose(_menu(find("control", name, self.controls)), name, value)
        self.draw()

    def draw(self) -> None:
        """Make the film that the controls ask for; say why, if the law says no."""
        self._later.forget()
        try:
            names = self.values
            self.player.show(_film(names.pop("model"), names.pop("chip"), **names))
        except (ValueError, UnknownName) as refused:
            said = html.escape(str(refused))
            self.words.value = f'<div role="alert"><b>No film of this.</b> {said}</div>'
        else:
            self.words.value = ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return _with_still(self.view._repr_mimebundle_(), self.player.still)

    def __repr__(self) -> str:
        return repr(self.player)


def _film(of: str, on: str, **setting: Any) -> Film:
    return Film(model(of), chip(on), **setting)


def _controls(film: Film) -> dict[str, w.Dropdown | Sizes]:
    """The menus, set to `film`; a size of its own is offered too."""
    formats = [each.name for each in precision.formats()]
    chip_names = [(each.label, each.name) for each in chips()]
    return {
        "model": menu("model", [each.name for each in models()], film.model.name),
        "chip": menu("chip", chip_names, film.chip.name),
        "chips": menu("chips", _with(_CHIPS, film.chips), film.chips),
        "batch": Sizes("guests (batch)", _with(powers_of_two(1, 256), film.batch), film.batch),
        "prompt": Sizes("prompt (tokens)", _with(_PROMPTS, film.prompt), film.prompt),
        "reply": Sizes("reply (tokens)", _with(_REPLIES, film.reply), film.reply),
        "weights": menu("weights (format)", formats, film.weights),
        "kv": menu("notes (format)", ("bf16", "fp8", "int4"), film.kv),
    }


def _with(sizes: tuple[int, ...], own: int) -> tuple[int, ...]:
    return tuple(sorted({*sizes, own}))


def _menu(control: w.Dropdown | Sizes) -> w.Dropdown:
    return control.menu if isinstance(control, Sizes) else control
