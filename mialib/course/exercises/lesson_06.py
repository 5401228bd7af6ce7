"""The checks of lesson 06: what P1 pays for privacy, and a strength chosen under a promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import _check, _same_as

# 6.1: P1 solved for the accuracy.
check_accuracy_for_p1 = _same_as(
    lambda p1, advantage: p1 * (1 - advantage) / (2 * (1 - advantage) - p1),
    (0.5, 0.5), (metrics.p1(0.6, 0.7), 0.7), (metrics.p1(0.54, 0.61), 0.05),
    hint="With v = 1 − advantage, solve P1 = 2·a·v / (a + v) for a.",
)  # fmt: skip


@_check
def check_choose_strength(answer: Callable) -> str | None:
    """Exercise 6.2: the lowest advantage among those that keep the promise; row 0, undefended, always may."""
    rng = np.random.default_rng(0)
    cases = [
        (
            [0.6, 0.62, 0.59, 0.4],
            [0.7, 0.65, 0.3, 0.1],
            0.02,
            "the fourth gives up too much accuracy",
        ),
        (
            [0.6, 0.5, 0.4, 0.3],
            [0.7, 0.2, 0.1, 0.0],
            0.02,
            "none but the undefended keeps the promise",
        ),
        ([0.6, 0.58, 0.61], [0.7, 0.5, 0.8], 0.0, "the only one that is more accurate leaks more"),
    ]
    drawn = rng.uniform(0.1, 0.8, (3, 2, 8))
    cases += [(*pair, 0.1, "all eight were drawn at random") for pair in drawn]
    for accuracy, advantage, most, remark in cases:
        accuracy, advantage = np.array(accuracy), np.array(advantage)
        allowed = np.flatnonzero(accuracy >= accuracy[0] - most)
        expected, found = (
            int(allowed[advantage[allowed].argmin()]),
            answer(accuracy.copy(), advantage.copy(), most),
        )
        if np.ndim(found) or found != expected:
            given = f"accuracy {accuracy.round(2).tolist()}, advantage {advantage.round(2).tolist()} and most = {most}"
            return f"For {given} expected row {expected}, found {found}: {remark}."
    return None
