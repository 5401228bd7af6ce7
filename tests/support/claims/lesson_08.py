"""What lesson 08 says in fixed words of PAST, of its controls and of their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from claims import Claim, minus
from mialib.estimates import Estimate
from mialib.results import Results

STANDARD = {"lam": 1e-3, "alpha": 1.5}
UNIFORM = {"lam": 1e-3, "alpha": 0.0}
WEAKEST = {"lam": 3e-4, "alpha": 1.5}
NO_PENALTY = {"lam": 0.0, "alpha": 1.5}
RUINED = 0.2  # the accuracy below which a network counts as ruined


def over_seeds(values: Sequence[float] | np.ndarray) -> Estimate:
    """Their mean, and from where to where they reach: a claim must hold in every training."""
    return Estimate(float(np.mean(values)), float(np.min(values)), float(np.max(values)))


# The plan `past`: the ends of trainings.


def at(past: Results, **place: float) -> Results:
    usual = past.find(defense="Past", lam=0.0).rows[0].settings
    return past.find(**usual | place)


def highest_is_lower(past: Results) -> Estimate:
    plain = past.find(defense="Plain")
    return minus(at(past, **STANDARD).paired(plain, "highest"))


def uniform_has_more_small_weights(past: Results) -> Estimate:
    uniform = np.array(at(past, **UNIFORM).fact("weights", "near zero"))
    focused = np.array(at(past, **STANDARD).fact("weights", "near zero"))
    return over_seeds(uniform - focused)


def uniform_is_not_ahead(past: Results) -> Estimate:
    """Uniform ℓ1 at the same λ has a highest advantage that is no lower than PAST's."""
    return at(past, **UNIFORM).paired(at(past, **STANDARD), "highest")


def spike_at_zero(past: Results) -> Estimate:
    """PAST has at least ten times as many weights near zero as the undefended model."""
    focused = np.array(at(past, **STANDARD).fact("weights", "near zero"))
    plain = np.array(past.find(defense="Plain").fact("weights", "near zero"))
    return over_seeds(focused - 10 * plain)


def weak_penalty_shrinks_the_gap(past: Results) -> Estimate:
    """To less than six tenths."""
    weak = at(past, **WEAKEST)
    plain = past.find(defense="Plain").seeds({row.seed for row in weak.rows})
    return over_seeds(0.6 * plain.by_seed("loss_gap") - weak.by_seed("loss_gap"))


def weak_penalty_does_not_lower_the_auc(past: Results) -> Estimate:
    """By more than 0.02."""
    change = at(past, **WEAKEST).paired(past.find(defense="Plain"), "highest", "auc")
    return Estimate(change.value + 0.02, change.low + 0.02, change.high + 0.02)


def strong_penalty(what: str) -> Callable[[Results], Estimate]:
    """It brings the number down."""

    def difference(past: Results) -> Estimate:
        strong = at(past, lam=2e-3, alpha=1.5)
        plain = past.find(defense="Plain").seeds({row.seed for row in strong.rows})
        return over_seeds(plain.by_seed(what) - strong.by_seed(what))

    return difference


def largest_alpha_ruins(past: Results) -> Estimate:
    """More than nine of ten trainings, over all λ."""
    rows = past.where(defense="Past", alpha=2.5, penalty="l1").rows
    ruined = [bool(row.failure) or row.accuracy["test"] < RUINED for row in rows]
    return over_seeds([float(np.mean(ruined)) - 0.9])


# The plan `epochs`: every epoch of tuning.


def tuning(by_epoch: Results, **place: float) -> list[Results]:
    return by_epoch.where(defense="Past", **place).settings()


def gap_falls(**place: float) -> Callable[[Results], Estimate]:
    def difference(by_epoch: Results) -> Estimate:
        epochs = tuning(by_epoch, **place)
        return epochs[0].paired(epochs[-1], "loss_gap")

    return difference


def gap_stays(by_epoch: Results) -> Estimate:
    """Without a penalty it does not fall by more than 0.15."""
    epochs = tuning(by_epoch, **NO_PENALTY)
    change = epochs[-1].by_seed("loss_gap") - epochs[0].by_seed("loss_gap")
    return over_seeds(change + 0.15)


def members_are_forgotten(by_epoch: Results) -> Estimate:
    """On the way the accuracy on members falls below 0.9, and it ends above 0.9."""
    right = np.array(
        [[row.accuracy["train"] for row in one.rows] for one in tuning(by_epoch, **STANDARD)]
    )  # (epochs, seeds)
    return over_seeds(np.minimum(0.9 - right.min(axis=0), right[-1] - 0.9))


def measure_rises(name: str, sign: int = 1) -> Callable[[Results], Estimate]:
    def difference(by_epoch: Results) -> Estimate:
        first, *_, last = tuning(by_epoch, **STANDARD)
        before = np.array(first.fact("weights", name))
        after = np.array(last.fact("weights", name))
        return over_seeds(sign * (after - before))

    return difference


def migrates_more(**place: float) -> Callable[[Results], Estimate]:
    """Than with λ = 0, in the average epoch."""

    def of(epochs: Sequence[Results]) -> np.ndarray:
        return np.mean([one.fact("migration") for one in epochs[1:]], axis=0)

    def difference(by_epoch: Results) -> Estimate:
        return over_seeds(of(tuning(by_epoch, **place)) - of(tuning(by_epoch, **NO_PENALTY)))

    return difference


def sensitivity_falls(**place: float) -> Callable[[Results], Estimate]:
    """Its mean over the last layer."""

    def of(one: Results) -> np.ndarray:
        return np.mean(one.fact("sensitivity", "last"), axis=1)

    def difference(by_epoch: Results) -> Estimate:
        first, *_, last = tuning(by_epoch, **place)
        return over_seeds(of(first) - of(last))

    return difference


CLAIMS = [
    Claim("08", "PAST lowers the highest advantage", "past", highest_is_lower),
    Claim("08", "PAST draws weights into a spike at zero", "past", spike_at_zero),
    Claim("08", "uniform ℓ1 draws more there", "past", uniform_has_more_small_weights),
    Claim("08", "and yet its highest advantage is no lower", "past", uniform_is_not_ahead),
    Claim("08", "a weak PAST shrinks the gap", "past", weak_penalty_shrinks_the_gap),
    Claim("08", "and does not lower the AUC", "past", weak_penalty_does_not_lower_the_auc),
    Claim("08", "a strong PAST lowers the advantage", "past", strong_penalty("highest")),
    Claim("08", "and the accuracy", "past", strong_penalty("accuracy")),
    Claim("08", "α = 2.5 ruins the network", "past", largest_alpha_ruins),
    Claim("08", "PAST brings the gap down", "epochs", gap_falls(**STANDARD)),
    Claim("08", "uniform ℓ1 brings the gap down", "epochs", gap_falls(**UNIFORM)),
    Claim("08", "λ = 0 does not lower the gap", "epochs", gap_stays),
    Claim("08", "PAST forgets members, and learns them again", "epochs", members_are_forgotten),
    Claim("08", "the Gini index of |w| rises", "epochs", measure_rises("gini")),
    Claim("08", "Hoyer's measure rises", "epochs", measure_rises("hoyer")),
    Claim("08", "the shifted Gini index falls", "epochs", measure_rises("shifted gini", -1)),
    Claim("08", "sensitivity migrates under PAST", "epochs", migrates_more(**STANDARD)),
    Claim("08", "sensitivity migrates under uniform ℓ1", "epochs", migrates_more(**UNIFORM)),
    Claim("08", "it falls under PAST", "epochs", sensitivity_falls(**STANDARD)),
    Claim("08", "it falls under uniform ℓ1", "epochs", sensitivity_falls(**UNIFORM)),
]
