"""The figures of lesson 11, the promise of differential privacy that they draw, and the cost of an epoch."""

import numpy as np
import pytest

from mialib import profiles
from mialib.course import figures_11
from mialib.course.costs import epoch_costs
from mialib.course.sweeps import FPRS
from mialib.defenses import AdvReg, MixupMMD
from mialib.estimates import Estimate
from mialib.training import Recipe

HALF, LESS = Estimate(0.5, 0.4, 0.6), Estimate(0.3, 0.2, 0.4)
CURVES = {"undefended": np.sqrt(FPRS), "private": FPRS}
DOTS = {"undefended": [(0.1, 0.5), (0.3, 0.4), (0.2, 0.9)], "private": [(0.1, 0.1), (0.5, 0.6)]}
TRIO = ((HALF, HALF), (HALF, LESS), (LESS, LESS))
PICTURES = {
    "promise": figures_11.promise(CURVES, DOTS, epsilon=1.0, delta=1e-5),
    "moves": figures_11.moves({"undefended": TRIO, "AdvReg": TRIO[::-1]}),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES.keys())
def test_a_picture_is_a_png_with_alt_text_and_caption(picture):
    assert picture.png.startswith(b"\x89PNG")
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")
    assert picture.caption[0].isupper()


def test_the_limit_is_that_of_the_two_inequalities():
    fpr = np.linspace(0, 1, 201)
    for epsilon, delta in ((0.0, 0.0), (0.5, 1e-5), (3.0, 0.1), (1000.0, 0.0)):
        tpr = figures_11.limit(fpr, epsilon=epsilon, delta=delta)
        grid = np.linspace(0, 1, 1001)[:, None]
        factor = np.exp(min(epsilon, 300.0))
        kept = (grid <= factor * fpr + delta + 1e-12) & (
            1 - fpr <= factor * (1 - grid) + delta + 1e-12
        )
        assert np.allclose(tpr, (grid * kept).max(axis=0), atol=1e-3 + 1e-9)
        advantage = figures_11.largest_advantage(epsilon, delta)
        assert np.max(tpr - fpr) <= advantage + 1e-9
        assert np.max(tpr - fpr) >= advantage - 0.02


def test_at_epsilon_0_no_attack_is_better_than_a_coin():
    assert np.allclose(figures_11.limit(FPRS, epsilon=0.0, delta=0.0), FPRS)
    assert figures_11.largest_advantage(0.0, 0.0) == 0


def test_the_promise_says_who_breaks_it():
    numbers = PICTURES["promise"].numbers
    assert numbers["undefended above"] > 0 >= numbers["private above"]
    assert numbers["limit at 0.01"] == pytest.approx(np.e * 0.01 + 1e-5)
    assert (numbers["undefended dots"], numbers["private dots"]) == (
        2,
        0,
    )  # e · 0.1 < 0.5, but e · 0.3 > 0.4.
    wider = figures_11.promise(CURVES, DOTS, epsilon=5.0, delta=1e-5)
    assert wider.numbers["undefended dots"] == 0
    assert wider.numbers["undefended above"] <= 0
    assert wider.png != PICTURES["promise"].png
    assert "undefended enters the grey, with 2 of 3 attacks" in PICTURES["promise"].alt


def test_moves_say_where_they_go():
    numbers = PICTURES["moves"].numbers
    ways = [(numbers[f"undefended {when} accuracy"], numbers[f"undefended {when} advantage"])
            for when in ("before", "control", "after")]  # fmt: skip
    assert ways == [(0.5, 0.5), (0.5, 0.3), (0.3, 0.3)]
    assert (
        "undefended from (0.50, 0.50) to (0.30, 0.30), with λ = 0 to (0.50, 0.30)"
        in PICTURES["moves"].alt
    )


def test_an_epoch_is_compared_with_a_plain_one():
    tiny = (
        profiles.load("quick")
        .experiments["images long"]
        .but(
            data="digits",
            size=600,
            model="mlp",
            options={"widths": (16,)},
            recipe=Recipe(batch_size=50),
        )
    )
    found = epoch_costs(tiny, [AdvReg(), MixupMMD(gap=0.0)], rounds=1)
    assert list(found) == ["Plain", "AdvReg", "MixupMMD"]
    assert found["Plain"][1] == 1
    assert all(seconds > 0 for seconds, _ in found.values())
    assert found["AdvReg"][1] > 1
    assert found["MixupMMD"][1] == pytest.approx(found["MixupMMD"][0] / found["Plain"][0])


def test_a_roc_refutes_what_it_breaks_beyond_its_intervals():
    allowed = figures_11.limit(FPRS, epsilon=2.0, delta=1e-5)
    assert 1 < figures_11.refuted(allowed, delta=1e-5) < 2
    assert figures_11.refuted(FPRS, delta=1e-5) == 0
    mirrored = np.where(FPRS > 0.3, 1.0, FPRS)  # Strangers are found for sure, members are not.
    assert 3 < figures_11.refuted(mirrored, delta=1e-5) < np.log(0.7 * 1000)
