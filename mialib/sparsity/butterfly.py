"""Layers whose matrix is a butterfly chain, the change of a network's layers into them, and the way back.

    layer = ButterflyLinear(chains.smallest(64, 256, 2))        # 256 → 64, in place of nn.Linear(256, 64)
    convert(network, 3, within=network.features[-5:])           # every 3×3 convolution there, in three factors
    layer.dense()                                               # (rows, columns), to look at

Between factors the features come first and the batch last, so that a factor is one batched product of small blocks."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.errors import refuse
from mialib.sparsity.chains import Chain, check, smallest


class Butterfly(nn.Module):
    """The factors of a chain; each is a parameter (k, t, r, s) with nothing in it but what may differ from 0.

    The entries are drawn from U(−b, b), b² = 3^(1 − 1/L) / s: then W·x has the variance of torch's own linear layer
    for every L. With torch's b² = 1 / s in each factor it would shrink by three with every factor more."""

    def __init__(self, chain: Chain, *, bias: bool = True):
        super().__init__()
        refuse(
            not chain,
            "A butterfly needs at least one factor, found an empty chain. See chains.smallest.",
        )
        self.chain, self.rows, self.columns = chain, chain[-1].rows, chain[0].columns
        check(chain, rows=self.rows, columns=self.columns)
        self.factors = nn.ParameterList(torch.empty(f.blocks, f.t, f.r, f.s) for f in chain)
        self.bias = nn.Parameter(torch.empty(self.rows)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for factor in self.factors:
            bound = math.sqrt(3 ** (1 - 1 / len(self.chain)) / factor.shape[-1])
            nn.init.uniform_(factor, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -1 / math.sqrt(self.columns), 1 / math.sqrt(self.columns))

    def apply_chain(self, x: Tensor) -> Tensor:
        """W·x for x (columns, n): (rows, n)."""
        for factor in self.factors:
            blocks, t, r, s = factor.shape
            x = x.reshape(blocks, s, t, -1).transpose(1, 2)  # (k, t, s, n)
            x = torch.bmm(factor.flatten(0, 1), x.reshape(blocks * t, s, -1))  # (k·t, r, n)
            x = x.reshape(blocks, t, r, -1).transpose(1, 2)  # (k, r, t, n)
        return x.reshape(self.rows, -1)

    def dense(self) -> Tensor:
        """The matrix W: (rows, columns)."""
        return self.apply_chain(
            torch.eye(self.columns, dtype=self.factors[0].dtype, device=self.factors[0].device)
        )

    def extra_repr(self) -> str:
        return ", ".join(f"{f.rows}×{f.columns} (r={f.r}, s={f.s}, t={f.t})" for f in self.chain)


class ButterflyLinear(Butterfly):
    """In place of nn.Linear(columns, rows)."""

    def forward(self, x: Tensor) -> Tensor:
        found = f"found shape {tuple(x.shape)}"
        refuse(
            x.shape[-1] != self.columns,
            f"The last dimension must be the layer's {self.columns} columns; {found}.",
        )
        y = self.apply_chain(x.reshape(-1, self.columns).T).T.reshape(*x.shape[:-1], self.rows)
        return y if self.bias is None else y + self.bias


class ButterflyConv2d(Butterfly):
    """In place of nn.Conv2d. W is rows × (k²·channels), with columns ordered by place in the kernel, then by channel.

    A step has far more positions in its images than W has columns. So W is multiplied out once a step, and torch's own
    convolution, which is faster than our product of patches, slides it over the images."""

    def __init__(self, chain: Chain, *, kernel_size: tuple[int, int], bias: bool = True, **options):
        super().__init__(chain, bias=bias)
        found = f"found {self.columns} columns for {kernel_size}"
        refuse(
            self.columns % math.prod(kernel_size),
            f"The columns must be channels × places of the kernel; {found}.",
        )
        self.kernel_size, self.options = kernel_size, options  # stride, padding and dilation

    def kernel(self) -> Tensor:
        """W as a convolution's weight: (rows, channels, height, width)."""
        return self.dense().reshape(self.rows, *self.kernel_size, -1).permute(0, 3, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.kernel(), self.bias, **self.options)


def convert(
    network: nn.Module, length: int, *, within: nn.Module | None = None, project=False
) -> nn.Module:
    """Change, in place, every convolution of `network` with a kernel above 1×1, or those that are also `within` a part
    or slice of it, into a butterfly of `length` factors; with `project`, as near to its weights as one singular vector
    a block allows, else with fresh ones."""
    refuse(
        _large(network),
        "A convolution cannot be changed in place. Take what butterfly(layer, length) returns.",
    )
    chosen = {
        module for module in (network if within is None else within).modules() if _large(module)
    }
    found = {
        name: module
        for name, module in network.named_modules(remove_duplicate=False)
        if module in chosen
    }
    refuse(
        not found,
        f"There is no convolution with a kernel above 1×1 to change in {type(network).__name__}.",
    )
    shared = len(set([layer.weight for layer in found.values()])) < len(found)
    refuse(
        shared,
        f"Some of {', '.join(found)} are one layer in two places. Give each place a layer of its own.",
    )
    made = {
        name: butterfly(layer, length, project=project) for name, layer in found.items()
    }  # All, before any moves.
    for name, layer in made.items():
        parent, _, last = name.rpartition(".")
        setattr(network.get_submodule(parent), last, layer)
    return network


def butterfly(layer: nn.Conv2d | nn.Linear, length: int, *, project: bool = False) -> Butterfly:
    """The layer as a butterfly with the fewest parameters; see `convert`."""
    if isinstance(layer, nn.Conv2d):
        refuse(
            layer.groups > 1,
            f"A convolution in {layer.groups} groups is not one matrix. Only groups=1 can change.",
        )
        padding = layer.padding_mode
        refuse(
            padding != "zeros",
            f"Only padding_mode='zeros' can change, found {padding!r}. Pad before the layer.",
        )
        matrix = (
            layer.weight.detach().permute(0, 2, 3, 1).flatten(1)
        )  # (out, k²·in), places before channels
        options = {
            name: getattr(layer, name) for name in ("kernel_size", "stride", "padding", "dilation")
        }
        made = ButterflyConv2d(
            smallest(*matrix.shape, length), bias=layer.bias is not None, **options
        )
    else:
        refuse(
            not isinstance(layer, nn.Linear),
            f"Only Conv2d and Linear can become butterflies, found {layer}.",
        )
        matrix = layer.weight.detach()
        made = ButterflyLinear(smallest(*matrix.shape, length), bias=layer.bias is not None)
    made.to(matrix.device, matrix.dtype)  # before the projection, which would be rounded
    if project:
        with torch.no_grad():
            for factor, nearest in zip(made.factors, projected(matrix, made.chain), strict=True):
                factor.copy_(nearest)
            if layer.bias is not None:
                made.bias.copy_(layer.bias)
    return made


def projected(matrix: Tensor, chain: Chain) -> list[Tensor]:
    """Factors (k, t, r, s) whose product is near `matrix`: the nearest for two factors, exact for any chain if the
    matrix is such a product.

    Where a first factor ends and the rest begins, each inner place joins r·s entries of the matrix, and the product
    makes that block of rank one: its largest singular pair is the best choice (Le, Zheng et al. 2022)."""
    check(chain, rows=matrix.shape[0], columns=matrix.shape[1])
    rest, found = (
        matrix[None],
        [],
    )  # (t, r, s) of the factor that all those not yet found make together
    for factor in chain[:-1]:
        t, r, s = rest.shape
        blocks = rest.reshape(t, r // factor.r, factor.r, s // factor.s, factor.s).permute(
            3, 2, 0, 1, 4
        )
        u, sizes, v = torch.linalg.svd(blocks, full_matrices=False)  # blocks (k, r₁, t; r₂, s₁)
        scale = sizes[..., :1].sqrt()
        found.append((scale * v[..., 0, :]).transpose(1, 2))  # (k, t, r₁, s₁)
        rest = (scale * u[..., 0]).permute(1, 2, 3, 0).flatten(0, 1)  # (r₁·t, r₂, k)
    return [*found, rest[None]]


def _large(module: nn.Module) -> bool:
    return isinstance(module, nn.Conv2d) and max(module.kernel_size) > 1
