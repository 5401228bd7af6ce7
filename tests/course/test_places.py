"""Means of sensitivity by place weigh every module by its size."""

import numpy as np

from mialib.course.places import by_place, log_ratio


def network(scale: float = 1.0) -> dict[str, dict]:
    convolutions = {
        f"features.{k}": {"kind": "convolution", "size": 10 * (k + 1), "mean": scale * (k + 1)}
        for k in range(6)
    }
    return convolutions | {"classify": {"kind": "linear", "size": 5, "mean": 7.0}}


def test_a_large_module_counts_for_more():
    assert by_place(network())["early"] == (10 * 1 + 20 * 2) / 30
    assert by_place(network())["late"] == (50 * 5 + 60 * 6) / 110


def test_kinds_and_all_weights():
    found = by_place(network())
    sizes = np.arange(1, 7) * 10
    assert found["linear"] == 7
    assert np.isclose(found["convolution"], np.average(np.arange(1, 7), weights=sizes))
    assert np.isclose(found["all"], np.average([*range(1, 7), 7], weights=[*sizes, 5]))


def test_seven_convolutions_have_thirds_that_share_none():
    modules = network() | {"features.9": {"kind": "convolution", "size": 10, "mean": 100.0}}
    assert by_place(modules)["late"] > by_place(network())["late"]


def test_the_ratio_is_taken_in_each_training():
    """A training of another scale has the same ratio, so the interval has no width."""
    found = log_ratio([network(), network(3.0)], "late", "early")
    assert np.isclose(found.value, np.log((610 / 110) / (50 / 30)))
    assert np.isclose(found.low, found.high)
