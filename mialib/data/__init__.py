"""Records (x, y) and where they come from: `load` finds a dataset by its name, or one's own by its path.

>>> letters = load("letters", size=60)
>>> letters.x.shape, letters.classes
((60, 1, 16, 16), 10)

`embedded` makes letters, shoppers and digits, which need no download; `published` has the papers' data; `records`
reads one's own. Introduced in notebook 01."""

import os
from functools import partial
from math import inf
from pathlib import Path

from mialib.data import embedded, published
from mialib.data.records import Records, load_own, short_name
from mialib.errors import check_choice, check_range, refuse

LOADERS = {"letters": embedded.letters, "shoppers": embedded.shoppers, "digits": embedded.digits}
LOADERS |= {name: partial(published.load, name) for name in (*published.SCALES, *published.TABLES)}


def load(name: str | Path, *, size: int | None = None, seed: int = 0) -> Records:
    """The dataset called `name`, or at that path: a random share of `size` records by `seed`, or as many generated."""
    check_range(0, inf, whole=True, seed=seed)
    check_range(1, inf, whole=True, size=1 if size is None else size)
    refuse(
        not isinstance(name, str | Path),
        f"A dataset is asked for by its name or its path, found {name!r}.",
    )
    if name not in LOADERS and os.path.exists(path := os.path.expanduser(name)):
        path = Path(os.path.abspath(path))
        return load_own(path, path.stat().st_mtime_ns, size, seed if size else 0)
    elsewhere = (
        f" There is no file or folder {str(name)!r} either, seen from the folder that you work in."
    )
    return LOADERS[check_choice("dataset", str(name), LOADERS, more=elsewhere)](
        size=size, seed=seed
    )
