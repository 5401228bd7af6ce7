"""Records and where they come from.

A record is a pair (x, y); `Records` holds many as arrays. `load` finds a dataset by its name, or one's own by its
path.

>>> letters = load("letters", size=60)
>>> letters.x.shape, letters.classes
((60, 1, 16, 16), 10)

- `embedded`: nothing to download. `published`: the papers' data. `own`: an `.npz` or a folder of images.

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
    """Return the dataset called `name`, or the one at that path; `size` limits or chooses the number of records.

    A real dataset keeps a random share of `size` records, chosen by `seed`; a generated one draws that many.

    >>> load("letters", size=0)
    Traceback (most recent call last):
    ValueError: size must be a whole number, at least 1, found 0.
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
    raise ValueError(_unknown(str(name)))


def _unknown(name: str) -> str:
    """Why `name` cannot be loaded.

    >>> _unknown("lettres")[:63]
    "There is no dataset 'lettres'; did you mean 'letters'? Known: l"
    >>> _unknown("../photos.npz")[:67]
    "There is no file or folder '../photos.npz', seen from the folder th"
    """
    if any(mark in name for mark in "/\\.~"):
        return f"There is no file or folder {name!r}, seen from the folder that you work in. " + nearest(
            "dataset", name, LOADERS
        )
    return nearest("dataset", name, LOADERS)
