"""The exercises' self-checks: each takes the learner's function and says *not done yet*, *not quite* or *right*.

>>> def threshold_for_fpr(non_member_scores, fpr):
...     raise NotImplementedError
>>> check_threshold_for_fpr(threshold_for_fpr)
Not done yet. Replace `raise NotImplementedError` and run the cell again.

A check never stops a notebook, so *Run all* works before the exercises are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from mialib import metrics
from mialib.attacks.threshold import modified_entropy_score
from mialib.signals import Signals


@dataclass(frozen=True)
class Verdict:
    """What a check has to say."""

    right: bool
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"{'✔' if self.right else '✎'} **{self.text.split('.')[0]}.**{self.text.partition('.')[2]}"


def _check(ask: Callable[[Callable], str | None]) -> Callable[[Callable], Verdict]:
    """Turn a function that returns a complaint, or None, into a check that never raises."""

    @wraps(ask)
    def check(answer: Callable) -> Verdict:
        try:
            complaint = ask(answer)
        except NotImplementedError:
            return Verdict(
                False, "Not done yet. Replace `raise NotImplementedError` and run the cell again."
            )
        except Exception as error:
            return Verdict(
                False, f"Not quite. Your function raised {type(error).__name__}: {error}"
            )
        return Verdict(False, f"Not quite. {complaint}") if complaint else Verdict(True, "Right.")

    return check


def _same_as(reference: Callable, *cases: tuple, hint: str = "") -> Callable[[Callable], Verdict]:
    """A check that compares the answer with a reference on some arguments; the hint names the usual mistake."""

    def ask(answer: Callable) -> str | None:
        for case in cases:
            copies = [part.copy() if isinstance(part, np.ndarray) else part for part in case]
            expected, found = np.asarray(reference(*case)), np.asarray(answer(*copies))
            values = (*case, expected, found)
            *given, wanted, got = (
                np.array2string(np.asarray(v), precision=4, threshold=8) for v in values
            )
            shown = ", ".join(given)
            if found.shape != expected.shape:
                return f"For ({shown}) expected an answer of shape {expected.shape}, found {found.shape}."
            if not np.allclose(found, expected, rtol=1e-6, atol=1e-7):
                return f"For ({shown}) expected {wanted}, found {got}. {hint}".strip()
        return None

    return _check(ask)


_rng = np.random.default_rng(0)
_members = np.arange(100) < 50

# 0.1: guess *member* where the prediction is right. 1.2: the FPR at which accusations are right often enough.
check_gap_attack = _same_as(
    np.equal,
    (np.array([3, 1, 2, 2]), np.array([3, 2, 2, 0])),
    hint="Members are what the model gets right.",
)
check_largest_fpr = _same_as(
    lambda tpr, prior, ppv: tpr * prior * (1 - ppv) / (ppv * (1 - prior)),
    (0.5, 0.01, 0.9), (0.8, 0.5, 0.5), (0.04, 0.1, 0.99), hint="Solve PPV = TPR·π / (TPR·π + FPR·(1 − π)) for FPR.",
)  # fmt: skip


@_check
def check_threshold_for_fpr(answer: Callable) -> str | None:
    """Exercise 1.1: the smallest threshold whose false-positive rate is at most `fpr`."""
    rng = np.random.default_rng(0)
    for n, fpr in ((1000, 0.001), (1000, 0.1), (50, 0.01), (10, 0.5)):
        scores = rng.normal(size=n).round(2)  # rounding makes ties
        found = float(answer(scores.copy(), fpr))
        rate = (scores >= found).mean()
        if rate > fpr:
            return f"With {n} non-members and fpr = {fpr} your threshold raises too many false alarms: {rate:.2%}."
        allowed = [s for s in scores if (scores >= s).mean() <= fpr]
        if allowed and (scores >= found).sum() < (scores >= min(allowed)).sum():
            return f"With {n} non-members and fpr = {fpr} a lower threshold would still keep the promise."
    return None


# 2.1 and 2.2: modified entropy; the AUC without thresholds.
_outputs = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.98, 0.01, 0.01]])
check_modified_entropy = _same_as(
    lambda p, y: -modified_entropy_score(Signals(np.log(p), y)),
    (_outputs[:1], np.array([0])), (_outputs, np.array([0, 1, 2])), hint="Is the label's term (1 − p) log p?",
)  # fmt: skip
check_auc_from_ranks = _same_as(
    metrics.auc,
    (np.array([0.9, 0.4, 0.6, 0.1]), np.array([True, True, False, False])),
    (_rng.normal(size=100).round(1), _members), hint="Do ties count half?",
)  # fmt: skip

# 3.1: the true class and its strongest rival.
check_two_features = _same_as(
    lambda p, y: [[row[label], max(np.delete(row, label))] for row, label in zip(p, y, strict=True)],
    (_outputs, np.array([0, 0, 2])), (_outputs[:, :2], np.array([1, 1, 0])),
)  # fmt: skip


@_check
def check_noise_response(answer: Callable) -> str | None:
    """Exercise 3.2: known for a linear function."""
    rng, w = np.random.default_rng(0), np.array([3.0, -4.0])
    for epsilon in (1e-3, 0.5):
        found = np.asarray(
            answer(
                lambda x: x @ w, rng.normal(size=(200, 2)), epsilon, 400, np.random.default_rng(1)
            )
        )
        if found.shape != (200,) or abs(found.mean() / (5 * np.sqrt(2 / np.pi)) - 1) > 0.02:
            told = f"{found.mean():.3f} and shape {found.shape}"
            return f"For R(x) = 3x₁ − 4x₂, ε = {epsilon} and 200 records expected about 3.99 on average, found {told}."
    return None


@_check
def check_shell(answer: Callable) -> str | None:
    """Exercise 4.1: no shift, and all shifts at distance d."""
    for d in (1, 2, 3):
        found = [tuple(shift) for shift in answer(d)]
        expected = {(0, 0)} | {(i, j) for i in range(-d, d + 1) for j in (d - abs(i), abs(i) - d)}
        if len(found) != len(expected) or set(found) != expected:
            return f"For d = {d} expected {4 * d + 1} shifts, (0, 0) and all with |i| + |j| = {d}; found {found}."
    return None


def _numeric_gradient(weights: np.ndarray, x: np.ndarray, label: int) -> np.ndarray:
    """The gradient of softmax regression's loss by finite differences."""
    logits = (
        x + np.stack([1e-6 * np.eye(len(x)), -1e-6 * np.eye(len(x))])
    ) @ weights.T  # (2, d, classes)
    up, down = np.log(np.exp(logits).sum(axis=-1)) - logits[..., label]
    return ((up - down) / 2e-6).round(7)


# 4.2: the input gradient. 5.1: the advantage that a threshold tuned on the target claims, also on pure noise.
check_input_gradient = _same_as(
    _numeric_gradient,
    *((_rng.normal(size=(3, 4)), _rng.normal(size=4), label) for label in range(3)),
)
check_claimed_advantage = _same_as(
    metrics.best_advantage,
    (np.array([4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False])),
    (np.array([1.0, 2.0, 3.0]), np.array([True, False, False])),
    *((_rng.normal(size=100), _members) for _ in range(3)), hint="The best threshold may let nobody in.",
)  # fmt: skip


@_check
def check_blind_scores(answer: Callable) -> str | None:
    """Exercise 5.2: wins where the sources differ, and only there."""
    rng, is_member = np.random.default_rng(0), np.arange(400) < 200
    for shift, low, high in ((0.5, 0.8, 1.0), (-0.5, 0.8, 1.0), (0.0, 0.35, 0.65)):
        known, asked = (rng.normal(size=(400, 10)) + shift * is_member[:, None] for _ in range(2))
        found = metrics.auc(answer(known, is_member, asked), is_member)
        if not low <= found <= high:
            told = f"differ by {shift} in every feature" if shift else "come from one source"
            return f"Where members and non-members {told}, expected an AUC in {low} … {high}, found {found:.2f}."
    return None
