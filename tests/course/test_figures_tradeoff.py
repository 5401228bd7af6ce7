"""Figures that compare defenses say the numbers that they were given."""

from matplotlib.figure import Figure

from mialib import metrics
from mialib.course import figures
from small_pictures import PICTURES, STANDINGS


def test_a_board_has_every_number():
    numbers = PICTURES["board"]().numbers
    assert numbers["ℓ1 highest"] == STANDINGS["ℓ1"]["highest"]
    assert len(numbers) == 2 * len(STANDINGS["ℓ1"])


def test_changes_say_by_how_much():
    picture = PICTURES["changes"]()
    assert picture.numbers == {"ℓ1 loss": 0.2, "ℓ1 entropy": -0.1}
    assert "ℓ1 loss +0.20; ℓ1 entropy -0.10." in picture.alt


def test_only_what_is_sure_is_bold():
    figure = Figure()
    PICTURES["changes"]().draw(figure)
    weights = {text.get_text(): text.get_weight() for text in figure.axes[0].texts}
    assert weights == {"+0.20": "bold", "-0.10": "normal"}


def test_a_map_of_p1_names_the_best_setting():
    picture = PICTURES["p1_map"]()
    assert picture.numbers["ℓ1 1"] == metrics.p1(0.6, 0.2)
    assert picture.numbers["undefended"] == metrics.p1(0.5, 0.6)
    assert "the best setting, ℓ1 0.2, has 0.69" in picture.alt


def test_without_labels_the_map_counts_the_points():
    points = {"ℓ1": [(0.5, 0.4), (0.6, 0.2)]}
    alt = figures.p1_map(points, undefended=(0.5, 0.6)).alt
    assert "the best setting, point 2 of ℓ1, has 0.69" in alt


def test_moves_say_where_they_go():
    picture = PICTURES["moves"]()
    ways = [
        (
            picture.numbers[f"undefended {when} accuracy"],
            picture.numbers[f"undefended {when} advantage"],
        )
        for when in ("before", "control", "after")
    ]
    assert ways == [(0.5, 0.5), (0.5, 0.3), (0.3, 0.3)]
    way = "undefended from (0.50, 0.50) to (0.30, 0.30), with λ = 0 to (0.50, 0.30)"
    assert way in picture.alt
