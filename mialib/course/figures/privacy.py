"""What differential privacy promises, beside what attacks reach.

reached = {"undefended": reach_of(plain), "σ = 1": reach_of(private)}
promise(reached, epsilon=1.0, delta=1e-5)       # a panel for each of the two inequalities
reached["undefended"].refuted(delta=1e-5)       # the largest ε that the attacks refute
ceilings({"σ = 1": reached["σ = 1"]}, {"σ = 1": guarantee}, delta=1e-5)     # a panel for each
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.game import roc_axes
from mialib.course.plots.palette import COLOR, CURVES, LINE
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import joint_legend
from mialib.course.plots.spoken import listed
from mialib.course.statistics import SureRates, refuted_epsilon, sure_rates
from mialib.epsilon import Guarantee, highest_tpr, largest_advantage, promised
from mialib.results import Results

FLOOR = 1e-3  # A thousand records of each kind resolve no smaller rate.
_CORNER = np.geomspace(FLOOR, 1, 22)
# FPRs at which the attacks are asked: dense near 0 and near 1, where promises are broken.
FPRS = np.unique(np.concatenate([_CORNER, 1 - _CORNER, np.linspace(0, 1, 21)]).round(3))
ASKED = (0.01, 0.1)  # FPRs whose limit is told
RULED_OUT = {"facecolor": "#e4e4e4", "edgecolor": "#aaaaaa", "hatch": "///", "linewidth": 0}


class Reach(NamedTuple):
    """What the best of all attacks reaches at each of `FPRS`: (points,) each.

    fpr, tpr   as measured, the mean over trainings
    sure       the ends of their exact intervals that favour the defender, which hold for all points
               and all attacks together
    """

    fpr: np.ndarray
    tpr: np.ndarray
    sure: SureRates

    def mirrored(self) -> Reach:
        """The same for an attack that clears non-members: its alarms are the missed members."""
        sure = SureRates(tpr=1 - self.sure.fpr, fpr=1 - self.sure.tpr)
        return Reach(fpr=1 - self.tpr, tpr=1 - self.fpr, sure=sure)

    def refuted(self, delta: float) -> float:
        """The largest ε that the attacks refute, with 95 % confidence."""
        return refuted_epsilon(self.sure, delta=delta)


def reach_of(trainings: Results) -> Reach:
    """What all attacks together reach in one setting."""
    curves = [trainings.roc(attack, FPRS).mean(axis=0) for attack in trainings.attacks]
    members = int(trainings.is_member.sum())
    return reach(
        np.stack(curves),
        members=members,
        non_members=len(trainings.is_member) - members,
    )


def reach(curves: np.ndarray, *, members: int, non_members: int) -> Reach:
    """The same from each attack's TPRs at `FPRS`: (attacks, points)."""
    best = curves.max(axis=0)
    sure = sure_rates(
        best,
        FPRS,
        members=members,
        non_members=non_members,
        comparisons=curves.size,
    )
    return Reach(FPRS, best, sure)


def promise(reached: Mapping[str, Reach], *, epsilon: float, delta: float) -> Picture:
    """What attacks reach beside what ε allows: grey is forbidden, by one inequality a panel.

    ε is refuted where the thin line of what is sure enters the grey.
    """
    defended = [name for name in reached if name != "undefended"]
    styles: dict[str, Any] = dict(zip(defended, CURVES, strict=False))
    styles["undefended"] = (COLOR["mark"], LINE["mark"])

    def draw(figure: FigureBase) -> None:
        accuse, clear = figure.subplots(1, 2)
        for name, one in reached.items():
            color, line = styles[name]
            style = {"color": color, "linestyle": line, "label": name}
            _draw_reach(accuse, one, style)
            _draw_reach(clear, one.mirrored(), style)
        for axes in (accuse, clear):
            _draw_ruled_out(axes, epsilon, delta)
            roc_axes(axes, True, FLOOR)
        accuse.set(xlabel="non-members accused (FPR)", ylabel="members caught (TPR)")
        clear.set(xlabel="members missed (1 − TPR)", ylabel="non-members cleared (1 − FPR)")
        joint_legend(figure, [accuse, clear], columns=3)

    numbers = _numbers(reached, epsilon, delta)
    bounds = ", ".join(f"{numbers[f'limit at {fpr:g}']:.3g} at FPR {fpr:g}" for fpr in ASKED)
    told = listed(_told(name, numbers) for name in reached)
    return Picture(
        draw,
        alt="Two panels on logarithmic axes, members caught against non-members accused and "
        "non-members cleared against members missed, by the best of all attacks. Hatched is what "
        f"ε = {epsilon:.3g} rules out, above a TPR of {bounds}. {told}.",
        caption=f"The best of all attacks, and, hatched, what ε = {epsilon:.3g} rules out. "
        f"δ = {_written(delta)}; thin lines: what is sure (95 %, for all points and attacks "
        "together).",
        size=(7.6, 4.5),
        numbers=numbers,
        steady=("promise", *reached),
    )


def _written(delta: float) -> str:
    """A small number without an exponent: 0.00001."""
    return np.format_float_positional(delta, trim="-")


def _numbers(reached: Mapping[str, Reach], epsilon: float, delta: float) -> dict[str, float]:
    """Limits at two FPRs, and for each name how far it goes beyond for sure."""
    promised = {"epsilon": epsilon, "delta": delta}
    numbers = {f"limit at {fpr:g}": float(highest_tpr(fpr, **promised)) for fpr in ASKED}
    numbers["largest advantage"] = largest_advantage(epsilon, delta)
    for name, one in reached.items():
        limit = highest_tpr(one.sure.fpr, **promised)
        numbers[f"{name} beyond"] = float(np.max(one.sure.tpr - limit))
    return numbers


def _told(name: str, numbers: Mapping[str, float]) -> str:
    refutes = "refutes it" if numbers[f"{name} beyond"] > 0 else "does not refute it"
    return f"{name} {refutes}"


def _draw_reach(axes: Axes, reached: Reach, style: dict[str, Any]) -> None:
    """What was measured, and as a thin line what is sure."""
    axes.plot(*_upper_edge(reached.fpr, reached.tpr), **style)
    thin = {"color": style["color"], "linestyle": "-", "linewidth": 0.9}
    axes.plot(*_upper_edge(reached.sure.fpr, reached.sure.tpr), **thin)


def _upper_edge(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In the order of x, and of all points with the same x the highest."""
    shown = x.clip(FLOOR)
    order = np.lexsort([-y, shown])
    places, first = np.unique(shown[order], return_index=True)
    return places, y[order][first]


def _draw_ruled_out(axes: Axes, epsilon: float, delta: float) -> None:
    """On these axes the limit e^ε · x + δ is a parallel of the diagonal."""
    x = np.geomspace(FLOOR, 1, 100)
    limit = np.minimum(np.exp(epsilon) * x + delta, 1)
    axes.fill_between(x, limit, 1, **RULED_OUT, label=f"ruled out by ε = {epsilon:.3g}")
    axes.plot(x, limit, color=COLOR["chance"], linewidth=1.2)


def ceilings(
    reached: Mapping[str, Reach], guarantees: Mapping[str, Guarantee], *, delta: float
) -> Picture:
    """What attacks reach under the ROC that a guarantee allows, a panel for each name.

    Hatched is what the whole guarantee rules out; the dashed line is what its one pair at `delta`
    would allow. A guarantee is refuted where the thin line of what is sure enters the hatched part.
    """
    x = np.geomspace(FLOOR, 1, 200)
    ((color, line), *_) = CURVES

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(reached), sharey=True, squeeze=False)[0]
        for axes, (name, one) in zip(panels, reached.items(), strict=True):
            guarantee = guarantees[name]
            limit = guarantee.highest_tpr(x)
            axes.fill_between(x, limit, 1, **RULED_OUT, label="the guarantee forbids")
            axes.plot(x, limit, color=COLOR["mark"], linewidth=1.2)
            one_pair = promised(guarantee.epsilon(delta), delta).highest_tpr(x)
            style = {"color": COLOR["mark"], "linestyle": "--", "linewidth": 1.2}
            axes.plot(x, one_pair, **style, label="ε alone allows")
            label = "best of all attacks"
            _draw_reach(axes, one, {"color": color, "linestyle": line, "label": label})
            roc_axes(axes, True, FLOOR)
            axes.set(title=name, xlabel="FPR", ylabel="TPR" if axes is panels[0] else "")
        joint_legend(figure, list(panels), columns=3)

    numbers = _ceiling_numbers(reached, guarantees, delta)
    told = listed(
        f"{name} allows a TPR of {numbers[f'{name} allowed']:.3g} at FPR 0.01, the attacks have "
        f"{numbers[f'{name} reached']:.3g}, which {_verdict(numbers[f'{name} beyond'])}"
        for name in reached
    )
    return Picture(
        draw,
        alt=f"ROC curves on logarithmic axes, a panel for each of {listed(reached)}. Hatched is "
        f"what the guarantee rules out. {told}.",
        caption="The best of all attacks, under the ceiling of the guarantee; dashed, what its one "
        f"ε at δ = {_written(delta)} allows. Thin lines: what is sure (95 %, for all points and "
        "attacks together).",
        size=(7.6, 3.3),
        numbers=numbers,
    )


def _ceiling_numbers(
    reached: Mapping[str, Reach], guarantees: Mapping[str, Guarantee], delta: float
) -> dict[str, float]:
    """At FPR 0.01: reached, allowed by all and by one pair, and the share used in percent."""
    numbers = {}
    for name, one in reached.items():
        guarantee = guarantees[name]
        tpr = one.tpr[np.argmin(np.abs(one.fpr - 0.01))]
        numbers[f"{name} reached"] = float(tpr)
        numbers[f"{name} allowed"] = float(guarantee.highest_tpr(0.01))
        one_pair = promised(guarantee.epsilon(delta), delta)
        numbers[f"{name} allowed by one pair"] = float(one_pair.highest_tpr(0.01))
        numbers[f"{name} used"] = 100 * float(guarantee.share_used(tpr, 0.01))
        beyond = one.sure.tpr - guarantee.highest_tpr(one.sure.fpr)
        numbers[f"{name} beyond"] = float(beyond.max())
    return numbers


def _verdict(beyond: float) -> str:
    return "BREAKS the guarantee" if beyond > 0 else "keeps it"
