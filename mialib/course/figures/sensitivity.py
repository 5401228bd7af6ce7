"""Where the loss gap's sensitivity lies, and what Proposition E.1 of PAST promises of it.

| function | what it draws |
|---|---|
| `sensitivity_by_depth` | how sensitive weights are, block by block (Fig. 10, 13b) |
| `sensitivity_by_index` | one layer's weights in a row, at several moments (Fig. 12) |
| `sensitivity_histograms` | how one layer's sensitivity is distributed (Fig. 13a) |
| `batch_spread` | what single batches gave, a dot each |
| `gap_paths` | the way of a model in the plane of gap and advantage (Fig. 1a, 11) |
| `two_normals` | Proposition E.1: two normal losses, a threshold, the advantage by gap |
| `fitted_normals` | real losses under the normal densities of their mean and deviation |

>>> picture = two_normals(gap=1.0, member=1.0, non_member=1.0, fpr=0.5)
>>> round(picture.numbers["advantage"], 4)
0.3413
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from scipy.stats import norm

from mialib.course.plots.palette import COLOR, COLORS, CURVES, LINE, MARKERS, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import joint_legend, name_rows
from mialib.course.plots.spoken import listed, spoken, with_minus_signs

# Colour and marker of each kind of module.
KIND = {
    "convolution": (COLORS[0], MARKERS[0]),
    "normalisation": (COLORS[1], MARKERS[1]),
    "linear": (COLORS[2], MARKERS[2]),
}
Modules = Mapping[str, Mapping[str, Any]]  # by name: "kind", "size", "mean", "top"
FIRST_BLOCK = 3  # of a network's `features`: what comes before is the stem
LARGE = 300  # A fifth of fewer weights is too few to speak of their share.
TOP = 0.2  # the share of the weights that the paper calls the top
TINY = 1e-12


class Place(NamedTuple):
    """One kind of module in one block: all their weights together."""

    kind: str
    block: str


class Reach(NamedTuple):
    """The mean over trainings, the lowest and the highest."""

    mean: float
    low: float
    high: float


def sensitivity_by_depth(
    trainings: Sequence[Modules], *, title: str, chance: float | None = None
) -> Picture:
    """How sensitive a weight is by the depth of its module, and how unequal weights are inside.

    Each training has its modules; a module has its kind, its size, the mean sensitivity of its
    weights, and the share that the top 20 % of them carry. `chance` is what they carry of normal
    numbers: a dotted line. Bars reach from the lowest training to the highest.
    """
    density = _over_trainings([_relative_means(modules) for modules in trainings])
    inside = _over_trainings([_top_shares(modules) for modules in trainings])
    blocks = list(dict.fromkeys(_block(name) for name in trainings[0]))

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(4, 3))
        _draw_places(left, density, blocks)
        _use_log_scale(left)
        left.axhline(1, color=COLOR["mark"], linestyle=LINE["chance"])
        left.set(title="a weight's mean sensitivity, all weights = 1")
        _draw_places(right, inside, blocks)
        right.set(title="carried by a module's top 20 %", ylim=(0.2, 1))
        if chance is not None:
            right.axhline(chance, color=COLOR["mark"], linestyle=LINE["chance"])
        handles = left.get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=3, title=title)

    dotted = "" if chance is None else f" Dotted, right: {chance:.2f}, as of normal numbers."
    numbers = {" ".join(place): reach.mean for place, reach in density.items()}
    shares = [reach.mean for reach in inside.values()] or [float("nan")]
    return Picture(
        draw,
        alt=f"{title}. Two panels by block from input to output, {len(trainings)} trainings. "
        f"Left, a weight's mean sensitivity over that of all weights: {spoken(numbers)}. "
        f"Right, what the top 20 % carry inside a module: {_told_inside(inside)}.{dotted}",
        caption=f"Means over {len(trainings)} trainings; bars from the lowest to the highest. "
        "Left: how sensitive a weight is, by its place. "
        "Right: how unequal weights are in one module.",
        size=(8.2, 3.3),
        numbers={**numbers, "inside, lowest": min(shares), "inside, highest": max(shares)},
        steady=("sensitivity_by_depth", *blocks),
    )


def _relative_means(modules: Modules) -> dict[Place, float]:
    """The mean of the weights of each place, over the mean of all."""
    total = sum(module["mean"] * module["size"] for module in modules.values())
    size = sum(module["size"] for module in modules.values())
    means = _by_place(modules, "mean")
    return {place: mean / (total / size) for place, mean in means.items()}


def _top_shares(modules: Modules) -> dict[Place, float]:
    large = {name: module for name, module in modules.items() if module["size"] >= LARGE}
    return _by_place(large, "top")


def _by_place(modules: Modules, what: str) -> dict[Place, float]:
    """A number of the modules of each place: its mean, each module as heavy as it has weights."""
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for name, module in modules.items():
        found.setdefault(Place(module["kind"], _block(name)), []).append(module)
    return {
        place: float(np.average([one[what] for one in some], weights=[one["size"] for one in some]))
        for place, some in found.items()
    }


def _over_trainings(trainings: Sequence[dict[Place, float]]) -> dict[Place, Reach]:
    reaches = {}
    for place in trainings[0]:
        values = [one[place] for one in trainings]
        reaches[place] = Reach(float(np.mean(values)), min(values), max(values))
    return reaches


def _told_inside(inside: dict[Place, Reach]) -> str:
    if not inside:
        return f"no module has {LARGE} weights"
    return spoken({" ".join(place): reach.mean for place, reach in inside.items()})


def _draw_places(axes: Axes, places: dict[Place, Reach], blocks: Sequence[str]) -> None:
    for kind, (color, marker) in KIND.items():
        there = {place: reach for place, reach in places.items() if place.kind == kind}
        if not there:
            continue
        x = [blocks.index(place.block) for place in there]
        mean, low, high = np.array(list(there.values())).T
        style = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.2}
        axes.errorbar(x, mean, yerr=[mean - low, high - mean], capsize=2, label=kind, **style)
    axes.set_xticks(range(len(blocks)), blocks)
    axes.set(xlabel="block, from input to output", xlim=(-0.5, len(blocks) - 0.5))


def _use_log_scale(axes: Axes) -> None:
    ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
    axes.set(yscale="log", ylim=(0.1, 30))
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def _block(module: str) -> str:
    """The block of a module of ResNet-20: features.0 to 2 are its stem, features.3 is block 1.

    >>> _block("features.3.conv1"), _block("classify")
    ('1', 'linear')
    """
    if "." not in module:
        return "linear"
    number = int(module.split(".")[1])
    return "stem" if number < FIRST_BLOCK else str(number - FIRST_BLOCK + 1)


def sensitivity_by_index(moments: Mapping[str, Sequence[float]]) -> Picture:
    """A layer's weights in a row, a panel for each moment: how sensitive each of them is.

    The top 20 % of the first moment are marked in all panels, so one sees whether they stay.
    """
    rows = {title: np.asarray(values, float) for title, values in moments.items()}
    first = next(iter(rows.values()))
    was_top = first >= np.sort(first)[-max(1, round(TOP * len(first)))]

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
        for axes, (title, values) in zip(grid, rows.items(), strict=True):
            for chosen, role, name in (
                (~was_top, "chance", "other weights"),
                (was_top, "non_member", f"top 20 % of {next(iter(rows))}"),
            ):
                style = {"color": COLOR[role], "linewidth": 0.7, "label": name}
                axes.vlines(np.flatnonzero(chosen), 0, values[chosen], **style)
            axes.set(title=title, xlabel="weight")
            axes.set_ylim(bottom=0)
        grid[0].set_ylabel("sensitivity")
        joint_legend(figure, list(grid), columns=2)

    means = {title: float(values.mean()) for title, values in rows.items()}
    kept = {
        title: float(values[was_top].sum() / max(values.sum(), TINY))
        for title, values in rows.items()
    }
    return Picture(
        draw,
        alt=f"{len(rows)} panels of bars, the sensitivity of each of {len(first)} weights. "
        f"Mean: {spoken(means, '.3g')}. Carried by the top 20 % of the first panel: "
        f"{spoken(kept, '.0%')}.",
        caption="One training, one layer. Marked: the weights that were among the top 20 % in the "
        "first panel.",
        size=(8.2, 2.9),
        numbers={f"mean, {title}": value for title, value in means.items()}
        | {f"carried, {title}": value for title, value in kept.items()},
    )


def sensitivity_histograms(values: Mapping[str, Sequence[float]]) -> Picture:
    """Outlined histograms of one layer's sensitivity, with the means as vertical lines."""
    arrays = {name: np.asarray(some, float) for name, some in values.items()}
    # The few largest would stretch the axis: what lies beyond counts in the last bin.
    end = max(float(np.quantile(some, 0.995)) for some in arrays.values())
    bins = np.linspace(0, end, 40)

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, some) in enumerate(arrays.items()):
            color, line = CURVES[place]
            counts, _ = np.histogram(some.clip(max=end), bins)
            share = np.where(counts > 0, counts / len(some), np.nan)  # 0 has no logarithm.
            style = {"color": color, "linestyle": line, "label": name, "linewidth": 1.5}
            axes.stairs(share, bins, baseline=None, **style)
            axes.axvline(some.mean(), color=color, linestyle=line, linewidth=1)
        axes.set(yscale="log", xlabel="sensitivity", ylabel="share of the weights")
        axes.minorticks_off()
        axes.legend(loc="upper right")

    means = {name: float(some.mean()) for name, some in arrays.items()}
    return Picture(
        draw,
        alt="Outlined histograms of the sensitivity of one layer's weights on a logarithmic axis, "
        f"a vertical line at each mean. Means: {spoken(means, '.3g')}.",
        caption="One layer's weights, all trainings together. Vertical lines: means "
        f"({spoken(means, '.3g')}). The last bin holds all that lies beyond.",
        size=(6.4, 3.0),
        numbers={f"mean, {name}": value for name, value in means.items()},
    )


def batch_spread(
    panels: Mapping[str, Mapping[str, Sequence[float]]], lines: Mapping[str, tuple[str, float]]
) -> Picture:
    """What single batches gave, a dot each: rows by name in panels by title.

    `lines` has for each title what its dotted line stands for, and where it stands.
    """

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, rows) in zip(grid, panels.items(), strict=True):
            _draw_dots(axes, rows)
            named, place = lines[title]
            axes.axvline(place, color=COLOR["mark"], linestyle=LINE["chance"])
            axes.set(title=title, xlim=(0, 1), xlabel=f"share (dotted: {named}, {place:.2f})")
        name_rows(grid[0], list(next(iter(panels.values()))))

    numbers = {
        f"{title}, {name}": float(np.mean(values))
        for title, rows in panels.items()
        for name, values in rows.items()
    }
    told = listed(
        f"{title}, {name}: {min(values):.2f} to {max(values):.2f}"
        for title, rows in panels.items()
        for name, values in rows.items()
    )
    return Picture(
        draw,
        alt=f"{len(panels)} panels of dots, a dot for each batch, share along the axis. {told}.",
        caption="One dot for each batch; its height in a row means nothing.",
        size=(8.2, 1.2 + 0.5 * len(next(iter(panels.values())))),
        numbers=numbers,
    )


def _draw_dots(axes: Axes, rows: Mapping[str, Sequence[float]]) -> None:
    for place, (color, values) in enumerate(zip(COLORS, rows.values(), strict=False)):
        heights = place + 0.25 * np.sin(2.4 * np.arange(len(values)))  # Dots shall not hide dots.
        style = {"color": color, "alpha": 0.7, "markersize": 5, "linestyle": "none"}
        axes.plot(values, heights, MARKERS[place], **style)


def gap_paths(paths: Mapping[str, Sequence[tuple[float, float]]]) -> Picture:
    """The way of a model in the plane of loss gap and advantage, a small dot for every epoch.

    Each path has a panel and its points (gap, advantage) in the order of epochs; a ring is its
    start, a large dot its end. The first path is black, as that of training.
    """
    arrays = {name: np.array(points, float) for name, points in paths.items()}

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(1, len(arrays), sharex=True, sharey=True, squeeze=False)[0]
        colors = (COLOR["mark"], *COLORS)
        for axes, color, (name, points) in zip(grid, colors, arrays.items(), strict=False):
            _draw_path(axes, points, color)
            axes.set(title=name, xlabel="loss gap")
        grid[0].set_ylabel("highest advantage")

    told = listed(_told_path(name, points) for name, points in arrays.items())
    return Picture(
        draw,
        alt=f"Paths in the plane of loss gap, along, and highest advantage, up. {told}.",
        caption="A small dot for every epoch; ring: the start of a path, large dot: its end.",
        size=(8.2, 2.9),
        numbers={f"largest gap, {name}": float(gap[:, 0].max()) for name, gap in arrays.items()},
    )


def _draw_path(axes: Axes, points: np.ndarray, color: str) -> None:
    gaps, advantages = points.T
    axes.plot(gaps, advantages, color=color, marker=".", markersize=6, linewidth=1)
    axes.plot(gaps[0], advantages[0], "o", color=COLOR["mark"], markersize=9, fillstyle="none")
    axes.plot(gaps[-1], advantages[-1], "o", color=color, markersize=9)


def _told_path(name: str, points: np.ndarray) -> str:
    """Where a path begins, turns and ends."""
    widest = points[points[:, 0].argmax()]
    lowest = points[points[:, 1].argmin()]
    places = {"from": points[0], "largest gap": widest, "least": lowest, "to": points[-1]}
    course = ", ".join(f"{word} ({gap:z.2f}, {up:z.2f})" for word, (gap, up) in places.items())
    return f"{name}: {course}"


def two_normals(*, gap: float, member: float, non_member: float, fpr: float) -> Picture:
    """Proposition E.1: normal losses, the threshold of an FPR, and the advantage by gap.

    `member` and `non_member` are the deviations of the losses; the members' mean is 0.
    """
    threshold = float(gap + non_member * norm.ppf(fpr))
    advantage = float(norm.cdf(threshold / member) - fpr)
    normals = {"member": norm(0.0, member), "non_member": norm(gap, non_member)}

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2)
        for role, normal in normals.items():
            _draw_called(left, role, normal, threshold)
        left.axvline(threshold, color=COLOR["mark"], label="threshold")
        left.set(xlabel="loss, less the members' mean", ylabel="density", ylim=(0, None))
        left.legend(fontsize=9)
        gaps = np.linspace(0, 4, 201)
        _draw_by_gap(right, gaps, norm.cdf((norm.ppf(fpr) * non_member + gaps) / member) - fpr)
        right.plot(gap, advantage, "o", color=COLOR["mark"], markersize=7)
        right.set_title(with_minus_signs(f"advantage {advantage:z.2f}"))

    return Picture(
        draw,
        alt=f"Left: normal densities of the loss, members with deviation {member:.2f}, non-members "
        f"{gap:.2f} higher with deviation {non_member:.2f}, and the threshold {threshold:z.2f}. "
        f"Right: advantage by gap at an FPR of {fpr:.3f}, with a dot at {advantage:z.3f}.",
        caption="Left: shaded is what is called a member. Right: the advantage by gap, at these "
        "deviations and FPR.",
        size=(8.2, 2.8),
        numbers={"threshold": threshold, "advantage": advantage},
        steady="two_normals",
    )


def _draw_called(axes: Axes, role: str, normal: Any, threshold: float) -> None:
    """A density; shaded is what lies below the threshold."""
    grid = np.linspace(-6, 10, 400)
    density = normal.pdf(grid)
    called = grid <= threshold
    axes.plot(grid, density, color=COLOR[role], linestyle=LINE[role], label=group(role))
    axes.fill_between(grid[called], density[called], color=COLOR[role], alpha=0.25, linewidth=0)


def _draw_by_gap(axes: Axes, gaps: np.ndarray, advantage: np.ndarray) -> None:
    axes.plot(gaps, advantage, color=COLOR["target"])
    axes.axhline(0, color=COLOR["chance"], linestyle=LINE["chance"])
    axes.set(xlabel="loss gap", ylabel="advantage", ylim=(-0.6, 1))


def fitted_normals(member: ArrayLike, non_member: ArrayLike) -> Picture:
    """Real losses under the normal densities with their means and deviations; shaded: below 0."""
    losses = {"member": np.asarray(member, float), "non_member": np.asarray(non_member, float)}
    below = {role: float(norm.cdf(-loss.mean() / loss.std())) for role, loss in losses.items()}

    def draw(figure: FigureBase) -> None:
        for axes, (role, loss) in zip(figure.subplots(1, 2), losses.items(), strict=True):
            _draw_fit(axes, loss, COLOR[role])
            axes.set_title(f"{len(loss):,} {group(role)}")

    told = listed(
        f"{group(role)}: mean {loss.mean():.2f}, deviation {loss.std():.2f}, "
        f"median {np.median(loss):.2f}, {below[role]:.0%} below 0"
        for role, loss in losses.items()
    )
    return Picture(
        draw,
        alt="Two histograms of the loss, each under the normal density of its mean and deviation. "
        f"{told}.",
        caption="Losses, and the normal density with the same mean and deviation. Shaded: losses "
        "that cannot be.",
        size=(8.2, 2.8),
        numbers={f"below 0, {group(role)}": share for role, share in below.items()},
    )


def _draw_fit(axes: Axes, loss: np.ndarray, color: str) -> None:
    mean = loss.mean()
    deviation = loss.std()
    bins = np.linspace(0, mean + 3 * deviation, 40)
    # A density over all losses: those beyond the last bin count, too.
    weights = np.full(len(loss), 1 / (len(loss) * (bins[1] - bins[0])))
    style = {"color": color, "alpha": 0.6, "edgecolor": "white", "linewidth": 0.3}
    axes.hist(loss, bins, weights=weights, **style)
    grid = mean + deviation * np.linspace(-3, 3, 300)
    density = norm.pdf(grid, mean, deviation)
    axes.plot(grid, density, color=COLOR["mark"], linewidth=1.4)
    shade = {"color": COLOR["chance"], "alpha": 0.4, "linewidth": 0}
    axes.fill_between(grid[grid <= 0], density[grid <= 0], **shade)
    axes.set(xlabel="loss", ylabel="density")
    axes.xaxis.set_major_locator(MaxNLocator(4))
