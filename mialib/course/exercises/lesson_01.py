"""The self-checks of lesson 01: a threshold for a false-positive rate, and the rate for a PPV."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as


@check
def check_threshold_for_fpr(answer: Answer) -> str | None:
    """Exercise 1.1: the smallest threshold whose false-positive rate is at most `fpr`."""
    rng = np.random.default_rng(0)
    for n, fpr in ((1000, 0.001), (1000, 0.1), (50, 0.01), (10, 0.5)):
        scores = rng.normal(size=n).round(2)  # Rounding makes ties.
        complaint = _threshold_complaint(float(answer(scores.copy(), fpr)), scores, fpr)
        if complaint:
            return f"With {n} non-members and fpr = {fpr} {complaint}"
    return None


def _threshold_complaint(threshold: float, scores: np.ndarray, fpr: float) -> str | None:
    rate = (scores >= threshold).mean()
    if rate > fpr:
        return f"your threshold raises too many false alarms: {rate:.2%}."
    allowed = [score for score in scores if (scores >= score).mean() <= fpr]
    if allowed and (scores >= threshold).sum() < (scores >= min(allowed)).sum():
        return "a lower threshold would still keep the promise."
    return None


def _largest_fpr(tpr: float, prior: float, ppv: float) -> float:
    return tpr * prior * (1 - ppv) / (ppv * (1 - prior))


# Exercise 1.2: the FPR at which accusations are right often enough.
check_largest_fpr = same_as(
    _largest_fpr,
    (0.5, 0.01, 0.9),
    (0.8, 0.5, 0.5),
    (0.04, 0.1, 0.99),
    hint="Solve PPV = TPR·π / (TPR·π + FPR·(1 − π)) for FPR.",
)
