"""The items of CRL: its figures 1 to 7, and its tables 1a to 1c and 2.

| module | holds |
|---|---|
| `common` | the approaches by name, the attacks as the paper calls them, and where results lie |
| `drawings` | figures 2 and 3: where the scenarios pull, and the phases by epoch |
| `places` | figures 1 and 6: how far features lie from the origin and from the boundary |
| `planes` | figures 4, 5 and 7: accuracy against the AUC of each attack |
| `tables` | tables 1a to 1c, and 2 |

CRL's settings are not published. It is judged with the library's defaults, whose centers hardly
move (*CRL*), and with centers that act (*CRL (active)*); every line says which.
"""

from mialib.reproductions.crl import drawings, places, planes, tables

ITEMS = (*places.FIG_1, *drawings.ITEMS, *planes.ITEMS, *places.FIG_6, *planes.FIG_7, *tables.ITEMS)
