"""The items of PAST: its figures 1 to 14, its tables 1 and 2, and the numbers of its text.

Figure numbers follow the longer version of the paper.
"""

from __future__ import annotations

from math import isnan

from mialib import profiles
from mialib.course import figures
from mialib.defenses import Past
from mialib.estimates import Estimate, words
from mialib.reproductions import arms
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.results import Results

# The attacks of Fig. 3 and 4, by the names that the paper gives them. Its confidence is that of the
# true class, whose ranks are the loss's: what is drawn here is the largest class's.
PANELS = {
    "NN": "neural (PAST)",
    "correctness": "correctness",
    "loss": "loss",
    "confidence": "max confidence",
    "entropy": "entropy",
    "M-entropy": "modified entropy",
    "rotation": "rotation (PAST)",
    "translation": "translation (PAST)",
}
COMPARED = ("PAST", "uniform ℓ1", "RelaxLoss", "AdvReg", "Mixup+MMD")


def fig_3(evidence: Evidence) -> Made:
    """Five defenses, a panel for each attack."""
    return _planes(evidence, "past-fig-3", COMPARED)


def _planes(evidence: Evidence, row: str, compared: tuple[str, ...]) -> Made:
    found = arms.all_defenses(evidence)
    plain = arms.undefended(found)
    there = at_usual_strength(arms.families(found), evidence)
    curves = {
        name: {panel: _points(there[name], attack) for panel, attack in PANELS.items()}
        for name in compared
        if name in there
    }
    picture = figures.attack_planes(
        curves,
        undefended={panel: _point(plain, attack) for panel, attack in PANELS.items()},
        told=_told_gaps(found),
    )
    return Made({row: picture}, tuple(_lines_of_planes(row, plain, there, compared)))


def at_usual_strength(
    there: dict[str, list[Results]], evidence: Evidence
) -> dict[str, list[Results]]:
    """The families with PAST at the profile's own λ: the paper turns α alone."""
    lam = usual_tuning(evidence).lam
    chosen = [one for one in there["PAST"] if one.rows[0].settings["lam"] == lam]
    return there | {"PAST": chosen}


def usual_tuning(evidence: Evidence) -> Past:
    """PAST as the profile tunes its images."""
    defense = profiles.load(evidence.profile).experiments["images tuned"].defense
    assert isinstance(defense, Past)
    return defense


def _points(settings: list[Results], attack: str) -> list[tuple[Estimate, Estimate]]:
    return [_point(one, attack) for one in settings]


def _point(one: Results, attack: str) -> tuple[Estimate, Estimate]:
    return one.accuracy(), one.advantage(attack)


def _told_gaps(found: Results) -> str:
    """Settings that have no point, and why: never a zero."""
    missing = arms.gaps(found)
    if not missing:
        return ""
    return f"Not drawn, because every training diverged: {'; '.join(missing)}."


def _lines_of_planes(
    row: str, plain: Results, there: dict[str, list[Results]], compared: tuple[str, ...]
) -> list[Line]:
    """The paper's reading: at the undefended model's accuracy or above, who leaks least?"""
    lines = []
    for name in compared:
        best = least_leak_at_accuracy(there.get(name, []), plain)
        if best is not None:
            change = best.paired(plain, "advantage", "loss")
            lines.append(Line(row, f"{name} minus undefended: advantage of the loss", None, change))
    return lines


def least_leak_at_accuracy(settings: list[Results], plain: Results) -> Results | None:
    """Of the settings that are not less accurate than the undefended model, the one that leaks
    least by the loss; nothing where all are less accurate."""
    accurate = [one for one in settings if is_as_accurate(one, plain)]
    if not accurate:
        return None
    return min(accurate, key=lambda one: one.by_seed("advantage", "loss").mean())


def is_as_accurate(one: Results, plain: Results) -> bool:
    """Whether its accuracy is not told to be lower; of one training, the number itself counts."""
    difference = one.paired(plain, "accuracy")
    if isnan(difference.low):
        return difference.value >= 0
    return words(difference) != "lower"


ITEMS = (
    Item(
        name="past-fig-3",
        paper="PAST",
        shows="Five defenses by strength: accuracy against the advantage of each attack",
        data="cifar10",
        plans=arms.PLANS,
        make=fig_3,
    ),
)
