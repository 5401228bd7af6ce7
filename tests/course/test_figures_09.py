"""The figures of lesson 09: their numbers are what they were given, and they can be read aloud."""

import pytest

from mialib.course import figures_09
from mialib.estimates import Estimate

HALF = Estimate(0.5, 0.4, 0.6)
POINTS = {
    "ours": {"ℓ1": [(0.6, 0.2), (HALF, HALF)]},
    "theirs": {"ℓ1": [(0.3, 0.1)], "ℓ2": [(0.4, 0.2)]},
}


def view(epoch):
    curves = {"test accuracy": {"PAST": [HALF, Estimate(0.3, 0.2, 0.4)], "λ = 0": [HALF, HALF]}}
    attacks = {arm: {"loss": HALF, "entropy": HALF} for arm in ("PAST", "λ = 0")}
    gaps, finished = {"PAST": 0.7, "λ = 0": 1.1}, {"test accuracy": {1: 0.4, 40: 0.6}}
    return figures_09.epoch_view(
        curves, attacks, gaps, epoch=epoch, rate=[0.1, 0.0], finished=finished
    )


@pytest.mark.parametrize(
    "picture",
    [
        figures_09.scatter(
            POINTS, xlabel="test accuracy", ylabel="advantage", stars={"ours": (HALF, 0.7)}
        ),
        figures_09.scatter(POINTS, xlabel="pull", ylabel={"ours": "a", "theirs": "b"}, log=True),
        figures_09.scatter(
            POINTS, xlabel="test accuracy", ylabel="advantage", columns=3, share=True
        ),
        view(0),
    ],
    ids=["stars", "log", "shared", "epoch"],
)
def test_a_picture_is_a_png_with_alt_text_and_caption(picture):
    assert picture.png.startswith(b"\x89PNG")
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")
    assert picture.caption[0].isupper()


def test_points_say_where_they_are():
    numbers = figures_09.scatter(POINTS, xlabel="test accuracy", ylabel="advantage").numbers
    assert len(numbers) == 8
    assert (numbers["ours ℓ1 1 x"], numbers["theirs ℓ2 0 y"]) == (0.5, 0.2)


def test_an_epoch_says_its_own_numbers():
    assert view(0).numbers == {
        "test accuracy, PAST": 0.5, "test accuracy, λ = 0": 0.5, "loss gap, PAST": 0.7, "loss gap, λ = 0": 1.1
    }  # fmt: skip
    assert view(1).numbers["test accuracy, PAST"] == 0.3
    assert view(1).png != view(0).png
