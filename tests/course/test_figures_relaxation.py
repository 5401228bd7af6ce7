"""Figures of RelaxLoss and CRL: who comes nearer, when a phase begins, how histograms overlap."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mialib.course import figures
from small_pictures import PICTURES


def test_the_scenarios_say_who_comes_nearer():
    numbers = PICTURES["scenarios"]().numbers
    assert numbers["nearer to its center, in"] == 1.0
    assert numbers["nearer to its center, out"] == 0.0
    assert numbers["mean distance"] == pytest.approx((0.3 + 0.6 + 0.4) / 3)
    assert numbers["inside"] == pytest.approx(2 / 3)


def test_a_phase_begins_with_the_first_batch_below():
    numbers = PICTURES["phases"]().numbers
    assert (numbers["center loss first"], numbers["center loss last"]) == (3.0, 1.1)
    never = figures.Phase(loss=[2.0], below=[0.0], alpha=1.0)
    assert figures.phases({"never": never}).numbers["never first"] == np.inf


def test_a_cell_has_its_numbers():
    assert PICTURES["surface"]().numbers["λ α 1, 0.1 advantage"] == 0.2


def test_cells_stand_at_their_settings_and_missing_ones_are_empty():
    figure = Figure()
    PICTURES["surface"]().draw(figure)
    left, _ = figure.axes
    written = {text.get_text(): text.get_position() for text in left.texts}
    assert written == {"0.60\n0.40": (0.5, 0.5), "0.50\n0.20": (1.5, 1.5)}
    low, high = left.get_ylim()
    assert low < high  # The second row stands above the first.


def test_equal_histograms_overlap_and_separate_ones_do_not():
    numbers = PICTURES["margins"]().numbers
    assert numbers["one overlap"] == 1.0
    assert numbers["other overlap"] == 0.0
    assert numbers["one member median"] == pytest.approx(0.125)
    assert numbers["other non_member median"] == pytest.approx(7.875)


def test_features_have_the_distances_of_their_model():
    numbers = PICTURES["features"]().numbers
    assert numbers["one member origin"] == pytest.approx(5.0)
    assert numbers["other accuracy"] == 0.75
