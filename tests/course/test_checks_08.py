"""The checks of lesson 08: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import lesson_08 as checks


def right_gamma(ours, theirs):
    size = np.abs(ours - theirs)
    return size / size.mean() if size.any() else size


WRONG = [
    (
        checks.check_gamma,
        lambda ours, theirs: (theirs - ours) / (theirs - ours).mean(),
        "never negative",
    ),
    (checks.check_gamma, lambda ours, theirs: np.abs(theirs - ours), "mean 1"),
    (
        checks.check_proximal_step,
        lambda w, importance, step: w - step * importance * np.sign(w),
        "cross zero",
    ),
    (
        checks.check_proximal_step,
        lambda w, importance, step: np.maximum(np.abs(w) - step * importance, 0),
        "sign",
    ),
]


def test_right_answers_are_right():
    assert checks.check_gamma(right_gamma).right
    assert checks.check_proximal_step(lambda w, g, step: w - np.clip(w, -step * g, step * g)).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert words in verdict.text
