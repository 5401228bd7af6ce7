"""Learned attacks on outputs: a network tells members from non-members by a model's answers.

    fitted = NeuralPast().fit(shadow)        # one shadow, or a list of them
    fitted.score(target)                     # log-odds of membership

- `NeuralPast`: the outputs through hidden layers of 64 and 32, Adam.
- `NeuralCrl`: softmax and label through 128 and 64 with dropout, SGD; meant for k = 5 shadows.

Scores are log-odds, so 0 is the network's own threshold; where a shadow's members and non-members
are not equally many, their odds are taken out. Introduced in notebook 03.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mialib.attacks.base import (
    Attack,
    FittedAttack,
    Need,
    check_seed,
    check_target,
    pooled_shadow,
)
from mialib.attacks.perceptron import fit_perceptron, log_odds, outputs_and_label, prior_log_odds
from mialib.data import Records
from mialib.errors import check_choice
from mialib.signals import Shadows, Signals


@dataclass(frozen=True)
class NeuralPast(Attack):
    """PAST's attack network: a perceptron with hidden layers of 64 and 32 on the outputs alone.

    `outputs` is what it sees: PAST's paper feeds it with "logits", its code with the "softmax".
    `seed` starts its weights.
    """

    outputs: str = "softmax"
    seed: int = 0

    def __post_init__(self):
        check_choice("kind of outputs", self.outputs, ("softmax", "logits"))
        check_seed(self.seed)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.OUTPUTS})

    def features(self, signals: Signals) -> np.ndarray:
        """What the network sees: (n, classes)."""
        check_target(signals)
        if self.outputs == "softmax":
            return signals.probabilities()
        return signals.logits

    def fit(self, shadow: Shadows) -> FittedAttack:
        shadow = pooled_shadow(shadow)
        is_member = shadow.truth()
        x = self.features(shadow)
        network = fit_perceptron(
            x, is_member, hidden=(64, 32), rate=1e-3, epochs=100, batch=128, seed=self.seed
        )
        return FittedNeuralPast(self, x.shape[1], network, prior_log_odds(is_member))


@dataclass(frozen=True, eq=False)
class FittedNeuralPast(FittedAttack):
    """PAST's network, trained; `prior` is the shadow's log-odds of membership."""

    attack: NeuralPast
    classes: int
    network: Any
    prior: float
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=self.classes)
        return log_odds(self.network, self.attack.features(target), prior=self.prior)


@dataclass(frozen=True)
class NeuralCrl(Attack):
    """CRL's attack network: softmax and label through layers of 128, 64 and 64, dropout 0.2, SGD.

    The paper trains it on k = 5 shadows: fit([shadow, shadow, …]). `seed` starts its weights and
    its batches.
    """

    seed: int = 0

    def __post_init__(self):
        check_seed(self.seed)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.OUTPUTS})

    def fit(self, shadow: Shadows) -> FittedAttack:
        shadow = pooled_shadow(shadow)
        is_member = shadow.truth()
        x = outputs_and_label(shadow).astype(np.float32)
        member_margin = fit_crl_network(x, is_member, seed=self.seed)
        return FittedNeuralCrl(
            self, shadow.logits.shape[1], member_margin, prior_log_odds(is_member)
        )


@dataclass(frozen=True, eq=False)
class FittedNeuralCrl(FittedAttack):
    """CRL's network, trained; `prior` is the shadow's log-odds of membership.

    `member_margin` gives the network's logit of *member* less that of *non-member*.
    """

    attack: NeuralCrl
    classes: int
    member_margin: Callable[[np.ndarray], np.ndarray]
    prior: float
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=self.classes)
        x = outputs_and_label(target).astype(np.float32)
        margin = self.member_margin(x)
        return margin.astype(np.float64) - self.prior


def fit_crl_network(
    x: np.ndarray, is_member: np.ndarray, *, seed: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Train CRL's network on rows x (n, 2 × classes); return what asks it about other rows.

    100 epochs of SGD, the rate divided by ten after 30, 60 and 90. Torch is imported here alone, so
    that attacks on arrays do without it.
    """
    import torch
    from torch import nn

    from mialib.query import predict
    from mialib.training import Recipe, fit

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(x.shape[1], 128),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(64, 64),
            nn.Linear(64, 2),
        )
    recipe = Recipe(
        epochs=100,
        batch_size=256,
        lr=0.1,
        schedule="steps",
        milestones=(0.3, 0.6, 0.9),
        factors=(0.1, 0.01, 0.001),
    )
    told = Records("attack", x, is_member.astype(int), 2)
    with threadpool_limits(1):
        fit(network, told, recipe, seed=seed, device="cpu")

    def member_margin(asked: np.ndarray) -> np.ndarray:
        unknown = np.zeros(len(asked), int)
        logits = predict(network, Records("attack", asked, unknown, 2))
        non_member, member = logits.T
        return member - non_member

    return member_margin
