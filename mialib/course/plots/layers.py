"""Pictures of which only a part moves with a slider: the rest is drawn once and kept.

    layers = Layers("ROC", draw_curve, draw_point, key=scores.tobytes())
    layers.draw(figure)     # both: what a file or a row of small multiples gets
    layers.png((6.4, 3.2))  # both, but `draw_curve` only if its key is new
    steady_png("ROC", draw, (6.4, 3.2))     # where everything moves but the axes

Drawing axes, ticks and bars takes ten times as long as drawing a line and a point on top of them,
and finding places for the axes as long as all the drawing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.text import Text
from matplotlib.transforms import Bbox, BboxBase

from mialib.course.plots.files import as_png, draw_names_plainly, drawn, new_figure
from mialib.course.plots.palette import STYLE

Size = tuple[float, float]  # in inches
Draw = Callable[[FigureBase], None]
KEPT = 8  # still parts; each takes about three megabytes
_kept: OrderedDict[Hashable, Still] = OrderedDict()
_places: dict[Hashable, Places] = {}  # by the name of the pictures and their size


class Places(NamedTuple):
    """Where the layout has put the axes, and the texts of the figure itself."""

    axes: list[Bbox]
    texts: list[tuple[float, float]]

    @classmethod
    def of(cls, figure: Figure) -> Places:
        return cls(
            [axes.get_position(original=True) for axes in figure.axes],
            [text.get_position() for text in figure.texts],
        )

    def put(self, figure: Figure) -> None:
        """Place everything, and nothing shifts from here on."""
        figure.set_layout_engine("none")
        for axes, place in zip(figure.axes, self.axes, strict=True):
            axes.set_position(place)
        for text, place in zip(figure.texts, self.texts, strict=True):
            text.set_position(place)


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
        """Everything as a file. The first picture of a name decides where the axes stand.

        Where words at the axes would be cut off there, the picture has places of its own.
        """
        with matplotlib.rc_context(STYLE):
            still = self._find_or_draw(size)
            return still.with_moving(self.moving)

    def _find_or_draw(self, size: Size) -> Still:
        key = (self.name, size, self.key)
        if key not in _kept:
            places = _places.get((self.name, size))
            _kept[key] = Still(self.still, size, places)
            if places is None:
                _places[self.name, size] = _kept[key].places
            elif _is_cut_off(_kept[key].figure):
                _kept[key] = Still(self.still, size, None)
        _kept.move_to_end(key)
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
        return _kept[key]


def steady_png(name: Hashable, draw: Draw, size: Size) -> bytes:
    """A picture as a file, its axes where those of the first picture of this name stand.

    Where words at the axes would be cut off there, it has places of its own.
    """
    with matplotlib.rc_context(STYLE):
        places = _places.get((name, size))
        canvas = _drawn_at(places, draw, size)
        if places is None:
            _places[name, size] = Places.of(canvas.figure)
        elif _is_cut_off(canvas.figure):
            canvas = _drawn_at(None, draw, size)
        return as_png(canvas)


def _drawn_at(places: Places | None, draw: Draw, size: Size) -> FigureCanvasAgg:
    figure = new_figure(size)
    draw(figure)
    if places is not None:
        places.put(figure)
    return drawn(figure)


def _is_cut_off(figure: Figure) -> bool:
    """Whether a word beside or below the axes reaches beyond the figure's edge."""
    words = [word for axis in _axis_of(figure) for word in _words_at(axis)]
    extents = [word.get_window_extent() for word in words]
    return bool(extents) and not _holds(figure.bbox, Bbox.union(extents))


def _axis_of(figure: Figure) -> list[Axis]:
    """Every x axis and y axis that is drawn."""
    drawn_axes = [axes for axes in figure.axes if axes.axison]
    return [axis for axes in drawn_axes for axis in (axes.xaxis, axes.yaxis)]


def _words_at(axis: Axis) -> list[Text]:
    """The name of an axis, and the numbers or names at its ticks."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    words = [axis.label, *(tick.label1 for tick in ticks), *(tick.label2 for tick in ticks)]
    return [word for word in words if word.get_visible() and word.get_text()]


def _holds(outer: BboxBase, inner: BboxBase) -> bool:
    from_corner = outer.x0 <= inner.x0 and outer.y0 <= inner.y0
    to_corner = inner.x1 <= outer.x1 and inner.y1 <= outer.y1
    return from_corner and to_corner


class Still:
    """A drawn figure, its pixels, and what stood on it.

    `places` are those of its axes, if they are known.
    """

    def __init__(self, draw: Draw, size: Size, places: Places | None):
        self.figure = new_figure(size)
        draw(self.figure)
        _hold_limits(self.figure)
        if places is not None:
            places.put(self.figure)
        self.canvas = drawn(self.figure)
        self.figure.set_layout_engine("none")  # Nothing may shift from here on.
        self.places = Places.of(self.figure)
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


def _hold_limits(figure: FigureBase) -> None:
    """What moves must not stretch the axes under it."""
    for axes in axes_of(figure):
        # Asked for, limits that wait for the drawing are found now; then they are fixed.
        axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())


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
