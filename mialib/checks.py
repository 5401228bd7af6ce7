"""The exercises' self-checks: each takes the learner's function and says *not done yet*, *not quite* or *right*.

>>> def threshold_for_fpr(non_member_scores, fpr):
...     raise NotImplementedError
>>> check_threshold_for_fpr(threshold_for_fpr)
Not done yet. Replace `raise NotImplementedError` and run the cell again.

A check never stops a notebook, so *Run all* works before the exercises are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np


@dataclass(frozen=True)
class Verdict:
    """What a check has to say."""

    right: bool
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"{'✔' if self.right else '✎'} **{self.text.split('.')[0]}.**{self.text.partition('.')[2]}"


def _check(ask: Callable[[Callable], str | None]) -> Callable[[Callable], Verdict]:
    """Turn a function that returns a complaint, or None, into a check that never raises."""

    @wraps(ask)
    def check(answer: Callable) -> Verdict:
        try:
            complaint = ask(answer)
        except NotImplementedError:
            return Verdict(False, "Not done yet. Replace `raise NotImplementedError` and run the cell again.")
        except Exception as error:
            return Verdict(False, f"Not quite. Your function raised {type(error).__name__}: {error}")
        return Verdict(False, f"Not quite. {complaint}") if complaint else Verdict(True, "Right.")

    return check


@_check
def check_gap_attack(answer: Callable) -> str | None:
    """Exercise 0.1: guess *member* where the prediction is right."""
    predicted, label = np.array([3, 1, 2, 2]), np.array([3, 2, 2, 0])
    found = np.asarray(answer(predicted, label))
    if found.shape != (4,) or found.dtype != bool:
        return f"Return one True or False for each record; found {found.dtype} of shape {found.shape}."
    if (found == [False, True, False, True]).all():
        return "The sign is turned round: members are the records that the model gets right."
    if (found != [True, False, True, False]).any():
        return f"For predictions {predicted} and labels {label} expected [True False True False]; found {found}."
    return None


@_check
def check_threshold_for_fpr(answer: Callable) -> str | None:
    """Exercise 1.1: the smallest threshold whose false-positive rate is at most `fpr`."""
    rng = np.random.default_rng(0)
    for n, fpr in ((1000, 0.001), (1000, 0.1), (50, 0.01), (10, 0.5)):
        scores = rng.normal(size=n).round(2)  # rounding makes ties
        found = float(answer(scores.copy(), fpr))
        rate = (scores >= found).mean()
        if rate > fpr:
            return f"With {n} non-members and fpr = {fpr} your threshold raises too many false alarms: {rate:.2%}."
        allowed = [s for s in scores if (scores >= s).mean() <= fpr]
        if allowed and (scores >= found).sum() < (scores >= min(allowed)).sum():
            return f"With {n} non-members and fpr = {fpr} a lower threshold would still keep the promise."
    return None


@_check
def check_largest_fpr(answer: Callable) -> str | None:
    """Exercise 1.2: the largest false-positive rate at which accusations are still right often enough."""
    for tpr, prior, ppv in ((0.5, 0.01, 0.9), (0.8, 0.5, 0.5), (0.04, 0.1, 0.99)):
        found = float(answer(tpr, prior, ppv))
        if not np.isfinite(found) or found <= 0:
            return f"For TPR {tpr}, prior {prior} and PPV {ppv} the answer is a positive number; found {found}."
        reached = tpr * prior / (tpr * prior + found * (1 - prior))
        if not np.isclose(reached, ppv, rtol=1e-6):
            return f"For TPR {tpr} and prior {prior}, an FPR of {found:.4g} gives PPV {reached:.3f}, not {ppv}."
    return None
