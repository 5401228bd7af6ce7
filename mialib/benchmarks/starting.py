"""What a reader waits for: `import mialib`, and a slider's answer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from mialib.benchmarks.timing import Row, fastest
from mialib.course import figures

IMPORT_LIMIT = 0.3  # seconds
SLIDER_LIMIT = 0.1
PROGRAM = "import time; t = time.perf_counter(); import mialib; print(time.perf_counter() - t)"


def import_row(*, rounds: int = 3) -> Row:
    """In new processes, so that nothing is loaded already."""
    command = [sys.executable, "-c", PROGRAM]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(rounds)]
    seconds = min(float(run.stdout) for run in runs)
    return Row(f"import mialib, against {IMPORT_LIMIT:g} s", seconds, IMPORT_LIMIT, 1)


def slider_row() -> Row:
    """The threshold's picture of lesson 01 with 2,000 records, from a move to the finished image.

    The browser's part is not in it.
    """
    rng = np.random.default_rng(0)
    members = rng.exponential(0.3, 1000)
    non_members = rng.exponential(1.0, 1000)
    positions = iter(np.linspace(0.05, 2, 50))

    def answer() -> bytes:
        threshold = float(next(positions))
        return figures.threshold_view(members, non_members, threshold=threshold).png

    (seconds,) = fastest(answer, rounds=6)
    limit = f"{1000 * SLIDER_LIMIT:.0f} ms"
    return Row(f"a slider's picture, against {limit}", seconds, SLIDER_LIMIT, 1)
