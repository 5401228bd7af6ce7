"""Statistics of the lessons, each against a reference of its own."""

import numpy as np
import pytest
import scipy.stats

from mialib.course import statistics
from mialib.course.figures.privacy import FPRS
from mialib.course.statistics import (
    SureRates,
    boundary_distances,
    refuted_epsilon,
    sure_rates,
)
from mialib.epsilon import highest_tpr
from mialib.estimates import Estimate
from small_pictures import PLANE
from small_results import results


@pytest.mark.parametrize("values", [[0.4, 0.5, 0.9], [1.0, 2.0], [3.0, 1.0, 4.0, 1.0, 5.0]])
def test_students_interval_is_scipys(values):
    estimate = statistics.student(values)
    reference = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate.value == np.mean(values)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(reference), rel=1e-3)


def test_one_repeat_has_no_interval():
    with pytest.raises(ValueError, match="at least 2 repeats, found 1"):
        statistics.student([0.5])


def test_a_widened_interval_is_that_of_a_smaller_share():
    values = [0.4, 0.5, 0.9]
    widened = statistics.bonferroni(statistics.student(values), comparisons=6)
    reference = scipy.stats.ttest_1samp(values, 0).confidence_interval(1 - 0.05 / 6)
    assert (widened.low, widened.high) == pytest.approx(tuple(reference), rel=1e-3)
    assert statistics.bonferroni(Estimate(1.0, 0.5, 2.0), comparisons=1) == Estimate(1.0, 0.5, 2.0)


def test_spread_is_one_standard_deviation_to_each_side():
    assert statistics.spread([1.0, 2.0, 3.0]) == Estimate(2.0, 1.0, 3.0)


@pytest.mark.parametrize(
    ("accuracy", "accuracies", "advantages", "expected"),
    [
        (0.6, [0.59, 0.63, 0.5], [0.4, 0.3, 0.1], 1),
        (0.6, [0.5, 0.4], [0.1, 0.2], -1),
        (0.6, [0.61, 0.59], [0.3, 0.2], 1),  # Exactly 0.01 less accurate is fair.
    ],
)
def test_a_fair_control_is_the_most_private_of_those_as_accurate(
    accuracy, accuracies, advantages, expected
):
    found = statistics.fair_control(accuracy, np.array(accuracies), np.array(advantages))
    assert found == expected


def test_a_standing_is_what_the_results_estimate():
    rng = np.random.default_rng(0)
    is_member = np.arange(400) < 200
    scores = rng.normal(size=(3, 2, 400)) + is_member
    correct = rng.random((3, 400)) < 0.6
    losses = rng.random((3, 400))
    made = results(scores, is_member, correct=correct, losses=losses)
    expected = {
        "accuracy": made.accuracy(),
        "loss gap": made.loss_gap(),
        **{attack: made.advantage(attack) for attack in made.attacks},
        "mean": made.mean(),
        "highest": made.highest(),
        "AUC": made.highest("auc"),
        "TPR at 1 %": made.highest("tpr", fpr=0.01),
        "P1": made.p1(),
    }
    standing = statistics.standing(made)
    assert list(standing) == list(expected)
    values = {name: estimate.value for name, estimate in expected.items()}
    assert standing == pytest.approx(values)


def three_settings(shifts=(0.0, 0.5, 1.0), rows=3):
    """Settings whose members score higher by such shifts, each trained so many times."""
    draws = np.random.default_rng(0)
    is_member = np.arange(200) < 100
    return [
        results(draws.normal(size=(rows, 1, 200)) + shift * is_member, is_member)
        for shift in shifts
    ]


def test_one_pair_is_the_paired_difference():
    plain, _, strong = three_settings()
    assert statistics.mean_difference([(strong, plain)], "highest") == strong.paired(
        plain, "highest"
    )


def test_several_pairs_give_the_mean_of_their_differences():
    plain, weak, strong = three_settings()
    pairs = [(weak, plain), (strong, plain)]
    found = statistics.mean_difference(pairs, "auc", "loss")
    alone = [one.paired(other, "auc", "loss") for one, other in pairs]
    assert found.value == pytest.approx(np.mean([one.value for one in alone]))
    assert found.low < found.value < found.high
    # A pair that is there twice counts twice, and tells nothing new.
    twice = statistics.mean_difference([pairs[0]] * 2, "auc", "loss")
    assert twice.triple == pytest.approx(alone[0].triple)


def test_pairs_take_the_seeds_that_all_have():
    plain, weak, _ = three_settings()
    fewer = statistics.mean_difference([(weak, plain.seeds([0, 1]))], "highest")
    assert fewer == weak.seeds([0, 1]).paired(plain.seeds([0, 1]), "highest")
    with pytest.raises(ValueError, match="no seed in common"):
        statistics.mean_difference([(weak.seeds([0]), plain.seeds([1]))], "highest")
    with pytest.raises(ValueError, match="one pair of settings at least"):
        statistics.mean_difference([], "highest")


def refuted(tpr) -> float:
    return refuted_epsilon(surely(tpr, 1000), delta=1e-5)


def surely(tpr, n: int) -> SureRates:
    return sure_rates(tpr, FPRS, members=n, non_members=n, comparisons=len(FPRS))


def test_a_roc_refutes_what_it_breaks_beyond_its_intervals():
    assert 1 < refuted(highest_tpr(FPRS, epsilon=2.0, delta=1e-5)) < 2
    assert refuted(FPRS) == 0
    mirrored = np.where(FPRS > 0.3, 1.0, FPRS)  # Non-members are found for sure, members are not.
    assert 3 < refuted(mirrored) < np.log(0.7 * 1000)


def test_fewer_records_refute_less():
    tpr = highest_tpr(FPRS, epsilon=2.0, delta=1e-5)
    assert refuted_epsilon(surely(tpr, 100), delta=1e-5) < refuted(tpr)


def test_what_is_sure_favours_the_defender_and_more_so_with_more_comparisons():
    counts = {"members": 1000, "non_members": 500}
    few = sure_rates([0.3], [0.1], **counts, comparisons=1)
    many = sure_rates([0.3], [0.1], **counts, comparisons=100)
    assert many.tpr < few.tpr < 0.3
    assert 0.1 < few.fpr < many.fpr


def test_distances_are_medians_and_an_area():
    distances = boundary_distances([PLANE, PLANE])
    assert distances["member origin"] == pytest.approx(5.0)
    assert distances["non_member origin"] == pytest.approx(1.0)
    assert (distances["member boundary"], distances["non_member boundary"]) == (2.5, 1.5)
    assert distances["accuracy"] == 0.75
    assert distances["AUC"] == pytest.approx((1.5 + 2.5 + 3.5 + 4.0) / 16)
