"""Coins and canaries: who is IN hangs on a fair toss and on nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from mialib import data, metrics, models, splits
from mialib.data import Records
from mialib.query import ask_about
from mialib.splits import Side, coins, plant
from mialib.training import Recipe, fit

KINDS = ("mislabelled", "noise")


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def numbers(n):
    """n records that carry their own number."""
    return Records("numbers", np.arange(n)[:, None], np.arange(n) % 4, 4)


def is_member(side, n):
    held = np.zeros(n, bool)
    held[side.train.x[:, 0]] = True
    return held


def five_sigma(n):
    """Of the share of heads among n fair tosses."""
    return 5 * 0.5 / np.sqrt(n)


# ---------------------------------------------------------------- the scheme


def test_every_record_and_model_has_a_fair_coin_of_its_own():
    n = 400
    sides = coins(numbers(n), models=50)
    assert list(sides) == [f"model-{k}" for k in range(50)]
    tosses = np.stack([is_member(side, n) for side in sides.values()])
    assert abs(tosses.mean() - 0.5) < five_sigma(tosses.size)
    assert np.abs(tosses.mean(axis=0) - 0.5).max() < five_sigma(50)
    # Independent tosses: numbers of heads have the binomial variance, in rows and in columns.
    # Dealt out in halves, as in_out does, they would have none.
    assert 0.5 < tosses.sum(axis=0).var() / (50 / 4) < 1.5
    assert 0.4 < tosses.sum(axis=1).var() / (n / 4) < 2
    for one, other in ((0, 1), (0, 49), (7, 8)):
        assert abs((tosses[one] == tosses[other]).mean() - 0.5) < five_sigma(n)


def test_the_coin_does_not_follow_the_shuffle():
    """Who was shuffled to the front is no likelier to be IN: over seeds, all places are fair."""
    n = 60
    heads = np.zeros(n)
    for seed in range(300):
        heads += is_member(coins(numbers(n), seed=seed)["model-0"], n)
    assert stats.chisquare(heads, np.full(n, heads.mean())).pvalue > 1e-4
    assert abs(heads.mean() / 300 - 0.5) < five_sigma(300 * n)


def test_members_and_others_make_up_all_that_was_tossed():
    sides = coins(numbers(1000), models=3, validation=0.1, inference=0.2)
    for side in sides.values():
        assert [len(side.validation), len(side.inference)] == [100, 200]
        assert len(side.train) + len(side.test) == 700
    first, second, _ = sides.values()
    assert_array_equal(first.validation.index, second.validation.index)
    assert_array_equal(first.inference.index, second.inference.index)


def test_what_is_set_aside_says_nothing_of_the_others():
    """Heads are half of what was tossed; a share taken from the members would leave fewer."""
    n = 20_000
    side = coins(numbers(n), validation=0.5)["model-0"]
    assert abs(len(side.train) / (n / 2) - 0.5) < five_sigma(n / 2)


# ---------------------------------------------------------------- canaries


@pytest.mark.parametrize("kind", KINDS)
def test_canaries_are_in_by_fair_coins(digits, kind):
    canaries = plant(digits, 1000, kind=kind, seed=3)
    assert len(canaries) == len(canaries.records) == len(canaries.is_in) == 1000
    assert (canaries.kind, canaries.seed) == (kind, 3)
    assert abs(canaries.is_in.mean() - 0.5) < five_sigma(1000)
    again = plant(digits, 1000, kind=kind, seed=3)
    assert_array_equal(again.is_in, canaries.is_in)
    assert_array_equal(again.records.x, canaries.records.x)
    other = plant(digits, 1000, kind=kind, seed=4)
    assert abs((other.is_in == canaries.is_in).mean() - 0.5) < five_sigma(1000)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_about_a_canary_tells_how_its_coin_fell(digits, kind):
    for seed in range(5):
        canaries = plant(digits, 1500, kind=kind, seed=seed)
        for told in (canaries.records.y, canaries.records.x.mean(axis=(1, 2, 3))):
            assert abs(metrics.auc(told, canaries.is_in) - 0.5) < 0.08


def test_the_tosses_are_none_of_those_of_a_split_with_the_same_seed():
    records = numbers(1000)
    tosses = plant(records, 1000, kind="noise", seed=1).is_in
    for side in coins(records, seed=1, models=4).values():
        held = np.isin(splits._shuffled(records, 1), side.train.x[:, 0])
        assert abs((held == tosses).mean() - 0.5) < five_sigma(1000)


def test_mislabelled_canaries_are_records_with_any_other_label(digits):
    canaries = plant(digits, len(digits), seed=1).records
    assert len(set(canaries.index)) == len(canaries)
    true = digits.y[canaries.index]
    assert_array_equal(canaries.x, digits.x[canaries.index])
    assert (canaries.y != true).all()
    steps = np.bincount((canaries.y - true) % 10, minlength=10)[1:]
    assert stats.chisquare(steps).pvalue > 1e-4


def test_noise_is_drawn_evenly_over_each_channel_and_far_from_all_records(digits):
    canaries = plant(digits, 500, kind="noise").records
    assert canaries.x.dtype == digits.x.dtype
    assert canaries.x.min() == digits.x.min()
    assert canaries.x.max() == digits.x.max()
    assert canaries.name == "digits noise"

    def nearest(x, to):
        return np.sqrt(((x[:, None] - to[None]) ** 2).sum(axis=(2, 3, 4))).min(axis=1)

    x = digits.x.astype(np.float32)
    far = nearest(canaries.x[:100].astype(np.float32), x[200:])
    usual = nearest(x[:100], x[200:])
    assert far.min() > usual.max()


def test_noise_keeps_to_the_range_of_each_feature():
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(-5, -4, 50), np.full(50, 7.0), rng.uniform(0, 1, 50)], axis=1)
    found = plant(Records("table", x, np.arange(50) % 2, 2), 200, kind="noise").records.x
    assert (found.min(axis=0) >= x.min(axis=0)).all()
    assert (found.max(axis=0) <= x.max(axis=0)).all()
    assert (found[:, 1] == 7).all()
    bits = Records("bits", rng.random((50, 6)) < 0.5, np.arange(50) % 2, 2)
    assert plant(bits, 100, kind="noise").records.x.dtype == bool


def test_the_other_records_stay_as_dealt(digits):
    train = digits.take(np.arange(300))
    canaries = plant(digits.take(np.arange(300, 500)), 100)
    planted = canaries.among(train)
    assert_array_equal(planted.x[:300], train.x)
    assert_array_equal(planted.y[:300], train.y)
    assert_array_equal(planted.index[:300], train.index)
    own = canaries.records.take(canaries.is_in)
    assert_array_equal(planted.x[300:], own.x)
    assert_array_equal(planted.y[300:], own.y)
    # A side may be made of them, and the OUT canaries are among its non-members.
    assert len(Side(train=planted, test=canaries.records.take(~canaries.is_in)).train) > 300
    nobody = replace(canaries, is_in=np.zeros(100, bool))
    assert nobody.among(train) is train


def test_canaries_from_the_training_set_are_refused(digits):
    canaries = plant(digits.take(np.arange(200)), 100)
    with pytest.raises(ValueError, match="training set and the canaries share 100 records"):
        canaries.among(digits.take(np.arange(300)))


def test_canaries_of_another_task_are_refused(digits):
    canaries = plant(digits.take(np.arange(200)), 100)
    rest = digits.take(np.arange(300, 500))
    for wrong in (
        replace(rest, x=rest.x.reshape(200, -1)),
        replace(rest, scale=(3.0,)),
        replace(rest, classes=11),
    ):
        with pytest.raises(ValueError, match="Make them from the same dataset"):
            canaries.among(wrong)
    with pytest.raises(ValueError, match="among Records, found ndarray"):
        canaries.among(rest.x)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda records: plant(records.x, 3), "made from Records, found ndarray"),
        (lambda records: plant(records, 0), "n must be a whole number"),
        (lambda records: plant(records, 10**9), "n must be a whole number"),
        (lambda records: plant(records, 61), "61 canaries cannot be made .* 60 records"),
        (lambda records: plant(records, 3, kind="mislabeled"), "did you mean 'mislabelled'"),
        (lambda records: plant(records, 3, seed=-1), "seed must be a whole number"),
        (lambda records: plant(one_class(records), 3), "at least two classes, found one"),
    ],
)
def test_what_cannot_be_planted_is_said(digits, call, words):
    with pytest.raises(ValueError, match=words):
        call(digits.take(np.arange(60)))


def one_class(records):
    return Records("one", records.x, np.zeros(len(records), int), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_memorises_gives_its_canaries_away(digits, kind):
    """A null game beside it: the same canaries, none of which was planted."""
    train = digits.take(np.arange(400))
    canaries = plant(digits.take(np.arange(400, 800)), 200, kind=kind, seed=1)
    recipe = Recipe(epochs=60, batch_size=32, lr=0.05)
    areas = {}
    for name, members in (("planted", canaries.among(train)), ("without", train)):
        model = models.build("mlp", shape=train.x.shape[1:], classes=10, widths=(256,), seed=1)
        fit(model, members, recipe, device="cpu")
        signals = ask_about(model, canaries.records)
        areas[name] = metrics.auc(-signals.loss(), canaries.is_in)
    assert areas["planted"] > 0.95
    assert abs(areas["without"] - 0.5) < 0.13
