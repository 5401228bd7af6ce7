"""Training as usual, and the hooks that a defense may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from mialib.training import Training


@dataclass(frozen=True)
class Plain:
    """Cross-entropy and nothing else. Introduced in notebook 01."""

    def prepare(self, training: Training) -> None:
        """Before the first step: add to `training`, wrap its model, or replace its optimizer."""

    def start_epoch(self, training: Training) -> None:
        """Before each epoch; `training.epoch` counts from 1."""

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        """The loss of one batch of members. Most defenses live here."""
        return F.cross_entropy(training.model(x), y)

    def after_backward(self, training: Training) -> None:
        """Between backward and step: penalties on the weights go into their gradients."""
