"""Seconds of pieces of work, taken by turns, and rows that compare two of them.

    seconds, baseline = fastest(library, plain)
    Row("RMIA, against the table of all pairs", seconds, baseline, aim=500).ratio

A ratio compares two pieces of work on the same arrays by turns, so a slow or shared machine moves
both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import torch


class Row(NamedTuple):
    """One comparison."""

    what: str
    seconds: float  # of the library
    baseline: float  # seconds of the plain way, or the limit that is held
    aim: float | None = None  # the least ratio that is good enough

    @property
    def ratio(self) -> float:
        """How many times as fast as the plain way."""
        return self.baseline / self.seconds

    @property
    def missed(self) -> bool:
        return self.aim is not None and self.ratio < self.aim

    def __str__(self) -> str:
        aim = "" if self.aim is None else f"{self.aim:g}"
        line = (
            f"{self.what:<74}{self.seconds:>9.4f}s{self.baseline:>9.4f}s{self.ratio:>8.2f}{aim:>7}"
        )
        return line + ("  missed" if self.missed else "")


HEADING = f"{'what':<74}{'library':>10}{'plain':>10}{'ratio':>8}{'aim':>7}"


def fastest(
    *works: Callable[[], object], rounds: int = 4, device: torch.device | None = None
) -> list[float]:
    """The seconds of the fastest of several turns of each work, taken alternately.

    On an accelerator the clock waits until the device has done all that it was told.
    """
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for k, work in enumerate(works):
            wait(device)
            started = time.perf_counter()
            work()
            wait(device)
            best[k] = min(best[k], time.perf_counter() - started)
    return best


def wait(device: torch.device | None) -> None:
    """Until the device has done all that it was told; a CPU already has."""
    if device is not None and device.type != "cpu":
        torch.accelerator.synchronize(device)
