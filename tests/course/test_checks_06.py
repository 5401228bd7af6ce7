"""The checks of lesson 06: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import lesson_06 as checks


def right_choice(accuracy, advantage, most):
    return int(np.where(accuracy >= accuracy[0] - most, advantage, np.inf).argmin())


WRONG = [
    (
        checks.check_accuracy_for_p1,
        lambda p1, advantage: 2 * p1 * (1 - advantage) / (p1 + 1 - advantage),
        "solve P1",
    ),
    (
        checks.check_accuracy_for_p1,
        lambda p1, advantage: p1 * advantage / (2 * advantage - p1),
        "v = 1 − advantage",
    ),
    (
        checks.check_choose_strength,
        lambda accuracy, advantage, most: advantage.argmin(),
        "too much accuracy",
    ),
    (
        checks.check_choose_strength,
        lambda accuracy, advantage, most: accuracy.argmax(),
        "expected row 2",
    ),
    (
        checks.check_choose_strength,
        lambda accuracy, advantage, most: advantage.min(),
        "expected row 2, found 0.1",
    ),
    (
        checks.check_choose_strength,
        lambda accuracy, advantage, most: int(advantage[accuracy >= accuracy[0] - most].argmin()),
        "drawn at random",
    ),
]


def test_a_right_answer_is_right():
    assert checks.check_accuracy_for_p1(
        lambda p1, advantage: 1 / (2 / p1 - 1 / (1 - advantage))
    ).right
    assert checks.check_choose_strength(right_choice).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert verdict.text.startswith("Not quite")
    assert words in verdict.text


@pytest.mark.parametrize("check", [checks.check_accuracy_for_p1, checks.check_choose_strength])
def test_a_check_never_stops_a_notebook(check):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
