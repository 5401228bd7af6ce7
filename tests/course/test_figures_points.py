"""One training as a point: its numbers against counting, its pictures, what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from mialib import metrics
from mialib.course.figures import points
from mialib.course.figures.points import Point
from mialib.estimates import Estimate
from small_results import results

STAR = (Estimate(0.6, 0.55, 0.65), Estimate(0.5, 0.4, 0.6))
TABLE = {
    "λ = 1": (Estimate(0.55, 0.5, 0.6), Estimate(0.3, 0.2, 0.4)),
    "λ = 2": (Estimate(0.45, 0.4, 0.5), Estimate(0.1, 0.0, 0.2)),
}


@pytest.fixture
def scored(rng):
    """Scores with many ties, and members that score higher."""
    is_member = np.arange(300) < 120
    scores = np.round(rng.normal(size=300) + is_member, 1)
    return scores, is_member


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def point(scored):
    """Two attacks, of which the second tells nothing; only members are classified rightly."""
    scores, is_member = scored
    both = [[scores, np.zeros(300)]]
    return Point("λ = 1", results(both, is_member, thresholds=0.45, correct=is_member[None]))


def test_calls_are_what_counting_finds(scored):
    scores, is_member = scored
    for threshold in (-9, -0.3, 0.0, 0.45, 1.2, 99):
        called = [score >= threshold for score in scores]
        right = sum(1 for one, member in zip(called, is_member, strict=True) if one and member)
        wrong = sum(called) - right
        found = points.calls_at(scores, is_member, threshold)
        assert (found.members, found.non_members) == (right, wrong)
        assert found.tpr == pytest.approx(right / 120)
        assert found.fpr == pytest.approx(wrong / 180)
        assert found.share == pytest.approx(sum(called) / 300)
        assert found.advantage == pytest.approx(right / 120 - wrong / 180)
        if called.count(True):
            assert found.ppv == pytest.approx(right / sum(called))
        else:
            assert np.isnan(found.ppv)


def test_a_quantile_leaves_out_at_most_its_share(scored):
    scores, _ = scored
    for quantile in (0.0, 0.1, 0.5, 0.9, 0.999, 1.0):
        threshold = points.threshold_at(scores, quantile)
        assert threshold in scores
        assert points.quantile_of(scores, threshold) <= quantile + 1 / len(scores)
    assert points.quantile_of(scores, points.threshold_at(scores, 0.0)) == 0


def test_shares_below_are_what_counting_finds(scored):
    scores, _ = scored
    slow = [np.mean(scores < one) + np.mean(scores == one) / 2 for one in scores]
    np.testing.assert_allclose(points.shares_below(scores), slow)


def test_a_point_says_what_the_scores_say(point, scored):
    scores, is_member = scored
    of_scores = metrics.evaluate(scores, is_member, threshold=0.45)
    found = point.evaluation("loss")
    assert found.auc == of_scores.auc
    assert found.advantage == of_scores.advantage
    assert found.tpr == of_scores.tpr
    assert point.highest() == pytest.approx(of_scores.advantage.value)
    assert point.highest("auc") == pytest.approx(of_scores.auc.value)
    assert point.accuracy == 0


def test_the_first_training_of_a_setting_is_told_from_ones_own(point):
    of_table = Point.first_of("λ = 1", point.found)
    assert of_table.origin == "the table's training, seed 0"
    assert point.origin == "yours: one training"


def test_no_point_without_exactly_one_training(point):
    with pytest.raises(ValueError, match="one row"):
        Point("none", point.found.seeds([]))
    row = replace(point.found.rows[0], failure="It diverged.")
    failed = replace(point.found, rows=(row,))
    with pytest.raises(ValueError, match=r"came to an end: It diverged\."):
        Point("failed", failed)
    with pytest.raises(ValueError, match="did you mean 'loss'"):
        point.scores("los")


def test_a_threshold_moves_the_picture_and_its_numbers(point, scored):
    scores, is_member = scored
    strict, loose = (points.point_calls(point, "loss", quantile=at) for at in (0.95, 0.2))
    assert strict.png != loose.png
    tpr, fpr = metrics.rates(scores, is_member, threshold=points.threshold_at(scores, 0.95))
    assert strict.numbers["tpr"] == tpr
    assert strict.numbers["fpr"] == fpr
    for word in ("TPR", "FPR", "PPV", "advantage"):
        assert word in strict.caption
    assert "120 + 180 records" in strict.caption


def test_an_attack_that_tells_nothing_is_drawn_too(point):
    assert points.point_calls(point, "entropy", quantile=0.5).numbers["advantage"] == 0


def test_a_quantile_lies_between_0_and_1(point):
    with pytest.raises(ValueError, match="quantile must be a number in 0 … 1, found 2"):
        points.point_calls(point, "loss", quantile=2)


def test_ones_own_points_stand_among_the_others(point):
    picture = points.point_among([point], TABLE, undefended=STAR, chosen="λ = 2")
    assert picture.numbers == {
        "λ = 1 accuracy": point.accuracy,
        "λ = 1 advantage": point.highest(),
    }
    assert "2 settings of a table" in picture.alt
    assert "λ = 2 (0.45, 0.10)" in picture.alt
    assert "yours, λ = 1" in picture.alt
    without = points.point_among([], TABLE, undefended=STAR)
    assert picture.png != without.png
    assert "yours" not in without.alt


def test_points_can_be_compared_by_auc(point):
    picture = points.point_among([point], TABLE, undefended=STAR, number="auc")
    assert picture.numbers["λ = 1 auc"] == point.highest("auc")
    assert "highest AUC (up)" in picture.alt
    with pytest.raises(ValueError, match="There is no number 'tpr'"):
        points.point_among([point], TABLE, undefended=STAR, number="tpr")


def test_one_view_joins_both(point):
    among = points.point_among([point], TABLE, undefended=STAR)
    view = points.point_view(point, among, attack="loss", quantile=0.5)
    calls = points.point_calls(point, "loss", quantile=0.5)
    assert view.numbers == {**among.numbers, **calls.numbers}
    assert view.as_html() == f"{among.as_html()}<br>{calls.as_html()}"
    assert len(view.png) > 10_000


def test_a_setting_that_nobody_trained_says_so(point):
    among = points.point_among([point], TABLE, undefended=STAR)
    view = points.point_view("λ = 3", among, attack="loss", quantile=0.5)
    assert "trained λ = 3: press “Train this point”" in view.alt
    assert len(view.png) > 10_000
