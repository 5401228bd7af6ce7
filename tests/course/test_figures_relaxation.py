"""Figures of RelaxLoss and CRL: who comes nearer, what a phase says, how histograms overlap."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from mialib.course import figures
from small_pictures import PICTURES
from small_results import results


def test_the_scenarios_say_who_comes_nearer():
    numbers = PICTURES["scenarios"]().numbers
    assert numbers["nearer to its center, in"] == 1.0
    assert numbers["nearer to its center, out"] == 0.0
    assert numbers["mean distance"] == pytest.approx((0.3 + 0.6 + 0.4) / 3)
    assert numbers["inside"] == pytest.approx(2 / 3)


def test_a_phase_says_its_ends_and_how_often_it_was_relaxed():
    numbers = PICTURES["phases"]().numbers
    assert (numbers["center loss first"], numbers["center loss last"]) == (2.0, 1.1)
    assert numbers["center loss below"] == pytest.approx(1.5 / 4)


def test_a_phase_is_the_mean_over_trainings():
    made = results(np.zeros((2, 1, 2)), [True, False], settings=[{"alpha_rcl": 0.5}] * 2)
    rows = []
    for row, loss in zip(made.rows, (1.0, 3.0), strict=True):
        rows.append(replace(row, facts={"history": [{"loss_rcl": loss, "below_rcl": 0.0}]}))
    phase = figures.Phase.of(replace(made, rows=tuple(rows)), "rcl")
    assert phase == figures.Phase(loss=[2.0], below=[0.0], alpha=0.5)
    assert phase.relaxed() == 0


def test_a_cell_has_its_number():
    numbers = PICTURES["joint_sweep"]().numbers
    assert numbers["test accuracy, α_rcl 0.5, τ_rcl 1, λ 1"] == 0.5


def test_cells_stand_at_their_settings_and_missing_ones_are_empty():
    figure = Figure()
    PICTURES["joint_sweep"]().draw(figure)
    left, right = figure.axes
    written = {text.get_text(): text.get_position() for text in left.texts}
    assert written == {"0.60": (0.5, 0.5), "0.50": (1.5, 1.5)}
    assert [text.get_text() for text in right.texts] == ["0.40", "0.00"]


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
