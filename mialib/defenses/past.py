"""PAST: tune a trained model with a penalty that is heaviest where the loss gap is most sensitive.

    tuned = configuration.then(Past(strength=1e-3, alpha=1.5), Recipe(epochs=50, lr=0.01))

Each weight w pays λ·γ^α·|w|, where γ is |∂G/∂w| over its mean in the module (`sensitivity`). α = 0 is uniform ℓ1.
The clamp of γ^α and the rest of what the paper leaves out follow its authors' code. Introduced in notebook 08."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mialib.errors import check_choice, check_range
from mialib.sensitivity import KINDS, adaptive_weight, gap_gradient, weights
from mialib.training import Pair, Plain, Training


@dataclass(frozen=True)
class Past(Plain):
    """`strength` is λ and `alpha` the focus. `per="batch"` takes γ from each batch of members and one of non-members,
    as its authors' code does; `per="epoch"` from at most `sample` of each side, once an epoch. `proximal` shrinks the
    weights after the step, so that some become exactly 0; otherwise the sub-gradient joins the gradient, and none
    does. `mixed_statistics` lets the non-members' batches into BatchNorm's running statistics, as that code does."""

    strength: float = 1e-3
    alpha: float = 1.5
    per: str = "batch"
    penalty: str = "l1"
    proximal: bool = False
    mixed_statistics: bool = False
    clamp: float = 1e4
    sample: int = 1024
    kinds: tuple[str, ...] = tuple(KINDS)

    def __post_init__(self):
        check_range(0, torch.inf, strength=self.strength, alpha=self.alpha, clamp=self.clamp)
        check_range(1, torch.inf, whole=True, sample=self.sample)
        check_choice("per", self.per, ("batch", "epoch"))
        check_choice("penalty", self.penalty, ("l1", "l2"))
        for kind in self.kinds:
            check_choice("kind of module", kind, KINDS)
        if self.mixed_statistics and self.per == "epoch":
            raise ValueError(
                "mixed_statistics needs per='batch': once an epoch, non-members are only looked at."
            )

    def prepare(self, training: Training) -> None:
        training.tuned = list(weights(training.model, self.kinds).values())
        training.importance = [torch.ones_like(weight) for weight in training.tuned]
        if self.strength:
            training.reference_batch()  # Refuse to begin without non-members.

    def start_epoch(self, training: Training) -> None:
        if self.strength and self.alpha and self.per == "epoch":
            chosen = [
                self._sample(training, records)
                for records in (training.members, training.reference)
            ]
            gradients = gap_gradient(training.model, *chosen)
            training.importance = self.importance(
                [gradients[name] for name in weights(training.model, self.kinds)]
            )

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        if self.strength and self.per == "batch" and (self.alpha or self.mixed_statistics):
            with _statistics(training.model, kept=not self.mixed_statistics):
                theirs = super().loss(training, *training.reference_batch())
            training.theirs = torch.autograd.grad(theirs, training.tuned, materialize_grads=True)
        return super().loss(training, x, y)

    def after_backward(self, training: Training) -> None:
        if not self.strength:
            return
        torch.set_flush_denormal(True)  # A power of a small γ may be one, and slow on a CPU.
        if self.alpha and self.per == "batch":
            pairs = zip(
                training.tuned, training.theirs, strict=True
            )  # The loss does not reach a weight without grad.
            training.importance = self.importance(
                [g if w.grad is None else g - w.grad for w, g in pairs]
            )
        if not self.proximal:
            pulls = [
                w.detach().sign() if self.penalty == "l1" else 2 * w.detach()
                for w in training.tuned
            ]
            torch._foreach_mul_(pulls, training.importance)
            if reached := [
                (w.grad, pull)
                for w, pull in zip(training.tuned, pulls, strict=True)
                if w.grad is not None
            ]:
                torch._foreach_add_(*map(list, zip(*reached, strict=True)), alpha=self.strength)

    def after_step(self, training: Training) -> None:
        """With momentum μ a constant pull moves a weight by lr / (1 − μ) a step, so that is the shrinkage here too."""
        if self.strength and self.proximal:
            step = (
                training.optimizer.param_groups[0]["lr"]
                / (1 - training.recipe.momentum)
                * self.strength
            )
            for weight, importance in zip(training.tuned, training.importance, strict=True):
                w, shrink = weight.detach(), importance * step
                size = w.abs() - shrink if self.penalty == "l1" else w.abs() / (1 + 2 * shrink)
                if weight.grad is not None:
                    w.copy_(size.clamp(min=0) * w.sign())
        torch.set_flush_denormal(False)

    def importance(self, gradients: list[Tensor]) -> list[Tensor]:
        """γ^α of each module, clamped."""
        return [
            adaptive_weight(gradient).pow_(self.alpha).clamp_(max=self.clamp)
            for gradient in gradients
        ]

    def _sample(self, training: Training, records: Pair) -> Pair:
        chosen = torch.randperm(len(records[1]), generator=training.generator)[: self.sample].to(
            records[1].device
        )
        return records[0][chosen], records[1][chosen]


@contextmanager
def _statistics(model: nn.Module, *, kept: bool) -> Iterator[None]:
    """If `kept`, BatchNorm normalises by the batch but leaves its running statistics alone."""
    norms = [
        m
        for m in model.modules()
        if kept and isinstance(m, KINDS["normalisation"][0]) and m.track_running_stats
    ]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True
