"""How well scores tell members from non-members: two arrays in, every number out.

Scores: higher = member. 0 is the threshold that the attack chose on its shadow. Introduced in notebook 01.

>>> scores, is_member = [0.3, -0.1, 0.2, -0.5], [True, True, False, False]
>>> print(advantage(scores, is_member), best_advantage(scores, is_member))
0.0 0.5
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.errors import as_array, check_range, refuse
from mialib.estimates import Estimate, Evaluation


class Roc(NamedTuple):
    """A point for each distinct score, from the strictest threshold (+∞) to the loosest."""

    fpr: np.ndarray
    tpr: np.ndarray
    threshold: np.ndarray


def check(scores: ArrayLike, is_member: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return (scores, is_member) as float64 and bool, or say what is wrong with them."""
    scores, is_member = as_array(scores, what="Scores"), as_array(is_member, kind="biufcOUS")
    found = f"found {scores.shape} and {is_member.shape}"
    refuse(
        scores.ndim != 1 or scores.shape != is_member.shape,
        f"Expected two arrays of shape (n,), {found}.",
    )
    refuse(
        not np.isin(is_member, (0, 1)).all(),
        "is_member must be True or False (or 1 and 0) for each record.",
    )
    is_member, nans = is_member.astype(bool), np.isnan(scores).sum()
    refuse(nans, f"{nans} scores are NaN; an attack must give each record a number.")
    alone = f"all {len(scores)} records are {'' if is_member.any() else 'non-'}members"
    refuse(
        is_member.all() or not is_member.any(),
        f"Members and non-members are both needed, but {alone}.",
    )
    return scores.astype(np.float64), is_member


def roc(scores: ArrayLike, is_member: ArrayLike) -> Roc:
    """The ROC curve; records with equal scores enter together."""
    _, scores, is_member, last = _ranked(scores, is_member)
    hits = np.cumsum(is_member)[last]
    tpr = np.r_[0.0, hits / is_member.sum()]
    fpr = np.r_[0.0, (last + 1 - hits) / (~is_member).sum()]
    return Roc(fpr, tpr, np.r_[np.inf, scores[last]])


def auc(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The probability that a random member scores higher than a random non-member; a tie counts half."""
    return float(_every_number(*roc(scores, is_member))[0])


def rates(
    scores: ArrayLike, is_member: ArrayLike, *, threshold: float = 0.0
) -> tuple[float, float]:
    """(TPR, FPR) of the decision score ≥ threshold."""
    scores, is_member = check(scores, is_member)
    said_member = scores >= threshold
    return float(said_member[is_member].mean()), float(said_member[~is_member].mean())


def advantage(scores: ArrayLike, is_member: ArrayLike) -> float:
    """TPR − FPR at the threshold that was fitted on the shadow, which is 0 (PAST, Eq. 5)."""
    tpr, fpr = rates(scores, is_member)
    return tpr - fpr


def best_advantage(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The largest TPR − FPR over all thresholds: optimistic, as no attacker has the labels to find that one."""
    fpr, tpr, _ = roc(scores, is_member)
    return float((tpr - fpr).max())


def tpr_at_fpr(scores: ArrayLike, is_member: ArrayLike, fpr: float, **options) -> Estimate:
    """The largest TPR whose FPR is at most `fpr`, with its bootstrap interval; the options are `bootstrap`'s. (The
    threshold is itself found on these non-members, so an interval that took it as given would be too narrow.)"""
    curve, n = roc(scores, is_member), int((~np.asarray(is_member, bool)).sum())
    if not resolvable(fpr, n):
        return Estimate(np.nan, note=f"not resolvable with {n:,} non-members")
    low, high = bootstrap(scores, is_member, lambda *curves: _largest_tpr(*curves, fpr), **options)
    return Estimate(float(_largest_tpr(*curve, fpr)), float(low), float(high))


def resolvable(fpr: float, non_members: int) -> bool:
    """Whether one false alarm among this many non-members is at most `fpr`; if not, a TPR there is NaN, never 0."""
    refuse(not 0 < fpr <= 1, f"A false-positive rate lies in (0, 1], found {fpr}.")
    return fpr * non_members >= 1 - 1e-9


def ppv(tpr: ArrayLike, fpr: ArrayLike, prior: ArrayLike) -> np.ndarray:
    """The share of true members among those called members, when a share `prior` of the candidates are."""
    check_range(0, 1, tpr=tpr, fpr=fpr, prior=prior)
    true, false = np.asarray(tpr) * prior, np.asarray(fpr) * (1 - np.asarray(prior))
    called = true + false
    return np.divide(true, called, out=np.full(np.shape(called), np.nan), where=called > 0)


def p1(accuracy: float, advantage: float) -> float:
    """Harmonic mean of test accuracy and 1 − advantage: utility and privacy in one number (PAST, Eq. 6)."""
    check_range(0, 1, accuracy=accuracy)
    check_range(-1, 1, advantage=advantage)
    privacy = 1 - advantage
    return 2 * accuracy * privacy / (accuracy + privacy) if accuracy + privacy > 0 else 0.0


def defense_level(attack_accuracy: float) -> float:
    """D = 200 − 2A of the sparsity paper, A in percent: 100 means that the attack is a coin toss."""
    check_range(1, 100, attack_accuracy=attack_accuracy)  # 0.6 would mean 60 %.
    return 200 - 2 * attack_accuracy


def significant(values: ArrayLike, dense: ArrayLike) -> bool:
    """The sparsity paper's rule for repeated runs: mean ± standard deviation do not meet those of the dense network."""
    values, dense = as_array(values), as_array(dense)
    refuse(
        min(values.size, dense.size) < 2, "A standard deviation needs at least two repeats of each."
    )
    return bool(abs(values.mean() - dense.mean()) > values.std(ddof=1) + dense.std(ddof=1))


def clopper_pearson(hits: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share: `hits` of `n`."""
    check_range(1, np.inf, whole=True, n=n)
    check_range(0, n, whole=True, hits=hits)
    check_range(0, 1, confidence=confidence)
    tail = (1 - confidence) / 2
    low = scipy.special.betaincinv(hits, n - hits + 1, tail) if hits else 0.0
    high = scipy.special.betaincinv(hits + 1, n - hits, 1 - tail) if hits < n else 1.0
    return float(low), float(high)


def bootstrap(
    scores: ArrayLike,
    is_member: ArrayLike,
    statistic: Callable,
    *,
    record: ArrayLike | None = None,
    draws=1000,
    seed=0,
) -> np.ndarray:
    """95 % percentile interval of `statistic(fpr, tpr, threshold)`, members and non-members drawn apart. A draw is
    weights on the sorted records, so one cumulative sum gives all ROC curves: `fpr` and `tpr` are (draws, points). The
    statistic turns them into (draws,) and the answer is [low, high]; several as (draws, k) give (2, k). Where
    records were scored against several targets, `record` (n,) says whose each score is, and whole records are drawn."""
    order, scores, is_member, last = _ranked(scores, is_member)
    check_range(1, np.inf, whole=True, draws=draws)
    if record is not None:
        n, found = len(scores), np.shape(record)
        refuse(found != (n,), f"record must have one entry for each of {n} scores, found {found}.")
        record = np.unique(record, return_inverse=True)[1][order]
    rngs, values = np.random.default_rng(seed).spawn(2), []
    chunk = max(1, 1_000_000 // len(scores))  # what a cache holds at a time
    for start in range(0, draws, chunk):
        fpr, tpr = _resampled(rngs, is_member, record, min(chunk, draws - start), last)
        whole = ~np.isnan(
            fpr[:, -1] + tpr[:, -1]
        )  # A draw of records may hold no member, or no non-member.
        values.append(statistic(fpr[whole], tpr[whole], np.r_[np.inf, scores[last]]))
    return np.quantile(np.concatenate(values), [0.025, 0.975], axis=0)


def evaluate(
    scores: ArrayLike, is_member: ArrayLike, *, record: ArrayLike | None = None, **options
) -> Evaluation:
    """Every number of one attack, with intervals; `record` and the options are `bootstrap`'s."""
    scores, is_member = check(scores, is_member)
    intervals = bootstrap(scores, is_member, _every_number, record=record, **options)
    values = _every_number(*roc(scores, is_member))
    found = [Estimate(*map(float, row)) for row in zip(values, *intervals, strict=True)]
    if (
        record is None
    ):  # The threshold 0 was fixed beforehand, so independent records have an exact interval.
        said = [scores[chosen] >= 0 for chosen in (is_member, ~is_member)]
        found[3:5] = [
            Estimate(float(s.mean()), *clopper_pearson(int(s.sum()), len(s))) for s in said
        ]
    n = int((~is_member).sum())
    for place, fpr in ((5, 0.01), (6, 0.001)):
        if not resolvable(fpr, n):
            found[place] = Estimate(np.nan, note=f"not resolvable with {n:,} non-members")
    return Evaluation(int(is_member.sum()), n, *found)


def _ranked(scores: ArrayLike, is_member: ArrayLike) -> tuple[np.ndarray, ...]:
    """The order from the highest score down, both arrays in it, and the places where a run of equal scores ends."""
    scores, is_member = check(scores, is_member)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    return (
        order,
        ranked,
        is_member[order],
        np.r_[np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1],
    )


def _largest_tpr(fpr: np.ndarray, tpr: np.ndarray, _: np.ndarray, limit: float) -> np.ndarray:
    last = (fpr <= limit + 1e-12).sum(axis=-1, keepdims=True) - 1  # Both rates rise along a curve.
    return np.take_along_axis(tpr, last, axis=-1)[..., 0]


def _every_number(fpr: np.ndarray, tpr: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """What `Evaluation` holds, from curves (…, points): (…, 7)."""
    gain, loosest = tpr - fpr, np.flatnonzero(threshold >= 0)[-1]
    area = (
        np.einsum("...i,...i", np.diff(fpr), tpr[..., 1:] + tpr[..., :-1]) / 2
    )  # np.trapezoid makes copies
    at_zero = [gain[..., loosest], gain.max(axis=-1), tpr[..., loosest], fpr[..., loosest]]
    low = [_largest_tpr(fpr, tpr, threshold, limit) for limit in (0.01, 0.001)]
    return np.stack([area, *at_zero, *low], axis=-1)


def _resampled(
    rngs: list, is_member: np.ndarray, record, rows: int, last: np.ndarray
) -> Iterator[np.ndarray]:
    """FPR, then TPR, after drawing with replacement, `rows` times: each (rows, points)."""
    if record is not None:
        weight = _counts(rngs[0], np.arange(record.max() + 1), rows)[:, record]
    for rng, chosen in zip(rngs, (~is_member, is_member), strict=True):
        count = (
            weight * chosen
            if record is not None
            else _counts(rng, np.flatnonzero(chosen), rows, len(chosen))
        )
        total = np.cumsum(count, axis=1, dtype=np.int32)
        drawn = np.where(total[:, -1:] > 0, total[:, -1:], np.nan)
        yield np.pad(total[:, last] / drawn, ((0, 0), (1, 0)))


def _counts(
    rng: np.random.Generator, places: np.ndarray, rows: int, length: int | None = None
) -> np.ndarray:
    """How often each place is hit by len(places) draws with replacement: (rows, length). Faster than a multinomial."""
    n, length = len(places), length or len(places)
    flat = (places[rng.integers(n, size=(rows, n))] + np.arange(rows)[:, None] * length).ravel()
    return np.bincount(flat, minlength=rows * length).reshape(rows, length)
