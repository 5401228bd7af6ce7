"""Figures of PAST's ablations say the numbers of every setting, and of their epoch."""

import numpy as np
from matplotlib.figure import Figure

from mialib.course import figures
from small_pictures import CHANGED, PICTURES, epoch_view


def test_an_epoch_says_its_own_numbers():
    first = epoch_view(0)
    assert first.numbers == {"test accuracy, PAST": 0.5, "test accuracy, λ = 0": 0.5}
    second = epoch_view(1)
    assert second.numbers["test accuracy, PAST"] == 0.3
    assert "At epoch 1: test accuracy, PAST 0.30" in second.caption
    assert second.png != first.png


def test_a_run_that_would_end_outside_the_axis_is_not_drawn():
    figure = Figure()
    epoch_view(0).draw(figure)
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert [line.get_xdata().tolist() for line in diamonds] == [[1]]


def test_every_point_of_a_plane_has_its_label():
    picture = PICTURES["labelled_planes"]()
    assert picture.numbers["letters, ℓ1, 0.2 accuracy"] == 0.5
    figure = Figure()
    picture.draw(figure)
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [
        ["0.1", "0.2"],
        ["a", "b"],
    ]


def test_a_table_of_settings_leaves_out_what_is_not_known():
    picture = PICTURES["setting_tables"]()
    assert picture.numbers["change λ = 1 α = 1"] == -0.2
    assert "change λ = 2 α = 0" not in picture.numbers
    assert "nan" not in picture.alt
    figure = Figure()
    picture.draw(figure)
    _, change = figure.axes
    written = {text.get_text(): text.get_fontweight() for text in change.texts}
    assert written == {"+0.10": "bold", "-0.20": "normal", "+0.00": "normal"}


def test_cells_that_are_all_alike_can_be_drawn():
    alike = {"zero": figures.Cells(np.zeros((1, 2))), "change": CHANGED}
    alike["change"] = figures.Cells(np.zeros((1, 2)), signed=True)
    picture = figures.setting_tables(alike, rows=["λ"], columns=["a", "b"], told="Nothing.")
    assert picture.png
