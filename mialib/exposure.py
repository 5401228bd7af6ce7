"""Who is found: by how many attacks (`agreement`), and how often when each model plays the target (`risk`).

    scores = attacks.in_turn(bank, attacks.lira)             # (targets, n)
    risk(scores, bank.is_member).most_exposed(10)

Introduced in notebook 05."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.errors import as_array, check_range, refuse


class Agreement(NamedTuple):
    """{(a, b): the share found by both among the members found by either}, and by how many each is found (members,)."""

    both: dict[tuple[str, str], float]
    by_how_many: np.ndarray


def agreement(scores: dict[str, ArrayLike], is_member: ArrayLike) -> Agreement:
    """How far attacks find the same members, each at its own threshold 0; `scores` are (n,) by the attack's name."""
    refuse(not scores, "Give the scores of at least one attack.")
    checked = {name: metrics.check(one, is_member) for name, one in scores.items()}
    found, both = {name: values[truth] >= 0 for name, (values, truth) in checked.items()}, {}
    for a, b in combinations(found, 2):
        either = (found[a] | found[b]).sum()
        both[a, b] = float((found[a] & found[b]).sum() / either) if either else 1.0
    return Agreement(both, np.sum(list(found.values()), axis=0))


class Risk(NamedTuple):
    """For each record, over all models that played the target: the share of IN plays in which it was `caught`, the
    share of OUT plays in which it was `accused`, and its own `auc` of IN against OUT scores: each (n,)."""

    caught: np.ndarray
    accused: np.ndarray
    auc: np.ndarray

    def most_exposed(self, number: int = 10) -> np.ndarray:
        """Positions of the records that are caught most often for their false alarms, the worst first."""
        return np.lexsort((-self.auc, self.accused - self.caught))[:number]


def risk(scores: ArrayLike, is_member: ArrayLike, *, fpr: float = 0.01) -> Risk:
    """The risk of each record, from scores and membership (targets, n) and one threshold at this pooled FPR."""
    scores, is_member = (
        as_array(scores, what="scores").astype(float),
        as_array(is_member, kind="b", what="is_member"),
    )
    found = f"found {scores.shape} and {is_member.shape}"
    refuse(
        scores.ndim != 2 or scores.shape != is_member.shape,
        f"Expected two arrays (targets, n), {found}.",
    )
    check_range(0, 1, fpr=fpr)
    plays_in, plays_out = is_member.sum(axis=0), (~is_member).sum(axis=0)
    refuse(
        not (plays_in * plays_out).all(),
        "Each record must be both IN and OUT at least once. Use more targets.",
    )
    curve = metrics.roc(scores.ravel(), is_member.ravel())
    called = scores >= curve.threshold[np.flatnonzero(curve.fpr <= fpr + 1e-12)[-1]]
    ranks = scipy.stats.rankdata(scores, axis=0)
    wins = (ranks * is_member).sum(axis=0) - plays_in * (plays_in + 1) / 2  # Mann and Whitney's U
    caught, accused = (called & is_member).sum(axis=0), (called & ~is_member).sum(axis=0)
    return Risk(caught / plays_in, accused / plays_out, wins / (plays_in * plays_out))
