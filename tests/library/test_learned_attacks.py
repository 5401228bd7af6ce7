"""Learned attacks: they learn, they learn from the shadow alone, and more than one threshold can."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import attack_checks as checks
from mialib import attacks, metrics
from mialib.attacks import neural
from mialib.attacks.neural import discriminator_grid, log_odds, outputs_and_label, perceptron
from mialib.signals import Signals


def middling(seed, n=300):
    """Members are half sure; non-members are sure or clueless. No single threshold on confidence sees both."""
    rng = np.random.default_rng(seed)
    is_member = rng.permutation(n) < n // 2
    p = np.where(
        is_member,
        rng.uniform(0.4, 0.6, n),
        rng.choice([0.08, 0.92], n) + rng.uniform(-0.05, 0.05, n),
    )
    return Signals(np.log(np.stack([p, 1 - p], axis=1)), np.zeros(n, int), is_member)


@pytest.fixture(scope="module")
def xor():
    return middling(1), middling(2)


@pytest.mark.parametrize("settings", [{}, {"outputs": "logits"}, {"form": "crl"}])
def test_a_network_beats_the_best_threshold_where_members_are_middling(xor, settings):
    shadow, target = xor
    found = metrics.auc(
        attacks.neural_attack(shadow, target.public(), **settings), target.is_member
    )
    best = max(
        metrics.best_advantage(score(target), target.is_member)
        for score in attacks.METRICS.values()
    )
    assert best < 0.65
    assert found > 0.9
    assert metrics.auc(attacks.threshold_attack(shadow, target.public()), target.is_member) < 0.6


def test_the_discriminator_sees_middling_members_too(xor):
    shadow, target = (replace(s, more={"noise": np.zeros((len(s), 2))}) for s in xor)
    assert (
        metrics.auc(attacks.discriminator_attack(shadow, target.public()), target.is_member) > 0.9
    )


def test_every_layer_moves_in_training(xor):
    shadow, _ = xor
    settings = {"hidden": (64, 32), "batch": 128, "epochs": 30}
    start, end = (
        perceptron(shadow.probabilities(), shadow.is_member, rate=rate, **settings)
        for rate in (1e-12, 1e-3)
    )
    for before, after in zip(
        start.coefs_ + start.intercepts_, end.coefs_ + end.intercepts_, strict=True
    ):
        assert np.abs(before - after).max() > 1e-3


def test_a_perceptron_trains_for_exactly_its_epochs(xor):
    constant = perceptron(
        np.ones((50, 2)), np.arange(50) < 25, hidden=(4,), rate=1e-3, epochs=37, batch=25
    )
    assert constant.n_iter_ == 37


def test_every_layer_of_crls_network_moves(xor, monkeypatch):
    from mialib import training

    seen = {}

    def watched(network, *args, **settings):
        before = [p.detach().clone() for p in network.parameters()]
        history = fit(network, *args, **settings)
        seen.update(
            moved=[
                (b - a).abs().max().item()
                for b, a in zip(before, network.parameters(), strict=True)
            ]
        )
        seen.update(first=history[0]["loss"], last=history[-1]["loss"], epochs=len(history))
        return history

    fit = training.fit
    monkeypatch.setattr(training, "fit", watched)
    attacks.neural_attack(xor[0], xor[1].public(), form="crl")
    assert len(seen["moved"]) == 8
    assert min(seen["moved"]) > 1e-3
    assert seen["epochs"] == 100
    assert seen["last"] < seen["first"] - 0.1


def test_logits_and_softmax_are_two_attacks():
    given, target = checks.world("neural")
    logits, softmax = checks.scores("neural, logits"), checks.scores("neural")
    assert np.abs(logits - softmax).max() > 0.1
    moved = replace(target, logits=target.logits + 7.0)
    with checks.fits_remembered():
        assert_allclose(
            attacks.neural_attack(given, moved), softmax, atol=1e-6
        )  # The softmax forgets a shift.
        assert np.abs(attacks.neural_attack(given, moved, outputs="logits") - logits).max() > 0.1


def test_crls_form_takes_one_shadow_or_five():
    shadows, target = [checks.signals(seed, n=80) for seed in range(20, 25)], checks.signals(30)
    one, five = (
        attacks.neural_attack(some, target.public(), form="crl") for some in (shadows[0], shadows)
    )
    assert np.abs(one - five).max() > 1e-3
    assert metrics.auc(five, target.is_member) > 0.75
    assert_allclose(attacks.neural_attack(shadows[:1], target.public(), form="crl"), one)


def test_crls_form_sees_the_label():
    table = checks.signals(1, n=10)
    seen = outputs_and_label(table)
    assert seen.shape == (10, 8)
    assert_allclose(seen[:, :4].sum(axis=1), 1)
    assert_array_equal(seen[:, 4:].argmax(axis=1), table.labels)


def test_the_seed_decides_and_the_global_generators_are_left_alone():
    import torch

    shadow, target = middling(1, n=60), middling(2, n=20)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    once, again = (attacks.neural_attack(shadow, target, form="crl", seed=1) for _ in range(2))
    assert_array_equal(once, again)
    assert np.abs(attacks.neural_attack(shadow, target, form="crl", seed=2) - once).max() > 0
    assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_log_odds_leave_out_the_share_of_members():
    class Half:
        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    assert_allclose(log_odds(Half(), np.zeros((2, 1)), np.arange(8) < 6), -np.log(3) * np.ones(2))


def test_the_discriminator_is_chosen_by_the_shadow_alone(monkeypatch):
    chosen, honest = [], neural.discriminator_grid
    monkeypatch.setattr(
        neural, "discriminator_grid", lambda *a, **k: chosen.append(honest(*a, **k)) or chosen[-1]
    )
    shadow, targets = checks.signals(1, n=80), [checks.signals(seed, n=80) for seed in (2, 3)]
    with checks.fits_remembered():
        for target in (*targets, replace(targets[0], is_member=~targets[0].is_member)):
            attacks.discriminator_attack(shadow, target)
    assert len({tuple(c[:3] for c in grid) for grid in chosen}) == 1
    grid = chosen[0]
    assert len({candidate[:2] for candidate in grid}) == 9
    assert [c[2] for c in grid] == sorted((c[2] for c in grid), reverse=True)


def test_the_discriminator_is_chosen_on_records_that_it_has_not_seen(rng):
    """Labels at random: what is learned by heart must not show in the accuracy."""
    table = replace(checks.signals(1, gap=0.0), is_member=rng.random(200) < 0.5)
    with checks.fits_remembered():
        best = discriminator_grid(table)[0]
    assert best[2] < 0.75


def test_the_discriminator_needs_the_answer_to_noise():
    shadow, target = checks.world("discriminator")
    for pair in ((replace(shadow, more={}), target), (shadow, replace(target, more={}))):
        with pytest.raises(ValueError, match="no 'noise'"):
            attacks.discriminator_attack(*pair)


FORMS = pytest.mark.parametrize("form", ["original", "past"])


@FORMS
@pytest.mark.parametrize("views", ["rotations", "shifts"])
def test_the_augmentation_attack_is_fitted_on_the_shadow_and_scores_the_target(form, views):
    shadow, target = checks.signals(1), checks.signals(2, n=90)
    found = attacks.augmentation_attack(shadow, target.public(), views=views, form=form)
    assert metrics.auc(found, target.is_member) > 0.6
    lied_to = attacks.augmentation_attack(
        replace(shadow, is_member=~shadow.is_member), target, views=views, form=form
    )
    assert metrics.auc(lied_to, target.is_member) < 0.4


@FORMS
def test_a_class_missing_from_the_shadow_falls_back_to_the_common_network(form):
    shadow, target = checks.signals(1), checks.signals(2)
    without = shadow.take(shadow.labels != 3)
    found = attacks.augmentation_attack(without, target, form=form)
    common = attacks.augmentation_attack(without, target, form="past")
    assert_allclose(found[target.labels == 3], common[target.labels == 3])
    assert (form == "past") == np.allclose(found, common)


def test_the_original_form_has_a_network_for_each_class():
    """In one class members are the ones who fail when turned; one network for all cannot know it."""

    def turned_round(table):
        bits = table.is_member[:, None] == (table.labels < 2)[:, None]
        return replace(table, more={"rotations": np.repeat(bits, 3, axis=1)})

    shadow, target = map(turned_round, (checks.signals(1, n=400), checks.signals(2)))
    aucs = {
        form: metrics.auc(attacks.augmentation_attack(shadow, target, form=form), target.is_member)
        for form in ("original", "past")
    }
    assert aucs["original"] > 0.9
    assert aucs["past"] < 0.7


def test_bits_that_say_nothing_give_the_same_score_to_all():
    shadow, target = (
        replace(s, more={"rotations": np.ones((len(s), 3), bool)})
        for s in checks.world("rotations")
    )
    assert len(np.unique(attacks.augmentation_attack(shadow, target, form="past").round(9))) == 1


def test_columns_pick_some_of_the_copies():
    shadow, target = checks.signals(1), checks.signals(2)
    one = {s: replace(s, more={"shifts": s.more["shifts"][:, [0, 2]]}) for s in (shadow, target)}
    picked = attacks.augmentation_attack(
        shadow, target, views="shifts", columns=[0, 2], form="past"
    )
    assert_allclose(
        picked, attacks.augmentation_attack(one[shadow], one[target], views="shifts", form="past")
    )
