"""Attacks R and P: at which percentile of other losses does the target's loss lie?

    AttackR().fit(references).score(target)  # among the OUT models' losses on the same record
    AttackP().fit(references).score(target)  # among the target's own losses on a population

Attack P is one fixed order of losses, so it ranks the records as the loss does. Both are from Ye
and others 2022, "Enhanced membership inference attacks". Introduced in notebook 05.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mialib.attacks.base import FittedAttack, Need, check_target
from mialib.attacks.reference import ReferenceAttack, answers, checked_tables, count_models
from mialib.attacks.threshold import best_threshold
from mialib.bank import Bank
from mialib.signals import Signals, record_slices

LARGEST_LOSS = 1000.0  # the loss at which a percentile is 1


@dataclass(frozen=True)
class AttackR(ReferenceAttack):
    """Minus α, the place of the target's loss among the OUT models' losses on the same record.

    α is the paper's false-positive rate at which the record would just be called a member; several
    queries are averaged. There is nothing to set.
    """

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.OUTPUTS, Need.REFERENCES})

    def scores(self, references: Bank, target: Signals) -> np.ndarray:
        phi = answers(references, target)
        is_in = references.is_member
        count_models(~is_in, "OUT of")
        scores = np.empty(phi.target.shape)
        for records in record_slices(len(target), width=len(references)):
            for query in range(len(scores)):
                scores[query, records] = attack_r_scores(
                    loss_of_phi(phi.target[query, records]),
                    loss_of_phi(phi.references[:, query, records]),
                    is_in[:, records],
                )
        return scores.mean(axis=0)


def loss_of_phi(phi: np.ndarray) -> np.ndarray:
    """−log p_y, from φ = log p_y / (1 − p_y)."""
    return np.logaddexp(0, -phi)


def attack_r_scores(loss: ArrayLike, reference_losses: ArrayLike, is_in: ArrayLike) -> np.ndarray:
    """Minus the share α of a record's OUT losses that lie below its own: (n,).

    For one record, with the losses of its OUT models in order and a tie counting half:

        places = np.sort([0.0, *out_losses, 1000.0])
        steps = np.linspace(0, 1, len(places))
        tied = places == loss
        score = -(steps[tied].mean() if tied.any() else np.interp(loss, places, steps))

    The code does so for many records at once.
    """
    tables = checked_tables(loss, reference_losses, is_in, finite=False)
    out_models = count_models(~tables.is_in, "OUT of")
    scores = np.empty(len(out_models))
    for records in record_slices(len(scores), width=len(tables.references)):
        scores[records] = _attack_r_slice(
            tables.target[0, records],
            tables.references[:, 0, records].astype(float),
            tables.is_in[:, records],
            out_models[records],
        )
    return scores


def _attack_r_slice(
    loss: np.ndarray, reference_losses: np.ndarray, is_in: np.ndarray, out_models: np.ndarray
) -> np.ndarray:
    own = loss.clip(0, LARGEST_LOSS)
    losses = reference_losses.clip(0, LARGEST_LOSS)
    out_losses = np.where(is_in, LARGEST_LOSS, losses)
    zero = np.zeros_like(own)
    largest = np.full_like(own, LARGEST_LOSS)
    places = np.vstack([zero, out_losses, largest])  # (models + 2, n)
    places.sort(axis=0)
    last = out_models + 1  # Behind it stand the IN models, which are not counted.
    return -place_among(own, places, last) / last


def place_among(loss: np.ndarray, places: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Where each loss (n,) stands among the sorted places 0 … last of its column: (n,)."""
    below = (places < loss).sum(axis=0)
    not_above = (places <= loss).sum(axis=0)
    not_above = np.minimum(not_above, last + 1)
    middle_of_ties = (below + not_above - 1) / 2

    rows = np.arange(len(loss))
    lower = places[not_above - 1, rows]
    upper = places[np.minimum(not_above, last), rows]
    share = np.zeros_like(loss)
    np.divide(loss - lower, upper - lower, out=share, where=upper > lower)
    interpolated = not_above - 1 + share

    is_tied = not_above > below
    return np.where(is_tied, middle_of_ties, interpolated)


@dataclass(frozen=True)
class AttackP(ReferenceAttack):
    """Minus α, the share of the target's losses on a population that lie below the record's own.

    It needs no reference model to score. Its threshold is found by practising on a bank, or on
    shadows that were asked about the population too; fitted on None, it has none. There is nothing
    to set.
    """

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.OUTPUTS, Need.POPULATION})

    def fit(
        self, shadow: Bank | Signals | list[Signals] | None = None, **practice: int
    ) -> FittedAttack:
        if isinstance(shadow, Bank):
            return super().fit(shadow, **practice)
        return FittedAttackP(self, shadow_threshold(shadow))

    def scores(self, references: Bank | None, target: Signals) -> np.ndarray:
        return attack_p_scores(target)


@dataclass(frozen=True, eq=False)
class FittedAttackP(FittedAttack):
    """Attack P without references."""

    attack: AttackP
    threshold: float | None

    def score(self, target: Signals) -> np.ndarray:
        check_target(target)
        return attack_p_scores(target)


def shadow_threshold(shadow: Signals | list[Signals] | None) -> float | None:
    """Attack P's best threshold on these shadows, each beside its own population."""
    if shadow is None:
        return None
    shadows = shadow if isinstance(shadow, list | tuple) else [shadow]
    if not shadows:
        raise ValueError("At least one shadow is needed.")
    for one in shadows:
        check_target(one)
    if any(one.population is None for one in shadows):
        return None
    scores = [attack_p_scores(one) for one in shadows]
    truths = [one.truth() for one in shadows]
    return best_threshold(np.concatenate(scores), np.concatenate(truths))


def attack_p_scores(target: Signals) -> np.ndarray:
    """Minus the place of each loss among the target's losses on its population: (n,)."""
    check_target(target)
    if target.population is None:
        raise ValueError(
            "Attack P needs the target's answers on a population: Signals(…, population=…)."
        )
    places = np.r_[0.0, np.sort(target.population.loss()), LARGEST_LOSS]
    steps = np.linspace(0, 1, len(places))
    return -np.interp(target.loss(), places, steps)
