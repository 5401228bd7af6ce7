"""The self-checks of lesson 09: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import lesson_09 as checks


def focus_only(gradient, alpha):
    power = np.abs(gradient) ** alpha
    return power / power.mean() if power.any() else power


def control_for(accuracy, accuracies, advantages):
    there = [(advantages[k], k) for k in range(len(accuracies)) if accuracies[k] >= accuracy - 0.01]
    return min(there)[1] if there else -1


def gamma(gradient):
    return np.abs(gradient) / max(np.abs(gradient).mean(), 1e-30)


RIGHT = {"check_focus_only": focus_only, "check_control_for": control_for}
WRONG = [
    ("check_focus_only", lambda g, alpha: gamma(g) ** alpha, "must have mean 1"),
    (
        "check_focus_only",
        lambda g, alpha: np.abs(g) ** alpha / max((np.abs(g) ** alpha).sum(), 1e-30),
        "must have mean 1",
    ),
    ("check_focus_only", lambda g, alpha: 1.0, "shape (2, 2), found ()"),
    (
        "check_control_for",
        lambda a, accuracies, b: int(np.argmin(abs(accuracies - a))),
        "lowest advantage",
    ),
    ("check_control_for", lambda a, accuracies, b: int(np.argmin(b)), "0.01 less accurate"),
    (
        "check_control_for",
        lambda a, accuracies, b: int(np.argmin(np.where(abs(accuracies - a) <= 0.01, b, 9))),
        "expected",
    ),
]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_is_right(name):
    assert getattr(checks, name)(RIGHT[name]).right


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_a_mistake_is_named(name, answer, words):
    verdict = getattr(checks, name)(answer)
    assert not verdict.right
    assert verdict.text.startswith("Not quite")
    assert words in verdict.text


@pytest.mark.parametrize("name", RIGHT)
def test_a_check_never_stops_a_notebook(name):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in getattr(checks, name)(undone).text
    assert "ZeroDivisionError" in getattr(checks, name)(lambda *_: 1 / 0).text
