"""Attacks: who was in the training set? Settings that are fitted on a shadow and score a target.

    fitted = MetricThreshold("loss").fit(shadow)   # a shadow, some shadows, or a bank of references
    scores = fitted.score(target)                  # (n,), higher = member
    calls = fitted.calls(target)                   # scores ≥ fitted.threshold
    game(bank, target=7).play(RMIA())              # fit, score and every number, played fairly

- `base`: what an attack is: `Attack`, `FittedAttack`, `Need`.
- `threshold`: `MetricThreshold`, `GradientNorm`, `BoundaryDistance`; one number per record and a
  threshold.
- `neural`, `discriminator`, `augmentation`, `trajectory`: networks on outputs, noisy copies,
  predicted labels, losses over checkpoints; what they share is in `perceptron`.
- `quantile`: `QMIA`, the target beside what is expected of a non-member like the record.
- `lira`, `rmia`, `percentile`: `LiRA`, `RMIA`, `AttackR`, `AttackP`, the target beside other
  models; what they share is in `reference`.
- `game`: hands out what an attack may see, and plays it.
- `registry`: `ATTACKS` by name, and `suite`, those that the inputs at hand allow.
"""

from mialib.attacks.augmentation import Augmentation
from mialib.attacks.base import (
    ATTACKS,
    Attack,
    FittedAttack,
    FromFunction,
    Need,
    UnplayableError,
)
from mialib.attacks.discriminator import Candidate, Discriminator
from mialib.attacks.game import Game, game, scores_per_target
from mialib.attacks.lira import LiRA, lira_scores
from mialib.attacks.neural import NeuralCrl, NeuralPast
from mialib.attacks.percentile import AttackP, AttackR, attack_r_scores
from mialib.attacks.quantile import QMIA
from mialib.attacks.registry import SHADOW_SUITE, Suite, suite
from mialib.attacks.rmia import RMIA, likelihood_ratios, rmia_scores
from mialib.attacks.threshold import (
    METRICS,
    BoundaryDistance,
    GradientNorm,
    MetricThreshold,
    best_threshold,
    loss_score,
)
from mialib.attacks.trajectory import LossTrajectory

__all__ = [
    "ATTACKS",
    "METRICS",
    "QMIA",
    "RMIA",
    "SHADOW_SUITE",
    "Attack",
    "AttackP",
    "AttackR",
    "Augmentation",
    "BoundaryDistance",
    "Candidate",
    "Discriminator",
    "FittedAttack",
    "FromFunction",
    "Game",
    "GradientNorm",
    "LiRA",
    "LossTrajectory",
    "MetricThreshold",
    "Need",
    "NeuralCrl",
    "NeuralPast",
    "Suite",
    "UnplayableError",
    "attack_r_scores",
    "best_threshold",
    "game",
    "likelihood_ratios",
    "lira_scores",
    "loss_score",
    "rmia_scores",
    "scores_per_target",
    "suite",
]
