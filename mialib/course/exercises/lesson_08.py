"""Self-checks of lesson 08: PAST's adaptive weight and the proximal step."""

import numpy as np

from mialib.course.exercises.check import _same_as

_FIRST, _SECOND = np.random.default_rng(8).normal(size=(2, 2, 3)).round(2)


def _gamma(member_gradient: np.ndarray, other_gradient: np.ndarray) -> np.ndarray:
    size = np.abs(other_gradient - member_gradient)
    return size / max(size.mean(), 1e-12)


check_gamma = _same_as(
    _gamma,
    (_FIRST, _SECOND),
    (_FIRST, _FIRST),
    hint="γ is never negative, has mean 1, and is 0 where there is no gap.",
)
check_proximal_step = _same_as(
    lambda weights, importance, step: np.sign(weights) * np.maximum(np.abs(weights) - step * importance, 0),
    (_FIRST, np.abs(_SECOND), 0.3), (_FIRST, np.zeros_like(_FIRST), 1.0), (_FIRST, np.ones_like(_FIRST), 100.0),
    hint="A weight that would cross zero stops there; the sign stays.",
)  # fmt: skip
