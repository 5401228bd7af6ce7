"""AdvReg, adversarial regularisation (Nasr, Shokri and Houmansadr 2018): train against an attacker.

    AdvReg(alpha=1.0).batch_loss(logits, y, attacker)       # the classifier's loss of one batch

Before every epoch but the first, an attacker network learns to tell the members' outputs from those
of the inference set; in the epoch the classifier's loss is L + α·(mean attacker output − ½).
Introduced in notebook 11.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.settings import check_batch, plain_settings
from mialib.errors import check_range
from mialib.training import Defense, Training


class Attacker(nn.Module):
    """Outputs and one-hot label each have a branch, and the two meet in a third.

    That one has two hidden layers where the original has four. It gives (n,) logits, positive for
    members.
    """

    def __init__(self, classes: int):
        super().__init__()
        self.outputs = _layers(classes, 1024, 512, 64)
        self.label = _layers(classes, 128, 64)
        self.both = nn.Sequential(_layers(128, 256, 64), nn.Linear(64, 1))

    def forward(self, logits: Tensor, y: Tensor) -> Tensor:
        label = F.one_hot(y, logits.shape[1]).to(logits.dtype)
        branches = [self.outputs(logits.softmax(dim=1)), self.label(label)]
        return self.both(torch.cat(branches, dim=1))[:, 0]


@dataclass
class AdvRegState:
    """The attacker, and what trains it."""

    attacker: Attacker
    optimizer: torch.optim.Optimizer


@dataclass(frozen=True)
class AdvReg(Defense[AdvRegState]):
    """The classifier pays α for every member that an attacker recognises.

    The attacker sees softmax outputs in eval mode and labels. With α = 0 it learns as well, but
    nobody listens.
    """

    alpha: float = 1.0  # α, the weight of the attacker's mean output
    attacker_lr: float = 1e-3  # its learning rate, by Adam
    first: int = 5  # its passes over all records before the second epoch …
    later: int = 1  # … and before each further one
    strength_field: ClassVar[str] = "alpha"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, inf, alpha=self.alpha, attacker_lr=self.attacker_lr)
        check_range(1, inf, whole=True, first=self.first, later=self.later)

    def prepare(self, training: Training[AdvRegState]) -> AdvRegState:
        training.inference_batch()  # Refuse to begin without non-members.
        x, y = training.members
        classes = training.eval_logits(x[:1]).shape[1]
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(training.generator.initial_seed())
            attacker = Attacker(classes).to(y.device)
        return AdvRegState(attacker, torch.optim.Adam(attacker.parameters(), self.attacker_lr))

    def start_epoch(self, training: Training[AdvRegState]) -> None:
        """The attacker learns from what the classifier now says of as many members as others."""
        if training.epoch == 1:
            return
        member_x, member_y = training.members
        other_x, other_y = training.inference_records()
        member_logits = training.eval_logits(member_x)
        other_logits = training.eval_logits(other_x)
        size = max(len(member_y), len(other_y))
        passes = self.first if training.epoch == 2 else self.later
        for _ in range(passes):
            members = _spread(len(member_y), size, training).split(training.recipe.batch_size)
            others = _spread(len(other_y), size, training).split(training.recipe.batch_size)
            for member, other in zip(members, others, strict=True):
                member_scores = training.state.attacker(member_logits[member], member_y[member])
                other_scores = training.state.attacker(other_logits[other], other_y[other])
                accuracy = _learn(training.state.optimizer, member_scores, other_scores)
                training.log(attacker_accuracy=accuracy)

    def loss(self, training: Training[AdvRegState], x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        if training.epoch == 1:  # The attacker has not learned anything yet.
            return F.cross_entropy(logits, y)
        return self.batch_loss(logits, y, training.state.attacker)

    def batch_loss(self, logits: Tensor, y: Tensor, attacker: nn.Module) -> Tensor:
        """L + α·(mean attacker output − ½) of one batch."""
        check_batch(logits, y)
        if not callable(attacker):
            raise TypeError(f"attacker must be a network, found {type(attacker).__name__}.")
        loss = F.cross_entropy(logits, y)
        if self.alpha == 0:
            return loss
        return loss + self.alpha * (attacker(logits, y).sigmoid().mean() - 0.5)


def _layers(*sizes: int) -> nn.Sequential:
    """Linear layers from each size to the next, with a ReLU after each."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers.append(nn.Linear(before, after))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def _learn(optimizer: torch.optim.Optimizer, member_scores: Tensor, other_scores: Tensor) -> Tensor:
    """One step of the attacker from its scores of two batches; its accuracy on them, before."""
    scores = torch.cat([member_scores, other_scores])
    is_member = torch.cat([torch.ones_like(member_scores), torch.zeros_like(other_scores)])
    optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(scores, is_member).backward()
    optimizer.step()
    right = (scores.detach() > 0) == is_member.bool()
    return right.float().mean()


def _spread(n: int, size: int, training: Training) -> Tensor:
    """`size` places among n in random order, every one as often as the others or once more."""
    rounds = -(-size // n)
    orders = [torch.randperm(n, generator=training.generator) for _ in range(rounds)]
    _, y = training.members
    return torch.cat(orders)[:size].to(y.device)
