"""The benchmarks measure something: each group is whole, and its cheapest row is a ratio."""

import numpy as np
import pytest

from bench import __main__ as command
from bench import attacks, training
from bench.timing import Row, fastest


def test_every_group_can_be_asked_for_its_rows():
    assert list(command.GROUPS) == "training past defenses sparsity attacks data".split()
    assert all(callable(group.rows) for group in command.GROUPS.values())


@pytest.mark.parametrize("make", [attacks.threshold_row, training.bootstrap_row])
def test_a_cheap_row_is_measured(make):
    row = make()
    assert row.ratio > 1
    assert row.what in str(row)


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
