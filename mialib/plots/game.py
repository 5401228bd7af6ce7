"""The figures of the membership game: records, histograms, ROC curves and what one threshold does."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.errors import between
from mialib.plots.picture import ATTACKS, COLOR, LINE, Picture


def images(x: np.ndarray, labels: list[str], *, columns: int = 10) -> Picture:
    """Small images (n, channels, height, width) in a grid, each under its label."""
    rows = -(-len(x) // columns)

    def draw(figure: FigureBase) -> None:
        for axes, image, label in zip(figure.subplots(rows, columns, squeeze=False).flat, x, labels, strict=False):
            axes.imshow(np.moveaxis(image, 0, -1).squeeze(), cmap="gray_r", vmin=0, vmax=255)
            axes.set_title(label, loc="center", pad=2)
        for axes in figure.axes:
            axes.set_axis_off()

    return Picture(
        draw,
        alt=f"{len(x)} small images in a grid, labelled {', '.join(labels)}.",
        caption=f"{len(x)} images, each under its label.",
        size=(columns * 0.72, rows * 0.95),
    )


def histograms(member: ArrayLike, non_member: ArrayLike, *, label: str = "loss") -> Picture:
    """Two overlaid histograms of a positive quantity, on a logarithmic axis."""
    member, non_member = _losses(member), _losses(non_member)
    median, other = float(np.median(member)), float(np.median(non_member))
    return Picture(
        lambda figure: _histograms(figure.subplots(), member, non_member, label),
        alt=f"Two histograms of {label} on a logarithmic axis: members (blue) with median {median:.3g}, "
        f"non-members (orange, hatched) with median {other:.3g}.",
        caption=f"{label.capitalize()} of {len(member):,} members and {len(non_member):,} non-members.",
        numbers={"member_median": median, "non_member_median": other},
    )


def roc(attacks: dict[str, tuple[ArrayLike, ArrayLike]], *, floor: float = 1e-3) -> Picture:
    """ROC curves by name, each of (scores, is_member), on linear axes and on logarithmic ones from `floor` on."""
    if len(attacks) > len(ATTACKS):
        raise ValueError(f"One figure holds at most {len(ATTACKS)} curves, found {len(attacks)}. Draw several.")
    curves = {name: metrics.roc(*pair) for name, pair in attacks.items()}
    areas = {name: metrics.auc(*pair) for name, pair in attacks.items()}

    def draw(figure: FigureBase) -> None:
        for axes, log in zip(figure.subplots(1, 2), (False, True), strict=True):
            for (name, curve), (color, line) in zip(curves.items(), ATTACKS[: len(curves)], strict=True):
                # Thousands of points make one line: all of them at the left, where logarithms tell, then ever fewer.
                some = np.unique(np.geomspace(1, len(curve.fpr), 2000).astype(int)) - 1
                rates = (curve.fpr[some], curve.tpr[some])
                axes.plot(*rates, color=color, linestyle=line, label=f"{name}, AUC {areas[name]:.2f}")
            _roc_axes(axes, log, floor)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(curves), 3))

    listed = "; ".join(f"{name} has AUC {area:.2f}" for name, area in areas.items())
    return Picture(
        draw,
        alt=f"ROC curves, true against false positive rate, on linear (left) and logarithmic axes (right). {listed}.",
        caption="ROC on linear axes and, the same curve, on logarithmic ones.",
        size=(7.6, 3.7),
        numbers={f"auc {name}": area for name, area in areas.items()},
    )


def threshold_view(member: ArrayLike, non_member: ArrayLike, *, threshold: float, label: str = "loss") -> Picture:
    """What one threshold on the loss, or whatever is lower for members, does: histograms, confusion, both ROCs."""
    member, non_member = _losses(member), _losses(non_member)
    scores = -np.concatenate([member, non_member])
    is_member = np.arange(len(scores)) < len(member)
    curve = metrics.roc(scores, is_member)
    tpr, fpr = metrics.rates(scores, is_member, threshold=-threshold)
    least = 10.0 ** np.floor(-np.log10(max(len(non_member), 10)))  # Below 1/n there is nothing to see.

    def draw(figure: FigureBase) -> None:
        histogram, table, linear, log = figure.subplots(1, 4, width_ratios=[1.5, 0.9, 1, 1])
        _histograms(histogram, member, non_member, label, legend=False)
        histogram.axvline(threshold, color=COLOR["mark"])
        histogram.set_title(f"threshold {threshold:.3g}")
        _confusion(table, tpr, fpr, len(member), len(non_member))
        for axes, is_log in ((linear, False), (log, True)):
            axes.plot(curve.fpr, curve.tpr, color=COLOR["target"], linestyle=LINE["target"])
            _roc_axes(axes, is_log, least)
            floor = least if is_log else 0.0  # A rate of 0 has no place on a logarithmic axis: show it at the edge.
            axes.plot(max(fpr, floor), max(tpr, floor), "o", color=COLOR["mark"], markersize=7, clip_on=False)
            axes.set_title("ROC, log axes" if is_log else f"advantage {tpr - fpr:.2f}")

    return Picture(
        draw,
        alt=f"At a {label} threshold of {threshold:.3g}: histograms of members and non-members with the threshold "
        f"as a vertical line, a confusion matrix, and the point TPR {tpr:.3f}, FPR {fpr:.3f} on two ROC curves.",
        caption="Members (blue) and non-members (orange, hatched); what lies left of the line is called a member.",
        size=(11.0, 2.7),
        numbers={"tpr": tpr, "fpr": fpr, "advantage": tpr - fpr},
    )


def _losses(values: ArrayLike) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"A histogram needs an array (n,) with n ≥ 1, found shape {values.shape}.")
    between(0, np.inf, loss=values)
    return values.astype(np.float64)  # Minus an unsigned integer would wrap round.


def _histograms(axes: Axes, member: np.ndarray, non_member: np.ndarray, label: str, *, legend: bool = True) -> None:
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


def _roc_axes(axes: Axes, log: bool, floor: float = 1e-3) -> None:
    grid = np.geomspace(floor, 1, 50)
    axes.plot(grid, grid, color=COLOR["chance"], linestyle=LINE["chance"])
    limits = (floor, 1) if log else (0, 1)
    scale = "log" if log else "linear"
    axes.set(
        xscale=scale, yscale=scale, xlim=limits, ylim=limits, xlabel="false positive rate", ylabel="true positive rate"
    )
    axes.minorticks_off()
    axes.set_box_aspect(1)


def _confusion(axes: Axes, tpr: float, fpr: float, members: int, non_members: int) -> None:
    shares = np.array([[tpr, 1 - tpr], [fpr, 1 - fpr]])
    counts = np.rint(shares * [[members], [non_members]]).astype(int)
    axes.imshow(shares, cmap="Greys", vmin=0, vmax=1.6)
    for (row, column), count in np.ndenumerate(counts):
        axes.text(column, row, f"{count:,}\n{shares[row, column]:.1%}", ha="center", va="center", fontsize=9)
    axes.set_xticks([0, 1], ["called\nmember", "called\nnon-m."], fontsize=9)
    axes.set_yticks([0, 1], ["member", "non-m."], fontsize=9)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_title("confusion")
