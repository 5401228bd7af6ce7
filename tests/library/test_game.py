"""The game: what an attack is given holds no membership, and cheats are at chance or stopped."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import attack_checks as checks
from mialib import attacks, metrics
from mialib.attacks import fitted, game, in_turn
from mialib.signals import Signals


@pytest.fixture(scope="module")
def bank():
    return checks.bank(21, models=12, n=240, views=1)


def sorted_target():
    """Members first and records numbered in that order, as `collect` gives them."""
    table = checks.signals(2)
    table = table.take(np.argsort(~table.is_member, kind="stable"))
    return replace(table, record=np.arange(len(table)))


@pytest.fixture(params=["one shadow", "bank"])
def table(request, bank):
    if request.param == "bank":
        return game(bank), bank.is_member[0]
    target = sorted_target()
    return game(target, shadow=checks.signals(1)), target.is_member


def legacy_keep(models, n, *, seed=0):
    """LiRA's `keep`: the order of uniform draws, so that every record is in exactly half of the models."""
    order = np.random.default_rng(seed).uniform(size=(models, n)).argsort(axis=0)
    return order < models // 2


@pytest.mark.parametrize(
    "cheat",
    [
        lambda shadow, target: target.truth().astype(float),
        lambda shadow, target: target.is_member,
        lambda shadow, target: target.population.truth().astype(float),
        lambda shadow, target: target.record,
    ],
)
def test_an_attack_that_reads_membership_is_stopped(table, cheat):
    with pytest.raises(ValueError, match=r"do not say who|must be"):
        table[0].scores(cheat)


def test_an_attack_that_scores_by_row_is_at_chance(table):
    played, truth = table
    found = metrics.auc(played.scores(lambda shadow, target: -np.arange(len(target))), truth)
    assert abs(found - 0.5) < checks.three_sigma(truth)


def test_another_seed_shuffles_otherwise():
    target, shadow = sorted_target(), checks.signals(1)
    first, again, other = (game(target, shadow=shadow, seed=seed) for seed in (0, 0, 1))
    assert_array_equal(first.target.logits, again.target.logits)
    assert not np.array_equal(first.target.logits, other.target.logits)


def test_scores_come_back_in_the_callers_order():
    target, shadow = sorted_target(), checks.signals(1)
    expected = attacks.threshold_attack(shadow, target.public())
    for seed in range(3):
        assert_array_equal(
            game(target, shadow=shadow, seed=seed).scores(attacks.threshold_attack), expected
        )


@pytest.mark.parametrize("name", ["LiRA", "LiRA offline", "RMIA", "attack R", "attack P"])
def test_scores_on_a_bank_come_back_in_its_order(bank, name):
    references, target = checks.dealt(bank, 4)
    found = game(bank, target=4, seed=3).scores(checks.EVERY[name])
    assert_allclose(found, checks.EVERY[name](references, target.public()), rtol=1e-9)


def test_every_column_of_the_target_is_shuffled_alike(bank):
    played = game(bank, target=2)
    order = played._order
    assert_array_equal(played.target.logits, bank.logits[2][order])
    assert_array_equal(played.target.labels, bank.labels[order])
    assert_array_equal(played.target.more["views"], bank.views[2].T[order])
    assert_allclose(played.target.confidence(), bank.confidence[2][:, order])
    assert_array_equal(played.shadow.labels, bank.labels[order])
    assert_array_equal(played.shadow.is_member[0], bank.is_member[0][order])
    assert_array_equal(played.shadow.views[0], bank.views[0][:, order])
    fresh = replace(played.shadow)  # Its confidence is computed anew, not taken from the bank's.
    assert_allclose(played.shadow.confidence, fresh.confidence)


@pytest.mark.parametrize("target", [0, 5, 11])
def test_neither_the_target_nor_its_complement_is_a_reference(bank, target):
    played = game(bank, target=target)
    truth = bank.is_member[target][played._order]
    assert len(played.shadow) == len(bank) - 2
    for held in played.shadow.is_member:
        assert not np.array_equal(held, truth)
        assert not np.array_equal(held, ~truth)
    assert len(played.shadow.population) == len(played.shadow)


@pytest.mark.parametrize("sign", [1, -1])
def test_counting_the_references_that_hold_a_record_is_at_chance(bank, sign):
    for target in range(len(bank)):
        counted = game(bank, target=target).scores(
            lambda refs, _: sign * refs.is_member.sum(axis=0)
        )
        assert metrics.auc(counted, bank.is_member[target]) == 0.5


def test_a_bank_dealt_by_argsort_is_refused():
    everything = checks.bank(3, mask=legacy_keep(16, 200))
    with pytest.raises(ValueError, match="gives the target's membership away"):
        game(everything)


def test_a_bank_in_which_counting_only_helps_is_refused_too(rng):
    """Two models dealt by coin beside sixteen dealt by argsort blur the counts, but they still betray much."""
    mask = np.concatenate([legacy_keep(16, 200), rng.random((2, 200)) < 0.5])
    everything = checks.bank(3, mask=mask)
    counts = -np.delete(mask, 0, axis=0).sum(axis=0)
    assert metrics.auc(counts, mask[0]) > 0.7
    with pytest.raises(ValueError, match="gives the target's membership away"):
        game(everything)


def test_a_bank_dealt_by_coin_is_played(rng):
    played = game(checks.bank(3, mask=rng.random((10, 200)) < 0.5))
    assert len(played.shadow) == 9
    assert played.play(attacks.rmia).auc.low > 0.5


def test_a_bank_of_one_pair_has_no_reference_left():
    with pytest.raises(ValueError, match="No reference model is left"):
        game(checks.bank(3, models=2))


@pytest.mark.parametrize("target", [-1, 12, 0.5, None, "0"])
def test_the_target_is_a_model_of_the_bank(bank, target):
    with pytest.raises(ValueError, match="target must be a whole number"):
        game(bank, target=target)


def test_a_target_without_a_shadow_or_without_truth_is_refused():
    with pytest.raises(ValueError, match="Give the attacker a shadow"):
        game(checks.signals(1))
    with pytest.raises(ValueError, match="do not say who is a member"):
        game(checks.signals(1).public(), shadow=checks.signals(2))


@pytest.mark.parametrize(
    "wrong", [lambda s, t: np.zeros(3), lambda s, t: np.full(len(t), np.nan), lambda s, t: None]
)
def test_scores_that_are_not_one_number_a_record_are_refused(table, wrong):
    with pytest.raises(ValueError, match=r"shape|NaN|real numbers"):
        table[0].scores(wrong)


def test_play_evaluates_the_scores(bank):
    played = game(bank, target=1)
    assert played.play(attacks.lira).auc.value == metrics.auc(
        played.scores(attacks.lira), bank.is_member[1]
    )


def test_settings_reach_the_attack(bank):
    offline = game(bank).scores(attacks.lira, online=False)
    assert_allclose(offline, game(bank).scores(lambda *seen: attacks.lira(*seen, online=False)))


def test_in_turn_makes_each_model_the_target(bank):
    found = in_turn(bank, attacks.rmia)
    assert found.shape == bank.is_member.shape
    assert_array_equal(found[7], game(bank, target=7).scores(attacks.rmia))
    assert_array_equal(in_turn(bank, attacks.rmia, targets=2), found[:2])
    assert metrics.auc(found.ravel(), bank.is_member.ravel()) > 0.6


def test_a_fitted_reference_attack_has_its_threshold_from_the_references(bank):
    references, target = checks.dealt(bank, 3)
    plain, shifted = (
        attacks.rmia(references, target),
        fitted(attacks.rmia, references, target.public()),
    )
    assert len(np.unique((plain - shifted).round(12))) == 1
    assert metrics.advantage(shifted, target.is_member) > 0.1
    lied_to = replace(target, is_member=~target.is_member)
    assert_array_equal(fitted(attacks.rmia, references, lied_to), shifted)


def test_an_oracle_in_the_shadow_alone_does_not_help():
    shadow, target = checks.signals(1), checks.signals(2, gap=0.0)
    oracle = replace(
        shadow, logits=np.where(shadow.is_member[:, None], 9.0, 0.0) * np.eye(4)[shadow.labels]
    )
    found = game(target, shadow=oracle).play(attacks.threshold_attack)
    assert abs(found.auc.value - 0.5) < checks.three_sigma(target.is_member)


def test_the_smallest_game_is_played():
    pair = Signals([[3.0, 0.0], [0.2, 0.0]], [0, 0], [True, False])
    assert game(pair, shadow=pair).play(attacks.threshold_attack).auc.value == 1
