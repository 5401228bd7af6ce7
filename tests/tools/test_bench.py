"""The benchmarks measure something: each group is whole, and its cheapest row is a ratio."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bench import __main__ as command
from bench import attacks, shadows, training
from bench.timing import Row, fastest
from mialib import bank
from mialib.attacks import RMIA
from mialib.configurations import Configuration
from mialib.query import to_device
from mialib.training import Recipe


def test_every_group_can_be_asked_for_its_rows():
    assert list(command.GROUPS) == "training shadows past defenses sparsity attacks data".split()
    assert all(callable(group.rows) for group in command.GROUPS.values())


@pytest.mark.parametrize("make", [attacks.threshold_row, training.bootstrap_row])
def test_a_cheap_row_is_measured(make):
    row = make()
    assert row.ratio > 1
    assert row.what in str(row)


def test_a_stacked_model_equals_the_one_trained_alone():
    small = Configuration(
        data="digits", size=360, model="mlp", options={"widths": (16,)}, recipe=Recipe(lr=0.05)
    )
    members = to_device(small.side_records().train, torch.device("cpu"))
    recipe = replace(small.recipe, batch_size=16)  # The last batch is smaller.
    alone = [small.but(seed=seed).build_model() for seed in range(3)]
    together = [small.but(seed=seed).build_model() for seed in range(3)]
    first = alone[0].classify.weight.detach().clone()
    shadows.train_alone(alone, members, recipe)
    stacked = shadows.train_stacked(together, members, recipe)
    assert not torch.allclose(alone[0].classify.weight, first, atol=1e-3)
    for k, network in enumerate(alone):
        for name, weight in network.named_parameters():
            assert torch.allclose(stacked[name][k], weight, atol=1e-6)


def test_a_bank_compared_with_itself_differs_in_nothing(monkeypatch):
    monkeypatch.setattr(shadows, "ATTACKS", {"RMIA": RMIA()})
    letters = bank.load("letters").take(range(8), range(300))
    compared = shadows.fast_against_usual(letters, letters)
    assert compared["RMIA"].difference.auc.triple == (0, 0, 0)
    assert compared["RMIA"].fast.auc.value > 0.6
    with pytest.raises(ValueError, match="hold the same records"):
        shadows.fast_against_usual(letters, letters.take(range(8)[::-1]))


def test_a_cost_is_that_of_all_epochs_of_all_models(monkeypatch):
    base = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=30))
    monkeypatch.setattr(shadows.rehearsal, "seconds_per_epoch", lambda _, clock: 2.0)
    cost = shadows.cost_of(base, models=256)
    assert cost.hours == pytest.approx(256 * 30 * 2 / 3600)
    assert cost.members == len(base.side_records().train)
    assert cost.examples_per_second == cost.members / 2


def test_a_fast_bank_that_is_not_there_is_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    shadows.print_fast_bank()
    assert 'mialib bank --profile cpu --experiment "bank fast" makes it' in capsys.readouterr().out


def test_the_growth_of_the_attacks_is_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(attacks, "SIZES", [100, 200, 400])
    attacks.print_growth(tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 1000
    assert "RMIA" in capsys.readouterr().out


def test_a_ratio_below_its_aim_is_said():
    assert str(Row("slow", seconds=2.0, baseline=1.0, aim=0.9)).endswith("missed")
    assert not str(Row("fast", seconds=1.0, baseline=1.0, aim=0.9)).endswith("missed")


def test_the_fastest_of_several_turns_counts():
    seconds = iter([0.0, 3.0, 3.0, 4.0])

    def clock():
        return next(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.timing.time.perf_counter", clock)
        assert np.allclose(fastest(lambda: None, rounds=2), [1.0])
