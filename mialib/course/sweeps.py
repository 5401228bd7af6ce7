"""Many settings of one experiment, kept as what every attack said of every record.

    sweep = load("past")
    row = sweep.find(defense="Past", strength=1e-3, alpha=1.5)
    sweep.advantage(row, "loss"), sweep.highest(row), sweep.accuracy(row), sweep.p1(row)
    sweep.difference(row, other, "highest")          # paired: both models were asked about the same records

The decisions are kept, not the numbers: every number and its interval follow from them, and so does the paired
interval of a difference. The tables are made by `tools/sweep.py` and ship with the course. Introduced in notebook 06.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from mialib import metrics, shipped
from mialib.errors import check_choice
from mialib.estimates import Estimate

DRAWS = 1000
EDGES = np.linspace(
    -0.3, 0.3, 61
)  # of the weights' histogram in a row; what lies outside counts in the last bin
MARGINS = np.linspace(
    -8, 8, 65
)  # of the histograms of the distance to the decision boundary, in the same way
FPRS = np.logspace(-3, 0, 31)  # where a row has the TPR of the loss


@dataclass(frozen=True)
class Sweep:
    """`rows` are settings and facts; the arrays are what was decided in each row about each of n records."""

    rows: list[dict]
    attacks: list[str]
    votes: (
        np.ndarray
    )  # (rows, attacks, n) bool: called a member at the threshold that the shadow chose
    correct: np.ndarray  # (rows, n) bool: classified correctly
    is_member: np.ndarray  # (n,) bool

    def all(self, **settings) -> list[int]:
        """The rows with these settings."""
        for name in settings:
            check_choice("setting", name, {key: None for row in self.rows for key in row})
        return [
            k
            for k, row in enumerate(self.rows)
            if all(row.get(name) == v for name, v in settings.items())
        ]

    def find(self, **settings) -> int:
        """The one row with these settings."""
        if len(found := self.all(**settings)) != 1:
            there = {name: sorted({str(row.get(name)) for row in self.rows}) for name in settings}
            raise ValueError(
                f"Expected one row with {settings}, found {len(found)}. The rows have {there}."
            )
        return found[0]

    def advantage(self, row: int, attack: str) -> Estimate:
        return self._estimate(self.draws(row, check_choice("attack", attack, self.attacks)))

    def mean(self, row: int) -> Estimate:
        """The mean advantage over all attacks, as in PAST's curves."""
        return self._estimate(self.draws(row, "mean"))

    def highest(self, row: int) -> Estimate:
        """The highest advantage of any attack, as in PAST's Table 1; each draw has its own highest."""
        return self._estimate(self.draws(row, "highest"))

    def accuracy(self, row: int) -> Estimate:
        """On non-members, which are the test part."""
        return self._estimate(self.draws(row, "accuracy"))

    def p1(self, row: int) -> Estimate:
        return self._estimate(self.draws(row, "p1"))

    def difference(self, row: int, other: int, what: str) -> Estimate:
        """`what` in `row` minus `what` in `other`, an attack's name or "mean", "highest", "accuracy", "p1"; paired."""
        return self._estimate(self.draws(row, what) - self.draws(other, what))

    def draws(self, row: int, what: str) -> np.ndarray:
        """The number itself, then its value in every draw of records with replacement: (1 + draws,)."""
        accuracy = (self._weights[1] @ self.correct[row]).clip(
            0, 1
        )  # (1 + draws,), but for rounding in 0 … 1
        if what == "accuracy":
            return accuracy
        votes = self.votes[row].T.astype(np.float32)  # (n, attacks)
        advantage = self._weights[0] @ votes - self._weights[1] @ votes  # (1 + draws, attacks)
        if what in self.attacks:
            return advantage[:, self.attacks.index(what)]
        highest = advantage.max(axis=1)
        check_choice("number", what, ("mean", "highest", "p1"))
        if what == "p1":
            return np.array(
                [metrics.p1(*pair) for pair in zip(accuracy, highest.clip(0, 1), strict=True)]
            )
        return advantage.mean(axis=1) if what == "mean" else highest

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """For members and for non-members: first 1/n for each, then the shares of every draw: (1 + draws, n) each."""
        rng, weights = np.random.default_rng(0), []
        for chosen in (self.is_member, ~self.is_member):
            places = np.flatnonzero(chosen)
            share = np.zeros((1 + DRAWS, len(chosen)), np.float32)
            share[0, places] = 1
            share[1:, places] = rng.multinomial(
                len(places), np.full(len(places), 1 / len(places)), size=DRAWS
            )
            weights.append(share / len(places))
        return tuple(weights)

    @staticmethod
    def _estimate(draws: np.ndarray) -> Estimate:
        return Estimate(float(draws[0]), *map(float, np.quantile(draws[1:], [0.025, 0.975])))

    def save(self, path: Path) -> None:
        packed = {name: np.packbits(getattr(self, name), axis=-1) for name in ("votes", "correct")}
        about = json.dumps({"rows": self.rows, "attacks": self.attacks}, ensure_ascii=False)
        np.savez_compressed(path, about=np.array(about), is_member=self.is_member, **packed)

    @classmethod
    def read(cls, path: Path) -> Sweep:
        with np.load(path, allow_pickle=False) as file:
            about, is_member = json.loads(str(file["about"])), file["is_member"]
            votes, correct = (
                np.unpackbits(file[name], axis=-1, count=len(is_member))
                for name in ("votes", "correct")
            )
        return cls(
            **about, votes=votes.astype(bool), correct=correct.astype(bool), is_member=is_member
        )


def load(name: str) -> Sweep:
    """The shipped sweep called `name`."""
    return Sweep.read(shipped.find("sweep", "sweeps", name))
