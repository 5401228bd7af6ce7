"""Paper versus code: what each difference does to a number, and why.

| function | what it draws |
|---|---|
| `effects` | all differences: the numbers of every variant, and the effect of the code |
| `difference_view` | one of them: its numbers, and the picture that explains them |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator

from mialib.course.differences import (
    VARIANTS,
    Curves,
    Difference,
    Dots,
    Evidence,
    Losses,
    Variant,
)
from mialib.course.plots.game import draw_histograms, roc_axes
from mialib.course.plots.palette import COLOR, COLORS, LINE, MARKERS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import band_of, name_rows
from mialib.course.plots.spoken import brief, capital, in_one_line, listed
from mialib.estimates import Estimate

# A variant keeps its colour, its marker and its line in all pictures.
LOOKS: dict[str, tuple[str, str, str]] = dict(
    zip(VARIANTS, zip(COLORS, MARKERS, ("-.", "--", "-"), strict=False), strict=False)
)
PLAIN = (("#000000", ":"), ("#009E73", "-"))  # of curves that are no variants
STEP = 0.24  # between the variants of a row
PALE = 0.3  # the strength of what is not chosen
FEW = 3  # Up to so many points, each has a marker.
WIDE = 20  # times as high as low: then the axis is logarithmic
TICKS = 5
BELOW_LEGEND = 0.74  # of the height: so far up reach the thresholds


def effects(differences: Sequence[Difference]) -> Picture:
    """Two panels of dots with intervals, a row for each difference."""
    rows = [f"{one.name}\n{one.source.number}" for one in differences]

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
        for variant in VARIANTS:
            _draw_variant(left, differences, variant)
        band = band_of([one.effect for one in differences])
        places = range(len(differences))
        style = {"fmt": "D", "color": COLOR["mark"], "capsize": 3, "markersize": 4}
        right.errorbar(band.value, places, xerr=band.errors(), **style)
        for axes in (left, right):
            axes.axvline(0, color=COLOR["chance"], linestyle=LINE["chance"])
        name_rows(left, rows, fontsize=9)
        left.set(title="the number", xlabel="its value")
        right.set(title="effect of the code", xlabel="as coded minus as it should be")
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(VARIANTS))

    told = listed(f"{one.name} {brief(one.effect)}" for one in differences)
    return Picture(
        draw,
        alt="Dots with 95 % intervals in two panels, a row for each difference between a text and "
        "its code: left the number as printed, as coded and as it should be, right the effect of "
        f"the code, with a dotted line at 0. The effects: {told}.",
        caption="Every difference between text and code: left the number that it touches, right "
        "what the code adds to it, with 95 % intervals over trainings and records. A text that is "
        "silent has no marker; for the clamp, the code is compared with the text.",
        size=(8.2, 1.3 + 0.52 * len(differences)),
        numbers={one.name: one.effect.value for one in differences},
    )


def _draw_variant(axes: Axes, differences: Sequence[Difference], variant: Variant) -> None:
    color, marker, _ = LOOKS[variant]
    offset = STEP * (VARIANTS.index(variant) - 1)
    there = [place for place, one in enumerate(differences) if variant in one.draws]
    band = band_of([differences[place].estimate(variant) for place in there])
    y = [place + offset for place in there]
    style = {"fmt": marker, "color": color, "capsize": 2, "markersize": 5}
    axes.errorbar(band.value, y, xerr=band.errors(), label=variant, **style)


def difference_view(difference: Difference, variant: Variant | None = None) -> Picture:
    """The numbers of one difference on the left, what explains them on the right.

    A `variant` that is chosen stands out, with its words above; without one, all are alike.
    """
    numbers = {one: difference.estimate(one) for one in difference.variants}
    chosen = {one: variant in (None, one) for one in VARIANTS}

    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
        _draw_numbers(left, numbers, chosen)
        left.set(title=difference.name, xlabel=_wrapped(difference.source.number))
        _draw_evidence(right, difference.evidence, chosen)
        if variant is not None:
            figure.suptitle(_sentence(difference, variant), fontsize=10, x=0.01, ha="left")

    told = listed(f"{one} {brief(estimate, 3)}" for one, estimate in numbers.items())
    return Picture(
        draw,
        alt=f"Two panels. Left, dots with 95 % intervals of {difference.source.number}: {told}. "
        f"Right, {_spoken_evidence(difference.evidence)}.{_marked(difference, variant)}",
        caption=f"{capital(difference.name)}: {difference.source.coded} "
        f"({difference.source.where}). Effect of the code: {difference.effect}, "
        f"{difference.trainings} trainings.",
        size=(8.2, 3.3 if variant is None else 3.7),
        steady=("difference_view", difference.name, variant is None),
        numbers={one: estimate.value for one, estimate in numbers.items()}
        | _chosen_number(numbers, variant),
    )


def _sentence(difference: Difference, variant: Variant) -> str:
    words = difference.source.says(variant)
    if words:
        return f"{variant}: {words}"
    silent = "the text is silent" if variant == "as printed" else "open: text and code are tenable"
    return f"{variant}: {silent}"


def _marked(difference: Difference, variant: Variant | None) -> str:
    return "" if variant is None else f" Chosen is {_sentence(difference, variant)}."


def _chosen_number(numbers: Mapping[str, Estimate], variant: Variant | None) -> dict[str, float]:
    """The number of the chosen variant, which may be one that nobody has."""
    if variant is None:
        return {}
    return {f"chosen, {variant}": numbers[variant].value if variant in numbers else nan}


def _draw_numbers(axes: Axes, numbers: Mapping[str, Estimate], chosen: Mapping[str, bool]) -> None:
    for place, (variant, estimate) in enumerate(numbers.items()):
        color, marker, _ = LOOKS[variant]
        band = band_of([estimate])
        style = {"fmt": marker, "color": color, "capsize": 3, "alpha": _alpha(chosen[variant])}
        axes.errorbar(band.value, [place], xerr=band.errors(), **style)
    name_rows(axes, list(numbers))
    axes.margins(x=0.2)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS))


def _alpha(is_chosen: bool) -> float:
    return 1.0 if is_chosen else PALE


def _draw_evidence(axes: Axes, evidence: Evidence, chosen: Mapping[str, bool]) -> None:
    if isinstance(evidence, Dots):
        _draw_dots(axes, evidence)
    elif isinstance(evidence, Losses):
        _draw_losses(axes, evidence, chosen)
    else:
        _draw_curves(axes, evidence, chosen)


def _draw_dots(axes: Axes, evidence: Dots) -> None:
    band = band_of(evidence.estimates.values())
    style = {"fmt": "o", "color": COLOR["mark"], "capsize": 3, "markersize": 4}
    axes.errorbar(band.value, range(len(band.value)), xerr=band.errors(), **style)
    name_rows(axes, list(evidence.estimates), fontsize=9)
    axes.set_xlabel(_wrapped(evidence.label))
    axes.margins(x=0.2)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS))


def _draw_losses(axes: Axes, evidence: Losses, chosen: Mapping[str, bool]) -> None:
    members = evidence.members.astype(float)
    non_members = evidence.non_members.astype(float)
    draw_histograms(axes, members, non_members, "loss of one training", legend=False)
    for variant, threshold in evidence.thresholds.items():
        color, _, line = LOOKS[variant]
        style = {"color": color, "linestyle": line, "alpha": _alpha(chosen[variant])}
        axes.axvline(threshold, ymax=BELOW_LEGEND, linewidth=2.2, label=variant, **style)
    axes.set_ylim(top=1.7 * axes.get_ylim()[1])  # room for the legend above the bars
    frame = {"frameon": True, "edgecolor": "none", "framealpha": 0.95, "borderaxespad": 0.1}
    axes.legend(fontsize=9, loc="upper left", ncols=2, columnspacing=1.0, **frame)


def _draw_curves(axes: Axes, evidence: Curves, chosen: Mapping[str, bool]) -> None:
    for place, (name, (x, y)) in enumerate(evidence.curves.items()):
        color, line = PLAIN[place % 2]
        if name in LOOKS:
            color, _, line = LOOKS[name]
        alpha = _alpha(chosen.get(name, True))
        marker = "s" if len(x) <= FEW else None
        style = {"color": color, "linestyle": line, "marker": marker, "alpha": alpha}
        axes.plot(x, y, label=name, **style)
    if evidence.is_roc:
        roc_axes(axes, log=False)
    else:
        scale = "log" if _is_wide(evidence) else "linear"
        axes.set(xlabel=evidence.xlabel, ylabel=evidence.ylabel, yscale=scale)
        axes.minorticks_off()
    axes.legend(fontsize=9)


def _is_wide(evidence: Curves) -> bool:
    """Whether the curves span more than a linear axis can show."""
    heights = np.concatenate([y for _, y in evidence.curves.values()])
    return bool(heights.min() > 0 and heights.max() / heights.min() > WIDE)


def _spoken_evidence(evidence: Evidence) -> str:
    if isinstance(evidence, Dots):
        estimates = evidence.estimates.items()
        told = listed(f"{in_one_line(name)} {brief(one)}" for name, one in estimates)
        return f"dots with 95 % intervals of {evidence.label}: {told}"
    if isinstance(evidence, Losses):
        told = listed(f"{name} {value:.3g}" for name, value in evidence.thresholds.items())
        return f"histograms of members' and non-members' losses with thresholds: {told}"
    names = listed(evidence.curves)
    return f"curves of {evidence.ylabel} against {evidence.xlabel}: {names}"


def _wrapped(text: str, width: int = 34) -> str:
    """Two lines, where one would be too long for its panel."""
    if len(text) <= width or " " not in text:
        return text
    middle = len(text) // 2
    gaps = [place for place, letter in enumerate(text) if letter == " "]
    nearest = min(gaps, key=lambda place: abs(place - middle))
    return f"{text[:nearest]}\n{text[nearest + 1 :]}"
