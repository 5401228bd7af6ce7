"""The self-checks of lesson 02: the AUC without thresholds, and what one training would claim."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mialib import metrics
from mialib.course.exercises.check import Answer, check, same_as
from mialib.estimates import words
from mialib.experiments import results

RIVALS = ("modified entropy", "loss per class", "max confidence")
_rng = np.random.default_rng(0)

# Exercise 2.1: the share of pairs in which the member has the higher score.
check_auc_from_ranks = same_as(
    metrics.auc,
    (np.array([0.9, 0.4, 0.6, 0.1]), np.array([True, True, False, False])),
    (_rng.normal(size=100).round(1), np.arange(100) < 50),
    hint="Do ties count half?",
)


class Standing(NamedTuple):
    """How a rival of the loss fares: by single trainings, and by all of them."""

    wins: int
    verdict: str


@cache
def standings() -> dict[str, Standing]:
    plain = results("base", "quick").find(defense="Plain")
    loss = plain.by_seed("advantage", "loss")
    found = {}
    for rival in RIVALS:
        wins = int((plain.by_seed("advantage", rival) > loss).sum())
        found[rival] = Standing(wins, words(plain.between(rival, "loss")))
    return found


@check
def check_ten_papers(answer: Answer) -> str | None:
    """Exercise 2.2: what ten papers with one training each would say, and what all ten say."""
    found = dict(answer())
    if set(found) != set(RIVALS):
        return f"Expected an entry for each of {', '.join(RIVALS)}; found {sorted(found)}."
    for rival, expected in standings().items():
        wins, verdict = found[rival]
        if wins != expected.wins:
            return (
                f"{rival}: expected {expected.wins} trainings in which it is ahead, found {wins}. "
                "Compare seed by seed, and count only those that are strictly higher."
            )
        if verdict != expected.verdict:
            return (
                f"{rival}: over all trainings it is {expected.verdict!r}, found {verdict!r}. "
                "Ask for the interval of the difference."
            )
    return None
