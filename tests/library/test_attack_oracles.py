"""Numbers known beforehand: worked examples, slow loops, and games with a known best ROC."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import attack_checks as checks
import attack_references as slow
from mialib import exposure, metrics
from mialib.attacks import (
    METRICS,
    RMIA,
    AttackP,
    AttackR,
    LiRA,
    MetricThreshold,
    attack_r_scores,
    best_threshold,
    lira_scores,
    rmia_scores,
)
from mialib.attacks.threshold import entropy_score, modified_entropy_score
from mialib.bank import Bank
from mialib.signals import Signals, phi_from_logits

# ---------------------------------------------------------------- worked examples

P = np.log([[0.7, 0.2, 0.1]] * 2)


def test_entropy_of_a_worked_example():
    assert_allclose(-entropy_score(Signals(P, [0, 1])), [0.8018186] * 2, atol=5e-8)


def test_modified_entropy_of_a_worked_example():
    assert_allclose(-modified_entropy_score(Signals(P, [0, 1])), [0.1621672, 2.1408673], atol=5e-8)


def test_attack_r_of_a_worked_example():
    losses = np.repeat([[0.2], [0.5], [1.0]], 3, axis=1)
    assert_allclose(
        -attack_r_scores([0.1, 0.5, 0.75], losses, np.zeros((3, 3), bool)), [0.125, 0.5, 0.625]
    )


def test_lira_of_a_worked_example():
    assert_allclose(phi_from_logits(P[:1], np.array([0])), [0.8472979], atol=5e-8)
    assert_allclose(
        lira_scores([3.5], [[3], [4], [5], [0], [1], [2]], np.arange(6)[:, None] < 3), [4.5]
    )


def test_rmia_of_a_worked_example():
    def answers(p):
        return np.stack([np.log(p), np.log(np.subtract(1, p))], axis=1)  # logits of label 0

    label, others = np.zeros(1, int), np.zeros(2, int)
    population = Bank(answers([0.6, 0.5])[None], others, np.zeros((1, 2), bool))
    references = Bank(answers([0.5])[None], label, np.zeros((1, 1), bool), population=population)
    target = Signals(answers([0.9]), label, population=Signals(answers([0.6, 0.8]), others))
    found = [
        RMIA(gamma=gamma, offline_a=0.3).fit(references).score(target)[0] for gamma in (1, 1.2)
    ]
    assert found == [1.0, 0.5]
    ratio, z = [1.3333], [0.8108, 1.1852]  # p / (½((1 + a)·p_out + 1 − a))
    assert [rmia_scores(ratio, z, gamma=gamma)[0] for gamma in (1, 1.2)] == [1.0, 0.5]


def test_rmia_counts_a_tie():
    assert rmia_scores([1.0, 2.0], [1.0, 2.0, 4.0]).tolist() == [1 / 3, 2 / 3]
    assert rmia_scores([2.0], [1.0, 2.0, 4.0], gamma=2.0).tolist() == [1 / 3]


def test_p1_of_a_worked_example():
    assert metrics.p1(0.7, 0.2) == pytest.approx(0.7466667, abs=5e-8)


def test_the_confidence_of_lira_stays_finite_where_the_softmax_rounds_to_one():
    sure = phi_from_logits([[800.0, 0.0, 0.0], [-800.0, 0.0, 0.0]], np.array([0, 0]))
    assert_allclose(sure, [800 - np.log(2), -800 - np.log(2)])


# ---------------------------------------------------------------- slow loops


@pytest.fixture(scope="module", params=[0, 2], ids=["1 query", "3 queries"])
def dealt(request):
    return checks.dealt(checks.bank(8, models=10, n=30, views=request.param))


@pytest.mark.parametrize("online", [True, False], ids=["online", "offline"])
@pytest.mark.parametrize("variance", ["record", "pooled"])
@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("published", [False, True], ids=["", "as published"])
def test_lira_equals_its_loop(dealt, online, variance, center, published):
    references, target = dealt
    settings = {
        "online": online,
        "variance": variance,
        "center": center,
        "as_published_code": published,
    }
    by_loop = slow.lira(target.phi(), references.phi, references.is_member, **settings)
    scores = LiRA(**settings).fit(references).score(target)
    assert_allclose(scores, by_loop, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"gamma": 2.0}, {"offline_a": 0.0}, {"offline_a": 1.0}, {"online": True}]
)
def test_rmia_equals_its_loop(dealt, settings):
    references, target = dealt
    by_loop = [
        slow.rmia(1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-all_x)), references.is_member,
                  1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-all_z)), **settings)
        for x, all_x, z, all_z in zip(
            target.phi(), np.moveaxis(references.phi, 1, 0),
            target.population.phi(), np.moveaxis(references.population.phi, 1, 0), strict=True)
    ]  # fmt: skip
    assert_allclose(
        RMIA(**settings).fit(references).score(target),
        np.mean(by_loop, axis=0),
        rtol=0,
        atol=1e-12,
    )


def test_attack_r_equals_its_loop(dealt):
    references, target = dealt
    losses, all_losses = (
        np.log1p(np.exp(-target.phi())),
        np.log1p(np.exp(-references.phi)),
    )
    by_loop = [
        slow.attack_r(losses[q], all_losses[:, q], references.is_member) for q in range(len(losses))
    ]
    scores = AttackR().fit(references).score(target)
    assert_allclose(scores, np.mean(by_loop, axis=0), rtol=1e-9)


def test_attack_p_ranks_as_the_loss_does():
    target = checks.signals(2)
    assert_array_equal(np.argsort(AttackP().fit().score(target)), np.argsort(-target.loss()))


def test_attack_p_is_the_share_of_the_population_below():
    population = Signals(np.log([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]), [0, 0, 0])
    target = Signals(np.log([[0.25, 0.75]]), [0], population=population)
    assert_allclose(AttackP().fit().score(target), [-0.5])


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("per_class", [False, True])
def test_thresholds_equal_their_loop_exactly(name, per_class):
    shadow, target, score = checks.signals(11), checks.signals(12), METRICS[name]
    expected = score(target) - slow.threshold(score(shadow), shadow.is_member)
    if per_class:
        for label in range(checks.CLASSES):
            own = shadow.labels == label
            threshold = slow.threshold(score(shadow)[own], shadow.is_member[own])
            expected[target.labels == label] = (score(target) - threshold)[target.labels == label]
    fitted = MetricThreshold(name, per_class=per_class).fit(shadow)
    assert_array_equal(fitted.score(target) - fitted.threshold, expected)
    assert_array_equal(fitted.calls(target), expected >= 0)


def test_among_equal_thirds_the_strictest_threshold_is_taken():
    assert best_threshold([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], [True, False] * 3) == 5.5


@given(st.lists(st.booleans(), min_size=2, max_size=14).filter(lambda rows: len(set(rows)) == 2))
def test_the_threshold_is_the_one_of_exact_fractions(rows):
    is_member = np.array(rows)
    members, others = int(is_member.sum()), int((~is_member).sum())
    gains = [
        Fraction(int(h), members) - Fraction(k + 1 - int(h), others)
        for k, h in enumerate(np.cumsum(is_member))
    ]
    best = max(gains)
    let_in = gains.index(best) + 1 if best > 0 else 0
    scores = -np.arange(len(rows), dtype=float)
    assert (scores >= best_threshold(scores, is_member)).sum() == let_in


@pytest.mark.parametrize("ties", [False, True])
def test_risk_equals_its_loop(ties, rng):
    is_member = rng.permuted(np.arange(12)[:, None] < np.full(25, 6), axis=0)
    scores = rng.normal(size=(12, 25)) + is_member
    scores = scores.round() if ties else scores
    found = exposure.risk(scores, is_member, fpr=0.1)
    caught, accused, auc = slow.risk(scores, is_member, 0.1)
    assert_allclose([found.caught, found.accused, found.auc], [caught, accused, auc], atol=1e-12)
    worst = found.most_exposed(1)[0]
    assert (found.caught - found.accused)[worst] == (caught - accused).max()


def test_agreement_equals_its_loop(rng):
    is_member, table = rng.random(80) < 0.5, {name: rng.normal(size=80) for name in "abc"}
    found = exposure.agreement({name: scores >= 0 for name, scores in table.items()}, is_member)
    sets = {
        name: {j for j in range(80) if is_member[j] and scores[j] >= 0}
        for name, scores in table.items()
    }
    for (a, b), share in found.both.items():
        assert share == len(sets[a] & sets[b]) / len(sets[a] | sets[b])
    assert list(found.both) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.by_how_many.tolist() == [
        sum(j in s for s in sets.values()) for j in np.flatnonzero(is_member)
    ]


# ---------------------------------------------------------------- games with a known best ROC


def gaussian_game(seed, *, shift, sigma_in=1.0, n=3000, models=160):
    """φ of target (n,), references (models, n), who holds what, and the truth; every record has
    a mean of its own."""
    rng = np.random.default_rng(seed)
    is_in = rng.permuted(np.arange(models + 1)[:, None] < np.full(n, models // 2), axis=0)
    noise = rng.normal(size=is_in.shape) * np.where(is_in, sigma_in, 1.0)
    phi = rng.normal(0, 3, n) + shift * is_in + noise
    return phi[0], phi[1:], is_in[1:], is_in[0]


@pytest.mark.parametrize("shift", [0.5, 1.5])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"variance": "pooled"},
        {"online": False},
        {"online": False, "variance": "pooled"},
        {"center": "median"},
    ],
)
def test_lira_reaches_the_best_roc_of_a_gaussian_game(shift, settings):
    """IN is N(μ + d′, 1), OUT is N(μ, 1): the best AUC is Φ(d′ / √2), the best TPR at 1 % FPR
    is Φ(d′ − z₀.₉₉)."""
    *game, truth = gaussian_game(1, shift=shift)
    found = metrics.evaluate(lira_scores(*game, **settings), truth, draws=300)
    assert (
        found.auc.low < norm.cdf(shift / np.sqrt(2)) < found.auc.high + 0.005
    )  # 80 models know μ to 0.1
    best = norm.cdf(shift - norm.isf(0.01))
    assert found.tpr_at_1_percent.low < best < found.tpr_at_1_percent.high + 0.01
    assert (
        metrics.auc(game[0], truth) < found.auc.low
    )  # One threshold for all records loses to LiRA.


def test_lira_reaches_the_best_roc_where_only_the_variance_differs():
    """IN is N(μ, σ²), OUT is N(μ, 1): the best AUC is P(σ|Z| < |Z′|) = (2 / π) arctan(1 / σ)."""
    *game, truth = gaussian_game(2, shift=0.0, sigma_in=0.4)
    found = metrics.evaluate(lira_scores(*game), truth, draws=300).auc
    assert found.low < 2 / np.pi * np.arctan(1 / 0.4) < found.high + 0.005


def test_attack_r_reaches_the_best_auc_of_a_one_sided_game():
    target, references, is_in, truth = gaussian_game(3, shift=1.0)
    found = metrics.evaluate(
        attack_r_scores(np.exp(-target / 4), np.exp(-references / 4), is_in), truth, draws=300
    )
    assert found.auc.low < norm.cdf(1 / np.sqrt(2)) < found.auc.high + 0.01


def test_the_loss_attack_reaches_the_auc_of_a_gaussian_game(rng):
    """Two classes and a logit of N(± d′ / 2, 1): the loss is monotone in it, so the AUC is Φ(d′
    / √2)."""
    is_member = np.arange(4000) < 2000
    logits = np.zeros((4000, 2))
    logits[:, 0] = rng.normal(size=4000) + 1.2 * is_member
    target = Signals(logits, np.zeros(4000, int), is_member)
    fitted = MetricThreshold().fit(target)
    scores = fitted.score(target.public())
    found = metrics.evaluate(scores, is_member, threshold=fitted.threshold, draws=300)
    assert found.auc.low < norm.cdf(1.2 / np.sqrt(2)) < found.auc.high
    assert found.advantage.low < 2 * norm.cdf(0.6) - 1 < found.advantage.high
