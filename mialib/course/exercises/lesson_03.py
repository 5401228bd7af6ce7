"""The self-checks of lesson 03: the response to noise, and two attacks that go together."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mialib.course.exercises.check import Answer, check
from mialib.experiments import results

ONE_QUERY = (
    "loss",
    "max confidence",
    "modified entropy",
    "loss per class",
    "neural (PAST)",
    "neural (CRL)",
)


@check
def check_noise_response(answer: Answer) -> str | None:
    """Exercise 3.1: the response of a linear function is known."""
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
