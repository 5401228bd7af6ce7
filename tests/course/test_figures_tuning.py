"""Figures of PAST's tuning say the numbers of their setting."""

import pytest
from matplotlib.figure import Figure

from mialib.course import figures
from mialib.course.plots import COLOR
from mialib.results.edges import EDGES
from small_pictures import STANDING, setting_view


def test_a_setting_has_the_numbers_of_its_standing():
    picture = setting_view(0.3)
    assert picture.numbers["highest advantage"] == 0.3
    assert picture.numbers["highest TPR at 1 % FPR"] == 0.02
    assert "P1" not in picture.numbers
    assert "At λ = 0.002, α = 1.5" in picture.alt
    assert "loss gap 1.20" in picture.alt
    assert "undefended" in picture.alt
    assert setting_view(0.4).png != picture.png


def test_a_setting_of_which_every_training_failed_is_drawn_too():
    weights = {"undefended": [1.0] * (len(EDGES) - 1)}
    undefended = STANDING | {"AUC": 0.7, "TPR at 1 %": 0.02}
    picture = figures.setting_view(None, undefended, weights, title="α = 9")
    assert picture.alt == "At α = 9; no training of this setting came to an end."
    assert picture.numbers == {}
    assert picture.png


def test_the_share_near_zero_is_that_of_the_two_bins_in_the_middle():
    counts = [1] * (len(EDGES) - 1)
    counts[29] = counts[30] = 21
    numbers = figures.weight_histograms({"PAST": counts}).numbers
    assert numbers["central PAST"] == pytest.approx(42 / 100)


def test_weights_that_lie_farther_out_are_told_and_not_drawn():
    counts = [1] * (len(EDGES) - 1)
    farther = [21, *counts[1:-1], 21]
    picture = figures.weight_histograms({"PAST": farther})
    assert picture.numbers["outside PAST"] == pytest.approx(42 / 100)
    assert "not drawn: PAST 42.0%" in picture.caption
    figure = Figure()
    picture.draw(figure)
    (outline,) = figure.axes[0].patches
    assert outline.get_data().values.max() == pytest.approx(1 / 100)


def test_an_alt_text_tells_how_far_a_curve_goes_on_its_way():
    curves = {"PAST": [1.0, 4.0, -1.0, 2.0], "λ = 0": [1.0, 1.5, 2.0]}
    x = {"PAST": range(4), "λ = 0": range(3)}
    alt = figures.arm_curves({"loss gap": curves}, x=x, xlabel="epoch").alt
    assert "PAST: from 1 to 2, down to −1 on the way, up to 4 on the way;" in alt
    assert alt.endswith("λ = 0: from 1 to 2.")


def test_an_arm_begins_at_its_epoch_and_keeps_its_colour():
    curves = {"training": [0.0, 1.0, 2.0], "PAST": [2.0, 0.5]}
    x = {"training": range(3), "PAST": range(2, 4)}
    picture = figures.arm_curves({"loss gap": curves}, x=x, xlabel="epoch")
    assert picture.numbers["loss gap, PAST, last"] == 0.5
    assert "loss gap, training: from 0 to 2" in picture.alt
    assert "nan" not in picture.alt
    figure = Figure()
    picture.draw(figure)
    training, past = figure.axes[0].lines
    assert past.get_xdata().tolist() == [2, 3]
    assert past.get_color() == COLOR["target"] != training.get_color()


def test_quantities_have_axes_of_their_own():
    panels = {"Gini": {"PAST": [0.4, 0.8]}, "shifted Gini": {"PAST": [0.06, 0.03]}}
    figure = Figure()
    figures.arm_curves(panels, x=range(2), xlabel="tuning epoch").draw(figure)
    gini, shifted = figure.axes
    assert shifted.get_ylim()[1] < 0.1 < gini.get_ylim()[0]


def test_one_panel_names_its_curves_and_has_no_legend():
    curves = {"training": [0.0, 1.0, 2.0], "PAST": [2.0, 0.5]}
    x = {"training": range(3), "PAST": range(2, 4)}
    figure = Figure()
    figures.arm_curves({"loss gap": curves}, x=x, xlabel="epoch").draw(figure)
    assert not figure.legends
    ends = {text.get_text(): text.xy for text in figure.axes[0].texts}
    assert ends == {"training": (2.0, 2.0), "PAST": (3.0, 0.5)}


def test_several_panels_share_a_legend():
    curves = {"PAST": [2.0, 0.5], "λ = 0": [2.0, 2.0]}
    figure = Figure()
    panels = {"loss gap": curves, "Hoyer": curves}
    figures.arm_curves(panels, x=range(2), xlabel="epoch").draw(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PAST", "λ = 0"]
