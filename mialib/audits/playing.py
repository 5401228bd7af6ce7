"""Every attack that the evidence allows, played fairly, and its row in the report.

    rows, lacking = play(evidence, prior=0.01, seed=0)

With shadows or references an attack is fitted on those. Without, the attacks that only choose a
threshold are fitted on one half of the records and judged on the other, then the other way round:
no record is judged by a threshold that it helped to choose. Attacks that must fit a network are
lacking then, because a network that learned from members of this very model is no attacker's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mialib import progress
from mialib.attacks import (
    ATTACKS,
    Attack,
    AttackP,
    Game,
    GradientNorm,
    MetricThreshold,
    Need,
    game,
)
from mialib.attacks.base import FittedAttack
from mialib.attacks.game import counting_betrays
from mialib.attacks.quantile import QMIA
from mialib.attacks.reference import ReferenceAttack
from mialib.attacks.registry import lack_of, needs_at_hand, refusal
from mialib.attacks.threshold import BoundaryDistance, best_threshold
from mialib.audits import intervals
from mialib.audits.evidence import Evidence
from mialib.audits.findings import (
    CROSS_FITTED,
    FROM_POPULATION,
    FROM_REFERENCES,
    FROM_SHADOWS,
    AttackRow,
)
from mialib.audits.more import more_numbers
from mialib.errors import check_choice
from mialib.signals import Signals

REFERENCES_AS_SHADOWS = 4  # so many references serve as shadows where there are none
THRESHOLD_ATTACKS = (MetricThreshold, GradientNorm, BoundaryDistance)

SEES = {
    Need.OUTPUTS: "the outputs",
    Need.PREDICTED_LABELS: "the predicted label",
    Need.NOISE: "outputs on noisy copies",
    Need.ROTATIONS: "predicted labels of turned copies",
    Need.SHIFTS: "predicted labels of shifted copies",
    Need.BOUNDARY: "predicted labels of some 300 copies",
    Need.GRADIENTS: "the model's gradients at the input",
    Need.TRAJECTORY: "the losses over checkpoints",
    Need.SHADOW: "a shadow",
    Need.REFERENCES: "reference models",
    Need.IN_REFERENCES: "reference models that hold the record",
    Need.POPULATION: "the outputs on a population",
    Need.INPUTS: "the inputs",
}
REMEDIES = {
    Need.NOISE: "give the model and shadows=, on inputs that are numbers",
    Need.ROTATIONS: "give the model and shadows=, on images (n, channels, height, width)",
    Need.SHIFTS: "give the model and shadows=, on images (n, channels, height, width)",
    Need.BOUNDARY: "give the torch model and boundary=True, some 300 answers per record",
    Need.GRADIENTS: "give the torch model itself, on inputs that are numbers",
    Need.TRAJECTORY: "give checkpoints= of the model, and of each shadow after its records",
    Need.SHADOW: "give train=, or shadows=[(model, members, others)], trained as the model was",
    Need.REFERENCES: "give train=, which trains some, or references=, a Bank on these records",
    Need.IN_REFERENCES: "give train=, which trains some, or references=, a Bank on these records",
    Need.POPULATION: "give population=, records that no model was trained on",
    Need.INPUTS: "give the model and population=, on inputs that are numbers",
}


class Played(NamedTuple):
    """What an attack said of each record, in the order of the evidence."""

    scores: np.ndarray
    calls: np.ndarray
    threshold_from: str


def play(
    evidence: Evidence, *, only: Iterable[str] | None = None, prior: float, seed: int
) -> tuple[list[AttackRow], dict[str, str]]:
    """A row for each attack that can be played, and what each of the others lacks."""
    wanted = list(ATTACKS) if only is None else [_known(name) for name in only]
    shadows = shadows_of(evidence)
    at_hand = needs_at_hand(evidence.target, shadows, evidence.references)
    sentences = {name: lack(ATTACKS[name], evidence, at_hand) for name in wanted}
    playable = [name for name in wanted if not sentences[name]]
    lacking = {name: sentence for name, sentence in sentences.items() if sentence}
    rows = []
    with progress.bar("attacks", total=len(playable), unit="attack") as advance:
        for name in playable:
            start = time.perf_counter()
            played = _play_one(ATTACKS[name], evidence, shadows, seed)
            seconds = time.perf_counter() - start
            rows.append(as_row(name, played, evidence, prior=prior, seed=seed, seconds=seconds))
            advance()
    if not rows:
        raise ValueError(f"None of these attacks can be played. {' '.join(lacking.values())}")
    return rows, lacking


def _known(name: str) -> str:
    return check_choice("attack", name, ATTACKS)


def fitted_on(evidence: Evidence) -> str:
    """What thresholds are found on, where the attack does not say otherwise."""
    if evidence.shadows:
        return FROM_SHADOWS
    return CROSS_FITTED if evidence.references is None else FROM_REFERENCES


def shadows_of(evidence: Evidence) -> list[Signals] | None:
    """The shadows; where there are none, some of the references play them."""
    if evidence.shadows:
        return list(evidence.shadows)
    references = evidence.references
    if references is None:
        return None
    number = min(REFERENCES_AS_SHADOWS, len(references))
    return [references.signals(model) for model in range(number)]


# What an attack lacks.


def lack(attack: Attack, evidence: Evidence, at_hand: frozenset[Need]) -> str:
    """What the attack lacks, in a sentence; nothing where it lacks nothing."""
    if Need.SHADOW not in at_hand and isinstance(attack, THRESHOLD_ATTACKS):
        at_hand = at_hand | {Need.SHADOW}
    missing = lack_of(attack, at_hand, remedies_of=REMEDIES)
    if missing:
        return missing
    references = evidence.references
    if not isinstance(attack, ReferenceAttack) or references is None:
        return ""
    if counting_betrays(references.is_member, evidence.is_member):
        return (
            "Counting how many references hold a record gives the target's membership away. "
            "Deal the records out in complementary pairs, as splits.in_out does, and leave the "
            "target's complement out."
        )
    return refusal(attack, references, evidence.target.public())


# Playing.


def _play_one(
    attack: Attack, evidence: Evidence, shadows: list[Signals] | None, seed: int
) -> Played:
    target = evidence.target
    if isinstance(attack, ReferenceAttack) and evidence.references is not None:
        played = game(target, shadow=evidence.references, seed=seed)
        return _judged(played, played.fit(attack), FROM_REFERENCES, evidence, seed)
    if isinstance(attack, QMIA):
        played = game(target, shadow=target, seed=seed)
        return _judged(played, attack.fit(), FROM_POPULATION, evidence, seed)
    if isinstance(attack, AttackP):
        # It scores by the population alone, so it is fitted before a game that hands nothing out.
        played = game(target, shadow=target, seed=seed)
        return _judged(played, attack.fit(shadows), FROM_SHADOWS, evidence, seed)
    if shadows is None:
        return _cross_fitted(attack, target, seed)
    played = game(target, shadow=shadows, seed=seed)
    return _judged(played, played.fit(attack), fitted_on(evidence), evidence, seed)


def _judged(
    played: Game, fitted: FittedAttack, threshold_from: str, evidence: Evidence, seed: int
) -> Played:
    """Scores and calls of an attack that was fitted elsewhere."""
    scores = played.scores(fitted)
    if fitted.threshold is None:
        calls = _cross_fitted_calls(scores, evidence.is_member, seed)
        return Played(scores, calls, CROSS_FITTED)
    return Played(scores, scores >= np.float64(fitted.threshold), threshold_from)


def _cross_fitted(attack: Attack, target: Signals, seed: int) -> Played:
    """Fitted on each half, and judged on the other."""
    scores = np.empty(len(target))
    calls = np.empty(len(target), bool)
    half = first_half(target.truth(), seed)
    for learned in (half, ~half):
        played = game(target.take(~learned), shadow=target.take(learned), seed=seed)
        fitted = played.fit(attack)
        scores[~learned] = played.scores(fitted)
        calls[~learned] = scores[~learned] >= _as_number(fitted.threshold)
    return Played(scores, calls, CROSS_FITTED)


def _as_number(threshold: float | None) -> np.float64:
    """Without a threshold nobody is called."""
    return np.float64(np.inf if threshold is None else threshold)


def _cross_fitted_calls(scores: np.ndarray, is_member: np.ndarray, seed: int) -> np.ndarray:
    """Whom scores without a threshold call a member, by one chosen on the other half."""
    calls = np.empty(len(scores), bool)
    half = first_half(is_member, seed)
    for learned in (half, ~half):
        calls[~learned] = scores[~learned] >= best_threshold(scores[learned], is_member[learned])
    return calls


def first_half(is_member: np.ndarray, seed: int) -> np.ndarray:
    """A random half of the members and of the non-members: (n,) bool."""
    rng = np.random.default_rng(seed)
    half = np.zeros(len(is_member), bool)
    for kind in (True, False):
        places = rng.permutation(np.flatnonzero(is_member == kind))
        half[places[: (len(places) + 1) // 2]] = True
    return half


# Its numbers.


def as_row(
    name: str, played: Played, evidence: Evidence, *, prior: float, seed: int, seconds: float
) -> AttackRow:
    """Every number of an attack."""
    is_member = evidence.is_member
    rng = intervals.generator(seed, name)
    scores = played.scores
    calls = played.calls
    return AttackRow(
        name=name,
        sees=_sees(ATTACKS[name], played.threshold_from),
        auc=intervals.auc(scores, is_member),
        advantage=intervals.gap(calls, is_member),
        tpr=intervals.share(calls[is_member]),
        fpr=intervals.share(calls[~is_member]),
        tpr_at_1_percent=intervals.tpr_at_fpr(scores, is_member, 0.01, rng=rng),
        tpr_at_0_1_percent=intervals.tpr_at_fpr(scores, is_member, 0.001, rng=rng),
        ppv=intervals.ppv(calls, is_member, prior),
        threshold_from=played.threshold_from,
        scores=scores,
        calls=calls,
        curve=intervals.curve(scores, is_member, rng=rng),
        seconds=seconds,
        more=more_numbers(scores, calls, is_member, rng=intervals.generator(seed, f"{name}, more")),
    )


def _sees(attack: Attack, threshold_from: str) -> str:
    """What the attack must see, in words."""
    needs = [need for need in Need if need in attack.needs]
    if threshold_from == CROSS_FITTED:
        needs = [need for need in needs if need != Need.SHADOW]
    if Need.IN_REFERENCES in needs:
        needs.remove(Need.REFERENCES)
    return ", ".join(SEES[need] for need in needs)
