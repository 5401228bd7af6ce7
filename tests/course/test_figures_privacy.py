"""The figure of differential privacy says who breaks the promise."""

import numpy as np
import pytest

from mialib.course import figures
from mialib.course.statistics import largest_advantage
from small_pictures import CURVES, DOTS, PICTURES


def test_the_promise_says_who_breaks_it():
    picture = PICTURES["promise"]()
    numbers = picture.numbers
    assert numbers["undefended above"] > 0 >= numbers["private above"]
    assert numbers["limit at 0.01"] == pytest.approx(np.e * 0.01 + 1e-5)
    assert numbers["largest advantage"] == largest_advantage(1.0, 1e-5)
    assert numbers["undefended dots"] == 2  # e · 0.1 < 0.5, but e · 0.3 > 0.4.
    assert numbers["private dots"] == 0
    assert "undefended enters the grey, with 2 of 3 attacks" in picture.alt


def test_a_larger_epsilon_forbids_less():
    wider = figures.promise(CURVES, DOTS, epsilon=5.0, delta=1e-5)
    assert wider.numbers["undefended dots"] == 0
    assert wider.numbers["undefended above"] <= 0
    assert wider.png != PICTURES["promise"]().png
