"""CRL, center-based relaxed learning (Fang and Kim 2024): relax the loss, gather the features.

    defended = configuration.defended(CRL(alpha_rce=1.0))
    CRL().batch_loss(features, logits, y, centers, epoch=1)     # the loss of one batch

Two relaxed losses with the same three scenarios are added: of the cross-entropy of normalised
logits (Eq. 5 to 9), and of the distance between normalised features and the center of their class
(Algorithm 1). What the paper leaves out follows its authors' code, `JEKimLab/UAI24_CRL`.

Of the settings only center_lr = 0.001 was published; the other defaults are the course's. With them
the centers of its networks hardly move, and CRL does what ImpRelaxLoss (lam = 0) does: look at
`loss_rcl` and `below_rcl` in a run's history before you judge it. Notebook 10 sweeps alpha_rcl,
tau_rcl and lam where the centers act:

    CRL(alpha_rce=1.0, alpha_rcl=0.65, tau_rcl=0.3, lam=1.0, center_lr=0.5)     # what it chose
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.relaxloss import label_probability, relax, soft_loss
from mialib.defenses.settings import Parts, check_batch, check_rows, plain_settings
from mialib.errors import check_flag, check_range
from mialib.query import eval_mode
from mialib.training import Defense, Training


@dataclass
class CRLState:
    """The centers (classes, features) and what moves them."""

    centers: nn.Parameter
    optimizer: torch.optim.Optimizer


class RelaxedLoss(NamedTuple):
    """A loss after it was relaxed, and before: that is what is compared with α."""

    relaxed: Tensor
    plain: Tensor


@dataclass(frozen=True)
class CRL(Defense[CRLState]):
    """L_rce + λ·L_rcl, two relaxed losses.

    Every part has its own off switch: λ = 0 leaves ImpRelaxLoss, τ = 0 takes a normalisation away
    and α = 0 a relaxation; with all at 0 this is cross-entropy.
    """

    alpha_rce: float = 1.0  # α_rce, the normalised cross-entropy that is low enough
    alpha_rcl: float = 0.1  # α_rcl, the half squared distance to the centers that is low enough
    tau_rce: float = 0.05  # τ_rce, the normalisation of the logits
    tau_rcl: float = 1.0  # τ_rcl, the normalisation of features and centers
    lam: float = 0.1  # λ, the weight of the center loss
    center_lr: float = 1e-3  # the centers' learning rate
    # True: the centers step with ∇L_rcl, as Algorithm 1 prints it; otherwise with λ∇L_rcl, momentum
    # and weight decay, as in the authors' code.
    printed_step: bool = False
    upper_rce: float = 1.0  # the most that the true class gets in the soft label (in the code only)
    upper_rcl: float = 1.0  # the same in the center loss
    strength_field: ClassVar[str] = "alpha_rce"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, inf, alpha_rce=self.alpha_rce, alpha_rcl=self.alpha_rcl)
        check_range(0, inf, tau_rce=self.tau_rce, tau_rcl=self.tau_rcl)
        check_range(0, inf, lam=self.lam, center_lr=self.center_lr)
        check_range(0, 1, upper_rce=self.upper_rce, upper_rcl=self.upper_rcl)
        check_flag(printed_step=self.printed_step)

    def prepare(self, training: Training[CRLState]) -> CRLState:
        """Draw the centers."""
        x, y = training.members
        classes = training.eval_logits(x[:1]).shape[1]
        with torch.no_grad(), eval_mode(training.model):
            size = Parts(training.model).features(x[:1]).shape[1]
        drawn = torch.randn(classes, size, generator=training.generator)
        centers = nn.Parameter(drawn.to(y.device))
        optimizer = torch.optim.SGD(
            [centers],
            self.center_lr,
            momentum=0.0 if self.printed_step else 0.9,
            weight_decay=0.0 if self.printed_step else 5e-4,
        )
        return CRLState(centers, optimizer)

    def loss(self, training: Training[CRLState], x: Tensor, y: Tensor) -> Tensor:
        parts = Parts(training.model)
        features = parts.features(x)
        logits = parts.classify(features)
        rce = self.relaxed_cross_entropy(logits, y, epoch=training.epoch)
        _log(training, "rce", rce, self.alpha_rce)
        if self.lam == 0:
            return rce.relaxed
        centers = training.state.centers
        rcl = self.relaxed_center_loss(features, logits, y, centers, epoch=training.epoch)
        _log(training, "rcl", rcl, self.alpha_rcl)
        return rce.relaxed + self.lam * rcl.relaxed

    def batch_loss(
        self, features: Tensor, logits: Tensor, y: Tensor, centers: Tensor, *, epoch: int
    ) -> Tensor:
        """L_rce + λ·L_rcl of one batch; epochs count from 1."""
        rce = self.relaxed_cross_entropy(logits, y, epoch=epoch)
        if self.lam == 0:
            return rce.relaxed
        rcl = self.relaxed_center_loss(features, logits, y, centers, epoch=epoch)
        return rce.relaxed + self.lam * rcl.relaxed

    def relaxed_cross_entropy(self, logits: Tensor, y: Tensor, *, epoch: int) -> RelaxedLoss:
        """ImpRelaxLoss, Eq. 9: of normalised logits, with the soft label of the plain ones."""
        check_batch(logits, y)
        check_range(1, inf, whole=True, epoch=epoch)
        scored = normalized(logits, self.tau_rce)
        soft = soft_loss(scored, logits, y, upper=self.upper_rce).mean()
        cross_entropy = F.cross_entropy(scored, y)
        relaxed = relax(cross_entropy, soft, alpha=self.alpha_rce, turns=epoch % 2 == 0)
        return RelaxedLoss(relaxed, cross_entropy)

    def relaxed_center_loss(
        self, features: Tensor, logits: Tensor, y: Tensor, centers: Tensor, *, epoch: int
    ) -> RelaxedLoss:
        """Algorithm 1: half the mean squared distance to the centers, relaxed."""
        check_batch(logits, y)
        check_rows(features=features, centers=centers)
        if len(features) != len(logits) or centers.shape != (logits.shape[1], features.shape[1]):
            raise ValueError(
                "Expected features (n, d) of the records and centers (classes, d), "
                f"found {tuple(features.shape)} and {tuple(centers.shape)}."
            )
        check_range(1, inf, whole=True, epoch=epoch)
        placed = normalized(features, self.tau_rcl)
        around = normalized(centers, self.tau_rcl)[y]
        far = (placed - around).square().sum(dim=1)
        p = label_probability(logits, y).clamp(max=self.upper_rcl)
        inward = (p * far + (1 - p) * placed.square().sum(dim=1)).mean() / 2
        center_loss = far.mean() / 2
        relaxed = relax(center_loss, inward, alpha=self.alpha_rcl, turns=epoch % 2 == 0)
        return RelaxedLoss(relaxed, center_loss)

    def after_backward(self, training: Training[CRLState]) -> None:
        """Centers and model step from the same gradients."""
        if self.lam == 0:
            return
        state = training.state
        if self.printed_step:
            assert state.centers.grad is not None  # The loss has just been differentiated.
            state.centers.grad /= self.lam
        training.scaler.step(state.optimizer)
        state.optimizer.zero_grad()


def normalized(vectors: Tensor, tau: float) -> Tensor:
    """v / (1 + τ‖v‖) of each row, Eq. 5: shorter than 1/τ, and unchanged at τ = 0."""
    if tau == 0:
        return vectors
    length = vectors.norm(dim=1, keepdim=True) + 1e-7
    return vectors / (1 + tau * length)


def _log(training: Training, part: str, loss: RelaxedLoss, alpha: float) -> None:
    """Put into the history how far the loss is, and how often it was below its α."""
    plain = loss.plain.detach()
    training.log(**{f"below_{part}": (plain < alpha).float(), f"loss_{part}": plain})
