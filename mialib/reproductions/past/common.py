"""What several items of PAST ask of the results.

    tunings(found)                      # PAST's settings by λ and α, as long as usual
    tunings(found, penalty="l2")
    least_leak(settings, plain, "highest")

The paper compares defenses at the accuracy of the undefended model: `least_leak` is the setting
that leaks least among those that are not less accurate. Like the paper, it chooses and judges on
the same records, so it flatters whoever has more settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from mialib import profiles
from mialib.course.statistics import mean_difference
from mialib.course.tunings import accuracy_apart
from mialib.defenses import Past
from mialib.estimates import Estimate
from mialib.reproductions import arms, comparing
from mialib.reproductions.items import Evidence, Line
from mialib.results import Results

Points = list[tuple[Estimate, Estimate]]
ALL_PROFILES = ("quick", "cpu", "class", "paper")
RUINED = 0.5  # A training that ends below so much of the undefended accuracy is ruined.
LESS_ACCURATE = Estimate(nan, note="every setting is less accurate than the undefended model")
ONE_LESS_ACCURATE = Estimate(
    nan, note="every setting of one of the two is less accurate than the undefended model"
)
NEAR = 0.01  # Two settings are of equal accuracy up to here.
NONE_NEAR = Estimate(nan, note=f"no two settings within {NEAR} of accuracy")


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
    accurate = [one for one in settings if is_whole_and_accurate(one, plain)]
    if not accurate:
        return None
    return min(accurate, key=lambda one: one.by_seed(what, *arguments).mean())


def is_whole_and_accurate(one: Results, plain: Results) -> bool:
    """Whether its accuracy is not told to be lower, and no training of it is ruined."""
    return comparing.is_as_accurate(one, plain) and is_intact(one, plain)


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


# Numbers of a few trainings.


def by_seed_and_epoch(moments: Sequence[Results], ask: Callable[[Results], Any]) -> np.ndarray:
    """What `ask` finds in each training after each epoch: (seeds, epochs)."""
    return np.array([ask(moment) for moment in moments], float).T


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's: whether two rows of numbers rise and fall together."""
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])
