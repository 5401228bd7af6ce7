"""Numbers on coloured cells, drawn by seaborn: what each attack lost, α × λ, a confusion matrix.

draw_cells(axes, table, rows=["member", "non-member"], columns=["called so", "not"], cmap="Greys")
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from seaborn.utils import relative_luminance

from mialib.course.plots.pieces import skip_texts_in_layout

EQUAL_CONTRAST = 0.179  # the luminance from which white and black stand out alike
RULE = "#b5b5b5"  # between cells, of which the palest would look as if it were not there
SHADE = {"cmap": "Greys", "vmin": 0, "vmax": 1.6}  # of shares: 1 is grey, so that it can be read


def draw_cells(
    axes: Axes,
    table: np.ndarray,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    shade: np.ndarray | None = None,
    form: str = "z.2f",
    fontsize: float = 9,
    **colors,
) -> None:
    """Write `table`, numbers or texts, into cells coloured by `shade` or by the numbers.

    Cells whose shade is NaN stay empty. `colors` are seaborn's: cmap, vmin and vmax.
    """
    sns.heatmap(
        table if shade is None else shade,
        ax=axes,
        annot=table,
        fmt=form,
        annot_kws={"fontsize": fontsize},
        cbar=False,
        **colors,
    )
    _finish_texts(axes)
    frame_cells(axes, rows=rows, columns=columns)


def fill_cells(
    axes: Axes, texts: np.ndarray, *, shade: np.ndarray, fontsize: float = 9, **colors
) -> None:
    """The cells alone, for a picture in which they move; seaborn would set the ticks anew."""
    axes.pcolormesh(shade, edgecolors=RULE, linewidth=0.8, **colors)
    for (row, column), text in np.ndenumerate(texts):
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=fontsize)
    _finish_texts(axes)


def frame_cells(axes: Axes, *, rows: Sequence[str], columns: Sequence[str]) -> None:
    """The names around the cells, from top to bottom and from left to right."""
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=0)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, rotation=0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(False)


def _finish_texts(axes: Axes) -> None:
    """Write in white or in black, whichever stands out more from the cell.

    Seaborn turns to white earlier, where black has four times the contrast.
    """
    (mesh,) = axes.collections
    mesh.update_scalarmappable()
    filled = ~np.ma.getmaskarray(np.ma.asarray(mesh.get_array())).ravel()
    colors = np.asarray(mesh.get_facecolor())
    for text, color in zip(axes.texts, colors[filled], strict=True):
        is_dark = relative_luminance(color) < EQUAL_CONTRAST
        text.set_color("white" if is_dark else "black")
    skip_texts_in_layout(axes)
