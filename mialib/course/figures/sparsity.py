"""Pruned networks, after the sparsity paper.

| function | what it draws |
|---|---|
| `pipeline` | whose records train what, and who attacks whom (Fig. 2) |
| `round_view` | one round: masks, weights, attacks |
| `defense_plane` | defense level against accuracy (Fig. 1) |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR, COLORS, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    band_of,
    counted,
    numbers_of_points,
    skip_texts_in_layout,
    write_beside,
)
from mialib.course.plots.spoken import brief, listed, spoken_points
from mialib.course.sweeps import EDGES
from mialib.estimates import Estimate

Point = tuple[Estimate, Estimate]  # accuracy and defense level, in percent
Place = tuple[float, float]


class PartOfSide(NamedTuple):
    """A part of a side in the pipeline: how it is coloured, what it does, and where it stands."""

    role: str
    task: str
    shift: float  # above the network's middle
    arrives: float  # where its arrow meets the network, above the middle


PARTS = {
    "train": PartOfSide("member", "trains", 0.66, 0.12),
    "validation": PartOfSide("chance", "chooses the epoch", 0.0, 0.0),
    "test": PartOfSide("non_member", "is only asked about", -0.66, -0.12),
}
HEIGHT = {"target": 3.4, "shadow": 1.1}


def pipeline(sides: Mapping[str, Any], networks: Mapping[str, Any], discriminator: str) -> Picture:
    """Fig. 2 for these sides and networks, by name: whose records train what, who attacks whom."""
    sizes = {
        f"{name} {part}": len(records)
        for name, side in sides.items()
        for part, records in side.parts().items()
    }
    parameters = {
        name: sum(one.numel() for one in network.parameters()) for name, network in networks.items()
    }

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        axes.set(xlim=(0, 10), ylim=(0.1, 4.5))
        axes.set_axis_off()
        for name in sides:
            _draw_side(axes, name, sizes, parameters[name])
        _draw_attacker(axes, discriminator)

    told = listed(f"{name}: {count:,}" for name, count in (sizes | parameters).items())
    return Picture(
        draw,
        alt="Boxes and arrows. Each side's train part trains its network and its validation part "
        "chooses the epoch. A discriminator learns from the shadow's answers and attacks the "
        f"target. Sizes: {told}.",
        caption="Target above, shadow below; both are trained, and pruned, in the same way on "
        "other records.",
        size=(8.6, 3.7),
        numbers={**sizes, **{f"{name} parameters": n for name, n in parameters.items()}},
    )


def _draw_side(axes: Axes, name: str, sizes: Mapping[str, int], parameters: int) -> None:
    """The parts of a side at the left, and the network that they make."""
    middle = HEIGHT[name]
    for part, about in PARTS.items():
        if f"{name} {part}" not in sizes:
            continue
        y = middle + about.shift
        color = COLOR[about.role]
        size = sizes[f"{name} {part}"]
        _draw_box(axes, (1.2, y), f"{name} {part}\n{size:,} records", color)
        _draw_arrow(axes, (2.1, y), (3.7, middle + about.arrives), about.task, color)
    text = f"{name} network\n{parameters:,} parameters"
    _draw_box(axes, (4.7, middle), text, COLOR[name])


def _draw_attacker(axes: Axes, discriminator: str) -> None:
    """It learns from the shadow below and attacks the target above."""
    _draw_box(axes, (8.4, 2.25), discriminator, COLOR["mark"])
    learns = "answers to both, labelled:\nthe discriminator learns"
    _draw_arrow(axes, (5.7, HEIGHT["shadow"]), (8.3, 1.9), learns, COLOR["shadow"])
    attacks = "attacks: member or not?"
    _draw_arrow(axes, (8.3, 2.6), (5.7, HEIGHT["target"]), attacks, COLOR["target"])


def _draw_box(axes: Axes, at: Place, text: str, color: str) -> None:
    box = {
        "boxstyle": "round,pad=0.35",
        "facecolor": "white",
        "edgecolor": color,
        "linewidth": 1.6,
    }
    axes.text(*at, text, ha="center", va="center", fontsize=9, bbox=box)


def _draw_arrow(axes: Axes, start: Place, end: Place, text: str, color: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.5})
    x = (start[0] + end[0]) / 2
    y = (start[1] + end[1]) / 2
    box = {"color": "white", "pad": 1}
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color=color, bbox=box)


def round_view(
    masks: Mapping[str, np.ndarray],
    histograms: Mapping[str, Sequence[int]],
    attacks: Mapping[str, Mapping[str, Estimate]],
    *,
    title: str,
) -> Picture:
    """One round of pruning: every layer's mask, the weights that remain, and the attacks.

    `histograms` and `attacks` go by arm: the dense network first, this round last.
    """
    shares = {name: float(mask.mean()) for name, mask in masks.items()}

    def draw(figure: FigureBase) -> None:
        layers, weights, table = figure.subplots(1, 3, width_ratios=[1.65, 0.95, 1.35])
        _draw_masks(layers, masks, shares)
        layers.set_title(title)
        _draw_weights(weights, histograms)
        _draw_intervals(table, attacks)

    last = list(attacks)[-1]
    told = listed(f"{name} {estimate}" for name, estimate in attacks[last].items())
    return Picture(
        draw,
        alt=f"{title}. Left, the mask of each layer in black where a weight remains; middle, "
        f"histograms of the weights that remain; right, advantages: {told}.",
        caption="Black where a weight remains, a row for each output. Outermost bins: all that "
        "lies beyond. Right: advantages with 95 % intervals.",
        size=(11.6, 3.3),
        numbers={
            **{f"{name} remaining": share for name, share in shares.items()},
            **{f"{last} {name}": estimate.value for name, estimate in attacks[last].items()},
        },
    )


class Tiles:
    """Where the layers' masks stand in one image: a row for each of three segments."""

    height, width = 32, 288  # of a mask
    down, across = 46, 328  # from one to the next
    rows, columns = 3, 8

    @classmethod
    def corner(cls, place: int) -> tuple[int, int]:
        """Top and left; a ResNet-20 has the stem and 6 layers, then 7, then 7 and the last one."""
        segment = min(place // 7, 2)
        return cls.down * segment, cls.across * (place - 7 * segment)

    @classmethod
    def scaled(cls, mask: np.ndarray) -> np.ndarray:
        """A mask as (outputs, inputs), stretched or thinned out to the size of a tile."""
        flat = mask.reshape(len(mask), -1)
        rows = np.arange(cls.height) * flat.shape[0] // cls.height
        columns = np.arange(cls.width) * flat.shape[1] // cls.width
        return flat[rows][:, columns]


def _draw_masks(axes: Axes, masks: Mapping[str, np.ndarray], shares: Mapping[str, float]) -> None:
    """All masks as one image, which is drawn faster than one image for each."""
    canvas = np.zeros((Tiles.rows * Tiles.down, Tiles.columns * Tiles.across), np.float32)
    for place, (name, mask) in enumerate(masks.items()):
        top, left = Tiles.corner(place)
        canvas[top : top + Tiles.height, left : left + Tiles.width] = Tiles.scaled(mask)
        axes.text(left, top - 2, f"{short_layer(name)} {shares[name]:.0%}", fontsize=7.5)
    skip_texts_in_layout(axes)
    axes.imshow(canvas, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_ylim(Tiles.rows * Tiles.down - 8, -10)
    axes.set_axis_off()


def _draw_weights(axes: Axes, histograms: Mapping[str, Sequence[int]]) -> None:
    colors = (COLOR["chance"], COLOR["target"])
    for (name, counts), color in zip(histograms.items(), colors, strict=True):
        heights = np.maximum(counts, 0.5)  # An empty bin has no logarithm.
        line = "--" if name == "dense" else "-"
        axes.stairs(heights, EDGES, color=color, linestyle=line)
    axes.set(yscale="log", ylim=(0.5, None), xlabel="weight that is not pruned", ylabel="how many")
    axes.minorticks_off()
    _, *others = histograms
    axes.set_title(" and ".join(["dense (dashed)", *others]), fontsize=8)


def _draw_intervals(axes: Axes, attacks: Mapping[str, Mapping[str, Estimate]]) -> None:
    """A table of text: a row for each attack, a column for each arm."""
    names, *_ = attacks.values()
    columns = {"": list(names)}
    for arm, estimates in attacks.items():
        columns[arm] = [brief(estimate) for estimate in estimates.values()]
    for x, (head, cells) in zip((0.0, 0.4, 0.71), columns.items(), strict=True):
        text = "\n".join([head, *cells])
        axes.text(x, 1, text, fontsize=8, linespacing=1.95, va="top")
    skip_texts_in_layout(axes)
    axes.set_axis_off()


def short_layer(name: str) -> str:
    """A layer's name as there is room for it.

    >>> short_layer("features.3.conv2")
    '3b'
    """
    short = {"features.": "", ".conv1": "a", ".conv2": "b", ".shortcut.0": "s", "classify": "last"}
    for long, abbreviation in short.items():
        name = name.replace(long, abbreviation)
    return "stem" if name == "0" else name


class Slope(NamedTuple):
    """A line through the point (x, y)."""

    slope: float
    x: float
    y: float


def defense_plane(
    series: Mapping[str, Sequence[Point]],
    *,
    star: Point,
    labels: Mapping[str, Sequence[str]] | None = None,
    slopes: Mapping[str, tuple[float, float, float]] | None = None,
) -> Picture:
    """Fig. 1: defense level against accuracy with mean ± sd; the star is the dense network.

    `labels` writes beside the points of a series; `slopes` are lines as in `Slope`.
    """
    everyone = {"dense": [star], **series}

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(everyone.items()):
            _draw_levels(axes, points, (labels or {}).get(name, ()), name, place)
        _draw_slopes(axes, {name: Slope(*line) for name, line in (slopes or {}).items()})
        axes.set(xlabel="test accuracy in percent", ylabel="defense level D")
        figure.legend(loc="outside upper center", ncols=3)

    told = listed(f"{name}: {spoken_points(some, 'z.1f')}" for name, some in everyone.items())
    return Picture(
        draw,
        alt=f"Scatter plot of defense level against test accuracy. {told}.",
        caption="Crosses: mean ± standard deviation of three repeats. The upper right is best.",
        size=(6.8, 4.2),
        numbers=numbers_of_points(counted(series), "accuracy", "defense"),
    )


def _draw_slopes(axes: Axes, slopes: Mapping[str, Slope]) -> None:
    """Lines over the whole plane, which keeps its limits."""
    limits = axes.axis()
    for style, (name, line) in zip(("-", "--"), slopes.items(), strict=False):
        grey = {"color": COLOR["chance"], "linestyle": style, "linewidth": 1}
        axes.axline((line.x, line.y), slope=line.slope, label=name, **grey)
    axes.axis(limits)


def _draw_levels(
    axes: Axes, points: Sequence[Point], texts: Sequence[str], name: str, place: int
) -> None:
    """The series at `place`; the first, the dense network, is a star."""
    accuracy = band_of(point[0] for point in points)
    defense = band_of(point[1] for point in points)
    color = COLORS[place - 1] if place else COLOR["mark"]
    axes.errorbar(
        accuracy.value,
        defense.value,
        xerr=accuracy.errors(),
        yerr=defense.errors(),
        fmt=MARKERS[place - 1] if place else "*",
        markersize=5 if place else 12,
        color=color,
        elinewidth=0.6,
        label=name,
    )
    at = zip(accuracy.value, defense.value, strict=True)
    below_or_above = -11 if place % 2 else 4  # Neighbouring series write on different sides.
    write_beside(axes, texts, at, offset=(5, below_or_above), fontsize=8, color=color)
