"""The self-checks of lesson 10: how low a normalised loss gets, and how a soft label sharpens."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import same_as


def _lowest_loss(classes: int, tau: float) -> float:
    lead = np.sqrt(classes / (classes - 1)) / tau
    return np.log1p((classes - 1) * np.exp(-lead))


# Exercise 10.1: normalised logits have length 1/τ.
check_lowest_loss = same_as(
    _lowest_loss,
    (10, 1.0),
    (10, 0.2),
    (100, 0.05),
    (2, 0.5),
    hint="The others may be negative: which logits of length 1/τ give the label the longest lead?",
)


def _sharpening(p: np.ndarray, classes: int) -> np.ndarray:
    return p * (1 - p) * np.log((classes - 1) * p / (1 - p))


# Exercise 10.2: the gradient through a soft label that is not detached.
check_sharpening = same_as(
    _sharpening,
    (np.array([0.05, 0.1, 0.6, 0.95]), 10),
    (np.array([0.3, 0.5, 0.7]), 2),
    hint="The pull is minus the derivative, and by the logit, not by p: it is 0 at p = 1/C "
    "and above 0 beyond.",
)
