"""Butterfly layers: a product of sparse matrices, and a network's parameters before and after.

>>> picture = matrix_product({"X": np.eye(2), "W": np.ones((2, 2))})
>>> picture.numbers
{'X entries': 2.0, 'W entries': 4.0}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import write_beside
from mialib.course.plots.spoken import listed

# From negative over zero to positive.
SIGNS = LinearSegmentedColormap.from_list("signs", ["#E69F00", "white", COLOR["mark"]])


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
            axes.set_title(f"= {name}" if name == last else name, loc="center")
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
        "many entries differ from 0 (black: positive, orange: negative).",
        size=(9.0, height or 8.4 * tallest + 0.75),
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
        size=(8.6, 3.1),
        numbers={"remaining": counted[at - 1], "parameters": float(sum(sparse))},
    )


def _draw_layers(axes: Axes, dense: Sequence[int], sparse: Sequence[int]) -> None:
    places = np.arange(1, len(dense) + 1)
    pale = {"color": "#dddddd", "edgecolor": "#999999", "hatch": "///", "linewidth": 0.5}
    axes.bar(places, dense, label="dense", **pale)
    axes.bar(places, sparse, color=COLOR["target"], width=0.5, label="now")
    axes.set(yscale="log", ylim=(200, 90_000))
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
