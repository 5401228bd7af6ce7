"""What several items of PAST ask of the results.

    tunings(found)                      # PAST's settings by λ and α, as long as usual
    tunings(found, penalty="l2")
    watched(found)["PAST"]              # every epoch of a tuning, each with all its seeds
    over_trainings([0.61, 0.66, 0.63])  # the mean and Student's interval; of one, a note

The paper compares defenses at the accuracy of the undefended model: `least_leak` is the setting
that leaks least among those that are not less accurate. Like the paper, it chooses and judges on
the same records, so it flatters whoever has more settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, inf, isnan, log, nan
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from mialib import profiles
from mialib.course.statistics import mean_difference, student
from mialib.course.tunings import accuracy_apart
from mialib.defenses import Past
from mialib.estimates import Estimate, words
from mialib.reproductions import arms
from mialib.reproductions.items import Evidence, Line
from mialib.results import Results, Row

Points = list[tuple[Estimate, Estimate]]
ALL_PROFILES = ("quick", "cpu", "class", "paper")
RUINED = 0.5  # A training that ends below so much of the undefended accuracy is ruined.
LESS_ACCURATE = Estimate(nan, note="every setting is less accurate than the undefended model")
ONE_LESS_ACCURATE = Estimate(
    nan, note="every setting of one of the two is less accurate than the undefended model"
)
NEAR = 0.01  # Two settings are of equal accuracy up to here.
NONE_NEAR = Estimate(nan, note=f"no two settings within {NEAR} of accuracy")
SHARE = (0.0, 1.0)  # the limits of a share


class Strength(NamedTuple):
    """What decides how strongly PAST pulls."""

    lam: float
    alpha: float


def usual_tuning(evidence: Evidence, experiment: str = "images tuned") -> Past:
    """PAST as the profile tunes its images, or what else the experiment names."""
    defense = profiles.load(evidence.profile).experiments[experiment].defense
    assert isinstance(defense, Past)
    return defense


# Settings.


def tunings(found: Results, **changes: Any) -> dict[Strength, Results]:
    """PAST's settings by λ and α with all their trainings, also those that diverged.

    Usual are an ℓ1 penalty and as many epochs as the control with λ = 0 has; `changes` asks for
    something else. λ = 0 is left out.
    """
    words = arms.USUAL_PAST | {"epochs": control(found)["epochs"]} | changes
    by_strength = {
        Strength(row["lam"], row["alpha"]): one
        for one in found.settings()
        for row in [one.rows[0].settings]
        if _has(row, words) and row["lam"] > 0
    }
    return dict(sorted(by_strength.items()))


def tuned_for(found: Results, strength: Strength) -> dict[float, Results]:
    """One strength of PAST by how many epochs the tuning was planned to last."""
    words = arms.USUAL_PAST | strength._asdict()
    settings = [one for one in found.settings() if _has(one.rows[0].settings, words)]
    by_epochs = {one.rows[0].settings["epochs"]: one for one in settings}
    return dict(sorted(by_epochs.items()))


def control(found: Results) -> dict[str, Any]:
    """The settings of tuning with λ = 0: how long it is, and every switch."""
    words = {"defense": "Past", "lam": 0.0, "after": None}
    return next(row.settings for row in found.rows if _has(row.settings, words))


def _has(settings: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    return all(settings.get(word) == value for word, value in words.items())


def is_intact(one: Results, plain: Results) -> bool:
    """Whether no training diverged, and none ended far below the undefended accuracy."""
    least = RUINED * plain.by_seed("accuracy").mean()
    if any(row.failure for row in one.rows):
        return False
    return bool((one.by_seed("accuracy") >= least).all())


def intact(settings: Mapping[Strength, Results], plain: Results) -> dict[Strength, Results]:
    return {strength: one for strength, one in settings.items() if is_intact(one, plain)}


def told_ruined(settings: Mapping[Strength, Results], plain: Results) -> str:
    """Settings that have no point, and why: never a zero."""
    ruined = [
        f"λ = {at.lam:g}, α = {at.alpha:g}"
        for at, one in settings.items()
        if not is_intact(one, plain)
    ]
    if not ruined:
        return ""
    return f"Not drawn, because a training diverged or collapsed: {'; '.join(ruined)}."


# The paper's way to compare.


def least_leak(
    settings: Iterable[Results], plain: Results, what: str, *arguments: str
) -> Results | None:
    """Of the settings that are not less accurate than the undefended model, the one that leaks
    least by `what`; nothing where all are less accurate."""
    accurate = [one for one in settings if is_as_accurate(one, plain)]
    if not accurate:
        return None
    return min(accurate, key=lambda one: one.by_seed(what, *arguments).mean())


def is_as_accurate(one: Results, plain: Results) -> bool:
    """Whether its accuracy is not told to be lower; of one training, the number itself counts."""
    difference = one.paired(plain, "accuracy")
    if isnan(difference.low):
        return difference.value >= 0
    return words(difference) != "lower" and is_intact(one, plain)


def apart_at_best(
    settings: Iterable[Results],
    others: Iterable[Results],
    plain: Results,
    what: str,
    *arguments: str,
) -> Estimate:
    """`what` of the setting that leaks least, minus that of the others' such setting."""
    one = least_leak(settings, plain, what, *arguments)
    other = least_leak(others, plain, what, *arguments)
    if one is None or other is None:
        return ONE_LESS_ACCURATE
    return one.paired(other, what, *arguments)


def apart_at_equal_accuracy(
    settings: Iterable[Results], controls: Sequence[Results], what: str, *arguments: str
) -> Estimate:
    """The mean difference of settings to the control that is nearest in accuracy, where one is."""
    pairs = []
    for one in settings if controls else ():
        nearest = min(controls, key=lambda other: abs(accuracy_apart(one, other)))
        if abs(accuracy_apart(one, nearest)) <= NEAR:
            pairs.append((one, nearest))
    return mean_difference(pairs, what, *arguments) if pairs else NONE_NEAR


def numbers_first(lines: Iterable[Line]) -> list[Line]:
    """The lines that have a number before those that say why they have none."""
    return sorted(lines, key=lambda line: isnan(line.own.value))


# Epochs.


def watched(found: Results) -> dict[str, list[Results]]:
    """Every epoch of training and of each tuning, by what figures call it; the first is epoch 0.

    Trainings that diverged have no epochs to show, and are left out.
    """
    by_arm: dict[str, list[Results]] = {"training": [], "PAST": [], "uniform ℓ1": [], "λ = 0": []}
    for moment in found.settings():
        if not all(row.failure for row in moment.rows):
            by_arm[_arm(moment.rows[0])].append(moment.finished())
    for moments in by_arm.values():
        moments.sort(key=lambda moment: moment.rows[0].settings["epoch"])
    return {arm: moments for arm, moments in by_arm.items() if moments}


def _arm(row: Row) -> str:
    settings = row.settings
    if settings["defense"] == "Plain":
        return "training"
    if settings["lam"] == 0:
        return "λ = 0"
    return "PAST" if settings["alpha"] > 0 else "uniform ℓ1"


def by_seed_and_epoch(moments: Sequence[Results], ask: Callable[[Results], Any]) -> np.ndarray:
    """What `ask` finds in each training after each epoch: (seeds, epochs)."""
    return np.array([ask(moment) for moment in moments], float).T


# Numbers of a few trainings.


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's: whether two rows of numbers rise and fall together."""
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def over_trainings(
    values: Iterable[float], *, limits: tuple[float, float] = (-inf, inf)
) -> Estimate:
    """The mean over trainings with Student's interval; one training has none.

    `limits` are those of the number itself, beyond which no interval reaches.
    """
    known = [float(value) for value in values]
    if len(known) > 1:
        value, low, high = student(known).triple
        return Estimate(value, max(low, limits[0]), min(high, limits[1]))
    (value,) = known
    return Estimate(value, note=f"{value:z.3g} (one training, so without an interval)")


def ratio_over_trainings(values: Iterable[float]) -> Estimate:
    """The geometric mean of ratios, with the interval of their logarithms."""
    known = [float(value) for value in values]
    if len(known) == 1:
        return over_trainings(known)
    value, low, high = (exp(end) for end in student([log(ratio) for ratio in known]).triple)
    return Estimate(value, low, high)
