"""Bad input to the attacks: handled, or refused with a sentence; never another exception, never a silent NaN."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_bad_input import refused

import attack_checks as checks
from mialib import attacks, exposure, metrics
from mialib.attacks.reference import attack_r_scores, lira_scores, rmia_scores
from mialib.course.cards import cards
from mialib.signals import Signals


@pytest.fixture(scope="module")
def dealt():
    return checks.dealt(checks.bank(5, models=8, n=24))


# ---------------------------------------------------------------- too little


def test_a_class_missing_from_the_shadow_takes_the_common_threshold():
    shadow, target = checks.signals(1), checks.signals(2)
    without = shadow.take(shadow.labels != 2)
    common, own = (
        attacks.threshold_attack(without, target, per_class=per_class)
        for per_class in (False, True)
    )
    assert_array_equal(own[target.labels == 2], common[target.labels == 2])
    assert not np.array_equal(own, common)


def test_one_reference_is_enough_for_rmia_and_attack_r_but_not_for_lira(dealt):
    references, target = dealt
    out = np.flatnonzero(~references.is_member[0])
    one, few = references.take([0], out), target.take(out)
    assert np.isfinite(attacks.rmia(one, few)).all()
    assert np.isfinite(attacks.attack_r(one, few)).all()
    for variance in ("record", "pooled"):
        with pytest.raises(ValueError, match=r"fewer than two .*RMIA"):
            attacks.lira(one, few, online=False, variance=variance)


def test_a_record_in_every_model_or_in_none_is_named(dealt):
    references, target = dealt
    mask = references.is_member.copy()
    mask[:, 7] = True
    always = replace(references, is_member=mask)
    for attack in (attacks.lira, attacks.rmia, attacks.attack_r):
        with pytest.raises(ValueError, match=r"1 of 24 records are OUT of no .*number 7"):
            attack(always, target)
    assert np.isfinite(attacks.rmia(always, target, online=True)).all()
    mask[:, 7] = False
    never = replace(references, is_member=mask)
    with pytest.raises(ValueError, match=r"records are IN no .*offline form"):
        attacks.lira(never, target)
    for attack in (partial(attacks.lira, online=False), attacks.rmia, attacks.attack_r):
        assert np.isfinite(attack(never, target)).all()


def test_the_offline_slip_needs_no_model_that_holds_the_record(dealt):
    references, target = dealt
    nobody = replace(references, is_member=np.zeros_like(references.is_member))
    for variance in ("record", "pooled"):
        assert np.isfinite(
            attacks.lira(nobody, target, online=False, variance=variance, slips=True)
        ).all()


@pytest.mark.parametrize("name", ["RMIA", "attack P"])
def test_attacks_on_a_population_say_that_it_is_missing(dealt, name):
    references, target = dealt
    for pair in (
        (references, replace(target, population=None)),
        (replace(references, population=None), target),
    ):
        if name == "RMIA" or pair[1].population is None:
            with pytest.raises(ValueError, match="population"):
                checks.EVERY[name](*pair)


# ---------------------------------------------------------------- equal, infinite and extreme values


@pytest.mark.parametrize("name", checks.REFERENCE)
def test_extreme_logits_give_finite_scores(name):
    references, target = checks.dealt(checks.bank(5, n=24, base=-4000.0, gap=8000.0))
    scores = checks.EVERY[name](references, target.public())
    assert np.isfinite(scores).all()
    assert metrics.auc(scores, target.is_member) == 1


@pytest.mark.parametrize("settings", [{"online": True}, {"a": 1.0}])
def test_rmia_takes_nobody_for_a_member_whom_no_model_knows(settings):
    """All models give the label a probability that rounds to 0: 0 / 0 must not count as a full score for all."""
    references, target = checks.dealt(checks.bank(5, n=24, base=-4000.0, gap=0.0))
    scores = attacks.rmia(references, target, **settings)
    assert scores.mean() < 0.9


def test_attack_r_takes_infinite_losses_for_the_largest():
    losses, nobody = [[0.5, 0.5, np.inf], [1.0, 1.0, np.inf]], np.zeros((2, 3), bool)
    assert_allclose(attack_r_scores([np.inf, 0.0, np.inf], losses, nobody), [-1.0, 0.0, -2 / 3])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_lira_refuses_values_that_are_not_finite(bad):
    phi, is_in = np.zeros((4, 1)), np.array([[True], [True], [False], [False]])
    for target, references in (([bad], phi), ([0.0], np.where(is_in, bad, phi))):
        with pytest.raises(ValueError, match="NaN or infinite"):
            lira_scores(target, references, is_in)


@pytest.mark.parametrize(("ratio", "population"), [([np.nan], [1.0, 2.0]), ([1.0], [np.nan, 2.0])])
def test_rmia_refuses_ratios_that_are_no_numbers(ratio, population):
    with pytest.raises(ValueError, match="NaN"):
        rmia_scores(ratio, population)


def test_attack_p_keeps_the_order_of_losses_above_1000():
    population = Signals([[0.0, 3000.0], [0.0, 1.0], [0.0, 2000.0]], [0, 0, 0])
    target = Signals(
        [[0.0, loss] for loss in (0.5, 500.0, 999.0, 5000.0)], [0, 0, 0, 0], population=population
    )
    scores = attacks.attack_p(None, target)
    assert (np.diff(scores) < 0).sum() >= 2
    assert (np.diff(scores) <= 0).all()
    assert scores.min() >= -1


# ---------------------------------------------------------------- another task, other records


@pytest.mark.parametrize("name", [name for name in checks.EVERY if name != "attack P"])
def test_logits_of_another_number_of_classes_are_refused(name):
    shadow, target = checks.world(name)
    wider = replace(target, logits=np.pad(target.logits, ((0, 0), (0, 1))))
    with pytest.raises(ValueError, match=r"classes|columns of logits"):
        checks.EVERY[name](shadow, wider)


@pytest.mark.parametrize("name", [name for name in checks.REFERENCE if name != "attack P"])
def test_references_on_other_records_are_refused(dealt, name):
    references, target = dealt
    for wrong in (target.take(np.arange(24)[::-1]), target.take(np.arange(23))):
        with pytest.raises(ValueError, match="same records"):
            checks.EVERY[name](references, wrong)


@pytest.mark.parametrize("name", [name for name in checks.REFERENCE if name != "attack P"])
def test_another_number_of_queries_is_refused(name):
    references, target = checks.dealt(checks.bank(5, models=8, n=24, views=2))
    plain = replace(target, more={}, population=replace(target.population, more={}))
    alone = replace(references, views=None, population=replace(references.population, views=None))
    for pair in ((references, plain), (alone, target)):
        with pytest.raises(ValueError, match=r"quer|Expected the target"):
            checks.EVERY[name](*pair)


@pytest.mark.parametrize(
    "call",
    [
        lambda g, t: attacks.lira(g, t, variance="fixed"),
        lambda g, t: attacks.lira(g, t, center="mode"),
        lambda g, t: attacks.rmia(g, t, gamma=0),
        lambda g, t: attacks.rmia(g, t, a=1.5),
        lambda g, t: attacks.neural_attack(t, t, form="cnn"),
        lambda g, t: attacks.neural_attack(t, t, outputs="probabilities"),
        lambda g, t: attacks.augmentation_attack(t, t, form="ours"),
        lambda g, t: attacks.augmentation_attack(t, t, views="flips"),
        lambda g, t: attacks.augmentation_attack(t, t, views="rotations"),
        lambda g, t: attacks.gradient_attack(t, t, norm="l3"),
        lambda g, t: attacks.threshold_attack([], t),
        lambda g, t: cards("los"),
        lambda g, t: attacks.rmia(g, t, a=-1),
        lambda g, t: exposure.risk(np.zeros((2, 3)), np.ones((2, 3), bool)),
        lambda g, t: exposure.risk(np.zeros(3), np.ones(3, bool)),
        lambda g, t: exposure.risk(np.full((2, 1), np.nan), [[True], [False]]),
        lambda g, t: exposure.agreement({"a": [1.0, 2.0]}, [True, False, True]),
        lambda g, t: exposure.agreement({}, [True, False]),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(dealt, call):
    assert refused(lambda: call(*dealt))
