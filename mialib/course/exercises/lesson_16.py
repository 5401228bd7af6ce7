"""The self-checks of lesson 16: what chance alone does, and what a report says of a model."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mialib.audits import Audit, audit
from mialib.course.exercises.check import Answer, check

CLASSES = 4
MEMORISES = "it remembers its members"
NOTHING = "nothing found"
DIFFERENT = "the two sets differ"


@check
def check_null_band(answer: Answer) -> str | None:
    """Exercise 16.1: where chance alone puts the AUC."""
    rng = np.random.default_rng(0)
    for members, non_members in ((400, 400), (60, 240)):
        is_member = np.arange(members + non_members) < members
        scores = rng.normal(size=len(is_member)) + 3 * is_member
        found = np.asarray(answer(scores.copy(), is_member.copy(), np.random.default_rng(1)))
        where = f"With {members} members and {non_members} non-members"
        if found.shape != (2,):
            return f"{where} expected two numbers, the ends of the band, found {found}."
        complaint = _band_complaint(found, members, non_members)
        if complaint:
            return f"{where} {complaint}"
    return None


def _band_complaint(found: np.ndarray, members: int, non_members: int) -> str | None:
    """Without ties the AUC of shuffled members has this deviation, and is nearly normal."""
    deviation = np.sqrt((members + non_members + 1) / (12 * members * non_members))
    expected = 0.5 + deviation * np.array([-1.96, 1.96])
    if found.min() > 0.5:
        return f"the band {found.round(3)} does not hold 0.5. Are the members shuffled?"
    if np.abs(found - expected).max() > 0.5 * deviation:
        return f"expected about {expected.round(3)}, found {found.round(3)}. Is it 95 %?"
    return None


# Exercise 16.2.


class Case(NamedTuple):
    """One audit whose truth is known."""

    report: Audit
    truth: str


@cache
def cases() -> tuple[Case, ...]:
    """A model that remembers, one that does not, and two whose sets differ without any model."""
    return (
        Case(_audited(seed=0, memory=2.0, shift=0.0), MEMORISES),
        Case(_audited(seed=1, memory=0.0, shift=0.0), NOTHING),
        Case(_audited(seed=2, memory=0.0, shift=1.0), DIFFERENT),
        Case(_audited(seed=3, memory=2.0, shift=1.0), DIFFERENT),
    )


def _audited(*, seed: int, memory: float, shift: float, n: int = 1000) -> Audit:
    """Outputs that are surer of members by `memory`; non-members' inputs lie off by `shift`."""
    rng = np.random.default_rng(seed)
    is_member = np.arange(n) < n // 2
    labels = rng.integers(0, CLASSES, n)
    inputs = rng.normal(size=(n, 10)) + shift * ~is_member[:, None]
    logits = rng.normal(size=(n, CLASSES))
    logits[np.arange(n), labels] += 1 + memory * is_member + 2 * (shift > 0) * is_member
    return audit.from_outputs(
        logits=logits, labels=labels, is_member=is_member, inputs=inputs, seed=seed
    )


@check
def check_verdict(answer: Answer) -> str | None:
    """Exercise 16.2: what may be concluded from a report."""
    for case in cases():
        found = answer(case.report)
        if found != case.truth:
            blind = case.report.belief.blind.auc
            strongest = case.report.strongest
            return (
                f"The blind baseline has an AUC of {blind} and the strongest attack "
                f"({strongest.name}) {strongest.auc}. Expected {case.truth!r}, found {found!r}."
            )
    return None
