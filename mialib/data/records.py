"""`Records`: arrays of (x, y) with their name, their number of classes and how to scale them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Records:
    """n records: `x` (n, features) or (n, channels, height, width), `y` (n,) in 0 … classes − 1.

    `x` may stay uint8; a model sees (x − shift) / scale, one pair for each channel. `index` says where each
    record stood in its full dataset, so that two parts can prove that they share none.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    classes: int
    shift: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    index: np.ndarray = field(default=None)

    def __post_init__(self):
        index = np.arange(np.size(self.y)) if self.index is None else self.index
        for name, array in (("x", self.x), ("y", self.y), ("index", index)):
            view = np.asarray(array).view()
            view.flags.writeable = False  # Loaders share their records, and the fingerprint is computed once.
            object.__setattr__(self, name, view)
        _check(self)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, positions: np.ndarray) -> Records:
        """The records at these positions."""
        return replace(self, x=self.x[positions], y=self.y[positions], index=self.index[positions])

    def scaled(self) -> np.ndarray:
        """What a model sees, as float32."""
        per_channel = (1, -1) + (1,) * (self.x.ndim - 2)
        shift = np.asarray(self.shift, np.float32).reshape(per_channel)
        return (self.x.astype(np.float32) - shift) / np.asarray(self.scale, np.float32).reshape(per_channel)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the records themselves; two datasets with one name can never be confused."""
        about = (self.x.shape, str(self.x.dtype), self.classes, self.shift, self.scale)
        digest = hashlib.sha256(repr(about).encode())
        digest.update(np.ascontiguousarray(self.x).data)
        digest.update(np.ascontiguousarray(self.y, np.int64).data)
        return digest.hexdigest()


def _check(records: Records) -> None:
    x, y, name = records.x, records.y, records.name
    if x.ndim not in (2, 4):
        raise ValueError(
            f"{name}: x must be (n, features) or (n, channels, height, width), found shape {x.shape}. Reshape it."
        )
    if x.dtype.kind not in "biuf":
        raise ValueError(f"{name}: x must hold real numbers, found {x.dtype}. Encode text and categories first.")
    if y.shape != (len(x),):
        raise ValueError(f"{name}: y must have one label for each of the {len(x)} records, found shape {y.shape}.")
    if records.index.shape != y.shape:
        raise ValueError(f"{name}: index must have one entry for each record, found shape {records.index.shape}.")
    if not x.size:
        raise ValueError(
            f"{name}: there are no records, or they do not hold at least one number; found shape {x.shape}. "
            "Choose a larger size or another share."
        )
    if not np.issubdtype(y.dtype, np.integer):
        raise ValueError(f"{name}: labels must be integers, found {y.dtype}. Convert them with y.astype(int).")
    if y.min() < 0 or y.max() >= records.classes:
        raise ValueError(
            f"{name}: labels must lie in 0 … {records.classes - 1}, found {y.min()} … {y.max()}. "
            "Labels that start at 1 need y - 1."
        )
    if np.issubdtype(x.dtype, np.floating) and not np.isfinite(x).all():
        raise ValueError(f"{name}: x has NaN or infinite values. Remove or impute those records first.")
    for what, values in (("shift", records.shift), ("scale", records.scale)):
        if len(values) not in (1, x.shape[1]):
            raise ValueError(f"{name}: {what} must have 1 or {x.shape[1]} numbers, found {len(values)}.")
    if 0 in records.scale:
        raise ValueError(f"{name}: scale must not be 0. Leave out features that never vary, or scale them by 1.")
