"""Lesson 15, on paper and code: what it says in fixed words of shipped trainings on letters."""

from __future__ import annotations

from claims import Claim, minus
from mialib.course import differences
from mialib.course.tunings import Tunings
from mialib.estimates import Estimate
from mialib.results import Results

HARDLY = 0.05  # of an advantage: "hardly anybody"


def ties(table: Results) -> differences.Difference:
    return differences.ties(table.find(defense="Plain"))


def gini(table: Results) -> differences.Difference:
    past = Tunings(table)
    return differences.gini(past.undefended, past.find(lam=1e-3, alpha=1.5))


def adaptive(table: Results) -> differences.Difference:
    defended = table.find(defense="RelaxLoss", alpha=1.0, form="official")
    return differences.adaptive(table.find(defense="Plain"), defended)


def below(estimate: Estimate, limit: float) -> Estimate:
    return Estimate(limit - estimate.value, limit - estimate.high, limit - estimate.low)


CLAIMS = [
    Claim(
        "15",
        "without its ties the correctness attack is below chance",
        "base",
        lambda t: below(ties(t).estimate("as coded"), 0.5),
    ),
    Claim(
        "15",
        "the usual Gini index rises by PAST's tuning",
        "past",
        lambda t: gini(t).estimate("as it should be"),
    ),
    Claim(
        "15",
        "the shifted one has the opposite sign",
        "past",
        lambda t: minus(gini(t).estimate("as coded")),
    ),
    Claim(
        "15",
        "at a plain shadow's threshold RelaxLoss leaves hardly anybody",
        "relaxed",
        lambda t: below(adaptive(t).estimate("as coded"), HARDLY),
    ),
    Claim(
        "15",
        "RelaxLoss looks far better to an attacker who does not know of it",
        "relaxed",
        lambda t: minus(adaptive(t).effect),
    ),
]
