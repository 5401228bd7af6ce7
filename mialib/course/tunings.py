"""The plan `past` as lessons ask it: PAST's settings, each with all its seeds, and their controls.

    tunings = Tunings(results("past", PROFILE))
    tunings.find(lam=1e-3, alpha=1.5)                   # what is not named is as usual
    tunings.by("lam", alpha=0.0)                        # uniform ℓ1, by its strength
    tunings.by("epochs", lam=1e-3, alpha=1.5)           # by the length of the tuning
    tunings.standard                                    # PAST's setting in the lessons: λ and α
    tunings.values("alpha")                             # every α of the grid
    tunings.grid(lambdas, alphas)                       # those of a grid, also if some diverged
    ruined_trainings(one)                               # how many of them are good for nothing
    nearest(one, tunings.by("lam", alpha=0.0))          # the λ of the control of equal accuracy
    watched_arms(results("epochs", PROFILE))["PAST"]    # every epoch of a tuning

Tuning with λ = 0 says what is usual: the rate, the epochs, and every switch. Which λ and α there
are depends on the profile, so lessons ask for them instead of naming them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mialib import profiles
from mialib.defenses import Past
from mialib.results import Results

RUINED = 0.2  # the accuracy below which a network of ten classes is good for nothing


@dataclass(frozen=True, eq=False)
class Tunings:
    """What was tuned, and what it started from."""

    results: Results
    experiment: str = "images tuned"  # the profile's, which has the standard setting

    @cached_property
    def undefended(self) -> Results:
        return self.results.find(defense="Plain")

    @cached_property
    def unpunished(self) -> Results:
        """Tuned as long as the others, with λ = 0."""
        return self.results.find(defense="Past", lam=0.0)

    @property
    def usual(self) -> dict[str, Any]:
        """The settings of the control with λ = 0, which the others share."""
        return self.unpunished.rows[0].settings

    @property
    def standard(self) -> Past:
        """The λ and the α that the profile tunes with."""
        experiments = profiles.load(self.results.about["profile"]).experiments
        defense = experiments[self.experiment].defense
        if not isinstance(defense, Past):
            raise ValueError(f"{self.experiment!r} is defended by {defense}, not by PAST.")
        return defense

    def values(self, name: str, **changes: Any) -> list[float]:
        """Every value of `name` among the settings that differ by these words, and by λ or α.

        Those of trainings that diverged are there, too; λ = 0 is not.
        """
        wanted = self.usual | changes
        for free in {name, "lam", "alpha"} - changes.keys():
            del wanted[free]
        rows = self.results.where(**wanted).rows
        return sorted({row.settings[name] for row in rows if row.settings["lam"] > 0})

    def find(self, **changes: Any) -> Results:
        """One setting that differs from the usual by these words."""
        return self.results.find(**self.usual | changes)

    def by(self, name: str, **changes: Any) -> dict[float, Results]:
        """Every setting that differs by these words, and by any value of `name`, in its order.

        Left out are λ = 0, and settings of which a training diverged.
        """
        wanted = self.usual | changes
        del wanted[name]
        found = {}
        for one in self.results.where(**wanted).settings():
            is_whole = not any(row.failure for row in one.rows)
            settings = one.rows[0].settings
            if is_whole and settings["lam"] > 0:
                found[settings[name]] = one
        return dict(sorted(found.items()))

    def grid(
        self, lambdas: Iterable[float], alphas: Iterable[float]
    ) -> dict[tuple[float, float], Results]:
        """Every setting of a grid by (λ, α), with all its trainings, also those that diverged."""
        places = [(lam, alpha) for lam in lambdas for alpha in alphas]
        return {
            (lam, alpha): self.results.where(**self.usual | {"lam": lam, "alpha": alpha})
            for lam, alpha in places
        }


def ruined_trainings(one: Results) -> int:
    """How many trainings diverged, or ended below an accuracy of `RUINED`."""
    return sum(bool(row.failure) or row.accuracy["test"] < RUINED for row in one.rows)


def accuracy_apart(one: Results, other: Results) -> float:
    """The accuracy of one setting minus that of another, on the average over their common seeds."""
    common = {row.seed for row in one.rows} & {row.seed for row in other.rows}
    here = one.seeds(common).by_seed("accuracy")
    there = other.seeds(common).by_seed("accuracy")
    return float(here.mean() - there.mean())


def nearest(one: Results, controls: Mapping[float, Results]) -> float:
    """The strength of the control whose accuracy is nearest."""
    return min(controls, key=lambda strength: abs(accuracy_apart(one, controls[strength])))


def watched_arms(watched: Results) -> dict[str, list[Results]]:
    """Every epoch of the training, and of each way to go on from it, by what figures call it.

    The first is epoch 0. Trainings that diverged have no epochs to show, and are left out.
    """
    by_arm: dict[str, list[Results]] = {"training": [], "PAST": [], "uniform ℓ1": [], "λ = 0": []}
    for moment in watched.settings():
        if not all(row.failure for row in moment.rows):
            by_arm[_arm(moment.rows[0].settings)].append(moment.finished())
    for moments in by_arm.values():
        moments.sort(key=lambda moment: moment.rows[0].settings["epoch"])
    return {arm: moments for arm, moments in by_arm.items() if moments}


def _arm(settings: Mapping[str, Any]) -> str:
    if settings["defense"] == "Plain":
        return "training"
    if settings["lam"] == 0:
        return "λ = 0"
    return "PAST" if settings["alpha"] > 0 else "uniform ℓ1"
