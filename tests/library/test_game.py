"""The game: what an attack is given holds no membership, and cheats are at chance or stopped."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import attack_checks as checks
from mialib import metrics
from mialib.attacks import (
    ATTACKS,
    RMIA,
    AttackP,
    AttackR,
    FromFunction,
    LiRA,
    MetricThreshold,
    best_threshold,
    game,
    scores_per_target,
)
from mialib.bank import load
from mialib.signals import Signals


@pytest.fixture(scope="module")
def bank():
    return checks.bank(21, models=12, n=240, views=1)


def sorted_target():
    """Members first and records numbered in that order, as `collect` gives them."""
    table = checks.signals(2)
    table = table.take(np.argsort(~table.is_member, kind="stable"))
    return replace(table, record_index=np.arange(len(table)))


@pytest.fixture(params=["one shadow", "bank"])
def table(request, bank):
    if request.param == "bank":
        return game(bank), bank.is_member[0]
    target = sorted_target()
    return game(target, shadow=checks.signals(1)), target.is_member


def legacy_keep(models, n, *, seed=0):
    """LiRA's `keep`: the order of uniform draws, so that every record is in exactly half of the
    models."""
    order = np.random.default_rng(seed).uniform(size=(models, n)).argsort(axis=0)
    return order < models // 2


@pytest.mark.parametrize(
    "cheat",
    [
        lambda shadow, target: target.truth().astype(float),
        lambda shadow, target: target.is_member,
        lambda shadow, target: target.population.truth().astype(float),
        lambda shadow, target: target.record_index,
    ],
)
def test_an_attack_that_reads_membership_is_stopped(table, cheat):
    with pytest.raises(ValueError, match=r"do not say who|must be"):
        table[0].scores(FromFunction(cheat))


def test_an_attack_that_scores_by_row_is_at_chance(table):
    played, truth = table
    by_row = FromFunction(lambda shadow, target: -np.arange(len(target)))
    found = metrics.auc(played.scores(by_row), truth)
    assert abs(found - 0.5) < checks.three_sigma(truth)


def test_another_seed_shuffles_otherwise():
    target, shadow = sorted_target(), checks.signals(1)
    first, again, other = (game(target, shadow=shadow, seed=seed) for seed in (0, 0, 1))
    assert_array_equal(first.target.logits, again.target.logits)
    assert not np.array_equal(first.target.logits, other.target.logits)


def test_scores_come_back_in_the_callers_order():
    target, shadow = sorted_target(), checks.signals(1)
    expected = MetricThreshold().fit(shadow).score(target.public())
    for seed in range(3):
        played = game(target, shadow=shadow, seed=seed)
        assert_array_equal(played.scores(MetricThreshold()), expected)


@pytest.mark.parametrize("name", ["LiRA", "LiRA offline", "RMIA", "Attack R", "Attack P"])
def test_scores_on_a_bank_come_back_in_its_order(bank, name):
    references, target = checks.dealt(bank, 4)
    found = game(bank, target=4, seed=3).scores(ATTACKS[name])
    assert_allclose(found, ATTACKS[name].fit(references).score(target.public()), rtol=1e-9)


def test_calls_come_back_in_the_callers_order():
    target, shadow = sorted_target(), checks.signals(1)
    fitted = MetricThreshold().fit(shadow)
    calls = game(target, shadow=shadow, seed=3).calls(fitted)
    assert_array_equal(calls, fitted.score(target) >= fitted.threshold)
    assert calls.dtype == bool


def test_every_column_of_the_target_is_shuffled_alike(bank):
    played = game(bank, target=2)
    order = played._order
    assert_array_equal(played.target.logits, bank.logits[2][order])
    assert_array_equal(played.target.labels, bank.labels[order])
    assert_array_equal(played.target.extra["views"], bank.views[2].T[order])
    assert_allclose(played.target.phi(), bank.phi[2][:, order])
    assert_array_equal(played.shadow.labels, bank.labels[order])
    assert_array_equal(played.shadow.is_member[0], bank.is_member[0][order])
    assert_array_equal(played.shadow.views[0], bank.views[0][:, order])
    fresh = replace(played.shadow)  # Its confidence is computed anew, not taken from the bank's.
    assert_allclose(played.shadow.phi, fresh.phi)


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
    counting = FromFunction(lambda references, _: sign * references.is_member.sum(axis=0))
    for target in range(len(bank)):
        counted = game(bank, target=target).scores(counting)
        assert metrics.auc(counted, bank.is_member[target]) == 0.5


def test_a_bank_dealt_by_argsort_is_refused():
    everything = checks.bank(3, mask=legacy_keep(16, 200))
    with pytest.raises(ValueError, match="gives the target's membership away"):
        game(everything)


def test_a_bank_in_which_counting_only_helps_is_refused_too(rng):
    """Two models dealt by coin beside sixteen dealt by argsort blur the counts, but they still
    betray much."""
    mask = np.concatenate([legacy_keep(16, 200), rng.random((2, 200)) < 0.5])
    everything = checks.bank(3, mask=mask)
    counts = -np.delete(mask, 0, axis=0).sum(axis=0)
    assert metrics.auc(counts, mask[0]) > 0.7
    with pytest.raises(ValueError, match="gives the target's membership away"):
        game(everything)


def test_a_bank_dealt_by_coin_is_played(rng):
    played = game(checks.bank(3, mask=rng.random((10, 200)) < 0.5))
    assert len(played.shadow) == 9
    assert played.play(RMIA()).auc.low > 0.5


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
        table[0].scores(FromFunction(wrong))


def test_play_evaluates_the_scores_at_the_threshold_of_the_attack(bank):
    played = game(bank, target=1)
    fitted = played.fit(LiRA())
    scores = played.scores(fitted)
    expected = metrics.evaluate(scores, bank.is_member[1], threshold=fitted.threshold)
    assert played.play(LiRA()) == played.play(fitted) == expected


def test_a_fitted_attack_is_not_fitted_again():
    target, shadow = sorted_target(), checks.signals(1)
    fitted = MetricThreshold("entropy").fit(checks.signals(4))
    played = game(target, shadow=shadow)
    assert played.fit(fitted) is fitted
    assert_array_equal(played.scores(fitted), fitted.score(target))
    assert played.play(fitted).advantage != played.play(MetricThreshold("entropy")).advantage


def test_settings_reach_the_attack(bank):
    offline = game(bank).scores(LiRA(online=False))
    references, target = checks.dealt(bank)
    assert_allclose(offline, LiRA(online=False).fit(references).score(target), rtol=1e-9)
    assert not np.allclose(offline, game(bank).scores(LiRA()))


def test_scores_per_target_make_each_model_the_target(bank):
    found = scores_per_target(bank, RMIA())
    assert found.shape == bank.is_member.shape
    assert_array_equal(found[7], game(bank, target=7).scores(RMIA()))
    assert_array_equal(scores_per_target(bank, RMIA(), targets=2), found[:2])
    assert metrics.auc(found.ravel(), bank.is_member.ravel()) > 0.6


@pytest.mark.parametrize("targets", [0, -1, 13, 2**31, 0.5, "2"])
def test_there_are_at_most_as_many_targets_as_models(bank, targets):
    with pytest.raises(ValueError, match="targets must be a whole number in 1 … 12"):
        scores_per_target(bank, RMIA(), targets=targets)


# ---------------------------------------------------------------- thresholds of reference attacks


@pytest.mark.parametrize("attack", [RMIA(), LiRA(online=False), AttackR(), AttackP()])
def test_a_reference_attack_has_a_real_advantage_on_the_shipped_bank(attack):
    """It was 0.000 [0.000, 0.000] beside AUCs of 0.74 to 0.82, and TPR and FPR were both 0 or 1."""
    found = game(load("letters"), target=7).play(attack)
    assert found.auc.value > 0.7
    assert found.advantage.low > 0.2
    assert found.advantage.value <= found.best_advantage.value
    assert 0.5 < found.tpr.value < 1
    assert 0 < found.fpr.value < 0.6


@pytest.mark.parametrize("name", checks.REFERENCE)
def test_the_threshold_is_the_best_where_references_play_the_target(bank, name):
    attack = checks.REFERENCE[name]
    references, target = checks.dealt(bank, 3)
    fitted = attack.fit(references)
    scores = scores_per_target(references, attack, targets=4)
    assert fitted.threshold == best_threshold(scores.ravel(), references.is_member[:4].ravel())
    calls = fitted.calls(target.public())
    assert calls[target.is_member].mean() - calls[~target.is_member].mean() > 0.1


def test_the_threshold_comes_from_the_references_alone(bank):
    references, target = checks.dealt(bank, 3)
    fitted = RMIA().fit(references)
    calls = fitted.calls(target.public())
    assert_array_equal(fitted.calls(replace(target, is_member=~target.is_member)), calls)
    lied_to = replace(references, is_member=~references.is_member)
    assert RMIA().fit(lied_to).threshold != fitted.threshold


def test_the_threshold_is_found_once_and_only_when_asked_for(bank, monkeypatch):
    from mialib.attacks import reference

    practised = []

    def watched(*arguments, **settings):
        practised.append(settings)
        return scores_per_target(*arguments, **settings)

    monkeypatch.setattr(reference, "scores_per_target", watched)
    references, target = checks.dealt(bank, 3)
    fitted = RMIA().fit(references)
    fitted.score(target)
    assert practised == []
    assert fitted.threshold == fitted.threshold
    fitted.calls(target)
    assert practised == [{"targets": 4}]


def test_more_references_may_practise(bank):
    references, _ = checks.dealt(bank, 3)
    scores = scores_per_target(references, RMIA())
    for practice in (len(references), 2**31):
        fitted = RMIA().fit(references, practice=practice)
        assert fitted.threshold == best_threshold(scores.ravel(), references.is_member.ravel())
    for wrong in (0, -1, 0.5, "4"):
        with pytest.raises(ValueError, match="practice must be a whole number"):
            RMIA().fit(references, practice=wrong)


@pytest.mark.parametrize(("models", "attack"), [(4, RMIA()), (4, AttackR()), (6, LiRA())])
def test_too_few_references_to_practise_leave_no_threshold_and_say_so(models, attack):
    small = checks.bank(3, models=models)
    played = game(small, target=0)
    fitted = played.fit(attack)
    assert fitted.threshold is None
    found = played.play(fitted)
    assert found.auc.value > 0.5
    for estimate in (found.advantage, found.tpr, found.fpr):
        assert np.isnan(estimate.value)
        assert "no threshold" in str(estimate)
    with pytest.raises(ValueError, match="No threshold was fitted"):
        fitted.calls(played.target)


def test_references_that_betray_each_other_find_no_threshold_but_can_be_scored():
    """Dealt by argsort they betray each other, not a target that was trained apart from them."""
    references = checks.bank(3, mask=legacy_keep(16, 200))
    target = checks.bank(3, mask=np.random.default_rng(1).random((2, 200)) < 0.5).signals(0)
    fitted = LiRA().fit(references)
    assert np.isfinite(fitted.score(target.public())).all()
    assert fitted.threshold is None


def test_attack_p_practises_on_a_bank_or_on_shadows_or_not_at_all(bank):
    references, target = checks.dealt(bank, 3)
    shadows = [bank.signals(model) for model in (0, 1, 4)]
    scores = np.concatenate([AttackP().fit().score(shadow) for shadow in shadows])
    truth = np.concatenate([shadow.is_member for shadow in shadows])
    on_bank, on_shadows, alone = (AttackP().fit(given) for given in (references, shadows, None))
    assert on_shadows.threshold == best_threshold(scores, truth)
    assert on_bank.threshold is not None
    assert alone.threshold is None
    for fitted in (on_bank, on_shadows):
        assert_array_equal(fitted.score(target), alone.score(target))


# ---------------------------------------------------------------- the target among its references


@pytest.mark.parametrize("name", checks.REFERENCE)
def test_a_target_among_its_own_references_is_refused(bank, name):
    """LiRA found AUC 0.93 so, where the fair game has 0.69."""
    fitted = checks.REFERENCE[name].fit(bank)
    with pytest.raises(ValueError, match=r"Reference 7 .*among its own references"):
        fitted.score(bank.signals(7).public())
    with pytest.raises(ValueError, match="among its own references"):
        game(bank.signals(7), shadow=bank).scores(fitted.attack)


def test_a_target_that_answers_one_record_like_a_reference_is_no_reference(bank):
    target = bank.signals(7)
    logits = target.logits.copy()
    logits[1:] += 1e-9
    scores = LiRA().fit(bank).score(replace(target, logits=logits).public())
    assert np.isfinite(scores).all()


def test_a_target_of_ones_own_plays_against_a_bank(bank):
    references, target = checks.dealt(bank, 3)
    assert_allclose(
        game(target, shadow=references).scores(RMIA()),
        game(bank, target=3).scores(RMIA()),
        rtol=1e-12,
    )
    other = replace(target, labels=(target.labels + 1) % checks.CLASSES)
    with pytest.raises(ValueError, match="same records"):
        game(other, shadow=references)


# ---------------------------------------------------------------- what is no attack


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (RMIA, r"Write RMIA\(\)"),
        ("RMIA", r"Write ATTACKS\['RMIA'\]"),
        (lambda references, target: None, "FromFunction"),
        (None, "Expected an attack"),
        (2**31, "Expected an attack"),
    ],
)
def test_what_is_no_attack_is_refused_with_a_sentence(bank, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        game(bank).play(wrong)
    with pytest.raises(ValueError, match=sentence):
        scores_per_target(bank, wrong)


def test_a_game_is_played_on_signals_or_on_a_bank(bank):
    for wrong in (None, 7, "letters", bank.logits):
        with pytest.raises(ValueError, match="played on Signals or on a Bank"):
            game(wrong)
    with pytest.raises(ValueError, match="takes no shadow"):
        game(bank, shadow=checks.signals(1))
    for seed in (-1, 0.5, "0"):
        with pytest.raises(ValueError, match="seed must be a whole number"):
            game(bank, seed=seed)


def test_an_oracle_in_the_shadow_alone_does_not_help():
    shadow, target = checks.signals(1), checks.signals(2, gap=0.0)
    oracle = replace(
        shadow, logits=np.where(shadow.is_member[:, None], 9.0, 0.0) * np.eye(4)[shadow.labels]
    )
    found = game(target, shadow=oracle).play(MetricThreshold())
    assert abs(found.auc.value - 0.5) < checks.three_sigma(target.is_member)


def test_the_smallest_game_is_played():
    pair = Signals([[3.0, 0.0], [0.2, 0.0]], [0, 0], [True, False])
    assert game(pair, shadow=pair).play(MetricThreshold()).auc.value == 1
