"""Reference attacks: how does the target answer on this record, beside models that held it and models that did not?

Each attack takes a `Bank` of references and the target's `Signals` on the same records, and returns scores, higher =
member. What they do to arrays stands in `lira_scores`, `rmia_scores`, `attack_r_scores`. Introduced in notebook 05.

- `lira` (Carlini and others, 2022): Gaussians of φ, one over the models that hold the record (IN), one over the others
  (OUT); online compares both, offline asks how far the target lies above OUT.
- `rmia` (Zarifzadeh and others, 2024): the share of population records that the record beats by a factor γ.
- `attack_r` (Ye and others, 2022): the place of the target's loss among the OUT models' losses on the same record.
- `attack_p`: its place among the target's own losses on the population; it ranks the records as the loss does."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.bank import Bank
from mialib.errors import as_array, check_choice, check_range, refuse
from mialib.signals import Signals

TINY = np.finfo(np.float64).tiny  # below which a probability must not be divided by


def lira(references: Bank, target: Signals, **settings) -> np.ndarray:
    """LiRA's scores; the settings are those of `lira_scores`."""
    return lira_scores(*_answers(references, target), references.is_member, **settings)


def lira_scores(
    phi: ArrayLike,
    others: ArrayLike,
    is_in: ArrayLike,
    *,
    online=True,
    variance="record",
    center="mean",
    slips=False,
) -> np.ndarray:
    """Log-likelihood ratio of IN to OUT (online), or −log Pr[Z > φ] under OUT (offline), averaged over queries: (n,).
    `phi` (n,) or (queries, n) is the target's φ, `others` (models, n) or (models, queries, n) the references'; `is_in`
    (models, n) says who holds which record. `variance` is fitted to each "record", or one "pooled" over all residuals
    for IN and one for OUT, better with few models. The authors' code takes the "median" for `center`. `slips` follow it
    where it leaves the paper: pooled, both deviations are the raw IN values'; offline, OUT's density has two sides."""
    target, references, is_in = _checked(phi, others, is_in)
    check_choice("variance", variance, ("record", "pooled"))
    check_choice("center", center, ("mean", "median"))
    out_mean, out_deviation = _gaussian(references, ~is_in, variance, center, "OUT of")
    if online:
        in_mean, in_deviation = _gaussian(references, is_in, variance, center, "IN")
    if slips and variance == "pooled":
        held = is_in if online else ~is_in
        raw = references[np.broadcast_to(held[:, None], references.shape)]
        in_deviation = out_deviation = raw.std()
    out = (target - out_mean) / out_deviation
    if not online:
        return (
            (out**2 / 2 + np.log(out_deviation)) if slips else -scipy.special.log_ndtr(-out)
        ).mean(axis=0)
    inside = (target - in_mean) / in_deviation
    return ((out**2 - inside**2) / 2 + np.log(out_deviation / in_deviation)).mean(axis=0)


def rmia(
    references: Bank, target: Signals, *, online: bool = False, gamma: float = 1.0, a: float = 0.3
) -> np.ndarray:
    """RMIA's scores, a share of the population in 0 … 1, averaged over queries: (n,). Offline, Pr(x) comes from OUT
    models, and `a` makes up for the missing IN ones; online, from all. The population, which none holds, is offline."""
    expit = scipy.special.expit  # p_y is φ's logistic function
    p, p_references = map(expit, _answers(references, target))
    z, z_references = map(
        expit, _answers(references.population, target.population, of="population")
    )
    mixed = p_references.mean(axis=0)
    if not online:
        out = ~references.is_member
        mixed = _mixed(
            np.einsum("mn,mqn->qn", out.astype(float), p_references) / _count(out, "OUT of"), a
        )
    ratio, z_ratio = p / mixed.clip(TINY), z / _mixed(z_references.mean(axis=0), a).clip(TINY)
    return np.mean(
        [rmia_scores(*pair, gamma=gamma) for pair in zip(ratio, z_ratio, strict=True)], axis=0
    )


def rmia_scores(ratio: ArrayLike, population_ratio: ArrayLike, *, gamma: float = 1.0) -> np.ndarray:
    """The share of z with (Pr(x | target) / Pr(x)) / (Pr(z | target) / Pr(z)) ≥ γ: (n,)."""
    check_range(1e-300, np.inf, gamma=gamma)
    ratio, population = (
        as_array(ratio, what="ratio"),
        as_array(population_ratio, what="population_ratio"),
    )
    nan = np.isnan(ratio).any() or np.isnan(population).any()
    refuse(
        nan,
        "Some likelihood ratios are NaN. Leave out records whose probability is 0 in every model.",
    )
    fit, found = (
        ratio.ndim == population.ndim == 1 and population.size,
        f"{ratio.shape} and {population.shape}",
    )
    refuse(not fit, f"Expected ratios (n,) and (m ≥ 1,) of a population, found {found}.")
    # With both sides sorted, each z has a first record that beats it, and so do all later ones: no table of pairs.
    order = np.argsort(ratio)
    first, scores = np.searchsorted(ratio[order] / gamma, np.sort(population)), np.empty(len(ratio))
    scores[order] = np.cumsum(np.bincount(first, minlength=len(ratio) + 1))[:-1] / len(population)
    return scores


def attack_r(references: Bank, target: Signals) -> np.ndarray:
    """Minus the place of the target's loss among the OUT models' losses on the same record, averaged over queries."""
    ours, theirs = (np.logaddexp(0, -phi) for phi in _answers(references, target))  # φ → loss
    return np.mean(
        [attack_r_scores(ours[q], theirs[:, q], references.is_member) for q in range(len(ours))],
        axis=0,
    )


def attack_r_scores(loss: ArrayLike, reference_losses: ArrayLike, is_in: ArrayLike) -> np.ndarray:
    """Minus the share α of a record's OUT losses that lie below its own, interpolated between 0 and 1,000: (n,)."""
    loss, references, is_in = _checked(loss, reference_losses, is_in, finite=False)
    _count(~is_in, "OUT of")
    loss, references = loss[0].clip(0, 1000), references[:, 0].clip(0, 1000)
    places = np.vstack(
        [np.zeros_like(loss), np.where(is_in, 1000, references), np.full_like(loss, 1000)]
    )
    places.sort(axis=0)  # (models + 2, n); the IN models stand at the end and are not counted
    out, rows = (~is_in).sum(axis=0), np.arange(len(loss))
    below, not_above = (
        (places < loss).sum(axis=0),
        np.minimum((places <= loss).sum(axis=0), out + 2),
    )
    lower, upper = places[not_above - 1, rows], places[np.minimum(not_above, out + 1), rows]
    share = np.divide(loss - lower, upper - lower, out=np.zeros_like(loss), where=upper > lower)
    place = np.where(
        not_above > below, (below + not_above - 1) / 2, not_above - 1 + share
    )  # Ties count half.
    return -place / (out + 1)


def attack_p(references: Bank | None, target: Signals) -> np.ndarray:
    """Minus the share of the target's population losses that lie below the record's own; needs no reference model."""
    refuse(
        target.population is None,
        "Attack P needs the target's answers on a population: Signals(…, population=…).",
    )
    ends = np.r_[0.0, np.sort(target.population.loss()), 1000.0]
    return -np.interp(target.loss(), ends, np.linspace(0, 1, len(ends)))


def _gaussian(
    phi: np.ndarray, mask: np.ndarray, variance: str, center: str, side: str
) -> tuple[np.ndarray, ...]:
    """Centre and deviation of φ (models, queries, n) over the models in `mask` (models, n): two of (queries, n)."""
    held, weight = _count(mask, side), mask.astype(float)
    mean = middle = np.einsum("mn,mqn->qn", weight, phi) / held
    if center == "median":
        middle = np.nanmedian(np.where(mask[:, None], phi, np.nan), axis=0)
    spread = phi - mean
    squares = np.einsum("mn,mqn->qn", weight, np.square(spread, out=spread))
    freedom = np.broadcast_to((held - 1).sum(), held.shape) if variance == "pooled" else held - 1
    fault = f"{(freedom == 0).sum()} records are {side} fewer than two reference models: there is no variance to fit"
    refuse(
        not freedom.all(),
        f'{fault}. Use variance="pooled", more models, or RMIA, which needs only one.',
    )
    square = (
        squares / held if variance == "record" else squares.sum(axis=1, keepdims=True) / freedom
    )
    return middle, np.sqrt(square).clip(
        1e-6
    )  # Models that all answer alike must not divide by zero.


def _count(mask: np.ndarray, side: str) -> np.ndarray:
    held = mask.sum(axis=0)
    if not held.all():
        fault = f"{(held == 0).sum()} of {len(held)} records are {side} no reference model"
        remedy = (
            "use the offline form of the attack"
            if side == "IN"
            else "add models that do not hold them"
        )
        raise ValueError(
            f"{fault} (the first is number {held.argmin()}). Leave them out, or {remedy}."
        )
    return held


def _checked(
    target: ArrayLike, references: ArrayLike, is_in: ArrayLike, *, finite: bool = True
) -> tuple:
    """As (queries, n), (models, queries, n) and (models, n) bool, or what is wrong."""
    target = np.atleast_2d(as_array(target, what="target").astype(float))
    references, is_in = (
        as_array(references, what="references").astype(float),
        as_array(is_in, kind="b", what="is_in"),
    )
    references = references[:, None] if references.ndim == 2 else references
    fit = references.shape[1:] == target.shape and is_in.shape == (
        len(references),
        target.shape[-1],
    )
    expected = "Expected the target (n,), references (models, n) and is_in (models, n), with several queries"
    found = f"found {target.shape}, {references.shape} and {is_in.shape}"
    refuse(not fit, f"{expected} (queries, n) and (models, queries, n); {found}.")
    bad = sum(
        (~np.isfinite(values) if finite else np.isnan(values)).sum()
        for values in (target, references)
    )
    refuse(
        bad, f"{bad} values are NaN or infinite. Compute them from logits, where they stay finite."
    )
    return target, references, is_in


def _answers(
    references: Bank | None, target: Signals | None, *, of: str = "target"
) -> tuple[np.ndarray, np.ndarray]:
    """φ of the target (queries, n) and of the references (models, queries, n), if they are about the same records."""
    if references is None or target is None:
        raise ValueError(
            f"This attack needs a {of}: answers of target and references on the same known non-members."
        )
    phi, others = target.confidence(), references.confidence
    ours, theirs = (target.logits.shape[1], len(phi)), (references.logits.shape[2], others.shape[1])
    refuse(
        theirs != ours,
        f"References and {of} differ in (classes, queries): {theirs} and {ours}. Ask all alike.",
    )
    alike = np.array_equal(references.labels, target.labels)
    refuse(
        not alike,
        f"References and {of} must be about the same records in the same order; the labels differ.",
    )
    return phi, others


def _mixed(mean_out: np.ndarray, a: float) -> np.ndarray:
    """Pr(x) over all models, guessed from the OUT models alone."""
    check_range(0, 1, a=a)
    return 0.5 * ((1 + a) * mean_out + (1 - a))
