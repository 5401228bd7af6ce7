"""The items of the sparsity paper: its figures 1 to 3, its table 1, and the numbers of its text.

| module | holds |
|---|---|
| `exact` | figures 2 and 3 and table 1: what can be drawn and counted without any training |
| `trained` | figure 1, the quoted numbers, and WeMem's opposite claim on pruning |
"""

from mialib.reproductions.sparsity import exact, trained

ITEMS = (*trained.FIG_1, *exact.ITEMS, *trained.ITEMS)
