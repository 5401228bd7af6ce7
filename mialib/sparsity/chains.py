"""Butterfly chains: how a matrix is written as a product of sparse factors with fixed supports.

A `Factor` is a rows × columns matrix of k diagonal blocks, each an r × s grid of t × t diagonal
matrices (deformable butterfly, Lin et al. 2021). A chain lists factors in the order in which they
meet the input: W = R_L … R_1.

>>> smallest(64, 576, 2)
(Factor(rows=64, columns=576, r=2, s=18, t=1), Factor(rows=64, columns=64, r=32, s=32, t=2))
>>> parameters(square(16)), 16 * 16
(128, 256)

A chain is *monotone* if the sizes between the factors never turn back on their way from columns to
rows. The sparsity paper takes the monotone chain with the fewest parameters. Introduced in
notebook 13.
"""

from collections.abc import Iterator
from functools import cache
from math import inf, isqrt
from numbers import Integral
from typing import NamedTuple

import numpy as np

from mialib.errors import check_flag, check_range

LARGEST_SIZE = 2**17  # rows or columns: more than any layer has, and searched in a second
LONGEST_CHAIN = 64
LARGEST_SUPPORT = 2**28  # entries of a support that is written out


class Factor(NamedTuple):
    """Row (k, r, t) and column (k, s, t) may be joined if they agree in k and in t.

    k is the block, and t the place on a diagonal; `r` and `s` are the rows and the columns of the
    grid of diagonals in one block.
    """

    rows: int
    columns: int
    r: int
    s: int
    t: int

    @property
    def blocks(self) -> int:
        """How many diagonal blocks there are: k."""
        return self.rows // (self.r * self.t)

    def support(self) -> np.ndarray:
        """Where the factor may differ from 0, I ⊗ 1_{r×s} ⊗ I: (rows, columns) bool."""
        if self.rows * self.columns > LARGEST_SUPPORT:
            raise ValueError(
                f"The support of a factor is written out for at most {LARGEST_SUPPORT:,} entries, "
                f"found {self.rows} × {self.columns}. Ask for a smaller factor."
            )
        blocks = np.eye(self.blocks)
        grid = np.ones((self.r, self.s))
        diagonal = np.eye(self.t)
        return np.kron(np.kron(blocks, grid), diagonal).astype(bool)


Chain = tuple[Factor, ...]


class _Cheapest(NamedTuple):
    """The end of a chain with the fewest parameters; `parameters` is infinite if there is none."""

    parameters: float
    chain: Chain


def square(n: int) -> Chain:
    """The classic butterfly of Fig. 3: log₂ n factors of n × n, two entries in each row and column.

    >>> [factor.t for factor in square(8)]
    [1, 2, 4]
    """
    check_range(2, inf, whole=True, n=n)
    _check_limit(LARGEST_SIZE, n=n)
    n = int(n)
    levels = n.bit_length() - 1
    if n != 2**levels:
        raise ValueError(
            f"A square butterfly needs a size that is a power of two, found {n}. "
            "Use smallest(n, n, L)."
        )
    return tuple(Factor(n, n, 2, 2, 2**level) for level in range(levels))


def parameters(chain: Chain) -> int:
    """How many entries may differ from 0."""
    check_factors(chain)
    return sum(factor.rows * factor.s for factor in chain)


def chains(rows: int, columns: int, length: int, *, trivial: bool = False) -> Iterator[Chain]:
    """Every monotone chain of this length; unless `trivial`, each factor has r ≥ 2."""
    _check_sizes(rows, columns, length)
    check_flag(trivial=trivial)
    return _every_end(rows, columns, length, 1, trivial)


def smallest(rows: int, columns: int, length: int, *, trivial: bool = False) -> Chain:
    """The monotone chain of this length with the fewest parameters."""
    _check_sizes(rows, columns, length)
    check_flag(trivial=trivial)
    cheapest = _cheapest_end(rows, columns, length, 1, trivial)
    if cheapest.parameters < inf:
        return cheapest.chain
    if trivial:
        numbers = "whole numbers"
        advice = "take fewer factors"
    else:
        numbers = "whole numbers above 1"
        advice = "take fewer factors, or smallest(…, trivial=True)"
    raise ValueError(
        f"No chain of {length} factors makes a {rows} × {columns} matrix; {rows} must be a product "
        f"of {length} {numbers} that {columns} and the sizes between allow: {advice}."
    )


def check_factors(chain: Chain) -> None:
    """Refuse what is no tuple or list of factors, each with sizes of at least 1."""
    if not isinstance(chain, tuple | list):
        raise ValueError(f"A chain is a tuple of factors, found {type(chain).__name__}.")
    for number, factor in enumerate(chain, start=1):
        if not _has_sizes(factor):
            raise ValueError(
                f"Factor {number} must have sizes of at least 1, found {factor!r}. "
                "See Factor(rows, columns, r, s, t)."
            )


def check(chain: Chain, *, rows: int, columns: int) -> Chain:
    """Refuse a chain whose factors do not fit one another, or do not multiply to rows × columns."""
    check_factors(chain)
    check_range(1, inf, whole=True, rows=rows, columns=columns)
    size = columns  # what the factors so far make of the input …
    t = 1  # … in blocks of which each is dense over so many rows
    for number, factor in enumerate(chain, start=1):
        rows_fit = factor.rows == factor.blocks * factor.r * factor.t
        columns_fit = factor.columns == factor.blocks * factor.s * factor.t == size
        if not rows_fit or not columns_fit or factor.t != t:
            raise ValueError(
                f"Factor {number} must have {factor.rows} = k·r·t rows, {size} = k·s·t columns "
                f"and t = {t}, found {factor}."
            )
        size = factor.rows
        t = factor.r * factor.t
    if size != rows or t != rows:
        raise ValueError(
            f"The chain must end with one block and {rows} rows, for a {rows} × {columns} matrix; "
            f"found {chain}. See smallest({rows}, {columns}, {len(chain)})."
        )
    return chain


def _has_sizes(factor: Factor) -> bool:
    """Whether this is a factor, and each of its sizes a whole number above 0."""
    if not isinstance(factor, Factor):
        return False
    return all(isinstance(size, Integral) and size >= 1 for size in factor)


def _check_sizes(rows: int, columns: int, length: int) -> None:
    check_range(1, inf, whole=True, rows=rows, columns=columns, length=length)
    _check_limit(LARGEST_SIZE, rows=rows, columns=columns)
    _check_limit(LONGEST_CHAIN, length=length)


def _check_limit(limit: int, **sizes: int) -> None:
    for name, size in sizes.items():
        if size > limit:
            raise ValueError(f"{name} may be at most {limit}, found {size}.")


def _every_end(rows: int, columns: int, length: int, t: int, trivial: bool) -> Iterator[Chain]:
    """Every end of `length` factors that a chain may have, after factors whose r multiply to t."""
    if length == 0:
        if rows == columns == t:
            yield ()
        return
    for factor in _next_factors(rows, columns, length, t, trivial):
        for rest in _every_end(rows, factor.rows, length - 1, t * factor.r, trivial):
            yield factor, *rest


@cache
def _cheapest_end(rows: int, columns: int, length: int, t: int, trivial: bool) -> _Cheapest:
    """As `min(_every_end(…), key=parameters)`, but each end of a chain is looked for once."""
    if length == 0:
        return _Cheapest(0 if rows == columns == t else inf, ())
    cheapest = _Cheapest(inf, ())
    for factor in _next_factors(rows, columns, length, t, trivial):
        rest = _cheapest_end(rows, factor.rows, length - 1, t * factor.r, trivial)
        cost = parameters((factor,)) + rest.parameters
        if cost < cheapest.parameters:
            cheapest = _Cheapest(cost, (factor, *rest.chain))
    return cheapest


def _next_factors(rows: int, columns: int, length: int, t: int, trivial: bool) -> Iterator[Factor]:
    """The factors that may come next, after factors whose r multiply to t.

    A factor with k blocks has k·t·r rows and, of k·s·t columns, s = columns / (k·t). Its rows stay
    between the columns and the rows of the whole matrix; the last factor has all its rows.
    """
    least = min(rows, columns)
    most = max(rows, columns)
    if length == 1:
        least = most = rows
    if columns % t:
        return
    for r in _divisors(rows // t):
        if r == 1 and not trivial:
            continue
        for blocks in _divisors(columns // t):
            size = blocks * t * r
            if least <= size <= most:
                yield Factor(size, columns, r, columns // (blocks * t), t)


@cache
def _divisors(n: int) -> tuple[int, ...]:
    """The numbers that divide n, in order."""
    small = [k for k in range(1, isqrt(n) + 1) if n % k == 0]
    large = [n // k for k in small if k * k != n]
    return tuple(small + large[::-1])
