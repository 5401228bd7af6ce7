"""Features in the plane, and how far members and non-members lie from the decision boundary.

>>> picture = margins({"undefended": ([0] * 64, [1] + [0] * 63)}, columns=1)
>>> picture.numbers["undefended overlap"]
0.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR, HATCH, LINE, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import panel_grid, rows_of
from mialib.course.plots.spoken import spoken
from mialib.course.statistics import ROLES, FeaturePlane, boundary_distances
from mialib.course.sweeps import MARGINS

DOT = {"member": ".", "non_member": "x"}
SHOWN = 150  # records of each role as points in the plane


def features(models: Mapping[str, FeaturePlane]) -> Picture:
    """Fig. 1 of CRL: features in the plane, and how far they lie from boundary and origin."""

    def draw(figure: FigureBase) -> None:
        grid = figure.subplots(2, len(models), squeeze=False)
        for (above, under), (name, plane) in zip(grid.T, models.items(), strict=True):
            _draw_plane(above, under, plane)
            above.set_title(name)
        grid[0, 0].set_ylabel("second feature")
        grid[1, 0].set_ylabel("distance to the boundary")
        legend = grid[0, 0].get_legend_handles_labels()
        figure.legend(*legend, loc="outside upper center", ncols=2)

    numbers = {
        f"{name} {what}": value
        for name, plane in models.items()
        for what, value in boundary_distances([plane]).items()
    }
    return Picture(
        draw,
        alt=f"Scatter plots for {len(models)} models. Above, 2-D features of members (blue dots) "
        "and non-members (orange crosses); below, distance to the boundary against distance to the "
        f"origin. Medians: {spoken(numbers)}.",
        caption=f"Two features of {SHOWN} records a group (above; cross: the origin) and their "
        "distances (below). The scales differ.",
        size=(7.6, 4.6),
        numbers=numbers,
    )


def _draw_plane(above: Axes, under: Axes, plane: FeaturePlane) -> None:
    for role in ROLES:
        style = {"color": COLOR[role], "marker": DOT[role], "s": 11, "linewidth": 0.7}
        places = plane.features[role][:SHOWN]
        margin = plane.margin[role][:SHOWN]
        above.scatter(*places.T, **style, label=group(role))
        under.scatter(np.linalg.norm(places, axis=1), margin, **style)
    above.plot(0, 0, "+", color=COLOR["mark"], markersize=10)
    above.set(aspect="equal", adjustable="datalim")
    under.axhline(0, color=COLOR["chance"], linestyle=LINE["chance"])
    under.set_xlabel("distance to the origin")


def margins(counts: Mapping[str, tuple[Sequence[int], Sequence[int]]], *, columns: int) -> Picture:
    """Fig. 6 of CRL: histograms of the signed distance to the decision boundary.

    `counts` has those of members and of non-members, in the bins between `sweeps.MARGINS`.
    """
    shares = {name: [_shares(row) for row in pair] for name, pair in counts.items()}
    overlap = {name: float(np.minimum(*pair).sum()) for name, pair in shares.items()}

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(shares), columns, sharex=True, sharey=True)
        for axes, (name, pair) in zip(grid, shares.items(), strict=True):
            _draw_shares(axes, pair)
            axes.set_title(f"{name}: overlap {overlap[name]:.2f}", fontsize=9)
        figure.supxlabel("signed distance to the decision boundary", fontsize=10)
        figure.supylabel("share of the records", fontsize=10)
        legend = grid[0].get_legend_handles_labels()
        figure.legend(*legend, loc="outside upper center", ncols=2)

    numbers = {}
    for name, pair in shares.items():
        medians = {
            f"{name} {role} median": _median(row) for role, row in zip(ROLES, pair, strict=True)
        }
        numbers |= {f"{name} overlap": overlap[name], **medians}
    return Picture(
        draw,
        alt=f"{len(counts)} pairs of histograms of the distance to the boundary, members and "
        f"non-members: {spoken(numbers)}.",
        caption="Distance of each record's features to the decision boundary, negative when "
        "misclassified. Overlap: the area under both histograms.",
        size=(8.6, 0.9 + 1.35 * rows_of(len(counts), columns)),
        numbers=numbers,
    )


def _draw_shares(axes: Axes, pair: Sequence[np.ndarray]) -> None:
    for role, row in zip(ROLES, pair, strict=True):
        style = {"color": COLOR[role], "hatch": HATCH[role], "alpha": 0.55, "edgecolor": "white"}
        axes.stairs(row, MARGINS, fill=True, linewidth=0.3, label=group(role), **style)
    axes.axvline(0, color=COLOR["chance"], linestyle=LINE["chance"])


def _shares(counts: Sequence[int]) -> np.ndarray:
    return np.array(counts) / max(sum(counts), 1)


def _median(shares: np.ndarray) -> float:
    """The middle of the bin that holds the median."""
    middle = int(np.searchsorted(np.cumsum(shares), 0.5))
    return float(MARGINS[middle : middle + 2].mean())
