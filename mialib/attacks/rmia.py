"""RMIA, the robust membership inference attack: how much of a population does a record beat?

    RMIA(gamma=2.0).fit(references).score(target)

score(x) = Pr_z[ (Pr(x | θ) / Pr(x)) / (Pr(z | θ) / Pr(z)) ≥ γ ] over records z of a population that
no model holds. Pr(x | θ) is the target's p_y, Pr(x) its mean over references: Zarifzadeh and others
2024, "Low-cost high-power membership inference attacks", Section 3. Introduced in notebook 05.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.attacks.base import Need
from mialib.attacks.reference import ReferenceAttack, answers, count_models
from mialib.bank import Bank
from mialib.errors import as_array, check_flag, check_range, plain_number
from mialib.signals import Signals

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
        ratio_x = self._ratio(x.target, self._prior(x.references, references.is_member))
        ratio_z = self._ratio(z.target, self._offline_prior(p_y(z.references).mean(axis=0)))
        by_query = [
            rmia_scores(of_x, of_z, gamma=self.gamma)
            for of_x, of_z in zip(ratio_x, ratio_z, strict=True)
        ]
        return np.mean(by_query, axis=0)

    def _ratio(self, phi: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Pr(x | θ) / Pr(x): (queries, n)."""
        return p_y(phi) / prior.clip(TINY)

    def _prior(self, reference_phi: np.ndarray, is_in: np.ndarray) -> np.ndarray:
        """Pr(x), from all references, or guessed from those that do not hold x: (queries, n)."""
        p = p_y(reference_phi)
        if self.online:
            return p.mean(axis=0)
        out = ~is_in
        mean_out = np.einsum("mn,mqn->qn", out.astype(float), p) / count_models(out, "OUT of")
        return self._offline_prior(mean_out)

    def _offline_prior(self, mean_out: np.ndarray) -> np.ndarray:
        """Pr(x) ≈ ½((1 + a)·p̄_out + (1 − a))."""
        a = self.offline_a
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
