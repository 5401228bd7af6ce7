"""The figures of lesson 13: their numbers are what they were given, and they can be read aloud."""

import numpy as np
import pytest

from mialib.course import figures_13
from mialib.sparsity import chains

FACTORS = [factor.support().astype(float) for factor in chains.smallest(16, 36, 2)]
PANELS = {"R2": FACTORS[1], "R1": FACTORS[0], "W": FACTORS[1] @ FACTORS[0]}
PERCENT = {"counted": [30.1, 20.2, 10.3], "paper": [30.1, 20.0, 10.3]}


def network(at, percent=PERCENT):
    return figures_13.network([100, 400, 1600], [100, 200, 300], percent, at=at, title=f"S = {at}")


@pytest.mark.parametrize(
    "picture",
    [
        figures_13.product(PANELS),
        figures_13.product(PANELS, grid=4, title="Sixteen by 36.", height=2.0),
        figures_13.product({"X": np.eye(4), "W": -np.eye(4)}),
        network(1),
        network(3, {"counted": [100.0, 100.0, 100.0]}),
    ],
    ids=["product", "ruled", "signs", "network", "without the paper"],
)
def test_a_picture_is_a_png_with_alt_text_and_caption(picture):
    assert picture.png.startswith(b"\x89PNG")
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")
    assert picture.caption[0].isupper()


def test_a_product_counts_the_entries_that_differ_from_zero():
    assert figures_13.product(PANELS).numbers == {
        "R2 entries": 64,
        "R1 entries": 144,
        "W entries": 576,
    }
    assert figures_13.product({"X": np.array([[0.0, -2.0], [1e-17, 3.0]])}).numbers == {
        "X entries": 2
    }
    assert "R1, 16×36, with 144" in figures_13.product(PANELS).alt


def test_lines_stand_only_where_the_product_has_its_columns():
    assert figures_13.product(PANELS, grid=4).png != figures_13.product(PANELS).png
    assert figures_13.product({"R2": FACTORS[1]} | {"W": FACTORS[0]}, grid=36).png == figures_13.product(
        {"R2": FACTORS[1]} | {"W": FACTORS[0]}
    ).png  # fmt: skip


def test_a_network_says_what_remains():
    assert network(1).numbers == {"remaining": 30.1, "parameters": 600}
    assert network(2).numbers["remaining"] == 20.2
    assert network(2).png != network(1).png
    assert "paper: 30.1, 20.0, 10.3" in network(1).alt
    assert "paper" not in network(1, {"counted": [1.0, 2.0, 3.0]}).alt
