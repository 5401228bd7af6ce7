"""The checks can fail: every fault that was seen in other people's code, put in on purpose, is caught by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import attack_checks as checks
import attack_references as slow
from mialib import attacks, metrics
from mialib.attacks import neural, reference, threshold
from mialib.signals import Signals


def world(attack):
    """Signals for an attack on a shadow, a bank for one on references."""
    of_references = getattr(attack, "func", attack) in (
        attacks.lira,
        attacks.rmia,
        attacks.attack_r,
    )
    return checks.world("LiRA" if of_references else "loss")


def caught(check, attack, *, given=None, target=None):
    """Whether this check raises AssertionError on this attack."""
    if given is None:
        given, target = world(attack)
    try:
        check(attack, given, target)
    except AssertionError:
        return True
    return False


SOUND = [
    attacks.threshold_attack,
    attacks.gradient_attack,
    attacks.lira,
    attacks.rmia,
    attacks.attack_r,
]


@pytest.mark.parametrize("attack", SOUND)
def test_a_flipped_sign_finds_no_members(attack):
    given, target = world(attack)
    assert not caught(checks.finds_members, attack)
    assert caught(checks.finds_members, lambda *seen: -attack(*seen), given=given, target=target)


def test_the_inverted_loss_attack_of_a_known_toolkit_is_caught(monkeypatch):
    assert not caught(checks.finds_members, attacks.threshold_attack)
    monkeypatch.setattr(Signals, "loss", lambda s: s.logits[np.arange(len(s)), s.labels])
    assert caught(checks.finds_members, attacks.threshold_attack)


def test_a_threshold_fitted_on_the_target_reads_its_membership():
    def fitted_on_the_target(shadow, target):
        return attacks.threshold_attack(target, target)

    given, target = checks.world("loss")
    assert not caught(checks.is_blind_to_membership, attacks.threshold_attack)
    assert caught(checks.is_blind_to_membership, fitted_on_the_target, given=given, target=target)
    assert caught(
        checks.each_record_is_judged_alone, fitted_on_the_target, given=given, target=target
    )


def test_an_attack_evaluated_on_its_own_shadow_is_caught(monkeypatch):
    """PAST's rotation attack: what is reported is the score of the shadow."""
    attack, given, target = attacks.augmentation_attack, *checks.world("rotations")

    def on_its_shadow(shadow, asked):
        return attack(shadow, shadow.public())

    with checks.fits_remembered():
        assert not caught(checks.order_of_records_is_nothing, attack, given=given, target=target)
        assert caught(checks.order_of_records_is_nothing, on_its_shadow, given=given, target=target)
        assert caught(checks.finds_members, on_its_shadow, given=given, target=target)


def test_membership_leaked_into_a_feature_is_caught(monkeypatch):
    honest = Signals.probabilities

    def leaking(signals):
        return (
            honest(signals) + 0.0
            if signals.is_member is None
            else honest(signals) * signals.is_member[:, None]
        )

    given, target = checks.world("neural")
    with checks.fits_remembered():
        assert not caught(
            checks.is_blind_to_membership, attacks.neural_attack, given=given, target=target
        )
        monkeypatch.setattr(Signals, "probabilities", leaking)
        assert caught(
            checks.is_blind_to_membership, attacks.neural_attack, given=given, target=target
        )


def test_a_label_leaked_into_the_entropy_is_caught(monkeypatch):
    def attack(shadow, target):
        return attacks.threshold_attack(shadow, target, score=threshold.entropy_score)

    given, target = checks.world("entropy")
    assert not caught(checks.needs_no_label, attack, given=given, target=target)
    monkeypatch.setattr(threshold, "entropy_score", threshold.modified_entropy_score)
    assert caught(checks.needs_no_label, attack, given=given, target=target)


def test_a_score_by_row_order_is_caught():
    def by_row(shadow, target):
        return np.arange(len(target), dtype=float)

    given, target = checks.world("loss")
    assert caught(checks.order_of_records_is_nothing, by_row, given=given, target=target)
    assert caught(checks.each_record_is_judged_alone, by_row, given=given, target=target)


def test_a_first_model_that_counts_for_more_is_caught():
    def leaning(references, target):
        return attacks.lira(references, target) + references.confidence[0, 0]

    given, target = checks.world("LiRA")
    assert not caught(checks.order_of_models_is_nothing, attacks.lira)
    assert caught(checks.order_of_models_is_nothing, leaning, given=given, target=target)


@pytest.mark.parametrize("attack", [attacks.lira, attacks.rmia])
def test_counting_the_other_models_finds_something_where_there_is_nothing(attack):
    def counting(references, target):
        return -references.is_member.sum(axis=0).astype(float)

    given, target = checks.dealt(checks.bank(4, gap=0.0), fair=False)
    assert not caught(checks.finds_nothing, attack, given=given, target=target)
    assert caught(checks.finds_nothing, counting, given=given, target=target)
    assert metrics.auc(counting(given, target), target.is_member) == 1


def equals_its_loop(attack, given, target):
    by_loop = slow.lira(target.confidence(), given.confidence, given.is_member)
    assert_allclose(attack(given, target), by_loop, rtol=1e-9, atol=1e-9)


def finds_narrow_members(attack, given, target):
    """Members that differ from non-members by their spread alone."""
    checks.finds_members(attack, given, target)


def test_an_out_deviation_taken_from_in_is_caught(monkeypatch):
    """The slip of LiRA's published code, for each record."""

    def slipped(target, references, is_in):
        side = {who: np.where(is_in[:, None] == who, references, np.nan) for who in (True, False)}
        middle, deviation = (
            {who: np.nanmean(phi, axis=0) for who, phi in side.items()},
            np.nanstd(side[True], axis=0),
        )
        out, inside = ((target - middle[who]) / deviation for who in (False, True))
        return ((out**2 - inside**2) / 2).mean(axis=0)

    given, target = narrow_members()
    assert not caught(equals_its_loop, attacks.lira, given=given, target=target)
    assert not caught(finds_narrow_members, attacks.lira, given=given, target=target)
    monkeypatch.setattr(reference, "lira_scores", slipped)
    assert caught(equals_its_loop, attacks.lira, given=given, target=target)
    assert caught(finds_narrow_members, attacks.lira, given=given, target=target)


def narrow_members():
    """References and target in two classes, φ = N(0, 0.2²) for IN and N(0, 1) for OUT."""
    from mialib.bank import Bank

    rng = np.random.default_rng(7)
    mask = checks.splits.in_out_mask(400, 32)
    logits = np.zeros((32, 400, 2))
    logits[..., 0] = rng.normal(size=mask.shape) * np.where(mask, 0.2, 1.0)
    return checks.dealt(Bank(logits, np.zeros(400, int), mask))


def test_an_inverted_rmia_ratio_finds_no_members(monkeypatch):
    honest = reference.rmia_scores
    assert not caught(checks.finds_members, attacks.rmia)
    monkeypatch.setattr(
        reference, "rmia_scores", lambda x, z, gamma=1.0: honest(1 / x, 1 / z, gamma=gamma)
    )
    assert caught(checks.finds_members, attacks.rmia)


def test_rmia_tuned_by_another_models_membership_would_be_caught():
    """A known toolkit tunes `a` on the mask of another model; here: by the target's own."""

    def tuned(references, target):
        best = max(
            (0.0, 0.5, 1.0),
            key=lambda a: metrics.auc(attacks.rmia(references, target, a=a), target.truth()),
        )
        return attacks.rmia(references, target, a=best)

    given, target = checks.world("RMIA")
    assert not caught(checks.is_blind_to_membership, attacks.rmia)
    assert caught(checks.is_blind_to_membership, tuned, given=given, target=target)


@pytest.mark.parametrize("name", ["neural", "shifts, PAST"])
def test_a_network_that_is_never_trained_finds_fewer_members(monkeypatch, name):
    """As where layers sit in a plain list: the weights stay where they began."""
    given, target = checks.world(name)
    honest, fit = (
        metrics.auc(checks.EVERY[name](given, target), target.is_member),
        neural.perceptron,
    )
    monkeypatch.setattr(
        neural, "perceptron", lambda *data, **settings: fit(*data, **settings | {"rate": 1e-12})
    )
    assert metrics.auc(checks.EVERY[name](given, target), target.is_member) < honest - 0.05
