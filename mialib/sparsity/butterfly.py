"""Layers whose matrix is a butterfly chain, how a network's layers become them, and the way back.

    layer = ButterflyLinear(chains.smallest(64, 256, 2))    # in place of nn.Linear(256, 64)
    convert(network, 3, within=network.features[-5:])       # every 3×3 convolution there
    layer.dense()                                           # (rows, columns), to look at

Between factors the features come first and the batch last, so that a factor is one batched product
of small blocks. Introduced in notebook 13.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.errors import check_flag, check_range, plain_tuple
from mialib.sparsity.chains import Chain, check, check_factors, smallest


class ButterflyLayer(nn.Module):
    """The factors of a chain; each is a parameter (k, t, r, s) of what may differ from 0.

    The entries are drawn from U(−b, b), b² = 3^(1 − 1/L) / s: then W·x has the variance of torch's
    own linear layer for every L. With torch's b² = 1 / s in each factor it would shrink by three
    with every factor more.
    """

    def __init__(self, chain: Chain, *, bias: bool = True):
        super().__init__()
        check_factors(chain)
        check_flag(bias=bias)
        if not chain:
            raise ValueError(
                "A butterfly needs at least one factor, found an empty chain. See chains.smallest."
            )
        self.chain = chain
        self.rows = chain[-1].rows
        self.columns = chain[0].columns
        check(chain, rows=self.rows, columns=self.columns)
        self.factors = nn.ParameterList(torch.empty(f.blocks, f.t, f.r, f.s) for f in chain)
        self.bias = nn.Parameter(torch.empty(self.rows)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first weights."""
        for factor in self.factors:
            s = factor.shape[-1]
            bound = math.sqrt(3 ** (1 - 1 / len(self.chain)) / s)
            nn.init.uniform_(factor, -bound, bound)
        if self.bias is not None:
            bound = 1 / math.sqrt(self.columns)
            nn.init.uniform_(self.bias, -bound, bound)

    def apply_chain(self, x: Tensor) -> Tensor:
        """W·x for x (columns, n): (rows, n)."""
        for factor in self.factors:
            blocks, t, r, s = factor.shape
            x = x.reshape(blocks, s, t, -1).transpose(1, 2)  # (k, t, s, n)
            x = x.reshape(blocks * t, s, -1)
            x = torch.bmm(factor.flatten(0, 1), x)  # (k·t, r, n)
            x = x.reshape(blocks, t, r, -1).transpose(1, 2)  # (k, r, t, n)
        return x.reshape(self.rows, -1)

    def dense(self) -> Tensor:
        """The matrix W: (rows, columns)."""
        first = self.factors[0]
        return self.apply_chain(torch.eye(self.columns, dtype=first.dtype, device=first.device))

    def extra_repr(self) -> str:
        return ", ".join(f"{f.rows}×{f.columns} (r={f.r}, s={f.s}, t={f.t})" for f in self.chain)


class ButterflyLinear(ButterflyLayer):
    """In place of nn.Linear(columns, rows)."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] != self.columns:
            raise ValueError(
                f"The last dimension must be the layer's {self.columns} columns; "
                f"found shape {tuple(x.shape)}."
            )
        flat = x.reshape(-1, self.columns)  # (…, columns) → (n, columns)
        y = self.apply_chain(flat.T).T.reshape(*x.shape[:-1], self.rows)
        return y if self.bias is None else y + self.bias


class ButterflyConv2d(ButterflyLayer):
    """In place of nn.Conv2d. W is rows × (k²·channels).

    Its columns are ordered by place in the kernel, then by channel. A step has far more positions
    in its images than W has columns. So W is multiplied out once a step, and torch's own
    convolution, which is faster than a product of patches, slides it over the images. `options` are
    those of the convolution: stride, padding and dilation.
    """

    def __init__(self, chain: Chain, *, kernel_size: tuple[int, ...], bias: bool = True, **options):
        super().__init__(chain, bias=bias)
        kernel_size = plain_tuple(kernel_size)
        if not isinstance(kernel_size, tuple) or not kernel_size:
            raise ValueError(f"kernel_size must be (height, width), found {kernel_size!r}.")
        check_range(1, math.inf, whole=True, many=True, kernel_size=kernel_size)
        if self.columns % math.prod(kernel_size):
            raise ValueError(
                "The columns must be channels × places of the kernel; "
                f"found {self.columns} columns for {kernel_size}."
            )
        self.kernel_size = kernel_size
        self.options = options

    def kernel(self) -> Tensor:
        """W as a convolution's weight: (rows, channels, height, width)."""
        by_place = self.dense().reshape(self.rows, *self.kernel_size, -1)
        return by_place.permute(0, 3, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.kernel(), self.bias, **self.options)


def convert(
    network: nn.Module, length: int, *, within: nn.Module | None = None, project: bool = False
) -> nn.Module:
    """Change, in place, every convolution with a kernel above 1×1 into a butterfly.

    `length` is the number of factors. `within` limits the change to a part or slice of `network`.
    With `project` the butterflies are as near to the old weights as one singular vector per block
    allows; otherwise they have fresh ones.
    """
    check_flag(project=project)
    convolutions = _convolutions_to_change(network, network if within is None else within)
    # All are made before any moves, so that a network is changed as a whole or not at all.
    butterflies = {
        name: butterfly(layer, length, project=project) for name, layer in convolutions.items()
    }
    for name, layer in butterflies.items():
        parent, _, last = name.rpartition(".")
        setattr(network.get_submodule(parent), last, layer)
    return network


def butterfly(
    layer: nn.Conv2d | nn.Linear, length: int, *, project: bool = False
) -> ButterflyLayer:
    """The layer as a butterfly with the fewest parameters; see `convert`."""
    check_flag(project=project)
    matrix = _matrix(layer)
    chain = smallest(matrix.shape[0], matrix.shape[1], length)
    has_bias = layer.bias is not None
    if isinstance(layer, nn.Conv2d):
        made = ButterflyConv2d(
            chain,
            kernel_size=layer.kernel_size,
            bias=has_bias,
            stride=layer.stride,
            padding=layer.padding,
            dilation=layer.dilation,
        )
    else:
        made = ButterflyLinear(chain, bias=has_bias)
    made.to(matrix.device, matrix.dtype)  # before the projection, which would be rounded
    if project:
        _copy_projection(layer, matrix, made)
    return made


def projected(matrix: Tensor, chain: Chain) -> list[Tensor]:
    """Factors (k, t, r, s) whose product is near `matrix`.

    They are the nearest for two factors, and exact for any chain if the matrix is such a product.
    Where a first factor ends and the rest begins, each inner place joins r·s entries of the matrix,
    and the product makes that block of rank one: its largest singular pair is the best choice
    (Le, Zheng et al. 2022).
    """
    if not isinstance(matrix, Tensor) or matrix.ndim != 2:
        shape = tuple(getattr(matrix, "shape", ()))
        raise ValueError(f"Expected a matrix as a tensor (rows, columns), found shape {shape}.")
    check(chain, rows=matrix.shape[0], columns=matrix.shape[1])
    if not torch.isfinite(matrix).all():
        raise ValueError(
            "Expected a matrix of finite numbers, found some that are NaN or infinite."
        )
    factors = []
    rest = matrix[None]  # (t, r, s): what all the factors that are not yet known make together
    for factor in chain[:-1]:
        known, rest = _split_off(rest, r=factor.r, s=factor.s)
        factors.append(known)
    return [*factors, rest[None]]


def _split_off(rest: Tensor, *, r: int, s: int) -> tuple[Tensor, Tensor]:
    """The first factor (k, t, r, s) of `rest` (t, rows, columns), and what is left: (r·t, …, k)."""
    t, rows, columns = rest.shape
    grid = rest.reshape(t, rows // r, r, columns // s, s)
    blocks = grid.permute(3, 2, 0, 1, 4)  # (k, r, t; rows of the rest, s)
    u, sizes, v = torch.linalg.svd(blocks, full_matrices=False)
    scale = sizes[..., :1].sqrt()
    first = (scale * v[..., 0, :]).transpose(1, 2)  # (k, t, r, s)
    left = (scale * u[..., 0]).permute(1, 2, 3, 0)  # (r, t, rows of the rest, k)
    return first, left.flatten(0, 1)


def _copy_projection(layer: nn.Conv2d | nn.Linear, matrix: Tensor, made: ButterflyLayer) -> None:
    with torch.no_grad():
        for factor, nearest in zip(made.factors, projected(matrix, made.chain), strict=True):
            factor.copy_(nearest)
        if made.bias is not None and layer.bias is not None:
            made.bias.copy_(layer.bias)


def _matrix(layer: nn.Conv2d | nn.Linear) -> Tensor:
    """The layer's weight as a matrix (rows, columns); of a convolution, places before channels."""
    if isinstance(layer, nn.Linear):
        return layer.weight.detach()
    if not isinstance(layer, nn.Conv2d):
        raise ValueError(f"Only Conv2d and Linear can become butterflies, found {layer}.")
    if layer.groups > 1:
        raise ValueError(
            f"A convolution in {layer.groups} groups is not one matrix. Only groups=1 can change."
        )
    if layer.padding_mode != "zeros":
        raise ValueError(
            f"Only padding_mode='zeros' can change, found {layer.padding_mode!r}. "
            "Pad before the layer."
        )
    by_place = layer.weight.detach().permute(0, 2, 3, 1)  # (out, height, width, in)
    return by_place.flatten(1)  # (out, k²·in)


def _convolutions_to_change(network: nn.Module, part: nn.Module) -> dict[str, nn.Conv2d]:
    """The convolutions of `network` above 1×1 that are also in `part`, by name."""
    if not isinstance(network, nn.Module) or not isinstance(part, nn.Module):
        found = f"{type(network).__name__} and {type(part).__name__}"
        raise ValueError(f"Expected a torch module and a part of it to change, found {found}.")
    if _is_large(network):
        raise ValueError(
            "A convolution cannot be changed in place. Take what butterfly(layer, length) returns."
        )
    wanted = {module for module in part.modules() if _is_large(module)}
    chosen = {}
    for name, module in network.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Conv2d) and module in wanted:
            chosen[name] = module
    if not chosen:
        raise ValueError(
            "There is no convolution with a kernel above 1×1 to change in "
            f"{type(network).__name__}."
        )
    # The weights are kept in a list, because torch may make a weight anew when it is asked.
    weights = [layer.weight for layer in chosen.values()]
    if len(set(weights)) < len(chosen):
        raise ValueError(
            f"Some of {', '.join(chosen)} are one layer in two places. "
            "Give each place a layer of its own."
        )
    return chosen


def _is_large(module: nn.Module) -> bool:
    return isinstance(module, nn.Conv2d) and max(module.kernel_size) > 1
