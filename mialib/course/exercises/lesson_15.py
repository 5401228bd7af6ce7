"""The self-checks of lesson 15: a ROC that keeps its ties, and a referee's report."""

from __future__ import annotations

from functools import cache

import numpy as np

from mialib.course import differences
from mialib.course.exercises.check import Answer, check, same_as
from mialib.course.tunings import Tunings
from mialib.experiments import results

TOO_PRIVATE = "too private"
TOO_LEAKY = "too leaky"
NOT_MOVED = "not moved"
LOOKS = {"lowers": TOO_PRIVATE, "raises": TOO_LEAKY}  # by what the code does to the leak


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


@cache
def measured() -> dict[str, differences.Difference]:
    """Four differences, each measured on shipped trainings."""
    relaxed = results("relaxed", "quick")
    trained = results("versus", "quick")
    return {
        "shadow": differences.adaptive(
            relaxed.find(defense="Plain"),
            relaxed.find(defense="RelaxLoss", alpha=1.0, form="official"),
        ),
        "ties": differences.ties(results("base", "quick").find(defense="Plain")),
        "twice": differences.twice(Tunings(results("past", "quick")).undefended),
        "crops": differences.augmentation(
            trained.find(called="a draw per record"), trained.find(called="a draw per batch")
        ),
    }


@check
def check_report(answer: Answer) -> str | None:
    """Exercise 15.2: what each habit does to the model's looks."""
    found = dict(answer())
    names = ("shadow", "ties", "twice", "crops")
    if set(found) != set(names):
        return f"Expected a judgement of each of {', '.join(names)}; found {sorted(found)}."
    for name, difference in measured().items():
        expected = LOOKS.get(difference.verb, NOT_MOVED)
        if found[name] != expected:
            return (
                f"{name}: the code {difference.verb} the {difference.source.number} "
                f"({difference.effect}), so the model looks {expected!r}; found {found[name]!r}."
            )
    return None
