"""`mialib bench`: how fast the library is on this device.

mialib bench                                # on the best device that is here
mialib bench --device cpu --only fit        # some of it
mialib bench --out bench.md                 # also as a page of Markdown
"""

from __future__ import annotations

import argparse

from mialib import benchmarks
from mialib.errors import as_path
from mialib.foreign import atomically

DESCRIPTION = """\
Measure the library on this device, and print tables and one line to send us.

fit        fit() beside the bare loop on the same tensors, in each precision that the device has
models     models per minute at the shapes of each profile: estimates, from a few batches of noise
pipeline   crops and flips on the device beside loader workers
start      import time, and a slider's picture

A part that cannot be measured here is left out with the reason. About three minutes on two cores.
In a clone of the repository `make bench` also compares with plain forms and with other toolkits."""


def add_command(commands: argparse._SubParsersAction) -> None:
    """`bench` and its options."""
    command = commands.add_parser(
        "bench",
        help="how fast the library is on this device",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--device", default="auto", help="auto (the default), cpu, cuda or mps")
    command.add_argument(
        "--only", nargs="+", default=[], metavar="PART", help=", ".join(benchmarks.PARTS)
    )
    command.add_argument("--out", help="a file of Markdown for the tables, such as bench.md")
    command.set_defaults(command=bench)


def bench(chosen: argparse.Namespace) -> int:
    """Measure, print, and write the page if one is asked for."""
    measured = benchmarks.measure(chosen.device, only=chosen.only)
    print(benchmarks.as_text(measured))
    if chosen.out:
        path = as_path(chosen.out)
        with atomically(path) as unfinished:
            page = f"# Speed\n\n{benchmarks.as_markdown(measured)}\n"
            unfinished.write_text(page, encoding="utf-8")
        print(f"Written: {path}")
    return 0
