"""Records and where they come from.

A record is a pair (x, y); `Records` holds many as arrays. `load` finds a dataset by its name.

>>> letters = load("letters", size=60)
>>> letters.x.shape, letters.classes
((60, 1, 16, 16), 10)

Introduced in notebook 01.
"""

from mialib.data.embedded import digits, letters, shoppers
from mialib.data.records import Records
from mialib.errors import nearest

__all__ = ["LOADERS", "Records", "load"]

LOADERS = {"letters": letters, "shoppers": shoppers, "digits": digits}


def load(name: str, *, size: int | None = None, seed: int = 0) -> Records:
    """Return the dataset called `name`; `size` limits or chooses the number of records.

    >>> load("lettres")
    Traceback (most recent call last):
    ValueError: There is no dataset 'lettres'; did you mean 'letters'? Known: letters, shoppers, digits.
    """
    if name not in LOADERS:
        raise ValueError(nearest("dataset", name, LOADERS))
    if size is not None and size < 1:
        raise ValueError(f"size must be at least 1, found {size}. Leave it out for the usual size.")
    return LOADERS[name](size=size, seed=seed)
