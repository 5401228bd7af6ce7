"""Evidence of a model that somebody trained, on records in any usual form.

    from_model(model, members, non_members, shadows=[(shadow, its_members, others)])
    from_model(model, members, non_members, training=ReferenceTraining(train, models=8))

`parts` reads the records, `answering` asks the models, `references` trains some more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from mialib import query
from mialib.audits.answering import Asked, answers, describe, note_mode, signals_of
from mialib.audits.evidence import Evidence, as_groups, checked
from mialib.audits.parts import Part, as_part, inputs_of
from mialib.audits.references import ReferenceTraining, train_references
from mialib.bank import Bank
from mialib.errors import check_flag
from mialib.signals import Signals


def from_model(
    model: Any,
    members: Any,
    non_members: Any,
    *,
    shadows: Sequence[tuple[Any, ...]] = (),
    references: Bank | None = None,
    population: Any = None,
    groups: ArrayLike | None = None,
    training: ReferenceTraining | None = None,
    boundary: bool = False,
    checkpoints: Sequence[Any] = (),
) -> Evidence:
    """Evidence of a model, on records that it was trained on and records that it was not."""
    notes: list[str] = []
    inside = as_part(members, "members", notes)
    outside = as_part(non_members, "non_members", notes)
    check_flag(boundary=boundary)
    described = [_as_shadow(shadow) for shadow in _as_list("shadows", shadows)]
    asked = Asked(bool(described), boundary, _as_checkpoints(checkpoints))
    note_mode(model, notes)
    inputs = inputs_of((inside, outside), notes)
    target = signals_of(model, inside, outside, notes, asked)
    known = None if population is None else as_part(population, "population", notes)
    if known is not None:
        target = _with_population(target, answers(model, (known,), notes), inputs, known)
    if training is not None:
        references = train_references(training, inside, outside, known, target, notes)
    shown = [_shadow_signals(number, one, boundary) for number, one in enumerate(described)]
    n = len(target)
    evidence = Evidence(
        target,
        "a model",
        rows=np.arange(n),
        shadows=tuple(shown),
        references=_as_references(references, target),
        inputs=inputs,
        groups=as_groups(groups, n),
        model=describe(model),
        notes=tuple(dict.fromkeys(notes)),
    )
    return checked(evidence)


class Shadow(NamedTuple):
    """A model that was trained like the audited one, on other records."""

    model: Any
    members: Any
    others: Any
    checkpoints: Sequence[Any] = ()


def _as_list(what: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ValueError(f"{what} must be a list, found {type(given).__name__}.")
    return given


def _as_shadow(given: Any) -> Shadow:
    if not isinstance(given, tuple | list) or len(given) not in (3, 4):
        raise ValueError(
            "Each shadow must be (model, members, non-members): the records that it was "
            "trained on, and others that it was not; its checkpoints may follow."
        )
    return Shadow(*given)


def _as_checkpoints(given: Any) -> tuple[nn.Module, ...]:
    checkpoints = tuple(_as_list("checkpoints", given))
    for one in checkpoints:
        query.check_model(one)
    return checkpoints


def _with_population(
    target: Signals, population: Signals, inputs: np.ndarray | None, known: Part
) -> Signals:
    """The target with its answers on the population, and the inputs of both if they are numbers."""
    of_population = inputs_of((known,), [])
    if inputs is None or of_population is None:
        return replace(target, population=population)
    population = replace(population, extra={"inputs": of_population})
    return replace(target, extra=target.extra | {"inputs": inputs}, population=population)


def _as_references(references: Any, target: Signals) -> Bank | None:
    if references is None:
        return None
    if not isinstance(references, Bank):
        raise ValueError(f"references must be a Bank, found {type(references).__name__}.")
    if not np.array_equal(references.labels, target.labels):
        raise ValueError(
            "references must be about the members, then the non-members, in the order in which "
            "they are handed in; the labels differ."
        )
    return references


def _shadow_signals(number: int, shadow: Shadow, boundary: bool) -> Signals:
    """What a shadow shows, asked as the target was."""
    inside = as_part(shadow.members, f"members of shadow {number}", [])
    outside = as_part(shadow.others, f"non-members of shadow {number}", [])
    asked = Asked(True, boundary, _as_checkpoints(shadow.checkpoints))
    return signals_of(shadow.model, inside, outside, [], asked)
