"""The self-checks of lesson 05: an attack for a budget, and an attack that never asks a model."""

from __future__ import annotations

from functools import cache

import numpy as np

from mialib import attacks, metrics
from mialib.bank import Bank
from mialib.course.exercises.check import Answer, check
from mialib.experiments.banks import references
from mialib.results.repeats import in_turn

FORMS = {
    "LiRA": attacks.LiRA(),
    "LiRA, pooled variance": attacks.LiRA(variance="pooled"),
    "RMIA": attacks.RMIA(gamma=2.0),
    "Attack R": attacks.AttackR(),
}
FEW = 4
ALL = 62
AUC = "AUC"
TPR = "TPR at 1 % FPR"
TARGETS = range(0, 16, 2)


@cache
def reached(count: int) -> dict[str, dict[str, float]]:
    """Both numbers of every attack with so many references, over eight targets."""
    bank = references("quick").bank
    found = {}
    for name, attack in FORMS.items():
        scores = []
        for target in TARGETS:
            game = attacks.game(bank, target=target)
            assert isinstance(game.shadow, Bank)  # as it is in a game with a bank
            scores.append(game.scores(attack.fit(game.shadow.take(slice(count)))))
        one = in_turn(np.stack(scores), bank.is_member[TARGETS])
        found[name] = {AUC: one.auc.value, TPR: one.tpr_at_1_percent.value}
    return found


@check
def check_attack_for(answer: Answer) -> str | None:
    """Exercise 5.1: the strongest attack for a budget and a number."""
    for count in (FEW, ALL):
        for number in (AUC, TPR):
            chosen = answer(count, number)
            found = reached(count)
            case = f"With {count} references, by the {number},"
            if chosen not in found:
                return f"{case} expected one of {', '.join(FORMS)}; found {chosen!r}."
            best = max(found, key=lambda name, of=found, by=number: of[name][by])
            if chosen != best:
                reach = f"{chosen} has {found[chosen][number]:.3f}"
                return f"{case} {reach} and {best} {found[best][number]:.3f}."
    return None


@check
def check_blind_scores(answer: Answer) -> str | None:
    """Exercise 5.2: wins where the sources differ, and only there."""
    rng = np.random.default_rng(0)
    is_member = np.arange(400) < 200
    for shift, low, high in ((0.5, 0.8, 1.0), (-0.5, 0.8, 1.0), (0.0, 0.35, 0.65)):
        moved = shift * is_member[:, None]
        known = rng.normal(size=(400, 10)) + moved
        asked = rng.normal(size=(400, 10)) + moved
        auc = metrics.auc(answer(known, is_member, asked), is_member)
        if not low <= auc <= high:
            sources = f"differ by {shift} in every feature" if shift else "come from one source"
            expected = f"expected an AUC in {low} … {high}, found {auc:.2f}"
            return f"Where members and non-members {sources}, {expected}."
    return None
