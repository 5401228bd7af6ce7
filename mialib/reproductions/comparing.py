"""Numbers that items of several papers need: of single trainings, exact ones, and fair partners.

over_trainings([0.61, 0.66, 0.63])          # the mean and Student's interval; of one, a note
over_trainings(shares, limits=SHARE)        # an interval that ends at 0 and at 1
exact(272_474)                              # what was counted needs no interval
apart(strong, plain, told)                  # what a training tells, seed by seed
nearest(sparse, dense, aside)               # the setting that comes nearest in a number
pairs = [(one, nearest(one, others, mean_accuracy)) for one in settings]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp, inf, isnan, log, nan

import numpy as np

from mialib.course.statistics import student
from mialib.estimates import Estimate, words
from mialib.results import Results, Row

SHARE = (0.0, 1.0)  # the limits of a share


def over_trainings(
    values: Iterable[float], *, limits: tuple[float, float] = (-inf, inf)
) -> Estimate:
    """The mean of what each training gave, with Student's interval; one training has none.

    `limits` are those of the number itself, beyond which no interval reaches.
    """
    known = [float(value) for value in values]
    if len(known) > 1:
        value, low, high = student(known).triple
        return Estimate(value, max(low, limits[0]), min(high, limits[1]))
    (value,) = known
    return Estimate(value, note=f"{value:z.3f} (one training, so without an interval)")


def ratio_over_trainings(values: Iterable[float]) -> Estimate:
    """The geometric mean of ratios, with the interval of their logarithms."""
    known = [float(value) for value in values]
    if len(known) == 1:
        return over_trainings(known)
    value, low, high = (exp(end) for end in student([log(ratio) for ratio in known]).triple)
    return Estimate(value, low, high)


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
