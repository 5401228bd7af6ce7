"""The self-checks of lesson 03: a response to noise, and two attacks that go together."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mialib.course.exercises.check import Answer, check, shown
from mialib.experiments import results

ONE_QUERY = (
    "loss",
    "max confidence",
    "modified entropy",
    "loss per class",
    "neural (PAST)",
    "neural (CRL)",
)
NEAR = 0.01  # of the right response, so that an answer by experiment is one, too


def response_of_a_sigmoid(p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """E|R(x) − R(x + εN)| / ε for a small ε: R's slope at p, times the mean size of w·N."""
    mean_size = np.linalg.norm(w) * np.sqrt(2 / np.pi)
    return p * (1 - p) * mean_size


@check
def check_noise_response(answer: Answer) -> str | None:
    """Exercise 3.1: the response to noise of a model of two classes."""
    p = np.array([0.5, 0.1, 0.01])
    w = np.array([3.0, -4.0])
    expected = response_of_a_sigmoid(p, w)
    found = np.asarray(answer(p.copy(), w.copy()), dtype=float)
    case = "For p = 0.5, 0.1 and 0.01, and w = (3, −4),"
    if found.shape != p.shape:
        return f"{case} expected a number for each record, shape (3,), found {found.shape}."
    if np.allclose(found, expected, rtol=NEAR):
        return None
    ratio = found / expected
    if np.allclose(found, found[0]):
        return f"{case} found {shown(found)}, alike for all. But R is steepest at p = 0.5."
    if np.allclose(ratio, ratio[0]):
        return f"{case} all is {ratio[0]:.2f} times what it should be. What is E|w·N|?"
    return f"{case} expected {shown(expected)}, found {shown(found)}. What is the slope of R at p?"


@cache
def corner() -> dict[str, dict[str, float]]:
    """The TPR at 1 % FPR of each attack, by model."""
    base = results("base", "quick")
    models = {
        "the undefended letters": base.find(defense="Plain"),
        "the smoothed letters": base.find(defense="LabelSmoothing"),
        "the photographs": results("photographs", "quick").find(called="undefended"),
    }
    return {
        name: {attack: one.tpr(attack, fpr=0.01).value for attack in ONE_QUERY}
        for name, one in models.items()
    }


class Miss(NamedTuple):
    """Where two attacks together find less than the best attack does."""

    share: float  # of the members, that the best attack finds beyond the two
    model: str
    best: str


def worst_miss(pair: set[str]) -> Miss:
    misses = []
    for model, found in corner().items():
        best = max(found, key=lambda attack: found[attack])
        together = max(found[attack] for attack in pair)
        misses.append(Miss(found[best] - together, model, best))
    return max(misses)


@check
def check_two_attacks(answer: Answer) -> str | None:
    """Exercise 3.2: the pair whose worst miss over three models is the smallest."""
    pair = set(answer())
    if len(pair) != 2 or not pair <= set(ONE_QUERY):
        return f"Return two of {', '.join(ONE_QUERY)}; found {sorted(map(str, pair))}."
    miss = worst_miss(pair)
    least = min(
        worst_miss({one, other}).share for one in ONE_QUERY for other in ONE_QUERY if one != other
    )
    if miss.share > least + 1e-9:
        return (
            f"On {miss.model} your two find {miss.share:.1%} of the members fewer than "
            f"{miss.best} does. Another pair misses at most {least:.1%} anywhere."
        )
    return None
