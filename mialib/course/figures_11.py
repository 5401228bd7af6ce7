"""Figures of lesson 11: what differential privacy promises, and models before and after one more step.

>>> round(float(limit(0.01, epsilon=1.0, delta=1e-5)), 4)
0.0272
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.course.plots import COLOR, Picture
from mialib.course.plots.game import roc_axes
from mialib.course.plots.picture import ATTACKS
from mialib.course.sweeps import FPRS
from mialib.errors import check_range
from mialib.estimates import Estimate

MEMBERS = 1000  # behind every TPR of the tables


def limit(fpr: ArrayLike, *, epsilon: float, delta: float) -> np.ndarray:
    """The highest TPR that (ε, δ)-differential privacy allows: min(e^ε·FPR + δ, 1 − e^−ε·(1 − δ − FPR)), at most 1."""
    check_range(0, np.inf, epsilon=epsilon)
    check_range(0, 1, delta=delta)
    fpr = np.asarray(fpr, float)
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(fpr > 0, np.exp(np.minimum(epsilon, 700.0)) * fpr, 0.0) + delta
    return np.clip(np.minimum(steep, 1 - np.exp(-epsilon) * (1 - delta - fpr)), 0, 1)


def largest_advantage(epsilon: float, delta: float) -> float:
    """max TPR − FPR under the promise, where its two lines meet: (e^ε − 1 + 2δ) / (e^ε + 1)."""
    return float(np.tanh(epsilon / 2) + delta * (1 - np.tanh(epsilon / 2)))


def promise(
    curves: dict[str, Sequence[float]], dots: dict[str, ArrayLike], *, epsilon: float, delta: float
) -> Picture:
    """ROC curves of the loss (TPR at `sweeps.FPRS`), and by the same names where all attacks stand, (FPR, TPR) in rows,
    beside what ε allows: grey is forbidden, on log and on linear axes."""
    fine = np.geomspace(FPRS[0], 1, 200)
    bound = limit(fine, epsilon=epsilon, delta=delta)

    def draw(figure: FigureBase) -> None:
        for axes, log in zip(figure.subplots(1, 2), (True, False), strict=True):
            style = {"facecolor": "#e4e4e4", "edgecolor": "#aaaaaa", "hatch": "///", "linewidth": 0}
            axes.fill_between(fine, bound, 1, **style, label=f"ruled out by ε = {epsilon:.3g}")
            axes.plot(fine, bound, color=COLOR["mark"], linewidth=1.2)
            for (name, tpr), (color, line) in zip(curves.items(), ATTACKS, strict=False):
                if log:  # On linear axes they are as thin as the lines.
                    axes.fill_between(FPRS, *_band(tuple(tpr)), color=color, alpha=0.1, linewidth=0)
                axes.plot(FPRS, tpr, color=color, linestyle=line, label=name)
                axes.plot(
                    *np.transpose(dots[name]), "o", color=color, markersize=3.5, clip_on=False
                )
            roc_axes(axes, log)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)

    at = {f"{fpr:g}": float(limit(fpr, epsilon=epsilon, delta=delta)) for fpr in (0.001, 0.01, 0.1)}
    over = {name: float(np.max(np.asarray(tpr) - limit(FPRS, epsilon=epsilon, delta=delta)))
            for name, tpr in curves.items()}  # fmt: skip
    inside = {name: int((np.transpose(some)[1] > limit(np.transpose(some)[0], epsilon=epsilon, delta=delta)).sum())
              for name, some in dots.items()}  # fmt: skip
    told = "; ".join(
        f"{name} {'enters' if above > 0 else 'stays below'} the grey, with {inside[name]} of {len(dots[name])} attacks"
        for name, above in over.items()
    )
    return Picture(
        draw,
        alt=f"ROC curves on logarithmic and linear axes; grey is what ε = {epsilon:.3g} rules out, above a TPR of "
        + ", ".join(f"{tpr:.3g} at FPR {fpr}" for fpr, tpr in at.items())
        + f". {told}.",
        caption=f"The loss attack's ROC, and, hatched in grey, what ε = {epsilon:.3g}, δ = {delta:g} rules out; "
        "bands: 95 % intervals; dots: every attack at its own threshold.",
        size=(7.4, 4.2),
        numbers={f"limit at {fpr}": tpr for fpr, tpr in at.items()}
        | {"largest advantage": largest_advantage(epsilon, delta)}
        | {f"{name} above": above for name, above in over.items()}
        | {f"{name} dots": count for name, count in inside.items()},
    )


def refuted(tpr: Sequence[float], *, delta: float) -> float:
    """The largest ε that this ROC (TPR at `sweeps.FPRS`) refutes, with 95 % confidence over all its points together.

    Every rate is replaced by the end of its exact interval that favours the defender.
    """
    share, needed = 1 - 0.05 / (2 * len(FPRS)), [0.0]
    for member, other in zip(tpr, FPRS, strict=True):
        low = metrics.clopper_pearson(round(member * MEMBERS), MEMBERS, confidence=share)[0]
        high = metrics.clopper_pearson(round(other * MEMBERS), MEMBERS, confidence=share)[1]
        for rate, limited in ((low, high), (1 - high, 1 - low)):
            if rate > delta:
                needed.append(float(np.log((rate - delta) / limited)))
    return max(needed)


@cache
def _band(tpr: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The exact 95 % interval of every TPR."""
    low, high = np.array(
        [metrics.clopper_pearson(round(share * MEMBERS), MEMBERS) for share in tpr]
    ).T
    return low, high


def moves(trios: dict[str, tuple[tuple[Estimate, Estimate], ...]]) -> Picture:
    """(accuracy, highest advantage) before a further training, after the same without its penalty, and after it; an
    arrow from the first to the last, one for each start."""
    when = ("before", "control", "after")

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for (name, points), (color, _) in zip(trios.items(), ATTACKS, strict=False):
            for (accuracy, advantage), marker, face in zip(
                points, "oXo", ("white", "white", color), strict=True
            ):
                style = {"color": color, "linewidth": 0.6}
                axes.hlines(advantage.value, accuracy.low, accuracy.high, **style)
                axes.vlines(accuracy.value, advantage.low, advantage.high, **style)
                axes.plot(
                    accuracy.value,
                    advantage.value,
                    marker,
                    color=color,
                    markerfacecolor=face,
                    markersize=6,
                )
            axes.plot([], [], "o", color=color, label=name)
            before, _, after = ((one.value, other.value) for one, other in points)
            axes.annotate(
                "",
                after,
                before,
                arrowprops={"arrowstyle": "->", "color": color, "lw": 1.6, "shrinkB": 5},
            )
        axes.set(xlabel="test accuracy", ylabel="highest advantage")
        figure.legend(loc="outside upper center", ncols=3)

    told = "; ".join(
        f"{name} from ({a.value:.2f}, {h.value:.2f}) to ({b.value:.2f}, {g.value:.2f}), with λ = 0 to "
        f"({c.value:.2f}, {i.value:.2f})"
        for name, ((a, h), (c, i), (b, g)) in trios.items()
    )
    return Picture(
        draw,
        alt=f"Arrows over test accuracy (right) and highest advantage (up), before and after tuning: {told}.",
        caption="Before (open), after tuning by PAST (filled) and after the same tuning with λ = 0 (cross), "
        "with 95 % intervals; the lower right is best.",
        size=(6.8, 3.8),
        numbers={
            f"{name} {moment} {what}": estimate.value
            for name, points in trios.items()
            for moment, point in zip(when, points, strict=True)
            for what, estimate in zip(("accuracy", "advantage"), point, strict=True)
        },
    )
