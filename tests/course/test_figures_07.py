"""The figures of lesson 07 say what they show, and show what they are given."""

import numpy as np
import pytest
from scipy.stats import norm

from mialib.course import figures_07 as figures
from mialib.estimates import Estimate

MODULES = {
    "features.0": {"kind": "convolution", "mean": 4.0, "size": 10, "top": 0.4},
    "features.1": {"kind": "normalisation", "mean": 2.0, "size": 5, "top": 0.5},
    "features.3.conv1": {"kind": "convolution", "mean": 1.0, "size": 40, "top": 0.6},
    "features.3.norm1": {"kind": "normalisation", "mean": 1.0, "size": 5, "top": 0.3},
    "classify": {"kind": "linear", "mean": 0.5, "size": 30, "top": 0.45},
}
ROW = [Estimate(0.1, 0.0, 0.2), Estimate(0.3, 0.2, 0.5)]
PICTURES = {
    "where": lambda: figures.where(MODULES, title="After epoch 3"),
    "inside": lambda: figures.where(MODULES, title="At the end", inside=0.44),
    "panels": lambda: figures.panels(
        [1, 2],
        {"a": {"one": ROW, "two": [1, 2]}, "b": {"one": ROW}},
        columns=2,
        xlabel="epoch",
        ylabel="share",
    ),
    "bells": lambda: figures.bells(gap=1.0, member=0.5, non_member=1.5, fpr=0.1),
    "fitted": lambda: figures.fitted(np.linspace(0, 1, 50), np.linspace(0, 9, 50)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_has_a_text_and_is_the_same_twice(name):
    first, second = PICTURES[name](), PICTURES[name]()
    assert len(first.alt) > 40
    assert first.caption
    assert first.png == second.png


def test_shares_are_of_the_whole_and_means_over_that_of_all():
    numbers = PICTURES["where"]().numbers  # 110 in all, over 90 weights
    assert [round(110 * numbers[kind], 9) for kind in figures.KIND] == [80, 15, 15]
    assert numbers["first"] == pytest.approx(4 / (110 / 90))
    assert PICTURES["inside"]().numbers["last"] == 0.45


@pytest.mark.parametrize("fpr", [0.01, 0.3, 0.8])
def test_the_proposition_agrees_with_a_simulation(fpr):
    loss = np.random.default_rng(0).normal(size=(2, 200_000)) * [[0.5], [1.5]] + [[0.0], [1.0]]
    threshold = np.quantile(loss[1], fpr)
    numbers = figures.bells(gap=1.0, member=0.5, non_member=1.5, fpr=fpr).numbers
    assert numbers["threshold"] == pytest.approx(threshold, abs=0.03)
    assert numbers["advantage"] == pytest.approx((loss[0] <= threshold).mean() - fpr, abs=0.01)


def test_the_part_below_zero_is_that_of_the_fitted_density():
    values = np.linspace(0, 9, 50)
    assert PICTURES["fitted"]().numbers["below 0, non-members"] == norm.cdf(
        -values.mean() / values.std()
    )
