"""Butterfly chains: how a matrix is written as a product of sparse factors with fixed supports.

A `Factor` is a rows × columns matrix of k diagonal blocks, each an r × s grid of t × t diagonal matrices (deformable
butterfly, Lin et al. 2021). A chain lists factors in the order in which they meet the input: W = R_L … R_1.

>>> smallest(64, 576, 2)
(Factor(rows=64, columns=576, r=2, s=18, t=1), Factor(rows=64, columns=64, r=32, s=32, t=2))
>>> parameters(square(16)), 16 * 16
(128, 256)

The sparsity paper takes the monotone chain with the fewest parameters. Introduced in notebook 13."""

from collections.abc import Iterator
from functools import cache
from math import inf
from typing import NamedTuple

import numpy as np

from mialib.errors import check_range, refuse


class Factor(NamedTuple):
    """Row (k, r, t) and column (k, s, t) may be joined if they agree in the block k and the place t on a diagonal."""

    rows: int
    columns: int
    r: int
    s: int
    t: int

    @property
    def blocks(self) -> int:
        return self.rows // (self.r * self.t)

    def support(self) -> np.ndarray:
        """Where the factor may differ from 0, I ⊗ 1_{r×s} ⊗ I: (rows, columns) bool."""
        return np.kron(
            np.kron(np.eye(self.blocks), np.ones((self.r, self.s))), np.eye(self.t)
        ).astype(bool)


Chain = tuple[Factor, ...]


def square(n: int) -> Chain:
    """The classic butterfly of Fig. 3: log₂ n factors of n × n with two entries in each row and column."""
    check_range(2, inf, whole=True, n=n)
    levels = int(n).bit_length() - 1
    refuse(
        n != 2**levels,
        f"A square butterfly needs a size that is a power of two, found {n}. Use smallest(n, n, L).",
    )
    return tuple(Factor(n, n, 2, 2, 2**level) for level in range(levels))


def parameters(chain: Chain) -> int:
    """How many entries may differ from 0."""
    return sum(factor.rows * factor.s for factor in chain)


def chains(rows: int, columns: int, length: int, *, trivial: bool = False) -> Iterator[Chain]:
    """Every monotone chain of this length; unless `trivial`, each factor has r ≥ 2."""
    check_range(1, inf, whole=True, rows=rows, columns=columns, length=length)
    yield from _chains(rows, columns, length, 1, trivial)


def smallest(rows: int, columns: int, length: int, *, trivial: bool = False) -> Chain:
    """The monotone chain of this length with the fewest parameters."""
    check_range(1, inf, whole=True, rows=rows, columns=columns, length=length)
    cost, chain = _smallest(rows, columns, length, 1, trivial)
    none = f"No chain of {length} factors makes a {rows} × {columns} matrix; {rows} must be a product of {length} whole"
    advice = f"numbers {'above 1 ' * (not trivial)}that {columns} and the sizes between allow: take fewer factors"
    refuse(cost == inf, f"{none} {advice}{', or smallest(…, trivial=True)' * (not trivial)}.")
    return chain


def check(chain: Chain, *, rows: int, columns: int) -> Chain:
    """Refuse a chain whose factors do not fit one another, or do not multiply to rows × columns."""
    size, t = columns, 1
    for number, factor in enumerate(chain, start=1):
        refuse(min(factor) < 1, f"Factor {number} must have sizes of at least 1, found {factor}.")
        made = (
            factor.blocks * factor.r * factor.t,
            factor.blocks * factor.s * factor.t,
            factor.columns,
            factor.t,
        )
        expected = f"{factor.rows} = k·r·t rows, {size} = k·s·t columns and t = {t}"
        refuse(
            made != (factor.rows, factor.columns, size, t),
            f"Factor {number} must have {expected}, found {factor}.",
        )
        size, t = factor.rows, factor.r * factor.t
    expected = f"The chain must end with one block and {rows} rows, for a {rows} × {columns} matrix"
    refuse(
        (size, t) != (rows, rows),
        f"{expected}; found {chain}. See smallest({rows}, {columns}, {len(chain)}).",
    )
    return chain


def _chains(rows: int, columns: int, length: int, t: int, trivial: bool) -> Iterator[Chain]:
    if not length:
        yield from [()] * (columns == t == rows)
        return
    for factor in _next(rows, columns, length, t, trivial):
        for rest in _chains(rows, factor.rows, length - 1, t * factor.r, trivial):
            yield factor, *rest


@cache
def _smallest(rows: int, columns: int, length: int, t: int, trivial: bool) -> tuple[float, Chain]:
    """As `min(_chains(…), key=parameters)`, but each end of a chain is looked for once."""
    if not length:
        return (0, ()) if columns == t == rows else (inf, ())
    found = [(inf, ())]
    for factor in _next(rows, columns, length, t, trivial):
        cost, rest = _smallest(rows, factor.rows, length - 1, t * factor.r, trivial)
        found.append((cost + parameters((factor,)), (factor, *rest)))
    return min(found, key=lambda pair: pair[0])


def _next(rows: int, columns: int, length: int, t: int, trivial: bool) -> Iterator[Factor]:
    """The factors that may come next, after products of r that make `t`; sizes stay between columns and rows."""
    least, most = sorted((rows, columns))
    for r in range(1 if trivial else 2, rows // t + 1):
        if (rows // t) % r:
            continue
        for size in [rows] if length == 1 else range(-(-least // (t * r)) * t * r, most + 1, t * r):
            blocks = size // (t * r)
            if columns % (blocks * t) == 0:
                yield Factor(size, columns, r, columns // (blocks * t), t)
