"""Bad input to the attacks: handled, or refused with a sentence; never another exception, never a
silent NaN."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import attack_checks as checks
from junk import refused
from mialib import exposure, metrics
from mialib.attacks import (
    QMIA,
    RMIA,
    AttackP,
    AttackR,
    Augmentation,
    BoundaryDistance,
    Discriminator,
    FromFunction,
    GradientNorm,
    LiRA,
    LossTrajectory,
    MetricThreshold,
    NeuralCrl,
    NeuralPast,
    attack_r_scores,
    lira_scores,
    rmia_scores,
    suite,
)
from mialib.course.cards import cards
from mialib.signals import Signals


@pytest.fixture(scope="module")
def dealt():
    return checks.dealt(checks.bank(5, models=8, n=24))


# ---------------------------------------------------------------- too little


def test_a_class_missing_from_the_shadow_takes_the_common_threshold():
    shadow, target = checks.signals(1), checks.signals(2)
    without = shadow.take(shadow.labels != 2)
    common = MetricThreshold().fit(without)
    shifted = common.score(target) - common.threshold
    own = MetricThreshold(per_class=True).fit(without).score(target)
    assert_array_equal(own[target.labels == 2], shifted[target.labels == 2])
    assert not np.array_equal(own, shifted)


def test_one_reference_is_enough_for_rmia_and_attack_r_but_not_for_lira(dealt):
    references, target = dealt
    out = np.flatnonzero(~references.is_member[0])
    one, few = references.take([0], out), target.take(out)
    assert np.isfinite(RMIA().fit(one).score(few)).all()
    assert np.isfinite(AttackR().fit(one).score(few)).all()
    for variance in ("record", "pooled"):
        with pytest.raises(ValueError, match=r"fewer than two .*RMIA"):
            LiRA(online=False, variance=variance).fit(one).score(few)


def test_a_record_in_every_model_or_in_none_is_named(dealt):
    references, target = dealt
    mask = references.is_member.copy()
    mask[:, 7] = True
    always = replace(references, is_member=mask)
    for attack in (LiRA(), RMIA(), AttackR()):
        with pytest.raises(ValueError, match=r"1 of 24 records are OUT of no .*number 7"):
            attack.fit(always).score(target)
    assert np.isfinite(RMIA(online=True).fit(always).score(target)).all()
    mask[:, 7] = False
    never = replace(references, is_member=mask)
    with pytest.raises(ValueError, match=r"records are IN no .*offline form"):
        LiRA().fit(never).score(target)
    for attack in (LiRA(online=False), RMIA(), AttackR()):
        assert np.isfinite(attack.fit(never).score(target)).all()


def test_the_published_offline_code_needs_no_model_that_holds_the_record(dealt):
    references, target = dealt
    nobody = replace(references, is_member=np.zeros_like(references.is_member))
    for variance in ("record", "pooled"):
        attack = LiRA(online=False, variance=variance, as_published_code=True)
        assert np.isfinite(attack.fit(nobody).score(target)).all()


@pytest.mark.parametrize("name", ["RMIA", "Attack P"])
def test_attacks_on_a_population_say_that_it_is_missing(dealt, name):
    references, target = dealt
    fitted = checks.EVERY[name].fit(references)
    with pytest.raises(ValueError, match="population"):
        fitted.score(replace(target, population=None))
    alone = checks.EVERY[name].fit(replace(references, population=None))
    if name == "RMIA":
        with pytest.raises(ValueError, match="population"):
            alone.score(target)
    else:
        assert_array_equal(alone.score(target), fitted.score(target))


# ---------------------------------------------------------------- equal, infinite and extreme
# values


@pytest.mark.parametrize("name", checks.REFERENCE)
def test_extreme_logits_give_finite_scores(name):
    references, target = checks.dealt(checks.bank(5, n=24, base=-4000.0, gap=8000.0))
    scores = checks.EVERY[name].fit(references).score(target.public())
    assert np.isfinite(scores).all()
    assert metrics.auc(scores, target.is_member) == 1


@pytest.mark.parametrize("settings", [{"online": True}, {"offline_a": 1.0}])
def test_rmia_takes_nobody_for_a_member_whom_no_model_knows(settings):
    """All models give the label a probability that rounds to 0: 0 / 0 must not count as a full
    score for all."""
    references, target = checks.dealt(checks.bank(5, n=24, base=-4000.0, gap=0.0))
    scores = RMIA(**settings).fit(references).score(target)
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
    scores = AttackP().fit().score(target)
    assert (np.diff(scores) < 0).sum() >= 2
    assert (np.diff(scores) <= 0).all()
    assert scores.min() >= -1


# ---------------------------------------------------------------- another task, other records


@pytest.mark.parametrize(
    "name", [name for name in checks.EVERY if name not in ("Attack P", "QMIA")]
)
def test_logits_of_another_number_of_classes_are_refused(name):
    _, target = checks.world(name)
    wider = replace(target, logits=np.pad(target.logits, ((0, 0), (0, 1))), population=None)
    with pytest.raises(ValueError, match=r"classes|columns of logits"):
        checks.fitted(name).score(wider)


@pytest.mark.parametrize("name", [name for name in checks.REFERENCE if name != "Attack P"])
def test_references_on_other_records_are_refused(dealt, name):
    references, target = dealt
    for wrong in (target.take(np.arange(24)[::-1]), target.take(np.arange(23))):
        with pytest.raises(ValueError, match="same records"):
            checks.EVERY[name].fit(references).score(wrong)


@pytest.mark.parametrize("name", [name for name in checks.REFERENCE if name != "Attack P"])
def test_another_number_of_queries_is_refused(name):
    references, target = checks.dealt(checks.bank(5, models=8, n=24, views=2))
    plain = replace(target, extra={}, population=replace(target.population, extra={}))
    alone = replace(references, views=None, population=replace(references.population, views=None))
    for given, asked in ((references, plain), (alone, target)):
        with pytest.raises(ValueError, match=r"quer|Expected the target"):
            checks.EVERY[name].fit(given).score(asked)


@pytest.mark.parametrize(
    "call",
    [
        lambda g, t: LiRA(variance="fixed"),
        lambda g, t: LiRA(center="mode"),
        lambda g, t: LiRA(online="False"),
        lambda g, t: LiRA(online=1),
        lambda g, t: LiRA(as_published_code="no"),
        lambda g, t: RMIA(online="False"),
        lambda g, t: RMIA(online=None),
        lambda g, t: RMIA(gamma=0),
        lambda g, t: RMIA(gamma=np.nan),
        lambda g, t: RMIA(gamma="2"),
        lambda g, t: RMIA(offline_a=1.5),
        lambda g, t: RMIA(offline_a=-1),
        lambda g, t: NeuralPast(outputs="probabilities"),
        lambda g, t: Augmentation(form="ours"),
        lambda g, t: Augmentation(views="flips"),
        lambda g, t: Augmentation(columns="02"),
        lambda g, t: Augmentation(columns=slice(3)),
        lambda g, t: Augmentation(columns=(0.5,)),
        lambda g, t: Augmentation(columns=(-1,)),
        lambda g, t: Augmentation("rotations").fit(t),
        lambda g, t: GradientNorm(norm="l3"),
        lambda g, t: GradientNorm(per_class="False"),
        lambda g, t: GradientNorm().fit(t),
        lambda g, t: BoundaryDistance(per_class="no"),
        lambda g, t: BoundaryDistance().fit(t),
        lambda g, t: LossTrajectory(seed=0.5),
        lambda g, t: LossTrajectory().fit(t),
        lambda g, t: MetricThreshold("los"),
        lambda g, t: MetricThreshold(None),
        lambda g, t: MetricThreshold(per_class="False"),
        lambda g, t: MetricThreshold(fewest=-1),
        lambda g, t: MetricThreshold(fewest=2.5),
        lambda g, t: MetricThreshold().fit([]),
        lambda g, t: MetricThreshold().fit(g),
        lambda g, t: MetricThreshold().fit(None),
        lambda g, t: MetricThreshold().fit([t, None]),
        lambda g, t: MetricThreshold().fit(2**31),
        lambda g, t: MetricThreshold().fit(t).score(None),
        lambda g, t: MetricThreshold().fit(t).score(t.logits),
        lambda g, t: MetricThreshold().fit(t).calls("target"),
        lambda g, t: NeuralCrl().fit(g),
        lambda g, t: Discriminator().fit(t.logits),
        lambda g, t: LiRA().fit(t),
        lambda g, t: LiRA().fit(None),
        lambda g, t: LiRA().fit(g).score(None),
        lambda g, t: AttackP().fit([]),
        lambda g, t: AttackP().fit(7),
        lambda g, t: AttackP().fit([t, 7]),
        lambda g, t: AttackP().fit().score(g),
        lambda g, t: QMIA(alpha=0),
        lambda g, t: QMIA(alpha="1 %"),
        lambda g, t: QMIA(most=10),
        lambda g, t: QMIA(seed=-1),
        lambda g, t: QMIA().fit().score(g),
        lambda g, t: QMIA().fit().score(t),
        lambda g, t: FromFunction("loss"),
        lambda g, t: suite(None),
        lambda g, t: suite(t, shadow=7),
        lambda g, t: suite(t, references=t),
        lambda g, t: suite(t, shadow=t.members()),
        lambda g, t: lira_scores([0.0], [[0.0]], [[False]], online="False"),
        lambda g, t: cards("los"),
        lambda g, t: exposure.risk(np.zeros((2, 3)), np.ones((2, 3), bool)),
        lambda g, t: exposure.risk(np.zeros(3), np.ones(3, bool)),
        lambda g, t: exposure.risk(np.full((2, 1), np.nan), [[True], [False]]),
        lambda g, t: exposure.agreement({"a": [1.0, 2.0]}, [True, False, True]),
        lambda g, t: exposure.agreement({}, [True, False]),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(dealt, call):
    assert refused(lambda: call(*dealt))
