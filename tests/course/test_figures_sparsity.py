"""Figures of pruned and of butterfly networks count what they draw."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mialib.course import figures, plots
from mialib.course.figures.sparsity import short_layer
from mialib.course.plots.palette import DEFENSES
from mialib.sparsity import chains
from small_pictures import FACTORS, PICTURES, PRODUCT, network_parameters, pipeline, round_view


def test_the_pipeline_counts_its_objects():
    numbers = pipeline().numbers
    assert numbers["target train"] == 3
    assert numbers["shadow validation"] == 1
    assert numbers["shadow test"] == 2
    assert numbers["target parameters"] == 12


def test_a_round_says_what_remains():
    numbers = round_view(36).numbers
    assert numbers["features.0 remaining"] == 0.5
    assert numbers["classify remaining"] == 1.0
    assert numbers["kept"] == 36
    assert numbers["empty outputs"] == 4
    assert round_view(36).png != round_view(72).png


def test_the_plane_says_where_its_points_are_in_percent():
    numbers = PICTURES["defense_plane"]().numbers
    assert numbers["IMP 1 accuracy"] == pytest.approx(56.0)
    assert numbers["narrow 0 defense"] == 50.0
    assert "dense 0 accuracy" not in numbers


@pytest.mark.parametrize(
    ("layer", "short"),
    [
        ("features.0", "stem"),
        ("features.10.conv2", "10b"),
        ("features.6.shortcut.0", "6s"),
        ("classify", "last"),
    ],
)
def test_layers_have_short_names(layer, short):
    assert short_layer(layer) == short


def test_a_labelled_factor_says_its_sizes():
    factor = chains.Factor(16, 24, 2, 3, 4)
    picture = figures.labelled_factor(factor)
    assert picture.numbers == {"k": 2, "r": 2, "s": 3, "t": 4, "entries": factor.support().sum()}
    assert "k = 2, r = 2, s = 3, t = 4" in picture.alt
    assert "48 entries" in picture.caption
    assert figures.labelled_factor(chains.Factor(16, 24, 2, 3, 8)).png != picture.png


def test_a_product_counts_the_entries_that_differ_from_zero():
    picture = figures.matrix_product(PRODUCT)
    assert picture.numbers == {"R2 entries": 64, "R1 entries": 144, "W entries": 576}
    assert "R1, 16 by 36, with 144" in picture.alt
    rounded = np.array([[0.0, -2.0], [1e-17, 3.0]])
    assert figures.matrix_product({"X": rounded}).numbers == {"X entries": 2}


def test_a_product_tells_signs_and_not_places_by_colour():
    caption = figures.matrix_product(PRODUCT).caption
    assert caption.startswith("W as a product of 2 factors.")
    assert "black: positive, orange: negative" in caption


def test_lines_stand_only_where_the_product_has_its_columns():
    assert figures.matrix_product(PRODUCT, grid=4).png != figures.matrix_product(PRODUCT).png
    two = {"R2": FACTORS[1], "W": FACTORS[0]}
    assert figures.matrix_product(two, grid=36).png == figures.matrix_product(two).png


def test_a_network_says_what_remains():
    assert network_parameters(1).numbers == {"remaining": 30.1, "parameters": 600}
    assert network_parameters(2).numbers["remaining"] == 20.2
    assert network_parameters(2).png != network_parameters(1).png
    assert "paper: 30.1, 20.0, 10.3" in network_parameters(1).alt
    assert "paper" not in network_parameters(1, {"counted": [1.0, 2.0, 3.0]}).alt


def test_the_caption_of_several_products_is_true_of_each():
    def view(n):
        factors = {f"X{k}": one.support() for k, one in enumerate(chains.square(int(n)))}
        return figures.matrix_product(factors | {"W": np.ones((int(n), int(n)))})

    caption = plots.small_multiples(view, n=[4, 16]).caption
    assert "At 4: W as a product of 2 factors. At 16: W as a product of 4 factors. " in caption
    assert caption.count("Below each: its size") == 1


def test_the_caption_of_several_networks_is_true_of_each():
    caption = plots.small_multiples(network_parameters, at=[1, 2]).caption
    for at, share in ((1, "30.10 %"), (2, "20.20 %")):
        assert f"At {at}: S = {at}: 600 parameters" in caption
        assert share in caption


def test_matched_trainings_tell_their_means():
    picture = PICTURES["matched_trainings"]()
    assert picture.numbers == {
        "S = 1, butterfly": pytest.approx(0.65),
        "S = 1, dense": pytest.approx(0.25),
        "S = 2\nof 3, butterfly": 0.5,
        "dotted": 0.64,
    }
    assert "S = 1, butterfly 0.65" in picture.alt
    assert "S = 2 of 3, butterfly 0.50" in picture.alt
    assert picture.caption.startswith("Highest advantage: a marker for each training")


def test_panels_have_a_kind_each_and_keep_its_colour():
    picture = PICTURES["defense_panels"]()
    assert picture.numbers["pruned (IMP) 1 accuracy"] == pytest.approx(56.0)
    assert "dense 0 accuracy" not in picture.numbers
    assert "2 panels of defense level" in picture.alt
    figure = Figure()
    picture.draw(figure)
    color, marker = DEFENSES["dense, narrow"]
    (narrow,) = [one for one in figure.axes[1].lines if one.get_marker() == marker]
    assert narrow.get_color() == color


def test_a_fan_opens_from_the_steepest_to_the_flattest_slope():
    picture = PICTURES["slope_fan"]()
    assert picture.numbers == {"measured": -2.0, "printed": -3.25}
    assert "Slope −2.00 [−3.00, −1.00], printed −3.25" in picture.alt
    figure = Figure()
    picture.draw(figure)
    (axes,) = figure.axes
    (fan,) = axes.collections
    edge = fan.get_paths()[0].vertices
    left = edge[np.isclose(edge[:, 0], axes.get_xlim()[0])]
    middle = 56.0  # Every point of these lies there.
    opening = np.ptp(left[:, 1])
    assert opening == pytest.approx(2.0 * (middle - axes.get_xlim()[0]))
