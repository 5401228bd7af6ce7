"""The self-checks of lesson 13: a factor as small blocks, and a verdict from two intervals."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check

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


# Exercise 13.2: intervals of a difference in highest advantage and in accuracy, and the verdict.
LOWER = (-0.34, -0.31)
HIGHER = (0.07, 0.30)
OPEN = (-0.15, 0.08)
VERDICTS = {
    (LOWER, OPEN): "protects",
    (LOWER, HIGHER): "protects",
    (LOWER, (-0.052, 0.0)): "protects",
    (LOWER, (-0.12, -0.04)): "paid with accuracy",
    (HIGHER, OPEN): "leaks more",
    (HIGHER, LOWER): "leaks more",
    (HIGHER, HIGHER): "leaks more",
    (OPEN, LOWER): "we do not know",
    (OPEN, HIGHER): "we do not know",
    ((-0.1, 0.0), OPEN): "we do not know",
}
WHY = {
    "protects": "The advantage is significantly lower, and the accuracy is not.",
    "paid with accuracy": "The advantage is significantly lower, and so is the accuracy.",
    "leaks more": "The advantage is significantly higher, whatever the accuracy.",
    "we do not know": "The interval of the advantage holds 0.",
}


@check
def check_judge(answer: Answer) -> str | None:
    """Exercise 13.2: a lower advantage protects only where it was not paid with accuracy."""
    for (advantage, accuracy), expected in VERDICTS.items():
        found = answer(advantage, accuracy)
        case = f"For an advantage of {list(advantage)} and an accuracy of {list(accuracy)}"
        if found not in WHY:
            return f"{case} answer one of {', '.join(WHY)}; found {found!r}."
        if found != expected:
            return f"{case} expected {expected!r}, found {found!r}. {WHY[expected]}"
    return None
