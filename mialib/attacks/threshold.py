"""Metric attacks: one number a record, and a threshold found on the shadow.

>>> from mialib.signals import Signals
>>> shadow = Signals(np.array([[3.0, 0.0], [0.2, 0.0]]), np.array([0, 0]), np.array([True, False]))
>>> target = Signals(np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([0, 0]))
>>> threshold_attack(shadow, target) >= 0
array([ True, False])
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mialib.metrics import roc
from mialib.signals import Signals


def loss_score(signals: Signals) -> np.ndarray:
    """Minus the loss: a model fits what it was trained on. Introduced in notebook 01."""
    return -signals.loss()


def threshold_attack(
    shadow: Signals, target: Signals, *, score: Callable[[Signals], np.ndarray] = loss_score
) -> np.ndarray:
    """Scores of the target's records, shifted so that 0 is the threshold that was best on the shadow: (n,).

    Introduced in notebook 01.
    """
    if shadow.is_member is None:
        raise ValueError("The shadow's membership is needed to fit a threshold; the attacker trained it, so knows.")
    if shadow.logits.shape[1] != target.logits.shape[1]:
        raise ValueError(
            f"Shadow and target must have the same classes, found {shadow.logits.shape[1]} and "
            f"{target.logits.shape[1]} columns of logits. Train the shadow on the target's task."
        )
    return score(target) - best_threshold(score(shadow), shadow.is_member)


def best_threshold(scores: ArrayLike, is_member: ArrayLike) -> float:
    """The threshold with the largest TPR − FPR; among equals, the strictest.

    It lies halfway between the last score that is let in and the next one, so that it does not lean on one
    record. Sorting makes it n log n.

    >>> best_threshold([4.0, 3.0, 1.0, 0.0], [True, True, False, False])
    2.0
    """
    fpr, tpr, threshold = roc(scores, is_member)
    best = int(np.argmax(tpr - fpr))
    if best == 0:
        return float(np.nextafter(threshold[1], np.inf))  # No threshold beats chance: let nobody in.
    largest = np.finfo(np.float64).max  # An infinite score must not give an infinite threshold.
    last, following = threshold[[best, min(best + 1, len(threshold) - 1)]].clip(-largest, largest)
    halfway = last / 2 + following / 2
    return float(halfway if halfway > following else last)  # Between neighbouring floats there is nothing.
