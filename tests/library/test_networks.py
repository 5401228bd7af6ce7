"""The networks of the papers: sizes, features, GroupNorm variants and per-record gradients.

The MLP, the CNN and the ResNet-20 as the course trains them are tested in test_models.py.
"""

from functools import cache
from itertools import pairwise

import pytest
import torch
import torchvision
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from mialib import models

SMALL, LARGE = (3, 32, 32), (3, 224, 224)

# Name, options, dimension of the features, side of what reaches the last pool (from 32×32).
NETWORKS = {
    "resnet20": ("resnet20", {}, 64, 8),
    "resnet20 group": ("resnet20", {"norm": "group"}, 64, 8),
    "resnet18": ("resnet18", {}, 512, 4),
    "resnet18 group": ("resnet18", {"norm": "group"}, 512, 4),
    "resnet18 imagenet": ("resnet18", {"stem": "imagenet"}, 512, 1),
    "resnet18 imagenet group": ("resnet18", {"stem": "imagenet", "norm": "group"}, 512, 1),
    "vgg11": ("vgg11", {}, 512, 1),
    "vgg11 group": ("vgg11", {"norm": "group"}, 512, 1),
    "densenet121": ("densenet121", {}, 1024, 1),
    "densenet3": ("densenet3", {}, 405, 8),
    "googlenet": ("googlenet", {}, 1024, 4),
    "googlenet group": ("googlenet", {"norm": "group"}, 1024, 4),
}
GROUPED = [key for key, (_, options, _, _) in NETWORKS.items() if options.get("norm") == "group"]


@cache
def network(key: str) -> models.Network:
    name, options, _, _ = NETWORKS[key]
    return models.build(name, shape=SMALL, classes=10, **options)


def images(n: int, shape=SMALL) -> torch.Tensor:
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(0))


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


# Parameter counts


@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize("name", ["resnet18", "densenet121"])
def test_imagenet_networks_have_torchvisions_parameters(name, classes):
    options = {"stem": "imagenet"} if name == "resnet18" else {}
    reference = torchvision.models.get_model(name, num_classes=classes)
    assert count(models.build(name, shape=SMALL, classes=classes, **options)) == count(reference)


@pytest.mark.parametrize(("key", "expected"), [("resnet20", 272_474), ("densenet3", 1_020_550)])
def test_counts_that_the_papers_pin_down(key, expected):
    assert count(network(key)) == expected


def test_the_cifar_stem_only_shrinks_the_first_kernel():
    assert (
        count(network("resnet18 imagenet")) - count(network("resnet18")) == (7 * 7 - 3 * 3) * 3 * 64
    )


def test_vgg11_count_by_formula():
    widths = [3, 64, 128, 256, 256, 512, 512, 512, 512]
    convolutions = sum(9 * a * b + b for a, b in pairwise(widths))
    norms, hidden, last = 2 * sum(widths[1:]), 2 * (512 * 512 + 512), 512 * 10 + 10
    assert count(network("vgg11")) == convolutions + norms + hidden + last


def test_googlenet_differs_from_torchvisions_by_stem_and_second_3x3():
    reference = torchvision.models.GoogLeNet(num_classes=10, aux_logits=False, init_weights=False)
    stem = (3 * 3 - 7 * 7) * 3 * 64 + (3 * 3 - 1) * 64 * 64
    second = sum(9 * five**2 + 2 * five for five in (32, 96, 48, 64, 64, 64, 128, 128, 128))
    assert count(network("googlenet")) == count(reference) + stem + second


@pytest.mark.parametrize("key", GROUPED)
def test_group_norm_has_as_many_parameters_as_batch_norm(key):
    assert count(network(key)) == count(network(key.removesuffix(" group")))


# Shapes


@pytest.mark.parametrize("key", NETWORKS)
def test_features_then_logits(key):
    _, _, dimension, side = NETWORKS[key]
    net, pooled = network(key).eval(), []
    (pool,) = [m for m in net.modules() if isinstance(m, nn.AdaptiveAvgPool2d)]
    handle = pool.register_forward_hook(
        lambda _, inputs, output: pooled.append(inputs[0].shape[2:])
    )
    with torch.no_grad():
        features = net.features(images(2))
        handle.remove()
        logits = net(images(2))
    assert features.shape == (2, dimension)
    assert pooled == [(side, side)]
    assert logits.shape == (2, 10)
    torch.testing.assert_close(logits, net.classify(features))


@pytest.mark.parametrize("key", ["resnet18 imagenet", "densenet121"])
def test_imagenet_networks_take_large_images(key):
    with torch.no_grad():
        assert network(key).eval()(images(1, LARGE)).shape == (1, 10)


@pytest.mark.parametrize("name", ["cnn", "resnet20", "resnet18", "vgg11", "densenet3", "googlenet"])
def test_grey_images(name):
    net = models.build(name, shape=(1, 32, 32), classes=3).eval()
    assert net(torch.zeros(1, 1, 32, 32)).shape == (1, 3)


def test_vgg_features_are_the_second_hidden_layer_before_relu():
    net = network("vgg11").eval()
    kinds = [type(layer) for layer in list(net.features)[-5:]]
    assert kinds == [nn.Dropout, nn.Linear, nn.ReLU, nn.Dropout, nn.Linear]
    with torch.no_grad():
        features = net.features(images(2))
        assert features.min() < 0
        torch.testing.assert_close(net.classify(features), net.classify(F.relu(features)))


def test_googlenet_halves_the_image_before_blocks_1_3_and_8():
    x, sides = images(1), []
    with torch.no_grad():
        for layer in network("googlenet").eval().features:
            x = layer(x)
            if hasattr(layer, "branch1"):  # an Inception block
                sides.append(x.shape[-1])
    assert sides == [16, 16, 8, 8, 8, 8, 8, 4, 4]


def test_googlenets_dropout_comes_after_the_features():
    assert not any(isinstance(m, nn.Dropout) for m in network("googlenet").features.modules())
    assert network("googlenet").classify[0].p == 0.4


# Weights


@pytest.mark.parametrize("name", ["resnet18", "densenet121"])
def test_pretrained_takes_torchvisions_features_and_a_new_classifier(monkeypatch, name):
    torch.manual_seed(1)
    reference = torchvision.models.get_model(name).train()
    reference(
        images(2, (3, 64, 64))
    )  # Moves the running statistics, so that they are seen to be copied too.
    weights = reference.state_dict()
    monkeypatch.setattr(
        torchvision.models.WeightsEnum, "get_state_dict", lambda *_, **__: dict(weights)
    )
    options = {"stem": "imagenet"} if name == "resnet18" else {}
    network = models.build(name, shape=SMALL, classes=1000, pretrained=True, **options).eval()
    head = "fc" if name == "resnet18" else "classifier"
    assert not torch.equal(network.classify.weight, getattr(reference, head).weight)
    setattr(reference, head, nn.Identity())
    with torch.no_grad():
        torch.testing.assert_close(network.features(images(2)), reference.eval()(images(2)))


def test_resnet20_draws_its_weights_in_the_order_that_stored_runs_rely_on():
    net = models.build("resnet20", shape=(1, 16, 16), classes=10, width=8, seed=3)
    torch.manual_seed(3)
    expected = [nn.Conv2d(1, 8, 3, bias=False)]
    for before, after in (
        (8, 8),
        (8, 8),
        (8, 8),
        (8, 16),
        (16, 16),
        (16, 16),
        (16, 32),
        (32, 32),
        (32, 32),
    ):
        expected += [
            nn.Conv2d(before, after, 3, bias=False),
            nn.Conv2d(after, after, 3, bias=False),
        ]
        if before != after:
            expected.append(nn.Conv2d(before, after, 1, bias=False))
    expected.append(nn.Linear(32, 10))
    found = [m for m in net.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    assert len(found) == len(expected)
    assert all(
        torch.equal(layer.weight, reference.weight)
        for layer, reference in zip(found, expected, strict=True)
    )
    assert "features.6.shortcut.1.running_var" in net.state_dict()


@pytest.mark.parametrize("key", NETWORKS)
def test_the_seed_alone_decides_the_weights(monkeypatch, key):
    name, options, _, _ = NETWORKS[key]

    def forbidden(*_):
        raise AssertionError("the GPUs' generators were seeded")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", forbidden)
    before = torch.get_rng_state()
    again = models.build(name, shape=SMALL, classes=10, seed=0, **options)
    other = models.build(name, shape=SMALL, classes=10, seed=1, **options)
    assert torch.equal(torch.get_rng_state(), before)
    for (parameter, mine), same, differs in zip(
        network(key).named_parameters(), again.parameters(), other.parameters(), strict=True
    ):
        assert torch.equal(mine, same), parameter
        # Norms start at 1 and 0, and some biases at 0, whatever the seed.
        assert mine.ndim == 1 or not torch.equal(mine, differs), parameter


@pytest.mark.parametrize("key", ["resnet18 imagenet", "vgg11", "densenet3"])
def test_he_initialisation(key):
    for conv in (m for m in network(key).modules() if isinstance(m, nn.Conv2d)):
        expected = (2 / (conv.kernel_size[0] ** 2 * conv.out_channels)) ** 0.5
        assert conv.weight.std().item() == pytest.approx(
            expected, rel=4 / conv.weight.numel() ** 0.5
        )
        assert conv.bias is None or not conv.bias.any()


@pytest.mark.parametrize("key", NETWORKS)
def test_every_parameter_gets_a_gradient(key):
    net = network(key).train()
    parameters = dict(net.named_parameters())
    torch.manual_seed(0)  # Dropout
    loss = F.cross_entropy(net(images(4)), torch.tensor([0, 1, 2, 3]))
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    without = [
        name
        for name, g in zip(parameters, gradients, strict=True)
        if not (g.isfinite().all() and g.any())
    ]
    assert without == []


# DP-SGD


class InPlace(TorchDispatchMode):
    """Lists the operations that change their input, such as relu_ or add_."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function._schema.is_mutable:
            self.found.append(str(function))
        return function(*args, **(kwargs or {}))


def in_place_operations(net: nn.Module) -> list[str]:
    with torch.no_grad(), InPlace() as mode:
        net.eval()(images(1))
    return mode.found


@pytest.mark.parametrize("key", NETWORKS)
def test_nothing_works_in_place(key):
    assert in_place_operations(network(key)) == []


def test_the_search_for_in_place_operations_finds_torchvisions():
    assert {"aten.relu_.default", "aten.add_.Tensor"} <= set(
        in_place_operations(torchvision.models.resnet18())
    )


@pytest.mark.parametrize("key", GROUPED)
def test_group_norm_replaces_every_batch_norm(key):
    def norms(net, kind):
        return sum(isinstance(m, kind) for m in net.modules())

    batch = nn.modules.batchnorm._BatchNorm
    assert norms(network(key), batch) == 0
    assert (
        norms(network(key), nn.GroupNorm) == norms(network(key.removesuffix(" group")), batch) > 0
    )


@pytest.mark.parametrize(("norm", "alone"), [("group", True), ("batch", False)])
@pytest.mark.parametrize("name", ["resnet20", "resnet18", "vgg11", "googlenet"])
def test_with_group_norm_a_record_does_not_feel_its_batch(name, norm, alone):
    options = {"dropout": 0.0} if name in ("vgg11", "googlenet") else {}
    net = models.build(name, shape=SMALL, classes=10, norm=norm, **options).train()
    with torch.no_grad():
        in_one, in_another = net(images(3)), net(torch.cat([images(3)[:1], 2 * images(3)[1:]]))
    assert torch.allclose(in_one[0], in_another[0], atol=1e-4) is alone


@pytest.mark.parametrize("width", [1, 2, 5, 6, 12, 16, 33])
def test_groups_divide_the_channels_and_hold_two_where_they_can(width):
    net = models.build("resnet20", shape=(1, 8, 8), classes=2, width=width, norm="group")
    norms = [m for m in net.modules() if isinstance(m, nn.GroupNorm)]
    assert len(norms) == 21
    for norm in norms:
        assert norm.num_channels % norm.num_groups == 0
        assert norm.num_channels == 1 or norm.num_channels >= 2 * norm.num_groups
    assert net(torch.zeros(1, 1, 8, 8)).shape == (1, 2)


def test_resnet18_has_the_32_groups_of_crl():
    assert {
        m.num_groups for m in network("resnet18 group").modules() if isinstance(m, nn.GroupNorm)
    } == {32}


def test_per_record_gradients_equal_one_record_at_a_time():
    net = models.build("resnet20", shape=(3, 16, 16), classes=10, width=8, norm="group").double()
    x, y = images(4, (3, 16, 16)).double(), torch.tensor([3, 1, 4, 1])
    weights = {name: p.detach() for name, p in net.named_parameters()}

    def loss(weights, record, label):
        return F.cross_entropy(functional_call(net, weights, (record[None],)), label[None])

    at_once = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    for i in range(len(y)):
        net.zero_grad()
        F.cross_entropy(net(x[i : i + 1]), y[i : i + 1]).backward()
        for name, parameter in net.named_parameters():
            torch.testing.assert_close(
                at_once[name][i], parameter.grad, msg=lambda m, name=name: f"{name}: {m}"
            )


# Errors


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("resnet81", {}, "no model 'resnet81'; did you mean 'resnet18'"),
        (
            "resnet20",
            {"widht": 8},
            "'widht'; did you mean 'width'? Known: width, norm, segments, factors.",
        ),
        ("densenet121", {"norm": "group"}, "no densenet121 option 'norm'. Known: pretrained."),
        (
            "resnet20",
            {"norm": "groups"},
            "no norm 'groups'; did you mean 'group'? Known: batch, group.",
        ),
        ("vgg11", {"norm": None}, "no norm None"),
        (
            "resnet18",
            {"stem": "imagnet"},
            "no stem 'imagnet'; did you mean 'imagenet'? Known: cifar, imagenet.",
        ),
        ("resnet18", {"pretrained": True}, "found stem='cifar' with norm='batch'"),
        (
            "resnet18",
            {"pretrained": True, "stem": "imagenet", "norm": "group"},
            "with norm='group'",
        ),
        (
            "googlenet",
            {"pretrained": True},
            "no googlenet option 'pretrained'. Known: norm, dropout.",
        ),
        ("resnet20", {"width": 0}, "width must be a whole number in 1 … 1024, found 0"),
        ("densenet3", {"layers": 0}, "layers must be a whole number in 1 … 200, found 0"),
        ("mlp", {"widths": (8, 0)}, "widths must be a whole number in 1 … 1048576, found 0"),
        ("vgg11", {"dropout": 1.5}, "dropout must be a number in 0 … 1, found 1.5"),
        ("resnet20", {"classes": 0}, "classes must be a whole number in 1 … 100000, found 0"),
        (
            "resnet18",
            {"shape": (600,)},
            "resnet18 needs records of shape (channels, height, width)",
        ),
        (
            "resnet18",
            {"shape": (3, 0, 32)},
            "shape must be a whole number in 1 … 16777216, found 0",
        ),
        ("vgg11", {"shape": (3, 32, 31)}, "vgg11 needs images of at least 32×32, found 32×31"),
        ("densenet121", {"shape": (3, 28, 28)}, "densenet121 needs images of at least 29×29"),
        ("cnn", {"width": 0}, "width must be a whole number in 1 … 1024, found 0"),
        ("cnn", {"hidden": 0}, "hidden must be a whole number in 1 … 1024, found 0"),
        ("cnn", {"norm": "layer"}, "no norm 'layer'. Known: none, batch, group."),
        ("cnn", {"shape": (600,)}, "cnn needs records of shape (channels, height, width)"),
        ("cnn", {"shape": (1, 3, 8)}, "cnn needs images of at least 4×4, found 3×8"),
        ("cnn", {"shape": (1, 2**14, 2**14)}, "is too large. Choose smaller images"),
        ("densenet3", {"shape": (3, 3, 3)}, "densenet3 needs images of at least 4×4"),
        (
            "densenet121",
            {"shape": (1, 32, 32)},
            "densenet121 takes colour images (3 channels), found 1",
        ),
        (
            "resnet18",
            {"shape": (1, 32, 32), "stem": "imagenet", "pretrained": True},
            "a pretrained resnet18 takes colour images",
        ),
        ("resnet20", {"width": 2**31}, "width must be a whole number in 1 … 1024"),
        ("resnet20", {"width": "16"}, "width must be a whole number"),
        ("resnet20", {"segments": 4}, "segments must be a whole number in 0 … 3, found 4"),
        ("densenet3", {"growth": 2**31}, "growth must be a whole number"),
        ("densenet3", {"layers": 2**31}, "layers must be a whole number"),
        ("mlp", {"widths": 16}, "widths must be whole numbers, such as (64, 32), found 16"),
        ("mlp", {"widths": (2**31,)}, "widths must be a whole number"),
        ("mlp", {"widths": (2**20, 2**20)}, "is too large. Choose smaller widths"),
        ("mlp", {"widths": None}, "widths must be whole numbers"),
        ("mlp", {"shape": 64}, "mlp needs records of shape"),
        ("mlp", {"shape": None}, "mlp needs records of shape"),
        ("mlp", {"shape": ("a",)}, "shape must be a whole number"),
        ("resnet20", {"shape": (2**20, 8, 8)}, "channels must be a whole number in 1 … 1024"),
        ("googlenet", {"dropout": "half"}, "dropout must be a number in 0 … 1"),
        ("densenet121", {"pretrained": "no"}, "pretrained must be True or False, found 'no'"),
        ("resnet20", {"classes": 2**31}, "classes must be a whole number"),
        ("resnet20", {"classes": None}, "classes must be a whole number"),
        ("resnet20", {"seed": -1}, "seed must be a whole number"),
        ("resnet20", {"seed": "0"}, "seed must be a whole number"),
        (None, {}, "no model None"),
        (["mlp"], {}, "no model ['mlp']"),
    ],
)
def test_errors_say_what_was_expected_and_found(name, options, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the message is compared below)
        models.build(name, **({"shape": SMALL, "classes": 10} | options))
    assert message in str(error.value)


def test_a_network_knows_the_records_that_it_was_built_for():
    network = models.build("mlp", shape=[1, 8, 8], classes=3, widths=[4])
    assert network.shape == (1, 8, 8)
    assert "shape" not in network.state_dict()


def test_a_network_of_ones_own_is_built_by_its_name(monkeypatch):
    def linear(shape, classes):
        return models.Network(nn.Flatten(), nn.Linear(shape[0], classes))

    monkeypatch.setitem(models.MODELS, "linear", linear)
    network = models.build("linear", shape=(5, 1, 1), classes=3, seed=1)
    assert network.classify.weight.shape == (3, 5)
    with pytest.raises(ValueError, match="no linear option 'width'"):
        models.build("linear", shape=(5, 1, 1), classes=3, width=8)


@pytest.mark.parametrize(
    ("name", "side"), [("cnn", 4), ("vgg11", 32), ("densenet121", 29), ("densenet3", 4)]
)
def test_the_smallest_allowed_image_works(name, side):
    net = models.build(name, shape=(3, side, side), classes=2).eval()
    assert net(torch.zeros(1, 3, side, side)).shape == (1, 2)
