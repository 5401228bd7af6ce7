"""A plane of accuracy and leakage for each attack, as PAST's Fig. 3, 4, 7 and 14 are laid out.

>>> point = (Estimate(0.6, 0.5, 0.7), Estimate(0.3, 0.2, 0.4))
>>> attack_planes({"PAST": {"loss": [point]}}, undefended={"loss": point}).numbers["loss PAST 0 y"]
0.3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR, COLORS, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    band_of,
    draw_dotted_cross,
    joint_legend,
    numbers_of_points,
    panel_grid,
    rows_of,
)
from mialib.course.plots.spoken import capital, listed, spoken_points
from mialib.estimates import Estimate

EstimatedPoint = tuple[Estimate, Estimate]  # accuracy, and what leaks
ByAttack = Mapping[str, Sequence[EstimatedPoint]]
LEAST_SHARE = 0.7  # of the undefended model's accuracy: below that, a setting is not drawn
MARGIN = 0.02  # of accuracy, left and right of the points
LEGEND_WIDTH = 1.8  # inches that a name takes in the legend


def attack_planes(
    curves: Mapping[str, ByAttack],
    *,
    undefended: Mapping[str, EstimatedPoint],
    ylabel: str = "attack advantage",
    columns: int = 4,
    panel: tuple[float, float] = (2.4, 2.2),
    joined: bool = True,
    told: str = "",
) -> Picture:
    """A panel for each attack, in it a curve for each defense: its strengths, by accuracy.

    The star is the undefended model, and the dotted lines go out from it. `panel` is the size of
    one in inches, `joined` draws lines between the strengths, and `told` ends the caption.
    """
    attacks = list(undefended)
    rows = rows_of(len(attacks), columns)
    width = panel[0] * min(columns, len(attacks))

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(attacks), columns, sharex=True)
        for axes, attack in zip(grid, attacks, strict=True):
            for place, (name, by_attack) in enumerate(curves.items()):
                inside = _inside(by_attack[attack], undefended)
                _draw_curve(axes, inside, name, place, joined=joined)
            x, y = (number.value for number in undefended[attack])
            axes.plot(x, y, "*", color=COLOR["mark"], markersize=11, label="undefended", zorder=5)
            draw_dotted_cross(axes, x, y)
            axes.set_title(attack)
        _frame(grid[0], curves, undefended)
        figure.supxlabel("test accuracy (right is better)", fontsize=10)
        figure.supylabel(f"{ylabel} (down is better)", fontsize=10)
        joint_legend(figure, grid, columns=max(2, min(len(curves) + 1, int(width // LEGEND_WIDTH))))

    points = {
        f"{attack} {name} {k}": point
        for attack in attacks
        for name, by_attack in curves.items()
        for k, point in enumerate(by_attack[attack])
    }
    return Picture(
        draw,
        alt=_alt(curves, undefended, ylabel),
        caption=f"{capital(ylabel)} against test accuracy, a panel for each attack and a curve for "
        f"each defense by strength; bars: 95 % intervals over trainings and records."
        f"{_told_outside(curves, undefended)} {told}".strip(),
        size=(width, 0.9 + panel[1] * rows),
        numbers=numbers_of_points(points, "x", "y"),
    )


def least_accuracy(undefended: Mapping[str, EstimatedPoint]) -> float:
    """Where the frame begins: who is far less accurate than the undefended model is of no use."""
    accuracy, _ = next(iter(undefended.values()))
    return LEAST_SHARE * accuracy.value


def _inside(
    points: Sequence[EstimatedPoint], undefended: Mapping[str, EstimatedPoint]
) -> list[EstimatedPoint]:
    """The points that the frame shows; a line to the others would cross it to nowhere."""
    limit = least_accuracy(undefended)
    return [(x, y) for x, y in points if x.value >= limit]


def _frame(
    axes: Axes, curves: Mapping[str, ByAttack], undefended: Mapping[str, EstimatedPoint]
) -> None:
    """From the least accurate point that is of use to the most accurate one."""
    limit = least_accuracy(undefended)
    start, _ = next(iter(undefended.values()))
    inside = [x for x in _accuracies(curves) if x >= limit] + [start.value]
    axes.set_xlim(min(inside) - MARGIN, max(inside) + MARGIN)


def _told_outside(curves: Mapping[str, ByAttack], undefended: Mapping[str, EstimatedPoint]) -> str:
    """Whose settings lie left of the frame, and how many."""
    limit = least_accuracy(undefended)
    outside = {
        name: sum(x < limit for x in _accuracies({name: by_attack}))
        for name, by_attack in curves.items()
    }
    told = [f"{name} ({number})" for name, number in outside.items() if number]
    if not told:
        return ""
    return f" Settings outside the frame, less accurate than {limit:.2f}: {', '.join(told)}."


def _accuracies(curves: Mapping[str, ByAttack]) -> list[float]:
    """Of every setting, once."""
    points = [next(iter(by_attack.values())) for by_attack in curves.values()]
    return [accuracy.value for some in points for accuracy, _ in some]


def _draw_curve(
    axes: Axes, points: Sequence[EstimatedPoint], name: str, place: int, *, joined: bool
) -> None:
    if not points:
        return
    x = band_of(x for x, _ in points)
    y = band_of(y for _, y in points)
    color = COLORS[place % len(COLORS)]
    axes.errorbar(
        x.value,
        y.value,
        xerr=x.errors(),
        yerr=y.errors(),
        color=color,
        marker=MARKERS[place % len(MARKERS)],
        markersize=4.5,
        linestyle="-" if joined else "none",
        linewidth=1,
        elinewidth=0.4,
        label=name,
    )


def _alt(
    curves: Mapping[str, ByAttack], undefended: Mapping[str, EstimatedPoint], ylabel: str
) -> str:
    panels = []
    for attack, start in undefended.items():
        told = listed(
            f"{name} {spoken_points(by_attack[attack])}" for name, by_attack in curves.items()
        )
        panels.append(f"{attack}: undefended {spoken_points([start])}; {told}")
    return (
        f"{len(undefended)} panels of {ylabel} (up) against test accuracy (right), with a dotted "
        f"cross through the undefended model. {'. '.join(panels)}."
    )
