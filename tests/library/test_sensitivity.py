"""The loss gap's gradient against finite differences, and every measure of concentration against
brute force.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn
from torch.nn import functional as F

from mialib import models
from mialib.sensitivity import (
    adaptive_weight,
    concentration,
    flat,
    gap_gradient,
    gini,
    hoyer,
    kinds,
    mean_gradient,
    migration,
    weights,
)
from mialib.sparsity import chains
from mialib.sparsity.butterfly import ButterflyLinear

NUMBERS = st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=40)


@pytest.fixture
def draw():
    """Records of any shape in float64, with labels 0 … 2."""
    generator = torch.Generator().manual_seed(5)

    def pair(*shape):
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        return x, torch.randint(3, shape[:1], generator=generator)

    return pair


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def convolutional():
    torch.manual_seed(0)
    layers = [
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(8, 3),
    ]
    network = nn.Sequential(*layers).double()
    network(
        torch.randn(20, 1, 4, 4, dtype=torch.float64) * 2 + 1
    )  # for running statistics that are not 0 and 1
    return network


def by_differences(network, weight, members, others, step=1e-5):
    """∂(L_non-member − L_member)/∂w, one weight after another."""

    def gap():
        with torch.no_grad():
            member_loss = F.cross_entropy(network(members[0]), members[1]).item()
            other_loss = F.cross_entropy(network(others[0]), others[1]).item()
        return other_loss - member_loss

    network.eval()
    found = torch.zeros_like(weight)
    values = weight.data.view(-1)
    for k in range(len(values)):
        kept = values[k].item()
        values[k] = kept + step
        above = gap()
        values[k] = kept - step
        found.view(-1)[k] = (above - gap()) / (2 * step)
        values[k] = kept
    return found


# ---------------------------------------------------------------- the gap's gradient


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [(perceptron, (5,), {"0", "2"}), (convolutional, (1, 4, 4), {"0", "1", "5"})],
)
def test_the_gradient_equals_finite_differences(draw, make, shape, expected):
    network, members, others = make(), draw(12, *shape), draw(9, *shape)
    network.train()  # Measuring is done in eval mode all the same.
    gradients = gap_gradient(network, members, others)
    assert set(gradients) == expected
    for name, gradient in gradients.items():
        weight = network.get_submodule(name).weight
        assert_allclose(
            gradient,
            by_differences(network, weight, members, others).detach(),
            rtol=1e-6,
            atol=1e-9,
        )


def test_batches_of_any_size_give_the_mean_over_all_records(draw):
    network, records = perceptron(), draw(23, 5)
    whole = torch.autograd.grad(
        F.cross_entropy(network(records[0]), records[1]), network[0].weight
    )[0]
    for batch_size in (1, 7, 23, 500):
        assert_allclose(
            mean_gradient(network, records, batch_size=batch_size)["0"], whole, atol=1e-12
        )


def test_records_are_seen_as_the_model_sees_them(digits):
    network = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(8,))
    x, y = torch.tensor((digits.x.astype(np.float32) - 4.9) / 6), torch.tensor(digits.y)
    expected = mean_gradient(network, (x, y))
    for name, gradient in mean_gradient(network, digits).items():
        assert_allclose(gradient, expected[name], atol=1e-6)


def test_non_members_come_first_in_the_gap(draw):
    network, members, others = perceptron(), draw(8, 5), draw(8, 5)
    for name, gradient in gap_gradient(network, members, others).items():
        assert torch.equal(gradient, -gap_gradient(network, others, members)[name])
    quiet = (members[0] * 0, members[1])  # Inputs of 0 reach no weight of the first layer.
    assert torch.equal(
        gap_gradient(network, quiet, others)["0"], mean_gradient(network, others)["0"]
    )


def test_measuring_changes_nothing(draw):
    network = convolutional()
    network.train()
    network[1].eval()  # Flags of the parts may differ from the whole's.
    F.cross_entropy(network(draw(6, 1, 4, 4)[0]), torch.arange(6) % 3).backward()
    network[5].weight.grad = None

    def state():
        gradients = [None if p.grad is None else p.grad.clone() for p in network.parameters()]
        flags = [module.training for module in network.modules()]
        kept = {name: value.clone() for name, value in network.state_dict().items()}
        return kept, gradients, flags, torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002

    before = state()
    gap_gradient(network, draw(12, 1, 4, 4), draw(9, 1, 4, 4))
    torch.testing.assert_close(state(), before, rtol=0, atol=0)


def test_a_module_that_the_output_does_not_need_has_no_sensitivity(draw):
    network, members, others = perceptron(), draw(12, 5), draw(9, 5)
    expected = gap_gradient(network, members, others)
    network.add_module("unused", nn.Linear(2, 2).double())
    network.forward = lambda x: network[2](network[1](network[0](x)))
    gradients = gap_gradient(network, members, others)
    assert torch.equal(gradients.pop("unused"), torch.zeros(2, 2, dtype=torch.float64))
    assert all(torch.equal(gradients[name], expected[name]) for name in expected)


# ---------------------------------------------------------------- which weights


def test_every_convolution_linear_layer_and_normalisation_has_a_weight():
    network = models.build("resnet20", shape=(1, 8, 8), classes=10, width=2)
    by_hand = {name for name, value in network.named_parameters() if name.endswith("weight")}
    assert {f"{name}.weight" for name in weights(network)} == by_hand
    shapes = {"convolution": 4, "linear": 2, "normalisation": 1}
    for name, kind in kinds(network).items():
        assert weights(network)[name].ndim == shapes[kind]
    assert set(kinds(network)) == set(weights(network))


@pytest.mark.parametrize(
    ("chosen", "names"), [(("linear",), "5"), (("convolution", "normalisation"), "01")]
)
def test_kinds_choose_the_weights(chosen, names):
    assert list(weights(convolutional(), chosen)) == list(names)


def test_group_normalisation_counts_and_one_without_weights_does_not():
    network = nn.Sequential(nn.GroupNorm(1, 2), nn.BatchNorm2d(2, affine=False), nn.Conv2d(2, 2, 1))
    assert list(weights(network)) == ["0", "2"]
    assert kinds(network) == {"0": "normalisation", "2": "convolution"}


def test_frozen_weights_are_left_out(draw):
    network = convolutional()
    network[0].weight.requires_grad_(False)
    assert set(gap_gradient(network, draw(5, 1, 4, 4), draw(5, 1, 4, 4))) == {"1", "5"}


@pytest.mark.parametrize("chosen", [("convolution",), ()])
def test_no_weight_at_all_is_explained(chosen):
    with pytest.raises(ValueError, match="whose weight is not frozen, found none"):
        weights(perceptron(), chosen)
    with pytest.raises(ValueError, match="not frozen"):
        mean_gradient(
            perceptron().requires_grad_(False), (torch.zeros(2, 5).double(), torch.zeros(2).long())
        )


def test_an_unknown_kind_brings_the_nearest():
    with pytest.raises(ValueError, match="'convolutions'; did you mean 'convolution'"):
        weights(perceptron(), ("convolutions",))


# ---------------------------------------------------------------- γ

MEMBERS, OTHERS = torch.tensor([[0.3, -0.1], [0.0, 0.2]]), torch.tensor([[0.1, 0.1], [-0.4, 0.2]])


def test_gamma_equals_the_numbers_computed_by_hand():
    gap = OTHERS - MEMBERS
    assert_allclose(gap.abs(), [[0.2, 0.2], [0.4, 0]], atol=1e-7)
    assert_allclose(adaptive_weight(gap), [[1, 1], [2, 0]], atol=1e-6)
    assert_allclose(adaptive_weight(gap) ** 2.5, [[1, 1], [5.656854, 0]], atol=1e-5)


def test_gamma_has_mean_one_in_each_module(draw):
    gradients = gap_gradient(convolutional(), draw(12, 1, 4, 4), draw(9, 1, 4, 4))
    for name, gradient in gradients.items():
        gamma = adaptive_weight(gradient)
        assert gamma.mean().item() == pytest.approx(1)
        assert_allclose(gamma / gamma.max(), gradient.abs() / gradient.abs().max(), err_msg=name)


@pytest.mark.parametrize("scale", [-1.0, 1e-3, 1e4])
def test_gamma_depends_neither_on_the_scale_nor_on_the_sign(scale):
    assert_allclose(adaptive_weight(scale * (OTHERS - MEMBERS)), [[1, 1], [2, 0]], atol=1e-5)


def test_the_same_records_on_both_sides_give_zero_and_nothing_is_divided_by_it(draw):
    members = draw(12, 5)
    for gradient in gap_gradient(perceptron(), members, members).values():
        assert torch.equal(gradient, torch.zeros_like(gradient))
        assert torch.equal(adaptive_weight(gradient), torch.zeros_like(gradient))


def test_the_formula_as_printed_is_nan_for_a_fractional_power_but_gamma_is_not():
    gap = OTHERS - MEMBERS
    printed = gap / gap.mean()  # without the absolute value
    assert (printed**1.5).isnan().any()
    assert (printed**2).isfinite().all()
    assert (adaptive_weight(gap) ** 1.5).isfinite().all()


# ---------------------------------------------------------------- concentration and migration


@given(NUMBERS, st.floats(0, 1), st.floats(0, 100))
def test_concentration_equals_sorting_and_counting(values, top, low):
    largest_first = sorted(map(abs, values), reverse=True)
    total = sum(largest_first)
    share, below = concentration(values, top=top, low=low)
    expected = (
        sum(largest_first[: max(round(top * len(values)), 1)]) / total if total else 0
    )  # at least one
    assert share == pytest.approx(expected, rel=1e-6)
    assert below == pytest.approx(sum(value < low for value in largest_first) / len(values))


def test_concentration_reaches_over_all_modules():
    """Ten values, of which the two largest stand in different modules."""
    by_module = {
        "a": torch.tensor([[-6.0, 0.5], [0.05, 0.05]]),
        "b": torch.tensor([2.0, 0.2, 0.3, 0.3, 0.3, 0.3]),
    }
    assert concentration(by_module) == pytest.approx((0.8, 0.2))


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40, unique_by=abs),
    st.floats(0, 1),
    st.randoms(),
)
def test_migration_equals_the_difference_of_two_sets(before, top, random):
    after = random.sample(before, len(before))
    number = max(round(top * len(before)), 1)
    first, second = (
        set(sorted(range(len(sizes)), key=lambda k: -abs(sizes[k]))[:number])
        for sizes in (before, after)
    )
    assert migration(before, after, top=top) == pytest.approx(len(second - first) / number)


# ---------------------------------------------------------------- sparsity


@given(NUMBERS, st.booleans())
def test_gini_equals_the_mean_difference_of_all_pairs(values, shifted):
    sizes = (
        [value - min(values) for value in values] if shifted else [abs(value) for value in values]
    )
    differences = sum(abs(a - b) for a in sizes for b in sizes)
    expected = differences / (2 * len(sizes) * sum(sizes)) if sum(sizes) else 0
    assert gini(values, shifted=shifted) == pytest.approx(expected, abs=1e-6)


@given(NUMBERS)
def test_hoyer_equals_its_formula(values):
    length = math.sqrt(sum(value**2 for value in values))
    root = math.sqrt(len(values))
    expected = (root - sum(map(abs, values)) / length) / (root - 1) if length else 0
    assert hoyer(values) == pytest.approx(expected, abs=1e-6)


def test_the_shifted_gini_falls_where_the_other_rises(rng):
    dense = rng.normal(0, 0.05, 200_000)
    sparse = dense * (rng.random(len(dense)) < 0.1)
    outlier = np.r_[dense, -2.0]
    assert (gini(dense, shifted=True), gini(dense)) == pytest.approx((0.123, 0.414), abs=0.01)
    assert (gini(sparse, shifted=True), gini(sparse)) == pytest.approx((0.019, 0.941), abs=0.003)
    assert (gini(outlier, shifted=True), gini(outlier)) == pytest.approx((0.014, 0.414), abs=0.002)
    assert hoyer(sparse) > hoyer(dense) + 0.3


def test_measures_take_parameters_modules_and_arrays_alike():
    network = perceptron()
    by_module = weights(network)
    values = np.concatenate(
        [layer.weight.detach().numpy().ravel() for layer in (network[0], network[2])]
    )
    assert_array_equal(flat(by_module), values)
    for measure in (gini, hoyer, concentration):
        assert measure(by_module) == measure(values)
        assert measure(network[2].weight) == measure(network[2].weight.detach().numpy())


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("measure", [concentration, gini, hoyer, lambda v: migration(v, v)])
@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([], "at least one value, found none"),
        ({}, "at least one value, found none"),
        ([1.0, math.nan], "finite values, found 1 that are NaN or infinite"),
        ({"a": torch.tensor([math.inf, 1.0])}, "finite values, found 1"),
    ],
)
def test_nothing_and_what_is_no_number_has_no_concentration(measure, values, complaint):
    with pytest.raises(ValueError, match=complaint):
        measure(values)


def test_migration_compares_the_same_parameters():
    with pytest.raises(ValueError, match="same parameters before and after, found 3 and 2"):
        migration([1, 2, 3], [1, 2])


@pytest.mark.parametrize(
    "records",
    [
        None,
        "digits",
        torch.zeros(3, 5),
        (torch.zeros(3, 5),),
        (torch.zeros(3, 5), torch.zeros(2)),
        (torch.zeros(0, 5), torch.zeros(0)),
        (np.zeros((3, 5)), np.zeros(3)),
    ],
)
def test_records_that_are_none_are_refused(records):
    with pytest.raises(ValueError, match="Expected Records, or inputs and labels as two tensors"):
        mean_gradient(perceptron(), records)


def test_a_model_that_is_none_and_batches_of_no_size_are_refused(draw):
    with pytest.raises(ValueError, match="Expected a torch module, found str"):
        weights("resnet20")
    with pytest.raises(ValueError, match="batch_size must be a whole number, at least 1"):
        mean_gradient(perceptron(), draw(4, 5), batch_size=0)


def test_a_network_of_butterflies_alone_is_explained():
    layer = ButterflyLinear(chains.smallest(8, 12, 2))
    with pytest.raises(ValueError, match="factors of a butterfly layer are of no kind"):
        weights(nn.Sequential(layer))


def test_the_two_shares_have_names():
    found = concentration([1.0, 3.0, 0.05, 0.0, 0.0])
    assert found.top_share == pytest.approx(3 / 4.05)
    assert found.low_share == pytest.approx(3 / 5)
