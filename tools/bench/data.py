"""A cached file of Purchase100's size against a limit of 2 seconds, with the memory at its peak.

The pipeline beside loader workers is in `mialib.benchmarks.pipeline`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.timing import Row
from mialib.course.costs import one_thread

PURCHASE = (197_324, 600)
LIMIT = 2.0  # seconds


def rows() -> list[Row]:
    with one_thread(), tempfile.TemporaryDirectory() as home:
        write_purchase(Path(home))
        return [load_row(home)]


def write_purchase(home: Path) -> None:
    """A cached file of Purchase100's size, where the loader looks for it."""
    (home / "downloads").mkdir(parents=True)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, PURCHASE, np.uint8)
    y = rng.integers(0, 100, PURCHASE[0])
    np.savez(home / "downloads" / "purchase100.npz", x=x, y=y)


def load_row(home: str) -> Row:
    """Load in new processes, so that nothing is remembered.

    The megabytes are what loading adds at its peak.
    """
    loads = [load_in_a_process(home) for _ in range(3)]
    seconds, peak, size = (min(column) for column in zip(*loads, strict=True))
    what = f"cached Purchase100 ({size:.0f} MB; peak {peak:.0f} MB) against {LIMIT:.0f} s"
    return Row(what, seconds, LIMIT, 1)


PROGRAM = """
import resource, sys, time
from mialib import data
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
before, started = peak(), time.perf_counter()
records = data.load("purchase100")
print(time.perf_counter() - started, peak() - before, (records.x.nbytes + records.y.nbytes) / 1e6)
"""


def load_in_a_process(home: str) -> tuple[float, float, float]:
    """Seconds, megabytes at the peak, megabytes of the records."""
    # A process inherits the peak of the one that starts it, so a small shell stands between this
    # large one and it.
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, PROGRAM]
    environment = {**os.environ, "MIALIB_HOME": home}
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    seconds, peak, size = map(float, done.stdout.split())
    return seconds, peak, size
