"""Pruned networks, after the sparsity paper; `levels` has its planes.

| function | what it draws |
|---|---|
| `pipeline` | whose records train what, and who attacks whom (Fig. 2) |
| `round_view` | one round: how much of each layer remains, and one layer's mask |

    sides = {"target": target.side_records(), "shadow": shadow.side_records()}
    show(pipeline(sides, networks, "discriminator"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patches import FancyArrowPatch, Rectangle

from mialib.course.plots.palette import COLOR, LINE
from mialib.course.plots.picture import Picture
from mialib.course.plots.spoken import listed

Place = tuple[float, float]


# The pipeline.


class PartOfSide(NamedTuple):
    """A part of a side in the pipeline: how it is coloured, called, and what it does."""

    role: str
    called: str
    task: str


class Box(NamedTuple):
    """A rectangle of the pipeline."""

    x: float
    y: float
    width: float
    height: float

    def left(self, share: float = 0.5) -> Place:
        """A point on its left edge, so far up."""
        return self.x, self.y + share * self.height

    def right(self, share: float = 0.5) -> Place:
        return self.x + self.width, self.y + share * self.height


PARTS = {
    "train": PartOfSide("member", "members", "train it"),
    "validation": PartOfSide("chance", "validation", "choose the epoch"),
    "test": PartOfSide("non_member", "non-members", "are asked about"),
}
BOTTOM = {"target": 2.35, "shadow": 0.1}  # of each side's boxes
STEP = 0.62  # from one part's box to the next


def pipeline(sides: Mapping[str, Any], networks: Mapping[str, Any], discriminator: str) -> Picture:
    """Fig. 2 for these sides and networks, by name: whose records train what, who attacks whom."""
    sizes = {
        f"{name} {part}": len(records)
        for name, side in sides.items()
        for part, records in side.parts().items()
        if part in PARTS
    }
    parameters = {
        name: sum(one.numel() for one in network.parameters()) for name, network in networks.items()
    }

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        axes.set(xlim=(0, 10), ylim=(0, 4.4))
        axes.set_axis_off()
        drawn = {name: _draw_side(axes, name, sizes, parameters[name]) for name in sides}
        _draw_attacker(axes, drawn["target"], drawn["shadow"], discriminator)

    told = listed(f"{name}: {count:,}" for name, count in (sizes | parameters).items())
    return Picture(
        draw,
        alt="Boxes and arrows. Each side's members train its network, its validation records "
        "choose the epoch. A discriminator learns from the shadow's answers and attacks the "
        f"target. Sizes: {told}.",
        caption="Target above, shadow below; both are trained, and pruned, in the same way on "
        "other records.",
        size=(8.2, 3.6),
        numbers={**sizes, **{f"{name} parameters": n for name, n in parameters.items()}},
    )


def _draw_side(axes: Axes, name: str, sizes: Mapping[str, int], parameters: int) -> Box:
    """The parts of a side at the left, and the network that they make."""
    network = Box(4.1, BOTTOM[name] + 0.3, 1.7, 1.15)
    text = f"{name}\n{parameters:,}\nparameters"
    _draw_box(axes, network, text, COLOR[name])
    for place, (part, about) in enumerate(reversed(PARTS.items())):
        if f"{name} {part}" not in sizes:
            continue
        box = Box(0.05, BOTTOM[name] + STEP * place, 1.95, 0.48)
        _draw_box(axes, box, f"{sizes[f'{name} {part}']:,} {about.called}", COLOR[about.role])
        arrives = network.left(0.2 + 0.3 * place)
        _draw_arrow(axes, box.right(), arrives, about.task, COLOR[about.role])
    return network


def _draw_attacker(axes: Axes, target: Box, shadow: Box, discriminator: str) -> None:
    """It learns from the shadow below and attacks the target above."""
    attacker = Box(7.75, 1.45, 2.2, 1.3)
    _draw_box(axes, attacker, discriminator, COLOR["mark"])
    asked = "answers\nto judge"
    known = "answers with\nthe truth"
    _draw_arrow(axes, target.right(), attacker.left(0.75), asked, COLOR["target"])
    _draw_arrow(axes, shadow.right(), attacker.left(0.25), known, COLOR["shadow"])


def _draw_box(axes: Axes, box: Box, text: str, color: str) -> None:
    outline = Rectangle((box.x, box.y), box.width, box.height, fill=False, color=color, linewidth=2)
    axes.add_patch(outline)
    middle = (box.x + box.width / 2, box.y + box.height / 2)
    axes.text(*middle, text, ha="center", va="center", fontsize=9)


def _draw_arrow(axes: Axes, start: Place, end: Place, text: str, color: str) -> None:
    """From edge to edge; the text lies on it."""
    style = {"arrowstyle": "-|>", "mutation_scale": 12, "shrinkA": 0, "shrinkB": 1}
    axes.add_patch(FancyArrowPatch(start, end, color=color, linewidth=1.5, **style))
    x = (start[0] + end[0]) / 2
    y = (start[1] + end[1]) / 2
    box = {"color": "white", "pad": 1.5}
    axes.text(x, y, text, ha="center", va="center", fontsize=9, bbox=box)


# One round.


def round_view(
    shares: Mapping[str, float], mask: np.ndarray, *, layer: str, overall: float, title: str
) -> Picture:
    """One round of pruning: the share of each layer that remains, and the mask of one `layer`.

    `overall` is the share of all these weights together that remains.
    """
    flat = np.asarray(mask).reshape(len(mask), -1)  # (outputs, …) → (outputs, inputs)
    kept = int(flat.sum())
    empty = int((flat.sum(axis=1) == 0).sum())

    def draw(figure: FigureBase) -> None:
        layers, picture = figure.subplots(1, 2, width_ratios=[1.5, 1])
        _draw_shares(layers, shares, layer, overall)
        layers.set_title(title)
        picture.imshow(flat, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        picture.set(xlabel="input weight", ylabel="output", xticks=[], yticks=[])
        picture.set_title(f"layer {short_layer(layer)}: {kept:,} of {flat.size:,} weights")

    told = listed(f"{short_layer(name)} {share:.0%}" for name, share in shares.items())
    return Picture(
        draw,
        alt=f"{title}. Left, bars of the share of each layer that remains: {told}. Right, the "
        f"mask of layer {short_layer(layer)}, black where a weight remains: {kept:,} weights.",
        caption="Left: the share of each layer that remains, in the order of the network (a, b: "
        "the two convolutions of a block, s: its shortcut); dotted: all layers together. Right: "
        "the mask of the dark bar's layer, black where a weight remains.",
        size=(8.2, 2.9),
        numbers={
            **{f"{name} remaining": share for name, share in shares.items()},
            "kept": kept,
            "empty outputs": empty,
        },
        steady=("round_view", *shares),
    )


def _draw_shares(axes: Axes, shares: Mapping[str, float], dark: str, overall: float) -> None:
    names = [short_layer(name) for name in shares]
    colors = [COLOR["mark"] if name == dark else COLOR["target"] for name in shares]
    percent = [100 * share for share in shares.values()]
    axes.vlines(range(len(names)), 0, percent, color=colors, linewidth=10)
    axes.axhline(100 * overall, color=COLOR["chance"], linestyle=LINE["chance"])
    axes.set(ylim=(0, 100), ylabel="percent that remains", xlim=(-0.7, len(names) - 0.3))
    axes.set_xticks(range(len(names)), names, fontsize=9, rotation=90)
    axes.grid(axis="x", visible=False)


def short_layer(name: str) -> str:
    """A layer's name as there is room for it.

    >>> short_layer("features.3.conv2")
    '3b'
    """
    short = {"features.": "", ".conv1": "a", ".conv2": "b", ".shortcut.0": "s", "classify": "last"}
    for long, abbreviation in short.items():
        name = name.replace(long, abbreviation)
    return "stem" if name == "0" else name
