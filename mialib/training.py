"""One training loop that every defense plugs into.

>>> from mialib import data, models
>>> digits = data.load("digits", size=64)
>>> model = models.build("mlp", shape=digits.x.shape[1:], classes=10)
>>> history = fit(model, digits, Recipe(epochs=2, lr=0.05))
>>> [sorted(epoch) for epoch in history]
[['epoch', 'loss'], ['epoch', 'loss']]

The records live on the device as tensors; an epoch is a shuffle and slices of it. The same seed and the same
number of threads give the same weights, bit for bit, on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isfinite

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from mialib.augment import crop_and_flip
from mialib.data.records import Records
from mialib.defenses.plain import Plain
from mialib.errors import between


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; target and shadow share one."""

    epochs: int = 30
    batch_size: int = 128
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: str = "cosine"  # or "constant", or "steps": from each milestone on, lr × its factor
    milestones: tuple[float, ...] = (0.5, 0.75)  # shares of the epochs
    factors: tuple[float, ...] = (0.1, 0.01)
    augment: bool | str = False  # True: random crops (padding 4) and flips, each record by its own draw; or "flip"

    def __post_init__(self):
        between(1, inf, whole=True, epochs=self.epochs, batch_size=self.batch_size)
        if self.schedule not in ("cosine", "steps", "constant"):
            raise ValueError(f"schedule must be 'cosine', 'steps' or 'constant', found {self.schedule!r}.")
        if self.augment not in (True, False, "flip"):
            raise ValueError(f"augment must be True, False or 'flip', found {self.augment!r}.")
        if self.schedule == "steps" and len(self.milestones) != len(self.factors):
            raise ValueError(f"Each milestone needs its factor, found {self.milestones} and {self.factors}.")
        between(0, inf, lr=self.lr, weight_decay=self.weight_decay)
        between(0, 1, momentum=self.momentum, milestones=self.milestones)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), self.lr, self.momentum, weight_decay=self.weight_decay)

    def scheduler(self, optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler:
        if self.schedule == "cosine":
            return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.epochs)
        steps = list(zip(self.milestones, self.factors, strict=True)) if self.schedule == "steps" else []

        def factor(epoch: int) -> float:
            return [1.0, *(factor for share, factor in steps if epoch >= round(share * self.epochs))][-1]

        return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@dataclass
class Training:
    """What is under way: every hook of a defense is given this, and may keep its own things on it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    recipe: Recipe
    members: tuple[Tensor, Tensor]
    reference: tuple[Tensor, Tensor] | None  # the inference part, for defenses that tune on non-members
    validation: tuple[Tensor, Tensor] | None  # set aside from the training part, for choosing when to stop
    generator: torch.Generator  # for a defense's own draws, which never change the members' order
    epoch: int = 0
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None  # made after `prepare`; a defense may restart it

    def batches(
        self, records: tuple[Tensor, Tensor], *, generator: torch.Generator | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """One shuffled pass over tensors on the device."""
        x, y = records
        order = torch.randperm(len(y), generator=generator or self.generator).to(y.device)
        for chosen in order.split(self.recipe.batch_size):
            yield x[chosen], y[chosen]


def pick_device(device: str = "auto") -> torch.device:
    """`"auto"` takes CUDA, then MPS, then the CPU."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def to_device(records: Records, device: torch.device) -> tuple[Tensor, Tensor]:
    """The records as (x, y) tensors; images are laid out channels last, which convolutions prefer."""
    x = torch.from_numpy(records.scaled()).to(device)
    if x.ndim == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    return x, torch.tensor(records.y, dtype=torch.long, device=device)


def fit(
    model: nn.Module,
    members: Records,
    recipe: Recipe,
    *,
    defense: Plain = Plain(),
    reference: Records | None = None,
    validation: Records | None = None,
    seed: int = 0,
    device: str = "auto",
    on_epoch: Callable[[nn.Module, int], dict | None] | None = None,
) -> list[dict]:
    """Train `model` in place and return one dictionary an epoch, with its number and its mean loss.

    `reference` holds non-members that a defense may tune on, `validation` records that it may choose by; never
    evaluate on either. `on_epoch(model, epoch)` may return more entries for the history.
    """
    where = pick_device(device)
    model.to(where, memory_format=torch.channels_last if members.x.ndim == 4 else torch.preserve_format)
    order, generator = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed + 1)
    optimizer = recipe.optimizer(model)
    parts = [to_device(part, where) if part is not None else None for part in (members, reference, validation)]
    training = Training(model, optimizer, recipe, *parts, generator)
    history = []
    with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(seed)  # Dropout draws from the global generator; give it back as it was.
        defense.prepare(training)
        _check_model(model, training.model)
        training.schedule = recipe.scheduler(training.optimizer)
        for training.epoch in tqdm(range(1, recipe.epochs + 1), "training", delay=2, leave=False, unit="epoch"):
            history.append(_epoch(training, defense, order))
            training.schedule.step()
            if on_epoch is not None:
                history[-1] |= on_epoch(training.model, training.epoch) or {}
    return history


def _check_model(given: nn.Module, prepared: nn.Module) -> None:
    """A defense may wrap the model that it is given; a copy would be trained in its place and thrown away."""
    if not {id(p) for p in given.parameters()} <= {id(p) for p in prepared.parameters()}:
        raise ValueError("prepare() must wrap the model that it is given, but its parameters are no longer there.")


def _epoch(training: Training, defense: Plain, order: torch.Generator) -> dict:
    """One pass over the members. Nothing waits for the device before the end of the epoch."""
    defense.start_epoch(training)
    training.model.train()  # A defense may have looked at the model in eval mode.
    optimizer, total = training.optimizer, torch.zeros((), device=training.members[1].device)
    for x, y in training.batches(training.members, generator=order):
        if training.recipe.augment:
            x = crop_and_flip(x, generator=order, padding=0 if training.recipe.augment == "flip" else 4)
        optimizer.zero_grad()
        loss = defense.loss(training, x, y)
        loss.backward()
        defense.after_backward(training)
        optimizer.step()
        total += loss.detach() * len(y)
    mean = total.item() / len(training.members[1])
    if not isfinite(mean):
        raise FloatingPointError(
            f"The loss became NaN or infinite in epoch {training.epoch}. "
            f"Lower the learning rate ({training.recipe.lr}) or the defense's strength."
        )
    return {"epoch": training.epoch, "loss": mean}
