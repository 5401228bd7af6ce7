"""Figures of the sensitivity: shares are of the whole, and Proposition E.1 agrees with draws."""

import numpy as np
import pytest
from scipy.stats import norm

from mialib.course import figures
from mialib.course.figures import sensitivity
from small_pictures import MODULES, PICTURES


def test_shares_are_of_the_whole_and_means_over_that_of_all():
    numbers = PICTURES["sensitivity_by_module"]().numbers  # 110 in all, over 90 weights
    assert [round(110 * numbers[kind], 9) for kind in sensitivity.KIND] == [80, 15, 15]
    assert numbers["first"] == pytest.approx(4 / (110 / 90))
    assert PICTURES["sensitivity_by_module inside"]().numbers["last"] == 0.45


def test_a_network_may_lack_a_kind_of_module():
    convolutions = {name: one for name, one in MODULES.items() if one["kind"] != "linear"}
    alt = figures.sensitivity_by_module(convolutions, title="No classifier").alt
    assert "linear: none" in alt


def test_each_moment_has_its_mean():
    numbers = figures.sensitivity_by_parameter({"a": [1.0, 3.0], "b": [0.0, 1.0]}).numbers
    assert numbers == {"mean a": 2.0, "mean b": 0.5}


@pytest.mark.parametrize("fpr", [0.01, 0.3, 0.8])
def test_the_proposition_agrees_with_a_simulation(fpr):
    rng = np.random.default_rng(0)
    member = 0.5 * rng.normal(size=200_000)
    non_member = 1.0 + 1.5 * rng.normal(size=200_000)
    threshold = np.quantile(non_member, fpr)
    numbers = figures.two_normals(gap=1.0, member=0.5, non_member=1.5, fpr=fpr).numbers
    assert numbers["threshold"] == pytest.approx(threshold, abs=0.03)
    assert numbers["advantage"] == pytest.approx((member <= threshold).mean() - fpr, abs=0.01)


def test_the_part_below_zero_is_that_of_the_fitted_density():
    values = np.linspace(0, 9, 50)
    below = norm.cdf(-values.mean() / values.std())
    assert PICTURES["fitted_normals"]().numbers["below 0, non-members"] == below
