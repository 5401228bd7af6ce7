"""The self-checks of lesson 10: a floor of the loss, the right controls, a label that sharpens."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as


def _lowest_loss(classes: int, tau: float) -> float:
    lead = np.sqrt(classes / (classes - 1)) / tau
    return np.log1p((classes - 1) * np.exp(-lead))


# Exercise 10.1: normalised logits have length 1/τ.
check_lowest_loss = same_as(
    _lowest_loss,
    (10, 1.0),
    (10, 0.2),
    (100, 0.05),
    (2, 0.5),
    hint="The others may be negative: which logits of length 1/τ give the label the longest lead?",
)


# Exercise 10.2: what each setting has, and what a question asks about.
PARTS: dict[str, frozenset[str]] = {
    "undefended": frozenset(),
    "RelaxLoss": frozenset({"official relaxing"}),
    "soft label alone": frozenset({"soft label"}),
    "ImpRelaxLoss": frozenset({"soft label", "normalised logits"}),
    "CRL, inert centers": frozenset({"soft label", "normalised logits", "centers"}),
    "CRL, acting centers": frozenset(
        {"soft label", "normalised logits", "centers", "movement of the centers"}
    ),
}
QUESTIONS: dict[str, list[frozenset[str]]] = {
    "centers": [
        frozenset({"centers", "movement of the centers"}),
        frozenset({"movement of the centers"}),
    ],
    "logits": [frozenset({"normalised logits"})],
    "official": [PARTS["CRL, acting centers"] ^ PARTS["RelaxLoss"]],
}


@check
def check_controls(answer: Answer) -> str | None:
    """Exercise 10.2: two settings that differ in what is asked about, and in nothing else."""
    found = answer()
    for question, allowed in QUESTIONS.items():
        complaint = _pair_complaint(found.get(question), allowed)
        if complaint:
            return f"On {question!r}: {complaint}"
    return None


def _pair_complaint(pair: object, allowed: list[frozenset[str]]) -> str | None:
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(one in PARTS for one in pair):
        return f"Answer with two of {', '.join(PARTS)}; found {pair!r}."
    treated, control = pair
    differs = PARTS[treated] ^ PARTS[control]
    if differs not in allowed:
        parts = ", ".join(sorted(differs)) or "nothing"
        return f"{treated} and {control} differ in: {parts}. Is that what the question asks about?"
    if "centers" in PARTS[control] - PARTS[treated] or len(PARTS[treated]) < len(PARTS[control]):
        return f"Name the treated one first; found {treated} before {control}."
    return None


def _sharpening(p: np.ndarray, classes: int) -> np.ndarray:
    return p * (1 - p) * np.log((classes - 1) * p / (1 - p))


# Exercise 10.3: the gradient through a soft label that is not detached.
check_sharpening = same_as(
    _sharpening,
    (np.array([0.05, 0.1, 0.6, 0.95]), 10),
    (np.array([0.3, 0.5, 0.7]), 2),
    hint="The pull is minus the derivative, and by the logit, not by p: it is 0 at p = 1/C "
    "and above 0 beyond.",
)
