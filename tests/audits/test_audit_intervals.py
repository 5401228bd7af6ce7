"""The quick intervals are those of `metrics`, and what chance does is what shuffling does."""

import numpy as np
import pytest

from mialib import metrics
from mialib.audits import intervals

N = 1500


def scored(kind, rng):
    is_member = np.arange(N) < 500
    scores = rng.normal(size=N) + 0.8 * is_member
    return (scores if kind == "continuous" else scores.round(1)), is_member


@pytest.fixture(params=["continuous", "tied"])
def game(request, rng):
    return scored(request.param, rng)


def test_numbers_are_those_of_metrics(game, rng):
    scores, is_member = game
    theirs = metrics.evaluate(scores, is_member, threshold=0.5)
    assert intervals.auc(scores, is_member).value == pytest.approx(theirs.auc.value, abs=1e-12)
    gap = intervals.gap(scores >= 0.5, is_member)
    assert gap.value == pytest.approx(theirs.advantage.value, abs=1e-12)
    at_1 = intervals.tpr_at_fpr(scores, is_member, 0.01, rng=rng)
    at_01 = intervals.tpr_at_fpr(scores, is_member, 0.001, rng=rng)
    assert at_1.value == theirs.tpr_at_1_percent.value
    assert at_01.value == theirs.tpr_at_0_1_percent.value


def test_intervals_are_those_of_the_slow_bootstrap(game, rng):
    scores, is_member = game
    slow = metrics.evaluate(scores, is_member, threshold=0.5)
    quick = {
        "auc": intervals.auc(scores, is_member),
        "advantage": intervals.gap(scores >= 0.5, is_member),
        "tpr_at_1_percent": intervals.tpr_at_fpr(scores, is_member, 0.01, rng=rng),
    }
    for name, estimate in quick.items():
        there = getattr(slow, name)
        width = there.high - there.low
        assert estimate.low == pytest.approx(there.low, abs=0.15 * width), name
        assert estimate.high == pytest.approx(there.high, abs=0.15 * width), name


def test_the_null_band_is_that_of_shuffled_membership(game, rng):
    scores, is_member = game
    band = intervals.null_band(scores, is_member, rng=rng)
    shuffled = []
    for _ in range(1000):
        curve = metrics.roc(scores, rng.permutation(is_member))
        auc = metrics.area(curve.fpr, curve.tpr)
        shuffled.append([auc, metrics.largest_tpr(curve.fpr, curve.tpr, 0.01)])
    low, high = np.quantile(shuffled, [0.025, 0.975], axis=0)
    assert band.auc == pytest.approx((low[0], high[0]), abs=0.004)
    assert band.tpr_at_1_percent == pytest.approx((low[1], high[1]), abs=0.0041)


def test_ties_count_half():
    is_member = np.array([True, True, False, False])
    assert intervals.auc(np.array([1.0, 0.0, 1.0, 0.0]), is_member).value == 0.5
    assert intervals.auc(np.array([1.0, 1.0, 1.0, 0.0]), is_member).value == 0.75


def test_a_perfect_attack_on_few_records_is_not_certain():
    is_member = np.arange(20) < 10
    perfect = intervals.auc(is_member.astype(float), is_member)
    assert perfect.value == 1
    assert perfect.low < 0.8
    nobody = intervals.gap(np.zeros(20, bool), is_member)
    assert nobody.low < 0 < nobody.high


def test_a_curve_is_the_roc_at_its_grid(game, rng):
    scores, is_member = game
    curve = intervals.curve(scores, is_member, rng=rng)
    whole = metrics.roc(scores, is_member)
    expected = [float(metrics.largest_tpr(whole.fpr, whole.tpr, fpr)) for fpr in curve.fpr]
    assert curve.tpr == pytest.approx(expected)
    assert curve.fpr[0] == 1 / 1000
    assert curve.tpr[-1] == 1
    assert (curve.low <= curve.tpr).all()
    assert (curve.tpr <= curve.high).all()


def test_the_interval_of_ppv_holds_the_truth(rng):
    prior = 0.1
    truth = metrics.ppv(0.6, 0.2, prior)
    is_member = np.arange(400) < 200
    hits = 0
    for _ in range(200):
        called = rng.random(400) < np.where(is_member, 0.6, 0.2)
        estimate = intervals.ppv(called, is_member, prior)
        hits += estimate.low <= truth <= estimate.high
    assert hits >= 190


@pytest.mark.parametrize("digits", [0, 8])
def test_counts_give_the_auc_of_what_is_left(rng, digits):
    scores = rng.normal(size=500).round(digits)
    is_member = rng.random(500) < 0.4
    gone = rng.permutation(500)[:120]
    left = np.setdiff1d(np.arange(500), gone)
    placed = intervals.placements(scores[left], is_member[left])
    moments = intervals.auc_moments(intervals.score_counts(scores, is_member).without(gone))
    assert moments.auc == pytest.approx(placed.auc)
    assert moments.variance == pytest.approx(placed.variance)
    assert moments.freedom == placed.freedom
