"""Intervals that take milliseconds at any n: an audit may have 200,000 records and ten attacks.

    auc(scores, is_member)                       # DeLong and others 1988; ties count half
    tpr_at_fpr(scores, is_member, 0.01, rng=rng) # the bootstrap of `metrics`, drawn in O(draws)
    gap(called, is_member)                       # TPR − FPR, Newcombe 1998
    null_band(scores, is_member, rng=rng)        # the same numbers if membership were shuffled

`metrics.bootstrap` resamples every record in every draw. Here only what decides is drawn. The
threshold at an FPR is the (k + 1)-th highest score of the resampled non-members, and its place is
that of an order statistic, ⌈n·U⌉ with U ~ Beta(k + 1, n − k).
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
import scipy

from mialib import metrics
from mialib.audits.findings import Curve, NullBand
from mialib.estimates import Estimate
from mialib.metrics import Interval

CONFIDENCE = 0.95
DRAWS = 2000
NULL_DRAWS = 5000  # whose far tails are asked for
CURVE_DRAWS = 500  # at each point of a curve, whose band is only drawn
POINTS = 60  # of a curve's grid
FPRS = (0.01, 0.001)


def quantile(confidence: float = CONFIDENCE, freedom: float = np.inf) -> float:
    """How many standard errors a two-sided interval reaches to either side: 1.96 at 95 %.

    With few degrees of freedom it is Student's: the further out, the more it matters.
    """
    if freedom == np.inf:
        return float(scipy.special.ndtri(0.5 + confidence / 2))
    return float(scipy.special.stdtrit(freedom, 0.5 + confidence / 2))


def corrected(number: int) -> float:
    """The confidence of each of so many intervals that hold together at 95 % (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / max(number, 1)


def generator(seed: int, name: str) -> np.random.Generator:
    """Draws that depend on an attack's name, not on its place in a table."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


# The area under the curve.


class Placements(NamedTuple):
    """Where each record stands among those of the other kind, from 0 to 1; ties count half.

    of_members      (members,): the share of non-members that score lower
    of_non_members  (non-members,): the share of members that score higher
    """

    of_members: np.ndarray
    of_non_members: np.ndarray

    @property
    def auc(self) -> float:
        return float(self.of_members.mean())

    @property
    def variance(self) -> float:
        """Of the AUC, by DeLong and others."""
        return _mean_variance(self.of_members) + _mean_variance(self.of_non_members)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of that variance, at least."""
        return max(min(len(self.of_members), len(self.of_non_members)) - 1, 1)


def placements(scores: np.ndarray, is_member: np.ndarray) -> Placements:
    """The placements of all records, by ranks."""
    among_all = scipy.stats.rankdata(scores)
    among_members = scipy.stats.rankdata(scores[is_member])
    among_non_members = scipy.stats.rankdata(scores[~is_member])
    members = len(among_members)
    non_members = len(among_non_members)
    return Placements(
        of_members=(among_all[is_member] - among_members) / non_members,
        of_non_members=1 - (among_all[~is_member] - among_non_members) / members,
    )


def _mean_variance(values: np.ndarray) -> float:
    """The variance of a mean; of a single value nothing is known, so it is the largest."""
    return float(values.var(ddof=1) / len(values)) if len(values) > 1 else 0.25


class ScoreCounts(NamedTuple):
    """How many members and non-members have each of the scores that occur, in ascending order.

    place     (n,): which of those scores each record has
    is_member (n,)
    members, non_members   (scores,)
    """

    place: np.ndarray
    is_member: np.ndarray
    members: np.ndarray
    non_members: np.ndarray

    def without(self, places: np.ndarray) -> ScoreCounts:
        """The counts without the records at these places, in one pass and without a sort."""
        scores = len(self.members)
        inside = self.is_member[places]
        left_out = self.place[places]
        return self._replace(
            members=self.members - np.bincount(left_out[inside], minlength=scores),
            non_members=self.non_members - np.bincount(left_out[~inside], minlength=scores),
        )


def score_counts(scores: np.ndarray, is_member: np.ndarray) -> ScoreCounts:
    """Scores are sorted once here, so that many parts of them need not be."""
    distinct, place = np.unique(scores, return_inverse=True)
    return ScoreCounts(
        place,
        is_member,
        members=np.bincount(place[is_member], minlength=len(distinct)),
        non_members=np.bincount(place[~is_member], minlength=len(distinct)),
    )


class AucMoments(NamedTuple):
    """An AUC, its variance by DeLong and others, and the degrees of freedom of that, at least."""

    auc: float
    variance: float
    freedom: int


def auc_moments(counts: ScoreCounts) -> AucMoments:
    """The same as of `placements`, where only counts are known."""
    members = int(counts.members.sum())
    non_members = int(counts.non_members.sum())
    lower = (np.cumsum(counts.non_members) - counts.non_members / 2) / non_members
    higher = 1 - (np.cumsum(counts.members) - counts.members / 2) / members
    auc = float(counts.members @ lower / members)
    variance = float(counts.members @ (lower - auc) ** 2) / (members * (members - 1))
    variance += float(counts.non_members @ (higher - auc) ** 2) / (non_members * (non_members - 1))
    return AucMoments(auc, variance, min(members, non_members) - 1)


def auc(scores: np.ndarray, is_member: np.ndarray, *, confidence: float = CONFIDENCE) -> Estimate:
    """The AUC with DeLong's interval."""
    placed = placements(scores, is_member)
    return auc_of(placed, confidence=confidence)


def auc_of(
    placed: Placements, *, confidence: float = CONFIDENCE, variance_times: float = 1.0
) -> Estimate:
    """The AUC of placements; `variance_times` widens the interval where scores are dependent."""
    value = placed.auc
    reach = quantile(confidence, placed.freedom) * np.sqrt(variance_times * placed.variance)
    low = max(value - reach, 0.0)
    high = min(value + reach, 1.0)
    pairs = min(len(placed.of_members), len(placed.of_non_members))
    # Perfect separation has no variance. So many pairs without a single error allow this much.
    if value > 1 - 1e-12:
        low = metrics.clopper_pearson(pairs, pairs, confidence=confidence).low
    if value < 1e-12:
        high = metrics.clopper_pearson(0, pairs, confidence=confidence).high
    return Estimate(value, float(low), float(high))


def paired_auc_difference(first: np.ndarray, second: np.ndarray, is_member: np.ndarray) -> Estimate:
    """AUC of the first scores minus that of the second, on the same records."""
    a = placements(first, is_member)
    b = placements(second, is_member)
    variance = _mean_variance(a.of_members - b.of_members)
    variance += _mean_variance(a.of_non_members - b.of_non_members)
    return around(a.auc - b.auc, variance)


def mean_gap(values: np.ndarray, is_member: np.ndarray) -> Estimate:
    """The mean among members minus the mean among non-members."""
    members = values[is_member]
    others = values[~is_member]
    variance = _mean_variance(members) + _mean_variance(others)
    return around(float(members.mean() - others.mean()), variance)


def around(
    value: float, variance: float, *, confidence: float = CONFIDENCE, freedom: float = np.inf
) -> Estimate:
    """value ± so many standard errors."""
    reach = quantile(confidence, freedom) * float(np.sqrt(variance))
    return Estimate(float(value), float(value - reach), float(value + reach))


# Shares.


def share(hits: np.ndarray, *, confidence: float = CONFIDENCE) -> Estimate:
    """The share of True, with the exact interval of independent records."""
    interval = metrics.clopper_pearson(int(hits.sum()), len(hits), confidence=confidence)
    return Estimate(float(hits.mean()), interval.low, interval.high)


def gap(called: np.ndarray, is_member: np.ndarray, *, confidence: float = CONFIDENCE) -> Estimate:
    """The share of True among members minus that among non-members (Newcombe's method 10).

    Unlike a bootstrap it has a width where nobody is called, and where all are.
    """
    members = int(is_member.sum())
    p = float(called[is_member].mean())
    q = float(called[~is_member].mean())
    return gap_of_shares(p, members, q, len(is_member) - members, confidence=confidence)


def gap_of_shares(
    p: float, p_of: int, q: float, q_of: int, *, confidence: float = CONFIDENCE
) -> Estimate:
    """p − q, the share p of so many records minus the share q of so many others."""
    p_interval = _wilson(p, p_of, confidence)
    q_interval = _wilson(q, q_of, confidence)
    down = np.hypot(p - p_interval.low, q_interval.high - q)
    up = np.hypot(p_interval.high - p, q - q_interval.low)
    return Estimate(p - q, max(p - q - float(down), -1.0), min(p - q + float(up), 1.0))


def _wilson(p: float, n: int, confidence: float) -> Interval:
    """Wilson's interval of a share p of n."""
    z = quantile(confidence)
    centre = p + z**2 / (2 * n)
    reach = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return Interval(float((centre - reach) / scale), float((centre + reach) / scale))


def ppv(called: np.ndarray, is_member: np.ndarray, prior: float) -> Estimate:
    """The share of true members among those called, if a share `prior` of all are members.

    It grows with the TPR and falls with the FPR. So the interval goes from the worst pair of ends
    to the best, of two intervals that hold together.
    """
    confidence = corrected(2)
    tpr = share(called[is_member], confidence=confidence)
    fpr = share(called[~is_member], confidence=confidence)
    if not called.any():
        return Estimate(np.nan, note="nobody is called a member")
    value = metrics.ppv(tpr.value, fpr.value, prior)
    low = metrics.ppv(tpr.low, fpr.high, prior)
    high = metrics.ppv(tpr.high, fpr.low, prior)
    return Estimate(float(value), float(low), float(high))


# The TPR at a given FPR, and the curve.


def allowed_alarms(fpr: float, non_members: int) -> int:
    """How many false alarms an FPR allows."""
    return int(np.floor(fpr * non_members + 1e-9))


def tpr_at_fpr(
    scores: np.ndarray, is_member: np.ndarray, fpr: float, *, rng: np.random.Generator
) -> Estimate:
    """The largest TPR whose FPR is at most `fpr`; an empty estimate where n does not resolve it."""
    non_members = int((~is_member).sum())
    if not metrics.resolvable(fpr, non_members):
        return Estimate(np.nan, note=f"not resolvable with {non_members:,} non-members")
    return _Ranked.of(scores, is_member).tpr(allowed_alarms(fpr, non_members), rng)


def tpr_without_alarms(
    scores: np.ndarray, is_member: np.ndarray, *, rng: np.random.Generator
) -> Estimate:
    """The share of members that score higher than every non-member."""
    return _Ranked.of(scores, is_member).tpr(0, rng)


def curve(scores: np.ndarray, is_member: np.ndarray, *, rng: np.random.Generator) -> Curve:
    """The ROC curve on a grid of FPRs, from one false alarm on, with a band."""
    ranked = _Ranked.of(scores, is_member)
    alarms = grid(len(ranked.non_members))
    points = [ranked.tpr(int(number), rng, draws=CURVE_DRAWS) for number in alarms]
    return Curve(
        fpr=alarms / len(ranked.non_members),
        tpr=np.array([point.value for point in points]),
        low=np.array([point.low for point in points]),
        high=np.array([point.high for point in points]),
    )


def grid(non_members: int) -> np.ndarray:
    """Numbers of false alarms from 1 to all, evenly on a log axis."""
    return np.unique(np.geomspace(1, non_members, POINTS).round().astype(int))


class _Ranked(NamedTuple):
    """Scores of members in ascending order, of non-members in descending order."""

    members: np.ndarray
    non_members: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, is_member: np.ndarray) -> _Ranked:
        return cls(np.sort(scores[is_member]), -np.sort(-scores[~is_member]))

    def above(self, threshold: np.ndarray) -> np.ndarray:
        """How many members score higher than each threshold."""
        return len(self.members) - np.searchsorted(self.members, threshold, side="right")

    def tpr(self, alarms: int, rng: np.random.Generator, *, draws: int = DRAWS) -> Estimate:
        """The TPR with at most so many false alarms."""
        n = len(self.non_members)
        m = len(self.members)
        if alarms >= n:
            return Estimate(1.0, 1.0, 1.0)
        value = float(self.above(self.non_members[alarms]) / m)
        # The first non-member that may not be called is the (alarms + 1)-th of the resampled ones.
        place = np.ceil(n * rng.beta(alarms + 1, n - alarms, draws)).astype(int) - 1
        found = self.above(self.non_members[place.clip(0, n - 1)])
        # Jeffreys' prior: where no member is found, the interval still has a width.
        tprs = rng.beta(found + 0.5, m - found + 0.5)
        low, high = np.quantile(tprs, [0.025, 0.975])
        return Estimate(value, min(float(low), value), max(float(high), value))


# What chance would do.


def null_band(
    scores: np.ndarray, is_member: np.ndarray, *, attacks: int = 1, rng: np.random.Generator
) -> NullBand:
    """Where shuffled memberships put AUC and TPRs, with these very scores and their ties.

    The AUC is that of Mann and Whitney's test, whose variance under shuffling is known; the TPRs
    are drawn from their exact distribution. `attacks` is how many the wider bands are for.
    """
    members = int(is_member.sum())
    non_members = len(is_member) - members
    descending = -np.sort(-scores)
    deviation = float(np.sqrt(null_variance(scores, members)))
    at_1_percent, at_0_1_percent = (
        _null_tprs(descending, members, allowed_alarms(fpr, non_members), rng, draws=NULL_DRAWS)
        if metrics.resolvable(fpr, non_members)
        else np.array([np.nan])
        for fpr in FPRS
    )
    wide = corrected(attacks)
    return NullBand(
        auc=_around_half(deviation, CONFIDENCE),
        tpr_at_1_percent=_middle(at_1_percent, CONFIDENCE),
        tpr_at_0_1_percent=_middle(at_0_1_percent, CONFIDENCE),
        auc_of_all=_around_half(deviation, wide),
        tpr_at_1_percent_of_all=_middle(at_1_percent, wide),
    )


def _around_half(deviation: float, confidence: float) -> Interval:
    reach = quantile(confidence) * deviation
    return Interval(max(0.5 - reach, 0.0), min(0.5 + reach, 1.0))


def _middle(drawn: np.ndarray, confidence: float) -> Interval:
    """The interval in the middle that holds this share of the draws."""
    tail = (1 - confidence) / 2
    return Interval(*np.quantile(drawn, [tail, 1 - tail]).tolist())


def null_variance(scores: np.ndarray, members: int) -> float:
    """Of the AUC under shuffled membership, corrected for ties."""
    n = len(scores)
    _, counts = np.unique(scores, return_counts=True)
    ties = float((counts.astype(float) ** 3 - counts).sum()) / (n * (n - 1))
    return max(n + 1 - ties, 0.0) / (12 * members * (n - members))


def _null_tprs(
    descending: np.ndarray,
    members: int,
    alarms: int,
    rng: np.random.Generator,
    *,
    draws: int = DRAWS,
) -> np.ndarray:
    """TPRs with at most so many false alarms, in as many shuffles as there are draws."""
    non_members = len(descending) - members
    if alarms >= non_members:
        return np.ones(draws)
    # How many members stand before the (alarms + 1)-th non-member in a random order: non-members
    # cut [0, 1] like uniform draws, and each member falls before that cut or behind it.
    cut = rng.beta(alarms + 1, non_members - alarms, draws)
    before = rng.binomial(members, cut)
    place = alarms + before
    # Records that tie with that non-member are not called either.
    strictly_above = np.searchsorted(-descending, -descending[place], side="left")
    if (strictly_above == place).all():
        return before / members
    found = rng.hypergeometric(before, alarms, strictly_above)
    return found / members


def null_curve(members: int, non_members: int, *, rng: np.random.Generator) -> Curve:
    """The curve of scores without ties under shuffled membership: median and 95 % band."""
    alarms = grid(non_members)
    descending = -np.arange(float(members + non_members))
    drawn = [
        _null_tprs(descending, members, int(number), rng, draws=CURVE_DRAWS) for number in alarms
    ]
    low, median, high = np.quantile(drawn, [0.025, 0.5, 0.975], axis=1)
    return Curve(fpr=alarms / non_members, tpr=median, low=low, high=high)
