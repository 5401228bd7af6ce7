"""Metric attacks: one number a record, and a threshold found on the shadow.

`METRICS` has every score by its name. The loss and the true class's confidence rank the records alike, since
p_y = exp(−loss): they are one attack under two names. Introduced in notebooks 01 and 02."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mialib.errors import refuse
from mialib.metrics import roc
from mialib.signals import Shadows, Signals, pool


def loss_score(signals: Signals) -> np.ndarray:
    """Minus the loss: a model fits what it was trained on."""
    return -signals.loss()


def entropy_score(signals: Signals) -> np.ndarray:
    """Minus the entropy of the output; needs no label."""
    log_p = signals.log_probabilities()
    return (np.exp(log_p) * log_p).sum(axis=1)


def modified_entropy_score(signals: Signals) -> np.ndarray:
    """Minus Song and Mittal's modified entropy, −(1 − p_y) log p_y − Σ_{i≠y} p_i log(1 − p_i). Unlike the entropy it
    knows the label: sure and wrong is far from sure and right."""
    rows, log_p = np.arange(len(signals)), signals.log_probabilities()
    p = np.exp(log_p)
    terms = p * np.log(np.maximum(1 - p, 1e-30))  # as in the authors' code: log 0 is −69, not −∞
    terms[rows, signals.labels] = ((1 - p) * log_p)[rows, signals.labels]
    return terms.sum(axis=1)


Score = Callable[[Signals], np.ndarray]  # signals → scores (n,)
METRICS: dict[str, Score] = {
    "correctness": lambda signals: signals.correct().astype(np.float64),
    "loss": loss_score,
    "confidence": lambda signals: np.exp(-signals.loss()),  # of the true class
    "max confidence": lambda signals: signals.probabilities().max(
        axis=1
    ),  # of the predicted class; needs no label
    "entropy": entropy_score,
    "modified entropy": modified_entropy_score,
}


def threshold_attack(
    shadow: Shadows,
    target: Signals,
    *,
    score: Score = loss_score,
    per_class: bool = False,
    fewest: int = 10,
) -> np.ndarray:
    """Scores of the target's records, shifted so that 0 is the threshold that was best on the shadow: (n,). Classes may
    have their own (`per_class`); one of which the shadow has fewer than `fewest` of a kind takes the common one."""
    shadow = fitted_on(shadow, target)
    scores, is_member = score(shadow), shadow.is_member
    threshold = np.full(shadow.logits.shape[1], best_threshold(scores, is_member))
    if per_class:
        held = np.stack(
            [
                np.bincount(shadow.labels[is_member == who], minlength=len(threshold))
                for who in (0, 1)
            ]
        )
        for label in np.flatnonzero(held.min(axis=0) >= max(fewest, 1)):
            own = shadow.labels == label
            threshold[label] = best_threshold(scores[own], is_member[own])
    return score(target) - threshold[target.labels]


def gradient_attack(
    shadow: Shadows, target: Signals, *, norm: str = "l2", per_class: bool = False
) -> np.ndarray:
    """Grad-x, a white-box attack: a threshold on minus the ℓ1 or ℓ2 norm of the input gradient: (n,). A model does not
    want to change what it has fitted. `observe.watch(run, gradient=True)` collects the norms. See notebook 04."""
    return threshold_attack(
        shadow, target, score=lambda s: -s.column(f"gradient_{norm}"), per_class=per_class
    )


def fitted_on(shadow: Shadows, target: Signals) -> Signals:
    """The shadow, or all shadows in one table, once it is sure that an attack can be fitted on it."""
    shadow = pool(shadow)
    held, ours, theirs = shadow.is_member, shadow.logits.shape[1], target.logits.shape[1]
    refuse(
        held is None,
        "The shadow's membership is needed to fit an attack; the attacker trained it, so knows.",
    )
    refuse(
        held.all() or not held.any(),
        "An attack is fitted on a shadow's members and non-members; both needed.",
    )
    refuse(
        ours != theirs,
        f"Shadow and target have {ours} and {theirs} columns of logits. Train both on one task.",
    )
    return shadow


def best_threshold(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The threshold with the largest TPR − FPR; among equals, the strictest. It lies halfway between the last score
    that is let in and the next one, so that it does not lean on one record."""
    fpr, tpr, threshold = roc(scores, is_member)
    gain = tpr - fpr
    best = int(np.argmax(gain >= gain.max() - 1e-12))
    if best == 0:
        return float(
            np.nextafter(threshold[1], np.inf)
        )  # No threshold beats chance: let nobody in.
    largest = np.finfo(np.float64).max  # An infinite score must not give an infinite threshold.
    last, following = threshold[[best, min(best + 1, len(threshold) - 1)]].clip(-largest, largest)
    halfway = last / 2 + following / 2
    return float(
        halfway if halfway > following else last
    )  # Between neighbouring floats there is nothing.
