"""The exercises' checks: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest

from mialib.course.exercises import check as checks


def right_threshold(scores, fpr):
    allowed = int(np.floor(fpr * len(scores) + 1e-9))
    return np.nextafter(np.sort(scores)[::-1][allowed], np.inf)


RIGHT = {
    "check_gap_attack": lambda predicted, label: predicted == label,
    "check_threshold_for_fpr": right_threshold,
    "check_largest_fpr": lambda tpr, prior, ppv: tpr * prior * (1 - ppv) / (ppv * (1 - prior)),
}
WRONG = [
    ("check_gap_attack", lambda predicted, label: predicted != label, "what the model gets right"),
    ("check_gap_attack", lambda predicted, label: np.ones(4, bool), "expected"),
    ("check_gap_attack", lambda predicted, label: 1, "shape (4,), found ()"),
    (
        "check_threshold_for_fpr",
        lambda scores, fpr: np.quantile(scores, 1 - fpr),
        "too many false alarms",
    ),
    ("check_threshold_for_fpr", lambda scores, fpr: np.inf, "lower threshold"),
    ("check_largest_fpr", lambda tpr, prior, ppv: tpr * prior / ppv, "Solve PPV"),
    ("check_modified_entropy", lambda p, y: -(p * np.log(p)).sum(axis=1), "the label's term"),
    ("check_auc_from_ranks", lambda s, m: (s[m][:, None] > s[~m]).mean(), "ties count half"),
    ("check_two_features", lambda p, y: np.sort(p, axis=1)[:, :-3:-1], "expected"),
    (
        "check_noise_response",
        lambda r, x, e, d, rng: abs(r(x + e * rng.normal(size=x.shape)) - r(x)),
        "3.99",
    ),
    ("check_noise_response", lambda r, x, e, d, rng: np.zeros((200, 2)), "shape (200, 2)"),
    (
        "check_shell",
        lambda d: [(i, j) for i in range(-d, d + 1) for j in range(-d, d + 1)],
        "5 shifts",
    ),
    ("check_input_gradient", lambda w, x, label: w[label], "expected"),
    (
        "check_claimed_advantage",
        lambda s, m: (s[m] >= 2.5).mean() - (s[~m] >= 2.5).mean(),
        "let nobody in",
    ),
    ("check_blind_scores", lambda known, m, asked: -asked.sum(axis=1), "differ by 0.5"),
    ("check_blind_scores", lambda known, m, asked: m, "come from one source"),
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


@pytest.mark.parametrize("name", sorted({name for name, *_ in WRONG}))
def test_a_check_never_stops_a_notebook(name):
    check = getattr(checks, name)

    def undone(*_):
        raise NotImplementedError

    assert "Not done yet" in check(undone).text
    assert "ZeroDivisionError" in check(lambda *_: 1 / 0).text
    assert "✎" in check(undone)._repr_markdown_()
