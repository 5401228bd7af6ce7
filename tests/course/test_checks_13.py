"""The checks of lesson 13: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import lesson_13 as checks
from mialib.sparsity import chains


def right_factor(entries, x):
    k, t, r, s = entries.shape
    matrix = np.zeros((k, r, t, k, s, t))
    for block in range(k):
        for place in range(t):
            matrix[block, :, place, block, :, place] = entries[block, place]
    return matrix.reshape(k * r * t, k * s * t) @ x


def places_before_columns(entries, x):
    """Reads x as (k, t, s), as a factor with t = 1 would allow."""
    k, t, _, s = entries.shape
    return (entries @ x.reshape(k, t, s, 1))[..., 0].reshape(-1)


def first_block_only(entries, x):
    k, t, _, s = entries.shape
    return np.tile(entries[0, 0] @ x.reshape(-1, s)[0], k * t)


def search(rows, columns, *, least=2, most=None, monotone=True):
    low, high = sorted((rows, columns)) if monotone else (1, rows * columns)
    return min(
        r * columns + k * rows
        for r in range(least, (most or rows // 2) + 1)
        for k in range(1, columns + 1)
        if rows % r == columns % k == 0 and low <= k * r <= high
    )


def any_blocks(rows, columns):
    """Forgets that k must divide the columns."""
    low, high = sorted((rows, columns))
    pairs = [(r, k) for r in range(2, rows // 2 + 1) if rows % r == 0 for k in range(1, columns)]
    return min(r * columns + k * rows for r, k in pairs if low <= k * r <= high)


WRONG = [
    (
        checks.check_apply_factor,
        lambda entries, x: entries[0, 0].T @ x[: len(entries[0, 0])],
        "expected 2 numbers",
    ),
    (checks.check_apply_factor, lambda entries, x: right_factor(-entries, x), "ordinary matrix"),
    (checks.check_apply_factor, first_block_only, "its own columns"),
    (checks.check_apply_factor, places_before_columns, "over k, then s, then t"),
    (
        checks.check_fewest,
        lambda rows, columns: search(rows, columns, monotone=False),
        "must lie between",
    ),
    (
        checks.check_fewest,
        lambda rows, columns: search(rows, columns, least=1, most=rows),
        "neither 1 nor 16",
    ),
    (checks.check_fewest, any_blocks, "must divide"),
    (checks.check_fewest, lambda rows, columns: rows * columns, "expected 3200, found 36864"),
]


def test_right_answers_are_right():
    assert checks.check_apply_factor(right_factor).right
    assert checks.check_fewest(search).right
    assert checks.check_fewest(
        lambda *shape: min(map(chains.parameters, chains.chains(*shape, 2)))
    ).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert words in verdict.text


@pytest.mark.parametrize("check", [checks.check_apply_factor, checks.check_fewest])
def test_a_check_never_stops_a_notebook(check):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
