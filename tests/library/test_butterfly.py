"""Butterfly layers against the dense matrices that they stand for, their projection, and the
change of a network.
"""

import itertools
import math

import numpy as np
import pytest
import safetensors.torch
import scipy
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.nn import functional as F

from mialib import models, runs
from mialib.query import predict
from mialib.sparsity.butterfly import (
    ButterflyConv2d,
    ButterflyLayer,
    ButterflyLinear,
    butterfly,
    convert,
    projected,
)
from mialib.sparsity.chains import Factor, chains, smallest, square
from mialib.training import Recipe, fit

pytestmark = pytest.mark.usefixtures("one_thread")

CHAINS = {
    "square": square(16),
    "one factor": smallest(5, 7, 1),
    "shrinking": smallest(8, 24, 2),
    "shrinking, three": smallest(16, 36, 3),
    "expanding": smallest(24, 8, 2),
    "between sizes": (Factor(10, 35, 2, 7, 1), Factor(6, 10, 3, 5, 2)),
    "wide diagonals": smallest(12, 30, 3, trivial=True),
}
each = pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def written_out(factor, shape):
    """One factor as a matrix in the graph, entry by entry: block k joins row (k, i, place) and
    column (k, j, place).
    """
    blocks, t, r, s = factor.shape
    places = [
        ((k * r + i) * t + place, (k * s + j) * t + place)
        for k, place, i, j in itertools.product(range(blocks), range(t), range(r), range(s))
    ]
    matrix = torch.zeros(shape, dtype=factor.dtype)
    return matrix.index_put(tuple(torch.tensor(places).T), factor.reshape(-1))


def product(layer):
    """W = R_L … R_1."""
    matrix = torch.eye(layer.chain[0].columns, dtype=layer.factors[0].dtype)
    for factor, form in zip(layer.factors, layer.chain, strict=True):
        matrix = written_out(factor, (form.rows, form.columns)) @ matrix
    return matrix


# ---------------------------------------------------------------- the product of the factors


@each
def test_the_layer_is_the_product_of_its_factors(chain):
    layer = ButterflyLinear(chain)
    x = torch.randn(5, layer.columns)
    assert_allclose(layer.dense().detach(), product(layer).detach(), atol=1e-5)
    assert_allclose(layer(x).detach(), F.linear(x, product(layer), layer.bias).detach(), atol=1e-5)
    assert layer.dense().shape == (chain[-1].rows, chain[0].columns) == (layer.rows, layer.columns)


@each
def test_a_factor_lies_on_its_support(chain):
    """Both sides know where an entry may stand: `written_out` here, and `Factor.support`."""
    for parameter, factor in zip(ButterflyLinear(chain).factors, chain, strict=True):
        matrix = written_out(parameter.detach(), (factor.rows, factor.columns))
        assert np.array_equal(matrix.numpy() != 0, factor.support())


@each
@pytest.mark.parametrize("bias", [True, False])
def test_the_parameters_are_those_of_the_formula(chain, bias):
    layer = ButterflyLinear(chain, bias=bias)
    expected = sum(p * s for p, _, _, s, _ in chain) + bias * chain[-1].rows
    assert sum(parameter.numel() for parameter in layer.parameters()) == expected
    assert (layer.bias is not None) == bias


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (0,), (2, 0)])
def test_any_number_of_dimensions_goes_through_as_in_a_linear_layer(shape):
    layer, x = ButterflyLinear(smallest(8, 12, 2)), torch.randn(*shape, 12)
    expected = F.linear(x, product(layer), layer.bias)
    assert layer(x).shape == expected.shape == (*shape, 8)
    assert_allclose(layer(x).detach(), expected.detach(), atol=1e-5)


def test_a_layer_takes_inputs_that_are_laid_out_in_any_order():
    layer, x = ButterflyLinear(square(8)), torch.randn(8, 6)
    assert_allclose(
        layer(x.T).detach(), F.linear(x.T, product(layer), layer.bias).detach(), atol=1e-5
    )


@each
def test_gradients_reach_every_entry_and_are_those_of_the_dense_product(chain):
    layer = ButterflyLinear(chain).double()
    x = torch.randn(9, layer.columns, dtype=torch.float64)
    wanted = torch.randn(9, layer.rows, dtype=torch.float64)
    found = torch.autograd.grad((layer(x) - wanted).square().sum(), [*layer.factors, layer.bias])
    dense = F.linear(x, product(layer), layer.bias)
    expected = torch.autograd.grad((dense - wanted).square().sum(), [*layer.factors, layer.bias])
    for one, other in zip(found, expected, strict=True):
        assert one.abs().min() > 0
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_a_layer_is_the_same_in_training_and_in_eval_and_after_a_move():
    layer, x = ButterflyLinear(smallest(8, 12, 2)), torch.randn(3, 12)
    expected = layer(x)
    assert torch.equal(layer.eval()(x), expected)
    assert torch.equal(layer.to(device="cpu")(x), expected)
    assert torch.equal(layer.to(memory_format=torch.channels_last)(x), expected)
    double = layer.double()
    assert double(x.double()).dtype == double.dense().dtype == torch.float64
    assert_allclose(double(x.double()).detach(), expected.detach(), atol=1e-6)


def test_a_layer_shows_its_chain():
    assert repr(ButterflyLinear(square(4))).startswith(
        "ButterflyLinear(\n  4×4 (r=2, s=2, t=1), 4×4 (r=2, s=2, t=2)"
    )


# ---------------------------------------------------------------- matrices that are known


def fill(layer, block):
    """Every place on the diagonals of factor (k, t, 2, 2) becomes block(t, place)."""
    for number, factor in enumerate(layer.factors):
        blocks, t = factor.shape[:2]
        values = torch.stack([block(t, place) for place in range(t)]).expand(blocks, t, 2, 2)
        layer.factors[number] = nn.Parameter(values.clone())
    return layer


@pytest.mark.parametrize("power", range(1, 9))
def test_a_hadamard_matrix_is_a_butterfly_exactly(power):
    layer = fill(
        ButterflyLinear(square(2**power)), lambda t, place: torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    )
    assert np.array_equal(layer.dense().detach().numpy(), scipy.linalg.hadamard(2**power))


@pytest.mark.parametrize("power", range(1, 7))
def test_the_fourier_matrix_is_a_butterfly_after_bits_are_reversed(power):
    """Cooley and Tukey: halves of length t are joined by the roots of unity e^(−πi·place / t)."""
    n = 2**power

    def block(t, place):
        root = np.exp(-1j * np.pi * place / t)
        return torch.tensor([[1, root], [1, -root]], dtype=torch.complex128)

    layer = fill(ButterflyLinear(square(n), bias=False), block)
    reversed_bits = [int(f"{i:0{power}b}"[::-1], 2) for i in range(n)]
    assert_allclose(layer.dense().detach(), np.fft.fft(np.eye(n))[:, reversed_bits], atol=1e-12)
    x = torch.randn(3, n, dtype=torch.complex128)
    assert_allclose(layer(x[:, reversed_bits]).detach(), np.fft.fft(x.numpy()), atol=1e-12)


# ---------------------------------------------------------------- the first weights


def mean_square(layers):
    """The variance of W·x for x of variance 1: the squares of a row of W, summed."""
    return np.mean([(layer.dense().detach() ** 2).sum(dim=1).mean().item() for layer in layers])


FORMS = {f"L={length}": smallest(64, 64, length) for length in range(1, 7)}
FORMS |= {
    "shrinking": smallest(32, 288, 3),
    "expanding": smallest(64, 16, 2),
    "long": smallest(16, 144, 2),
}


@pytest.mark.parametrize("chain", FORMS.values(), ids=FORMS)
def test_the_first_outputs_vary_as_those_of_a_linear_layer(chain):
    torch.manual_seed(1)
    found = mean_square([ButterflyLinear(chain) for _ in range(40)])
    linear = [nn.Linear(chain[0].columns, chain[-1].rows) for _ in range(20)]
    expected = np.mean([(layer.weight.detach() ** 2).sum(dim=1).mean().item() for layer in linear])
    assert expected == pytest.approx(1 / 3, rel=0.02)
    assert found == pytest.approx(expected, rel=0.08)


@each
def test_the_first_weights_are_uniform_to_a_bound(chain):
    layers = [ButterflyLinear(chain) for _ in range(60)]
    for number, factor in enumerate(chain):
        bound = math.sqrt(3 ** (1 - 1 / len(chain)) / factor.s)
        values = torch.stack([layer.factors[number].detach() for layer in layers]).flatten() / bound
        assert -1 <= values.min() < -0.97
        assert 0.97 < values.max() <= 1
        assert values.square().mean().item() == pytest.approx(1 / 3, rel=0.1)
    biases = torch.stack([layer.bias.detach() for layer in layers]).flatten() * math.sqrt(
        chain[0].columns
    )
    assert -1 <= biases.min() < -0.95
    assert 0.95 < biases.max() <= 1


def test_the_seed_decides_the_first_weights():
    first, second, other = (butterfly_of_seed(seed) for seed in (3, 3, 4))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def butterfly_of_seed(seed):
    torch.manual_seed(seed)
    return ButterflyLinear(square(8)).dense()


# ---------------------------------------------------------------- convolutions

CONVOLUTIONS = [
    {"padding": 1},
    {"stride": 2, "padding": 1},
    {"padding": 2, "dilation": 2, "bias": False},
    {"padding": "same"},
    {"stride": (1, 2), "padding": (2, 0), "kernel_size": (2, 3)},
    {"kernel_size": 5, "padding": 2},
    {"kernel_size": (3, 1)},
]


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("options", CONVOLUTIONS)
def test_a_convolution_is_its_matrix_on_patches(options, length):
    """`unfold` lists a patch channel by channel; the chain wants it place by place."""
    dense = nn.Conv2d(4, 8, **{"kernel_size": 3} | options)
    layer, x = butterfly(dense, length), torch.randn(2, 4, 7, 9)
    assert len(layer.factors) == length
    assert (layer.bias is None) == (dense.bias is None)
    places = math.prod(dense.kernel_size)
    padding = 1 if dense.padding == "same" else dense.padding
    settings = {"stride": dense.stride, "dilation": dense.dilation, "padding": padding}
    patches = F.unfold(x, dense.kernel_size, **settings)
    patches = patches.reshape(2, 4, places, -1).transpose(1, 2).reshape(2, 4 * places, -1)
    expected = product(layer) @ patches
    if dense.bias is not None:
        expected = expected + layer.bias[:, None]
    assert layer(x).shape == dense(x).shape
    assert_allclose(layer(x).flatten(2).detach(), expected.detach(), atol=1e-5)


def test_the_columns_of_a_convolution_run_over_the_kernel_before_the_channels():
    layer = butterfly(nn.Conv2d(3, 4, (2, 5)), 2)
    matrix, kernel = product(layer).detach(), layer.kernel().detach()
    assert kernel.shape == (4, 3, 2, 5)
    for row, channel, height, width in np.ndindex(*kernel.shape):
        column = (height * 5 + width) * 3 + channel
        assert kernel[row, channel, height, width] == pytest.approx(
            matrix[row, column].item(), abs=1e-6
        )


def test_gradients_of_a_convolution_are_those_of_the_dense_product():
    layer = butterfly(nn.Conv2d(4, 8, 3, padding=1), 3).double()
    x = torch.randn(3, 4, 6, 6, dtype=torch.float64)
    found = torch.autograd.grad(layer(x).square().sum(), [*layer.factors, layer.bias])
    kernel = product(layer).reshape(8, 3, 3, 4).permute(0, 3, 1, 2)
    dense = F.conv2d(x, kernel, layer.bias, padding=1)
    expected = torch.autograd.grad(dense.square().sum(), [*layer.factors, layer.bias])
    for one, other in zip(found, expected, strict=True):
        assert one.abs().min() > 0
        assert_allclose(one, other, rtol=1e-8, atol=1e-10)


# ---------------------------------------------------------------- projection


def difference(matrix, factors, chain):
    layer = ButterflyLinear(chain).double()
    layer.factors = nn.ParameterList(factors)
    return (product(layer).detach() - matrix).norm().item()


@each
def test_a_product_of_such_factors_is_projected_exactly(chain):
    layer = ButterflyLinear(chain).double()
    matrix = product(layer).detach()
    found = projected(matrix, chain)
    assert [factor.shape for factor in found] == [factor.shape for factor in layer.factors]
    assert difference(matrix, found, chain) < 1e-12 * matrix.norm()


@pytest.mark.parametrize(
    "chain", [*chains(4, 6, 3, trivial=True), *chains(6, 4, 3, trivial=True), square(32)]
)
def test_every_chain_is_projected_exactly(chain):
    layer = ButterflyLinear(chain).double()
    matrix = product(layer).detach()
    assert difference(matrix, projected(matrix, chain), chain) < 1e-11 * matrix.norm()


def alternating(matrix, chain, *, starts=12, sweeps=60):
    """The least distance that least squares reaches, a factor at a time, from many starts."""
    first, second = (factor.support() for factor in chain)
    rng, least = np.random.default_rng(0), math.inf
    for _ in range(starts):
        right, left = rng.normal(size=first.shape) * first, np.zeros(second.shape)
        for _ in range(sweeps):
            for row, where in enumerate(second):
                left[row, where] = np.linalg.lstsq(right[where].T, matrix[row], rcond=None)[0]
            for column, where in enumerate(first.T):
                right[where, column] = np.linalg.lstsq(
                    left[:, where], matrix[:, column], rcond=None
                )[0]
        least = min(least, np.linalg.norm(matrix - left @ right))
    return least


TWO = {name: CHAINS[name] for name in ("shrinking", "expanding", "between sizes")} | {
    "square": smallest(8, 8, 2)
}


@pytest.mark.parametrize("chain", TWO.values(), ids=TWO)
def test_two_factors_are_the_nearest(chain):
    """Each inner place joins its own rows and columns: all but the first singular value of that
    block is lost.
    """
    matrix = torch.randn(chain[-1].rows, chain[0].columns, dtype=torch.float64)
    lost, seen = 0.0, np.zeros(matrix.shape, int)
    for inner in range(chain[0].rows):
        block = np.ix_(chain[1].support()[:, inner], chain[0].support()[inner])
        seen[block] += 1
        lost += (np.linalg.svd(matrix.numpy()[block], compute_uv=False)[1:] ** 2).sum()
    assert (seen == 1).all()
    found = difference(matrix, projected(matrix, chain), chain)
    assert found == pytest.approx(math.sqrt(lost), rel=1e-9)


def test_least_squares_from_many_starts_comes_no_nearer():
    chain = smallest(4, 8, 2)
    matrix = torch.randn(4, 8, dtype=torch.float64)
    found = difference(matrix, projected(matrix, chain), chain)
    assert found == pytest.approx(alternating(matrix.numpy(), chain), rel=1e-6)


@each
def test_a_projection_is_nearer_than_any_random_product(chain):
    """Even when each random product is scaled as well as it can be."""
    matrix = torch.randn(chain[-1].rows, chain[0].columns, dtype=torch.float64)
    found = difference(matrix, projected(matrix, chain), chain)
    for _ in range(50):
        other = product(ButterflyLinear(chain).double()).detach()
        other *= (matrix * other).sum() / other.square().sum()
        assert found < (matrix - other).norm()
    assert found <= matrix.norm()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_projected_linear_layer_keeps_its_bias_and_what_fits(length):
    dense = nn.Linear(24, 8)
    dense.weight.data = product(ButterflyLinear(smallest(8, 24, length))).detach()
    layer, x = butterfly(dense, length, project=True), torch.randn(5, 24)
    assert_allclose(layer(x).detach(), dense(x).detach(), atol=1e-5)
    assert torch.equal(layer.bias, dense.bias)
    assert all(
        isinstance(parameter, nn.Parameter) and parameter.requires_grad
        for parameter in layer.parameters()
    )


@pytest.mark.parametrize("length", [1, 2])
def test_a_projected_convolution_keeps_what_fits(length):
    dense = nn.Conv2d(4, 8, (3, 2), stride=2, padding=1)
    dense.weight.data = butterfly(dense, length).kernel().detach()
    layer, x = butterfly(dense, length, project=True), torch.randn(5, 4, 8, 8)
    assert_allclose(layer.kernel().detach(), dense.weight.detach(), atol=1e-5)
    assert_allclose(layer(x).detach(), dense(x).detach(), atol=1e-5)


def test_without_projection_the_weights_are_new():
    dense = nn.Linear(24, 8)
    first, second = (butterfly(dense, 1, project=project) for project in (False, True))
    assert not torch.allclose(first.dense(), dense.weight)
    assert_allclose(second.dense().detach(), dense.weight.detach(), atol=1e-6)
    assert not torch.equal(first.bias, dense.bias)


def test_a_projection_leaves_the_layer_as_it_was():
    dense = nn.Conv2d(4, 8, 3)
    before = dense.weight.detach().clone()
    layer = butterfly(dense, 2, project=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    assert torch.equal(dense.weight, before)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("dense", [nn.Linear(12, 8), nn.Conv2d(2, 8, 3)])
def test_a_layer_in_double_precision_stays_so(dense, project):
    layer = butterfly(dense.double(), 2, project=project)
    assert {parameter.dtype for parameter in layer.parameters()} == {torch.float64}


# ---------------------------------------------------------------- networks


def resnet(**options):
    return models.build("resnet20", shape=(3, 32, 32), classes=10, **options)


def count(network):
    return sum(parameter.numel() for parameter in network.parameters())


TABLE = {(1, 2): 32.3, (2, 2): 15.9, (3, 2): 11.8, (1, 3): 29.6, (2, 3): 12.7, (3, 3): 8.5}


@pytest.mark.parametrize(("segments", "factors"), TABLE)
def test_table_1_from_the_networks_themselves(segments, factors):
    """The paper prints 12.9 for S = 2, L = 3, which no rule that we tried gives."""
    share = 100 * count(resnet(segments=segments, factors=factors)) / count(resnet())
    assert share == pytest.approx(TABLE[segments, factors], abs=0.051)
    exact = {
        (3, 2): 11.79,
        (2, 2): 15.95,
        (1, 2): 32.26,
        (1, 3): 29.61,
        (2, 3): 12.73,
        (3, 3): 8.50,
    }
    assert share == pytest.approx(exact[segments, factors], abs=0.005)


@pytest.mark.parametrize("segments", [0, 1, 2, 3])
def test_only_the_3x3_convolutions_of_the_last_segments_change(segments):
    network, dense = resnet(segments=segments, factors=2), resnet()
    blocks = [module for module in network.modules() if isinstance(module, models.Block)]
    assert len(blocks) == 9
    for number, block in enumerate(blocks):
        kind = ButterflyConv2d if number >= 9 - 3 * segments else nn.Conv2d
        assert type(block.conv1) is type(block.conv2) is kind
    assert sum(isinstance(module, ButterflyLayer) for module in network.modules()) == 6 * segments
    changed = {
        f"{name}.{which}"
        for name in names_of(network, models.Block)
        for which in ("conv1", "conv2")
    }
    for name, module in dense.named_modules():
        if isinstance(module, nn.Conv2d | nn.Linear | nn.BatchNorm2d) and name not in changed:
            assert type(network.get_submodule(name)) is type(module)
            assert network.get_submodule(name).weight.shape == module.weight.shape
    assert isinstance(network.features[0], nn.Conv2d)
    assert isinstance(network.classify, nn.Linear)
    assert (
        sum(
            module.kernel_size == (1, 1)
            for module in network.modules()
            if isinstance(module, nn.Conv2d)
        )
        == 2
    )


def names_of(network, kind):
    return [name for name, module in network.named_modules() if isinstance(module, kind)]


@pytest.mark.parametrize("factors", [2, 3])
def test_a_butterfly_network_has_the_shapes_of_the_dense_one(factors):
    network, x = resnet(segments=3, factors=factors, width=8).eval(), torch.randn(2, 3, 32, 32)
    dense = resnet(width=8).eval()
    for one, other in zip(network.features, dense.features, strict=True):
        inner = one(x)
        assert inner.shape == other(x).shape
        x = inner
    for module in network.modules():
        if isinstance(module, ButterflyConv2d):
            assert len(module.factors) == factors
            assert module.bias is None
            assert module.columns == 9 * module.kernel().shape[1]


def test_converted_networks_say_what_the_network_of_their_matrices_says():
    """Every butterfly's kernel is put into the convolution of a dense network."""
    network, dense, x = resnet(segments=2, width=4), resnet(width=4), torch.randn(3, 3, 16, 16)
    butterflies = {name: network.get_submodule(name) for name in names_of(network, ButterflyLayer)}
    rest = {name: value for name, value in network.state_dict().items() if ".factors." not in name}
    kernels = {
        f"{name}.weight": product(layer).reshape(layer.rows, 3, 3, -1).permute(0, 3, 1, 2).detach()
        for name, layer in butterflies.items()
    }
    dense.load_state_dict(rest | kernels)
    assert len(kernels) == 12
    assert_allclose(network.eval()(x).detach(), dense.eval()(x).detach(), atol=1e-5)
    assert_allclose(network.train()(x).detach(), dense.train()(x).detach(), atol=1e-4)
    convert(dense, 2, within=dense.features[6:], project=True)  # the last two segments
    assert len(names_of(dense, ButterflyLayer)) == 12
    assert_allclose(dense.eval()(x).detach(), network.eval()(x).detach(), atol=1e-4)


@pytest.mark.parametrize("project", [False, True])
def test_a_network_in_double_precision_is_changed_and_trains(project):
    network = models.build("resnet20", shape=(1, 8, 8), classes=10, width=4).double()
    convert(network, 2, within=network.features[6:], project=project)
    network.to(device="cpu")
    x = torch.randn(4, 1, 8, 8, dtype=torch.float64)
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float64}
    network.train()(x).square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in network.parameters())
    assert network.eval()(x).dtype == torch.float64


def test_convert_changes_what_it_is_given_in_place_and_nothing_else():
    inner = nn.Sequential(
        nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.Sequential(nn.Conv2d(4, 8, (1, 3)))
    )
    network = nn.Sequential(nn.Conv2d(4, 4, 3), inner, nn.Linear(8, 8))
    assert convert(inner, 2) is inner
    kinds = [type(module) for module in (network[0], inner[0], inner[2], inner[3][0], network[2])]
    assert kinds == [nn.Conv2d, ButterflyConv2d, nn.Conv2d, ButterflyConv2d, nn.Linear]
    with pytest.raises(ValueError, match="There is no convolution"):
        convert(inner, 2)  # They are butterflies already.


def test_a_slice_says_where_and_the_network_itself_changes():
    """A slice of an nn.Sequential is a new one, so what takes a place in the slice alone would be
    lost.
    """
    network = nn.Sequential(*(nn.Conv2d(4, 4, 3) for _ in range(3)))
    convert(network, 2, within=network[1:])
    assert [type(layer) for layer in network] == [nn.Conv2d, ButterflyConv2d, ButterflyConv2d]
    with pytest.raises(ValueError, match="no convolution"):
        convert(network, 2, within=network[:0])  # An empty part is not the whole.


def test_a_layer_that_is_also_outside_the_part_is_refused():
    layer = nn.Conv2d(4, 4, 3)
    network = nn.Sequential(nn.Sequential(layer), nn.Sequential(layer))
    with pytest.raises(ValueError, match="one layer in two places"):
        convert(network, 2, within=network[1])


@pytest.mark.parametrize("factors", [2, 3])
def test_a_butterfly_network_trains_and_every_factor_moves(members, factors):
    network = models.build(
        "resnet20", shape=(1, 8, 8), classes=10, width=8, segments=3, factors=factors
    )
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    history = fit(network, members, Recipe(epochs=2, batch_size=20, lr=0.05), device="cpu")
    assert history[1]["loss"] < history[0]["loss"]
    for name, value in network.named_parameters():
        assert (value != before[name]).float().mean() > 0.9, name


def test_a_saved_butterfly_network_says_the_same_bit_for_bit(tmp_path, others):
    options = {"shape": (1, 8, 8), "classes": 10, "width": 4, "segments": 2, "factors": 3}
    network, again = (models.build("resnet20", seed=seed, **options) for seed in (0, 1))
    fit(network, others, Recipe(epochs=1, batch_size=25, lr=0.05), device="cpu")
    safetensors.torch.save_model(network, str(tmp_path / "weights"))
    safetensors.torch.load_model(again, str(tmp_path / "weights"))
    again.to(memory_format=torch.channels_last)  # as `fit` lays the weights out
    assert np.array_equal(predict(network, others), predict(again, others))
    for name, value in network.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_a_butterfly_run_is_kept_and_read(tiny, store):
    butterflies = tiny.but(model="resnet20", options={"width": 4, "segments": 3, "factors": 2})
    run = runs.get(butterflies, store=store)
    model = run.load_model()
    assert len(names_of(model, ButterflyLayer)) == 18
    logits = np.concatenate([predict(model, part) for part in (run.side.train, run.side.test)])
    assert_allclose(logits, run.signals.logits, atol=1e-4)
    read = runs.get(butterflies, store=store).load_model().to(memory_format=torch.channels_last)
    again = np.concatenate([predict(read, part) for part in (run.side.train, run.side.test)])
    assert np.array_equal(again, run.signals.logits)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (square(8)[::-1], "Factor 1 must have 8 = k·r·t rows, 8 = k·s·t columns and t = 1"),
        (square(8)[:2], "must end with one block and 8 rows"),
        ((*square(4), *square(8)[2:]), "Factor 3 must have .* 4 = k·s·t columns"),
    ],
)
@pytest.mark.parametrize(
    "make", [ButterflyLinear, lambda chain: ButterflyConv2d(chain, kernel_size=(1, 1))]
)
def test_a_layer_of_a_chain_that_does_not_fit_is_refused(make, chain, expected):
    with pytest.raises(ValueError, match=expected):
        make(chain)


@pytest.mark.parametrize(
    "make", [ButterflyLinear, lambda chain: ButterflyConv2d(chain, kernel_size=(1, 1))]
)
def test_a_layer_of_no_factors_is_refused(make):
    with pytest.raises(
        ValueError, match=r"at least one factor, found an empty chain\. See chains\.smallest"
    ):
        make(())


@pytest.mark.parametrize("shape", [(4,), (3, 4), (4, 16), (8, 1), (0, 4)])
def test_an_input_of_another_size_is_refused(shape):
    with pytest.raises(ValueError, match=r"must be the layer's 8 columns; found shape \("):
        ButterflyLinear(square(8))(torch.zeros(shape))


def test_a_convolution_cannot_take_its_own_place():
    layer = nn.Conv2d(4, 4, 3)
    with pytest.raises(
        ValueError,
        match=r"cannot be changed in place\. Take what butterfly\(layer, length\) returns",
    ):
        convert(layer, 2)
    assert not list(layer.children())


@pytest.mark.parametrize("shape", [(4, 8), (8, 4), (8, 16), (16, 8)])
def test_a_matrix_of_another_shape_is_not_projected(shape):
    with pytest.raises(ValueError, match=r"must (have|end)"):
        projected(torch.zeros(shape), square(8))


def test_a_network_without_large_convolutions_is_refused():
    for part in (
        nn.Linear(4, 4),
        nn.Sequential(nn.Conv2d(4, 4, 1), nn.Conv1d(4, 4, 3)),
        nn.Sequential(),
    ):
        with pytest.raises(
            ValueError, match=f"no convolution with a kernel above 1×1 .* {type(part).__name__}"
        ):
            convert(part, 2)


def shared_by_module():
    layer = nn.Conv2d(4, 4, 3)
    return nn.Sequential(layer, nn.ReLU(), layer)


def shared_by_block():
    block = nn.Sequential(nn.Conv2d(4, 4, 3))
    return nn.Sequential(block, nn.ReLU(), block)


def shared_by_weight():
    network = nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
    network[2].weight = network[0].weight
    return network


@pytest.mark.parametrize("make", [shared_by_module, shared_by_block, shared_by_weight])
def test_a_layer_in_two_places_is_refused_and_left(make):
    network = make()
    with pytest.raises(
        ValueError, match=r"Some of 0(\.0)?, 2(\.0)? are one layer in two places\. Give each"
    ):
        convert(network, 2)
    assert not names_of(network, ButterflyLayer)


@pytest.mark.parametrize("project", [False, True])
def test_groups_are_refused(project):
    with pytest.raises(ValueError, match=r"in 2 groups is not one matrix\. Only groups=1"):
        convert(nn.Sequential(nn.Conv2d(4, 4, 3, groups=2)), 2, project=project)


@pytest.mark.parametrize("length", [0, -1, 1.5, math.nan, None])
def test_a_length_that_is_none_is_refused(length):
    with pytest.raises(ValueError, match="length must be a whole number, at least 1"):
        convert(nn.Sequential(nn.Conv2d(4, 4, 3)), length)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"segments": 4}, "segments must be a whole number in 0 … 3, found 4"),
        ({"segments": -1}, "segments must be a whole number in 0 … 3, found -1"),
        ({"segments": 1.5}, "segments must be a whole number"),
        ({"segments": 1, "factors": 0}, "must be a whole number, at least 1, found 0"),
        (
            {"segments": 3, "factors": 5},
            "No chain of 5 factors makes a 16 × 144 matrix; .* take fewer factors",
        ),
        ({"segments": 1, "factors": 7}, "No chain of 7 factors makes a 64 × 288 matrix"),
        ({"segments": 3, "width": 3}, "No chain of 2 factors makes a 3 × 27 matrix"),
    ],
)
def test_segments_and_factors_that_cannot_be_are_refused(options, expected):
    with pytest.raises(ValueError, match=expected):
        resnet(**options)
