"""What the attacker sees: losses, membership, the file, and a model that is left as it was."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional as F

from mialib import models, splits
from mialib.signals import Signals, collect, loss_gap, predict


@pytest.fixture
def signals(rng):
    n = 30
    return Signals(
        rng.normal(0, 3, (n, 4)),
        rng.integers(4, size=n),
        rng.random(n) < 0.5,
        rng.permutation(100)[:n],
    )


@pytest.fixture
def resnet(digits):
    """A network whose BatchNorm and Dropout give other logits in training mode."""
    network = models.build("resnet20", shape=digits.x.shape[1:], classes=10, width=2)
    network.features.append(torch.nn.Dropout(0.5))
    return network


# ---------------------------------------------------------------- what follows from the logits


@given(
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-1e4, 1e4, width=32)), st.integers(0, 2)
)
def test_loss_equals_torch(logits, label):
    labels = np.full(5, label)
    theirs = F.cross_entropy(
        torch.from_numpy(logits).double(), torch.from_numpy(labels), reduction="none"
    )
    assert_allclose(Signals(logits, labels).loss(), theirs, rtol=1e-9, atol=1e-9)


def test_correct_says_where_the_label_has_the_largest_logit():
    assert Signals(np.eye(3), np.array([0, 1, 0])).correct().tolist() == [True, True, False]


def test_loss_gap_is_the_non_members_mean_minus_the_members():
    logits = np.log([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])
    found = loss_gap(Signals(logits, np.zeros(3, int), np.array([True, False, False])))
    assert found == pytest.approx((2 + 3) / 2 * np.log(2) - np.log(2))


def test_members_and_non_members_are_the_rows_they_say(signals):
    members, others = signals.members(), signals.non_members()
    assert members.is_member.all()
    assert not others.is_member.any()
    assert len(members) + len(others) == len(signals)
    assert_array_equal(members.logits, signals.logits[signals.is_member])
    assert_array_equal(others.record, signals.record[~signals.is_member])


def test_public_signals_carry_no_membership(signals):
    public = signals.public()
    assert public.is_member is None
    assert_array_equal(public.logits, signals.logits)
    assert_array_equal(public.record, signals.record)


@pytest.mark.parametrize("question", [Signals.members, Signals.non_members, loss_gap])
def test_public_signals_say_that_membership_is_missing(signals, question):
    with pytest.raises(ValueError, match="do not say who is a member"):
        question(signals.public())


@pytest.mark.parametrize("table", ["full", "public"])
def test_a_file_gives_back_the_same_table(signals, tmp_path, table):
    written = signals if table == "full" else signals.public()
    written.save(tmp_path / "signals.npz")
    read = Signals.read(tmp_path / "signals.npz")
    for name, column in vars(written).items():
        assert_array_equal(getattr(read, name), column)


def test_a_file_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "signals.npz", logits=np.array([[{}]]), labels=np.array([0]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Signals.read(tmp_path / "signals.npz")


# ---------------------------------------------------------------- bad input

LOGITS, LABELS = np.zeros((3, 2)), np.array([0, 1, 0])


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ((np.zeros(3), LABELS), "logits"),
        ((np.zeros((2, 2)), LABELS), r"\(2, 2\) and \(3,\)"),
        ((np.zeros((0, 2)), LABELS[:0]), "n ≥ 1"),
        ((LOGITS, np.array(0)), "labels"),
        ((LOGITS, LABELS[:, None]), r"\(3, 1\)"),
        ((LOGITS, LABELS + 0.5), "integers, found an array of float64"),
        ((LOGITS, np.array(["a", "b", "a"])), "integers"),
        ((LOGITS, LABELS + 1), "from 1 to 2"),
        ((LOGITS, LABELS - 1), "from -1 to 0"),
        (
            (np.array([[0, np.nan], [0, 0], [0, 0]]), LABELS),
            "1 of 3 records have NaN or infinite logits",
        ),
        ((np.array([[0, 0], [np.inf, 0], [0, 0]]), LABELS), "the first is row 1"),
        ((np.array([["a", "b"]] * 3), LABELS), "real numbers"),
        ((LOGITS + 1j, LABELS), "real numbers"),
        ((LOGITS, LABELS, np.array([True])), r"is_member .* \(1,\)"),
        ((LOGITS, LABELS, np.array([1, 0, 1])), "is_member must be True or False"),
        ((LOGITS, LABELS, np.array([0.3, 0.0, 1.0])), "is_member must be True or False"),
        ((LOGITS, LABELS, None, np.arange(4)), r"record .* \(4,\)"),
    ],
)
def test_bad_tables_are_refused_with_a_reason(table, complaint):
    with pytest.raises(ValueError, match=complaint):
        Signals(*table)


def test_lists_serve_as_columns():
    assert loss_gap(Signals([[0.0, 0.0], [0.0, 0.0]], [0, 1], [True, False])) == 0


# ---------------------------------------------------------------- collecting from a model


def test_predict_leaves_modes_and_statistics_unchanged(resnet, digits):
    resnet.train()
    resnet.features[1].eval()  # A frozen BatchNorm inside a network that trains.
    modes = [module.training for module in resnet.modules()]
    before = {name: value.clone() for name, value in resnet.state_dict().items()}
    predict(resnet, digits)
    assert [module.training for module in resnet.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in resnet.state_dict().items())


def test_predict_gives_the_mode_back_when_the_model_fails(resnet, digits):
    resnet.train()
    resnet.classify = torch.nn.Linear(1, 10)
    with pytest.raises(RuntimeError):
        predict(resnet, digits)
    assert resnet.training


def test_predict_is_in_eval_mode_whatever_the_mode_was(resnet, digits):
    in_eval_mode = predict(resnet.eval(), digits)
    assert_array_equal(predict(resnet.train(), digits), in_eval_mode)
    with torch.no_grad():
        in_training_mode = resnet.train()(torch.from_numpy(digits.scaled())).numpy()
    assert np.abs(in_training_mode - in_eval_mode).max() > 0.01


def test_the_batch_size_does_not_matter(resnet, digits):
    assert_allclose(predict(resnet, digits, batch_size=7), predict(resnet, digits), atol=1e-5)


def test_collect_lists_the_members_and_then_the_non_members(resnet, digits):
    side = splits.six_parts(digits)["target"]
    table = collect(resnet.train(), side)
    assert_array_equal(table.members().record, side.train.index)
    assert_array_equal(table.non_members().record, side.test.index)
    assert_array_equal(table.labels, digits.y[table.record])
    assert_array_equal(table.members().logits, predict(resnet.eval(), side.train))
