"""Numbers that items of several papers need: of single trainings, exact ones, and fair partners.

over_trainings([0.61, 0.66, 0.63])          # the mean and Student's interval; of one, a note
exact(272_474)                              # what was counted needs no interval
apart(strong, plain, told)                  # what a training tells, seed by seed
nearest(sparse, dense, aside)               # the setting that comes nearest in a number
pairs = [(one, nearest(one, others, mean_accuracy)) for one in settings]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isnan, nan

import numpy as np

from mialib.course.statistics import student
from mialib.estimates import Estimate, words
from mialib.results import Results, Row


def over_trainings(values: Sequence[float]) -> Estimate:
    """The mean of what each training gave, with Student's interval; one training has none."""
    if len(values) > 1:
        return student(values)
    value = float(values[0])
    return Estimate(value, note=f"{value:z.3f} (one training, so without an interval)")


def share_over_trainings(values: Sequence[float]) -> Estimate:
    """The same of shares: the interval ends at 0 and at 1."""
    found = over_trainings(values)
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def exact(value: float) -> Estimate:
    """A number that was counted, not estimated.

    >>> print(exact(272_474))
    272,474 (counted)
    """
    number = float(value)
    digits = 0 if number == round(number) else 2
    return Estimate(number, number, number, note=f"{number:,.{digits}f} (counted)")


def absent(why: str) -> Estimate:
    """No number, and the reason."""
    return Estimate(nan, note=why)


def apart(one: Results, other: Results, told: Callable[[Row], float]) -> Estimate:
    """What a training tells here minus what it tells there, seed by seed."""
    here = {row.seed: told(row) for row in one.rows}
    there = {row.seed: told(row) for row in other.rows}
    common = sorted(set(here) & set(there))
    if not common:
        return absent("no seed in common")
    return over_trainings([here[seed] - there[seed] for seed in common])


def is_as_accurate(one: Results, other: Results) -> bool:
    """Whether its accuracy is not told to be lower; of one training, the number itself counts."""
    difference = one.paired(other, "accuracy")
    if isnan(difference.low):
        return difference.value >= 0
    return words(difference) != "lower"


def nearest(one: Results, others: Iterable[Results], number: Callable[[Results], float]) -> Results:
    """Of the others, the one that comes nearest in a number."""
    here = number(one)
    return min(others, key=lambda other: abs(number(other) - here))


def aside_accuracy(one: Results) -> float:
    """Mean accuracy on records that no attack is asked about; where there are none, on the test
    part."""
    return float(np.mean([_aside(row) for row in one.rows]))


def _aside(row: Row) -> float:
    for part in ("inference", "validation", "test"):
        if part in row.accuracy:
            return row.accuracy[part]
    raise ValueError(f"The row of seed {row.seed} tells no accuracy but {list(row.accuracy)}.")
