"""RelaxLoss (Chen, Yu and Fritz 2022): stop fitting at a loss of α, and flatten what lies below it.

Each batch's mean loss L is compared with α. In the 1st, 3rd, … epoch the loss is |L − α|, which climbs back when L is
below α. In the others it is L above α, and below α a flattening loss: see `RelaxLoss`. Introduced in notebook 10."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from mialib.defenses.simple import Strength
from mialib.errors import check_choice, check_range
from mialib.training import Training


@dataclass(frozen=True)
class RelaxLoss(Strength):
    """`strength` is α. Below it, `form="official"` climbs on every record, (1 − correct)·soft − L, as its authors' code
    does; `form="crl"` is what CRL's code takes for it: the soft loss alone, and |L − α| in the 2nd, 4th, … epoch.
    `upper` bounds the true class in the soft label, which is a part of the graph: the gradient goes through it."""

    strength: float = 1.0
    upper: float = 1.0
    form: str = "official"

    def __post_init__(self):
        super().__post_init__()
        check_range(0, 1, upper=self.upper)
        check_choice("form", self.form, ("official", "crl"))

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        losses, soft = (
            F.cross_entropy(logits, y, reduction="none"),
            soft_loss(logits, logits, y, upper=self.upper),
        )
        mean = F.cross_entropy(logits, y)
        training.say(below=(mean.detach() < self.strength).float())
        if self.form == "official":
            soft = (logits.argmax(dim=1) != y) * soft - losses
        turns = training.epoch % 2 == (1 if self.form == "official" else 0)
        return relax(mean, soft.mean(), alpha=self.strength, turns=turns)


def relax(loss: Tensor, soft: Tensor, *, alpha: float, turns: bool) -> Tensor:
    """The three scenarios of a batch: |L − α| in epochs that turn; in the others L above α, and the soft loss below."""
    return (loss - alpha).abs() if turns else torch.where(loss > alpha, loss, soft)


def soft_loss(scored: Tensor, logits: Tensor, y: Tensor, *, upper: float = 1.0) -> Tensor:
    """Each record's cross-entropy of `scored` against a soft label: p_y of `logits`, the rest shared alike; (n,)."""
    log_p = scored.log_softmax(dim=1)
    own, share = log_p.gather(1, y[:, None])[:, 0], confidence(logits, y).clamp(max=upper)
    others = (log_p.sum(dim=1) - own) / max(scored.shape[1] - 1, 1)
    return -(share * own + (1 - share) * others)


def confidence(logits: Tensor, y: Tensor) -> Tensor:
    """p_y of each record, (n,)."""
    return logits.softmax(dim=1).gather(1, y[:, None])[:, 0]
