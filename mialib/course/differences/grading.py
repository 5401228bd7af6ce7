"""Attacks that grade themselves, or that are graded against the wrong opponent.

| function | what differs |
|---|---|
| `rotation` | whose records an attack network is asked about |
| `yeom` | where the threshold on the loss comes from |
| `adaptive` | whether the shadow is defended as the target is |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from mialib.attacks import Attack, Augmentation, NeuralPast
from mialib.course.differences.base import (
    Difference,
    Dots,
    Losses,
    Variant,
    advantage_draws,
    compare,
)
from mialib.course.differences.sources import SOURCES
from mialib.results import Results
from mialib.results.repeats import over_seeds_and_records
from mialib.signals import Signals


class Players(NamedTuple):
    """One target and the shadow of its attacker."""

    target: Signals
    shadow: Signals


def rotation(players: Sequence[Players]) -> Difference:
    """PAST's rotation attack, asked about another model or about its own training records."""
    three_bits = graded_draws(players, Augmentation("rotations", form="past"))
    softmax = graded_draws(players, NeuralPast())
    evidence = Dots(
        {
            "3 bits, asked about others": over_seeds_and_records(three_bits["as it should be"]),
            "3 bits, about itself": over_seeds_and_records(three_bits["as coded"]),
            "softmax, asked about others": over_seeds_and_records(softmax["as it should be"]),
            "softmax, about itself": over_seeds_and_records(softmax["as coded"]),
        },
        "advantage",
    )
    return compare(SOURCES["rotation"], three_bits.__getitem__, evidence=evidence)


def graded_draws(players: Sequence[Players], attack: Attack) -> dict[Variant, np.ndarray]:
    """The advantage of a learned attack; as coded, on the records that it learned from.

    Target and shadow have other records, which may be easier to tell apart. So they change roles:
    an attack is fitted on each of the two and asked about each of the two, and both numbers are
    means over the same two sets of records.
    """
    own = []
    others = []
    for target, shadow in players:
        fitted = {"target": attack.fit(target), "shadow": attack.fit(shadow)}
        asked = {"target": target.public(), "shadow": shadow.public()}
        own.append([fitted[side].calls(asked[side]) for side in ("target", "shadow")])
        others.append([fitted["shadow"].calls(asked["target"])])
        others[-1].append(fitted["target"].calls(asked["shadow"]))
    is_member = players[0].target.truth()
    coded = _mean_over_sides(np.array(own), is_member)
    right = _mean_over_sides(np.array(others), is_member)
    return {"as printed": right, "as coded": coded, "as it should be": right}


def _mean_over_sides(is_called: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """Calls (trainings, 2, n) → (trainings, 1 + draws)."""
    sides = [advantage_draws(is_called[:, side], is_member) for side in range(2)]
    return np.mean(sides, axis=0)


def yeom(augmented: Results) -> Difference:
    """A threshold at the mean training loss, of models that were trained on augmented images."""
    first = augmented.seeds([augmented.rows[0].seed])
    losses = first.losses[0]
    evidence = Losses(
        losses[first.is_member],
        losses[~first.is_member],
        {
            "as printed": float(mean_member_losses(first)[0]),
            "as coded": float(logged_losses(first)[0]),
            "as it should be": float(loss_thresholds(first)[0]),
        },
    )
    return compare(SOURCES["yeom"], partial(yeom_draws, augmented), evidence=evidence)


def yeom_draws(augmented: Results, variant: Variant) -> np.ndarray:
    if variant == "as it should be":
        return augmented.draws("advantage", "loss")
    thresholds = {"as printed": mean_member_losses, "as coded": logged_losses}[variant]
    is_called = augmented.losses < thresholds(augmented)[:, None]
    return advantage_draws(is_called, augmented.is_member)


def mean_member_losses(trainings: Results) -> np.ndarray:
    """Of each target, asked as an attacker asks it: in eval mode, about the images as they are."""
    return trainings.losses[:, trainings.is_member].astype(float).mean(axis=1)


def logged_losses(trainings: Results) -> np.ndarray:
    """The mean loss that each training wrote down in its last epoch."""
    return np.array([history[-1]["loss"] for history in trainings.fact("history")])


def adaptive(plain: Results, defended: Results) -> Difference:
    """The loss attack on a defended target, its threshold from a plain or a defended shadow."""
    first = defended.seeds([defended.rows[0].seed])
    losses = first.losses[0]
    evidence = Losses(
        losses[first.is_member],
        losses[~first.is_member],
        {
            "as coded": float(loss_thresholds(plain)[0]),
            "as it should be": float(loss_thresholds(first)[0]),
        },
    )
    experiment = partial(adaptive_draws, plain, defended)
    return compare(SOURCES["adaptive"], experiment, evidence=evidence)


def adaptive_draws(plain: Results, defended: Results, variant: Variant) -> np.ndarray:
    if variant == "as it should be":
        return defended.draws("advantage", "loss")
    of_plain_shadow = loss_thresholds(plain)
    is_called = defended.losses <= of_plain_shadow[:, None]
    return advantage_draws(is_called, defended.is_member)


def loss_thresholds(trainings: Results) -> np.ndarray:
    """Each shadow's threshold on the loss, read off whom it calls in its own target: (trainings,).

    A table keeps thresholds as ranks. The loss lies between those of the last record that is called
    and the next, so it is known to within two neighbours.
    """
    place = trainings.attacks.index("loss")
    found = []
    for row in range(len(trainings)):
        called = trainings.ranks[row, place] >= trainings.thresholds[row, place]
        losses = trainings.losses[row].astype(float)
        found.append((losses[called].max() + losses[~called].min()) / 2)
    return np.array(found)
