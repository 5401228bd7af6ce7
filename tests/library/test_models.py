"""MLP, CNN and ResNet-20: sizes, the two steps, seeds that touch no global state."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from mialib import models

NETWORKS = {
    "mlp": {"widths": (8, 4)},
    "cnn": {"width": 2, "hidden": 8},
    "resnet20": {"width": 2},
}
NORMS = ("none", "batch", "group")
each = pytest.mark.parametrize("name", NETWORKS)


def tiny_network(name, seed=0):
    return models.build(name, shape=(1, 8, 8), classes=3, seed=seed, **NETWORKS[name])


def size(network):
    return sum(weight.numel() for weight in network.parameters())


def test_resnet20_has_the_parameters_of_the_paper():
    assert size(models.build("resnet20", shape=(3, 32, 32), classes=10)) == 272_474


@pytest.mark.parametrize("shape", [(1, 16, 16), (1, 8, 8), (3, 32, 32), (2, 5, 7)])
@pytest.mark.parametrize("norm", NORMS)
def test_the_cnn_takes_every_image_and_has_the_parameters_of_its_formula(shape, norm):
    channels, height, width = shape
    network = models.build("cnn", shape=shape, classes=10, norm=norm)
    first = 9 * channels * 16 + (16 if norm == "none" else 2 * 16)
    second = 9 * 16 * 32 + (32 if norm == "none" else 2 * 32)
    hidden = (32 * (height // 4) * (width // 4) + 1) * 128
    assert size(network) == first + second + hidden + 129 * 10
    x = torch.randn(3, *shape)
    assert network.features(x).shape == (3, 128)
    assert network(x).shape == (3, 10)


def test_the_layers_of_the_cnn_are_those_of_its_docstring():
    network = models.build("cnn", shape=(1, 16, 16), classes=10, width=4, hidden=20)
    kinds = [type(layer) for layer in network.features]
    convolution = [nn.Conv2d, nn.ReLU, nn.MaxPool2d]
    assert kinds == [*convolution, *convolution, nn.Flatten, nn.Linear, nn.ReLU]
    first, second = (layer for layer in network.features if isinstance(layer, nn.Conv2d))
    assert (first.out_channels, second.out_channels) == (4, 8)
    assert {first.kernel_size, second.kernel_size} == {(3, 3)}
    assert first.bias is not None
    assert network.classify.in_features == 20


@pytest.mark.parametrize(
    ("norm", "kind"), [("batch", nn.BatchNorm2d), ("group", nn.GroupNorm), ("none", type(None))]
)
def test_the_cnn_normalizes_as_it_is_told(norm, kind):
    network = models.build("cnn", shape=(1, 8, 8), classes=3, norm=norm)
    found = [
        layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d | nn.GroupNorm)
    ]
    assert [type(layer) for layer in found] == ([] if norm == "none" else [kind, kind])


@pytest.mark.parametrize(("norm", "alone"), [("none", True), ("group", True), ("batch", False)])
def test_only_batch_norm_lets_a_record_feel_its_batch(norm, alone):
    network = models.build("cnn", shape=(1, 8, 8), classes=3, norm=norm).train()
    x = torch.randn(3, 1, 8, 8)
    other = torch.cat([x[:1], 2 * x[1:]])
    assert torch.allclose(network(x)[0], network(other)[0], atol=1e-5) is alone


def test_the_mlp_has_the_widths_of_the_paper():
    network = models.build("mlp", shape=(600,), classes=100)
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    assert [layer.in_features for layer in layers] == [600, 1024, 512, 256, 128]
    assert layers[-1].out_features == 100
    assert sum(isinstance(layer, nn.Tanh) for layer in network.modules()) == 4


@pytest.mark.parametrize("widths", [(), (5,), (7, 5)])
def test_the_mlp_takes_any_widths(widths):
    sizes = [4, *widths, 3]
    expected = sum(before * after + after for before, after in pairwise(sizes))
    assert size(models.build("mlp", shape=(4,), classes=3, widths=widths)) == expected


@each
def test_features_then_classify_is_forward(name):
    network, x = tiny_network(name).eval(), torch.randn(5, 1, 8, 8)
    features = network.features(x)
    assert features.ndim == 2
    assert torch.equal(network.classify(features), network(x))
    assert network(x).shape == (5, 3)


@each
def test_the_seed_alone_decides_the_weights(name):
    first = tiny_network(name).state_dict()
    torch.rand(7)  # Something else draws in between.
    again, other = tiny_network(name).state_dict(), tiny_network(name, seed=1).state_dict()
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@each
def test_building_leaves_the_global_generator_alone(name):
    before = torch.random.get_rng_state()
    tiny_network(name)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("name", "calls"), [("resnet20", 40), ("cnn", 9)])
def test_no_layer_works_in_place(name, calls):
    network, x = tiny_network(name), torch.randn(2, 1, 8, 8)
    inputs = []
    for module in network.modules():
        module.register_forward_pre_hook(
            lambda module, args: inputs.append((args[0], args[0].clone()))
        )
    network(x)
    assert len(inputs) > calls
    assert all(torch.equal(given, copy) for given, copy in inputs)


@each
def test_records_of_another_shape_fail(name):
    with pytest.raises(RuntimeError, match=r"shape|channels"):
        tiny_network(name)(torch.randn(5, 2, 8, 8))


def test_a_convolution_on_records_that_are_no_images_is_refused():
    with pytest.raises(ValueError, match=r"resnet20 needs records of shape .* found \(600,\)"):
        models.build("resnet20", shape=(600,), classes=100)


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(ValueError, match="no model 'resnet-20'; did you mean 'resnet20'"):
        models.build("resnet-20", shape=(1, 8, 8), classes=3)
