"""An accelerator that is none, so that a machine without one can prove that code runs on any.

    with pretend_device() as device_log:
        fit(model, members, recipe, device="pretend")
    device_log.waits                # what made the processor wait for the device, by name

A tensor on it says `device='pretend:0'` and holds a tensor of the CPU, which does the work; so the
results are the CPU's, bit for bit. What a real accelerator forbids is refused: operands on two
devices, a generator of the CPU that draws on the device, and float64 (as on Apple's MPS). What
makes the processor wait for a real accelerator is counted: a number, a list, a copy or a shape that
depends on values.

It cannot show streams, autocast, speed, or `torch.inference_mode`, which such tensors do not see.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils import backend_registration as registration
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

NAME = "pretend"
AVAILABLE = hasattr(registration, "_setup_privateuseone_for_python_backend")

aten = torch.ops.aten
# Their result is a Python value, or its shape depends on values.
READS = {
    aten._local_scalar_dense.default,
    aten.is_nonzero.default,
    aten.equal.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.bincount.default,
    aten.repeat_interleave.Tensor,
}
# A tensor on a device may be indexed by one of the CPU; a mask has to be read first.
INDEXING = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}
# Between devices on purpose.
COPIES = {aten._to_copy.default, aten.copy_.default}
# A single number of the CPU may meet a tensor on a device, but not in these.
NEVER_MIXED = {aten.cat.default, aten.stack.default}


@dataclass
class Log:
    """What happened between the processor and the device."""

    waits: list[str] = field(default_factory=list)  # device → processor
    arrivals: list[str] = field(default_factory=list)  # processor → device


_logs: list[Log] = [Log()]  # The last one is written to.


class OnDevice(Tensor):
    """A tensor that says it is on the device; `held` has its numbers."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor):
        return Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=f"{NAME}:0",
        )

    def __init__(self, held: Tensor):
        self.held = held

    # `module.to(device)` swaps parameters for tensors that can be taken apart and put together.

    def __tensor_flatten__(self):
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(parts, context, size, stride):
        return OnDevice(parts["held"])

    def __repr__(self, **options):
        return f"OnDevice({self.held})"

    def tolist(self):
        _logs[-1].waits.append("tolist")
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _run(Call.of(function, args, kwargs or {}))


class _Dispatch(TorchDispatchMode):
    """For calls that see no tensor of the device among their arguments: factories and `.to()`."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _run(Call.of(function, args, kwargs or {}))


@contextmanager
def pretend_device() -> Iterator[Log]:
    """Inside, `device="pretend"` exists; gives the log of what happens."""
    # torch.tensor(…, device=…) is to make a tensor of the CPU first, and to move it then.
    lifted = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)
    _logs.append(Log())
    try:
        with _Dispatch():
            yield _logs[-1]
    finally:
        _logs.pop()
        torch._C._set_only_lift_cpu_tensors(lifted)


class Call(NamedTuple):
    """One operation of torch, and where its operands and its result are."""

    function: Any
    args: tuple
    kwargs: dict
    tensors: list[Tensor]
    generators: list[torch.Generator]
    result_is_here: bool  # on the device

    @classmethod
    def of(cls, function: Any, args: tuple, kwargs: dict) -> "Call":
        leaves = pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        generators = [leaf for leaf in leaves if isinstance(leaf, torch.Generator)]
        device = kwargs.get("device")
        if function is aten.copy_.default:
            here = isinstance(tensors[0], OnDevice)
        elif device is not None:
            here = torch.device(device).type == NAME
        else:
            here = any(isinstance(tensor, OnDevice) for tensor in tensors)
        return cls(function, args, kwargs, tensors, generators, here)

    @property
    def here(self) -> list[Tensor]:
        return [tensor for tensor in self.tensors if isinstance(tensor, OnDevice)]

    @property
    def elsewhere(self) -> list[Tensor]:
        return [tensor for tensor in self.tensors if not isinstance(tensor, OnDevice)]


def _run(call: Call) -> Any:
    if call.here and call.function not in COPIES:
        _refuse_two_devices(call)
    if call.result_is_here and call.generators:
        raise RuntimeError(f"{call.function}: a generator of the CPU cannot draw on {NAME}:0.")
    _count(call)
    result = _computed_on_the_cpu(call)
    if not call.result_is_here:
        return result
    result = pytree.tree_map_only(Tensor, _put_on_device, result)
    if call.here:
        return return_and_correct_aliasing(call.function, call.args, call.kwargs, result)
    return result


def _refuse_two_devices(call: Call) -> None:
    strangers = [
        tensor for tensor in call.elsewhere if tensor.ndim > 0 or call.function in NEVER_MIXED
    ]
    first = call.tensors[0]
    if call.function in INDEXING and isinstance(first, OnDevice):
        strangers = []
    changes_a_stranger = call.function._schema.is_mutable and not isinstance(first, OnDevice)
    if strangers or changes_a_stranger:
        shapes = [tuple(tensor.shape) for tensor in call.elsewhere]
        raise RuntimeError(
            f"{call.function}: expected all tensors on one device, found {NAME}:0 and cpu {shapes}."
        )


def _count(call: Call) -> None:
    log = _logs[-1]
    name = str(call.function)
    is_copied_to_cpu = bool(call.here) and not call.result_is_here
    is_indexed_by_a_mask = call.function in INDEXING and _has_a_mask(call)
    if is_copied_to_cpu or (call.here and (call.function in READS or is_indexed_by_a_mask)):
        log.waits.append(name)
    elif call.function in COPIES and call.result_is_here and call.elsewhere:
        log.arrivals.append(name)


def _has_a_mask(call: Call) -> bool:
    indices = pytree.tree_leaves(call.args[1])
    return any(isinstance(index, Tensor) and index.dtype == torch.bool for index in indices)


def _computed_on_the_cpu(call: Call) -> Any:
    args, kwargs = pytree.tree_map_only(
        OnDevice, lambda tensor: tensor.held, (call.args, call.kwargs)
    )
    if call.result_is_here and kwargs.get("device") is not None:
        kwargs["device"] = torch.device("cpu")
    return call.function(*args, **kwargs)


def _put_on_device(tensor: Tensor) -> OnDevice:
    if tensor.dtype == torch.float64:
        raise TypeError(f"{NAME}:0 has no float64, as Apple's MPS has none.")
    return OnDevice(tensor)


# torch counts its devices once, at the first backward pass of the process. So the device is
# registered when this module is imported: pytest imports all test files before it runs one.

if AVAILABLE:

    class _Backend(registration._DummyBackendModule):
        def is_available(self) -> bool:
            return False  # Nobody is to choose it unasked.

    class _Hook(registration._DummyPrivateUse1Hook):
        def is_available(self) -> bool:
            return False

    registration._setup_privateuseone_for_python_backend(
        NAME, backend_module=_Backend(), hook=_Hook()
    )
