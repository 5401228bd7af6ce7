"""What the reference attacks share: references beside a target, and a threshold from practice.

    fitted = LiRA().fit(references)    # a Bank of models that do not include the target
    fitted.score(target)               # (n,), on the same records in the same order
    fitted.threshold                   # some references play the target when it is first asked for

A reference model that holds a record is IN for it, one that does not is OUT. The attacks are in
`lira`, `rmia` and `percentile`; what they do to arrays stands there in `lira_scores`, `rmia_scores`
and `attack_r_scores`. Introduced in notebook 05.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mialib.attacks.base import Attack, FittedAttack, UnplayableError, check_target
from mialib.attacks.game import scores_per_target
from mialib.attacks.threshold import best_threshold
from mialib.bank import Bank
from mialib.errors import as_array, check_range
from mialib.signals import Signals

PRACTICE = 4  # so many references play the target to find a threshold


class ReferenceAttack(Attack):
    """An attack that compares the target with a bank of references on the same records."""

    @abstractmethod
    def scores(self, references: Bank, target: Signals) -> np.ndarray:
        """The attack itself: (n,)."""

    def fit(self, shadow: Bank, *, practice: int = PRACTICE) -> FittedReference:
        """`shadow` is the bank of references, of which `practice` find the threshold."""
        if not isinstance(shadow, Bank):
            raise ValueError(
                f"{type(self).__name__} is fitted on a Bank of references, "
                f"found {type(shadow).__name__}. Build Bank(logits, labels, is_member)."
            )
        check_range(1, np.inf, whole=True, practice=practice)
        return FittedReference(self, shadow, practice)


@dataclass(frozen=True, eq=False)
class FittedReference(FittedAttack):
    """A reference attack beside its references.

    `practice` of the references each play the target once against the others, through the game;
    their scores share one threshold, the best.
    """

    attack: ReferenceAttack
    references: Bank
    practice: int = PRACTICE

    def score(self, target: Signals) -> np.ndarray:
        check_target(target)
        refuse_own_reference(self.references, target)
        return self.attack.scores(self.references, target)

    @cached_property
    def threshold(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The threshold that was best in practice; None where the bank is too small for it."""
        players = min(self.practice, len(self.references))
        try:
            scores = scores_per_target(self.references, self.attack, targets=players)
        except UnplayableError:
            return None
        return best_threshold(scores.ravel(), self.references.is_member[:players].ravel())


def refuse_own_reference(references: Bank, target: Signals) -> None:
    """A target among its own references would be compared with itself, and betrayed by that."""
    if references.logits.shape[1:] != target.logits.shape:
        return
    # The first record settles it for all models but the target.
    alike = (references.logits[:, 0] == target.logits[0]).all(axis=1)
    for model in np.flatnonzero(alike):
        if np.array_equal(references.logits[model], target.logits):
            raise ValueError(
                f"Reference {model} answers every record exactly as the target does: the target "
                "is among its own references. Leave it out, or play "
                "mialib.attacks.game(bank, target=k)."
            )


class Answers(NamedTuple):
    """φ of the target (queries, n) and of the references (models, queries, n)."""

    target: np.ndarray
    references: np.ndarray


def answers(references: Bank | None, target: Signals | None, *, of: str = "target") -> Answers:
    """φ of both, if they are about the same records."""
    if references is None or target is None:
        raise ValueError(
            f"This attack needs a {of}: answers of target and references on the same known "
            "non-members."
        )
    check_target(target)
    if not isinstance(references, Bank):
        raise ValueError(f"References are a Bank of models, found {type(references).__name__}.")
    phi = target.phi()
    reference_phi = references.phi
    of_target = (target.logits.shape[1], len(phi))
    of_references = (references.logits.shape[2], reference_phi.shape[1])
    if of_references != of_target:
        raise ValueError(
            f"References and {of} differ in (classes, queries): {of_references} and {of_target}. "
            "Ask all alike."
        )
    if not np.array_equal(references.labels, target.labels):
        raise ValueError(
            f"References and {of} must be about the same records in the same order; "
            "the labels differ."
        )
    return Answers(phi, reference_phi)


class Tables(NamedTuple):
    """Target (queries, n), references (models, queries, n), who holds what (models, n) bool."""

    target: np.ndarray
    references: np.ndarray
    is_in: np.ndarray


def checked_tables(
    target: ArrayLike, references: ArrayLike, is_in: ArrayLike, *, finite: bool = True
) -> Tables:
    """The arrays of a reference attack in their full shapes, or what is wrong with them.

    The references keep their type: a copy of all in float64 could be larger than the memory. Who
    computes with them converts one slice of the records after another.
    """
    target = np.atleast_2d(as_array(target, what="target").astype(float))
    references = as_array(references, what="references")
    is_in = as_array(is_in, kind="b", what="is_in")
    if references.ndim == 2:
        references = references[:, None]  # (models, n) → (models, 1, n)
    same_records = references.shape[1:] == target.shape
    if not same_records or is_in.shape != (len(references), target.shape[-1]):
        raise ValueError(
            "Expected the target (n,), references (models, n) and is_in (models, n), with several "
            f"queries (queries, n) and (models, queries, n); found {target.shape}, "
            f"{references.shape} and {is_in.shape}."
        )
    accepted = np.isfinite if finite else _is_number
    tables = (target, *references)
    if not all(accepted(table).all() for table in tables):
        bad = sum(int((~accepted(table)).sum()) for table in tables)
        raise ValueError(
            f"{bad} values are NaN or infinite. Compute them from logits, where they stay finite."
        )
    return Tables(target, references, is_in)


def _is_number(values: np.ndarray) -> np.ndarray:
    return ~np.isnan(values)


def count_models(mask: np.ndarray, side: str) -> np.ndarray:
    """How many models of `mask` (models, n) each record has, at least one: (n,).

    `side` says in errors which they are: "IN" or "OUT of".
    """
    counts = mask.sum(axis=0, dtype=np.int32)  # Twice as quick as in int64.
    without = int((counts == 0).sum())
    if without:
        remedy = "add models that do not hold them"
        if side == "IN":
            remedy = "use the offline form of the attack"
        raise UnplayableError(
            f"{without} of {len(counts)} records are {side} no reference model "
            f"(the first is number {counts.argmin()}). Leave them out, or {remedy}."
        )
    return counts
