"""Ranks and losses in a file that is a quarter smaller, without losing a bit.

    arrays = packed(ranks, losses)              # what `Results.save` writes
    ranks, losses = unpacked(arrays)            # the same to the bit

Attacks agree: who knows a record's loss nearly knows its highest confidence. So an attack's ranks
are kept as steps from record to record, **in the order of an earlier attack** that makes them
small; `references` says which. Ranks that no earlier attack foretells are kept as they are, and so
is the first attack. The bits of the losses follow in the same way. Bytes lie apart, the low ones of
one attack together, because the high ones are nearly all 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

NONE = -1  # the reference of what is kept as it is
LOOKED_AT = 20  # rows, to find an attack's reference
MOST_ZEROS = 1 << 22  # cells of a file that has no byte for them, because all are 0


def packed(ranks: np.ndarray, losses: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays of bytes from ranks (rows, attacks, n) and losses (rows, n) float16."""
    bits = losses.astype(np.float16, copy=False).view(np.uint16)
    columns = [*ranks.transpose(1, 0, 2).astype(np.int64), bits.astype(np.int64)]
    references = [_reference(columns[:place], columns[place]) for place in range(len(columns))]
    coded = [
        _coded(column, columns[reference] if reference != NONE else None)
        for column, reference in zip(columns, references, strict=True)
    ]
    # (attacks + 1, rows, n), byte by byte
    together = np.stack(coded)
    count = (int(together.max(initial=0)).bit_length() + 7) // 8
    planes = {f"bytes {k}": (together >> 8 * k & 255).astype(np.uint8) for k in range(count)}
    return planes | {
        "shape": np.array(together.shape),
        "planes": np.array(count),
        "references": np.array(references, np.int16),
    }


def unpacked(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The ranks and the losses that `packed` put into these arrays."""
    count = int(arrays["planes"])
    if count < 0:
        raise ValueError(f"ranks of {count} bytes cannot be")
    planes = [arrays[f"bytes {k}"] for k in range(count)]
    shape = _checked_shape(arrays["shape"], planes)
    together = np.zeros(shape, np.int64)
    for k, plane in enumerate(planes):
        together |= plane.astype(np.int64) << 8 * k
    columns: list[np.ndarray] = []
    for coded, reference in zip(together, arrays["references"], strict=True):
        if not NONE <= reference < len(columns):
            raise ValueError(f"attack {len(columns)} follows attack {reference}, which comes later")
        columns.append(_decoded(coded, columns[reference] if reference != NONE else None))
    *by_attack, bits = columns
    ranks = np.stack(by_attack, axis=1) if by_attack else np.zeros((len(bits), 0, bits.shape[1]))
    kind = np.uint16 if ranks.max(initial=0) < 2**16 else np.uint32
    return ranks.astype(kind), bits.astype(np.uint16).view(np.float16)


def _checked_shape(said: np.ndarray, planes: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The shape (attacks + 1, rows, n) of all planes, before memory is taken for it."""
    shape = tuple(said.tolist())
    if len(shape) != 3 or any(plane.shape != shape for plane in planes):
        raise ValueError(f"ranks of shape {shape} do not fit their bytes")
    if shape[0] < 1 or min(shape) < 0 or (not planes and math.prod(shape) > MOST_ZEROS):
        raise ValueError(f"ranks of shape {shape} have no bytes")
    return shape


def _coded(column: np.ndarray, reference: np.ndarray | None) -> np.ndarray:
    """A column (rows, n), or its steps in the order of another: 0, 1, 2, 3 for 0, −1, 1, −2."""
    if reference is None:
        return column
    ordered = np.take_along_axis(column, _order(reference), axis=1)
    steps = np.diff(ordered, axis=1, prepend=0)
    return np.where(steps < 0, -2 * steps - 1, 2 * steps)


def _decoded(coded: np.ndarray, reference: np.ndarray | None) -> np.ndarray:
    if reference is None:
        return coded
    steps = np.where(coded % 2 == 1, -(coded + 1) // 2, coded // 2)
    column = np.empty_like(coded)
    np.put_along_axis(column, _order(reference), steps.cumsum(axis=1), axis=1)
    return column


def _order(column: np.ndarray) -> np.ndarray:
    """The records of each row, from the lowest rank up: (rows, n)."""
    return np.argsort(column, axis=1, kind="stable")


def _reference(earlier: Sequence[np.ndarray], column: np.ndarray) -> int:
    """The place of the earlier column whose order makes the steps smallest, in bits."""
    some = slice(None, None, max(1, len(column) // LOOKED_AT))
    as_it_is = _bits(column[some])
    by_place = {place: _bits(_coded(column[some], one[some])) for place, one in enumerate(earlier)}
    best = min(by_place, key=lambda place: by_place[place], default=NONE)
    return best if best != NONE and by_place[best] < as_it_is else NONE


def _bits(coded: np.ndarray) -> float:
    return float(np.log2(1 + coded).mean()) if coded.size else 0.0
