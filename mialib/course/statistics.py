"""Statistics that lessons and their figures share: no drawing here.

| what | functions |
|---|---|
| a few repeats of one training | `student`, `span`, `bonferroni`, `spread` |
| one setting of a plan, or pairs of settings together | `standing`, `mean_difference` |
| what a difference says, in a sentence | `verdict` |
| the control that a claim must beat | `fair_control` |
| what the ROC of several attacks refutes | `sure_rates`, `refuted_epsilon` |
| how far records lie from the boundary | `FeaturePlane`, `boundary_distances` |

What differential privacy allows, and what one attack on one model refutes: `mialib.epsilon`.

>>> spread([0.4, 0.5, 0.6])
Estimate(value=0.5, low=0.4, high=0.6, note='')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.epsilon import least_epsilon
from mialib.estimates import Estimate, words
from mialib.results import Results
from mialib.results.repeats import over_seeds_and_records

ROLES = ("member", "non_member")


def student(values: Sequence[float]) -> Estimate:
    """The mean of a few repeats, at least two, with Student's 95 % interval.

    >>> print(student([0.4, 0.5, 0.6]))
    0.500 [0.252, 0.748]
    """
    if len(values) < 2:
        raise ValueError(f"Student's interval needs at least 2 repeats, found {len(values)}.")
    mean = float(np.mean(values))
    deviation = float(np.std(values, ddof=1))
    reach = _quantile(len(values)) * deviation / len(values) ** 0.5
    return Estimate(mean, mean - reach, mean + reach)


def verdict(difference: Estimate) -> str:
    """Lower, higher or not significantly different, as the interval of a difference says.

    >>> verdict(Estimate(0.1, -0.2, 0.3))
    'not significantly different'
    """
    return words(difference, same="not significantly different")


def span(values: Sequence[float]) -> Estimate:
    """The mean over trainings, with the lowest and the highest instead of an interval.

    >>> span([0.4, 0.5, 0.6])
    Estimate(value=0.5, low=0.4, high=0.6, note='')
    """
    return Estimate(float(np.mean(values)), float(np.min(values)), float(np.max(values)))


def bonferroni(estimate: Estimate, *, comparisons: int, repeats: int = 3) -> Estimate:
    """Student's interval of so many repeats, widened for so many comparisons (Bonferroni).

    >>> print(bonferroni(student([0.4, 0.5, 0.6]), comparisons=18))
    0.500 [-0.593, 1.593]
    """
    factor = _quantile(repeats, comparisons) / _quantile(repeats)
    low = estimate.value - factor * (estimate.value - estimate.low)
    high = estimate.value + factor * (estimate.high - estimate.value)
    return Estimate(estimate.value, low, high)


def _quantile(repeats: int, comparisons: int = 1) -> float:
    """Student's two-sided 95 % quantile, to the three decimals of printed tables: 4.303 for 3."""
    tail = 0.05 / comparisons / 2
    return round(float(scipy.stats.t.ppf(1 - tail, df=repeats - 1)), 3)


def spread(values: Sequence[float]) -> Estimate:
    """Mean − sd … mean + sd, which the sparsity paper draws, in the form of an estimate."""
    mean = float(np.mean(values))
    deviation = float(np.std(values, ddof=1))
    return Estimate(round(mean, 12), round(mean - deviation, 12), round(mean + deviation, 12))


def standing(trainings: Results) -> dict[str, float]:
    """All that a table holds of one setting: means over its trainings, without intervals.

    In this order: accuracy, loss gap, every attack's advantage, mean, highest, AUC and TPR at 1 %
    FPR of the strongest attack, P1.
    """
    numbers = {"accuracy": trainings.by_seed("accuracy"), "loss gap": trainings.by_seed("loss_gap")}
    for attack in trainings.attacks:
        numbers[attack] = trainings.by_seed("advantage", attack)
    numbers |= {
        "mean": trainings.by_seed("mean"),
        "highest": trainings.by_seed("highest"),
        "AUC": trainings.by_seed("highest", "auc"),
        "TPR at 1 %": trainings.by_seed("highest", "tpr", fpr=0.01),
        "P1": trainings.by_seed("p1"),
    }
    return {name: float(by_seed.mean()) for name, by_seed in numbers.items()}


def part_aside(trainings: Results) -> str:
    """The part that is neither trained on nor asked about: inference, or else validation."""
    return "inference" if "inference" in trainings.rows[0].accuracy else "validation"


def accuracy_aside(trainings: Results) -> float:
    """Mean accuracy on `part_aside`: what chooses a match there does not judge it."""
    part = part_aside(trainings)
    return float(np.mean([row.accuracy[part] for row in trainings.rows]))


def fair_control(accuracy: float, accuracies: np.ndarray, advantages: np.ndarray) -> int:
    """Among the controls at most 0.01 less accurate, the place of the lowest advantage; or -1.

    >>> fair_control(0.6, np.array([0.59, 0.63, 0.5]), np.array([0.4, 0.3, 0.1]))
    1
    """
    fair = accuracies >= accuracy - 0.01 - 1e-12
    if not fair.any():
        return -1
    return int(np.argmin(np.where(fair, advantages, np.inf)))


def mean_difference(
    pairs: Sequence[tuple[Results, Results]], what: str, *arguments: Any, **options: Any
) -> Estimate:
    """The mean of one.paired(other, what, …) over several pairs of settings, as one number.

    Several intervals each miss by chance; this is one. It takes the seeds that all settings have.
    """
    if not pairs:
        raise ValueError("A mean of differences needs one pair of settings at least, found none.")
    seeds = [{row.seed for row in one.rows} for pair in pairs for one in pair]
    common = set.intersection(*seeds)
    if not common:
        raise ValueError("The settings have no seed in common, so nothing can be paired.")
    for one, other in pairs:
        one.paired(other, "accuracy")  # It refuses settings of different records.
    everyone = {id(one): one for pair in pairs for one in pair}
    draws = {
        key: one.seeds(common).draws(what, *arguments, **options) for key, one in everyone.items()
    }
    differences = [draws[id(one)] - draws[id(other)] for one, other in pairs]
    return over_seeds_and_records(np.mean(differences, axis=0))


class SureRates(NamedTuple):
    """Rates that an attack has for sure: (n,) each."""

    tpr: np.ndarray
    fpr: np.ndarray


def sure_rates(
    tpr: ArrayLike, fpr: ArrayLike, *, members: int, non_members: int, comparisons: int
) -> SureRates:
    """The ends of exact intervals that favour the defender: TPRs from below, FPRs from above.

    `tpr` and `fpr` (n,) are shares of so many members and non-members. So many `comparisons` hold
    together with 95 % confidence (Bonferroni).
    """
    confidence = 1 - 0.05 / (2 * comparisons)
    lowest = []
    highest = []
    for caught, accused in zip(np.asarray(tpr, float), np.asarray(fpr, float), strict=True):
        hits = round(caught * members)
        alarms = round(accused * non_members)
        lowest.append(metrics.clopper_pearson(hits, members, confidence=confidence).low)
        highest.append(metrics.clopper_pearson(alarms, non_members, confidence=confidence).high)
    return SureRates(np.array(lowest), np.array(highest))


def refuted_epsilon(sure: SureRates, *, delta: float) -> float:
    """The largest ε that these rates refute."""
    needed = [least_epsilon(tpr, fpr, delta) for tpr, fpr in zip(*sure, strict=True)]
    return max(0.0, *needed)


@dataclass(frozen=True)
class FeaturePlane:
    """2-D features of one model's records, and how far they lie from the decision boundary.

    Both go by role, "member" and "non_member".
    """

    features: dict[str, np.ndarray]  # (n, 2)
    margin: dict[str, np.ndarray]  # (n,), negative when misclassified


def boundary_distances(planes: Sequence[FeaturePlane]) -> dict[str, float]:
    """Accuracy on non-members, the AUC of the distance to the boundary, and median distances.

    Each is the mean over several models.
    """
    by_model = [_distances_of(plane) for plane in planes]
    return {what: float(np.mean([one[what] for one in by_model])) for what in by_model[0]}


def _distances_of(plane: FeaturePlane) -> dict[str, float]:
    margin = np.concatenate([plane.margin[role] for role in ROLES])
    is_member = np.arange(len(margin)) < len(plane.margin["member"])
    numbers = {"accuracy": float((plane.margin["non_member"] > 0).mean())}
    numbers["AUC"] = metrics.auc(margin, is_member)
    for role in ROLES:
        length = np.linalg.norm(plane.features[role], axis=1)
        numbers[f"{role} origin"] = float(np.median(length))
        numbers[f"{role} boundary"] = float(np.median(plane.margin[role]))
    return numbers
