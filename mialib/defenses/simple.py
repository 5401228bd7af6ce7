"""Simple defenses: a few lines each on the hooks of `Defense`. Introduced in notebook 06.

    LabelSmoothing(epsilon=0.1).batch_loss(logits, y)       # the loss of one batch
    fit(model, members, recipe, defense=L1(lam=1e-4))       # a whole training

Each has one number, from 0, which is no defense, to `highest`.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.settings import Parts, check_batch, check_tensors, plain_settings
from mialib.errors import check_range
from mialib.training import Defense, Training


@dataclass(frozen=True)
class OneNumberDefense(Defense[None]):
    """A defense with one number, from 0 (which is no defense) to `highest`."""

    highest: ClassVar[float] = inf

    def __post_init__(self):
        plain_settings(self)
        setting: dict[str, Any] = {self.strength_field: self.strength}
        check_range(0, self.highest, **setting)


@dataclass(frozen=True)
class L1(OneNumberDefense):
    """Uniform ℓ1: every parameter w adds λ·|w| to the loss. PAST refines it."""

    lam: float = 1e-4  # λ, the weight of the penalty
    strength_field: ClassVar[str] = "lam"

    def after_backward(self, training: Training) -> None:
        for parameter in training.model.parameters():
            if parameter.grad is not None:
                parameter.grad.add_(parameter.detach().sign(), alpha=self.lam)


@dataclass(frozen=True)
class L2(OneNumberDefense):
    """ℓ2: every parameter w adds λ/2·w² to the loss: weight decay on top of the recipe's."""

    lam: float = 1e-3  # λ, the weight of the penalty
    strength_field: ClassVar[str] = "lam"

    def prepare(self, training: Training) -> None:
        for group in training.optimizer.param_groups:
            group["weight_decay"] += self.lam


@dataclass(frozen=True)
class Dropout(OneNumberDefense):
    """Before the last linear layer, a share of the features is set to 0 in every step."""

    p: float = 0.5  # the share that is set to 0
    strength_field: ClassVar[str] = "p"
    highest: ClassVar[float] = 0.999

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        return self.batch_loss(training.model, x, y)

    def batch_loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy without the features that the global generator draws."""
        parts = Parts(model)
        check_tensors(x=x)
        if x.ndim < 2:
            raise ValueError(f"x must be a batch of records, found shape {tuple(x.shape)}.")
        features = F.dropout(parts.features(x), self.p)
        logits = parts.classify(features)
        check_batch(logits, y)
        return F.cross_entropy(logits, y)


@dataclass(frozen=True)
class LabelSmoothing(OneNumberDefense):
    """The true class gets 1 − ε, and the others share ε equally. Introduced in notebook 02."""

    epsilon: float = 0.1  # ε, what the other classes get together
    strength_field: ClassVar[str] = "epsilon"
    highest: ClassVar[float] = 0.999

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        return self.batch_loss(training.model(x), y)

    def batch_loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy of logits (n, C) with the smoothed labels, mean over the records.

        torch gives the true class a part of its ε too, so its ε is this one times C / (C − 1).
        """
        check_batch(logits, y)
        classes = logits.shape[1]
        all_alike = 1 - 1 / classes  # With this ε all classes are wanted alike.
        check_range(0, all_alike, epsilon=self.epsilon)
        torchs_epsilon = self.epsilon * classes / max(classes - 1, 1)
        return F.cross_entropy(logits, y, label_smoothing=torchs_epsilon)


@dataclass(frozen=True)
class ConfidencePenalty(OneNumberDefense):
    """Cross-entropy minus β times the entropy of the prediction: certainty costs."""

    beta: float = 0.1  # β, the weight of the entropy
    strength_field: ClassVar[str] = "beta"

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        return self.batch_loss(training.model(x), y)

    def batch_loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """L − β·H, mean over the records."""
        check_batch(logits, y)
        log_p = logits.log_softmax(dim=1)
        return F.nll_loss(log_p, y) - self.beta * entropy(log_p).mean()


@dataclass(frozen=True)
class LossGap(OneNumberDefense):
    """PAST's Appendix B: (1 − a)·L_member + a·|L_member − L_non-member|.

    It trains on its non-members too.
    """

    a: float = 0.5  # the weight of the gap, from 0 to 1
    strength_field: ClassVar[str] = "a"
    highest: ClassVar[float] = 1

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        member_loss = super().loss(training, x, y)
        if self.a == 0:
            return member_loss
        other_x, other_y = training.inference_batch()
        other_loss = super().loss(training, other_x, other_y)
        return self.batch_loss(member_loss, other_loss)

    def batch_loss(self, member_loss: Tensor, other_loss: Tensor) -> Tensor:
        """The mean losses of a batch of members and of one of non-members, joined."""
        check_tensors(member_loss=member_loss, other_loss=other_loss)
        gap = (member_loss - other_loss).abs()
        return (1 - self.a) * member_loss + self.a * gap


def entropy(log_p: Tensor) -> Tensor:
    """H = −Σ p·log p of each record, in nats, from log-probabilities (n, C): (n,)."""
    return -(log_p.exp() * log_p).sum(dim=1)
