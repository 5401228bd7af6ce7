"""One training loop, and the hooks through which every defense plugs into it.

>>> from mialib import data, models
>>> digits = data.load("digits", size=64)
>>> model = models.build("mlp", shape=digits.x.shape[1:], classes=10)
>>> [sorted(epoch) for epoch in fit(model, digits, Recipe(epochs=2, lr=0.05))]
[['epoch', 'loss'], ['epoch', 'loss']]

The same seed and the same number of threads give the same weights, bit for bit, on a CPU."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf, isfinite

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler
from tqdm.auto import tqdm

from mialib.augment import crop_and_flip
from mialib.data.records import Records
from mialib.errors import check_choice, check_range, refuse
from mialib.signals import eval_mode

Pair = tuple[Tensor, Tensor]  # x and y on the device


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
    augment: bool | str = (
        False  # True: random crops (padding 4) and flips, each record by its own draw; or "flip"
    )

    def __post_init__(self):
        check_choice("schedule", self.schedule, ("cosine", "steps", "constant"))
        check_range(1, inf, whole=True, epochs=self.epochs, batch_size=self.batch_size)
        check_range(0, inf, lr=self.lr, weight_decay=self.weight_decay)
        check_range(0, 1, momentum=self.momentum, milestones=self.milestones)
        if self.augment not in (True, False, "flip"):
            raise ValueError(f"augment must be True, False or 'flip', found {self.augment!r}.")
        if self.schedule == "steps" and len(self.milestones) != len(self.factors):
            raise ValueError(
                f"Each milestone needs its factor, found {self.milestones} and {self.factors}."
            )

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            model.parameters(), self.lr, self.momentum, weight_decay=self.weight_decay
        )

    def scheduler(self, optimizer: torch.optim.Optimizer) -> LRScheduler:
        if self.schedule == "cosine":
            return CosineAnnealingLR(optimizer, self.epochs)
        steps = (
            list(zip(self.milestones, self.factors, strict=True))
            if self.schedule == "steps"
            else []
        )
        steps = [(round(share * self.epochs), factor) for share, factor in [(0, 1.0), *steps]]
        return LambdaLR(
            optimizer, lambda epoch: [factor for start, factor in steps if epoch >= start][-1]
        )


@dataclass
class Training:
    """What is under way: every hook of a defense is given this, and may keep its own things on it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    recipe: Recipe
    members: Pair
    reference: Pair | None
    validation: Pair | None
    generator: torch.Generator  # for a defense's own draws, which never change the members' order
    epoch: int = 0
    schedule: LRScheduler | None = None  # made after `prepare`; a defense may restart it
    fresh: Callable[[], nn.Module] | None = (
        None  # builds the model as it was before its very first step
    )
    rest: Iterator[Pair] = iter(())  # what is left of this pass over the reference records
    said: dict[str, list] = field(default_factory=dict)  # what `say` was told in this epoch
    good: dict[str, Tensor] = field(
        default_factory=dict
    )  # the weights after the last epoch that did not collapse …
    good_epoch: int = 0  # … and its number
    history: list[dict] = field(default_factory=list)
    afterwards: ExitStack = field(
        default_factory=ExitStack
    )  # what is undone when the training ends, however it does

    def batches(self, records: Pair, *, generator: torch.Generator | None = None) -> Iterator[Pair]:
        """One shuffled pass over tensors on the device."""
        x, y = records
        order = torch.randperm(len(y), generator=generator or self.generator).to(y.device)
        for chosen in order.split(self.recipe.batch_size):
            yield x[chosen], y[chosen]

    def look(self, x: Tensor) -> Tensor:
        """The model's logits of these records in eval mode, without a graph: (n, classes)."""
        with torch.no_grad(), eval_mode(self.model):
            return torch.cat([self.model(batch) for batch in x.split(500)])

    def say(self, **numbers: Tensor | float) -> None:
        """Put numbers of one batch into the history, where their mean over the epoch will stand."""
        for name, number in numbers.items():
            self.said.setdefault(name, []).append(number)

    def reference_batch(self) -> Pair:
        """The next batch of non-members; after the last the pass starts again, in another order."""
        if self.reference is None:
            advice = (
                "Use a split that has one (split='six_parts'), or pass fit(..., reference=records)"
            )
            raise ValueError(
                f"This defense tunes on non-members, but there is no inference set. {advice}."
            )
        if (batch := next(self.rest, None)) is None:
            self.rest = self.batches(self.reference)
            batch = next(self.rest)
        return batch


@dataclass(frozen=True)
class Plain:
    """Cross-entropy and nothing else; a defense changes a hook or two. Introduced in notebook 01."""

    def prepare(self, training: Training) -> None:
        """Before the first step: add to `training`, wrap its model, or replace its optimizer."""

    def start_epoch(self, training: Training) -> None:
        """Before each epoch; `training.epoch` counts from 1."""

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        """The loss of one batch of members. Most defenses live here."""
        return F.cross_entropy(training.model(x), y)

    def after_backward(self, training: Training) -> None:
        """Between backward and step: penalties on the weights go into their gradients."""

    def after_step(self, training: Training) -> None:
        """After each step: what changes the weights themselves, such as a proximal step."""

    def end_epoch(self, training: Training) -> bool:
        """After each epoch; True ends the training here."""
        return False


def pick_device(device: str = "auto") -> torch.device:
    """`"auto"` takes the accelerator (CUDA, MPS) if there is one, else the CPU."""
    if device == "auto":
        device = (
            torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
        )
    return torch.device(device)


def to_device(records: Records, device: torch.device) -> Pair:
    """The records as (x, y) tensors; images are laid out channels last, which convolutions prefer."""
    x = torch.from_numpy(records.scaled()).to(device)
    x = x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
    return x, torch.tensor(records.y, dtype=torch.long, device=device)


def fit(
    model: nn.Module,
    members: Records,
    recipe: Recipe,
    *,
    defense: Plain = Plain(),
    reference: Records
    | None = None,  # non-members that a defense may tune on; never evaluate on them
    validation: Records
    | None = None,  # records that a defense may choose by; never evaluate on them
    fresh: Callable[[], nn.Module]
    | None = None,  # builds the network with its first weights, for rewinding
    seed: int = 0,
    device: str = "auto",
    on_epoch: Callable[[nn.Module, int], dict | None] | None = None,
) -> list[dict]:
    """Train `model` in place; return each epoch's number, mean loss, what the defense said and what `on_epoch` adds."""
    where = pick_device(device)
    _check(members, reference)
    model.to(
        where, memory_format=torch.channels_last if members.x.ndim == 4 else torch.preserve_format
    )
    order, generator = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed + 1)
    parts = [
        to_device(part, where) if part is not None else None
        for part in (members, reference, validation)
    ]
    training = Training(model, recipe.optimizer(model), recipe, *parts, generator, fresh=fresh)
    with (
        torch.random.fork_rng(devices=[where] if where.type == "cuda" else []),
        training.afterwards,
    ):
        torch.manual_seed(seed)  # Dropout draws from the global generator; give it back as it was.
        if (outputs := training.look(training.members[0][:1]).shape[1]) != members.classes:
            raise ValueError(
                f"The records have {members.classes} classes, but the model {outputs} outputs."
            )
        defense.prepare(training)
        copied = not set(model.parameters()) <= set(
            training.model.parameters()
        )  # It would be thrown away.
        refuse(
            copied,
            "prepare() must wrap the model that it is given, but its parameters are no longer there.",
        )
        training.schedule = recipe.scheduler(training.optimizer)
        for training.epoch in tqdm(
            range(1, recipe.epochs + 1), "training", delay=2, leave=False, unit="epoch"
        ):
            training.history.append(epoch := _epoch(training, defense, order))
            training.schedule.step()
            if done := defense.end_epoch(training) or training.epoch == recipe.epochs:
                training.afterwards.close()  # The last look is at what is kept.
            epoch |= {
                name: float(sum(numbers) / len(numbers)) for name, numbers in training.said.items()
            }
            training.said.clear()
            if on_epoch is not None:
                epoch |= on_epoch(model, training.epoch) or {}
            if done:
                break
    return training.history


def _check(members: Records, reference: Records | None) -> None:
    """Tuning on records that are also members would teach a defense nothing about non-members."""
    if reference is not None:
        found = (
            f"found {members.classes} and {reference.classes} classes. Take both from one dataset."
        )
        refuse(
            members.classes != reference.classes,
            f"Members and inference set must have the same classes, {found}",
        )
        ours, theirs = (
            {row.tobytes(): k for row, k in zip(r.x, r.index, strict=True)}
            for r in (members, reference)
        )
        same = [ours[row] == theirs[row] for row in ours.keys() & theirs.keys()]
        advice = "Take it from records that were not trained on."
        refuse(any(same), f"The inference set holds {sum(same)} members. {advice}")
        if same:  # Two records may happen to be equal; or these are the same, numbered anew.
            warnings.warn(
                f"The inference set holds copies of {len(same)} members. {advice}", stacklevel=3
            )


def _epoch(training: Training, defense: Plain, order: torch.Generator) -> dict:
    """One pass over the members. Nothing waits for the device before the end of the epoch."""
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    if training.good_epoch and training.good_epoch == training.epoch - 1:
        training.good = before
    defense.start_epoch(training)
    training.model.train()  # A defense may have looked at the model in eval mode.
    optimizer, total = training.optimizer, torch.zeros((), device=training.members[1].device)
    for x, y in training.batches(training.members, generator=order):
        if training.recipe.augment:
            x = crop_and_flip(
                x, generator=order, padding=0 if training.recipe.augment == "flip" else 4
            )
        optimizer.zero_grad()
        loss = defense.loss(training, x, y)
        loss.backward()
        defense.after_backward(training)
        optimizer.step()
        defense.after_step(training)
        total += loss.detach() * len(y)
    mean = total.item() / len(training.members[1])
    if not isfinite(mean) or not all(
        value.isfinite().all() for value in training.model.state_dict().values()
    ):
        training.model.load_state_dict(before)
        advice = f"Lower the learning rate ({training.recipe.lr}) or the strength of {defense}"
        kept = "The model has the weights from before that epoch, and the error has the history."
        error = FloatingPointError(
            f"A loss or weight was NaN or infinite in epoch {training.epoch}. {advice}. {kept}"
        )
        error.history = [*training.history, {"epoch": training.epoch, "diverged": True}]
        raise error
    return {"epoch": training.epoch, "loss": mean} | _collapse(training)


def _collapse(training: Training) -> dict:
    """Say in the history if the model names one class for all members; if it ends so, take the last good weights."""
    x, _ = training.members
    for some in (
        slice(None, None, max(len(x) // 32, 1)),
        slice(None),
    ):  # A few will do, unless they look alike.
        if training.look(x[some]).argmax(dim=1).unique().numel() > 1:
            training.good_epoch = training.epoch
            return {}
    ends = training.epoch == training.recipe.epochs
    if ends and training.good:
        training.model.load_state_dict(training.good)
        return {"collapsed": True, "weights_of_epoch": training.good_epoch}
    return (
        {"collapsed": True} if ends or training.good_epoch else {}
    )  # In the beginning all look alike.
