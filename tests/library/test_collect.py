"""Asking a model for its logits leaves it as it was, and lists members before non-members."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mialib import models, splits
from mialib.query import collect, predict


@pytest.fixture
def resnet(digits):
    """A network whose BatchNorm and Dropout give other logits in training mode."""
    network = models.build("resnet20", shape=digits.x.shape[1:], classes=10, width=2)
    network.features.append(torch.nn.Dropout(0.5))
    return network


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
    with pytest.raises(ValueError, match="could not be asked"):
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
    assert_array_equal(table.members().record_index, side.train.index)
    assert_array_equal(table.non_members().record_index, side.test.index)
    assert_array_equal(table.labels, digits.y[table.record_index])
    assert_array_equal(table.members().logits, predict(resnet.eval(), side.train))
