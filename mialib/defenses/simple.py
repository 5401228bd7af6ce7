"""Simple defenses: a few lines each on the hooks of `Plain`."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from mialib.errors import between
from mialib.training import Plain, Training


@dataclass(frozen=True)
class LabelSmoothing(Plain):
    """The true class gets 1 − ε, the others share ε equally. Introduced in notebook 02."""

    strength: float = 0.1

    def __post_init__(self):
        between(0, 0.999, strength=self.strength)

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        classes = logits.shape[1]  # torch gives the true class a part of ε too: its ε is ours times C / (C − 1).
        return F.cross_entropy(logits, y, label_smoothing=self.strength * classes / max(classes - 1, 1))
