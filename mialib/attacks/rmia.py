"""RMIA, the robust membership inference attack: how much of a population does a record beat?

    RMIA(gamma=2.0).fit(references).score(target)
    rmia_scores(likelihood_ratios(phi, phi_references, is_in), likelihood_ratios(z, z_references))

score(x) = Pr_z[ (Pr(x | θ) / Pr(x)) / (Pr(z | θ) / Pr(z)) ≥ γ ] over records z of a population that
no model holds. Pr(x | θ) is the target's p_y, Pr(x) its mean over references: Zarifzadeh and others
2024, "Low-cost high-power membership inference attacks", Section 3. Introduced in notebook 05.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.attacks.base import Need
from mialib.attacks.reference import ReferenceAttack, answers, checked_tables, count_models
from mialib.bank import Bank
from mialib.errors import as_array, check_flag, check_range, plain_number
from mialib.signals import Signals, record_slices

TINY = np.finfo(np.float64).tiny  # Where Pr(x) rounds to 0, this is divided by instead.


@dataclass(frozen=True)
class RMIA(ReferenceAttack):
    """The share of the population that a record beats by a factor γ, averaged over queries.

    `gamma` is γ. Offline, Pr(x) comes from OUT models, and `offline_a`, the paper's a, makes up for
    the missing IN ones; `online`, from all. The population, which no model holds, is offline.
    """

    online: bool = False
    gamma: float = 1.0
    offline_a: float = 0.3

    def __post_init__(self):
        object.__setattr__(self, "gamma", plain_number(self.gamma))
        object.__setattr__(self, "offline_a", plain_number(self.offline_a))
        check_flag(online=self.online)
        check_gamma(self.gamma)
        check_range(0, 1, offline_a=self.offline_a)

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.OUTPUTS, Need.REFERENCES, Need.POPULATION})

    def scores(self, references: Bank, target: Signals) -> np.ndarray:
        x = answers(references, target)
        z = answers(references.population, target.population, of="population")
        ratio_x = likelihood_ratios(
            x.target,
            x.references,
            references.is_member,
            online=self.online,
            offline_a=self.offline_a,
        )
        ratio_z = likelihood_ratios(z.target, z.references, offline_a=self.offline_a)
        by_query = [
            rmia_scores(of_x, of_z, gamma=self.gamma)
            for of_x, of_z in zip(ratio_x, ratio_z, strict=True)
        ]
        return np.mean(by_query, axis=0)


def likelihood_ratios(
    phi: ArrayLike,
    reference_phi: ArrayLike,
    is_in: ArrayLike | None = None,
    *,
    online: bool = False,
    offline_a: float = 0.3,
) -> np.ndarray:
    """Pr(x | θ) / Pr(x) from φ, in the shape of `phi`: (n,) or (queries, n).

    `reference_phi` is (models, n) or (models, queries, n). `is_in` (models, n) says who holds which
    record; without it nobody holds any, as in a population, which is always offline. The settings
    are those of `RMIA`.
    """
    check_flag(online=online)
    check_range(0, 1, offline_a=offline_a)
    phi = as_array(phi, what="target")
    reference_phi = as_array(reference_phi, what="references")
    if is_in is None:
        nobody = np.zeros(reference_phi.shape[:1] + phi.shape[-1:], bool)
        tables = checked_tables(phi, reference_phi, nobody, finite=False)
        prior = offline_prior(mean_p(tables.references), offline_a)
    else:
        tables = checked_tables(phi, reference_phi, is_in, finite=False)
        if online:
            prior = mean_p(tables.references)
        else:
            prior = offline_prior(mean_p(tables.references, ~tables.is_in), offline_a)
    ratios = p_y(tables.target) / prior.clip(TINY)
    return ratios.reshape(phi.shape)


def mean_p(reference_phi: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """The mean p_y of all models, or of those in `mask` (models, n): (queries, n)."""
    counts = None if mask is None else count_models(mask, "OUT of")
    models, queries, n = reference_phi.shape
    mean = np.empty((queries, n))
    for records in record_slices(n, width=models * queries):
        p = p_y(reference_phi[..., records].astype(float, copy=False))
        if mask is None or counts is None:
            mean[:, records] = p.mean(axis=0)
        else:
            weight = mask[:, records].astype(float)
            mean[:, records] = np.einsum("mn,mqn->qn", weight, p) / counts[records]
    return mean


def offline_prior(mean_out: np.ndarray, a: float) -> np.ndarray:
    """Pr(x) ≈ ½((1 + a)·p̄_out + (1 − a))."""
    return 0.5 * ((1 + a) * mean_out + (1 - a))


def p_y(phi: np.ndarray) -> np.ndarray:
    """The probability of the label, φ's logistic function."""
    return scipy.special.expit(phi)


def check_gamma(gamma: float) -> None:
    check_range(1e-300, np.inf, gamma=gamma)


def rmia_scores(ratio: ArrayLike, population_ratio: ArrayLike, *, gamma: float = 1.0) -> np.ndarray:
    """The share of z with (Pr(x | θ) / Pr(x)) / (Pr(z | θ) / Pr(z)) ≥ γ, from the ratios: (n,)."""
    check_gamma(gamma)
    ratio = as_array(ratio, what="ratio")
    population = as_array(population_ratio, what="population_ratio")
    if np.isnan(ratio).any() or np.isnan(population).any():
        raise ValueError(
            "Some likelihood ratios are NaN. "
            "Leave out records whose probability is 0 in every model."
        )
    if ratio.ndim != 1 or population.ndim != 1 or population.size == 0:
        raise ValueError(
            "Expected ratios (n,) and (m ≥ 1,) of a population, "
            f"found {ratio.shape} and {population.shape}."
        )
    # With both sides sorted, each z has a first record that beats it, and all later ones beat it
    # too: no table of pairs.
    order = np.argsort(ratio)
    first_to_beat = np.searchsorted(ratio[order] / gamma, np.sort(population))
    beaten_first_here = np.bincount(first_to_beat, minlength=len(ratio) + 1)
    beaten = np.cumsum(beaten_first_here)[:-1]
    scores = np.empty(len(ratio))
    scores[order] = beaten / len(population)
    return scores
