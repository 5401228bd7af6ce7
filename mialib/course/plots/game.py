"""The figures of the membership game: histograms of members and non-members, and ROC curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.course.plots.palette import COLOR, CURVES, HATCH, LINE, curve_of, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import write_plain_ticks
from mialib.course.plots.spoken import capital, listed
from mialib.errors import check_range

LARGEST = 1e9  # No loss of interest lies beyond; infinite ones are drawn there.
DECADES = 8  # A histogram shows so many below its largest value; one bar holds all that is smaller.


def histograms(member: ArrayLike, non_member: ArrayLike, *, label: str = "loss") -> Picture:
    """Two overlaid histograms of a positive quantity, on a logarithmic axis."""
    members = losses(member)
    non_members = losses(non_member)
    member_median = float(np.median(members))
    non_member_median = float(np.median(non_members))
    return Picture(
        lambda figure: draw_histograms(figure.subplots(), members, non_members, label),
        alt=f"Two histograms of {label} on a logarithmic axis: members (blue) with median "
        f"{member_median:.3g}, non-members (orange, hatched) with median {non_member_median:.3g}.",
        caption=f"{capital(label)} of {len(members):,} members and {len(non_members):,} "
        f"non-members.{left_edge(members, non_members)}",
        numbers={"member_median": member_median, "non_member_median": non_member_median},
    )


def roc(attacks: Mapping[str, tuple[ArrayLike, ArrayLike]], *, floor: float = 1e-3) -> Picture:
    """ROC curves by name, each of (scores, is_member), on linear and on logarithmic axes.

    The logarithmic axes begin at `floor`.
    """
    if len(attacks) > len(CURVES):
        raise ValueError(
            f"One figure holds at most {len(CURVES)} curves, found {len(attacks)}. Draw several."
        )
    curves = {name: metrics.roc(*pair) for name, pair in attacks.items()}
    areas = {name: metrics.auc(*pair) for name, pair in attacks.items()}

    def draw(figure: FigureBase) -> None:
        linear, log = figure.subplots(1, 2)
        for axes in (linear, log):
            _draw_rocs(axes, curves, areas)
            roc_axes(axes, axes is log, floor)
        legend = log.get_legend_handles_labels()
        figure.legend(*legend, loc="outside lower center", ncols=min(len(curves), 3))

    told = listed(f"{name} has AUC {area:.2f}" for name, area in areas.items())
    return Picture(
        draw,
        alt="ROC curves, true against false positive rate, on linear (left) and logarithmic axes "
        f"(right). {told}.",
        caption="ROC on linear axes and, once more, on logarithmic ones.",
        size=(7.6, 3.7),
        numbers={f"auc {name}": area for name, area in areas.items()},
        steady=("roc", len(attacks), floor),
    )


def _draw_rocs(axes: Axes, curves: Mapping[str, Any], areas: Mapping[str, float]) -> None:
    for place, (name, curve) in enumerate(curves.items()):
        color, line = curve_of(name, place)
        some = _fewer(len(curve.fpr))
        label = f"{name}, AUC {areas[name]:.2f}"
        axes.plot(curve.fpr[some], curve.tpr[some], color=color, linestyle=line, label=label)


def _fewer(points: int) -> np.ndarray:
    """Places of at most 2,000 points that make the same line as all of them.

    All of those at the left are there, where logarithms tell, and ever fewer to the right.
    """
    return np.unique(np.geomspace(1, points, 2000).astype(int)) - 1


def losses(values: ArrayLike) -> np.ndarray:
    """What a histogram on a logarithmic axis can show: numbers (n,), none below 0."""
    values = np.asarray(values)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"A histogram needs an array (n,) with n ≥ 1, found shape {values.shape}.")
    check_range(0, np.inf, many=True, loss=values)
    return values.astype(np.float64)  # Minus an unsigned integer would wrap round.


def draw_histograms(
    axes: Axes, members: np.ndarray, non_members: np.ndarray, label: str, *, legend: bool = True
) -> None:
    """Put both histograms on `axes`."""
    both = np.concatenate([members, non_members]).clip(1 / LARGEST, LARGEST)
    low = _lowest_shown(both)
    bins = np.geomspace(low, max(both.max(), low * 10), 40)
    for role, values in (("member", members), ("non_member", non_members)):
        style = {"color": COLOR[role], "hatch": HATCH[role], "alpha": 0.55, "edgecolor": "white"}
        shown = values.clip(low, LARGEST)
        axes.hist(shown, bins, histtype="stepfilled", linewidth=0.3, label=group(role), **style)
    axes.set(xscale="log", xlabel=label, ylabel="records")
    axes.minorticks_off()  # They take longer to draw than all the rest.
    if legend:
        axes.legend()


def _lowest_shown(values: np.ndarray) -> float:
    return max(values.min(), values.max() / 10**DECADES)


def left_edge(*values: np.ndarray) -> str:
    """What a caption says where some values lie left of what a histogram shows; else nothing."""
    both = np.concatenate(values).clip(1 / LARGEST, LARGEST)
    if both.min() < _lowest_shown(both):
        return " The bar at the left edge holds all that is smaller."
    return ""


def roc_floor(non_members: int) -> float:
    """Where logarithmic axes begin: there is no FPR between 0 and one false alarm.

    >>> roc_floor(1000)
    0.001
    """
    return float(10.0 ** np.floor(-np.log10(max(non_members, 10))))


def roc_axes(axes: Axes, log: bool, floor: float = 1e-3) -> None:
    """Give `axes` the scale, limits, names and diagonal of a ROC."""
    grid = np.geomspace(floor, 1, 50)
    axes.plot(grid, grid, color=COLOR["chance"], linestyle=LINE["chance"])
    scale = "log" if log else "linear"
    limits = (floor if log else 0, 1)
    axes.set(xscale=scale, yscale=scale, xlim=limits, ylim=limits)
    if log:
        write_plain_ticks(axes.xaxis)
        write_plain_ticks(axes.yaxis)
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.minorticks_off()
    axes.set_box_aspect(1)
