"""CRL's Table 1 on three datasets, with five shadows and AUC, and Table 2, its components.

At the course's profiles there is one network, and the paper's ResNet-18 stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mialib import papers
from mialib.course import plots
from mialib.course.plots.picture import Picture
from mialib.estimates import Estimate
from mialib.reproductions.comparing import SHARE, over_trainings
from mialib.reproductions.crl.common import (
    ACTIVE,
    ATTACKS,
    DEFAULT,
    PLANS,
    WITHOUT_NORM,
    components,
    usual,
)
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.results import Results

METHODS = {"CE": "Plain", "AdvReg": "AdvReg", "RelaxLoss": "RelaxLoss", DEFAULT: "CRL"}
METHODS |= {ACTIVE: "CRL"}
# The paper's networks by the end of an experiment's name; the course's own is compared with its
# ResNet-18. What the authors call DenseNet121 is another network.
NETWORKS = {"vgg11": "vgg11", "resnet18": "resnet18", "googlenet": "googlenet"}
NETWORKS |= {"densenet3": "densenet121", "halves": "resnet18"}
MOST_TELLING = "AUC of neural (CRL)"


class Approach(NamedTuple):
    """A line of Table 1: which network of the paper stands beside it, and its name."""

    network: str
    name: str


def table_1(evidence: Evidence, *, row: str, against: str) -> Made:
    """One of the three tables; its first line compares CRL with `against`."""
    plan = TABLES[row][evidence.profile]
    by_approach = _approaches(evidence.results(plan))
    is_one_network = len({approach.network for approach in by_approach}) == 1
    lines = _headline(row, by_approach, against)
    for approach, one in by_approach.items():
        called = approach.name if is_one_network else f"{approach.network}, {approach.name}"
        for metric, own in _cells(one).items():
            printed = _published(row, approach, metric)
            lines.append(Line(row, f"{called}: {_in_paper(metric)}", printed, own))
    return Made(_pictures(row, by_approach), tuple(lines))


def _approaches(found: Results) -> dict[Approach, Results]:
    by_approach = {}
    for one in found.settings():
        settings = one.rows[0].settings
        network = NETWORKS[settings["experiment"].split()[-1]]
        if not all(row.failure for row in one.rows):
            by_approach[Approach(network, settings["called"])] = one.finished()
    return by_approach


def _headline(row: str, by_approach: dict[Approach, Results], against: str) -> list[Line]:
    """What CRL changes for the attack that the paper puts first, with either kind of centers."""
    lines = []
    for name in (ACTIVE, DEFAULT):
        crl = Approach("resnet18", name)
        other = Approach("resnet18", against)
        if crl in by_approach and other in by_approach:
            change = by_approach[crl].paired(by_approach[other], "auc", ATTACKS["NN-Based"])
            printed = _published_difference(row, crl, other)
            what = f"{name} minus {against}: AUC of NN-Based"
            lines.append(Line(row, what, printed, change))
    return lines


def _published_difference(row: str, one: Approach, other: Approach) -> float | None:
    """Of the two cells of the table, to their digits."""
    here = _published(row, one, MOST_TELLING)
    there = _published(row, other, MOST_TELLING)
    if here is None or there is None:
        return None
    return round(here - there, 4)


def _cells(one: Results) -> dict[str, Estimate]:
    """A line of Table 1, as shares, by the names of `mialib.papers`."""
    learned = over_trainings([row.accuracy["train"] for row in one.rows], limits=SHARE)
    cells = {"train accuracy": learned, "test accuracy": one.accuracy()}
    return cells | {f"AUC of {attack}": one.auc(attack) for attack in ATTACKS.values()}


def _published(row: str, approach: Approach, metric: str) -> float | None:
    method = METHODS[approach.name]
    names = {"model": approach.network, "method": method, "metric": metric}
    return papers.find("crl", item=row, **names).share


def _in_paper(metric: str) -> str:
    for paper, attack in ATTACKS.items():
        if metric == f"AUC of {attack}":
            return f"AUC of {paper}"
    return metric


def _pictures(row: str, by_approach: dict[Approach, Results]) -> dict[str, Picture]:
    """The table as a chart for each network: AUC by attack, a marker for each approach."""
    networks = list(dict.fromkeys(approach.network for approach in by_approach))
    pictures = {}
    for network in networks:
        series = {
            approach.name: {paper: one.auc(attack) for paper, attack in ATTACKS.items()}
            for approach, one in by_approach.items()
            if approach.network == network
        }
        name = row if len(networks) == 1 else f"{row}-{network}"
        pictures[name] = plots.comparison(series, label="AUC", chance=0.5)
    return pictures


def table_2(evidence: Evidence) -> Made:
    """What each component changes: CRL with active centers minus CRL without it."""
    row = "crl-table-2"
    arms = components(evidence)
    whole = usual(arms[ACTIVE])
    without = {
        "centers": ("ImpRelaxLoss", usual(arms["ImpRelaxLoss"])),
        "centers that act": (DEFAULT, usual(arms[DEFAULT])),
        "normalisation": (WITHOUT_NORM, usual(arms[WITHOUT_NORM])),
        "everything": ("CE", arms["CE"][0]),
    }
    numbers: dict[str, Callable[[Results], Estimate]] = {
        "AUC of M-Entropy": lambda other: whole.paired(other, "auc", ATTACKS["M-Entropy"]),
        "AUC of NN-Based": lambda other: whole.paired(other, "auc", ATTACKS["NN-Based"]),
        "test accuracy": lambda other: whole.paired(other, "accuracy"),
    }
    changes = {
        what: {component: number(other) for component, (_, other) in without.items()}
        for what, number in numbers.items()
    }
    lines = [
        Line(row, f"{component} ({ACTIVE} minus {without[component][0]}): {what}", None, change)
        for what, by_component in changes.items()
        for component, change in by_component.items()
    ]
    picture = plots.comparison(changes, label="change by the component", dotted="no difference")
    return Made({row: picture}, tuple(lines))


EVERY_PROFILE = ("quick", "cpu", "class", "paper")
TABLES: dict[str, dict[str, str]] = {
    "crl-table-1a": dict.fromkeys(EVERY_PROFILE, "crl"),
    # Letters stand in for what a laptop would have to download.
    "crl-table-1b": {"quick": "crl", "paper": "crl100"},
    "crl-table-1c": {"quick": "crl", "paper": "crlsvhn"},
}


def _item(row: str, *, shows: str, data: str, against: str) -> Item:
    return Item(
        name=row,
        paper="CRL",
        shows=shows,
        data=data,
        plans={profile: (plan,) for profile, plan in TABLES[row].items()},
        make=partial(table_1, row=row, against=against),
    )


ITEMS = (
    _item(
        "crl-table-1a",
        shows="CIFAR-10: accuracy and the AUC of four attacks, by approach",
        data="cifar10",
        against="CE",
    ),
    _item(
        "crl-table-1b",
        shows="CIFAR-100: accuracy and the AUC of four attacks, by approach",
        data="cifar100",
        against="CE",
    ),
    _item(
        "crl-table-1c",
        shows="SVHN: accuracy and the AUC of four attacks, by approach",
        data="svhn",
        against="RelaxLoss",
    ),
    Item(
        name="crl-table-2",
        paper="CRL",
        shows="Which components an approach has, and what each of them changes",
        data="cifar100",
        plans=PLANS,
        make=table_2,
    ),
)
