"""Sweeps: every number follows from the decisions, and a difference is taken on the same draws."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mialib.course import sweeps
from mialib.course.sweeps import Sweep

MEMBERS, N = 120, 203  # not a multiple of 8, which packed bits must survive


@pytest.fixture
def sweep(rng):
    """Three settings, two attacks.

    The second row differs from the first in a few votes, the third in all.
    """
    is_member = rng.permutation(np.arange(N) < MEMBERS)
    votes = rng.random((3, 2, N)) < np.where(is_member, 0.7, 0.4)
    correct = rng.random((3, N)) < 0.6
    votes[1] = votes[0] ^ (rng.random((2, N)) < 0.03)
    correct[1] = correct[0] ^ (rng.random(N) < 0.03)
    rows = [
        {"defense": "Plain", "lam": None, "loss_gap": 1.25},
        {"defense": "Past", "lam": 1e-3, "alpha": 1.5, "weights": {"histogram": [1, 2]}},
        {"defense": "RelaxLoss", "lam": 1e-3, "alpha": 2.5, "name": "ℓ1"},
    ]
    return Sweep(rows, ["loss", "entropy"], votes, correct, is_member)


def by_hand(sweep, row):
    """Every number of a row, counted."""
    called = [
        votes[sweep.is_member].mean() - votes[~sweep.is_member].mean() for votes in sweep.votes[row]
    ]
    accuracy, privacy = sweep.correct[row][~sweep.is_member].mean(), 1 - max(called)
    numbers = {
        "loss": called[0],
        "entropy": called[1],
        "mean": sum(called) / 2,
        "highest": max(called),
    }
    return numbers | {"accuracy": accuracy, "p1": 2 * accuracy * privacy / (accuracy + privacy)}


def estimates(sweep, row):
    attacks = {name: sweep.advantage(row, name) for name in sweep.attacks}
    return attacks | {
        name: getattr(sweep, name)(row) for name in ("mean", "highest", "accuracy", "p1")
    }


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("row", range(3))
def test_every_number_follows_from_the_decisions(sweep, row):
    expected, found = by_hand(sweep, row), estimates(sweep, row)
    assert found.keys() == expected.keys()
    for name, estimate in found.items():
        assert estimate.value == pytest.approx(expected[name], abs=1e-6), name
        assert estimate.low < estimate.value < estimate.high or name in ("highest", "p1")


@pytest.mark.parametrize("what", ["loss", "mean", "highest", "accuracy", "p1"])
def test_a_difference_is_that_of_the_numbers(sweep, what):
    expected = by_hand(sweep, 2)[what] - by_hand(sweep, 0)[what]
    assert sweep.difference(2, 0, what).value == pytest.approx(expected, abs=1e-6)
    nothing = sweep.difference(1, 1, what)
    assert (nothing.value, nothing.low, nothing.high) == (0, 0, 0)


def test_the_highest_is_no_lower_than_any_in_every_draw(sweep):
    each = np.stack([sweep.draws(0, attack) for attack in sweep.attacks])
    assert_array_equal(sweep.draws(0, "highest"), each.max(axis=0))
    assert len(set(each.argmax(axis=0))) == 2  # Not always the same attack is the highest.
    assert (sweep.draws(0, "highest") >= sweep.draws(0, "mean")).all()


def test_the_interval_is_that_of_drawing_records_again(sweep, rng):
    """Members and non-members apart, by another generator."""
    votes, sides = (
        sweep.votes[0, 0],
        [np.flatnonzero(sweep.is_member == side) for side in (True, False)],
    )
    drawn = [
        votes[rng.choice(sides[0], MEMBERS)].mean()
        - votes[rng.choice(sides[1], N - MEMBERS)].mean()
        for _ in range(4000)
    ]
    found = sweep.advantage(0, "loss")
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02
    )


def test_the_accuracy_is_of_non_members_only(sweep):
    spoiled = Sweep(
        sweep.rows, sweep.attacks, sweep.votes, sweep.correct & ~sweep.is_member, sweep.is_member
    )
    assert spoiled.accuracy(0) == sweep.accuracy(0)


@pytest.mark.parametrize("what", ["loss", "highest", "accuracy", "p1"])
def test_a_paired_interval_is_narrower_where_rows_agree(sweep, what):
    alone = [sweeps.estimate(sweep.draws(row, what)) for row in (0, 1)]
    unpaired = np.hypot(*(estimate.high - estimate.low for estimate in alone))
    paired = sweep.difference(1, 0, what)
    assert 0 < paired.high - paired.low < 0.6 * unpaired


def test_the_draws_are_the_same_every_time(sweep):
    again = Sweep(sweep.rows, sweep.attacks, sweep.votes, sweep.correct, sweep.is_member)
    np.random.default_rng().random(3)
    assert_array_equal(again.draws(0, "loss"), sweep.draws(0, "loss"))
    assert len(np.unique(sweep.draws(0, "loss"))) > 10


@pytest.mark.parametrize("members", [7, 49, 93, 101])
def test_a_row_without_mistakes_has_every_number(members):
    """Shares of a draw that add up to 1 may do so only nearly."""
    is_member = np.arange(2 * members) < members
    perfect = Sweep(
        [{}], ["loss"], is_member[None, None], np.ones((1, 2 * members), bool), is_member
    )
    assert perfect.accuracy(0).value == pytest.approx(1)
    assert perfect.p1(0).value == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- kept and found


def test_a_sweep_survives_its_file_without_pickle(sweep, tmp_path, monkeypatch):
    for name in ("load", "loads", "dump", "dumps"):
        monkeypatch.setattr(pickle, name, None)
    sweep.save(tmp_path / "one.npz")
    again = Sweep.read(tmp_path / "one.npz")
    assert (again.rows, again.attacks) == (sweep.rows, sweep.attacks)
    for name in ("votes", "correct", "is_member"):
        assert getattr(again, name).dtype == bool
        assert_array_equal(getattr(again, name), getattr(sweep, name))
    assert estimates(again, 1) == estimates(sweep, 1)


def test_the_file_holds_a_bit_for_each_decision(sweep, tmp_path):
    sweep.save(tmp_path / "one.npz")
    with np.load(tmp_path / "one.npz", allow_pickle=False) as file:
        assert (file["votes"].dtype, file["votes"].shape) == (np.uint8, (3, 2, 26))
        assert json.loads(str(file["about"]))["attacks"] == ["loss", "entropy"]


def test_rows_are_found_by_their_settings(sweep):
    assert sweep.all() == [0, 1, 2]
    assert sweep.all(lam=1e-3) == [1, 2]
    assert sweep.all(defense="Past", lam=0.5) == []
    assert sweep.find(lam=1e-3, alpha=2.5) == 2
    assert sweep.find(defense="Plain") == 0


def test_none_or_several_rows_are_explained(sweep):
    expected = r"Expected one row with .*0\.001.*found 2.*'lam': \['0\.001', 'None'\]"
    with pytest.raises(ValueError, match=expected):
        sweep.find(lam=1e-3)
    with pytest.raises(ValueError, match=r"found 0.*'alpha': \['1.5', '2.5', 'None'\]"):
        sweep.find(alpha=3.0)


@pytest.mark.parametrize("method", ["find", "all"])
def test_an_unknown_setting_brings_the_nearest(sweep, method):
    with pytest.raises(ValueError, match="no setting 'alhpa'; did you mean 'alpha'"):
        getattr(sweep, method)(alhpa=1)


def test_an_unknown_attack_or_number_brings_the_nearest(sweep):
    with pytest.raises(ValueError, match="no attack 'los'; did you mean 'loss'"):
        sweep.advantage(0, "los")
    with pytest.raises(ValueError, match="no attack 'highest'"):
        sweep.advantage(0, "highest")
    with pytest.raises(ValueError, match="no number 'higest'; did you mean 'highest'"):
        sweep.difference(0, 1, "higest")


def test_a_shipped_sweep_is_found_by_its_name():
    assert len(sweeps.load("baskets").rows) == 9
    with pytest.raises(ValueError, match="no sweep 'baskts'; did you mean 'baskets'"):
        sweeps.load("baskts")


# ---------------------------------------------------------------- parts and pairs


@pytest.mark.parametrize("as_places", [False, True])
def test_some_of_the_records_make_a_sweep_of_their_own(sweep, rng, as_places):
    half = rng.random(N) < 0.5
    part = sweep.take(np.flatnonzero(half) if as_places else half)
    assert part.rows == sweep.rows
    member = part.is_member
    assert len(member) == half.sum()
    for row in range(3):
        expected = sweep.votes[row, 0][half & sweep.is_member].mean()
        expected -= sweep.votes[row, 0][half & ~sweep.is_member].mean()
        assert part.advantage(row, "loss").value == pytest.approx(expected, abs=1e-6)
        correct = sweep.correct[row][half & ~sweep.is_member].mean()
        assert part.accuracy(row).value == pytest.approx(correct, abs=1e-6)


def test_sweeps_of_the_same_records_can_be_joined(sweep):
    both = sweep.joined(sweep, [2, 0])
    assert both.rows == [*sweep.rows, sweep.rows[2], sweep.rows[0]]
    assert both.highest(3) == sweep.highest(2)
    assert both.difference(3, 2, "accuracy").triple == (0, 0, 0)


def test_sweeps_of_other_records_or_attacks_cannot_be_joined(sweep):
    with pytest.raises(ValueError, match="different members"):
        sweep.joined(replace(sweep, is_member=~sweep.is_member), [0])
    with pytest.raises(ValueError, match=r"Expected the attacks \['loss', 'entropy'\], found"):
        sweep.joined(replace(sweep, attacks=["loss", "RMIA"]), [0])


@pytest.mark.parametrize(
    ("accuracy", "accuracies", "advantages", "expected"),
    [
        (0.6, [0.59, 0.63, 0.5], [0.4, 0.3, 0.1], 1),
        (0.6, [0.5, 0.4], [0.1, 0.2], -1),
        (0.6, [0.61, 0.59], [0.3, 0.2], 1),  # Exactly 0.01 less accurate is fair.
    ],
)
def test_a_fair_control_is_the_strongest_of_those_as_accurate(
    accuracy, accuracies, advantages, expected
):
    assert sweeps.fair_control(accuracy, np.array(accuracies), np.array(advantages)) == expected
