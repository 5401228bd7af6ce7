"""Pruning and butterflies: bad input that would pass in silence, or fail far from its cause."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from mialib.sparsity.butterfly import (
    ButterflyConv2d,
    ButterflyLinear,
    butterfly,
    convert,
    projected,
)
from mialib.sparsity.chains import Factor, check, smallest, square
from mialib.sparsity.magnitude import hold, masks, smallest_pruned


def network():
    return nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))


@pytest.mark.parametrize("share", [-0.1, 1.5, math.nan, math.inf, None, "a"])
def test_a_share_outside_zero_and_one_is_refused(share):
    with pytest.raises(ValueError, match="share must be a number in 0 … 1, found"):
        smallest_pruned(network(), share)


def test_equal_weights_go_together_and_so_may_leave_nothing():
    model = network()
    for parameter in model.parameters():
        parameter.data.fill_(1.0)
    with pytest.raises(ValueError, match="leaves none"):
        smallest_pruned(model, 0.2)
    assert smallest_pruned(model, 0)["0"].all()


@pytest.mark.parametrize(
    "change", [lambda mask: 0.5 * mask, lambda mask: math.nan * mask, torch.Tensor.numpy]
)
def test_a_mask_that_is_not_true_or_false_is_refused(change):
    model = network()
    with pytest.raises(ValueError, match="must be a tensor of True and False, found"):
        hold(model, {name: change(mask) for name, mask in masks(model).items()})
    assert set(model.state_dict()) == set(network().state_dict())


def test_numpys_numbers_are_sizes_too():
    assert square(np.int64(8)) == square(8)


@pytest.mark.parametrize(
    "sizes",
    [(4, 4, 0, 4, 1), (4, 4, 4, 0, 1), (4, 4, 4, 4, 0), (4, 4, -4, -4, -1), (0, 0, 1, 1, 1)],
)
def test_a_factor_of_no_size_is_refused(sizes):
    with pytest.raises(ValueError, match="Factor 1 must have sizes of at least 1, found"):
        check((Factor(*sizes),), rows=4, columns=4)


@pytest.mark.parametrize("second", [nn.Conv2d(4, 3, 3), nn.Conv2d(4, 4, 3, groups=2)])
def test_a_network_is_changed_as_a_whole_or_not_at_all(second):
    model = nn.Sequential(nn.Conv2d(4, 4, 3), second)
    with pytest.raises(ValueError, match=r"No chain|groups"):
        convert(model, 2)
    assert [type(layer) for layer in model] == [nn.Conv2d] * 2


def test_padding_by_anything_but_zeros_is_refused():
    with pytest.raises(ValueError, match="padding_mode='zeros' can change, found 'circular'"):
        butterfly(nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"), 2)


def test_a_projection_in_double_precision_is_not_rounded():
    dense = nn.Linear(16, 16).double()
    dense.weight.data = ButterflyLinear(smallest(16, 16, 2)).double().dense().detach()
    assert (butterfly(dense, 2, project=True).dense() - dense.weight).abs().max() < 1e-14


def test_a_kernel_that_does_not_fit_the_columns_is_refused():
    with pytest.raises(
        ValueError, match=r"channels × places of the kernel; found 18 columns for \(5, 5\)"
    ):
        ButterflyConv2d(smallest(4, 18, 2), kernel_size=(5, 5))


def test_masks_that_prune_everything_are_refused():
    model = network()
    with pytest.raises(ValueError, match="These masks leave no weight"):
        hold(model, {name: torch.zeros_like(mask) for name, mask in masks(model).items()})
    assert set(model.state_dict()) == set(network().state_dict())


def test_a_weight_that_torch_makes_anew_is_not_taken_for_a_shared_one():
    model = nn.Sequential(
        *(nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)) for _ in range(6))
    )
    assert len(masks(model)) == 6
    convolutions = nn.Sequential(
        *(nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 4, 3)) for _ in range(6))
    )
    assert [type(layer) for layer in convert(convolutions, 2)] == [ButterflyConv2d] * 6


@pytest.mark.parametrize(
    "layer", [nn.Conv1d(4, 4, 3), nn.Embedding(4, 4)], ids=["Conv1d", "Embedding"]
)
def test_only_convolutions_of_images_and_linear_layers_become_butterflies(layer):
    with pytest.raises(
        ValueError,
        match=f"Only Conv2d and Linear can become butterflies, found {type(layer).__name__}",
    ):
        butterfly(layer, 2)


@pytest.mark.parametrize("model", [None, "resnet20", 3])
def test_what_is_no_network_is_refused(model):
    for function in (masks, lambda one: smallest_pruned(one, 0.2), lambda one: hold(one, {})):
        with pytest.raises(ValueError, match="Expected a torch module to prune, found"):
            function(model)
    with pytest.raises(ValueError, match="Expected a torch module and a part of it to change"):
        convert(model, 2)


@pytest.mark.parametrize("matrix", [None, np.eye(8), torch.zeros(8), torch.zeros(2, 8, 8)])
def test_what_is_no_matrix_is_not_projected(matrix):
    with pytest.raises(ValueError, match=r"Expected a matrix as a tensor \(rows, columns\)"):
        projected(matrix, square(8))
