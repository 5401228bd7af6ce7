"""Distillation: a student learns from a trained model's answers, on members or on others (DMP).

    distilled = configuration.defended(DMP())
    Distillation(temperature=4).batch_loss(logits, answers)     # the loss of one batch

The teacher is the model that the training starts from; the student is the same network with fresh
weights. DMP, the distillation of Shejwalkar and Houmansadr (2021), shows the student no member.
Introduced in notebook 11.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.defenses.settings import check_rows, plain_settings
from mialib.defenses.simple import entropy
from mialib.errors import check_choice, check_range
from mialib.training import Defense, Training

KNOWS_NOTHING = 0.95  # A teacher has learned if its loss is below this share of a guesser's.


@dataclass(frozen=True)
class Distillation(Defense[None]):
    """Plain distillation: the student sees the members, with the teacher's answers for labels."""

    temperature: float = 1.0  # τ, by which both divide their logits
    strength_field: ClassVar[str] = "temperature"

    def __post_init__(self):
        plain_settings(self)
        check_range(1e-3, inf, temperature=self.temperature)

    def trainings(self) -> tuple[Defense | None, ...]:
        return (None, self)

    def prepare(self, training: Training) -> None:
        """Ask the teacher, then make it the student; the loop goes over what was asked."""
        self._check_teacher(training)
        x = self.records(training)
        answers = (training.eval_logits(x) / self.temperature).softmax(dim=1)
        training.members = (x, answers)
        _forget(training.model)

    def records(self, training: Training) -> Tensor:
        """What the teacher is asked about."""
        x, _ = training.members
        return x

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        """`y` are the teacher's answers here."""
        return self.batch_loss(training.model(x), y)

    def batch_loss(self, logits: Tensor, answers: Tensor) -> Tensor:
        """τ²·KL between the teacher's answers, probabilities (n, C), and the student's logits."""
        check_rows(logits=logits, answers=answers)
        if logits.shape != answers.shape:
            raise ValueError(
                f"Expected as many answers as logits, {tuple(logits.shape)}, "
                f"found {tuple(answers.shape)}."
            )
        log_q = (logits / self.temperature).log_softmax(dim=1)
        return self.temperature**2 * F.kl_div(log_q, answers, reduction="batchmean")

    def _check_teacher(self, training: Training) -> None:
        """By luck a fresh model names some members right, but its loss is that of a guesser."""
        x, y = training.members
        loss = float(F.cross_entropy(training.eval_logits(x), y))
        shares = y.bincount() / len(y)
        guessing = float(torch.special.entr(shares).sum())
        if loss > KNOWS_NOTHING * guessing:
            raise ValueError(
                f"Distil a trained model, by configuration.then({self}, recipe); the teacher's "
                f"mean loss on its members is {loss:.2f}, and knowing nothing {guessing:.2f}."
            )


@dataclass(frozen=True)
class DMP(Distillation):
    """Distillation for membership privacy: the teacher is asked about records that are no members.

    `source` says which: "all" of the inference set; "selected", the `share` of it where the answers
    have the lowest entropy; or as many "synthetic" records as members, from a generator that saw
    them.
    """

    share: float = 0.5  # of the inference set, if it is "selected"
    source: str = "all"

    def __post_init__(self):
        super().__post_init__()
        check_range(0, 1, share=self.share)
        check_choice("source", self.source, ("all", "selected", "synthetic"))

    def records(self, training: Training) -> Tensor:
        if self.source == "synthetic":
            return synthesize(training)
        training.inference_batch()  # Refuse to go on without non-members.
        x, _ = training.inference_records()
        if self.source == "all":
            return x
        uncertainty = entropy(training.eval_logits(x).log_softmax(dim=1))
        number = max(round(self.share * len(x)), 1)
        return x[uncertainty.argsort()[:number]]


class Autoencoder(nn.Module):
    """A small variational autoencoder of vectors (n, size)."""

    def __init__(self, size: int, *, hidden: int = 512, latent: int = 32):
        super().__init__()
        self.latent = latent
        self.encode = nn.Sequential(
            nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent)
        )
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def loss(self, x: Tensor) -> Tensor:
        """Squared error, and the KL of the code from N(0, 1); per record."""
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        code = mean + (log_variance / 2).exp() * torch.randn_like(mean)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1) / 2
        error = (self.decode(code) - x).square().sum(dim=1) / 2 / 0.1
        return (error + divergence).mean()


def synthesize(training: Training, *, epochs: int = 60) -> Tensor:
    """As many records as there are members, drawn by a generator that has learned from them."""
    check_range(1, 100_000, whole=True, epochs=epochs)
    x, _ = training.members
    generator = Autoencoder(x[0].numel()).to(x.device)
    optimizer = torch.optim.Adam(generator.parameters(), 1e-3)
    for _ in range(epochs):
        for batch, _ in training.shuffled(training.members):
            optimizer.zero_grad()
            generator.loss(batch.flatten(1)).backward()
            optimizer.step()
    with torch.no_grad():
        codes = torch.randn(len(x), generator.latent, device=x.device)
        made = generator.decode(codes).reshape(x.shape).clamp(x.min(), x.max())
    if x.ndim == 4:
        made = made.contiguous(memory_format=torch.channels_last)
    return made


def _forget(model: nn.Module) -> None:
    """Give the network fresh weights."""
    resettable = [module for module in model.modules() if hasattr(module, "reset_parameters")]
    reset = {weight for module in resettable for weight in module.parameters()}
    if set(model.parameters()) - reset:
        raise ValueError(
            "A student starts afresh: each module with weights of its own needs reset_parameters()."
        )
    for module in resettable:
        module.reset_parameters()  # type: ignore[operator]
