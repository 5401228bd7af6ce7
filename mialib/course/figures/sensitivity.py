"""Where the loss gap's sensitivity lies, and what Proposition E.1 of PAST promises of it.

| function | what it draws |
|---|---|
| `sensitivity_by_module` | each module's share of the total, and the mean of its weights |
| `sensitivity_by_parameter` | every parameter of the last layer (Fig. 12) |
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
from numpy.typing import ArrayLike
from scipy.stats import norm

from mialib.course.plots.palette import COLOR, CURVES, LINE, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.spoken import listed, spoken

# Colour and hatch of each kind of module.
KIND = {
    "convolution": (CURVES[0][0], None),
    "normalisation": (CURVES[1][0], "////"),
    "linear": (CURVES[2][0], ".."),
}
Modules = Mapping[str, Mapping[str, Any]]  # by name: "kind", "size", "mean", "top"


class Lower(NamedTuple):
    """The lower panel: a bar for each module, a dotted line, and their words."""

    bars: np.ndarray
    line: float
    label: str
    caption: str


def sensitivity_by_module(modules: Modules, *, title: str, inside: float | None = None) -> Picture:
    """Each module's share of the sensitivity, and the mean of its weights over that of all.

    A module has its kind, its size, the mean of its sensitivity, and the share of its top 20 %.
    With `inside`, the lower panel has that last share instead, and a line at `inside`.
    """
    kinds = np.array([module["kind"] for module in modules.values()])
    size = np.array([module["size"] for module in modules.values()], float)
    mean = np.array([module["mean"] for module in modules.values()], float)
    total = mean @ size
    share = mean * size / total
    lower = _lower_panel(modules, mean / (total / size.sum()), inside)

    def draw(figure: FigureBase) -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        _draw_bars(above, share, kinds)
        _draw_bars(below, lower.bars, kinds)
        _draw_outline(above, size / size.sum())
        above.set(ylabel="share of the total", title=title, ylim=(0, 0.2))
        below.axhline(lower.line, color=COLOR["mark"], linestyle=LINE["chance"])
        below.set(ylabel=lower.label, ylim=(0, 1))
        if inside is None:
            _use_log_scale(below)
        _name_blocks(below, list(modules))
        legend = above.get_legend_handles_labels()
        figure.legend(*legend, loc="outside upper center", ncols=4)

    totals = {kind: float(share[kinds == kind].sum()) for kind in KIND}
    told = listed(_told_kind(kind, totals[kind], lower.bars[kinds == kind]) for kind in KIND)
    return Picture(
        draw,
        alt=f"{title}. Bars for {len(modules)} modules from input to output. Above: share of the "
        "sensitivity, and a line for the share of the weights. "
        f"Below: {lower.label}, dotted line at {lower.line:.2f}. {told}.",
        caption="Above: each module's share of the total sensitivity; line: of the weights. "
        f"Below: {lower.caption}",
        size=(8.0, 3.8),
        numbers={**totals, "first": float(lower.bars[0]), "last": float(lower.bars[-1])},
    )


def _lower_panel(modules: Modules, density: np.ndarray, inside: float | None) -> Lower:
    if inside is None:
        caption = "the mean sensitivity of its weights over the mean of all."
        return Lower(density, 1, "one weight", caption)
    top = np.array([module["top"] for module in modules.values()], float)
    return Lower(top, inside, "top 20 % inside", "the top 20 % inside it.")


def _told_kind(kind: str, total: float, bars: np.ndarray) -> str:
    if len(bars) == 0:
        return f"{kind}: none"
    return f"{kind}: {total:.0%} of the total, {bars[0]:.2f} first, {bars[-1]:.2f} last"


def _draw_bars(axes: Axes, values: np.ndarray, kinds: np.ndarray) -> None:
    for kind, (color, hatch) in KIND.items():
        places = np.flatnonzero(kinds == kind)
        style = {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axes.bar(places, values[places], label=kind, **style)


def _draw_outline(axes: Axes, shares: np.ndarray) -> None:
    edges = np.arange(len(shares) + 1) - 0.5
    style = {"color": COLOR["mark"], "linewidth": 1}
    axes.stairs(shares, edges, label="share of the weights", **style)


def _use_log_scale(axes: Axes) -> None:
    ticks = (0.2, 1, 5, 20)
    axes.set(yscale="log", ylim=(0.2, 20))
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def _name_blocks(axes: Axes, names: Sequence[str]) -> None:
    """Name the modules' places: the stem, the blocks by number, the classifier."""
    blocks = [_block(name) for name in names]
    starts = [k for k, block in enumerate(blocks) if k == 0 or block != blocks[k - 1]]
    ends = [*starts[1:], len(names)]
    middles = [(start + end - 1) / 2 for start, end in zip(starts, ends, strict=True)]
    numbers = [str(number) for number in range(1, len(starts) - 1)]
    axes.set_xticks(middles, ["stem", *numbers, "linear"])
    axes.tick_params(axis="x", length=0)
    for start in starts[1:]:
        axes.axvline(start - 0.5, color="#cccccc", linewidth=0.8)
    axes.set(xlabel="block, from input to output", xlim=(-0.7, len(names) - 0.3))
    axes.grid(False, axis="x")


def _block(module: str) -> str:
    """The block of a module: features.3.conv1 is in features.3, features.0 and 1 in the stem."""
    block = ".".join(module.split(".")[:2])
    return "features.0" if block == "features.1" else block


def sensitivity_by_parameter(moments: Mapping[str, Sequence[float]]) -> Picture:
    """The sensitivity of each parameter of the last layer, a panel for each moment (Fig. 12)."""
    top = max(max(values) for values in moments.values())

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(moments), sharey=True, squeeze=False)[0]
        for axes, (name, values) in zip(panels, moments.items(), strict=True):
            places = np.arange(len(values))
            axes.vlines(places, 0, values, color=COLOR["target"], linewidth=0.7)
            axes.set(title=name, xlabel="parameter", ylim=(0, top * 1.05))
        panels[0].set_ylabel("sensitivity |∂G/∂w|")

    means = {name: float(np.mean(values)) for name, values in moments.items()}
    return Picture(
        draw,
        alt="Spikes, one for each parameter of the last layer, height its sensitivity. "
        f"Means: {spoken(means, '.4f')}.",
        caption="Sensitivity of each parameter of the last layer, on one scale.",
        size=(8.4, 2.6),
        numbers={f"mean {name}": mean for name, mean in means.items()},
    )


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
        right.set_title(f"advantage {advantage:z.2f}")

    return Picture(
        draw,
        alt=f"Left: normal densities of the loss, members with deviation {member:.2f}, non-members "
        f"{gap:.2f} higher with deviation {non_member:.2f}, and the threshold {threshold:z.2f}. "
        f"Right: advantage by gap at an FPR of {fpr:.3f}, with a dot at {advantage:z.3f}.",
        caption="Left: shaded is what is called a member. Right: the advantage by gap, at these "
        "deviations and FPR.",
        size=(8.2, 2.8),
        numbers={"threshold": threshold, "advantage": advantage},
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
