"""The self-checks of lesson 07: how few carry a share of the total, and leaks without a gap."""

from __future__ import annotations

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import Answer, check, same_as

_gradient = np.random.default_rng(0).normal(size=50) ** 3


def _weights_needed(gradient: np.ndarray, share: float) -> int:
    largest_first = np.sort(np.abs(gradient))[::-1]
    carried = np.cumsum(largest_first)
    return int(np.searchsorted(carried, share * carried[-1])) + 1


# Exercise 7.1: gradients have signs, and a share of the total is one of sizes.
check_weights_needed = same_as(
    _weights_needed,
    (np.array([4.0, 1.0, 2.0, 3.0]), 0.65),
    (np.array([-8.0, 1.0, 0.5, 0.25, 0.25]), 0.75),
    (_gradient, 0.8927),
    hint="Add up sizes, the largest first, until the share is reached.",
)


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
