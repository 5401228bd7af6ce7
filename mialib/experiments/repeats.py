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
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.stats

from mialib.estimates import Estimate

DRAWS = 400  # of the records; the interval needs their variance only
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
    return (values.astype(np.float32) @ counts.T).astype(np.float64) / counts[0].sum()


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
