"""The self-checks of lesson 06: what P1 pays for privacy, and a setting that one would ship."""

from __future__ import annotations

from mialib import metrics
from mialib.course import strengths
from mialib.course.exercises.check import Answer, check, same_as
from mialib.experiments import results
from mialib.results import Results


def _accuracy_for_p1(p1: float, advantage: float) -> float:
    privacy = 1 - advantage
    return p1 * privacy / (2 * privacy - p1)


# Exercise 6.1: P1 solved for the accuracy.
check_accuracy_for_p1 = same_as(
    _accuracy_for_p1,
    (0.5, 0.5),
    (metrics.p1(0.6, 0.7), 0.7),
    (metrics.p1(0.54, 0.61), 0.05),
    hint="With v = 1 − advantage, solve P1 = 2·a·v / (a + v) for a.",
)

MOST = 0.03  # the accuracy that the clinic can give up


@check
def check_ship(answer: Answer) -> str | None:
    """Exercise 6.2: within three points of accuracy and with a lower AUC, the lowest advantage."""
    name = answer()
    simple = results("simple", "quick")
    plain = simple.find(defense="Plain")
    settings = strengths.by_setting(strengths.by_defense(simple))
    if not isinstance(name, str) or name not in settings:
        return f"{name!r} is not in `everyone`; expected a name such as 'ℓ2 0.02'."
    complaint = _broken_promise(settings[name], plain)
    if complaint:
        return f"{name} {complaint}"
    leak = _mean(settings[name], "highest")
    for rival in settings.values():
        if _mean(rival, "highest") < leak and _broken_promise(rival, plain) is None:
            return f"{name} keeps both promises. So does another, whose highest advantage is lower."
    return None


def _broken_promise(one: Results, plain: Results) -> str | None:
    cost = _mean(plain, "accuracy") - _mean(one, "accuracy")
    if cost > MOST:
        return f"costs {cost:.3f} of the accuracy; the clinic can give up {MOST:g}."
    change = one.paired(plain, "highest", "auc")
    if change.high >= 0:
        return f"changes the highest AUC by {change}: that is not significantly lower."
    return None


def _mean(one: Results, what: str) -> float:
    return float(one.by_seed(what).mean())
