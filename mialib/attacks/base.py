"""What every attack is: settings that are fitted on a shadow, and then score a target.

    attack = RMIA(gamma=2.0)                 # settings: a frozen dataclass, as a defense is
    fitted = attack.fit(references)          # what must be learned is learned here, once
    scores = fitted.score(target)            # (n,), higher = member
    called = fitted.calls(target)            # (n,) bool: scores ≥ fitted.threshold

`fit` is handed the signals of one shadow, a list of them, or for reference attacks a `Bank`.
`needs` says what an attack must have of target and attacker, and `ATTACKS` has each under the one
name by which README, cards, tables, figures and tests call it. No attack is given the target's
membership; `game` sees to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mialib.bank import Bank
from mialib.errors import check_range
from mialib.signals import Shadows, Signals, pool

LARGEST_SEED = 2**32 - 1  # what NumPy's and scikit-learn's generators take


class Need(StrEnum):
    """What an attack must have of the target, or of the attacker."""

    OUTPUTS = "outputs"
    PREDICTED_LABELS = "predicted labels"
    NOISE = "noisy copies"
    ROTATIONS = "rotations"
    SHIFTS = "shifts"
    BOUNDARY = "distances to the boundary"
    GRADIENTS = "input gradients"
    TRAJECTORY = "losses over checkpoints"
    SHADOW = "a shadow"
    REFERENCES = "reference models"
    IN_REFERENCES = "reference models, with and without the record"  # so REFERENCES as well
    POPULATION = "a population"
    INPUTS = "inputs"


class UnplayableError(ValueError):
    """A game or an attack that these references are too few, or too badly dealt, to play."""


class Attack(ABC):
    """Settings of an attack: a subclass is a frozen dataclass with its `needs` and its `fit`."""

    @property
    @abstractmethod
    def needs(self) -> frozenset[Need]:
        """What it must have; it may depend on the settings."""

    @abstractmethod
    def fit(self, shadow: Any) -> FittedAttack:
        """Learn from a shadow, a list of shadows, or a bank of references."""

    @property
    def name(self) -> str:
        """The name in `ATTACKS` of these settings; settings without one are written out."""
        for name, attack in ATTACKS.items():
            if attack == self:
                return name
        return repr(self)


class FittedAttack(ABC):
    """An attack that has learned what it must. It can score as many targets as one likes.

    `threshold` was found on shadows or references, never on a target: a score that reaches it is a
    call of "member". It is None where nothing was at hand to find one.
    """

    attack: Attack
    threshold: float | None

    @abstractmethod
    def score(self, target: Signals) -> np.ndarray:
        """One number a record of the target, higher = member: (n,)."""

    def calls(self, target: Signals) -> np.ndarray:
        """Whom the attack calls a member: (n,) bool."""
        if self.threshold is None:
            raise ValueError(
                f"No threshold was fitted for {self.attack.name}, so it calls nobody a member. "
                "Use its scores, or fit it on more references."
            )
        # As float64: a threshold between two neighbouring float32 would be rounded to one of them.
        return self.score(target) >= np.float64(self.threshold)


# Filled in mialib.attacks.registry; an attack of one's own may join.
ATTACKS: dict[str, Attack] = {}


@dataclass(frozen=True)
class FromFunction(Attack):
    """A function of one's own, (shadow, target) → scores (n,), as an attack without a threshold.

    It shows what the game hands out, and lets anything be played:
    game.play(FromFunction(my_scores)).
    """

    function: Callable[[Any, Signals], np.ndarray]

    def __post_init__(self):
        if not callable(self.function):
            raise ValueError(
                f"Expected a function (shadow, target) → scores, found {self.function!r}."
            )

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset()

    def fit(self, shadow: Any) -> FittedFunction:
        return FittedFunction(self, shadow)


@dataclass(frozen=True, eq=False)
class FittedFunction(FittedAttack):
    """A function and what it was handed to learn from."""

    attack: FromFunction
    shadow: Any
    threshold: float | None = None

    def score(self, target: Signals) -> np.ndarray:
        return self.attack.function(self.shadow, target)


def pooled_shadow(shadow: Shadows) -> Signals:
    """The shadow, or all shadows in one table, if an attack can be fitted on it."""
    if isinstance(shadow, Bank):
        raise ValueError(
            "This attack is fitted on the signals of shadows, found a bank. "
            "Give it some of the bank's models: [bank.signals(k) for k in range(4)]."
        )
    if not isinstance(shadow, Signals | list | tuple):
        raise ValueError(
            f"A shadow is Signals, or a list of them, found {type(shadow).__name__}. "
            "Ask a model with mialib.query.collect, or build Signals(logits, labels, is_member)."
        )
    together = pool(shadow)
    is_member = together.is_member
    if is_member is None:
        raise ValueError(
            "The shadow's membership is needed to fit an attack; the attacker trained it, so knows."
        )
    if is_member.all() or not is_member.any():
        raise ValueError("An attack is fitted on a shadow's members and non-members; both needed.")
    return together


def check_target(target: Signals, *, classes: int | None = None) -> None:
    """Refuse a target that is no Signals, or that has other classes than the shadow."""
    if not isinstance(target, Signals):
        raise ValueError(
            f"A target is Signals, found {type(target).__name__}. "
            "Ask a model with mialib.query.collect, or build Signals(logits, labels)."
        )
    found = target.logits.shape[1]
    if classes is not None and classes != found:
        raise ValueError(
            f"Shadow and target have {classes} and {found} columns of logits. "
            "Train both on one task."
        )


def check_seed(seed: int) -> None:
    """Refuse what cannot start a random generator."""
    check_range(0, LARGEST_SEED, whole=True, seed=seed)
