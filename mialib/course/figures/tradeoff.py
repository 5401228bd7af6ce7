"""Defenses compared: a board of their numbers, P1 as a map, moves.

>>> row = {"accuracy": 0.5, "highest": 0.6, "AUC": 0.8, "TPR at 1 %": 0.03}
>>> board({"undefended": row}).numbers["undefended highest"]
0.6
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from mialib import metrics
from mialib.course.plots.palette import COLOR, DEFENSES, LINE, MARKERS, SENSITIVE, look_of
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    joint_legend,
    name_rows,
    numbers_of_points,
    panel_grid,
    rows_of,
    skip_texts_in_layout,
)
from mialib.course.plots.spoken import listed, spoken_points
from mialib.estimates import Estimate

Standing = Mapping[str, float]  # as `statistics.standing` gives it
BAR = "#56B4E9"
HIGHER_P1 = "#e8f3ec"


class Column(NamedTuple):
    """A column of a board: its title, and the numbers of no bar and of a full one."""

    title: str
    low: float
    high: float


COLUMNS = {  # what a board shows of a standing
    "accuracy": Column("test accuracy", 0.0, 1.0),
    "highest": Column("highest advantage", 0.0, 1.0),
    "AUC": Column("highest AUC", 0.5, 1.0),
    "TPR at 1 %": Column("TPR at 1 % FPR", 0.0, 0.25),
}
LONGEST = 0.62  # of a column's width: after it stands the number


def board(standings: Mapping[str, Standing]) -> Picture:
    """Each defense at one strength: its accuracy, and how far the strongest attack gets.

    The first is the undefended model, and the dotted lines are its numbers.
    """
    numbers = {f"{name} {what}": row[what] for name, row in standings.items() for what in COLUMNS}
    told = listed(_told_standing(name, row) for name, row in standings.items())
    return Picture(
        lambda figure: _draw_board(figure.subplots(), standings),
        alt=f"Bars in four columns, a row for each defense. {told}.",
        caption="Means over the trainings. Dotted: the undefended model. Each column has the "
        "attack that gets furthest by its number. The bars of the AUC start at 0.5.",
        size=(8.2, 0.75 + 0.34 * len(standings)),
        numbers=numbers,
        steady="board",
    )


def _draw_board(axes: Axes, standings: Mapping[str, Standing]) -> None:
    for place, (what, column) in enumerate(COLUMNS.items()):
        values = np.array([row[what] for row in standings.values()])
        form = ".1%" if what.startswith("TPR") else "z.2f"
        _draw_bars(axes, values, column, place, form)
    skip_texts_in_layout(axes)
    name_rows(axes, list(standings))
    titles = [column.title for column in COLUMNS.values()]
    axes.set_xticks(range(len(titles)), titles, ha="left")
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.set_xlim(-0.02, len(titles) - 0.1)
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _draw_bars(axes: Axes, values: np.ndarray, column: Column, place: int, form: str) -> None:
    full = max(column.high, values.max())
    lengths = LONGEST * (values.clip(column.low) - column.low) / (full - column.low)
    colors = [COLOR["mark"], *[BAR] * (len(values) - 1)]
    axes.barh(range(len(values)), lengths, left=place, height=0.56, color=colors)
    undefended = place + lengths[0]
    style = {"color": COLOR["chance"], "linestyle": LINE["chance"], "linewidth": 1}
    axes.vlines(undefended, -0.5, len(values) - 0.5, **style)
    halo = [withStroke(linewidth=3, foreground="white")]
    for row, (length, value) in enumerate(zip(lengths, values, strict=True)):
        after = place + length + 0.04
        axes.text(after, row, f"{value:{form}}", va="center", fontsize=10, path_effects=halo)


def _told_standing(name: str, row: Standing) -> str:
    facts = [f"{column.title} {row[what]:z.2f}" for what, column in COLUMNS.items()]
    return f"{name}: {', '.join(facts)}"


def p1_map(
    points: Mapping[str, Sequence[tuple[float, float]]],
    *,
    undefended: tuple[float, float],
    labels: Mapping[str, Sequence[str]] | None = None,
) -> Picture:
    """Settings as (accuracy, advantage) over the lines of equal P1.

    The line through the undefended model is thick. `labels` are the words for the points of a
    series, for the alt text; without them it counts the points.
    """

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        _draw_p1_lines(axes, metrics.p1(*undefended))
        _draw_settings(axes, points)
        axes.plot(*undefended, "*", color=COLOR["mark"], markersize=12, label="undefended")
        figure.legend(loc="outside upper center", ncols=4)

    level = {
        (name, k): metrics.p1(*point)
        for name, some in points.items()
        for k, point in enumerate(some)
    }
    name, k = max(level, key=level.__getitem__)
    best = f"{name} {labels[name][k]}" if labels else f"point {k + 1} of {name}"
    numbers = {f"{series} {at}": value for (series, at), value in level.items()}
    numbers["undefended"] = metrics.p1(*undefended)
    return Picture(
        draw,
        alt="Scatter plot of highest advantage against test accuracy over lines of equal P1 from "
        f"0.1 to 0.7. The undefended model has P1 {numbers['undefended']:.2f}; the best setting, "
        f"{best}, has {level[name, k]:.2f}.",
        caption="Lines join models of equal P1 (thick: as good as the undefended one by that "
        "number).",
        size=(6.8, 4.0),
        numbers=numbers,
    )


def _draw_settings(axes: Axes, points: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    for place, (name, some) in enumerate(points.items()):
        accuracy, advantage = zip(*some, strict=True)
        color, marker = look_of(name, place)
        axes.plot(accuracy, advantage, marker, color=color, markersize=5, label=name)
    axes.set(xlabel="test accuracy", ylabel="highest advantage")
    axes.set(xlim=(0.02, 0.85), ylim=(0, 0.99))
    axes.grid(False)


def _draw_p1_lines(axes: Axes, thick: float) -> None:
    accuracy, advantage = np.meshgrid(np.linspace(0.02, 0.85, 120), np.linspace(0.0, 0.99, 120))
    privacy = 1 - advantage
    p1 = 2 * accuracy * privacy / (accuracy + privacy)
    levels = np.arange(0.1, 0.8, 0.1)
    lines = axes.contour(accuracy, advantage, p1, levels, colors="#999999", linewidths=0.8)
    free = levels[np.abs(levels - thick) > 0.03]  # The thick line would strike a label out.
    axes.clabel(lines, free, fmt="%.1f", fontsize=9)
    axes.contour(accuracy, advantage, p1, [thick], colors=COLOR["mark"], linewidths=2.2)


class Move(NamedTuple):
    """(accuracy, highest advantage) before a further training, and after it at each strength."""

    before: tuple[Estimate, Estimate]
    after: Mapping[str, tuple[Estimate, Estimate]]  # by what a legend calls the strength


def moves(starts: Mapping[str, Move]) -> Picture:
    """Where a further training leads each start, a panel each; shaded is where P1 is higher.

    A figure has at most five strengths, and they are the same for all starts.
    """

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(starts), 3, sharex=True, sharey=True)
        for axes, (name, move) in zip(grid, starts.items(), strict=True):
            _draw_move(axes, move)
            axes.set_title(name)
        _show_all(grid[0], starts)
        for axes, move in zip(grid, starts.values(), strict=True):
            _shade_higher_p1(axes, move.before)
            axes.tick_params(labelbottom=True)
            axes.xaxis.set_major_locator(MaxNLocator(4))
        figure.supxlabel("test accuracy", fontsize=10)
        figure.supylabel("highest advantage", fontsize=10)
        joint_legend(figure, grid, columns=5)

    points = {f"{name} before": move.before for name, move in starts.items()}
    for name, move in starts.items():
        points |= {f"{name} {strength}": point for strength, point in move.after.items()}
    told = listed(_told_move(name, move) for name, move in starts.items())
    return Picture(
        draw,
        alt=f"{len(starts)} panels, one per start, test accuracy along and highest advantage up: "
        f"{told}.",
        caption="Before (star) and after the further training, with 95 % intervals. Shaded: where "
        "P1 is higher than before.",
        size=(7.4, 0.9 + 2.2 * rows_of(len(starts), 3)),
        numbers=numbers_of_points(points, "accuracy", "advantage"),
    )


def _draw_move(axes: Axes, move: Move) -> None:
    x, y = (estimate.value for estimate in move.before)
    _draw_intervals(axes, move.before, COLOR["mark"])
    axes.plot(x, y, "*", color=COLOR["mark"], markersize=11, label="before")
    for place, (strength, point) in enumerate(move.after.items(), start=1):
        # The further training is PAST's, and without a penalty it is the control.
        color, marker = DEFENSES.get(strength, (SENSITIVE, MARKERS[place]))
        _draw_intervals(axes, point, color)
        x, y = (estimate.value for estimate in point)
        axes.plot(x, y, marker, color=color, markersize=6, label=strength)


def _draw_intervals(axes: Axes, point: tuple[Estimate, Estimate], color: str) -> None:
    accuracy, advantage = point
    style = {"color": color, "linewidth": 0.8}
    axes.hlines(advantage.value, accuracy.low, accuracy.high, **style)
    axes.vlines(accuracy.value, advantage.low, advantage.high, **style)


def _show_all(axes: Axes, starts: Mapping[str, Move]) -> None:
    """Limits by the points alone: with few trainings an interval may fill the plane."""
    points = [point for move in starts.values() for point in (move.before, *move.after.values())]
    places = np.array([[estimate.value for estimate in point] for point in points])
    low = places.min(axis=0)
    high = places.max(axis=0)
    margin = 0.12 * (high - low) + 0.01
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])


def _shade_higher_p1(axes: Axes, before: tuple[Estimate, Estimate]) -> None:
    """P1 is the harmonic mean of accuracy and privacy, so its line has a formula."""
    level = metrics.p1(before[0].value, min(max(before[1].value, 0.0), 1.0))
    bottom, top = axes.get_ylim()
    accuracy = np.linspace(*axes.get_xlim(), 100)
    accuracy = accuracy[2 * accuracy > level * 1.001]
    privacy = level * accuracy / (2 * accuracy - level)
    line = (1 - privacy).clip(bottom, top)
    axes.fill_between(accuracy, bottom, line, color=HIGHER_P1, linewidth=0, zorder=0)


def _told_move(name: str, move: Move) -> str:
    ways = [f"{strength} {spoken_points([point])}" for strength, point in move.after.items()]
    return f"{name} from {spoken_points([move.before])} to {', '.join(ways)}"
