"""What to try next, from measured results; and what an audit does not test.

    next_steps(rows, null)           # defenses that lowered the highest advantage of all attacks
    not_tested(lacking, …)           # what this audit says nothing about

The results are those of one plan that come with the library: photographs (CIFAR-10), one network,
every defense on the same records. Of each defense that setting is chosen which lowers the highest
advantage most while the accuracy falls by at most two points. It is chosen on one half of the
records and measured on the other, because who takes the best of many also takes the luckiest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from mialib import shipped
from mialib.audits.findings import CROSS_FITTED, AttackRow, NullBand, counted
from mialib.estimates import Estimate
from mialib.results import Results

PLAN = ("cpu", "photographs.npz")
TASK = "photographs (CIFAR-10, a small network)"
KEPT = 0.02  # of the accuracy that may be lost
MOST = 3  # defenses that are named
FOR_MORE = "Lesson 14 has every defense on the same axes. Measure on your own task."
NEED_MORE = ("AdvReg", "DMP", "Mixup+MMD", "PAST")  # records beside the members
UNDEFENDED = "undefended"


class Tried(NamedTuple):
    """What a defense did to advantage and accuracy, against the undefended model."""

    defense: str
    advantage: Estimate
    accuracy: Estimate
    seeds: int


def next_steps(rows: Sequence[AttackRow], null: Mapping[str, NullBand]) -> tuple[str, ...]:
    """What to try, if an attack goes further than shuffled membership would bring any of them."""
    if not any(row.auc.value > null[row.name].auc_of_all.high for row in rows):
        return ("No attack was shown to find members, so no defense is suggested here.",)
    sentences = [_sentence(tried) for tried in measured_defenses()]
    return (*sentences, FOR_MORE)


def _sentence(tried: Tried) -> str:
    needs = "; it needs records beside the members" if tried.defense in NEED_MORE else ""
    return (
        f"{tried.defense}: on {TASK} it changed the highest advantage by {tried.advantage}, and "
        f"the accuracy by {tried.accuracy} ({tried.seeds} trainings{needs})."
    )


@cache
def measured_defenses() -> tuple[Tried, ...]:
    """The defenses that lowered the highest advantage most at about the same accuracy."""
    results = Results.read(shipped.FOLDER.joinpath("results", *PLAN))
    is_even = np.arange(len(results.is_member)) % 2 == 0
    chosen = _chosen_settings(results.take(is_even))
    plain = results.find(called=UNDEFENDED).take(~is_even)
    tried = []
    for defense, number in chosen.items():
        setting = results.settings()[number].finished().take(~is_even)
        advantage = setting.paired(plain, "highest")
        accuracy = setting.paired(plain, "accuracy")
        tried.append(Tried(defense, advantage, accuracy, len(setting)))
    helpful = [one for one in tried if one.advantage.high < 0]
    return tuple(sorted(helpful, key=lambda one: one.advantage.value)[:MOST])


def _chosen_settings(results: Results) -> dict[str, int]:
    """For each defense the number of its best setting that keeps the accuracy."""
    plain = results.find(called=UNDEFENDED)
    floor = plain.by_seed("accuracy").mean() - KEPT
    best: dict[str, tuple[float, int]] = {}
    for number, setting in enumerate(results.settings()):
        defense = setting.rows[0].settings["called"]
        if defense == UNDEFENDED or any(row.failure for row in setting.rows):
            continue
        if setting.by_seed("accuracy").mean() < floor:
            continue
        advantage = float(setting.by_seed("highest").mean())
        best[defense] = min(best.get(defense, (np.inf, -1)), (advantage, number))
    return {defense: number for defense, (_, number) in best.items()}


def not_tested(
    lacking: dict[str, str],
    *,
    inputs: bool,
    threshold_from: str,
    epsilon: object,
    canaries: object,
) -> tuple[str, ...]:
    """What this audit says nothing about."""
    sentences = [
        "Attackers who know of a defense and adapt to it.",
        "Other trainings: the intervals are about the records of this one model. Another seed may "
        "leak more or less.",
        "Other versions of the model, such as quantised or fine-tuned ones: who releases several "
        "must audit them together.",
    ]
    if canaries is None:
        sentences.append("Canaries: records that were planted to be found.")
    if lacking:
        names = ", ".join(sorted(lacking))
        sentences.append(f"{counted(len(lacking))} that could not run: {names}.")
    if not inputs:
        sentences.append("Whether inputs of members and non-members differ, or repeat.")
    if threshold_from == CROSS_FITTED:
        sentences.append(
            "Attackers with shadows or references, who may be stronger than those that were played."
        )
    if epsilon is None:
        sentences.append("A lower bound on ε.")
    return tuple(sentences)
