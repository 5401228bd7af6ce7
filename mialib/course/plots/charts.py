"""Charts of results: estimates side by side, and curves with bands.

comparison({"AUC": {"loss": Estimate(0.7, 0.6, 0.8)}}, label="AUC", chance=0.5)
lines(epochs, {"loss attack": estimates}, xlabel="epoch", ylabel="advantage")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import ArrayLike

from mialib.course.plots.palette import COLOR, COLORS, LINE, MARKERS, curve_of, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import (
    Band,
    Curve,
    NamedCurve,
    band_of,
    draw_curve,
    name_ends,
    name_in_gap,
    name_rows,
    write_plain_ticks,
)
from mialib.course.plots.spoken import capital, listed
from mialib.estimates import Estimate

FEW = 12  # Up to so many points, each has a marker and a tick of its own.
STEP = 0.24  # between the series in a row of `comparison`; more than four stand closer


def comparison(
    series: Mapping[str, Mapping[str, Estimate]],
    *,
    label: str,
    chance: float = 0.0,
    dotted: str = "chance",
    mark: str | None = None,
    log: bool = False,
    title: str = "",
    roles: Mapping[str, str] | None = None,
    room_for: Sequence[Estimate] = (),
) -> Picture:
    """Estimates with their intervals, one row for each name and one marker for each series.

    `mark` shades a row. A dotted line stands at `chance`; `dotted` says what it means, "no
    difference" where differences are drawn. `log` is for ratios. A series that is in `roles` has
    that role's colour: {"members caught": "member"}. The axis has room for the estimates in
    `room_for`, too: with those of all positions a slider's pictures share one axis.
    """
    rows = list(dict.fromkeys(name for estimates in series.values() for name in estimates))
    cells = {
        (name, row): estimate
        for name, estimates in series.items()
        for row, estimate in estimates.items()
    }

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for place, name in enumerate(series):
            role = (roles or {}).get(name)
            color = COLOR[role] if role else COLORS[place]
            _draw_estimates(axes, rows, series[name], name, place, len(series), color)
        if mark is not None:
            middle = rows.index(mark)
            axes.axhspan(middle - 0.45, middle + 0.45, color=COLOR["shade"], zorder=0)
        axes.axvline(chance, color=COLOR["chance"], linestyle=LINE["chance"])
        if room_for:
            _make_room(axes, room_for)
        axes.set_xlabel(label)
        if log:
            _use_log_ticks(axes)
        axes.set_title(title, fontsize=9)
        name_rows(axes, rows)
        if len(series) > 1:
            figure.legend(loc="outside upper center", ncols=len(series))

    told = ". ".join(_told_series(name, estimates) for name, estimates in series.items())
    shaded = "" if mark is None else f"; shaded: {mark}"
    return Picture(
        draw,
        alt=f"Dots with 95 % intervals, {label} along the axis, a dotted line at {chance:g} for "
        f"{dotted}. {told}.",
        caption=f"{capital(label)} with 95 % intervals; dotted: {dotted}{shaded}.",
        size=(6.8, _height(len(rows), len(series))),
        numbers={f"{name} {row}": estimate.value for (name, row), estimate in cells.items()},
    )


def _told_series(name: str, estimates: Mapping[str, Estimate]) -> str:
    return f"{name}: " + listed(f"{row}, {one}" for row, one in estimates.items())


def _draw_estimates(
    axes: Axes,
    rows: list[str],
    estimates: Mapping[str, Estimate],
    name: str,
    place: int,
    count: int,
    color: str,
) -> None:
    """The series at `place` among `count`: a little above or below the middle of its rows."""
    middle = np.array([rows.index(row) for row in estimates])
    step = STEP * min(1, 4 / count)
    y = middle + step * (place - (count - 1) / 2)
    band = band_of(estimates.values())
    style = {"fmt": MARKERS[place], "color": color, "capsize": 3}
    axes.errorbar(band.value, y, xerr=band.errors(), label=name, **style)


def _make_room(axes: Axes, estimates: Sequence[Estimate]) -> None:
    """Widen the axis as if these were drawn, too."""
    band = band_of(estimates)
    axes.plot([band.low.min(), band.high.max()], [0, 0], linestyle="none")


def _use_log_ticks(axes: Axes) -> None:
    """A logarithmic axis whose ticks are written as numbers, not as powers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    write_plain_ticks(axes.xaxis)
    axes.minorticks_off()


def _height(rows: int, series: int) -> float:
    legend = 0.3 if series > 1 else 0
    return 0.9 + 0.34 * rows * max(1, 0.7 * series) + legend


def lines(
    x: ArrayLike,
    curves: Mapping[str, Curve],
    *,
    xlabel: str,
    ylabel: str,
    mark: float | None = None,
    roles: bool = False,
    log: str = "",
    direct: str = "",
) -> Picture:
    """Curves over x, with a band where they are estimates.

    `mark` is a place on the axis; a single curve has its value written there. `log` is "x", "y" or
    "xy". With `roles`, the curves are named by the roles that have colours of their own: member,
    non_member, … A NaN leaves a gap. `direct` names the curves at their right ends ("ends") or
    where they are farthest apart ("gap"), instead of in a legend.
    """
    x = np.asarray(x, float)
    bands = {name: band_of(curve) for name, curve in curves.items()}
    there = _value_at(mark, x, bands, log)

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        named = []
        for place, (name, band) in enumerate(bands.items()):
            color, line = (COLOR[name], LINE[name]) if roles else curve_of(name, place)
            marker = MARKERS[place] if len(x) <= FEW else None
            label = group(name) if roles else name.replace("_", "-")
            style = {"marker": marker, "markersize": 4, "label": label}
            draw_curve(axes, x, band, color=color, line=line, **style)
            named.append(NamedCurve(label, band.value, color))
        if mark is not None:
            axes.axvline(mark, color=COLOR["mark"], linewidth=1)
        if mark is not None and there is not None:
            _write_value(axes, mark, there)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        _scale(axes, x, log)
        if direct == "ends":
            name_ends(axes, named)
        elif direct == "gap":
            name_in_gap(axes, x, named)
        elif len(bands) > 1:
            figure.legend(loc="outside upper center", ncols=min(len(bands), 3))

    course = listed(_course(group(name) if roles else name, band) for name, band in bands.items())
    marked = "" if mark is None else f" A vertical line marks {mark:.3g}"
    if mark is not None:
        marked += "." if there is None else f", where the curve is at {there:.3g}."
    span = f"from {x[0]:g} to {x[-1]:g}"
    return Picture(
        draw,
        alt=f"Line chart of {ylabel} against {xlabel} {span}: {course}.{marked}",
        caption=f"{capital(ylabel)} by {xlabel}.",
        numbers=_numbers(x, bands, mark),
    )


def _value_at(
    mark: float | None, x: np.ndarray, bands: Mapping[str, Band], log: str
) -> float | None:
    """The height of the only curve at `mark`; None without a mark, or with several curves."""
    if mark is None or len(bands) > 1:
        return None
    (band,) = bands.values()
    along = np.log if "x" in log else np.asarray
    return float(np.interp(along(mark), along(x), band.value))


def _write_value(axes: Axes, mark: float, value: float) -> None:
    axes.plot(mark, value, "o", color=COLOR["mark"], markersize=7, zorder=4)
    place = {"xytext": (-8, 8), "textcoords": "offset points", "ha": "right"}
    axes.annotate(f"{value:.2g}", (mark, value), **place)


def _scale(axes: Axes, x: np.ndarray, log: str) -> None:
    for axis in log:
        axes.set(**{f"{axis}scale": "log"})
        write_plain_ticks(axes.yaxis if axis == "y" else axes.xaxis)
    axes.minorticks_off()
    if log and len(x) <= FEW:
        axes.set_xticks(x, [f"{tick:g}" for tick in x])
    elif not log and (x == x.round()).all():
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def _course(name: str, band: Band) -> str:
    """Where a curve begins and ends, and how far it goes beyond, without the gaps of NaN."""
    value = band.known()
    if len(value) == 0:
        return f"{name} has no values"
    ends = f"{name} from {value[0]:z.3f} to {value[-1]:z.3f}"
    if {value.min(), value.max()} == {value[0], value[-1]}:
        return ends
    return f"{ends}, between {value.min():z.3f} and {value.max():z.3f}"


def _numbers(x: np.ndarray, bands: dict[str, Band], mark: float | None) -> dict[str, float]:
    numbers = {
        f"{name} at {at:g}": float(value)
        for name, band in bands.items()
        for at, value in zip(x, band.value, strict=True)
    }
    if mark is not None:
        numbers["mark"] = mark
    return numbers
