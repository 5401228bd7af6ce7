"""Privacy against utility: where each setting of each defense stands."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import FigureBase

from mialib.course.plots.picture import ATTACKS, COLOR, Picture
from mialib.estimates import Estimate

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
COLORS = (*(color for color, _ in ATTACKS), "#0072B2", "#D55E00", "#777777", "#882255")
Point = tuple[Estimate, Estimate]  # accuracy and advantage


def tradeoff(
    series: dict[str, Sequence[Point]],
    *,
    undefended: Point,
    mark: Point | None = None,
    labels: dict[str, Sequence[str]] | None = None,
    ylabel: str = "highest advantage",
) -> Picture:
    """Test accuracy (right is better) against advantage (down is better), a marker and a line for each series.

    The undefended model is a star with a dotted cross; crosses are 95 % intervals. `labels` writes beside the points,
    and `mark` rings one.
    """

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(series.items()):
            x, y = ([point[k].value for point in points] for k in (0, 1))
            xerr, yerr = (
                list(zip(*(_error(point[k]) for point in points), strict=True)) for k in (0, 1)
            )
            style = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 5}
            axes.errorbar(
                x, y, xerr=xerr, yerr=yerr, label=name, linewidth=1, elinewidth=0.5, **style
            )
            for text, at in zip((labels or {}).get(name, ()), zip(x, y, strict=True), strict=False):
                axes.annotate(
                    text,
                    at,
                    xytext=(4, 4),
                    textcoords="offset points",
                    fontsize=8,
                    color=COLORS[place],
                )
        x, y = (estimate.value for estimate in undefended)
        axes.plot(x, y, "*", color=COLOR["mark"], markersize=12, label="undefended")
        axes.axvline(x, color=COLOR["chance"], linestyle=":", linewidth=1)
        axes.axhline(y, color=COLOR["chance"], linestyle=":", linewidth=1)
        if mark:
            axes.plot(
                mark[0].value,
                mark[1].value,
                "o",
                color=COLOR["mark"],
                markersize=13,
                fillstyle="none",
            )
        axes.set(xlabel="test accuracy", ylabel=ylabel)
        figure.legend(loc="outside upper center", ncols=4)

    told = "; ".join(
        f"{name}: "
        + ", ".join(
            f"({accuracy.value:.2f}, {advantage.value:.2f})" for accuracy, advantage in points
        )
        for name, points in series.items()
    )
    start = f"undefended ({undefended[0].value:.2f}, {undefended[1].value:.2f})"
    return Picture(
        draw,
        alt=f"Scatter plot of {ylabel} (up) against test accuracy (right), with lines by defense: {start}; {told}.",
        caption=f"{ylabel.capitalize()} against test accuracy, 95 % intervals; the lower right is best.",
        size=(6.8, 4.0),
        numbers={
            f"{name} {k} {what}": point[part].value
            for name, points in series.items()
            for k, point in enumerate(points)
            for part, what in enumerate(("accuracy", "advantage"))
        }
        | ({"mark accuracy": mark[0].value, "mark advantage": mark[1].value} if mark else {}),
    )


def _error(estimate: Estimate) -> tuple[float, float]:
    return max(estimate.value - estimate.low, 0), max(estimate.high - estimate.value, 0)
