"""Privacy against utility: where each setting of each defense stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib.course.plots.palette import COLOR, COLORS, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    band_of,
    counted,
    draw_dotted_cross,
    numbers_of_points,
    write_beside,
)
from mialib.course.plots.spoken import listed, spoken_points
from mialib.estimates import Estimate

Point = tuple[Estimate, Estimate]  # accuracy and advantage


def tradeoff(
    series: Mapping[str, Sequence[Point]],
    *,
    undefended: Point,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> Picture:
    """Test accuracy (right is better) against highest advantage (down is better), by series.

    The undefended model is a star with a dotted cross; crosses are 95 % intervals. `labels` writes
    beside the points of a series.
    """

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(series.items()):
            _draw_series(axes, points, (labels or {}).get(name, ()), name, place)
        x, y = (estimate.value for estimate in undefended)
        axes.plot(x, y, "*", color=COLOR["mark"], markersize=12, label="undefended")
        draw_dotted_cross(axes, x, y)
        axes.set(xlabel="test accuracy", ylabel="highest advantage")
        figure.legend(loc="outside upper center", ncols=4)

    everyone = {"undefended": [undefended], **series}
    told = listed(_told(name, points) for name, points in everyone.items())
    return Picture(
        draw,
        alt="Scatter plot of highest advantage (up) against test accuracy (right), with lines by "
        f"defense: {told}.",
        caption="Highest advantage against test accuracy, 95 % intervals; the lower right is best.",
        size=(6.8, 4.0),
        numbers=numbers_of_points(counted(series), "accuracy", "advantage"),
    )


def _draw_series(
    axes: Axes, points: Sequence[Point], texts: Sequence[str], name: str, place: int
) -> None:
    accuracy = band_of(point[0] for point in points)
    advantage = band_of(point[1] for point in points)
    color = COLORS[place]
    axes.errorbar(
        accuracy.value,
        advantage.value,
        xerr=accuracy.errors(),
        yerr=advantage.errors(),
        color=color,
        marker=MARKERS[place],
        markersize=5,
        linewidth=1,
        elinewidth=0.5,
        label=name,
    )
    at = zip(accuracy.value, advantage.value, strict=True)
    write_beside(axes, texts, at, offset=(4, 4), fontsize=8, color=color)


def _told(name: str, points: Sequence[Point]) -> str:
    colon = "" if name == "undefended" else ":"
    return f"{name}{colon} {spoken_points(points)}"
