"""Figures of PAST's ablations say the numbers of every setting, and of their epoch."""

from matplotlib.figure import Figure

from mialib.course import figures
from mialib.course.figures.ablation import WAYS
from mialib.course.plots.palette import darker
from mialib.estimates import Estimate
from small_pictures import PICTURES, epoch_view


def test_an_epoch_says_its_own_numbers():
    first = epoch_view(0)
    assert first.numbers == {"test accuracy, PAST": 0.5, "test accuracy, λ = 0": 0.5}
    second = epoch_view(1)
    assert second.numbers["test accuracy, PAST"] == 0.3
    assert "At epoch 1: test accuracy 0.30 (PAST), 0.50 (λ = 0)." in second.caption
    assert second.png != first.png


def test_a_run_that_would_end_outside_the_axis_is_not_drawn():
    figure = Figure()
    epoch_view(0).draw(figure)
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert [line.get_xdata().tolist() for line in diamonds] == [[1]]


def test_points_have_their_labels_in_the_colour_of_their_series():
    picture = PICTURES["labelled_planes"]()
    assert picture.numbers["letters, γ, α = 1, 0.2 x"] == 0.5
    assert picture.numbers["paper, without γ, number 1 y"] == 0.2
    figure = Figure()
    picture.draw(figure)
    letters, paper = figure.axes
    assert [text.get_text() for text in letters.texts] == ["0.1", "0.2", "0.3"]
    assert [text.get_text() for text in paper.texts] == ["α = 2"]
    assert (letters.get_ylabel(), paper.get_ylabel()) == ("advantage", "gap")
    colors = [axes.texts[0].get_color() for axes in (letters, paper)]
    assert colors == [darker(WAYS[name][0]) for name in ("γ, α = 1", "γ, α as written")]


def test_labels_at_one_place_stand_on_different_sides_of_it():
    figure = Figure()
    PICTURES["labelled_planes"]().draw(figure)
    _, second, third = figure.axes[0].texts
    assert second.xy == third.xy
    assert second.get_position() != third.get_position()


def test_panels_with_a_star_have_the_same_axes():
    near = {"without γ": [(0.5, 0.5)]}
    far = {"without γ": [(0.7, 0.1)]}
    stars = dict.fromkeys(["near", "far"], (0.6, 0.4))
    axes = {"xlabel": "accuracy", "ylabel": "advantage"}
    picture = figures.labelled_planes({"near": near, "far": far}, stars=stars, told="", **axes)
    figure = Figure()
    picture.draw(figure)
    left, right = figure.axes
    assert left.axis() == right.axis()


def test_a_table_of_settings_has_a_dash_where_nothing_is_known():
    picture = PICTURES["setting_tables"]()
    assert picture.numbers["change, λ = 0.001, α = 1.5"] == -0.2
    assert "change, λ = 0.001, α = 0" not in picture.numbers
    assert "gap, λ = 0.002: 0.70, none; change, λ = 0.001: none, −0.200" in picture.alt
    figure = Figure()
    picture.draw(figure)
    gap, change, little = figure.axes
    assert [text.get_text() for text in gap.texts] == ["1.00", "0.50", "0.70", "–"]
    assert [text.get_text() for text in change.texts] == ["−0.200", "+0.500", "–", "–"]
    assert [text.get_text() for text in little.texts] == ["+0.000", "–", "–", "–"]


def test_a_difference_is_bold_where_its_interval_excludes_0():
    figure = Figure()
    PICTURES["setting_tables"]().draw(figure)
    weights = [axes.texts[0].get_fontweight() for axes in figure.axes]
    assert weights == ["normal", "bold", "normal"]


def test_cells_that_are_all_alike_can_be_drawn():
    alike = {"gap": {(1.0, 0.0): 0.0}, "change": {(1.0, 0.0): Estimate(0.0, 0.0, 0.0)}}
    assert figures.setting_tables(alike, told="Nothing.").png
