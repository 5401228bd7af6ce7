"""The self-checks of lesson 08: PAST's adaptive weight and the proximal step."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import same_as

_FIRST, _SECOND = np.random.default_rng(8).normal(size=(2, 2, 3)).round(2)


def _gamma(member_gradient: np.ndarray, non_member_gradient: np.ndarray) -> np.ndarray:
    size = np.abs(non_member_gradient - member_gradient)
    return size / max(size.mean(), 1e-12)


# Exercise 8.1: the size of the gap's gradient, over its mean in the module.
check_gamma = same_as(
    _gamma,
    (_FIRST, _SECOND),
    (_FIRST, _FIRST),
    hint="γ is never negative, has mean 1, and is 0 where there is no gap.",
)


def _proximal_step(weights: np.ndarray, importance: np.ndarray, step: float) -> np.ndarray:
    left = np.maximum(np.abs(weights) - step * importance, 0)
    return np.sign(weights) * left


# Exercise 8.2: a step that may reach zero, and stops there.
check_proximal_step = same_as(
    _proximal_step,
    (_FIRST, np.abs(_SECOND), 0.3),
    (_FIRST, np.zeros_like(_FIRST), 1.0),
    (_FIRST, np.ones_like(_FIRST), 100.0),
    hint="A weight that would cross zero stops there; the sign stays.",
)
