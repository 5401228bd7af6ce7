"""The self-checks of lesson 12: how many prunings a percentage takes, and a rule's false alarms."""

from __future__ import annotations

from math import ceil

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as

# The paper's rule raises so many false alarms, by repeats: from two million pairs.
RATES = {3: 0.0833, 5: 0.0157}


def _prunings_to(prunable: int, others: int, share: float, percent: float) -> int:
    left = prunable
    rounds = 0
    while 100 * (left + others) / (prunable + others) > percent:
        left -= ceil(share * left)
        rounds += 1
    return rounds


# Exercise 12.1: what is never pruned counts as remaining; a percentage may be reached already.
check_prunings_to = same_as(
    _prunings_to,
    (270_896, 1_578, 0.2, 20.0),
    (270_896, 1_578, 0.2, 3.0),
    (100, 900, 0.5, 91.0),
    (100, 0, 0.2, 100.0),
    hint="Take ⌈share · what is left⌉ away in every round; what is left and what is never pruned "
    "both count as remaining.",
)


@check
def check_false_alarms(answer: Answer) -> str | None:
    """Exercise 12.2: the rate at which mean ± sd of two equal experiments are disjoint."""
    for repeats, expected in RATES.items():
        rate = float(answer(repeats, np.random.default_rng(12)))
        if not 0 <= rate <= 1:
            return f"Expected a share between 0 and 1, found {rate:.3g}."
        if abs(rate - expected) > 0.1 * expected + 0.003:
            advice = "Both directions count, and the standard deviation divides by n − 1."
            case = f"With {repeats} repeats expected about {expected:.3f}, found {rate:.3f}."
            return f"{case} {advice}"
    return None
