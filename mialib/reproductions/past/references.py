"""Reference attacks on undefended and on tuned models: Fig. 14."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mialib.attacks import RMIA, AttackR, LiRA, scores_per_target
from mialib.bank import Bank
from mialib.course import figures
from mialib.estimates import Estimate
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.reproductions.past.common import ALL_PROFILES
from mialib.results.repeats import InTurn, in_turn, in_turn_apart, over_seeds_and_records

ATTACKS = {"RMIA": RMIA(), "LiRA": LiRA(), "Attack R": AttackR()}
METRICS = {"AUC": "auc", "TPR at 0.1 % FPR": "tpr_at_0_1_percent"}
DRAWS = 100
MOST_TARGETS = 32  # so that the figure takes seconds


class Played(NamedTuple):
    """One bank whose models played the target in turn: scores by attack, (targets, n) each."""

    bank: Bank
    scores: dict[str, np.ndarray]

    @property
    def is_member(self) -> np.ndarray:
        """Who holds whom, of the targets: (targets, n)."""
        return self.bank.is_member[: _targets(self.bank)]

    def numbers(self) -> dict[str, InTurn]:
        return {name: in_turn(one, self.is_member) for name, one in self.scores.items()}


def _targets(bank: Bank) -> int:
    return min(len(bank), MOST_TARGETS)


def fig_14(evidence: Evidence) -> Made:
    """AUC and TPR at 0.1 % FPR of three reference attacks against accuracy."""
    plain = _played(evidence.bank("bank"))
    tuned = _played(evidence.bank("bank tuned"))
    points = {name: _points(one) for name, one in {"undefended": plain, "PAST": tuned}.items()}
    picture = figures.attack_planes(
        {"PAST": {panel: [point] for panel, point in points["PAST"].items()}},
        undefended=points["undefended"],
        ylabel="what the attack reaches",
        columns=3,
        panel=(2.9, 2.4),
        told=f"Means over {_targets(plain.bank)} targets among {len(plain.bank)} models; the "
        "others are the references, and trained like the target.",
    )
    return Made({"past-fig-14": picture}, tuple(_lines(plain, tuned)))


def _played(bank: Bank) -> Played:
    targets = _targets(bank)
    scores = {
        name: scores_per_target(bank, attack, targets=targets) for name, attack in ATTACKS.items()
    }
    return Played(bank, scores)


def _points(played: Played) -> dict[str, tuple[Estimate, Estimate]]:
    """A panel for each metric and attack."""
    accuracy = over_seeds_and_records(accuracy_draws(played.bank))
    numbers = played.numbers()
    return {
        f"{attack}: {metric}": (accuracy, getattr(found, field))
        for metric, field in METRICS.items()
        for attack, found in numbers.items()
    }


def accuracy_draws(bank: Bank) -> np.ndarray:
    """The accuracy of each model on records that it does not hold, in every draw of records:
    (models, 1 + draws)."""
    n = len(bank.labels)
    is_right = bank.logits.argmax(axis=2) == bank.labels  # (models, n)
    counts = np.ones((1 + DRAWS, n))
    counts[1:] = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=DRAWS)
    is_outside = ~bank.is_member
    return ((is_right & is_outside) @ counts.T) / (is_outside @ counts.T)


def _lines(plain: Played, tuned: Played) -> list[Line]:
    lines = []
    for attack in ("LiRA", "RMIA", "Attack R"):
        apart = in_turn_apart(tuned.scores[attack], plain.scores[attack], plain.is_member)
        for metric, field in METRICS.items():
            what = f"{attack}: {metric}, PAST minus undefended"
            lines.append(Line("past-fig-14", what, None, getattr(apart, field)))
    cost = over_seeds_and_records(accuracy_draws(tuned.bank) - accuracy_draws(plain.bank))
    lines.append(Line("past-fig-14", "test accuracy, PAST minus undefended", None, cost))
    return lines


ITEMS = (
    Item(
        name="past-fig-14",
        paper="PAST",
        shows="LiRA, RMIA and Attack R: AUC and TPR at 0.1 % FPR against accuracy",
        data="cifar10",
        plans={profile: () for profile in ALL_PROFILES},
        banks=("bank", "bank tuned"),
        make=fig_14,
    ),
)
