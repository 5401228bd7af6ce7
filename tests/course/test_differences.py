"""Where text and code differ: every experiment against a slow reference, and its words."""

import re
from itertools import permutations

import numpy as np
import pytest

from mialib import metrics
from mialib.attacks import LiRA, scores_per_target
from mialib.course import differences
from mialib.course.differences import counting, grading, training
from mialib.experiments import results as shipped
from mialib.experiments.banks import references
from mialib.results.repeats import in_turn
from mialib.signals import Signals
from small_results import results

rng = np.random.default_rng(3)
IS_MEMBER = np.arange(60) < 30


def made_up(trainings=3, *, n=60, losses=None, correct=None):
    """Trainings whose loss attack scores minus the loss, with a threshold of 0.5."""
    losses = rng.exponential(size=(trainings, n)) + ~IS_MEMBER[:n] if losses is None else losses
    losses = np.float16(losses)
    scores = -losses[:, None].astype(float)
    return results(scores, IS_MEMBER[:n], thresholds=-0.5, losses=losses, correct=correct)


# ---------------------------------------------------------------- what a difference is


def test_the_effect_is_paired_and_its_verb_follows_it():
    draws = {
        "as coded": np.array([[0.1, 0.1, 0.1], [0.9, 0.9, 0.9]]),
        "as it should be": np.array([[0.2, 0.2, 0.2], [1.0, 1.0, 1.0]]),
    }
    one = differences.Difference(
        differences.SOURCES["ties"], draws, differences.Dots({}, "nothing")
    )
    assert one.effect.value == pytest.approx(-0.1)
    assert one.effect.high < 0
    assert one.verb == "lowers"
    assert one.variants == ["as coded", "as it should be"]
    assert one.estimate("as coded").low == 0.0  # no AUC lies below
    with pytest.raises(ValueError, match="as printed"):
        one.estimate("as printed")
    assert "| – |" in one._repr_markdown_()


def test_without_a_right_way_the_code_is_compared_with_the_text():
    draws = {"as printed": np.full((2, 3), 0.5), "as coded": np.full((2, 3), 0.3)}
    one = differences.Difference(differences.SOURCES["clamp"], draws, differences.Dots({}, ""))
    assert one.right == "as printed"
    assert one.effect.triple == pytest.approx((-0.2, -0.2, -0.2))


def test_every_source_names_a_repository_and_its_commit():
    for name, source in differences.SOURCES.items():
        commit = re.search(r"[\w-]+/[\w-]+ @ [0-9a-f]{7}", source.where)
        issue = re.search(r"[\w-]+/[\w-]+, issue \d+", source.where)
        assert commit or issue, name
        assert source.says("as coded")
        assert source.says("as printed") or source.says("as it should be"), name


# ---------------------------------------------------------------- attacks that grade themselves


def players_with_bits(seed):
    bits = np.random.default_rng(seed).random((60, 3)) < np.where(IS_MEMBER, 0.9, 0.4)[:, None]
    logits = np.random.default_rng(seed + 1).normal(size=(60, 4))
    labels = np.arange(60) % 4
    return Signals(logits, labels, IS_MEMBER, extra={"rotations": bits})


def test_roles_are_exchanged_so_that_both_variants_have_the_same_records():
    pairs = [grading.Players(players_with_bits(k), players_with_bits(k + 50)) for k in range(2)]
    found = differences.rotation(pairs)
    roles = [dot.value for dot in found.evidence.estimates.values()]
    own = [roles[0], roles[3]]
    others = [roles[1], roles[2]]
    assert found.estimate("as coded").value == pytest.approx(np.mean(own))
    assert found.estimate("as it should be").value == pytest.approx(np.mean(others))


def test_thresholds_are_read_off_the_calls():
    trainings = made_up()
    for row, threshold in enumerate(grading.loss_thresholds(trainings)):
        called = trainings.losses[row] < threshold
        assert np.array_equal(called, trainings.losses[row] <= 0.5)


def test_a_plain_threshold_is_taken_from_the_plain_model():
    plain = made_up()
    defended = made_up(losses=rng.exponential(size=(3, 60)) + 0.4 + 0.3 * ~IS_MEMBER)
    found = differences.adaptive(plain, defended)
    cuts = grading.loss_thresholds(plain)
    called = defended.losses <= cuts[:, None]
    slow = called[:, :30].mean(axis=1) - called[:, 30:].mean(axis=1)
    assert found.estimate("as coded").value == pytest.approx(slow.mean())
    assert found.estimate("as it should be") == defended.advantage("loss")


# ---------------------------------------------------------------- numbers that count


@pytest.mark.parametrize("values", [2, 5, 60])
def test_ties_are_dropped_as_a_loop_would_drop_them(values):
    scores = rng.integers(values, size=60)
    order = sorted(range(60), key=lambda k: -scores[k])
    seen = set()
    points = []
    for place, k in enumerate(order):
        if scores[k] not in seen:
            seen.add(scores[k])
            so_far = IS_MEMBER[order[: place + 1]]
            points.append(((~so_far).sum() / 30, so_far.sum() / 30))
    counts = np.ones((1, 60))
    fpr, tpr = counting.curve_without_ties(scores, counts * IS_MEMBER, counts * ~IS_MEMBER)
    assert np.allclose(np.stack([fpr[0], tpr[0]], axis=1), points)


def test_a_score_of_two_values_falls_below_chance_without_its_ties():
    correct = rng.random((4, 60)) < np.where(IS_MEMBER, 1.0, 0.6)
    found = differences.ties(made_up(4, correct=correct))
    slow = [metrics.auc(one, IS_MEMBER) for one in correct.astype(float)]
    assert found.estimate("as it should be").value == pytest.approx(np.mean(slow))
    assert found.estimate("as it should be").value > 0.6
    assert found.estimate("as coded").value < 0.4


def verdict_of_the_coin(order, areas):
    """The toolkit's loop, for one training: a list that is never emptied."""
    kept = []
    for name in order:
        if areas[name] > counting._least_significant_auc():
            kept.append(areas[name])
        if name == "coin":
            return bool(kept) and np.mean(kept) > 0.65
    return None


@pytest.mark.parametrize("coin", [0.49, 0.53])
def test_a_verdict_remembers_the_attacks_before_it(coin):
    areas = {"coin": coin, "correctness": 0.7, "loss": 0.8}
    for order in permutations(areas):
        drawn = {name: np.full((1, 2), area) for name, area in areas.items()}
        found = counting.called_dangerous(order, drawn)
        assert found.all() == verdict_of_the_coin(order, areas), order


def test_only_different_attacks_count_once_each():
    plain = shipped("past", "quick").find(defense="Plain")
    found = differences.twice(plain)
    each = {attack: plain.by_seed("advantage", attack).mean() for attack in counting.DIFFERENT}
    assert found.estimate("as it should be").value == pytest.approx(np.mean(list(each.values())))
    eight = [*each.values(), each["loss"]]
    assert found.estimate("as printed").value == pytest.approx(np.mean(eight))


# ---------------------------------------------------------------- code that does something else


def test_lira_in_turn_is_that_of_the_repeats():
    bank = references("quick").bank
    found = differences.lira(bank)
    for variant, as_code in (("as printed", False), ("as coded", True)):
        attack = LiRA(online=False, as_published_code=as_code)
        scores = scores_per_target(bank, attack, targets=training.TARGETS)
        reference = in_turn(scores, bank.is_member[: training.TARGETS])
        assert found.estimate(variant).value == pytest.approx(reference.auc.value)


def test_a_first_layer_keeps_its_weights_and_its_signs():
    x = rng.normal(size=(5, 4))
    once = training.first_layer(x)
    assert once.shape == (5, training.HIDDEN)
    assert np.array_equal(once, training.first_layer(x))
    assert once.min() == 0
    assert not np.array_equal(once, training.first_layer(x, seed=1))


def test_a_network_that_learns_its_first_layer_tells_what_random_features_do_not():
    """Members lie between the non-members, where no single line parts them."""
    logits = np.where(IS_MEMBER, 0.0, rng.choice([-3.0, 3.0], 60))[:, None] + np.zeros(3)
    logits = logits + rng.normal(scale=0.1, size=(60, 3))
    signals = Signals(logits, np.zeros(60, int), IS_MEMBER)
    learned = training.network_scores(signals, signals, learns=True)
    frozen = training.network_scores(signals, signals, learns=False)
    assert metrics.auc(learned, IS_MEMBER) > 0.9
    assert learned.shape == frozen.shape == (60,)
