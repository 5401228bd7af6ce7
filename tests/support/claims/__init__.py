"""What the lessons claim in fixed words, each as a number that is positive where the claim is true.

A sentence whose verb comes from the run (`words`) needs no claim here. One that says *lower*,
*higher* or *more* by itself does: `test_claims.py` asks for it again with other seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mialib.course.statistics import student
from mialib.estimates import Estimate
from mialib.results import Results


@dataclass(frozen=True)
class Claim:
    """A sentence of a lesson, and the difference that carries it."""

    lesson: str  # "06"
    says: str  # the sentence, shortened
    plan: str
    difference: Callable[[Results], Estimate]  # above 0 where the sentence is true
    profile: str = "quick"


def minus(estimate: Estimate) -> Estimate:
    """The difference the other way round, for a sentence that says *lower*."""
    return Estimate(-estimate.value, -estimate.high, -estimate.low)


def over_trainings(values: Sequence[float]) -> Estimate:
    """The mean of what each training gave, with Student's interval where there are several."""
    return student(list(values)) if len(values) > 1 else Estimate(float(values[0]))
