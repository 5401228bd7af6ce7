"""AdvReg, adversarial regularisation (Nasr, Shokri and Houmansadr 2018): train against an attacker that trains too.

Before every epoch but the first, an attacker network learns to tell the members' outputs from those of the inference
set; in the epoch the classifier's loss is L + α·(mean attacker output − ½). Introduced in notebook 11."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.simple import Strength
from mialib.errors import check_range
from mialib.training import Training


@dataclass(frozen=True)
class AdvReg(Strength):
    """`strength` is α. The attacker sees softmax outputs in eval mode and labels; `first` passes over all records
    before the second epoch, `later` before each further one. With α = 0 it learns as well, but nobody listens."""

    strength: float = 1.0
    attacker_lr: float = 1e-3
    first: int = 5
    later: int = 1

    def __post_init__(self):
        super().__post_init__()
        check_range(0, torch.inf, attacker_lr=self.attacker_lr)
        check_range(1, torch.inf, whole=True, first=self.first, later=self.later)

    def prepare(self, training: Training) -> None:
        training.reference_batch()  # Refuse to begin without non-members.
        x, y = training.members
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(training.generator.initial_seed())
            training.attacker = Attacker(training.look(x[:1]).shape[1]).to(y.device)
        training.attacker_optimizer = torch.optim.Adam(
            training.attacker.parameters(), self.attacker_lr
        )

    def start_epoch(self, training: Training) -> None:
        """The attacker learns from what the classifier now says of as many members as others."""
        if training.epoch == 1:
            return
        sides = [(training.look(x), y) for x, y in (training.members, training.reference)]
        size = max(len(y) for _, y in sides)
        for _ in range(self.first if training.epoch == 2 else self.later):
            orders = [_spread(len(y), size, training.generator).to(y.device) for _, y in sides]
            for both in zip(
                *(order.split(training.recipe.batch_size) for order in orders), strict=True
            ):
                pairs = zip(sides, both, strict=True)
                _learn(
                    training,
                    *(training.attacker(outputs[rows], y[rows]) for (outputs, y), rows in pairs),
                )

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        logits = training.model(x)
        loss = F.cross_entropy(logits, y)
        if training.epoch == 1 or not self.strength:
            return loss
        return loss + self.strength * (training.attacker(logits, y).sigmoid().mean() - 0.5)


class Attacker(nn.Module):
    """Outputs and one-hot label each have a branch; the two meet in a third, which has two hidden layers where the
    original has four: (n,) logits, positive for members."""

    def __init__(self, classes: int):
        super().__init__()
        self.outputs, self.label = _layers(classes, 1024, 512, 64), _layers(classes, 128, 64)
        self.both = nn.Sequential(_layers(128, 256, 64), nn.Linear(64, 1))

    def forward(self, logits: Tensor, y: Tensor) -> Tensor:
        label = F.one_hot(y, logits.shape[1]).to(logits.dtype)
        seen = torch.cat([self.outputs(logits.softmax(dim=1)), self.label(label)], dim=1)
        return self.both(seen)[:, 0]


def _layers(*sizes: int) -> nn.Sequential:
    return nn.Sequential(
        *(layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU()))
    )


def _learn(training: Training, ours: Tensor, theirs: Tensor) -> None:
    """One step of the attacker from its scores of a batch of members and of one of others."""
    scores, truth = (
        torch.cat([ours, theirs]),
        torch.cat([torch.ones_like(ours), torch.zeros_like(theirs)]),
    )
    training.attacker_optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(scores, truth).backward()
    training.attacker_optimizer.step()
    training.say(attacker_accuracy=((scores.detach() > 0) == truth.bool()).float().mean())


def _spread(n: int, size: int, generator: torch.Generator) -> Tensor:
    """`size` places among n in random order, every one as often as the others or once more."""
    return torch.cat([torch.randperm(n, generator=generator) for _ in range(-(-size // n))])[:size]
