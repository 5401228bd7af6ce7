"""Pictures of which only a part moves with a slider: the rest is drawn once and kept.

    layers = Layers("ROC", draw_curve, draw_point, key=scores.tobytes())
    layers.draw(figure)     # both: what a file or a row of small multiples gets
    layers.png((6.4, 3.2))  # both, but `draw_curve` only if its key is new

Drawing axes, ticks and bars takes ten times as long as drawing a line and a point on top of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.transforms import Bbox

from mialib.course.plots.files import as_png, draw_names_plainly, drawn, new_figure
from mialib.course.plots.palette import STYLE

Size = tuple[float, float]  # in inches
Draw = Callable[[FigureBase], None]
KEPT = 8  # still parts; each takes about three megabytes
_kept: OrderedDict[Hashable, Still] = OrderedDict()
_places: dict[Hashable, list[Bbox]] = {}  # of the axes, by the name of the layers and the size


@dataclass(frozen=True)
class Layers:
    """`still` and then `moving` draw on a figure.

    Pictures with the same name have the same axes in the same places; with the same key, too, they
    share `still`. `moving` finds the axes by `axes_of(figure)` and adds to them; it changes neither
    limits nor ticks. For titles that move there are `keep_room_for_titles` and `moving_title`.
    """

    name: str
    still: Draw
    moving: Draw
    key: Hashable

    def draw(self, figure: FigureBase) -> None:
        """Everything."""
        self.still(figure)
        _hold_limits(figure)
        self.moving(figure)

    def png(self, size: Size) -> bytes:
        """Everything as a file. The first picture of a name decides where the axes stand."""
        with matplotlib.rc_context(STYLE):
            still = self._find_or_draw(size)
            return still.with_moving(self.moving)

    def _find_or_draw(self, size: Size) -> Still:
        key = (self.name, size, self.key)
        if key not in _kept:
            _kept[key] = Still(self.still, size, _places.get((self.name, size)))
            _places[self.name, size] = _kept[key].places
        _kept.move_to_end(key)
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
        return _kept[key]


class Still:
    """A drawn figure, its pixels, and what stood on it.

    `places` are those of its axes, if they are known; finding them takes as long as drawing.
    """

    def __init__(self, draw: Draw, size: Size, places: list[Bbox] | None):
        self.figure = new_figure(size)
        draw(self.figure)
        _hold_limits(self.figure)
        if places is not None:
            _put(self.figure, places)
        self.canvas = drawn(self.figure)
        self.figure.set_layout_engine("none")  # Nothing may shift from here on.
        self.places = [axes.get_position(original=True) for axes in self.figure.axes]
        self.pixels = self.canvas.copy_from_bbox(self.figure.bbox)
        self.before = {axes: set(axes.get_children()) for axes in self.figure.axes}

    def with_moving(self, draw: Draw) -> bytes:
        """The pixels with what `draw` puts on them; the figure is left as it was."""
        self.canvas.restore_region(self.pixels)
        try:
            draw(self.figure)
            for axes in self.figure.axes:
                self._draw_what_is_new(axes)
            return as_png(self.canvas)
        finally:
            for axes in self.figure.axes:
                for artist in self._new(axes):
                    artist.remove()

    def _draw_what_is_new(self, axes: Axes) -> None:
        new = self._new(axes)
        draw_names_plainly(new)
        for artist in sorted(new, key=Artist.get_zorder):
            axes.draw_artist(artist)

    def _new(self, axes: Axes) -> list[Artist]:
        """What was added to these axes."""
        before = self.before[axes]
        return [artist for artist in axes.get_children() if artist not in before]


def _put(figure: Figure, places: list[Bbox]) -> None:
    figure.set_layout_engine("none")
    for axes, place in zip(figure.axes, places, strict=True):
        axes.set_position(place)


def _hold_limits(figure: FigureBase) -> None:
    """What moves must not stretch the axes under it."""
    for axes in axes_of(figure):
        axes.autoscale(False)


def axes_of(figure: FigureBase) -> list[Axes]:
    """The axes of a figure or a subfigure, in the order in which they were made."""
    assert isinstance(figure, Figure | SubFigure)
    return figure.axes


def keep_room_for_titles(*some: Axes, lines: int = 1) -> None:
    """Without a title the layout would leave no room above the axes for one that moves."""
    for axes in some:
        axes.set_title("\n".join(" " * lines))


def moving_title(axes: Axes, title: str, *, fontsize: float = 10) -> None:
    """A title that may be wider than its axes."""
    text = axes.annotate(
        title,
        (0, 1),
        xytext=(0, 4),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=fontsize,
        annotation_clip=False,
    )
    text.set_in_layout(False)
