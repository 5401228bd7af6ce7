"""The loss trajectory, on paths that end alike and differ on their way."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mialib import metrics, runs
from mialib.attacks import ATTACKS, LossTrajectory, MetricThreshold, game
from mialib.query import ask, loss_trajectory, predict
from mialib.signals import Signals

EPOCHS = np.arange(8)


def paths(seed, *, n=1000, rate=1.6):
    """The loss falls from 2.3 to about 0.05; that of members falls `rate` times as fast.

    The last loss is drawn anew for all alike, so it tells nothing.
    """
    rng = np.random.default_rng(seed)
    is_member = rng.permutation(n) < n // 2
    speed = 0.3 * np.where(is_member, rate, 1.0) * rng.lognormal(0, 0.3, n)
    falling = 2.3 * np.exp(-speed[:, None] * EPOCHS)
    trajectory = falling * rng.lognormal(0, 0.3, (n, len(EPOCHS)))
    p = np.exp(-rng.exponential(0.05, n))
    logits = np.stack([np.log(p), np.log1p(-p)], axis=1)
    return Signals(logits, np.zeros(n, int), is_member, extra={"trajectory": trajectory})


@pytest.fixture(scope="module")
def fitted():
    return LossTrajectory().fit(paths(1))


def test_the_path_betrays_members_whose_last_loss_does_not(fitted):
    target = paths(2)
    by_path = metrics.auc(fitted.score(target.public()), target.is_member)
    by_loss = metrics.auc(MetricThreshold("loss").fit(paths(1)).score(target), target.is_member)
    assert abs(by_loss - 0.5) < 0.06
    assert by_path > 0.75
    # What could be had: the mean of the logarithms, along the way.
    best = -np.log(target.column("trajectory")) @ EPOCHS
    assert by_path > metrics.auc(best, target.is_member) - 0.06


def test_equal_paths_betray_nobody():
    target = paths(2, rate=1.0)
    scores = LossTrajectory().fit(paths(1, rate=1.0)).score(target.public())
    assert abs(metrics.auc(scores, target.is_member) - 0.5) < 0.06


def test_the_scale_of_the_losses_changes_little(fitted):
    """Losses of hundreds, as early epochs have, neither drown the others nor upset the network."""
    target = paths(2)

    def stretched(signals):
        factors = np.where(EPOCHS == 0, 1000.0, 1.0)
        return replace(signals, extra={"trajectory": signals.column("trajectory") * factors})

    scores = LossTrajectory().fit(stretched(paths(1))).score(stretched(target))
    assert_allclose(scores, fitted.score(target), atol=0.01)


def test_a_checkpoint_that_says_nothing_is_no_obstacle():
    def flat(signals):
        return replace(signals, extra={"trajectory": np.ones((len(signals), 2))})

    assert np.isfinite(LossTrajectory().fit(flat(paths(1))).score(flat(paths(2)))).all()


def test_another_number_of_checkpoints_is_refused(fitted):
    target = paths(2)
    fewer = replace(target, extra={"trajectory": target.column("trajectory")[:, :5]})
    with pytest.raises(ValueError, match="losses at 8 and 5 checkpoints"):
        fitted.score(fewer)
    for wrong in (np.zeros(1000), np.zeros((1000, 0)), np.full((1000, 8), np.inf)):
        with pytest.raises(ValueError, match="one finite loss for each"):
            fitted.score(replace(target, extra={"trajectory": wrong}))


def test_the_trajectory_is_the_loss_under_every_checkpoint(tiny):
    run = runs.get(tiny)
    earlier = runs.get(tiny.but(recipe=replace(tiny.recipe, epochs=1))).load_model()
    last = run.load_model()
    records = run.side.test
    found = loss_trajectory((model for model in (earlier, last)), records)
    expected = [Signals(predict(model, records), records.y).loss() for model in (earlier, last)]
    assert_array_equal(found, np.stack(expected, axis=1))
    signals = ask(last, run.side, checkpoints=[earlier, last])
    assert signals.column("trajectory").shape == (len(signals), 2)
    assert_array_equal(signals.non_members().column("trajectory"), found)
    assert np.isfinite(game(signals, shadow=signals).scores(ATTACKS["trajectory"])).all()


def test_what_is_no_checkpoint_is_named(tiny):
    run = runs.get(tiny)
    for wrong in (run.load_model(), "model", 3):
        with pytest.raises(TypeError, match=r"models, one for each epoch"):
            loss_trajectory(wrong, run.side.test)
    with pytest.raises(ValueError, match="at least one checkpoint"):
        loss_trajectory([], run.side.test)
    with pytest.raises(TypeError, match="must be a torch module, found int"):
        loss_trajectory([3], run.side.test)
