"""The loss trajectory: how a record's loss fell says more than where it ended.

    shadow = query.ask(model, side, checkpoints=models_by_epoch)
    fitted = LossTrajectory().fit(shadow)    # the target must have been asked alike
    fitted.score(target)                     # log-odds of membership

Liu and others 2022 (TrajectoryMIA) do not see the training: they distil the target, and take the
student's losses epoch by epoch. Whoever audits a model of one's own has its checkpoints, and so the
path itself. Their code reports the best epoch of the attack network on the target's own records;
here the number of epochs is fixed, and the network small enough not to learn the shadow by heart.
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
from mialib.signals import Shadows, Signals


@dataclass(frozen=True)
class LossTrajectory(Attack):
    """A network on a record's losses at every checkpoint, and on its loss at the end.

    Hidden layers of 64 and 32, 30 epochs of Adam (the authors': 512, 128 and 32, 100 epochs of
    SGD). `seed` starts its weights.
    """

    seed: int = 0

    def __post_init__(self):
        check_seed(self.seed)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.OUTPUTS, Need.TRAJECTORY})

    def fit(self, shadow: Shadows) -> FittedAttack:
        shadow = pooled_shadow(shadow)
        is_member = shadow.truth()
        path = losses(shadow)
        center = path.mean(axis=0)
        deviation = path.std(axis=0)
        scale = np.where(deviation > 0, deviation, 1.0)
        network = fit_perceptron(
            (path - center) / scale,
            is_member,
            hidden=(64, 32),
            rate=1e-3,
            epochs=30,
            batch=128,
            seed=self.seed,
        )
        classes = shadow.logits.shape[1]
        prior = prior_log_odds(is_member)
        return FittedLossTrajectory(self, classes, center, scale, network, prior)


@dataclass(frozen=True, eq=False)
class FittedLossTrajectory(FittedAttack):
    """The network, and the `center` and `scale` of the shadow's losses at each checkpoint.

    `prior` is the shadow's log-odds of membership.
    """

    attack: LossTrajectory
    classes: int
    center: np.ndarray
    scale: np.ndarray
    network: Any
    prior: float
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=self.classes)
        path = losses(target)
        if path.shape[1] != len(self.center):
            raise ValueError(
                f"Shadow and target have losses at {len(self.center) - 1} and {path.shape[1] - 1} "
                "checkpoints. Ask both about equally many."
            )
        return log_odds(self.network, (path - self.center) / self.scale, prior=self.prior)


def losses(signals: Signals) -> np.ndarray:
    """The losses at every checkpoint, and the loss itself: (n, checkpoints + 1)."""
    check_target(signals)
    path = signals.column("trajectory").astype(np.float64)
    if path.ndim != 2 or path.shape[1] == 0 or not np.isfinite(path).all():
        raise ValueError(
            "trajectory must be one finite loss for each of at least one checkpoint, "
            f"(n, checkpoints); found {path.shape}."
        )
    return np.column_stack([path, signals.loss()])
