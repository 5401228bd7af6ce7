"""PAST taken apart: its settings side by side, and one epoch of its tuning.

| function | what it draws |
|---|---|
| `labelled_planes` | settings in planes of accuracy and advantage, each with its label |
| `setting_tables` | numbers of many settings, λ by α, as coloured tables |
| `epoch_view` | one epoch of tuning beside its controls |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.figures.tuning import ARMS
from mialib.course.plots.palette import COLOR, COLORS, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    Point,
    band_of,
    joint_legend,
    numbers_of_points,
    panel_grid,
    value_of,
    write_beside,
)
from mialib.course.plots.spoken import capital, listed, spoken
from mialib.course.plots.tables import draw_cells


def labelled_planes(
    panels: Mapping[str, Mapping[str, Sequence[Point]]],
    *,
    labels: Mapping[str, Mapping[str, Sequence[str]]],
    stars: Mapping[str, Point],
    ylabel: str,
) -> Picture:
    """Settings as (accuracy, advantage), a panel for each title, each point with its label.

    `panels` and `labels` go by title and by series; a star is the undefended model.
    """
    names = list(dict.fromkeys(name for series in panels.values() for name in series))

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(panels), len(panels))
        for axes, (title, series) in zip(grid, panels.items(), strict=True):
            for name, points in series.items():
                _draw_labelled(axes, points, labels[title][name], name, names.index(name))
            if title in stars:
                x, y = (value_of(number) for number in stars[title])
                axes.plot(x, y, "*", color=COLOR["mark"], markersize=11, label="undefended")
            axes.set(title=title, xlabel="test accuracy", ylabel=ylabel)
            axes.margins(0.16)
        joint_legend(figure, grid, columns=5)

    points = {
        f"{title}, {name}, {label}": point
        for title, series in panels.items()
        for name, some in series.items()
        for label, point in zip(labels[title][name], some, strict=True)
    }
    told = listed(
        f"{name} ({value_of(x):z.2f}, {value_of(y):z.2f})" for name, (x, y) in points.items()
    )
    return Picture(
        draw,
        alt=f"{len(panels)} panels of points, test accuracy along, {ylabel} up: {told}.",
        caption=f"{capital(ylabel)} against test accuracy; the lower right is best. Thin crosses: "
        "95 % intervals, where there are any.",
        size=(9.6, 3.6),
        numbers=numbers_of_points(points, "accuracy", "advantage"),
    )


def _draw_labelled(
    axes: Axes, points: Sequence[Point], texts: Sequence[str], name: str, place: int
) -> None:
    x = band_of(point[0] for point in points)
    y = band_of(point[1] for point in points)
    color = COLORS[place]
    axes.plot(x.value, y.value, marker=MARKERS[place], color=color, label=name, linewidth=1)
    axes.hlines(y.value, x.low, x.high, color=color, linewidth=0.5)
    axes.vlines(x.value, y.low, y.high, color=color, linewidth=0.5)
    # The labels of the first series stand on the right, those of the second on the left.
    sides = ({"offset": (6, -3), "ha": "left"}, {"offset": (-6, -3), "ha": "right"})
    at = zip(x.value, y.value, strict=True)
    write_beside(axes, texts, at, fontsize=9, color=color, **sides[place % 2])


@dataclass(frozen=True)
class Cells:
    """One number of many settings, as a table.

    table   (rows, columns); NaN leaves a cell empty
    bold    which numbers stand out: (rows, columns) of bool
    form    how a number is written
    signed  whether the numbers lie round 0, and need two colours
    """

    table: np.ndarray
    bold: np.ndarray | None = None
    form: str = "z.2f"
    signed: bool = False


def setting_tables(
    tables: Mapping[str, Cells], *, rows: Sequence[str], columns: Sequence[str], told: str
) -> Picture:
    """Tables by title side by side, a row for each of one setting, a column for each of another.

    `told` is the caption.
    """

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (title, cells) in zip(grid, tables.items(), strict=True):
            names = rows if axes is grid[0] else [""] * len(rows)
            _draw_setting_table(axes, cells, names, columns)
            axes.set_title(title)

    numbers = {
        f"{title} {row} {column}": float(value)
        for title, cells in tables.items()
        for row, line in zip(rows, cells.table, strict=True)
        for column, value in zip(columns, line, strict=True)
        if not np.isnan(value)
    }
    return Picture(
        draw,
        alt=f"{len(tables)} tables of coloured cells, rows {', '.join(rows)}, columns "
        f"{', '.join(columns)}. {spoken(numbers, 'z.3g')}.",
        caption=told,
        size=(10.4, 0.9 + 0.34 * len(rows)),
        numbers=numbers,
    )


def _draw_setting_table(
    axes: Axes, cells: Cells, rows: Sequence[str], columns: Sequence[str]
) -> None:
    known = cells.table[~np.isnan(cells.table)]
    if cells.signed:
        reach = max(abs(known).max(), 1e-9)
        colors = {"cmap": "PuOr_r", "vmin": -1.6 * reach, "vmax": 1.6 * reach}
    else:
        span = max(known.max() - known.min(), 1e-9)
        colors = {"cmap": "Greys", "vmin": known.min(), "vmax": known.max() + span}
    draw_cells(axes, cells.table, rows=rows, columns=columns, form=cells.form, **colors)
    if cells.bold is not None:
        written = cells.bold[~np.isnan(cells.table)]
        for text, bold in zip(axes.texts, written, strict=True):
            text.set_fontweight("bold" if bold else "normal")


def epoch_view(
    curves: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    epoch: int,
    rate: Sequence[float],
    finished: Mapping[str, Mapping[int, float]] | None = None,
) -> Picture:
    """One epoch of tuning: curves by epoch, with a line and a dot at this one.

    `curves` go by quantity, a panel each, and by arm; the learning rate's shape lies below them.
    `finished` has, for some quantities, what runs reached that were planned to end after so many
    epochs.
    """
    ends = finished or {}

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, (quantity, arms) in zip(panels, curves.items(), strict=True):
            _draw_rate(axes, rate, top=max(max(curve) for curve in arms.values()))
            _draw_arms(axes, arms, epoch)
            _draw_ends(axes, ends.get(quantity, {}), last=len(rate) - 1)
            axes.set(title=quantity, xlabel="tuning epoch", xticks=range(0, len(rate), 5))
            axes.set_ylim(bottom=0)
        joint_legend(figure, list(panels), columns=5)

    numbers = {
        f"{quantity}, {arm}": float(curve[epoch])
        for quantity, arms in curves.items()
        for arm, curve in arms.items()
    }
    diamonds = "; diamonds: runs planned to end there" if ends else ""
    return Picture(
        draw,
        alt=f"{len(curves)} panels of curves by tuning epoch with a line at epoch {epoch}, the "
        f"learning rate below them. At epoch {epoch}: {spoken(numbers, 'z.3f')}.",
        caption=f"At epoch {epoch}: {spoken(numbers)}. Means over trainings; grey: the learning "
        f"rate's shape{diamonds}.",
        size=(9.2, 2.9),
        numbers=numbers,
    )


def _draw_rate(axes: Axes, rate: Sequence[float], *, top: float) -> None:
    """The learning rate as a grey shape, a sixth as high as the curves reach."""
    height = np.array(rate) / max(rate) * top / 6
    axes.fill_between(np.arange(len(rate)), height, color="#dddddd", linewidth=0)


def _draw_arms(axes: Axes, arms: Mapping[str, Sequence[float]], epoch: int) -> None:
    for arm, curve in arms.items():
        color, line = ARMS[arm]
        axes.plot(np.arange(len(curve)), curve, color=color, linestyle=line, label=arm)
        axes.plot(epoch, curve[epoch], "o", color=color, markersize=5)
    axes.axvline(epoch, color=COLOR["mark"], linewidth=1)


def _draw_ends(axes: Axes, ends: Mapping[int, float], *, last: int) -> None:
    """A diamond for each run that was planned to end inside the axis."""
    inside = {at: value for at, value in ends.items() if at <= last}
    if inside:
        style = {"color": COLOR["mark"], "fillstyle": "none", "label": "a run that ends here"}
        axes.plot(list(inside), list(inside.values()), "D", **style)
