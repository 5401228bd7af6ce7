"""The distance to the boundary by labels alone, on networks whose boundary is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from mialib import metrics, runs
from mialib.attacks import ATTACKS, game
from mialib.data import Records
from mialib.query import ask, boundary_distances, predict

SLACK = 1e-4  # of float32


class Linear(nn.Module):
    """Known planes; with `temper`, the size of the logits says nothing, only their order."""

    def __init__(self, weights, biases, *, temper=False):
        super().__init__()
        weights = np.asarray(weights, np.float32)
        self.layer = nn.Linear(weights.shape[1], len(weights))
        self.layer.load_state_dict(
            {"weight": torch.tensor(weights), "bias": torch.tensor(np.asarray(biases, np.float32))}
        )
        self.temper = temper
        self.points = 0

    def forward(self, x):
        self.points += len(x)
        logits = self.layer(x.flatten(1))
        if self.temper:
            size = 1 + 1000 * torch.sin(logits.sum(dim=1, keepdim=True)) ** 2
            return size * logits - 7 * size
        return logits


def half_space(seed, *, d, n=200, temper=False):
    """A network of two classes, records that it classifies rightly, and their true distances."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    normal = rng.normal(size=d)
    side = x @ normal + 0.2
    model = Linear([-normal / 2, normal / 2], [0.0, 0.2], temper=temper)
    records = Records("half", x, (side > 0).astype(int), 2)
    return model, records, np.abs(side) / np.linalg.norm(normal)


@pytest.mark.parametrize("d", [1, 2, 10, 64])
def test_a_distance_is_never_below_the_true_one(d):
    model, records, true = half_space(d, d=d)
    for rounds in (0, 1, 10):
        found = boundary_distances(model, records, rounds=rounds, seed=rounds).distance
        assert (found >= true * (1 - SLACK) - SLACK).all()


@pytest.mark.parametrize(("d", "rounds", "within"), [(2, 10, 1.02), (10, 10, 1.08), (10, 40, 1.03)])
def test_a_distance_is_near_the_true_one_after_enough_rounds(d, rounds, within):
    model, records, true = half_space(d, d=d)
    found = boundary_distances(model, records, rounds=rounds).distance
    assert np.median(found / true) < within


def test_more_rounds_and_probes_come_nearer_in_many_dimensions():
    model, records, true = half_space(3, d=64)
    start = boundary_distances(model, records, rounds=0).distance
    some = boundary_distances(model, records).distance
    many = boundary_distances(model, records, rounds=30, probes=60).distance
    assert np.median(start / true) > 3
    assert np.median(some / true) < 1.4
    assert np.median(many / true) < 1.1
    # The ranks, which are all that an attack reads, are right long before the distances.
    assert np.corrcoef(some, true)[0, 1] > 0.99


def test_several_classes_have_the_nearest_of_their_boundaries():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    weights = rng.normal(size=(5, 3))
    logits = x @ weights.T
    y = logits.argmax(axis=1)
    gaps = logits[np.arange(300), y][:, None] - logits
    apart = np.linalg.norm(weights[y][:, None] - weights, axis=2)
    true = np.min(gaps / np.where(apart > 0, apart, np.nan), axis=1, where=apart > 0, initial=9e9)
    found = boundary_distances(Linear(weights, np.zeros(5)), Records("five", x, y, 5)).distance
    assert (found >= true * (1 - SLACK) - SLACK).all()
    assert np.median(found / true) < 1.1


def test_labels_alone_are_read():
    plain = half_space(1, d=5)
    tempered = half_space(1, d=5, temper=True)
    assert not np.allclose(predict(plain[0], plain[1]), predict(tempered[0], plain[1]))
    by_plain = boundary_distances(*plain[:2]).distance
    by_tempered = boundary_distances(*tempered[:2]).distance
    assert_array_equal(by_plain, by_tempered)


def test_every_label_that_was_asked_for_is_counted():
    model, records, _ = half_space(1, d=5)
    found = boundary_distances(model, records)
    assert found.queries == model.points
    assert 250 < found.queries / len(records) < 320
    least = boundary_distances(model, records, rounds=0, steps=4)
    assert least.queries == len(records) * (1 + 1 + 4)


def test_a_record_that_is_classified_wrongly_has_none():
    model, records, _ = half_space(1, d=5)
    y = records.y.copy()
    y[:50] = 1 - y[:50]
    found = boundary_distances(model, replace(records, y=y)).distance
    assert (found[:50] == 0).all()
    assert (found[50:] > 0).all()
    assert (boundary_distances(model, replace(records, y=1 - records.y)).distance == 0).all()


def test_the_seed_decides_and_modes_and_generators_are_left_alone():
    model, records, _ = half_space(1, d=5)
    model.train()
    state = torch.get_rng_state()
    once = boundary_distances(model, records, seed=1).distance
    assert_array_equal(once, boundary_distances(model, records, seed=1).distance)
    assert not np.array_equal(once, boundary_distances(model, records, seed=2).distance)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training


def test_a_model_with_one_answer_has_no_boundary():
    model = Linear(np.zeros((2, 5)), [1.0, 0.0])
    _, records, _ = half_space(1, d=5)
    with pytest.raises(ValueError, match="all 200 records the label 0, so there is no boundary"):
        boundary_distances(model, records)


def test_images_are_walked_through_and_join_the_suite(tiny):
    run = runs.get(tiny)
    signals = ask(run.load_model(), run.side, boundary=True)
    distance = signals.column("boundary")
    assert distance.shape == (len(signals),)
    assert_array_equal(distance > 0, signals.correct())
    scores = game(signals, shadow=signals).scores(ATTACKS["boundary"])
    assert_allclose(scores, distance)


def test_a_boundary_that_members_are_far_from_is_found_out():
    """The attack is the threshold: members at 2, others at 1, told apart by labels alone."""
    n = 100
    is_member = np.arange(n) % 2 == 0
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    y = rng.integers(2, size=n)
    x[:, 0] = np.where(is_member, 2.0, 1.0) * np.where(y, 1, -1)
    model = Linear([[-1.0, 0.0], [1.0, 0.0]], [0.0, 0.0])
    found = boundary_distances(model, Records("members", x, y, 2)).distance
    assert metrics.auc(found, is_member) == 1
