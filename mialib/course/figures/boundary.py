"""How far members and non-members lie from the decision boundary, and from the origin.

features({"cross-entropy": plane})                      # Fig. 1 of CRL, of 2-D features
margins({"undefended": plain, "CRL": crl}, columns=2)   # Fig. 6 of CRL, from results
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR, HATCH, LINE, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import joint_legend, panel_grid, rows_of
from mialib.course.plots.spoken import spoken
from mialib.course.statistics import ROLES, FeaturePlane, boundary_distances
from mialib.results import Results
from mialib.results.edges import MARGINS

DOT = {"member": "o", "non_member": "x"}
SIZE = {"member": 14, "non_member": 22}
SHOWN = 150  # records of each role as points in the plane


def features(models: Mapping[str, FeaturePlane]) -> Picture:
    """Fig. 1 of CRL: how far features lie from the origin (right) and from the boundary (up)."""

    def draw(figure: FigureBase) -> None:
        panels = figure.subplots(1, len(models), squeeze=False)[0]
        for axes, (name, plane) in zip(panels, models.items(), strict=True):
            _draw_distances(axes, plane)
            axes.set_title(name)
        panels[0].set_ylabel("distance to the boundary")
        joint_legend(figure, panels, columns=2)

    numbers = {
        f"{name} {what}": value
        for name, plane in models.items()
        for what, value in boundary_distances([plane]).items()
    }
    return Picture(
        draw,
        alt=f"Scatter plots for {len(models)} models: distance to the boundary (up) against "
        "distance to the origin (right) of members (blue dots) and non-members (orange crosses). "
        f"Medians: {spoken(numbers)}.",
        caption=f"Distances of {SHOWN} records' features per group to the origin and to the "
        "decision boundary, negative when misclassified. The scales differ.",
        size=(8.2, 3.4),
        numbers=numbers,
    )


def _draw_distances(axes: Axes, plane: FeaturePlane) -> None:
    for role in ROLES:
        length = np.linalg.norm(plane.features[role][:SHOWN], axis=1)
        margin = plane.margin[role][:SHOWN]
        style = {"color": COLOR[role], "marker": DOT[role], "s": SIZE[role], "alpha": 0.6}
        axes.scatter(length, margin, linewidth=1, label=group(role), **style)
    axes.axhline(0, color=COLOR["chance"], linestyle=LINE["chance"])
    axes.set_xlabel("distance to the origin")


def margins(settings: Mapping[str, Results], *, columns: int) -> Picture:
    """Fig. 6 of CRL: histograms of the signed distance to the decision boundary.

    Each setting's trainings told the fact "margins", counts in the bins between `facts.MARGINS`.
    """
    shares = {name: _shares(trainings) for name, trainings in settings.items()}
    overlap = {name: float(np.minimum(*pair).sum()) for name, pair in shares.items()}

    def draw(figure: FigureBase) -> None:
        grid = panel_grid(figure, len(shares), columns, sharex=True, sharey=True)
        for axes, (name, pair) in zip(grid, shares.items(), strict=True):
            _draw_shares(axes, pair)
            axes.set_title(f"{name}: overlap {overlap[name]:.2f}")
        figure.supxlabel("signed distance to the decision boundary", fontsize=10)
        figure.supylabel("share of the records", fontsize=10)
        joint_legend(figure, grid, columns=2)

    numbers = {}
    for name, pair in shares.items():
        medians = {
            f"{name} {role} median": _median(row) for role, row in zip(ROLES, pair, strict=True)
        }
        numbers |= {f"{name} overlap": overlap[name], **medians}
    width = MARGINS[1] - MARGINS[0]
    return Picture(
        draw,
        alt=f"{len(settings)} pairs of histograms of the distance to the boundary, members and "
        f"non-members: {spoken(numbers)}.",
        caption="Distance of each record's features to the decision boundary, negative when "
        "misclassified, over all trainings; the outermost bins hold all that lies beyond. Overlap: "
        f"the area under both histograms, with bins of {width:g}.",
        size=(8.2, 0.9 + 1.6 * rows_of(len(settings), columns)),
        numbers=numbers,
    )


def _draw_shares(axes: Axes, pair: Sequence[np.ndarray]) -> None:
    for role, row in zip(ROLES, pair, strict=True):
        style = {"color": COLOR[role], "hatch": HATCH[role], "alpha": 0.55, "edgecolor": "white"}
        axes.stairs(row, MARGINS, fill=True, linewidth=0.3, label=group(role), **style)
    axes.axvline(0, color=COLOR["chance"], linestyle=LINE["chance"])


def _shares(trainings: Results) -> list[np.ndarray]:
    """The share of members, and of non-members, in each bin, over all trainings."""
    roles = ("members", "non_members")
    counts = [np.sum(trainings.fact("margins", role), axis=0) for role in roles]
    return [by_bin / max(by_bin.sum(), 1) for by_bin in counts]


def _median(shares: np.ndarray) -> float:
    """The middle of the bin that holds the median."""
    middle = int(np.searchsorted(np.cumsum(shares), 0.5))
    return float(MARGINS[middle : middle + 2].mean())
