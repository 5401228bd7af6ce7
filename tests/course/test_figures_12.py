"""The figures of lesson 12: their numbers are what they were given, and they can be read aloud."""

from types import SimpleNamespace

import numpy as np
import pytest

from mialib.course import figures_12
from mialib.course.sweeps import EDGES
from mialib.estimates import Estimate

HALF = Estimate(0.5, 0.4, 0.6)
POINT = (Estimate(56.0, 55.0, 57.0), Estimate(50.0, 46.0, 54.0))


class Part(list):
    def numel(self):
        return len(self)


def pipeline():
    parts = {"train": Part("abc"), "validation": Part("d"), "test": Part("ef")}
    side = SimpleNamespace(**parts, parts=lambda: parts)
    network = SimpleNamespace(parameters=lambda: [Part("1234567"), Part("12345")])
    return figures_12.pipeline(
        dict.fromkeys(("target", "shadow"), side),
        dict.fromkeys(("target", "shadow"), network),
        "discriminator",
    )


def view(kept):
    masks = {"features.0": np.arange(72).reshape(8, 1, 3, 3) < kept, "classify": np.ones((10, 32))}
    counts = np.full(len(EDGES) - 1, kept)
    arms = {"dense": {"loss": HALF}, "round 1": {"loss": Estimate(kept / 100, 0.0, 1.0)}}
    return figures_12.round_view(
        masks, {"dense": counts, "round 1": counts}, arms, title=f"round {kept}"
    )


def plane(**more):
    return figures_12.plane({"IMP": [POINT, POINT], "narrow": [POINT]}, star=POINT, **more)


@pytest.mark.parametrize(
    "picture",
    [
        pipeline(),
        view(36),
        plane(),
        plane(labels={"IMP": ["64 %", "41 %"]}, slopes={"fitted": (-1.0, 56.0, 50.0)}),
    ],
    ids=["pipeline", "round", "plane", "slopes"],
)
def test_a_picture_is_a_png_with_alt_text_and_caption(picture):
    assert picture.png.startswith(b"\x89PNG")
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")


def test_the_pipeline_counts_its_objects():
    numbers = pipeline().numbers
    assert (numbers["target train"], numbers["shadow validation"], numbers["shadow test"]) == (
        3,
        1,
        2,
    )
    assert numbers["target parameters"] == 12


def test_a_round_says_what_remains_and_what_the_attacks_have():
    assert view(36).numbers == {
        "features.0 remaining": 0.5,
        "classify remaining": 1.0,
        "round 1 loss": 0.36,
    }
    assert view(36).png != view(72).png


def test_the_plane_says_where_its_points_are():
    assert plane().numbers["IMP 1 accuracy"] == 56.0
    assert plane().numbers["narrow 0 defense"] == 50.0


def test_spread_is_one_standard_deviation_to_each_side():
    assert figures_12.spread([1.0, 2.0, 3.0]) == Estimate(2.0, 1.0, 3.0)


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
    assert figures_12._short(layer) == short
