"""RelaxLoss and CRL: where the scenarios pull a batch, the phases by epoch, two knobs at a time.

>>> never = Phase(loss=[2.0], below=[0.0], alpha=1.0)
>>> phases({"center loss": never}).numbers["center loss first"]
inf
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patches import Circle

from mialib.course.plots.palette import COLOR, COLORS, LINE, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.spoken import spoken
from mialib.course.plots.tables import draw_cells


def scenarios(
    places: np.ndarray,
    labels: np.ndarray,
    centers: np.ndarray,
    pulls: Mapping[str, np.ndarray],
    *,
    radius: float,
) -> Picture:
    """Fig. 2 of CRL: a panel for each scenario, an arrow from each record along its pull.

    `places` (n, 2) are the features, `centers` (classes, 2) the stars, and `radius` is that of the
    boundary round each star.
    """
    classes = np.unique(labels)

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(pulls), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (title, pull) in zip(panels, pulls.items(), strict=True):
            for place, kind in enumerate(classes):
                of_class = labels == kind
                _draw_pull(axes, places[of_class], pull[of_class], place)
                _draw_center(axes, centers[kind], radius, COLORS[place])
            axes.plot(0, 0, "+", color=COLOR["mark"], markersize=10)
            axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
            axes.set(title=title, xlabel="first feature")
        panels[0].set_ylabel("second feature")

    numbers = _distances_to_centers(places, centers[labels], pulls, radius)
    return Picture(
        draw,
        alt=f"{len(pulls)} panels of normalised features of {len(places)} records in "
        f"{len(classes)} classes, with arrows along the pull, a star for each center and a dashed "
        f"circle of radius {radius:.2f} round it. {spoken(numbers)}.",
        caption="Normalised features and where each loss pulls them; star: the class's center, "
        "circle: the boundary that α sets, cross: the origin, open dots: where a full pull would "
        "end.",
        size=(8.2, 3.1),
        numbers=numbers,
    )


def _draw_pull(axes: Axes, places: np.ndarray, pull: np.ndarray, place: int) -> None:
    """Records of one class as dots, their pulls as arrows, and open dots where a pull ends."""
    color = COLORS[place]
    scale = {"angles": "xy", "scale_units": "xy", "scale": 2.5, "width": 0.006}
    axes.quiver(*places.T, *pull.T, color=color, **scale)
    axes.plot(*places.T, MARKERS[place], color=color, markersize=4)
    axes.plot(*(places + pull).T, "o", color=color, markersize=4, fillstyle="none")


def _draw_center(axes: Axes, center: np.ndarray, radius: float, color: str) -> None:
    axes.plot(*center, "*", color=color, markersize=12, markeredgecolor="black")
    axes.add_patch(Circle(tuple(center), radius, fill=False, color=color, linestyle="--"))


def _distances_to_centers(
    places: np.ndarray, centers: np.ndarray, pulls: Mapping[str, np.ndarray], radius: float
) -> dict[str, float]:
    """How far records lie from their centers (both (n, 2)), and who comes nearer by a step."""
    apart = np.linalg.norm(places - centers, axis=1)
    numbers = {"mean distance": float(apart.mean()), "inside": float((apart < radius).mean())}
    for title, pull in pulls.items():
        moved = np.linalg.norm(places + 0.01 * pull - centers, axis=1)
        numbers[f"nearer to its center, {title}"] = float((moved < apart).mean())
    return numbers


@dataclass(frozen=True)
class Phase:
    """One of CRL's two losses by epoch, and its threshold."""

    loss: Sequence[float]  # its mean over the batches
    below: Sequence[float]  # the share of batches below α
    alpha: float

    def first_below(self) -> float:
        """The first epoch with a batch below α; infinite if there is none."""
        epochs = np.flatnonzero(np.array(self.below) > 0) + 1
        return float(epochs[0]) if len(epochs) else np.inf


def phases(panels: Mapping[str, Phase]) -> Picture:
    """Fig. 3 of CRL by epoch: the loss and its threshold, and the share of batches under it.

    Shaded are the epochs whose loss is |L − α|: the even ones, counted from 1 as CRL does.
    """

    def draw(figure: FigureBase) -> None:
        layout = {"sharex": True, "sharey": "row", "height_ratios": [2, 1], "squeeze": False}
        grid = figure.subplots(2, len(panels), **layout)
        for (above, under), (title, phase) in zip(grid.T, panels.items(), strict=True):
            _draw_phase(above, under, phase)
            above.set_title(title)
        grid[0, 0].set_ylabel("batch loss, mean")
        grid[1, 0].set_ylabel("below α")

    numbers = _phase_numbers(panels)
    return Picture(
        draw,
        alt=f"{len(panels)} panels: a loss by epoch with its threshold dotted, and bars with the "
        "share of batches below it. First epoch with a batch below, last loss, share below in the "
        f"last ten epochs: {spoken(numbers)}.",
        caption="Mean loss of an epoch's batches, the threshold α (dotted) and the share of "
        "batches below it. Shaded: epochs whose loss is |L − α|.",
        size=(9.6, 3.8),
        numbers=numbers,
    )


def _phase_numbers(panels: Mapping[str, Phase]) -> dict[str, float]:
    numbers = {}
    for title, phase in panels.items():
        numbers[f"{title} first"] = phase.first_below()
        numbers[f"{title} last"] = phase.loss[-1]
        numbers[f"{title} below"] = float(np.mean(phase.below[-10:]))
    return numbers


def _draw_phase(above: Axes, under: Axes, phase: Phase) -> None:
    epochs = np.arange(1, len(phase.loss) + 1)
    for axes in (above, under):
        for epoch in epochs[epochs % 2 == 0]:
            axes.axvspan(epoch - 0.5, epoch + 0.5, color="#ececec", linewidth=0)
        axes.grid(False, axis="x")
    above.plot(epochs, phase.loss, color=COLOR["target"], marker=".")
    above.axhline(phase.alpha, color=COLOR["mark"], linestyle=LINE["chance"])
    under.bar(epochs, phase.below, color=COLOR["target"], width=0.7)
    under.set(xlabel="epoch", ylim=(0, 1))


class Knobs(NamedTuple):
    """The settings of two knobs: the one that goes up, and the one along."""

    up: float
    along: float


Cells = Mapping[tuple[float, float], tuple[float, float]]  # knobs → accuracy and advantage


def surface(panels: Mapping[str, Cells], *, ylabel: str) -> Picture:
    """Two knobs in a panel, the first upward: accuracy and advantage are written into the cells.

    The darker a cell, the higher its advantage. Settings that are not there stay white.
    """
    widths = [len({Knobs(*key).along for key in cells}) for cells in panels.values()]

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
        for axes, (title, cells) in zip(grid, panels.items(), strict=True):
            _draw_surface(axes, cells)
            axes.set_xlabel(title)
        grid[0].set_ylabel(ylabel)

    numbers = {}
    for title, cells in panels.items():
        for (up, along), (accuracy, advantage) in cells.items():
            cell = f"{title} {ylabel} {up:g}, {along:g}"
            numbers[f"{cell} accuracy"] = accuracy
            numbers[f"{cell} advantage"] = advantage
    return Picture(
        draw,
        alt=f"{len(panels)} tables of accuracy and advantage by {ylabel} and another knob. "
        f"{spoken(numbers)}.",
        caption="In each cell the test accuracy and, below it, the highest advantage (the darker, "
        "the higher).",
        size=(9.6, 3.0),
        numbers=numbers,
    )


def _draw_surface(axes: Axes, cells: Cells) -> None:
    settings = [Knobs(*key) for key in cells]
    up = sorted({knobs.up for knobs in settings})
    along = sorted({knobs.along for knobs in settings})
    shade = np.full((len(up), len(along)), np.nan)
    texts = np.full(shade.shape, "", dtype=object)
    for knobs, (accuracy, advantage) in zip(settings, cells.values(), strict=True):
        at = up.index(knobs.up), along.index(knobs.along)
        shade[at] = advantage
        texts[at] = f"{accuracy:z.2f}\n{advantage:z.2f}"
    draw_cells(
        axes,
        texts,
        shade=shade,
        form="",
        rows=[f"{value:g}" for value in up],
        columns=[f"{value:g}" for value in along],
        cmap="Greys",
        vmin=0,
        vmax=1.2,
    )
    axes.invert_yaxis()  # The first row is the lowest.
