"""The self-checks of lesson 09: a fair control, an α that focuses, and an abstract to defend."""

from __future__ import annotations

from functools import cache

import numpy as np

from mialib.course import headlines
from mialib.course.exercises.check import Answer, check, same_as
from mialib.course.exercises.judging import filled_all
from mialib.course.statistics import fair_control
from mialib.course.tunings import Tunings, accuracy_apart, nearest
from mialib.estimates import words
from mialib.experiments import results
from mialib.results import Results

_rng = np.random.default_rng(0)

# Exercise 9.1: the control that a claim must beat.
check_control_for = same_as(
    fair_control,
    (0.6, np.array([0.598, 0.592, 0.5]), np.array([0.4, 0.3, 0.1])),
    (0.55, np.array([0.4, 0.52]), np.array([0.1, 0.5])),
    (0.6, np.array([0.57, 0.605, 0.66]), np.array([0.1, 0.3, 0.2])),
    hint="Of the controls at most 0.01 less accurate take the one with the lowest advantage; "
    "-1 if there is none.",
)


def _focus_only(gradient: np.ndarray, alpha: float) -> np.ndarray:
    power = np.abs(gradient) ** alpha
    return power / max(power.mean(), 1e-30)


# Exercise 9.2: γ^α over its mean in the module.
check_focus_only = same_as(
    _focus_only,
    (np.array([[0.2, -0.2], [0.4, 0.0]]), 2.5),
    (_rng.normal(size=(3, 4)), 0.0),
    (_rng.normal(size=50), 1.5),
    (np.zeros(4), 2.0),
    hint="The answer must have mean 1, or be all zeros where the gradient is.",
)


SAME = "not significantly different"
APART = "not comparable"
CHOICES = ("less", "more", SAME, APART)
NEAR = 0.01  # how far apart in accuracy two comparable models may be


@check
def check_abstract(answer: Answer) -> str | None:
    """Exercise 9.3: four verdicts, as the results give them."""
    return filled_all(answer(), _verdicts(), choices=CHOICES)


@cache
def _verdicts() -> dict[str, str]:
    """What the results say in each blank; asked once, for it takes a second or two."""
    tunings = Tunings(results("past", "quick"))
    strong = _with_control(tunings, lam=1e-3, alpha=1.5)
    weak = _with_control(tunings, lam=3e-4, alpha=2.0)
    return {
        "strong": _leaks(*strong, "mean"),
        "weak": _leaks(*weak, "mean"),
        "rare": _leaks(*strong, "highest", "tpr"),
        "photographs": _on_photographs(),
    }


def _with_control(tunings: Tunings, **setting: float) -> tuple[Results, Results]:
    """A setting, and the uniform ℓ1 whose accuracy is nearest."""
    one = tunings.find(**setting)
    uniform = tunings.by("lam", alpha=0.0)
    return one, uniform[nearest(one, uniform)]


def _leaks(one: Results, control: Results, *number: str) -> str:
    if abs(accuracy_apart(one, control)) > NEAR:
        return APART
    return words(one.paired(control, *number), lower="less", higher="more", same=SAME)


def _on_photographs() -> str:
    """The lesson's PAST on photographs beside the uniform ℓ1 of nearest accuracy."""
    photographs = headlines.by_name(results("photographs", "quick"), "PAST", "uniform ℓ1")
    focused = photographs["PAST, α = 1.5, λ = 0.0005"]
    uniform = [one for name, one in photographs.items() if name.startswith("uniform")]
    control = min(uniform, key=lambda other: abs(accuracy_apart(focused, other)))
    return _leaks(focused, control, "mean")
