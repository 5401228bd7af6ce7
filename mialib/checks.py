"""The exercises' self-checks: each takes the learner's function and says *not done yet*, *not quite* or *right*.

>>> def threshold_for_fpr(non_member_scores, fpr):
...     raise NotImplementedError
>>> check_threshold_for_fpr(threshold_for_fpr)
Not done yet. Replace `raise NotImplementedError` and run the cell again.

A check never stops a notebook, so *Run all* works before the exercises are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps

import numpy as np


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
            return Verdict(False, "Not done yet. Replace `raise NotImplementedError` and run the cell again.")
        except Exception as error:
            return Verdict(False, f"Not quite. Your function raised {type(error).__name__}: {error}")
        return Verdict(False, f"Not quite. {complaint}") if complaint else Verdict(True, "Right.")

    return check


@_check
def check_gap_attack(answer: Callable) -> str | None:
    """Exercise 0.1: guess *member* where the prediction is right."""
    predicted, label = np.array([3, 1, 2, 2]), np.array([3, 2, 2, 0])
    found = np.asarray(answer(predicted, label))
    if found.shape != (4,) or found.dtype != bool:
        return f"Return one True or False for each record; found {found.dtype} of shape {found.shape}."
    if (found == [False, True, False, True]).all():
        return "The sign is turned round: members are the records that the model gets right."
    if (found != [True, False, True, False]).any():
        return f"For predictions {predicted} and labels {label} expected [True False True False]; found {found}."
    return None


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


@_check
def check_largest_fpr(answer: Callable) -> str | None:
    """Exercise 1.2: the largest false-positive rate at which accusations are still right often enough."""
    for tpr, prior, ppv in ((0.5, 0.01, 0.9), (0.8, 0.5, 0.5), (0.04, 0.1, 0.99)):
        found = float(answer(tpr, prior, ppv))
        if not np.isfinite(found) or found <= 0:
            return f"For TPR {tpr}, prior {prior} and PPV {ppv} the answer is a positive number; found {found}."
        reached = tpr * prior / (tpr * prior + found * (1 - prior))
        if not np.isclose(reached, ppv, rtol=1e-6):
            return f"For TPR {tpr} and prior {prior}, an FPR of {found:.4g} gives PPV {reached:.3f}, not {ppv}."
    return None


def _compare(answer: Callable, reference: Callable, cases: Iterable[tuple], *, hint: str = "") -> str | None:
    """The first case in which the answer is not the reference's, in words."""
    for case in cases:
        expected, found = np.asarray(reference(*case)), np.asarray(answer(*(np.copy(part) for part in case)))
        if found.shape != expected.shape:
            return f"Expected an answer of shape {expected.shape}, found {found.shape}."
        if not np.allclose(found, expected, rtol=1e-6, atol=1e-9):
            shown = ", ".join(np.array2string(np.asarray(part), precision=3, threshold=8) for part in case)
            return f"For ({shown}) expected {expected.round(4)}, found {found.round(4)}. {hint}".strip()
    return None


@_check
def check_modified_entropy(answer: Callable) -> str | None:
    """Exercise 2.1."""
    from mialib.attacks.threshold import modified_entropy_score
    from mialib.signals import Signals

    def reference(p: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -modified_entropy_score(Signals(np.log(p), y))

    p = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.98, 0.01, 0.01]])
    return _compare(answer, reference, [(p[:1], np.array([0])), (p, np.array([0, 1, 2]))])


@_check
def check_auc_from_ranks(answer: Callable) -> str | None:
    """Exercise 2.2."""
    from mialib import metrics

    rng = np.random.default_rng(0)
    plain = np.array([0.9, 0.4, 0.6, 0.1]), np.array([True, True, False, False])
    tied = rng.normal(size=60).round(1), rng.random(60) < 0.3
    return _compare(answer, metrics.auc, [plain, tied], hint="Do ties count half?")


@_check
def check_two_features(answer: Callable) -> str | None:
    """Exercise 3.1."""

    def reference(p: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([[row[label], max(np.delete(row, label))] for row, label in zip(p, y, strict=True)])

    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.5, 0.0, 0.5]])
    return _compare(answer, reference, [(p, np.array([0, 0, 2])), (p[:, :2], np.array([1, 1, 0]))])


@_check
def check_noise_response(answer: Callable) -> str | None:
    """Exercise 3.2: known for a linear function."""
    rng, w = np.random.default_rng(0), np.array([3.0, -4.0])
    for epsilon in (1e-3, 0.5):
        found = np.asarray(answer(lambda x: x @ w, rng.normal(size=(200, 2)), epsilon, 400, np.random.default_rng(1)))
        if found.shape != (200,):
            return f"Expected one number for each of 200 records, found shape {found.shape}."
        if abs(found.mean() / (5 * np.sqrt(2 / np.pi)) - 1) > 0.02:
            return f"For R(x) = 3x₁ − 4x₂ and ε = {epsilon} expected about 3.99 on average, found {found.mean():.3f}."
    return None


@_check
def check_shell(answer: Callable) -> str | None:
    """Exercise 4.1."""
    for d in (1, 2, 3):
        found = [tuple(shift) for shift in answer(d)]
        if len(found) != 4 * d + 1 or len(set(found)) != len(found):
            return (
                f"For d = {d} expected {4 * d + 1} different shifts, found {len(found)} ({len(set(found))} different)."
            )
        if set(found) != {(0, 0)} | {(i, j) for i in range(-d, d + 1) for j in (d - abs(i), abs(i) - d)}:
            return f"For d = {d} expected (0, 0) and all shifts with |i| + |j| = {d}, found {found}."
    return None


@_check
def check_input_gradient(answer: Callable) -> str | None:
    """Exercise 4.2: against finite differences."""

    def loss(weights: np.ndarray, x: np.ndarray, label: int) -> float:
        logits = weights @ x
        return np.log(np.exp(logits).sum()) - logits[label]

    def reference(weights: np.ndarray, x: np.ndarray, label: int) -> np.ndarray:
        step = 1e-6 * np.eye(len(x))
        return np.array([(loss(weights, x + h, label) - loss(weights, x - h, label)) / 2e-6 for h in step]).round(7)

    rng = np.random.default_rng(0)
    cases = [(rng.normal(size=(3, 4)), rng.normal(size=4), label) for label in range(3)]
    return _compare(lambda *case: np.round(answer(*case), 7), reference, cases)


@_check
def check_claimed_advantage(answer: Callable) -> str | None:
    """Exercise 5.1, also on scores that know nothing."""
    from mialib import metrics

    rng = np.random.default_rng(0)
    plain = np.array([4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False])
    worse = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    noise = [(rng.normal(size=100), np.arange(100) < 50) for _ in range(3)]
    return _compare(
        answer, metrics.best_advantage, [plain, worse, *noise], hint="The best threshold may let nobody in."
    )


@_check
def check_blind_scores(answer: Callable) -> str | None:
    """Exercise 5.2: wins where the sources differ, and only there."""
    from mialib import metrics

    rng, is_member = np.random.default_rng(0), np.arange(400) < 200
    for shift, low, high in ((0.5, 0.8, 1.0), (-0.5, 0.8, 1.0), (0.0, 0.35, 0.65)):
        known, asked = (rng.normal(size=(400, 10)) + shift * is_member[:, None] for _ in range(2))
        found = metrics.auc(answer(known, is_member, asked), is_member)
        if not low <= found <= high:
            told = f"differ by {shift} in every feature" if shift else "come from one source"
            return f"Where members and non-members {told}, expected an AUC in {low} … {high}, found {found:.2f}."
    return None
