"""Which epoch a training ends with: the best on validation records, or one that is given.

Introduced in notebook 06.
"""

from dataclasses import dataclass, field
from math import inf

from torch import Tensor
from torch.nn import functional as F

from mialib.defenses.settings import plain_settings
from mialib.errors import check_range
from mialib.training import Defense, Training


@dataclass
class BestEpoch:
    """The best epoch so far, what it has most of, and its weights."""

    epoch: int = 0
    value: float = -inf
    weights: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class BestCheckpoint(Defense[BestEpoch]):
    """End with the weights of the epoch with the highest accuracy on the validation records."""

    def prepare(self, training: Training[BestEpoch]) -> BestEpoch:
        if training.validation is None:
            raise ValueError(
                f"{type(self).__name__} needs validation records, found none. Set some aside with "
                "Configuration(validation=0.1), or pass fit(..., validation=records)."
            )
        return BestEpoch()

    def value(self, logits: Tensor, y: Tensor) -> float:
        """What the best epoch has most of."""
        return (logits.argmax(dim=1) == y).float().mean().item()

    def longest_wait(self) -> float:
        """How many epochs may pass without a better one before the training ends."""
        return inf

    def end_epoch(self, training: Training[BestEpoch]) -> bool:
        self._note(training)
        best = training.state
        waited_enough = training.epoch == best.epoch + self.longest_wait()
        done = waited_enough or training.epoch == training.recipe.epochs
        if done:
            training.model.load_state_dict(best.weights)
            training.log(weights_of_epoch=best.epoch)
        return done

    def _note(self, training: Training[BestEpoch]) -> None:
        """Keep the weights of this epoch if it is the first, or better than all before."""
        assert training.validation is not None  # `prepare` has seen to it.
        x, y = training.validation
        value = self.value(training.eval_logits(x), y)
        best = training.state
        if value > best.value or not best.weights:
            best.epoch = training.epoch
            best.value = value
            best.weights = {
                name: tensor.clone() for name, tensor in training.model.state_dict().items()
            }


@dataclass(frozen=True)
class EarlyStopping(BestCheckpoint):
    """Stop when the validation loss no longer falls; keep the weights of its lowest."""

    patience: int = 3  # how many epochs it may not have fallen

    def __post_init__(self):
        plain_settings(self)
        check_range(1, inf, whole=True, patience=self.patience)

    def value(self, logits: Tensor, y: Tensor) -> float:
        return -F.cross_entropy(logits, y).item()

    def longest_wait(self) -> float:
        return self.patience


@dataclass(frozen=True)
class Stop(Defense[None]):
    """Stop with the schedule still on its way: a dense network to compare a sparse one with."""

    after: int = 10  # the number of the last epoch

    def __post_init__(self):
        plain_settings(self)
        check_range(1, inf, whole=True, after=self.after)

    def end_epoch(self, training: Training) -> bool:
        return training.epoch >= self.after
