"""The same chart in several panels: curves, or settings as points.

>>> here = {"letters": {"PAST": [(0.6, 0.2)]}}
>>> scatter(here, xlabel="test accuracy", ylabel="mean advantage").numbers
{'letters PAST 0 x': 0.6, 'letters PAST 0 y': 0.2}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from mialib.course.plots.palette import COLOR, COLORS, CURVES, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    Band,
    Curve,
    Point,
    band_of,
    counted,
    draw_curve,
    joint_legend,
    numbers_of_points,
    panel_grid,
    rows_of,
    value_of,
)
from mialib.course.plots.spoken import capital, listed

Panels = Mapping[str, Mapping[str, Sequence[Point]]]  # points by title and by series
Label = str | Mapping[str, str]  # one for all panels, or one for each by its title


def panels(
    x: ArrayLike,
    curves: Mapping[str, Mapping[str, Curve]],
    *,
    columns: int,
    xlabel: str,
    ylabel: str,
    scale: str = "linear",
) -> Picture:
    """Curves over x by name in panels by title, with bands where they are estimates.

    `scale` is that of the y axis: "linear" or "log".
    """
    x = np.asarray(x, float)
    table = {title: _bands(some) for title, some in curves.items()}
    names = _names(table)

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(table), columns, sharex=True, sharey=True)
        for axes, (title, bands) in zip(grid, table.items(), strict=True):
            _draw_bands(axes, x, bands, names)
            axes.set_title(title, fontsize=9)
            axes.set_yscale(scale)
            axes.minorticks_off()
        for axes in grid[-columns:]:
            axes.tick_params(labelbottom=True)  # Nothing stands below it.
        figure.supxlabel(xlabel, fontsize=10)
        figure.supylabel(ylabel, fontsize=10)
        if len(names) > 1:
            joint_legend(figure, grid, columns=min(len(names), 4))

    facts = [
        f"{title}, {name} {_ends(table[title][name])}" for title in table for name in table[title]
    ]
    return Picture(
        draw,
        alt=f"{len(table)} panels of {ylabel} against {xlabel}, {x[0]:g} to {x[-1]:g}: "
        f"{listed(facts)}.",
        caption=f"{capital(ylabel)} by {xlabel}.",
        size=(8.2, 1.2 + 1.7 * rows_of(len(table), columns)),
    )


def _bands(curves: Mapping[str, Curve]) -> dict[str, Band]:
    return {name: band_of(curve) for name, curve in curves.items()}


def _draw_bands(axes: Axes, x: np.ndarray, bands: dict[str, Band], names: list[str]) -> None:
    for name, band in bands.items():
        color, line = CURVES[names.index(name)]
        style = {"marker": ".", "markersize": 5, "label": name}
        draw_curve(axes, x, band, color=color, line=line, **style)
    if (x == x.round()).all():
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _ends(band: Band) -> str:
    value = band.known()
    return f"from {value[0]:.3g} to {value[-1]:.3g}" if len(value) else "has no values"


def _names(titles: Mapping[str, Mapping]) -> list[str]:
    """The names in all panels, each once, in the order in which they come."""
    return list(dict.fromkeys(name for some in titles.values() for name in some))


def scatter(
    points: Panels,
    *,
    xlabel: Label,
    ylabel: Label,
    columns: int = 2,
    stars: Mapping[str, Point] | None = None,
    log: bool = False,
    share: bool = False,
) -> Picture:
    """Points (x, y) by series in panels by title.

    Thin crosses are 95 % intervals, and the star of a panel is the undefended model. A label is one
    for all panels or one for each; `log` makes the x axes logarithmic, and `share` gives all panels
    the same axes.
    """
    names = _names(points)

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(points), columns, sharex=share, sharey=share)
        for axes, (title, series) in zip(grid, points.items(), strict=True):
            for name, some in series.items():
                _draw_points(axes, some, names.index(name), name)
            if stars and title in stars:
                _draw_star(axes, stars[title])
            if log:
                axes.set_xscale("log")
                axes.minorticks_off()
            axes.set_title(title, fontsize=9 if share else 10)
        if share:
            figure.supxlabel(str(xlabel), fontsize=10)
            figure.supylabel(str(ylabel), fontsize=10)
        else:
            _name_axes(dict(zip(points, grid, strict=True)), xlabel, ylabel)
        if len(names) > 1 or stars:
            joint_legend(figure, grid, columns=4)

    across = _all_labels(xlabel)
    upward = _all_labels(ylabel)
    height = 1.9 if share else 2.5
    return Picture(
        draw,
        alt=f"{len(points)} panels of points, {across} along, {upward} up. {_told(points)}.",
        caption=f"{capital(upward)} against {across}; thin lines: 95 % intervals where there are "
        "any.",
        size=(8.0, 0.9 + height * rows_of(len(points), columns)),
        numbers=numbers_of_points(_by_number(points), "x", "y"),
    )


def _by_number(points: Panels) -> dict[str, Point]:
    """All points by panel, series and number."""
    return {
        f"{title} {name}": point
        for title, series in points.items()
        for name, point in counted(series).items()
    }


def _name_axes(panels: Mapping[str, Axes], xlabel: Label, ylabel: Label) -> None:
    for title, axes in panels.items():
        axes.set(xlabel=_label_of(xlabel, title), ylabel=_label_of(ylabel, title))


def _draw_points(axes: Axes, points: Sequence[Point], place: int, name: str) -> None:
    x = band_of(point[0] for point in points)
    y = band_of(point[1] for point in points)
    color = COLORS[place]
    style = {"marker": MARKERS[place], "markersize": 4.5, "linewidth": 1}
    axes.plot(x.value, y.value, color=color, label=name, **style)
    axes.hlines(y.value, x.low, x.high, color=color, linewidth=0.4)
    axes.vlines(x.value, y.low, y.high, color=color, linewidth=0.4)


def _draw_star(axes: Axes, star: Point) -> None:
    x, y = star
    axes.plot(value_of(x), value_of(y), "*", color=COLOR["mark"], markersize=10, label="undefended")


def _label_of(label: Label, title: str) -> str:
    return label if isinstance(label, str) else label[title]


def _all_labels(label: Label) -> str:
    return label if isinstance(label, str) else " and ".join(dict.fromkeys(label.values()))


def _told(points: Panels) -> str:
    facts = []
    for title, series in points.items():
        for name, some in series.items():
            places = [f"({value_of(x):.3g}, {value_of(y):.3g})" for x, y in some]
            facts.append(f"{title}, {name}: {', '.join(places)}")
    return listed(facts)
