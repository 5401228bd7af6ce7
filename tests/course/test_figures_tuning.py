"""Figures of PAST's tuning say the numbers of their setting and of their epoch."""

import pytest

from mialib.course import figures
from mialib.course.sweeps import EDGES
from small_pictures import epoch_view, small_sweep


def test_an_epoch_says_its_own_numbers():
    accuracy = {"test accuracy, PAST": 0.5, "test accuracy, λ = 0": 0.5}
    gaps = {"loss gap, PAST": 0.7, "loss gap, λ = 0": 1.1}
    assert epoch_view(0).numbers == accuracy | gaps
    assert epoch_view(1).numbers["test accuracy, PAST"] == 0.3
    assert epoch_view(1).png != epoch_view(0).png


def test_a_setting_has_the_estimates_of_its_row():
    sweep = small_sweep()
    picture = figures.setting_view(sweep, 1, 0)
    assert picture.numbers["test accuracy"] == sweep.accuracy(1).value
    assert picture.numbers["advantage entropy"] == sweep.advantage(1, "entropy").value
    assert picture.numbers["loss gap"] == 1.0
    assert "At λ = 0.002, α = 1.5" in picture.alt


def test_the_share_near_zero_is_that_of_the_two_bins_in_the_middle():
    counts = [1] * (len(EDGES) - 1)
    counts[29] = counts[30] = 21
    numbers = figures.weight_histograms({"tuned": counts}).numbers
    assert numbers["central tuned"] == pytest.approx(42 / 100)
