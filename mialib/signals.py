"""What an attacker observes of one model: logits and labels, in one table with the truth about membership.

This module imports torch only inside `collect`, so attacks and metrics can use `Signals` without it.

>>> signals = Signals(np.array([[2.0, 0.0], [0.0, 0.5]]), np.array([0, 0]), np.array([True, False]))
>>> signals.loss().round(3)
array([0.127, 0.974])
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import nn

    from mialib.splits import Side


@dataclass(frozen=True, eq=False)
class Signals:
    """One row a record: `logits` (n, classes), `labels` (n,), `is_member` (n,) bool.

    `record` (n,) is each record's place in its dataset. Attacks read logits and labels; `is_member` of the
    *target* is for the metrics alone, and `public()` is the table without it.
    """

    logits: np.ndarray
    labels: np.ndarray
    is_member: np.ndarray | None = None
    record: np.ndarray | None = None

    def __post_init__(self):
        for name, column in vars(self).items():
            object.__setattr__(self, name, None if column is None else np.asarray(column))
        _check(self)

    def __len__(self) -> int:
        return len(self.labels)

    def loss(self) -> np.ndarray:
        """Cross-entropy of each record, in nats: (n,)."""
        logits = self.logits.astype(np.float64)
        top = logits.max(axis=1)
        log_total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        return log_total - logits[np.arange(len(self)), self.labels]

    def correct(self) -> np.ndarray:
        """Whether the model predicts each record's label: (n,) bool."""
        return self.logits.argmax(axis=1) == self.labels

    def public(self) -> Signals:
        """What the attacker of this model may see: everything but membership."""
        return Signals(self.logits, self.labels, record=self.record)

    def members(self) -> Signals:
        return self._rows(self.truth())

    def non_members(self) -> Signals:
        return self._rows(~self.truth())

    def truth(self) -> np.ndarray:
        """`is_member`, or an error if these are signals without it."""
        if self.is_member is None:
            raise ValueError("These signals do not say who is a member. Use the table from before `public()`.")
        return self.is_member

    def _rows(self, keep: np.ndarray) -> Signals:
        return Signals(*(None if column is None else column[keep] for column in vars(self).values()))

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickle."""
        np.savez(path, **{name: column for name, column in vars(self).items() if column is not None})

    @classmethod
    def read(cls, path: Path) -> Signals:
        with np.load(path, allow_pickle=False) as file:
            return cls(**file)


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

    device = next(model.parameters()).device
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            x, _ = to_device(records, device)
            return torch.cat([model(batch) for batch in x.split(batch_size)]).cpu().numpy()
    finally:
        for module, mode in modes:
            module.training = mode


def _check(signals: Signals) -> None:
    logits, labels, n = signals.logits, signals.labels, signals.labels.size
    if logits.ndim != 2 or labels.shape != (len(logits),) or n == 0:
        raise ValueError(
            f"Signals need logits (n, classes) and n ≥ 1 labels, found shapes {logits.shape} and {labels.shape}."
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"Labels must be integers, found an array of {labels.dtype}.")
    if labels.min() < 0 or labels.max() >= logits.shape[1]:
        raise ValueError(
            f"Labels must lie in 0 … {logits.shape[1] - 1}, one for each column of the logits; found labels from "
            f"{labels.min()} to {labels.max()}."
        )
    if logits.dtype.kind not in "biuf":
        raise ValueError(f"Logits must be real numbers, found an array of {logits.dtype}.")
    bad = ~np.isfinite(logits).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{bad.sum()} of {n} records have NaN or infinite logits (the first is row {bad.argmax()}). The model "
            "diverged: train it again with a lower learning rate, or leave those records out."
        )
    for name in ("is_member", "record"):
        column = getattr(signals, name)
        if column is not None and column.shape != (n,):
            raise ValueError(f"{name} must have one entry for each of the {n} records, found shape {column.shape}.")
    if signals.is_member is not None and signals.is_member.dtype != bool:
        raise ValueError(f"is_member must be True or False, found {signals.is_member.dtype}. Use astype(bool).")
