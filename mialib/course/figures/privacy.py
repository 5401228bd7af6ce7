"""What differential privacy promises, beside what attacks reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.course.plots.game import roc_axes
from mialib.course.plots.palette import COLOR, CURVES
from mialib.course.plots.picture import Picture
from mialib.course.plots.spoken import listed
from mialib.course.statistics import highest_tpr, largest_advantage
from mialib.course.sweeps import FPRS

ASKED = (0.001, 0.01, 0.1)  # FPRs whose limit is told
MEMBERS = 1000  # behind every TPR of the tables
RULED_OUT = {"facecolor": "#e4e4e4", "edgecolor": "#aaaaaa", "hatch": "///", "linewidth": 0}


def promise(
    curves: Mapping[str, Sequence[float]],
    dots: Mapping[str, ArrayLike],
    *,
    epsilon: float,
    delta: float,
) -> Picture:
    """ROC curves of the loss beside what ε allows, on log and on linear axes: grey is forbidden.

    `curves` has TPRs at `sweeps.FPRS`, and `dots`, by the same names, where all attacks stand:
    (FPR, TPR) in rows.
    """
    promised = Promise(epsilon, delta)
    places = {name: np.asarray(some, float) for name, some in dots.items()}  # (attacks, 2)

    def draw(figure: FigureBase) -> None:
        log, linear = figure.subplots(1, 2)
        for axes in (log, linear):
            _draw_ruled_out(axes, promised)
            for (name, tpr), (color, line) in zip(curves.items(), CURVES, strict=False):
                if axes is log:  # On linear axes a band is as thin as its line.
                    low, high = _exact_band(tuple(tpr))
                    axes.fill_between(FPRS, low, high, color=color, alpha=0.1, linewidth=0)
                axes.plot(FPRS, tpr, color=color, linestyle=line, label=name)
                axes.plot(*places[name].T, "o", color=color, markersize=3.5, clip_on=False)
            roc_axes(axes, axes is log)
        legend = linear.get_legend_handles_labels()
        figure.legend(*legend, loc="outside lower center", ncols=3)

    numbers = _numbers(promised, curves, places)
    bounds = ", ".join(f"{numbers[f'limit at {fpr:g}']:.3g} at FPR {fpr:g}" for fpr in ASKED)
    told = listed(_told(name, numbers, len(places[name])) for name in curves)
    return Picture(
        draw,
        alt=f"ROC curves on logarithmic and linear axes; grey is what ε = {epsilon:.3g} rules out, "
        f"above a TPR of {bounds}. {told}.",
        caption=f"The loss attack's ROC, and, hatched in grey, what ε = {epsilon:.3g}, "
        f"δ = {delta:g} rules out. Bands: 95 % intervals; dots: every attack at its own threshold.",
        size=(7.4, 4.2),
        numbers=numbers,
    )


class Promise(NamedTuple):
    """(ε, δ)-differential privacy."""

    epsilon: float
    delta: float

    def limit(self, fpr: ArrayLike) -> np.ndarray:
        """The highest TPR that it allows."""
        return highest_tpr(fpr, epsilon=self.epsilon, delta=self.delta)


def _numbers(
    promised: Promise, curves: Mapping[str, Sequence[float]], places: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """Limits at three FPRs, and for each name how far it goes beyond, and with how many attacks."""
    numbers = {f"limit at {fpr:g}": float(promised.limit(fpr)) for fpr in ASKED}
    numbers["largest advantage"] = largest_advantage(promised.epsilon, promised.delta)
    limit = promised.limit(FPRS)
    for name, tpr in curves.items():
        numbers[f"{name} above"] = float(np.max(np.asarray(tpr) - limit))
    for name, dots in places.items():
        fpr, tpr = dots.T
        numbers[f"{name} dots"] = int((tpr > promised.limit(fpr)).sum())
    return numbers


def _told(name: str, numbers: Mapping[str, float], attacks: int) -> str:
    enters = "enters" if numbers[f"{name} above"] > 0 else "stays below"
    return f"{name} {enters} the grey, with {numbers[f'{name} dots']} of {attacks} attacks"


def _draw_ruled_out(axes: Axes, promised: Promise) -> None:
    fpr = np.geomspace(FPRS[0], 1, 200)
    limit = promised.limit(fpr)
    axes.fill_between(fpr, limit, 1, **RULED_OUT, label=f"ruled out by ε = {promised.epsilon:.3g}")
    axes.plot(fpr, limit, color=COLOR["mark"], linewidth=1.2)


@cache
def _exact_band(tpr: tuple[float, ...]) -> np.ndarray:
    """The exact 95 % interval of every TPR: (2, n). A slider asks for it again and again."""
    intervals = [metrics.clopper_pearson(round(share * MEMBERS), MEMBERS) for share in tpr]
    return np.array(intervals).T
