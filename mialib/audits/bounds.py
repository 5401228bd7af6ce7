"""ε: which values the attacks of an audit refute, in both directions.

    accusing, clearing = lower_bounds(rows, is_member, delta=1e-5, by_coin=False, seed=0)
    accusing.sentence        # Accusing members, by loss: If members were chosen by coin toss, …

The theorem, its premise and how the number of guesses is chosen: `mialib.epsilon`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mialib.attacks import ATTACKS
from mialib.audits.findings import CROSS_FITTED, AttackRow, counted
from mialib.epsilon import DIRECTIONS, Refuted, one_run

LEVEL = 0.95
HALVINGS = 5
MANY = 20_000  # records, of which two halvings tell as much
FEW_HALVINGS = 2
DELTA = 1e-5  # where the user claims no guarantee with a δ of its own


class Bound(NamedTuple):
    """The attack that refutes most in one direction, of so many that were tried."""

    attack: str
    attacks: int
    refuted: Refuted

    @property
    def sentence(self) -> str:
        """The theorem, by whom, and what it rests on."""
        one = self.refuted
        deed = "Accusing members" if one.direction == "accusing" else "Clearing non-members"
        if one.below == 0:
            return (
                f"{deed}: of {counted(self.attacks)} none refutes any ε ({100 * one.level:.4g} %)."
            )
        return (
            f"{deed}, by {self.attack}: {one} ({one.right:,} of {one.guesses:,} guesses were "
            f"right; the largest bound of {counted(self.attacks)}, corrected for their number and "
            "for the two directions.)"
        )


def lower_bounds(
    rows: Sequence[AttackRow],
    is_member: np.ndarray,
    *,
    delta: float = DELTA,
    by_coin: bool = False,
    seed: int = 0,
) -> tuple[Bound, ...] | None:
    """For each direction the largest bound of all attacks; None where no attack may be asked.

    Of k attacks each is held to 1 − 0.05 / 2k in each direction, so that the largest of all their
    bounds holds at 95 % (Bonferroni).
    """
    blind = [row for row in rows if not saw_membership(row)]
    if not blind:
        return None
    level = 1 - (1 - LEVEL) / (len(blind) * len(DIRECTIONS))
    halvings = HALVINGS if len(is_member) < MANY else FEW_HALVINGS
    bounds = []
    for direction in DIRECTIONS:
        refuted = {
            row.name: one_run(
                row.scores,
                is_member,
                direction=direction,
                delta=delta,
                level=level,
                halvings=halvings,
                by_coin=by_coin,
                seed=seed,
            )
            for row in blind
        }
        best = min(refuted, key=lambda name: (-refuted[name].epsilon, name))
        bounds.append(Bound(best, len(blind), replace(refuted[best], level=LEVEL)))
    return tuple(bounds)


def saw_membership(row: AttackRow) -> bool:
    """Whether a score was made with the coins of other records, which the theorem does not allow.

    A threshold for each class, chosen on one half of these records, is part of the score.
    """
    attack = ATTACKS.get(row.name)
    return row.threshold_from == CROSS_FITTED and bool(getattr(attack, "per_class", False))
