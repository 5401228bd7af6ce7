"""The self-checks of lesson 11: partners of the same class, and the privacy an attack refutes."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as
from mialib.epsilon import least_epsilon


@check
def check_partners(answer: Answer) -> str | None:
    """Exercise 11.1: a place of the same class for each, every one of the class as likely."""
    rng = np.random.default_rng(0)
    labels = np.array([2, 0, 1, 1, 0, 2, 1, 0, 0, 2, 3])  # Class 3 has a single record.
    wanted = rng.integers(0, 4, 4000)
    places = np.asarray(answer(wanted.copy(), labels.copy(), np.random.default_rng(1)))
    return _place_complaint(places, wanted, labels) or _draw_complaint(places, wanted, labels)


def _place_complaint(places: np.ndarray, wanted: np.ndarray, labels: np.ndarray) -> str | None:
    if places.shape != wanted.shape or places.dtype.kind not in "iu":
        form = f"shape {places.shape} and type {places.dtype}"
        return f"Expected {len(wanted)} places, as whole numbers, found {form}."
    if places.min() < 0 or places.max() >= len(labels):
        last = len(labels) - 1
        return f"A place lies between 0 and {last}, found {places.min()} to {places.max()}."
    wrong = labels[places] != wanted
    if wrong.any():
        first = int(np.argmax(wrong))
        partner = labels[places[first]]
        return f"A record of class {wanted[first]} was given a partner of class {partner}."
    return None


def _draw_complaint(places: np.ndarray, wanted: np.ndarray, labels: np.ndarray) -> str | None:
    asked = np.bincount(wanted)[labels]  # how often each place's class is wanted
    alike = np.bincount(labels)[labels]  # how many places that class has
    due = asked / alike
    drawn = np.bincount(places, minlength=len(labels))
    if (np.abs(drawn - due) > 0.25 * due).any():
        rarest = int(np.argmin(drawn / due))
        rest = f"about {due[rarest]:.0f} were due, as for the rest of its class"
        return f"Place {rarest} was drawn {drawn[rarest]} times; {rest}."
    return None


# Exercise 11.2: both inequalities, never below 0, and infinite where a promise is broken at once.
check_least_epsilon = same_as(
    least_epsilon,
    (0.5, 0.1, 0.0),
    (0.999, 0.5, 1e-5),
    (0.2, 0.6, 1e-5),
    (0.05, 0.01, 0.1),
    (0.3, 0.0, 1e-5),
    (1.0, 0.4, 1e-5),
    hint="Take the larger ε of the two promises, TPR ≤ e^ε·FPR + δ and "
    "1 − FPR ≤ e^ε·(1 − TPR) + δ, at least 0, and infinite where a rate above δ meets 0.",
)
