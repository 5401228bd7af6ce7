"""Intervals that include the training: the same setting, trained several times on the same records.

A number from one training would be another on other records, and another with another seed. With
t(s, r) the number of seed s on a draw r of records, the mean over S seeds has the variance

    Var_s t(s, ·) / S   +   Var_r mean_s t(s, r)
    the training            the records

Only the first term is estimated from a few values, so the interval is Student's, with the degrees
of freedom of Welch and Satterthwaite: those of the seeds where training dominates, and many where
the records do. Differences between two settings are taken seed by seed and record by record first.

    draws                               # (seeds, 1 + draws): the number, then its value in each
    over_seeds_and_records(draws)       # an Estimate
    in_turn(scores, bank.is_member)     # of a bank whose models play the target in turn
    in_turn_apart(scores, others, bank.is_member)   # what one attack reaches less another
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from mialib import metrics
from mialib.errors import as_array, check_range
from mialib.estimates import Estimate

DRAWS = 200  # of the records; the interval needs their variance only
CONFIDENCE = 0.95


class RecordCounts(NamedTuple):
    """How often each record counts, (1 + draws, n): once at first, then as often as it was drawn.

    They are whole numbers as float32, whose sums are exact and quick.
    """

    members: np.ndarray
    non_members: np.ndarray

    def observed(self) -> RecordCounts:
        """Each record once, without any draw."""
        return RecordCounts(self.members[:1], self.non_members[:1])

    def mean_of_members(self, values: np.ndarray) -> np.ndarray:
        """The members' mean in every draw: (…, n) → (…, 1 + draws)."""
        return _means(values, self.members)

    def mean_of_non_members(self, values: np.ndarray) -> np.ndarray:
        return _means(values, self.non_members)


def _means(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """In one thread: several wait for each other, on a busy machine for a hundred times as long."""
    with _blas().limit(limits=1, user_api="blas"):
        sums = values.astype(np.float32) @ counts.T
    return sums.astype(np.float64) / counts[0].sum()


@cache
def _blas() -> ThreadpoolController:
    """The libraries behind NumPy's products; to find them takes longer than such a product."""
    return ThreadpoolController()


def record_counts(is_member: np.ndarray) -> RecordCounts:
    """The same draws of records, with replacement, for every number that is to be compared."""
    if is_member.all() or not is_member.any():
        raise ValueError(
            f"A number needs members and non-members, found {int(is_member.sum())} members among "
            f"{len(is_member)} records."
        )
    return _record_counts(np.packbits(is_member).tobytes(), len(is_member))


@lru_cache(maxsize=8)
def _record_counts(packed: bytes, n: int) -> RecordCounts:
    is_member = np.unpackbits(np.frombuffer(packed, np.uint8), count=n).astype(bool)
    rng = np.random.default_rng(0)
    return RecordCounts(_drawn(is_member, rng), _drawn(~is_member, rng))


def _drawn(chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    places = np.flatnonzero(chosen)
    n = len(places)
    counts = np.zeros((1 + DRAWS, len(chosen)), np.float32)
    counts[0, places] = 1
    counts[1:, places] = rng.multinomial(n, np.full(n, 1 / n), size=DRAWS)
    return counts


def over_seeds_and_records(draws: np.ndarray) -> Estimate:
    """The mean over seeds with its 95 % interval, from `draws` (seeds, 1 + draws).

    One training has a number, but says nothing about the next one.
    """
    values = draws[:, 0]
    mean = float(values.mean())
    seeds = len(values)
    if seeds == 1:
        return Estimate(mean, note=f"{mean:z.3f} (one training, so without an interval)")
    of_training = float(values.var(ddof=1)) / seeds
    of_records = float(draws[:, 1:].mean(axis=0).var(ddof=1))
    total = of_training + of_records
    if total == 0:
        return Estimate(mean, mean, mean)
    freedom = np.inf if of_training == 0 else (total / of_training) ** 2 * (seeds - 1)
    quantile = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom)
    reach = float(quantile * total**0.5)
    return Estimate(mean, mean - reach, mean + reach)


class InTurn(NamedTuple):
    """An attack on several targets of the same records: means over targets."""

    auc: Estimate
    tpr_at_1_percent: Estimate
    tpr_at_0_1_percent: Estimate


def in_turn(scores: ArrayLike, is_member: ArrayLike, *, draws: int = 100) -> InTurn:
    """What an attack reaches on one target, from scores (targets, n) and who holds whom.

    Each target is a training of its own, with members of its own, and all are asked about the same
    records: so the interval is that of repeats, with targets in place of seeds.
    """
    curves = _curves_in_turn(scores, is_member, draws)
    return InTurn(
        auc=_as_share(curves.auc()),
        tpr_at_1_percent=_or_note(curves, 0.01, _as_share),
        tpr_at_0_1_percent=_or_note(curves, 0.001, _as_share),
    )


def in_turn_apart(
    scores: ArrayLike, others: ArrayLike, is_member: ArrayLike, *, draws: int = 100
) -> InTurn:
    """What scores (targets, n) reach minus what the others do, target by target and record by
    record.

    Both are of the same records, and their targets hold the same ones: of the same bank, or of the
    same models before and after a defense.
    """
    one = _curves_in_turn(scores, is_member, draws)
    other = _curves_in_turn(others, is_member, draws)

    def apart(first: np.ndarray, second: np.ndarray) -> Estimate:
        return over_seeds_and_records(first - second)

    return InTurn(
        auc=apart(one.auc(), other.auc()),
        tpr_at_1_percent=_or_note(one, 0.01, apart, other),
        tpr_at_0_1_percent=_or_note(one, 0.001, apart, other),
    )


class CurvesInTurn(NamedTuple):
    """FPR and TPR of each target, in every draw, and the fewest non-members of any target."""

    curves: list[tuple[np.ndarray, np.ndarray]]
    non_members: int

    def auc(self) -> np.ndarray:
        """(targets, 1 + draws)."""
        return np.stack([metrics.area(*curve) for curve in self.curves])

    def tpr(self, fpr: float) -> np.ndarray:
        """(targets, 1 + draws)."""
        return np.stack([metrics.largest_tpr(*curve, fpr) for curve in self.curves])


def _curves_in_turn(scores: ArrayLike, is_member: ArrayLike, draws: int) -> CurvesInTurn:
    check_range(2, np.inf, whole=True, draws=draws)
    scores = as_array(scores, kind="biuf", what="Scores")
    is_member = as_array(is_member, kind="b", what="is_member")
    if scores.ndim != 2 or scores.shape != is_member.shape:
        raise ValueError(
            "Expected scores and is_member of the same shape (targets, n), found "
            f"{scores.shape} and {is_member.shape}."
        )
    n = scores.shape[1]
    counts = np.ones((1 + draws, n), np.float32)
    counts[1:] = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=draws)
    curves = [
        metrics.weighted_roc(one, counts * held, counts * ~held)
        for one, held in zip(scores, is_member, strict=True)
    ]
    return CurvesInTurn(curves, int((~is_member).sum(axis=1).min()))


def _or_note(
    curves: CurvesInTurn,
    fpr: float,
    estimate: Callable[..., Estimate],
    *others: CurvesInTurn,
) -> Estimate:
    """An estimate of the TPR, or why there is none."""
    if not metrics.resolvable(fpr, curves.non_members):
        return Estimate(np.nan, note=f"not resolvable with {curves.non_members:,} non-members")
    return estimate(*(one.tpr(fpr) for one in (curves, *others)))


def _as_share(draws: np.ndarray) -> Estimate:
    """Of a number that lies between 0 and 1; so does its interval."""
    estimate = over_seeds_and_records(draws)
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))
