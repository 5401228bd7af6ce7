"""The sparsity paper's discriminator: a network that also sees how outputs answer to noise.

    fitted = Discriminator().fit(shadow)
    fitted.grid[0]             # the best of nine: hidden layers, rate, accuracy, network
    fitted.score(target)       # log-odds of membership by the best

Both shadow and target must have been asked about noisy copies: `mialib.query.ask(model, side,
noise=True)`. Introduced in notebook 03.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mialib.attacks.base import (
    Attack,
    FittedAttack,
    Need,
    check_seed,
    check_target,
    pooled_shadow,
)
from mialib.attacks.perceptron import fit_perceptron, log_odds, outputs_and_label, prior_log_odds
from mialib.signals import Shadows, Signals

HIDDEN_LAYERS = ((30,), (30, 30), (100, 100, 100))
RATES = (1e-2, 1e-3, 1e-4)
ASIDE = 0.2  # the share of the shadow's records on which the candidates are compared


class Candidate(NamedTuple):
    """One network of the grid, and its accuracy on records that it was not trained on."""

    hidden: tuple[int, ...]
    rate: float
    accuracy: float
    network: Any


@dataclass(frozen=True)
class Discriminator(Attack):
    """The sparsity paper's attack: the best of nine perceptrons on outputs, label and noise.

    `seed` sets records aside and starts the networks.
    """

    seed: int = 0

    def __post_init__(self):
        check_seed(self.seed)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.OUTPUTS, Need.NOISE})

    def fit(self, shadow: Shadows) -> "FittedDiscriminator":
        shadow = pooled_shadow(shadow)
        grid = fit_grid(features(shadow), shadow.truth(), seed=self.seed)
        prior = prior_log_odds(shadow.truth())
        return FittedDiscriminator(self, shadow.logits.shape[1], tuple(grid), prior)


@dataclass(frozen=True, eq=False)
class FittedDiscriminator(FittedAttack):
    """The `grid` of trained candidates, the best first; `prior` is the shadow's log-odds."""

    attack: Discriminator
    classes: int
    grid: tuple[Candidate, ...]
    prior: float
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=self.classes)
        best = self.grid[0]
        return log_odds(best.network, features(target), prior=self.prior)


def features(signals: Signals) -> np.ndarray:
    """Softmax, one-hot label and the answer to noise side by side."""
    return np.hstack([outputs_and_label(signals), signals.column("noise")])


def fit_grid(x: np.ndarray, is_member: np.ndarray, *, seed: int = 0) -> list[Candidate]:
    """Nine perceptrons, 80 epochs of Adam each; the best first.

    They are compared on a fifth of the shadow's records that none was trained on, never on the
    target.
    """
    from sklearn.model_selection import train_test_split

    parts = train_test_split(x, is_member, test_size=ASIDE, random_state=seed, stratify=is_member)
    x_train, x_aside, is_member_train, is_member_aside = map(np.asarray, parts)
    grid = []
    for hidden, rate in product(HIDDEN_LAYERS, RATES):
        network = fit_perceptron(
            x_train, is_member_train, hidden=hidden, rate=rate, epochs=80, batch=200, seed=seed
        )
        right = network.predict(x_aside) == is_member_aside
        grid.append(Candidate(hidden, rate, float(right.mean()), network))
    return sorted(grid, key=lambda candidate: -candidate.accuracy)
