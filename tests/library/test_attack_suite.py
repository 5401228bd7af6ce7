"""Every attack has one name, says what it needs, and joins the suite when its needs are met."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import attack_checks as checks
from mialib.attacks import (
    ATTACKS,
    RMIA,
    SHADOW_SUITE,
    Attack,
    FittedAttack,
    LiRA,
    MetricThreshold,
    Need,
    suite,
)

NAMES = """correctness; loss; max confidence; entropy; modified entropy; loss per class;
neural (PAST); neural (CRL); discriminator; rotation (PAST); translation (PAST); rotation;
translation; boundary; gradient ℓ1; gradient ℓ2; trajectory; LiRA; LiRA offline; RMIA; Attack R;
Attack P; QMIA"""
ON_REFERENCES = ("LiRA", "LiRA offline", "RMIA", "Attack R", "Attack P")
by_name = pytest.mark.parametrize("name", ATTACKS)


@pytest.fixture(scope="module")
def shadow():
    return checks.signals(1)


@pytest.fixture(scope="module")
def target():
    return checks.signals(2).public()


def test_the_registry_has_these_names():
    assert list(ATTACKS) == " ".join(NAMES.split()).split("; ")


@by_name
def test_an_attack_is_frozen_settings_that_know_their_name(name):
    attack = ATTACKS[name]
    assert isinstance(attack, Attack)
    assert attack.name == name
    assert replace(attack) == attack
    assert hash(replace(attack)) == hash(attack)
    for field in fields(attack):
        with pytest.raises(FrozenInstanceError):
            setattr(attack, field.name, None)


def test_settings_without_a_name_are_written_out():
    assert RMIA(gamma=2.0).name == "RMIA(online=False, gamma=2.0, offline_a=0.3)"


@by_name
def test_needs_are_words_of_the_enumeration(name):
    needs = ATTACKS[name].needs
    assert needs
    assert all(isinstance(need, Need) for need in needs)
    assert (Need.SHADOW in needs) == (name not in (*ON_REFERENCES, "QMIA"))
    assert (Need.REFERENCES in needs) == (name in ON_REFERENCES and name != "Attack P")


def test_needs_depend_on_the_settings():
    assert Need.IN_REFERENCES in LiRA().needs
    assert Need.IN_REFERENCES not in LiRA(online=False).needs
    assert Need.PREDICTED_LABELS in MetricThreshold("correctness").needs
    assert Need.OUTPUTS not in MetricThreshold("correctness").needs


def test_one_shadow_with_every_query_allows_the_shadow_suite(shadow, target):
    at_hand = suite(target, shadow=shadow)
    assert list(at_hand.attacks) == [n for n in ATTACKS if n not in ON_REFERENCES[:-1]]
    assert set(SHADOW_SUITE) < set(at_hand.attacks)
    assert not at_hand.only(SHADOW_SUITE).lacking
    assert len(SHADOW_SUITE) == 13


@pytest.mark.parametrize(
    ("column", "lost"),
    [
        ("noise", ["discriminator"]),
        ("rotations", ["rotation (PAST)", "rotation"]),
        ("shifts", ["translation (PAST)", "translation"]),
        ("gradient_l1", ["gradient ℓ1", "gradient ℓ2"]),
        ("boundary", ["boundary"]),
        ("trajectory", ["trajectory"]),
    ],
)
def test_a_query_that_was_not_asked_is_named(shadow, target, column, lost):
    def without(table):
        return replace(table, extra={k: v for k, v in table.extra.items() if k != column})

    for pair in ((without(shadow), target), (shadow, without(target))):
        at_hand = suite(pair[1], shadow=pair[0]).without(ON_REFERENCES)
        assert list(at_hand.lacking) == lost
        for sentence in at_hand.lacking.values():
            assert "query.ask" in sentence
            assert sentence.endswith(".")


def test_without_shadow_and_references_attacks_on_a_population_are_left(target):
    at_hand = suite(target)
    assert list(at_hand.attacks) == ["Attack P", "QMIA"]
    assert "a shadow" in at_hand.lacking["loss"]
    assert "references" in at_hand.lacking["RMIA"]
    assert set(at_hand.attacks) | set(at_hand.lacking) == set(ATTACKS)
    for name in at_hand.attacks:
        assert "a population" in suite(replace(target, population=None)).lacking[name]
    unseen = replace(target, population=replace(target.population, extra={}))
    assert list(suite(unseen).attacks) == ["Attack P"]
    assert "inputs=True" in suite(unseen).lacking["QMIA"]


def test_references_allow_the_reference_attacks():
    references, target = checks.dealt(checks.bank(3))
    at_hand = suite(target.public(), references=references)
    assert list(at_hand.attacks) == list(ON_REFERENCES)
    scores = at_hand.scores(target.public(), references=references)
    for name, attack in at_hand.attacks.items():
        assert_array_equal(scores[name], attack.fit(references).score(target))


def test_references_that_do_not_suffice_are_said_to():
    references, target = checks.dealt(checks.bank(3, models=4))
    lacking = suite(target.public(), references=references).lacking
    assert "fewer than two reference models" in lacking["LiRA"]
    nobody = replace(references, is_member=np.zeros_like(references.is_member))
    lacking = suite(target.public(), references=nobody).lacking
    assert "offline form" in lacking["LiRA"]
    assert "LiRA offline" not in lacking
    no_population = replace(references, population=None)
    assert "population" in suite(target.public(), references=no_population).lacking["RMIA"]


def test_a_shadow_of_another_task_is_refused(target):
    with pytest.raises(ValueError, match="3 and 4 columns"):
        suite(target, shadow=checks.signals(1, classes=3))


def test_a_suite_fits_scores_and_calls(shadow, target):
    quick = suite(target, shadow=shadow).only(["loss", "entropy", "gradient ℓ1", "loss per class"])
    fitted = quick.fit(shadow=shadow)
    scores = quick.scores(target, shadow=shadow)
    calls = quick.calls(target, shadow=shadow)
    assert list(fitted) == list(scores) == list(calls) == list(quick.attacks)
    for name, one in fitted.items():
        assert isinstance(one, FittedAttack)
        assert_array_equal(scores[name], ATTACKS[name].fit(shadow).score(target))
        assert_array_equal(calls[name], scores[name] >= one.threshold)
        assert calls[name].dtype == bool


def test_attack_p_in_a_suite_finds_its_threshold_where_it_can(shadow, target):
    alone = suite(target).fit()
    beside = suite(target, shadow=shadow).only(["Attack P"]).fit(shadow=shadow)
    without = suite(target, shadow=shadow).only(["Attack P"])
    without = without.fit(shadow=replace(shadow, population=None))
    assert alone["Attack P"].threshold is without["Attack P"].threshold is None
    assert beside["Attack P"].threshold is not None


def test_parts_of_a_suite_keep_its_order_and_unknown_names_are_refused(shadow, target):
    at_hand = suite(target, shadow=shadow)
    assert list(at_hand.only(["entropy", "loss"]).attacks) == ["loss", "entropy"]
    fewer = at_hand.without(["discriminator", "neural (CRL)"])
    assert list(fewer.attacks) == [
        n for n in at_hand.attacks if n not in ("discriminator", "neural (CRL)")
    ]
    for part in (at_hand.only, at_hand.without):
        with pytest.raises(ValueError, match="did you mean 'entropy'"):
            part(["entrpy"])


def test_an_attack_of_ones_own_may_join(shadow, target, monkeypatch):
    mine = MetricThreshold("confidence")
    monkeypatch.setitem(ATTACKS, "mine", mine)
    assert mine.name == "mine"
    assert suite(target, shadow=shadow).attacks["mine"] is mine
