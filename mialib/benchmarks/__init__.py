"""How fast the library is on the machine at hand: what `mialib bench` measures and prints.

    measured = measure("auto")                  # some minutes on a CPU
    as_text(measured)                           # the tables, then the line to send us

`fit` is compared with the bare loop in each precision that the device has, augmentation on tensors
with the loader workers of most code, and starting with its limits. `timing` measures, `training`,
`pipeline` and `starting` are what is measured, `machine` says on what, and `writing` shows it.
What needs the repository, its plain forms and other toolkits, is in tools/bench: `make bench`.
"""

from mialib.benchmarks.measuring import PARTS, Measured, measure
from mialib.benchmarks.writing import as_markdown, as_text
