"""The self-checks of lesson 01: a threshold for a false-positive rate, and whether to accuse."""

from __future__ import annotations

from functools import cache

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import Answer, check
from mialib.experiments import results

PRIOR = 0.1
SURE = 0.9  # of the accusations must be right
AT_LEAST = 0.05  # of the members are accused
NEAR = 0.02  # so far a learner's own training may lie outside the shipped ones
ACCUSE = "accuse"
SILENT = "stay silent"


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


@cache
def highest_ppvs() -> np.ndarray:
    """The best that a threshold on the loss reaches in each shipped training: (trainings,)."""
    plain = results("base", "quick").find(defense="Plain")
    return np.array([_highest_ppv(one, plain.is_member) for one in plain.losses.astype(float)])


def _highest_ppv(loss: np.ndarray, is_member: np.ndarray) -> float:
    curve = metrics.roc(-loss, is_member)
    enough = curve.tpr >= AT_LEAST
    return float(np.max(metrics.ppv(curve.tpr[enough], curve.fpr[enough], PRIOR)))


@check
def check_verdict_at_a_prior(answer: Answer) -> str | None:
    """Exercise 1.2: how often an accusation is right at best, and what follows."""
    ppv, deed = answer()
    found = float(ppv)
    low, high = highest_ppvs().min(), highest_ppvs().max()
    if not low - NEAR <= found <= high + NEAR:
        return _ppv_complaint(found, low, high)
    wanted = ACCUSE if high >= SURE else SILENT
    if deed != wanted:
        return f"Nine of ten accusations should be right, and {found:.0%} are. Found {deed!r}."
    return None


def _ppv_complaint(found: float, low: float, high: float) -> str:
    reach = f"In our ten trainings the highest PPV is {low:.0%} to {high:.0%}; found {found:.3g}."
    if found > 0.5:
        return f"{reach} Is the prior {PRIOR}, and not the half of the balanced game?"
    if found > high:
        return f"{reach} Are at least {AT_LEAST:.0%} of the members accused?"
    return f"{reach} Have you tried every threshold, loose ones too?"
