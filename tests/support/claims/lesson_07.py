"""What lesson 07 says in fixed words of concentration, migration, tuning and the loss gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from claims import Claim, over_trainings
from mialib.estimates import Estimate
from mialib.results import Results

PAPER = 0.8927  # what the top 20 % carry in PAST's Fig. 1b
NORMAL = 0.4399  # what they carry of normal numbers: 2 φ(Φ⁻¹(0.9)) / √(2/π), to four digits


def training(modules: Results) -> list[Results]:
    """The network after every epoch of plain training."""
    return modules.where(defense="Plain").settings()


def tuning(modules: Results, lam: float) -> list[Results]:
    return modules.where(defense="Past", lam=lam).settings()


def below_the_paper(modules: Results) -> Estimate:
    shares = training(modules)[-1].fact("sensitivity", "top")
    return over_trainings([PAPER - share for share in shares])


def above_normal_numbers(modules: Results) -> Estimate:
    shares = training(modules)[-1].fact("sensitivity", "top")
    return over_trainings([share - NORMAL for share in shares])


def first_half(what: str):
    def difference(modules: Results) -> Estimate:
        epochs = training(modules)
        return epochs[len(epochs) // 2].paired(epochs[0], what)

    return difference


def leak_grows_on(modules: Results) -> Estimate:
    """How much more the advantage gains in the second half of training than the gap does."""
    epochs = training(modules)
    half = epochs[len(epochs) // 2]
    gains = [epochs[-1].by_seed(what) - half.by_seed(what) for what in ("highest", "loss_gap")]
    return over_trainings(gains[0] - np.maximum(gains[1], 0))


def wrecked(modules: Results) -> Estimate:
    """How much more than 0.1 the accuracy falls below that of the trained network."""
    worst = min(tuning(modules, 1e-3), key=lambda one: one.by_seed("accuracy").mean())
    fall = training(modules)[-1].paired(worst, "accuracy")
    return Estimate(fall.value - 0.1, fall.low - 0.1, fall.high - 0.1)


def migrations(epochs: Sequence[Results]) -> np.ndarray:
    """(epochs, seeds), from the first epoch on."""
    return np.array([one.fact("migration") for one in epochs[1:]])


def migrates(lam: float | None):
    """In the median epoch more than a quarter of the top is new."""

    def difference(modules: Results) -> Estimate:
        epochs = training(modules) if lam is None else tuning(modules, lam)
        return over_trainings(np.median(migrations(epochs), axis=0) - 0.25)

    return difference


def promised(trained: Results, fpr: float) -> np.ndarray:
    """What Proposition E.1 makes of each training's losses: (seeds,)."""
    losses = trained.losses.astype(float)
    inside = losses[:, trained.is_member]
    outside = losses[:, ~trained.is_member]
    gaps = outside.mean(axis=1) - inside.mean(axis=1)
    reach = (norm.ppf(fpr) * outside.std(axis=1) + gaps) / inside.std(axis=1)
    return norm.cdf(reach) - fpr


def promise_is_negative(modules: Results) -> Estimate:
    return over_trainings(-promised(training(modules)[-1], 0.1))


def measured_is_positive(modules: Results) -> Estimate:
    return over_trainings(training(modules)[-1].by_seed("tpr", "loss", fpr=0.1) - 0.1)


def close_at_the_median(modules: Results) -> Estimate:
    """How far theory and measurement are within 0.05 of each other."""
    trained = training(modules)[-1]
    measured = trained.by_seed("tpr", "loss", fpr=0.5) - 0.5
    return over_trainings(0.05 - np.abs(promised(trained, 0.5) - measured))


def widest_gap_is_of_crl(photographs: Results) -> Estimate:
    """How much wider the gap of an acting CRL is than that of any other defense."""
    gaps = {True: [], False: []}
    for one in photographs.settings():
        settings = one.rows[0].settings
        gaps[settings["defense"] == "CRL"].append(float(one.finished().by_seed("loss_gap").mean()))
    wider = max(gaps[True]) - max(gaps[False])
    return Estimate(wider, wider, wider)


CLAIMS = [
    Claim("07", "the top 20 % carry far less than in the paper", "modules", below_the_paper),
    Claim("07", "and more than of normal numbers", "modules", above_normal_numbers),
    Claim("07", "the gap rises in the first half", "modules", first_half("loss_gap")),
    Claim("07", "the advantage rises in the first half", "modules", first_half("highest")),
    Claim("07", "in the second half the leak grows without the gap", "modules", leak_grows_on),
    Claim("07", "on the way PAST wrecks the model", "modules", wrecked),
    Claim("07", "weights migrate in training", "modules", migrates(None)),
    Claim("07", "weights migrate with λ = 0", "modules", migrates(0.0)),
    Claim("07", "weights migrate with PAST", "modules", migrates(1e-3)),
    Claim("07", "E.1 promises less than chance at 10 %", "modules", promise_is_negative),
    Claim("07", "measured is more than chance at 10 %", "modules", measured_is_positive),
    Claim("07", "theory and truth are close at 50 %", "modules", close_at_the_median),
    Claim("07", "the widest gap is CRL's", "photographs", widest_gap_is_of_crl, "cpu"),
]
