"""The self-checks of lesson 04: what is left when labels alone are returned, and a gradient."""

from __future__ import annotations

from functools import cache

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as
from mialib.experiments import results

LABEL_ONLY = ("correctness", "rotation (PAST)", "translation (PAST)")
OUTPUTS = (
    "loss",
    "max confidence",
    "entropy",
    "modified entropy",
    "loss per class",
    "neural (PAST)",
    "neural (CRL)",
)
NEAR = 0.015
_rng = np.random.default_rng(0)


@cache
def shares_left() -> dict[str, float]:
    """The highest advantage by labels over the highest by outputs, of each model."""
    base = results("base", "quick")
    models = {
        "letters": base.find(defense="Plain"),
        "smoothed": base.find(defense="LabelSmoothing"),
        "photographs": results("photographs", "quick").find(called="undefended"),
    }
    left = {}
    for name, one in models.items():
        by_label = max(one.advantage(attack).value for attack in LABEL_ONLY)
        by_output = max(one.advantage(attack).value for attack in OUTPUTS)
        left[name] = by_label / by_output
    return left


@check
def check_left_by_labels(answer: Answer) -> str | None:
    """Exercise 4.1: how much of the leak labels leave."""
    found = dict(answer())
    expected = shares_left()
    if set(found) != set(expected):
        return f"Expected a share for each of {', '.join(expected)}; found {sorted(found)}."
    for name, share in expected.items():
        given = float(found[name])
        if abs(given - share) <= NEAR:
            continue
        if abs(given - 1 / share) <= NEAR:
            return f"{name}: found {given:.2f}. Divide the labels' advantage by the outputs'."
        return (
            f"{name}: expected {share:.2f}, found {given:.2f}. Take the strongest attack of either "
            "kind, by the advantage over all trainings."
        )
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
