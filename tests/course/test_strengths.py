"""The simple defenses go from weak to strong, and a promise of accuracy stops them in time."""

from dataclasses import replace

import numpy as np
import pytest

from mialib.course import strengths
from small_results import results

IS_MEMBER = np.arange(20) < 10
SETTINGS = [
    {"defense": "Plain"},
    {"defense": "L1", "lam": 1e-2},
    {"defense": "L1", "lam": 1e-3},
    {"defense": "EarlyStopping", "patience": 1},
    {"defense": "EarlyStopping", "patience": 4},
]
ASIDE = [0.60, 0.30, 0.56, 0.10, 0.40]  # the accuracy of each on records set aside


@pytest.fixture
def simple():
    made = results(np.zeros((5, 1, 20)), IS_MEMBER, settings=SETTINGS)
    rows = [
        replace(row, accuracy={"test": 0.5, "inference": right})
        for row, right in zip(made.rows, ASIDE, strict=True)
    ]
    return replace(made, rows=tuple(rows))


def test_settings_go_from_weak_to_strong(simple):
    arms = strengths.by_defense(simple)
    assert {name: list(arm) for name, arm in arms.items()} == {
        "ℓ1": [1e-3, 1e-2],
        "early stopping": [4, 1],  # Much patience stops late.
    }


def test_each_setting_has_a_name(simple):
    named = strengths.by_setting(strengths.by_defense(simple))
    assert list(named) == ["ℓ1 0.001", "ℓ1 0.01", "early stopping 4", "early stopping 1"]
    assert named["ℓ1 0.01"].rows[0].settings == SETTINGS[1]


@pytest.mark.parametrize(
    ("promise", "kept"),
    [(0.0, []), (0.05, ["ℓ1 0.001"]), (0.2, ["ℓ1 0.001", "early stopping 4"])],
)
def test_the_strongest_that_keeps_the_promise_by_records_set_aside(simple, promise, kept):
    arms = strengths.by_defense(simple)
    plain = simple.find(defense="Plain")
    assert list(strengths.kept_promises(arms, plain, promise=promise)) == kept
