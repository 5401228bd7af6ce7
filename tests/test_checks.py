"""The exercises' checks: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib import checks


def right_threshold(scores, fpr):
    allowed = int(np.floor(fpr * len(scores) + 1e-9))
    return np.nextafter(np.sort(scores)[::-1][allowed], np.inf)


RIGHT = {
    checks.check_gap_attack: lambda predicted, label: predicted == label,
    checks.check_threshold_for_fpr: right_threshold,
    checks.check_largest_fpr: lambda tpr, prior, ppv: tpr * prior * (1 - ppv) / (ppv * (1 - prior)),
}
WRONG = [
    (checks.check_gap_attack, lambda predicted, label: predicted != label, "turned round"),
    (checks.check_gap_attack, lambda predicted, label: np.ones(4, bool), "expected"),
    (checks.check_gap_attack, lambda predicted, label: 1, "one True or False for each record"),
    (checks.check_threshold_for_fpr, lambda scores, fpr: np.quantile(scores, 1 - fpr), "too many false alarms"),
    (checks.check_threshold_for_fpr, lambda scores, fpr: np.inf, "lower threshold"),
    (checks.check_largest_fpr, lambda tpr, prior, ppv: tpr * prior / ppv, "not 0.9"),
    (checks.check_largest_fpr, lambda tpr, prior, ppv: -1, "positive number"),
]


@pytest.mark.parametrize("check", RIGHT, ids=lambda check: check.__name__)
def test_a_right_answer_is_right(check):
    assert check(RIGHT[check]).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert verdict.text.startswith("Not quite")
    assert words in verdict.text


@pytest.mark.parametrize("check", RIGHT, ids=lambda check: check.__name__)
def test_a_check_never_stops_a_notebook(check):
    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
    assert "✎" in check(undone)._repr_markdown_()
