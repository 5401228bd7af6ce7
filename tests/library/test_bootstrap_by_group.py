"""Intervals where the same records were scored against several targets: whole records are drawn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mialib import metrics
from mialib.metrics import bootstrap, evaluate


def auc(fpr, tpr, _):
    return np.trapezoid(tpr, fpr, axis=-1)


def several_targets(rng, *, records=60, targets=20, shared=3.0):
    """Scores (targets × records) whose difficulty belongs to the record."""
    is_member = rng.random((targets, records)) < 0.5
    scores = rng.normal(size=is_member.shape) + shared * rng.normal(size=records) + is_member
    return scores.ravel(), is_member.ravel(), np.tile(np.arange(records), targets)


def test_the_interval_by_record_is_wider_where_a_records_scores_agree(rng):
    """With membership by record too, a thousand scores hold no more than sixty records do."""
    record, held = np.tile(np.arange(60), 20), np.tile(rng.random(60) < 0.5, 20)
    scores = np.tile(rng.normal(size=60), 20) + held + 0.01 * rng.normal(size=1200)
    naive, by_record = (
        evaluate(scores, held, threshold=0.0, groups=groups, draws=300) for groups in (None, record)
    )
    for name in ("auc", "best_advantage", "tpr", "fpr", "advantage"):
        width = {
            kind: getattr(e, name).high - getattr(e, name).low
            for kind, e in (("n", naive), ("r", by_record))
        }
        assert width["r"] > 2 * width["n"], name
        assert getattr(naive, name).value == getattr(by_record, name).value


def test_the_interval_by_record_covers_the_truth_as_often_as_it_says():
    hits = {"naive": 0, "by record": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        held = np.tile(np.arange(80) < 40, 10)
        scores = np.tile(rng.normal(size=80), 10) + 0.1 * rng.normal(size=800) + held
        for name, record in (("naive", None), ("by record", np.tile(np.arange(80), 10))):
            low, high = bootstrap(scores, held, auc, groups=record, draws=200, seed=seed)
            hits[name] += low < 0.7602 < high  # Φ(1 / √2), the noise of 0.1 aside
    assert hits["by record"] >= 51  # 85 %; 95 % of 60 are 57
    assert hits["naive"] <= 40


def test_independent_records_have_about_the_naive_interval(rng):
    is_member = np.arange(600) < 300
    scores = rng.normal(size=600) + is_member
    naive, distinct = (
        bootstrap(scores, is_member, auc, groups=r, draws=800) for r in (None, rng.permutation(600))
    )
    assert_allclose(distinct, naive, atol=0.015)


def test_names_serve_as_records_and_their_order_is_nothing(rng):
    scores, is_member, record = several_targets(rng)
    names = np.char.add("r", record.astype(str))
    plain, named = (bootstrap(scores, is_member, auc, groups=r, draws=400) for r in (record, names))
    assert_allclose(plain, named, atol=0.02)
    order = rng.permutation(len(scores))
    assert_allclose(
        bootstrap(scores[order], is_member[order], auc, groups=record[order], draws=400), plain
    )


def test_a_record_drawn_brings_all_its_scores():
    """One record has every member, the other every non-member: a draw has both or is no ROC."""
    record, held = np.repeat([0, 1], 50), np.repeat([True, False], 50)
    assert_allclose(bootstrap(held * 1.0, held, auc, groups=record, draws=200), [1.0, 1.0])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_distinct_records_that_are_told_apart_stay_told_apart(n):
    held = np.arange(2 * n) < n
    assert_allclose(bootstrap(held * 1.0, held, auc, groups=np.arange(2 * n)), [1.0, 1.0])


def test_the_seed_decides(rng):
    scores, is_member, record = several_targets(rng)
    first, again, other = (
        bootstrap(scores, is_member, auc, groups=record, draws=100, seed=s) for s in (0, 0, 1)
    )
    assert_allclose(first, again, rtol=0, atol=0)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "groups",
    [
        np.arange(9),
        np.arange(11),
        np.zeros((10, 2)),
        np.array(3),
        [],
        "abc",
        [None] * 10,
        [[1], [2, 3]],
        np.arange(10) + 1j,
        np.ma.array(np.arange(10), mask=np.arange(10) == 3),
    ],
)
def test_a_group_for_each_score_is_needed(groups):
    scores, is_member = np.arange(10.0), np.arange(10) < 5
    with pytest.raises(ValueError, match="groups must"):
        evaluate(scores, is_member, groups=groups, draws=10)


def test_draws_that_hold_only_members_or_only_non_members_are_said_to():
    """A draw of two groups holds one alone every other time, with seed 0 too."""
    with pytest.raises(ValueError, match="Use more draws, or more groups"):
        bootstrap([1.0, 0.0], [True, False], auc, groups=[0, 1], draws=1, seed=0)


def test_tpr_at_fpr_takes_records(rng):
    scores, is_member, record = several_targets(rng)
    naive, by_record = (
        metrics.tpr_at_fpr(scores, is_member, 0.1, groups=r, draws=300) for r in (None, record)
    )
    assert naive.value == by_record.value
    assert by_record.low <= by_record.value <= by_record.high
