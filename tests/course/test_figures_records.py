"""Figures of records: one threshold counts rightly, one record has its two means."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mialib.course import figures
from small_pictures import MEMBER, NON_MEMBER, PICTURES, one_record, threshold_view


def test_images_say_what_their_labels_are():
    assert PICTURES["images"]().caption == "7 images, each under its label."
    assert PICTURES["images with a caption"]().caption == "Above each image: who drew it."


@pytest.mark.parametrize("threshold", [1e-4, 0.05, 0.7, 100.0])
def test_the_threshold_view_counts_rightly(threshold):
    tpr = sum(loss <= threshold for loss in MEMBER) / 300
    fpr = sum(loss <= threshold for loss in NON_MEMBER) / 200
    expected = {"tpr": tpr, "fpr": fpr, "advantage": tpr - fpr}
    assert threshold_view(threshold).numbers == pytest.approx(expected)


def test_whole_numbers_are_losses_too():
    members = np.array([0, 3], np.uint8)
    non_members = np.array([1, 9], np.uint8)
    numbers = figures.threshold_view(members, non_members, threshold=2.0).numbers
    assert numbers == {"tpr": 0.5, "fpr": 0.5, "advantage": 0.0}


def test_an_advantage_just_below_0_is_written_without_a_minus():
    """A thousandth more non-members than members below the threshold: the title said -0.00."""
    members = np.r_[0.1, np.ones(999)]
    non_members = np.r_[0.1, 0.1, np.ones(998)]
    figure = Figure()
    picture = figures.threshold_view(members, non_members, threshold=0.5)
    picture.draw(figure)
    assert picture.numbers["advantage"] == pytest.approx(-0.001)
    assert "advantage 0.00" in [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_confusion_matrix_has_counts_and_shares():
    figure = Figure()
    threshold_view(0.2).draw(figure)
    _, table, *_ = figure.axes
    caught = int((MEMBER <= 0.2).sum())
    cells = [text.get_text() for text in table.texts]
    assert cells[0] == f"{caught}\n{caught / 300:.1%}"
    assert len(cells) == 4


@pytest.mark.parametrize(
    ("loss", "is_member", "verdict"),
    [
        (0.1, True, "a member is caught"),
        (0.1, False, "a false alarm"),
        (0.3, True, "a member is missed"),
        (0.3, False, "a non-member is left alone"),
    ],
)
def test_the_view_of_one_record_says_whether_the_attack_is_right(loss, is_member, verdict):
    picture = one_record(loss, is_member=is_member)
    assert verdict in picture.alt
    called = float(loss <= 0.2)
    assert picture.numbers == {"loss": loss, "called": called, "is member": float(is_member)}


def test_one_record_in_two_worlds_has_the_means_of_both():
    numbers = PICTURES["worlds"]().numbers
    assert numbers["in"] == pytest.approx(MEMBER[:20].mean())
    assert numbers["out"] == pytest.approx(NON_MEMBER[:20].mean())
    assert numbers["target"] == 0.5


def test_a_value_that_all_models_share_has_a_narrow_bell():
    assert figures.worlds(np.ones(5), np.zeros(5), 0.5, label="φ").png
