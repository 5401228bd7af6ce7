"""LiRA, the likelihood ratio attack: are IN or OUT models more like the target on this record?

    LiRA().fit(references).score(target)   # online: which Gaussian explains φ better, IN or OUT?
    LiRA(online=False)                     # offline: how far does φ lie above OUT?

Λ(x) = log N(φ; μ_in, σ_in) − log N(φ; μ_out, σ_out), with φ = log p_y / (1 − p_y): Carlini and
others 2022, "Membership inference attacks from first principles". Introduced in notebook 05.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.attacks.base import Need, UnplayableError
from mialib.attacks.reference import ReferenceAttack, answers, checked_tables, count_models
from mialib.bank import Bank
from mialib.errors import check_choice, check_flag
from mialib.signals import Signals, record_slices

SMALLEST_DEVIATION = 1e-6  # Models that all answer alike must not divide by zero.


@dataclass(frozen=True)
class LiRA(ReferenceAttack):
    """Gaussians of φ, one over the models that hold the record (IN), one over the others (OUT).

    `online` compares both; offline asks only how far the target lies above OUT. `variance` is σ²,
    fitted to each "record", or one "pooled" over all residuals for IN and one for OUT, better with
    few models. `center` is μ: the "mean", or the "median" that the authors' code takes.
    `as_published_code` follows that code where it leaves the paper: pooled, both σ are the raw IN
    values'; offline, OUT's density has two sides.
    """

    online: bool = True
    variance: str = "record"
    center: str = "mean"
    as_published_code: bool = False

    def __post_init__(self):
        check_settings(self.online, self.variance, self.center, self.as_published_code)

    @property
    def needs(self) -> frozenset[Need]:
        needs = {Need.OUTPUTS, Need.REFERENCES}
        if self.online:
            needs.add(Need.IN_REFERENCES)
        return frozenset(needs)

    def scores(self, references: Bank, target: Signals) -> np.ndarray:
        phi = answers(references, target)
        return lira_scores(
            phi.target,
            phi.references,
            references.is_member,
            online=self.online,
            variance=self.variance,
            center=self.center,
            as_published_code=self.as_published_code,
        )


def check_settings(online: bool, variance: str, center: str, as_published_code: bool) -> None:
    """Refuse settings that LiRA does not have."""
    check_flag(online=online, as_published_code=as_published_code)
    check_choice("variance", variance, ("record", "pooled"))
    check_choice("center", center, ("mean", "median"))


def lira_scores(
    phi: ArrayLike,
    reference_phi: ArrayLike,
    is_in: ArrayLike,
    *,
    online: bool = True,
    variance: str = "record",
    center: str = "mean",
    as_published_code: bool = False,
) -> np.ndarray:
    """Log-likelihood ratio of IN to OUT (online), or −log Pr[Z > φ] under OUT (offline): (n,).

    `phi` (n,) or (queries, n) is the target's φ, `reference_phi` (models, n) or (models, queries,
    n) the references'; `is_in` (models, n) says who holds which record. Several queries are
    averaged. The settings are those of `LiRA`.
    """
    check_settings(online, variance, center, as_published_code)
    phi, reference_phi, is_in = checked_tables(phi, reference_phi, is_in)
    out = fit_gaussian(reference_phi, ~is_in, variance=variance, center=center, side="OUT of")
    inside = None
    if online:
        inside = fit_gaussian(reference_phi, is_in, variance=variance, center=center, side="IN")
    if as_published_code and variance == "pooled":
        deviation = raw_deviation(reference_phi, is_in if online else ~is_in)
        out = out._replace(deviation=deviation)
        inside = inside and inside._replace(deviation=deviation)

    out_z = (phi - out.center) / out.deviation
    if inside is not None:
        in_z = (phi - inside.center) / inside.deviation
        # log N(φ; μ_in, σ_in) − log N(φ; μ_out, σ_out): the squares, then the deviations.
        log_ratio = (out_z**2 - in_z**2) / 2 + np.log(out.deviation / inside.deviation)
        return log_ratio.mean(axis=0)
    if as_published_code:
        minus_log_density = out_z**2 / 2 + np.log(out.deviation)
        return minus_log_density.mean(axis=0)
    minus_log_tail = -scipy.special.log_ndtr(-out_z)
    return minus_log_tail.mean(axis=0)


class Gaussian(NamedTuple):
    """μ and σ of φ for each query and record."""

    center: np.ndarray  # μ: (queries, n)
    deviation: np.ndarray  # σ: (queries, n), or one common to all records


def fit_gaussian(
    phi: np.ndarray, mask: np.ndarray, *, variance: str, center: str, side: str
) -> Gaussian:
    """The Gaussian of φ (models, queries, n) over the models in `mask` (models, n)."""
    counts = count_models(mask, side)
    freedom = counts - 1
    if variance == "pooled":
        freedom = np.broadcast_to(freedom.sum(), counts.shape)
    if not freedom.all():
        raise UnplayableError(
            f"{(freedom == 0).sum()} records are {side} fewer than two reference models: there is "
            'no variance to fit. Use variance="pooled", more models, or RMIA, which needs only one.'
        )
    models, queries, n = phi.shape
    middle = np.empty((queries, n))
    squares = np.empty((queries, n))
    for records in record_slices(n, width=models * queries):
        part = phi[..., records].astype(float, copy=False)
        found = center_and_squares(part, mask[:, records], counts[records], center=center)
        middle[:, records] = found.center
        squares[:, records] = found.squares
    if variance == "pooled":
        squared_deviation = squares.sum(axis=1, keepdims=True) / freedom
    else:
        squared_deviation = squares / counts
    return Gaussian(middle, np.sqrt(squared_deviation).clip(SMALLEST_DEVIATION))


class Moments(NamedTuple):
    """Of the φ of some models, for each query and record: (queries, k)."""

    center: np.ndarray  # their mean or median
    squares: np.ndarray  # the sum of their squared distances from the mean


def center_and_squares(
    phi: np.ndarray, mask: np.ndarray, counts: np.ndarray, *, center: str
) -> Moments:
    """Of φ (models, queries, k) over the models in `mask` (models, k), so many: `counts` (k,)."""
    weight = mask.astype(float)
    mean = np.einsum("mn,mqn->qn", weight, phi) / counts
    residuals = phi - mean
    squares = np.einsum("mn,mqn,mqn->qn", weight, residuals, residuals)
    if center == "mean":
        return Moments(mean, squares)
    median = np.nanmedian(np.where(mask[:, None], phi, np.nan), axis=0)
    return Moments(median, squares)


def raw_deviation(phi: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """One deviation of all φ (models, queries, n) in `mask` (models, n), around one mean."""
    everywhere = np.broadcast_to(mask[:, None], phi.shape)
    return phi[everywhere].astype(float).std()
