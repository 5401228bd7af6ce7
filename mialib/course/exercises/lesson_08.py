"""The self-checks of lesson 08: a setting that one half of the records chooses; a proximal step."""

from __future__ import annotations

import numpy as np

from mialib.course.exercises.check import Answer, check, same_as
from mialib.course.tunings import Tunings, ruined_trainings
from mialib.estimates import Estimate
from mialib.experiments import results
from mialib.results import Results

MOST = 0.01  # the accuracy that a setting may cost on the records that choose
Place = tuple[float, float]  # λ and α

_FIRST, _SECOND = np.random.default_rng(8).normal(size=(2, 2, 3)).round(2)


def _tunings() -> Tunings:
    return Tunings(results("past", "quick"))


def _half(one: Results, first: int) -> Results:
    """Every second record, from this one on."""
    return one.take(np.arange(len(one.is_member)) % 2 == first)


def _intact(tunings: Tunings) -> dict[Place, Results]:
    lambdas = tunings.values("lam", alpha=tunings.standard.alpha)
    grid = tunings.grid(lambdas, tunings.values("alpha"))
    return {place: one for place, one in grid.items() if len(one) and not ruined_trainings(one)}


def _mean(one: Results, what: str) -> float:
    return float(_half(one, 0).by_seed(what).mean())


def _affordable(intact: dict[Place, Results], plain: Results) -> dict[Place, float]:
    """The highest advantage of all settings that cost no more than `MOST`, on the even half."""
    least = _mean(plain, "accuracy") - MOST
    able = {place: one for place, one in intact.items() if _mean(one, "accuracy") >= least}
    return {place: _mean(one, "highest") for place, one in able.items()}


@check
def check_chosen(answer: Answer) -> str | None:
    """Exercise 8.1: of what is intact and affordable on the even half, the lowest advantage."""
    lam, alpha = answer()
    tunings = _tunings()
    plain = tunings.undefended
    intact = _intact(tunings)
    place = (float(lam), float(alpha))
    said = f"λ = {lam:g}, α = {alpha:g}"
    if place not in intact:
        return f"{said} is not among the settings that ruined no training; `intact` has those."
    affordable = _affordable(intact, plain)
    if place not in affordable:
        cost = _mean(plain, "accuracy") - _mean(intact[place], "accuracy")
        return f"{said} costs {cost:.3f} of the accuracy on the even half; {MOST:g} is the most."
    lower = [other for other, highest in affordable.items() if highest < affordable[place]]
    if lower:
        return f"{said} is affordable. So are others, and {len(lower)} of them leak less."
    return None


def choice() -> Place:
    """The λ and the α that the even half chooses."""
    tunings = _tunings()
    affordable = _affordable(_intact(tunings), tunings.undefended)
    return min(affordable, key=affordable.__getitem__)


def on_the_other_half(what: str) -> Estimate:
    """What the choice of the even half changes on the odd one, against the undefended model."""
    tunings = _tunings()
    lam, alpha = choice()
    chosen = tunings.find(lam=lam, alpha=alpha)
    return _half(chosen, 1).paired(_half(tunings.undefended, 1), what)


def _proximal_step(weights: np.ndarray, importance: np.ndarray, step: float) -> np.ndarray:
    left = np.maximum(np.abs(weights) - step * importance, 0)
    return np.sign(weights) * left


# Exercise 8.2: a step that may reach zero, and stops there.
check_proximal_step = same_as(
    _proximal_step,
    (_FIRST, np.abs(_SECOND), 0.3),
    (_FIRST, np.zeros_like(_FIRST), 1.0),
    (_FIRST, np.ones_like(_FIRST), 100.0),
    hint="A weight that would cross zero stops there; the sign stays.",
)
