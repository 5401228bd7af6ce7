"""Canaries in an audit: records that were planted to be found.

    canaries = splits.plant(records, 200, kind="mislabelled", seed=0)
    model = train(canaries.among(members))
    audit(model, members, non_members, canaries=canaries).canaries.sentence

Canaries are the worst case that a training can be asked for, and the only records of which a coin
alone decided. So they say more about ε than ordinary records do, and less about ordinary people.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mialib.audits import intervals
from mialib.audits.answering import answers
from mialib.audits.bounds import DELTA, LEVEL
from mialib.audits.findings import Planted
from mialib.audits.parts import as_part
from mialib.epsilon import DIRECTIONS, Refuted, one_run
from mialib.estimates import Estimate
from mialib.splits import Canaries

FEWEST = 10  # canaries IN, and OUT, of which an AUC is told


def ask_canaries(model: Any, canaries: Any, *, seed: int, delta: float = DELTA) -> Planted:
    """How well the loss tells canaries that were IN from those that were OUT."""
    if not isinstance(canaries, Canaries):
        raise ValueError(
            f"canaries must be what splits.plant gave, found {type(canaries).__name__}."
        )
    is_in = canaries.is_in
    if min(is_in.sum(), (~is_in).sum()) < FEWEST:
        raise ValueError(
            f"An audit needs {FEWEST} canaries IN and as many OUT, found {int(is_in.sum())} and "
            f"{int((~is_in).sum())}. Plant more of them."
        )
    part = as_part(canaries.records, "canaries", [])
    scores = -answers(model, (part,), []).loss()
    auc = intervals.auc(scores, is_in)
    refuted = tuple(_refuted(scores, is_in, direction, delta, seed) for direction in DIRECTIONS)
    return Planted(
        kind=canaries.kind,
        inside=int(is_in.sum()),
        outside=int((~is_in).sum()),
        auc=auc,
        refuted=refuted,
        sentence=_sentence(canaries, auc, refuted),
    )


def _refuted(
    scores: np.ndarray, is_in: np.ndarray, direction: str, delta: float, seed: int
) -> Refuted:
    """Each of the two directions is held to 97.5 %, so that the larger bound holds at 95 %."""
    level = 1 - (1 - LEVEL) / len(DIRECTIONS)
    found = one_run(
        scores, is_in, direction=direction, delta=delta, level=level, by_coin=True, seed=seed
    )
    return replace(found, level=LEVEL)


def _sentence(canaries: Canaries, auc: Estimate, refuted: tuple[Refuted, ...]) -> str:
    strongest = max(refuted, key=lambda one: one.epsilon)
    return (
        f"{len(canaries):,} canaries ({canaries.kind}) were planted, {int(canaries.is_in.sum()):,} "
        f"of them IN by the toss of a coin. The loss tells them apart with an AUC of {auc}. "
        f"{strongest}"
    )
