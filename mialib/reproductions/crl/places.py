"""CRL's Fig. 1 and 6: how far features lie from the origin and from the decision boundary.

The paper defines neither distance, nor does it say what Fig. 1 was drawn from. Here they are ‖q‖ of
the features q, and the margin over the distance of two weight vectors (`mialib.query.margins`).
"""

from __future__ import annotations

import numpy as np

from mialib.course import figures
from mialib.course.statistics import ROLES, FeaturePlane
from mialib.reproductions.comparing import SHARE, apart, over_trainings
from mialib.reproductions.crl.common import (
    ACTIVE,
    DEFAULT,
    PLANS,
    components,
    titled,
    usual,
)
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.results import Results, Row

PARTS = {"member": "members", "non_member": "non_members"}
SHOWN = ("CE", "RelaxLoss", ACTIVE)


def fig_1(evidence: Evidence) -> Made:
    """Three trainings in the plane of both distances."""
    found = evidence.results("components")
    arms = {name: usual(_called(found, name)) for name in SHOWN}
    picture = figures.features({name: _plane(one.rows[0]) for name, one in arms.items()})
    return Made({"crl-fig-1": picture}, tuple(_lines_of_places("crl-fig-1", arms)))


def _called(found: Results, name: str) -> list[Results]:
    return found.where(called=name).finished().settings()


def _plane(row: Row) -> FeaturePlane:
    told = row.facts["distances"]
    # The length of a feature of one dimension is its distance to the origin.
    lengths = {role: np.array(told[PARTS[role]]["origin"])[:, None] for role in ROLES}
    margin = {role: np.array(told[PARTS[role]]["boundary"]) for role in ROLES}
    return FeaturePlane(lengths, margin)


def _lines_of_places(row: str, arms: dict[str, Results]) -> list[Line]:
    area = "AUC of the distance to the boundary"
    change = apart(arms[ACTIVE], arms["RelaxLoss"], _area)
    lines = [Line(row, f"{ACTIVE} minus RelaxLoss: {area}", None, change)]
    for name, one in arms.items():
        by_training = over_trainings([_area(other) for other in one.rows], limits=SHARE)
        lines.append(Line(row, f"{name}: {area}", None, by_training))
    for name, one in arms.items():
        lengths = [other.facts["distances"]["members"]["origin, median"] for other in one.rows]
        what = f"{name}: median distance of members to the origin"
        lines.append(Line(row, what, None, over_trainings(lengths)))
    return lines


def _area(row: Row) -> float:
    return row.facts["distances"]["AUC"]


def fig_6(evidence: Evidence) -> Made:
    """Histograms of the distance to the boundary, three rows of three."""
    nine = _nine(components(evidence))
    picture = figures.margins(nine, columns=3)
    return Made({"crl-fig-6": picture}, tuple(_lines_of_margins("crl-fig-6", evidence, nine)))


def _nine(arms: dict[str, list[Results]]) -> dict[str, Results]:
    """Cross-entropy and AdvReg, then three strengths of RelaxLoss, then three of CRL."""
    first = {"CE": arms["CE"][0], **titled("AdvReg", arms.get("AdvReg", [])[-2:])}
    first |= titled(DEFAULT, [usual(arms[DEFAULT])])
    others = titled("RelaxLoss", arms["RelaxLoss"][-3:]) | titled(ACTIVE, arms[ACTIVE][-3:])
    return dict(list(first.items())[:3]) | others


def _lines_of_margins(row: str, evidence: Evidence, nine: dict[str, Results]) -> list[Line]:
    """The paper's claim: surer of non-members, less sure of members; then the overlaps."""
    found = evidence.results("components")
    plain = usual(_called(found, "CE"))
    crl = usual(_called(found, ACTIVE))
    lines = []
    for part, name in (("non_members", "non-members"), ("members", "members")):
        change = apart(crl, plain, lambda one, part=part: _median_margin(one, part))
        what = f"{ACTIVE} minus CE: median distance of {name} to the boundary"
        lines.append(Line(row, what, None, change))
    for name, one in nine.items():
        what = f"{name}: overlap of the two histograms"
        overlaps = [_overlap(other) for other in one.rows]
        lines.append(Line(row, what, None, over_trainings(overlaps, limits=SHARE)))
    return lines


def _median_margin(row: Row, part: str) -> float:
    return row.facts["distances"][part]["boundary, median"]


def _overlap(row: Row) -> float:
    """The area under both histograms of one training."""
    counts = [np.array(row.facts["margins"][part]) for part in PARTS.values()]
    return float(np.minimum(*(one / one.sum() for one in counts)).sum())


FIG_1 = (
    Item(
        name="crl-fig-1",
        paper="CRL",
        shows="Distance to the origin against distance to the boundary, for three trainings",
        data="cifar10",  # The paper does not say which.
        plans={profile: ("components",) for profile in PLANS},
        make=fig_1,
    ),
)
FIG_6 = (
    Item(
        name="crl-fig-6",
        paper="CRL",
        shows="Histograms of the distance to the decision boundary, by defense and strength",
        data="cifar100",
        plans=PLANS,
        make=fig_6,
    ),
)
