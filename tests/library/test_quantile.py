"""QMIA on games in which it is known what is easy, what is hard, and how φ falls."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from mialib import metrics, runs
from mialib.attacks import QMIA, AttackP, MetricThreshold, game
from mialib.attacks.quantile import expected_of_nonmembers, floored
from mialib.query import ask, ask_about
from mialib.signals import Signals

GAP = 2.0  # by so many of its own deviations a member's φ is higher


def drawn(seed, *, n, is_member, by="inputs"):
    """Half of the records are easy (φ about 6 ± 2), half are hard (−1 ± 0.5).

    Which is which stands in the first column of the inputs, or in the label; the rest is noise.
    """
    rng = np.random.default_rng(seed)
    is_hard = rng.random(n) < 0.5
    phi = np.where(is_hard, -1.0, 6.0)
    phi += np.where(is_hard, 0.5, 2.0) * (rng.normal(size=n) + GAP * is_member)
    inputs = rng.normal(size=(n, 4))
    labels = np.zeros(n, int)
    if by == "inputs":
        inputs[:, 0] = is_hard
    else:
        labels = is_hard.astype(int)
    rows = np.arange(n)
    logits = np.zeros((n, 2))
    logits[rows, labels] = phi
    return Signals(logits, labels, is_member, extra={"inputs": inputs}), is_hard


def played(*, n=6000, population=4000, by="inputs"):
    """A target with its population, and which of its records are hard."""
    known, _ = drawn(1, n=population, is_member=np.zeros(population, bool), by=by)
    target, is_hard = drawn(2, n=n, is_member=np.arange(n) % 2 == 0, by=by)
    return replace(target, population=known.public()), is_hard


@pytest.fixture(scope="module")
def world():
    return played()


@pytest.fixture(scope="module")
def scores(world):
    return QMIA().fit().score(world[0].public())


def three_sigma(share, n):
    return 3 * np.sqrt(share * (1 - share) / n)


def test_the_rate_of_false_positives_is_alpha_among_the_easy_and_the_hard(world, scores):
    """The conditional quantile is met in each group; one threshold for all accuses the easy."""
    target, is_hard = world
    alpha = 0.05
    scores = QMIA(alpha=alpha).fit().score(target.public())
    for group in (is_hard, ~is_hard):
        others = group & ~target.is_member
        # The level was found on 4,000 records, of which 2,000 are of this group.
        allowed = three_sigma(alpha, others.sum()) + three_sigma(alpha, 2000)
        assert abs((scores[others] >= 0).mean() - alpha) < allowed
    by_loss = AttackP().fit().score(target.public())
    called = by_loss >= -alpha
    assert called[is_hard & ~target.is_member].mean() == 0
    assert called[~is_hard & ~target.is_member].mean() > 1.5 * alpha


@pytest.mark.parametrize("by", ["inputs", "labels"])
def test_at_a_low_rate_it_beats_one_threshold_for_all_and_nears_the_best(by):
    target, _ = played(by=by)
    truth = target.is_member
    found = QMIA().fit().score(target.public())
    one_for_all = MetricThreshold("loss").fit(target).score(target)
    tpr = metrics.tpr_at_fpr(found, truth, 0.01, draws=5).value
    best = norm.sf(norm.isf(0.01) - GAP)
    assert best == pytest.approx(0.372, abs=1e-3)
    assert 0.28 < tpr < 0.42
    assert tpr > metrics.tpr_at_fpr(one_for_all, truth, 0.01, draws=5).value + 0.04
    assert norm.cdf(GAP / np.sqrt(2)) - 0.03 < metrics.auc(found, truth)
    assert metrics.auc(one_for_all, truth) < 0.75


def test_the_deviations_are_those_of_the_game(world):
    """(φ − μ)/σ with the μ and σ that the records were drawn with."""
    target, is_hard = world
    found = expected_of_nonmembers(target.population).deviations(target)
    mean = np.where(is_hard, -1.0, 6.0)
    sigma = np.where(is_hard, 0.5, 2.0)
    known = (target.phi()[0] - mean) / sigma
    assert np.corrcoef(found, known)[0, 1] > 0.97
    assert abs(np.mean(found - known)) < 0.1


def test_held_out_deviations_have_mean_zero_and_deviation_one(world):
    """Within its own fold a regression would be too near; that would show as less than one."""
    held_out = expected_of_nonmembers(world[0].population).held_out
    assert abs(held_out.mean()) < 0.05
    assert held_out.std() == pytest.approx(1, abs=0.08)


def test_inputs_that_say_nothing_leave_the_order_of_phi(rng):
    target, _ = played(n=1000, population=1000)
    blind = replace(
        target,
        extra={"inputs": np.zeros((1000, 2))},
        population=replace(target.population, extra={"inputs": np.zeros((1000, 2))}),
    )
    order = np.argsort(target.phi()[0])
    assert (np.diff(QMIA().fit().score(blind)[order]) >= 0).all()


def test_wide_inputs_are_reduced_and_images_are_taken():
    target, is_hard = played(n=1000, population=1000)

    def as_images(signals, hard):
        noise = np.random.default_rng(3).normal(size=(len(signals), 1, 8, 8))
        bright = noise + 4 * hard[:, None, None, None]
        return replace(signals, extra={"inputs": bright})

    of_population = target.population.column("inputs")[:, 0] == 1
    population = as_images(target.population, of_population)
    seen = replace(as_images(target, is_hard), population=population)
    plain = metrics.auc(QMIA().fit().score(target.public()), target.is_member)
    wide = metrics.auc(QMIA().fit().score(seen.public()), target.is_member)
    assert wide > plain - 0.05


def test_a_large_population_is_drawn_from(world):
    target, _ = world
    some = QMIA(most=500, seed=1).fit()
    assert_array_equal(some.score(target), some.score(target))
    assert not np.array_equal(some.score(target), QMIA(most=500, seed=2).fit().score(target))
    assert metrics.auc(some.score(target), target.is_member) > 0.85


def test_more_than_255_classes_are_taken():
    rng = np.random.default_rng(0)

    def signals(n, **columns):
        labels = rng.integers(300, size=n)
        logits = rng.normal(size=(n, 300))
        return Signals(logits, labels, extra={"inputs": rng.normal(size=(n, 2))}, **columns)

    scores = QMIA().fit().score(signals(50, population=signals(100)))
    assert np.isfinite(scores).all()


def test_a_model_that_answers_all_alike_has_no_deviations():
    assert_allclose(floored(np.zeros(3)), 1)
    assert_allclose(floored(np.array([0.0, 2.0])), [1e-6, 2.0])


def test_what_is_missing_is_said(world):
    target, _ = world
    with pytest.raises(ValueError, match=r"30 known non-members, found none"):
        QMIA().fit().score(replace(target, population=None))
    with pytest.raises(ValueError, match=r"found 29 records"):
        QMIA().fit().score(replace(target, population=target.population.take(np.arange(29))))
    with pytest.raises(ValueError, match="no 'inputs'"):
        QMIA().fit().score(replace(target, extra={}))
    narrow = replace(target, extra={"inputs": np.zeros((len(target), 3))})
    with pytest.raises(ValueError, match="3 and 4 numbers a record"):
        QMIA().fit().score(narrow)
    for wrong in (np.nan, 1e300):
        holes = replace(target, extra={"inputs": np.full((len(target), 4), wrong)})
        with pytest.raises(ValueError, match="finite numbers"):
            QMIA().fit().score(holes)


def test_it_is_played_with_a_model_and_its_population(tiny):
    """From a torch model to the game: the population comes with the target."""
    run = runs.get(tiny)
    model = run.load_model()
    population = ask_about(model, run.side.inference, inputs=True)
    assert population.is_member is None
    assert_array_equal(population.labels, run.side.inference.y)
    assert_array_equal(population.record_index, run.side.inference.index)
    target = replace(ask(model, run.side, inputs=True), population=population)
    assert target.column("inputs").shape == (len(target), 1, 8, 8)
    assert_allclose(target.members().column("inputs"), run.side.train.scaled())
    assert np.isfinite(game(target, shadow=target).play(QMIA()).auc.value)


def test_a_small_population_keeps_its_promise_too():
    """Regressions that had seen the records they are judged by would be too sure of themselves."""
    alpha = 0.1
    rates = []
    for seed in range(8):
        rng = np.random.default_rng(seed)

        def nobody(n, rng=rng):
            phi = rng.normal(size=n)
            logits = np.stack([phi, np.zeros(n)], axis=1)
            return Signals(logits, np.zeros(n, int), extra={"inputs": rng.normal(size=(n, 8))})

        target = replace(nobody(2000), population=nobody(200))
        rates.append((QMIA(alpha=alpha).fit().score(target) >= 0).mean())
    assert abs(np.mean(rates) - alpha) < 0.025


def test_the_number_of_threads_changes_nothing():
    """With a thread for every core, sums are added in another order, and other trees may grow."""
    rng = np.random.default_rng(0)

    def signals(n, **columns):
        inputs = rng.normal(size=(n, 64))
        return Signals(
            rng.normal(size=(n, 4)), rng.integers(4, size=n), extra={"inputs": inputs}, **columns
        )

    target = signals(500, population=signals(1000))
    with threadpool_limits(2):
        by_two = QMIA().fit().score(target)
    with threadpool_limits(1):
        by_one = QMIA().fit().score(target)
    assert_array_equal(by_one, by_two)
