"""`Audit`: what an audit found, with what one does to a report.

report.summary(), report.table, report.records(20)       # to read
report.check(advantage=0.1)                              # to stop somebody's CI
report.compare(after)                                    # before and after, on shared records
report.save("audit.html")                                # a page, with JSON and CSV beside it
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mialib.audits import html, intervals, writing
from mialib.audits.findings import AttackRow, Findings
from mialib.audits.policies import field_of, is_kept, limit_sentence, measured
from mialib.errors import check_choice, check_range
from mialib.estimates import Estimate, words

ENDS = ("high", "low")


class AuditError(ValueError):
    """A limit that the audited model does not keep, or is not shown to keep."""


class Difference(NamedTuple):
    """One attack on two models: the other's number minus this one's, record by record."""

    attack: str
    auc: Estimate
    advantage: Estimate

    @property
    def words(self) -> str:
        """What the AUCs say of the other model."""
        return words(
            self.auc,
            lower="leaks less",
            higher="leaks more",
            same="not told apart",
        )


@dataclass(frozen=True, eq=False)
class Audit(Findings):
    """The findings, and the methods of a report."""

    def check(self, *, end: str = "high", **limits: float) -> None:
        """Raise `AuditError` if a number is not shown to keep its limit.

            report.check(advantage=0.1, tpr_at_1_percent=0.03)

        The limits hold for every attack. The *upper* end of the interval is held to them: a gate
        must not open because there were too few records to see anything. With end="low" it raises
        only where the whole interval lies above the limit, so seldom by chance.
        """
        check_choice("end of an interval", end, ENDS)
        if not limits:
            raise ValueError("Give at least one limit, such as check(advantage=0.1).")
        broken = []
        for name, limit in limits.items():
            named: dict[str, Any] = {name: limit}
            check_range(-1, np.inf, **named)
            broken += self._broken(field_of(name), limit, end)
        if broken:
            raise AuditError("\n".join([*broken, _why(end)]))

    def _broken(self, field: str, limit: float, end: str) -> list[str]:
        """A sentence for each number that breaks this limit."""
        broken = []
        for one in measured(self.attacks, self.utility, field):
            breaks = one.number.low > limit if end == "low" else not is_kept(one.number, limit)
            if breaks:
                broken.append(limit_sentence(one, field, limit))
        return broken

    def save(self, path: str | Path, *, records: bool = False) -> list[Path]:
        """Write the report as one page of HTML, with its numbers as .json and .csv beside it.

        With `records`, also .records.csv: every record's scores. Says where the files are.
        """
        return writing.save(self, path, records=records)

    def _repr_html_(self) -> str:
        return html.summary(self)

    def compare(self, other: Audit) -> tuple[Difference, ...]:
        """The other audit's numbers minus this one's, for each attack of both, on shared records.

        Records are shared if they stood in the same row, with the same label and membership: hand
        the same sets in, in the same order.
        """
        if not isinstance(other, Audit):
            raise TypeError(f"Expected another Audit, found {type(other).__name__}.")
        here, there = self._shared_places(other)
        rows_of_other = {row.name: row for row in other.attacks}
        is_member = self.is_member[here]
        return tuple(
            _difference(row, rows_of_other[row.name], here, there, is_member)
            for row in self.attacks
            if row.name in rows_of_other
        )

    def _shared_places(self, other: Audit) -> tuple[np.ndarray, np.ndarray]:
        """Where the records of both audits are in each."""
        _, here, there = np.intersect1d(self.rows, other.rows, return_indices=True)
        same_label = np.array_equal(self.labels[here], other.labels[there])
        if not same_label or not np.array_equal(self.is_member[here], other.is_member[there]):
            raise ValueError(
                "The two audits are about different records: labels or membership differ in the "
                "same rows. Hand the same members and non-members in, in the same order."
            )
        is_member = self.is_member[here]
        if is_member.all() or not is_member.any():
            raise ValueError("The two audits share no members, or no non-members.")
        return here, there


def _why(end: str) -> str:
    if end == "low":
        return "(The lower end of the interval is held to the limit: all of it lies above.)"
    return (
        "(The upper end of the 95 % interval is held to the limit, so that too few records do not "
        'pass for privacy. end="low" raises only where the whole interval lies above.)'
    )


def _difference(
    before: AttackRow,
    after: AttackRow,
    here: np.ndarray,
    there: np.ndarray,
    is_member: np.ndarray,
) -> Difference:
    """One attack on both models."""
    auc = intervals.paired_auc_difference(after.scores[there], before.scores[here], is_member)
    change = after.calls[there].astype(float) - before.calls[here]
    advantage = intervals.mean_gap(change, is_member)
    return Difference(before.name, auc, advantage)
