"""More numbers of an attack: what other reports print, with intervals and without their errors.

    more = more_numbers(scores, calls, is_member, rng=rng)
    more.f1, more.tpr_without_alarms         # at the threshold; with not one false alarm
    more.tenth.difference                    # members in the highest tenth minus in the lowest

The page folds them away, because none of them decides anything that the main table does not.
Their names in SACRO-ML 2.0.1 and in LeakPro stand in `tests/audits/test_audit_peers.py`.
"""

from __future__ import annotations

import numpy as np
import scipy

from mialib.audits import intervals
from mialib.audits.findings import More, Tails
from mialib.estimates import Estimate

FEWEST = 10  # records in a tail of which a share is told


def more_numbers(
    scores: np.ndarray, calls: np.ndarray, is_member: np.ndarray, *, rng: np.random.Generator
) -> More:
    """The numbers of one attack, from its scores and from whom it calls a member."""
    value, low, high = intervals.gap(calls, is_member).triple
    return More(
        found=int((calls & is_member).sum()),
        accused=int((calls & ~is_member).sum()),
        missed=int((~calls & is_member).sum()),
        cleared=int((~calls & ~is_member).sum()),
        accuracy=intervals.share(calls == is_member),
        balanced_accuracy=Estimate((1 + value) / 2, (1 + low) / 2, (1 + high) / 2),
        ppv_here=_share_of_some(is_member[calls], "nobody is called a member"),
        npv_here=_share_of_some(~is_member[~calls], "everybody is called a member"),
        f1=f1(calls, is_member),
        auc_p_value=auc_p_value(scores, is_member),
        tpr_at_10_percent=intervals.tpr_at_fpr(scores, is_member, 0.1, rng=rng),
        tpr_at_0_5_percent=intervals.tpr_at_fpr(scores, is_member, 0.005, rng=rng),
        tpr_at_0_2_percent=intervals.tpr_at_fpr(scores, is_member, 0.002, rng=rng),
        tpr_at_0_01_percent=intervals.tpr_at_fpr(scores, is_member, 1e-4, rng=rng),
        tpr_at_0_001_percent=intervals.tpr_at_fpr(scores, is_member, 1e-5, rng=rng),
        tpr_without_alarms=intervals.tpr_without_alarms(scores, is_member, rng=rng),
        fifth=tails(scores, is_member, 0.2),
        tenth=tails(scores, is_member, 0.1),
        hundredth=tails(scores, is_member, 0.01),
    )


def _share_of_some(hits: np.ndarray, nobody: str) -> Estimate:
    return intervals.share(hits) if len(hits) else Estimate(np.nan, note=nobody)


def f1(calls: np.ndarray, is_member: np.ndarray) -> Estimate:
    """The harmonic mean of TPR and PPV, 2·TP / (2·TP + FP + FN), in these records.

    It grows with the TPR and falls with the FPR, so its interval is made like that of the PPV.
    """
    members = int(is_member.sum())
    non_members = len(is_member) - members
    confidence = intervals.corrected(2)
    tpr = intervals.share(calls[is_member], confidence=confidence)
    fpr = intervals.share(calls[~is_member], confidence=confidence)

    def of_rates(tpr: float, fpr: float) -> float:
        return 2 * tpr * members / (tpr * members + fpr * non_members + members)

    return Estimate(
        of_rates(tpr.value, fpr.value), of_rates(tpr.low, fpr.high), of_rates(tpr.high, fpr.low)
    )


def auc_p_value(scores: np.ndarray, is_member: np.ndarray) -> float:
    """How often shuffled membership gives an AUC at least as high (Mann and Whitney, with ties)."""
    variance = intervals.null_variance(scores, int(is_member.sum()))
    above = intervals.placements(scores, is_member).auc - 0.5
    return _upper_tail(above, variance)


def tails(scores: np.ndarray, is_member: np.ndarray, share: float) -> Tails:
    """Members among the highest and among the lowest scores; a tie at the edge is shared out.

    Shuffled membership gives Σ aᵢ·(record i is a member) a variance of Σ aᵢ² · MN / n(n − 1), if
    the weights aᵢ sum to 0, with M members and N non-members.
    """
    n = len(scores)
    records = int(np.ceil(share * n - 1e-9))
    if records < FEWEST:
        nothing = Estimate(np.nan, note=f"fewer than {FEWEST} records")
        return Tails(records, np.nan, np.nan, nothing, np.nan)
    highest = _weights(scores, records)
    lowest = _weights(-scores, records)
    top = float(highest[is_member].sum() / records)
    bottom = float(lowest[is_member].sum() / records)
    members = int(is_member.sum())
    squares = float((((highest - lowest) / records) ** 2).sum())
    variance = squares * members * (n - members) / (n * (n - 1))
    difference = intervals.gap_of_shares(top, records, bottom, records)
    return Tails(records, top, bottom, difference, _upper_tail(top - bottom, variance))


def _weights(scores: np.ndarray, records: int) -> np.ndarray:
    """1 for the highest scores, 0 for the others; those tied at the edge have a fraction each."""
    edge = np.partition(scores, -records)[-records]
    above = scores > edge
    tied = scores == edge
    return above + tied * ((records - above.sum()) / tied.sum())


def _upper_tail(value: float, variance: float) -> float:
    """The probability that a normal variable around 0 is at least as large."""
    deviations = value / np.sqrt(variance) if variance > 0 else 0.0
    return float(scipy.special.ndtr(-deviations))
