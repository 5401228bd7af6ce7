"""Which epoch a training ends with: the best on validation records, or one that is given. Introduced in notebook 06."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from mialib.errors import check_range
from mialib.training import Plain, Training


@dataclass(frozen=True)
class BestCheckpoint(Plain):
    """End with the weights of the epoch with the highest accuracy on the validation records."""

    patience: ClassVar[float] = inf

    def prepare(self, training: Training) -> None:
        if training.validation is None:
            advice = "Set some aside with Configuration(validation=0.1), or pass fit(..., validation=records)"
            raise ValueError(
                f"{type(self).__name__} needs validation records, found none. {advice}."
            )
        training.highest, training.best = -inf, {}

    def value(self, logits: Tensor, y: Tensor) -> float:
        """What the best epoch has most of."""
        return (logits.argmax(dim=1) == y).float().mean().item()

    def end_epoch(self, training: Training) -> bool:
        x, y = training.validation
        if (value := self.value(training.look(x), y)) > training.highest or not training.best:
            best = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
            training.highest, training.best, training.found = value, best, training.epoch
        done = training.epoch in (training.found + self.patience, training.recipe.epochs)
        if done:
            training.model.load_state_dict(training.best)
            training.say(weights_of_epoch=training.found)
        return done


@dataclass(frozen=True)
class EarlyStopping(BestCheckpoint):
    """Stop when the validation loss has not fallen for `patience` epochs; keep the weights of its lowest."""

    patience: int = 3

    def __post_init__(self):
        check_range(1, inf, whole=True, patience=self.patience)

    def value(self, logits: Tensor, y: Tensor) -> float:
        return -F.cross_entropy(logits, y).item()


@dataclass(frozen=True)
class Stop(Plain):
    """Stop after this epoch, with the schedule still on its way: a dense network to compare a sparse one with."""

    after: int = 10

    def __post_init__(self):
        check_range(1, inf, whole=True, after=self.after)

    def end_epoch(self, training: Training) -> bool:
        return training.epoch >= self.after
