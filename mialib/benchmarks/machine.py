"""On what was measured: versions, processor and device, and nothing that tells whose they are."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

import torch

from mialib import __version__
from mialib.precision import has_bfloat16

FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16", "sve")
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")


def facts(device: torch.device) -> dict[str, str]:
    """What a table of times needs beside it."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": f"mialib {__version__}, Python {platform.python_version()}, {versions}",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "device": device_name(device),
    }


def processor() -> str:
    """Cores, threads of torch, and the instructions that decide the speed of small numbers."""
    known = ", ".join(flags()) or "flags unknown"
    return f"{os.cpu_count()} cores ({known}), torch on {torch.get_num_threads()} threads"


def flags() -> list[str]:
    """Those of `FLAGS` that the processor has, where the system tells."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return []
    words = set(told.split())
    return [flag for flag in FLAGS if flag in words]


def device_name(device: torch.device) -> str:
    """The kind of device, and its name where it has one."""
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    own = "with" if has_bfloat16(device) else "without"
    return f"{device.type} ({own} bfloat16 of its own)"
