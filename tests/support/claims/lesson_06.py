"""Lesson 06: what simple defenses do to the strongest attack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claims import Claim, minus, over_trainings
from mialib.estimates import Estimate
from mialib.results import Results


def change(what: str, *arguments: str, **setting: Any) -> Callable[[Results], Estimate]:
    """What this setting changes against the undefended model."""

    def difference(simple: Results) -> Estimate:
        defended = simple.find(**setting)
        return defended.paired(simple.find(defense="Plain"), what, *arguments)

    return difference


def fall(what: str, *arguments: str, **setting: Any) -> Callable[[Results], Estimate]:
    """The same, the other way round."""
    return lambda simple: minus(change(what, *arguments, **setting)(simple))


NEARLY_ALL = 0.98  # of the members


def smoothed_members(epsilon: float) -> Callable[[Results], Estimate]:
    """By how much more than nearly all members the smoothed model still gets right."""

    def difference(simple: Results) -> Estimate:
        rows = simple.find(defense="LabelSmoothing", epsilon=epsilon).rows
        return over_trainings([row.accuracy["train"] - NEARLY_ALL for row in rows])

    return difference


def claim(says: str, difference: Callable[[Results], Estimate]) -> Claim:
    return Claim(lesson="06", says=says, plan="simple", difference=difference)


CLAIMS = [
    claim("ℓ1 moves down", fall("highest", defense="L1", lam=6e-4)),
    claim("ℓ2 moves down", fall("highest", defense="L2", lam=2e-2)),
    claim("dropout moves down", fall("highest", defense="Dropout", p=0.5)),
    claim("early stopping moves down", fall("highest", defense="EarlyStopping", patience=4)),
    claim("strong ℓ1 moves far to the left", fall("accuracy", defense="L1", lam=1e-3)),
    claim("strong ℓ2 moves far to the left", fall("accuracy", defense="L2", lam=3e-2)),
    claim("strong dropout moves far to the left", fall("accuracy", defense="Dropout", p=0.8)),
    claim(
        "early stopping without patience moves far to the left",
        fall("accuracy", defense="EarlyStopping", patience=1),
    ),
    claim(
        "ε = 0.1 raises the highest advantage",
        change("highest", defense="LabelSmoothing", epsilon=0.1),
    ),
    claim(
        "label smoothing does harm from the start",
        change("highest", "auc", defense="LabelSmoothing", epsilon=0.03),
    ),
    claim(
        "the confidence penalty moves up", change("highest", defense="ConfidencePenalty", beta=1.0)
    ),
    claim(
        "ε = 0.3 still gets nearly all its members right",
        smoothed_members(0.3),
    ),
    claim(
        "and is not yet down again",
        change("highest", defense="LabelSmoothing", epsilon=0.3),
    ),
    claim(
        "ε = 0.5 no longer gets nearly all its members right",
        lambda simple: minus(smoothed_members(0.5)(simple)),
    ),
    claim(
        "there smoothing comes down again",
        fall("highest", defense="LabelSmoothing", epsilon=0.5),
    ),
    claim(
        "very strong smoothing comes down, too",
        fall("highest", defense="LabelSmoothing", epsilon=0.8),
    ),
    claim(
        "smoothing shrinks the loss gap",
        fall("loss_gap", defense="LabelSmoothing", epsilon=0.1),
    ),
    claim("along ℓ1 the gap falls, too", fall("loss_gap", defense="L1", lam=6e-4)),
    claim("along ℓ2 the gap falls, too", fall("loss_gap", defense="L2", lam=2e-2)),
    claim("along dropout the gap falls, too", fall("loss_gap", defense="Dropout", p=0.5)),
    claim(
        "with early stopping the gap falls, too",
        fall("loss_gap", defense="EarlyStopping", patience=4),
    ),
    claim(
        "the strongest penalty fools the gradient",
        fall("advantage", "gradient ℓ2", defense="ConfidencePenalty", beta=3.0),
    ),
    claim(
        "and helps the loss attack",
        change("advantage", "loss", defense="ConfidencePenalty", beta=3.0),
    ),
]
