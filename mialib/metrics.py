"""How well scores tell members from non-members: two arrays in, every number out.

Scores: higher = member. A threshold is the attack's own, fitted on shadows or references.
Introduced in notebook 01.

>>> scores = [0.3, -0.1, 0.2, -0.5]
>>> is_member = [True, True, False, False]
>>> advantage(scores, is_member, threshold=0.0)
0.0
>>> best_advantage(scores, is_member)
0.5
>>> print(evaluate(scores, is_member).advantage)
no threshold was fitted
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.errors import as_array, check_range
from mialib.estimates import Estimate, Evaluation

MOST_DRAWS = 1_000_000  # More would take hours and change no digit that is shown.
CACHE = 1_000_000  # How many weights a processor's cache holds at a time.
ROUNDING = 1e-12  # An FPR that exceeds a limit by less than this does not exceed it.

# A statistic of ROC curves: (fpr, tpr, threshold) → an array whose first axis is the draws.
Statistic = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Roc(NamedTuple):
    """A point for each distinct score, from the strictest threshold (+∞) to the loosest."""

    fpr: np.ndarray
    tpr: np.ndarray
    threshold: np.ndarray


class Rates(NamedTuple):
    """The shares of members and of non-members that are called members."""

    tpr: float
    fpr: float


class Interval(NamedTuple):
    low: float
    high: float


def check(scores: ArrayLike, is_member: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return (scores, is_member) as float64 and bool, or say what is wrong with them."""
    scores = as_array(scores, what="Scores")
    is_member = _as_membership(is_member)
    if scores.ndim != 1 or scores.shape != is_member.shape:
        raise ValueError(
            f"Expected two arrays of shape (n,), found {scores.shape} and {is_member.shape}."
        )
    nans = np.isnan(scores).sum()
    if nans:
        raise ValueError(f"{nans} scores are NaN; an attack must give each record a number.")
    if is_member.all() or not is_member.any():
        kind = "members" if is_member.any() else "non-members"
        raise ValueError(
            f"Members and non-members are both needed, but all {len(scores)} records are {kind}."
        )
    return scores.astype(np.float64), is_member


def _as_membership(is_member: ArrayLike) -> np.ndarray:
    """`is_member` as bool; ones and zeros of any type serve too, and objects that are bool."""
    sentence = "is_member must be True or False (or 1 and 0) for each record."
    try:
        array = as_array(is_member, kind="biufO", what="is_member")
    except ValueError as error:
        raise ValueError(f"{sentence} {error}") from None
    if array.dtype.kind == "O":
        is_valid = all(isinstance(value, bool | np.bool_) for value in array.flat)
    else:
        is_valid = bool(np.isin(array, (0, 1)).all())
    if not is_valid:
        raise ValueError(sentence)
    return array.astype(bool)


def _as_threshold(threshold: float) -> float:
    """One number, which may be infinite; NaN would call nobody a member without a word."""
    array = as_array(threshold, kind="iuf", what="threshold")
    if array.ndim != 0 or np.isnan(array):
        raise ValueError(f"threshold must be one number, found {threshold}.")
    return float(array)


# The ROC curve and what is read from it.


class _Ranked(NamedTuple):
    """Records from the highest score down."""

    order: np.ndarray  # where each of them was
    scores: np.ndarray
    is_member: np.ndarray
    last: np.ndarray  # the places where a run of equal scores ends


def _ranked(scores: ArrayLike, is_member: ArrayLike) -> _Ranked:
    scores, is_member = check(scores, is_member)
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    drops = np.flatnonzero(descending[1:] != descending[:-1])
    last = np.append(drops, len(descending) - 1)
    return _Ranked(order, descending, is_member[order], last)


def roc(scores: ArrayLike, is_member: ArrayLike) -> Roc:
    """The ROC curve; records with equal scores enter together."""
    ranked = _ranked(scores, is_member)
    members = np.cumsum(ranked.is_member)[ranked.last]
    non_members = ranked.last + 1 - members
    return Roc(
        fpr=np.append(0.0, non_members / (~ranked.is_member).sum()),
        tpr=np.append(0.0, members / ranked.is_member.sum()),
        threshold=_curve_thresholds(ranked),
    )


def weighted_roc(
    scores: ArrayLike, member_counts: np.ndarray, non_member_counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """FPR and TPR where each record counts so often, (draws, n): (draws, points) each.

    A member counts 0 times among the non-members; the first draw has every record once, and tells
    who is a member. The same draws serve any number of scores, so that they can be compared record
    by record.
    """
    members = _as_counts(member_counts, what="member_counts")
    non_members = _as_counts(non_member_counts, what="non_member_counts")
    if members.shape != non_members.shape:
        raise ValueError(
            "Expected as many draws of members as of non-members, of the same records; "
            f"found {members.shape} and {non_members.shape}."
        )
    ranked = _ranked(scores, members[0] > 0)
    fpr = _weighted_rate(non_members[:, ranked.order], ranked.last)
    tpr = _weighted_rate(members[:, ranked.order], ranked.last)
    return fpr, tpr


def _as_counts(counts: ArrayLike, *, what: str) -> np.ndarray:
    """How often each record counts in every draw: (draws, n)."""
    counts = as_array(counts, kind="iuf", what=what)
    if counts.ndim != 2 or counts.size == 0:
        raise ValueError(f"{what} must have shape (draws, n), found {counts.shape}.")
    totals = counts.sum(axis=1)
    is_good = counts.min() >= 0 and totals.min() > 0 and np.isfinite(totals).all()
    if not is_good:
        raise ValueError(f"{what} must count some record in every draw, and none below 0 times.")
    return counts


def _curve_thresholds(ranked: _Ranked) -> np.ndarray:
    """The threshold of each point; at +∞ nobody is called a member."""
    return np.append(np.inf, ranked.scores[ranked.last])


def auc(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The probability that a random member scores higher than a random non-member.

    A tie counts half.
    """
    curve = roc(scores, is_member)
    return float(area(curve.fpr, curve.tpr))


def rates(scores: ArrayLike, is_member: ArrayLike, *, threshold: float) -> Rates:
    """(TPR, FPR) of the decision score ≥ threshold."""
    scores, is_member = check(scores, is_member)
    called = scores >= _as_threshold(threshold)
    return Rates(tpr=float(called[is_member].mean()), fpr=float(called[~is_member].mean()))


def advantage(scores: ArrayLike, is_member: ArrayLike, *, threshold: float) -> float:
    """TPR − FPR at a threshold that was fitted beforehand, on the shadow (PAST, Eq. 5)."""
    tpr, fpr = rates(scores, is_member, threshold=threshold)
    return tpr - fpr


def best_advantage(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The largest TPR − FPR over all thresholds.

    It is optimistic, because no attacker has the labels to find that threshold.
    """
    curve = roc(scores, is_member)
    return float((curve.tpr - curve.fpr).max())


def tpr_at_fpr(
    scores: ArrayLike,
    is_member: ArrayLike,
    fpr: float,
    *,
    groups: ArrayLike | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Estimate:
    """The largest TPR whose FPR is at most `fpr`, with its bootstrap interval.

    The threshold is itself found on these non-members, so an interval that took it as given would
    be too narrow. `groups`, `draws` and `seed` are those of `bootstrap`.
    """
    scores, is_member = check(scores, is_member)
    non_members = int((~is_member).sum())
    if not resolvable(fpr, non_members):
        return _not_resolvable(non_members)
    limit = float(fpr)

    def statistic(fprs: np.ndarray, tprs: np.ndarray, _: np.ndarray) -> np.ndarray:
        return largest_tpr(fprs, tprs, limit)

    value = statistic(*roc(scores, is_member))
    low, high = bootstrap(scores, is_member, statistic, groups=groups, draws=draws, seed=seed)
    return Estimate(float(value), float(low), float(high))


def resolvable(fpr: float, non_members: int) -> bool:
    """Whether one false alarm among this many non-members is at most `fpr`.

    If it is not, a TPR there is NaN, never 0.
    """
    rate = as_array(fpr, kind="iuf", what="A false-positive rate")
    if rate.ndim != 0 or not 0 < rate <= 1:
        raise ValueError(f"A false-positive rate lies in (0, 1], found {fpr}.")
    check_range(0, np.inf, whole=True, non_members=non_members)
    return bool(fpr * non_members >= 1 - 1e-9)


def _not_resolvable(non_members: int) -> Estimate:
    return Estimate(np.nan, note=f"not resolvable with {non_members:,} non-members")


# Every number of one attack.


class CurveStatistics(NamedTuple):
    """What `Evaluation` holds: of one curve (numbers) or of many (arrays, an entry for each)."""

    auc: np.ndarray
    advantage: np.ndarray
    best_advantage: np.ndarray
    tpr: np.ndarray
    fpr: np.ndarray
    tpr_at_1_percent: np.ndarray
    tpr_at_0_1_percent: np.ndarray


def evaluate(
    scores: ArrayLike,
    is_member: ArrayLike,
    *,
    threshold: float | None = None,
    groups: ArrayLike | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Every number of one attack, with intervals; `groups`, `draws` and `seed` are `bootstrap`'s.

    `threshold` is the one that the attack fitted beforehand; without it, the numbers at a threshold
    say that none was fitted.
    """
    scores, is_member = check(scores, is_member)
    if threshold is not None:
        threshold = _as_threshold(threshold)
    statistics = partial(_curve_statistics, threshold=threshold)
    values = statistics(*roc(scores, is_member))
    low, high = bootstrap(
        scores,
        is_member,
        lambda *curves: np.stack(statistics(*curves), axis=-1),  # (draws, statistics)
        groups=groups,
        draws=draws,
        seed=seed,
    )
    estimates = _estimates(values, CurveStatistics(*low), CurveStatistics(*high))
    if threshold is None:
        missing = Estimate(np.nan, note="no threshold was fitted")
        estimates |= {"advantage": missing, "tpr": missing, "fpr": missing}
    elif groups is None:
        # The threshold was fixed beforehand, so independent records have an exact interval.
        called = scores >= threshold
        estimates["tpr"] = _exact_share(called[is_member])
        estimates["fpr"] = _exact_share(called[~is_member])
    non_members = int((~is_member).sum())
    if not resolvable(0.01, non_members):
        estimates["tpr_at_1_percent"] = _not_resolvable(non_members)
    if not resolvable(0.001, non_members):
        estimates["tpr_at_0_1_percent"] = _not_resolvable(non_members)
    return Evaluation(members=int(is_member.sum()), non_members=non_members, **estimates)


def _estimates(
    values: CurveStatistics, low: CurveStatistics, high: CurveStatistics
) -> dict[str, Estimate]:
    """An estimate for each statistic, by its name."""
    return {
        name: Estimate(
            value=float(getattr(values, name)),
            low=float(getattr(low, name)),
            high=float(getattr(high, name)),
        )
        for name in CurveStatistics._fields
    }


def _exact_share(called: np.ndarray) -> Estimate:
    """The share of True, with the exact interval of independent records."""
    interval = clopper_pearson(int(called.sum()), len(called))
    return Estimate(float(called.mean()), interval.low, interval.high)


def _curve_statistics(
    fpr: np.ndarray, tpr: np.ndarray, thresholds: np.ndarray, *, threshold: float | None
) -> CurveStatistics:
    """The statistics of curves (…, points); those at the threshold are NaN where there is none."""
    gain = tpr - fpr
    if threshold is None:
        nothing = np.full(fpr.shape[:-1], np.nan)
        advantage_there = tpr_there = fpr_there = nothing
    else:
        loosest = np.flatnonzero(thresholds >= threshold)[-1]
        advantage_there = gain[..., loosest]
        tpr_there = tpr[..., loosest]
        fpr_there = fpr[..., loosest]
    return CurveStatistics(
        auc=area(fpr, tpr),
        advantage=advantage_there,
        best_advantage=gain.max(axis=-1),
        tpr=tpr_there,
        fpr=fpr_there,
        tpr_at_1_percent=largest_tpr(fpr, tpr, 0.01),
        tpr_at_0_1_percent=largest_tpr(fpr, tpr, 0.001),
    )


def area(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """The area under curves (…, points), by trapezoids; np.trapezoid would make copies."""
    widths = np.diff(fpr)
    doubled_heights = tpr[..., 1:] + tpr[..., :-1]
    return np.einsum("...i,...i", widths, doubled_heights) / 2


def largest_tpr(fpr: np.ndarray, tpr: np.ndarray, limit: float) -> np.ndarray:
    """The TPR at the last point whose FPR is within the limit; both rates rise along a curve."""
    within = (fpr <= limit + ROUNDING).sum(axis=-1, keepdims=True)
    return np.take_along_axis(tpr, within - 1, axis=-1)[..., 0]


# Intervals.


def clopper_pearson(hits: int, n: int, *, confidence: float = 0.95) -> Interval:
    """The exact interval of a share: `hits` of `n`."""
    check_range(1, np.inf, whole=True, n=n)
    check_range(0, n, whole=True, hits=hits)
    check_range(0, 1, confidence=confidence)
    tail = (1 - confidence) / 2
    low = scipy.special.betaincinv(hits, n - hits + 1, tail) if hits else 0.0
    high = scipy.special.betaincinv(hits + 1, n - hits, 1 - tail) if hits < n else 1.0
    return Interval(float(low), float(high))


def bootstrap(
    scores: ArrayLike,
    is_member: ArrayLike,
    statistic: Statistic,
    *,
    groups: ArrayLike | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> np.ndarray:
    """95 % percentile interval of `statistic(fpr, tpr, threshold)`.

    Members and non-members are drawn apart. A draw is weights on the sorted records, so one
    cumulative sum gives all ROC curves: `fpr` and `tpr` are (draws, points). The statistic turns
    them into (draws,) and the answer is [low, high]; several as (draws, k) give (2, k).

    Where records were scored against several targets, `groups` (n,) says to which record each score
    belongs, and whole records are drawn.
    """
    ranked = _ranked(scores, is_member)
    if not callable(statistic):
        raise TypeError(
            f"The statistic must be a function of (fpr, tpr, threshold), found {statistic!r}."
        )
    check_range(1, MOST_DRAWS, whole=True, draws=draws)
    check_range(0, np.inf, whole=True, seed=seed)
    group = None if groups is None else _group_numbers(groups, ranked.order)
    thresholds = _curve_thresholds(ranked)
    rngs = np.random.default_rng(seed).spawn(2)
    chunk = max(1, CACHE // len(ranked.scores))
    values = []
    for start in range(0, draws, chunk):
        fpr, tpr = _resampled(rngs, ranked, group, min(chunk, draws - start))
        # A draw of groups may hold no member, or no non-member.
        is_whole = ~np.isnan(fpr[:, -1] + tpr[:, -1])
        values.append(statistic(fpr[is_whole], tpr[is_whole], thresholds))
    return _percentiles(values)


def _group_numbers(groups: ArrayLike, order: np.ndarray) -> np.ndarray:
    """A number 0, 1, … for each record's group, in the order of the ranked records."""
    names = as_array(groups, kind="biufUS", what="groups")
    if names.shape != order.shape:
        raise ValueError(
            f"groups must have one entry for each of {len(order)} scores, found {names.shape}."
        )
    _, numbers = np.unique(names, return_inverse=True)
    return numbers[order]


def _percentiles(values: list[np.ndarray]) -> np.ndarray:
    """2.5 % and 97.5 % of the statistic's values, chunk after chunk: (2,) or (2, k)."""
    drawn = np.concatenate(values)
    if len(drawn) == 0:
        raise ValueError(
            "No draw of whole groups held members and non-members. Use more draws, or more groups."
        )
    return np.quantile(drawn, [0.025, 0.975], axis=0)


def _resampled(
    rngs: list[np.random.Generator], ranked: _Ranked, group: np.ndarray | None, rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """FPR and TPR after drawing with replacement, `rows` times: each (rows, points)."""
    is_member = ranked.is_member
    if group is not None:
        every_group = np.arange(group.max() + 1)
        weights = _counts(rngs[0], every_group, rows, len(every_group))[:, group]
        fpr = _weighted_rate(weights * ~is_member, ranked.last)
        tpr = _weighted_rate(weights * is_member, ranked.last)
        return fpr, tpr
    non_member_rng, member_rng = rngs
    n = len(is_member)
    non_member_weights = _counts(non_member_rng, np.flatnonzero(~is_member), rows, n)
    fpr = _weighted_rate(non_member_weights, ranked.last)
    member_weights = _counts(member_rng, np.flatnonzero(is_member), rows, n)
    tpr = _weighted_rate(member_weights, ranked.last)
    return fpr, tpr


def _weighted_rate(weights: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The share of the weight (rows, n) up to each point, from 0 on: (rows, points).

    A row without weight has NaN.
    """
    sums = np.cumsum(weights, axis=1, dtype=np.int32)
    total = sums[:, -1:]
    total = np.where(total > 0, total, np.nan)
    shares = np.zeros((len(weights), 1 + len(last)))
    np.divide(sums[:, last], total, out=shares[:, 1:])
    return shares


def _counts(rng: np.random.Generator, places: np.ndarray, rows: int, length: int) -> np.ndarray:
    """How often each place is hit by len(places) draws with replacement: (rows, length).

    One bincount serves all rows, because row r counts in a stretch of its own, from r · length on.
    This is faster than a multinomial.
    """
    n = len(places)
    hits = places[rng.integers(n, size=(rows, n))]
    offsets = np.arange(rows)[:, None] * length
    counts = np.bincount((hits + offsets).ravel(), minlength=rows * length)
    return counts.reshape(rows, length)


# The small formulas of the papers.


def ppv(tpr: ArrayLike, fpr: ArrayLike, prior: ArrayLike) -> np.ndarray:
    """The share of true members among those called members, when a share `prior` of all are."""
    check_range(0, 1, many=True, tpr=tpr, fpr=fpr, prior=prior)
    prior = np.asarray(prior)
    try:
        true_alarms = np.asarray(tpr) * prior
        called = true_alarms + np.asarray(fpr) * (1 - prior)
    except ValueError as error:
        raise ValueError(f"The shapes of tpr, fpr and prior do not fit: {error}.") from None
    unknown = np.full(np.shape(called), np.nan)  # Nobody was called a member.
    return np.divide(true_alarms, called, out=unknown, where=called > 0)


def p1(accuracy: float, advantage: float) -> float:
    """Harmonic mean of test accuracy and 1 − advantage: utility with privacy (PAST, Eq. 6)."""
    check_range(0, 1, accuracy=accuracy)
    check_range(-1, 1, advantage=advantage)
    privacy = 1 - advantage
    if accuracy + privacy == 0:
        return 0.0
    return 2 * accuracy * privacy / (accuracy + privacy)


def defense_level(attack_accuracy: float) -> float:
    """D = 200 − 2A of the sparsity paper, A in percent: at 100 the attack is a coin toss."""
    check_range(1, 100, attack_accuracy=attack_accuracy)  # 0.6 would mean 60 %.
    return 200 - 2 * attack_accuracy


def significant(values: ArrayLike, dense: ArrayLike) -> bool:
    """The sparsity paper's rule for repeated runs.

    Mean ± standard deviation of the `values` do not meet those of the dense network.
    """
    values = _as_repeats(values, what="values")
    dense = _as_repeats(dense, what="dense")
    distance = abs(values.mean() - dense.mean())
    return bool(distance > values.std(ddof=1) + dense.std(ddof=1))


def _as_repeats(values: ArrayLike, *, what: str) -> np.ndarray:
    array = as_array(values, what=what)
    if array.size < 2:
        raise ValueError("A standard deviation needs at least two repeats of each.")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite numbers; leave out the runs that diverged.")
    return array
