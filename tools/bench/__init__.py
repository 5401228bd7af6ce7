"""How fast the library is, as ratios whose two sides are measured in one run: `make bench`.

    python -m bench                 # writes benchmarks/RESULTS.md (from tools/; 15 minutes)
    python -m bench past attacks    # prints some of the groups
    python -m bench.peers install   # the environments of the other toolkits, once

A ratio compares two pieces of work on the same arrays by turns, so a slow or shared machine moves
both. A module with `rows()` is a group against plain forms; `growth`, `memory`, `peers`, `browser`
and `reasons` are sections of the page that `report` writes. What a reader without the repository
can measure is in `mialib.benchmarks`, the command `mialib bench`.
"""
