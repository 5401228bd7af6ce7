"""The figures of lesson 10: their numbers are what they were given, and they can be read aloud."""

import numpy as np
import pytest

from mialib.course import figures_10
from mialib.course.sweeps import MARGINS

PLACES, LABELS = np.array([[0.5, 0.0], [0.0, 0.8], [0.0, 0.6]]), np.array([0, 1, 1])
CENTERS = np.array([[0.2, 0.0], [0.0, 0.2]])
PULLS = {"in": CENTERS[LABELS] - PLACES, "out": PLACES - CENTERS[LABELS]}
PLANE = figures_10.Plane(
    {"member": np.array([[3.0, 4.0]] * 4), "non_member": np.array([[0.6, 0.8]] * 4)},
    {"member": np.array([1.0, 2.0, 3.0, 4.0]), "non_member": np.array([-1.0, 1.0, 2.0, 3.0])},
)
ALIKE = tuple(np.histogram([-1.1, 0.1, 2.1, 2.2], MARGINS)[0].tolist() for _ in range(2))
PHASE = figures_10.Phase([2.0, 1.2, 0.8, 1.1], [0.0, 0.0, 1.0, 0.5], alpha=1.0)
CELLS = {"λ": {(0.5, 0.0): (0.6, 0.4), (1.0, 0.1): (0.5, 0.2)}, "τ": {(0.5, 0.0): (0.6, 0.3)}}

PICTURES = {
    "scenarios": figures_10.scenarios(PLACES, LABELS, CENTERS, PULLS, radius=0.45),
    "phases": figures_10.phases({"center loss": PHASE}),
    "features": figures_10.features({"one": PLANE, "other": PLANE}),
    "margins": figures_10.margins({"one": ALIKE, "other": (ALIKE[0], [0] * 63 + [9])}, columns=3),
    "surface": figures_10.surface(CELLS, ylabel="α"),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_a_png_with_alt_text_and_caption(picture):
    assert picture.png.startswith(b"\x89PNG")
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")
    assert picture.caption[0].isupper()


def test_the_scenarios_say_who_comes_nearer():
    numbers = PICTURES["scenarios"].numbers
    assert numbers["nearer to its center, in"] == 1.0
    assert numbers["nearer to its center, out"] == 0.0
    assert numbers["mean distance"] == pytest.approx((0.3 + 0.6 + 0.4) / 3)
    assert numbers["inside"] == pytest.approx(2 / 3)


def test_a_phase_begins_with_the_first_batch_below():
    numbers = PICTURES["phases"].numbers
    assert (numbers["center loss first"], numbers["center loss last"]) == (3.0, 1.1)
    never = figures_10.Phase([2.0], [0.0], alpha=1.0)
    assert figures_10.phases({"never": never}).numbers["never first"] == np.inf


def test_distances_are_medians_and_an_area():
    found = figures_10.distances([PLANE, PLANE])
    assert found["member origin"] == pytest.approx(5.0)
    assert found["non_member origin"] == pytest.approx(1.0)
    assert (found["member boundary"], found["non_member boundary"]) == (2.5, 1.5)
    assert found["accuracy"] == 0.75
    assert found["AUC"] == pytest.approx((1.5 + 2.5 + 3.5 + 4.0) / 16)


def test_equal_histograms_overlap_and_separate_ones_do_not():
    numbers = PICTURES["margins"].numbers
    assert numbers["one overlap"] == 1.0
    assert numbers["other overlap"] == 0.0
    assert numbers["one member median"] == pytest.approx(0.125)
    assert numbers["other non_member median"] == pytest.approx(7.875)


def test_a_cell_has_its_numbers():
    assert PICTURES["surface"].numbers["λ α 1, 0.1 advantage"] == 0.2
