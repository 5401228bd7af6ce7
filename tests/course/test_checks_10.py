"""The checks of lesson 10: right answers pass, and each usual mistake gets a sentence of its own."""

import numpy as np
import pytest
import torch

from mialib.course.exercises import lesson_10 as checks
from mialib.defenses.crl import normalized
from mialib.defenses.relaxloss import soft_loss


def lowest_by_descent(classes, tau):
    """The loss of logits that lead in the best direction and are very long before they are normalised."""
    best = torch.full((1, classes), -1.0 / classes, dtype=torch.float64)
    best[0, 0] += 1
    return torch.nn.functional.cross_entropy(
        normalized(1e12 * best, tau), torch.zeros(1, dtype=torch.long)
    ).item()


def pull_by_autograd(p, classes):
    logits = torch.zeros(len(p), classes, dtype=torch.float64)
    logits[:, 0] = torch.from_numpy(np.log((classes - 1) * p / (1 - p)))
    logits.requires_grad_()
    soft_loss(logits, logits, torch.zeros(len(p), dtype=torch.long)).sum().backward()
    return -logits.grad[:, 0].numpy()


WRONG = [
    (
        checks.check_lowest_loss,
        lambda classes, tau: np.log1p((classes - 1) * np.exp(-1 / tau)),
        "longest lead",
    ),
    (checks.check_lowest_loss, lambda classes, tau: 0.0, "longest lead"),
    (
        checks.check_sharpening,
        lambda p, classes: np.log((classes - 1) * p / (1 - p)),
        "by the logit",
    ),
    (
        checks.check_sharpening,
        lambda p, classes: p * (1 - p) * np.log((1 - p) / p / (classes - 1)),
        "minus",
    ),
    (checks.check_sharpening, lambda p, classes: 1 - p, "0 at p = 1/C"),
]


def test_right_answers_are_right():
    assert checks.check_lowest_loss(lowest_by_descent).right
    assert checks.check_sharpening(pull_by_autograd).right


@pytest.mark.parametrize(("check", "answer", "words"), WRONG)
def test_a_mistake_is_named(check, answer, words):
    verdict = check(answer)
    assert not verdict.right
    assert words in verdict.text
