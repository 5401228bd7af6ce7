"""PAST taken apart: its settings side by side, and one epoch of its tuning.

| function | what it draws |
|---|---|
| `labelled_planes` | settings in planes of accuracy and advantage, each with its label |
| `setting_tables` | numbers of many settings, λ by α, as coloured tables |
| `epoch_view` | one epoch of tuning beside its controls |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator

from mialib.course.figures.tuning import ARMS
from mialib.course.plots.palette import COLOR, SENSITIVE, UNIFORM, darker
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    Number,
    Point,
    band_of,
    joint_legend,
    numbers_of_points,
    panel_grid,
    triple,
    value_of,
)
from mialib.course.plots.spoken import listed, spoken, with_minus_signs
from mialib.course.plots.tables import draw_cells
from mialib.course.plots.tradeoff import write_labels
from mialib.estimates import Estimate

# Colour and marker of settings by their α: PAST and uniform ℓ1 look as in other pictures.
WAYS = {
    "without γ": (UNIFORM, "^"),
    "γ, α = 1": (darker(SENSITIVE), "D"),
    "γ, α = 1.5": (SENSITIVE, "o"),
    "γ, α as written": (SENSITIVE, "P"),
}
MARGIN = 0.12  # of what is drawn, around it
PANELS = (440, 225)  # about the size of all panels of `labelled_planes`, in printer's points
LEAST_REACH = 0.1  # of the colours of differences: smaller ones stay pale
Labelled = Mapping[str, Point] | Sequence[Point]  # points by their labels, or without any


def labelled_planes(
    panels: Mapping[str, Mapping[str, Labelled]],
    *,
    xlabel: str,
    ylabel: str | Mapping[str, str],
    stars: Mapping[str, Point] | None = None,
    widths: Sequence[float] | None = None,
    told: str,
) -> Picture:
    """Settings as points, in a panel for each title and a series for each of WAYS.

    A star is the undefended model, and all panels that have one share their axes. A label of the y
    axis is one for all panels or one for each, `widths` are those of the panels in proportion, and
    `told` is the caption.
    """
    upward = {title: ylabel if isinstance(ylabel, str) else ylabel[title] for title in panels}
    beside = dict(stars or {})
    framed = [*beside.values(), *(one for title in beside for one in _points(panels[title]))]
    parts = list(widths or [1.0] * len(panels))

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(panels), len(panels), width_ratios=parts)
        for axes, (title, series), part in zip(grid, panels.items(), parts, strict=True):
            for name, points in series.items():
                _draw_series(axes, _by_label(points), name)
            axes.margins(MARGIN)
            star = [beside[title]] if title in beside else []
            if star:
                x, y = _place(*star)
                style = {"color": COLOR["mark"], "markersize": 11, "zorder": 4}
                axes.plot(x, y, "*", **style, label="undefended")
                _frame(axes, framed)
            size = (PANELS[0] * part / sum(parts), PANELS[1])
            _write_labels(axes, series, [*_points(series), *star], size=size)
            axes.set(title=title, xlabel=xlabel, ylabel=upward[title])
            axes.xaxis.set_major_locator(MaxNLocator(3 if part < max(parts) else 5))
        joint_legend(figure, grid, columns=5)

    points = {
        f"{title}, {name}, {label}": point
        for title, series in panels.items()
        for name, some in series.items()
        for label, point in _by_label(some).items()
    }
    places = listed(
        f"{name}: ({value_of(x):.3g}, {value_of(y):.3g})" for name, (x, y) in points.items()
    )
    return Picture(
        draw,
        alt=f"{len(panels)} panels of points, {xlabel} along, "
        f"{' and '.join(dict.fromkeys(upward.values()))} up. {places}.",
        caption=told,
        size=(8.2, 4.2),
        numbers=numbers_of_points(points, "x", "y"),
    )


def _by_label(points: Labelled) -> Mapping[str, Point]:
    """Points that have no labels are counted."""
    if isinstance(points, Mapping):
        return points
    return {f"number {k}": point for k, point in enumerate(points, start=1)}


def _points(series: Mapping[str, Labelled]) -> list[Point]:
    return [point for some in series.values() for point in _by_label(some).values()]


def _place(point: Point) -> tuple[float, float]:
    x, y = point
    return value_of(x), value_of(y)


def _draw_series(axes: Axes, points: Mapping[str, Point], name: str) -> None:
    x = band_of(x for x, _ in points.values())
    y = band_of(y for _, y in points.values())
    color, marker = WAYS[name]
    axes.plot(x.value, y.value, marker=marker, color=color, label=name, linewidth=1, markersize=5)
    pale = {"color": color, "linewidth": 0.8, "alpha": 0.3, "zorder": 1}
    axes.hlines(y.value, x.low, x.high, **pale)
    axes.vlines(x.value, y.low, y.high, **pale)


def _frame(axes: Axes, points: Sequence[Point]) -> None:
    """Show all points; an interval of few trainings may reach beyond the frame."""
    places = np.array([_place(point) for point in points])
    low = places.min(axis=0)
    high = places.max(axis=0)
    left, bottom = low - MARGIN * (high - low)
    right, top = high + MARGIN * (high - low)
    axes.set(xlim=(left, right), ylim=(bottom, top))


def _write_labels(
    axes: Axes,
    series: Mapping[str, Labelled],
    obstacles: Sequence[Point],
    *,
    size: tuple[float, float],
) -> None:
    """In the colours of their series; those of points without γ rather stand on the left."""
    labels = [
        (label, point, darker(WAYS[name][0]))
        for name, some in series.items()
        if isinstance(some, Mapping)
        for label, point in some.items()
    ]
    write_labels(
        axes,
        [label for label, _, _ in labels],
        [_plain(point) for _, point, _ in labels],
        [_plain(point) for point in obstacles],
        size=size,
        colors=[color for _, _, color in labels],
        left_first=[darker(UNIFORM)],
    )


def _plain(point: Point) -> tuple[Estimate, Estimate]:
    """Where a point stands, without its intervals."""
    x, y = _place(point)
    return Estimate(x), Estimate(y)


def setting_tables(
    tables: Mapping[str, Mapping[tuple[float, float], Number]], *, told: str
) -> Picture:
    """Tables by title side by side: a row for each λ, a column for each α, a dash where nothing is.

    A table goes by (λ, α). Estimates are differences: they have two colours, and are bold where the
    interval excludes 0. `told` is the caption.
    """
    settings = [setting for numbers in tables.values() for setting in numbers]
    rows = sorted({lam for lam, _ in settings})
    columns = sorted({alpha for _, alpha in settings})

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (title, numbers) in zip(grid, tables.items(), strict=True):
            _draw_setting_table(axes, numbers, rows, columns)
            axes.set(title=title, xlabel="α")
        for axes in grid[1:]:
            axes.set_yticklabels([])

    numbers = {
        f"{title}, λ = {lam:g}, α = {alpha:g}": value_of(number)
        for title, some in tables.items()
        for (lam, alpha), number in some.items()
    }
    lines = [
        f"{title}, λ = {lam:g}: {_row_aloud(some, lam, columns)}"
        for title, some in tables.items()
        for lam in rows
    ]
    return Picture(
        draw,
        alt=f"{len(tables)} tables of coloured cells, λ downwards and α along, which is "
        f"{', '.join(f'{alpha:g}' for alpha in columns)}. {listed(lines)}.",
        caption=told,
        size=(8.2, 1.1 + 0.34 * len(rows)),
        numbers=numbers,
    )


def _row_aloud(
    numbers: Mapping[tuple[float, float], Number], lam: float, columns: Sequence[float]
) -> str:
    """The numbers of one λ from left to right, as they are drawn."""
    form = _form(numbers)
    told = [
        f"{value_of(numbers[lam, alpha]):{form}}" if (lam, alpha) in numbers else "none"
        for alpha in columns
    ]
    return ", ".join(told)


def _draw_setting_table(
    axes: Axes,
    numbers: Mapping[tuple[float, float], Number],
    rows: Sequence[float],
    columns: Sequence[float],
) -> None:
    table = np.full((len(rows), len(columns)), np.nan)
    is_sure = np.full(table.shape, False)
    for (lam, alpha), number in numbers.items():
        at = rows.index(lam), columns.index(alpha)
        value, low, high = triple(number)
        table[at] = value
        is_sure[at] = isinstance(number, Estimate) and (low > 0 or high < 0)
    draw_cells(
        axes,
        table,
        rows=[f"λ = {lam:g}" for lam in rows],
        columns=[f"{alpha:g}" for alpha in columns],
        form=_form(numbers),
        **_shades(table[~np.isnan(table)], differ=_differ(numbers)),
    )
    for text, sure in zip(axes.texts, is_sure[~np.isnan(table)], strict=True):
        text.set_fontweight("bold" if sure else "normal")
        text.set_text(with_minus_signs(text.get_text()))
    for row, column in np.argwhere(np.isnan(table)):
        axes.text(column + 0.5, row + 0.5, "–", ha="center", va="center", color=COLOR["chance"])


def _differ(numbers: Mapping[tuple[float, float], Number]) -> bool:
    """Whether they are differences."""
    return any(isinstance(number, Estimate) for number in numbers.values())


def _form(numbers: Mapping[tuple[float, float], Number]) -> str:
    return "+z.3f" if _differ(numbers) else "z.2f"


def _shades(values: np.ndarray, *, differ: bool) -> dict[str, Any]:
    """Two colours round 0 for differences, greys for other numbers."""
    if differ:
        reach = 1.6 * max(abs(values).max(), LEAST_REACH)
        return {"cmap": "PuOr_r", "vmin": -reach, "vmax": reach}
    span = max(values.max() - values.min(), 1e-9)
    return {"cmap": "Greys", "vmin": values.min(), "vmax": values.max() + span}


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
        caption=f"At epoch {epoch}: {_by_quantity(curves, epoch)}. Means over trainings; grey: the "
        f"learning rate's shape{diamonds}.",
        size=(8.2, 2.9),
        numbers=numbers,
        steady=("epoch_view", *curves),
    )


def _by_quantity(curves: Mapping[str, Mapping[str, Sequence[float]]], epoch: int) -> str:
    """Each quantity once, with the number of every arm."""
    return listed(
        f"{quantity} " + ", ".join(f"{curve[epoch]:z.2f} ({arm})" for arm, curve in arms.items())
        for quantity, arms in curves.items()
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
        axes.plot(
            list(inside),
            list(inside.values()),
            "D",
            color=COLOR["mark"],
            fillstyle="none",
            label="PAST, a run that ends here",
        )
