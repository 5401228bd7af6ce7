"""A network with two features, trained by CRL on a few digits: small enough to be drawn.

    batch = gathered(data.load("digits", size=300), seed=0)
    batch.places, batch.centers         # normalised, so both lie in a circle of radius 1

Lesson 10 and `mialib reproduce` draw from it where CRL's scenarios pull (Fig. 2 of the paper).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mialib import models, progress
from mialib.data import Records
from mialib.defenses import CRL
from mialib.defenses.crl import CRLState, normalized
from mialib.query import to_device
from mialib.training import Recipe, Training, fit

CLASSES = (5, 7, 9)  # that are drawn
RECORDS = 45  # of these, at most
RECIPE = Recipe(epochs=12, batch_size=64, lr=0.05)


class Gathered(NamedTuple):
    """A batch of a trained network: normalised features (n, 2), logits, labels and centers."""

    places: Tensor
    logits: Tensor
    labels: Tensor
    centers: Tensor

    def label_probability(self) -> Tensor:
        """p_y of each record: (n,)."""
        return self.logits.softmax(dim=1)[torch.arange(len(self.labels)), self.labels]


class WatchedCRL(CRL):
    """CRL that hands out its centers, which are thrown away after training."""

    handed_out: ClassVar[list[Tensor]] = []

    def prepare(self, training: Training[CRLState]) -> CRLState:
        state = super().prepare(training)
        self.handed_out.append(state.centers)
        return state


GATHERING = WatchedCRL(alpha_rce=0.5, alpha_rcl=0.3, lam=1.0)


def gathered(digits: Records, *, seed: int = 0) -> Gathered:
    """Three classes after twelve epochs of CRL."""
    torch.manual_seed(seed)
    wide = [nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU()]
    more = [nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 2)]
    model = models.Network(nn.Sequential(nn.Flatten(), *wide, *more), nn.Linear(2, 10))
    with progress.silent():
        fit(model, digits, RECIPE, defense=GATHERING, seed=seed, device="cpu")
    chosen = digits.take(np.flatnonzero(np.isin(digits.y, CLASSES))[:RECORDS])
    x, y = to_device(chosen, torch.device("cpu"))
    with torch.no_grad():
        features = model.eval().features(x)
        centers = normalized(GATHERING.handed_out.pop(), 1.0)
        return Gathered(normalized(features, 1.0), model.classify(features), y, centers)
