"""The plan `simple` as lesson 06 asks it: six defenses, each from its weakest setting on.

    simple = results("simple", PROFILE)
    arms = by_defense(simple)                       # {"ℓ1": {0.0001: Results, …}, …}
    by_setting(arms)["ℓ1 0.0001"]                   # the same, each setting by its name
    kept_promises(arms, simple.find(defense="Plain"), promise=0.05)

Which strengths there are depends on the profile, so the lesson asks instead of naming them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mialib.course.statistics import accuracy_aside
from mialib.defenses import L1, L2, ConfidencePenalty, Dropout, EarlyStopping, LabelSmoothing
from mialib.results import Results
from mialib.training import Defense

Arms = Mapping[str, Mapping[float, Results]]  # settings by defense and by strength


class Knob(NamedTuple):
    """A defense, the field that says how strong it is, and the symbol that lessons write."""

    defense: type[Defense]
    field: str
    symbol: str


KNOBS = {
    "ℓ1": Knob(L1, "lam", "λ"),
    "ℓ2": Knob(L2, "lam", "λ"),
    "dropout": Knob(Dropout, "p", "p"),
    "label smoothing": Knob(LabelSmoothing, "epsilon", "ε"),
    "confidence penalty": Knob(ConfidencePenalty, "beta", "β"),
    "early stopping": Knob(EarlyStopping, "patience", "patience"),
}


def by_defense(simple: Results) -> dict[str, dict[float, Results]]:
    """Every setting with all its trainings, from weak to strong.

    A defense that the profile does not try is left out.
    """
    arms = {name: _from_weak_to_strong(simple, knob) for name, knob in KNOBS.items()}
    return {name: arm for name, arm in arms.items() if arm}


def _from_weak_to_strong(simple: Results, knob: Knob) -> dict[float, Results]:
    settings = simple.where(defense=knob.defense.__name__).settings()
    arm = {one.rows[0].settings[knob.field]: one.finished() for one in settings}
    has_weak_last = knob.field == "patience"  # Much patience stops late.
    return dict(sorted(arm.items(), reverse=has_weak_last))


def by_setting(arms: Arms) -> dict[str, Results]:
    """All settings by name: "ℓ1 0.0001", …"""
    return {f"{name} {value:g}": one for name, arm in arms.items() for value, one in arm.items()}


def kept_promises(arms: Arms, undefended: Results, *, promise: float) -> dict[str, Results]:
    """Of each defense the strongest setting that gives up at most so much accuracy.

    The accuracy is that of records set aside, on which nothing else is counted.
    """
    least = accuracy_aside(undefended) - promise
    kept = {}
    for name, arm in arms.items():
        able = [value for value, one in arm.items() if accuracy_aside(one) >= least]
        if able:
            kept[f"{name} {able[-1]:g}"] = arm[able[-1]]
    return kept
