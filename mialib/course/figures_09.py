"""Figures of lesson 09: settings as points in panels, and one epoch of tuning beside its control.

>>> one = scatter({"ours": {"PAST": [(0.6, 0.2)]}}, xlabel="test accuracy", ylabel="mean advantage")
>>> one.numbers
{'ours PAST 0 x': 0.6, 'ours PAST 0 y': 0.2}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots import COLOR, Picture
from mialib.course.plots.picture import ATTACKS
from mialib.course.plots.tradeoff import COLORS, MARKERS
from mialib.estimates import Estimate

Number = float | Estimate
Point = tuple[Number, Number]


def scatter(
    panels: dict[str, dict[str, Sequence[Point]]],
    *,
    xlabel: str | dict[str, str],
    ylabel: str | dict[str, str],
    columns: int = 2,
    stars: dict[str, Point] | None = None,
    log: bool = False,
    share: bool = False,
) -> Picture:
    """Points (x, y) by series in panels by title; thin crosses are 95 % intervals, a star is the undefended model.

    A label is one for all panels or one for each; `share` gives all panels the same axes.
    """
    names, rows = (
        list(dict.fromkeys(name for some in panels.values() for name in some)),
        -(-len(panels) // columns),
    )

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, (title, series) in zip(grid.flat, panels.items(), strict=False):
            for name, points in series.items():
                _points(axes, points, names.index(name), name)
            if stars and title in stars:
                x, y = (_triple(number)[0] for number in stars[title])
                axes.plot(
                    x,
                    y,
                    "*",
                    color=COLOR["mark"],
                    markersize=10,
                    linestyle="none",
                    label="undefended",
                )
            axes.set_title(title, fontsize=9 if share else 10)
            if log:
                axes.set_xscale("log")
                axes.minorticks_off()
            if not share:
                along, up = (
                    label if isinstance(label, str) else label[title] for label in (xlabel, ylabel)
                )
                axes.set(xlabel=along, ylabel=up)
        if share:
            figure.supxlabel(str(xlabel), fontsize=10)
            figure.supylabel(str(ylabel), fontsize=10)
        shown = {
            n: h
            for axes in grid.flat
            for h, n in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=4)

    placed = {
        (title, name, k): tuple(_triple(number)[0] for number in point)
        for title, series in panels.items()
        for name, points in series.items()
        for k, point in enumerate(points)
    }
    told = "; ".join(
        f"{title}, {name}: "
        + ", ".join("({:.3g}, {:.3g})".format(*map(_value, point)) for point in points)
        for title, series in panels.items()
        for name, points in series.items()
    )
    along, what = (
        label if isinstance(label, str) else " and ".join(dict.fromkeys(label.values()))
        for label in (xlabel, ylabel)
    )
    return Picture(
        draw,
        alt=f"{len(panels)} panels of points, {along} along, {what} up. {told}.",
        caption=f"{what[0].upper()}{what[1:]} against {along}; thin crosses: 95 % intervals where there are any.",
        size=(8.0, 0.9 + (1.9 if share else 2.5) * rows),
        numbers={
            f"{t} {name} {k} {axis}": at[i]
            for (t, name, k), at in placed.items()
            for i, axis in enumerate("xy")
        },
    )


def epoch_view(
    curves: dict[str, dict[str, Sequence[Estimate]]],
    attacks: dict[str, dict[str, Estimate]],
    gaps: dict[str, float],
    *,
    epoch: int,
    rate: Sequence[float],
    finished: dict[str, dict[int, float]],
) -> Picture:
    """One epoch of tuning: curves by epoch, a panel for each quantity and a line at the epoch, and every attack there.

    `curves` go by quantity and arm, `attacks` and `gaps` by arm; `finished` has each quantity of runs that were planned
    to end after so many epochs; `rate` is the learning rate of each epoch.
    """
    names = list(next(iter(attacks.values())))

    def draw(figure: FigureBase) -> None:
        *panels, right = figure.subplots(
            1, len(curves) + 1, width_ratios=[1] * len(curves) + [1.15]
        )
        x = np.arange(len(rate))
        for axes, (what, arms) in zip(panels, curves.items(), strict=True):
            for (color, line), (arm, curve) in zip(ATTACKS, arms.items(), strict=False):
                value, low, high = np.array([_triple(estimate) for estimate in curve]).T
                axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
                axes.plot(x, value, color=color, linestyle=line, label=arm)
            ends = {at: value for at, value in finished[what].items() if at < len(rate)}
            axes.plot(
                ends.keys(),
                ends.values(),
                "D",
                color=COLOR["mark"],
                fillstyle="none",
                label="PAST, run ends here",
            )
            axes.fill_between(
                x,
                np.array(rate) / max(rate) * 0.15,
                color="#dddddd",
                linewidth=0,
                label="learning rate",
            )
            axes.axvline(epoch, color=COLOR["mark"], linewidth=1)
            axes.set(xlabel="tuning epoch", xticks=range(0, len(rate), 5), ylim=(0, 1), title=what)
        for place, estimates in enumerate(attacks.values()):
            value, low, high = np.array([_triple(estimate) for estimate in estimates.values()]).T
            color, y = ATTACKS[place][0], np.arange(len(value)) + 0.24 * place
            right.plot(value, y, MARKERS[place], color=color, markersize=4)
            right.hlines(y, low, high, color=color)
        right.axvline(0, color=COLOR["chance"], linestyle=":")
        right.set_yticks(range(len(names)), names, fontsize=8)
        right.set(
            xlim=(-0.1, 1), ylim=(len(names) - 0.5, -0.5), title=f"advantage at epoch {epoch}"
        )
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)

    numbers = {
        f"{what}, {arm}": curve[epoch].value
        for what, arms in curves.items()
        for arm, curve in arms.items()
    }
    numbers |= {f"loss gap, {arm}": gap for arm, gap in gaps.items()}
    told = "; ".join(f"{name} {value:.3f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"Curves by tuning epoch with a line at epoch {epoch}, the learning rate below them, and the advantage of "
        f"every attack there. {told}.",
        caption=f"Epoch {epoch}: loss gap "
        + ", ".join(f"{gap:.2f} ({arm})" for arm, gap in gaps.items())
        + ". Bands and bars: 95 % intervals; grey: the learning rate's shape; diamonds: runs planned to end there.",
        size=(9.2, 2.6),
        numbers=numbers,
    )


def _points(axes: Axes, points: Sequence[Point], place: int, name: str) -> None:
    (x, left, right), (y, low, high) = (
        np.array([_triple(point[k]) for point in points]).T for k in (0, 1)
    )
    axes.plot(
        x, y, color=COLORS[place], marker=MARKERS[place], markersize=4.5, linewidth=1, label=name
    )
    axes.hlines(y, left, right, color=COLORS[place], linewidth=0.4)
    axes.vlines(x, low, high, color=COLORS[place], linewidth=0.4)


def _value(number: Number) -> float:
    return _triple(number)[0]


def _triple(number: Number) -> tuple[float, float, float]:
    return (
        (number.value, number.low, number.high)
        if isinstance(number, Estimate)
        else (number, number, number)
    )
