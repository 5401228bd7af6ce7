"""What holds for every attack: it finds members where there are some, and nothing where there is
nothing."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attack_checks import (
    EVERY,
    METRIC,
    REFERENCE,
    bank,
    by_function,
    dealt,
    each_record_is_judged_alone,
    finds_members,
    finds_nothing,
    flattened,
    is_blind_to_membership,
    needs_no_label,
    order_of_models_is_nothing,
    order_of_records_is_nothing,
    scores,
    shared,
    signals,
    three_sigma,
    world,
)
from mialib import metrics
from mialib.attacks import lira_scores

every_attack = pytest.mark.parametrize("name", EVERY)
on_references = pytest.mark.parametrize("name", REFERENCE)


@every_attack
def test_scores_are_one_finite_number_a_record(name):
    assert scores(name).shape == (len(world(name)[1]),)
    assert np.isfinite(scores(name)).all()


@every_attack
def test_members_are_found_in_a_model_that_memorised(name):
    finds_members(shared(name), *world(name))


@every_attack
def test_shuffled_membership_leaves_nothing_to_find(name, rng):
    truth = world(name)[1].is_member
    aucs = [metrics.auc(scores(name), rng.permutation(truth)) for _ in range(20)]
    assert abs(np.mean(aucs) - 0.5) < three_sigma(truth) / np.sqrt(20)
    assert max(np.abs(np.subtract(aucs, 0.5))) < 1.5 * three_sigma(truth)


@every_attack
def test_swapped_roles_turn_the_auc_round(name):
    truth = world(name)[1].is_member
    assert metrics.auc(scores(name), ~truth) == pytest.approx(
        1 - metrics.auc(scores(name), truth), abs=1e-15
    )


@every_attack
def test_the_targets_membership_is_never_read(name):
    is_blind_to_membership(shared(name), *world(name))


@every_attack
def test_a_model_that_learned_nothing_betrays_nothing(name):
    given, target = world(name, gap=0.0)
    finds_nothing(lambda *_: scores(name, gap=0.0), given, target)


@every_attack
def test_a_constant_model_breaks_no_attack_and_betrays_nothing(name):
    given, target = map(flattened, world(name))
    finds_nothing(by_function(EVERY[name]), given, target)


@every_attack
def test_the_order_of_the_targets_records_changes_nothing(name):
    order_of_records_is_nothing(shared(name), *world(name))


@pytest.mark.parametrize("name", [name for name in EVERY if "pooled" not in name])
def test_a_record_is_judged_alone(name):
    each_record_is_judged_alone(shared(name), *world(name))


@on_references
def test_the_order_of_the_reference_models_changes_nothing(name):
    order_of_models_is_nothing(shared(name), *world(name))


@pytest.mark.parametrize("name", METRIC)
def test_the_order_of_the_shadows_changes_nothing(name):
    shadows, target = [signals(seed, n=60) for seed in (4, 5, 6)], signals(7, n=60).public()
    once, turned = EVERY[name].fit(shadows), EVERY[name].fit(shadows[::-1])
    assert_array_equal(once.score(target), turned.score(target))
    assert once.threshold == turned.threshold


@pytest.mark.parametrize("name", METRIC)
def test_the_order_of_the_shadows_records_changes_nothing(name, rng):
    shadow, target = signals(4), signals(7).public()
    moved = shadow.take(rng.permutation(len(shadow)))
    once, again = EVERY[name].fit(shadow), EVERY[name].fit(moved)
    assert_array_equal(once.score(target), again.score(target))
    assert once.threshold == again.threshold


@pytest.mark.parametrize(
    "name", ["max confidence", "entropy", "neural (PAST)", "neural (PAST), logits"]
)
def test_what_its_card_says_needs_no_label_needs_none(name):
    needs_no_label(shared(name), *world(name))


@pytest.mark.parametrize("variance", ["record", "pooled"])
@pytest.mark.parametrize("center", ["mean", "median"])
def test_swapping_in_and_out_turns_liras_sign(variance, center, rng):
    phi, is_in = (
        rng.normal(size=(9, 2, 30)),
        rng.permuted(np.arange(9)[:, None] < np.full(30, 4), axis=0),
    )
    once, swapped = (
        lira_scores(phi[0], phi, mask, variance=variance, center=center) for mask in (is_in, ~is_in)
    )
    assert_allclose(once, -swapped)


@pytest.mark.parametrize("name", METRIC)
def test_signals_that_give_membership_away_have_an_auc_of_one(name):
    table = signals(9)
    sure = np.where(table.is_member, 9.0, -1.0)[:, None] * (np.arange(4) == table.labels[:, None])
    norms = {f"gradient_l{p}": 1.0 - table.is_member for p in (1, 2)}
    oracle = replace(table, logits=sure, extra={"boundary": 1.0 * table.is_member, **norms})
    assert metrics.auc(EVERY[name].fit(oracle).score(oracle.public()), table.is_member) == 1


@pytest.mark.parametrize("name", REFERENCE)
def test_a_bank_that_gives_membership_away_has_an_auc_of_one(name):
    given, target = dealt(bank(3, base=-30.0, gap=60.0))
    assert metrics.auc(EVERY[name].fit(given).score(target.public()), target.is_member) == 1
