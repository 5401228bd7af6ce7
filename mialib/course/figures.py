"""Figures that only lessons draw: records as images, what one threshold does, one record in two worlds.

>>> threshold_view([0.1, 0.2], [0.9, 2.0], threshold=0.5).numbers
{'tpr': 1.0, 'fpr': 0.0, 'advantage': 1.0}
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.course.plots import COLOR, LINE, Picture
from mialib.course.plots.game import draw_histograms, losses, roc_axes


def images(x: np.ndarray, labels: list[str], *, columns: int = 10) -> Picture:
    """Small images (n, channels, height, width) in a grid, each under its label."""
    rows = -(-len(x) // columns)

    def draw(figure: FigureBase) -> None:
        for axes, image, label in zip(
            figure.subplots(rows, columns, squeeze=False).flat, x, labels, strict=False
        ):
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


def threshold_view(
    member: ArrayLike, non_member: ArrayLike, *, threshold: float, label: str = "loss"
) -> Picture:
    """What one threshold on the loss, or whatever is lower for members, does: histograms, confusion, both ROCs."""
    member, non_member = losses(member), losses(non_member)
    scores = -np.concatenate([member, non_member])
    is_member = np.arange(len(scores)) < len(member)
    curve = metrics.roc(scores, is_member)
    tpr, fpr = metrics.rates(scores, is_member, threshold=-threshold)
    least = 10.0 ** np.floor(
        -np.log10(max(len(non_member), 10))
    )  # Below 1/n there is nothing to see.

    def draw(figure: FigureBase) -> None:
        histogram, table, linear, log = figure.subplots(1, 4, width_ratios=[1.5, 0.9, 1, 1])
        draw_histograms(histogram, member, non_member, label, legend=False)
        histogram.axvline(threshold, color=COLOR["mark"])
        histogram.set_title(f"threshold {threshold:.3g}")
        _confusion(table, tpr, fpr, len(member), len(non_member))
        for axes, is_log in ((linear, False), (log, True)):
            axes.plot(curve.fpr, curve.tpr, color=COLOR["target"], linestyle=LINE["target"])
            roc_axes(axes, is_log, least)
            floor = (
                least if is_log else 0.0
            )  # A rate of 0 has no place on a logarithmic axis: show it at the edge.
            axes.plot(
                max(fpr, floor),
                max(tpr, floor),
                "o",
                color=COLOR["mark"],
                markersize=7,
                clip_on=False,
            )
            axes.set_title("ROC, log axes" if is_log else f"advantage {tpr - fpr:.2f}")

    return Picture(
        draw,
        alt=f"At a {label} threshold of {threshold:.3g}: histograms of members and non-members with the threshold "
        f"as a vertical line, a confusion matrix, and the point TPR {tpr:.3f}, FPR {fpr:.3f} on two ROC curves.",
        caption="Members (blue) and non-members (orange, hatched); what lies left of the line is called a member.",
        size=(11.0, 2.7),
        numbers={"tpr": tpr, "fpr": fpr, "advantage": tpr - fpr},
    )


def worlds(
    inside: ArrayLike, outside: ArrayLike, target: float, *, label: str, title: str = ""
) -> Picture:
    """One record in two worlds: a value in models that hold it (IN) and in models that do not, and the target's."""
    inside, outside = np.asarray(inside, float), np.asarray(outside, float)
    fitted = {
        "member": (inside.mean(), inside.std()),
        "non_member": (outside.mean(), outside.std()),
    }
    low, high = (
        min(inside.min(), outside.min(), target) - 1,
        max(inside.max(), outside.max(), target) + 1,
    )
    grid = np.linspace(low, high, 200)

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for values, role, hatch, name in (
            (inside, "member", None, "IN"),
            (outside, "non_member", "////", "OUT"),
        ):
            mean, deviation = fitted[role][0], max(fitted[role][1], 1e-3)
            axes.hist(
                values, np.linspace(low, high, 30), density=True, color=COLOR[role], alpha=0.4, hatch=hatch,
                edgecolor="white", label=f"{name}, {len(values)} models",
            )  # fmt: skip
            bell = np.exp(-(((grid - mean) / deviation) ** 2) / 2) / (
                deviation * np.sqrt(2 * np.pi)
            )
            axes.plot(grid, bell, color=COLOR[role], linestyle=LINE[role])
        axes.axvline(target, color=COLOR["mark"], label="the target")
        axes.set(xlabel=label, ylabel="density", title=title)
        figure.legend(loc="outside upper center", ncols=3)

    means = (
        f"IN {fitted['member'][0]:.2f}, OUT {fitted['non_member'][0]:.2f}, the target {target:.2f}"
    )
    return Picture(
        draw,
        alt=f"Two histograms of {label} with fitted bell curves, IN (blue) and OUT (orange, hatched), the target as a "
        f"vertical line. {title} Means: {means}.",
        caption=f"{label[0].upper()}{label[1:]} in IN and OUT models; the curves are fitted normal densities.",
        size=(6.4, 3.0),
        numbers={
            "in": float(fitted["member"][0]),
            "out": float(fitted["non_member"][0]),
            "target": float(target),
        },
    )


def _confusion(axes: Axes, tpr: float, fpr: float, members: int, non_members: int) -> None:
    shares = np.array([[tpr, 1 - tpr], [fpr, 1 - fpr]])
    counts = np.rint(shares * [[members], [non_members]]).astype(int)
    axes.imshow(shares, cmap="Greys", vmin=0, vmax=1.6)
    for (row, column), count in np.ndenumerate(counts):
        axes.text(
            column,
            row,
            f"{count:,}\n{shares[row, column]:.1%}",
            ha="center",
            va="center",
            fontsize=9,
        )
    axes.set_xticks([0, 1], ["called\nmember", "called\nnon-m."], fontsize=9)
    axes.set_yticks([0, 1], ["member", "non-m."], fontsize=9)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_title("confusion")
