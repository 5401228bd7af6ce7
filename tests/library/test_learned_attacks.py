"""Learned attacks: they learn, they learn from the shadow alone, and more than one threshold
can."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import attack_checks as checks
from mialib import metrics
from mialib.attacks import (
    METRICS,
    Augmentation,
    Candidate,
    Discriminator,
    LossTrajectory,
    MetricThreshold,
    NeuralCrl,
    NeuralPast,
)
from mialib.attacks.perceptron import fit_perceptron, log_odds, outputs_and_label, prior_log_odds
from mialib.signals import Signals


def middling(seed, n=300):
    """Members are half sure; non-members are sure or clueless. No single threshold on
    confidence sees both."""
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


@pytest.mark.parametrize("attack", [NeuralPast(), NeuralPast(outputs="logits"), NeuralCrl()])
def test_a_network_beats_the_best_threshold_where_members_are_middling(xor, attack):
    shadow, target = xor
    found = metrics.auc(attack.fit(shadow).score(target.public()), target.is_member)
    best = max(
        metrics.best_advantage(score(target), target.is_member) for score in METRICS.values()
    )
    assert best < 0.65
    assert found > 0.9
    by_loss = MetricThreshold().fit(shadow).score(target.public())
    assert metrics.auc(by_loss, target.is_member) < 0.6


def test_the_discriminator_sees_middling_members_too(xor):
    shadow, target = (replace(s, extra={"noise": np.zeros((len(s), 2))}) for s in xor)
    scores = Discriminator().fit(shadow).score(target.public())
    assert metrics.auc(scores, target.is_member) > 0.9


def test_every_layer_moves_in_training(xor):
    shadow, _ = xor
    settings = {"hidden": (64, 32), "batch": 128, "epochs": 30}
    start, end = (
        fit_perceptron(shadow.probabilities(), shadow.is_member, rate=rate, **settings)
        for rate in (1e-12, 1e-3)
    )
    for before, after in zip(
        start.coefs_ + start.intercepts_, end.coefs_ + end.intercepts_, strict=True
    ):
        assert np.abs(before - after).max() > 1e-3


def test_a_perceptron_trains_for_exactly_its_epochs(xor):
    constant = fit_perceptron(
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
    NeuralCrl().fit(xor[0])
    assert len(seen["moved"]) == 8
    assert min(seen["moved"]) > 1e-3
    assert seen["epochs"] == 100
    assert seen["last"] < seen["first"] - 0.1


def test_logits_and_softmax_are_two_attacks():
    _, target = checks.world("neural (PAST)")
    softmax, logits = checks.fitted("neural (PAST)"), checks.fitted("neural (PAST), logits")
    assert np.abs(logits.score(target) - softmax.score(target)).max() > 0.1
    moved = replace(target, logits=target.logits + 7.0)  # The softmax forgets a shift.
    assert_allclose(softmax.score(moved), softmax.score(target), atol=1e-6)
    assert np.abs(logits.score(moved) - logits.score(target)).max() > 0.1


def test_crls_form_takes_one_shadow_or_five():
    shadows, target = [checks.signals(seed, n=80) for seed in range(20, 25)], checks.signals(30)
    one, five = (NeuralCrl().fit(some).score(target.public()) for some in (shadows[0], shadows))
    assert np.abs(one - five).max() > 1e-3
    assert metrics.auc(five, target.is_member) > 0.75
    assert_array_equal(NeuralCrl().fit(shadows[:1]).score(target.public()), one)


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
    once, again = (NeuralCrl(seed=1).fit(shadow).score(target) for _ in range(2))
    assert_array_equal(once, again)
    assert np.abs(NeuralCrl(seed=2).fit(shadow).score(target) - once).max() > 0
    assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_log_odds_leave_out_the_share_of_members():
    class Half:
        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    prior = prior_log_odds(np.arange(8) < 6)
    assert_allclose(log_odds(Half(), np.zeros((2, 1)), prior=prior), -np.log(3) * np.ones(2))


def test_the_discriminator_has_a_grid_of_nine_the_best_first():
    grid = checks.fitted("discriminator").grid
    assert all(isinstance(candidate, Candidate) for candidate in grid)
    assert len({(candidate.hidden, candidate.rate) for candidate in grid}) == 9
    accuracies = [candidate.accuracy for candidate in grid]
    assert accuracies == sorted(accuracies, reverse=True)


def test_the_discriminator_is_chosen_by_the_shadow_alone():
    """Asking about targets changes nothing of what was fitted; the best of the grid is asked."""
    fitted = checks.fitted("discriminator")
    _, target = checks.world("discriminator")
    before = [candidate[:3] for candidate in fitted.grid]
    once = fitted.score(target)
    lied_to = replace(target, is_member=~target.is_member)
    fitted.score(checks.signals(3, n=80))
    assert_array_equal(fitted.score(lied_to), once)
    assert [candidate[:3] for candidate in fitted.grid] == before
    others = replace(fitted, grid=fitted.grid[::-1])
    assert np.abs(others.score(target) - once).max() > 0


def test_the_discriminator_is_chosen_on_records_that_it_has_not_seen(rng):
    """Labels at random: what is learned by heart must not show in the accuracy."""
    table = replace(checks.signals(1, gap=0.0), is_member=rng.random(200) < 0.5)
    assert Discriminator().fit(table).grid[0].accuracy < 0.75


def test_the_discriminator_needs_the_answer_to_noise():
    shadow, target = checks.world("discriminator")
    with pytest.raises(ValueError, match="no 'noise'"):
        Discriminator().fit(replace(shadow, extra={}))
    with pytest.raises(ValueError, match="no 'noise'"):
        checks.fitted("discriminator").score(replace(target, extra={}))


FORMS = pytest.mark.parametrize("form", ["original", "past"])


@FORMS
@pytest.mark.parametrize("views", ["rotations", "shifts"])
def test_the_augmentation_attack_is_fitted_on_the_shadow_and_scores_the_target(form, views):
    shadow, target = checks.signals(1), checks.signals(2, n=90)
    attack = Augmentation(views, form=form)
    scores = attack.fit(shadow).score(target.public())
    assert metrics.auc(scores, target.is_member) > 0.6
    lied_to = attack.fit(replace(shadow, is_member=~shadow.is_member)).score(target)
    assert metrics.auc(lied_to, target.is_member) < 0.4


@FORMS
def test_a_class_missing_from_the_shadow_falls_back_to_the_common_network(form):
    shadow, target = checks.signals(1), checks.signals(2)
    without = shadow.take(shadow.labels != 3)
    found = Augmentation(form=form).fit(without).score(target)
    common = Augmentation(form="past").fit(without).score(target)
    assert_allclose(found[target.labels == 3], common[target.labels == 3])
    assert (form == "past") == np.allclose(found, common)


def test_the_original_form_has_a_network_for_each_class():
    """In one class members are the ones who fail when turned; one network for all cannot know
    it."""

    def turned_round(table):
        bits = table.is_member[:, None] == (table.labels < 2)[:, None]
        return replace(table, extra={"rotations": np.repeat(bits, 3, axis=1)})

    shadow, target = map(turned_round, (checks.signals(1, n=400), checks.signals(2)))
    aucs = {
        form: metrics.auc(Augmentation(form=form).fit(shadow).score(target), target.is_member)
        for form in ("original", "past")
    }
    assert aucs["original"] > 0.9
    assert aucs["past"] < 0.7


def test_bits_that_say_nothing_give_the_same_score_to_all():
    shadow, target = (
        replace(s, extra={"rotations": np.ones((len(s), 3), bool)})
        for s in checks.world("rotation")
    )
    scores = Augmentation(form="past").fit(shadow).score(target)
    assert len(np.unique(scores.round(9))) == 1


def test_columns_pick_some_of_the_copies():
    shadow, target = checks.signals(1), checks.signals(2)
    one = {s: replace(s, extra={"shifts": s.extra["shifts"][:, [0, 2]]}) for s in (shadow, target)}
    picked = Augmentation("shifts", columns=[0, 2], form="past").fit(shadow).score(target)
    alone = Augmentation("shifts", form="past").fit(one[shadow]).score(one[target])
    assert_array_equal(picked, alone)


def test_columns_are_kept_as_a_tuple_so_that_equal_settings_are_equal():
    listed, counted = Augmentation(columns=[0, 2]), Augmentation(columns=np.array([0, 2]))
    assert listed == counted == Augmentation(columns=(0, 2))
    assert len({listed, counted}) == 1


@pytest.mark.parametrize("columns", [(), (3,), (0, 7), (2**31,)])
def test_columns_that_are_not_there_are_refused(columns):
    with pytest.raises(ValueError, match="columns"):
        Augmentation(columns=columns).fit(checks.signals(1))


def test_other_copies_than_the_shadows_are_refused():
    fitted = checks.fitted("rotation (PAST)")
    target = checks.signals(2)
    fewer = replace(target, extra={"rotations": target.extra["rotations"][:, :2]})
    with pytest.raises(ValueError, match="same copies"):
        fitted.score(fewer)


@pytest.mark.parametrize("name", checks.LEARNED)
def test_the_threshold_of_log_odds_is_zero(name):
    fitted = checks.fitted(name)
    _, target = checks.world(name)
    assert fitted.threshold == 0
    assert_array_equal(fitted.calls(target), fitted.score(target) >= 0)


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, "0", None])
@pytest.mark.parametrize(
    "attack", [NeuralPast, NeuralCrl, Discriminator, Augmentation, LossTrajectory]
)
def test_a_seed_is_a_whole_number(attack, seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        attack(seed=seed)
