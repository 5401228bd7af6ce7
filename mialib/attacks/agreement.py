"""Which records do several attacks find, and which records are at risk whoever the target is?

>>> found = agreement({"a": [1, 1, -1, 1], "b": [1, -1, -1, 1]}, [True, True, True, False])
>>> found.both["a", "b"], found.by_how_many.tolist()
(0.5, [2, 1, 0])

Introduced in notebook 05.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.arrays import as_array
from mialib.errors import between


@dataclass(frozen=True, eq=False)
class Agreement:
    """`both` has, for each pair of attacks, the share found by both among the members found by either.

    `by_how_many` says for each member how many attacks find it: (members,).
    """

    both: dict[tuple[str, str], float]
    by_how_many: np.ndarray


def agreement(scores: dict[str, ArrayLike], is_member: ArrayLike) -> Agreement:
    """How far attacks find the same members, each at its own threshold 0."""
    if not scores:
        raise ValueError("Give the scores of at least one attack.")
    checked = {name: metrics.check(one, is_member) for name, one in scores.items()}
    found = {name: values[truth] >= 0 for name, (values, truth) in checked.items()}
    both = {}
    for a, b in combinations(found, 2):
        either = (found[a] | found[b]).sum()
        both[a, b] = float((found[a] & found[b]).sum() / either) if either else 1.0
    return Agreement(both, np.sum(list(found.values()), axis=0))


@dataclass(frozen=True, eq=False)
class Risk:
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
    from scipy.stats import rankdata

    scores, is_member = as_array(scores, what="scores").astype(float), as_array(is_member, kind="b", what="is_member")
    if scores.ndim != 2 or scores.shape != is_member.shape:
        raise ValueError(f"Expected two arrays (targets, n), found {scores.shape} and {is_member.shape}.")
    between(0, 1, fpr=fpr)
    plays_in, plays_out = is_member.sum(axis=0), (~is_member).sum(axis=0)
    if not (plays_in * plays_out).all():
        raise ValueError("Each record must be IN at least once and OUT at least once. Use more targets.")
    curve = metrics.roc(scores.ravel(), is_member.ravel())
    called = scores >= curve.threshold[np.flatnonzero(curve.fpr <= fpr + 1e-12)[-1]]
    wins = (rankdata(scores, axis=0) * is_member).sum(axis=0) - plays_in * (plays_in + 1) / 2  # Mann and Whitney's U
    return Risk(
        (called & is_member).sum(axis=0) / plays_in, (called & ~is_member).sum(axis=0) / plays_out,
        wins / (plays_in * plays_out),
    )  # fmt: skip
