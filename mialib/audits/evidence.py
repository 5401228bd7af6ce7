"""What an audit looks at: outputs and membership, however they were handed in.

    evidence = from_outputs(logits=logits, labels=labels, is_member=is_member)
    evidence = from_bank(bank, target=7)
    in_canonical_order(evidence)       # so that the order of records and classes changes nothing

What could be mended is mended here, and said in `notes`: probabilities handed in as logits, one
output for two classes, labels that start at 1, a record in both sets. What cannot be mended is
refused with a sentence. `mialib.audits.asking` makes the same of a model.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mialib.audits.findings import Model
from mialib.bank import Bank
from mialib.data.records import row_hashes
from mialib.errors import as_array, check_range
from mialib.metrics import check
from mialib.signals import Signals, check_not_probabilities

FEW = 100  # records, below which a note says so
CHUNK = 10_000  # rows that are hashed at a time


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that attacks and statistics may use.

    target      the audited model's signals, with membership
    kind        what was handed in: "a model", "outputs" or "a bank"
    rows        (n,): where each record stood, before records of both sets were left out
    shadows     signals of shadow models
    references  models on the same records in the same order
    inputs      (n, features) float32, or None
    groups      (n,) text, or None
    model       which model it was, where that is known
    notes       what was mended, each in a sentence
    duplicates  how many records were in both sets; None without inputs
    """

    target: Signals
    kind: str
    rows: np.ndarray
    shadows: tuple[Signals, ...] = ()
    references: Bank | None = None
    inputs: np.ndarray | None = None
    groups: np.ndarray | None = None
    model: Model | None = None
    notes: tuple[str, ...] = ()
    duplicates: int | None = None

    @property
    def is_member(self) -> np.ndarray:
        return self.target.truth()

    def take(self, places: np.ndarray) -> Evidence:
        """The same about some of the records, or all of them in another order."""
        references = self.references
        if references is not None:
            references = references.take(np.arange(len(references)), places)
        return replace(
            self,
            target=self.target.take(places),
            rows=self.rows[places],
            references=references,
            inputs=None if self.inputs is None else self.inputs[places],
            groups=None if self.groups is None else self.groups[places],
        )


# What is handed in.


def from_outputs(
    *,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    labels: ArrayLike,
    is_member: ArrayLike,
    inputs: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Evidence:
    """Evidence of a model that only answered."""
    if (logits is None) == (probabilities is None):
        raise ValueError("Give either logits= or probabilities= of the model, and not both.")
    notes: list[str] = []
    if probabilities is None:
        columns = as_columns(logits, "logits", notes)
    else:
        columns = as_columns(probabilities, "probabilities", notes)
    numbers = as_labels(labels, columns.shape[1], notes)
    _, truth = check(np.zeros(len(numbers)), is_member)
    target = as_signals(columns, numbers, truth, notes, probabilities is not None)
    evidence = Evidence(
        target,
        "outputs",
        rows=np.arange(len(target)),
        inputs=None if inputs is None else as_inputs(inputs, len(target), notes),
        groups=as_groups(groups, len(target)),
        notes=tuple(notes),
    )
    return checked(evidence)


def from_bank(bank: Bank, target: int, groups: ArrayLike | None = None) -> Evidence:
    """Evidence of one model of a bank; the others are its references, but for its complement.

    Counting how many of the other models hold a record would give the target away otherwise.
    """
    if not isinstance(bank, Bank):
        raise ValueError(f"Expected a Bank of models, found {type(bank).__name__}.")
    check_range(0, len(bank) - 1, whole=True, target=target)
    truth = bank.is_member[target]
    others = [
        model
        for model, is_member in enumerate(bank.is_member)
        if model != target and not np.array_equal(is_member, ~truth)
    ]
    signals = bank.signals(target)
    check(np.zeros(len(truth)), truth)
    evidence = Evidence(
        signals,
        "a bank",
        rows=np.arange(len(truth)),
        references=bank.take(others) if others else None,
        groups=as_groups(groups, len(truth)),
    )
    if bank.x is not None:
        evidence = replace(evidence, inputs=as_inputs(bank.x, len(truth), []))
    return checked(evidence)


def as_columns(outputs: Any, what: str, notes: list[str]) -> np.ndarray:
    """Outputs as (n, classes); a single column is that of class 1 of two."""
    array = as_array(outputs, what=what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 1 and array.size > 0:
        return _two_columns(array, what, notes)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{what} must be (n, classes), one row for each record, found shape {array.shape}."
        )
    return array


def _two_columns(column: np.ndarray, what: str, notes: list[str]) -> np.ndarray:
    """One output for each record: the probability of class 1, or its logit."""
    values = column.astype(np.float64)
    if what == "probabilities" or (values.min() >= 0 and values.max() <= 1):
        notes.append("One output per record was read as the probability of class 1.")
        return np.stack([1 - values, values], axis=1)
    notes.append("One output per record was read as the logit of class 1, against 0 for class 0.")
    return np.stack([np.zeros_like(values), values], axis=1)


def as_labels(labels: Any, classes: int, notes: list[str]) -> np.ndarray:
    """Labels from 0 on; those of 1 … classes are clear enough to be moved."""
    numbers = as_array(labels, kind="iu", what="labels")
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(
            f"labels must be one class number for each record, found shape {numbers.shape}. "
            "Of one-hot rows take labels.argmax(axis=1)."
        )
    numbers = numbers.astype(np.int64)
    if numbers.min() >= 1 and numbers.max() == classes:
        notes.append(f"Labels from 1 to {classes} were read as 0 to {classes - 1}.")
        return numbers - 1
    return numbers


def as_signals(
    columns: np.ndarray,
    labels: np.ndarray,
    is_member: np.ndarray | None,
    notes: list[str],
    are_probabilities: bool = False,
) -> Signals:
    """Signals of outputs, whichever of the two they are."""
    if len(columns) != len(labels):
        raise ValueError(
            f"There are outputs of {len(columns):,} records and {len(labels):,} labels; "
            "give one label for each row."
        )
    if not are_probabilities and not _are_logits(columns):
        notes.append("The outputs are probabilities (every row sums to 1), and were read as such.")
        are_probabilities = True
    if are_probabilities:
        return Signals.from_probabilities(columns, labels, is_member=is_member)
    return Signals(columns, labels, is_member)


def _are_logits(columns: np.ndarray) -> bool:
    """Whether these are outputs before the softmax. What is not finite, `Signals` refuses."""
    if not np.isfinite(columns).all():
        return True
    try:
        check_not_probabilities(columns)
    except ValueError:
        return False
    return True


def as_inputs(inputs: Any, n: int, notes: list[str]) -> np.ndarray | None:
    """The records themselves as (n, features) float32; None where they are no numbers."""
    try:
        array = as_array(inputs, what="inputs")
    except ValueError as error:
        notes.append(f"The inputs were not compared: {error}")
        return None
    if array.ndim == 0 or len(array) != n:
        raise ValueError(f"inputs must have one row for each of {n:,} records.")
    flat = array.reshape(n, -1).astype(np.float32)
    if not np.isfinite(flat).all():
        notes.append("The inputs hold NaN or infinite numbers, which count as 0 where compared.")
        flat = np.nan_to_num(flat, posinf=0.0, neginf=0.0)
    return flat


def as_groups(groups: Any, n: int) -> np.ndarray | None:
    """The name of each record's group; `groups` is (n,), or a pair: of members, of non-members."""
    if groups is None:
        return None
    if isinstance(groups, tuple | list) and len(groups) == 2 and np.ndim(groups[0]) == 1:
        parts = [as_array(part, kind="biufUSO", what="groups") for part in groups]
        names = np.concatenate([part.astype(str) for part in parts])
    else:
        names = as_array(groups, kind="biufUSO", what="groups").astype(str)
    if names.shape != (n,):
        raise ValueError(
            f"groups must name one group for each of the {n:,} records, members first, "
            f"found shape {names.shape}."
        )
    return np.where(names == "", "(no name)", names)


def checked(evidence: Evidence) -> Evidence:
    """The evidence without records of both sets, and with notes on what a reader should know."""
    evidence = _without_duplicates(evidence)
    notes = list(evidence.notes)
    labels = evidence.target.labels
    if len(labels) < FEW:
        notes.append(
            f"There are only {len(labels)} records: intervals are wide, and false alarms below "
            "1 % cannot be measured."
        )
    if labels.min() == labels.max():
        notes.append(f"All records have the same label, {labels[0]}.")
    return replace(evidence, notes=tuple(notes))


def _without_duplicates(evidence: Evidence) -> Evidence:
    """Leave out non-members that equal a member: the model was trained on them too."""
    if evidence.inputs is None:
        return evidence
    is_member = evidence.is_member
    hashes = row_hashes(evidence.inputs)
    is_known = np.isin(hashes, hashes[is_member]) & ~is_member
    number = int(is_known.sum())
    if number == (~is_member).sum():
        raise ValueError(
            "Every non-member is also among the members, so there is nobody to compare with. "
            "Give records that the model was not trained on."
        )
    evidence = replace(evidence, duplicates=number)
    if number == 0:
        return evidence
    note = (
        f"{number:,} non-members equal a member and were left out: the model was trained on them."
    )
    return replace(evidence.take(~is_known), notes=(*evidence.notes, note))


# An order that depends on nothing but the contents.


class Canonical(NamedTuple):
    """Evidence in its canonical order: its record i was record order[i], class c was classes[c]."""

    evidence: Evidence
    order: np.ndarray
    classes: np.ndarray
    fingerprint: str


def in_canonical_order(evidence: Evidence) -> Canonical:
    """Records sorted by a hash of what is known of them, classes by their first record.

    Halves, folds and draws are then the same whatever the order in which records and classes came.
    The hash knows nothing of membership or of a class's number. Records that nothing tells apart
    are sorted by both.
    """
    target = evidence.target
    hashes = _content_hashes(evidence)
    order = np.lexsort((target.labels, target.truth(), hashes))
    classes = _class_order(target, order)
    columns = np.stack([hashes, target.truth().astype(np.uint64)], axis=1)[order]
    fingerprint = hashlib.sha256(columns.tobytes()).hexdigest()
    ordered = evidence.take(order)
    references = ordered.references
    return Canonical(
        replace(
            ordered,
            target=_relabelled(ordered.target, classes),
            shadows=tuple(_relabelled(shadow, classes) for shadow in ordered.shadows),
            references=None if references is None else _relabelled_bank(references, classes),
        ),
        order,
        classes,
        fingerprint,
    )


def _content_hashes(evidence: Evidence) -> np.ndarray:
    """A hash of each record's sorted outputs, its own output, and its inputs: (n,)."""
    target = evidence.target
    hashes = []
    for start in range(0, len(target), CHUNK):
        rows = slice(start, start + CHUNK)
        logits = target.logits[rows]
        own = np.take_along_axis(logits, target.labels[rows, None], axis=1)
        columns = [np.sort(logits, axis=1), own]
        if evidence.inputs is not None:
            columns.append(evidence.inputs[rows])
        hashes.append(row_hashes(np.concatenate(columns, axis=1)))
    return np.concatenate(hashes)


def _class_order(target: Signals, order: np.ndarray) -> np.ndarray:
    """The classes by the place of their first record; those without one by their outputs."""
    labels = target.labels[order]
    present, first = np.unique(labels, return_index=True)
    present = present[np.argsort(first)]
    absent = np.setdiff1d(np.arange(target.logits.shape[1]), present)
    by_outputs = sorted(absent.tolist(), key=lambda column: target.logits[order, column].tobytes())
    return np.concatenate([present, np.array(by_outputs, dtype=np.int64)])


def _relabelled(signals: Signals, classes: np.ndarray) -> Signals:
    """The same signals with the classes in another order; those of another width stay."""
    if signals.logits.shape[1] != len(classes):
        return signals
    population = signals.population
    return replace(
        signals,
        logits=signals.logits[:, classes],
        labels=np.argsort(classes)[signals.labels],
        extra={name: _in_order(name, column, classes) for name, column in signals.extra.items()},
        population=None if population is None else _relabelled(population, classes),
    )


def _in_order(name: str, column: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Noise has a number for each class; inputs or checkpoints may only happen to be as many."""
    return column[:, classes] if name == "noise" else column


def _relabelled_bank(bank: Bank, classes: np.ndarray) -> Bank:
    population = bank.population
    return replace(
        bank,
        logits=bank.logits[:, :, classes],
        labels=np.argsort(classes)[bank.labels],
        population=None if population is None else _relabelled_bank(population, classes),
        known_phi=bank.phi,  # φ does not depend on the order of the classes.
    )
