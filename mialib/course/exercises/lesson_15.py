"""The self-checks of lesson 15: a ROC that keeps its ties, and a verdict that knows no order."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import same_as

DANGEROUS = 0.65
SIGNIFICANT = 0.05


def _last_of_ties(descending: np.ndarray) -> np.ndarray:
    drops = np.flatnonzero(np.diff(descending) != 0)
    return np.append(drops, len(descending) - 1)


# Exercise 15.1: after which records a threshold may be drawn.
check_last_of_ties = same_as(
    _last_of_ties,
    (np.array([3.0, 3.0, 2.0, 1.0, 1.0, 1.0]),),
    (np.array([1.0, 1.0, 1.0, 0.0, 0.0]),),
    (np.array([0.9, 0.5, 0.1]),),
    (np.array([2.0, 2.0]),),
    hint="Equal scores enter together, so a point comes after the last of them; the last record of "
    "all ends the last score.",
)


def _verdicts(aucs: list[np.ndarray], p_values: list[np.ndarray]) -> list[bool]:
    answers = []
    for areas, p in zip(aucs, p_values, strict=True):
        significant = areas[p < SIGNIFICANT]
        answers.append(bool(len(significant) > 0 and significant.mean() > DANGEROUS))
    return answers


_dangerous = np.array([0.9, 0.8])
_harmless = np.array([0.5, 0.48])
_weak = np.array([0.6, 0.9])
_sure = np.array([0.001, 0.01])
_unsure = np.array([0.4, 0.8])
_half = np.array([0.01, 0.3])

# Exercise 15.2: an experiment is judged by its own significant AUCs alone.
check_verdicts = same_as(
    _verdicts,
    ([_dangerous, _harmless], [_sure, _unsure]),
    ([_harmless, _dangerous], [_unsure, _sure]),
    ([_dangerous, _weak, _harmless], [_sure, _half, _unsure]),
    ([_harmless], [_unsure]),
    hint="Each experiment is judged by its own significant AUCs alone, whatever came before it.",
)
