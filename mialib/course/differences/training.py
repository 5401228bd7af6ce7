"""Code that does something else than the text says: in a training, or in an attack's fitting.

| function | what differs |
|---|---|
| `statistics` | whose batches move BatchNorm's running statistics |
| `lira` | one tail or two of OUT's distribution |
| `variance` | whose deviation LiRA takes, with one variance for all records |
| `hidden` | whether the attack network's hidden layer learns |
| `augmentation` | how many draws of crop and flip a batch has |
| `clamp` | whether γ^α is cut off |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mialib import metrics
from mialib.attacks import LiRA, scores_per_target
from mialib.attacks.perceptron import fit_perceptron, log_odds
from mialib.bank import Bank
from mialib.course.differences.base import (
    Curves,
    Difference,
    Dots,
    Variant,
    auc_draws,
    compare,
    in_common,
)
from mialib.course.differences.grading import Players
from mialib.course.differences.sources import SOURCES
from mialib.results import Results

TARGETS = 16  # of a bank, that are attacked in turn
BANK_DRAWS = 100
HIDDEN = 100  # units of the attack network


def statistics(kept_apart: Results, mixed: Results) -> Difference:
    """PAST on a network with BatchNorm: its non-members' batches move the statistics, or not."""
    kept_apart, mixed = in_common(kept_apart, mixed)
    evidence = Dots(
        {
            "accuracy, kept apart": kept_apart.accuracy(),
            "accuracy, mixed": mixed.accuracy(),
            "advantage, kept apart": kept_apart.advantage("loss"),
            "advantage, mixed": mixed.advantage("loss"),
        },
        "test accuracy, and advantage of the loss attack",
    )
    experiment = partial(loss_advantage_draws, right=kept_apart, coded=mixed)
    return compare(SOURCES["statistics"], experiment, evidence=evidence)


def clamp(unclamped: Results, clamped: Results) -> Difference:
    """PAST with α = 2.5, whose γ^α is cut off at 10,000, or not."""
    unclamped, clamped = in_common(unclamped, clamped)
    evidence = _histories({"as printed": unclamped, "as coded": clamped})
    experiment = partial(loss_advantage_draws, right=unclamped, coded=clamped)
    return compare(SOURCES["clamp"], experiment, evidence=evidence)


def augmentation(per_record: Results, per_batch: Results) -> Difference:
    """Training on crops and flips, a draw for each record or one for the whole batch."""
    per_record, per_batch = in_common(per_record, per_batch)
    evidence = _histories({"as printed": per_record, "as coded": per_batch})
    experiment = partial(loss_advantage_draws, right=per_record, coded=per_batch)
    return compare(SOURCES["augmentation"], experiment, evidence=evidence)


def loss_advantage_draws(variant: Variant, *, right: Results, coded: Results) -> np.ndarray:
    """The advantage of the loss attack in the trainings of one variant."""
    trainings = coded if variant == "as coded" else right
    return trainings.draws("advantage", "loss")


def _histories(trainings: dict[str, Results]) -> Curves:
    """The mean training loss by epoch."""
    curves = {}
    for name, one in trainings.items():
        losses = [[epoch["loss"] for epoch in history] for history in one.fact("history")]
        mean = np.mean(losses, axis=0)
        curves[name] = (np.arange(1, len(mean) + 1), mean)
    return Curves(curves, "epoch", "training loss")


# LiRA.


def lira(bank: Bank) -> Difference:
    """Offline LiRA by one tail, or by the density, which has two."""
    return _lira(bank, "lira", online=False)


def variance(bank: Bank) -> Difference:
    """Online LiRA with one variance for all records: of the residuals, or of raw IN values."""
    return _lira(bank, "variance", variance="pooled")


def _lira(bank: Bank, source: str, **settings) -> Difference:
    scores = {
        variant: scores_per_target(
            bank, LiRA(as_published_code=variant == "as coded", **settings), targets=TARGETS
        )
        for variant in ("as it should be", "as coded")
    }
    scores["as printed"] = scores["as it should be"]
    holds = bank.is_member[:TARGETS]
    curves = {}
    for variant in ("as it should be", "as coded"):
        curve = metrics.roc(scores[variant].ravel(), holds.ravel())
        curves[variant] = (curve.fpr, curve.tpr)
    evidence = Curves(curves, "false positive rate", "true positive rate", is_roc=True)

    def experiment(variant: Variant) -> np.ndarray:
        return auc_in_turn(scores[variant], holds)

    return compare(SOURCES[source], experiment, evidence=evidence)


def auc_in_turn(scores: np.ndarray, holds: np.ndarray) -> np.ndarray:
    """The AUC on each target of a bank, (targets, n) → (targets, 1 + draws).

    All targets are asked about the same records, so all have the same draws of them.
    """
    n = scores.shape[1]
    counts = np.ones((1 + BANK_DRAWS, n), np.float32)
    rng = np.random.default_rng(0)
    counts[1:] = rng.multinomial(n, np.full(n, 1 / n), size=BANK_DRAWS)
    curves = [
        metrics.weighted_roc(one, counts * held, counts * ~held)
        for one, held in zip(scores, holds, strict=True)
    ]
    return np.stack([metrics.area(*curve) for curve in curves])


# A hidden layer that does not learn.


def hidden(players: Sequence[Players]) -> Difference:
    """An attack network on sorted logits, whose hidden layer learns or keeps its first weights."""
    scores = {
        "as it should be": [network_scores(*one, learns=True) for one in players],
        "as coded": [network_scores(*one, learns=False) for one in players],
    }
    scores["as printed"] = scores["as it should be"]
    is_member = players[0].target.truth()
    curves = {}
    for variant in ("as it should be", "as coded"):
        curve = metrics.roc(np.concatenate(scores[variant]), np.tile(is_member, len(players)))
        curves[variant] = (curve.fpr, curve.tpr)
    evidence = Curves(curves, "false positive rate", "true positive rate", is_roc=True)

    def experiment(variant: Variant) -> np.ndarray:
        return auc_draws(scores[variant], is_member)

    return compare(SOURCES["hidden"], experiment, evidence=evidence)


def network_scores(target, shadow, *, learns: bool) -> np.ndarray:
    """Log-odds of membership from a network with one hidden layer, fitted on the shadow: (n,)."""
    asked = np.sort(target.logits, axis=1)
    known = np.sort(shadow.logits, axis=1)
    units: tuple[int, ...] = (HIDDEN,)
    if not learns:
        asked, known = first_layer(asked), first_layer(known)
        units = ()
    network = fit_perceptron(known, shadow.truth(), hidden=units, rate=1e-3, epochs=100, batch=128)
    return log_odds(network, asked, prior=0.0)


def first_layer(x: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """The answer of a hidden layer with torch's first weights, U(±1/√inputs): (n, units)."""
    rng = np.random.default_rng(seed)
    inputs = x.shape[1]
    reach = inputs**-0.5
    weights = rng.uniform(-reach, reach, size=(inputs, HIDDEN))
    bias = rng.uniform(-reach, reach, size=HIDDEN)
    return np.maximum(x @ weights + bias, 0)
