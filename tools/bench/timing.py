"""What every group shares: measure several pieces of work by turns, and print a row about each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One comparison."""

    what: str
    seconds: float  # of the library
    baseline: float  # seconds of the plain way
    aim: float | None = None  # the least ratio that is good enough

    @property
    def ratio(self) -> float:
        """How many times as fast as the plain way."""
        return self.baseline / self.seconds

    def __str__(self) -> str:
        aim = "" if self.aim is None else f"{self.aim:g}"
        missed = self.aim is not None and self.ratio < self.aim
        line = (
            f"{self.what:<74}{self.seconds:>9.4f}s{self.baseline:>9.4f}s{self.ratio:>8.2f}{aim:>7}"
        )
        return line + ("  missed" if missed else "")


HEADING = f"{'what':<74}{'library':>10}{'plain':>10}{'ratio':>8}{'aim':>7}"


def fastest(*works: Callable[[], object], rounds: int = 4) -> list[float]:
    """The seconds of the fastest of several turns of each work, taken alternately."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for k, work in enumerate(works):
            started = time.perf_counter()
            work()
            best[k] = min(best[k], time.perf_counter() - started)
    return best
