"""The self-checks of lesson 02: modified entropy, and the AUC without thresholds."""

from __future__ import annotations

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import same_as

_rng = np.random.default_rng(0)
_PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.98, 0.01, 0.01]])


def _modified_entropy(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    rows = np.arange(len(labels))
    terms = probabilities * np.log(1 - probabilities)
    of_label = probabilities[rows, labels]
    terms[rows, labels] = (1 - of_label) * np.log(of_label)
    return -terms.sum(axis=1)


# Exercise 2.1: the label's term is turned around.
check_modified_entropy = same_as(
    _modified_entropy,
    (_PROBABILITIES[:1], np.array([0])),
    (_PROBABILITIES, np.array([0, 1, 2])),
    hint="Is the label's term (1 − p) log p?",
)

# Exercise 2.2: the share of pairs in which the member has the higher score.
check_auc_from_ranks = same_as(
    metrics.auc,
    (np.array([0.9, 0.4, 0.6, 0.1]), np.array([True, True, False, False])),
    (_rng.normal(size=100).round(1), np.arange(100) < 50),
    hint="Do ties count half?",
)
