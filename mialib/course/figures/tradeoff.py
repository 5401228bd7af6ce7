"""Defenses compared: a board of their numbers, what each attack lost, P1 as a map, moves.

>>> row = {"accuracy": 0.5, "loss gap": 1.2, "loss": 0.6, "mean": 0.6, "highest": 0.6, "P1": 0.44}
>>> board({"undefended": row}).numbers["undefended highest"]
0.6
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib import metrics
from mialib.course.plots.palette import COLOR, COLORS, CURVES, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import draw_dotted_cross, numbers_of_points
from mialib.course.plots.spoken import listed, spoken, spoken_points
from mialib.course.plots.tables import SHADE, columns_above, draw_cells
from mialib.estimates import Estimate

Standing = Mapping[str, float]  # as `statistics.standing` gives it
NOT_ADVANTAGES = ("accuracy", "loss gap", "P1")  # columns of a standing that stay white
SHORT = {"max confidence": "max conf.", "modified entropy": "mod. entropy"}


def board(standings: Mapping[str, Standing]) -> Picture:
    """Each defense at one strength: where it stands (left), and its numbers (right).

    The first is the undefended model.
    """
    columns = list(next(iter(standings.values())))

    def draw(figure: FigureBase) -> None:
        plane, table = figure.subplots(1, 2, width_ratios=[1, 2.6])
        _draw_board(table, standings, columns)
        _draw_places(plane, table, list(standings.values()))

    told = listed(_told_standing(name, row) for name, row in standings.items())
    return Picture(
        draw,
        alt="Left, highest advantage against test accuracy; right, a table with a row for each "
        f"defense. {told}.",
        caption="Test accuracy, loss gap, every attack's advantage (the darker, the higher), mean, "
        "highest, and P1.",
        size=(11.6, 3.2),
        numbers={
            f"{name} {what}": row[what] for name, row in standings.items() for what in columns
        },
    )


def _draw_board(axes: Axes, standings: Mapping[str, Standing], columns: Sequence[str]) -> None:
    table = np.array([[row[name] for name in columns] for row in standings.values()])
    white = [name in NOT_ADVANTAGES for name in columns]
    shade = np.where(white, 0.0, table.clip(0, 1))
    names = [_short(name) for name in columns]
    style = {"fontsize": 8.5, **SHADE}
    draw_cells(axes, table, shade=shade, rows=list(standings), columns=names, **style)
    columns_above(axes, rotation=40, ha="left")
    axes.tick_params(axis="y", pad=20)


def _draw_places(plane: Axes, table: Axes, standings: Sequence[Standing]) -> None:
    """A marker for each defense in the plane, and again between its name and its numbers."""
    for place, row in enumerate(standings):
        style = _board_style(place)
        plane.plot(row["accuracy"], row["highest"], **style)
        table.plot(-0.25, place + 0.5, **style)
    table.set_xlim(0, len(standings[0]))
    draw_dotted_cross(plane, standings[0]["accuracy"], standings[0]["highest"])
    plane.set(xlabel="test accuracy", ylabel="highest advantage")
    plane.set(xlim=(0.05, 0.75), ylim=(-0.03, 1.0))


def _short(attack: str) -> str:
    return SHORT.get(attack, attack.removesuffix(" (PAST)"))


def _board_style(place: int) -> dict:
    """The undefended model is a star; each defense has a marker and a colour."""
    style = {"linestyle": "none", "zorder": 3, "clip_on": False}
    if place == 0:
        return {"marker": "*", "color": COLOR["mark"], "markersize": 11, **style}
    return {"marker": MARKERS[place - 1], "color": COLORS[place - 1], "markersize": 6, **style}


def _told_standing(name: str, row: Standing) -> str:
    facts = {what: row[what] for what in ("accuracy", "highest", "P1")}
    return f"{name}: " + ", ".join(f"{what} {value:z.2f}" for what, value in facts.items())


def changes(rows: Mapping[str, Mapping[str, Estimate]]) -> Picture:
    """How much each attack's advantage changed under each defense; bold where it is sure."""
    numbers = {
        f"{name} {attack}": estimate.value
        for name, row in rows.items()
        for attack, estimate in row.items()
    }
    return Picture(
        lambda figure: _draw_changes(figure.subplots(), rows),
        alt="A table of changes in advantage, purple below 0 and orange above, bold where sure. "
        f"{spoken(numbers, '+z.2f')}.",
        caption="Change of each attack's advantage against the undefended model; bold: the paired "
        "interval excludes 0.",
        size=(8.4, 0.9 + 0.36 * len(rows)),
        numbers=numbers,
    )


def _draw_changes(axes: Axes, rows: Mapping[str, Mapping[str, Estimate]]) -> None:
    first, *_ = rows.values()
    columns = [_short(name) for name in first]
    estimates = [estimate for row in rows.values() for estimate in row.values()]
    table = np.reshape([estimate.value for estimate in estimates], (len(rows), len(columns)))
    colors = {"cmap": "PuOr_r", "vmin": -0.7, "vmax": 0.7}
    draw_cells(axes, table, rows=list(rows), columns=columns, form="+z.2f", **colors)
    columns_above(axes, rotation=30, ha="left")
    for text, estimate in zip(axes.texts, estimates, strict=True):
        if estimate.low > 0 or estimate.high < 0:
            text.set_fontweight("bold")


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
        style = {"color": COLORS[place], "markersize": 5}
        axes.plot(accuracy, advantage, MARKERS[place], **style, label=name)
    axes.set(xlabel="test accuracy", ylabel="highest advantage")
    axes.set(xlim=(0.02, 0.85), ylim=(0, 0.99))
    axes.grid(False)


def _draw_p1_lines(axes: Axes, thick: float) -> None:
    accuracy, advantage = np.meshgrid(np.linspace(0.02, 0.85, 120), np.linspace(0.0, 0.99, 120))
    privacy = 1 - advantage
    p1 = 2 * accuracy * privacy / (accuracy + privacy)
    levels = np.arange(0.1, 0.8, 0.1)
    lines = axes.contour(accuracy, advantage, p1, levels, colors="#999999", linewidths=0.8)
    axes.clabel(lines, fmt="%.1f", fontsize=8)
    axes.contour(accuracy, advantage, p1, [thick], colors=COLOR["mark"], linewidths=2.2)


class Move(NamedTuple):
    """(accuracy, highest advantage) before a further training, and after it in two ways."""

    before: tuple[Estimate, Estimate]
    control: tuple[Estimate, Estimate]  # after the same training without its penalty
    after: tuple[Estimate, Estimate]


def moves(starts: Mapping[str, Sequence[tuple[Estimate, Estimate]]]) -> Picture:
    """Where a further training leads each start: an arrow from before to after.

    The three points of a start are those of `Move`.
    """
    trios = {name: Move(*points) for name, points in starts.items()}

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for (name, trio), (color, _) in zip(trios.items(), CURVES, strict=False):
            _draw_move(axes, trio, color)
            axes.plot([], [], "o", color=color, label=name)
        axes.set(xlabel="test accuracy", ylabel="highest advantage")
        figure.legend(loc="outside upper center", ncols=3)

    points = {
        f"{name} {moment}": point
        for name, trio in trios.items()
        for moment, point in trio._asdict().items()
    }
    told = listed(_told_move(name, trio) for name, trio in trios.items())
    return Picture(
        draw,
        alt="Arrows over test accuracy (right) and highest advantage (up), before and after "
        f"tuning: {told}.",
        caption="Before (open), after tuning by PAST (filled) and after the same tuning with λ = 0 "
        "(cross), with 95 % intervals; the lower right is best.",
        size=(6.8, 3.8),
        numbers=numbers_of_points(points, "accuracy", "advantage"),
    )


def _draw_move(axes: Axes, trio: Move, color: str) -> None:
    looks = (("o", "white"), ("X", "white"), ("o", color))  # before, control, after
    for (accuracy, advantage), (marker, face) in zip(trio, looks, strict=True):
        style = {"color": color, "linewidth": 0.6}
        axes.hlines(advantage.value, accuracy.low, accuracy.high, **style)
        axes.vlines(accuracy.value, advantage.low, advantage.high, **style)
        dot = {"color": color, "markerfacecolor": face, "markersize": 6}
        axes.plot(accuracy.value, advantage.value, marker, **dot)
    start = (trio.before[0].value, trio.before[1].value)
    end = (trio.after[0].value, trio.after[1].value)
    arrow = {"arrowstyle": "->", "color": color, "lw": 1.6, "shrinkB": 5}
    axes.annotate("", end, start, arrowprops=arrow)


def _told_move(name: str, trio: Move) -> str:
    before, control, after = (spoken_points([point]) for point in trio)
    return f"{name} from {before} to {after}, with λ = 0 to {control}"
