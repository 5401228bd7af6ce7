"""`Records`: arrays of (x, y) with their name, their number of classes and how to scale them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    index: np.ndarray | None = None

    def __post_init__(self):
        index = np.arange(np.size(self.y)) if self.index is None else self.index
        for name, array in (("x", self.x), ("y", self.y), ("index", index)):
            view = np.asarray(array).view()
            view.flags.writeable = False  # Loaders share their records, and the fingerprint is computed once.
            object.__setattr__(self, name, view)
        for fault, sentence in _faults(self):
            if fault:
                raise ValueError(f"{self.name}: {sentence}")

    def __len__(self) -> int:
        return len(self.y)

    def take(self, positions: np.ndarray) -> Records:
        """The records at these positions."""
        return replace(self, x=self.x[positions], y=self.y[positions], index=self.index[positions])

    def scaled(self) -> np.ndarray:
        """What a model sees, as float32."""
        per_channel = (1, -1) + (1,) * (self.x.ndim - 2)
        shift, scale = (np.asarray(values, np.float32).reshape(per_channel) for values in (self.shift, self.scale))
        return (self.x.astype(np.float32) - shift) / scale

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the records themselves; two datasets with one name can never be confused."""
        about = (self.x.shape, str(self.x.dtype), self.classes, self.shift, self.scale)
        digest = hashlib.sha256(repr(about).encode())
        digest.update(np.ascontiguousarray(self.x).data)
        digest.update(np.ascontiguousarray(self.y, np.int64).data)
        return digest.hexdigest()


def _faults(records: Records) -> Iterator[tuple[bool, str]]:
    """What may be wrong, each with its sentence; a line may rely on those before it."""
    x, y, index, classes = records.x, records.y, records.index, records.classes
    yield x.ndim not in (2, 4), f"x must be (n, features) or (n, channels, height, width), found shape {x.shape}."
    yield x.dtype.kind not in "biuf", f"x must hold real numbers, found {x.dtype}. Encode text and categories first."
    yield y.shape != x.shape[:1], f"y must have one label for each of the {len(x)} records, found shape {y.shape}."
    yield index.shape != y.shape, f"index must have one entry for each record, found shape {index.shape}."
    yield not x.size, f"there are no records, or not at least one number in each; found shape {x.shape}. Load more."
    yield y.dtype.kind not in "iu", f"labels must be integers, found {y.dtype}. Convert them with y.astype(int)."
    expected = f"labels must lie in 0 … {classes - 1}, found {y.min()} … {y.max()}."
    yield y.min() < 0 or y.max() >= classes, f"{expected} Labels that start at 1 need y - 1."
    infinite = x.dtype.kind == "f" and not np.isfinite(x).all()
    yield infinite, "x has NaN or infinite values. Remove or impute those records first."
    for what, values in (("shift", records.shift), ("scale", records.scale)):
        yield len(values) not in (1, x.shape[1]), f"{what} must have 1 or {x.shape[1]} numbers, found {len(values)}."
    yield 0 in records.scale, "scale must not be 0. Leave out features that never vary, or scale them by 1."
