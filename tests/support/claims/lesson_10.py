"""Lesson 10, on RelaxLoss and CRL: what it says in fixed words of trainings on letters."""

from __future__ import annotations

import numpy as np

from claims import Claim, minus, over_trainings
from mialib.course.figures import Phase
from mialib.estimates import Estimate
from mialib.results import Results
from mialib.results.edges import MARGINS

MIDDLES = (MARGINS[:-1] + MARGINS[1:]) / 2
AT_REST = {"alpha_rcl": 0.1, "tau_rce": 0.05, "tau_rcl": 1.0, "lam": 0.1, "center_lr": 0.001}


def relaxloss(table: Results, alpha: float, form: str = "official") -> Results:
    return table.find(defense="RelaxLoss", alpha=alpha, form=form)


def crl(table: Results, **changes) -> Results:
    settings = {"defense": "CRL", "alpha_rce": 1.0, **AT_REST, "printed_step": False}
    return table.find(**settings | changes)


def relaxing(table: Results) -> Results:
    """The setting that the lesson recommends."""
    return crl(table, center_lr=0.5, alpha_rcl=0.65, tau_rcl=0.3, lam=1.0)


def rise_of_center_loss(trainings: Results) -> Estimate:
    """L_ct at the end minus L_ct at first."""
    by_seed = [Phase.of(trainings.seeds([row.seed]), "rcl") for row in trainings.rows]
    return over_trainings([phase.loss[-1] - phase.loss[0] for phase in by_seed])


def never_below(trainings: Results) -> Estimate:
    """Above 0 only where L_ct never came below α_rcl, in no batch of any training."""
    most = max(epoch["below_rcl"] for history in trainings.fact("history") for epoch in history)
    return Estimate(1e-9 - most, 1e-9 - most, 1e-9 - most)


def room_at_first(trainings: Results) -> Estimate:
    """α_rcl minus L_ct in the first epoch."""
    by_seed = [Phase.of(trainings.seeds([row.seed]), "rcl") for row in trainings.rows]
    return over_trainings([phase.alpha - phase.loss[0] for phase in by_seed])


def mean_distances(trainings: Results, role: str) -> dict[int, float]:
    """By seed, the mean distance to the boundary."""
    counts = trainings.fact("margins", role)
    seeds = [row.seed for row in trainings.rows]
    return {
        seed: float(np.average(MIDDLES, weights=some))
        for seed, some in zip(seeds, counts, strict=True)
    }


def nearer(one: Results, other: Results, role: str) -> Estimate:
    """How much nearer to the boundary records lie in the first than in the second."""
    here = mean_distances(one, role)
    there = mean_distances(other, role)
    common = sorted(here.keys() & there.keys())
    return over_trainings([there[seed] - here[seed] for seed in common])


def plain(table: Results) -> Results:
    return table.find(defense="Plain")


def claim(says, difference) -> Claim:
    return Claim("10", says, "relaxed", difference)


CLAIMS = [
    claim("L_ct rises at the paper's rate", lambda t: rise_of_center_loss(crl(t))),
    claim("and falls at 0.5", lambda t: minus(rise_of_center_loss(crl(t, center_lr=0.5)))),
    claim("no batch comes below α_rcl at the paper's rate", lambda t: never_below(crl(t))),
    claim(
        "at τ_rcl = 1 a limit of 0.65 lies above where L_ct starts",
        lambda t: room_at_first(crl(t, center_lr=0.5, alpha_rcl=0.65, lam=1.0)),
    ),
    claim(
        "a larger α of RelaxLoss buys privacy",
        lambda t: relaxloss(t, 0.25).paired(relaxloss(t, 1.5), "highest"),
    ),
    claim(
        "with accuracy",
        lambda t: relaxloss(t, 0.25).paired(relaxloss(t, 1.5), "accuracy"),
    ),
    claim(
        "a larger α of ImpRelaxLoss buys privacy",
        lambda t: crl(t, alpha_rce=0.25, lam=0.0).paired(crl(t, alpha_rce=1.5, lam=0.0), "highest"),
    ),
    claim(
        "with accuracy, too",
        lambda t: crl(t, alpha_rce=0.25, lam=0.0).paired(
            crl(t, alpha_rce=1.5, lam=0.0), "accuracy"
        ),
    ),
    claim(
        "the AUC of modified entropy falls with CRL's RelaxLoss",
        lambda t: plain(t).paired(relaxloss(t, 1.0, "crl"), "auc", "modified entropy"),
    ),
    claim(
        "and with CRL",
        lambda t: plain(t).paired(relaxing(t), "auc", "modified entropy"),
    ),
    claim(
        "RelaxLoss brings members to the boundary",
        lambda t: nearer(relaxloss(t, 1.0), plain(t), "members"),
    ),
    claim("so does CRL", lambda t: nearer(relaxing(t), plain(t), "members")),
    claim(
        "the distance of non-members is not enhanced by CRL",
        lambda t: nearer(relaxing(t), plain(t), "non_members"),
    ),
]
