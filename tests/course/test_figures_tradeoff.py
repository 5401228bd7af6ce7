"""Figures that compare defenses say the numbers that they were given."""

import pytest
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure

from mialib import metrics
from mialib.course import figures
from mialib.course.plots.palette import DEFENSES
from small_pictures import PICTURES, STANDINGS


def test_a_board_has_the_four_numbers_of_each_defense():
    picture = PICTURES["board"]()
    assert picture.numbers["ℓ1 highest"] == STANDINGS["ℓ1"]["highest"]
    assert len(picture.numbers) == 2 * 4
    told = "test accuracy 0.50, highest advantage 0.30, highest AUC 0.70, TPR at 1 % FPR 0.02"
    assert f"L1: {told}" in picture.alt


def bars_of(standings):
    """The lengths of a board's bars, column by column: (4, defenses)."""
    figure = Figure()
    figures.board(standings).draw(figure)
    return [[bar.get_width() for bar in column] for column in figure.axes[0].containers]


def test_the_bars_of_a_board_are_as_long_as_its_numbers():
    row = STANDINGS["ℓ1"] | {"accuracy": 0.25, "AUC": 0.75, "TPR at 1 %": 0.1}
    twice = row | {"accuracy": 0.5, "AUC": 1.0, "TPR at 1 %": 0.2}
    accuracy, _, auc, tpr = bars_of({"undefended": row, "ℓ1": twice})
    for column in (accuracy, auc, tpr):
        assert column[1] == pytest.approx(2 * column[0])


def test_a_bar_never_leaves_its_column_on_a_board():
    wide = STANDINGS["ℓ1"] | {"TPR at 1 %": 0.9, "highest": -0.1, "AUC": 0.4}
    _, highest, auc, tpr = bars_of({"undefended": STANDINGS["ℓ1"], "ℓ1": wide})
    assert (highest[1], auc[1]) == (0, 0)
    assert max(tpr) < 1


def test_a_map_of_p1_names_the_best_setting():
    picture = PICTURES["p1_map"]()
    assert picture.numbers["ℓ1 1"] == metrics.p1(0.6, 0.2)
    assert picture.numbers["undefended"] == metrics.p1(0.5, 0.6)
    assert "the best setting, L1 0.2, has 0.69" in picture.alt


def test_without_labels_the_map_counts_the_points():
    points = {"ℓ1": [(0.5, 0.4), (0.6, 0.2)]}
    alt = figures.p1_map(points, undefended=(0.5, 0.6)).alt
    assert "the best setting, point 2 of L1, has 0.69" in alt


def test_moves_say_where_they_go():
    picture = PICTURES["moves"]()
    numbers = picture.numbers
    ways = [
        (numbers[f"undefended {when} accuracy"], numbers[f"undefended {when} advantage"])
        for when in ("before", "λ = 0", "λ = 1")
    ]
    assert ways == [(0.5, 0.5), (0.5, 0.3), (0.3, 0.3)]
    way = "undefended from (0.50, 0.50) to λ = 0 (0.50, 0.30), λ = 1 (0.30, 0.30)"
    assert way in picture.alt


def test_a_further_training_without_a_penalty_looks_like_the_control():
    figure = Figure()
    PICTURES["moves"]().draw(figure)
    looks = {line.get_label(): line.get_color() for line in figure.axes[0].lines}
    assert looks["λ = 0"] == DEFENSES["tuned with λ = 0"][0]
    assert looks["λ = 1"] == DEFENSES["PAST"][0]


def test_moves_shade_exactly_where_p1_is_higher():
    figure = Figure()
    PICTURES["moves"]().draw(figure)
    axes = figure.axes[0]
    (shade,) = [one for one in axes.collections if isinstance(one, FillBetweenPolyCollection)]
    (path,) = shade.get_paths()
    before = metrics.p1(0.5, 0.5)
    for accuracy, advantage in [(0.32, 0.32), (0.4, 0.35), (0.48, 0.45), (0.5, 0.4)]:
        is_higher = metrics.p1(accuracy, advantage) > before
        assert path.contains_point((accuracy, advantage)) == is_higher
