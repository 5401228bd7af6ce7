"""The self-checks of lesson 07: which sentences the evidence carries, and leaks without a gap."""

from __future__ import annotations

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import Answer, check
from mialib.course.exercises.judging import Sentence, signed_all

# What each sentence of exercise 7.1 rests on; `tests/support/claims` asks the results again.
SENTENCES = {
    "A": Sentence(True, "compare your network's curve with that of normal numbers."),
    "B": Sentence(False, "With membership shuffled, the top 20 % carried as much."),
    "C": Sentence(False, "An untrained network showed what is possible; nobody trained it."),
    "D": Sentence(True, "look at the left panel of the paths."),
    "E": Sentence(False, "In the second half of training one moved without the other."),
    "F": Sentence(True, "at 10 % false alarms, what was promised and what was measured?"),
}


@check
def check_signed(answer: Answer) -> str | None:
    """Exercise 7.1: the sentences that the lesson's evidence carries."""
    return signed_all(answer(), SENTENCES)


@check
def check_silent_leak(answer: Answer) -> str | None:
    """Exercise 7.2: equal means, and a threshold on the loss that finds nearly everyone."""
    for n in (100, 1000):
        member, non_member = (np.asarray(losses, float) for losses in answer(n))
        complaint = _leak_complaint(member, non_member, n)
        if complaint:
            return complaint
    return None


def _leak_complaint(member: np.ndarray, non_member: np.ndarray, n: int) -> str | None:
    if member.shape != (n,) or non_member.shape != (n,):
        shapes = f"found {member.shape} and {non_member.shape}"
        return f"For n = {n} expected two arrays of shape ({n},), {shapes}."
    losses = np.concatenate([member, non_member])
    if not np.isfinite(losses).all() or losses.min() < 0:
        return "A loss is a finite number and never below 0."
    gap = non_member.mean() - member.mean()
    if abs(gap) > 1e-9 * member.mean() + 1e-12:
        return f"For n = {n} the means must be equal, found a gap of {gap:.3g}."
    advantage = metrics.best_advantage(-losses, np.arange(2 * n) < n)
    if advantage < 0.98:
        reached = f"has an advantage of {advantage:.2f} only; 0.98 is asked for"
        return f"For n = {n} the best threshold on the loss {reached}."
    return None
