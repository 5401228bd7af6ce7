"""Who is found: by how many attacks, and how often when each model plays the target.

    agreement({"loss": loss_calls, "LiRA": lira_calls}, is_member).both["loss", "LiRA"]

    scores = attacks.scores_per_target(bank, attacks.LiRA())     # (targets, n)
    risk(scores, bank.is_member).most_exposed(10)

Introduced in notebook 05.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.errors import as_array, check_range


class Agreement(NamedTuple):
    """How far attacks find the same members.

    both         {(a, b): the share found by both among the members found by either}
    by_how_many  (members,): how many attacks find each member
    """

    both: dict[tuple[str, str], float]
    by_how_many: np.ndarray


def agreement(calls: Mapping[str, ArrayLike], is_member: ArrayLike) -> Agreement:
    """How far attacks find the same members.

    `calls` has, by the attack's name, whom it calls a member at its own threshold: (n,) bool, as
    `FittedAttack.calls` says it, or `scores >= threshold`.
    """
    if not isinstance(calls, Mapping) or not calls:
        raise ValueError("Give the calls of at least one attack, by its name.")
    found = {name: _found_members(name, called, is_member) for name, called in calls.items()}
    both = {(a, b): _shared(found[a], found[b]) for a, b in combinations(found, 2)}
    return Agreement(both, by_how_many=np.sum(list(found.values()), axis=0))


def _found_members(name: str, called: ArrayLike, is_member: ArrayLike) -> np.ndarray:
    """Which of the members one attack calls members: (members,) bool."""
    called = as_array(called, kind="b", what=f"The calls of {name!r}")
    called_as_scores, truth = metrics.check(called, is_member)
    return called_as_scores[truth] > 0


def _shared(a: np.ndarray, b: np.ndarray) -> float:
    """The share found by both among those found by either; two that find nobody agree."""
    either = (a | b).sum()
    return float((a & b).sum() / either) if either else 1.0


class Risk(NamedTuple):
    """The risk of each record, over all models that played the target: each (n,).

    caught   the share of plays with the record IN the target in which it was called a member
    accused  the share of plays with the record OUT in which it was called a member
    auc      how well its own IN scores stand above its OUT scores
    """

    caught: np.ndarray
    accused: np.ndarray
    auc: np.ndarray

    def most_exposed(self, number: int = 10) -> np.ndarray:
        """Positions of the records caught most often for their false alarms, the worst first."""
        check_range(1, np.inf, whole=True, number=number)
        return np.lexsort((-self.auc, self.accused - self.caught))[:number]


def risk(scores: ArrayLike, is_member: ArrayLike, *, fpr: float = 0.01) -> Risk:
    """The risk of each record, from scores and membership (targets, n).

    One threshold serves all plays: the loosest whose FPR, over all of them, is at most `fpr`.
    """
    scores = as_array(scores, what="scores").astype(np.float64)
    is_member = as_array(is_member, kind="b", what="is_member")
    if scores.ndim != 2 or scores.shape != is_member.shape:
        raise ValueError(
            f"Expected two arrays (targets, n), found {scores.shape} and {is_member.shape}."
        )
    check_range(0, 1, fpr=fpr)
    plays_in = is_member.sum(axis=0)
    plays_out = (~is_member).sum(axis=0)
    if (plays_in == 0).any() or (plays_out == 0).any():
        raise ValueError("Each record must be both IN and OUT at least once. Use more targets.")
    called = scores >= _pooled_threshold(scores, is_member, fpr)
    return Risk(
        caught=(called & is_member).sum(axis=0) / plays_in,
        accused=(called & ~is_member).sum(axis=0) / plays_out,
        auc=_auc_per_record(scores, is_member),
    )


def _pooled_threshold(scores: np.ndarray, is_member: np.ndarray, fpr: float) -> float:
    """The loosest threshold whose FPR over all plays is at most `fpr`."""
    curve = metrics.roc(scores.ravel(), is_member.ravel())
    allowed = np.flatnonzero(curve.fpr <= float(fpr) + metrics.ROUNDING)
    return float(curve.threshold[allowed[-1]])


def _auc_per_record(scores: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """The AUC of each column: Mann and Whitney's U, counted from ranks, over its largest value."""
    plays_in = is_member.sum(axis=0)
    plays_out = (~is_member).sum(axis=0)
    ranks = scipy.stats.rankdata(scores, axis=0)
    rank_sum = (ranks * is_member).sum(axis=0)
    wins = rank_sum - plays_in * (plays_in + 1) / 2
    return wins / (plays_in * plays_out)
