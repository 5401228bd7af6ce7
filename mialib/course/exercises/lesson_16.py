"""The self-checks of lesson 16: what chance alone does, and an audit of one's own."""

from __future__ import annotations

import numpy as np

from mialib.audits import Audit
from mialib.course.exercises.check import Answer, check

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


def concluded(report: Audit) -> str:
    """What may be said of a model: first whether the sets are alike, then what was found."""
    if report.belief.blind.finds_a_shift:
        return DIFFERENT
    return MEMORISES if report.strongest.auc.low > 0.5 else NOTHING


@check
def check_own_audit(answer: Answer) -> str | None:
    """Exercise 16.2: a report of one's own, and the conclusion that it allows."""
    report, verdict = answer()
    if not isinstance(report, Audit):
        return f"Expected a report that `audit` made and a verdict; found {type(report).__name__}."
    if report.belief.blind.saw != "inputs and labels":
        return "Whether the two sets are alike was asked of labels alone. Hand in `inputs=`, too."
    if report.belief.duplicates:
        shared = report.belief.duplicates
        return f"{shared} records are in both sets. Take them out of one, and audit again."
    expected = concluded(report)
    if verdict != expected:
        return (
            f"The blind baseline has an AUC of {report.belief.blind.auc} and the strongest attack "
            f"({report.strongest.name}) {report.strongest.auc}. Expected {expected!r}, found "
            f"{verdict!r}."
        )
    return None
