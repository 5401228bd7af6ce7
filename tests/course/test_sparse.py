"""Networks of lessons 12 and 13 are sorted by what was done to them, and matched by accuracy."""

from functools import cache

import numpy as np
import pytest

from mialib.course import sparse
from mialib.course.plots.palette import DEFENSES
from mialib.course.sparse import Networks, Shape
from mialib.course.statistics import accuracy_aside
from mialib.experiments.running import shipped_path
from mialib.results import Results


@cache
def shipped(plan: str, profile: str = "quick") -> Results:
    return Results.read(shipped_path(plan, profile))


@cache
def found(profile: str = "quick") -> Networks:
    return sparse.networks(shipped("pruned", profile), shipped("butterflies", profile))


@pytest.mark.parametrize("profile", ["quick", "cpu"])
def test_every_setting_is_of_one_kind(profile):
    kinds = found(profile).kinds()
    sorted_ones = sum(len(some) for some in kinds.values())
    plans = [shipped(plan, profile) for plan in ("pruned", "butterflies")]
    assert sorted_ones + 2 == sum(len(plan.settings()) for plan in plans)  # Each has a dense one.
    assert set(kinds) <= set(DEFENSES), "the palette knows each kind's colour and marker"


def test_only_pruned_networks_and_butterflies_have_zeros():
    networks = found()
    assert all(sparse.remaining(one) > 99.9 for one in networks.without_zeros())
    assert all(sparse.remaining(one) < 99.9 for one in networks.pruned + networks.at_once)
    shares = [sparse.remaining(one) for one in networks.pruned]
    assert shares == sorted(shares, reverse=True)
    assert list(networks.butterflies) == [Shape(S, L) for S in (1, 2, 3) for L in (2, 3)]


def test_networks_are_called_by_what_was_done_to_them():
    networks = found()
    assert sparse.called(networks.dense) == "dense"
    assert sparse.called(networks.pruned[-1]) == "IMP, 3.9 %"
    assert sparse.called(networks.at_once[0]) == "at once, 17.7 %"
    assert sparse.called(networks.retrained[1]) == "retrained 2 ×"
    assert sparse.called(networks.stopped[0]) == "stopped after 3"
    assert sparse.called(networks.narrow[0]) == "width 2"
    labels = networks.labels()
    assert labels["pruned (IMP)"] == [""] * 7 + ["3.9 %"]
    assert labels["dense, stopped early"][-3:] == ["epoch 16", "", "epoch 25"]
    assert labels["dense, narrow"] == ["width 2", "width 3", "width 5"]
    assert labels["butterflies, L = 2"] == ["S = 1", "S = 2", "S = 3"]
    assert {name: len(some) for name, some in labels.items()} == {
        name: len(some) for name, some in networks.points().items()
    }
    assert "pruned (IMP)" not in networks.points(without=["pruned (IMP)"])


def test_butterflies_of_other_records_have_nobody_beside_them():
    alone = sparse.networks(shipped("pruned", "cpu"), shipped("butterflies", "quick"))
    assert len(alone.butterflies) == 6
    assert alone.pruned == alone.stopped == []
    assert alone.without_zeros() == [alone.dense]


def test_the_nearest_is_nearest_on_records_that_nobody_asks_about():
    networks = found()
    for one, match in sparse.matches(networks.pruned, networks.without_zeros()):
        gaps = [
            abs(accuracy_aside(other) - accuracy_aside(one)) for other in networks.without_zeros()
        ]
        assert abs(accuracy_aside(match) - accuracy_aside(one)) == min(gaps)


def test_a_network_does_not_differ_from_itself():
    dense = found().dense
    nothing = sparse.differences([(dense, dense)])
    assert list(nothing) == list(sparse.NUMBERS)
    assert all(estimate.triple == (0, 0, 0) for estimate in nothing.values())


def test_a_slope_is_that_of_each_seed():
    networks = found()
    two = [networks.dense, networks.pruned[-1]]
    accuracy = [100 * one.by_seed("accuracy") for one in two]
    level = [one.by_seed("defense_level") for one in two]
    expected = np.mean((level[1] - level[0]) / (accuracy[1] - accuracy[0]))
    assert sparse.slope(two).value == pytest.approx(expected)
