"""Metric attacks: one number per record, and a threshold found on the shadow.

    fitted = MetricThreshold("entropy").fit(shadow)
    fitted.score(target)         # minus the entropy of the target's outputs
    fitted.threshold             # the best one on the shadow

`METRICS` has every number by its name. The loss and the true class's confidence rank the records
alike, since p_y = exp(−loss): they are one attack under two names. Introduced in notebooks 01, 02
and 04 (`GradientNorm`). `BoundaryDistance` serves models that give labels alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mialib.attacks.base import Attack, FittedAttack, Need, check_target, pooled_shadow
from mialib.errors import check_choice, check_flag, check_range
from mialib.metrics import roc
from mialib.signals import Shadows, Signals

Metric = Callable[[Signals], np.ndarray]  # signals → one number per record (n,), higher = member


def correctness_score(signals: Signals) -> np.ndarray:
    """1 where the model is right, 0 where it is wrong; needs the predicted label alone."""
    return signals.correct().astype(np.float64)


def loss_score(signals: Signals) -> np.ndarray:
    """Minus the loss: a model fits what it was trained on."""
    check_target(signals)
    return -signals.loss()


def confidence_score(signals: Signals) -> np.ndarray:
    """p_y, the probability of the true class."""
    return np.exp(-signals.loss())


def max_confidence_score(signals: Signals) -> np.ndarray:
    """The probability of the predicted class; needs no label."""
    return signals.in_slices(lambda log_p, _: np.exp(log_p).max(axis=1))


def entropy_score(signals: Signals) -> np.ndarray:
    """Minus the entropy of the output; needs no label."""
    return signals.in_slices(lambda log_p, _: (np.exp(log_p) * log_p).sum(axis=1))


def modified_entropy_score(signals: Signals) -> np.ndarray:
    """Minus Song and Mittal's modified entropy, −(1 − p_y) log p_y − Σ_{i≠y} p_i log(1 − p_i).

    Unlike the entropy it knows the label: sure and wrong is far from sure and right.
    """
    return signals.in_slices(_minus_modified_entropy)


def _minus_modified_entropy(log_p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    p = np.exp(log_p)
    rows = np.arange(len(labels))
    log_not_p = np.log(np.maximum(1 - p, 1e-30))  # as in the authors' code: log 0 is −69, not −∞
    terms = p * log_not_p
    own_terms = (1 - p) * log_p
    terms[rows, labels] = own_terms[rows, labels]
    return terms.sum(axis=1)


METRICS: dict[str, Metric] = {
    "correctness": correctness_score,
    "loss": loss_score,
    "confidence": confidence_score,
    "max confidence": max_confidence_score,
    "entropy": entropy_score,
    "modified entropy": modified_entropy_score,
}


@dataclass(frozen=True)
class MetricThreshold(Attack):
    """A threshold τ on one number of each record's output.

    `metric` is a name in `METRICS`, or a function of signals → (n,) of one's own, higher = member.
    With `per_class` each class y has a threshold τ_y of its own; a class of which the shadow has
    less than `fewest` members or non-members takes the common one. One threshold for all is from
    Yeom and others 2018, one for each class from Song and Mittal 2021.
    """

    metric: str | Metric = "loss"
    per_class: bool = False
    fewest: int = 10

    def __post_init__(self):
        if not callable(self.metric):
            check_choice("metric", self.metric, METRICS)
        check_flag(per_class=self.per_class)
        check_range(0, np.inf, whole=True, fewest=self.fewest)

    @property
    def needs(self) -> frozenset[Need]:
        asked = Need.PREDICTED_LABELS if self.metric == "correctness" else Need.OUTPUTS
        return frozenset({Need.SHADOW, asked})

    def fit(self, shadow: Shadows) -> FittedAttack:
        score = self.metric if callable(self.metric) else METRICS[self.metric]
        return fit_thresholds(
            self, score, pooled_shadow(shadow), per_class=self.per_class, fewest=self.fewest
        )


@dataclass(frozen=True)
class GradientNorm(Attack):
    """Grad-x, a white-box attack: a threshold on the loss's gradient at the input.

    A model does not want to change what it has fitted, so the score is minus the gradient's norm.
    `norm` is "l1" or "l2", the p of ‖∇ₓL‖_p; `mialib.query.ask(model, side, gradient=True)`
    collects both. Introduced in notebook 04.
    """

    norm: str = "l2"
    per_class: bool = False

    def __post_init__(self):
        check_choice("norm", self.norm, ("l1", "l2"))
        check_flag(per_class=self.per_class)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.GRADIENTS})

    def fit(self, shadow: Shadows) -> FittedAttack:
        def score(signals: Signals) -> np.ndarray:
            return -signals.column(f"gradient_{self.norm}").astype(np.float64)

        return fit_thresholds(self, score, pooled_shadow(shadow), per_class=self.per_class)


@dataclass(frozen=True)
class BoundaryDistance(Attack):
    """A threshold on how far the nearest input with another predicted label is from a record.

    Training pushes the boundary away from members, so the score is the distance (Li and Zhang 2021,
    Choquette-Choo and others 2021); a record that is classified wrongly has 0. It needs labels
    alone: `mialib.query.ask(model, side, boundary=True)` walks to the boundary by asking for them.
    """

    per_class: bool = False

    def __post_init__(self):
        check_flag(per_class=self.per_class)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.SHADOW, Need.PREDICTED_LABELS, Need.BOUNDARY})

    def fit(self, shadow: Shadows) -> FittedAttack:
        def score(signals: Signals) -> np.ndarray:
            return signals.column("boundary").astype(np.float64)

        return fit_thresholds(self, score, pooled_shadow(shadow), per_class=self.per_class)


def fit_thresholds(
    attack: Attack, score: Metric, shadow: Signals, *, per_class: bool, fewest: int = 10
) -> FittedAttack:
    """The attack with the threshold, or those of the classes, that are best on the shadow."""
    classes = shadow.logits.shape[1]
    scores = score(shadow)
    common = best_threshold(scores, shadow.truth())
    if not per_class:
        return FittedThreshold(attack, score, classes, common)
    by_class = np.full(classes, common)
    for label in classes_with_enough(shadow, max(fewest, 1)):
        own = shadow.labels == label
        by_class[label] = best_threshold(scores[own], shadow.truth()[own])
    return FittedClassThresholds(attack, score, by_class)


@dataclass(frozen=True, eq=False)
class FittedThreshold(FittedAttack):
    """A score and one threshold for all records."""

    attack: Attack
    metric: Metric
    classes: int
    threshold: float

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=self.classes)
        return self.metric(target)


@dataclass(frozen=True, eq=False)
class FittedClassThresholds(FittedAttack):
    """A score less the threshold of each record's class, so that 0 is the threshold of all."""

    attack: Attack
    metric: Metric
    by_class: np.ndarray
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        check_target(target, classes=len(self.by_class))
        return self.metric(target) - self.by_class[target.labels]


def classes_with_enough(shadow: Signals, fewest: int) -> np.ndarray:
    """The classes of which the shadow has at least `fewest` members and as many non-members."""
    classes = shadow.logits.shape[1]
    is_member = shadow.truth()
    members = np.bincount(shadow.labels[is_member], minlength=classes)
    non_members = np.bincount(shadow.labels[~is_member], minlength=classes)
    return np.flatnonzero(np.minimum(members, non_members) >= fewest)


def best_threshold(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The threshold with the largest TPR − FPR; among equals, the strictest.

    It lies halfway between the last score that is let in and the next one, so that it does not lean
    on one record.
    """
    fpr, tpr, threshold = roc(scores, is_member)
    gain = tpr - fpr
    best = int(np.argmax(gain >= gain.max() - 1e-12))
    if best == 0:  # No threshold beats chance: let nobody in.
        return float(np.nextafter(threshold[1], np.inf))
    largest = np.finfo(np.float64).max  # An infinite score must not give an infinite threshold.
    finite = threshold.clip(-largest, largest)
    last = finite[best]
    following = finite[min(best + 1, len(finite) - 1)]
    halfway = last / 2 + following / 2
    if halfway > following:
        return float(halfway)
    return float(last)  # Between neighbouring floats there is nothing.
