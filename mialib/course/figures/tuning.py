"""PAST's tuning.

| function | what it draws |
|---|---|
| `weight_histograms` | the weights before and after |
| `arm_curves` | several quantities by epoch or by α, each on an axis of its own |
| `setting_view` | one setting of the plan beside the undefended model |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib.course.plots.palette import COLOR
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    Band,
    Curve,
    band_of,
    draw_curve,
    joint_legend,
    name_rows,
    panel_grid,
)
from mialib.course.plots.spoken import listed, spoken
from mialib.results.edges import EDGES

UNDEFENDED = "#777777"
# Colour and line of each arm, in every picture.
ARMS = {
    "undefended": (UNDEFENDED, "-"),
    "training": (UNDEFENDED, "-"),
    "PAST": (COLOR["target"], "-"),
    "λ = 0": (COLOR["shadow"], "--"),
    "uniform ℓ1": ("#E69F00", "-."),
}
FEW = 12  # Up to so many points, each has a marker.
DRAWN = 0.29  # The bins of the weights from here on hold all that lies farther out.


def weight_histograms(counts: Mapping[str, Sequence[float]]) -> Picture:
    """Histograms of all tuned weights as outlines, one for each arm, on a logarithmic share.

    The counts are those of the bins between `facts.EDGES`. The outermost two hold all that lies
    farther out, so they are told and not drawn.
    """

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        _draw_outlines(axes, counts)
        axes.legend(loc="upper right")

    central = {name: _share_near_zero(row) for name, row in counts.items()}
    outside = {name: _share_outside(row) for name, row in counts.items()}
    numbers = {f"central {name}": share for name, share in central.items()}
    numbers |= {f"outside {name}": share for name, share in outside.items()}
    return Picture(
        draw,
        alt=f"Outlined histograms of the weights from {-DRAWN:g} to {DRAWN:g}, on a logarithmic "
        f"axis. Share within ±0.01 of zero: {spoken(central, '.0%')}.",
        caption=f"All weights that pay the penalty. Farther out than ±{DRAWN:g}, and not drawn: "
        f"{spoken(outside, '.1%')}.",
        size=(6.4, 3.0),
        numbers=numbers,
    )


def _draw_outlines(axes: Axes, counts: Mapping[str, Sequence[float]]) -> None:
    for name, row in counts.items():
        share = np.array(row, float) / sum(row)
        share[share == 0] = np.nan  # An empty bin has no logarithm.
        color, line = _style(name)
        style = {"color": color, "linestyle": line, "linewidth": 1.5}
        axes.stairs(share[1:-1], EDGES[1:-1], baseline=None, label=name, **style)
    axes.set(yscale="log", xlabel="weight", ylabel="share of the weights")
    axes.minorticks_off()


def _share_near_zero(counts: Sequence[float]) -> float:
    """Of the two bins in the middle."""
    middle = len(counts) // 2
    return float(sum(counts[middle - 1 : middle + 1]) / sum(counts))


def _share_outside(counts: Sequence[float]) -> float:
    """Of the first bin and the last, where all that lies farther out is counted."""
    return float((counts[0] + counts[-1]) / sum(counts))


def arm_curves(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    x: ArrayLike | Mapping[str, ArrayLike],
    xlabel: str,
    band: str = "95 % intervals",
) -> Picture:
    """Curves over x, an arm each, in panels by quantity that have an axis of their own.

    An arm keeps its colour in all pictures of tuning. `x` is one for all arms, or one for each, and
    `band` says what is drawn round a curve.
    """
    table = {
        quantity: {arm: band_of(curve) for arm, curve in curves.items()}
        for quantity, curves in panels.items()
    }

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(table), len(table), sharex=True)
        for axes, (quantity, bands) in zip(grid, table.items(), strict=True):
            for arm, values in bands.items():
                along = np.asarray(x[arm] if isinstance(x, Mapping) else x, float)
                color, line = _style(arm)
                marker = "o" if len(along) <= FEW else None
                style = {"marker": marker, "markersize": 4, "label": arm}
                draw_curve(axes, along, values, color=color, line=line, **style)
            axes.set(title=quantity, xlabel=xlabel)
        if len(table) == 1:
            _name_curves(grid[0])
        else:
            joint_legend(figure, grid, columns=4)

    numbers = {}
    for quantity, bands in table.items():
        for arm, values in bands.items():
            numbers[f"{quantity}, {arm}, first"] = float(values.value[0])
            numbers[f"{quantity}, {arm}, last"] = float(values.value[-1])
    return Picture(
        draw,
        alt=f"Curves by {xlabel}, in {_panels(len(table))}. {_told_ends(table)}.",
        caption=f"By {xlabel}: {'; '.join(table)}. Bands: {band}.",
        size=(6.4 if len(table) == 1 else 8.2, 3.0),
        numbers=numbers,
    )


def _name_curves(axes: Axes) -> None:
    """Each curve has its name at its end; one that ends early, above it."""
    ends = {str(line.get_label()): np.asarray(line.get_xydata())[-1] for line in axes.lines}
    farthest = max(float(x) for x, _ in ends.values())
    right = {"xytext": (6, 0), "va": "center"}
    above = {"xytext": (-4, 6), "ha": "right"}
    for name, (x, y) in ends.items():
        place = right if x == farthest else above
        axes.annotate(name, (float(x), float(y)), textcoords="offset points", **place)


def _panels(count: int) -> str:
    return "one panel" if count == 1 else f"{count} panels with axes of their own"


def _told_ends(table: Mapping[str, Mapping[str, Band]]) -> str:
    return listed(
        f"{quantity}, {arm}: {_told_way(band.known())}"
        for quantity, bands in table.items()
        for arm, band in bands.items()
    )


def _told_way(value: np.ndarray) -> str:
    """From the first number to the last, and how far beyond them the curve goes."""
    if len(value) == 0:
        return "no values"
    first, last, low, high = (
        f"{one:z.3g}" for one in (value[0], value[-1], value.min(), value.max())
    )
    way = f"from {first} to {last}"
    if low not in (first, last):
        way += f", down to {low} on the way"
    if high not in (first, last):
        way += f", up to {high} on the way"
    return way


def _style(arm: str) -> tuple[str, str]:
    """Colour and line of an arm; a setting that has another name is one of PAST."""
    return ARMS.get(arm, ARMS["PAST"])


# What `statistics.standing` calls a number, and what a picture does.
SUMMARY = {
    "accuracy": "test accuracy",
    "mean": "mean advantage",
    "highest": "highest advantage",
    "AUC": "highest AUC",
    "TPR at 1 %": "highest TPR at 1 % FPR",
}


def setting_view(
    standing: Mapping[str, float] | None,
    undefended: Mapping[str, float],
    weights: Mapping[str, Sequence[float]],
    *,
    title: str,
) -> Picture:
    """One setting beside the undefended model, by `statistics.standing` of both.

    Accuracy, mean, highest, AUC and TPR; and the weights of both, as counts between `facts.EDGES`.
    A setting of which every training failed has no standing, and the undefended model is drawn
    alone.
    """
    told = {} if standing is None else _summary(standing)
    gap = "" if standing is None else _told_gap(standing, undefended)

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
        _draw_standings(left, standing, undefended)
        left.set(xlim=(-0.05, 1))
        _draw_outlines(right, weights)
        right.set_ylim(1e-5, 1)
        figure.suptitle(f"{title}{gap}", fontsize=10)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    alone = "; no training of this setting came to an end."
    beside = f": dots for {spoken(told)}, each beside the undefended model's in grey, and the "
    beside += "histograms of the weights."
    return Picture(
        draw,
        alt=f"At {title}{alone if standing is None else beside}",
        caption="Means over trainings. Green: this setting; grey: undefended.",
        size=(8.2, 3.0),
        numbers=told,
        steady="setting_view",
    )


def _summary(standing: Mapping[str, float]) -> dict[str, float]:
    numbers = {called: standing[name] for name, called in SUMMARY.items()}
    return numbers | {"loss gap": standing["loss gap"]}


def _told_gap(standing: Mapping[str, float], undefended: Mapping[str, float]) -> str:
    """A gap has no place on an axis of shares, so the title tells it."""
    return f": loss gap {standing['loss gap']:z.2f}, undefended {undefended['loss gap']:z.2f}"


def _draw_standings(
    axes: Axes, standing: Mapping[str, float] | None, undefended: Mapping[str, float]
) -> None:
    """This setting's numbers, joined with the undefended model's in grey."""
    place = np.arange(len(SUMMARY))
    grey = [undefended[name] for name in SUMMARY]
    axes.plot(grey, place, "s", color=UNDEFENDED, markersize=6, label="undefended")
    if standing is not None:
        green = [standing[name] for name in SUMMARY]
        color = COLOR["target"]
        axes.hlines(place, grey, green, color=color, linewidth=1)
        axes.plot(green, place, "o", color=color, markersize=7, label="this setting")
    name_rows(axes, list(SUMMARY.values()))
