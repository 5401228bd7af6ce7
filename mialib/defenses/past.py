"""PAST: tune a trained model with a penalty that is heaviest where the loss gap is most sensitive.

    tuned = configuration.then(Past(lam=1e-3, alpha=1.5), Recipe(epochs=50, lr=0.01))

Each weight w pays λ·γ^α·|w|, where γ is |∂G/∂w| over its mean in the module (`sensitivity`, Eq. 3
and 4). α = 0 is uniform ℓ1. The clamp of γ^α and the rest of what the paper leaves out follow its
authors' code. Introduced in notebook 08.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.settings import check_tensors, plain_settings
from mialib.errors import check_choice, check_flag, check_range
from mialib.query import Pair, eval_mode
from mialib.sensitivity import KINDS, adaptive_weight, gap_gradient, weights
from mialib.training import Defense, Training


@dataclass
class PastState:
    """The weights that pay, by module, and what is known of each, in the same order."""

    modules: list[str]  # their names
    tuned: list[nn.Parameter]  # their weights
    importance: list[Tensor]  # γ^α of each weight
    other_gradient: list[Tensor] = field(default_factory=list)  # of the last batch of non-members


@dataclass(frozen=True)
class Past(Defense[PastState]):
    """Privacy-aware sparsity tuning: each weight w adds λ·γ^α·|w| to the loss.

    The weights are those of convolutions, linear layers and normalisations that the model's answers
    depend on. The factors of a butterfly layer are none of these: PAST does not see them.
    """

    lam: float = 1e-3  # λ, the weight of the penalty
    alpha: float = 1.5  # α, the focus: 0 presses on all weights alike
    # γ comes from each "batch" of members and one of non-members, as in the authors' code, or once
    # per "epoch" from a sample of each side.
    per: str = "batch"
    penalty: str = "l1"  # or "l2", λ·γ^α·w²
    # True shrinks the weights after the step, so that some become exactly 0; otherwise the
    # sub-gradient joins the gradient, and none does.
    proximal: bool = False
    # True lets the non-members' batches into BatchNorm's running statistics, as the authors' code.
    mixed_statistics: bool = False
    clamp: float = 1e4  # the most that γ^α may be
    sample: int = 1024  # how many records of each side γ is taken from once per epoch
    kinds: tuple[str, ...] = tuple(KINDS)  # of modules that pay
    strength_field: ClassVar[str] = "lam"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, inf, lam=self.lam, alpha=self.alpha, clamp=self.clamp)
        check_range(1, inf, whole=True, sample=self.sample)
        check_choice("per", self.per, ("batch", "epoch"))
        check_choice("penalty", self.penalty, ("l1", "l2"))
        check_flag(proximal=self.proximal, mixed_statistics=self.mixed_statistics)
        if not isinstance(self.kinds, tuple):
            raise ValueError(f"kinds must be a tuple of kinds of modules, found {self.kinds!r}.")
        for kind in self.kinds:
            check_choice("kind of module", kind, KINDS)
        if self.mixed_statistics and self.per == "epoch":
            raise ValueError(
                "mixed_statistics needs per='batch': once an epoch, non-members are only looked at."
            )

    def trainings(self) -> tuple[Defense | None, ...]:
        return (None, self)

    def prepare(self, training: Training[PastState]) -> PastState:
        chosen = _reached(training, weights(training.model, self.kinds))
        if self.lam:
            training.inference_batch()  # Refuse to begin without non-members.
        return PastState(
            modules=list(chosen),
            tuned=list(chosen.values()),
            importance=[torch.ones_like(weight) for weight in chosen.values()],
        )

    def start_epoch(self, training: Training[PastState]) -> None:
        if self.lam and self.alpha and self.per == "epoch":
            members = self._sample(training, training.members)
            others = self._sample(training, training.inference_records())
            gradients = gap_gradient(training.model, members, others)
            state = training.state
            state.importance = [self.importance(gradients[name]) for name in state.modules]

    def loss(self, training: Training[PastState], x: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy of the members; before, the gradient of a batch of non-members is kept."""
        if self.lam and self.per == "batch" and (self.alpha or self.mixed_statistics):
            training.state.other_gradient = self._other_gradient(training)
        return super().loss(training, x, y)

    def after_backward(self, training: Training[PastState]) -> None:
        """The penalty's slope joins the gradient of the members' loss."""
        if self.lam == 0:
            return
        state = training.state
        with flushed_denormals():
            if self.alpha and self.per == "batch":
                state.importance = [
                    self.importance(other_gradient - _gradient(w))
                    for w, other_gradient in zip(state.tuned, state.other_gradient, strict=True)
                ]
            if not self.proximal:
                self.add_penalty(state.tuned, state.importance)

    def after_step(self, training: Training[PastState]) -> None:
        """With momentum μ a constant pull moves a weight by lr / (1 − μ) a step, and so here."""
        if self.lam and self.proximal:
            lr = training.optimizer.param_groups[0]["lr"]
            step = lr / (1 - training.recipe.momentum) * self.lam
            with flushed_denormals():
                self.shrink(training.state.tuned, training.state.importance, step=step)

    # Eq. 3 and 4, for weights and gradients from anywhere.

    def importance(self, gap_gradient: Tensor) -> Tensor:
        """γ^α of one module from ∂G/∂w, clamped."""
        gamma = adaptive_weight(gap_gradient)
        return gamma.pow_(self.alpha).clamp_(max=self.clamp)

    def pull(self, w: Tensor) -> Tensor:
        """The slope of |w|, or of w²."""
        check_tensors(w=w)
        return w.sign() if self.penalty == "l1" else 2 * w

    def add_penalty(self, tuned: list[nn.Parameter], importance: list[Tensor]) -> None:
        """Add the slope of λ·γ^α·|w| to the gradients."""
        for w, gamma_to_alpha in zip(tuned, importance, strict=True):
            pull = self.pull(w.detach()).mul_(gamma_to_alpha)
            _gradient(w).add_(pull, alpha=self.lam)

    def shrink(self, tuned: list[nn.Parameter], importance: list[Tensor], *, step: float) -> None:
        """Move the weights towards 0 by the penalty's proximal step, and no further."""
        for weight, gamma_to_alpha in zip(tuned, importance, strict=True):
            w = weight.detach()
            by = gamma_to_alpha * step
            size = w.abs() - by if self.penalty == "l1" else w.abs() / (1 + 2 * by)
            w.copy_(size.clamp(min=0) * w.sign())

    def _other_gradient(self, training: Training[PastState]) -> list[Tensor]:
        """The gradient of a batch of non-members' mean loss, for each weight that pays."""
        x, y = training.inference_batch()
        with _batch_statistics(training.model, kept_apart=not self.mixed_statistics):
            other_loss = super().loss(training, x, y)
        tuned = training.state.tuned
        if not tuned:
            return []
        return list(torch.autograd.grad(other_loss, tuned, materialize_grads=True))

    def _sample(self, training: Training[PastState], records: Pair) -> Pair:
        x, y = records
        order = torch.randperm(len(y), generator=training.generator)
        chosen = order[: self.sample].to(y.device)
        return x[chosen], y[chosen]


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Inside, numbers below 1e-38 are 0: a power of a small γ may be one, and slow on a CPU."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def _batch_statistics(model: nn.Module, *, kept_apart: bool) -> Iterator[None]:
    """BatchNorm normalises by the batch; if `kept_apart`, its running statistics stay."""
    norms = []
    for module in model.modules() if kept_apart else ():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats:
            norms.append(module)
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


def _reached(
    training: Training[PastState], candidates: dict[str, nn.Parameter]
) -> dict[str, nn.Parameter]:
    """Those weights that the loss depends on; the others never have a gradient."""
    x, y = training.members
    with eval_mode(training.model):
        loss = F.cross_entropy(training.model(x[:1]), y[:1])
    gradients = torch.autograd.grad(loss, list(candidates.values()), allow_unused=True)
    chosen = zip(candidates.items(), gradients, strict=True)
    return {name: weight for (name, weight), gradient in chosen if gradient is not None}


def _gradient(weight: nn.Parameter) -> Tensor:
    """The weight's gradient, which `backward` has just made."""
    assert weight.grad is not None
    return weight.grad
