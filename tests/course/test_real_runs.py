"""The table of real runs that lessons show: rows by name, numbers as the sweep has them."""

import numpy as np
import pytest

from mialib.attacks import ATTACKS
from mialib.course import real_runs
from mialib.course.sweeps import Sweep

N = 400


@pytest.fixture
def sweep(rng, monkeypatch):
    """Two trainings; the second was asked by the discriminator, too."""
    is_member = np.arange(N) < N // 2
    votes = rng.random((2, 2, N)) < np.where(is_member, 0.8, 0.3)
    rows = [{"name": "plain", "loss_gap": 1.234}, {"name": "sparse, L = 2", "loss_gap": 0.5}]
    rows[1] |= {"remaining": 15.94, "defense_level": {"value": 21.2, "low": 19.64, "high": 22.66}}
    made = Sweep(rows, ["loss", "entropy"], votes, rng.random((2, N)) < 0.6, is_member)
    monkeypatch.setattr(real_runs, "sweep", lambda: made)
    return made


def test_a_line_says_what_the_sweep_says(sweep):
    head, rule, *lines = real_runs.as_text(sweep).splitlines()
    assert head == "| training | test accuracy | loss gap | highest advantage | by |"
    assert rule.count("---") == 5
    for row, line in enumerate(lines):
        _, name, accuracy, gap, highest, by, _ = (cell.strip() for cell in line.split("|"))
        about = sweep.rows[row]
        assert name == about["name"]
        assert float(gap) == round(about["loss_gap"], 2)
        for cell, expected in ((accuracy, sweep.accuracy(row)), (highest, sweep.highest(row))):
            assert cell == f"{expected.value:.2f} [{expected.low:.2f}, {expected.high:.2f}]"
        assert sweep.advantage(row, by).value == sweep.highest(row).value


def test_the_sparsity_papers_numbers_come_when_asked_for(sweep):
    (line,) = real_runs.table("sparse, L = 2", level=True).data.splitlines()[2:]
    assert line.startswith("| sparse, L = 2 |")
    assert line.endswith("| 21.2 [19.6, 22.7] | 15.9 % |")


def test_a_training_is_found_by_its_name(sweep):
    point = real_runs.point("sparse, L = 2")
    assert point == (sweep.accuracy(1), sweep.highest(1))
    assert point.highest == sweep.highest(1)
    paired = real_runs.difference("plain", "sparse, L = 2", "loss")
    assert paired == sweep.difference(0, 1, "loss")
    with pytest.raises(ValueError, match="sparse, L = 2"):
        real_runs.point("sparse")


def test_the_shipped_runs_are_named_once_and_attacked_by_known_attacks():
    shipped = real_runs.sweep()
    names = [row["name"] for row in shipped.rows]
    assert len(set(names)) == len(names) == 21
    assert set(shipped.attacks) < set(ATTACKS)
