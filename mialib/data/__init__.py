"""Records (x, y) and where they come from: `load` finds a dataset by its name, or one's own by its path.

>>> letters = load("letters", size=60)
>>> letters.x.shape, letters.classes
((60, 1, 16, 16), 10)

`embedded` needs no download, `published` has the papers' data, `own` reads an `.npz` or a folder of images.
Introduced in notebook 01.
"""

import os
from math import inf
from pathlib import Path

from mialib.data import own
from mialib.data.embedded import digits, letters, shoppers
from mialib.data.own import short_name
from mialib.data.published import PUBLISHED
from mialib.data.records import Records
from mialib.errors import between, nearest

__all__ = ["LOADERS", "Records", "load", "short_name"]

LOADERS = {"letters": letters, "shoppers": shoppers, "digits": digits, **PUBLISHED}


def load(name: str | Path, *, size: int | None = None, seed: int = 0) -> Records:
    """Return the dataset called `name`, or the one at that path.

    A real dataset keeps a random share of `size` records, chosen by `seed`; a generated one draws that many.
    """
    between(0, inf, whole=True, seed=seed)
    if size is not None:
        between(1, inf, whole=True, size=size)
    if not isinstance(name, str | Path):
        raise ValueError(f"A dataset is asked for by its name or its path, found {name!r}.")
    if name in LOADERS:
        return LOADERS[name](size=size, seed=seed)
    if os.path.exists(os.path.expanduser(name)):
        return own.load(name, size=size, seed=seed)
    unknown = nearest("dataset", str(name), LOADERS)
    raise ValueError(
        f"{unknown} There is no file or folder {str(name)!r} either, seen from the folder that you work in."
    )
