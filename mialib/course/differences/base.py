"""What a difference between a text and its code is, and how its effect is measured.

Every experiment is a function `(material, variant) → draws`: the number that one variant gives, in
each training and in every draw of records. `compare` asks it for each variant that there is.

    def ties(plain: Results, variant: Variant) -> np.ndarray: ...           # (trainings, 1 + draws)

    found = compare(SOURCES["ties"], partial(ties, plain), evidence=…)
    found.estimate("as coded"), found.effect        # an Estimate each; the effect is paired
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from IPython.display import Markdown

from mialib import markdown, metrics
from mialib.course.differences.sources import Source
from mialib.course.plots.spoken import with_minus_signs
from mialib.errors import check_choice
from mialib.estimates import Estimate, words
from mialib.results import Results
from mialib.results.repeats import over_seeds_and_records, record_counts

Variant = Literal["as printed", "as coded", "as it should be"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
Experiment = Callable[[Variant], np.ndarray]  # variant → (trainings, 1 + draws)


# What a picture beside the numbers shows.


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves by name, x and y of each; `is_roc` draws chance, too."""

    curves: Mapping[str, tuple[np.ndarray, np.ndarray]]
    xlabel: str
    ylabel: str
    is_roc: bool = False


@dataclass(frozen=True, eq=False)
class Losses:
    """Members' and non-members' losses of one training, and thresholds by name."""

    members: np.ndarray
    non_members: np.ndarray
    thresholds: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Dots:
    """Estimates by name, along one axis."""

    estimates: Mapping[str, Estimate]
    label: str


Evidence = Curves | Losses | Dots


@dataclass(frozen=True, eq=False)
class Difference:
    """One difference, measured.

    source     what the text says, what the code does, and where
    draws      by variant (trainings, 1 + draws); a variant that nobody has is not there
    evidence   what explains the numbers
    """

    source: Source
    draws: Mapping[Variant, np.ndarray]
    evidence: Evidence

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def variants(self) -> list[Variant]:
        """Those that there are; where a text is silent, nothing is printed."""
        return [variant for variant in VARIANTS if variant in self.draws]

    @property
    def trainings(self) -> int:
        return len(self.draws["as coded"])

    @property
    def right(self) -> Variant:
        """What the code is compared with: as it should be, or as printed where that is open."""
        return "as it should be" if "as it should be" in self.draws else "as printed"

    def estimate(self, variant: Variant) -> Estimate:
        """The number of one variant, with an interval over trainings and records."""
        check_choice(f"variant of {self.name!r}", variant, self.variants)
        estimate = over_seeds_and_records(self.draws[variant])
        return within(estimate, lowest=self.source.lowest)

    @property
    def effect(self) -> Estimate:
        """As coded minus as it should be, training by training and record by record."""
        return over_seeds_and_records(self.draws["as coded"] - self.draws[self.right])

    @property
    def verb(self) -> str:
        """What the code does to the number."""
        return words(
            self.effect, higher="raises", lower="lowers", same="does not significantly change"
        )

    def _repr_markdown_(self) -> str:
        return _markdown([self])


def compare(source: Source, experiment: Experiment, *, evidence: Evidence) -> Difference:
    """Ask the experiment for every variant of the source."""
    there: list[Variant] = [variant for variant in VARIANTS if source.says(variant)]
    draws = dict(zip(there, map(experiment, there), strict=True))
    return Difference(source, draws, evidence)


def table(differences: Iterable[Difference]) -> Markdown:
    """A row for each: its number in every variant, and the effect of the code."""
    return Markdown(_markdown(differences))


def _markdown(differences: Iterable[Difference]) -> str:
    lines = []
    for one in differences:
        cells = [str(one.estimate(v)) if v in one.draws else "–" for v in VARIANTS]
        lines.append([f"{one.name}: {one.source.number}", *cells, str(one.effect)])
    table = markdown.table(["", *VARIANTS, "effect of the code"], lines)
    return with_minus_signs(table)


def within(estimate: Estimate, *, lowest: float) -> Estimate:
    """The same number, its interval cut off where no such number lies: below this, or above 1."""
    return replace(estimate, low=max(estimate.low, lowest), high=min(estimate.high, 1.0))


# What several experiments take.


def in_common(one: Results, other: Results) -> tuple[Results, Results]:
    """The trainings whose seeds both have; one that diverged has no partner."""
    seeds = {row.seed for row in one.rows} & {row.seed for row in other.rows}
    return one.seeds(seeds), other.seeds(seeds)


def advantage_draws(is_called: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """TPR − FPR of the calls of each training, (trainings, n) → (trainings, 1 + draws)."""
    counts = record_counts(is_member)
    return counts.mean_of_members(is_called) - counts.mean_of_non_members(is_called)


def auc_draws(scores: Iterable[np.ndarray], is_member: np.ndarray) -> np.ndarray:
    """The AUC of the scores of each training: (trainings, 1 + draws)."""
    counts = record_counts(is_member)
    curves = [metrics.weighted_roc(one, counts.members, counts.non_members) for one in scores]
    return np.stack([metrics.area(*curve) for curve in curves])


def without_records(by_training: Iterable[float]) -> np.ndarray:
    """A number that no draw of records changes, such as one of weights: (trainings, 3)."""
    return np.tile(np.array(list(by_training), float)[:, None], 3)
