"""The self-checks of lesson 09: a control that a claim must beat, and an α that focuses."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import same_as
from mialib.course.statistics import fair_control

_rng = np.random.default_rng(0)

# Exercise 9.1: the control that a claim must beat.
check_control_for = same_as(
    fair_control,
    (0.6, np.array([0.598, 0.592, 0.5]), np.array([0.4, 0.3, 0.1])),
    (0.55, np.array([0.4, 0.52]), np.array([0.1, 0.5])),
    (0.6, np.array([0.57, 0.605, 0.66]), np.array([0.1, 0.3, 0.2])),
    hint="Of the controls at most 0.01 less accurate take the one with the lowest advantage; "
    "-1 if there is none.",
)


def _focus_only(gradient: np.ndarray, alpha: float) -> np.ndarray:
    power = np.abs(gradient) ** alpha
    return power / max(power.mean(), 1e-30)


# Exercise 9.2: γ^α over its mean in the module.
check_focus_only = same_as(
    _focus_only,
    (np.array([[0.2, -0.2], [0.4, 0.0]]), 2.5),
    (_rng.normal(size=(3, 4)), 0.0),
    (_rng.normal(size=50), 1.5),
    (np.zeros(4), 2.0),
    hint="The answer must have mean 1, or be all zeros where the gradient is.",
)
