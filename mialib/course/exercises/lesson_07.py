"""The checks of lesson 07: how few carry a share of the total, and losses that leak without a gap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import _check, _same_as

_gradient = np.random.default_rng(0).normal(size=50) ** 3


def _weights_needed(gradient: np.ndarray, share: float) -> int:
    carried = np.cumsum(np.sort(np.abs(gradient))[::-1])
    return int(np.searchsorted(carried, share * carried[-1])) + 1


# 7.1: gradients have signs, and a share of the total is one of sizes.
check_weights_needed = _same_as(
    _weights_needed,
    (np.array([4.0, 1.0, 2.0, 3.0]), 0.65), (np.array([-8.0, 1.0, 0.5, 0.25, 0.25]), 0.75), (_gradient, 0.8927),
    hint="Add up sizes, the largest first, until the share is reached.",
)  # fmt: skip


@_check
def check_silent_leak(answer: Callable) -> str | None:
    """Exercise 7.2: equal means, and a threshold on the loss that finds nearly everyone."""
    for n in (100, 1000):
        member, non_member = (np.asarray(losses, float) for losses in answer(n))
        if member.shape != (n,) or non_member.shape != (n,):
            return f"For n = {n} expected two arrays of shape ({n},), found {member.shape} and {non_member.shape}."
        if not (
            np.isfinite([member, non_member]).all() and min(member.min(), non_member.min()) >= 0
        ):
            return "A loss is a finite number and never below 0."
        if abs(gap := non_member.mean() - member.mean()) > 1e-9 * member.mean() + 1e-12:
            return f"For n = {n} the means must be equal, found a gap of {gap:.3g}."
        found = metrics.best_advantage(-np.concatenate([member, non_member]), np.arange(2 * n) < n)
        if found < 0.98:
            return f"For n = {n} the best threshold on the loss has an advantage of {found:.2f} only; 0.98 is asked for."
    return None
