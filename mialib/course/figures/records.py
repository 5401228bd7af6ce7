"""Records: as images, under one threshold, and one of them in two worlds.

>>> threshold_view([0.1, 0.2], [0.9, 2.0], threshold=0.5).numbers
{'tpr': 1.0, 'fpr': 0.0, 'advantage': 1.0}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.course.plots.game import draw_histograms, left_edge, losses, roc_axes, roc_floor
from mialib.course.plots.layers import Layers, axes_of, keep_room_for_titles, moving_title
from mialib.course.plots.palette import COLOR, HATCH, LINE
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import rows_of
from mialib.course.plots.spoken import capital
from mialib.course.plots.tables import SHADE, fill_cells, frame_cells


def images(x: np.ndarray, labels: Sequence[str], *, columns: int = 10) -> Picture:
    """Small images (n, channels, height, width) in a grid, each under its label."""
    rows = rows_of(len(x), columns)

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, image, label in zip(grid.flat, x, labels, strict=False):
            pixels = np.moveaxis(image, 0, -1).squeeze()  # (height, width, channels)
            axes.imshow(pixels, cmap="gray_r", vmin=0, vmax=255)
            axes.set_title(label, loc="center", pad=2)

    return Picture(
        draw,
        alt=f"{len(x)} small images in a grid, labelled {', '.join(labels)}.",
        caption=f"{len(x)} images, each under its label.",
        size=(columns * 0.72, rows * 0.95),
    )


def threshold_view(
    member: ArrayLike, non_member: ArrayLike, *, threshold: float, label: str = "loss"
) -> Picture:
    """What one threshold does to the loss, or to whatever is lower for members.

    From left to right: histograms, the confusion matrix, the ROC on linear and on log axes.
    """
    members = losses(member)
    non_members = losses(non_member)
    scores = -np.concatenate([members, non_members])
    is_member = np.arange(len(scores)) < len(members)
    curve = metrics.roc(scores, is_member)
    tpr, fpr = metrics.rates(scores, is_member, threshold=-threshold)
    floor = roc_floor(len(non_members))

    def still(figure: FigureBase) -> None:
        histogram, table, linear, log = figure.subplots(1, 4, width_ratios=[1.5, 0.9, 1, 1])
        draw_histograms(histogram, members, non_members, label, legend=False)
        frame_confusion(table)
        for axes in (linear, log):
            axes.plot(curve.fpr, curve.tpr, color=COLOR["target"], linestyle=LINE["target"])
            roc_axes(axes, axes is log, floor)
        keep_room_for_titles(histogram, linear)
        log.set_title("ROC, log axes")

    def moving(figure: FigureBase) -> None:
        histogram, table, linear, log = axes_of(figure)
        draw_threshold(histogram, threshold)
        fill_confusion(table, tpr, fpr, len(members), len(non_members))
        draw_rates(linear, fpr, tpr)
        # A rate of 0 has no place on a logarithmic axis: it is shown at the edge.
        draw_rates(log, max(fpr, floor), max(tpr, floor))
        moving_title(linear, f"advantage {tpr - fpr:z.2f}")

    key = (label, members.tobytes(), non_members.tobytes())
    layers = Layers("threshold_view", still, moving, key=key)
    return Picture(
        layers.draw,
        alt=f"At a {label} threshold of {threshold:.3g}: histograms of members and non-members "
        "with the threshold as a vertical line, a confusion matrix, and the point "
        f"TPR {tpr:.3f}, FPR {fpr:.3f} on two ROC curves.",
        caption="Members (blue) and non-members (orange, hatched); what lies left of the line is "
        f"called a member.{left_edge(members, non_members)}",
        size=(11.0, 2.7),
        numbers={"tpr": tpr, "fpr": fpr, "advantage": tpr - fpr},
        layers=layers,
    )


def draw_threshold(axes: Axes, threshold: float) -> None:
    """A line; beyond the bars it stands at the edge, so that the axes need not move."""
    low, high = axes.get_xlim()
    axes.axvline(min(max(threshold, low), high), color=COLOR["mark"], clip_on=False)
    moving_title(axes, f"threshold {threshold:.3g}")


def frame_confusion(axes: Axes) -> None:
    """The names around a confusion matrix."""
    frame_cells(axes, rows=["member", "non-m."], columns=["called\nmember", "called\nnon-m."])
    axes.tick_params(labelsize=9)
    axes.set_title("confusion")


def fill_confusion(axes: Axes, tpr: float, fpr: float, members: int, non_members: int) -> None:
    """Members and non-members by what they are called: counts and shares."""
    shares = np.array([[tpr, 1 - tpr], [fpr, 1 - fpr]])
    counts = np.rint(shares * [[members], [non_members]]).astype(int)
    texts = [
        f"{count:,}\n{share:.1%}" for count, share in zip(counts.flat, shares.flat, strict=True)
    ]
    fill_cells(axes, np.reshape(texts, shares.shape), shade=shares, **SHADE)


def draw_rates(axes: Axes, fpr: float, tpr: float, *, fitted: bool = False) -> None:
    """A point on a ROC; an open one if it is where the shadow's own threshold lies."""
    color = COLOR["shadow"] if fitted else COLOR["mark"]
    fill = "none" if fitted else "full"
    axes.plot(fpr, tpr, "o", color=color, fillstyle=fill, markersize=7, clip_on=False)


class Bell(NamedTuple):
    """A normal density."""

    mean: float
    deviation: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        deviation = max(self.deviation, 1e-3)
        scale = deviation * np.sqrt(2 * np.pi)
        return np.exp(-(((x - self.mean) / deviation) ** 2) / 2) / scale


def worlds(
    inside: ArrayLike, outside: ArrayLike, target: float, *, label: str, title: str = ""
) -> Picture:
    """One record in two worlds: its value in models that hold it (IN), in others (OUT), and now.

    `target` is its value in the model under attack.
    """
    values = {"member": np.asarray(inside, float), "non_member": np.asarray(outside, float)}
    bells = {role: Bell(some.mean(), some.std()) for role, some in values.items()}
    names = {"member": "IN", "non_member": "OUT"}
    everything = np.concatenate([*values.values(), [target]])
    span = (everything.min() - 1, everything.max() + 1)

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for role, some in values.items():
            name = f"{names[role]}, {len(some)} models"
            _draw_world(axes, role, some, bells[role], span, name)
        axes.axvline(target, color=COLOR["mark"], label="the target")
        axes.set(xlabel=label, ylabel="density", title=title)
        figure.legend(loc="outside upper center", ncols=3)

    numbers = {
        "in": float(bells["member"].mean),
        "out": float(bells["non_member"].mean),
        "target": float(target),
    }
    return Picture(
        draw,
        alt=f"Two histograms of {label} with fitted bell curves, IN (blue) and OUT (orange, "
        f"hatched), the target as a vertical line. {title} Means: IN {numbers['in']:z.2f}, OUT "
        f"{numbers['out']:z.2f}, the target {target:z.2f}.",
        caption=f"{capital(label)} in IN and OUT models; the curves are fitted normal densities.",
        size=(6.4, 3.0),
        numbers=numbers,
    )


def _draw_world(
    axes: Axes,
    role: str,
    values: np.ndarray,
    bell: Bell,
    span: tuple[float, float],
    name: str,
) -> None:
    """A histogram over `span`, and the normal density that was fitted to it."""
    bins = np.linspace(*span, 30).tolist()
    style = {"color": COLOR[role], "hatch": HATCH[role], "alpha": 0.4, "edgecolor": "white"}
    axes.hist(values, bins, density=True, label=name, **style)
    grid = np.linspace(*span, 200)
    axes.plot(grid, bell(grid), color=COLOR[role], linestyle=LINE[role])
