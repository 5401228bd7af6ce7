"""Figures of lesson 12: the pipeline of the sparsity paper's Fig. 2, one round of pruning, and the plane of its Fig. 1.

>>> spread([0.4, 0.5, 0.6])
Estimate(value=0.5, low=0.4, high=0.6, note='')
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots import COLOR, Picture
from mialib.course.plots.tradeoff import COLORS, MARKERS
from mialib.course.sweeps import EDGES
from mialib.estimates import Estimate

Point = tuple[Estimate, Estimate]  # accuracy and defense level, in percent
ROLES = {"train": "member", "test": "non_member"}


def student(values: Sequence[float]) -> Estimate:
    """The mean of three repeats with Student's 95 % interval."""
    mean, reach = float(np.mean(values)), 4.303 * float(np.std(values, ddof=1)) / 3**0.5
    return Estimate(mean, mean - reach, mean + reach)


def spread(values: Sequence[float]) -> Estimate:
    """Mean − sd … mean + sd, which the paper draws, in the form of an estimate."""
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    return Estimate(round(mean, 12), round(mean - deviation, 12), round(mean + deviation, 12))


def pipeline(sides: dict, networks: dict, discriminator: str) -> Picture:
    """Fig. 2 for these sides and networks, by name: whose records train what, and who attacks whom."""
    sizes = {
        f"{name} {part}": len(records)
        for name, side in sides.items()
        for part, records in side.parts().items()
    }
    weights = {
        name: sum(one.numel() for one in network.parameters()) for name, network in networks.items()
    }

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        axes.set(xlim=(0, 10), ylim=(0.1, 4.5))
        axes.set_axis_off()
        for middle, (name, side) in zip((3.4, 1.1), sides.items(), strict=True):
            parts = [
                part for part in ("train", "validation", "test") if getattr(side, part) is not None
            ]
            for y, part in zip((middle + 0.66, middle, middle - 0.66), parts, strict=True):
                _box(
                    axes,
                    1.2,
                    y,
                    f"{name} {part}\n{sizes[f'{name} {part}']:,} records",
                    COLOR.get(ROLES.get(part)),
                )
            _box(axes, 4.7, middle, f"{name} network\n{weights[name]:,} parameters", COLOR[name])
            _arrow(axes, (2.1, middle + 0.66), (3.7, middle + 0.12), "trains", COLOR["member"])
            _arrow(axes, (2.1, middle), (3.7, middle), "chooses the epoch", COLOR["chance"])
            _arrow(
                axes,
                (2.1, middle - 0.66),
                (3.7, middle - 0.12),
                "is only asked about",
                COLOR["non_member"],
            )
        _box(axes, 8.4, 2.25, discriminator, COLOR["mark"])
        _arrow(
            axes,
            (5.7, 1.1),
            (8.3, 1.9),
            "answers to both, labelled:\nthe discriminator learns",
            COLOR["shadow"],
        )
        _arrow(axes, (8.3, 2.6), (5.7, 3.4), "attacks: member or not?", COLOR["target"])

    listed = "; ".join(f"{name}: {count:,}" for name, count in (sizes | weights).items())
    return Picture(
        draw,
        alt="Boxes and arrows. Each side's train part trains its network and its validation part chooses the epoch. "
        f"A discriminator learns from the shadow's answers and attacks the target. Sizes: {listed}.",
        caption="Target above, shadow below; both are trained, and pruned, in the same way on other records.",
        size=(8.6, 3.7),
        numbers=sizes | {f"{name} parameters": count for name, count in weights.items()},
    )


def round_view(
    masks: dict[str, np.ndarray],
    histograms: dict[str, Sequence[int]],
    attacks: dict[str, dict[str, Estimate]],
    *,
    title: str,
) -> Picture:
    """One round: every layer's mask, the weights that remain, and the attacks; each of the last two beside another."""
    shares = {name: float(mask.mean()) for name, mask in masks.items()}
    names = list(next(iter(attacks.values())))

    def draw(figure: FigureBase) -> None:
        layers, weights, table = figure.subplots(1, 3, width_ratios=[1.65, 0.95, 1.35])
        canvas = np.zeros(
            (3 * 46, 8 * 328), np.float32
        )  # One image of all layers is drawn faster than one of each.
        for place, (name, mask) in enumerate(masks.items()):
            segment = min(
                place // 7, 2
            )  # A ResNet-20 has the stem and 6 layers, then 7, then 7 and the last one.
            flat, top, left = mask.reshape(len(mask), -1), 46 * segment, 328 * (place - 7 * segment)
            rows, columns = (
                np.arange(32) * flat.shape[0] // 32,
                np.arange(288) * flat.shape[1] // 288,
            )
            canvas[top : top + 32, left : left + 288] = flat[rows][:, columns]
            layers.text(
                left, top - 2, f"{_short(name)} {shares[name]:.0%}", fontsize=7.5
            ).set_in_layout(False)
        layers.imshow(canvas, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        layers.set(title=title, ylim=(3 * 46 - 8, -10))
        for (name, counts), color in zip(
            histograms.items(), (COLOR["chance"], COLOR["target"]), strict=True
        ):
            weights.stairs(
                np.maximum(counts, 0.5),
                EDGES,
                color=color,
                linestyle="--" if name == "dense" else "-",
            )
        weights.set(
            yscale="log", ylim=(0.5, None), xlabel="weight that is not pruned", ylabel="how many"
        )
        weights.minorticks_off()
        weights.set_title(" and ".join(("dense (dashed)", *list(histograms)[1:])), fontsize=8)
        columns = {"": names} | {
            arm: [
                f"{one.value:z.2f} [{one.low:z.2f}, {one.high:z.2f}]" for one in estimates.values()
            ]
            for arm, estimates in attacks.items()
        }
        for x, (arm, cells) in zip((0.0, 0.4, 0.71), columns.items(), strict=True):
            text = table.text(
                x, 1, "\n".join((arm, *cells)), fontsize=8, linespacing=1.95, va="top"
            )
            text.set_in_layout(
                False
            )  # It lies inside, and measuring it takes as long as drawing it.
        for axes in (layers, table):
            axes.set_axis_off()

    last = list(attacks)[-1]
    told = "; ".join(f"{name} {estimate}" for name, estimate in attacks[last].items())
    return Picture(
        draw,
        alt=f"{title}. Left, the mask of each layer in black where a weight remains; middle, histograms of the weights "
        f"that remain; right, advantages: {told}.",
        caption="Black where a weight remains, a row for each output. Outermost bins: all that lies beyond. "
        "Right: advantages with 95 % intervals.",
        size=(11.6, 3.3),
        numbers={f"{name} remaining": share for name, share in shares.items()}
        | {f"{last} {name}": estimate.value for name, estimate in attacks[last].items()},
    )


def plane(
    series: dict[str, Sequence[Point]],
    *,
    labels: dict[str, Sequence[str]] | None = None,
    star: Point,
    slopes: dict[str, tuple[float, float, float]] | None = None,
) -> Picture:
    """Defense level against accuracy with mean ± sd, as in Fig. 1; slopes are (slope, and a point of the line)."""
    everyone = {"dense": [star]} | series

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(everyone.items()):
            x, left, y, down = np.array(
                [(a.value, a.value - a.low, d.value, d.value - d.low) for a, d in points]
            ).T
            color, marker = (
                (COLORS[place - 1], MARKERS[place - 1]) if place else (COLOR["mark"], "*")
            )
            style = {
                "color": color,
                "markersize": 5 if place else 12,
                "elinewidth": 0.6,
                "label": name,
            }
            axes.errorbar(x, y, xerr=left, yerr=down, fmt=marker, **style)
            for text, at in zip((labels or {}).get(name, ()), zip(x, y, strict=True), strict=False):
                axes.annotate(
                    text,
                    at,
                    xytext=(5, -11 if place % 2 else 4),
                    textcoords="offset points",
                    fontsize=8,
                    color=color,
                )
        limits = axes.axis()
        for line, (name, (slope, *at)) in zip(("-", "--"), (slopes or {}).items(), strict=False):
            axes.axline(
                at, slope=slope, color=COLOR["chance"], linestyle=line, linewidth=1, label=name
            )
        axes.axis(limits)
        axes.set(xlabel="test accuracy in percent", ylabel="defense level D")
        figure.legend(loc="outside upper center", ncols=3)

    told = "; ".join(
        f"{n}: " + ", ".join(f"({x.value:.1f}, {y.value:.1f})" for x, y in points)
        for n, points in everyone.items()
    )
    return Picture(
        draw,
        alt=f"Scatter plot of defense level against test accuracy. {told}.",
        caption="Crosses: mean ± standard deviation of three repeats. The upper right is best.",
        size=(6.8, 4.2),
        numbers={
            f"{name} {k} {what}": point[part].value
            for name, points in series.items()
            for k, point in enumerate(points)
            for part, what in enumerate(("accuracy", "defense"))
        },
    )


def _short(layer: str) -> str:
    """features.3.conv2 → 3b"""
    short = {"features.": "", ".conv1": "a", ".conv2": "b", ".shortcut.0": "s", "classify": "last"}
    for long, brief in short.items():
        layer = layer.replace(long, brief)
    return "stem" if layer == "0" else layer


def _box(axes: Axes, x: float, y: float, text: str, color: str | None) -> None:
    box = {
        "boxstyle": "round,pad=0.35",
        "facecolor": "white",
        "edgecolor": color or COLOR["chance"],
        "linewidth": 1.6,
    }
    axes.text(x, y, text, ha="center", va="center", fontsize=9, bbox=box)


def _arrow(axes: Axes, start: tuple, end: tuple, text: str, color: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.5})
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=8,
        color=color,
        bbox={"color": "white", "pad": 1},
    )
