"""The figure of differential privacy says who breaks the promise."""

import numpy as np
import pytest

from mialib.course import figures
from mialib.course.figures.privacy import FPRS
from mialib.epsilon import highest_tpr, largest_advantage
from mialib.experiments import results
from small_pictures import PICTURES, REACHED


def test_the_promise_says_who_breaks_it():
    picture = PICTURES["promise"]()
    numbers = picture.numbers
    assert numbers["undefended beyond"] > 0 >= numbers["private beyond"]
    assert numbers["limit at 0.01"] == pytest.approx(np.e * 0.01 + 1e-5)
    assert numbers["largest advantage"] == largest_advantage(1.0, 1e-5)
    assert "undefended refutes it; private does not refute it" in picture.alt


def test_a_larger_epsilon_forbids_less():
    wider = figures.promise(REACHED, epsilon=5.0, delta=1e-5)
    assert wider.numbers["undefended beyond"] <= 0
    assert wider.png != PICTURES["promise"]().png


def test_what_is_refuted_is_what_the_figure_shows():
    refuted = REACHED["undefended"].refuted(delta=1e-5)
    below = figures.promise(REACHED, epsilon=0.99 * refuted, delta=1e-5)
    above = figures.promise(REACHED, epsilon=1.01 * refuted, delta=1e-5)
    assert below.numbers["undefended beyond"] > 0 >= above.numbers["undefended beyond"]
    assert REACHED["private"].refuted(delta=1e-5) == 0


def test_the_best_attack_counts_and_more_attacks_are_less_sure():
    alone = figures.reach(FPRS[None] ** 0.3, members=1000, non_members=1000)
    assert np.array_equal(REACHED["undefended"].tpr, alone.tpr)
    inside = (FPRS > 0) & (FPRS < 1)
    assert (REACHED["undefended"].sure.tpr[inside] < alone.sure.tpr[inside]).all()


def test_clearing_non_members_is_the_other_inequality():
    one = REACHED["undefended"]
    mirrored = one.mirrored()
    assert mirrored.refuted(delta=1e-5) == pytest.approx(one.refuted(delta=1e-5))
    assert np.allclose(mirrored.mirrored().tpr, one.tpr)


def test_trainings_reach_what_their_attacks_reach():
    plain = results("base", "quick").find(defense="Plain")
    reached = figures.reach_of(plain)
    of_loss = plain.roc("loss", FPRS).mean(axis=0)
    assert (reached.tpr >= of_loss).all()
    assert (reached.sure.tpr <= reached.tpr + 1e-3).all()  # A share is rounded to whole records.
    assert (highest_tpr(FPRS, epsilon=0.0, delta=0.0) <= reached.tpr + 0.05).all()


def test_the_ceiling_says_who_crosses_it():
    picture = PICTURES["ceilings"]()
    numbers = picture.numbers
    assert numbers["undefended beyond"] > 0 >= numbers["private beyond"]
    assert "BREAKS the guarantee" in picture.alt
    assert numbers["private reached"] == pytest.approx(0.01)
    assert numbers["private used"] == pytest.approx(0)
    assert numbers["undefended used"] > 100
    assert numbers["private allowed"] < numbers["private allowed by one pair"]
