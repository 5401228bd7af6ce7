"""Defense level against accuracy, after Fig. 1 of the sparsity paper.

| function | what it draws |
|---|---|
| `defense_plane` | all kinds of networks in one plane, as the paper does |
| `defense_panels` | a panel for each kind, with the others behind it in grey |
| `slope_fan` | one kind, and the slopes that its trainings allow |

    points = [(one.accuracy(), one.defense_level()) for one in pruned.settings()]
    show(defense_panels({"pruned (IMP)": points}, star=(dense.accuracy(), dense.defense_level())))

A kind of network keeps its colour and its marker in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patheffects import withStroke

from mialib.course.plots.palette import COLOR, look_of
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    Band,
    band_of,
    counted,
    draw_dotted_cross,
    numbers_of_points,
    panel_grid,
    rows_of,
    write_beside,
)
from mialib.course.plots.spoken import brief, listed, spoken_points
from mialib.course.plots.tradeoff import PALE, write_labels
from mialib.estimates import Estimate

Point = tuple[Estimate, Estimate]  # test accuracy, a share, and defense level, as results tell them

ACCURACY = "test accuracy in percent"
LEVEL = "defense level D"
OUTLINE = [withStroke(linewidth=2.5, foreground="white")]


class Slope(NamedTuple):
    """A line through the point (x, y), both in percent."""

    slope: float
    x: float
    y: float


def defense_plane(
    series: Mapping[str, Sequence[Point]],
    *,
    star: Point,
    labels: Mapping[str, Sequence[str]] | None = None,
    slopes: Mapping[str, tuple[float, float, float]] | None = None,
) -> Picture:
    """Fig. 1: defense level against accuracy, by series; the star is the dense network.

    A point is (accuracy, defense level), as `Results` tells them; the axis shows the accuracy in
    percent. `labels` writes beside the points of a series; `slopes` are lines as in `Slope`.
    """
    everyone = {"dense": [star], **series}
    percent = {name: [_in_percent(one) for one in points] for name, points in everyone.items()}

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(percent.items()):
            _draw_levels(axes, points, (labels or {}).get(name, ()), name, place)
        _frame(axes, [point for points in percent.values() for point in points])
        _draw_slopes(axes, {name: Slope(*line) for name, line in (slopes or {}).items()})
        axes.set(xlabel=ACCURACY, ylabel=LEVEL)
        figure.legend(loc="outside right upper")

    told = listed(f"{name}: {spoken_points(some, 'z.1f')}" for name, some in percent.items())
    numbered = {name: points for name, points in percent.items() if name in series}
    return Picture(
        draw,
        alt=f"Scatter plot of defense level against test accuracy. {told}.",
        caption="Points: means over trainings; thin crosses: 95 % intervals over trainings and "
        "records, cut off at the frame. The upper right is best.",
        size=(8.2, 4.0),
        numbers=numbers_of_points(counted(numbered), "accuracy", "defense"),
    )


def _in_percent(point: Point) -> Point:
    accuracy, level = point
    value, low, high = (100 * number for number in accuracy.triple)
    return Estimate(value, low, high), level


def _frame(axes: Axes, points: Sequence[Point]) -> None:
    """Show all points; an interval of few trainings may reach beyond the frame."""
    places = np.array([(accuracy.value, level.value) for accuracy, level in points])
    low = places.min(axis=0)
    high = places.max(axis=0)
    margin = np.maximum(0.15 * (high - low), 3.0)
    left, bottom = low - margin
    right, top = high + margin
    axes.set(xlim=(left, right), ylim=(bottom, top))


def _draw_slopes(axes: Axes, slopes: Mapping[str, Slope]) -> None:
    """Lines over the whole plane, which keeps its limits."""
    limits = axes.axis()
    for style, (name, line) in zip(("-", "--"), slopes.items(), strict=False):
        grey = {"color": COLOR["chance"], "linestyle": style, "linewidth": 1}
        axes.axline((line.x, line.y), slope=line.slope, label=name, **grey)
    axes.axis(limits)


def _draw_levels(
    axes: Axes, points: Sequence[Point], texts: Sequence[str], name: str, place: int
) -> None:
    """The series at `place`, joined in its order; the first, the dense network, is a star."""
    accuracy = band_of(point[0] for point in points)
    level = band_of(point[1] for point in points)
    color, marker = look_of(name, place - 1) if place else (COLOR["mark"], "*")
    _draw_crosses(axes, accuracy, level, color)
    axes.plot(accuracy.value, level.value, color=color, linewidth=1, alpha=0.5)
    axes.plot(
        accuracy.value,
        level.value,
        color=color,
        linestyle="none",
        marker=marker,
        markersize=6 if place else 13,
        label=name,
        zorder=3,
    )
    at = zip(accuracy.value, level.value, strict=True)
    # Neighbouring series write on different sides: below at the left, above at the right.
    offset, across = ((-5, -12), "right") if place % 2 else ((5, 5), "left")
    style = {"fontsize": 9, "color": color, "path_effects": OUTLINE, "zorder": 4}
    write_beside(axes, texts, at, offset=offset, ha=across, **style)


def _draw_crosses(axes: Axes, accuracy: Band, level: Band, color: str) -> None:
    """Thin and pale: intervals of neighbours overlap."""
    style = {"color": color, "linewidth": 0.7, "alpha": 0.5}
    axes.hlines(level.value, accuracy.low, accuracy.high, **style)
    axes.vlines(accuracy.value, level.low, level.high, **style)


# A panel for each kind.


def defense_panels(
    series: Mapping[str, Sequence[Point]],
    *,
    star: Point,
    labels: Mapping[str, Sequence[str]] | None = None,
    columns: int = 3,
) -> Picture:
    """Fig. 1 of the paper, taken apart: a panel for each kind, and the others in grey behind it.

    The star is the dense network. `labels` writes beside the points of a kind.
    """
    everyone = {"dense": [star], **series}
    percent = {name: [_in_percent(one) for one in some] for name, some in everyone.items()}
    (dense,) = percent.pop("dense")
    all_points = [point for some in percent.values() for point in some]

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(percent), columns, sharex=True, sharey=True)
        for place, (axes, name) in enumerate(zip(grid, percent, strict=True)):
            _draw_pale(axes, [some for other, some in percent.items() if other != name])
            _draw_kind(axes, percent[name], look_of(name, place))
            _draw_star(axes, dense)
            axes.set_title(name)
        for axes in grid[-columns:]:  # The lowest of each column: below some a cell is empty.
            axes.tick_params(labelbottom=True)
        _frame(grid[0], [*all_points, dense])
        for axes, (name, points) in zip(grid, percent.items(), strict=True):
            texts = [*(labels or {}).get(name, ()), *[""] * len(points)][: len(points)]
            write_labels(axes, texts, points, [*points, dense], size=(520 / columns, 130))
        figure.supxlabel(ACCURACY, fontsize=10)
        figure.supylabel(LEVEL, fontsize=10)

    told = listed(
        f"{name}: {spoken_points(some, 'z.1f')}"
        for name, some in {"dense": [dense], **percent}.items()
    )
    return Picture(
        draw,
        alt=f"{len(percent)} panels of defense level (up) against test accuracy (right), one for "
        f"each kind of networks. {told}.",
        caption="Points: means over trainings; thin crosses: 95 % intervals over trainings and "
        "records, cut off at the frame. The star is the dense network, grey dots are those of the "
        "other panels, and the upper right is best.",
        size=(8.0, 0.6 + 2.15 * rows_of(len(percent), columns)),
        numbers=numbers_of_points(counted(percent), "accuracy", "defense"),
    )


def _draw_pale(axes: Axes, others: Sequence[Sequence[Point]]) -> None:
    places = [(accuracy.value, level.value) for some in others for accuracy, level in some]
    if places:
        axes.plot(*np.transpose(places), "o", color=PALE, markersize=3.5, zorder=1)


def _draw_kind(axes: Axes, points: Sequence[Point], look: tuple[str, str]) -> None:
    """The networks of one kind, joined in their order."""
    color, marker = look
    accuracy = band_of(point[0] for point in points)
    level = band_of(point[1] for point in points)
    _draw_crosses(axes, accuracy, level, color)
    axes.plot(
        accuracy.value,
        level.value,
        color=color,
        marker=marker,
        markersize=5,
        linewidth=1,
        zorder=3,
    )


def _draw_star(axes: Axes, dense: Point) -> None:
    accuracy, level = (number.value for number in dense)
    axes.plot(accuracy, level, "*", color=COLOR["mark"], markersize=12, zorder=4)
    draw_dotted_cross(axes, accuracy, level)


# One kind, and its slope.


def slope_fan(
    points: Sequence[Point],
    *,
    star: Point,
    labels: Sequence[str],
    measured: Estimate,
    printed: float,
) -> Picture:
    """Means over trainings, the fan of slopes that their interval allows, and a printed slope.

    The first point follows on the star. The lines go through the middle of all points.
    """
    percent = [_in_percent(one) for one in (star, *points)]
    middle = np.mean([[number.value for number in one] for one in percent], axis=0)

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        accuracy = band_of(point[0] for point in percent)
        level = band_of(point[1] for point in percent)
        color, marker = look_of("pruned (IMP)", 0)
        style = {"color": color, "marker": marker, "linestyle": "none", "zorder": 3}
        axes.plot(accuracy.value[1:], level.value[1:], markersize=6, **style)
        axes.plot(accuracy.value[0], level.value[0], "*", color=COLOR["mark"], markersize=13)
        _frame(axes, percent)
        _draw_fan(axes, Slope(measured.value, *middle), measured, color)
        _draw_printed(axes, Slope(printed, *middle))
        texts = ["dense", *labels]
        write_labels(axes, texts, percent, percent, size=(430, 210))
        axes.set(xlabel=ACCURACY, ylabel=LEVEL)
        axes.legend(loc="upper right")

    told = spoken_points(percent, "z.1f")
    return Picture(
        draw,
        alt=f"Scatter plot of defense level against test accuracy, from the dense network to the "
        f"sparsest: {told}. Slope {brief(measured)}, printed {printed:g}.",
        caption="Points: means over trainings, with what remains of the parameters. Line and fan: "
        "the mean slope over seeds and its 95 % interval, through the middle of the points. "
        "Dashed: the slope that the paper prints.",
        size=(7.2, 3.8),
        numbers={"measured": measured.value, "printed": printed},
    )


def _draw_fan(axes: Axes, line: Slope, slope: Estimate, color: str) -> None:
    """The line, and between its steepest and its flattest the fan."""
    x = np.array(axes.get_xlim())
    steepest = line.y + slope.low * (x - line.x)
    flattest = line.y + slope.high * (x - line.x)
    limits = axes.axis()
    axes.fill_between(x, steepest, flattest, color=color, alpha=0.13, linewidth=0)
    style = {"color": color, "linewidth": 1.2, "label": _named("our slope", line)}
    axes.axline((line.x, line.y), slope=line.slope, **style)
    axes.axis(limits)


def _draw_printed(axes: Axes, line: Slope) -> None:
    limits = axes.axis()
    style = {"color": COLOR["chance"], "linestyle": "--", "linewidth": 1.2}
    axes.axline((line.x, line.y), slope=line.slope, label=_named("the paper's", line), **style)
    axes.axis(limits)


def _named(whose: str, line: Slope) -> str:
    return f"{whose}, {line.slope:.2f}".replace("-", "−")
