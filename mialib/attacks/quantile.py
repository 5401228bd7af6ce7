"""QMIA: how sure is the model of this record, beside non-members that look like it?

    population = query.ask_about(model, known_non_members, inputs=True)
    target = replace(query.ask(model, side, inputs=True), population=population)
    QMIA().fit().score(target)               # (n,), higher = member; no shadow, no reference

An easy record is classified surely whether it was a member or not, so one threshold for all accuses
the easy and lets the hard go. Bertran and others 2023 (arXiv 2307.03694) learn, from known
non-members alone, how φ is distributed *given the record*, and ask how far above it the record
stands. The regressions are scikit-learn's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mialib.attacks.base import Attack, FittedAttack, Need, check_seed, check_target
from mialib.errors import check_range
from mialib.signals import Signals

FEWEST = 30  # known non-members, of which every regression needs some
FOLDS = 5
COMPONENTS = 32  # Wider inputs are replaced by so many principal components.
MOST_CATEGORIES = 255  # that scikit-learn's trees take for classes; more are taken for numbers
SMALLEST_SHARE = 1e-6  # of the mean squared residual: no squared residual counts for less


@dataclass(frozen=True)
class QMIA(Attack):
    """How many deviations φ lies above what is expected of such a record as a non-member.

    The paper's Gaussian form: trees predict the mean μ and the variance σ² of φ from the record's
    column "inputs" and its label, and the score is (φ − μ)/σ, less the level that a share `alpha`
    (the paper's α, the false-positive rate) of the population exceeds. So 0 is the threshold, and
    it was found on known non-members alone; fewer than 1/α of them cannot resolve it. "inputs" may
    hold the records or any summary of them that was not made by the target. The population must
    hold none of the records that are judged. Of a larger one, `most` are drawn by `seed`.
    """

    alpha: float = 0.01
    most: int = 20_000
    seed: int = 0

    def __post_init__(self):
        check_range(1e-6, 0.5, alpha=self.alpha)
        check_range(FEWEST, np.inf, whole=True, most=self.most)
        check_seed(self.seed)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.OUTPUTS, Need.POPULATION, Need.INPUTS})

    def fit(self, shadow: Any = None) -> FittedAttack:
        """Nothing is learned from a shadow: the target's own answers to its population suffice."""
        return FittedQMIA(self)


@dataclass(frozen=True, eq=False)
class FittedQMIA(FittedAttack):
    """The attack itself, which learns from the population that comes with each target."""

    attack: QMIA
    threshold: float = 0.0

    def score(self, target: Signals) -> np.ndarray:
        population = self._population(target)
        # The number of threads would change the last bits, and so the trees that grow from them.
        with threadpool_limits(1):
            expected = expected_of_nonmembers(population, seed=self.attack.seed)
            deviations = expected.deviations(target)
        level = np.quantile(expected.held_out, 1 - self.attack.alpha)
        return deviations - level

    def _population(self, target: Signals) -> Signals:
        check_target(target)
        population = target.population
        if population is None or len(population) < FEWEST:
            found = "none" if population is None else f"{len(population)} records"
            raise ValueError(
                f"QMIA needs the target's answers on a population of at least {FEWEST} known "
                f"non-members, found {found}: Signals(…, population=…)."
            )
        width = inputs_of(target).shape[1]
        of_population = inputs_of(population).shape[1]
        if of_population != width:
            raise ValueError(
                f"The inputs of target and population have {width} and {of_population} numbers a "
                "record. Give both the same columns."
            )
        if len(population) <= self.attack.most:
            return population
        rng = np.random.default_rng(self.attack.seed)
        return population.take(rng.choice(len(population), self.attack.most, replace=False))


@dataclass(frozen=True, eq=False)
class Expected:
    """What is expected of φ for a record that is no member.

    reduce     inputs → fewer columns
    mean       conditions → μ, a fitted regression
    variance   conditions → σ², another one
    held_out   (m,): the population's own (φ − μ)/σ, each by regressions that did not see it
    """

    reduce: Any
    mean: Any
    variance: Any
    held_out: np.ndarray

    def deviations(self, target: Signals) -> np.ndarray:
        """(φ − μ)/σ of each record: (n,)."""
        given = conditions(target, self.reduce)
        sigma = np.sqrt(self.variance.predict(given))
        return (own_phi(target) - self.mean.predict(given)) / sigma


def expected_of_nonmembers(population: Signals, *, seed: int = 0) -> Expected:
    """Learn mean and variance of φ given the record, on records that are surely no members.

    The mean minimises the squared error. The variance minimises the gamma deviance of the squared
    residuals, which is the Gaussian likelihood: log σ² + r²/σ². Residuals are taken from folds that
    the mean was not fitted on; within its own fold it is nearer than it will ever be to others.
    """
    from sklearn.model_selection import KFold, cross_val_predict

    reduce = fit_reduction(inputs_of(population), seed=seed)
    given = conditions(population, reduce)
    phi = own_phi(population)
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    mean = trees("squared_error", population)
    variance = trees("gamma", population)

    residuals = phi - np.asarray(cross_val_predict(mean, given, phi, cv=folds))
    squared = floored(residuals**2)
    held_out_variance = np.asarray(cross_val_predict(variance, given, squared, cv=folds))
    return Expected(
        reduce=reduce,
        mean=mean.fit(given, phi),
        variance=variance.fit(given, squared),
        held_out=residuals / np.sqrt(held_out_variance),
    )


def trees(loss: str, population: Signals) -> Any:
    """Scikit-learn's boosted trees; the first of their columns is the label.

    They are small, with many records in each leaf: a variance that follows single records costs
    more at low false-positive rates than one that is too smooth.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    classes = population.logits.shape[1]
    settings: dict[str, Any] = {
        "loss": loss,
        "max_leaf_nodes": 8,
        "min_samples_leaf": max(20, len(population) // 20),
        "early_stopping": False,
        "categorical_features": [0] if classes <= MOST_CATEGORIES else None,
    }
    return HistGradientBoostingRegressor(**settings)


def fit_reduction(inputs: np.ndarray, *, seed: int) -> Any:
    """Principal components of wide inputs; None where there are few columns."""
    from sklearn.decomposition import PCA

    if inputs.shape[1] <= COMPONENTS:
        return None
    components = min(COMPONENTS, len(inputs))
    return PCA(components, random_state=seed).fit(inputs)


def conditions(signals: Signals, reduce: Any) -> np.ndarray:
    """What the regressions are given of each record, the label first: (n, 1 + columns)."""
    inputs = inputs_of(signals)
    columns = inputs if reduce is None else reduce.transform(inputs)
    return np.column_stack([signals.labels, columns])


def inputs_of(signals: Signals) -> np.ndarray:
    """The column "inputs" as (n, columns), or what is wrong with it."""
    column = signals.column("inputs")
    with np.errstate(over="ignore"):
        inputs = column.astype(np.float32)
    if inputs.size == 0 or not np.isfinite(inputs).all():
        raise ValueError(
            "inputs must be finite numbers (n, …), at least one a record and none too large for "
            f"float32; found shape {inputs.shape}."
        )
    return inputs.reshape(len(inputs), -1)


def own_phi(signals: Signals) -> np.ndarray:
    """φ of the record as it is, without its other views: (n,)."""
    return signals.phi()[0]


def floored(squared: np.ndarray) -> np.ndarray:
    """Squared residuals that the gamma deviance can take: above 0. All 0 become 1."""
    mean = squared.mean()
    if mean == 0:
        return np.ones_like(squared)
    return np.maximum(squared, SMALLEST_SHARE * mean)
