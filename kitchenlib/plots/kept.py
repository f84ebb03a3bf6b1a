"""What stays as it was from one frame of a moving picture to the next is not drawn again."""

from __future__ import annotations

from typing import Any

from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox


class Kept(Artist):
    """Words and bars before scenery: where they are as before, their pixels are put there again.

    An actor of a `kitchenlib.plots.style.Stage`. Letters and hatches are the dearest part of a
    frame. Artists of two of these never overlap, and what else moves is drawn after them.

    Args:
        artists: drawn together, in this order.
        rim: pixels around them that they may touch.
    """

    def __init__(self, *artists: Text | Rectangle, rim: int = 1) -> None:
        super().__init__()
        self._artists, self._rim = artists, rim
        self._state: object = None
        self._pixels: Any = None

    def get_visible(self) -> bool:
        return all(artist.get_visible() for artist in self._artists)

    def set_visible(self, b: bool) -> None:
        for artist in self._artists:
            artist.set_visible(b)

    def draw(self, renderer: RendererBase) -> None:
        assert isinstance(renderer, RendererAgg)
        state = [_state(artist) for artist in self._artists]
        if state == self._state:
            renderer.restore_region(self._pixels)
            return
        for artist in self._artists:
            artist.draw(renderer)
        taken = Bbox.union([artist.get_window_extent(renderer) for artist in self._artists])
        self._state, self._pixels = state, renderer.copy_from_bbox(taken.padded(self._rim))


def _state(artist: Text | Rectangle) -> tuple[object, ...]:
    """What tells whether an artist looks as before."""
    if isinstance(artist, Text):
        look = artist.get_color(), artist.get_fontweight()
        return artist.get_text(), artist.get_position(), *look
    return artist.get_x(), artist.get_width()
