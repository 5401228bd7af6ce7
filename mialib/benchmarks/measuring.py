"""All that `mialib bench` measures on one device, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from subprocess import SubprocessError

import torch

from mialib import progress
from mialib.benchmarks.machine import device_name, facts
from mialib.benchmarks.pipeline import pipeline_rows
from mialib.benchmarks.starting import import_row, slider_row
from mialib.benchmarks.timing import Row
from mialib.benchmarks.training import (
    EPOCHS,
    Speed,
    fit_row,
    noise_images,
    precisions,
    training_speeds,
)
from mialib.errors import check_choice
from mialib.query import pick_device

NETWORK = "resnet20"
IMAGES = {"cpu": 1024}  # for the bare loop, as many as `quick` trains on; an accelerator has more
MANY_IMAGES = 10_000
# What a device or a process may say; noise in few bits may diverge, which is an ArithmeticError.
LEFT_OUT = (RuntimeError, OSError, MemoryError, ArithmeticError, SubprocessError)


@dataclass
class Measured:
    """What was measured where; what was left out, with the reason."""

    device: torch.device
    facts: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    speeds: list[Speed] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    images_per_second: dict[str, float] = field(default_factory=dict)  # by precision

    def line(self) -> str:
        """The line to send us."""
        speeds = ", ".join(
            f"{precision} {speed:,.0f} images/s"
            for precision, speed in self.images_per_second.items()
        )
        told = speeds or "training was not measured"
        name = device_name(self.device)
        return f"mialib bench: {name}; torch {torch.__version__}; {NETWORK} {told}"


def measure(device: str = "auto", *, only: Iterable[str] = ()) -> Measured:
    """The parts that are named, or all of them, on this device."""
    chosen = [check_choice("part", name, PARTS) for name in only] or list(PARTS)
    where = pick_device(device)
    measured = Measured(where, facts(where))
    with progress.bar("measuring", total=len(chosen), unit="part") as advance:
        for name in chosen:
            try:
                PARTS[name](measured)
            except LEFT_OUT as error:
                measured.skipped[name] = f"{type(error).__name__}: {error}"
            advance()
    return measured


def _fit(measured: Measured) -> None:
    """`fit` against the bare loop, in each precision."""
    device = measured.device
    records = noise_images(IMAGES.get(device.type, MANY_IMAGES))
    for precision, reason in precisions(device).items():
        if reason:
            measured.skipped[f"fit in {precision}"] = reason
            continue
        row = fit_row(NETWORK, records, device=device, precision=precision, rounds=10)
        measured.rows.append(row)
        measured.images_per_second[precision] = EPOCHS * len(records) / row.seconds


def _models(measured: Measured) -> None:
    """Models per minute at the shapes of each profile."""
    for speed in training_speeds(measured.device):
        measured.speeds.append(speed)


def _pipeline(measured: Measured) -> None:
    """Augmentation on the device against loader workers."""
    measured.rows += pipeline_rows(measured.device)


def _start(measured: Measured) -> None:
    """Importing, and a slider's answer."""
    measured.rows += [import_row(), slider_row()]


PARTS: dict[str, Callable[[Measured], None]] = {
    "fit": _fit,
    "models": _models,
    "pipeline": _pipeline,
    "start": _start,
}
