"""Every configuration of a profile builds, splits and takes two steps on random tensors.

    python tools/dry_run.py paper

`mialib.experiments.rehearsal` does it; nothing is downloaded.
"""

from __future__ import annotations

import sys
import time

from mialib import profiles
from mialib.experiments.rehearsal import rehearse


def main(name: str) -> None:
    for title, configuration in profiles.load(name).experiments.items():
        started = time.perf_counter()
        sizes = rehearse(configuration)
        seconds = time.perf_counter() - started
        parts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        print(f"{title:<28}{configuration.model:<14}{seconds:>6.1f} s   {parts}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "quick")
