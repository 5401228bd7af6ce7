"""What an attacker observes of one model: logits and labels, in one table with the truth about membership.

This module imports torch only inside `collect` and `predict`, so attacks and metrics can use `Signals` without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.errors import as_array, refuse

if TYPE_CHECKING:
    from torch import nn

    from mialib.splits import Side


@dataclass(frozen=True, eq=False)
class Signals:
    """One row a record: `logits` (n, classes), `labels` (n,), `is_member` (n,) bool. `record` (n,) is each record's
    place in its dataset. `more` has what some attacks also ask for, by name, one row a record. `population` is the same
    model on records that are surely nobody's members. Attacks read all of it but `is_member` of the *target*, which is
    for the metrics alone; `public()` is the table without it."""

    logits: np.ndarray
    labels: np.ndarray
    is_member: np.ndarray | None = None
    record: np.ndarray | None = None
    more: dict[str, np.ndarray] = field(default_factory=dict)
    population: Signals | None = None

    def __post_init__(self):
        for name, kind in {
            "logits": "biuf",
            "labels": "iu",
            "is_member": "b",
            "record": "iu",
        }.items():
            if (column := getattr(self, name)) is not None:
                object.__setattr__(self, name, as_array(column, kind=kind, what=name))
        object.__setattr__(
            self, "more", {name: as_array(column, what=name) for name, column in self.more.items()}
        )
        logits, labels, n = self.logits, self.labels, self.labels.size
        fit, found = (
            logits.ndim == 2 and labels.shape == logits.shape[:1] and n,
            f"{logits.shape} and {labels.shape}",
        )
        refuse(not fit, f"Signals need logits (n, classes) and n ≥ 1 labels, found shapes {found}.")
        first, last, classes = labels.min(), labels.max(), logits.shape[1]
        expected = f"Labels must lie in 0 … {classes - 1}, one for each column of the logits"
        refuse(first < 0 or last >= classes, f"{expected}; found labels from {first} to {last}.")
        bad = ~np.isfinite(logits).all(axis=1)
        fault = f"{bad.sum()} of {n} records have NaN or infinite logits (the first is row {bad.argmax()})"
        refuse(
            bad.any(),
            f"{fault}: the model diverged. Train it with a lower rate, or leave those records out.",
        )
        for name, column in (
            {"is_member": self.is_member, "record": self.record} | self.more
        ).items():
            found = f"one entry for each of the {n} records, found shape {np.shape(column)}"
            refuse(column is not None and column.shape[:1] != (n,), f"{name} must have {found}.")

    def __len__(self) -> int:
        return len(self.labels)

    def loss(self) -> np.ndarray:
        """Cross-entropy of each record, in nats: (n,)."""
        return -self.log_probabilities()[np.arange(len(self)), self.labels]

    def log_probabilities(self) -> np.ndarray:
        """Log-softmax of the logits in float64: (n, classes)."""
        return scipy.special.log_softmax(self.logits.astype(np.float64), axis=1)

    def probabilities(self) -> np.ndarray:
        """Softmax of the logits: (n, classes)."""
        return np.exp(self.log_probabilities())

    def confidence(self) -> np.ndarray:
        """LiRA's φ of each record, on the record itself and on its other views if there are any: (queries, n)."""
        own = scaled_confidence(self.logits, self.labels)
        return np.stack(
            [own, *self.more.get("views", np.empty((len(self), 0))).T.astype(np.float64)]
        )

    def correct(self) -> np.ndarray:
        """Whether the model predicts each record's label: (n,) bool."""
        return self.logits.argmax(axis=1) == self.labels

    def column(self, name: str) -> np.ndarray:
        """One of `more`, or an error that says how to get it."""
        there = ", ".join(self.more) or "logits"
        refuse(
            name not in self.more,
            f"These signals have no {name!r}, only {there}. Use mialib.observe.watch.",
        )
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
        refuse(
            self.is_member is None,
            "These signals do not say who is a member. Use the table before `public()`.",
        )
        return self.is_member

    def take(self, rows: np.ndarray) -> Signals:
        """Some of the records, by a mask or by their positions."""
        more = {name: column[rows] for name, column in self.more.items()}
        return replace(
            self, **{name: column[rows] for name, column in self._columns().items()}, more=more
        )

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickle; the population is left out."""
        np.savez(
            path,
            **self._columns(),
            **{f"more.{name}": column for name, column in self.more.items()},
        )

    @classmethod
    def read(cls, path: Path) -> Signals:
        with np.load(path, allow_pickle=False) as file:
            more = {
                name.removeprefix("more."): file[name] for name in file if name.startswith("more.")
            }
            return cls(
                **{name: file[name] for name in file if not name.startswith("more.")}, more=more
            )

    def _columns(self) -> dict[str, np.ndarray]:
        names = ("logits", "labels", "is_member", "record")
        return {name: column for name in names if (column := getattr(self, name)) is not None}


Shadows = Signals | Sequence[Signals]  # one shadow, or several


def pool(shadows: Shadows) -> Signals:
    """Several shadows' records as one table; one shadow stays as it is."""
    if isinstance(shadows, Signals):
        return shadows
    refuse(not shadows, "At least one shadow is needed.")
    differ = len({shadow.logits.shape[1] for shadow in shadows}) > 1
    refuse(
        differ,
        "The shadows have different numbers of classes. Train them all on the target's task.",
    )
    columns = zip(
        *((shadow.logits, shadow.labels, shadow.truth()) for shadow in shadows), strict=True
    )
    common = sorted(set.intersection(*(set(shadow.more) for shadow in shadows)))
    more = {name: np.concatenate([shadow.more[name] for shadow in shadows]) for name in common}
    return Signals(*map(np.concatenate, columns), more=more)


def scaled_confidence(logits: ArrayLike, labels: np.ndarray) -> np.ndarray:
    """LiRA's φ = log p_y − log Σ_{i≠y} p_i, from logits so that it stays finite where p_y rounds to 1: (n,)."""
    logits, rows = np.array(logits, np.float64), np.arange(len(labels))
    refuse(
        logits.shape[-1] < 2,
        "A confidence compares the label's class with the others; one class alone has none.",
    )
    own = logits[rows, labels]
    logits[rows, labels] = -np.inf
    return own - scipy.special.logsumexp(logits, axis=-1)


def loss_gap(signals: Signals) -> float:
    """Mean loss of non-members minus mean loss of members (PAST's G, before its absolute value)."""
    return float(signals.non_members().loss().mean() - signals.members().loss().mean())


def collect(model: nn.Module, side: Side) -> Signals:
    """Query `model` on its members (train) and non-members (test), in eval mode, un-augmented."""
    parts = {True: side.train, False: side.test}
    found = [
        (predict(model, part), part.y, np.full(len(part), held), part.index)
        for held, part in parts.items()
    ]
    return Signals(*map(np.concatenate, zip(*found, strict=True)))


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
