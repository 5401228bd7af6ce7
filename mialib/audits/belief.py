"""Can the results be believed? Asked before any attack, without the model.

    blind_baseline(inputs, labels, is_member, seed=0)    # a classifier that never saw the model
    near_duplicates(inputs, is_member)                   # non-members that nearly equal a member

If members and non-members differ by themselves (another year, another camera, other classes), an
attack may find that difference and call it memory. Das, Zhang and Tramèr 2024 ("Blind baselines
beat membership inference attacks") found that in eight published benchmarks of large models.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from mialib.audits import intervals
from mialib.audits.evidence import Evidence
from mialib.audits.findings import AttackRow, Belief, Blind
from mialib.errors import as_array
from mialib.estimates import Estimate
from mialib.metrics import check, resolvable

FOLDS = 5
# The folds are fitted on records that they share, so their errors go together. On shuffled
# membership the AUC varies twice as much as that of independent scores; a test holds it to that.
VARIANCE_OF_FOLDS = 2.0
MOST_NUMBERS = 20_000_000  # of the inputs that are compared; more records are sampled
MOST_RECORDS = 20_000
MOST_FEATURES = 32  # more are reduced to their principal components
COMPONENTS = 24
MOST_CLASSES = 50  # that have a column each
NEAR = 0.01  # of the typical distance between two records
FEWEST_FEATURES = 8  # with fewer, chance alone brings records close
SIGHTS = 8  # random directions in which neighbours are looked for


def believe(evidence: Evidence, rows: list[AttackRow], *, threshold: str, seed: int) -> Belief:
    """The section of the report that comes before the results; `rows` are those of the attacks."""
    is_member = evidence.is_member
    members = int(is_member.sum())
    non_members = len(is_member) - members
    near = None
    if evidence.inputs is not None:
        near = near_duplicates(evidence.inputs, is_member, seed=seed)
    return Belief(
        game=game_sentence(members, non_members),
        blind=blind_baseline(evidence.inputs, evidence.target.labels, is_member, seed=seed),
        duplicates=evidence.duplicates,
        near_duplicates=near,
        null={
            row.name: intervals.null_band(
                row.scores,
                is_member,
                attacks=len(rows),
                rng=intervals.generator(seed, row.name),
            )
            for row in rows
        },
        null_curve=intervals.null_curve(members, non_members, rng=np.random.default_rng(seed)),
        unresolvable=tuple(fpr for fpr in intervals.FPRS if not resolvable(fpr, non_members)),
        threshold=threshold,
    )


def game_sentence(members: int, non_members: int) -> str:
    return (
        f"One of {members:,} members or {non_members:,} non-members is drawn; the attacker sees "
        "the record, its label and what the model shows of it, and says whether the model was "
        "trained on it. This is a game about memory only if both sets were drawn alike."
    )


# The blind baseline.


def blind_baseline(
    inputs: ArrayLike | None, labels: ArrayLike, is_member: ArrayLike, *, seed: int = 0
) -> Blind:
    """How well a classifier tells members from non-members by inputs and labels, without the model.

    Five folds, each judged by what was fitted on the other four.
    """
    labels = as_array(labels, kind="iu", what="labels")
    _, truth = check(np.zeros(len(labels)), is_member)
    saw = "labels alone" if inputs is None else "inputs and labels"
    if min(truth.sum(), (~truth).sum()) < 2 * FOLDS:
        fewest = Estimate(np.nan, note=f"fewer than {2 * FOLDS} members or non-members")
        return Blind(fewest, saw, "With so few records it is unknown whether the two sets differ.")
    rng = np.random.default_rng(seed)
    if inputs is None:
        scores = _scores_of_labels(labels, truth, _folds(truth, rng))
    else:
        table = as_array(inputs, what="inputs").reshape(len(labels), -1)
        kept = _sample(truth, table.shape[1], rng)
        truth = truth[kept]
        features = _features(table[kept].astype(np.float32), labels[kept], seed)
        # Trees this small take half a second on one thread; several wait for each other, and on a
        # busy machine for ten times as long.
        with threadpool_limits(1):
            scores = _scores_of_inputs(features, truth, _folds(truth, rng))
    placed = intervals.placements(scores, truth)
    auc = intervals.auc_of(placed, variance_times=VARIANCE_OF_FOLDS)
    return Blind(auc, saw, _blind_sentence(auc, saw))


def _blind_sentence(auc: Estimate, saw: str) -> str:
    if auc.low > 0.5:
        return (
            f"Members and non-members differ without the model: a classifier that saw {saw} and "
            f"never the model has an AUC of {auc}. Nothing below is evidence of memorisation by "
            "itself. "
            "Draw both sets from one source, then audit again."
        )
    found = f"a classifier that saw {saw} and never the model has an AUC of {auc}"
    if saw == "labels alone":
        return (
            f"By their labels, members and non-members are not told apart: {found}. The inputs "
            "were not handed in, so whether those differ is unknown."
        )
    return f"Members and non-members are not told apart without the model: {found}."


def _sample(is_member: np.ndarray, features: int, rng: np.random.Generator) -> np.ndarray:
    """The places of so many records as can be compared in a few seconds."""
    most = min(MOST_RECORDS, max(MOST_NUMBERS // features, 200))
    if len(is_member) <= most:
        return np.arange(len(is_member))
    kept = [
        rng.permutation(np.flatnonzero(is_member == kind))[: most // 2] for kind in (True, False)
    ]
    return np.sort(np.concatenate(kept))


def _folds(is_member: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The fold of each record, with as many members in each as in any other: (n,)."""
    fold = np.empty(len(is_member), int)
    for kind in (True, False):
        places = rng.permutation(np.flatnonzero(is_member == kind))
        fold[places] = np.arange(len(places)) % FOLDS
    return fold


def _scores_of_labels(labels: np.ndarray, is_member: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The log-odds of membership of each record's class, counted in the other folds."""
    scores = np.empty(len(labels))
    for number in range(FOLDS):
        here = fold == number
        classes = labels.max() + 1
        members = np.bincount(labels[~here & is_member], minlength=classes)
        non_members = np.bincount(labels[~here & ~is_member], minlength=classes)
        log_odds = np.log((members + 0.5) / (non_members + 0.5))
        scores[here] = log_odds[labels[here]]
    return scores


def _features(inputs: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """What the classifier sees: the inputs or their components, their summary, and the class."""
    columns = [_reduced(inputs, seed), _summary(inputs)]
    if labels.max() < MOST_CLASSES:
        columns.append(np.eye(labels.max() + 1)[labels])
    else:
        columns.append(labels[:, None])
    together = np.concatenate(columns, axis=1)
    return StandardScaler().fit_transform(together)


def _reduced(inputs: np.ndarray, seed: int) -> np.ndarray:
    if inputs.shape[1] <= MOST_FEATURES:
        return inputs
    components = min(COMPONENTS, len(inputs) - 1)
    return PCA(components, svd_solver="randomized", random_state=seed).fit_transform(inputs)


def _summary(inputs: np.ndarray) -> np.ndarray:
    """Each record in six numbers: a shift of brightness or of range shows in them."""
    return np.stack(
        [
            inputs.mean(axis=1),
            inputs.std(axis=1),
            inputs.min(axis=1),
            inputs.max(axis=1),
            np.median(inputs, axis=1),
            (inputs == 0).mean(axis=1),
        ],
        axis=1,
    )


def _scores_of_inputs(features: np.ndarray, is_member: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The sum of two classifiers' log-odds: a quadratic one and boosted trees."""
    with_squares = np.concatenate([features, features**2], axis=1)
    scores = np.empty(len(is_member))
    for number in range(FOLDS):
        here = fold == number
        quadratic = LogisticRegression(C=0.01, max_iter=200)
        quadratic.fit(with_squares[~here], is_member[~here])
        trees = HistGradientBoostingClassifier(
            max_iter=40,
            max_leaf_nodes=8,
            min_samples_leaf=10,
            early_stopping=False,  # pyright: ignore[reportArgumentType]
        )
        trees.fit(features[~here], is_member[~here])
        scores[here] = quadratic.decision_function(with_squares[here])
        scores[here] += trees.decision_function(features[here])
    return scores


# Duplicates.


def near_duplicates(inputs: ArrayLike, is_member: ArrayLike, *, seed: int = 0) -> int | None:
    """How many non-members lie within 1 % of the typical distance from a member, but not on it.

    None with fewer than eight features, of which records may be close by chance. Neighbours are
    looked for in a few random directions, then measured in all.
    """
    table = as_array(inputs, what="inputs")
    _, truth = check(np.zeros(len(table)), is_member)
    table = table.reshape(len(table), -1).astype(np.float32)
    if table.shape[1] < FEWEST_FEATURES:
        return None
    reach = NEAR * float(np.sqrt(2 * table.var(axis=0, dtype=np.float64).sum()))
    if reach == 0:
        return None
    directions = np.random.default_rng(seed).normal(size=(table.shape[1], SIGHTS))
    directions /= np.linalg.norm(directions, axis=0)
    seen = table @ directions.astype(np.float32)
    members = table[truth]
    tree = KDTree(seen[truth])
    # A projection never lengthens a distance, but each of the directions has a share of it.
    nearest_seen, place = tree.query(seen[~truth], distance_upper_bound=reach * np.sqrt(SIGHTS))
    candidates = np.flatnonzero(np.isfinite(nearest_seen))
    neighbours = np.asarray(place)[candidates]
    apart = table[~truth][candidates] - members[neighbours]
    distances = np.linalg.norm(apart, axis=1)
    return int(((distances <= reach) & (distances > 0)).sum())
