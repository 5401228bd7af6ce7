"""Privacy against utility: where each setting of each defense stands.

tradeoff({"ℓ1": [(accuracy, advantage), …]}, undefended=(…), labels={"ℓ1": ["0.001", …]})
tradeoff(…, columns=3)                              # a panel for each defense
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patheffects import withStroke

from mialib.course.plots.palette import COLOR, look_of
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    band_of,
    counted,
    draw_dotted_cross,
    numbers_of_points,
    panel_grid,
    rows_of,
)
from mialib.course.plots.spoken import capital, listed, spoken_points
from mialib.estimates import Estimate

Point = tuple[Estimate, Estimate]  # accuracy and advantage
Box = tuple[float, float, float, float]  # left, bottom, right, top, in printer's points

ACCURACY = "test accuracy"
PALE = "#c8c8c8"
MARGIN = 0.07  # of accuracy and of advantage, around the points
TEXT_SIZE = 9
LETTER_WIDTH = 5.8  # of a text of that size, on average
LINE_HEIGHT = 12
MARKER = 4  # how far one reaches from its point
# Where a label may stand beside its point, in printer's points: how far, and how it is aligned.
PLACES = (
    (6, 0, "left", "center"),
    (-6, 0, "right", "center"),
    (5, 5, "left", "bottom"),
    (5, -5, "left", "top"),
    (-5, 5, "right", "bottom"),
    (-5, -5, "right", "top"),
)
LEFT_FIRST = tuple(sorted(PLACES, key=lambda place: place[0] > 0))


def tradeoff(
    series: Mapping[str, Sequence[Point]],
    *,
    undefended: Point,
    labels: Mapping[str, Sequence[str]] | None = None,
    columns: int | None = None,
    unjoined: Collection[str] = (),
    up: str = "highest advantage",
    along: str = ACCURACY,
    looks: Mapping[str, int] | None = None,
) -> Picture:
    """Test accuracy (right is better) against highest advantage (down is better), by series.

    The undefended model is a star with a dotted cross; thin crosses are 95 % intervals. `labels`
    writes beside the points of a series. With `columns`, each series has a panel of its own, in
    rows of so many, and the others stand behind it in grey. No line joins the points of the series
    in `unjoined`: they are kinds, not strengths. `up` and `along` say what the axes are, if they
    are others. A defense has the colour and the marker that the palette gives it, and any other
    series those of its place, or of the place that `looks` gives it.
    """
    texts = labels or {}
    places = dict(zip(series, range(len(series)), strict=True)) | dict(looks or {})
    look = {name: look_of(name, place) for name, place in places.items()}
    everything = [point for points in series.values() for point in points]

    def draw_plane(figure: FigureBase) -> None:
        axes = figure.subplots()
        for name, points in series.items():
            _draw_series(axes, points, look[name], name, joined=name not in unjoined)
        _draw_undefended(axes, undefended)
        _frame(axes, [*everything, undefended])
        written = [text for name in series for text in _texts_of(name, series, texts)]
        write_labels(axes, written, everything, [*everything, undefended], size=(420, 215))
        axes.set(xlabel=along, ylabel=up)
        figure.legend(loc="outside upper center", ncols=4)

    def draw_panels(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(series), columns or 1, sharex=True, sharey=True)
        for axes, (name, points) in zip(grid, series.items(), strict=True):
            _draw_behind(axes, [some for other, some in series.items() if other != name])
            _draw_series(axes, points, look[name], name, joined=name not in unjoined)
            _draw_undefended(axes, undefended)
            axes.set_title(name)
        for axes in grid[-(columns or 1) :]:  # The lowest of each column: below some nothing is.
            axes.tick_params(labelbottom=True)
        _frame(grid[0], [*everything, undefended], right=0.16)  # for labels
        width = 470 / (columns or 1)
        for axes, (name, points) in zip(grid, series.items(), strict=True):
            written = _texts_of(name, series, texts)
            write_labels(axes, written, points, [*points, undefended], size=(width, 130))
        figure.supxlabel(along, fontsize=10)
        figure.supylabel(up, fontsize=10)

    panels = rows_of(len(series), columns) if columns else 0
    everyone = {"undefended": [undefended], **series}
    told = listed(_told(name, points, texts.get(name, ())) for name, points in everyone.items())
    behind = " A grey dot is a setting of another panel." if columns else ""
    best = ", and the lower right is best" if along == ACCURACY else ""
    return Picture(
        draw_panels if columns else draw_plane,
        alt=f"Scatter plot of {up} (up) against {along} (right), with "
        f"{'a panel' if columns else 'lines'} by defense: {told}.",
        caption=f"{capital(up)} against {along}, 95 % intervals; the star is the undefended "
        f"model{best}.{behind}",
        size=(7.2, 0.6 + 2.15 * panels) if columns else (6.8, 4.0),
        numbers=numbers_of_points(counted(series), along.removeprefix("test "), "advantage"),
    )


def _draw_series(
    axes: Axes, points: Sequence[Point], look: tuple[str, str], name: str, *, joined: bool
) -> None:
    color, marker = look
    accuracy = band_of(point[0] for point in points)
    advantage = band_of(point[1] for point in points)
    axes.errorbar(
        accuracy.value,
        advantage.value,
        xerr=accuracy.errors(),
        yerr=advantage.errors(),
        color=color,
        marker=marker,
        markersize=5,
        linestyle="-" if joined else "none",
        linewidth=1,
        elinewidth=0.5,
        label=name,
    )


def _draw_behind(axes: Axes, others: Sequence[Sequence[Point]]) -> None:
    places = [(x.value, y.value) for points in others for x, y in points]
    if places:
        axes.plot(*np.transpose(places), "o", color=PALE, markersize=3.5, zorder=1)


def _draw_undefended(axes: Axes, undefended: Point) -> None:
    x, y = (estimate.value for estimate in undefended)
    axes.plot(x, y, "*", color=COLOR["mark"], markersize=12, label="undefended", zorder=4)
    draw_dotted_cross(axes, x, y)


def _frame(axes: Axes, points: Sequence[Point], *, right: float = MARGIN) -> None:
    """Show all points; an interval of few trainings may reach beyond the frame."""
    places = np.array([(x.value, y.value) for x, y in points])
    left, bottom = places.min(axis=0)
    end, top = places.max(axis=0)
    wide = max(1.0, end - left)  # The margins are those of shares; other numbers reach farther.
    axes.set_xlim(left - MARGIN * wide, end + right * wide)
    axes.set_ylim(bottom - MARGIN, top + MARGIN)


def _texts_of(
    name: str, series: Mapping[str, Sequence[Point]], texts: Mapping[str, Sequence[str]]
) -> list[str]:
    """A text for each point of a series; points without one have the empty text."""
    given = list(texts.get(name, ()))
    return given + [""] * (len(series[name]) - len(given))


def write_labels(
    axes: Axes,
    texts: Sequence[str],
    points: Sequence[Point],
    obstacles: Sequence[Point],
    *,
    size: tuple[float, float],
    colors: Sequence[str] = (),
    left_first: Collection[str] = (),
) -> None:
    """Each text beside its point, where it covers least; `size` is about that of the axes.

    Texts are black, or have a colour each. Those in a colour of `left_first` rather stand on the
    left, the others on the right.
    """
    to_fraction = axes.transLimits.transform
    taken = [_box(*to_fraction((x.value, y.value)) * size) for x, y in obstacles]
    inks = colors or [COLOR["mark"]] * len(texts)
    for text, (x, y), ink in zip(texts, points, inks, strict=True):
        if not text:
            continue
        at = to_fraction((x.value, y.value)) * size
        places = LEFT_FIRST if ink in left_first else PLACES
        boxes = [_text_box(text, at, place) for place in places]
        costs = [_covered(box, taken, size) for box in boxes]
        best = int(np.argmin(costs))
        taken.append(boxes[best])
        right, up, across, along = places[best]
        axes.annotate(
            text,
            (x.value, y.value),
            xytext=(right, up),
            textcoords="offset points",
            ha=across,
            va=along,
            fontsize=TEXT_SIZE,
            color=ink,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            zorder=5,
        )


def _box(x: float, y: float) -> Box:
    """What a marker takes."""
    return x - MARKER, y - MARKER, x + MARKER, y + MARKER


def _text_box(text: str, at: np.ndarray, place: tuple[float, float, str, str]) -> Box:
    right, up, across, along = place
    width = LETTER_WIDTH * len(text)
    left = at[0] + right - (width if across == "right" else 0)
    below = {"bottom": 0, "center": LINE_HEIGHT / 2, "top": LINE_HEIGHT}[along]
    bottom = at[1] + up - below
    return left, bottom, left + width, bottom + LINE_HEIGHT


def _covered(box: Box, taken: Sequence[Box], size: tuple[float, float]) -> float:
    """The area of other things that a box covers; leaving the axes costs as much as a marker.

    To the left, where the numbers of the axis stand, what lies outside costs its own area as well.
    """
    left, bottom, right, top = box
    area = 0.0
    for other in taken:
        across = min(right, other[2]) - max(left, other[0])
        along = min(top, other[3]) - max(bottom, other[1])
        area += max(across, 0) * max(along, 0)
    outside = left < 0 or bottom < 0 or right > size[0] or top > size[1]
    over_numbers = max(-left, 0) * LINE_HEIGHT
    return area + over_numbers + 64 * outside


def _told(name: str, points: Sequence[Point], texts: Sequence[str]) -> str:
    if name == "undefended":
        return f"{name} {spoken_points(points)}"
    if len(texts) != len(points) or not all(texts):
        return f"{name}: {spoken_points(points)}"
    labelled = [
        f"{text} {spoken_points([point])}" for text, point in zip(texts, points, strict=True)
    ]
    return f"{name}: {', '.join(labelled)}"
