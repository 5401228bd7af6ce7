"""The self-checks of lesson 13: a factor as small blocks, and the fewest parameters of two."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check
from mialib.sparsity import chains

ONE_BLOCK = "One block is an ordinary matrix."
OWN_COLUMNS = "Each block sees its own columns only."
ORDER = "With t > 1, x runs over k, then s, then t, and the result over k, then r, then t."


@check
def check_apply_factor(answer: Answer) -> str | None:
    """Exercise 13.1: what the factor's matrix does, for blocks, places and sizes that differ."""
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 2, 3), (2, 1, 2, 3), (1, 3, 2, 4), (3, 4, 2, 5)):
        k, t, _, s = shape
        entries = rng.normal(size=shape)
        x = rng.normal(size=k * s * t)
        product = np.asarray(answer(entries.copy(), x.copy()))
        expected = np.einsum("ktrs,kst->krt", entries, x.reshape(k, s, t)).ravel()
        case = f"For k, t, r, s = {shape}"
        if product.shape != expected.shape:
            return f"{case} expected {len(expected)} numbers, found shape {product.shape}."
        if not np.allclose(product, expected):
            return f"{case} the numbers differ from those of the matrix. {_advice(k, t)}"
    return None


def _advice(k: int, t: int) -> str:
    if t > 1:
        return ORDER
    return OWN_COLUMNS if k > 1 else ONE_BLOCK


@check
def check_fewest(answer: Answer) -> str | None:
    """Exercise 13.2: as the library's search; each usual mistake finds another number."""
    for rows, columns in ((64, 576), (16, 144), (32, 144), (12, 12), (6, 4), (10, 36)):
        expected = chains.parameters(chains.smallest(rows, columns, 2))
        count = answer(rows, columns)
        if count == expected:
            continue
        case = f"For {rows}×{columns} expected {expected}, found {count}."
        if count == _least(rows, columns, monotone=False):
            between = f"between {columns} and {rows}"
            return f"{case} The size between the factors, k·r, must lie {between}."
        if count == _least(rows, columns, ends=True):
            return f"{case} Both factors need r ≥ 2: r₁ may be neither 1 nor {rows}."
        return f"{case} k must divide the columns, and r₁ the rows."
    return None


def _least(rows: int, columns: int, *, monotone: bool = True, ends: bool = False) -> int:
    """What a mistake finds: k·r that need not lie between the sizes, or r₁ that may be trivial."""
    if monotone:
        low, high = sorted((rows, columns))
    else:
        low, high = 1, rows * columns
    counts = []
    for r in _divisors(rows):
        for k in _divisors(columns):
            trivial = r in (1, rows)
            if low <= k * r <= high and (ends or not trivial):
                counts.append(r * columns + k * rows)
    return min(counts)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
