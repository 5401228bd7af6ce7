"""Results sorted by defense and strength: what figures of trade-offs are drawn from.

found = all_defenses(evidence)      # every defense on the same records
arms = families(found)
arms["RelaxLoss"]                   # a Results for each strength, from the most accurate on
gaps(found)                         # settings of which every training diverged, and why
"""

from __future__ import annotations

from typing import Any

from mialib.reproductions.items import Evidence
from mialib.results import Results, Row

USUAL_PAST = {
    "defense": "Past",
    "penalty": "l1",
    "per": "batch",
    "proximal": False,
    "clamp": 1e4,
    "after": None,
}
USUAL_CRL = {
    "defense": "CRL",
    "alpha_rcl": 0.1,
    "tau_rce": 0.05,
    "tau_rcl": 1.0,
    "printed_step": False,
}
# A family is all settings with these words, at whatever strength.
FAMILIES: dict[str, dict[str, Any]] = {
    "PAST": USUAL_PAST,
    "uniform ℓ1": USUAL_PAST | {"alpha": 0.0},
    "RelaxLoss": {"defense": "RelaxLoss", "form": "official"},
    "CRL": USUAL_CRL | {"center_lr": 1e-3, "lam": 0.1},
    "CRL, active centers": USUAL_CRL | {"center_lr": 0.5, "lam": 0.3},
    "AdvReg": {"defense": "AdvReg"},
    "Mixup+MMD": {"defense": "MixupMMD", "mixup": 1.0},
    "DMP": {"defense": "DMP", "source": "all"},
    "dropout": {"defense": "Dropout"},
    "label smoothing": {"defense": "LabelSmoothing"},
    "confidence penalty": {"defense": "ConfidencePenalty"},
    "ℓ1": {"defense": "L1"},
    "ℓ2": {"defense": "L2"},
    "early stopping": {"defense": "Stop"},
}
# The plans that hold every defense on the same records, by profile.
PLANS: dict[str, tuple[str, ...]] = {
    "quick": ("past", "relaxed", "learned"),
    "cpu": ("photographs",),
    "class": ("photographs",),
    "paper": ("photographs",),
}


def all_defenses(evidence: Evidence) -> Results:
    """Every defense on the same records."""
    first, *others = (evidence.results(plan) for plan in PLANS[evidence.profile])
    return first.joined(*others)


def undefended(found: Results) -> Results:
    return found.find(defense="Plain")


def families(found: Results) -> dict[str, list[Results]]:
    """The settings of each family that has any, from the most accurate on."""
    sorted_in: dict[str, list[Results]] = {}
    for one in found.settings():
        name = family_of(one.rows[0], found)
        if name is not None and not _has_failed(one):
            sorted_in.setdefault(name, []).append(one.finished())
    return {
        name: sorted(sorted_in[name], key=_mean_accuracy, reverse=True)
        for name in FAMILIES
        if name in sorted_in
    }


def gaps(found: Results) -> dict[str, str]:
    """Settings of which every training diverged, by what was set, and why."""
    return {
        _strength(one.rows[0]): one.rows[0].failure for one in found.settings() if _has_failed(one)
    }


def family_of(row: Row, found: Results) -> str | None:
    """The family of a row; tuning for longer or shorter than usual is in none."""
    settings = row.settings
    if settings["defense"] == "Past" and not _is_usual_tuning(settings, found):
        return None
    for name in ("uniform ℓ1", *FAMILIES):
        words = FAMILIES[name]
        if all(settings.get(word) == value for word, value in words.items()):
            return name
    return None


def _is_usual_tuning(settings: dict[str, Any], found: Results) -> bool:
    """Whether it was tuned as long as the control with λ = 0, and with a penalty."""
    control = next(
        row.settings
        for row in found.rows
        if row.settings["defense"] == "Past"
        and row.settings["lam"] == 0
        and row.settings.get("after") is None
    )
    return settings["epochs"] == control["epochs"] and settings["lam"] > 0


def _has_failed(one: Results) -> bool:
    return all(row.failure for row in one.rows)


def _mean_accuracy(one: Results) -> float:
    return float(one.by_seed("accuracy").mean())


def _strength(row: Row) -> str:
    """How a sentence names a setting: its defense and its numbers."""
    settings = row.settings
    told = [f"{name} = {settings[name]:g}" for name in ("lam", "alpha") if name in settings]
    return ", ".join([settings["defense"], *told])
