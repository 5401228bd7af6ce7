"""Pruning by magnitude: counts by integer arithmetic, one threshold for all layers, and masks that
hold.
"""

import math

import numpy as np
import pytest
import safetensors.torch
import torch
from numpy.testing import assert_array_equal
from torch import nn

from mialib import models
from mialib.sparsity.magnitude import hold, layers, masks, release, remaining, smallest_pruned
from small_networks import normalised, perceptron

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def two_scales():
    """All weights of the second layer are larger than those of the first."""
    network = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10))
    with torch.no_grad():
        network[0].weight.copy_(torch.linspace(-0.01, -0.0001, 100).view(10, 10))
        network[2].weight.copy_(torch.linspace(1, 2, 100).view(10, 10))
    return network


def state(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def pruned_by_numpy(weights, count):
    """The masks of a list of arrays without the `count` smallest that are not zero, by sorting."""
    flat = np.concatenate([weight.ravel() for weight in weights])
    order = np.argsort(np.abs(flat), kind="stable")
    order = order[flat[order] != 0]
    kept = flat != 0
    kept[order[:count]] = False
    return np.split(kept, np.cumsum([weight.size for weight in weights])[:-1])


# ---------------------------------------------------------------- which layers


def test_what_may_be_pruned_of_the_papers_network():
    network = models.build("resnet20", shape=(3, 32, 32), classes=10)
    found = layers(network)
    assert sum(parameter.numel() for parameter in network.parameters()) == 272_474
    assert sum(layer.weight.numel() for layer in found.values()) == 270_896
    assert len(found) == 19 + 2 + 1  # 3×3 convolutions, shortcuts and the last layer
    assert all(network.get_submodule(name) is layer for name, layer in found.items())
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in found.values())
    whole = masks(network)
    assert list(whole) == list(found)
    assert (
        sum(mask.numel() for mask in whole.values())
        == sum(int(mask.sum()) for mask in whole.values())
        == 270_896
    )
    assert remaining(network) == 100


def test_biases_and_normalisations_are_left():
    network = normalised()
    before = state(network)
    hold(network, smallest_pruned(network, 0.9))
    release(network)
    after = state(network)
    assert set(before) == set(after)
    for name, value in before.items():
        if name not in ("features.0.weight", "classify.weight"):
            assert torch.equal(after[name], value), name


# ---------------------------------------------------------------- how many

PAPER = {3: 51.5, 4: 41.3, 8: 17.3, 16: 3.4}


def test_every_round_of_the_paper_leaves_the_exact_count():
    """⌈n / 5⌉ of the n that remain go: ⌊4n / 5⌋ stay; the 1,578 that are never pruned always count
    as remaining.
    """
    network = models.build("resnet20", shape=(3, 32, 32), classes=10)
    expected, before = 270_896, masks(network)
    for number in range(1, 25):
        kept = smallest_pruned(network, 0.2)
        expected -= (expected + 4) // 5
        assert sum(int(mask.sum()) for mask in kept.values()) == expected, number
        assert all((mask <= before[name]).all() for name, mask in kept.items())
        hold(network, kept)
        release(network)
        assert remaining(network) == pytest.approx(100 * (expected + 1_578) / 272_474, abs=1e-9)
        if number in PAPER:
            assert round(remaining(network), 1) == PAPER[number]
        assert remaining(network) == pytest.approx(
            100 * (0.8**number * 270_896 + 1_578) / 272_474, abs=0.002
        )
        before = kept
    assert expected == 1_276
    assert all(torch.equal(mask, before[name]) for name, mask in masks(network).items())


@pytest.mark.parametrize(
    ("share", "count"),
    [
        (0, 0),
        (0.0, 0),
        (1e-9, 1),
        (0.004, 1),
        (0.005, 1),
        (0.0051, 2),
        (0.2, 40),
        (0.201, 41),
        (0.5, 100),
        (0.99, 198),
    ],
)
def test_the_count_is_rounded_up(share, count):
    kept = smallest_pruned(two_scales(), share)
    assert sum(int((~mask).sum()) for mask in kept.values()) == count


def test_the_share_is_of_what_remains():
    network = two_scales()
    for expected in (100, 50, 25, 12, 6, 3, 1):
        hold(network, smallest_pruned(network, 0.5))
        release(network)
        assert sum(int(mask.sum()) for mask in masks(network).values()) == expected


# ---------------------------------------------------------------- which


@pytest.mark.parametrize("share", [0.1, 0.36, 0.9, 0.99])
@pytest.mark.parametrize("make", [perceptron, normalised])
def test_the_survivors_are_the_largest_of_all_layers(make, share):
    network = make()
    weights = [layer.weight.detach().numpy() for layer in layers(network).values()]
    count = math.ceil(share * sum(weight.size for weight in weights))
    expected = pruned_by_numpy(weights, count)
    for mask, one in zip(smallest_pruned(network, share).values(), expected, strict=True):
        assert mask.dtype == torch.bool
        assert_array_equal(mask.numpy().ravel(), one)


def test_the_threshold_is_one_for_all_layers():
    kept = smallest_pruned(two_scales(), 0.3)
    assert int(kept["0"].sum()) == 40
    assert kept["2"].all()
    kept = smallest_pruned(two_scales(), 0.75)
    assert not kept["0"].any()
    assert int(kept["2"].sum()) == 50
    assert kept["2"].flatten()[50:].all()


def test_signs_do_not_count():
    network = nn.Sequential(nn.Linear(2, 2))
    network[0].weight.data = torch.tensor([[-3.0, 2.0], [-1.0, 4.0]])
    assert smallest_pruned(network, 0.5)["0"].tolist() == [[True, False], [False, True]]


def test_what_equals_the_threshold_goes_too():
    network = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))
    network[0].weight.data = torch.tensor([[1.0, 1.0, 2.0, -1.0], [0.5, 3.0, 4.0, 1.0]])
    network[1].weight.data = torch.tensor([[-1.0, 5.0]])
    kept = smallest_pruned(network, 0.2)  # two: the second smallest is a 1, and there are five
    assert kept["0"].tolist() == [[False, False, True, False], [False, True, True, False]]
    assert kept["1"].tolist() == [[False, True]]


def test_zeros_have_been_pruned_and_stay_so():
    network = nn.Sequential(nn.Linear(4, 2))
    network[0].weight.data = torch.tensor([[0.0, 1.0, -0.0, 2.0], [3.0, 4.0, 0.0, 5.0]])
    assert masks(network)["0"].tolist() == [[False, True, False, True], [True, True, False, True]]
    assert torch.equal(smallest_pruned(network, 0)["0"], masks(network)["0"])
    assert smallest_pruned(network, 0.2)["0"].tolist() == [
        [False, False, False, True],
        [True, True, False, True],
    ]
    assert remaining(network) == pytest.approx(100 * (5 + 2) / 10)


def test_choosing_changes_nothing():
    network = normalised()
    before = state(network)
    smallest_pruned(network, 0.5)
    masks(network)
    remaining(network)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


# ---------------------------------------------------------------- how they are held


@pytest.mark.parametrize("make", [perceptron, normalised])
def test_a_held_network_is_the_network_with_zeros(make):
    network, by_hand, x = make().eval(), make().eval(), torch.randn(4, 1, 8, 8)
    kept = smallest_pruned(network, 0.6)
    for name, layer in layers(by_hand).items():
        layer.weight.data[~kept[name]] = 0
    hold(network, kept)
    assert torch.equal(network(x), by_hand(x))
    for name, layer in layers(network).items():
        assert torch.equal(
            layer.weight_orig, layers(by_hand)[name].weight
        )  # The originals are zero too.
        assert layer.weight_orig.requires_grad
    assert remaining(network) == remaining(by_hand)
    release(network)
    assert torch.equal(network(x), by_hand(x))


def test_the_parameters_are_the_same_objects_before_and_after():
    """So an optimizer that was made before goes on with them."""
    network = normalised()
    before = dict(network.named_parameters())
    hold(network, smallest_pruned(network, 0.5))
    assert set(network.parameters()) == set(before.values())
    assert {name for name in network.state_dict() if name.endswith("_mask")} == {
        "features.0.weight_mask",
        "classify.weight_mask",
    }
    release(network)
    after = dict(network.named_parameters())
    assert set(after) == set(before)
    assert all(after[name] is value for name, value in before.items())
    assert not any(module._forward_pre_hooks for module in network.modules())


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_pruned_weights_stay_at_zero_whatever_the_optimizer(optimizer):
    network, x, y = normalised(dropout=0.0), torch.randn(20, 1, 8, 8), torch.arange(20) % 10
    options = {"SGD": {"momentum": 0.9, "nesterov": True}, "Adam": {}}[optimizer]
    steps = getattr(torch.optim, optimizer)(
        network.parameters(), lr=0.1, weight_decay=0.1, **options
    )
    for _ in range(3):  # so that there is momentum
        steps.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        steps.step()
    steps = getattr(torch.optim, optimizer)(
        network.parameters(), lr=0.1, weight_decay=0.1, **options
    )
    kept = smallest_pruned(network, 0.5)
    hold(network, kept)
    for _ in range(4):
        before = {
            name: layer.weight_orig.detach().clone() for name, layer in layers(network).items()
        }
        steps.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        steps.step()
        for name, layer in layers(network).items():
            assert not layer.weight_orig[~kept[name]].any()
            assert not layer.weight_orig.grad[~kept[name]].any()
            assert (layer.weight_orig != before[name])[kept[name]].all()
    release(network)
    assert all(torch.equal(mask, kept[name]) for name, mask in masks(network).items())


def test_holding_again_keeps_both_masks():
    network = perceptron()
    first = smallest_pruned(network, 0.5)
    hold(network, first)
    second = {name: torch.rand(mask.shape) > 0.5 for name, mask in first.items()}
    hold(network, second)
    release(network)
    assert all(
        torch.equal(mask, first[name] & second[name]) for name, mask in masks(network).items()
    )


def test_a_pruned_network_is_saved_and_loaded_with_its_masks(tmp_path):
    network, again, x = normalised(), normalised(), torch.randn(4, 1, 8, 8)
    kept = smallest_pruned(network, 0.7)
    hold(network, kept)
    network(x)  # moves the statistics of the normalisation
    release(network)
    safetensors.torch.save_model(network, str(tmp_path / "weights"))
    safetensors.torch.load_model(again, str(tmp_path / "weights"))
    assert torch.equal(again.eval()(x), network.eval()(x))
    assert all(torch.equal(mask, kept[name]) for name, mask in masks(again).items())
    assert remaining(again) == remaining(network)


def test_a_network_in_double_precision_and_channels_last_is_pruned_alike():
    plain, other = normalised(), normalised().double().to(memory_format=torch.channels_last)
    first, second = (smallest_pruned(network, 0.5) for network in (plain, other))
    assert all(torch.equal(mask, second[name]) for name, mask in first.items())
    hold(other, second)
    assert other.classify.weight.dtype == torch.float64
    release(other)
    assert all(torch.equal(mask, first[name]) for name, mask in masks(other).items())


def test_factors_of_a_butterfly_are_not_pruned():
    network = models.build("resnet20", shape=(1, 8, 8), classes=10, width=4, segments=2)
    assert len(layers(network)) == 19 + 2 + 1 - 12
    before = {
        name: value.clone() for name, value in network.state_dict().items() if ".factors." in name
    }
    hold(network, smallest_pruned(network, 0.9))
    release(network)
    assert before
    assert all(torch.equal(network.state_dict()[name], value) for name, value in before.items())


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("share", [1, 1.0, 0.9951, 1.5, 100])
def test_pruning_everything_is_refused(share):
    with pytest.raises(
        ValueError, match=r"(Pruning \d+ of 200 weights leaves none.*smaller share|share must be)"
    ):
        smallest_pruned(two_scales(), share)


def test_one_of_many_may_be_left():
    assert sum(int(mask.sum()) for mask in smallest_pruned(two_scales(), 0.995).values()) == 1


def test_a_network_without_weights_is_refused():
    for network in (nn.Sequential(nn.ReLU()), nn.BatchNorm2d(3), nn.Sequential()):
        for function in (layers, masks, remaining, release, lambda one: smallest_pruned(one, 0.2)):
            with pytest.raises(
                ValueError,
                match=f"no convolution or linear layer to prune in {type(network).__name__}",
            ):
                function(network)


def by_module():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer), "0, 2"


def by_block():
    block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return nn.Sequential(block, nn.Linear(4, 4), block), r"0\.0, 2\.0"


def by_weight():
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    network[2].weight = network[1].weight
    return network, "1, 2"


@pytest.mark.parametrize("make", [by_module, by_block, by_weight])
def test_a_weight_in_two_places_is_refused(make):
    network, names = make()
    for function in (
        layers,
        masks,
        remaining,
        lambda one: smallest_pruned(one, 0.2),
        lambda one: hold(one, {}),
    ):
        with pytest.raises(
            ValueError, match=f"^{names} share one weight, .* Give each a weight of its own"
        ):
            function(network)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda kept: {"0": kept["0"]}, "Expected a mask for each of 0, 2; found 0"),
        (lambda kept: kept | {"1": kept["0"]}, "Expected a mask for each of 0, 2; found 0, 2, 1"),
        (lambda kept: {"a": kept["0"], "2": kept["2"]}, "each of 0, 2; found a, 2"),
        (lambda kept: {}, "Expected a mask for each of 0, 2"),
        (
            lambda kept: kept | {"2": kept["2"][:5]},
            r"mask of 2 must have .* \(10, 10\); found \(5, 10\)",
        ),
        (lambda kept: kept | {"2": kept["2"].flatten()}, r"\(10, 10\); found \(100,\)"),
        (
            lambda kept: kept | {"2": kept["2"][:1]},
            r"\(10, 10\); found \(1, 10\)",
        ),  # It would broadcast.
    ],
)
def test_masks_that_do_not_fit_are_refused_and_nothing_changes(change, expected):
    network = two_scales()
    before = state(network)
    with pytest.raises(ValueError, match=expected):
        hold(network, change(smallest_pruned(network, 0.3)))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert set(network.state_dict()) == set(before)
