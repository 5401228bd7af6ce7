"""In which precision a network computes while it trains.

    Recipe(precision="bfloat16")        # half the bits in convolutions and matrix products
    Recipe(precision="auto")            # what the device is fastest at: see `resolve`

Weights, their gradients and the loss stay in float32. So does all that is asked of a network in
eval mode: signals, sensitivity, and PAST's γ once per epoch. Only a network that is trained
computes with fewer bits, by torch's autocast, and its answers are float32 again. float16 has few
exponents, so its loss is scaled before it is differentiated (`loss_scaler`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import MethodType

import torch
from torch import Tensor, nn

from mialib.errors import check_choice

PRECISIONS = ("float32", "bfloat16", "float16", "auto")
# A network in two named steps is also trained step by step (CRL).
STEPS = ("features", "classify")


def resolve(precision: str, device: torch.device) -> str:
    """What "auto" means on this device; anything else means itself.

    bfloat16 where the hardware has it, float16 on CUDA GPUs without it (a T4), and float32
    elsewhere.
    """
    check_choice("precision", precision, PRECISIONS)
    _check_device(device)
    if precision != "auto":
        return precision
    if has_bfloat16(device):
        return "bfloat16"
    return "float16" if device.type == "cuda" else "float32"


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device computes in bfloat16 itself, rather than imitating it slowly."""
    _check_device(device)
    if device.type == "cpu":
        # Without oneDNN, as on Apple's processors, torch has no such question to ask.
        has_onednn = torch.backends.mkldnn.is_available()
        return has_onednn and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return False


def _check_device(device: object) -> None:
    if not isinstance(device, torch.device):
        raise TypeError(f"Expected a device such as torch.device('cpu'), found {device!r}.")


@contextmanager
def computing_in(precision: str, model: nn.Module, device: torch.device) -> Iterator[None]:
    """Inside, the model computes in this precision while it is in training mode."""
    if precision == "float32":
        yield
        return
    if not torch.amp.is_autocast_available(device.type):
        raise ValueError(
            f"A {device.type} device computes in float32 alone, found precision={precision!r}. "
            "Use Recipe(precision='auto'), which takes what the device has."
        )
    if precision == "bfloat16" and not has_bfloat16(device):
        warnings.warn(
            f"This {device.type} has no bfloat16 of its own and imitates it slowly. "
            "Use Recipe(precision='auto'), which takes what the device is fastest at.",
            stacklevel=4,
        )
    parts = [model, *(part for name, part in model.named_children() if name in STEPS)]
    for part in parts:
        # As a method, so that a deep copy of the model calls its own.
        part.forward = MethodType(_forward_in(getattr(torch, precision), device.type), part)
    try:
        yield
    finally:
        for part in parts:
            del part.forward


@cache  # One function for all models, so that they share what is compiled of it.
def _forward_in(dtype: torch.dtype, device_type: str):
    """A `forward` that computes in `dtype` in training mode, and answers in float32."""

    def forward(module: nn.Module, x: Tensor) -> Tensor:
        with torch.autocast(device_type, dtype, enabled=module.training):
            return type(module).forward(module, x).float()

    return forward


def loss_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Scales the loss in float16, so that small gradients do not vanish; else it does nothing."""
    return torch.amp.GradScaler(device.type, enabled=precision == "float16")
