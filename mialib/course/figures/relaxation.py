"""RelaxLoss and CRL: where the scenarios pull a batch, the phases by epoch, three knobs together.

>>> never = Phase(loss=[2.0, 1.5], below=[0.0, 0.0], alpha=1.0)
>>> phases({"center loss": never}).numbers["center loss last"]
1.5
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
from mialib.course.plots.pieces import panel_grid, rows_of
from mialib.course.plots.spoken import spoken
from mialib.course.plots.tables import draw_cells
from mialib.results import Results

LAST = 10  # epochs, over which the share of batches below α is averaged


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
            axes.set(title=title, xlabel="first feature", xticks=[-1, 0, 1])
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

    @classmethod
    def of(cls, trainings: Results, part: str) -> Phase:
        """The loss "rce" or "rcl" of one setting: means over its trainings."""
        histories = trainings.fact("history")
        loss = [[epoch[f"loss_{part}"] for epoch in history] for history in histories]
        below = [[epoch[f"below_{part}"] for epoch in history] for history in histories]
        alpha = trainings.rows[0].settings[f"alpha_{part}"]
        return cls(np.mean(loss, axis=0).tolist(), np.mean(below, axis=0).tolist(), alpha)

    def relaxed(self) -> float:
        """The share of batches below α in the last epochs; 0 where nothing was ever relaxed."""
        return float(np.mean(self.below[-LAST:]))


def phases(panels: Mapping[str, Phase]) -> Picture:
    """Fig. 3 of CRL by epoch: the loss and its threshold, and the share of batches under it."""

    def draw(figure: FigureBase) -> None:
        layout = {"sharex": True, "height_ratios": [2, 1], "squeeze": False}
        grid = figure.subplots(2, len(panels), **layout)
        for (above, under), (title, phase) in zip(grid.T, panels.items(), strict=True):
            _draw_phase(above, under, phase)
            above.set_title(title)
        grid[0, 0].set_ylabel("loss of a batch, mean")
        grid[1, 0].set_ylabel("below α")

    numbers = {}
    for title, phase in panels.items():
        numbers[f"{title} first"] = phase.loss[0]
        numbers[f"{title} last"] = phase.loss[-1]
        numbers[f"{title} below"] = phase.relaxed()
    return Picture(
        draw,
        alt=f"{len(panels)} panels: a loss by epoch with its threshold dotted, and below it the "
        "share of batches under it. First and last loss, and the share below in the last "
        f"{LAST} epochs: {spoken(numbers)}.",
        caption="Above: the mean loss of an epoch's batches, over all trainings, and its threshold "
        "α (dotted). Below: the share of batches under α. The scales of the losses differ.",
        size=(8.2, 3.6),
        numbers=numbers,
    )


def _draw_phase(above: Axes, under: Axes, phase: Phase) -> None:
    epochs = np.arange(1, len(phase.loss) + 1)
    above.plot(epochs, phase.loss, color=COLOR["target"])
    above.axhline(phase.alpha, color=COLOR["mark"], linestyle=LINE["chance"])
    above.set_ylim(bottom=0)
    under.bar(epochs, phase.below, color=COLOR["target"], width=1.0)
    under.set(xlabel="epoch", ylim=(0, 1))


class Knobs(NamedTuple):
    """What CRL's center loss can be set by: α_rcl, τ_rcl and λ."""

    alpha: float
    tau: float
    lam: float

    @classmethod
    def of(cls, trainings: Results) -> Knobs:
        settings = trainings.rows[0].settings
        return cls(settings["alpha_rcl"], settings["tau_rcl"], settings["lam"])

    def __str__(self) -> str:
        return f"α_rcl {self.alpha:g}, τ_rcl {self.tau:g}, λ {self.lam:g}"


def joint_sweep(cells: Mapping[Knobs, Mapping[str, float]]) -> Picture:
    """A table for each number, a row for each τ_rcl and α_rcl, a column for each λ.

    The darker a cell among those of its table, the larger its number.
    """
    titles = list(next(iter(cells.values())))
    rows = sorted({(knobs.tau, knobs.alpha) for knobs in cells})
    columns = sorted({knobs.lam for knobs in cells})

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(titles), 2, sharex=True, sharey=True)
        for axes, title in zip(grid, titles, strict=True):
            table = np.full((len(rows), len(columns)), np.nan)
            for knobs, numbers in cells.items():
                at = rows.index((knobs.tau, knobs.alpha)), columns.index(knobs.lam)
                table[at] = numbers[title]
            _draw_table(axes, table, rows, columns)
            axes.set_title(title)
        figure.supxlabel("λ", fontsize=10)

    numbers = {
        f"{title}, {knobs}": value for knobs, some in cells.items() for title, value in some.items()
    }
    return Picture(
        draw,
        alt=f"{len(titles)} tables by τ_rcl and α_rcl (down) and λ (along). {spoken(numbers)}.",
        caption="Each table has one number of every setting; the darker, the larger among those of "
        "the table.",
        size=(7.8, 0.6 + 1.9 * rows_of(len(titles), 2)),
        numbers=numbers,
    )


def _draw_table(
    axes: Axes, table: np.ndarray, rows: Sequence[tuple[float, float]], columns: Sequence[float]
) -> None:
    low = float(np.nanmin(table))
    reach = max(float(np.nanmax(table)) - low, 0.01)  # Differences below 1 % stay pale.
    draw_cells(
        axes,
        table,
        rows=[f"τ_rcl {tau:g}, α_rcl {alpha:g}" for tau, alpha in rows],
        columns=[f"{value:g}" for value in columns],
        cmap="Greys",
        vmin=low - 0.2 * reach,
        vmax=low + 1.6 * reach,
    )
