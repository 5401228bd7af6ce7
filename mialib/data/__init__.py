"""Records (x, y) and where they come from: `load` finds a dataset by its name, or one's own by its path.

>>> letters = load("letters", size=60)
>>> letters.x.shape, letters.classes
((60, 1, 16, 16), 10)

`embedded` needs no download, `published` has the papers' data, `records` reads an `.npz` or a folder of images.
Introduced in notebook 01.
"""

import os
from math import inf
from pathlib import Path

from mialib.data.embedded import digits, letters, shoppers
from mialib.data.published import PUBLISHED
from mialib.data.records import Records, load_own, short_name
from mialib.errors import between, nearest

__all__ = ["LOADERS", "Records", "load", "short_name"]

LOADERS = {"letters": letters, "shoppers": shoppers, "digits": digits, **PUBLISHED}


def load(name: str | Path, *, size: int | None = None, seed: int = 0) -> Records:
    """Return the dataset called `name`, or the one at that path.

    A real dataset keeps a random share of `size` records, chosen by `seed`; a generated one draws that many.
    """
    between(0, inf, whole=True, seed=seed)
    between(1, inf, whole=True, size=1 if size is None else size)
    if not isinstance(name, str | Path):
        raise ValueError(f"A dataset is asked for by its name or its path, found {name!r}.")
    if name in LOADERS:
        return LOADERS[name](size=size, seed=seed)
    if os.path.exists(os.path.expanduser(name)):
        return load_own(name, size=size, seed=seed)
    elsewhere = f"There is no file or folder {str(name)!r} either, seen from the folder that you work in."
    raise ValueError(f"{nearest('dataset', str(name), LOADERS)} {elsewhere}")
