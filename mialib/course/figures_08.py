"""Figures of lesson 08: weights before and after tuning, sensitivities by parameter, and one setting of the sweep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots import COLOR, Picture
from mialib.course.sweeps import EDGES, Sweep
from mialib.estimates import Estimate


def weight_histograms(counts: dict[str, Sequence[int]]) -> Picture:
    """Histograms of all tuned weights as outlines, one for each name, on a logarithmic count."""

    def draw(figure: FigureBase) -> None:
        _weights(figure.subplots(), counts)

    shares = {name: _central(row) for name, row in counts.items()}
    listed = "; ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return Picture(
        draw,
        alt=f"Outlined histograms of the weights from −0.3 to 0.3. Share within ±0.01 of zero: {listed}.",
        caption="All weights of convolutions, normalisations and the last layer; outside ±0.3 they count at the edge.",
        size=(6.4, 3.0),
        numbers={f"central {name}": share for name, share in shares.items()},
    )


def by_parameter(rows: dict[str, Sequence[float]]) -> Picture:
    """The sensitivity of each parameter of the last layer, one panel for each moment, on one scale (Fig. 12)."""
    top = max(max(values) for values in rows.values())

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
        for axes, (name, values) in zip(panels, rows.items(), strict=True):
            axes.vlines(np.arange(len(values)), 0, values, color=COLOR["target"], linewidth=0.7)
            axes.set(title=name, xlabel="parameter", ylim=(0, top * 1.05))
        panels[0].set_ylabel("sensitivity |∂G/∂w|")

    means = {name: float(np.mean(values)) for name, values in rows.items()}
    listed = "; ".join(f"{name} {mean:.4f}" for name, mean in means.items())
    return Picture(
        draw,
        alt=f"Spikes, one for each parameter of the last layer, height its sensitivity. Means: {listed}.",
        caption="Sensitivity of each parameter of the last layer, on one scale.",
        size=(8.4, 2.6),
        numbers={f"mean {name}": mean for name, mean in means.items()},
    )


def setting_view(sweep: Sweep, row: int, undefended: int) -> Picture:
    """One setting beside the undefended model: every attack's advantage, accuracy and the like, and the weights."""
    attacks = {
        name: (sweep.advantage(row, name), sweep.advantage(undefended, name))
        for name in sweep.attacks
    }
    facts, before = sweep.rows[row], sweep.rows[undefended]
    pairs = {
        "test accuracy": (sweep.accuracy(row), sweep.accuracy(undefended)),
        "mean advantage": (sweep.mean(row), sweep.mean(undefended)),
        "highest advantage": (sweep.highest(row), sweep.highest(undefended)),
        "P1": (sweep.p1(row), sweep.p1(undefended)),
        "loss gap": (Estimate(facts["loss_gap"]), Estimate(before["loss_gap"])),
    }
    title = f"λ = {facts['strength']:g}, α = {facts['alpha']:g}"
    counts = {"undefended": before["weights"]["histogram"], title: facts["weights"]["histogram"]}

    def draw(figure: FigureBase) -> None:
        left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
        _pairs(left, attacks, "advantage")
        left.set_xlim(-0.1, 0.8)
        _pairs(middle, pairs, "value")
        middle.set_xlim(0, 1.4)
        middle.set_title(title)
        _weights(right, counts, legend=False)

    numbers = {name: pair[0].value for name, pair in pairs.items()}
    listed = ", ".join(f"{name} {value:.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"At {title}: dots with intervals for every attack's advantage and for {listed}, each beside the "
        "undefended model's in grey, and the histograms of the weights.",
        caption="Green: this setting; grey: undefended; bars are 95 % intervals.",
        size=(11.0, 3.4),
        numbers=numbers | {f"advantage {name}": pair[0].value for name, pair in attacks.items()},
    )


def _pairs(axes: Axes, pairs: dict[str, tuple[Estimate, Estimate]], label: str) -> None:
    """This setting's estimates and, in grey below them, the undefended model's."""
    for place, (ours, theirs) in enumerate(pairs.values()):
        for estimate, color, marker, shift in (
            (ours, COLOR["target"], "o", -0.13),
            (theirs, "#999999", "s", 0.13),
        ):
            ends = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
            error = None if np.isnan(estimate.low) else ends
            axes.errorbar(
                estimate.value,
                place + shift,
                xerr=error,
                fmt=marker,
                color=color,
                markersize=4,
                capsize=2,
            )
    axes.set(
        yticks=range(len(pairs)),
        yticklabels=list(pairs),
        ylim=(len(pairs) - 0.5, -0.5),
        xlabel=label,
    )


def _weights(axes: Axes, counts: dict[str, Sequence[int]], *, legend: bool = True) -> None:
    styles = (("#999999", "-"), (COLOR["target"], "-"), (COLOR["shadow"], "--"), ("#E69F00", "-."))
    for (name, row), (color, line) in zip(counts.items(), styles, strict=False):
        axes.stairs(
            np.maximum(row, 0.5), EDGES, color=color, linestyle=line, label=name, linewidth=1.5
        )
    axes.set(yscale="log", xlabel="weight", ylabel="weights in the bin")
    axes.minorticks_off()
    if legend:
        axes.legend(fontsize=8, loc="upper right")


def _central(counts: Sequence[int]) -> float:
    middle = len(counts) // 2
    return float(sum(counts[middle - 1 : middle + 1]) / sum(counts))
