"""Simple defenses: a few lines each on the hooks of `Plain`. Introduced in notebook 06."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from mialib.errors import check_range
from mialib.training import Plain, Training


@dataclass(frozen=True)
class Strength(Plain):
    """A defense with one number, from 0 (which is no defense) to `most`."""

    strength: float = 0.0
    most: ClassVar[float] = inf

    def __post_init__(self):
        check_range(0, self.most, strength=self.strength)


@dataclass(frozen=True)
class L1(Strength):
    """Uniform ℓ1: every parameter w adds λ·|w| to the loss; PAST refines it."""

    strength: float = 1e-4

    def after_backward(self, training: Training) -> None:
        for parameter in training.model.parameters():
            if parameter.grad is not None:
                parameter.grad.add_(parameter.detach().sign(), alpha=self.strength)


@dataclass(frozen=True)
class L2(Strength):
    """ℓ2: every parameter adds λ/2·w² to the loss, which is more weight decay, on top of the recipe's."""

    strength: float = 1e-3

    def prepare(self, training: Training) -> None:
        for group in training.optimizer.param_groups:
            group["weight_decay"] += self.strength


@dataclass(frozen=True)
class Dropout(Strength):
    """Before the last linear layer, a share of the features is set to 0 in every step."""

    strength: float = 0.5
    most: ClassVar[float] = 0.999

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        features = F.dropout(training.model.features(x), self.strength)
        return F.cross_entropy(training.model.classify(features), y)


@dataclass(frozen=True)
class LabelSmoothing(Strength):
    """The true class gets 1 − ε, the others share ε equally. Introduced in notebook 02."""

    strength: float = 0.1
    most: ClassVar[float] = 0.999

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        classes = logits.shape[
            1
        ]  # torch gives the true class a part of ε too: its ε is ours times C / (C − 1).
        check_range(
            0, 1 - 1 / classes, strength=self.strength
        )  # There all classes are wanted alike.
        return F.cross_entropy(
            logits, y, label_smoothing=self.strength * classes / max(classes - 1, 1)
        )


@dataclass(frozen=True)
class ConfidencePenalty(Strength):
    """Cross-entropy minus β times the entropy of the prediction: certainty costs."""

    strength: float = 0.1

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        log_p = logits.log_softmax(dim=1)
        return F.nll_loss(log_p, y) + self.strength * (log_p.exp() * log_p).sum(dim=1).mean()


@dataclass(frozen=True)
class LossGap(Strength):
    """PAST's Appendix B: (1 − a)·L_member + a·|L_member − L_non-member|, which trains on its non-members too."""

    strength: float = 0.5
    most: ClassVar[float] = 1

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        ours = super().loss(training, x, y)
        if not self.strength:
            return ours
        theirs = super().loss(training, *training.reference_batch())
        return (1 - self.strength) * ours + self.strength * (ours - theirs).abs()
