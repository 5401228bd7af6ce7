"""Butterfly layers, after the sparsity paper and the deformable butterfly.

| function | what it draws |
|---|---|
| `labelled_factor` | one sparse factor, with its k, r, s and t |
| `matrix_product` | a matrix as a product of sparse ones (Fig. 3) |
| `network_parameters` | a network's parameters before and after (Table 1) |
| `matched_trainings` | every training of each setting, beside those of its match |

>>> picture = matrix_product({"X": np.eye(2), "W": np.ones((2, 2))})
>>> picture.numbers
{'X entries': 2.0, 'W entries': 4.0}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import FigureBase
from matplotlib.patches import Rectangle

from mialib.course.plots.palette import COLOR, LINE, look_of
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import name_rows, write_beside
from mialib.course.plots.spoken import capital, in_one_line, listed
from mialib.sparsity.chains import Factor

Place = tuple[float, float]

# From negative over zero to positive.
SIGNS = LinearSegmentedColormap.from_list("signs", ["#E69F00", "white", COLOR["mark"]])


def labelled_factor(factor: Factor) -> Picture:
    """One factor of a chain: its k blocks, and in the first of them r, s and t."""
    k = factor.blocks
    entries = factor.rows * factor.s

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        _draw_entries(axes, factor)
        _draw_sizes(axes, factor)
        axes.set(xlim=(-5.5, factor.columns + 6.5), ylim=(factor.rows + 2.2, -5.2))
        axes.set_aspect("equal")
        axes.set_axis_off()

    sizes = {"k": k, "r": factor.r, "s": factor.s, "t": factor.t}
    told = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return Picture(
        draw,
        alt=f"A {factor.rows} × {factor.columns} matrix with {k} framed blocks along its diagonal. "
        f"Each block is a grid of {factor.r} × {factor.s} small squares, and each square has "
        f"{factor.t} entries along its diagonal. Brackets say {told}.",
        caption=f"A factor with {told}: {entries} entries may differ from 0 (filled). Frames: "
        "blocks; thin lines: the grid in a block; orange: one diagonal matrix of the grid.",
        size=(7.4, 4.5),
        numbers={**{name: float(size) for name, size in sizes.items()}, "entries": float(entries)},
    )


def _draw_entries(axes: Axes, factor: Factor) -> None:
    """The entries as filled squares, the first diagonal in orange; blocks and grids around them."""
    for row, column in np.argwhere(factor.support()):
        is_first = max(row, column) < factor.t
        color = "#E69F00" if is_first else COLOR["mark"]
        axes.add_patch(Rectangle((column, row), 1, 1, color=color, linewidth=0))
    high = factor.r * factor.t
    wide = factor.s * factor.t
    for block in range(factor.blocks):
        left, top = block * wide, block * high
        for line in range(1, factor.s):
            axes.vlines(left + line * factor.t, top, top + high, color="#999999", linewidth=0.8)
        for line in range(1, factor.r):
            axes.hlines(top + line * factor.t, left, left + wide, color="#999999", linewidth=0.8)
        frame = {"edgecolor": COLOR["member"], "linewidth": 1.8, "fill": False}
        axes.add_patch(Rectangle((left, top), wide, high, **frame))
    whole = {"edgecolor": "#999999", "linewidth": 0.8, "fill": False}
    axes.add_patch(Rectangle((0, 0), factor.columns, factor.rows, **whole))


def _draw_sizes(axes: Axes, factor: Factor) -> None:
    """Brackets: t and s above the first block, r at its left, k at the right of all."""
    high = factor.r * factor.t
    wide = factor.s * factor.t
    right = factor.columns + 0.8
    _draw_bracket(axes, (0, -0.8), (factor.t, -0.8), f"t = {factor.t}")
    _draw_bracket(axes, (0, -3.2), (wide, -3.2), f"s = {factor.s} diagonals across")
    _draw_bracket(axes, (-0.8, 0), (-0.8, high), f"r = {factor.r}\ndiagonals\ndown")
    _draw_bracket(axes, (right, 0), (right, factor.rows), f"k = {factor.blocks}\nblocks")
    size = f"k·r·t = {factor.rows} rows, k·s·t = {factor.columns} columns"
    style = {"ha": "center", "va": "top", "fontsize": 10}
    axes.text(factor.columns / 2, factor.rows + 0.7, size, **style)


def _draw_bracket(axes: Axes, start: Place, end: Place, text: str) -> None:
    """A bracket from start to end, with its text above, or at the side that it has."""
    style = {"arrowstyle": "|-|, widthA=0.3, widthB=0.3", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops={**style, "color": COLOR["mark"]})
    x = (start[0] + end[0]) / 2
    y = (start[1] + end[1]) / 2
    if start[1] == end[1]:
        axes.text(x, y - 0.5, text, ha="center", va="bottom", fontsize=10)
    elif x < 0:
        axes.text(x - 0.5, y, text, ha="right", va="center", fontsize=10)
    else:
        axes.text(x + 0.5, y, text, ha="left", va="center", fontsize=10)


def matrix_product(
    panels: Mapping[str, np.ndarray], *, grid: int = 0, title: str = "", height: float = 0.0
) -> Picture:
    """Matrices side by side, the last the product of the others.

    Blue lines stand after every `grid` columns in matrices as wide as the product; `height` is in
    inches, and 0 takes what the matrices need.
    """
    entries = {name: _count_entries(matrix) for name, matrix in panels.items()}
    *factors, last = panels
    widths = [max(matrix.shape[1], 6) for matrix in panels.values()]

    def draw(figure: FigureBase) -> None:
        row = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
        for axes, (name, matrix) in zip(row, panels.items(), strict=True):
            is_ruled = grid > 0 and matrix.shape[1] == panels[last].shape[1]
            _draw_matrix(axes, matrix, grid if is_ruled else 0)
            axes.set_title(f"= {name}" if name == last else name, loc="center", fontsize=13)
            size = f"{matrix.shape[0]}×{matrix.shape[1]}"
            axes.set_xlabel(f"{size}: {entries[name]:,}", fontsize=9)
        if title:
            figure.suptitle(title, fontsize=10)

    told = listed(
        f"{name}, {matrix.shape[0]}×{matrix.shape[1]}, with {entries[name]}"
        for name, matrix in panels.items()
    )
    tallest = max(len(matrix) for matrix in panels.values()) / sum(widths)
    alt = f"entries that may differ from zero in black or orange: {told}. {title}"
    return Picture(
        draw,
        alt=f"A row of matrices, {alt}".strip(),
        caption=f"{last} as a product of {len(factors)} factors. Below each: its size, and how "
        "many entries differ from 0 (black: positive, orange: negative)."
        + (f" Pale ones are near 0; blue lines stand after every {grid} columns." if grid else ""),
        size=(8.2, height or 7.6 * tallest + 0.8),
        numbers={f"{name} entries": float(count) for name, count in entries.items()},
    )


def _count_entries(matrix: np.ndarray) -> int:
    """How many entries differ from zero by more than rounding."""
    return int(np.count_nonzero(np.abs(matrix) > 1e-9))


def _draw_matrix(axes: Axes, matrix: np.ndarray, grid: int) -> None:
    """Coloured entries in a frame, with a line after every `grid` columns unless that is 0."""
    rows, columns = matrix.shape
    most = np.abs(matrix).max()
    axes.imshow(matrix, cmap=SIGNS, vmin=-most, vmax=most, interpolation="nearest")
    ends = np.arange(grid, columns, grid) - 0.5 if grid else []
    axes.vlines(ends, -0.5, rows - 0.5, color=COLOR["member"], linewidth=0.8)
    axes.set(xticks=[], yticks=[], xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.grid(False)
    for side in axes.spines.values():
        side.set(visible=True, color="#999999")


def network_parameters(
    dense: Sequence[int],
    sparse: Sequence[int],
    percent: Mapping[str, Sequence[float]],
    *,
    at: int,
    title: str,
) -> Picture:
    """Parameters of each layer before and after, and the percentage that remains by S.

    `percent` has a series for S = 1, 2, …, first the counted one; S = `at` is ringed.
    """
    counted, *_ = percent.values()

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
        _draw_layers(left, dense, sparse)
        left.set_title(title)
        _draw_percent(right, percent)
        ring = {"color": COLOR["mark"], "markersize": 14, "fillstyle": "none"}
        right.plot(at, counted[at - 1], "o", **ring)

    told = listed(
        f"{name}: " + ", ".join(f"{value:.1f}" for value in values)
        for name, values in percent.items()
    )
    return Picture(
        draw,
        alt=f"Bars of the parameters of {len(dense)} convolutions, dense and now ({title}), on a "
        "logarithmic axis; dots of the percentage that remains by S = 1, 2, 3. "
        f"{told}.",
        caption=f"{title}: {sum(sparse):,} parameters in the convolutions instead of "
        f"{sum(dense):,}; the whole network keeps {counted[at - 1]:.2f} % of its parameters "
        "(ringed).",
        size=(8.2, 3.1),
        numbers={"remaining": counted[at - 1], "parameters": float(sum(sparse))},
    )


def _draw_layers(axes: Axes, dense: Sequence[int], sparse: Sequence[int]) -> None:
    places = np.arange(1, len(dense) + 1)
    pale = {"color": "#dddddd", "edgecolor": "#999999", "hatch": "///", "linewidth": 0.5}
    axes.bar(places, dense, label="dense", **pale)
    axes.bar(places, sparse, color=COLOR["target"], width=0.5, label="now")
    axes.set(yscale="log", ylim=(200, 90_000))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlabel="3×3 convolution, from the input on", ylabel="parameters")
    axes.minorticks_off()
    axes.set_xticks(places[::3])
    axes.legend(loc="upper left", ncols=2)


def _draw_percent(axes: Axes, percent: Mapping[str, Sequence[float]]) -> None:
    """Dots by S, and beside each the numbers of all series."""
    counted, *_ = percent.values()
    segments = range(1, len(counted) + 1)
    styles = (("target", "o"), ("mark", "x"))
    for (name, values), (role, marker) in zip(percent.items(), styles, strict=False):
        axes.plot(segments, values, marker, color=COLOR[role], markersize=7, label=name)
    by_segments = zip(*percent.values(), strict=True)
    texts = [" / ".join(f"{value:.1f}" for value in values) for values in by_segments]
    at = zip(segments, counted, strict=True)
    write_beside(axes, texts, at, offset=(6, 7), fontsize=9)
    top = 40 if max(counted) < 40 else 120
    axes.set(xlim=(0.6, len(counted) + 0.9), ylim=(0, top))
    axes.set(xlabel="segments S", ylabel="remaining, %")
    axes.set_xticks(segments)
    axes.legend(loc="upper right")


def matched_trainings(
    rows: Mapping[str, Mapping[str, Sequence[float]]], *, label: str, dotted: float
) -> Picture:
    """A row for each setting: every training of its arms as a marker, their mean as a bar.

    With three trainings an interval says less than the three. A dotted line stands at `dotted`,
    the mean of the network that all rows are compared with.
    """
    arms = list(dict.fromkeys(arm for row in rows.values() for arm in row))
    means = {
        f"{name}, {arm}": float(np.mean(values))
        for name, row in rows.items()
        for arm, values in row.items()
    }

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, arm in enumerate(arms):
            _draw_arm(axes, [row.get(arm, ()) for row in rows.values()], arm, place, len(arms))
        axes.axvline(dotted, color=COLOR["chance"], linestyle=LINE["chance"], zorder=0)
        axes.set_xlabel(label)
        axes.grid(axis="y", visible=False)
        name_rows(axes, list(rows))
        figure.legend(loc="outside upper center", ncols=len(arms))

    told = listed(f"{in_one_line(name)} {mean:z.2f}" for name, mean in means.items())
    return Picture(
        draw,
        alt=f"Markers in rows, {label} along the axis, a dotted line at {dotted:z.2f}. "
        f"Means: {told}.",
        caption=f"{capital(label)}: a marker for each training, a bar at their mean; dotted: the "
        "mean of the dense network.",
        size=(7.6, 0.9 + 0.62 * len(rows)),
        numbers=means | {"dotted": dotted},
    )


def _draw_arm(
    axes: Axes, by_row: Sequence[Sequence[float]], name: str, place: int, count: int
) -> None:
    """The arm at `place` among `count`: a little above or below the middle of its rows."""
    shift = 0.3 * (place - (count - 1) / 2)
    color, marker = look_of(name, place)
    style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none"}
    for row, values in enumerate(by_row):
        if len(values) == 0:
            continue
        y = row + shift
        axes.plot(values, [y] * len(values), **style, alpha=0.75, label=name if row == 0 else None)
        axes.vlines(np.mean(values), y - 0.14, y + 0.14, color=color, linewidth=2.5)
