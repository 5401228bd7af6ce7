"""Iterative magnitude pruning: train, set the smallest weights to zero for good, train again, and so on.

    dense, *pruned = imp(configuration, 24)         # runs.get(pruned[-1]) trains what is missing of them

Every round goes on from the epoch of the last one that was best on the validation records, prunes a share of what
remains of all convolution and linear weights together, and trains with a new optimizer and the schedule from its
beginning (Gonon et al. 2023). Introduced in notebook 12."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from mialib.defenses.stopping import BestCheckpoint
from mialib.errors import check_range, refuse
from mialib.sparsity.magnitude import hold, release, smallest_pruned
from mialib.training import Plain, Training

if TYPE_CHECKING:
    from mialib.configurations import Configuration


@dataclass(frozen=True)
class Pruning(BestCheckpoint):
    """One round: prune `share` of what remains, then train. `rewind` sets the survivors back to the values they had
    before the very first step, as the lottery ticket's authors do. `best` ends with the best epoch on validation
    records, False with the last."""

    share: float = 0.2
    rewind: bool = False
    best: bool = True

    def __post_init__(self):
        check_range(0, 1, share=self.share)
        refuse(
            self.share == 1,
            "A share of 1 prunes everything; the most that leaves a network is below 1.",
        )

    def prepare(self, training: Training) -> None:
        if self.best:
            super().prepare(training)
        kept = smallest_pruned(training.model, self.share)
        if self.rewind:
            refuse(
                training.fresh is None,
                "Rewinding needs the first weights: pass fit(..., fresh=build).",
            )
            training.model.load_state_dict(training.fresh().state_dict())
        hold(training.model, kept)
        training.afterwards.callback(release, training.model)

    def end_epoch(self, training: Training) -> bool:
        return self.best and super().end_epoch(training)


def imp(dense: Configuration, prunings: int, **options) -> list[Configuration]:
    """The dense training, and what follows each of so many prunings; `options` are those of `Pruning`."""
    check_range(0, inf, whole=True, prunings=prunings)
    pruning, given = Pruning(**options), dense.defense
    taken = pruning.best and given not in (Plain(), BestCheckpoint())
    refuse(
        taken,
        f"The best epoch would take the place of {given}. Use best=False, or go on by then(Pruning(), …).",
    )
    found = [dense.but(defense=BestCheckpoint()) if pruning.best else dense]
    for _ in range(prunings):
        found.append(found[-1].then(pruning, dense.recipe, trace=dense.trace))
    return found
