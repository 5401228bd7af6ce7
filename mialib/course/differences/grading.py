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
from itertools import product
from typing import NamedTuple

import numpy as np

from mialib.attacks import Attack, Augmentation
from mialib.course.differences.base import (
    Difference,
    Dots,
    Losses,
    Variant,
    advantage_draws,
    compare,
    in_common,
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
    """PAST's rotation attack, asked about another model or about its own training records.

    Target and shadow hold other records, which may be easier to tell apart. So the two change
    roles: a network is fitted on each and asked about each, and every variant is a mean over the
    same two sets of records.
    """
    by_roles = graded_draws(players, Augmentation("rotations", form="past"))
    right = np.mean([by_roles["shadow", "target"], by_roles["target", "shadow"]], axis=0)
    coded = np.mean([by_roles["shadow", "shadow"], by_roles["target", "target"]], axis=0)
    evidence = Dots(
        {
            f"fitted on the {fitted},\nasked about the {asked}": over_seeds_and_records(draws)
            for (fitted, asked), draws in by_roles.items()
        },
        "advantage",
    )
    draws = {"as printed": right, "as coded": coded, "as it should be": right}
    return compare(SOURCES["rotation"], draws.__getitem__, evidence=evidence)


def graded_draws(players: Sequence[Players], attack: Attack) -> dict[tuple[str, str], np.ndarray]:
    """The advantage of a learned attack, by the model that it is fitted on and the one asked."""
    calls: dict[tuple[str, str], list[np.ndarray]] = {}
    for pair in players:
        sides = {"shadow": pair.shadow, "target": pair.target}
        for known, asked in product(sides, repeat=2):
            fitted = attack.fit(sides[known])
            calls.setdefault((known, asked), []).append(fitted.calls(sides[asked].public()))
    is_member = players[0].target.truth()
    return {roles: advantage_draws(np.stack(some), is_member) for roles, some in calls.items()}


def yeom(trainings: Results) -> Difference:
    """A threshold at the mean training loss, of networks that answer otherwise while they train."""
    first = trainings.seeds([trainings.rows[0].seed])
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
    return compare(SOURCES["yeom"], partial(yeom_draws, trainings), evidence=evidence)


def yeom_draws(trainings: Results, variant: Variant) -> np.ndarray:
    if variant == "as it should be":
        return trainings.draws("advantage", "loss")
    thresholds = {"as printed": mean_member_losses, "as coded": logged_losses}[variant]
    is_called = trainings.losses < thresholds(trainings)[:, None]
    return advantage_draws(is_called, trainings.is_member)


def mean_member_losses(trainings: Results) -> np.ndarray:
    """Of each target, asked as an attacker asks it: finished, and in eval mode."""
    return trainings.losses[:, trainings.is_member].astype(float).mean(axis=1)


def logged_losses(trainings: Results) -> np.ndarray:
    """The mean loss that each training wrote down in its last epoch."""
    return np.array([history[-1]["loss"] for history in trainings.fact("history")])


def adaptive(plain: Results, defended: Results) -> Difference:
    """The loss attack on a defended target, its threshold from a plain or a defended shadow."""
    plain, defended = in_common(plain, defended)
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
