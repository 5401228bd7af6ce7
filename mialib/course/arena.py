"""The arena: every defense that met the same records, network and attacks, and what each costs.

    letters = contenders.arenas("quick")["letters · CNN, 1,000"]
    letters["DMP, all"].estimate("AUC")             # of the attack that gets furthest by it
    front(letters, "AUC")                           # {"DMP, all": "front", …}
    matched(letters, "PAST, α 1, λ 0.002", "RelaxLoss").minus("advantage")
    advice(letters, promise=0.05)                   # by need: which, and what it costs
    to_csv(letters, "letters.csv")

**Who may meet whom.** Settings are compared record by record, so an arena holds settings of the
same members, the same network and the same attacks. `mialib.course.contenders` reads the results
of all plans and sorts them; here is what can be asked of an arena, without torch.

**Chosen here, measured there.** Who takes the best of many settings also takes the luckiest. So
`matched` and `advice` choose on one half of the records, and measure on the other.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mialib.errors import as_path, check_choice, check_range
from mialib.estimates import Estimate
from mialib.foreign import atomically, in_spreadsheet
from mialib.results import Results
from mialib.results.repeats import over_seeds_and_records

STRONGEST = "strongest"  # in place of an attack's name: whichever gets furthest
# What attackers reach, and how `Results` is asked for it.
LEAKS: dict[str, tuple[str, dict[str, float]]] = {
    "advantage": ("advantage", {}),
    "AUC": ("auc", {}),
    "TPR at 1 % FPR": ("tpr", {"fpr": 0.01}),
}
ACCURACY = "accuracy"

NOTHING = "none"  # records that a defense needs beside the members
NON_MEMBERS = "non-members"
FURTHER_MEMBERS = "further members"  # whose labels it learns
VALIDATION = "validation"

FRONT = "front"  # Nobody is at least as good by both numbers.
BEHIND = "behind"  # Somebody is; that is, one of the next two.
OPEN = "open"  # Somebody is, but by neither number clearly.
BEATEN = "beaten"  # Somebody is, and clearly so by one number at least.
UNSTEADY = "unsteady"  # A training failed: what the others reached is no promise.
APART = "apart"  # It learns the labels of further records, and what they lose was not measured.

UNDEFENDED = "undefended"


@dataclass(frozen=True, eq=False)
class Contender:
    """One setting of one defense.

    defense     what the arena calls it
    strength    the values of its knobs; nothing where it has none
    ring        the arena's name: only contenders of one arena can be compared
    trainings   what the attacks found, of every training that ended
    failed      how many trainings did not end
    times       how long it takes to train, over the undefended model
    extra       the records that it needs beside the members
    is_later    whether it starts from a model that is trained already
    """

    defense: str
    strength: str
    ring: str
    trainings: Results
    failed: int
    times: float
    extra: str
    is_later: bool

    @property
    def name(self) -> str:
        return f"{self.defense}, {self.strength}" if self.strength else self.defense

    @property
    def competes(self) -> bool:
        """Whether its numbers can be promised to anybody: see UNSTEADY and APART."""
        return not self.failed and self.extra != FURTHER_MEMBERS

    def estimate(self, number: str = ACCURACY, attack: str = STRONGEST) -> Estimate:
        """The accuracy, or one of LEAKS, with an interval over trainings and records."""
        key = (number, attack)
        if key not in self._estimates:
            what, arguments, options = _asked(number, attack)
            self._estimates[key] = self.trainings.estimate(what, *arguments, **options)
        return self._estimates[key]

    def mean(self, number: str = ACCURACY, attack: str = STRONGEST) -> float:
        """The same without an interval, which is quick."""
        key = (number, attack)
        if key not in self._means:
            what, arguments, options = _asked(number, attack)
            self._means[key] = float(self.trainings.by_seed(what, *arguments, **options).mean())
        return self._means[key]

    def draws(self, number: str = ACCURACY, attack: str = STRONGEST) -> dict[int, np.ndarray]:
        """By seed: the number, then its value in every draw of records, (1 + draws,)."""
        key = (number, attack)
        if key not in self._draws:
            what, arguments, options = _asked(number, attack)
            drawn = self.trainings.draws(what, *arguments, **options)
            seeds = [row.seed for row in self.trainings.rows]
            self._draws[key] = dict(zip(seeds, drawn, strict=True))
        return self._draws[key]

    def minus(self, other: Contender, number: str, attack: str = STRONGEST) -> Estimate:
        """This one's number minus the other's, by seed and by record."""
        if self.ring != other.ring:
            raise ValueError(
                f"{self.name} fought in {self.ring!r} and {other.name} in {other.ring!r}. Records "
                "or networks differ, so the two cannot be paired. Choose two of one arena."
            )
        here = self.draws(number, attack)
        there = other.draws(number, attack)
        common = sorted(here.keys() & there.keys())
        if not common:
            raise ValueError(f"{self.name} and {other.name} have no seed in common.")
        return over_seeds_and_records(np.stack([here[seed] - there[seed] for seed in common]))

    @cached_property
    def _estimates(self) -> dict[tuple[str, str], Estimate]:
        return {}

    @cached_property
    def _means(self) -> dict[tuple[str, str], float]:
        return {}

    @cached_property
    def _draws(self) -> dict[tuple[str, str], dict[int, np.ndarray]]:
        return {}


def _asked(number: str, attack: str) -> tuple[str, tuple[str, ...], dict[str, float]]:
    """What `Results` calls it: the number, its arguments and its options."""
    if number == ACCURACY:
        return ACCURACY, (), {}
    what, options = LEAKS[check_choice("number", number, (ACCURACY, *LEAKS))]
    if attack == STRONGEST:
        return "highest", (what,), options
    return what, (attack,), options


@dataclass(frozen=True, eq=False)
class Arena:
    """Contenders of the same records, network and attacks; the first is the undefended model."""

    name: str
    contenders: tuple[Contender, ...]
    fallen: Mapping[str, str]  # settings of which no training ended, and why
    sources: tuple[str, ...]  # where the numbers come from, in sentences

    def __getitem__(self, name: str) -> Contender:
        named = {one.name: one for one in self.contenders}
        return named[check_choice("contender", name, named)]

    @property
    def undefended(self) -> Contender:
        return self.contenders[0]

    @property
    def competitors(self) -> list[Contender]:
        return [one for one in self.contenders if one.competes]

    @property
    def attacks(self) -> tuple[str, ...]:
        return self.undefended.trainings.attacks

    @cached_property
    def defenses(self) -> dict[str, tuple[Contender, ...]]:
        """The contenders by defense, from weak to strong."""
        families: dict[str, tuple[Contender, ...]] = {}
        for one in self.contenders:
            families[one.defense] = (*families.get(one.defense, ()), one)
        return families

    @cached_property
    def halves(self) -> tuple[Arena, Arena]:
        """The same arena on two halves of the records: one to choose on, one to measure on."""
        first = half_of(self.undefended.trainings.is_member)
        return self._on(first), self._on(~first)

    def _on(self, records: np.ndarray) -> Arena:
        some = [replace(one, trainings=one.trainings.take(records)) for one in self.contenders]
        return replace(self, contenders=tuple(some))

    def __repr__(self) -> str:
        trainings = self.undefended.trainings
        return (
            f"<Arena {self.name}: {len(self.contenders)} settings of {len(self.defenses)} "
            f"defenses, {len(self.attacks)} attacks, {len(trainings.is_member):,} records>"
        )


def half_of(is_member: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """A mask of half of the members and half of the non-members, drawn at random: (n,)."""
    rng = np.random.default_rng(seed)
    chosen = np.zeros(len(is_member), bool)
    for role in (True, False):
        places = rng.permutation(np.flatnonzero(is_member == role))
        chosen[places[: len(places) // 2]] = True
    return chosen


# Who leads.


def on_front(accuracy: np.ndarray, leak: np.ndarray) -> np.ndarray:
    """Which points nobody dominates: nobody is at least as good by both, and better by one.

    >>> on_front(np.array([0.6, 0.5, 0.5]), np.array([0.3, 0.1, 0.4]))
    array([ True,  True, False])
    """
    at_least = (accuracy[None] >= accuracy[:, None]) & (leak[None] <= leak[:, None])
    better = (accuracy[None] > accuracy[:, None]) | (leak[None] < leak[:, None])
    dominated = (at_least & better).any(axis=1)
    return np.logical_not(dominated)


def leaders(arena: Arena, number: str = "advantage", attack: str = STRONGEST) -> dict[str, str]:
    """How each contender stands by the means alone: FRONT, BEHIND, UNSTEADY or APART, by name."""
    states = {one.name: UNSTEADY if one.failed else APART for one in arena.contenders}
    rivals = arena.competitors
    accuracy = np.array([one.mean() for one in rivals])
    leak = np.array([one.mean(number, attack) for one in rivals])
    for one, is_first in zip(rivals, on_front(accuracy, leak), strict=True):
        states[one.name] = FRONT if is_first else BEHIND
    return states


def front(arena: Arena, number: str = "advantage", attack: str = STRONGEST) -> dict[str, str]:
    """The same with intervals: in place of BEHIND it is OPEN or BEATEN.

    Behind the front, a contender is beaten where another one is at least as good by both means, and
    the paired 95 % interval of one of the two numbers excludes 0.
    """
    states = leaders(arena, number, attack)
    for one in arena.competitors:
        if states[one.name] == BEHIND:
            rivals = _ahead_of(one, arena.competitors, number, attack)
            is_beaten = any(_beats(rival, one, number, attack) for rival in rivals)
            states[one.name] = BEATEN if is_beaten else OPEN
    return states


def _ahead_of(
    one: Contender, rivals: Sequence[Contender], number: str, attack: str
) -> list[Contender]:
    """Those that are at least as good by both means, the furthest first: they settle most cases."""
    far = {}
    for rival in rivals:
        more_accurate = rival.mean() - one.mean()
        leaks_less = one.mean(number, attack) - rival.mean(number, attack)
        if rival is not one and more_accurate >= 0 and leaks_less >= 0:
            far[rival] = more_accurate + leaks_less
    return sorted(far, key=far.__getitem__, reverse=True)


def _beats(one: Contender, other: Contender, number: str, attack: str) -> bool:
    """Whether `one`, at least as good by both means, is clearly better by one of them."""
    return one.minus(other, number, attack).high < 0 or one.minus(other, ACCURACY, attack).low > 0


# Two at the same accuracy.


@dataclass(frozen=True)
class Match:
    """Two contenders of about the same accuracy, on the half of the records that did not choose.

    gap        accuracy of the first minus that of the second, on the half that chose
    is_close   whether that is within the limit
    """

    one: Contender
    other: Contender
    gap: float
    is_close: bool

    @property
    def trainings(self) -> int:
        """How many seeds the two have in common."""
        return len(self.one.draws().keys() & self.other.draws().keys())

    def minus(self, number: str, attack: str = STRONGEST) -> Estimate:
        """The first minus the second, by seed and by record."""
        return self.one.minus(self.other, number, attack)


def matched(arena: Arena, name: str, defense: str, *, within: float = 0.01) -> Match:
    """A contender beside the strength of a defense that has about its accuracy.

    On one half of the records we take, of the strengths whose accuracy is `within` reach, the one
    that leaks least, or else the nearest. The two are then compared on the other half. (The nearest
    of all would be unfair: where accuracy hardly moves with the strength, it may be the weakest.)
    """
    check_range(0, 1, within=within)
    check_choice("defense", defense, arena.defenses)
    choosing, measuring = arena.halves
    one = choosing[name]
    rivals = [other for other in choosing.defenses[defense] if other.name != name]
    gaps = {other: one.mean() - other.mean() for other in rivals if not other.failed}
    if not gaps:
        raise ValueError(f"{defense} has no other setting in {arena.name!r} to compare with.")
    close = [other for other, gap in gaps.items() if abs(gap) <= within]
    if close:
        rival = min(close, key=lambda other: other.mean("advantage"))
    else:
        rival = min(gaps, key=lambda other: abs(gaps[other]))
    return Match(measuring[name], measuring[rival.name], gaps[rival], is_close=bool(close))


# Which one to take.


LONGER = 1.15  # times the training; below, a clock on a busy machine cannot tell
NEEDS: dict[str, Callable[[Contender], bool]] = {
    "anything goes": lambda one: True,
    "no records beside the members": lambda one: one.extra == NOTHING,
    "no more training time": lambda one: one.times <= LONGER,
    "neither more records nor more time": lambda one: one.times <= LONGER and one.extra == NOTHING,
    "the model is trained already": lambda one: one.is_later,
}


class Advice(NamedTuple):
    """What to take for one need, measured on records that did not choose it.

    `one` is None where no setting keeps the promise.
    """

    need: str
    one: Contender | None
    accuracy: Estimate  # minus that of the undefended model
    leak: Estimate
    change: Estimate  # of the leak, minus that of the undefended model


def advice(
    arena: Arena,
    *,
    promise: float,
    number: str = "advantage",
) -> list[Advice]:
    """For each need, the setting that leaks least and loses at most `promise` of accuracy.

    It is chosen by means on one half of the records, and measured on the other half.
    """
    check_range(0, 1, promise=promise)
    choosing, measuring = arena.halves
    floor = choosing.undefended.mean() - promise
    able = [one for one in choosing.competitors if one.mean() >= floor]
    found = []
    for need, serves in NEEDS.items():
        fit = [one for one in able if serves(one)]
        best = min(fit, key=lambda one: one.mean(number), default=None)
        found.append(_advice(need, best, measuring, number))
    return found


def _advice(need: str, best: Contender | None, measuring: Arena, number: str) -> Advice:
    if best is None:
        nobody = Estimate(np.nan, note="–")
        return Advice(need, None, nobody, nobody, nobody)
    one = measuring[best.name]
    return Advice(
        need=need,
        one=one,
        accuracy=one.minus(measuring.undefended, ACCURACY),
        leak=one.estimate(number),
        change=one.minus(measuring.undefended, number),
    )


# Files.


def to_csv(
    arena: Arena,
    path: str | Path,
    *,
    numbers: Sequence[str] = tuple(LEAKS),
    overwrite: bool = False,
) -> Path:
    """Every contender as a line: its numbers with their intervals, its price, and how it stands.

    The intervals of the AUC and the TPR take seconds; `numbers` says which leaks to write. A file
    that is there already is left alone, unless `overwrite` says otherwise.
    """
    path = as_path(path)
    if path.suffix != ".csv":
        raise ValueError(f"The arena is written to a .csv file, found {path.name!r}.")
    states = {number: front(arena, number) for number in numbers}
    lines = [_line(one, states) for one in arena.contenders]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path.name} is there already. Choose another name, or pass overwrite=True."
        )
    with atomically(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return path


def _line(one: Contender, states: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    line: dict[str, Any] = {
        "arena": in_spreadsheet(one.ring),
        "defense": in_spreadsheet(one.defense),
        "strength": one.strength,
        "trainings": len(one.trainings),
        "failed": one.failed,
    }
    line |= _columns(ACCURACY, one.estimate())
    for number, state in states.items():
        line |= _columns(f"highest {number}", one.estimate(number))
        line[f"by {number}"] = state[one.name]
    line["times the training"] = round(one.times, 2)
    line["extra records"] = one.extra
    return line


def _columns(title: str, estimate: Estimate) -> dict[str, float]:
    return {
        title: estimate.value,
        f"{title}, low": estimate.low,
        f"{title}, high": estimate.high,
    }
