"""The self-checks of lesson 03: two features that know the label, and the response to noise."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as

_PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.98, 0.01, 0.01]])


def _two_features(probabilities: np.ndarray, labels: np.ndarray) -> list[list[float]]:
    pairs = zip(probabilities, labels, strict=True)
    return [[row[label], max(np.delete(row, label))] for row, label in pairs]


# Exercise 3.1: the true class and its strongest rival.
check_two_features = same_as(
    _two_features,
    (_PROBABILITIES, np.array([0, 0, 2])),
    (_PROBABILITIES[:, :2], np.array([1, 1, 0])),
    hint="First the label's probability, then the highest of the others.",
)


@check
def check_noise_response(answer: Answer) -> str | None:
    """Exercise 3.2: the response of a linear function is known."""
    rng = np.random.default_rng(0)
    slope = np.array([3.0, -4.0])
    expected = 5 * np.sqrt(2 / np.pi)  # The slope has length 5; this is the mean of |5 z|.
    for epsilon in (1e-3, 0.5):
        records = rng.normal(size=(200, 2))
        noise = np.random.default_rng(1)
        response = np.asarray(answer(lambda x: x @ slope, records, epsilon, 400, noise))
        case = f"For R(x) = 3x₁ − 4x₂, ε = {epsilon} and 200 records"
        if response.shape != (200,):
            return f"{case} expected a number for each, shape (200,), found {response.shape}."
        if not abs(response.mean() / expected - 1) <= 0.02:
            return f"{case} expected about 3.99 on average, found {response.mean():.3f}."
    return None
