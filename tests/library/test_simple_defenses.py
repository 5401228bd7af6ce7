"""The simple defenses: nothing at strength 0, a formula by hand at any other, and the best epoch
kept.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn
from torch.nn import functional as F

from mialib import models, runs
from mialib.defenses import (
    DEFENSES,
    L1,
    L2,
    ConfidencePenalty,
    Dropout,
    EarlyStopping,
    LabelSmoothing,
    LossGap,
    Plain,
)
from mialib.query import predict, to_device
from mialib.training import Recipe, fit

TINY = Recipe(epochs=2, batch_size=16, lr=0.05)
ONE = Recipe(epochs=1, batch_size=60, lr=0.1, momentum=0.0, weight_decay=0.0)
STRENGTHS = {
    L1: 0.01,
    L2: 0.1,
    Dropout: 0.5,
    LabelSmoothing: 0.3,
    ConfidencePenalty: 0.5,
    LossGap: 0.4,
}


pytestmark = pytest.mark.usefixtures("one_thread")


def network():
    """Two hidden layers, and a dropout of its own that draws from the same generator as a defense
    would.
    """
    built = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12, 8))
    built.features.insert(3, nn.Dropout(0.1))
    return built


def trained(members, defense, recipe=TINY, *, model=None, **options):
    model = model or network()
    fit(model, members, recipe, defense=defense, device="cpu", **options)
    return model.state_dict()


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in second)


# ---------------------------------------------------------------- strength


@pytest.mark.parametrize("make", STRENGTHS)
def test_strength_zero_is_plain_training_bit_for_bit(members, others, make):
    plain = trained(members, Plain())
    assert same(trained(members, make(0.0), inference=others), plain)
    assert not same(trained(members, make(STRENGTHS[make]), inference=others), plain)


@pytest.mark.parametrize("make", STRENGTHS)
@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "0.1", None])
def test_a_strength_that_is_no_number_from_zero_is_refused(make, bad):
    with pytest.raises(ValueError, match=f"^{make.strength_field} must be a number"):
        make(bad)


@pytest.mark.parametrize("make", [Dropout, LabelSmoothing, LossGap])
def test_a_share_above_one_is_refused(make):
    with pytest.raises(ValueError, match=f"^{make.strength_field} must be a number in 0"):
        make(1.1)


def test_every_defense_can_be_named():
    assert {make.__name__ for make in STRENGTHS} < set(DEFENSES)
    assert all(DEFENSES[name].__name__ == name for name in DEFENSES)


# ---------------------------------------------------------------- each against its formula


def by_hand(members, loss, *, others=None):
    """One step of 0.1 down the gradient of `loss(model, x, y, …)`, on the batch and the draws that
    `fit` makes.
    """
    model = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12, 8)).train()
    x, y = to_device(members, torch.device("cpu"))
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        more = to_device(others, torch.device("cpu")) if others is not None else ()
        gradients = torch.autograd.grad(
            loss(model, x[order], y[order], *more), list(model.parameters())
        )
    pairs = zip(model.named_parameters(), gradients, strict=True)
    return {name: (value - 0.1 * gradient).detach() for (name, value), gradient in pairs}


def cross_entropy(model, x, y):
    log_p = model(x).log_softmax(dim=1)
    return -log_p[torch.arange(len(y)), y].mean()


def l1(model, x, y):
    return cross_entropy(model, x, y) + 0.01 * sum(
        value.abs().sum() for value in model.parameters()
    )


def l2(model, x, y):
    return cross_entropy(model, x, y) + 0.1 / 2 * sum(
        (value**2).sum() for value in model.parameters()
    )


def dropout(model, x, y):
    features = model.features(x)
    kept = torch.empty_like(features).bernoulli_(0.5)
    return F.cross_entropy(model.classify(features * kept / 0.5), y)


def smoothing(model, x, y):
    wanted = torch.full((len(y), 10), 0.3 / 9)
    wanted[torch.arange(len(y)), y] = 0.7
    return -(wanted * model(x).log_softmax(dim=1)).sum(dim=1).mean()


def confidence(model, x, y):
    p = model(x).softmax(dim=1)
    entropy = -(p * p.log()).sum(dim=1).mean()
    return cross_entropy(model, x, y) - 0.5 * entropy


def loss_gap(model, x, y, other_x, other_y):
    member_loss = cross_entropy(model, x, y)
    other_loss = cross_entropy(model, other_x, other_y)
    return (1 - 0.4) * member_loss + 0.4 * abs(member_loss - other_loss)


FORMULAS = {
    L1: l1,
    L2: l2,
    Dropout: dropout,
    LabelSmoothing: smoothing,
    ConfidencePenalty: confidence,
}


@pytest.mark.parametrize("make", FORMULAS)
def test_a_step_goes_down_the_formula(members, make):
    model = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12, 8))
    found = trained(members, make(STRENGTHS[make]), ONE, model=model)
    expected, plain = (by_hand(members, loss) for loss in (FORMULAS[make], cross_entropy))
    for name, value in expected.items():
        assert_allclose(found[name], value, atol=1e-6, err_msg=name)
    assert max((expected[name] - plain[name]).abs().max() for name in plain) > 5e-4


@pytest.mark.parametrize("swapped", [False, True])
def test_the_loss_gap_is_its_formula_on_either_side_of_zero(members, others, swapped):
    """As many records on both sides; one of the two orders makes the members' loss the larger."""
    trained_on = members.take(np.arange(50))
    tuned_on = others
    if swapped:
        trained_on, tuned_on = tuned_on, trained_on
    model = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12, 8))
    found = trained(trained_on, LossGap(0.4), ONE, model=model, inference=tuned_on)
    for name, value in by_hand(trained_on, loss_gap, others=tuned_on).items():
        assert_allclose(found[name], value, atol=1e-6, err_msg=name)


def test_the_loss_gap_needs_non_members(members):
    with pytest.raises(ValueError, match="no inference set"):
        trained(members, LossGap(0.1))


def test_l2_comes_on_top_of_the_recipe(members):
    found = trained(members, L2(0.02), replace(TINY, weight_decay=0.01))
    assert same(found, trained(members, Plain(), replace(TINY, weight_decay=0.03)))


def test_dropout_ends_with_training(members):
    model = network()
    trained(members, Dropout(0.9), model=model)
    assert_array_equal(predict(model, members), predict(model, members))
    assert [type(layer) for layer in model.modules()] == [
        type(layer) for layer in network().modules()
    ]


@pytest.mark.parametrize("epsilon", [0.5, 0.9])
def test_smoothing_may_go_as_far_as_all_classes_alike(members, epsilon):
    """With ε = (C − 1) / C, all ten classes are wanted alike; the loss does not depend on the
    labels.
    """
    shuffled = replace(members, y=members.y[::-1].copy())
    pair = [trained(records, LabelSmoothing(epsilon), ONE) for records in (members, shuffled)]
    apart = max((pair[0][name] - pair[1][name]).abs().max().item() for name in pair[0])
    assert (apart < 1e-6) == (epsilon == 0.9)


def test_smoothing_beyond_all_classes_alike_is_explained(members):
    with pytest.raises(ValueError, match=r"epsilon must be a number in 0 … 0\.9, found 0\.95"):
        trained(members, LabelSmoothing(0.95), ONE)


# ---------------------------------------------------------------- early stopping

LONG = Recipe(epochs=30, batch_size=16, lr=0.2, schedule="constant")


@pytest.fixture(scope="module")
def noisy(members):
    """Members of which many have a wrong label, so that fitting them hurts soon."""
    y = np.random.default_rng(0).permutation(members.y)
    return replace(members, y=np.where(np.arange(60) % 3 == 0, members.y, y))


def normalised():
    torch.manual_seed(1)
    features = [nn.Flatten(), nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU()]
    return models.Network(nn.Sequential(*features), nn.Linear(24, 10))


@pytest.fixture(scope="module")
def watched(noisy, others):
    """Plain training: the validation loss and the weights after each epoch."""
    losses, states = [], []
    x, y = to_device(others, torch.device("cpu"))

    def look(model, epoch):
        model.eval()
        with torch.no_grad():
            losses.append(cross_entropy(model, x, y).item())
        states.append({name: value.clone() for name, value in model.state_dict().items()})

    fit(normalised(), noisy, LONG, device="cpu", on_epoch=look)
    return losses, states


@pytest.mark.parametrize("patience", [1, 3, 6, 30])
def test_early_stopping_keeps_exactly_the_weights_of_the_best_epoch(
    noisy, others, watched, patience
):
    losses, states = watched
    best = 0
    for last in range(30):  # by hand: the first epoch that is `patience` after the lowest so far
        best = last if losses[last] < losses[best] else best
        if last - best == patience:
            break
    model = normalised()
    history = fit(
        model, noisy, LONG, defense=EarlyStopping(patience), validation=others, device="cpu"
    )
    assert len(history) == last + 1
    assert same(model.state_dict(), states[best])
    assert best < last


def test_the_last_look_is_at_the_weights_that_are_kept(noisy, others, watched):
    seen = []

    def look(model, epoch):
        seen.append({name: value.clone() for name, value in model.state_dict().items()})

    model = normalised()
    fit(
        model, noisy, LONG, defense=EarlyStopping(2), validation=others, device="cpu", on_epoch=look
    )
    assert same(seen[-1], model.state_dict())
    assert same(seen[-2], watched[1][len(seen) - 2])  # The looks before are at each epoch's own.
    assert not same(seen[-1], watched[1][len(seen) - 1])


@pytest.mark.parametrize("trace", [0, 2])
def test_a_run_that_stops_early_tells_of_the_weights_that_it_keeps(tiny, store, trace):
    changes = {"validation": 0.3, "recipe": replace(LONG, lr=0.5), "trace": trace}
    run = runs.get(tiny.but(defense=EarlyStopping(1), **changes), store=store)
    assert 1 < len(run.history) < 30
    logits = np.concatenate(
        [predict(run.load_model(), part) for part in (run.side.train, run.side.test)]
    )
    assert_allclose(run.signals.logits, logits, atol=1e-4)
    losses = run.signals.loss()
    gap = losses[~run.signals.is_member].mean() - losses[run.signals.is_member].mean()
    assert run.history[-1]["loss_gap"] == run.metrics["loss_gap"] == pytest.approx(gap)
    assert run.metrics["accuracy"]["test"] == run.signals.correct()[~run.signals.is_member].mean()
    if trace:
        assert_allclose(run.losses_by_epoch[-1], losses, atol=1e-4)
        assert run.traced[-1]["epoch"] == run.history[-1]["epoch"]


def test_early_stopping_without_validation_is_explained(members, tiny, store):
    with pytest.raises(
        ValueError, match=r"needs validation records, found none.*Configuration\(validation=0\.1\)"
    ):
        trained(members, EarlyStopping())
    with pytest.raises(ValueError, match="needs validation records"):
        runs.get(tiny.but(defense=EarlyStopping()), store=store)


@pytest.mark.parametrize("patience", [0, -1, 1.5, math.nan])
def test_a_patience_of_less_than_one_epoch_is_refused(patience):
    with pytest.raises(ValueError, match="patience must be a whole number"):
        EarlyStopping(patience)


def test_a_validation_loss_that_is_no_number_ends_with_the_first_weights(members, others):
    """The members' loss stays finite: only the validation records overflow."""
    far = replace(others, x=np.full(others.x.shape, 1e38, np.float32), shift=(0.0,), scale=(0.3,))
    recipe = replace(TINY, epochs=9, schedule="constant")
    found, expected = normalised(), normalised()
    history = fit(found, members, recipe, defense=EarlyStopping(1), validation=far, device="cpu")
    trained(members, Plain(), replace(recipe, epochs=1), model=expected)
    assert len(history) == 2
    assert np.isnan(predict(expected, far)).any()
    assert same(found.state_dict(), expected.state_dict())
