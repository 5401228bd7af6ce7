"""The self-checks of lesson 14: a promise of accuracy, and a winner that is measured elsewhere."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as

ACCURACY = np.array([0.60, 0.55, 0.58, 0.30, 0.57])
LEAK = np.array([0.58, 0.30, 0.41, 0.05, 0.30])


def _best_within(accuracy: np.ndarray, leak: np.ndarray, promise: float) -> int:
    keeps = accuracy >= accuracy[0] - promise
    return int(np.argmin(np.where(keeps, leak, np.inf)))


# Exercise 14.1: of those that keep the promise, the one that leaks least.
check_best_within = same_as(
    _best_within,
    (ACCURACY, LEAK, 0.04),
    (ACCURACY, LEAK, 0.02),
    (ACCURACY, LEAK, 0.0),
    (ACCURACY, LEAK, 0.5),
    (ACCURACY[::-1].copy(), LEAK[::-1].copy(), 0.1),
    hint="The floor is the first model's accuracy minus the promise; below it nobody counts.",
)


@check
def check_honest_winner(answer: Answer) -> str | None:
    """Exercise 14.2: the winner of the first half, and its number on the second half."""
    rng = np.random.default_rng(0)
    for count in (1, 3, 20):
        choosing = rng.random(count)
        measuring = rng.random(count)
        expected = measuring[choosing.argmin()]
        found = answer(choosing.copy(), measuring.copy())
        if np.isclose(found, expected):
            continue
        case = f"For {count} settings expected {expected:.4f}, found {float(found):.4f}."
        if np.isclose(found, choosing.min()):
            return f"{case} That is the number that chose it; take the other half's."
        if np.isclose(found, measuring.min()):
            return f"{case} The second half chose, too; let it only measure."
        return f"{case} Which setting is lowest in `choosing`?"
    return None
