"""The plan `past` answers by what is changed, and a control is found by its accuracy."""

from dataclasses import replace

import numpy as np
import pytest

from mialib.course.tunings import (
    Tunings,
    accuracy_apart,
    nearest,
    ruined_trainings,
    watched_arms,
)
from small_results import results

IS_MEMBER = np.arange(40) < 20
USUAL = {"defense": "Past", "lam": 0.0, "alpha": 1.5, "epochs": 30}
SETTINGS = [
    {"defense": "Plain", "epochs": 60},
    USUAL,
    USUAL | {"lam": 2e-3},
    USUAL | {"lam": 1e-3},
    USUAL | {"lam": 3e-3},
    USUAL | {"lam": 1e-3, "epochs": 5},
]


def of_accuracy(*shares):
    """Rows of which so large a share of the non-members is right, two seeds of each setting."""
    settings = [setting for setting in SETTINGS for _ in range(2)]
    right = np.ones((len(settings), 40), bool)
    for row, share in enumerate(np.repeat(shares, 2)):
        right[row, 20:] = np.arange(20) < 20 * share
    scores = np.zeros((len(settings), 1, 40))
    return results(scores, IS_MEMBER, settings=settings, correct=right)


@pytest.fixture
def tunings():
    return Tunings(of_accuracy(0.6, 0.6, 0.5, 0.55, 0.4, 0.6))


def test_what_is_not_named_is_as_usual(tunings):
    assert tunings.find(lam=1e-3).rows[0].settings == USUAL | {"lam": 1e-3}
    assert tunings.find(lam=1e-3, epochs=5).rows[0].settings["epochs"] == 5
    assert tunings.undefended.rows[0].settings["defense"] == "Plain"


def test_settings_come_by_the_word_in_which_they_differ(tunings):
    assert list(tunings.by("lam")) == [1e-3, 2e-3, 3e-3]
    assert list(tunings.by("epochs", lam=1e-3)) == [5, 30]


def test_a_setting_of_which_a_training_diverged_is_left_out(tunings):
    rows = list(tunings.results.rows)
    rows[4] = replace(rows[4], failure="NaN in epoch 3")
    assert list(Tunings(replace(tunings.results, rows=tuple(rows))).by("lam")) == [1e-3, 3e-3]


def test_the_nearest_control_is_that_of_the_nearest_accuracy(tunings):
    strengths = tunings.by("lam")
    assert nearest(tunings.undefended, strengths) == 1e-3
    assert nearest(strengths[3e-3], strengths) == 3e-3


def test_accuracies_are_compared_over_common_seeds(tunings):
    one_seed = tunings.undefended.seeds([1])
    assert accuracy_apart(one_seed, tunings.find(lam=2e-3)) == pytest.approx(0.1)


def test_the_standard_setting_is_the_profiles_own(tunings):
    assert (tunings.standard.lam, tunings.standard.alpha) == (1e-3, 1.5)
    with pytest.raises(ValueError, match="not by PAST"):
        _ = Tunings(tunings.results, "images").standard


def test_values_are_those_of_the_grid_also_where_a_training_diverged(tunings):
    rows = list(tunings.results.rows)
    rows[4] = replace(rows[4], failure="NaN in epoch 3")
    diverged = Tunings(replace(tunings.results, rows=tuple(rows)))
    assert diverged.values("lam") == [1e-3, 2e-3, 3e-3]
    assert diverged.values("alpha", lam=2e-3) == [1.5]


def test_watched_epochs_come_by_arm():
    tuned = [USUAL | {"lam": lam, "alpha": alpha} for lam, alpha in [(0.0, 1), (1, 1), (1, 0.0)]]
    arms = [{"defense": "Plain", "lam": None, "alpha": None}, *tuned]
    settings = [one | {"epoch": epoch} for one in arms for epoch in range(2)]
    watched = watched_arms(results(np.zeros((8, 1, 40)), IS_MEMBER, settings=settings))
    assert list(watched) == ["training", "PAST", "uniform ℓ1", "λ = 0"]
    assert [len(moments) for moments in watched.values()] == [2, 2, 2, 2]
    assert watched["uniform ℓ1"][1].rows[0].settings == arms[3] | {"epoch": 1}


def test_a_grid_keeps_what_diverged_and_counts_it(tunings):
    rows = list(tunings.results.rows)
    rows[6] = replace(rows[6], failure="diverged")  # one of two trainings with λ = 0.001
    rows[4] = replace(rows[4], accuracy={"test": 0.19})  # one of two with λ = 0.002
    grid = Tunings(replace(tunings.results, rows=tuple(rows))).grid([1e-3, 2e-3, 3e-3], [1.5])
    assert list(grid) == [(1e-3, 1.5), (2e-3, 1.5), (3e-3, 1.5)]
    assert [ruined_trainings(one) for one in grid.values()] == [1, 1, 0]
    assert [len(one) for one in grid.values()] == [2, 2, 2]
