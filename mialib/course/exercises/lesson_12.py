"""The self-checks of lesson 12: how many prunings a percentage takes, and how often the paper's rule errs."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from mialib.course.exercises.check import _check, _same_as

RATES = {
    3: 0.0833,
    5: 0.0157,
}  # of false alarms by the paper's rule, by repeats: from two million pairs


def _prunings_to(prunable: int, others: int, share: float, percent: float) -> int:
    left, rounds = prunable, 0
    while 100 * (left + others) / (prunable + others) > percent:
        left -= ceil(share * left)
        rounds += 1
    return rounds


# 12.1: what is never pruned counts as remaining, and nothing is pruned if the percentage is already reached.
check_prunings_to = _same_as(
    _prunings_to, (270_896, 1_578, 0.2, 20.0), (270_896, 1_578, 0.2, 3.0), (100, 900, 0.5, 91.0), (100, 0, 0.2, 100.0),
    hint="Take ⌈share · what is left⌉ away in every round; what is left *and* what is never pruned count as remaining.",
)  # fmt: skip


@_check
def check_false_alarms(answer: Callable) -> str | None:
    """Exercise 12.2: the rate at which mean ± sd of two equal experiments are disjoint."""
    for repeats, expected in RATES.items():
        found = float(answer(repeats, np.random.default_rng(12)))
        if not 0 <= found <= 1:
            return f"Expected a share between 0 and 1, found {found:.3g}."
        if abs(found - expected) > 0.1 * expected + 0.003:
            advice = "Both directions count, and the standard deviation divides by n − 1"
            return f"With {repeats} repeats expected about {expected:.3f}, found {found:.3f}. {advice}."
    return None
