"""A butterfly layer against a dense one, forward and with the backward pass; a masked training step against a plain.

One thread; five calls a turn, so that each finds its own weights in the cache, as it would in use. Memory is what a
layer's parameters take, and with the backward pass also what torch keeps for it, as a share of the dense layer's. The
exponents are fitted to the seconds over N: 2 is quadratic; N^1.5, which two factors cost, looks nearly linear here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from bench_data import fastest
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
        for work, rounds, end in ((forward, 40_000, ""), (both_ways, 20_000, ", with backward")):
            share = 100 * memory(sparse, x, work) / memory(dense, x, work)
            what = f"butterfly, N = {n}, L = {length}{end}, {share:.1f} % of the memory"
            ours, theirs = fastest(
                partial(work, sparse, x), partial(work, dense, x), rounds=rounds // n
            )
            aim = "" if end else AIMS.get((n, length), "")
            found.append((what, ours / CALLS, theirs / CALLS, theirs / ours, aim))
    return found


def memory(layer: nn.Module, x: torch.Tensor, work: Callable) -> int:
    """Bytes of the parameters, and of the other tensors that are kept for a backward pass."""
    kept = {
        parameter.untyped_storage().data_ptr(): parameter.nbytes for parameter in layer.parameters()
    }

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    if work is both_ways:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = layer(
                x.detach().requires_grad_()
            )  # Its graph holds them all, so that no place is used twice.
        del out
    return sum(kept.values())


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
    x, y = (
        torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last),
        torch.arange(BATCH) % 10,
    )
    steps = [
        partial(step, network, Recipe(lr=1e-3).optimizer(network), x, y) for network in networks
    ]
    ours, theirs = fastest(*steps, rounds=8)
    return [
        (
            "masked training step, ResNet-20, 80 % pruned, against dense",
            ours,
            theirs,
            theirs / ours,
            0.95,
        )
    ]


def step(
    network: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor
) -> None:
    network.to(memory_format=torch.channels_last)
    optimizer.zero_grad()
    F.cross_entropy(network(x), y).backward()
    optimizer.step()


def exponents(found: list[tuple]) -> dict[str, float]:
    """How the seconds grow with N, forward and with the backward pass, for the dense layer and each length."""

    def fitted(length: int | None, end: str, column: int) -> float:
        lengths = [length or n.bit_length() - 1 for n in SIZES]
        starts = [
            f"butterfly, N = {n}, L = {one}{end}, " for n, one in zip(SIZES, lengths, strict=True)
        ]
        times = [
            next(row[column] for row in found if re.match(re.escape(start) + r"\d", row[0]))
            for start in starts
        ]
        return float(np.polyfit(np.log(SIZES), np.log(times), 1)[0])

    powers = {}
    for end in ("", ", with backward"):
        powers[f"dense{end}"] = fitted(2, end, 2)
        powers |= {
            f"L = {length or 'log₂ N'}{end}": fitted(length, end, 1) for length in (2, 3, 4, None)
        }
    return powers


if __name__ == "__main__":
    table = rows()
    for row in table:
        print("{:<72}{:>9.4f}s{:>9.4f}s{:>8.2f}{:>7}".format(*row))
    print(
        "seconds grow with N to the power of",
        {name: round(power, 2) for name, power in exponents(table).items()},
    )
