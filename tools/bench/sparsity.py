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

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench import growth as growths
from bench.growth import Growth
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
        for work, rounds in ((forward, 20_000), (both_ways, 10_000)):
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


def growth() -> list[Growth]:
    """How the seconds grow with N, forward and with the backward pass, for each kind of layer."""
    with one_thread():
        return [
            layer_growth(place, work)
            for work in (forward, both_ways)
            for place in (None, 0, 1, 2, 3)
        ]


def layer_growth(place: int | None, work: Callable) -> Growth:
    """One kind of layer: the dense one (None), or that number of factors in `lengths`."""
    ending = ", with backward" if work is both_ways else ""
    if place is None:
        return grown(f"dense layer{ending}", layer_job(None, work))._replace(
            expected="N²", most=2.3
        )
    length = ("2", "3", "4", "log₂ N")[place]
    expected = "N^1.5" if place == 0 else "below N^1.5"
    found = grown(f"butterfly, L = {length}{ending}", layer_job(place, work))
    return found._replace(expected=expected, most=1.7)


def layer_job(place: int | None, work: Callable) -> Callable[[int], Callable[[], None]]:
    def prepare(n: int) -> Callable[[], None]:
        layer = nn.Linear(n, n)
        if place is not None:
            layer = ButterflyLinear(chains.smallest(n, n, lengths(n)[place]))
        return partial(work, layer, torch.randn(BATCH, n))

    return prepare


def grown(what: str, job: Callable) -> Growth:
    return growths.grown(what, job, sizes=SIZES, rounds=10)
