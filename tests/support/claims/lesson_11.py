"""What lesson 11 says in fixed words."""

from __future__ import annotations

from typing import Any

from claims import Claim, minus, over_trainings
from mialib.course import figures
from mialib.estimates import Estimate
from mialib.results import Results
from mialib.results.repeats import over_seeds_and_records

PLAIN = {"defense": "Plain"}
ADVREG = {"defense": "AdvReg", "alpha": 3.0}
MIXUP_MMD = {"defense": "MixupMMD", "lam": 3.0, "mixup": 1.0}
DMP = {"defense": "DMP", "source": "all"}
NOISE = {"defense": "DPSGD", "sigma": 3.0}
TUNED = {"defense": "Past", "lam": 0.0}  # that is without PAST's penalty


def lowers_the_highest(table: Results, defense: dict[str, Any]) -> Estimate:
    return minus(table.find(**defense).paired(table.find(**PLAIN), "highest"))


def tuning_forgets(table: Results, first: dict[str, Any]) -> Estimate:
    """How much the highest advantage rises when a defended model is trained on without it."""
    tuned = table.find(**TUNED, after=first["defense"])
    return tuned.paired(table.find(**first), "highest")


def advreg_spares_correctness(table: Results) -> Estimate:
    """What AdvReg takes from the loss attack, less what it takes from correctness."""
    plain = table.find(**PLAIN)
    defended = table.find(**ADVREG)
    taken = {
        attack: plain.draws("advantage", attack) - defended.draws("advantage", attack)
        for attack in ("loss", "correctness")
    }
    return over_seeds_and_records(taken["loss"] - taken["correctness"])


def the_attacker_stays_above(table: Results, accuracy: float) -> Estimate:
    histories = table.find(**ADVREG).fact("history")
    last = [epochs[-1]["attacker_accuracy"] for epochs in histories]
    return over_trainings([reached - accuracy for reached in last])


def refuted_above(table: Results, epsilon: float) -> Estimate:
    """It is sure by itself: the rates are the ends of intervals that favour the defender."""
    refuted = figures.reach_of(table.find(**PLAIN)).refuted(delta=1e-5)
    return Estimate(refuted - epsilon, refuted - epsilon, refuted - epsilon)


def accuracy_below(table: Results, accuracy: float) -> Estimate:
    found = table.find(**NOISE).accuracy()
    return Estimate(accuracy - found.value, accuracy - found.high, accuracy - found.low)


CLAIMS = [
    Claim(
        "11",
        "DMP comes down from the undefended model's highest advantage",
        "learned",
        lambda table: lowers_the_highest(table, DMP),
    ),
    Claim(
        "11",
        "so does Mixup+MMD at λ = 3",
        "learned",
        lambda table: lowers_the_highest(table, MIXUP_MMD),
    ),
    Claim(
        "11",
        "AdvReg at α = 3 leaves members that are learned by heart: correctness loses less",
        "learned",
        advreg_spares_correctness,
    ),
    Claim(
        "11",
        "AdvReg's classifier does not win: its attacker ends well above 0.5",
        "learned",
        lambda table: the_attacker_stays_above(table, 0.6),
    ),
    Claim(
        "11",
        "DP-SGD at σ = 3 has learned nothing",
        "learned",
        lambda table: accuracy_below(table, 0.2),
    ),
    Claim(
        "11",
        "the undefended model breaks the promise",
        "learned",
        lambda table: refuted_above(table, 2.0),
    ),
    Claim(
        "11",
        "tuned with λ = 0, AdvReg is gone",
        "learned",
        lambda table: tuning_forgets(table, {"defense": "AdvReg", "alpha": 1.0}),
    ),
    Claim(
        "11",
        "tuned with λ = 0, Mixup+MMD is gone",
        "learned",
        lambda table: tuning_forgets(table, MIXUP_MMD),
    ),
]
