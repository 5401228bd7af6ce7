"""Numbers that count twice, or not at all.

| function | what differs |
|---|---|
| `gini` | which index is called Gini's |
| `twice` | over how many different attacks a mean is taken |
| `ties` | how equal scores enter a ROC |
| `order` | whether a verdict on one attack remembers those before it |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import permutations

import numpy as np
import scipy.stats

from mialib import metrics
from mialib.course.differences.base import (
    Curves,
    Difference,
    Dots,
    Variant,
    auc_draws,
    compare,
    in_common,
    within,
    without_records,
)
from mialib.course.differences.sources import SOURCES
from mialib.results import Results
from mialib.results.edges import EDGES
from mialib.results.repeats import over_seeds_and_records, record_counts

# The eight attacks of PAST's means; confidence ranks the records as the loss does.
DIFFERENT = (
    *("correctness", "loss", "entropy", "modified entropy"),
    *("neural (PAST)", "rotation (PAST)", "translation (PAST)"),
)
EIGHT = (*DIFFERENT, "loss")
SIGNIFICANT = 0.05  # the toolkit's limit for p
DANGEROUS = 0.65  # and for the mean of the significant AUCs


def gini(plain: Results, tuned: Results) -> Difference:
    """How the Gini index of the weights changes by tuning: of |w|, or of w − min(w)."""
    plain, tuned = in_common(plain, tuned)
    middles = (EDGES[:-1] + EDGES[1:]) / 2
    shares = {name: _share(one) for name, one in {"undefended": plain, "PAST": tuned}.items()}
    evidence = Curves(
        {name: (middles, share) for name, share in shares.items()},
        "weight (the ends hold all beyond)",
        "share of the weights",
    )
    return compare(SOURCES["gini"], partial(gini_draws, plain, tuned), evidence=evidence)


def gini_draws(plain: Results, tuned: Results, variant: Variant) -> np.ndarray:
    index = "shifted gini" if variant == "as coded" else "gini"
    before = np.array(plain.fact("weights", index))
    after = np.array(tuned.fact("weights", index))
    return without_records(after - before)


def _share(trainings: Results) -> np.ndarray:
    """The histogram of the weights, over all trainings."""
    counts = np.sum(trainings.fact("weights", "histogram"), axis=0)
    return counts / counts.sum()


def twice(trainings: Results) -> Difference:
    """The mean advantage over PAST's eight attacks, or over the seven that are different."""
    evidence = Dots(
        {
            **{attack: trainings.advantage(attack) for attack in DIFFERENT},
            "confidence = loss": trainings.advantage("loss"),
        },
        "advantage",
    )
    return compare(SOURCES["twice"], partial(twice_draws, trainings), evidence=evidence)


def twice_draws(trainings: Results, variant: Variant) -> np.ndarray:
    counted = DIFFERENT if variant == "as it should be" else EIGHT
    return np.mean([trainings.draws("advantage", attack) for attack in counted], axis=0)


def ties(trainings: Results) -> Difference:
    """The AUC of a score with two values, with and without the records that are tied."""
    scores = trainings.correct[0]
    right = metrics.roc(scores, trainings.is_member)
    counts = record_counts(trainings.is_member).observed()
    fpr, tpr = curve_without_ties(scores, counts.members, counts.non_members)
    evidence = Curves(
        {"as it should be": (right.fpr, right.tpr), "as coded": (fpr[0], tpr[0])},
        "false positive rate",
        "true positive rate",
        is_roc=True,
    )
    return compare(SOURCES["ties"], partial(ties_draws, trainings), evidence=evidence)


def ties_draws(trainings: Results, variant: Variant) -> np.ndarray:
    if variant == "as it should be":
        return auc_draws(trainings.correct, trainings.is_member)
    counts = record_counts(trainings.is_member)
    curves = [
        curve_without_ties(correct, counts.members, counts.non_members)
        for correct in trainings.correct
    ]
    return np.stack([metrics.area(*curve) for curve in curves])


def curve_without_ties(
    scores: np.ndarray, member_counts: np.ndarray, non_member_counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """FPR and TPR where of equal scores only the first record enters at its threshold.

    Each record counts so often, (draws, n). The curve has a point for each distinct score, and
    neither (0, 0) nor (1, 1).
    """
    order = np.argsort(-scores.astype(float), kind="stable")
    _, first = np.unique(-scores[order].astype(float), return_index=True)
    fpr = np.cumsum(non_member_counts[:, order], axis=1)[:, first]
    tpr = np.cumsum(member_counts[:, order], axis=1)[:, first]
    members = member_counts.sum(axis=1, keepdims=True)
    non_members = non_member_counts.sum(axis=1, keepdims=True)
    return fpr / non_members, tpr / members


def order(trainings: Results) -> Difference:
    """A verdict on a coin, among two real attacks, over all orders of the three."""
    areas = _areas(trainings)
    position = {
        f"the coin comes {place}": within(
            over_seeds_and_records(
                np.mean([called_dangerous(some, areas) for some in orders], axis=0)
            ),
            lowest=0.0,
        )
        for place, orders in _by_place_of_the_coin(areas).items()
    }
    evidence = Dots(position, "share of trainings in which the coin is called a danger")
    return compare(SOURCES["order"], partial(order_draws, trainings), evidence=evidence)


def order_draws(trainings: Results, variant: Variant) -> np.ndarray:
    """The share of orders in which the coin is called a danger."""
    areas = _areas(trainings)
    if variant == "as it should be":
        return called_dangerous(("coin",), areas)
    return np.mean([called_dangerous(some, areas) for some in permutations(areas)], axis=0)


def called_dangerous(attacks: tuple[str, ...], areas: Mapping[str, np.ndarray]) -> np.ndarray:
    """Whether the coin is, by the mean of all significant AUCs up to it: (trainings, 1 + draws).

    Attacks come in this order. With the coin alone, it is judged by its own AUC.
    """
    until = attacks[: attacks.index("coin") + 1]
    seen = np.stack([areas[name] for name in until])  # (attacks, trainings, 1 + draws)
    significant = seen > _least_significant_auc()
    count = significant.sum(axis=0)
    total = np.where(significant, seen, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), 0.0) > DANGEROUS


def _least_significant_auc(records: int = 1000) -> float:
    """Above it p is below 0.05, for so many members and as many non-members (Mann and Whitney)."""
    deviation = ((2 * records + 1) / (12 * records**2)) ** 0.5
    return float(0.5 + scipy.stats.norm.ppf(1 - SIGNIFICANT) * deviation)


def _areas(trainings: Results) -> dict[str, np.ndarray]:
    """The AUC of a coin and of two attacks: (trainings, 1 + draws) each."""
    rng = np.random.default_rng(15)  # Not 0: the draws of records come from that stream.
    coins = rng.random((len(trainings), len(trainings.is_member)))
    return {
        "coin": auc_draws(coins, trainings.is_member),
        "correctness": trainings.draws("auc", "correctness"),
        "loss": trainings.draws("auc", "loss"),
    }


def _by_place_of_the_coin(areas: Mapping[str, np.ndarray]) -> dict[str, list[tuple[str, ...]]]:
    places = ("first", "second", "last")
    orders = list(permutations(areas))
    return {
        place: [some for some in orders if some.index("coin") == number]
        for number, place in enumerate(places)
    }
