"""A number with its interval, and all the numbers of one attack: what `metrics` returns."""

from dataclasses import dataclass
from math import nan


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval. `note` says why there is no number."""

    value: float
    low: float = nan
    high: float = nan
    note: str = ""

    def __str__(self) -> str:
        return self.note or f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Evaluation:
    """Every number that the course reports of one attack on one model."""

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
        names = [
            "AUC",
            "advantage at the shadow's threshold",
            "best advantage (optimistic)",
            "TPR at the threshold",
        ]
        names += ["FPR at the threshold", "TPR at 1 % FPR", "TPR at 0.1 % FPR"]
        rows = zip(names, list(vars(self).values())[2:], strict=True)
        head = f"| {self.members:,} members, {self.non_members:,} non-members | value [95 % interval] |\n|---|---|\n"
        return head + "\n".join(f"| {name} | {estimate} |" for name, estimate in rows)
