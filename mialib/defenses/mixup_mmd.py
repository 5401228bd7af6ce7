"""Mixup and MMD (Li, Li and Ribeiro 2021): train on mixtures, and pull members to non-members.

    mixup_loss(model, x, y, share=0.3, partner=order)   # the loss of one batch of mixtures
    mmd2(member_outputs, other_outputs)                 # how far two clouds of outputs are apart

Every epoch trains on mixtures of two records. Between epochs, while accuracy on members and on the
inference set differ, a second pass lowers λ·MMD² between outputs of both, class by class.
Introduced in notebook 11.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.settings import plain_settings
from mialib.errors import check_range
from mialib.query import Pair, eval_mode
from mialib.training import Defense, Training

COMPARED = 1000  # Accuracies are compared on about so many records of each side.


class Matching:
    """For every class, where its records stand.

    It is a table from which partners are drawn for a whole batch at once.
    """

    def __init__(self, needed: Tensor, labels: Tensor):
        missing = sorted(set(needed.tolist()) - set(labels.tolist()))
        if missing:
            raise ValueError(
                "MMD compares records of the same class, but the inference set has no record of "
                f"class {', '.join(map(str, missing))}. Take a larger inference set."
            )
        classes = int(max(needed.max(), labels.max())) + 1
        self.order = labels.argsort(stable=True)  # the places of class 0, then those of class 1, …
        self.count = torch.bincount(labels, minlength=classes)
        self.start = self.count.cumsum(0) - self.count

    def draw(self, y: Tensor, generator: torch.Generator) -> Tensor:
        """A place in `labels` for each of `y`, of the same class, with replacement."""
        share = torch.rand(len(y), generator=generator).to(y.device)
        count = self.count[y]
        within = (share * count).long().clamp(max=count - 1)
        return self.order[self.start[y] + within]


@dataclass(frozen=True)
class MixupMMD(Defense[Matching | None]):
    """Cross-entropy of mixtures, and between epochs λ·MMD².

    λ = 0 leaves mixup, and with `mixup` 0 plain training. As in the authors' code, the second pass
    works in eval mode and moves only the members: the others' outputs are constants.
    """

    lam: float = 3.0  # λ, the weight of MMD²
    mixup: float = 1.0  # a of Beta(a, a), from which the shares of a mixture are drawn
    gap: float = 0.03  # the second pass is skipped while the accuracies are less than this apart
    strength_field: ClassVar[str] = "lam"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, inf, lam=self.lam, mixup=self.mixup)
        check_range(0, 1, gap=self.gap)

    def prepare(self, training: Training[Matching | None]) -> Matching | None:
        if self.lam == 0:
            return None
        training.inference_batch()  # Refuse to begin without non-members.
        _, member_labels = training.members
        _, other_labels = training.inference_records()
        return Matching(member_labels, other_labels)

    def start_epoch(self, training: Training[Matching | None]) -> None:
        """After every epoch but the last, which is before every epoch but the first."""
        matching = training.state
        if training.epoch == 1 or matching is None or not self._accuracies_differ(training):
            return
        other_x, _ = training.inference_records()
        with eval_mode(training.model):
            for x, y in training.shuffled(training.members):
                partners = other_x[matching.draw(y, training.generator)]
                self._match(training, x, partners)

    def loss(self, training: Training[Matching | None], x: Tensor, y: Tensor) -> Tensor:
        if self.mixup == 0:
            return super().loss(training, x, y)
        share = float(torch.distributions.Beta(self.mixup, self.mixup).sample())
        partner = torch.randperm(len(y), generator=training.generator).to(y.device)
        return mixup_loss(training.model, x, y, share=share, partner=partner)

    def _accuracies_differ(self, training: Training[Matching | None]) -> bool:
        accuracies = [
            _accuracy(training, training.members),
            _accuracy(training, training.inference_records()),
        ]
        of_members, of_others = torch.stack(accuracies).tolist()  # One wait for the device.
        return abs(of_members - of_others) >= self.gap

    def _match(self, training: Training[Matching | None], x: Tensor, partners: Tensor) -> None:
        """One step down λ·MMD² between the outputs on members and on their partners."""
        with torch.no_grad():
            other_outputs = training.model(partners).softmax(dim=1)
        member_outputs = training.model(x).softmax(dim=1)
        distance = mmd2(member_outputs, other_outputs)
        training.log(mmd2=distance.detach())
        training.optimizer.zero_grad()
        (self.lam * distance).backward()
        training.optimizer.step()


def mixup_loss(model: nn.Module, x: Tensor, y: Tensor, *, share: float, partner: Tensor) -> Tensor:
    """Cross-entropy of s·x_i + (1 − s)·x_j with the two labels in the same shares.

    `partner` (n,) says which record j is mixed into each.
    """
    logits = model(share * x + (1 - share) * x[partner])
    own = F.cross_entropy(logits, y)
    partners = F.cross_entropy(logits, y[partner])
    return share * own + (1 - share) * partners


def mmd2(x: Tensor, y: Tensor) -> Tensor:
    """The biased MMD² of two samples (n, d) and (m, d) with the kernel exp(−‖a − b‖² / 2).

    >>> x = torch.tensor([[0.9, 0.1], [0.8, 0.2]])
    >>> y = torch.tensor([[0.6, 0.4], [0.5, 0.5]])
    >>> mmd2(x, y).item()
    0.1696...
    """
    both = torch.cat([x, y])
    difference = both[:, None] - both[None]  # (n + m, n + m, d)
    squared_distance = difference.square().sum(dim=2)
    kernel = torch.exp(-squared_distance / 2)
    n = len(x)
    within_x = kernel[:n, :n].mean()
    within_y = kernel[n:, n:].mean()
    between = kernel[:n, n:].mean()
    return within_x + within_y - 2 * between


def _accuracy(training: Training, records: Pair) -> Tensor:
    """Of some thousand records that are spread over all."""
    x, y = records
    step = max(len(y) // COMPARED, 1)
    guesses = training.eval_logits(x[::step]).argmax(dim=1)
    return (guesses == y[::step]).float().mean()
