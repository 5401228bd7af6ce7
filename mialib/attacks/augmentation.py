"""Label-only attacks: a model is right on more copies of a record that it has memorised.

    fitted = Augmentation("rotations").fit(shadow)
    fitted.score(target)                     # log-odds of membership, from predicted labels alone

Is the label still predicted when the image is turned, or shifted? `mialib.query.ask(model, side,
rotations=…, shifts=…)` collects one bit per copy. Introduced in notebook 04.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mialib.attacks.base import (
    Attack,
    FittedAttack,
    Need,
    check_seed,
    check_target,
    pooled_shadow,
)
from mialib.attacks.perceptron import fit_perceptron, log_odds, prior_log_odds
from mialib.errors import check_choice, check_range, plain_tuple
from mialib.signals import Shadows, Signals

NEEDS = {"rotations": Need.ROTATIONS, "shifts": Need.SHIFTS}
RATES = (1e-3, 5e-3, 1e-2, 5e-2)  # of which the networks of the classes take the best


@dataclass(frozen=True)
class Augmentation(Attack):
    """Membership from the bits "is the label still predicted?" (Choquette-Choo and others 2021).

    `views` are the copies, "rotations" or "shifts"; `columns` the positions of those to use, None
    for all. `form` "original" is the authors': one network of two layers of 10 for each class,
    batch 1, one epoch, the rate chosen on the shadow (their activation is a leaky ReLU, this one a
    plain one). `form` "past" is that of PAST's code: one network of 64 and 32 for all classes, five
    epochs. `seed` starts the networks.
    """

    views: str = "rotations"
    columns: tuple[int, ...] | None = None
    form: str = "original"
    seed: int = 0

    def __post_init__(self):
        check_choice("kind of views", self.views, tuple(NEEDS))
        check_choice("augmentation attack", self.form, ("original", "past"))
        check_seed(self.seed)
        if self.columns is None:
            return
        columns = plain_tuple(self.columns)
        if not isinstance(columns, tuple) or not columns:
            raise ValueError(
                "columns must be the positions of the copies to use, such as (0, 2), or None for "
                f"all; found {self.columns!r}."
            )
        check_range(0, np.inf, whole=True, many=True, columns=columns)
        object.__setattr__(self, "columns", columns)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.PREDICTED_LABELS, NEEDS[self.views]})

    def bits(self, signals: Signals) -> np.ndarray:
        """Is the label predicted on each of the chosen copies? (n, copies), 1.0 or 0.0."""
        table = copies(signals, self.views)
        if self.columns is None:
            return table.astype(np.float64)
        if max(self.columns) >= table.shape[1]:
            raise ValueError(
                f"These signals have {table.shape[1]} {self.views}, so columns lie in "
                f"0 … {table.shape[1] - 1}; found {max(self.columns)}."
            )
        return table[:, list(self.columns)].astype(np.float64)

    def fit(self, shadow: Shadows) -> FittedAttack:
        shadow = pooled_shadow(shadow)
        is_member = shadow.truth()
        bits = self.bits(shadow)
        common = TrainedNetwork(
            fit_perceptron(
                bits, is_member, hidden=(64, 32), rate=1e-3, epochs=5, batch=128, seed=self.seed
            ),
            prior_log_odds(is_member),
        )
        by_class = {}
        if self.form == "original":
            by_class = fit_by_class(bits, shadow, seed=self.seed)
        return FittedAugmentation(
            self,
            classes=shadow.logits.shape[1],
            shape=copies(shadow, self.views).shape,
            common=common,
            by_class=by_class,
        )


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network, and the log-odds of membership among the records that it learned from."""

    network: Any
    prior: float

    def log_odds(self, bits: np.ndarray) -> np.ndarray:
        return log_odds(self.network, bits, prior=self.prior)


@dataclass(frozen=True, eq=False)
class FittedAugmentation(FittedAttack):
    """The network of all classes, and in the original form one for each class with enough."""

    attack: Augmentation
    classes: int
    shape: tuple[int, ...]
    common: TrainedNetwork
    by_class: dict[int, TrainedNetwork]
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=self.classes)
        self._check_copies(copies(target, self.attack.views).shape)
        bits = self.attack.bits(target)
        scores = self.common.log_odds(bits)
        for label in np.unique(target.labels):
            own = target.labels == label
            if label in self.by_class:
                scores[own] = self.by_class[label].log_odds(bits[own])
        return scores

    def _check_copies(self, shape: tuple[int, ...]) -> None:
        if shape[1:] != self.shape[1:]:
            raise ValueError(
                "Shadow and target must be asked about the same copies, (n, copies) each; "
                f"found {self.shape} and {shape}."
            )


def copies(signals: Signals, views: str) -> np.ndarray:
    """The column of bits about these views, (n, copies), or what is wrong with it."""
    check_target(signals)
    table = signals.column(views)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(
            f"{views} must be one bit for each of at least one copy, (n, copies); "
            f"found {table.shape}."
        )
    return table


def fit_by_class(bits: np.ndarray, shadow: Signals, *, seed: int) -> dict[int, TrainedNetwork]:
    """A network for each class of which the shadow has two members and two non-members or more.

    A class of which it has less takes the network of all classes.
    """
    by_class = {}
    for label in np.unique(shadow.labels):
        own = shadow.labels == label
        is_member = shadow.truth()[own]
        members = int(is_member.sum())
        if min(members, len(is_member) - members) < 2:
            continue
        network = fit_best_rate(bits[own], is_member, seed=seed)
        by_class[int(label)] = TrainedNetwork(network, prior_log_odds(is_member))
    return by_class


def fit_best_rate(bits: np.ndarray, is_member: np.ndarray, *, seed: int) -> Any:
    """The network of the rate that fits its own records best, as in the original code."""
    networks = [
        fit_perceptron(bits, is_member, hidden=(10, 10), rate=rate, epochs=1, batch=1, seed=seed)
        for rate in RATES
    ]
    return max(networks, key=lambda network: network.score(bits, is_member))
