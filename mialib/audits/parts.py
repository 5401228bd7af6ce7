"""Records in any usual form: `Records`, a pair (x, y), a torch Dataset, a DataLoader.

inside = as_part(loader, "members", notes)
inputs_of((inside, outside), notes)          # (n, features) of both
taken((inside, outside), is_in)              # some of both, in the form in which they came
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, RandomSampler

from mialib import query
from mialib.audits.evidence import as_inputs
from mialib.data.records import Records
from mialib.errors import as_array


@dataclass(frozen=True, eq=False)
class Part:
    """Records of one kind: x as it was handed in, y as an array."""

    x: Any
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)


def as_part(data: Any, what: str, notes: list[str]) -> Part:
    """The records of a `Records`, a pair (x, y), a Dataset or a DataLoader."""
    if isinstance(data, Records):
        return Part(data, data.y)
    if isinstance(data, DataLoader):
        if isinstance(data.sampler, RandomSampler):
            notes.append(f"The DataLoader of {what} shuffles: rows are in the order of one pass.")
        return _from_batches(data, what)
    if isinstance(data, Dataset):
        return _from_batches(DataLoader(data, batch_size=query.BATCH), what)
    if isinstance(data, tuple | list) and len(data) == 2:
        x, y = data
        return _from_pair(x, y, what)
    raise ValueError(
        f"{what} must be Records, a pair (x, y) of arrays, or a DataLoader that gives both; "
        f"found {type(data).__name__}. An audit needs the labels."
    )


def _from_pair(x: Any, y: Any, what: str) -> Part:
    labels = as_array(y, kind="biufOSU", what=f"labels of {what}")
    if not hasattr(x, "shape"):
        x = as_array(x, what=f"x of {what}")
    if labels.ndim == 0 or len(x.shape) == 0 or len(x) != len(labels):
        raise ValueError(
            f"{what} must be (x, y) with one label for each record, "
            f"found shapes {tuple(x.shape)} and {labels.shape}."
        )
    if len(labels) == 0:
        raise ValueError(f"There are no {what}.")
    return Part(x, labels)


def _from_batches(loader: DataLoader, what: str) -> Part:
    batches = []
    for batch in loader:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise ValueError(f"Each batch of {what} must be (x, y), found {type(batch).__name__}.")
        batches.append(batch)
    if not batches:
        raise ValueError(f"There are no {what}: the DataLoader is empty.")
    x = torch.cat([torch.as_tensor(x) for x, _ in batches])
    y = torch.cat([torch.as_tensor(y) for _, y in batches])
    return _from_pair(x, y, what)


def inputs_of(parts: Sequence[Part], notes: list[str]) -> np.ndarray | None:
    """The inputs of all parts, as a table of numbers; None where some are none."""
    tables = []
    for part in parts:
        x = part.x.x if isinstance(part.x, Records) else part.x
        table = as_inputs(x, len(part), notes)
        if table is None:
            return None
        tables.append(table)
    widths = [table.shape[1] for table in tables]
    if len(set(widths)) > 1:
        raise ValueError(
            f"Members have {widths[0]} numbers each and non-members {widths[1]}; give records of "
            "one shape."
        )
    return np.concatenate(tables)


def taken(parts: Sequence[Part], chosen: np.ndarray) -> Any:
    """Some of the records of all parts, as `Records` if they are all that, and as (x, y) otherwise.

    `chosen` is a mask over all of them, one part after the other.
    """
    masks = np.split(chosen, np.cumsum([len(part) for part in parts])[:-1])
    if all(isinstance(part.x, Records) for part in parts):
        return _joined_records([part.x.take(mask) for part, mask in zip(parts, masks, strict=True)])
    y = np.concatenate([part.y[mask] for part, mask in zip(parts, masks, strict=True)])
    if all(isinstance(part.x, Tensor) for part in parts):
        pieces = [part.x[mask] for part, mask in zip(parts, masks, strict=True)]
        return torch.cat(pieces), torch.as_tensor(y)
    arrays = [as_array(part.x, what="x")[mask] for part, mask in zip(parts, masks, strict=True)]
    return np.concatenate(arrays), y


def _joined_records(pieces: Sequence[Records]) -> Records:
    """Records of one kind in one."""
    first = pieces[0]
    if any((piece.shift, piece.scale) != (first.shift, first.scale) for piece in pieces):
        raise ValueError("Members and non-members are scaled differently. Load them alike.")
    return replace(
        first,
        x=np.concatenate([piece.x for piece in pieces]),
        y=np.concatenate([piece.y for piece in pieces]),
        index=np.concatenate([piece.index for piece in pieces]),
    )
