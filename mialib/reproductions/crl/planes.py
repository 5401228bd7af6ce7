"""CRL's Fig. 4, 5 and 7: test accuracy against the AUC of each attack.

Fig. 4 says who leaks least, Fig. 5 who keeps the accuracy at the same leak, and Fig. 7 what CRL's
components do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mialib.course import figures
from mialib.course.figures.planes import ByAttack, EstimatedPoint
from mialib.course.plots.picture import Picture
from mialib.course.statistics import mean_difference
from mialib.estimates import Estimate
from mialib.papers import find
from mialib.reproductions import arms
from mialib.reproductions.comparing import absent, is_as_accurate, nearest
from mialib.reproductions.crl.common import (
    ACTIVE,
    ATTACKS,
    DEFAULT,
    PLANS,
    WITHOUT_NORM,
    components,
)
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.results import Results

Arms = Mapping[str, list[Results]]
# The paper's defenses, by the names of `arms`; one that a profile did not train has no curve.
COMPARED = {
    "AdvReg": "AdvReg",
    "RelaxLoss": "RelaxLoss",
    DEFAULT: "CRL",
    ACTIVE: "CRL, active centers",
    "label smoothing": "label smoothing",
    "early stopping": "early stopping",
    "confidence penalty": "confidence penalty",
}
# What holds most of these defenses on the same records.
DEFENSES: dict[str, tuple[str, ...]] = {
    "quick": ("relaxed", "learned"),
    "cpu": ("photographs",),
    "class": ("photographs",),
    "paper": ("photographs",),
}
ON_CIFAR100 = DEFENSES | {"paper": ("components",)}
APART = ("ImpRelaxLoss", WITHOUT_NORM, DEFAULT, ACTIVE)
NN = ATTACKS["NN-Based"]


def fig_4(evidence: Evidence) -> Made:
    """Every defense on CIFAR-10."""
    row = "crl-fig-4"
    found = _defenses(evidence)
    plain = arms.undefended(found)
    there = _compared(found)
    pairs = _pairs(there[ACTIVE], there["RelaxLoss"], mean_accuracy)
    beside = f"{ACTIVE} minus RelaxLoss, nearest in accuracy"
    lines = [
        Line(row, f"{beside}: AUC of NN-Based", None, mean_difference(pairs, "auc", NN)),
        Line(row, f"{beside}: test accuracy", None, mean_difference(pairs, "accuracy")),
    ]
    for name, some in there.items():
        what = f"{name} minus CE, at its accuracy or above: AUC of NN-Based"
        lines.append(Line(row, what, None, _least_auc(some, plain)))
    return Made({row: _picture(there, plain, _told_gaps(found, there))}, tuple(lines))


def fig_5(evidence: Evidence) -> Made:
    """The same for CIFAR-100, where the paper asks what the same privacy costs."""
    row = "crl-fig-5"
    if evidence.profile == "paper":
        there = dict(components(evidence))
        plain = there.pop("CE")[0]
        told = ""
    else:
        found = _defenses(evidence)
        plain = arms.undefended(found)
        there = _compared(found)
        told = _told_gaps(found, there)
    lines = []
    for rival in ("RelaxLoss", "AdvReg"):
        if rival in there:
            pairs = _pairs(there[ACTIVE], there[rival], mean_auc)
            beside = f"{ACTIVE} minus {rival}, nearest in AUC"
            accuracy = mean_difference(pairs, "accuracy")
            lines.append(Line(row, f"{beside}: test accuracy", None, accuracy))
            area = mean_difference(pairs, "auc", NN)
            lines.append(Line(row, f"{beside}: AUC of NN-Based", None, area))
    return Made({row: _picture(there, plain, told)}, tuple(lines))


def fig_7(evidence: Evidence) -> Made:
    """What the components of CRL do, by strength."""
    row = "crl-fig-7"
    everyone = components(evidence)
    there = {name: everyone[name] for name in APART if name in everyone}
    pairs = _pairs(there[ACTIVE], there[WITHOUT_NORM], mean_auc)
    printed = find("crl", item=row, metric="gain of test accuracy from normalization").value
    beside = f"{ACTIVE} minus {WITHOUT_NORM}, nearest in AUC"
    accuracy = mean_difference(pairs, "accuracy")
    published = None if printed is None else printed / 100
    lines = [
        Line(row, f"{beside}: test accuracy", published, accuracy),
        Line(row, f"{beside}: AUC of NN-Based", None, mean_difference(pairs, "auc", NN)),
    ]
    for rival in ("ImpRelaxLoss", DEFAULT):
        pairs = _pairs(there[ACTIVE], there[rival], mean_auc)
        what = f"{ACTIVE} minus {rival}, nearest in AUC: test accuracy"
        lines.append(Line(row, what, None, mean_difference(pairs, "accuracy")))
    return Made({row: _picture(there, everyone["CE"][0], "")}, tuple(lines))


def _defenses(evidence: Evidence) -> Results:
    first, *others = (evidence.results(plan) for plan in DEFENSES[evidence.profile])
    return first.joined(*others)


def _compared(found: Results) -> dict[str, list[Results]]:
    """The settings of every defense of the paper that was trained."""
    families = arms.families(found)
    there = {name: families[arm] for name, arm in COMPARED.items() if arm in families}
    # Splitting and synthesising, both of which the paper tried, are kinds of DMP.
    distilled = [one.finished() for one in found.where(defense="DMP").settings()]
    if distilled:
        there["DMP"] = sorted(distilled, key=mean_accuracy, reverse=True)
    return there


def mean_accuracy(one: Results) -> float:
    return float(one.by_seed("accuracy").mean())


def mean_auc(one: Results) -> float:
    """Over the paper's four attacks."""
    areas = [one.by_seed("auc", attack).mean() for attack in ATTACKS.values()]
    return float(sum(areas) / len(areas))


def _pairs(
    settings: Sequence[Results], others: Sequence[Results], number: Callable[[Results], float]
) -> list[tuple[Results, Results]]:
    """Each setting with the one of the others that comes nearest in a number."""
    return [(one, nearest(one, others, number)) for one in settings]


def _least_auc(settings: Sequence[Results], plain: Results) -> Estimate:
    """Of the settings that are not less accurate than cross-entropy, the one that leaks least."""
    accurate = [one for one in settings if is_as_accurate(one, plain)]
    if not accurate:
        return absent("every setting is less accurate than CE")
    best = min(accurate, key=lambda one: one.by_seed("auc", NN).mean())
    return best.paired(plain, "auc", NN)


def _picture(there: Arms, plain: Results, told: str) -> Picture:
    curves: dict[str, ByAttack] = {
        name: {paper: [_point(one, attack) for one in some] for paper, attack in ATTACKS.items()}
        for name, some in there.items()
    }
    undefended = {paper: _point(plain, attack) for paper, attack in ATTACKS.items()}
    return figures.attack_planes(curves, undefended=undefended, ylabel="AUC", told=told)


def _point(one: Results, attack: str) -> EstimatedPoint:
    return one.accuracy(), one.auc(attack)


def _told_gaps(found: Results, there: Arms) -> str:
    """What has no curve, and why: never a zero."""
    sentences = []
    absent_names = [name for name in (*COMPARED, "DMP") if name not in there]
    if absent_names:
        sentences.append(f"Not trained on these records: {', '.join(absent_names)}.")
    diverged = [name for name in arms.gaps(found) if not name.startswith("Past")]
    if diverged:
        sentences.append(f"Every training diverged: {'; '.join(diverged)}.")
    return " ".join(sentences)


ITEMS = (
    Item(
        name="crl-fig-4",
        paper="CRL",
        shows="Accuracy against the AUC of four attacks, for every defense (CIFAR-10)",
        data="cifar10",
        plans=DEFENSES,
        make=fig_4,
    ),
    Item(
        name="crl-fig-5",
        paper="CRL",
        shows="The same with crops and flips (CIFAR-100)",
        data="cifar100",
        plans=ON_CIFAR100,
        make=fig_5,
    ),
)
FIG_7 = (
    Item(
        name="crl-fig-7",
        paper="CRL",
        shows="Accuracy against AUC of CRL and of its components (CIFAR-100)",
        data="cifar100",
        plans=PLANS,
        make=fig_7,
    ),
)
