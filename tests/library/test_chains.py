"""Butterfly chains: brute force over (p, q, r, s, t), the paper's Table 1 and Fig. 3, and what is
refused.
"""

import itertools
import math
import re
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mialib.sparsity.chains import Chain, Factor, chains, check, parameters, smallest, square

# ---------------------------------------------------------------- brute force


def possible(most):
    """Every (p, q, r, s, t) with p, q ≤ most: as many blocks of r·t rows as of s·t columns."""
    for p, q, r, s, t in itertools.product(range(1, most + 1), repeat=5):
        if p % (r * t) == 0 and q % (s * t) == 0 and p // (r * t) == q // (s * t):
            yield p, q, r, s, t


POSSIBLE = list(possible(8))


def brute_force(rows, columns, length, *, trivial):
    """The definition, word by word: everything is built, then what does not fit is thrown away."""
    found = [(factor,) for factor in POSSIBLE if factor[1] == columns and factor[4] == 1]
    for _ in range(length - 1):
        found = [
            (*chain, factor)
            for chain in found
            for factor in POSSIBLE
            if factor[1] == chain[-1][0] and factor[4] == chain[-1][2] * chain[-1][4]
        ]
    for chain in found:
        sizes = [columns, *(p for p, *_ in chain)]
        p, _, r, _, t = chain[-1]
        ends = p == rows == r * t
        monotone = sizes in (sorted(sizes), sorted(sizes, reverse=True))
        if ends and monotone and (trivial or all(r >= 2 for _, _, r, _, _ in chain)):
            yield chain


SHAPES = [
    (4, 8),
    (8, 4),
    (8, 8),
    (6, 8),
    (8, 6),
    (4, 6),
    (3, 7),
    (7, 3),
    (1, 5),
    (5, 1),
    (6, 6),
    (1, 1),
    (8, 3),
]


@pytest.mark.parametrize("trivial", [False, True])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_chains_are_those_of_brute_force(length, trivial):
    for rows, columns in SHAPES:
        expected = list(brute_force(rows, columns, length, trivial=trivial))
        found = list(chains(rows, columns, length, trivial=trivial))
        assert len(found) == len(set(found)) == len(expected), (rows, columns)
        assert set(found) == set(expected), (rows, columns)
        assert all(isinstance(factor, Factor) for chain in found for factor in chain)


def test_brute_force_finds_some():
    """Else the test above would agree on nothing. Of 8 × 8: one for each way to write 8 as an
    ordered product.
    """
    assert [len(list(brute_force(8, 8, length, trivial=False))) for length in (1, 2, 3)] == [
        1,
        2,
        1,
    ]
    assert [len(list(brute_force(8, 8, length, trivial=True))) for length in (1, 2, 3)] == [
        1,
        4,
        10,
    ]
    assert (
        len(list(brute_force(4, 8, 3, trivial=True)))
        > len(list(brute_force(4, 4, 3, trivial=True)))
        == 6
    )


BIGGER = [
    (16, 144, 2),
    (16, 144, 3),
    (12, 30, 3),
    (30, 12, 3),
    (30, 12, 2),
    (64, 8, 3),
    (8, 64, 3),
    (32, 32, 4),
]


@pytest.mark.parametrize("trivial", [False, True])
@pytest.mark.parametrize(("rows", "columns", "length"), BIGGER)
def test_the_smallest_is_the_least_of_all(rows, columns, length, trivial):
    every = list(chains(rows, columns, length, trivial=trivial))
    counts = [sum(p * s for p, _, _, s, _ in chain) for chain in every]
    found = smallest(rows, columns, length, trivial=trivial)
    assert found in every
    assert parameters(found) == min(counts)


def test_the_trivial_are_more_and_never_larger():
    for rows, columns, length in BIGGER:
        without, with_them = (
            set(chains(rows, columns, length, trivial=trivial)) for trivial in (False, True)
        )
        assert without < with_them
        assert all(any(factor.r == 1 for factor in chain) for chain in with_them - without)
        least = parameters(smallest(rows, columns, length, trivial=True))
        assert least <= parameters(smallest(rows, columns, length))


@pytest.mark.parametrize(("rows", "columns", "length"), [*BIGGER, (4, 8, 2), (8, 4, 2)])
def test_sizes_go_one_way_and_the_factors_fit(rows, columns, length):
    for chain in itertools.islice(chains(rows, columns, length), 300):
        sizes = np.array([columns, *(factor.rows for factor in chain)])
        assert (np.diff(sizes) * np.sign(rows - columns) >= 0).all()
        assert rows != columns or len(set(sizes)) == 1
        assert check(chain, rows=rows, columns=columns) == chain
        assert math.prod(factor.r for factor in chain) == rows
        joined = np.linalg.multi_dot(
            [np.eye(rows), *(f.support().astype(int) for f in reversed(chain))]
        )
        assert_array_equal(
            joined, np.ones((rows, columns))
        )  # One path from each column to each row.


def test_one_factor_is_the_dense_matrix():
    assert smallest(6, 10, 1) == (Factor(6, 10, 6, 10, 1),)
    assert list(chains(6, 10, 1)) == [smallest(6, 10, 1)]
    assert parameters(smallest(6, 10, 1)) == 60


def test_more_factors_cost_less_until_they_are_prime():
    counts = [parameters(smallest(64, 64, length)) for length in range(1, 7)]
    assert counts == [64 * 64, 64 * 16, 64 * 12, 64 * 12, 64 * 12, 64 * 12]


def test_the_search_is_quick_where_the_list_of_chains_is_long():
    started = time.process_time()
    smallest(2048, 2048, 11)
    assert time.process_time() - started < 2


# ---------------------------------------------------------------- the paper's numbers

# (rows, columns, length): (p, q, r, s, t) of each factor, and how many entries they have together
LISTED = {
    (64, 576, 2): ([(64, 576, 2, 18, 1), (64, 64, 32, 32, 2)], 3200),
    (64, 288, 2): ([(64, 288, 4, 18, 1), (64, 64, 16, 16, 4)], 2176),
    (32, 288, 2): ([(32, 288, 2, 18, 1), (32, 32, 16, 16, 2)], 1088),
    (32, 144, 2): ([(32, 144, 2, 9, 1), (32, 32, 16, 16, 2)], 800),
    (16, 144, 2): ([(16, 144, 2, 18, 1), (16, 16, 8, 8, 2)], 416),
    (64, 576, 3): ([(64, 576, 2, 18, 1), (64, 64, 4, 4, 2), (64, 64, 8, 8, 8)], 1920),
    (64, 288, 3): ([(64, 288, 2, 9, 1), (64, 64, 4, 4, 2), (64, 64, 8, 8, 8)], 1344),
    (32, 288, 3): ([(32, 288, 2, 18, 1), (32, 32, 4, 4, 2), (32, 32, 4, 4, 8)], 832),
    (32, 144, 3): ([(32, 144, 2, 9, 1), (32, 32, 4, 4, 2), (32, 32, 4, 4, 8)], 544),
    (16, 144, 3): ([(16, 144, 2, 18, 1), (16, 16, 2, 2, 2), (16, 16, 4, 4, 4)], 384),
}


@pytest.mark.parametrize("size", LISTED)
def test_the_chains_of_resnet20_are_those_worked_out_before(size):
    expected, entries = LISTED[size]
    assert sum(p * s for p, _, _, s, _ in expected) == entries
    found = smallest(*size)
    assert parameters(found) == entries == sum(int(factor.support().sum()) for factor in found)
    assert tuple(expected) in set(chains(*size))
    assert found == tuple(expected)


def test_a_trivial_first_factor_makes_the_smallest_layer_smaller():
    assert smallest(16, 144, 2, trivial=True) == ((16, 144, 1, 9, 1), (16, 16, 16, 16, 1))
    assert parameters(smallest(16, 144, 2, trivial=True)) == 400


# Of each segment, last first: how many 3×3 convolutions of each shape a ResNet-20 has.
SEGMENTS = [{(64, 576): 5, (64, 288): 1}, {(32, 288): 5, (32, 144): 1}, {(16, 144): 6}]
TABLE = {(1, 2): 32.26, (2, 2): 15.95, (3, 2): 11.79, (1, 3): 29.61, (2, 3): 12.73, (3, 3): 8.50}
WITH_TRIVIAL = {
    (1, 2): 32.26,
    (2, 2): 15.95,
    (3, 2): 11.75,
    (1, 3): 29.02,
    (2, 3): 11.85,
    (3, 3): 7.37,
}


@pytest.mark.parametrize(("trivial", "table"), [(False, TABLE), (True, WITH_TRIVIAL)])
def test_table_1_of_the_paper(trivial, table):
    for (segments, length), expected in table.items():
        total = 272_474
        for shape, layers in (pair for segment in SEGMENTS[:segments] for pair in segment.items()):
            total -= layers * (
                math.prod(shape) - parameters(smallest(*shape, length, trivial=trivial))
            )
        assert 100 * total / 272_474 == pytest.approx(expected, abs=0.005), (segments, length)


# ---------------------------------------------------------------- supports


@pytest.mark.parametrize("power", range(1, 8))
def test_the_square_butterfly_is_that_of_figure_3(power):
    """Fig. 3: X(ℓ) = I ⊗ 1 ⊗ I with 2^(ℓ−1) blocks, and W = X(1) … X(L): the last meets the input
    first.
    """
    n = 2**power
    found = square(n)
    assert len(found) == power
    assert parameters(found) == 2 * n * power
    assert check(found, rows=n, columns=n) == found
    for level, factor in enumerate(reversed(found), start=1):
        apart = n // 2**level
        i, j = np.indices((n, n))
        near = (i // (2 * apart) == j // (2 * apart)) & (i % apart == j % apart)
        formula = np.kron(np.kron(np.eye(2 ** (level - 1)), np.ones((2, 2))), np.eye(apart))
        assert_array_equal(factor.support(), near)
        assert_array_equal(factor.support(), formula)
        assert factor.support().dtype == bool
        assert set(factor.support().sum(axis=0)) == set(factor.support().sum(axis=1)) == {2}


def test_the_square_butterfly_is_among_the_smallest():
    assert smallest(16, 16, 4) == square(16)


@pytest.mark.parametrize(
    "chain", [*chains(6, 12, 2), *chains(12, 6, 2), *chains(4, 8, 2), *chains(12, 8, 3)]
)
def test_supports_are_blocks_of_grids_of_diagonals(chain):
    for factor in chain:
        expected = np.zeros((factor.rows, factor.columns), bool)
        assert factor.rows == factor.blocks * factor.r * factor.t
        for k, i, j, t in itertools.product(
            *map(range, (factor.blocks, factor.r, factor.s, factor.t))
        ):
            expected[(k * factor.r + i) * factor.t + t, (k * factor.s + j) * factor.t + t] = True
        assert_array_equal(factor.support(), expected)
        assert expected.sum() == parameters((factor,)) == factor.rows * factor.s


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("n", [0, 1, -4, 2.0, math.nan, math.inf, "8", None, True])
def test_a_square_butterfly_of_no_size_is_refused(n):
    with pytest.raises(ValueError, match="n must be a whole number, at least 2, found"):
        square(n)


@pytest.mark.parametrize("n", [3, 6, 12, 1000])
def test_a_square_butterfly_needs_a_power_of_two(n):
    with pytest.raises(ValueError, match=rf"power of two, found {n}\. Use smallest\("):
        square(n)


@pytest.mark.parametrize("make", [smallest, chains])
@pytest.mark.parametrize("bad", [0, -1, 2.5, math.nan, math.inf, None, "4", [4], [], True])
@pytest.mark.parametrize("name", ["rows", "columns", "length"])
def test_sizes_must_be_whole_and_above_zero(make, name, bad):
    """Chains are refused when they are asked for, not when they are gone through."""
    sizes = {"rows": 4, "columns": 4, "length": 2} | {name: bad}
    found = re.escape(repr(bad) if isinstance(bad, str) else str(bad))
    expected = f"^{name} must be a whole number, at least 1, found {found}"
    with pytest.raises(ValueError, match=expected):
        make(*sizes.values())


@pytest.mark.parametrize(
    "make",
    [
        lambda: square(2**31),
        lambda: smallest(2**31, 4, 2),
        lambda: smallest(4, 2**31, 2),
        lambda: smallest(4, 4, 2**31, trivial=True),
        lambda: chains(2**31, 2**31, 2),
        lambda: chains(4, 4, 2**31),
    ],
)
def test_sizes_beyond_any_layer_are_refused_at_once(make):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"^\w+ may be at most \d+, found 2147483648\."):
        make()
    assert time.process_time() - started < 1


def test_the_largest_sizes_are_searched_in_a_moment():
    started = time.process_time()
    found = smallest(55440, 110880, 5)  # numbers with very many divisors
    assert check(found, rows=55440, columns=110880) == found
    assert time.process_time() - started < 5


def test_a_support_that_would_fill_the_memory_is_not_written_out():
    with pytest.raises(ValueError, match=r"at most 268,435,456 entries, found 131072 × 131072"):
        square(2**17)[0].support()


@pytest.mark.parametrize(
    "wrong", [("4", 4, 4, 4, 1), (4.0, 4, 4, 4, 1), (4, None, 4, 4, 1), (4, 4, 4, 4, math.nan)]
)
def test_a_factor_whose_sizes_are_no_whole_numbers_is_refused(wrong):
    with pytest.raises(ValueError, match="Factor 1 must have sizes of at least 1, found"):
        check((Factor(*wrong),), rows=4, columns=4)
    with pytest.raises(ValueError, match="Factor 1 must have sizes of at least 1, found"):
        check(("abcde",), rows=4, columns=4)


@pytest.mark.parametrize(
    ("rows", "columns", "length"), [(4, 4, 3), (7, 14, 2), (3, 27, 2), (64, 576, 7), (1, 8, 2)]
)
def test_where_no_chain_exists_the_reason_is_said(rows, columns, length):
    assert not list(chains(rows, columns, length))
    made = f"No chain of {length} factors makes a {rows} × {columns} matrix"
    expected = f"{made}; {rows} must be a product of {length} "
    with pytest.raises(ValueError, match=expected + "whole numbers above 1.*fewer factors"):
        smallest(rows, columns, length)
    assert check(smallest(rows, columns, length, trivial=True), rows=rows, columns=columns)


def changed(chain: Chain, number: int, **changes) -> Chain:
    return tuple(f._replace(**changes) if at == number else f for at, f in enumerate(chain))


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (
            changed(square(8), 1, t=1),
            "Factor 2 must have 8 = k·r·t rows, 8 = k·s·t columns and t = 2, found Factor",
        ),
        (changed(square(8), 0, t=2), "Factor 1 must have .* t = 1, found"),
        (changed(square(8), 2, rows=16), "Factor 3 must have 16 = k·r·t rows, 8 = k·s·t columns"),
        (changed(square(8), 2, columns=16), "Factor 3 must have"),
        (changed(square(8), 0, s=4), "Factor 1 must have"),
        (changed(square(8), 0, r=3), "Factor 1 must have"),
        (changed(square(8), 1, rows=9), "Factor 2 must have 9 = k·r·t rows"),
        (square(8)[::-1], "Factor 1 must have .* t = 1"),
        (square(8)[1:], "Factor 1 must have"),
        (square(16), "Factor 1 must have .* 8 = k·s·t columns"),
        (smallest(8, 16, 2), "Factor 1 must have .* 8 = k·s·t columns"),
        (
            square(8)[:-1],
            r"must end with one block and 8 rows, for a 8 × 8 matrix; found .*smallest\(8, 8, 2\)",
        ),
        (smallest(16, 8, 2), "must end with one block and 8 rows"),
        (smallest(4, 8, 2), "must end with one block and 8 rows"),
        ((), r"must end with one block and 8 rows.*found \(\)"),
    ],
)
def test_a_chain_that_does_not_fit_is_refused(chain, expected):
    with pytest.raises(ValueError, match=expected):
        check(chain, rows=8, columns=8)


def test_a_chain_that_ends_with_several_blocks_is_refused():
    """Two of the three factors of 8 × 8 make blocks of 4 × 4: they are neither 8 rows of one
    block, nor 4.
    """
    for rows in (4, 8):
        with pytest.raises(ValueError, match=f"must end with one block and {rows} rows"):
            check(square(8)[:-1], rows=rows, columns=8)
