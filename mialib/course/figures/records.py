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

WIDE = (8.6, 2.5)  # inches; four panels that can be read at 800 pixels
BELOW_LEGEND = 0.7  # of the height of the histograms
SMALL = 9.5  # printer's points, the least at that width
VERDICTS = {  # by (called a member, is a member)
    (True, True): "right, a member is caught",
    (True, False): "a false alarm, it is a non-member",
    (False, True): "a member is missed",
    (False, False): "right, a non-member is left alone",
}


def images(
    x: np.ndarray, labels: Sequence[str], *, columns: int = 10, caption: str = ""
) -> Picture:
    """Small images (n, channels, height, width) in a grid, each under its label.

    The caption says what a label is, where it is more than a name.
    """
    rows = rows_of(len(x), columns)
    side = float(np.clip(6 / columns, 0.72, 1.2))  # inches; few images are drawn larger

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
        caption=caption or f"{len(x)} images, each under its label.",
        size=(columns * side, rows * (side + 0.23)),
    )


def one_record(
    image: np.ndarray,
    loss: float,
    *,
    is_member: bool,
    threshold: float,
    member: ArrayLike,
    non_member: ArrayLike,
    name: str,
) -> Picture:
    """One record, its loss among those of all records, and whether the attack is right about it.

    `image` is (channels, height, width), and `name` what it shows.
    """
    members = losses(member)
    non_members = losses(non_member)
    called = loss <= threshold
    verdict = VERDICTS[bool(called), bool(is_member)]
    says = "a member" if called else "a non-member"

    def draw(figure: FigureBase) -> None:
        picture, histogram = figure.subplots(1, 2, width_ratios=[1, 2.6])
        picture.imshow(np.moveaxis(image, 0, -1).squeeze(), cmap="gray_r", vmin=0, vmax=255)
        picture.set_axis_off()
        picture.set_title(name)
        draw_histograms(histogram, members, non_members, "loss", legend=False)
        histogram.axvline(threshold, color=COLOR["chance"], linestyle=LINE["shadow"])
        left = max(loss, histogram.get_xlim()[0])
        histogram.plot(left, 0, "v", color=COLOR["mark"], markersize=13, clip_on=False, zorder=5)
        histogram.set_title(f"loss {loss:.2g}: the attack says {says}.\nTruth: {verdict}.")
        histogram.legend(loc="upper right")

    return Picture(
        draw,
        alt=f"{name}, a small image, beside histograms of the losses of members and non-members. "
        f"Its loss is {loss:.2g} and the threshold {threshold:.2g}, so the attack says {says}: "
        f"{verdict}.",
        caption="Members (blue) and non-members (orange, hatched); the triangle is this record, "
        "the dashed line the threshold; what lies left of it is called a member."
        f"{left_edge(members, non_members)}",
        size=(8.0, 2.8),
        numbers={"loss": float(loss), "called": float(called), "is member": float(is_member)},
        steady="one_record",
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
        histogram, table, linear, log = figure.subplots(1, 4, width_ratios=[1.25, 0.95, 1, 1])
        draw_histograms(histogram, members, non_members, label, legend=False)
        place = {"loc": "upper right", "borderaxespad": 0, "borderpad": 0.1}
        small = {"fontsize": SMALL, "handlelength": 1, "handletextpad": 0.4}
        histogram.legend(**place, **small, frameon=True, edgecolor="none", framealpha=0.9)
        frame_confusion(table)
        for axes in (linear, log):
            axes.plot(curve.fpr, curve.tpr, color=COLOR["target"], linestyle=LINE["target"])
            roc_axes(axes, axes is log, floor)
        keep_room_for_titles(histogram, linear)
        log.set_title("the same, log axes")
        log.set_ylabel("")

    def moving(figure: FigureBase) -> None:
        histogram, table, linear, log = axes_of(figure)
        draw_threshold(histogram, threshold, top=BELOW_LEGEND)
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
        size=WIDE,
        numbers={"tpr": tpr, "fpr": fpr, "advantage": tpr - fpr},
        layers=layers,
    )


def draw_threshold(axes: Axes, threshold: float, *, top: float = 1.0) -> None:
    """A line; beyond the bars it stands at the edge, so that the axes need not move.

    `top` is where it ends, as a share of the height: below a legend, which it would cross.
    """
    low, high = axes.get_xlim()
    place = min(max(threshold, low), high)
    axes.axvline(place, ymax=top, color=COLOR["mark"], clip_on=False)
    moving_title(axes, f"threshold {threshold:.3g}")


def frame_confusion(axes: Axes) -> None:
    """The names around a confusion matrix."""
    frame_cells(axes, rows=["member", "non-\nmember"], columns=["called\nmember", "not\ncalled"])
    axes.tick_params(labelsize=SMALL)
    axes.set_title("confusion")


def fill_confusion(axes: Axes, tpr: float, fpr: float, members: int, non_members: int) -> None:
    """Members and non-members by what they are called: counts and shares."""
    shares = np.array([[tpr, 1 - tpr], [fpr, 1 - fpr]])
    counts = np.rint(shares * [[members], [non_members]]).astype(int)
    texts = [
        f"{count:,}\n{share:.1%}" for count, share in zip(counts.flat, shares.flat, strict=True)
    ]
    placed = np.reshape(texts, shares.shape)
    fill_cells(axes, placed, shade=shares, fontsize=SMALL, **SHADE)


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
        steady=("worlds", label),
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
