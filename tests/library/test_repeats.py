"""Intervals that include the training: right on games whose answer is known."""

import numpy as np
import pytest
import scipy.stats

from mialib import metrics
from mialib.estimates import Estimate, words
from mialib.results.repeats import (
    in_turn,
    in_turn_apart,
    over_seeds_and_records,
    record_counts,
)
from small_results import results

N = 200  # of each kind
IS_MEMBER = np.arange(2 * N) < N


def games(rng, *, seeds, training, records=1.0):
    """Scores (seeds, 1, n): members score higher by an amount that each training draws anew."""
    difficulty = records * rng.normal(size=2 * N)  # of each record, whatever the training
    gain = 1 + training * rng.normal(size=(seeds, 1))
    noise = 0.3 * rng.normal(size=(seeds, 2 * N))
    return (difficulty + noise + gain * IS_MEMBER)[:, None]


def true_advantage(training, records=1.0, threshold=0.5):
    spread = np.hypot(records, 0.3)
    fpr = scipy.stats.norm.sf(threshold / spread)
    tpr = scipy.stats.norm.sf((threshold - 1) / np.hypot(spread, training))
    return tpr - fpr


@pytest.mark.parametrize(("seeds", "training"), [(3, 0.5), (5, 0.5), (5, 0.1), (5, 0.0)])
def test_the_interval_holds_the_truth_as_often_as_it_says(seeds, training):
    rng = np.random.default_rng(seeds)
    truth = true_advantage(training)
    estimates = [
        results(games(rng, seeds=seeds, training=training), IS_MEMBER).advantage("loss")
        for _ in range(400)
    ]
    coverage = np.mean([one.low <= truth <= one.high for one in estimates])
    assert 0.92 <= coverage <= 0.995
    widths = [one.high - one.low for one in estimates]
    widest = 1.5 if seeds == 3 else 0.6
    assert np.median(widths) < widest, "an interval that says nothing"


def test_an_interval_over_records_alone_would_miss_the_truth():
    """What the course had before: one training, and an interval that takes it for granted."""
    rng = np.random.default_rng(0)
    truth = true_advantage(0.5)
    held = []
    for _ in range(200):
        drawn = results(games(rng, seeds=1, training=0.5), IS_MEMBER).draws("advantage", "loss")[0]
        low, high = np.quantile(drawn[1:], [0.025, 0.975])
        held.append(low <= truth <= high)
    assert np.mean(held) < 0.8


def test_pairs_cancel_what_two_settings_share():
    rng = np.random.default_rng(1)
    one = games(rng, seeds=5, training=0.5)
    other = one + 0.2 * IS_MEMBER
    both = results(
        np.concatenate([one, other]),
        IS_MEMBER,
        settings=[{"defense": "Plain"}] * 5 + [{"defense": "L1"}] * 5,
    )
    plain = both.find(defense="Plain")
    weaker = both.find(defense="L1")
    difference = weaker.paired(plain, "auc", "loss")
    assert difference.low > 0
    apart = weaker.auc("loss").high - weaker.auc("loss").low
    assert difference.high - difference.low < 0.5 * apart
    assert difference.value == pytest.approx(weaker.auc("loss").value - plain.auc("loss").value)
    assert words(difference) == "higher"
    assert words(plain.paired(weaker, "auc", "loss")) == "lower"


def test_one_training_has_a_number_and_no_interval():
    estimate = over_seeds_and_records(np.array([[0.5, 0.4, 0.6]]))
    assert estimate.value == 0.5
    assert np.isnan(estimate.low)
    assert str(estimate) == "0.500 (one training, so without an interval)"
    assert words(estimate) == "not told apart"


def test_equal_repeats_on_equal_records_leave_no_doubt():
    assert over_seeds_and_records(np.full((3, 5), 0.25)) == Estimate(0.25, 0.25, 0.25)


def test_with_training_alone_the_interval_is_students():
    values = np.array([0.4, 0.5, 0.6])
    estimate = over_seeds_and_records(np.repeat(values[:, None], 11, axis=1))
    reach = scipy.stats.t.ppf(0.975, 2) * 0.1 / 3**0.5
    assert estimate.triple == pytest.approx((0.5, 0.5 - reach, 0.5 + reach))


def test_the_draws_are_the_same_for_everyone_and_of_each_kind():
    counts = record_counts(IS_MEMBER)
    again = record_counts(IS_MEMBER.copy())
    assert np.array_equal(counts.members, again.members)
    assert (counts.members.sum(axis=1) == N).all()
    assert (counts.non_members.sum(axis=1) == N).all()
    assert not counts.members[:, ~IS_MEMBER].any()
    assert (counts.members[0] == IS_MEMBER).all()


# Models of a bank that play the target in turn.


def plays(rng, *, targets, training, n=400):
    """Scores (targets, n) and membership: each target holds another half of the same records."""
    is_member = np.stack([rng.permutation(n) < n // 2 for _ in range(targets)])
    gain = 1 + training * rng.normal(size=(targets, 1))
    difficulty = rng.normal(size=n)
    noise = 0.3 * rng.normal(size=(targets, n))
    return difficulty + noise + gain * is_member, is_member


def test_targets_in_turn_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    spread = 2**0.5 * np.hypot(1, 0.3)
    truth = scipy.stats.norm.cdf(1 / np.hypot(spread, 0.5))
    found = [in_turn(*plays(rng, targets=8, training=0.5), draws=40).auc for _ in range(150)]
    coverage = np.mean([one.low <= truth <= one.high for one in found])
    assert 0.9 <= coverage <= 0.995


def test_targets_in_turn_have_the_mean_of_what_each_has():
    scores, is_member = plays(np.random.default_rng(1), targets=5, training=0.2)
    found = in_turn(scores, is_member)
    alone = [metrics.evaluate(*pair) for pair in zip(scores, is_member, strict=True)]
    assert found.auc.value == pytest.approx(np.mean([one.auc.value for one in alone]))
    tpr = [one.tpr_at_1_percent.value for one in alone]
    assert found.tpr_at_1_percent.value == pytest.approx(np.mean(tpr))
    assert "not resolvable with 200" in str(found.tpr_at_0_1_percent)


def test_targets_in_turn_refuse_scores_of_other_records():
    with pytest.raises(ValueError, match=r"same shape \(targets, n\), found \(2, 3\) and \(2, 4\)"):
        in_turn(np.zeros((2, 3)), np.zeros((2, 4), bool))


def test_what_two_attacks_reach_apart_is_the_mean_of_each_target_s_difference():
    rng = np.random.default_rng(4)
    scores, is_member = plays(rng, targets=6, training=0.5)
    others = scores + rng.normal(size=scores.shape)
    found = in_turn_apart(scores, others, is_member, draws=40)
    by_target = [
        metrics.auc(one, held) - metrics.auc(other, held)
        for one, other, held in zip(scores, others, is_member, strict=True)
    ]
    assert found.auc.value == pytest.approx(np.mean(by_target))
    assert found.auc.low < found.auc.value < found.auc.high
    assert in_turn_apart(scores, scores, is_member, draws=40).auc.triple == (0, 0, 0)
