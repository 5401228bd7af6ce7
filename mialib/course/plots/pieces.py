"""Pieces that several charts share: bands round curves, crosses round points, grids of panels.

band = band_of([Estimate(0.5, 0.4, 0.6), 0.7])      # band.value, band.low, band.high
draw_curve(axes, x, band, color="#009E73", line="-", label="loss")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import FigureBase
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from mialib.course.plots.palette import COLOR, LINE, darker
from mialib.estimates import Estimate

Number = float | Estimate
Point = tuple[Number, Number]
Curve = ArrayLike | Sequence[Number]
NAMES_APART = 0.08  # a share of the axes' height, for names beside each other


class Band(NamedTuple):
    """A row of numbers and the ends of their intervals: (n,) each."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def known(self) -> np.ndarray:
        """The numbers that are there: all but NaN."""
        return self.value[~np.isnan(self.value)]

    def errors(self) -> np.ndarray:
        """How far each interval reaches below and above its number, as `errorbar` wants it: (2, n).

        A bootstrap interval may miss its number, and a bar cannot be shorter than 0.
        """
        return np.maximum([self.value - self.low, self.high - self.value], 0)


def band_of(row: Any) -> Band:
    """Estimates, or plain numbers, whose interval is the number itself, as one band."""
    triples = np.array([triple(number) for number in row], float)
    return Band(*triples.T)


def triple(number: Number) -> tuple[float, float, float]:
    """Value, low and high; a plain number is all three."""
    if isinstance(number, Estimate):
        return number.triple
    return number, number, number


def value_of(number: Number) -> float:
    """The number itself, without its interval."""
    value, *_ = triple(number)
    return value


def counted(series: Mapping[str, Sequence[Point]]) -> dict[str, Point]:
    """The points of all series by name and number: "ℓ1 0", "ℓ1 1", …"""
    return {
        f"{name} {k}": point for name, points in series.items() for k, point in enumerate(points)
    }


def numbers_of_points(points: Mapping[str, Point], along: str, up: str) -> dict[str, float]:
    """Both numbers of every point, by its name and the name of the axis.

    >>> numbers_of_points({"ℓ1 0": (0.6, Estimate(0.2))}, "accuracy", "advantage")
    {'ℓ1 0 accuracy': 0.6, 'ℓ1 0 advantage': 0.2}
    """
    numbers = {}
    for name, (x, y) in points.items():
        numbers[f"{name} {along}"] = value_of(x)
        numbers[f"{name} {up}"] = value_of(y)
    return numbers


def draw_curve(axes: Axes, x: np.ndarray, band: Band, *, color: str, line: Any, **style) -> None:
    """A curve and, paler, its band."""
    axes.fill_between(x, band.low, band.high, color=color, alpha=0.18, linewidth=0)
    axes.plot(x, band.value, color=color, linestyle=line, **style)


class NamedCurve(NamedTuple):
    """A curve (n,), and what is written beside it."""

    text: str
    y: np.ndarray
    color: str


def name_ends(axes: Axes, curves: Sequence[NamedCurve]) -> None:
    """Write names at the right ends of curves, in their colours, instead of a legend.

    Names that would cover each other move apart.
    """
    to_share = axes.transScale + axes.transLimits
    right = axes.get_xlim()[1]
    heights = [float(to_share.transform((right, curve.y[-1]))[1]) for curve in curves]
    lowest = -np.inf
    for place in np.argsort(heights):
        lowest = max(heights[place], lowest + NAMES_APART)
        curve = curves[place]
        style = {"color": darker(curve.color), "va": "center", "transform": axes.transAxes}
        axes.text(1.01, lowest, curve.text, **style)


def name_in_gap(axes: Axes, x: np.ndarray, curves: Sequence[NamedCurve]) -> None:
    """Write names on curves that meet at their ends, where they are farthest apart."""
    heights = np.sort([curve.y for curve in curves], axis=0)  # (curves, n)
    gaps = np.diff(heights, axis=0).min(axis=0)
    inner = slice(len(x) // 12, len(x) * 3 // 4)  # A name needs room to its right.
    at = inner.start + int(np.argmax(gaps[inner]))
    outline = [withStroke(linewidth=3, foreground="white")]
    for curve in curves:
        style = {"color": darker(curve.color), "va": "bottom", "path_effects": outline}
        write_beside(axes, [curve.text], [(x[at], curve.y[at])], offset=(3, 2), **style)


def write_plain_ticks(axis: Axis) -> None:
    """0.01 on a logarithmic axis, not a power of ten, whose exponent is too small to read."""
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def draw_dotted_cross(axes: Axes, x: float, y: float) -> None:
    """Dotted lines through the point of the undefended model, over the whole plane."""
    style = {"color": COLOR["chance"], "linestyle": LINE["chance"], "linewidth": 1}
    axes.axvline(x, **style)
    axes.axhline(y, **style)


def name_rows(axes: Axes, names: Sequence[str], **style) -> None:
    """Name the places 0, 1, … of the y axis, from above."""
    axes.set_yticks(range(len(names)), names, **style)
    axes.set_ylim(len(names) - 0.5, -0.5)


def write_beside(
    axes: Axes,
    texts: Iterable[str],
    points: Iterable[tuple[float, float]],
    *,
    offset: tuple[float, float],
    **style,
) -> None:
    """Texts beside points; `offset` is in printer's points, and surplus points stay bare."""
    for text, at in zip(texts, points, strict=False):
        axes.annotate(text, at, xytext=offset, textcoords="offset points", **style)


def panel_grid(figure: FigureBase, count: int, columns: int, **shared) -> list[Axes]:
    """The axes of `count` panels in rows of `columns`; the cells after them stay empty."""
    grid = figure.subplots(rows_of(count, columns), columns, squeeze=False, **shared)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    return list(grid.flat[:count])


def rows_of(count: int, columns: int) -> int:
    """How many rows of panels that takes."""
    return -(-count // columns)


def joint_legend(figure: FigureBase, panels: Sequence[Axes], *, columns: int) -> None:
    """One legend above all panels, with each name once."""
    handles = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles[name] = handle
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=columns)


def skip_texts_in_layout(axes: Axes) -> None:
    """Leave the texts of these axes out of the layout.

    They lie inside, and measuring them takes as long as drawing them.
    """
    for text in axes.texts:
        text.set_in_layout(False)
