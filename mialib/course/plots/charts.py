"""Charts of results: estimates side by side, curves with bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from mialib.course.plots.picture import ATTACKS, COLOR, LINE, Picture
from mialib.estimates import Estimate

MARKERS = ("o", "s", "^", "D", "v")


def comparison(
    series: dict[str, dict[str, Estimate]],
    *,
    label: str,
    chance: float = 0.0,
    mark: str | None = None,
) -> Picture:
    """Estimates with their intervals, one row for each name and one marker for each series; `mark` shades a row."""
    rows = list(dict.fromkeys(name for estimates in series.values() for name in estimates))

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, estimates) in enumerate(series.items()):
            y = np.array([rows.index(row) for row in estimates]) + 0.24 * (
                place - (len(series) - 1) / 2
            )
            value, low, high = np.array([(e.value, e.low, e.high) for e in estimates.values()]).T
            color = ATTACKS[place][0]
            error = np.maximum(
                [value - low, high - value], 0
            )  # A bootstrap interval may miss the value.
            axes.errorbar(
                value, y, xerr=error, fmt=MARKERS[place], color=color, label=name, capsize=3
            )
        if mark is not None:
            axes.axhspan(
                rows.index(mark) - 0.45, rows.index(mark) + 0.45, color="#f0f0f0", zorder=0
            )
        axes.axvline(chance, color=COLOR["chance"], linestyle=LINE["chance"])
        axes.set(
            yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.5, -0.5), xlabel=label
        )
        if len(series) > 1:
            figure.legend(loc="outside upper center", ncols=len(series))

    listed = "; ".join(
        f"{one}, {row}: {e}" for one, estimates in series.items() for row, e in estimates.items()
    )
    return Picture(
        draw,
        alt=f"Dots with 95 % intervals, {label} along the axis, a dotted line at {chance:g} for chance. {listed}.",
        caption=f"{label[0].upper()}{label[1:]} with 95 % intervals; dotted: chance.",
        size=(6.8, 0.9 + 0.34 * len(rows) * max(1, 0.7 * len(series)) + 0.3 * (len(series) > 1)),
        numbers={
            f"{one} {row}": e.value
            for one, estimates in series.items()
            for row, e in estimates.items()
        },
    )


def lines(
    x: ArrayLike,
    curves: dict[str, ArrayLike | Sequence[Estimate]],
    *,
    xlabel: str,
    ylabel: str,
    mark: float | None = None,
    roles: bool = False,
    log: str = "",
) -> Picture:
    """Curves over x, with a band where they are estimates; `mark` is a place on the axis, `log` "x" or "xy".

    With `roles`, the curves are named by the roles that have colours of their own: member, non_member, …
    """
    x, few = np.asarray(x, float), len(x) <= 12
    table = {
        name: np.array([_as_triple(value) for value in curve]).T for name, curve in curves.items()
    }

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, (value, low, high)) in enumerate(table.items()):
            color, line = (COLOR[name], LINE[name]) if roles else ATTACKS[place]
            axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
            label = name.replace("_", "-") + "s" * roles
            marker = MARKERS[place] if few else None
            axes.plot(
                x, value, color=color, linestyle=line, marker=marker, markersize=4, label=label
            )
        if mark is not None:
            axes.axvline(mark, color=COLOR["mark"], linewidth=1)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set(**{f"{axis}scale": "log" for axis in log})
        axes.minorticks_off()
        if log and few:
            axes.set_xticks(x, [f"{tick:g}" for tick in x])
        elif not log and (x == x.round()).all():
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(loc="outside upper center", ncols=min(len(table), 3))

    told = [
        (name, value[0], value[-1], value.min(), value.max())
        for name, (value, _, _) in table.items()
    ]
    ends = "; ".join(
        "{} from {:.3f} to {:.3f}, between {:.3f} and {:.3f}".format(*row) for row in told
    )
    at = "" if mark is None else f" A vertical line marks {mark:g}."
    return Picture(
        draw,
        alt=f"Line chart of {ylabel} against {xlabel} from {x[0]:g} to {x[-1]:g}: {ends}.{at}",
        caption=f"{ylabel[0].upper()}{ylabel[1:]} by {xlabel}.",
        size=(6.4, 3.2),
        numbers={
            f"{name} at {at:g}": float(y)
            for name, row in table.items()
            for at, y in zip(x, row[0], strict=True)
        }
        | ({} if mark is None else {"mark": mark}),
    )


def _as_triple(value: float | Estimate) -> tuple[float, float, float]:
    return (
        (value.value, value.low, value.high)
        if isinstance(value, Estimate)
        else (value, value, value)
    )
