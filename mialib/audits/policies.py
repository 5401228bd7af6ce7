"""For and against release: rules as data, lines with the number and the rule. No traffic light.

    judge(rows, utility, is_member, "aisvs")                  # a named policy
    judge(rows, utility, is_member, {"advantage": 0.1})       # limits of one's own

**Which end of an interval.** A limit is kept if the whole interval lies within it, so the *upper*
end counts: too few records must not pass for privacy. The policy "aisvs" asks for evidence against
guessing, so there the *lower* end counts, corrected for the number of attacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mialib.audits import intervals
from mialib.audits.findings import AGAINST, FOR, AttackRow, Judgement, Line, Utility, counted
from mialib.errors import check_choice, check_range
from mialib.estimates import Estimate

# Every number that may have a limit, as in the table and as an argument of `Audit.check`.
OF_ATTACKS = {
    "advantage": "advantage",
    "AUC": "auc",
    "TPR at 1 % FPR": "tpr_at_1_percent",
    "TPR at 0.1 % FPR": "tpr_at_0_1_percent",
    "PPV": "ppv",
}
OF_UTILITY = {
    "accuracy gap": "accuracy_gap",
    "loss gap": "loss_gap",
    "calibration error": "calibration_error",
}
NUMBERS = {**OF_ATTACKS, **OF_UTILITY}
LABELS = {field: label for label, field in NUMBERS.items()}
SHORT = {"tpr at 1 %": "tpr_at_1_percent", "tpr at 0.1 %": "tpr_at_0_1_percent"}

AISVS = "aisvs"
POLICIES = {
    AISVS: (
        "OWASP AISVS 1.0, 11.2.5, read as: no attack exceeds random guessing, so the interval of "
        "every attack's advantage, corrected for the number of attacks, meets 0"
    )
}


class Measured(NamedTuple):
    """A number that a limit is for: whose it is, and what it is."""

    of: str
    number: Estimate


def field_of(name: str) -> str:
    """The field that a limit is for: "TPR at 1 % FPR", "tpr at 1 %" or "tpr_at_1_percent"."""
    spellings = {label.lower(): field for label, field in NUMBERS.items()}
    spellings |= {field: field for field in LABELS} | SHORT
    if isinstance(name, str) and name.lower() in spellings:
        return spellings[name.lower()]
    check_choice("number with a limit", name, tuple(LABELS))
    return name


def measured(rows: Sequence[AttackRow], utility: Utility, field: str) -> list[Measured]:
    """The number of every attack by its name, or the model's own."""
    if field in OF_UTILITY.values():
        return [Measured("the model", getattr(utility, field))]
    by_name = sorted(rows, key=lambda row: row.name)
    return [Measured(row.name, getattr(row, field)) for row in by_name]


def check_policy(policy: Any) -> None:
    """Refuse a policy that is neither known by name, nor limits by their names, nor None."""
    if isinstance(policy, Mapping):
        for name, limit in policy.items():
            field_of(name)
            check_range(-1, np.inf, **{f"The limit of {name}": limit})
    elif policy is not None:
        check_choice("policy", policy, POLICIES, more=" Or give limits of your own, as a dict.")


def judge(
    rows: Sequence[AttackRow],
    utility: Utility,
    is_member: np.ndarray,
    policy: str | Mapping[str, float] | None,
) -> Judgement:
    """The reasons that a policy gives; without a policy there are none."""
    if policy is None:
        return Judgement(None, ())
    if isinstance(policy, Mapping):
        lines = [
            line for name, limit in policy.items() for line in _of_limit(rows, utility, name, limit)
        ]
        return Judgement("your own limits", tuple(lines))
    return Judgement(policy, tuple(_aisvs(rows, is_member)))


def _aisvs(rows: Sequence[AttackRow], is_member: np.ndarray) -> list[Line]:
    """A line for each attack: does its advantage exceed that of a guess?"""
    confidence = intervals.corrected(len(rows))
    lines = []
    for row in sorted(rows, key=lambda row: row.name):
        wide = intervals.gap(row.calls, is_member, confidence=confidence)
        exceeds = wide.low > 0
        verb = "exceeds that of a guess" if exceeds else "is not told apart from a guess"
        sentence = (
            f"{row.name}: the advantage {verb}: {wide}, an interval corrected for "
            f"{counted(len(rows))}."
        )
        lines.append(Line(AGAINST if exceeds else FOR, sentence, POLICIES[AISVS]))
    return lines


def _of_limit(rows: Sequence[AttackRow], utility: Utility, name: str, limit: float) -> list[Line]:
    """A line for each number that this limit is for."""
    field = field_of(name)
    rule = f"the upper end of the interval of the {LABELS[field]} is at most {limit:g}"
    lines = []
    for one in measured(rows, utility, field):
        kept = is_kept(one.number, limit)
        lines.append(Line(FOR if kept else AGAINST, limit_sentence(one, field, limit), rule))
    return lines


def is_kept(number: Estimate, limit: float) -> bool:
    """Whether the whole interval is within the limit; an empty estimate shows nothing."""
    return bool(number.high <= limit)


def limit_sentence(one: Measured, field: str, limit: float) -> str:
    """What a number is, and how it stands to its limit."""
    stated = f"{one.of}: {LABELS[field]} {one.number}"
    if one.number.note:
        return (
            f"{one.of}: the {LABELS[field]} is unknown ({one.number.note}); the limit is {limit:g}."
        )
    if is_kept(one.number, limit):
        return f"{stated}, within the limit {limit:g}."
    if one.number.low > limit:
        return f"{stated}, above the limit {limit:g}."
    return f"{stated}, not shown to be within the limit {limit:g}: the interval reaches beyond."
