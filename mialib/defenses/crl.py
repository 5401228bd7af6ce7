"""CRL, center-based relaxed learning (Fang and Kim 2024): relax the loss, and gather features around class centers.

    defended = configuration.but(defense=CRL(alpha_rce=1.0, alpha_rcl=0.1, center_weight=0.1))

Two relaxed losses with the same three scenarios are added: of the cross-entropy of normalised logits (Eq. 5 to 9), and
of the distance between normalised features and the center of their class (Algorithm 1). What the paper leaves out
follows its authors' code. They published no settings: notebook 10 sweeps them, and prefers tau_rcl or λ = 0.3."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.relaxloss import confidence, relax, soft_loss
from mialib.errors import check_range
from mialib.signals import eval_mode
from mialib.training import Plain, Training


@dataclass(frozen=True)
class CRL(Plain):
    """Every part has its own off switch: `center_weight` (λ) 0 leaves ImpRelaxLoss, τ = 0 takes a normalisation away
    and α = 0 a relaxation; with all at 0 this is cross-entropy. The centers step with λ∇L_rcl, momentum and weight
    decay, as in the authors' code; `printed_step` takes ∇L_rcl with neither, as Algorithm 1 prints it. The `upper`
    bounds of the soft labels are in the code only."""

    alpha_rce: float = 1.0
    alpha_rcl: float = 0.1
    tau_rce: float = 0.05
    tau_rcl: float = 1.0
    center_weight: float = 0.1
    center_lr: float = 1e-3
    printed_step: bool = False
    upper_rce: float = 1.0
    upper_rcl: float = 1.0

    def __post_init__(self):
        check_range(
            0,
            torch.inf,
            alpha_rce=self.alpha_rce,
            alpha_rcl=self.alpha_rcl,
            center_weight=self.center_weight,
        )
        check_range(
            0, torch.inf, tau_rce=self.tau_rce, tau_rcl=self.tau_rcl, center_lr=self.center_lr
        )
        check_range(0, 1, upper_rce=self.upper_rce, upper_rcl=self.upper_rcl)

    def prepare(self, training: Training) -> None:
        x, y = training.members
        with torch.no_grad(), eval_mode(training.model):
            size = training.model.features(x[:1]).shape[1]
        drawn = torch.randn(training.look(x[:1]).shape[1], size, generator=training.generator)
        training.centers = nn.Parameter(drawn.to(y.device))
        settings = {} if self.printed_step else {"momentum": 0.9, "weight_decay": 5e-4}
        training.centers_optimizer = torch.optim.SGD([training.centers], self.center_lr, **settings)

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        features = training.model.features(x)
        logits = training.model.classify(features)
        scored, even = normalized(logits, self.tau_rce), training.epoch % 2 == 0
        soft = soft_loss(scored, logits, y, upper=self.upper_rce).mean()
        relaxed = relax(ce := F.cross_entropy(scored, y), soft, alpha=self.alpha_rce, turns=even)
        training.say(below_rce=(ce.detach() < self.alpha_rce).float(), loss_rce=ce.detach())
        if not self.center_weight:
            return relaxed
        placed, centers = (
            normalized(features, self.tau_rcl),
            normalized(training.centers, self.tau_rcl),
        )
        distance, p = (
            (placed - centers[y]).square().sum(dim=1),
            confidence(logits, y).clamp(max=self.upper_rcl),
        )
        inward = (p * distance + (1 - p) * placed.square().sum(dim=1)).mean() / 2
        gathered = relax(ct := distance.mean() / 2, inward, alpha=self.alpha_rcl, turns=even)
        training.say(below_rcl=(ct.detach() < self.alpha_rcl).float(), loss_rcl=ct.detach())
        return relaxed + self.center_weight * gathered

    def after_backward(self, training: Training) -> None:
        """Centers and model step from the same gradients."""
        if self.center_weight:
            if self.printed_step:
                training.centers.grad /= self.center_weight
            training.centers_optimizer.step()
            training.centers_optimizer.zero_grad()


def normalized(vectors: Tensor, tau: float) -> Tensor:
    """v / (1 + τ‖v‖) of each row, Eq. 5: shorter than 1/τ, and unchanged at τ = 0."""
    return vectors / (1 + tau * (vectors.norm(dim=1, keepdim=True) + 1e-7)) if tau else vectors
