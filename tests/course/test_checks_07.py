"""The checks of lesson 07: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import lesson_07 as checks


def right_number(gradient, share):
    sizes = sorted(map(abs, gradient), reverse=True)
    return next(k for k in range(1, len(sizes) + 1) if sum(sizes[:k]) >= share * sum(sizes))


def smallest_first(gradient, share):
    return (
        int(np.searchsorted(np.cumsum(np.sort(np.abs(gradient))), share * np.abs(gradient).sum()))
        + 1
    )


def signed(gradient, share):
    return int(np.searchsorted(np.cumsum(np.sort(gradient)[::-1]), share * gradient.sum())) + 1


def shifted(losses, by):
    return lambda n: (losses(n)[0] + by, losses(n)[1])


def few_low(n):
    """Members alike; one non-member at 0 pays for the others, who lie above."""
    member, non_member = np.full(n, n - 1.0), np.full(n, float(n))
    non_member[0] = 0
    return member, non_member


WRONG = [
    (checks.check_weights_needed, smallest_first, "the largest first"),
    (checks.check_weights_needed, signed, "Add up sizes"),
    (
        checks.check_weights_needed,
        lambda gradient, share: right_number(gradient, share) - 1,
        "until the share is",
    ),
    (
        checks.check_weights_needed,
        lambda gradient, share: np.abs(gradient),
        "expected an answer of shape ()",
    ),
    (
        checks.check_silent_leak,
        lambda n: (np.zeros(n), np.ones(n)),
        "the means must be equal, found a gap of 1",
    ),
    (checks.check_silent_leak, lambda n: (np.ones(n), np.ones(n)), "0.00 only"),
    (checks.check_silent_leak, shifted(few_low, -1000), "never below 0"),
    (checks.check_silent_leak, lambda n: (np.zeros(1), np.zeros(1)), "shape (100,)"),
]


def test_right_answers_are_right():
    assert checks.check_weights_needed(right_number).right
    assert checks.check_silent_leak(few_low).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert words in verdict.text


@pytest.mark.parametrize("check", [checks.check_weights_needed, checks.check_silent_leak])
def test_a_check_never_stops_a_notebook(check):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
