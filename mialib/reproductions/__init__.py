"""Every figure and table of the three papers, made anew, beside what was printed.

    item = find("past-fig-3")                   # or "crl-table-1a", "sparsity-quoted", …
    made = item.make(Evidence("cpu"))           # pictures, and lines: published beside our own
    write(item, made, Path("reproduced"))       # figure, table and provenance

    mialib reproduce                            # all items, their state and cost at each profile
    mialib reproduce past-fig-3 --profile cpu   # runs what is missing, draws, prints, writes
    mialib ledger                               # one line per published result: where we stand

| module | holds |
|---|---|
| `items` | what an item is, and the evidence that it is made of |
| `arms` | results sorted by defense and strength, as several figures want them |
| `past`, `crl`, `sparsity` | the items of the three papers |
| `writing` | an item's files |
| `ledger` | one row per published result: what was printed, what we found, why they differ |
"""

from mialib.reproductions import ledger
from mialib.reproductions.items import Evidence, Item, Line, Made, MissingEvidenceError
from mialib.reproductions.registry import ITEMS, find
from mialib.reproductions.writing import write

__all__ = [
    "ITEMS",
    "Evidence",
    "Item",
    "Line",
    "Made",
    "MissingEvidenceError",
    "find",
    "ledger",
    "write",
]
