"""The self-checks of lesson 09: a penalty that α only focuses, and the control that a claim must beat."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import _same_as

_rng = np.random.default_rng(0)


def _focus_only(gradient: np.ndarray, alpha: float) -> np.ndarray:
    power = np.abs(gradient) ** alpha
    return power / max(power.mean(), 1e-30)


def fair_control(accuracy: float, accuracies: np.ndarray, advantages: np.ndarray) -> int:
    """Among the controls that are at most 0.01 less accurate, the place of the lowest advantage; -1 if there is none.

    >>> fair_control(0.6, np.array([0.59, 0.63, 0.5]), np.array([0.4, 0.3, 0.1]))
    1
    """
    allowed = np.where(accuracies >= accuracy - 0.01 - 1e-12, advantages, np.inf)
    return int(np.argmin(allowed)) if np.isfinite(allowed).any() else -1


# 9.1: the control that a claim must beat. 9.2: γ^α over its mean in the module.
check_control_for = _same_as(
    fair_control,
    (0.6, np.array([0.598, 0.592, 0.5]), np.array([0.4, 0.3, 0.1])),
    (0.55, np.array([0.4, 0.52]), np.array([0.1, 0.5])),
    (0.6, np.array([0.57, 0.605, 0.66]), np.array([0.1, 0.3, 0.2])),
    hint="Of the controls at most 0.01 less accurate take the one with the lowest advantage; -1 if there is none.",
)
check_focus_only = _same_as(
    _focus_only,
    (np.array([[0.2, -0.2], [0.4, 0.0]]), 2.5),
    (_rng.normal(size=(3, 4)), 0.0), (_rng.normal(size=50), 1.5), (np.zeros(4), 2.0),
    hint="The answer must have mean 1, or be all zeros where the gradient is.",
)  # fmt: skip
