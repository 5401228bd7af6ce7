"""What an epoch of a defense costs, beside a plain one."""

import pytest

from mialib import profiles
from mialib.course.costs import epoch_costs, fastest
from mialib.defenses import AdvReg, MixupMMD
from mialib.training import Recipe


def test_an_epoch_is_compared_with_a_plain_one():
    configuration = profiles.load("quick").experiments["resnet"]
    small = {"data": "digits", "size": 600, "model": "mlp", "options": {"widths": (16,)}}
    tiny = configuration.but(**small, recipe=Recipe(batch_size=50))
    costs = epoch_costs(tiny, [AdvReg(), MixupMMD(gap=0.0)], rounds=1)
    assert list(costs) == ["Plain", "AdvReg", "MixupMMD"]
    assert costs["Plain"].ratio == 1
    assert all(cost.seconds > 0 for cost in costs.values())
    assert costs["AdvReg"].ratio > 1
    ratio = costs["MixupMMD"].seconds / costs["Plain"].seconds
    assert costs["MixupMMD"].ratio == pytest.approx(ratio)


def test_jobs_take_turns_and_the_first_turn_does_not_count():
    turns = []

    def job(name, work):
        turns.append(name)
        slow_first = 200 if turns.count(name) == 1 else 1
        sum(range(work * slow_first))

    seconds = fastest(lambda: job("a", 2_000), lambda: job("b", 60_000), rounds=5)
    assert turns == ["a", "b"] * 6
    assert 0 < seconds[0] < seconds[1]
