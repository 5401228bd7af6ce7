"""A butterfly layer against a dense one, and a masked training step against a plain one.

The layers go forward alone, and forward and backward.

One thread; five calls a turn, so that each finds its own weights in the cache, as it would in use.
Memory is what a layer's parameters take, and with the backward pass also what torch keeps for it,
as a share of the dense layer's. The exponents are fitted to the seconds over N: 2 is quadratic;
N^1.5, which two factors cost, looks nearly linear here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.timing import Row, fastest
from mialib import models
from mialib.course.costs import one_thread
from mialib.sparsity import chains
from mialib.sparsity.butterfly import ButterflyLinear
from mialib.sparsity.magnitude import hold, smallest_pruned
from mialib.training import Recipe

SIZES = (256, 1024, 4096)
BATCH = 128
CALLS = 5
AIMS = {(1024, 2): 5, (4096, 2): 15, (4096, 12): 3}  # times as fast as dense, forward


def rows() -> list[Row]:
    with one_thread():
        return [masked_row(), *(row for n in SIZES for row in layer_rows(n))]


def lengths(n: int) -> tuple[int, ...]:
    """The numbers of factors that are tried for an N × N layer; the last is log₂ N."""
    return 2, 3, 4, n.bit_length() - 1


def layer_rows(n: int) -> list[Row]:
    dense = nn.Linear(n, n)
    x = torch.randn(BATCH, n)
    rows = []
    for length in lengths(n):
        sparse = ButterflyLinear(chains.smallest(n, n, length))
        for work, rounds in ((forward, 40_000), (both_ways, 20_000)):
            share = 100 * memory(sparse, x, work) / memory(dense, x, work)
            turns = fastest(partial(work, sparse, x), partial(work, dense, x), rounds=rounds // n)
            seconds, baseline = (turn / CALLS for turn in turns)
            aim = AIMS.get((n, length)) if work is forward else None
            what = f"{layer_name(n, length, work)}, {share:.1f} % of the memory"
            rows.append(Row(what, seconds, baseline, aim))
    return rows


def layer_name(n: int, length: int, work: Callable) -> str:
    ending = ", with backward" if work is both_ways else ""
    return f"butterfly, N = {n}, L = {length}{ending}"


def memory(layer: nn.Module, x: Tensor, work: Callable) -> int:
    """Bytes of the parameters, and of the other tensors that are kept for a backward pass."""
    kept = {weight.untyped_storage().data_ptr(): weight.nbytes for weight in layer.parameters()}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    if work is both_ways:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            # The graph of the output holds them all, so that no place in memory is used twice.
            out = layer(x.detach().requires_grad_())
        del out
    return sum(kept.values())


def forward(layer: nn.Module, x: Tensor) -> None:
    with torch.no_grad():
        for _ in range(CALLS):
            layer(x)


def both_ways(layer: nn.Module, x: Tensor) -> None:
    x = x.detach().requires_grad_()
    for _ in range(CALLS):
        layer(x).sum().backward()


def masked_row() -> Row:
    """A step of a ResNet-20 with 80 % of its weights held at zero: at most 1.05 dense steps."""
    masked = models.build("resnet20", shape=(3, 32, 32), classes=10)
    dense = models.build("resnet20", shape=(3, 32, 32), classes=10)
    hold(masked, smallest_pruned(masked, 0.8))
    x = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    y = torch.arange(BATCH) % 10
    recipe = Recipe(lr=1e-3)
    steps = [partial(step, net, recipe.optimizer(net), x, y) for net in (masked, dense)]
    what = "masked training step, ResNet-20, 80 % pruned, against dense"
    return Row(what, *fastest(*steps, rounds=8), 0.95)


def step(network: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> None:
    network.to(memory_format=torch.channels_last)
    optimizer.zero_grad()
    F.cross_entropy(network(x), y).backward()
    optimizer.step()


def print_exponents(rows: list[Row]) -> None:
    """How the seconds grow with N, forward and with the backward pass, for each kind of layer."""

    def row_of(n: int, place: int, work: Callable) -> Row:
        start = layer_name(n, lengths(n)[place], work) + ", "
        return next(r for r in rows if r.what.startswith(start) and r.what[len(start)].isdigit())

    for work in (forward, both_ways):
        ending = ", with backward" if work is both_ways else ""
        print_exponent(f"a dense layer{ending}", [row_of(n, 0, work).baseline for n in SIZES])
        for place, length in enumerate((2, 3, 4, "log₂ N")):
            seconds = [row_of(n, place, work).seconds for n in SIZES]
            print_exponent(f"a butterfly with L = {length}{ending}", seconds)


def print_exponent(what: str, seconds: list[float]) -> None:
    power = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
    print(f"{what + ': seconds grow with N to the power of':<74}{power:>9.2f}")
