"""Which epoch a training ends with: the first with the most right validation records, or one that
is given.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from mialib import runs
from mialib.configurations import describe, parse
from mialib.defenses import DEFENSES, BestCheckpoint, EarlyStopping, Plain, Stop
from mialib.query import predict
from mialib.signals import Signals
from mialib.training import Recipe, fit
from small_networks import normalised

pytestmark = pytest.mark.usefixtures("one_thread")

LONG = Recipe(epochs=15, batch_size=16, lr=0.1)


def steady():
    return normalised(dropout=0.0)


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(found, expected):
    return set(found) == set(expected) and all(
        torch.equal(found[name], value) for name, value in expected.items()
    )


@pytest.fixture(scope="module")
def few(others):
    """So few that several epochs have the same accuracy."""
    return others.take(np.arange(12))


@pytest.fixture(scope="module")
def plain(members, few):
    """Plain training: the weights, accuracy and loss on the validation records after each epoch."""
    states, right, losses = [], [], []

    def look(model, epoch):
        logits = predict(model, few)
        right.append(int((logits.argmax(axis=1) == few.y).sum()))
        losses.append(float(Signals(logits, few.y).loss().mean()))
        states.append(state(model))

    fit(steady(), members, LONG, device="cpu", on_epoch=look)
    return states, right, losses


def stopped(members, defense, **options):
    model = steady()
    history = fit(model, members, LONG, defense=defense, device="cpu", **options)
    return model, history


# ---------------------------------------------------------------- the best epoch


def test_the_best_checkpoint_is_the_first_with_the_highest_accuracy(members, few, plain):
    states, right, losses = plain
    best = [epoch for epoch, one in enumerate(right) if one == max(right)]
    assert 0 < best[0] < best[-1]  # More than one is best, and the very first is not.
    assert losses.index(min(losses)) != best[0]  # The loss would choose another.
    model, history = stopped(members, BestCheckpoint(), validation=few)
    assert len(history) == 15
    assert same(state(model), states[best[0]])


def test_the_looks_before_the_last_are_at_each_epochs_own_weights(members, few, plain):
    states, right, _ = plain
    seen = []
    model = steady()
    options = {
        "validation": few,
        "device": "cpu",
        "on_epoch": lambda model, epoch: seen.append(state(model)),
    }
    fit(model, members, LONG, defense=BestCheckpoint(), **options)
    assert all(same(one, other) for one, other in zip(seen[:-1], states[:-1], strict=True))
    assert same(seen[-1], states[right.index(max(right))])


def test_looking_at_the_validation_records_does_not_change_the_steps(members, few):
    """Dropout draws and statistics are as without the look."""
    model, alone = normalised(dropout=0.5), normalised(dropout=0.5)
    last = []

    @dataclass(frozen=True)
    class Last(BestCheckpoint):
        def end_epoch(self, training):
            if training.epoch == 15:
                last.append(state(training.model))
            return super().end_epoch(training)

    fit(model, members, LONG, defense=Last(), validation=few, device="cpu")
    fit(alone, members, LONG, device="cpu")
    assert same(last[0], state(alone))


def test_early_stopping_still_goes_by_the_loss(members, few, plain):
    states, _, losses = plain
    model, _ = stopped(members, EarlyStopping(15), validation=few)
    assert same(state(model), states[losses.index(min(losses))])
    assert EarlyStopping() == EarlyStopping(patience=3)


def test_validation_records_that_are_all_wrong_end_with_the_first_epoch(members, few, plain):
    """No epoch is better than none: the first has the highest accuracy, 0."""
    seen = np.stack([predictions(one, few) for one in plain[0]])
    wrong = [next(k for k in range(10) if k not in seen[:, record]) for record in range(len(few))]
    model, _ = stopped(members, BestCheckpoint(), validation=replace(few, y=np.array(wrong)))
    assert same(state(model), plain[0][0])


def predictions(weights, records):
    model = steady()
    model.load_state_dict(weights)
    return predict(model, records).argmax(axis=1)


def test_a_run_with_the_best_checkpoint_tells_of_the_weights_that_it_keeps(tiny, store):
    best = tiny.but(defense=BestCheckpoint(), validation=0.3, recipe=replace(LONG, lr=0.5), trace=2)
    run = runs.get(best, store=store)
    logits = np.concatenate(
        [predict(run.load_model(), part) for part in (run.side.train, run.side.test)]
    )
    assert_allclose(run.signals.logits, logits, atol=1e-5)
    assert len(run.history) == 15
    validation = run.metrics["accuracy"]["validation"]
    assert (
        validation
        == (
            predict(run.load_model(), run.side.validation).argmax(axis=1) == run.side.validation.y
        ).mean()
    )
    last = runs.get(best.but(defense=Plain()), store=store)
    assert validation >= last.metrics["accuracy"]["validation"]


def test_the_best_checkpoint_without_validation_is_explained(members, tiny, store):
    with pytest.raises(
        ValueError,
        match=r"BestCheckpoint needs validation records, found none.*fit\(\.\.\., validation",
    ):
        stopped(members, BestCheckpoint())
    with pytest.raises(
        ValueError, match=r"needs validation records.*Configuration\(validation=0\.1\)"
    ):
        runs.get(tiny.but(defense=BestCheckpoint()), store=store)


# ---------------------------------------------------------------- an epoch that is given


@pytest.mark.parametrize("after", [1, 2, 7, 14])
def test_a_stopped_training_is_the_beginning_of_the_whole(members, plain, after):
    """The schedule is that of all epochs, so the rates are still high."""
    model, history = stopped(members, Stop(after))
    assert [epoch["epoch"] for epoch in history] == list(range(1, after + 1))
    assert same(state(model), plain[0][after - 1])


@pytest.mark.parametrize("after", [15, 16, 1000])
def test_a_stop_at_the_end_or_beyond_is_plain_training(members, plain, after):
    model, history = stopped(members, Stop(after))
    assert len(history) == 15
    assert same(state(model), plain[0][-1])


def test_a_stop_differs_from_a_shorter_schedule(members, plain):
    model = steady()
    fit(model, members, replace(LONG, epochs=7), device="cpu")
    assert not same(state(model), plain[0][6])


@pytest.mark.parametrize("trace", [0, 2, 3])
def test_a_stopped_run_tells_of_the_weights_that_it_keeps(tiny, store, trace):
    run = runs.get(tiny.but(defense=Stop(3), recipe=LONG, trace=trace), store=store)
    logits = np.concatenate(
        [predict(run.load_model(), part) for part in (run.side.train, run.side.test)]
    )
    assert len(run.history) == 3
    assert_allclose(run.signals.logits, logits, atol=1e-5)
    assert run.metrics["loss_gap"] == run.history[-1]["loss_gap"]
    if trace:
        assert [epoch["epoch"] for epoch in run.traced] == [*range(trace, 3, trace), 3]
        assert_allclose(run.losses_by_epoch[-1], run.signals.loss(), atol=1e-4)


@pytest.mark.parametrize("after", [0, -1, 1.5, math.nan, math.inf, None, "3"])
def test_a_stop_before_the_first_epoch_is_refused(after):
    with pytest.raises(ValueError, match="after must be a whole number, at least 1, found"):
        Stop(after)


def test_they_are_known_by_name_and_survive_their_json(tiny):
    for defense in (BestCheckpoint(), Stop(4), EarlyStopping(2)):
        assert DEFENSES[type(defense).__name__] is type(defense)
        configuration = tiny.but(defense=defense)
        assert parse(describe(configuration)) == configuration
    assert Stop() == Stop(after=10)
