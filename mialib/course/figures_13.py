"""Figures of lesson 13: a product of sparse matrices, and a network's parameters before and after.

>>> picture = product({"X": np.eye(2), "W": np.ones((2, 2))})
>>> picture.numbers
{'X entries': 2.0, 'W entries': 4.0}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import FigureBase

from mialib.course.plots import COLOR, Picture

SIGNS = LinearSegmentedColormap.from_list(
    "signs", ["#E69F00", "white", COLOR["mark"]]
)  # negative, zero, positive


def product(
    panels: dict[str, np.ndarray], *, grid: int = 0, title: str = "", height: float = 0.0
) -> Picture:
    """Matrices side by side, the last the product of the others; blue lines after every `grid` of its columns."""
    entries = {name: np.count_nonzero(np.abs(matrix) > 1e-9) for name, matrix in panels.items()}
    *factors, last = panels
    widths = [max(matrix.shape[1], 6) for matrix in panels.values()]

    def draw(figure: FigureBase) -> None:
        row = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
        for place, (axes, (name, matrix)) in enumerate(zip(row, panels.items(), strict=True)):
            most = np.abs(matrix).max()
            axes.imshow(matrix, cmap=SIGNS, vmin=-most, vmax=most, interpolation="nearest")
            ruled = grid and matrix.shape[1] == panels[last].shape[1]
            lines = np.arange(grid, matrix.shape[1], grid) - 0.5 if ruled else ()
            axes.vlines(lines, -0.5, len(matrix) - 0.5, color=COLOR["member"], linewidth=0.8)
            axes.set(
                xticks=[],
                yticks=[],
                xlim=(-0.5, matrix.shape[1] - 0.5),
                ylim=(len(matrix) - 0.5, -0.5),
            )
            axes.set_title(f"{'= ' * (place == len(factors))}{name}", loc="center")
            axes.set_xlabel(f"{len(matrix)}×{matrix.shape[1]}: {entries[name]:,}", fontsize=9)
            axes.grid(False)
            for side in axes.spines.values():
                side.set(visible=True, color="#999999")
        if title:
            figure.suptitle(title, fontsize=10)

    listed = "; ".join(
        f"{name}, {len(matrix)}×{matrix.shape[1]}, with {entries[name]}"
        for name, matrix in panels.items()
    )
    tall = max(len(matrix) for matrix in panels.values()) / sum(widths)
    return Picture(
        draw,
        alt=f"A row of matrices, entries that may differ from zero in black or orange: {listed}. {title}".strip(),
        caption=f"{last} as a product of {len(factors)} factors; below each its size, and how many entries differ from "
        "0 (black: above, orange: below).",
        size=(9.0, height or 8.4 * tall + 0.75),
        numbers={f"{name} entries": float(count) for name, count in entries.items()},
    )


def network(
    dense: Sequence[int],
    sparse: Sequence[int],
    percent: dict[str, Sequence[float]],
    *,
    at: int,
    title: str,
) -> Picture:
    """Parameters of each layer before and after, and the percentage that remains by S = 1, 2, …; S = `at` is ringed."""
    mine, *_ = percent.values()

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
        place = np.arange(1, len(dense) + 1)
        left.bar(
            place,
            dense,
            color="#dddddd",
            edgecolor="#999999",
            hatch="///",
            linewidth=0.5,
            label="dense",
        )
        left.bar(place, sparse, color=COLOR["target"], width=0.5, label="now")
        left.set(
            yscale="log",
            ylim=(200, 90_000),
            xlabel="3×3 convolution, from the input on",
            ylabel="parameters",
        )
        left.set_title(title)
        left.minorticks_off()
        left.set_xticks(place[::3])
        left.legend(loc="upper left", ncols=2)
        styles = (("target", "o"), ("mark", "x"))
        for (name, values), (role, marker) in zip(percent.items(), styles, strict=False):
            right.plot(
                range(1, len(values) + 1),
                values,
                marker,
                color=COLOR[role],
                markersize=7,
                label=name,
            )
        right.plot(at, mine[at - 1], "o", color=COLOR["mark"], markersize=14, fillstyle="none")
        for place, values in enumerate(zip(*percent.values(), strict=True), start=1):
            text = " / ".join(f"{value:.1f}" for value in values)
            right.annotate(
                text, (place, values[0]), xytext=(6, 7), textcoords="offset points", fontsize=9
            )
        top = 40 if max(mine) < 40 else 120
        right.set(
            xlim=(0.6, len(mine) + 0.9), ylim=(0, top), xlabel="segments S", ylabel="remaining, %"
        )
        right.set_xticks(range(1, len(mine) + 1))
        right.legend(loc="upper right")

    told = "; ".join(
        f"{name}: " + ", ".join(f"{value:.1f}" for value in values)
        for name, values in percent.items()
    )
    return Picture(
        draw,
        alt=f"Bars of the parameters of {len(dense)} convolutions, dense and now ({title}), on a logarithmic axis; "
        f"dots of the percentage that remains by S = 1, 2, 3. {told}.",
        caption=f"{title}: {sum(sparse):,} parameters in the convolutions instead of {sum(dense):,}; the whole "
        f"network keeps {mine[at - 1]:.2f} % of its parameters (ringed).",
        size=(8.6, 3.1),
        numbers={"remaining": mine[at - 1], "parameters": float(sum(sparse))},
    )
