"""Records (x, y) and where they come from: `load` finds a dataset by its name, or by its path.

>>> letters = load("letters", size=60)
>>> letters.x.shape, letters.classes
((60, 1, 16, 16), 10)

- `embedded` makes letters, shoppers and digits, which need no download.
- `published` has the papers' data.
- `records` has `Records`, and reads files of one's own.

A dataset that one makes oneself gets a name by `LOADERS["mine"] = function`, where
`function(size=…, seed=…)` gives `Records`. Introduced in notebook 01.
"""

import os
from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path

from mialib.data import embedded, published
from mialib.data.records import Records, load_own, short_name
from mialib.errors import check_choice, check_range, plain_number

__all__ = ["LOADERS", "Records", "embedded", "is_here", "load", "published", "short_name"]

LOADERS: dict[str, Callable[..., Records]] = {
    "letters": embedded.letters,
    "shoppers": embedded.shoppers,
    "digits": embedded.digits,
}
PUBLISHED = (*published.SCALES, *published.TABLES)
for _name in PUBLISHED:
    LOADERS[_name] = partial(published.load, _name)
BUILT_IN = dict(LOADERS)  # what these names mean as long as nobody registers something else


def load(name: str | Path, *, size: int | None = None, seed: int = 0) -> Records:
    """The dataset called `name`, or the one at that path.

    `size` keeps a random share by `seed`; of datasets that are generated, it makes as many.
    """
    _check_is_name(name)
    size = plain_number(size)
    seed = plain_number(seed)
    check_range(0, inf, whole=True, seed=seed)
    if size is not None:
        check_range(1, inf, whole=True, size=size)
    if _is_own(name):
        absolute = Path(os.path.abspath(os.path.expanduser(name)))
        changed = absolute.stat().st_mtime_ns
        return load_own(absolute, changed, size, seed if size else 0)
    return _made(_check_known(name), size, seed)


def is_here(name: str | Path) -> bool:
    """Whether `load` finds it without a download; only what is published may need one."""
    _check_is_name(name)
    if not _is_own(name):
        _check_known(name)
    known = str(name)
    if known in PUBLISHED and LOADERS[known] is BUILT_IN[known]:
        return published.is_here(known)
    return True


def _check_is_name(name: object) -> None:
    if not isinstance(name, str | Path):
        raise ValueError(f"A dataset is asked for by its name or its path, found {name!r}.")


def _is_own(name: str | Path) -> bool:
    """Whether it is a file or a folder; a name that is known means what it is known for."""
    return str(name) not in LOADERS and os.path.exists(os.path.expanduser(name))


def _check_known(name: str | Path) -> str:
    elsewhere = (
        f" There is no file or folder {str(name)!r} either, seen from the folder that you work in."
    )
    return check_choice("dataset", str(name), LOADERS, more=elsewhere)


def _made(name: str, size: int | None, seed: int) -> Records:
    """What the function called `name` makes, if it makes records."""
    records = LOADERS[name](size=size, seed=seed)
    if not isinstance(records, Records):
        raise ValueError(
            f"The function in LOADERS[{name!r}] must give Records, found {type(records).__name__}."
        )
    return records
