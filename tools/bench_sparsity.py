"""A butterfly layer against a dense one, forward and with the backward pass; a masked training step against a plain.

One thread; five calls a turn, so that each finds its own weights in the cache, as it would in use. The exponents are
fitted to the seconds over N: 2 is quadratic; N^1.5, which two factors cost, and N log N look nearly linear here.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from bench_data import fastest
from torch import nn
from torch.nn import functional as F

from mialib import models
from mialib.sparsity import chains
from mialib.sparsity.butterfly import ButterflyLinear
from mialib.sparsity.magnitude import hold, smallest_pruned
from mialib.training import Recipe

SIZES, BATCH, CALLS = (256, 1024, 4096), 128, 5
AIMS = {(1024, 2): 5, (4096, 2): 15, (4096, 12): 3}  # times as fast as dense, forward


def rows() -> list[tuple]:
    """(what, ours, theirs, ratio, aim)."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [*masked_rows(), *(row for n in SIZES for row in layer_rows(n))]
    finally:
        torch.set_num_threads(threads)


def layer_rows(n: int) -> list[tuple]:
    dense, x, found = nn.Linear(n, n), torch.randn(BATCH, n), []
    for length in (2, 3, 4, n.bit_length() - 1):
        sparse = ButterflyLinear(chains.smallest(n, n, length))
        share = 100 * chains.parameters(sparse.chain) / n**2
        what = f"butterfly, N = {n}, L = {length}, {share:.1f} % of the memory"
        ours, theirs = fastest(partial(forward, sparse, x), partial(forward, dense, x), rounds=40_000 // n)
        found.append((what, ours / CALLS, theirs / CALLS, theirs / ours, AIMS.get((n, length), "")))
        ours, theirs = fastest(partial(both_ways, sparse, x), partial(both_ways, dense, x), rounds=20_000 // n)
        found.append((f"{what}, with backward", ours / CALLS, theirs / CALLS, theirs / ours, ""))
    return found


def forward(layer: nn.Module, x: torch.Tensor) -> None:
    with torch.no_grad():
        for _ in range(CALLS):
            layer(x)


def both_ways(layer: nn.Module, x: torch.Tensor) -> None:
    x = x.detach().requires_grad_()
    for _ in range(CALLS):
        layer(x).sum().backward()


def masked_rows() -> list[tuple]:
    """A training step of a ResNet-20 with 80 % of its weights held at zero; at most 1.05 times a dense step."""
    networks = [models.build("resnet20", shape=(3, 32, 32), classes=10) for _ in range(2)]
    hold(networks[0], smallest_pruned(networks[0], 0.8))
    x, y = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last), torch.arange(BATCH) % 10
    steps = [partial(step, network, Recipe(lr=1e-3).optimizer(network), x, y) for network in networks]
    ours, theirs = fastest(*steps, rounds=8)
    return [("masked training step, ResNet-20, 80 % pruned, against dense", ours, theirs, theirs / ours, 0.95)]


def step(network: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> None:
    network.to(memory_format=torch.channels_last)
    optimizer.zero_grad()
    F.cross_entropy(network(x), y).backward()
    optimizer.step()


def exponents(found: list[tuple]) -> dict[str, float]:
    """How the forward seconds grow with N: of the dense layer, and of butterflies with two and with log₂ N factors."""

    def seconds(n: int, length: int, column: int) -> float:
        return next(row[column] for row in found if row[0].startswith(f"butterfly, N = {n}, L = {length},"))

    def fitted(length: int | None, column: int) -> float:
        times = [seconds(n, length or n.bit_length() - 1, column) for n in SIZES]
        return float(np.polyfit(np.log(SIZES), np.log(times), 1)[0])

    return {"dense": fitted(2, 2), "butterfly, L = 2": fitted(2, 1), "butterfly, L = log₂ N": fitted(None, 1)}


if __name__ == "__main__":
    table = rows()
    for row in table:
        print("{:<72}{:>9.4f}s{:>9.4f}s{:>8.2f}{:>7}".format(*row))
    print("seconds grow with N to the power of", {name: round(power, 2) for name, power in exponents(table).items()})
