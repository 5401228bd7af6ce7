"""The self-checks of lesson 04: all shifts of one length, and a gradient by the input."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as

_rng = np.random.default_rng(0)


@check
def check_l1_shifts(answer: Answer) -> str | None:
    """Exercise 4.1: no shift, and all shifts at distance d."""
    for d in (1, 2, 3):
        shifts = [tuple(shift) for shift in answer(d)]
        around = {(i, j) for i in range(-d, d + 1) for j in (d - abs(i), abs(i) - d)}
        expected = {(0, 0)} | around
        if len(shifts) != len(expected) or set(shifts) != expected:
            wanted = f"{4 * d + 1} shifts, (0, 0) and all with |i| + |j| = {d}"
            return f"For d = {d} expected {wanted}; found {shifts}."
    return None


def _numeric_gradient(weights: np.ndarray, x: np.ndarray, label: int) -> np.ndarray:
    """The gradient of softmax regression's loss by finite differences."""
    step = 1e-6 * np.eye(len(x))

    def loss(inputs: np.ndarray) -> np.ndarray:
        logits = inputs @ weights.T  # (d, classes)
        partition = np.exp(logits).sum(axis=1)
        return np.log(partition) - logits[:, label]

    slope = (loss(x + step) - loss(x - step)) / 2e-6
    return slope.round(7)


# Exercise 4.2: the input gradient.
check_input_gradient = same_as(
    _numeric_gradient,
    *((_rng.normal(size=(3, 4)), _rng.normal(size=4), label) for label in range(3)),
    hint="Weigh each class's row of weights by its probability, less 1 for the label.",
)
