"""A number with its interval, and all the numbers of one attack: what `metrics` returns.

>>> print(Estimate(0.61, 0.58, 0.64))
0.610 [0.580, 0.640]
>>> print(Estimate(nan, note="no threshold was fitted"))
no threshold was fitted
"""

from dataclasses import dataclass
from math import isnan, nan
from typing import NamedTuple

from mialib.markdown import table


class Triple(NamedTuple):
    """An estimate's three numbers, for tables and error bars."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval. `note` says why there is no number."""

    value: float
    low: float = nan
    high: float = nan
    note: str = ""

    @property
    def triple(self) -> Triple:
        """(value, low, high)."""
        return Triple(self.value, self.low, self.high)

    def __eq__(self, other: object) -> bool:
        """Also of two that have no number: nan is not equal to itself, their notes are."""
        if not isinstance(other, Estimate):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple:
        numbers = [None if isnan(number) else number for number in self.triple]
        return (*numbers, self.note)

    def __str__(self) -> str:
        return self.note or f"{self.value:z.3f} [{self.low:z.3f}, {self.high:z.3f}]"


def words(
    difference: Estimate,
    *,
    lower: str = "lower",
    higher: str = "higher",
    same: str = "not told apart",
) -> str:
    """What an interval of a difference says, so that a sentence's verb comes from the run.

    >>> words(Estimate(-0.1, -0.2, -0.05)), words(Estimate(0.1, -0.2, 0.3))
    ('lower', 'not told apart')
    """
    if not isinstance(difference, Estimate):
        raise TypeError(f"Words are for an Estimate of a difference, found {difference!r}.")
    if difference.high < 0:
        return lower
    if difference.low > 0:
        return higher
    return same


def _with_minus_signs(estimate: Estimate) -> str:
    """As text, not code: a speech program says a minus sign, and drops a hyphen after "["."""
    return estimate.note or str(estimate).replace("-", "−")


@dataclass(frozen=True)
class Evaluation:
    """Every number that the course reports of one attack on one model.

    members, non_members   how many records of each kind were scored
    auc                    the probability that a member scores higher than a non-member
    tpr, fpr               the rates at the threshold that was fitted on shadows or references
    advantage              tpr − fpr
    best_advantage         the largest TPR − FPR over all thresholds, an optimistic number
    tpr_at_1_percent       the largest TPR whose FPR is at most 1 %
    tpr_at_0_1_percent     the largest TPR whose FPR is at most 0.1 %
    """

    members: int
    non_members: int
    auc: Estimate
    advantage: Estimate
    best_advantage: Estimate
    tpr: Estimate
    fpr: Estimate
    tpr_at_1_percent: Estimate
    tpr_at_0_1_percent: Estimate

    def _repr_markdown_(self) -> str:
        rows = {
            "AUC": self.auc,
            "advantage at the shadow's threshold": self.advantage,
            "best advantage (optimistic)": self.best_advantage,
            "TPR at the threshold": self.tpr,
            "FPR at the threshold": self.fpr,
            "TPR at 1 % FPR": self.tpr_at_1_percent,
            "TPR at 0.1 % FPR": self.tpr_at_0_1_percent,
        }
        records = f"{self.members:,} members, {self.non_members:,} non-members"
        lines = [(name, _with_minus_signs(estimate)) for name, estimate in rows.items()]
        return table([records, "value [95 % interval]"], lines)
