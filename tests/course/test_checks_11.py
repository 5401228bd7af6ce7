"""The checks of lesson 11: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import lesson_11 as checks


def right_partners(wanted, labels, rng):
    order = labels.argsort(kind="stable")
    count = np.bincount(labels)
    start = count.cumsum() - count
    return order[start[wanted] + rng.integers(count[wanted])]


def first_of_the_class(wanted, labels, rng):
    return np.array([np.flatnonzero(labels == one)[0] for one in wanted])


def never_the_last(wanted, labels, rng):
    """As in the authors' code, whose upper end is left out; a class of one would fail there."""
    places = [np.flatnonzero(labels == one) for one in wanted]
    return np.array([some[rng.integers(max(len(some) - 1, 1))] for some in places])


def right_epsilon(tpr, fpr, delta):
    def needed(rate, other):
        if rate <= delta:
            return 0.0
        return np.inf if other == 0 else np.log((rate - delta) / other)

    return max(0.0, needed(tpr, fpr), needed(1 - fpr, 1 - tpr))


def one_sided(tpr, fpr, delta):
    return max(0.0, np.log(max(tpr - delta, 1e-300) / fpr)) if fpr else np.inf


def unbounded(tpr, fpr, delta):
    with np.errstate(all="ignore"):
        return np.maximum(np.log((tpr - delta) / fpr), np.log((1 - fpr - delta) / (1 - tpr)))


WRONG = [
    (
        checks.check_partners,
        lambda wanted, labels, rng: rng.integers(len(labels), size=len(wanted)),
        "of class",
    ),
    (checks.check_partners, first_of_the_class, "were due"),
    (checks.check_partners, never_the_last, "was drawn 0 times"),
    (checks.check_partners, lambda wanted, labels, rng: wanted[:5], "Expected 4000 places"),
    (checks.check_partners, lambda wanted, labels, rng: wanted + 0.0, "as whole numbers"),
    (checks.check_partners, lambda wanted, labels, rng: wanted + 100, "between 0 and 10"),
    (checks.check_least_epsilon, one_sided, "the larger ε of the two"),
    (checks.check_least_epsilon, unbounded, "at least 0"),
    (checks.check_least_epsilon, lambda tpr, fpr, delta: tpr - fpr, "the larger ε of the two"),
]


def test_right_answers_are_right():
    assert checks.check_partners(right_partners).right
    assert checks.check_least_epsilon(right_epsilon).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert words in verdict.text


@pytest.mark.parametrize("check", [checks.check_partners, checks.check_least_epsilon])
def test_a_check_never_stops_a_notebook(check):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
