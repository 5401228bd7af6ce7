"""The self-checks of lesson 11: partners of the same class, and the privacy that an attack has refuted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mialib.course.exercises.check import _check, _same_as


@_check
def check_partners(answer: Callable) -> str | None:
    """Exercise 11.1: a place of the same class for each, every record of the class as likely as any other."""
    rng = np.random.default_rng(0)
    labels = np.array([2, 0, 1, 1, 0, 2, 1, 0, 0, 2, 3])  # class 3 has a single record
    wanted = rng.integers(0, 4, 4000)
    found = np.asarray(answer(wanted.copy(), labels.copy(), np.random.default_rng(1)))
    if found.shape != wanted.shape or found.dtype.kind not in "iu":
        return f"Expected {len(wanted)} places, as whole numbers, found shape {found.shape} and type {found.dtype}."
    if found.min() < 0 or found.max() >= len(labels):
        return (
            f"A place lies between 0 and {len(labels) - 1}, found {found.min()} to {found.max()}."
        )
    if (labels[found] != wanted).any():
        k = int(np.argmax(labels[found] != wanted))
        return f"A record of class {wanted[k]} was given a partner of class {labels[found[k]]}."
    expected = (
        np.bincount(wanted)[labels] / np.bincount(labels)[labels]
    )  # draws of each place, on average
    drawn = np.bincount(found, minlength=len(labels))
    if (np.abs(drawn - expected) > 0.25 * expected).any():
        k = int(np.argmin(drawn / expected))
        return f"Place {k} was drawn {drawn[k]} times; about {expected[k]:.0f} were due, as for the rest of its class."
    return None


def _least_epsilon(tpr: float, fpr: float, delta: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.maximum([tpr - delta, 1 - fpr - delta], 0) / np.array([fpr, 1 - tpr])
        return float(np.nanmax([0.0, *np.log(ratios)]))


# 11.2: both inequalities, never below 0, and infinite where a promise is broken at once.
check_least_epsilon = _same_as(
    _least_epsilon,
    (0.5, 0.1, 0.0), (0.999, 0.5, 1e-5), (0.2, 0.6, 1e-5), (0.05, 0.01, 0.1), (0.3, 0.0, 1e-5), (1.0, 0.4, 1e-5),
    hint="Take the larger ε of the two promises, TPR ≤ e^ε·FPR + δ and 1 − FPR ≤ e^ε·(1 − TPR) + δ, at least 0, and "
    "infinite where a rate above δ meets 0.",
)  # fmt: skip
