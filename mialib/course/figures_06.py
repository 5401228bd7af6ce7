"""Figures of lesson 06: a board of every defense at its chosen strength, what each attack lost, and P1 as a map.

>>> standing = {"accuracy": 0.5, "loss gap": 1.2, "loss": 0.6, "mean": 0.6, "highest": 0.6, "P1": 0.44}
>>> board({"undefended": standing}).numbers["undefended highest"]
0.6
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib import metrics
from mialib.course.plots import COLOR, Picture
from mialib.course.plots.tradeoff import COLORS, MARKERS
from mialib.course.sweeps import Sweep
from mialib.estimates import Estimate

FACTS, SUMMARIES = ("accuracy", "loss gap"), ("mean", "highest", "P1")
SHORT = {"max confidence": "max conf.", "modified entropy": "mod. entropy"}


def standing(sweep: Sweep, row: int) -> dict[str, float]:
    """All that a table holds of one row, without intervals: accuracy, loss gap, every attack, mean, highest, P1."""
    member = sweep.is_member
    rates = [
        sweep.votes[row][:, chosen].mean(axis=1) for chosen in (member, ~member)
    ]  # (attacks,) each
    advantage = rates[0] - rates[1]
    accuracy, highest = float(sweep.correct[row][~member].mean()), float(advantage.max())
    facts = {"accuracy": accuracy, "loss gap": sweep.rows[row]["loss_gap"]}
    attacks = dict(zip(sweep.attacks, map(float, advantage), strict=True))
    p1 = metrics.p1(accuracy, max(highest, 0.0))
    return facts | attacks | {"mean": float(advantage.mean()), "highest": highest, "P1": p1}


def board(standings: dict[str, dict[str, float]]) -> Picture:
    """Each defense at one strength: where it stands (left), and its numbers (right); the first is undefended."""
    columns = list(next(iter(standings.values())))
    attacks = [name for name in columns if name not in (*FACTS, *SUMMARIES)]
    table = np.array([list(row.values()) for row in standings.values()])

    def draw(figure: FigureBase) -> None:
        plane, cells = figure.subplots(1, 2, width_ratios=[1, 2.6])
        for place, row in enumerate(standings.values()):
            marker, color = (
                (MARKERS[place - 1], COLORS[place - 1]) if place else ("*", COLOR["mark"])
            )
            style = {
                "color": color,
                "markersize": 6 if place else 11,
                "zorder": 3,
                "clip_on": False,
            }
            plane.plot(row["accuracy"], row["highest"], marker, **style)
            cells.plot(-0.75, place, marker, **style)
        first = next(iter(standings.values()))
        plane.axvline(first["accuracy"], color=COLOR["chance"], linestyle=":", linewidth=1)
        plane.axhline(first["highest"], color=COLOR["chance"], linestyle=":", linewidth=1)
        plane.set(
            xlabel="test accuracy", ylabel="highest advantage", xlim=(0.05, 0.75), ylim=(-0.03, 1.0)
        )
        _cells(cells, table, [name in (*attacks, "mean", "highest") for name in columns])
        cells.set_xticks(range(len(columns)), map(_short, columns), rotation=40, ha="left")
        cells.set_yticks(range(len(standings)), list(standings))
        cells.tick_params(axis="y", pad=20)
        cells.set_xlim(-0.5, len(columns) - 0.5)

    told = "; ".join(
        f"{name}: accuracy {row['accuracy']:.2f}, highest {row['highest']:.2f}, P1 {row['P1']:.2f}"
        for name, row in standings.items()
    )
    return Picture(
        draw,
        alt=f"Left, highest advantage against test accuracy; right, a table with a row for each defense. {told}.",
        caption="Test accuracy, loss gap, every attack's advantage (the darker, the higher), mean, highest, and P1.",
        size=(11.6, 3.2),
        numbers={
            f"{name} {what}": row[what] for name, row in standings.items() for what in columns
        },
    )


def changes(rows: dict[str, dict[str, Estimate]]) -> Picture:
    """How much each attack's advantage changed under each defense; bold where the interval excludes 0."""
    columns = list(next(iter(rows.values())))
    table = np.array([[estimate.value for estimate in row.values()] for row in rows.values()])
    sure = np.array([[e.low > 0 or e.high < 0 for e in row.values()] for row in rows.values()])

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        axes.imshow(table, cmap="PuOr_r", vmin=-0.7, vmax=0.7, aspect="auto")
        for (row, column), value in np.ndenumerate(table):
            weight, color = (
                "bold" if sure[row, column] else "normal",
                "white" if abs(value) > 0.45 else "black",
            )
            axes.text(
                column,
                row,
                f"{value:+z.2f}",
                ha="center",
                va="center",
                fontsize=9,
                weight=weight,
                color=color,
            )
        axes.set_xticks(range(len(columns)), map(_short, columns), rotation=30, ha="left")
        axes.set_yticks(range(len(rows)), list(rows))
        _plain(axes)

    found = {
        f"{row} {name}": e.value for row, estimates in rows.items() for name, e in estimates.items()
    }
    told = "; ".join(f"{name} {value:+.2f}" for name, value in found.items())
    return Picture(
        draw,
        alt=f"A table of changes in advantage, purple below 0 and orange above, bold where sure. {told}.",
        caption="Change of each attack's advantage against the undefended model; bold: the paired interval excludes 0.",
        size=(8.4, 0.9 + 0.36 * len(rows)),
        numbers=found,
    )


def p1_map(
    points: dict[str, Sequence[tuple[float, float]]], *, undefended: tuple[float, float]
) -> Picture:
    """Settings as (accuracy, advantage) on the lines of equal P1; the one through the undefended model is thick."""
    accuracy, advantage = np.meshgrid(np.linspace(0.02, 0.85, 120), np.linspace(0.0, 0.99, 120))
    level = 2 * accuracy * (1 - advantage) / (accuracy + 1 - advantage)
    start = metrics.p1(*undefended)

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        lines = axes.contour(
            accuracy, advantage, level, np.arange(0.1, 0.8, 0.1), colors="#999999", linewidths=0.8
        )
        axes.clabel(lines, fmt="%.1f", fontsize=8)
        axes.contour(accuracy, advantage, level, [start], colors=COLOR["mark"], linewidths=2.2)
        for place, (name, some) in enumerate(points.items()):
            axes.plot(
                *zip(*some, strict=True),
                MARKERS[place],
                color=COLORS[place],
                markersize=5,
                label=name,
            )
        axes.plot(*undefended, "*", color=COLOR["mark"], markersize=12, label="undefended")
        axes.set(
            xlabel="test accuracy", ylabel="highest advantage", xlim=(0.02, 0.85), ylim=(0, 0.99)
        )
        axes.grid(False)
        figure.legend(loc="outside upper center", ncols=4)

    found = {
        f"{name} {k}": metrics.p1(*point)
        for name, some in points.items()
        for k, point in enumerate(some)
    }
    best = max(found, key=found.get)
    return Picture(
        draw,
        alt=f"Scatter plot of highest advantage against test accuracy over lines of equal P1 from 0.1 to 0.7. "
        f"The undefended model has P1 {start:.2f}; the best setting, {best}, has {found[best]:.2f}.",
        caption="Lines join models of equal P1 (thick: as good as the undefended one by that number).",
        size=(6.8, 4.0),
        numbers=found | {"undefended": start},
    )


def _short(attack: str) -> str:
    return SHORT.get(attack, attack.removesuffix(", PAST"))


def _cells(axes: Axes, table: np.ndarray, shaded: Sequence[bool]) -> None:
    """Numbers on a grid, in grey where they are advantages."""
    shade = np.where(shaded, table.clip(0, 1), 0.0)
    axes.imshow(shade, cmap="Greys", vmin=0, vmax=1.6, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        text = axes.text(column, row, f"{value:z.2f}", ha="center", va="center", fontsize=8.5)
        text.set_in_layout(False)  # It lies inside, and measuring it takes as long as drawing it.
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
