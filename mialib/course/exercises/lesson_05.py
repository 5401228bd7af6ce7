"""The self-checks of lesson 05: an advantage tuned on the target, and an attack that never asks."""

from __future__ import annotations

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import Answer, check, same_as

_rng = np.random.default_rng(0)

# Exercise 5.1: the advantage that a threshold tuned on the target claims, also on pure noise.
check_claimed_advantage = same_as(
    metrics.best_advantage,
    (np.array([4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False])),
    (np.array([1.0, 2.0, 3.0]), np.array([True, False, False])),
    *((_rng.normal(size=100), np.arange(100) < 50) for _ in range(3)),
    hint="The best threshold may let nobody in.",
)


@check
def check_blind_scores(answer: Answer) -> str | None:
    """Exercise 5.2: wins where the sources differ, and only there."""
    rng = np.random.default_rng(0)
    is_member = np.arange(400) < 200
    for shift, low, high in ((0.5, 0.8, 1.0), (-0.5, 0.8, 1.0), (0.0, 0.35, 0.65)):
        moved = shift * is_member[:, None]
        known = rng.normal(size=(400, 10)) + moved
        asked = rng.normal(size=(400, 10)) + moved
        auc = metrics.auc(answer(known, is_member, asked), is_member)
        if not low <= auc <= high:
            sources = f"differ by {shift} in every feature" if shift else "come from one source"
            expected = f"expected an AUC in {low} … {high}, found {auc:.2f}"
            return f"Where members and non-members {sources}, {expected}."
    return None
