"""The attacks once more, by slow loops over records, models and pairs, to compare with."""

import numpy as np
from scipy.stats import norm


def lira(
    target,
    references,
    is_in,
    *,
    online=True,
    variance="record",
    center="mean",
    as_published_code=False,
):
    """`target` (queries, n), `references` (models, queries, n), `is_in` (models, n)."""
    middle, scores = {"mean": np.mean, "median": np.median}[center], np.zeros(target.shape)
    for q, j in np.ndindex(*target.shape):
        phi = {side: references[is_in[:, j] == side, q, j] for side in (True, False)}
        sigma = {side: phi[side].std() for side in phi}
        if variance == "pooled":
            sigma = {side: pooled(references[:, q], is_in == side) for side in phi}
        # LiRA's code: online both from IN; offline there is only OUT.
        if variance == "pooled" and as_published_code:
            sigma = dict.fromkeys(phi, np.moveaxis(references, 1, 2)[is_in == online].std())
        logpdf = {
            side: norm.logpdf(target[q, j], middle(phi[side]), sigma[side])
            for side in phi
            if len(phi[side])
        }
        if online:
            scores[q, j] = logpdf[True] - logpdf[False]
        elif as_published_code:
            scores[q, j] = -logpdf[False] - np.log(2 * np.pi) / 2
        else:
            scores[q, j] = -norm.logsf(target[q, j], middle(phi[False]), sigma[False])
    return scores.mean(axis=0)


def pooled(phi, mask):
    """One deviation of all residuals of (models, n) from each record's own mean."""
    held = [phi[mask[:, j], j] for j in range(phi.shape[1])]
    squares = sum(((one - one.mean()) ** 2).sum() for one in held)
    return np.sqrt(squares / sum(len(one) - 1 for one in held))


def rmia(p, p_references, is_in, z, z_references, *, online=False, gamma=1.0, offline_a=0.3):
    """Of the label: `p` (n,), `p_references` (models, n); `z`, `z_references`: of a population."""

    def mixed(out):
        return 0.5 * ((1 + offline_a) * np.mean(out) + (1 - offline_a))

    scores = np.zeros(len(p))
    for j in range(len(p)):
        own = p[j] / (p_references[:, j].mean() if online else mixed(p_references[~is_in[:, j], j]))
        scores[j] = np.mean(
            [own / (z[k] / mixed(z_references[:, k])) >= gamma for k in range(len(z))]
        )
    return scores


def attack_r(loss, references, is_in):
    scores = np.zeros(len(loss))
    for j in range(len(loss)):
        places = np.sort([0.0, *references[~is_in[:, j], j], 1000.0])
        steps = np.linspace(0, 1, len(places))
        tied = places == loss[j]
        scores[j] = -(steps[tied].mean() if tied.any() else np.interp(loss[j], places, steps))
    return scores


def threshold(scores, is_member):
    """The best threshold in whole numbers: no rounding can choose among equals."""
    values, members, others = sorted(set(scores), reverse=True), is_member.sum(), (~is_member).sum()
    gains = [
        ((scores >= v) & is_member).sum() * others - ((scores >= v) & ~is_member).sum() * members
        for v in values
    ]
    best = int(np.argmax(gains))
    if gains[best] <= 0:
        return np.nextafter(values[0], np.inf)
    below = values[min(best + 1, len(values) - 1)]
    return values[best] / 2 + below / 2


def risk(scores, is_member, fpr):
    """(caught, accused, auc), each (n,), a tie counting half."""
    called = np.zeros(scores.shape, bool)
    for level in sorted(set(scores.ravel()), reverse=True):
        if (scores >= level)[~is_member].mean() > fpr:
            break
        called = scores >= level
    found = np.zeros((3, scores.shape[1]))
    for j in range(scores.shape[1]):
        held, others = scores[is_member[:, j], j], scores[~is_member[:, j], j]
        wins = [(a > b) + 0.5 * (a == b) for a in held for b in others]
        found[:, j] = (
            called[is_member[:, j], j].mean(),
            called[~is_member[:, j], j].mean(),
            np.mean(wins),
        )
    return found
