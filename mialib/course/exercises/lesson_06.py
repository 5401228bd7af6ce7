"""The self-checks of lesson 06: what P1 pays for privacy, and a strength chosen under a promise."""

from __future__ import annotations

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import Answer, check, same_as


def _accuracy_for_p1(p1: float, advantage: float) -> float:
    privacy = 1 - advantage
    return p1 * privacy / (2 * privacy - p1)


# Exercise 6.1: P1 solved for the accuracy.
check_accuracy_for_p1 = same_as(
    _accuracy_for_p1,
    (0.5, 0.5),
    (metrics.p1(0.6, 0.7), 0.7),
    (metrics.p1(0.54, 0.61), 0.05),
    hint="With v = 1 − advantage, solve P1 = 2·a·v / (a + v) for a.",
)

# accuracies, advantages, most accuracy to give up, and what the case is about
_CHOICES = [
    ([0.6, 0.62, 0.59, 0.4], [0.7, 0.65, 0.3, 0.1], 0.02, "the fourth gives up too much accuracy"),
    ([0.6, 0.5, 0.4, 0.3], [0.7, 0.2, 0.1, 0.0], 0.02, "none but the undefended keeps the promise"),
    ([0.6, 0.58, 0.61], [0.7, 0.5, 0.8], 0.0, "the only one that is more accurate leaks more"),
]


@check
def check_choose_strength(answer: Answer) -> str | None:
    """Exercise 6.2: the lowest advantage among those that keep the promise.

    Row 0 is undefended and always keeps it.
    """
    drawn = np.random.default_rng(0).uniform(0.1, 0.8, (3, 2, 8))
    random = [(*pair, 0.1, "all eight were drawn at random") for pair in drawn]
    for accuracies, advantages, most, remark in (*_CHOICES, *random):
        accuracy = np.array(accuracies)
        advantage = np.array(advantages)
        allowed = np.flatnonzero(accuracy >= accuracy[0] - most)
        expected = int(allowed[advantage[allowed].argmin()])
        row = answer(accuracy.copy(), advantage.copy(), most)
        if np.ndim(row) or row != expected:
            numbers = (
                f"accuracy {accuracy.round(2).tolist()}, advantage {advantage.round(2).tolist()}"
            )
            case = f"For {numbers} and most = {most}"
            return f"{case} expected row {expected}, found {row}: {remark}."
    return None
