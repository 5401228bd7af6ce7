"""Figures of lesson 10: where CRL's scenarios pull a batch, its phases by epoch, features in the plane, margins.

>>> margins({"undefended": ([0] * 64, [1] + [0] * 63)}, columns=1).numbers["undefended overlap"]
0.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patches import Circle

from mialib import metrics
from mialib.course.plots import COLOR, LINE, Picture
from mialib.course.plots.tradeoff import COLORS, MARKERS
from mialib.course.sweeps import MARGINS

ROLES = (("member", "."), ("non_member", "x"))
SHOWN = 150  # records of each role as points in the plane


def scenarios(
    places: np.ndarray,
    labels: np.ndarray,
    centers: np.ndarray,
    pulls: dict[str, np.ndarray],
    *,
    radius: float,
) -> Picture:
    """Fig. 2: one panel a scenario, an arrow from each record's features (n, 2) along its pull; stars are centers."""
    kinds = np.unique(labels)

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(pulls), sharex=True, sharey=True)
        for axes, (title, pull) in zip(panels, pulls.items(), strict=True):
            for place, kind in enumerate(kinds):
                of, color = labels == kind, COLORS[place]
                arrows = {
                    "angles": "xy",
                    "scale_units": "xy",
                    "scale": 2.5,
                    "width": 0.006,
                    "color": color,
                }
                axes.quiver(*places[of].T, *pull[of].T, **arrows)
                axes.plot(*places[of].T, MARKERS[place], color=color, markersize=4)
                axes.plot(*(places + pull)[of].T, "o", color=color, markersize=4, fillstyle="none")
                axes.plot(*centers[kind], "*", color=color, markersize=12, markeredgecolor="black")
                axes.add_patch(
                    Circle(centers[kind], radius, fill=False, color=color, linestyle="--")
                )
            axes.plot(0, 0, "+", color=COLOR["mark"], markersize=10)
            axes.set(
                title=title,
                xlim=(-1.05, 1.05),
                ylim=(-1.05, 1.05),
                aspect="equal",
                xlabel="first feature",
            )
        panels[0].set_ylabel("second feature")

    apart = np.linalg.norm(places - centers[labels], axis=1)
    numbers = {"mean distance": float(apart.mean()), "inside": float((apart < radius).mean())}
    for title, pull in pulls.items():
        moved = np.linalg.norm(places + 0.01 * pull - centers[labels], axis=1)
        numbers[f"nearer to its center, {title}"] = float((moved < apart).mean())
    told = "; ".join(f"{name} {value:.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"{len(pulls)} panels of normalised features of {len(places)} records in {len(kinds)} classes, with arrows "
        f"along the pull, a star for each center and a dashed circle of radius {radius:.2f} round it. {told}.",
        caption="Normalised features and where each loss pulls them; star: the class's center, circle: the boundary "
        "that α sets, cross: the origin, open dots: where a full pull would end.",
        size=(8.2, 3.1),
        numbers=numbers,
    )


@dataclass(frozen=True)
class Phase:
    """A relaxed loss by epoch: its mean, the share of batches below its threshold, and the threshold."""

    loss: Sequence[float]
    below: Sequence[float]
    alpha: float
    turns: int = 0  # |L − α| in even epochs (0) or in odd ones (1), counted from 1


def phases(panels: dict[str, Phase]) -> Picture:
    """Fig. 3 by epoch: above, the loss and its threshold; below, the share of batches under it; shaded: |L − α|."""

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(
            2, len(panels), sharex=True, sharey="row", height_ratios=[2, 1], squeeze=False
        )
        for (above, under), (title, phase) in zip(grid.T, panels.items(), strict=True):
            epochs = np.arange(1, len(phase.loss) + 1)
            for axes in (above, under):
                for epoch in epochs[epochs % 2 == phase.turns]:
                    axes.axvspan(epoch - 0.5, epoch + 0.5, color="#ececec", linewidth=0)
                axes.grid(False, axis="x")
            above.plot(epochs, phase.loss, color=COLOR["target"], marker=".")
            above.axhline(phase.alpha, color=COLOR["mark"], linestyle=LINE["chance"])
            under.bar(epochs, phase.below, color=COLOR["target"], width=0.7)
            above.set_title(title)
            under.set(xlabel="epoch", ylim=(0, 1))
        grid[0, 0].set_ylabel("batch loss, mean")
        grid[1, 0].set_ylabel("below α")

    numbers = {}
    for title, phase in panels.items():
        found = np.flatnonzero(np.array(phase.below) > 0)
        numbers |= {
            f"{title} first": float(found[0] + 1) if len(found) else np.inf,
            f"{title} last": phase.loss[-1],
        }
        numbers[f"{title} below"] = float(np.mean(phase.below[-10:]))
    told = "; ".join(f"{name} {value:.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"{len(panels)} panels: a loss by epoch with its threshold dotted, and bars with the share of batches "
        f"below it. First epoch with a batch below, last loss, share below in the last ten epochs: {told}.",
        caption="Mean loss of an epoch's batches, the threshold α (dotted) and the share of batches below it. Shaded: "
        "epochs whose loss is |L − α|.",
        size=(9.6, 3.8),
        numbers=numbers,
    )


@dataclass(frozen=True)
class Plane:
    """2-D features and distances to the boundary of one model, members and non-members: (n, 2) and (n,) each."""

    features: dict[str, np.ndarray]
    margin: dict[str, np.ndarray]


def features(models: dict[str, Plane]) -> Picture:
    """Fig. 1: features in the plane (above), and distance to the boundary against distance to the origin (below)."""

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(2, len(models))
        for (above, under), (name, plane) in zip(grid.T, models.items(), strict=True):
            for role, marker in ROLES:
                some = {"color": COLOR[role], "marker": marker, "s": 11, "linewidth": 0.7}
                places, margin = plane.features[role][:SHOWN], plane.margin[role][:SHOWN]
                above.scatter(*places.T, **some, label=role.replace("_", "-") + "s")
                under.scatter(np.linalg.norm(places, axis=1), margin, **some)
            above.plot(0, 0, "+", color=COLOR["mark"], markersize=10)
            above.set(title=name, aspect="equal", adjustable="datalim")
            under.axhline(0, color=COLOR["chance"], linestyle=":")
            under.set_xlabel("distance to the origin")
        grid[0, 0].set_ylabel("second feature")
        grid[1, 0].set_ylabel("distance to the boundary")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    numbers = {
        f"{name} {what}": value
        for name, one in models.items()
        for what, value in distances([one]).items()
    }
    told = "; ".join(f"{name} {value:.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"Scatter plots for {len(models)} models. Above, 2-D features of members (blue dots) and non-members "
        f"(orange crosses); below, distance to the boundary against distance to the origin. Medians: {told}.",
        caption=f"Two features of {SHOWN} records a group (above; cross: the origin) and their distances (below). "
        "The scales differ.",
        size=(7.6, 4.6),
        numbers=numbers,
    )


def distances(planes: Sequence[Plane]) -> dict[str, float]:
    """Means over several models: accuracy on non-members, the AUC of the distance to the boundary, median distances."""
    found = []
    for plane in planes:
        both = np.concatenate([plane.margin[role] for role, _ in ROLES])
        one = {"accuracy": float((plane.margin["non_member"] > 0).mean())}
        one["AUC"] = metrics.auc(both, np.arange(len(both)) < len(plane.margin["member"]))
        for role, _ in ROLES:
            one[f"{role} origin"] = float(np.median(np.linalg.norm(plane.features[role], axis=1)))
            one[f"{role} boundary"] = float(np.median(plane.margin[role]))
        found.append(one)
    return {what: float(np.mean([one[what] for one in found])) for what in found[0]}


def margins(counts: dict[str, tuple[Sequence[int], Sequence[int]]], *, columns: int) -> Picture:
    """Fig. 6: histograms of the signed distance to the decision boundary of members and of non-members."""
    rows = -(-len(counts) // columns)
    shares = {
        name: [np.array(row) / max(sum(row), 1) for row in pair] for name, pair in counts.items()
    }
    numbers = {}
    for name, pair in shares.items():
        numbers[f"{name} overlap"] = float(np.minimum(*pair).sum())
        numbers |= {
            f"{name} {role} median": _median(row)
            for (role, _), row in zip(ROLES, pair, strict=True)
        }

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in grid.flat[len(counts) :]:
            axes.set_axis_off()
        for axes, (name, pair) in zip(grid.flat, shares.items(), strict=False):
            _two(axes, pair)
            axes.set_title(f"{name}: overlap {numbers[f'{name} overlap']:.2f}", fontsize=9)
        figure.supxlabel("signed distance to the decision boundary", fontsize=10)
        figure.supylabel("share of the records", fontsize=10)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    told = "; ".join(f"{name} {value:.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"{len(counts)} pairs of histograms of the distance to the boundary, members and non-members: {told}.",
        caption="Distance of each record's features to the decision boundary, negative when misclassified. Overlap: "
        "the area under both histograms.",
        size=(8.6, 0.9 + 1.35 * rows),
        numbers=numbers,
    )


def surface(
    panels: dict[str, dict[tuple[float, float], tuple[float, float]]], *, ylabel: str
) -> Picture:
    """Two knobs a panel: (row, column) → accuracy and advantage, written into the cell; the darker, the higher."""

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(
            1, len(panels), width_ratios=[len({x for _, x in some}) for some in panels.values()]
        )
        for axes, (title, some) in zip(grid, panels.items(), strict=True):
            up, along = (sorted({key[part] for key in some}) for part in (0, 1))
            for (y, x), (accuracy, advantage) in some.items():
                at = along.index(x), up.index(y)
                axes.imshow(
                    [[advantage]], extent=_around(at), cmap="Greys", vmin=0, vmax=1.2, aspect="auto"
                )
                axes.text(
                    *at, f"{accuracy:.2f}\n{advantage:.2f}", ha="center", va="center", fontsize=9
                )
            axes.set(xlim=(-0.5, len(along) - 0.5), ylim=(-0.5, len(up) - 0.5), xlabel=title)
            axes.set_xticks(range(len(along)), [f"{x:g}" for x in along])
            axes.set_yticks(range(len(up)), [f"{y:g}" for y in up])
            axes.grid(False)
        grid[0].set_ylabel(ylabel)

    numbers = {
        f"{title} {ylabel} {y:g}, {x:g} {what}": pair[k]
        for title, some in panels.items()
        for (y, x), pair in some.items()
        for k, what in enumerate(("accuracy", "advantage"))
    }
    told = "; ".join(f"{name} {value:.2f}" for name, value in numbers.items())
    return Picture(
        draw,
        alt=f"{len(panels)} tables of accuracy and advantage by {ylabel} and another knob. {told}.",
        caption="In each cell the test accuracy and, below it, the highest advantage (the darker, the higher).",
        size=(9.6, 3.0),
        numbers=numbers,
    )


def _around(at: tuple[int, int]) -> tuple[float, float, float, float]:
    return at[0] - 0.5, at[0] + 0.5, at[1] - 0.5, at[1] + 0.5


def _median(shares: np.ndarray) -> float:
    """The middle of the bin that holds the median."""
    middle = int(np.searchsorted(np.cumsum(shares), 0.5))
    return float(MARGINS[middle : middle + 2].mean())


def _two(axes: Axes, pair: Sequence[np.ndarray]) -> None:
    for (role, _), row, hatch in zip(ROLES, pair, (None, "////"), strict=True):
        style = {
            "color": COLOR[role],
            "alpha": 0.55,
            "hatch": hatch,
            "edgecolor": "white",
            "linewidth": 0.3,
        }
        axes.stairs(row, MARGINS, fill=True, **style, label=role.replace("_", "-") + "s")
    axes.axvline(0, color=COLOR["chance"], linestyle=":")
