"""Where the loss gap's gradient lies while PAST tunes: Fig. 10, 12 and 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mialib import sensitivity
from mialib.course import figures, plots
from mialib.course.plots.picture import Picture
from mialib.course.tunings import watched_arms
from mialib.estimates import Estimate
from mialib.reproductions.comparing import SHARE, over_trainings, ratio_over_trainings
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.reproductions.past.epochs import NETWORK, NORMAL_SHARE
from mialib.reproductions.past.printed import printed
from mialib.results import Results

Modules = Mapping[str, Mapping[str, Any]]  # by name: "kind", "mean", "top", "size"
DEEP = 6  # Of so many convolutions the places are thirds; of fewer, each by itself.
LARGE = 300  # A fifth of fewer weights is too few to speak of their share.
LAST = "mean sensitivity of the last layer"


def _arms(evidence: Evidence) -> dict[str, list[Results]]:
    return watched_arms(evidence.results(NETWORK[evidence.profile]))


# Fig. 10: every module, epoch by epoch.


def fig_10(evidence: Evidence) -> Made:
    """The mean sensitivity of a weight, by its place in the network and by epoch of tuning."""
    arms = {arm: some for arm, some in _arms(evidence).items() if arm in ("PAST", "λ = 0")}
    places = list(by_place(arms["PAST"][0].fact("sensitivity", "modules")[0]))
    curves = {
        place: {arm: _course(moments, place) for arm, moments in arms.items()} for place in places
    }
    picture = plots.panels(
        range(len(arms["PAST"])),
        curves,
        columns=3,
        xlabel="epoch of tuning",
        ylabel="mean sensitivity",
        scale="log",
    )
    return Made({"past-fig-10": picture}, tuple(_lines_of_places(arms)))


def by_place(modules: Modules) -> dict[str, float]:
    """The mean sensitivity of a weight: convolutions by depth, normalisations, linear layers."""
    of_kind: dict[str, list[Mapping[str, Any]]] = {}
    for module in modules.values():
        of_kind.setdefault(module["kind"], []).append(module)
    convolutions = of_kind.pop("convolution")
    linear = of_kind.pop("linear")
    places = dict(zip(*_by_depth(convolutions), strict=True)) | of_kind
    places |= {"hidden linear": linear[:-1]} if linear[1:] else {}
    places["last layer"] = linear[-1:]
    return {place: _mean(some) for place, some in places.items()}


def _by_depth(convolutions: list[Any]) -> tuple[list[str], list[list[Any]]]:
    """The names of the places, and the modules of each, from input to output."""
    if len(convolutions) < DEEP:
        names = [f"convolution {number}" for number in range(1, len(convolutions) + 1)]
        return names, [[one] for one in convolutions]
    ends = np.linspace(0, len(convolutions), 4).round().astype(int)
    thirds = [convolutions[a:b] for a, b in pairwise(ends)]
    return [f"{depth} convolutions" for depth in ("early", "middle", "late")], thirds


def _mean(modules: Sequence[Mapping[str, Any]]) -> float:
    """Of the weights of these modules together."""
    sizes = [module["size"] for module in modules]
    return float(np.average([module["mean"] for module in modules], weights=sizes))


def _course(moments: Sequence[Results], place: str) -> list[Estimate]:
    """Geometric means over trainings: the axis is logarithmic."""
    return [
        ratio_over_trainings(by_place(one)[place] for one in moment.fact("sensitivity", "modules"))
        for moment in moments
    ]


def _lines_of_places(arms: dict[str, list[Results]]) -> list[Line]:
    """The paper's reading: deeper layers matter more, and linear layers more than convolutions."""
    lines = []
    for arm in ("PAST", "λ = 0"):
        found = [by_place(one) for one in arms[arm][-1].fact("sensitivity", "modules")]
        first, *_, deepest = [place for place in found[0] if "convolution" in place]
        compared = [(deepest, first), ("normalisation", deepest), ("last layer", deepest)]
        for one, other in compared:
            if one in found[0]:
                ratio = ratio_over_trainings(places[one] / places[other] for places in found)
                what = f"after tuning ({arm}): sensitivity of a weight, {one} over {other}"
                lines.append(Line("past-fig-10", what, None, ratio))
    return lines


# Fig. 12: does it migrate?


def fig_12(evidence: Evidence) -> Made:
    """The sensitivity of every weight of the last layer, at three epochs of tuning."""
    arms = _arms(evidence)
    moments = arms["PAST"]
    shown = {f"epoch {k}": moments[k] for k in (1, (len(moments) - 1) // 2, len(moments) - 1)}
    picture = figures.sensitivity_by_index(
        {title: one.fact("sensitivity", "last")[0] for title, one in shown.items()}
    )
    what = "share of the last layer's top 20 % after epoch 1 that has left it after the last"
    lines = [
        Line("past-fig-12", f"{what} ({arm})", None, _migrated(arms[arm]))
        for arm in ("PAST", "uniform ℓ1", "λ = 0")
        if arm in arms
    ]
    change = ratio_over_trainings(_last_means(moments[-1]) / _last_means(moments[1]))
    lines.append(Line("past-fig-12", f"{LAST} (PAST): last epoch over first", None, change))
    return Made({"past-fig-12": picture}, tuple(lines))


def _migrated(moments: Sequence[Results]) -> Estimate:
    first = moments[1].fact("sensitivity", "last")
    last = moments[-1].fact("sensitivity", "last")
    pairs = zip(first, last, strict=True)
    return over_trainings((sensitivity.migration(*pair) for pair in pairs), limits=SHARE)


def _last_means(one: Results) -> np.ndarray:
    """The mean sensitivity of the last layer in each training: (seeds,)."""
    modules = one.fact("sensitivity", "modules")
    return np.array([list(some.values())[-1]["mean"] for some in modules])


# Fig. 13: distributions.


def fig_13(evidence: Evidence) -> Made:
    """(a) The last layer's sensitivity, normal and PAST. (b) Concentration within each layer."""
    arms = _arms(evidence)
    ends = {"normal": arms["training"][-1], "PAST": arms["PAST"][-1]}
    values = {
        name: np.concatenate(one.fact("sensitivity", "last")).tolist() for name, one in ends.items()
    }
    trained = arms["training"][-1].fact("sensitivity", "modules")
    pictures = {
        "past-fig-13a": figures.sensitivity_histograms(values),
        "past-fig-13b": _inside_picture(trained),
    }
    lines = (*lines_of_means("past-fig-13a", arms), *_lines_of_inside(trained))
    return Made(pictures, lines)


def lines_of_means(row: str, arms: dict[str, list[Results]]) -> list[Line]:
    """The paper prints both means; their ratio does not depend on the network's scale."""
    normal = _last_means(arms["training"][-1])
    past = _last_means(arms["PAST"][-1])
    unpunished = _last_means(arms["λ = 0"][-1])
    paper = {method: printed(LAST, method=method) for method in ("Plain", "Past")}
    return [
        Line(
            row,
            f"{LAST}: PAST over normal",
            paper["Past"] / paper["Plain"],
            ratio_over_trainings(past / normal),
        ),
        Line(row, f"{LAST}: normal", paper["Plain"], over_trainings(normal)),
        Line(row, f"{LAST}: PAST", paper["Past"], over_trainings(past)),
        Line(row, f"{LAST}: λ = 0 over normal", None, ratio_over_trainings(unpunished / normal)),
    ]


def _inside_picture(trainings: Sequence[Modules]) -> Picture:
    """By depth where the network has blocks, otherwise layer by layer."""
    if any(module["kind"] == "normalisation" for module in trainings[0].values()):
        return figures.sensitivity_by_depth(trainings, title="After training", chance=NORMAL_SHARE)
    shares = {
        name: over_trainings(values, limits=SHARE) for name, values in _inside(trainings).items()
    }
    return plots.comparison(
        {"after training": shares},
        label="share of a layer's sensitivity in its top 20 % of the weights",
        chance=NORMAL_SHARE,
        dotted="normal numbers",
    )


def _inside(trainings: Sequence[Modules]) -> dict[str, list[float]]:
    """What the top 20 % of a layer's weights carry in each training; small layers left out."""
    large = {name: one for name, one in trainings[0].items() if one["size"] >= LARGE}
    return {
        f"{one['kind']}, {name}": [modules[name]["top"] for modules in trainings]
        for name, one in large.items()
    }


def _lines_of_inside(trainings: Sequence[Modules]) -> list[Line]:
    by_training = np.array(list(_inside(trainings).values()))  # (layers, seeds)
    what = "share of a layer's sensitivity in its top 20 % of the weights"
    layers = f"{len(by_training)} layers"
    return [
        Line(
            "past-fig-13b", f"{what}, mean of {layers}", None, over_trainings(by_training.mean(0))
        ),
        Line("past-fig-13b", f"{what}, lowest", None, over_trainings(by_training.min(0))),
        Line("past-fig-13b", f"{what}, highest", None, over_trainings(by_training.max(0))),
    ]


PLANS = {profile: (plan,) for profile, plan in NETWORK.items()}
ITEMS = (
    Item(
        name="past-fig-10",
        paper="PAST",
        shows="The sensitivity of each module by epoch of tuning",
        data="cifar10",
        plans=PLANS,
        make=fig_10,
    ),
    Item(
        name="past-fig-12",
        paper="PAST",
        shows="The sensitivity of the last layer at the first, a middle and the last epoch",
        data="cifar10",
        plans=PLANS,
        make=fig_12,
    ),
    Item(
        name="past-fig-13",
        paper="PAST",
        shows="Sensitivity (a) of the last layer, normal and PAST; (b) within each layer",
        data="cifar10",
        plans=PLANS,
        make=fig_13,
    ),
)
