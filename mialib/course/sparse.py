"""Sparse networks and dense ones of the same members, sorted by what was done to them.

found = networks(results("pruned", PROFILE), results("butterflies", PROFILE))
found.dense, found.pruned                       # the dense network, and the rounds of IMP
pairs = matches(found.pruned, found.without_zeros())    # each with its nearest in accuracy
differences(pairs)["highest advantage"]         # all of them together, as one number
show(figures.defense_panels(found.points(), star=place(found.dense), labels=found.labels()))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mialib import profiles
from mialib.course.statistics import accuracy_aside, mean_difference, student
from mialib.estimates import Estimate
from mialib.results import Results

Pair = tuple[Results, Results]
Point = tuple[Estimate, Estimate]  # test accuracy and defense level

# What `differences` tells of pairs: the arguments and options of `Results.paired`.
NUMBERS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "test accuracy": (("accuracy",), {}),
    "D": (("defense_level",), {}),
    "discriminator's AUC": (("auc", "discriminator"), {}),
    "its TPR at 1 % FPR": (("tpr", "discriminator"), {"fpr": 0.01}),
    "highest advantage": (("highest",), {}),
}


class Shape(NamedTuple):
    """A butterfly network: how many segments S, and how many factors L."""

    segments: int
    factors: int

    def __str__(self) -> str:
        return f"S = {self.segments}, L = {self.factors}"


@dataclass(frozen=True)
class Networks:
    """Networks that were trained on the same members.

    dense        as it was trained at first
    pruned       the rounds of IMP after it
    retrained    the same rounds, in which nothing was pruned
    stopped      dense, after a few epochs
    narrow       dense, with fewer channels
    at_once      pruned in a single round
    butterflies  by shape
    """

    dense: Results
    pruned: list[Results] = field(default_factory=list)
    retrained: list[Results] = field(default_factory=list)
    stopped: list[Results] = field(default_factory=list)
    narrow: list[Results] = field(default_factory=list)
    at_once: list[Results] = field(default_factory=list)
    butterflies: dict[Shape, Results] = field(default_factory=dict)

    def without_zeros(self) -> list[Results]:
        """All dense networks, among which a sparse one finds its match."""
        return [self.dense, *self.retrained, *self.stopped, *self.narrow]

    def kinds(self) -> dict[str, list[Results]]:
        """Those that are there, by the names that figures have colours for."""
        kinds: dict[str, list[Results]] = {}
        for shape, one in self.butterflies.items():
            kinds.setdefault(f"butterflies, L = {shape.factors}", []).append(one)
        kinds |= {
            "pruned (IMP)": self.pruned,
            "pruned at once": self.at_once,
            "dense, stopped early": self.stopped,
            "dense, narrow": self.narrow,
            "dense, retrained": self.retrained,
        }
        return {name: some for name, some in kinds.items() if some}

    def points(self, *, without: Sequence[str] = ()) -> dict[str, list[Point]]:
        """Where the networks of each kind stand in the plane, but for some kinds."""
        return {
            name: [place(one) for one in some]
            for name, some in self.kinds().items()
            if name not in without
        }

    def labels(self, *, also: Results | None = None) -> dict[str, list[str]]:
        """What to write beside the points, where there is room: from the last on, and at `also`."""
        labels = {}
        for name, some in self.kinds().items():
            step = len(some) if name.startswith("pruned") else 1 + (len(some) + 1) // 5
            labels[name] = [
                _label(one) if one is also or (len(some) - 1 - k) % step == 0 else ""
                for k, one in enumerate(some)
            ]
        for factors in {shape.factors for shape in self.butterflies}:
            alike = [shape for shape in self.butterflies if shape.factors == factors]
            labels[f"butterflies, L = {factors}"] = [f"S = {shape.segments}" for shape in alike]
        return labels


def networks(pruned: Results, butterflies: Results | None = None) -> Networks:
    """Sort the settings of the plans `pruned` and `butterflies`.

    Plans of different records cannot be compared: then the butterflies and their own dense network
    are all there is.
    """
    by_shape = {} if butterflies is None else _by_shape(butterflies)
    if butterflies is not None and butterflies.about["records"] != pruned.about["records"]:
        return Networks(by_shape.pop(Shape(0, 0)), butterflies=by_shape)
    settings = [one.finished() for one in pruned.settings()]
    dense, *rounds = [one for one in settings if _setting(one, "round") is not None]
    share = _setting(dense, "share")
    whole = [one for one in settings if _setting(one, "round") is None]
    return Networks(
        by_shape.pop(Shape(0, 0), dense),
        pruned=rounds,
        retrained=[one for one in whole if _setting(one, "share") == 0],
        stopped=[one for one in whole if _setting(one, "after") is not None],
        narrow=[one for one in whole if _setting(one, "width") is not None],
        at_once=[one for one in whole if (_setting(one, "share") or 0) > share],
        butterflies=by_shape,
    )


def _by_shape(butterflies: Results) -> dict[Shape, Results]:
    """In their order; the dense network has the shape (0, 0).

    A plan may vary the shape, or name experiments that have it among their options.
    """
    experiments = profiles.load(butterflies.about["profile"]).experiments
    by_shape = {}
    for one in butterflies.settings():
        settings = one.rows[0].settings
        options = experiments[settings["experiment"]].options | settings
        shape = Shape(options.get("segments", 0), options.get("factors", 0))
        by_shape[shape] = one.finished()
    return dict(sorted(by_shape.items()))


def _setting(one: Results, name: str) -> Any:
    return one.rows[0].settings.get(name)


def remaining(one: Results) -> float:
    """Its parameters that are not zero, in percent of the dense network's."""
    return float(np.mean(one.fact("sparsity", "remaining")))


def place(one: Results) -> Point:
    """Test accuracy and defense level."""
    return one.accuracy(), one.defense_level()


def called(one: Results) -> str:
    """What was done to a network that is no butterfly, as a table says it."""
    if _setting(one, "after") is not None:
        return f"stopped after {_setting(one, 'after')}"
    if _setting(one, "width") is not None:
        return f"width {_setting(one, 'width')}"
    if _setting(one, "round"):
        return f"IMP, {remaining(one):.1f} %"
    if _setting(one, "share") == 0:
        return f"retrained {_setting(one, 'prunings')} ×"
    is_dense = _setting(one, "round") == 0 or _setting(one, "share") is None
    return "dense" if is_dense else f"at once, {remaining(one):.1f} %"


def _label(one: Results) -> str:
    """The same as shortly as a figure needs it."""
    if _setting(one, "share") == 0:
        return ""
    short = called(one).replace("stopped after", "epoch")
    return short.rpartition(", ")[2]


# Comparing.


def nearest(one: Results, others: Sequence[Results]) -> Results:
    """The one nearest in accuracy, on records that no attack is asked about."""
    return min(others, key=lambda other: abs(accuracy_aside(other) - accuracy_aside(one)))


def matches(some: Sequence[Results], others: Sequence[Results]) -> list[Pair]:
    """Each network with its nearest."""
    return [(one, nearest(one, others)) for one in some]


def differences(pairs: Sequence[Pair]) -> dict[str, Estimate]:
    """The first minus the second of all pairs together: one number where many would mislead."""
    return {
        name: mean_difference(pairs, *arguments, **options)
        for name, (arguments, options) in NUMBERS.items()
    }


def slope(settings: Sequence[Results]) -> Estimate:
    """Of the least-squares line of defense level on accuracy, in points: the mean over seeds."""
    accuracy = 100 * np.stack([one.by_seed("accuracy") for one in settings], axis=1)
    level = np.stack([one.by_seed("defense_level") for one in settings], axis=1)
    lines = [np.polyfit(*line, 1)[0] for line in zip(accuracy, level, strict=True)]
    return student(lines)


def in_percent(estimate: Estimate) -> Estimate:
    """A share, or a difference of shares, in points."""
    value, low, high = (100 * number for number in estimate.triple)
    return Estimate(value, low, high)
