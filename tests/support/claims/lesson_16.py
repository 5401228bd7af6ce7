"""What the end of the course says in fixed words."""

from __future__ import annotations

from claims import Claim, minus, over_trainings
from mialib.estimates import Estimate
from mialib.results import Results

MUCH = 0.2  # of an advantage, and of an accuracy


def learned_by_heart(photographs: Results) -> Estimate:
    parts = [row.accuracy for row in photographs.find(called="undefended").rows]
    return over_trainings([one["train"] - one["test"] - MUCH for one in parts])


def given_away(photographs: Results) -> Estimate:
    found = photographs.find(called="undefended").advantage("loss")
    return Estimate(found.value - MUCH, found.low - MUCH, found.high - MUCH)


def privacy_is_bought(photographs: Results) -> Estimate:
    bare = photographs.find(called="undefended")
    return minus(photographs.find(defense="DMP", temperature=1.0).paired(bare, "highest"))


CLAIMS = [
    Claim("16", "photographs are learned by heart", "photographs", learned_by_heart, "cpu"),
    Claim("16", "what is learned by heart is given away", "photographs", given_away, "cpu"),
    Claim("16", "privacy can be bought", "photographs", privacy_is_bought, "cpu"),
]
