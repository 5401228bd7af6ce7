"""ε: what an attack refutes, and what a guarantee allows.

| what | functions |
|---|---|
| the ε that one attack on one model refutes (Steinke, Nasr and Jagielski 2023) | `one_run` |
| its theorem: so many guesses, so many right | `lower_bound`, `p_value` |
| the highest ROC that (ε, δ)-differential privacy allows | `highest_tpr`, `largest_advantage` |
| the smallest ε that allows two rates | `least_epsilon` |
| what a training promises, as many (ε, δ) that all hold | `promised`, `dp_sgd` → `Guarantee` |

**A refutation is a theorem with a premise**: every record was a member or not by the toss of a fair
coin, independently of the others. It says which ε a training does *not* have; no attack can say
which it has.

>>> round(lower_bound(100, guesses=100, records=100), 2)    # 100 guesses, all of them right
3.49
>>> guarantee = dp_sgd(sigma=1.0, sample_rate=0.01, steps=1000)
>>> round(guarantee.epsilon(delta=1e-5), 2), round(float(guarantee.highest_tpr(0.01)), 3)
(2.11, 0.035)
"""

from dataclasses import dataclass
from math import ceil, exp, floor, inf, log, sqrt
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.errors import as_array, check_choice, check_flag, check_range, plain_tuple

LARGEST_EXPONENT = 700.0  # e^710 is beyond the range of floats.
DIRECTIONS = ("accusing", "clearing")
MOST_HALVINGS = 1000
CANDIDATES = 80  # numbers of guesses to choose among
FARTHEST = 12  # standard deviations beyond which a normal or binomial tail is nothing


# What an attack refutes.


def p_value(right: int, *, guesses: int, records: int, epsilon: float, delta: float = 0.0) -> float:
    """How probable so many right guesses are at most, if training is (ε, δ)-DP.

    Steinke, Nasr and Jagielski 2023, Theorem 5.2: each guess is right with probability at most
    q = e^ε / (1 + e^ε), so β = P[Bin(r, q) ≥ v]; δ adds 2mδ · max_i P[v > Bin(r, q) ≥ v − i] / i.
    `records` (m) were dealt by coins, `guesses` (r) was fixed beforehand, `right` is v.
    """
    _check_counts(right, guesses, records)
    check_range(0, LARGEST_EXPONENT, epsilon=epsilon)
    check_range(0, 1, delta=delta)
    q = float(scipy.special.expit(float(epsilon)))
    if right == 0:
        return 1.0
    beta = float(scipy.special.betainc(right, guesses - right + 1, q))  # P[Bin(r, q) ≥ v]
    if delta == 0:
        return beta
    # Farther below the mean than this nothing is added, and the mean over i only falls.
    lowest = guesses * q - FARTHEST * sqrt(guesses * q * (1 - q)) - 1
    i = np.arange(1, max(1, min(right, ceil(right - lowest))) + 1)
    just_below = np.cumsum(_binomial(right - i, guesses, q))
    return min(1.0, beta + 2 * records * delta * float(np.max(just_below / i)))


def _binomial(k: np.ndarray, n: int, q: float) -> np.ndarray:
    """P[Bin(n, q) = k], without the checks that make SciPy's take ten times as long."""
    ways = -scipy.special.betaln(k + 1, n - k + 1) - log(n + 1)  # log of n over k
    return np.exp(ways + scipy.special.xlogy(k, q) + scipy.special.xlog1py(n - k, -q))


def lower_bound(
    right: int, *, guesses: int, records: int, delta: float = 0.0, level: float = 0.95
) -> float:
    """The ε below which so many right guesses refute every (ε, δ); 0 where they refute none.

    It is the largest ε whose `p_value` is at most 1 − level.
    """
    _check_counts(right, guesses, records)
    check_range(0, 1, delta=delta)
    _check_level(level)
    pure = float(_pure_bounds(np.array([right]), np.array([guesses]), 1 - level)[0])
    if delta == 0 or pure <= 0:
        return max(0.0, pure)

    def excess(epsilon: float) -> float:
        told = {"guesses": guesses, "records": records, "epsilon": epsilon, "delta": delta}
        return p_value(right, **told) - (1 - level)

    if excess(0.0) > 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, pure, xtol=1e-9))


def _pure_bounds(right: np.ndarray, guesses: np.ndarray, tail: float) -> np.ndarray:
    """ε where P[Bin(r, e^ε / (1 + e^ε)) ≥ v] is the tail, for δ = 0; negative if less than half.

    P[Bin(r, q) ≥ v] is the incomplete beta function I_q(v, r − v + 1), so q is its inverse.
    """
    at_least_one = np.maximum(right, 1)
    q = scipy.special.betaincinv(at_least_one, guesses - at_least_one + 1, tail)
    return np.where(right > 0, scipy.special.logit(q), -inf)


@dataclass(frozen=True)
class Refuted:
    """Training is not (ε, δ)-DP for any ε below `epsilon`, if members were chosen by coin toss.

    direction   "accusing": the guesses were IN, at the top; "clearing": OUT, at the bottom
    level       how sure that is, for this direction alone
    records     m: how many records each bound rests on
    guesses     r: how many of them were guessed, and `right`, v, how often rightly
    bounds      how many bounds, each on one half, the median was taken of; 1 without halves
    by_coin     whether the members were chosen by coin toss, as far as the caller knows
    """

    direction: str
    epsilon: float
    delta: float
    level: float
    records: int
    guesses: int
    right: int
    bounds: int
    by_coin: bool

    @property
    def below(self) -> float:
        """ε, rounded down to two digits behind the point: what a sentence may say."""
        return floor(self.epsilon * 100) / 100

    def __str__(self) -> str:
        level = f"{100 * self.level:.4g} %"
        if self.below == 0:
            deed = "accusing members" if self.direction == "accusing" else "clearing non-members"
            return f"By {deed}, the attack refutes no ε ({level})."
        promise = f"(ε, {_short(self.delta)})-DP" if self.delta else "ε-DP"
        theorem = (
            "If members were chosen by coin toss, "
            f"training is not {promise} for any ε < {self.below:g} ({level})."
        )
        if self.by_coin:
            return theorem
        return f"{theorem} That is not claimed here, so it is a comparison and no proof."


def _short(delta: float) -> str:
    """1e-5 rather than 1e-05."""
    return f"{delta:g}".replace("e-0", "e-")


def one_run(
    scores: ArrayLike,
    is_member: ArrayLike,
    *,
    direction: str = "accusing",
    delta: float = 0.0,
    level: float = 0.95,
    guesses: int | None = None,
    threshold: float | None = None,
    halvings: int = 5,
    by_coin: bool = False,
    seed: int = 0,
) -> Refuted:
    """The ε that the scores of one attack on one model refute.

    direction   "accusing" guesses IN for the highest scores, "clearing" OUT for the lowest
    level       of this direction, for this attack: who quotes the largest of k bounds asks for
                1 − 0.05 / k
    guesses     how many to guess, where it was fixed beforehand
    threshold   or the score to guess from, such as the shadow's (δ = 0 only)
    halvings    with neither, how many to guess is chosen on a random half of the records, and the
                other half gives the bound; then they change roles, and both is done so many times
    by_coin     whether each record was a member by the toss of a fair coin; `Refuted` says it

    Each bound of a half holds with (1 + level) / 2, and the median of all is told. It is wrong only
    if half of the bounds are, and that has at most twice the probability that one is (Markov), so
    the level is kept however the halves depend on each other.
    """
    check_choice("direction", direction, DIRECTIONS)
    scores, is_member = metrics.check(scores, is_member)
    check_range(0, 1, delta=delta)
    check_range(1, MOST_HALVINGS, whole=True, halvings=halvings)
    check_range(0, inf, whole=True, seed=seed)
    check_flag(by_coin=by_coin)
    _check_level(level)
    if guesses is not None and threshold is not None:
        raise ValueError("Give the number of guesses or the threshold, not both.")
    accusing = direction == "accusing"
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(scores))  # Ties are broken by luck, never by membership.
    suspicion = (scores if accusing else -scores)[shuffled]
    hits = is_member[shuffled] == accusing
    if threshold is not None:
        guesses = _count_beyond(scores, threshold, accusing=accusing, delta=delta)
    if guesses is not None:
        check_range(1, len(scores), whole=True, guesses=guesses)
        bounds = [_bound_of_top(suspicion, hits, int(guesses), delta, level)]
    else:
        bounds = _bounds_of_halves(suspicion, hits, delta, (1 + level) / 2, halvings, rng)
    told = sorted(bounds, key=lambda one: -one.epsilon)[(len(bounds) - 1) // 2]
    return Refuted(
        direction=direction,
        delta=float(delta),
        level=float(level),
        bounds=len(bounds),
        by_coin=bool(by_coin),
        **told._asdict(),
    )


class _Bound(NamedTuple):
    """The bound of so many guesses among so many records."""

    epsilon: float
    records: int
    guesses: int
    right: int


def _count_beyond(scores: np.ndarray, threshold: float, *, accusing: bool, delta: float) -> int:
    """How many records a threshold guesses."""
    if delta > 0:
        raise ValueError(
            "With δ > 0 the theorem wants the number of guesses fixed beforehand, and a threshold "
            "fixes it only nearly. Give guesses, or neither, or δ = 0."
        )
    place = as_array(threshold, kind="iuf", what="threshold")
    if place.ndim != 0 or np.isnan(place):
        raise ValueError(f"threshold must be one number, found {threshold}.")
    called = scores >= place
    count = int(called.sum() if accusing else (~called).sum())
    if count == 0:
        raise ValueError(f"No score lies beyond the threshold {threshold}, so nothing is guessed.")
    return count


def _bound_of_top(
    suspicion: np.ndarray, hits: np.ndarray, guesses: int, delta: float, level: float
) -> _Bound:
    """Guess the most suspicious records."""
    top = np.argsort(-suspicion, kind="stable")[:guesses]
    right = int(hits[top].sum())
    records = len(hits)
    epsilon = lower_bound(right, guesses=guesses, records=records, delta=delta, level=level)
    return _Bound(epsilon, records, guesses, right)


def _bounds_of_halves(
    suspicion: np.ndarray,
    hits: np.ndarray,
    delta: float,
    level: float,
    halvings: int,
    rng: np.random.Generator,
) -> list[_Bound]:
    """Choose on one half how many to guess, bound on the other, and the other way round."""
    if len(hits) < 2:
        raise ValueError("Two halves need 2 records at least.")
    bounds = []
    for _ in range(halvings):
        order = rng.permutation(len(hits))
        first, second = np.array_split(order, 2)
        for chosen_on, bounded_on in ((first, second), (second, first)):
            share = _best_share(suspicion[chosen_on], hits[chosen_on], delta, level)
            guesses = max(1, round(share * len(bounded_on)))
            bounds.append(
                _bound_of_top(suspicion[bounded_on], hits[bounded_on], guesses, delta, level)
            )
    return bounds


def _best_share(suspicion: np.ndarray, hits: np.ndarray, delta: float, level: float) -> float:
    """The share of the records whose guesses would refute most."""
    n = len(hits)
    right = np.cumsum(hits[np.argsort(-suspicion, kind="stable")])
    guesses = np.unique(np.geomspace(1, n, CANDIDATES).astype(int))
    pure = _pure_bounds(right[guesses - 1], guesses, 1 - level)
    order = np.argsort(-pure, kind="stable")
    best = order[0]
    highest = pure[best] if delta == 0 else -inf
    for place in order:
        if pure[place] <= highest:  # δ only lowers a bound, so nothing better follows.
            break
        counts = {"guesses": int(guesses[place]), "records": n}
        bound = lower_bound(int(right[guesses[place] - 1]), **counts, delta=delta, level=level)
        if bound > highest:
            highest = bound
            best = place
    return float(guesses[best] / n)


def _check_counts(right: int, guesses: int, records: int) -> None:
    check_range(1, inf, whole=True, records=records)
    check_range(1, records, whole=True, guesses=guesses)
    check_range(0, guesses, whole=True, right=right)


def _check_level(level: float) -> None:
    check_range(0.5, 1, level=level)
    if level > 1 - 1e-12:
        raise ValueError(
            f"Nothing is refuted with certainty: level must be below 1, found {level}."
        )


# What a guarantee allows.


def highest_tpr(fpr: ArrayLike, *, epsilon: float, delta: float) -> np.ndarray:
    """The highest TPR that (ε, δ)-differential privacy allows at each FPR.

    It is min(e^ε · FPR + δ, 1 − e^−ε · (1 − δ − FPR)), and at most 1.
    """
    check_range(0, inf, epsilon=epsilon)
    check_range(0, 1, delta=delta)
    epsilon = float(epsilon)
    delta = float(delta)
    fpr = as_array(fpr, what="fpr").astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(fpr > 0, exp(min(epsilon, LARGEST_EXPONENT)) * fpr, 0.0) + delta
    flat = 1 - np.exp(-epsilon) * (1 - delta - fpr)
    return np.clip(np.minimum(steep, flat), 0, 1)


def largest_advantage(epsilon: float, delta: float) -> float:
    """max TPR − FPR under the promise, where its two lines meet: (e^ε − 1 + 2δ) / (e^ε + 1)."""
    check_range(0, inf, epsilon=epsilon)
    check_range(0, 1, delta=delta)
    half = np.tanh(epsilon / 2)  # (e^ε − 1) / (e^ε + 1)
    return float(half + delta * (1 - half))


def least_epsilon(tpr: float, fpr: float, delta: float) -> float:
    """The smallest ε ≥ 0 of which an attack with these rates does not break the promise.

    The promise is TPR ≤ e^ε · FPR + δ and 1 − FPR ≤ e^ε · (1 − TPR) + δ; ε is infinite where a rate
    above δ meets 0.

    >>> round(least_epsilon(0.5, 0.1, delta=0.0), 3)
    1.609
    >>> least_epsilon(0.3, 0.0, delta=1e-5)
    inf
    """
    check_range(0, 1, tpr=tpr, fpr=fpr, delta=delta)
    needed = [0.0]
    for rate, limited in ((tpr, fpr), (1 - fpr, 1 - tpr)):
        if rate > delta:
            needed.append(float(np.log((rate - delta) / limited)) if limited > 0 else inf)
    return max(needed)


@dataclass(frozen=True, eq=False)
class Guarantee:
    """What a training promises: it is (ε, δ)-DP for every pair of `epsilons` and `deltas`.

    Every pair bounds the ROC of every attack, so their lowest bound holds, too.
    """

    epsilons: np.ndarray
    deltas: np.ndarray
    name: str = "the guarantee"

    def __post_init__(self):
        epsilons = as_array(self.epsilons, what="epsilons")
        deltas = as_array(self.deltas, what="deltas")
        if epsilons.ndim != 1 or epsilons.shape != deltas.shape or len(epsilons) == 0:
            raise ValueError(
                f"A guarantee needs as many ε as δ, found {epsilons.shape} and {deltas.shape}."
            )
        check_range(0, inf, many=True, epsilons=epsilons)
        check_range(0, 1, many=True, deltas=deltas)
        if not isinstance(self.name, str):
            raise TypeError(f"A guarantee's name is a text, found {self.name!r}.")
        object.__setattr__(self, "epsilons", epsilons.astype(np.float64))
        object.__setattr__(self, "deltas", deltas.astype(np.float64))

    def epsilon(self, delta: float) -> float:
        """The smallest ε that is promised with at most this δ; infinite where none is."""
        check_range(0, 1, delta=delta)
        enough = self.deltas <= float(delta) * (1 + metrics.ROUNDING)
        return float(np.min(self.epsilons[enough], initial=inf))

    def highest_tpr(self, fpr: ArrayLike) -> np.ndarray:
        """The highest TPR that any attack can have at each FPR."""
        fpr = as_array(fpr, what="fpr").astype(np.float64)
        highest = np.ones(fpr.shape)
        for epsilon, delta in zip(self.epsilons, self.deltas, strict=True):
            highest = np.minimum(highest, highest_tpr(fpr, epsilon=epsilon, delta=delta))
        return highest

    def share_used(self, tpr: ArrayLike, fpr: ArrayLike) -> np.ndarray:
        """How much of what is allowed beyond guessing an attack has: (TPR − FPR) / (limit − FPR).

        Above 1, the guarantee is broken at that point; whether that is luck, `contradiction` says.
        """
        tpr = as_array(tpr, what="tpr").astype(np.float64)
        fpr = as_array(fpr, what="fpr").astype(np.float64)
        if tpr.shape != fpr.shape:
            raise ValueError(f"Expected as many TPRs as FPRs, found {tpr.shape} and {fpr.shape}.")
        allowed = self.highest_tpr(fpr) - fpr
        unknown = np.full(fpr.shape, np.nan)  # Nothing is allowed at an FPR of 1.
        return np.divide(tpr - fpr, allowed, out=unknown, where=allowed > 0)

    def contradiction(self, refuted: Refuted) -> str:
        """The sentence that an attack has found a bug in the guarantee; empty where it has not."""
        if not isinstance(refuted, Refuted):
            raise TypeError(f"Expected what `one_run` returns, found {refuted!r}.")
        promised_here = self.epsilon(refuted.delta)
        if refuted.epsilon <= promised_here:
            return ""
        premise = "" if refuted.by_coin else ", if members were dealt by coin"
        unless = "T" if refuted.by_coin else "Unless the two sets differ without the model, t"
        return (
            f"THE GUARANTEE IS BROKEN{premise}: {self.name} promises ε = {promised_here:.3g} at "
            f"δ = {_short(refuted.delta)}. {refuted} "
            f"{unless}he fault is in the training or in its accounting, not in the attack."
        )

    def agreement(self, refuted: Refuted) -> str:
        """The sentence that an attack does not contradict the guarantee; empty where it does."""
        if self.contradiction(refuted):
            return ""
        found = f"only an ε below {refuted.below:g}" if refuted.below > 0 else "no ε"
        promised_here = self.epsilon(refuted.delta)
        promise = (
            "no ε is promised" if promised_here == inf else f"ε = {promised_here:.3g} is promised"
        )
        return (
            f"The measurement does not contradict {self.name}: it refutes {found}, and {promise} "
            f"at δ = {_short(refuted.delta)}. That does not prove the promise."
        )


def promised(epsilon: float, delta: float) -> Guarantee:
    """The guarantee of one pair."""
    check_range(0, inf, epsilon=epsilon)
    check_range(0, 1, delta=delta)
    return Guarantee(np.array([epsilon]), np.array([delta]), f"({epsilon:.3g}, {_short(delta)})-DP")


def as_guarantee(claim: Guarantee | tuple[float, float]) -> Guarantee:
    """A guarantee as it is, or that of a pair (ε, δ)."""
    if isinstance(claim, Guarantee):
        return claim
    pair = plain_tuple(claim)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError(f"A guarantee is a pair (ε, δ), or what dp_sgd returns; found {claim!r}.")
    return promised(*pair)


ORDERS = np.concatenate([np.arange(1.05, 3, 0.05), np.arange(3, 12, 0.5), np.arange(12, 65)])
DELTAS = np.geomspace(1e-12, 1, 481)


def dp_sgd(*, sigma: float, sample_rate: float, steps: int) -> Guarantee:
    """What DP-SGD promises: noise σ·C, a record in a batch with `sample_rate`, so many steps.

    By Rényi differential privacy: at each order α every step adds to a moment that is integrated
    numerically, and each α gives a whole curve of (ε, δ). All of them hold, and none is an
    approximation; they are not the tightest known. As Opacus counts: one record more or less.
    """
    check_range(0.1, 1e3, sigma=sigma)
    check_range(0, 1, sample_rate=sample_rate)
    check_range(1, 1e9, whole=True, steps=steps)
    renyi = np.array([steps * _renyi_of_a_step(order, sigma, sample_rate) for order in ORDERS])
    # Canonne, Kamath and Steinke 2020, Proposition 12: ε of each δ and order.
    by_order = (
        renyi + np.log((ORDERS - 1) / ORDERS) - np.log(DELTAS[:, None] * ORDERS) / (ORDERS - 1)
    )
    epsilons = by_order.min(axis=1).clip(min=0)
    name = f"DP-SGD with σ = {sigma:g}, sample rate {sample_rate:g} and {steps:,} steps"
    return Guarantee(epsilons, DELTAS, name)


def _renyi_of_a_step(order: float, sigma: float, sample_rate: float) -> float:
    """log E[((1 − q) + q · e^((2z − 1) / 2σ²))^α] / (α − 1), z ~ N(0, σ²).

    Mironov, Talwar and Zhang 2019, Section 3.3. The integrand is smooth and dies off on both sides,
    so the plain sum over a fine grid is exact to many digits.
    """
    if sample_rate == 0:
        return 0.0
    z = np.arange(-FARTHEST * sigma, order + FARTHEST * sigma, sigma / 20)
    log_ratio = np.logaddexp(
        np.log1p(-sample_rate) if sample_rate < 1 else -inf,
        log(sample_rate) + (2 * z - 1) / (2 * sigma**2),
    )
    log_density = -(z**2) / (2 * sigma**2) - log(sigma * sqrt(2 * np.pi))
    log_moment = scipy.special.logsumexp(order * log_ratio + log_density) + log(sigma / 20)
    return float(log_moment / (order - 1))
