"""Utility, and who is exposed: single records, and classes or groups.

utility(signals)                              # accuracy, gaps, calibration
exposure(rows, is_member, labels, groups)     # records, agreement of attacks, slices
"""

from __future__ import annotations

import numpy as np
import scipy

from mialib import exposure as exposures
from mialib.audits import intervals
from mialib.audits.findings import AttackRow, Exposure, Slice, Utility
from mialib.estimates import Estimate
from mialib.signals import Signals

FOUND_AT = 0.01  # the FPR at which a member counts as found
FEWEST = 20  # members, and non-members, of a slice that is measured
BINS = 15  # of the calibration error


# Utility.


def utility(signals: Signals) -> Utility:
    """Accuracy, gaps and calibration of a model whose membership is known."""
    is_member = signals.truth()
    correct = signals.correct()
    return Utility(
        accuracy_members=intervals.share(correct[is_member]),
        accuracy_non_members=intervals.share(correct[~is_member]),
        accuracy_gap=intervals.gap(correct, is_member),
        loss_gap=intervals.mean_gap(signals.loss(), ~is_member),
        calibration_error=calibration_error(signals.non_members()),
    )


def calibration_error(signals: Signals, *, draws: int = 1000, seed: int = 0) -> Estimate:
    """The expected calibration error: |accuracy − confidence| in 15 bins, weighted by their size.

    A perfectly calibrated model has some by chance, so the interval is the reversed one, which
    takes that bias off.
    """
    confidence = signals.probabilities().max(axis=1)
    excess = signals.correct() - confidence
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    size = np.bincount(bins, minlength=BINS)
    total = np.bincount(bins, weights=excess, minlength=BINS)
    squares = np.bincount(bins, weights=excess**2, minlength=BINS)
    spread = np.sqrt(np.maximum(squares - total**2 / np.maximum(size, 1), 0))
    value = float(np.abs(total).sum() / len(confidence))
    noise = np.random.default_rng(seed).normal(size=(draws, BINS))
    drawn = np.abs(total + spread * noise).sum(axis=1) / len(confidence)
    low, high = 2 * value - np.quantile(drawn, [0.975, 0.025])
    return Estimate(value, max(min(float(low), value), 0.0), max(float(high), value))


# Who is exposed.


def exposure(
    rows: list[AttackRow],
    is_member: np.ndarray,
    labels: np.ndarray,
    groups: np.ndarray | None,
) -> Exposure:
    """Records that several attacks find, how far the attacks agree, and slices."""
    non_members = int((~is_member).sum())
    alarms = max(intervals.allowed_alarms(FOUND_AT, non_members), 1)
    by_name = sorted(rows, key=lambda row: row.name)
    found = {row.name: found_with(row.scores, is_member, alarms) for row in by_name}
    above = [share_below(row.scores, row.scores[~is_member]) for row in rows]
    rank = [share_below(row.scores, row.scores) for row in rows]
    strongest = min(rows, key=lambda row: (-row.auc.value, row.name))
    names = labels if groups is None else groups
    return Exposure(
        fpr=alarms / non_members,
        found_by=np.sum(list(found.values()), axis=0),
        above=np.mean(above, axis=0),
        rank=np.mean(rank, axis=0),
        agreement=exposures.agreement(found, is_member).both,
        sliced_by="class" if groups is None else "group",
        attack=strongest.name,
        slices=slices(strongest.scores, is_member, names),
    )


def found_with(scores: np.ndarray, is_member: np.ndarray, alarms: int) -> np.ndarray:
    """Whom the loosest threshold with at most so many false alarms calls a member: (n,) bool."""
    non_members = np.sort(scores[~is_member])[::-1]
    if alarms >= len(non_members):
        return np.ones(len(scores), bool)
    return scores > non_members[alarms]


def share_below(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The share of `others` that each score exceeds; ties count half."""
    ascending = np.sort(others)
    lower = np.searchsorted(ascending, scores, side="left")
    not_higher = np.searchsorted(ascending, scores, side="right")
    return (lower + not_higher) / (2 * len(others))


# Slices.


def slices(scores: np.ndarray, is_member: np.ndarray, names: np.ndarray) -> tuple[Slice, ...]:
    """Each class or group beside the others, with intervals that hold for all of them together."""
    every, number_of = np.unique(names, return_inverse=True)
    members = np.bincount(number_of[is_member], minlength=len(every))
    non_members = np.bincount(number_of[~is_member], minlength=len(every))
    is_large = (members >= FEWEST) & (non_members >= FEWEST)
    counts = intervals.score_counts(scores, is_member)
    own_places = np.split(np.argsort(number_of, kind="stable"), np.cumsum(members + non_members))
    found = []
    for number, name in enumerate(every):
        sizes = (int(members[number]), int(non_members[number]))
        if is_large[number]:
            own = own_places[number]
            found.append(_slice(str(name), scores, is_member, own, counts, int(is_large.sum())))
        else:
            nothing = Estimate(np.nan, note=f"fewer than {FEWEST} members or non-members")
            found.append(Slice(str(name), *sizes, nothing, nothing, np.nan))
    return tuple(found)


def _slice(
    name: str,
    scores: np.ndarray,
    is_member: np.ndarray,
    own: np.ndarray,
    counts: intervals.ScoreCounts,
    number: int,
) -> Slice:
    """One slice, the records at the places `own`; `number` is how many are measured."""
    confidence = intervals.corrected(number)
    here = intervals.placements(scores[own], is_member[own])
    members = len(here.of_members)
    non_members = len(here.of_non_members)
    auc = intervals.auc_of(here, confidence=confidence)
    others = counts.without(own)
    if min(others.members.sum(), others.non_members.sum()) < FEWEST:
        nothing = Estimate(np.nan, note="there are no others to compare with")
        return Slice(name, members, non_members, auc, nothing, np.nan)
    rest = intervals.auc_moments(others)
    variance = here.variance + rest.variance
    freedom = min(here.freedom, rest.freedom)
    difference = intervals.around(
        here.auc - rest.auc, variance, confidence=confidence, freedom=freedom
    )
    p_value = _two_sided(here.auc - rest.auc, variance, freedom)
    return Slice(name, members, non_members, auc, difference, min(number * p_value, 1.0))


def _two_sided(difference: float, variance: float, freedom: int) -> float:
    """The probability of a difference this large by chance."""
    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * scipy.special.stdtr(freedom, -abs(difference) / np.sqrt(variance)))
