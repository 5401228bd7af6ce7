"""RelaxLoss (Chen, Yu and Fritz 2022): stop fitting at a loss of α, and flatten what lies below it.

    RelaxLoss(alpha=1.0).batch_loss(logits, y, epoch=1)     # the loss of one batch

Each batch's mean loss L is compared with α. In the 1st, 3rd, … epoch the loss is |L − α|, which
climbs back when L is below α. In the others it is L above α, and below α a flattening loss: see
`RelaxLoss`. Introduced in notebook 10.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from mialib.defenses.settings import check_batch, plain_settings
from mialib.errors import check_choice, check_range
from mialib.training import Defense, Training


@dataclass(frozen=True)
class RelaxLoss(Defense[None]):
    """Cross-entropy that is relaxed below α.

    Below α, the "official" form climbs on every record, (1 − correct)·soft − L, as its authors'
    code does. The form "crl" is what CRL's code takes for it: the soft loss alone, and |L − α| in
    the 2nd, 4th, … epoch. The soft label is a part of the graph: the gradient goes through it.
    """

    alpha: float = 1.0  # α, the loss that is low enough
    upper: float = 1.0  # the most that the true class gets in the soft label
    form: str = "official"  # or "crl"
    strength_field: ClassVar[str] = "alpha"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, inf, alpha=self.alpha)
        check_range(0, 1, upper=self.upper)
        check_choice("form", self.form, ("official", "crl"))

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        mean = F.cross_entropy(logits.detach(), y)
        training.log(below=(mean < self.alpha).float())
        return self.batch_loss(logits, y, epoch=training.epoch)

    def batch_loss(self, logits: Tensor, y: Tensor, *, epoch: int) -> Tensor:
        """The loss of one batch; epochs count from 1."""
        check_batch(logits, y)
        check_range(1, inf, whole=True, epoch=epoch)
        each = F.cross_entropy(logits, y, reduction="none")
        soft = soft_loss(logits, logits, y, upper=self.upper)
        mean = F.cross_entropy(logits, y)
        if self.form == "official":
            wrong = logits.argmax(dim=1) != y
            soft = wrong * soft - each
            turns = epoch % 2 == 1
        else:
            turns = epoch % 2 == 0
        return relax(mean, soft.mean(), alpha=self.alpha, turns=turns)


def relax(loss: Tensor, soft: Tensor, *, alpha: float, turns: bool) -> Tensor:
    """The three scenarios of a batch (CRL, Eq. 9).

    In epochs that turn it is |L − α|; in the others L above α, and the soft loss below.
    """
    if turns:
        return (loss - alpha).abs()
    return torch.where(loss > alpha, loss, soft)


def soft_loss(scored: Tensor, logits: Tensor, y: Tensor, *, upper: float = 1.0) -> Tensor:
    """Each record's cross-entropy of `scored` against its soft label: (n,).

    The soft label (CRL, Eq. 7) has p_y of `logits` for the true class, at most `upper`; the other
    classes share the rest alike.
    """
    log_p = scored.log_softmax(dim=1)
    own = log_p.gather(1, y[:, None])[:, 0]
    p = label_probability(logits, y).clamp(max=upper)
    other_classes = max(scored.shape[1] - 1, 1)
    mean_of_others = (log_p.sum(dim=1) - own) / other_classes
    return -(p * own + (1 - p) * mean_of_others)


def label_probability(logits: Tensor, y: Tensor) -> Tensor:
    """p_y of each record, (n,)."""
    return logits.softmax(dim=1).gather(1, y[:, None])[:, 0]
