"""Iterative magnitude pruning: train, set the smallest weights to zero for good, train again, …

    defended = configuration.defended(IMP(prunings=24))     # runs.get trains what is missing of it
    dense, *pruned = imp(configuration, 24)                 # every round (mialib.configurations)

Every round goes on from the epoch of the last one that was best on the validation records, prunes
a share of what remains of all convolution and linear weights together, and trains with a new
optimizer and the schedule from its beginning (Gonon et al. 2023). Introduced in notebook 12.
"""

from dataclasses import dataclass
from typing import ClassVar

from mialib.defenses.settings import plain_settings
from mialib.defenses.stopping import BestCheckpoint, BestEpoch
from mialib.errors import check_flag, check_range
from mialib.sparsity.magnitude import hold, release, smallest_pruned
from mialib.training import Defense, Training

MOST_PRUNINGS = 1000  # At the paper's share of 0.2 a million weights are gone after 62.


@dataclass(frozen=True)
class Pruning(BestCheckpoint):
    """One round: prune a share of what remains, then train."""

    share: float = 0.2  # of the weights that remain
    # True sets the survivors back to the values that they had before the very first step, as the
    # lottery ticket's authors do.
    rewind: bool = False
    best: bool = True  # end with the best epoch on validation records; False, with the last
    strength_field: ClassVar[str] = "share"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, 1, share=self.share)
        check_flag(rewind=self.rewind, best=self.best)
        if self.share == 1:
            raise ValueError(
                "A share of 1 prunes everything; the most that leaves a network is below 1."
            )

    def trainings(self) -> tuple[Defense | None, ...]:
        return (None, self)

    def prepare(self, training: Training[BestEpoch]) -> BestEpoch:
        best_epoch = super().prepare(training) if self.best else BestEpoch()
        masks = smallest_pruned(training.model, self.share)
        if self.rewind:
            self._rewind(training)
        hold(training.model, masks)
        training.cleanup.callback(release, training.model)
        return best_epoch

    def end_epoch(self, training: Training[BestEpoch]) -> bool:
        return self.best and super().end_epoch(training)

    def _rewind(self, training: Training) -> None:
        if training.build_initial_model is None:
            raise ValueError(
                "Rewinding needs the first weights: pass fit(..., build_initial_model=build)."
            )
        training.model.load_state_dict(training.build_initial_model().state_dict())


@dataclass(frozen=True)
class IMP(Defense[None]):
    """Iterative magnitude pruning as a whole: a dense training, then rounds of `Pruning`.

    It is several trainings, so it is written `configuration.defended(IMP(…))` and cannot be handed
    to `fit`. With `best` the dense training ends with its best epoch too.
    """

    prunings: int = 10  # the number of rounds
    share: float = 0.2  # of the weights that remain, pruned in each round
    rewind: bool = False  # as in `Pruning`
    best: bool = True  # as in `Pruning`
    strength_field: ClassVar[str] = "prunings"

    def __post_init__(self):
        plain_settings(self)
        self.round()  # It refuses a share that cannot be.
        check_range(0, float("inf"), whole=True, prunings=self.prunings)
        if self.prunings > MOST_PRUNINGS:
            raise ValueError(
                f"prunings may be at most {MOST_PRUNINGS}, found {self.prunings}. "
                "Prune a larger share in each round."
            )

    def round(self) -> Pruning:
        """One round of pruning."""
        return Pruning(share=self.share, rewind=self.rewind, best=self.best)

    def trainings(self) -> tuple[Defense | None, ...]:
        dense = BestCheckpoint() if self.best else None
        return (dense, *[self.round()] * self.prunings)

    def prepare(self, training: Training) -> None:
        raise ValueError(
            f"{self} is made of {1 + self.prunings} trainings, and `fit` does one. "
            "Take runs.get(configuration.defended(IMP(…)))."
        )
