"""The self-checks of lesson 13: one factor as a product of small blocks, and the fewest parameters of two factors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mialib.course.exercises.check import _check
from mialib.sparsity import chains


@_check
def check_apply_factor(answer: Callable) -> str | None:
    """Exercise 13.1: what the factor's matrix does, for numbers of blocks, places and sizes that differ."""
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 2, 3), (2, 1, 2, 3), (1, 3, 2, 4), (3, 4, 2, 5)):
        k, t, _, s = shape
        entries, x = rng.normal(size=shape), rng.normal(size=k * s * t)
        found = np.asarray(answer(entries.copy(), x.copy()))
        expected = np.einsum("ktrs,kst->krt", entries, x.reshape(k, s, t)).ravel()
        if found.shape != expected.shape:
            return f"For k, t, r, s = {shape} expected {len(expected)} numbers, found shape {found.shape}."
        if not np.allclose(found, expected):
            advice = {
                (1, 1): "One block is an ordinary matrix.",
                (2, 1): "Each block sees its own columns only.",
            }
            order = (
                "With t > 1, x runs over k, then s, then t, and the result over k, then r, then t."
            )
            return f"For k, t, r, s = {shape} the numbers differ from those of the matrix. {advice.get((k, t), order)}"
    return None


@_check
def check_fewest(answer: Callable) -> str | None:
    """Exercise 13.2: as the library's search; each usual mistake finds another number."""
    for rows, columns in ((64, 576), (16, 144), (32, 144), (12, 12), (6, 4), (10, 36)):
        expected, found = (
            chains.parameters(chains.smallest(rows, columns, 2)),
            answer(rows, columns),
        )
        told = f"For {rows}×{columns} expected {expected}, found {found}."
        if found == _least(rows, columns, monotone=False):
            return (
                f"{told} The size between the factors, k·r, must lie between {columns} and {rows}."
            )
        if found == _least(rows, columns, ends=True):
            return f"{told} Both factors need r ≥ 2: r₁ may be neither 1 nor {rows}."
        if found != expected:
            return f"{told} k must divide the columns, and r₁ the rows."
    return None


def _least(rows: int, columns: int, *, monotone: bool = True, ends: bool = False) -> int | None:
    """What a mistake finds, or None where that is the right number."""
    low, high = sorted((rows, columns)) if monotone else (1, rows * columns)
    firsts = [r for r in range(1, rows + 1) if rows % r == 0 and (ends or 1 < r < rows)]
    blocks = [k for k in range(1, columns + 1) if columns % k == 0]
    found = min(r * columns + k * rows for r in firsts for k in blocks if low <= k * r <= high)
    return None if found == chains.parameters(chains.smallest(rows, columns, 2)) else found
