"""Figures of lesson 07: where the sensitivity lies, and what Proposition E.1 promises.

>>> round(bells(gap=1.0, member=1.0, non_member=1.0, fpr=0.5).numbers["advantage"], 4)
0.3413
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from scipy.stats import norm

from mialib.course.plots import COLOR, LINE, Picture
from mialib.course.plots.picture import ATTACKS
from mialib.estimates import Estimate

KIND = {
    "convolution": (ATTACKS[0][0], None),
    "normalisation": (ATTACKS[1][0], "////"),
    "linear": (ATTACKS[2][0], ".."),
}
Modules = dict[str, dict]  # by name: kind, size, and mean and top-20 % share of the sensitivity
Curve = ArrayLike | Sequence[Estimate]


def panels(
    x: ArrayLike,
    curves: dict[str, dict[str, Curve]],
    *,
    columns: int,
    scale: str = "linear",
    **labels,
) -> Picture:
    """Curves over x in panels by title, bands where they are estimates; `labels` are xlabel and ylabel."""
    x, rows = np.asarray(x, float), -(-len(curves) // columns)
    table = {
        title: {name: _triples(row) for name, row in some.items()} for title, some in curves.items()
    }
    names = list(dict.fromkeys(name for some in table.values() for name in some))

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in grid.flat[len(table) :]:
            axes.set_axis_off()
        for axes, (title, some) in zip(grid.flat, table.items(), strict=False):
            for name, (value, low, high) in some.items():
                color, line = ATTACKS[names.index(name)]
                axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
                axes.plot(
                    x, value, color=color, linestyle=line, marker=".", markersize=5, label=name
                )
            axes.set_title(title, fontsize=9)
            axes.set_yscale(scale)
            axes.minorticks_off()
            if (x == x.round()).all():
                axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        for axes in grid.flat[max(len(table) - columns, 0) : len(table)]:
            axes.tick_params(labelbottom=True)  # Nothing stands below it.
        figure.supxlabel(labels["xlabel"], fontsize=10)
        figure.supylabel(labels["ylabel"], fontsize=10)
        if len(names) > 1:
            lines = {line.get_label(): line for axes in grid.flat for line in axes.get_lines()}
            figure.legend(
                lines.values(), lines.keys(), loc="outside upper center", ncols=min(len(names), 4)
            )

    ends = {
        (title, name): row[0][[0, -1]]
        for title, some in table.items()
        for name, row in some.items()
    }
    told = "; ".join(
        f"{title}, {name} from {a:.3g} to {b:.3g}" for (title, name), (a, b) in ends.items()
    )
    return Picture(
        draw,
        alt=f"{len(table)} panels of {labels['ylabel']} against {labels['xlabel']}, {x[0]:g} to {x[-1]:g}: {told}.",
        caption=f"{labels['ylabel'][0].upper()}{labels['ylabel'][1:]} by {labels['xlabel']}.",
        size=(8.6, 1.2 + 1.7 * rows),
    )


def where(modules: Modules, *, title: str, inside: float | None = None) -> Picture:
    """Where the sensitivity lies: each module's share of the total, and the mean of its weights over that of all.

    With `inside`, the lower panel has the share of the top 20 % inside each module instead, and a line there.
    """
    kinds = np.array([module["kind"] for module in modules.values()])
    mean, size, top = np.array([(m["mean"], m["size"], m["top"]) for m in modules.values()]).T
    share, density = mean * size / (mean @ size), mean / (mean @ size / size.sum())
    below, line, label = (
        (density, 1, "one weight") if inside is None else (top, inside, "top 20 % inside")
    )
    told = {
        kind: (float(share[kinds == kind].sum()), *below[kinds == kind][[0, -1]]) for kind in KIND
    }

    def draw(figure: FigureBase) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        for kind, (color, hatch) in KIND.items():
            places = np.flatnonzero(kinds == kind)
            for axes, values in ((upper, share), (lower, below)):
                axes.bar(
                    places,
                    values[places],
                    color=color,
                    hatch=hatch,
                    edgecolor="white",
                    linewidth=0,
                    label=kind,
                )
        edges = np.arange(len(size) + 1) - 0.5
        upper.stairs(
            size / size.sum(), edges, color=COLOR["mark"], linewidth=1, label="share of the weights"
        )
        lower.axhline(line, color=COLOR["mark"], linestyle=LINE["chance"])
        upper.set(ylabel="share of the total", title=title, ylim=(0, 0.2))
        lower.set(ylabel=label, ylim=(0, 1))
        if inside is None:
            lower.set(
                yscale="log",
                ylim=(0.2, 20),
                yticks=[0.2, 1, 5, 20],
                yticklabels=["0.2", "1", "5", "20"],
            )
            lower.minorticks_off()
        _name_blocks(lower, list(modules))
        figure.legend(*upper.get_legend_handles_labels(), loc="outside upper center", ncols=4)

    listed = "; ".join(
        "{}: {:.0%} of the total, {:.2f} first, {:.2f} last".format(k, *row)
        for k, row in told.items()
    )
    return Picture(
        draw,
        alt=f"{title}. Bars for {len(modules)} modules from input to output. Above: share of the sensitivity, and "
        f"a line for the share of the weights. Below: {label}, dotted line at {line:.2f}. {listed}.",
        caption="Above: each module's share of the total sensitivity; line: of the weights. Below: "
        + (
            "the mean sensitivity of its weights over the mean of all."
            if inside is None
            else "the top 20 % inside it."
        ),
        size=(8.0, 3.8),
        numbers={kind: row[0] for kind, row in told.items()}
        | {"first": float(below[0]), "last": float(below[-1])},
    )


def bells(*, gap: float, member: float, non_member: float, fpr: float) -> Picture:
    """Proposition E.1: normal losses of these deviations, the threshold of an FPR, and the advantage by gap."""
    threshold, gaps, grid = (
        gap + non_member * norm.ppf(fpr),
        np.linspace(0, 4, 201),
        np.linspace(-6, 10, 400),
    )
    curve = norm.cdf((norm.ppf(fpr) * non_member + gaps) / member) - fpr
    advantage = float(norm.cdf(threshold / member) - fpr)

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2)
        for role, mean, deviation in (("member", 0.0, member), ("non_member", gap, non_member)):
            density, called = norm.pdf(grid, mean, deviation), grid <= threshold
            left.plot(
                grid,
                density,
                color=COLOR[role],
                linestyle=LINE[role],
                label=role.replace("_", "-") + "s",
            )
            left.fill_between(
                grid[called], density[called], color=COLOR[role], alpha=0.25, linewidth=0
            )
        left.axvline(threshold, color=COLOR["mark"], label="threshold")
        left.set(xlabel="loss, less the members' mean", ylabel="density", ylim=(0, None))
        left.legend(fontsize=9)
        right.plot(gaps, curve, color=COLOR["target"])
        right.plot(gap, advantage, "o", color=COLOR["mark"], markersize=7)
        right.axhline(0, color=COLOR["chance"], linestyle=LINE["chance"])
        right.set(
            xlabel="loss gap",
            ylabel="advantage",
            ylim=(-0.6, 1),
            title=f"advantage {advantage:.2f}",
        )

    return Picture(
        draw,
        alt=f"Left: normal densities of the loss, members with deviation {member:.2f}, non-members {gap:.2f} higher "
        f"with deviation {non_member:.2f}, and the threshold {threshold:.2f}. Right: advantage by gap at an FPR of "
        f"{fpr:.3f}, with a dot at {advantage:.3f}.",
        caption="Left: shaded is what is called a member. Right: the advantage by gap, at these deviations and FPR.",
        size=(8.2, 2.8),
        numbers={"threshold": float(threshold), "advantage": advantage},
    )


def fitted(member: ArrayLike, non_member: ArrayLike) -> Picture:
    """Real losses under the normal densities with their means and deviations; shaded: below 0."""
    groups = {"members": np.asarray(member, float), "non-members": np.asarray(non_member, float)}
    below = {
        name: float(norm.cdf(-values.mean() / values.std())) for name, values in groups.items()
    }

    def draw(figure: FigureBase) -> None:
        for axes, (name, values) in zip(figure.subplots(1, 2), groups.items(), strict=True):
            mean, deviation = values.mean(), values.std()
            bins, grid = (
                np.linspace(0, mean + 3 * deviation, 40),
                mean + deviation * np.linspace(-3, 3, 300),
            )
            density, color = (
                norm.pdf(grid, mean, deviation),
                COLOR["member" if name == "members" else "non_member"],
            )
            weights = np.full(
                len(values), 1 / (len(values) * (bins[1] - bins[0]))
            )  # What lies beyond counts, too.
            axes.hist(
                values,
                bins,
                weights=weights,
                color=color,
                alpha=0.6,
                edgecolor="white",
                linewidth=0.3,
            )
            axes.plot(grid, density, color=COLOR["mark"], linewidth=1.4)
            axes.fill_between(
                grid[grid <= 0], density[grid <= 0], color=COLOR["chance"], alpha=0.4, linewidth=0
            )
            axes.set(xlabel="loss", ylabel="density", title=f"{len(values):,} {name}")

    told = "; ".join(
        f"{name}: mean {v.mean():.2f}, deviation {v.std():.2f}, median {np.median(v):.2f}, {below[name]:.0%} below 0"
        for name, v in groups.items()
    )
    return Picture(
        draw,
        alt=f"Two histograms of the loss, each under the normal density of its mean and deviation. {told}.",
        caption="Losses, and the normal density with the same mean and deviation. Shaded: losses that cannot be.",
        size=(8.2, 2.8),
        numbers={f"below 0, {name}": share for name, share in below.items()},
    )


def _triples(row: Curve) -> np.ndarray:
    """Value, low and high: (3, n)."""
    return np.array(
        [(v.value, v.low, v.high) if isinstance(v, Estimate) else (v, v, v) for v in row], float
    ).T


def _name_blocks(axes: Axes, names: list[str]) -> None:
    """Name the modules' places: the stem (features.0 and 1), the blocks by number, the classifier."""
    groups = [
        ".".join(name.split(".")[:2]).replace("features.1", "features.0") for name in names[:2]
    ]
    groups += [".".join(name.split(".")[:2]) for name in names[2:]]
    starts = [k for k, group in enumerate(groups) if k == 0 or group != groups[k - 1]]
    ends = [*starts[1:], len(names)]
    labels = ["stem", *map(str, range(1, len(starts) - 1)), "linear"]
    axes.set_xticks(
        [(start + end - 1) / 2 for start, end in zip(starts, ends, strict=True)], labels
    )
    axes.tick_params(axis="x", length=0)
    for start in starts[1:]:
        axes.axvline(start - 0.5, color="#cccccc", linewidth=0.8)
    axes.set(xlabel="block, from input to output", xlim=(-0.7, len(names) - 0.3))
    axes.grid(False, axis="x")
