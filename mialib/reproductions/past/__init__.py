"""The items of PAST: its figures 1 to 14, its tables 1 and 2, and the numbers of its text.

| module | items |
|---|---|
| `planes` | accuracy against leakage: Fig. 3, 4, 5, 7, 8 |
| `settings` | one thing turned: Fig. 6, 9, Tables 1 and 2 |
| `epochs` | through training and tuning: Fig. 1, 2, 11 |
| `sensitivity` | where the loss gap's gradient lies: Fig. 10, 12, 13 |
| `references` | reference attacks: Fig. 14 |
| `quoted` | the numbers of the text |
| `common` | what several of them ask of the results |
| `printed` | what the paper printed |

Figure numbers follow the longer version of the paper.
"""

from mialib.reproductions.past import epochs, planes, quoted, references, sensitivity, settings

_BY_NAME = {
    item.name: item
    for module in (epochs, planes, settings, sensitivity, references, quoted)
    for item in module.ITEMS
}
_ORDER = (
    *(f"past-fig-{number}" for number in range(1, 15)),
    "past-table-1",
    "past-table-2",
    "past-quoted",
)
ITEMS = tuple(_BY_NAME[name] for name in _ORDER)
