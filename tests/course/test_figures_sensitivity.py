"""Figures of the sensitivity: shares are of the whole, and Proposition E.1 agrees with draws."""

import numpy as np
import pytest
from scipy.stats import norm

from mialib.course import figures
from mialib.course.figures import sensitivity
from small_pictures import MODULES, PICTURES


def test_means_are_over_that_of_all_weights():
    numbers = PICTURES["sensitivity_by_depth"]().numbers  # 470 in all, over 450 weights
    assert numbers["convolution stem"] == pytest.approx(4 / (470 / 450))
    assert numbers["normalisation 1"] == pytest.approx(1 / (470 / 450))
    assert numbers["linear linear"] == pytest.approx(0.5 / (470 / 450))


def test_only_large_modules_tell_of_their_top():
    numbers = PICTURES["sensitivity_by_depth"]().numbers
    assert numbers["inside, lowest"] == numbers["inside, highest"] == 0.6


def test_modules_of_one_block_count_by_their_weights():
    twin = {"kind": "convolution", "mean": 4.0, "size": 800, "top": 0.9}
    numbers = figures.sensitivity_by_depth(
        [MODULES | {"features.3.conv2": twin}], title="Two convolutions"
    ).numbers
    assert numbers["convolution 1"] == pytest.approx(3 / (3670 / 1250))
    assert numbers["inside, highest"] == pytest.approx(0.8)


def test_bars_reach_from_the_lowest_training_to_the_highest():
    other = {name: one | {"mean": 1.0} for name, one in MODULES.items()}
    numbers = figures.sensitivity_by_depth([MODULES, other], title="Two trainings").numbers
    assert numbers["convolution stem"] == pytest.approx((4 / (470 / 450) + 1) / 2)


def test_a_network_may_lack_a_kind_of_module_and_large_ones():
    stem = {name: MODULES[name] for name in ("features.0", "features.1")}
    picture = figures.sensitivity_by_depth([stem], title="No classifier")
    assert picture.png
    assert f"no module has {sensitivity.LARGE} weights" in picture.alt


def test_a_batch_is_a_dot():
    numbers = PICTURES["batch_spread"]().numbers
    assert numbers == {"top 20 %, true": 0.55, "top 20 %, shuffled": 0.45}


def test_a_path_tells_where_it_turns():
    picture = PICTURES["gap_paths"]()
    assert picture.numbers == {"largest gap, PAST": 1.0, "largest gap, training": 1.2}
    assert "largest gap (1.20, 0.40)" in picture.alt


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
