"""What an accusation is worth: one threshold and one prior together.

>>> accusations([0.1, 0.2], [0.9, 2.0], threshold=0.5, prior=0.01).numbers["right"]
1.0
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import FigureBase
from numpy.typing import ArrayLike

from mialib.course.figures.records import draw_threshold
from mialib.course.plots.game import draw_histograms, left_edge, losses
from mialib.course.plots.layers import Layers, axes_of, keep_room_for_titles, moving_title
from mialib.course.plots.picture import Picture
from mialib.course.plots.tables import SHADE, fill_cells, frame_cells
from mialib.errors import check_range

CROWD = 10_000  # candidates


def accusations(
    member: ArrayLike, non_member: ArrayLike, *, threshold: float, prior: float
) -> Picture:
    """Whom a threshold on the loss accuses in a crowd of 10,000, of whom `prior` are members."""
    members = losses(member)
    non_members = losses(non_member)
    check_range(0, 1, prior=prior)
    tpr = float((members <= threshold).mean())
    fpr = float((non_members <= threshold).mean())
    inside = CROWD * prior
    shares = np.array([[tpr, 1 - tpr], [fpr, 1 - fpr]])
    counts = shares * np.array([[inside], [CROWD - inside]])
    accused = counts[:, 0].sum()
    right = counts[0, 0] / accused if accused else float("nan")
    told = f"{right:.1%} of the accusations are right" if accused else "nobody is accused"

    def still(figure: FigureBase) -> None:
        histogram, table = figure.subplots(1, 2, width_ratios=[1.4, 1])
        draw_histograms(histogram, members, non_members, "loss")
        frame_cells(table, rows=["members", "non-\nmembers"], columns=["accused", "left alone"])
        keep_room_for_titles(histogram, table)

    def moving(figure: FigureBase) -> None:
        histogram, table = axes_of(figure)
        draw_threshold(histogram, threshold)
        texts = np.array([[f"{count:,.0f}" for count in row] for row in counts])
        fill_cells(table, texts, shade=shares, fontsize=11, **SHADE)
        moving_title(table, f"prior {prior:.2g}: {told}")

    key = (members.tobytes(), non_members.tobytes())
    layers = Layers("accusations", still, moving, key=key)
    return Picture(
        layers.draw,
        alt=f"At a loss threshold of {threshold:.3g}: histograms of members and non-members. Of "
        f"{CROWD:,} candidates, {prior:.2g} of them members, {counts[0, 0]:,.0f} members and "
        f"{counts[1, 0]:,.0f} others are accused; {told}.",
        caption="Left: what lies left of the line is called a member."
        f"{left_edge(members, non_members)} Right: a crowd of {CROWD:,} candidates at this prior; "
        "the darker, the larger a share of its row.",
        size=(9.0, 2.9),
        numbers={
            "right": float(right),
            "members accused": float(counts[0, 0]),
            "others accused": float(counts[1, 0]),
        },
        layers=layers,
    )
