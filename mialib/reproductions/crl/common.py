"""CRL's approaches and attacks by the paper's names, and which plans hold them.

arms = components(evidence)
arms["CRL (active)"]                # a Results for each strength, from the weakest on
settings_of(arms["RelaxLoss"][0])   # what was set
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mialib.reproductions.arms import USUAL_CRL
from mialib.reproductions.items import Evidence
from mialib.results import Results, Row

# What the paper calls an attack, and what it is called here.
ATTACKS = {
    "NN-Based": "neural (CRL)",
    "Entropy": "entropy",
    "M-Entropy": "modified entropy",
    "Grad-x ℓ2": "gradient ℓ2",
}
DEFAULT = "CRL"
ACTIVE = "CRL (active)"
WITHOUT_NORM = "relaxed center loss"
# The plans of CRL's components, by profile. `relaxed` has other strengths than `components`.
PLANS: dict[str, tuple[str, ...]] = {
    "quick": ("relaxed", "components"),
    "cpu": ("components",),
    "class": ("components",),
    "paper": ("components",),
}
# What tells an approach from the others, at whatever strength.
WORDS: dict[str, dict[str, Any]] = {
    "CE": {"defense": "Plain"},
    "AdvReg": {"defense": "AdvReg"},
    "RelaxLoss": {"defense": "RelaxLoss"},
    "ImpRelaxLoss": USUAL_CRL | {"lam": 0.0},
    DEFAULT: USUAL_CRL | {"lam": 0.1, "center_lr": 1e-3},
    ACTIVE: USUAL_CRL | {"center_lr": 0.5},
    WITHOUT_NORM: {"defense": "CRL", "tau_rce": 0.0, "tau_rcl": 0.0},
}
STRENGTHS = {"alpha": "α", "alpha_rce": "α_rce", "lam": "λ"}


def components(evidence: Evidence) -> dict[str, list[Results]]:
    """Every approach that was trained, by name: a Results for each strength, the weakest first.

    A setting that two plans have is taken from the one that tells more. Settings of which every
    training diverged are left out.
    """
    form = "crl" if evidence.profile == "paper" else "official"
    arms: dict[str, list[Results]] = {name: [] for name in WORDS}
    for one in _settings(evidence):
        for name, words in WORDS.items():
            wanted = words | ({"form": form} if name == "RelaxLoss" else {})
            if _has(one.rows[0].settings, wanted):
                arms[name].append(one.finished())
    return {name: sorted(some, key=_strength) for name, some in arms.items() if some}


def _settings(evidence: Evidence) -> list[Results]:
    """Each setting once, whatever the plans call it."""
    found: dict[str, Results] = {}
    for plan in PLANS[evidence.profile]:
        for one in evidence.results(plan).settings():
            if not all(row.failure for row in one.rows):
                found[_words_without_name(one.rows[0])] = one
    return list(found.values())


def _words_without_name(row: Row) -> str:
    return repr(sorted((key, value) for key, value in row.settings.items() if key != "called"))


def _has(settings: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    return all(settings.get(word) == value for word, value in words.items())


def _strength(one: Results) -> tuple[float, ...]:
    settings = one.rows[0].settings
    return tuple(settings.get(name, 0.0) for name in STRENGTHS)


def settings_of(one: Results) -> dict[str, Any]:
    return one.rows[0].settings


def usual(settings: list[Results]) -> Results:
    """The strength that every plan has: α or α_rce of 1, and λ of 0.3 where centers act."""
    chosen = [one for one in settings if _alpha(one) in (None, 1.0)]
    acting = [one for one in chosen if settings_of(one).get("lam") == 0.3]
    return (acting or chosen or settings)[0]


def _alpha(one: Results) -> float | None:
    settings = settings_of(one)
    return settings.get("alpha", settings.get("alpha_rce"))


def titled(name: str, settings: list[Results]) -> dict[str, Results]:
    """The settings of one approach by name and the strength that tells them apart."""
    there = [word for word in STRENGTHS if any(word in settings_of(one) for one in settings)]
    varied = [word for word in there if len({settings_of(one)[word] for one in settings}) > 1]
    shown = varied or there[:1]
    return {
        ", ".join(
            [name, *(f"{STRENGTHS[word]} = {settings_of(one)[word]:g}" for word in shown)]
        ): one
        for one in settings
    }
