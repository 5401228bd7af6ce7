"""One compiled network for all models of a shape, on CUDA.

    Recipe(compiled=True)               # on a GPU: fewer, larger kernels; elsewhere as without

A small network leaves a GPU waiting for its next kernel. `torch.compile` joins kernels, which takes
from half a minute to a minute. The weights are arguments of what is compiled. So a process compiles
once for all shadow models of a shape, and each further model only brings its own weights; with
`runs.get_all` that is every model, because on a GPU they are trained one after another.

Compiled is what a training does most: whole batches in training mode. The last, smaller batch of an
epoch and all that is asked in eval mode are computed as without. Other kernels round differently,
so where a run is compiled its key says so.

Untried on a GPU: the tests count compilations and compare weights on a CPU, with torch's backends
that generate no code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import MethodType

import torch
from torch import Tensor, nn

DEVICES = ("cuda",)  # where it pays: on a CPU kernels are not waited for
BACKEND = "inductor"
Forward = Callable[[nn.Module, Tensor], Tensor]


def compiles_on(device_type: str) -> bool:
    """Whether a training that asks for it is compiled on such a device."""
    return device_type in DEVICES


@contextmanager
def compiled_batches(model: nn.Module, batch_size: int) -> Iterator[None]:
    """Inside, the model computes batches of this size by compiled code while it trains."""
    forward = getattr(model.forward, "__func__", None)
    if forward is None:
        raise ValueError(
            f"{type(model).__name__} has a forward that is no method of its own, so it cannot be "
            "compiled once for several models. Use Recipe(compiled=False)."
        )
    before = vars(model).get("forward")
    # As a method, so that a deep copy of the model calls its own.
    model.forward = MethodType(_chosen(forward, batch_size), model)
    try:
        yield
    finally:
        del model.forward
        if before is not None:
            model.forward = before


def _chosen(forward: Forward, batch_size: int) -> Forward:
    """A `forward` that is compiled for whole batches in training mode."""

    def compute(module: nn.Module, x: Tensor) -> Tensor:
        if module.training and len(x) == batch_size:
            return _computed(compiled(forward, BACKEND), module, x)
        return forward(module, x)

    return compute


@cache
def compiled(forward: Forward, backend: str | Callable) -> Forward:
    """The same function for every model, so that they share what torch makes of it.

    `fullgraph`: what cannot be compiled is refused, rather than computed in part.
    """
    return torch.compile(forward, backend=backend, dynamic=False, fullgraph=True)


def _computed(function: Forward, module: nn.Module, x: Tensor) -> Tensor:
    from torch._dynamo.exc import TorchDynamoException  # Only a compiler loads it.

    try:
        return function(module, x)
    except TorchDynamoException as error:
        first_line = str(error).strip().partition("\n")[0]
        raise RuntimeError(
            f"torch could not compile {type(module).__name__}: {first_line} "
            "Train it with Recipe(compiled=False)."
        ) from error
