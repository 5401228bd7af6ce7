"""What an attacker observes of one model: logits and labels, in one table with the truth about membership.

This module imports torch only inside `collect` and `predict`, so attacks and metrics can use `Signals` without it.

>>> signals = Signals(np.array([[2.0, 0.0], [0.0, 0.5]]), np.array([0, 0]), np.array([True, False]))
>>> signals.loss().round(3)
array([0.127, 0.974])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mialib.errors import as_array

if TYPE_CHECKING:
    from torch import nn

    from mialib.splits import Side


@dataclass(frozen=True, eq=False)
class Signals:
    """One row a record: `logits` (n, classes), `labels` (n,), `is_member` (n,) bool.

    `record` (n,) is each record's place in its dataset. `more` has what some attacks also ask for, by name, one
    row a record. `population` is the same model on records that are surely nobody's members. Attacks read all
    of it but `is_member` of the *target*, which is for the metrics alone; `public()` is the table without it.
    """

    logits: np.ndarray
    labels: np.ndarray
    is_member: np.ndarray | None = None
    record: np.ndarray | None = None
    more: dict[str, np.ndarray] = field(default_factory=dict)
    population: Signals | None = None

    def __post_init__(self):
        kinds = {"logits": ("biuf", "Logits"), "labels": ("iu", "Labels"), "is_member": ("b", "is_member")}
        for name, (kind, what) in (kinds | {"record": ("iu", "record")}).items():
            column = getattr(self, name)
            object.__setattr__(self, name, None if column is None else as_array(column, kind=kind, what=what))
        object.__setattr__(self, "more", {name: as_array(column, what=name) for name, column in self.more.items()})
        _check(self)

    def __len__(self) -> int:
        return len(self.labels)

    def loss(self) -> np.ndarray:
        """Cross-entropy of each record, in nats: (n,)."""
        return -self.log_probabilities()[np.arange(len(self)), self.labels]

    def log_probabilities(self) -> np.ndarray:
        """Log-softmax of the logits in float64: (n, classes)."""
        from scipy.special import log_softmax

        return log_softmax(self.logits.astype(np.float64), axis=1)

    def probabilities(self) -> np.ndarray:
        """Softmax of the logits: (n, classes)."""
        return np.exp(self.log_probabilities())

    def confidence(self) -> np.ndarray:
        """LiRA's φ of each record, on the record itself and on its other views if there are any: (queries, n)."""
        own = scaled_confidence(self.logits, self.labels)
        return np.stack([own, *self.more.get("views", np.empty((len(self), 0))).T.astype(np.float64)])

    @property
    def queries(self) -> int:
        """How many views of each record the model was asked about."""
        return 1 + (self.more["views"].shape[1] if "views" in self.more else 0)

    def correct(self) -> np.ndarray:
        """Whether the model predicts each record's label: (n,) bool."""
        return self.logits.argmax(axis=1) == self.labels

    def column(self, name: str) -> np.ndarray:
        """One of `more`, or an error that says how to get it."""
        if name not in self.more:
            there = ", ".join(self.more) or "logits"
            raise ValueError(f"These signals have no {name!r}, only {there}. Use mialib.observe.watch.")
        return self.more[name]

    def public(self) -> Signals:
        """What the attacker of this model may see: everything but membership."""
        return replace(self, is_member=None)

    def members(self) -> Signals:
        return self.take(self.truth())

    def non_members(self) -> Signals:
        return self.take(~self.truth())

    def truth(self) -> np.ndarray:
        """`is_member`, or an error if these are signals without it."""
        if self.is_member is None:
            raise ValueError("These signals do not say who is a member. Use the table from before `public()`.")
        return self.is_member

    def take(self, rows: np.ndarray) -> Signals:
        """Some of the records, by a mask or by their positions."""
        more = {name: column[rows] for name, column in self.more.items()}
        return replace(self, **{name: column[rows] for name, column in self._columns().items()}, more=more)

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickle; the population is left out."""
        np.savez(path, **self._columns(), **{f"more.{name}": column for name, column in self.more.items()})

    @classmethod
    def read(cls, path: Path) -> Signals:
        with np.load(path, allow_pickle=False) as file:
            more = {name.removeprefix("more."): file[name] for name in file if name.startswith("more.")}
            return cls(**{name: file[name] for name in file if not name.startswith("more.")}, more=more)

    def _columns(self) -> dict[str, np.ndarray]:
        names = ("logits", "labels", "is_member", "record")
        return {name: column for name in names if (column := getattr(self, name)) is not None}


def pool(shadows: Signals | Sequence[Signals]) -> Signals:
    """Several shadows' records as one table; one shadow stays as it is."""
    if isinstance(shadows, Signals):
        return shadows
    if not shadows:
        raise ValueError("At least one shadow is needed.")
    if len({shadow.logits.shape[1] for shadow in shadows}) > 1:
        raise ValueError("The shadows have different numbers of classes. Train them all on the target's task.")
    common = sorted(set.intersection(*(set(shadow.more) for shadow in shadows)))
    return Signals(
        np.concatenate([shadow.logits for shadow in shadows]),
        np.concatenate([shadow.labels for shadow in shadows]),
        np.concatenate([shadow.truth() for shadow in shadows]),
        more={name: np.concatenate([shadow.more[name] for shadow in shadows]) for name in common},
    )


def scaled_confidence(logits: ArrayLike, labels: np.ndarray) -> np.ndarray:
    """LiRA's φ = log p_y − log Σ_{i≠y} p_i, from logits so that it stays finite where p_y rounds to 1: (n,).

    >>> scaled_confidence(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(7)
    array([0.8472979])
    """
    from scipy.special import logsumexp

    logits = np.array(logits, np.float64)
    if logits.shape[-1] < 2:
        raise ValueError("A confidence compares the label's class with the others; one class alone has none.")
    rows = np.arange(len(labels))
    own = logits[rows, labels]
    logits[rows, labels] = -np.inf
    return own - logsumexp(logits, axis=-1)


def loss_gap(signals: Signals) -> float:
    """Mean loss of non-members minus mean loss of members (PAST's G, before its absolute value)."""
    return float(signals.non_members().loss().mean() - signals.members().loss().mean())


def collect(model: nn.Module, side: Side) -> Signals:
    """Query `model` on its members (train) and non-members (test), in eval mode, un-augmented."""
    logits = [predict(model, part) for part in (side.train, side.test)]
    return Signals(
        np.concatenate(logits),
        np.concatenate([side.train.y, side.test.y]),
        np.arange(len(side.train) + len(side.test)) < len(side.train),
        np.concatenate([side.train.index, side.test.index]),
    )


def predict(model: nn.Module, records, *, batch_size: int = 500) -> np.ndarray:
    """Logits (n, classes) in eval mode; the model is left in the mode it was in."""
    import torch

    from mialib.training import to_device

    with torch.inference_mode(), eval_mode(model):
        x, _ = to_device(records, next(model.parameters()).device)
        return torch.cat([model(batch) for batch in x.split(batch_size)]).cpu().numpy()


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Evaluate, then give every part of the model back the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _check(signals: Signals) -> None:
    logits, labels, n = signals.logits, signals.labels, signals.labels.size
    if logits.ndim != 2 or labels.shape != (len(logits),) or n == 0:
        found = f"found shapes {logits.shape} and {labels.shape}"
        raise ValueError(f"Signals need logits (n, classes) and n ≥ 1 labels, {found}.")
    if labels.min() < 0 or labels.max() >= logits.shape[1]:
        expected = f"Labels must lie in 0 … {logits.shape[1] - 1}, one for each column of the logits"
        raise ValueError(f"{expected}; found labels from {labels.min()} to {labels.max()}.")
    bad = ~np.isfinite(logits).all(axis=1)
    if bad.any():
        fault = f"{bad.sum()} of {n} records have NaN or infinite logits (the first is row {bad.argmax()})"
        remedy = "train it again with a lower learning rate, or leave those records out"
        raise ValueError(f"{fault}. The model diverged: {remedy}.")
    for name, column in {"is_member": signals.is_member, "record": signals.record, **signals.more}.items():
        if column is not None and (len(column) if column.ndim else 0) != n:
            raise ValueError(f"{name} must have one entry for each of the {n} records, found shape {column.shape}.")
