"""One training loop, and the hooks through which every defense plugs into it.

>>> from mialib import data, models
>>> digits = data.load("digits", size=64)
>>> model = models.build("mlp", shape=digits.x.shape[1:], classes=10)
>>> [sorted(epoch) for epoch in fit(model, digits, Recipe(epochs=2, lr=0.05))]
[['epoch', 'loss'], ['epoch', 'loss']]

From top to bottom: `Recipe` (how long, how fast), `Training` (what is under way), `Defense` (the
hooks), `fit` (the loop). The same seed and the same number of threads give the same weights, bit
for bit, on a CPU.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler

from mialib import progress
from mialib.augment import crop_and_flip
from mialib.compiled import compiled_batches, compiles_on
from mialib.data.records import Records
from mialib.errors import check_choice, check_flag, check_range, plain_number, plain_tuple
from mialib.precision import PRECISIONS, computing_in, loss_scaler, resolve
from mialib.query import (
    Pair,
    check_model,
    check_records,
    logits_of,
    pick_device,
    to_device,
)

State = TypeVar("State")  # what a defense keeps from one step to the next
MOST_EPOCHS = 1_000_000
CPU = torch.device("cpu")
A_FEW = 8  # members who are asked first whether their answers differ, and then A_FEW times as many
LARGEST_SEED = 2**63 - 2  # Two generators are seeded, by it and by the next number.


@dataclass(frozen=True)
class Recipe:
    """How a model is trained, by SGD; target and shadow share one."""

    epochs: int = 30
    batch_size: int = 128
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: str = "cosine"  # or "constant", or "steps": from each milestone on, lr × its factor
    milestones: tuple[float, ...] = (0.5, 0.75)  # shares of the epochs
    factors: tuple[float, ...] = (0.1, 0.01)
    # True: random crops (padding 4) and flips, a draw per record; "flip": flips alone; "batch": one
    # draw of crop and flip for the whole batch, as in CRL's code.
    augment: bool | str = False
    precision: str = "float32"  # of a network in training: see `mialib.precision`
    compiled: bool = False  # on CUDA, once for all models of a shape: see `mialib.compiled`

    def __post_init__(self):
        numbers = ("epochs", "batch_size", "lr", "momentum", "weight_decay", "augment", "compiled")
        for name in numbers:
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        for name in ("milestones", "factors"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        check_choice("schedule", self.schedule, ("cosine", "steps", "constant"))
        check_choice("precision", self.precision, PRECISIONS)
        check_flag(compiled=self.compiled)
        check_range(1, MOST_EPOCHS, whole=True, epochs=self.epochs)
        check_range(1, inf, whole=True, batch_size=self.batch_size)
        check_range(0, inf, lr=self.lr, weight_decay=self.weight_decay)
        check_range(0, 1, momentum=self.momentum)
        check_range(0, inf, many=True, factors=self.factors)
        check_range(0, 1, many=True, milestones=self.milestones)
        is_named = isinstance(self.augment, str) and self.augment in ("flip", "batch")
        if not isinstance(self.augment, bool) and not is_named:
            raise ValueError(
                f"augment must be True, False, 'flip' or 'batch', found {self.augment!r}."
            )
        if self.schedule == "steps" and len(self.milestones) != len(self.factors):
            raise ValueError(
                f"Each milestone needs its factor, found {self.milestones} and {self.factors}."
            )

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """SGD over all parameters of the model."""
        check_model(model)
        return torch.optim.SGD(
            model.parameters(), self.lr, self.momentum, weight_decay=self.weight_decay
        )

    def scheduler(self, optimizer: torch.optim.Optimizer) -> LRScheduler:
        """What sets the learning rate of each epoch."""
        if self.schedule == "cosine":
            return CosineAnnealingLR(optimizer, self.epochs)
        return LambdaLR(optimizer, self.factor_at)

    def factor_at(self, epoch: int) -> float:
        """What the learning rate is multiplied by in this epoch, counted from 0."""
        factor = 1.0
        if self.schedule == "steps":
            for share, later in zip(self.milestones, self.factors, strict=True):
                if epoch >= round(share * self.epochs):
                    factor = later
        return factor

    def augmented(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """A batch as the model sees it in training."""
        if not self.augment:
            return x
        padding = 0 if self.augment == "flip" else 4
        together = self.augment == "batch"
        return crop_and_flip(x, generator=generator, padding=padding, together=together)


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """A setting that holds several numbers, as a tuple, so that equal recipes are equal."""
    numbers = plain_tuple(values)
    if not isinstance(numbers, tuple) or any(isinstance(number, tuple) for number in numbers):
        raise ValueError(f"{name} must be several numbers, such as (0.5, 0.75), found {values!r}.")
    return numbers


@dataclass
class Training(Generic[State]):
    """What is under way: every hook of a defense is given this.

    What the defense itself keeps from one step to the next is `state`.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    recipe: Recipe
    members: Pair  # (x, y) on the device, as are the next two
    inference: Pair | None  # non-members that a defense may use
    validation: Pair | None  # records that a defense may choose by
    generator: torch.Generator  # for a defense's own draws, which never change the members' order
    epoch: int = 0  # counts from 1; 0 before the first
    precision: str = "float32"  # that the model computes in while it trains
    compiled: bool = False  # whether whole batches are
    scaler: torch.amp.GradScaler = field(default_factory=lambda: loss_scaler("float32", CPU))
    state: State = cast(Any, None)  # what `Defense.prepare` returned; None before
    scheduler: LRScheduler | None = None  # made after `prepare`, which may replace the optimizer
    build_initial_model: Callable[[], nn.Module] | None = None  # as it was before its first step
    epoch_log: dict[str, list] = field(default_factory=dict)  # what `log` was told in this epoch
    history: list[dict] = field(default_factory=list)
    last_healthy_epoch: int = 0  # the last epoch after which the model had not collapsed …
    last_healthy_state: dict[str, Tensor] = field(default_factory=dict)  # … and its weights
    cleanup: ExitStack = field(default_factory=ExitStack)  # undone when the training ends, however
    _inference_batches: Iterator[Pair] = iter(())  # what is left of this pass over `inference`

    @classmethod
    def begin(
        cls,
        model: nn.Module,
        members: Records,
        recipe: Recipe,
        *,
        inference: Records | None = None,
        validation: Records | None = None,
        build_initial_model: Callable[[], nn.Module] | None = None,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> Training:
        """A training of `model` before its first step, with the data on the device."""
        _check_settings(model, recipe, seed)
        _check_parts(members, inference, validation)
        _check_functions(build_initial_model=build_initial_model)
        where = pick_device(device)
        precision = resolve(recipe.precision, where)
        model.to(where)
        if members.x.ndim == 4:
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return cls(
            model=model,
            optimizer=recipe.optimizer(model),
            recipe=recipe,
            members=to_device(members, where),
            inference=None if inference is None else to_device(inference, where),
            validation=None if validation is None else to_device(validation, where),
            generator=torch.Generator().manual_seed(int(seed) + 1),
            precision=precision,
            compiled=recipe.compiled and compiles_on(where.type),
            scaler=loss_scaler(precision, where),
            build_initial_model=build_initial_model,
        )

    def shuffled(self, records: Pair, generator: torch.Generator | None = None) -> Iterator[Pair]:
        """One pass over tensors on the device, in batches and in random order."""
        x, y = records
        order = torch.randperm(len(y), generator=generator or self.generator).to(y.device)
        size = min(self.recipe.batch_size, len(y))
        for chosen in order.split(size):
            yield x[chosen], y[chosen]

    def inference_batch(self) -> Pair:
        """The next batch of non-members; after the last the pass starts again, in another order."""
        batch = next(self._inference_batches, None)
        if batch is None:
            self._inference_batches = self.shuffled(self.inference_records())
            batch = next(self._inference_batches)
        return batch

    def inference_records(self) -> Pair:
        """All non-members that the defense may use, or an error that says how to get some."""
        if self.inference is None:
            raise ValueError(
                "This defense tunes on non-members, but there is no inference set. Use a split "
                "that has one (split='six_parts'), or pass fit(..., inference=records)."
            )
        return self.inference

    def eval_logits(self, x: Tensor) -> Tensor:
        """The model's logits of these records in eval mode, without a graph: (n, classes)."""
        return logits_of(self.model, x)

    def log(self, **numbers: Tensor | float) -> None:
        """Put numbers of one batch into the history, where their mean over the epoch will stand."""
        for name, number in numbers.items():
            if isinstance(number, Tensor):
                number = _one_number(name, number)
            self.epoch_log.setdefault(name, []).append(number)


def _one_number(name: str, value: Tensor) -> Tensor:
    """The value without its graph and without axes."""
    if value.numel() != 1:
        shape = tuple(value.shape)
        raise ValueError(f"log({name}=…) takes one number, found {shape}. Log its mean.")
    return value.detach().reshape(())


@dataclass(frozen=True)
class Defense(Generic[State]):
    """A change to training: a frozen dataclass of settings that overrides a hook or two.

    What must last from one step to the next is the `State` that `prepare` returns and
    `training.state` keeps, so one defense object serves any number of runs.
    """

    strength_field: ClassVar[str] = ""  # the setting that says how strong the defense is

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "strength" in inspect.get_annotations(cls):
            raise TypeError(
                f"{cls.__name__}: name the setting by its paper's symbol, such as lam: float, and "
                "say strength_field: ClassVar[str] = 'lam'; then `strength` gives it."
            )

    def prepare(self, training: Training[State]) -> State:
        """Before the first step: wrap the model, replace the optimizer; return what is kept."""
        return None  # type: ignore[return-value]

    def start_epoch(self, training: Training[State]) -> None:
        """Before each epoch; `training.epoch` counts from 1."""

    def batches(self, training: Training[State], generator: torch.Generator) -> Iterator[Pair]:
        """The batches of members of one epoch."""
        return training.shuffled(training.members, generator)

    def loss(self, training: Training[State], x: Tensor, y: Tensor) -> Tensor:
        """The loss of one batch of members. Most defenses live here."""
        return F.cross_entropy(training.model(x), y)

    def after_backward(self, training: Training[State]) -> None:
        """Between backward and step: penalties on the weights go into their gradients."""

    def after_step(self, training: Training[State]) -> None:
        """After each step: what changes the weights themselves, such as a proximal step."""

    def end_epoch(self, training: Training[State]) -> bool:
        """After each epoch; True ends the training here."""
        return False

    # How the defense enters a configuration, as data for `Configuration.defended`.

    def network_options(self) -> dict[str, Any]:
        """Options that the network must have."""
        return {}

    def trainings(self) -> tuple[Defense | None, ...]:
        """The trainings that it is made of, in order; None is the one the configuration has."""
        return (self,)

    # One way to ask any defense how strong it is.

    @property
    def strength(self) -> float | None:
        """The number in `strength_field`, whatever its paper calls it; None if it has none."""
        return getattr(self, self.strength_field) if self.strength_field else None

    def with_strength(self, value: float) -> Self:
        """The same defense, as strong as this."""
        if not self.strength_field:
            raise ValueError(f"{type(self).__name__} has no single number for its strength.")
        return replace(self, **{self.strength_field: value})


@dataclass(frozen=True)
class Plain(Defense[None]):
    """No defense: cross-entropy and nothing else. Introduced in notebook 01."""


class DivergedError(FloatingPointError):
    """A loss or a weight became NaN or infinite. `history` has the epochs up to then."""

    def __init__(self, message: str, history: list[dict] | None = None):
        super().__init__(message)  # It alone is handed to a copy from another process.
        self.history = history or []


def fit(
    model: nn.Module,
    members: Records,
    recipe: Recipe,
    *,
    defense: Defense = Plain(),
    inference: Records | None = None,
    validation: Records | None = None,
    build_initial_model: Callable[[], nn.Module] | None = None,
    seed: int = 0,
    device: str | torch.device = "auto",
    on_epoch: Callable[[nn.Module, int], dict | None] | None = None,
) -> list[dict]:
    """Train `model` in place; return the history, one dictionary per epoch.

    It holds the epoch's number, the mean loss, what the defense logged and what `on_epoch` adds.
    `inference` are non-members that a defense may tune on, `validation` records that it may choose
    by: never evaluate on either. `build_initial_model` builds the network with its first weights,
    for rewinding.
    """
    if not isinstance(defense, Defense):
        raise TypeError(f"defense must be a Defense such as Plain(), found {defense!r}.")
    _check_functions(on_epoch=on_epoch)
    where = pick_device(device)
    training = Training.begin(
        model,
        members,
        recipe,
        inference=inference,
        validation=validation,
        build_initial_model=build_initial_model,
        seed=seed,
        device=where,
    )
    if inference is not None:
        _check_apart(members, inference)
    order = torch.Generator().manual_seed(int(seed))  # of the members
    with _own_randomness(int(seed), where), training.cleanup:
        training.cleanup.enter_context(computing_in(training.precision, model, where))
        if training.compiled:
            training.cleanup.enter_context(compiled_batches(model, recipe.batch_size))
        _check_outputs(training, members.classes)
        training.state = defense.prepare(training)
        _check_wrapped(model, training.model)
        training.scheduler = recipe.scheduler(training.optimizer)
        with progress.bar("training", total=recipe.epochs, unit="epoch") as advance:
            for entry in _epochs(training, defense, order):
                if on_epoch is not None:
                    entry.update(_checked_entry(on_epoch(model, training.epoch)))
                advance()
    return training.history


@contextmanager
def _own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Dropout draws from the global generator: seed it, and give it back as it was."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _epochs(training: Training, defense: Defense, order: torch.Generator) -> Iterator[dict]:
    """Each epoch's entry in the history, until the last epoch or until the defense ends it."""
    done = False
    while not done:
        training.epoch += 1
        entry = _run_epoch(training, defense, order)
        training.history.append(entry)
        before_end = {name: len(values) for name, values in training.epoch_log.items()}
        training.scheduler.step()  # type: ignore[union-attr]
        done = defense.end_epoch(training) or training.epoch == training.recipe.epochs
        if done:
            training.cleanup.close()  # The last look is at what is kept.
        entry.update(_logged_since(training, before_end))
        training.epoch_log.clear()
        yield entry


def _run_epoch(training: Training, defense: Defense, order: torch.Generator) -> dict:
    """One pass over the members. Nothing waits for the device before the end of the epoch."""
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    if training.last_healthy_epoch and training.last_healthy_epoch == training.epoch - 1:
        training.last_healthy_state = before
    defense.start_epoch(training)
    training.model.train()  # A defense may have looked at the model in eval mode.
    _, labels = training.members
    total = torch.zeros((), device=labels.device)
    for x, y in defense.batches(training, order):
        x = training.recipe.augmented(x, order)
        training.optimizer.zero_grad()
        loss = _checked_loss(defense.loss(training, x, y), defense)
        training.scaler.scale(loss).backward()
        training.scaler.unscale_(training.optimizer)
        defense.after_backward(training)
        training.scaler.step(training.optimizer)
        training.scaler.update()
        defense.after_step(training)
        total += loss.detach() * len(y)
    return _epoch_entry(training, defense, total, before)


def _epoch_entry(
    training: Training, defense: Defense, total: Tensor, before: dict[str, Tensor]
) -> dict:
    """What the history says of the epoch, fetched from the device in one go."""
    _, labels = training.members
    logged = _means(training.epoch_log)
    all_finite = _all_finite(training.model)
    answers_differ = _answers_differ(training, A_FEW)
    fetched = _fetch([total, all_finite, answers_differ, *logged.values()])
    total_loss, is_finite, is_healthy, *numbers = fetched
    mean = total_loss / len(labels)
    if not isfinite(mean) or not is_finite:
        training.model.load_state_dict(before)
        raise _diverged(training, defense)
    entry = {"epoch": training.epoch, "loss": mean}
    entry.update(_collapse(training, healthy=bool(is_healthy)))
    entry.update(zip(logged, numbers, strict=True))
    return entry


def _all_finite(model: nn.Module) -> Tensor:
    return torch.stack([value.isfinite().all() for value in model.state_dict().values()]).all()


def _answers_differ(training: Training, asked: int) -> Tensor:
    """Whether the model names more than one class, for about as many members, evenly spread."""
    x, _ = training.members
    step = max(len(x) // asked, 1)
    guesses = training.eval_logits(x[::step]).argmax(dim=1)
    return (guesses != guesses[0]).any()


def _do_any_answers_differ(training: Training) -> bool:
    """Whether the model names more than one class for the members.

    More and more of them are asked, because a few may happen to look alike.
    """
    asked = A_FEW
    members = len(training.members[1])
    while asked < members:
        asked = min(A_FEW * asked, members)
        if bool(_answers_differ(training, asked)):
            return True
    return False


def _collapse(training: Training, *, healthy: bool) -> dict:
    """Say in the history if the model names one class for all members.

    If it ends so, it is given the last healthy weights.
    """
    if healthy or _do_any_answers_differ(training):
        training.last_healthy_epoch = training.epoch
        return {}
    is_last = training.epoch == training.recipe.epochs
    if is_last and training.last_healthy_state:
        training.model.load_state_dict(training.last_healthy_state)
        return {"collapsed": True, "weights_of_epoch": training.last_healthy_epoch}
    if is_last or training.last_healthy_epoch:
        return {"collapsed": True}
    return {}  # In the beginning all look alike.


def _logged_since(training: Training, lengths: dict[str, int]) -> dict[str, float]:
    """The means of what the epoch's end has logged; a name from before has its mean anew."""
    longer = {
        name: values
        for name, values in training.epoch_log.items()
        if len(values) > lengths.get(name, 0)
    }
    return dict(zip(longer, _fetch(list(_means(longer).values())), strict=True))


def _means(log: dict[str, list]) -> dict[str, Tensor | float]:
    return {name: sum(values) / len(values) for name, values in log.items()}


def _fetch(numbers: list[Tensor | float]) -> list[float]:
    """Every number as Python's; those on one device come together, so it is waited for once."""
    tensors_on: dict[torch.device, list[Tensor]] = {}
    for number in numbers:
        if isinstance(number, Tensor):
            tensors_on.setdefault(number.device, []).append(number)
    fetched = {device: iter(_fetch_together(some)) for device, some in tensors_on.items()}
    return [
        next(fetched[number.device]) if isinstance(number, Tensor) else float(number)
        for number in numbers
    ]


def _fetch_together(tensors: list[Tensor]) -> list[float]:
    """The numbers of tensors on one device, in the widest of their types: none is rounded."""
    widest = torch.float32
    for tensor in tensors:
        widest = torch.promote_types(widest, tensor.dtype)
    return torch.stack([tensor.to(widest) for tensor in tensors]).tolist()


def _diverged(training: Training, defense: Defense) -> DivergedError:
    message = (
        f"A loss or weight was NaN or infinite in epoch {training.epoch}. "
        f"Lower the learning rate ({training.recipe.lr}) or the strength of {defense}. "
        "The model has the weights from before that epoch, and the error has the history."
    )
    return DivergedError(message, [*training.history, {"epoch": training.epoch, "diverged": True}])


# What `fit` and `Training.begin` are given, and what the functions in it return.


def _check_settings(model: object, recipe: object, seed: object) -> None:
    check_model(model)
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be a Recipe, found {recipe!r}.")
    check_range(0, LARGEST_SEED, whole=True, seed=seed)


def _check_parts(members: Records, inference: Records | None, validation: Records | None) -> None:
    check_records(members=members)
    if inference is not None:
        check_records(inference=inference)
        _check_alike(members, inference, "inference set")
    if validation is not None:
        check_records(validation=validation)
        _check_alike(members, validation, "validation set")


def _check_functions(**named: object) -> None:
    for name, function in named.items():
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function, found {function!r}.")


def _checked_entry(added: Any) -> dict:
    if added is not None and not isinstance(added, dict):
        raise TypeError(f"on_epoch must return a dictionary for the history, found {added!r}.")
    return added or {}


def _checked_loss(loss: Any, defense: Defense) -> Tensor:
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        found = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
        raise TypeError(
            f"{type(defense).__name__}.loss() must return a tensor of one number, found {found}."
        )
    return loss


def _check_alike(members: Records, part: Records, name: str) -> None:
    if members.classes != part.classes:
        raise ValueError(
            f"Members and {name} must have the same classes, "
            f"found {members.classes} and {part.classes} classes. Take both from one dataset."
        )
    shape, other = members.x.shape[1:], part.x.shape[1:]
    if shape != other:
        raise ValueError(
            f"Members and {name} must have the same shape, found {shape} and {other}. "
            "Take both from one dataset."
        )


def _check_apart(members: Records, inference: Records) -> None:
    """Tuning on records that are also members would teach a defense nothing about non-members."""
    advice = "Take it from records that were not trained on."
    number_of = {
        row.tobytes(): number for row, number in zip(members.x, members.index, strict=True)
    }
    copies = {
        row.tobytes(): number
        for row, number in zip(inference.x, inference.index, strict=True)
        if row.tobytes() in number_of
    }
    same = sum(number_of[content] == number for content, number in copies.items())
    if same:
        raise ValueError(f"The inference set holds {same} members. {advice}")
    if copies:  # Two records may happen to be equal; or these are the same, numbered anew.
        warnings.warn(
            f"The inference set holds copies of {len(copies)} members. {advice}", stacklevel=3
        )


def _check_outputs(training: Training, classes: int) -> None:
    x, _ = training.members
    outputs = training.eval_logits(x[:1]).shape[1]
    if outputs != classes:
        raise ValueError(f"The records have {classes} classes, but the model {outputs} outputs.")


def _check_wrapped(model: nn.Module, prepared: nn.Module) -> None:
    if not set(model.parameters()) <= set(prepared.parameters()):  # They would be thrown away.
        raise ValueError(
            "prepare() must wrap the model that it is given, "
            "but its parameters are no longer there."
        )
