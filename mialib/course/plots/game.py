"""The figures of the membership game: histograms and ROC curves."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.course.plots.picture import ATTACKS, COLOR, LINE, Picture
from mialib.errors import check_range


def histograms(member: ArrayLike, non_member: ArrayLike, *, label: str = "loss") -> Picture:
    """Two overlaid histograms of a positive quantity, on a logarithmic axis."""
    member, non_member = losses(member), losses(non_member)
    median, other = float(np.median(member)), float(np.median(non_member))
    return Picture(
        lambda figure: draw_histograms(figure.subplots(), member, non_member, label),
        alt=f"Two histograms of {label} on a logarithmic axis: members (blue) with median {median:.3g}, "
        f"non-members (orange, hatched) with median {other:.3g}.",
        caption=f"{label.capitalize()} of {len(member):,} members and {len(non_member):,} non-members.",
        numbers={"member_median": median, "non_member_median": other},
    )


def roc(attacks: dict[str, tuple[ArrayLike, ArrayLike]], *, floor: float = 1e-3) -> Picture:
    """ROC curves by name, each of (scores, is_member), on linear axes and on logarithmic ones from `floor` on."""
    if len(attacks) > len(ATTACKS):
        raise ValueError(
            f"One figure holds at most {len(ATTACKS)} curves, found {len(attacks)}. Draw several."
        )
    curves = {name: metrics.roc(*pair) for name, pair in attacks.items()}
    areas = {name: metrics.auc(*pair) for name, pair in attacks.items()}

    def draw(figure: FigureBase) -> None:
        for axes, log in zip(figure.subplots(1, 2), (False, True), strict=True):
            for (name, curve), (color, line) in zip(
                curves.items(), ATTACKS[: len(curves)], strict=True
            ):
                # Thousands of points make one line: all of them at the left, where logarithms tell, then ever fewer.
                some = np.unique(np.geomspace(1, len(curve.fpr), 2000).astype(int)) - 1
                rates = (curve.fpr[some], curve.tpr[some])
                axes.plot(
                    *rates, color=color, linestyle=line, label=f"{name}, AUC {areas[name]:.2f}"
                )
            roc_axes(axes, log, floor)
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(curves), 3)
        )

    listed = "; ".join(f"{name} has AUC {area:.2f}" for name, area in areas.items())
    return Picture(
        draw,
        alt=f"ROC curves, true against false positive rate, on linear (left) and logarithmic axes (right). {listed}.",
        caption="ROC on linear axes and, the same curve, on logarithmic ones.",
        size=(7.6, 3.7),
        numbers={f"auc {name}": area for name, area in areas.items()},
    )


def losses(values: ArrayLike) -> np.ndarray:
    """What a histogram on a logarithmic axis can show: numbers (n,), none below 0."""
    values = np.asarray(values)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"A histogram needs an array (n,) with n ≥ 1, found shape {values.shape}.")
    check_range(0, np.inf, loss=values)
    return values.astype(np.float64)  # Minus an unsigned integer would wrap round.


def draw_histograms(
    axes: Axes, member: np.ndarray, non_member: np.ndarray, label: str, *, legend: bool = True
) -> None:
    """Put both histograms on `axes`."""
    both = np.concatenate([member, non_member]).clip(1e-9, 1e9)  # No loss of interest lies outside.
    low = max(both.min(), both.max() * 1e-6)
    bins = np.geomspace(low, max(both.max(), low * 10), 40)
    for values, role, hatch in ((member, "member", None), (non_member, "non_member", "////")):
        axes.hist(
            values.clip(low, 1e9), bins, color=COLOR[role], alpha=0.55, hatch=hatch, edgecolor="white", linewidth=0.3,
            label=role.replace("_", "-") + "s",
        )  # fmt: skip
    axes.set(xscale="log", xlabel=label, ylabel="records")
    axes.minorticks_off()  # They take longer to draw than all the rest.
    if legend:
        axes.legend()


def roc_axes(axes: Axes, log: bool, floor: float = 1e-3) -> None:
    """Give `axes` the scale, limits, names and diagonal of a ROC."""
    grid = np.geomspace(floor, 1, 50)
    axes.plot(grid, grid, color=COLOR["chance"], linestyle=LINE["chance"])
    limits = (floor, 1) if log else (0, 1)
    scale = "log" if log else "linear"
    axes.set(
        xscale=scale,
        yscale=scale,
        xlim=limits,
        ylim=limits,
        xlabel="false positive rate",
        ylabel="true positive rate",
    )
    axes.minorticks_off()
    axes.set_box_aspect(1)
