"""The checks can fail: every fault that was seen in other people's code, put in on purpose, is
caught by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import attack_checks as checks
import attack_references as slow
from mialib import metrics
from mialib.attacks import (
    RMIA,
    AttackR,
    Augmentation,
    GradientNorm,
    LiRA,
    MetricThreshold,
    augmentation,
    neural,
    threshold,
)
from mialib.attacks import lira as lira_module
from mialib.attacks import rmia as rmia_module
from mialib.attacks.perceptron import fit_perceptron
from mialib.signals import Signals


def score(attack):
    """An attack as the function (shadow, target) → scores that the checks take."""
    return lambda given, target: attack.fit(given).score(target)


ON_REFERENCES = (LiRA(), RMIA(), AttackR())


def world(attack):
    """Signals for an attack on a shadow, a bank for one on references."""
    return checks.world("LiRA" if attack in ON_REFERENCES else "loss")


def caught(check, function, given, target):
    """Whether this check raises AssertionError on this function."""
    try:
        check(function, given, target)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("attack", [MetricThreshold(), GradientNorm(), *ON_REFERENCES])
def test_a_flipped_sign_finds_no_members(attack):
    honest = score(attack)
    assert not caught(checks.finds_members, honest, *world(attack))
    assert caught(checks.finds_members, lambda *seen: -honest(*seen), *world(attack))


def test_the_inverted_loss_attack_of_a_known_toolkit_is_caught(monkeypatch):
    by_loss = score(MetricThreshold("loss"))
    assert not caught(checks.finds_members, by_loss, *checks.world("loss"))
    monkeypatch.setattr(Signals, "loss", lambda s: s.logits[np.arange(len(s)), s.labels])
    assert caught(checks.finds_members, by_loss, *checks.world("loss"))


def test_a_threshold_fitted_on_the_target_reads_its_membership():
    def fitted_on_the_target(shadow, target):
        fitted = MetricThreshold().fit(target)
        return fitted.score(target) - fitted.threshold

    given = checks.world("loss")
    assert not caught(checks.is_blind_to_membership, score(MetricThreshold()), *given)
    assert caught(checks.is_blind_to_membership, fitted_on_the_target, *given)
    assert caught(checks.each_record_is_judged_alone, fitted_on_the_target, *given)


def test_an_attack_evaluated_on_its_own_shadow_is_caught():
    """PAST's rotation attack: what is reported is the score of the shadow."""
    fitted = checks.fitted("rotation")
    given = checks.world("rotation")

    def on_its_shadow(shadow, asked):
        return fitted.score(shadow.public())

    assert fitted.attack == Augmentation("rotations")
    assert not caught(checks.order_of_records_is_nothing, checks.shared("rotation"), *given)
    assert caught(checks.order_of_records_is_nothing, on_its_shadow, *given)
    assert caught(checks.finds_members, on_its_shadow, *given)


def test_membership_leaked_into_a_feature_is_caught(monkeypatch):
    honest = Signals.probabilities

    def leaking(signals):
        return (
            honest(signals) + 0.0
            if signals.is_member is None
            else honest(signals) * signals.is_member[:, None]
        )

    function, given = checks.shared("neural (PAST)"), checks.world("neural (PAST)")
    assert not caught(checks.is_blind_to_membership, function, *given)
    monkeypatch.setattr(Signals, "probabilities", leaking)
    assert caught(checks.is_blind_to_membership, function, *given)


def test_a_label_leaked_into_the_entropy_is_caught(monkeypatch):
    by_entropy, given = score(MetricThreshold("entropy")), checks.world("entropy")
    assert not caught(checks.needs_no_label, by_entropy, *given)
    monkeypatch.setitem(threshold.METRICS, "entropy", threshold.modified_entropy_score)
    assert caught(checks.needs_no_label, by_entropy, *given)


def test_a_score_by_row_order_is_caught():
    def by_row(shadow, target):
        return np.arange(len(target), dtype=float)

    given = checks.world("loss")
    assert caught(checks.order_of_records_is_nothing, by_row, *given)
    assert caught(checks.each_record_is_judged_alone, by_row, *given)


def test_a_first_model_that_counts_for_more_is_caught():
    def leaning(references, target):
        return LiRA().fit(references).score(target) + references.phi[0, 0]

    given = checks.world("LiRA")
    assert not caught(checks.order_of_models_is_nothing, score(LiRA()), *given)
    assert caught(checks.order_of_models_is_nothing, leaning, *given)


@pytest.mark.parametrize("attack", [LiRA(), RMIA()])
def test_counting_the_other_models_finds_something_where_there_is_nothing(attack):
    def counting(references, target):
        return -references.is_member.sum(axis=0).astype(float)

    given, target = checks.dealt(checks.bank(4, gap=0.0), fair=False)
    assert not caught(checks.finds_nothing, score(attack), given, target)
    assert caught(checks.finds_nothing, counting, given, target)
    assert metrics.auc(counting(given, target), target.is_member) == 1


def equals_its_loop(attack, given, target):
    by_loop = slow.lira(target.phi(), given.phi, given.is_member)
    assert_allclose(attack(given, target), by_loop, rtol=1e-9, atol=1e-9)


def finds_narrow_members(attack, given, target):
    """Members that differ from non-members by their spread alone."""
    checks.finds_members(attack, given, target)


def test_an_out_deviation_taken_from_in_is_caught(monkeypatch):
    """The slip of LiRA's published code, for each record."""

    def slipped(target, references, is_in, **settings):
        side = {who: np.where(is_in[:, None] == who, references, np.nan) for who in (True, False)}
        middle, deviation = (
            {who: np.nanmean(phi, axis=0) for who, phi in side.items()},
            np.nanstd(side[True], axis=0),
        )
        out, inside = ((target - middle[who]) / deviation for who in (False, True))
        return ((out**2 - inside**2) / 2).mean(axis=0)

    given = narrow_members()
    assert not caught(equals_its_loop, score(LiRA()), *given)
    assert not caught(finds_narrow_members, score(LiRA()), *given)
    monkeypatch.setattr(lira_module, "lira_scores", slipped)
    assert caught(equals_its_loop, score(LiRA()), *given)
    assert caught(finds_narrow_members, score(LiRA()), *given)


def narrow_members():
    """References and target in two classes, φ = N(0, 0.2²) for IN and N(0, 1) for OUT."""
    from mialib.bank import Bank

    rng = np.random.default_rng(7)
    mask = checks.splits.in_out_mask(400, 32)
    logits = np.zeros((32, 400, 2))
    logits[..., 0] = rng.normal(size=mask.shape) * np.where(mask, 0.2, 1.0)
    return checks.dealt(Bank(logits, np.zeros(400, int), mask))


def test_an_inverted_rmia_ratio_finds_no_members(monkeypatch):
    honest = rmia_module.rmia_scores
    assert not caught(checks.finds_members, score(RMIA()), *checks.world("RMIA"))
    monkeypatch.setattr(
        rmia_module, "rmia_scores", lambda x, z, gamma=1.0: honest(1 / x, 1 / z, gamma=gamma)
    )
    assert caught(checks.finds_members, score(RMIA()), *checks.world("RMIA"))


def test_rmia_tuned_by_another_models_membership_would_be_caught():
    """A known toolkit tunes `a` on the mask of another model; here: by the target's own."""

    def tuned(references, target):
        every = [RMIA(offline_a=a).fit(references).score(target) for a in (0.0, 0.5, 1.0)]
        return max(every, key=lambda scores: metrics.auc(scores, target.truth()))

    given = checks.world("RMIA")
    assert not caught(checks.is_blind_to_membership, score(RMIA()), *given)
    assert caught(checks.is_blind_to_membership, tuned, *given)


@pytest.mark.parametrize("name", ["neural (PAST)", "translation (PAST)"])
def test_a_network_that_is_never_trained_finds_fewer_members(monkeypatch, name):
    """As where layers sit in a plain list: the weights stay where they began."""
    given, target = checks.world(name)
    honest = metrics.auc(checks.scores(name), target.is_member)

    def never_trained(*data, **settings):
        return fit_perceptron(*data, **settings | {"rate": 1e-12})

    for module in (neural, augmentation):
        monkeypatch.setattr(module, "fit_perceptron", never_trained)
    scores = checks.EVERY[name].fit(given).score(target)
    assert metrics.auc(scores, target.is_member) < honest - 0.05
