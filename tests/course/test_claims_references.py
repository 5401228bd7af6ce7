"""Lesson 05's fixed words hold over the shipped reference models, and with other targets.

Every model plays the target in turn. A number is taken of each target; its interval is Student's,
over targets.
"""

from functools import cache

import numpy as np
import pytest

from claims import over_trainings
from mialib import attacks, exposure, metrics
from mialib.experiments.banks import references

FEW = 16  # targets, for what must be asked of each of them again
HARDLY_MORE = 0.03  # than the 0.01 of a coin


@cache
def bank():
    return references("quick").bank


@cache
def scores(attack, targets=None):
    """(targets, n)."""
    return attacks.scores_per_target(bank(), attack, targets=targets)


def by_target(number, found):
    """A number of each target's scores: (targets,)."""
    return np.array([number(one, held) for one, held in zip(found, bank().is_member, strict=False)])


def tpr(limit):
    def number(found, held):
        curve = metrics.roc(found, held)
        return curve.tpr[curve.fpr <= limit].max()

    return number


def with_few_references(attack):
    """Each target attacked with four of its references: (targets, n)."""
    found = []
    for target in range(FEW):
        versus = attacks.game(bank(), target=target)
        found.append(versus.scores(attack.fit(versus.shadow.take(slice(4)))))
    return np.stack(found)


def loss_finds_hardly_more_than_a_coin():
    return HARDLY_MORE - by_target(tpr(0.01), scores(attacks.AttackP()))


def lira_gains_in_the_corner():
    """At 0.1 %, more than three times the loss's share."""
    lira = by_target(tpr(0.001), scores(attacks.LiRA()))
    return lira - 3 * by_target(tpr(0.001), scores(attacks.AttackP()))


def pooling_helps_with_few():
    pooled = with_few_references(attacks.LiRA(variance="pooled"))
    return by_target(metrics.auc, pooled) - by_target(
        metrics.auc, with_few_references(attacks.LiRA())
    )


def rmia_helps_with_few():
    rmia = with_few_references(attacks.RMIA(gamma=2.0))
    return by_target(metrics.auc, rmia) - by_target(
        metrics.auc, with_few_references(attacks.LiRA())
    )


def gamma_spreads_the_top():
    tied = [(scores(attacks.RMIA(gamma=g), FEW) == 1).mean(axis=1) for g in (1.0, 2.0)]
    return tied[0] - tied[1]


def gamma_opens_the_corner():
    corner = [by_target(tpr(0.001), scores(attacks.RMIA(gamma=g), FEW)) for g in (1.0, 2.0)]
    return corner[1] - corner[0]


def shifted(view):
    """The record's own φ minus that of a shifted one, in AUC."""

    def difference():
        phi = references("quick", views=True).bank.phi
        return by_target(metrics.auc, phi[:, 0]) - by_target(metrics.auc, phi[:, view])

    return difference


CLAIMS = {
    "at 1 % the loss finds hardly more than a coin": loss_finds_hardly_more_than_a_coin,
    "what is normal for a record is worth most in the corner": lira_gains_in_the_corner,
    "with few references pool the variance": pooling_helps_with_few,
    "or use RMIA": rmia_helps_with_few,
    "a larger γ spreads the top out": gamma_spreads_the_top,
    "and opens the corner": gamma_opens_the_corner,
    "a view shifted to the left tells less": shifted(1),
    "a view shifted to the right tells less": shifted(2),
}


@pytest.mark.parametrize("says", CLAIMS)
def test_a_claim_holds_over_targets_and_turns_with_none(says):
    found = CLAIMS[says]()
    whole = over_trainings(found)
    assert whole.low > 0, f"{says}: {whole}"
    for first in (0, 1):
        half = over_trainings(found[first::2])
        assert half.value > 0, f"{says}: {half} by every second target from {first}"


@pytest.mark.parametrize("part", [slice(0, None, 2), slice(1, None, 2)], ids=["even", "odd"])
def test_risk_is_uneven(part):
    """Whoever is most exposed on one half of the models is on the other; many never are."""
    found = scores(attacks.LiRA())
    held = bank().is_member
    others = slice(1 - part.start, None, 2)
    worst = exposure.risk(found[part], held[part]).most_exposed(10)
    read_on = exposure.risk(found[others], held[others])
    assert read_on.caught[worst].mean() > 2 * np.nanmean(read_on.caught)
    assert (read_on.caught == 0).mean() > 0.1
