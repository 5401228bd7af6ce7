"""The items of CRL: its figures 1 to 7, and its tables 1a to 1c and 2."""

from __future__ import annotations

from mialib.course import plots
from mialib.estimates import Estimate
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.results import Results

# The columns of Table 1: what the paper calls an attack, and what it is called here.
ATTACKS = {
    "NN-Based": "neural (CRL)",
    "Entropy": "entropy",
    "M-Entropy": "modified entropy",
    "Grad-x ℓ2": "gradient ℓ2",
}
APPROACHES = ("CE", "AdvReg", "RelaxLoss", "CRL", "CRL (active)")


def table_1a(evidence: Evidence) -> Made:
    return _table(evidence, "crl-table-1a", "crl")


def _table(evidence: Evidence, row: str, plan: str) -> Made:
    found = evidence.results(plan)
    settings = {name: found.find(called=name) for name in APPROACHES if _has(found, name)}
    lines = []
    for name, one in settings.items():
        for what, estimate in _cells(one).items():
            lines.append(Line(row, f"{name}: {what}", None, estimate))
    return Made({row: _picture(settings)}, tuple(lines))


def _has(found: Results, name: str) -> bool:
    return any(row.settings.get("called") == name for row in found.rows)


def _cells(one: Results) -> dict[str, Estimate]:
    """A line of Table 1, as shares."""
    aucs = {f"AUC of {paper}": one.auc(attack) for paper, attack in ATTACKS.items()}
    return {"test accuracy": one.accuracy()} | aucs


def _picture(settings: dict[str, Results]) -> plots.Picture:
    """The table as a chart: AUC by attack, a marker for each approach."""
    series = {
        name: {paper: one.auc(attack) for paper, attack in ATTACKS.items()}
        for name, one in settings.items()
    }
    return plots.comparison(series, label="AUC", chance=0.5)


ITEMS = (
    Item(
        name="crl-table-1a",
        paper="CRL",
        shows="CIFAR-10: accuracy and the AUC of four attacks, by approach",
        data="cifar10",
        plans={profile: ("crl",) for profile in ("quick", "cpu", "class", "paper")},
        make=table_1a,
    ),
)
