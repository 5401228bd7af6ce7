"""The threshold of an attack, at a few places: what a reader moves without a script.

where = positions(findings)       # threshold and rates at each place
control(findings, where)          # radio buttons, the histogram, and a sentence for each
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from mialib import metrics
from mialib.audits import drawings
from mialib.audits.findings import AttackRow, Findings
from mialib.audits.markup import figure, paragraph, said, section

LIMITS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)  # FPRs
START = 0.01
FEWEST = 3  # places that make a threshold worth moving


class Position(NamedTuple):
    """One place of the threshold: the loosest whose FPR is at most `limit`."""

    limit: float
    threshold: float
    tpr: float
    fpr: float
    ppv: float


def movable(findings: Findings) -> AttackRow:
    """The strongest attack whose scores are not so tied that a threshold has hardly a choice."""
    by_auc = sorted(findings.attacks, key=lambda row: (-row.auc.value, row.name))
    for row in by_auc:
        if len(_positions_of(row, findings)) >= FEWEST:
            return row
    return by_auc[0]


def positions(findings: Findings) -> tuple[Position, ...]:
    """Every place that n resolves; ties may leave fewer, or none."""
    return _positions_of(movable(findings), findings)


def _positions_of(row: AttackRow, findings: Findings) -> tuple[Position, ...]:
    curve = metrics.roc(row.scores, findings.is_member)
    found: dict[float, Position] = {}
    for limit in LIMITS:
        if not metrics.resolvable(limit, findings.head.non_members):
            continue
        last = np.flatnonzero(curve.fpr <= limit + metrics.ROUNDING)[-1]
        threshold = float(curve.threshold[last])
        rates = metrics.rates(row.scores, findings.is_member, threshold=threshold)
        if rates.tpr > 0:
            ppv = float(metrics.ppv(rates.tpr, rates.fpr, findings.head.prior))
            found.setdefault(threshold, Position(limit, threshold, rates.tpr, rates.fpr, ppv))
    return tuple(found.values())


def in_words(findings: Findings, position: Position) -> str:
    """What the attack does at this threshold."""
    head = findings.head
    found = round(position.tpr * head.members)
    accused = round(position.fpr * head.non_members)
    return (
        f"{found:,} of {head.members:,} members are "
        f"found (TPR {_percent(position.tpr)}) and {accused:,} of {head.non_members:,} non-members "
        f"accused (FPR {_percent(position.fpr)}); advantage {position.tpr - position.fpr:.3f}. If "
        f"{100 * head.prior:.3g} % of all records are members, so are {_percent(position.ppv)} of "
        "those accused."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def control(findings: Findings, where: Sequence[Position]) -> str:
    """Radio buttons, which the arrow keys move, above the histogram.

    The style sheet shows the line and the sentence of the one that is chosen.
    """
    row = movable(findings)
    heading = f"Move the threshold of {row.name}"
    if not where:
        told = f"The scores of {row.name} are tied, so no threshold accuses as few as these."
        return section(heading, paragraph(told), level=3)
    drawn = drawings.histogram(
        row.scores,
        findings.is_member,
        [position.threshold for position in where],
        told=f"Scores of {findings.head.members:,} members, upwards, and of "
        f"{findings.head.non_members:,} non-members, downwards. {in_words(findings, where[0])}",
    )
    chosen = _start(where)
    buttons = "".join(_button(k, position, k == chosen) for k, position in enumerate(where))
    sentences = "".join(
        f'<p class="told t{k}">{said(in_words(findings, position))}</p>'
        for k, position in enumerate(where)
    )
    caption = (
        "Scores of each kind; the axis is stretched so that all records together form a bell. "
        "Right of the line, records are called members."
    )
    group = f'<div class="threshold" role="radiogroup" aria-label="{escape(heading)}">'
    body = f"{group}{buttons}{sentences}{figure(drawn, caption)}</div>"
    asked = paragraph("Accuse at most so many of the non-members (arrow keys work, too):")
    return section(heading, asked, body, level=3)


def _start(where: Sequence[Position]) -> int:
    """The place nearest to an FPR of 1 %."""
    return min(range(len(where)), key=lambda k: abs(np.log(where[k].limit / START)))


def _button(number: int, position: Position, chosen: bool) -> str:
    checked = " checked" if chosen else ""
    limit = f"{100 * position.limit:.3g} %"
    return (
        f'<input type="radio" name="at" id="at{number}"{checked}>'
        f'<label for="at{number}">{limit}</label>'
    )
