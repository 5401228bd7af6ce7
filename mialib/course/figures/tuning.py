"""PAST's tuning.

| function | what it draws |
|---|---|
| `weight_histograms` | the weights before and after |
| `setting_view` | one setting of the sweep beside the undefended model |
| `epoch_view` | one epoch of tuning beside its control |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR, CURVES, LINE, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import band_of, draw_curve, name_rows
from mialib.course.plots.spoken import spoken
from mialib.course.sweeps import EDGES, Sweep
from mialib.estimates import Estimate

UNDEFENDED = "#999999"
OUTLINES = (
    (UNDEFENDED, "-"),
    (COLOR["target"], "-"),
    (COLOR["shadow"], "--"),
    ("#E69F00", "-."),
)


def weight_histograms(counts: Mapping[str, Sequence[int]]) -> Picture:
    """Histograms of all tuned weights as outlines, one for each name, on a logarithmic count.

    The counts are those of the bins between `sweeps.EDGES`.
    """

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        _draw_outlines(axes, counts)
        axes.legend(fontsize=8, loc="upper right")

    shares = {name: _share_near_zero(row) for name, row in counts.items()}
    return Picture(
        draw,
        alt="Outlined histograms of the weights from −0.3 to 0.3. Share within ±0.01 of zero: "
        f"{spoken(shares, '.0%')}.",
        caption="All weights of convolutions, normalisations and the last layer; outside ±0.3 they "
        "count at the edge.",
        size=(6.4, 3.0),
        numbers={f"central {name}": share for name, share in shares.items()},
    )


def _draw_outlines(axes: Axes, counts: Mapping[str, Sequence[int]]) -> None:
    for (name, row), (color, line) in zip(counts.items(), OUTLINES, strict=False):
        heights = np.maximum(row, 0.5)  # An empty bin has no logarithm.
        axes.stairs(heights, EDGES, color=color, linestyle=line, label=name, linewidth=1.5)
    axes.set(yscale="log", xlabel="weight", ylabel="weights in the bin")
    axes.minorticks_off()


def _share_near_zero(counts: Sequence[int]) -> float:
    """Of the two bins in the middle."""
    middle = len(counts) // 2
    return float(sum(counts[middle - 1 : middle + 1]) / sum(counts))


class Pair(NamedTuple):
    """The same number of a tuned model and of the undefended one."""

    tuned: Estimate
    undefended: Estimate


def setting_view(sweep: Sweep, row: int, undefended: int) -> Picture:
    """One setting beside the undefended model, both rows of `sweep`.

    Every attack's advantage; accuracy, mean, highest, P1 and loss gap; and the weights.
    """
    facts = sweep.rows[row]
    before = sweep.rows[undefended]
    attacks = {
        name: Pair(sweep.advantage(row, name), sweep.advantage(undefended, name))
        for name in sweep.attacks
    }
    summary = _summary_pairs(sweep, row, undefended)
    title = f"λ = {facts['lam']:g}, α = {facts['alpha']:g}"
    counts = {"undefended": before["weights"]["histogram"], title: facts["weights"]["histogram"]}

    def draw(figure: FigureBase) -> None:
        left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
        _draw_pairs(left, attacks)
        left.set(xlabel="advantage", xlim=(-0.1, 0.8))
        _draw_pairs(middle, summary)
        middle.set(xlabel="value", xlim=(0, 1.4), title=title)
        _draw_outlines(right, counts)

    numbers = {name: pair.tuned.value for name, pair in summary.items()}
    told = ", ".join(f"{name} {value:z.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"At {title}: dots with intervals for every attack's advantage and for {told}, each "
        "beside the undefended model's in grey, and the histograms of the weights.",
        caption="Green: this setting; grey: undefended; bars are 95 % intervals.",
        size=(11.0, 3.4),
        numbers=numbers | {f"advantage {name}": pair.tuned.value for name, pair in attacks.items()},
    )


def _summary_pairs(sweep: Sweep, row: int, undefended: int) -> dict[str, Pair]:
    asked = {
        "test accuracy": sweep.accuracy,
        "mean advantage": sweep.mean,
        "highest advantage": sweep.highest,
        "P1": sweep.p1,
        "loss gap": lambda k: Estimate(sweep.rows[k]["loss_gap"]),
    }
    return {name: Pair(number(row), number(undefended)) for name, number in asked.items()}


def _draw_pairs(axes: Axes, pairs: Mapping[str, Pair]) -> None:
    """This setting's estimates and, in grey below them, the undefended model's."""
    for place, pair in enumerate(pairs.values()):
        _draw_estimate(axes, pair.tuned, place - 0.13, color=COLOR["target"], marker="o")
        _draw_estimate(axes, pair.undefended, place + 0.13, color=UNDEFENDED, marker="s")
    name_rows(axes, list(pairs))


def _draw_estimate(axes: Axes, estimate: Estimate, y: float, *, color: str, marker: str) -> None:
    error = None if np.isnan(estimate.low) else band_of([estimate]).errors()
    style = {"fmt": marker, "color": color, "markersize": 4, "capsize": 2}
    axes.errorbar(estimate.value, y, xerr=error, **style)


def epoch_view(
    curves: Mapping[str, Mapping[str, Sequence[Estimate]]],
    attacks: Mapping[str, Mapping[str, Estimate]],
    gaps: Mapping[str, float],
    *,
    epoch: int,
    rate: Sequence[float],
    finished: Mapping[str, Mapping[int, float]],
) -> Picture:
    """One epoch of tuning: curves by epoch with a line at this one, and every attack there.

    `curves` go by quantity, a panel each, and by arm; `attacks` and `gaps` go by arm. `finished`
    has each quantity of runs that were planned to end after so many epochs, and `rate` is the
    learning rate of each epoch.
    """

    def draw(figure: FigureBase) -> None:
        widths = [1.0] * len(curves) + [1.15]
        *panels, right = figure.subplots(1, len(widths), width_ratios=widths)
        for axes, (quantity, arms) in zip(panels, curves.items(), strict=True):
            _draw_quantity(axes, arms, finished[quantity], rate)
            axes.axvline(epoch, color=COLOR["mark"], linewidth=1)
            axes.set_title(quantity)
        _draw_attacks(right, attacks)
        right.set_title(f"advantage at epoch {epoch}")
        legend = panels[0].get_legend_handles_labels()
        figure.legend(*legend, loc="outside upper center", ncols=5)

    numbers = {
        f"{quantity}, {arm}": curve[epoch].value
        for quantity, arms in curves.items()
        for arm, curve in arms.items()
    }
    numbers |= {f"loss gap, {arm}": gap for arm, gap in gaps.items()}
    by_arm = ", ".join(f"{gap:z.2f} ({arm})" for arm, gap in gaps.items())
    return Picture(
        draw,
        alt=f"Curves by tuning epoch with a line at epoch {epoch}, the learning rate below them, "
        f"and the advantage of every attack there. {spoken(numbers, 'z.3f')}.",
        caption=f"Loss gap at epoch {epoch}: {by_arm}. Bands and bars: 95 % intervals; grey: the "
        "learning rate's shape; diamonds: runs planned to end there.",
        size=(9.2, 2.6),
        numbers=numbers,
    )


def _draw_quantity(
    axes: Axes,
    arms: Mapping[str, Sequence[Estimate]],
    finished: Mapping[int, float],
    rate: Sequence[float],
) -> None:
    """Curves by arm, a diamond for each run that ends here, and the learning rate as a shape."""
    x = np.arange(len(rate))
    for (color, line), (arm, curve) in zip(CURVES, arms.items(), strict=False):
        draw_curve(axes, x, band_of(curve), color=color, line=line, label=arm)
    ends = {at: value for at, value in finished.items() if at < len(rate)}
    label = "PAST, run ends here"
    color = COLOR["mark"]
    axes.plot(list(ends), list(ends.values()), "D", color=color, fillstyle="none", label=label)
    shape = np.array(rate) / max(rate) * 0.15
    axes.fill_between(x, shape, color="#dddddd", linewidth=0, label="learning rate")
    axes.set(xlabel="tuning epoch", xticks=range(0, len(rate), 5), ylim=(0, 1))


def _draw_attacks(axes: Axes, attacks: Mapping[str, Mapping[str, Estimate]]) -> None:
    """Every attack's advantage, a colour and a marker for each arm."""
    names, *_ = attacks.values()
    for place, estimates in enumerate(attacks.values()):
        band = band_of(estimates.values())
        color, _ = CURVES[place]
        y = np.arange(len(band.value)) + 0.24 * place
        axes.plot(band.value, y, MARKERS[place], color=color, markersize=4)
        axes.hlines(y, band.low, band.high, color=color)
    axes.axvline(0, color=COLOR["chance"], linestyle=LINE["chance"])
    name_rows(axes, list(names), fontsize=8)
    axes.set_xlim(-0.1, 1)
