"""What `mialib reproduce` makes: an item, the evidence that it reads, and what comes out.

An item is one figure or table of a paper. It names the plans that it needs at each profile; `make`
turns their results into pictures, laid out as the paper has them, and into lines that put the
published number beside the one found here.

    evidence = Evidence("cpu")
    evidence.results("photographs")     # one's own, or shipped; at this profile, or an error
    made = item.make(evidence)
    made.pictures["past-fig-3"], made.lines[0].own
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mialib import profiles
from mialib.bank import Bank
from mialib.course.plots.picture import Picture
from mialib.errors import check_choice
from mialib.estimates import Estimate
from mialib.experiments import banks, running
from mialib.results import Results

# States of a result: of the paper's own data, of other data, or of none.
REAL = "real"
STAND_IN = "stand-in"
NOT_RUN = "not run"


class MissingEvidenceError(ValueError):
    """Results that an item needs are not there; the sentence says which command makes them."""


@dataclass(frozen=True)
class Line:
    """One line of an item's table.

    row          the ledger's row that it belongs to, such as "past-fig-1a"
    what         what the number is, in words
    published    what the paper printed; None where it only drew a picture
    own          the same number, found here
    """

    row: str
    what: str
    published: float | None
    own: Estimate


@dataclass(frozen=True, eq=False)
class Made:
    """An item at one profile: pictures by the name of their file, and the lines of its table.

    The first line of each ledger row is the number that the ledger shows.
    """

    pictures: Mapping[str, Picture]
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results and reference models of one profile, each read once.

    `read` says by name what was asked for: the provenance of whatever was made. `told` has what
    results say of themselves, which is soon read.
    """

    profile: str
    read: dict[str, Results] = field(default_factory=dict)
    told: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    banks_read: dict[str, banks.Found] = field(default_factory=dict)

    def __post_init__(self):
        check_choice("profile", self.profile, profiles.NAMES)

    def results(self, plan: str) -> Results:
        """One's own results of the plan at this profile, or the shipped ones."""
        if plan not in self.read:
            found = running.results_at(plan, self.profile)
            if found is None:
                raise MissingEvidenceError(
                    f"There are no results of the plan {plan!r} at {self.profile!r} yet. "
                    f"Make them: mialib run {plan} --profile {self.profile}"
                )
            self.read[plan] = found
        return self.read[plan]

    def about(self, plan: str) -> dict[str, Any] | None:
        """What the plan's results say of themselves, if there are any; no score is unpacked."""
        if plan not in self.told:
            self.told[plan] = running.about_at(plan, self.profile)
        return self.told[plan]

    def bank(self, experiment: str = "bank") -> Bank:
        """The reference models of this profile."""
        if experiment not in self.banks_read:
            found = banks.references_at(self.profile, experiment)
            if found is None:
                raise MissingEvidenceError(
                    f"There are no reference models ({experiment}) at {self.profile!r} yet. "
                    f'Make them: mialib bank --profile {self.profile} --experiment "{experiment}"'
                )
            self.banks_read[experiment] = found
        return self.banks_read[experiment].bank

    def has_bank(self, experiment: str) -> bool:
        try:
            self.bank(experiment)
        except MissingEvidenceError:
            return False
        return True


@dataclass(frozen=True)
class Item:
    """One figure or table of a paper.

    name      what `mialib reproduce` calls it
    paper     "PAST", "CRL" or "sparsity"
    shows     what is to be seen, in one line
    data      the dataset that the paper shows it on; results on another are a stand-in
    plans     what it needs at each profile; nothing at all where no training is needed
    banks     experiments of reference models that it needs
    make      from evidence to pictures and lines
    variants  a plan that says less at a fraction of the cost, by profile
    """

    name: str
    paper: str
    shows: str
    data: str
    plans: Mapping[str, tuple[str, ...]]
    make: Callable[[Evidence], Made]
    banks: tuple[str, ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_training(self) -> bool:
        return bool(self.plans or self.banks)

    def plans_at(self, profile: str) -> tuple[str, ...]:
        """The plans that it needs there; an error names the profiles that it can be made at."""
        check_choice("profile", profile, profiles.NAMES)
        if not self.needs_training or profile in self.plans:
            return tuple(self.plans.get(profile, ()))
        raise ValueError(
            f"{self.name} cannot be made at the profile {profile!r}: no plan of that profile has "
            f"what it shows. It can be made at {', '.join(self.plans)}."
        )

    def state(self, evidence: Evidence, data: str = "") -> str:
        """Whether there is evidence, and whether it is of the paper's data.

        `data` is that of one panel, where it is not the item's.
        """
        if not self.needs_training:
            return REAL
        if evidence.profile not in self.plans:
            return NOT_RUN
        told = [evidence.about(plan) for plan in self.plans[evidence.profile]]
        datasets = {about["data"] for about in told if about is not None}
        if None in told or not all(evidence.has_bank(experiment) for experiment in self.banks):
            return NOT_RUN
        experiments = profiles.load(evidence.profile).experiments
        datasets |= {experiments[experiment].data for experiment in self.banks}
        names = {_without_scaling(name) for name in datasets}
        return REAL if names == {_without_scaling(data or self.data)} else STAND_IN


def _without_scaling(dataset: str) -> str:
    """PAST only divides by 255 where others standardise: the records are the same."""
    return dataset.removesuffix("_past")
