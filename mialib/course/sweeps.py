"""Many settings of one experiment, kept as what every attack decided about every record.

    sweep = load("past")
    row = sweep.find(defense="Past", lam=1e-3, alpha=1.5)
    sweep.advantage(row, "loss"), sweep.highest(row), sweep.accuracy(row), sweep.p1(row)
    sweep.difference(row, other, "highest")     # paired: the records are the same
    sweep.take(sweep.is_member)                 # the same sweep, on some of the records

The decisions are kept, not the numbers: every number and its interval follow from them, and so does
the paired interval of a difference. The tables are made by `tools/sweep.py` and ship with
`mialib`. Introduced in notebook 06.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mialib import metrics, shipped
from mialib.errors import check_choice
from mialib.estimates import Estimate

DRAWS = 1000
# A row's histograms have these edges; what lies outside counts in the last bin.
EDGES = np.linspace(-0.3, 0.3, 61)  # of the weights
MARGINS = np.linspace(-8, 8, 65)  # of the distance to the decision boundary
FPRS = np.logspace(-3, 0, 31)  # where a row has the TPR of the loss

Row = dict[str, Any]  # settings and facts, by name


class Shares(NamedTuple):
    """What each record counts in the mean over its side, (1 + draws, n): first 1/n, then drawn."""

    members: np.ndarray
    non_members: np.ndarray


@dataclass(frozen=True)
class Sweep:
    """What was decided in each row about each of n records.

    `rows` has the settings and facts of each; `attacks` names those that were asked. `votes`
    (rows, attacks, n) says who was called a member at the threshold that the shadow chose,
    `correct` (rows, n) who was classified correctly, `is_member` (n,) who is one.
    """

    rows: list[Row]
    attacks: list[str]
    votes: np.ndarray
    correct: np.ndarray
    is_member: np.ndarray

    def all(self, **settings) -> list[int]:
        """The rows with these settings."""
        names = {name: None for row in self.rows for name in row}
        for name in settings:
            check_choice("setting", name, names)

        def fits(row: Row) -> bool:
            return all(row.get(name) == value for name, value in settings.items())

        return [number for number, row in enumerate(self.rows) if fits(row)]

    def find(self, **settings) -> int:
        """The one row with these settings."""
        fitting = self.all(**settings)
        if len(fitting) != 1:
            there = {name: sorted({str(row.get(name)) for row in self.rows}) for name in settings}
            problem = f"Expected one row with {settings}, found {len(fitting)}."
            raise ValueError(f"{problem} The rows have {there}.")
        return fitting[0]

    def take(self, records: np.ndarray) -> Sweep:
        """The same rows on some of the records, given by a mask or by their places."""
        return replace(
            self,
            votes=self.votes[:, :, records],
            correct=self.correct[:, records],
            is_member=self.is_member[records],
        )

    def joined(self, other: Sweep, rows: list[int]) -> Sweep:
        """These rows, then some of another sweep's, so that differences can be taken."""
        if other.attacks != self.attacks:
            raise ValueError(f"Expected the attacks {self.attacks}, found {other.attacks}.")
        if not np.array_equal(other.is_member, self.is_member):
            raise ValueError("The two sweeps have different members, so nothing can be paired.")
        return replace(
            self,
            rows=self.rows + [other.rows[row] for row in rows],
            votes=np.concatenate([self.votes, other.votes[rows]]),
            correct=np.concatenate([self.correct, other.correct[rows]]),
        )

    def advantage(self, row: int, attack: str) -> Estimate:
        return estimate(self.draws(row, check_choice("attack", attack, self.attacks)))

    def mean(self, row: int) -> Estimate:
        """The mean advantage over all attacks, as in PAST's curves."""
        return estimate(self.draws(row, "mean"))

    def highest(self, row: int) -> Estimate:
        """The highest advantage of any attack, as in PAST's Table 1; each draw has its own."""
        return estimate(self.draws(row, "highest"))

    def accuracy(self, row: int) -> Estimate:
        """On non-members, which are the test part."""
        return estimate(self.draws(row, "accuracy"))

    def p1(self, row: int) -> Estimate:
        return estimate(self.draws(row, "p1"))

    def difference(self, row: int, other: int, what: str) -> Estimate:
        """`what` in `row` minus `what` in `other`, paired.

        `what` is an attack's name or "mean", "highest", "accuracy", "p1".
        """
        return estimate(self.draws(row, what) - self.draws(other, what))

    def draws(self, row: int, what: str) -> np.ndarray:
        """The number itself, then its value in every draw of records with replacement."""
        if what == "accuracy":
            return self._accuracies(row)
        advantages = self._advantages(row)  # (1 + draws, attacks)
        if what in self.attacks:
            return advantages[:, self.attacks.index(what)]
        check_choice("number", what, ("mean", "highest", "p1"))
        if what == "mean":
            return advantages.mean(axis=1)
        highest = advantages.max(axis=1)
        if what == "highest":
            return highest
        pairs = zip(self._accuracies(row), highest.clip(0, 1), strict=True)
        return np.array([metrics.p1(accuracy, advantage) for accuracy, advantage in pairs])

    def _accuracies(self, row: int) -> np.ndarray:
        # Shares may add up to a little more than 1.
        return (self._shares.non_members @ self.correct[row]).clip(0, 1)

    def _advantages(self, row: int) -> np.ndarray:
        votes = self.votes[row].T.astype(np.float32)  # (n, attacks)
        return self._shares.members @ votes - self._shares.non_members @ votes

    @cached_property
    def _shares(self) -> Shares:
        rng = np.random.default_rng(0)
        members = _drawn_shares(self.is_member, rng)
        return Shares(members, _drawn_shares(~self.is_member, rng))

    def save(self, path: Path) -> None:
        about = json.dumps({"rows": self.rows, "attacks": self.attacks}, ensure_ascii=False)
        np.savez_compressed(
            path,
            about=np.array(about),
            is_member=self.is_member,
            votes=np.packbits(self.votes, axis=-1),
            correct=np.packbits(self.correct, axis=-1),
        )

    @classmethod
    def read(cls, path: Path) -> Sweep:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            is_member = file["is_member"]
            votes = _unpacked(file["votes"], len(is_member))
            correct = _unpacked(file["correct"], len(is_member))
        return cls(about["rows"], about["attacks"], votes, correct, is_member)


def load(name: str) -> Sweep:
    """The shipped sweep called `name`."""
    return Sweep.read(shipped.find("sweep", "sweeps", name))


def estimate(draws: np.ndarray) -> Estimate:
    """The first number, with the middle 95 % of the others as its interval."""
    low, high = np.quantile(draws[1:], [0.025, 0.975])
    return Estimate(float(draws[0]), float(low), float(high))


def fair_control(accuracy: float, accuracies: np.ndarray, advantages: np.ndarray) -> int:
    """Among the controls at most 0.01 less accurate, the place of the lowest advantage; or -1.

    >>> fair_control(0.6, np.array([0.59, 0.63, 0.5]), np.array([0.4, 0.3, 0.1]))
    1
    """
    fair = accuracies >= accuracy - 0.01 - 1e-12
    if not fair.any():
        return -1
    return int(np.argmin(np.where(fair, advantages, np.inf)))


def _drawn_shares(chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    places = np.flatnonzero(chosen)
    n = len(places)
    counts = np.zeros((1 + DRAWS, len(chosen)), np.float32)
    counts[0, places] = 1
    counts[1:, places] = rng.multinomial(n, np.full(n, 1 / n), size=DRAWS)
    return counts / n


def _unpacked(bits: np.ndarray, n: int) -> np.ndarray:
    return np.unpackbits(bits, axis=-1, count=n).astype(bool)
