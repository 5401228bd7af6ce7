"""The checks of lesson 12: right answers pass, and each usual mistake gets a sentence of its own."""

from math import ceil

import numpy as np
import pytest

from mialib.course.exercises import lesson_12 as checks


def right_prunings(prunable, others, share, percent):
    left = prunable
    for rounds in range(1000):
        if left + others <= percent / 100 * (prunable + others):
            return rounds
        left -= ceil(share * left)
    return None


def others_forgotten(prunable, others, share, percent):
    return right_prunings(prunable, 0, share, percent)


def of_all_each_time(prunable, others, share, percent):
    """Prunes the share of the first count in every round."""
    rounds = 0
    while 100 * (prunable * (1 - share * rounds) + others) / (prunable + others) > percent:
        rounds += 1
    return rounds


def alarms(repeats, rng, *, ddof=1, both=True):
    first, second = rng.normal(size=(2, 50_000, repeats))
    gap = second.mean(axis=1) - first.mean(axis=1)
    reach = first.std(axis=1, ddof=ddof) + second.std(axis=1, ddof=ddof)
    return ((np.abs(gap) if both else gap) > reach).mean()


WRONG = [
    (checks.check_prunings_to, others_forgotten, "never pruned"),
    (checks.check_prunings_to, of_all_each_time, "every round"),
    (checks.check_false_alarms, lambda repeats, rng: alarms(repeats, rng, ddof=0), "n − 1"),
    (
        checks.check_false_alarms,
        lambda repeats, rng: alarms(repeats, rng, both=False),
        "Both directions",
    ),
    (checks.check_false_alarms, lambda repeats, rng: 100 * alarms(repeats, rng), "between 0 and 1"),
]


def test_right_answers_are_right():
    assert checks.check_prunings_to(right_prunings).right
    assert checks.check_false_alarms(alarms).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert words in verdict.text


@pytest.mark.parametrize("check", [checks.check_prunings_to, checks.check_false_alarms])
def test_a_check_never_stops_a_notebook(check):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
