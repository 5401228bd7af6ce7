"""Mixup and MMD (Li, Li and Ribeiro 2021): train on mixtures, and pull members' outputs to those of non-members.

Every epoch trains on mixtures of two records. Between epochs, while accuracy on members and on the inference set
differ, a second pass lowers λ·MMD² between outputs of both, class by class. Introduced in notebook 11."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from mialib.defenses.simple import Strength
from mialib.errors import check_range
from mialib.signals import eval_mode
from mialib.training import Training


@dataclass(frozen=True)
class MixupMMD(Strength):
    """`strength` is λ; 0 leaves mixup, whose weights are Beta(`mixup`, `mixup`), and with `mixup` 0 plain training. As
    in the authors' code, the second pass is skipped while the two accuracies (here of some thousand records each) are
    less than `gap` apart, works in eval mode, and moves only the members: the others' outputs are constants."""

    strength: float = 3.0
    mixup: float = 1.0
    gap: float = 0.03

    def __post_init__(self):
        super().__post_init__()
        check_range(0, torch.inf, mixup=self.mixup)
        check_range(0, 1, gap=self.gap)

    def prepare(self, training: Training) -> None:
        if self.strength:
            training.reference_batch()  # Refuse to begin without non-members.
            training.matching = Matching(training.members[1], training.reference[1])

    def start_epoch(self, training: Training) -> None:
        """After every epoch but the last, which is before every epoch but the first."""
        if training.epoch == 1 or not self.strength:
            return
        sides = [
            [part[:: len(part) // 1000 or 1] for part in pair]
            for pair in (training.members, training.reference)
        ]
        ours, theirs = (
            float((training.look(x).argmax(dim=1) == y).float().mean()) for x, y in sides
        )
        if abs(ours - theirs) < self.gap:
            return
        with eval_mode(training.model):
            for x, y in training.batches(training.members):
                others = training.reference[0][training.matching.draw(y, training.generator)]
                with torch.no_grad():
                    theirs = training.model(others).softmax(dim=1)
                distance = mmd2(training.model(x).softmax(dim=1), theirs)
                training.say(mmd2=distance.detach())
                training.optimizer.zero_grad()
                (self.strength * distance).backward()
                training.optimizer.step()

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        if not self.mixup:
            return super().loss(training, x, y)
        weight = float(torch.distributions.Beta(self.mixup, self.mixup).sample())
        partner = torch.randperm(len(y), generator=training.generator).to(y.device)
        logits = training.model(weight * x + (1 - weight) * x[partner])
        return weight * F.cross_entropy(logits, y) + (1 - weight) * F.cross_entropy(
            logits, y[partner]
        )


def mmd2(x: Tensor, y: Tensor) -> Tensor:
    """The biased MMD² of two samples (n, d) and (m, d) with the kernel exp(−‖a − b‖² / 2).

    >>> mmd2(torch.tensor([[0.9, 0.1], [0.8, 0.2]]), torch.tensor([[0.6, 0.4], [0.5, 0.5]])).item()
    0.1696...
    """
    kernel = (
        -((both := torch.cat([x, y]))[:, None] - both[None]).square().sum(dim=2) / 2
    ).exp()  # (n + m, n + m)
    n = len(x)
    return kernel[:n, :n].mean() + kernel[n:, n:].mean() - 2 * kernel[:n, n:].mean()


class Matching:
    """For every class, where its records stand: a table from which partners are drawn for a whole batch at once."""

    def __init__(self, needed: Tensor, labels: Tensor):
        self.order = labels.argsort(stable=True)
        size = int(max(needed.max(), labels.max())) + 1
        self.count = torch.bincount(labels, minlength=size)
        self.start = self.count.cumsum(0) - self.count
        if missing := sorted(set(needed.tolist()) - set(labels.tolist())):
            found = f"the inference set has no record of class {', '.join(map(str, missing))}"
            raise ValueError(
                f"MMD compares records of the same class, but {found}. Take a larger inference set."
            )

    def draw(self, y: Tensor, generator: torch.Generator) -> Tensor:
        """A place in `labels` for each of `y`, of the same class, with replacement."""
        share = torch.rand(len(y), generator=generator).to(y.device)
        return self.order[
            self.start[y] + (share * self.count[y]).long().clamp(max=self.count[y] - 1)
        ]
